"""BudgetRF (ICML 2015), table 1: share of the features used, and error, by the number of trees."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest._internal.arrays import Array
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.experiments.condensed import columns
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps, settings_of
from ipforest.experiments.metrics import error_rate
from ipforest.experiments.paper_data import available, load_parts
from ipforest.experiments.rows import averaged, panels
from ipforest.learners import BudgetRF
from ipforest.learners.budget_rf import GreedyGrowth
from ipforest.learners.staged import first_trees, staged_costs

TREES = (1, 10, 20, 40)
METHODS = ("RF(Gini)", "RF(entropy)", "BudgetRF")
PRINTED = {
    ("miniboone", "RF(Gini)"): ((27.32, 0.1278), (85.06, 0.0803), (94.83, 0.0730), (98.42, 0.0693)),
    ("miniboone", "RF(entropy)"): ((20.67, 0.1230), (75.54, 0.0775), (90.35, 0.0713), (97.54, 0.068)),
    ("miniboone", "BudgetRF"): ((16.4, 0.1241), (57.8, 0.0786), (73.57, 0.0721), (86.78, 0.0689)),
    ("forest", "RF(Gini)"): ((22.57, 0.2107), (63.04, 0.1307), (70.76, 0.1238), (76.63, 0.1196)),
    ("forest", "RF(entropy)"): ((21.68, 0.2045), (63.56, 0.1313), (72.37, 0.1239), (79.34, 0.1200)),
    ("forest", "BudgetRF"): ((11.37, 0.2122), (23.21, 0.1364), (25.92, 0.1232), (29.01, 0.1156)),
    ("cifar10", "RF(Gini)"): ((3.8, 0.4284), (30.35, 0.3604), (49.85, 0.3349), (72.20, 0.3106)),
    ("cifar10", "RF(entropy)"): ((3.46, 0.4267), (28.34, 0.3561), (46.45, 0.3296), (68.47, 0.3080)),
    ("cifar10", "BudgetRF"): ((2.62, 0.4264), (21.09, 0.3600), (35.45, 0.3332), (54.24, 0.3125)),
}
"""Percentage of the features and test error at 1, 10, 20 and 40 trees."""

SETTINGS = {
    "ours": "BudgetRF tries every cut, and the distributions of the leaves are averaged",
    "printed": "BudgetRF tries 80, 40 or 20 random cuts per feature, by the size of the node; the trees vote",
    "authors": "BudgetRF tries every cut; the trees vote",
}


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per run, data set and method."""
    return [
        {"data": data, "method": method, "seed": seed + run, "examples": 4000 if quick else None}
        for run in range(3 if quick else 10)
        for data in ("miniboone", "forest", "cifar10")
        if available(data)
        for method in METHODS
    ]


def run(cell: Cell) -> list[Record]:
    """Grow 40 trees, and measure the first 1, 10, 20 and all of them."""
    data = load_parts(cell["data"], cell["examples"])
    parts = data.parts
    if cell["method"] == "BudgetRF":
        settings = settings_of(cell)
        cuts = "random" if settings == "printed" else "all"
        voting = "soft" if settings == "ours" else "hard"
        model = BudgetRF(TREES[-1], growth=GreedyGrowth(alpha=0, cuts=cuts), voting=voting, random_state=cell["seed"])
        forest = model.fit(*parts.to_fit).to_forest()
    else:
        criterion = cell["method"][3:-1].lower()
        plain = RandomForestClassifier(TREES[-1], criterion=criterion, random_state=cell["seed"])
        forest = Forest.from_sklearn(plain.fit(parts.X_train, parts.y_train))
    measured = share_and_error(forest, parts.X_test, parts.y_test, data.costs)
    return [{"trees": n_trees, **found} for n_trees, found in measured.items()]


def share_and_error(forest: Forest, X: Array, y: Array, costs: FeatureCosts) -> dict[int, Record]:
    """Measure the first 1, 10, 20 and 40 trees, as far as there are so many: features used, in %, and the error."""
    paid = staged_costs(forest, forest.leaves(forest.checked_examples(X)), costs)
    return {
        n_trees: {
            "share": 100 * float(paid[n_trees]) / X.shape[1],
            "error": error_rate(y, first_trees(forest, n_trees).predict(X)),
        }
        for n_trees in TREES
        if n_trees <= forest.n_trees
    }


def summarise(records: list[Record]) -> list[Record]:
    """Average over runs, with the paper's figures."""
    rows = averaged(records, ("data", "method", "trees"), ("share", "error"))
    for row in rows:
        printed = PRINTED[row["data"], row["method"]]
        row["paper_share"], row["paper_error"] = printed[TREES.index(row["trees"])]
    return rows


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw error against the share of features, ours and the paper's."""
    figure, parts = panels(rows, "data", width=5.2, height=4.2)
    for data, of_data, axes in parts:
        for number, method in enumerate(METHODS):
            curve = [row for row in of_data if row["method"] == method]
            for key, line, label in (("", "-", method), ("paper_", ":", f"{method}, paper")):
                shares, errors = (np.array([row[key + name] for row in curve]) for name in ("share", "error"))
                axes.plot(shares, errors, line, marker=".", color=f"C{number}", label=label)
        axes.set(title=data, xlabel="features used, % of all", ylabel="test error")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, loc="upper right")
    figure.suptitle("1, 10, 20 and 40 trees")
    return figure


EXPERIMENT = Experiment(
    name="budgetrf2015/table1",
    title="Share of the features used, in %, and test error by the number of trees",
    source="BudgetRF (ICML 2015), section 3, table 1",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "MiniBooNE: the authors' public sample of 5,000 events (2000/1000/2000); Forest: our 16% sample of Covertype "
        "(36,603/15,688/40,671), unless miniboone.npz and forest.npz are in the data folder",
        "CIFAR-10 needs the user's file, whose features are pixels; the 400 of the paper were learnt from patches and "
        "are not published",
        "Random forests: scikit-learn's, not Matlab's TreeBagger; predictions average leaf distributions",
    ),
    quick="at most 4,000 examples per part, 3 runs",
    settings=SETTINGS,
    unaffected=lambda cell: cell["method"] != "BudgetRF",
    data=("miniboone", "forest", "cifar10"),
    reasons=(
        "MiniBooNE: forests are grown on 2,000 events, not on 45,523, so that errors are higher and shares lower",
        "Forest: BudgetRF's shares are the printed ones to half a point, its errors are not. With 73,206 training "
        "examples of our sample, twice as many, they are, too: .135, .123 and .117 with 10, 20 and 40 trees, against "
        ".136, .123 and .116 in print. A random forest has its printed errors between 36,603 and 73,206 examples. So "
        "the sample differs, and how near to each other its examples lie; the authors' is not published (`own/sample`)",
        "Forest, excluded as reasons (`own/sample`, ten trees, .136 in print): every cut .181, averaged leaves .184, "
        "expected reduction .174, 20 random features per split .178, features free on the path .355, a test part that "
        "overlaps the training part .172, two classes .151; entropy per price with every cut comes to .138, but buys "
        "32% of the features, not 23%",
        "The printed shares are those of random cuts, although the released program tries every cut: 40 trees use 29% "
        "of Forest's features with random cuts and 26% with every cut (29% in print), 82 and 69% of MiniBooNE's (87%)",
    ),
    condense=columns("data", "method", "trees", "share", "paper_share", "error", "paper_error", "runs"),
    minutes=10,
)
