"""BudgetPrune: scikit-learn's own checks, and that it is the pipeline forest, instance, path, pruning by hand."""

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from estimator_checks import random_parts
from fitted_forests import LABELS, N_FEATURES, examples
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import BudgetPrune, FeatureCosts, Forest, PruningInstance, PruningSettings, Status, prune_path
from ipforest.estimator import split_rows
from ipforest.learners import BudgetRF
from ipforest.learners import budget_prune as estimator_module
from ipforest.path import PruningPath
from proofs import verify_optimality

X, LABELS_X, TARGET = examples(240, seed=41)
X_COST, LABELS_COST, _ = examples(80, seed=42)
X_TEST, LABELS_TEST, TARGET_TEST = examples(100, seed=43)
FOREST = RandomForestClassifier(8, max_depth=6, random_state=0)
REGRESSION_FOREST = RandomForestRegressor(6, max_depth=5, random_state=0)
COSTS = [1, 1, 1, 5, 5, 5, 5]
PRICES = [1, "0.5", 2, 0, "1/3", 4, 1]
GROUPS, FEES = [-1, 0, 0, -1, 1, 1, -1], [2, "1.5"]


@pytest.mark.slow
@parametrize_with_checks(
    [
        BudgetPrune(RandomForestClassifier(5, random_state=0)),
        BudgetPrune(ExtraTreesRegressor(5, random_state=0)),
        BudgetPrune(BaggingClassifier(n_estimators=5, random_state=0), validation_fraction=None),
    ],
    expected_failed_checks=random_parts,
)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "choice", [{"budget": 3}, {"budget": "5/2"}, {"budget": 0}, {"budget": 99}, {"lam": 0.01}, {"lam": "1/500"}, {}]
)
def test_it_is_the_pipeline_by_hand(choice) -> None:
    model = BudgetPrune(
        FOREST, feature_costs=FeatureCosts(PRICES, GROUPS, FEES), pruning=PruningSettings(search="path"), **choice
    )
    model.fit(X, LABELS_X, X_cost=X_COST)
    forest = Forest.from_sklearn(clone(FOREST).fit(X, LABELS_X))
    costs = FeatureCosts(PRICES, GROUPS, FEES)
    instance = PruningInstance.from_forest(forest, X_COST, costs)
    path = prune_path(instance)
    expected = path.at_budget(choice["budget"]).pruning if "budget" in choice else path.pruning(choice.get("lam", 0))
    assert model.instance_.fingerprint() == instance.fingerprint()
    assert model.pruning_ == expected
    pruned = forest.prune(expected).without_bare_roots()
    np.testing.assert_array_equal(model.predict(X_TEST), pruned.predict(X_TEST))
    np.testing.assert_array_equal(model.predict_proba(X_TEST), pruned.predict_proba(X_TEST))
    np.testing.assert_allclose(model.cost(X_TEST), pruned.cost(X_TEST, costs))
    np.testing.assert_array_equal(model.feature_usage(X_TEST), pruned.feature_usage(X_TEST))
    if "budget" in choice:
        assert instance.evaluate(model.pruning_)[1] <= Fraction(choice["budget"])
        assert model.cost(X_COST).mean() <= float(Fraction(choice["budget"])) + 1e-12


def test_no_budget_loses_no_in_bag_error() -> None:
    model = BudgetPrune(FOREST).fit(X, LABELS_X, X_COST)
    assert model.instance_.evaluate(model.pruning_)[0] == model.instance_.evaluate(model.instance_.unpruned)[0]


def test_regression() -> None:
    model = BudgetPrune(REGRESSION_FOREST, budget=3).fit(X, TARGET, X_COST)
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "classes_")
    assert model.score(X_TEST, TARGET_TEST) == r2_score(TARGET_TEST, model.predict(X_TEST))
    assert model.score(X_TEST, TARGET_TEST) > 0.3
    assert model.cost(X_COST).mean() <= 3
    whole = BudgetPrune(REGRESSION_FOREST).fit(X, TARGET, X_COST)
    assert float(whole.instance_.evaluate(whole.pruning_)[0]) < float(model.instance_.evaluate(model.pruning_)[0])


@pytest.mark.parametrize("target", [0.7, 123456.7])
def test_targets_that_never_change_need_no_feature(target: float) -> None:
    """Forests store what rounding leaves of the variance, or split it, which was refused as other values than means."""
    forest = RandomForestRegressor(5, random_state=0)
    model = BudgetPrune(forest, random_state=0).fit(X, np.full(len(X), target))
    np.testing.assert_allclose(model.predict(X), target)
    assert not model.cost(X).any()


def test_classification_scores_are_accuracies() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(X, LABELS_X)
    weights = np.linspace(0, 1, len(X_TEST))
    assert is_classifier(model)
    assert model.classes_.tolist() == LABELS.tolist()
    assert model.score(X_TEST, LABELS_TEST) == accuracy_score(LABELS_TEST, model.predict(X_TEST))
    expected = accuracy_score(LABELS_TEST, model.predict(X_TEST), sample_weight=weights)
    assert model.score(X_TEST, LABELS_TEST, sample_weight=weights) == expected
    np.testing.assert_allclose(model.predict_proba(X_TEST).sum(axis=1), 1)


