"""Figure 4 of Nan and Saligrama (2017): Adapt-Gbrt before a forest, BudgetPrune of the same, GreedyMiser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ipforest.experiments.adaptive_curves import NO_GATE, Sweep, savings
from ipforest.experiments.condensed import columns
from ipforest.experiments.curves import draw_curves, forest_for, miser_points, pruning_points, within_budgets
from ipforest.experiments.experiment import OURS, Cell, Experiment, Record, Steps, settings_of
from ipforest.experiments.paper_data import PaperData, available, load_parts, two_classes

SETTINGS = {
    OURS: "shares renewed every 2 rounds of trees in one pass, prices per path, what is paid is the union of what the "
    "gate and the model need",
    "printed": "as ours, but shares renewed every 10 rounds, prices once per tree, the gate's threshold at one half, "
    "and two classes",
    "authors": "gate and classifier grown from nothing for each renewal of the shares, up to 50 times; prices at each "
    "node; where the gate sends an example to the full model, the gate's features are not counted; its threshold is "
    "at one half, and there are two classes",
}
SWEEPS = {
    "miniboone": Sweep((0.2, 0.4, 0.5, 0.6, 0.7, 0.8), 6),
    "forest": Sweep((0.4, 0.6, 0.8), (3e-3, 5e-4, 1e-4, 2e-5), n_estimators=60),
    "yahoo": Sweep((0.4, 0.6, 0.8), 4, n_estimators=60),
    "cifar10": Sweep((0.4, 0.6, 0.8), 4, n_estimators=60),
}
MISER_LAMBDAS = {"miniboone": (1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3), "forest": (1e-5, 1e-4, 3e-4, 1e-3)}
PAPER = {"miniboone": 0.63, "forest": 0.32, "yahoo": 0.58, "cifar10": 0.12}
RUNS = {"miniboone": 5, "forest": 3, "yahoo": 1, "cifar10": 3}
TREES = {"yahoo": 140}
"""Of the forest where these are not 40."""

EXAMPLES = {"yahoo": 30_000, "cifar10": 10_000}
"""Per part at most, where a data set is not taken whole."""

REDUCED = {"forest": (6_000, 20), "yahoo": (2_000, 20)}
"""Examples per part, and trees of the forest, under settings other than ours, where these are smaller."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, run and method; GreedyMiser draws nothing and runs once."""
    return [
        {
            "data": data,
            "method": method,
            "seed": seed + run,
            "trees": 10 if quick else TREES.get(data, 40),
            "quick": quick,
        }
        for data in SWEEPS
        if available(data)
        for run in range(1 if quick else RUNS[data])
        for method in ("Adapt-Gbrt", "BudgetPrune", "GreedyMiser")
        if method != "GreedyMiser" or run == 0
    ]


def sweep_of(name: str, settings: str, quick: bool, n_train: int) -> Sweep:
    """Return what is swept of a data set under a setting."""
    sweep = SWEEPS[name].under(settings, n_train)
    if not quick:
        return sweep
    few = min(sweep.max_regrowths, 3)
    return replace(sweep, shares=(0.6,), lambdas=2, n_estimators=10, max_regrowths=few, n_readouts=5)


def run(cell: Cell) -> list[Record]:
    """Train, and measure one method's curve."""
    quick, name, settings = cell["quick"], cell["data"], settings_of(cell)
    n_examples, n_trees = EXAMPLES.get(name), cell["trees"]
    if settings != OURS and name in REDUCED:
        n_examples, n_trees = REDUCED[name][0], min(n_trees, REDUCED[name][1])
    data = load_parts(name, 1500 if quick else n_examples)
    if settings != OURS and name == "forest":
        data = two_classes(data)
    points = _curve(cell, data, n_trees, settings)
    return [{**point, "examples": len(data.parts.y_train), "forest": n_trees} for point in points]


