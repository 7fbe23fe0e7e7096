"""The relaxed objective of a tree or cascade of classifiers, (12), (19), (22), whole and as one node sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.distinct_rows import distinct_rows
from ipforest.classifier_trees.classifier_tree import TERMINAL, ClassifierTree
from ipforest.classifier_trees.relaxation import CostBound, RelaxedCost
from ipforest.classifier_trees.resources import Resources
from ipforest.classifier_trees.smooth_losses import SmoothLoss


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Regularised loss plus lambda times the relaxed cost, on given examples.

    Parameters
    ----------
    phi : ndarray of float64, shape (n_samples, n_weights)
        What weights multiply.
    target : ndarray of float64, shape (n_samples,)
    loss : SmoothLoss
    sample_weight : ndarray of float64, shape (n_samples,)
        The class weights of (19); their mean need not be 1.
    share : ndarray of float64, shape (n_samples,)
        Share of all examples that are equal to each of these; the sum is 1. See `distinct`.
    resources : Resources
    cost : RelaxedCost
    lam : float
        What a unit of cost is worth in loss.
    rho : float
        Strength of the l1 norm of each node's weights. The papers print it inside the sum over examples; here it stands
        once per node, outside the mean.
    ridge : float
        Strength of half the squared l2 norm, > 0, so that (16) has one solution. Not in the paper.
    exits_pay : bool
        Whether a node's loss counts for the examples that leave by it, (19), or for all that reach it, (6).
    """

    phi: FloatArray
    target: FloatArray
    loss: SmoothLoss
    sample_weight: FloatArray
    share: FloatArray
    resources: Resources
    cost: RelaxedCost
    lam: float
    rho: float
    ridge: float
    exits_pay: bool = False

    def value(self, tree: ClassifierTree, scores: FloatArray | None = None) -> float:
        """Compute the objective.

        Parameters
        ----------
        tree : ClassifierTree
        scores : ndarray of float64, shape (n_samples, n_nodes), optional
            Those of the tree, where they are known.
        """
        scores = tree.scores(self.phi) if scores is None else scores
        arrival, leaving = tree.traverse(scores)
        losses = self.loss.value(scores, self.target[:, None])
        counted = leaving if self.exits_pay else arrival
        loss = float((self.share * self.sample_weight) @ (counted * losses).sum(axis=1))
        squares = self.resources.squares(tree.coef)
        cost = self.cost.value(tree, squares, self.share @ arrival, self.share @ leaving)
        return loss + self.rho * float(np.abs(tree.coef).sum()) + self.ridge_term(tree.coef) + self.lam * cost

    def ridge_term(self, coef: FloatArray) -> float:
        """Compute half the squared l2 norm times its strength."""
        return 0.5 * self.ridge * float(np.square(coef).sum())

    def problem_at(self, tree: ClassifierTree, node: int, scores: FloatArray) -> NodeProblem:
        """See the objective as a function of one node's weights, intercept and threshold, all others fixed."""
        arrival, leaving = tree.traverse(scores)
        losses = self.loss.value(scores, self.target[:, None])
        upper = _below(self, tree, int(tree.upper[node]), scores, losses)
        lower = _below(self, tree, int(tree.lower[node]), scores, losses)
        return NodeProblem(
            objective=self,
            tree=tree,
            node=node,
            reach=arrival[:, node],
            upper=upper,
            lower=lower,
            arrival=self.share @ arrival,
            leaving=self.share @ leaving,
            squares=self.resources.squares(tree.coef),
        )


def distinct(phi: FloatArray, target: FloatArray) -> tuple[IntArray, FloatArray]:
    """Find examples that are different in phi or target, and which share of all examples is equal to each.

    The objective is the same on these as on all. Trees as features leave few values, so there may be far fewer.

    Returns
    -------
    rows : ndarray of int64, shape (n_distinct,)
        Ascending.
    share : ndarray of float64, shape (n_distinct,)
    """
    first, number = distinct_rows(np.column_stack([phi, target]))
    return first, np.bincount(number) / target.size


@dataclass(frozen=True, slots=True, eq=False)
class _Below:
    """What happens to examples that go to one child.

    `loss` (n_samples,) is the expected loss there; `arrival` and `leaving` (n_samples, n_below) the probabilities of
    the nodes `nodes` below, given the child. All are empty or zero for a terminal child.
    """

    loss: FloatArray
    nodes: IntArray
    arrival: FloatArray
    leaving: FloatArray


def _below(objective: Objective, tree: ClassifierTree, child: int, scores: FloatArray, losses: FloatArray) -> _Below:
    n_samples = scores.shape[0]
    if child == TERMINAL:
        nothing = np.zeros((n_samples, 0))
        return _Below(np.zeros(n_samples), np.zeros(0, dtype=np.int64), nothing, nothing)
    nodes = np.flatnonzero(tree.on_path[:, child])
    arrival, leaving = tree.traverse(scores, child)
    counted = leaving if objective.exits_pay else arrival
    return _Below((counted * losses).sum(axis=1), nodes, arrival[:, nodes], leaving[:, nodes])


