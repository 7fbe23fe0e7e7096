"""Tables from files, read strictly: columns by name, and nothing but numbers and missing cells where numbers belong."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._arrays import load_arrays
from ipforest.price_lists import closest

__all__ = ["MISSING", "has_names", "read_cells", "read_examples", "select_columns", "to_numbers", "to_words"]

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
        try:
            return _frame(path, np.load(path, allow_pickle=False), None)
        except (ValueError, EOFError) as problem:
            raise ValueError(f"{path}: expected a complete matrix of numbers, got: {problem}") from None
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
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            rows = {line: [cell.strip() for cell in row] for line, row in _numbered(reader) if row}
        except (csv.Error, UnicodeDecodeError) as problem:
            raise ValueError(f"{path}: expected a table of text cells, got: {problem}") from None
    if not rows:
        raise ValueError(f"{path}: expected a table, got an empty file")
    first = next(iter(rows))
    for line, row in rows.items():
        if len(row) != len(rows[first]):
            raise ValueError(
                f"{path}, line {line}: expected {len(rows[first])} cells as in line {first}, got {len(row)}"
            )
    names = _checked_header(path, rows.pop(first)) if header else None
    if not rows:
        raise ValueError(f"{path}: expected a row below the names of the columns, got none")
    return pd.DataFrame(list(rows.values()), index=list(rows), columns=names, dtype=object)


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Give each row with the number of its last line."""
    for row in reader:
        yield reader.line_num, row


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
    missing = column.isin(MISSING)
    texts = column.mask(missing, "nan").to_numpy(dtype=np.str_)
    try:
        numbers = texts.astype(np.float64)
        bad = ~np.isfinite(numbers) | (np.strings.find(texts, "_") >= 0)
    except ValueError:
        bad = np.array([not is_number(cell) for cell in texts.tolist()])
    bad &= ~missing.to_numpy()
    if bad.any():
        place = int(np.argmax(bad))
        raise ValueError(
            f"{source}, column {column.name}, line {column.index[place]}: expected a finite number or a missing value "
            f"({', '.join(map(repr, MISSING))}), got {column.iloc[place]!r}"
        )
    return pd.Series(numbers, index=column.index, name=column.name)


def to_words(column: pd.Series) -> pd.Series:
    """Write all missing cells of a column of text in one way, as empty."""
    return column.mask(column.isin(MISSING), "")


def is_number(cell: str) -> bool:
    """Return whether a text is a finite number; underscores between digits are not taken."""
    try:
        return bool(np.isfinite(float(cell))) and "_" not in cell
    except ValueError:
        return False


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
