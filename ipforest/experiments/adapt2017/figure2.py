"""Figure 2 of Nan and Saligrama (2017): what a gate and a cheap model learn in the plane, costs turned off."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.svm import SVC

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.adaptive import AdaptGbrt, AdaptLin
from ipforest.adaptive.adapt_gbrt import BoostedSearch, PairGrowth
from ipforest.adaptive.approximation import AdaptiveApproximation, GateSearch
from ipforest.adaptive.drawing import plot_regions
from ipforest.adaptive.linear_pair import AlternationSettings
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.rows import averaged

P_FULL = 0.6
NO_SHARE = 0.0
"""A share that leaves f1 alone."""

ITERATIONS = 10
WAVE_BEGINS = 0.4
MARGIN = 0.03
N_TEST = 4000
PAPER = "both keep the accuracy of f0; Adapt-Lin sends about 60% of the examples to it"


def plane(n_samples: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Draw points of the unit square: apart by a line on the left and by a wave on the right.

    Returns
    -------
    X : ndarray of float64, shape (n_samples, 2)
    y : ndarray of int64, shape (n_samples,)
        1 above the line or the wave.
    """
    points = np.random.default_rng(seed).random((2 * n_samples, 2))
    x = points[:, 0]
    border = np.where(x < WAVE_BEGINS, 0.7 - x / 2, 0.5 - 0.35 * np.sin(5 * np.pi * (x - WAVE_BEGINS)))
    apart = np.flatnonzero(np.abs(points[:, 1] - border) > MARGIN)[:n_samples]
    return points[apart], (points[apart, 1] > border[apart]).astype(np.int64)


def full_model() -> SVC:
    """Describe f0."""
    return SVC(C=100, gamma=20)


def models(seed: int) -> dict[str, AdaptiveApproximation]:
    """Describe both approximations."""
    shared: dict[str, Any] = {"feature_costs": [0, 0], "random_state": seed}
    settings = AlternationSettings(max_rounds=ITERATIONS, max_steps=2000)
    return {
        "Adapt-Lin": AdaptLin(
            full_model(), search=GateSearch(shares=[P_FULL], lambdas=[0]), alternation=settings, **shared
        ),
        "Adapt-Gbrt": AdaptGbrt(
            full_model(),
            n_estimators=2 * ITERATIONS,
            search=BoostedSearch(shares=[P_FULL], lambdas=[0], n_readouts=1),
            growth=PairGrowth(max_depth=1),
            **shared,
        ),
    }


def fit(model: AdaptiveApproximation, X: FloatArray, y: IntArray) -> AdaptiveApproximation:
    """Fit, and take what was learnt, whatever held-out examples say."""
    model.fit(X, y)
    model.chosen_ = model.candidates_[-1]
    return model


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per run."""
    return [{"seed": seed + run, "examples": 500 if quick else 1000} for run in range(2 if quick else 5)]


def run(cell: Cell) -> list[Record]:
    """Measure the full model, both cheap models alone, and both approximations."""
    X, y = plane(cell["examples"], 2 * cell["seed"])
    X_test, y_test = plane(N_TEST, 2 * cell["seed"] + 1)
    records = [{"model": "f0, RBF-SVM", "accuracy": float(full_model().fit(X, y).score(X_test, y_test)), "to_f0": 1.0}]
    for name, model in models(cell["seed"]).items():
        fit(model.set_params(search__shares=[NO_SHARE]), X, y)
        records.append({"model": f"{name}, f1 alone", "accuracy": float(model.score(X_test, y_test)), "to_f0": 0.0})
        fit(model.set_params(search__shares=[P_FULL]), X, y)
        share = float(model.goes_to_full(X_test).mean())
        records.append({"model": name, "accuracy": float(model.score(X_test, y_test)), "to_f0": share})
    return records


def summarise(records: list[Record]) -> list[Record]:
    """Average over runs."""
    return [{**row, "paper": PAPER} for row in averaged(records, ("model",), ("accuracy", "to_f0"))]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw data, full model, and both approximations after 1 and 10 iterations."""
    X, y = plane(records[0]["examples"], 2 * records[0]["seed"])
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    grid: Any = figure.subplots(2, 3)
    full = full_model().fit(X, y)
    plot_regions(full, X, y, grid[1, 0]).set_title("(d) RBF-SVM, f0")
    for label, place in zip((0, 1), ("tab:blue", "tab:red"), strict=True):
        grid[0, 0].plot(*X[y == label].T, ".", color=place, markersize=3)
    grid[0, 0].set(xticks=[], yticks=[], title="(a) data")
    panels = iter(("b", "c", "e", "f"))
    for row, (name, model) in enumerate(models(records[0]["seed"]).items()):
        for column, (what, share) in enumerate((("f1 alone", NO_SHARE), (f"{ITERATIONS} iterations", P_FULL)), start=1):
            fit(model.set_params(search__shares=[share]), X, y)
            plot_regions(model, X, y, grid[row, column])
            title = f"({next(panels)}) {name}, {what}"
            figures = f"accuracy {model.score(X, y):.3f}, {model.goes_to_full(X).mean():.0%} to f0"
            grid[row, column].set_title(f"{title}\n{figures}", fontsize=10)
    figure.suptitle("Beige goes to f0; blue and red are answered by f1")
    return figure


EXPERIMENT = Experiment(
    name="adapt2017/figure2",
    title="Adapt-Lin and Adapt-Gbrt in the plane, without costs",
    source="Nan and Saligrama (NIPS 2017), Figure 2",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "The paper prints a picture of its data, no numbers: here points of a square, apart by a line on the left and "
        "by a wave on the right",
        "What the paper calls initialization is not told; f1 alone, trained on all examples, is drawn in its place",
        "Ten iterations of Adapt-Gbrt are 20 rounds of trees of one split, the shares being renewed every second round",
    ),
    quick="500 examples, 2 runs",
    minutes=1,
)
