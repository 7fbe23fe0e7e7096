"""From a solution of LP1 to an exact result: a pruning, or the mixture of two nested ones that its relaxation is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isfinite

import numpy as np

from formulations.exact_results import INTEGRALITY_TOLERANCE, integral_pruning, kept_shares, multipliers
from formulations.specification import ModelSpecification
from ipforest._arrays import FloatArray
from ipforest.instance import PruningInstance
from ipforest.results import BudgetResult, Mixture, Pruning
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.linear_program import Solution
from ipforest.solvers.tree_dp import equal_shares, lagrangian_bound, within_prices

__all__ = ["integer_result", "mixture_result", "nested_prunings"]

LAMBDA_DENOMINATOR = 10**6
"""Any lambda gives a valid bound; the solver's float is replaced by a fraction that keeps integers small."""


def mixture_result(specification: ModelSpecification, solution: Solution, method: str) -> BudgetResult:
    r"""Turn a solution of LP1's relaxation into an exact result.

    The level sets {h : x_h >= theta} of an optimal point are nested prunings, all of them optimal at the budget's price
    lambda. The two whose costs enclose the budget B are mixed with exact weights. Their slope is lambda, and with the
    rounded duals as beta

    .. math:: \min_{\text{prunings within } B} \mathrm{error} \ge L(\lambda, \beta) - \lambda B,

    L being the Lagrangian bound over the trees, is exact and meets the mixture's error.
    """
    instance, budget = specification.instance, _budget(specification)
    found = [instance.roots_only] if solution.values is None else nested_prunings(specification, solution.values)
    mixture = _best_mixture(instance, found, budget)
    mixture_error, mixture_cost = _expectation(instance, mixture)
    prices = {Fraction(0), _dual_price(solution), _slope(instance, mixture)}
    bounds = {price: _bound_at(specification, solution, price) for price in sorted(prices)}
    lam, (best_bound, _) = max(bounds.items(), key=lambda item: item[1][0])
    pruning = _best_within(instance, [*found, *(met for _, met in bounds.values())], budget)
    error, cost = instance.evaluate(pruning)
    attainable = Attainable.errors(instance).at_least(best_bound / instance.error_unit) * instance.error_unit
    bound = min(mixture_error, error, attainable)
    return BudgetResult(
        status=solution.status.judged(bound == error),
        budget=budget,
        pruning=pruning,
        error=error,
        cost=cost,
        bound=bound,
        lam=lam * instance.error_unit / instance.cost_unit,
        mixture=mixture,
        mixture_error=mixture_error,
        mixture_cost=mixture_cost,
        runtime_s=solution.runtime_s,
        method=method,
    )


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
    if isfinite(solution.bound):
        attainable = Attainable.errors(instance).at_least(solution.integer_bound) * instance.error_unit
        bound = max(bound, min(error, attainable))
    return replace(
        relaxation,
        status=solution.status.judged(bound == error),
        pruning=pruning,
        error=error,
        cost=cost,
        bound=bound,
        runtime_s=solution.runtime_s + relaxation.runtime_s,
        method=method,
    )


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
