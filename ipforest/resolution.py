"""The resolution of errors and prices at which gain times cost of every piece of a path fits 64 bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from ipforest._internal.arrays import Int32Array, IntArray
from ipforest._internal.rational import INT64_SAFE
from ipforest.losses import NodeErrors

MIN_ERROR_BITS = 22
"""Losses that add up to more units than 2 to this power are rounded before prices are."""


def joint_resolution(
    errors: NodeErrors, parent: Int32Array, amounts: Iterable[tuple[Fraction, int]]
) -> tuple[NodeErrors, Fraction]:
    """Choose how errors and prices are rounded for a path, as little as 64 bits allow.

    Both stay exact where they fit. Else the errors are rounded to at least 2^22 units in total, if there are more, and
    then prices are rounded up to multiples of a power of ten.

    Parameters
    ----------
    errors : NodeErrors
    parent : ndarray of int32, shape (n_nodes,)
        Parent of each node, -1 for a root.
    amounts : iterable of (price, number)
        How often each price is paid at most.

    Returns
    -------
    errors : NodeErrors
    step : Fraction
        What prices are to be rounded up to multiples of: what is within a budget then is so at the prices, too.

    Raises
    ------
    OverflowError
        There are too many acquisitions to count them.
    """
    paid = [(price, number) for price, number in amounts if price and number]
    total = sum((price * number for price, number in paid), Fraction(0))
    for rounded in _ever_coarser(errors, parent):
        largest = _largest_total(rounded, parent)
        for step in _exact_steps(price for price, _ in paid):
            if total / step <= largest:
                return rounded, step
    room = largest - sum(number for _, number in paid)  # rounding up adds less than a step to each acquisition
    if room <= 0:
        raise OverflowError(f"instance: expected fewer than {largest} acquisitions of examples, got {largest - room}")
    step = Fraction(1)
    while total / step > room:
        step *= 10
    while total / step * 10 <= room:
        step /= 10
    return rounded, step


def fits(errors: NodeErrors, parent: Int32Array, amounts: Iterable[tuple[Fraction, int]], step: Fraction) -> bool:
    """Return whether gains times costs of the path are below 2^62 where costs are counted in such steps."""
    return sum((price * number for price, number in amounts), Fraction(0)) / step <= _largest_total(errors, parent)


def greatest_step(prices: Iterable[Fraction]) -> Fraction:
    """Return the greatest step of which all prices are multiples, 1 where all are 0."""
    *_, step = _exact_steps(price for price in prices if price)
    return step


def _largest_total(errors: NodeErrors, parent: Int32Array) -> int:
    """Return up to which total cost gains times costs of the path are below 2^62."""
    _, gain = gains_of_splits(errors.errors, parent)
    return (INT64_SAFE - 1) // (2 * max(int(gain[gain > 0].sum()), 1))


def _exact_steps(prices: Iterable[Fraction]) -> Iterator[Fraction]:
    """Yield one over the common denominator, then the greatest step that divides all prices."""
    distinct = set(prices)
    denominator = lcm(*(price.denominator for price in distinct))
    yield Fraction(1, denominator)
    if distinct:
        yield Fraction(gcd(*(int(price * denominator) for price in distinct)), denominator)


def _ever_coarser(errors: NodeErrors, parent: Int32Array) -> Iterator[NodeErrors]:
    """Yield errors as they are, then in units of 2, 4, ... of them while 2^22 units or more remain at the roots."""
    yield errors
    total = int(errors.errors[parent < 0].sum())
    for bits in range(1, total.bit_length() - MIN_ERROR_BITS):
        yield NodeErrors(
            np.rint(errors.errors / 2.0**bits).astype(np.int64),
            errors.error_unit * 2**bits,
            errors.resolution * 2**bits,
        )


def gains_of_splits(errors: IntArray, parent: Int32Array) -> tuple[Int32Array, IntArray]:
    """Find the internal nodes, and the error of each less those of its children.

    Parameters
    ----------
    errors : ndarray of int64, shape (n_nodes,)
    parent : ndarray of int32, shape (n_nodes,)
        Parent of each node, -1 for a root.

    Returns
    -------
    internal : ndarray of int32, shape (n_internal,)
    gain : ndarray of int64, shape (n_internal,)
    """
    is_child, is_internal = parent >= 0, np.zeros(parent.size, dtype=bool)
    is_internal[parent[is_child]] = True
    internal = np.flatnonzero(is_internal).astype(np.int32)
    below = np.zeros(parent.size, dtype=np.int64)
    np.add.at(below, parent[is_child], errors[is_child])
    return internal, errors[internal] - below[internal]
