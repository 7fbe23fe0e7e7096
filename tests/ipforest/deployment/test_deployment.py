"""Exported models: the reader and C answer, and ask for, what the estimator does."""

import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

import ipforest.deployment
from ipforest import (
    BoostGrowth,
    BoostSearch,
    BranchingCascade,
    BudgetBoostRegressor,
    BudgetedClassifier,
    BudgetForest,
    BudgetLinear,
    BudgetLinearRegressor,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    ForestSearch,
    NestedCascade,
    NestedStages,
)
from ipforest.adaptive import AdaptGbrt, AdaptLin, BoostedSearch, GateSearch
from ipforest.deployment import document_of, write_c_model, write_json
from ipforest.deployment.document import _rule
from ipforest.deployment.reader import Model
from ipforest.ensemble import write
from ipforest.learners.greedy_miser import GreedyMiser
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.stages import Stage, StagesInOrder
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.wrappers.calibration import calibrated
from ipforest.wrappers.thresholds import ThresholdClassifier

ROOM = Path(ipforest.deployment.__file__).parent
NAMES = np.array(["setosa", 'versi"color', "virginica"])
COSTS = FeatureCosts([1, 0, 2, 3])
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def iris(n_classes: int) -> tuple[Any, Any, Any]:
    """Return examples with gaps to train on, their names, and others to predict."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    X, y = X[y < n_classes], y[y < n_classes]
    gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    others = X[rng.integers(0, len(X), 60)] + rng.normal(scale=0.3, size=(60, 4))
    return gaps, NAMES[y], np.where(rng.random(others.shape) < 0.1, np.nan, others)


def forest(n_trees: int = 4) -> RandomForestClassifier:
    return RandomForestClassifier(n_trees, max_depth=4, random_state=0)


def stopped(stopping: Any, n_classes: int = 3, **settings: Any) -> tuple[Any, Any]:
    X, y, others = iris(n_classes)
    model = EarlyExit(forest(), stopping=stopping, budget=4, random_state=0, **{"feature_costs": COSTS, **settings})
    return model.fit(X, y, X, y), others


def boosted(n_classes: int, **settings: Any) -> tuple[Any, Any]:
    X, y, others = iris(n_classes)
    base = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
    model = EarlyExit(base, stopping=ThresholdStopping(), feature_costs=COSTS, budget=6, random_state=0, **settings)
    whole = np.where(np.isnan(X), 0, X)
    return model.fit(whole, y, whole, y), np.where(np.isnan(others), 0, others)


def nested(**settings: Any) -> tuple[Any, Any]:
    X, y, others = iris(3)
    rules = OptimalStopping(n_bins=3, min_support=5)
    model = NestedCascade(forest(3), stopping=rules, feature_costs=COSTS, budget=2, random_state=0, **settings)
    return model.fit(X, y, X, y), others


def nested_regression() -> tuple[Any, Any]:
    X, _, others = iris(3)
    regressor = RandomForestRegressor(3, max_depth=4, random_state=0)
    y = np.nan_to_num(X) @ [1, 2, 3, 4]
    return NestedCascade(regressor, feature_costs=COSTS, budget=3, random_state=0).fit(X, y, X, y), others


def linear(n_classes: int, **settings: Any) -> tuple[Any, Any]:
    """Train linear models; columns of categories have numbers from 0 on."""
    X, y, others = iris(n_classes)
    for column in settings.get("categorical_features", ()):
        X[:, column], others[:, column] = np.floor(X[:, column]), np.floor(others[:, column])
    return BudgetLinear(feature_costs=COSTS, random_state=0, **settings).fit(X, y, X, y), others


def linear_regression() -> tuple[Any, Any]:
    X, _, others = iris(3)
    y = np.nan_to_num(X) @ [1, 2, 3, 4]
    return BudgetLinearRegressor(0.5, feature_costs=COSTS, budget=3, random_state=0).fit(X, y, X, y), others


def nested_logistic() -> tuple[Any, Any]:
    """Train pipelines of scikit-learn, which are read as linear models."""
    X, y, others = iris(3)
    pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression())
    return NestedCascade(pipeline, feature_costs=COSTS, budget=2, random_state=0).fit(X, y, X, y), others


def boosted_regression() -> tuple[Any, Any]:
    X, _, others = iris(3)
    y = np.nan_to_num(X) @ [1, 2, 3, 4]
    model = BudgetBoostRegressor(
        8,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=1, n_prunings=1),
        feature_costs=COSTS,
        random_state=0,
    )
    return model.set_params(budget=4).fit(X, y, X, y), others


def with_words() -> tuple[Any, Any]:
    """Train on a column of words; the others hold its numbers."""
    X, y, others = iris(3)
    words = np.array(["a", "b", "c", "d"])
    place, places = (np.digitize(np.nan_to_num(each[:, 2]), [2, 4, 5]) for each in (X, others))
    frame = pd.DataFrame(X)
    frame[2] = pd.Categorical(words[place])
    model = BudgetForest(
        4,
        search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0, nested=False),
        feature_costs=COSTS,
        random_state=0,
    )
    others[:, 2] = np.where(np.isnan(others[:, 2]), np.nan, places)
    return model.set_params(budget=4).fit(frame, y, frame, y), others


def truncated_categories() -> tuple[Any, Any]:
    """Take LightGBM, for which all between -1 and 1 is category 0."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y, others = iris(2)
    X[:, 2], others[:, 2] = np.floor(X[:, 2]) - 1, np.nan_to_num(others[:, 2]) - 1.5
    settings = {"min_child_samples": 5, "min_data_per_group": 2, "cat_smooth": 1, "verbose": -1}
    booster = lightgbm.LGBMClassifier(n_estimators=4, **settings).fit(X, y, categorical_feature=[2])
    others[:9, 2] = [-0.5, -1, -0.0, 2.7, np.nan, 1e10, -0.999, 0.5, -1e10]
    model = EarlyExit(FrozenEstimator(booster), stopping=ThresholdStopping(), feature_costs=COSTS, budget=4)
    return model.fit(X, y), others


