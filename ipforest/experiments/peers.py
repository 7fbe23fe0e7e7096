"""What people use: boosting with penalties on features, models of selected features, and optimal trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.experiments.acquisition import features_worth_their_price
from ipforest.experiments.options import Option
from ipforest.experiments.streed import optimal_tree
from ipforest.experiments.tasks import PATIENCE, Task, prefixes, stopped, trains_with, whole
from ipforest.frontiers.averaged_trees import bagged_forest, last_before_rise
from ipforest.frontiers.tasks import task_of

RATES = (0.05, 0.1, 0.2)
"""Learning rates that every boosted peer tries."""

PENALTIES = 8
"""Weights of a penalty that are tried, evenly spread on a logarithmic scale."""

LEAVES = (8, 32)
"""Sizes of the trees of LightGBM with penalties."""

FORWARD_STEPS = 16
"""Features that forward selection finds one by one; the rest follow by importance per price."""

FORWARD_CANDIDATES = 16
"""Features tried in a step of forward selection: those of most importance per price."""

FORWARD_ROWS, FORWARD_TREES = 2000, 25
"""Size of the models that forward selection compares."""

STREED_ROWS, STREED_DEPTH, STREED_SECONDS = 5000, 3, 60.0
"""Most examples, the depth and the time of each of STreeD's trees."""


