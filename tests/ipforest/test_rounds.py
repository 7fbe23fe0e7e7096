"""Sessions in rounds: what is ordered together, what it costs, and that every estimator says the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import StandardScaler

from ipforest import (
    BoostSearch,
    BranchingCascade,
    BranchingStages,
    BudgetBoost,
    BudgetedClassifier,
    BudgetedPipeline,
    BudgetForest,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    Forest,
    ForestSearch,
    NestedCascade,
    Pruning,
    PruningInstance,
    prune_path,
)
from ipforest.adaptive.adapt_gbrt import AdaptGbrt
from ipforest.adaptive.adapt_lin import AdaptLin
from ipforest.adaptive.l1_baseline import L1Baseline
from ipforest.classifier_trees.and_or import AndOrCascade
from ipforest.classifier_trees.astc import ASTC
from ipforest.classifier_trees.cscc import CSCC
from ipforest.classifier_trees.cstc import CSTC
from ipforest.deployment.document import document_of
from ipforest.ensemble import routing
from ipforest.learners.budget_rf import BudgetRF
from ipforest.learners.forest_pruner import ForestPruner
from ipforest.learners.greedy_miser import GreedyMiser, GreedyMiserRegressor
from ipforest.learners.pruning_baselines import CostComplexity, EarlyStopping, GreedyPrune, IndividualPruning
from ipforest.policy import TreesInOrder
from ipforest.session import Seller, Session, Sessions
from ipforest.session.on_demand import buy_on_demand, buy_on_demand_async
from ipforest.tabular.model_files import load_model, save_model
from proofs.crosschecks.brute_force import brute_force, prunings

AGE, HDL, SCAN, SUGAR, WEIGHT = range(5)
NAMES = ("age", "hdl", "scan", "sugar", "weight")

TREES = [
    # A young patient is weighed; others have a scan, and then sugar and weight or, above a value, HDL.
    (AGE, 3.5, (WEIGHT, 0.5, 0, 1), (SCAN, 0.5, (AGE, 5.5, (SUGAR, 0.5, 0, 1), (WEIGHT, 0.5, 1, 0)), (HDL, 0.5, 0, 1))),
    (HDL, 0.5, 0, (SUGAR, 0.5, 1, 0)),
]


def forest_of(trees: list[Any]) -> Forest:
    """Write trees, tuples of a feature, a threshold and what is below it on both sides, as arrays."""
    nodes: list[list[Any]] = []
    offsets = [0]

    def add(tree: Any) -> int:
        number = len(nodes)
        nodes.append([-1, -1, -1, 0.0, 0.5 if isinstance(tree, tuple) else float(tree)])
        if isinstance(tree, tuple):
            nodes[number][2:4] = tree[:2]
            nodes[number][0:2] = add(tree[2]), add(tree[3])
        return number

    for tree in trees:
        add(tree)
        offsets.append(len(nodes))
    left, right, feature, threshold, ill = map(np.array, zip(*nodes, strict=True))
    ones = np.ones(len(nodes))
    return Forest(
        offsets,
        left,
        right,
        feature,
        threshold,
        ones == 0,
        len(NAMES),
        value=np.column_stack([1 - ill, ill]),
        weight=ones,
        n_samples=ones.astype(int),
        impurity=ones,
        classes=np.array(["well", "ill"]),
        criterion="gini",
        feature_names=NAMES,
    )


def seller_of(costs: FeatureCosts, **options: Any) -> Seller:
    names = costs.feature_names or tuple(f"f{column}" for column in range(costs.n_features))
    return Seller(costs, 0.0, np.array(["well", "ill"]), names, allow_missing=True, **options)


PRICES = FeatureCosts([0, 7, 100, 5, 1], [-1, 0, -1, 0, -1], [2], NAMES, delayed=["hdl", "scan", "sugar"])


def clinic(known: Any = None, max_cost: Any = None, max_rounds: int | None = None) -> Session:
    return Session(TreesInOrder(forest_of(TREES)), seller_of(PRICES), known, max_cost, max_rounds)


def names(session: Session) -> list[str]:
    return [unit.name for unit in session.round()]


def test_a_round_has_all_that_may_be_wanted_below_the_delayed_tests_of_all_trees() -> None:
    session = clinic()
    assert (names(session), session.waits, session.round_number) == (["age"], False, 1)
    session.tell(7)
    assert names(session) == ["hdl", "scan", "sugar", "weight"]
    assert (session.waits, session.round_number, session.round_price) == (True, 1, 7 + 2 + 100 + 5 + 1)
    session.tell({"sugar": 0, "scan": 0})
    assert names(session) == ["hdl", "weight"]
    assert [session.next_unit.name, session.price] == ["hdl", 7]
    session.tell({"weight": 1, "hdl": 0})
    assert names(session) == []
    assert (session.answer, session.paid) == ("well", 115)
    lines = {line.unit: (line.price, line.round, line.in_vain) for line in session.ledger}
    assert lines == {
        "age": (0, 1, False),
        "sugar": (7, 1, True),
        "scan": (100, 1, False),
        "weight": (1, 1, False),
        "hdl": (7, 1, False),
    }
    assert "tree 1 of 2" in session.ledger[2].reason
    assert session.ledger[1].reason == "it may be wanted when the results of scan are in"


def test_a_young_patient_is_weighed_before_the_round_of_the_second_tree() -> None:
    session = clinic()
    session.tell(2)
    assert (names(session), session.waits) == (["weight"], False)
    session.tell(1)
    assert (names(session), session.waits) == (["hdl", "sugar"], True)
    session.tell(0)
    session.tell(1)
    assert [line.in_vain for line in session.ledger] == [False, False, False, True]
    assert session.answer == "well"


def test_what_is_given_narrows_a_round() -> None:
    assert names(clinic({"age": 7})) == ["hdl", "scan", "sugar", "weight"]
    assert names(clinic({"age": 7, "hdl": 0})) == ["scan", "weight"]
    assert names(clinic({"age": 5, "hdl": 0})) == ["scan", "sugar"]
    assert names(clinic({"age": 7, "scan": 1})) == ["hdl", "sugar"]
    assert names(clinic({"age": 7, "weight": None, "hdl": 0})) == ["scan"]


def test_without_rounds_delayed_values_cannot_be_had() -> None:
    session = clinic(max_rounds=0)
    session.tell(7)
    assert (names(session), session.paid) == ([], 0)
    session = clinic(max_rounds=0)
    session.tell(2)
    assert names(session) == ["weight"]
    assert names(clinic({"age": 7}, max_rounds=1)) == ["hdl", "scan", "sugar", "weight"]


@pytest.mark.parametrize("count", [-1, 1.5, True, "1", np.nan])
def test_numbers_of_rounds_or_of_examples_that_are_none(count: Any) -> None:
    with pytest.raises(ValueError, match=r"^max_rounds: expected None or an integer >= 0, got"):
        clinic(max_rounds=count)
    with pytest.raises(ValueError, match=r"^n: expected an integer >= 0, got"):
        Sessions(TreesInOrder(forest_of(TREES)), seller_of(PRICES), count)


def test_a_round_keeps_the_cap() -> None:
    assert names(clinic({"age": 7}, max_cost=115)) == ["hdl", "scan", "sugar", "weight"]
    assert names(clinic({"age": 7}, max_cost=112)) == ["hdl", "scan", "weight"]
    assert names(clinic({"age": 7}, max_cost=100)) == ["scan"]
    assert names(clinic({"age": 7}, max_cost=50)) == ["hdl", "sugar"]
    assert names(clinic({"age": 7}, max_cost=9)) == ["hdl"]
    session = clinic({"age": 7}, max_cost=112)
    for _ in session.round():
        session.tell(1)
    assert (session.paid, session.next_unit) == (110, None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"age": 3}, r"^round: expected values of hdl, scan, sugar, weight, got 'age'$"),
        ({"hdl": 1, "ldl": 2}, r"^feature: expected the name of a feature or a column 0\.\.4, got 'ldl'"),
        ({}, r"^round: expected values of hdl, scan, sugar, weight, got none$"),
        ({"hdl": 1, "scan": "high"}, r"^scan: expected a number, got 'high'$"),
        ({"hdl": 1, "scan": "1_000"}, r"^scan: expected a number, got '1_000'$"),
        ({"hdl": 1, "scan": np.inf}, "^scan: expected finite float32 values or NaN, got"),
    ],
)
def test_what_is_told_of_a_round_is_checked_before_anything_is_taken(value: Any, message: str) -> None:
    session = clinic({"age": 7})
    with pytest.raises(ValueError, match=message):
        session.tell(value)
    assert session.ledger == ()
    assert len(session.round()) == 4


def test_what_could_not_be_had_is_not_paid_and_ends_the_round() -> None:
    session = clinic({"age": 7})
    session.tell({"scan": None, "hdl": 1, "sugar": 0, "weight": None})
    assert session.next_unit is None
    assert session.paid == 7 + 2 + 5
    assert [(line.unit, line.charged, line.in_vain) for line in session.ledger] == [
        ("scan", False, False),
        ("hdl", True, False),
        ("sugar", True, False),
        ("weight", False, False),
    ]


@pytest.mark.parametrize("n_told", range(6))
def test_a_session_goes_on_in_the_middle_of_a_round(n_told: int) -> None:
    values = {"age": 7.0, "sugar": 1.0, "scan": None, "hdl": 1.0, "weight": np.nan}
    session, whole = clinic(max_cost=1000, max_rounds=3), clinic(max_cost=1000, max_rounds=3)
    for number, (name, value) in enumerate(values.items()):
        whole.tell({name: value})
        if number < n_told:
            session.tell({name: value})
    resumed = Session.resume(TreesInOrder(forest_of(TREES)), seller_of(PRICES), session.to_json())
    assert (names(resumed), resumed.ledger, resumed.waits) == (names(session), session.ledger, session.waits)
    for name, value in [*values.items()][n_told:]:
        resumed.tell({name: value})
    assert (resumed.ledger, resumed.to_json(), resumed.answer) == (whole.ledger, whole.to_json(), whole.answer)
    other = json.loads(session.to_json()) | {"bought": [["age", [7.0]], ["age", [7.0]]], "not_charged": []}
    with pytest.raises(ValueError, match=r"which wants hdl, scan, sugar, weight now, got age$"):
        Session.resume(TreesInOrder(forest_of(TREES)), seller_of(PRICES), json.dumps(other))
    with pytest.raises(ValueError, match=r"^saved: expected what Session.to_json wrote, got: max_rounds: expected"):
        Session.resume(
            TreesInOrder(forest_of(TREES)),
            seller_of(PRICES),
            json.dumps(json.loads(whole.to_json()) | {"max_rounds": -1}),
        )


WHOLE = FeatureCosts([0, 0, 100, 0, 1], [-1, 0, -1, 0, -1], [9], NAMES, delayed=["hdl", "scan", "sugar"])


@pytest.mark.parametrize("costs", [PRICES, WHOLE])
def test_many_sessions_fetch_round_by_round(costs: FeatureCosts) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (40, 5)).astype(float)
    X[:, 1:] = X[:, 1:] % 2
    policy, seller = TreesInOrder(forest_of(TREES)), seller_of(costs)
    asked: list[tuple[str, int]] = []

    def fetch(unit: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        asked.append((unit.name, rows.size))
        return X[np.ix_(rows, unit.features)]

    async def fetch_later(unit: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        await asyncio.sleep(0)
        return fetch(unit, rows)

    seen = Sessions(policy, seller, 40)
    seen.see(X)
    demand = buy_on_demand(Sessions(policy, seller, 40), fetch)
    assert asked[0] == ("age", 40)
    assert len(asked) <= 8
    later = asyncio.run(buy_on_demand_async(Sessions(policy, seller, 40), fetch_later))
    for one in (demand, later):
        assert one.predictions.tolist() == seen.labels(seen.outputs).tolist()
        assert one.bought.tolist() == seen.bought.tolist()
        assert one.paid == pytest.approx(seen.paid)
    assert seen.rounds.max() == 1
    hdl = seller.units()[seller.first_unit[HDL]]
    with pytest.raises(ValueError, match=f"^rows: expected examples that want {hdl}, got 0, which does not$"):
        Sessions(policy, seller, 2).tell(hdl, [0], np.ones((1, len(hdl.features))))


def test_units_of_several_features_are_ordered_whole() -> None:
    session = Session(TreesInOrder(forest_of(TREES)), seller_of(WHOLE), {"age": 7})
    assert names(session) == ["scan", "weight", "group 0"]
    assert session.round_price == 110
    session.tell({"scan": 0, "weight": 0, "hdl": 1, "sugar": 1})
    assert (session.paid, session.next_unit) == (110, None)
    with pytest.raises(ValueError, match=r"^group 0: expected values of hdl, sugar, got hdl$"):
        Session(TreesInOrder(forest_of(TREES)), seller_of(WHOLE), {"age": 7}).tell({"hdl": 1, "scan": 1})


@pytest.mark.parametrize(
    ("hdl", "sugar", "charged", "paid"),
    [(1, None, None, 9), (None, None, None, 0), (None, None, True, 9), (1, 1, False, 0), (1, float("nan"), None, 9)],
)
def test_what_is_charged_and_what_is_left_to_pay(hdl: Any, sugar: Any, charged: bool | None, paid: float) -> None:
    policy, seller = TreesInOrder(forest_of(TREES)), seller_of(WHOLE)
    session = Session(policy, seller, {"age": 7}, max_cost=500)
    session.tell({"hdl": hdl, "sugar": sugar}, charged)
    again = Session.resume(policy, seller, session.to_json())
    for each in (session, again):
        assert (each.paid, each.round_price, each.ledger[0].charged) == (paid, 101, paid > 0)
    assert again.to_json() == session.to_json()
    shared = clinic({"age": 7})
    shared.tell({"hdl": 0})
    assert (shared.paid, shared.round_price) == (9, 106)


def test_a_policy_that_does_not_say_may_want_all_its_features() -> None:
    class Silent(TreesInOrder):
        may_want = None  # type: ignore[assignment]  # as of a policy that was written without it

    session = Session(Silent(forest_of(TREES)), seller_of(PRICES), {"age": 7, "hdl": 0})
    assert names(session) == ["scan", "sugar", "weight"]


# Random forests against all prunings and against plain Python.


def drawn(seed: int) -> tuple[Forest, npt.NDArray[np.float32], FeatureCosts]:
    """Fit a small forest; draw prices with ties and zeros, groups, and delayed features."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (14, 4)).astype(np.float32), rng.integers(0, 2, 14)
    n_trees = int(rng.integers(1, 4))
    model = RandomForestClassifier(n_trees, max_leaf_nodes=6 - n_trees, max_features=None, random_state=seed).fit(X, y)
    prices, groups = rng.integers(0, 4, 4), rng.integers(-1, 2, 4)
    delayed = rng.random(4) < rng.choice([0.3, 0.6, 1.0])
    for group in (0, 1):
        members = np.flatnonzero((groups == group) & (prices == 0))
        delayed[members] = delayed[members[:1]].any()
    return Forest.from_sklearn(model), X[:6], FeatureCosts(prices, groups, [2, 0], delayed=delayed)


