"""Compiled walks through trees: leaves reached, tests made.

Where a test sends an example is decided in one place, `child`: another kind of test is another field of `Splits` and a
branch there. Threads share trees or examples, so results do not depend on their number.
"""

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, in_rows
from ipforest._internal.kernels import inner_njit, njit, run_in_slices


class Splits(NamedTuple):
    """What the nodes of all trees ask, and where the answers lead.

    Parameters
    ----------
    root : ndarray of int64, shape (n_trees,)
    left, right : ndarray of int32, shape (n_nodes,)
        Children over all nodes, -1 at leaves.
    feature : ndarray of int32, shape (n_nodes,)
    threshold : ndarray of float64, shape (n_nodes,)
        An example goes left if its feature is at most this.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether a missing value goes left.
    category_set : ndarray of int32, shape (n_nodes,)
        The set of categories that goes left, -1 for a test of a number.
    set_offsets, listed, others : ndarray of int64 (n_sets + 1,), int64 (n_listed,) and bool (n_sets,)
        The sets; see `ipforest.ensemble.category_sets.CategorySets`.
    """

    root: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    category_set: Array
    set_offsets: Array
    listed: Array
    others: Array


@inner_njit
def child(splits: Splits, node: int, x: float) -> int:
    """Return the child of a node to which its test sends a value."""
    if np.isnan(x):
        goes_left = splits.missing_left[node]
    elif splits.others.size > 0 and splits.category_set[node] >= 0:
        category = 0.0 if splits.threshold[node] < x < 0 else x
        goes_left = _lists(splits, splits.category_set[node], category) != splits.others[splits.category_set[node]]
    else:
        goes_left = x <= splits.threshold[node]
    return int(splits.left[node] if goes_left else splits.right[node])


@inner_njit
def _lists(splits: Splits, number: int, x: float) -> bool:
    """Return whether a set lists a category, by bisection."""
    low, high = splits.set_offsets[number], splits.set_offsets[number + 1]
    if low == high or x < 0 or x >= splits.listed[high - 1] + 1:
        return False
    category = int(x)
    while high - low > 1:
        middle = (low + high) // 2
        if splits.listed[middle] <= category:
            low = middle
        else:
            high = middle
    return bool(splits.listed[low] == category)


def reached_leaves(splits: Splits, examples: Array, leaves: Array) -> None:
    """Write the leaf that each example reaches in each tree into ``leaves`` (n_trees, n_samples)."""
    rows = in_rows(examples)

    def reach(trees: slice) -> None:
        _reach_leaves(splits._replace(root=splits.root[trees]), rows, leaves[trees])

    run_in_slices(reach, splits.root.size, leaves.size)


@njit
def _reach_leaves(splits: Splits, examples: Array, leaves: Array) -> None:
    for tree in range(splits.root.size):
        for i in range(examples.shape[0]):
            node = splits.root[tree]
            while splits.left[node] >= 0:
                node = child(splits, node, examples[i, splits.feature[node]])
            leaves[tree, i] = node


def summed_values(splits: Splits, value: Array, examples: Array) -> Array:
    """Add up what the leaves say that examples reach, tree by tree, shape (n_samples, n_outputs)."""
    totals = np.zeros((examples.shape[0], value.shape[1]))
    all_rows = in_rows(examples)

    def add(rows: slice) -> None:
        _add_values(splits, value, all_rows[rows], totals[rows])

    run_in_slices(add, examples.shape[0], examples.shape[0] * splits.root.size)
    return totals


@njit
def _add_values(splits: Splits, value: Array, examples: Array, totals: Array) -> None:
    for tree in range(splits.root.size):
        for i in range(examples.shape[0]):
            node = splits.root[tree]
            while splits.left[node] >= 0:
                node = child(splits, node, examples[i, splits.feature[node]])
            for output in range(value.shape[1]):
                totals[i, output] += value[node, output]


