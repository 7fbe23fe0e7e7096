"""From a solver's floats to an exact result: the pruning evaluated in fractions, the duals rounded to a valid bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isfinite

import numpy as np

from formulations.base import ModelSpecification
from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.rational import INT64_SAFE
from ipforest.results import Pruning, PruningResult
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.linear_program import Solution
from ipforest.solvers.min_cut import solve_min_cut
from ipforest.solvers.tree_dp import equal_shares, lagrangian_bound, within_prices

__all__ = [
    "FractionalOptimumError",
    "integral_pruning",
    "kept_shares",
    "multipliers",
    "pruning_result",
    "with_least_bound",
]

INTEGRALITY_TOLERANCE = 1e-6


class FractionalOptimumError(ArithmeticError):
    """A relaxation's optimum is fractional: it is no pruning, and is not rounded to one."""


def kept_shares(specification: ModelSpecification, values: FloatArray) -> FloatArray:
    """Read x_h, how far each internal node keeps its test, from a solution; shape (n_internal,)."""
    return specification.formulation.kept_shares(specification, values)


def integral_pruning(specification: ModelSpecification, values: FloatArray) -> Pruning:
    """Read the pruning of a 0-1 solution.

    Raises
    ------
    FractionalOptimumError
        Some node is kept by another share than 0 or 1.
    ValueError
        A node is kept without its parent.
    """
    wrong = "the solver's point, a row of the model, or the decoder is wrong"
    shares = kept_shares(specification, values)
    off = np.minimum(np.abs(shares), np.abs(1 - shares))
    if not (off <= INTEGRALITY_TOLERANCE).all():
        at = int(np.argmax(np.nan_to_num(off, nan=np.inf)))
        place, advice = (
            ("relaxed", "solve the 0-1 program (relaxed=False, method highs-mip), or relax ip3, compact or closure")
            if specification.relaxed
            else ("values", wrong)
        )
        raise FractionalOptimumError(
            f"{place}: expected a 0-1 optimum of {specification.formulation}, got node "
            f"{specification.instance.internal_nodes[at]} kept by {shares[at]:.6g}; {advice}"
        )
    pruning = Pruning(shares > 0.5)
    try:
        specification.instance.check_pruning(pruning)
    except ValueError as problem:
        raise ValueError(f"{specification.formulation}, {problem}; {wrong}") from problem
    return pruning


def multipliers(specification: ModelSpecification, row_duals: FloatArray, scale: int = 1) -> IntArray:
    """Round the duals of the rows that join the trees to integer multipliers on the triples.

    They are the beta of BudgetPrune's Algorithm 1, see `formulations.base.Formulation.multipliers`. Where no rows join
    trees, as in ``ip2``, each tree pays the whole price.

    Parameters
    ----------
    specification : ModelSpecification
    row_duals : ndarray of float64, shape (n_rows,)
    scale : int
        Multiplies the duals before they are rounded.

    Returns
    -------
    ndarray of int64, shape (n_triples,)
        At least 0; see `ipforest.solvers.tree_dp.within_prices`.
    """
    duals = specification.formulation.multipliers(specification, row_duals)
    if duals is None:
        p, _ = specification.weights
        return p * specification.instance.acquisition_cost[specification.instance.indices]
    return np.rint(np.clip(scale * duals, 0, float(INT64_SAFE))).astype(np.int64)


def pruning_result(specification: ModelSpecification, solution: Solution, method: str) -> PruningResult:
    """Turn a solution at one lambda into an exact result.

    The pruning is the solver's, or without one that of the Lagrangian bound; the objective is the pruning's, in
    fractions. The bound of a relaxation is the Lagrangian bound of its rounded duals, exact and valid whatever the
    solver did. The bound of a 0-1 program is the solver's own, trusted to 1e-6 units plus 1e-9 of itself, or that of
    evenly shared prices if it is better. Both are raised to the next value that an objective can take; "optimal" means
    that this is the objective itself.

    Raises
    ------
    FractionalOptimumError
        The optimum of a relaxation is no pruning.
    ValueError
        The formulation is a variant, for which these bounds do not hold.
    """
    if specification.formulation.variant:
        raise ValueError(
            f"formulation: expected one of the pruning problem, got {specification.formulation}, which states another; "
            "formulations.solve(formulations.build(...)) solves it"
        )
    instance, lam = specification.instance, specification.lam
    if lam is None:
        raise ValueError(f"specification: expected one with a lambda, got {specification.formulation} within a budget")
    p, q = specification.weights
    bound, pruning = lagrangian_bound(instance, p, q, _best_multipliers(specification, solution))
    if solution.values is not None:
        pruning = integral_pruning(specification, solution.values)
    if not specification.formulation.integer_units:
        bound = _least_objective(specification, lam)
    elif not specification.relaxed and isfinite(solution.bound):
        bound = max(bound, solution.integer_bound)
    objective = q * instance.integer_error(pruning) + p * instance.integer_cost(pruning)
    proven = min(objective, Attainable.objectives(instance, p, q).at_least(bound))
    return PruningResult.of(
        pruning,
        instance.evaluate(pruning),
        lam,
        proven * specification.objective_unit,
        ended=solution.status,
        runtime_s=solution.runtime_s,
        method=method,
        iterations=solution.iterations,
    )


def with_least_bound(specification: ModelSpecification, result: PruningResult) -> PruningResult:
    """Replace the bound of a result by the optimum, which the minimum cut gives."""
    bound = max(result.bound, _least_objective(specification, result.lam) * specification.objective_unit)
    return replace(result, bound=bound, status=result.status.judged(bound == result.objective))


def _least_objective(specification: ModelSpecification, lam: Fraction) -> int:
    """Return the optimum by minimum cut, in integer units: the bound for programs whose duals are not read."""
    least = solve_min_cut(specification.instance, lam).objective / specification.objective_unit
    return least.numerator


def _best_multipliers(specification: ModelSpecification, solution: Solution) -> IntArray:
    p, _ = specification.weights
    if solution.row_duals is None:
        return equal_shares(specification.instance, p)
    return within_prices(specification.instance, p, multipliers(specification, solution.row_duals))
