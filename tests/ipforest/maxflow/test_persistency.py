from fractions import Fraction

import numpy as np
import pytest
from closure_checks import callable_kernel, network_of
from hypothesis import given, settings
from strategies import instances, lambdas

from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.network import DEAD, Lambda
from ipforest.maxflow.persistency import drop_unprofitable
from proofs.crosschecks.brute_force import brute_force, prunings


def nodes_left(instance, p, q, least):
    network = network_of(instance)
    drop = callable_kernel(drop_unprofitable)
    n_left = drop(network.problem, network.labels.level, network.worth, network.whole, Lambda(p, q), least)
    left = network.labels.level != DEAD
    assert n_left == np.count_nonzero(left)
    assert network.worth.n_payers.tolist() == met_by(instance, left).tolist()
    return left


def met_by(instance, kept):
    return np.bincount(instance.indices[kept[instance.triple_node]], minlength=instance.n_acquisitions)


def subtree_worths(instance, left, p, q):
    """What each subtree earns beyond the acquisitions that it alone meets, from the definition."""
    count = met_by(instance, left)
    worth = [0] * instance.n_internal
    for h in reversed(range(instance.n_internal)):
        row = instance.indices[instance.indptr[h] : instance.indptr[h + 1]]
        alone = int(instance.acquisition_cost[row[count[row] == 1]].sum()) + int(instance.split_cost[h])
        worth[h] += q * int(instance.gain[h]) - p * alone
        if instance.parent[h] >= 0 and left[h]:
            worth[instance.parent[h]] += max(worth[h], 0)
    return worth


@settings(max_examples=150)
@given(instances(), lambdas)
def test_no_optimal_pruning_keeps_what_is_dropped(instance, lam):
    p, q = instance.scaled_lambda(lam)
    best = brute_force(instance, lam)
    optimal = [pruning for pruning in prunings(instance) if instance.objective(pruning, lam) == best.objective]
    left = nodes_left(instance, p, q, 0)
    for pruning in optimal:
        assert not np.any(pruning.kept & ~left)
    assert not np.any(best.pruning.kept & ~nodes_left(instance, p, q, 1))


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("max_price", [1, 40])
def test_what_is_left_is_closed_and_no_subtree_of_it_is_worth_too_little(least, max_price):
    instance = synthetic_instance(6, 60, 12, max_price=max_price, seed=4)
    lam = sum(instance.gain) * instance.error_unit / (sum(instance.acquisition_cost) * instance.cost_unit)
    p, q = instance.scaled_lambda(Fraction(lam))
    left = nodes_left(instance, p, q, least)
    assert 0 < np.count_nonzero(left) < instance.n_internal
    below = left & (instance.parent >= 0)
    assert left[instance.parent[below]].all()
    worth = subtree_worths(instance, left, p, q)
    assert all(worth[h] >= least for h in np.flatnonzero(left))