def ordered(forest: Forest, x: npt.NDArray[np.float32], costs: FeatureCosts) -> set[int]:
    """Walk each tree to its first delayed test, and take all tests below it."""
    late, unit = costs.delayed_features, costs.first_unit
    features: set[int] = set()
    for root in forest.tree_offsets[:-1].tolist():
        node, known = root, set()
        while forest.left[node] >= 0:
            feature = int(forest.feature[node])
            features.add(feature)
            if late[feature] and unit[feature] not in known:
                features |= set(features_below(forest, node))
                break
            known.add(unit[feature])
            node = int((forest.left if x[feature] <= forest.threshold[node] else forest.right)[node])
    return features


def features_below(forest: Forest, node: int) -> Iterator[int]:
    if forest.left[node] >= 0:
        yield int(forest.feature[node])
        for child in (forest.left[node], forest.right[node]):
            yield from features_below(forest, int(child))


SEEDS = [
    range(3),
    pytest.param(range(3, 33), marks=pytest.mark.slow),
    pytest.param(range(33, 2033), marks=[pytest.mark.slow, pytest.mark.long]),
]


@pytest.mark.parametrize("seeds", SEEDS)
def test_prunings_cost_what_sessions_order_and_the_path_is_the_best_of_all(seeds: range) -> None:
    for seed in seeds:
        forest, X, costs = drawn(seed)
        instance = PruningInstance.from_forest(forest, X, costs)
        every = [*prunings(instance)]
        for pruning in every[:: max(1, len(every) // 4)]:
            kept = forest.prune(pruning)
            seen = Sessions(TreesInOrder(kept), seller_of(costs), len(X))
            seen.see(X)
            assert float(instance.evaluate(pruning)[1]) == pytest.approx(seen.paid.mean())
            assert kept.cost(X, costs) == pytest.approx(seen.paid)
            for i, x in enumerate(X):
                assert {*np.flatnonzero(seen.bought[i]).tolist()} == ordered(kept, x, costs)
        path = prune_path(instance)
        for lam in (Fraction(1, 40), *path.breakpoints[:1]):
            assert path.result(lam).objective == brute_force(instance, lam).objective
            kept = forest.prune(path.pruning(lam))
            session = Session(TreesInOrder(kept), seller_of(costs))
            n_waits = finish(session, X[0])
            assert session.paid == pytest.approx(kept.cost(X[:1], costs)[0])
            assert n_waits <= 1


def finish(session: Any, x: npt.NDArray[Any]) -> int:
    """Tell round by round what stands in a row; count the rounds that wait."""
    n_waits = 0
    while units := session.round():
        n_waits += session.waits
        session.tell({feature: x[feature].item() for unit in units for feature in unit.features})
    return n_waits


# Every estimator.

N_FEATURES = 6
LISTED = FeatureCosts([1, 2, 3, 0, 5, 4], [-1, 0, 0, -1, 0, -1], [2])


def table(n: int = 90) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, N_FEATURES)), 1)
    return X, ((X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)) > 0).astype(np.int64)


