"""Labels of class probabilities: the likeliest class, or the one whose mistakes are expected to cost least."""

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray

__all__ = ["cheapest_is_certain", "expected_costs", "label_places"]


def expected_costs(outputs: FloatArray, class_costs: FloatArray) -> FloatArray:
    """Compute what each label is expected to cost, shape (n_samples, n_classes).

    They are summed up class by class, in the same order for one example as for many: a matrix product may round
    otherwise, and a session would then stop where a table does not.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_samples, n_classes)
        Class probabilities, or multiples of them.
    class_costs : ndarray of float64, shape (n_classes, n_classes)
    """
    total = np.zeros(outputs.shape)
    for probability, row in zip(outputs.T, class_costs, strict=True):
        total += probability[:, None] * row
    return total


def label_places(outputs: FloatArray, class_costs: FloatArray | None) -> IntArray:
    """Choose labels: the likeliest class, or that of the least expected cost.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_samples, n_classes)
        Class probabilities, or multiples of them.
    class_costs : ndarray of float64, shape (n_classes, n_classes), or None

    Returns
    -------
    ndarray of int64, shape (n_samples,)
        Numbers of the classes, the first of equals.
    """
    if class_costs is None:
        return np.asarray(np.argmax(outputs, axis=1))
    return np.asarray(np.argmin(expected_costs(outputs, class_costs), axis=1))


def cheapest_is_certain(low: FloatArray, high: FloatArray, class_costs: FloatArray, slack: float) -> BoolArray:
    """Return where one label is the cheapest for all weights of the classes within bounds, shape (n_samples,).

    Parameters
    ----------
    low, high : ndarray of float64, shape (n_samples, n_classes)
        Bounds of the class probabilities, or of multiples of them.
    class_costs : ndarray of float64, shape (n_classes, n_classes)
    slack : float
        Share of the sums by which it must be cheaper than each other label.
    """
    label = label_places(low + high, class_costs)
    extra = class_costs.T[label][:, :, None] - class_costs  # label's cost less that of another, by true class
    most = (np.maximum(extra, 0) * high[:, :, None] + np.minimum(extra, 0) * low[:, :, None]).sum(axis=1)
    most[np.arange(label.size), label] = -np.inf
    return np.asarray(most.max(axis=1) < -slack * class_costs.max() * high.sum(axis=1))
