from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import proofs
from ipforest import BudgetPrune, EarlyExit, FeatureCosts, Forest, NestedCascade
from ipforest.ensemble.libraries import read
from ipforest.learners import BudgetRF, GreedyMiser
from ipforest.policy import TreesInOrder
from ipforest.session import Seller, Sessions
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.early_exit_policy import EarlyExitPolicy, record_paths
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.paths import StageOutputs
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.stopping.tree_order import MAX_TREES_EXACTLY, _Prefixes, order_trees
from ipforest.tabular.model_files import load_model, save_model

X, Y = load_breast_cancer(return_X_y=True)
FITTED, HELD_OUT, TEST = slice(0, 250), slice(250, 400), slice(400, None)
RULES = [ThresholdStopping(), OptimalStopping(4, 20), CertifiedStopping(2, 20)]
TREES = RandomForestClassifier(5, max_depth=4, random_state=0)


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(15, max_depth=5, random_state=0).fit(X[FITTED], Y[FITTED])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_the_curve_of_the_examples_it_was_learnt_on_is_what_they_pay(rule: Any, forest: RandomForestClassifier) -> None:
    model = EarlyExit(FrozenEstimator(forest), stopping=rule, n_folds=1).fit(X[HELD_OUT], Y[HELD_OUT])
    for budget in (1, 2, 4, 8):
        at = model.at_budget(budget)
        place = at.curve_.within(budget)
        assert at.cost(X[HELD_OUT]).mean() == pytest.approx(at.curve_.cost[place])
        assert 1 - at.score(X[HELD_OUT], Y[HELD_OUT]) == pytest.approx(at.curve_.error[place])
        assert at.cost(X[HELD_OUT]).mean() <= budget


def test_it_stops_early_and_hardly_loses(forest: RandomForestClassifier) -> None:
    model = EarlyExit(forest).fit(X[HELD_OUT], Y[HELD_OUT])
    whole = Forest.from_sklearn(forest).cost(X[TEST], FeatureCosts.uniform(30)).mean()
    assert model.at_budget(whole / 2).cost(X[TEST]).mean() < 0.6 * whole
    assert model.at_budget(whole / 2).score(X[TEST], Y[TEST]) > forest.score(X[TEST], Y[TEST]) - 0.04


@pytest.mark.parametrize("kind", ["forest", "three classes", "boosted", "boosted, ten classes"])
def test_a_stop_that_changes_no_label_is_made_always(kind: str) -> None:
    examples, labels = load_digits(return_X_y=True) if "ten" in kind else (X, Y)
    if kind == "three classes":
        examples, labels = make_classification(500, 12, n_informative=8, n_classes=3, random_state=0)
    learner: Any = (
        GradientBoostingClassifier(n_estimators=6, random_state=0)
        if "boosted" in kind
        else RandomForestClassifier(9, max_depth=6, random_state=0)
    )
    fitted = learner.fit(examples[:250], labels[:250])
    trees = TreesInOrder(read(fitted))
    costs = FeatureCosts.uniform(examples.shape[1])
    model = EarlyExit(fitted).fit(examples[:200], labels[:200])
    never = EarlyExitPolicy(trees, EverOn(), 0.0, np.zeros(costs.n_features, dtype=bool))
    sessions = Sessions(never, model._seller(), 150)
    sessions.see(examples[250:400])
    np.testing.assert_array_equal(sessions.labels(sessions.outputs), fitted.predict(examples[250:400]))
    whole = read(fitted).cost(examples[250:400], costs)
    assert np.all(sessions.paid <= whole)
    assert sessions.paid.sum() < whole.sum()


class EverOn:
    def keenness(self, stage: Any, signal: Any, memory: Any) -> tuple[npt.NDArray[np.float64], Any]:
        return np.ones(stage.size), memory


