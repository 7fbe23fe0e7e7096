"""Relaxations compared as polytopes: does one project onto another, by affine maps that are checked exactly.

A map takes each point of the first relaxation to a point in the second's variables. That the image lies in the second
is one linear program for each of its rows and bounds; that a map back is a section is one for each of its variables.
All optima are exact: a point and duals in fractions that agree. Where the map back is no section, a vertex of the
second relaxation without any point above it is looked for, and found by an exact optimum that is above 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from formulations.any_model import linear_program_of
from formulations.base import Formulation
from formulations.registry import formulation as formulation_named
from proofs.integrality.exact_points import relaxation
from proofs.integrality.vertices import Vector
from proofs.study.checks import program_of
from proofs.study.problem import Problem
from proofs.study.programs import ExactProgram
from proofs.study.refutation import as_vector

__all__ = ["Affine", "NoMapError", "Outcome", "Projection", "model_projection", "natural_map", "projection"]

VERTICES = 12
"""Vertices of the second relaxation above which a point is looked for, if the map back is no section."""


@dataclass(frozen=True, slots=True)
class Affine:
    """An affine function of a program's columns.

    Parameters
    ----------
    entries : dict of int to Fraction
        By column.
    constant : Fraction
    """

    entries: Mapping[int, Fraction]
    constant: Fraction = Fraction(0)

    def at(self, point: Vector) -> Fraction:
        """Evaluate it."""
        return self.constant + sum((a * point[j] for j, a in self.entries.items()), Fraction(0))

    def plus(self, other: Affine, factor: Fraction | int = 1) -> Affine:
        """Add a multiple of another function."""
        entries = dict(self.entries)
        for j, a in other.entries.items():
            entries[j] = entries.get(j, Fraction(0)) + factor * a
        kept = {j: a for j, a in entries.items() if a}
        return Affine(kept, self.constant + factor * other.constant)

    def __neg__(self) -> Affine:
        return Affine({}).plus(self, -1)


class NoMapError(ValueError):
    """No affine map is known from one program's columns to another's."""


class Outcome(StrEnum):
    """What was shown of a relaxation's projection."""

    ONTO = "projects onto"
    INTO = "projects into, not onto,"
    OUTSIDE = "does not project into"
    OPEN = "projects into"


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """How one relaxation lies over another, on one problem.

    Parameters
    ----------
    source, target : str
    problem : Problem or None
        None of two models.
    outcome : Outcome
    optima : int
        Exact linear programs that show it.
    text : str
        The row that is violated, or the point without one above it.
    point : dict
        That point in the target's columns; empty if there is none.
    """

    source: str
    target: str
    problem: Problem | None
    outcome: Outcome
    optima: int
    text: str = ""
    point: Mapping[str, Fraction] | None = None

    def __bool__(self) -> bool:
        return self.outcome is Outcome.ONTO

    def told(self) -> str:
        """Say how it lies and what shows it, without the problem."""
        values = ", ".join(f"{name} = {value}" for name, value in (self.point or {}).items() if value)
        shown = (f": {self.text}" if self.text else "") + (f" at {values}" if values else "")
        return f"{self.source}'s relaxation {self.outcome} {self.target}'s{shown}"

    def __str__(self) -> str:
        on = "" if self.problem is None else f"{self.problem}, "
        return f"{on}{self.optima} exact optima: {self.told()}"


def projection(
    source: str | Formulation, target: str | Formulation, problem: Problem, there: Iterable[Affine] | None = None
) -> Projection:
    """Say how the relaxation of one formulation lies over that of another.

    Parameters
    ----------
    source, target : str or Formulation
        Both take the same number.
    problem : Problem
        A small one.
    there : iterable of Affine, optional
        The map: each column of the target as a function of the source's. By default `natural_map`.

    Returns
    -------
    Projection
        True if the image of the one is the other.

    Raises
    ------
    NoMapError
        No map is given, and the names and rows of the programs do not say which it is.
    """
    first, second = formulation_named(source), formulation_named(target)
    above, below = (program_of(one, problem, relaxed=True) for one in (first, second))
    down = list(there) if there is not None else natural_map(first, second, problem)
    try:
        up: list[Affine] | None = natural_map(second, first, problem)
    except NoMapError:
        up = None
    return _compared((first.name, second.name), problem, (above, below), down, up)


def model_projection(
    source: Any, target: Any, there: Mapping[str, Mapping[str, float | Fraction]] | None = None
) -> Projection:
    """Say how the relaxation of one model lies over that of another: which of two formulations is tighter.

    Where that of the source projects into that of the target, it is at least as tight; where it projects onto it, both
    are equally tight in the target's variables.

    Parameters
    ----------
    source, target : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file
        Small programs, each variable of which has a lower and an upper bound, or rows imply them. Their objectives do
        not matter.
    there : mapping of str to mapping of str to number, optional
        Variables of the target as sums of the source's: ``{"x": {"y": 1, "z": 2}}`` is x = y + 2 z. Others are the
        source's of the same name.

    Returns
    -------
    Projection
        True if the image of the one is the other.

    Raises
    ------
    NoMapError
        The source has no variable of a name.
    ValueError
        A relaxation without points, a variable without a bound, or a model that is not linear.
    """
    above, below = (ExactProgram(relaxation(linear_program_of(model))) for model in (source, target))
    given = dict(there or {})
    down = [_of_names(above, given.get(name, {name: 1})) for name in below.columns]
    up = None
    if not given and set(above.columns) <= set(below.columns):
        up = [_of_names(below, {name: 1}) for name in above.columns]
    return _compared(("the first", "the second"), None, (above, below), down, up)


