"""Measure how long training takes: boosted trees that pay for features, and the front end, with LightGBM as a peer."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from ipforest import datasets
from ipforest._internal.arrays import Array
from ipforest._internal.kernels import clock, processor_clock
from ipforest._internal.progress import ProgressCallback, silent
from ipforest.costs import FeatureCosts
from ipforest.experiments.benchmark_rows import Row, collected, in_own_process, row_of
from ipforest.experiments.parts import Parts
from ipforest.experiments.peers import penalised_lightgbm
from ipforest.experiments.solver_benchmarks import InstanceShape
from ipforest.experiments.synthetic import CLUSTERS, clusters
from ipforest.experiments.tasks import Task
from ipforest.frontiers.budget_boost import BoostGrowth, BoostSearch, BudgetBoost
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier

__all__ = ["BOOSTING_SIZES", "GRIDS", "TRAINING_SETS", "TrainingSet", "bench_boosting", "bench_training"]

BOOSTING_SIZES = (InstanceShape(200, 45_000),)
FIVE_CLASSES = "five classes"
"""Generated: of 60 features 20 tell something about one of five classes."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Examples that the front end is trained on.

    Parameters
    ----------
    data : str
        A name of `ipforest.datasets`, `FIVE_CLASSES` or `CLUSTERS`.
    n_training : int
        Half as many, or what is left, are to choose on.
    """

    data: str
    n_training: int

    def __str__(self) -> str:
        return f"{self.n_training} examples of {self.data}"

    def examples(self, seed: int) -> tuple[Array, Array, FeatureCosts]:
        """Return the examples, shuffled, and prices."""
        n = self.n_training * 3 // 2
        if self.data == CLUSTERS:
            return *clusters(n, 50, seed), FeatureCosts.uniform(50)
        if self.data == FIVE_CLASSES:
            X, y = make_classification(n, 60, n_informative=20, n_classes=5, random_state=seed)
            return X, y, FeatureCosts.uniform(60)
        data = datasets.load(self.data)
        chosen = np.random.default_rng(seed).permutation(data.y.size)[:n]
        return data.X[chosen].astype(np.float64), data.y[chosen], data.costs


TRAINING_SETS = (
    TrainingSet("miniboone_5k", 2500),
    TrainingSet("digits", 898),
    TrainingSet(FIVE_CLASSES, 2000),
    TrainingSet("covertype_93k", 5000),
)
GRIDS = {"to_grid": "LightGBM CEGB, 16 settings", "to_all_rounds": "LightGBM CEGB, 16 settings, all rounds"}
"""What training is compared with, by the column of the ratio."""
BOOSTING_RATES = (0.1,)
"""Of the grid of LightGBM models with penalties that training is compared with: `BudgetBoost`'s."""
BOOSTING = BoostGrowth(learning_rate=0.1, l2=1.0, max_leaf_nodes=32, max_bins=255, min_samples_leaf=5)
"""What LightGBM and `BudgetBoost`'s larger trees have in common."""


def bench_boosting(
    out: str | Path, sizes: Sequence[InstanceShape] = BOOSTING_SIZES, seed: int = 0, progress: ProgressCallback = silent
) -> list[Row]:
    """Time `BudgetBoost`, as it is and with one ensemble, and LightGBM with penalties on features (CEGB).

    Each has the examples, features and rounds of `sizes`, on the data that `FittedForest` generates, and a third as
    many examples to choose on, of which LightGBM needs none. Seconds are the processor's; nothing runs in threads.
    LightGBM is left out where it is not installed. Parameters and errors as for `bench_solvers`.
    """
    methods = {"BudgetBoost": _fit_budget_boost, "BudgetBoost, one ensemble": _fit_one_ensemble}
    if find_spec("lightgbm") is not None:
        methods["LightGBM CEGB"] = _fit_cegb

    def rows_of(size: InstanceShape, _: Path) -> list[Row]:
        facts = {"trees": size.n_trees, "examples": size.n_examples, "features": size.n_features}
        return _fit_rows(methods, _measure_boosting, size, seed, {"data": CLUSTERS, **facts})

    return collected(out, sizes, rows_of, progress)


