"""Columns of text that hold numbers: missing cells, and the notation that a column is written in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import FloatArray
from ipforest._internal.callers import warn_caller
from ipforest._internal.feature_names import some_names
from ipforest.tabular.numerals import PLAIN, Notation, best_notation, notations

MISSING = ("", "NA", "NaN", "nan", "?", "N/A", "n/a", "#N/A", "NULL", "null", "<NA>")
"""Cells that stand for a missing value."""

MAX_CHARACTERS = 100
"""Most characters of a cell in a message."""

MAX_FEATURE = float(np.finfo(np.float32).max)
"""The largest number of a feature."""

MAX_EXACT_INTEGER = 2.0**53
"""Beyond it float64 holds some whole numbers only."""

MAX_SAMPLE = 10_000
"""So many numbers say whether trees tell those of a column apart."""

MIN_GAP = np.float32(1e-7)
"""Between numbers that are no further apart scikit-learn's trees do not split (``FEATURE_THRESHOLD``)."""

PADDED = re.compile(r"0+[1-9][0-9]*", re.ASCII)
"""A whole number with leading zeros."""

NAN_FOR = dict.fromkeys(MISSING, "nan")


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of text while it is read.

    Parameters
    ----------
    texts : ndarray of str, dtype object
    floats : ndarray or None
        The numbers, NaN where one is missing, if all cells that are not missing are plain numbers.
    """

    texts: npt.NDArray[np.object_]
    floats: FloatArray | None

    @classmethod
    def of(cls, texts: npt.NDArray[np.object_]) -> NumberColumn:
        """Read the cells of a column as plain numbers where they are."""
        try:
            floats = np.fromiter((float(NAN_FOR.get(text, text)) for text in texts), np.float64, len(texts))
        except ValueError:
            return cls(texts, None)
        odd = np.flatnonzero(~np.isfinite(floats)).tolist()
        if any(texts[place] not in NAN_FOR for place in odd) or "_" in "".join(texts):
            return cls(texts, None)
        return cls(texts, floats)

    @property
    def different(self) -> list[str]:
        """The different cells that are not missing, in their order."""
        return [text for text in dict.fromkeys(self.texts) if text not in NAN_FOR]

    def numbers(self, notation: Notation) -> FloatArray:
        """Read the cells in a notation that all of them have."""
        if notation == PLAIN and self.floats is not None:
            return self.floats
        known = {text: float(notation.plain(text) or "nan") for text in self.different}
        return np.fromiter((known.get(text, np.nan) for text in self.texts), np.float64, len(self.texts))

    def place_of(self, text: str) -> int:
        """Return the place of the first cell that holds a text."""
        return int(np.flatnonzero(self.texts == text)[0])


class InDoubt(NamedTuple):
    """A column whose cells can be read in two ways."""

    readings: list[Notation]


def notations_of(
    columns: Sequence[NumberColumn], decimal: str | None, separator: str | None
) -> list[Notation | InDoubt | None]:
    """Find the notation of each column; what one column leaves open is decided by the others, if they agree.

    None stands for a column that is not one of numbers. Points in threes (1.234) are in doubt where the separator or
    another column speaks for decimal commas.
    """
    found: list[Notation | InDoubt | None] = [
        PLAIN if column.floats is not None and decimal != "," else _notation(column, decimal) for column in columns
    ]
    speaking = {notation.decimal for notation in found if isinstance(notation, Notation) and notation != PLAIN}
    if decimal is None and ("," in speaking or separator == ";"):
        found = [
            _notation(column, None) if notation == PLAIN and "." in "".join(column.texts) else notation
            for column, notation in zip(columns, found, strict=True)
        ]
    if not any(isinstance(notation, InDoubt) for notation in found):
        return found
    marks = {
        notation.decimal
        for column, notation in zip(columns, found, strict=True)
        if isinstance(notation, Notation) and _shows_decimals(column, notation)
    }
    if len(marks) != 1:
        return found
    mark = next(iter(marks))
    return [
        next(reading for reading in notation.readings if reading.decimal == mark)
        if isinstance(notation, InDoubt)
        else notation
        for notation in found
    ]


def _notation(column: NumberColumn, decimal: str | None) -> Notation | InDoubt | None:
    different = column.different
    if not different:
        return PLAIN
    readings = notations(different, decimal)
    if not readings and column.floats is not None and decimal is None:
        return PLAIN  # digits of another script, say
    return None if not readings else readings[0] if len(readings) == 1 else InDoubt(readings)


def _shows_decimals(column: NumberColumn, notation: Notation) -> bool:
    """Whether a column can be read with its decimal mark alone, and has one."""
    different = column.different
    return any(notation.decimal in text for text in different) and notations(different) == [notation]


def refuse(
    column: NumberColumn, reading: InDoubt | None, where: str, lines: pd.Index, decimal: str | None, hint: str = ""
) -> NoReturn:
    """Refuse a column that is not one of numbers, or not of certain ones."""
    if reading is not None:
        text = next(
            text for text in column.different if len({float(r.plain(text) or "nan") for r in reading.readings}) > 1
        )
        both = " and ".join(str(notation.plain(text)) for notation in reading.readings)
        raise ValueError(
            f"{where}, line {lines[column.place_of(text)]}: expected one number, got {_shown(text)}, which can be "
            f"{both}; give the decimal mark (--decimal . or --decimal ,)"
        )
    notation, _ = best_notation(column.different, decimal)
    unread = [text for text in column.different if notation.plain(text) is None]
    bad = next((text for text in unread if not is_number(text)), unread[0])
    special = f"{notation}," if str(notation) else ""
    cure = hint if re.search(r"[^\W_]", bad) else "; leave a cell without a value empty"
    raise ValueError(
        f"{where}, line {lines[column.place_of(bad)]}: expected a finite number{special} or a missing value "
        f"({', '.join(map(repr, MISSING))}), got {_shown(bad)}{cure}"
    )


def require_single_precision(column: NumberColumn, numbers: FloatArray, where: str, lines: pd.Index) -> None:
    """Refuse numbers of a feature that are too large for the trees, which compare them as float32."""
    beyond = np.flatnonzero(np.abs(numbers) > MAX_FEATURE)
    if beyond.size:
        place = int(beyond[0])
        raise ValueError(
            f"{where}, line {lines[place]}: expected a number of at most {MAX_FEATURE:.2g} in size, which single "
            f"precision holds, got {_shown(column.texts[place])}; divide the column, or leave the cell empty"
        )


def warn_of_merged(column: NumberColumn, numbers: FloatArray, where: str) -> None:
    """Warn of different whole numbers beyond 2^53 that are one number as float64."""
    texts = set(column.texts[np.abs(numbers) >= MAX_EXACT_INTEGER])
    whole = {int(text) for text in texts if re.fullmatch(r"[+-]?[0-9]+", text)}
    n_apart = len(set(map(float, whole)))
    if n_apart < len(whole):
        warn_caller(
            f"{where}: {len(whole)} whole numbers beyond 2^53, of which float64 holds {n_apart} apart; subtract a "
            "constant, or take the column as words"
        )


def padded(column: NumberColumn) -> str:
    """Say which cell of a column of numbers loses leading zeros, as codes have them; else nothing.

    >>> padded(NumberColumn.of(np.array(["8001", "01067"], dtype=object)))
    "'01067' taken as 1067; give codes to --words"
    """
    code = next((text for text in column.texts if text[:1] == "0" and PADDED.fullmatch(text)), None)
    return "" if code is None else f"{code!r} taken as {int(code)}; give codes to --words"


def taken_for_one(numbers: FloatArray) -> str:
    """Say that trees of scikit-learn tell less than half of the numbers of a column apart; else nothing.

    They compare numbers as float32, and split none that are within `MIN_GAP`.

    >>> taken_for_one(1.7e15 + np.arange(20.0))
    'trees of scikit-learn tell 1 of 20 numbers apart; subtract a constant, or change the unit'
    """
    present = numbers[~np.isnan(numbers)]
    different = np.unique(present[:: max(1, len(present) // MAX_SAMPLE)])
    seen = np.clip(different, -MAX_FEATURE, MAX_FEATURE).astype(np.float32)
    n_seen = 1 + np.count_nonzero(np.diff(seen) > MIN_GAP)
    if 2 * n_seen > len(different) or len(different) < 2:
        return ""
    told = f"trees of scikit-learn tell {n_seen} of {len(different)} numbers apart"
    return f"{told}; subtract a constant, or change the unit"


def _shown(cell: str) -> str:
    """Write a cell for a message, a long one by its beginning."""
    return repr(cell) if len(cell) <= MAX_CHARACTERS else f"{cell[:MAX_CHARACTERS]!r}... ({len(cell)} characters)"


def tell_notations(notation_of: Mapping[str, Notation], source: str) -> None:
    """Warn of columns that are written in another notation than plain numbers."""
    columns_of: dict[Notation, list[str]] = {}
    for name, notation in notation_of.items():
        if notation != PLAIN:
            columns_of.setdefault(notation, []).append(name)
    for notation, names in columns_of.items():
        warn_caller(f"{source}: {some_names(names)} read as numbers{notation}")


def is_number(cell: str) -> bool:
    """Return whether a text is a finite number; underscores between digits are not taken."""
    try:
        return bool(np.isfinite(float(cell))) and "_" not in cell
    except ValueError:
        return False
