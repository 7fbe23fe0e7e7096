"""What trees in order would answer and buy at every stage, were no example stopped: the compiled record of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, read_only
from ipforest._internal.kernels import inner_njit, njit, run_in_slices
from ipforest.ensemble.routing import child
from ipforest.walks.purse import Example, Purse, buy, give_up
from ipforest.walks.trees import MEAN, SeenTrees, TreeWalk, conclude, or_none, sureness, unknown

NOTHING = -1
"""Ends a list of trees."""


class Recorded(NamedTuple):
    """Stages of examples, up to the one at which the label is settled or all trees have been asked.

    Parameters
    ----------
    signal : ndarray of float64, shape (n_samples, n_stages)
        How sure the answer is; 0 after the last stage.
    outputs : ndarray of float64, shape (n_samples, n_stages, n_outputs)
        What is answered; anything after the last stage.
    last : ndarray of int64, shape (n_samples,)
    bought_at : ndarray of int64, shape (n_samples, n_units)
        The stage from which a unit is bought; -1 for one that is not.
    """

    signal: Array
    outputs: Array
    last: Array
    bought_at: Array


def record(walk: TreeWalk, table: Array) -> Recorded:
    """Walk all examples on, and note their stages.

    Parameters
    ----------
    walk : TreeWalk
        Its rule is not asked.
    table : ndarray of float64, shape (n_samples, n_features)
    """
    splits, n = walk.trees.splits, table.shape[0]
    tested = read_only(np.unique(splits.feature[splits.left >= 0]))
    n_stages = 1 + int(np.count_nonzero(~walk.purse.free[tested]))
    signal, outputs = np.zeros((n, n_stages)), np.empty((n, n_stages, walk.n_outputs))
    last, bought_at = np.zeros(n, dtype=np.int64), np.full((n, walk.purse.unit_cost.size), -1)

    def note(part: slice) -> None:
        rows, costs = read_only(table[part]), or_none(walk.class_costs)
        _record(walk.trees, walk.purse, costs, tested, rows, signal[part], outputs[part], last[part], bought_at[part])

    run_in_slices(note, n, n * splits.root.size)
    return Recorded(signal, outputs, last, bought_at[:, :-1])


class Standing(NamedTuple):
    """Where the trees stand with an example.

    Trees that wait for the same feature are in a list: ``first_waiting`` (n_features,) and ``next_waiting`` (n_trees,).
    ``unseen`` (n_tested,) begins with the tested features that were unknown at the last look. ``everything`` and
    ``counted`` (n_outputs,) are sums over all trees and over those that count.
    """

    first_waiting: Array
    next_waiting: Array
    unseen: Array
    everything: Array
    counted: Array


@njit
def _record(
    trees: SeenTrees,
    purse: Purse,
    class_costs: Array,
    tested: Array,
    table: Array,
    signal: Array,
    outputs: Array,
    last: Array,
    bought_at: Array,
) -> None:
    n_trees, n_sums = trees.splits.root.size, trees.base_score.size
    example, paid = unknown(trees, table.shape[1], outputs.shape[2]), np.empty(purse.unit_cost.size, np.bool_)
    standing = Standing(
        np.empty(table.shape[1], np.int32),
        np.empty(n_trees, np.int32),
        np.empty(tested.size, np.int32),
        np.empty(n_sums),
        np.empty(n_sums),
    )
    for i in range(table.shape[0]):
        example.known[:], example.barred[:], example.node[:] = False, False, trees.splits.root
        paid[:] = False
        paid[-1] = True
        give_up(purse, paid, example)
        standing.unseen[:] = tested
        n_counted, n_unseen = _stand_at_roots(trees, example, standing), tested.size
        stage, is_over = 0, False
        for tree in range(n_trees):
            node = example.node[tree]
            while trees.splits.left[node] >= 0:
                feature = trees.splits.feature[node]
                if not example.known[feature]:
                    if example.barred[feature]:
                        break
                    if not purse.free[feature]:
                        n_counted, n_unseen = _look_on(trees, table[i], n_counted, n_unseen, example, standing)
                        is_over = _conclude(trees, class_costs, n_counted, example, standing)
                        signal[i, stage] = sureness(trees, class_costs, example)
                        outputs[i, stage] = example.output
                        if is_over:
                            break
                        for unit in (purse.first_unit[feature], purse.second_unit[feature]):
                            if not paid[unit]:
                                bought_at[i, unit] = stage
                        stage += 1
                    buy(purse, feature, paid, example)
                node = child(trees.splits, node, np.nan if example.barred[feature] else table[i, feature])
            if is_over:
                break
        if not is_over:
            n_counted, n_unseen = _look_on(trees, table[i], n_counted, n_unseen, example, standing)
            _conclude(trees, class_costs, n_counted, example, standing)
            signal[i, stage] = sureness(trees, class_costs, example)
            outputs[i, stage] = example.output
        last[i] = stage


@inner_njit
def _stand_at_roots(trees: SeenTrees, example: Example, standing: Standing) -> int:
    """Begin where nothing is known; return how many trees count."""
    n_counted = 0
    example.low[:], example.high[:] = 0.0, 0.0
    if trees.link != MEAN:
        example.low[:], example.high[:] = trees.base_score, trees.base_score
    standing.first_waiting[:] = NOTHING
    standing.everything[:], standing.counted[:] = 0.0, 0.0
    for tree in range(trees.splits.root.size):
        n_counted += _stand_at(trees, tree, trees.splits.root[tree], example, standing)
    return n_counted


@inner_njit
def _look_on(
    trees: SeenTrees, x: Array, n_counted: int, n_unseen: int, example: Example, standing: Standing
) -> tuple[int, int]:
    """Move the trees on that have waited for what is known by now.

    Values are such that sums do not depend on the order in which they are added up (`ipforest.ensemble.exact_sums`).

    Returns
    -------
    int
        How many trees count.
    int
        How many tested features are still unknown.
    """
    splits = trees.splits
    for place in range(n_unseen - 1, -1, -1):
        seen = standing.unseen[place]
        if not example.known[seen]:
            continue
        n_unseen -= 1
        standing.unseen[place] = standing.unseen[n_unseen]
        tree = standing.first_waiting[seen]
        while tree != NOTHING:
            following = standing.next_waiting[tree]
            node = example.node[tree]
            n_counted -= _weigh(trees, tree, node, -1.0, example, standing)
            while splits.left[node] >= 0 and example.known[splits.feature[node]]:
                feature = splits.feature[node]
                node = child(splits, node, np.nan if example.barred[feature] else x[feature])
            n_counted += _stand_at(trees, tree, node, example, standing)
            tree = following
    return n_counted, n_unseen


@inner_njit
def _stand_at(trees: SeenTrees, tree: int, node: int, example: Example, standing: Standing) -> int:
    """Note that a tree stands at a node; return 1 if it counts there, else 0."""
    example.node[tree] = node
    if trees.splits.left[node] >= 0:
        awaited = trees.splits.feature[node]
        standing.next_waiting[tree] = standing.first_waiting[awaited]
        standing.first_waiting[awaited] = tree
    return _weigh(trees, tree, node, 1.0, example, standing)


@inner_njit
def _weigh(trees: SeenTrees, tree: int, node: int, times: float, example: Example, standing: Standing) -> int:
    """Add what a node and the leaves below it say to the sums, or take it away; return 1 if it counts, else 0."""
    counts = trees.splits.left[node] < 0 or (trees.link == MEAN and node != trees.splits.root[tree])
    for column in range(trees.value.shape[1]):
        output = trees.first_output[tree] + column
        example.low[output] += times * trees.lowest[node, column]
        example.high[output] += times * trees.highest[node, column]
        standing.everything[output] += times * trees.value[node, column]
        if counts:
            standing.counted[output] += times * trees.value[node, column]
    return 1 if counts else 0


@inner_njit
def _conclude(trees: SeenTrees, class_costs: Array, n_counted: int, example: Example, standing: Standing) -> bool:
    """Answer from the sums; tell whether the label is settled."""
    example.everything[:], example.counted[:] = standing.everything, standing.counted
    return conclude(trees, class_costs, example, n_counted)