def small() -> RandomForestClassifier:
    return RandomForestClassifier(3, max_depth=4, random_state=0)


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "BudgetPrune": lambda **options: BudgetPrune(small(), **options),
    "CostComplexity": lambda **options: CostComplexity(small(), **options),
    "EarlyStopping": lambda **options: EarlyStopping(small(), **options),
    "IndividualPruning": lambda **options: IndividualPruning(small(), **options),
    "GreedyPrune": lambda **options: GreedyPrune(small(), **options),
    "BudgetRF": lambda **options: BudgetRF(3, **options),
    "GreedyMiser": lambda **options: GreedyMiser(5, **options),
    "GreedyMiserRegressor": lambda **options: GreedyMiserRegressor(5, **options),
    "EarlyExit": lambda **options: EarlyExit(small(), **options),
    "EarlyExit of boosted trees": lambda **options: EarlyExit(
        GradientBoostingClassifier(n_estimators=4, random_state=0), order="greedy", **options
    ),
    "NestedCascade": lambda **options: NestedCascade(small(), **options),
    "BranchingCascade": lambda **options: BranchingCascade(small(), stages=BranchingStages(min_support=10), **options),
    "BudgetForest": lambda **options: BudgetForest(3, search=ForestSearch(n_lambdas=2), **options),
    "BudgetBoost": lambda **options: BudgetBoost(search=BoostSearch(n_lambdas=2, n_prunings=1), **options),
    "BudgetedClassifier": lambda **options: BudgetedClassifier(
        [small(), NestedCascade(small()), BudgetForest(3, search=ForestSearch(n_lambdas=2, n_lookahead=0))], **options
    ),
    "AdaptLin": lambda **options: AdaptLin(small(), **options),
    "AdaptGbrt": lambda **options: AdaptGbrt(small(), **options),
    "L1Baseline": lambda **options: L1Baseline(small(), **options),
    "ASTC": lambda **options: ASTC(**options),
    "CSTC": lambda **options: CSTC(**{k: v for k, v in options.items() if k == "feature_costs"}),
    "CSCC": lambda **options: CSCC(**{k: v for k, v in options.items() if k == "feature_costs"}),
    "AndOrCascade": lambda **options: AndOrCascade(**options),
}
QUICK = ("BudgetPrune",)
LONG = ("AdaptGbrt", "AdaptLin", "CSTC", "CSCC", "BudgetBoost")
FITTED: dict[str, Any] = {}