@dataclass(frozen=True, slots=True, eq=False)
class NodeProblem:
    """The objective as one node sees it: (14) at a leaf, (17) and (18) elsewhere.

    Parameters
    ----------
    objective : Objective
    tree : ClassifierTree
    node : int
    reach : ndarray of float64, shape (n_samples,)
        How likely each example reaches the node.
    upper, lower : _Below
    arrival, leaving : ndarray of float64, shape (n_nodes,)
        Shares of the examples at the given tree; those below the node change with it.
    squares : ndarray of float64, shape (n_resources, n_nodes)
        Squared weights that need each resource at the given tree; those of the node change with it.
    """

    objective: Objective
    tree: ClassifierTree
    node: int
    reach: FloatArray
    upper: _Below
    lower: _Below
    arrival: FloatArray
    leaving: FloatArray
    squares: FloatArray

    @property
    def counted(self) -> FloatArray:
        """Weight of each example at the node, shape (n_samples,)."""
        return np.asarray(self.objective.share * self.objective.sample_weight * self.reach)

    @property
    def is_leaf(self) -> bool:
        """Return whether the node routes nothing."""
        return bool(self.tree.is_leaf[self.node])

    @property
    def exit_sign(self) -> int:
        """Return by which side examples leave here: 1 above the threshold, -1 below, 0 if both sides have children."""
        if self.tree.upper[self.node] == TERMINAL:
            return 1
        return -1 if self.tree.lower[self.node] == TERMINAL else 0

    def bounded(
        self, score: FloatArray, threshold: float, squares: FloatArray, bound: CostBound
    ) -> tuple[float, FloatArray, float, FloatArray]:
        """Compute loss plus lambda times the bound of the cost, without what regularises the weights themselves.

        Parameters
        ----------
        score : ndarray of float64, shape (n_samples,)
        threshold : float
        squares : ndarray of float64, shape (n_resources,)
            Squared weights of the node that need each resource.
        bound : CostBound

        Returns
        -------
        value : float
        by_score : ndarray of float64, shape (n_samples,)
        by_threshold : float
        by_squares : ndarray of float64, shape (n_resources,)
        """
        goal = self.objective
        weight = goal.share * self.reach
        own, slope = goal.loss.value(score, goal.target), goal.loss.derivative(score, goal.target)
        if self.is_leaf:
            value, by_squares, _, _ = bound.at(squares, self.arrival, self.leaving)
            weighted = goal.sample_weight * weight
            return float(weighted @ own) + goal.lam * value, weighted * slope, 0.0, goal.lam * by_squares
        up = expit(score - threshold)
        sign = self.exit_sign
        leaves = self._leaves(up)
        counted = leaves if goal.exits_pay else np.ones(score.size)
        expected = counted * own + up * self.upper.loss + (1 - up) * self.lower.loss
        arrival, leaving = self._shares(weight, up)
        value, by_squares, by_arrival, by_leaving = bound.at(squares, arrival, leaving)
        by_up = self.upper.loss - self.lower.loss
        if goal.exits_pay:
            by_up = by_up + sign * own
        by_up = goal.sample_weight * by_up + goal.lam * (
            _price_of(self.upper, by_arrival, by_leaving)
            - _price_of(self.lower, by_arrival, by_leaving)
            + sign * by_leaving[self.node]
        )
        by_margin = weight * by_up * up * (1 - up)
        by_score = goal.sample_weight * weight * counted * slope + by_margin
        loss = float((goal.sample_weight * weight) @ expected)
        return loss + goal.lam * value, by_score, -float(by_margin.sum()), goal.lam * by_squares

    def shares(self, score: FloatArray, threshold: float) -> tuple[FloatArray, FloatArray]:
        """Compute the shares of examples that reach and leave by each node, given scores and threshold of this one."""
        return self._shares(self.objective.share * self.reach, expit(score - threshold))

    def _shares(self, weight: FloatArray, up: FloatArray) -> tuple[FloatArray, FloatArray]:
        arrival, leaving = self.arrival.copy(), self.leaving.copy()
        if self.is_leaf:
            return arrival, leaving
        for below, part in ((self.upper, weight * up), (self.lower, weight * (1 - up))):
            arrival[below.nodes] = part @ below.arrival
            leaving[below.nodes] = part @ below.leaving
        leaving[self.node] = weight @ self._leaves(up)
        return arrival, leaving

    def _leaves(self, up: FloatArray) -> FloatArray:
        """Return the probability of leaving here for each example, given that of going above the threshold."""
        if self.exit_sign == 0:
            return np.zeros_like(up)
        return up if self.exit_sign > 0 else 1 - up


def _price_of(below: _Below, by_arrival: FloatArray, by_leaving: FloatArray) -> FloatArray:
    return np.asarray(below.arrival @ by_arrival[below.nodes] + below.leaving @ by_leaving[below.nodes])
