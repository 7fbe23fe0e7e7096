"""Preprocessing and what buys behind it: prices, costs and sessions are about the columns of the table."""

import datetime
import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from ipforest import BudgetedClassifier, BudgetedPipeline, BudgetPrune, EarlyExit, FeatureCosts
from ipforest.deployment import document_of
from ipforest.deployment.reader import Model
from ipforest.ensemble.libraries import read
from ipforest.learners import ReadableTree
from ipforest.tabular.model_files import load_model, save_model
from ipforest.wrappers.calibration import CalibratedClassifier
from ipforest.wrappers.table_columns import in_words, plain_row, row_of
from ipforest.wrappers.thresholds import ThresholdClassifier

pa = pytest.importorskip("pyarrow")

PRICES = {"ecg": 12, "age": 0, "lab": 5, "sex": 1}


def clinic(n: int = 160) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": random.integers(20, 90, n),
            "ecg": random.choice(["af", "normal", "st"], n),
            "lab": random.normal(5, 2, n).round(2),
            "sex": random.choice(["f", "m"], n),
        }
    )
    ill = (table.ecg == "st") ^ (table.lab > 6) | (table.age > 80)
    return table, np.where(ill, "ill", "healthy")


def encoder(*, sparse: bool = False):
    words = (OneHotEncoder(handle_unknown="ignore", sparse_output=sparse), ["ecg", "sex"])
    return make_column_transformer(words, remainder=StandardScaler(), sparse_threshold=float(sparse))


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(8, max_depth=4, random_state=0)


def by_session(model: BudgetedPipeline, table: pd.DataFrame) -> list[tuple[object, float]]:
    told = []
    for row in range(len(table)):
        session = model.session()
        while (unit := session.next_unit) is not None:
            session.tell(table.iloc[row, unit.features[0]])
        told.append((session.answer, session.paid))
    return told


@pytest.fixture(scope="module")
def fitted() -> BudgetedPipeline:
    table, y = clinic()
    buyer = BudgetPrune(forest(), budget=9, random_state=0)
    return BudgetedPipeline(encoder(), buyer, feature_costs=PRICES).fit(table, y)


def test_costs_are_those_of_the_columns_of_the_table(fitted) -> None:
    table, _ = clinic()
    acquired = fitted.acquired(table)
    assert acquired.shape == table.shape
    by_hand = acquired @ np.array([PRICES[name] for name in table.columns])
    np.testing.assert_allclose(fitted.cost(table), by_hand)
    assert 0 < by_hand.mean() < 10


def test_an_arrow_table_is_a_table(fitted) -> None:
    table, y = clinic()
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    np.testing.assert_array_equal(fitted.predict(arrow), fitted.predict(table))
    again = clone(fitted).fit(arrow, y)
    np.testing.assert_array_equal(again.cost(arrow), fitted.cost(table))


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
def test_predictions_are_those_of_the_two_steps(fitted) -> None:
    table, y = clinic()
    computed = encoder().fit(table).transform(table)
    prices = FeatureCosts([PRICES[name] for name in table.columns]).for_columns([1, 1, 1, 3, 3, 0, 2])
    by_hand = BudgetPrune(forest(), budget=9, feature_costs=prices, random_state=0).fit(computed, y)
    np.testing.assert_array_equal(fitted.predict(table), by_hand.predict(computed))
    np.testing.assert_array_equal(fitted.predict_proba(table), by_hand.predict_proba(computed))
    assert fitted.score(table, y) == by_hand.score(computed, y)
    np.testing.assert_array_equal(fitted.at_budget(3).cost(table), by_hand.at_budget(3).cost(computed))


def test_importances_are_those_of_the_columns_of_the_table(fitted) -> None:
    inside = fitted.estimator_.feature_importances_
    expected = [inside[fitted.sources_ == column].sum() for column in range(4)]
    np.testing.assert_allclose(fitted.feature_importances_, expected)
    assert 0 < fitted.feature_importances_[1] < fitted.feature_importances_.sum() == pytest.approx(1)
    chosen = SelectFromModel(fitted, max_features=2, threshold=-np.inf, prefit=True).fit(*clinic())
    assert {*chosen.get_feature_names_out()} == {*fitted.feature_names_in_[np.argsort(expected)[-2:]]}


