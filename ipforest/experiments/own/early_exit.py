"""What stopping when sure brings, and nested cascades against common practice: error within budgets of features."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.estimator import BudgetedEstimator
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.frontier import loaded
from ipforest.experiments.options import Option, choose, constant, levels, record_both
from ipforest.experiments.parts import Parts, split_parts
from ipforest.experiments.peers import read_boosted, untrained_lightgbm
from ipforest.experiments.rows import compared, draw_errors, grouped, panels
from ipforest.experiments.tasks import Task, whole
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budget_rf import BudgetRF, GreedyGrowth
from ipforest.policy import TreesInOrder
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.paths import StoppingRule
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.stopping.tree_order import order_trees

BUDGETS = {
    "miniboone_5k": (2, 3, 4, 6, 10, 16),
    "synthetic": (2, 3, 4, 6, 10, 16),
    "letters": (2, 3, 4, 6, 8, 10),
    "letters_whole": (2, 3, 4, 6, 8, 10, 16),
}
SIZES = {
    "miniboone_5k": (2000, 1000, 2000),
    "synthetic": (2000, 1000, 4000),
    "letters": (4000, 2000, 4000),
    "letters_whole": (12000, 4000, 4000),
}
"""Examples to train on, to choose on and to test on."""

PREFIXES = (4, 12, 35)
"""Boosted trees may also be cut off after so many."""

TRADEOFFS = np.geomspace(1, 0.004, 6)
"""Weights of the penalties of CEGB."""

N_TREES, LEAVES = 60, (16,)
N_TREES_LARGE, LEAVES_LARGE = 240, (16, 31)
"""Of CEGB on the whole of Letters, where 60 trees, or 16 leaves alone, are too few at any cost."""

RULES: dict[str, StoppingRule] = {
    "threshold": ThresholdStopping(),
    "optimal stopping": OptimalStopping(),
    "certified": CertifiedStopping(),
}
INPUTS = ("CEGB", "BudgetPrune", "BudgetRF", "nested")
INNER_BUDGETS = (2, 4, 8, 16, 32)
"""What models that have budgets themselves may spend before they are stopped."""
BEST = "best of today's"
TODAY = ("CEGB, plain", "CEGB coupled, plain", "k best features, forest", "k best features, LightGBM")
SHOWN = (*("CEGB, plain", "CEGB, any rule", "BudgetPrune, plain", "BudgetPrune, any rule"), *("nested, either", BEST))
"""Methods of the picture."""

N_LEVELS = 200
"""Levels of a stopping rule that are measured, evenly spread over cost."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, kind of model and seed."""
    data, n_seeds, trees = (("letters",), 1, 30) if quick else (tuple(BUDGETS), 5, N_TREES)
    large = {("letters_whole", "CEGB"): N_TREES_LARGE}
    return [
        {"data": name, "input": kind, "trees": large.get((name, kind), trees), "seed": seed + run}
        for run in range(n_seeds)
        for name in data
        for kind in INPUTS
    ]


def run(cell: Cell) -> list[Record]:
    """Train the models of one kind, learn to stop them, and choose for each budget on the validation examples."""
    make = {"CEGB": _cegb, "BudgetPrune": _budget_prune, "BudgetRF": _budget_rf, "nested": _nested}[cell["input"]]
    task = task_of(cell)
    return [
        {"method": method, "budget": budget, **choose(found, budget).means}
        for method, found in make(task).items()
        for budget in task.budgets
    ]


def task_of(cell: Cell) -> Task:
    """Describe what the models of a cell are given; a feature costs 1."""
    parts = load(cell["data"], cell["seed"])
    costs = FeatureCosts.uniform(parts.X_train.shape[1])
    return Task(parts, costs, BUDGETS[cell["data"]], cell["trees"], cell["seed"])


def load(name: str, seed: int) -> Parts:
    """Draw train, validation and test examples of two classes."""
    if name == "synthetic":
        X, y = make_classification(
            sum(SIZES[name]), 50, n_informative=20, n_redundant=10, n_clusters_per_class=6, random_state=seed
        )
    else:
        data = loaded("letter" if name.startswith("letters") else name)
        X, y = data.X.astype(np.float64), data.y
    return split_parts(X, y, SIZES[name], seed)


def _cegb(task: Task) -> dict[str, list[Option]]:
    """Train LightGBM with penalties on what is bought: by an example (CEGB, lazy), or by the model (coupled)."""
    n_samples, n_features = task.parts.X_train.shape
    plain, stopped = [constant(task.parts)], _no_options()
    for trees in penalised(task, cegb_penalty_feature_lazy=[1.0] * n_features):
        plain += _cut_off(trees, task)
        _stop(TreesInOrder(trees), task, stopped)
    coupled = [constant(task.parts)]
    for trees in penalised(task, cegb_penalty_feature_coupled=[float(n_samples)] * n_features):
        coupled += _cut_off(trees, task)
    return {**_named("CEGB", plain, stopped), "CEGB coupled, plain": coupled}


def penalised(task: Task, **penalty: Any) -> Iterator[BoostedTrees]:
    """Train LightGBM under a penalty on features (CEGB), over its settings."""
    sizes = LEAVES_LARGE if task.n_trees == N_TREES_LARGE else LEAVES
    for leaves, tradeoff in product(sizes, TRADEOFFS):
        settings = {"n_estimators": task.n_trees, "num_leaves": leaves, "cegb_tradeoff": tradeoff, **penalty}
        yield read_boosted(untrained_lightgbm(task, **settings).fit(task.parts.X_train, task.parts.y_train))


