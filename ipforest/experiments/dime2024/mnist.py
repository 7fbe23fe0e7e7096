"""DIME on MNIST as its authors train it, and the front end: accuracy against the pixels that are bought."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from matplotlib.figure import Figure

from ipforest import datasets
from ipforest.costs import FeatureCosts
from ipforest.experiments.acquisition import Purchases, answers_within
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.neural_acquisition import MutualInformationSelection, Training
from ipforest.experiments.rows import draw_line, grouped
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier

BUDGETS = tuple(range(1, 11))
MAX_PIXEL = 255
DIME, FRONT_END, PRINTED = "DIME", "BudgetedClassifier", "DIME, printed"
N_FRONT_END = 5_000
"""Images that the front end is trained on, and as many to choose on."""

NETWORKS = Training(
    n_hidden=512, dropout=0.3, n_random_epochs=40, n_epochs=40, last_learning_rate=1e-5, standardised=False
)
QUICK_NETWORKS = Training(n_hidden=64, dropout=0.3, n_random_epochs=4, n_epochs=1, standardised=False)
N_QUICK = 2_000

AUTHORS = {10: 74.74}
"""Accuracy in % that the notebook of the authors' repository prints, by the number of pixels."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per method; DIME where PyTorch is installed."""
    methods = [*((DIME,) if find_spec("torch") else ()), FRONT_END]
    return [{"data": "mnist", "seed": seed, "method": method, "quick": quick} for method in methods]


def run(cell: Cell) -> list[Record]:
    """Train a method, and measure it at each number of pixels."""
    data = datasets.load(cell["data"])
    X, y, split = np.asarray(data.X, dtype=np.float32) / MAX_PIXEL, np.asarray(data.y), data.split
    if split is None:
        raise ValueError(f"{cell['data']}: expected a data set with its own test part, got none")
    training, validation, test = (np.flatnonzero(split == part) for part in range(3))
    if cell["quick"]:
        training = training[:N_QUICK]
    if cell["method"] == DIME:
        networks, purchases = (
            QUICK_NETWORKS if cell["quick"] else NETWORKS,
            Purchases.of(FeatureCosts.uniform(X.shape[1])),
        )
        dime = MutualInformationSelection(X[training], y[training], purchases, cell["seed"], networks)
        found = answers_within(dime, X[test], BUDGETS)
        answers = {budget: (outputs.argmax(axis=1), bought) for budget, (outputs, bought) in found.items()}
    else:
        model = BudgetedClassifier(random_state=cell["seed"])
        training, validation = training[:N_FRONT_END], validation[:N_FRONT_END]
        model.fit(X[training], y[training], X[validation], y[validation])
        told = {budget: model.at_budget(budget).predict(X[test], return_cost=True) for budget in BUDGETS}
        answers = {budget: (predicted, float(paid.mean())) for budget, (predicted, paid) in told.items()}
    return [
        {"pixels": budget, "accuracy": float(np.mean(predicted == y[test])), "bought": bought}
        for budget, (predicted, bought) in answers.items()
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Give accuracies in %, a row per method and number of pixels."""
    rows = [
        {**{name: record[name] for name in ("method", "pixels", "bought")}, "accuracy": 100 * record["accuracy"]}
        for record in records
    ]
    return [*rows, *({"method": PRINTED, "pixels": n, "bought": n, "accuracy": area} for n, area in AUTHORS.items())]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw accuracy against the number of pixels."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for (method,), line in grouped(rows, "method").items():
        style = "kx" if method == PRINTED else ".-"
        draw_line(axes, line, "pixels", "accuracy", style, label=method)
    axes.set(xlabel="pixels per image", ylabel="accuracy, %", title="MNIST")
    axes.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="dime2024/mnist",
    title="DIME on MNIST: accuracy against pixels bought",
    source="Gadgil, Covert and Lee, ICLR 2024, in the notebook of the authors' repository",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        f"networks are trained for {NETWORKS.n_epochs} epochs on purchases of up to {NETWORKS.max_steps} pixels; "
        "theirs, which share their hidden layers, for up to 200 epochs on 50 pixels",
        "the printed accuracy is of the epoch that was worst at 50 pixels on the images to choose on: the authors' "
        "script keeps the checkpoint of the least accuracy (mode='min')",
        f"the front end is trained on {N_FRONT_END} images of 50,000, and buys so many pixels on average; "
        "DIME buys as many for each image",
    ),
    quick=f"{N_QUICK} images, small networks and a few epochs",
    data=("mnist",),
    minutes=90,
)