def _curve(cell: Cell, data: PaperData, n_trees: int, settings: str) -> list[Record]:
    quick, name, seed, parts = cell["quick"], cell["data"], cell["seed"], data.parts
    sweep = sweep_of(name, settings, quick, len(parts.y_train))
    if cell["method"] == "GreedyMiser":
        lams = MISER_LAMBDAS.get(name, MISER_LAMBDAS["miniboone"])[: 2 if quick else None]
        rounds = 16 if quick else sweep.n_estimators
        points = miser_points(parts, data.costs, rounds, lams, (0.5,), seed, sweep.charge, data.queries)
        return [{**point, "gate": NO_GATE} for point in points]
    n_tried = None if data.queries is None else min(400, parts.X_train.shape[1])
    forest: Any = forest_for(data, n_trees, seed, n_tried)
    if cell["method"] == "BudgetPrune":
        fitted = forest.fit(parts.X_train, parts.y_train)
        points = pruning_points(("BudgetPrune",), fitted, parts, data.costs, 10 if quick else 40, data.queries)
        costliest = max(range(len(points)), key=lambda number: points[number]["validation_cost"])
        return [{**point, "gate": NO_GATE, "is_full": number == costliest} for number, point in enumerate(points)]
    full: Any = make_pipeline(StandardScaler(), SVC(C=10)) if name == "cifar10" else forest
    return sweep.points(full, data, 2 if quick else 3, seed)


def summarise(records: list[Record]) -> list[Record]:
    """Give what is saved against the full model within 1% of the best accuracy."""
    rows = savings([record for record in records if record["method"] != "GreedyMiser"], ("data", "method", "gate"))
    return [{**row, "paper": PAPER[row["data"]] if row["method"] == "Adapt-Gbrt" else ""} for row in rows]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw all curves, a panel per data set."""
    curves = within_budgets(records, ("data", "method", "gate"))
    title = "Error against cost, mean and standard deviation over runs"
    return draw_curves(curves, "data", title, style="gate")


EXPERIMENT = Experiment(
    name="adapt2017/figure4",
    title="Adapt-Gbrt before a forest, BudgetPrune of the same forest, and GreedyMiser",
    source="Nan and Saligrama (NIPS 2017), Figure 4",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "MiniBooNE: the authors' public sample of 5,000 events (2000/1000/2000), not 45,523/19,510/65,031, unless "
        "miniboone.npz is in the data folder",
        "Forest: our 16% sample of Covertype with its 7 classes (36,603/15,688/40,671), not 36,603/15,688/58,101",
        "Forest under printed and authors: the most frequent class against the others, as the printed algorithm has "
        "two classes and the paper does not say how seven became two; 6,000 examples per part, a forest of 20 trees",
        "Yahoo! under printed and authors: 2,000 documents per part, a forest of 20 trees",
        "The authors sweep 15 shares, 16 lambdas and 6 learning rates over 100 rounds; here 6 x 6 x 1 over 100 on "
        "MiniBooNE, 3 x 4 x 1 over 60 on the others; under printed and authors over 50, and under authors 2 x 3 x 1 of "
        "their lambdas",
        "The full model's losses are cross-fitted in 3 folds",
        "GreedyMiser: squared loss, as many rounds as Adapt-Gbrt, learning rate 0.5; the paper: 1000 trees",
        "Yahoo! and CIFAR-10 need the user's files: `ipforest data` takes them in. Of Yahoo! 30,000 documents per part "
        "are taken, of CIFAR-10 10,000 images per part",
        "The RBF-SVM of CIFAR-10 is not printed: C = 10, scaled features, scikit-learn's gamma",
    ),
    quick="10 trees, 1,500 examples per part, 1 share, 2 lambdas, 1 run",
    settings=SETTINGS,
    unaffected=lambda cell: cell["method"] == "BudgetPrune" and cell["data"] not in REDUCED,
    data=tuple(SWEEPS),
    printed=(
        "Within 1% of the best accuracy Adapt-Gbrt saves about 63% of the forest's cost on MiniBooNE, 32% on Forest, "
        "58% on Yahoo!, and 12% of that of an RBF-SVM on CIFAR-10",
    ),
    reasons=(
        "MiniBooNE: the best pair has a lower error than the forest, and 1% is counted from it; within 1% of the "
        "forest's own accuracy 79% are saved under ours and printed, 55% under authors (adapt2017/headline)",
        "Forest under ours: seven classes, for which the paper has no formula; with two about 31% are saved "
        "(adapt2017/headline)",
        "Under printed and authors there is one run; Forest is small, and the threshold of the gate is not chosen, "
        "which saves another 4 to 15 points (adapt2017/headline)",
    ),
    condense=columns("data", "method", "gate", "full_cost", "full_error", "cost", "error", "saved", "paper", "runs"),
    minutes=12,
)