def fitted(name: str) -> Any:
    if name not in FITTED:
        X, y = table()
        FITTED[name] = ESTIMATORS[name](feature_costs=LISTED, random_state=0).fit(X, y)
    return FITTED[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK) + [pytest.mark.long] * (name in LONG))
        for name in ESTIMATORS
    ],
)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_costs_are_the_ledgers_of_sessions_for_every_estimator(name: str, data: st.DataObject) -> None:
    delayed = data.draw(
        st.one_of(st.just([False] * 6), st.just([True] * 6), st.lists(st.booleans(), min_size=6, max_size=6))
    )
    model = fitted(name)
    model.costs_ = LISTED.with_delayed(np.array(delayed))
    X, _ = table()
    x = X[data.draw(st.integers(0, len(X) - 1))]
    paid, bought, tests = model.cost([x])[0], model.acquired([x])[0], model.feature_usage([x])[0]
    session, one_by_one = model.session(), model.session()
    n_waits = finish(session, x)
    while one_by_one.next_unit is not None:
        one_by_one.tell(x[one_by_one.next_unit.features[0]].item())
    for each in (session, one_by_one):
        assert each.paid == pytest.approx(paid)
        assert sum(line.price for line in each.ledger) == pytest.approx(paid)
        assert {line.unit for line in each.ledger} == {f"feature {column}" for column in np.flatnonzero(bought)}
        assert {line.unit for line in each.ledger if line.in_vain} == {
            f"feature {column}" for column in np.flatnonzero(bought & (tests == 0))
        }
        assert each.answer == pytest.approx(model.predict([x])[0])
        assert max([line.round for line in each.ledger], default=0) <= n_waits + 1
    assert paid >= LISTED.cost_of(tests[None])[0] - 1e-9
    if not any(delayed):
        assert (n_waits, {line.round for line in session.ledger} | {1}) == (0, {1})
    for most in range(n_waits + 1):
        capped = model.session(max_rounds=most)
        assert finish(capped, x) <= most
        assert capped.paid <= paid + 1e-9 or most < n_waits
    stopped = model.session()
    for _ in range(data.draw(st.integers(0, len(session.ledger)))):
        stopped.tell(x[stopped.next_unit.features[0]].item())
    resumed = model.resume(stopped.to_json())
    assert (resumed.ledger, resumed.round()) == (stopped.ledger, stopped.round())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("BudgetPrune", 7),
        *(
            pytest.param(name, 7, marks=pytest.mark.slow)
            for name in ("IndividualPruning", "GreedyPrune", "CostComplexity", "BudgetRF", "GreedyMiser", "EarlyExit")
        ),
    ],
)
def test_budgets_are_kept_by_what_sessions_pay_where_they_were_chosen(name: str, budget: float) -> None:
    X, y = table()
    options = {"feature_costs": LISTED.with_delayed([0, 1, 5]), "budget": budget, "random_state": 0}
    model = ESTIMATORS[name](**options)
    pruner = isinstance(model, ForestPruner)
    held_out = {"X_cost": X} if pruner else {"X_val": X, "y_val": y}
    model.fit(X, y, **held_out)
    assert model.cost(X).mean() <= budget + 1e-9
    if pruner:
        assert float(model.instance_.evaluate(model.pruning_)[1]) == pytest.approx(model.cost(X).mean())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["L1Baseline", *(pytest.param(name, marks=pytest.mark.long) for name in ("AdaptLin", "AdaptGbrt"))]
)
def test_gates_are_measured_by_what_sessions_pay(name: str) -> None:
    X, y = table()
    full = BudgetPrune(small(), feature_costs=LISTED.with_delayed([0, 1]), random_state=0)
    model = ESTIMATORS[name](random_state=0).set_params(estimator=full).fit(X, y)
    for candidate in model.candidates_[::5]:
        other = replace(candidate)
        model.chosen_ = other
        assert model.measure(X, y, [other])[0].cost == pytest.approx(model.cost(X).mean())


