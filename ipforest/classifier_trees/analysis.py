"""What trees of classifiers have learnt: features by price and depth, nodes' features compared, the input space."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest._internal.axes import axes_or_new
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator

if TYPE_CHECKING:
    from collections.abc import Sequence

Axes: TypeAlias = Any


@dataclass(frozen=True, slots=True, eq=False)
class PriceShares:
    """Share of the features of each price that are bought by each depth: Figures 8 and 9.

    Parameters
    ----------
    prices : ndarray of float64, shape (n_prices,)
        Ascending.
    counts : ndarray of int64, shape (n_prices,)
        Features of each price.
    shares : ndarray of float64, shape (n_depths, n_prices)
        Share that some node of this depth or less deep uses.
    """

    prices: FloatArray
    counts: IntArray
    shares: FloatArray

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one line per price over depth.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default on a new figure.
        """
        axes = axes_or_new(ax)
        depths = np.arange(1, len(self.shares) + 1)
        for price, count, share in zip(self.prices, self.counts, self.shares.T, strict=True):
            axes.plot(depths, share, marker="o", label=f"price {price:g} ({count})")
        axes.set(xlabel="depth", ylabel="share of the features used so far", xticks=depths, ylim=(-0.02, 1.02))
        axes.legend(frameon=False, fontsize="small")
        return axes


def features_of_nodes(model: ClassifierTreeEstimator) -> BoolArray:
    """Return which features each node's classifier needs, shape (n_nodes, n_features)."""
    return np.asarray(model.feature_map_.feature_of_weight_ @ (model.tree_.coef != 0).T > 0).T


def price_shares(model: ClassifierTreeEstimator) -> PriceShares:
    """Compute the share of features bought by depth and price, section 6.4."""
    prices, price_of = np.unique(model.costs_.feature_prices, return_inverse=True)
    counts = np.bincount(price_of)
    used, depth = features_of_nodes(model), model.tree_.depth
    by_depth = [used[depth <= limit].any(axis=0) for limit in range(depth.max() + 1)]
    shares = [np.bincount(price_of, weights=bought, minlength=counts.size) / counts for bought in by_depth]
    return PriceShares(prices, counts, np.array(shares))


def jaccard(used: BoolArray) -> FloatArray:
    """Compute the Jaccard coefficients of sets of features.

    Parameters
    ----------
    used : ndarray of bool, shape (n_sets, n_features)

    Returns
    -------
    ndarray of float64, shape (n_sets, n_sets)
        Size of the intersection over size of the union; 1 for two empty sets.
    """
    sets = used.astype(np.float64)
    common = sets @ sets.T
    sizes = sets.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - common
    return np.asarray(np.divide(common, union, out=np.ones_like(common), where=union > 0))


def leaf_similarity(model: ClassifierTreeEstimator) -> tuple[IntArray, FloatArray]:
    """Compare the features of the nodes that are leaves, section 6.5, Figure 10.

    Returns
    -------
    nodes : ndarray of int64, shape (n_leaves,)
    similarity : ndarray of float64, shape (n_leaves, n_leaves)
    """
    leaves = np.flatnonzero(model.tree_.is_leaf)
    return leaves, jaccard(features_of_nodes(model)[leaves])


def mean_labels(model: ClassifierTreeEstimator, X: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
    """Average the label of the examples that pass through each node, section 6.5; NaN where none does.

    Returns
    -------
    ndarray of float64, shape (n_nodes,)
    """
    passes = model.tree_.on_path[model.last_nodes(X)]
    counts = passes.sum(axis=0)
    sums = np.asarray(y, dtype=np.float64) @ passes
    return np.asarray(np.divide(sums, counts, out=np.full(counts.size, np.nan), where=counts > 0))


def neighbour_similarity(X: npt.ArrayLike, y: npt.ArrayLike, *, C: float = 0.1, random_state: Any = 0) -> FloatArray:
    """Compare the features that tell neighbouring labels apart: the criterion of section 6.8.

    Where coefficients fall away from the diagonal, examples of similar labels need similar features, and a tree of
    classifiers has something to gain.

    Parameters
    ----------
    X : array, shape (n_samples, n_features)
    y : array of numbers, shape (n_samples,)
        Ordered labels, three or more.
    C : float
        Inverse strength of the l1 norm of the logistic regressions.
    random_state : int, RandomState instance or None

    Returns
    -------
    ndarray of float64, shape (n_labels - 1, n_labels - 1)

    Raises
    ------
    ValueError
        Fewer than three labels, or two that no feature tells apart at this C.
    """
    examples, labels = StandardScaler().set_output(transform="default").fit_transform(X), np.asarray(y)
    values = np.unique(labels)
    if values.size < 3:
        raise ValueError(f"y: expected three labels or more, got {values.size}")
    used = []
    for low, high in pairwise(values):
        rows = (labels == low) | (labels == high)
        model = LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear", random_state=random_state)
        used.append(model.fit(examples[rows], labels[rows] == high).coef_[0] != 0)
        if not used[-1].any():
            raise ValueError(f"C: expected enough that some feature tells labels {low} and {high} apart, got {C}")
    return jaccard(np.array(used))


def plot_similarity(similarity: FloatArray, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw Jaccard coefficients as a coloured matrix with its numbers: Figures 10 and 14.

    Parameters
    ----------
    similarity : ndarray of float64, shape (n_sets, n_sets)
    names : sequence of str
        One per set.
    ax : matplotlib Axes, optional
        By default on a new figure.
    """
    axes = axes_or_new(ax)
    axes.imshow(similarity, vmin=0, vmax=1, cmap="Blues")
    for (row, column), value in np.ndenumerate(similarity):
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.6 else "black")
    places = np.arange(len(names))
    axes.set_xticks(places, names, rotation=30, ha="right")
    axes.set_yticks(places, names)
    return axes
