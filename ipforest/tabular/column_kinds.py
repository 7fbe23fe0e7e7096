"""What a table's columns hold: numbers, words, or nothing to learn from; and how that is told."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import FloatArray
from ipforest._internal.delimited import RECOGNISED, CsvFormat
from ipforest._internal.feature_names import some_names
from ipforest._internal.words import plain
from ipforest.tabular.name_matching import folded, value_of
from ipforest.tabular.number_columns import (
    NAN_FOR,
    InDoubt,
    NumberColumn,
    notations_of,
    padded,
    refuse,
    require_single_precision,
    taken_for_one,
    warn_of_merged,
)
from ipforest.tabular.numerals import PLAIN, Notation, is_written_number
from ipforest.tabular.word_columns import MAX_WORDS

__all__ = ["Column", "Kind", "stand_in", "summary", "typed_columns"]

FEW_WORDS = 8
"""So many different words are never too many, however few the rows."""
FEW_UNITS = 3
FEW_ROWS, FEW_SHARE, FEW_OTHERS, FAR = 5, 0.02, 5, 5
"""A number that stands for no value is in so many rows and such a share of them, with so many different others, from
which it is so many times as far as they are from each other, or as far if it is 99, 999, ..., perhaps below 0."""
MIN_RUN = 20
"""Rows from which on integers that go up by one from row to row are taken for the number of the row."""
QUANTITY = re.compile(r"[<>~≈≤≥]?\s*[+-]?[0-9][0-9.,]*\s*[^\W\d_]{1,6}(/\w+)?|\([0-9.,\s]+\)|[A-Z]{3}\s?[0-9][0-9.,]*")
"""A number with a unit, a currency's letters, a comparison or an accountant's brackets."""
DATE = re.compile(
    r"([0-9]{1,4}([-/.])[0-9]{1,2}\2[0-9]{2,4}|[0-9]{1,2}[-/. ]{1,2}[^\W\d_]{3,9}[-/. ]{1,2}[0-9]{4})([T ][0-9:.Z+]+)?"
)
TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?( ?[ap]m)?", re.IGNORECASE)
KEPT_BY_PRICE = "a line of its own in the price list keeps it"
NAMELESS = re.compile(r"|unnamed: \d+")
ID = re.compile(r"(^|[^a-z])(ids?|uuid|guid)([^a-z]|$)|^(index|row|rownames?|row (names?|numbers?))$")


class Kind(StrEnum):
    """What a column is taken for."""

    NUMBERS = "numbers"
    WORDS = "words"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Column:
    """What was made of a column.

    Parameters
    ----------
    name : str
    kind : Kind
    missing : float
        Share of the cells without a value, 0 to 1.
    n_words : int
        Different words; 0 for numbers.
    remark : str
        Why it is left out, how its numbers are written, that they may be codes, that trees do not tell them apart, or
        which words may not be meant.
    """

    name: str
    kind: Kind
    missing: float
    n_words: int = 0
    remark: str = ""


def typed_columns(
    cells: pd.DataFrame,
    source: str,
    form: CsvFormat = RECOGNISED,
    *,
    words: Collection[str] = (),
    priced: Collection[str] = (),
) -> tuple[pd.DataFrame, list[Column]]:
    """Tell numbers from words, and leave out what is no feature.

    A column holds numbers where all its cells are numbers in one notation, and words where more of its different
    cells are words than numbers (blood types A, B, AB and 0). Left out are columns without a name or a value, words
    that hardly repeat, integers that count the rows, and identifiers.

    Parameters
    ----------
    cells : DataFrame of str
        As `ipforest.tabular.tables.read_cells` gives it.
    source : str
        File, for messages.
    form : CsvFormat
        Its decimal mark, if it is known.
    words : collection of str
        Columns to take as words, whatever they look like.
    priced : collection of str
        Columns with a price of their own, which are kept though they look like identifiers.

    Returns
    -------
    table : DataFrame
        Columns of float64 and of str, without those left out.
    columns : list of Column
        Of the cells, in their order.

    Raises
    ------
    ValueError
        A column has numbers and a few words, numbers with units, or numbers that can be read in two ways.
    """
    texts = [NumberColumn.of(column) for column in cells.to_numpy(dtype=object).T]
    names = [str(name) for name in cells.columns]
    asked = [name in words for name in names]
    found = notations_of(
        [column for column, is_asked in zip(texts, asked, strict=True) if not is_asked],
        form.decimal,
        cells.attrs.get("separator"),
    )
    readings = iter(found)
    values: dict[str, Any] = {}
    columns = []
    for name, column, is_asked in zip(names, texts, asked, strict=True):
        reading = None if is_asked else next(readings)
        if not is_asked and not _is_words(column, reading) and not isinstance(reading, Notation):
            hint = f"; leave a cell without a value empty, or take the column as words (--words {name!r})"
            refuse(column, reading, f"{source}, column {name}", cells.index, form.decimal, hint)
        numbers = column.numbers(reading) if isinstance(reading, Notation) else None
        told = _told(name, column, numbers, reading, keep=is_asked or name in priced)
        if numbers is None and not is_asked and not ID.search(_spaced(name)):
            _refuse_quantities(column, f"{source}, column {name}", cells.index)
        if told.kind != Kind.LEFT_OUT:
            if numbers is not None:
                warn_of_merged(column, numbers, f"{source}, column {name}")
                require_single_precision(column, numbers, f"{source}, column {name}", cells.index)
            values[name] = _words(column.texts) if numbers is None else numbers
        columns.append(told)
    return _frame(values, cells.index), columns


def _is_words(column: NumberColumn, reading: Notation | InDoubt | None) -> bool:
    """Whether more different cells are words than numbers, of whatever notation."""
    different = column.different
    return reading is None and 2 * sum(map(is_written_number, different)) < len(different)


def _told(
    name: str, column: NumberColumn, numbers: FloatArray | None, reading: Notation | InDoubt | None, *, keep: bool
) -> Column:
    different = column.different if numbers is None else []
    if numbers is None:
        n_present = sum(text not in NAN_FOR for text in column.texts)
    else:
        n_present = int(np.count_nonzero(~np.isnan(numbers)))
    if n_present == 0:
        reason = "no value"
    elif keep:
        reason = ""
    elif NAMELESS.fullmatch(folded(name)):
        reason = "no name"
    else:
        reason = _no_words(different, n_present) if numbers is None else _no_numbers(name, numbers, n_present)
    missing = 1 - n_present / len(column.texts)
    if reason:
        return Column(name, Kind.LEFT_OUT, missing, 0, reason)
    if numbers is not None:
        remarks = [str(reading or PLAIN).strip(), padded(column), taken_for_one(numbers), stand_in(numbers)]
        return Column(name, Kind.NUMBERS, missing, 0, "; ".join(filter(None, remarks)))
    return Column(name, Kind.WORDS, missing, len(different), _remark_on_words(different))


def stand_in(numbers: FloatArray, advice: str = "leave these cells empty") -> str:
    """Name a number that evidently stands for no value: the same one in many rows, far from all others.

    >>> stand_in(np.array([-999.0] * 8 + [*range(60)]))
    '-999 in 8 rows, far from all others (0 to 59); if it stands for no value, leave these cells empty'
    """
    present = numbers[~np.isnan(numbers)]
    for value in np.unique(present)[[0, -1]] if present.size else ():
        others = present[present != value]
        n_rows = present.size - others.size
        if value == 0 or n_rows < max(FEW_ROWS, FEW_SHARE * present.size) or np.unique(others).size < FEW_OTHERS:
            continue
        low, high = others.min(), others.max()
        is_of_nines = set(f"{abs(value):.0f}") == {"9"} and abs(value) >= 99
        if max(low - value, value - high) > (1 if is_of_nines else FAR) * (high - low):
            span = f"({plain(low)} to {plain(high)})"
            return (
                f"{plain(value, 9)} in {n_rows} rows, far from all others {span}; if it stands for no value, {advice}"
            )
    return ""


def _remark_on_words(different: Sequence[str]) -> str:
    """Say of the words of a column what may be no intention: numbers, dates, and words that differ in case alone."""
    moments = _moments(different)
    if moments:
        return moments
    like_numbers = [text for text in different if PLAIN.plain(text) is not None]
    remarks = [f"{some_names([*map(repr, like_numbers)])} taken as words, too"] if like_numbers else []
    if len(different) > MAX_WORDS:
        remarks.append(f"the {MAX_WORDS} most frequent are told apart, all others are one")
    return "; ".join([*remarks, *alike(different)])


def _moments(different: Sequence[str]) -> str:
    """Say of words that are all dates, or all times of the day, how to write them as numbers; else nothing."""
    if all(map(DATE.fullmatch, different)):
        return "dates as words, so that another date says nothing; as numbers, such as days since a day, it would"
    if all(map(TIME.fullmatch, different)):
        return "times as words, so that another time says nothing; as numbers, such as minutes since midnight, it would"
    return ""


def alike(different: Sequence[str]) -> list[str]:
    """Name two words that differ by case or blanks alone, or are one number, in a list that is empty without such.

    >>> alike(["male", "Female", "Male"])
    ["'male' and 'Male' count as two"]
    >>> alike(["0", "1", "1.0"])
    ["'1' and '1.0' count as two"]
    """
    first: dict[Hashable, str] = {}
    for text in different:
        other = first.setdefault(value_of(folded(text)), text)
        if other != text:
            return [f"{other!r} and {text!r} count as two"]
    return []


def _no_words(different: Sequence[str], n_present: int) -> str:
    """Say why a column of words is no feature, or nothing."""
    if len(different) <= max(FEW_WORDS, n_present / 2):
        return ""
    return "; ".join(filter(None, [f"{len(different)} different words in {n_present} cells", _moments(different)]))


def _no_numbers(name: str, numbers: FloatArray, n_present: int) -> str:
    """Say why a column of numbers is no feature, or nothing."""
    if len(numbers) >= MIN_RUN and np.all(np.diff(numbers) == 1):
        return f"counts the rows; {KEPT_BY_PRICE}"
    if ID.search(_spaced(name)):
        different = np.unique(numbers[~np.isnan(numbers)])
        if len(different) > max(FEW_WORDS, n_present / 2) and np.all(different % 1 == 0):
            return f"identifies the rows; {KEPT_BY_PRICE}"
    return ""


def _spaced(name: str) -> str:
    """Write patientID as patient id."""
    return folded(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))


def _words(texts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Write all missing cells in one way, as empty."""
    return np.array(["" if text in NAN_FOR else text for text in texts], dtype=object)