def whole_categories() -> tuple[Any, Any]:
    """Take scikit-learn's boosting, for which a number with a fraction is no category."""
    X, y, others = iris(2)
    X[:, 2], others[:, 2] = np.floor(X[:, 2]), np.nan_to_num(others[:, 2])
    booster = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, categorical_features=[2]).fit(X, y)
    others[:9, 2] = [-0.5, -1, -0.0, 2.7, np.nan, 1e10, -0.999, 3.0, -1e10]
    model = EarlyExit(FrozenEstimator(booster), stopping=ThresholdStopping(), feature_costs=COSTS, budget=4)
    return model.fit(X, y), others


MISTAKES = [[0, 1, 9], [4, 0, 1], [2, 3, 0]]
GROUPS = FeatureCosts([1, 0, 2, 3], groups=[0, 0, -1, 1], group_fees=[1, 2])


def branching() -> tuple[Any, Any]:
    """Send examples on by a tree, to one of two stages."""
    X, y, others = iris(2)
    model = BranchingCascade(forest(2), feature_costs=COSTS, random_state=0).fit(X, y, X, y)
    router = DecisionTreeRegressor(max_leaf_nodes=2, random_state=0).fit(X[:, [2]], X[:, 2] > 3)
    sees = [np.array(columns) for columns in ([], [2], [2, 0], [2, 3])]
    models = [DummyClassifier().fit(X, y), *(forest(2).fit(X[:, columns], y) for columns in sees[1:])]
    goals = [np.array(goal) for goal in ([1], [-1, 2, 3], [-1], [-1])]
    stages = [
        Stage(model, columns.astype(np.int64), goal, router if number == 1 else None)
        for number, (model, columns, goal) in enumerate(zip(models, sees, goals, strict=True))
    ]
    model._chosen = model._chosen._replace(policy=StagesInOrder(stages, model.costs_))
    model.rule_, model.level_ = ThresholdStopping(), -0.9
    return model, others


def gated(full: Any, budget: float = 4, n_classes: int = 3) -> tuple[Any, Any]:
    """Train boosted trees and a gate of these before a full model."""
    X, y, others = iris(n_classes)
    search, prices = BoostedSearch(shares=[0.5], lambdas=[0.01, 0.05]), None if hasattr(full, "costs_") else COSTS
    model = AdaptGbrt(full, n_estimators=3, search=search, feature_costs=prices, budget=budget, random_state=0)
    return model.fit(X, y, X, y), others


def linear_gate(n_classes: int) -> tuple[Any, Any]:
    """Train a linear gate and a linear classifier before a forest."""
    X, y, others = iris(n_classes)
    search = GateSearch(shares=[0.3], lambdas=3)
    model = AdaptLin(forest(), search=search, feature_costs=COSTS, budget=3, random_state=0)
    return model.fit(X, y, X, y), others


def summed() -> tuple[Any, Any]:
    X, y, others = iris(3)
    model = GreedyMiser(4, lam=0.01, feature_costs=COSTS, budget=4, random_state=0)
    return model.fit(X, y, X, y), others


def calibrated_model(fitted: tuple[Any, Any], n_classes: int = 3, **settings: Any) -> tuple[Any, Any]:
    model, others = fitted
    X, y, _ = iris(n_classes)
    return calibrated(model, X if np.isnan(others).any() else np.nan_to_num(X), y, min_samples=20, **settings), others


def with_thresholds(fitted: tuple[Any, Any], threshold: Any) -> tuple[Any, Any]:
    model, others = fitted
    X, y, _ = iris(len(model.classes_))
    return ThresholdClassifier(FrozenEstimator(model), threshold=threshold).fit(X, y), others


UNEVEN = dict(zip(NAMES, [0.1, 0.4, 0.8], strict=True))

