"""LinearModel: linear functions of numbers and of marks of categories; those of scikit-learn are read as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ipforest._internal.arrays import Array, FloatArray, IntArray, checked_array
from ipforest._internal.kernels import inner_njit, njit
from ipforest.ensemble.links import LINKS, link_one

NUMBER = -1
"""In place of a category: the feature itself is weighed."""

LARGEST = float(np.finfo(np.float64).max)

CLASSIFIERS = (LogisticRegression, LogisticRegressionCV, SGDClassifier)
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)
REGRESSORS = (LinearRegression, Ridge, RidgeCV, Lasso, LassoCV, ElasticNet, ElasticNetCV, SGDRegressor)

N_PROBES, AGREES = 8, 1e-6
"""On so many examples a model is as near what it was read from; otherwise it was not read right."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Add up weighed terms and an intercept; a link makes probabilities, or a target, of the sums.

    A term is a number, shifted and scaled, of which a missing one counts as the mean; or a mark, which is 1 where the
    feature has one category, else 0.

    Parameters
    ----------
    feature : ndarray of int64, shape (n_terms,)
    category : ndarray of int64, shape (n_terms,)
        That is marked; `NUMBER` where the feature is a number.
    mean, spread : ndarray of float64, shape (n_terms,)
        Of numbers.
    weight : ndarray of float64, shape (n_terms, n_margins)
    intercept : ndarray of float64, shape (n_margins,)
    link : {"identity", "log", "logit", "half logit", "multinomial logit"}
        One margin, with a logit, is that of the second of two classes.
    n_features : int
        What the model sees, some of it perhaps without a weight.
    narrow : bool, default=False
        Whether numbers are rounded to float32 first, as those were that it was trained on.

    Raises
    ------
    ValueError
        Arrays that do not fit together, numbers that are not finite, a spread of 0, or an unknown link.
    """

    feature: IntArray
    category: IntArray
    mean: FloatArray
    spread: FloatArray
    weight: FloatArray
    intercept: FloatArray
    link: str
    n_features: int
    narrow: bool = False

    def __post_init__(self) -> None:
        n_terms, n_margins = np.size(self.feature), np.size(self.intercept)
        shapes = {"feature": (n_terms,), "category": (n_terms,), "mean": (n_terms,), "spread": (n_terms,)}
        for name, shape in (shapes | {"weight": (n_terms, n_margins), "intercept": (n_margins,)}).items():
            dtype = np.int64 if name in ("feature", "category") else np.float64
            values = getattr(self, name)
            if np.shape(values) != shape or not np.isfinite(values).all():
                raise ValueError(f"{name}: expected finite numbers of shape {shape}, got shape {np.shape(values)}")
            object.__setattr__(self, name, checked_array(values, name, dtype, shape))
        if n_terms and not 0 <= self.feature.min() <= self.feature.max() < self.n_features:
            raise ValueError(f"feature: expected numbers from 0 to {self.n_features - 1}, got {self.feature!r}")
        if (self.spread <= 0).any() or self.category.min(initial=0) < NUMBER:
            raise ValueError("spread, category: expected numbers > 0, and categories from 0 on or -1, got others")
        most = {"identity": n_margins, "multinomial logit": n_margins}.get(self.link, 1)
        if self.link not in LINKS or not 1 + (self.link == "multinomial logit") <= n_margins <= most:
            raise ValueError(f"link: expected one of {LINKS} that fits {n_margins} margins, got {self.link!r}")

    @classmethod
    def constant(cls, answer: Array) -> Self:
        """Answer the same, shape (n_outputs,), about every example."""
        none, no_terms = np.empty(0, dtype=np.int64), np.empty(0)
        return cls(none, none, no_terms, no_terms, np.empty((0, len(answer))), answer, "identity", 0)

    @property
    def n_outputs(self) -> int:
        """Classes, or 1 where a number is predicted."""
        return 2 if self.link in ("logit", "half logit") else int(self.intercept.size)

    def mean_answers(self, X: Array) -> FloatArray:
        """Compute class probabilities or targets, shape (n_samples, n_outputs), of examples (n_samples, n_features)."""
        if self.feature.size and X.shape[1:] != (self.n_features,):
            raise ValueError(f"X: expected {self.n_features} features, got shape {X.shape}")
        outputs, width = np.empty((X.shape[0], self.n_outputs)), np.empty(self.intercept.size)
        functions = LinearFunctions.joined([(self, np.arange(self.n_features))])
        _answer_all(functions, np.ascontiguousarray(X, dtype=np.float64), width, outputs)
        return outputs


NOTHING = LinearModel.constant(np.zeros(1))


class LinearFunctions(NamedTuple):
    """Linear models one after another, as kernels read them.

    Parameters
    ----------
    first_term : ndarray of int64, shape (n_models + 1,)
    feature, category, mean, spread, weight
        Of all terms; see `LinearModel`. Features are columns of a table; weights are as wide as the most margins.
    intercept : ndarray of float64, shape (n_models, most margins)
    n_margins : ndarray of int64, shape (n_models,)
        0 where there is no model.
    link : ndarray of int64, shape (n_models,)
    narrow : ndarray of bool, shape (n_models,)
    """

    first_term: Array
    feature: Array
    category: Array
    mean: Array
    spread: Array
    weight: Array
    intercept: Array
    n_margins: Array
    link: Array
    narrow: Array

    @classmethod
    def joined(cls, models: Sequence[tuple[LinearModel | None, IntArray]]) -> Self:
        """Put models one after another, with the column of the table that each of their features is."""
        width = max([1, *(model.intercept.size for model, _ in models if model is not None)])
        given = [NOTHING if model is None else model for model, _ in models]

        def widened(rows: Array) -> Array:
            return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

        return cls(
            np.cumsum([0, *(each.feature.size for each in given)]),
            np.concatenate([columns[each.feature] for each, (_, columns) in zip(given, models, strict=True)]),
            np.concatenate([each.category for each in given]),
            np.concatenate([each.mean for each in given]),
            np.concatenate([each.spread for each in given]),
            np.concatenate([widened(each.weight) for each in given]),
            np.concatenate([widened(each.intercept[None]) for each in given]),
            np.array([0 if model is None else model.intercept.size for model, _ in models]),
            np.array([LINKS.index(each.link) for each in given]),
            np.array([each.narrow for each in given]),
        )


@njit
def _answer_all(functions: LinearFunctions, X: Array, margins: Array, outputs: Array) -> None:
    for i in range(X.shape[0]):
        answer_linearly(functions, 0, X[i], margins, outputs[i])


@inner_njit
def answer_linearly(functions: LinearFunctions, model: int, x: Array, margins: Array, output: Array) -> None:
    """Write the answer of a model about one example into its ``output`` (n_outputs,); ``margins`` are overwritten."""
    n_margins = functions.n_margins[model]
    for k in range(n_margins):
        margins[k] = 0.0
    for term in range(functions.first_term[model], functions.first_term[model + 1]):
        value, category = x[functions.feature[term]], functions.category[term]
        if functions.narrow[model]:
            value = np.float64(np.float32(value))
        if category >= 0:
            scaled = 1.0 if value >= category and value < category + 1 else 0.0
        else:
            scaled = (value - functions.mean[term]) / functions.spread[term]
            scaled = 0.0 if np.isnan(scaled) else max(-LARGEST, min(scaled, LARGEST))
        for k in range(n_margins):
            margins[k] += scaled * functions.weight[term, k]
    for k in range(n_margins):
        margins[k] += functions.intercept[model, k]
    link_one(functions.link[model], margins, n_margins, output)


def read_linear(model: Any) -> LinearModel | None:
    """Read a linear model of scikit-learn, alone or after an imputer and scalers, or a constant; None for others.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    LinearModel or None
        One that answers as the model on a few examples. A missing number, where nothing imputes it, counts as 0 or as
        the mean of the scaler.
    """
    if isinstance(model, DummyClassifier) and model.strategy == "prior":
        return LinearModel.constant(model.class_prior_)
    if isinstance(model, DummyRegressor):
        return LinearModel.constant(np.ravel(model.constant_))
    *steps, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    coefficients: Any = getattr(last, "coef_", None)
    is_known = isinstance(last, CLASSIFIERS + REGRESSORS) and isinstance(coefficients, np.ndarray)
    if not is_known or not np.isfinite(coefficients).all():
        return None
    if isinstance(last, SGDClassifier) and (last.loss != "log_loss" or len(coefficients) > 1):
        return None  # its link is none of ours, which examples that it is sure of do not show
    weight, intercept, link = margins_of(last)
    n_features = weight.shape[0]
    filled = np.zeros(n_features)
    if steps and isinstance(steps[0], SimpleImputer):
        imputer = steps.pop(0)
        filled = np.asarray(imputer.statistics_, dtype=np.float64)
        is_of_gaps = np.array_equal(imputer.missing_values, np.nan, equal_nan=True) and not imputer.add_indicator
        if not is_of_gaps or filled.shape != (n_features,) or np.isnan(filled).any():
            return None
    elif steps and isinstance(steps[0], StandardScaler) and steps[0].with_mean:
        filled = steps[0].mean_
    scalers = [step for step in steps if step != "passthrough"]
    if not all(isinstance(step, SCALERS) and not getattr(step, "clip", False) for step in scalers):
        return None
    unscaled, moved = weight, filled
    for step in scalers:
        moved = np.asarray(step.transform(moved[None]))[0]
        weight = weight * _factor(step)[:, None]
    numbers = np.arange(n_features), np.full(n_features, NUMBER), filled, np.ones(n_features)
    found = LinearModel(*numbers, weight, intercept + moved @ unscaled, link, n_features)
    return found if _agree(found, model, filled) else None


def margins_of(model: Any) -> tuple[FloatArray, FloatArray, str]:
    """Return weights (n_features, n_margins), intercepts and the link of a fitted linear model of scikit-learn."""
    weight = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64)).T
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), weight.shape[1:])
    link = "identity" if is_regressor(model) else "logit" if weight.shape[1] == 1 else "multinomial logit"
    return weight, intercept, link


def _factor(scaler: Any) -> Any:
    """Return what a scaler multiplies numbers by."""
    if isinstance(scaler, MinMaxScaler):
        return scaler.scale_
    return np.ones(scaler.n_features_in_) if scaler.scale_ is None else 1 / scaler.scale_


def _agree(found: LinearModel, model: Any, middle: FloatArray) -> bool:
    """Tell whether two models answer alike about examples around one in the middle."""
    steepest = np.maximum(np.abs(found.weight).max(axis=1), np.finfo(np.float64).tiny)
    examples = middle + np.random.RandomState(0).normal(size=(N_PROBES, middle.size)) / np.maximum(steepest, 1e-3)
    if is_regressor(model):
        told = np.asarray(model.predict(examples), dtype=np.float64).reshape(N_PROBES, -1)
    elif hasattr(model, "predict_proba"):
        told = np.asarray(model.predict_proba(examples))[:, np.argsort(model.classes_)]
    else:
        return False
    own = found.mean_answers(examples)
    return own.shape == told.shape and bool(np.allclose(own, told, rtol=AGREES, atol=AGREES))