def test_another_budget_needs_no_second_fit() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=4, random_state=0).fit(X, LABELS_X)
    before = model.predict_proba(X_TEST)
    for budget in (0, "1.5", 3, 100):
        other = model.at_budget(budget)
        refitted = clone(model).set_params(budget=budget).fit(X, LABELS_X)
        assert other.get_params()["budget"] == budget
        assert other.path_ is model.path_
        assert other.estimator_ is model.estimator_
        assert other.pruning_ == refitted.pruning_
        np.testing.assert_array_equal(other.predict_proba(X_TEST), refitted.predict_proba(X_TEST))
    assert model.budget == 4
    np.testing.assert_array_equal(model.predict_proba(X_TEST), before)


def test_another_lambda_needs_no_second_fit() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=4, random_state=0).fit(X, LABELS_X)
    other = model.at_lambda("0.02")
    refitted = clone(model).set_params(budget=None, lam="0.02").fit(X, LABELS_X)
    assert (other.budget, other.lam) == (None, "0.02")
    assert other.pruning_ == refitted.pruning_
    assert other.at_budget(4).pruning_ == model.pruning_


def test_costs_fall_and_prunings_nest_with_the_budget() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, pruning=PruningSettings(search="path"), random_state=0).fit(
        X, LABELS_X
    )
    prunings = [model.at_budget(budget).pruning_ for budget in np.linspace(0, 23, 15)]
    for smaller, larger in pairwise(prunings):
        assert not np.any(smaller.kept & ~larger.kept)
        assert model.instance_.evaluate(smaller)[0] >= model.instance_.evaluate(larger)[0]


def test_a_fitted_estimator_is_used_as_it_is() -> None:
    fitted = clone(FOREST).fit(X, LABELS_X)
    before = pickle.dumps(fitted)
    for estimator in (fitted, FrozenEstimator(fitted)):
        model = BudgetPrune(estimator, feature_costs=COSTS, budget=3).fit(X_COST)
        assert model.estimator_ is fitted
        assert model.instance_.n_examples == len(X_COST)
        fresh = BudgetPrune(FOREST, feature_costs=COSTS, budget=3).fit(X, LABELS_X, X_COST)
        np.testing.assert_array_equal(model.predict_proba(X_TEST), fresh.predict_proba(X_TEST))
        with_both = BudgetPrune(estimator, feature_costs=COSTS, budget=3).fit(X, LABELS_X, X_cost=X_COST)
        assert with_both.pruning_ == model.pruning_
    assert pickle.dumps(fitted) == before


@pytest.mark.filterwarnings("ignore:X has feature names")  # scikit-learn's, as the forest has none
def test_prices_by_name_of_a_forest_without_names_go_by_the_columns_of_the_table() -> None:
    fitted = clone(FOREST).fit(X, LABELS_X)
    names = [f"n{column}" for column in range(X.shape[1])]
    prices = {name: 1 + column for column, name in enumerate(names)}
    backwards = dict(reversed(prices.items()))
    model = BudgetPrune(fitted, feature_costs=backwards, budget=3).fit(pd.DataFrame(X, columns=names), LABELS_X)
    assert model.costs_.prices == tuple(prices.values())
    in_order = BudgetPrune(fitted, feature_costs=[*prices.values()], budget=3).fit(X, LABELS_X)
    np.testing.assert_array_equal(model.cost(X), in_order.cost(X))


def test_labels_that_a_fitted_estimator_does_not_know_are_refused() -> None:
    """They only serve to measure, and all answers were wrong."""
    fitted = clone(FOREST).fit(X, LABELS_X)
    with pytest.raises(ValueError, match=r"^y: expected labels among the classes of training, got 0$"):
        BudgetPrune(fitted, feature_costs=COSTS, budget=3).fit(X, np.zeros(len(X), dtype=int))


def test_a_frozen_estimator_stays_fitted_in_clones() -> None:
    fitted = clone(FOREST).fit(X, LABELS_X)
    model = clone(BudgetPrune(FrozenEstimator(fitted), budget=3)).fit(X_COST)
    assert model.estimator_ is fitted
    trained = clone(BudgetPrune(fitted, budget=3, random_state=0)).fit(X, LABELS_X)
    assert trained.estimator_ is not fitted


def test_the_wrapped_estimator_is_not_touched() -> None:
    estimator = clone(FOREST)
    BudgetPrune(estimator).fit(X, LABELS_X)
    assert not hasattr(estimator, "estimators_")


def test_the_validation_part_is_held_out() -> None:
    model = BudgetPrune(DecisionTreeClassifier(random_state=0), random_state=3, validation_fraction=0.3)
    model.fit(X, LABELS_X)
    assert model.measured().n_samples == 72
    assert (model.instance_.n_examples, model.forest_.n_samples[0]) == (240, 168)
    again = clone(model).fit(X, LABELS_X)
    assert again.instance_.fingerprint() == model.instance_.fingerprint()
    other = clone(model).set_params(random_state=4).fit(X, LABELS_X)
    assert other.instance_.fingerprint() != model.instance_.fingerprint()
    shared = clone(model).set_params(validation_fraction=None).fit(X, LABELS_X)
    assert (shared.instance_.n_examples, shared.forest_.n_samples[0]) == (240, 240)


def test_the_budget_holds_on_all_examples_that_are_given() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(X, LABELS_X)
    assert model.cost(X).mean() <= 3
    assert model.result_.cost == pytest.approx(model.cost(X).mean())


def test_cost_examples_leave_all_others_for_training() -> None:
    model = BudgetPrune(DecisionTreeClassifier(random_state=0)).fit(X, LABELS_X, X_COST)
    assert model.forest_.n_samples[0] == len(X)


