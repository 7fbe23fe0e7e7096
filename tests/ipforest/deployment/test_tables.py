"""Pipelines as JSON: the reader takes a row of words by the names of its columns, and answers as the pipeline does."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import ipforest.deployment
from ipforest import BudgetedClassifier, BudgetedPipeline, BudgetPrune, EarlyExit
from ipforest.deployment.document import document_of
from ipforest.deployment.reader import Model
from ipforest.ensemble import write

SCHEMA = json.loads((Path(ipforest.deployment.__file__).parent / "schema.json").read_text())
PRICES = {"ecg": 12, "age": 0, "kind": 3, "lab": 5}


def table(n: int, seed: int) -> pd.DataFrame:
    """Draw words, clipped integers, categories that are numbers, and floats with gaps."""
    rng = np.random.default_rng(seed)
    lab = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) * 10.0 ** rng.integers(-3, 9, n))
    ecg = rng.choice(["st", "af", "normal"], n)
    return pd.DataFrame({"ecg": ecg, "age": rng.integers(0, 90, n), "kind": rng.choice([7, 2, 300], n), "lab": lab})


def fitted(estimator: Any, *parts: Any) -> BudgetedPipeline:
    frame = table(300, 0)
    y = np.where((frame.ecg == "st") ^ (frame.kind == 7) ^ (frame.lab > 0), "ill", "well")
    model = BudgetedPipeline(make_column_transformer(*parts, remainder="passthrough"), estimator, feature_costs=PRICES)
    return model.fit(frame, y)


FOREST = RandomForestClassifier(5, max_depth=5, random_state=0)
WORDS = (OneHotEncoder(handle_unknown="ignore"), ["ecg"])
NUMBERS = (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["kind"])
FILLED = (make_pipeline(SimpleImputer(strategy="median"), FunctionTransformer(feature_names_out="one-to-one")), ["lab"])


@pytest.mark.parametrize(
    "estimator", [BudgetPrune(FOREST, budget=11, random_state=0), EarlyExit(FOREST, budget=17, random_state=0)]
)
def test_the_reader_takes_rows_of_words(estimator: Any) -> None:
    model, others = fitted(estimator, WORDS, NUMBERS, FILLED), table(200, 1)
    others.loc[:9, "ecg"], others.loc[10:19, "kind"] = "other", 5
    document = json.loads(write(model, "json"))
    jsonschema.validate(document, SCHEMA)
    reader = Model(document)
    rows = others.rename(columns=str).to_dict("records")
    answers = [reader.predict_one(row.__getitem__) for row in rows]
    assert [answer.label for answer in answers] == model.predict(others).tolist() == reader.predict(rows)
    np.testing.assert_allclose([answer.paid for answer in answers], model.cost(others))
    np.testing.assert_allclose([answer.probabilities for answer in answers], model.predict_proba(others), atol=1e-12)
    columns = list(PRICES)
    bought = [[column in answer.bought for column in columns] for answer in answers]
    np.testing.assert_array_equal(bought, model.acquired(others))


@pytest.mark.slow
def test_words_that_are_handed_on_to_an_estimator_of_categories_are_read() -> None:
    frame, others = (table(n, seed).drop(columns="lab") for n, seed in ((300, 0), (200, 1)))
    others.loc[:9, "ecg"] = np.nan
    before = make_column_transformer(
        (SimpleImputer(), ["age"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    y = np.where((frame.ecg == "st") ^ (frame.kind == 7), "ill", "well")
    prices = {name: PRICES[name] for name in frame}
    model = BudgetedPipeline(before, BudgetedClassifier(budget=10, random_state=0), feature_costs=prices)
    model.fit(frame.astype({"ecg": "category"}), y)
    rows = others.to_dict("records")
    answers = [Model(document_of(model)).predict_one(row.__getitem__) for row in rows]
    typed = others.astype({"ecg": model._row.dtypes["ecg"]})
    assert [answer.label for answer in answers] == model.predict(typed).tolist()
    np.testing.assert_allclose([answer.paid for answer in answers], model.cost(typed))


def test_what_the_preparation_refuses_the_reader_refuses() -> None:
    model = fitted(BudgetPrune(FOREST, random_state=0), (OneHotEncoder(), ["ecg"]), NUMBERS, FILLED)
    reader, row = Model(json.loads(write(model, "json"))), table(1, 2).to_dict("records")[0]
    with pytest.raises(ValueError, match=r"ecg: expected \['af', 'normal', 'st'\], got 'other'"):
        reader.predict_one({**row, "ecg": "other"}.__getitem__)
    with pytest.raises(ValueError, match=r"age: expected a number, got 'young'"):
        reader.predict_one({**row, "age": "young"}.__getitem__)


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
def test_columns_that_the_preparation_drops_are_left_out(remainder: str) -> None:
    dropped = () if remainder == "drop" else (("drop", ["lab"]),)
    encoder = make_column_transformer(WORDS, ("passthrough", ["age"]), *dropped, remainder=remainder)
    X = table(200, 0)[["ecg", "age", "lab"]]
    model = BudgetedPipeline(encoder, BudgetPrune(FOREST, random_state=0)).fit(X, (X.ecg == "st") ^ (X.age > 50))
    reader = Model(json.loads(write(model, "json")))
    rows = X.drop(columns="lab").to_dict("records")
    assert [reader.predict_one(row.__getitem__).label for row in rows] == model.predict(X).tolist()


def test_formats_and_transformers_that_hold_no_words_are_named() -> None:
    model = fitted(BudgetPrune(FOREST, random_state=0), WORDS, NUMBERS, (StandardScaler(), ["lab"]))
    with pytest.raises(ValueError, match=r"preprocessing_: expected encoders of categories, .* got StandardScaler"):
        write(model, "json")
    marked = fitted(BudgetPrune(FOREST, random_state=0), WORDS, NUMBERS, (SimpleImputer(add_indicator=True), ["lab"]))
    with pytest.raises(ValueError, match=r"without indicators and .* got SimpleImputer\(add_indicator=True\); write"):
        write(marked, "json")
    for target in ("c", "onnx"):
        with pytest.raises(ValueError, match=r"the preparation of columns \(preprocessing_\), which (C|ONNX) does not"):
            write(model, target)
    for target in ("sklearn", "lightgbm"):
        with pytest.raises(ValueError, match=r"whose trees alone decide, got one with the preparation"):
            write(model, target)
    assert "model_predict" in write(EarlyExit(FOREST, random_state=0).fit([[0.0], [1.0]] * 30, [0, 1] * 30), "c")


def test_a_pipeline_says_what_it_comes_to() -> None:
    model = fitted(BudgetPrune(FOREST, budget=11, random_state=0), WORDS, NUMBERS, FILLED)
    frame = table(50, 3)
    said = model.summary(frame, model.predict(frame))
    assert "on 50 examples:" in said
    assert re.search(r"buys most: (ecg|lab|kind|age) \(\d+%\)", said)


def test_of_a_column_of_dtype_category_no_other_category_is_taken() -> None:
    frame = table(300, 0).astype({"ecg": "category"})
    encoder = make_column_transformer(WORDS, remainder="passthrough")
    model = BudgetedPipeline(encoder, BudgetPrune(FOREST, budget=12, random_state=0)).fit(
        frame.drop(columns=["kind", "lab"]), frame.ecg == "st"
    )
    reader = Model(json.loads(write(model, "json")))
    assert reader.predict([{"ecg": "st", "age": 3}, {"ecg": "af", "age": 3}]) == [True, False]
    with pytest.raises(ValueError, match=r"ecg: expected \['af', 'normal', 'st'\], got 'other'"):
        reader.predict_one({"ecg": "other", "age": 3}.__getitem__)