MODELS = {
    "a gate": lambda: gated(forest()),
    "a gate before a stopped model": lambda: gated(stopped(OptimalStopping(n_bins=3, min_support=5))[0], 5),
    "a gate before stages": lambda: gated(nested()[0], 4),
    "a gate between two classes": lambda: gated(forest(), n_classes=2),
    "a linear gate": lambda: linear_gate(3),
    "a linear gate between two classes": lambda: linear_gate(2),
    "sigmoids": lambda: calibrated_model(stopped(ThresholdStopping())),
    "sigmoids of two classes": lambda: calibrated_model(stopped(ThresholdStopping(), 2), 2),
    "isotonic": lambda: calibrated_model(stopped(OptimalStopping(n_bins=3, min_support=5)), method="isotonic"),
    "isotonic, two classes": lambda: calibrated_model(stopped(ThresholdStopping(), 2), 2, method="isotonic"),
    "calibrated with class costs and a cap": lambda: calibrated_model(
        stopped(OptimalStopping(n_bins=3, min_support=5), max_cost=4, feature_costs=GROUPS, class_costs=MISTAKES)
    ),
    "calibrated stages": lambda: calibrated_model(nested(), method="isotonic"),
    "a calibrated gate": lambda: calibrated_model(gated(forest())),
    "a threshold of two": lambda: with_thresholds(stopped(ThresholdStopping(), 2), 0.8),
    "a threshold of each": lambda: with_thresholds(calibrated_model(stopped(ThresholdStopping())), UNEVEN),
    "sums of scores": summed,
    "threshold": lambda: stopped(ThresholdStopping()),
    "staged": lambda: stopped(OptimalStopping(n_bins=3, min_support=5)),
    "certified": lambda: stopped(CertifiedStopping(n_bins=2, min_support=10), 2),
    "boosted, two classes": lambda: boosted(2),
    "boosted, three classes": lambda: boosted(3),
    "class costs": lambda: stopped(OptimalStopping(n_bins=3, min_support=5), class_costs=MISTAKES),
    "boosted, class costs": lambda: boosted(3, class_costs=[[0, 1, 1.1], [1, 0, 1], [1.2, 1, 0]]),
    "boosted, costs of two classes": lambda: boosted(2, class_costs=[[0, 1.1], [1, 0]]),
    "a cap": lambda: stopped(OptimalStopping(n_bins=3, min_support=5), max_cost=4, feature_costs=GROUPS),
    "a cap of stages": lambda: nested(max_cost=4),
    "class costs of stages": lambda: nested(class_costs=MISTAKES),
    "stages of regressors": nested_regression,
    "a boosted number": boosted_regression,
    "words": with_words,
    "truncated categories": truncated_categories,
    "whole categories": whole_categories,
    "nested": nested,
    "branching": branching,
}

MODELS |= {
    "linear": lambda: linear(3, budget=2.5),
    "linear, two classes": lambda: linear(2, budget=2),
    "linear with class costs and a cap": lambda: linear(3, budget=3, max_cost=4, class_costs=MISTAKES),
    "linear with words": lambda: linear(3, categorical_features=[1, 2], budget=2.5),
    "a linear number": linear_regression,
    "logistic regressions": nested_logistic,
}
SLOW = [name for name in MODELS if "gate" in name or "isotonic" in name or "calibrated" in name or "sums" in name]


def answers_of(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)[:, None]


