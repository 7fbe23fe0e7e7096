"""Rules are what the model does: orders, answers and costs, example by example, and never more is claimed."""

import re
from collections import defaultdict
from dataclasses import replace
from itertools import product
from math import inf, isnan, nan
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import BudgetedPipeline, BudgetForest, BudgetPrune, EarlyExit, FeatureCosts, ForestSearch, NestedCascade
from ipforest.plotting import draw_rules
from ipforest.policy import ANSWERS, Progress, Rows, Test
from ipforest.rules import Condition, Rules, Step, read_rules, rules_of
from ipforest.rules.conditions import holds, in_words, joined, roundest, tell_apart
from ipforest.rules.wording import sentences
from ipforest.session import Seller

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (240, 5)).astype(float)
Y = np.where((X[:, 0] > 4) & (X[:, 1] > 3) | (X[:, 2] > 7), "ill", "well")
COSTS = FeatureCosts([2, 3, 5, 0, 1], groups=[0, 0, -1, -1, -1], group_fees=[4])
SEEN, NEW = slice(None, 120), slice(120, None)

TREES: dict[str, Any] = {
    "a tree": BudgetPrune(DecisionTreeClassifier(max_depth=5, random_state=0), feature_costs=COSTS, random_state=0),
    "a tree that pays by test": BudgetPrune(
        DecisionTreeClassifier(max_depth=4, random_state=0), feature_costs=COSTS, split_cost="1/4", random_state=0
    ),
    "a tree of a budget": BudgetPrune(
        DecisionTreeClassifier(max_depth=5, random_state=1), feature_costs=COSTS, budget=6, random_state=0
    ),
    "a tree with class costs": BudgetPrune(
        DecisionTreeClassifier(max_depth=4, random_state=1),
        feature_costs=COSTS,
        class_costs=[[0, 9], [1, 0]],
        random_state=0,
    ),
}
OTHERS: dict[str, Any] = {
    "a forest": BudgetPrune(
        RandomForestClassifier(4, max_depth=3, random_state=0), feature_costs=COSTS, random_state=0
    ),
    "a tree with a cap": BudgetPrune(
        DecisionTreeClassifier(max_depth=4, random_state=0), feature_costs=COSTS, max_cost=6, random_state=0
    ),
    "early exit": EarlyExit(
        RandomForestClassifier(6, max_depth=3, random_state=0), feature_costs=COSTS, budget=7, random_state=0
    ),
    "a cascade": NestedCascade(
        RandomForestClassifier(5, max_depth=3, random_state=0), feature_costs=COSTS, budget=8, random_state=0
    ),
}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: model.fit(X[SEEN], Y[SEEN]) for name, model in (TREES | OTHERS).items()}


@pytest.mark.parametrize("name", list(TREES))
def test_rules_of_a_tree_are_the_tree_on_every_example(name: str, fitted: dict[str, Any]) -> None:
    model, few = fitted[name], X[:7]
    rules = read_rules(model, few)
    assert rules.is_exact
    assert rules.n_followed == len(few)
    every = np.random.default_rng(1).uniform(-2, 11, (3000, 5))
    np.testing.assert_array_equal(rules.predict(every), model.predict(every))
    np.testing.assert_allclose(rules.cost_of(every), model.cost(every))
    assert rules.agreement(model, every) == 1
    assert "The model is this tree" in rules.to_text()


@pytest.mark.parametrize("name", list(TREES | OTHERS))
def test_examples_and_costs_add_up(name: str, fitted: dict[str, Any]) -> None:
    model = fitted[name]
    rules = read_rules(model, X[NEW], Y[NEW])
    counts, paid = np.array([(end.n_samples, end.paid) for end in rules.ends]).T
    assert counts.sum() == 120
    assert (counts * paid).sum() / 120 == pytest.approx(model.cost(X[NEW]).mean()) == pytest.approx(rules.cost)
    right = sum(end.n_right for end in rules.ends if end.n_right is not None)
    assert right == (model.predict(X[NEW]) == Y[NEW]).sum()
    assert rules.error == pytest.approx(1 - right / 120)
    assert all(step.n_samples == sum(below.n_samples for below in step.below) for step in steps(rules) if step.below)