def test_a_session_of_an_ensemble_that_stops_has_a_round_for_each_tree() -> None:
    model = fitted("EarlyExit") if "EarlyExit" in FITTED else EarlyExit(small(), feature_costs=LISTED, random_state=0)
    X, y = table()
    if "EarlyExit" not in FITTED:
        FITTED["EarlyExit"] = model.fit(X, y)
    model.costs_ = LISTED.with_delayed(range(6))
    n_waits = [finish(model.session(), x) for x in X[:20]]
    assert max(n_waits) > 1
    assert max(n_waits) <= 3


def test_regression_trees_order_in_rounds() -> None:
    X, _ = table()
    forest = RandomForestRegressor(2, max_depth=3, random_state=0)
    model = BudgetPrune(forest, feature_costs=LISTED.with_delayed([0, 1, 2]), random_state=0).fit(X, X[:, 0] + X[:, 1])
    session = model.session()
    assert finish(session, X[0]) == 1
    assert session.paid == model.cost(X[:1])[0]


def test_a_table_session_orders_columns_of_the_table() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 200), "hdl": rng.normal(size=200), "scan": rng.normal(size=200)})
    y = ((frame.hdl > 0) ^ (frame.scan > 0)).to_numpy()
    prices = {"age": {"cost": 0}, "hdl": {"cost": 7, "delayed": "yes"}, "scan": {"cost": 9, "delayed": "yes"}}
    scaler = StandardScaler().set_output(transform="pandas")
    model = BudgetedPipeline(scaler, BudgetPrune(small(), random_state=0), feature_costs=prices).fit(frame, y)
    session = model.session({"age": 40})
    assert {unit.name for unit in session.round()} == {"hdl", "scan"}
    assert (session.waits, session.round_number, session.round_price) == (True, 1, 16)
    with pytest.raises(ValueError, match=r"^round: expected values of hdl, scan, got 'age'$"):
        session.tell({"age": 3, "hdl": 1.0})
    before = session.to_json()
    with pytest.raises(ValueError, match=r"^scan: expected finite float32 values"):
        session.tell({"hdl": -1.0, "scan": 1e300})
    assert session.to_json() == before
    session.tell({"scan": 1.0, "hdl": -1.0})
    assert (session.next_unit, session.paid, session.answer) == (None, 16, True)
    assert [line.unit for line in session.ledger] == ["scan", "hdl"]
    assert model.session({"age": 40}, max_rounds=0).next_unit is None

    async def later(unit: Any, rows: Any) -> Any:
        return frame.iloc[rows, [*unit.features]]

    for limits, least, most in (({}, 16, 16), ({"max_rounds": 0}, 0, 0), ({"max_cost": 10}, 7, 9)):
        at_once = model.predict_on_demand(
            lambda unit, rows: frame.iloc[rows, [*unit.features]], 5, {"age": 40}, **limits
        )
        waited = asyncio.run(model.predict_on_demand_async(later, 5, {"age": 40}, **limits))
        assert least <= at_once.paid.min() <= at_once.paid.max() <= most
        assert (waited.paid.tolist(), waited.predictions.tolist()) == (
            at_once.paid.tolist(),
            at_once.predictions.tolist(),
        )
    assert model.cost(frame).max() == 16