def test_the_certified_rule_is_proved_on_its_examples(forest: RandomForestClassifier) -> None:
    model = EarlyExit(forest, stopping=CertifiedStopping(3, 20), n_folds=1, budget=3).fit(X[HELD_OUT], Y[HELD_OUT])
    path = model.rule_.path
    assert proofs.verify_path(path.instance, path)
    index = next(place for place, cost in enumerate(path.costs) if cost <= 3)
    assert model.cost(X[HELD_OUT]).mean() == pytest.approx(float(path.costs[index]))
    assert 1 - model.score(X[HELD_OUT], Y[HELD_OUT]) == pytest.approx(float(path.errors[index]))


def test_a_budgeted_estimator_is_tried_at_larger_budgets() -> None:
    inner = BudgetPrune(
        RandomForestClassifier(15, random_state=0), feature_costs=FeatureCosts.uniform(30), random_state=0
    )
    model = EarlyExit(inner, budget=3, order="greedy", random_state=0).fit(X[:400], Y[:400])
    assert model.costs_ == model.estimator_.costs_
    assert model.at_budget(1).cost(X[TEST]).mean() < 2
    assert model.at_budget(6).score(X[TEST], Y[TEST]) > 0.9


def test_a_budget_of_nothing_buys_nothing_for_examples_unlike_the_held_out_ones() -> None:
    """Held-out examples that need nothing but what is free told nothing of others, which then went on to the end."""
    rng = np.random.default_rng(0)
    examples = rng.uniform(-1, 1, (200, 2))
    labels = (examples[:, 0] > 0) & (examples[:, 1] > 0)
    held_out = examples[:, 0] < 0
    for learner in (DecisionTreeClassifier(random_state=0), RandomForestClassifier(5, random_state=0)):
        estimator = learner.fit(examples, labels)
        for stopping in RULES:
            exit_ = EarlyExit(FrozenEstimator(estimator), stopping=stopping, feature_costs=[0, 4], budget=0)
            exit_.fit(examples, labels, examples[held_out], labels[held_out])
            assert exit_.cost(examples).max() == 0


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
def test_more_budget_costs_no_less_and_loses_no_more() -> None:
    """A wrapped estimator was tried at multiples of the budget alone, so that 8 found less to buy than 6 did."""
    examples, labels = make_classification(220, 6, n_informative=4, n_redundant=0, random_state=10)
    costs = FeatureCosts([4, 5, 1, 1, 4, 4], [0, 0, -1, -1, 1, 1], [1, 2])
    inner = BudgetPrune(RandomForestClassifier(8, max_depth=6, random_state=0), feature_costs=costs, random_state=0)
    model = EarlyExit(inner, stopping=CertifiedStopping(2, 10), random_state=0)
    model.fit(examples, labels, examples[:120], labels[:120])
    found = [model.at_budget(budget) for budget in (0, "1/2", 1, 2, 3, 4, 6, 8, 20)]
    paid = [at.cost(examples[:120]).mean() for at in found]
    lost = [at.curve_.error[at.curve_.within(at.budget)] for at in found]
    assert paid == sorted(paid)
    assert lost == sorted(lost, reverse=True)
    assert paid[0] == 0
    assert model.at_budget(0).cost(examples).max() == 0


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (EarlyExit(TREES, random_state=0), r"the cheapest model that is better costs [1-9]\.?\d*"),
        (EarlyExit(BudgetPrune(TREES), random_state=0), r"the cheapest model that is better costs 1\.?\d*"),
        (EarlyExit(BudgetPrune(TREES, feature_costs=[9] * 30)), "the cheapest feature that is not free costs 9"),
    ],
)
def test_where_nothing_is_bought_a_warning_says_what_would_be_enough(model: EarlyExit, advice: str) -> None:
    for budget in (None, 0, 30):
        model.set_params(budget=budget).fit(X[FITTED], Y[FITTED])
    message = rf"^budget: nothing is bought within 0\.4; {advice}$"
    with pytest.warns(UserWarning, match=message):
        assert model.at_budget(0.4).cost(X).max() == 0
    with pytest.warns(UserWarning, match=message):
        model.set_params(budget=0.4).fit(X[FITTED], Y[FITTED])