@pytest.fixture(scope="module", params=[pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in MODELS])
def exported(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return MODELS[request.param]()


@pytest.mark.slow
def test_the_reader_answers_and_buys_as_the_estimator(exported: tuple[Any, Any]) -> None:
    model, others = exported
    document = json.loads(write(model, "json"))
    jsonschema.validate(document, json.loads((ROOM / "schema.json").read_text()))
    reader = Model(document)
    answers = [reader.predict_one(lambda feature, row=row: row[feature]) for row in others]
    labels = [answer.label for answer in answers]
    if is_classifier(model):
        assert labels == model.predict(others).tolist() == reader.predict(others)
    np.testing.assert_allclose(np.array([answer.paid for answer in answers]), model.cost(others))
    np.testing.assert_allclose([answer.probabilities for answer in answers], answers_of(model, others), atol=1e-12)
    bought = np.zeros(others.shape, dtype=bool)
    for row, answer in zip(bought, answers, strict=True):
        row[list(answer.bought)] = True
    np.testing.assert_array_equal(bought, model.acquired(others))
    assert 0 < bought[:, COSTS.cost_of(np.eye(4, dtype=bool)) > 0].mean() < 1


def require_same_in_c(model: Any, others: Any, source: Path) -> ctypes.CDLL:
    """Compile a model, and require that it answers, asks and pays as the estimator does."""
    library = source.with_suffix(".so")
    source.write_text(write_c_model(model))
    flags = ["-std=c99", "-Wall", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    n, expected = len(others), answers_of(model, others)
    X = np.ascontiguousarray(others, dtype=np.float64)
    label = np.empty(n, dtype=np.int32)
    output, bought = np.empty(expected.shape), np.empty(X.shape, dtype=np.bool_)
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (label, output, bought)]
    loaded.model_predict_batch(X.ctypes.data_as(ctypes.c_void_p), n, *pointers)
    np.testing.assert_allclose(output, expected, atol=1e-12)
    np.testing.assert_array_equal(bought, model.acquired(others))
    loaded.model_cost.restype = ctypes.c_double
    paid = [loaded.model_cost(row.ctypes.data_as(ctypes.c_void_p)) for row in bought]
    np.testing.assert_allclose(paid, model.cost(others))
    if is_classifier(model):
        np.testing.assert_array_equal(model.classes_[label], model.predict(others))
    return loaded


@pytest.mark.slow
@needs_gcc
def test_c_is_the_estimator_on_ten_thousand_rows_at_every_budget(tmp_path: Path) -> None:
    """Missing values, categories and purchases, example by example."""
    model, _ = with_words()
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 8, (10_000, 4))
    X[:, 2] = rng.integers(0, 4, 10_000)
    X[rng.random(X.shape) < 0.1] = np.nan
    costs = set()
    for budget in (2, 3, 4, 6):
        cheaper = model.at_budget(budget)
        require_same_in_c(cheaper, X, tmp_path / f"model_{budget}.c")
        costs.add(cheaper.cost(X).mean())
    assert len(costs) > 1


def test_c_of_trees_that_alone_decide_has_the_names_of_their_categories() -> None:
    words = np.random.default_rng(0).choice(['say "x"', "Köln", "y"], 200)
    table = pd.DataFrame({"w": pd.Categorical(words)})
    boosting = HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype").fit(table, words == "y")
    model = BudgetPrune(boosting).fit(table, words == "y")
    assert not model.decides_by
    source = write(model, "c")
    assert 'model_categories[] = {"K\\303\\266ln", "say \\042x\\042", "y"};' in source
    assert "trees_predict" in write(model.to_trees(), "c")


def rows_with_gaps(n: int) -> Any:
    """Draw examples like those of irises, some with values exactly at those of training, and gaps."""
    rng = np.random.default_rng(2)
    X = load_iris().data[rng.integers(0, 150, n)] + rng.choice([0, 0.2], n)[:, None] * rng.normal(size=(n, 4))
    return np.where(rng.random(X.shape) < 0.1, np.nan, X)


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("name", ["a calibrated gate", "isotonic", "a threshold of each"])
def test_c_is_an_adapted_model_on_ten_thousand_rows(name: str, tmp_path: Path) -> None:
    require_same_in_c(MODELS[name]()[0], rows_with_gaps(10_000), tmp_path / "model.c")


def rows_of_words(n: int) -> Any:
    """Draw such examples with the numbers of words in a column."""
    X = rows_with_gaps(n)
    X[:, 2] = np.random.default_rng(4).integers(-1, 6, n) % 4
    X[::7, 2] = np.nan
    return X


def require_same_in_the_reader(model: Any, X: Any) -> None:
    reader = Model(document_of(model))
    answers = [reader.predict_one(row.__getitem__) for row in X]
    assert [answer.label for answer in answers] == model.predict(X).tolist()
    np.testing.assert_allclose([answer.paid for answer in answers], model.cost(X))


def just_as_sure_as_the_level() -> tuple[Any, Any]:
    """Train a model whose expected costs, rounded as a matrix product rounds them, are beyond the level of its rule."""
    X, y, _ = iris(3)
    X += np.random.default_rng(5).normal(size=X.shape)
    trees = RandomForestClassifier(4, random_state=5, max_depth=4)
    costs = {"class_costs": [[0, 3, 4.1], [3.3, 0, 5], [5, 1.7, 0]], "feature_costs": [1, 2, 3, 1]}
    model = EarlyExit(trees, stopping=ThresholdStopping(), budget=3, random_state=0, **costs)
    return model.fit(X, y, X, y), X


def test_the_reader_stops_those_that_are_just_as_sure_as_the_level() -> None:
    require_same_in_the_reader(*just_as_sure_as_the_level())


@pytest.mark.slow
def test_onnx_stops_those_that_are_just_as_sure_as_the_level() -> None:
    require_same_in_onnx(*just_as_sure_as_the_level())


@pytest.mark.slow
@needs_gcc
def test_c_stops_those_that_are_just_as_sure_as_the_level(tmp_path: Path) -> None:
    require_same_in_c(*just_as_sure_as_the_level(), tmp_path / "model.c")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["a gate", "isotonic", "a threshold of each", "nested"])
def test_the_reader_is_the_model_on_ten_thousand_rows(name: str) -> None:
    require_same_in_the_reader(MODELS[name]()[0], rows_with_gaps(10_000))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("budget", [2, 3, 4, 6])
