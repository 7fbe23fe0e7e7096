"""Arrays of integers, added and multiplied exactly; which arrays and numbers a checker takes at all.

A sum of non-negative int64 numbers runs in int64 once its exact total is known to stay below 2^62; where it does not,
high and low halves are summed apart and joined as Python integers (numpy's object arrays). Numbers are Python's own:
those of numpy wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 1 << 62


def array_fault(name: str, values: object, dtype: type[np.generic], size: int | None = None) -> str | None:
    """Describe how an array differs from a plain one-dimensional one of the dtype and size; return None if it does not.

    A subclass of numpy's array is refused: it may compare as it likes. So is a bool whose byte is neither 0 nor 1.
    """
    if type(values) is not np.ndarray or values.dtype != dtype or values.ndim != 1:
        kind = f" of {values.dtype} and shape {values.shape}" if isinstance(values, np.ndarray) else ""
        return f"{name}: expected a one-dimensional {np.dtype(dtype)} array, got {type(values).__name__}{kind}"
    if size is not None and values.size != size:
        return f"{name}: expected {size} entries, got {values.size}"
    if dtype is np.bool_ and values.view(np.uint8).max(initial=0) > 1:
        return f"{name}: expected bytes 0 and 1, got other values"
    return None


def integer_fault(numbers: Mapping[str, object]) -> str | None:
    """Name a number that is no Python integer; return None if all are."""
    for name, number in numbers.items():
        if type(number) is not int:
            return f"{name}: expected an int, got {type(number).__name__}"
    return None


def fraction_fault(numbers: Mapping[str, object]) -> str | None:
    """Name a number that is no Python integer or fraction of such; return None if all are."""
    for name, number in numbers.items():
        parts = (number.numerator, number.denominator) if type(number) is Fraction else (number,)
        if not all(type(part) is int for part in parts):
            return f"{name}: expected an int or a Fraction of such, got {type(number).__name__}"
    return None


def is_rising(values: NDArray[Any]) -> bool:
    """Return whether no entry is below the one before; compared, as differences can wrap around."""
    return bool((values[1:] >= values[:-1]).all())


def total(values: NDArray[np.int64]) -> int:
    """Sum int64 numbers exactly: high and low halves apart, neither of which can overflow."""
    high = int((values >> 32).sum(dtype=np.int64))
    low = int((values & 0xFFFFFFFF).sum(dtype=np.int64))
    return (high << 32) + low


def scaled(values: NDArray[np.int64], factor: int) -> NDArray[Any]:
    """Multiply non-negative values exactly: in int64 when every product fits, else in Python integers."""
    return scaled_by_group(values, [factor], np.zeros(1, dtype=np.int64))


def scaled_by_group(values: NDArray[np.int64], factors: Sequence[int], group: NDArray[Any]) -> NDArray[Any]:
    """Multiply each non-negative value by the factor of its group, exactly; group -1 is the last one."""
    kind: type = np.int64
    if max(1, int(values.max(initial=0))) * max(factors) >= LIMIT:
        kind = object
    product: NDArray[Any] = values.astype(kind) * np.array(factors, dtype=kind)[group]
    return product


def add(*parts: NDArray[Any]) -> NDArray[Any]:
    """Add non-negative arrays exactly: in int64 when no sum can leave it, else in Python integers."""
    if sum(int(part.max(initial=0)) for part in parts) >= LIMIT:
        parts = tuple(part.astype(object) for part in parts)
    added: NDArray[Any] = sum(parts[1:], start=parts[0])
    return added


def sum_at(places: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Sum non-negative values by place, exactly."""

    def by_place(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(size, dtype=np.int64)
        np.add.at(sums, places, numbers)
        return sums

    return _summed(by_place, values)


def sum_rows(indptr: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[Any]:
    """Sum non-negative values row by row, exactly."""

    def by_row(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        running = np.zeros(numbers.size + 1, dtype=np.int64)
        np.cumsum(numbers, out=running[1:])
        sums: NDArray[np.int64] = running[indptr[1:]] - running[indptr[:-1]]
        return sums

    return _summed(by_row, values)


def _summed(sums_of: Callable[[NDArray[np.int64]], NDArray[np.int64]], values: NDArray[np.int64]) -> NDArray[Any]:
    if total(values) >= LIMIT:
        halves: NDArray[Any] = sums_of(values >> 32).astype(object) * (1 << 32) + sums_of(values & 0xFFFFFFFF)
        return halves
    return sums_of(values)