@pytest.mark.parametrize("seed", range(5))
def test_rare_classes_are_always_trained_on(seed: int) -> None:
    labels = np.array(["common"] * 7 + ["rare", "single", "other"])
    model = BudgetPrune(DecisionTreeClassifier(), validation_fraction=0.6, random_state=seed).fit(X[:10], labels)
    assert model.classes_.tolist() == ["common", "other", "rare", "single"]
    assert (model.measured().n_samples, model.instance_.n_examples) == (6, 10)


def test_missing_values() -> None:
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(holes, LABELS_X)
    assert model.predict(holes).shape == (240,)
    assert np.isfinite(model.cost(holes)).all()


@pytest.mark.parametrize(
    ("estimator", "y", "text"),
    [
        (RandomForestRegressor(2, criterion="absolute_error"), TARGET, "got criterion 'absolute_error' alone"),
        (
            RandomForestClassifier(2, monotonic_cst=[1, -1, 1, -1, 0, 0, 0]),
            LABELS_X == "ant",
            "in-bag class fractions at the nodes",
        ),
    ],
)
def test_ensembles_that_do_not_store_their_errors_are_refused(estimator, y, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        BudgetPrune(estimator).fit(X, y)


def test_split_costs_count() -> None:
    model = BudgetPrune(FOREST, feature_costs=[0] * N_FEATURES, split_cost="0.1", budget=2).fit(X, LABELS_X, X_COST)
    np.testing.assert_allclose(model.cost(X_TEST), 0.1 * model.feature_usage(X_TEST).sum(axis=1))
    np.testing.assert_allclose(model.cost(X_COST).mean(), float(model.instance_.evaluate(model.pruning_)[1]))
    assert 0 < model.cost(X_COST).mean() <= 2


@pytest.mark.parametrize("loss", ["gini", "entropy"])
def test_other_losses(loss: str) -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, loss=loss, random_state=0).fit(X, LABELS_X)
    assert (
        model.instance_.error_unit
        != BudgetPrune(FOREST, feature_costs=COSTS, random_state=0).fit(X, LABELS_X).instance_.error_unit
    )
    assert model.score(X_TEST, LABELS_TEST) > 0.5


def test_the_scikit_learn_forest_predicts_the_same() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(X, LABELS_X)
    forest = model.to_sklearn()
    assert isinstance(forest, RandomForestClassifier)
    np.testing.assert_array_equal(forest.predict(X_TEST), model.predict(X_TEST))
    np.testing.assert_allclose(forest.predict_proba(X_TEST), model.predict_proba(X_TEST), atol=1e-12)
    assert Forest.from_sklearn(forest).n_internal == model.pruned_.n_internal


NAMES = [f"test {number}" for number in range(N_FEATURES)]


def table(values: np.ndarray, names: list[str]):
    """A data frame, if there is a library for them."""
    return pytest.importorskip("pandas").DataFrame(values, columns=names)


def test_names_of_columns_are_kept_and_checked() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(table(X, NAMES), LABELS_X)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == N_FEATURES
    plain = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(X, LABELS_X)
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(table(X_TEST, NAMES)), plain.predict(X_TEST))
    assert model.to_sklearn().feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table(X_TEST, NAMES[::-1]))


def test_names_of_columns_of_a_fitted_estimator_are_checked() -> None:
    fitted = clone(FOREST).fit(table(X, NAMES), LABELS_X)
    model = BudgetPrune(fitted, budget=3).fit(table(X_COST, NAMES))
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        BudgetPrune(fitted, budget=3).fit(table(X_COST, NAMES[::-1]))
    model.set_params(estimator=clone(FOREST).fit(X, LABELS_X)).fit(X_COST)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [FOREST, REGRESSION_FOREST])
def test_pickles(estimator) -> None:
    target = LABELS_X if is_classifier(estimator) else TARGET
    model = BudgetPrune(estimator, feature_costs=FeatureCosts(PRICES, GROUPS, FEES), budget=3, random_state=0)
    copy = pickle.loads(pickle.dumps(model.fit(X, target)))
    np.testing.assert_array_equal(copy.predict(X_TEST), model.predict(X_TEST))
    np.testing.assert_array_equal(copy.at_budget(1).predict(X_TEST), model.at_budget(1).predict(X_TEST))


def test_clones_keep_the_parameters() -> None:
    costs = FeatureCosts(PRICES, GROUPS, FEES)
    model = BudgetPrune(FOREST, feature_costs=costs, budget=Fraction(7, 2), loss="gini", random_state=5)
    copy = clone(model)
    assert copy.feature_costs == costs
    assert copy.budget == Fraction(7, 2)
    assert copy.get_params()["estimator__max_depth"] == 6
    copy.set_params(estimator__max_depth=2).fit(X, LABELS_X)
    assert copy.forest_.n_internal <= 8 * 3


def test_price_lists_as_numbers_or_as_feature_costs() -> None:
    numbers = BudgetPrune(FOREST, feature_costs=PRICES, budget=3, random_state=0)
    made = BudgetPrune(FOREST, feature_costs=FeatureCosts(PRICES), budget=3, random_state=0)
    assert numbers.fit(X, LABELS_X).costs_ == made.fit(X, LABELS_X).costs_
    assert numbers.pruning_ == made.pruning_
    assert BudgetPrune(FOREST).fit(X, LABELS_X).costs_ == FeatureCosts.uniform(N_FEATURES)


