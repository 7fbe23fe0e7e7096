"""Why a program is as it is, in the names of its model: duals, reduced costs, an infeasible subsystem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulations.any_model import linear_program_of
from ipforest._internal.arrays import BoolArray
from ipforest.solvers.highs import INFEASIBLE, NoOptimumError, run
from ipforest.solvers.linear_program import LinearProgram

__all__ = ["Prices", "infeasible_subsystem", "shadow_prices"]


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """An optimal dual solution of a relaxation, as the solver's floats.

    Parameters
    ----------
    objective : float
        The relaxation's optimum, in the sense of the model.
    duals : dict of str to float
        By row: what the objective gains for one more unit of the right-hand side. A row with two sides has the sum.
    reduced_costs : dict of str to float
        By variable: what the objective gains for one more unit of its bound; 0 for those that lie between theirs.
    """

    objective: float
    duals: dict[str, float]
    reduced_costs: dict[str, float]


def shadow_prices(model: Any) -> Prices:
    """Solve the relaxation of a model, and return duals and reduced costs by name.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file

    Raises
    ------
    NoOptimumError
        The relaxation is infeasible (see `infeasible_subsystem`) or unbounded.
    """
    program = _relaxed(linear_program_of(model))
    solution = run(program)
    duals = np.zeros(program.n_rows) if solution.row_duals is None else solution.row_duals
    sign = -1.0 if program.maximised else 1.0
    by_row: dict[str, float] = {}
    for name, dual in zip(program.row_labels, (sign * duals).tolist(), strict=True):
        by_row[name] = by_row.get(name, 0.0) + dual
    reduced = sign * (program.objective - program.A.T @ duals)
    return Prices(sign * solution.objective, by_row, dict(zip(program.column_labels, reduced.tolist(), strict=True)))


def infeasible_subsystem(model: Any) -> tuple[str, ...]:
    """Find a smallest infeasible part of a relaxation: without any one of it the others can be met.

    It is found by deletion, in halves as long as that goes: each part is left out, and stays out if what is left is
    still infeasible.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file

    Returns
    -------
    tuple of str
        Names of rows, and bounds as "x >= 0", "x <= 1". Empty if the relaxation has a point; the 0-1 program may still
        have none.
    """
    program = _relaxed(linear_program_of(model))
    m, n = program.n_rows, program.n_columns
    parts = np.ones(m + 2 * n, dtype=bool)
    parts[m:] = np.isfinite(np.concatenate([program.lower, program.upper]))
    if _is_feasible(program, parts):
        return ()
    _delete(program, parts, np.flatnonzero(parts))
    bounds = [
        f"{name} {sign} {value:g}"
        for sign, values in ((">=", program.lower), ("<=", program.upper))
        for name, value in zip(program.column_labels, values.tolist(), strict=True)
    ]
    names = [*program.row_labels, *bounds]
    return tuple(names[part] for part in np.flatnonzero(parts))


def _delete(program: LinearProgram, parts: BoolArray, chosen: Sequence[int] | Any) -> None:
    """Leave out of `parts` as many of the chosen ones as can be, so that what is left is infeasible."""
    parts[chosen] = False
    if not _is_feasible(program, parts):
        return
    parts[chosen] = True
    if len(chosen) > 1:
        half = len(chosen) // 2
        _delete(program, parts, chosen[:half])
        _delete(program, parts, chosen[half:])


def _is_feasible(program: LinearProgram, parts: BoolArray) -> bool:
    m, n = program.n_rows, program.n_columns
    rows, below, above = parts[:m], parts[m : m + n], parts[m + n :]
    try:
        run(
            replace(
                program,
                A=program.A[np.flatnonzero(rows)],
                senses=program.senses[rows],
                rhs=program.rhs[rows],
                row_labels=[name for name, kept in zip(program.row_labels, rows.tolist(), strict=True) if kept],
                objective=np.zeros(n),
                lower=np.where(below, program.lower, -np.inf),
                upper=np.where(above, program.upper, np.inf),
            )
        )
    except NoOptimumError as ended:
        if ended.ending == INFEASIBLE:
            return False
        raise
    return True


def _relaxed(program: LinearProgram) -> LinearProgram:
    return replace(program, integer=np.zeros(program.n_columns, dtype=bool))
