"""A cut with helpers ends as it does without, however the threads take turns."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from closure_checks import network_of
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest import prune_path, solve
from ipforest._internal.kernels import njit
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow import threads
from ipforest.maxflow.network import STOP, Lambda
from ipforest.maxflow.pseudoflow import maximum_flow
from ipforest.maxflow.shared_search import HELPERS, LIMIT, NEXT, NO_TICKET, hand_out, new_shared_search, take_ticket
from ipforest.maxflow.threads import MIN_ENTRIES_FOR_HELPERS, helped
from ipforest.path_search import PathSearch


@pytest.fixture(scope="module")
def forest_instance():
    return synthetic_instance(10, 600, 20, n_training=2000, max_price=9, seed=2)


def with_threads(patch, n_threads):
    patch.setattr(threads, "MIN_ENTRIES_FOR_HELPERS", 0)
    patch.setattr(threads, "n_threads", lambda: n_threads)


def cut_of(instance, lam, n_threads, stop=0):
    network = network_of(instance)
    network.signals[STOP] = stop
    with pytest.MonkeyPatch.context() as patch:
        with_threads(patch, n_threads)
        with helped(network, network.whole, network.problem.rows.bits.size) as search:
            assert search.board[HELPERS] == n_threads - 1
            done = maximum_flow(network, network.whole, search, Lambda(*instance.scaled_lambda(lam)), 1.0)
    assert not search.changes.any()
    return done, network.trees


def assert_same_cut(first, second):
    (done, trees), (other_done, other_trees) = first, second
    assert done == other_done
    assert np.array_equal(trees.imbalance, other_trees.imbalance)
    assert np.array_equal(trees.labels, other_trees.labels)
    for name in ("above", "flow"):
        assert np.array_equal(trees.vertices[name], other_trees.vertices[name])


@settings(max_examples=60, deadline=None)
@given(instances(), lambdas)
def test_a_helper_changes_nothing(instance, lam):
    assert_same_cut(cut_of(instance, lam, 2), cut_of(instance, lam, 1))


@pytest.mark.parametrize("n_threads", [2, 4])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_helpers_change_nothing_on_a_forest(forest_instance, n_threads, share):
    breakpoints = prune_path(forest_instance).breakpoints
    lam = breakpoints[int(share * len(breakpoints))]
    alone = cut_of(forest_instance, lam, 1)
    assert alone[0][1] > 100
    for _ in range(3):
        assert_same_cut(cut_of(forest_instance, lam, n_threads), alone)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_paths_and_prunings_are_the_same(forest_instance, n_threads, monkeypatch):
    path, lam = prune_path(forest_instance), "0.001"
    alone = solve(forest_instance, lam)
    with_threads(monkeypatch, n_threads)
    search = PathSearch(forest_instance, small=-1)
    search.run()
    assert search.path().breakpoints == path.breakpoints
    assert np.array_equal(search.path().node_breakpoint, path.node_breakpoint)
    helped = solve(forest_instance, lam)
    assert (helped.pruning, helped.objective, helped.bound) == (alone.pruning, alone.objective, alone.bound)


def test_a_signal_stops_a_cut_with_helpers(forest_instance):
    (n_kept, n_mergers, is_whole), _ = cut_of(forest_instance, "0.001", 3, stop=1)
    assert (n_kept, is_whole) == (0, False)
    assert n_mergers == 0


def test_helpers_end_when_the_cut_fails(forest_instance, monkeypatch):
    with_threads(monkeypatch, 3)
    network = network_of(forest_instance)
    with pytest.raises(KeyError), helped(network, network.whole, network.problem.rows.bits.size):
        raise KeyError


def test_small_cuts_and_single_threads_have_no_helpers(forest_instance, monkeypatch):
    network = network_of(forest_instance)
    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    with helped(network, network.whole, MIN_ENTRIES_FOR_HELPERS - 1) as search:
        assert search.board[HELPERS] == 0
    with helped(network, network.whole, MIN_ENTRIES_FOR_HELPERS) as search:
        assert search.board[HELPERS] == 3
    monkeypatch.setattr(threads, "n_threads", lambda: 1)
    with helped(network, network.whole, MIN_ENTRIES_FOR_HELPERS) as search:
        assert search.board[HELPERS] == 0


@njit
def begin_round(board, size):
    hand_out(board, size)


@njit
def take(board):
    return take_ticket(board)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5))
@settings(max_examples=20)
def test_tickets_of_rounds_are_numbered_from_zero(sizes):
    board = new_shared_search(1, 1, 0).board
    for size in sizes:
        begin_round(board, size)
        assert [take(board) for _ in range(size + 2)] == [*range(size), NO_TICKET, NO_TICKET]
    assert board[NEXT] == board[LIMIT] == sum(sizes)


@njit
def take_until_none(board, taken):
    i = take_ticket(board)
    while i != NO_TICKET:
        taken[i] += 1
        i = take_ticket(board)


def test_each_ticket_is_taken_once_by_three_threads():
    board, size = new_shared_search(1, 1, 0).board, 200_000
    begin_round(board, size)
    taken = np.zeros((3, size), dtype=np.int64)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(take_until_none, [board] * 3, taken))
    assert np.array_equal(taken.sum(axis=0), np.ones(size))