def test_the_reader_is_a_grown_model_on_ten_thousand_rows_at_every_budget(budget: float) -> None:
    require_same_in_the_reader(with_words()[0].at_budget(budget), rows_of_words(10_000))


@pytest.mark.slow
@needs_gcc
def test_c_answers_and_buys_as_the_estimator(exported: tuple[Any, Any], tmp_path: Path) -> None:
    model, others = exported
    loaded = require_same_in_c(model, others, tmp_path / "model.c")
    if not is_classifier(model):
        return
    names = (ctypes.c_char_p * len(model.classes_)).in_dll(loaded, "model_classes")
    assert [name.decode() for name in names] == model.classes_.tolist()


def branching_by_words() -> tuple[Any, Any]:
    """Train a forest that branches by a word and by a number that is a category; two features come together."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> pd.DataFrame:
        frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=[*"abcd"])
        frame.insert(1, "word", rng.choice(["x", "y", "z", None], n))
        frame.insert(4, "code", rng.choice([5, 7, 9], n))
        frame["a"] = frame.a.mask(rng.random(n) < 0.1)
        return frame

    frame, others = draw(1200), draw(300)
    side = np.select([frame.word == "x", frame.word == "y"], [frame.a.fillna(2), frame.b], frame.d)
    y = NAMES[np.digitize(np.where(frame.code == 7, -side, side), [-0.5, 0.5])]
    others.loc[::9, "word"], others.loc[::7, "code"] = "unknown", 8
    costs = FeatureCosts([1, 1, 0, 0, 1, 1], groups=[-1, -1, 0, 0, -1, -1], group_fees=[1])
    search = ForestSearch(n_lambdas=1, n_prunings=0, regrow=False, n_lookahead=0)
    model = BudgetForest(8, search=search, feature_costs=costs, random_state=0)
    as_categories = {"word": "category", "code": "category"}
    model.fit(frame.astype(as_categories), y)
    return model.at_budget(2), others.astype(as_categories)


@pytest.mark.slow
@needs_gcc
def test_a_forest_that_branches_by_words_is_exported(tmp_path: Path) -> None:
    model, others = branching_by_words()
    assert any(stage.router is not None for stage in model.policy().stages)
    reader = Model(document_of(model))
    answers = [reader.predict_one(row.__getitem__) for row in others.to_numpy(dtype=object)]
    assert [answer.label for answer in answers] == model.predict(others).tolist()
    assert [answer.paid for answer in answers] == model.cost(others).tolist()
    bought = [np.isin(np.arange(6), answer.bought) for answer in answers]
    np.testing.assert_array_equal(bought, model.acquired(others))
    numbers = model.categories_.numbers(others).to_numpy(dtype=np.float64)
    model.categories_ = type(model.categories_)(model.categories_.columns)  # numbers stand for themselves
    del model.feature_names_in_
    require_same_in_c(model, numbers, tmp_path / "model.c")
    require_same_in_onnx(model, numbers)


@needs_gcc
def test_fractions_among_categories_are_missing_in_all_exports_of_a_front_end(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, odd = rng.integers(0, 6, (300, 3)).astype(float), rng.integers(-2, 14, (40, 3)) / 2
    booster = HistGradientBoostingClassifier(max_iter=4, categorical_features=[0, 2])
    model = BudgetedClassifier([booster], categorical_features=[0, 2], random_state=0)
    model.fit(X, (X[:, 0] == 2) | (X[:, 1] > 3))
    assert not np.array_equal(model.predict(odd), model.predict(np.trunc(odd)))
    require_same_in_c(model, odd, tmp_path / "model.c")
    require_same_in_onnx(model, odd)
    assert Model(document_of(model)).predict(odd) == model.predict(odd).tolist()


@pytest.mark.parametrize("names", [[5, 7, 9], ["5", "7", "9"], ["5.0", "x"]])
def test_a_number_among_numbers_is_a_category_and_no_place(names: list[Any]) -> None:
    frame = pd.DataFrame({"code": pd.Categorical(np.array(names)[np.arange(60) % len(names)])})
    search = ForestSearch(n_lambdas=1, n_prunings=0, n_lookahead=0, nested=False)
    model = BudgetForest(3, search=search, random_state=0).fit(frame, np.arange(60) % len(names) > 0)
    reader, cells = Model(document_of(model)), [5.0, 7.0, 1.0, 0.0, np.nan]
    expected = model.predict(pd.DataFrame({"code": cells}))
    assert [reader.predict_one([cell].__getitem__).label for cell in cells] == expected.tolist()
    assert [reader.predict_one([name].__getitem__).label for name in names] == [False, *[True] * (len(names) - 1)]


def in_onnx(model: Any) -> Any:
    """Write a model as ONNX; return a function that runs it on a table."""
    runtime, settings = pytest.importorskip("onnxruntime"), onnxruntime_settings()
    session = runtime.InferenceSession(write(model, "onnx").SerializeToString(), settings)
    names = [output.name for output in session.get_outputs()]
    return lambda X: dict(zip(names, session.run(None, {"X": X}), strict=True))


def onnxruntime_settings() -> Any:
    settings = pytest.importorskip("onnxruntime").SessionOptions()
    settings.intra_op_num_threads = 1
    return settings


def require_same_in_onnx(model: Any, X: Any) -> None:
    run = in_onnx(model)
    found = run(X)
    np.testing.assert_allclose(found["cost"], model.cost(X))
    if is_classifier(model):
        np.testing.assert_array_equal(found["label"], model.predict(X))
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)
    else:
        np.testing.assert_allclose(found["label"], model.predict(X))
    assert len(run(X[:0])["label"]) == 0


@pytest.mark.slow
def test_onnx_answers_and_pays_as_the_estimator(exported: tuple[Any, Any]) -> None:
    require_same_in_onnx(*exported)


def near_thresholds(model: Any, X: Any) -> Any:
    """Put values of some rows exactly at the thresholds of a model, and one number of either precision off them."""
    trees = document_of(model)["trees"]
    rng, rows = np.random.default_rng(3), X.copy()
    inner = np.flatnonzero((np.array(trees["left"]) >= 0) & (np.abs(trees["threshold"]) < 1e30))
    for row in rows[: len(rows) // 2]:
        node = rng.choice(inner)
        at = np.float64(trees["threshold"][node])
        nearby = [at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)]
        nearby += [np.float64(np.nextafter(np.float32(at), np.float32(end))) for end in (np.inf, -np.inf)]
        row[trees["feature"][node]] = rng.choice(nearby)
    return rows


def with_odd_numbers(X: Any) -> Any:
    """Put the numbers into some rows on which floats of two sizes, and zeros of two signs, might differ."""
    rng, rows = np.random.default_rng(6), X.copy()
    tiny, huge = np.finfo(np.float32).smallest_subnormal, float(np.finfo(np.float32).max)
    odd = [-0.0, 5e-324, -5e-324, float(tiny), float(tiny) / 2, 1e-40, huge, -huge, 2.0**24 + 1, 0.1]
    for row in rows[::3]:
        row[rng.integers(row.size)] = rng.choice(odd)
    return rows


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("name", ["a gate", "boosted, two classes", "staged", "nested", "linear", "linear with words"])
def test_all_exports_are_the_estimator_at_thresholds_and_odd_numbers(name: str, tmp_path: Path) -> None:
    model, others = MODELS[name]()
    X = rows_with_gaps(400) if np.isnan(others).any() else np.nan_to_num(rows_with_gaps(400))
    X = with_odd_numbers(near_thresholds(model, X) if name in ("boosted, two classes", "staged") else X)
    require_same_in_the_reader(model, X)
    require_same_in_c(model, X, tmp_path / "model.c")
    require_same_in_onnx(model, X)


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("staged", "certified", "isotonic", "threshold")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boosted, three classes", "a cap", *LONG])
def test_onnx_is_the_estimator_on_ten_thousand_rows_at_thresholds_and_next_to_them(name: str) -> None:
    model, others = MODELS[name]()
    X = rows_with_gaps(10_000) if np.isnan(others).any() else np.nan_to_num(rows_with_gaps(10_000))
    require_same_in_onnx(model, near_thresholds(model, X))


@pytest.mark.slow
@pytest.mark.long
def test_onnx_is_a_grown_model_on_ten_thousand_rows_at_every_budget() -> None:
    """Boosted trees and forests of a cascade, missing values and categories, price by price."""
    words, X = with_words()[0], rows_of_words(10_000)
    for budget in (2, 3, 4, 6):
        require_same_in_onnx(words.at_budget(budget), X)
    cascade, _ = nested()
    for budget in (1, 2, 3):
        require_same_in_onnx(cascade.at_budget(budget), rows_with_gaps(10_000))


@pytest.mark.slow
def test_onnx_keeps_classes_of_every_kind_and_refuses_others() -> None:
    X, y, others = iris(3)
    places = np.unique(y, return_inverse=True)[1]
    fitted = {
        "whole numbers that no float holds": places + 2**62 + 1,
        "numbers": places.astype(np.float64),
        "booleans": places > 0,
        "letters": np.array(["\xe9", 'a"b', "c\nd"])[places],
    }
    for labels in fitted.values():
        model = EarlyExit(forest(2), stopping=ThresholdStopping(), budget=2, random_state=0).fit(X, labels, X, labels)
        found = in_onnx(model)(others)["label"]
        np.testing.assert_array_equal(found, model.predict(others))
        assert found.dtype == labels.dtype or found.dtype == object
    large = places.astype(np.uint64) + np.uint64(2**63)
    model = EarlyExit(forest(2), stopping=ThresholdStopping(), budget=2, random_state=0).fit(X, large, X, large)
    with pytest.raises(ValueError, match=r"classes: expected texts or numbers of 64 bits, got 9223372036854775808, "):
        write(model, "onnx")


@pytest.mark.parametrize("dtype", ["M8[D]", np.longdouble], ids=str)
def test_labels_that_json_does_not_hold_are_refused(dtype: Any) -> None:
    X, y, _ = iris(3)
    labels = np.unique(y, return_inverse=True)[1].astype(dtype)
    model = EarlyExit(forest(2), stopping=ThresholdStopping(), budget=2, random_state=0).fit(X, labels, X, labels)
    with pytest.raises(ValueError, match=r"classes: expected texts, .*; train with y.astype\(str\)"):
        write(model, "json")


def test_onnx_names_features_and_categories() -> None:
    model, _ = with_words()
    told = {each.key: json.loads(each.value) for each in write(model, "onnx").metadata_props}
    assert told == {"features": [f"feature {n}" for n in range(4)], "categories": {"2": ["a", "b", "c", "d"]}}


def test_the_reader_needs_numpy_alone() -> None:
    X, y, others = iris(3)
    model = NestedCascade(forest(2), stages=NestedStages(sizes=[1, 3]), random_state=0).fit(X, y, X, y)
    program = (
        "import json, sys; import numpy as np\n"
        "sys.modules.update(dict.fromkeys(('sklearn', 'scipy', 'numba', 'pandas', 'ipforest')))\n"
        f"exec(compile(open({str(ROOM / 'reader.py')!r}).read(), 'reader', 'exec'))\n"
        "print(json.dumps(Model(json.loads(sys.stdin.readline())).predict(json.loads(sys.stdin.readline()))))\n"
    )
    rows = np.where(np.isnan(others), 0.0, others)
    given = f"{write_json(model)}\n{json.dumps(rows.tolist())}\n"
    found = subprocess.run(
        [sys.executable, "-I", "-c", program], input=given, text=True, capture_output=True, check=True
    )
    assert json.loads(found.stdout) == model.predict(rows).tolist()
    lines = [line for line in (ROOM / "reader.py").read_text().splitlines() if line.strip()]
    assert len([line for line in lines if not line.lstrip().startswith('"""')]) <= 200


