"""BudgetLinear: which unit comes next, what its terms are, and what it is given."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from ipforest import (
    BudgetedClassifier,
    BudgetedRegressor,
    BudgetForest,
    BudgetLinear,
    BudgetLinearRegressor,
    FeatureCosts,
    NestedCascade,
    RunSettings,
)
from ipforest._internal.examples import Labelled
from ipforest.ensemble.linear import NUMBER, LinearModel
from ipforest.frontiers import budget_linear
from ipforest.frontiers.budget_linear import _Terms
from ipforest.frontiers.tasks import Classification, Regression
from ipforest.stopping.stages import StagesInOrder

X, TARGETS = load_diabetes(return_X_y=True)
TUMOURS, LABELS = load_breast_cancer(return_X_y=True)
TINY = 1e-9


def labelled(X: Any, y: Any, weight: Any = None) -> Labelled:
    return Labelled(X, y, np.ones(y.size) if weight is None else weight)


def policy_of(model: Any) -> StagesInOrder:
    policy = model.trees_
    assert isinstance(policy, StagesInOrder)
    return policy


def sum_of_squares(X: Any, weight: Any) -> float:
    fitted = LinearRegression().fit(X, TARGETS, weight)
    return float(weight @ np.square(TARGETS - fitted.predict(X)))


@pytest.mark.parametrize("known", [[], [2], [2, 8, 3]])
@pytest.mark.parametrize("weighted", [False, True])
def test_gains_of_a_number_are_what_the_squared_error_falls_by(known: list[int], weighted: bool) -> None:
    weight = np.random.default_rng(0).integers(0, 4, TARGETS.size).astype(float) if weighted else np.ones(TARGETS.size)
    data = _Terms.of(labelled(X, TARGETS, weight), (), Regression())
    gains = data.gains(data.fitted(np.array(known, dtype=np.int64), TINY), TINY, np.arange(10), 10)
    nothing = np.zeros((TARGETS.size, 1))
    before = sum_of_squares(np.hstack([nothing, X[:, known]]), weight)
    fallen = [before - sum_of_squares(np.hstack([nothing, X[:, [*known, each]]]), weight) for each in range(10)]
    unknown = np.setdiff1d(np.arange(10), known)
    np.testing.assert_allclose(gains[unknown], np.array(fallen)[unknown], rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gains_of_classes_are_no_more_than_the_likelihood_rises_by(n_classes: int) -> None:
    """Half of the variance bounds the curvature, a fourth that of two classes (Böhning, Lindsay 1988)."""
    iris, y = load_iris(return_X_y=True)
    rows = n_classes > y
    Z, y = StandardScaler().fit_transform(iris[rows]), y[rows]
    data = _Terms.of(labelled(iris[rows], y), (), Classification(np.unique(y)))
    gains = data.gains(data.fitted(np.array([1]), 1.0), 1.0, np.arange(4), 4)
    together = data.gains(data.fitted(np.array([1]), 1.0), 1.0, np.array([0, 1, 0, 0]), 2)

    def likelihood(columns: list[int]) -> float:
        fitted = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(Z[:, columns], y)
        lost = -np.log(fitted.predict_proba(Z[:, columns])[np.arange(y.size), y]).sum()
        return float(-lost - np.square(fitted.coef_).sum() / 2)

    for feature in (0, 2, 3):
        assert 0 < gains[feature] <= likelihood([1, feature]) - likelihood([1]) + 1e-3
    assert gains.max() <= together[0] <= likelihood([0, 1, 2, 3]) - likelihood([1]) + 1e-3
    assert gains[1] == together[1] == 0


@pytest.mark.parametrize("known", [[], [2], [0, 1]])
def test_gains_of_what_comes_together_are_what_the_squared_error_falls_by(known: list[int]) -> None:
    """Copies tell no more than one of them; a category has several marks."""
    place = np.digitize(X[:, 3], [-0.03, 0.01, 0.05])
    table, marks = np.column_stack([X[:, :3], place, X[:, 4:6], X[:, 4], X[:, 6:8]]), np.eye(4)[place]
    data = _Terms.of(labelled(table, TARGETS), (3,), Regression())
    unit_of = np.array([0, 1, 2, 3, 4, 4, 4, 5, 5])
    gains = data.gains(data.fitted(np.array(known, dtype=np.int64), TINY), TINY, unit_of, 7)
    nothing = np.zeros((TARGETS.size, 1))
    own = [X[:, [0]], X[:, [1]], X[:, [2]], marks, X[:, 4:6], X[:, 6:8], nothing]
    weight, before = np.ones(TARGETS.size), np.hstack([nothing, *(own[unit] for unit in known)])
    fallen = [sum_of_squares(before, weight) - sum_of_squares(np.hstack([before, each]), weight) for each in own]
    np.testing.assert_allclose(gains, fallen, rtol=1e-5, atol=1e-3)


def test_a_number_that_is_the_same_in_all_that_counts_is_no_term() -> None:
    weight = np.r_[np.zeros(9), np.ones(TARGETS.size - 9)]
    table = np.column_stack([weight, X[:, 2]])
    assert _Terms.of(labelled(table, TARGETS, weight), (), Regression()).feature.tolist() == [1]


@pytest.mark.parametrize("alpha", [5e-324, 1e-20, 1.7e308])
def test_any_alpha_is_taken_with_copies_of_columns(alpha: float) -> None:
    copies = np.hstack([TUMOURS[:, :3]] * 3)
    model = BudgetLinear(alpha, random_state=0).fit(copies, LABELS)
    assert model.score(copies, LABELS) > (0.85 if alpha < 1 else 0.3)


def test_what_tells_most_per_price_is_next_and_copies_are_last() -> None:
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(600, 3))
    y = signal @ [3, 2, 1] + rng.normal(size=600) > 0
    copies = np.hstack([signal, signal[:, :1] + 1e-9, rng.normal(size=(600, 1))])
    last = policy_of(BudgetLinear(random_state=0).fit(copies, y)).stages[-1].features.tolist()
    assert last[:3] in ([0, 1, 2], [3, 1, 2])
    priced = BudgetLinear(feature_costs=[100, 1, 100, 100, 100], random_state=0).fit(copies, y)
    assert policy_of(priced).stages[1].features.tolist() == [1]


def test_units_and_free_features_come_whole() -> None:
    costs = FeatureCosts([3, 5, 0]).for_columns([0, 0, 1, 1, 2])
    y = np.median(TARGETS) < TARGETS
    model = BudgetLinear(feature_costs=costs, random_state=0).fit(X[:, [2, 3, 8, 9, 6]], y)
    stages = [set(stage.features.tolist()) for stage in policy_of(model).stages]
    assert stages[0] == set()
    assert stages[1] == {4}
    assert stages[2] in ({4, 0, 1}, {4, 2, 3})
    assert stages[3] == {0, 1, 2, 3, 4}


def words(n: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(2)
    place, number = rng.integers(0, 4, n), rng.normal(size=n)
    y = np.array([1.5, -2, 0, 1])[place] + number + rng.normal(size=n) > 0
    word = pd.Categorical(np.array(["p", "q", "r", "s"])[place])
    return pd.DataFrame({"word": word, "number": number, "noise": rng.normal(size=n)}), y


def test_categories_are_marks_as_of_one_hot_columns() -> None:
    frame, y = words(800)
    model = BudgetLinear(random_state=0).fit(frame, y)
    last = policy_of(model).stages[-1]
    assert isinstance(last.model, LinearModel)
    of_word = last.model.feature == last.features.tolist().index(0)
    assert sorted(last.model.category[of_word].tolist()) == [0, 1, 2, 3]
    assert (last.model.category[~of_word] == NUMBER).all()
    assert model.score(*words(2000)) > 0.8
    unknown = frame.assign(word=pd.Categorical(["z"] * len(frame)))
    np.testing.assert_allclose(
        model.predict_proba(unknown), model.predict_proba(frame.assign(word=pd.Categorical([None] * len(frame))))
    )


@pytest.mark.parametrize("classify", [True, False])
def test_each_stage_is_scikit_learns_model_of_scaled_numbers_and_marks(classify: bool) -> None:
    """With weights, of which only ratios count; a rare category and gaps have no mark, a missing number is the mean."""
    frame, y = words(300)
    rng = np.random.default_rng(5)
    frame.loc[:3, "word"], frame.loc[::11, "word"] = "s", None
    frame["word"] = frame["word"].mask((frame["word"] == "s") & (frame.index > 3))
    frame["number"] = (1000 * frame["number"]).astype(np.float32).mask(rng.random(300) < 0.2)
    weight = rng.integers(1, 5, 300)
    kind, targets = (BudgetLinear, y) if classify else (BudgetLinearRegressor, y + frame["noise"])
    model = kind(0.5, stopping=()).fit(frame, targets, frame, targets, sample_weight=weight)
    same = kind(0.5, stopping=()).fit(frame, targets, frame, targets, sample_weight=1024 * weight)
    np.testing.assert_array_equal(model.predict(frame), same.predict(frame))
    numbers = model.categories_.numbers(frame).to_numpy(dtype=np.float32).astype(np.float64)
    n_terms = []
    for stage in policy_of(model).stages:
        columns = [np.empty((300, 0))]
        for feature in stage.features.tolist():
            x = numbers[:, [feature]]
            scaled = StandardScaler().fit(x, sample_weight=weight).transform(x)
            columns.append(np.nan_to_num(scaled) if feature else x == [0, 1, 2])
        terms = np.hstack(columns) if stage.features.size else np.zeros((300, 1))
        fitted = LogisticRegression(C=2, tol=1e-8, max_iter=1000) if classify else Ridge(0.5)
        fitted.fit(terms, targets, weight / weight.mean())
        expected = fitted.predict_proba(terms) if classify else fitted.predict(terms)[:, None]
        np.testing.assert_allclose(stage.outputs(numbers, None), expected, atol=2e-3)
        n_terms.append(terms.shape[1])
    assert sorted(n_terms)[-1] == 5


def test_rare_categories_have_no_mark() -> None:
    frame, y = words(300)
    rare = frame["word"].astype(str)
    rare[:3] = "rare"
    model = BudgetLinear(validation_fraction=0.25, random_state=0).fit(frame.assign(word=rare.astype("category")), y)
    last = policy_of(model).stages[-1]
    assert (last.model.category != NUMBER).sum() == 4


def test_a_missing_number_counts_as_the_mean() -> None:
    gaps = np.where(np.random.default_rng(3).random(TUMOURS.shape) < 0.2, np.nan, TUMOURS)
    model = BudgetLinear(budget=4, validation_fraction=None).fit(gaps, LABELS, gaps, LABELS)
    mean = np.nanmean(gaps.astype(np.float32).astype(float), axis=0)
    nothing = np.full((1, 30), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing), model.predict_proba(mean[None]), atol=1e-6)
    assert model.score(gaps, LABELS) > 0.9


@pytest.mark.parametrize("change", ["shifted", "scaled", "huge"])
def test_units_of_measurement_do_not_matter(change: str) -> None:
    changed = {"shifted": TUMOURS + 1000, "scaled": TUMOURS * 2.0**20, "huge": TUMOURS * 1e30}[change]
    one, other = (BudgetLinear(stopping=(), random_state=0).fit(each, LABELS) for each in (TUMOURS, changed))
    features = [[stage.features.tolist() for stage in policy_of(model).stages] for model in (one, other)]
    assert features[0] == features[1]
    np.testing.assert_allclose(one.predict_proba(TUMOURS), other.predict_proba(changed), atol=0.01)


def test_whole_weights_are_repetitions() -> None:
    rng = np.random.default_rng(4)
    weight = rng.integers(0, 4, 400)
    training, validation = slice(0, 400), slice(400, None)
    rows = np.repeat(np.arange(400), weight)
    parts = TUMOURS[validation], LABELS[validation]
    one = BudgetLinear(budget=3).fit(TUMOURS[training], LABELS[training], *parts, sample_weight=weight)
    other = BudgetLinear(budget=3, alpha=one.alpha * weight[weight > 0].mean() / 1).fit(
        TUMOURS[rows], LABELS[rows], *parts
    )
    assert policy_of(one).stages[4].features.tolist() == policy_of(other).stages[4].features.tolist()


@pytest.mark.parametrize("dtype", [int, float, str])
def test_a_class_that_a_sample_lacks_is_learnt_all_the_same(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_linear, "MOST_ROWS", 100)
    drawn, y = make_classification(900, 5, n_informative=3, random_state=0)
    y[:6] = 2
    y = y.astype(dtype)
    model = BudgetLinear(random_state=0).fit(drawn, y, drawn, y)
    assert model.classes_.tolist() == np.array([0, 1, 2]).astype(dtype).tolist()
    assert model.predict_proba(drawn).shape == (900, 3)


def test_no_more_units_than_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_linear, "MOST_UNITS", 3)
    model = BudgetLinear(random_state=0).fit(TUMOURS, LABELS)
    assert [stage.features.size for stage in policy_of(model).stages] == [0, 1, 2, 3]


def test_constant_and_free_columns_alone() -> None:
    constant = np.column_stack([np.full(LABELS.size, 7.0), TUMOURS[:, 20]])
    model = BudgetLinear(feature_costs=[1, 0], random_state=0).fit(constant, LABELS)
    assert model.cost(constant).max() == 0
    assert model.score(constant, LABELS) > 0.85
    nothing = BudgetLinear(budget=1, random_state=0).fit(constant[:, :1], LABELS)
    assert nothing.score(constant[:, :1], LABELS) == pytest.approx(LABELS.mean())


def test_the_front_end_has_it_and_names_it() -> None:
    model = BudgetedClassifier([BudgetForest(4), BudgetLinear()], budget=3, random_state=0).fit(TUMOURS, LABELS)
    assert [type(each).__name__ for each in model.estimators_] == ["BudgetForest", "BudgetLinear"]
    assert {member.source for member in model.members_} >= {"BudgetLinear"}
    names = [type(each).__name__ for each in BudgetedClassifier()._chosen_from]
    assert names == ["BudgetBoost", "BudgetForest", "BudgetLinear"]


def test_nothing_follows_the_only_model_where_time_is_over() -> None:
    alone = BudgetedClassifier([BudgetLinear()], run=RunSettings(time_limit=0), random_state=0).fit(TUMOURS, LABELS)
    assert alone.left_out_ == ()
    first = BudgetedClassifier([BudgetLinear(), BudgetForest(3)], run=RunSettings(time_limit=0), random_state=0)
    with pytest.warns(UserWarning, match="left out what follows BudgetForest after 0 models$"):
        first.fit(TUMOURS, LABELS)


def test_a_front_end_may_hold_out_the_latest_examples() -> None:
    """That they are far outside what is trained on is no mistake of the caller."""
    day = np.r_[0:40, 1000:1040].astype(float)
    trend, y = np.column_stack([day, np.cos(day)]), np.cos(day)
    latest = [(np.arange(40), np.arange(40, 80))]
    estimators = [BudgetLinearRegressor(), NestedCascade(LinearRegression())]
    model = BudgetedRegressor(estimators, cv=latest, random_state=0).fit(trend, y)
    assert model.score(trend, y) > 0.99
    with pytest.raises(ValueError, match=r"^X_val: expected examples like those of X"):
        BudgetedRegressor(estimators).fit(trend[:40], y[:40], trend[40:], y[40:])


@pytest.mark.parametrize("alpha", [0, -1, np.nan, np.inf, "1"])
def test_alpha_is_a_positive_number(alpha: Any) -> None:
    for model in (BudgetLinear(alpha).set_params(budget=1), BudgetLinearRegressor(alpha)):
        with pytest.raises((ValueError, TypeError), match=r"^alpha: expected"):
            model.fit(TUMOURS, LABELS)


def test_models_are_trained_on_one_thread_and_others_have_theirs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def counting(self: Any, *arguments: Any) -> Any:
        during.append(threads())
        return fitted(self, *arguments)

    during: list[list[int]] = []
    fitted = _Terms.fitted
    monkeypatch.setattr(_Terms, "fitted", counting)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        BudgetLinear(random_state=0).fit(TUMOURS, LABELS)
        assert threads() == before
    assert len(during) > 3
    assert all(set(found) == {1} for found in during)


def test_terms_take_no_more_than_two_copies_of_their_table() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 200)).astype(np.float32)
    data = Labelled(X, X[:, 0] > 0, random.random(2000))
    tracemalloc.start()
    try:
        terms = _Terms.of(data, (), Classification(np.array([False, True])))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.2 * terms.values.nbytes
    assert terms.values.shape == X.shape
