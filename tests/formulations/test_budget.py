"""LP1 and the 0-1 program within a budget, against every pruning."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import load_reference
from strategies import instances

import formulations
from formulations.budget_results import nested_prunings
from formulations.solving import solve_budget_lp1
from ipforest import Pruning, Status, solve_budget
from ipforest.solvers.branch_and_bound import solve_budget_branch_and_bound
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.random_instances import random_instance

budgets = st.fractions(min_value=0, max_value=6, max_denominator=40)


def points(instance):
    return [instance.evaluate(pruning) for pruning in prunings(instance)]


def lower_hull(instance, budget):
    """Least expected error of all mixtures of two prunings within the budget: the relaxation's value."""
    within = [(error, cost) for error, cost in points(instance) if cost <= budget]
    beyond = [(error, cost) for error, cost in points(instance) if cost > budget]
    mixed = [low + (high - low) * (budget - cost) / (dear - cost) for low, cost in within for high, dear in beyond]
    return min(mixed + [error for error, _ in within])


def assert_sound(result, instance, budget):
    weights = [weight for weight, _ in result.mixture]
    assert sum(weights) == 1
    assert min(weights) > 0
    assert len(weights) <= 2
    values = [instance.evaluate(pruning) for _, pruning in result.mixture]
    assert result.mixture_error == sum(w * error for w, (error, _) in zip(weights, values, strict=True))
    assert result.mixture_cost == sum(w * cost for w, (_, cost) in zip(weights, values, strict=True)) <= budget
    if len(weights) == 2:
        small, large = (pruning.kept for _, pruning in result.mixture)
        assert np.all(small <= large)
        assert result.mixture_cost == budget
    assert instance.evaluate(result.pruning) == (result.error, result.cost)
    assert result.cost <= budget == result.budget


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(instance=instances(), budget=budgets)
def test_lp1_is_the_lower_hull_of_all_prunings(instance, budget):
    result = solve_budget_lp1(instance, budget)
    assert_sound(result, instance, budget)
    assert result.mixture_error == result.bound == lower_hull(instance, budget)
    assert (result.status is Status.OPTIMAL) == (result.bound == result.error)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(instance=instances(), budget=budgets)
def test_branch_and_bound_is_the_best_pruning_within_the_budget(instance, budget):
    result = solve_budget_branch_and_bound(instance, budget)
    assert_sound(result, instance, budget)
    assert result.error == result.bound == min(error for error, cost in points(instance) if cost <= budget)
    assert result.status is Status.OPTIMAL


@settings(max_examples=40, deadline=None)
@given(instance=instances(), which=st.integers(0, 1000))
def test_at_the_cost_of_a_pruning_the_budget_is_met_exactly(instance, which):
    """Corollary 4.3 where it holds: budgets that breakpoints hit need no mixture."""
    candidates = points(instance)
    _, budget = candidates[which % len(candidates)]
    result = solve_budget_lp1(instance, budget)
    assert result.mixture_error == lower_hull(instance, budget)
    if len(result.mixture) == 1:
        assert result.error == result.bound
        assert result.status is Status.OPTIMAL


@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("relaxed", [False, True])
@given(instance=instances(max_internal=6), budget=budgets)
def test_pyomo_models_of_lp1(relaxed, instance, budget):
    result = formulations.solve(formulations.build("lp1", instance, budget=budget, relaxed=relaxed))
    assert_sound(result, instance, budget)
    if relaxed:
        assert result.bound == lower_hull(instance, budget)
    else:
        assert result.error == result.bound == min(error for error, cost in points(instance) if cost <= budget)


def test_between_breakpoints_the_integer_optimum_is_worse_than_the_mixture():
    """Corollary 4.3 fails: the relaxation's value 3/2 belongs to no pruning within the budget 4."""
    instance = load_reference("figure_1_ensemble").instance
    result = solve_budget(instance, 4, "lp1")
    assert [weight for weight, _ in result.mixture] == [Fraction(1, 2), Fraction(1, 2)]
    assert (result.bound, result.mixture_error, result.error) == (Fraction(3, 2), Fraction(3, 2), 2)
    assert result.status is Status.FEASIBLE
    assert "relaxation: error 1.5 at cost 4 (0.5 of 4 nodes, 0.5 of 5 nodes)" in result.summary()


