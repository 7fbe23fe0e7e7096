"""Order of the trees: those first that tell most per price, so that examples become sure early."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest

ORDERS = ("given", "greedy", "exact")

MAX_EXAMPLES = 500
"""So many examples, evenly spread over those given, decide on the order."""

MAX_TREES_EXACTLY = 14
"""The exact order looks at every set of trees."""


def order_trees(
    trees: Forest | BoostedTrees, X: Array, y: Array, costs: FeatureCosts, *, exact: bool = False
) -> Forest | BoostedTrees:
    """Order the trees of a classifier so that the area under loss against cost is small.

    The loss of the first trees is the squared error of their class probabilities (Brier); their cost is what examples
    pay for all features that they test. Greedily, the next tree is the one that lowers the loss most per additional
    price; a tree that costs nothing more comes at once.

    Parameters
    ----------
    trees : Forest or BoostedTrees
    X : ndarray, shape (n_samples, n_features)
        Held-out examples.
    y : ndarray, shape (n_samples,)
        Class labels.
    costs : FeatureCosts
    exact : bool, default=False
        Find the order of least area, by dynamic programming over the sets of trees.

    Returns
    -------
    Forest or BoostedTrees
        The same trees in the new order.

    Raises
    ------
    ValueError
        There are too many trees for the exact order.
    """
    if exact and trees.n_trees > MAX_TREES_EXACTLY:
        raise ValueError(f"order: expected at most {MAX_TREES_EXACTLY} trees for 'exact', got {trees.n_trees}")
    spread = np.unique(np.linspace(0, X.shape[0] - 1, MAX_EXAMPLES).astype(np.int64))
    prefixes = _Prefixes(trees, X[spread], y[spread], costs)
    order = _least_area(prefixes) if exact else _greedy(prefixes)
    return trees.reordered(order)


class _Prefixes:
    """Loss and cost of sets of trees on some examples."""

    def __init__(self, trees: Forest | BoostedTrees, X: Array, y: Array, costs: FeatureCosts) -> None:
        self._trees = trees
        examples = trees.checked_examples(X)
        self.n_trees, self.n_samples = trees.n_trees, examples.shape[0]
        self._target = np.asarray(trees.classes) == y[:, None]
        self._price = costs.float_unit_costs
        leaves = trees.leaves(examples)
        self.parts = self._contributions(leaves)
        uses = trees.first_uses(leaves, costs)
        tree_of_node = trees.tree_of_node[trees.internal_nodes]
        self.needs = np.zeros((trees.n_trees, self.n_samples, costs.n_units), dtype=bool)
        first = np.repeat(tree_of_node, np.diff(uses.indptr)), uses.example[uses.indices], uses.unit[uses.indices]
        self.needs[first] = True

    def _contributions(self, leaves: Array) -> FloatArray:
        """Return what each tree adds, shape (n_trees, n_samples, n_outputs)."""
        trees = self._trees
        parts = np.zeros((*leaves.shape, trees.base_score.size))
        for tree, first in enumerate(trees.first_output.tolist()):
            parts[tree, :, first : first + trees.value.shape[1]] = trees.value[leaves[tree]]
        return parts

    def loss(self, total: FloatArray, n_added: int) -> float:
        """Compute the squared error of the class probabilities that so many trees add up to."""
        if isinstance(self._trees, BoostedTrees):
            outputs = self._trees.outputs(total + self._trees.base_score)
        elif n_added:
            outputs = total / n_added
        else:
            outputs = np.full(total.shape, 1 / total.shape[1])
        return float(np.square(outputs - self._target).sum() / self.n_samples)

    def cost(self, needed: BoolArray) -> float:
        """Compute the mean price of needed units, shape (n_samples, n_units)."""
        return float((needed @ self._price).mean())


def _greedy(prefixes: _Prefixes) -> IntArray:
    order: list[int] = []
    left = list(range(prefixes.n_trees))
    total, bought = np.zeros(prefixes.parts.shape[1:]), np.zeros(prefixes.needs.shape[1:], dtype=bool)
    loss = prefixes.loss(total, 0)
    while left:
        gains = [loss - prefixes.loss(total + prefixes.parts[tree], len(order) + 1) for tree in left]
        prices = [prefixes.cost(prefixes.needs[tree] & ~bought) for tree in left]
        scores = [
            (np.inf if price == 0 else gain / price if gain > 0 else gain * price)
            for gain, price in zip(gains, prices, strict=True)
        ]
        best = int(np.argmax(scores))
        tree = left.pop(best)
        total, bought, loss = total + prefixes.parts[tree], bought | prefixes.needs[tree], loss - gains[best]
        order.append(tree)
    return np.array(order)


def _least_area(prefixes: _Prefixes) -> IntArray:
    """Find the best order from all sets of trees; bit t of a set's number says whether tree t is in it."""
    n_sets = 1 << prefixes.n_trees
    loss, cost = np.empty(n_sets), np.empty(n_sets)
    for members in range(n_sets):
        inside = [tree for tree in range(prefixes.n_trees) if members >> tree & 1]
        loss[members] = prefixes.loss(prefixes.parts[inside].sum(axis=0), len(inside))
        cost[members] = prefixes.cost(prefixes.needs[inside].max(axis=0, initial=False))
    area, following = np.zeros(n_sets), np.full(n_sets, -1)
    for members in reversed(range(n_sets - 1)):
        options = [tree for tree in range(prefixes.n_trees) if not members >> tree & 1]
        areas = [
            loss[members] * (cost[members | 1 << tree] - cost[members]) + area[members | 1 << tree] for tree in options
        ]
        best = int(np.argmin(areas))
        area[members], following[members] = areas[best], options[best]
    order, members = [], 0
    while members < n_sets - 1:
        order.append(int(following[members]))
        members |= 1 << order[-1]
    return np.array(order)