def test_what_comes_with_a_feature_is_known_with_it() -> None:
    X, y, others = iris(3)
    costs = FeatureCosts([1, 2]).for_columns([0, 0, 1, 1])
    model = EarlyExit(forest(), stopping=ThresholdStopping(), feature_costs=costs, budget=2.5, random_state=0)
    model.fit(X, y, X, y)
    assert 0 < model.cost(others).mean() < 3
    reader = Model(document_of(model))
    answers = [reader.predict_one(lambda feature, row=row: row[feature]) for row in others]
    np.testing.assert_allclose([answer.probabilities for answer in answers], model.predict_proba(others), atol=1e-12)


def test_what_cannot_be_exported_is_named() -> None:
    X, y, _ = iris(3)
    whole = np.where(np.isnan(X), 0, X)
    other = NestedCascade(GaussianNB(), stages=NestedStages(sizes=[2]), random_state=0).fit(whole, y, whole, y)
    with pytest.raises(TypeError, match=r"stage 2: .*GaussianNB"):
        document_of(other)
    chained = NestedCascade(forest(2), stages=NestedStages(sizes=[1, 2], sees_before=True), random_state=0).fit(
        X, y, X, y
    )
    with pytest.raises(ValueError, match="stage 2: expected one that sees features only"):
        write_json(chained)
    late = FeatureCosts([1, 1, 1, 1], delayed=[True, False, False, False])
    waits = NestedCascade(forest(2), stages=NestedStages(sizes=[1]), feature_costs=late, random_state=0).fit(X, y, X, y)
    with pytest.raises(ValueError, match=r"got one with delayed features"):
        write_c_model(waits)


