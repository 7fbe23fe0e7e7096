"""Methods that keep a budget: what each can do with the parts of a data set. One list, for every comparison.

A method trains on the first part. Of all that it can do with its models (prefixes, prunings, levels of stopping) the
option of least error on the second part within each budget is taken, and measured on the third. An estimator that
computes its own frontier also selects from it, on the same validation examples. Peers and our own methods have the same
rounds, the same validation examples to stop early on, and the same right to mix two options at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from inspect import signature
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.kernels import processor_clock
from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.estimator import BudgetedEstimator
from ipforest.experiments.options import (
    Answer,
    Option,
    between,
    choose,
    in_sessions,
    least_error_in_hindsight,
    levels,
    majority,
    mix,
    record_both,
)
from ipforest.experiments.parts import Parts
from ipforest.experiments.streed import optimal_tree
from ipforest.frontiers.averaged_trees import LEAF_SIZES, MANY_FEATURES, with_best_leaves
from ipforest.frontiers.budget_boost import BudgetBoost
from ipforest.frontiers.budget_forest import BudgetForest
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier
from ipforest.frontiers.joint_frontier import JointFrontier
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budget_rf import BudgetRF, GreedyGrowth
from ipforest.learners.greedy_miser import GreedyMiser
from ipforest.learners.priced_booster import PricedGrowth
from ipforest.learners.pruning_baselines import CostComplexity
from ipforest.policy import TreesInOrder
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.threshold_stopping import ThresholdStopping

__all__ = ["METHODS", "OURS", "Choices", "Method", "Task", "available", "choices_within"]

ROUNDS_PER_TREE = 4
"""Rounds of boosting for each tree of a forest: 400 for 100, as many as `BudgetBoost` takes."""

PATIENCE = 50
"""Rounds without gain on the validation examples after which boosting ends."""

RATES = (0.05, 0.1, 0.2)
"""Learning rates that every boosted peer tries."""

PENALTIES = 8
"""Weights of a penalty that are tried, evenly spread on a logarithmic scale."""

LEAVES = (8, 32)
"""Sizes of the trees of LightGBM with penalties."""

PREFIXES = (3, 6, 12, 25, 50, 100, 200)
"""Boosted ensembles may also be cut off after so many rounds."""

ALPHAS = (0, 2, 4, 8, 15, 25, 45)
"""Thresholds of BudgetRF's impurity, as far as its authors went."""

N_ALPHAS = 30
"""Prunings by cost complexity, evenly spread over the path."""

N_LEVELS = 100
"""Levels of a stopping rule that are measured, evenly spread over cost."""

FORWARD_STEPS = 16
"""Features that forward selection finds one by one; the rest follow by importance per price."""

FORWARD_CANDIDATES = 16
"""Features tried in a step of forward selection: those of most importance per price."""

FORWARD_ROWS, FORWARD_TREES = 2000, 25
"""Size of the models that forward selection compares."""

STREED_ROWS, STREED_DEPTH, STREED_SECONDS = 5000, 3, 60.0
"""Most examples, the depth and the time of each of STreeD's trees."""

N_HINDSIGHT = 40
"""Points of a frontier that are measured to tell what could have been chosen, evenly spread."""

RULES = (ThresholdStopping(), OptimalStopping())