def test_grid_search_over_the_budget() -> None:
    search = GridSearchCV(
        BudgetPrune(FOREST, feature_costs=COSTS, random_state=0), {"budget": [0, 1.5, 4]}, cv=3, error_score="raise"
    )
    search.fit(X, LABELS_X)
    assert search.best_params_["budget"] in (1.5, 4)
    assert search.best_estimator_.cost(X).mean() < search.best_params_["budget"] * 1.25
    assert search.cv_results_["mean_test_score"][0] < search.best_score_


def test_pipelines() -> None:
    pipeline = make_pipeline(SimpleImputer(), BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0))
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert cross_val_score(pipeline, holes, LABELS_X, cv=3, error_score="raise").mean() > 0.5
    search = GridSearchCV(pipeline, {"budgetprune__budget": [1, 4]}, cv=2, error_score="raise").fit(holes, LABELS_X)
    assert search.predict(holes).shape == (240,)
    fitted = pipeline.fit(X, LABELS_X, budgetprune__X_cost=X_COST)
    assert fitted[-1].instance_.n_examples == len(X_COST)


def test_cost_examples_are_routed_as_metadata() -> None:
    with config_context(enable_metadata_routing=True):
        model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3).set_fit_request(X_cost=True)
        pipeline = make_pipeline(SimpleImputer(), model).fit(X, LABELS_X, X_cost=X_COST)
    assert pipeline[-1].instance_.n_examples == len(X_COST)


def test_probability_scorers_find_predict_proba() -> None:
    scores = cross_val_score(
        BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0),
        X,
        LABELS_X,
        cv=3,
        scoring="neg_log_loss",
        error_score="raise",
    )
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"budget": -1}, ValueError, "budget: expected a number >= 0, got -1"),
        ({"budget": np.nan}, ValueError, "budget: expected a finite number"),
        ({"budget": "much"}, ValueError, "budget: expected a finite number .* got 'much'"),
        ({"lam": -0.1}, ValueError, "lam: expected a number >= 0, got -0.1"),
        ({"budget": 1, "lam": 0.1}, ValueError, r"budget: expected a budget or lam, got budget=1 and lam=0\.1"),
        ({"feature_costs": [1, 2]}, ValueError, "costs: expected 7 prices, one per feature, got 2"),
        ({"feature_costs": [1, 2, 3, 4, 5, 6, -7]}, ValueError, r"prices\[6\]: expected a number >= 0, got -7"),
        ({"loss": "squared_error"}, ValueError, "loss: expected 'misclassification' or .* got 'squared_error'"),
        ({"split_cost": -1}, ValueError, "split_cost: expected a number >= 0, got -1"),
        (
            {"validation_fraction": 0},
            ValueError,
            "validation_fraction: expected None or a number between 0 and 1, got 0",
        ),
        ({"validation_fraction": "a"}, ValueError, "validation_fraction: expected None or .*, got 'a'"),
        ({"validation_fraction": 1.0}, ValueError, r"validation_fraction: expected None or .*, got 1\.0"),
        ({"estimator": GradientBoostingClassifier()}, TypeError, "estimator: .* got GradientBoostingClassifier"),
        ({"estimator": HistGradientBoostingClassifier()}, TypeError, "estimator: .* got HistGradientBoosting"),
        ({"estimator": FrozenEstimator(LogisticRegression())}, TypeError, "estimator: .* got LogisticRegression"),
        ({"estimator": RandomForestClassifier}, TypeError, r"estimator: .* got RandomForestClassifier \(a class\)"),
        ({"estimator": None}, TypeError, "estimator: .* got NoneType"),
        ({"estimator": FrozenEstimator(FOREST)}, NotFittedError, "RandomForestClassifier"),
    ],
)
def test_bad_parameters_are_refused(parameters, error: type[Exception], text: str) -> None:
    model = BudgetPrune(FOREST).set_params(**parameters)
    with pytest.raises(error, match=text) as caught:
        model.fit(X, LABELS_X)
    assert "\n" not in str(caught.value)


class Untrainable(RandomForestClassifier):
    """A forest whose training would be noticed."""

    def fit(self, X, y):
        raise AssertionError("trained")


@pytest.mark.parametrize(
    "parameters",
    [
        {"budget": -1},
        {"lam": "x"},
        {"split_cost": -1},
        {"loss": "squared_error"},
        {"feature_costs": [1, 2]},
        {"feature_costs": [1, 1, 1, 1, 1, 1, -1]},
        {"validation_fraction": 2},
    ],
)
def test_bad_parameters_are_refused_before_training(parameters) -> None:
    with pytest.raises(ValueError, match="expected"):
        BudgetPrune(Untrainable(), **parameters).fit(X, LABELS_X)


def test_the_cost_is_that_of_the_fit() -> None:
    model = BudgetPrune(FOREST, budget=3, random_state=0).fit(X, LABELS_X)
    before = model.cost(X_TEST)
    model.set_params(split_cost=5, feature_costs=COSTS)
    np.testing.assert_array_equal(model.cost(X_TEST), before)


def test_acquired_features_make_the_cost() -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(X, LABELS_X)
    np.testing.assert_allclose(model.acquired(X_TEST) @ np.array(COSTS, dtype=float), model.cost(X_TEST))


