"""Subproblems move to networks of their own and back: nothing is lost, and paths are those of subproblems that stay."""

import numpy as np
import plain_slicing
import pytest
from closure_checks import assert_proves, row_of
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupted_searches import ONE_CUT_A_CALL, interrupted_search
from strategies import instances

from ipforest import prune_path
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow import parametric_cut, subproblems
from ipforest.maxflow.parametric_cut import ParametricCut
from ipforest.maxflow.presolve import presolve
from ipforest.maxflow.subproblems import deepest, moved, return_home
from ipforest.maxflow.threads import search_for
from ipforest.path_search import PathSearch


def search_of(subproblem):
    return search_for(subproblem.host.network, subproblem.members, subproblem.n_entries)


@pytest.fixture(scope="module")
def instance():
    return synthetic_instance(7, 200, 20, n_training=600, max_price=10, seed=1)


@pytest.fixture
def always_moving(monkeypatch):
    depths = []

    def move(problem):
        depths.append(problem.host.depth)
        return moved(problem)

    monkeypatch.setattr(parametric_cut, "housed", move)
    return depths


def state_of(network, members):
    """What a subproblem is made of, row by row."""
    problem, vertices = network.problem, network.trees.vertices
    of_part = np.concatenate([members.nodes, problem.parent.size + members.acquisitions])
    rows = [row_of(problem.rows, h) for h in members.nodes]
    return {
        "rows": rows,
        "parent": problem.parent[members.nodes].tolist(),
        "gain": problem.gain[members.nodes].tolist(),
        "split_cost": problem.split_cost[members.nodes].tolist(),
        "cost": problem.cost[members.acquisitions].tolist(),
        "above": vertices["above"][of_part].tolist(),
        "flow": vertices["flow"][of_part].tolist(),
    }


def split_once(instance):
    cut = ParametricCut(presolve(instance))
    problem = cut.open.pop()
    _, cut.open = cut.split_once(problem, search_of(problem))
    return cut


def test_what_moved_and_returned_is_as_it_was(instance):
    cut = split_once(instance)
    assert len(cut.open) == 2
    before = [state_of(cut.network, problem.members) for problem in cut.open]
    assert any(value >= 0 for value in before[0]["above"])
    cut.open = [moved(moved(problem)) for problem in cut.open]
    for name in ("above", "flow"):
        cut.network.trees.vertices[name] = -7
    cut.network.problem.rows.bits[:] = -7
    cut.network.problem.rows.block[:] = -7
    cut.network.problem.parent[:] = -7
    cut.gather()
    assert [problem.host for problem in cut.open] == [cut.host, cut.host]
    assert [state_of(cut.network, problem.members) for problem in cut.open] == before


def test_a_host_holds_its_subproblem_and_nothing_else(instance):
    problem = split_once(instance).open[0]
    before, inside = state_of(problem.host.network, problem.members), moved(problem)
    assert inside.n_vertices == inside.host.network.trees.vertices.size
    after = state_of(inside.host.network, inside.members)
    assert all(before[name] == after[name] for name in ("gain", "split_cost", "cost", "flow"))
    acquisitions = problem.members.acquisitions
    assert before["rows"] == [acquisitions[row].tolist() for row in after["rows"]]


def test_returning_home_again_does_no_harm(instance):
    cut = split_once(instance)
    cut.open = [moved(problem) for problem in cut.open]
    inside = cut.open[0]
    parts, cut.open = cut.split_once(inside, search_of(inside))
    cut.open += parts
    return_home(inside.host)
    once = state_of(cut.network, inside.host.origin.subproblem.members)
    return_home(inside.host)
    assert state_of(cut.network, inside.host.origin.subproblem.members) == once


def test_the_host_of_the_whole_problem_has_no_other_home(instance):
    with pytest.raises(ValueError, match="host: expected that of a subproblem that moved"):
        return_home(ParametricCut(presolve(instance)).host)


def test_subproblems_move_where_they_are_a_small_part_of_many_triples(instance, monkeypatch):
    monkeypatch.setattr(subproblems, "MIN_ENTRIES_TO_MOVE", 20)
    search = PathSearch(instance, small=ONE_CUT_A_CALL)
    search.run()
    hosts = {problem.host for problem in search._cut.done}
    assert deepest(search._cut.done)
    for host in hosts - {search._cut.host}:
        outer = host.origin.subproblem
        assert outer.n_vertices <= subproblems.MAX_SHARE_OF_HOST * outer.host.network.trees.vertices.size
        assert outer.n_entries >= 20
    assert search.path().breakpoints == prune_path(instance).breakpoints


@pytest.mark.slow
@pytest.mark.parametrize(("small", "depth"), [(ONE_CUT_A_CALL, 5), (400, 0)])
def test_paths_are_those_of_plain_slicing(instance, always_moving, small, depth):
    search = PathSearch(instance, small=small)
    search.run()
    path = search.path()
    assert max(always_moving) >= depth
    assert list(path.breakpoints) == plain_slicing.breakpoints_and_node_lambdas(instance)[0]
    assert np.array_equal(path.node_breakpoint, prune_path(instance).node_breakpoint)
    assert_proves(instance, path)


@settings(max_examples=50, deadline=None)
@given(instances(), st.sampled_from([ONE_CUT_A_CALL, 5]), st.booleans())
def test_moving_changes_no_path(instance, small, coarse):
    paths = []
    for move in (moved, lambda problem: problem):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parametric_cut, "housed", move)
            search = PathSearch(instance, 2 if coarse else None, small=small)
            search.run()
            paths.append(search.path())
    assert paths[0].records() == paths[1].records()
    assert paths[0].skipped == paths[1].skipped
    assert np.array_equal(paths[0].node_breakpoint, paths[1].node_breakpoint)


@pytest.mark.parametrize("n_reports", [2, 6, 11])
def test_an_interrupted_search_with_moved_subproblems_goes_on_from_memory_and_from_a_file(
    instance, always_moving, tmp_path, n_reports
):
    search = interrupted_search(instance, n_reports)
    search.save(tmp_path / "search.npz")
    coarse = search.path()
    resumed = PathSearch.load(tmp_path / "search.npz", instance)
    assert resumed.path().records() == coarse.records()
    for one in (search, PathSearch.load(tmp_path / "search.npz", instance)):
        one.run()
        assert one.path().records() == prune_path(instance).records()
        assert_proves(instance, one.path())
