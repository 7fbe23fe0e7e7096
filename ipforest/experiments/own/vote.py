"""What pruning for the vote brings: test errors of one forest, pruned for its trees' mean loss or for its vote."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest.estimator.model import trying_budgets
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.parts import half_and_quarters
from ipforest.experiments.rows import MEAN, draw_line, grouped, mean_and_error, panels, with_mean
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.forest_pruner import PruningSettings

DATASETS = ("breast_cancer", "heart_cleveland", "pima", "digits", "miniboone_5k", "letter")
N_SEEDS, FIRST_SEED, N_TREES = 5, 100, 40
SHARES = (0.1, 0.16, 0.24, 0.37, 0.58, 0.9)
"""Budgets, in what an example pays for the unpruned forest."""
METHODS = ("trees", "forest", "trees, refitted", "forest, refitted")


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set and seed; the seeds are others than those that the method was tried on."""
    sets, n_seeds = (("wine",), 2) if quick else (DATASETS, N_SEEDS)
    return [{"data": name, "seed": FIRST_SEED + seed + number} for number in range(n_seeds) for name in sets]


def run(cell: Cell) -> list[Record]:
    """Train on two thirds of three quarters, and measure each budget on the last quarter."""
    data = datasets.load(cell["data"])
    parts = half_and_quarters(data.X, data.y, cell["seed"], most=(4000, 2000, 2000))
    X = np.concatenate([parts.X_train, parts.X_validation])
    y = np.concatenate([parts.y_train, parts.y_validation])
    forest = RandomForestClassifier(N_TREES, random_state=cell["seed"])
    records = []
    with trying_budgets():
        for method in METHODS:
            objective, _, refitted = method.partition(", ")
            model = BudgetPrune(
                forest,
                feature_costs=data.costs,
                budget=0,
                pruning=PruningSettings(objective=objective, refit=bool(refitted)),
                validation_fraction=1 / 3,
                random_state=cell["seed"],
            ).fit(X, y)
            whole = float(model.instance_.evaluate(model.instance_.unpruned)[1])
            for share in SHARES:
                chosen = model.at_budget(share * whole)
                error = float(np.mean(chosen.predict(parts.X_test) != parts.y_test))
                cost = float(chosen.cost(parts.X_test).mean()) / whole
                records.append({"method": method, "share": share, "error": 100 * error, "cost": cost})
    return records


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds: errors in per cent, and how far below those of the forest pruned for its trees they are."""
    rows = []
    for data, of_data in with_mean(records):
        runs = grouped(of_data, "share", "method")
        errors = {key: np.array([run["error"] for run in same]) for key, same in runs.items()}
        rows += [
            {
                "data": data,
                "share": share,
                "method": method,
                "error": float(errors[share, method].mean()),
                **mean_and_error("below_trees", errors[share, METHODS[0]] - errors[share, method]),
                "runs": errors[share, method].size,
            }
            for share in SHARES
            for method in METHODS
        ]
    return rows


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw test error against budget, a panel per data set."""
    shown = [row for row in rows if row["data"] != MEAN]
    figure, parts = panels(shown, "data", width=4, height=3.2, n_columns=3)
    for data, of_data, axes in parts:
        for (method,), line in grouped(of_data, "method").items():
            draw_line(axes, line, "share", "error", "o-", label=method, markersize=3)
        axes.set_title(data, fontsize=10)
        axes.set(xlabel="budget, share of the unpruned cost", ylabel="test error, %")
    axes.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="own/vote",
    title="What pruning for the vote brings",
    source="this package",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "Half of the examples train the forest, a quarter says what features cost, a quarter tests (of 8,000 at most); "
        "votes are counted on out-of-bag examples and on the second part; nothing is chosen on the last",
        f"Forests of {N_TREES} trees; budgets found by greedy search",
    ),
    quick="wine only, 2 seeds",
    data=DATASETS,
    minutes=19,
)
