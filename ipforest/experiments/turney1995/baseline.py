"""Section 4.1.1: what tests and mistakes cost together on five medical data sets, with delayed results and without."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import MinMaxScaler

from ipforest import datasets
from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.costs import FeatureCosts
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.rows import grouped, mean_and_error, with_mean
from ipforest.experiments.streed import N_THRESHOLDS, optimal_tree
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.forest_pruner import PruningSettings
from ipforest.tabular.price_lists import read_prices

PRICE_LISTS = {
    "bupa": "costs_bupa.csv",
    "heart_cleveland": "costs_heart.csv",
    "hepatitis": "costs_hepatitis.csv",
    "pima": "costs_pima.csv",
    "thyroid": "costs_thyroid.csv",
}
MISTAKES = (10, 50, 100, 500, 1000, 5000, 10000)
"""What a mistake costs, in Canadian dollars."""
N_SPLITS, TEST_SHARE = 10, 1 / 3
N_TREES = 50
DEPTH, TIME_LIMIT = 4, 600
"""Of STreeD's trees: the largest depth, and seconds for each."""
NO_TEST, PRUNED, CHOSEN, STREED = "no test", "pruned forest", "BudgetedClassifier", "STreeD"
RANGES = ((10, 100), (10, 1000), (10, 10000))
"""Costs of mistakes over which the paper averages."""