@pytest.mark.parametrize("name", list(OTHERS))
def test_as_many_examples_are_followed_as_are_claimed(name: str, fitted: dict[str, Any]) -> None:
    model = fitted[name]
    rules = read_rules(model, X[NEW], Y[NEW])
    assert not rules.is_exact
    assert round(rules.agreement(model, X[NEW]) * 120) >= rules.n_followed > 60
    beyond = sum(end.n_samples for end in rules.ends if end.goes_on)
    claimed = f"does with {rules.n_told} of these" if beyond else f"for {rules.n_followed} of these"
    assert f"{claimed} 120 examples" in rules.to_text(width=1000)
    assert rules.n_told - beyond <= rules.n_followed <= rules.n_told
    for end in rules.ends:
        assert not end.goes_on or end.n_samples < 3


@pytest.mark.parametrize("max_questions", [None, 2])
@pytest.mark.parametrize("name", list(OTHERS))
def test_each_step_counts_what_sessions_do(name: str, max_questions: int | None, fitted: dict[str, Any]) -> None:
    model, values, labels = fitted[name], X[NEW], Y[NEW]
    rules = read_rules(model, values, labels, max_questions=max_questions, max_clauses=3)
    answers, cost, chances = model.predict(values), model.cost(values), model.predict_proba(values)
    sessions, ways = model.sessions(len(values)), [list[Any]() for _ in values]
    while requests := sessions.requests():
        for request in requests:
            for row in request.rows:
                ways[row].append(request.unit.index)
            sessions.tell(request.unit, request.rows, values[np.ix_(request.rows, request.unit.features)])
    for way, answer in zip(ways, answers, strict=True):
        way.append(answer)
    is_told = np.ones(len(values), dtype=bool)

    def check(step: Step, rows: Any, n_told: int, paid: float) -> None:
        assert step.n_samples == rows.size
        n_after = n_told + len(step.orders)
        assert {tuple(ways[row][n_told:n_after]) for row in rows} == {tuple(order.unit for order in step.orders)}
        if step.is_end:
            said = [(answers[rows] == label).sum() for label in model.classes_]
            place = int(np.argmax(said))
            assert step.answer == model.classes_[place]
            assert step.paid == pytest.approx(cost[rows].mean())
            assert step.probability == pytest.approx(chances[rows, place].mean())
            assert step.n_right == (answers[rows] == labels[rows]).sum()
            assert step.goes_on == any(len(ways[row]) > n_after + 1 for row in rows)
            is_told[rows] &= not step.goes_on
            return
        assert step.paid == pytest.approx(paid)
        paid += sum(order.price for order in step.orders)
        groups = defaultdict(list)
        for row in rows:
            groups[ways[row][n_after]].append(row)
        assert len(groups) == len(step.below)
        for below in step.below:
            met = holds(below.clauses, values[rows])
            for first, some in [*groups.items()]:
                here = np.isin(rows, some)
                counts = len(some), (here & ~met).sum(), (met & ~here).sum()
                starts = below.orders[0].unit if below.orders else None if below.goes_on else below.answer
                if starts in (first, None) and counts == (below.n_samples, below.n_missed, below.n_strays):
                    is_told[rows[here & ~met]] = False
                    check(below, rows[here], n_after, paid)
                    del groups[first]
                    break
        assert not groups

    check(rules.first, np.arange(len(values)), 0, 0.0)
    assert rules.n_followed == is_told.sum()


