"""GreedyMiser: scikit-learn's checks, gradient boosting at price 0, and what prices do."""

import numpy as np
import pytest
from fitted_forests import examples
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest.learners import GreedyMiser, GreedyMiserRegressor, PricedGrowth
from ipforest.learners.greedy_miser import SquaredOnClasses

X, LABELS, TARGET = examples(240, seed=61)
X_TEST, LABELS_TEST, TARGET_TEST = examples(300, seed=62)
PLAIN = {"growth": PricedGrowth(max_bins=None), "validation_fraction": None}


@pytest.mark.slow
@parametrize_with_checks(
    [GreedyMiser(4), GreedyMiser(4, loss="squared"), GreedyMiserRegressor(8, validation_fraction=None)]
)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def sizes(estimators):
    return [tree.tree_.node_count for tree in np.ravel(estimators)]


def grown_sizes(model):
    return np.diff(model.trees_.tree_offsets).tolist()


def thresholds(estimators):
    return [np.sort(tree.tree_.threshold[tree.tree_.feature >= 0]) for tree in np.ravel(estimators)]


def assert_same_trees(model, reference, data):
    assert grown_sizes(model) == sizes(reference.estimators_)
    for (start, stop), expected in zip(model.trees_, thresholds(reference.estimators_), strict=True):
        tests = model.trees_.left[start:stop] >= 0
        np.testing.assert_array_equal(np.sort(model.trees_.threshold[start:stop][tests]), expected)


def test_price_zero_is_gradient_boosting_for_regression():
    data, target = make_regression(150, 4, noise=5.0, random_state=0)
    options = {"max_depth": 3, "learning_rate": 0.2, "min_samples_leaf": 5}
    reference = GradientBoostingRegressor(n_estimators=15, random_state=0, **options).fit(data, target)
    growth = PricedGrowth(max_bins=None, **options)
    model = GreedyMiserRegressor(15, growth=growth, validation_fraction=None).fit(data, target)
    assert_same_trees(model, reference, data)
    np.testing.assert_allclose(model.predict(data), reference.predict(data), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_price_zero_is_gradient_boosting_for_classification(n_classes):
    data, labels = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=3
    )
    options = {"max_depth": 3, "learning_rate": 0.1, "min_samples_leaf": 12}
    reference = GradientBoostingClassifier(n_estimators=10, random_state=0, **options).fit(data, labels)
    growth = PricedGrowth(max_bins=None, **options)
    model = GreedyMiser(10, growth=growth, validation_fraction=None).fit(data, labels)
    assert_same_trees(model, reference, data)
    np.testing.assert_allclose(model.predict_proba(data), reference.predict_proba(data), rtol=1e-8)


def test_squared_loss_on_labels_is_regression_on_indicators():
    data, labels = load_breast_cancer(return_X_y=True)
    options = {"n_estimators": 12, "lam": 0.001, **PLAIN}
    model = GreedyMiser(loss="squared", **options).fit(data, labels)
    regression = GreedyMiserRegressor(**options).fit(data, labels)
    np.testing.assert_allclose(model.predict_proba(data)[:, 1], np.clip(regression.predict(data), 0, 1))
    np.testing.assert_array_equal(model.predict(data), regression.predict(data) > 0.5)


def test_squared_scores_are_clipped_to_shares():
    loss = SquaredOnClasses()
    np.testing.assert_allclose(loss.outputs(np.array([[-0.2], [0.3], [1.4]])), [[1, 0], [0.7, 0.3], [0, 1]])
    scores = np.array([[2.0, -1, 0.5], [-1.0, 0, -2], [0.3, 0.1, 0.1]])
    np.testing.assert_allclose(loss.outputs(scores), [[2 / 3, 0, 1 / 3], [1 / 3] * 3, [0.6, 0.2, 0.2]])


def test_rounds_are_measured_by_mean_squared_errors():
    X, y = make_regression(80, 3, noise=5, random_state=0)
    model = GreedyMiserRegressor(4, random_state=0).fit(X, y)
    errors = model.measure_rounds(X, y)[1]
    assert errors[0] == pytest.approx(np.mean((model.base_ - y) ** 2))
    assert errors[4] == pytest.approx(np.mean((model.predict(X) - y) ** 2))


