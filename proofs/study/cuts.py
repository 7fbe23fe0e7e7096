r"""The missing inequality: Chvatal-Gomory cuts that cut fractional vertices off, with exact multipliers, and the rank.

With rows a x <= b in integers, multipliers u >= 0 give the valid inequality (u A) x <= floor(u b) if u A is integral
(Gomory 1958; Chvatal 1973). Bounds of variables are rows, too. Multipliers 0 and 1/2 are looked for first (Caprara and
Fischetti 1996): half of a sum of rows with slacks s_i at a point is violated there iff all sums of the entries are
even, that of the right-hand sides is odd, and sum s_i < 1; which bounds are needed follows from the other rows. Where
there are none, `proofs.study.multipliers` looks for any others.

Cuts are found in rounds: those of a round follow from the rows at its beginning, so the first round's have rank 1, and
those that only rows of the first make have rank 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor, lcm
from typing import Any

from formulations.any_model import linear_program_of
from formulations.base import Formulation
from formulations.registry import formulation as formulation_named
from ipforest.instance import PruningInstance
from proofs.integrality.exact_points import relaxation
from proofs.integrality.vertices import Polytope, Vector, is_integral, vertices
from proofs.study.checks import program_of
from proofs.study.multipliers import IntegerRow, find_multipliers
from proofs.study.problem import Problem
from proofs.study.programs import ExactProgram

__all__ = ["Cut", "Strengthened", "close", "close_program", "missing_inequalities", "separate"]

MAX_ROWS = 5
"""Rows, bounds apart, that are combined."""
MAX_CUTS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """An inequality a x <= b: a sum of rows with multipliers, its right-hand side rounded down.

    Parameters
    ----------
    name : str
        "cut 1", "cut 2", ...
    entries : dict
        a by column name, integers.
    right : int
    multipliers : tuple of (str, Fraction)
        The rows, scaled to integers, and what each is multiplied with; "-" before an equation's name says that it is
        turned round, "x >= 0" is a bound.
    rank : int
        The round in which it was found: 1 if it follows from the rows of the program, 2 if from those and cuts of
        rank 1, and so on.
    """

    name: str
    entries: dict[str, int]
    right: int
    multipliers: tuple[tuple[str, Fraction], ...]
    rank: int

    def inequality(self) -> str:
        """Write the inequality with the sense that has fewer minus signs."""
        turn = sum(value < 0 for value in self.entries.values()) * 2 > len(self.entries)
        sign = -1 if turn else 1
        terms = ""
        for name, value in self.entries.items():
            value *= sign
            size = name if abs(value) == 1 else f"{abs(value)} {name}"
            terms += f" {'-' if value < 0 else '+'} {size}"
        left = terms[3:] if terms.startswith(" + ") else f"-{terms[3:]}"
        return f"{left} {'>=' if turn else '<='} {sign * self.right}"

    def __str__(self) -> str:
        if {multiplier for _, multiplier in self.multipliers} == {Fraction(1, 2)}:
            return f"{self.inequality()}, half of {', '.join(name for name, _ in self.multipliers)}"
        return f"{self.inequality()}, from {' + '.join(f'{factor} ({name})' for name, factor in self.multipliers)}"


@dataclass(frozen=True, slots=True, eq=False)
class Strengthened:
    """A relaxation with cuts added until no more are found or needed.

    Parameters
    ----------
    polytope : Polytope
    cuts : tuple of Cut
    vertices : int
    fractional : int
        Vertices that are left fractional: 0 if the cuts make the relaxation integral.
    """

    polytope: Polytope
    cuts: tuple[Cut, ...]
    vertices: int
    fractional: int

    @property
    def integral(self) -> bool:
        """Whether every vertex is 0-1."""
        return self.fractional == 0

    @property
    def rank(self) -> int:
        """Rounds that were needed: if it is integral, the Chvatal rank of the relaxation is at most that."""
        return max((cut.rank for cut in self.cuts), default=0)


def separate(
    polytope: Polytope, row_names: Sequence[str], point: Vector, name: str = "cut 1", rank: int = 1
) -> Cut | None:
    """Find a Chvatal-Gomory cut that a point violates: with halves of as few rows as possible, else any.

    Parameters
    ----------
    polytope : Polytope
        With rows in rational numbers.
    row_names : sequence of str
    point : tuple of Fraction
        A point of it.
    name : str
    rank : int
        See `Cut`.

    Returns
    -------
    Cut or None
        None if there is none with halves of at most five rows, bounds apart, and HiGHS finds none with others.
    """
    rows, bounds = _integer_rows(polytope, row_names), _bounds(polytope)
    halved = _halves(rows, bounds, point)
    if halved is not None:
        return _cut([(row, Fraction(1, 2)) for row in halved], polytope.names, name, rank)
    found = find_multipliers([*rows, *(row for pair in bounds for row in pair)], point)
    return None if found is None else _cut(found, polytope.names, name, rank)


def _halves(
    rows: Sequence[IntegerRow], bounds: Sequence[tuple[IntegerRow, IntegerRow]], point: Vector
) -> list[IntegerRow] | None:
    """Find rows and bounds half of whose sum is a violated cut, as few rows as possible."""
    near = [(row, slack) for row in rows if (slack := row.slack(point)) < 1]
    for size in range(1, MAX_ROWS + 1):
        best: tuple[Fraction, list[IntegerRow]] | None = None
        for chosen in combinations(near, size):
            slack = sum((slack for _, slack in chosen), Fraction(0))
            if slack >= 1:
                continue
            found = _with_bounds([row for row, _ in chosen], slack, bounds, point)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        if best is not None:
            return best[1]
    return None


def close(polytope: Polytope, row_names: Sequence[str]) -> Strengthened:
    """Cut fractional vertices off, round after round, until all vertices are integral or none can be cut off.

    Parameters
    ----------
    polytope : Polytope
        Small enough that its vertices can be enumerated.
    row_names : sequence of str
    """
    cuts: list[Cut] = []
    rank = 0
    while True:
        rank += 1
        before, names = len(cuts), [*row_names, *(cut.name for cut in cuts)]
        closed = _with_cuts(polytope, cuts)
        base = closed
        while True:
            corners = vertices(closed)
            fractional = [point for point in corners if not is_integral(point)]
            tried = fractional if len(cuts) < MAX_CUTS else []
            found = (separate(base, names, point, f"cut {len(cuts) + 1}", rank) for point in tried)
            cut = next((cut for cut in found if cut is not None), None)
            if cut is None:
                break
            cuts.append(cut)
            closed = _with_cuts(polytope, cuts)
        if not fractional or len(cuts) == before:
            return Strengthened(closed, tuple(cuts), len(corners), len(fractional))


def _with_cuts(polytope: Polytope, cuts: Sequence[Cut]) -> Polytope:
    return Polytope(
        [*polytope.matrix, *([cut.entries.get(name, 0) for name in polytope.names] for cut in cuts)],
        [*polytope.senses, *("<=" for _ in cuts)],
        [*polytope.right, *(cut.right for cut in cuts)],
        polytope.names,
        polytope.lower,
        polytope.upper,
    )


def close_program(model: Any) -> Strengthened:
    """Find the inequalities that the relaxation of a small integer program lacks.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file
        Of a dozen integer variables, say, each with a lower and an upper bound that it has or that rows imply.

    Raises
    ------
    ValueError
        A variable that is not integer (right-hand sides of sums with it may not be rounded) or lacks a bound.
    """
    program = linear_program_of(model)
    continuous = [name for name, whole in zip(program.column_labels, program.integer, strict=True) if not whole]
    if continuous:
        raise ValueError(f"model: expected integer variables alone, as cuts round sums of them, got {continuous[0]}")
    exact = ExactProgram(relaxation(program))
    return close(exact.polytope, exact.polytope_row_names)


def missing_inequalities(formulation: str | Formulation, instance: PruningInstance, lam: object = 1) -> Strengthened:
    """Find the inequalities that a formulation's relaxation lacks on a small instance.

    Parameters
    ----------
    formulation : str or Formulation
        One that takes no budget.
    instance : PruningInstance
        Of a dozen variables, say.
    lam : number
        The relaxation does not depend on it, but the program is written with one.

    Raises
    ------
    ValueError
        A formulation with a budget, or with variables that `close_program` does not take.
    """
    known = formulation_named(formulation)
    if known.takes == "budget":
        raise ValueError(f"formulation: expected one without a budget, got {known.name}")
    return close_program(program_of(known, Problem(instance, **known.numbers(Fraction(str(lam))))).program)


def _integer_rows(polytope: Polytope, row_names: Sequence[str]) -> list[IntegerRow]:
    """Write the rows as a x <= b in integers, an equation as two."""
    rows = []
    for name, row, sense, right in zip(row_names, polytope.matrix, polytope.senses, polytope.right, strict=True):
        scale = lcm(*(Fraction(value).denominator for value in (*row, right)))
        sign = -1 if sense == ">=" else 1
        entries = {j: int(value * scale) * sign for j, value in enumerate(row) if value}
        rows.append(IntegerRow(name, entries, int(right * scale) * sign))
        if sense == "=":
            rows.append(IntegerRow(f"-{name}", {j: -a for j, a in entries.items()}, -int(right * scale)))
    return rows


def _bounds(polytope: Polytope) -> list[tuple[IntegerRow, IntegerRow]]:
    """Return the lower and the upper bound of each variable as rows."""
    if polytope.lower is None or polytope.upper is None:
        raise ValueError("polytope: expected bounds of its variables, got none of some")
    lower, upper = Fraction(polytope.lower), Fraction(polytope.upper)
    if lower.denominator > 1 or upper.denominator > 1:
        raise ValueError(f"polytope: expected integral bounds, got [{lower}, {upper}]")
    return [
        (IntegerRow(f"{name} >= {lower}", {j: -1}, -int(lower)), IntegerRow(f"{name} <= {upper}", {j: 1}, int(upper)))
        for j, name in enumerate(polytope.names)
    ]


def _with_bounds(
    chosen: list[IntegerRow], slack: Fraction, bounds: Sequence[tuple[IntegerRow, IntegerRow]], point: Vector
) -> tuple[Fraction, list[IntegerRow]] | None:
    """Add the bounds that make all sums of entries even and that of the right-hand sides odd, of the least slack."""
    total: dict[int, int] = {}
    for row in chosen:
        for j, a in row.entries.items():
            total[j] = total.get(j, 0) + a
    right = sum(row.right for row in chosen)
    added: list[IntegerRow] = []
    swaps: list[tuple[Fraction, int, IntegerRow]] = []
    for j in (j for j, a in total.items() if a % 2):
        (near, close_by), (far, off) = sorted(((row, row.slack(point)) for row in bounds[j]), key=lambda item: item[1])
        if (near.right - far.right) % 2:
            swaps.append((off - close_by, len(added), far))
        added.append(near)
        slack += close_by
    if (right + sum(row.right for row in added)) % 2 == 0:
        if not swaps:
            return None
        more, place, other = min(swaps, key=lambda swap: swap[0])
        added[place], slack = other, slack + more
    return None if slack >= 1 else (slack, [*chosen, *added])


def _cut(chosen: Sequence[tuple[IntegerRow, Fraction]], names: Sequence[str], name: str, rank: int) -> Cut:
    """Add rows up with multipliers, and round the right-hand side down."""
    total: dict[int, Fraction] = {}
    for row, factor in chosen:
        for j, a in row.entries.items():
            total[j] = total.get(j, Fraction(0)) + factor * a
    if not is_integral(tuple(total.values())):
        raise ArithmeticError(f"{name}: expected multipliers that give integers, got {total}")
    entries = {names[j]: int(a) for j, a in sorted(total.items()) if a}
    right = floor(sum((factor * row.right for row, factor in chosen), Fraction(0)))
    return Cut(name, entries, right, tuple((row.name, factor) for row, factor in chosen), rank)
