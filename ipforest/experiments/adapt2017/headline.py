"""What the headline of Nan and Saligrama (2017) rests on: accounting, rounds, charge, grid and classes, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
from matplotlib.figure import Figure

from ipforest.adaptive.approximation import Accounting
from ipforest.experiments.adaptive_curves import ANY_THRESHOLD, Sweep, fitted_points, savings
from ipforest.experiments.condensed import columns
from ipforest.experiments.curves import entropy_forest
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.paper_data import available, load_parts, two_classes
from ipforest.experiments.rows import panels

GATE_SHARES = (0.1, 0.3, 0.5, 0.7)
BASE = {
    "miniboone": Sweep((0.5, 0.7), (1e-3, 1e-4), n_estimators=40, n_readouts=4, gate_shares=GATE_SHARES),
    "forest": Sweep((0.5, 0.7), (1e-3, 1e-4), n_estimators=30, n_readouts=4, gate_shares=GATE_SHARES),
}
WIDE = (np.linspace(0.2, 0.9, 4), np.geomspace(1e-2, 1e-6, 4), (0.5, 1.0))
"""Shares, lambdas and learning rates over the range of the authors' grid."""

ARMS = {
    "ours": "one pass, prices per path, the small grid",
    "charge per tree": "prices once per tree, as printed",
    "charge per node": "prices at each node",
    "regrown": "both ensembles grown from nothing for each renewal of the shares, up to 20 times",
    "regrown, charge per node": "both, as the authors ran it",
    "wide grid": "shares from .2 to .9, lambdas over four decades, learning rates .5 and 1",
    "two classes": "the most frequent class against the others: the printed algorithm has two classes",
    "two classes, wide grid": "both",
    "two classes, regrown, charge per node": "all three",
}
ARMS_OF = {"miniboone": tuple(ARMS)[:6], "forest": tuple(arm for arm in ARMS if arm != "regrown")}
"""MiniBooNE has two classes; Forest's seven, grown 20 times, are done once."""

ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)
EXAMPLES = {"miniboone": None, "forest": 4000}
TREES = {"miniboone": 40, "forest": 20}
RUNS = 3
PRINTED = {"miniboone": 0.63, "forest": 0.32}


def sweep_of(name: str, arm: str) -> Sweep:
    """Return what an arm sweeps: what ours does, changed in one respect, or in two."""
    sweep = BASE[name]
    if "node" in arm:
        sweep = replace(sweep, charge="node")
    if arm == "charge per tree":
        sweep = replace(sweep, charge="tree")
    if "regrown" in arm:
        sweep = replace(sweep, max_regrowths=20)
    if "wide grid" in arm:
        shares, lambdas, rates = WIDE
        sweep = replace(sweep, shares=tuple(shares), lambdas=tuple(lambdas), learning_rates=rates)
    return sweep


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, arm and run; arms that take long have one run."""
    return [
        {
            "data": data,
            "arm": arm,
            "seed": seed + run,
            "examples": 600 if quick else EXAMPLES[data],
            "trees": 5 if quick else TREES[data],
            "rounds": 4 if quick else BASE[data].n_estimators,
        }
        for data in BASE
        if available(data)
        for arm in ARMS_OF[data]
        for run in range(1 if quick or "regrown" in arm or "wide grid" in arm else RUNS)
    ]


def run(cell: Cell) -> list[Record]:
    """Fit once, and measure under both accountings."""
    data = load_parts(cell["data"], cell["examples"])
    if "two classes" in cell["arm"]:
        data = two_classes(data)
    sweep = replace(sweep_of(cell["data"], cell["arm"]), n_estimators=cell["rounds"])
    models = sweep.models(entropy_forest(cell["trees"], cell["seed"]), data, 3, cell["seed"])
    for model in models:
        model.fit(*data.parts.to_fit)
    return [
        {"accounting": accounting, **point}
        for accounting in ACCOUNTINGS
        for point in fitted_points(models, data, accounting)
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Give what each arm saves within 1% of the best accuracy, under each accounting."""
    rows = savings(records, ("data", "arm", "accounting", "gate"))
    return [{**row, "paper": PRINTED[row["data"]]} for row in rows]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw what is saved, a panel per data set and a bar per arm and accounting, above the printed share."""
    figure, parts = panels(rows, "data", width=6.2, height=4.2)
    for name, of_data, axes in parts:
        shown = [row for row in of_data if row["gate"] == rows[0]["gate"]]
        for number, accounting in enumerate(ACCOUNTINGS):
            saved = {row["arm"]: row["saved"] for row in shown if row["accounting"] == accounting}
            axes.barh(np.arange(len(saved)) + 0.4 * number, list(saved.values()), 0.4, label=accounting)
        axes.axvline(PRINTED[name], color="black", linestyle=":", label="printed")
        axes.set_yticks(np.arange(len(saved)) + 0.2, list(saved))
        axes.set_title(name)
    axes.legend(fontsize=8)
    figure.supxlabel("share of the forest's cost that is saved within 1% of the best accuracy")
    return figure


def shown(rows: list[Record]) -> list[Record]:
    """Show the rows of the gate whose threshold is chosen, too."""
    return columns(
        *("data", "arm", "accounting", "full_cost", "full_error", "best_error"),
        *("cost", "error", "saved", "saved_as_full", "paper", "runs"),
    )([row for row in rows if row["gate"] == ANY_THRESHOLD])


EXPERIMENT = Experiment(
    name="adapt2017/headline",
    title="What Adapt-Gbrt saves: by accounting, rounds, charge, grid and classes",
    source="Nan and Saligrama (NIPS 2017), section 5, Significant Cost Reduction",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        *(f"{arm}: {sentence}" for arm, sentence in ARMS.items()),
        "MiniBooNE: the authors' public sample of 5,000 events, 40 rounds of trees; Forest: 4,000 examples per part of "
        "our sample, a forest of 20 trees, 30 rounds of trees",
        "The small grid: shares .5 and .7, lambdas .001 and .0001, learning rate .5; the wide one: 4 shares, 4 "
        "lambdas, 2 learning rates; the authors': 15 x 16 x 6 over 100 rounds",
        "The forest's losses are cross-fitted in 3 folds",
        "One run where trees are regrown and with the wide grid, three elsewhere",
    ),
    quick="5 trees, 600 examples per part, 4 rounds of trees",
    data=tuple(BASE),
    minutes=12,
    printed=("Within 1% of the best accuracy 63% of the forest's cost are saved on MiniBooNE, and 32% on Forest",),
    reasons=(
        "MiniBooNE: with the small grid 63% are saved, as printed. A wider grid, or regrowing, finds pairs of a "
        "lower error than the forest's, and 1% is counted from these: then 40 to 43% are saved, though 66 to 81% "
        "within 1% of the forest's own accuracy",
        "Forest: the printed algorithm has two classes. With two classes 31% are saved; with all seven, for which the "
        "paper has no formula, 6% in three runs",
        "Forest with seven classes and the wide grid, or regrown: as much is saved in one run, but the error on test "
        "examples is then 1.2 to 1.5 points above that of the forest",
        "Accounting: to count the full model's features alone adds 1 point at most on MiniBooNE, and 3.4 on Forest",
        "Charge: per tree or per node changes MiniBooNE by less than one standard deviation, and Forest, whose runs "
        "differ by 5 to 18 points, by no more than that",
    ),
    condense=shown,
)
