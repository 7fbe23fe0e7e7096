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
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import ipforest.deployment
from ipforest import BranchingCascade, EarlyExit, FeatureCosts, NestedCascade, NestedStages
from ipforest.deployment import document_of, write_c_model, write_json
from ipforest.deployment.reader import Model
from ipforest.ensemble import write
from ipforest.stopping.rules import CertifiedStopping, OptimalStopping, ThresholdStopping
from ipforest.stopping.stages import Stage, StagesInOrder

ROOM = Path(ipforest.deployment.__file__).parent
NAMES = np.array(["setosa", 'versi"color', "virginica"])
COSTS = FeatureCosts([1, 0, 2, 3])


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


def stopped(stopping: Any, n_classes: int = 3) -> tuple[Any, Any]:
    X, y, others = iris(n_classes)
    model = EarlyExit(forest(), stopping=stopping, feature_costs=COSTS, budget=4, random_state=0)
    return model.fit(X, y, X, y), others


def boosted(n_classes: int) -> tuple[Any, Any]:
    X, y, others = iris(n_classes)
    base = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
    model = EarlyExit(base, stopping=ThresholdStopping(), feature_costs=COSTS, budget=6, random_state=0)
    whole = np.where(np.isnan(X), 0, X)
    return model.fit(whole, y, whole, y), np.where(np.isnan(others), 0, others)


def nested() -> tuple[Any, Any]:
    X, y, others = iris(3)
    rules = OptimalStopping(n_bins=3, min_support=5)
    model = NestedCascade(forest(3), stopping=rules, feature_costs=COSTS, budget=2, random_state=0)
    return model.fit(X, y, X, y), others


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


MODELS = {
    "threshold": lambda: stopped(ThresholdStopping()),
    "staged": lambda: stopped(OptimalStopping(n_bins=3, min_support=5)),
    "certified": lambda: stopped(CertifiedStopping(n_bins=2, min_support=10), 2),
    "boosted, two classes": lambda: boosted(2),
    "boosted, three classes": lambda: boosted(3),
    "nested": nested,
    "branching": branching,
}


@pytest.fixture(scope="module", params=MODELS)
def exported(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return MODELS[request.param]()


def test_the_reader_answers_and_buys_as_the_estimator(exported: tuple[Any, Any]) -> None:
    model, others = exported
    document = json.loads(write(model, "json"))
    jsonschema.validate(document, json.loads((ROOM / "schema.json").read_text()))
    reader = Model(document)
    answers = [reader.predict_one(lambda feature, row=row: row[feature]) for row in others]
    assert [answer.label for answer in answers] == model.predict(others).tolist() == reader.predict(others)
    np.testing.assert_allclose([answer.probabilities for answer in answers], model.predict_proba(others), atol=1e-12)
    bought = np.zeros(others.shape, dtype=bool)
    for row, answer in zip(bought, answers, strict=True):
        row[list(answer.bought)] = True
    np.testing.assert_array_equal(bought, model.acquired(others))
    assert 0 < bought[:, COSTS.cost_of(np.eye(4, dtype=bool)) > 0].mean() < 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_answers_and_buys_as_the_estimator(exported: tuple[Any, Any], tmp_path: Path) -> None:
    model, others = exported
    source, library = tmp_path / "model.c", tmp_path / "model.so"
    source.write_text(write(model, "c"))
    flags = ["-std=c99", "-Wall", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    n = len(others)
    X = np.ascontiguousarray(others, dtype=np.float64)
    label = np.empty(n, dtype=np.int32)
    probability, bought = np.empty((n, len(model.classes_))), np.empty(X.shape, dtype=np.bool_)
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (label, probability, bought)]
    loaded.model_predict_batch(X.ctypes.data_as(ctypes.c_void_p), n, *pointers)
    np.testing.assert_array_equal(model.classes_[label], model.predict(others))
    np.testing.assert_allclose(probability, model.predict_proba(others), atol=1e-12)
    np.testing.assert_array_equal(bought, model.acquired(others))
    names = (ctypes.c_char_p * len(model.classes_)).in_dll(loaded, "model_classes")
    assert [name.decode() for name in names] == model.classes_.tolist()


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
    assert len((ROOM / "reader.py").read_text().splitlines()) <= 200


def test_what_comes_with_a_feature_is_known_with_it() -> None:
    X, y, others = iris(3)
    costs = FeatureCosts([1, 2]).for_columns([0, 0, 1, 1])
    model = EarlyExit(forest(), stopping=ThresholdStopping(), feature_costs=costs, budget=2, random_state=0)
    model.fit(X, y, X, y)
    reader = Model(document_of(model))
    answers = [reader.predict_one(lambda feature, row=row: row[feature]) for row in others]
    np.testing.assert_allclose([answer.probabilities for answer in answers], model.predict_proba(others), atol=1e-12)


def test_what_cannot_be_exported_is_named() -> None:
    X, y, _ = iris(3)
    whole = np.where(np.isnan(X), 0, X)
    other = NestedCascade(LogisticRegression(max_iter=1000), stages=NestedStages(sizes=[2]), random_state=0).fit(
        whole, y, whole, y
    )
    with pytest.raises(TypeError, match=r"stage 2: .*LogisticRegression"):
        document_of(other)
    chained = NestedCascade(forest(2), stages=NestedStages(sizes=[1, 2], sees_before=True), random_state=0).fit(
        X, y, X, y
    )
    with pytest.raises(ValueError, match="stage 2: expected one that sees features only"):
        write_json(chained)
    capped = NestedCascade(forest(2), stages=NestedStages(sizes=[1]), max_cost=2, random_state=0).fit(X, y, X, y)
    with pytest.raises(ValueError, match=r"got one with max_cost=2"):
        write_c_model(capped)


@pytest.mark.parametrize("header", [{}, {"format": "ipforest-model", "version": 2}, {"format": "other", "version": 1}])
def test_other_documents_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="document: expected 'ipforest-model', version 1, got"):
        Model(header)


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
