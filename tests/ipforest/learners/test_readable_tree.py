"""A tree in place of a model: within its limits on every example, and honest about what it loses."""

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeClassifier

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    Forest,
)
from ipforest.deployment.reader import Model
from ipforest.ensemble import write
from ipforest.learners import ReadableTree
from ipforest.policy import TreesInOrder
from ipforest.rules import read_rules
from ipforest.session import Sessions

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (300, 6)).astype(float)
Y = np.where((X[:, 0] > 4) & (X[:, 1] > 3) | (X[:, 2] > 7), "ill", "well")
COSTS = FeatureCosts([2, 3, 5, 0, 1, 4], groups=[0, 0, -1, -1, -1, 1], group_fees=[4, 1])
HALF = slice(None, 150), slice(150, None)
FOREST = RandomForestClassifier(12, max_depth=6, random_state=0)


@pytest.fixture(scope="module")
def model() -> Any:
    return BudgetPrune(FOREST, feature_costs=COSTS, random_state=0).fit(X[HALF[0]], Y[HALF[0]])


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_example_is_asked_more(model: Any, most: int) -> None:
    tree = ReadableTree(model, max_depth=6, max_questions=most, random_state=0).fit(X[HALF[0]], Y[HALF[0]])
    assert tree.acquired(X).sum(axis=1).max() <= most
    assert read_rules(tree, X, Y).n_questions <= most
    assert read_rules(tree, X, Y).is_exact


def test_it_is_the_best_pruning_within_limits_and_budget(model: Any) -> None:
    tree = ReadableTree(model, budget=5, random_state=0).fit(X[HALF[0]], Y[HALF[0]])
    assert tree.cost(X[HALF[0]]).mean() <= 5
    assert tree.pruned_.gap_ == 0
    assert float(tree.pruned_.result_.error) == pytest.approx(np.mean(tree.predict(X[HALF[0]]) != Y[HALF[0]]))
    assert tree.at_budget(2).cost(X[HALF[0]]).mean() <= 2
    other = tree.at_budget(9)
    assert tree.cost(X[HALF[0]]).mean() <= other.cost(X[HALF[0]]).mean() <= 9
    assert other.score(X[HALF[0]], Y[HALF[0]]) >= tree.score(X[HALF[0]], Y[HALF[0]])


def test_without_a_budget_it_pays_no_more_than_the_model(model: Any) -> None:
    tree = ReadableTree(model, random_state=0).fit(X[HALF[0]], Y[HALF[0]])
    assert tree.cost(X[HALF[0]]).mean() <= model.cost(X[HALF[0]]).mean()


def test_the_cap_of_the_model_holds_on_every_example() -> None:
    capped = BudgetPrune(FOREST, feature_costs=COSTS, max_cost=9, random_state=0).fit(X, Y)
    tree = ReadableTree(capped, max_depth=6, random_state=0).fit(X, Y)
    every = np.random.default_rng(1).uniform(-1, 10, (2000, 6))
    assert 0 < tree.cost(every).max() <= 9
    session = tree.session()
    while session.next_unit is not None:
        session.tell(5.0)
    assert session.paid <= 9


@pytest.mark.parametrize("most", [1, 2, 3])
def test_what_is_ordered_together_with_delayed_features_counts(most: int) -> None:
    late = BudgetPrune(FOREST, feature_costs=COSTS.with_delayed([0, 3]), random_state=0).fit(X, Y)
    tree = ReadableTree(late, max_depth=6, max_questions=most, random_state=0).fit(X, Y)
    ordered = tree.sessions(300)
    ordered.see(X)
    assert 0 < ordered.bought.sum(axis=1).max() <= most


@pytest.mark.parametrize("late", [[], [0], [2, 3], [1, 5]])
def test_nothing_is_cut_off_but_what_passes_the_limits(late: list[int]) -> None:
    capped = BudgetPrune(FOREST, feature_costs=COSTS, max_cost=9, random_state=0).fit(X, Y)
    if late:
        capped = BudgetPrune(FOREST, feature_costs=COSTS.with_delayed(late), random_state=0).fit(X, Y)
    cut_off = 0
    for seed in range(12):
        tree = ReadableTree(capped, max_questions=1 + seed % 4, random_state=0).fit(X, Y)
        grown = Forest.from_sklearn(DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, RNG.permutation(Y)))
        within, seller = tree._within_limits(grown), tree._seller()
        sessions = Sessions(TreesInOrder(within), seller, len(X))
        sessions.see(X)
        assert sessions.bought.sum(axis=1).max() <= 1 + seed % 4
        if not late:
            tested = np.zeros((grown.n_nodes, 6), dtype=bool)
            for node in grown.internal_nodes:  # parents come before children
                tested[node] = tested[max(grown.parent[node], 0)]
                tested[node, grown.feature[node]] = True
            fits = (tested.sum(axis=1) <= 1 + seed % 4) & (seller.costs.cost_of(tested) <= 9)
            assert within.n_internal == fits[grown.internal_nodes].sum()
        cut_off += grown.n_internal - within.n_internal
    assert cut_off > 100


def test_what_it_loses_is_what_is_measured(model: Any) -> None:
    tree = ReadableTree(model, max_questions=2, random_state=0).fit(X[HALF[0]], Y[HALF[0]])
    told = tree.fidelity(X[HALF[1]], Y[HALF[1]])
    assert told.agreement == pytest.approx(np.mean(tree.predict(X[HALF[1]]) == model.predict(X[HALF[1]])))
    assert told.error == pytest.approx(1 - tree.score(X[HALF[1]], Y[HALF[1]]))
    assert told.error_of_model == pytest.approx(1 - model.score(X[HALF[1]], Y[HALF[1]]))
    assert (told.cost, told.cost_of_model) == (tree.cost(X[HALF[1]]).mean(), model.cost(X[HALF[1]]).mean())
    assert told.summary().startswith(f"On 150 examples the tree agrees with the model by {told.agreement:.1%};")