def test_cost_examples_that_were_not_transformed_are_refused() -> None:
    pipeline = make_pipeline(StandardScaler(), BudgetPrune(FOREST, budget=3, random_state=0))
    with pytest.raises(ValueError, match=r"X_cost: expected examples like those of X, got .* outside the range of X"):
        pipeline.fit(100 + X, LABELS_X, budgetprune__X_cost=100 + X_COST)
    with config_context(enable_metadata_routing=True):
        routed = BudgetPrune(FOREST, budget=3, random_state=0).set_fit_request(X_cost=True)
        pipeline = Pipeline([("scale", StandardScaler()), ("prune", routed)], transform_input=["X_cost"])
        pipeline.fit(100 + X, LABELS_X, X_cost=100 + X_COST)
    assert pipeline[-1].cost(pipeline[0].transform(100 + X_COST)).mean() <= 3


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((X, None), ValueError, "requires y to be passed"),
        ((X, LABELS_X[:5]), ValueError, "inconsistent numbers of samples"),
        ((csr_array(X), LABELS_X), TypeError, r"X: expected a dense array, .* for XGBoost it is missing"),
        ((X, LABELS_X, X_COST[:, :3]), ValueError, "X has 3 features, but BudgetPrune is expecting 7"),
        ((X, LABELS_X, X_COST[0]), ValueError, r"X: expected 2 dimensions .*, got 1\. Reshape your data"),
        ((np.full_like(X, np.inf), LABELS_X), ValueError, "infinity"),
        ((X, TARGET), ValueError, "Unknown label type: continuous"),
        (
            (X[:3], LABELS),
            ValueError,
            r"X: too few examples for a validation part, got n_samples = 3, each of another class; take a ",
        ),
    ],
)
def test_bad_data_are_refused(arguments, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        BudgetPrune(FOREST).fit(*arguments)


def test_an_interrupted_path_makes_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(instance: PruningInstance) -> PruningPath:
        raise KeyboardInterrupt

    monkeypatch.setattr(estimator_module, "prune_path", interrupted)
    model = BudgetPrune(FOREST, budget=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, LABELS_X)
    assert not hasattr(model, "pruned_")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "cost", "feature_usage"])
def test_examples_must_have_the_columns_of_training(method: str) -> None:
    model = BudgetPrune(FOREST, feature_costs=COSTS, random_state=0).fit(X, LABELS_X)
    with pytest.raises(ValueError, match="X has 3 features, but BudgetPrune is expecting 7"):
        getattr(model, method)(X[:, :3])


def test_a_fitted_ensemble_of_other_columns_is_told_before_prices() -> None:
    """As one that selected features were given to, in place."""
    ensemble = clone(FOREST).fit(X[:, :3], LABELS_X)
    with pytest.raises(ValueError, match="X has 7 features, but BudgetPrune is expecting 3"):
        BudgetPrune(ensemble, feature_costs=COSTS).fit(X, LABELS_X)


def test_an_unfitted_model_says_so() -> None:
    model = BudgetPrune(FOREST)
    for call in (model.to_sklearn, lambda: model.at_budget(1), lambda: model.cost(X), lambda: model.predict(X)):
        with pytest.raises(NotFittedError, match="This BudgetPrune instance is not fitted yet"):
            call()


def test_out_of_bag_errors_are_those_of_each_trees_own_left_out_examples() -> None:
    model = BudgetPrune(FOREST, pruning=PruningSettings(errors="out-of-bag"), budget=3, random_state=0).fit(
        X, LABELS_X, X_COST
    )
    drawn = model.estimator_.estimators_samples_
    wrong, counted = 0, 0
    for tree, rows in zip(model.estimator_.estimators_, drawn, strict=True):
        left_out = np.setdiff1d(np.arange(len(X)), rows)
        predicted = model.classes_[tree.predict(X[left_out].astype(np.float32)).astype(int)]
        wrong += np.count_nonzero(predicted != LABELS_X[left_out])
        counted += left_out.size
    assert model.instance_.evaluate(model.instance_.unpruned)[0] == Fraction(wrong, counted)


@pytest.mark.parametrize("ensemble", [FOREST, BudgetRF(3, validation_fraction=None, random_state=1)])
def test_the_training_set_is_what_is_in_the_bag_and_what_is_not_each_example_once(ensemble) -> None:
    parts = {
        errors: BudgetPrune(ensemble, pruning=PruningSettings(errors=errors), random_state=0).fit(X, LABELS_X, X_COST)
        for errors in ("out-of-bag", "training")
    }
    whole, left_out = parts["training"], parts["out-of-bag"]
    leaves = whole.forest_.leaves(whole.forest_.checked_examples(X))
    guess = np.argmax(whole.forest_.value, axis=1)
    missed = {"out-of-bag": np.zeros(whole.forest_.n_nodes, int), "training": np.zeros(whole.forest_.n_nodes, int)}
    truth = np.unique(LABELS_X, return_inverse=True)[1]
    for tree, drawn in enumerate(whole.estimator_.estimators_samples_):
        for example in range(len(X)):
            node = leaves[tree, example]
            while node >= 0:
                wrong = guess[node] != truth[example]
                missed["training"][node] += wrong
                missed["out-of-bag"][node] += wrong and example not in drawn
                node = whole.forest_.parent[node]
    for errors, model in (("training", whole), ("out-of-bag", left_out)):
        assert np.array_equal(model.instance_.errors, missed[errors])


