"""CUBE, CUBE-NM and CUBE-NUC in AFABench's measure: accuracy within a cap for each example, and on average.

The benchmark's hard budget is what one example may pay at most; its soft budget lets some examples pay more than
others. In CUBE-NM the context is one purchase, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ipforest import datasets
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.experiments.acquisition import (
    Acquisition,
    ConditionedOracle,
    MaskedClassifier,
    Purchases,
    features_worth_their_price,
)
from ipforest.experiments.acquisition_peers import HARD_PRICE, PRICES
from ipforest.experiments.cube_distributions import DISTRIBUTIONS, N_CONTEXTS
from ipforest.experiments.exact_information import ExactInformation
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.methods import METHODS, available, choices_within
from ipforest.experiments.neural_acquisition import (
    GreedyDynamicSelection,
    MutualInformationSelection,
    NeuralAcquisition,
)
from ipforest.experiments.options import Option, choose, in_sessions, of_model
from ipforest.experiments.parts import Parts
from ipforest.experiments.peers import shapley_gains, streed_trees
from ipforest.experiments.rows import grouped, panels, standard_error
from ipforest.experiments.tasks import Task, whole
from ipforest.frontiers.budget_forest import BudgetForest
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier
from ipforest.frontiers.joint_frontier import JointFrontier
from ipforest.policy import TreesInOrder
from ipforest.session import Seller, Sessions

DATA: Mapping[str, Callable[[int, int], datasets.Dataset]] = {
    "CUBE": datasets.cube,
    "CUBE-NM": datasets.cube_nm,
    "CUBE-NUC": datasets.cube_nuc,
}
BUDGETS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
N_SEEDS, N_TRAINING, N_HELD_OUT = 2, 1000, 200
"""Examples to train on; as many as the second number to choose on, and to test on."""

SPLIT = "afabench-"
"""Begins the names under which `ipforest data` took the benchmark's own splits in."""

N_TREES = 50
HARD, SOFT = "hard", "soft"
FRONT_ENDS: Mapping[str, type[JointFrontier]] = {"BudgetForest": BudgetForest, "BudgetedClassifier": BudgetedClassifier}
STATIC, COAI, AACO, STREED = "static, forward selection", "CoAI", "AACO", "STreeD"
GDFS, DIME, EXACT = "GDFS", "DIME", "exact information"

Open = Callable[..., Sessions]


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, method and seed; the benchmark's own splits are there where the data folder has them."""
    named, n_seeds, size = (("CUBE",), 1, 400) if quick else ((*DATA, *splits()), N_SEEDS, N_TRAINING)
    methods = ["BudgetForest", STATIC, AACO, "BudgetedClassifier", *available([COAI, STREED, GDFS, DIME]), EXACT]
    return [
        {"data": name, "method": method, "training": size, "seed": seed + number}
        for number in range(n_seeds)
        for method in methods
        for name in named
        if method != EXACT or name in DISTRIBUTIONS
    ]


def splits() -> list[str]:
    """List the benchmark's splits that were taken in under names that begin with `SPLIT`."""
    return [name for name in datasets.names() if name.startswith(SPLIT)]


def task_of(cell: Cell) -> Task:
    """Generate the parts of a data set, and its prices: in CUBE-NM the context is bought at once, for 1.

    A split of the benchmark has its parts and prices already; the seed is that of the methods.
    """
    name, seed = cell["data"], cell["seed"]
    sizes = cell["training"], N_HELD_OUT, N_HELD_OUT
    data = DATA[name](sum(sizes), seed) if name in DATA else datasets.load(name)
    parts, costs = Parts.in_order(data.X, data.y, sizes) if name in DATA else _own_parts(data), data.costs
    if name == "CUBE-NM":
        context = np.arange(costs.n_features) < N_CONTEXTS
        costs = FeatureCosts((~context).astype(int).tolist(), np.where(context, 0, -1).tolist(), [1])
    return Task(parts, costs, BUDGETS, N_TREES, seed, ("sqrt",), (1,))


