"""What peeling drops, against breakpoints found without it; that paths stay the same with it."""

from fractions import Fraction

import numpy as np
import plain_slicing
import pytest
from closure_checks import row_of
from hypothesis import given, settings
from strategies import instances

from ipforest import _numba, prune_path, solve
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow import parametric_cut, peeling
from ipforest.maxflow.parametric_cut import ParametricCut
from ipforest.maxflow.peeling import NOTHING, find_met, peel
from ipforest.maxflow.presolve import presolve
from ipforest.path import PathSearch

ONE_CUT_A_CALL = -1


@pytest.fixture(scope="module")
def forest_instance():
    return synthetic_instance(6, 150, 20, n_training=400, max_price=9, seed=1)


def peeled(instance, least):
    """The cut, its only subproblem, where what remains breaks even, and who remains."""
    cut = ParametricCut(presolve(instance))
    problem = cut.open[0]
    part = problem.part
    lam = peel(cut.network, part, least)
    left = cut.network.trees.labels > 0
    return cut, part, lam, left[part.nodes], left[cut.network.problem.gain.size + part.acquisitions]


def assert_peels_by_the_rules(instance, node_lambda):
    cut, part, lam, nodes_left, acquisitions_left = peeled(instance, 0)
    if lam == NOTHING:
        assert nodes_left.all()
        return
    problem = cut.network.problem
    nodes = part.nodes[nodes_left]
    above = problem.parent[nodes]
    assert np.isin(above[above >= 0], nodes).all()
    rows = np.concatenate([row_of(problem.rows, h) for h in nodes])
    assert np.array_equal(part.acquisitions[acquisitions_left], np.unique(rows))
    gain = int(problem.gain[nodes].sum())
    cost = int(problem.cost[part.acquisitions[acquisitions_left]].sum() + problem.split_cost[nodes].sum())
    assert Fraction(*lam) == Fraction(gain, cost)
    unit = instance.error_unit / instance.cost_unit
    dropped = np.isin(cut.reduced.node, part.nodes[~nodes_left])
    assert dropped.any()
    assert all(value < Fraction(*lam) * unit for value in np.array(node_lambda, dtype=object)[dropped])


def test_only_nodes_go_that_have_smaller_breakpoints(forest_instance):
    assert peeled(forest_instance, 0)[2] != NOTHING
    assert_peels_by_the_rules(forest_instance, prune_path(forest_instance).node_lambda)


@settings(max_examples=150)
@given(instances())
def test_only_nodes_go_that_have_smaller_breakpoints_whatever_the_instance(instance):
    if ParametricCut(presolve(instance)).open:
        assert_peels_by_the_rules(instance, prune_path(instance).node_lambda)


def test_nothing_is_peeled_where_too_few_nodes_would_remain(forest_instance):
    cut, _, lam, nodes_left, _ = peeled(forest_instance, 0)
    assert lam != NOTHING
    assert peeled(forest_instance, int(nodes_left.sum()))[2] == lam
    assert peeled(forest_instance, int(nodes_left.sum()) + 1)[2] == NOTHING
    assert cut.network.trees.vertices["above"].max() < 0


def test_rounds_end_when_few_nodes_go(forest_instance, monkeypatch):
    shares, lambdas = [], []
    for least_share in (0.5, 0.1, 0.0):
        monkeypatch.setattr(peeling, "LEAST_SHARE", least_share)
        _, _, lam, nodes_left, _ = peeled(forest_instance, 0)
        shares.append(nodes_left.mean())
        lambdas.append(Fraction(*lam))
    assert 1 > shares[0] > shares[1] > shares[2] > 0
    assert lambdas[0] < lambdas[1] < lambdas[2]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_who_is_met_is_found_in_slices(forest_instance, n_threads, monkeypatch):
    monkeypatch.setattr(_numba, "LEAST_WORK", 0)
    monkeypatch.setattr(_numba, "n_threads", lambda: n_threads)
    cut = ParametricCut(presolve(forest_instance))
    problem, nodes = cut.network.problem, cut.open[0].part.nodes
    remains = np.arange(problem.parent.size) % 3 > 0
    n_meetings = np.zeros(problem.cost.size, dtype=int)
    for h in nodes[remains[nodes]]:
        n_meetings[row_of(problem.rows, h)] += 1
    assert n_meetings.max() > 2
    assert n_meetings.min() == 0
    met, shared = find_met(problem, nodes, remains.astype(np.int32))
    for bits, least in ((met, 1), (shared, 2)):
        has_bit = bits[np.arange(n_meetings.size) // 64] >> np.arange(n_meetings.size) % 64 & 1
        assert np.array_equal(has_bit, n_meetings >= least)


@pytest.mark.parametrize("least_rest", [0.0, 1.0], ids=["peeled", "not peeled"])
def test_paths_are_those_of_plain_slicing(forest_instance, least_rest, monkeypatch):
    monkeypatch.setattr(parametric_cut, "LEAST_REST", least_rest)
    search = PathSearch(forest_instance, small=ONE_CUT_A_CALL)
    search.run()
    assert list(search.path().breakpoints) == plain_slicing.breakpoints_and_node_lambdas(forest_instance)[0]
    for lam in search.path().breakpoints:
        assert search.path().pruning(lam) == solve(forest_instance, lam).pruning
        assert search.path().pruning(lam / 2) == solve(forest_instance, lam / 2).pruning


@settings(max_examples=150)
@given(instances())
def test_paths_of_any_instance_are_the_same_with_and_without(instance):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parametric_cut, "LEAST_REST", 0.0)
        search = PathSearch(instance, small=ONE_CUT_A_CALL)
        search.run()
    path, other = search.path(), prune_path(instance)
    assert path.breakpoints == other.breakpoints
    assert np.array_equal(path.node_breakpoint, other.node_breakpoint)
    assert (path.errors, path.costs) == (other.errors, other.costs)
