"""BudgetRF (ICML 2015), figure 3: BudgetRF, ASTC, CSTC and GreedyMiser on four data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ipforest._internal.arrays import Array, FloatArray
from ipforest.classifier_trees import ASTC, CSTC, TreeObjective
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.experiments.condensed import at_budgets
from ipforest.experiments.curves import (
    FEW_LAMBDAS,
    MANY_LAMBDAS,
    curves_by_data_set,
    means_within_budgets,
    miser_points,
)
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps, settings_of
from ipforest.experiments.metrics import error_of_scores
from ipforest.experiments.options import Option
from ipforest.experiments.paper_data import PaperData, available, load_parts
from ipforest.learners import BudgetRF
from ipforest.learners.budget_rf import GreedyGrowth, with_votes
from ipforest.learners.staged import staged_costs

SETS = ("yahoo", "miniboone", "forest", "cifar10")
METHODS = ("BudgetRF", "ASTC", "CSTC", "GreedyMiser")
ALPHAS = (0, 2, 4, 6, 8, 10, 15, 25, 35, 45)
TREES = {"yahoo": 140}
"""The most trees of a forest where these are not 40."""
EXAMPLES = {"yahoo": 30_000, "forest": 3_000, "cifar10": 10_000}
"""Examples per part at most; MiniBooNE is taken whole."""
RUNS = 2
LEVELS = 24
"""Numbers of trees at which a forest is measured."""
SETTINGS = {
    "ours": "BudgetRF tries every cut",
    "printed": "BudgetRF tries 80, 40 or 20 random cuts per feature, by the size of the node",
}


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per run, data set and method; GreedyMiser draws nothing and runs once."""
    return [
        {
            "data": data,
            "method": method,
            "seed": seed + run,
            "examples": 1500 if quick else EXAMPLES.get(data),
            "trees": 10 if quick else TREES.get(data, 40),
            "tradeoffs": (3 if quick else 10) if method == "BudgetRF" else (2 if quick else 5),
            "rounds": 32 if quick else 256,
        }
        for run in range(1 if quick else RUNS)
        for data in SETS
        if available(data)
        for method in METHODS
        if method != "GreedyMiser" or run == 0
    ]


def run(cell: Cell) -> list[Record]:
    """Train one method over its grid, and measure every model on the validation and the test part."""
    data = load_parts(cell["data"], cell["examples"])
    if cell["method"] == "BudgetRF":
        return _forests(cell, data)
    if cell["method"] == "GreedyMiser":
        return _boosted(cell, data)
    return _trees_of_classifiers(cell, data, CSTC if cell["method"] == "CSTC" else ASTC)


def _forests(cell: Cell, data: PaperData) -> list[Record]:
    """Measure the first trees of a forest for each alpha; of ranked documents with alpha = 0 alone, as printed."""
    ranking = data.queries is not None
    model = BudgetRF(
        cell["trees"],
        feature_costs=data.costs,
        growth=GreedyGrowth(
            alpha=0 if ranking else ALPHAS[: cell["tradeoffs"]],
            cuts="random" if settings_of(cell) == "printed" else "all",
        ),
        voting="pooled" if ranking else "hard",
        random_state=cell["seed"],
    ).fit(*data.parts.to_fit)
    stages = np.unique(np.geomspace(1, cell["trees"], LEVELS).astype(int))
    records = []
    for grown in model.grown_:
        voting = with_votes(grown.forest, model.voting)
        costs, scores = zip(
            *(_voted(voting, X, data.costs, stages) for X in (data.parts.X_validation, data.parts.X_test)), strict=True
        )
        for place, n_trees in enumerate(stages.tolist()):
            paid = [float(of_part[n_trees]) for of_part in costs]
            records.append(_record(data, paid, [of_part[place] for of_part in scores]))
    return records


def _voted(forest: Forest, X: Array, costs: FeatureCosts, stages: Array) -> tuple[FloatArray, list[FloatArray]]:
    """Return what the first trees cost on average, and what the first trees of each stage say of each class."""
    leaves = forest.leaves(forest.checked_examples(X))
    votes = np.zeros((len(X), forest.value.shape[1]))
    after: list[FloatArray] = []
    for tree, leaf in enumerate(leaves, start=1):
        votes += forest.value[leaf]
        if tree in stages:
            after.append(votes / votes.sum(axis=1, keepdims=True))
    return staged_costs(forest, leaves, costs), after


def _boosted(cell: Cell, data: PaperData) -> list[Record]:
    """Measure GreedyMiser over a grid of lambda and learning rate, by squared loss."""
    lams = FEW_LAMBDAS if cell["tradeoffs"] < 5 else MANY_LAMBDAS
    return miser_points(data.parts, data.costs, cell["rounds"], lams, (0.1, 0.5), cell["seed"], queries=data.queries)


