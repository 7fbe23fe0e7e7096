"""The policy that GDFS and DIME learn, where the distribution is known: buy what tells most of the class per price.

GDFS and DIME estimate the mutual information between the class and a feature given what is known so far. Where examples
come from a mixture of Gaussians with independent features, posteriors are exact, and the information is an integral
over the values of one purchase. So it can be told how much of a learned policy's error is of learning, and how much of
the policy itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax, xlogy
from scipy.stats import norm

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.experiments.acquisition import Purchases, bought_one_by_one

N_VALUES = 32
"""Values of a purchase that stand for its normal distribution."""

N_DIGITS = 9


@dataclass(frozen=True, eq=False)
class IndependentGaussians:
    """Equally likely components, each with a class and independent normal features.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_components,)
        The class of each component: 0, 1, ...
    means, deviations : ndarray of float64, shape (n_components, n_features)
    """

    labels: IntArray
    means: FloatArray
    deviations: FloatArray

    @cached_property
    def of_class(self) -> FloatArray:
        """Which components are of which class, shape (n_components, n_classes)."""
        return np.asarray(self.labels[:, None] == np.arange(self.labels.max() + 1), dtype=np.float64)

    def log_densities(self, X: Array, columns: IntArray) -> FloatArray:
        """Return the logarithm of each component's density of some columns of X, shape (n_samples, n_components)."""
        densities = np.zeros((len(X), len(self.labels)))
        for place, column in enumerate(columns):
            densities += norm.logpdf(X[:, [place]], self.means[:, column], self.deviations[:, column])
        return densities

    def posteriors(self, X: Array, shown: BoolArray) -> FloatArray:
        """Return the probability of each component given the features shown, shape (n_samples, n_components)."""
        everything = np.arange(X.shape[1])
        each = np.stack([self.log_densities(X[:, [column]], everything[[column]]) for column in everything], axis=2)
        return np.asarray(softmax((each * shown[:, None]).sum(axis=2), axis=1))

    def predict_proba(self, X: Array, shown: BoolArray) -> FloatArray:
        """Return the probability of each class given the features shown, shape (n_samples, n_classes)."""
        return self.posteriors(X, shown) @ self.of_class


class ExactInformation:
    """Buy one by one what tells most of the class per price, by the distribution itself.

    Parameters
    ----------
    distribution : IndependentGaussians
    purchases : Purchases
        Of those that tell the same per price, to `N_DIGITS`, the first is bought.
    seed : int
        Of the values that stand for a purchase of several features; those of one feature are quantiles.
    """

    def __init__(self, distribution: IndependentGaussians, purchases: Purchases, seed: int) -> None:
        self.distribution, self.purchases = distribution, purchases
        self.values = list(self._values(np.random.default_rng(seed)))
        self.predict_proba = distribution.predict_proba

    def _values(self, rng: np.random.Generator) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield for each purchase which components have it from which distribution, and densities of values of these.

        Shapes (n_components, n_different) and (n_components, n_different * N_VALUES).
        """
        means, deviations = self.distribution.means, self.distribution.deviations
        quantiles = norm.ppf((np.arange(N_VALUES) + 0.5) / N_VALUES)[:, None]
        for members in self.purchases.columns:
            columns = np.flatnonzero(members)
            normal = quantiles if columns.size == 1 else rng.standard_normal((N_VALUES, columns.size))
            kinds = np.hstack([means[:, columns], deviations[:, columns]])
            different, kind = np.unique(kinds, axis=0, return_inverse=True)
            centres, spreads = np.split(different[:, None], 2, axis=2)
            drawn = (centres + spreads * normal).reshape(-1, columns.size)
            yield np.eye(len(different))[kind.ravel()], np.exp(self.distribution.log_densities(drawn, columns)).T

    def information(self, posterior: FloatArray) -> FloatArray:
        """Return what each purchase not yet made tells of the class, in nats, shape (n_samples, n_purchases).

        Parameters
        ----------
        posterior : ndarray of float64, shape (n_samples, n_components)
        """
        of_class = self.distribution.of_class
        known_of_class = posterior[:, None] * of_class.T
        now = _entropy(posterior @ of_class)
        told = np.empty((len(posterior), len(self.values)))
        for number, (has_kind, densities) in enumerate(self.values):
            joint = np.maximum(known_of_class @ densities, np.finfo(float).tiny)
            after = _entropy((joint / joint.sum(axis=1, keepdims=True)).swapaxes(1, 2))
            means = after.reshape(len(posterior), has_kind.shape[1], N_VALUES).mean(axis=2)
            told[:, number] = now - (means * (posterior @ has_kind)).sum(axis=1)
        return told

    def bought(self, X: Array, lam: float, most: float, *, forced: bool) -> list[IntArray]:
        """Buy for each example what tells most per price of what it can afford; see `bought_one_by_one`."""

        def scores(rows: IntArray, known: BoolArray) -> FloatArray:
            shown = known.astype(np.int64) @ self.purchases.columns > 0
            prices = np.maximum(self.purchases.prices_after(known), 1e-9)
            told = self.information(self.distribution.posteriors(X[rows], shown)) / prices
            return np.asarray(np.round(told, N_DIGITS))

        return bought_one_by_one(scores, len(X), self.purchases, lam, most, forced=forced)


def _entropy(probabilities: FloatArray) -> FloatArray:
    return -np.asarray(xlogy(probabilities, probabilities).sum(axis=-1))
