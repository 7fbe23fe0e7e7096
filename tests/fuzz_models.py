"""Random models of all libraries that are read, on random data and names, against the libraries' own predictions.

Each case draws data (missing, constant, huge, tied, integer, of categories), names (underscores, blanks, letters of any
alphabet, such as libraries make up, numbers), a model with random options, and checks that

- what is read predicts what the model predicts, also written in another format, at every threshold and next to it;
- columns in another order are refused where training had names or numbers;
- prices by name, or by column number as text, cost what a count along the decision paths costs;
- the in-bag loss that an instance claims is that of the values that predict;
- prices of other names are refused.

Run with ``python tests/fuzz_models.py --seconds 60 [--seed 0]``; a fault prints the number that ``--case`` repeats.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from ipforest import FeatureCosts, Forest, PruningInstance
from ipforest.ensemble import read, write
from ipforest.tabular.price_lists import read_prices
from ipforest.testing import check_reader

LIBRARIES = {
    name: package
    for name, package in {
        "forest": "sklearn",
        "boosting": "sklearn",
        "histogram": "sklearn",
        "lightgbm": "lightgbm",
        "xgboost": "xgboost",
        "catboost": "catboost",
    }.items()
    if find_spec(package)
}
KINDS = ("normal", "integer", "tied", "huge", "tiny", "constant", "binary", "exponential")
TAKES_MISSING = ("forest", "histogram", "lightgbm", "xgboost", "catboost")
TAKES_CATEGORIES = ("histogram", "lightgbm", "xgboost")
WORDS = (
    "mean_radius",
    "mean radius x",
    "größe",
    "温度",
    "a.b",
    "x-y",
    "lead x",
    "Column 7",
    "f_0",
    "feature_1",
    "UPPER",
    "é_ü",
)
LABELS = ([0, 1, 2], ["a", "b", "c"], ["2", "9", "10"], [-1, 1, 5], [10.0, 2.0, 3.0])


class Case:
    """One random model with its data; everything follows from the number of the case."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])
        rng = self.rng
        self.library = str(rng.choice([*LIBRARIES]))
        self.n_features = int(rng.integers(2, 13))
        self.kinds = rng.choice(KINDS, self.n_features)
        self.is_category = np.zeros(self.n_features, dtype=bool)
        if self.library in TAKES_CATEGORIES and rng.random() < 0.4:
            self.is_category[: int(rng.integers(1, self.n_features))] = True
        self.has_missing = self.library in TAKES_MISSING and rng.random() < 0.5
        self.top = 1 if self.library == "xgboost" else int(rng.choice([1, 3, 10**5]))
        if self.library == "histogram":
            self.top = int(rng.choice([1, 20]))
        self.train, self.fresh = self._examples(150), self._examples(60)
        self.classes: list[Any] | None = None
        self.y = self._targets()
        self.names = self._names()

    def _examples(self, n: int) -> Any:
        rng = self.rng
        draw = {
            "normal": lambda: rng.normal(size=n),
            "integer": lambda: rng.integers(-5, 50, n),
            "tied": lambda: np.round(rng.normal(size=n), 1),
            "huge": lambda: rng.normal(size=n) * 1e12,
            "tiny": lambda: rng.normal(size=n) * 1e-9,
            "constant": lambda: np.full(n, 3.5),
            "binary": lambda: rng.integers(0, 2, n),
            "exponential": lambda: rng.exponential(size=n) ** 3,
        }
        X = np.column_stack([draw[kind]() for kind in self.kinds]).astype(np.float32).astype(np.float64)
        X[:, self.is_category] = rng.integers(0, 8, (n, self.is_category.sum())) * self.top
        if self.has_missing:
            X[rng.random(X.shape) < 0.15] = np.nan
        return X

    def _targets(self) -> Any:
        rng, X = self.rng, np.nan_to_num(self.train)
        ranks = X.argsort(axis=0).argsort(axis=0) / len(X)
        signal = ranks[:, 0] + (ranks[:, -1] - 0.5) ** 2 + rng.normal(size=len(X)) * 0.2
        self.task = str(rng.choice(["two classes", "three classes", "targets"]))
        if self.task == "targets":
            return np.exp(signal)
        n_classes = 2 if self.task == "two classes" else 3
        labels = LABELS[0] if self.library == "xgboost" else LABELS[rng.integers(len(LABELS))]
        self.classes = labels[:n_classes]
        return np.array(self.classes)[np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)]

    def _names(self) -> list[Any] | None:
        rng, n = self.rng, self.n_features
        kind = rng.integers(6)
        choices: list[list[Any] | None] = [
            None,
            rng.permutation(WORDS)[:n].tolist(),
            [f"Column_{column}" for column in range(n)],
            [f"f{column}" for column in range(n)],
            [str(column) for column in range(n)],
            [*range(n)],
        ]
        names = choices[kind]
        if kind in (2, 3) and rng.random() < 0.5:
            return rng.permutation(names).tolist()
        return names

    def table(self, X: Any) -> Any:
        """Give examples as the model is trained on them."""
        return X if self.names is None else pd.DataFrame(X, columns=self.names)

    def model(self) -> Any:
        """Draw and train a model."""
        model, options = getattr(self, f"_{self.library}")()
        weight = self.rng.integers(1, 4, len(self.y)) if self.rng.random() < 0.3 else None
        return model.fit(self.table(self.train), self.y, sample_weight=weight, **options)

    def _pick(self, **options: Any) -> dict[str, Any]:
        return {name: values[self.rng.integers(len(values))] for name, values in options.items()}

    def _forest(self) -> tuple[Any, dict[str, Any]]:
        seed = int(self.rng.integers(1000))
        shape = self._pick(max_depth=[None, 1, 3, 6], min_samples_leaf=[1, 5])
        monotone = [int(self.rng.integers(-1, 2)) for _ in range(self.n_features)]
        constraint = {"monotonic_cst": monotone} if self.rng.random() < 0.2 and self.task != "three classes" else {}
        if self.has_missing:
            constraint = {}
        criterion = (
            self._pick(criterion=["squared_error", "friedman_mse", "poisson"])
            if self.classes is None
            else self._pick(criterion=["gini", "entropy"])
        )
        if constraint:
            criterion = {}
        kind = int(self.rng.integers(4))
        if kind == 0:
            tree = (DecisionTreeRegressor, ExtraTreeClassifier)[self.classes is not None]
            return tree(**shape, random_state=seed), {}
        if kind == 1:
            tree = (DecisionTreeRegressor, DecisionTreeClassifier)[self.classes is not None](**shape)
            bagging = (BaggingRegressor, BaggingClassifier)[self.classes is not None]
            return bagging(
                tree, 4, random_state=seed, **self._pick(max_features=[1.0, 0.6], bootstrap=[True, False])
            ), {}
        kinds = (RandomForestRegressor, ExtraTreesRegressor, RandomForestClassifier, ExtraTreesClassifier)
        forest = kinds[kind - 2 + 2 * (self.classes is not None)]
        return forest(
            4, random_state=seed, **shape, **self._pick(bootstrap=[True, False]), **constraint, **criterion
        ), {}

    def _boosting(self) -> tuple[Any, dict[str, Any]]:
        shape = self._pick(max_depth=[1, 3], learning_rate=[0.1, 0.7], subsample=[1.0, 0.5])
        if self.classes is None:
            losses = self._pick(loss=["squared_error", "absolute_error", "huber", "quantile"], init=[None, "zero"])
            return GradientBoostingRegressor(n_estimators=6, **shape, **losses, random_state=0), {}
        losses = self._pick(loss=["log_loss", "exponential"] if len(self.classes) == 2 else ["log_loss"])
        return GradientBoostingClassifier(n_estimators=6, **shape, **losses, random_state=0), {}

    def _histogram(self) -> tuple[Any, dict[str, Any]]:
        shape = self._pick(
            max_leaf_nodes=[3, 15], learning_rate=[0.1, 0.7], min_samples_leaf=[2, 20], max_bins=[20, 255]
        )
        shape["categorical_features"] = self.is_category if self.is_category.any() else None
        if self.classes is None:
            losses = self._pick(loss=["squared_error", "absolute_error", "gamma", "poisson"])
            return HistGradientBoostingRegressor(max_iter=6, **shape, **losses, random_state=0), {}
        return HistGradientBoostingClassifier(max_iter=6, **shape, random_state=0), {}

    def _lightgbm(self) -> tuple[Any, dict[str, Any]]:
        import lightgbm

        shape = self._pick(
            num_leaves=[2, 15],
            min_child_samples=[2, 20],
            learning_rate=[0.1, 0.7],
            boosting_type=["gbdt", "dart", "goss"],
            extra_trees=[False, True],
            min_data_per_group=[1, 50],
            linear_tree=[False, False, False, True],
        )
        if self.is_category.any():
            shape["linear_tree"] = False
        fit = {"categorical_feature": np.flatnonzero(self.is_category).tolist()} if self.is_category.any() else {}
        common = {"n_estimators": 6, "n_jobs": 1, "verbose": -1, "random_state": 0, **shape}
        if self.classes is None:
            losses = self._pick(objective=["l2", "l1", "huber", "quantile", "poisson", "gamma", "tweedie"])
            return lightgbm.LGBMRegressor(**common, **losses), fit
        return lightgbm.LGBMClassifier(**common, **self._pick(class_weight=[None, "balanced"])), fit

    def _xgboost(self) -> tuple[Any, dict[str, Any]]:
        import xgboost

        shape = self._pick(
            max_depth=[1, 3, 6],
            learning_rate=[0.1, 0.7],
            booster=["gbtree", "dart"],
            grow_policy=["depthwise", "lossguide"],
            max_cat_to_onehot=[1, 10],
            num_parallel_tree=[1, 2],
        )
        if self.is_category.any():
            shape["feature_types"] = ["c" if category else "q" for category in self.is_category]
            shape |= {"enable_categorical": True, "tree_method": "hist"}
        common = {"n_estimators": 5, "n_jobs": 1, "random_state": 0, **shape}
        if self.classes is None:
            losses = ["reg:squarederror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:absoluteerror"]
            return xgboost.XGBRegressor(**common, **self._pick(objective=losses)), {}
        return xgboost.XGBClassifier(**common), {}

    def _catboost(self) -> tuple[Any, dict[str, Any]]:
        import catboost

        shape = self._pick(
            depth=[1, 3, 5],
            learning_rate=[0.1, 0.7],
            nan_mode=["Min", "Max"],
            bootstrap_type=["No", "Bernoulli"],
            grow_policy=["SymmetricTree", "SymmetricTree", "SymmetricTree", "Depthwise"],
        )
        common = {"iterations": 6, "thread_count": 1, "verbose": False, "allow_writing_files": False, **shape}
        if self.classes is None:
            losses = self._pick(loss_function=["RMSE", "MAE", "Quantile", "Poisson"])
            return catboost.CatBoostRegressor(**common, **losses), {}
        return catboost.CatBoostClassifier(**common), {}


