"""Why BudgetRF's errors on Forest are not the printed ones: the number of training examples, and what was excluded."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest._internal.arrays import Array
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.experiments.budgetrf2015.table1 import PRINTED, share_and_error
from ipforest.experiments.budgetrf2015.table1 import TREES as PRINTED_TREES
from ipforest.experiments.condensed import columns
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.rows import averaged, draw_line, grouped
from ipforest.learners import BudgetRF
from ipforest.learners.budget_rf import GreedyGrowth

DATA = "covertype_93k"
N_TEST = 12_000
N_PAPER = 36_603
"""Training examples in the paper."""
N_COVERTYPE = 581_012
AS_PRINTED = "as printed"
OVERLAP = "test part overlaps the training part"
TWO_CLASSES = "two classes"
VARIANTS: dict[str, dict[str, Any]] = {
    AS_PRINTED: {},
    "every cut": {"growth__cuts": "all"},
    "leaves averaged": {"voting": "soft"},
    "expected reduction": {"growth__reduction": "expected"},
    "entropy, expected reduction, every cut": {
        "growth__impurity": "entropy",
        "growth__reduction": "expected",
        "growth__cuts": "all",
    },
    "20 random features per split": {"growth__max_features": 20},
    "free on the path": {"growth__free_on_path": True},
    OVERLAP: {},
    TWO_CLASSES: {},
}
"""What BudgetRF is changed in."""

N_COLOURS = 10
"""Of matplotlib's cycle; further curves are dashed."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per method, variant and number of training examples; the variants have ten trees."""
    if quick:
        return [{"method": "BudgetRF", "variant": AS_PRINTED, "examples": 1000, "trees": 10, "seed": seed}]
    sizes = [
        {"method": method, "variant": AS_PRINTED, "examples": n_examples, "trees": 40, "seed": seed}
        for n_examples in (N_PAPER, 2 * N_PAPER)
        for method in ("RF(Gini)", "BudgetRF")
    ]
    changed: list[Cell] = [
        {"method": "BudgetRF", "variant": variant, "examples": N_PAPER, "trees": 10, "seed": seed}
        for variant in VARIANTS
        if variant != AS_PRINTED
    ]
    return sizes + changed


def run(cell: Cell) -> list[Record]:
    """Train on so many examples, and measure the first trees on others."""
    data = datasets.load(DATA)
    order = np.random.default_rng(cell["seed"]).permutation(data.y.size)
    test, train = order[:N_TEST], order[N_TEST : N_TEST + cell["examples"]]
    y = (data.y == 1).astype(np.int64) if cell["variant"] == TWO_CLASSES else data.y
    if cell["variant"] == OVERLAP:
        n_shared = round(test.size * train.size / N_COVERTYPE)  # as if both were drawn from the whole of Covertype
        test = np.concatenate([test[n_shared:], train[:n_shared]])
    forest = _grown(cell, data.X[train], y[train])
    measured = share_and_error(forest, data.X[test], y[test], FeatureCosts.uniform(data.X.shape[1]))
    return [{"n_trees": n_trees, **found} for n_trees, found in measured.items()]


def _grown(cell: Cell, X: Array, y: Array) -> Forest:
    if cell["method"] != "BudgetRF":
        return Forest.from_sklearn(RandomForestClassifier(cell["trees"], random_state=cell["seed"]).fit(X, y))
    given = {"validation_fraction": None, "random_state": cell["seed"]}
    model = BudgetRF(cell["trees"], growth=GreedyGrowth(cuts="random"), voting="hard", **given)
    return model.set_params(**VARIANTS[cell["variant"]]).fit(X, y).to_forest()


def summarise(records: list[Record]) -> list[Record]:
    """Average over runs, with the paper's figures."""
    rows = averaged(records, ("method", "variant", "examples", "n_trees"), ("share", "error"))
    for row in rows:
        row["paper_share"], row["paper_error"] = PRINTED["forest", row["method"]][PRINTED_TREES.index(row["n_trees"])]
    return rows


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw error against the share of features, by method, variant and number of examples, and the paper's."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for number, (key, curve) in enumerate(grouped(rows, "method", "variant", "examples").items()):
        label = ", ".join(map(str, key))
        line = "-" if number < N_COLOURS else "--"
        draw_line(axes, curve, "share", "error", line, marker=".", label=label)
    for (method,) in grouped(rows, "method"):
        shares, errors = zip(*PRINTED["forest", method], strict=True)
        axes.plot(shares, errors, "k:", marker="x", label=f"{method}, paper")
    axes.set_xlabel("features used, % of all")
    axes.set_ylabel("test error")
    axes.grid(alpha=0.3)
    figure.legend(fontsize=7, loc="outside right upper")
    return figure


EXPERIMENT = Experiment(
    name="own/sample",
    title="BudgetRF on Forest by the number of training examples and by what else may explain its error",
    source="this package, on BudgetRF (ICML 2015), table 1",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "12,000 test examples of our 16% sample of Covertype, the same for all; training examples are among the rest",
        "One seed; variants of BudgetRF have 10 trees",
    ),
    quick="1,000 training examples, 10 trees",
    data=(DATA,),
    minutes=4,
    condense=columns("method", "variant", "examples", "n_trees", "share", "paper_share", "error", "paper_error"),
)