def test_its_parts_have_names_as_those_of_a_pipeline(fitted) -> None:
    """MAPIE asks whatever is called a pipeline for its last step."""
    assert [*fitted.named_steps.values()] == [fitted.preprocessing_, fitted.estimator_]
    assert not hasattr(clone(fitted), "named_steps")


def test_sessions_ask_for_columns_of_the_table_and_take_its_cells(fitted) -> None:
    table, _ = clinic(12)
    expected = list(zip(fitted.predict(table), fitted.cost(table), strict=True))
    assert by_session(fitted, table) == expected
    known = fitted.session({"ecg": "st", "sex": "f"})
    assert known.paid == 0
    assert known.next_unit.name in {"age", "lab"}


def test_a_session_goes_on_another_day(fitted) -> None:
    session = fitted.session({"age": 50})
    session.tell({session.next_unit.name: "st" if session.next_unit.name == "ecg" else 7.0})
    again = fitted.resume(session.to_json())
    assert (again.paid, again.guess, again.next_unit) == (session.paid, session.guess, session.next_unit)
    assert again.ledger == session.ledger
    assert [line.unit for line in session.ledger] == [*{*PRICES} & {line.unit for line in session.ledger}]


def test_the_ledger_has_the_cells_of_the_table(fitted) -> None:
    session, told = fitted.session(), {"ecg": "st", "sex": np.nan, "age": np.int64(50), "lab": None}
    while session.next_unit is not None:
        session.tell(told[session.next_unit.name])
    plain = {"ecg": "st", "sex": None, "age": 50, "lab": None}
    assert session.ledger
    assert all(line.values == ((line.unit, plain[line.unit]),) for line in session.ledger)
    assert fitted.resume(session.to_json()).ledger == session.ledger
    saved = json.loads(session.to_json())
    within = fitted.estimator_.resume(session.to_json()).ledger
    assert [line.values for line in fitted.resume(json.dumps(saved | {"cells": {}})).ledger] == [
        line.values for line in within
    ]
    with pytest.raises(ValueError, match=r"saved: expected cells by column, as TableSession\.to_json writes them, got"):
        fitted.resume(json.dumps(saved | {"cells": ["st"]}))


def test_prices_and_reasons_are_of_units_of_this_round(fitted) -> None:
    for session in (fitted.session(), fitted.estimator_.session()):
        (unit,) = session.round()
        assert (session.price_of(unit), session.reason_of(unit)) == (session.price, session.reason)
        session.tell(None)
        for ask in (session.price_of, session.reason_of):
            with pytest.raises(ValueError, match=rf"^unit: expected one of this round \(.*\), got {unit}$"):
                ask(unit)


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_no_row_of_training_is_kept(kind) -> None:
    table = pd.DataFrame({name: np.arange(5) * 10 + place for place, name in enumerate("abc")})
    X = {"pandas": table, "polars": pl.from_pandas(table), "array": table.to_numpy()}[kind]
    model = BudgetedPipeline(SimpleImputer(), BudgetPrune(forest(), random_state=0)).fit(X, [0, 1, 0, 1, 0])
    assert np.asarray(model.table_columns.row).tolist() == [[0, 11, 22]]


def test_a_fraction_in_a_column_of_integers_stays_one() -> None:
    table, y = pd.DataFrame({"age": np.arange(120) % 60}), np.arange(120) % 60 > 30
    model = BudgetedPipeline(SimpleImputer(), BudgetPrune(forest(), random_state=0)).fit(table, y)
    assert json.loads(model.session({"age": 30.75}).to_json())["known"] == [["feature 0", 30.75]]


def test_columns_with_one_price_in_the_list_are_still_columns_of_the_table() -> None:
    X = np.random.default_rng(0).random((120, 4))
    shared = FeatureCosts([2, 1]).for_columns([0, 0, 0, 1])
    model = BudgetedPipeline(SimpleImputer(), BudgetPrune(forest(), random_state=0), feature_costs=shared)
    session = model.fit(X, X[:, 2] > X[:, 3]).session()
    while session.next_unit is not None:
        session.tell(X[0, [*session.next_unit.features]])
    assert {line.unit for line in session.ledger} == {"column 0, column 1, column 2", "column 3"}
    assert (session.answer, session.paid) == (model.predict(X[:1])[0], 3)