@pytest.mark.slow
def test_gates_and_prices_that_cannot_be_exported_are_named() -> None:
    X, y, _ = iris(2)
    whole, search = np.nan_to_num(X), BoostedSearch(shares=[0.5], lambdas=[0.05])

    def gate(full: Any, **settings: Any) -> Any:
        return AdaptGbrt(full, n_estimators=2, search=search, random_state=0, **settings).fit(whole, y, whole, y)

    with pytest.raises(ValueError, match=r"full model: expected averaged trees or stages, got one that .* by SVC"):
        document_of(gate(SVC(random_state=0)))
    with pytest.raises(ValueError, match=r"AdaptGbrt: expected no cap, as what a gate .* got max_cost=2"):
        document_of(gate(forest(2), max_cost=2))
    summed = GreedyMiser(2, max_cost=2, random_state=0).fit(whole, y, whole, y)
    with pytest.raises(ValueError, match=r"GreedyMiser: expected no cap, as what a sum of scores .*"):
        document_of(summed)
    squared = GreedyMiser(2, loss="squared", random_state=0).fit(whole, y, whole, y)
    with pytest.raises(ValueError, match="scores: expected targets or log-odds, got scores of SquaredOnClasses"):
        document_of(squared)
    tests = BudgetPrune(forest(2), split_cost=1, budget=9, random_state=0).fit(whole, y)
    with pytest.raises(ValueError, match=r"BudgetPrune: .* got one with a price of each test \(split_cost\)"):
        document_of(tests)


