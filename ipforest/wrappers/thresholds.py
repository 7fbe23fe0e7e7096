"""Decision thresholds: which probability of a class is enough to predict it, given or tuned on held-out examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.choosing.measures import HeldOutScorer, positive_place, read_scoring
from ipforest.policy import Policy
from ipforest.session import Seller
from ipforest.wrappers.adapted import AdaptedClassifier, PolicyAround

__all__ = ["ThresholdClassifier"]

MAX_TRIED = 200
"""Thresholds that are tried for two classes."""

FACTORS = np.geomspace(1 / 16, 16, 33)
"""What the threshold of one of several classes is multiplied by in tuning."""

SWEEPS = 2
"""How often each of several classes is tuned."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The class whose probability exceeds its threshold by the largest factor.

    Parameters
    ----------
    threshold : ndarray of float64, shape (n_classes,)
        Each > 0.
    positive : int, optional
        Of two classes: the one that is predicted as soon as its probability reaches its threshold, as scikit-learn's
        ``FixedThresholdClassifier`` has it.
    """

    threshold: FloatArray
    positive: int | None = None

    def __call__(self, outputs: FloatArray) -> IntArray:
        """Decide by class probabilities, shape (n_samples, n_classes); return numbers of classes."""
        if self.positive is None:
            return np.asarray(np.argmax(outputs / self.threshold, axis=1))
        reached = outputs[:, self.positive] >= self.threshold[self.positive]
        return np.where(reached, self.positive, 1 - self.positive)


@dataclass(eq=False, repr=False)
class ThresholdClassifier(AdaptedClassifier):
    """Predict a class by a decision threshold, and buy as the classifier does.

    As scikit-learn's ``FixedThresholdClassifier`` and ``TunedThresholdClassifierCV``, but costs, sessions and other
    budgets are kept, and there may be more than two classes. Probabilities, what is bought and when buying stops stay
    as they are. Thresholds take the place of class costs in choosing labels.

    Parameters
    ----------
    estimator : estimator
        A classifier of this package, or one in `CalibratedClassifier`. One that is fitted already is used as it is, and
        all examples serve to tune; wrap it in `sklearn.frozen.FrozenEstimator` to keep it so in clones.
    threshold : float or mapping from class to float, optional
        With two classes, the probability of the positive one from which on it is predicted. With a threshold for each
        class, the class is predicted whose probability is the largest multiple of its threshold. By default they are
        tuned on held-out examples: for two classes the best of their own probabilities, for several one class after
        the other.
    pos_label : label, optional
        The positive of two classes; by default the second in sorted order.
    scoring : str or callable, default="balanced_accuracy"
        What is tuned for; see `ipforest.choosing.measures.read_scoring`.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples held out to tune, where the estimator is not fitted and `fit` gets no ``X_val``.
    random_state : int, RandomState instance or None, default=None
        Draws the examples held out, and seeds an estimator that has no seed of its own.

    Attributes
    ----------
    model_ : BudgetedEstimator
        What buys.
    threshold_ : ndarray of float64, shape (n_classes,)
        Of two classes they sum to 1.
    best_score_ : float
        What the tuned thresholds score on the held-out examples; absent where they are given.
    costs_, n_features_in_, classes_
        Those of the classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BoostSearch, BudgetBoost
    >>> from ipforest.wrappers.thresholds import ThresholdClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosted = BudgetBoost(20, search=BoostSearch(n_lambdas=2), budget=3, random_state=0)
    >>> model = ThresholdClassifier(boosted, threshold=0.9, random_state=0).fit(X, y)
    >>> bool((model.predict(X) == (model.predict_proba(X)[:, 1] >= 0.9)).all())
    True
    """

    estimator: Any
    _: KW_ONLY
    threshold: Any = None
    pos_label: Any = None
    scoring: Any = "balanced_accuracy"
    validation_fraction: float | None = 0.25
    random_state: Any = None

    def _check(self) -> None:
        super()._check()
        read_scoring(self.scoring)
        if self.threshold is None:
            return
        if isinstance(self.threshold, Mapping):
            for label, value in self.threshold.items():
                if not _is_number(value) or not 0 < value < np.inf:
                    raise ValueError(f"threshold: expected finite numbers > 0, got {value!r} for class {label!r}")
        elif not _is_number(self.threshold) or not 0 <= self.threshold <= 1:
            raise ValueError(
                f"threshold: expected a number between 0 and 1, one for each class, or None, got {self.threshold!r}"
            )

    def _adapt(self) -> None:
        self.__dict__.pop("best_score_", None)
        if self.threshold is None:
            self._tune()
        elif isinstance(self.threshold, Mapping):
            unknown = set(self.threshold) ^ set(self.classes_.tolist())
            if unknown:
                raise ValueError(
                    f"threshold: expected one for each class of {self.classes_.tolist()}, got {[*self.threshold]}"
                )
            given = [float(self.threshold[label]) for label in self.classes_.tolist()]
            self._decision = Decision(np.array(given))
        else:
            self._decision = self._two_classes(float(self.threshold))
        self.threshold_ = self._decision.threshold

    def _two_classes(self, threshold: float) -> Decision:
        if self.classes_.size != 2:
            raise ValueError(
                f"threshold: expected one for each of {self.classes_.size} classes, such as a dict, got {threshold}"
            )
        positive = positive_place(self.pos_label, self.classes_)
        thresholds = np.full(2, 1 - threshold)
        thresholds[positive] = threshold
        return Decision(thresholds, positive)

    def _tune(self) -> None:
        outputs, paid, _ = self._answers()
        examples, labels, weight = self._held_out

        def score(decision: Decision) -> float:
            def decided(probability: FloatArray) -> Array:
                return np.asarray(self.classes_[decision(probability)])

            return HeldOutScorer(self.scoring, examples, labels, weight, self.classes_, decided)(outputs, paid)

        if self.classes_.size == 2:
            positive = self._two_classes(0.5).positive
            values = np.unique(outputs[:, positive])
            some = np.unique(np.linspace(0, values.size - 1, min(values.size, MAX_TRIED)).astype(np.int64))
            tried = [self._two_classes(value) for value in values[some].tolist()]
        else:
            tried = [Decision(np.full(self.classes_.size, 1 / self.classes_.size))]
            for place in [*range(self.classes_.size)] * SWEEPS:
                around = tried[0].threshold
                scaled = [np.where(np.arange(around.size) == place, around * factor, around) for factor in FACTORS]
                tried = [_best([Decision(each / each.sum()) for each in (around, *scaled)], score)[1]]
        self.best_score_, self._decision = _best(tried, score)

    def _seller(self) -> Seller:
        return replace(super()._seller(), decision=self._decision)

    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers."""
        return PolicyAround(self.model_.policy(), "decision thresholds")


def _best(decisions: list[Decision], score: Any) -> tuple[float, Decision]:
    """Find the decision of the largest score, of several the most even thresholds."""
    scores = np.array([score(decision) for decision in decisions])
    unevenness = np.array([np.ptp(decision.threshold) for decision in decisions])
    best = int(np.lexsort((unevenness, -scores))[0])
    return float(scores[best]), decisions[best]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