def _own_parts(data: datasets.Dataset) -> Parts:
    if data.split is None:
        raise ValueError(f"{data.name}: expected a data set with a split, as AFABench writes it, got one without")
    return Parts.of_rows(data.X.astype(np.float64), data.y, (data.split == part for part in range(3)))


def run(cell: Cell) -> list[Record]:
    """Train a method, and measure it within each hard and soft budget."""
    task, method = task_of(cell), cell["method"]
    others = {STATIC: _static, COAI: _coai, AACO: _aaco, STREED: _streed}
    others[EXACT] = partial(_exact, cell["data"])
    others[GDFS] = partial(_by_network, GreedyDynamicSelection, ())
    others[DIME] = partial(_by_network, MutualInformationSelection, PRICES)
    measure = others.get(method) or partial(_ours, FRONT_ENDS[method])
    return [
        {"setting": setting, "budget": budget, "cost": option.cost, "accuracy": 1 - option.error}
        for setting, options in measure(task).items()
        for budget, option in zip(BUDGETS, options, strict=True)
    ]


Measured = dict[str, Sequence[Option]]


def _static(task: Task) -> Measured:
    """Choose one set of features for all examples, within both kinds of budget."""
    chosen = choices_within(METHODS["forward, forest"], task).plain
    return {HARD: chosen, SOFT: chosen}


def _coai(task: Task) -> Measured:
    """Retrain a forest on the features of most Shapley value in all within the budget."""
    options = []
    for bought in features_worth_their_price(shapley_gains(task), task.costs, BUDGETS):
        columns = np.flatnonzero(bought)
        fitted = task.forest().fit(task.parts.X_train[:, columns], task.parts.y_train)
        options.append(whole(Forest.from_sklearn(fitted), task, columns))
    return {HARD: options, SOFT: options}


def _aaco(task: Task) -> Measured:
    """Buy by nearest neighbours: forced up to a hard budget, or as long as it is worth its price."""
    X, y = task.parts.X_train, task.parts.y_train
    classifier = MaskedClassifier(X, y, task.seed)
    return _by_policy(task, ConditionedOracle(classifier, X, y, Purchases.of(task.costs), task.seed), PRICES)


def _by_network(kind: type[NeuralAcquisition], prices: Sequence[float], task: Task) -> Measured:
    """Buy up to a hard budget by networks, or, by those that weigh prices, as long as it is worth its price.

    Without prices a soft budget is the same number of purchases for all examples.
    """
    network = kind(task.parts.X_train, task.parts.y_train, Purchases.of(task.costs), task.seed)
    return _by_policy(task, network, prices)


def _exact(name: str, task: Task) -> Measured:
    """Buy what tells most per price by the distribution that the examples come from, and predict by it."""
    return _by_policy(task, ExactInformation(DISTRIBUTIONS[name](), Purchases.of(task.costs), task.seed), PRICES)


def _by_policy(task: Task, policy: Acquisition, prices: Sequence[float]) -> Measured:
    """Measure a policy that has to buy up to a cap; within a soft budget also one that weighs prices."""
    held_out = task.parts.held_out

    def measured(budget: float, orders: Sequence[Any]) -> Option:
        numbers: list[float] = []
        for (X, y), lines in zip(held_out, orders, strict=True):
            shown = policy.purchases.shown(lines, budget)
            labels = policy.predict_proba(X, shown).argmax(axis=1)
            numbers += [float(task.costs.cost_of(shown).mean()), float(np.mean(labels != y))]
        return Option(*numbers)

    orders = [policy.bought(X, HARD_PRICE, BUDGETS[-1], forced=True) for X, _ in held_out]
    capped = [measured(budget, orders) for budget in BUDGETS]
    free = [measured(np.inf, [policy.bought(X, lam, np.inf, forced=False) for X, _ in held_out]) for lam in prices]
    options = [*free, *capped, measured(0.0, orders)]
    return {HARD: capped, SOFT: [choose(options, budget) for budget in BUDGETS]}


