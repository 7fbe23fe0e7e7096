"""Estimators around a fitted model of another library take the frame of words that it was trained on."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetedClassifier, BudgetPrune, EarlyExit
from ipforest.adaptive import AdaptGbrt

lightgbm = pytest.importorskip("lightgbm")

PRICES = {"word": 3, "number": 2, "a": 1}
WORDS = ["middle", "low", "high"]


def frame_of_words(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    words = pd.Categorical(rng.choice(WORDS, 200), categories=WORDS)
    frame = pd.DataFrame({"a": rng.random(200), "word": words, "number": pd.Categorical(rng.integers(1, 5, 200))})
    frame.loc[::9, "word"] = np.nan
    return frame


@cache
def trained() -> tuple[Any, Any, Any]:
    X = frame_of_words(0)
    y = ((X["word"] == "high") | (X["number"].astype(int) == 3) & (X["a"] > 0.5)).to_numpy().astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=8, min_child_samples=5, verbose=-1, n_jobs=1, random_state=0)
    return model.fit(X, y), X, y


AROUND = {
    "BudgetPrune": lambda model: BudgetPrune(model, feature_costs=PRICES),
    "EarlyExit": lambda model: EarlyExit(FrozenEstimator(model), feature_costs=PRICES, random_state=0),
    "BudgetedClassifier": lambda model: BudgetedClassifier(
        [FrozenEstimator(model)], feature_costs=PRICES, random_state=0
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_fitted_model_answers_and_sells_in_words(name: str) -> None:
    booster, X, y = trained()
    model = AROUND[name](booster).fit(X, y)
    others = frame_of_words(1)
    unseen = others.assign(word=others["word"].cat.add_categories("none of them"))
    unseen.loc[::5, "word"] = "none of them"
    for examples in (others, unseen):
        assert np.mean(model.predict(examples) == booster.predict(examples)) > 0.97
    costs, answers = model.cost(others), model.predict(others)
    for row in range(8):
        session = model.session()
        while session.next_unit is not None:
            session.tell(others.astype(object).iloc[row, session.next_unit.features[0]])
        assert (session.answer, session.paid) == (answers[row], costs[row])
    assert 0 < costs.mean() < 6
    if name != "BudgetedClassifier":  # which learns from the frame what its numbers stand for
        codes = X.assign(word=X["word"].cat.codes).astype(float)
        with pytest.raises(ValueError, match=r"X: expected a data frame as in training"):
            AROUND[name](booster).set_params(feature_costs=None).fit(codes.to_numpy(), y)


@pytest.mark.long
@pytest.mark.slow
def test_gates_before_a_fitted_model_take_its_words() -> None:
    booster, X, y = trained()
    model = AdaptGbrt(booster, feature_costs=PRICES, random_state=0).fit(X, y)
    assert np.mean(model.predict(X) == booster.predict(X)) > 0.9


def test_a_model_that_is_trained_inside_learns_from_words() -> None:
    booster, X, y = trained()
    inside = EarlyExit(lightgbm.LGBMClassifier(**booster.get_params()), feature_costs=PRICES, random_state=0).fit(X, y)
    others = frame_of_words(1)
    assert inside.categories_.names == {1: tuple(WORDS), 2: (1, 2, 3, 4)}
    assert np.mean(inside.predict(others) == inside.estimator_.predict(others)) > 0.97


@pytest.mark.parametrize("kind", ["objects", "Arrow"])
def test_a_model_that_is_trained_inside_knows_every_kind_of_column(kind: str) -> None:
    """LightGBM and XGBoost refused numbers that are objects, and Arrow's dictionaries, in their own words."""
    booster, X, y = trained()
    model = EarlyExit(lightgbm.LGBMClassifier(**booster.get_params()), random_state=0)
    expected = clone(model).fit(X, y).predict_proba(X)
    if kind == "Arrow":
        pyarrow = pytest.importorskip("pyarrow")
        X = pyarrow.Table.from_pandas(X).to_pandas(types_mapper=pd.ArrowDtype)
    else:
        X = X.assign(a=X["a"].astype(object))
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), expected, rtol=1e-12)


def test_objects_that_a_model_inside_takes_for_categories_stay() -> None:
    _, X, y = trained()
    numbers = (10 * X["number"].astype(int)).astype(str).astype(object)
    X = X.assign(word=X["word"].astype(object), number=numbers)
    inside = HistGradientBoostingClassifier(max_iter=8, categorical_features=["word", "number"])
    assert EarlyExit(inside, random_state=0).fit(X, y).score(X, y) > 0.9
