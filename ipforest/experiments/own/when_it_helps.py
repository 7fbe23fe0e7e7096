"""Pruning to a budget against what a user would do without it: retrain on few features, or prune blind to prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import NamedTuple

from matplotlib.figure import Figure

from ipforest import datasets
from ipforest.experiments.comparison import SIMPLE, Comparison, Outcome, compare
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.rows import grouped, panels

N_TREES = 40


class Setting(NamedTuple):
    """How a data set is used: budgets per example, features tried at a split (None for all), and seeds."""

    budgets: tuple[float, ...]
    max_features: str | None
    n_seeds: int


SETTINGS = {
    "breast_cancer": Setting((1, 2, 3, 5, 8, 12, 20, 27), "sqrt", 30),
    "wine": Setting((1, 2, 3, 4, 6, 8, 10, 13), "sqrt", 10),
    "heart_cleveland": Setting((1, 3, 10, 30, 100, 200, 300, 500), "sqrt", 10),
    "cube": Setting((3, 4, 5, 6, 8, 10), None, 10),
    "digits": Setting((2, 4, 6, 8, 12, 16, 24, 40), "sqrt", 10),
    "miniboone_5k": Setting((1, 2, 3, 5, 8, 12, 20, 32), "sqrt", 10),
    "letter": Setting((2, 3, 4, 5, 6, 8, 10, 13), "sqrt", 10),
}


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, seed and method."""
    settings = {"wine": SETTINGS["wine"]._replace(n_seeds=2)} if quick else SETTINGS
    return [
        {"data": name, "seed": seed + number, "method": method}
        for name, setting in settings.items()
        for number in range(setting.n_seeds)
        for method in SIMPLE
    ]


def run(cell: Cell) -> list[Record]:
    """Train one method on one seed's parts, and choose for each budget on the validation part."""
    setting = SETTINGS[cell["data"]]
    data = replace(datasets.load(cell["data"]), split=None)
    chosen = {cell["method"]: SIMPLE[cell["method"]]}
    comparison = compare(data, setting.budgets, [cell["seed"]], chosen, N_TREES, setting.max_features)
    return [asdict(outcome) for outcome in comparison.outcomes]


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds, with standard errors; ``difference`` is from the pruned forest, seed by seed."""
    return [
        {"data": comparison.data, **record, "seeds": comparison.n_seeds}
        for comparison in _comparisons(records)
        for record in comparison.summary()
    ]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw test error against budget, one panel per data set, with bands of one standard error; one legend for all."""
    figure, parts = panels(records, "data", width=5, height=4, n_columns=3)
    for comparison, (_, _, axes) in zip(_comparisons(records), parts, strict=True):
        comparison.plot(ax=axes)
        axes.set_title(f"{comparison.data}, {comparison.n_seeds} seeds", fontsize=10)
        if axes is not figure.axes[0]:
            axes.get_legend().remove()
    return figure


def _comparisons(records: list[Record]) -> Iterator[Comparison]:
    for (name,), of_data in grouped(records, "data").items():
        outcomes = (Outcome(**{key: value for key, value in record.items() if key != "data"}) for record in of_data)
        yield Comparison(name, datasets.load(name).currency, tuple(outcomes))


EXPERIMENT = Experiment(
    name="own/when_it_helps",
    title="A pruned forest compared with retraining on the k best features and cost-complexity pruning",
    source="this package",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "Each seed draws halves to train on and quarters to choose on and to test on, and the forests, anew",
        "Everything is chosen on the validation part, for each budget and each method",
        "All features are tried at each split on CUBE, the square root of their number elsewhere",
    ),
    quick="wine only, 2 seeds",
    data=tuple(SETTINGS),
)
