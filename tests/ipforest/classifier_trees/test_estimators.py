"""The learners: scikit-learn's own checks, costs by hand, budgets, and what each promises."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingRegressor
from sklearn.model_selection import PredefinedSplit
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest.classifier_trees import (
    ASTC,
    CSCC,
    CSTC,
    AdaBoostRS,
    AndOrCascade,
    AndOrObjective,
    BoostingTrick,
    ChainObjective,
    Cronus,
    StagewiseRegression,
    TreeObjective,
)
from ipforest.classifier_trees.adaboost_rs import AdaBoostVotes
from ipforest.classifier_trees.block_descent import PRUNINGS, DescentSettings
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.feature_map import ScaledFeatures
from ipforest.classifier_trees.tree_estimator import weights_of
from ipforest.costs import FeatureCosts

pytestmark = pytest.mark.xdist_group("growing")

QUICK = DescentSettings(max_sweeps=1, max_block_steps=8, max_gradient_steps=8)
SMALL: dict[str, Any] = {"descent": QUICK, "random_state": 0}
TREES = BoostingTrick(15, max_depth=2, random_state=0)
LEARNERS = {
    "CSTC": CSTC(loss="logistic", objective=TreeObjective(depth=2, lambdas=1), **SMALL),
    "CSTC grown": CSTC(loss="logistic", objective=TreeObjective(depth=2, structure="greedy", lambdas=1), **SMALL),
    "CSTC for regression": CSTC(objective=TreeObjective(depth=2, lambdas=1), **SMALL),
    "CSTC of trees": CSTC(loss="logistic", objective=TreeObjective(depth=2, lambdas=1), feature_map=TREES, **SMALL),
    "ASTC": ASTC(loss="logistic", objective=TreeObjective(depth=2, lambdas=1), **SMALL),
    "CSCC": CSCC(objective=ChainObjective(n_nodes=3, lambdas=1), **SMALL),
    "CSCC of trees": CSCC(objective=ChainObjective(n_nodes=3, lambdas=1), feature_map=TREES, split_cost="1/8", **SMALL),
    "Cronus": Cronus(objective=ChainObjective(n_nodes=3, lambdas=1), **SMALL),
    "AND-OR": AndOrCascade(objective=AndOrObjective(lambdas=2), random_state=0),
    "AdaBoostRS": AdaBoostRS(n_trees=20, random_state=0),
    "stage-wise": StagewiseRegression(feature_map=TREES, random_state=0),
}
X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:300, :12], Y[:300]
COSTS = FeatureCosts(["1/2", 1, 2, 3, 1, 1, 2, 2, 1, 1, 0, 4], [0, 0, 0, -1, -1, 1, 1, -1, -1, -1, -1, -1], ["1/2", 1])


SLOW_ONES = [pytest.param(name, marks=pytest.mark.slow) for name in ("CSTC", "Cronus", "AdaBoostRS")]


@pytest.mark.parametrize("name", ["CSTC for regression", "AND-OR", "stage-wise", *SLOW_ONES])
def test_what_is_measured_is_what_is_predicted_of_the_examples_held_out(name: str) -> None:
    estimator = clone(LEARNERS[name])
    classify = is_classifier(estimator)
    given = np.array(["benign", "malignant"])[Y] if classify else 20.0 + 5 * Y
    is_held_out = np.arange(Y.size) % 4 == 0
    held_out = PredefinedSplit(np.where(is_held_out, 0, -1))
    model = estimator.set_params(feature_costs=COSTS, validation_fraction=held_out).fit(X, given)
    measured, answers, truth = model.measured(), model.predict(X[is_held_out]), given[is_held_out]
    assert measured.n_samples == truth.size
    if classify:
        assert measured.n_wrong == np.count_nonzero(answers != truth) < truth.size / 2
    else:
        assert measured.squared_error == pytest.approx(np.mean((answers - truth) ** 2))


TWO_STAGES = AndOrCascade(objective=AndOrObjective(limits=[1, 1], lambdas=1), random_state=0)


@pytest.mark.slow
@parametrize_with_checks([LEARNERS["CSTC"], TWO_STAGES])
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.long
@parametrize_with_checks(
    [
        LEARNERS[name]
        for name in ("CSTC for regression", "CSTC of trees", "ASTC", "CSCC", "Cronus", "AdaBoostRS", "stage-wise")
    ]
)
def test_checks_of_scikit_learn_on_the_others(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module", params=list(LEARNERS))
def model(request: pytest.FixtureRequest) -> Any:
    estimator = clone(LEARNERS[request.param]).set_params(feature_costs=COSTS)
    return estimator.fit(X[:200], Y[:200] if is_classifier(estimator) else Y[:200] + X[:200, 0])


@pytest.mark.slow
def test_an_example_pays_for_what_the_nodes_on_its_path_need(model: Any) -> None:
    tree, uses = model.tree_, model.feature_map_.feature_of_weight_.toarray() > 0
    cost, bought = model.cost(X[200:]), model.acquired(X[200:])
    for row, last in enumerate(model.last_nodes(X[200:])):
        weights = (tree.coef[tree.on_path[last]] != 0).any(axis=0)
        np.testing.assert_array_equal(bought[row], uses[:, weights].any(axis=1))
        tests = uses[:, weights].sum()
        assert cost[row] == pytest.approx(COSTS.cost_of(bought[[row]])[0] + float(model.split_cost_) * tests)


def test_budgets_are_kept_on_validation_data_and_need_no_second_fit(model: Any) -> None:
    for budget in (0, 2, "7/2", 100):
        other, limit = model.at_budget(budget), float(Fraction(budget))
        assert other.candidates_ is model.candidates_
        assert other.chosen_.cost <= limit + 1e-9
        assert all(other.chosen_.badness <= rival.badness for rival in model.candidates_ if rival.cost <= limit)
    assert model.at_budget(0).cost(X).max() == 0


def test_probabilities_agree_with_labels(model: Any) -> None:
    if is_classifier(model):
        probability = model.predict_proba(X[200:])
        np.testing.assert_array_equal(model.predict(X[200:]), model.classes_[np.argmax(probability, axis=1)])


def test_ranking_holds_out_whole_queries() -> None:
    rng = np.random.default_rng(0)
    features, qid = rng.normal(size=(300, 4)), np.repeat(np.arange(30), 10)
    relevance = np.digitize(features[:, 0] + 0.3 * rng.normal(size=300), [-1, 0, 1, 2])
    model = CSTC(objective=TreeObjective(depth=2, lambdas=1), **SMALL).fit(features, relevance, qid=qid)
    assert model.chosen_.badness < 0.1
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(features, relevance, qid=qid[:-1])


def test_pruning_leaves_the_optimised_nodes_as_they_are() -> None:
    examples = np.random.default_rng(0).normal(size=(200, 3))
    target = np.where(examples[:, 0] > 0, examples[:, 0] + examples[:, 1], examples[:, 0] - examples[:, 1])
    plain = CSTC(objective=TreeObjective(lambdas=[0.01]), descent=replace(QUICK, fine_tune=False), random_state=0)
    full, pruned = (
        clone(plain).set_params(objective__structure=name).fit(examples, target) for name in ("full", "pruned")
    )
    whole, kept = full.candidates_[0].tree, pruned.candidates_[0].tree
    assert 1 < kept.n_nodes < whole.n_nodes
    assert all((whole.coef == row).all(axis=1).any() for row in kept.coef)


@pytest.mark.slow
def test_pruning_may_come_before_the_nodes_are_optimised_or_after_each_sweep() -> None:
    examples = np.random.default_rng(0).normal(size=(200, 3))
    target = np.where(examples[:, 0] > 0, examples[:, 0] + examples[:, 1], examples[:, 0] - examples[:, 1])
    quick, objective = replace(QUICK, fine_tune=False), TreeObjective(lambdas=[0.01])
    models = {
        when: CSTC(descent=replace(quick, max_sweeps=2, pruning=when), objective=objective, random_state=0).fit(
            examples, target
        )
        for when in PRUNINGS
    }
    trees = {when: model.candidates_[0].tree for when, model in models.items()}
    initialised = CSTC(
        descent=replace(quick, max_sweeps=0), objective=replace(objective, structure="full"), random_state=0
    ).fit(examples, target)
    start = initialised.candidates_[0].tree
    assert not any((start.coef == row).all(axis=1).any() for row in trees["before"].coef)
    assert all(tree.n_nodes < start.n_nodes for when, tree in trees.items() if when != "before")
    plain = CSTC(descent=DescentSettings.printed(), objective=objective, random_state=0)
    assert plain.descent == DescentSettings(pruning="before", max_gradient_steps=None, clamp_shares=())
    assert plain.fit(examples, target).candidates_[0].tree.n_nodes >= 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("pruning", "never"), ("sent_up", 0.0), ("max_gradient_steps", 0), ("tolerance", -1e-5), ("tolerance", "x")],
        *[("max_block_steps", -1), ("max_sweeps", 1.5), ("patience", -1), ("clamp_shares", 0.1)],
    ],
)
def test_settings_of_the_descent_that_cannot_be_are_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^descent.{field}: expected .*, got {value!r}$"):
        DescentSettings(**{field: value})


def test_shares_that_are_clamped_are_numbers_from_0_to_1() -> None:
    with pytest.raises(ValueError, match=r"^descent.clamp_shares: expected numbers from 0 to 1, 1 excluded, got 'x'$"):
        DescentSettings(clamp_shares=(0.1, "x"))


def test_labels_are_weighted_with_squared_loss_too() -> None:
    rng = np.random.default_rng(0)
    examples, target = rng.normal(size=(80, 2)), np.repeat([0.0, 1.0], [60, 20])
    weights = {0.0: 0.5, 1.0: 3.0}
    objective = ChainObjective(n_nodes=1, lambdas=[0.0], rho=0.0)
    plain = CSCC(loss="squared", objective=objective, descent=DescentSettings(fine_tune=False))
    model = clone(plain).set_params(objective__class_weight=weights, validation_fraction=None).fit(examples, target)
    own = np.where(target > 0, 3.0, 0.5)
    design = np.column_stack([examples, np.ones(80)]) * np.sqrt(own)[:, None]
    expected = design @ np.linalg.lstsq(design, target * np.sqrt(own), rcond=None)[0] / np.sqrt(own)
    answers = model.candidates_[0].tree.answer(model.feature_map_.transform(examples))
    assert answers / model.target_scale_ + model.target_mean_ == pytest.approx(expected, abs=1e-5)
    balanced, even = (
        clone(plain).set_params(objective__class_weight=given).fit(examples, target) for given in ("balanced", None)
    )
    assert balanced.weight_of_target_[1] == pytest.approx([80 / 120, 2.0])
    assert even.weight_of_target_ is None
    assert plain.fit(examples, np.arange(80) % 3).weight_of_target_ is None


@pytest.mark.parametrize("labels", [["1", "2"], [0.25, 0.5], [1.0, 1.5]])
def test_weights_of_labels_go_by_the_labels_as_they_are(labels: list[Any]) -> None:
    """scikit-learn 1.9 looks for texts and numbers that int() takes by what it gives."""
    weights = weights_of({labels[1]: 3, labels[0]: 0.5}, np.unique(labels), np.array(labels))
    assert weights.tolist() == [0.5, 3.0]
    assert weights_of({labels[1]: 3}, np.unique(labels), np.array(labels)).tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match=r"^class_weight: expected a weight of .*, got one of 'other' instead$"):
        weights_of({"other": 3}, np.unique(labels), np.array(labels))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({0: -1, 1: 1}, "class_weight of 0: expected a finite number >= 0, got -1"),
        ({"a": "1"}, "class_weight of 'a': expected a finite number >= 0, got '1'"),
        ([1, 2], r"class_weight: expected None, 'balanced' or a dict, got \[1, 2\]"),
    ],
)
@pytest.mark.parametrize("objective", [ChainObjective, AndOrObjective])
def test_weights_of_classes_are_checked_before_training(objective: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        objective(class_weight=weights)


def test_a_weak_learner_costs_its_evaluation_once_and_its_tests() -> None:
    rng = np.random.default_rng(0)
    examples = rng.normal(size=(60, 3))
    target = examples[:, 0] + examples[:, 1] ** 2
    settings: dict[str, Any] = {"objective": TreeObjective(lambdas=[1e-3], depth=1), "random_state": 0}
    for cost, expected in ((1, [1.0, 1, 1, 1]), ([1, 2, 0, "0.5"], [1, 2, 0, 0.5])):
        trees = BoostingTrick(4, max_depth=2, evaluation_cost=cost, random_state=0)
        model = CSTC(feature_map=trees, split_cost="0.25", feature_costs=[0, 5, 7], **settings).fit(examples, target)
        uses = model.feature_map_.feature_of_weight_.toarray()
        assert model.resources_.prices[3:] == pytest.approx(np.array(expected) + 0.25 * uses.sum(axis=0))
        tree = ClassifierTree.single(np.array([1.0, 0, 2, 0]))
        once = np.array([0, 5, 7]) @ (uses[:, [0, 2]].sum(axis=1) > 0)
        paid = model.resources_.path_cost(tree)
        assert paid == pytest.approx(once + model.resources_.prices[3] + model.resources_.prices[5])
    with pytest.raises(ValueError, match="evaluation_cost: expected a number, or one for each of 4 trees, got 2"):
        BoostingTrick(4, evaluation_cost=[1, 2]).fit(examples, target)
    with pytest.raises(ValueError, match="evaluation_cost: expected a number >= 0"):
        BoostingTrick(4, evaluation_cost=-1).fit(examples, target)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CSTC(loss="hinge"), r"^loss: expected one of 'squared', 'logistic', got 'hinge'$"),
        (
            lambda: CSTC(objective=TreeObjective(structure="oak")),
            r"^objective\.structure: expected one of 'pruned', 'greedy', 'full', got 'oak'$",
        ),
        (lambda: CSTC(objective=TreeObjective(depth=0)), r"^objective\.depth: expected an integer >= 1, got 0$"),
        (
            lambda: CSTC(objective=TreeObjective(lambdas=0)),
            r"^objective\.lambdas: expected at least 1, or a sequence of numbers, got 0$",
        ),
        (lambda: CSTC(objective=TreeObjective(lambdas=[-1])), r"^objective\.lambdas: expected a number >= 0"),
        (lambda: CSTC(objective=TreeObjective(rho=-1.0)), r"^objective\.rho: expected a number >= 0, got -1\.0$"),
        (lambda: CSTC(objective=TreeObjective(spread=0)), r"^objective\.spread: expected a finite number > 0, got 0$"),
        (lambda: CSCC(objective=ChainObjective(n_nodes=0)), r"^objective\.n_nodes: expected an integer >= 1, got 0$"),
        (lambda: CSCC(budget=-1), r"^budget: "),
        (lambda: CSCC(validation_fraction=1.0), r"^validation_fraction: "),
        (
            lambda: AndOrCascade(objective=AndOrObjective(limits=[])),
            r"^objective\.limits: expected a sequence of 1 or more, got \[\]$",
        ),
        (
            lambda: AndOrCascade(objective=AndOrObjective(limits=[2, 1])),
            r"^objective\.limits: expected the largest price of each stage, ascending, got \[2, 1\]$",
        ),
    ],
)
def test_parameters_are_checked(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().fit(X, Y)


def test_a_group_of_features_is_shared_along_a_path() -> None:
    features, target = make_regression(200, 6, noise=1.0, random_state=0)
    costs = FeatureCosts([0] * 6, [0, 0, 0, 1, 1, 1], [1, 2])
    model = CSTC(objective=TreeObjective(depth=2, lambdas=1), feature_costs=costs, **SMALL).fit(features, target)
    assert set(np.unique(model.cost(features))) <= {0.0, 1.0, 2.0, 3.0}


def test_greedy_nodes_of_astc_are_forward_regression() -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(400, 5))
    target = 3 * features[:, 2] + 2 * features[:, 0] + features[:, 4] + 0.01 * rng.normal(size=400)
    prices = [1, 1, 1, 1, 4]
    model = ASTC(objective=TreeObjective(depth=1, structure="full"), feature_costs=prices, random_state=0)
    fitted = (clone(model).set_params(objective__lambdas=[lam]).fit(features, target) for lam in (2.0, 1.0, 0.1, 0.01))
    kept = [np.flatnonzero(each.candidates_[0].tree.coef[0]).tolist() for each in fitted]
    assert kept == [[2], [0, 2], [0, 2], [0, 2, 4]]


def test_stages_of_the_and_or_cascade_keep_to_their_features() -> None:
    model = AndOrCascade(
        objective=AndOrObjective(lambdas=2, limits=[1, 2, 4]), feature_costs=COSTS.prices, random_state=0
    ).fit(X, Y)
    prices = np.array([float(price) for price in COSTS.prices])
    for candidate in model.candidates_[:-1]:
        limits = (1, 2, 4)[-candidate.tree.n_nodes :]
        for limit, coef in zip(limits, candidate.tree.coef, strict=True):
            assert not coef[prices > limit].any()
    leaves = model.last_nodes(X)
    early = leaves < model.tree_.n_nodes - 1
    assert np.all(model.predict(X)[early] == model.classes_[0])


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_boosted_votes_are_those_of_scikit_learns_adaboost(depth: int) -> None:
    features, label = make_classification(500, 10, n_informative=5, flip_y=0.1, random_state=depth)
    features = features.astype(np.float32)
    ours = AdaBoostVotes(20, max_depth=depth, max_bins=None, random_state=0).fit(features, 2 * label - 1)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=20, random_state=0)
    theirs.fit(features, 2 * label - 1)
    votes = np.column_stack([tree.predict(features) for tree in theirs.estimators_])
    differ = np.any(ours.transform(features) != votes, axis=0)
    alike = int(np.argmax(differ)) if differ.any() else differ.size
    assert alike >= 5  # in some small node two splits are as good as each other, and each library takes another one
    ours_until, theirs_until = (weights[: alike + 1] for weights in (ours.tree_weights_, theirs.estimator_weights_))
    np.testing.assert_allclose(ours_until, theirs_until, rtol=1e-9)


def test_boosting_ends_with_a_tree_that_errs_nowhere() -> None:
    label = np.repeat([-1, 1], 20)
    votes = AdaBoostVotes(5, max_depth=1).fit(label[:, None], label)
    assert votes.tree_weights_.tolist() == [1.0]
    np.testing.assert_array_equal(votes.transform(label[:, None])[:, 0], label)


def test_all_draws_of_adaboost_rs_together_vote_as_adaboost() -> None:
    model = AdaBoostRS(n_trees=20, max_depth=1, random_state=0).fit(X, Y)
    alpha = model.feature_map_.tree_weights_
    weights = model.candidates_[-2].tree.coef[0]
    assert weights.sum() == pytest.approx(alpha.sum())
    assert np.corrcoef(weights, alpha)[0, 1] > 0.8


def test_stage_wise_regression_at_its_end_is_gradient_boosting() -> None:
    features, target = make_regression(200, 6, noise=1.0, random_state=0)
    model = StagewiseRegression(
        feature_map=BoostingTrick(10, max_depth=2, max_bins=None, random_state=0), validation_fraction=None
    ).fit(features, target)
    boosted = GradientBoostingRegressor(n_estimators=10, max_depth=2, random_state=0).fit(features, target)
    np.testing.assert_allclose(model.predict(features), boosted.predict(features), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        CSTC(loss="logistic", objective=TreeObjective(depth=1), descent=QUICK),
        AndOrCascade(objective=AndOrObjective(limits=[1])),
    ],
)
def test_how_many_lambdas_may_be_an_integer_of_numpy(model: Any) -> None:
    counts = [
        clone(model).set_params(objective__lambdas=n, random_state=0).fit(X, Y).candidates_ for n in (2, np.int64(2))
    ]
    assert [candidate.cost for candidate in counts[0]] == [candidate.cost for candidate in counts[1]]


@pytest.mark.parametrize("exponent", [990, -990])
def test_the_unit_of_a_feature_is_of_no_account_where_squares_are_no_floats(exponent: int) -> None:
    """Beyond 1e154 and below 1e-162 the variance was infinite or 0, and nothing was bought, in silence."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    others = np.ldexp(X, exponent)
    scaled = ScaledFeatures().fit(X, np.zeros(50)).transform(X)
    np.testing.assert_array_equal(ScaledFeatures().fit(others, np.zeros(50)).transform(others), scaled)


def test_a_column_without_a_value_scales_to_zero_without_a_warning() -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan]])
    scaled = ScaledFeatures().fit(X, np.zeros(2))
    np.testing.assert_array_equal(scaled.transform(X), [[-1, 0], [1, 0]])
    np.testing.assert_array_equal(scaled.transform(np.array([[2.0, 5.0]])), [[0, 5]])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("model", [AdaBoostRS(n_trees=3), CSCC(feature_map=TREES)])
def test_what_single_precision_does_not_hold_is_refused_in_the_words_of_scikit_learn(model: Any) -> None:
    X = np.where(np.arange(Y.size)[:, None] % 2, 1e39, np.ones(3))
    with pytest.raises(ValueError, match="Input X contains infinity or a value too large for dtype"):
        model.fit(X, Y)