def run(case: Case) -> str:
    """Train, read and compare; return what was done."""
    try:
        model = case.model()
    except Exception as problem:  # the library refuses its own options
        return f"not trained by the library: {type(problem).__name__}"
    try:
        trees = read(model)
    except TypeError as problem:
        return f"refused: {str(problem)[:60]}"
    for X in (case.train, case.fresh):
        check_predictions(case, model, trees, case.table(X))
    for _, check in check_reader(read, model, case.table(case.train)):
        check()
    check_exports(case, trees)
    check_order(case, trees)
    check_prices(case, model, trees)
    if isinstance(trees, Forest):
        check_in_bag(case, model, trees)
    return "compared"


def check_predictions(case: Case, model: Any, trees: Any, X: Any) -> None:
    tolerance = 2e-5 if case.library == "xgboost" else 1e-9
    if case.classes is None:
        expected = np.asarray(model.predict(X), dtype=np.float64)
        np.testing.assert_allclose(trees.predict(X), expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
        return
    expected = np.asarray(model.predict_proba(X), dtype=np.float64)
    np.testing.assert_allclose(trees.predict_proba(X), expected, atol=tolerance)
    first, second = np.sort(expected, axis=1)[:, -1], np.sort(expected, axis=1)[:, -2]
    sure = first - second > 10 * tolerance
    labels = np.asarray(model.predict(X)).ravel()
    np.testing.assert_array_equal(trees.predict(X)[sure], labels[sure])
    assert [*map(str, trees.classes)] == [*map(str, model.classes_)]


def check_exports(case: Case, trees: Any) -> None:
    X = case.fresh
    if isinstance(trees, Forest):
        again = read(write(trees, "sklearn"))
        np.testing.assert_array_equal(again.predict(X), trees.predict(X))
        assert again.feature_names == trees.feature_names
        return
    if "lightgbm" not in LIBRARIES or trees.value.shape[1] > 1:
        return
    try:
        booster = write(trees, "lightgbm")
    except ValueError as problem:
        if not any(word in str(problem) for word in ("link", "names", "categories", "rounds")):
            raise
        return
    again = read(booster)
    expected = trees.margins(X)
    np.testing.assert_allclose(again.margins(X), expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max()))


