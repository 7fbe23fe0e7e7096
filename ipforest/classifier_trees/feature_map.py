"""What the weights of linear classifiers multiply: an interface, and the features themselves."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from ipforest._internal.arrays import Array, FloatArray, IntArray


class FeatureMap(Protocol):
    """Map x -> phi(x) that knows which features each of its outputs needs.

    Attributes
    ----------
    dtype : numpy dtype
        Floating-point type in which it reads features.
    feature_of_weight_ : sparse array, shape (n_features, n_weights)
        F: 1 where an output needs a feature.
    evaluation_cost_ : ndarray of float64, shape (n_weights,), optional
        What computing an output costs once per example, its features apart; nothing where it is not there.
    """

    dtype: npt.DTypeLike
    feature_of_weight_: Any

    def fit(self, X: Array, y: Array) -> Self:
        """Learn the map."""

    def transform(self, X: Array, columns: IntArray | None = None) -> FloatArray:
        """Compute the outputs, or some of them; other features than those they need are not read."""


class ScaledFeatures(BaseEstimator):
    """The features themselves, shifted and scaled to mean 0 and variance 1, so that norms treat them alike.

    A missing value counts as the mean (as 0 where they stay as they are).

    Parameters
    ----------
    scale : bool, default=True
        Whether to; else they stay as they are, as in section 6.1.
    """

    dtype = np.float64

    def __init__(self, *, scale: bool = True) -> None:
        self.scale = scale

    def fit(self, X: Array, y: Array) -> Self:
        """Learn means and standard deviations, of y nothing."""
        known = np.where(np.isnan(X).all(axis=0), 0, X)
        exponent = np.frexp(np.nanmax(np.abs(known), axis=0))[1]  # the squares of very large and small numbers are none
        scaler = StandardScaler().fit(np.ldexp(known, -exponent))
        self.mean_ = np.ldexp(scaler.mean_, exponent) if self.scale else np.zeros(X.shape[1])
        self.spread_ = np.ldexp(scaler.scale_, exponent) if self.scale else np.ones(X.shape[1])
        self.feature_of_weight_ = sparse.eye_array(X.shape[1], format="csr")
        return self

    def transform(self, X: Array, columns: IntArray | None = None) -> FloatArray:
        """Shift and scale, shape (n_samples, n_weights)."""
        which = slice(None) if columns is None else columns
        return np.nan_to_num((X[:, which] - self.mean_[which]) / self.spread_[which])