def _streed(task: Task) -> Measured:
    """Train one optimal tree for each price of a mistake; where a cap ends an example, the node answers."""
    names = tuple(f"feature {column}" for column in range(task.costs.n_features))
    opens: list[Open] = []
    for forest in streed_trees(task):
        seller = Seller(task.costs, 0.0, np.asarray(forest.classes), names, True)
        opens.append(partial(Sessions, TreesInOrder(forest), seller))
    options = [in_sessions(each, task.parts) for each in opens]
    options.append(Option(0.0, 1.0, 0.0, 1.0))
    return {HARD: _capped(opens, task), SOFT: [choose(options, budget) for budget in BUDGETS]}


def _ours(kind: type[Any], task: Task) -> Measured:
    """Train one of ours: once for all averages, and anew for each cap."""

    def trained(max_cost: float | None) -> Any:
        return kind(feature_costs=task.costs, max_cost=max_cost, random_state=task.seed).fit(*task.parts.to_fit)

    model = trained(None)
    return {
        HARD: [of_model(trained(cap), task.parts) for cap in BUDGETS],
        SOFT: [of_model(model.at_budget(budget), task.parts) for budget in BUDGETS],
    }


def _capped(opens: Sequence[Open], task: Task) -> list[Option]:
    """Take for each cap the model of least validation error with it."""
    return [
        min(
            (in_sessions(partial(each, max_cost=cap), task.parts) for each in opens),
            key=lambda option: (option.validation_error, option.validation_cost),
        )
        for cap in BUDGETS
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Average accuracies over seeds, in per cent: a row per data set, setting and method."""
    rows = []
    for (data, setting, method), lines in _grouped(records):
        seeds = sorted({line["seed"] for line in lines})
        accuracy = 100 * np.array(
            [[line["accuracy"] for line in lines if line["seed"] == seed] for seed in seeds], dtype=np.float64
        )
        row = {"data": data, "setting": setting, "method": method, "seeds": len(seeds)}
        row |= {f"{budget:g}": round(float(value), 1) for budget, value in zip(BUDGETS, accuracy.mean(0), strict=True)}
        means = accuracy.mean(axis=1)
        rows.append({**row, "mean": round(float(means.mean()), 1), "mean_se": round(standard_error(means), 1)})
    return rows


def _grouped(records: list[Record]) -> list[tuple[tuple[Any, ...], list[Record]]]:
    named = dict.fromkeys([*DATA, *(record["data"] for record in records)])
    order = [(data, setting) for data in named for setting in (HARD, SOFT)]
    groups = grouped(records, "data", "setting", "method")
    return sorted(groups.items(), key=lambda group: order.index(group[0][:2]))


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw accuracy against budget, a panel per data set and setting."""
    hard_first = sorted(rows, key=lambda row: str(row["setting"]) != HARD)
    n_sets = len({row["data"] for row in rows})
    figure, parts = panels(hard_first, "setting", "data", width=5, height=3.5, n_columns=n_sets)
    for (setting, name), lines, axes in parts:
        for row in lines:
            axes.plot(BUDGETS, [row[f"{budget:g}"] for budget in BUDGETS], ".-", label=row["method"])
        axes.set_title(f"{name}, {setting} budget")
        axes.set_xlabel("most cost of an example" if setting == HARD else "average cost, at most")
        axes.set_ylabel("test accuracy, %")
    axes.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="afabench2025/cubes",
    title="CUBE, CUBE-NM and CUBE-NUC within hard and soft budgets",
    source="AFABench, arXiv 2508.14734",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        f"{N_TRAINING} examples to train on and {N_HELD_OUT} to choose and to test on, in place of 20,000 in all",
        f"{N_SEEDS} data sets each; soft budgets are average costs on the validation examples, as everywhere here",
        "within hard budgets ours are trained anew for each cap (`max_cost=`); the others are trained once",
        "AACO and the static methods are written from their papers; each method brings its own classifier",
        f"AACO and DIME: {len(PRICES)} prices within soft budgets; AACO: random sets of purchases anew in each step, a "
        "network that sees any subset",
        "GDFS and DIME, which need PyTorch, are small networks trained from their papers' descriptions; GDFS knows no "
        "prices; EDDI, JAFA, ODIN and OL are not run",
        "what GDFS and DIME learn is also computed from the distribution that examples come from (exact information)",
    ),
    quick="CUBE only, 1 seed, 400 examples to train on",
    minutes=60,
)