def test_a_model_that_is_not_fitted_is_fitted_first(model: Any) -> None:
    tree = ReadableTree(clone(model), random_state=0).fit(X[HALF[0]], Y[HALF[0]])
    same = clone(ReadableTree(FrozenEstimator(model), random_state=0)).fit(X[HALF[0]], Y[HALF[0]])
    np.testing.assert_array_equal(tree.predict_proba(X), same.predict_proba(X))


def test_a_model_that_always_says_the_same_has_a_tree_that_knows_all_classes() -> None:
    cheap = EarlyExit(FOREST, feature_costs=[50] * 6, budget=0, random_state=0).fit(X, Y)
    tree = ReadableTree(cheap, random_state=0).fit(X, Y)
    assert tree.predict_proba(X).shape == (300, 2)
    assert tree.cost(X).max() == 0


def test_categories_are_asked_for_by_name() -> None:
    table = pd.DataFrame({"pain": pd.Categorical(RNG.choice(["none", "mild", "strong"], 300)), "age": X[:, 0]})
    ill = (table.pain == "strong") & (table.age > 1)
    boosted = BudgetBoost(
        25, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=1, n_prunings=1), random_state=0
    ).fit(table, ill)
    tree = ReadableTree(boosted, random_state=0).fit(table, ill)
    assert "pain is strong" in read_rules(tree, table).to_text(width=200)
    np.testing.assert_array_equal(read_rules(tree, table).predict(table), tree.predict(table))
    session = tree.session({"age": 8.0})
    session.tell("strong")
    assert session.answer is np.True_


@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
def test_a_tree_asks_for_some_words_whatever_their_order(kind: str) -> None:
    """Words in the order of the alphabet tell nothing: one test parts them, and unknown ones are missing."""
    words = np.random.default_rng(0).choice([f"w{place:02}" for place in range(40)], 2000)
    warm = pd.Series(words).str[-1].isin([*"1359"]).to_numpy()
    answers = {"two classes": warm, "three classes": warm + 2 * (words < "w10"), "numbers": warm * 9.0}[kind]
    table = pd.DataFrame({"word": pd.Categorical(words), "noise": np.random.default_rng(1).normal(size=2000)})
    boost = BudgetBoostRegressor if kind == "numbers" else BudgetBoost
    search = BoostSearch(n_lambdas=1, n_prunings=1)
    inner = boost(10, growth=BoostGrowth(max_leaf_nodes=4), search=search, random_state=0).fit(table, answers)
    tree = ReadableTree(inner, max_depth=3, random_state=0).fit(table, answers)
    assert tree.score(table, answers) > 0.97
    unknown, missing = (table[:1].assign(word=pd.Categorical([word])) for word in ("w40", None))
    assert tree.predict(unknown) == tree.predict(missing)
    rules = read_rules(tree, table, answers)
    assert rules.is_exact
    assert rules.agreement(tree, table) == 1
    if kind == "two classes":
        assert rules.to_text(width=9999).count("w01") == 1
    reader = Model(json.loads(write(tree, "json")))
    for row in range(60):
        assert reader.predict_one(table.iloc[row].tolist().__getitem__).label == pytest.approx(tree.predict(table)[row])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).at_budget(1).predict(table), tree.predict(table))


def test_regression() -> None:
    target = X[:, 0] + X[:, 2]
    forest = BudgetPrune(RandomForestRegressor(6, max_depth=4, random_state=0), feature_costs=COSTS, random_state=0)
    tree = ReadableTree(forest, max_questions=2, random_state=0).fit(X, target)
    told = tree.fidelity(X, target)
    assert 0.5 < told.agreement < 1
    assert told.agreement == pytest.approx(r2_score(tree.estimator_.predict(X), tree.predict(X)))
    assert told.error == pytest.approx(np.mean((tree.predict(X) - target) ** 2))
    assert f"the tree has an R2 of {told.agreement:.4g} on the model's answers; its mean squared error" in str(told)
    constant = BudgetPrune(forest.estimator, feature_costs=COSTS, budget=0, random_state=0).fit(X[:100], target[:100])
    assert ReadableTree(constant, random_state=0).fit(X[100:], target[100:]).fidelity(X, target).agreement == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_depth": 0}, ValueError, "max_depth: expected an integer >= 1, got 0"),
        ({"max_questions": 1.5}, ValueError, "max_questions: expected an integer >= 1 or None, got 1.5"),
        ({"min_samples_leaf": 0}, ValueError, "min_samples_leaf: expected an integer >= 1, got 0"),
        ({"budget": -1}, ValueError, "budget: expected"),
        ({"estimator": FOREST}, TypeError, "estimator: expected one of this package, which buys, got RandomForestCl"),
    ],
)
def test_bad_parameters_are_told(model: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ReadableTree(**{"estimator": model, **options}).fit(X, Y)


def test_bad_examples_are_told(model: Any) -> None:
    with pytest.raises(ValueError, match="y: expected labels among the classes of training, got 'dead'"):
        ReadableTree(model).fit(X, np.where(Y == "ill", "dead", Y))
    with pytest.raises(ValueError, match="y: expected 300 values"):
        ReadableTree(model).fit(X, Y[:5])
