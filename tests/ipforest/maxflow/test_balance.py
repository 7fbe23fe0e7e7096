"""A search that lost something, or holds something twice, is refused, in memory and in a file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from interrupted_searches import ONE_CUT_A_CALL
from strategies import instances

from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.balance import balance_fault
from ipforest.path_search import PathSearch, prune_path


@pytest.fixture(scope="module")
def instance():
    return synthetic_instance(4, 60, 30, max_price=9, seed=3)


@settings(max_examples=40)
@given(instances())
def test_the_flow_of_every_path_is_in_balance(instance):
    assert balance_fault(instance, prune_path(instance).flow) is None


FLOWS = ("triple", "up", "gain", "split")


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("change", [1, -1])
def test_every_unit_of_flow_counts(instance, name, change):
    flow = prune_path(instance).flow
    for place in range(0, getattr(flow, name).size, 7):
        changed = getattr(flow, name).copy()
        changed[place] += change
        assert _fault_of_changed(instance, flow, name, changed) is not None


def _fault_of_changed(instance, flow, name, changed):
    try:
        return balance_fault(instance, replace(flow, **{name: changed}))
    except ValueError as problem:  # the record itself refuses it
        return str(problem)


def test_every_node_counts(instance):
    flow = prune_path(instance).flow
    for node in range(instance.n_internal):
        for piece in {-1, 0, len(flow.p)} - {int(flow.node_breakpoint[node])}:
            changed = flow.node_breakpoint.copy()
            changed[node] = piece
            if instance.gain[node] or instance.split_cost[node]:
                assert balance_fault(instance, replace(flow, node_breakpoint=changed)) is not None


def stopped_search(instance):
    search = PathSearch(instance, small=ONE_CUT_A_CALL)
    seen = []

    def interrupt(share, message):
        seen.append(share)
        if len(seen) >= 6 and search._cut.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(interrupt)
    assert search._cut.open
    assert search._cut.done
    return search


def lose(problems):
    problems.pop()


def repeat(problems):
    problems.append(problems[0])


@pytest.mark.parametrize("change", [lose, repeat])
@pytest.mark.parametrize("name", ["open", "done"])
def test_a_subproblem_that_is_lost_or_there_twice_is_noticed(instance, tmp_path, name, change):
    search, file = stopped_search(instance), tmp_path / "search.npz"
    search.save(file)
    stored = dict(np.load(file))
    problems = json.loads(str(stored[name]))
    change(problems)
    np.savez(file, **{**stored, name: np.array(json.dumps(problems))})
    with pytest.raises(
        ValueError, match=r"subproblems whose nodes are not each of .* once; remove the file to start anew"
    ):
        PathSearch.load(file, instance)
    change(getattr(search._cut, name))
    with pytest.raises(ValueError, match=r"nodes are not each of .* once; start a new search"):
        search.path()


def test_a_breakpoint_that_does_not_break_even_is_noticed(instance, tmp_path):
    search, file = stopped_search(instance), tmp_path / "search.npz"
    search.save(file)
    stored = dict(np.load(file))
    done = json.loads(str(stored["done"]))
    done[0][-2] += 1
    np.savez(file, **{**stored, "done": np.array(json.dumps(done))})
    with pytest.raises(ValueError, match=r"that breaks even at .*; remove the file to start anew"):
        PathSearch.load(file, instance)
