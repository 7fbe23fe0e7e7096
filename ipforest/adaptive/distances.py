r"""How far a gate is from the shares q, and the best shares for a gate and a cheap model.

The share :math:`q_i` says how much of example i goes to the full model :math:`f_0`; it is kept as log-odds
:math:`h_i = \log(q_i / (1 - q_i))`. Given the losses :math:`\ell_1` of the cheap and :math:`\ell_0` of the full model
and the gate's scores g, the best shares solve

.. math:: \min_q \frac{1}{N} \sum_i \big[ (1 - q_i) \ell_{1,i} + q_i \ell_{0,i} + D(q_i, g_i) \big]
          \quad\text{s.t.}\quad \frac{1}{N} \sum_i q_i \le P_\text{full}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from ipforest._internal.arrays import FloatArray

SQUARED_CURVATURE = 2.0
"""Second derivative of the squared distance of log-odds."""

MIN_BEND = np.sqrt(432)
"""The price from which on a sigmoid bends more than a squared distance: the discriminant of `_inflections` is 0."""

MIN_LOG_ODDS = -700.0
"""Log-odds whose share is as good as 0."""

MAX_HALVINGS = 100_000
"""Steps of a search whose interval may be as wide as floating-point numbers are."""

MAX_STEPS = 60
MIN_STEP = 1e-11


class Distance(Protocol):
    """Distance of shares from a gate, elementwise."""

    curvature: float
    """Largest second derivative by the gate's score."""

    def assign(self, cheap_loss: FloatArray, full_loss: FloatArray, gate: FloatArray, p_full: float) -> FloatArray:
        """Find the log-odds of the best shares, shape (n_samples,), whose mean is at most `p_full`."""

    def value(self, log_odds: FloatArray, gate: FloatArray) -> FloatArray:
        """Compute the distances."""

    def slope(self, log_odds: FloatArray, gate: FloatArray) -> FloatArray:
        """Compute their derivatives by the gate's scores."""


class KullbackLeibler:
    r"""Kullback-Leibler divergence of the share from the gate's probability.

    .. math:: D(q, g) = q \log\frac{q}{\sigma(g)} + (1 - q) \log\frac{1 - q}{\sigma(-g)}
    """

    curvature = 0.25

    def assign(self, cheap_loss: FloatArray, full_loss: FloatArray, gate: FloatArray, p_full: float) -> FloatArray:
        r"""Solve (OPT1): :math:`q_i = 1 / (1 + e^{B_i - A_i + \beta})`, an I-projection.

        Here :math:`A_i = \ell_{1,i} + \log(1 + e^{g_i})`, :math:`B_i = \ell_{0,i} + \log(1 + e^{-g_i})`, so that
        :math:`A_i - B_i = \ell_{1,i} - \ell_{0,i} + g_i`; and :math:`\beta \ge 0` is least.
        """
        excess = cheap_loss - full_loss + gate
        return excess - least_multiplier(lambda beta: float(expit(excess - beta).mean()), p_full, excess)

    def value(self, log_odds: FloatArray, gate: FloatArray) -> FloatArray:
        """Compute the divergences, as Bregman's of the function log(1 + exp)."""
        start = np.maximum(log_odds, MIN_LOG_ODDS)
        return np.asarray(np.logaddexp(0, gate) - np.logaddexp(0, start) - expit(start) * (gate - start))

    def slope(self, log_odds: FloatArray, gate: FloatArray) -> FloatArray:
        """Compute the difference of the probabilities."""
        return np.asarray(expit(gate) - expit(log_odds))


class SquaredLogOdds:
    r"""Squared difference of the log-odds, the symmetrised distance of Adapt-Lstsq.

    .. math:: D(q, g) = (h - g)^2, \qquad h = \log\frac{q}{1 - q}
    """

    curvature = SQUARED_CURVATURE

    def assign(self, cheap_loss: FloatArray, full_loss: FloatArray, gate: FloatArray, p_full: float) -> FloatArray:
        r"""Minimise :math:`\ell_1 + (\ell_0 - \ell_1 + \beta) \sigma(h) + (h - g)^2` example by example.

        Relaxing the constraint by a multiplier :math:`\beta \ge 0` leaves one problem per example, of one variable. It
        is not convex, but its global minimum is found (`nearest_log_odds`), whose share falls as the multiplier rises.
        The least feasible multiplier is taken; by the Shapley-Folkman theorem the loss against the constrained optimum
        is that of one example at most.
        """
        excess = full_loss - cheap_loss

        def mean_share(beta: float) -> float:
            return float(expit(nearest_log_odds(excess + beta, gate)).mean())

        highest = np.maximum(excess.max(), 0.0) + gate
        return nearest_log_odds(excess + least_multiplier(mean_share, p_full, highest), gate)

    def value(self, log_odds: FloatArray, gate: FloatArray) -> FloatArray:
        """Square the differences."""
        return np.square(log_odds - gate)

    def slope(self, log_odds: FloatArray, gate: FloatArray) -> FloatArray:
        """Double the differences."""
        return SQUARED_CURVATURE * (gate - log_odds)


