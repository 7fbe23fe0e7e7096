"""Flows from the trees of a reduced problem to the arcs of the instance, and back."""

from fractions import Fraction

import numpy as np
import pytest
from closure_checks import assert_feasible, row_of, shared_search
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest import DualFlow
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.flows import Capacities, reduce_flow, restore_flow
from ipforest.maxflow.network import Lambda, build_network
from ipforest.maxflow.presolve import presolve
from ipforest.maxflow.pseudoflow import maximum_flow
from ipforest.maxflow.single_cut import dual_bound
from proofs.crosschecks.brute_force import brute_force


def flow_through(instance, lam, twin_share):
    """Solve the reduced problem and carry its flow back; return it with the reduced problem and the network."""
    lam, reduced = Lambda(*instance.scaled_lambda(Fraction(lam))), presolve(instance, twin_share)
    network = build_network(reduced.parent, reduced.gain, reduced.split_cost, reduced.rows, reduced.cost)
    maximum_flow(network, network.whole, shared_search(network), lam, 1.0)
    n, m = reduced.gain.size, reduced.cost.size
    capacities = Capacities(np.full(n, lam.p), np.full(n, lam.q), np.full(m, lam.p))
    flow = restore_flow(instance, reduced, network, network.whole.nodes, capacities)
    return DualFlow(*lam, *flow), reduced, network


@settings(max_examples=100)
@given(instances(), lambdas, st.sampled_from([1, 2, 10**9]))
def test_what_comes_back_is_a_flow_of_the_optimal_value(instance, lam, twin_share):
    flow, _, _ = flow_through(instance, lam, twin_share)
    assert_feasible(instance, flow)
    assert flow.triple.all()
    assert dual_bound(instance, flow) == brute_force(instance, lam).objective


@pytest.mark.parametrize("twin_share", [1, 10**9])
def test_reduced_again_it_is_the_flow_of_the_trees(twin_share):
    instance = synthetic_instance(12, 40, 6, n_training=200, max_price=3, seed=0)
    flow, reduced, network = flow_through(instance, Fraction(1, 500), twin_share)
    assert (reduced.cost.size < instance.n_acquisitions) == (twin_share > 1)
    payments, up = reduce_flow(instance, reduced, flow)
    vertices, n = network.trees.vertices, reduced.gain.size
    rows = [row_of(reduced.rows, h) for h in range(n)]
    node, met = np.repeat(np.arange(n), [len(row) for row in rows]), np.concatenate(rows).astype(int)
    paid_from_above = np.where(vertices["above"][n + met] == node, vertices["flow"][n + met], 0)
    paid_from_below = np.where(vertices["above"][node] == n + met, vertices["flow"][node], 0)
    assert paid_from_above.any()
    assert paid_from_below.any()
    paid = paid_from_above + paid_from_below
    used = paid > 0
    assert np.array_equal(payments.node, node[used])
    assert np.array_equal(payments.acquisition, met[used])
    assert np.array_equal(payments.amount, paid[used])
    assert np.array_equal(up, network.flow.up)
