"""Adapt-Gbrt, Algorithm 2: gate and classifier are gradient-boosted trees that share what they buy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from ipforest._internal.arrays import FloatArray
from ipforest.adaptive.approximation import AdaptiveApproximation, GateSearch, Training
from ipforest.adaptive.candidates import GatedPair
from ipforest.adaptive.distances import KullbackLeibler
from ipforest.choosing.lambdas import swept_lambdas
from ipforest.ensemble.forest import Forest
from ipforest.estimator.checks import check_integer
from ipforest.growing import GrownTree
from ipforest.learners.greedy_miser import Logistic, Squared, SummedTrees
from ipforest.learners.priced_booster import PricedBooster, PricedGrowth
from ipforest.learners.staged import first_trees
from ipforest.settings import Grouped, checked

MAX_LAMBDA_SHARE, MIN_LAMBDA_SHARE = 1e-1, 1e-5
"""Ends of a grid of lambdas, in the squared error of a constant per the least price."""

STILL_ACCURACY, STILL_SHARES = 1e-3, 1e-2
"""Changes of the accuracy, and of the shares on average, that end the regrowing."""


@dataclass(frozen=True, slots=True, repr=False)
class PairGrowth(PricedGrowth):
    """How the trees of gate and classifier grow.

    Parameters
    ----------
    learning_rate : float, default=0.5
    max_depth : int, default=4
    charge, min_samples_leaf, max_bins
        See `PricedGrowth`.
    trees_per_step : int, default=2
        Rounds for which the shares stay as they are, in one pass.
    max_regrowths : int, default=0
        With 0, one pass: the shares are renewed while the trees grow. Otherwise gate and classifier are grown from
        nothing, ``n_estimators`` rounds each, for each renewal of the shares, at most so many times, beginning with the
        classifier of `GreedyMiser` and a gate whose score is 0. It ends earlier once the accuracy on the training
        examples changes by at most 0.001 and the shares, on average, by at most 0.01. The paper's authors ran it so,
        with 50.
    """

    learning_rate: float = 0.5
    max_depth: int = 4
    trees_per_step: int = checked(2, check_integer, 1)
    max_regrowths: int = checked(0, check_integer, 0)


@dataclass(frozen=True, slots=True, repr=False)
class BoostedSearch(GateSearch):
    """Which pairs of a gate and a cheap model are learnt by boosting.

    Parameters
    ----------
    shares, gate_shares, n_folds
        See `GateSearch`.
    lambdas : int or sequence of numbers, default=6
        See `PairSearch`.
    n_readouts : int, default=10
        At so many numbers of rounds, evenly spread, gate and classifier are candidates.
    """

    lambdas: Any = 6
    n_readouts: int = checked(10, check_integer, 1)


@dataclass(eq=False, repr=False, kw_only=True)
class AdaptGbrt(AdaptiveApproximation):
    r"""Answer easy examples by boosted trees, and send hard ones by a gate of boosted trees to the full model.

    Each round grows one tree per column of the classifier's scores and one of the gate's on the gradients of

    .. math:: \frac{1}{N} \sum_i \big[ (1 - q_i)\, \ell(f_1(x_i), y_i) + D(q_i, g(x_i)) \big],

    at the price of the units that no tree before has used, (1) and (2); the shares q are renewed in between, or all
    trees are grown again for each renewal (`PairGrowth.max_regrowths`). With a share of 0 the classifier is
    `GreedyMiser`'s, tree by tree.

    Parameters
    ----------
    estimator, search, feature_costs, budget, max_cost
        See `AdaptiveApproximation`; ``search`` is a `BoostedSearch`. Lambda is that of `GreedyMiser`.
    n_estimators : int, default=100
        Rounds.
    growth : PairGrowth, optional
        How the trees of both grow.
    class_costs, scoring, validation_fraction, n_jobs
        See `AdaptiveApproximation`.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part and the folds, and seeds an estimator that has no seed of its own.

    Notes
    -----
    Renewing the shares never raises the objective; a round lowers the losses as boosting does, by Newton's steps, which
    is no promise. Nor is it one that regrowing ends: the new trees may be worse than the old ones.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest.adaptive import AdaptGbrt, BoostedSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> search = BoostedSearch(shares=[0.5], lambdas=3)
    >>> model = AdaptGbrt(forest, n_estimators=10, search=search, budget=4, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 5)
    True
    """

    _growth = Grouped(PairGrowth)
    _search = Grouped(BoostedSearch)

    n_estimators: int = checked(100, check_integer, 1)
    growth: PairGrowth | None = None

    def _settings(self, training: Training) -> Sequence[tuple[float, float]]:
        most = float(training.targets.var(axis=0).sum()) / 2 / min(self.costs_.positive_costs, default=1.0)

        def grid(size: int) -> FloatArray:
            return most * np.geomspace(MAX_LAMBDA_SHARE, MIN_LAMBDA_SHARE, size)

        lambdas = swept_lambdas(self._search.lambdas, grid)
        return [(float(share), lam) for share in self._search.shares for lam in lambdas]

    def _learn(self, training: Training, share: float, lam: float) -> list[GatedPair]:
        """Boost, and read out gate and classifier after several numbers of rounds."""
        booster = PricedBooster(training.X.astype(np.float32), self.costs_, lam=lam, growth=self._growth)
        n, growth = self.n_estimators, self._growth
        if growth.max_regrowths:
            *_, boosted = regrown_pairs(training, share, booster, n, growth.max_regrowths, growth.learning_rate)
        else:
            boosted = boost_pair(training, share, booster, n, growth.trees_per_step, growth.learning_rate)
        readouts = np.unique(np.linspace(0, self.n_estimators, self._search.n_readouts + 1).astype(int)[1:])
        return [boosted.readout(n_rounds, share, lam) for n_rounds in readouts.tolist() if n_rounds]


@dataclass(frozen=True, slots=True, eq=False)
class BoostedPair:
    """Trees of gate and classifier.

    Parameters
    ----------
    gate, cheap : Forest
        The latter round after round, one tree per column.
    gate_base, cheap_base : ndarray of float64, shape (1,) and (n_columns,)
        Scores before the first tree.
    log_odds : ndarray of float64, shape (n_samples,)
        Of the shares that the last trees were grown for.
    objectives : tuple of float
        The losses before and after each renewal of the shares.
    """

    gate: Forest
    cheap: Forest
    gate_base: FloatArray
    cheap_base: FloatArray
    log_odds: FloatArray
    objectives: tuple[float, ...]

    def readout(self, n_rounds: int, share: float, lam: float) -> GatedPair:
        """Return gate and classifier of the first rounds."""
        n_trees = n_rounds * self.cheap_base.size
        gate = SummedTrees(first_trees(self.gate, n_rounds), n_rounds, self.gate_base, Squared())
        cheap = SummedTrees(first_trees(self.cheap, n_trees), n_trees, self.cheap_base, Logistic())
        return GatedPair(gate, cheap, share, lam, n_rounds)


class GrowingPair:
    """A gate and a classifier as they grow, from nothing, and the scores that they give the training examples.

    Parameters
    ----------
    training : Training
    booster : PricedBooster
        Grows the trees of both; it is restarted.
    learning_rate : float
    gate_base : ndarray of float64, shape (1,)
        The gate's score before its first tree.
    """

    def __init__(self, training: Training, booster: PricedBooster, learning_rate: float, gate_base: FloatArray) -> None:
        booster.restart()
        self._training, self._booster, self._learning_rate = training, booster, learning_rate
        self._loss, self._distance = Logistic(), KullbackLeibler()
        self._gate_base, self._cheap_base = gate_base, self._loss.base(training.targets)
        n = len(training.targets)
        self._gate, self._cheap = np.tile(self._gate_base, (n, 1)), np.tile(self._cheap_base, (n, 1))
        self._gate_trees: list[GrownTree] = []
        self._cheap_trees: list[GrownTree] = []

    def assign(self, p_full: float) -> FloatArray:
        """Solve (OPT1): the log-odds of the best shares, shape (n_samples,)."""
        losses = self._loss.values(self._training.targets, self._cheap)
        return self._distance.assign(losses, self._training.full_loss, self._gate[:, 0], p_full)

    def objective(self, log_odds: FloatArray) -> float:
        """Compute the losses of the objective, without prices."""
        losses = self._loss.values(self._training.targets, self._cheap)
        q = expit(log_odds)
        distances = self._distance.value(log_odds, self._gate[:, 0])
        return float(((1 - q) * losses + q * self._training.full_loss + distances).mean())

    def accuracy(self) -> float:
        """Compute the share of training examples that are answered right.

        The full model counts as right where it gives the true class more than one half.
        """
        targets, sent = self._training.targets, self._gate[:, 0] > 0
        if targets.shape[1] == 1:
            right = (self._cheap > 0)[:, 0] == (targets[:, 0] > 0)
        else:
            right = self._cheap.argmax(axis=1) == targets.argmax(axis=1)
        return float(np.where(sent, self._training.full_loss < np.log(2), right).mean())

    def grow(self, log_odds: FloatArray) -> None:
        """Grow a tree per column of the classifier, and one of the gate."""
        self.grow_cheap(log_odds)
        full_share = expit(log_odds)[:, None]
        residuals = self._loss.residuals(full_share, self._gate)
        curvature = self._loss.curvature(full_share, self._gate)
        self._gate_trees += self._booster.grow(residuals, curvature, self._learning_rate, self._gate)

    def grow_cheap(self, log_odds: FloatArray) -> None:
        """Grow a tree per column of the classifier."""
        targets, cheap_share = self._training.targets, expit(-log_odds)[:, None]
        residuals = cheap_share * self._loss.residuals(targets, self._cheap)
        curvature = cheap_share * self._loss.curvature(targets, self._cheap)
        step = self._learning_rate * self._loss.step(targets.shape[1])
        self._cheap_trees += self._booster.grow(residuals, curvature, step, self._cheap)

    def finished(self, log_odds: FloatArray, objectives: Sequence[float]) -> BoostedPair:
        """Return what has grown."""
        gate, cheap = self._booster.forest(self._gate_trees), self._booster.forest(self._cheap_trees)
        return BoostedPair(gate, cheap, self._gate_base, self._cheap_base, log_odds, tuple(objectives))


def boost_pair(
    training: Training, p_full: float, booster: PricedBooster, n_rounds: int, rounds_per_step: int, learning_rate: float
) -> BoostedPair:
    """Run Algorithm 2 in one pass: the shares are renewed while the trees grow.

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
    none = np.zeros(len(training.targets))
    log_odds, objectives = KullbackLeibler().assign(none, none, none, p_full), []
    pair = GrowingPair(training, booster, learning_rate, Logistic().base(expit(log_odds)[:, None]))
    for number in range(n_rounds):
        if number % rounds_per_step == 0:
            objectives.append(pair.objective(log_odds))
            log_odds = pair.assign(p_full)
            objectives.append(pair.objective(log_odds))
        pair.grow(log_odds)
    return pair.finished(log_odds, objectives)