def bench_training(
    out: str | Path, sizes: Sequence[TrainingSet] = TRAINING_SETS, seed: int = 0, progress: ProgressCallback = silent
) -> list[Row]:
    """Time `BudgetedClassifier` and a grid of 16 LightGBM models with lazy penalties on features (CEGB).

    Rows have seconds of the processor and of the clock, peak memory, the size of a pickle, and the ratios of the
    processor's seconds to those of the grid where it ends early, and where it goes on for all 400 rounds. Nothing is
    told to run in threads. LightGBM is left out where it is not installed.

    Parameters and errors as for `bench_solvers`.
    """
    methods = {"BudgetedClassifier": _fit_front_end}
    if find_spec("lightgbm") is not None:
        methods |= {GRIDS["to_grid"]: _fit_grid, GRIDS["to_all_rounds"]: _fit_grid_to_the_end}

    def rows_of(size: TrainingSet, _: Path) -> list[Row]:
        rows = _fit_rows(methods, _measure_training, size, seed, {"data": size.data, "examples": size.n_training})
        seconds = {row["method"]: row["seconds"] for row in rows}
        for row in rows:
            for column, grid in GRIDS.items():
                if seconds.get(grid) and row["method"] != grid:
                    row[column] = round(row["seconds"] / seconds[grid], 2)
        return rows

    return collected(out, sizes, rows_of, progress)


def _fit_rows(
    methods: Mapping[str, Callable[..., object]], measure: Callable[..., Row], size: Any, seed: int, facts: Row
) -> list[Row]:
    """Measure the fit of each method in a process of its own; `facts` about the size stand in the rows."""
    return [row_of(method, facts, in_own_process(measure, fit, size, seed)) for method, fit in methods.items()]


def _measure_training(fit: Callable[..., object], size: TrainingSet, seed: int) -> Row:
    """Fit to a few examples, so that kernels are compiled, and then to all of them."""
    X, y, costs = size.examples(seed)
    few, n = slice(0, 300), size.n_training
    fit(X[few], y[few], X[few], y[few], costs)
    started, began = processor_clock(), clock()
    model = fit(X[:n], y[:n], X[n:], y[n:], costs)
    seconds, wall = processor_clock() - started, clock() - began
    size_mb = len(pickle.dumps(model)) / 1e6
    return {"seconds": seconds, "wall": round(wall, 2), "pickle_mb": round(size_mb, 2)}


def _fit_front_end(X: Array, y: Array, X_val: Array, y_val: Array, costs: FeatureCosts) -> object:
    return BudgetedClassifier(feature_costs=costs, random_state=0).fit(X, y, X_val, y_val)


def _fit_grid(X: Array, y: Array, X_val: Array, y_val: Array, costs: FeatureCosts) -> object:
    return list(penalised_lightgbm(_grid_task(X, y, X_val, y_val, costs), "lazy", BOOSTING_RATES))


def _fit_grid_to_the_end(X: Array, y: Array, X_val: Array, y_val: Array, costs: FeatureCosts) -> object:
    task = _grid_task(X, y, X_val, y_val, costs)
    return list(penalised_lightgbm(replace(task, patience=task.n_rounds), "lazy", BOOSTING_RATES))


def _grid_task(X: Array, y: Array, X_val: Array, y_val: Array, costs: FeatureCosts) -> Task:
    return Task(Parts(X, y, X_val, y_val, X_val, y_val), costs, (), 100, 0)


def _measure_boosting(fit: Callable[..., object], size: InstanceShape, seed: int) -> Row:
    """Fit to a few examples, so that every kernel is compiled, and then to all of them."""
    X, y = clusters(size.n_examples * 4 // 3, size.n_features, seed)
    few, n = slice(0, 400), size.n_examples
    fit(size.n_trees // 10, X[few], y[few], X[few], y[few])
    started = process_time()
    fit(size.n_trees, X[:n], y[:n], X[n:], y[n:])
    return {"seconds": process_time() - started}


def _fit_budget_boost(n_rounds: int, X: Array, y: Array, X_val: Array, y_val: Array) -> object:
    return BudgetBoost(n_rounds, random_state=0).fit(X, y, X_val, y_val)


def _fit_one_ensemble(n_rounds: int, X: Array, y: Array, X_val: Array, y_val: Array) -> object:
    model = BudgetBoost(n_rounds, growth=BOOSTING, search=BoostSearch(single_price=False), random_state=0)
    return model.fit(X, y, X_val, y_val)


def _fit_cegb(n_rounds: int, X: Array, y: Array, X_val: Array, y_val: Array) -> object:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=n_rounds,
        learning_rate=BOOSTING.learning_rate,
        reg_lambda=BOOSTING.l2,
        num_leaves=BOOSTING.max_leaf_nodes,
        max_bin=BOOSTING.max_bins,
        min_child_samples=BOOSTING.min_samples_leaf,
        cegb_tradeoff=0.02,
        cegb_penalty_feature_lazy=[1.0] * X.shape[1],
        n_jobs=1,
        verbose=-1,
    )
    return model.fit(X, y)
