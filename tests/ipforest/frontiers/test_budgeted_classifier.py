"""BudgetedClassifier: the frontier of all its estimators, chosen on validation."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimator_checks import random_parts
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import BranchingCascade, BudgetBoost, BudgetedClassifier, BudgetForest, BudgetPrune, NestedCascade
from ipforest.frontiers.scores import soft_error
from ipforest.stopping.stages import StagesInOrder
from ipforest.tabular.model_files import load_model, save_model

pytestmark = pytest.mark.slow

BOOST = BudgetBoost(6, max_leaf_nodes=4, n_lambdas=2, n_prunings=1)
FOREST = BudgetForest(3, n_lambdas=2, n_prunings=1)
CASCADE = NestedCascade(RandomForestClassifier(5, max_depth=5, random_state=0), sizes=(1, 2, 4))
BRANCHING = BranchingCascade(RandomForestClassifier(5, max_depth=5, random_state=0), min_support=20)
TREES = RandomForestClassifier(5, max_depth=4, random_state=0)


@pytest.fixture(scope="module")
def parts() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:300], y[:300], X[300:500], y[300:500]


@pytest.fixture(scope="module")
def fitted(parts: Any) -> BudgetedClassifier:
    return BudgetedClassifier([BOOST, FOREST, CASCADE, TREES], random_state=0).fit(*parts)


def test_the_frontier_is_that_of_all_members(fitted: BudgetedClassifier) -> None:
    boost, forest, cascade, _ = fitted.estimators_
    assert len(fitted.members_) == len(boost.members_) + len(forest.members_) + 2
    assert isinstance(fitted.members_[-2].policy, StagesInOrder)
    assert cascade.costs_ == fitted.costs_
    for budget in (0, 1, 2, 4, 8, None):
        found = fitted.frontier_.criterion[fitted.frontier_.within(budget)]
        assert found <= min(one.frontier_.criterion[one.frontier_.within(budget)] for one in (boost, forest))
    assert len(set(fitted.frontier_.member.tolist())) > 1


def test_the_model_does_not_depend_on_how_many_stages_are_trained_at_once(parts: Any) -> None:
    one, two = (
        BudgetedClassifier([FOREST, CASCADE], n_jobs=n_jobs, random_state=0).fit(*parts) for n_jobs in (None, 2)
    )
    assert [estimator.n_jobs for estimator in two.estimators_] == [2, 2]
    for before, after in zip(one.frontier_, two.frontier_, strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(one.predict_proba(parts[2]), two.predict_proba(parts[2]))


@pytest.mark.parametrize("place", [-2, -1])
def test_cascades_and_trees_are_measured_as_the_others(fitted: BudgetedClassifier, parts: Any, place: int) -> None:
    X, y = parts[2:]
    member = fitted.members_[place]
    alone = clone(fitted)
    for name in ("categories_", "costs_", "classes_", "n_features_in_"):
        setattr(alone, name, getattr(fitted, name))
    alone.members_ = (member,)
    alone._policy = lambda: member.policy
    assert alone.cost(X).mean() == pytest.approx(member.cost)
    assert soft_error(alone.predict_proba(X), y, fitted.classes_, y.size).mean() == pytest.approx(member.loss)
    learnt = member.learnt[0]
    middle = learnt.curve.cost.size // 2
    free = np.zeros(30, dtype=bool)
    alone._policy = lambda: member.stopped(learnt.rule, learnt.curve.level[middle], free)
    assert alone.cost(X).mean() == pytest.approx(learnt.curve.cost[middle])


@pytest.mark.parametrize("cascade", [CASCADE, BRANCHING])
def test_a_cascade_alone_is_a_classifier(parts: Any, cascade: Any) -> None:
    model = BudgetedClassifier([cascade], budget=1.5, random_state=0).fit(*parts)
    assert model.cost(parts[2]).mean() <= 1.5
    assert model.score(*parts[2:]) > 0.85
    assert model.at_budget(0).cost(parts[2]).max() == 0
    session = model.session()
    while session.next_unit is not None:
        session.tell(parts[2][0][list(session.next_unit.features)])
    assert session.answer == model.predict(parts[2][:1])[0]


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, Any]:
    """Make a frame whose colours tell the class, except that one colour needs the height."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(["blue", "green", "red"], 600), "height": rng.normal(size=600)})
    y = np.where(X["colour"] == "green", "yes", np.where((X["colour"] == "red") & (X["height"] > 0), "yes", "no"))
    return X.astype({"colour": "category"}), y