def _cut_off(trees: BoostedTrees, task: Task) -> list[Option]:
    """Measure an ensemble and its first trees when no example stops."""
    sizes = [size for size in PREFIXES if size < trees.n_trees]
    return [whole(trees.first(size), task) for size in (*sizes, trees.n_trees)]


def _budget_prune(task: Task) -> dict[str, list[Option]]:
    forest = RandomForestClassifier(task.n_trees, min_samples_leaf=2, random_state=task.seed, n_jobs=1)
    model = BudgetPrune(forest.fit(task.parts.X_train, task.parts.y_train)).fit(task.parts.X_validation)
    return _over_budgets("BudgetPrune", model, task)


def _budget_rf(task: Task) -> dict[str, list[Option]]:
    model = BudgetRF(task.n_trees, growth=GreedyGrowth(cuts="random"), random_state=task.seed, n_jobs=1)
    return _over_budgets("BudgetRF", model.fit(*task.parts.to_fit), task)


def _over_budgets(name: str, model: BudgetedEstimator, task: Task) -> dict[str, list[Option]]:
    """Take a model at its own budgets, and stopped, with its trees in greedy order."""
    parts, plain, stopped = task.parts, [constant(task.parts)], _no_options()
    for budget in INNER_BUDGETS:
        policy = model.at_budget(budget).policy()
        if not isinstance(policy, TreesInOrder):
            raise TypeError(f"model: expected trees in order, got {type(policy).__name__}")
        ordered = order_trees(policy.trees, parts.X_validation, parts.y_validation, task.costs)
        plain.append(whole(ordered, task))
        _stop(TreesInOrder(ordered), task, stopped)
    return _named(name, plain, stopped)


def _no_options() -> dict[str, list[Option]]:
    return {name: [] for name in RULES}


def _stop(trees: TreesInOrder, task: Task, stopped: dict[str, list[Option]]) -> None:
    """Add what an ensemble comes to at every level of each rule."""
    validation, test = record_both(trees, task.parts, task.costs)
    for name, rule in RULES.items():
        stopped[name] += levels(rule, validation, test, N_LEVELS)


def _named(name: str, plain: list[Option], stopped: dict[str, list[Option]]) -> dict[str, list[Option]]:
    """Name the ways to use one kind of ensemble; never to stop is one of the choices of each rule."""
    return {
        f"{name}, plain": plain,
        **{f"{name}, {rule}": plain + found for rule, found in stopped.items()},
        f"{name}, any rule": [*plain, *(option for found in stopped.values() for option in found)],
    }


def _nested(task: Task) -> dict[str, list[Option]]:
    """Train nested cascades of forests and of boosted trees; their stages alone are the k best features, retrained."""
    bases = {
        "forest": RandomForestClassifier(task.n_trees, random_state=task.seed, n_jobs=1),
        "LightGBM": untrained_lightgbm(task, n_estimators=task.n_trees),
    }
    parts, options = task.parts, dict[str, list[Option]]()
    for name, base in bases.items():
        cascade = NestedCascade(base, stopping=OptimalStopping(), random_state=task.seed).fit(*parts.to_fit)
        validation, test = cascade.paths_, cascade.paths_of(parts.X_test, parts.y_test)
        options[f"k best features, {name}"] = [
            Option(
                *(float(amount[:, stage].mean()) for paths in (validation, test) for amount in (paths.cost, paths.loss))
            )
            for stage in range(validation.n_stages)
        ]
        options[f"nested, {name}"] = list(levels(tuple(RULES.values()), validation, test, N_LEVELS))
    options["nested, either"] = options["nested, forest"] + options["nested, LightGBM"]
    return options


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds; the best of today's methods is chosen on validation, seed by seed."""
    columns = ("error", "error_se", "cost", "cost_se", "gain", "gain_se")
    every = [*records, *_best_of_today(records)]
    return compared(every, ("data", "method", "budget"), columns, method=_reference)


def _reference(method: str) -> str:
    """Name what a method's gain is measured against: the same without stopping, or the best of today's."""
    name = method.partition(",")[0]
    return BEST if name in ("nested", BEST) else f"{name}, plain"


def _best_of_today(records: list[Record]) -> list[Record]:
    groups = grouped((record for record in records if record["method"] in TODAY), "data", "seed", "budget")
    best = (min(group, key=lambda run: (run["validation_error"], run["validation_cost"])) for group in groups.values())
    return [{**record, "method": BEST} for record in best]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw test error against budget, a panel per data set."""
    figure, parts = panels(rows, "data", width=5, height=4)
    for data, of_data, axes in parts:
        draw_errors(axes, of_data, SHOWN)
        axes.set(title=data, xscale="log")
        axes.set_xticks(BUDGETS[data], [str(budget) for budget in BUDGETS[data]])
        axes.minorticks_off()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(SHOWN))
    return figure


EXPERIMENT = Experiment(
    name="own/early_exit",
    title="Stopping when it is sure, and nested cascades",
    source="this package; optimal-pruning paper, IP2, for stopping as a pruning",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "Everything is chosen on the validation examples; cost and error of stopping levels there are cross-fitted",
        "CEGB is LightGBM with lazy penalties (or coupled, where named): 6 weights, cut off after 4 to 60 trees",
        "On the whole of Letters CEGB has 240 trees, of 16 and of 31 leaves",
        "The synthetic data are scikit-learn's make_classification, 50 features, 20 of them informative",
    ),
    quick="Letters only, 30 trees, 1 seed",
    data=("letter", "miniboone_5k", "digits"),
)
