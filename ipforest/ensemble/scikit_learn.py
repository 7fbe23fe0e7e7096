"""Read scikit-learn's fitted ensembles of trees, averaging and boosted, and write those that average."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.histogram_boosting import read_histogram_boosting
from ipforest.ensemble.library_checks import require_loss_of_training, require_own_predictions
from ipforest.ensemble.sklearn_trees import (
    AVERAGING,
    FOUND,
    SUPPORTED,
    in_two_parts,
    joined,
    name_of,
    structure,
    unfrozen,
)

BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
HISTOGRAM_BOOSTED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

JUDGED = ("log_loss", "exponential", "squared_error")
"""Losses of gradient boosting that are judged by that of their link; the exponential one has the same probabilities."""


def read_sklearn(model: Any) -> Forest | BoostedTrees:
    """Read a fitted estimator, averaging or boosted; see `ipforest.ensemble.read`."""
    inner = unfrozen(model)
    require_own_predictions(inner, "sklearn")
    if isinstance(inner, BOOSTED):
        return _boosted_from_sklearn(inner)
    if isinstance(inner, HISTOGRAM_BOOSTED):
        return read_histogram_boosting(inner)
    if not isinstance(inner, AVERAGING):
        cure = ""
        if isinstance(inner, Pipeline):
            cure = (
                "; read its last step, read(pipeline[-1]), and predict from pipeline[:-1].transform(X); within a "
                f"budget, {in_two_parts('EarlyExit(FrozenEstimator(pipeline[-1]))')}"
            )
        elif hasattr(inner, "best_estimator_"):
            cure = FOUND
        raise TypeError(
            f"model: expected scikit-learn's {SUPPORTED}, GradientBoosting* or HistGradientBoosting*, "
            f"got {name_of(inner)}{cure}"
        )
    return Forest.from_sklearn(inner)


def _boosted_from_sklearn(estimator: Any) -> BoostedTrees:
    check_is_fitted(estimator)
    initial = estimator.init_
    if isinstance(initial, str):
        constant = initial == "zero"
    else:
        constant = isinstance(initial, (DummyClassifier, DummyRegressor)) and initial.strategy != "stratified"
    if not constant:
        raise ValueError(
            f"model: expected {type(estimator).__name__} that starts from a constant, got init={initial!r}, "
            "whose predictions depend on the example"
        )
    n_outputs = estimator.estimators_.shape[1]
    link = _link(estimator, n_outputs)
    require_loss_of_training(estimator, link)
    trees = list(estimator.estimators_.ravel())
    return BoostedTrees(
        **structure(estimator, trees, [None] * len(trees)),
        cover=joined(trees, "weighted_n_node_samples"),
        value=estimator.learning_rate * np.concatenate([tree.tree_.value[:, 0, :] for tree in trees]),
        first_output=np.tile(np.arange(n_outputs), estimator.estimators_.shape[0]),
        base_score=estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), dtype=np.float32))[0],
        classes=getattr(estimator, "classes_", None),
        link=link,
        loss=None if estimator.loss in JUDGED else estimator.loss,
    )


def _link(estimator: Any, n_outputs: int) -> str:
    if isinstance(estimator, GradientBoostingRegressor):
        return "identity"
    if estimator.loss == "exponential":
        return "half logit"
    return "logit" if n_outputs == 1 else "multinomial logit"


def write_sklearn(trees: Forest | BoostedTrees) -> Any:
    """Return a forest as a fitted scikit-learn random forest; see `Forest.to_sklearn`.

    Raises
    ------
    TypeError
        The trees are added up, not averaged.
    """
    if not isinstance(trees, Forest):
        raise TypeError(f"trees: expected a Forest, which scikit-learn averages, got {type(trees).__name__}")
    return trees.to_sklearn()
