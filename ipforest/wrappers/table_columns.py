"""The columns of a table, and what a model sees that was computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype
from scipy.sparse import issparse

from ipforest._internal.arrays import Array, BoolArray, IntArray
from ipforest._internal.feature_names import column_names, column_of, in_pandas
from ipforest.ensemble.categories import places_among
from ipforest.tabular.name_matching import closest

__all__ = ["TableColumns", "in_words", "marks_of_gaps", "mixed_row", "plain_row", "row_of", "with_marks"]

MAX_ROWS = 100
"""Of so many rows the cells are that a model keeps."""
MARKS: dict[str, Any] = {"None": None, "NaN": np.nan, "": ""}
"""What a table may have in place of a missing word."""


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """The columns of a table, and what a model sees that was computed from them.

    Parameters
    ----------
    names : tuple of str, shape (n_columns,)
        Or what stands for them in messages.
    has_names : bool
        Whether columns are known by these names, too, and not by their places alone.
    row : array or DataFrame, shape (1, n_columns)
        Cells of training; what is told stands in their place.
    sources : ndarray of int64, shape (n_features,)
        The column from which each feature is computed.
    encode : callable (table) -> examples, shape (n_samples, n_features)
    """

    names: tuple[str, ...]
    has_names: bool
    row: Any
    sources: IntArray
    encode: Callable[[Any], Any]

    def name(self, place: int) -> str:
        """Return the name of a column."""
        return self.names[place]

    def place(self, column: Any) -> int:
        """Find a column by its name or number.

        Raises
        ------
        ValueError
            There is none.
        """
        names = [*self.names] if self.has_names else []
        found = column_of(column, names, len(self.names))
        if found is not None:
            return found
        advice = closest(column, names) if isinstance(column, str) else ""
        raise ValueError(
            f"column: expected the name of a column or a number 0..{len(self.names) - 1}, got {column!r}{advice}"
        )

    def of(self, features: Sequence[int]) -> tuple[int, ...]:
        """List the columns from which some features are computed, in the table's order."""
        return tuple(sorted({int(self.sources[feature]) for feature in features}))

    def named(self, features: Sequence[int]) -> str:
        """Name the columns from which some features are computed."""
        return ", ".join(map(self.name, self.of(features)))

    def computed(self, values: Mapping[int, Any]) -> dict[int, Any]:
        """Compute, from cells of columns, the features that follow; None stays None where it is no category.

        Raises
        ------
        ValueError
            A cell is of another type than its column.
        """
        found = self.computed_of_rows({column: [value] for column, value in values.items()}, 1)
        return {feature: cells.tolist()[0] for feature, cells in found.items()}

    def computed_of_rows(self, values: Mapping[int, Sequence[Any]], n: int) -> dict[int, Array]:
        """Compute features as `computed` does, of n rows at once; cells and features are arrays of shape (n,).

        Raises
        ------
        ValueError
            A cell is of another type than its column.
        """
        rows = _repeated(self.row, n)
        for column, cells in values.items():
            rows = _with_cells(rows, column, cells, self.name(column))
        seen = in_pandas(self.encode(rows))
        told_none = {column: np.array([cell is None for cell in cells]) for column, cells in values.items()}
        return {
            feature: _with_none(_column(seen, feature), told_none[source])
            for feature, source in enumerate(self.sources.tolist())
            if source in values
        }


def mixed_row(X: Any) -> Any:
    """Take cells from different rows, as far as there are rows, so that a file of a model holds none of training."""
    first = in_pandas(X.head(MAX_ROWS) if hasattr(X, "head") else X[:MAX_ROWS])
    if not isinstance(first, pd.DataFrame):
        first = first.toarray() if issparse(first) else np.asarray(first)
    row = first[:1].copy()
    for place in range(1, first.shape[1]):
        another = place % first.shape[0]
        if isinstance(row, pd.DataFrame):
            row.isetitem(place, first.iloc[[another], place].set_axis(row.index))
        else:
            row[0, place] = first[another, place]
    return row


