"""Measures that scikit-learn lacks, and what reads the measures of users."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, hinge_loss, make_scorer
from sklearn.model_selection import cross_val_score

from ipforest.choosing.measures import (
    AnswersToScore,
    HeldOutScorer,
    log_odds,
    name_of,
    read_scoring,
    sensitivity_at,
    specificity_at,
)


def answers(probability, classes=(0, 1)):
    outputs = np.column_stack([1 - np.asarray(probability), probability])
    return AnswersToScore(
        outputs, np.asarray(classes)[outputs.argmax(axis=1)], np.zeros(len(outputs)), np.asarray(classes)
    )


def by_thresholds(probability, positive, weight, least, *, of_sensitivity):
    """Try every threshold, and none."""
    best = -1.0
    for threshold in [*np.unique(probability), np.inf]:
        called = probability >= threshold
        sensitivity = weight[called & positive].sum() / weight[positive].sum()
        specificity = weight[~called & ~positive].sum() / weight[~positive].sum()
        reached, given = (sensitivity, specificity) if of_sensitivity else (specificity, sensitivity)
        if given >= least - 1e-12:
            best = max(best, reached)
    return best


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("of_sensitivity", [True, False])
def test_an_operating_point_is_the_best_of_all_thresholds(seed, of_sensitivity):
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(30) % 3 == 0)
    probability = random.integers(0, 8, 30) / 7  # ties
    weight = random.integers(0, 4, 30) + (random.random() < 0.5) * 0.25
    weight[:2] = 1.0
    weight[np.flatnonzero(y)[0]] = weight[np.flatnonzero(~y)[0]] = 1
    least = random.choice([0.0, 0.5, 0.8, 0.9, 1.0])
    scorer = sensitivity_at(least) if of_sensitivity else specificity_at(least)
    expected = by_thresholds(probability, y, weight, least, of_sensitivity=of_sensitivity)
    assert scorer(answers(probability), np.zeros((30, 1)), y.astype(int), weight) == pytest.approx(expected)


def test_a_specificity_that_is_met_exactly_counts():
    probability, y = np.linspace(0, 1, 11), np.array([0] * 9 + [1, 0])
    assert sensitivity_at(0.9)(answers(probability), np.zeros((11, 1)), y) == 1.0


def test_one_of_many_classes_is_the_positive_one():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X[:, :2], y)
    expected = by_thresholds(model.predict_proba(X[:, :2])[:, 1], y == 1, np.ones(150), 0.8, of_sensitivity=True)
    assert sensitivity_at(0.8, pos_label=1)(model, X[:, :2], y) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"pos_label: expected one of the classes \[0, 1, 2\], got None"):
        sensitivity_at(0.8)(model, X[:, :2], y)
    with pytest.raises(ValueError, match=r"pos_label: expected one of the classes \[0, 1, 2\], got 'b'"):
        sensitivity_at(0.8, pos_label="b")(model, X[:, :2], y)


def test_scorers_go_into_scikit_learn_and_into_pickles():
    X, y = load_iris(return_X_y=True)
    scorer = pickle.loads(pickle.dumps(sensitivity_at(0.9)))
    assert scorer == sensitivity_at(0.9)
    assert cross_val_score(LogisticRegression(), X[50:, 2:], y[50:], scoring=scorer, cv=3).min() > 0.7


@pytest.mark.parametrize(
    ("scoring", "error", "message"),
    [
        ("roc_acu", ValueError, r"scoring: expected the name of .*, got 'roc_acu'; the closest is 'roc_auc'"),
        ("sensitivity_at=2", ValueError, r"scoring: expected a number between 0 and 1 after sensitivity_at=, got '2'"),
        ("sensitivity_at=x", ValueError, r"scoring: expected a number between 0 and 1 .*, got 'x'"),
        (3, TypeError, r"scoring: expected the name of a scikit-learn scorer or a callable .*, got 3"),
        (LogisticRegression, TypeError, r"scoring: expected the name"),
    ],
)
def test_what_is_no_scorer_is_refused(scoring, error, message):
    with pytest.raises(error, match=message):
        read_scoring(scoring)


@pytest.mark.parametrize("least", [-0.1, 1.1, "0.9", True, float("nan")])
def test_a_rate_that_is_no_share_is_refused(least):
    with pytest.raises(ValueError, match="specificity: expected a number between 0 and 1"):
        sensitivity_at(least)


def test_measures_have_names():
    assert name_of("neg_log_loss") == "neg log loss"
    assert name_of("sensitivity_at=0.9") == name_of(sensitivity_at(0.9)) == "sensitivity at specificity 0.9"
    assert name_of(hinge_loss) == "hinge loss"


def scorer_of(scoring, probability, y, weight=None, classes=(0, 1)):
    classes = np.asarray(classes)
    weight = np.ones(len(y)) if weight is None else weight
    held_out = HeldOutScorer(
        scoring, np.zeros((len(y), 1)), np.asarray(y), weight, classes, lambda p: classes[p.argmax(axis=1)]
    )
    return held_out(np.column_stack([1 - probability, probability]), np.zeros(len(y)))


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "average_precision", "neg_log_loss", "neg_brier_score", "f1"])
def test_stored_answers_score_as_the_model_itself(name):
    X, y = load_iris(return_X_y=True)
    X, y, weight = X[50:, :2], y[50:] - 1, np.arange(100) % 3 + 0.5
    model = LogisticRegression().fit(X, y)
    scored = scorer_of(name, model.predict_proba(X)[:, 1], y, weight)
    assert scored == pytest.approx(get_scorer(name)(model, X, y, sample_weight=weight), abs=1e-12)


def test_a_scorer_of_decision_values_gets_the_log_odds():
    scorer = make_scorer(hinge_loss, response_method="decision_function")
    probability, y = np.array([0.2, 0.9, 0.6]), [0, 1, 0]
    odds = np.log(probability / (1 - probability))
    assert scorer_of(scorer, probability, y) == pytest.approx(hinge_loss(y, odds))


def test_log_odds_are_finite_for_sure_answers_and_per_class_for_several():
    assert np.isfinite(log_odds(np.array([[0.0, 1.0], [1.0, 0.0]]))).all()
    shares = np.array([[0.2, 0.3, 0.5]])
    np.testing.assert_allclose(log_odds(shares), np.log(shares / (1 - shares)))


@pytest.mark.parametrize(
    ("scoring", "y", "classes", "message"),
    [
        ("roc_auc", [0, 0, 0], (0, 1), r"3 validation examples by roc auc, whose classes are \[0\], got nan"),
        ("f1", ["a", "b", "a"], ("a", "b"), r"by f1, got pos_label=1 is not a valid label"),
        ("sensitivity_at=0.9", [1, 1, 1], (0, 1), r"got y: expected examples of class .*1.* and of others"),
        (lambda model, X, y: "high", [0, 1, 0], (0, 1), r"got could not convert string to float"),
        (lambda model, X, y: model.predict(X[:2]).mean(), [0, 1, 0], (0, 1), r"expected all 3 validation examples"),
        (lambda model, X, y: model.transform(X), [0, 1, 0], (0, 1), r"no attribute 'transform'"),
    ],
)
def test_a_measure_that_cannot_be_computed_is_named(scoring, y, classes, message):
    with pytest.raises(ValueError, match=rf"(?s)^scoring: expected a measure of .*{message}"):
        scorer_of(scoring, np.array([0.2, 0.9, 0.6]), y, classes=classes)


def test_targets_of_regression_are_scored():
    held_out = HeldOutScorer("r2", np.zeros((3, 1)), np.arange(3.0), np.ones(3), None, lambda outputs: outputs[:, 0])
    assert held_out(np.arange(3.0)[:, None], np.zeros(3)) == 1.0
    with pytest.raises(ValueError, match=r"scoring: .* by roc auc, got"):
        HeldOutScorer("roc_auc", held_out.X, held_out.y, held_out.weight, None, held_out.labels)(
            np.arange(3.0)[:, None], np.zeros(3)
        )


def test_a_measure_of_two_classes_points_to_those_of_several():
    outputs = np.eye(3)
    scorer = HeldOutScorer("roc_auc", outputs, np.arange(3), np.ones(3), np.arange(3), lambda p: p.argmax(axis=1))
    with pytest.raises(ValueError, match=r"by roc auc, got multi_class .*; for 3 classes there are .*roc_auc_ovr"):
        scorer(outputs, np.zeros(3))
    lacking = replace(scorer, scoring="roc_auc_ovr", y=np.array([0, 1, 0]))
    with pytest.raises(ValueError, match=r"by roc auc ovr, got .*; none of these examples is of class 2: leave out or"):
        lacking(outputs, np.zeros(3))


def test_a_class_that_held_out_examples_lack_gives_no_warning():
    outputs, classes = np.eye(3), np.arange(3)
    scorer = HeldOutScorer(
        "balanced_accuracy", outputs, np.array([0, 1, 1]), np.ones(3), classes, lambda outputs: outputs.argmax(axis=1)
    )
    assert scorer(outputs, np.zeros(3)) == 0.75