@pytest.mark.parametrize("overspend", [-1, "much", (1, 2)])
def test_an_overspend_that_is_no_number_is_refused(overspend: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^overspend: expected a"):
        EarlyExit(RandomForestClassifier(2), overspend=overspend).fit(X[FITTED], Y[FITTED])


def test_nobody_pays_more_than_the_cap(forest: RandomForestClassifier) -> None:
    model = EarlyExit(forest, max_cost=3).fit(X[HELD_OUT], Y[HELD_OUT])
    assert model.cost(X[TEST]).max() <= 3
    assert model.score(X[TEST], Y[TEST]) > 0.8


def test_held_out_examples_may_be_given() -> None:
    estimator = RandomForestClassifier(10, random_state=0)
    model = EarlyExit(estimator, budget=4).fit(X[FITTED], Y[FITTED], X[HELD_OUT], Y[HELD_OUT])
    assert model.paths_.n_samples == 150
    assert model.predict(X[TEST]).shape == Y[TEST].shape
    fitted = EarlyExit(estimator.fit(X[FITTED], Y[FITTED]), budget=4)
    assert fitted.fit(X[FITTED], Y[FITTED], X[HELD_OUT], Y[HELD_OUT]).paths_.n_samples == 150
    with pytest.raises(ValueError, match=r"^X_val: expected X_val and y_val together, got one of them"):
        EarlyExit(estimator).fit(X[FITTED], Y[FITTED], X[HELD_OUT])


@pytest.mark.parametrize("boosted", [False, True])
def test_the_exact_order_has_the_least_area_of_all(boosted: bool) -> None:
    learner = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0)
    fitted = (learner if boosted else RandomForestClassifier(5, max_depth=3, random_state=0)).fit(X[FITTED], Y[FITTED])
    trees, costs = read(fitted), FeatureCosts(np.arange(1, 31))
    held_out = (X[HELD_OUT], Y[HELD_OUT], costs)
    areas = {order: area(trees.reordered(order), *held_out) for order in permutations(range(5))}
    exact = area(order_trees(trees, *held_out, exact=True), *held_out)
    greedy = area(order_trees(trees, *held_out), *held_out)
    assert exact == pytest.approx(min(areas.values()))
    assert greedy <= np.mean(list(areas.values()))


@pytest.mark.parametrize("seed", range(2, 5))
def test_the_greedy_order_takes_what_lowers_the_loss_most_per_price_that_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples, labels = make_classification(120, 6, n_informative=4, n_classes=3, flip_y=0.3, random_state=seed)
    costs = FeatureCosts(rng.integers(0, 3, 6).tolist(), rng.integers(-1, 2, 6).tolist(), [1, 2])
    forest = RandomForestClassifier(7, max_depth=2, random_state=seed).fit(examples[:80], labels[:80])
    ordered = order_trees(read(forest), examples[60:], labels[60:], costs)
    truth = labels[60:, None] == forest.classes_

    def measured(trees: Any) -> tuple[float, float]:
        missed = trees.predict_proba(examples[60:]) - truth
        return np.square(missed).sum() / len(truth), trees.cost(examples[60:], costs).mean()

    loss, cost = np.square(1 / 3 - truth).sum() / len(truth), 0.0
    for size in range(7):
        scores = []
        for following in range(size, 7):
            others = [tree for tree in range(size, 7) if tree != following]
            lower, more = measured(ordered.reordered([*range(size), following, *others]).first(size + 1))
            gain, price = loss - lower, more - cost
            scores.append(np.inf if price < 1e-12 else gain / price if gain > 0 else gain * price)
        assert scores[0] >= max(scores) - 1e-12
        loss, cost = measured(ordered.first(size + 1))


