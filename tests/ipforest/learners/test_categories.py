"""Categories in BudgetBoost and BudgetForest: found by dtype, number or name, told by name, in whatever order."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ipforest import BoostGrowth, BoostSearch, BudgetBoost, BudgetForest, BudgetLinear, FeatureCosts, ForestSearch
from ipforest.deployment.reader import Model
from ipforest.ensemble import read, write
from ipforest.ensemble.categories import Categories, places_among, ways_of_saying
from ipforest.frontiers import budget_forest
from ipforest.session import Seller
from ipforest.tabular.model_files import load_model, save_model

BOOST = BudgetBoost(
    12, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=3, n_prunings=2), random_state=0
)
FOREST = BudgetForest(5, search=ForestSearch(n_lambdas=2, n_prunings=2), random_state=0)
COLOURS = np.array(["amber", "blue", "crimson", "denim", "ecru", "fawn", "green"])
WARM = ("amber", "crimson", "fawn")


def colours(seed: int = 0, n_samples: int = 400) -> tuple[pd.DataFrame, Any]:
    """Draw examples that are positive where the colour is warm, or else the number large; some cells are missing."""
    rng = np.random.default_rng(seed)
    colour = COLOURS[rng.integers(COLOURS.size, size=n_samples)]
    number, noise = rng.normal(size=(2, n_samples))
    y = np.isin(colour, WARM) | (number > 1)
    frame = pd.DataFrame({"number": number, "colour": pd.Categorical(colour, categories=COLOURS), "noise": noise})
    frame.loc[rng.random(n_samples) < 0.05, "colour"] = None
    return frame, y.astype(int)


@pytest.fixture(scope="module", params=[BOOST, FOREST], ids=["boost", "forest"])
def fitted(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame, Any]:
    X, y = colours()
    return clone(request.param).fit(X, y, *colours(1)), *colours(2)


@pytest.mark.slow
def test_sets_of_categories_are_found(fitted: tuple[Any, pd.DataFrame, Any]) -> None:
    model, X, y = fitted
    assert model.score(X, y) > 0.93
    assert model.categories_.columns == (1,)
    cheap = model.at_budget(1)
    known = X["colour"].notna()
    assert cheap.score(X[known], y[known]) > 0.85
    assert any(member.policy.trees.tests_categories.any() for member in model.members_)


def test_trees_grown_with_lookahead_compare_the_numbers_of_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_forest, "is_clearly_better", lambda *_: True)
    X, y = colours()
    ahead, plain = (clone(FOREST).set_params(search__n_lookahead=n).fit(X, y, *colours(1)) for n in (3, 0))
    forests = [member.policy.trees for member in ahead.members_[len(plain.members_) :]]
    assert forests[0].n_trees == 3
    assert (forests[0].feature == 1).any()
    assert not any(forest.tests_categories.any() for forest in forests)
    assert np.mean(forests[0].predict(ahead.categories_.numbers(X).to_numpy()) == y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("model", [BOOST, clone(FOREST).set_params(search__n_lookahead=0)], ids=["boost", "forest"])
def test_the_numbers_of_categories_are_of_no_account(model: Any) -> None:
    X, _ = colours(2)
    shuffled = list(COLOURS[[3, 6, 0, 5, 1, 4, 2]])

    def renumbered(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(colour=frame["colour"].cat.set_categories(shuffled))

    (X_train, y_train), (X_val, y_val) = colours(), colours(1)
    model = clone(model).fit(X_train, y_train, X_val, y_val)
    other = clone(model).fit(renumbered(X_train), y_train, renumbered(X_val), y_val)
    for frame in (X, renumbered(X), X.assign(colour=X["colour"].astype(object))):
        np.testing.assert_allclose(other.predict_proba(frame), model.predict_proba(X))
        np.testing.assert_array_equal(other.cost(frame), model.cost(X))
    codes = [
        frame.assign(colour=frame["colour"].cat.codes.replace(-1, np.nan)).to_numpy() for frame in (X_train, X_val, X)
    ]
    for wanted in ([1], [False, True, False]):
        plain = clone(model).set_params(categorical_features=wanted).fit(codes[0], y_train, codes[1], y_val)
        np.testing.assert_array_equal(plain.predict_proba(codes[2]), model.predict_proba(X))


def test_sessions_take_names_and_pay_what_cost_says(fitted: tuple[Any, pd.DataFrame, Any]) -> None:
    model, X, _ = fitted
    costs, labels = model.cost(X), model.predict(X)
    for row in range(12):
        session = model.session()
        while session.next_unit is not None:
            value = X.iloc[row, session.next_unit.features[0]]
            session.tell(np.nan if pd.isna(value) else value)
        assert (session.paid, session.answer) == (costs[row], labels[row])
    resumed = model.resume(session.to_json())
    assert (resumed.answer, resumed.paid) == (session.answer, session.paid)
    brought = dict(cell for line in session.ledger for cell in line.values)
    assert brought == {name: None if pd.isna(X[name][row]) else X[name][row] for name in brought}
    demand = model.predict_on_demand(lambda unit, rows: X.iloc[rows, unit.features[0]].to_numpy(), len(X))
    np.testing.assert_array_equal(demand.predictions, labels)
    free = model.session({"colour": "blue"})
    assert free.next_unit is None or free.next_unit.name != "colour"


@pytest.mark.slow
def test_files_keep_what_is_known_of_categories(fitted: tuple[Any, pd.DataFrame, Any], tmp_path: Path) -> None:
    model, X, _ = fitted
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    for budget in (1, 3):
        np.testing.assert_array_equal(loaded.at_budget(budget).predict(X), model.at_budget(budget).predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_unknown_categories_are_missing(fitted: tuple[Any, pd.DataFrame, Any]) -> None:
    model, X, _ = fitted
    unknown, missing = X.assign(colour="ultraviolet"), X.assign(colour=None)
    np.testing.assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))


def test_a_column_without_any_category_of_training_is_told(fitted: tuple[Any, pd.DataFrame, Any]) -> None:
    model, frame, _ = fitted
    shouted = frame.assign(colour=frame["colour"].str.upper().astype("category"))
    told = (
        r"^X, column 'colour': expected categories of training \(amber, blue, .*\), got .*[A-Z], .*, "
        "which all count as missing$"
    )
    with pytest.warns(UserWarning, match=told) as caught:
        predicted = model.predict(shouted)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(predicted, model.predict(frame.assign(colour=None)))
    model.predict(shouted.iloc[:1])  # a new category may come alone
    model.predict(pd.concat([shouted, frame]))


def test_dates_as_categories_are_not_written_as_lightgbm() -> None:
    pytest.importorskip("lightgbm")
    days = pd.to_datetime(np.random.default_rng(0).choice(["2020-01-01", "2021-01-01", "2022-05-05"], 300))
    model = clone(BOOST).fit(pd.DataFrame({"day": pd.Categorical(days)}), days.year == 2021)
    trees = replace(model.trees_.trees, categories=model.categories_)
    with pytest.raises(ValueError, match=r"texts, numbers or truth values, .*, got Timestamp\('2020-01-01"):
        write(trees, "lightgbm")


def test_boosted_trees_of_categories_are_written_as_lightgbm_and_refused_elsewhere() -> None:
    pytest.importorskip("lightgbm")
    X, y = colours()
    model = clone(BOOST).set_params(search__n_prunings=0, search__stopping=()).fit(X, y)
    trees = max((member.policy.trees for member in model.members_), key=lambda trees: trees.n_internal)
    assert trees.tests_categories.any()
    numbers = model.categories_.numbers(X).to_numpy()
    back = read(write(trees, "lightgbm"))
    np.testing.assert_allclose(back.predict_proba(numbers), trees.predict_proba(numbers), atol=1e-12)
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="trees: expected tests of numbers, got tests of categories"):
        write(trees, "onnx")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ([True], r"categorical_features: expected a mask of shape \(3,\), got \(1,\)"),
        ([3], "categorical_features: expected None, 'from_dtype', a mask, or columns by number or name, got 3"),
        (["colour"], "columns by number or name, got 'colour', which is none"),
        ([0], "X: expected categories that are integers from 0 to 254, got -?[0-9.]+ in column 0"),
    ],
)
def test_errors(wanted: Any, text: str) -> None:
    X, y = colours()
    with pytest.raises(ValueError, match=text):
        clone(BOOST).set_params(categorical_features=wanted).fit(X[["number", "noise", "noise"]].to_numpy(), y)


def test_the_rarest_of_too_many_categories_count_as_missing() -> None:
    towns = [f"town {number}" for number in range(300)]
    cells = np.random.default_rng(0).permutation(np.repeat(towns, 16 + np.arange(300) % 9))
    X = pd.DataFrame({"town": pd.Categorical(cells), "number": np.arange(float(cells.size))})
    y = X["town"].isin(towns[8::9]).to_numpy()
    model = clone(BOOST).fit(X, y)
    counts = X["town"].value_counts()
    known = model.categories_.names[0]
    assert len(known) == 255
    assert [*known] == sorted(known)
    assert counts[[*known]].min() >= counts.drop([*known]).max()
    told = X.assign(town=X["town"].where(X["town"].isin(known)).cat.remove_unused_categories())
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(told))
    assert model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.predict_proba(X), clone(BOOST).fit(told, y).predict_proba(told))


def test_columns_are_found_by_name() -> None:
    X, _ = colours()
    assert Categories.of(X, ["colour"]) == Categories.of(X, "from_dtype")
    assert Categories.of(X.assign(colour=X["colour"].astype(object)), ["colour"]).names == {1: tuple(COLOURS)}
    assert Categories.of(X, None) == Categories.of(X.to_numpy(), "from_dtype") == Categories()


@pytest.mark.slow
@pytest.mark.parametrize("model", [BOOST, FOREST], ids=["boost", "forest"])
def test_sessions_take_categories_that_are_numbers(model: Any) -> None:
    def coded(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(colour=frame["colour"].cat.rename_categories(range(6, -1, -1)))

    (X_train, y_train), (X_val, y_val), (X, _) = colours(), colours(1), colours(2)
    model = clone(model).fit(coded(X_train), y_train, coded(X_val), y_val)
    X = coded(X)
    costs, labels = model.cost(X), model.predict(X)
    for row in range(12):
        told = [np.nan if pd.isna(cell) else cell for cell in X.iloc[row]]
        half, asked = model.session({"colour": told[1]}), model.session()
        for session in (half, asked):
            while session.next_unit is not None:
                session.tell(told[session.next_unit.features[0]])
            assert session.answer == labels[row]
            resumed = model.resume(session.to_json())
            assert (resumed.answer, resumed.ledger) == (session.answer, session.ledger)
            assert resumed.to_json() == session.to_json()
        assert asked.paid == costs[row]
    demand = model.predict_on_demand(lambda unit, rows: X.iloc[rows, unit.features[0]].to_numpy(), len(X))
    np.testing.assert_array_equal(demand.predictions, labels)
    many = model.predict_on_demand(lambda unit, rows: X.iloc[rows, unit.features[0]], len(X), {"colour": X["colour"]})
    np.testing.assert_array_equal(many.predictions, labels)


def test_values_of_categories() -> None:
    costs, names = FeatureCosts([1, 1]), {1: (10, 20, 30)}
    seller = Seller(costs, 0.0, None, ("number", "code"), True, categories=names)
    assert [seller.number(1, value) for value in (20, 20.0, "20", np.int64(30))] == [1, 1, 1, 2]
    assert np.isnan([seller.number(1, value) for value in (1, "x", None, np.nan, pd.NA)]).all()
    np.testing.assert_array_equal(seller.numbers([0, 1], np.array([[0.5, 10], [20, 30]])), [[0.5, 0], [20, 2]])
    assert (seller.named(1, 2.0), seller.named(1, None), seller.named(0, 2.0)) == (30, None, 2.0)
    assert seller.named(1, 2) == 30
    assert np.isnan(seller.named(1, np.nan))
    for number in (3.0, 0.5, -1):
        with pytest.raises(ValueError, match=rf"^code: expected the number of a category 0\.\.2, got {number}"):
            seller.named(1, number)


VALUES = {
    "one to seven": [1, 2, 3, 4, 5, 6, 7],
    "backwards": [6, 5, 4, 3, 2, 1, 0],
    "zip codes": [10115, 99084, 1067, 20095, 501, 80331, 50667],
    "halves": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
    "texts of numbers": ["1", "2", "3", "4", "10", "20", "30"],
    "words": ["a", "b", "c", "d", "e", "f", "g"],
}


def forms(frame: pd.DataFrame) -> dict[str, Any]:
    """Give the same examples in every form that holds their values."""
    plain = frame.assign(colour=frame["colour"].astype(object))
    texts = plain.assign(colour=plain["colour"].map(str, na_action="ignore"))
    given: dict[str, Any] = {"objects": plain, "array of objects": plain.to_numpy(), "texts": texts}
    given["categories of texts"] = texts.astype({"colour": "category"})
    if isinstance(plain["colour"].dropna().iloc[0], int | float):
        given |= {"numbers": plain.astype(float), "array": plain.to_numpy(dtype=float)}
    try:
        import polars
        import pyarrow
    except ImportError:
        return given
    table = pyarrow.Table.from_pandas(plain, preserve_index=False)
    encoded = table.set_column(1, "colour", table["colour"].dictionary_encode())
    given |= {"arrow": table, "dictionary": encoded, "polars": polars.from_arrow(table)}
    dictionary = pd.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), table["colour"].type))
    given["pandas of arrow"] = frame.assign(colour=plain["colour"].astype(pd.ArrowDtype(table["colour"].type)))
    given["pandas of a dictionary"] = frame.assign(
        colour=pd.Series(pd.arrays.ArrowExtensionArray(encoded["colour"].combine_chunks()), dtype=dictionary)
    )
    return given


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("model", [BOOST, FOREST], ids=["boost", "forest"])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_same_values_are_the_same_categories_in_every_form(model: Any, values: list[Any]) -> None:
    def told(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(colour=frame["colour"].cat.rename_categories(values))

    (X_train, y_train), (X_val, y_val), (X, _) = colours(), colours(1), colours(2, 60)
    model = clone(model).fit(told(X_train), y_train, told(X_val), y_val)
    X = told(X)
    expected, costs = model.predict_proba(X), model.cost(X)
    for form, examples in forms(X).items():
        np.testing.assert_allclose(model.predict_proba(examples), expected, err_msg=form)
        np.testing.assert_array_equal(model.cost(examples), costs, err_msg=form)


@pytest.mark.slow
def test_categories_of_polars_and_arrow_are_found_by_dtype() -> None:
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = colours()
    words = X["colour"].astype(object).where(X["colour"].notna(), None).tolist()
    columns = {"number": X["number"], "noise": X["noise"]}
    expected = clone(BOOST).fit(X[["number", "noise", "colour"]], y)
    for frame in (
        polars.DataFrame({**columns, "colour": polars.Series(words, dtype=polars.Enum(COLOURS.tolist()))}),
        polars.DataFrame({**columns, "colour": polars.Series(words, dtype=polars.Categorical)}),
        arrow.table({**columns, "colour": arrow.array(words).dictionary_encode()}),
    ):
        model = clone(BOOST).fit(frame, y)
        assert {*model.categories_.names[2]} == {*COLOURS}
        np.testing.assert_allclose(model.predict_proba(frame), expected.predict_proba(X[["number", "noise", "colour"]]))


def test_numbers_of_categories_that_are_words() -> None:
    categories = Categories((0,), {0: ("amber", "blue")})
    np.testing.assert_array_equal(categories.numbers(np.array([[1.0, 5.0], [0.0, 6.0]])), [[1, 5], [0, 6]])
    texts = Categories((0,), {0: ("10", "9")})
    np.testing.assert_array_equal(texts.numbers(np.array([[9.0], [10.0], [0.0]])), [[1], [0], [np.nan]])
    assert Categories().numbers([[1.0]]) == [[1.0]]


@pytest.mark.parametrize(
    ("known", "values", "places"),
    [
        ((10, 20, 30), [20, "20", 20.0, "20.0", "020", np.int64(30), "30 "], [1, 1, 1, 1, 1, 2, 2]),
        (("10", "20"), [20, "20", 20.0, "20.0", "020"], [1, 1, 1, np.nan, np.nan]),
        (("1", "01", "1.1", "1.10"), ["01", 1, 1.1, "1.10", np.nan], [1, 0, 2, 3, np.nan]),
        (("False", "True"), [True, "True", "true"], [1, 1, np.nan]),
        (("false", "true"), [True, np.False_, "True"], [1, 0, np.nan]),
        ((False, True), [True, "True", "x"], [1, 1, np.nan]),
        (("nan", "None"), [np.nan, None, pd.NA, "nan"], [np.nan, np.nan, np.nan, 0]),
    ],
)
def test_numbers_and_their_texts_are_one_category(
    known: tuple[Any, ...], values: list[Any], places: list[float]
) -> None:
    seller = Seller(FeatureCosts([1]), 0.0, None, ("code",), True, categories={0: known})
    np.testing.assert_array_equal(places_among(known, values), places)
    np.testing.assert_array_equal([seller.number(0, value) for value in values], places)
    for kind in (object, "category"):
        frame = pd.DataFrame({"code": pd.Series(values, dtype=object).astype(kind)})
        np.testing.assert_array_equal(Categories((0,), {0: known}).numbers(frame)["code"], places)


def test_gaps_and_numbers_are_read_where_several_categories_say_one_number() -> None:
    categories = Categories((0,), {0: ("1.1", "1.10", "1.2")})
    numbers = categories.numbers(pd.DataFrame({"version": [np.nan, 1.1, 1.2]}))["version"]
    np.testing.assert_array_equal(numbers, [np.nan, 0, 2])


@pytest.mark.parametrize(
    ("known", "cells"),
    [
        ([10, 20.0, 30], [20, 20.0, "20", "20.0", 10, "10", "x"]),
        (["true", "false", "20"], [True, False, np.True_, "true", "True", 20, 20.0, "20.0", 1, 3]),
        ([True, False], [True, "True", "true", "1", 1, 0]),
    ],
)
def test_an_export_takes_for_a_category_what_the_model_does(known: list[Any], cells: list[Any]) -> None:
    random = np.random.default_rng(0)
    values = pd.Series(known, dtype=object)[random.choice(len(known), 200)]
    X = pd.DataFrame({"code": pd.Categorical(values)})
    model = BudgetLinear(budget=1, random_state=0).fit(X, values.to_numpy() == known[1])
    reader = Model(json.loads(write(model, "json")))
    for cell in [*cells, None, np.nan, pd.NA]:
        frame = pd.DataFrame({"code": pd.Series([cell], dtype=object)})
        session = model.session()
        session.tell(frame["code"][0] if not np.isnan(places_among(known, [cell])[0]) else np.nan)
        labels = [reader.predict_one(lambda _, cell=cell: cell).label, *model.predict(frame)]
        assert labels == [session.answer, session.answer], cell


@pytest.mark.parametrize("known", [("1", "01", "x"), (1, "2", 3.5, "nan"), ("TRUE", "inf"), (False, True), ()])
def test_what_says_a_category_is_taken_for_it(known: tuple[Any, ...]) -> None:
    ways = ways_of_saying(known)
    assert [*ways][: len(known)] == [*known]
    np.testing.assert_array_equal(places_among(known, [*ways]), [*ways.values()])
    tried = [True, 1, 1.0, "1", "1.0", 2, "3.5"]
    assert all((cell in ways) != np.isnan(place) for cell, place in zip(tried, places_among(known, tried), strict=True))
