r"""A linear gate and a linear classifier, learnt together (OPT2), in turn with the shares (OPT1).

With shares q fixed, and :math:`V_k` the weights of gate and classifier on the features that need unit k,

.. math:: \min_{g, f_1} \frac{1}{N} \sum_i \big[ (1 - q_i)\, \ell(f_1(x_i), y_i) + D(q_i, g(x_i)) \big]
          + \gamma \sum_k c_k \lVert V_k \rVert_2 .

It is convex, and solved by accelerated proximal gradient (Beck and Teboulle, 2009) with restarts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from ipforest._internal.arrays import FloatArray
from ipforest._internal.rational import nonnegative_fraction
from ipforest.adaptive.distances import Distance
from ipforest.costs import FeatureCosts
from ipforest.estimator.checks import check_integer
from ipforest.learners.greedy_miser import Logistic
from ipforest.settings import Settings, checked

LOGISTIC, SOFTMAX = 0.25, 0.5
"""Largest second derivatives of the losses."""

CERTAIN = 0.9
"""Share that a random start gives to the examples on its side."""


@dataclass(frozen=True, slots=True, repr=False)
class AlternationSettings(Settings):
    """How far to go.

    Parameters
    ----------
    max_rounds : int
        Rounds of (OPT1) and (OPT2) in turn.
    max_steps : int
        Steps of proximal gradient in each round.
    tolerance : float
        Relative fall of the objective from which on a step, or a round, counts as the last.
    n_starts : int, default=1
        The alternation finds a local optimum: the first start lets the full model have the same share of each example,
        further ones the examples on one side of a random direction. The least objective is kept.
    """

    parameter: ClassVar[str] = "alternation"

    max_rounds: int = checked(50, check_integer, 1)
    max_steps: int = checked(200, check_integer, 1)
    tolerance: float = checked(1e-5, nonnegative_fraction)
    n_starts: int = checked(1, check_integer, 1)


class UnitNorm:
    r"""The group-sparse L2,1 norm :math:`\sum_k c_k \lVert V_k \rVert_2` over units.

    A feature needs its own unit, its group's, or both. Own units lie within groups, so the proximal map is that of the
    own units and then that of the groups (Jenatton et al., 2011).
    """

    def __init__(self, costs: FeatureCosts) -> None:
        n_own = costs.n_units - len(costs.group_fees)
        none = costs.n_units
        self._unit = np.full((2, costs.n_features), none)
        for feature in range(costs.n_features):
            for unit in costs.units_of(feature):
                self._unit[int(unit >= n_own), feature] = unit
        self._price = np.append(costs.float_unit_costs, 0.0)

    def value(self, weights: FloatArray) -> float:
        """Compute the norm of weights, shape (n_features, n_columns)."""
        squares = np.square(weights).sum(axis=1)
        return float(sum(self._price @ self._norms(squares, level) for level in range(2)))

    def shrink(self, weights: FloatArray, step: float) -> FloatArray:
        """Apply the proximal map of `step` times the norm."""
        for level in range(2):
            norms = self._norms(np.square(weights).sum(axis=1), level)
            kept = np.maximum(norms - step * self._price, 0.0) / np.maximum(norms, np.finfo(float).tiny)
            weights = weights * kept[self._unit[level], None]
        return weights

    def dual(self, gradient: FloatArray) -> float:
        """Bound the factor of the norm from which on 0 is best, given the slope of the loss at 0."""
        squares, largest = np.square(gradient).sum(axis=1), 0.0
        for level in range(2):
            norms, paid = self._norms(squares, level), self._price > 0
            largest = max(largest, float((norms[paid] / self._price[paid]).max(initial=0.0)))
        return largest

    def _norms(self, squares: FloatArray, level: int) -> FloatArray:
        """Compute the norm of each unit's weights, shape (n_units + 1,)."""
        return np.sqrt(np.bincount(self._unit[level], weights=squares, minlength=self._price.size))


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """What alternation has found.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_features + 1, 1 + n_columns)
        The first column is the gate, the others the classifier; the last row holds the intercepts.
    log_odds : ndarray of float64, shape (n_samples,)
        Of the shares.
    objectives : tuple of float
        After each half of each round.
    """

    weights: FloatArray
    log_odds: FloatArray
    objectives: tuple[float, ...]


