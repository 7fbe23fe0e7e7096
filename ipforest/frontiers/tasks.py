"""What is learnt, classes or a number: how trees grow for it, what they answer, and by what they are judged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import TargetEncoder

from ipforest._internal.arrays import Array, FloatArray, places_in
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.scores import brier_score, soft_error
from ipforest.growing import Gini, Grower, GrownTree, GrownTrees, Impurity, Variance, forest_of
from ipforest.growing.lookahead import LookaheadGrower, moments
from ipforest.learners.forest_pruner import out_of_bag

MAX_STEPS = 300
"""Of the search for the weights of a logistic regression."""

__all__ = ["Classification", "Regression", "Task", "task_of"]


class Task(ABC):
    """What is learnt: `Classification` or `Regression`.

    Targets are *encoded*: numbers of classes, or floats. What models answer has a column for each class, or one.
    """

    impurity: Impurity
    """What splits lower."""

    criterion: str
    """The same by scikit-learn's name."""

    classes: Array | None
    """Class labels; None for regression."""

    gain: float
    """What a grower gains where the mean squared distance from the mean falls by 1."""

    constant: type[Any]
    """What looks at no feature."""

    encodes: str
    """The kind of the targets, as scikit-learn's ``TargetEncoder`` names it."""

    forests: tuple[type[Any], type[Any]]
    """Scikit-learn's random forest and extremely randomised trees."""

    @abstractmethod
    def encoded(self, y: Array) -> Array:
        """Encode targets, shape (n_samples,)."""

    @abstractmethod
    def rows(self, encoded: Array) -> FloatArray:
        """Write targets as rows of numbers, shape (n_samples, n_outputs): indicators, or distances from the middle."""

    @abstractmethod
    def growing(self, grower: Grower) -> Callable[..., GrownTrees]:
        """Return what grows trees one after another from encoded targets; see `Grower.grow_classifiers`."""

    @abstractmethod
    def looking_ahead(self, grower: LookaheadGrower) -> Callable[..., GrownTree]:
        """Return what grows a tree with lookahead from encoded targets; see `LookaheadGrower.grow`."""

    @abstractmethod
    def score(self, outputs: FloatArray, encoded: Array, weight: FloatArray | None) -> float:
        """Average the squared distance of answers from what is true: the Brier score, or the mean squared error."""

    @abstractmethod
    def losses(self, outputs: FloatArray, encoded: Array, n_choosing: int) -> FloatArray:
        """Compute what each answer loses, where choices are made on so many examples, shape (n_samples,)."""

    @abstractmethod
    def out_of_bag(self, fitted: Any, encoded: Array) -> FloatArray:
        """Return what a forest of scikit-learn answers out of bag, shape (n_samples, n_outputs)."""

    @abstractmethod
    def has_all(self, encoded: Array) -> bool:
        """Return whether there are examples of each class."""

    @abstractmethod
    def linear(self, alpha: float) -> LogisticRegression | Ridge:
        """Return a linear model whose squared weights are weighed by alpha, not trained."""

    @abstractmethod
    def penalty(self, n_outputs: int) -> float:
        """Return what alpha adds to the curvature of a linear model, where a term's own is at most its variance."""

    def encoder(self) -> TargetEncoder:
        """Return what puts mean targets, or class shares, in place of categories, as arrays whatever is configured."""
        return TargetEncoder(target_type=self.encodes).set_output(transform="default")

    def forest(self, trees: Sequence[GrownTree], n_features: int) -> Forest:
        """Average trees."""
        return forest_of(trees, n_features, self.classes, self.criterion)

    def moments(self, encoded: Array, weight: FloatArray) -> FloatArray:
        """Weigh targets; see `ipforest.growing.lookahead.moments`."""
        return moments(self.rows(encoded), weight)

    def spread(self, encoded: Array, weight: FloatArray) -> float:
        """Compute what a grower gains per example at most: by leaves in which all targets are equal."""
        rows = self.rows(encoded)
        squares = np.square(rows - np.average(rows, axis=0, weights=weight)).sum(axis=1)
        return float(np.average(squares, weights=weight)) * self.gain


