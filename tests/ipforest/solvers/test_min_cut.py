from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from closure_checks import assert_feasible, callable_kernel, network_of
from hypothesis import given, settings
from strategies import instances, lambdas

from ipforest import PruningInstance, Status, solve
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.blocking_flow import list_payers, push_blocking_flow
from ipforest.maxflow.minimum_cut import load_start, mark_kept
from ipforest.maxflow.network import DEAD, KEPT, TUNING, Lambda, build_network
from ipforest.maxflow.single_cut import dual_bound
from ipforest.maxflow.spanning_forest import route_along_forest
from ipforest.maxflow.waves import EXACT, LABELS_TOO_NARROW, label_distances, push_waves
from ipforest.solvers import SOLVERS
from proofs.crosschecks.brute_force import brute_force


@settings(max_examples=150)
@given(instances(), lambdas)
def test_equals_brute_force_with_the_smallest_set_and_a_feasible_flow_of_the_same_value(instance, lam):
    result, best = solve(instance, lam), brute_force(instance, lam)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == best.objective
    assert result.pruning == best.pruning
    assert_feasible(instance, result.flow)


@settings(max_examples=60)
@given(instances(), lambdas, lambdas)
def test_a_start_from_any_other_lambda_changes_nothing_but_the_work(instance, lam, other):
    warm = solve(instance, lam, start=solve(instance, other).flow)
    cold = solve(instance, lam)
    assert warm.pruning == cold.pruning
    assert warm.bound == cold.bound
    assert_feasible(instance, warm.flow)


def test_a_start_of_another_size_is_refused():
    with pytest.raises(ValueError, match="start: expected a flow over 4 internal nodes and 8 triples, got 3 and 6"):
        solve(chain(4), 1, start=solve(chain(3), 1).flow)


def chain(n_trees: int) -> PruningInstance:
    """Single nodes that share acquisitions in a chain; only the last acquisition has room: paths of full length."""
    return PruningInstance(
        tree_offsets=np.arange(n_trees + 1) * 3,
        node_parent=np.tile([-1, 0, 0], n_trees) + np.repeat(np.arange(n_trees) * 3, 3) * np.tile([0, 1, 1], n_trees),
        errors=np.tile([1, 0, 0], n_trees),
        indptr=np.arange(n_trees + 1) * 2,
        indices=(np.arange(n_trees)[:, None] + np.arange(2)).ravel(),
        acquisition_unit=np.zeros(n_trees + 1, dtype=np.int32),
        acquisition_example=np.arange(n_trees + 1),
        acquisition_cost=np.ones(n_trees + 1, dtype=np.int64),
        split_cost=np.zeros(n_trees, dtype=np.int64),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=1,
        n_examples=n_trees + 1,
    )


def test_augmenting_paths_longer_than_narrow_labels_reach():
    n = 400
    gain = np.ones(n, dtype=np.int64)
    gain[-1] = 2
    rows = np.arange(n + 1) * 2
    network = build_network(np.full(n, -1), gain, np.zeros(n), rows, chain(n).indices, np.ones(n + 1))
    part, lam = network.whole, Lambda(1, 1)
    network.flow.triple[1::2] = 1
    callable_kernel(load_start)(network.problem, network.flow, network.labels.level, part, lam, 1.0)
    assert np.flatnonzero(network.flow.excess).tolist() == [n - 1]
    assert np.flatnonzero(network.flow.room).tolist() == [0]
    _, outcome = callable_kernel(push_waves)(network, None, part, lam, 0.0, TUNING)
    assert outcome == LABELS_TOO_NARROW
    _, outcome = callable_kernel(push_waves)(network.with_wide_labels(), None, part, lam, 0.0, TUNING)
    assert outcome == EXACT
    assert not network.flow.excess.any()
    assert network.flow.room[0] == 0


@pytest.mark.parametrize("lam", [Fraction(1, 2), Fraction(399, 401), 1, 2])
def test_a_long_chain_is_kept_exactly_while_it_pays(lam):
    instance = chain(400)
    result = solve(instance, lam)
    assert result.objective == result.bound == min(400, lam * 401)
    assert result.pruning.n_kept == (400 if lam * 401 < 400 else 0)


