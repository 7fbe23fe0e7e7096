"""Curves of trees and cascades of classifiers on data of two classes, measured as the forests of `curves`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.classifier_trees import (
    ASTC,
    CSCC,
    CSTC,
    AdaBoostRS,
    AndOrCascade,
    BoostingTrick,
    Cronus,
    StagewiseRegression,
)
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator
from ipforest.costs import FeatureCosts
from ipforest.experiments.experiment import Record
from ipforest.experiments.metrics import error_rate
from ipforest.experiments.parts import Parts


def cascade_points(parts: Parts, costs: FeatureCosts, n_trees: int, n_lambdas: int, seed: int) -> list[Record]:
    """Fit the learners of `ipforest.classifier_trees`, on features and on trees of them, and measure all tradeoffs.

    Parameters
    ----------
    parts : Parts
    costs : FeatureCosts
    n_trees : int
        Of the boosting trick, and of AdaBoost.
    n_lambdas : int
    seed : int
    """
    shared: dict[str, Any] = {"feature_costs": costs, "random_state": seed}
    trees = BoostingTrick(n_trees, max_depth=3, random_state=seed)
    learners: list[tuple[str, ClassifierTreeEstimator]] = [
        ("AdaBoostRS", AdaBoostRS(n_trees=n_trees, **shared)),
        ("stage-wise", StagewiseRegression(feature_map=trees, **shared)),
    ]
    for feature_map in (None, trees):
        of_map: dict[str, Any] = {"feature_map": feature_map, "objective__lambdas": n_lambdas, **shared}
        learners += [
            ("CSTC", CSTC(loss="logistic").set_params(**of_map)),
            ("ASTC", ASTC(loss="logistic").set_params(**of_map)),
            ("CSCC", CSCC().set_params(**of_map)),
            ("Cronus", Cronus().set_params(**of_map)),
            ("AND-OR", AndOrCascade().set_params(**of_map)),
        ]
    return [
        {"method": name, **point}
        for name, learner in learners
        for point in _points(learner.fit(parts.X_train, parts.y_train), parts)
    ]


def _points(model: ClassifierTreeEstimator, parts: Parts) -> list[Record]:
    """Measure every candidate of a model."""
    records: list[Record] = [{} for _ in model.candidates_]
    for part, X, y in (("validation_", parts.X_validation, parts.y_validation), ("", parts.X_test, parts.y_test)):
        phi = model.feature_map_.transform(np.asarray(X, dtype=np.float64))
        for record, candidate in zip(records, model.candidates_, strict=True):
            _, scores, paid = model.resources_.outcome(candidate.tree, phi)
            record[f"{part}error"] = error_rate(y, called_second(model, scores))
            record[f"{part}cost"] = float(paid.mean())
    return records


def called_second(model: ClassifierTreeEstimator, scores: FloatArray) -> IntArray:
    """Tell which examples are called the second of the classes 0 and 1: those of scores above the middle."""
    middle = 0.0 if is_classifier(model) else (0.5 - model.target_mean_) * model.target_scale_
    return (scores > middle).astype(np.int64)