class LinearProblem:
    """(OPT) for linear gates and classifiers.

    Parameters
    ----------
    phi : ndarray of float64, shape (n_samples, n_features)
    targets : ndarray of float64, shape (n_samples, n_columns)
        Class indicators; one column for two classes.
    full_loss : ndarray of float64, shape (n_samples,)
        What the full model loses.
    distance : Distance
    norm : UnitNorm
    gamma : float
    """

    def __init__(
        self,
        phi: FloatArray,
        targets: FloatArray,
        full_loss: FloatArray,
        distance: Distance,
        norm: UnitNorm,
        gamma: float,
    ) -> None:
        self.phi = np.column_stack([phi, np.ones(len(phi))])
        self.targets, self.full_loss = targets, full_loss
        self.distance, self.norm, self.gamma = distance, norm, gamma
        self._loss = Logistic()
        curvature = max(distance.curvature, LOGISTIC if targets.shape[1] == 1 else SOFTMAX)
        spread = float(np.linalg.eigvalsh(self.phi.T @ self.phi / len(phi))[-1])
        self._step = 1 / (curvature * spread)

    def objective(self, weights: FloatArray, log_odds: FloatArray) -> float:
        """Compute the objective of (OPT)."""
        full_part = float(expit(log_odds) @ self.full_loss) / self.full_loss.size
        return full_part + self._penalised(weights, log_odds)

    def _penalised(self, weights: FloatArray, log_odds: FloatArray) -> float:
        """Compute the objective of (OPT2)."""
        scores = self.phi @ weights
        losses = expit(-log_odds) * self._loss.values(self.targets, scores[:, 1:])
        losses += self.distance.value(log_odds, scores[:, 0])
        return float(losses.mean()) + self.gamma * self.norm.value(weights[:-1])

    def _slope(self, weights: FloatArray, log_odds: FloatArray) -> FloatArray:
        """Compute the slope of the losses of (OPT2) in the weights."""
        scores = self.phi @ weights
        missed = expit(-log_odds)[:, None] * self._loss.residuals(self.targets, scores[:, 1:])
        slopes = np.column_stack([self.distance.slope(log_odds, scores[:, 0]), -missed])
        return np.asarray(self.phi.T @ slopes / len(self.phi))

    def minimise(self, weights: FloatArray, log_odds: FloatArray, settings: AlternationSettings) -> FloatArray:
        """Solve (OPT2) from given weights; the objective does not rise.

        Returns
        -------
        ndarray of float64, shape (n_features + 1, 1 + n_columns)
        """
        best, ahead, momentum, value = weights, weights, 1.0, self._penalised(weights, log_odds)
        for _ in range(settings.max_steps):
            found = ahead - self._step * self._slope(ahead, log_odds)
            found[:-1] = self.norm.shrink(found[:-1], self._step * self.gamma)
            found_value = self._penalised(found, log_odds)
            plain = ahead is best
            if found_value <= value:
                grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
                ahead = found + (momentum - 1) / grown * (found - best)
                fall, best, momentum, value = value - found_value, found, grown, found_value
                if fall > settings.tolerance * abs(value):
                    continue
            if plain:
                break
            ahead, momentum = best, 1.0
        return best

    def assign(self, weights: FloatArray, p_full: float) -> FloatArray:
        """Solve (OPT1): the best shares for the weights, as log-odds."""
        scores = self.phi @ weights
        cheap_loss = self._loss.values(self.targets, scores[:, 1:])
        return self.distance.assign(cheap_loss, self.full_loss, scores[:, 0], p_full)

    def start(self, p_full: float, settings: AlternationSettings, rng: np.random.RandomState | None) -> FloatArray:
        """Return weights to start from: of equal shares, or of shares that a random direction tells apart.

        Parameters
        ----------
        p_full : float
        settings : AlternationSettings
        rng : RandomState, optional
            Draws the direction.
        """
        shares = np.full(len(self.phi), p_full)
        if rng is not None:
            side = self.phi[:, :-1] @ rng.normal(size=self.phi.shape[1] - 1)
            shares = np.where(side > np.quantile(side, 1 - p_full), CERTAIN, 1 - CERTAIN)
        weights = np.zeros((self.phi.shape[1], 1 + self.targets.shape[1]))
        weights[-1, 1:] = self._loss.base(self.targets)
        return self.minimise(weights, np.asarray(logit(shares)), settings)

    def alternate(self, weights: FloatArray, p_full: float, settings: AlternationSettings) -> LinearFit:
        """Solve (OPT1) and (OPT2) in turn until the objective falls no further; it never rises.

        Parameters
        ----------
        weights : ndarray of float64, shape (n_features + 1, 1 + n_columns)
            Where to start.
        p_full : float
            Mean of the shares at most.
        settings : AlternationSettings
        """
        log_odds = self.assign(weights, p_full)
        objectives = [self.objective(weights, log_odds)]
        for _ in range(settings.max_rounds):
            weights = self.minimise(weights, log_odds, settings)
            objectives.append(self.objective(weights, log_odds))
            assigned = self.assign(weights, p_full)
            value = self.objective(weights, assigned)
            if value <= objectives[-1]:
                log_odds = assigned
            objectives.append(min(value, objectives[-1]))
            if objectives[-3] - objectives[-1] <= settings.tolerance * abs(objectives[-1]):
                break
        return LinearFit(weights, log_odds, tuple(objectives))


def best_fit(problem: LinearProblem, p_full: float, settings: AlternationSettings, random_state: int) -> LinearFit:
    """Alternate from equal shares, and from random directions; take the least objective."""
    rng = np.random.RandomState(random_state)
    fits = [
        problem.alternate(problem.start(p_full, settings, rng if number else None), p_full, settings)
        for number in range(settings.n_starts)
    ]
    return min(fits, key=lambda fit: fit.objectives[-1])
