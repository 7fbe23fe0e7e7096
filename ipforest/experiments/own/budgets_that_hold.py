"""Budgets that hold: what test examples pay compared with the budget, by the number of examples it is kept on."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

from ipforest import datasets
from ipforest._internal.arrays import Array
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.frontier import budgets_for
from ipforest.experiments.rows import grouped
from ipforest.frontiers.budget_forest import BudgetForest, ForestSearch

SIZES = (50, 100, 200, 400)
"""Validation examples, and as many fresh ones without labels."""

DATA = ("digits", "cube", "letter", "miniboone_5k")
N_TRAINING, N_TEST = 600, 600
N_SEEDS = 1
N_TREES = 15
BOUNDS = ("betting", "student")
VALIDATION, BOTH = "validation", "validation, twice as many"
"""A budget kept on the validation examples alone, and on those and the fresh ones together, with their labels."""

SHARES = (5, 50, 95, 100)
"""Percentiles of the realised over the nominal cost that are reported."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, number of validation examples and seed."""
    named, sizes, n_seeds = (("digits",), SIZES[:2], 1) if quick else (DATA, SIZES, N_SEEDS)
    return [
        {"data": name, "validation": size, "seed": seed + number}
        for number in range(n_seeds)
        for name in named
        if name in datasets.names()
        for size in sizes
    ]


def run(cell: Cell) -> list[Record]:
    """Train once, choose for each budget in several ways, and measure what test examples pay."""
    data, size = datasets.load(cell["data"]), cell["validation"]
    X, y = data.X.astype(np.float64), data.y
    training, rest = _drawn(np.arange(y.size), y, N_TRAINING, cell["seed"])
    test, rest = _drawn(rest, y, min(N_TEST, rest.size - 2 * size), cell["seed"])
    validation, fresh = rest[:size], rest[size : 2 * size]
    forest = BudgetForest(
        N_TREES,
        search=ForestSearch(n_lambdas=2, n_prunings=4, n_lookahead=0),
        feature_costs=data.costs,
        random_state=cell["seed"],
    )
    model = forest.fit(X[training], y[training], X[validation], y[validation])
    records = []
    for budget in budgets_for(data.costs):
        for bound in BOUNDS:
            try:
                chosen: Any = model.at_safe_budget(budget, X[fresh], bound=bound)
            except ValueError:
                chosen = None
            records.append(_measured(bound, chosen, budget, X[test], y[test]))
        records.append(_measured(VALIDATION, model.at_budget(budget), budget, X[test], y[test]))
    more = np.concatenate([validation, fresh])
    again = forest.fit(X[training], y[training], X[more], y[more])
    return records + [
        _measured(BOTH, again.at_budget(budget), budget, X[test], y[test]) for budget in budgets_for(data.costs)
    ]


def _drawn(rows: Array, y: Array, n: int, seed: int) -> tuple[Array, Array]:
    """Draw so many rows, the classes in equal shares; return them and the others, both in random order."""
    drawn, others = train_test_split(rows, train_size=n, stratify=y[rows], random_state=seed)
    return drawn, others


def _measured(method: str, model: Any, budget: float, X: Array, y: Array) -> Record:
    """Measure a model; where no model is sure to keep the budget, nothing is bought and nothing is answered."""
    told = {"method": method, "budget": budget, "sure": model is not None}
    if model is None:
        return {**told, "cost": 0.0, "spread": 0.0, "error": 1.0}
    labels, paid = model.predict(X, return_cost=True)
    spread = float(paid.std(ddof=1) / np.sqrt(paid.size))
    return {**told, "cost": float(paid.mean()), "spread": spread, "error": float(np.mean(labels != y))}


def summarise(records: list[Record]) -> list[Record]:
    """Give percentiles of realised over nominal cost, by the number of validation examples and by how it is kept.

    ``exceeded`` is the share of the cases in which the mean cost of the test examples is above the budget, ``clearly``
    that in which it is so by more than two of its standard errors, ``sure`` that in which a model was found, and
    ``error`` the mean test error of these. Cases are data sets, seeds and budgets.
    """
    rows = []
    for (size, method), lines in sorted(grouped(records, "validation", "method").items(), key=itemgetter(0)):
        ratios = np.array([line["cost"] / line["budget"] for line in lines])
        clear = [line["cost"] - 2 * line["spread"] > line["budget"] for line in lines]
        found = [line["error"] for line in lines if line["sure"]]
        rows.append(
            {
                "validation": size,
                "method": method,
                "cases": len(lines),
                **{f"at {share}%": float(np.percentile(ratios, share)) for share in SHARES},
                "exceeded": float(np.mean(ratios > 1)),
                "clearly": float(np.mean(clear)),
                "sure": len(found) / len(lines),
                "error": 100 * float(np.mean(found)) if found else None,
            }
        )
    return rows


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw realised over nominal cost, one column of points for each way to keep a budget and number of examples."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot()
    methods = list(dict.fromkeys(row["method"] for row in rows))
    sizes = sorted({row["validation"] for row in rows})
    for number, method in enumerate(methods):
        for place, size in enumerate(sizes):
            ratios = [
                record["cost"] / record["budget"]
                for record in records
                if (record["method"], record["validation"]) == (method, size)
            ]
            at = place + (number - (len(methods) - 1) / 2) / (len(methods) + 1)
            axes.plot([at] * len(ratios), ratios, ".", color=f"C{number}", alpha=0.4, label=None if place else method)
    axes.axhline(1, color="0.4", lw=1)
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlabel("validation examples")
    axes.set_ylabel("realised over nominal cost")
    axes.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="own/budgets_that_hold",
    title="Realised over nominal cost on test data, by the number of validation examples",
    source="this package",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        f"BudgetForest with {N_TREES} trees, trained on {N_TRAINING} examples; {N_TEST} test examples or what is left",
        "eight budgets for each data set, as in the frontier; the confidence is 95%",
        "the fresh examples are as many as the validation examples, and have no labels but in the last method",
    ),
    quick="digits only, 1 seed, two sizes",
    minutes=37,
)