class Part(NamedTuple):
    """A split of a data set, what a mistake costs, and the prices that a method sees."""

    X: Array
    y: IntArray
    X_test: Array
    y_test: IntArray
    costs: FeatureCosts
    mistake: int
    n_classes: int
    seed: int

    @property
    def class_costs(self) -> FloatArray:
        """The matrix of costs: the same for each mistake."""
        return self.mistake * (1.0 - np.eye(self.n_classes))


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set and split; quick: two splits of the two smallest sets."""
    names, n_splits = (("hepatitis", "bupa"), 2) if quick else (tuple(PRICE_LISTS), N_SPLITS)
    return [{"data": name, "seed": seed + number, "quick": quick} for number in range(n_splits) for name in names]


def run(cell: Cell) -> list[Record]:
    """Train each method on two thirds for each cost of a mistake, and measure what the others pay."""
    data = datasets.load(cell["data"])
    X, y = _filled(np.asarray(data.X, dtype=np.float64)), data.y
    folder = Path(os.environ[datasets.DATA_VARIABLE])
    late = read_prices(folder / PRICE_LISTS[cell["data"]]).costs_for(list(data.feature_names))
    n_classes = len(data.class_names)
    order = np.random.default_rng(cell["seed"]).permutation(y.size)
    test, training = np.split(order, [round(TEST_SHARE * y.size)])
    everything = float(late.cost_of(np.ones((1, X.shape[1]), dtype=bool))[0])
    largest_class = float(np.bincount(y).max() / y.size)
    records = []
    for mistake in MISTAKES[1:4:2] if cell["quick"] else MISTAKES:
        standard = everything + mistake * (1 - largest_class)
        for delays, costs in ((False, late.with_delayed(None)), (True, late)):
            part = Part(X[training], y[training], X[test], y[test], costs, mistake, n_classes, cell["seed"])
            for method, paid, predicted in _measured(part):
                wrong = float(np.mean(predicted != part.y_test))
                records.append(
                    {
                        "mistake": mistake,
                        "delays": delays,
                        "method": method,
                        "tests": float(paid.mean()),
                        "error": wrong,
                        "share_of_standard": 100 * (float(paid.mean()) + mistake * wrong) / standard,
                    }
                )
    return records


def _filled(X: Array) -> Array:
    """Fill each missing value from the nearest example that has one, as in appendix A.3.

    Columns are scaled to [0, 1]; the distance is the sum of absolute differences, 1 where a value is missing.
    """
    scaled, filled = MinMaxScaler().set_output(transform="default").fit_transform(X), X.copy()
    for row in np.flatnonzero(np.isnan(X).any(axis=1)):
        distance = np.nan_to_num(np.abs(scaled - scaled[row]), nan=1.0).sum(axis=1)
        for column in np.flatnonzero(np.isnan(X[row])):
            filled[row, column] = X[np.argmin(np.where(np.isnan(X[:, column]), np.inf, distance)), column]
    return filled


def _measured(part: Part) -> Iterator[tuple[str, FloatArray, Array]]:
    """Yield what each method pays for each test example, and predicts."""
    majority = np.bincount(part.y).argmax()
    yield NO_TEST, np.zeros(part.y_test.size), np.full(part.y_test.size, majority)
    common: dict[str, Any] = {"feature_costs": part.costs, "class_costs": part.class_costs, "random_state": part.seed}
    forest = RandomForestClassifier(N_TREES, min_samples_leaf=2, random_state=part.seed)
    pruned = BudgetPrune(
        forest, lam=1, validation_fraction=None, pruning=PruningSettings(errors="out-of-bag"), **common
    ).fit(part.X, part.y)
    yield PRUNED, pruned.cost(part.X_test), pruned.predict(part.X_test)
    chosen = BudgetedClassifier(scoring="total cost", **common).fit(part.X, part.y)
    yield CHOSEN, chosen.cost(part.X_test), chosen.predict(part.X_test)
    if find_spec("pystreed") is not None:
        tree = optimal_tree(part.X, part.y, part.costs, part.class_costs, DEPTH, TIME_LIMIT, part.seed)
        yield STREED, tree.cost(part.X_test, part.costs), tree.predict(part.X_test)


def summarise(records: list[Record]) -> list[Record]:
    """Average the share of the standard cost over costs of a mistake and over splits, set by set, as the paper does."""
    return [
        _row(of_data, data, delays, method)
        for data, of_data in with_mean(records)
        for delays in (False, True)
        for (method,) in grouped(records, "method")
    ]


def _row(records: list[Record], data: str, delays: bool, method: str) -> Record:
    runs = grouped(
        (record for record in records if (record["delays"], record["method"]) == (delays, method)), "data", "seed"
    )
    row: Record = {"data": data, "delays": delays, "method": method, "splits": len(runs)}
    for low, high in RANGES:
        shares = [
            np.mean([record["share_of_standard"] for record in run if low <= record["mistake"] <= high])
            for run in runs.values()
        ]
        row |= mean_and_error(f"to_{high}", shares)
    return row


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the share of the standard cost by the cost of a mistake, a panel with delays and one without."""
    figure = Figure(figsize=(10, 4))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, delays in zip(panels, (False, True), strict=True):
        chosen = [record for record in records if record["delays"] == delays]
        for (method,), of_method in grouped(chosen, "method").items():
            runs = sorted((mistake, same) for (mistake,), same in grouped(of_method, "mistake").items())
            means = [np.mean([record["share_of_standard"] for record in same]) for _, same in runs]
            axes.plot([mistake for mistake, _ in runs], means, "o-", label=method, markersize=4)
        axes.set_xscale("log")
        axes.set_xlabel("what a mistake costs, dollars")
        axes.set_title("results delayed as in the clinic" if delays else "every result at once", fontsize=10)
    panels[0].set_ylabel("tests and mistakes, % of the standard cost")
    panels[0].set_ylim(bottom=0)
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    return figure


EXPERIMENT = Experiment(
    name="turney1995/baseline",
    title="Tests and mistakes together, % of the standard cost",
    source="Turney 1995, section 4.1.1",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "ICET and the four other systems of the paper are not run, and its splits are not published",
        f"STreeD, whose trees are optimal on binary columns, gets up to {N_THRESHOLDS} thresholds a column, those of "
        f"a tree on it alone; depth {DEPTH}, size tuned by five-fold validation, {TIME_LIMIT} s a tree; it knows "
        "groups, but no delays; it is left out where pystreed is not installed",
        f"Forests of {N_TREES} trees, at least 2 examples a leaf; thyroid in all its 7,200 examples",
    ),
    quick="hepatitis and bupa, 2 splits, mistakes of 50 and 500",
    data=tuple(PRICE_LISTS),
    minutes=140,
)
