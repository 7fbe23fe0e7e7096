"""Prunings to compare with: each method's own path from the whole forest to its roots.

Sources: cost-complexity pruning, Breiman, Friedman, Olshen and Stone (1984); early stopping and GreedyPrune,
BudgetPrune (NIPS 2016), section 5 (i) and (iii); individual pruning, "Optimally pruning decision tree ensembles with
feature cost", section 6.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray, Int32Array, evenly_spread
from ipforest._internal.kernels import njit
from ipforest.choosing.frontier import Frontier
from ipforest.ensemble.routing import least_above
from ipforest.estimator.checks import check_integer
from ipforest.instance import PruningInstance
from ipforest.learners.forest_pruner import ForestPruner
from ipforest.losses import NodeErrors
from ipforest.path_search import prune_path
from ipforest.resolution import joint_resolution
from ipforest.results import Pruning
from ipforest.settings import checked

__all__ = ["CostComplexity", "EarlyStopping", "GreedyPrune", "IndividualPruning", "PruningSequence"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PruningSequence:
    """Prunings of one forest, from the whole forest downwards, by a parameter of the method.

    Parameters
    ----------
    prunings : tuple of Pruning
    parameters : tuple
        The method's parameter at each.
    errors, costs : tuple of Fraction
        What the instance says of each.
    """

    prunings: tuple[Pruning, ...]
    parameters: tuple[Any, ...]
    errors: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]

    @classmethod
    def of(
        cls, instance: PruningInstance, prunings: Iterable[Pruning | BoolArray], parameters: Iterable[Any]
    ) -> PruningSequence:
        """Evaluate prunings, or arrays of bool over the internal nodes.

        Raises
        ------
        ValueError
            There is none, or not one parameter for each.
        """
        chosen = tuple(each if isinstance(each, Pruning) else Pruning(each) for each in prunings)
        given = tuple(parameters)
        if not chosen:
            raise ValueError("prunings: expected one or more, got none")
        if len(given) != len(chosen):
            raise ValueError(f"parameters: expected one for each of {len(chosen)} prunings, got {len(given)}")
        points = [instance.evaluate(pruning) for pruning in chosen]
        return cls(chosen, given, *(tuple(column) for column in zip(*points, strict=True)))

    @property
    def frontier(self) -> Frontier:
        """The prunings as models that a budget chooses from."""
        return Frontier.of_points(zip(self.costs, self.errors, strict=True))

    def __repr__(self) -> str:
        return f"PruningSequence({len(self.prunings)} prunings)"


@dataclass(eq=False, repr=False, kw_only=True)
class PruningBaseline(ForestPruner):
    """Base of the methods that are compared with `BudgetPrune`; parameters and use are the same.

    Parameters
    ----------
    estimator, feature_costs, budget, max_cost, loss, split_cost, validation_fraction, random_state
        See `BudgetPrune`. With a budget, the pruning of least error within it on the method's path; without one, the
        whole forest.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What mistakes cost, as in `ipforest.EarlyExit`: the loss by which a pruning is taken, and by which the method
        prunes where it goes by the loss, is the average cost of a prediction.
    scoring : {None, "total cost"}, default=None
        See `ipforest.EarlyExit`.
    n_prunings : int, default=100
        At most so many prunings of the path are evaluated, evenly spread over its parameter's values: at least 2, the
        whole forest and its roots.

    Attributes
    ----------
    sequence_ : PruningSequence
    forest_, costs_, instance_, pruning_, pruned_
        See `BudgetPrune`.
    """

    n_prunings: int = checked(100, check_integer, 2)

    def _find_prunings(self) -> Frontier:
        self.sequence_ = self._sequence()
        return self.sequence_.frontier

    @abstractmethod
    def _sequence(self) -> PruningSequence:
        """Prune more and more."""

    def _choose_pruning(self) -> Pruning:
        wants_all = self.budget is None and not self._least_total
        self.choice_ = 0 if wants_all else self._offers().within(self.budget)
        return self.sequence_.prunings[self.choice_]


class PruningByLevel(PruningBaseline):
    """Base of the methods that give each node a level, and prune at levels between the least and the largest.

    Attributes
    ----------
    node_levels_ : ndarray of float64, shape (n_internal,)
        The parameter from which on each internal node is a leaf.
    """

    @abstractmethod
    def _node_levels(self) -> FloatArray:
        """Return the largest parameter at which each internal node goes on being split, shape (n_internal,)."""

    def _sequence(self) -> PruningSequence:
        """Prune at each level: a node stays if its own is higher."""
        self.node_levels_ = levels = self._node_levels()
        distinct = np.unique(levels)
        thresholds = [-np.inf, *distinct[evenly_spread(distinct.size, self.n_prunings - 1)].tolist()]
        return PruningSequence.of(self.instance_, (Pruning(levels > level) for level in thresholds), thresholds)


class CostComplexity(PruningByLevel):
    """Prune each tree by weakest links: error against the number of leaves, whatever features cost.

    All trees are pruned at the same price per leaf. With loss "gini" or "entropy" these are scikit-learn's prunings by
    ``ccp_alpha``; by default the error is the misclassification that Breiman et al. use.

    Parameters and attributes are those of `PruningBaseline`.
    """

    def _node_levels(self) -> FloatArray:
        instance = self.instance_
        losses = instance.errors.astype(np.float64)
        links = least_above(instance.node_parent, weakest_links(instance.node_parent, losses))
        levels: FloatArray = links[instance.internal_nodes] * float(instance.error_unit) * instance.n_trees
        return levels


class EarlyStopping(PruningByLevel):
    """Stop each tree where the impurity of a node is low: BudgetRF's way to trade error for cost.

    A node stays if its impurity, and that of every node above it, is more than the threshold.

    Parameters and attributes are those of `PruningBaseline`.
    """

    def _node_levels(self) -> FloatArray:
        forest = self.forest_
        lowest = least_above(forest.parent, forest.impurity)
        levels: FloatArray = lowest[forest.internal_nodes]
        return levels


class IndividualPruning(PruningByLevel):
    """Prune each tree optimally by itself, as if it bought its features alone.

    It is the optimal path of the instance in which every tree has acquisitions of its own; error and cost are then
    those of the whole forest.

    Parameters and attributes are those of `PruningBaseline`.
    """

    def _node_levels(self) -> FloatArray:
        path = prune_path(without_sharing(self.instance_))
        return path.node_lambda.astype(np.float64)


class GreedyPrune(PruningBaseline):
    """Give up one unit (feature or group) after another, with every node below a test that needs it.

    Each time it is the unit whose loss raises the error least per cost that it saves.

    Parameters and attributes are those of `PruningBaseline`.
    """

    def _sequence(self) -> PruningSequence:
        instance = self.instance_
        kept = np.ones(instance.n_internal, dtype=bool)
        prunings, given_up = [instance.unpruned], [-1]
        left = list(range(instance.n_units))
        error, cost = instance.evaluate(instance.unpruned)
        while left and kept.any():
            needed = self._needed(kept)
            trials = [kept & self._spared(kept, unit) if unit in needed else kept for unit in left]
            points = [(error, cost) if trial is kept else instance.evaluate(Pruning(trial)) for trial in trials]
            best = min(range(len(left)), key=lambda place: _rate(points[place], error, cost))
            kept, (error, cost) = trials[best], points[best]
            prunings.append(Pruning(kept))
            given_up.append(left.pop(best))
        return PruningSequence.of(instance, prunings, given_up)

    def _needed(self, kept: BoolArray) -> set[int]:
        """List the units that the tests of kept nodes need."""
        tested = np.unique(self.forest_.feature[self.forest_.internal_nodes[kept]])
        return {int(unit) for feature in tested.tolist() for unit in self.costs_.units_of(feature)}

    def _spared(self, kept: BoolArray, unit: int) -> BoolArray:
        """Mark the internal nodes that neither need a unit nor stand below one that does."""
        costs, forest = self.costs_, self.forest_
        needs = np.zeros(costs.n_features, dtype=bool)
        owners = np.repeat(np.arange(costs.n_features), np.diff(costs.unit_indptr))
        needs[owners[costs.unit_indices == unit]] = True
        keeps = np.ones(forest.n_nodes, dtype=np.float64)
        keeps[forest.internal_nodes] = kept & ~needs[forest.feature[forest.internal_nodes]]
        spared: BoolArray = least_above(forest.parent, keeps)[forest.internal_nodes] > 0
        return spared


def _rate(point: tuple[Fraction, Fraction], error: Fraction, cost: Fraction) -> tuple[float, float]:
    """Rise of the error per cost saved; what saves nothing comes last, by its error."""
    saved = cost - point[1]
    if saved <= 0:
        return np.inf, float(point[0])
    return float((point[0] - error) / saved), float(point[0])


def without_sharing(instance: PruningInstance) -> PruningInstance:
    """Give every tree units of its own; where their path would pass 64 bits, in coarser units of error and cost."""
    own = instance.triple_tree * np.int64(instance.n_acquisitions) + instance.indices
    places, indices = np.arange(own.size), np.arange(own.size)
    if instance.in_rounds:
        _, places, indices = np.unique(own, return_index=True, return_inverse=True)
    pairs = instance.indices[places]
    prices = instance.acquisition_cost[pairs]
    values, numbers = np.unique(np.concatenate([prices, instance.split_cost]), return_counts=True)
    amounts = zip(map(Fraction, values.tolist()), numbers.tolist(), strict=True)
    losses = NodeErrors(instance.errors, instance.error_unit, Fraction(1))
    losses, step = joint_resolution(losses, instance.node_parent, amounts)
    return replace(
        instance,
        errors=losses.errors,
        error_unit=losses.error_unit,
        cost_unit=instance.cost_unit * step,
        n_units=instance.n_units * instance.n_trees,
        indices=indices.astype(np.int32),
        acquisition_unit=instance.acquisition_unit[pairs] + instance.n_units * instance.triple_tree[places],
        acquisition_example=instance.acquisition_example[pairs],
        acquisition_cost=-(-prices // int(step)),
        split_cost=-(-instance.split_cost // int(step)),
    )


@njit
def weakest_links(parent: Int32Array, losses: FloatArray) -> FloatArray:
    """Find the price per leaf from which each node is better off as a leaf than split.

    Parameters
    ----------
    parent : ndarray of int32, shape (n_nodes,)
        Parents stand before children.
    losses : ndarray of float64, shape (n_nodes,)
        What is lost if the node is a leaf.

    Returns
    -------
    ndarray of float64, shape (n_nodes,)
        Minus infinity at leaves.

    Notes
    -----
    At price alpha the best pruning below a node costs a concave, piecewise linear V(alpha). Newton's method finds where
    it meets the loss of a leaf plus alpha, from the left, in as many steps as the best pruning changes.
    """
    n = parent.size
    first_child = np.full(n, -1, dtype=np.int32)
    sibling = np.full(n, -1, dtype=np.int32)
    for node in range(n - 1, -1, -1):
        if parent[node] >= 0:
            sibling[node] = first_child[parent[node]]
            first_child[parent[node]] = node
    price = np.full(n, -np.inf)
    open_nodes = np.empty(n, dtype=np.int32)
    for node in range(n - 1, -1, -1):
        if first_child[node] < 0:
            continue
        alpha = -np.inf
        while True:
            loss, n_leaves, n_open = 0.0, 0, 1
            open_nodes[0] = node
            while n_open > 0:
                n_open -= 1
                child = first_child[open_nodes[n_open]]
                while child >= 0:
                    if first_child[child] >= 0 and price[child] > alpha:
                        open_nodes[n_open] = child
                        n_open += 1
                    else:
                        loss += losses[child]
                        n_leaves += 1
                    child = sibling[child]
            following = (losses[node] - loss) / (n_leaves - 1)
            if following <= alpha:
                break
            alpha = following
        price[node] = alpha
    return price