def least_multiplier(mean_share: Callable[[float], float], p_full: float, scale: FloatArray) -> float:
    """Find the least multiplier from which on the mean share is within the limit.

    Parameters
    ----------
    mean_share : callable (multiplier) -> float
        Never rises.
    p_full : float
        The limit; with 0 the multiplier is infinite.
    scale : ndarray of float64
        Log-odds without multiplier, from which the search for an upper end starts.

    Returns
    -------
    float
        The limit holds there exactly, and the multiplier exceeds the least one by rounding only.
    """
    if mean_share(0.0) <= p_full:
        return 0.0
    if p_full == 0:
        return np.inf
    high = max(1.0, float(scale.max() - logit(p_full)))
    while mean_share(high) > p_full:
        high *= 2
    beta = float(
        brentq(lambda multiplier: mean_share(multiplier) - p_full, 0.0, high, xtol=1e-12, maxiter=MAX_HALVINGS)
    )
    step = 1e-12
    while mean_share(beta) > p_full:
        beta, step = beta + step, 2 * step
    return beta


def nearest_log_odds(price: FloatArray, gate: FloatArray) -> FloatArray:
    r"""Minimise :math:`\varphi(h) = p\,\sigma(h) + (h - g)^2` over h, for each price p and score g.

    With p > 0 all stationary points lie in [g - p/8, g]; p < 0 is the same problem with g and h negated. The derivative
    :math:`p\,\sigma'(h) + 2 (h - g)` rises, except between the two points where :math:`p\,\sigma''(h) = -2`, which
    exist for p above 20.8 alone: so there is at most one local minimum on either side, and the lower one is
    global.
    """
    side = np.where(price < 0, -1.0, 1.0)
    steep, score = side * price, side * gate
    low, high = score - steep / 8, score
    first, second = _inflections(steep)
    best = _rising_root(steep, score, low, np.clip(first, low, high))
    two = np.flatnonzero(second < high)
    if two.size:
        late = _rising_root(steep[two], score[two], np.maximum(second, low)[two], high[two])
        both = np.stack([best[two], late])
        values = steep[two] * expit(both) + np.square(both - score[two])
        best[two] = np.where(values[1] < values[0], late, best[two])
    return side * best


def _inflections(steep: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Solve :math:`p\,\sigma''(h) = -2`: with :math:`u = \sigma(h) - 1/2` it is :math:`u^3 - u/4 + 1/p = 0`.

    Both are infinite where there is no solution: then the derivative rises everywhere.
    """
    bends = steep > MIN_BEND
    angle = np.arccos(-MIN_BEND / np.where(bends, steep, MIN_BEND)) / 3
    first, second = (logit(0.5 + np.cos(angle - turn) / np.sqrt(3)) for turn in (2 * np.pi / 3, 0.0))
    return np.where(bends, first, np.inf), np.where(bends, second, np.inf)


def _rising_root(steep: FloatArray, score: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Find where the derivative passes 0 in an interval in which it rises, else the end that is nearer to 0.

    Newton's steps, and halvings where they would leave the interval that is left.
    """
    here = (low + high) / 2
    for _ in range(MAX_STEPS):
        share = expit(here)
        rise = steep * share * (1 - share)
        derivative, curvature = rise + 2 * (here - score), rise * (1 - 2 * share) + SQUARED_CURVATURE
        low, high = np.where(derivative > 0, low, here), np.where(derivative > 0, here, high)
        ahead = here - derivative / np.maximum(curvature, np.finfo(float).eps)
        ahead = np.where((low <= ahead) & (ahead <= high), ahead, (low + high) / 2)
        step, here = float(np.abs(ahead - here).max()), ahead
        if step <= MIN_STEP:
            break
    return here