def _trees_of_classifiers(cell: Cell, data: PaperData, learner: Any) -> list[Record]:
    """Measure trees of linear classifiers of the features; of more than two classes, one tree against the rest each."""
    parts = data.parts
    classes = np.unique(parts.y_train)
    told_apart = classes[1:] if classes.size == 2 else classes
    model = learner(
        loss="logistic",
        objective=TreeObjective(lambdas=cell["tradeoffs"]),
        feature_costs=data.costs,
        random_state=cell["seed"],
    )
    models = [clone(model).fit(parts.X_train, parts.y_train == label) for label in told_apart]
    return [
        _record(
            data,
            *zip(*(_answered(models, place, X, data.costs) for X in (parts.X_validation, parts.X_test)), strict=True),
        )
        for place in range(cell["tradeoffs"])
    ]


def _answered(
    models: list[ClassifierTreeEstimator], place: int, X: Array, costs: FeatureCosts
) -> tuple[float, FloatArray]:
    """Return the average cost of the models of one tradeoff, a feature being paid for once, and their scores."""
    used = np.zeros(X.shape, dtype=bool)
    scores = []
    for model in models:
        tree = model.candidates_[place].tree
        phi = model.feature_map_.transform(np.asarray(X, dtype=np.float64))
        last = tree.route(phi)
        bought = model.resources_.used(tree.coef)
        used |= (tree.on_path.astype(int) @ bought.T.astype(int) > 0)[last]
        scores.append(tree.answer(phi, last))
    both = [-scores[0], scores[0]] if len(scores) == 1 else scores
    return float(np.mean([float(cost) for cost in costs.cost_of(used)])), np.column_stack(both)


def _record(data: PaperData, costs: Any, scores: Any) -> Record:
    """Put cost and error on both parts into a record; where documents are ranked the error is 1 - AP@5."""
    queries = (None, None) if data.queries is None else data.queries[1:]
    classes = np.unique(data.parts.y_train)
    before, after = (
        error_of_scores(y, of_part, classes, of_query)
        for y, of_part, of_query in zip((data.parts.y_validation, data.parts.y_test), scores, queries, strict=True)
    )
    return Option(float(costs[0]), before, float(costs[1]), after).means


EXPERIMENT = Experiment(
    name="budgetrf2015/figure3",
    title="Error against average cost: BudgetRF, ASTC, CSTC, GreedyMiser",
    source="BudgetRF (ICML 2015), section 3, figure 3",
    steps=Steps(
        cells,
        run,
        means_within_budgets("data", "method", paper=lambda row: "curve only"),
        curves_by_data_set("Error against cost, mean and standard deviation over runs"),
    ),
    differs=(
        "MiniBooNE: the authors' public sample of 5,000 events (2000/1000/2000), unless miniboone.npz is in the data "
        "folder; Forest: at most 3,000 examples per part of our 16% sample of Covertype; CIFAR-10: at most 10,000 per "
        "part, of pixels in place of 400 learnt features, Yahoo: at most 30,000 documents per part, both of the user's "
        "files",
        "ASTC and CSTC with logistic loss on the scaled features themselves, depth 3, five lambdas; on the seven "
        "classes of Forest one tree for each class against the rest, a feature being paid for once. The paper does "
        "not say how it treats seven classes",
        "GreedyMiser: up to 256 rounds, 8 lambdas x 2 rates",
        "2 runs, not 10; points are chosen within budgets on validation data",
    ),
    quick="10 trees, 1,500 examples per part, 3 alphas, 2 lambdas, 1 run",
    settings=SETTINGS,
    unaffected=lambda cell: cell["method"] != "BudgetRF",
    data=SETS,
    printed=(
        "MiniBooNE: BudgetRF has a lower error than ASTC and CSTC at every budget, with 6 features a lower one than "
        "they with any number; GreedyMiser is about level with BudgetRF",
        "Forest: ASTC and CSTC hardly fall, BudgetRF falls fast, GreedyMiser needs many more features for its error",
        "Yahoo: at a cost of 70 BudgetRF's AP@5 is above that of ASTC and CSTC at 450; CIFAR-10: ASTC and CSTC "
        "overfit, BudgetRF and GreedyMiser are ahead of ASTC from a budget of about 90 on",
    ),
    reasons=(
        "MiniBooNE: as in print BudgetRF is ahead of ASTC and CSTC at every budget; GreedyMiser, tuned over 16 pairs "
        "of lambda and rate, is ahead of it up to 25 features. The authors' every cut is worth up to 2.7 points at "
        "small budgets against the printed random ones",
        "Forest: 3,000 training examples, not 36,603, so that no error is below 28%; as in print BudgetRF is ahead of "
        "ASTC and CSTC at every budget. GreedyMiser was not run: on seven classes it takes minutes per lambda",
    ),
    condense=at_budgets("data", "method"),
    minutes=9,
)