def partly_routed(seed):
    """An instance and its network with a random flow that leaves excess and room, and the lambda of its capacities."""
    instance = synthetic_instance(4, 60, 8, seed=seed)
    network = network_of(instance)
    lam = Lambda(int(instance.gain.sum()), int(instance.acquisition_cost.sum()))
    problem, flow, part = network.problem, network.flow, network.whole
    callable_kernel(load_start)(problem, flow, network.labels.level, part, lam, 0.0)
    generator = np.random.default_rng(seed)
    for h in part.nodes[::-1]:
        for x in range(instance.indptr[h], instance.indptr[h + 1]):
            paid = int(generator.integers(0, min(flow.excess[h], flow.room[instance.indices[x]]) + 1))
            flow.triple[x] += paid
            flow.excess[h] -= paid
            flow.room[instance.indices[x]] -= paid
        if instance.parent[h] >= 0:
            flow.up[h] = flow.excess[h] // 2
            flow.excess[instance.parent[h]] += flow.up[h]
            flow.excess[h] -= flow.up[h]
    return instance, network, lam


def assert_is_preflow(instance, flow, lam):
    loads = np.zeros(instance.n_acquisitions, dtype=np.int64)
    np.add.at(loads, instance.indices, flow.triple)
    assert np.array_equal(loads + flow.room, lam.p * instance.acquisition_cost)
    arriving, leaving = lam.q * np.maximum(instance.gain, 0), flow.up + flow.excess
    below = instance.parent >= 0
    np.add.at(arriving, instance.parent[below], flow.up[below])
    np.add.at(leaving, instance.triple_node, flow.triple)
    assert np.array_equal(arriving, leaving)
    assert min(flow.excess.min(), flow.room.min(), flow.triple.min(), flow.up.min()) >= 0


def assert_waves_complete_it(instance, network, lam):
    callable_kernel(push_waves)(network, None, network.whole, lam, 0.0, TUNING)
    callable_kernel(mark_kept)(network.problem, network.flow, network.labels, network.whole, lam.q)
    result = solve(instance, lam.p * instance.error_unit / lam.q / instance.cost_unit)
    assert np.array_equal(network.labels.level == KEPT, result.pruning.kept)


@pytest.mark.parametrize("seed", range(3))
def test_the_pass_along_a_forest_keeps_a_flow_a_flow_and_loses_no_excess(seed):
    instance, network, lam = partly_routed(seed)
    before = network.flow.excess.sum()
    callable_kernel(route_along_forest)(
        network.problem, network.flow, network.labels.level, network.forest, network.whole, lam, int(before), TUNING
    )
    assert_is_preflow(instance, network.flow, lam)
    assert network.flow.excess.sum() < before
    assert_waves_complete_it(instance, network, lam)


@pytest.mark.parametrize("seed", range(3))
def test_a_blocking_flow_keeps_a_flow_a_flow_and_lengthens_the_way_of_all_excess_that_it_leaves(seed):
    instance, network, lam = partly_routed(seed)
    problem, flow, labels, part = network.problem, network.flow, network.labels, network.whole
    payers = callable_kernel(list_payers)(problem, labels.level, network.search, part)
    assert np.array_equal(np.bincount(payers.node, minlength=part.nodes.size), np.diff(instance.indptr))
    _, live, _ = callable_kernel(label_distances)(problem, flow, labels, part)
    n_phases = 0
    while live:
        level, excess = labels.level.copy(), flow.excess.sum()
        callable_kernel(push_blocking_flow)(problem, flow, labels, network.search, payers, part)
        assert_is_preflow(instance, flow, lam)
        assert flow.excess.sum() < excess
        _, live, _ = callable_kernel(label_distances)(problem, flow, labels, part)
        waiting = (flow.excess > 0) & (labels.level != DEAD)
        assert np.all(labels.level[waiting] > level[waiting])
        n_phases += 1
    assert n_phases > 1
    assert_waves_complete_it(instance, network, lam)


def test_numbers_beyond_64_bits_are_refused_with_their_sizes():
    instance = chain(4)
    with pytest.raises(OverflowError, match=r"lam: expected gains and costs below 2\^62 .*, got 2\^66 and 2\^3"):
        solve(instance, Fraction(1, 10**19))


@pytest.mark.parametrize("method", [name for name in SOLVERS if name != "networkx"])
def test_a_lambda_beyond_64_bits_is_refused_where_nothing_costs_or_errs_too(method):
    whole = chain(4)
    free, faultless = (replace(whole, **{name: 0 * getattr(whole, name)}) for name in ("acquisition_cost", "errors"))
    for instance, lam in ((free, 10**20), (faultless, Fraction(1, 10**20))):
        with pytest.raises(OverflowError, match=r"lam: expected .* below 2\^62.*; use a lambda"):
            solve(instance, lam, method)


def test_bound_of_any_feasible_flow_stays_below_the_optimum():
    instance = synthetic_instance(3, 40, 6, seed=1)
    flow = solve(instance, Fraction(1, 20)).flow
    assert dual_bound(instance, flow) == solve(instance, Fraction(1, 20)).objective
