"""What the guards of stopping rules against overfitting bring: minimum support, monotone bins, cross-fitting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.options import Option, choose, constant, levels, record_both
from ipforest.experiments.own.early_exit import N_LEVELS, penalised, task_of
from ipforest.experiments.rows import compared
from ipforest.experiments.tasks import Task
from ipforest.policy import TreesInOrder
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.paths import StoppingPaths, StoppingRule

DATA = ("miniboone_5k", "synthetic", "letters")
INPUTS = ("CEGB", "nested")


class Guarded(NamedTuple):
    """A stopping rule, and the folds in which its levels are measured."""

    rule: StoppingRule
    n_folds: int = 5


DEFAULT = "optimal stopping"
GUARDS = {
    DEFAULT: Guarded(OptimalStopping()),
    "support 1": Guarded(OptimalStopping(min_support=1)),
    "support 100": Guarded(OptimalStopping(min_support=100)),
    "not monotone": Guarded(OptimalStopping(monotone=False)),
    "support 1, not monotone": Guarded(OptimalStopping(min_support=1, monotone=False)),
    "32 bins": Guarded(OptimalStopping(n_bins=32)),
    "32 bins, support 1, not monotone": Guarded(OptimalStopping(n_bins=32, min_support=1, monotone=False)),
    "no cross-fitting": Guarded(OptimalStopping(), 1),
    "no guard": Guarded(OptimalStopping(min_support=1, monotone=False), 1),
    "certified": Guarded(CertifiedStopping()),
    "certified, support 15": Guarded(CertifiedStopping(min_support=15)),
    "certified, support 150": Guarded(CertifiedStopping(min_support=150)),
}

FEW = 250
"""Held-out examples where overfitting is likely."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, kind of model and seed."""
    data, n_seeds, trees = (("letters",), 1, 20) if quick else (DATA, 5, 60)
    return [
        {"data": name, "input": kind, "trees": trees, "seed": seed + run}
        for run in range(n_seeds)
        for name in data
        for kind in INPUTS
    ]


def run(cell: Cell) -> list[Record]:
    """Train models of one kind; learn to stop them under each guard, from all and from few held-out examples."""
    task = task_of(cell)
    recorded, budgets = (_cegb if cell["input"] == "CEGB" else _nested)(task), task.budgets
    records = []
    for n_held_out in (task.parts.y_validation.size, FEW):
        for name, guarded in GUARDS.items():
            options: list[Option] = [constant(task.parts)]
            for validation, test in recorded:
                options += levels(guarded.rule, validation.of(np.arange(n_held_out)), test, N_LEVELS, guarded.n_folds)
            chosen = [choose(options, budget) for budget in budgets]
            error = float(np.mean([option.error for option in chosen]))
            over = float(
                np.mean([max(0.0, option.cost / budget - 1) for option, budget in zip(chosen, budgets, strict=True)])
            )
            records.append({"guard": name, "held out": n_held_out, "error": error, "overspent": over})
    return records


def _cegb(task: Task) -> list[tuple[StoppingPaths, StoppingPaths]]:
    boosted = penalised(task, cegb_penalty_feature_lazy=[1.0] * task.costs.n_features)
    return [record_both(TreesInOrder(trees), task.parts, task.costs) for trees in boosted]


def _nested(task: Task) -> list[tuple[StoppingPaths, StoppingPaths]]:
    forest = RandomForestClassifier(task.n_trees, random_state=task.seed, n_jobs=1)
    cascade = NestedCascade(forest, random_state=task.seed).fit(*task.parts.to_fit)
    return [(cascade.paths_, cascade.paths_of(task.parts.X_test, task.parts.y_test))]


def summarise(records: list[Record]) -> list[Record]:
    """Average error over budgets and seeds; the gain of each guard is over the default rule, seed by seed."""
    keys, columns = ("data", "input", "held out", "guard"), ("error", "gain", "gain_se", "overspent")
    return compared(records, keys, columns, guard=DEFAULT)


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the gain of every guard with its standard error, a panel per number of held-out examples."""
    figure = Figure(figsize=(13, 6), layout="constrained")
    guards = [guard for guard in GUARDS if guard != DEFAULT]
    for place, few in enumerate((False, True), start=1):
        axes = figure.add_subplot(1, 2, place)
        shown = [row for row in rows if (row["held out"] == FEW) == few]
        places = list(dict.fromkeys((row["data"], row["input"]) for row in shown))
        for number, (data, kind) in enumerate(places):
            gains = {row["guard"]: row for row in shown if (row["data"], row["input"]) == (data, kind)}
            axes.errorbar(
                [100 * gains[guard]["gain"] for guard in guards],
                np.arange(len(guards)) + 0.1 * (number - len(places) / 2),
                xerr=[100 * gains[guard]["gain_se"] for guard in guards],
                marker=".",
                linestyle="",
                label=f"{data}, {kind}",
            )
        axes.axvline(0, color="grey", linewidth=0.8)
        axes.set_yticks(np.arange(len(guards)), guards if place == 1 else [""] * len(guards))
        axes.invert_yaxis()
        axes.set(
            xlabel=f"test error less than that of {DEFAULT}, points", title=f"{FEW} held out" if few else "all held out"
        )
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="own/stopping_guards",
    title="Guards of stopping rules against overfitting",
    source="this package",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "errors are means over the budgets of early-exit; everything is chosen on the held-out examples",
        f"{DEFAULT}: 8 bins, support 30, monotone, five folds; the others change what their name says",
    ),
    quick="letters only, 20 trees, 1 seed",
    data=("letter", "miniboone_5k"),
)