def regrown_pairs(
    training: Training, p_full: float, booster: PricedBooster, n_rounds: int, max_regrowths: int, learning_rate: float
) -> Iterator[BoostedPair]:
    """Run Algorithm 2 as its authors' program does: new trees for each renewal of the shares.

    It begins with the classifier of GreedyMiser and a gate whose score is 0. Each time, the shares are renewed, and
    gate and classifier are grown from nothing for these shares. It ends once, since the time before, the accuracy of
    the pair on the training examples has changed by `STILL_ACCURACY` at most, and the shares, on average, by
    `STILL_SHARES`.

    Parameters
    ----------
    training : Training
    p_full : float
        Mean of the shares at most.
    booster : PricedBooster
        Grows the trees of all.
    n_rounds : int
        Rounds of trees each time.
    max_regrowths : int
        How often at most.
    learning_rate : float

    Yields
    ------
    BoostedPair
        After each time.
    """
    nothing = np.zeros(1)
    pair = GrowingPair(training, booster, learning_rate, nothing)
    all_to_cheap = np.full(len(training.targets), -np.inf)
    for _ in range(n_rounds):
        pair.grow_cheap(all_to_cheap)
    log_odds, accuracy, objectives = all_to_cheap, np.nan, list[float]()
    for _ in range(max_regrowths):
        before, accuracy_before = log_odds, accuracy
        log_odds = pair.assign(p_full)
        objectives += [pair.objective(before), pair.objective(log_odds)]
        pair = GrowingPair(training, booster, learning_rate, nothing)
        for _ in range(n_rounds):
            pair.grow(log_odds)
        yield pair.finished(log_odds, objectives)
        accuracy = pair.accuracy()
        change = float(np.abs(expit(log_odds) - expit(before)).mean())
        if abs(accuracy - accuracy_before) <= STILL_ACCURACY and change <= STILL_SHARES:
            return
