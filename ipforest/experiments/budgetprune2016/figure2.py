"""BudgetPrune (NIPS 2016), figure 2: error against cost of all methods."""

from __future__ import annotations

from ipforest.experiments.cascade_curves import cascade_points
from ipforest.experiments.condensed import at_budgets
from ipforest.experiments.curves import (
    FEW_LAMBDAS,
    MANY_LAMBDAS,
    curves_by_data_set,
    forest_for,
    means_within_budgets,
    miser_points,
    pruning_points,
)
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.paper_data import available, load_parts

PRUNED = ("BudgetPrune", "CCP", "BudgetRF", "GreedyPrune")
SETS = {"miniboone": None, "forest": None, "yahoo": 400, "scene15": 20}
"""Data sets, and from how many random features each split is chosen (None: all)."""
TREES = {"miniboone": 40, "forest": 40, "yahoo": 140, "scene15": 500}
ROUNDS = {"forest": 64, "scene15": 64}
"""Rounds of GreedyMiser where these are not 512: with many classes a round has a tree for each."""
EXAMPLES = {"yahoo": 30_000}
"""Documents per part at most."""

OF_TWO_CLASSES = ("miniboone",)
"""Where trees and cascades of classifiers can be drawn with the forests."""

PRINTED = {
    "miniboone": "18 features at the error of the whole forest (6.6%), which uses 40 to 42",
    "scene15": "accuracy of full cost 32 already at cost 9",
}


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per run and data set for the methods that share a forest, and one for GreedyMiser: it draws nothing."""
    return [
        {
            "data": data,
            "family": family,
            "seed": seed + run,
            "trees": 10 if quick else TREES[data],
            "quick": quick,
            **({"rounds": 64 if quick else ROUNDS.get(data, 512)} if family == "GreedyMiser" else {}),
        }
        for run in range(2 if quick else 10)
        for data in SETS
        if available(data)
        for family in ("pruned", "GreedyMiser", *(["cascades"] if data in OF_TWO_CLASSES else []))
        if family != "GreedyMiser" or run == 0
    ]


def run(cell: Cell) -> list[Record]:
    """Train, and measure the curves of one family of methods."""
    quick = cell["quick"]
    data = load_parts(cell["data"], 2500 if quick else EXAMPLES.get(cell["data"]))
    parts = data.parts
    if cell["family"] == "GreedyMiser":
        small = quick or cell["rounds"] < 512
        lams = FEW_LAMBDAS if small else MANY_LAMBDAS
        rates = (0.5,) if small else (0.1, 0.5)
        points = miser_points(parts, data.costs, cell["rounds"], lams, rates, cell["seed"], queries=data.queries)
        return [{"method": "GreedyMiser", **point} for point in points]
    if cell["family"] == "cascades":
        n_trees, n_lambdas = (20, 3) if quick else (100, 10)
        return cascade_points(parts, data.costs, n_trees, n_lambdas, cell["seed"])
    forest = forest_for(data, cell["trees"], cell["seed"], SETS[cell["data"]])
    fitted = forest.fit(parts.X_train, parts.y_train)
    return pruning_points(PRUNED, fitted, parts, data.costs, 15 if quick else 40, data.queries)


EXPERIMENT = Experiment(
    name="budgetprune2016/figure2",
    title="Error against average cost: BudgetPrune, CCP, BudgetRF with early stopping, GreedyPrune, GreedyMiser",
    source="BudgetPrune (NIPS 2016), figure 2",
    steps=Steps(
        cells,
        run,
        means_within_budgets("data", "method", paper=lambda row: PRINTED.get(row["data"], "curve only")),
        curves_by_data_set("Error against cost, mean and standard deviation over runs"),
    ),
    differs=(
        "MiniBooNE: the authors' public sample of 5,000 events (2000/1000/2000), not 45,523/19,510/65,031, unless "
        "miniboone.npz is in the data folder",
        "Forest: our 16% sample of Covertype (36,603/15,688/40,671), not 36,603/15,688/58,101",
        "GreedyMiser: up to 512 rounds and a grid of 8 lambdas x 2 rates, on Forest 64 rounds and 3 lambdas at one "
        "rate; the paper: 1000 trees, rates 1e-5 to 1e2. It draws nothing at random, so it is run once",
        "Points are chosen within budgets on validation data; the paper prints every point of a sweep",
        "MiniBooNE: the learners of ipforest.classifier_trees, on features and on 100 trees of depth 3, are drawn, too",
        "Yahoo (30,000 documents per part at most; 1 - AP@5 in place of the error) and Scene15 need the user's files",
    ),
    quick="10 trees, 2,500 examples per part, 2 runs",
    data=tuple(SETS),
    printed=(
        "MiniBooNE: the error of the whole forest (6.6%) with 18 features in place of 40 to 42",
        "GreedyMiser is behind at high budgets on MiniBooNE, and far behind on Forest (its accuracy stays below .86)",
        "Scene15: the accuracy of full cost 32 already at cost 9; Yahoo: GreedyMiser's AP@5 at 30% of its cost",
    ),
    reasons=(
        "MiniBooNE: all examples need the same few features, and 2,000 training events leave GreedyMiser ahead at "
        "small budgets; among the methods that prune the same forest BudgetPrune has the lowest error, or one within "
        "half a point of it",
        "Trees and cascades of classifiers, which the paper does not draw, need many features at once: they have a "
        "higher error at small budgets and are level with the forest from about 37 features on",
    ),
    condense=at_budgets("data", "method"),
    minutes=55,
)
