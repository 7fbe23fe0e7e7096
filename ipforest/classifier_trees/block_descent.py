"""Algorithm 1: one node at a time, auxiliary variables and weights in turn; the objective never rises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.objective import NodeProblem, Objective
from ipforest.classifier_trees.relaxation import CostBound
from ipforest.classifier_trees.smooth_losses import SQUARED
from ipforest.estimator.checks import check_choice, check_each, check_integer, check_not_negative, check_share
from ipforest.settings import Settings, checked

CLAMP = 1e-4
"""Weights smaller than this become zero, section 3.4."""

PRUNINGS = ("after", "before", "within")


@dataclass(frozen=True, slots=True, repr=False)
class DescentSettings(Settings):
    """How trees of classifiers are optimised.

    Parameters
    ----------
    tolerance : float
        Relative fall of the objective from which on a block, and then the whole, counts as converged.
    max_block_steps : int
        Renewals of the auxiliary variables per block.
    max_gradient_steps : int or None
        Steps of conjugate gradient per renewal; None for as many as it takes to converge.
    max_sweeps : int
        Sweeps over all nodes.
    patience : int
        Sweeps without a better validation value after which to stop.
    clamp_shares : sequence of float
        Shares of a node's largest weight that are tried as thresholds, too, once a block has nearly converged. Weights
        get to zero only in the limit; these take the rest of the way at once where that lowers the objective.
    pruning : {"after", "before", "within"}
        When a balanced tree is pruned on validation data: after it is optimised, before, when all nodes are initialised
        (section 3.6.1), or after each sweep over its nodes.
    sent_up : float
        Share of the (soft) examples that reach a node which its initial threshold sends to the upper child, > 0 and
        < 1: in a cascade, those that are kept.
    fine_tune : bool
        Whether to fit what answers again without the cost (3.5).

    Raises
    ------
    ValueError
        A value out of these ranges.
    """

    parameter: ClassVar[str] = "descent"

    tolerance: float = checked(1e-5, check_not_negative)
    max_block_steps: int = checked(100, check_integer, 0)
    max_gradient_steps: int | None = checked(5, check_integer, 1, or_none=True)
    max_sweeps: int = checked(10, check_integer, 0)
    patience: int = checked(2, check_integer, 0)
    clamp_shares: Sequence[float] = checked((1e-3, 1e-2, 1e-1), check_each, check_share)
    pruning: str = checked("after", check_choice, PRUNINGS)
    sent_up: float = 0.5
    fine_tune: bool = True

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if not isinstance(self.sent_up, Real) or not 0 < self.sent_up < 1:
            raise ValueError(f"descent.sent_up: expected a share between 0 and 1, got {self.sent_up!r}")

    @classmethod
    def printed(cls) -> Self:
        """Return what Xu et al. (2014) print: pruned first, gradients to convergence, weights below 1e-4 clamped."""
        return cls(max_gradient_steps=None, clamp_shares=(), pruning="before")


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Parameters of one node while it is optimised."""

    coef: FloatArray
    intercept: float
    threshold: float

    @classmethod
    def of(cls, tree: ClassifierTree, node: int) -> _Block:
        return cls(tree.coef[node], float(tree.intercept[node]), float(tree.threshold[node]))

    def put(self, tree: ClassifierTree, node: int) -> ClassifierTree:
        return tree.with_node(node, self.coef, self.intercept, self.threshold)


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """Auxiliary variables of one node: eta of its resources, in the bound of the cost, and gamma of its weights."""

    cost: CostBound
    gamma: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """A block with the scores of all examples, the bound that touches the objective there, and the objective.

    The objective, `value`, is up to what does not depend on the node.
    """

    block: _Block
    score: FloatArray
    bound: _Bound
    value: float


def descend(
    objective: Objective,
    tree: ClassifierTree,
    settings: DescentSettings,
    validate: Callable[[ClassifierTree], float] | None = None,
    record: Callable[[float], None] | None = None,
    prune: Callable[[ClassifierTree], ClassifierTree] | None = None,
) -> ClassifierTree:
    """Minimise the objective node by node in level order until it falls no further.

    Parameters
    ----------
    objective : Objective
    tree : ClassifierTree
        Where to start; see `initialise`.
    settings : DescentSettings
    validate : callable, optional
        Gives the value of a tree on validation data, less is better; the best tree over the sweeps is returned, and
        the descent stops early when it no longer gets better (end of section 5).
    record : callable, optional
        Is told the objective after each block.
    prune : callable, optional
        Takes nodes away from a tree after each sweep; the objective may rise then.
    """
    scores = tree.scores(objective.phi)
    value = objective.value(tree, scores)
    best, best_value, waited = tree, np.inf if validate is None else validate(tree), 0
    for _ in range(settings.max_sweeps):
        before = value
        for node in tree.level_order:
            tree, scores, value = update_node(objective, tree, int(node), scores, value, settings)
            if record is not None:
                record(value)
        smaller = tree if prune is None else prune(tree)
        if smaller.n_nodes < tree.n_nodes:
            tree, scores, before = smaller, smaller.scores(objective.phi), np.inf
            value = objective.value(tree, scores)
        if validate is None:
            best = tree
        else:
            valid = validate(tree)
            waited = 0 if valid < best_value else waited + 1
            if valid < best_value:
                best, best_value = tree, valid
            if waited >= settings.patience:
                break
        if before < np.inf and before - value <= settings.tolerance * abs(before):
            break
    return best


