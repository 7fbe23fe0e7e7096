"""ONNX and C source: predictions equal those of the trees, missing values included; C reads no feature twice."""

import ctypes
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator

from ipforest import BoostSearch, BudgetBoost, EarlyExit, Pruning
from ipforest.ensemble import BoostedTrees, Forest, read, write
from ipforest.ensemble.xgboost import xgboost_text

MODELS = {
    "forest": RandomForestClassifier(5, random_state=0),
    "logit": HistGradientBoostingClassifier(max_iter=5),
    "logit of a target": HistGradientBoostingClassifier(max_iter=5),
    "half logit": GradientBoostingClassifier(loss="exponential", n_estimators=5),
    "multinomial logit": HistGradientBoostingClassifier(max_iter=3),
    "identity": HistGradientBoostingRegressor(max_iter=5),
    "log": HistGradientBoostingRegressor(loss="poisson", max_iter=5),
}

# The compiler is no Python package, and users' machines may lack it; on CI it is there, and nothing is skipped.
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def trees_and_examples(name: str) -> tuple[Forest | BoostedTrees, Any]:
    load = {"multinomial logit": load_iris, "identity": load_diabetes, "log": load_diabetes}.get(
        name, load_breast_cancer
    )
    X, y = load(return_X_y=True)
    gaps = X.copy()
    if name != "half logit":
        gaps[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    trees = read(MODELS[name].fit(gaps, y))
    return replace(trees, classes=None) if name == "logit of a target" else trees, gaps


def predicted(trees: Forest | BoostedTrees, X: Any) -> Any:
    return trees.predict_proba(X) if trees.is_classifier else trees.predict(X)[:, None]


@pytest.mark.parametrize("name", MODELS)
def test_onnx_predicts_the_same(name: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    trees, X = trees_and_examples(name)
    session = runtime.InferenceSession(write(trees, "onnx").SerializeToString())
    (found,) = session.run(None, {"X": X.astype(trees.dtype)})
    np.testing.assert_allclose(found, predicted(trees, X), rtol=3e-6, atol=3e-7)


def test_where_numpy_raises_at_underflow_trees_are_read_written_and_stopped() -> None:
    """As a program asks for that imports emlearn: numbers next to zero are no fault of such trees or examples."""
    xgboost = pytest.importorskip("xgboost")
    X = np.random.default_rng(0).integers(-1, 2, (90, 3)).astype(float)
    y = X[:, 0] + X[:, 1] > 0
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
    tiny = np.where(X == 0, 1e-60, X)
    expected = model.predict_proba(tiny.astype(np.float32))
    exits = EarlyExit(FrozenEstimator(model), random_state=0).fit(X, y)
    with np.errstate(all="raise"):
        trees = read(model)
        assert (trees.threshold[~trees.is_leaf] == 0).any()
        np.testing.assert_allclose(trees.predict_proba(tiny), expected, rtol=1e-5)
        np.testing.assert_array_equal(exits.predict(tiny), model.classes_[expected.argmax(axis=1)])
        assert exits.session(dict(zip(range(3), tiny[0], strict=True))).answer == exits.predict(tiny[:1])[0]
        for target in ("c", "xgboost"):
            write(trees, target)


def trees_of_categories() -> Any:
    X = np.arange(60.0)[:, None] % 6
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features=[0], min_samples_leaf=2)
    return read(model.fit(X, np.isin(X[:, 0], [1, 4]) * 1.0))


@needs_gcc
@pytest.mark.parametrize("name", [*MODELS, "categories", "truncated categories"])
def test_c_predicts_the_same_and_reads_what_is_paid_for(name: str, tmp_path: Path) -> None:
    if name == "truncated categories":
        lightgbm = pytest.importorskip("lightgbm")
        X = np.arange(60.0)[:, None] % 6
        model = lightgbm.LGBMRegressor(n_estimators=2, min_child_samples=2, min_data_per_group=2, verbose=-1)
        trees = read(model.fit(X, np.isin(X[:, 0], [0, 4]) * 1.0, categorical_feature=[0]))
        X = np.array([[-0.5], [-1.0], [-0.0], [0.0], [2.7], [4.7], [np.nan], [1e10], [-1e10]])
        np.testing.assert_allclose(trees.predict(X), model.predict(X))
    elif name == "categories":
        trees, X = trees_of_categories(), np.array([[0.0], [1.0], [4.0], [5.0], [np.nan], [-3.0], [100.0], [4.5]])
    else:
        trees, X = trees_and_examples(name)
    source, library = tmp_path / "trees.c", tmp_path / "trees.so"
    source.write_text(write(trees, "c"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    real = ctypes.c_float if trees.dtype == np.float32 else ctypes.c_double
    expected, usage = predicted(trees, X), trees.feature_usage(X) > 0
    output = (ctypes.c_double * expected.shape[1])()
    function = ctypes.CDLL(str(library)).trees_predict
    callback = ctypes.CFUNCTYPE(real, ctypes.c_int, ctypes.c_void_p)
    for i, row in enumerate(X[:40].astype(trees.dtype).tolist()):
        read_features: list[int] = []

        def read_feature(feature: int, _: Any, row: Any = row, seen: list[int] = read_features) -> float:
            seen.append(feature)
            return float(row[feature])

        function(callback(read_feature), None, output)
        np.testing.assert_allclose(output, expected[i], rtol=1e-12)
        assert sorted(read_features) == np.flatnonzero(usage[i]).tolist()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_c_compiles_as_c_plus_plus(tmp_path: Path) -> None:
    """As sketches of Arduino do; an infinite threshold of single precision was one of double precision."""
    X = np.array([[0.0], [1.0], [np.nan]] * 10)
    trees = read(RandomForestClassifier(2, random_state=0).fit(X, np.isnan(X[:, 0])))
    source = write(trees, "c")
    assert "HUGE_VALF" in source
    (tmp_path / "trees.cpp").write_text(source)
    flags = ["-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c"]
    subprocess.run(["g++", *flags, str(tmp_path / "trees.cpp"), "-o", str(tmp_path / "trees.o")], check=True)


@needs_gcc
@pytest.mark.parametrize("kind", ["trees", "stopping"])
def test_c_is_not_compiled_where_nan_is_no_number_of_its_own(kind: str, tmp_path: Path) -> None:
    """With -Ofast isnan is false everywhere, and missing values went to the right."""
    X = np.array([[0.0], [1.0], [np.nan]] * 10)
    grown = RandomForestClassifier(2, random_state=0)
    model = (
        read(grown.fit(X, X[:, 0] == 1)) if kind == "trees" else EarlyExit(grown, random_state=0).fit(X, X[:, 0] == 1)
    )
    source = tmp_path / "trees.c"
    source.write_text(write(model, "c"))
    command = ["gcc", "-std=c99", "-c", str(source), "-o", str(tmp_path / "trees.o")]
    subprocess.run(command, check=True)
    for flag in ("-Ofast", "-ffast-math", "-ffinite-math-only"):
        failed = subprocess.run([*command, flag], capture_output=True, text=True, check=False)
        assert failed.returncode
        assert "NAN is a missing value: compile without -ffast-math" in failed.stderr


@needs_gcc
@pytest.mark.parametrize("kind", ["trees", "model"])
def test_two_models_in_c_are_one_program(kind: str, tmp_path: Path) -> None:
    X = np.array([[0.0], [1.0]] * 20)
    grown, objects = RandomForestClassifier(2, random_state=0), []
    for name, y in (("liver", X[:, 0] == 0), ("heart", X[:, 0] == 1)):
        fitted = grown.fit(X, y) if kind == "trees" else EarlyExit(grown, random_state=0).fit(X, y)
        source = tmp_path / f"{name}.c"
        source.write_text(write(read(fitted) if kind == "trees" else fitted, "c"))
        objects.append(str(tmp_path / f"{name}.o"))
        command = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Werror", "-fPIC", f"-D{kind.upper()}={name}", "-c"]
        subprocess.run([*command, str(source), "-o", objects[-1]], check=True)
    library = tmp_path / "both.so"
    subprocess.run(["gcc", "-shared", *objects, "-o", str(library), "-lm"], check=True)
    loaded, real = ctypes.CDLL(str(library)), ctypes.c_float if kind == "trees" else ctypes.c_double
    one = ctypes.CFUNCTYPE(real, ctypes.c_int, ctypes.c_void_p)(lambda feature, context: 1.0)
    probabilities = (ctypes.c_double * 2)()
    for name, expected in (("liver", [1, 0]), ("heart", [0, 1])):
        getattr(loaded, f"{name}_predict")(one, None, probabilities, *[None] * (kind == "model"))
        np.testing.assert_allclose(probabilities, expected, atol=0.2)


def test_answers_that_float32_does_not_hold_are_not_written_as_onnx() -> None:
    pytest.importorskip("onnx")
    grown = RandomForestRegressor(2, random_state=0).fit([[0], [1]] * 5, [1e60, -1e60] * 5)
    with pytest.raises(ValueError, match=r"expected answers that float32 holds, .*got 1e\+60; .*'c'"):
        write(read(grown), "onnx")


def test_categories_are_not_written_as_onnx() -> None:
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="trees: expected tests of numbers, got tests of categories"):
        write(trees_of_categories(), "onnx")


def near_thresholds(trees: Any, X: Any) -> Any:
    """Put values of single precision at thresholds, and next to them, into some rows."""
    rng, rows = np.random.default_rng(0), np.asarray(X, dtype=np.float32)
    inner = trees.internal_nodes
    for row in rows[::2]:
        node = rng.choice(inner)
        at = trees.float32_thresholds()[node]
        nearby = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
        row[trees.feature[node]] = rng.choice(nearby)
    return rows


def margins_of(booster: Any, X: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    return booster.predict(xgboost.DMatrix(X), output_margin=True).reshape(len(X), -1)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "forest"])
def test_xgboost_predicts_the_same_at_thresholds_and_next_to_them(name: str) -> None:
    pytest.importorskip("xgboost")
    trees, X = trees_and_examples(name)
    booster = write(trees, "xgboost")
    rows = near_thresholds(trees, X)
    factor = 2 if name == "half logit" else 1
    margins = factor * trees.margins(rows.astype(trees.dtype))
    np.testing.assert_allclose(margins_of(booster, rows), margins, rtol=2e-6, atol=2e-6)
    again = read(booster)
    np.testing.assert_allclose(again.margins(rows), margins, rtol=1e-6, atol=1e-6)
    assert (again.classes is None) == (trees.classes is None)
    if trees.classes is not None:
        np.testing.assert_array_equal(again.classes, trees.classes)


def test_xgboost_finds_the_children_of_deep_trees() -> None:
    """XGBoost takes a right child to be the node after the left one, since 3.1 below some depth only."""
    pytest.importorskip("xgboost")
    X = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32)
    trees = read(GradientBoostingRegressor(n_estimators=2, max_depth=12, random_state=0).fit(X, X.sum(axis=1)))
    inner = trees.internal_nodes
    assert (trees.right[inner] != trees.left[inner] + 1).any()
    for written in json.loads(xgboost_text(trees))["learner"]["gradient_booster"]["model"]["trees"]:
        left, right = (np.array(written[f"{side}_children"]) for side in ("left", "right"))
        np.testing.assert_array_equal(right[right >= 0], left[left >= 0] + 1)
    np.testing.assert_allclose(margins_of(write(trees, "xgboost"), X), trees.margins(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["identity", "log", "multinomial logit"])
def test_the_base_score_of_xgboost_is_one_number(name: str) -> None:
    """Before 3.1 XGBoost passes over several, and predicts from its default."""
    trees, _ = trees_and_examples(name)
    learner = json.loads(xgboost_text(trees))["learner"]
    assert isinstance(json.loads(learner["learner_model_param"]["base_score"]), float)


@pytest.mark.parametrize("base", [-18.0, -14.0, 17.0])
def test_base_scores_that_xgboost_does_not_hold_are_leaves(base: float) -> None:
    pytest.importorskip("xgboost")
    trees, X = trees_and_examples("logit")
    X = X.astype(np.float32)
    trees = replace(trees, base_score=[base])
    np.testing.assert_allclose(margins_of(write(trees, "xgboost"), X), trees.margins(X), rtol=1e-5, atol=1e-5)


OBJECTIVES = (
    *("binary:logistic", "multi:softprob", "count:poisson", "reg:gamma", "reg:tweedie"),
    *("reg:quantileerror", "reg:pseudohubererror", "reg:absoluteerror", "reg:squaredlogerror"),
)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_xgboost_has_made_is_written_as_it_was(objective: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, labels = load_iris(return_X_y=True)
    y = {"binary:logistic": labels > 0, "multi:softprob": labels}.get(objective, X[:, 0])
    data = xgboost.DMatrix(np.where(X > 6, np.nan, X), y, feature_names=["a", "b", "c", "d"])
    parameters: dict[str, Any] = {"objective": objective, "max_depth": 3}
    parameters |= {"multi:softprob": {"num_class": 3}, "reg:quantileerror": {"quantile_alpha": 0.3}}.get(objective, {})
    booster = xgboost.train(parameters, data, num_boost_round=4)
    first = read(booster)
    second = read(write(first, "xgboost"))
    for field in ("tree_offsets", "left", "right", "first_output", "base_score"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field), err_msg=field)
    inner = first.internal_nodes
    for field in ("feature", "threshold", "missing_left"):
        np.testing.assert_array_equal(getattr(first, field)[inner], getattr(second, field)[inner], err_msg=field)
    np.testing.assert_array_equal(first.value[first.is_leaf], second.value[first.is_leaf])
    assert (first.link, first.loss, first.feature_names) == (second.link, second.loss, second.feature_names)
    np.testing.assert_array_equal(write(first, "xgboost").predict(data), booster.predict(data))


@pytest.mark.filterwarnings("error")
def test_lightgbms_test_of_whether_a_value_is_missing_is_written_as_xgboost() -> None:
    """LightGBM compares with infinity: every number goes left, a missing value right."""
    pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    booster = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, np.isnan(X[:, 0]) + 0.0), 3)
    trees = read(booster)
    assert trees.threshold.max() == np.inf
    X[:4, 0] = np.finfo(np.float32).max * np.array([1, -1, 1, -1])
    written = write(trees, "xgboost")
    np.testing.assert_allclose(margins_of(written, X), trees.margins(X), atol=1e-6)
    np.testing.assert_allclose(read(written).margins(X), trees.margins(X), atol=1e-6)