def area(trees: Any, examples: Any, labels: Any, costs: FeatureCosts) -> float:
    prefixes = _Prefixes(trees, examples, labels, costs)
    total, previous = 0.0, 0.0
    for size in range(trees.n_trees):
        loss = prefixes.loss(prefixes.parts[:size].sum(axis=0), size)
        cost = prefixes.cost(prefixes.needs[: size + 1].any(axis=0))
        total, previous = total + loss * (cost - previous), cost
    return total


def test_trees_in_another_order_predict_the_same(forest: RandomForestClassifier) -> None:
    trees = Forest.from_sklearn(forest)
    turned = trees.reordered(np.arange(15)[::-1])
    np.testing.assert_allclose(turned.predict_proba(X[TEST]), trees.predict_proba(X[TEST]))
    np.testing.assert_array_equal(turned.feature_usage(X[TEST]), trees.feature_usage(X[TEST]))
    with pytest.raises(ValueError, match=r"^order: expected each of the trees 0\.\.14 once, got \[0, 0\]"):
        trees.reordered([0, 0])


def test_the_first_trees(forest: RandomForestClassifier) -> None:
    trees = Forest.from_sklearn(forest)
    mean = np.mean([tree.predict_proba(X[TEST]) for tree in forest.estimators_[:4]], axis=0)
    np.testing.assert_allclose(trees.first(4).predict_proba(X[TEST]), mean)
    with pytest.raises(ValueError, match=r"^n_trees: expected 1\.\.15, got 16"):
        trees.first(16)


def test_recorded_paths(forest: RandomForestClassifier) -> None:
    costs = FeatureCosts([0] * 10 + [1] * 20)
    model = EarlyExit(forest, feature_costs=costs).fit(X[HELD_OUT], Y[HELD_OUT])
    paths = record_paths(TreesInOrder(read(forest)), model._seller(), X[TEST], Y[TEST], None)
    whole = Forest.from_sklearn(forest).cost(X[TEST], costs)
    assert np.all(paths.cost[:, -1] <= whole)
    np.testing.assert_array_equal(paths.loss[:, -1], forest.predict(X[TEST]) != Y[TEST])
    assert np.all(np.diff(paths.cost, axis=1)[np.arange(paths.n_stages - 1) < paths.last[:, None]] > 0)


