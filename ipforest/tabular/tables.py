"""Tables from files, read strictly: columns by name, and nothing but numbers and missing cells where numbers belong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ipforest._internal.arrays import Array, load_array, load_arrays
from ipforest._internal.callers import warn_caller
from ipforest._internal.delimited import RECOGNISED, CsvFormat, Rows, read_rows
from ipforest.tabular.name_matching import closest_column, matched_names
from ipforest.tabular.number_columns import (
    MISSING,
    NumberColumn,
    is_number,
    notations_of,
    refuse,
    require_single_precision,
    tell_notations,
    warn_of_merged,
)
from ipforest.tabular.numerals import Notation

__all__ = [
    "MISSING",
    "CsvFormat",
    "has_names",
    "numbers_of",
    "read_cells",
    "read_examples",
    "select_columns",
    "to_words",
]


def read_examples(
    path: str | Path, features: Sequence[str] | None = None, *, header: bool = True, form: CsvFormat = RECOGNISED
) -> pd.DataFrame:
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
    form : CsvFormat
        How a CSV is written, as far as it is known.

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
    return select_columns(_numbers_of(path, features, header, form), features, str(path))


def _numbers_of(path: Path, features: Sequence[str] | None, header: bool, form: CsvFormat) -> pd.DataFrame:
    """Read at least the columns of the features."""
    if path.suffix == ".npz":
        arrays = load_arrays(path, "file of examples")
        if "X" not in arrays:
            raise ValueError(f"{path}: expected an array X, got {', '.join(arrays) or 'none'}")
        return _frame(path, arrays["X"], arrays.get("feature_names"))
    if path.suffix == ".npy":
        return _frame(path, load_array(path, "matrix of numbers"), None)
    cells = select_columns(read_cells(path, header=header, form=form), features, str(path))
    return numbers_of(cells, str(path), form, of_features=True)


def _frame(path: Path, X: Array, names: Array | None) -> pd.DataFrame:
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


def read_cells(path: str | Path, *, header: bool = True, form: CsvFormat = RECOGNISED) -> pd.DataFrame:
    """Read a CSV as stripped text; the index is the line of each row in the file.

    Columns without a name and without a value, which separators at the ends of lines make, are left out, and so are
    rows without a value at the end.

    Parameters
    ----------
    path : str or Path
    header : bool
        Whether the first line names the columns.
    form : CsvFormat
        How the file is written, as far as it is known.

    Returns
    -------
    DataFrame of str
        Its ``attrs`` hold the ``separator``.

    Raises
    ------
    ValueError
        As `read_examples`, but for the cells.

    Warns
    -----
    UserWarning
        Rows at the end are left out.
    """
    rows = _without_empty_rows(read_rows(path, form), str(path))
    rows = rows.without_empty_columns() if header else rows
    if not rows.cells.size:
        raise ValueError(f"{path}: expected a table, got an empty file")
    names = _checked_header(path, rows.cells[0].tolist()) if header else None
    cells, lines = rows.cells[header:], rows.lines[header:]
    if not lines.size:
        hint = "; JSON is written as CSV first" if rows.cells[0, 0].startswith(("{", "[")) else ""
        raise ValueError(f"{path}: expected a row below the names of the columns, got none{hint}")
    table = pd.DataFrame(cells, index=lines, columns=names, dtype=object, copy=False)
    table.attrs["separator"] = rows.separator
    return table


def _without_empty_rows(rows: Rows, path: str) -> Rows:
    """Leave out rows at the end without a value, which a spreadsheet makes of blank lines, and warn of it."""
    filled = rows.without_empty_rows_at_the_end()
    n_empty = rows.lines.size - filled.lines.size
    if n_empty:
        warn_caller(f"{path}: {n_empty} row{'s' * (n_empty > 1)} at the end without a value left out")
    return filled


def _checked_header(path: str | Path, names: list[str]) -> list[str]:
    if all(is_number(name) for name in names):
        raise ValueError(
            f"{path}, line 1: expected the names of the columns, got only numbers ({', '.join(names[:4])}...); "
            "if they are an example, say that there is no header"
        )
    if names.count("") > 1:
        raise ValueError(
            f"{path}, line 1: expected the names of the columns, got {names.count('')} of {len(names)} without one; "
            "remove a title above the names"
        )
    _check_once(names, f"{path}, line 1")
    return names


def _check_once(names: list[str], where: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{where}: expected each column once, got {name!r} {count} times")


def numbers_of(
    cells: pd.DataFrame, source: str, form: CsvFormat = RECOGNISED, *, of_features: bool = False
) -> pd.DataFrame:
    """Turn columns of text into numbers, NaN where a cell is missing.

    Each column may have a notation of its own: a decimal comma, marks between thousands, a currency or percent sign,
    the same in all its cells. Signs are left out and change no number.

    Parameters
    ----------
    cells : DataFrame of str
        As `read_cells` gives it, with lines for its index.
    source : str
        File, for messages.
    form : CsvFormat
        Its decimal mark, if it is known.
    of_features : bool, default=False
        Whether trees compare the numbers, so that single precision has to hold them.

    Raises
    ------
    ValueError
        A cell is no finite number and none of `MISSING`, or too large, or can be read as two numbers, such as 1,234;
        the message gives its line.

    Warns
    -----
    UserWarning
        A notation, or different whole numbers that float64 does not hold apart.
    """
    columns = [NumberColumn.of(column) for column in cells.to_numpy(dtype=object).T]
    found = notations_of(columns, form.decimal, cells.attrs.get("separator"))
    for place, (column, notation) in enumerate(zip(columns, found, strict=True)):
        if not isinstance(notation, Notation):
            refuse(column, notation, f"{source}, column {cells.columns[place]}", cells.index, form.decimal)
    known = [notation for notation in found if isinstance(notation, Notation)]
    tell_notations(dict(zip(map(str, cells.columns), known, strict=True)), source)
    numbers = np.empty(cells.shape)
    while columns:  # each column is let go as soon as it is copied
        place, column = len(columns) - 1, columns.pop()
        numbers[:, place] = column.numbers(known[place])
        where = f"{source}, column {cells.columns[place]}"
        warn_of_merged(column, numbers[:, place], where)
        if of_features:
            require_single_precision(column, numbers[:, place], where, cells.index)
    table = pd.DataFrame(numbers, index=cells.index, columns=cells.columns, copy=False)
    table.attrs = cells.attrs
    return table


def to_words(column: pd.Series, known: Collection[str] = ()) -> pd.Series:
    """Write all missing cells of a column of text in one way, as empty; known words such as NA are not missing."""
    return column.mask(column.isin(set(MISSING).difference(known)), "")


def has_names(table: pd.DataFrame) -> bool:
    """Return whether the columns have names rather than numbers."""
    return not isinstance(table.columns, pd.RangeIndex)


def select_columns(table: pd.DataFrame, features: Sequence[str] | None, source: str) -> pd.DataFrame:
    """Return the columns of a model's features, in their order and by their names; other columns are left out.

    A column whose name differs by case and blanks alone is taken where no other does.

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
    column_of = matched_names(features, table.columns)
    for name in features:
        if name not in column_of:
            taken = set(column_of.values())
            others = [column for column in table.columns if column not in taken]
            hint = closest_column(name, others, table.shape[1])
            raise ValueError(f"{source}: expected a column for each feature, got none for {name!r}{hint}")
    columns = [column_of[name] for name in features]
    selected = table if columns == list(table.columns) else table[columns]
    return selected.set_axis(list(features), axis=1)
