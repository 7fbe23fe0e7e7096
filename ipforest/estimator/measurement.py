"""What a fitted model comes to on examples, and a summary of it in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import NamedTuple, Self

import numpy as np
from sklearn.metrics import r2_score

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.words import plain, unbroken
from ipforest.choosing.class_costs import costs_of
from ipforest.estimator.checks import check_integer
from ipforest.estimator.predicting import Seen
from ipforest.session import Sessions, Unit

__all__ = ["Measurement"]

NORMAL_95 = 1.959964
"""Standard errors on both sides of a mean that make an interval of 95 per cent."""


class Measurement(NamedTuple):
    """What a model comes to on examples.

    Parameters
    ----------
    n_samples : int
    n_wrong : int or None
        Of classifiers.
    cost, cost_error : float
        Mean and its standard error.
    bought : ndarray of float64, shape (n_features,)
        For which share of the examples each feature is bought.
    tests : ndarray of float64, shape (n_features,)
        How often an example tests each feature, on average.
    mistakes : float or None
        What predictions cost by ``class_costs`` on average.
    squared_error, squared_error_error, r2 : float or None
        Of regressors: mean squared error, its standard error, and coefficient of determination.
    """

    n_samples: int
    n_wrong: int | None
    cost: float
    cost_error: float
    bought: FloatArray
    tests: FloatArray
    mistakes: float | None = None
    squared_error: float | None = None
    squared_error_error: float | None = None
    r2: float | None = None

    @classmethod
    def of(cls, seen: Seen | Sessions, y: Array, classes: Array | None, class_costs: FloatArray | None) -> Self:
        """Average over examples, by what each was answered and bought."""
        guesses, paid = seen.labels(seen.outputs), seen.paid
        spread = _error_of_mean(paid)
        bought, tests = seen.bought.mean(axis=0), seen.tests.mean(axis=0)
        if classes is None:
            squares = np.square(guesses - y)
            lost = float(squares.mean()), _error_of_mean(squares), float(r2_score(y, guesses)) if y.size > 1 else nan
            return cls(paid.size, None, float(paid.mean()), spread, bought, tests, None, *lost)
        mistakes = None if class_costs is None else float(costs_of(class_costs, classes, y, guesses).mean())
        return cls(paid.size, int((guesses != y).sum()), float(paid.mean()), spread, bought, tests, mistakes)

    @property
    def loss(self) -> float:
        """What mistakes cost by ``class_costs``; otherwise the share of wrong labels, or the mean squared error."""
        return self.error_interval()[0] if self.mistakes is None else self.mistakes

    def error_interval(self) -> tuple[float, float, float]:
        """Return the share of wrong labels, or the mean squared error, and the bounds of its interval of 95 per cent.

        That of a share is Wilson's, that of a mean is its normal one.
        """
        if self.squared_error is not None and self.squared_error_error is not None:
            half = NORMAL_95 * self.squared_error_error
            return self.squared_error, max(self.squared_error - half, 0.0), self.squared_error + half
        assert self.n_wrong is not None
        share, more = self.n_wrong / self.n_samples, NORMAL_95**2 / self.n_samples
        middle = (share + more / 2) / (1 + more)
        half = np.sqrt(share * (1 - share) * more + more**2 / 4) / (1 + more)
        return share, float(max(middle - half, 0.0)), float(min(middle + half, 1.0))

    def is_beyond_chance(self, share: float) -> bool:
        """Tell whether so large a share of the error is more than its standard error."""
        wrong, low, high = self.error_interval()
        return bool(share * wrong > (high - low) / (2 * NORMAL_95))

    def in_words(self, examples: str) -> str:
        """Say errors and cost with their intervals, in lines of a summary; examples are named so."""
        wrong, low, high = self.error_interval()
        spread = NORMAL_95 * self.cost_error
        least, most = max(self.cost - spread, 0), self.cost + spread
        error = "error" if self.r2 is None else "mean squared error"
        determined = "" if self.r2 is None else f", R^2 {plain(self.r2, 3)}"
        mistakes = ""
        if self.mistakes is not None:
            mistakes = f"\n    mistakes {plain(self.mistakes)}, with the cost {plain(self.cost + self.mistakes)}"
        return (
            f"  on {self.n_samples} {examples}:\n"
            f"    {error} {plain(wrong, 3)} ({plain(low, 3)} to {plain(high, 3)}){determined}\n"
            f"    cost {plain(self.cost)} ({plain(least)} to {plain(most)}){mistakes}"
        )

    def bought_most(self, units: Sequence[Unit], n_units: int) -> str:
        """Name the units that are bought most, and for which share of the examples."""
        check_integer(n_units, "n_units", 0)
        shares = np.array([self.bought[list(unit.features)].max() for unit in units])
        most = [place for place in np.argsort(-shares, kind="stable")[:n_units] if shares[place] > 0]
        return ", ".join(f"{unbroken(units[place].name)} ({shares[place]:.0%})" for place in most) or "nothing"


def _error_of_mean(values: FloatArray) -> float:
    """Return the standard error of a mean, infinite for a single value."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else inf
