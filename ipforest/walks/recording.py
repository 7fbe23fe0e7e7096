"""What trees in order would answer and buy at every stage, were no example stopped: the compiled record of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, read_only
from ipforest._internal.kernels import inner_njit, njit, run_in_slices
from ipforest.ensemble.routing import child
from ipforest.walks.purse import Example, Purse, buy, give_up
from ipforest.walks.trees import MEAN, SeenTrees, TreeWalk, conclude, or_none, sureness, unknown

LEAF = -1
"""What a tree waits for that stands at a leaf."""


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
    tested = np.unique(splits.feature[splits.left >= 0])
    n_stages = 1 + int(np.count_nonzero(~walk.purse.free[tested]))
    signal, outputs = np.zeros((n, n_stages)), np.empty((n, n_stages, walk.n_outputs))
    last, bought_at = np.zeros(n, dtype=np.int64), np.full((n, walk.purse.unit_cost.size), -1)

    def note(part: slice) -> None:
        rows, costs = read_only(table[part]), or_none(walk.class_costs)
        _record(walk.trees, walk.purse, costs, rows, signal[part], outputs[part], last[part], bought_at[part])

    run_in_slices(note, n, n * splits.root.size)
    return Recorded(signal, outputs, last, bought_at[:, :-1])


class Standing(NamedTuple):
    """Where the trees stand with an example: the feature that each waits for, whether its node counts, what it says.

    What the leaves below the node say at least and at most is there as well.
    """

    waits: Array
    counts: Array
    says: Array
    lowest: Array
    highest: Array


@njit
def _record(
    trees: SeenTrees,
    purse: Purse,
    class_costs: Array,
    table: Array,
    signal: Array,
    outputs: Array,
    last: Array,
    bought_at: Array,
) -> None:
    n_trees, n_values = trees.splits.root.size, trees.value.shape[1]
    example, paid = unknown(trees, table.shape[1], outputs.shape[2]), np.empty(purse.unit_cost.size, np.bool_)
    says, lowest, highest = np.empty((n_trees, n_values)), np.empty((n_trees, n_values)), np.empty((n_trees, n_values))
    standing = Standing(np.empty(n_trees, np.int32), np.empty(n_trees, np.bool_), says, lowest, highest)
    for i in range(table.shape[0]):
        example.known[:], example.barred[:], example.node[:] = False, False, trees.splits.root
        paid[:] = False
        paid[-1] = True
        give_up(purse, paid, example)
        _stand_at_roots(trees, example, standing)
        stage, is_over = 0, False
        for tree in range(n_trees):
            node = example.node[tree]
            while trees.splits.left[node] >= 0:
                feature = trees.splits.feature[node]
                if not example.known[feature]:
                    if example.barred[feature]:
                        break
                    if not purse.free[feature]:
                        is_over = _look_on(trees, class_costs, table[i], example, standing)
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
            _look_on(trees, class_costs, table[i], example, standing)
            signal[i, stage] = sureness(trees, class_costs, example)
            outputs[i, stage] = example.output
        last[i] = stage


@inner_njit
def _stand_at_roots(trees: SeenTrees, example: Example, standing: Standing) -> None:
    """Begin where nothing is known."""
    for tree in range(standing.waits.size):
        _stand_at(trees, tree, example.node[tree], False, example, standing)


@inner_njit
def _look_on(trees: SeenTrees, class_costs: Array, x: Array, example: Example, standing: Standing) -> bool:
    """Move the trees on that have waited for what is known by now, and answer; tell whether the label is settled.

    Bounds are summed anew in the order of trees, as walks and sessions sum them: a rounding apart, a level of a rule
    would part examples here that it does not part there.
    """
    splits, averages = trees.splits, trees.link == MEAN
    n_counted = 0
    example.counted[:], example.everything[:], example.low[:], example.high[:] = 0.0, 0.0, 0.0, 0.0
    for tree in range(splits.root.size):
        if standing.waits[tree] != LEAF and example.known[standing.waits[tree]]:
            node = example.node[tree]
            while splits.left[node] >= 0 and example.known[splits.feature[node]]:
                feature = splits.feature[node]
                node = child(splits, node, np.nan if example.barred[feature] else x[feature])
            _stand_at(trees, tree, node, averages, example, standing)
        n_counted += standing.counts[tree]
        for column in range(trees.value.shape[1]):
            output = trees.first_output[tree] + column
            if standing.counts[tree]:
                example.counted[output] += standing.says[tree, column]
            example.everything[output] += standing.says[tree, column]
            example.low[output] += standing.lowest[tree, column]
            example.high[output] += standing.highest[tree, column]
    if not averages:
        for k in range(example.low.size):
            example.low[k] += trees.base_score[k]
            example.high[k] += trees.base_score[k]
    return conclude(trees, class_costs, example, n_counted)


@inner_njit
def _stand_at(trees: SeenTrees, tree: int, node: int, counts: bool, example: Example, standing: Standing) -> None:
    """Note that a tree stands at a node, which counts or does only if it is a leaf."""
    is_leaf = trees.splits.left[node] < 0
    example.node[tree] = node
    standing.waits[tree] = LEAF if is_leaf else trees.splits.feature[node]
    standing.counts[tree] = counts or is_leaf
    for column in range(trees.value.shape[1]):
        standing.says[tree, column] = trees.value[node, column]
        standing.lowest[tree, column] = trees.lowest[node, column]
        standing.highest[tree, column] = trees.highest[node, column]
