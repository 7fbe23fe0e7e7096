"""What every estimator holds out: a share of the examples or of their groups, or what a splitter says; and weights."""

from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, PredefinedSplit, StratifiedGroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from ipforest import (
    BoostSearch,
    BranchingCascade,
    BudgetBoost,
    BudgetedClassifier,
    BudgetedPipeline,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    NestedCascade,
    NestedStages,
)
from ipforest.adaptive import AdaptLin, GateSearch, L1Baseline
from ipforest.estimator.given import seeded
from ipforest.learners import BudgetRF, ReadableTree
from ipforest.stopping.paths import StoppingPaths
from ipforest.wrappers.calibration import CalibratedClassifier

X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
GROUPS = np.repeat(np.arange(20), 4)
LAST = PredefinedSplit(np.where(np.arange(80) < 60, -1, 0))
ESTIMATORS = {
    type(model).__name__: model
    for make in (*REGRESSORS.values(), *CLASSIFIERS.values())
    for model in [make(FeatureCosts([1, 1, 1]))]
}
WITHOUT_WEIGHTS = {
    *("AdaptGbrt", "AdaptLin", "AdaptLstsq", "L1Baseline", "BudgetRF", "GreedyMiser", "GreedyMiserRegressor"),
    *("CSTC", "CSCC", "ASTC", "AndOrCascade", "AdaBoostRS"),
}
"""Their methods are defined with each example counting once."""


class PartedError(Exception):
    """Tells the rows of X that are trained on and held out."""


def parts(model: Any, patch: pytest.MonkeyPatch, table: Any = X, **given: Any) -> list[Any]:
    """Stop where training would begin, and tell the parts."""

    def train(_: Any, training: Any, validation: Any, *more: Any, **options: Any) -> None:
        raise PartedError([np.flatnonzero(np.isin(X[:, 0], part.X[:, 0])) for part in (training, validation)])

    inner = model.estimator if isinstance(model, ReadableTree) else model
    patch.setattr(type(inner), "_train", train)
    with pytest.raises(PartedError) as stopped:
        clone(model).fit(table, Y if is_classifier(model) else X[:, 0], **given)
    told: list[Any] = stopped.value.args[0]
    return told


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fit_takes_groups_and_says_whether_it_takes_weights(name: str) -> None:
    assert has_fit_parameter(ESTIMATORS[name], "groups")
    assert has_fit_parameter(ESTIMATORS[name], "sample_weight") == (name not in WITHOUT_WEIGHTS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_groups_stay_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    training, held_out = parts(ESTIMATORS[name], monkeypatch, groups=GROUPS)
    assert len(held_out) == 20
    assert len(training) == 60
    assert not {*GROUPS[training]} & {*GROUPS[held_out]}


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "ReadableTree"])
def test_a_splitter_says_what_is_held_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = clone(ESTIMATORS[name]).set_params(validation_fraction=LAST)
    training, held_out = parts(model, monkeypatch)
    assert (training.tolist(), held_out.tolist()) == ([*range(60)], [*range(60, 80)])


def test_a_splitter_has_the_groups_too(monkeypatch: pytest.MonkeyPatch) -> None:
    splitter = StratifiedGroupKFold(5)
    model = EarlyExit(RandomForestClassifier(), validation_fraction=splitter)
    training, held_out = parts(model, monkeypatch, groups=GROUPS)
    expected = next(splitter.split(X, Y, GROUPS))
    assert (training.tolist(), held_out.tolist()) == tuple(part.tolist() for part in expected)


@pytest.mark.parametrize("splitter", [StratifiedGroupKFold(3), GroupKFold(3), LeaveOneGroupOut()])
def test_a_splitter_of_groups_asks_for_them(splitter: Any) -> None:
    kind = type(splitter).__name__
    with pytest.raises(ValueError, match=f"^groups: expected those of the examples, by which {kind} holds some out"):
        EarlyExit(RandomForestClassifier(), validation_fraction=splitter).fit(X, Y)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:7], r"groups: expected one for each of 80 examples, got shape \(7,\)"),
        (np.arange(160).reshape(80, 2), r"groups: expected one for each of 80 examples, got shape \(80, 2\)"),
        (np.where(GROUPS[3] == GROUPS, np.nan, GROUPS), "groups: expected one for each example, got none in place"),
        (Y, "groups: expected examples of each class to train on, got none of [01]; use a splitter that stratifies"),
        (pd.Series(GROUPS[::-1], index=range(79, -1, -1)), "groups: expected the rows of X in their order, got 79 in"),
    ],
)
def test_bad_groups_are_refused(groups: Any, message: str) -> None:
    inner = BudgetPrune(RandomForestClassifier(2, random_state=0), random_state=0)
    for model in (EarlyExit(inner, random_state=0), CalibratedClassifier(inner, random_state=0), ReadableTree(inner)):
        with pytest.raises(ValueError, match=f"^{message}"):
            model.fit(pd.DataFrame(X), Y, groups=groups)