def test_held_out_errors_are_those_of_the_validation_part() -> None:
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = BudgetPrune(tree, pruning=PruningSettings(errors="held-out"), random_state=0).fit(X, LABELS_X)
    _, validation = split_rows(LABELS_X, 0.25, 0, one_of_each_class=True)
    wrong = np.count_nonzero(model.estimator_.predict(X[validation]) != LABELS_X[validation])
    assert model.instance_.evaluate(model.instance_.unpruned)[0] == Fraction(wrong, validation.size)
    fitted = clone(FOREST).fit(X, LABELS_X)
    given = BudgetPrune(fitted, pruning=PruningSettings(errors="held-out"), lam=0).fit(X_COST, LABELS_COST)
    assert given.score(X_COST, LABELS_COST) >= fitted.score(X_COST, LABELS_COST) - 0.05


def test_class_costs_are_what_is_optimised_and_predicted() -> None:
    class_costs = np.array([[0, 1, 1], [10, 0, 1], [1, 1, 0]])
    model = BudgetPrune(FOREST, class_costs=class_costs, budget=4, random_state=0).fit(X, LABELS_X)
    expected = model.classes_[np.argmin(model.predict_proba(X_TEST) @ class_costs, axis=1)]
    np.testing.assert_array_equal(model.predict(X_TEST), expected)
    true = np.searchsorted(model.classes_, LABELS_TEST)
    paid = class_costs[true, np.searchsorted(model.classes_, expected)]
    assert model.misclassification_cost(X_TEST, LABELS_TEST) == paid.mean()
    plain = BudgetPrune(FOREST, budget=4, random_state=0).fit(X, LABELS_X)
    blind = class_costs[true, np.searchsorted(model.classes_, plain.predict(X_TEST))]
    assert paid.mean() < blind.mean()
    zero_one = BudgetPrune(FOREST, class_costs=1 - np.eye(3), budget=4, random_state=0).fit(X, LABELS_X)
    assert zero_one.instance_.fingerprint() == plain.instance_.fingerprint()


def test_in_bag_class_costs_by_hand() -> None:
    class_costs = np.array([[0, 2, 5], [7, 0, 1], [3, 4, 0]])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = BudgetPrune(tree, class_costs=class_costs, validation_fraction=None).fit(X, LABELS_X)
    leaves = model.estimator_.apply(X)
    total = 0
    for leaf in np.unique(leaves):
        counts = np.array([np.count_nonzero(LABELS_X[leaves == leaf] == label) for label in model.classes_])
        total += (counts @ class_costs).min()
    assert model.instance_.evaluate(model.instance_.unpruned)[0] == Fraction(int(total), len(X))


def test_sample_weights_count_in_training_and_errors() -> None:
    weights = np.where(LABELS_X == "ant", 5.0, 1.0)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    weighted = BudgetPrune(tree, validation_fraction=None).fit(X, LABELS_X, sample_weight=weights)
    direct = clone(tree).fit(X, LABELS_X, sample_weight=weights)
    np.testing.assert_array_equal(weighted.at_lambda(0).predict(X_TEST), direct.predict(X_TEST))
    wrong = direct.predict(X) != LABELS_X
    error, _ = weighted.instance_.evaluate(weighted.instance_.unpruned)
    assert float(error) == pytest.approx(weights[wrong].sum() / weights.sum())


def test_refitted_leaves_have_seen_the_validation_part() -> None:
    model = BudgetPrune(
        DecisionTreeClassifier(random_state=0), pruning=PruningSettings(refit=True), budget=2, random_state=0
    ).fit(X, LABELS_X)
    assert model.pruned_.weight[0] == len(X)
    assert model.at_budget(1).pruned_.weight[0] == len(X)
    plain = BudgetPrune(DecisionTreeClassifier(random_state=0), budget=2, random_state=0).fit(X, LABELS_X)
    assert plain.pruned_.weight[0] == 180
    assert plain.pruning_ == model.pruning_


