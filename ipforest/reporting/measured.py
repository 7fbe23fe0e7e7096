"""Measures of what a model answers about held-out examples, with bootstrap intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.stats import DegenerateDataWarning, bootstrap

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.choosing.measures import AnswersToScore, confidence, name_of, read_scoring

CONFIDENCE = 0.95

MIN_DIVISOR = np.finfo(np.float64).eps
"""Probabilities below this count as this in the log loss, as in scikit-learn."""

N_BINS = 10
"""Bins of equal width in which the calibration error compares probabilities with what is true."""

AT_ONCE = 100
"""Resamples whose rows are held in memory together."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What a model answers about examples, and what is true of them.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray, shape (n_samples,)
        Labels, or targets.
    outputs : ndarray of float64, shape (n_samples, n_outputs)
        Class probabilities, or predicted targets as a column.
    labels : ndarray, shape (n_samples,)
        What is predicted.
    cost : ndarray of float64, shape (n_samples,)
    acquired : ndarray of bool, shape (n_samples, n_features)
        What is bought.
    rounds : ndarray of int64, shape (n_samples,)
        How often each example has to wait for what it bought.
    asked : ndarray of int64, shape (n_samples,)
        How many features are tested.
    weight : ndarray of float64, shape (n_samples,)
    classes : ndarray or None
        None for regression.
    mistakes : ndarray of float64, shape (n_samples,), or None
        What the predictions cost, where mistakes have prices.
    """

    X: Array
    y: Array
    outputs: FloatArray
    labels: Array
    cost: FloatArray
    acquired: BoolArray
    rounds: IntArray
    asked: IntArray
    weight: FloatArray
    classes: Array | None
    mistakes: FloatArray | None

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return int(self.y.shape[0])


Rows: TypeAlias = IntArray
MeasureOfRows: TypeAlias = Callable[[Rows], float]


class Measure(NamedTuple):
    """A measure on the examples, and its bootstrap interval; NaN where it is not defined."""

    name: str
    value: float
    low: float
    high: float


def measures_of(answered: Answered, scoring: Sequence[Any], n_resamples: int, random_state: Any) -> tuple[Measure, ...]:
    """Measure what is answered, with percentile bootstrap intervals over the examples.

    Parameters
    ----------
    answered : Answered
    scoring : sequence of str or callable
        Further measures; see `ipforest.choosing.measures.read_scoring`.
    n_resamples : int
        How often the examples are drawn anew; with 0 there are no intervals.
    random_state : int
        Seeds the bootstrap.
    """
    of_rows = _of_classes(answered) if answered.classes is not None else _of_targets(answered)
    of_rows |= _of_money(answered)
    of_rows |= {name_of(each): _of_scorer(answered, each) for each in scoring}
    rows = np.arange(answered.n_samples)
    values = np.array([measure(rows) for measure in of_rows.values()])
    low, high = _interval(list(of_rows.values()), rows, n_resamples, random_state)
    return tuple(map(Measure, of_rows, values.tolist(), low.tolist(), high.tolist()))


def _interval(
    measures: Sequence[MeasureOfRows], rows: Rows, n_resamples: int, random_state: Any
) -> tuple[FloatArray, FloatArray]:
    """Draw the examples anew, again and again; all measures see the same drawings."""
    if n_resamples == 0 or rows.size < 2:
        unknown = np.full(len(measures), np.nan)
        return unknown, unknown

    def statistic(drawn: IntArray, axis: int) -> FloatArray:
        table = np.moveaxis(np.atleast_2d(drawn), axis, -1).reshape(-1, rows.size)
        return np.array([[measure(each) for each in table] for measure in measures])

    options = {"n_resamples": n_resamples, "batch": AT_ONCE, "vectorized": True, "method": "percentile"}
    seed = {"rng": np.random.default_rng(random_state)}
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # a measure that is not defined has no interval
        found = bootstrap((rows,), statistic, confidence_level=CONFIDENCE, **options, **seed).confidence_interval
    return np.asarray(found.low).ravel(), np.asarray(found.high).ravel()


def _of_classes(answered: Answered) -> dict[str, MeasureOfRows]:
    assert answered.classes is not None
    classes, weight, outputs = answered.classes, answered.weight, answered.outputs
    truth = np.searchsorted(classes, answered.y)
    wrong = (answered.labels != answered.y).astype(np.float64)
    own = np.clip(outputs[np.arange(truth.size), truth], MIN_DIVISOR, 1 - MIN_DIVISOR)
    squares = np.square(outputs).sum(axis=1) - 2 * outputs[np.arange(truth.size), truth] + 1
    halved = squares / 2 if classes.size == 2 else squares
    sure, right = confidence(outputs, answered.y, classes)

    def recall(number: int) -> MeasureOfRows:
        return lambda rows: _mean(1 - wrong, weight, rows[truth[rows] == number])

    def balanced(rows: Rows) -> float:
        return float(np.mean([recall(number)(rows) for number in np.unique(truth[rows]).tolist()]))

    found: dict[str, MeasureOfRows] = {"error": lambda rows: _mean(wrong, weight, rows), "balanced accuracy": balanced}
    if classes.size == 2:
        found |= {"sensitivity": recall(1), "specificity": recall(0)}
    else:
        found |= {recall_of(label): recall(number) for number, label in enumerate(classes.tolist())}
    found["AUC"] = lambda rows: _area(truth[rows], outputs[rows], weight[rows])
    if classes.size == 2:
        found["average precision"] = lambda rows: _precision(truth[rows] == 1, outputs[rows, 1], weight[rows])
    return found | {
        "log loss": lambda rows: _mean(-np.log(own), weight, rows),
        "Brier score": lambda rows: _mean(halved, weight, rows),
        "calibration error": lambda rows: calibration_error(sure[rows], right[rows], weight[rows]),
    }


def recall_of(label: Any) -> str:
    """Name the share of the examples of a class that are called so."""
    return f"recall of {label}"


def _of_targets(answered: Answered) -> dict[str, MeasureOfRows]:
    y, weight, difference = answered.y, answered.weight, answered.labels - answered.y

    def determination(rows: Rows) -> float:
        spread = _mean(np.square(y - np.average(y[rows], weights=weight[rows])), weight, rows)
        return 1 - _mean(np.square(difference), weight, rows) / spread if spread > 0 else float("nan")

    return {
        "R2": determination,
        "root mean squared error": lambda rows: float(np.sqrt(_mean(np.square(difference), weight, rows))),
        "mean absolute error": lambda rows: _mean(np.abs(difference), weight, rows),
    }


def _of_money(answered: Answered) -> dict[str, MeasureOfRows]:
    cost, mistakes, weight = answered.cost, answered.mistakes, answered.weight
    found: dict[str, MeasureOfRows] = {"cost": lambda rows: _mean(cost, weight, rows)}
    if mistakes is not None:
        found["cost of mistakes"] = lambda rows: _mean(mistakes, weight, rows)
        found["total cost"] = lambda rows: _mean(cost + mistakes, weight, rows)
    return found


def _of_scorer(answered: Answered, scoring: Any) -> MeasureOfRows:
    """Apply a scorer to some of the examples; what it cannot compute is NaN."""
    scorer = read_scoring(scoring)
    weighted = not (answered.weight == 1).all()

    def measure(rows: Rows) -> float:
        answers = AnswersToScore(answered.outputs[rows], answered.labels[rows], answered.cost[rows], answered.classes)
        weight: Mapping[str, Any] = {"sample_weight": answered.weight[rows]} if weighted else {}
        if answered.classes is not None and np.unique(answered.y[rows]).size < 2:
            return float("nan")
        return float(scorer(answers, answered.X[rows], answered.y[rows], **weight))

    return measure


def calibration_error(probability: FloatArray, came_true: BoolArray, weight: FloatArray) -> float:
    """Average, over `N_BINS` bins of equal width, how far the mean probability is from the share that came true.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_samples,)
    came_true : ndarray of bool, shape (n_samples,)
    weight : ndarray of float64, shape (n_samples,)

    Notes
    -----
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
    """
    place = np.minimum((probability * N_BINS).astype(np.int64), N_BINS - 1)
    gaps = np.bincount(place, weights=weight * (probability - came_true), minlength=N_BINS)
    return float(np.abs(gaps).sum() / weight.sum()) if weight.sum() > 0 else float("nan")


def _mean(values: FloatArray, weight: FloatArray, rows: Rows) -> float:
    total = weight[rows].sum()
    return float((values[rows] * weight[rows]).sum() / total) if total > 0 else float("nan")


def _area(truth: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
    """Compute the area under the ROC curve, of several classes the mean of each against the others."""
    numbers = [1] if outputs.shape[1] == 2 else range(outputs.shape[1])
    areas = []
    for number in numbers:
        true, false = _positives(truth == number, outputs[:, number], weight)
        areas.append(np.trapezoid(true, false) / (true[-1] * false[-1]) if true[-1] * false[-1] > 0 else np.nan)
    return float(np.mean(areas))


def _precision(truth: BoolArray, probability: FloatArray, weight: FloatArray) -> float:
    """Compute the average precision: that of every threshold, weighted by how much sensitivity it adds."""
    true, false = _positives(truth, probability, weight)
    if true[-1] == 0:
        return float("nan")
    called = np.maximum(true + false, MIN_DIVISOR)[1:]
    return float(np.sum(np.diff(true) / true[-1] * true[1:] / called))


def _positives(truth: BoolArray, probability: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum up the weights of true and false positives at falling thresholds, from 0 to all examples."""
    order = np.argsort(-probability, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(probability[order])), truth.size - 1)
    true, false = (np.cumsum(weight[order] * side)[ends] for side in (truth[order], ~truth[order]))
    return np.append(0.0, true), np.append(0.0, false)