def _of_names(program: ExactProgram, parts: Mapping[str, float | Fraction]) -> Affine:
    """Read a sum of columns by their names."""
    place = {name: column for column, name in enumerate(program.columns)}
    missing = next((name for name in parts if name not in place), None)
    if missing is not None:
        raise NoMapError(
            f"there: expected a variable of the first model, got {missing!r}, which it does not have; give what each "
            "variable of the second is in those of the first"
        )
    return Affine({place[name]: Fraction(str(value)) for name, value in parts.items() if value})


def _compared(
    names: tuple[str, str],
    problem: Problem | None,
    programs: tuple[ExactProgram, ExactProgram],
    down: list[Affine],
    up: list[Affine] | None,
) -> Projection:
    """Look for a point whose image lies outside, then for a map back, then for a point that is no image."""
    (above, below), seen = programs, _Count()
    outside = _outside(above, below, down, seen)
    if outside is not None:
        return Projection(*names, problem, Outcome.OUTSIDE, seen.optima, *outside)
    if up is not None and _outside(below, above, up, seen) is None and _is_section(below, down, up, seen):
        return Projection(*names, problem, Outcome.ONTO, seen.optima)
    bare = _without_point_above(above, below, down, seen)
    if bare is None:
        return Projection(*names, problem, Outcome.OPEN, seen.optima, "no map back is known")
    text = f"no point of {names[0]}'s lies above the vertex"
    return Projection(*names, problem, Outcome.INTO, seen.optima, text, _named(below, bare))


class _Count:
    """Counts exact optima."""

    optima = 0

    def least(self, program: ExactProgram, function: Affine) -> tuple[Fraction, Vector]:
        """Return the least value of an affine function over a relaxation, and where it is taken."""
        self.optima += 1
        costs = [function.entries.get(j, Fraction(0)) for j in range(len(program.columns))]
        best = program.minimum(costs)
        if best is None:
            raise ValueError("program: expected a relaxation with points, got an empty one")
        return best.value + function.constant, best.point


def _outside(
    above: ExactProgram, below: ExactProgram, down: list[Affine], seen: _Count
) -> tuple[str, dict[str, Fraction]] | None:
    """Look for a point whose image violates a row or a bound: what it violates, and the image."""
    for name, excess in _excesses(below, down):
        value, point = seen.least(above, -excess)
        if value < 0:
            image = tuple(function.at(point) for function in down)
            return f"{name} is violated by {-value}", _named(below, image)
    return None


def _excesses(below: ExactProgram, down: list[Affine]) -> Iterable[tuple[str, Affine]]:
    """Yield by how much the image of a point exceeds each side of each row, and each bound."""
    for name, (entries, sense, side) in zip(below.row_names, below.rows, strict=True):
        left = Affine({}, -side)
        for j, a in entries.items():
            left = left.plus(down[j], a)
        if sense in ("<=", "=="):
            yield name, left
        if sense in (">=", "=="):
            yield name, -left
    for name, low, high, function in zip(below.columns, below.lower, below.upper, down, strict=True):
        yield f"{name} >= {low}", Affine({}, low).plus(function, -1)
        yield f"{name} <= {high}", function.plus(Affine({}, -high))


def _is_section(below: ExactProgram, down: list[Affine], up: list[Affine], seen: _Count) -> bool:
    """Return whether going up and down again gives back each point of the lower relaxation."""
    for j, function in enumerate(down):
        back = Affine({j: Fraction(-1)}, function.constant)
        for k, a in function.entries.items():
            back = back.plus(up[k], a)
        if not back.entries and not back.constant:
            continue
        ends = (seen.least(below, back)[0], -seen.least(below, -back)[0])
        if any(ends):
            return False
    return True


def _without_point_above(above: ExactProgram, below: ExactProgram, down: list[Affine], seen: _Count) -> Vector | None:
    """Look for a vertex of the lower relaxation that is no image: the least distance from the image is above 0."""
    rng = np.random.default_rng(0)
    costs = [None, *rng.integers(-9, 10, size=(VERTICES, len(below.columns))).tolist()]
    for cost in costs:
        vertex = below.optimum(cost)
        if vertex is None:
            continue
        elastic = _elastic(above, down, vertex.point)
        n = len(above.columns)
        distance = Affine({j: Fraction(1) for j in range(n, len(elastic.columns))})
        if seen.least(elastic, distance)[0] > 0:
            return vertex.point
    return None