@pytest.mark.parametrize(
    ("parameters", "arguments", "text"),
    [
        (
            {"pruning__errors": "test"},
            (),
            "^pruning.errors: expected one of 'in-bag', 'out-of-bag', 'training', 'held-out', got 'test'",
        ),
        ({"pruning__errors": "held-out"}, (X_COST,), "errors: .* without a validation part .*, got 'held-out'"),
        ({"pruning__errors": "out-of-bag", "estimator": DecisionTreeClassifier()}, (), "errors: .* without bootstrap"),
        ({"class_costs": np.eye(2)}, (), r"class_costs: expected shape \(3, 3\), a row per true class, got \(2, 2\)"),
        ({"class_costs": -np.eye(3)}, (), "class_costs: expected finite numbers >= 0, got other values"),
        ({"class_costs": np.eye(3), "loss": "gini"}, (), "class_costs: expected none with loss 'gini', got a value"),
    ],
)
def test_objectives_that_cannot_be_had_are_refused(parameters, arguments, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        BudgetPrune(FOREST).set_params(**parameters).fit(X, LABELS_X, *arguments)


def test_a_fitted_estimator_needs_targets_for_some_objectives() -> None:
    fitted = clone(FOREST).fit(X, LABELS_X)
    for pruning in (PruningSettings(errors="held-out"), PruningSettings(refit=True)):
        with pytest.raises(ValueError, match="y: expected the targets of X"):
            BudgetPrune(fitted, pruning=pruning).fit(X_COST)
    for errors in ("out-of-bag", "training"):
        with pytest.raises(ValueError, match=f"for a fitted estimator, .* not at hand, got '{errors}'"):
            BudgetPrune(fitted, pruning=PruningSettings(errors=errors)).fit(X_COST)
    with pytest.raises(ValueError, match="class_costs: expected a matrix of costs to average, got None"):
        BudgetPrune(fitted).fit(X_COST).misclassification_cost(X_TEST, LABELS_TEST)


def test_prices_come_as_tables_and_files_by_name(tmp_path) -> None:
    names = [f"x{column}" for column in range(N_FEATURES)]
    frame = pd.DataFrame({"feature": names, "cost": COSTS}).iloc[::-1]
    frame.to_csv(tmp_path / "prices.csv", index=False)
    expected = BudgetPrune(FOREST, feature_costs=COSTS, budget=3, random_state=0).fit(table(X, names), LABELS_X)
    for prices in (
        frame,
        tmp_path / "prices.csv",
        frame.set_index("feature")["cost"],
        dict(zip(names, COSTS, strict=True)),
    ):
        model = BudgetPrune(FOREST, feature_costs=prices, budget=3, random_state=0).fit(table(X, names), LABELS_X)
        assert model.costs_.prices == expected.costs_.prices
        assert model.pruning_ == expected.pruning_
        with pytest.raises(ValueError, match="feature_costs: expected a sequence in the order of the columns of X"):
            BudgetPrune(FOREST, feature_costs=prices).fit(X, LABELS_X)


def test_searches_within_a_budget_are_never_worse_than_simpler_ones() -> None:
    for budget in (1, "2.5", 4, 8):
        models = [
            BudgetPrune(
                FOREST, feature_costs=COSTS, budget=budget, pruning=PruningSettings(search=search), random_state=0
            ).fit(X, LABELS_X)
            for search in ("path", "greedy", "exact")
        ]
        errors = [model.result_.error for model in models]
        assert errors == sorted(errors, reverse=True)
        assert all(model.result_.cost <= Fraction(budget) for model in models)
        assert all(model.gap_ == model.result_.error - model.result_.bound >= 0 for model in models)
        assert models[2].gap_ == 0


def test_the_gap_at_lambda_is_zero() -> None:
    model = BudgetPrune(FOREST, lam="0.01", random_state=0).fit(X, LABELS_X)
    assert model.gap_ == 0
    assert verify_optimality(model.instance_, model.result_)


def test_a_budget_is_spent_where_breakpoints_are_rare() -> None:
    X_digits, y_digits = load_digits(return_X_y=True)
    forest = RandomForestClassifier(40, max_features=0.8, random_state=0)
    model = BudgetPrune(forest, lam=1, random_state=0).fit(X_digits[:900], y_digits[:900])
    costs = np.array([float(cost) for cost in model.path_.costs])
    widest = int(np.argmax(costs[:-1] - costs[1:]))
    budget = round(costs[widest] - 0.1, 2)
    breakpoint_only = model.set_params(pruning__search="path").at_budget(budget)
    filled = model.set_params(pruning__search="greedy").at_budget(budget)
    assert float(breakpoint_only.result_.cost) == costs[widest + 1] < budget - 1
    assert float(filled.result_.cost) > budget - 0.1
    assert filled.result_.error < breakpoint_only.result_.error
    assert filled.score(X_digits[900:], y_digits[900:]) > breakpoint_only.score(X_digits[900:], y_digits[900:])


def test_a_breakpoint_far_below_the_budget_is_not_called_optimal() -> None:
    """Prices like those of Turney's heart disease data: the path jumps over most budgets."""
    X_wine, y_wine = load_wine(return_X_y=True)
    prices = [1, 1, 1, 5.2, 5.2, 15.5, 15.5, 87.3, 87.3, 87.3, 100.9, 102.9, 102.9]
    forest = RandomForestClassifier(10, random_state=0)
    model = BudgetPrune(
        forest, feature_costs=prices, lam=1, pruning=PruningSettings(search="path"), random_state=0
    ).fit(X_wine, y_wine)
    high, low = max(pairwise(model.path_.costs), key=lambda costs: costs[0] - costs[1])
    budget = (high + low) / 2
    on_path = model.at_budget(budget)
    assert (on_path.result_.status, on_path.result_.cost) == (Status.FEASIBLE, low)
    assert on_path.gap_ == on_path.result_.error - on_path.result_.bound > 0
    assert f"gap {float(on_path.gap_):.2g}" in on_path.result_.summary()
    spent = model.set_params(pruning__search="exact").at_budget(budget)
    assert (spent.result_.status, spent.gap_) == (Status.OPTIMAL, 0)
    assert low + 10 < spent.result_.cost <= budget
    assert spent.result_.error < on_path.result_.error


def test_measured_prices_of_many_digits_do_not_overflow() -> None:
    prices = np.random.default_rng(0).random(N_FEATURES)
    model = BudgetPrune(FOREST, feature_costs=prices, budget=1, random_state=0).fit(X, LABELS_X)
    np.testing.assert_allclose(model.cost(X), model.acquired(X) @ prices, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"pruning__search": "hard"}, "^pruning.search: expected one of 'path', 'greedy', 'exact', got 'hard'"),
        ({"pruning__time_limit": -1}, "^pruning.time_limit: expected seconds >= 0 or None, got -1"),
        ({"max_cost": 3, "split_cost": 1}, "max_cost: expected none with a split cost, got 3"),
    ],
)
def test_bad_searches_are_refused(parameters, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        BudgetPrune(Untrainable(), budget=1).set_params(**parameters).fit(X, LABELS_X)


@pytest.mark.parametrize("search", ["greedy", "exact"])
def test_a_cap_is_held_by_the_pruning_itself(search: str) -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(6, max_depth=4, random_state=0)
    model = BudgetPrune(forest, max_cost=4, pruning=PruningSettings(search=search, time_limit=0.5)).fit(
        X[::2], y[::2], X_cost=X[1::2]
    )
    assert 3 < model.cost(X[1::2]).max() <= 4
    np.testing.assert_array_equal(model.predict_proba(X[1::2]), model.pruned_.predict_proba(X[1::2]))
    assert model.cost(X).max() <= 4
    tighter = model.at_budget(2)
    assert 1 < tighter.cost(X[1::2]).mean() <= 2
    assert tighter.cost(X[1::2]).max() <= 4
    free = BudgetPrune(forest).fit(X[::2], y[::2], X_cost=X[1::2])
    assert free.cost(X[1::2]).max() > 4
    assert free.result_.error < model.result_.error


DIABETES = load_diabetes(return_X_y=True)
TWO_EXPENSIVE = [100 if column in (2, 8) else 1 for column in range(10)]


def test_a_forest_whose_roots_all_cost_too_much_is_replaced_by_one_that_fits_the_budget() -> None:
    data, target = DIABETES
    forest = RandomForestRegressor(30, random_state=0)
    model = BudgetPrune(forest, feature_costs=TWO_EXPENSIVE, budget=8, validation_fraction=None, random_state=0)
    model.fit(data[:300], target[:300])
    cheap = np.flatnonzero(np.array(TWO_EXPENSIVE) == 1)
    plain = clone(forest).fit(data[:300, cheap], target[:300]).score(data[300:, cheap], target[300:])
    assert plain > 0.3
    assert model.score(data[300:], target[300:]) > plain - 0.03
    assert 0 < model.cost(data[300:]).mean() <= 8
    assert not model.acquired(data)[:, [2, 8]].any()


@pytest.mark.parametrize("price", [1e5, 1e8])
def test_a_column_that_no_example_can_buy_costs_no_splits(price: float) -> None:
    """Trees that split by body mass index first lost what lies below, as no pruning within the budget keeps it."""
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, random_state=0)
    model = BudgetPrune(forest, feature_costs=[1, 1, price, 2, 5, 5, 5, 5, 5, 5], budget=6, random_state=0).fit(X, y)
    without = BudgetPrune(forest, feature_costs=[1, 1, 1, 2, 5, 5, 5, 5, 5, 5], budget=6, random_state=0)
    without.fit(np.where(np.arange(10) == 2, 0, X), y)
    assert model.result_.error == without.result_.error
    assert not model.acquired(X)[:, 2].any()
    frozen = BudgetPrune(FrozenEstimator(clone(forest).fit(X, y)), feature_costs=model.feature_costs, budget=6)
    assert frozen.fit(X).result_.error > model.result_.error


