"""The full model f0: any classifier; its class probabilities, what it loses on examples, and how it buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, check_random_state

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_line, places_in
from ipforest.adaptive.gated_policy import AllAtOnce
from ipforest.ensemble.libraries import read
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.checks import check_estimator
from ipforest.estimator.held_out import folds_of_groups
from ipforest.policy import Policy, TreesInOrder

MIN_PROBABILITY = 1e-3
"""A forest that gives the true class no vote is not infinitely wrong."""


def check_full_model(estimator: Any) -> None:
    """Require a classifier that says how sure it is."""
    check_estimator(estimator, "estimator")
    if not is_classifier(estimator):
        raise TypeError(f"estimator: expected a classifier, got {type(estimator).__name__}")
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        raise TypeError(
            f"estimator: expected predict_proba or decision_function, got {type(estimator).__name__} without; "
            "wrap it in sklearn.calibration.CalibratedClassifierCV"
        )


def require_scores_of_classes(estimator: Any) -> None:
    """Require of a decision function, among more than two classes, that it scores classes, not pairs of them."""
    if not hasattr(estimator, "predict_proba") and "ovo" in map(str, estimator.get_params().values()):
        raise ValueError(
            "estimator: expected decision_function_shape='ovr', which scores each class, got 'ovo', which scores pairs"
        )


def class_probabilities(model: Any, X: npt.ArrayLike) -> FloatArray:
    """Return the probability of each class; decision functions are taken for log-odds, as the paper takes f0(x).

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)
    """
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        above = expit(scores)
        return np.column_stack([1 - above, above])
    return np.asarray(softmax(scores, axis=1))


def log_losses(probabilities: FloatArray, labels: IntArray) -> FloatArray:
    """Compute minus the log-probability of the true class, shape (n_samples,)."""
    return np.asarray(-np.log(np.maximum(probabilities[np.arange(labels.size), labels], MIN_PROBABILITY)))


def cross_fitted(
    model: Any, X: npt.ArrayLike, y: Array, n_folds: int, random_state: Any, groups: Array | None = None
) -> FloatArray:
    """Return class probabilities of examples by models that were not trained on them.

    Parameters
    ----------
    model : fitted classifier
        Trained on all of X; its clones are trained on all folds but one. Its own answers stand for the only example of
        a class, without groups.
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
    n_folds : int
    random_state : int, RandomState instance or None
    groups : ndarray, shape (n_samples,), optional
        Examples of one group are in one fold.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)
        In the order of the model's classes.

    Raises
    ------
    ValueError
        The model cannot be trained, or cannot predict, on the examples of a fold: neighbours may be too few; or there
        is one group only.
    """
    random = check_random_state(random_state)
    fold = _folds(y, n_folds, random) if groups is None else folds_of_groups(y, groups, n_folds, random, classify=True)
    probabilities = np.zeros((y.size, model.classes_.size))
    alone = np.flatnonzero(fold < 0)
    if alone.size:
        probabilities[alone] = class_probabilities(model, _safe_indexing(X, alone))
    for number in np.unique(fold[fold >= 0]):
        others, here = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        try:
            trained = clone(model).fit(_safe_indexing(X, others), y[others])
            found = class_probabilities(trained, _safe_indexing(X, here))
        except ValueError as problem:
            raise ValueError(
                f"estimator: expected a model that can be trained on {others.size} of the {y.size} training rows, as "
                f"cross-fitting does, got: {one_line(problem)}; search.n_folds=1 trains it on all rows only"
            ) from problem
        probabilities[np.ix_(here, places_in(model.classes_, trained.classes_))] = found
    return probabilities


def _folds(y: Array, n_folds: int, random: np.random.RandomState) -> IntArray:
    """Deal the examples of each class out to folds; the only one of a class gets none, -1."""
    fold = np.full(y.size, -1)
    for label in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == label))
        if rows.size > 1:
            fold[rows] = np.arange(rows.size) % n_folds
    return fold


def full_policy(model: Any) -> Policy:
    """Say how the full model buys.

    An estimator of this package buys by its own policy, trees test by test, any other classifier all features at once.
    """
    if isinstance(model, BudgetedEstimator):
        return model.policy()
    try:
        return TreesInOrder(read(model))
    except TypeError:
        return AllAtOnce(model, class_probabilities)