def marks_of_gaps(X: Any) -> dict[str, str]:
    """Find how columns of objects mark what is missing, which encoders tell apart: as a key of `MARKS`.

    Where nothing else is missing, that is an empty text, as commands read empty cells among words.
    """
    marks = dict[str, str]()
    for name in column_names(X) or ():
        cells = np.asarray(X[name])
        if cells.dtype == object:
            found = {*map(_mark, cells[pd.isna(cells)])} or ({""} if np.any(cells == "") else set())
            if len(found) == 1 and found <= {*MARKS}:
                marks[name] = found.pop()
    return marks


def with_marks(X: Any, marks: Mapping[str, str]) -> Any:
    """Mark what is missing in a table as in training, see `marks_of_gaps`; one that is marked so is returned."""
    marked = X
    for name, mark in marks.items() if column_names(X) else ():
        cells = np.asarray(X[name])
        gaps = pd.isna(cells)
        if {*map(_mark, cells[gaps])} - {mark}:
            marked = in_pandas(X).copy(deep=False) if marked is X else marked
            filled = np.where(gaps, MARKS[mark], cells.astype(object))
            marked[name] = pd.Series(filled, index=marked.index, dtype=object)
    return marked


def in_words(X: Any, row: Any, words_of: Callable[[], Mapping[str, Sequence[str]]]) -> Any:
    """Write cells that are no texts, in columns of words, as the words of training that say the same.

    Commands read True and 20 as the words that they stand for in the file, ``pandas.read_csv`` as a boolean and a
    number.

    Parameters
    ----------
    X : array or DataFrame
    row : array or DataFrame
        Of training.
    words_of : callable () -> mapping of str to sequence of str
        Gives the words of each column; called if there may be such cells.
    """
    if column_names(X) is None or not isinstance(row, pd.DataFrame):
        return X
    no_numbers = [name for name in row if not is_numeric_dtype(row[name].dtype)]
    frame = in_pandas(X) if no_numbers else X
    others = [name for name in no_numbers if not _has_texts_only(frame[name])]
    words = words_of() if others else {}
    in_other_ways = [name for name in others if words.get(name)]
    written = frame.copy(deep=False) if in_other_ways else X
    for name in in_other_ways:
        known, cells = words[name], frame[name].astype(object).to_numpy(copy=True)
        places = places_among(known, cells)
        cells[~np.isnan(places)] = np.array(known, dtype=object)[places[~np.isnan(places)].astype(np.int64)]
        written[name] = pd.Series(cells, index=frame.index, dtype=object)
    return written


def _has_texts_only(cells: pd.Series[Any]) -> bool:
    values: Any = cells.cat.categories if isinstance(cells.dtype, pd.CategoricalDtype) else cells
    return infer_dtype(values, skipna=True) in ("string", "empty")


def _mark(cell: Any) -> str:
    return "None" if cell is None else "NaN" if isinstance(cell, float) else str(cell)


def _repeated(row: Any, n: int) -> Any:
    if not isinstance(row, pd.DataFrame):
        return np.tile(row, (n, 1))
    return row.iloc[np.zeros(n, dtype=np.int64)].reset_index(drop=True)


