import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import get_tags

from ipforest import BudgetPrune, FeatureCosts
from ipforest.session import Request, Seller, Session, Unit

pytestmark = pytest.mark.xdist_group("growing")  # as tests of trees of classifiers, whose grower is compiled once

Table = tuple[npt.NDArray[Any], npt.NDArray[Any], FeatureCosts]


def prices_with_a_group() -> Table:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:250, :10], y[:250], FeatureCosts(np.arange(1, 11) / 4, [0, 0, 0, -1, -1, 1, 1, -1, -1, -1], ["1/2", 3])


def sensors() -> Table:
    X, y = make_classification(240, 9, n_informative=6, n_classes=3, random_state=1)
    return X, y, FeatureCosts([0] * 8 + [2], [0, 0, 0, 1, 1, 1, 2, 2, -1], [3, 2, 1])


def missing_values() -> Table:
    X, y = make_classification(260, 8, n_informative=5, random_state=2)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    return X, np.where(y > 0, "sick", "well"), FeatureCosts(["0.1", "0.2", 0, 1, 1, 1, "0.3", 2])


def free_features() -> Table:
    X, y = make_classification(240, 7, n_informative=4, random_state=3)
    return X, y, FeatureCosts([0, 0, 1, 2, 0, 1, 1], [-1, 0, 0, 0, 1, 1, -1], [1, 0])


TABLES: dict[str, Callable[[], Table]] = {
    "prices with a group": prices_with_a_group,
    "sensors": sensors,
    "missing values": missing_values,
    "free features": free_features,
}
N_FITTED = 200


