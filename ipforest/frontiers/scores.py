"""Scores by which learners choose: the Brier score, a mean of it and of being wrong, and the relative squared error."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, places_in
from ipforest.walks.labels import expected_costs

FACTORS = (1 / 4, 1 / 2, 2, 4)
"""By how much classes are likelier in labels near by."""

AS_GOOD_AS = 100
"""What the Brier score counts for in choosing, in examples."""


def brier_score(probability: FloatArray, labels: Array, weight: FloatArray | None) -> float:
    """Average the squared distance of class probabilities from what is true.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_samples, n_classes)
    labels : ndarray of int64, shape (n_samples,)
        Numbers of the classes.
    weight : ndarray of float64, shape (n_samples,), or None
    """
    distance = np.square(probability).sum(axis=1) + 1 - 2 * probability[np.arange(labels.size), labels]
    return float(np.average(distance, weights=weight))


def soft_error(outputs: FloatArray, y: Array, classes: Array, n_validation: int) -> FloatArray:
    """Compute a mean of being wrong, 0 or 1, and of the Brier score, halved to lie in 0..1.

    With few examples the one is too coarse to choose by, and thousands of choices find one that is lucky;
    the other is finer and nearly agrees, but prefers ensembles that are sure to those that are right. So being wrong
    has the weight n / (n + `AS_GOOD_AS`), where choices are made on n examples.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_samples, n_classes)
        Class probabilities.
    y : ndarray, shape (n_samples,)
        Labels; one that is no class is always wrong.
    classes : ndarray, shape (n_classes,)
    n_validation : int
        Examples that choices are made on, held out or out of bag.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    truth = np.equal(y[:, None], classes)
    wrong = ~truth[np.arange(y.size), np.argmax(outputs, axis=1)]
    brier = np.square(outputs - truth).sum(axis=1) / 2
    return _softened(wrong, brier, n_validation)


def soft_cost(outputs: FloatArray, y: Array, classes: Array, n_validation: int, class_costs: FloatArray) -> FloatArray:
    """Compute `soft_error` where mistakes have prices: that of the label, and that of labels near by.

    These are the labels that would be predicted if one class were likelier or less likely by one of `FACTORS`: so a
    label counts as surely right or wrong as its probabilities are far from where another one is cheaper. A label drawn
    by the probabilities, as the Brier score has it, would not do: where one mistake is much more expensive than
    another, the cheap label is best though it is often wrong, and no model that is unsure would seem good.

    Parameters
    ----------
    outputs, y, classes, n_validation
        See `soft_error`; each label is a class.
    class_costs : ndarray of float64, shape (n_classes, n_classes)
        What predicting class j costs where i is true, row i, column j; the class of least expected cost is predicted.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        In the unit of the class costs.
    """
    prices, rows = class_costs[places_in(classes, y)], np.arange(y.size)
    expected = expected_costs(outputs, class_costs)
    paid = prices[rows, np.argmin(expected, axis=1)]
    near = np.zeros(y.size)
    for number, row in enumerate(class_costs):
        for factor in FACTORS:
            moved = expected + (factor - 1) * outputs[:, [number]] * row
            near += prices[rows, np.argmin(moved, axis=1)]
    return _softened(paid, near / (len(class_costs) * len(FACTORS)), n_validation)


def relative_error(outputs: FloatArray, y: Array, variance: float) -> FloatArray:
    """Compute squared errors as shares of the targets' variance: on average 1 where their mean is predicted.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_samples, 1)
    y : ndarray of float64, shape (n_samples,)
    variance : float

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    return np.asarray(np.square(outputs[:, 0] - y) / variance)


def _softened(counted: Array, finer: FloatArray, n_validation: int) -> FloatArray:
    """Average what counts, and what is finer and nearly agrees; see `soft_error`."""
    weight = n_validation / (n_validation + AS_GOOD_AS)
    return np.asarray(weight * counted + (1 - weight) * finer)
