"""Cross-validation of a whole estimator: its folds, its groups, and what an interruption leaves."""

import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetedClassifier,
    BudgetedPipeline,
    BudgetPrune,
    cross_validated,
)

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200, :5], y[:200]
GROUPS = np.arange(200) // 4
SMALL = {
    "growth": BoostGrowth(max_leaf_nodes=4),
    "search": BoostSearch(n_lambdas=1, n_prunings=0, single_price=False),
    "random_state": 0,
}
BOOSTED = BudgetBoost(5, **SMALL)


class Recorded(BudgetBoost):
    """Notes which examples it sees: the first feature of each is its number."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None, groups=None):
        Recorded.seen.append((X[:, 0].astype(int), groups, sample_weight))
        return super().fit(X, y, sample_weight=sample_weight, groups=groups)


class Plain(BudgetBoost):
    """Takes no groups."""

    def fit(self, X, y):
        return super().fit(X, y)


def numbered():
    Recorded.seen = []
    return Recorded(4, **SMALL), np.column_stack([np.arange(200), X])


@pytest.mark.slow
def test_each_fold_is_fitted_once_and_measured_at_every_budget():
    model, data = numbered()
    splitter = StratifiedKFold(2, shuffle=True, random_state=3)
    found = cross_validated(model, data, y, budgets=[3, 1], cv=splitter, scoring="balanced_accuracy").folds
    assert len(Recorded.seen) == 2
    rows = iter(found.itertuples(index=False))
    for number, (training, test) in enumerate(splitter.split(data, y)):
        fitted = BudgetBoost(4, **SMALL).fit(data[training], y[training])
        np.testing.assert_array_equal(Recorded.seen[number][0], training)
        for budget in (3, 1):
            at, row = fitted.at_budget(budget), next(rows)._asdict()
            assert (row["fold"], row["budget"], row["n_samples"]) == (number, budget, test.size)
            assert row["cost"] == pytest.approx(at.cost(data[test]).mean())
            assert row["AUC"] == pytest.approx(roc_auc_score(y[test], at.predict_proba(data[test])[:, 1]))
            balanced = balanced_accuracy_score(y[test], at.predict(data[test]))
            assert found.loc[2 * number + (budget == 1), "balanced accuracy"] == pytest.approx(balanced)


def test_means_have_standard_errors_over_the_folds_where_a_measure_is_defined():
    found = cross_validated(
        BOOSTED, X, y, budgets=[2], cv=[(np.arange(100), r) for r in np.split(np.arange(100, 200), 4)]
    )
    means, errors = found.means, found.folds["error"]
    assert means.loc[(2, "error")].tolist() == pytest.approx([errors.mean(), errors.std(ddof=1) / 2, 4])
    one_class = np.flatnonzero(y == 1)[:30]
    found = cross_validated(BOOSTED, X, y, cv=[(np.arange(100), np.arange(100, 200)), (np.arange(100), one_class)])
    assert found.folds["budget"].isna().all()
    row = found.means.xs("AUC", level="measure").iloc[0]
    assert row["n_folds"] == 1
    assert row["mean"] == found.folds["AUC"][0]
    assert "AUC" in str(found)


def test_groups_are_not_parted_between_folds_and_go_to_fit():
    model, data = numbered()
    cross_validated(model, data, y, budgets=[2], cv=GroupKFold(2), groups=GROUPS, sample_weight=1 + y)
    for training, groups, weight in Recorded.seen:
        np.testing.assert_array_equal(groups, GROUPS[training])
        np.testing.assert_array_equal(weight, 1 + y[training])
    one, other = (set(groups) for _, groups, _ in Recorded.seen)
    assert not one & other
    assert len(one | other) == 50


def test_an_integer_keeps_groups_together():
    model, data = numbered()
    cross_validated(model, data, y, budgets=[2], cv=2, groups=GROUPS)
    one, other = (set(groups) for _, groups, _ in Recorded.seen)
    assert not one & other


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        BudgetedClassifier([BOOSTED], random_state=0),
        BudgetPrune(RandomForestClassifier(4, max_depth=3, random_state=0), random_state=0),
        BudgetedPipeline(StandardScaler(), BOOSTED),
        BudgetedPipeline(StandardScaler(), BudgetedClassifier([BOOSTED], random_state=0)),
    ],
    ids=["classifier", "pruning", "pipeline", "pipeline of a classifier"],
)
def test_groups_go_to_every_kind_of_estimator(model):
    found = cross_validated(model, X, y, budgets=[2], cv=GroupKFold(2), groups=GROUPS)
    assert found.folds["error"].between(0, 0.5).all()


def test_an_interrupted_call_goes_on_where_it_was(tmp_path, monkeypatch):
    model, data = numbered()
    whole = cross_validated(model, data, y, budgets=[1, 2], cv=3).folds
    fits = iter(range(100))

    def interrupted(self, *examples, **options):
        if next(fits) == 2:
            raise KeyboardInterrupt
        return fit(self, *examples, **options)

    fit = Recorded.fit
    monkeypatch.setattr(Recorded, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cross_validated(model, data, y, budgets=[1, 2], cv=3, directory=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    found = cross_validated(model, data, y, budgets=[1, 2], cv=3, directory=tmp_path).folds
    pd.testing.assert_frame_equal(found, whole)
    assert next(fits) == 4
    again = cross_validated(model, data, y, budgets=[1, 2], cv=3, directory=tmp_path).folds
    pd.testing.assert_frame_equal(again, whole)
    assert next(fits) == 5


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["budgets", "data", "parameters", "scoring", "weights"])
def test_another_question_is_not_answered_from_the_files(tmp_path, changed):
    asked = {"budgets": [2], "cv": 2, "directory": tmp_path}
    model, data = numbered()
    cross_validated(model, data, y, **asked)
    if changed == "budgets":
        asked["budgets"] = [1]
    elif changed == "data":
        data = data + np.eye(200, 6)[::-1]
    elif changed == "parameters":
        model.set_params(growth__learning_rate=0.2)
    elif changed == "scoring":
        asked["scoring"] = ["f1"]
    else:
        asked["sample_weight"] = 1 + y
    cross_validated(model, data, y, **asked)
    assert len(list(tmp_path.iterdir())) == 4
    assert all(isinstance(json.loads(file.read_text()), list) for file in tmp_path.iterdir())


def test_several_classes_and_data_frames():
    data, labels = load_iris(return_X_y=True, as_frame=True)
    found = cross_validated(BOOSTED, data, labels.map({0: "a", 1: "b", 2: "c"}), budgets=np.array([1, 2]), cv=2)
    assert {"recall of a", "recall of b", "recall of c", "AUC"} < set(found.folds.columns)


@pytest.mark.parametrize(
    ("model", "parameters", "error", "message"),
    [
        (LogisticRegression(), {}, TypeError, "model: expected one that buys, .*, got LogisticRegression"),
        (BOOSTED, {"budgets": [-1]}, ValueError, "budgets: expected a number >= 0"),
        (BOOSTED, {"budgets": []}, ValueError, "budgets: expected a sequence of 1 or more, got "),
        (BOOSTED, {"scoring": ["gain"]}, ValueError, "scoring: expected the name"),
        (BOOSTED, {"groups": GROUPS[:3]}, ValueError, "groups: expected one for each of 200 examples"),
        (BOOSTED, {"groups": GROUPS, "cv": KFold(3)}, ValueError, "cv: expected folds that keep groups together"),
        (
            Plain(4, **SMALL),
            {"groups": GROUPS},
            ValueError,
            "groups: expected an estimator whose fit takes groups, got Plain",
        ),
        (BOOSTED, {"sample_weight": -np.ones(200)}, ValueError, "sample_weight"),
        (BOOSTED, {"groups": y}, ValueError, "groups: expected two at least in each outer training part"),
    ],
)
def test_bad_input_is_refused(model, parameters, error, message):
    with pytest.raises(error, match=message):
        cross_validated(model, X, y, **{"budgets": [2], "cv": 2, **parameters})


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_of_one_example_is_refused_before_training():
    labels = np.where(np.arange(len(y)) == 3, "rare", y.astype(str))
    with pytest.raises(
        ValueError, match="cv: expected examples of each class to train on in each fold, got none of 'ra"
    ):
        cross_validated(BOOSTED, X, labels, budgets=[2], cv=2)


@pytest.mark.parametrize("n_rows", [5, 300])
def test_other_numbers_of_rows_and_targets_are_refused(n_rows):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cross_validated(BOOSTED, np.ones((n_rows, X.shape[1])), y, budgets=[2], cv=2)


def test_scorers_that_no_pickle_takes_are_refused_with_a_directory(tmp_path):
    scorer = lambda model, X, y: 1.0  # noqa: E731  # pickle finds no name for it
    assert cross_validated(BOOSTED, X, y, budgets=[2], cv=2, scoring=scorer).folds["<lambda>"].eq(1).all()
    with pytest.raises(ValueError, match="directory: expected an estimator and measures that pickle takes"):
        cross_validated(BOOSTED, X, y, budgets=[2], cv=2, scoring=scorer, directory=tmp_path)