def _elastic(above: ExactProgram, down: list[Affine], point: Vector) -> ExactProgram:
    """Add rows that say "the image is the point", each with a shortfall and an excess."""
    program, width = above.program, len(down)
    rows = np.zeros((width, program.n_columns))
    for row, function in enumerate(down):
        for j, a in function.entries.items():
            rows[row, j] = float(a)
    spare = np.zeros((program.n_rows, 2 * width))
    own = np.hstack([np.eye(width), -np.eye(width)])
    most = 1 + max(map(abs, (*above.upper, *above.lower, *point)), default=Fraction(0)) * (1 + program.n_columns)
    A = csr_array(np.vstack([hstack([program.A, csr_array(spare)]).toarray(), np.hstack([rows, own])]))
    names = [f"{sign}{j}" for sign in ("short ", "over ") for j in range(width)]
    return ExactProgram(
        replace(
            program,
            A=A,
            senses=np.append(program.senses, np.full(width, "==", dtype="<U2")),
            rhs=np.append(program.rhs, [float(x - f.constant) for x, f in zip(point, down, strict=True)]),
            objective=np.append(program.objective, np.zeros(2 * width)),
            lower=np.append(program.lower, np.zeros(2 * width)),
            upper=np.append(program.upper, np.full(2 * width, float(most))),
            integer=np.zeros(program.n_columns + 2 * width, dtype=bool),
            row_labels=[*program.row_labels, *(f"image {j}" for j in range(width))],
            column_labels=[*program.column_labels, *names],
        )
    )


def natural_map(source: Formulation, target: Formulation, problem: Problem) -> list[Affine]:
    """Return each column of the target as a function of the source's.

    Columns ``x[h]`` and ``z[h]`` are what the source's own reading of a pruning says; others are the source's of the
    same name, or follow from the target's equations.

    Raises
    ------
    NoMapError
        A column is neither.
    """
    first, second = program_of(source, problem, relaxed=True), program_of(target, problem, relaxed=True)
    known = _pruning_columns(source, problem, len(first.columns))
    known |= {name: Affine({j: Fraction(1)}) for j, name in enumerate(first.columns)}
    found = {j: known[name] for j, name in enumerate(second.columns) if name in known}
    found |= _by_equations(second, found)
    for j, name in enumerate(second.columns):
        if j not in found:
            raise NoMapError(
                f"{name}: expected it to be a column of {source.name}, or to follow from equations of {target.name}, "
                "got neither; give the map (there=)"
            )
    return [found[j] for j in range(len(second.columns))]


def _pruning_columns(source: Formulation, problem: Problem, width: int) -> dict[str, Affine]:
    """Return x and z of the nodes as functions of the source's columns: z_h is x of the node above less that of h."""
    read = source.reader(problem.specification(source, relaxed=True))
    start = as_vector(read(np.zeros(width)))
    columns = [as_vector(read(unit)) for unit in np.eye(width)]
    instance = problem.instance
    x = {
        node: Affine({j: column[n] - start[n] for j, column in enumerate(columns) if column[n] != start[n]}, start[n])
        for n, node in enumerate(instance.internal_nodes.tolist())
    }
    whole = {f"x[{node}]": function for node, function in x.items()}
    for node, above in enumerate(instance.node_parent.tolist()):
        stays = Affine({}, Fraction(1)) if above < 0 else x[above]
        whole[f"z[{node}]"] = stays.plus(x[node], -1) if node in x else stays
    return whole


def _by_equations(program: ExactProgram, found: Mapping[int, Affine]) -> dict[int, Affine]:
    """Solve a program's equations for the columns that are not known, by elimination; those that are determined."""
    solved: dict[int, tuple[dict[int, Fraction], Affine]] = {}
    for entries, sense, side in program.rows:
        if sense != "==":
            continue
        unknown = {j: a for j, a in entries.items() if j not in found}
        right = Affine({}, side)
        for j, a in entries.items():
            if j in found:
                right = right.plus(found[j], -a)
        unknown, right = _reduced(unknown, right, solved)
        if unknown:
            pivot, scale = next(iter(unknown.items()))
            row = {j: a / scale for j, a in unknown.items() if j != pivot}
            solved = {
                p: _reduced(*other, {pivot: (row, Affine({}).plus(right, 1 / scale))}) for p, other in solved.items()
            }
            solved[pivot] = row, Affine({}).plus(right, 1 / scale)
    return {pivot: right for pivot, (row, right) in solved.items() if not row}


def _reduced(
    unknown: dict[int, Fraction], right: Affine, solved: Mapping[int, tuple[dict[int, Fraction], Affine]]
) -> tuple[dict[int, Fraction], Affine]:
    """Put what is solved (pivot = value less row) into an equation."""
    left = dict(unknown)
    for pivot in [j for j in unknown if j in solved]:
        factor = left.pop(pivot)
        row, value = solved[pivot]
        right = right.plus(value, -factor)
        for j, a in row.items():
            left[j] = left.get(j, Fraction(0)) - factor * a
    return {j: a for j, a in left.items() if a}, right


def _named(program: ExactProgram, point: Vector) -> dict[str, Fraction]:
    return dict(zip(program.columns, point, strict=True))