def test_what_could_not_be_had_is_not_paid(fitted) -> None:
    session = fitted.session()
    while session.next_unit is not None:
        session.tell("another" if session.next_unit.name in {"ecg", "sex"} else 5.0, charged=False)
    assert session.paid == 0
    assert session.answer in {"ill", "healthy"}


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [("lab", "high", "lab: expected a value of type float64, as in training, got 'high'"), ("labs", 5, "is 'lab'")],
)
def test_cells_that_no_table_holds_are_refused(fitted, column, cell, message) -> None:
    with pytest.raises(ValueError, match=message):
        fitted.session({column: cell})


def test_columns_are_found_by_name(fitted) -> None:
    table, _ = clinic()
    backwards = table[table.columns[::-1]].assign(another=1)
    np.testing.assert_array_equal(fitted.predict(backwards), fitted.predict(table))
    with pytest.raises(ValueError, match="X: expected the columns of training, got no 'lab'"):
        fitted.predict(table.drop(columns="lab"))
    with pytest.raises(ValueError, match="X: expected 4 columns as in training, got 3"):
        fitted.predict(table.to_numpy()[:, :3])


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("library", ["sklearn", "lightgbm", "xgboost"])
def test_a_fitted_pipeline_keeps_its_encoder_and_its_trees(library, sparse) -> None:
    table, y = clinic()
    codes = (y == "ill").astype(int)
    if library == "sklearn":
        trees = forest()
    else:
        kind = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[library]
        trees = getattr(pytest.importorskip(library), kind)(
            n_estimators=4, verbosity=-1 if library == "lightgbm" else 0
        )
    pipeline = make_pipeline(encoder(sparse=sparse), trees).fit(table, codes)
    fitted = pipeline[-1]
    kept = BudgetPrune(fitted, lam=0) if library == "sklearn" else EarlyExit(FrozenEstimator(fitted), order="given")
    model = BudgetedPipeline(pipeline[:-1], kept, feature_costs=PRICES).fit(table, codes)
    if library == "sklearn":
        np.testing.assert_array_equal(model.predict(table), pipeline.predict(table))
    whole = read(pipeline[-1]).predict(model._transformed(table))
    np.testing.assert_array_equal(whole, pipeline.predict(table))
    assert by_session(model, table[:4]) == list(zip(model.predict(table[:4]), model.cost(table[:4]), strict=True))


def test_regression_and_arrays() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(120, 3))
    y = X[:, 0] + X[:, 2]
    buyer = BudgetPrune(RandomForestRegressor(5, max_depth=3, random_state=0), budget=3, random_state=0)
    model = BudgetedPipeline(StandardScaler(), buyer, feature_costs=[1, 2, 2]).fit(X, y)
    np.testing.assert_allclose(model.cost(X), model.acquired(X) @ [1, 2, 2])
    session = model.session()
    while (unit := session.next_unit) is not None:
        session.tell(X[0, unit.features[0]])
    assert (session.answer, session.paid) == (model.predict(X[:1])[0], model.cost(X[:1])[0])


def test_held_out_tables_are_preprocessed_too() -> None:
    table, y = clinic()
    model = BudgetedPipeline(encoder(), BudgetPrune(forest(), budget=9), feature_costs=PRICES)
    model.fit(table[:100], y[:100], X_cost=table[100:])
    assert model.cost(table[100:]).mean() <= 9


class Sampler(BaseEstimator):
    """As those of imbalanced-learn."""

    def fit_resample(self, X, y):
        return X, y


def test_samplers_are_refused_and_told_where_they_go() -> None:
    estimator = BudgetPrune(RandomForestClassifier(2), budget=1)
    for preprocessing in (Sampler(), make_pipeline(Sampler(), StandardScaler())):
        with pytest.raises(TypeError, match=r"preprocessing: expected transformers, .* got Sampler; .* before the"):
            BudgetedPipeline(preprocessing, estimator).fit(np.ones((4, 1)), [0, 1, 0, 1])


def test_it_is_cloned_and_pickled(fitted, tmp_path) -> None:
    table, y = clinic()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(table), fitted.predict(table))
    np.testing.assert_array_equal(clone(fitted).fit(table, y).predict(table), fitted.predict(table))
    saved = load_model(save_model(fitted.as_pipeline(), tmp_path / "model.skops"))
    np.testing.assert_array_equal(saved.predict(table), fitted.predict(table))
    for name in ("whole.joblib", "whole.skops"):
        again = load_model(save_model(fitted, tmp_path / name))
        np.testing.assert_array_equal(again.cost(table), fitted.cost(table))
        pd.testing.assert_frame_equal(again._row, fitted._row)
        assert again.session().next_unit == fitted.session().next_unit


