"""LP1: the mixture of two nested prunings that its relaxation is, and its 0-1 program as it is printed.

The budget method ``mip`` is in `ipforest.solvers.branch_and_bound`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import ceil, isfinite

import numpy as np

from formulations.arrays import linear_program
from formulations.exact_results import (
    INTEGRALITY_TOLERANCE,
    FloatArray,
    Solution,
    integral_pruning,
    kept_shares,
    multipliers,
    trusted_units,
    within_prices,
)
from formulations.highs import LinearSolver, run
from formulations.specification import ModelSpecification, specify
from ipforest.instance import PruningInstance
from ipforest.results import BudgetResult, Pruning, Status
from ipforest.solvers.tree_dp import equal_shares, lagrangian_bound

__all__ = ["budget_result", "nested_prunings", "solve_budget_lp1"]

LAMBDA_DENOMINATOR = 10**6
"""Any lambda gives a valid bound; the solver's float is replaced by a fraction that keeps integers small."""

Mixture = tuple[tuple[Fraction, Pruning], ...]


def solve_budget_lp1(
    instance: PruningInstance, budget: Fraction, solver: LinearSolver = "simplex", time_limit: float | None = None
) -> BudgetResult:
    """Solve LP1's relaxation and say what it is: a pruning, or a mixture of two (budget method ``lp1``).

    Source: optimal-pruning paper, Corollary 4.3, which overlooks the mixtures.

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    solver : {"simplex", "ipm"}
    time_limit : float, optional
        Seconds.

    Returns
    -------
    BudgetResult
        ``mixture`` meets the budget exactly unless the budget is larger than the best pruning needs; ``pruning`` is
        the best one within the budget that was met; ``bound`` is exact (see `budget_result`).

    Raises
    ------
    ValueError
        A negative budget. Any other can be kept: bare roots cost nothing.
    """
    specification = specify("lp1", instance, budget=budget, relaxed=True)
    return budget_result(specification, run(linear_program(specification), solver=solver, time_limit=time_limit), "lp1")


def budget_result(
    specification: ModelSpecification, solution: Solution, method: str, time_limit: float | None = None
) -> BudgetResult:
    r"""Turn a solution of LP1, relaxed or 0-1, into an exact result.

    The level sets {h : x_h >= theta} of an optimal point are nested prunings, all of them optimal at the budget's price
    lambda. The two whose costs enclose the budget B are mixed with exact weights. Their slope is lambda, and with the
    rounded duals as beta

    .. math:: \min_{\text{prunings within } B} \mathrm{error} \ge L(\lambda, \beta) - \lambda B,

    L being the Lagrangian bound over the trees, is exact and meets the mixture's error.
    """
    if specification.relaxed:
        return _mixture_result(specification, solution, method)
    return _integer_result(specification, solution, method, time_limit)


def nested_prunings(specification: ModelSpecification, values: FloatArray) -> list[Pruning]:
    """Cut a fractional solution at each of its levels: nested prunings, from the bare roots up."""
    shares = _falling_shares(specification.instance, kept_shares(specification, values))
    levels = np.unique(shares)
    ends_a_level = np.diff(levels, prepend=-np.inf) > INTEGRALITY_TOLERANCE
    thresholds = [level for level in levels[ends_a_level] if level > INTEGRALITY_TOLERANCE]
    return [specification.instance.roots_only, *(Pruning(shares >= threshold) for threshold in reversed(thresholds))]


def _falling_shares(instance: PruningInstance, shares: FloatArray) -> FloatArray:
    """Undo the solver's rounding where a node's share exceeds its parent's."""
    has_parent = instance.parent >= 0
    while True:
        above = np.where(has_parent, shares[instance.parent], 1.0)
        if np.all(shares <= above):
            return shares
        shares = np.minimum(shares, above)


def _mixture_result(specification: ModelSpecification, solution: Solution, method: str) -> BudgetResult:
    instance, budget = specification.instance, _budget(specification)
    found = [instance.roots_only] if solution.values is None else nested_prunings(specification, solution.values)
    mixture = _best_mixture(instance, found, budget)
    error, cost = _expectation(instance, mixture)
    prices = {Fraction(0), _dual_price(solution), _slope(instance, mixture)}
    bounds, met = zip(*(_bound_at(specification, solution, price) for price in sorted(prices)), strict=True)
    pruning = _best_within(instance, [*found, *met], budget)
    pruning_error, pruning_cost = instance.evaluate(pruning)
    bound = min(error, pruning_error, _next_error(instance, max(bounds)))
    return BudgetResult(
        status=_status(solution, bound == pruning_error),
        budget=budget,
        pruning=pruning,
        error=pruning_error,
        cost=pruning_cost,
        bound=bound,
        mixture=mixture,
        mixture_error=error,
        mixture_cost=cost,
        runtime_s=solution.runtime_s,
        method=method,
    )


