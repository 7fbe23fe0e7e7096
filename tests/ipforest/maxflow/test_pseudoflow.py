"""The kernels of the pseudoflow algorithm against its definitions; solvers and paths test its optima."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from closure_checks import callable_kernel, marks, network_of, shared_search
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest import prune_path, solve
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.network import KEPT, STOP, Lambda, Payments
from ipforest.maxflow.pseudoflow import (
    fill_rows,
    load_trees,
    mark_kept,
    maximum_flow,
    merge_trees,
    plant,
    return_deficits,
    return_excess,
)


def scaled(instance, lam):
    return Lambda(*instance.scaled_lambda(Fraction(lam)))


def scratch(trees):
    return np.zeros(trees.labels.size + 2, dtype=np.int32)


NONE = np.array([], dtype=np.int64)


def followers(trees):
    """Acquisitions without children, which share the label of the node above them."""
    own = np.arange(trees.next_entry.size, trees.vertices.size)
    return own[trees.guide != own]


def listed(vertices):
    """Who is in a list of children, each time; vertices above and before agree with the lists."""
    found = []
    for v, vertex in enumerate(vertices):
        child, before = vertex["first_child"], -1
        while child >= 0:
            assert (vertices[child]["above"], vertices[child]["previous_child"]) == (v, before)
            found.append(child)
            child, before = vertices[child]["next_child"], child
    return found


def unlisted(trees):
    """After a cut: all followers, unless there were deficits to return, which need them in the lists."""
    followed = followers(trees)
    return NONE if np.isin(followed, listed(trees.vertices)).all() else followed


def assert_is_forest(vertices, unlisted=NONE):
    """Lists of children and vertices above agree, and whoever goes up comes to a root."""
    above = vertices["above"]
    assert np.array_equal(np.sort(listed(vertices)), np.setdiff1d(np.flatnonzero(above >= 0), unlisted))
    top = np.arange(above.size)
    for _ in range(above.size):
        top = np.where(above[top] >= 0, above[top], top)
    assert np.all(above[top] < 0)


def assert_is_pseudoflow(instance, network, lam, unlisted=NONE):
    """Every arc of the forest is one of the problem, carries nothing negative, and imbalances are what is left."""
    vertices, n = network.trees.vertices, instance.n_internal
    assert_is_forest(vertices, unlisted)
    imbalance = np.concatenate(
        [lam.q * instance.gain - lam.p * instance.split_cost, -lam.p * instance.acquisition_cost]
    )
    for v in np.flatnonzero(vertices["above"] >= 0):
        above, amount = int(vertices["above"][v]), int(vertices["flow"][v])
        tail, head = (v, above) if v < n and (above >= n or instance.parent[v] == above) else (above, v)
        row = instance.indices[instance.indptr[tail] : instance.indptr[tail + 1]]
        assert instance.parent[tail] == head if head < n else head - n in row
        assert amount >= 0
        imbalance[tail] -= amount
        imbalance[head] += amount
    assert np.array_equal(network.trees.imbalance, imbalance)


def assert_is_normalised(trees):
    assert not trees.imbalance[trees.vertices["above"] >= 0].any()


def assert_followers_are_paid_for(instance, trees, lam):
    followed, n = followers(trees), instance.n_internal
    assert np.array_equal(trees.guide[followed - n], trees.vertices["above"][followed])
    assert np.array_equal(trees.vertices["flow"][followed], lam.p * instance.acquisition_cost[followed - n])
    assert np.all(trees.vertices["first_child"][followed] < 0)


def assert_labels_are_bounds(instance, network):
    """Labels rise from a vertex to its children, and by one at most along an arc; roots of weak trees have 0."""
    vertices, guide, n = network.trees.vertices, network.trees.guide, instance.n_internal
    own, hung = np.arange(n, vertices.size), vertices["above"] >= 0
    assert np.all((guide == own) | (guide == vertices["above"][n:]) & (vertices["first_child"][n:] < 0))
    labels = np.append(network.trees.labels[:n], network.trees.labels[guide])
    assert np.all(labels[hung] >= labels[vertices["above"][hung]])
    assert np.all(labels[instance.triple_node] <= labels[n + instance.indices] + 1)
    below = instance.parent >= 0
    assert np.all(labels[:n][below] <= labels[instance.parent[below]] + 1)
    assert not labels[~hung & (network.trees.imbalance <= 0)].any()


def random_flow(instance, lam, seed, share=0.4):
    """Draw a flow that may have cycles and exceed what there is, and that leaves much undone."""
    generator = np.random.default_rng(seed)
    triple = generator.integers(0, 2 * lam.p * instance.acquisition_cost[instance.indices] + 2)
    triple[generator.random(triple.size) > share] = 0
    up = np.where(
        instance.parent >= 0, generator.integers(0, lam.q * np.abs(instance.gain).sum() + 1, instance.parent.size), 0
    )
    used = np.flatnonzero(triple)
    return Payments(instance.triple_node[used], instance.indices[used], triple[used]), up


@pytest.mark.parametrize("seed", range(4))
def test_what_is_planted_is_a_forest_of_what_could_flow_and_ends_at_the_same_cut(seed):
    instance = synthetic_instance(4, 60, 8, max_price=1 + 9 * (seed % 2), seed=seed)
    lam = Lambda(int(instance.gain.sum()), int(instance.acquisition_cost.sum()))
    network = network_of(instance)
    plant(network.problem, network.trees, *random_flow(instance, lam, seed), lam, 1.0)
    vertices, n = network.trees.vertices, instance.n_internal
    assert_is_forest(vertices)
    assert np.count_nonzero(vertices["above"] >= 0) > n / 2
    assert np.all(vertices["flow"][n:] <= lam.p * instance.acquisition_cost)
    maximum_flow(network, network.whole, shared_search(network), lam, 1.0)
    result = solve(instance, lam.p * instance.error_unit / lam.q / instance.cost_unit)
    assert np.array_equal(network.trees.labels[:n] == KEPT, result.pruning.kept)
    assert_is_pseudoflow(instance, network, lam, unlisted(network.trees))


@pytest.mark.slow
@settings(max_examples=100)
@given(instances(), lambdas, st.integers(0, 2**32), st.floats(0, 3))
def test_a_start_is_handed_to_the_roots_and_nothing_is_lost(instance, lam, seed, scale):
    lam, network = scaled(instance, lam), network_of(instance)
    plant(network.problem, network.trees, *random_flow(instance, lam, seed), lam, 1.0)
    callable_kernel(load_trees)(network.problem, network.trees, network.whole, lam, scale)
    assert_is_pseudoflow(instance, network, lam, followers(network.trees))
    assert_is_normalised(network.trees)
    assert_followers_are_paid_for(instance, network.trees, lam)


@pytest.mark.slow
@settings(max_examples=100)
@given(instances(), lambdas, st.integers(0, 2**32), st.sampled_from([0.0, 1.0]))
def test_rows_are_filled_until_excess_has_nowhere_to_go_but_through_the_forest(instance, lam, seed, scale):
    lam, network = scaled(instance, lam), network_of(instance)
    trees, n = network.trees, instance.n_internal
    plant(network.problem, trees, *random_flow(instance, lam, seed), lam, 1.0)
    callable_kernel(load_trees)(network.problem, trees, network.whole, lam, scale)
    callable_kernel(fill_rows)(network.problem, trees, network.whole, marks(network))
    assert_is_pseudoflow(instance, network, lam, followers(trees))
    assert_is_normalised(trees)
    assert_followers_are_paid_for(instance, trees, lam)
    alone = (trees.vertices["above"] < 0) & (trees.vertices["first_child"] < 0)
    unpaid = alone[n:] & (trees.imbalance[n:] < 0)
    is_root = trees.vertices["above"][:n] < 0
    strong = is_root & (trees.imbalance[:n] > 0)
    assert not np.any(strong[instance.triple_node] & unpaid[instance.indices])
    below = instance.parent >= 0
    assert not np.any(strong[below] & is_root[instance.parent[below]])


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=15)
@given(instances(), lambdas, st.integers(0, 2**32))
def test_when_mergers_end_trees_are_normalised_and_no_strong_tree_has_an_arc_to_a_weak_one(instance, lam, seed):
    lam, network = scaled(instance, lam), network_of(instance)
    problem, trees, members, n = network.problem, network.trees, network.whole, instance.n_internal
    plant(problem, trees, *random_flow(instance, lam, seed), lam, 1.0)
    callable_kernel(load_trees)(problem, trees, members, lam, 1.0)
    roots, count = scratch(trees), scratch(trees)
    _, is_whole = callable_kernel(merge_trees)(
        problem, trees, members, shared_search(network), network.signals, roots, count
    )
    assert is_whole
    assert_is_pseudoflow(instance, network, lam, followers(trees))
    assert_is_normalised(trees)
    assert_labels_are_bounds(instance, network)
    root = np.arange(trees.vertices.size)
    for _ in range(root.size):
        root = np.where(trees.vertices["above"][root] >= 0, trees.vertices["above"][root], root)
    strong = trees.imbalance[root] > 0
    assert not np.any(strong[instance.triple_node] & ~strong[n + instance.indices])
    below = instance.parent >= 0
    assert not np.any(strong[:n][below] & ~strong[instance.parent[below]])
    callable_kernel(return_excess)(problem, trees, members, lam)
    kept = callable_kernel(mark_kept)(problem, trees, members, scratch(trees), marks(network))
    assert kept == np.count_nonzero(trees.labels[:n] == KEPT)
    assert not np.any(strong < (trees.labels == KEPT))
    callable_kernel(return_deficits)(problem, trees, members, lam)
    assert_is_pseudoflow(instance, network, lam, unlisted(trees))
    imbalance = trees.imbalance
    own = np.concatenate([lam.q * instance.gain - lam.p * instance.split_cost, -lam.p * instance.acquisition_cost])
    assert np.all(imbalance <= np.maximum(own, 0))
    assert np.all(imbalance >= np.minimum(own, 0))
    assert np.all(np.where(strong, imbalance >= 0, imbalance <= 0))


UNCOMPILED = """
import sys
from ipforest import PruningInstance, prune_path
from ipforest.maxflow import pseudoflow, shared_search
pseudoflow.MAX_LABELS = shared_search.MAX_LABELS = int(sys.argv[2])
path = prune_path(PruningInstance.load(sys.argv[1]))
print(*path.breakpoints, *path.node_breakpoint)
"""


@pytest.mark.slow
@pytest.mark.parametrize("most_labels", [0, 2, 32])
def test_paths_are_the_same_however_many_labels_have_candidates(most_labels, tmp_path):
    """Constants are compiled into kernels, so these run uncompiled; this instance looks for labels up to 3."""
    instance = synthetic_instance(8, 60, 4, n_training=200, max_price=9, seed=1)
    instance.save(tmp_path / "instance.npz")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", UNCOMPILED, tmp_path / "instance.npz", str(most_labels)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    path = prune_path(instance)
    assert done.stdout.split() == [*map(str, path.breakpoints), *map(str, path.node_breakpoint)], done.stderr


def test_a_signal_stops_the_mergers_and_what_they_found_is_a_pseudoflow():
    instance = synthetic_instance(4, 60, 8, seed=0)
    lam, network = Lambda(int(instance.gain.sum()), int(instance.acquisition_cost.sum())), network_of(instance)
    network.signals[STOP] = 1
    maximum_flow(network, network.whole, shared_search(network), lam, 1.0)
    assert_is_pseudoflow(instance, network, lam, followers(network.trees))
    before = network.trees.vertices["flow"].sum()
    network.signals[STOP] = 0
    assert maximum_flow(network, network.whole, shared_search(network), lam, 1.0)[1] > 0
    assert network.trees.vertices["flow"].sum() != before
