"""Columns of categories: which they are, and the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._arrays import Array, BoolArray
from ipforest.feature_names import column_names
from ipforest.growing.codes import MAX_BINS

__all__ = ["FROM_DTYPE", "Categories", "is_from_dtype"]

FROM_DTYPE = "from_dtype"


@dataclass(frozen=True, slots=True)
class Categories:
    """Columns whose values are categories, as numbers 0, 1, 2, ...

    In an array, and in numeric columns of a data frame, the numbers are the values. In other columns of a data frame a
    number is the place among the categories of training.

    Parameters
    ----------
    columns : tuple of int
        Which columns are categories, ascending.
    names : mapping from int to tuple
        Of columns that are no numbers: the categories in their order.
    """

    columns: tuple[int, ...] = ()
    names: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, wanted: Any) -> Self:
        """Find the columns of categories in examples to train on.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
        wanted : None, "from_dtype", or sequence of bool, int or str
            As in scikit-learn's ``HistGradientBoostingClassifier``: none; the columns of a data frame that have the
            dtype "category"; a mask; column numbers; or column names.

        Raises
        ------
        ValueError
            A mask of another length, a column that does not exist, or more categories than `MAX_BINS` in a column.
        """
        from_dtype = is_from_dtype(wanted)
        if wanted is None or (from_dtype and not _is_frame(X)):
            return cls()
        shape = X.shape if _is_frame(X) else np.asarray(X).shape
        if len(shape) != 2:
            return cls()
        if from_dtype:
            columns = np.flatnonzero([isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes]).tolist()
        else:
            columns = _numbers(wanted, shape[1], column_names(X))
        names = {}
        for column in columns if _is_frame(X) else []:
            values = X.iloc[:, column]
            if not pd.api.types.is_numeric_dtype(values.dtype):
                names[column] = tuple(pd.Categorical(values).categories.tolist())
                if len(names[column]) > MAX_BINS:
                    raise ValueError(
                        f"X: expected at most {MAX_BINS} categories, got {len(names[column])} in column {column}"
                    )
        return cls(tuple(columns), names)

    def mask(self, n_features: int) -> BoolArray:
        """Say of each feature whether it is a category."""
        return np.isin(np.arange(n_features), self.columns)

    def numbers(self, X: Any) -> Any:
        """Replace categories of a data frame by their numbers; those unknown in training are missing, NaN."""
        if not self.names or not _is_frame(X):
            return X
        numbered = X.copy()
        for column in set(self.names) & set(range(X.shape[1])):
            places = pd.Index(self.names[column], dtype=object).get_indexer(X.iloc[:, column].astype(object))
            numbered.isetitem(column, np.where(places < 0, np.nan, places))
        return numbered

    def check(self, X: npt.NDArray[np.floating[Any]]) -> None:
        """Require categories that are numbers from 0 to `MAX_BINS` - 1, or NaN.

        Raises
        ------
        ValueError
            There are others.
        """
        for column in self.columns:
            values: Array = X[:, column][~np.isnan(X[:, column])]
            strange = values[(values < 0) | (values >= MAX_BINS) | (values != np.rint(values))]
            if strange.size:
                raise ValueError(
                    f"X: expected categories that are integers from 0 to {MAX_BINS - 1}, got {strange[0]:g} in column "
                    f"{column}"
                )


def is_from_dtype(wanted: Any) -> bool:
    """Return whether columns of categories are to be found by their dtype; arrays and lists say which they are."""
    return isinstance(wanted, str) and wanted == FROM_DTYPE


def _is_frame(X: Any) -> bool:
    return isinstance(X, pd.DataFrame)


def _numbers(wanted: Any, n_features: int, names: tuple[str, ...] | None) -> list[int]:
    """Turn a mask, numbers or names into column numbers, ascending."""
    chosen = np.asarray(wanted)
    if chosen.dtype == bool:
        if chosen.shape != (n_features,):
            raise ValueError(f"categorical_features: expected a mask of shape ({n_features},), got {chosen.shape}")
        return np.flatnonzero(chosen).tolist()
    known = range(n_features) if chosen.dtype.kind in "iu" else names or ()
    place = {value: number for number, value in enumerate(known)}
    for value in chosen.ravel().tolist():
        if value not in place:
            raise ValueError(
                "categorical_features: expected None, 'from_dtype', a mask, or columns by number or name, "
                f"got {value!r}, which is none"
            )
    return sorted({place[value] for value in chosen.ravel().tolist()})
