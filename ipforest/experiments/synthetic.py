"""Synthetic instances of any size: randomised trees grown on a Gaussian mixture, for benchmarks and tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_classification

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import inner_njit, njit
from ipforest.ensemble.first_uses import TREES_THAT_SORT
from ipforest.instance import PruningInstance

COMPONENTS = 6
MINORITY = 0.28
N_THRESHOLDS = 8
MAX_DEPTH = 64
CLUSTERS = "clusters"
"""What the data of `clusters` are called."""


def gaussian_mixture(n_samples: int, n_features: int, seed: int) -> tuple[npt.NDArray[np.float32], Array]:
    """Draw two classes, each a mixture of Gaussians; features carry less and less information.

    Parameters
    ----------
    n_samples, n_features : int
    seed : int
        Of the samples; the mixture itself depends on `n_features` only, so two seeds give training and other data.

    Returns
    -------
    X : ndarray of float32, shape (n_samples, n_features)
    y : ndarray of int8, shape (n_samples,)
    """
    shape = np.random.default_rng(n_features)
    information = 1.2 * np.exp(-8.0 * np.arange(n_features) / n_features)
    centres = (shape.normal(size=(2 * COMPONENTS, n_features)) * information).astype(np.float32)
    spread = (0.8 * np.exp(0.4 * shape.normal(size=(2 * COMPONENTS, n_features)))).astype(np.float32)
    rng = np.random.default_rng(seed)
    y = (rng.random(n_samples) < MINORITY).astype(np.int8)
    component = rng.integers(0, COMPONENTS, n_samples) + COMPONENTS * y
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X *= spread[component]
    X += centres[component]
    return X, y


def synthetic_instance(
    n_trees: int, n_examples: int, n_features: int, n_training: int | None = None, max_price: int = 1, seed: int = 0
) -> PruningInstance:
    """Grow randomised trees (random thresholds, best of a few by impurity) and route other examples through them.

    Parameters
    ----------
    n_trees, n_examples, n_features : int
        T, N_c and K.
    n_training : int, optional
        Examples the trees are grown on, each tree on a bootstrap sample; ``2 * n_examples`` by default.
    max_price : int
        Prices are drawn from 1 to this, evenly on a logarithmic scale.
    seed : int

    Returns
    -------
    PruningInstance
        Errors are in-bag misclassifications.
    """
    n_training = 2 * n_examples if n_training is None else n_training
    rng = np.random.default_rng(seed)
    X, y = gaussian_mixture(n_training, n_features, 2 * seed)
    X_cost, _ = gaussian_mixture(n_examples, n_features, 2 * seed + 1)
    prices = np.ceil(np.exp(rng.uniform(0, np.log(max_price), n_features)) - 1e-9).astype(np.int64)
    offsets, parents, errors, sizes, rows = [0], [], [], [], []
    n_candidates = max(1, int(np.sqrt(n_features)))
    X_cost = _alike_together(X, y, X_cost, n_candidates, seed)
    used = np.zeros(n_features * n_examples, dtype=np.bool_)
    for _ in range(n_trees):
        bag = np.sort(rng.integers(0, n_training, n_training)).astype(np.int32)
        parent, error, size, row, _ = _grow(X, y, X_cost, bag, n_candidates, rng, used)
        parents.append(np.where(parent >= 0, parent + offsets[-1], -1))
        offsets.append(offsets[-1] + parent.size)
        errors.append(error)
        sizes.append(size)
        rows.append(row)
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    pairs = np.flatnonzero(used)
    unit = (pairs // n_examples).astype(np.int32)
    return PruningInstance(
        tree_offsets=np.array(offsets),
        node_parent=np.concatenate(parents).astype(np.int32),
        errors=np.concatenate(errors),
        indptr=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        indices=number[np.concatenate(rows)],
        acquisition_unit=unit,
        acquisition_example=(pairs % n_examples).astype(np.int32),
        acquisition_cost=prices[unit],
        split_cost=np.zeros(sum(size.size for size in sizes), dtype=np.int64),
        error_unit=Fraction(1, n_training * n_trees),
        cost_unit=Fraction(1, n_examples),
        n_units=n_features,
        n_examples=n_examples,
    )


def _alike_together(X: Array, y: Array, X_cost: Array, n_candidates: int, seed: int) -> Array:
    """Put examples that reach the same leaves side by side, by trees of their own; see `Trees.first_uses`."""
    rng = np.random.default_rng((seed, TREES_THAT_SORT))
    unused = np.zeros(X_cost.size, dtype=np.bool_)
    for _ in range(TREES_THAT_SORT):
        examples = np.arange(y.size, dtype=np.int32)
        X_cost = X_cost[_grow(X, y, X_cost, examples, n_candidates, rng, unused)[-1]]
    return X_cost


@inner_njit
def _partition(X: Array, order: Array, begin: int, end: int, feature: int, threshold: float, scratch: Array) -> int:
    """Move the examples at or below the threshold to the front, both parts in their order."""
    middle, rest = begin, 0
    for i in range(begin, end):
        if X[order[i], feature] <= threshold:
            order[middle] = order[i]
            middle += 1
        else:
            scratch[rest] = order[i]
            rest += 1
    for i in range(rest):
        order[middle + i] = scratch[i]
    return middle


@njit
def _impurity(X: Array, y: Array, order: Array, begin: int, end: int, feature: int, threshold: float) -> float:
    """Weighted Gini impurity of the two parts; more than any real one when a part is empty."""
    n_low, ones_low, ones = 0, 0, 0
    for i in range(begin, end):
        label = int(y[order[i]])
        ones += label
        if X[order[i], feature] <= threshold:
            n_low += 1
            ones_low += label
    n_high, ones_high = end - begin - n_low, ones - ones_low
    if n_low == 0 or n_high == 0:
        return 2.0 * (end - begin)
    return ones_low * (n_low - ones_low) / n_low + ones_high * (n_high - ones_high) / n_high


@inner_njit
def _is_new(parent: Array, feature_of: Array, node: int, feature: int) -> bool:
    node = parent[node]
    while node >= 0:
        if feature_of[node] == feature:
            return False
        node = parent[node]
    return True


@njit
def _grow(
    X: Array, y: Array, X_cost: Array, order: Array, n_candidates: int, rng: np.random.Generator, used: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Grow one tree depth first; give parents, errors, row sizes over internal nodes, the rows, examples by leaf."""
    n, n_cost, n_features = order.size, X_cost.shape[0], X.shape[1]
    parent, error = np.empty(2 * n + 1, np.int32), np.empty(2 * n + 1, np.int64)
    feature_of = np.full(2 * n + 1, -1, np.int32)
    size = np.empty(n + 1, np.int64)
    row = np.empty(n_cost * min(MAX_DEPTH, n_features), np.int32)
    cost_order = np.arange(n_cost).astype(np.int32)
    scratch = np.empty(max(n, n_cost), np.int32)
    stack = np.empty((2 * MAX_DEPTH + 2, 6), np.int64)
    stack[0, :] = (-1, 0, n, 0, n_cost, 0)
    waiting, n_nodes, n_internal, n_row = 1, 0, 0, 0
    # each node on the stack owns its segments of `order` and `cost_order`; no two overlap, and nodes come depth first
    while waiting > 0:
        waiting -= 1
        above, begin, end, cost_begin, cost_end, depth = stack[waiting]
        ones = 0
        for i in range(begin, end):
            ones += int(y[order[i]])
        node = n_nodes
        n_nodes += 1
        parent[node], error[node] = above, min(ones, end - begin - ones)
        if error[node] == 0 or depth == MAX_DEPTH:
            continue
        best, best_feature, best_threshold = 2.0 * (end - begin), -1, 0.0
        for _ in range(n_candidates * N_THRESHOLDS):
            feature = int(rng.random() * n_features)
            threshold = X[order[begin + int(rng.random() * (end - begin))], feature]
            value = _impurity(X, y, order, begin, end, feature, threshold)
            if value < best:
                best, best_feature, best_threshold = value, feature, threshold
        if best_feature < 0:
            continue
        feature_of[node] = best_feature
        first = n_row
        if _is_new(parent, feature_of, node, best_feature):
            for i in range(cost_begin, cost_end):
                row[n_row] = best_feature * n_cost + cost_order[i]
                used[row[n_row]] = True
                n_row += 1
        # row[:n_row] are the needs of the internal nodes so far, one after another; size says how many each has
        size[n_internal] = n_row - first
        n_internal += 1
        middle = _partition(X, order, begin, end, best_feature, best_threshold, scratch)
        cost_middle = _partition(X_cost, cost_order, cost_begin, cost_end, best_feature, best_threshold, scratch)
        stack[waiting, :] = (node, middle, end, cost_middle, cost_end, depth + 1)
        stack[waiting + 1, :] = (node, begin, middle, cost_begin, cost_middle, depth + 1)
        waiting += 2
    sizes, rows = size[:n_internal].copy(), row[:n_row].copy()
    return parent[:n_nodes].copy(), error[:n_nodes].copy(), sizes, rows, cost_order


def clusters(n_samples: int, n_features: int, seed: int) -> tuple[Array, Array]:
    """Generate two classes of six clusters each; two fifths of the features tell something, a tenth repeats them."""
    shape = {"n_samples": n_samples, "n_features": n_features, "n_clusters_per_class": 6}
    informative = max(4, 2 * n_features // 5)
    X, y = make_classification(n_informative=informative, n_redundant=n_features // 10, random_state=seed, **shape)
    return X, y