def test_a_dear_feature_is_bought_once_or_never():
    costs = [1, 1, 1, 5, 5, 5, 5]
    models = [
        GreedyMiser(20, lam=lam, feature_costs=costs, random_state=0).fit(X, LABELS) for lam in (0, 1e-3, 1e-2, 1)
    ]
    paid = [model.cost(X_TEST).mean() for model in models]
    assert paid == sorted(paid, reverse=True)
    assert paid[0] > paid[2] > 0
    assert paid[-1] == 0


def test_features_that_were_bought_are_free_later():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(400, 2))
    target = 3 * data[:, 0] + 0.4 * (data[:, 1] > 0)
    gain = 0.5 * 0.04
    assert set(used(GreedyMiserRegressor(40, lam=2 * gain, **PLAIN).fit(data, target))) == {0}
    assert set(used(GreedyMiserRegressor(40, lam=gain / 100, **PLAIN).fit(data, target))) == {0, 1}
    step = np.where(data[:, :1] > 0, 1.0, -1.0)  # at price 0.3 only the first trees would buy it, if each had to
    model = GreedyMiserRegressor(20, lam=0.3, growth=PricedGrowth(max_depth=1), validation_fraction=None)
    assert used(model.fit(step, step[:, 0])) == [0] * 20


def used(model):
    return model.trees_.feature[model.trees_.left >= 0].tolist()


def test_a_budget_takes_the_rounds_of_least_validation_error_within_it():
    model = GreedyMiser(30, lam=1e-4, random_state=0).fit(X, LABELS)
    assert model.n_rounds_ == 30
    for budget in (1, 2.5, 5):
        other = model.at_budget(budget)
        within = np.flatnonzero(model.stage_costs_ <= budget)
        assert other.n_rounds_ == within[np.argmin(model.stage_errors_[within])]
    rows = np.arange(len(X))
    validated = GreedyMiser(30, lam=1e-4).fit(X, LABELS, X_TEST, LABELS_TEST)
    last = validated.at_budget(4)
    assert last.cost(X_TEST).mean() == pytest.approx(validated.stage_costs_[last.n_rounds_])
    assert 1 - last.score(X_TEST, LABELS_TEST) == pytest.approx(validated.stage_errors_[last.n_rounds_])
    assert validated.at_budget(0).cost(X[rows]).max() == 0


def test_sessions_pay_what_cost_says():
    model = GreedyMiser(10, lam=1e-3, feature_costs=[1, 1, 1, 5, 5, 5, 5]).fit(X, LABELS)
    for row in X_TEST[:20]:
        session = model.session()
        while session.next_unit is not None:
            session.tell(*(row[feature] for feature in session.next_unit.features))
        assert session.paid == pytest.approx(model.cost(row[None])[0])
        assert session.answer == model.predict(row[None])[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "loss: expected one of 'logistic', 'squared', got 'hinge'"),
        ({"lam": -1}, "lam: expected .* >= 0"),
        ({"growth__learning_rate": 0}, "^growth.learning_rate: expected a finite number > 0, got 0"),
        ({"n_estimators": 2.5}, "n_estimators: expected an integer >= 1, got 2.5"),
        ({"budget": "much"}, "budget: expected"),
        ({"growth__max_bins": 1}, "^growth.max_bins: expected None or 2..255, got 1"),
        ({"feature_costs": [1, 1]}, "expected 7 prices"),
    ],
)
def test_bad_parameters_are_refused_before_training(options, message, monkeypatch):
    monkeypatch.setattr(GreedyMiser, "_boost", lambda *_: pytest.fail("trained"))
    with pytest.raises((ValueError, TypeError), match=message):
        clone(GreedyMiser()).set_params(**options).fit(X, LABELS)


def test_a_budget_is_spent_to_the_last_digit():
    model = GreedyMiserRegressor(1, feature_costs=[0.1, 0.7, 0.2, 1, 1, 1, 1], random_state=0).fit(X, TARGET)
    assert model.at_budget(np.nextafter(model.stage_costs_[1], 0)).n_rounds_ == 1
    assert model.at_budget(model.stage_costs_[1] * 0.999).n_rounds_ == 0
