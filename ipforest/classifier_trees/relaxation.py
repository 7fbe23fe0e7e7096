"""The cost of a tree of classifiers relaxed to mixed norms, and their quadratic bounds by auxiliary variables.

The l0 norm of a sum over a path becomes the l2 norm over the path, (11). Lemma 1 bounds each root from above by a
quadratic: sqrt(g) <= (g / eta + eta) / 2, with equality at eta = sqrt(g); so minimising the bound and renewing eta in
turn never raises the relaxed cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.resources import Resources

Bounded: TypeAlias = tuple[float, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class CostBound:
    """Upper bound of the relaxed cost as a function of one node's squared weights and of where examples go.

    Parameters
    ----------
    locked : ndarray of bool, shape (n_resources,)
        Resources of eta = 0: weights of this node that need them stay 0.
    at : callable (squares, arrival, leaving) -> tuple
        The bound and its derivatives by the squares, the arrival shares and the exit shares.
    """

    locked: BoolArray
    at: Callable[[FloatArray, FloatArray, FloatArray], Bounded]


class RelaxedCost(Protocol):
    """Relaxed expected cost of a tree of classifiers."""

    def value(self, tree: ClassifierTree, squares: FloatArray, arrival: FloatArray, leaving: FloatArray) -> float:
        """Compute the relaxed cost.

        Parameters
        ----------
        tree : ClassifierTree
        squares : ndarray of float64, shape (n_resources, n_nodes)
        arrival, leaving : ndarray of float64, shape (n_nodes,)
            Shares of the examples that reach each node, and that leave by its terminal element.
        """

    def bound(
        self, tree: ClassifierTree, node: int, squares: FloatArray, arrival: FloatArray, *, loose: bool = False
    ) -> CostBound:
        """Bound the cost by a quadratic in the weights of one node that touches it at the given tree.

        A loose bound has eta = 1 for the resources that no other node pays: where a node starts from nothing.
        """


@dataclass(frozen=True, slots=True)
class PathCost:
    """Sum over terminal elements of their share times the mixed norm of their path, (12), (20), (21)."""

    resources: Resources

    def value(self, tree: ClassifierTree, squares: FloatArray, arrival: FloatArray, leaving: FloatArray) -> float:
        """Compute the relaxed cost; see `RelaxedCost.value`."""
        return float(self.resources.prices @ np.sqrt(squares @ tree.on_path.T) @ leaving)

    def bound(
        self, tree: ClassifierTree, node: int, squares: FloatArray, arrival: FloatArray, *, loose: bool = False
    ) -> CostBound:
        """Bound the cost over the paths through one node; see `RelaxedCost.bound`."""
        below = tree.on_path[:, node]
        others = tree.on_path[below].copy()
        others[:, node] = False
        paid = squares @ others.T
        eta = np.sqrt(paid + squares[:, [node]])
        if loose:
            eta[eta == 0] = 1
        prices = self.resources.prices
        slope = prices[:, None] * np.divide(0.5, eta, out=np.zeros_like(eta), where=eta > 0)
        fixed = (slope * paid).sum(axis=0) + 0.5 * prices @ eta
        exits = np.flatnonzero(below)

        def at(squares: FloatArray, arrival: FloatArray, leaving: FloatArray) -> Bounded:
            of_exit, share = squares @ slope + fixed, leaving[exits]
            by_leaving = np.zeros_like(leaving)
            by_leaving[exits] = of_exit
            return float(of_exit @ share), slope @ share, np.zeros_like(arrival), by_leaving

        return CostBound((eta == 0).any(axis=1) & (prices > 0), at)


@dataclass(frozen=True, slots=True)
class StageCost:
    """Mixed norm over all nodes, each weighted by the share of examples that reach it: Cronus, section 4.1."""

    resources: Resources

    def value(self, tree: ClassifierTree, squares: FloatArray, arrival: FloatArray, leaving: FloatArray) -> float:
        """Compute the relaxed cost; see `RelaxedCost.value`."""
        return float(self.resources.prices @ np.sqrt(squares @ arrival**2))

    def bound(
        self, tree: ClassifierTree, node: int, squares: FloatArray, arrival: FloatArray, *, loose: bool = False
    ) -> CostBound:
        """Bound the cost of all nodes; see `RelaxedCost.bound`."""
        eta = np.sqrt(squares @ arrival**2)
        if loose:
            eta[eta == 0] = 1
        prices = self.resources.prices
        slope = 0.5 * np.divide(prices, eta, out=np.zeros_like(eta), where=eta > 0)
        others, fixed = slope @ squares, 0.5 * float(prices @ eta)

        def at(squares: FloatArray, arrival: FloatArray, leaving: FloatArray) -> Bounded:
            of_node = others.copy()
            of_node[node] = squares @ slope
            value = float(of_node @ arrival**2) + fixed
            return value, slope * arrival[node] ** 2, 2 * arrival * of_node, np.zeros_like(leaving)

        return CostBound((eta == 0) & (prices > 0), at)