def update_node(
    objective: Objective, tree: ClassifierTree, node: int, scores: FloatArray, value: float, settings: DescentSettings
) -> tuple[ClassifierTree, FloatArray, float]:
    """Minimise the objective over one node's weights, intercept and threshold.

    Returns
    -------
    tree : ClassifierTree
    scores : ndarray of float64, shape (n_samples, n_nodes)
    value : float
        The objective, at most the given one.
    """
    problem = objective.problem_at(tree, node, scores)
    if not problem.counted.any():
        return tree, scores, value
    minimise_bound, here = _minimiser(problem, settings), _point_at(problem, _Block.of(tree, node))
    thresholds: tuple[float, ...] = (0.0, CLAMP)
    for _ in range(settings.max_block_steps):
        below = _clamped_best(problem, minimise_bound(here.block, here.bound), thresholds, here)
        fall, here = here.value - below.value, below
        if fall <= settings.tolerance * abs(value):
            if len(thresholds) > 2 or not len(settings.clamp_shares):
                break
            thresholds += tuple(
                share * float(np.abs(here.block.coef).max(initial=0.0)) for share in settings.clamp_shares
            )
    tree = here.block.put(tree, node)
    scores = scores.copy()
    scores[:, node] = here.score
    return tree, scores, objective.value(tree, scores)


def fit_leaf(objective: Objective, tree: ClassifierTree, node: int, settings: DescentSettings) -> ClassifierTree:
    """Fit a leaf from nothing, its first bound being that of eta = gamma = 1 (section 3.4.2)."""
    tree = tree.with_node(node, np.zeros(tree.coef.shape[1]), 0.0)
    scores = tree.scores(objective.phi)
    problem = objective.problem_at(tree, node, scores)
    if not problem.counted.any():
        return tree
    loose = objective.cost.bound(tree, node, problem.squares, problem.arrival, loose=True)
    start = _minimiser(problem, settings)(_Block.of(tree, node), _Bound(loose, np.ones(tree.coef.shape[1])))
    tree = start.put(tree, node)
    scores[:, node] = objective.phi @ start.coef + start.intercept
    return update_node(objective, tree, node, scores, objective.value(tree, scores), settings)[0]


def _point_at(problem: NodeProblem, block: _Block) -> _Point:
    """Renew the auxiliary variables at the block's weights, the closed form of (15), and compute the objective."""
    goal = problem.objective
    score = goal.phi @ block.coef + block.intercept
    squares = problem.squares.copy()
    squares[:, problem.node] = goal.resources.squares(block.coef)[:, 0]
    arrival, _ = problem.shares(score, block.threshold)
    cost = goal.cost.bound(problem.tree, problem.node, squares, arrival)
    gamma = np.abs(block.coef)
    value = problem.bounded(score, block.threshold, squares[:, problem.node], cost)[0]
    value += goal.rho * float(gamma.sum()) + goal.ridge_term(block.coef)
    return _Point(block, score, _Bound(cost, gamma), value)


def _clamped_best(problem: NodeProblem, found: _Block, thresholds: tuple[float, ...], before: _Point) -> _Point:
    """Clamp small weights by the threshold that lowers the objective most, the largest of equals.

    Keep `before` if none lowers it.
    """
    clamped = (np.where(np.abs(found.coef) < threshold, 0.0, found.coef) for threshold in thresholds)
    of_size = {np.count_nonzero(coef): coef for coef in clamped}
    points = [_point_at(problem, replace(found, coef=of_size[size])) for size in sorted(of_size)]
    best = min(points, key=lambda point: point.value)
    return best if best.value <= before.value else before


Minimiser = Callable[[_Block, _Bound], _Block]


def _minimiser(problem: NodeProblem, settings: DescentSettings) -> Minimiser:
    """Choose how to minimise over one node, auxiliary variables fixed: by the closed form where there is one."""
    if problem.is_leaf and problem.objective.loss == SQUARED:
        return _ClosedForm(problem)
    return _ConjugateGradient(problem, settings.max_gradient_steps)


def _free(problem: NodeProblem, bound: _Bound) -> IntArray:
    """Find the weights that may move: neither clamped by their l1 norm nor in need of a locked resource."""
    goal = problem.objective
    stuck = (bound.gamma == 0) if goal.rho else np.zeros(bound.gamma.size, dtype=bool)
    if goal.lam:
        stuck |= goal.resources.needs @ bound.cost.locked.astype(float) > 0
    return np.flatnonzero(~stuck)


