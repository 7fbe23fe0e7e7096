"""Tables from files, read strictly: columns by name, and nothing but numbers and missing cells where numbers belong."""

from __future__ import annotations

import csv
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._arrays import load_array, load_arrays
from ipforest.price_lists import closest

__all__ = ["MISSING", "has_names", "read_cells", "read_examples", "select_columns", "to_numbers", "to_words"]

ROWS_AT_ONCE = 1000
SHORT = 3
"""Most characters of cells that are kept once."""

MISSING = ("", "NA", "NaN", "nan", "?")
"""Cells that stand for a missing value."""


def read_examples(path: str | Path, features: Sequence[str] | None = None, *, header: bool = True) -> pd.DataFrame:
    """Read a matrix of examples from a file.

    Parameters
    ----------
    path : str or Path
        ``.npy``; ``.npz`` with an array ``X`` and perhaps ``feature_names``; else CSV of numbers, where an empty cell,
        NA, NaN or ? is a missing value.
    features : sequence of str, optional
        Which columns, where the file has names; others may hold anything. By default all.
    header : bool
        Whether the first line of a CSV names the columns.

    Returns
    -------
    DataFrame, shape (n_samples, n_features)
        Columns are numbered where the file has no names.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        The file is truncated, has no array X, a cell that is no number, rows of different lengths, a column twice, none
        for a feature, or a first line of numbers that could be a header or an example.
    """
    path = Path(path)
    return select_columns(_numbers_of(path, features, header), features, str(path))


def _numbers_of(path: Path, features: Sequence[str] | None, header: bool) -> pd.DataFrame:
    """Read at least the columns of the features."""
    if path.suffix == ".npz":
        arrays = load_arrays(path, "file of examples")
        if "X" not in arrays:
            raise ValueError(f"{path}: expected an array X, got {', '.join(arrays)}")
        return _frame(path, arrays["X"], arrays.get("feature_names"))
    if path.suffix == ".npy":
        return _frame(path, load_array(path, "matrix of numbers"), None)
    cells = select_columns(read_cells(path, header=header), features, str(path))
    return cells.apply(lambda column: to_numbers(column, str(path)))


def _frame(path: Path, X: npt.NDArray[Any], names: npt.NDArray[Any] | None) -> pd.DataFrame:
    if X.ndim != 2:
        raise ValueError(f"{path}: expected 2 dimensions (n_samples, n_features), got {X.ndim}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{path}: expected numbers, got dtype {X.dtype}")
    if names is None:
        return pd.DataFrame(X)
    if names.shape != X.shape[1:]:
        raise ValueError(
            f"{path}: expected feature_names of shape {X.shape[1:]}, one per column of X, got {names.shape}"
        )
    columns = list(map(str, names))
    _check_once(columns, str(path))
    return pd.DataFrame(X, columns=columns)


def read_cells(path: str | Path, *, header: bool = True) -> pd.DataFrame:
    """Read a CSV as stripped text; the index is the line of each row in the file.

    Raises
    ------
    ValueError
        As `read_examples`, but for the cells.
    """
    lines, columns = array("q"), list[list[str]]()
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        try:
            for numbers, rows in _in_blocks(csv.reader(file), path):
                columns = columns or [[] for _ in rows[0]]
                for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                    column += map(_stripped, cells)
                lines.extend(numbers)
        except (csv.Error, UnicodeDecodeError) as problem:
            raise ValueError(f"{path}: expected a table of text cells, got: {problem}") from None
    if not lines:
        raise ValueError(f"{path}: expected a table, got an empty file")
    names = _checked_header(path, [column[0] for column in columns]) if header else None
    first = 0 if names is None else 1
    if len(lines) == first:
        raise ValueError(f"{path}: expected a row below the names of the columns, got none")
    table = np.empty((len(columns), len(lines) - first), dtype=object)
    for number, column in enumerate(columns):
        table[number] = column[first:]
        column.clear()
    in_a_row = lines[-1] - lines[first] == len(lines) - first - 1
    index = pd.RangeIndex(lines[first], lines[-1] + 1) if in_a_row else np.array(lines[first:])
    return pd.DataFrame(table.T, index=index, columns=names, copy=False)


