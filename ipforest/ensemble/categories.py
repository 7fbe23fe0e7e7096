"""Columns of categories: which they are, and the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import Array, BoolArray, FloatArray
from ipforest._internal.callers import warn_caller
from ipforest._internal.feature_names import column_names, in_pandas
from ipforest._internal.words import some_of

__all__ = [
    "FROM_DTYPE",
    "Categories",
    "ListedCategories",
    "PlacedCategories",
    "WholeCategories",
    "as_number",
    "is_from_dtype",
    "number_out_of_place",
    "places_among",
    "ways_of_saying",
]

FROM_DTYPE = "from_dtype"


@dataclass(frozen=True, slots=True)
class Categories:
    """Columns whose values are categories, as numbers 0, 1, 2, ...

    Where training had a data frame with a column of dtype "category", or of words, a number is the place among the
    categories of training, and examples of any kind hold the categories themselves. Otherwise the numbers are the
    values.

    Parameters
    ----------
    columns : tuple of int
        Which columns are categories, ascending.
    names : mapping from int to tuple
        Of columns whose categories were learnt: the categories in their order.
    """

    columns: tuple[int, ...] = ()
    names: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = (*self.columns, *self.names) if isinstance(self.names, Mapping) else (None,)
        if not all(isinstance(number, int) for number in numbers):
            raise TypeError("categories: expected column numbers, and names by column number, got others")
        if not all(isinstance(names, tuple) for names in self.names.values()):
            raise TypeError("categories: expected a tuple of names for each column, got something else")

    @classmethod
    def of(cls, X: Any, wanted: Any, most: int | None = None) -> Self:
        """Find the columns of categories in examples to train on.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
        wanted : None, "from_dtype", or sequence of bool, int or str
            As in scikit-learn's ``HistGradientBoostingClassifier``: none; the columns of a data frame that have the
            dtype "category" (in Polars "Categorical" or "Enum", in Arrow "dictionary"); a mask; column numbers; or
            column names.
        most : int, optional
            So many categories of a column, the most frequent, have names; all others are unknown. By default all have.

        Raises
        ------
        ValueError
            A mask of another length, or a column that does not exist.
        """
        frame = None if wanted is None else _as_frame(X)
        from_dtype = is_from_dtype(wanted)
        if wanted is None or (from_dtype and frame is None):
            return cls()
        shape = np.shape(np.asarray(X) if frame is None else frame)
        if len(shape) != 2:
            return cls()
        if from_dtype:
            assert frame is not None
            columns = _category_columns(frame)
        else:
            columns = _numbers(wanted, shape[1], column_names(X))
        if frame is None:
            return cls(tuple(columns))
        names = {}
        for column in columns:
            values = frame.iloc[:, column]
            if _is_category(values.dtype) or not pd.api.types.is_numeric_dtype(values.dtype):
                names[column] = _most_frequent(_categorical(values), most)
        return cls(tuple(columns), names)

    @property
    def replaces(self) -> bool:
        """Whether `numbers` may change an array."""
        return bool(self.names or self.whole)

    @property
    def whole(self) -> tuple[int, ...]:
        """Columns in which a number with a fraction is missing; elsewhere it stands for its whole part."""
        return ()

    def placed_in(self, columns: Sequence[int]) -> Categories:
        """Return them with their names at the columns of categories of a table, where those of training are unknown.

        Parameters
        ----------
        columns : sequence of int
            Ascending.
        """
        return self

    def found_in(self, X: Any) -> Categories:
        """Return them with their names where a data frame has the dtype "category"; see `placed_in`."""
        frame = _as_frame(X)
        return self if frame is None else self.placed_in(_category_columns(frame))

    def mask(self, n_features: int) -> BoolArray:
        """Say of each feature whether it is a category."""
        return np.isin(np.arange(n_features), self.columns)

    def numbers(self, X: Any) -> Any:
        """Replace categories by their numbers; those unknown in training are missing, NaN.

        Where all categories of a column are words, numbers are taken for those of the categories.
        """
        frame = _as_frame(X) if self.names else None
        if not self.names or (frame is None and np.ndim(X) != 2):
            return X
        if frame is not None:
            numbered = frame.copy()
            for column in set(self.names) & set(range(frame.shape[1])):
                numbered.isetitem(column, self._places(column, frame.iloc[:, column]))
            return numbered
        has_words = np.asarray(X).dtype.kind in "OUS"
        table = np.array(X, dtype=object if has_words else np.float64)
        for column in set(self.names) & set(range(table.shape[1])):
            table[:, column] = self._places(column, pd.Series(table[:, column]))
        return table

    def _places(self, column: int, values: pd.Series) -> Any:
        """Find the places of categories; numbers are those of words, unless the words are numbers."""
        known = self.names[column]
        if pd.api.types.is_numeric_dtype(values.dtype) and all(isinstance(as_number(each), str) for each in known):
            return values
        places = places_among(known, values)
        if np.isnan(places).all():
            _warn_of_strangers(known, values, column)
        return places

    def translated(self, X: Array, others: Categories) -> Array:
        """Give categories that have the numbers of others those that they have here; unknown ones are missing.

        Parameters
        ----------
        X : ndarray, shape (n_samples, n_features)
            Examples with the numbers of ``others``.
        others : Categories
            Of the same columns.

        Returns
        -------
        ndarray, shape (n_samples, n_features)

        Raises
        ------
        ValueError
            Here there are no names of a column, whose numbers are then the categories, and there words.
        """
        table = X.copy()
        for column, names in others.names.items():
            known = self.names.get(column)
            if known != names:
                numbers = [*map(as_number, names)] if known is None else places_among(known, names)
                if any(isinstance(each, str) for each in numbers):
                    raise ValueError(
                        f"X: expected numbers as the categories of column {column}, of which the model keeps no names, "
                        f"got {names[0]!r}"
                    )
                number = np.array(numbers, np.float64)
                here = ~np.isnan(X[:, column])
                table[here, column] = number[X[here, column].astype(np.int64)]
        return table

    def check(self, X: npt.NDArray[np.floating[Any]], most: int) -> None:
        """Require categories that are numbers from 0 to ``most`` - 1, or NaN.

        Raises
        ------
        ValueError
            There are others.
        """
        for column in self.columns:
            values: Array = X[:, column][~np.isnan(X[:, column])]
            strange = values[(values < 0) | (values >= most) | (values != np.rint(values))]
            if strange.size:
                raise ValueError(
                    f"X: expected categories that are integers from 0 to {most - 1}, got {strange[0]:g} in column "
                    f"{column}"
                )

    def require_frame(self, X: Any, name: str) -> None:
        """Require a data frame where an array would leave open whether it holds categories or their places.

        Parameters
        ----------
        X : array or DataFrame
        name : str
            What it is, for the error message.

        Raises
        ------
        ValueError
            X is no data frame, and the categories of a column are numbers that are not 0, 1, 2, ...
        """
        for column, names in self.names.items() if _as_frame(X) is None else ():
            number = number_out_of_place(names)
            if number is not None:
                raise ValueError(
                    f"{name}: expected a data frame as in training, whose column {column} holds categories such as "
                    f"{number!r}, got an array, in which it may be a category or the place of one"
                )


@dataclass(frozen=True, slots=True)
class WholeCategories(Categories):
    """Categories of which a number with a fraction is none, so that it is missing, as in HistGradientBoosting.

    Elsewhere, as in LightGBM, such a number stands for its whole part.
    """

    @property
    def whole(self) -> tuple[int, ...]:
        """Columns in which a number with a fraction is missing: all of categories."""
        return self.columns

    def numbers(self, X: Any) -> Any:
        """Replace categories by their numbers; those unknown in training, and fractions, are missing, NaN."""
        X = Categories.numbers(self, X)
        n_columns = np.shape(X)[1] if np.ndim(X) == 2 else 0
        columns = [column for column in self.columns if column < n_columns]
        if not columns:
            return X
        frame = _as_frame(X)
        if frame is not None:
            frame = frame.copy(deep=False)
            for column in columns:
                frame.isetitem(column, frame.iloc[:, column].mask(_has_fraction(frame.iloc[:, column])))
            return frame
        table = np.asarray(X)
        broken = {column: _has_fraction(table[:, column]) for column in columns}
        if any(each.any() for each in broken.values()):
            table = table.copy()
            for column, is_broken in broken.items():
                table[is_broken, column] = np.nan
        return table


@dataclass(frozen=True, slots=True)
class ListedCategories(Categories):
    """Categories whose names a model keeps without their columns, as LightGBM does: a data frame tells whose they are.

    Columns whose categories have an order have names, too; their places are compared as numbers. Without a frame
    `names` hold.

    Parameters
    ----------
    lists : tuple of tuple
        The categories of each column of dtype "category" in training, in the order of the columns.
    """

    lists: tuple[tuple[Any, ...], ...] = ()

    def placed_in(self, columns: Sequence[int]) -> Categories:
        """Return them with their names at these columns, if there are as many as in training; else as they are."""
        if len(columns) != len(self.lists):
            return self
        return Categories(self.columns, dict(zip(columns, self.lists, strict=True)))

    def numbers(self, X: Any) -> Any:
        """Replace categories by their numbers; see `Categories.numbers`."""
        return Categories.numbers(self.found_in(X), X)

    def require_frame(self, X: Any, name: str) -> None:
        """Require a data frame with as many columns of dtype "category" as in training, where numbers need it.

        Raises
        ------
        ValueError
            As `Categories.require_frame`, or categories of unknown columns are numbers that are not 0, 1, 2, ..., in
            training or, of a model without names, as of data that were saved, in X.
        """
        if self.found_in(X) is not self:
            return
        Categories.require_frame(self, X, name)
        _require_places(X, None if not self.lists else (), name)
        for number in () if self.names else map(number_out_of_place, self.lists):
            if number is not None:
                raise ValueError(
                    f"{name}: expected a data frame as in training, with {len(self.lists)} columns of dtype category, "
                    f"which hold {number!r}, got another table, in which it may be a category or the place of one"
                )


@dataclass(frozen=True, slots=True)
class PlacedCategories(Categories):
    """Categories whose names the model may lack, as before XGBoost 3.1: in columns without names, numbers are places.

    XGBoost takes the places in the frame that it predicts, which may have other categories than that of training.
    """

    def require_frame(self, X: Any, name: str) -> None:
        """Require places in columns without names, too: a column of dtype "category" holds 0, 1, 2, ... there.

        Raises
        ------
        ValueError
            As `Categories.require_frame`, or such a column holds other numbers.
        """
        Categories.require_frame(self, X, name)
        _require_places(X, set(self.columns) - set(self.names), name)


def _has_fraction(values: Any) -> BoolArray:
    """Mark the numbers that are not whole; infinite ones and words are left for other checks."""
    numbers = np.asarray(pd.to_numeric(pd.Series(values), errors="coerce"), dtype=np.float64)
    broken: BoolArray = np.isfinite(numbers) & (numbers != np.rint(numbers))
    return broken


def number_out_of_place(categories: Sequence[Any]) -> Any:
    """Return the first category that is a number, but not 0, 1, 2, ... as its place is; None if there is none."""
    for place, category in enumerate(categories):
        number = as_number(category)
        if isinstance(number, float) and number != place:
            return category
    return None


def is_from_dtype(wanted: Any) -> bool:
    """Return whether columns of categories are to be found by their dtype; arrays and lists say which they are."""
    return isinstance(wanted, str) and wanted == FROM_DTYPE


def _as_frame(X: Any) -> pd.DataFrame | None:
    """Return a data frame as one of pandas; None for what is no data frame."""
    frame = in_pandas(X)
    return frame if isinstance(frame, pd.DataFrame) else None


def _require_places(X: Any, columns: Collection[int] | None, name: str) -> None:
    """Require 0, 1, 2, ... in some columns, or all, of dtype "category" whose names a model has not."""
    frame = _as_frame(X)
    if frame is None:
        return
    labels = frame.columns.tolist()
    for column in _category_columns(frame):
        label = labels[column]
        number = number_out_of_place(_categorical(frame.iloc[:, column]).categories)
        if number is not None and (columns is None or column in columns):
            raise ValueError(
                f"{name}: expected the places 0, 1, 2, ... of categories in column {label!r}, since the model "
                f"has no names of them, got the category {number!r}; give {name}[{label!r}].cat.codes, in the "
                "order of training"
            )


def _warn_of_strangers(known: Sequence[Any], values: pd.Series, column: int) -> None:
    """Warn where a column has several categories, none of which training had, as after words were written otherwise."""
    strangers = values.dropna().unique()
    if len(strangers) > 1:
        warn_caller(
            f"X, column {column if values.name is None else repr(values.name)}: expected categories of training "
            f"({some_of(known)}), got {some_of(strangers)}, which all count as missing"
        )


def places_among(known: Sequence[Any], values: Any) -> FloatArray:
    """Find the places of values among known ones; NaN for those that are not known, and for missing ones.

    A value that is none of them may be the text of one, or say its number where one of the two is a text: 20 and 20.0
    are the category "20", "20" and "20.0" the category 20, but "020" is not "20". True is "True", or else "true" or
    "TRUE".

    Parameters
    ----------
    known : sequence
        Each once.
    values : array, Series or sequence, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    given = pd.Index(values, dtype=object)
    places: FloatArray = pd.Index(known, dtype=object).get_indexer(given).astype(np.float64)
    places[places < 0] = np.nan
    others = given[np.isnan(places)].dropna().unique()
    if others.size:
        last_to_first = [*enumerate(known)][::-1]  # the first of several that say the same is meant
        by_text = {str(name): place for place, name in last_to_first}
        by_number = {(isinstance(name, str), as_number(name)): place for place, name in last_to_first}
        found = {}
        for value in others:
            same_number = by_number.get((not isinstance(value, str), as_number(value)), np.nan)
            found[value] = next((by_text[text] for text in _texts_of(value) if text in by_text), same_number)
        gaps = np.isnan(places)
        places[gaps] = [found.get(value, np.nan) for value in given[gaps]]
    return places