def _column(seen: Any, feature: int) -> Array:
    """Take what is computed as one feature: floats, or the words of a column of categories."""
    if not isinstance(seen, pd.DataFrame):
        return np.asarray(seen[:, feature], dtype=np.float64)
    cells: pd.Series[Any] = seen.iloc[:, feature]
    try:
        return np.asarray(cells.to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        return np.asarray(cells.to_numpy(object, na_value=np.nan))


def _with_none(cells: Array, told_none: BoolArray) -> Array:
    """Put None where None was told and nothing was computed in its place."""
    absent = told_none & pd.isna(cells)
    if not absent.any():
        return cells
    found = cells.astype(object)
    found[absent] = None
    return found


def _with_cells(rows: Any, column: int, values: Sequence[Any], name: str) -> Any:
    """Put cells into rows, of the type of their column, which is float for what no integer holds."""
    if not isinstance(rows, pd.DataFrame):
        changed = np.array(rows, dtype=object if np.asarray(rows).dtype.kind in "OUS" else np.float64)
        changed[:, column] = [np.nan if value is None else value for value in values]
        return changed
    kind = rows.dtypes.iloc[column]
    try:
        typed = _typed(values, kind)
    except (OverflowError, TypeError, ValueError):
        wrong = next(value for value in values if not _fits(value, kind))
        raise ValueError(f"{name}: expected a value of type {kind}, as in training, got {wrong!r}") from None
    changed = rows.copy()
    changed.isetitem(column, typed.set_axis(rows.index))
    return changed


def _typed(values: Sequence[Any], kind: Any) -> pd.Series[Any]:
    """Make a column of cells; what is no category of a type of categories is missing, and what is no text stays."""
    is_missing = [value is None or (np.ndim(value) == 0 and pd.isna(value)) for value in values]
    cells = pd.Series(
        [np.nan if missing else value for value, missing in zip(values, is_missing, strict=True)], dtype=object
    )
    if isinstance(kind, pd.CategoricalDtype):
        return cells.where(cells.isin(kind.categories)).astype(kind)
    if isinstance(kind, pd.StringDtype) and not _has_texts_only(cells):
        return cells
    is_float = any(is_missing) and kind.kind in "iub"
    is_float |= kind.kind in "iu" and any(float(value) % 1 > 0 for value in cells[~np.array(is_missing, dtype=bool)])
    return cells.astype(np.float64 if is_float else kind)


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a cell can be made to be of a type."""
    try:
        _typed([value], kind)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def plain_row(row: Any) -> Any:
    """Write a data frame of one row as plain parts, which a file of data holds; any other row stays as it is.

    So does one of cells or types that would not come back as they were.
    """
    if not isinstance(row, pd.DataFrame):
        return row
    columns = [row.iloc[:, place] for place in range(row.shape[1])]
    parts = {
        "labels": row.columns.tolist(),
        "types": [_plain_type(column.dtype) for column in columns],
        "cells": [_plain_cell(column.iloc[0], column.dtype) for column in columns],
    }
    try:
        again = row_of(parts)
    except (TypeError, ValueError):
        return row
    same = again.equals(row.reset_index(drop=True)) and again.dtypes.tolist() == row.dtypes.tolist()
    return parts if same and again.columns.equals(row.columns) else row


def row_of(parts: Mapping[str, Any]) -> pd.DataFrame:
    """Return the data frame that `plain_row` wrote."""
    cells = [pd.Series([cell], dtype=_type_of(kind)) for cell, kind in zip(parts["cells"], parts["types"], strict=True)]
    row = pd.concat(cells, axis=1)
    row.columns = pd.Index(parts["labels"])
    return row


def _plain_type(kind: Any) -> Any:
    if not isinstance(kind, pd.CategoricalDtype):
        return str(kind)
    return {"categories": kind.categories.tolist(), "type": str(kind.categories.dtype), "ordered": bool(kind.ordered)}


def _type_of(plain: Any) -> Any:
    if isinstance(plain, str):
        return plain
    return pd.CategoricalDtype(pd.Index(plain["categories"], dtype=plain["type"]), ordered=plain["ordered"])


def _plain_cell(cell: Any, kind: Any) -> Any:
    """Write a cell as a text, a number or a truth value; None is missing where the type of the column says how."""
    if kind != np.object_ and pd.isna(cell):
        return None
    if isinstance(cell, (pd.Timestamp, pd.Timedelta)):
        return str(cell)
    return cell.item() if isinstance(cell, np.generic) else cell