@pytest.mark.parametrize("wrapper", [ReadableTree, CalibratedClassifier, ThresholdClassifier])
def test_prices_reach_the_estimator_within_another(wrapper) -> None:
    table, y = clinic()
    within = BudgetPrune(forest(), budget=9, random_state=0)
    model = BudgetedPipeline(encoder(), wrapper(within), feature_costs=PRICES).fit(table, y)
    np.testing.assert_allclose(model.cost(table), model.acquired(table) @ [PRICES[name] for name in table.columns])
    fitted = FrozenEstimator(clone(within).fit(encoder().fit_transform(table), y))
    model = BudgetedPipeline(encoder(), wrapper(fitted), feature_costs=PRICES)
    with pytest.raises(ValueError, match=f"within {wrapper.__name__} that is not fitted, .* got a fitted BudgetPrune"):
        model.fit(table, y)


ODD_ROWS = {
    "categories": {
        "a": pd.Categorical(["x"], categories=["y", "x"]),
        "b": pd.Categorical([3], categories=[1, 3], ordered=True),
        "c": pd.Categorical([None], categories=["y"]),
    },
    "times": {"a": pd.to_datetime(["2020-01-01 10:00"]), "b": pd.to_timedelta(["3h"])},
    "missing": {"a": pd.array([None], "Int64"), "b": [np.nan], "c": np.array([None], object)},
    "numbers": {"a": np.float32([1.1]), "b": np.uint8([3]), "c": [np.inf], "d": pd.array([True], "boolean")},
}


@pytest.mark.parametrize("name", ODD_ROWS)
def test_a_row_of_any_types_comes_back(name) -> None:
    row = pd.DataFrame(ODD_ROWS[name])
    parts = json.loads(json.dumps(plain_row(row)))
    pd.testing.assert_frame_equal(row_of(parts), row)


def test_a_row_that_would_come_back_as_another_stays_as_it_is() -> None:
    row = pd.DataFrame({"a": pd.Series([1.0], dtype=pd.SparseDtype(float, 1.0))})
    assert plain_row(row) is row
    cells = np.ones((1, 2))
    assert plain_row(cells) is cells


def test_prices_of_any_kind_are_saved(tmp_path) -> None:
    """A file of skops holds no frame, no series and no path; those of Series and DataFrame were refused."""
    table = pd.DataFrame({"age": np.arange(40) % 9, "bmi": np.arange(40) % 7})
    frame = pd.DataFrame({"name": ["age", "bmi"], "price": [1, 2]})
    frame.to_csv(tmp_path / "prices.csv", index=False)
    pruned = BudgetPrune(RandomForestClassifier(2, random_state=0), budget=1)
    encoder = make_column_transformer((OneHotEncoder(), ["age"]), remainder="passthrough")
    series = frame.set_index("name")["price"]
    kinds = frame, series, pl.DataFrame(frame), tmp_path / "prices.csv"
    models = pruned, pruned, BudgetedPipeline(encoder, pruned), pruned
    for prices, model in zip(kinds, models, strict=True):
        fitted = clone(model).set_params(feature_costs=prices).fit(table, table.age > 4)
        read = load_model(save_model(fitted, tmp_path / "model.skops"))
        assert fitted.get_params()["feature_costs"] is prices
        np.testing.assert_array_equal(read.cost(table), fitted.cost(table))


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_session_tells_one_hot_columns_of_any_encoder_by_the_word(output: str) -> None:
    """It said "compares it with 0.5"."""
    table = pd.DataFrame({"ecg": ["st", "af", "st", "af"] * 10, "age": np.arange(40) % 9})
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["ecg"]), remainder="passthrough")
    pruned = BudgetPrune(RandomForestClassifier(3, random_state=0, max_features=None), budget=9)
    prices = {"ecg": 5, "age": 1}
    model = BudgetedPipeline(encoder.set_output(transform=output), pruned, feature_costs=prices)
    model.fit(table, table.ecg == "st")
    session = model.session()
    assert re.fullmatch("tree 1 of 3 asks whether ecg is (st|af)", session.reason)
    session.tell("st")
    asked = session.ledger[0].reason
    assert "asks whether ecg is" in asked
    assert model.resume(session.to_json()).ledger[0].reason == asked