def centred_moments(
    phi: FloatArray, target: FloatArray, weight: FloatArray
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Return the weighted means of phi and of the target, and the moments of phi about them with itself and it."""
    total = float(weight.sum())
    mean, target_mean = weight @ phi / total, float(weight @ target) / total
    root = np.sqrt(weight)
    centred = root[:, None] * (phi - mean)
    return mean, target_mean, centred.T @ centred, centred.T @ (root * (target - target_mean))


class _ClosedForm:
    """Squared loss at a leaf, (16): weighted least squares with a diagonal; the Gram matrix is computed once."""

    def __init__(self, problem: NodeProblem) -> None:
        self.problem = problem
        moments = centred_moments(problem.objective.phi, problem.objective.target, problem.counted)
        self.mean, self.target_mean, self.gram, self.moment = moments

    def __call__(self, block: _Block, bound: _Bound) -> _Block:
        goal, problem = self.problem.objective, self.problem
        free = _free(problem, bound)
        squares = goal.resources.squares(block.coef)[:, 0]
        by_squares = bound.cost.at(squares, problem.arrival, problem.leaving)[1]
        diagonal = goal.ridge + 2 * goal.lam * (goal.resources.needs @ by_squares)[free]
        if goal.rho:
            diagonal = diagonal + goal.rho / bound.gamma[free]
        system = self.gram[np.ix_(free, free)]
        system[np.diag_indices_from(system)] += diagonal
        coef = np.zeros_like(block.coef)
        if free.size:
            coef[free] = cho_solve(cho_factor(system, overwrite_a=True), self.moment[free])
        return _Block(coef, self.target_mean - float(self.mean @ coef), block.threshold)


class _ConjugateGradient:
    """Conjugate gradient over weights, intercept and threshold, scaled by the diagonal of the bound's curvature."""

    def __init__(self, problem: NodeProblem, max_steps: int | None) -> None:
        phi, weight = problem.objective.phi, problem.counted
        self.problem = problem
        self.max_steps = max_steps
        self.total = float(weight.sum())
        self.curvature = weight @ np.square(phi)
        self.free, self.phi = np.arange(phi.shape[1]), phi

    def _narrow(self, free: IntArray) -> None:
        """Keep the columns of free weights only; what is stuck at zero stays there while the block is optimised."""
        if free.size < self.free.size:
            self.free, self.phi = free, self.phi[:, np.isin(self.free, free)]

    def __call__(self, block: _Block, bound: _Bound) -> _Block:
        self._narrow(_free(self.problem, bound))
        restricted = RestrictedBound(self.problem, bound.cost, bound.gamma, self.free, self.phi)
        curvature = np.concatenate(
            [self.curvature[restricted.free] + restricted.diagonal(block.coef), [self.total, self.total]]
        )
        scale = 1 / np.sqrt(curvature)

        def scaled(parameters: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = restricted(parameters * scale)
            return value, gradient * scale

        start = np.concatenate([block.coef[restricted.free], [block.intercept, block.threshold]])
        found = minimize(scaled, start / scale, jac=True, method="CG", options={"maxiter": self.max_steps})
        end = found.x * scale
        coef = np.zeros_like(block.coef)
        coef[restricted.free] = end[:-2]
        return _Block(coef, float(end[-2]), float(end[-1]))


class RestrictedBound:
    """The bounded objective as a function of one node's free weights, its intercept and its threshold.

    Parameters
    ----------
    problem : NodeProblem
    cost : CostBound
    gamma : ndarray of float64, shape (n_weights,)
        Auxiliary variables of the l1 norm.
    free : ndarray of int, shape (n_free,)
        Weights that may move; the others are zero.
    phi : ndarray of float64, shape (n_samples, n_free)
        What they multiply.
    """

    def __init__(
        self, problem: NodeProblem, cost: CostBound, gamma: FloatArray, free: IntArray, phi: FloatArray
    ) -> None:
        goal = problem.objective
        self.problem, self.cost, self.free, self.phi = problem, cost, free, phi
        self.members, self.needs = goal.resources.members[:, free], goal.resources.needs[free]
        self.own = goal.ridge + (goal.rho / gamma[free] if goal.rho else np.zeros(free.size))

    def diagonal(self, coef: FloatArray) -> FloatArray:
        """Compute the curvature of the bound's quadratic terms, shape (n_free,)."""
        squares = self.members @ coef[self.free] ** 2
        by_squares = self.cost.at(squares, self.problem.arrival, self.problem.leaving)[1]
        return np.asarray(self.own + 2 * self.problem.objective.lam * (self.needs @ by_squares))

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Compute the value and its gradient at free weights, intercept and threshold, shape (n_free + 2,)."""
        coef, intercept, threshold = parameters[:-2], parameters[-2], parameters[-1]
        value, by_score, by_threshold, by_squares = self.problem.bounded(
            self.phi @ coef + intercept, threshold, self.members @ coef**2, self.cost
        )
        by_coef = by_score @ self.phi + coef * (self.own + 2 * (self.needs @ by_squares))
        gradient = np.concatenate([by_coef, [by_score.sum(), by_threshold]])
        return value + 0.5 * float(self.own @ coef**2), gradient
