"""Measures by which models are chosen and reported: scikit-learn's scorers, and some that it lacks."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names, roc_curve
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from ipforest._internal.arrays import Array, BoolArray, FloatArray, one_line
from ipforest.tabular.name_matching import closest

__all__ = ["AnswersToScore", "confidence", "log_odds", "name_of", "read_scoring", "sensitivity_at", "specificity_at"]

Scorer: TypeAlias = Callable[..., float]

ROUNDING = 1e-12
"""How far below what is asked for a rate may be: floats round."""

MIN_POSITIVE = np.finfo(np.float64).tiny


def log_odds(probability: FloatArray) -> FloatArray:
    """Compute decision values of class probabilities, as scikit-learn shapes them.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_samples, n_classes)

    Returns
    -------
    ndarray of float64, shape (n_samples,) or (n_samples, n_classes)
        The logarithm of the odds of the second of two classes, or of each of several against the others; finite.
    """
    others = probability.sum(axis=1, keepdims=True) - probability
    if probability.shape[1] == 2:
        others = probability[:, ::-1]
    values = np.log(np.maximum(probability, MIN_POSITIVE)) - np.log(np.maximum(others, MIN_POSITIVE))
    return np.asarray(values[:, 1] if probability.shape[1] == 2 else values)


def confidence(outputs: FloatArray, y: Array, classes: Array) -> tuple[FloatArray, BoolArray]:
    """Return probabilities and whether they came true: of the second of two classes, or of the likeliest of several.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_samples, n_classes)
        Class probabilities.
    y : ndarray, shape (n_samples,)
        The true labels.
    classes : ndarray, shape (n_classes,)
    """
    number = np.ones(len(y), dtype=np.int64) if classes.size == 2 else np.argmax(outputs, axis=1)
    return outputs[np.arange(number.size), number], np.asarray(y == classes[number])


def positive_place(pos_label: Any, classes: Array) -> int:
    """Find the positive class: by default the second of two.

    Raises
    ------
    ValueError
        It is none of the classes, or there are not two and none is given.
    """
    if pos_label is None and classes.size == 2:
        return 1
    places = np.flatnonzero(classes == pos_label)
    if pos_label is None or places.size == 0:
        raise ValueError(f"pos_label: expected one of the classes {classes.tolist()}, got {pos_label!r}")
    return int(places[0])


class AnswersToScore(BaseEstimator):
    """What a model answered about some examples, in the form of an estimator that scorers take.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_samples, n_outputs)
        Class probabilities, or targets as a column.
    labels : ndarray, shape (n_samples,)
        What is predicted.
    cost : ndarray of float64, shape (n_samples,)
        What each example paid.
    classes : ndarray or None
        None for regression.
    """

    def __init__(self, outputs: FloatArray, labels: Array, cost: FloatArray, classes: Array | None) -> None:
        self.outputs = outputs
        self.labels = labels
        self.cost_ = cost
        self.classes_ = classes

    def predict(self, X: Any) -> Array:
        """Return what was predicted for the examples, shape (n_samples,)."""
        return self._answered(X, self.labels)

    def cost(self, X: Any) -> FloatArray:
        """Return what the examples paid, shape (n_samples,)."""
        return self._answered(X, self.cost_)

    @available_if(lambda answers: answers.classes_ is not None)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities of the examples, shape (n_samples, n_classes)."""
        return self._answered(X, self.outputs)

    def _answered(self, X: Any, values: Array) -> Array:
        if len(X) != len(values):
            raise ValueError(f"X: expected all {len(values)} validation examples at once, got {len(X)}")
        return values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.classes_ is None:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class DecisiveAnswers(AnswersToScore):
    """Answers for scorers that take decision values only: the logarithms of the odds."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the examples; see `log_odds`."""
        return log_odds(self.predict_proba(X))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One of sensitivity and specificity at a value of the other; a scorer.

    Every threshold on the probability of the positive class is allowed, as on a ROC curve without interpolation.

    Parameters
    ----------
    least : float
        What the other rate must be at least.
    pos_label : label, optional
        The positive class; of two classes, by default, the second in sorted order.
    """

    least: float
    pos_label: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.least, bool) or not isinstance(self.least, Real) or not 0 <= self.least <= 1:
            raise ValueError(f"{self._given}: expected a number between 0 and 1, got {self.least!r}")

    @property
    @abstractmethod
    def _given(self) -> str:
        """What the other rate is called."""

    @abstractmethod
    def _of(self, sensitivity: FloatArray, specificity: FloatArray) -> float:
        """Choose along a ROC curve."""

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Score a fitted classifier on examples and their labels.

        Raises
        ------
        ValueError
            The examples are all of the positive class or all of others, or the positive class is not known.
        """
        classes = np.asarray(estimator.classes_)
        place = positive_place(self.pos_label, classes)
        is_positive = np.asarray(y) == classes[place]
        weight = np.ones(is_positive.size) if sample_weight is None else np.asarray(sample_weight)
        if not (weight[is_positive] > 0).any() or not (weight[~is_positive] > 0).any():
            raise ValueError(f"y: expected examples of class {classes[place]!r} and of others, got only one of the two")
        probability = estimator.predict_proba(X)[:, place]
        alarms, sensitivity, _ = roc_curve(is_positive, probability, sample_weight=weight, drop_intermediate=False)
        return self._of(sensitivity, 1 - alarms)


