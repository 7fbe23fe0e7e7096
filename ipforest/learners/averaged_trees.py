"""AveragedTrees: tree ensembles of several kinds whose class probabilities are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from ipforest._arrays import Array, FloatArray
from ipforest.base import classes_of
from ipforest.ensemble.libraries import read


class AveragedTrees(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Classify by the mean of the class probabilities of several tree ensembles.

    Ensembles of different kinds err differently, so their mean is mostly better than each. Unlike scikit-learn's
    ``VotingClassifier`` it keeps the trees as arrays (`ipforest.ensemble.read`), so the file of a cascade that has one
    at each stage stays small.

    Parameters
    ----------
    estimators : sequence of estimator, optional
        Classifiers that `ipforest.ensemble.read` reads; by default gradient boosting on histograms, a random forest and
        extremely randomised trees.

    Attributes
    ----------
    ensembles_ : tuple of Forest or BoostedTrees
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ipforest.learners import AveragedTrees
    >>> X, y = load_iris(return_X_y=True)
    >>> AveragedTrees().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(self, estimators: Sequence[Any] | None = None) -> None:
        self.estimators = estimators

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train each ensemble on the same examples.

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
        TypeError, ValueError
            No estimators or none that can be read, bad examples, or fewer than two classes.
        """
        if self.estimators is not None and len(self.estimators) == 0:
            raise ValueError("estimators: expected at least one, got none")
        examples, targets = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan")
        self.classes_ = classes_of(targets)
        kinds = _three_kinds() if self.estimators is None else self.estimators
        self.ensembles_ = tuple(read(clone(kind).fit(examples, targets, sample_weight)) for kind in kinds)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Average the class probabilities, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        examples = validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan")
        return np.asarray(np.mean([trees.predict_proba(examples) for trees in self.ensembles_], axis=0))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Predict the class of largest probability, the first of equals, for each example."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probability, axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _three_kinds() -> list[Any]:
    return [
        HistGradientBoostingClassifier(min_samples_leaf=10, early_stopping=False, random_state=0),
        RandomForestClassifier(random_state=0),
        ExtraTreesClassifier(random_state=0),
    ]
