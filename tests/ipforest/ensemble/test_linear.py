"""Linear models: read from scikit-learn, marks of categories, missing and huge numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler

from ipforest.ensemble.linear import NUMBER, LinearFunctions, LinearModel, read_linear

X, Y = load_iris(return_X_y=True)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
NUMBERS, TARGETS = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False), MinMaxScaler((2, 5)), MaxAbsScaler(), LogisticRegression()),
        make_pipeline("passthrough", StandardScaler(with_std=False), LogisticRegression(max_iter=1000)),
        DummyClassifier(),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_are_read(model: Any, n_classes: int) -> None:
    rows = n_classes > Y
    model.fit(X[rows], Y[rows])
    linear = read_linear(model)
    assert linear is not None
    assert linear.n_outputs == n_classes
    np.testing.assert_allclose(linear.mean_answers(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(), make_pipeline(StandardScaler(), LassoCV()), DummyRegressor()]
)
def test_regressors_are_read(model: Any) -> None:
    linear = read_linear(model.fit(NUMBERS, TARGETS))
    assert linear is not None
    np.testing.assert_allclose(linear.mean_answers(NUMBERS)[:, 0], model.predict(NUMBERS))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_what_is_missing_counts_as_the_imputer_says(strategy: str) -> None:
    steps = SimpleImputer(strategy=strategy), StandardScaler(), LogisticRegression()
    model = make_pipeline(*steps).fit(GAPS, Y)
    linear = read_linear(model)
    assert linear is not None
    np.testing.assert_allclose(linear.mean_answers(GAPS), model.predict_proba(GAPS), atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        RidgeClassifier(),
        SGDClassifier(loss="log_loss", random_state=0),  # of three classes each against the others
        SGDClassifier(loss="hinge", random_state=0),
        DummyClassifier(strategy="stratified"),
        make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=5000)),
        make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression(max_iter=5000)),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()),
        make_pipeline(SimpleImputer(missing_values=-1), StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), SimpleImputer(), LogisticRegression()),
    ],
)
def test_others_are_not_read(model: Any) -> None:
    assert read_linear(model.fit(X, Y)) is None


@pytest.mark.parametrize(("loss", "n_classes"), [("log_loss", 3), ("modified_huber", 2), ("modified_huber", 3)])
def test_models_with_other_links_are_not_read_where_they_are_sure(loss: str, n_classes: int) -> None:
    rows = n_classes > Y
    model = SGDClassifier(loss=loss, tol=None, max_iter=5, random_state=0).fit(1000 * X[rows, :1], Y[rows])
    assert read_linear(model) is None


class Shy(LogisticRegression):
    """Is less sure than its weights say."""

    def predict_proba(self, X: Any) -> Any:
        return (1 + super().predict_proba(X)) / (1 + len(self.classes_))


def test_what_answers_otherwise_than_its_weights_is_not_read() -> None:
    assert read_linear(make_pipeline(StandardScaler(), Shy()).fit(X, Y)) is None


def test_an_imputer_that_leaves_out_a_column_is_not_read() -> None:
    empty = np.column_stack([np.full(Y.size, np.nan), X])
    kept = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), Ridge()).fit(empty, Y)
    linear = read_linear(kept)
    assert linear is not None
    np.testing.assert_allclose(linear.mean_answers(empty)[:, 0], kept.predict(empty))
    with pytest.warns(UserWarning, match="without any observed values"):
        left_out = make_pipeline(SimpleImputer(), StandardScaler(), Ridge()).fit(empty, Y)
    assert read_linear(left_out) is None


def test_what_nothing_fills_in_counts_as_the_mean_of_the_scaler_or_0() -> None:
    nothing = np.full((1, 4), np.nan)
    for scaler, instead in ((StandardScaler(), X.mean(axis=0)), (StandardScaler(with_mean=False), np.zeros(4))):
        model = make_pipeline(scaler, Ridge()).fit(X, Y)
        linear = read_linear(model)
        assert linear is not None
        np.testing.assert_allclose(linear.mean_answers(nothing)[:, 0], model.predict(instead[None]))


def test_narrow_numbers_are_rounded_first() -> None:
    third, wide = np.array([[0, 1 / 3]]), marks_and_a_number()
    narrow = replace(wide, narrow=True)
    assert narrow.mean_answers(third) == wide.mean_answers(third.astype(np.float32).astype(np.float64))
    assert narrow.mean_answers(third) != wide.mean_answers(third)
    pair = [(wide, np.arange(2)), (narrow, np.arange(2)), (None, np.arange(2))]
    assert LinearFunctions.joined(pair).narrow.tolist() == [False, True, False]


def test_models_that_are_not_fitted_or_not_finite_are_not_read() -> None:
    assert read_linear(LogisticRegression()) is None
    fitted = LogisticRegression(max_iter=1000).fit(X, Y)
    fitted.coef_ = fitted.coef_ * np.inf
    assert read_linear(fitted) is None


def test_frames_as_output_do_not_matter() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).set_output(transform="pandas").fit(X, Y)
    linear = read_linear(model)
    assert linear is not None
    np.testing.assert_allclose(linear.mean_answers(X), model.predict_proba(X), atol=1e-12)


def test_another_number_of_features_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^X: expected 2 features, got shape \(1, 3\)"):
        marks_and_a_number().mean_answers(np.zeros((1, 3)))


def marks_and_a_number() -> LinearModel:
    """Weigh two categories of the first feature, and the second one less 10, by 2."""
    return LinearModel(
        np.array([0, 0, 1]),
        np.array([0, 3, NUMBER]),
        np.array([0.0, 0.0, 10.0]),
        np.array([1.0, 1.0, 2.0]),
        np.array([[5.0], [7.0], [1.0]]),
        np.array([100.0]),
        "identity",
        2,
    )


def test_a_mark_is_of_one_category_and_a_missing_number_counts_as_the_mean() -> None:
    rows = [[0, 10], [3, 12], [2, 10], [-1, 10], [0.5, 10], [3, np.nan], [np.nan, 8], [np.nan, np.nan]]
    expected = [105, 108, 100, 100, 105, 107, 99, 100]
    assert marks_and_a_number().mean_answers(np.array(rows))[:, 0].tolist() == expected


def test_infinite_numbers_count_as_the_largest_one() -> None:
    small = replace(marks_and_a_number(), weight=np.array([[0.0], [0.0], [1e-300]]))
    largest = 1e-300 * np.finfo(np.float64).max
    found = small.mean_answers(np.array([[0, np.inf], [0, -np.inf]]))[:, 0]
    np.testing.assert_allclose(found, [100 + largest, 100 - largest])


def test_joined_models_keep_their_columns_and_margins() -> None:
    one, other = read_linear(LogisticRegression(max_iter=1000).fit(X[:, :2], Y)), marks_and_a_number()
    joined = LinearFunctions.joined([(one, np.array([3, 1])), (None, np.arange(4)), (other, np.array([2, 0]))])
    assert joined.first_term.tolist() == [0, 2, 2, 5]
    assert joined.feature.tolist() == [3, 1, 2, 2, 0]
    assert joined.n_margins.tolist() == [3, 0, 1]
    assert joined.weight.shape == (5, 3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weight": np.ones((3, 2))}, r"^weight: expected finite numbers of shape \(3, 1\), got shape \(3, 2\)"),
        ({"mean": np.array([0, 0, np.nan])}, "^mean: expected finite numbers"),
        ({"feature": np.array([0, 0, 2])}, "^feature: expected numbers from 0 to 1"),
        ({"spread": np.array([1.0, 1.0, 0.0])}, "^spread, category: expected numbers > 0"),
        ({"category": np.array([0, 3, -2])}, "^spread, category: "),
        ({"link": "multinomial logit"}, "^link: expected one of .* that fits 1 margins"),
        ({"link": "probit"}, "^link: "),
        ({"link": "logit", "weight": np.ones((3, 2)), "intercept": np.ones(2)}, "^link: expected .* fits 2 margins"),
        ({"weight": np.ones((3, 0)), "intercept": np.ones(0)}, "^link: expected .* fits 0 margins"),
        ({"feature": np.array([0, 0, -1])}, "^feature: expected numbers from 0 to 1"),
        ({"intercept": np.array([np.inf])}, "^intercept: expected finite numbers"),
    ],
)
def test_what_does_not_fit_together_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(marks_and_a_number(), **changed)