class SensitivityAt(OperatingPoint):
    """See `sensitivity_at`."""

    __slots__ = ()
    _given = "specificity"

    def _of(self, sensitivity: FloatArray, specificity: FloatArray) -> float:
        return float(sensitivity[specificity >= self.least - ROUNDING].max())

    def __str__(self) -> str:
        return f"sensitivity at specificity {self.least:g}"


class SpecificityAt(OperatingPoint):
    """See `specificity_at`."""

    __slots__ = ()
    _given = "sensitivity"

    def _of(self, sensitivity: FloatArray, specificity: FloatArray) -> float:
        return float(specificity[sensitivity >= self.least - ROUNDING].max())

    def __str__(self) -> str:
        return f"specificity at sensitivity {self.least:g}"


def sensitivity_at(specificity: float, pos_label: Any = None) -> SensitivityAt:
    """Make a scorer: the largest sensitivity of all thresholds whose specificity is at least so much.

    Parameters
    ----------
    specificity : float
        Between 0 and 1.
    pos_label : label, optional
        The positive class; of two classes, by default, the second in sorted order. With several classes it is needed,
        and all others are negative.

    Returns
    -------
    callable (estimator, X, y, sample_weight=None) -> float

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ipforest.choosing.measures import sensitivity_at
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, :1], y)
    >>> 0.5 < sensitivity_at(0.9)(model, X[:, :1], y) < 1
    True
    """
    return SensitivityAt(specificity, pos_label)


def specificity_at(sensitivity: float, pos_label: Any = None) -> SpecificityAt:
    """Make a scorer: the largest specificity of all thresholds whose sensitivity is at least so much.

    See `sensitivity_at`.
    """
    return SpecificityAt(sensitivity, pos_label)


MAKERS: dict[str, Callable[[float], Scorer]] = {"sensitivity_at": sensitivity_at, "specificity_at": specificity_at}
"""Scorers of this package that a text names, such as "sensitivity_at=0.9"."""