@pytest.mark.parametrize(
    ("document", "got"),
    [
        ({}, "{'format': None, 'version': None}"),
        ({"format": "ipforest-model", "version": 4}, "{'format': 'ipforest-model', 'version': 4}"),
        ({"format": "other", "version": 1}, "{'format': 'other', 'version': 1}"),
        (None, "NoneType"),
        ([], "list"),
        ("text", "str"),
    ],
)
def test_other_documents_are_refused(document: Any, got: str) -> None:
    with pytest.raises(ValueError, match=rf"^document: expected what json.load gives, with .* 9}}, got {got}; export"):
        Model(document)


def test_cut_documents_are_refused() -> None:
    model, _ = stopped(ThresholdStopping())
    document = document_of(model)
    for part in ("level", "trees", "prices", "table"):
        cut = {name: value for name, value in document.items() if name != part}
        with pytest.raises(ValueError, match=f"document: expected a whole one, got one without {part}"):
            Model(cut)
    with pytest.raises(json.JSONDecodeError):
        json.loads(write_json(model)[:-100])
    with pytest.raises(ValueError, match=r"got one without a kind among trees, stages, gate"):
        Model(document | {"kind": "forest"})


def test_words_are_told_by_name() -> None:
    model, others = with_words()
    reader, row = Model(json.loads(write_json(model))), others[0]
    for number, word in enumerate("abcd"):
        told, row[2] = {0: row[0], 1: row[1], 2: word, 3: row[3]}, number
        assert reader.predict_one(told.__getitem__)[1].tolist() == reader.predict_one(row.__getitem__)[1].tolist()
    row[2] = np.nan
    told = {0: row[0], 1: row[1], 2: "unknown", 3: row[3]}
    assert reader.predict_one(told.__getitem__)[1].tolist() == reader.predict_one(row.__getitem__)[1].tolist()


def test_classes_that_no_float_holds_are_written_exactly() -> None:
    X, y, others = iris(3)
    large = np.unique(y, return_inverse=True)[1] + 2**62 + 1
    model = EarlyExit(forest(), stopping=ThresholdStopping(), budget=2, random_state=0).fit(X, large, X, large)
    assert Model(json.loads(write_json(model))).predict(others) == model.predict(others).tolist()
    assert f'"{2**62 + 1}"' in write_c_model(model)


def test_a_document_in_which_a_way_goes_round_is_refused_on_the_way() -> None:
    """A tree whose root is its own child, a router of that kind, and a stage that follows itself."""
    values = dict.fromkeys(range(4), 0.0)
    model, _ = stopped(ThresholdStopping())
    document = document_of(model)
    round_and_round = [0] * len(document["trees"]["left"])
    trees = {**document["trees"], "left": round_and_round, "right": round_and_round}
    expected = "document: expected what follows place 0 to come after it, got 0"
    with pytest.raises(ValueError, match=expected):
        Model({**document, "rule": None, "trees": trees}).predict_one(values.__getitem__)
    document = document_of(branching()[0])
    first, second, *others = document["stages"]
    router = {**second["router"], "left": [0, -1, -1], "right": [0, -1, -1]}
    for stages in ([{**first, "following": [0]}, second], [first, {**second, "router": router}]):
        with pytest.raises(ValueError, match=expected):
            Model({**document, "stages": [*stages, *others]}).predict_one(values.__getitem__)


def test_the_reader_takes_null_for_missing_and_texts_of_numbers() -> None:
    model, others = with_words()
    reader = Model(json.loads(write_json(model)))
    rows = [[None if np.isnan(cell) else str(cell) for cell in row] for row in others.tolist()]
    for row in rows:
        row[2] = None if row[2] is None else "abcd"[int(float(row[2]))]
    assert reader.predict(rows) == model.predict(others).tolist()
    with pytest.raises(ValueError, match=r"3: expected a number, got 'x'"):
        reader.predict([["x"] * 4])


@pytest.mark.parametrize("signal", [-0.5, 0.0, 0.5])
def test_thresholds_as_histories_are_as_keen_as_the_rule_at_its_first_stage(signal: float) -> None:
    described, first = _rule(ThresholdStopping()), np.zeros(1, dtype=np.int64)
    memory = described["first_child"][0] + int(np.searchsorted(described["edges"][0], signal, side="right"))
    keen, _ = ThresholdStopping().keenness(first, np.array([signal]), first)
    assert float(described["lambdas"][memory]) - described["tie"] * signal == keen[0]
