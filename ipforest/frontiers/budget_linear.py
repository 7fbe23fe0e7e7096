"""BudgetLinear: a cascade of linear models on the first units of an order that the models themselves find."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.exceptions import ConvergenceWarning

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_blas_thread
from ipforest._internal.examples import Labelled
from ipforest.ensemble.linear import NUMBER, LinearModel, margins_of
from ipforest.estimator.checks import check_positive
from ipforest.estimator.given import Given
from ipforest.estimator.kinds import Classifies, Regresses
from ipforest.frontiers.joint_frontier import JointFrontier, sample_rows
from ipforest.frontiers.tasks import Task
from ipforest.frontiers.work import Work
from ipforest.session import Unit
from ipforest.settings import checked
from ipforest.stopping.paths import StoppingRule
from ipforest.stopping.rules import check_stopping
from ipforest.stopping.stages import StagesInOrder, feature_sets, stage_sizes, stages_in_order
from ipforest.stopping.stopped import Member
from ipforest.stopping.unit_order import by_price

MOST_ROWS = 20_000
"""Linear models are trained on a sample of so many examples."""

MOST_UNITS = 500
"""The last stage has no more units than these."""

LEAST_MARKED = 5
"""Categories of fewer examples have no term of their own."""

SINGULAR, LARGEST = 1e-10, 1e300
"""Bounds of a penalty: a share of a term's squares, as terms may be copies of others, and what is no infinity."""


@dataclass(eq=False, repr=False)
class LinearCascades(JointFrontier):
    """Base of `BudgetLinear` and `BudgetLinearRegressor`, which differ in what they learn."""

    alpha: float = checked(1.0, check_positive)
    _: KW_ONLY
    stopping: Any = checked(None, check_stopping, or_empty=True)

    @property
    def _stopping(self) -> StoppingRule | Sequence[StoppingRule] | None:
        return cast("StoppingRule | Sequence[StoppingRule] | None", self.stopping)

    def _members(self, training: Labelled, validation: Labelled, given: Given, work: Work) -> Iterator[Member]:
        made = self._made(training.with_relative_weights(), validation, given.random, work)
        return work.through(made, 1, type(self).__name__)

    def _made(self, training: Labelled, validation: Labelled, random: Any, work: Work) -> Iterator[Member]:
        """Train linear models on more and more units, the next those that tell most per price of what is not told."""
        seller, task = self._seller().without_constant(training.X), self._task
        data = _Terms.of(_drawn(training, task, random), self.categories_.columns, task)
        free = [feature for unit in seller.free_units() for feature in unit.features]
        nothing, bought = np.empty(0, dtype=np.int64), [tuple[Unit, ...]()]
        with one_blas_thread():
            fitted = [data.fitted(nothing, self.alpha), *([data.fitted(np.array(free), self.alpha)] if free else [])]
            for size in stage_sizes(min(len(seller.paid_units()), MOST_UNITS)):
                work.check()
                worth = data.gains(fitted[-1], self.alpha, seller.first_unit, seller.costs.n_units)
                bought.append(by_price(seller, worth, bought[-1], size - len(bought[-1])))
                features = [*free, *(feature for unit in bought[-1] for feature in unit.features)]
                fitted.append(data.fitted(np.array(features), self.alpha))
        models = [each.model for each in fitted]
        stages = stages_in_order(models, feature_sets(bought[1:], seller))
        policy = StagesInOrder(stages, self.costs_, self.max_cost, class_costs=self.class_costs_)
        yield self._member_of_stages(policy, validation, self.stopping)


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetLinear(Classifies, LinearCascades):
    """Classify by logistic regressions on more and more features, each example stopped when that is sure enough.

    Where a few numbers, added up, tell the classes apart, trees take many steps to follow the line. Units are bought in
    one order: the next is the one whose terms would raise the likelihood most per price, by a bound from below that
    takes one gradient (Böhning and Lindsay 1988), given what the terms before tell. A number is one term, shifted and
    scaled, of which a missing one counts as the mean; each category with five examples or more is one. There are
    models of 1, 2, 3, ... units, and on validation examples it is learnt when to stop.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the squared weights of the terms against the sum of the examples' losses.
    stopping : StoppingRule or sequence of StoppingRule, optional
        As in `EarlyExit`; an empty sequence to stop no example.
    categorical_features, feature_costs, budget, max_cost, class_costs, scoring, validation_fraction
        See `ipforest.BudgetedClassifier`.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, and the examples to train on where there are more than 20,000.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_, classes_
        See `JointFrontier`.

    References
    ----------
    Böhning, Lindsay, "Monotonicity of quadratic-approximation algorithms", Ann. Inst. Statist. Math. 40 (1988).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest.frontiers import BudgetLinear
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetLinear(budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.95
    (True, True)
    """

    class_costs: Any = None


class BudgetLinearRegressor(Regresses, LinearCascades):
    """Predict a number by ridge regressions on more and more features; see `BudgetLinear`.

    The next unit is the one whose terms would lower the squared error most per price.

    Parameters
    ----------
    alpha, stopping, categorical_features, feature_costs, budget, max_cost, scoring, validation_fraction
        See `BudgetLinear`.
    random_state
        See `BudgetLinear`.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ipforest.frontiers import BudgetLinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BudgetLinearRegressor(budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.3
    (True, True)
    """


def _drawn(training: Labelled, task: Task, random: Any) -> Labelled:
    """Return the examples, or a sample of them and all of each class of which that has none."""
    rows = sample_rows(training.y.size, MOST_ROWS, random)
    if task.classes is not None and rows.size < training.y.size:
        lacking = ~np.isin(training.y, training.y[rows])
        rows = np.union1d(rows, np.flatnonzero(lacking))
    return training.rows(rows)


