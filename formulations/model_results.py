"""Solving models that were changed after they were built: what still holds of the result, and what does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from formulations.arrays import linear_program
from formulations.base import ModelSpecification
from formulations.exact_results import INTEGRALITY_TOLERANCE, kept_shares
from ipforest._internal.arrays import BoolArray, IntArray
from ipforest.results import Pruning, Status
from ipforest.solvers.linear_program import LinearProgram, Solution

__all__ = ["Changes", "ModelResult", "changes_of", "model_result"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelResult:
    """The solution of a model that is not the program that `formulations.build` wrote, or that of a variant.

    Nothing is certified: objective and bound are the solver's floats, of the model as it stands.

    Parameters
    ----------
    status : Status
        How the solver ended.
    objective, bound : float
        In the unit and the sense of the model's objective; infinite without a point or a bound.
    pruning : Pruning or None
        That of the point, where there is a point and it is 0-1.
    error, cost : Fraction or None
        Of the pruning, exact, averages over the examples as in `ipforest.PruningResult`.
    changes : tuple of str
        What differs from the program that was built.
    runtime_s : float
    method : str
    """

    status: Status
    objective: float
    bound: float
    pruning: Pruning | None
    error: Fraction | None
    cost: Fraction | None
    changes: tuple[str, ...]
    runtime_s: float
    method: str

    def __str__(self) -> str:
        return (
            f"{self.method}: {self.status}, objective {self.objective:.6g}, bound {self.bound:.6g}, by the solver's "
            f"own account ({'; '.join(self.changes)})"
        )

    __repr__ = __str__


def model_result(
    specification: ModelSpecification, program: LinearProgram, solution: Solution, changes: Changes, method: str
) -> ModelResult:
    """Report a solution as it stands; see `ModelResult`."""
    sign = -1.0 if program.maximised else 1.0
    pruning = None
    if solution.values is not None and changes.columns.size:
        shares = kept_shares(specification, solution.values[changes.columns])
        if np.abs(shares - np.rint(shares)).max(initial=0) <= INTEGRALITY_TOLERANCE:
            pruning = Pruning(shares > 0.5)
    error, cost = (None, None) if pruning is None else specification.instance.evaluate(pruning)
    return ModelResult(
        status=solution.status,
        objective=sign * solution.objective,
        bound=sign * solution.bound,
        pruning=pruning,
        error=error,
        cost=cost,
        changes=(*changes.breaking, *changes.restricting),
        runtime_s=solution.runtime_s,
        method=method,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """How a model differs from the program that was built.

    Parameters
    ----------
    breaking : tuple of str
        After which the objective or the feasible prunings are not the program's any more.
    restricting : tuple of str
        Rows and bounds that only take prunings away, so that every bound on the program holds.
    rows, columns : ndarray of int64
        Where the program's rows and columns stand in the model; empty where some are missing.
    """

    breaking: tuple[str, ...]
    restricting: tuple[str, ...]
    rows: IntArray
    columns: IntArray

    def with_breaking(self, change: str) -> Changes:
        """Add a change after which the program's bounds do not hold."""
        return replace(self, breaking=(*self.breaking, change))

    def program_part(self, solution: Solution) -> Solution:
        """Return a solution of the model without what belongs to rows and columns that were added."""
        values = None if solution.values is None else solution.values[self.columns]
        duals = None if solution.row_duals is None else solution.row_duals[self.rows]
        return replace(solution, values=values, row_duals=duals)


def changes_of(program: LinearProgram, specification: ModelSpecification) -> Changes:
    """Compare a model's matrix with the program that was built."""
    base = linear_program(specification)
    columns = _places(base.column_labels, program.column_labels)
    rows = _places(_told_apart(base.row_labels), _told_apart(program.row_labels))
    if columns is None or rows is None:
        removed = "variables" if columns is None else "constraints"
        nothing = np.zeros(0, dtype=np.int64)
        return Changes((f"{removed} were removed",), (), nothing, nothing if columns is None else columns)
    breaking, restricting = [], []
    own = np.ones(program.n_columns, dtype=bool)
    own[columns] = False
    base = _with_fixed(base, program, columns)
    if not _same_objective(program, base, columns, own):
        breaking.append("the objective was changed")
    kept_rows = program.A[rows]
    same_sides = np.array_equal(program.senses[rows], base.senses) and np.array_equal(program.rhs[rows], base.rhs)
    if (kept_rows[:, columns] != base.A).nnz or kept_rows[:, own].nnz or not same_sides:
        breaking.append("constraints were changed")
    lower, upper, integer = program.lower[columns], program.upper[columns], program.integer[columns]
    if (lower < base.lower).any() or (upper > base.upper).any() or (base.integer & ~integer).any():
        breaking.append("domains of variables were widened")
    elif (lower > base.lower).any() or (upper < base.upper).any() or (integer & ~base.integer).any():
        restricting.append("domains of variables were narrowed")
    added = np.ones(program.n_rows, dtype=bool)
    added[rows] = False
    if added.any():
        names = ", ".join(program.row_labels[row] for row in np.flatnonzero(added)[:3])
        restricting.append(f"{added.sum()} constraints were added, the first {names}")
    return Changes(tuple(breaking), tuple(restricting), rows, columns)


def _with_fixed(base: LinearProgram, program: LinearProgram, columns: IntArray) -> LinearProgram:
    """Put the values of the variables that the model fixes into the program's rows and objective, as its matrix has."""
    fixed = (program.lower == program.upper)[columns] & (base.lower < base.upper)
    fixed &= (np.bincount(program.A.indices, minlength=program.n_columns) == 0)[columns]
    fixed &= program.objective[columns] == 0
    if not fixed.any():
        return base
    values = np.where(fixed, program.lower[columns], 0.0)
    return replace(
        base,
        A=csr_array(base.A * ~fixed),
        rhs=base.rhs - base.A @ values,
        objective=np.where(fixed, 0.0, base.objective),
        constant=base.constant + float(base.objective @ values),
    )


def _same_objective(program: LinearProgram, base: LinearProgram, columns: IntArray, own: BoolArray) -> bool:
    return (
        np.array_equal(program.objective[columns], base.objective)
        and not program.objective[own].any()
        and program.constant == base.constant
        and program.maximised == base.maximised
    )


def _told_apart(labels: Sequence[str]) -> list[tuple[str, int]]:
    """Give rows of the same label numbers, as a constraint with two sides is two rows."""
    count: Counter[str] = Counter()
    numbered = []
    for label in labels:
        numbered.append((label, count[label]))
        count[label] += 1
    return numbered


def _places(wanted: Sequence[Any], labels: Sequence[Any]) -> IntArray | None:
    """Return where some labels stand among others, None if one is missing."""
    place = {label: position for position, label in enumerate(labels)}
    found = [place.get(label, -1) for label in wanted]
    return None if -1 in found else np.array(found, dtype=np.int64)
