"""NestedCascade: models on more and more units, each example going on to the next only while that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ipforest._arrays import Array, FloatArray, IntArray
from ipforest.base import (
    BudgetedEstimator,
    check_integer,
    check_share,
    check_validation_part,
    optional_number,
    split_rows,
)
from ipforest.cascades.stopping import (
    FittedRule,
    StoppingPaths,
    StoppingRule,
    best_within,
    learn_stopping,
    margin,
)
from ipforest.cascades.unit_order import ORDERS, order_units
from ipforest.policy import ANSWERS, Progress, Rows
from ipforest.rational import nonnegative_fraction
from ipforest.session import ROUNDING


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A model and what it sees.

    Parameters
    ----------
    model : fitted estimator
    features : ndarray of int64
        Columns that it sees, those of the stages before included.
    new : ndarray of int64
        Those of them that no stage before sees.
    sees_before : bool
        Whether it also sees what the stage before answers.
    """

    model: Any
    features: IntArray
    new: IntArray
    sees_before: bool

    def outputs(self, X: Array, before: FloatArray | None) -> FloatArray:
        """Compute class probabilities, or targets as a column, for examples (n_samples, n_features)."""
        return _outputs(self.model, self.inputs(X, before))

    def inputs(self, X: Array, before: FloatArray | None) -> Array:
        """Take what the model sees of examples."""
        own = X[:, self.features]
        return np.hstack([own, before]) if self.sees_before and before is not None else own


def _outputs(model: Any, inputs: Array) -> FloatArray:
    if is_classifier(model):
        return np.asarray(model.predict_proba(inputs), dtype=np.float64)
    return np.asarray(model.predict(inputs), dtype=np.float64).reshape(-1, 1)


class _Place(NamedTuple):
    """What the policy keeps for each example: views of the progress."""

    stage: npt.NDArray[np.int32]
    bought: npt.NDArray[np.int32]
    memory: npt.NDArray[np.int32]
    state: npt.NDArray[np.int32]


DECIDING, BUYING, STOPPED = 0, 1, 2


