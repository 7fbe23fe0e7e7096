"""Calibrated probabilities at every place where buying stops: isotonic or sigmoid, learnt on held-out examples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from ipforest._internal.arrays import Array, FloatArray, Int32Array, IntArray
from ipforest.choosing.measures import log_odds
from ipforest.estimator.checks import check_choice, check_integer
from ipforest.policy import Policy
from ipforest.settings import checked
from ipforest.wrappers.adapted import AdaptedClassifier, PolicyAround
from ipforest.wrappers.pipeline import BudgetedPipeline

__all__ = ["CalibratedClassifier", "calibrated"]

METHODS = ("sigmoid", "isotonic")

N_FOLDS = 5

SUREST = 1e-4
"""Of more extreme probabilities than this and 1 - this, the sigmoid sees the logarithm of these odds."""


class AsGiven(ClassifierMixin, BaseEstimator):
    """A classifier whose examples are class probabilities, and which answers these: what calibrators are put on.

    Parameters
    ----------
    classes : ndarray, shape (n_classes,)
    """

    def __init__(self, classes: Array) -> None:
        self.classes = classes
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: FloatArray, y: Array, sample_weight: FloatArray | None = None) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: FloatArray) -> Array:
        """Return the likeliest classes, shape (n_samples,)."""
        return np.asarray(self.classes_[np.argmax(X, axis=1)])

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return the log-odds of probabilities."""
        return log_odds(np.clip(X, SUREST, 1 - SUREST))


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Calibrators of the places where buying stops.

    A place is how many features were asked for. Those with too few examples are pooled with the ones that follow.

    Parameters
    ----------
    first : ndarray of int64, shape (n_places,)
        The fewest features of each place, ascending from 0.
    calibrators : tuple of CalibratedClassifierCV
        One per place.
    """

    first: IntArray
    calibrators: tuple[Any, ...]

    @classmethod
    def fit(
        cls,
        first: IntArray,
        outputs: FloatArray,
        asked: IntArray,
        labels: Array,
        weight: FloatArray,
        method: str,
        classes: Array,
    ) -> Self:
        """Fit a calibrator at each place.

        Parameters
        ----------
        first : ndarray of int64, shape (n_places,)
            See `pooled_places`.
        outputs : ndarray of float64, shape (n_samples, n_classes)
        asked : ndarray of int64, shape (n_samples,)
            For how many features each example was asked.
        labels : ndarray, shape (n_samples,)
        weight : ndarray of float64, shape (n_samples,)
        method : {"sigmoid", "isotonic"}
        classes : ndarray, shape (n_classes,)
        """
        place = _places_in(first, asked)
        fitted = []
        for number in range(first.size):
            here = np.flatnonzero(place == number)
            whole = [(np.arange(here.size), np.arange(here.size))]
            calibrator = CalibratedClassifierCV(AsGiven(classes), method=method, cv=whole, ensemble=False)
            with config_context(enable_metadata_routing=False):  # what is calibrated takes weights, and is ours
                fitted.append(calibrator.fit(outputs[here], labels[here], sample_weight=weight[here]))
        return cls(first, tuple(fitted))

    def __call__(self, outputs: FloatArray, asked: IntArray) -> FloatArray:
        """Calibrate class probabilities, shape (n_samples, n_classes)."""
        place, answers = _places_in(self.first, asked), np.empty_like(outputs)
        for number in np.unique(place).tolist():
            here = place == number
            answers[here] = self.calibrators[number].predict_proba(outputs[here])
        return answers


def _places_in(first: IntArray, asked: IntArray) -> IntArray:
    return np.asarray(np.searchsorted(first, asked, side="right") - 1)


def pooled_places(asked: IntArray, labels: Array, classes: Array, min_samples: int) -> IntArray:
    """Pool numbers of features until each place has enough examples, and two of each class.

    Parameters
    ----------
    asked : ndarray of int64, shape (n_samples,)
    labels : ndarray, shape (n_samples,)
    classes : ndarray, shape (n_classes,)
    min_samples : int

    Returns
    -------
    ndarray of int64, shape (n_places,)
        The fewest features of each place, ascending from 0; too few at the end belong to the place before.
    """
    first = [0]
    counts = np.zeros(classes.size, dtype=np.int64)
    for number in np.unique(asked).tolist():
        if counts.sum() >= min_samples and counts.min() >= 2:
            first.append(number)
            counts = np.zeros_like(counts)
        counts += (labels[asked == number, None] == classes).sum(axis=0)
    is_short = counts.sum() < min_samples or counts.min() < 2
    return np.array(first[:-1] if is_short and len(first) > 1 else first)


class CalibratedPolicy(PolicyAround):
    """A policy whose answers are calibrated; it buys as before."""

    def __init__(self, inner: Policy, calibration: Calibration) -> None:
        super().__init__(inner, "calibration")
        self._calibration = calibration

    def changed(self, outputs: FloatArray, tests: Int32Array) -> FloatArray:
        """Calibrate what the policy answers by how many features it has asked for."""
        return self._calibration(outputs, number_asked(tests))


def number_asked(tests: Int32Array) -> IntArray:
    """Count the features that were tested, shape (n_samples,)."""
    return np.asarray((tests > 0).sum(axis=1))


@dataclass(eq=False, repr=False)
class CalibratedClassifier(AdaptedClassifier):
    """Calibrate the class probabilities of a classifier that buys, at every place where it stops.

    An example that stops after one feature and one that buys ten have probabilities of different kinds, so each number
    of features has a calibrator of its own: scikit-learn's isotonic or sigmoid one. Numbers of features at which too
    few held-out examples stop are pooled with those that follow. What is bought, and when buying stops, stays as it was
    trained, and so do costs. Labels are those of the calibrated probabilities: the likeliest class, or with class costs
    that of least expected cost. Sessions show calibrated probabilities throughout.

    Parameters
    ----------
    estimator : estimator
        A classifier of this package. One that is fitted already is used as it is, and all examples serve to calibrate;
        wrap it in `sklearn.frozen.FrozenEstimator` to keep it so in clones.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        Isotonic regression needs some hundred examples at a place; the sigmoid, of the log-odds, has two parameters.
    min_samples : int, default=100
        Fewest held-out examples of a place; there are two of each class as well.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples held out to calibrate, where the estimator is not fitted and `fit` gets no ``X_val``.
    random_state : int, RandomState instance or None, default=None
        Draws the examples held out, and seeds an estimator that has no seed of its own.

    Attributes
    ----------
    model_ : BudgetedEstimator
        What buys.
    calibration_ : Calibration
        ``calibration_.first`` tells the fewest features of each place.
    cross_fitted_ : ndarray of float64, shape (n_held_out, n_classes)
        Probabilities of the held-out examples by calibrators that were fitted without them, in five folds: an honest
        view of the calibration on the same examples.
    asked_, place_ : ndarray of int64, shape (n_held_out,)
        For how many features each of them was asked, and which place that is.
    costs_, n_features_in_, classes_
        Those of the classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BoostSearch, BudgetBoost
    >>> from ipforest.wrappers.calibration import CalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosted = BudgetBoost(20, search=BoostSearch(n_lambdas=2), budget=3, random_state=0)
    >>> model = CalibratedClassifier(boosted, random_state=0).fit(X, y)
    >>> bool((model.cost(X) == model.model_.cost(X)).all())
    True
    """

    estimator: Any
    _: KW_ONLY
    method: str = checked("sigmoid", check_choice, METHODS)
    min_samples: int = checked(100, check_integer, 1)
    validation_fraction: float | None = 0.25
    random_state: Any = None

    def _adapt(self) -> None:
        _, labels, weight = self._held_out
        for label in self.classes_.tolist():
            count = int((labels == label).sum())
            if count < 2:
                raise ValueError(f"y: expected two examples of each class to calibrate, got {count} of {label!r}")
        outputs, _, tests = self._answers()
        asked = self.asked_ = number_asked(tests)
        first = pooled_places(asked, labels, self.classes_, self.min_samples)
        self.place_ = _places_in(first, asked)

        def fitted(rows: Array) -> Calibration:
            return Calibration.fit(
                first, outputs[rows], asked[rows], labels[rows], weight[rows], self.method, self.classes_
            )

        self.calibration_ = fitted(np.arange(labels.size))
        self.cross_fitted_ = np.empty_like(outputs)
        fold = _folds(self.place_, labels)
        for number in np.unique(fold).tolist():
            held_out = fold == number
            self.cross_fitted_[held_out] = fitted(~held_out)(outputs[held_out], asked[held_out])

    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers."""
        return CalibratedPolicy(self.model_.policy(), self.calibration_)


