"""Cuts of numbers found in one walk over the examples of a node, in the order of a feature, or over its sums per code.

For the Gini index and for gradients a walk keeps what a cut is worth up to date, example by example, whatever the
number of classes. Missing values, which may go to either side of each cut, are left to
`ipforest.growing.splitting.best_cut`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, Int32Array, IntArray
from ipforest._internal.kernels import uncounted_njit

CONSTANT = -2
"""Code of the cut of a feature that is constant."""

FEW = 20
"""So many keys are sorted by insertion."""

N_BUCKETS = 256
"""Of one pass of sorting."""


class Cut(NamedTuple):
    """A test: codes up to ``code`` go left; of categories, those that the scratch says.

    Without a valid cut the reduction is minus infinity; if the feature is constant, the code is `CONSTANT`.
    """

    reduction: float
    code: int
    threshold: float
    missing_left: bool


@uncounted_njit
def sort_few(keys: Array) -> None:
    """Sort by insertion."""
    for place in range(1, keys.size):
        key = keys[place]
        before = place - 1
        while before >= 0 and keys[before] > key:
            keys[before + 1] = keys[before]
            before -= 1
        keys[before + 1] = key


@uncounted_njit
def keys_in_order(
    code_row: Array,
    n_codes: int,
    rows: Int32Array,
    start: int,
    stop: int,
    keys: IntArray,
    spare: IntArray,
    n_in_bucket: IntArray,
) -> bool:
    """Order the examples of a node by their codes: by insertion if they are few, else byte by byte (radix sort).

    Parameters
    ----------
    code_row : ndarray of integers, shape (n_samples,)
        Codes of the feature up to ``n_codes``, which is that of missing values.
    n_codes : int
    rows : ndarray of int32
        The examples of the node are those from ``start`` to ``stop``.
    start, stop : int
    keys, spare : ndarray of int64, shape (stop - start,) or larger
        Overwritten.
    n_in_bucket : ndarray of int64, shape (N_BUCKETS,)
        Overwritten.

    Returns
    -------
    bool
        Whether they stand in ``spare``, else in ``keys``: the code of each example, times 2^32, plus its place after
        ``start``; ascending.
    """
    n, here = stop - start, rows[start:stop]
    for place in range(n):
        keys[place] = (np.int64(code_row[np.uint32(here[place])]) << 32) | place
    if n <= FEW:
        sort_few(keys[:n])
        return False
    in_spare, shift = False, np.int64(32)
    n_buckets = min(N_BUCKETS, n_codes + 1)
    while (np.int64(n_codes) << 32) >> shift > 0:
        n_in_bucket[:n_buckets] = 0
        for place in range(n):
            n_in_bucket[(keys[place] >> shift) & (N_BUCKETS - 1)] += 1
        first = np.int64(0)
        for bucket in range(n_buckets):
            n_here = n_in_bucket[bucket]
            n_in_bucket[bucket] = first
            first += n_here
        for place in range(n):
            bucket = (keys[place] >> shift) & (N_BUCKETS - 1)
            spare[n_in_bucket[bucket]] = keys[place]
            n_in_bucket[bucket] += 1
        keys, spare, in_spare = spare, keys, not in_spare
        shift += 8
    return in_spare


@uncounted_njit
def gini_cut_in_order(
    keys: IntArray,
    labels: Int32Array,
    weights: FloatArray,
    lows: FloatArray,
    highs: FloatArray,
    min_samples_leaf: int,
    node: FloatArray,
    left: FloatArray,
) -> Cut:
    """Find the cut that reduces the total Gini index most, the first of equals.

    With S the sum of the squared weights of the classes and W that of the weights, the index times the weight is
    W - S / W.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        See `keys_in_order`; no value is missing.
    labels : ndarray of int32, shape (n,)
    weights : ndarray of float64, shape (n,)
    lows, highs : ndarray of float64, shape (n_codes,)
        Values under the feature's codes.
    min_samples_leaf : int
    node : ndarray of float64, shape (n_classes + 1,)
        Statistics of the node.
    left : ndarray of float64, shape (n_classes + 1,)
        Overwritten.
    """
    n, n_classes = keys.size, node.size - 1
    if keys[0] >> 32 == keys[n - 1] >> 32:
        return Cut(-np.inf, CONSTANT, np.nan, False)
    total, right_squares = 0.0, 0.0
    for label in range(n_classes):
        left[label] = 0.0
        total += node[label]
        right_squares += node[label] * node[label]
    whole = right_squares / total
    left_squares, weight_left = 0.0, 0.0
    most, cut = -np.inf, -1
    for place in range(n - min_samples_leaf):
        example = keys[place] & 0xFFFFFFFF
        label, weight = labels[example], weights[example]
        left_squares += weight * (2.0 * left[label] + weight)
        right_squares -= weight * (2.0 * (node[label] - left[label]) - weight)
        left[label] += weight
        weight_left += weight
        right = total - weight_left  # rounded to 0 where the weights there are far smaller
        if place + 1 >= min_samples_leaf and right > 0.0 and keys[place] >> 32 != keys[place + 1] >> 32:
            reduction = left_squares / weight_left + right_squares / right - whole
            if reduction > most:
                most, cut = reduction, place
    return _cut_after(cut, most, keys, lows, highs)


@uncounted_njit
def gini_cut_of_table(
    table: FloatArray, lows: FloatArray, highs: FloatArray, min_samples_leaf: int, node: FloatArray, left: FloatArray
) -> Cut:
    """Find what `gini_cut_in_order` finds from the sums per code, shape (n_codes + 1, n_classes + 1)."""
    n_codes, n_classes = table.shape[0] - 1, node.size - 1
    total, squares = 0.0, 0.0
    for label in range(n_classes):
        left[label] = 0.0
        total += node[label]
        squares += node[label] * node[label]
    whole = squares / total
    weight_left, n = 0.0, 0.0
    most, cut, following, previous = -np.inf, -1, -1, -1
    for code in range(n_codes):
        n_here = table[code, n_classes]
        if n_here == 0.0:
            continue
        right = total - weight_left
        if previous >= 0 and right > 0.0 and n >= min_samples_leaf and node[n_classes] - n >= min_samples_leaf:
            left_squares, right_squares = 0.0, 0.0
            for label in range(n_classes):
                left_squares += left[label] * left[label]
                right_squares += (node[label] - left[label]) * (node[label] - left[label])
            reduction = left_squares / weight_left + right_squares / right - whole
            if reduction > most:
                most, cut, following = reduction, previous, code
        for label in range(n_classes):
            left[label] += table[code, label]
            weight_left += table[code, label]
        n += n_here
        previous = code
    if cut >= 0:
        return Cut(most, cut, midway(highs[cut], lows[following]), False)
    is_constant = previous < 0 or table[previous, n_classes] == node[n_classes]
    return Cut(-np.inf, CONSTANT if is_constant else -1, np.nan, False)


@uncounted_njit
def second_order_loss(gradient: float, hessian: float) -> float:
    """Compute what one leaf value leaves of a sum of gradients and one of Hessians, penalty included."""
    return -0.5 * gradient * gradient / hessian if hessian > 0.0 else 0.0


@uncounted_njit
def second_order_reduction(node: FloatArray, node_impurity: float, gradient: float, hessian: float, l2: float) -> float:
    """Compute how much less loss two leaf values leave than that of a node, of which one takes these sums."""
    left = second_order_loss(gradient, hessian + l2)
    return node_impurity - left - second_order_loss(node[0] - gradient, node[1] - hessian + l2)


@uncounted_njit
def gradient_cut_in_order(
    keys: IntArray,
    gradients: FloatArray,
    hessians: FloatArray,
    lows: FloatArray,
    highs: FloatArray,
    l2: float,
    min_samples_leaf: int,
    node: FloatArray,
    node_impurity: float,
) -> Cut:
    """Find the cut that leaves the least second-order loss, the first of equals; see `gini_cut_in_order`."""
    n = keys.size
    if keys[0] >> 32 == keys[n - 1] >> 32:
        return Cut(-np.inf, CONSTANT, np.nan, False)
    gradient, hessian = 0.0, 0.0
    most, cut = -np.inf, -1
    for place in range(n - min_samples_leaf):
        example = keys[place] & 0xFFFFFFFF
        gradient += gradients[example]
        hessian += hessians[example]
        if place + 1 >= min_samples_leaf and keys[place] >> 32 != keys[place + 1] >> 32:
            reduction = second_order_reduction(node, node_impurity, gradient, hessian, l2)
            if reduction > most:
                most, cut = reduction, place
    return _cut_after(cut, most, keys, lows, highs)


@uncounted_njit
def gradient_cut_of_table(
    table: FloatArray,
    lows: FloatArray,
    highs: FloatArray,
    l2: float,
    min_samples_leaf: int,
    node: FloatArray,
    node_impurity: float,
) -> Cut:
    """Find what `gradient_cut_in_order` finds from the sums per code, shape (n_codes + 1, 3); no value is missing.

    A code without examples adds nothing, so it is not looked for: the cut after it is worth what the one before it is.
    """
    n_codes, n_most = table.shape[0] - 1, node[2] - min_samples_leaf
    gradient, hessian, n = 0.0, 0.0, 0.0
    most, cut = -np.inf, -1
    for code in range(n_codes):
        gradient += table[code, 0]
        hessian += table[code, 1]
        n += table[code, 2]
        if n < min_samples_leaf:
            continue
        if n > n_most:
            break
        reduction = second_order_reduction(node, node_impurity, gradient, hessian, l2)
        if reduction > most:
            most, cut = reduction, code
    if cut >= 0:
        following = cut + 1
        while table[following, 2] == 0.0:
            following += 1
        return Cut(most, cut, midway(highs[cut], lows[following]), False)
    first = 0
    while table[first, 2] == 0.0:
        first += 1
    return Cut(-np.inf, CONSTANT if table[first, 2] == node[2] else -1, np.nan, False)


@uncounted_njit
def _cut_after(place: int, reduction: float, keys: IntArray, lows: FloatArray, highs: FloatArray) -> Cut:
    """Give the cut after an example in order, none where its place is negative."""
    if place < 0:
        return Cut(-np.inf, -1, np.nan, False)
    code = keys[place] >> 32
    return Cut(reduction, code, midway(highs[code], lows[keys[place + 1] >> 32]), False)


@uncounted_njit
def midway(low: float, high: float) -> float:
    """Return the threshold between two values."""
    return low + 0.5 * (high - low)


@uncounted_njit
def copy_to(target: Array, source: Array) -> None:
    """Copy a vector, of which no part is the target's: assigning slices would reserve memory."""
    for place in range(source.size):
        target[place] = source[place]