def test_a_session_that_has_not_ended_names_columns_of_the_table(fitted) -> None:
    session = fitted.session()
    wanted = str(session.next_unit)
    assert wanted in fitted.feature_names_in_
    assert repr(session) == f"TableSession(paid 0, wants {wanted})"
    with pytest.raises(ValueError, match=f"expected a session that has ended, got one that wants {wanted}; see guess"):
        str(session.answer)


def test_what_does_not_fit_is_refused() -> None:
    table, y = clinic(40)
    with pytest.raises(TypeError, match=r"estimator: expected one that buys, such as .*, got RandomForestClassifier"):
        BudgetedPipeline(encoder(), forest()).fit(table, y)
    with pytest.raises(ValueError, match=r"feature_costs: expected none in BudgetPrune, .* given to BudgetedPipeline"):
        BudgetedPipeline(encoder(), BudgetPrune(forest(), feature_costs=PRICES)).fit(table, y)
    with pytest.raises(ValueError, match="expected each column to be computed from one feature"):
        BudgetedPipeline(PCA(2), BudgetPrune(forest())).fit(table[["age", "lab"]], y)
    with pytest.raises(ValueError, match=r"feature_costs|prices|expected a price"):
        BudgetedPipeline(encoder(), BudgetPrune(forest()), feature_costs={"ecg": 1}).fit(table, y)


@pytest.mark.parametrize(
    "around",
    [
        read,
        lambda pipeline: BudgetPrune(pipeline, budget=3).fit(*clinic(40)),
        lambda pipeline: EarlyExit(pipeline, budget=3).fit(*clinic(40)),
        lambda pipeline: BudgetedClassifier([pipeline], budget=3).fit(*clinic(40)),
    ],
)
def test_pipelines_are_refused_with_the_line_that_takes_their_parts(around) -> None:
    pipeline = make_pipeline(encoder(), forest()).fit(*clinic(40))
    with pytest.raises(TypeError, match=r"BudgetedPipeline\(pipeline\[:-1\], .*pipeline\[-1\].*, feature_costs=...\)"):
        around(pipeline)


def test_a_pipeline_is_mixed_and_keeps_a_budget_in_the_columns_of_the_table() -> None:
    table, y = clinic()
    forest = BudgetPrune(RandomForestClassifier(5, random_state=0), feature_costs=None, random_state=0)
    model = BudgetedPipeline(encoder(), forest, feature_costs=PRICES).fit(table, y)
    mixed = model.mixture(7)
    keys = table.index.astype(str).tolist()
    costly = mixed.gets_costly(keys)
    parts = [part.cost(table) for part in (mixed.cheap, mixed.costly)]
    np.testing.assert_array_equal(mixed.cost(table, keys), np.where(costly, parts[1], parts[0]))
    session = mixed.session("3")
    while session.next_unit is not None:
        session.tell(table.loc[3, session.next_unit.name])
    assert session.answer == mixed.predict(table, keys)[3]
    assert mixed.score(table, y) == np.mean(mixed.predict(table) == y)
    answers = mixed.answers(table, keys)
    np.testing.assert_array_equal(answers.acquired, mixed.acquired(table, keys))
    assert model.at_budget(7).mixture_gain == model.estimator_.at_budget(7).mixture_gain > 0
    of_columns = model.at_budget(7).estimator_.mixture_gain_on(model.preprocessing_.transform(table), y)
    assert model.at_budget(7).mixture_gain_on(table, y) == of_columns
    assert "of the examples at" in repr(mixed)
    safe = model.at_safe_budget(18, table, bound="student")
    assert safe.cost(table).mean() <= 18
    assert model.at_safe_budget(18, table).estimator_.budget <= safe.estimator_.budget


def test_columns_that_are_never_wanted_may_be_absent(fitted) -> None:
    table, _ = clinic()
    free = fitted.at_budget(0)
    for part in (table[["age"]], pl.from_pandas(table[["lab", "age"]]), table.assign(id=1)):
        np.testing.assert_array_equal(free.predict(part), free.predict(table))
        np.testing.assert_array_equal(free.cost(part), np.zeros(len(table)))
    with pytest.raises(ValueError, match="X: expected the columns of training, got no 'ecg'"):
        fitted.predict(table.drop(columns="ecg"))