def _folds(place: IntArray, labels: Array) -> IntArray:
    """Deal out the examples of one class at one place, so that of two each training part has one."""
    fold = np.empty(place.size, dtype=np.int64)
    for number in np.unique(place).tolist():
        for label in np.unique(labels).tolist():
            here = np.flatnonzero((place == number) & (labels == label))
            fold[here] = np.arange(here.size) % N_FOLDS
    return fold


def calibrated(
    model: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    method: str = "sigmoid",
    min_samples: int = 100,
    sample_weight: npt.ArrayLike | None = None,
) -> Any:
    """Calibrate a fitted classifier, or a fitted `BudgetedPipeline` of one, on examples that it has not seen.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetedPipeline
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
    method, min_samples
        See `CalibratedClassifier`.
    sample_weight : array, shape (n_samples,), optional

    Returns
    -------
    CalibratedClassifier or BudgetedPipeline
        With costs, sessions and other budgets as before; the model stays as it is.
    """
    if isinstance(model, BudgetedPipeline):
        options: dict[str, Any] = {"method": method, "min_samples": min_samples, "sample_weight": sample_weight}
        return model._with_estimator(calibrated(model.estimator_, model._transformed(X), y, **options))
    calibrator = CalibratedClassifier(FrozenEstimator(model), method=method, min_samples=min_samples)
    return calibrator.fit(X, y, sample_weight=sample_weight)