def test_levels_of_a_fractional_point_are_nested_prunings():
    instance = load_reference("figure_1_ensemble").instance
    specification = formulations.specify("closure", instance, 1, relaxed=True)
    levels = nested_prunings(specification, np.array([0.75, 0.25, 0.75, 1e-16, 0.75 + 1e-15, 0, 0, 0]))
    kept = [np.flatnonzero(pruning.kept).tolist() for pruning in levels]
    assert kept == [[], [0, 2, 4], [0, 1, 2, 4]]


def test_a_budget_a_hair_below_a_pruning_is_kept_exactly():
    """Closer to the cost than the solver's tolerance: the pruning may cost no more than the budget all the same."""
    instance = load_reference("figure_1_ensemble").instance
    budget = 3 - Fraction(1, 10**12)
    for method, most in (("lp1", Fraction(11, 2)), ("mip", 4)):
        result = solve_budget(instance, budget, method)
        assert_sound(result, instance, budget)
        assert result.error <= most
        assert 2 < result.mixture_error <= 2 + Fraction(1, 10**9)
        assert result.bound == (4 if method == "mip" else result.mixture_error)


def test_no_time_leaves_an_honest_bound():
    instance = load_reference("figure_1_ensemble").instance
    for method in ("lp1", "mip"):
        result = solve_budget(instance, 4, method, time_limit=0)
        assert_sound(result, instance, 4)
        assert result.bound <= Fraction(3, 2)
        assert result.pruning == Pruning(result.pruning.kept)
        assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL, Status.FEASIBLE)


def test_a_gap_stops_the_search_and_is_reported():
    instance = load_reference("figure_1_ensemble").instance
    result = solve_budget(instance, 4, "mip", relative_gap=1.0)
    assert_sound(result, instance, 4)
    assert result.bound <= 2 <= result.error


@pytest.mark.parametrize("method", ["lp1", "mip"])
def test_a_negative_budget_is_refused(method):
    with pytest.raises(ValueError, match="budget: expected a number >= 0, got -1"):
        solve_budget(load_reference("figure_1_tree").instance, -1, method)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_prices_that_differ_by_10_to_the_12_leave_the_mixture_exact(seed):
    """A small budget buys 10^-12 of what is dear: lambda, the mixture and its cost are those of the hull."""
    rng = np.random.default_rng(seed)
    for _ in range(15):
        drawn = random_instance(rng)
        prices = rng.choice([1, 2, 3, 10**12, 7 * 10**11 + 1], size=drawn.n_units)
        instance = replace(drawn, acquisition_cost=prices[drawn.acquisition_unit])
        for budget in (Fraction(1, 2), Fraction(7, 2), instance.evaluate(instance.unpruned)[1] / 3):
            result, expected = solve_budget(instance, budget, "lp1"), solve_budget(instance, budget, "path")
            assert_sound(result, instance, budget)
            assert result.mixture_error == expected.mixture_error
            assert result.bound >= expected.bound
            if len(result.mixture) > 1:
                assert result.lam == expected.lam


@pytest.mark.parametrize("relaxed", [False, True])
def test_costs_beyond_the_integers_of_floats_are_refused(relaxed):
    """Rounded, the budget row could cut off what the budget allows: a bound that is none."""
    drawn = load_reference("figure_1_ensemble").instance
    instance = replace(drawn, acquisition_cost=np.full(drawn.n_acquisitions, 2**53 // drawn.n_acquisitions + 1))
    with pytest.raises(OverflowError, match=r"instance: expected total costs below 2\^53 units for lp1, got \d+; use"):
        formulations.build("lp1", instance, budget=1, relaxed=relaxed)
    nearly = replace(drawn, acquisition_cost=np.full(drawn.n_acquisitions, 2**53 // drawn.n_acquisitions - 1))
    budget = nearly.evaluate(nearly.unpruned)[1] / 2
    result = formulations.solve(formulations.build("lp1", nearly, budget=budget, relaxed=relaxed))
    assert_sound(result, nearly, budget)
