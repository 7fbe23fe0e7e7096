"""Adapt-Gbrt, Algorithm 2: gate and classifier are gradient-boosted trees that share what they buy."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit

from ipforest.adaptive.approximation import SHARES, AdaptiveApproximation, Training
from ipforest.adaptive.candidates import GatedPair
from ipforest.adaptive.distances import KullbackLeibler
from ipforest.ensemble.forest import Forest
from ipforest.estimator import check_integer
from ipforest.growing.codes import check_max_bins
from ipforest.learners.greedy_miser import Logistic, Squared, SummedTrees
from ipforest.learners.priced_booster import PricedBooster
from ipforest.learners.staged import first_trees

LARGEST, SMALLEST = 1e-1, 1e-5
"""Ends of a grid of lambdas, in the squared error of a constant per the least price."""


class AdaptGbrt(AdaptiveApproximation):
    r"""Answer easy examples by boosted trees, and send hard ones by a gate of boosted trees to the full model.

    Each round grows one tree per column of the classifier's scores and one of the gate's on the gradients of

    .. math:: \frac{1}{N} \sum_i \big[ (1 - q_i)\, \ell(f_1(x_i), y_i) + D(q_i, g(x_i)) \big],

    at the price of the units that no tree before has used, (1) and (2); the shares q are renewed in between. With a
    share of 0 the classifier is `GreedyMiser`'s, tree by tree.

    Parameters
    ----------
    estimator, shares, lambdas, gate_shares, feature_costs, groups, group_fees, budget, max_cost
        See `AdaptiveApproximation`. Lambda is that of `GreedyMiser`.
    n_estimators : int, default=100
        Rounds.
    trees_per_step : int, default=2
        Rounds for which the shares stay as they are.
    n_readouts : int, default=10
        At so many numbers of rounds, evenly spread, gate and classifier are candidates.
    learning_rate : float, default=0.5
    max_depth : int, default=4
    min_samples_leaf : int, default=1
    max_bins : int or None, default=255
        See `GreedyMiser`.
    class_costs, minimise, n_folds, validation_fraction, n_jobs
        See `AdaptiveApproximation`.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part and the folds.

    Notes
    -----
    Renewing the shares never raises the objective; a round lowers the losses as boosting does, by Newton's steps, which
    is no promise.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest.adaptive import AdaptGbrt
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = AdaptGbrt(forest, n_estimators=10, shares=[0.5], lambdas=3, budget=4, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 5)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_estimators: int = 100,
        trees_per_step: int = 2,
        n_readouts: int = 10,
        learning_rate: float = 0.5,
        max_depth: int = 4,
        min_samples_leaf: int = 1,
        max_bins: int | None = 255,
        shares: Sequence[float] = SHARES,
        lambdas: Any = 6,
        gate_shares: Sequence[float] = (),
        feature_costs: Any = None,
        groups: Any = None,
        group_fees: Any = None,
        budget: Any = None,
        max_cost: Any = None,
        class_costs: Any = None,
        minimise: str = "error",
        n_folds: int = 5,
        validation_fraction: float | None = 0.25,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.trees_per_step = trees_per_step
        self.n_readouts = n_readouts
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.shares = shares
        self.lambdas = lambdas
        self.gate_shares = gate_shares
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.budget = budget
        self.max_cost = max_cost
        self.class_costs = class_costs
        self.minimise = minimise
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        for name in ("n_estimators", "trees_per_step", "n_readouts", "max_depth", "min_samples_leaf"):
            check_integer(getattr(self, name), name, 1)
        check_max_bins(self.max_bins)
        if not isinstance(self.learning_rate, Real) or not 0 < self.learning_rate < np.inf:
            raise ValueError(f"learning_rate: expected a finite number > 0, got {self.learning_rate!r}")

    def _settings(self, training: Training) -> Sequence[tuple[float, float]]:
        lambdas = self.lambdas
        if isinstance(lambdas, Integral):
            cheapest = min(self.costs_.positive_costs, default=1.0)
            most = float(training.targets.var(axis=0).sum()) / 2 / cheapest
            lambdas = most * np.geomspace(LARGEST, SMALLEST, lambdas)
        return [(float(share), float(lam)) for share in self.shares for lam in lambdas]

    def _learn(self, training: Training, share: float, lam: float) -> list[GatedPair]:
        """Boost, and read out gate and classifier after several numbers of rounds."""
        boosted = boost_pair(
            training,
            share,
            PricedBooster(
                training.X.astype(np.float32),
                self.costs_,
                lam=lam,
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                max_bins=self.max_bins,
            ),
            self.n_estimators,
            self.trees_per_step,
            self.learning_rate,
        )
        readouts = np.unique(np.linspace(0, self.n_estimators, self.n_readouts + 1).astype(int)[1:])
        return [boosted.readout(n_rounds, share, lam) for n_rounds in readouts.tolist() if n_rounds]