def check_order(case: Case, trees: Any) -> None:
    """Require that a frame whose columns are in another order is refused."""
    if case.names is None or (
        trees.feature_names is None and isinstance(case.names[0], str) and case.names[0][0] in "Cf"
    ):
        assert case.names is None, f"the names {case.names} were dropped"
        return
    frame = case.table(case.fresh)
    order = case.rng.permutation(case.n_features)
    if np.array_equal(order, np.arange(case.n_features)):
        return
    try:
        trees.predict(frame.iloc[:, order])
    except ValueError:
        return
    raise AssertionError(f"columns {frame.columns[order].tolist()} were taken for {case.names}")


def check_prices(case: Case, model: Any, trees: Any) -> None:
    rng, X = case.rng, case.table(case.fresh)
    price = rng.integers(1, 1000, case.n_features)
    labels = [str(name) for name in (range(case.n_features) if case.names is None else case.names)]
    listed = {labels[column]: int(price[column]) for column in rng.permutation(case.n_features)}
    by_hand = paths_of(case, model, trees, X) @ price
    features = case.n_features if trees.feature_names is None else trees.feature_names
    for costs in (FeatureCosts(listed), read_prices(listed).costs_for(features)):
        np.testing.assert_allclose(trees.cost(X, costs), by_hand)
    for other in ({f"no {name}": 1 for name in labels}, {**listed, "more": 1}):
        try:
            trees.cost(X, FeatureCosts(other))
        except ValueError:
            continue
        raise AssertionError(f"prices of {[*other]} were taken for {trees.feature_names}")