def _integer_result(
    specification: ModelSpecification, solution: Solution, method: str, time_limit: float | None
) -> BudgetResult:
    instance, budget = specification.instance, _budget(specification)
    relaxation = solve_budget_lp1(instance, budget, time_limit=time_limit)
    found = [relaxation.pruning]
    if solution.values is not None:
        found.append(integral_pruning(specification, solution.values))
    pruning = _best_within(instance, found, budget)
    error, cost = instance.evaluate(pruning)
    bound = relaxation.bound
    if isfinite(solution.bound):
        trusted = trusted_units(solution) * instance.error_unit
        bound = max(bound, min(error, _next_error(instance, trusted)))
    return BudgetResult(
        status=_status(solution, bound == error),
        budget=budget,
        pruning=pruning,
        error=error,
        cost=cost,
        bound=bound,
        mixture=relaxation.mixture,
        mixture_error=relaxation.mixture_error,
        mixture_cost=relaxation.mixture_cost,
        runtime_s=solution.runtime_s + relaxation.runtime_s,
        method=method,
    )


def _budget(specification: ModelSpecification) -> Fraction:
    if specification.budget is None:
        raise ValueError(f"specification: expected one within a budget, got {specification.formulation} at a lambda")
    return specification.budget


def _best_mixture(instance: PruningInstance, found: Sequence[Pruning], budget: Fraction) -> Mixture:
    """Mix two prunings, or take one, so that the expected cost is within the budget and the expected error least."""
    cheap = [pruning for pruning in found if instance.evaluate(pruning)[1] <= budget]
    dear = [pruning for pruning in found if instance.evaluate(pruning)[1] > budget]
    mixtures: list[Mixture] = [((Fraction(1), pruning),) for pruning in cheap]
    for low, high in product(cheap, dear):
        low_cost, high_cost = instance.evaluate(low)[1], instance.evaluate(high)[1]
        weight = (budget - low_cost) / (high_cost - low_cost)
        if weight > 0:
            mixtures.append(((1 - weight, low), (weight, high)))
    return min(mixtures, key=lambda mixture: (_expectation(instance, mixture), len(mixture)))


def _expectation(instance: PruningInstance, mixture: Mixture) -> tuple[Fraction, Fraction]:
    """Error and cost of a mixture on average."""
    points = [(weight, *instance.evaluate(pruning)) for weight, pruning in mixture]
    error = sum((weight * error for weight, error, _ in points), Fraction(0))
    cost = sum((weight * cost for weight, _, cost in points), Fraction(0))
    return error, cost


def _best_within(instance: PruningInstance, found: Sequence[Pruning], budget: Fraction) -> Pruning:
    within = [pruning for pruning in found if instance.evaluate(pruning)[1] <= budget]
    return min(within, key=instance.evaluate)


def _slope(instance: PruningInstance, mixture: Mixture) -> Fraction:
    """Errors that a unit of cost saves between the two prunings of a mixture, 0 for one pruning."""
    if len(mixture) == 1:
        return Fraction(0)
    (_, low), (_, high) = mixture
    saved = instance.integer_error(low) - instance.integer_error(high)
    return Fraction(saved, instance.integer_cost(high) - instance.integer_cost(low))


def _dual_price(solution: Solution) -> Fraction:
    """Price of the budget row, the last one: lambda in integer units."""
    if solution.row_duals is None:
        return Fraction(0)
    return Fraction(max(0.0, -float(solution.row_duals[-1]))).limit_denominator(LAMBDA_DENOMINATOR)


def _bound_at(specification: ModelSpecification, solution: Solution, price: Fraction) -> tuple[Fraction, Pruning]:
    """Bound the error within the budget at one price of cost; any price >= 0 is valid."""
    instance = specification.instance
    p, q = price.numerator, price.denominator
    if solution.row_duals is None:
        beta = equal_shares(instance, p)
    else:
        beta = within_prices(instance, p, multipliers(specification, solution.row_duals, q))
    value, pruning = lagrangian_bound(instance, p, q, beta)
    spent = _budget(specification) / instance.cost_unit
    return (Fraction(value, q) - price * spent) * instance.error_unit, pruning


def _next_error(instance: PruningInstance, bound: Fraction) -> Fraction:
    """Raise a bound to the least value that a pruning's error can take."""
    step = int(np.gcd.reduce(instance.gain, initial=0)) * instance.error_unit
    start = instance.error_unit * instance.integer_error(instance.roots_only)
    return start + ceil((bound - start) / step) * step if step else start


def _status(solution: Solution, proven: bool) -> Status:
    if proven:
        return Status.OPTIMAL
    return Status.FEASIBLE if solution.status is Status.OPTIMAL else solution.status
