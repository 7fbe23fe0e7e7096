from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proofs
from ipforest import BranchingCascade, FeatureCosts, NestedCascade, NestedStages
from ipforest.session import Sessions
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.stopping.unit_order import ORDERS

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :10]
TRAINED, TEST = slice(0, 400), slice(400, None)
SMALL = RandomForestClassifier(12, max_depth=5, random_state=0)


@pytest.fixture(scope="module")
def cascade() -> NestedCascade:
    return NestedCascade(SMALL, random_state=0).fit(X[TRAINED], Y[TRAINED])


def test_each_stage_sees_more_units(cascade: NestedCascade) -> None:
    assert [stage.features.size for stage in cascade.stages_] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]
    for before, after in zip(cascade.stages_, cascade.stages_[1:], strict=False):
        np.testing.assert_array_equal(after.features[: before.features.size], before.features)


def test_a_stage_answers_what_its_model_says(cascade: NestedCascade) -> None:
    everyone = cascade.at_budget(10**6)
    everyone.level_ = -np.inf
    last = cascade.stages_[-1]
    np.testing.assert_array_equal(everyone.predict_proba(X[TEST]), last.model.predict_proba(X[TEST][:, last.features]))
    np.testing.assert_array_equal(everyone.cost(X[TEST]), np.full(169, 10.0))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [ThresholdStopping(), OptimalStopping(4, 20), CertifiedStopping(2, 20)])
def test_the_curve_of_the_examples_it_was_learnt_on_is_what_they_pay(rule: Any) -> None:
    model = NestedCascade(SMALL, stopping=rule, n_folds=1, random_state=0)
    model.fit(X[:300], Y[:300], X[300:400], Y[300:400])
    for budget in (0, 1.5, 2, 4):
        at = model.at_budget(budget)
        place = at.curve_.within(budget)
        assert at.cost(X[300:400]).mean() == pytest.approx(at.curve_.cost[place])
        assert 1 - at.score(X[300:400], Y[300:400]) == pytest.approx(at.curve_.error[place])


def test_where_nothing_is_bought_a_warning_says_what_would_be_enough() -> None:
    model = NestedCascade(SMALL, random_state=0).fit(X[TRAINED], Y[TRAINED])
    with pytest.warns(
        UserWarning, match=r"^budget: nothing is bought within 0\.4; the cheapest model that is better co"
    ):
        assert model.at_budget(0.4).cost(X[TEST]).max() == 0


def test_the_certified_rule_is_proved() -> None:
    model = NestedCascade(SMALL, stopping=CertifiedStopping(2, 20), random_state=0).fit(X[TRAINED], Y[TRAINED])
    assert proofs.verify_path(model.rule_.path.instance, model.rule_.path)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_what_tells_most_per_price_is_bought_first(order: str) -> None:
    rng = np.random.default_rng(0)
    examples = rng.random((300, 6))
    labels = (examples[:, 2] + 0.7 * examples[:, 4] > 0.85).astype(int)
    model = NestedCascade(
        SMALL, stages=NestedStages(order=order), feature_costs=[1, 1, 1, 1, 1, 1], random_state=0
    ).fit(examples, labels)
    assert [unit.features for unit in model.units_][:2] == [(2,), (4,)]
    dear = NestedCascade(
        SMALL, stages=NestedStages(order=order), feature_costs=[1, 1, 100, 1, 1, 1], random_state=0
    ).fit(examples, labels)
    assert dear.units_[0].features == (4,)


def test_groups_are_bought_whole_and_fees_count_once() -> None:
    examples, labels = make_classification(300, 6, n_informative=4, random_state=0)
    costs = FeatureCosts([0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, -1], [4, 2])
    model = NestedCascade(SMALL, feature_costs=costs, random_state=0).fit(examples, labels)
    assert {unit.features for unit in model.units_} == {(0, 1), (2,), (3,), (4,)}
    assert model.stages_[1].features.tolist() == [5]
    np.testing.assert_allclose(model.paths_.cost[:, -1], 4 + 2 + 1 + 1)


def test_a_given_order_and_sizes() -> None:
    model = NestedCascade(SMALL, stages=NestedStages(order=[3, 1, 7], sizes=[1, 3]), random_state=0).fit(
        X[TRAINED], Y[TRAINED]
    )
    assert [stage.features.tolist() for stage in model.stages_] == [[], [3], [3, 1, 7]]


def test_any_classifier_is_a_stage() -> None:
    for learner in (GradientBoostingClassifier(n_estimators=10), make_pipeline(StandardScaler(), LogisticRegression())):
        model = NestedCascade(learner, stages=NestedStages(sizes=[1, 4]), budget=2, random_state=0).fit(
            X[TRAINED], Y[TRAINED]
        )
        assert model.score(X[TEST], Y[TEST]) > 0.75
        assert model.cost(X[TEST]).mean() < 3