@pytest.mark.parametrize("make", [lambda **o: BudgetPrune(small(), **o), ASTC])
def test_a_split_cost_with_delayed_features_is_refused(make: Callable[..., Any]) -> None:
    X, y = table()
    costs = LISTED.with_delayed([1])
    with pytest.raises(ValueError, match=r"^split_cost: expected none with delayed features, got 1$"):
        make(feature_costs=costs, split_cost=1).fit(X, y)
    with pytest.raises(ValueError, match=r"^split_cost: expected none with delayed features, got 1$"):
        Forest.from_sklearn(small().fit(X, y)).cost(X, costs, split_cost=1)


def test_a_pruning_with_a_cap_and_delayed_features_is_refused_before_training() -> None:
    X, y = table()
    costs = LISTED.with_delayed([1])
    with pytest.raises(
        ValueError, match=r"^max_cost: expected none with delayed features, .* got 20.4; session\(max_cost="
    ):
        BudgetPrune(small(), feature_costs=costs, max_cost=Fraction(102, 5)).fit(X, y)
    model = BudgetPrune(small(), feature_costs=costs, random_state=0).fit(X, y)
    session = model.session(max_cost=4)
    finish(session, X[0])
    assert session.paid <= 4


def test_walks_past_delayed_tests_and_marks_below_them() -> None:
    forest, X = forest_of(TREES), np.array([[7, 1, 0, 1, 0], [2, 1, 0, 1, 0]], dtype=np.float32)
    known = np.array([[True, False, False, False, False], [True, False, False, False, True]])
    barred, late = np.zeros((2, 5), dtype=bool), PRICES.delayed_features
    place, tests = np.zeros((2, 2), dtype=np.int32), np.zeros((2, 5), dtype=np.int32)
    wanted, rows = np.empty(2, dtype=np.int32), np.arange(2)
    routing.walk_all(forest.splits, rows, X, known, barred, late, place, tests, wanted)
    assert wanted.tolist() == [SCAN, HDL]
    assert place[:, 0].tolist() == [0, 1]
    assert tests.sum() == 0
    together = np.zeros((2, 5), dtype=bool)
    routing.mark_below(forest.splits, rows, X, known, barred, np.zeros_like(known), place, False, together)
    assert together.tolist() == [[True, True, True, True, True], [False, True, False, True, False]]
    everything = np.ones_like(known)
    routing.walk_all(forest.splits, rows, X, everything, barred, late, place, tests, wanted)
    assert wanted.tolist() == [-1, -1]
    assert tests.tolist() == [[2, 1, 1, 1, 1], [1, 1, 0, 1, 1]]


