"""Greed within a budget: what it may keep, what it must not lose, against all prunings of small instances."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from strategies import instances

from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, Status, prune_path, solve_budget
from ipforest.solvers.greedy import exchange, fill, shrink, structure
from ipforest.solvers.greedy_kernels import Purchase, Structure, add_best, count_users, drop_worst, total_cost
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.random_instances import random_instance


@settings(max_examples=100, deadline=None)
@given(instance=instances(), limit=st.integers(0, 20), which=st.integers(0, 10**6))
def test_greed_stays_within_the_budget(instance, limit, which):
    candidates = list(prunings(instance))
    start = candidates[which % len(candidates)]
    forest = structure(instance)
    small = Pruning(shrink(forest, start.kept, limit))
    assert np.all(small.kept <= start.kept)
    full = Pruning(fill(forest, small.kept, limit))
    assert np.all(small.kept <= full.kept)
    assert max(instance.integer_cost(small), instance.integer_cost(full)) <= limit
    assert instance.integer_error(full) <= instance.integer_error(small)
    changed = Pruning(exchange(forest, full.kept, limit, 5))
    assert instance.integer_cost(changed) <= limit
    assert instance.integer_error(changed) <= instance.integer_error(full)


@settings(max_examples=100, deadline=None)
@given(instance=instances(), limit=st.integers(0, 20), which=st.integers(0, 10**6))
def test_a_filled_pruning_leaves_no_chain_that_gains_and_fits(instance, limit, which):
    within = [one for one in prunings(instance) if instance.integer_cost(one) <= limit]
    full = fill(structure(instance), within[which % len(within)].kept, limit)
    for node in np.flatnonzero(~full):
        chain = full.copy()
        while node >= 0:
            chain[node] = True
            node = instance.parent[node]
        better = instance.integer_error(Pruning(chain)) < instance.integer_error(Pruning(full))
        assert not (better and instance.integer_cost(Pruning(chain)) <= limit)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(instance=instances(), budget=st.fractions(min_value=0, max_value=6, max_denominator=40))
def test_greedy_is_no_worse_than_the_breakpoint_and_its_bound_holds(instance, budget):
    result, on_the_path = solve_budget(instance, budget), solve_budget(instance, budget, "path")
    best = min(error for error, cost in map(instance.evaluate, prunings(instance)) if cost <= budget)
    assert on_the_path.bound <= result.bound <= best <= result.error <= on_the_path.error
    assert (result.error, result.cost) == instance.evaluate(result.pruning)
    assert result.mixture == on_the_path.mixture
    assert (result.status is Status.OPTIMAL) == (result.bound == result.error)
    if on_the_path.status is Status.OPTIMAL:
        assert result.status is Status.OPTIMAL


def example_costs(instance, pruning):
    """What each example pays, in the unit of the prices."""
    bought = np.flatnonzero(instance.acquired(pruning))
    paid = [Fraction(0)] * instance.n_examples
    for acquisition in bought:
        paid[instance.acquisition_example[acquisition]] += int(instance.acquisition_cost[acquisition])
    return [one * instance.cost_unit * instance.n_examples for one in paid]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    instance=instances(),
    budget=st.fractions(min_value=0, max_value=6, max_denominator=10),
    cap=st.fractions(min_value=0, max_value=20, max_denominator=4),
)
def test_no_example_pays_more_than_the_cap(instance, budget, cap):
    if instance.split_cost.any():
        with pytest.raises(ValueError, match="max_cost: expected none with split costs, got"):
            solve_budget(instance, budget, "greedy", max_cost=cap)
        return
    result = solve_budget(instance, budget, "greedy", max_cost=cap)
    assert max(example_costs(instance, result.pruning), default=0) <= cap
    assert result.cost <= budget
    within = [
        error
        for pruning, (error, cost) in ((one, instance.evaluate(one)) for one in prunings(instance))
        if cost <= budget and max(example_costs(instance, pruning), default=0) <= cap
    ]
    assert result.bound <= min(within) <= result.error


def test_sets_that_are_added_together_hold_the_cap_together():
    """Two stumps of equal gain test features of price 1 on the same two examples."""
    instance = PruningInstance(
        tree_offsets=[0, 3, 6],
        node_parent=[-1, 0, 0, -1, 3, 3],
        errors=[5, 0, 0, 5, 0, 0],
        indptr=[0, 2, 4],
        indices=[0, 1, 2, 3],
        acquisition_unit=[0, 0, 1, 1],
        acquisition_example=[0, 1, 0, 1],
        acquisition_cost=[1, 1, 1, 1],
        split_cost=[0, 0],
        error_unit=Fraction(1, 20),
        cost_unit=Fraction(1, 2),
        n_units=2,
        n_examples=2,
    )
    assert solve_budget(instance, 5, "greedy", max_cost=1).pruning.n_kept == 1
    assert solve_budget(instance, 5, "greedy", max_cost=2).pruning.n_kept == 2


def test_a_cap_that_nobody_reaches_changes_nothing(priced_instance):
    budget = prune_path(priced_instance).costs[0] / 2
    free = solve_budget(priced_instance, budget, "greedy")
    assert solve_budget(priced_instance, budget, "greedy", max_cost=10**6).pruning == free.pruning
    most = max(example_costs(priced_instance, free.pruning))
    capped = solve_budget(priced_instance, budget, "greedy", max_cost=most / 2)
    assert 0 < max(example_costs(priced_instance, capped.pruning)) <= most / 2
    assert free.error < capped.error < priced_instance.evaluate(priced_instance.roots_only)[0]


@pytest.mark.parametrize("cap", [-1, "dear"])
def test_a_cap_is_a_price(cap, priced_instance):
    with pytest.raises(ValueError, match="max_cost: expected a"):
        solve_budget(priced_instance, 1, "greedy", max_cost=cap)


@pytest.fixture(scope="module")
def priced_instance():
    """Few dear features: the path jumps."""
    X, y = load_breast_cancer(return_X_y=True)
    prices = np.where(np.arange(30) % 3 == 0, 40, 1)
    model = RandomForestClassifier(20, max_features=0.8, random_state=0).fit(X[:300], y[:300])
    return PruningInstance.from_forest(Forest.from_sklearn(model), X[300:], FeatureCosts(prices))


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
def test_each_step_improves_where_the_path_is_coarse(priced_instance, share):
    instance = priced_instance
    path = prune_path(instance)
    budget = share * path.costs[0]
    plain, greedy, exact = (solve_budget(instance, budget, method, path=path) for method in ("path", "greedy", "mip"))
    assert exact.error <= greedy.error <= plain.error
    assert plain.bound <= greedy.bound <= exact.bound == exact.error
    assert exact.status is Status.OPTIMAL


def counted(forest: Structure, kept: np.ndarray) -> Purchase:
    state = Purchase(
        kept.copy(), np.zeros(forest.cost.size, dtype=np.int64), forest.split_cost.copy(), np.zeros(0, int)
    )
    count_users(forest, state)
    return state


@pytest.mark.parametrize(
    "prices", [1 + np.arange(64) % 5, np.round(10 ** np.linspace(-6, 5, 64), 6)], ids=["few", "all sizes"]
)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_what_thousands_of_nodes_need_is_counted_right_over_many_passes(share, prices):
    X, y = load_digits(return_X_y=True)
    trees = ExtraTreesClassifier(40, random_state=0).fit(X[:300], y[:300])
    instance = PruningInstance.from_forest(Forest.from_sklearn(trees), X[300:500], FeatureCosts(prices))
    forest, nothing = structure(instance), np.zeros(instance.n_internal, dtype=bool)
    state = counted(forest, ~nothing)
    limit = int(share * total_cost(forest, state))
    left = drop_worst(forest, state, nothing, total_cost(forest, state) - limit)
    assert left <= 0
    assert total_cost(forest, state) == limit + left == instance.integer_cost(Pruning(state.kept))
    for before, after in zip(state, counted(forest, state.kept), strict=True):
        np.testing.assert_array_equal(before, after)
    unspent = add_best(forest, state, nothing, -left)
    assert unspent >= 0
    assert total_cost(forest, state) == limit - unspent == instance.integer_cost(Pruning(state.kept))
    for before, after in zip(state, counted(forest, state.kept), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_path_that_is_known_changes_nothing(priced_instance):
    budget = prune_path(priced_instance).costs[0] / 3
    for method in ("path", "greedy", "mip"):
        alone = solve_budget(priced_instance, budget, method)
        given = solve_budget(priced_instance, budget, method, path=prune_path(priced_instance))
        assert (alone.error, alone.bound, alone.pruning) == (given.error, given.bound, given.pruning)


@pytest.mark.parametrize("method", ["greedy", "mip"])
@pytest.mark.parametrize("max_cost", [None, 1])
def test_a_budget_of_more_cost_units_than_64_bits_hold_is_one_without_end(method, max_cost):
    rng = np.random.default_rng(0)
    for _ in range(30):
        instance = random_instance(rng)
        options = {} if instance.split_cost.any() else {"max_cost": max_cost}
        plenty, most = instance.evaluate(instance.unpruned)[1], solve_budget(instance, 10**30, method, **options)
        enough = solve_budget(instance, plenty, method, **options)
        assert (most.error, most.cost, most.status) == (enough.error, enough.cost, enough.status)


@pytest.mark.parametrize("method", ["path", "greedy", "mip"])
def test_the_path_of_another_instance_is_refused(method):
    """Of the same trees at other prices, say: its prunings and its bound would be those of the other problem."""
    instance = random_instance(np.random.default_rng(0))
    dearer = replace(instance, acquisition_cost=2 * instance.acquisition_cost, error_unit=3 * instance.error_unit)
    with pytest.raises(ValueError, match=r"path: expected the path of PruningInstance.*, got that of another instance"):
        solve_budget(instance, 1, method, path=prune_path(dearer))
    same = solve_budget(instance, 1, method, path=prune_path(replace(instance)))
    assert same.error == solve_budget(instance, 1, method).error
