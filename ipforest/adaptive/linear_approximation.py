"""Base of the two approximations by linear gates and classifiers; they differ in the distance of shares from gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ipforest.adaptive.approximation import AdaptiveApproximation, GateSearch, Training
from ipforest.adaptive.candidates import GatedPair
from ipforest.adaptive.distances import Distance
from ipforest.adaptive.gated_policy import LinearScores
from ipforest.adaptive.linear_pair import AlternationSettings, LinearProblem, UnitNorm, best_fit
from ipforest.choosing.lambdas import geometric_grid, swept_lambdas
from ipforest.classifier_trees.feature_map import ScaledFeatures
from ipforest.learners.greedy_miser import Logistic, Squared
from ipforest.settings import Grouped


@dataclass(eq=False, repr=False, kw_only=True)
class LinearApproximation(AdaptiveApproximation):
    """A linear gate and a linear classifier on one sparse set of features.

    Parameters
    ----------
    estimator, search, feature_costs, budget, max_cost
        See `AdaptiveApproximation`; ``search`` is a `GateSearch`. A number of lambdas is spread below the one from
        which on no feature is bought.
    alternation : AlternationSettings, optional
    scale : bool, default=True
        Whether features are shifted and scaled to mean 0 and variance 1, so that the norm treats them alike.
    class_costs, scoring, validation_fraction, n_jobs
        See `AdaptiveApproximation`.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, folds and starts, and seeds an estimator that has no seed of its own.
    """

    _search = Grouped(GateSearch)
    _alternation = Grouped(AlternationSettings)
    _distance: ClassVar[Distance]

    alternation: AlternationSettings | None = None
    scale: bool = True

    def _settings(self, training: Training) -> Sequence[tuple[float, float]]:
        """Standardise, and spread lambdas below the one from which on 0 is best."""
        self.feature_map_ = ScaledFeatures(scale=self.scale).fit(training.X, training.targets)
        self._phi = self.feature_map_.transform(training.X)
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        lambdas = swept_lambdas(self._search.lambdas, partial(self._grid, training))
        return [(share, lam) for share in self._search.shares for lam in lambdas]

    def _grid(self, training: Training, size: int) -> list[float]:
        loss, targets = Logistic(), training.targets
        misses = loss.residuals(targets, np.tile(loss.base(targets), (len(targets), 1)))
        return geometric_grid(UnitNorm(self.costs_).dual(self._phi.T @ misses / len(misses)), size)

    def _learn(self, training: Training, share: float, lam: float) -> list[GatedPair]:
        """Alternate, and read off gate and classifier."""
        problem = LinearProblem(
            self._phi, training.targets, training.full_loss, self._distance, UnitNorm(self.costs_), lam
        )
        fit = best_fit(problem, share, self._alternation, self._seed)
        prices = self.costs_.feature_prices
        gate = LinearScores(fit.weights[:, :1], self.feature_map_, prices, Squared())
        cheap = LinearScores(fit.weights[:, 1:], self.feature_map_, prices, Logistic())
        return [GatedPair(gate, cheap, share, lam, len(fit.objectives) // 2)]
