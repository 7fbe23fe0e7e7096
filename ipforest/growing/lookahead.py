"""Trees grown with lookahead: a split is judged together with the best split of each of its sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.growing.grower import GrownTree

__all__ = ["LookaheadGrower"]

SLACK = 1e-12
"""Differences of impurities are rounding below this share of them."""

MOST_ROWS = 2000
"""A split is chosen on a sample of so many examples of its node."""

MOST_FEATURES = 64
"""At each node, so many features drawn at random are judged with the best further splits, on any feature."""


@dataclass(frozen=True, slots=True)
class LookaheadGrower:
    """Grow trees whose splits look one level ahead, blind to prices.

    A feature may tell nothing of the target and yet tell which other features do. So a split is worth what it reduces
    the impurity by, and what the best further split of each side does. The impurity is the variance of the target, or
    that of the indicators of the classes, which is the Gini impurity. Every feature has one cut per node, where
    the values on both sides are most unlike (Otsu's threshold), which asks for no label. Of more than `MOST_FEATURES`
    features that many are drawn at each node, so the work grows with the number of features, not with its square.

    Parameters
    ----------
    min_samples_leaf : int, default=5
        Distinct training examples.
    min_samples_lookahead : int, default=50
        At nodes of fewer examples a split is judged alone.
    """

    min_samples_leaf: int = 5
    min_samples_lookahead: int = 50

    def grow(
        self,
        X: Array,
        labels: IntArray,
        n_classes: int,
        weights: Array,
        seed: int = 0,
        check: Callable[[], None] = lambda: None,
    ) -> GrownTree:
        """Grow a tree until no split reduces the impurity.

        Parameters
        ----------
        X : ndarray of float, shape (n_samples, n_features)
            What is missing, NaN, goes right.
        labels : ndarray of int, shape (n_samples,)
            Class indices 0..n_classes-1.
        n_classes : int
        weights : ndarray, shape (n_samples,)
            Examples of weight 0 are left out.
        seed : int
            Draws the examples that splits are chosen on, and the features.
        check : callable ()
            Called at each node; what it raises ends growing.
        """
        return self._grow(X, moments(np.eye(n_classes)[labels], weights), weights, seed, check)

    def grow_means(
        self, X: Array, targets: FloatArray, weights: Array, seed: int = 0, check: Callable[[], None] = lambda: None
    ) -> GrownTree:
        """Grow a regression tree until no split reduces the squared error.

        Parameters
        ----------
        X, weights, seed, check
            See `grow`.
        targets : ndarray of float64, shape (n_samples,)
        """
        centre = float(np.average(targets, weights=weights))
        tree = self._grow(X, moments((targets - centre)[:, None], weights), weights, seed, check)
        tree.value[:] += centre
        return tree

    def _grow(self, X: Array, sums: FloatArray, weights: Array, seed: int, check: Callable[[], None]) -> GrownTree:
        random = np.random.default_rng(seed)
        members, tested, children = [np.flatnonzero(weights)], [(-1, np.nan)], [(-1, -1)]
        node = 0
        while node < len(members):
            check()
            rows = members[node]
            sample, tried = drawn_for_split(rows, X.shape[1], random)
            feature, threshold = -1, np.nan
            if sample.size >= 2 * self.min_samples_leaf and _is_impure(sums[sample]):
                feature, threshold = self.best_split(X[sample], sums[sample], tried)
            if feature >= 0:
                goes_left = is_left(X[rows, feature], threshold)
                tested[node], children[node] = (feature, threshold), (len(members), len(members) + 1)
                members += [rows[goes_left], rows[~goes_left]]
                tested += [(-1, np.nan)] * 2
                children += [(-1, -1)] * 2
            node += 1
        left, right = np.array(children, dtype=np.int32).T
        of_node = np.array([sums[rows].sum(axis=0) for rows in members])
        weight = of_node[:, 0]
        return GrownTree(
            left=left,
            right=right,
            feature=np.array([feature for feature, _ in tested], dtype=np.int32),
            threshold=np.array([threshold for _, threshold in tested]),
            missing_left=np.zeros(left.size, dtype=bool),
            value=of_node[:, 2:] / weight[:, None],
            weight=weight,
            n_samples=np.array([rows.size for rows in members]),
            impurity=np.maximum(_impurity(of_node), 0.0) / weight,
            category_set=np.full(left.size, -1, dtype=np.int32),
            left_categories=np.empty((0, 0), dtype=bool),
        )

    def best_split(self, X: Array, sums: FloatArray, tried: IntArray) -> tuple[int, float]:
        """Find the split of a node's examples that is worth most.

        Parameters
        ----------
        X : ndarray of float, shape (n, n_features)
        sums : ndarray of float64, shape (n, 2 + n_outputs)
            See `moments`.
        tried : ndarray of int
            The features among which it is sought; the further splits test any.

        Returns
        -------
        feature : int
            -1 where no split reduces the impurity.
        threshold : float
        """
        own, further, cuts = self._worth(X, sums, tried)
        best = int(np.argmax(own + further))
        slack = SLACK * float(_impurity(sums.sum(axis=0, keepdims=True))[0])
        return (best, float(cuts[best])) if own[best] + further[best] > slack else (-1, np.nan)

    def best_context(self, X: Array, sums: FloatArray, tried: IntArray) -> tuple[int, float]:
        """Find the split after which the best further ones are worth most, whatever it is worth by itself.

        Parameters
        ----------
        X, sums, tried
            See `best_split`.

        Returns
        -------
        feature : int
            -1 where no further split reduces the impurity.
        threshold : float
        """
        _, further, cuts = self._worth(X, sums, tried)
        best = int(np.argmax(further))
        return (best, float(cuts[best])) if further[best] > 0 else (-1, np.nan)

    def _worth(self, X: Array, sums: FloatArray, tried: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute what splits reduce the impurity by, what the best further splits do, and where they cut."""
        cuts = otsu_thresholds(X)
        goes_left = (cuts >= X).astype(np.float64)
        amounts = np.column_stack([sums, np.ones(len(X))])
        whole, left = amounts.sum(axis=0), goes_left.T @ amounts
        own, further = np.full(X.shape[1], -np.inf), np.zeros(X.shape[1])
        own[tried] = self._reductions(left[tried], whole)
        judged = np.flatnonzero(own > -np.inf)
        if len(X) >= self.min_samples_lookahead and judged.size:
            of_pairs = goes_left.T @ (goes_left[:, judged, None] * amounts[:, None]).reshape(len(X), -1)
            both = of_pairs.reshape(X.shape[1], judged.size, -1).transpose(1, 0, 2)
            for side, of_side in ((both, left[judged]), (left - both, whole - left[judged])):
                further[judged] += np.maximum(0.0, self._reductions(side, of_side[:, None]).max(axis=1))
        return own, further, cuts

    def _reductions(self, left: FloatArray, whole: FloatArray) -> FloatArray:
        """Compute what each split reduces the impurity by, -inf where a side has too few examples; counts come last."""
        right = whole - left
        reduced = _impurity(whole[..., :-1]) - _impurity(left[..., :-1]) - _impurity(right[..., :-1])
        enough = np.minimum(left[..., -1], right[..., -1]) >= self.min_samples_leaf
        return np.where(enough, reduced, -np.inf)


def drawn_for_split(rows: IntArray, n_features: int, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw the examples of a node that its split is chosen on, and the features that it is chosen from.

    Parameters
    ----------
    rows : ndarray of int64
        The examples of the node.
    n_features : int
    random : Generator

    Returns
    -------
    sample, tried : ndarray of int64
        At most `MOST_ROWS` and `MOST_FEATURES`.
    """
    sample = rows if rows.size <= MOST_ROWS else np.sort(random.choice(rows, MOST_ROWS, replace=False))
    return sample, random.permutation(n_features)[:MOST_FEATURES]


def is_left(values: Array, threshold: float) -> BoolArray:
    """Tell which values a test sends left, compared in float64.

    In float32 a threshold between two neighbours would be rounded to one of them.
    """
    return np.asarray(values.astype(np.float64) <= threshold)


def moments(targets: FloatArray, weights: Array) -> FloatArray:
    """Weigh examples, their squared targets and their targets, shape (n_samples, 2 + n_outputs).

    Parameters
    ----------
    targets : ndarray of float64, shape (n_samples, n_outputs)
        Numbers, best with mean 0, or indicators of the classes.
    weights : ndarray, shape (n_samples,)
    """
    weight = np.asarray(weights, dtype=np.float64)[:, None]
    return np.hstack([weight, weight * np.square(targets).sum(axis=1, keepdims=True), weight * targets])


def _impurity(sums: FloatArray) -> FloatArray:
    """Compute the squared distances of targets from their mean, from sums of `moments`; of indicators, total Gini."""
    weight = np.where(sums[..., 0] > 0, sums[..., 0], 1.0)
    impurity: FloatArray = sums[..., 1] - np.square(sums[..., 2:]).sum(axis=-1) / weight
    return impurity


def _is_impure(sums: FloatArray) -> bool:
    """Return whether targets differ; see `moments`."""
    whole = sums.sum(axis=0)
    return bool(_impurity(whole) > SLACK * whole[1])


def otsu_thresholds(X: Array) -> FloatArray:
    """Cut each feature where the variance between both sides is largest; NaN where it has one value only.

    Missing values count as the largest.

    Parameters
    ----------
    X : ndarray of float, shape (n, n_features)

    Returns
    -------
    ndarray of float64, shape (n_features,)

    Notes
    -----
    Otsu, "A threshold selection method from gray-level histograms", 1979.
    """
    values = np.sort(X.astype(np.float64), axis=0)
    known = (~np.isnan(values)).sum(axis=0)
    largest = np.where(known > 0, values[np.maximum(known - 1, 0), np.arange(X.shape[1])], 0.0)
    values = np.where(np.isnan(values), largest, values)
    n_left = np.arange(1, len(X))[:, None]
    sums = np.cumsum(values, axis=0)
    means = sums[:-1] / n_left, (sums[-1] - sums[:-1]) / (len(X) - n_left)
    between = np.where(np.diff(values, axis=0) > 0, n_left * (len(X) - n_left) * np.square(means[0] - means[1]), -1.0)
    if len(between) == 0:
        return np.full(X.shape[1], np.nan)
    place, columns = np.argmax(between, axis=0), np.arange(X.shape[1])
    middle = (values[place, columns] + values[place + 1, columns]) / 2
    cuts: FloatArray = np.where(between[place, columns] >= 0, middle, np.nan)
    return cuts
