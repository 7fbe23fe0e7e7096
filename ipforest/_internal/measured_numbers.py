"""Numbers that are exact, and measurements, which are rounded so that 64-bit integers count all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import cast

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import one_line
from ipforest._internal.rational import INT64_SAFE, nonnegative_of_any_size

__all__ = ["as_decimal", "exact_list", "resolution_for"]

EXACT_DIGITS = 9
"""A decimal number of more significant digits is taken for a measurement and rounded."""
MEASURED_DIGITS = 7
"""Significant digits of the largest price to which measured prices are rounded, or finer where a small one needs it."""
MEASURED_TOLERANCE = Fraction(1, 10**6)
"""Rounding changes no measured price by a larger part of itself."""
STEPS = (Fraction(1, 2), 1, 2, 5, 10)
"""A resolution is one of these times a power of ten."""
MAX_UNITS = INT64_SAFE
"""A price, in multiples of what measured prices are rounded to, stays below this: instances count costs in int64."""


def exact_list(values: Sequence[object] | npt.ArrayLike, name: str) -> tuple[tuple[Fraction, ...], frozenset[Fraction]]:
    """Read numbers exactly; give them, and those among them that are measurements."""
    if isinstance(values, str | Set) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name}: expected a sequence of numbers, got {one_line(repr(values))}")
    items = values.to_pylist() if hasattr(values, "to_pylist") else list(cast("Iterable[object]", values))
    exact = tuple(nonnegative_of_any_size(value, f"{name}[{position}]") for position, value in enumerate(items))
    pairs = zip(items, exact, strict=True)
    return exact, frozenset(number for value, number in pairs if _is_measured(value))


def _is_measured(value: object) -> bool:
    """Return whether a number is a float, or a decimal text, of many digits; integers and fractions are exact."""
    if (isinstance(value, str) and "/" in value) or not isinstance(value, (float, np.floating, str, Decimal)):
        return False
    return len(Decimal(str(value)).normalize().as_tuple().digits) > EXACT_DIGITS


def as_decimal(number: Fraction) -> Decimal | Fraction:
    """Write a number as a decimal if it is one: a difference of measurements is a measurement."""
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    return decimal if Fraction(decimal) == number else number


def resolution_for(measured: Iterable[Fraction], largest: Fraction) -> Fraction:
    """Choose what measured prices are rounded to.

    Raises
    ------
    ValueError
        The largest price is too many multiples of it.
    """
    smallest = min(measured)
    most = 2 * MEASURED_TOLERANCE * smallest
    resolution = Fraction(10) ** (floor(log10(largest)) + 1 - MEASURED_DIGITS)
    if resolution > most:
        power = Fraction(10) ** floor(log10(most))  # a float's logarithm may be one too large or too small
        resolution = max(step * power for step in STEPS if step * power <= most)
    if largest >= MAX_UNITS * resolution:
        raise ValueError(
            f"prices: expected prices that 64-bit integers can count together, got {float(largest)!r} and the measured "
            f"{float(smallest)!r}, which differ by a factor of {float(largest / smallest):.0e}; round the small price "
            f"to at most {EXACT_DIGITS} digits, or make it 0"
        )
    return resolution
