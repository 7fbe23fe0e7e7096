"""HiGHS on plain arrays: `run` any linear program; the methods ``highs-lp`` and ``highs-mip``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Literal

import numpy as np

from formulations.arrays import linear_program
from formulations.exact_results import Solution, pruning_result
from formulations.registry import formulation as formulation_named
from formulations.specification import ModelSpecification, specify
from ipforest.instance import PruningInstance
from ipforest.rational import time_limit_seconds
from ipforest.results import PruningResult, Status
from ipforest.solvers import MissingSolverError
from ipforest.solvers.linear_program import LinearProgram

__all__ = ["run", "solve_lp", "solve_mip", "with_exact_bound"]

LinearSolver = Literal["simplex", "ipm"]

GAP_TOLERANCE = 1e-6
"""A relative gap that branch and bound leaves below it is rounding, above it what was asked for."""


def run(
    problem: LinearProgram, *, solver: LinearSolver = "simplex", time_limit: float | None = None, gap: float = 0.0
) -> Solution:
    """Solve a program with HiGHS.

    Parameters
    ----------
    problem : LinearProgram
        0-1 where any column is integer.
    solver : {"simplex", "ipm"}
        For linear programs. Both end in a vertex: the interior point method is always followed by crossover.
    time_limit : float, optional
        Seconds.
    gap : float
        Relative gap at which branch and bound may stop.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        An option that HiGHS does not take.
    MissingSolverError
        HiGHS is not installed.
    RuntimeError
        HiGHS ended neither with an optimum nor at the time limit.
    """
    highspy = import_highspy()
    started = perf_counter()
    highs = highspy.Highs()
    set_options(highs, options(problem.is_integer, solver, time_limit, gap))
    if not problem.n_columns:
        return Solution.of_nothing(problem.constant)
    A = problem.A
    status = highs.passModel(
        problem.n_columns,
        problem.n_rows,
        A.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        problem.constant,
        problem.objective,
        problem.lower,
        problem.upper,
        problem.row_lower,
        problem.row_upper,
        A.indptr.astype(np.int32),
        A.indices.astype(np.int32),
        A.data,
        problem.integer.astype(np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise RuntimeError(f"HiGHS: expected it to take {problem!r}, got {status}")
    highs.run()
    return _solution(highs, highspy, problem.is_integer, perf_counter() - started)


def import_highspy() -> Any:
    """Import HiGHS's Python package.

    Raises
    ------
    MissingSolverError
        It is not installed.
    """
    if find_spec("highspy") is None:
        raise MissingSolverError("highspy: expected it to be installed for HiGHS, got none; run pip install highspy")
    import highspy

    return highspy


def options(integer: bool, solver: LinearSolver, time_limit: float | None, gap: float) -> dict[str, Any]:
    """Give HiGHS's options: vertices only, silence, limits.

    Raises
    ------
    ValueError
        Another solver, whose solutions need not be vertices.
    """
    if solver not in ("simplex", "ipm"):
        raise ValueError(f"solver: expected simplex or ipm (with crossover), which end in a vertex, got {solver!r}")
    wanted: dict[str, Any] = {"output_flag": False}
    if integer:
        wanted["mip_rel_gap"] = float(gap)
    else:
        wanted |= {"solver": solver, "run_crossover": "on"}
    seconds = time_limit_seconds(time_limit)
    if seconds is not None:
        wanted["time_limit"] = seconds
    return wanted


def set_options(highs: Any, wanted: dict[str, Any]) -> None:
    """Set options one by one, checking what HiGHS answers.

    Raises
    ------
    ValueError
        HiGHS refuses a name or a value.
    """
    ok = import_highspy().HighsStatus.kOk
    for name, value in wanted.items():
        if highs.setOptionValue(name, value) != ok:
            raise ValueError(f"{name}: expected an option value that HiGHS takes, got {value!r}")


def _solution(highs: Any, highspy: Any, integer: bool, runtime_s: float) -> Solution:
    ending = highs.getModelStatus()
    statuses = highspy.HighsModelStatus
    if ending not in (statuses.kOptimal, statuses.kTimeLimit):
        raise RuntimeError(f"HiGHS: expected an optimum or the time limit, got {highs.modelStatusToString(ending)}")
    info, point = highs.getInfo(), highs.getSolution()
    feasible = point.value_valid and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    objective = float(info.objective_function_value) if feasible else np.inf
    optimal = ending != statuses.kTimeLimit
    linear_bound = objective if optimal else -np.inf
    return Solution(
        status=ending_status(optimal, integer and info.mip_gap > GAP_TOLERANCE),
        values=np.array(point.col_value) if feasible else None,
        row_duals=np.array(point.row_dual) if point.dual_valid and not integer else None,
        objective=objective,
        bound=float(info.mip_dual_bound) if integer else linear_bound,
        runtime_s=runtime_s,
        iterations=int(info.mip_node_count if integer else info.simplex_iteration_count),
    )


def ending_status(optimal: bool, gap_left: bool) -> Status:
    """Name how HiGHS ended, by its own account."""
    if not optimal:
        return Status.TIME_LIMIT
    return Status.GAP_REACHED if gap_left else Status.OPTIMAL


def solve_lp(
    instance: PruningInstance,
    lam: Fraction,
    formulation: str = "closure",
    solver: LinearSolver = "simplex",
    time_limit: float | None = None,
) -> PruningResult:
    """Solve the relaxation of a formulation at a vertex: method ``highs-lp``.

    The pruning is the vertex, which is 0-1 for every formulation but ``ip1``; the bound is exact, see
    `formulations.exact_results.pruning_result`.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
    formulation : {"closure", "compact", "ip3", "ip2", "ip1"}
    solver : {"simplex", "ipm"}
    time_limit : float, optional
        Seconds; a result that ends there holds the best pruning met and a valid bound.

    Raises
    ------
    ValueError
        A formulation that takes no lambda, or does not fit the instance.
    FractionalOptimumError
        The optimal vertex is no pruning (``ip1``).
    """
    specification = specify(formulation, instance, lam, relaxed=True)
    return pruning_result(
        specification, run(linear_program(specification), solver=solver, time_limit=time_limit), "highs-lp"
    )


def solve_mip(
    instance: PruningInstance,
    lam: Fraction,
    formulation: str = "closure",
    time_limit: float | None = None,
    gap: float = 0.0,
) -> PruningResult:
    """Solve the 0-1 program of a formulation by branch and bound: method ``highs-mip``.

    The bound is HiGHS's own, a float trusted to 1e-6 units plus 1e-9 of itself; see also `with_exact_bound`. ``proofs``
    certifies without it.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
    formulation : {"closure", "compact", "ip3", "ip2", "ip1"}
    time_limit : float, optional
        Seconds.
    gap : float
        Relative gap at which the search may stop.

    Raises
    ------
    ValueError
        A formulation that takes no lambda, or does not fit the instance.
    """
    specification = specify(formulation, instance, lam)
    result = pruning_result(
        specification, run(linear_program(specification), time_limit=time_limit, gap=gap), "highs-mip"
    )
    return with_exact_bound(specification, result)


def with_exact_bound(specification: ModelSpecification, result: PruningResult) -> PruningResult:
    """Close the gap that the floats of a finished branch and bound leave, by the exact duals of the relaxation.

    Parameters
    ----------
    specification : ModelSpecification
    result : PruningResult
        Of that specification.

    Returns
    -------
    PruningResult
        The same unless it is "feasible", of a 0-1 program whose relaxation is integral.
    """
    if (
        specification.relaxed
        or result.status is not Status.FEASIBLE
        or not formulation_named(specification.formulation).integral
    ):
        return result
    relaxed = solve_lp(specification.instance, result.lam, specification.formulation)
    bound = min(max(result.bound, relaxed.bound), result.objective)
    return replace(
        result,
        bound=bound,
        status=Status.OPTIMAL if bound == result.objective else Status.FEASIBLE,
        runtime_s=result.runtime_s + relaxed.runtime_s,
    )
