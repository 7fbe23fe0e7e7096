"""Branch and bound within a budget: every step against all prunings, the whole on fitted forests."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from strategies import instances, lambdas

from formulations.arrays import linear_program
from formulations.budget_results import integer_result
from formulations.solving import solve_budget_lp1
from formulations.specification import specify
from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, Status, prune_path, solve, solve_budget
from ipforest.solvers.branch_and_bound import solve_budget_branch_and_bound
from ipforest.solvers.fixing import fix, losses
from ipforest.solvers.highs import run
from ipforest.solvers.remainder import Remainder
from ipforest.solvers.straddle import straddle
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.random_instances import random_instance


def budget_levels(instance, costs):
    """Every cost that a pruning has, a hair less, and between."""
    levels = sorted(set(costs))
    between = [(low + high) / 2 for low, high in pairwise(levels)]
    return [*levels, *(cost - Fraction(1, 10**9) for cost in levels[1:]), *between, levels[-1] + 1]


def example_costs(instance, pruning):
    """What each example pays, in the unit of the prices."""
    paid = np.zeros(instance.n_examples, dtype=object)
    np.add.at(paid, instance.acquisition_example, instance.acquisition_cost * instance.acquired(pruning))
    return (paid * instance.cost_unit * instance.n_examples).tolist()


def closed_split(instance, keep, drop):
    """Read two bit masks as nodes kept for good, with their ancestors, and dropped, with their descendants."""
    kept = np.array([bool(keep >> node & 1) for node in range(instance.n_internal)], dtype=bool)
    dropped = np.array([bool(drop >> node & 1) for node in range(instance.n_internal)], dtype=bool)
    for node in range(instance.n_internal - 1, -1, -1):
        if kept[node] and instance.parent[node] >= 0:
            kept[instance.parent[node]] = True
    dropped &= ~kept
    for node in range(instance.n_internal):
        dropped[node] |= instance.parent[node] >= 0 and dropped[instance.parent[node]]
    return kept, dropped


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_every_budget_level_of_random_instances(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        instance = random_instance(rng, max_internal=8)
        points = [instance.evaluate(pruning) for pruning in prunings(instance)]
        levels = budget_levels(instance, [cost for _, cost in points])
        for budget in rng.permutation(np.array(levels, dtype=object))[:12]:
            result = solve_budget_branch_and_bound(instance, budget)
            best = min(error for error, cost in points if cost <= budget)
            assert (result.status, result.error, result.bound) == (Status.OPTIMAL, best, best)
            assert instance.evaluate(result.pruning) == (result.error, result.cost)
            assert result.cost <= budget


@pytest.mark.parametrize("seed", [1, 63, 79])
def test_it_branches_on_nodes_that_buy_nothing_new_but_cost_a_test(seed):
    rng = np.random.default_rng(seed)
    bought = random_instance(rng, max_internal=10)
    instance = replace(bought, split_cost=rng.integers(1, 30, bought.n_internal), errors=bought.errors * 20)
    points = [instance.evaluate(pruning) for pruning in prunings(instance)]
    for budget in sorted({cost for _, cost in points}):
        result = solve_budget_branch_and_bound(instance, budget)
        assert result.error == result.bound == min(error for error, cost in points if cost <= budget)


def stumps_and_a_leaf(gains, costs, leaf_errors):
    """One stump per gain, that buys a unit of its own for the only example; and a tree that is one leaf."""
    n = len(gains)
    return PruningInstance(
        tree_offsets=np.array([*range(0, 3 * n + 1, 3), 3 * n + 1]),
        node_parent=np.array([parent for t in range(n) for parent in (-1, 3 * t, 3 * t)] + [-1]),
        errors=np.array([errors for gain in gains for errors in (gain, 0, 0)] + [leaf_errors]),
        indptr=np.arange(n + 1),
        indices=np.arange(n),
        acquisition_unit=np.arange(n),
        acquisition_example=np.zeros(n, dtype=int),
        acquisition_cost=np.array(costs),
        split_cost=np.zeros(n, dtype=int),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=n,
        n_examples=1,
    )


@pytest.mark.parametrize("leaf_errors", [0, 1, 5, 100])
def test_the_errors_of_a_bare_leaf_count_once(leaf_errors):
    instance = stumps_and_a_leaf([29, 15, 21, 46, 41, 51], [27, 15, 20, 42, 40, 50], leaf_errors)
    assert solve_budget(instance, 128, "greedy").error == 72 + leaf_errors
    result = solve_budget(instance, 128, "mip")
    assert (result.status, result.error, result.bound) == (Status.OPTIMAL, 70 + leaf_errors, 70 + leaf_errors)


def test_where_greed_fails_the_program_as_printed_agrees():
    """Two roads to the optimum: branch and bound on what is bought, and HiGHS on the 0-1 program."""
    instance = stumps_and_a_leaf([29, 15, 21, 46, 41, 51], [27, 15, 20, 42, 40, 50], 5)
    n_greed_failed = 0
    for budget in range(100, 150, 4):
        result = solve_budget(instance, budget, "mip")
        printed = run(linear_program(specify("lp1", instance, budget=result.budget)))
        assert result.status is Status.OPTIMAL
        assert round(printed.objective) == result.error == result.bound
        n_greed_failed += solve_budget(instance, budget, "greedy").error > result.error
    assert n_greed_failed > 0


def on_two_branches():
    """One tree, a free root; its only example needs a unit of price 1 at each of the two nodes below."""
    return PruningInstance(
        tree_offsets=np.array([0, 7]),
        node_parent=np.array([-1, 0, 0, 1, 1, 2, 2]),
        errors=np.array([9, 2, 5, 0, 0, 0, 0]),
        indptr=np.array([0, 0, 1, 2]),
        indices=np.array([0, 1]),
        acquisition_unit=np.array([0, 1]),
        acquisition_example=np.array([0, 0]),
        acquisition_cost=np.array([1, 1]),
        split_cost=np.zeros(3, dtype=int),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=2,
        n_examples=1,
    )


@pytest.mark.parametrize("method", ["mip", "greedy"])
def test_a_cap_needs_examples_that_take_one_path_through_a_tree(method):
    """Needs on two branches do not add up along a path; to add them up all the same gave 5 in place of 2."""
    instance = on_two_branches()
    assert solve_budget(instance, 2, method).error == 0
    with pytest.raises(
        ValueError, match=r"max_cost: .* example 0, which needs unit 1 at node 2 and others off the path"
    ):
        solve_budget(instance, 2, method, max_cost=1)


@pytest.mark.parametrize("seed", range(3))
def test_without_routing_a_cap_binds_as_with_it(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        routed = random_instance(rng, max_internal=8)
        if routed.split_cost.any():
            continue
        instance = replace(routed, example_leaf=None)
        points = [instance.evaluate(one) for one in prunings(instance)]
        cap = max(example_costs(instance, instance.unpruned)) / 2
        budget = points[rng.integers(len(points))][1]
        with_routing, without = (solve_budget(one, budget, "mip", max_cost=cap) for one in (routed, instance))
        assert without.error == with_routing.error


@pytest.mark.parametrize("seed", range(3))
def test_a_cap_binds_every_example(seed):
    rng = np.random.default_rng(seed)
    n_binding = 0
    for _ in range(40):
        instance = random_instance(rng, max_internal=8)
        if instance.split_cost.any():
            continue
        points = [(*instance.evaluate(one), max(example_costs(instance, one))) for one in prunings(instance)]
        budget, cap = (points[rng.integers(len(points))][place] for place in (1, 2))
        result = solve_budget_branch_and_bound(instance, budget, max_cost=cap)
        best = min(error for error, cost, dearest in points if cost <= budget and dearest <= cap)
        assert (result.status, result.error, result.bound) == (Status.OPTIMAL, best, best)
        assert max(example_costs(instance, result.pruning)) <= cap
        assert instance.evaluate(result.pruning) == (result.error, result.cost)
        n_binding += best > min(error for error, cost, _ in points if cost <= budget)
    assert n_binding > 0


@settings(max_examples=60, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_losses_are_below_what_each_pruning_loses(instance, lam):
    flow = solve(instance, lam).flow
    proven = losses(instance, flow)
    for pruning in prunings(instance):
        value = flow.q * instance.integer_error(pruning) + flow.p * instance.integer_cost(pruning)
        excess = np.where(pruning.kept, proven.if_kept, proven.if_dropped)
        assert value - proven.optimum >= excess.max(initial=0)


@settings(max_examples=60, deadline=None)
@given(
    instance=instances(),
    several=st.lists(lambdas, min_size=1, max_size=3),
    error=st.integers(0, 30),
    cost=st.integers(0, 20),
)
def test_fixed_nodes_are_those_of_all_better_prunings(instance, several, error, cost):
    fixed = fix(instance, [solve(instance, lam).flow for lam in several], error, cost)
    better = [
        pruning.kept
        for pruning in prunings(instance)
        if instance.integer_error(pruning) <= error and instance.integer_cost(pruning) <= cost
    ]
    if fixed is None:
        assert not better
    for kept in better:
        assert np.all(kept[fixed[0]])
        assert not np.any(kept[fixed[1]])


@settings(max_examples=60, deadline=None)
@given(instance=instances(), keep=st.integers(0, 255), drop=st.integers(0, 255))
def test_a_remainder_has_the_errors_and_costs_of_the_whole(instance, keep, drop):
    kept, dropped = closed_split(instance, keep, drop)
    fitting = [p.kept for p in prunings(instance) if np.all(p.kept[kept]) and not np.any(p.kept[dropped])]
    if np.all(kept | dropped):
        assert len(fitting) == 1
        return
    part = Remainder.whole(instance).restrict(kept, dropped)
    lifted = []
    for pruning in prunings(part.instance):
        whole = Pruning(part.lift(pruning.kept))
        assert instance.integer_error(whole) == part.error + part.instance.integer_error(pruning)
        assert instance.integer_cost(whole) == part.cost + part.instance.integer_cost(pruning)
        lifted.append(whole.kept.tobytes())
    assert sorted(lifted) == sorted(one.tobytes() for one in fitting)


@settings(max_examples=60, deadline=None)
@given(instance=instances(), keep=st.integers(0, 255), drop=st.integers(0, 255), buy=st.integers(0, 2**16 - 1))
def test_what_is_bought_is_free_in_the_remainder(instance, keep, drop, buy):
    kept, dropped = closed_split(instance, keep, drop)
    bought = np.array([bool(buy >> j & 1) for j in range(instance.n_acquisitions)], dtype=bool)
    if np.all(kept | dropped):
        return
    part = Remainder.whole(instance).restrict(kept, dropped, bought)
    for pruning in prunings(part.instance):
        whole = Pruning(part.lift(pruning.kept))
        paid = bought | instance.acquired(whole)
        cost = instance.acquisition_cost[paid].sum() + instance.split_cost[whole.kept].sum()
        assert part.cost + part.instance.integer_cost(pruning) == cost
        assert part.error + part.instance.integer_error(pruning) == instance.integer_error(whole)


@settings(max_examples=60, deadline=None)
@given(instance=instances(), keep=st.integers(0, 255), drop=st.integers(0, 255), again=st.integers(0, 255))
def test_remainders_of_remainders(instance, keep, drop, again):
    """Deciding in two steps is deciding at once."""
    kept, dropped = closed_split(instance, keep, drop)
    possible = sum(1 << node for node in np.flatnonzero(~dropped).tolist())
    more_kept, more_dropped = closed_split(instance, keep | again & possible, drop)
    if np.all(more_kept | more_dropped):
        return
    part = Remainder.whole(instance).restrict(kept, dropped)
    twice = part.restrict(more_kept[part.nodes], more_dropped[part.nodes])
    once = Remainder.whole(instance).restrict(more_kept, more_dropped)
    assert (twice.error, twice.cost) == (once.error, once.cost)
    assert np.array_equal(twice.kept, once.kept)
    assert sorted(twice.nodes) == sorted(once.nodes)
    assert sorted(twice.acquisitions) == sorted(once.acquisitions)


@settings(max_examples=60, deadline=None)
@given(instance=instances(), limit=st.integers(0, 25))
def test_the_straddling_prunings_are_those_of_the_path(instance, limit):
    path = prune_path(instance)
    expected = path.at_budget(limit * instance.cost_unit)
    found = straddle(instance, limit)
    assert found.bound * instance.error_unit == expected.bound
    assert instance.integer_cost(Pruning(found.smaller)) <= limit
    assert np.all(found.smaller <= found.larger)
    if found.lam:
        assert instance.integer_cost(Pruning(found.larger)) > limit
        assert found.lam == expected.lam
        for kept in (found.smaller, found.larger):
            assert instance.objective(Pruning(kept), found.lam) == solve(instance, found.lam).objective
    early = straddle(instance, limit, enough=0)
    assert early.bound <= found.bound
    assert instance.integer_cost(Pruning(early.smaller)) <= limit


@pytest.fixture(scope="module")
def forest_instance():
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(8, max_leaf_nodes=9, random_state=0).fit(X[:300], y[:300]))
    return PruningInstance.from_forest(forest, X[300:360], FeatureCosts(np.ones(30)))


def test_a_cap_on_a_fitted_forest(forest_instance):
    budget = forest_instance.evaluate(forest_instance.unpruned)[1] / 2
    free = solve_budget_branch_and_bound(forest_instance, budget)
    cap = max(example_costs(forest_instance, free.pruning)) - 2
    capped = solve_budget_branch_and_bound(forest_instance, budget, max_cost=cap, time_limit=2)
    greedy = solve_budget(forest_instance, budget, "greedy", max_cost=cap)
    assert max(example_costs(forest_instance, capped.pruning)) <= cap
    assert free.error <= capped.bound <= capped.error <= greedy.error
    assert free.error < capped.error


@pytest.mark.slow
@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(3, 5), Fraction(4, 5)])
def test_on_a_fitted_forest_it_agrees_with_the_program_as_printed(forest_instance, share):
    instance = forest_instance
    budget = share * instance.evaluate(instance.unpruned)[1]
    result = solve_budget_branch_and_bound(instance, budget)
    specification = specify("lp1", instance, budget=budget)
    solution, relaxation = run(linear_program(specification)), solve_budget_lp1(instance, budget)
    printed = integer_result(specification, solution, relaxation, "printed")
    assert result.status is printed.status is Status.OPTIMAL
    assert result.error == result.bound == printed.error
    on_the_path = prune_path(instance).at_budget(budget)
    assert on_the_path.bound <= result.error <= on_the_path.error
    assert result.mixture_error == on_the_path.mixture_error == printed.mixture_error


def test_limits_are_reported_with_what_the_path_proves(forest_instance):
    budget = forest_instance.evaluate(forest_instance.unpruned)[1] / 4
    on_the_path = prune_path(forest_instance).at_budget(budget)
    for options, status in (({"time_limit": 0}, Status.TIME_LIMIT), ({"relative_gap": 0.5}, Status.GAP_REACHED)):
        result = solve_budget_branch_and_bound(forest_instance, budget, **options)
        assert result.status is status
        assert on_the_path.bound <= result.bound < result.error <= on_the_path.error


@pytest.mark.parametrize("gap", [-1, float("nan"), "little"])
def test_a_gap_that_is_no_number_from_0_on_is_refused(gap):
    with pytest.raises(ValueError, match="relative_gap: expected"):
        solve_budget(random_instance(np.random.default_rng(0)), 1, "mip", relative_gap=gap)
