from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest import Status, solve
from ipforest.solvers.tree_dp import (
    TreeBatch,
    equal_shares,
    lagrangian_bound,
    node_charges,
    scaled_prices,
    tree_prunings,
)
from proofs.crosschecks.brute_force import brute_force, prunings
from proofs.crosschecks.random_instances import random_instance


@settings(max_examples=60, deadline=None)
@given(instances(max_internal=6), st.data())
def test_recursion_finds_the_least_value_of_each_tree_under_any_charges(instance, data):
    charges = np.array(
        data.draw(st.lists(st.integers(-6, 9), min_size=instance.n_internal, max_size=instance.n_internal))
    )
    charges = charges.astype(np.int64)
    values, kept = tree_prunings(instance, 2, charges)
    least = min(2 * instance.integer_error(p) + int(charges[p.kept].sum()) for p in prunings(instance))
    assert values.sum() == least
    assert kept.sum() == min(
        p.n_kept for p in prunings(instance) if 2 * instance.integer_error(p) + int(charges[p.kept].sum()) == least
    )


@settings(max_examples=60, deadline=None)
@given(instances(), lambdas)
def test_individual_pruning_is_feasible_and_its_bound_holds(instance, lam):
    result, best = solve(instance, lam, "tree-dp"), brute_force(instance, lam)
    instance.check_pruning(result.pruning)
    assert result.bound <= best.objective <= result.objective == instance.objective(result.pruning, lam)
    assert (result.status is Status.OPTIMAL) == (result.bound == result.objective)


@settings(max_examples=40, deadline=None)
@given(instances())
def test_individual_pruning_without_costs_is_optimal(instance):
    assert solve(instance, 0, "tree-dp").objective == brute_force(instance, 0).objective


def test_individual_pruning_of_one_tree_is_optimal():
    rng = np.random.default_rng(4)
    single = [i for i in (random_instance(rng) for _ in range(120)) if i.n_trees == 1]
    assert len(single) > 20
    for instance in single:
        for lam in (Fraction(1, 7), 1):
            result = solve(instance, lam, "tree-dp")
            assert result.objective == brute_force(instance, lam).objective
            assert result.status is Status.OPTIMAL


def test_batches_of_trees_give_what_the_whole_forest_gives():
    instance = random_instance(np.random.default_rng(9), 9)
    assert instance.n_trees == 3
    charges = np.arange(instance.n_internal, dtype=np.int64) % 4
    values, kept = tree_prunings(instance, 3, charges)
    inner = instance.internal_offsets
    parts = [
        TreeBatch.of(instance, 3, first, end).prune(charges[inner[first] : inner[end]])
        for first, end in ((0, 1), (1, 3))
    ]
    assert np.array_equal(values, np.concatenate([part[0] for part in parts]))
    assert np.array_equal(kept, np.concatenate([part[1] for part in parts]))


def test_equal_shares_stay_within_the_prices():
    instance = random_instance(np.random.default_rng(5))
    assert np.all(np.bincount(instance.indices, equal_shares(instance, 7)) <= scaled_prices(instance, 7))


def test_multipliers_above_the_price_or_below_zero_are_refused():
    instance = random_instance(np.random.default_rng(5))
    for beta in (np.full(instance.n_triples, 10**6), np.full(instance.n_triples, -1)):
        with pytest.raises(ValueError, match="beta: expected multipliers >= 0 within the acquisitions' costs"):
            lagrangian_bound(instance, 1, 1, beta)


def test_numbers_beyond_62_bits_are_refused():
    instance = random_instance(np.random.default_rng(5))
    with pytest.raises(OverflowError, match="lam: expected p \\* costs below 2\\^62"):
        scaled_prices(instance, 2**61)
    with pytest.raises(OverflowError, match="lam: expected q \\* errors"):
        tree_prunings(instance, 2**61, np.zeros(instance.n_internal, dtype=np.int64))
    with pytest.raises(OverflowError, match="lam: expected multipliers and p \\* split costs"):
        node_charges(instance, 1, np.full(instance.n_triples, 2**61))
    with pytest.raises(OverflowError, match="lam: expected"):
        solve(instance, Fraction(10**18 + 1, 3), "tree-dp")