def _in_blocks(reader: Any, path: str | Path) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Give the rows that are not empty, some at a time, with the numbers of their last lines; all are of one length."""
    rows: dict[int, list[str]] = {}
    first = None
    for row in reader:
        if not row:
            continue
        first = first or (reader.line_num, len(row))
        if len(row) != first[1]:
            raise ValueError(
                f"{path}, line {reader.line_num}: expected {first[1]} cells as in line {first[0]}, got {len(row)}"
            )
        rows[reader.line_num] = row
        if len(rows) == ROWS_AT_ONCE:
            yield list(rows), list(rows.values())
            rows = {}
    if rows:
        yield list(rows), list(rows.values())


def _stripped(cell: str) -> str:
    """Strip a cell; a short one, of which there may be many, is kept in memory once."""
    text = cell.strip()
    return sys.intern(text) if len(text) <= SHORT else text


def _checked_header(path: str | Path, names: list[str]) -> list[str]:
    if all(is_number(name) for name in names):
        raise ValueError(
            f"{path}, line 1: expected the names of the columns, got only numbers ({', '.join(names[:4])}...); "
            "if they are an example, say that there is no header"
        )
    _check_once(names, f"{path}, line 1")
    return names


def _check_once(names: list[str], where: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{where}: expected each column once, got {name!r} {count} times")


def to_numbers(column: pd.Series, source: str) -> pd.Series:
    """Turn a column of text into numbers, NaN where a cell is missing.

    Parameters
    ----------
    column : Series of str
        As `read_cells` gives it, with lines for its index.
    source : str
        File, for the error message.

    Raises
    ------
    ValueError
        A cell is no finite number and none of `MISSING`; the message gives its line.
    """
    missing = column.isin(MISSING).to_numpy()
    cells = column.to_numpy()
    numbers = np.full(cells.size, np.nan)
    try:
        numbers[~missing] = np.fromiter(map(_number, cells[~missing]), dtype=np.float64)
    except ValueError:
        place = next(place for place in np.flatnonzero(~missing).tolist() if not is_number(cells[place]))
        raise ValueError(
            f"{source}, column {column.name}, line {column.index[place]}: expected a finite number or a missing value "
            f"({', '.join(map(repr, MISSING))}), got {shorten(repr(cells[place]), 200, placeholder='...')}"
        ) from None
    return pd.Series(numbers, index=column.index, name=column.name)


def to_words(column: pd.Series) -> pd.Series:
    """Write all missing cells of a column of text in one way, as empty."""
    return column.mask(column.isin(MISSING), "")


def is_number(cell: str) -> bool:
    """Return whether a text is a finite number; underscores between digits are not taken."""
    try:
        _number(cell)
    except ValueError:
        return False
    return True


def _number(cell: str) -> float:
    number = float(cell)
    if "_" in cell or not isfinite(number):
        raise ValueError(cell)
    return number


def has_names(table: pd.DataFrame) -> bool:
    """Return whether the columns have names rather than numbers."""
    return not isinstance(table.columns, pd.RangeIndex)


def select_columns(table: pd.DataFrame, features: Sequence[str] | None, source: str) -> pd.DataFrame:
    """Return the columns of a model's features, in their order; other columns are left out.

    Parameters
    ----------
    table : DataFrame
    features : sequence of str or None
        Where either side has no names, all columns are given as they stand, to be matched by position.
    source : str
        File, for the error message.

    Raises
    ------
    ValueError
        A feature has no column; the message names the closest one.
    """
    if features is None or not has_names(table):
        return table
    for name in features:
        if name not in table.columns:
            others = [column for column in table.columns if column not in features]
            raise ValueError(
                f"{source}: expected a column for each feature, got none for {name!r}{closest(name, others)}"
            )
    return table[list(features)]
