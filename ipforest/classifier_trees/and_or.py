"""The AND-OR cascade (Dundar and Bi, 2007): positives must pass every stage, negatives may fail at any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from ipforest._internal.arrays import BoolArray, FloatArray
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.lambdas import check_lambdas, geometric_grid, swept_lambdas
from ipforest.classifier_trees.classifier_tree import TERMINAL, ClassifierTree
from ipforest.classifier_trees.objective import distinct
from ipforest.classifier_trees.smooth_losses import LOGISTIC
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator, Examples, check_class_weight
from ipforest.estimator.checks import check_each
from ipforest.settings import Grouped, Settings, checked

MAX_SWEEPS = 10
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True, repr=False)
class AndOrObjective(Settings):
    """What is minimised, and over which stages.

    Parameters
    ----------
    limits : sequence of numbers, optional
        The largest price of a feature in each stage, ascending; by default five stages, each with a further fifth of
        the features by price.
    lambdas : int or sequence of numbers, default=8
        See `ipforest.classifier_trees.CSTC`.
    class_weight : dict, "balanced" or None, default="balanced"
        Class costs take their place.
    """

    parameter: ClassVar[str] = "objective"

    limits: Sequence[float] | None = None
    lambdas: Any = checked(8, check_lambdas)
    class_weight: Any = checked("balanced", check_class_weight)

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        check_each(self.limits, self.named("limits"), nonnegative_fraction, or_none=True, least=1)
        if self.limits is not None and np.any(np.diff(self.limits) < 0):
            raise ValueError(
                f"{self.named('limits')}: expected the largest price of each stage, ascending, got {self.limits!r}"
            )


@dataclass(eq=False, repr=False, kw_only=True)
class AndOrCascade(ClassifierTreeEstimator):
    r"""A cascade whose stages are given their features beforehand, by price, and trained together.

    Minimises, over the weights of all stages, one stage at a time,

    .. math::
        \frac1n \Bigl[ \sum_{i: y_i = 1} w_+ \max_k \ell(x_i^\top \beta^k, 1)
        + \sum_{i: y_i = -1} w_- \min_k \ell(x_i^\top \beta^k, -1) \Bigr]
        + \lambda \sum_k \sum_\alpha c_\alpha |\beta_\alpha^k|

    An example that scores below 0 leaves as a negative.

    Parameters
    ----------
    objective : AndOrObjective, optional
        What is minimised, and over which stages.
    class_costs, scoring
        See `ipforest.classifier_trees.CSTC`.
    feature_map, feature_costs, split_cost, budget, validation_fraction, random_state
        See `ipforest.classifier_trees.CSTC`. Outputs of a feature map belong to a stage if all their features do.

    Notes
    -----
    The paper of Dundar and Bi ("Joint optimization of cascaded classifiers for computer aided detection", CVPR 2007) is
    not at hand; Xu et al. (2014), section 6.3, give the loss. Left open, and settled here: the loss of one stage is
    logistic; a stage's negatives are those on which it does best at present, renewed in each step, which never raises
    the objective; the cost enters as an l1 norm per stage.
    """

    loss = "logistic"
    trains_with_weights = True
    _objective = Grouped(AndOrObjective)

    objective: AndOrObjective | None = None
    feature_map: Any = None
    class_costs: Any = None
    scoring: str | None = None

    @property
    def _class_weight(self) -> Any:
        return self._objective.class_weight

    def _learn(self, training: Examples, validation: Examples) -> Sequence[tuple[float, ClassifierTree]]:
        price = self.resources_.needs @ self.resources_.prices
        rows, share = distinct(training.phi, training.target)
        phi, target = training.phi[rows], training.target[rows]
        problem = _Cascade(phi, target, share * self._weights(target), price, self._stages())
        lambdas = swept_lambdas(self._objective.lambdas, problem.grid)
        return [(lam, problem.solve(lam)) for lam in lambdas]

    def _stages(self) -> BoolArray:
        """Return which weights each stage may use, shape (n_stages, n_weights)."""
        prices = self.costs_.feature_prices
        uses = self.feature_map_.feature_of_weight_
        limits = self._objective.limits
        if limits is None:
            rank = np.argsort(np.argsort(prices, kind="stable"), kind="stable")
            barred = rank[None, :] >= np.ceil(prices.size * np.arange(1, 6) / 5)[:, None]
        else:
            barred = prices[None, :] > np.asarray(limits, dtype=float)[:, None]
        return np.asarray((uses.T @ barred.T.astype(float)).T == 0)


class _Cascade:
    """The data of one cascade: phi, labels, example weights, prices of weights, and the weights that stages may use."""

    def __init__(
        self, phi: FloatArray, target: FloatArray, weight: FloatArray, price: FloatArray, stages: BoolArray
    ) -> None:
        self.phi, self.target, self.weight, self.price, self.stages = phi, target, weight, price, stages
        self.positive = target > 0
        self.loss = LOGISTIC

    def grid(self, size: int) -> list[float]:
        """Return lambdas below the one from which on no weight alone pays."""
        gain = 0.5 * (self.weight * self.target) @ self.phi
        alone = np.divide(np.abs(gain), self.price, out=np.zeros_like(gain), where=self.price > 0)
        return geometric_grid(float(alone.max()), size)

    def solve(self, lam: float) -> ClassifierTree:
        """Train all stages, in turn, until the objective falls no further; leave out those that use nothing."""
        n_stages, n_weights = self.stages.shape
        coef, intercept = np.zeros((n_stages, n_weights)), np.zeros(n_stages)
        for stage in range(n_stages):
            coef[stage], intercept[stage] = self._alone(lam, stage)
        value = self.objective(lam, coef, intercept)
        for _ in range(MAX_SWEEPS):
            before = value
            for stage in range(n_stages):
                value = self._improve(lam, coef, intercept, stage, value)
            if before - value <= TOLERANCE * abs(before):
                break
        kept: BoolArray = np.asarray(coef.any(axis=1))
        kept[-1] = True
        coef, intercept = coef[kept], intercept[kept]
        end = np.full(intercept.size, TERMINAL)
        upper = np.append(np.arange(1, intercept.size), TERMINAL)
        return ClassifierTree(upper, end, coef, intercept, np.zeros(intercept.size))

    def objective(self, lam: float, coef: FloatArray, intercept: FloatArray) -> float:
        """Compute the objective of all stages' weights."""
        losses = self.loss.value(self.phi @ coef.T + intercept, self.target[:, None])
        counted = np.where(self.positive, losses.max(axis=1), losses.min(axis=1))
        return float(self.weight @ counted + lam * (np.abs(coef) @ self.price).sum())

    def _alone(self, lam: float, stage: int) -> tuple[FloatArray, float]:
        """Train one stage as if it were the only one."""
        no_floor = np.full(self.target.size, -np.inf)
        return self._minimise(lam, stage, self.weight, no_floor, np.zeros(self.price.size), 0.0)

    def _improve(self, lam: float, coef: FloatArray, intercept: FloatArray, stage: int, value: float) -> float:
        """Train one stage, the others fixed; keep it as it was if that does not lower the objective."""
        losses = self.loss.value(self.phi @ coef.T + intercept, self.target[:, None])
        others = np.delete(losses, stage, axis=1)
        floor = np.where(self.positive, others.max(axis=1, initial=-np.inf), -np.inf)
        best_here = losses[:, stage] <= others.min(axis=1, initial=np.inf)
        weight = np.where(self.positive | best_here, self.weight, 0.0)
        before = coef[stage].copy(), intercept[stage]
        coef[stage], intercept[stage] = self._minimise(lam, stage, weight, floor, *before)
        after = self.objective(lam, coef, intercept)
        if after > value:
            coef[stage], intercept[stage] = before
            return value
        return after

    def _minimise(
        self, lam: float, stage: int, weight: FloatArray, floor: FloatArray, coef: FloatArray, intercept: float
    ) -> tuple[FloatArray, float]:
        """Minimise the sum of max(loss, floor) plus the l1 norm; weights are differences of parts >= 0."""
        allowed = np.flatnonzero(self.stages[stage])
        phi, price = self.phi[:, allowed], lam * self.price[allowed]
        size = allowed.size

        def value(parts: FloatArray) -> tuple[float, FloatArray]:
            weights = parts[:size] - parts[size:-1]
            score = phi @ weights + parts[-1]
            loss = self.loss.value(score, self.target)
            slope = np.where(loss > floor, weight * self.loss.derivative(score, self.target), 0.0)
            total = float(weight @ np.maximum(loss, floor) + price @ (parts[:size] + parts[size:-1]))
            by_weight = slope @ phi
            return total, np.concatenate([price + by_weight, price - by_weight, [slope.sum()]])

        start = np.concatenate([np.maximum(coef[allowed], 0), np.maximum(-coef[allowed], 0), [intercept]])
        bounds = [(0, None)] * (2 * size) + [(None, None)]
        found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}).x
        result = np.zeros(self.price.size)
        result[allowed] = found[:size] - found[size:-1]
        return result, float(found[-1])
