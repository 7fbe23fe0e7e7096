"""Values that cannot be had, caps, and fetches that give nothing: sessions go on with the others."""

import asyncio
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ipforest import BudgetForest, BudgetPrune, EarlyExit, FeatureCosts, ForestSearch, NestedCascade
from ipforest.session import Session, Unit

polars = pytest.importorskip("polars")

X, Y = load_breast_cancer(return_X_y=True)
PRICED = [0, 2, 3, 6, 7, 20, 22, 23, 27]
PRICES = np.zeros(30, dtype=int)
PRICES[PRICED] = 12
TRAINED = np.arange(len(Y)) % 2 == 0
UNSEEN, TRUTH = X[~TRAINED], Y[~TRAINED]
GROUPED = FeatureCosts([1, 2, 3, 0, 1, 4, 0, 0], [0, 0, -1, -1, 1, 1, 2, 2], [5, "1/2", 3])


@pytest.fixture(scope="module")
def mixed() -> BudgetPrune:
    """Return a forest that buys nine features at 12 each, while the others are free."""
    forest = RandomForestClassifier(15, random_state=0)
    return BudgetPrune(forest, feature_costs=PRICES.tolist(), budget=15, random_state=0).fit(X[TRAINED], Y[TRAINED])


def grouped(missing: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    table, classes = make_classification(260, 8, n_informative=6, random_state=4)
    table[np.random.default_rng(1).random(table.shape) < missing] = np.nan
    return table, classes


def fitted(name: str, missing: float) -> tuple[Any, npt.NDArray[Any]]:
    table, classes = grouped(missing)
    forest = RandomForestClassifier(6, max_depth=5, random_state=0)
    model: Any = {
        "pruned": lambda: BudgetPrune(forest, feature_costs=GROUPED, random_state=0),
        "early": lambda: EarlyExit(forest, feature_costs=GROUPED, random_state=0),
        "nested": lambda: NestedCascade(
            RandomForestClassifier(2, max_depth=3, random_state=0), feature_costs=GROUPED, random_state=0
        ),
        "boosted": lambda: EarlyExit(
            GradientBoostingClassifier(n_estimators=8, random_state=0), feature_costs=GROUPED, random_state=0
        ),
    }[name]()
    return model.fit(table[:200], classes[:200]), table[200:]


def answers(sessions: Any, table: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    sessions.see(table)
    return sessions.outputs, sessions.paid, sessions.bought


def test_a_cap_leaves_the_free_tests(mixed: BudgetPrune) -> None:
    sessions = mixed.sessions(len(UNSEEN), max_cost=11)
    outputs, paid, bought = answers(sessions, UNSEEN)
    assert paid.max() == 0
    assert not bought[:, PRICED].any()
    assert sessions.tests.any(axis=1).mean() > 0.9
    assert np.mean(sessions.labels(outputs) == TRUTH) > 0.8


@pytest.mark.parametrize("cap", [0, 11, 12, 23.9, 24, 1000])
def test_a_cap_counts_as_values_that_cannot_be_had(mixed: BudgetPrune, cap: float) -> None:
    capped = answers(mixed.sessions(len(UNSEEN), max_cost=cap), UNSEEN)
    assert capped[1].max() <= cap
    known: dict[Any, None] = dict.fromkeys(PRICED) if cap < 12 else {}
    if cap < 12 or cap == 1000:
        for one, other in zip(capped, answers(mixed.sessions(len(UNSEEN), known), UNSEEN), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "missing"),
    [("pruned", 0), ("early", 0), ("nested", 0), ("boosted", 0), ("pruned", 0.15), ("early", 0.15), ("nested", 0.15)],
)
def test_sessions_tables_and_fetches_keep_the_same_cap(name: str, missing: float) -> None:
    model, table = fitted(name, missing)
    for cap in (1, 6.5) if name == "nested" else (0, 1, 3, 6.5, 9):
        seen = model.sessions(len(table), max_cost=cap)
        seen.see(table)
        demand = model.predict_on_demand(lambda unit, rows: table[np.ix_(rows, unit.features)], len(table), None, cap)
        assert demand.paid.max() <= cap + 1e-9
        np.testing.assert_array_equal(demand.outputs, seen.outputs)
        np.testing.assert_array_equal(demand.bought, seen.bought)
        np.testing.assert_allclose(demand.paid, model.costs_.cost_of(demand.bought))
        for row in range(8):
            session = finish(model.session(max_cost=cap), table[row])
            assert session.answer == demand.predictions[row]
            assert session.paid == pytest.approx(demand.paid[row])
            assert sum(line.price for line in session.ledger) == pytest.approx(session.paid)


def finish(session: Session, row: npt.NDArray[Any]) -> Session:
    while (unit := session.next_unit) is not None:
        session.tell([row[feature] for feature in unit.features])
    return session


@pytest.mark.parametrize("name", ["pruned", "early", "nested", "boosted"])
def test_what_could_not_be_had_is_not_paid(name: str) -> None:
    model, _ = fitted(name, 0)
    session = model.session()
    while session.next_unit is not None:
        session.tell(None)
    assert session.paid == 0
    assert not any(line.charged or line.price for line in session.ledger)
    assert session.answer in model.classes_
    tomorrow = model.resume(session.to_json())
    assert (tomorrow.paid, tomorrow.answer, tomorrow.ledger) == (0, session.answer, session.ledger)


def test_every_answer_says_whether_it_is_charged() -> None:
    model, _ = fitted("pruned", 0.15)
    missing = np.full(8, np.nan)
    as_in_a_table = finish(model.session(), missing)
    assert as_in_a_table.paid == pytest.approx(model.cost(missing[None])[0])
    assert as_in_a_table.paid > 0
    for told, charged, paid in ((None, True, as_in_a_table.paid), (None, None, 0), (np.nan, False, 0)):
        session = model.session()
        while session.next_unit is not None:
            session.tell(told if len(session.next_unit.features) == 1 else [told] * 2, charged)
        assert session.paid == pytest.approx(paid)
        assert session.answer == as_in_a_table.answer
        assert model.resume(session.to_json()).paid == session.paid


def test_one_test_that_fails_leaves_the_others_paid(mixed: BudgetPrune) -> None:
    broken = PRICED[int(np.argmax(mixed.acquired(UNSEEN)[:, PRICED].sum(axis=0)))]

    def fetch(unit: Unit, rows: npt.NDArray[np.int64]) -> Any:
        values = UNSEEN[np.ix_(rows, unit.features)]
        return np.ma.masked_array(values, mask=[unit.features == (broken,)] * len(rows))

    demand = mixed.predict_on_demand(fetch, len(UNSEEN))
    without = answers(mixed.sessions(len(UNSEEN), known={broken: None}), UNSEEN)
    for one, other in zip((demand.outputs, demand.paid, demand.bought), without, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not demand.bought[:, broken].any()
    assert 0 < demand.paid.sum() != mixed.cost(UNSEEN).sum()

    def fetch_objects(unit: Unit, rows: npt.NDArray[np.int64]) -> Any:
        values = fetch(unit, rows)
        return np.where(values.mask, None, values.data)

    objects = mixed.predict_on_demand(fetch_objects, len(UNSEEN))
    np.testing.assert_array_equal(objects.outputs, demand.outputs)
    np.testing.assert_array_equal(objects.paid, demand.paid)


@pytest.mark.parametrize("name", ["pruned", "nested"])
def test_a_missing_cell_of_a_frame_is_bought_whatever_stands_for_it(name: str) -> None:
    model, table = fitted(name, 0.15)
    none = pd.DataFrame(table, dtype=object)
    none = none.where(none.notna(), None)
    frames: tuple[Any, ...] = (none.iloc, none.convert_dtypes().iloc, polars.from_pandas(pd.DataFrame(table)))
    for frame in frames:
        demand = model.predict_on_demand(lambda unit, rows, of=frame: of[rows, [*unit.features]], len(table))
        np.testing.assert_array_equal(demand.paid, model.cost(table))
        np.testing.assert_array_equal(demand.predictions, model.predict(table))
    listed = model.predict_on_demand(lambda unit, rows: none.iloc[rows, [*unit.features]].to_numpy(), len(table))
    assert listed.paid.sum() < model.cost(table).sum()
    for row in range(9):
        session = model.session()
        while session.next_unit is not None:
            session.tell(none.iloc[row, [*session.next_unit.features]])
        assert session.paid == pytest.approx(model.cost(table[[row]])[0])


@pytest.mark.parametrize(
    ("fetched", "text"),
    [
        (None, r"expected values of shape \(3, 1\) or \(3,\), a row for each of the examples, got None \(a fetch"),
        (5.0, r"expected values of shape \(3, 1\) or \(3,\), a row for each of the examples, got 5\.0"),
        ([1.0], r"got shape \(1,\)"),
        ([[1.0], [2.0, 3.0], [1.0]], "got rows of different lengths"),
        (["1", "5,5", "2"], r"feature \d+: expected a number, got '5,5'; write 5\.5, with a decimal point"),
        (["1", "high", "2"], r"feature \d+: expected a number, got 'high'$"),
        (np.arange(3).astype("M8[D]"), r"feature \d+: expected numbers, got dtype datetime64\[D\]; give dates"),
    ],
)
def test_a_fetch_that_gives_no_column_is_refused(mixed: BudgetPrune, fetched: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        mixed.predict_on_demand(lambda unit, rows: fetched, 3)

    async def later(unit: Unit, rows: npt.NDArray[np.int64]) -> Any:
        return fetched

    with pytest.raises(ValueError, match=text):
        asyncio.run(mixed.predict_on_demand_async(later, 3))


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_a_coroutine_needs_the_other_function(mixed: BudgetPrune) -> None:
    async def later(unit: Unit, rows: npt.NDArray[np.int64]) -> Any:
        return np.zeros(len(rows))

    with pytest.raises(ValueError, match="got a coroutine, which predict_on_demand_async awaits"):
        mixed.predict_on_demand(later, 3)  # type: ignore[arg-type]  # the mistake


def test_the_price_tells_the_fee() -> None:
    model, table = fitted("pruned", 0)
    session, fees = model.session(), 0.0
    while (unit := session.next_unit) is not None:
        fees += session.fee
        assert session.fee <= session.price
        session.tell([table[0, feature] for feature in unit.features])
    bought = {name for line in session.ledger for name, _ in line.values}
    groups = {(0, 1): 5, (4, 5): 0.5}
    expected = sum(fee for pair, fee in groups.items() if {f"feature {column}" for column in pair} & bought)
    assert fees == expected > 0


def test_words_are_listed_and_reasons_speak_of_them() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    culture = rng.choice(["negative", "positive", "unclear"], 300)
    table = pd.DataFrame({"culture": pd.Categorical(culture), "age": rng.random(300)})
    model = BudgetForest(4, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0, stopping=()), random_state=0)
    session = model.fit(table, culture == "positive").session(known={"age": 0.5})
    assert session.reason == f"tree 1 of {model.trees_.trees.n_trees} asks whether it is positive"
    with pytest.raises(ValueError, match=r"culture: expected one of negative, positive, unclear, None .* got 'pos'"):
        session.tell("pos")
    with pytest.raises(ValueError, match="culture: expected one of negative, positive, unclear, None"):
        model.session(known={"culture": "pos"})
    session.tell("positive")
    assert session.answer
    one_hot = pd.get_dummies(table["culture"], prefix="culture", prefix_sep="=")
    pruned = BudgetPrune(RandomForestClassifier(3, random_state=0), validation_fraction=None)
    reason = pruned.fit(one_hot.astype(float), culture == "positive").session().reason
    assert reason.startswith("tree 1 of ")
    assert "asks whether culture is " in reason
