"""What the papers measure: errors, average costs, rankings, and how often features are used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from ipforest.classifier_trees.ranking import average_precision_at, ndcg_at, precision_at

__all__ = [
    "FeatureUsage",
    "area_under_roc",
    "average_precision_at",
    "clipped_log_loss",
    "error_of_scores",
    "error_rate",
    "feature_usage_table",
    "ndcg_at",
    "precision_at",
]

LEAST_PROBABILITY = 1e-3
"""Leaves of trees have classes of probability 0; one example of such a class would make the log loss infinite."""

OFTEN = 7
"""BudgetPrune's Table 1 tells features used up to so many times from those used more often."""


def error_rate(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Compute the share of wrong predictions."""
    return float(np.mean(np.asarray(y_true) != np.asarray(y_pred)))


def error_of_scores(
    y_true: npt.ArrayLike, scores: npt.ArrayLike, classes: npt.ArrayLike, queries: npt.ArrayLike | None = None
) -> float:
    """Compute the error rate of the classes of the highest scores, or of ranked documents 1 - Average Precision@5.

    Parameters
    ----------
    y_true : array, shape (n_samples,)
    scores : array, shape (n_samples, n_classes)
        Documents are ranked by the score of the last class.
    classes : array, shape (n_classes,)
    queries : array, shape (n_samples,), optional
        The query of each document.
    """
    of_classes = np.asarray(scores)
    if queries is not None:
        return 1 - average_precision_at(y_true, of_classes[:, -1], queries)
    return error_rate(y_true, np.asarray(classes)[np.argmax(of_classes, axis=1)])


def area_under_roc(y_true: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Compute the area under the ROC curve; of several classes the mean of each against the others.

    Parameters
    ----------
    y_true : array of int, shape (n_samples,)
        The column of each example's class.
    probability : array, shape (n_samples, n_classes)
    """
    of_classes = np.asarray(probability, dtype=np.float64)
    truth = np.asarray(y_true)[:, None] == np.arange(of_classes.shape[1])
    if of_classes.shape[1] == 2:
        return float(roc_auc_score(truth[:, 1], of_classes[:, 1]))
    return float(roc_auc_score(truth, of_classes, average="macro"))


def clipped_log_loss(y_true: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Compute the mean of -log p of the true classes, p no smaller than `LEAST_PROBABILITY`.

    Parameters
    ----------
    y_true : array of int, shape (n_samples,)
        The column of each example's class.
    probability : array, shape (n_samples, n_classes)
    """
    of_classes = np.asarray(probability, dtype=np.float64)
    of_truth = of_classes[np.arange(of_classes.shape[0]), np.asarray(y_true)]
    return float(-np.log(np.maximum(of_truth, LEAST_PROBABILITY)).mean())


@dataclass(frozen=True, slots=True)
class FeatureUsage:
    """How often examples use features: shares of all pairs of an example and a feature.

    Parameters
    ----------
    unused, up_to_seven, more : float
        Not at all, 1 to 7 times, more often.
    cost : float
        Average cost of an example.
    error : float
    """

    unused: float
    up_to_seven: float
    more: float
    cost: float
    error: float


def feature_usage_table(
    usage: npt.ArrayLike, costs: npt.ArrayLike, y_true: npt.ArrayLike, y_pred: npt.ArrayLike
) -> FeatureUsage:
    """Summarise predictions as BudgetPrune's Table 1 does.

    Parameters
    ----------
    usage : array of int, shape (n_samples, n_features)
        How often predicting each example tests each feature.
    costs : array, shape (n_samples,)
    y_true, y_pred : arrays, shape (n_samples,)
    """
    counts = np.asarray(usage)
    return FeatureUsage(
        unused=float(np.mean(counts == 0)),
        up_to_seven=float(np.mean((counts >= 1) & (counts <= OFTEN))),
        more=float(np.mean(counts > OFTEN)),
        cost=float(np.mean(np.asarray(costs))),
        error=error_rate(y_true, y_pred),
    )
