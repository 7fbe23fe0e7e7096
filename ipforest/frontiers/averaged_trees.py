"""AveragedTrees: a random forest and extremely randomised trees, or one of them, as the error out of bag favours."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.examples import checked_weight, validated
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.packed_forests import ForestsAtRest
from ipforest.estimator.checks import check_integer
from ipforest.estimator.held_out import classes_of
from ipforest.frontiers.tasks import Task, task_of

T = TypeVar("T")

LEAF_SIZES = (1, 3, 10)
"""Fewest examples per leaf that are tried: the more noise in the labels, the larger the best leaves."""

MANY_FEATURES = 0.5
"""Share of the features that splits may choose from: their square root is too few where many tell nothing."""

BETTER_ALONE = 0.95
"""One kind is left out where the Brier score without it is so much smaller; with few examples less may be chance."""


class MeanOfForests(BaseEstimator):
    """Base of `AveragedTrees` and `AveragedTreesRegressor`."""

    def __init__(
        self, n_estimators: int = 100, *, min_samples_leaf: Sequence[int] = LEAF_SIZES, random_state: Any = None
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train both ensembles on the same examples.

        Parameters
        ----------
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
            Missing values are NaN.
        sample_weight : array, shape (n_samples,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            No sizes of leaves, bad numbers, bad examples, or, of classes, fewer than two.
        """
        check_integer(self.n_estimators, "n_estimators", 1)
        if len(self.min_samples_leaf) == 0:
            raise ValueError("min_samples_leaf: expected at least one size, got none")
        for size in self.min_samples_leaf:
            check_integer(size, "min_samples_leaf", 1)
        examples, targets = validated(
            self, X, y, dtype=np.float32, ensure_all_finite="allow-nan", y_numeric=not is_classifier(self)
        )
        if is_classifier(self):
            self.classes_ = classes_of(targets)
        task = task_of(self, targets)
        weight = checked_weight(sample_weight, X, examples)
        seed = int(check_random_state(self.random_state).randint(2**31))
        forest, extremely_random = (
            best_out_of_bag(
                kind(self.n_estimators, random_state=seed), self.min_samples_leaf, examples, targets, weight
            )
            for kind in task.forests
        )
        both = (forest, extremely_random)
        encoded = task.encoded(targets)
        answers = [task.out_of_bag(each, encoded) for each in both]
        chosen = more_accurate_kinds(both, answers, encoded, weight, task)
        return self._take_trees(
            [Forest.from_sklearn(each) for each in chosen],
            [each.min_samples_leaf for each in chosen],
            [each.max_features for each in chosen],
        )

    def _take_trees(
        self, ensembles: Sequence[Forest], min_samples_leaf: Sequence[int], max_features: Sequence[str | float]
    ) -> Self:
        """Become what averages trees that were grown elsewhere.

        Parameters
        ----------
        ensembles : sequence of Forest
            Of the same features and classes.
        min_samples_leaf, max_features : sequences
            How each of them was grown.

        Returns
        -------
        self
        """
        self.ensembles_: Sequence[Forest] = tuple(ensembles)
        self.min_samples_leaf_ = tuple(min_samples_leaf)
        self.max_features_ = tuple(max_features)
        self.n_features_in_ = ensembles[0].n_features
        if ensembles[0].classes is not None:
            self.classes_ = np.asarray(ensembles[0].classes)
        return self

    def rest(self) -> Self:
        """Pack the trees, if they are many, until they are asked for; they answer the same.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if isinstance(self.ensembles_, ForestsAtRest):
            self.ensembles_.rest()
        else:
            self.ensembles_ = ForestsAtRest.of(self.ensembles_)
        return self

    def mean_answers(self, examples: Array) -> FloatArray:
        """Average what the trees answer, class probabilities or a target, without the checks of `predict`.

        Parameters
        ----------
        examples : ndarray of float, shape (n_samples, n_features)
            NaN is a missing value.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes) or (n_samples, 1)

        Raises
        ------
        ValueError
            Another number of features, or values that float32 does not hold.
        """
        with np.errstate(over="ignore"):
            compared = np.ascontiguousarray(examples, dtype=np.float32)
        if compared.shape[1:] != (self.n_features_in_,):
            raise ValueError(f"X: expected {self.n_features_in_} features, got shape {compared.shape}")
        if np.isinf(compared).any():
            raise ValueError("X: expected finite float32 values or NaN, got an infinite or too large one")
        first, *others = (trees.mean_value(compared) for trees in self.ensembles_)
        return sum(others, start=first) / len(self.ensembles_)

    def _averaged(self, X: npt.ArrayLike) -> FloatArray:
        check_is_fitted(self)
        return self.mean_answers(validated(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class AveragedTrees(ClassifierMixin, MeanOfForests):
    """Classify by the mean of the class probabilities of a random forest and of extremely randomised trees.

    Ensembles of different kinds have different errors, so their mean is usually better than each; where one by itself
    is clearly better, the other is left out. The leaves of each are as large as helps: on few features, or where labels
    are noisy, deep trees learn the noise. Both are judged by the Brier score of the examples out of bag. Splits choose
    from the square root of the number of features or, where few of these tell anything, from half, as the softened
    error out of bag favours (`ipforest.frontiers.scores.soft_error`). The trees are kept as arrays (`Forest`), so the
    file of a cascade that has such a model at each stage stays small.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees of each kind.
    min_samples_leaf : sequence of int, default=(1, 3, 10)
        Fewest examples per leaf, ascending. They are tried in turn until the Brier score out of bag rises.
    random_state : int, RandomState instance or None, default=None
        Draws bootstrap samples, features and thresholds.

    Attributes
    ----------
    ensembles_ : sequence of Forest
        The random forest, the extremely randomised trees, or both.
    min_samples_leaf_ : tuple of int
        Fewest examples per leaf of each of them.
    max_features_ : tuple of "sqrt" or float
        What the splits of each of them choose from: the square root of the number of features, or a share of them.
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ipforest.frontiers import AveragedTrees
    >>> X, y = load_iris(return_X_y=True)
    >>> AveragedTrees(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Average the class probabilities, shape (n_samples, n_classes)."""
        return self._averaged(X)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Predict the class of largest probability, the first of equals, for each example."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probability, axis=1)])


class AveragedTreesRegressor(RegressorMixin, MeanOfForests):
    """Predict a number by the mean of a random forest and of extremely randomised trees; see `AveragedTrees`.

    What helps is judged by the squared error out of bag.

    Parameters
    ----------
    n_estimators, min_samples_leaf, random_state
        See `AveragedTrees`.

    Attributes
    ----------
    ensembles_, min_samples_leaf_, max_features_, n_features_in_
        See `AveragedTrees`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ipforest.frontiers import AveragedTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AveragedTreesRegressor(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.3
    True
    """

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Average what the trees predict, shape (n_samples,)."""
        return self._averaged(X)[:, 0]


def more_accurate_kinds(
    both: Sequence[T], answers: Sequence[FloatArray], encoded: Array, weight: FloatArray, task: Task
) -> tuple[T, ...]:
    """Take both kinds of trees, or one of them where its score out of bag is clearly smaller without the other.

    Parameters
    ----------
    both : sequence of two objects
    answers : sequence of two ndarrays of float64, shape (n_samples, n_outputs)
        Those of each out of bag.
    encoded : ndarray, shape (n_samples,)
        Targets as the task encodes them.
    weight : ndarray of float64, shape (n_samples,)
    task : Task
    """
    errors = [task.score(each, encoded, weight) for each in answers]
    better = int(np.argmin(errors))
    if errors[better] < BETTER_ALONE * task.score(np.mean(answers, axis=0), encoded, weight):
        return (both[better],)
    return tuple(both)


def best_out_of_bag(forest: Any, leaf_sizes: Sequence[int], X: Array, y: Array, weight: Array) -> Any:
    """Train a forest with the leaves that are best out of bag, then with more features to choose splits from.

    Parameters
    ----------
    forest, leaf_sizes, X, y, weight
        See `with_best_leaves`.

    Returns
    -------
    fitted estimator
        Of the two the one of smaller `Task.losses` out of bag: averaged trees that choose from few features are less
        sure, but may be right as often, and the Brier score by itself would prefer the others.
    """
    few = with_best_leaves(clone(forest).set_params(max_features="sqrt"), leaf_sizes, X, y, weight)
    if int(np.sqrt(X.shape[1])) == max(1, int(MANY_FEATURES * X.shape[1])):
        return few
    many = _grown(few, X, y, weight, max_features=MANY_FEATURES)
    task = task_of(forest, y)
    encoded = task.encoded(y)

    def error(fitted: Any) -> float:
        return float(np.average(task.losses(task.out_of_bag(fitted, encoded), encoded, y.size), weights=weight))

    return min(few, many, key=error)


def with_best_leaves(
    forest: Any,
    leaf_sizes: Sequence[int],
    X: Array,
    y: Array,
    weight: Array | None = None,
) -> Any:
    """Train a forest with larger and larger leaves until its score out of bag rises.

    Parameters
    ----------
    forest : random forest or extremely randomised trees of scikit-learn
        Not fitted; its trees are grown on bootstrap samples.
    leaf_sizes : sequence of int
        Fewest examples per leaf, ascending.
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
    weight : array, shape (n_samples,), optional

    Returns
    -------
    fitted estimator
        The last before it does.
    """
    task = task_of(forest, y)
    encoded = task.encoded(y)
    grown = (_grown(forest, X, y, weight, min_samples_leaf=size) for size in leaf_sizes)
    tried = ((task.score(task.out_of_bag(fitted, encoded), encoded, weight), fitted) for fitted in grown)
    return last_before_rise(tried)[1]


def _grown(forest: Any, X: Array, y: Array, weight: Array | None, **settings: Any) -> Any:
    """Train a copy of a forest with other settings on bootstrap samples, and have it predict out of bag."""
    fitted = clone(forest).set_params(bootstrap=True, oob_score=True, **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        return fitted.fit(X, y, weight)


def last_before_rise(tried: Iterable[tuple[float, T]]) -> tuple[float, T]:
    """Take what is tried last before the error rises; what would come after that is not tried.

    Of equals it is the later one: larger leaves that do no worse make smaller trees.

    Parameters
    ----------
    tried : iterable of (float, object)
        Errors, not all infinite, and what has them.
    """
    best: tuple[float, Any] = (inf, None)
    for candidate in tried:
        if candidate[0] > best[0]:
            break
        best = candidate
    return best