def test_what_a_part_of_the_examples_pays_is_computed_of_that_part(
    fitted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    paid_for = Seller.paid_for
    monkeypatch.setattr(Seller, "paid_for", lambda *given: counted.append(len(given[1])) or paid_for(*given))
    rules = read_rules(fitted["a cascade"], X[NEW])
    assert sorted(counted) == sorted([len(X[NEW]), *(step.n_samples for step in steps(rules))])


@pytest.mark.parametrize("name", ["a forest", "a tree"])
def test_no_more_questions_are_told_than_asked_for(name: str, fitted: dict[str, Any]) -> None:
    rules = read_rules(fitted[name], X[NEW], Y[NEW], max_questions=2)
    assert rules.n_questions == 2
    assert not rules.is_exact
    beyond = [end for end in rules.ends if end.goes_on]
    assert beyond
    assert rules.n_followed <= 120 - sum(end.n_samples for end in beyond)
    assert "go on; the answer is" in rules.to_text(width=1000)
    assert sum(end.n_samples * end.paid for end in rules.ends) / 120 == pytest.approx(rules.cost)


def test_a_tree_in_words() -> None:
    ages, levels = np.meshgrid([30.0, 40, 50, 70], [1.0, 2, 3])
    table = pd.DataFrame({"age": ages.ravel(), "hdl": levels.ravel()}).loc[lambda rows: rows.index.repeat(5)]
    model = BudgetPrune(DecisionTreeClassifier(random_state=0), feature_costs={"age": 0, "hdl": "7.27"}, random_state=0)
    model.fit(table, (table.age > 45) & (table.hdl < 2.5), X_cost=table)
    assert read_rules(model, table, model.predict(table)).to_text(width=200).splitlines() == [
        "60 examples pay 3.64 on average; 0.0% of the answers are wrong.",
        "The model is this tree: the rules hold for every example.",
        "",
        "Order age (free) [60 examples]",
        "- if age at most 45: answer False (100%) [30 examples, paid 0.00; right for 30]",
        "- if age above 45: order hdl (7.27) [30 examples]",
        "  - if hdl at most 2.5: answer True (100%) [20 examples, paid 7.27; right for 20]",
        "  - if hdl above 2.5: answer False (100%) [10 examples, paid 7.27; right for 10]",
    ]


def test_one_hot_columns_are_told_as_words_of_their_column() -> None:
    table = pd.DataFrame({"ecg": ["st", "af", "normal", "st"] * 30, "age": np.arange(120.0) % 70})
    encoder = make_column_transformer(
        (OneHotEncoder(feature_name_combiner=lambda column, word: f"{column}={word}"), ["ecg"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    tree = BudgetPrune(DecisionTreeClassifier(max_depth=3, random_state=0))
    model = BudgetedPipeline(encoder, tree, feature_costs={"ecg": 12, "age": 1})
    model.fit(table, (table.ecg == "st") & (table.age > 20))
    for whole in (model, model.as_pipeline()):
        text = read_rules(whole, table).to_text(width=200)
        assert "if ecg is not st: answer False" in text
        assert "order ecg (12.00)" in text.lower()
    assert read_rules(model, table).agreement(model, table) == 1


def test_columns_of_default_encoders_are_told_by_the_names_of_the_table() -> None:
    table = pd.DataFrame({"ecg": ["st", "af", "normal", "st"] * 30, "age": np.arange(120.0) % 70})
    table = table.assign(ward=["a", "b"] * 60)
    encoder = make_column_transformer(
        (OneHotEncoder(), ["ecg"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["ward"]),
        remainder="passthrough",
    )
    tree = BudgetPrune(DecisionTreeClassifier(max_depth=3, random_state=0))
    model = BudgetedPipeline(encoder, tree, feature_costs={"ecg": 12, "age": 1, "ward": 0})
    model.fit(table, (table.ecg == "st") & (table.age > 20) | (table.ward == "b"))
    for whole in (model, model.as_pipeline()):
        text = read_rules(whole, table).to_text(width=200)
        assert "__" not in text
        assert "ward is b: answer True" in text
        assert "if ecg is normal: answer False" in text
    assert model.preprocessing_.get_feature_names_out()[0] == "onehotencoder__ecg_af"
    gaps = table.assign(ecg=table.ecg.mask(table.ecg == "af"))
    text = read_rules(model.fit(gaps, gaps.ecg.isna()), gaps).to_text(width=200)
    assert "if ecg is missing: answer True" in text


def test_what_is_missing_or_not_is_told_without_doubt() -> None:
    """ "Not red or missing" may say that neither is; "red or blue and ill" that blue ones are."""
    words = np.random.default_rng(0).choice(["red", "green", "blue"], (300, 2))
    table = pd.DataFrame(words, columns=["coat", "hat"]).astype("category")
    table.loc[::7, "coat"] = None
    ill = ((table.coat != "red") & (table.hat != "blue")).to_numpy()
    search = ForestSearch(n_lambdas=1, n_prunings=1)
    model = BudgetForest(1, search=search, random_state=0, categorical_features="from_dtype").fit(table, ill)
    text = read_rules(model, table).to_text(width=500)
    assert "- if hat is not blue, and coat is missing or not red: answer True" in text


@pytest.mark.parametrize("often", ["amber", ""])
def test_the_words_of_a_tree_say_where_other_words_go(often: str) -> None:
    """What training did not have is missing, which goes where most examples go: a few names may be the others."""
    coats = [often, "blue", "not red", "Graz, Linz", "e"]
    words = np.random.default_rng(0).choice(coats, 400, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    table, ill = pd.DataFrame({"coat": pd.Categorical(words)}), words == often
    boosting = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, categorical_features="from_dtype")
    model = BudgetPrune(boosting.fit(table, ill), random_state=0).fit(table, ill)
    rules = read_rules(model, table)
    name = often or '""'
    told = {sentence.when for depth, _, sentence in rules.sentences() if depth}
    assert told == {f"if coat is {name} or missing", f"if coat is neither {name} nor missing"}
    others = pd.DataFrame({"coat": pd.Categorical(["unknown", "e", None])})
    np.testing.assert_array_equal(rules.predict(others), model.predict(others))
    assert rules.cost_of(others).min() == 1
    limits = [Condition(0, among=some, missing=gaps) for some in (tuple(range(5)), ()) for gaps in (False, True)]
    told_of = [one.in_words(rules.seller).removeprefix("coat is ") for one in limits]
    assert told_of == ["not missing", "anything", "none of them", "missing"]


def test_long_lists_of_words_are_told_once() -> None:
    words = np.random.default_rng(0).choice([f"word {place}" for place in range(60)], 3000)
    table = pd.DataFrame({"word": pd.Categorical(words), "number": np.arange(3000) % 7})
    ill = (pd.Series(words).str[-1] < "5") & (table.number > 2)
    boosting = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=6, categorical_features="from_dtype")
    model = BudgetPrune(boosting.fit(table, ill), random_state=0).fit(table, ill)
    text = read_rules(model, table).to_text(width=2000)
    assert len(re.findall(r"word \d+", text)) < 60
    assert "- otherwise: " in text
    session = model.session({"number": 5})
    assert session.reason == (
        "tree 1 of 1 asks whether it is one of 30 categories (word 0, word 1, word 10, word 11, word 12, word 13, ...)"
    )


def test_missing_values_are_told_where_training_knew_them() -> None:
    some = np.where(np.arange(240)[:, None] % 5 == np.arange(5), np.nan, X)
    model = BudgetPrune(DecisionTreeClassifier(max_depth=4, random_state=0), random_state=0).fit(some, Y)
    rules = read_rules(model, some)
    assert "or missing" in rules.to_text()
    np.testing.assert_array_equal(rules.predict(some), model.predict(some))
    forest = BudgetPrune(RandomForestClassifier(3, max_depth=3, random_state=0), random_state=0).fit(some, Y)
    rules = read_rules(forest, some)
    assert rules.agreement(forest, some) * 240 >= rules.n_followed > 120


def test_values_that_were_never_missing_in_training_may_be_missing() -> None:
    model = BudgetPrune(DecisionTreeClassifier(max_depth=4, random_state=0), random_state=0).fit(X, Y)
    some = np.where(np.arange(240)[:, None] % 5 == np.arange(5), np.nan, X)
    rules = read_rules(model, some)
    assert rules.agreement(model, some) == 1
    np.testing.assert_array_equal(rules.predict(some), model.predict(some))
    np.testing.assert_allclose(rules.cost_of(some), model.cost(some))
    assert "missing" not in rules.to_text()


def test_regression() -> None:
    target = X[:, 0] / 10 + X[:, 1]
    tree = BudgetPrune(DecisionTreeRegressor(max_depth=3, random_state=0), random_state=0).fit(X, target)
    rules = read_rules(tree, X, target)
    np.testing.assert_array_equal(rules.predict(X).astype(float), tree.predict(X))
    assert rules.agreement(tree, X) == 1
    assert rules.error == pytest.approx(np.mean((tree.predict(X) - target) ** 2))
    assert "the mean squared error is" in rules.to_text()
    forest = BudgetPrune(RandomForestRegressor(2, max_depth=2, random_state=0), random_state=0).fit(X, target)
    means = read_rules(forest, X)
    assert sum(end.n_samples for end in means.ends) == 240
    assert means.agreement(forest, X) == means.n_followed / 240
    assert f"the same orders with a mean of its answers, for {means.n_followed} of" in means.to_text(1000)


def test_only_the_same_answers_agree() -> None:
    def fit(trees: Any, y: Any) -> Any:
        return BudgetPrune(trees, random_state=0).fit(X, y, X_cost=X)

    ill, number = Y == "ill", X[:, 0] * X[:, 1]
    models = [
        (DecisionTreeClassifier(max_depth=3, random_state=0), ill, ~ill),
        (RandomForestClassifier(3, max_depth=2, random_state=0), ill, ~ill),
        (DecisionTreeRegressor(max_depth=3, random_state=0), number, -number - 1),
    ]
    for trees, y, other in models:
        rules, opposite = read_rules(fit(trees, y), X), fit(trees, other)
        assert rules.agreement(opposite, X) == 0
        np.testing.assert_array_equal(opposite.acquired(X), fit(trees, y).acquired(X))
    assert "the same orders with the same answer, for" in read_rules(fit(*models[1][:2]), X).to_text(1000)


def test_a_tree_is_read_where_none_of_the_examples_came() -> None:
    """Boosted trees, categories, and thresholds between neighbouring numbers of single precision."""
    number, word = X[:, 0] * X[:, 1], np.isin(X[:, 0], [1, 4, 7])
    boosted = GradientBoostingRegressor(n_estimators=1, random_state=0).fit(X, number)
    words = HistGradientBoostingClassifier(max_iter=1, learning_rate=1, categorical_features=[0], random_state=0)
    gaps = np.where((np.arange(240) % 3 == 0)[:, None], [nan, 5, 5, 5, 5], X + np.eye(5)[0] * 9)
    near = 4 + np.array([[4], [8]]) * float(np.finfo(np.float32).eps)
    near = np.concatenate([near, near + 1e-9, near - 1e-9]).repeat(9, axis=0)
    closest = BudgetPrune(DecisionTreeClassifier(random_state=0), random_state=0)
    models = [
        BudgetPrune(boosted).fit(X, number),
        closest.fit(near, near.astype(np.float32)[:, 0] > near[0], X_cost=near),
        BudgetPrune(words.fit(X, word)).fit(X, word),
    ]
    for model, tables in zip(models, [[X], [near], [X, gaps]], strict=True):
        rules = read_rules(model, tables[0][:1])
        assert rules.is_exact
        assert {end.n_right for end in rules.ends} == {None}
        for table in tables:
            np.testing.assert_array_equal(rules.predict(table), model.predict(table))
        assert len(set(model.predict(tables[0]))) > 1
    assert {end.n_right for end in read_rules(models[-1], X[:1], word[:1]).ends} == {0, 1}


LATE = COSTS.with_delayed([0, 2])


@pytest.mark.parametrize("trees", [1, 3])
def test_rounds_are_told_and_cost_what_the_model_costs(trees: int) -> None:
    forest = RandomForestClassifier(trees, max_depth=4, random_state=0)
    model = BudgetPrune(forest, feature_costs=LATE, random_state=0).fit(X[SEEN], Y[SEEN])
    rules = read_rules(model, X[NEW], Y[NEW])
    assert not rules.is_exact
    assert sum(end.n_samples * end.paid for end in rules.ends) / 120 == pytest.approx(model.cost(X[NEW]).mean())
    assert rules.agreement(model, X[NEW]) * 120 >= rules.n_followed
    orders = [step.orders for step in steps(rules) if step.orders]
    assert any(len({order.round for order in some}) < len(some) for some in orders)
    for end, orders_of_end in ends_with_orders(rules.first, ()):
        if not end.goes_on:
            assert sum(order.price for order in orders_of_end) == pytest.approx(end.paid)


def ends_with_orders(step: Step, before: tuple[Any, ...]) -> list[tuple[Step, tuple[Any, ...]]]:
    orders = (*before, *step.orders)
    return [pair for below in step.below for pair in ends_with_orders(below, orders)] or [(step, orders)]


class AsksTwo:
    """A policy of a user: the first two features add up."""

    dtype = np.float64
    place_size = 0
    ignores_unwanted = False
    decides_by = "a sum"
    features = np.array([0, 1])

    def advance(self, progress: Progress, rows: Rows) -> Any:
        known = progress.known[rows]
        wanted = np.where(~known[:, 0], 0, np.where(~known[:, 1] & (progress.values[rows, 0] > 4), 1, ANSWERS))
        progress.tests[rows] = known[:, : progress.tests.shape[1]] & np.isin(np.arange(known.shape[1]), [0, 1])
        return wanted.astype(np.int32)

    def answer(self, progress: Progress, rows: Rows) -> Any:
        known = np.where(progress.known[rows, :2], progress.values[rows, :2], 0)
        ill = (known.sum(axis=1) > 9).astype(float)
        return np.column_stack([ill, 1 - ill])

    def reason(self, progress: Progress, row: int, in_words: Any = None) -> str:
        return "adds it"


SELLER = Seller(COSTS, 0.0, np.array(["ill", "well"]), tuple("abcde"), allow_missing=False)


def test_any_policy_has_rules() -> None:
    rules = rules_of(AsksTwo(), SELLER, X, max_clauses=40)
    assert [(order.name, order.price) for order in rules.first.orders] == [("a", 6)]
    orders = {step.orders for step in rules.first.below}
    assert ("b", 3) in {(order.name, order.price) for some in orders for order in some}
    assert rules.n_followed == 240
    assert "if a at most 4: answer well" in rules.to_text()


CELLS = np.array([*product((nan, -1, 0, 1, 2), (nan, 0, 1, 2, 3))])
NUMBERS = [Condition(0, *ends, missing=missing) for ends in product((-inf, 0), (1, inf)) for missing in (False, True)]
WORDS = [
    Condition(1, among=among, excluded=excluded, missing=missing)
    for among in ((1,), (0, 2))
    for excluded in (False, True)
    for missing in (False, True)
]


def test_conditions_hold_of_what_they_say_by_themselves_and_joined() -> None:
    def is_met(condition: Condition, cells: Any) -> bool:
        value = cells[condition.feature]
        if isnan(value):
            return condition.missing
        if condition.among is None:
            return bool(condition.above < value <= condition.at_most)
        return (value in condition.among) != condition.excluded

    met = {one: np.array([is_met(one, cells) for cells in CELLS]) for one in (*NUMBERS, *WORDS)}
    for one, here in met.items():
        np.testing.assert_array_equal(one.holds(CELLS), here)
    for some in (*product(NUMBERS, WORDS, NUMBERS), *product(NUMBERS, WORDS, WORDS)):
        clause = joined(joined((), *some[:2]), some[2])
        assert [one.feature for one in clause].count(0) == 1
        np.testing.assert_array_equal(holds([clause], CELLS), np.all([met[one] for one in some], axis=0))


def test_conditions_are_the_fewest_that_tell_apart() -> None:
    few = np.where(X[:, 0] <= 1, 3, 7)  # where training had no gaps, those of other examples lead nowhere
    assert tell_apart(X, [0, 1], few, (), 6) == {3: ((Condition(0, at_most=1),),), 7: ((Condition(0, above=1),),)}
    actions = np.where(X[:, 0] <= 4, 3, 7)
    assert tell_apart(X, [0, 1], actions, (), 6) == {3: ((Condition(0, at_most=4),),), 7: ((Condition(0, above=4),),)}
    assert tell_apart(X, [], actions, (), 6) == {int(np.bincount(actions).argmax()): ((),)}


def test_a_category_is_told_by_its_name() -> None:
    seller = replace(SELLER, categories={1: ("single", "married", "widowed")})
    clauses = tell_apart(X[:, :2] % 3, [1], (X[:, 1] % 3 == 1).astype(np.int64), {1}, 6)
    assert in_words(clauses[1], seller) == "b is married"
    assert in_words(clauses[0], seller) == "b is not married"
    among = [Condition(1, among=(0, 2)), Condition(1, among=(0,), excluded=True), Condition(1, at_most=0.5)]
    assert [one.in_words(seller) for one in among] == ["b is not married", "b is not single", "b is single"]
    neither = Condition(1, among=(4, 7), excluded=True)
    assert neither.in_words(SELLER) == "b is neither 4 nor 7"
    assert replace(neither, excluded=False).in_words(SELLER) == "b is 4 or 7"
    counts = replace(SELLER, feature_names=tuple(f"word={letter}" for letter in "abcde"))
    assert [Condition(0, at_most=most).in_words(counts) for most in (0, 1)] == ["word is not a", "word=a at most 1"]
    asked = [seller.in_words(Test(feature, threshold)) for feature, threshold in [(1, 1.5), (1, np.inf), (0, np.inf)]]
    assert asked == ["asks whether it is not widowed", "asks whether it is missing", "asks whether it is missing"]


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [(41, 47, 45), (0, 1, 0), (121.3, 121.4, 121.3), (-3, 5, 0), (0.0012, 0.0018, 0.0015), (1e-300, 2e-300, 1e-300)],
)
def test_thresholds_are_round(low: float, high: float, number: float) -> None:
    assert roundest(low, high) == pytest.approx(number)


def test_a_threshold_parts_what_it_should() -> None:
    random = np.random.default_rng(0)
    for low, gap in random.lognormal(0, 9, (300, 2)) * random.choice([-1, 1], (300, 1)):
        high = low + abs(gap)
        assert high == low or low <= roundest(low, high) < high


def test_lines_keep_to_the_width(fitted: dict[str, Any]) -> None:
    rules = read_rules(fitted["a forest"], X[NEW], Y[NEW])
    assert max(map(len, rules.to_text(width=60).splitlines())) <= 60
    narrowest = rules.to_text(width=1).splitlines()
    assert 24 < max(map(len, narrowest)) <= 24 + 2 * rules.n_questions + 2
    assert rules.to_markdown().count("\n") == 3 + len([*steps(rules)])
    record = rules.record()
    assert record["rules"]["examples"] == record["examples"] == 120
    assert sum(leaf["examples"] for leaf in leaves(record["rules"])) == 120


@pytest.mark.parametrize(
    ("n_missed", "n_strays", "fact"),
    [
        (0, 0, None),
        (2, 0, "the condition holds for 5 of these"),
        (0, 1, "the condition holds for 7 of these and for 1 other"),
        (1, 3, "the condition holds for 6 of these and for 3 others"),
    ],
)
def test_what_a_condition_misses_is_a_fact(n_missed: int, n_strays: int, fact: str | None) -> None:
    step = Step(((),), 7, 1.0, answer="ill", probability=1.0, n_missed=n_missed, n_strays=n_strays)
    assert next(sentences(step, SELLER))[2].facts == ("7 examples, paid 1.00", *filter(None, [fact]))


@pytest.mark.parametrize("name", [pytest.param("a tree", marks=pytest.mark.slow), "a cascade"])
def test_no_box_of_the_picture_overlaps_another_and_words_stay_inside(name: str, fitted: dict[str, Any]) -> None:
    rules = read_rules(fitted[name], X[NEW], Y[NEW])
    axes = draw_rules(rules)
    axes.figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in axes.patches]
    assert len(boxes) == len([*steps(rules)])
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
    for text in axes.texts:
        extent = text.get_window_extent()
        assert any(box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 + 1 for box in boxes)
    plt.close(axes.figure)


def test_bad_input_is_told() -> None:
    model = TREES["a tree"]
    with pytest.raises(TypeError, match=r"model: expected one that buys, .*, got LogisticRegression"):
        read_rules(LogisticRegression().fit(X, Y), X)
    with pytest.raises(ValueError, match="y: expected 240 values, one per example, got"):
        read_rules(model, X, Y[:3])
    with pytest.raises(ValueError, match="y: expected labels among the classes of training, got 'unheard of'"):
        read_rules(model, X, np.where(np.arange(len(Y)) == 3, "unheard of", Y.astype(object)))
    with pytest.raises(ValueError, match="max_questions: expected an integer >= 1, got 0"):
        read_rules(model, X, max_questions=0)
    with pytest.raises(ValueError, match="max_clauses: expected an integer >= 2, got 1"):
        read_rules(model, X, max_clauses=1)
    with pytest.raises(ValueError, match="X: expected at least one example, got none"):
        rules_of(AsksTwo(), SELLER, X[:0])


def steps(rules: Rules) -> list[Step]:
    found = [rules.first]
    for step in found:
        found += step.below
    return found


def leaves(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [leaf for below in record["below"] for leaf in leaves(below)] if record["below"] else [record]


def orders_of(rules: Rules) -> set[str]:
    """Name what is ordered at all steps."""
    steps, named = [rules.first], set[str]()
    while steps:
        step = steps.pop()
        named |= {order.name for order in step.orders}
        steps += step.below
    return named


def test_orders_are_named_after_columns_of_the_table_whatever_the_prices_are_of() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"word": rng.choice(["x", "y"], 80), "age": rng.integers(20, 90, 80)})
    y = (table.word == "x") & (table.age > 50)
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["word"]), remainder="passthrough")
    pruned = BudgetPrune(RandomForestClassifier(3, random_state=0), feature_costs=[1, 1, 2], budget=4, random_state=0)
    assert orders_of(read_rules(make_pipeline(encoder, pruned).fit(table, y), table, y)) == {"word", "age"}
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    shared = FeatureCosts([1, 2]).for_columns([0, 0, 1])
    model = BudgetPrune(RandomForestClassifier(3, random_state=0), feature_costs=shared, budget=3, random_state=0)
    assert orders_of(read_rules(model.fit(frame, frame.a + frame.c > 0), frame)) == {"a, b", "c"}
