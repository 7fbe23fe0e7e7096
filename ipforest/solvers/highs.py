"""HiGHS, wrapped once: `run` takes a `LinearProgram` and gives a `Solution`."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from math import ceil, floor, log2
from time import perf_counter
from typing import Any, Literal

import numpy as np

from ipforest._internal.rational import nonnegative_fraction, time_limit_seconds
from ipforest._internal.undisturbed import Undisturbed
from ipforest.results import Status
from ipforest.solvers import MissingSolverError, available_solvers
from ipforest.solvers.linear_program import LinearProgram, Solution

__all__ = ["LinearSolver", "NoOptimumError", "run", "run_first_order"]

LinearSolver = Literal["simplex", "ipm"]


class NoOptimumError(RuntimeError):
    """HiGHS ended neither with an optimum nor at the time limit.

    Parameters
    ----------
    message : str
    ending : str
        How it ended, in HiGHS's words, such as "Infeasible" and "Unbounded".
    """

    def __init__(self, message: str, ending: str) -> None:
        super().__init__(message)
        self.ending = ending


MAX_ENTRY = 2.0**53
"""Up to it floats tell integers apart; HiGHS by default refuses entries from 10^15 on."""
INFEASIBLE = "Infeasible"
"""HiGHS's name for a program without a feasible point."""
UNBOUNDED, UNDECIDED = "Unbounded", "Primal infeasible or unbounded"
"""Its names for a program without a least objective, and for one that is this or infeasible."""
SMALLEST_ENTRY = 1e-9
"""HiGHS leaves entries of the matrix out that are not larger."""
SMALL_COST = 1e-3
"""Costs below it are scaled: HiGHS's tolerances of the objective are absolute, 1e-7 of reduced costs, a gap of 1e-6."""
HUGE_COST = 1e15
"""Costs above it are scaled, too: HiGHS ends without an answer where they reach 1e21."""
LARGEST_SCALED, MAX_POWER = 20, 1000
"""Powers of two: of the largest cost after scaling, above which small ones stay small, and of what floats hold."""
LARGE = 1e8
"""Where numbers exceed it HiGHS's tolerance of a row, 1e-7 of 1 and absolute, is near to their rounding."""
NO_PROBING = 2**15
"""HiGHS's number for a presolve without probing, which sets one 0-1 variable after another: here each implies many
others, and probing took up to 97% of the time."""
GAP_TOLERANCE = 1e-6
"""A relative gap that branch and bound leaves below it is rounding, above it what was asked for."""


def run(
    program: LinearProgram,
    *,
    solver: LinearSolver = "simplex",
    time_limit: float | None = None,
    relative_gap: float = 0.0,
) -> Solution:
    """Solve a program with HiGHS.

    Parameters
    ----------
    program : LinearProgram
        0-1 where any column is integer.
    solver : {"simplex", "ipm"}
        For linear programs. Both end in a vertex: the interior point method is always followed by crossover.
    time_limit : float, optional
        Seconds.
    relative_gap : float
        Gap, as a part of the objective, at which branch and bound may stop.

    Raises
    ------
    ValueError
        An option that HiGHS does not take, or entries of the matrix that it would leave out.
    MissingSolverError
        HiGHS is not installed.
    NoOptimumError
        HiGHS ended neither with an optimum nor at the time limit.
    """
    return _solved(program, options(program.is_integer, solver, time_limit, relative_gap))


def run_first_order(program: LinearProgram, time_limit: float | None = None) -> tuple[float, float]:
    """Solve a linear program by HiGHS's PDLP, a first-order method that ends near an optimum, at no vertex.

    Parameters
    ----------
    program : LinearProgram
        Without integer columns.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    objective, runtime_s : float
        The objective is infinite if the time was too short.

    Raises
    ------
    NoOptimumError
        HiGHS ended neither with an optimum nor at the time limit.
    """
    wanted = options(False, "simplex", time_limit, 0.0) | {"solver": "pdlp", "run_crossover": "off"}
    solution = _solved(program, wanted)
    return solution.objective, solution.runtime_s


