"""Base of the two approximations by linear gates and classifiers; they differ in the distance of shares from gates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ipforest.adaptive.approximation import SHARES, AdaptiveApproximation, Training
from ipforest.adaptive.candidates import GatedPair
from ipforest.adaptive.distances import Distance
from ipforest.adaptive.gated_policy import LinearScores
from ipforest.adaptive.linear_pair import AlternationSettings, LinearProblem, UnitNorm, best_fit
from ipforest.classifier_trees.feature_map import ScaledFeatures
from ipforest.classifier_trees.tree_estimator import geometric_grid
from ipforest.estimator import check_integer
from ipforest.learners.greedy_miser import Logistic, Squared


class LinearApproximation(AdaptiveApproximation):
    """A linear gate and a linear classifier on one sparse set of features.

    Parameters
    ----------
    estimator, shares, lambdas, gate_shares, feature_costs, budget, max_cost
        See `AdaptiveApproximation`. A number of lambdas is spread below the one from which on no feature is bought.
    n_starts : int, default=1
        The alternation finds a local optimum: the first start lets the full model have the same share of each example,
        further ones the examples on one side of a random direction. The least objective is kept.
    settings : AlternationSettings, optional
    scale : bool, default=True
        Whether features are shifted and scaled to mean 0 and variance 1, so that the norm treats them alike.
    class_costs, scoring, n_folds, validation_fraction, n_jobs
        See `AdaptiveApproximation`.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, folds and starts.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        shares: Sequence[float] = SHARES,
        lambdas: Any = 10,
        n_starts: int = 1,
        settings: AlternationSettings | None = None,
        scale: bool = True,
        gate_shares: Sequence[float] = (),
        feature_costs: Any = None,
        budget: Any = None,
        max_cost: Any = None,
        class_costs: Any = None,
        scoring: str | None = None,
        n_folds: int = 5,
        validation_fraction: float | None = 0.25,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.shares = shares
        self.lambdas = lambdas
        self.n_starts = n_starts
        self.settings = settings
        self.scale = scale
        self.gate_shares = gate_shares
        self.feature_costs = feature_costs
        self.budget = budget
        self.max_cost = max_cost
        self.class_costs = class_costs
        self.scoring = scoring
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _distance(self) -> Distance:
        """Return the distance of shares from gates."""

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        check_integer(self.n_starts, "n_starts", 1)

    def _settings(self, training: Training) -> Sequence[tuple[float, float]]:
        """Standardise, and spread lambdas below the one from which on 0 is best."""
        self.feature_map_ = ScaledFeatures(scale=self.scale).fit(training.X, training.targets)
        self._phi = self.feature_map_.transform(training.X)
        self._seed = self._random_seed()
        lambdas = self.lambdas
        if isinstance(lambdas, Integral):
            misses = Logistic().residuals(training.targets, np.tile(self._base(training), (len(self._phi), 1)))
            lambdas = geometric_grid(UnitNorm(self.costs_).dual(self._phi.T @ misses / len(misses)), int(lambdas))
        return [(share, float(lam)) for share in self.shares for lam in lambdas]

    def _base(self, training: Training) -> Any:
        return Logistic().base(training.targets)

    def _learn(self, training: Training, share: float, lam: float) -> list[GatedPair]:
        """Alternate, and read off gate and classifier."""
        problem = LinearProblem(
            self._phi, training.targets, training.full_loss, self._distance(), UnitNorm(self.costs_), lam
        )
        fit = best_fit(problem, share, self.settings or AlternationSettings(), self.n_starts, self._seed)
        prices = np.array([float(price) for price in self.costs_.prices])[self.costs_.sources]
        gate = LinearScores(fit.weights[:, :1], self.feature_map_, prices, Squared())
        cheap = LinearScores(fit.weights[:, 1:], self.feature_map_, prices, Logistic())
        return [GatedPair(gate, cheap, share, lam, len(fit.objectives) // 2)]
