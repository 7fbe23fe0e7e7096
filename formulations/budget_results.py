"""From a solution of LP1 to an exact result: a pruning, or the mixture of two nested ones that its relaxation is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import isfinite, sqrt

import numpy as np

from formulations.arrays import linear_program
from formulations.base import ModelSpecification
from formulations.exact_results import integral_pruning, kept_shares, multipliers, pruning_result
from formulations.specification import specify
from ipforest._internal.arrays import FloatArray
from ipforest._internal.rational import coarsened, exact_sum
from ipforest.instance import PruningInstance
from ipforest.results import BudgetResult, Mixture, Pruning, Status
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import Solution
from ipforest.solvers.tree_dp import equal_shares, lagrangian_bound, within_prices

__all__ = ["integer_result", "mixture_result", "nested_prunings"]

LEVEL_TOLERANCE = 1e-14
"""Levels nearer to each other are one; between prices that differ by 10^12 so small a share can be bought."""
FLOAT_RESOLUTION = 1e15
"""The solver's float stands for the only p / q near it of p q below this."""
SOLVER_TOLERANCE = 1e-6
"""How far the solver's point may miss a row, in its largest coefficient, or the least error, in that of bare roots."""
MAX_SUM = 2**61
"""Any price gives a valid bound; where scaled errors and costs would exceed this, it is rounded."""


def mixture_result(specification: ModelSpecification, solution: Solution, method: str) -> BudgetResult:
    r"""Turn a solution of LP1's relaxation into an exact result.

    The level sets {h : x_h >= theta} of an optimal point are nested prunings, all of them optimal at the budget's price
    lambda. The two whose costs enclose the budget B are mixed with exact weights. Their slope is lambda, and with the
    rounded duals as beta

    .. math:: \min_{\text{prunings within } B} \mathrm{error} \ge L(\lambda, \beta) - \lambda B,

    L being the Lagrangian bound over the trees, is exact and meets the mixture's error. Where the solver's floats do
    not tell the best mixture from others (prices that differ by 10^12), its ends are refined until it does; not so
    where its point breaks a row or is not optimal, as that of a wrong program would.
    """
    instance, budget = specification.instance, _budget(specification)
    found = [instance.roots_only] if solution.values is None else nested_prunings(specification, solution.values)
    mixture = _best_mixture(instance, found, budget)
    slope = _slope(instance, mixture)
    prices = {_in_range(instance, price) for price in (Fraction(0), _dual_price(solution), slope)}
    bounds = {price: _bound_at(specification, solution, price) for price in sorted(prices)}
    price, (relaxed, _) = max(bounds.items(), key=lambda item: item[1][0])
    found += [met for _, met in bounds.values()]
    if solution.status is Status.OPTIMAL and relaxed < _expectation(instance, mixture)[0]:
        refined = _refined(instance, budget, mixture, bounds[Fraction(0)][1])
        if refined is not None:
            slope, bound_there, ends = refined
            of_ends = _best_mixture(instance, ends, budget)
            if _is_optimum_of(specification, solution, of_ends):
                price, relaxed, mixture = slope, bound_there, of_ends
                found += ends
    pruning = _best_within(instance, found, budget)
    error, cost = instance.evaluate(pruning)
    if error < _expectation(instance, mixture)[0]:
        mixture = ((Fraction(1), pruning),)
    mixture_error, mixture_cost = _expectation(instance, mixture)
    attainable = Attainable.errors(instance).at_least(relaxed / instance.error_unit) * instance.error_unit
    bound = min(mixture_error, error, attainable)
    return BudgetResult(
        status=solution.status.judged(bound == error),
        budget=budget,
        pruning=pruning,
        error=error,
        cost=cost,
        bound=bound,
        lam=price * instance.error_unit / instance.cost_unit,
        mixture=mixture,
        mixture_error=mixture_error,
        mixture_cost=mixture_cost,
        runtime_s=solution.runtime_s,
        method=method,
    )


def _refined(
    instance: PruningInstance, budget: Fraction, mixture: Mixture, least_error: Pruning
) -> tuple[Fraction, Fraction, list[Pruning]] | None:
    """Solve at the slope of two prunings that enclose the budget until none lies below their line (Newton's method).

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    mixture : Mixture
    least_error : Pruning
        The expensive end where the mixture is one pruning.

    Returns
    -------
    price : Fraction
        The last slope, in integer units.
    bound : Fraction
        On the error within the budget.
    ends : list of Pruning
        Two nested prunings whose costs enclose the budget, or the one of the least error if it is within the budget.
        None instead of all three where scaled by a slope errors and costs outgrow 64 bits.
    """
    cheap, expensive = mixture[0][1], mixture[1][1] if len(mixture) == 2 else least_error
    if instance.evaluate(expensive)[1] <= budget:
        return Fraction(0), instance.evaluate(expensive)[0], [expensive]
    while True:
        price = _slope_between(instance, cheap, expensive)
        if _in_range(instance, price) != price:
            return None
        lam = price * instance.error_unit / instance.cost_unit
        at_slope = specify("closure", instance, lam, relaxed=True)
        met = pruning_result(at_slope, run(linear_program(at_slope)), "highs-lp")
        if met.objective >= instance.objective(cheap, lam):
            ends = [Pruning(cheap.kept & expensive.kept), Pruning(cheap.kept | expensive.kept)]
            return price, met.bound - lam * budget, ends
        if met.cost <= budget:
            cheap = met.pruning
        else:
            expensive = met.pruning


