"""Calibrated answers and decision thresholds: what changes is what is answered, never what is bought."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.preprocessing import StandardScaler

from ipforest import BoostGrowth, BoostSearch, BudgetBoost, BudgetedPipeline, BudgetPrune, NestedCascade, NestedStages
from ipforest.choosing.measures import log_odds
from ipforest.ensemble import write
from ipforest.tabular.model_files import load_model, save_model
from ipforest.wrappers.calibration import CalibratedClassifier, calibrated, pooled_places
from ipforest.wrappers.thresholds import Decision, ThresholdClassifier, _best

X, y = make_classification(900, 6, n_informative=4, n_redundant=0, flip_y=0.2, random_state=1)
TRAINED, HELD_OUT, UNSEEN = slice(0, 300), slice(300, 600), slice(600, 900)


@pytest.fixture(scope="module")
def model():
    forest = RandomForestClassifier(8, max_depth=5, random_state=0)
    return NestedCascade(forest, stages=NestedStages(sizes=[1, 3, 6]), budget=2, random_state=0).fit(
        X[TRAINED], y[TRAINED]
    )


@pytest.fixture(scope="module")
def boosted():
    return BudgetBoost(
        8,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=2, n_prunings=1, single_price=False),
        budget=2,
        random_state=0,
    ).fit(X[TRAINED], y[TRAINED])


def asked(model, X):
    return (model.feature_usage(X) > 0).sum(axis=1)


def test_only_ratios_of_weights_count_in_calibration(model):
    """scikit-learn's sigmoid adds one example of each class: all probabilities were a half where weights sum to 1."""
    weight = 1.0 + np.arange(300) % 2
    first, second = (
        calibrated(model, X[HELD_OUT], y[HELD_OUT], min_samples=50, sample_weight=each).predict_proba(X[UNSEEN])
        for each in (weight, weight / weight.sum())
    )
    np.testing.assert_allclose(first, second, rtol=1e-4)


