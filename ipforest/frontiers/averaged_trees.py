"""AveragedTrees: a random forest and extremely randomised trees, or one of them, as the error out of bag favours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, FloatArray, rounding
from ipforest._internal.examples import checked_weight, require_held, validated
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.packed_forests import ForestsAtRest
from ipforest.estimator.checks import check_integer
from ipforest.estimator.held_out import classes_of
from ipforest.frontiers.tasks import Task, task_of
from ipforest.growing import Grower, Impurity

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
        task, weight = task_of(self, targets), checked_weight(sample_weight, X, examples)
        seed = int(check_random_state(self.random_state).randint(2**31))
        judge = OutOfBag(task, task.encoded(targets), weight)

        def grow(settings: TreeSettings) -> Grown:
            forest = task.forests[settings.one_random_cut](self.n_estimators, random_state=seed)
            told = {"min_samples_leaf": settings.min_samples_leaf, "max_features": settings.max_features}
            fitted = bagged_forest(forest, examples, targets, weight, **told)
            return Grown(settings, fitted, task.out_of_bag(fitted, judge.encoded))

        chosen = judge.best_kinds(grow, self.min_samples_leaf, examples.shape[1])
        forests = [Forest.from_sklearn(each.trees) for each in chosen]
        return self._take_trees(forests, [each.settings for each in chosen])

    def _take_trees(self, ensembles: Sequence[Forest], settings: Sequence[TreeSettings]) -> Self:
        """Become what averages trees of the same features and classes that were grown by such settings."""
        self.ensembles_: Sequence[Forest] = ForestsAtRest(tuple(ensembles))
        self.min_samples_leaf_ = tuple(each.min_samples_leaf for each in settings)
        self.max_features_ = tuple(each.max_features for each in settings)
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
        if not isinstance(self.ensembles_, ForestsAtRest):
            self.ensembles_ = ForestsAtRest(self.ensembles_)
        self.ensembles_.rest()
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
        with rounding():
            compared = np.ascontiguousarray(examples, dtype=np.float32)
        if compared.shape[1:] != (self.n_features_in_,):
            raise ValueError(f"X: expected {self.n_features_in_} features, got shape {compared.shape}")
        require_held(compared, np.float32, "X", range(self.n_features_in_))
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


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """How the trees of one kind are grown.

    Parameters
    ----------
    one_random_cut : bool
        Of extremely randomised trees; else those of a random forest.
    min_samples_leaf : int
    max_features : "sqrt" or float
        What splits choose from: the square root of the number of features, or a share of them.
    """

    one_random_cut: bool
    min_samples_leaf: int
    max_features: str | float = "sqrt"

    def grower(self, n_features: int, impurity: Impurity) -> Grower:
        """Return what grows such trees on so many features."""
        n_tried = np.sqrt(n_features) if self.max_features == "sqrt" else float(self.max_features) * n_features
        return Grower(
            impurity,
            min_samples_leaf=self.min_samples_leaf,
            max_features=max(1, int(n_tried)),
            one_random_cut=self.one_random_cut,
            price_weight=0.0,
        )


class Grown(NamedTuple):
    """Trees, how they were grown, and their answers on the examples that each was not grown on."""

    settings: TreeSettings
    trees: Any
    answers: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class OutOfBag:
    """Chooses how trees are grown by what they answer out of bag.

    Parameters
    ----------
    task : Task
    encoded : ndarray, shape (n_samples,)
        Targets as the task encodes them.
    weight : ndarray of float64, shape (n_samples,)
    """

    task: Task
    encoded: Array
    weight: FloatArray

    def best_kinds(
        self, grow: Callable[[TreeSettings], Grown], leaf_sizes: Sequence[int], n_features: int
    ) -> Sequence[Grown]:
        """Grow both kinds of trees, and take them, or one where its score is clearly smaller without the other."""
        kinds = [self._best_of_kind(grow, one_random_cut, leaf_sizes, n_features) for one_random_cut in (False, True)]
        errors = [self._score(each.answers) for each in kinds]
        better = int(np.argmin(errors))
        if errors[better] < BETTER_ALONE * self._score(np.mean([each.answers for each in kinds], axis=0)):
            return [kinds[better]]
        return kinds

    def _best_of_kind(
        self, grow: Callable[[TreeSettings], Grown], one_random_cut: bool, leaf_sizes: Sequence[int], n_features: int
    ) -> Grown:
        """Try larger and larger leaves, then more features to choose splits from.

        Averaged trees that choose from few features are less sure, but may be right as often, and the Brier score by
        itself would prefer the others: so of the two those of smaller `Task.losses` are taken.
        """
        few = self.best_leaves(grow, one_random_cut, leaf_sizes)
        if int(np.sqrt(n_features)) == max(1, int(MANY_FEATURES * n_features)):
            return few
        return min(few, grow(replace(few.settings, max_features=MANY_FEATURES)), key=self._loss)

    def best_leaves(
        self, grow: Callable[[TreeSettings], Grown], one_random_cut: bool, leaf_sizes: Sequence[int]
    ) -> Grown:
        """Grow trees with larger and larger leaves until their score rises; take the last before it does."""
        tried = (grow(TreeSettings(one_random_cut, size)) for size in leaf_sizes)
        return last_before_rise((self._score(each.answers), each) for each in tried)[1]

    def _score(self, answers: FloatArray) -> float:
        return self.task.score(answers, self.encoded, self.weight)

    def _loss(self, grown: Grown) -> float:
        losses = self.task.losses(grown.answers, self.encoded, self.encoded.size)
        return float(np.average(losses, weights=self.weight))


def bagged_forest(forest: Any, X: Array, y: Array, weight: Array | None = None, **settings: Any) -> Any:
    """Train a copy of a forest of scikit-learn with other settings on bootstrap samples, and predict out of bag."""
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