def _is_optimum_of(specification: ModelSpecification, solution: Solution, mixture: Mixture) -> bool:
    """Tell whether the solver's point keeps the rows and has no larger error than a mixture, within tolerances."""
    if solution.values is None:
        return False
    instance, program = specification.instance, linear_program(specification)
    scale = np.maximum(abs(program.A).max(axis=1).toarray().ravel(), 1.0)
    activity = program.A @ solution.values
    missed = np.maximum(activity - program.row_upper, program.row_lower - activity) / scale
    above = solution.objective - float(_expectation(instance, mixture)[0] / instance.error_unit)
    of_roots = instance.integer_error(instance.roots_only)
    return bool(missed.max() <= SOLVER_TOLERANCE and above <= SOLVER_TOLERANCE * of_roots)


def integer_result(
    specification: ModelSpecification, solution: Solution, relaxation: BudgetResult, method: str
) -> BudgetResult:
    """Turn a solution of LP1's 0-1 program into an exact result, with what its relaxation has found and proven."""
    instance, budget = specification.instance, _budget(specification)
    found = [relaxation.pruning]
    if solution.values is not None:
        found.append(integral_pruning(specification, solution.values))
    pruning = _best_within(instance, found, budget)
    error, cost = instance.evaluate(pruning)
    bound = relaxation.bound
    if isfinite(solution.bound) and specification.formulation.integer_units:
        attainable = Attainable.errors(instance).at_least(solution.integer_bound) * instance.error_unit
        bound = max(bound, min(error, attainable))
    return relaxation.improved(
        pruning,
        (error, cost),
        bound,
        ended=solution.status,
        runtime_s=solution.runtime_s + relaxation.runtime_s,
        method=method,
    )


def nested_prunings(specification: ModelSpecification, values: FloatArray) -> list[Pruning]:
    """Cut a fractional solution at each of its levels: nested prunings, from the bare roots up."""
    shares = _falling_shares(specification.instance, kept_shares(specification, values))
    levels = np.unique(shares)
    ends_a_level = np.diff(levels, prepend=-np.inf) > LEVEL_TOLERANCE
    thresholds = [level for level in levels[ends_a_level] if level > LEVEL_TOLERANCE]
    return [specification.instance.roots_only, *(Pruning(shares >= threshold) for threshold in reversed(thresholds))]


def _falling_shares(instance: PruningInstance, shares: FloatArray) -> FloatArray:
    """Undo the solver's rounding where a node's share exceeds its parent's."""
    has_parent = instance.parent >= 0
    while True:
        above = np.where(has_parent, shares[instance.parent], 1.0)
        if np.all(shares <= above):
            return shares
        shares = np.minimum(shares, above)


def _budget(specification: ModelSpecification) -> Fraction:
    if specification.budget is None:
        raise ValueError(f"specification: expected one within a budget, got {specification.formulation} at a lambda")
    return specification.budget


def _best_mixture(instance: PruningInstance, found: Sequence[Pruning], budget: Fraction) -> Mixture:
    """Mix two prunings, or take one, so that the expected cost is within the budget and the expected error least."""
    cheap = [pruning for pruning in found if instance.evaluate(pruning)[1] <= budget]
    expensive = [pruning for pruning in found if instance.evaluate(pruning)[1] > budget]
    mixtures: list[Mixture] = [((Fraction(1), pruning),) for pruning in cheap]
    for low, high in product(cheap, expensive):
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
    return _slope_between(instance, low, high)


def _slope_between(instance: PruningInstance, low: Pruning, high: Pruning) -> Fraction:
    """Errors that a unit of cost saves from a pruning to one that costs more."""
    saved = instance.integer_error(low) - instance.integer_error(high)
    return Fraction(saved, instance.integer_cost(high) - instance.integer_cost(low))


def _dual_price(solution: Solution) -> Fraction:
    """Price of the budget row, the last one: lambda in integer units."""
    if solution.row_duals is None:
        return Fraction(0)
    dual = max(0.0, -float(solution.row_duals[-1]))
    if dual * FLOAT_RESOLUTION < 1:
        return Fraction(0)
    return Fraction(dual).limit_denominator(max(1, int(sqrt(FLOAT_RESOLUTION / dual))))


def _in_range(instance: PruningInstance, price: Fraction) -> Fraction:
    """Return the price, or the nearest one at which the Lagrangian bound fits 64 bits."""
    return coarsened(price, exact_sum(instance.errors), instance.total_cost, MAX_SUM)


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
