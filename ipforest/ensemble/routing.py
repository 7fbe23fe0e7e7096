"""Compiled walks of examples through trees: leaves reached, tests made, first uses of units.

Every kernel is parallel over trees, so results do not depend on the number of threads.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._numba import njit, parallel_njit, prange

Array = npt.NDArray[Any]


@njit
def _goes_left(x: float, threshold: float, missing_left: bool) -> bool:
    if np.isnan(x):
        return missing_left
    return x <= threshold


@parallel_njit
def reached_leaves(
    features_of: Array,
    roots: Array,
    left: Array,
    right: Array,
    feature: Array,
    threshold: Array,
    missing_left: Array,
    leaves: Array,
) -> None:
    """Write the leaf that each example reaches in each tree into ``leaves`` (n_samples, n_trees)."""
    for tree in prange(roots.size):
        for i in range(features_of.shape[0]):
            node = roots[tree]
            while left[node] >= 0:
                if _goes_left(features_of[i, feature[node]], threshold[node], missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]
            leaves[i, tree] = node


@njit
def count_tests(
    features_of: Array,
    roots: Array,
    left: Array,
    right: Array,
    feature: Array,
    threshold: Array,
    missing_left: Array,
    tests: Array,
) -> None:
    """Count in ``tests`` (n_samples, n_features) how often each example's path asks for each feature."""
    for i in range(features_of.shape[0]):
        for tree in range(roots.size):
            node = roots[tree]
            while left[node] >= 0:
                tests[i, feature[node]] += 1
                if _goes_left(features_of[i, feature[node]], threshold[node], missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]


@njit
def walk_on(
    rows: Array,
    features_of: Array,
    known: Array,
    roots: Array,
    left: Array,
    right: Array,
    feature: Array,
    threshold: Array,
    missing_left: Array,
    place: Array,
    tests: Array,
    wanted: Array,
) -> None:
    """Walk examples on through the trees in order, up to the first test of a feature that is not known.

    ``place`` (n_samples, 2) holds the tree and, counted from its root, the node at which each example stands; ``tests``
    (n_samples, n_features) counts its tests. ``wanted`` (n_rows,) gets the unknown feature, -1 at the end.
    """
    for position in range(rows.size):
        i = rows[position]
        tree, below_root, asked = place[i, 0], place[i, 1], -1
        while tree < roots.size and asked < 0:
            node = roots[tree] + below_root
            while left[node] >= 0:
                if not known[i, feature[node]]:
                    asked = feature[node]
                    break
                tests[i, feature[node]] += 1
                if _goes_left(features_of[i, feature[node]], threshold[node], missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]
            if asked >= 0:
                below_root = node - roots[tree]
            else:
                tree, below_root = tree + 1, 0
        place[i, 0], place[i, 1], wanted[position] = tree, below_root, asked


@njit
def reached_nodes(
    rows: Array,
    features_of: Array,
    known: Array,
    roots: Array,
    left: Array,
    right: Array,
    feature: Array,
    threshold: Array,
    missing_left: Array,
    nodes: Array,
) -> None:
    """Write into ``nodes`` (n_rows, n_trees) how far each example gets in each tree by what is known."""
    for position in range(rows.size):
        i = rows[position]
        for tree in range(roots.size):
            node = roots[tree]
            while left[node] >= 0 and known[i, feature[node]]:
                if _goes_left(features_of[i, feature[node]], threshold[node], missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]
            nodes[position, tree] = node


@parallel_njit
def count_first_uses(
    features_of: Array,
    roots: Array,
    left: Array,
    right: Array,
    feature: Array,
    threshold: Array,
    missing_left: Array,
    unit_indptr: Array,
    unit_indices: Array,
    n_units: int,
    counts: Array,
    used: Array,
) -> None:
    """Count the (unit, example) pairs first needed at each node, and mark the pairs that are ever needed.

    ``counts`` (n_nodes,) is filled, ``used`` (n_samples, n_units) gets 1 where any tree needs the pair.
    """
    for tree in prange(roots.size):
        seen = np.full(n_units, -1, np.int32)
        for i in range(features_of.shape[0]):
            node = roots[tree]
            while left[node] >= 0:
                asked = feature[node]
                for position in range(unit_indptr[asked], unit_indptr[asked + 1]):
                    unit = unit_indices[position]
                    if seen[unit] != i:
                        seen[unit] = i
                        counts[node] += 1
                        used[i, unit] = 1
                if _goes_left(features_of[i, asked], threshold[node], missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]


@parallel_njit
def fill_first_uses(
    features_of: Array,
    roots: Array,
    left: Array,
    right: Array,
    feature: Array,
    threshold: Array,
    missing_left: Array,
    unit_indptr: Array,
    unit_indices: Array,
    n_units: int,
    pair_index: Array,
    next_position: Array,
    indices: Array,
) -> None:
    """Write the pairs of `count_first_uses` into CSR ``indices``, rows ascending.

    ``pair_index`` (n_samples, n_units) numbers the pairs; ``next_position`` (n_nodes,) holds where each
    node's row starts and is moved to its end.
    """
    for tree in prange(roots.size):
        seen = np.full(n_units, -1, np.int32)
        for i in range(features_of.shape[0]):
            node = roots[tree]
            while left[node] >= 0:
                asked = feature[node]
                for position in range(unit_indptr[asked], unit_indptr[asked + 1]):
                    unit = unit_indices[position]
                    if seen[unit] != i:
                        seen[unit] = i
                        indices[next_position[node]] = pair_index[i, unit]
                        next_position[node] += 1
                if _goes_left(features_of[i, asked], threshold[node], missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]


@njit
def _depth_first_ranges(parent: Array) -> tuple[Array, Array]:
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
    """Give the first node and example that needs a unit there but does not pass it, or (-1, -1).

    The internal nodes of tree t are ``internal_starts[t]:internal_starts[t + 1]``, ``example_of`` (n_triples,) holds
    the example of each triple, ``leaves`` (n_trees, n_samples) the leaves that examples reach.
    """
    begin, end = _depth_first_ranges(parent)
    for tree in range(internal_starts.size - 1):
        for row in range(internal_starts[tree], internal_starts[tree + 1]):
            node = internal_nodes[row]
            for triple in range(indptr[row], indptr[row + 1]):
                if not begin[node] <= begin[leaves[tree, example_of[triple]]] < end[node]:
                    return node, example_of[triple]
    return -1, -1


@njit
def first_repeat(tree_starts: Array, indices: Array, n_acquisitions: int) -> int:
    """Give the first triple whose acquisition the same tree has already, or -1 without one.

    The triples of tree t are ``tree_starts[t]:tree_starts[t + 1]``.
    """
    met_in = np.full(n_acquisitions, -1, np.int32)
    for tree in range(tree_starts.size - 1):
        for triple in range(tree_starts[tree], tree_starts[tree + 1]):
            if met_in[indices[triple]] == tree:
                return triple
            met_in[indices[triple]] = tree
    return -1


@njit
def accumulate_to_ancestors(parent: Array, totals: Array) -> None:
    """Add each row of ``totals`` (n_nodes, k) to its parent's, children first; parents stand before children."""
    for node in range(parent.size - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            for column in range(totals.shape[1]):
                totals[above, column] += totals[node, column]