def untrained_lightgbm(task: Task, **settings: Any) -> Any:
    """Describe what all models of LightGBM have in common, and settings of one."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    shared = {"min_child_samples": 10, "random_state": task.seed, "n_jobs": 1, "verbose": -1}
    return task.either(LGBMClassifier, LGBMRegressor)(**shared, **settings)


def _lightgbm(task: Task, rate: float, columns: Any = slice(None), **settings: Any) -> BoostedTrees:
    """Train LightGBM on columns for as many rounds as help on the validation examples."""
    import lightgbm

    parts, model = task.parts, untrained_lightgbm(task, n_estimators=task.n_rounds, learning_rate=rate, **settings)
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
    from xgboost import XGBClassifier, XGBRegressor

    parts = task.parts
    model = task.either(XGBClassifier, XGBRegressor)(
        n_estimators=task.n_rounds, learning_rate=rate, early_stopping_rounds=PATIENCE, random_state=task.seed, n_jobs=1
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
    """Return prices per feature; coupled penalties are paid once for all examples, lazy ones by each.

    At the largest tradeoff a typical feature costs as much as half the examples that pay for it lazily: of several
    classes, where each round grows a tree per class, a few features are worth that.
    """
    factor = len(task.parts.y_train) / 4 if penalty == "coupled" else 1.0
    return [factor * price for price in task.prices]


@trains_with("lightgbm")
def cegb_lazy(task: Task) -> Iterator[Option]:
    """LightGBM; each example pays for a feature once."""
    for trees in penalised_lightgbm(task, "lazy"):
        yield from prefixes(trees, task)


@trains_with("lightgbm")
def cegb_coupled(task: Task) -> Iterator[Option]:
    """LightGBM; a feature is paid for once for all examples."""
    for trees in penalised_lightgbm(task, "coupled"):
        yield from prefixes(trees, task)


@trains_with("lightgbm")
def cegb_early_exit(task: Task) -> Iterator[Option]:
    """LightGBM with lazy penalties, stopped when sure."""
    for trees in penalised_lightgbm(task, "lazy"):
        yield from prefixes(trees, task)
        yield from stopped(trees, task)


@trains_with("catboost")
def catboost_penalties(task: Task) -> Iterator[Option]:
    """CatBoost with penalties that each example pays once per feature.

    A split gets a score that grows with the root of the examples, from which the penalties of all examples are taken:
    from a hundredth to ten divided by their number, or from a tenth to twenty where numbers of variance 1 are
    predicted, is the range from all features to one, whatever the data.
    """
    from catboost import CatBoostClassifier, CatBoostRegressor

    parts = task.parts
    coefficients = np.geomspace(*task.either((10, 0.01), (20, 0.1)), PENALTIES) / len(parts.y_train)
    for coefficient, rate in product(coefficients, RATES):
        model = task.either(CatBoostClassifier, CatBoostRegressor)(
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
        fit = partial(_with_best_leaves, task.forest(max_features=max_features), task.leaf_sizes)
        order = order_of(task.trained(fit, parts.X_train, parts.y_train))
        for k in _sizes(order.size):
            columns = np.sort(order[:k])
            forest = task.trained(fit, parts.X_train[:, columns], parts.y_train)
            yield whole(Forest.from_sklearn(forest), task, columns)


def _with_best_leaves(forest: Any, leaf_sizes: Sequence[int], X: Array, y: Array) -> Any:
    """Train a forest of scikit-learn with larger and larger leaves until its score out of bag rises."""
    learnt = task_of(forest, y)
    encoded = learnt.encoded(y)
    grown = (bagged_forest(forest, X, y, min_samples_leaf=size) for size in leaf_sizes)
    return last_before_rise((learnt.score(learnt.out_of_bag(each, encoded), encoded, None), each) for each in grown)[1]


@trains_with("lightgbm")
def selected_lightgbm(task: Task) -> Iterator[Option]:
    """LightGBM retrained on its k most important features per price."""
    return _boosted_in_order(task, _importance_order(task), _lightgbm)


@trains_with("lightgbm")
def coai(task: Task) -> Iterator[Option]:
    """CoAI: LightGBM retrained on the features of most Shapley value in all, one set for each budget."""
    found = features_worth_their_price(shapley_gains(task), task.costs, task.budgets)
    sets = {tuple(np.flatnonzero(each).tolist()): None for each in found if each.any()}
    return _boosted_on(task, map(np.array, sets), _lightgbm)


def shapley_gains(task: Task) -> FloatArray:
    """Sum for each feature the sizes of its Shapley values on the training examples, of boosting that sees all."""
    X, shape = task.parts.X_train, (len(task.parts.X_train), -1, task.costs.n_features + 1)
    model = task.trained(untrained_lightgbm(task).fit, X, task.parts.y_train)
    gains: FloatArray = np.abs(model.predict(X, pred_contrib=True).reshape(shape)[:, :, :-1]).sum(axis=(0, 1))
    return gains


@trains_with("lightgbm")
def forward_lightgbm(task: Task) -> Iterator[Option]:
    """LightGBM retrained on features found by forward selection."""
    quick = untrained_lightgbm(task, n_estimators=FORWARD_TREES, learning_rate=RATES[-1], num_leaves=LEAVES[0])
    return _boosted_in_order(task, task.trained(_forward_order, task, quick), _lightgbm)


@trains_with("lightgbm", "xgboost")
def selected_xgboost(task: Task) -> Iterator[Option]:
    """XGBoost retrained on the features that LightGBM finds most important per price."""
    return _boosted_in_order(task, _importance_order(task), _xgboost)


def _importance_order(task: Task) -> IntArray:
    model = untrained_lightgbm(task, n_estimators=task.n_trees, importance_type="gain")
    fitted = task.trained(model.fit, task.parts.X_train, task.parts.y_train)
    return _by_importance(task, fitted.feature_importances_)


def _boosted_in_order(task: Task, order: IntArray, train: Callable[..., BoostedTrees]) -> Iterator[Option]:
    return _boosted_on(task, (np.sort(order[:k]) for k in _sizes(order.size)), train)


def _boosted_on(task: Task, sets: Iterable[IntArray], train: Callable[..., BoostedTrees]) -> Iterator[Option]:
    for columns, rate in product(sets, RATES):
        yield from prefixes(train(task, rate, columns), task, columns)


def _forward_order(task: Task, model: Any) -> IntArray:
    """Order features: each next one lowers the squared error on the validation examples most per added price.

    For classes it is that of their probabilities, the Brier score.

    What a feature adds to the price depends on its group: a fee that is paid already is not paid again.
    """
    parts, rng = task.parts, np.random.default_rng(task.seed)
    rows = np.sort(rng.permutation(parts.y_train.size)[:FORWARD_ROWS])
    X, y = parts.X_train[rows], parts.y_train[rows]
    first = clone(model).fit(X, y)
    by_importance = _by_importance(task, first.feature_importances_).tolist()

    def answer(fitted: Any, X: Array) -> Array:
        return np.asarray(fitted.predict(X) if parts.is_regression else fitted.predict_proba(X))

    def targets(y: Array) -> Array:
        return y if parts.is_regression else y[:, None] == first.classes_

    truth, chosen, least = targets(parts.y_validation), list[int](), min(task.costs.positive_costs, default=1.0)
    score = _squared_error(targets(y).mean(axis=0), truth)
    while len(chosen) < min(FORWARD_STEPS, len(by_importance)):
        paid = _price_of(task, chosen)
        found = []
        for feature in [feature for feature in by_importance if feature not in chosen][:FORWARD_CANDIDATES]:
            columns = [*chosen, feature]
            fitted = clone(model).fit(X[:, columns], y)
            reached = _squared_error(answer(fitted, parts.X_validation[:, columns]), truth)
            added = max(_price_of(task, columns) - paid, 1e-3 * least)
            gain = score - reached
            found.append((gain / added if gain > 0 else gain * added, reached, feature))
        _, score, best = max(found, key=lambda each: each[0])
        chosen.append(best)
    return np.array([*chosen, *(feature for feature in by_importance if feature not in chosen)], dtype=np.int64)


def _price_of(task: Task, columns: Sequence[int]) -> float:
    bought = np.zeros((1, task.costs.n_features), dtype=bool)
    bought[0, list(columns)] = True
    return float(task.costs.cost_of(bought)[0])


def _squared_error(outputs: Array, truth: Array) -> float:
    return float(np.square(outputs - truth).sum()) / len(truth)


@trains_with("pystreed", predicts_numbers=False)
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