MARKS = {"sensors": (), "missing values": (pytest.mark.slow,)}
"""CI leaves the other tables out."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=MARKS.get(name, (pytest.mark.slow, pytest.mark.long))) for name in TABLES],
)
def table(request: pytest.FixtureRequest) -> Table:
    return TABLES[request.param]()


@pytest.fixture(scope="module", params=list(CLASSIFIERS))
def fitted(request: pytest.FixtureRequest, table: Table) -> Any:
    X, y, costs = table
    model = CLASSIFIERS[request.param](costs)
    tags = get_tags(model)
    if np.isnan(X).any() and not tags.input_tags.allow_nan:
        pytest.skip("takes no missing values")
    if not tags.classifier_tags.multi_class:
        y = y == np.unique(y)[-1]
    return model.fit(X[:N_FITTED], y[:N_FITTED])


def run(session: Session, row: npt.NDArray[Any]) -> Session:
    while (unit := session.next_unit) is not None:
        values = [row[feature] for feature in unit.features]
        session.tell(values if len(values) > 1 else values[0])
    return session


@pytest.mark.slow
def test_sessions_pay_the_cost_and_answer_the_prediction(fitted: Any, table: Table) -> None:
    X = table[0][N_FITTED:]
    cost, predicted, probability = fitted.cost(X), fitted.predict(X), fitted.predict_proba(X)
    for i, row in enumerate(X):
        session = run(fitted.session(), row)
        assert session.paid == pytest.approx(cost[i], abs=1e-9)
        assert session.answer == predicted[i]
        assert list(session.probabilities.values()) == pytest.approx(probability[i])


@pytest.mark.slow
def test_on_demand_pays_the_cost_and_buys_what_is_acquired(fitted: Any, table: Table) -> None:
    X = table[0][N_FITTED:]

    def fetch(unit: Unit, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return np.asarray(X[np.ix_(rows, unit.features)])

    demand = fitted.predict_on_demand(fetch, X.shape[0])
    np.testing.assert_allclose(demand.paid, fitted.cost(X))
    np.testing.assert_array_equal(demand.predictions, fitted.predict(X))
    np.testing.assert_array_equal(demand.outputs, fitted.predict_proba(X))
    np.testing.assert_array_equal(demand.bought, fitted.acquired(X))


@pytest.mark.slow
def test_the_ledger_adds_up_to_the_price_of_the_units(fitted: Any, table: Table) -> None:
    X, _, costs = table
    for row in X[N_FITTED : N_FITTED + 20]:
        session = run(fitted.session(), row)
        told = {name: value for line in session.ledger for name, value in line.values}
        bought = np.array([[f"feature {column}" in told for column in range(costs.n_features)]])
        assert sum(line.price for line in session.ledger) == pytest.approx(costs.cost_of(bought)[0])
        assert all(line.reason for line in session.ledger)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0, 2.5, *(pytest.param(cap, marks=pytest.mark.slow) for cap in (1, 4))])
def test_nobody_pays_more_than_the_cap(fitted: Any, table: Table, cap: float) -> None:
    if fitted.split_cost_:
        pytest.skip("a cap and a split cost do not go together")
    X = table[0][N_FITTED:]
    demand = fitted.predict_on_demand(lambda unit, rows: X[np.ix_(rows, unit.features)], X.shape[0], max_cost=cap)
    assert demand.paid.max() <= cap + 1e-9
    for i, row in enumerate(X[:20]):
        session = run(fitted.session(max_cost=cap), row)
        assert session.paid == pytest.approx(demand.paid[i])
        assert session.answer == demand.predictions[i]


@pytest.mark.slow
def test_a_session_goes_on_tomorrow(fitted: Any, table: Table) -> None:
    for row in table[0][N_FITTED : N_FITTED + 10]:
        today = fitted.session(known={1: row[1]})
        for _ in range(2):
            if today.next_unit is not None:
                today.tell([row[feature] for feature in today.next_unit.features])
        tomorrow = fitted.resume(today.to_json())
        assert tomorrow.next_unit == today.next_unit
        assert tomorrow.ledger == today.ledger
        assert run(tomorrow, row).answer == run(today, row).answer
        assert tomorrow.paid == today.paid


def test_what_is_known_is_free(fitted: Any, table: Table) -> None:
    X = table[0]
    row = X[N_FITTED]
    session = fitted.session(known=dict(enumerate(row)))
    assert session.next_unit is None
    assert session.paid == pytest.approx(float(fitted.split_cost_) * fitted.feature_usage(X[[N_FITTED]]).sum())
    with_some = run(fitted.session(known={3: row[3], 5: row[5]}), row)
    if not fitted.policy().ignores_unwanted:
        return  # who knows more may be less sure, and stop later
    assert with_some.paid <= max(fitted.cost(X[[N_FITTED]])[0], fitted.max_cost or 0) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", list(REGRESSORS))
def test_sessions_of_regressors(name: str) -> None:
    X, _, costs = TABLES["missing values"]()
    y = np.nansum(X[:, :3], axis=1)
    model = REGRESSORS[name](costs).fit(X[:N_FITTED], y[:N_FITTED])
    cost, predicted = model.cost(X[N_FITTED:]), model.predict(X[N_FITTED:])
    for i, row in enumerate(X[N_FITTED:]):
        session = run(model.session(), row)
        assert session.answer == pytest.approx(predicted[i])
        assert session.paid == pytest.approx(cost[i])
    with pytest.raises(AttributeError, match=r"^probabilities: expected a classifier"):
        _ = session.probabilities


@pytest.fixture(scope="module")
def sensor_model() -> BudgetPrune:
    X, y, costs = sensors()
    return CLASSIFIERS["BudgetPrune"](costs).fit(X[:N_FITTED], y[:N_FITTED])  # type: ignore[no-any-return]


def test_a_group_without_prices_is_bought_whole(sensor_model: BudgetPrune) -> None:
    X, _, costs = sensors()
    session = run(sensor_model.session(), X[200])
    for line in session.ledger:
        assert line.unit.startswith("group") or line.unit == "feature 8"
        expected = {"group 0": 3, "group 1": 2, "group 2": 1, "feature 8": 2}[line.unit]
        assert line.price == expected
        assert len(line.values) == {"group 0": 3, "group 1": 3, "group 2": 2, "feature 8": 1}[line.unit]
    assert session.paid <= sum(costs.unit_costs)


def test_values_of_a_group_by_name(sensor_model: BudgetPrune) -> None:
    session = sensor_model.session()
    unit = session.next_unit
    assert unit is not None
    with pytest.raises(ValueError, match=rf"^{unit}: expected values of feature .*, got feature 8"):
        session.tell({"feature 8": 1.0})
    session.tell({f"feature {column}": 0.5 for column in unit.features})
    assert session.paid > 0


def test_names_of_columns() -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": [20.0, 30, 40, 50] * 10, "thal": [1.0, 5, 2, 7] * 10})
    y = np.array([0, 1, 0, 1] * 10)
    model = BudgetPrune(RandomForestClassifier(3, random_state=0), feature_costs=[0, 102.9], validation_fraction=None)
    model.fit(X, y)
    session = run(model.session(known={"age": 30}), np.array([30.0, 5.0]))
    assert {line.unit for line in session.ledger} <= {"thal"}
    assert session.answer == model.predict(X[1:2])[0]
    with pytest.raises(ValueError, match=r"feature: expected the name .* got 'tal'; do you mean 'thal'\?$"):
        model.session(known={"tal": 1})


def test_missing_values_go_as_the_trees_send_them() -> None:
    X, y, costs = missing_values()
    model = CLASSIFIERS["BudgetPrune"](costs).fit(X[:N_FITTED], y[:N_FITTED])
    row = np.full(X.shape[1], np.nan)
    session = model.session()
    while session.next_unit is not None:
        session.tell(None)
    assert session.answer == model.predict(row[None])[0]
    assert all(value is None for line in session.ledger for _, value in line.values)
    assert json.loads(session.to_json())["bought"][0][1] == [None]


def test_a_model_without_missing_values_takes_none() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import ExtraTreeClassifier

    model = BudgetPrune(BaggingClassifier(ExtraTreeClassifier(random_state=0), 3, random_state=0)).fit(X, y)
    if model.__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("this scikit-learn's extra trees take missing values")
    with pytest.raises(ValueError, match=r"expected a number, .* got a missing value"):
        model.session().tell(np.nan)


def test_waits_overlap() -> None:
    X, y, costs = prices_with_a_group()
    model = CLASSIFIERS["BudgetPrune"](costs).fit(X[:N_FITTED], y[:N_FITTED])
    tested, in_flight, most = X[N_FITTED:], 0, 0

    async def fetch(unit: Unit, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.001 * (unit.index + 1))
        in_flight -= 1
        return np.asarray(tested[np.ix_(rows, unit.features)])

    demand = asyncio.run(model.predict_on_demand_async(fetch, tested.shape[0]))
    np.testing.assert_array_equal(demand.predictions, model.predict(tested))
    np.testing.assert_allclose(demand.paid, model.cost(tested))
    assert most > 1


def test_a_fetch_that_fails_ends_the_others() -> None:
    X, y, costs = prices_with_a_group()
    model = CLASSIFIERS["BudgetPrune"](costs).fit(X[:N_FITTED], y[:N_FITTED])

    async def fetch(unit: Unit, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        raise OSError(f"no {unit}")

    with pytest.raises(OSError, match="no feature"):
        asyncio.run(model.predict_on_demand_async(fetch, 5))


def test_many_sessions_step_by_step(sensor_model: BudgetPrune) -> None:
    X = sensors()[0][N_FITTED:]
    sessions = sensor_model.sessions(X.shape[0])
    first: Request = sessions.requests()[0]
    with pytest.raises(ValueError, match=rf"^{first.unit}: expected values of shape"):
        sessions.tell(first.unit, first.rows, np.zeros(3))
    with pytest.raises(ValueError, match=rf"^{first.unit}: expected finite float32 values or NaN"):
        sessions.tell(first.unit, first.rows, np.full((first.rows.size, len(first.unit.features)), 1e60))
    other = next(unit for unit in (r.unit for r in sensor_model.sessions(1).requests()))
    sessions.tell(first.unit, first.rows, X[np.ix_(first.rows, first.unit.features)])
    with pytest.raises(ValueError, match=r"^rows: expected examples that want"):
        sessions.tell(other, first.rows[:1], np.zeros((1, len(other.features))))


def test_what_is_bought_from_a_table_brings_its_group_and_is_paid(sensor_model: BudgetPrune) -> None:
    X = sensors()[0]
    sessions = sensor_model.sessions(len(X))
    table, n_left = sessions.table(X), len(X)
    while requests := sessions.requests():
        for request in requests:
            assert request.rows.tolist() == sorted(request.rows.tolist())
            paid, price = sessions.paid_by(request.rows), sessions.price(request.rows)
            sessions.buy_from(table, request.rows)
            cells = np.ix_(request.rows, request.unit.features)
            assert sessions.progress.known[cells].all()
            np.testing.assert_array_equal(sessions.progress.values[cells], table[cells])
            assert sessions.units_paid[request.rows, request.unit.index].all()
            np.testing.assert_array_equal(sessions.paid_by(request.rows), paid + price)
        n_left = min(n_left, sum(request.rows.size for request in sessions.requests()))
    assert n_left == 0
    np.testing.assert_array_equal(sessions.paid, sensor_model.cost(X))
    np.testing.assert_array_equal(sessions.labels(sessions.outputs), sensor_model.predict(X))


def test_errors_of_sessions(sensor_model: BudgetPrune) -> None:
    session = sensor_model.session()
    with pytest.raises(ValueError, match=r"^answer: expected a session that has ended, got one that wants"):
        _ = session.answer
    assert session.guess in sensor_model.classes_
    with pytest.raises(ValueError, match=r"expected \d values, got 9"):
        session.tell([0.0] * 9)
    for charged in (1, 63.0, [False]):
        with pytest.raises(
            TypeError, match=r"^charged: expected True, False or None, got .*; what a feature brought is"
        ):
            session.tell("blood", charged)
    sessions = sensor_model.sessions(3)
    request = sessions.requests()[0]
    for several in ("no", [True, False]):
        with pytest.raises(
            ValueError, match=r"^charged: expected True or False, or one of them for each of 3 rows, got"
        ):
            sessions.tell(request.unit, request.rows, np.zeros((3, len(request.unit.features))), several)
    with pytest.raises(ValueError, match=r"^feature: expected the name of a feature or a column 0\.\.8, got 9"):
        sensor_model.session(known={9: 0})
    with pytest.raises(ValueError, match=r"^max_cost: expected a number >= 0"):
        sensor_model.session(max_cost=-1)
    ended = run(session, sensors()[0][0])
    with pytest.raises(ValueError, match=r"^session: expected a unit that is still wanted"):
        ended.tell(1)
    with pytest.raises(ValueError, match=r"^saved: expected what Session\.to_json wrote"):
        sensor_model.resume("{}")
    with pytest.raises(ValueError, match=r"^saved: expected a session of this model, which wants"):
        sensor_model.resume('{"known": [], "max_cost": null, "bought": [["blood", [1]]]}')


SAVED = {"known": [["feature 8", 1.5]], "max_cost": "9", "bought": [["blood", [1, 2, 3]]]}
ODD = [[], {}, [1], {"a": 1}, True, [[]], 10**400, "x", "nan", "1e400", -1, 99, [["blood"]], [[[], 1]], [["blood", 1]]]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_every_part_of_a_saved_session_is_checked(sensor_model, odd: Any) -> None:
    """What cannot be taken is a ValueError, never another one."""
    places = [("known",), ("max_cost",), ("bought",), ("known", 0), ("known", 0, 0), ("known", 0, 1), ("bought", 0)]
    places += [("bought", 0, 0), ("bought", 0, 1), ("bought", 0, 1, 0)]
    refused = 0
    for *above, last in places:
        edited: Any = deepcopy(SAVED)
        holder = edited
        for key in above:
            holder = holder[key]
        holder[last] = odd
        try:
            sensor_model.resume(json.dumps(edited))
        except ValueError:
            refused += 1
    assert refused >= 5


def test_a_cap_and_a_split_cost_do_not_go_together() -> None:
    X, y, costs = prices_with_a_group()
    model = CLASSIFIERS["BudgetPrune with a split cost"](costs).fit(X, y)
    with pytest.raises(ValueError, match=r"^max_cost: expected none with a split cost"):
        model.session(max_cost=1)


def test_the_guess_of_a_regression_session_before_anything_is_known() -> None:
    X = np.random.default_rng(0).random((80, 3))
    model = BudgetPrune(RandomForestRegressor(4, random_state=0), validation_fraction=None).fit(X, X[:, 0])
    roots = model.pruned_.tree_offsets[:-1]
    assert model.session().guess == pytest.approx(model.pruned_.value[roots].mean())


@pytest.mark.parametrize("form", [float, str, np.array, np.float32])
def test_a_value_may_be_any_scalar(form: Callable[[Any], Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = BudgetPrune(RandomForestClassifier(2, max_depth=2, random_state=0), random_state=0).fit(X, y)
    session, plain = model.session(), model.session()
    while (unit := session.next_unit) is not None:
        assert unit == plain.next_unit
        session.tell(form(0))
        plain.tell(0)
    assert (session.answer, session.paid) == (plain.answer, plain.paid)


def test_true_names_no_column() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = BudgetPrune(RandomForestClassifier(2, max_depth=2, random_state=0), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^feature: expected the name of a feature or a column 0..29, got True"):
        model.session({True: 3})


def test_features_that_are_told_go_by_their_names() -> None:
    X, y = make_classification(120, 3, n_informative=3, n_redundant=0, random_state=1)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    sensor = FeatureCosts([0, 0, 1], [0, 0, -1], [2])
    model = BudgetPrune(RandomForestClassifier(5, random_state=0), feature_costs=sensor, random_state=0).fit(table, y)
    names = {0: "a", 1: "b", 2: "c"}

    def fetched(turn: Callable[[pd.DataFrame], pd.DataFrame]) -> Any:
        return lambda unit, rows: turn(table.loc[rows, [names[feature] for feature in unit.features]])

    for turn in (lambda part: part, lambda part: part.reset_index(drop=True)):
        demand = model.predict_on_demand(fetched(turn), len(table))
        np.testing.assert_array_equal(demand.predictions, model.predict(table))
    with pytest.raises(ValueError, match="expected the columns a, b in this order, got b, a"):
        model.predict_on_demand(fetched(lambda part: part[part.columns[::-1]]), len(table))
    for row in range(20):
        session = model.session()
        while (unit := session.next_unit) is not None:
            session.tell(table.loc[row, [names[feature] for feature in unit.features[::-1]]])
        assert session.answer == model.predict(table.iloc[[row]])[0]


def test_prices_and_fees_of_a_session_are_those_of_the_price_list() -> None:
    X, y, costs = prices_with_a_group()
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    model = BudgetPrune(forest, feature_costs=costs, random_state=0).fit(X, y)
    fees = 0.0
    for row in X[:4].tolist():
        session, groups, told = model.session(), set(), []
        while session.next_unit is not None:
            (feature,) = session.next_unit.features
            group = int(costs.groups[feature])
            fee = float(costs.group_fees[group]) if group >= 0 and group not in groups else 0.0
            groups.add(group)
            assert session.fee == fee
            assert session.price == float(costs.prices[feature]) + fee
            told.append((session.next_unit.name, session.price, row[feature]))
            session.tell(row[feature])
            fees += fee
        assert [(line.unit, line.price, line.values[0][1]) for line in session.ledger] == told
        assert session.paid == pytest.approx(sum(price for _, price, _ in told))
        assert session.fee == session.price == 0
    assert fees > 0


def test_values_are_read_as_numbers_as_names_and_as_texts_of_names() -> None:
    names = ("number", "code", "whole")
    seller = Seller(FeatureCosts([1] * 3), 0.0, None, names, True, categories={1: ("a", 2, "3")}, whole=(2,))

    def read(column: int, *values: Any) -> list[float]:
        return [seller.number(column, value) for value in values]

    np.testing.assert_array_equal(read(1, "a", 2, "2", 3, "3", "b", None), [0, 1, 1, 2, 2, np.nan, np.nan])
    np.testing.assert_array_equal(read(2, 2, -3.0, 2.5, np.nan), [2, -3, np.nan, np.nan])
    np.testing.assert_array_equal(read(0, 2, 2.5, None), [2, 2.5, np.nan])


def test_columns_that_tell_nothing_and_units_that_cost_nothing_are_found() -> None:
    X = np.random.default_rng(0).choice([0.0, 1.0, np.nan], (3, 60))
    seller = Seller(FeatureCosts.uniform(60), 0.0, None, tuple(map(str, range(60))), True)
    same = [column for column, cells in enumerate(X.T.tolist()) if len(set(map(str, cells))) == 1]
    assert seller.without_constant(X).left_out.tolist() == same
    assert {np.isnan(X[0, column]) for column in same} == {True, False}
    for make in TABLES.values():
        _, _, costs = make()
        seller = Seller(costs, 0.0, None, tuple(map(str, range(costs.n_features))), True)
        free = [float(costs.cost_of(bought[None])[0]) == 0 for bought in np.eye(costs.n_features, dtype=int)]
        found = {feature: True for unit in seller.free_units() for feature in unit.features}
        found |= {feature: False for unit in seller.paid_units() for feature in unit.features}
        assert [found[feature] for feature in range(costs.n_features)] == free