def test_stages_that_see_the_one_before() -> None:
    model = NestedCascade(SMALL, stages=NestedStages(sees_before=True, sizes=[1, 2, 3]), random_state=0).fit(
        X[TRAINED], Y[TRAINED]
    )
    assert [stage.model.n_features_in_ for stage in model.stages_[1:]] == [3, 4, 5]
    assert model.score(X[TEST], Y[TEST]) > 0.85


def test_regression_goes_on_while_answers_move() -> None:
    examples, targets = load_diabetes(return_X_y=True)
    model = NestedCascade(RandomForestRegressor(20, min_samples_leaf=5, random_state=0), random_state=0)
    model.fit(examples[:300], targets[:300])
    cheap, dear = model.at_budget(1), model.at_budget(4)
    assert cheap.cost(examples[300:]).mean() < dear.cost(examples[300:]).mean()
    assert dear.score(examples[300:], targets[300:]) > 0.3


def test_the_reason_tells_how_far_a_number_moved_once_it_has() -> None:
    examples, targets = load_diabetes(return_X_y=True)
    model = NestedCascade(RandomForestRegressor(5, random_state=0), budget=9, random_state=0).fit(examples, targets)
    session, reasons = model.session(), []
    while (unit := session.next_unit) is not None:
        reasons.append(session.reason)
        session.tell(examples[0, list(unit.features)])
    assert len(reasons) > 2
    assert "moved" not in reasons[0]
    assert all("the last stage moved the answer by" in reason for reason in reasons[1:])


def test_the_cap_ends_the_cascade() -> None:
    model = NestedCascade(SMALL, max_cost=3, random_state=0).fit(X[TRAINED], Y[TRAINED])
    assert model.paths_.n_stages == 4
    assert model.cost(X[TEST]).max() <= 3


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        (make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), True),
        (make_pipeline(StandardScaler(), SimpleImputer(), LogisticRegression()), True),
        (make_pipeline("passthrough", HistGradientBoostingClassifier(max_iter=3)), True),
        (GridSearchCV(HistGradientBoostingClassifier(max_iter=3), {"max_leaf_nodes": [3, 4]}), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
        (LogisticRegression(), False),
    ],
)
def test_missing_values_are_taken_where_the_model_or_its_imputer_takes_them(model: Any, takes: bool) -> None:
    table = X[:, :3].copy()
    table[::7, 1] = np.nan
    cascade = NestedCascade(model, random_state=0)
    if not takes:
        with pytest.raises(ValueError, match="NaN"):
            cascade.fit(table, Y)
        return
    session = cascade.fit(table, Y).session()
    while session.next_unit is not None:
        session.tell(None)
    assert session.answer in (0, 1)
    assert cascade.score(table, Y) > 0.8


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(categorical_features=[1]),
        make_pipeline(StandardScaler(), RandomForestClassifier(monotonic_cst=[1] * 10)),
        make_pipeline(make_column_transformer((StandardScaler(), [0, 1])), LogisticRegression()),
        LGBMClassifier(categorical_feature=[1]),
        LGBMClassifier(monotone_constraints=",".join("1" * 10)),
    ],
)
@pytest.mark.parametrize("kind", [NestedCascade, BranchingCascade])
def test_what_a_model_says_of_single_columns_is_refused(kind: Any, model: Any) -> None:
    """Columns of a stage have numbers of their own: others were taken for categories."""
    with pytest.raises(ValueError, match=r"estimator: expected one that says nothing of single columns, .* got \w+="):
        kind(model, random_state=0).fit(X, Y)
    sound = HistGradientBoostingClassifier(max_iter=2, interaction_cst="pairwise")
    assert kind(sound, random_state=0).fit(X[:, :2], Y).score(X[:, :2], Y) > 0.6


@pytest.mark.parametrize("model", [LinearSVC(), make_pipeline(StandardScaler(), RidgeClassifier())])
def test_classifiers_without_probabilities_are_refused_before_training(model: Any) -> None:
    with pytest.raises(
        TypeError, match=r"estimator: expected predict_proba, got .* wrap it in .*CalibratedClassifierCV"
    ):
        NestedCascade(model).fit(X, Y)


@pytest.mark.parametrize("cap", [7.5, 8, 9, 9.5])
def test_a_session_ends_where_only_a_part_of_the_next_stage_can_be_paid(cascade: NestedCascade, cap: float) -> None:
    rows = X[TEST][:40]
    policy = cascade.policy().stopped(cascade.rule_, -np.inf)
    sessions = Sessions(policy, cascade._seller(), len(rows), max_cost=cap).see(rows)
    affordable = [stage for stage in cascade.stages_ if stage.features.size <= cap]
    np.testing.assert_array_equal(sessions.outputs, affordable[-1].outputs(rows, None))
    assert (sessions.paid == np.floor(cap)).all()