def _solved(program: LinearProgram, wanted: dict[str, Any]) -> Solution:
    highspy = import_highspy()
    started = perf_counter()
    highs = quiet_highs()
    set_options(highs, wanted)
    if not program.n_columns:
        nothing = Solution.of_nothing(program)
        if nothing is None:
            raise _failure(program, INFEASIBLE)
        return nothing
    _check_entries(program)
    scale, scaled = _objective_scale(program), program
    if scale != 1:
        scaled = replace(program, objective=program.objective * scale, constant=program.constant * scale)
    error = highspy.HighsStatus.kError
    if _pass(highs, highspy, scaled) == error or _run(highs) == error:
        raise _failure(program, "an error")
    if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible and program.objective.any():
        feasible = _solved(replace(program, objective=np.zeros(program.n_columns)), wanted).values is not None
        raise _failure(program, UNBOUNDED if feasible else UNDECIDED)
    return _in_units(_solution(highs, highspy, program, perf_counter() - started), scale)


def _run(highs: Any) -> Any:
    """Let HiGHS run; an interrupt, which it would not see before its end, cancels it, and a second one leaves it alone.

    It runs in another thread, as Python handles signals in the main one alone, and only between its own instructions.
    """
    if threading.current_thread() is not threading.main_thread():
        return highs.run()
    work = Undisturbed()
    highs.HandleUserInterrupt = True
    try:
        return work.run(highs.run)
    except KeyboardInterrupt:
        highs.cancelSolve()
        work.settle()
        raise


def _check_entries(program: LinearProgram) -> None:
    """Refuse entries that HiGHS would leave out with a warning, after which it solves another program."""
    small = np.flatnonzero((np.abs(program.A.data) <= SMALLEST_ENTRY) & (program.A.data != 0))
    if small.size:
        row = int(np.searchsorted(program.A.indptr, small[0], side="right")) - 1
        column = int(program.A.indices[small[0]])
        raise ValueError(
            f"A: expected entries above {SMALLEST_ENTRY:g}, got {program.A.data[small[0]]:g} of "
            f"{program.column_labels[column]} in {program.row_labels[row]}, which HiGHS leaves out; "
            "multiply the row by a number, or measure the variable in smaller units"
        )


def _objective_scale(program: LinearProgram) -> float:
    """Return a power of two, by which costs are multiplied so that none hides below HiGHS's absolute tolerances.

    Huge ones are made smaller as far as none falls below 1.
    """
    costs = np.abs(program.objective[program.objective != 0])
    if not costs.size:
        return 1.0
    least, most, power = log2(costs.min()), log2(costs.max()), 0
    if costs.min() < SMALL_COST:
        power = max(0, min(ceil(-least), floor(LARGEST_SCALED - most), MAX_POWER))
    elif costs.max() > HUGE_COST:
        power = -max(0, min(floor(least), ceil(most - LARGEST_SCALED)))
    return 2.0**power


def _in_units(solution: Solution, scale: float) -> Solution:
    """Undo the scaling of the objective."""
    duals = None if solution.row_duals is None else solution.row_duals / scale
    return replace(solution, objective=solution.objective / scale, bound=solution.bound / scale, row_duals=duals)


def import_highspy() -> Any:
    """Import HiGHS's Python package.

    Raises
    ------
    MissingSolverError
        It is not installed.
    """
    if find_spec("highspy") is None:
        raise MissingSolverError(
            "highspy: expected it to be installed for HiGHS, got none; run pip install highspy, "
            f"or use one of the methods {', '.join(available_solvers())}"
        )
    import highspy

    _start_anew_after_a_fork()
    return highspy


@cache
def _start_anew_after_a_fork() -> None:
    """Let forked processes forget HiGHS's threads, which they do not have and would wait for without end."""
    from highspy import Highs

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(Highs.resetGlobalScheduler, False))


