r"""The missing inequality: Chvatal-Gomory cuts with multipliers 0 and 1/2 that cut fractional vertices off.

With rows a x <= b in integers, multipliers u >= 0 give the valid inequality (u A) x <= floor(u b) if u A is integral
(Gomory 1958; Chvatal 1973; with 0 and 1/2: Caprara and Fischetti 1996). Half of a sum of rows with slacks s_i at a
point is violated there iff all sums of the entries are even, that of the right-hand sides is odd, and sum s_i < 1.
Bounds of variables are rows, too; which of them are needed follows from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

from formulations.base import Formulation
from formulations.registry import formulation as formulation_named
from ipforest.instance import PruningInstance
from proofs.integrality.vertices import Polytope, Vector, is_integral, vertices
from proofs.study.checks import program_of
from proofs.study.problem import Problem

__all__ = ["Cut", "Strengthened", "close", "missing_inequalities", "separate"]

MOST_ROWS = 5
"""Rows, bounds apart, that are combined."""
MOST_CUTS = 40


@dataclass(frozen=True, slots=True)
class _Row:
    """An inequality a x <= b in integers."""

    name: str
    entries: dict[int, int]
    right: int
    depth: int

    def slack(self, point: Vector) -> Fraction:
        return self.right - sum((a * point[j] for j, a in self.entries.items()), Fraction(0))


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """An inequality a x <= b that is half the sum of others, rounded down.

    Parameters
    ----------
    name : str
        "cut 1", "cut 2", ...: later cuts may use earlier ones.
    entries : dict
        a by column name, integers.
    right : int
    halves : tuple of str
        The rows that have multiplier 1/2; "-" before an equation's name says that it is turned round.
    rank : int
        1 if it follows from the rows of the program, 1 more than the largest among the cuts it uses otherwise: at least
        its Chvatal rank.
    """

    name: str
    entries: dict[str, int]
    right: int
    halves: tuple[str, ...]
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
        return f"{self.inequality()}, half of {', '.join(self.halves)}"


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


def separate(polytope: Polytope, row_names: Sequence[str], point: Vector, cuts: Sequence[Cut] = ()) -> Cut | None:
    """Find a Chvatal-Gomory cut with multipliers 0 and 1/2 that a point violates, of as few rows as possible.

    Parameters
    ----------
    polytope : Polytope
        With rows in rational numbers.
    row_names : sequence of str
    point : tuple of Fraction
        A point of it.
    cuts : sequence of Cut
        What was added before: the last rows of the polytope.

    Returns
    -------
    Cut or None
        None if no such cut of at most five rows, bounds apart, exists.
    """
    rows, bounds = _integer_rows(polytope, row_names, cuts), _bounds(polytope)
    near = [(row, slack) for row in rows if (slack := row.slack(point)) < 1]
    for size in range(1, MOST_ROWS + 1):
        best: tuple[Fraction, list[_Row]] | None = None
        for chosen in combinations(near, size):
            slack = sum((slack for _, slack in chosen), Fraction(0))
            if slack >= 1:
                continue
            found = _with_bounds([row for row, _ in chosen], slack, bounds, point)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        if best is not None:
            return _cut(best[1], polytope.names, f"cut {len(cuts) + 1}")
    return None


def close(polytope: Polytope, row_names: Sequence[str]) -> Strengthened:
    """Cut fractional vertices off, one after the other, until all vertices are integral or none can be cut off.

    Parameters
    ----------
    polytope : Polytope
        Small enough that its vertices can be enumerated.
    row_names : sequence of str

    Returns
    -------
    Strengthened
    """
    cuts: list[Cut] = []
    names = list(row_names)
    while True:
        corners = vertices(polytope)
        fractional = [point for point in corners if not is_integral(point)]
        cut = None
        for point in fractional if len(cuts) < MOST_CUTS else ():
            cut = separate(polytope, names, point, cuts)
            if cut is not None:
                break
        if cut is None:
            return Strengthened(polytope, tuple(cuts), len(corners), len(fractional))
        cuts.append(cut)
        names.append(cut.name)
        polytope = Polytope(
            [*polytope.matrix, [cut.entries.get(name, 0) for name in polytope.names]],
            [*polytope.senses, "<="],
            [*polytope.right, cut.right],
            polytope.names,
            polytope.lower,
            polytope.upper,
        )


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

    Returns
    -------
    Strengthened
    """
    known = formulation_named(formulation)
    if known.takes == "budget":
        raise ValueError(f"formulation: expected one without a budget, got {known.name}")
    problem = Problem(instance, lam=Fraction(str(lam)) if known.takes == "lam" else None)
    program = program_of(known, problem, relaxed=True)
    polytope = program.polytope
    names = [*program.row_names, *(f"bound {place}" for place in range(len(polytope.matrix) - len(program.row_names)))]
    return close(polytope, names)


def _integer_rows(polytope: Polytope, row_names: Sequence[str], cuts: Sequence[Cut]) -> list[_Row]:
    """Write the rows as a x <= b in integers; of an equation one direction is enough, as halves count modulo 2."""
    rank = {cut.name: cut.rank for cut in cuts}
    rows = []
    for name, row, sense, right in zip(row_names, polytope.matrix, polytope.senses, polytope.right, strict=True):
        scale = lcm(*(Fraction(value).denominator for value in (*row, right)))
        sign = -1 if sense == ">=" else 1
        entries = {j: int(value * scale) * sign for j, value in enumerate(row) if value}
        rows.append(_Row(name, entries, int(right * scale) * sign, rank.get(name, 0)))
        if sense == "=":
            rows.append(_Row(f"-{name}", {j: -a for j, a in entries.items()}, -int(right * scale), 0))
    return rows


def _bounds(polytope: Polytope) -> list[tuple[_Row, _Row]]:
    """Return the lower and the upper bound of each variable as rows."""
    lower, upper = Fraction(polytope.lower), Fraction(polytope.upper)
    if lower.denominator > 1 or upper.denominator > 1:
        raise ValueError(f"polytope: expected integral bounds, got [{lower}, {upper}]")
    return [
        (_Row(f"{name} >= {lower}", {j: -1}, -int(lower), 0), _Row(f"{name} <= {upper}", {j: 1}, int(upper), 0))
        for j, name in enumerate(polytope.names)
    ]


def _with_bounds(
    chosen: list[_Row], slack: Fraction, bounds: Sequence[tuple[_Row, _Row]], point: Vector
) -> tuple[Fraction, list[_Row]] | None:
    """Add the bounds that make all sums of entries even and that of the right-hand sides odd, of the least slack."""
    total: dict[int, int] = {}
    for row in chosen:
        for j, a in row.entries.items():
            total[j] = total.get(j, 0) + a
    right = sum(row.right for row in chosen)
    added: list[_Row] = []
    swaps: list[tuple[Fraction, int, _Row]] = []
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


def _cut(rows: Sequence[_Row], names: Sequence[str], name: str) -> Cut:
    """Halve the sum of some rows and round its right-hand side down."""
    total: dict[int, int] = {}
    for row in rows:
        for j, a in row.entries.items():
            total[j] = total.get(j, 0) + a
    entries = {names[j]: a // 2 for j, a in sorted(total.items()) if a}
    return Cut(
        name,
        entries,
        sum(row.right for row in rows) // 2,
        tuple(row.name for row in rows),
        1 + max(row.depth for row in rows),
    )
