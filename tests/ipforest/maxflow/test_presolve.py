from fractions import Fraction

import numpy as np
from closure_checks import assert_feasible, row_of
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest import PruningInstance, prune_path, solve
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.flows import reduce_flow
from ipforest.maxflow.presolve import ALWAYS_KEPT, FREE, presolve
from proofs.crosschecks.brute_force import brute_force


def one_tree(gains: list[int], rows: list[list[int]], costs: list[int]) -> PruningInstance:
    """A chain of internal nodes, each with one leaf and the next node below."""
    n = len(gains)
    parent = np.array([-1, *np.repeat(np.arange(0, 2 * n, 2), 2)[: 2 * n]])
    errors = np.zeros(2 * n + 1, dtype=np.int64)
    errors[0::2][:n] = np.cumsum(gains[::-1])[::-1] + 100
    errors[2 * n] = 100
    return PruningInstance(
        tree_offsets=np.array([0, 2 * n + 1]),
        node_parent=parent,
        errors=errors,
        indptr=np.cumsum([0] + [len(row) for row in rows]),
        indices=np.array([j for row in rows for j in row], dtype=np.int32),
        acquisition_unit=np.zeros(len(costs), dtype=np.int32),
        acquisition_example=np.arange(len(costs)),
        acquisition_cost=np.array(costs),
        split_cost=np.zeros(n, dtype=np.int64),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=1,
        n_examples=len(costs),
    )


def test_free_nodes_merge_twins_merge_and_what_is_free_at_the_top_leaves():
    instance = one_tree([3, 2, 4, 5, 0], [[], [0, 1], [2], [3, 4], []], [2, 3, 0, 1, 1])
    reduced = presolve(instance)
    assert reduced.node.tolist() == [ALWAYS_KEPT, 0, 0, 1, 2]
    assert reduced.gain.tolist() == [6, 5, 0]
    assert reduced.parent.tolist() == [-1, 0, 1]
    assert reduced.acquisition.tolist() == [0, 0, FREE, 1, 1]
    assert reduced.cost.tolist() == [5, 2]
    assert [row_of(reduced.rows, h) for h in range(3)] == [[0], [1], []]


def test_nothing_to_reduce_changes_nothing():
    instance = one_tree([3, 2], [[0], [1]], [1, 1])
    reduced = presolve(instance)
    assert [row_of(reduced.rows, h) for h in range(2)] == [[0], [1]]
    assert reduced.gain is instance.gain


@settings(max_examples=80)
@given(instances(), lambdas, st.sampled_from([1, 2, 10**9]))
def test_rewriting_the_rows_or_not_gives_the_same_answer(instance, lam, twin_share):
    reduced = presolve(instance, twin_share)
    assert np.all(reduced.cost > 0)
    assert np.array_equal(reduced.node >= 0, reduced.node != ALWAYS_KEPT)
    merged_cost = np.bincount(
        reduced.acquisition[reduced.acquisition != FREE],
        instance.acquisition_cost[reduced.acquisition != FREE],
        minlength=reduced.cost.size,
    )
    assert np.array_equal(merged_cost, reduced.cost)
    result = solve(instance, lam)
    assert result.objective == result.bound == brute_force(instance, lam).objective
    assert_feasible(instance, result.flow)
    payments, up = reduce_flow(instance, reduced, result.flow)
    assert payments.amount.sum() == result.flow.triple.sum()
    assert up.size == reduced.parent.size


def test_acquisitions_that_share_a_signature_by_chance_stay_apart(monkeypatch):
    """With equal keys the signature counts rows only, so that nearly all acquisitions look like twins."""
    instance = synthetic_instance(5, 200, 10, n_training=500, max_price=9, seed=0)
    expected = prune_path(instance)
    monkeypatch.setattr("ipforest.maxflow.presolve._random_keys", lambda size: np.ones(size, dtype=np.uint64))
    found = prune_path(instance)
    assert found.breakpoints == expected.breakpoints
    assert np.array_equal(found.node_breakpoint, expected.node_breakpoint)
