"""What the estimators made of trees of linear classifiers share: data, prices, policy, and the choice by budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.utils import ClassifierTags, RegressorTags, compute_class_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_blas_thread
from ipforest._internal.examples import Labelled
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.class_costs import label_losses
from ipforest.choosing.frontier import Frontier
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.feature_map import FeatureMap, ScaledFeatures
from ipforest.classifier_trees.ranking import ndcg_at
from ipforest.classifier_trees.resources import Resources
from ipforest.classifier_trees.smooth_losses import LOSSES
from ipforest.classifier_trees.tree_policy import TreeOfClassifiers
from ipforest.estimator import PricedEstimator
from ipforest.estimator.checks import check_choice, check_not_negative
from ipforest.estimator.given import Given, seeded
from ipforest.estimator.whole_fits import whole_or_none
from ipforest.policy import Policy

RANKS_COUNTED = 5
"""Rankings are judged by their first so many documents."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Examples as the learners see them.

    Parameters
    ----------
    phi : ndarray of float64, shape (n_samples, n_weights)
    target : ndarray of float64, shape (n_samples,)
        Labels -1 and 1, or the target scaled to mean 0.
    qid : ndarray of int, shape (n_samples,), or None
    class_costs : ndarray of float64, shape (2, 2), optional
        What mistakes cost.
    offset : float
        By how much the weights of labels in training move the scores; see `probabilities`.
    """

    phi: FloatArray
    target: FloatArray
    qid: IntArray | None
    class_costs: FloatArray | None = None
    offset: float = 0.0

    def badness(self, scores: FloatArray, *, classify: bool) -> float:
        """Measure what a tree answers: error rate, what mistakes cost, mean squared error, or, by query, 1 - NDCG@5."""
        if self.qid is not None:
            relevance = self.target > 0 if classify else self.target - self.target.min()
            return 1 - ndcg_at(relevance, scores, self.qid, RANKS_COUNTED)
        if self.class_costs is not None:
            outputs, labels = probabilities(scores, self.offset), (self.target > 0).astype(np.int64)
            return float(label_losses(outputs, labels, np.arange(2), self.class_costs).mean())
        if classify:
            return float(np.mean((scores > 0) != (self.target > 0)))
        return float(np.mean((scores - self.target) ** 2))


def probabilities(scores: FloatArray, offset: float) -> FloatArray:
    """Turn scores into class probabilities, shape (n_samples, 2).

    Parameters
    ----------
    scores : ndarray of float64, shape (n_samples,)
        Log odds of the second class where labels have weights.
    offset : float
        Logarithm of the ratio of these weights, which is taken off.
    """
    above = expit(scores - offset)
    return np.column_stack([1 - above, above])


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTree:
    """One tree of classifiers with what it is worth on validation data.

    Parameters
    ----------
    tree : ClassifierTree
    lam : float
        The tradeoff that it was trained for.
    badness, cost : float
        See `Examples.badness`; average cost.
    """

    tree: ClassifierTree
    lam: float
    badness: float
    cost: float


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierTreeEstimator(PricedEstimator):
    """Base of CSTC, CSCC, Cronus, ASTC and their relatives.

    Attributes
    ----------
    candidates_ : list of MeasuredTree
        One per tradeoff, the last of them free of cost.
    tree_ : ClassifierTree
        The one that predicts.
    feature_map_ : FeatureMap
    classes_ : ndarray, shape (2,)
        With logistic loss.
    """

    takes_missing = True
    trains_with_weights = False
    _dtype = np.float64

    split_cost: Any = 0

    loss: str = field(init=False)
    feature_map: Any = field(init=False)

    @abstractmethod
    def _learn(self, training: Examples, validation: Examples) -> Sequence[tuple[float, ClassifierTree]]:
        """Learn one tree per tradeoff."""

    @whole_or_none
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, qid: npt.ArrayLike | None = None, groups: npt.ArrayLike | None = None
    ) -> Self:
        """Learn trees of classifiers for a range of tradeoffs and take one.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        qid : array, shape (n_samples,), optional
            Query of each document, for ranking: then whole queries are held out, and trees are judged by NDCG@5, which
            takes no class costs.
        groups : array, shape (n_samples,), optional
            Examples of one group, such as those of one patient, are all trained on or all held out; by default those of
            a query.

        Raises
        ------
        TypeError, ValueError
            Bad parameters, prices or examples.
        """
        if qid is not None and self.class_costs is not None:
            raise ValueError("class_costs: expected none for ranking by query, got a value")
        check_consistent_length(qid, None if qid is None else X)
        return self._fit(X, y, groups=qid if groups is None else groups, qid=qid)

    def _train(
        self,
        training: Labelled,
        validation: Labelled,
        given: Given,
        *,
        qid: npt.ArrayLike | None = None,
        **options: Any,
    ) -> Frontier:
        query = None if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1].astype(np.int64)
        self.feature_map_ = self._make_feature_map().fit(training.X, training.y)
        self.resources_ = Resources.of_weights(
            self.costs_,
            self.feature_map_.feature_of_weight_,
            float(self.split_cost_),
            getattr(self.feature_map_, "evaluation_cost_", None),
        )
        parts = [
            Examples(
                self.feature_map_.transform(part.X),
                part.y,
                None if query is None else query[rows],
                self.class_costs_,
                self._offset,
            )
            for part, rows in ((training, given.rows), (validation, given.held_out))
        ]
        self.prior_ = self._constant(training.y) + self._offset
        free = ClassifierTree.single(np.zeros(parts[0].phi.shape[1]), self.prior_)
        with one_blas_thread():
            found = [*self._learn(*parts), (np.inf, free)]
        self.candidates_ = [self._judged(lam, tree, parts[1]) for lam, tree in found]
        return Frontier.of_points((each.cost, each.badness) for each in self.candidates_)

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        check_choice(self.loss, "loss", LOSSES)
        super().check_parameters()
        self.split_cost_ = nonnegative_fraction(self.split_cost, "split_cost")

    def _make_feature_map(self) -> FeatureMap:
        return ScaledFeatures() if self.feature_map is None else seeded(self.feature_map, self.random_state)

    def _read(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Labelled:
        """Check X and y; code labels as -1 and 1, or scale the target."""
        data = super()._read(X, y, sample_weight)
        if not is_classifier(self):
            self.target_mean_, spread = float(np.mean(data.y)), float(np.std(data.y))
            self.target_scale_ = self._spread / spread if spread > 0 else 1.0
            target = (data.y - self.target_mean_) * self.target_scale_
            self.weight_of_target_ = self._weigh_targets(data.y, target)
        else:
            target = np.where(data.y == self.classes_[1], 1.0, -1.0)
        self.weight_of_label_ = self._weigh_labels(target)
        return data._replace(y=target)

    def _keep_held_out(self, examples: Labelled | None) -> None:
        """Keep held-out examples with the labels or targets that were given."""
        super()._keep_held_out(None if examples is None else examples._replace(y=self._as_given(examples.y)))

    def _as_given(self, target: FloatArray) -> Array:
        """Turn what `_read` made of labels or targets back."""
        if is_classifier(self):
            return cast("Array", self.classes_[(target > 0).astype(int)])
        return target / self.target_scale_ + self.target_mean_

    def _take_classes(self, labels: Array) -> None:
        super()._take_classes(labels)
        if is_classifier(self) and self.classes_.size > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}: expected two classes in y, got {self.classes_.size}"
            )

    def _weigh_labels(self, target: FloatArray) -> tuple[float, float]:
        """Return the weights of the labels -1 and 1: what mistakes cost, or scikit-learn's ``class_weight``."""
        if self.class_costs_ is not None and self.trains_with_weights:
            lost = (self.class_costs_ - np.diag(self.class_costs_)[:, None]).max(axis=1)
            shares = np.array([np.mean(target <= 0), np.mean(target > 0)])
            if (lost > 0).all():
                weights = lost / (shares @ lost)
                return float(weights[0]), float(weights[1])
            return 1.0, 1.0
        if self._class_weight is None or not is_classifier(self):
            return 1.0, 1.0
        labels = self.classes_[(target > 0).astype(int)]
        weights = weights_of(self._class_weight, self.classes_, labels)
        return float(weights[0]), float(weights[1])

    def _weigh_targets(self, target: FloatArray, scaled: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the scaled values of a target with squared loss and their weights, None where all weigh the same.

        "balanced" is for the two values of labels; a target of more values has the weights of a dict.
        """
        values = np.unique(target)
        if self._class_weight is None or (self._class_weight == "balanced" and values.size != 2):
            return None
        return np.unique(scaled), weights_of(self._class_weight, values, target)

    @property
    def _class_weight(self) -> Any:
        """Weights of the classes, as scikit-learn takes them; class costs come in their place."""
        return None

    @property
    def _offset(self) -> float:
        """By how much the weights of class costs move the log odds."""
        if self.class_costs_ is None or not self.trains_with_weights:
            return 0.0
        return float(np.log(self.weight_of_label_[1] / self.weight_of_label_[0]))

    def _weights(self, target: FloatArray) -> FloatArray:
        """Give each example the weight of its label, or of the value of its target."""
        if not is_classifier(self):
            if self.weight_of_target_ is None:
                return np.ones(target.size)
            values, weights = self.weight_of_target_
            return np.asarray(weights[np.searchsorted(values, target)])
        return np.where(target > 0, self.weight_of_label_[1], self.weight_of_label_[0])

    @property
    def _spread(self) -> float:
        """Standard deviation that the target is scaled to."""
        return 1.0

    def _constant(self, target: FloatArray) -> float:
        """Return the score that suits examples about which nothing is known."""
        mean = float(np.mean(target))
        return float(np.log1p(mean) - np.log1p(-mean)) if is_classifier(self) else mean

    def _judged(self, lam: float, tree: ClassifierTree, validation: Examples) -> MeasuredTree:
        _, scores, paid = self.resources_.outcome(tree, validation.phi)
        return MeasuredTree(tree, lam, validation.badness(scores, classify=is_classifier(self)), float(paid.mean()))

    def _choose(self) -> None:
        """Take the best candidate on validation data that costs no more than the budget there."""
        super()._choose()
        self.chosen_ = self.candidates_[self.choice_]
        self.tree_ = self.chosen_.tree

    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers, whatever becomes of this object."""
        prices = self.costs_.feature_prices
        return TreeOfClassifiers(self.tree_, self.feature_map_, prices, self.prior_, copy(self)._outputs)

    def _outputs(self, scores: FloatArray) -> FloatArray:
        """Turn scores into class probabilities, or into targets in their own unit."""
        if is_classifier(self):
            return probabilities(scores, self._offset)
        return self._as_given(scores)[:, None]

    def last_nodes(self, X: npt.ArrayLike) -> IntArray:
        """Find the node of ``tree_`` whose terminal element each example leaves by, shape (n_samples,)."""
        check_is_fitted(self)
        return self.tree_.route(self.feature_map_.transform(self._checked(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.loss == "logistic":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_class=False)
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        tags.target_tags.required = True
        return tags


def check_class_weight(class_weight: Any, name: str) -> None:
    """Require None, "balanced" or a finite weight of each class that is not below 0."""
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            check_not_negative(weight, f"{name} of {label!r}")
    elif class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(f"{name}: expected None, 'balanced' or a dict, got {class_weight!r}")


def weights_of(class_weight: Any, classes: Array, labels: Array) -> FloatArray:
    """Return what each class weighs, 1 where a dict leaves it out.

    Parameters
    ----------
    class_weight : dict or "balanced"
        As scikit-learn takes it, whose version 1.9 looks for "1" and 1.5 as 1 in a dict.
    classes : ndarray, shape (n_classes,)
    labels : ndarray, shape (n_samples,)

    Raises
    ------
    ValueError
        A dict leaves out a class and has others instead.
    """
    if not isinstance(class_weight, dict):
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=labels))
    known = classes.tolist()
    lacking, others = [each for each in known if each not in class_weight], [*class_weight.keys() - {*known}]
    if lacking and others:
        raise ValueError(f"class_weight: expected a weight of {lacking[0]!r}, got one of {others[0]!r} instead")
    return np.array([float(class_weight.get(each, 1.0)) for each in known])


def largest_lambda(gain: FloatArray, resources: Resources) -> float:
    """Return the lambda from which on neither one weight alone nor all in proportion to their gain pay.

    Parameters
    ----------
    gain : ndarray of float64, shape (n_weights,)
        Slope of the loss in each weight at 0.
    resources : Resources

    Returns
    -------
    float
        0 if nothing has a price.
    """
    price, slope = resources.needs @ resources.prices, np.abs(gain)
    alone = np.divide(slope, price, out=np.zeros_like(slope), where=price > 0).max()
    together = float(resources.prices @ np.sqrt(resources.squares(gain)[:, 0]))
    return float(max(alone, slope @ slope / together if together > 0 else 0.0))
