"""Exact numbers from what users type: the reading of prices, lambda and budgets."""

import re
import reprlib
from decimal import Decimal
from fractions import Fraction
from math import ceil
from numbers import Rational
from typing import TypeAlias

import numpy as np

from ipforest._internal.arrays import IntArray, one_line
from ipforest._internal.words import hint_at_comma

Number: TypeAlias = int | float | str | Decimal | Fraction

INT64_SAFE = 2**62
MAX_DIGITS = 1000
WRITTEN = re.compile(r"-?\d+(/\d+)?").fullmatch
LARGEST_FLOAT = int(np.finfo(np.float64).max)


def as_fraction(value: object, name: str) -> Fraction:
    """Read a number exactly; a float stands for its shortest decimal.

    Parameters
    ----------
    value : int, float, str, Decimal or Fraction
        ``7.27`` is 727/100, ``"3/1000"`` and ``"0.003"`` are 3/1000.
    name : str
        What the number is, for the error message.

    Raises
    ------
    TypeError
        The value is no number.
    ValueError
        The value is NaN, infinite, a string that is no number or has underscores, or one of more than 1,000 digits.
    """
    got = f"{one_line(repr(value))}{hint_at_comma(value)}"
    expected = f"{name}: expected a finite number (int, float, Fraction, Decimal or str), got {got}"
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(expected)
    if isinstance(value, str) and "_" in value:
        raise ValueError(expected)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (str, Decimal)) and _has_too_many_digits(str(value)):
        raise ValueError(f"{name}: expected a number of at most {MAX_DIGITS} digits, got {reprlib.repr(value)}")
    try:
        if isinstance(value, float):
            return Fraction(float.__repr__(value))
        if isinstance(value, (str, Decimal)):
            return Fraction(value)
        if isinstance(value, np.floating):
            return Fraction(str(value))
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(expected) from None
    raise TypeError(expected)


def written_fraction(value: object, name: str) -> Fraction:
    """Read a number that this package wrote, p or p/q of any length; from a file of others it is one as of users.

    Raises
    ------
    TypeError, ValueError
        As `as_fraction`.
    """
    if isinstance(value, str) and WRITTEN(value):
        try:
            return Fraction(value)
        except ZeroDivisionError:
            raise ValueError(f"{name}: expected a finite number, got {reprlib.repr(value)}") from None
    return as_fraction(value, name)


def _has_too_many_digits(text: str) -> bool:
    """Return whether writing the number out would take too long: 1e1000000000 is a short text."""
    exponent = re.search(r"[eE][+-]?(\d+)", text)
    return len(text) > MAX_DIGITS or (exponent is not None and int(exponent[1]) > MAX_DIGITS)


def nonnegative_fraction(value: object, name: str) -> Fraction:
    """Read a number exactly and require that it is at least zero, and that a float can be as large.

    Raises
    ------
    TypeError, ValueError
        As `as_fraction`; ValueError as well for a negative number, and for one above the largest float.
    """
    number = nonnegative_of_any_size(value, name)
    if number > LARGEST_FLOAT:
        raise ValueError(f"{name}: expected a number up to {float(LARGEST_FLOAT):.3g}, got {reprlib.repr(value)}")
    return number


def nonnegative_of_any_size(value: object, name: str) -> Fraction:
    """Read a number exactly and require that it is at least zero.

    Raises
    ------
    TypeError, ValueError
        As `as_fraction`; ValueError as well for a negative number.
    """
    number = as_fraction(value, name)
    if number < 0:
        raise ValueError(f"{name}: expected a number >= 0, got {value!r}")
    return number


def time_limit_seconds(value: object, name: str = "time_limit") -> float | None:
    """Read a time limit, a number >= 0 or infinity; None stays None.

    Raises
    ------
    ValueError
        It is no such number.
    """
    if value is None:
        return None
    if not isinstance(value, (int, float, np.number)) or not value >= 0:
        raise ValueError(f"{name}: expected seconds >= 0 or None, got {value!r}")
    return float(value)


def coarsened(number: Fraction, fixed: int, scaled: int, largest: int) -> Fraction:
    """Return the nearest p / q to a number whose denominator keeps q * fixed + p * scaled within the largest sum."""
    return number.limit_denominator(max(1, largest // (fixed + ceil(number * scaled) + 1)))


def exact_sum(values: IntArray) -> int:
    """Sum int64 numbers without overflow, as a Python integer."""
    high = int(np.sum(values >> 32, dtype=np.int64))
    low = int(np.sum(values & 0xFFFFFFFF, dtype=np.int64))
    return (high << 32) + low
