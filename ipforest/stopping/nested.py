"""NestedCascade: models on more and more units, each example going on to the next only while that pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.examples import Labelled
from ipforest.estimator.checks import check_each, check_integer
from ipforest.estimator.given import Given
from ipforest.estimator.held_out import folds_of_groups
from ipforest.settings import Grouped, Settings
from ipforest.stopping.staged_estimator import StagedEstimator, train_stage
from ipforest.stopping.stages import Stage, feature_sets, stage_sizes, stages_in_order
from ipforest.stopping.unit_order import ORDERS, order_units

N_FOLDS = 5
"""Folds by which a stage learns from answers of the one before, which were trained on other examples."""


@dataclass(frozen=True, slots=True, repr=False)
class NestedStages(Settings):
    """Which units the stages of a chain have, and what they see.

    Parameters
    ----------
    order : {"importance", "path", "forward"} or sequence of features, default="importance"
        In which order units are bought; see `order_units`. Features are named, or numbered by column.
    sizes : sequence of int, optional
        How many units each stage has, ascending, where there are fewer all of them; by default 1, 2, 3, ..., 8, and
        then steps of a fourth.
    sees_before : bool, default=False
        Whether a stage also sees what the one before answers, in training by examples, and groups, that it was not
        trained on.
    """

    parameter: ClassVar[str] = "stages"

    order: str | Sequence[Any] = "importance"
    sizes: Sequence[int] | None = None
    sees_before: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.order, str) and self.order not in ORDERS:
            known = ", ".join(map(repr, ORDERS))
            raise ValueError(f"{self.named('order')}: expected one of {known} or features, got {self.order!r}")
        check_each(self.sizes, self.named("sizes"), check_integer, 1, or_none=True)
        if self.sizes is not None and any(low >= high for low, high in pairwise(self.sizes)):
            raise ValueError(
                f"{self.named('sizes')}: expected numbers of units that rise from 1 or more, got {self.sizes!r}"
            )


@dataclass(eq=False, repr=False, kw_only=True)
class NestedCascade(StagedEstimator):
    """Models trained on the 1, 2, 3, ... most useful units; each example goes on to the next only while that pays.

    It is a classifier or a regressor as its estimator is. Stages are trained on one part of the examples; when to stop
    is learnt on the other.

    Parameters
    ----------
    estimator : estimator, optional
        Trained anew for each stage, on some of the columns, so its parameters name or number none; a classifier has
        ``predict_proba``. By default a random forest of 100 trees.
    stages : NestedStages, optional
        Which units the stages have, and what they see.
    stopping, feature_costs, budget, max_cost, scoring, class_costs, n_folds, validation_fraction
        See `EarlyExit`; class costs are for classifiers only, and stages are trained without them.
    n_jobs : int, optional
        Stages that are trained at once, by joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, and seeds an estimator that has no seed of its own.

    Attributes
    ----------
    units_ : tuple of Unit
        In the order in which they are bought, without those whose features are the same in all training examples.
    stages_ : tuple of Stage
        The first sees nothing; then what is free.
    rule_, level_, curve_, paths_
        See `EarlyExit`.
    costs_ : FeatureCosts
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)
        Classifiers only.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import NestedCascade
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NestedCascade(RandomForestClassifier(20, random_state=0), budget=2, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 3)
    True
    """

    _stages = Grouped(NestedStages)

    stages: NestedStages | None = None

    def _alternatives(self, training: Labelled, validation: Labelled, given: Given) -> list[tuple[Stage, ...]]:
        """Train a stage per size, in parallel unless each sees the one before."""
        X, y = training.X, training.y
        seller = self._seller().without_constant(X)
        self.units_ = order_units(self._stages.order, self._base, training, validation, seller, self.n_jobs)
        n_units = len(self.units_)
        sizes = (
            stage_sizes(n_units)
            if self._stages.sizes is None
            else sorted({min(size, n_units) for size in self._stages.sizes} - {0})
        )
        sets = feature_sets([self.units_[:size] for size in sizes], seller)
        weight, sees_before = given.weight_to_train, self._stages.sees_before
        if sees_before:
            models = self._train_chain(sets, X, y, weight, given.groups_to_train)
        else:
            models = self._models(sets, X, y, weight)
        return [stages_in_order(models, sets, sees_before=sees_before)]

    def _train_chain(
        self, sets: Sequence[IntArray], X: Array, y: Array, weight: FloatArray | None, groups: Array | None
    ) -> list[Any]:
        """Train stages that see what the one before answers about examples, and groups, that it was not trained on."""
        models: list[Any] = []
        before = np.empty((X.shape[0], 0))
        classify = is_classifier(self._inner)
        method = "predict_proba" if classify else "predict"
        n_folds = _n_folds(y, classify)
        folds = n_folds if groups is None else PredefinedSplit(folds_of_groups(y, groups, n_folds, classify=classify))
        for features in sets:
            base, inputs = self._stage_base(features), np.hstack([X[:, features], before])
            models.append(train_stage(base, inputs, y, weight))
            if len(models) < len(sets):
                params = None if weight is None else {"sample_weight": weight}
                if params is not None and get_config()["enable_metadata_routing"]:
                    base = clone(base).set_fit_request(sample_weight=True)
                found = cross_val_predict(base, inputs, y, cv=folds, method=method, params=params)
                before = found.reshape(X.shape[0], -1)
        return models


def _n_folds(y: Array, classify: bool) -> int:
    """Return into how many folds examples are dealt, of which no class need have one in each."""
    most = int(np.unique(y, return_counts=True)[1].max()) if classify else y.size
    if most < 2:
        raise ValueError(
            "stages: expected without sees_before, or two examples of a class to train on, so that each is predicted "
            f"by a model that has not seen it, got {y.size} examples of a class each"
        )
    return min(N_FOLDS, most)
