"""Compiled walks through trees in order, which a rule may stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, aligned_empty, read_only
from ipforest._internal.kernels import inner_njit, njit, uncounted_njit
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.links import LINKS, link_one
from ipforest.ensemble.routing import Splits, child
from ipforest.walks.purse import Example, Purse, buy, give_up, walked
from ipforest.walks.rules import NEVER, RuleTables, keenness

MEAN = len(LINKS)
"""Stands for averaged trees where a kernel is told the link of summed ones."""

LEAF = -1
"""What a tree waits for that stands at a leaf."""

SETTLED_SLACK = 1e-9
"""By how much, relative to the sums, one label must lead to be settled: sums of floats depend on their order."""


class SeenTrees(NamedTuple):
    """Trees, and what the leaves below each node say; see `ipforest.policy.TreesInOrder`.

    Parameters
    ----------
    splits : Splits
    value, lowest, highest : ndarray of float64, shape (n_nodes, n_values)
    first_output : ndarray of int32, shape (n_trees,)
    base_score : ndarray of float64, shape (n_margins,)
    link : int
        The place of the link in `LINKS`, or `MEAN`.
    classify : bool
    """

    splits: Splits
    value: Array
    lowest: Array
    highest: Array
    first_output: Array
    base_score: Array
    link: int
    classify: bool


NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("left", np.int32),
        ("right", np.int32),
        ("feature", np.int32),
        ("category_set", np.int32),
        ("missing_left", np.bool_),
    ],
    align=True,
)
"""What a walk reads of a node, on one line of the cache."""


def packed(splits: Splits) -> Splits:
    """Store what nodes ask node by node, so that one row does not wait for the memory once for each field."""
    n = splits.left.size
    nodes = empty_nodes(n)
    for name in NODE.fields or ():
        nodes[name][:n] = getattr(splits, name)
    return splits._replace(**{name: nodes[name] for name in NODE.fields or ()})


def empty_nodes(n_nodes: int) -> Array:
    """Allocate `NODE` records.

    There are at least two, as the field of a single record is a vector of another kind to kernels.
    """
    nodes = aligned_empty(max(n_nodes, 2), NODE)
    nodes["left"][n_nodes:] = -1  # what is no node is no test either
    return nodes


def or_none(class_costs: FloatArray | None) -> Array:
    """Take class costs as the kernels do: an empty matrix where there are none."""
    return read_only(np.empty((0, 0)) if class_costs is None else class_costs)


@dataclass(frozen=True, slots=True, eq=False)
class TreeWalk:
    """Walk through trees in order; a rule may stop before each purchase.

    Parameters
    ----------
    trees : SeenTrees
    purse : Purse
    rule : RuleTables
    level : float
        An example goes on while its keenness exceeds this.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
    n_outputs : int
    """

    trees: SeenTrees
    purse: Purse
    rule: RuleTables
    level: float
    class_costs: FloatArray | None
    n_outputs: int

    def __call__(self, table: Array, *, answers: bool = True) -> tuple[FloatArray, Array]:
        """Walk all examples."""
        costs = or_none(self.class_costs)

        def walk(rows: Array, outputs: FloatArray, tests: Array) -> None:
            _walk_trees(self.trees, self.purse, self.rule, self.level, costs, answers, rows, outputs, tests)

        return walked(walk, table, self.n_outputs, self.trees.splits.root.size)


@njit
def _walk_trees(
    trees: SeenTrees,
    purse: Purse,
    rule: RuleTables,
    level: float,
    class_costs: Array,
    answers: bool,
    table: Array,
    outputs: Array,
    tests: Array,
) -> None:
    example, no_costs = room_for_one(trees, purse, outputs.shape[1]), class_costs[:0]
    for i in range(table.shape[0]):
        if rule.kind == NEVER and np.isinf(purse.limit):
            _walk_to_leaves(trees.splits, table[i], example, tests[i])
            if answers:
                _add_leaves(trees, example)
        else:
            begin(trees, purse, example)
            _walk_one(trees, purse, rule, level, class_costs, table[i], example, tests[i])
            if answers:
                look_on(trees, no_costs, table[i], example)
        outputs[i] = example.output


@inner_njit
def room_for_one(trees: SeenTrees, purse: Purse, n_outputs: int) -> Example:
    """Make room for what is known of one example."""
    n_features, n_trees = purse.free.size, trees.splits.root.size
    n_margins, shape = trees.base_score.size, (n_trees, trees.value.shape[1])
    return Example(
        np.empty(n_features, np.bool_),
        np.empty(n_features, np.bool_),
        np.empty(purse.unit_cost.size, np.bool_),
        np.empty(n_trees, np.int64),
        np.empty(n_trees, np.int32),
        np.empty(n_trees, np.bool_),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(n_margins),
        np.empty(n_margins),
        np.empty(n_margins),
        np.empty(n_margins),
        np.empty(n_outputs),
        np.empty((2, n_outputs)),
    )


@inner_njit
def begin(trees: SeenTrees, purse: Purse, example: Example) -> None:
    """Begin at the roots, where nothing is known but what no money could buy."""
    example.known[:], example.barred[:], example.paid[:] = False, False, False
    example.paid[-1] = True
    give_up(purse, example)
    for tree in range(trees.splits.root.size):
        _stand_at(trees, tree, trees.splits.root[tree], False, example)


@uncounted_njit
def _walk_to_leaves(splits: Splits, x: Array, example: Example, tests: Array) -> None:
    """Walk an example of which everything is known; all trees end at leaves."""
    for tree in range(splits.root.size):
        node = splits.root[tree]
        while splits.left[node] >= 0:
            tests[splits.feature[node]] += 1
            node = child(splits, node, x[splits.feature[node]])
        example.node[tree] = node


@uncounted_njit
def _add_leaves(trees: SeenTrees, example: Example) -> None:
    """Answer where all trees have ended at leaves, adding up in the order of `_sum_anew`."""
    example.counted[:] = 0.0
    for tree in range(trees.splits.root.size):
        for column in range(trees.value.shape[1]):
            example.counted[trees.first_output[tree] + column] += trees.value[example.node[tree], column]
    _answer(trees, example.counted, trees.splits.root.size, example.output)


@uncounted_njit
def _answer(trees: SeenTrees, sums: Array, n_counted: int, output: Array) -> None:
    """Average the sums over so many trees, or link them, to which the base score is added."""
    if trees.link == MEAN:
        for k in range(sums.size):
            output[k] = sums[k] / n_counted
    else:
        for k in range(sums.size):
            sums[k] += trees.base_score[k]
        link_one(trees.link, sums, sums.size, output)


@uncounted_njit
def _walk_one(
    trees: SeenTrees,
    purse: Purse,
    rule: RuleTables,
    level: float,
    class_costs: Array,
    x: Array,
    example: Example,
    tests: Array,
) -> None:
    """Walk one example until it is stopped, or all trees have been asked."""
    splits, stage, memory = trees.splits, 0, 0
    for tree in range(splits.root.size):
        node = splits.root[tree]
        while splits.left[node] >= 0:
            feature = splits.feature[node]
            if not example.known[feature]:
                if example.barred[feature]:
                    break
                if rule.kind != NEVER and not purse.free[feature]:
                    settled = look_on(trees, class_costs, x, example)
                    keen, memory = keenness(rule, stage, sureness(trees, class_costs, example), memory)
                    stage += 1
                    if settled or keen <= level:
                        return
                buy(purse, feature, example)
            if not example.barred[feature]:
                tests[feature] += 1
            node = child(splits, node, np.nan if example.barred[feature] else x[feature])


@uncounted_njit
def look_on(trees: SeenTrees, class_costs: Array, x: Array, example: Example) -> bool:
    """Answer from what is known; tell whether nothing that is unknown can change the label."""
    n_counted = _sum_anew(trees, x, example)
    settled = trees.classify and _is_settled(trees, class_costs, example)
    if settled or (trees.link == MEAN and n_counted == 0):
        _answer(trees, example.everything, trees.splits.root.size, example.output)
    else:
        _answer(trees, example.counted, n_counted, example.output)
    return settled


@uncounted_njit
def _sum_anew(trees: SeenTrees, x: Array, example: Example) -> int:
    """Move the trees on that have waited for what is known by now, and add up; tell how many trees count.

    Bounds are summed anew in the order of trees, as sessions sum them: a rounding apart, a level of a rule would part
    examples here that it does not part there.
    """
    splits, averages = trees.splits, trees.link == MEAN
    n_counted = 0
    example.counted[:], example.everything[:], example.low[:], example.high[:] = 0.0, 0.0, 0.0, 0.0
    for tree in range(splits.root.size):
        if example.waits[tree] != LEAF and example.known[example.waits[tree]]:
            node = example.node[tree]
            while splits.left[node] >= 0 and example.known[splits.feature[node]]:
                feature = splits.feature[node]
                node = child(splits, node, np.nan if example.barred[feature] else x[feature])
            _stand_at(trees, tree, node, averages, example)
        n_counted += example.counts[tree]
        for column in range(trees.value.shape[1]):
            output = trees.first_output[tree] + column
            if example.counts[tree]:
                example.counted[output] += example.says[tree, column]
            example.everything[output] += example.says[tree, column]
            example.low[output] += example.lowest[tree, column]
            example.high[output] += example.highest[tree, column]
    if not averages:
        for k in range(example.low.size):
            example.low[k] += trees.base_score[k]
            example.high[k] += trees.base_score[k]
    return int(n_counted)


@uncounted_njit
def _stand_at(trees: SeenTrees, tree: int, node: int, counts: bool, example: Example) -> None:
    """Note that a tree stands at a node, which counts or does only if it is a leaf."""
    is_leaf = trees.splits.left[node] < 0
    example.node[tree] = node
    example.waits[tree] = LEAF if is_leaf else trees.splits.feature[node]
    example.counts[tree] = counts or is_leaf
    for column in range(trees.value.shape[1]):
        example.says[tree, column] = trees.value[node, column]
        example.lowest[tree, column] = trees.lowest[node, column]
        example.highest[tree, column] = trees.highest[node, column]


@uncounted_njit
def _is_settled(trees: SeenTrees, class_costs: Array, example: Example) -> bool:
    low, high = example.low, example.high
    if class_costs.size:
        return _cheapest_is_certain(trees, class_costs, example)
    most, leader, others = 0.0, 0, -np.inf
    for k in range(low.size):
        most = max(most, max(abs(low[k]), abs(high[k])))
        if low[k] > low[leader]:
            leader = k
    slack = SETTLED_SLACK * most
    if low.size == 1:
        return bool(low[0] > slack or high[0] < -slack)
    for k in range(low.size):
        if k != leader:
            others = max(others, high[k])
    return bool(low[leader] > others + slack)


@uncounted_njit
def _cheapest_is_certain(trees: SeenTrees, class_costs: Array, example: Example) -> bool:
    """Tell whether one label is the cheapest for all probabilities within bounds."""
    low, high = example.bounds[0], example.bounds[1]
    if trees.link == MEAN:
        for k in range(low.size):
            low[k], high[k] = example.low[k], example.high[k]
    elif example.low.size == 1:
        link_one(trees.link, example.low, 1, low)
        link_one(trees.link, example.high, 1, high)
        for k in range(2):
            low[k], high[k] = min(low[k], high[k]), max(low[k], high[k])
    else:
        largest = example.high[0]
        for k in range(1, low.size):
            largest = max(largest, example.high[k])
        for k in range(low.size):
            low[k], high[k] = np.exp(example.low[k] - largest), np.exp(example.high[k] - largest)
    label, least, largest_cost, total_high = 0, np.inf, 0.0, 0.0
    for predicted in range(low.size):
        expected = 0.0
        total_high += high[predicted]
        for true in range(low.size):
            largest_cost = max(largest_cost, class_costs[true, predicted])
            expected += (low[true] + high[true]) * class_costs[true, predicted]
        if expected < least:
            label, least = predicted, expected
    most = -np.inf
    for predicted in range(low.size):
        if predicted == label:
            continue
        total = 0.0
        for true in range(low.size):
            extra = class_costs[true, label] - class_costs[true, predicted]
            total += max(extra, 0.0) * high[true] + min(extra, 0.0) * low[true]
        most = max(most, total)
    return bool(most < -SETTLED_SLACK * largest_cost * total_high)


@uncounted_njit
def sureness(trees: SeenTrees, class_costs: Array, example: Example) -> float:
    """Say how sure an answer is: its margin, or for a target minus the width of what it may still come to."""
    if example.output.size > 1:
        return margin(example.output, class_costs)
    if trees.link == MEAN:
        return float(example.low[0] / trees.splits.root.size - example.high[0] / trees.splits.root.size)
    low, high = example.bounds[0], example.bounds[1]
    link_one(trees.link, example.low, 1, low)
    link_one(trees.link, example.high, 1, high)
    return float(low[0] - high[0])


@uncounted_njit
def margin(output: Array, class_costs: Array) -> float:
    """Compute by how much the likeliest class leads, or the cheapest label is cheaper than the next."""
    first, second = -np.inf, -np.inf
    for k in range(output.size):
        worth = output[k]
        if class_costs.size:
            expected = 0.0
            for true in range(output.size):
                expected += output[true] * class_costs[true, k]
            worth = -expected
        if worth > first:
            first, second = worth, first
        elif worth > second:
            second = worth
    return float(first - second)


def link_of(trees: Forest | BoostedTrees) -> int:
    """Return the number that the link of trees has in kernels."""
    return MEAN if trees.link == "mean" else LINKS.index(trees.link)


def n_outputs_of(trees: Forest | BoostedTrees) -> int:
    """Count the class probabilities that trees answer with, or 1 for a target."""
    return 1 if trees.classes is None else len(trees.classes)