@pytest.mark.parametrize("max_cost", [None, 5])
@pytest.mark.parametrize("costs", [FeatureCosts([0] * 10 + [1] * 20), FeatureCosts([1] * 30, [0, 1, -1] * 10, [2, 1])])
@pytest.mark.parametrize("kind", ["averaged", "summed", "class costs", "target"])
def test_compiled_walks_record_what_sessions_do(kind: str, costs: FeatureCosts, max_cost: int | None) -> None:
    X_train, y_train, trained = X[HELD_OUT][:150], Y[HELD_OUT][:150], RandomForestClassifier(6, random_state=0)
    if kind == "summed":
        trained = GradientBoostingClassifier(n_estimators=6, random_state=0)
    elif kind == "target":
        trained = RandomForestRegressor(6, random_state=0)
    trees = TreesInOrder(read(trained.fit(X_train, y_train)))
    paid = np.array([[0.0, 1.0], [5.0, 0.0]]) if kind == "class costs" else None
    seller = Seller(costs, 0, trees.trees.classes, tuple(map(str, range(30))), False, paid)
    loss = (lambda outputs, y: np.square(outputs[:, 0] - y)) if kind == "target" else None
    at_once, walked = (
        record_paths(trees, seller, X[TEST][:60], Y[TEST][:60], max_cost, loss, answers)
        for answers in (None, StageOutputs())
    )
    for name in ("last", "bought_at", "loss"):
        np.testing.assert_array_equal(getattr(at_once, name), getattr(walked, name))
    np.testing.assert_allclose(at_once.signal, walked.signal, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"order": "best"}, ValueError, r"^order: expected one of 'given', 'greedy', 'exact', got 'best'"),
        ({"budget": -1}, ValueError, r"^budget: expected a number >= 0"),
        ({"max_cost": "x"}, ValueError, r"^max_cost: expected a finite number"),
        ({"n_folds": 0}, ValueError, r"^n_folds: expected an integer >= 1, got 0"),
        ({"validation_fraction": 2}, ValueError, r"^validation_fraction: expected None or a number between 0 and 1"),
        ({"estimator": RandomForestRegressor()}, TypeError, r"^estimator: expected a classifier, got RandomForestReg"),
        (
            {"estimator": FrozenEstimator(RandomForestRegressor())},
            TypeError,
            r"^estimator: expected a classifier, got RandomForestRegressor$",
        ),
        (
            {"estimator": BudgetPrune(RandomForestClassifier()), "feature_costs": [1]},
            ValueError,
            r"^feature_costs: expected none with an estimator that has its own",
        ),
        (
            {"estimator": BudgetPrune(RandomForestClassifier(), split_cost="1/8")},
            ValueError,
            r"^estimator: expected one without split_cost, got '1/8'",
        ),
        (
            {"estimator": BudgetPrune(RandomForestClassifier(), class_costs=[[0, 1], [5, 0]])},
            ValueError,
            r"^class_costs: expected it on EarlyExit, whose labels go by it, got it on the estimator",
        ),
        (
            {"estimator": BudgetPrune(RandomForestClassifier(), max_cost=3)},
            ValueError,
            r"^max_cost: expected it on EarlyExit, whose sessions keep it, got it on the estimator",
        ),
        ({"stopping": "threshold"}, TypeError, r"^stopping: expected rules, such as ThresholdStopping\(\), got 'thr"),
        ({"stopping": [ThresholdStopping]}, TypeError, r"^stopping: expected rules, .* got <class"),
        ({"stopping": []}, ValueError, r"^stopping: expected a rule, several, or None for the default, got an empty"),
    ],
)
def test_errors(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        EarlyExit(**{"estimator": RandomForestClassifier(), **settings}).fit(X, Y)


def test_too_many_trees_for_the_exact_order() -> None:
    with pytest.raises(ValueError, match=rf"^order: expected at most {MAX_TREES_EXACTLY} trees for 'exact', got 20"):
        EarlyExit(RandomForestClassifier(20, random_state=0), order="exact", random_state=0).fit(X, Y)


def test_names_reach_the_ensemble_and_its_prices() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :3], columns=["radius", "texture", "perimeter"])
    prices = {"perimeter": 5, "radius": 1, "texture": 2}
    inner = BudgetPrune(RandomForestClassifier(5, random_state=0), feature_costs=prices)
    model = EarlyExit(inner, random_state=0).fit(frame, Y)
    assert [float(price) for price in model.costs_.prices] == [1, 2, 5]
    assert str(model.session().next_unit) in prices
    assert list(model.estimator_.feature_names_in_) == list(frame)


def test_a_fitted_ensemble_keeps_its_columns() -> None:
    frame = pd.DataFrame(X[:, :5], columns=["a", "b", "c", "d e", "f"])
    forest = RandomForestClassifier(5, random_state=0).fit(frame, Y)
    pruned = BudgetPrune(RandomForestClassifier(5, random_state=0), random_state=0).fit(frame, Y)
    boosted = LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(frame, Y)
    for fitted in (forest, FrozenEstimator(forest), pruned, boosted):
        with pytest.raises(ValueError, match=r"^X: expected the columns in the order of training, got 'f' in place 0"):
            EarlyExit(fitted).fit(frame.iloc[:, ::-1], Y)
        with pytest.raises(ValueError, match=r"^X: expected 5 columns as in training, got 4"):
            EarlyExit(fitted).fit(frame.iloc[:, :4], Y)
        np.testing.assert_array_equal(
            EarlyExit(fitted).fit(frame, Y).predict(frame), EarlyExit(fitted).fit(X[:, :5], Y).predict(X[:, :5])
        )