def test_classes_are_told_apart_by_what_the_budget_can_pay() -> None:
    data, labels = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    prices = np.where(np.arange(30) == clone(tree).fit(data, labels).tree_.feature[0], 50, 1)
    model = BudgetPrune(tree, feature_costs=prices, budget=2, validation_fraction=None).fit(data, labels)
    assert model.score(data, labels) > 0.9
    assert 0 < model.cost(data).mean() <= 2


def test_prices_that_are_rounded_up_next_to_a_high_one_are_told() -> None:
    forest = RandomForestRegressor(5, random_state=0).fit(*DIABETES)
    prices = {"high": [0.5, 1e9, *[7.27] * 8], "lower": [0.5, 1e3, *[7.27] * 8]}
    with pytest.warns(
        UserWarning, match=r"^feature_costs: prices are counted in multiples of 1, .* 0.5 counts as 1: .*"
    ):
        model = BudgetPrune(FrozenEstimator(forest), feature_costs=prices["high"], budget=8).fit(*DIABETES)
    assert model.cost(DIABETES[0]).mean() < float(model.result_.cost) <= 8
    BudgetPrune(FrozenEstimator(forest), feature_costs=prices["lower"], budget=8).fit(*DIABETES)  # no warning: an error


@pytest.mark.parametrize(
    ("prices", "advice"),
    [
        (TWO_EXPENSIVE, "train the ensemble on the columns that cost less"),
        (FeatureCosts([1] * 10, groups=[0] * 10, group_fees=[99]), "free costs 100$"),
    ],
)
def test_a_fitted_forest_that_buys_nothing_within_its_budget_warns(prices, advice) -> None:
    forest = RandomForestRegressor(10, random_state=0).fit(*DIABETES)
    with pytest.warns(UserWarning, match=f"^budget: nothing is bought within 8; .*{advice}"):
        model = BudgetPrune(FrozenEstimator(forest), feature_costs=prices, budget=8).fit(*DIABETES)
    with pytest.warns(UserWarning, match=f"^budget: nothing is bought within 7; .*{advice}"):
        assert model.at_budget(7).cost(DIABETES[0]).max() == 0
    assert model.at_budget(0).cost(DIABETES[0]).max() == 0
    assert model.at_budget(1000).cost(DIABETES[0]).mean() > 0