def ways_of_saying(known: Sequence[Any]) -> dict[Any, int]:
    """List what `places_among` takes for one of the known ones, with its place: numbers, texts and truth values.

    Parameters
    ----------
    known : sequence
        Each once.

    Returns
    -------
    dict of value to int
        The known ones come first; of numbers only finite ones are listed.
    """
    numbers = [number for name in known if isinstance(number := as_number(name), float) and isfinite(number)]
    texts = [text for name in known if not isinstance(name, str) for text in _texts_of_number(name)]
    ways = [*dict.fromkeys([*known, *numbers, *texts, True, False])]
    places = places_among(known, ways)
    return {way: int(place) for way, place in zip(ways, places, strict=True) if not np.isnan(place)}


def _texts_of_number(name: Any) -> tuple[str, ...]:
    """Write a category that is no text in the ways that a table or a program may give it: 20 and 20.0."""
    number = str(as_number(name))
    return str(name), number, number.removesuffix(".0")


def _texts_of(value: Any) -> tuple[str, ...]:
    text = str(value)
    return (text, text.lower(), text.upper()) if isinstance(value, bool | np.bool_) else (text,)


def _category_columns(frame: pd.DataFrame) -> list[int]:
    return np.flatnonzero([_is_category(dtype) for dtype in frame.dtypes]).tolist()


def _is_category(dtype: Any) -> bool:
    """Return whether a dtype is that of categories, of pandas or of an Arrow dictionary."""
    return isinstance(dtype, pd.CategoricalDtype) or str(getattr(dtype, "pyarrow_dtype", "")).startswith("dictionary")


def _categorical(values: pd.Series) -> pd.Categorical:
    """Find the categories of a column; those of an Arrow dictionary are of its values."""
    return pd.Categorical(values if isinstance(values.dtype, pd.CategoricalDtype) else values.astype(object))


def _most_frequent(values: pd.Categorical, most: int | None) -> tuple[Any, ...]:
    """List the categories in their order; of more than `most` those that most values have, the first of equals."""
    names = values.categories
    if most is None or len(names) <= most:
        return tuple(names.tolist())
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(names))
    return tuple(names[np.sort(np.argsort(-counts, kind="stable")[:most])].tolist())


def as_number(category: Any) -> Any:
    """Read a category that is the text of a number as the number."""
    try:
        return float(category)
    except (OverflowError, TypeError, ValueError):
        return category


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