def _refuse_quantities(column: NumberColumn, where: str, lines: pd.Index) -> None:
    """Refuse many different numbers with units, which as words would be a column each."""
    different = column.different
    found = [text for text in different if QUANTITY.fullmatch(text)]
    units = {re.sub(r"[0-9.,\s]+", "", text) for text in found}
    if len(found) > FEW_WORDS and 2 * len(found) > len(different) and len(units) <= FEW_UNITS:
        raise ValueError(
            f"{where}, line {lines[column.place_of(found[0])]}: expected numbers or words, got {len(found)} "
            f"different numbers with units such as {found[0]!r}; write the numbers alone, or give the column to "
            "--words or --drop"
        )


def _frame(values: dict[str, Any], index: pd.Index) -> pd.DataFrame:
    """Join columns, all numbers in one block."""
    numbers = [name for name, column in values.items() if column.dtype == np.float64]
    block = np.empty((len(index), len(numbers)))
    for place, name in enumerate(numbers):
        block[:, place] = values[name]
    words = {name: column for name, column in values.items() if column.dtype != np.float64}
    parts = [pd.DataFrame(block, index=index, columns=numbers), pd.DataFrame(words, index=index, dtype=object)]
    return pd.concat(parts, axis=1)[list(values)] if words else parts[0]


def summary(columns: Sequence[Column]) -> list[str]:
    """Tell what was made of the columns, a line for each kind and remark."""
    groups: dict[tuple[Kind, str], list[Column]] = {}
    for column in columns:
        groups.setdefault((column.kind, column.remark), []).append(column)
    return [_line(*group, members) for kind in Kind for group, members in groups.items() if group[0] == kind]


def _line(kind: Kind, remark: str, members: Sequence[Column]) -> str:
    shown = [f"{column.name!r} ({column.n_words})" if kind == Kind.WORDS else repr(column.name) for column in members]
    told = [remark] if remark else []
    missing = float(np.mean([column.missing for column in members]))
    if kind != Kind.LEFT_OUT and missing > 0:
        told.append(f"{missing:.1%} of the cells missing")
    ending = f": {'; '.join(told)}" if told else ""
    return f"{kind}, {len(members)} column{'s' * (len(members) > 1)}: {some_names(shown)}{ending}"
