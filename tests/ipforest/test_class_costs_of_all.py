"""Class costs on every estimator that classifies: labels, choices, the least total cost, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ipforest import BudgetPrune, EarlyExit, FeatureCosts, NestedCascade
from ipforest.adaptive import AdaptGbrt, BoostedSearch
from ipforest.choosing.class_costs import label_losses, read_class_costs
from ipforest.classifier_trees import CSTC, AdaBoostRS, AndOrCascade, AndOrObjective, TreeObjective
from ipforest.ensemble import read
from ipforest.learners import BudgetRF, CostComplexity, GreedyGrowth, GreedyMiser
from ipforest.losses import node_errors
from ipforest.policy import Progress, TreesInOrder
from ipforest.results import Pruning
from ipforest.session import Sessions
from ipforest.stopping.early_exit_policy import EarlyExitPolicy
from ipforest.stopping.paths import margin
from ipforest.stopping.stages import UNSTOPPED
from ipforest.walks.labels import cheapest_is_certain, expected_costs, label_places

X, Y = load_breast_cancer(return_X_y=True)
X, LABELS = X[:160, :5], np.where(Y[:160] == 1, "well", "ill")
COSTS = {"ill": {"well": 60}, "well": {"ill": 8, "well": 1}}
MATRIX = np.array([[0.0, 60.0], [8.0, 1.0]])
PRICES = FeatureCosts(["1/2", 1, 1, 2, 0])
FOREST = RandomForestClassifier(4, max_depth=3, random_state=0)
QUICK = {
    "BudgetRF": BudgetRF(4, growth=GreedyGrowth(max_depth=4), feature_costs=PRICES, random_state=0),
    "GreedyMiser": GreedyMiser(8, feature_costs=PRICES, random_state=0),
    "CostComplexity": CostComplexity(FOREST, feature_costs=PRICES, random_state=0),
    "EarlyExit": EarlyExit(FOREST, feature_costs=PRICES, random_state=0),
    "NestedCascade": NestedCascade(FOREST, feature_costs=PRICES, random_state=0),
    "AdaBoostRS": AdaBoostRS(n_trees=6, feature_costs=PRICES, random_state=0),
    "AndOrCascade": AndOrCascade(
        objective=AndOrObjective(limits=(1, 3), lambdas=2), feature_costs=PRICES, random_state=0
    ),
    "AdaptGbrt": AdaptGbrt(
        FOREST, n_estimators=3, search=BoostedSearch(shares=[0.5], lambdas=[0.01], n_folds=2), feature_costs=PRICES
    ),
    "BudgetPrune": BudgetPrune(FOREST, feature_costs=PRICES, random_state=0),
}


def mistakes(truth: Any, guesses: Any) -> np.ndarray:
    return MATRIX[(truth == "well").astype(int), (guesses == "well").astype(int)]


@pytest.mark.parametrize("name", QUICK)
def test_labels_are_those_of_the_least_expected_cost(name: str) -> None:
    model = clone(QUICK[name]).set_params(class_costs=COSTS).fit(X, LABELS)
    guesses = model.predict(X)
    assert (guesses == model.classes_[np.argmin(model.predict_proba(X) @ MATRIX, axis=1)]).all()
    assert model.misclassification_cost(X, LABELS) == pytest.approx(mistakes(LABELS, guesses).mean())
    assert model.total_cost(X, LABELS) == pytest.approx(mistakes(LABELS, guesses).mean() + model.cost(X).mean())
    with pytest.raises((ValueError, TypeError)):
        model.to_trees()


def test_a_readable_tree_has_the_costs_of_its_model() -> None:
    tree = CLASSIFIERS["ReadableTree of BudgetPrune"](PRICES).set_params(estimator__class_costs=COSTS).fit(X, LABELS)
    expected = expected_costs(tree.predict_proba(X), tree.class_costs_)
    assert tree.class_costs_ is tree.estimator_.class_costs_
    np.testing.assert_array_equal(tree.predict(X), tree.classes_[expected.argmin(axis=1)])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if "lambda" not in name and "ReadableTree" not in name])
def test_all_estimators_take_class_costs(name: str) -> None:
    model = CLASSIFIERS[name](PRICES).set_params(class_costs=COSTS, scoring="total cost").fit(X, LABELS)
    assert (model.predict(X) == model.classes_[np.argmin(model.predict_proba(X) @ MATRIX, axis=1)]).all()
    assert model.total_cost(X, LABELS) == pytest.approx(
        mistakes(LABELS, model.predict(X)).mean() + model.cost(X).mean()
    )
    row = X[0]
    session = model.session()
    while session.next_unit is not None:
        session.tell([row[feature] for feature in session.next_unit.features])
    assert session.answer == model.predict(X[:1])[0]
    assert session.paid == pytest.approx(model.cost(X[:1])[0])


@pytest.mark.parametrize("name", QUICK)
def test_expensive_mistakes_buy_more_than_cheap_ones(name: str) -> None:
    spent = []
    for price in (0.1, 1000):
        costs = price * (1 - np.eye(2))
        model = clone(QUICK[name]).set_params(class_costs=costs, scoring="total cost", feature_costs=[1] * 5)
        model.fit(X, LABELS)
        spent.append(model.cost(X).mean())
    assert spent[0] <= 0.1
    assert spent[1] > spent[0]


@pytest.mark.parametrize("name", ["BudgetRF", "GreedyMiser", "EarlyExit", "NestedCascade", "AndOrCascade"])
def test_names_of_classes_in_another_order_change_nothing(name: str) -> None:
    by_name = clone(QUICK[name]).set_params(class_costs={key: COSTS[key] for key in ("well", "ill")})
    by_place = clone(QUICK[name]).set_params(class_costs=MATRIX)
    assert by_name.fit(X, LABELS).predict(X).tolist() == by_place.fit(X, LABELS).predict(X).tolist()


def test_a_file_gives_class_costs(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("true,ill,well\nwell,8,1\nill,0,60\n")
    classes = np.array(["ill", "well"])
    assert read_class_costs(file, classes).tolist() == read_class_costs(str(file), classes).tolist() == MATRIX.tolist()
    with pytest.raises(
        ValueError, match=r"^class_costs: expected a matrix of numbers, got 'no.csv', which is no file$"
    ):
        read_class_costs("no.csv", classes)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_costs": -MATRIX}, "^class_costs: expected finite numbers >= 0"),
        ({"class_costs": np.full((2, 2), np.nan)}, "^class_costs: expected finite numbers >= 0"),
        ({"class_costs": MATRIX[:1]}, r"^class_costs: expected shape \(2, 2\)"),
        ({"class_costs": {"ill": {"dead": 1}}}, "^class_costs: expected classes among ill, well, got 'dead'"),
        ({"scoring": "total cost"}, "^class_costs: expected what mistakes cost, to minimise the total cost, got None"),
        (
            {"scoring": "money"},
            "^scoring: expected (None or 'total cost'|the name of a scikit-learn scorer .*), got 'money'",
        ),
    ],
)
def test_what_are_no_class_costs_is_refused(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(QUICK[name]).set_params(**settings).fit(X, LABELS)


@pytest.mark.parametrize("name", ["BudgetPrune", "CSTC", "NestedCascade"])
def test_regressors_refuse_class_costs(name: str) -> None:
    with pytest.raises(ValueError, match=r"^class_costs: expected none for regression, got a value$"):
        REGRESSORS[name](PRICES).set_params(class_costs=MATRIX).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BudgetPrune(FOREST, budget=1), "^budget: expected none where the total cost is minimised, got 1$"),
        (BudgetPrune(FOREST, lam=2), "^lam: expected none where the total cost is minimised, got 2$"),
        (BudgetPrune(FOREST, loss="gini"), "^class_costs: expected none with loss 'gini', got a value$"),
    ],
)
def test_what_the_total_cost_excludes_is_refused(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.set_params(class_costs=MATRIX, scoring="total cost").fit(X, LABELS)


def test_ranking_takes_no_class_costs() -> None:
    model = CSTC(loss="logistic", objective=TreeObjective(lambdas=1), class_costs=MATRIX, feature_costs=PRICES)
    with pytest.raises(ValueError, match=r"^class_costs: expected none for ranking by query, got a value$"):
        model.fit(X, LABELS, qid=np.arange(160) // 10)


@pytest.mark.parametrize("seed", range(6))
def test_the_pruning_of_least_total_cost_is_that_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples, labels = rng.integers(0, 4, (40, 4)).astype(float), rng.choice(["a", "b", "c"], 40)
    matrix = rng.integers(0, 9, (3, 3)).astype(float)
    costs = FeatureCosts(rng.integers(0, 3, 4).tolist(), [0, 0, -1, -1], [1])
    forest = RandomForestClassifier(2, max_depth=2, random_state=seed)
    model = BudgetPrune(
        forest, feature_costs=costs, class_costs=matrix, scoring="total cost", validation_fraction=None
    ).fit(examples, labels)
    instance, whole = model.instance_, model.forest_
    lost = node_errors(whole, "misclassification", None, None, matrix)
    assert instance.error_unit * int(instance.errors.sum()) == lost.error_unit * int(lost.errors.sum())
    depth = whole.n_internal
    parent = {node: place for place, node in enumerate(whole.internal_nodes.tolist())}
    best = None
    for kept in product([False, True], repeat=depth):
        if any(
            kept[place] and whole.parent[node] >= 0 and not kept[parent[int(whole.parent[node])]]
            for node, place in parent.items()
        ):
            continue
        error, cost = instance.evaluate(Pruning(np.array(kept)))
        best = error + cost if best is None else min(best, error + cost)
    assert isinstance(best, Fraction)
    assert model.result_.objective == model.result_.bound == best
    assert model.gap_ == 0
    assert model.at_budget(99).scoring is None
    assert model.at_lambda(2).scoring is None


def test_expected_costs_do_not_depend_on_how_many_examples_there_are() -> None:
    rng = np.random.default_rng(0)
    outputs, costs = rng.dirichlet(np.ones(7), 300), rng.random((7, 7))
    whole = expected_costs(outputs, costs)
    np.testing.assert_allclose(whole, outputs @ costs)
    assert np.array_equal(whole, np.vstack([expected_costs(row[None], costs) for row in outputs]))


def test_losses_and_labels_by_hand() -> None:
    outputs = np.array([[0.1, 0.9], [0.05, 0.95]])  # expected costs (7.2, 6.9) and (7.6, 3.95)
    classes = np.array(["ill", "well"])
    assert label_places(outputs, MATRIX).tolist() == [1, 1]
    assert label_places(outputs, None).tolist() == [1, 1]
    assert label_losses(outputs, ["ill", "well"], classes, MATRIX).tolist() == [60, 1]
    assert label_losses(outputs, ["ill", "well"], classes, None).tolist() == [1, 0]
    np.testing.assert_allclose(margin(outputs, MATRIX), [0.3, 3.65])
    np.testing.assert_allclose(margin(outputs), [0.8, 0.9])
    ones = 1 - np.eye(2)
    np.testing.assert_allclose(margin(outputs, ones), margin(outputs))


@pytest.mark.parametrize("seed", range(5))
def test_a_certain_label_is_the_cheapest_whatever_the_probabilities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 10, (3, 3)).astype(float)
    low = rng.random((40, 3)) * 0.5
    high = low + rng.random((40, 1)) * 0.3
    corners = np.array(list(product([0, 1], repeat=3)))
    expected = np.array([np.where(corner, high, low) @ costs for corner in corners])
    for slack in (1e-9, 0.05):
        least = slack * costs.max() * high.sum(axis=1)
        by_much = [(expected - least[:, None] > expected[:, :, [label]]).sum(axis=2) == 2 for label in range(3)]
        certain = np.any(np.all(by_much, axis=1), axis=0)
        assert 0 < certain.sum() < 40
        np.testing.assert_array_equal(cheapest_is_certain(low, high, costs, slack), certain)
    assert not cheapest_is_certain(low, high, np.zeros((3, 3)), 1e-9).any()


@pytest.mark.parametrize("estimator", [FOREST, GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0)])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("priced", [True, False])
def test_a_label_that_is_settled_never_changes(estimator: Any, n_classes: int, priced: bool) -> None:
    """With class costs a label was held to be settled once its class was the likeliest for sure."""
    examples, labels = load_iris(return_X_y=True)
    rows = labels < n_classes
    examples, labels = examples[rows].astype(np.float32), labels[rows]
    costs = np.array([[0, 1.0, 2], [40, 0, 3], [9, 70, 0]])[:n_classes, :n_classes] if priced else None
    policy = TreesInOrder(read(clone(estimator).fit(examples, labels)))
    end = label_places(policy.trees.predict_proba(examples), costs)
    n = len(labels)
    progress, everyone, found = Progress.start(policy, n, 4), np.arange(n), 0
    for feature in (2, 3, 0, 1):
        outputs, settled = policy.foresee(progress, everyone, costs)
        assert (label_places(outputs, costs) == end)[settled].all()
        found += int(settled.sum())
        progress.values[:, feature], progress.known[:, feature] = examples[:, feature], True
    settled = policy.foresee(progress, everyone, costs)[1]
    assert all(settled[labels == label].mean() > 0.9 for label in range(n_classes))
    assert found > 0


def test_stopping_where_the_label_is_settled_gives_the_label_of_all_trees() -> None:
    model = EarlyExit(FOREST, class_costs=COSTS, stopping=None, feature_costs=PRICES, random_state=0).fit(X, LABELS)
    whole = model.estimator_.predict_proba(X) @ MATRIX
    apart = np.ptp(whole, axis=1) > 1e-9
    trees, seller = model.trees_, model._seller()
    policy = EarlyExitPolicy(trees, UNSTOPPED, -np.inf, seller.free_features, model.class_costs_)
    sessions = Sessions(policy, seller, len(X))
    sessions.see(X)
    labels = sessions.labels(sessions.outputs)
    assert (labels == np.array(["ill", "well"])[np.argmin(whole, axis=1)])[apart].all()


def test_trees_of_weighted_labels_give_probabilities_without_weights() -> None:
    """Weights of training move the log odds; they are taken off, so that costs are not counted twice."""
    rng = np.random.default_rng(0)
    column = rng.integers(0, 2, 4000).astype(float)
    labels = (rng.random(4000) < np.where(column == 1, 0.3, 0.05)).astype(int)
    for kind in (
        CSTC(loss="logistic", objective=TreeObjective(depth=1, lambdas=[0.0], rho=1e-6)),
        AndOrCascade(objective=AndOrObjective(limits=(1,), lambdas=[0.0])),
    ):
        model = kind.set_params(class_costs=[[0, 1], [9, 0]], validation_fraction=None).fit(column[:, None], labels)
        for value, share in ((0.0, 0.05), (1.0, 0.3)):
            assert model.predict_proba([[value]])[0, 1] == pytest.approx(share, abs=0.03)
        assert model.predict([[0.0], [1.0]]).tolist() == [0, 1]  # 0.05 * 9 < 0.95, 0.3 * 9 > 0.7