def test_every_kept_node_is_charged_once() -> None:
    """A feature whose unit was bought above is known: both tests of a sensor wait once."""
    trees = [(HDL, 0.5, (SUGAR, 0.5, (WEIGHT, 0.5, 0, 1), 1), 0)]
    forest = forest_of(trees)
    X = np.array([[0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], dtype=np.float32)
    instance = PruningInstance.from_forest(forest, X, WHOLE, error_data=(X, np.array(["well", "ill"])))
    assert float(instance.evaluate(instance.unpruned)[1]) == 10
    assert float(instance.evaluate(Pruning(np.zeros(3, dtype=bool)))[1]) == 0
    assert forest.cost(X, WHOLE).tolist() == [10, 10]
    assert forest.cost(X, WHOLE.with_delayed(None)).tolist() == [10, 9]


@pytest.mark.filterwarnings("ignore")
def test_a_saved_model_keeps_its_delays(tmp_path: Path) -> None:
    X, y = table()
    model = BudgetPrune(small(), feature_costs=LISTED.with_delayed([0, 1]), random_state=0).fit(X, y)
    again = load_model(save_model(model, tmp_path / "model.skops"))
    assert again.costs_ == model.costs_
    assert again.cost(X).tolist() == model.cost(X).tolist()
    assert again.cost(X).mean() > model.forest_.prune(model.pruning_).cost(X, LISTED).mean()
    with pytest.raises(
        ValueError, match=r"^BudgetPrune: expected a model that an export holds whole, .* delayed features$"
    ):
        document_of(again)
