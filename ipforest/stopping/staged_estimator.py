"""The base of the estimators that train a model for each of several stages, and learn when to stop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_line
from ipforest._internal.examples import Labelled, weights_for
from ipforest.choosing.class_costs import label_losses
from ipforest.choosing.frontier import Frontier
from ipforest.estimator.checks import check_estimator
from ipforest.estimator.given import Given, seeded
from ipforest.estimator.tags import AroundEstimator
from ipforest.settings import checked
from ipforest.stopping.paths import StoppingPaths
from ipforest.stopping.stages import Loss, Stage, StagesInOrder
from ipforest.stopping.stopped import Member, StoppedEstimator

__all__ = ["StagedEstimator", "train_stage"]

OF_COLUMNS = frozenset(
    (
        *("categorical_features", "monotonic_cst", "interaction_cst", "transformers"),
        *("categorical_feature", "feature_contri", "cegb_penalty_feature_coupled", "cegb_penalty_feature_lazy"),
        *("monotone_constraints", "interaction_constraints", "feature_types", "feature_weights"),
        *("cat_features", "ignored_features", "first_feature_use_penalties", "per_object_feature_penalties"),
    )
)
"""Parameters that say something of single columns: scikit-learn's, LightGBM's, XGBoost's and CatBoost's."""
OF_NO_COLUMN = ("", "auto", "from_dtype", "pairwise", "no_interactions")
"""Their values that are texts, and about no column of an array."""


@dataclass(eq=False, repr=False)
class StagedEstimator(AroundEstimator, StoppedEstimator):
    """Base of the estimators that train a model for each of several stages, and learn when to stop.

    A subclass trains stages in `_alternatives`. It is a classifier or a regressor as its estimator is. Stages are
    trained on one part of the examples; when to stop is learnt on the other.

    Attributes
    ----------
    candidates_ : tuple of Member
        What can be chosen from.
    stages_ : tuple of Stage
        The first sees nothing; then what is free.
    rule_, level_, curve_, paths_
        See `EarlyExit`.
    """

    min_classes = 1

    estimator: Any = checked(None, check_estimator, or_none=True)
    _: KW_ONLY
    n_jobs: int | None = None

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        if not is_classifier(self._inner) and not is_regressor(self._inner):
            raise TypeError(f"estimator: expected a classifier or a regressor, got {type(self._inner).__name__}")
        if is_classifier(self._inner) and not hasattr(self._inner, "predict_proba"):
            raise TypeError(
                f"estimator: expected predict_proba, got {type(self._inner).__name__} without; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        _require_nothing_of_columns(self._inner)

    @abstractmethod
    def _alternatives(self, training: Labelled, validation: Labelled, given: Given) -> list[tuple[Stage, ...]]:
        """Train stages, or several alternatives of them."""

    def _train(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> Frontier:
        self._groups_held_out = given.groups_held_out
        alternatives = self._alternatives(training, validation, given)
        self.candidates_ = tuple(self._candidate(stages, validation) for stages in alternatives)
        curves = [learnt.curve for candidate in self.candidates_ for learnt in candidate.learnt]
        return Frontier.of_points(point for curve in curves for point in zip(curve.cost, curve.error, strict=True))

    @property
    def _inner(self) -> Any:
        return RandomForestClassifier(random_state=0) if self.estimator is None else self.estimator

    @property
    def _base(self) -> Any:
        """What is trained for each stage, not fitted."""
        return seeded(self._inner, self.random_state)

    def _models(self, sets: Sequence[IntArray], X: Array, y: Array, weight: FloatArray | None) -> list[Any]:
        """Train a model on each set of features, in parallel; the prior where there is none."""
        models: list[Any] = Parallel(n_jobs=self.n_jobs)(
            delayed(train_stage)(self._stage_base(features), X[:, features], y, weight) for features in sets
        )
        return models

    def _stage_base(self, features: IntArray) -> Any:
        """Return what is trained on some features: the prior where there are none."""
        if features.size:
            return self._base
        return DummyClassifier() if is_classifier(self._inner) else DummyRegressor()

    def _candidate(self, stages: tuple[Stage, ...], held_out: Labelled) -> Member:
        policy = StagesInOrder(stages, self.costs_, self.max_cost, class_costs=self.class_costs_)
        return self._member(policy, held_out, self._loss, self.stopping, self.n_folds)

    def paths_of(self, X: npt.ArrayLike, y: npt.ArrayLike, loss: Loss | None = None) -> StoppingPaths:
        """Note what examples see, and which units they buy, when no example stops.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        loss : callable (outputs, y) -> ndarray, shape (n_samples,), optional
            See `StagesInOrder.paths_of`; by default 1 for a wrong label, or what it costs, or the squared error.
        """
        policy: StagesInOrder = self._way[0].policy
        return policy.paths_of(self._checked(X).astype(np.float64), np.asarray(y), loss or self._loss)

    def _loss(self, outputs: FloatArray, y: Array) -> FloatArray:
        if not is_classifier(self):
            squares: FloatArray = np.square(outputs[:, 0] - y)
            return squares
        return label_losses(outputs, y, self.classes_, self.class_costs_)

    def _choose(self) -> None:
        """Take the stages, rule and level of least error on held-out examples within the budget."""
        self._take_best(self.candidates_)

    @property
    def stages_(self) -> tuple[Stage, ...]:
        """The stages that are chosen: the first sees nothing; then what is free."""
        policy: StagesInOrder = self._way[0].policy
        return policy.stages


def _require_nothing_of_columns(estimator: Any) -> None:
    """Require that nothing is said of single columns, which are others in each stage.

    Raises
    ------
    ValueError
        A parameter of the estimator, or of one in it, lists or numbers columns.
    """
    for name, value in estimator.get_params().items():
        if name.rpartition("__")[2] not in OF_COLUMNS or value is None:
            continue
        if value not in OF_NO_COLUMN if isinstance(value, str) else not hasattr(value, "__len__") or len(value):
            raise ValueError(
                f"estimator: expected one that says nothing of single columns, as each stage sees some of them, got "
                f"{name}={one_line(repr(value))}; for categories there are BudgetForest and BudgetBoost"
            )


def train_stage(base: Any, inputs: Array, y: Array, weight: FloatArray | None = None) -> Any:
    """Train a new model like another on what its stage sees."""
    return clone(base).fit(inputs, y, **weights_for(base, weight))