def quiet_highs() -> Any:
    """Make a solver that prints nothing; version 1.16 greets while it is made, before its options can be set.

    Raises
    ------
    MissingSolverError
        HiGHS is not installed.
    """
    highspy = import_highspy()

    class Silent(highspy.Highs):  # type: ignore[name-defined]  # highspy is untyped
        def enableCallbacks(self) -> Any:
            self.setOptionValue("output_flag", False)
            return super().enableCallbacks()

    return Silent()


def options(integer: bool, solver: LinearSolver, time_limit: float | None, relative_gap: float) -> dict[str, Any]:
    """Return HiGHS's options: vertices only, silence, limits.

    Raises
    ------
    ValueError
        Another solver, whose solutions need not be vertices, or a gap that is no number >= 0.
    """
    if solver not in ("simplex", "ipm"):
        raise ValueError(f"solver: expected simplex or ipm (with crossover), which end in a vertex, got {solver!r}")
    wanted: dict[str, Any] = {"output_flag": False, "large_matrix_value": MAX_ENTRY}
    if integer:
        wanted |= {"mip_rel_gap": float(nonnegative_fraction(relative_gap, "relative_gap"))}
        wanted |= {"presolve_rule_off": NO_PROBING}
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


def _pass(highs: Any, highspy: Any, program: LinearProgram) -> Any:
    """Hand the program over, row by row; give what HiGHS says of it."""
    A = program.A
    return highs.passModel(
        program.n_columns,
        program.n_rows,
        A.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        program.constant,
        program.objective,
        program.lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        A.indptr.astype(np.int32),
        A.indices.astype(np.int32),
        A.data,
        program.integer.astype(np.int32),
    )


def _failure(program: LinearProgram, ending: str) -> NoOptimumError:
    """Return the error of a program that HiGHS does not solve, with the largest of its numbers and what to do."""
    numbers = np.concatenate([program.A.data, program.objective, program.rhs])
    largest = np.abs(numbers).max(initial=0)
    advice = []
    if ending == INFEASIBLE:
        advice.append("take out rows that were added, which exclude every pruning")
    open_ended = np.flatnonzero(~(np.isfinite(program.lower) & np.isfinite(program.upper)))
    unbounded = "nbounded" in ending and open_ended.size > 0
    if unbounded:
        advice.append(f"give {program.column_labels[int(open_ended[0])]} a lower and an upper bound")
    if (ending != INFEASIBLE and not unbounded) or largest > LARGE:
        advice.append("round prices, errors and lambda to fewer digits, or use a method without HiGHS")
    return NoOptimumError(
        f"HiGHS: expected an optimum or the time limit, got {ending} for {program!r}, whose numbers reach "
        f"{largest:.0e}; {'; or, as floats blur numbers so large, '.join(advice)}",
        ending,
    )


def _solution(highs: Any, highspy: Any, program: LinearProgram, runtime_s: float) -> Solution:
    ending, integer = highs.getModelStatus(), program.is_integer
    statuses = highspy.HighsModelStatus
    if ending not in (statuses.kOptimal, statuses.kTimeLimit):
        raise _failure(program, highs.modelStatusToString(ending))
    info, point = highs.getInfo(), highs.getSolution()
    feasible = point.value_valid and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    objective = float(info.objective_function_value) if feasible else np.inf
    optimal = ending != statuses.kTimeLimit
    if optimal and not feasible:
        raise _failure(program, "an optimum, but no feasible point,")
    linear_bound = objective if optimal else -np.inf
    return Solution(
        status=_status(optimal, integer and info.mip_gap > GAP_TOLERANCE),
        values=np.array(point.col_value) if feasible else None,
        row_duals=np.array(point.row_dual) if point.dual_valid and not integer else None,
        objective=objective,
        bound=float(info.mip_dual_bound) if integer else linear_bound,
        runtime_s=runtime_s,
        iterations=int(info.mip_node_count if integer else info.simplex_iteration_count),
    )


def _status(optimal: bool, gap_left: bool) -> Status:
    """Return how HiGHS ended, by its own account."""
    if not optimal:
        return Status.TIME_LIMIT
    return Status.GAP_REACHED if gap_left else Status.OPTIMAL