def test_labels_are_classes_of_training(forest: RandomForestClassifier) -> None:
    with pytest.raises(ValueError, match=r"^y: expected at least 2 classes, got 1 class"):
        EarlyExit(RandomForestClassifier(2)).fit(X, Y * 0)
    with pytest.raises(ValueError, match=r"^y: expected labels among the classes of training, got 2"):
        EarlyExit(forest).fit(X, Y + 1)
    with pytest.raises(ValueError, match=r"^y_val: expected labels among the classes of training, got 2"):
        EarlyExit(forest).fit(X, Y, X, Y + 1)


@pytest.mark.parametrize("inner", [GreedyMiser(4), BudgetRF(4, voting="pooled")])
def test_trees_whose_probabilities_are_not_averaged_stay_as_given(inner: Any) -> None:
    model = EarlyExit(inner, order="greedy", random_state=0)
    with pytest.raises(ValueError, match="order: expected 'given' for trees whose probabilities are not averaged"):
        model.fit(X[FITTED], Y[FITTED])


def test_a_file_holds_what_was_learnt_without_a_budget_and_with_one(tmp_path: Path) -> None:
    model = EarlyExit(RandomForestClassifier(4, max_depth=3, random_state=0), random_state=0).fit(X[FITTED], Y[FITTED])
    for saved in (model, model.at_budget("3/2")):
        loaded = load_model(save_model(saved, tmp_path / "model.skops"))
        np.testing.assert_array_equal(loaded.predict_proba(X[TEST]), saved.predict_proba(X[TEST]))
        np.testing.assert_array_equal(loaded.at_budget(1).cost(X[TEST]), saved.at_budget(1).cost(X[TEST]))


@pytest.mark.parametrize(
    "inner",
    [
        BudgetPrune(RandomForestClassifier(4, max_depth=4, random_state=0), feature_costs=[5] * 30, random_state=0),
        LGBMClassifier(n_estimators=4, num_leaves=6, verbose=-1, n_jobs=1, random_state=0),
    ],
)
def test_any_fitted_ensemble_may_be_frozen(inner: Any) -> None:
    fitted = inner.fit(X[FITTED], Y[FITTED])
    frozen = EarlyExit(FrozenEstimator(fitted)).fit(X[HELD_OUT], Y[HELD_OUT])
    plain = EarlyExit(fitted).fit(X[HELD_OUT], Y[HELD_OUT])
    assert frozen.costs_ == plain.costs_
    np.testing.assert_array_equal(frozen.predict_proba(X[TEST]), plain.predict_proba(X[TEST]))
    np.testing.assert_array_equal(frozen.cost(X[TEST]), plain.cost(X[TEST]))


@pytest.mark.parametrize("kind", [EarlyExit, NestedCascade])
def test_labels_that_xgboost_does_not_take_are_refused_with_what_to_do(kind: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = kind(xgboost.XGBClassifier(n_estimators=2, n_jobs=1))
    with pytest.raises(ValueError, match=r"got \['no' 'yes'\]; number the labels: y = np.unique\(y, return_inverse"):
        model.fit(X, np.array(["no", "yes"])[Y])
    assert model.fit(X, np.unique(np.array(["no", "yes"])[Y], return_inverse=True)[1]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_of_which_none_is_known_answer_the_commonest_class(n_classes):
    """LightGBM adds its start to the leaves of its first trees; without them every example was of the first class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.where(rng.random(600) < 0.7, n_classes - 1, rng.integers(n_classes, size=600))
    trees = LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y)
    model = EarlyExit(FrozenEstimator(trees), feature_costs=[1] * 4, budget=0).fit(X, y)
    assert model.cost(X).max() == 0
    assert (model.predict(X) == n_classes - 1).all()
    shares = np.bincount(y) / y.size
    np.testing.assert_allclose(model.predict_proba(X)[0], shares, atol=0.07)
    np.testing.assert_allclose(read(trees).centred().predict_proba(X), trees.predict_proba(X), rtol=0, atol=1e-12)