@dataclass(frozen=True, slots=True, eq=False)
class Classification(Task):
    """Classes: trees give their shares.

    Parameters
    ----------
    classes : ndarray, shape (n_classes,)
        Sorted.
    """

    classes: Array
    impurity = Gini()
    criterion = "gini"
    gain = 1.0
    constant = DummyClassifier
    encodes = "auto"
    forests = RandomForestClassifier, ExtraTreesClassifier

    def encoded(self, y: Array) -> Array:
        """Return the numbers of the classes."""
        return places_in(self.classes, y)

    def rows(self, encoded: Array) -> FloatArray:
        """Mark the class of each example."""
        return np.eye(len(self.classes))[encoded]

    def growing(self, grower: Grower) -> Callable[..., GrownTrees]:
        """Return what grows trees of class shares."""
        return partial(grower.grow_classifiers, n_classes=len(self.classes))

    def looking_ahead(self, grower: LookaheadGrower) -> Callable[..., GrownTree]:
        """Return what grows a tree of class shares."""
        return partial(grower.grow, n_classes=len(self.classes))

    def score(self, outputs: FloatArray, encoded: Array, weight: FloatArray | None) -> float:
        """Compute the Brier score."""
        return brier_score(outputs, encoded, weight)

    def losses(self, outputs: FloatArray, encoded: Array, n_choosing: int) -> FloatArray:
        """Compute softened errors."""
        return soft_error(outputs, encoded, np.arange(len(self.classes)), n_choosing)

    def linear(self, alpha: float) -> LogisticRegression:
        """Return a logistic regression."""
        return LogisticRegression(C=1 / alpha, max_iter=MAX_STEPS)

    def penalty(self, n_outputs: int) -> float:
        """Return 1 over the bound of the curvature: 1 / 4 of the variance, or, of more than two classes, 1 / 2."""
        return 4.0 if n_outputs == 2 else 2.0

    def out_of_bag(self, fitted: Any, encoded: Array) -> FloatArray:
        """Return the shares out of bag."""
        return np.asarray(fitted.oob_decision_function_)

    def has_all(self, encoded: Array) -> bool:
        """Return whether there are examples of each class."""
        return bool(np.bincount(encoded, minlength=len(self.classes)).all())


@dataclass(frozen=True, slots=True, eq=False)
class Regression(Task):
    """A number: trees give its mean."""

    classes = None
    impurity = Variance()
    criterion = "squared_error"
    gain = 0.5
    constant = DummyRegressor
    encodes = "continuous"
    forests = RandomForestRegressor, ExtraTreesRegressor

    def encoded(self, y: Array) -> Array:
        """Return the targets."""
        return np.asarray(y, dtype=np.float64)

    def rows(self, encoded: Array) -> FloatArray:
        """Return the targets, less their mean, as a column."""
        return np.asarray(encoded - encoded.mean(), dtype=np.float64)[:, None]

    def growing(self, grower: Grower) -> Callable[..., GrownTrees]:
        """Return what grows trees of means."""
        return grower.grow_many_means

    def looking_ahead(self, grower: LookaheadGrower) -> Callable[..., GrownTree]:
        """Return what grows a tree of means."""
        return grower.grow_means

    def score(self, outputs: FloatArray, encoded: Array, weight: FloatArray | None) -> float:
        """Compute the mean squared error."""
        return float(np.average(self.losses(outputs, encoded, 0), weights=weight))

    def losses(self, outputs: FloatArray, encoded: Array, n_choosing: int) -> FloatArray:
        """Compute squared errors."""
        return np.asarray(np.square(outputs[:, 0] - encoded))

    def linear(self, alpha: float) -> Ridge:
        """Return a ridge regression."""
        return Ridge(alpha)

    def penalty(self, n_outputs: int) -> float:
        """Return 1: the curvature is the variance."""
        return 1.0

    def out_of_bag(self, fitted: Any, encoded: Array) -> FloatArray:
        """Return the means out of bag, that of all targets where there are none."""
        unseen = out_of_bag(fitted, encoded.size).any(axis=1)
        return np.asarray(np.where(unseen, fitted.oob_prediction_, encoded.mean()))[:, None]

    def has_all(self, encoded: Array) -> bool:
        """Return true: there are no classes."""
        return True


def task_of(estimator: Any, y: Array) -> Task:
    """Return what an estimator learns from targets."""
    return Classification(np.unique(y)) if is_classifier(estimator) else Regression()