def test_xgboost_keeps_names_of_classes_and_takes_trees_in_any_order() -> None:
    pytest.importorskip("xgboost")
    trees, X = trees_and_examples("multinomial logit")
    some = replace(trees, classes=np.array(["\xe9", "b", 'c"']))
    shuffled = replace(some, first_output=some.first_output[::-1])
    again = read(write(shuffled, "xgboost"))
    assert again.classes.tolist() == ["\xe9", "b", 'c"']
    np.testing.assert_allclose(again.margins(X), shuffled.margins(X), atol=1e-6)


def test_xgboost_gets_names_of_columns_in_any_alphabet() -> None:
    """It takes escapes letter by letter, and then refuses frames of these columns."""
    xgboost = pytest.importorskip("xgboost")
    frame = pd.DataFrame(np.eye(3).repeat(9, axis=0), columns=["gr\xf6\xdfe", "\u5e74\u9f62", 'a "b"\t\\'])
    trees = read(GradientBoostingClassifier(n_estimators=2).fit(frame, np.arange(27) < 9))
    booster = write(trees, "xgboost")
    assert booster.feature_names == [*frame.columns]
    predicted = booster.predict(xgboost.DMatrix(frame))
    np.testing.assert_allclose(predicted, trees.predict_proba(frame)[:, 1], atol=1e-6)


