"""BudgetedClassifier: the frontier of all its estimators, chosen on validation."""

import pickle
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from estimator_checks import random_parts
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BranchingCascade,
    BranchingStages,
    BudgetBoost,
    BudgetedClassifier,
    BudgetForest,
    BudgetLinear,
    BudgetPrune,
    ForestSearch,
    NestedCascade,
    NestedStages,
    RunSettings,
)
from ipforest.estimator.measurement import Measurement
from ipforest.frontiers import budgeted_classifier, work
from ipforest.frontiers.scores import soft_error
from ipforest.frontiers.work import TimeIsOver
from ipforest.growing import Grower
from ipforest.stopping.stages import StagesInOrder
from ipforest.tabular.model_files import load_model, save_model

pytestmark = pytest.mark.slow

BOOST = BudgetBoost(6, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=2, n_prunings=1))
FOREST = BudgetForest(3, search=ForestSearch(n_lambdas=2, n_prunings=1))
CASCADE = NestedCascade(RandomForestClassifier(5, max_depth=5, random_state=0), stages=NestedStages(sizes=(1, 2, 4)))
BRANCHING = BranchingCascade(
    RandomForestClassifier(5, max_depth=5, random_state=0), stages=BranchingStages(min_support=20)
)
TREES = RandomForestClassifier(5, max_depth=4, random_state=0)


@pytest.fixture(scope="module")
def parts() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:300], y[:300], X[300:500], y[300:500]


ESTIMATORS = [BOOST, FOREST, CASCADE, TREES]


class Unforgetting(BudgetedClassifier):
    """Keeps the models that no budget chooses, with all levels of their rules."""

    def _keep_choosable(self) -> None:
        pass


@pytest.fixture(scope="module")
def fitted(parts: Any) -> BudgetedClassifier:
    return Unforgetting(ESTIMATORS, random_state=0).fit(*parts)


@pytest.fixture(scope="module")
def lean(parts: Any) -> BudgetedClassifier:
    return BudgetedClassifier(ESTIMATORS, random_state=0).fit(*parts)


def test_the_frontier_is_that_of_all_members(fitted: BudgetedClassifier) -> None:
    boost, forest, cascade, _ = fitted.estimators_
    assert len(fitted.members_) == len(boost.members_) + len(forest.members_) + 2
    assert isinstance(fitted.members_[-2].policy, StagesInOrder)
    assert cascade.costs_ == fitted.costs_
    for budget in (0, 1, 2, 4, 8, None):
        found = fitted.frontier_.criterion[fitted.frontier_.within(budget)]
        assert found <= min(one.frontier_.criterion[one.frontier_.within(budget)] for one in (boost, forest))
    assert len(set(fitted.frontier_.member.tolist())) > 1


def test_the_model_does_not_depend_on_how_much_is_trained_at_once(parts: Any) -> None:
    one, two = (
        BudgetedClassifier([BOOST, FOREST, CASCADE], n_jobs=n_jobs, random_state=0).fit(*parts) for n_jobs in (None, 2)
    )
    assert [estimator.n_jobs for estimator in two.estimators_[1:]] == [2, 2]
    for before, after in zip(one.frontier_.columns().values(), two.frontier_.columns().values(), strict=True):
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
    alone.policy = lambda: member.policy
    assert alone.cost(X).mean() == pytest.approx(member.cost)
    assert soft_error(alone.predict_proba(X), y, fitted.classes_, y.size).mean() == pytest.approx(member.loss)
    learnt = member.learnt[0]
    middle = learnt.curve.cost.size // 2
    free = np.zeros(30, dtype=bool)
    alone.policy = lambda: member.stopped(learnt.rule, learnt.curve.level[middle], free)
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
            "expected BudgetBoost, BudgetForest, BudgetLinear, a cascade of stages or trees to read, got",
        ),
        ([BudgetBoost(feature_costs=[1] * 30)], ValueError, "feature_costs: expected none in BudgetBoost, for which"),
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
    assert [type(estimator) for estimator in model.estimators_] == [BudgetBoost, BudgetForest, BudgetLinear]
    read = load_model(save_model(model, tmp_path / "front.skops"))
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    np.testing.assert_array_equal(read.at_budget(1).cost(X), model.at_budget(1).cost(X))


