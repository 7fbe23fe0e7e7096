"""Columns of a table that are fetched only where they are wanted: answers and costs are those of the whole table."""

import asyncio

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import BudgetedClassifier, BudgetedPipeline, BudgetPrune, EarlyExit, FeatureCosts

pl = pytest.importorskip("polars")

NAMES = ["ecg", "age", "kind", "lab", "sex", "sure"]
PRICES = FeatureCosts([6, 1, 2, 3, 0, 2], [0, -1, 1, 0, -1, 1], [4, 1])


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw words with gaps, integers, categories that are numbers, floats with gaps, a typed category, truth values."""
    rng = np.random.default_rng(seed)
    lab = np.where(rng.random(n) < 0.2, np.nan, rng.normal(5, 2, n))
    ecg = np.where(rng.random(n) < 0.1, np.nan, rng.choice(["st", "af", "normal"], n).astype(object))
    sex = pd.Categorical(rng.choice(["f", "m"], n), ["f", "m", "x"])
    cells = [ecg, rng.integers(20, 90, n), rng.choice([2, 7, 300], n), lab, sex, rng.random(n) < 0.5]
    frame = pd.DataFrame(dict(zip(NAMES, cells, strict=True)))
    return frame, np.where((frame.ecg == "st") ^ (frame.kind == 7) ^ (frame.lab > 5), "ill", "well")


def preparation(*, keeps_gaps: bool):
    codes = (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["kind", "sex"])
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(handle_unknown="ignore"))
    numbers = StandardScaler() if keeps_gaps else make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer((words, ["ecg"]), codes, (numbers, ["lab"]), remainder="passthrough")


FOREST = RandomForestClassifier(8, max_depth=6, random_state=0)
KINDS = {
    "pruned forest behind imputers": (preparation(keeps_gaps=False), BudgetPrune(FOREST, budget=9, random_state=0)),
    "stopped": (preparation(keeps_gaps=True), EarlyExit(FOREST, budget=11, random_state=0)),
    "front end": (preparation(keeps_gaps=True), BudgetedClassifier(budget=9, random_state=0)),
    "categories of the front end": (
        make_column_transformer((SimpleImputer(), ["age"]), remainder="passthrough", verbose_feature_names_out=False),
        BudgetedClassifier(budget=9, random_state=0),
    ),
}


@pytest.fixture(scope="module", params=[*KINDS])
def fitted(request) -> BudgetedPipeline:
    before, estimator = KINDS[request.param]
    X, y = table(400, 0)
    if request.param.startswith("categories"):
        before.set_output(transform="pandas")
        X = X.astype({"ecg": "category", "kind": "category"})
    return BudgetedPipeline(before, estimator, feature_costs=PRICES).fit(X, y)


def others(model: BudgetedPipeline) -> pd.DataFrame:
    X, _ = table(150, 1)
    return X.astype({name: kind for name, kind in model._row.dtypes.items() if kind == "category"})


def require_same(demand, model: BudgetedPipeline, X: pd.DataFrame) -> None:
    np.testing.assert_array_equal(demand.predictions, model.predict(X))
    np.testing.assert_allclose(demand.outputs, model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(demand.paid, model.cost(X))
    np.testing.assert_array_equal(demand.bought, model.acquired(X))


def test_answers_and_costs_are_those_of_the_whole_table(fitted) -> None:
    X, asked = others(fitted), np.zeros((150, len(NAMES)), dtype=bool)

    def fetch(unit, rows):
        asked[np.ix_(rows, unit.features)] = True
        return X.iloc[rows, [*unit.features]]

    require_same(fitted.predict_on_demand(fetch, len(X)), fitted, X)
    np.testing.assert_array_equal(asked, fitted.acquired(X))
    assert 0 < asked[:, 0].mean() < 1

    async def fetch_later(unit, rows):
        await asyncio.sleep(0)
        return X.iloc[rows, unit.features[0]] if len(unit.features) == 1 else fetch(unit, rows).to_numpy()

    require_same(asyncio.run(fitted.predict_on_demand_async(fetch_later, len(X))), fitted, X)


def test_each_example_has_what_its_session_has(fitted) -> None:
    X = others(fitted)[:20]

    def fetch(unit, rows):
        cells = X.iloc[rows, [*unit.features]].astype(object).to_numpy(copy=True)
        cells[rows % 3 == 0] = None
        return cells.tolist()

    demand = fitted.predict_on_demand(fetch, len(X), known={"age": X.age, "sex": "f"}, max_cost=12)
    for row in range(len(X)):
        session = fitted.session({"age": X.age[row], "sex": "f"}, max_cost=12)
        while (unit := session.next_unit) is not None:
            session.tell(None if row % 3 == 0 else X.iloc[row, [*unit.features]].tolist())
        assert (demand.predictions[row], demand.paid[row]) == (session.answer, session.paid)
    assert (demand.paid[::3] == 0).all()
    assert 0 < demand.paid.max() <= 12


def test_columns_of_an_array_and_of_one_price_come_together() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4))
    X[::7, 1] = np.nan
    costs = FeatureCosts([1, 2]).for_columns([0, 1, 1, 1])
    before = make_column_transformer((SimpleImputer(), [0, 1]), remainder="passthrough")
    forest = RandomForestRegressor(5, max_depth=4, random_state=0)
    model = BudgetedPipeline(before, BudgetPrune(forest, budget=2, random_state=0), feature_costs=costs)
    model.fit(X, np.nan_to_num(X[:, 1]) + X[:, 0])
    units = []

    def fetch(unit, rows):
        units.append(unit.features)
        return X[np.ix_(rows, unit.features)]

    demand = model.predict_on_demand(fetch, len(X))
    np.testing.assert_array_equal(demand.predictions, model.predict(X))
    np.testing.assert_allclose(demand.paid, model.cost(X))
    assert {*units} == {(0,), (1, 2, 3)}


def test_columns_of_one_price_are_paid_if_one_of_them_could_be_had() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    before = make_column_transformer((SimpleImputer(), [0, 1]), remainder="passthrough")
    costs = FeatureCosts([1, 2]).for_columns([0, 1, 1])
    model = BudgetedPipeline(before, BudgetPrune(DecisionTreeRegressor(), random_state=0), feature_costs=costs)
    model.fit(X, X[:, 1] + X[:, 2])
    for cells, charged, paid in (
        ([None, 1.0], None, 2),
        ([None, None], None, 0),
        ([None, None], True, 2),
        ([0.5, 1.0], False, 0),
    ):
        session, sessions = model.session({0: 0.0}), model.sessions(2, {0: 0.0})
        assert session.next_unit.features == (1, 2)
        session.tell(cells, charged)
        (request,) = sessions.requests()
        sessions.tell(request.unit, request.rows, [cells, [1.0, 1.0]], None if charged is None else [charged, True])
        assert session.paid == sessions.paid[0] == paid
        assert sessions.paid[1] == 2


def test_cells_of_several_types_stay_what_they_are() -> None:
    random = np.random.default_rng(0)
    words = np.array(["a", "b", np.nan], dtype=object)[random.integers(0, 3, 200)]
    X = pd.DataFrame({"flag": random.random(200) < 0.5, "word": words})
    before = make_column_transformer((OneHotEncoder(), ["flag", "word"]))
    costs = FeatureCosts([0, 0], [0, 0], [1], ["flag", "word"])
    model = BudgetedPipeline(before, BudgetPrune(DecisionTreeClassifier(), random_state=0), feature_costs=costs)
    model.fit(X, np.where(X.word == "a", X.flag, X.word.isna()))
    cells = X.to_numpy().tolist()
    demand = model.predict_on_demand(lambda unit, rows: [cells[row] for row in rows], len(X))
    np.testing.assert_array_equal(demand.predictions, model.predict(X))
    assert demand.predictions.mean() == pytest.approx(0.5, abs=0.1)


def test_a_missing_cell_of_a_frame_is_bought_and_one_of_a_list_is_not() -> None:
    X, y = table(400, 0)
    before, estimator = KINDS["front end"]
    model = BudgetedPipeline(before, estimator, feature_costs=PRICES).fit(X, y)
    none = X.astype({"ecg": object}).replace({"ecg": {np.nan: None}})
    assert none.ecg.isna().sum() == none.ecg.map(lambda cell: cell is None).sum() > 0
    frames = none, pl.from_pandas(none)
    for columns in (lambda rows, places: none.iloc[rows, places], lambda rows, places: frames[1][rows, places]):
        demand = model.predict_on_demand(lambda unit, rows, of=columns: of(rows, [*unit.features]), len(X))
        require_same(demand, model, X)
        others = {name: X[name] for name in NAMES[1:]}
        alone = model.predict_on_demand(lambda unit, rows, of=columns: of(rows, unit.features[0]), len(X), others)
        np.testing.assert_array_equal(alone.paid[alone.bought[:, 0]], 10)
        assert alone.bought[X.ecg.isna(), 0].any()
    told = model.predict_on_demand(lambda unit, rows: none.iloc[rows, [*unit.features]].to_numpy(), len(X))
    assert not told.bought[X.ecg.isna(), 0].any()


def test_a_mixture_fetches_cells_of_the_table() -> None:
    X, y = table(400, 0)
    before, estimator = KINDS["pruned forest behind imputers"]
    mixed = BudgetedPipeline(before, estimator, feature_costs=PRICES).fit(X, y).mixture(5)
    demand = mixed.predict_on_demand(lambda unit, rows: X.iloc[rows, [*unit.features]], len(X))
    np.testing.assert_array_equal(demand.predictions, mixed.predict(X))
    np.testing.assert_array_equal(demand.paid, mixed.cost(X))


def test_what_is_fetched_and_known_has_to_fit() -> None:
    X, y = table(400, 0)
    before, estimator = KINDS["pruned forest behind imputers"]
    model = BudgetedPipeline(before, estimator, feature_costs=PRICES).fit(X, y)
    for fetch, message in (
        (lambda unit, rows: "st", r"expected values of shape \(5, 1\) or \(5,\), a row for each of the examples, got"),
        (lambda unit, rows: [{}] * len(rows), r"expected a value of type .*, as in training, got \{\}"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict_on_demand(fetch, 5, {"ecg": "st", "kind": 7, "sex": "f"})
    for known, message in (
        ({"ecg": ["st", "af"]}, "ecg: expected a cell, or 5 cells, got 2"),
        ({"egc": "st"}, "column: expected the name of a column .*'egc'; the closest is 'ecg'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.sessions(5, known)
    with pytest.raises(TypeError, match="fetch: expected a function"):
        model.predict_on_demand(X, 5)
    assert model.predict_on_demand(lambda unit, rows: 0, 0, {"ecg": "st"}).predictions.size == 0
