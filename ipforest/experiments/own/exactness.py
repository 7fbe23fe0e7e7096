"""What pruning together, filling a budget up, and exactness bring: test errors within the same budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest.estimator.model import trying_budgets
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.parts import half_and_quarters
from ipforest.experiments.rows import grouped, mean_and_error, with_mean
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.forest_pruner import PruningSettings
from ipforest.learners.pruning_baselines import GreedyPrune, IndividualPruning

DATASETS = ("breast_cancer", "heart_cleveland", "digits", "miniboone_5k", "letter")
N_SEEDS, N_TREES, N_BUDGETS = 5, 40, 8
TIME_LIMIT = 2.0
"""Seconds of branch and bound for each budget."""
METHODS = ("exact", "greedy", "path", "each tree alone", "GreedyPrune")
"""The three searches of `BudgetPrune`; every tree pruned by itself; and greedy pruning of all."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set and seed."""
    sets, n_seeds = (("wine",), 2) if quick else (DATASETS, N_SEEDS)
    return [{"data": name, "seed": seed + number} for name in sets for number in range(n_seeds)]


def run(cell: Cell) -> list[Record]:
    """Fit one forest, prune it by every method to every budget, and measure each on test examples.

    Half of the examples train, a quarter says what features cost, a quarter tests.
    """
    data = datasets.load(cell["data"])
    parts = half_and_quarters(data.X, data.y, cell["seed"])
    forest = RandomForestClassifier(N_TREES, random_state=cell["seed"]).fit(parts.X_train, parts.y_train)
    whole = BudgetPrune(forest, feature_costs=data.costs, lam=0).fit(parts.X_validation)
    largest = float(whole.result_.cost)
    records = []
    with trying_budgets():
        for budget in np.geomspace(min(data.costs.positive_costs), 0.9 * largest, N_BUDGETS).tolist():
            for method, model in _pruned(forest, data, parts, budget):
                error = float(np.mean(model.predict(parts.X_test) != parts.y_test))
                cost = float(model.cost(parts.X_test).mean())
                records.append({"method": method, "budget": budget, "error": error, "cost": cost})
    return records


def _pruned(forest: Any, data: Any, parts: Any, budget: float) -> Iterator[tuple[str, Any]]:
    for method in METHODS[:3]:
        search = BudgetPrune(
            forest,
            feature_costs=data.costs,
            budget=budget,
            pruning=PruningSettings(search=method, time_limit=TIME_LIMIT),
            loss="gini",
        )
        yield method, search.fit(parts.X_validation)
    for method, baseline in zip(METHODS[3:], (IndividualPruning, GreedyPrune), strict=True):
        model = baseline(forest, feature_costs=data.costs, budget=budget, loss="gini")
        yield method, model.fit(parts.X_validation)


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds and budgets: test errors in per cent, and how far they are from those of the exact pruning."""
    rows = []
    for data, chosen in with_mean(records):
        runs = [grouped(run, "method") for _, run in sorted(grouped(chosen, "data", "seed").items())]
        errors = {
            method: np.array([100 * np.mean([record["error"] for record in run[(method,)]]) for run in runs])
            for method in METHODS
        }
        rows += [
            {
                "data": data,
                "method": method,
                "error": float(errors[method].mean()),
                **mean_and_error("above_exact", errors[method] - errors["exact"]),
                "runs": len(runs),
            }
            for method in METHODS
        ]
    return rows


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw by how much each method's error is above that of the exact pruning, by data set."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(1.4 * len(sets) + 2, 3.6))
    axes = figure.add_subplot()
    for place, method in enumerate(METHODS[1:]):
        shown = [row for row in rows if row["method"] == method]
        axes.errorbar(
            np.arange(len(sets)) + 0.12 * (place - 1.5),
            [row["above_exact"] for row in shown],
            [row["above_exact_se"] for row in shown],
            fmt="o",
            label=method,
        )
    axes.axhline(0, color="0.6", linewidth=1)
    axes.set_xticks(range(len(sets)), sets, fontsize=8)
    axes.set_ylabel("test error above the exact pruning's, points")
    axes.legend(fontsize=8)
    figure.tight_layout()
    return figure


EXPERIMENT = Experiment(
    name="own/exactness",
    title="What pruning together, filling a budget up, and exactness bring",
    source="this package",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "Half of the examples train, a quarter says what features cost, a quarter tests; nothing is chosen on the last",
        f"Forests of {N_TREES} trees are pruned by in-bag Gini impurity; {N_BUDGETS} budgets from the cheapest unit to "
        "90% of what the forest costs, evenly spread on a logarithmic scale",
        f"Branch and bound stops after {TIME_LIMIT:g} s per budget",
    ),
    quick="wine only, 2 seeds",
    data=DATASETS,
)