@parametrize_with_checks(
    [
        BudgetedClassifier(
            [
                BudgetBoost(3, growth=BoostGrowth(max_leaf_nodes=3), search=BoostSearch(n_lambdas=1, n_prunings=0)),
                CASCADE,
            ],
            random_state=0,
        )
    ],
    expected_failed_checks=random_parts,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_features_are_named_in_the_parameters_of_estimators(parts: Any) -> None:
    X, y, X_val, y_val = parts
    names = [f"x{column}" for column in range(X.shape[1])]
    frames = [pd.DataFrame(values, columns=names) for values in (X, X_val)]
    by_name, by_column = (clone(CASCADE).set_params(stages__order=order) for order in (["x7", "x2"], [7, 2]))
    named = BudgetedClassifier([by_name], random_state=0).fit(frames[0], y, frames[1], y_val)
    numbered = BudgetedClassifier([by_column], random_state=0).fit(*parts)
    np.testing.assert_array_equal(named.predict_proba(frames[1]), numbered.predict_proba(X_val))
    np.testing.assert_array_equal(named.estimators_[0].predict(frames[1]), numbered.estimators_[0].predict(X_val))


@pytest.mark.slow
def test_only_what_a_budget_can_choose_is_kept(
    fitted: BudgetedClassifier, lean: BudgetedClassifier, parts: Any
) -> None:
    assert len(lean.members_) == len(set(fitted.frontier_.member.tolist())) < len(fitted.members_)
    assert sorted(set(lean.frontier_.member.tolist())) == list(range(len(lean.members_)))
    n_levels = sum(learnt.curve.level.size for member in lean.members_ for learnt in member.learnt)
    assert n_levels <= lean.frontier_.cost.size
    for name in ("cost", "loss", "criterion", "rule", "level"):
        np.testing.assert_array_equal(getattr(lean.frontier_, name), getattr(fitted.frontier_, name))
    for budget in (0, 1, 2.5, 6, None):
        one, two = (model._another(budget=budget) for model in (lean, fitted))
        np.testing.assert_array_equal(one.predict_proba(parts[2]), two.predict_proba(parts[2]))
        np.testing.assert_array_equal(one.cost(parts[2]), two.cost(parts[2]))
    for before, after in zip(fitted.estimators_[:2], lean.estimators_[:2], strict=True):
        np.testing.assert_array_equal(before.at_budget(2).cost(parts[2]), after.at_budget(2).cost(parts[2]))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1, 2, 8])
def test_a_compact_model_is_that_of_one_budget(
    lean: BudgetedClassifier, parts: Any, budget: float, tmp_path: Path
) -> None:
    whole, compact = lean.at_budget(budget), lean.compact(budget)
    passed_over = lean.compact(budget, keep_passed=False)
    np.testing.assert_array_equal(passed_over.predict_proba(parts[2]), whole.predict_proba(parts[2]))
    np.testing.assert_array_equal(passed_over.cost(parts[2]), whole.cost(parts[2]))
    assert len(pickle.dumps(passed_over)) <= len(pickle.dumps(compact))
    np.testing.assert_array_equal(compact.predict_proba(parts[2]), whole.predict_proba(parts[2]))
    np.testing.assert_array_equal(compact.acquired(parts[2]), whole.acquired(parts[2]))
    assert compact.chosen_.split()[-3:] == whole.chosen_.split()[-3:]  # of its stages some may be gone
    assert compact.measured().n_wrong == whole.measured().n_wrong
    assert not hasattr(compact, "estimators_")
    assert len(compact.members_) == 1
    assert len(pickle.dumps(compact)) < len(pickle.dumps(whole)) / 2
    assert len(lean.members_) > 1
    file = save_model(compact, tmp_path / "one.skops")
    with ZipFile(file) as archive:
        large = [archive.read(member) for member in archive.infolist() if member.file_size > 5_000]
    assert len(large) == len(set(large))  # trees are in it once
    read = load_model(file)
    np.testing.assert_array_equal(read.predict(parts[2]), whole.predict(parts[2]))
    cheapest = compact.frontier_.cost[0]
    if cheapest > 0:
        with pytest.raises(ValueError, match="budget: expected at least"):
            compact.at_budget(cheapest / 2)


@pytest.mark.slow
def test_one_pass_tells_labels_and_costs(lean: BudgetedClassifier, parts: Any) -> None:
    labels, cost = lean.predict(parts[2], return_cost=True)
    np.testing.assert_array_equal(labels, lean.predict(parts[2]))
    np.testing.assert_array_equal(cost, lean.cost(parts[2]))
    np.testing.assert_allclose(np.exp(lean.predict_log_proba(parts[2])), lean.predict_proba(parts[2]))


@pytest.mark.slow
def test_what_was_chosen_is_told(lean: BudgetedClassifier, parts: Any) -> None:
    X, y = parts[2:]
    model = lean.at_budget(2)
    test, wrong = model.measured(X, y), model.predict(X) != y
    assert (test.n_samples, test.n_wrong) == (200, wrong.sum())
    assert test.cost == pytest.approx(model.cost(X).mean())
    assert test.cost_error == pytest.approx(model.cost(X).std(ddof=1) / np.sqrt(200))
    np.testing.assert_allclose(test.bought, model.acquired(X).mean(axis=0))
    text = model.summary(X, y)
    assert f"error {wrong.mean():.3g}" in text
    assert model.chosen_ in text
    most = int(np.argmax(test.bought))
    assert f"feature {most} ({test.bought[most]:.0%})" in text
    assert str(model) == model.summary()
    assert "BudgetedClassifier" in repr(model)
    usage = model.feature_usage(X).mean(axis=0)
    np.testing.assert_allclose(model.feature_importances_, usage / usage.sum(), atol=1e-12)
    assert lean.at_budget(0).feature_importances_.sum() == 0
    assert str(BudgetedClassifier()) == "BudgetedClassifier()"
    with pytest.raises(ValueError, match="X, y: expected both or none, got one"):
        model.measured(X)


