"""The estimators: scikit-learn's checks, costs by hand, stages, and errors before any training."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_checks import random_parts
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import BudgetPrune, FeatureCosts
from ipforest.adaptive import AdaptGbrt, AdaptLin, AdaptLstsq, BoostedSearch, GateSearch, L1Baseline, PairSearch
from ipforest.adaptive.linear_pair import AlternationSettings
from ipforest.choosing.lambdas import MIN_LAMBDA_SHARE, geometric_grid, swept_lambdas
from ipforest.tabular.model_files import load_model, save_model

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:, :10], Y
COSTS = FeatureCosts(["1/2", 1, 2, 3, 1, 1, 2, 2, 1, 1], [0, 0, 0, -1, -1, 1, 1, -1, -1, -1], ["1/2", 1])
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
FOREST = RandomForestClassifier(8, max_depth=5, random_state=0)
SMALL: dict[str, Any] = {"search": GateSearch(shares=[0.4], lambdas=2, n_folds=2), "random_state": 0}
QUICK = AlternationSettings(max_rounds=3, max_steps=30)
LEARNERS = {
    "Adapt-Lin": AdaptLin(TREE, alternation=QUICK, **SMALL),
    "Adapt-Lstsq": AdaptLstsq(TREE, alternation=QUICK, **SMALL),
    "L1": L1Baseline(TREE, search=PairSearch(shares=[0.4], lambdas=2, n_folds=2), random_state=0),
}


def test_a_grid_of_lambdas_is_even_on_a_logarithmic_scale_below_the_largest() -> None:
    grid = geometric_grid(2.0, 5)
    np.testing.assert_allclose(np.log(grid), np.log(2.0) + np.log(MIN_LAMBDA_SHARE) * np.arange(1, 6) / 5)
    assert geometric_grid(0.0, 5) == [0.0]
    assert swept_lambdas(3, lambda size: geometric_grid(1.0, size)) == geometric_grid(1.0, 3)
    assert swept_lambdas([0, 1], lambda size: []) == [0.0, 1.0]


@pytest.mark.slow
@parametrize_with_checks([LEARNERS["Adapt-Lin"]], expected_failed_checks=random_parts)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([LEARNERS["Adapt-Lstsq"], LEARNERS["L1"]], expected_failed_checks=random_parts)
def test_checks_of_scikit_learn_on_the_others(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module", params=list(LEARNERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("full", [SVC(gamma="auto"), FOREST, LogisticRegression(max_iter=5000)])
def test_an_example_pays_for_the_gate_and_the_model_that_answers(name: str, full: Any) -> None:
    model = clone(LEARNERS[name]).set_params(estimator=full, feature_costs=COSTS)
    model.set_params(search__shares=[0.5], search__lambdas=3)
    model.fit(X[:300], Y[:300])
    probability = model.estimator_.predict_proba(X) if hasattr(full, "predict_proba") else None
    for candidate in model.hull_:
        model.chosen_ = candidate
        hard, bought = model.goes_to_full(X), model.acquired(X)
        np.testing.assert_array_equal(model.predict(X)[hard], model.estimator_.predict(X)[hard])
        if probability is not None:
            np.testing.assert_allclose(model.predict_proba(X)[hard], probability[hard])
        if isinstance(full, SVC):
            assert bought[hard].all()
        assert np.unique(bought[~hard], axis=0).shape[0] <= 1
        np.testing.assert_allclose(model.cost(X), COSTS.cost_of(bought))


def test_budgets_are_kept_on_held_out_examples(name: str) -> None:
    model = clone(LEARNERS[name]).set_params(estimator=FOREST, feature_costs=COSTS)
    model.set_params(search__shares=[0.3, 0.6], search__lambdas=3)
    model.fit(X[:300], Y[:300], X[300:], Y[300:])
    for budget in (0, 2, 4, 100):
        within = model.at_budget(budget)
        assert within.candidates_ is model.candidates_
        assert within.cost(X[300:]).mean() == pytest.approx(within.chosen_.cost)
        assert 1 - within.score(X[300:], Y[300:]) == pytest.approx(within.chosen_.error)
        assert within.chosen_.cost <= budget + 1e-9
        rivals = [candidate for candidate in model.candidates_ if candidate.cost <= budget]
        assert within.chosen_.error == min(rival.error for rival in rivals)
    assert model.at_budget(0).cost(X).max() == 0


def test_candidates_are_measured_on_other_examples(name: str) -> None:
    model = clone(LEARNERS[name]).set_params(estimator=FOREST).fit(X[:300], Y[:300])
    for candidate in model.measure(X[300:], Y[300:], model.candidates_):
        model.chosen_ = candidate
        assert candidate.cost == pytest.approx(model.cost(X[300:]).mean())
        assert candidate.error == pytest.approx(1 - model.score(X[300:], Y[300:]))
        assert candidate.full_share == pytest.approx(model.goes_to_full(X[300:]).mean())


def test_the_frontier_is_convex_and_falls(name: str) -> None:
    model = clone(LEARNERS[name]).set_params(estimator=FOREST, search__shares=[0.3, 0.6], search__lambdas=4).fit(X, Y)
    cost, error = np.array([(candidate.cost, candidate.error) for candidate in model.hull_]).T
    slopes = np.diff(error) / np.diff(cost)
    assert np.all(np.diff(cost) > 0)
    assert np.all(slopes < 0)
    assert np.all(np.diff(slopes) >= 0)
    for candidate in model.candidates_:
        at = min(candidate.cost, cost[-1])
        assert candidate.error >= np.interp(at, cost, error) - 1e-12


@pytest.mark.slow
def test_stages_are_put_one_before_the_other() -> None:
    first = AdaptLin(FOREST, feature_costs=COSTS, **SMALL)
    second = AdaptLin(first, search=GateSearch(shares=[0.5, 0.7], lambdas=2, n_folds=2), random_state=1).fit(
        X[:350], Y[:350]
    )
    assert second.costs_ == COSTS
    both = next(candidate for candidate in second.candidates_ if 0.1 < candidate.full_share < 0.9)
    second.chosen_ = both
    hard = second.goes_to_full(X)
    assert 0 < hard.mean() < 1
    np.testing.assert_array_equal(second.predict(X)[hard], second.estimator_.predict(X)[hard])
    assert np.all(second.cost(X[hard]) >= second.estimator_.cost(X[hard]) - 1e-9)


def test_a_pruned_forest_buys_on_demand() -> None:
    pruned = BudgetPrune(FOREST, feature_costs=COSTS, budget=4, random_state=0).fit(X[:300], Y[:300])
    for full in (pruned, FrozenEstimator(pruned)):
        model = AdaptLin(full, **SMALL).fit(X[:300], Y[:300])
        model.chosen_ = model.candidates_[0]
        np.testing.assert_array_equal(model.cost(X), pruned.cost(X))
        np.testing.assert_allclose(model.predict_proba(X), pruned.predict_proba(X))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: AdaptLin(DecisionTreeRegressor()),
            TypeError,
            r"^estimator: expected a classifier, got DecisionTreeRegressor$",
        ),
        (
            lambda: AdaptLin(BudgetPrune(FOREST), feature_costs=[1] * 10),
            ValueError,
            r"^feature_costs: expected none with an estimator that has its own, got a value$",
        ),
        (
            lambda: AdaptLin(BudgetPrune(FOREST, split_cost="1/8")),
            ValueError,
            r"^estimator: expected one without split_cost, got '1/8'$",
        ),
        (
            lambda: AdaptLin(FrozenEstimator(BudgetPrune(FOREST, class_costs=[[0, 1], [5, 0]]))),
            ValueError,
            r"^class_costs: expected it on AdaptLin, whose labels go by it, got it on the estimator$",
        ),
        (
            lambda: AdaptLin(BudgetPrune(FOREST, max_cost=3)),
            ValueError,
            r"^max_cost: expected it on AdaptLin, whose sessions keep it, got it on the estimator$",
        ),
        (
            lambda: AdaptLin(TREE, search=GateSearch(shares=[])),
            ValueError,
            r"^search\.shares: expected a sequence of 1 or more, got \[\]$",
        ),
        (
            lambda: AdaptLin(TREE, search=GateSearch(shares=[1])),
            ValueError,
            r"^search\.shares: expected numbers from 0 to 1, 1 excluded, got 1$",
        ),
        (
            lambda: AdaptLstsq(TREE, search=GateSearch(shares=[0])),
            ValueError,
            r"^search\.shares: expected numbers above 0, got 0, whose log-odds",
        ),
        (
            lambda: AdaptLin(TREE, search=GateSearch(lambdas=0)),
            ValueError,
            r"^search\.lambdas: expected at least 1, or a sequence of numbers, got 0$",
        ),
        (
            lambda: AdaptLin(TREE, search=GateSearch(lambdas=[-1])),
            ValueError,
            r"^search\.lambdas: expected a number >= 0",
        ),
        (
            lambda: AdaptLin(TREE, search=GateSearch(n_folds=0)),
            ValueError,
            r"^search\.n_folds: expected an integer >= 1, got 0$",
        ),
        (
            lambda: AdaptLin(TREE, alternation=AlternationSettings(n_starts=0)),
            ValueError,
            r"^alternation\.n_starts: expected an integer >= 1, got 0$",
        ),
        (lambda: AdaptLin(TREE, budget=-1), ValueError, r"^budget: "),
        (lambda: AdaptLin(TREE, max_cost=-1), ValueError, r"^max_cost: "),
        (lambda: AdaptLin(TREE, validation_fraction=1.0), ValueError, r"^validation_fraction: "),
        (lambda: AdaptLin(TREE, feature_costs=[1, 2]), ValueError, r"expected 10"),
    ],
)
def test_bad_input_is_refused_before_training(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make().fit(X, Y)


def test_models_that_a_fold_is_too_small_for_are_told_of_cross_fitting() -> None:
    neighbours = AdaptLin(KNeighborsClassifier(40), validation_fraction=None, **SMALL)
    with pytest.raises(
        ValueError,
        match=r"^estimator: expected a model .* on 29 of the 60 .* n_neighbors = 40.* search.n_folds=1 trains",
    ):
        neighbours.fit(X[:60], Y[:60])
    assert neighbours.set_params(search__n_folds=1).fit(X[:60], Y[:60]).predict(X).shape == Y.shape


def test_classes_that_the_full_model_does_not_know_are_refused() -> None:
    fitted = LogisticRegression(max_iter=5000).fit(X, Y)
    with pytest.raises(ValueError, match=r"^y: expected classes among \[0, 1\], got 2$"):
        AdaptLin(fitted, **SMALL).fit(X, Y * 2)
    with pytest.raises(ValueError, match=r"^y_val: expected labels among the classes of training, got 2$"):
        AdaptLin(fitted, **SMALL).fit(X, Y, X, Y * 2)
    with pytest.raises(ValueError, match=r"^X_val: expected X_val and y_val together, got one of them$"):
        AdaptLin(fitted, **SMALL).fit(X, Y, X)


@pytest.mark.slow
def test_decision_functions_are_log_odds() -> None:
    for full in (RidgeClassifier(), Perceptron()):
        model = AdaptLin(full, **SMALL).fit(X, Y)
        model.chosen_ = model.candidates_[0]
        np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_scores_of_pairs_of_classes_are_refused() -> None:
    """Of three classes there are three pairs, whose scores were taken for those of classes."""
    three, pairs = np.arange(150) % 3, SVC(decision_function_shape="ovo")
    for full in (pairs, make_pipeline(StandardScaler(), pairs), FrozenEstimator(clone(pairs).fit(X[:150], three))):
        with pytest.raises(ValueError, match=r"estimator: expected decision_function_shape='ovr', .* got 'ovo'"):
            AdaptLin(full, **SMALL).fit(X[:150], three)
    assert AdaptLin(pairs, **SMALL).fit(X[:150], Y[:150]).score(X, Y) > 0.7


@pytest.mark.parametrize("file", ["model.skops", "model.joblib"])
def test_models_are_saved_and_loaded(name: str, file: str, tmp_path: Path) -> None:
    model = clone(LEARNERS[name]).fit(X[:300], Y[:300])
    loaded = load_model(save_model(model, tmp_path / file))
    for budget in (2, 100):
        np.testing.assert_array_equal(loaded.at_budget(budget).predict(X), model.at_budget(budget).predict(X))
        np.testing.assert_array_equal(loaded.at_budget(budget).cost(X), model.at_budget(budget).cost(X))


def test_how_many_lambdas_may_be_an_integer_of_numpy(name: str) -> None:
    model = clone(LEARNERS[name]).set_params(estimator=TREE, search__shares=[0.5])
    model.set_params(search__lambdas=np.int64(2)).fit(X[:150], Y[:150])
    assert len({candidate.pair.lam for candidate in model.candidates_[2:]}) == 2


@pytest.mark.parametrize("value", [3.5e38, -1e308])
def test_numbers_beyond_those_of_the_parts_are_refused(value: float) -> None:
    """The trees compare them as float32, in which they are infinite; they were answered, and by an export otherwise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    gate = {"search": BoostedSearch(shares=[0.5], lambdas=[0.01], n_folds=2), "random_state": 0}
    model = AdaptGbrt(RandomForestClassifier(3, random_state=0), n_estimators=2, **gate).fit(X, y)
    X[5] = value
    refusal = "expected finite float32 values or NaN, got an infinite or too large one"
    for ask in (model.predict, model.cost):
        with pytest.raises(ValueError, match=f"X: {refusal} in column 'feature 0'"):
            ask(X)
    with pytest.raises(ValueError, match=f"feature .: {refusal}"):
        model.predict_on_demand(lambda unit, rows: X[rows, unit.index], 80)