@pytest.mark.parametrize("estimator", [BOOST, FOREST, CASCADE, TREES])
def test_categories_are_named_in_frames_and_sessions(people: Any, estimator: Any) -> None:
    X, y = people
    model = BudgetedClassifier([estimator], random_state=0).fit(X[:400], y[:400])
    assert model.categories_.names == {0: ("blue", "green", "red")}
    assert model.score(X[400:], y[400:]) > 0.98
    turned = X[400:].assign(colour=X["colour"][400:].cat.reorder_categories(["red", "blue", "green"]))
    np.testing.assert_array_equal(model.predict(turned), model.predict(X[400:]))
    session = model.session()
    while session.next_unit is not None:
        session.tell([{"colour": "red", "height": 2.0}[session.next_unit.name]])
    assert session.answer == "yes"


def test_columns_of_categories_are_given_on(people: Any) -> None:
    X, y = people
    numbers = np.column_stack([X["colour"].cat.codes, X["height"]])
    model = BudgetedClassifier([BOOST, FOREST], categorical_features=[0], random_state=0).fit(numbers, y)
    assert [each.categories_.columns for each in model.estimators_] == [(0,), (0,)]
    assert model.at_budget(1).score(numbers, y) > 0.8


@pytest.mark.parametrize(
    ("estimators", "error", "text"),
    [
        ([], ValueError, r"estimators: expected a sequence of estimators, got \[\]"),
        ([DecisionTreeRegressor()], TypeError, "estimators: expected classifiers, got DecisionTreeRegressor"),
        (
            [BudgetPrune(TREES)],
            TypeError,
            "expected BudgetBoost, BudgetForest, a cascade of stages or trees to read, got",
        ),
        ([BudgetBoost(feature_costs=[1] * 30)], ValueError, "feature_costs: expected none in BudgetBoost, whose pric"),
        (
            [BudgetBoost(categorical_features=[1])],
            ValueError,
            r"categorical_features: expected 'from_dtype' in BudgetBoost, whose columns are given here, got \[1\]",
        ),
        ([BudgetBoost(0)], ValueError, "n_estimators: expected an integer >= 1, got 0"),
    ],
)
def test_bad_estimators_are_refused(parts: Any, estimators: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        BudgetedClassifier(estimators).fit(*parts)


def test_models_that_are_no_trees_are_refused(parts: Any) -> None:
    with pytest.raises(TypeError, match="LogisticRegression"):
        BudgetedClassifier([LogisticRegression(max_iter=5000)]).fit(*parts)


def test_the_default_is_saved_and_read(people: Any, tmp_path: Path) -> None:
    X, y = people
    model = BudgetedClassifier(budget=1.5, random_state=0).fit(X[:80], y[:80])
    assert [type(estimator) for estimator in model.estimators_] == [BudgetBoost, BudgetForest]
    read = load_model(save_model(model, tmp_path / "front.skops"))
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    np.testing.assert_array_equal(read.at_budget(1).cost(X), model.at_budget(1).cost(X))


@parametrize_with_checks(
    [BudgetedClassifier([BudgetBoost(3, max_leaf_nodes=3, n_lambdas=1, n_prunings=0), CASCADE], random_state=0)],
    expected_failed_checks=random_parts,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_features_are_named_in_the_parameters_of_estimators(parts: Any) -> None:
    X, y, X_val, y_val = parts
    names = [f"x{column}" for column in range(X.shape[1])]
    frames = [pd.DataFrame(values, columns=names) for values in (X, X_val)]
    by_name, by_column = (clone(CASCADE).set_params(order=order) for order in (["x7", "x2"], [7, 2]))
    named = BudgetedClassifier([by_name], random_state=0).fit(frames[0], y, frames[1], y_val)
    numbered = BudgetedClassifier([by_column], random_state=0).fit(*parts)
    np.testing.assert_array_equal(named.predict_proba(frames[1]), numbered.predict_proba(X_val))
    np.testing.assert_array_equal(named.estimators_[0].predict(frames[1]), numbered.estimators_[0].predict(X_val))