def test_intervals_of_errors_are_those_of_wilson() -> None:
    """Of 10 examples one is wrong: 0.0179 to 0.4042."""
    measured = Measurement(10, 1, 0.0, 0.0, np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(measured.error_interval(), [0.1, 0.0179, 0.4042], atol=1e-4)


def test_groups_are_not_parted(parts: Any) -> None:
    X, y = parts[:2]
    seen: list[Any] = []

    class Watched(BudgetedClassifier):
        def _members(self, training: Any, validation: Any, random: Any, work: Any) -> Any:
            seen.append((training.X[:, 0], validation.X[:, 0]))
            return super()._members(training, validation, random, work)

    patients = np.arange(300) // 3
    marked = np.column_stack([patients, X])
    for settings in ({}, {"cv": StratifiedGroupKFold(4)}):
        Watched([TREES], random_state=0, **settings).fit(marked, y, groups=patients)
        training, held_out = seen.pop()
        assert not set(training) & set(held_out)
        assert len(training) + len(held_out) == 300
    Watched([TREES], cv=[(np.arange(200), np.arange(200, 300))], validation_fraction=None).fit(marked, y)
    assert [len(part) for part in seen.pop()] == [200, 100]
    with pytest.raises(ValueError, match="cv: expected examples of each class to train on, got none of 1"):
        Watched([TREES], cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]).fit(marked, y)


@pytest.mark.slow
def test_weights_go_to_all_estimators(parts: Any) -> None:
    """With all weight on examples of a single class that class is predicted, whatever is trained."""
    X, y = parts[:2]
    for estimator in (BOOST, FOREST, CASCADE, TREES):
        model = BudgetedClassifier([estimator], random_state=0).fit(X, y, X, y, sample_weight=np.where(y == 1, 1.0, 0))
        assert set(model.predict(X)) == {1}


def test_what_is_left_out_for_lack_of_time_is_said(parts: Any) -> None:
    model = BudgetedClassifier([BOOST, FOREST], run=RunSettings(time_limit=0), random_state=0)
    with pytest.warns(UserWarning, match=r"run\.time_limit=0: left out what follows BudgetBoost after 1 model"):
        model.fit(*parts)
    assert model.left_out_ == ("BudgetBoost after 1 model", "BudgetForest after 0 models")
    assert model.predict(parts[2]).shape == (200,)
    for limit in (-1, float("inf"), "2"):
        with pytest.raises(ValueError, match=r"run\.time_limit: expected a finite number of seconds >= 0, got"):
            clone(model).set_params(run__time_limit=limit).fit(*parts)


def test_lines_take_least_time_and_are_there_before_trees(parts: Any) -> None:
    model = BudgetedClassifier([BOOST, BudgetLinear()], run=RunSettings(time_limit=0), random_state=0)
    with pytest.warns(UserWarning, match="left out what follows BudgetBoost after 0 models"):
        model.fit(*parts)
    alone = BudgetedClassifier([BOOST, BudgetLinear()], random_state=0).fit(*parts).estimators_[1]
    np.testing.assert_array_equal(model.estimators_[0].predict_proba(parts[2]), alone.predict_proba(parts[2]))


@pytest.mark.parametrize(("estimators", "n_looks"), [([BOOST], 5), ([BOOST], 20), ([FOREST], 2), ([FOREST], 60)])
def test_time_is_looked_at_before_each_tree(
    parts: Any, monkeypatch: pytest.MonkeyPatch, estimators: list[Any], n_looks: int
) -> None:
    """Once the time is over, little is grown, though a member takes many trees; what stands is chosen from."""
    looks, grown = [0], []
    monkeypatch.setattr(work, "monotonic", lambda: 10.0 * (looks.append(0) or len(looks) > n_looks))
    grow = Grower._grow
    monkeypatch.setattr(Grower, "_grow", lambda self, *args: grown.append(len(looks)) or grow(self, *args))
    model = BudgetedClassifier(estimators, run=RunSettings(time_limit=5), random_state=0)
    monkeypatch.setattr(budgeted_classifier, "monotonic", lambda: 0.0)
    with pytest.warns(UserWarning, match=r"left out what follows Budget(Boost|Forest) after \d+ models"):
        model.fit(*parts)
    assert len(looks) <= n_looks + 10
    assert sum(at > n_looks for at in grown) <= 1
    assert model.predict(parts[2]).shape == (200,)


def test_what_comes_to_nothing_in_time_is_left_out(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def over(*arguments: Any) -> None:
        raise TimeIsOver

    monkeypatch.setattr(BudgetForest, "_unpriced", over)
    with pytest.warns(UserWarning, match=r"left out what follows BudgetForest after 0 models"):
        model = BudgetedClassifier([BOOST, FOREST], run=RunSettings(time_limit=1e6), random_state=0).fit(*parts)
    assert len(model.estimators_) == 1


def test_a_bar_shows_how_far_training_is(parts: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model = BudgetedClassifier([BOOST], run=RunSettings(verbose=True), random_state=0).fit(*parts)
    assert model.left_out_ == ()
    shown = capsys.readouterr().err
    assert "Training" in shown
    assert "100%" in shown
