"""What a method is given, and how what it makes is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.kernels import processor_clock
from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.model import trying_budgets
from ipforest.experiments.options import Answer, Option, levels, of_model, record_both
from ipforest.experiments.parts import Parts
from ipforest.frontiers.averaged_trees import LEAF_SIZES, MANY_FEATURES
from ipforest.policy import TreesInOrder
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.threshold_stopping import ThresholdStopping

ROUNDS_PER_TREE = 4
"""Rounds of boosting for each tree of a forest: 400 for 100, as many as `BudgetBoost` takes."""

PATIENCE = 50
"""Rounds without gain on the validation examples after which boosting ends."""

PREFIXES = (3, 6, 12, 25, 50, 100, 200)
"""Boosted ensembles may also be cut off after so many rounds."""

N_LEVELS = 100
"""Levels of a stopping rule that are measured, evenly spread over cost."""

RULES = (ThresholdStopping(), OptimalStopping())

P = ParamSpec("P")
T = TypeVar("T")


class Stopwatch:
    """Adds up the processor's seconds of training; compiling kernels does not count.

    Attributes
    ----------
    seconds : float
    """

    seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time until the end of the block."""
        start = processor_clock()
        yield
        self.seconds += processor_clock() - start


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is given: train on the first part, choose on the second, report the third.

    Parameters
    ----------
    parts : Parts
    costs : FeatureCosts
    budgets : tuple of float
        What an example may cost on average.
    n_trees : int
        Trees of a forest; boosting has `ROUNDS_PER_TREE` times as many rounds, and ends early on the validation part.
    seed : int
    max_features : tuple of {"sqrt", None} or float
        Features from which a split of a forest chooses. Each is tried where a method tries settings; elsewhere the
        first is taken.
    leaf_sizes : tuple of int
        Fewest examples per leaf that are tried out of bag where a forest is retrained on few features.
    patience : int
        Rounds without gain on the validation examples after which LightGBM ends.
    training : Stopwatch
    """

    parts: Parts
    costs: FeatureCosts
    budgets: tuple[float, ...]
    n_trees: int
    seed: int
    max_features: tuple[str | float | None, ...] = ("sqrt", MANY_FEATURES)
    leaf_sizes: tuple[int, ...] = LEAF_SIZES
    patience: int = PATIENCE
    training: Stopwatch = field(default_factory=Stopwatch)

    @property
    def alone(self) -> FloatArray:
        """What each feature costs alone, shape (n_features,)."""
        return self.costs.cost_of(np.eye(self.costs.n_features, dtype=bool))

    @property
    def prices(self) -> list[float]:
        """What each feature costs alone, a typical one 1."""
        alone = self.alone
        return [float(price) for price in alone / (np.median(alone[alone > 0]) if (alone > 0).any() else 1.0)]

    @property
    def n_rounds(self) -> int:
        """Most rounds of boosting."""
        return ROUNDS_PER_TREE * self.n_trees

    def either(self, of_classes: T, of_numbers: T) -> T:
        """Return what predicts classes or what predicts numbers."""
        return of_numbers if self.parts.is_regression else of_classes

    def forest(self, **settings: Any) -> RandomForestClassifier | RandomForestRegressor:
        """Describe the random forest that methods start from."""
        usual = {"n_estimators": self.n_trees, "max_features": self.max_features[0], "random_state": self.seed}
        return self.either(RandomForestClassifier, RandomForestRegressor)(**{**usual, **settings})

    def trained(self, fit: Callable[P, T], *arguments: P.args, **settings: P.kwargs) -> T:
        """Call what trains a model, and count its time."""
        with self.training.running():
            return fit(*arguments, **settings)


Method: TypeAlias = Callable[[Task], Iterable[Option]]
"""Trains on a task's first part, and gives all that it can do with its models."""


def trains_with(*libraries: str, predicts_numbers: bool = True) -> Callable[[Method], Method]:
    """Note on a method which optional libraries it needs, and whether it predicts numbers as well as classes."""

    def noted(method: Method) -> Method:
        vars(method).update(libraries=libraries, predicts_numbers=predicts_numbers)
        return method

    return noted


def whole(trees: Forest | BoostedTrees, task: Task, columns: Array | None = None) -> Option:
    """Measure an ensemble, perhaps of some of the columns, when no example stops."""
    chosen = slice(None) if columns is None else columns

    def answer(X: Array) -> Answer:
        seen, usage = X[:, chosen], np.zeros(X.shape, dtype=np.int32)
        usage[:, chosen] = trees.feature_usage(seen)
        if trees.classes is None:
            return Answer(trees.predict(seen), task.costs.cost_of(usage))
        outputs = trees.predict_proba(seen)
        labels = np.asarray(trees.classes)[np.argmax(outputs, axis=1)]
        return Answer(labels, task.costs.cost_of(usage), outputs)

    return Option.measured(task.parts, answer)


def prefixes(trees: BoostedTrees, task: Task, columns: Array | None = None) -> Iterator[Option]:
    """Measure boosted trees, whole and cut off."""
    n_margins = trees.base_score.size
    for size in sorted({*(n * n_margins for n in PREFIXES), trees.n_trees}):
        if size <= trees.n_trees:
            yield whole(trees.first(size), task, columns)


def stopped(trees: Forest | BoostedTrees, task: Task) -> Iterator[Option]:
    """Measure an ensemble at the levels of each stopping rule, cross-fitted on the validation examples."""
    paths = record_both(TreesInOrder(trees.centred()), task.parts, task.costs)
    yield from levels(RULES, *paths, N_LEVELS)


def at_budgets(model: BudgetedEstimator, task: Task, budgets: Sequence[float]) -> Iterator[Option]:
    """Measure a model that has budgets itself."""
    for budget in budgets:
        with trying_budgets():
            chosen = model.at_budget(budget)
        yield of_model(chosen, task.parts)


def fitted_to(estimator: Any, task: Task) -> Any:
    """Fit an estimator to the parts of a task, and count its time."""
    return task.trained(estimator.fit, *task.parts.to_fit)