@njit
def walk_on(
    splits: Splits, rows: Array, examples: Array, known: Array, barred: Array, place: Array, tests: Array, wanted: Array
) -> None:
    """Walk examples on through the trees in order, up to the first test of a feature that is not known.

    A tree that tests a feature that is not known but ``barred`` (n_samples, n_features) is left at that node.
    ``place`` (n_samples, 2) holds the tree and, counted from its root, the node at which each example stands; ``tests``
    (n_samples, n_features) counts its tests. ``wanted`` (n_rows,) gets the unknown feature, -1 at the end.
    """
    for position in range(rows.size):
        i = rows[position]
        tree, below_root, asked = place[i, 0], place[i, 1], -1
        while tree < splits.root.size and asked < 0:
            node = splits.root[tree] + below_root
            while splits.left[node] >= 0:
                feature = splits.feature[node]
                if not known[i, feature]:
                    if not barred[i, feature]:
                        asked = feature
                    break
                tests[i, feature] += 1
                node = child(splits, node, examples[i, feature])
            if asked >= 0:
                below_root = node - splits.root[tree]
            else:
                tree, below_root = tree + 1, 0
        place[i, 0], place[i, 1], wanted[position] = tree, below_root, asked


@njit
def walk_all(
    splits: Splits,
    rows: Array,
    examples: Array,
    known: Array,
    barred: Array,
    delayed: Array,
    place: Array,
    tests: Array,
    wanted: Array,
) -> None:
    """Walk examples through all trees, each up to its first test of a feature that is not known.

    ``wanted`` gets the first of these features that is neither ``barred`` nor ``delayed`` (n_features,), else the first
    that is not barred, and ``place`` where it is tested. Tests are counted once nothing is wanted any more; the rest is
    as in `walk_on`.
    """
    for position in range(rows.size):
        i = rows[position]
        asked, waits, asked_tree, asked_node = -1, False, splits.root.size, 0
        if place[i, 0] < splits.root.size:
            for tree in range(splits.root.size):
                node = _last_known(splits, splits.root[tree], i, examples, known)
                feature = splits.feature[node]
                if splits.left[node] < 0 or barred[i, feature] or (asked >= 0 and delayed[feature]):
                    continue
                asked, waits = feature, delayed[feature]
                asked_tree, asked_node = tree, node - splits.root[tree]
                if not waits:
                    break
            if asked < 0:
                _count_known_tests(splits, i, examples, known, tests)
        place[i, 0], place[i, 1], wanted[position] = asked_tree, asked_node, asked


@inner_njit
def _last_known(splits: Splits, node: int, i: int, examples: Array, known: Array) -> int:
    """Walk one example on from a node as far as what is known leads."""
    while splits.left[node] >= 0 and known[i, splits.feature[node]]:
        node = child(splits, node, examples[i, splits.feature[node]])
    return node


@inner_njit
def _count_known_tests(splits: Splits, i: int, examples: Array, known: Array, tests: Array) -> None:
    for tree in range(splits.root.size):
        node = splits.root[tree]
        while splits.left[node] >= 0 and known[i, splits.feature[node]]:
            tests[i, splits.feature[node]] += 1
            node = child(splits, node, examples[i, splits.feature[node]])


@njit
def mark_below(
    splits: Splits,
    rows: Array,
    examples: Array,
    known: Array,
    barred: Array,
    given: Array,
    place: Array,
    current_only: bool,
    together: Array,
) -> None:
    """Mark in ``together`` (n_rows, n_features) what is tested at and below the nodes at which examples stand.

    These are the last nodes that what is known leads to in all trees, or with ``current_only`` in the tree of the
    ``place`` of each example. Below them a test of a value that is ``given`` (n_samples, n_features), or known to be
    missing, has one branch; one that cannot be had, none; all others both.
    """
    open_nodes = np.empty(splits.left.size + 1, np.int32)
    for position in range(rows.size):
        i = rows[position]
        first, last = 0, splits.root.size
        if current_only:
            first, last = place[i, 0], min(place[i, 0] + 1, last)
        for tree in range(first, last):
            open_nodes[0] = _last_known(splits, splits.root[tree], i, examples, known)
            n_open = 1
            while n_open > 0:
                n_open -= 1
                node = open_nodes[n_open]
                feature = splits.feature[node]
                if splits.left[node] < 0 or (barred[i, feature] and not known[i, feature]):
                    continue
                together[position, feature] = True
                if given[i, feature] or barred[i, feature]:
                    open_nodes[n_open] = child(splits, node, examples[i, feature])
                    n_open += 1
                else:
                    open_nodes[n_open], open_nodes[n_open + 1] = splits.left[node], splits.right[node]
                    n_open += 2