class BoostedPair:
    """Trees of gate and classifier.

    Parameters
    ----------
    gate, cheap : Forest
        The latter round after round, one tree per column.
    gate_base, cheap_base : ndarray of float64, shape (1,) and (n_columns,)
        Scores before the first tree.
    objectives : list of float
        The losses before and after each renewal of the shares.
    """

    def __init__(self, gate: Forest, cheap: Forest, gate_base: Any, cheap_base: Any, objectives: list[float]) -> None:
        self.gate, self.cheap, self.objectives = gate, cheap, objectives
        self._gate_base, self._cheap_base = gate_base, cheap_base

    def readout(self, n_rounds: int, share: float, lam: float) -> GatedPair:
        """Return gate and classifier of the first rounds."""
        n_trees = n_rounds * self._cheap_base.size
        gate = SummedTrees(first_trees(self.gate, n_rounds), n_rounds, self._gate_base, Squared())
        cheap = SummedTrees(first_trees(self.cheap, n_trees), n_trees, self._cheap_base, Logistic())
        return GatedPair(gate, cheap, share, lam, n_rounds)


def boost_pair(
    training: Training,
    p_full: float,
    booster: PricedBooster,
    n_rounds: int,
    rounds_per_step: int,
    learning_rate: float,
) -> BoostedPair:
    """Run Algorithm 2.

    Parameters
    ----------
    training : Training
    p_full : float
        Mean of the shares at most.
    booster : PricedBooster
        Grows the trees of both.
    n_rounds, rounds_per_step : int
        Rounds in all, and with the same shares.
    learning_rate : float
    """
    loss, distance, targets = Logistic(), KullbackLeibler(), training.targets
    n, n_columns = targets.shape
    step = learning_rate * loss.step(n_columns)
    log_odds = distance.assign(np.zeros(n), np.zeros(n), np.zeros(n), p_full)
    gate_base, cheap_base = loss.base(expit(log_odds)[:, None]), loss.base(targets)
    gate, cheap = np.tile(gate_base, (n, 1)), np.tile(cheap_base, (n, 1))
    gate_trees, cheap_trees, objectives = [], [], []

    def objective() -> float:
        losses = loss.values(targets, cheap)
        q = expit(log_odds)
        return float(((1 - q) * losses + q * training.full_loss + distance.value(log_odds, gate[:, 0])).mean())

    for number in range(n_rounds):
        if number % rounds_per_step == 0:
            objectives.append(objective())
            log_odds = distance.assign(loss.values(targets, cheap), training.full_loss, gate[:, 0], p_full)
            objectives.append(objective())
        cheap_share, full_share = expit(-log_odds), expit(log_odds)[:, None]
        residuals = cheap_share[:, None] * loss.residuals(targets, cheap)
        curvature = cheap_share[:, None] * loss.curvature(targets, cheap)
        for column in range(n_columns):
            tree, gains = booster.grow(residuals[:, column], curvature[:, column], step)
            cheap[:, column] += gains
            cheap_trees.append(tree)
        residuals, curvature = loss.residuals(full_share, gate), loss.curvature(full_share, gate)
        tree, gains = booster.grow(residuals[:, 0], curvature[:, 0], learning_rate)
        gate[:, 0] += gains
        gate_trees.append(tree)
    return BoostedPair(booster.forest(gate_trees), booster.forest(cheap_trees), gate_base, cheap_base, objectives)
