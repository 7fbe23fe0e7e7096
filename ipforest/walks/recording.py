"""What trees in order would answer and buy at every stage, were no example stopped: the compiled record of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, read_only
from ipforest._internal.kernels import njit, run_in_slices, uncounted_njit
from ipforest.ensemble.routing import child
from ipforest.walks.purse import Example, Purse, buy
from ipforest.walks.trees import SeenTrees, TreeWalk, begin, look_on, or_none, room_for_one, sureness


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
    example = room_for_one(trees, purse, outputs.shape[2])
    for i in range(table.shape[0]):
        begin(trees, purse, example)
        last[i] = _record_one(trees, purse, class_costs, table[i], example, signal[i], outputs[i], bought_at[i])


@uncounted_njit
def _record_one(
    trees: SeenTrees,
    purse: Purse,
    class_costs: Array,
    x: Array,
    example: Example,
    signal: Array,
    outputs: Array,
    bought_at: Array,
) -> int:
    """Note the stages of one example; tell its last one."""
    splits, stage = trees.splits, 0
    for tree in range(splits.root.size):
        node = example.node[tree]
        while splits.left[node] >= 0:
            feature = splits.feature[node]
            if not example.known[feature]:
                if example.barred[feature]:
                    break
                if not purse.free[feature]:
                    if _note(trees, class_costs, x, example, signal, outputs, stage):
                        return stage
                    for unit in (purse.first_unit[feature], purse.second_unit[feature]):
                        if not example.paid[unit]:
                            bought_at[unit] = stage
                    stage += 1
                buy(purse, feature, example)
            node = child(splits, node, np.nan if example.barred[feature] else x[feature])
    _note(trees, class_costs, x, example, signal, outputs, stage)
    return stage


@uncounted_njit
def _note(
    trees: SeenTrees, class_costs: Array, x: Array, example: Example, signal: Array, outputs: Array, stage: int
) -> bool:
    """Note what is answered at a stage, and how surely; tell whether the label is settled."""
    is_settled = look_on(trees, class_costs, x, example)
    signal[stage] = sureness(trees, class_costs, example)
    for k in range(example.output.size):
        outputs[stage, k] = example.output[k]
    return is_settled