class StagesInOrder:
    """Stages one after another, and a rule that may stop at each.

    Parameters
    ----------
    stages : sequence of Stage
        The first sees nothing; then what is free.
    rule : FittedRule
    level : float
        An example goes on while its keenness exceeds this.
    n_affordable : int
        How many stages an example may reach.
    """

    dtype = np.float64
    place_size = len(_Place._fields)
    ignores_unwanted = True

    def __init__(self, stages: Sequence[Stage], rule: FittedRule, level: float, n_affordable: int) -> None:
        self._stages, self._rule, self._level, self._n_affordable = stages, rule, level, n_affordable

    def stopped(self, rule: FittedRule, level: float) -> StagesInOrder:
        """Return the same stages with another rule and level."""
        return StagesInOrder(self._stages, rule, level, self._n_affordable)

    def advance(self, progress: Progress, rows: Rows) -> npt.NDArray[np.int32]:
        """Buy the features of a stage one by one; when it has all, decide whether to go on."""
        place = _Place(*progress.place.T)
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        moving = np.flatnonzero(place.state[rows] != STOPPED)
        while moving.size:
            deciding = moving[place.state[rows[moving]] == DECIDING]
            if deciding.size:
                self._decide(progress, place, rows[deciding])
            buying = moving[place.state[rows[moving]] == BUYING]
            wanted[buying] = self._buy(progress, place, rows[buying])
            moving = buying[place.state[rows[buying]] == DECIDING]
        return wanted

    def _decide(self, progress: Progress, place: _Place, rows: Rows) -> None:
        stage = place.stage[rows].astype(np.int64)
        signal = self._by_stage(progress, rows, self._signal)
        keen, memory = self._rule.keenness(stage, signal, place.memory[rows].astype(np.int64))
        goes_on = (keen > self._level) & (stage + 1 < self._n_affordable)
        place.memory[rows] = memory
        place.state[rows] = np.where(goes_on, BUYING, STOPPED)
        place.bought[rows] = 0

    def _buy(self, progress: Progress, place: _Place, rows: Rows) -> npt.NDArray[np.int32]:
        """Count what is known of the next stage; give the first feature that is not, or move on to the stage."""
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        for stage in np.unique(place.stage[rows]):
            here = np.flatnonzero(place.stage[rows] == stage)
            for position, feature in enumerate(self._stages[stage + 1].new.tolist()):
                at = here[place.bought[rows[here]] == position]
                has = progress.known[rows[at], feature]
                progress.tests[rows[at[has]], feature] += 1
                place.bought[rows[at[has]]] += 1
                wanted[at[~has]] = feature
        complete = rows[wanted == ANSWERS]
        place.stage[complete] += 1
        place.state[complete] = DECIDING
        return wanted

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Return what the last stage that has all its features answers."""
        return self._by_stage(progress, rows, self.outputs)

    def _by_stage(self, progress: Progress, rows: Rows, compute: Any) -> FloatArray:
        """Compute something for the examples of each stage together."""
        stage, parts, order = progress.place[rows, 0], [], []
        for number in np.unique(stage):
            here = np.flatnonzero(stage == number)
            parts.append(compute(int(number), progress.values[rows[here]]))
            order.append(here)
        result: FloatArray = np.concatenate(parts)[np.argsort(np.concatenate(order))]
        return result

    def outputs(self, number: int, X: Array) -> FloatArray:
        """Compute what a stage answers on examples, shape (n_samples, n_outputs)."""
        before = self.outputs(number - 1, X) if self._stages[number].sees_before else None
        return self._stages[number].outputs(X, before)

    def _signal(self, number: int, X: Array) -> FloatArray:
        before = self.outputs(number - 1, X) if number else None
        return stage_signal(self.outputs(number, X), before)

    def reason(self, progress: Progress, row: int) -> str:
        """Name the stage and say how sure the one before is."""
        stage = int(progress.place[row, 0])
        signal = self._by_stage(progress, np.array([row]), self._signal)[0]
        return f"stage {stage + 1} of {len(self._stages) - 1} sees it; the signal so far is {signal:.3f}"


def stage_signal(outputs: FloatArray, before: FloatArray | None) -> FloatArray:
    """Say how sure a stage is: the margin of its classes, or, for a target, minus its change from the stage before."""
    if outputs.shape[1] > 1:
        return margin(outputs)
    change: FloatArray = -np.abs(outputs[:, 0] - (outputs[:, 0] if before is None else before[:, 0]))
    return change


class NestedCascade(MetaEstimatorMixin, BudgetedEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Models trained on the 1, 2, 3, ... most useful units; each example goes on to the next only while that pays.

    It is a classifier or a regressor as its estimator is. Stages are trained on one part of the examples; when to stop
    is learnt on the other.

    Parameters
    ----------
    estimator : estimator, optional
        Trained anew for each stage; by default a random forest of 100 trees.
    order : {"importance", "path", "forward"} or sequence of features, default="importance"
        In which order units are bought; see `order_units`. Features are named, or numbered by column.
    sizes : sequence of int, optional
        How many units each stage has, ascending; by default 1, 2, 3, ..., 8, and then steps of a fourth.
    sees_before : bool, default=False
        Whether a stage also sees what the one before answers, in training by examples that it was not trained on.
    stopping : StoppingRule or sequence of StoppingRule, optional
        As in `EarlyExit`.
    feature_costs, groups, group_fees
        See `BudgetPrune`.
    budget : number, optional
        What an example may cost on average; without one, as much as lowers the error.
    max_cost : number, optional
        What no example may pay more than.
    n_folds : int, default=5
        See `EarlyExit`.
    validation_fraction : float, default=0.25
        Share of the examples on which it learns when to stop, if `fit` gets no ``X_val``.
    n_jobs : int, optional
        Stages that are trained at once, by joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part. The estimator has its own.

    Attributes
    ----------
    units_ : tuple of Unit
        In the order in which they are bought.
    stages_ : tuple of Stage
        The first sees nothing; then what is free.
    rule_ : FittedRule
    level_ : float
        An example goes on while its keenness exceeds this.
    curve_ : Curve
        Cost and error of every level on held-out examples.
    paths_ : StoppingPaths
        What these examples see and pay when nobody stops.
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: str | Sequence[Any] = "importance",
        sizes: Sequence[int] | None = None,
        sees_before: bool = False,
        stopping: StoppingRule | Sequence[StoppingRule] | None = None,
        feature_costs: Any = None,
        groups: Any = None,
        group_fees: Any = None,
        budget: Any = None,
        max_cost: Any = None,
        n_folds: int = 5,
        validation_fraction: float = 0.25,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.sizes = sizes
        self.sees_before = sees_before
        self.stopping = stopping
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.budget = budget
        self.max_cost = max_cost
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        X_val: npt.ArrayLike | None = None,
        y_val: npt.ArrayLike | None = None,
    ) -> Self:
        """Order the units, train the stages, and learn when to stop.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        X_val, y_val : arrays, optional
            Held-out examples on which it learns when to stop; by default a part of X.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Bad prices, parameters or examples.
        """
        self._read_parameters()
        check_validation_part(X_val, y_val)
        classify = is_classifier(self._base)
        examples, targets = validate_data(self, X, y, ensure_all_finite=self._finite(), y_numeric=not classify)
        if classify:
            check_classification_targets(targets)
        self.costs_ = self._read_costs()
        share = self.validation_fraction if X_val is None else None
        training, held_out = split_rows(targets, share, self.random_state, one_of_each_class=classify)
        validation = (
            (examples[held_out], targets[held_out]) if X_val is None else (self._checked(X_val), np.asarray(y_val))
        )
        self.classes_ = np.unique(targets) if classify else None
        self._train(examples[training], targets[training], validation)
        self._learn_stopping(*validation)
        self._choose()
        return self

    def _read_parameters(self) -> None:
        optional_number(self.budget, "budget")
        optional_number(self.max_cost, "max_cost")
        check_share(self.validation_fraction, "validation_fraction")
        if isinstance(self.order, str) and self.order not in ORDERS:
            raise ValueError(f"order: expected one of {', '.join(map(repr, ORDERS))} or features, got {self.order!r}")
        if self.sizes is not None and any(low >= high for low, high in pairwise([0, *self.sizes])):
            raise ValueError(f"sizes: expected numbers of units that rise from 1 or more, got {self.sizes!r}")
        check_integer(self.n_folds, "n_folds", 1)

    @property
    def _base(self) -> Any:
        return RandomForestClassifier(random_state=0) if self.estimator is None else self.estimator

    def _train(self, X: Array, y: Array, validation: tuple[Array, Array]) -> None:
        """Train a stage per size, in parallel unless each sees the one before."""
        seller = self._seller()
        self.units_ = order_units(self.order, self._base, X, y, validation, seller, self.n_jobs)
        nothing = np.empty(0, dtype=np.int64)
        free = np.array([feature for unit in seller.free_units() for feature in unit.features], dtype=np.int64)
        bought = [free, *(np.array(unit.features) for unit in self.units_)]
        sizes = self._stage_sizes(len(self.units_))
        sets = [np.concatenate(bought[: size + 1]) for size in ([0, *sizes] if free.size else sizes)]
        prior = DummyClassifier() if is_classifier(self._base) else DummyRegressor()
        sets, bases = [nothing, *sets], [prior, *[self._base] * len(sets)]
        new = [sets[0], *(more[less.size :] for less, more in pairwise(sets))]
        if self.sees_before:
            models = _train_chain(bases, sets, X, y)
        else:
            models = Parallel(n_jobs=self.n_jobs)(
                delayed(_train_stage)(base, X[:, features], y) for base, features in zip(bases, sets, strict=True)
            )
        self.stages_ = tuple(
            Stage(model, features, fresh, self.sees_before and number > 0)
            for number, (model, features, fresh) in enumerate(zip(models, sets, new, strict=True))
        )

    def _stage_sizes(self, n_units: int) -> list[int]:
        if self.sizes is not None:
            return [size for size in self.sizes if size <= n_units]
        sizes = [1]
        while sizes[-1] < n_units:
            sizes.append(min(n_units, max(sizes[-1] + 1, sizes[-1] * 5 // 4 if sizes[-1] >= 8 else 0)))
        return sizes

    def _learn_stopping(self, X: Array, y: Array) -> None:
        self.paths_ = self.paths_of(X, y)
        self._learnt = learn_stopping(self.stopping, self.paths_, self.n_folds)

    def paths_of(
        self, X: npt.ArrayLike, y: npt.ArrayLike, loss: Callable[[FloatArray, Array], FloatArray] | None = None
    ) -> StoppingPaths:
        """Note what examples see, and which units they buy, when nobody stops.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        loss : callable (outputs, y) -> ndarray, shape (n_samples,), optional
            What stopping with such outputs, shape (n_samples, n_outputs), loses; by default 1 for a wrong label, or the
            squared error.

        Returns
        -------
        StoppingPaths
        """
        examples, truth = np.asarray(X, dtype=np.float64), np.asarray(y)
        signals, losses = [], []
        bought_at = np.full(self.costs_.n_units, self._n_affordable, dtype=np.int64)
        outputs: FloatArray | None = None
        for number, stage in enumerate(self.stages_[: self._n_affordable]):
            before, outputs = outputs, stage.outputs(examples, outputs)
            signals.append(stage_signal(outputs, before))
            losses.append((loss or self._loss)(outputs, truth))
            for feature in stage.new.tolist():
                units = self.costs_.units_of(feature)
                bought_at[units] = np.minimum(bought_at[units], max(number - 1, 0))
        return StoppingPaths(
            signal=np.column_stack(signals),
            loss=np.column_stack(losses),
            last=np.full(truth.size, self._n_affordable - 1),
            bought_at=np.tile(bought_at, (truth.size, 1)),
            costs=self.costs_,
        )

    @property
    def _n_affordable(self) -> int:
        """How many stages an example may reach under the cap."""
        if self.max_cost is None:
            return len(self.stages_)
        used = np.zeros((len(self.stages_), self.n_features_in_), dtype=bool)
        for number, stage in enumerate(self.stages_):
            used[number, stage.features] = True
        limit = float(nonnegative_fraction(self.max_cost, "max_cost"))
        return int(np.sum(self.costs_.cost_of(used) <= limit * (1 + ROUNDING)))

    def _loss(self, outputs: FloatArray, y: Array) -> FloatArray:
        if self.classes_ is None:
            squares: FloatArray = np.square(outputs[:, 0] - y)
            return squares
        wrong: FloatArray = (self.classes_[np.argmax(outputs, axis=1)] != y).astype(np.float64)
        return wrong

    def _choose(self) -> None:
        (self.rule_, self.curve_), index = best_within(self._learnt, self.budget)
        self.level_ = float(self.curve_.level[index])

    def _policy(self) -> StagesInOrder:
        return StagesInOrder(self.stages_, self.rule_, self.level_, self._n_affordable)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._base)
        tags.estimator_type, tags.regressor_tags = inner.estimator_type, inner.regressor_tags
        tags.classifier_tags = inner.classifier_tags and replace(inner.classifier_tags, multi_label=False)
        tags.target_tags.required = True
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def _train_stage(base: Any, inputs: Array, y: Array) -> Any:
    return clone(base).fit(inputs, y)


def _train_chain(bases: Sequence[Any], sets: Sequence[IntArray], X: Array, y: Array) -> list[Any]:
    """Train stages that see what the one before answers about examples that it was not trained on."""
    models: list[Any] = []
    before = np.empty((X.shape[0], 0))
    for number, (base, features) in enumerate(zip(bases, sets, strict=True)):
        inputs = np.hstack([X[:, features], before])
        models.append(_train_stage(base, inputs, y))
        if number + 1 < len(sets):
            method = "predict_proba" if is_classifier(base) else "predict"
            before = cross_val_predict(base, inputs, y, method=method).reshape(X.shape[0], -1)
    return models