def test_absent_columns_of_words_may_begin_with_missing_cells() -> None:
    words = pd.Series(["st", "af"] * 30).mask(np.arange(60) < 9)
    table = pd.DataFrame({"age": np.arange(60), "ecg": words})
    encoder = make_column_transformer((OneHotEncoder(), ["ecg"]), remainder="passthrough")
    pruned = BudgetPrune(RandomForestClassifier(3, random_state=0), budget=0)
    model = BudgetedPipeline(encoder, pruned, feature_costs={"ecg": 12, "age": 0}).fit(table, table.age > 30)
    for copy in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(table[["age"]]), model.predict(table))


def test_answers_costs_and_purchases_come_from_one_pass(fitted) -> None:
    table, y = clinic()
    predicted, chances, paid, bought = fitted.answers(table)
    labels, costs = fitted.predict(table, return_cost=True)
    for found, expected in ((predicted, labels), (paid, costs), (paid, fitted.cost(table))):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(chances, fitted.predict_proba(table))
    np.testing.assert_array_equal(bought, fitted.acquired(table))
    judged = BudgetPrune(
        forest(), budget=9, class_costs={"ill": {"healthy": 40}, "healthy": {"ill": 7}}, random_state=0
    )
    model = BudgetedPipeline(encoder(), judged, feature_costs=PRICES).fit(table, y)
    answers = model.predict(table)
    lost = 40 * ((y == "ill") & (answers == "healthy")) + 7 * ((y == "healthy") & (answers == "ill"))
    assert model.misclassification_cost(table, y) == pytest.approx(lost.mean())
    assert model.total_cost(table, y) == pytest.approx(lost.mean() + model.cost(table).mean())


def test_columns_that_change_places_keep_their_prices() -> None:
    """Encoded columns come first, so that there may be as many columns as before, in another order."""
    table, y = clinic()
    places = make_column_transformer((OrdinalEncoder(), ["ecg", "sex"]), remainder="passthrough")
    buyer = BudgetPrune(forest(), budget=9, random_state=0, validation_fraction=None)
    model = BudgetedPipeline(places, buyer, feature_costs=PRICES).fit(table, y)
    assert 0 < model.cost(table).mean() <= 9
    answers = by_session(model, table)
    assert [answer for answer, _ in answers] == model.predict(table).tolist()
    assert [paid for _, paid in answers] == model.cost(table).tolist()
    for place, name in enumerate(table.columns):
        other = table.copy()
        other.loc[~model.acquired(table)[:, place], name] = table[name].iloc[0]
        np.testing.assert_array_equal(model.predict(other), model.predict(table))


@pytest.mark.parametrize("spelling", [str, lambda truth: str(truth).lower()])
def test_words_are_known_where_another_reader_makes_truth_values_and_numbers_of_them(spelling) -> None:
    """Commands read a file's cells as they are written; ``pandas.read_csv`` reads true as True and 20 as a number."""
    random = np.random.default_rng(0)
    smokes, code = random.random(160) < 0.5, random.choice([10, 20, 30], 160)
    y = smokes ^ (code == 20)
    words = pd.DataFrame({"smokes": [*map(spelling, smokes)], "code": [*map(str, code)], "age": random.random(160)})
    parts = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["smokes", "code"]), remainder="passthrough"
    )
    model = BudgetedPipeline(parts, BudgetPrune(forest(), budget=2, validation_fraction=None)).fit(words, y)
    np.testing.assert_array_equal(model.predict(words), y)
    read_otherwise = words.assign(smokes=smokes, code=code)
    unknown = words.assign(code="25")
    reader = Model(document_of(model))
    for table in (
        read_otherwise,
        read_otherwise.astype({"smokes": object, "code": float}),
        read_otherwise.astype({"smokes": "category", "code": "category"}),
        read_otherwise.convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas(read_otherwise),
    ):
        np.testing.assert_array_equal(model.predict(table), y)
        np.testing.assert_array_equal(model.cost(table), model.cost(words))
    told = read_otherwise.astype(object)
    assert [answer for answer, _ in by_session(model, told)] == y.tolist()
    assert reader.predict(told.to_dict("records")) == y.tolist()
    np.testing.assert_array_equal(model.predict(unknown.assign(code=25)), model.predict(unknown))


def test_a_frame_without_columns_of_words_stays_what_it_is() -> None:
    table = pl.DataFrame({"day": [datetime.date(2026, 1, 1 + day) for day in range(3)], "age": [1, 2, 3]})
    assert in_words(table, table.to_pandas()[:1], lambda: {"day": (), "age": ()}) is table