@njit
def reached_nodes(splits: Splits, rows: Array, examples: Array, known: Array, nodes: Array) -> None:
    """Write into ``nodes`` (n_rows, n_trees) how far each example gets in each tree by what is known."""
    for position in range(rows.size):
        i = rows[position]
        for tree in range(splits.root.size):
            nodes[position, tree] = _last_known(splits, splits.root[tree], i, examples, known)


class Outlook(NamedTuple):
    """What is known about sums over trees when some features are not; one row per example.

    Parameters
    ----------
    counted : ndarray of float64, shape (n_rows, n_outputs)
        Sum of the values of the trees that count.
    n_counted : ndarray of int64, shape (n_rows,)
        How many trees count.
    everything : ndarray of float64, shape (n_rows, n_outputs)
        Sum over all trees, each with the value of the node at which it stands.
    low, high : ndarray of float64, shape (n_rows, n_outputs)
        Least and largest sum that the trees can come to.
    """

    counted: Array
    n_counted: Array
    everything: Array
    low: Array
    high: Array


@njit
def look_ahead(
    splits: Splits,
    rows: Array,
    examples: Array,
    known: Array,
    value: Array,
    lowest: Array,
    highest: Array,
    first_output: Array,
    inner_nodes_count: bool,
    outlook: Outlook,
) -> None:
    """Walk each example through every tree as far as what is known leads, and add up where it stands.

    ``value``, ``lowest`` and ``highest`` (n_nodes, n_values) belong to the nodes, and are added from column
    ``first_output[tree]`` on. Trees count that have reached a leaf and, with ``inner_nodes_count``, those past their
    root.
    """
    for tree in range(splits.root.size):
        root = splits.root[tree]
        for position in range(rows.size):
            i = rows[position]
            node = _last_known(splits, root, i, examples, known)
            counts = splits.left[node] < 0 or (inner_nodes_count and node != root)
            outlook.n_counted[position] += counts
            for column in range(value.shape[1]):
                output = first_output[tree] + column
                if counts:
                    outlook.counted[position, output] += value[node, column]
                outlook.everything[position, output] += value[node, column]
                outlook.low[position, output] += lowest[node, column]
                outlook.high[position, output] += highest[node, column]


@njit
def extremes_below(left: Array, right: Array, lowest: Array, highest: Array) -> None:
    """Set both (n_nodes, n_values), filled with the nodes' values, to the extremes over the leaves below each node."""
    for node in range(left.size - 1, -1, -1):
        if left[node] >= 0:
            for column in range(lowest.shape[1]):
                lowest[node, column] = min(lowest[left[node], column], lowest[right[node], column])
                highest[node, column] = max(highest[left[node], column], highest[right[node], column])


def count_tests(splits: Splits, examples: Array, counts: Array) -> None:
    """Count in ``counts`` (n_samples, n_features) how often each example's paths ask for each feature."""
    n = examples.shape[0]
    run_in_slices(lambda part: _count_tests(splits, examples[part], counts[part]), n, n * splits.root.size)


@njit
def _count_tests(splits: Splits, examples: Array, counts: Array) -> None:
    for i in range(examples.shape[0]):
        for tree in range(splits.root.size):
            node = splits.root[tree]
            while splits.left[node] >= 0:
                feature = splits.feature[node]
                counts[i, feature] += 1
                node = child(splits, node, examples[i, feature])


@njit
def depth_first_ranges(parent: Array) -> tuple[Array, Array]:
    """Give each node a range ``begin[h]:end[h]`` that holds its own number, ``begin[h]``, and those of all below it."""
    size = np.ones(parent.size, np.int32)
    for node in range(parent.size - 1, -1, -1):
        if parent[node] >= 0:
            size[parent[node]] += size[node]
    begin, used, next_root = np.empty(parent.size, np.int32), np.ones(parent.size, np.int32), 0
    for node in range(parent.size):
        above = parent[node]
        if above >= 0:
            begin[node] = begin[above] + used[above]
            used[above] += size[node]
        else:
            begin[node] = next_root
            next_root += size[node]
    return begin, begin + size