class Stopwatch:
    """Adds up the processor's seconds of training; compiling kernels does not count.

    Attributes
    ----------
    seconds : float
    """

    seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time until the end of the block."""
        start = processor_clock()
        yield
        self.seconds += processor_clock() - start


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is given: train on the first part, choose on the second, report the third.

    Parameters
    ----------
    parts : Parts
    costs : FeatureCosts
    budgets : tuple of float
        What an example may cost on average.
    n_trees : int
        Trees of a forest; boosting has `ROUNDS_PER_TREE` times as many rounds, and ends early on the validation part.
    seed : int
    max_features : tuple of {"sqrt", None} or float
        Features from which a split of a forest chooses. Each is tried where a method tries settings; elsewhere the
        first is taken.
    leaf_sizes : tuple of int
        Fewest examples per leaf that are tried out of bag where a forest is retrained on few features.
    patience : int
        Rounds without gain on the validation examples after which LightGBM ends.
    training : Stopwatch
    """

    parts: Parts
    costs: FeatureCosts
    budgets: tuple[float, ...]
    n_trees: int
    seed: int
    max_features: tuple[str | float | None, ...] = ("sqrt", MANY_FEATURES)
    leaf_sizes: tuple[int, ...] = LEAF_SIZES
    patience: int = PATIENCE
    training: Stopwatch = field(default_factory=Stopwatch)

    @property
    def alone(self) -> FloatArray:
        """What each feature costs alone, shape (n_features,)."""
        return self.costs.cost_of(np.eye(self.costs.n_features, dtype=bool))

    @property
    def prices(self) -> list[float]:
        """What each feature costs alone, a typical one 1."""
        alone = self.alone
        return [float(price) for price in alone / (np.median(alone[alone > 0]) if (alone > 0).any() else 1.0)]

    @property
    def n_rounds(self) -> int:
        """Most rounds of boosting."""
        return ROUNDS_PER_TREE * self.n_trees

    def forest(self, **settings: Any) -> RandomForestClassifier:
        """Describe the random forest that methods start from."""
        usual = {"n_estimators": self.n_trees, "max_features": self.max_features[0], "random_state": self.seed}
        return RandomForestClassifier(**{**usual, **settings})

    def trained(self, fit: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
        """Call what trains a model, and count its time."""
        with self.training.running():
            return fit(*arguments, **settings)


Method: TypeAlias = Callable[[Task], Iterable[Option]]
"""Trains on a task's first part, and gives all that it can do with its models."""


def whole(trees: Forest | BoostedTrees, task: Task, columns: Array | None = None) -> Option:
    """Measure an ensemble, perhaps of some of the columns, when no example stops."""
    chosen = slice(None) if columns is None else columns

    def answer(X: Array) -> Answer:
        seen, usage = X[:, chosen], np.zeros(X.shape, dtype=np.int32)
        usage[:, chosen] = trees.feature_usage(seen)
        outputs = trees.predict_proba(seen)
        labels = np.asarray(trees.classes)[np.argmax(outputs, axis=1)]
        return Answer(labels, task.costs.cost_of(usage), outputs)

    return Option.measured(task.parts, answer)


def prefixes(trees: BoostedTrees, task: Task, columns: Array | None = None) -> Iterator[Option]:
    """Measure boosted trees, whole and cut off."""
    n_margins = trees.base_score.size
    for size in sorted({*(n * n_margins for n in PREFIXES), trees.n_trees}):
        if size <= trees.n_trees:
            yield whole(trees.first(size), task, columns)


def stopped(trees: Forest | BoostedTrees, task: Task) -> Iterator[Option]:
    """Measure an ensemble at the levels of each stopping rule, cross-fitted on the validation examples."""
    paths = record_both(TreesInOrder(trees), task.parts, task.costs)
    yield from levels(RULES, *paths, N_LEVELS)


def at_budgets(model: BudgetedEstimator, task: Task, budgets: Sequence[float]) -> Iterator[Option]:
    """Measure a model that has budgets itself."""
    return (in_sessions(model.at_budget(budget).sessions, task.parts) for budget in budgets)


def _fit(estimator: Any, task: Task) -> Any:
    return task.trained(estimator.fit, *task.parts.to_fit)


def _lightgbm(task: Task, rate: float, columns: Any = slice(None), **settings: Any) -> BoostedTrees:
    """Train LightGBM on columns for as many rounds as help on the validation examples."""
    import lightgbm

    parts = task.parts
    model = lightgbm.LGBMClassifier(
        n_estimators=task.n_rounds,
        learning_rate=rate,
        min_child_samples=10,
        random_state=task.seed,
        n_jobs=1,
        verbose=-1,
        **settings,
    )
    X_validation, patience = parts.X_validation[:, columns], lightgbm.early_stopping(task.patience, verbose=False)
    held_out: dict[str, Any] = {"eval_X": X_validation, "eval_y": parts.y_validation}
    if "eval_X" not in signature(model.fit).parameters:  # before LightGBM 4.7
        held_out = {"eval_set": [(X_validation, parts.y_validation)]}
    task.trained(model.fit, parts.X_train[:, columns], parts.y_train, **held_out, callbacks=[patience])
    return read_boosted(model)


def read_boosted(model: Any) -> BoostedTrees:
    """Read boosted trees of another library."""
    trees = read(model)
    if not isinstance(trees, BoostedTrees):
        raise TypeError(f"model: expected boosted trees, got {type(trees).__name__}")
    return trees


def _xgboost(task: Task, rate: float, columns: Any = slice(None)) -> BoostedTrees:
    """Train XGBoost on columns for as many rounds as help on the validation examples."""
    from xgboost import XGBClassifier

    parts = task.parts
    model = XGBClassifier(
        n_estimators=task.n_rounds,
        learning_rate=rate,
        early_stopping_rounds=PATIENCE,
        random_state=task.seed,
        n_jobs=1,
    )
    held_out = [(parts.X_validation[:, columns], parts.y_validation)]
    task.trained(model.fit, parts.X_train[:, columns], parts.y_train, eval_set=held_out, verbose=False)
    return read_boosted(model)


def penalised_lightgbm(task: Task, penalty: str, rates: Sequence[float] = RATES) -> Iterator[BoostedTrees]:
    """Train LightGBM with penalties on features (CEGB), over tradeoffs, sizes of trees and learning rates."""
    per_feature = {f"cegb_penalty_feature_{penalty}": _per_kind(task, penalty)}
    for tradeoff, leaves, rate in product(np.geomspace(2, 0.002, PENALTIES), LEAVES, rates):
        yield _lightgbm(task, rate, num_leaves=leaves, cegb_tradeoff=tradeoff, **per_feature)


def _per_kind(task: Task, penalty: str) -> list[float]:
    """Return prices per feature; coupled penalties are paid once for all examples, lazy ones by each."""
    factor = len(task.parts.y_train) / 10 if penalty == "coupled" else 1.0
    return [factor * price for price in task.prices]


def cegb_lazy(task: Task) -> Iterator[Option]:
    """LightGBM; each example pays for a feature once."""
    for trees in penalised_lightgbm(task, "lazy"):
        yield from prefixes(trees, task)


def cegb_coupled(task: Task) -> Iterator[Option]:
    """LightGBM; a feature is paid for once for all examples."""
    for trees in penalised_lightgbm(task, "coupled"):
        yield from prefixes(trees, task)


def cegb_early_exit(task: Task) -> Iterator[Option]:
    """LightGBM with lazy penalties, stopped when sure."""
    for trees in penalised_lightgbm(task, "lazy"):
        yield from prefixes(trees, task)
        yield from stopped(trees, task)


def catboost_penalties(task: Task) -> Iterator[Option]:
    """CatBoost with penalties that each example pays once per feature."""
    from catboost import CatBoostClassifier

    parts = task.parts
    for coefficient, rate in product(np.geomspace(1, 0.001, PENALTIES), RATES):
        model = CatBoostClassifier(
            iterations=task.n_rounds,
            learning_rate=rate,
            depth=5,
            per_object_feature_penalties=task.prices,
            penalties_coefficient=coefficient,
            early_stopping_rounds=PATIENCE,
            random_seed=task.seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        )
        held_out = (parts.X_validation, parts.y_validation)
        fitted = task.trained(model.fit, parts.X_train, parts.y_train, eval_set=held_out)
        yield from prefixes(read_boosted(fitted), task)


def _by_importance(task: Task, importance: Array) -> IntArray:
    """Order features by importance per price, falling; those that are free count as the cheapest of the others."""
    prices = task.alone
    paid = np.where(prices > 0, prices, prices[prices > 0].min(initial=1.0))
    return np.argsort(-np.asarray(importance, dtype=np.float64) / paid, kind="stable")


def _sizes(n_features: int) -> list[int]:
    """Return numbers of features to try: all up to 10, then in steps of a quarter."""
    tried = [*range(1, min(n_features, 10) + 1)]
    while tried[-1] < n_features:
        tried.append(min(n_features, tried[-1] * 5 // 4))
    return tried


def selected_forest(task: Task) -> Iterator[Option]:
    """Retrain a random forest on its k most important features per price, with the leaves that help out of bag."""
    return _forests_on_features(task, lambda fitted: _by_importance(task, fitted.feature_importances_))


def forward_forest(task: Task) -> Iterator[Option]:
    """Retrain a random forest on features found by forward selection, with the leaves that help out of bag."""
    order = task.trained(_forward_order, task, task.forest(n_estimators=FORWARD_TREES))
    return _forests_on_features(task, lambda _: order)


def _forests_on_features(task: Task, order_of: Callable[[Any], IntArray]) -> Iterator[Option]:
    parts = task.parts
    for max_features in task.max_features:
        fitted = partial(task.trained, with_best_leaves, task.forest(max_features=max_features), task.leaf_sizes)
        order = order_of(fitted(parts.X_train, parts.y_train))
        for k in _sizes(order.size):
            columns = np.sort(order[:k])
            forest = fitted(parts.X_train[:, columns], parts.y_train)
            yield whole(Forest.from_sklearn(forest), task, columns)


def selected_lightgbm(task: Task) -> Iterator[Option]:
    """LightGBM retrained on its k most important features per price."""
    return _boosted_on_features(task, _importance_order(task), _lightgbm)


def forward_lightgbm(task: Task) -> Iterator[Option]:
    """LightGBM retrained on features found by forward selection."""
    from lightgbm import LGBMClassifier

    settings = {"num_leaves": LEAVES[0], "min_child_samples": 10, "n_jobs": 1, "verbose": -1}
    quick = LGBMClassifier(n_estimators=FORWARD_TREES, learning_rate=RATES[-1], random_state=task.seed, **settings)
    return _boosted_on_features(task, task.trained(_forward_order, task, quick), _lightgbm)


def selected_xgboost(task: Task) -> Iterator[Option]:
    """XGBoost retrained on the features that LightGBM finds most important per price."""
    return _boosted_on_features(task, _importance_order(task), _xgboost)


def _importance_order(task: Task) -> IntArray:
    from lightgbm import LGBMClassifier

    settings = {"min_child_samples": 10, "importance_type": "gain", "n_jobs": 1, "verbose": -1}
    model = LGBMClassifier(n_estimators=task.n_trees, random_state=task.seed, **settings)
    fitted = task.trained(model.fit, task.parts.X_train, task.parts.y_train)
    return _by_importance(task, fitted.feature_importances_)


def _boosted_on_features(task: Task, order: IntArray, train: Callable[..., BoostedTrees]) -> Iterator[Option]:
    for k, rate in product(_sizes(order.size), RATES):
        columns = np.sort(order[:k])
        yield from prefixes(train(task, rate, columns), task, columns)


def _forward_order(task: Task, model: Any) -> IntArray:
    """Order features: each next one lowers the Brier score on the validation examples most per added price.

    What a feature adds to the price depends on its group: a fee that is paid already is not paid again.
    """
    parts, rng = task.parts, np.random.default_rng(task.seed)
    rows = np.sort(rng.permutation(parts.y_train.size)[:FORWARD_ROWS])
    X, y = parts.X_train[rows], parts.y_train[rows]
    first = clone(model).fit(X, y)
    by_importance = _by_importance(task, first.feature_importances_).tolist()
    truth = parts.y_validation[:, None] == first.classes_
    shares = np.array([np.mean(y == label) for label in first.classes_])
    score, chosen, least = _brier(shares[None], truth), list[int](), min(task.costs.positive_costs, default=1.0)
    while len(chosen) < min(FORWARD_STEPS, len(by_importance)):
        paid = _price_of(task, chosen)
        found = []
        for feature in [feature for feature in by_importance if feature not in chosen][:FORWARD_CANDIDATES]:
            columns = [*chosen, feature]
            outputs = clone(model).fit(X[:, columns], y).predict_proba(parts.X_validation[:, columns])
            added = max(_price_of(task, columns) - paid, 1e-3 * least)
            reached = _brier(outputs, truth)
            gain = score - reached
            found.append((gain / added if gain > 0 else gain * added, reached, feature))
        _, score, best = max(found, key=lambda each: each[0])
        chosen.append(best)
    return np.array([*chosen, *(feature for feature in by_importance if feature not in chosen)], dtype=np.int64)


def _price_of(task: Task, columns: Sequence[int]) -> float:
    bought = np.zeros((1, task.costs.n_features), dtype=bool)
    bought[0, list(columns)] = True
    return float(task.costs.cost_of(bought)[0])


def _brier(outputs: Array, truth: Array) -> float:
    return float(np.square(outputs - truth).sum(axis=1).mean())


def cost_complexity(task: Task) -> Iterator[Option]:
    """Prune a random forest by cost complexity, blind to prices; trees that are pruned to their root do not vote."""
    parts = task.parts
    fitted = task.trained(task.forest().fit, parts.X_train, parts.y_train)
    model = CostComplexity(fitted, feature_costs=task.costs, loss="gini", n_prunings=N_ALPHAS)
    task.trained(model.fit, parts.X_validation)
    for pruning in model.sequence_.prunings:
        yield whole(model.forest_.prune(pruning).without_bare_roots(), task)


def budget_rf(task: Task) -> Iterator[Option]:
    """BudgetRF as its authors ran it: every cut, alpha from 0 to 45, as many trees as the budget allows."""
    model = _fit(
        BudgetRF(40, growth=GreedyGrowth(alpha=ALPHAS), feature_costs=task.costs, random_state=task.seed), task
    )
    return at_budgets(model, task, task.budgets)


def budget_prune(task: Task) -> Iterator[Option]:
    """BudgetPrune: one random forest, pruned exactly to each budget."""
    parts = task.parts
    fitted = task.trained(task.forest().fit, parts.X_train, parts.y_train)
    model = BudgetPrune(fitted, feature_costs=task.costs, budget=0)
    task.trained(model.fit, parts.X_validation)
    yield from at_budgets(model, task, (0, *task.budgets))
    yield whole(model.at_lambda(0).pruned_, task)


def greedy_miser(task: Task) -> Iterator[Option]:
    """GreedyMiser: features are paid for once for all examples, over prices and learning rates."""
    for lam, rate in product(np.geomspace(0.1, 1e-5, PENALTIES), RATES[1:]):
        scaled = lam / (sum(float(cost) for cost in task.costs.unit_costs) / task.costs.n_units)
        model = GreedyMiser(
            task.n_rounds,
            lam=float(scaled),
            growth=PricedGrowth(learning_rate=rate, max_depth=4, max_bins=64),
            feature_costs=task.costs,
            random_state=task.seed,
        )
        yield from at_budgets(_fit(model, task), task, task.budgets)


def streed(task: Task) -> Iterator[Option]:
    """STreeD: one tree, optimal for a price of mistakes, over prices; on some of the training examples."""
    return (whole(tree, task) for tree in streed_trees(task))


def streed_trees(task: Task) -> Iterator[Forest]:
    """Train STreeD's trees."""
    parts = task.parts
    rows = np.sort(np.random.default_rng(task.seed).permutation(parts.y_train.size)[:STREED_ROWS])
    n_classes = int(parts.y_train.max()) + 1
    total = sum(float(cost) for cost in task.costs.unit_costs)
    for mistake in total * np.geomspace(0.1, 100, PENALTIES):
        prices = mistake * (1 - np.eye(n_classes))
        arguments = (parts.X_train[rows], parts.y_train[rows], task.costs, prices, STREED_DEPTH, STREED_SECONDS)
        yield task.trained(optimal_tree, *arguments, task.seed, tune=False)


def nested_cascade(task: Task) -> Iterator[Option]:
    """Forests on the 1, 2, 3, ... most useful units, stopped when sure."""
    base = RandomForestClassifier(task.n_trees, random_state=task.seed)
    model = _fit(NestedCascade(base, feature_costs=task.costs, stopping=RULES, random_state=task.seed), task)
    yield from levels(RULES, model.paths_, model.paths_of(task.parts.X_test, task.parts.y_test), N_LEVELS)


METHODS: Mapping[str, Method | JointFrontier] = {
    "CEGB lazy": cegb_lazy,
    "CEGB coupled": cegb_coupled,
    "CatBoost penalties": catboost_penalties,
    "k best, forest": selected_forest,
    "k best, LightGBM": selected_lightgbm,
    "k best, XGBoost": selected_xgboost,
    "forward, forest": forward_forest,
    "forward, LightGBM": forward_lightgbm,
    "cost-complexity": cost_complexity,
    "BudgetRF": budget_rf,
    "GreedyMiser": greedy_miser,
    "STreeD": streed,
    "BudgetPrune": budget_prune,
    "CEGB early exit": cegb_early_exit,
    "NestedCascade": nested_cascade,
    "BudgetForest": BudgetForest(),
    "BudgetBoost": BudgetBoost(),
    "BudgetedClassifier": BudgetedClassifier(),
}
"""Options to choose among on validation, or an estimator that chooses itself."""

OURS = ("BudgetPrune", "CEGB early exit", "NestedCascade", "BudgetForest", "BudgetBoost", "BudgetedClassifier")
"""What is of this package; the rest is what people use."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    "CatBoost penalties": ("catboost",),
    "STreeD": ("pystreed",),
    "k best, XGBoost": ("lightgbm", "xgboost"),
    **dict.fromkeys(
        ("CEGB lazy", "CEGB coupled", "CEGB early exit", "k best, LightGBM", "forward, LightGBM"), ("lightgbm",)
    ),
}
"""The libraries that a method needs, where it needs some."""


def available(methods: Iterable[str]) -> list[str]:
    """Return the methods whose libraries are installed."""
    return [name for name in methods if all(find_spec(library) is not None for library in NEEDS.get(name, ()))]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a method comes to within the budgets of a task.

    Parameters
    ----------
    plain : tuple of Option
        One option for each budget.
    mixed : tuple of Option
        Where two options may be mixed at random: the average cost has to keep the budget.
    hindsight : tuple of float
        The least test error of all options within each budget; of an estimator that computes its own frontier, of at
        most `N_HINDSIGHT` points of it.
    seconds : float
        Processor time of all training.
    """

    plain: tuple[Option, ...]
    mixed: tuple[Option, ...]
    hindsight: tuple[float, ...]
    seconds: float


def choices_within(method: Method | JointFrontier, task: Task) -> Choices:
    """Train a method, and choose for each budget on the validation part, without and with mixing."""
    if isinstance(method, JointFrontier):
        plain, mixed, options = _own_choices(method, task)
    else:
        options = [majority(task.parts), *_options_of(method, task)]
        plain, mixed = ([take(options, budget) for budget in task.budgets] for take in (choose, mix))
    hindsight = [least_error_in_hindsight(options, budget) for budget in task.budgets]
    return Choices(tuple(plain), tuple(mixed), tuple(hindsight), task.training.seconds)


def _options_of(method: Method, task: Task) -> list[Option]:
    """Let a method train.

    Raises
    ------
    TypeError
        It does not give options.
    """
    answer, name = method(task), getattr(method, "__name__", "method")
    options = [*answer] if isinstance(answer, Iterable) else [answer]
    for option in options:
        if not isinstance(option, Option):
            raise TypeError(
                f"{name}: expected options, as of Option.measured(task.parts, answer), got {type(option).__name__}"
            )
    return options


def _own_choices(estimator: JointFrontier, task: Task) -> tuple[list[Option], list[Option], list[Option]]:
    """Measure what an estimator that computes its own frontier selects for each budget, mixes, and could select."""
    model = _fit(clone(estimator).set_params(feature_costs=task.costs, random_state=task.seed), task)
    expected = model.frontier_.cost[[model.frontier_.within(budget) for budget in task.budgets]]
    measured = at_budgets(model, task, task.budgets)
    plain = [replace(option, validation_cost=cost) for option, cost in zip(measured, expected.tolist(), strict=True)]
    mixtures = [model.mixture(budget) for budget in task.budgets]
    ends = ([in_sessions(one.sessions, task.parts) for one in (each.cheap, each.costly)] for each in mixtures)
    mixed = [between(cheap, costly, each.share) for each, (cheap, costly) in zip(mixtures, ends, strict=True)]
    costs = model.frontier_.cost
    spread = costs[np.unique(np.linspace(0, costs.size - 1, N_HINDSIGHT).round().astype(np.int64))].tolist()
    along = zip(spread, at_budgets(model, task, spread), strict=True)
    return plain, mixed, [*plain, *(replace(option, validation_cost=cost) for cost, option in along)]