@pytest.mark.parametrize("kind", [CalibratedClassifier, ThresholdClassifier])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (y[:-1], "inconsistent numbers of samples"),
        (pd.Series(y)[::-1], "expected the rows of X in their order"),
        ([*y[:-1].tolist(), "a"], "expected labels of one type"),
        ([None, *y[1:].astype(str)], "expected a label for each example"),
    ],
)
def test_labels_that_do_not_belong_to_the_examples_are_refused(kind, labels, message):
    """The wrappers took the labels of other rows, and left out what had none."""
    given = pd.Series(labels, dtype=object) if isinstance(labels, list) else labels
    with pytest.raises(ValueError, match=message):
        kind(BudgetBoost(2)).fit(pd.DataFrame(X), given)


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_each_place_has_the_calibrator_of_scikit_learn(model, method):
    weight = 1.0 + np.arange(300) % 2
    calibrator = calibrated(model, X[HELD_OUT], y[HELD_OUT], method=method, min_samples=50, sample_weight=weight)
    first = calibrator.calibration_.first.tolist()
    assert len(first) > 1
    stops, unseen = asked(model, X[HELD_OUT]), asked(model, X[UNSEEN])
    expected = np.empty((300, 2))
    for low, high in zip(first, [*first[1:], 99], strict=True):
        here, there = (stops >= low) & (stops < high), (unseen >= low) & (unseen < high)
        odds = log_odds(np.clip(model.predict_proba(X[HELD_OUT][here]), 1e-4, 1 - 1e-4))[:, None]
        identity = LogisticRegression(C=1e9, fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
        identity.coef_ = np.array([[1.0]])
        peer = CalibratedClassifierCV(FrozenEstimator(identity), method=method, ensemble=False)
        peer.fit(odds, y[HELD_OUT][here], sample_weight=weight[here] / weight.mean())
        later = log_odds(np.clip(model.predict_proba(X[UNSEEN][there]), 1e-4, 1 - 1e-4))[:, None]
        expected[there] = peer.predict_proba(later)
    np.testing.assert_allclose(calibrator.predict_proba(X[UNSEEN]), expected, atol=1e-12)


def test_purchases_stay_and_sessions_show_calibrated_probabilities(model):
    calibrator = calibrated(model, X[HELD_OUT], y[HELD_OUT])
    np.testing.assert_array_equal(calibrator.cost(X), model.cost(X))
    np.testing.assert_array_equal(calibrator.acquired(X), model.acquired(X))
    answers, costs = calibrator.predict_proba(X[UNSEEN]), calibrator.cost(X[UNSEEN])
    for row in range(600, 612):
        session = calibrator.session()
        while (unit := session.next_unit) is not None:
            session.tell(X[row, unit.features[0]])
        assert session.probabilities == dict(enumerate(answers[row - 600].tolist()))
        assert session.paid == costs[row - 600]


def test_the_label_is_the_likeliest_or_cheapest_by_calibrated_probabilities(boosted):
    plain = calibrated(boosted, X[HELD_OUT], y[HELD_OUT], method="isotonic")
    np.testing.assert_array_equal(plain.predict(X), plain.predict_proba(X).argmax(axis=1))
    costly = BudgetBoost(4, search=BoostSearch(n_lambdas=1, n_prunings=0), class_costs=[[0, 1], [5, 0]], random_state=0)
    costly = calibrated(costly.fit(X[TRAINED], y[TRAINED]), X[HELD_OUT], y[HELD_OUT])
    assert costly.class_costs_.tolist() == [[0, 1], [5, 0]]
    probability = costly.predict_proba(X)
    np.testing.assert_array_equal(costly.predict(X), probability[:, 1] * 5 > probability[:, 0])
    assert costly.misclassification_cost(X, y) == np.array([[0, 1], [5, 0]])[y, costly.predict(X)].mean()


def test_a_calibrated_model_goes_to_other_budgets_and_into_pickles(model):
    calibrator = calibrated(model, X[HELD_OUT], y[HELD_OUT])
    other = calibrator.at_budget(6)
    assert other.budget == 6
    np.testing.assert_array_equal(other.cost(X), model.at_budget(6).cost(X))
    again = calibrated(model.at_budget(6), X[HELD_OUT], y[HELD_OUT])
    np.testing.assert_array_equal(other.predict_proba(X), again.predict_proba(X))
    kept = pickle.loads(pickle.dumps(calibrator))
    np.testing.assert_array_equal(kept.predict_proba(X), calibrator.predict_proba(X))
    np.testing.assert_array_equal(kept.at_budget(6).predict_proba(X), other.predict_proba(X))


def test_cross_fitted_probabilities_know_nothing_of_their_own_labels(model):
    calibrator = calibrated(model, X[HELD_OUT], y[HELD_OUT], method="isotonic", min_samples=50)
    own = log_loss(y[HELD_OUT], calibrator.predict_proba(X[HELD_OUT]))
    assert log_loss(y[HELD_OUT], calibrator.cross_fitted_) > own
    changed = y[HELD_OUT].copy()
    alone = np.flatnonzero((calibrator.place_ == 0) & (changed == 0))[-1]
    np.testing.assert_allclose(calibrator.cross_fitted_.sum(axis=1), 1)
    changed[alone] = 1
    other = calibrated(model, X[HELD_OUT], changed, method="isotonic", min_samples=50)
    elsewhere = calibrator.place_ != 0
    np.testing.assert_array_equal(other.cross_fitted_[elsewhere], calibrator.cross_fitted_[elsewhere])


def test_calibration_of_several_classes_sums_to_one():
    data, labels = load_iris(return_X_y=True)
    boosted = BudgetBoost(
        6, search=BoostSearch(n_lambdas=1, n_prunings=0, single_price=False), budget=2, random_state=0
    )
    boosted.fit(data[::2], labels[::2])
    calibrator = calibrated(boosted, data[1::2], labels[1::2], min_samples=20)
    np.testing.assert_allclose(calibrator.predict_proba(data).sum(axis=1), 1)
    assert calibrator.score(data, labels) > 0.8


@pytest.mark.parametrize(
    ("asked", "labels", "least", "first"),
    [
        ([1] * 4 + [2] * 4, [0, 0, 1, 1] * 2, 4, [0, 2]),
        ([1] * 4 + [2] * 4, [0, 0, 1, 1] * 2, 5, [0]),
        ([1] * 4 + [2] * 4, [0] * 4 + [0, 0, 1, 1], 1, [0]),
        ([1] * 4 + [2] * 4, [0, 0, 1, 1, 0, 0, 0, 1], 4, [0]),
        ([0] * 4 + [2] * 2 + [3] * 2 + [9], [0, 0, 1, 1, 0, 0, 1, 1, 0], 4, [0, 2]),
        ([0] * 4 + [2] * 2 + [3] * 2 + [9] * 4, [0, 0, 1, 1] * 3, 4, [0, 2, 9]),
    ],
)
def test_places_with_too_few_examples_are_pooled(asked, labels, least, first):
    assert pooled_places(np.array(asked), np.array(labels), np.array([0, 1]), least).tolist() == first


def test_an_estimator_that_is_not_fitted_is_trained_on_other_examples():
    inner = BudgetBoost(4, search=BoostSearch(n_lambdas=1, n_prunings=0), random_state=0)
    calibrator = CalibratedClassifier(inner, validation_fraction=0.5, random_state=0).fit(X, y)
    assert calibrator.place_.size == 450
    assert not hasattr(inner, "members_")
    given = CalibratedClassifier(inner).fit(X[TRAINED], y[TRAINED], X[HELD_OUT], y[HELD_OUT])
    expected = calibrated(inner.fit(X[TRAINED], y[TRAINED]), X[HELD_OUT], y[HELD_OUT])
    np.testing.assert_array_equal(given.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("adapted", [CalibratedClassifier, ThresholdClassifier])
def test_examples_may_be_whatever_becomes_an_array(adapted):
    class Examples:
        """What is no array, and has neither rows nor a length."""

        def __array__(self, dtype=None, copy=None):
            return X.astype(dtype or X.dtype)

    X, y = make_classification(200, random_state=0)
    estimator = adapted(BudgetPrune(RandomForestClassifier(3, random_state=0), random_state=0), random_state=0)
    found = clone(estimator).fit(Examples(), y).predict_proba(Examples())
    np.testing.assert_array_equal(found, clone(estimator).fit(X, y).predict_proba(X))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        clone(estimator).fit(X, X[:, 0])


def test_names_of_columns_are_those_of_the_last_fit():
    table = pd.DataFrame(X[:150], columns=list("abcdef"))
    adapted = ThresholdClassifier(BudgetPrune(RandomForestClassifier(3, random_state=0)), threshold=0.4, random_state=0)
    assert adapted.fit(table, y[:150]).feature_names_in_.tolist() == list("abcdef")
    assert not hasattr(adapted.fit(X[:150], y[:150]), "feature_names_in_")


def test_a_pipeline_is_calibrated_in_the_columns_of_its_table():
    pipeline = BudgetedPipeline(
        StandardScaler(), BudgetBoost(4, search=BoostSearch(n_lambdas=1, n_prunings=0), random_state=0)
    )
    pipeline.fit(X[TRAINED], y[TRAINED])
    calibrator = calibrated(pipeline, X[HELD_OUT], y[HELD_OUT])
    np.testing.assert_array_equal(calibrator.cost(X), pipeline.cost(X))
    inner = calibrated(pipeline.estimator_, pipeline._transformed(X[HELD_OUT]), y[HELD_OUT])
    np.testing.assert_array_equal(calibrator.predict_proba(X), inner.predict_proba(pipeline._transformed(X)))


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("pos_label", [None, 0])
def test_a_threshold_decides_as_that_of_scikit_learn(model, threshold, pos_label):
    frozen = FrozenEstimator(model)
    ours = ThresholdClassifier(frozen, threshold=threshold, pos_label=pos_label).fit(X[HELD_OUT], y[HELD_OUT])
    peer = FixedThresholdClassifier(frozen, threshold=threshold, pos_label=pos_label, response_method="predict_proba")
    assert ours.threshold_.tolist() == ([threshold, 1 - threshold] if pos_label == 0 else [1 - threshold, threshold])
    np.testing.assert_array_equal(ours.predict(X), peer.fit(X, y).predict(X))
    np.testing.assert_array_equal(ours.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(ours.cost(X), model.cost(X))


def test_several_classes_have_a_threshold_each():
    data, labels = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[labels]
    boosted = BudgetBoost(
        6, search=BoostSearch(n_lambdas=1, n_prunings=0, single_price=False), budget=1, random_state=0
    ).fit(data, names)
    thresholds = {"c": 0.2, "a": 0.5, "b": 0.9}
    model = ThresholdClassifier(FrozenEstimator(boosted), threshold=thresholds).fit(data, names)
    ratios = boosted.predict_proba(data) / [0.5, 0.9, 0.2]
    np.testing.assert_array_equal(model.predict(data), np.array(["a", "b", "c"])[ratios.argmax(axis=1)])
    tuned = ThresholdClassifier(FrozenEstimator(boosted), scoring="balanced_accuracy").fit(data, names)
    assert tuned.best_score_ == pytest.approx(balanced_accuracy_score(names, tuned.predict(data)))
    assert tuned.best_score_ >= balanced_accuracy_score(names, boosted.predict(data))


def test_of_equal_scores_the_most_even_thresholds_are_taken():
    tried = [Decision(np.array(each)) for each in ([0.9, 0.1], [0.6, 0.4], [0.5, 0.5])]
    assert _best(tried, lambda decision: float(decision.threshold[0] > 0.5)) == (1.0, tried[1])


def test_a_tuned_threshold_is_the_best_of_all(model):
    few = slice(300, 360)
    weight = 1.0 + 4 * y[few]
    tuned = ThresholdClassifier(FrozenEstimator(model), scoring="f1")
    tuned.fit(X[few], y[few], sample_weight=weight)
    probability = model.predict_proba(X[few])[:, 1]
    scores = [f1_score(y[few], probability >= value, sample_weight=weight) for value in np.unique(probability)]
    assert tuned.best_score_ == pytest.approx(max(scores))
    own = f1_score(y[few], tuned.predict(X[few]), sample_weight=weight)
    assert own == pytest.approx(max(scores))


def test_thresholds_are_put_on_calibrated_probabilities(model):
    calibrator = calibrated(model, X[HELD_OUT], y[HELD_OUT])
    both = ThresholdClassifier(FrozenEstimator(calibrator), threshold=0.3).fit(X[HELD_OUT], y[HELD_OUT])
    np.testing.assert_array_equal(both.predict(X), calibrator.predict_proba(X)[:, 1] >= 0.3)
    assert both.at_budget(0).budget == 0
    session = both.at_budget(0).session()
    assert session.answer == int(session.probabilities[1] >= 0.3)
    assert "calibration and decision thresholds" in both.decides_by


def test_exports_refuse_what_they_would_drop(boosted):
    for adapted in (
        calibrated(boosted, X[HELD_OUT], y[HELD_OUT]),
        ThresholdClassifier(boosted, threshold=0.3).fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"calibration|decision thresholds"):
            write(adapted, "sklearn")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_adapted_models_go_into_model_files(boosted, tmp_path, method):
    calibrator = calibrated(boosted, X[HELD_OUT], y[HELD_OUT], method=method)
    both = ThresholdClassifier(FrozenEstimator(calibrator), threshold=0.3).fit(X[HELD_OUT], y[HELD_OUT])
    save_model(both, tmp_path / "model.skops")
    kept = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(kept.predict_proba(X), both.predict_proba(X))
    np.testing.assert_array_equal(kept.at_budget(6).predict(X), both.at_budget(6).predict(X))


@pytest.mark.parametrize(
    ("adapted", "error", "message"),
    [
        (CalibratedClassifier(LogisticRegression()), TypeError, "estimator: expected a classifier that buys"),
        (CalibratedClassifier(BudgetBoost(), method="beta"), ValueError, "method: expected one of 'sigmoid'"),
        (CalibratedClassifier(BudgetBoost(), min_samples=0), ValueError, "min_samples: expected an integer >= 1"),
        (CalibratedClassifier(BudgetBoost(), validation_fraction=2), ValueError, "validation_fraction: expected"),
        (ThresholdClassifier(BudgetBoost(), threshold=1.5), ValueError, "threshold: expected a number between 0 and 1"),
        (ThresholdClassifier(BudgetBoost(), threshold=True), ValueError, "threshold: expected a number between 0 and"),
        (ThresholdClassifier(BudgetBoost(), threshold={0: 0}), ValueError, "threshold: expected finite numbers > 0"),
        (ThresholdClassifier(BudgetBoost(), scoring="gain"), ValueError, "scoring: expected the name"),
    ],
)
def test_bad_parameters_are_refused_before_training(adapted, error, message):
    with pytest.raises(error, match=message):
        adapted.fit(X, y)


def test_bad_input_is_refused(model):
    frozen = FrozenEstimator(model)
    with pytest.raises(ValueError, match="y: expected two examples of each class to calibrate, got 0 of 1"):
        calibrated(model, X[y == 0], y[y == 0])
    with pytest.raises(ValueError, match=r"threshold: expected one for each class of \[0, 1\], got \[0, 2\]"):
        ThresholdClassifier(frozen, threshold={0: 0.3, 2: 0.4}).fit(X, y)
    with pytest.raises(ValueError, match=r"pos_label: expected one of the classes \[0, 1\], got 'ill'"):
        ThresholdClassifier(frozen, threshold=0.4, pos_label="ill").fit(X, y)
    with pytest.raises(ValueError, match="y: expected labels among the classes of training, got 7"):
        calibrated(model, X, np.full(900, 7))
    iris = BudgetBoost(4, search=BoostSearch(n_lambdas=1, n_prunings=0), random_state=0).fit(
        *load_iris(return_X_y=True)
    )
    with pytest.raises(ValueError, match=r"threshold: expected one for each of 3 classes, such as a dict, got 0\.4"):
        ThresholdClassifier(iris, threshold=0.4).fit(*load_iris(return_X_y=True))
    pruned = BudgetPrune(RandomForestClassifier(3, random_state=0)).fit(X, y)
    assert calibrated(pruned, X, y).predict_proba(X).shape == (900, 2)
