"""The budget solvers pass their checks; ones that are wrong in one way fail the check of that name."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ipforest import Pruning
from ipforest.solvers import BUDGET_SOLVERS, SolverInfo, register_solver, solve_budget
from ipforest.testing import check_solver, parametrize_with_checks
from proofs.crosschecks.brute_force import prunings


def best(instance, budget):
    return solve_budget(instance, budget, "mip")


def called_optimal(instance, budget, pruning):
    error, cost = instance.evaluate(pruning)
    relaxed = solve_budget(instance, budget, "path")
    return relaxed.improved(pruning, (error, cost), error, method="", runtime_s=0)


def keeps_an_orphan(instance, budget):
    if instance.evaluate(instance.unpruned)[1] > budget:
        return instance.roots_only
    return Pruning(np.arange(instance.n_internal) == instance.n_internal - 1)


def spends_too_much(instance, budget):
    return instance.unpruned


def in_floats(instance, budget):
    """Take the last of the prunings within the budget and a tolerance, as tools of linear programs do."""
    if instance.n_internal > 9:
        return best(instance, budget)
    errors = {pruning: instance.evaluate(pruning) for pruning in prunings(instance)}
    affordable = [one for one, (_, cost) in errors.items() if float(cost) <= float(budget) * (1 + 1e-9)]
    return min(affordable, key=lambda one: errors[one])


def leaves_a_unit(instance, budget):
    """Spend less than all, as of a row that is strict."""
    return best(instance, max(budget - instance.cost_unit, 0)).pruning


def counts_budgets_in_64_bits(instance, budget):
    np.int64(budget // instance.cost_unit)
    return best(instance, budget)


def states_another_cost(instance, budget):
    true = best(instance, budget)
    return replace(true, cost=true.cost / 2 if true.cost else true.cost - 1)


def mixes_what_it_does_not_say(instance, budget):
    true = best(instance, budget)
    return replace(true, mixture=((Fraction(1), instance.unpruned),))


def bounds_too_high(instance, budget):
    return called_optimal(instance, budget, solve_budget(instance, budget, "path").pruning)


def believes_in_greed(instance, budget):
    return called_optimal(instance, budget, solve_budget(instance, budget, "greedy").pruning)


def gives_no_bound(instance, budget):
    return best(instance, budget).pruning


def fills_greedily(instance, budget):
    return solve_budget(instance, budget, "path")


def right_where(holds):
    """Make a solver that prunes to the roots where a condition does not hold."""
    return lambda instance, budget: best(instance, budget) if holds(instance, budget) else instance.roots_only


class Remembering:
    """Remembers answers by the budget, errors and prices, which do not tell all instances apart."""

    def __init__(self):
        self.known = {}

    def __call__(self, instance, budget):
        key = budget, instance.errors.tobytes(), instance.acquisition_cost.tobytes()
        return self.known.setdefault(key, best(instance, budget))


def knows_one_place_of_each_purchase(instance, budget):
    if not instance.in_rounds:
        return best(instance, budget)
    last = {int(j): place for place, j in enumerate(instance.indices)}
    kept = np.isin(np.arange(instance.n_triples), list(last.values()))
    ends = np.concatenate([[0], np.cumsum(kept)])[instance.indptr]
    return best(replace(instance, indptr=ends, indices=instance.indices[kept]), budget).pruning


def refuses_delayed_tests(instance, budget):
    if instance.in_rounds:
        raise ValueError("instance: expected no delayed tests")
    return best(instance, budget)


def spoils_the_instance(instance, budget):
    instance.acquisition_cost.setflags(write=True)
    instance.acquisition_cost[:] = 0
    return instance.roots_only


def prints(instance, budget):
    print("found it")
    return instance.roots_only


def tries_again_after_an_interrupt(instance, budget):
    while True:
        try:
            return best(instance, budget).pruning
        except KeyboardInterrupt:
            continue


def calls_what_it_has_optimal(instance, budget, time_limit=None):
    return called_optimal(instance, budget, instance.roots_only) if time_limit is not None else best(instance, budget)


@parametrize_with_checks(BUDGET_SOLVERS)
def test_the_solvers_pass(check):
    check()


EXACT = {
    "no bound": gives_no_bound,
    "greedy": fills_greedily,
    "greedy and optimal": believes_in_greed,
    "few trees": right_where(lambda instance, budget: instance.n_trees < 7),
    "few examples": right_where(lambda instance, budget: instance.n_examples < 7),
    "shallow": right_where(lambda instance, budget: instance.node_depth.max(initial=0) < 60),
    "at costs only": right_where(lambda instance, budget: budget == budget.limit_denominator(10**9)),
    "small budgets": right_where(lambda instance, budget: budget < 10**9),
    "strict": leaves_a_unit,
}
"""Solvers that say they are exact, and are not."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "at costs only" else pytest.mark.slow) for name in EXACT]
)
def test_what_is_not_optimal_is_found(name):
    info = SolverInfo(name, EXACT[name], exact=True)
    with pytest.raises((AssertionError, ValueError), match="the optimum is") as raised:
        dict(check_solver(info, "budget"))["exact_is_optimal"]()
    assert "budget" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    ("wrong", "check", "message"),
    [
        (keeps_an_orphan, "result_is_its_pruning", "expected the parent of each kept node"),
        (spends_too_much, "result_is_its_pruning", "expected a pruning that costs at most the budget"),
        (in_floats, "result_is_its_pruning", "expected a pruning that costs at most the budget"),
        (counts_budgets_in_64_bits, "result_is_its_pruning", "too large|too big"),
        (states_another_cost, "result_is_its_pruning", "says that the cost of its pruning is"),
        (mixes_what_it_does_not_say, "result_is_its_pruning", "says that the mixture_"),
        (bounds_too_high, "bound_is_valid", "above the optimum"),
        (believes_in_greed, "bound_is_valid", "above the optimum"),
        (SolverInfo("remembers", Remembering(), exact=True), "another_instance_is_not_remembered", "in one thing"),
        (
            SolverInfo("last place", knows_one_place_of_each_purchase, exact=True),
            "delayed_tests_are_right_or_refused",
            "expected a pruning that costs at most the budget",
        ),
        (spoils_the_instance, "is_deterministic", "the instance was changed"),
        (prints, "global_state_is_left_alone", "belongs to all: the standard output"),
        (tries_again_after_an_interrupt, "interrupt_is_passed_on", "goes on after an interrupt"),
        (calls_what_it_has_optimal, "end_of_time_leaves_a_result", "above the optimum"),
    ],
    ids=lambda part: part if isinstance(part, str) else getattr(part, "__name__", getattr(part, "name", "")),
)
@pytest.mark.slow
def test_a_wrong_solver_fails_its_check(wrong, check, message):
    with pytest.raises((AssertionError, ValueError, OverflowError), match=message):
        dict(check_solver(wrong, "budget"))[check]()


def test_a_solver_may_refuse_delayed_tests():
    info = SolverInfo("plain", refuses_delayed_tests, exact=True)
    dict(check_solver(info, "budget"))["delayed_tests_are_right_or_refused"]()


def test_a_solver_without_promises_passes():
    for _, check in check_solver(lambda instance, budget: instance.roots_only, "budget"):
        check()


def test_what_is_registered_within_a_budget_is_asked_within_budgets():
    register_solver("thrifty", takes="budget")(spends_too_much)
    try:
        for known in ("thrifty", BUDGET_SOLVERS["thrifty"], spends_too_much):
            with pytest.raises(ValueError, match="costs at most the budget"):
                dict(check_solver(known))["result_is_its_pruning"]()
    finally:
        BUDGET_SOLVERS.remove("thrifty")
    with pytest.raises(ValueError, match="takes: expected lam or budget, got 'cost'"):
        next(check_solver("mip", "cost"))
    with pytest.raises(ValueError, match="method: expected one of path, greedy, mip"):
        next(check_solver("min-cut", "budget"))
    with pytest.raises(TypeError, match="expected a function of an instance and the budget"):
        next(check_solver(lambda instance: instance.roots_only, "budget"))