def read_scoring(scoring: Any) -> Scorer:
    """Find what `scoring` means.

    Parameters
    ----------
    scoring : str or callable
        The name of a scikit-learn scorer, "sensitivity_at=0.9" or "specificity_at=0.9", or a callable
        (estimator, X, y) -> float.

    Raises
    ------
    TypeError
        It is neither a text nor callable.
    ValueError
        There is no such scorer.
    """
    if isinstance(scoring, str):
        maker, has_value, value = scoring.partition("=")
        if maker in MAKERS and has_value:
            try:
                return MAKERS[maker](float(value))
            except ValueError as problem:
                raise ValueError(
                    f"scoring: expected a number between 0 and 1 after {maker}=, got {value!r}"
                ) from problem
        if scoring not in get_scorer_names():
            known = [*get_scorer_names(), *(f"{name}=0.9" for name in MAKERS)]
            raise ValueError(
                "scoring: expected the name of a scikit-learn scorer (see sklearn.metrics.get_scorer_names), "
                f"sensitivity_at=0.9 or specificity_at=0.9, got {scoring!r}{closest(scoring, known)}"
            )
        named: Scorer = get_scorer(scoring)
        return named
    if not callable(scoring) or isinstance(scoring, type):
        raise TypeError(
            "scoring: expected the name of a scikit-learn scorer or a callable (estimator, X, y) -> float, "
            f"got {one_line(repr(scoring))}"
        )
    scorer: Scorer = scoring
    return scorer


def listed_scoring(scoring: Any) -> list[Any]:
    """List one measure or several, each of which `read_scoring` can read."""
    listed = [*scoring] if isinstance(scoring, Iterable) and not isinstance(scoring, str) else [scoring]
    for each in listed:
        read_scoring(each)
    return listed


def name_of(scoring: Any) -> str:
    """Name a measure for an axis or a table."""
    if isinstance(scoring, str):
        return str(read_scoring(scoring)) if "=" in scoring else scoring.replace("_", " ")
    return str(scoring.__name__).replace("_", " ") if hasattr(scoring, "__name__") else one_line(scoring)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScorer:
    """A measure on held-out examples, of what any model answers about them.

    Parameters
    ----------
    scoring : str or callable
        See `read_scoring`.
    X, y : ndarray, shapes (n_samples, n_features) and (n_samples,)
    weight : ndarray of float64, shape (n_samples,)
        Scorers receive them as ``sample_weight`` unless all are 1.
    classes : ndarray or None
    labels : callable (outputs) -> ndarray, shape (n_samples,)
        What is predicted from class probabilities.
    """

    scoring: Any
    X: Array
    y: Array
    weight: FloatArray
    classes: Array | None
    labels: Callable[[FloatArray], Array]

    def __call__(self, outputs: FloatArray, cost: FloatArray) -> float:
        """Score answers, shape (n_samples, n_outputs), for which examples paid so much, shape (n_samples,).

        Raises
        ------
        ValueError
            The measure cannot be computed, or is not finite.
        """
        answered = outputs, self.labels(outputs), cost, self.classes
        try:
            try:
                value = self._measured(AnswersToScore(*answered))
            except AttributeError:
                value = self._measured(DecisiveAnswers(*answered))
            score = float(value)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            raise ValueError(
                f"{self._expected}, got {one_line(problem).rstrip('.')}{self._of_several_classes}"
            ) from problem
        if not np.isfinite(score):
            counts = "" if self.classes is None else f", whose classes are {np.unique(self.y).tolist()}"
            raise ValueError(f"{self._expected}{counts}, got {score}")
        return score

    def _measured(self, answers: AnswersToScore) -> Any:
        weight = {} if (self.weight == 1).all() else {"sample_weight": self.weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true", UserWarning)
            return read_scoring(self.scoring)(answers, self.X, self.y, **weight)

    @property
    def _of_several_classes(self) -> str:
        """Name a class that no example has, or what scikit-learn has in place of a measure of two classes."""
        if not isinstance(self.scoring, str) or self.classes is None or len(self.classes) <= 2:
            return ""
        lacking = np.setdiff1d(self.classes, self.y)
        if "_ov" in self.scoring and lacking.size:
            return f"; none of these examples is of class {lacking.tolist()[0]!r}: leave out or merge rare classes"
        names = [name for name in get_scorer_names() if name.startswith(f"{self.scoring}_")]
        others = [name for name in names if not name.endswith("_samples")]
        return f"; for {len(self.classes)} classes there are {', '.join(others)}" if others else ""

    @property
    def _expected(self) -> str:
        return f"scoring: expected a measure of {self.y.size} validation examples by {name_of(self.scoring)}"
