"""Around a fitted classifier that buys: the base of what changes its answers, and never what it buys."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.examples import Labelled, refuse_other_tables, require_one_type
from ipforest._internal.feature_names import known_to_scikit_learn
from ipforest.ensemble.sklearn_trees import unfrozen
from ipforest.estimator import BudgetedEstimator, split_rows
from ipforest.estimator.base import FittedWithWeights
from ipforest.estimator.checks import is_fitted
from ipforest.estimator.given import for_inner, seeded
from ipforest.estimator.held_out import Brought, check_held_out, check_validation_part, require_held_out
from ipforest.estimator.kinds import Classifies
from ipforest.estimator.tags import AroundEstimator
from ipforest.policy import InWords, Policy, Progress, Rows, compared, ordered_together
from ipforest.session import Seller
from ipforest.settings import check_fields
from ipforest.walks import Changed, Purse, Walk


class PolicyAround:
    """A policy that buys as another one does.

    Parameters
    ----------
    inner : Policy
    decides : str
        What decides in addition.
    """

    def __init__(self, inner: Policy, decides: str) -> None:
        self.inner = inner
        self._decides = decides

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the model compares values."""
        return self.inner.dtype

    @property
    def place_size(self) -> int:
        """How many integers say where it stands with one example."""
        return self.inner.place_size

    @property
    def ignores_unwanted(self) -> bool:
        """Whether it takes no notice of known features that it did not want."""
        return self.inner.ignores_unwanted

    @property
    def decides_by(self) -> str:
        """What decides besides the trees' own predictions."""
        return " and ".join(filter(None, (self.inner.decides_by, self._decides)))

    @property
    def features(self) -> IntArray:
        """The features that it may want of an example."""
        return self.inner.features

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Move examples on as the other policy does."""
        return self.inner.advance(progress, rows)

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark what is ordered together with a delayed feature, as the other policy does."""
        return ordered_together(self.inner, progress, rows)

    def at_once(self, purse: Purse) -> Walk | None:
        """Give the walk of the other policy, if it has one."""
        own = getattr(self.inner, "at_once", None)
        walk: Walk | None = None if own is None or purse.has_limit else own(purse)
        return None if walk is None else Changed(walk, self.changed)

    def changed(self, outputs: FloatArray, tests: Int32Array) -> FloatArray:
        """Give what is answered where the other policy answers ``outputs``, after ``tests`` (n_samples, n_features)."""
        return outputs

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Predict from what is known."""
        return self.changed(self.inner.answer(progress, rows), progress.tests[rows])

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Say why one example's next feature is wanted."""
        return self.inner.reason(progress, row, in_words)


class AdaptedClassifier(AroundEstimator, Classifies, FittedWithWeights):
    """Base of the classifiers that buy as another one does, and answer otherwise by what held-out examples say.

    A subclass learns from answers about held-out examples in `_adapt`, and checks its own parameters in `_check`.

    Attributes
    ----------
    model_ : BudgetedEstimator
        What buys.
    costs_ : FeatureCosts
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)
    """

    estimator: Any
    validation_fraction: float | None

    def _check(self) -> None:
        """Check the parameters before any training."""
        check_held_out(self.validation_fraction)
        check_fields(self)

    @abstractmethod
    def _adapt(self) -> None:
        """Learn from ``self._held_out``: examples, labels and weights."""

    def _fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        **_: Any,
    ) -> Self:
        check_validation_part(X_val, y_val)
        inner = unfrozen(self.estimator)
        if not isinstance(inner, BudgetedEstimator) or not is_classifier(inner):
            raise TypeError(
                f"estimator: expected a classifier that buys, such as BudgetBoost, got {type(inner).__name__}; of a "
                "BudgetedPipeline take its estimator_"
            )
        self._check()
        refuse_other_tables(known_to_scikit_learn(X), "X")
        require_one_type(y)
        training = held_out = Brought.of(X, y, groups, sample_weight)
        check_classification_targets(training.y)
        if is_fitted(inner):
            self.model_ = inner
        else:
            require_held_out(self.validation_fraction, X_val)
            if X_val is None:
                split, of = (self.validation_fraction, self.random_state), training
                rows, others = split_rows(of.y, *split, one_of_each_class=True, groups=of.groups, X=of.X)
                training, held_out = of.rows(rows), of.rows(others)
            told = for_inner(inner, training.weight, training.groups)
            self.model_ = seeded(inner, self.random_state).fit(training.X, training.y, **told)
        if X_val is not None:
            held_out = Brought(X_val, y_val)
        self._take_names_of(self.model_)
        self.costs_, self.classes_ = self.model_.costs_, np.asarray(self.model_.classes_)
        examples, labels = self.model_._checked_part(held_out.X, held_out.y, "y" if X_val is None else "y_val")
        counts = np.ones(labels.size) if held_out.weight is None else held_out.weight
        self._held_out = Labelled(examples, labels, counts).with_relative_weights()
        self._keep_held_out(self._held_out)
        self._adapt()
        return self

    def _answers(self) -> tuple[FloatArray, FloatArray, Array]:
        """Return what the classifier answers about the held-out examples, what they paid, and how much they tested."""
        examples = self._held_out[0]
        sessions = self.model_.sessions(examples.shape[0]).see(examples)
        return sessions.outputs, sessions.paid, sessions.progress.tests

    def at_budget(self, budget: object) -> Self:
        """Return the same model at another budget: what is learnt from held-out examples is learnt anew there."""
        check_is_fitted(self)
        other = copy(self)
        other.model_ = self.model_.at_budget(budget)
        other._adapt()
        return other

    def _choose(self) -> None:
        self._adapt()

    def _seller(self) -> Seller:
        return self.model_._seller()

    @property
    def _around(self) -> Any:
        return self.model_._ready

    def _checked(self, X: npt.ArrayLike) -> Array:
        return self.model_._checked(X)

    @property
    def budget(self) -> Any:
        """What an example may cost on average: that of the classifier."""
        return self._inner.budget

    @property
    def max_cost(self) -> Any:
        """The most that any one example may pay: that of the classifier."""
        return self._inner.max_cost

    @property
    def _n_measured(self) -> int:
        return int(self._inner._n_measured)

    @property
    def _inner(self) -> Any:
        return self.model_ if hasattr(self, "model_") else unfrozen(self.estimator)

    @property
    def class_costs_(self) -> Array | None:  # type: ignore[override]  # read from the classifier
        """What mistakes cost, where the classifier was told."""
        return self.model_.class_costs_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.model_.n_features_in_)

    @property
    def split_cost_(self) -> Fraction:  # type: ignore[override]  # read from the classifier
        """What one test of a feature costs."""
        return self.model_.split_cost_

    def __sklearn_is_fitted__(self) -> bool:
        return "_held_out" in vars(self)