@njit
def first_off_path(
    parent: Array, internal_starts: Array, internal_nodes: Array, indptr: Array, example_of: Array, leaves: Array
) -> tuple[int, int]:
    """Return the first node and example that needs a unit there but does not pass it, or (-1, -1).

    The internal nodes of tree t are ``internal_starts[t]:internal_starts[t + 1]``, ``example_of`` (n_triples,) holds
    the example of each triple, ``leaves`` (n_trees, n_samples) the leaves that examples reach.
    """
    begin, end = depth_first_ranges(parent)
    for tree in range(internal_starts.size - 1):
        for row in range(internal_starts[tree], internal_starts[tree + 1]):
            node = internal_nodes[row]
            for triple in range(indptr[row], indptr[row + 1]):
                if not begin[node] <= begin[leaves[tree, example_of[triple]]] < end[node]:
                    return node, example_of[triple]
    return -1, -1


@njit
def first_branching(parent: Array, internal_nodes: Array, indptr: Array, example_of: Array, n_examples: int) -> int:
    """Return the first triple whose example needs something in the same tree off the path to it, or -1 without one.

    Internal nodes stand before those below them; ``example_of`` (n_triples,) holds the example of each triple.
    """
    begin, end = depth_first_ranges(parent)
    last = np.full(n_examples, -1, np.int64)
    root = -1
    for row in range(internal_nodes.size):
        node = internal_nodes[row]
        if parent[node] < 0:
            root = node
        for triple in range(indptr[row], indptr[row + 1]):
            above = last[example_of[triple]]
            if above >= root and not begin[above] <= begin[node] < end[above]:
                return triple
            last[example_of[triple]] = node
    return -1


@njit
def first_repeat(tree_starts: Array, indices: Array, n_acquisitions: int) -> int:
    """Return the first triple whose acquisition the same tree has already, or -1 without one.

    The triples of tree t are ``tree_starts[t]:tree_starts[t + 1]``.
    """
    met_in = np.full(n_acquisitions, -1, np.int32)
    for tree in range(tree_starts.size - 1):
        for triple in range(tree_starts[tree], tree_starts[tree + 1]):
            if met_in[indices[triple]] == tree:
                return triple
            met_in[indices[triple]] = tree
    return -1


def first_repeat_on_path(parent: Array, node: Array, indices: Array) -> int:
    """Return a triple whose acquisition a node above it has already, or -1 without one.

    ``node`` (n_triples,) holds the node of each triple. Of the nodes that need an acquisition, in depth-first order,
    two neighbours stand on one path if any two do, as ranges of nodes are nested or apart.
    """
    begin, end = depth_first_ranges(parent)
    order = np.lexsort((begin[node], indices))
    above, below = order[:-1], order[1:]
    repeated = (indices[below] == indices[above]) & (begin[node[below]] < end[node[above]])
    return int(below[np.argmax(repeated)]) if repeated.any() else -1


@njit
def last_nodes(parent: Array, split: Array, last: Array) -> None:
    """Write where an example bound for each node stops if only some nodes are split; parents stand before children."""
    for node in range(parent.size):
        above = parent[node]
        goes_on = above < 0 or (last[above] == above and split[above])
        last[node] = node if goes_on else last[above]


@njit
def least_above(parent: Array, values: Array) -> Array:
    """Find the least value of each node and the nodes above it; parents stand before children."""
    least = values.copy()
    for node in range(parent.size):
        if parent[node] >= 0:
            least[node] = min(least[node], least[parent[node]])
    return least


@njit
def sums_of_tree(
    parent: Array, start: int, reached: Array, weight: Array, first: Array, second: Array, third: Array
) -> Array:
    """Sum three amounts (n_samples, k), times weights, of the examples that pass each node of a tree.

    ``parent`` is that of the tree's nodes, which begin with ``start``; returns shape (3, n_nodes_of_the_tree, k).
    """
    n_columns = first.shape[1]
    sums = np.zeros((3, parent.size, n_columns))
    for i in range(reached.size):
        node = reached[i] - start
        for column in range(n_columns):
            sums[0, node, column] += weight[i] * first[i, column]
            sums[1, node, column] += weight[i] * second[i, column]
            sums[2, node, column] += weight[i] * third[i, column]
    for node in range(parent.size - 1, 0, -1):
        for kind in range(3):
            for column in range(n_columns):
                sums[kind, parent[node] - start, column] += sums[kind, node, column]
    return sums


@njit
def accumulate_to_ancestors(parent: Array, totals: Array) -> None:
    """Add each row of ``totals`` (n_nodes, k) to its parent's, children first; parents stand before children."""
    for node in range(parent.size - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            for column in range(totals.shape[1]):
                totals[above, column] += totals[node, column]