@pytest.mark.slow
def test_stages_are_trained_in_parallel_to_the_same_end(cascade: NestedCascade) -> None:
    parallel = NestedCascade(SMALL, n_jobs=2, random_state=0).fit(X[TRAINED], Y[TRAINED])
    np.testing.assert_array_equal(parallel.predict_proba(X[TEST]), cascade.predict_proba(X[TEST]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"stages__order": "best"},
            r"^stages\.order: expected one of 'importance', 'path', 'forward' or features, got 'best'",
        ),
        ({"stages__order": [1, 1]}, r"^order: expected features that cost something, each once"),
        ({"stages__order": [77]}, r"^feature: expected the name of a feature or a column 0\.\.9, got 77"),
        (
            {"stages__sizes": [2, 2]},
            r"^stages\.sizes: expected numbers of units that rise from 1 or more, got \[2, 2\]",
        ),
        ({"n_folds": 0}, r"^n_folds: expected an integer >= 1, got 0"),
        ({"budget": -2}, r"^budget: expected a number >= 0"),
    ],
)
def test_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NestedCascade(SMALL).set_params(**settings).fit(X, Y)


def test_held_out_examples_need_their_labels() -> None:
    with pytest.raises(ValueError, match=r"^X_val: expected X_val and y_val together, got one of them"):
        NestedCascade(SMALL).fit(X[:300], Y[:300], X[300:])


def test_no_rules_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^stopping: expected a rule, several, or None for the default, got an empty"):
        NestedCascade(SMALL, stopping=()).fit(X, Y)


def test_paths_are_of_the_columns_of_training() -> None:
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    model = NestedCascade(SMALL, stages=NestedStages(sizes=(1, 2, 10)), random_state=0).fit(frame[TRAINED], Y[TRAINED])
    assert model.paths_of(frame[TEST], Y[TEST]).loss[:, -1].mean() < 0.1
    with pytest.raises(ValueError, match="feature names should match"):
        model.paths_of(frame[TEST][frame.columns[::-1]], Y[TEST])


@pytest.mark.parametrize(("sizes", "seen"), [((2, 50), [0, 2, 10]), ((50, 60), [0, 10])])
def test_a_stage_of_more_units_than_there_are_has_all(sizes: tuple[int, ...], seen: list[int]) -> None:
    model = NestedCascade(SMALL, stages=NestedStages(sizes=sizes), random_state=0).fit(X[TRAINED], Y[TRAINED])
    assert [stage.features.size for stage in model.stages_] == seen


@pytest.mark.parametrize(("n_rows", "n_val"), [(4, 4), (6, 2), (8, 4)])
def test_stages_that_see_the_one_before_learn_from_few_examples(n_rows: int, n_val: int) -> None:
    X = np.arange(4.0 * n_rows).reshape(n_rows, 4) % 7
    y = np.arange(n_rows) % 2
    for kind, targets in ((DecisionTreeClassifier, y), (DecisionTreeRegressor, X[:, 0])):
        model = NestedCascade(kind(random_state=0), stages=NestedStages(sees_before=True), random_state=0)
        assert model.fit(X, targets, X[:n_val], targets[:n_val]).predict(X).shape == (n_rows,)
    model = NestedCascade(DecisionTreeClassifier(), stages=NestedStages(sees_before=True))
    with pytest.raises(ValueError, match=r"^stages: expected .* two examples of a class .*, got 2 examples of a class"):
        model.fit(X[:2], y[:2], X[:2], y[:2])


def test_of_equally_good_rules_the_cheapest_is_taken() -> None:
    rules = [OptimalStopping(4, 20), ThresholdStopping(), CertifiedStopping(2, 20)]
    fitted = NestedCascade(SMALL, stopping=rules, random_state=0).fit(X[:200], Y[:200], X[200:230], Y[200:230])
    firsts = []
    for budget in np.arange(1.0, 10.0, 0.5):
        curves = [learnt.curve for member in fitted.candidates_ for learnt in member.learnt]
        offers = [(curve.error[place], curve.cost[place]) for curve in curves for place in [curve.within(budget)]]
        model = fitted.at_budget(budget)
        place = model.curve_.level.tolist().index(model.level_)
        assert (model.curve_.error[place], model.curve_.cost[place]) == min(offers)
        firsts.append(min(offers, key=lambda offer: offer[0]) == min(offers))
    assert not all(firsts)
