r"""Is a small matrix totally unimodular? Three exact tests, independent of each other and of `total_unimodularity`.

A matrix is *totally unimodular* (TU) when every square submatrix has determinant -1, 0 or 1. The tests:

colouring
    Ghouila-Houri (1962): A is TU iff every set R of rows can be coloured +1 / -1 so that in every column
    the coloured sum over R is -1, 0 or 1. Evidence for yes: one colouring for every R.
eulerian
    Camion (1965): A is TU iff every square submatrix whose row and column sums are all even has a sum of
    entries divisible by four. (In a TU matrix the same holds for rectangular ones: colour the rows; every
    column sum is even, hence coloured to 0, so the total is twice the sum over one colour, which is even.)
    For a fixed R the columns of even sum :math:`\sigma_j` are the candidates, and a bad choice C of them is a
    vector over GF(2) with :math:`|A_{RC}| x = 0` and :math:`\sum_j x_j \sigma_j / 2 = 1`. None exists iff
    :math:`\sigma/2` is, modulo two, the sum of some rows Q of R. Evidence for yes: one Q for every R.
determinant
    The definition: all subdeterminants by Laplace expansion, smallest first.

The first two share no step, cost :math:`2^m` times a polynomial (m the shorter side), and their evidence is
checked without any search. Evidence for no is a square submatrix of determinant outside -1, 0, 1 of least
possible order: all of its proper submatrices are TU, so its determinant is -2 or 2 in a 0/+-1 matrix.

Sources: Schrijver, "Theory of Linear and Integer Programming", Theorem 19.3 (iv), (v), (vi).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from proofs.exact import Number
from proofs.unimodularity.counterexample import Counterexample, as_dense_matrix, exact_rows
from proofs.verdict import Verdict, accept, refuse

MAX_SHORT_SIDE = 18
"""The exponential tests refuse matrices whose shorter side is longer than this."""

_FIELD = 8  # bits a column sum takes in a packed integer; sums stay within +-(MAX_SHORT_SIDE + 1)


@dataclass(frozen=True, slots=True)
class ColouringCertificate:
    """A Ghouila-Houri colouring for every set of rows (of columns when `transposed`).

    Attributes
    ----------
    matrix : (m, n) ndarray of 0, 1, -1
        The matrix in question.
    transposed : bool
        Whether the sets are sets of columns; the shorter side is taken.
    signs : (2**min(m, n), min(m, n)) int8 ndarray
        Row R holds the colours of the set whose bits are those of the number R; 0 outside it.
    """

    matrix: NDArray[Any]
    transposed: bool
    signs: NDArray[np.int8]

    def check(self) -> Verdict:
        """Recompute every coloured sum."""
        lines = _lines(self.matrix, self.transposed)
        if lines is None:
            return refuse("the matrix has an entry other than 0, 1, -1")
        side = lines.shape[0]
        if self.signs.shape != (1 << side, side):
            return refuse(f"expected {1 << side} colourings of {side} lines, got shape {self.signs.shape}")
        if not np.isin(self.signs, (-1, 0, 1)).all():
            return refuse("a colour is not -1, 0 or 1")
        if not np.array_equal(self.signs != 0, _subset_table(side)):
            return refuse("a colouring does not colour exactly the lines of its set")
        sums = self.signs.astype(np.int64) @ lines
        if np.abs(sums).max(initial=0) > 1:
            worst = int(np.abs(sums).max(axis=1, initial=0).argmax())
            return refuse(f"the colouring of set {worst:#b} has a sum of absolute value above 1")
        return accept(f"all {1 << side} sets of lines have a colouring with sums in -1, 0, 1")

    def __bool__(self) -> bool:
        return bool(self.check())


@dataclass(frozen=True, slots=True)
class EulerianCertificate:
    """For every set R of lines a subset Q whose sum modulo two is half the even sums over R.

    Attributes
    ----------
    matrix : (m, n) ndarray of 0, 1, -1
        The matrix in question.
    transposed : bool
        Whether lines are columns; the shorter side is taken.
    halves : (2**min(m, n),) int64 ndarray
        Q as a bit set, for R = 0, 1, 2, ...
    """

    matrix: NDArray[Any]
    transposed: bool
    halves: NDArray[np.int64]

    def check(self) -> Verdict:
        """Recompute both sums for every R; equality rules out a sum of 2 modulo 4 over any Eulerian submatrix."""
        lines = _lines(self.matrix, self.transposed)
        if lines is None:
            return refuse("the matrix has an entry other than 0, 1, -1")
        side = lines.shape[0]
        if self.halves.shape != (1 << side,):
            return refuse(f"expected {1 << side} subsets, got shape {self.halves.shape}")
        if ((self.halves & ~np.arange(1 << side)) != 0).any():
            return refuse("a subset Q is not inside its set R")
        sums = _subset_table(side).astype(np.int64) @ lines
        chosen = ((self.halves[:, None] >> np.arange(side)) & 1) @ lines
        wrong = (sums % 2 == 0) & ((sums // 2 - chosen) % 2 != 0)
        if wrong.any():
            return refuse(f"the subset given for set {int(wrong.any(axis=1).argmax()):#b} does not halve its sums")
        return accept(f"all {1 << side} sets of lines: every Eulerian submatrix sums to a multiple of four")

    def __bool__(self) -> bool:
        return bool(self.check())


def by_colouring(matrix: Any) -> ColouringCertificate | Counterexample:
    """Decide by Ghouila-Houri's row colourings; see the module's docstring."""
    values = as_dense_matrix(matrix)
    transposed, lines = _shorter_side(values)
    if lines is None:
        return _bad_entry(values)
    signs = np.zeros((1 << lines.shape[0], lines.shape[0]), dtype=np.int8)
    packed = _PackedLines(lines)
    for subset in _by_size(lines.shape[0]):
        colours = packed.colouring(subset)
        if colours is None:
            return _minimal_counterexample(values, transposed, subset, _has_no_colouring)
        signs[sum(1 << i for i in subset), list(subset)] = colours
    return ColouringCertificate(values, transposed, signs)


def by_eulerian_submatrices(matrix: Any) -> EulerianCertificate | Counterexample:
    """Decide by Camion's Eulerian submatrices; see the module's docstring."""
    values = as_dense_matrix(matrix)
    transposed, lines = _shorter_side(values)
    if lines is None:
        return _bad_entry(values)
    halves = np.zeros(1 << lines.shape[0], dtype=np.int64)
    for subset in _by_size(lines.shape[0]):
        half = _halving_subset(lines, subset)
        if half is None:
            return _minimal_counterexample(values, transposed, subset, _has_bad_eulerian_columns)
        halves[sum(1 << i for i in subset)] = half
    return EulerianCertificate(values, transposed, halves)


def by_subdeterminants(matrix: Any) -> Literal[True] | Counterexample:
    """Decide by the definition: True, or the first square submatrix with another determinant.

    The cost is the number of square submatrices, C(m + n, n): meant for matrices up to about 8 x 8.
    """
    values = as_dense_matrix(matrix)
    _, lines = _shorter_side(values)
    if lines is None:
        return _bad_entry(values)
    rows = exact_rows(values)
    m, n = values.shape
    smaller: dict[tuple[tuple[int, ...], tuple[int, ...]], Number] = {((), ()): 1}
    for order in range(1, min(m, n) + 1):
        current: dict[tuple[tuple[int, ...], tuple[int, ...]], Number] = {}
        for chosen in combinations(range(m), order):
            first, rest = rows[chosen[0]], chosen[1:]
            for columns in combinations(range(n), order):
                value: Number = 0
                for place, column in enumerate(columns):
                    if first[column]:
                        minor = smaller[rest, columns[:place] + columns[place + 1 :]]
                        value += (-1) ** place * first[column] * minor
                if value not in (-1, 0, 1):
                    return Counterexample(values, chosen, columns, value)
                current[chosen, columns] = value
        smaller = current
    return True


def _lines(values: NDArray[Any], transposed: bool) -> NDArray[np.int64] | None:
    if not np.isin(values, (-1, 0, 1)).all():
        return None
    lines: NDArray[np.int64] = values.astype(np.int64)
    return lines.T if transposed else lines


def _shorter_side(values: NDArray[Any]) -> tuple[bool, NDArray[np.int64] | None]:
    transposed = values.shape[1] < values.shape[0]
    side = min(values.shape)
    if side > MAX_SHORT_SIDE:
        raise ValueError(
            f"matrix: expected at most {MAX_SHORT_SIDE} rows or columns for an exponential test, got "
            f"{values.shape[0]} x {values.shape[1]}; call is_totally_unimodular instead"
        )
    return transposed, _lines(values, transposed)


def _bad_entry(values: NDArray[Any]) -> Counterexample:
    row, column = (int(i) for i in np.argwhere(~np.isin(values, (-1, 0, 1)))[0])
    return Counterexample.of(values, (row,), (column,))


def _subset_table(side: int) -> NDArray[np.bool_]:
    return ((np.arange(1 << side)[:, None] >> np.arange(side)) & 1).astype(np.bool_)


def _by_size(side: int) -> Iterator[tuple[int, ...]]:
    """Non-empty subsets of the lines, small ones first: the first that fails has least possible size."""
    for size in range(1, side + 1):
        yield from combinations(range(side), size)


class _PackedLines:
    """Lines as integers with one 8-bit field a column, so that a partial sum is one addition."""

    def __init__(self, lines: NDArray[np.int64]) -> None:
        self._values = [_pack(row) for row in lines.tolist()]
        self._sizes = [_pack(row) for row in np.abs(lines).tolist()]
        width = lines.shape[1]
        self._guard = _pack([128] * width)
        self._slack = _pack([129] * width)

    def colouring(self, subset: tuple[int, ...]) -> list[int] | None:
        """Find colours of `subset` with every column sum in -1, 0, 1 by depth-first search with bounds.

        After some lines, a column sum s can still end in -1, 0, 1 only if abs(s) <= 1 + the number of nonzeros
        left in the column: with 129 + left added, bit 7 of the field of (left + s) and (left - s) stays set.
        """
        count = len(subset)
        slack = [self._slack] * (count + 1)
        for place in range(count - 1, -1, -1):
            slack[place] = slack[place + 1] + self._sizes[subset[place]]
        guard = self._guard
        colours = [1] * count  # the first colour is +1 without loss of generality
        totals = [0] * (count + 1)
        place = 0
        while True:
            total = totals[place] + colours[place] * self._values[subset[place]]
            bound = slack[place + 1]
            if (bound + total) & guard == guard and (bound - total) & guard == guard:
                if place + 1 == count:
                    return colours
                place += 1
                totals[place] = total
                colours[place] = 1
                continue
            while colours[place] == -1:
                place -= 1
            if place == 0:
                return None
            colours[place] = -1


def _pack(fields: list[int]) -> int:
    return sum(value << (_FIELD * place) for place, value in enumerate(fields))


def _halving_subset(lines: NDArray[np.int64], subset: tuple[int, ...]) -> int | None:
    """Express half the even column sums over `subset` as a sum of its lines modulo two; None if impossible."""
    part = lines[list(subset)]
    sums = part.sum(axis=0)
    even = sums % 2 == 0
    target = _bits((sums[even] // 2) % 2)
    basis: dict[int, tuple[int, int]] = {}
    for line, support in zip(subset, (part[:, even] % 2).tolist(), strict=True):
        vector, combination = _reduce(_bits(support), 1 << line, basis)
        if vector:
            basis[vector.bit_length()] = (vector, combination)
    rest, combination = _reduce(target, 0, basis)
    return None if rest else combination


def _reduce(vector: int, combination: int, basis: dict[int, tuple[int, int]]) -> tuple[int, int]:
    while vector and (step := basis.get(vector.bit_length())) is not None:
        vector ^= step[0]
        combination ^= step[1]
    return vector, combination


def _bits(parities: Any) -> int:
    return sum(1 << place for place, parity in enumerate(parities) if parity)


def _has_no_colouring(lines: NDArray[np.int64]) -> bool:
    return _PackedLines(lines).colouring(tuple(range(lines.shape[0]))) is None


def _has_bad_eulerian_columns(lines: NDArray[np.int64]) -> bool:
    return _halving_subset(lines, tuple(range(lines.shape[0]))) is None


def _minimal_counterexample(
    values: NDArray[Any], transposed: bool, subset: tuple[int, ...], fails: Callable[[NDArray[np.int64]], bool]
) -> Counterexample:
    """Drop columns while the set of lines still fails.

    Every smaller set of lines passes, so a violating submatrix without proper violating submatrix uses all of
    `subset`, and it is square (Schrijver, Theorem 19.3): what is left when no column can go is that submatrix.
    """
    lines = (values.T if transposed else values)[list(subset)]
    kept = list(range(lines.shape[1]))
    for column in range(lines.shape[1]):
        fewer = [j for j in kept if j != column]
        if fails(lines[:, fewer]):
            kept = fewer
    rows, columns = (tuple(kept), subset) if transposed else (subset, tuple(kept))
    return Counterexample.of(values, rows, columns)