def paths_of(case: Case, model: Any, trees: Any, X: Any) -> Any:
    """Find which features each example's decision paths test, by the library's own paths where it tells them."""
    members = getattr(model, "estimators_", [model])
    used = np.zeros((len(X), case.n_features), dtype=bool)
    if case.library == "forest" and not hasattr(model, "estimators_features_") and hasattr(members[0], "decision_path"):
        for member in members:
            passed = member.decision_path(np.asarray(X)).toarray().astype(bool)
            for node in np.flatnonzero(member.tree_.children_left >= 0):
                used[passed[:, node], member.tree_.feature[node]] = True
        return used
    for tree, start in zip(trees.apply(X).T, trees.tree_offsets[:-1].tolist(), strict=True):
        for example, leaf in enumerate(tree.tolist()):
            node = int(trees.parent[start + leaf])
            while node >= 0:
                used[example, trees.feature[node]] = True
                node = int(trees.parent[node])
    return used


def check_in_bag(case: Case, model: Any, trees: Forest) -> None:
    """Compare the loss that an instance claims with that of the values that predict, where all examples are in bag."""
    constrained = getattr(model, "monotonic_cst", None) is not None
    costs = FeatureCosts.uniform(case.n_features)
    loss = "squared_error" if case.classes is None else "misclassification"
    try:
        instance = PruningInstance.from_forest(trees, case.table(case.fresh), costs, loss)
    except ValueError as problem:
        if not (constrained or trees.criterion == "poisson") or "error_data" not in str(problem):
            raise
        return
    root_weight = float(trees.weight[0])
    if getattr(model, "bootstrap", False) or root_weight != len(case.y):
        return
    leaves = trees.leaves(trees.checked_examples(case.table(case.train)))
    if case.classes is None:
        true = float(np.mean([np.square(trees.value[row, 0] - case.y) for row in leaves]))
    else:
        true = float(np.mean([trees.classes[trees.value[row].argmax(axis=1)] != case.y for row in leaves]))
    claimed = float(instance.error_unit * int(instance.errors[instance.is_leaf].sum()))
    assert abs(claimed - true) <= 1e-4 * (true + case_scale(case)), (claimed, true)


def case_scale(case: Case) -> float:
    return 1.0 if case.classes is not None else float(np.var(case.y))


def main() -> int:
    """Fuzz for some seconds, or repeat one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat this case only")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    counts: Counter[tuple[str, str]] = Counter()
    faults = 0
    start, number = time.monotonic(), 0 if options.case is None else options.case
    while time.monotonic() - start < options.seconds:
        case = Case(options.seed, number)
        try:
            counts[case.library, run(case)] += 1
        except Exception as problem:
            faults += 1
            print(f"FAULT: --seed {options.seed} --case {number}: {case.library}, {case.task}, names {case.names}")
            print(f"  {type(problem).__name__}: {' '.join(str(problem).split())[:300]}")
            if options.case is not None:
                traceback.print_exc()
        if options.case is not None:
            break
        number += 1
    for (library, outcome), count in sorted(counts.items()):
        print(f"{library}: {count} {outcome}")
    absent = {"lightgbm", "xgboost", "catboost"} - {*LIBRARIES}
    print(f"{number} models, {faults} faults; not installed: {', '.join(sorted(absent)) or 'nothing'}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