def test_what_xgboost_cannot_hold_is_refused() -> None:
    trees, _ = trees_and_examples("identity")
    with pytest.raises(ValueError, match="trees: expected tests of numbers, got tests of categories"):
        write(trees_of_categories(), "xgboost")
    with pytest.raises(ValueError, match="trees: expected the loss of their link or one of XGBoost, got 'huber'"):
        write(replace(trees, loss="huber"), "xgboost")
    with pytest.raises(ValueError, match=r"trees: expected thresholds and leaves that float32 holds, .* got 1e"):
        write(replace(trees, value=np.full_like(trees.value, 1e300)), "xgboost")
    with pytest.raises(TypeError, match="trees: expected BoostedTrees, which XGBoost adds up, got Forest"):
        write(trees_and_examples("forest")[0], "xgboost")


def shares(booster: Any, X: Any) -> Any:
    """Compute SHAP values along the paths, which want to know what passed each node, by the library itself."""
    if type(booster).__module__.startswith("lightgbm"):
        return booster.predict(X, pred_contrib=True)
    xgboost = pytest.importorskip("xgboost")
    return booster.predict(xgboost.DMatrix(X), pred_contribs=True)


@pytest.mark.parametrize("target", ["lightgbm", "xgboost"])
def test_written_models_know_what_passed_their_nodes(target: str) -> None:
    library = pytest.importorskip(target)
    X, y = load_breast_cancer(return_X_y=True)
    kind = library.LGBMClassifier if target == "lightgbm" else library.XGBClassifier
    model = kind(n_estimators=5, max_depth=4, verbosity=-1 if target == "lightgbm" else 0).fit(X, y)
    booster = model.booster_ if target == "lightgbm" else model.get_booster()
    trees = read(model)
    np.testing.assert_allclose(shares(write(trees, target), X[:20]), shares(booster, X[:20]), rtol=1e-5, atol=1e-6)
    pruned = trees.prune(Pruning(trees.parent[trees.internal_nodes] < 0))
    assert np.array_equal(pruned.cover[pruned.tree_offsets[:-1]], trees.cover[trees.tree_offsets[:-1]])
    found = shares(write(pruned, target), X[:20])
    np.testing.assert_allclose(found.sum(axis=1), pruned.margins(X[:20])[:, 0], rtol=1e-4, atol=1e-5)


def without_an_example(trees: BoostedTrees) -> BoostedTrees:
    """Return trees in which the last leaf of each has seen no example."""
    cover = trees.cover.copy()
    cover[trees.tree_offsets[1:] - 1] = 0
    return replace(trees, cover=cover)


@pytest.mark.parametrize("target", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("change", [lambda trees: trees, without_an_example])
def test_trees_of_this_package_and_of_scikit_learn_know_it_too(target: str, change: Any) -> None:
    pytest.importorskip(target)
    X, y = load_breast_cancer(return_X_y=True)
    for model in (
        BudgetBoost(6, random_state=0, search=BoostSearch(n_lambdas=2, stopping=())),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
    ):
        model.fit(X, y)
        trees = change(model.to_trees() if hasattr(model, "to_trees") else read(model))
        values = X[:20].astype(np.float32)
        found = shares(write(trees, target), values)
        assert np.count_nonzero(found) > 20
        np.testing.assert_allclose(found.sum(axis=1), trees.margins(values)[:, 0], rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match=r"cover: expected numbers >= 0, got -1"):
        replace(trees, cover=trees.cover - 1 - trees.cover.min())