def _column(training: Labelled, feature: int) -> FloatArray:
    return np.asarray(training.X[:, feature], dtype=np.float64)


def _terms_of(x: FloatArray, weight: FloatArray, is_category: bool) -> list[tuple[float, float, float]]:
    """List the terms of a column: category, mean and spread, as in `LinearModel`."""
    known = (weight > 0) & ~np.isnan(x)
    if is_category:
        found, counts = np.unique(np.floor(x[known & (x >= 0)]), return_counts=True)
        return [(category, 0.0, 1.0) for category in found[counts >= LEAST_MARKED].tolist()]
    if not known.any() or np.ptp(x[known]) == 0:
        return []
    mean = np.average(x[known], weights=weight[known])
    return [(NUMBER, mean, np.sqrt(np.average(np.square(x[known] - mean), weights=weight[known])))]


def _values_of(x: FloatArray, category: float, mean: float, spread: float) -> FloatArray:
    """Compute a term of the examples, shape (n_samples,)."""
    if category == NUMBER:
        return np.asarray(np.nan_to_num((x - mean) / spread))
    return np.asarray((x >= category) & (x < category + 1), dtype=np.float64)


class _Fitted(NamedTuple):
    """A model, the places of its terms, and what it does not tell: by example and output, by how much it is wrong."""

    model: Any
    places: IntArray
    residual: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """Training examples as terms of linear models, shape (n_samples, n_terms); see `LinearModel`."""

    training: Labelled
    task: Task
    values: FloatArray
    feature: IntArray
    category: IntArray
    mean: FloatArray
    spread: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, training: Labelled, categories: Sequence[int], task: Task) -> Self:
        """Make a term of each number that is not always the same, and of each category that enough examples have."""
        terms = [
            (feature, *term)
            for feature in range(training.X.shape[1])
            for term in _terms_of(_column(training, feature), training.weight, feature in categories)
        ]
        values = np.empty((training.y.size, len(terms)))
        for place, (feature, *term) in enumerate(terms):
            values[:, place] = _values_of(_column(training, feature), *term)
        of, category, mean, spread = np.array(terms, dtype=np.float64).reshape(-1, 4).T
        numbers = of.astype(np.int64), category.astype(np.int64), mean, spread
        squares = np.square(values)
        squares *= training.weight[:, None]
        return cls(training, task, values, *numbers, squares.sum(axis=0))

    def fitted(self, features: IntArray, alpha: float) -> _Fitted:
        """Train a model on the terms of some features; a constant where there are none."""
        places = np.flatnonzero(np.isin(self.feature, features))
        values, (_, y, sample_weight) = self.values[:, places], self.training
        if places.size:
            trained = self.task.linear(alpha)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                trained.fit(values, y, sample_weight)
            numbers = self.category[places], self.mean[places], self.spread[places]
            place_of = {feature: place for place, feature in enumerate(features.tolist())}
            feature = np.array([place_of[each] for each in self.feature[places].tolist()])
            model = LinearModel(feature, *numbers, *margins_of(trained), features.size, narrow=True)
        else:
            trained = model = self.task.constant().fit(values, y, sample_weight)
        if self.task.classes is None:
            wrong = (y - trained.predict(values))[:, None]
        else:
            wrong = self.task.rows(self.task.encoded(y)) - trained.predict_proba(values)
        return _Fitted(model, places, sample_weight[:, None] * wrong)

    def gains(self, fitted: _Fitted, alpha: float, unit_of: Array, n_units: int) -> FloatArray:
        """Bound from below what the terms of each unit would raise the penalised likelihood by, shape (n_units,).

        Of the squared error it is what they would take off. The bound is the square of the gradient over the curvature
        that the terms of the model leave, which is at most so large whatever the weights are.

        Parameters
        ----------
        fitted : _Fitted
        alpha : float
        unit_of : ndarray of int, shape (n_features,)
            The unit that brings each feature; 0 is told for those of the model.
        n_units : int
        """
        smallest = SINGULAR * self.squares.max(initial=0)
        penalty = np.clip(alpha * self.task.penalty(fitted.residual.shape[1]), smallest, LARGEST)
        explained = self._products(fitted.places, slice(None))
        if fitted.places.size:
            factor, _ = cho_factor(explained[:, fitted.places] + penalty * np.eye(fitted.places.size), lower=True)
            explained = solve_triangular(factor, explained, lower=True)
        gradient, unit = self.values.T @ fitted.residual, unit_of[self.feature]
        left = np.maximum(self.squares - np.square(explained).sum(axis=0), 0) + penalty
        gains = np.bincount(unit, weights=np.square(gradient).sum(axis=1) / left, minlength=n_units)
        gains[unit[fitted.places]] = 0.0
        for several in np.flatnonzero((np.bincount(unit, minlength=n_units) > 1) & (gains > 0)):
            places = np.flatnonzero(unit == several)
            own = self._products(places, places) - explained[:, places].T @ explained[:, places]
            factor = cho_factor(own + penalty * np.eye(places.size))
            gains[several] = (gradient[places] * cho_solve(factor, gradient[places])).sum()
        return np.asarray(gains, dtype=np.float64)

    def _products(self, some: IntArray, others: Any) -> FloatArray:
        """Add up the products of some terms with others over the examples, shape (n_some, n_others)."""
        return np.asarray((self.values[:, some] * self.training.weight[:, None]).T @ self.values[:, others])
