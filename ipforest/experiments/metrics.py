"""What the papers measure: errors, average costs, rankings, and how often features are used."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from ipforest.adaptive.full_model import log_losses
from ipforest.classifier_trees.ranking import average_precision_at

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
    """Compute the mean of -log p of the true classes, p no smaller than `ipforest.adaptive.full_model` lets it be.

    Parameters
    ----------
    y_true : array of int, shape (n_samples,)
        The column of each example's class.
    probability : array, shape (n_samples, n_classes)
    """
    return float(log_losses(np.asarray(probability, dtype=np.float64), np.asarray(y_true)).mean())


def feature_usage_table(
    usage: npt.ArrayLike, costs: npt.ArrayLike, y_true: npt.ArrayLike, y_pred: npt.ArrayLike
) -> dict[str, float]:
    """Summarise predictions as BudgetPrune's Table 1 does.

    Parameters
    ----------
    usage : array of int, shape (n_samples, n_features)
        How often predicting each example tests each feature.
    costs : array, shape (n_samples,)
    y_true, y_pred : arrays, shape (n_samples,)

    Returns
    -------
    dict
        The shares of all pairs of an example and a feature that is ``unused``, used ``up_to_seven`` times, or ``more``
        often; the average ``cost`` of an example, and the ``error``.
    """
    counts = np.asarray(usage)
    return {
        "unused": float(np.mean(counts == 0)),
        "up_to_seven": float(np.mean((counts >= 1) & (counts <= OFTEN))),
        "more": float(np.mean(counts > OFTEN)),
        "cost": float(np.mean(np.asarray(costs))),
        "error": error_rate(y_true, y_pred),
    }