@pytest.mark.parametrize("given", [1.5, "split", 5])
def test_what_parts_nothing_is_refused(given: Any) -> None:
    model = NestedCascade(RandomForestClassifier(2), validation_fraction=given)
    with pytest.raises(
        ValueError, match=f"^validation_fraction: expected None or a number between 0 and 1, got {given!r}"
    ):
        model.fit(X, Y)


def test_the_estimator_inside_keeps_groups_together(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = BudgetPrune(RandomForestClassifier(2, random_state=0), random_state=0)
    held_out: list[Any] = []
    train = BudgetPrune._train

    def noting(self: Any, training: Any, validation: Any, given: Any, **options: Any) -> None:
        held_out.append([GROUPS[np.isin(X[:, 0], part.X[:, 0])] for part in (training, validation)])
        train(self, training, validation, given, **options)

    monkeypatch.setattr(BudgetPrune, "_train", noting)
    for model in (EarlyExit(inner, random_state=0), CalibratedClassifier(inner, random_state=0), ReadableTree(inner)):
        model.fit(X, Y, groups=GROUPS)
    assert len(held_out) == 3
    assert not any({*training} & {*validation} for training, validation in held_out)


def test_no_group_is_both_trained_on_and_calibrated_by() -> None:
    inner = BudgetPrune(RandomForestClassifier(2, random_state=0), random_state=0)
    for seed in range(3):
        calibrator = CalibratedClassifier(inner, random_state=seed).fit(X, Y, groups=GROUPS, sample_weight=1 + Y)
        rows = np.isin(X[:, 0], calibrator._held_out.X[:, 0])
        np.testing.assert_array_equal(np.isin(GROUPS, GROUPS[rows]), rows)
        weight = calibrator._held_out.weight
        np.testing.assert_allclose(weight / weight.mean(), (1 + Y[rows]) / (1 + Y[rows]).mean())


FOREST = RandomForestClassifier(3, max_depth=2)


class OfOtherGroups(ClassifierMixin, BaseEstimator):
    """Answers about examples of groups that it was not trained on alone; the first feature is the group."""

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_, self.groups_, self.n_features_in_ = np.unique(y), np.unique(X[:, 0]), X.shape[1]
        return self

    def predict_proba(self, X: Any) -> Any:
        assert not np.isin(X[:, 0], self.groups_).any()
        return np.full((len(X), 2), 0.5)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


CHAIN = NestedCascade(OfOtherGroups(), stages=NestedStages(order=[0, 1, 2], sizes=[1, 2], sees_before=True))


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
@pytest.mark.parametrize(
    "model",
    [CHAIN, BudgetedClassifier([CHAIN]), AdaptLin(OfOtherGroups(), search=GateSearch(lambdas=1, shares=[0.5]))],
    ids=lambda model: type(model).__name__,
)
def test_cross_fitting_keeps_groups_together(model: Any) -> None:
    clone(model).set_params(random_state=0).fit(np.column_stack([GROUPS, X[:, 1:]]), Y, groups=GROUPS)


class NotingGroups:
    """A rule that notes the groups that it is fitted on."""

    def fit(self, paths: StoppingPaths) -> Self:
        fitted = copy(self)
        fitted.groups, fitted.n_samples = {*paths.groups.tolist()}, paths.n_samples
        FITTED.append(fitted)
        return fitted

    def keenness(self, stage: Any, signal: Any, memory: Any) -> Any:
        return 1.0 - signal, memory


FITTED: list[Any] = []


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
@pytest.mark.parametrize(
    "make",
    [
        lambda rule: EarlyExit(FOREST, stopping=rule),
        lambda rule: NestedCascade(FOREST, stopping=rule),
        lambda rule: BudgetedClassifier(
            [BudgetBoost(4, search=BoostSearch(n_lambdas=1, n_prunings=0, single_price=False, stopping=rule))]
        ),
    ],
)
def test_stopping_is_cross_fitted_by_groups(make: Any) -> None:
    FITTED.clear()
    make(NotingGroups()).set_params(random_state=0).fit(X, Y, groups=GROUPS)
    assert {len(each.groups) for each in FITTED} == {4, 5}  # of five groups of four, all or all but one
    assert {each.n_samples for each in FITTED} == {16, 20}


def test_one_group_is_too_few_for_cross_fitting() -> None:
    model = NestedCascade(DecisionTreeClassifier(), stages=NestedStages(sees_before=True))
    with pytest.raises(ValueError, match=r"^groups: expected two or more among the examples to train on, .* got one$"):
        model.fit(X, Y, X, Y, groups=np.zeros(80))


WITHIN = (
    EarlyExit(FOREST),
    NestedCascade(FOREST),
    BudgetPrune(FOREST),
    CalibratedClassifier(BudgetPrune(FOREST)),
    BudgetedClassifier([FOREST, NestedCascade(FOREST)]),
    AdaptLin(FOREST, search=GateSearch(lambdas=1, shares=[0.5])),
)


@pytest.mark.parametrize("model", WITHIN, ids=lambda model: type(model).__name__)
def test_a_seed_is_one_for_the_estimator_inside_too(model: Any) -> None:
    first, second = (clone(model).set_params(random_state=0).fit(X, Y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_seeds_of_estimators_inside_stay_and_without_one_outside_they_get_none() -> None:
    inside = BudgetPrune(RandomForestClassifier(random_state=7))
    within = seeded(inside, 0)
    assert within.random_state == seeded(inside, 0).random_state is not None
    assert within.estimator.random_state == 7
    assert seeded(inside, None).random_state is None
    assert inside.random_state is None


def test_weights_reach_the_ensemble_and_stopping_counts_examples_once() -> None:
    weight = np.where(Y == 1, 3.0, 1.0)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    model = EarlyExit(forest, validation_fraction=LAST, random_state=0).fit(X, Y, sample_weight=weight)
    trained = clone(forest).fit(X[:60], Y[:60], sample_weight=weight[:60])
    np.testing.assert_array_equal(model.estimator_.predict_proba(X), trained.predict_proba(X))
    plain = EarlyExit(trained, random_state=0).fit(X[60:], Y[60:])
    np.testing.assert_array_equal(model.curve_.error, plain.curve_.error)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_weights_are_repetitions_where_nothing_is_drawn() -> None:
    copies = np.random.default_rng(1).integers(0, 3, 80)
    rows = np.repeat(np.arange(80), copies)
    forest = RandomForestClassifier(3, bootstrap=False, max_features=None, random_state=0)
    pruned = BudgetPrune(forest, validation_fraction=None, random_state=0)
    for model in (ReadableTree(pruned, max_depth=2, random_state=0), EarlyExit(forest, random_state=0)):
        more = {"X_val": X, "y_val": Y} if isinstance(model, EarlyExit) else {}
        weighted = clone(model).fit(X, Y, sample_weight=copies, **more)
        repeated = clone(model).fit(X[rows], Y[rows], **more)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


QUICK = ("BudgetBoost", "BudgetForest")
WEIGHTED = sorted({*ESTIMATORS} - WITHOUT_WEIGHTS)


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in WEIGHTED])
def test_what_has_no_weight_is_not_trained_on(name: str) -> None:
    """Examples without weight were drawn, moved the bins of `BudgetBoost`, and counted in its leaves."""
    model, weight = ESTIMATORS[name], np.arange(80) % 3.0
    if isinstance(model, ReadableTree):
        model = clone(model).set_params(estimator__validation_fraction=None)
    y, held_out = Y if is_classifier(model) else X[:, 0], {}
    if has_fit_parameter(model, "X_val"):
        held_out = {"X_val": X, "y_val": y}
    elif has_fit_parameter(model, "X_cost"):
        held_out = {"X_cost": X}
    counts = weight > 0
    weighted = clone(model).fit(X, y, sample_weight=weight, **held_out)
    without = clone(model).fit(X[counts], y[counts], sample_weight=weight[counts], **held_out)
    np.testing.assert_array_equal(weighted.predict(X), without.predict(X))
    np.testing.assert_array_equal(weighted.cost(X), without.cost(X))


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
@pytest.mark.parametrize(
    "model",
    [
        NestedCascade(
            DecisionTreeClassifier(max_depth=2, random_state=0), stages=NestedStages(sees_before=True), random_state=0
        ),
        CalibratedClassifier(ESTIMATORS["BudgetForest"], random_state=0),
        EarlyExit(RandomForestClassifier(3, random_state=0), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_weights_arrive_with_metadata_routing_as_without(model: Any) -> None:
    weight = 1.0 + np.arange(80) % 3
    without = clone(model).fit(X, Y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        routed = clone(model).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(routed.predict_proba(X), without.predict_proba(X))


def test_weights_and_groups_reach_the_estimator_of_a_pipeline_by_metadata_routing() -> None:
    weight, groups, split = 1.0 + np.arange(80) % 3, np.arange(80) // 2, [(np.arange(80), np.arange(80))]
    pipeline = BudgetedPipeline(StandardScaler(), clone(ESTIMATORS["BudgetForest"]).set_params(feature_costs=None))
    with config_context(enable_metadata_routing=True):
        pipeline.set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=True)
        given = {"sample_weight": weight, "groups": groups}
        (routed,) = cross_validate(pipeline, X, Y, params=given, cv=split, return_estimator=True)["estimator"]
    without = clone(pipeline).fit(X, Y, sample_weight=weight, groups=groups)
    np.testing.assert_array_equal(routed.predict_proba(X), without.predict_proba(X))


def test_a_class_without_weight_is_known() -> None:
    y, weight = Y + 2 * (np.arange(80) < 5), (np.arange(80) >= 5).astype(float)
    for model in (ESTIMATORS["BudgetForest"], EarlyExit(RandomForestClassifier(3, random_state=0), random_state=0)):
        fitted = clone(model).fit(X, y, X, y, sample_weight=weight)
        assert fitted.classes_.size == fitted.predict_proba(X).shape[1] == np.unique(y).size


@pytest.mark.parametrize(
    "model",
    [
        EarlyExit(BudgetRF(2), random_state=0),
        ReadableTree(BudgetRF(2)),
        NestedCascade(KNeighborsClassifier()),
        CalibratedClassifier(BudgetRF(2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_weights_are_refused_where_the_model_inside_takes_none(model: Any) -> None:
    assert not has_fit_parameter(model, "sample_weight")
    with pytest.raises(
        ValueError, match=r"^sample_weight: expected none with \w+, whose fit takes no weights, got weights"
    ):
        model.fit(X, Y, sample_weight=np.ones(80))


def test_a_bag_of_models_without_weights_draws_examples() -> None:
    """Bagging weighs examples instead where the signature of `fit` names weights."""
    model = EarlyExit(BudgetRF(2, random_state=0), random_state=0)
    assert BaggingClassifier(model, 2, random_state=0).fit(X, Y).score(X, Y) > 0.7
    assert has_fit_parameter(EarlyExit(BudgetRF(2, random_state=0).fit(X, Y)), "sample_weight")


@pytest.mark.parametrize("make", [NestedCascade, BranchingCascade])
def test_cascades_refuse_what_predicts_neither_classes_nor_numbers(make: Any) -> None:
    with pytest.raises(TypeError, match=r"^estimator: expected a classifier or a regressor, got KMeans$"):
        make(KMeans(2)).fit(X, Y)


@pytest.mark.parametrize(
    ("inside", "told"), [("a name", "str"), (KNeighborsClassifier, "the class KNeighborsClassifier"), (3, "int")]
)
@pytest.mark.parametrize(
    "make",
    [EarlyExit, NestedCascade, BranchingCascade, AdaptLin, L1Baseline, lambda inside: BudgetedClassifier([inside])],
)
def test_what_is_no_estimator_is_refused_as_such(make: Any, inside: Any, told: str) -> None:
    model = make(inside)
    assert has_fit_parameter(model, "groups")
    with pytest.raises(TypeError, match=rf"^estimators?: expected an object of a class that .*, got {told}$"):
        model.fit(X, Y)
