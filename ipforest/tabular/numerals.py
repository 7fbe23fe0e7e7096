"""Numbers as people write them: decimal commas, marks between thousands, currency and percent signs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite

DECIMAL_MARKS = (".", ",")
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Notation:
    """A way to write numbers.

    Parameters
    ----------
    decimal : str
        "." or ","; the other one, a blank or an apostrophe may stand between thousands.
    unit : str
        Currency or percent sign before or after each number, or empty.
    """

    decimal: str = "."
    unit: str = ""

    def plain(self, text: str) -> str | None:
        """Write a number without marks between thousands and with a decimal point; None if it is no finite one."""
        bare = text.strip().replace(MINUS, "-")
        if self.unit:
            if not (bare.lstrip("+-").startswith(self.unit) or bare.endswith(self.unit)) or bare.count(self.unit) != 1:
                return None
            bare = bare.replace(self.unit, "").strip()
        number = _pattern(self.decimal).fullmatch(bare)
        if number is None:
            return None
        digits = re.sub(r"\D", "", number["whole"])
        fraction = number["fraction"] or ""
        if not digits and not fraction:
            return None
        plain = f"{number['sign'] or ''}{digits or '0'}{'.' if fraction else ''}{fraction}{number['exponent'] or ''}"
        return plain if isfinite(float(plain)) else None

    def __str__(self) -> str:
        """Say what is special, to go after "numbers"."""
        comma = ["a decimal comma"] if self.decimal == "," else []
        parts = [*comma, *([f"{self.unit}, which is left out"] if self.unit else [])]
        return f" with {' and '.join(parts)}" if parts else ""


PLAIN = Notation()


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    other = "," if decimal == "." else "."
    thousands = rf"[1-9][0-9]{{0,2}}(?P<mark>[{other} \u00a0\u2009\u202f'\u2019])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    whole = rf"(?P<whole>{thousands}|[0-9]*)"
    return re.compile(
        rf"(?P<sign>[+-])?\s*{whole}(?:{re.escape(decimal)}(?P<fraction>[0-9]*))?(?P<exponent>[eE][+-]?[0-9]+)?"
    )


def notations(texts: Sequence[str], decimal: str | None = None) -> list[Notation]:
    """List the notations in which all texts are numbers; one only, where all give the same numbers.

    Parameters
    ----------
    texts : sequence of str
        At least one.
    decimal : "." or ",", optional
        The decimal mark, where it is known.
    """
    candidates = [Notation(mark, unit_of(texts[0])) for mark in DECIMAL_MARKS if decimal in (None, mark)]
    read = {notation: [notation.plain(text) for text in texts] for notation in candidates}
    fitting = [notation for notation, numbers in read.items() if None not in numbers]
    if len(fitting) == 2 and [*map(_value, read[fitting[0]])] == [*map(_value, read[fitting[1]])]:
        return fitting[:1]
    return fitting


def _value(text: str | None) -> float:
    return float(text or "nan")


def unit_of(text: str) -> str:
    """Return the currency or percent sign of a text, empty if it has none."""
    return next((sign for sign in text if sign in "%‰" or unicodedata.category(sign) == "Sc"), "")


def best_notation(texts: Iterable[str], decimal: str | None) -> tuple[Notation, int]:
    """Return the notation in which most of the texts are numbers, and how many are."""
    texts = list(texts)
    units = dict.fromkeys(["", *map(unit_of, texts)])
    candidates = [Notation(mark, unit) for unit in units for mark in DECIMAL_MARKS if decimal in (None, mark)]
    counts = {notation: sum(notation.plain(text) is not None for text in texts) for notation in candidates}
    best = max(candidates, key=lambda notation: counts[notation])
    return best, counts[best]


def is_written_number(text: str) -> bool:
    """Return whether a text is a number in some notation."""
    return any(Notation(mark, unit_of(text)).plain(text) is not None for mark in DECIMAL_MARKS)
