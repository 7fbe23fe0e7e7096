"""Held-out examples that a pipeline did not transform are refused by every estimator; random parts never are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ipforest import BranchingCascade, BudgetBoost, BudgetedClassifier, BudgetForest, BudgetPrune, EarlyExit
from ipforest.adaptive import AdaptLin, GateSearch, L1Baseline, PairSearch
from ipforest.estimator.held_out import check_alike
from ipforest.learners import BudgetRF, CostComplexity, GreedyGrowth, GreedyMiser

X, Y = load_breast_cancer(return_X_y=True)
FOREST = RandomForestClassifier(4, max_depth=4, random_state=0)
TAKING_X_VAL: dict[str, Any] = {
    "BudgetBoost": BudgetBoost(4, budget=4),
    "BudgetForest": BudgetForest(4, budget=4),
    "BudgetedClassifier": BudgetedClassifier(budget=4),
    "BudgetRF": BudgetRF(4, budget=4),
    "GreedyMiser": GreedyMiser(4),
    "EarlyExit": EarlyExit(FOREST, budget=4),
    "EarlyExit of a fitted forest": EarlyExit(FOREST.__class__(4).fit(StandardScaler().fit_transform(X), Y)),
    "BranchingCascade": BranchingCascade(FOREST, budget=4),
    "AdaptLin": AdaptLin(FOREST, search=GateSearch(shares=[0.6], lambdas=[0.01])),
    "L1Baseline": L1Baseline(FOREST, search=PairSearch(shares=[0.6], lambdas=[0.01])),
}


@pytest.mark.parametrize("name", list(TAKING_X_VAL))
def test_validation_examples_that_were_not_transformed_are_refused(name: str) -> None:
    model = make_pipeline(StandardScaler(), TAKING_X_VAL[name])
    step = model.steps[-1][0]
    with pytest.raises(ValueError, match=r"^X_val: expected .* Pipeline\(transform_input=\['X_val'\]\)"):
        model.fit(X[:300], Y[:300], **{f"{step}__X_val": X[300:450], f"{step}__y_val": Y[300:450]})


def test_the_cure_in_the_message_works() -> None:
    with config_context(enable_metadata_routing=True):
        routed = BudgetRF(4, budget=4, growth=GreedyGrowth(cuts="random"), random_state=0).set_fit_request(
            X_val=True, y_val=True
        )
        model = Pipeline([("scale", StandardScaler()), ("trees", routed)], transform_input=["X_val"])
        model.fit(X[:300], Y[:300], X_val=X[300:450], y_val=Y[300:450])
    assert model.score(X[450:], Y[450:]) > 0.8


@pytest.mark.parametrize("pruner", [BudgetPrune, CostComplexity])
def test_cost_examples_are_compared_with_those_of_a_fitted_forest(pruner: Any) -> None:
    scaled = StandardScaler().fit_transform(X)
    forest = RandomForestClassifier(4, random_state=0).fit(scaled, Y)
    for labels in (None, Y[:300]):
        with pytest.raises(ValueError, match=r"^X_cost: expected examples like those of X"):
            pruner(forest).fit(scaled[:300], labels, X_cost=X[300:])
        pruner(forest).fit(scaled[:300], labels, X_cost=scaled[300:])


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_scaled_examples_are_told_from_others(load: Any, scaler: Any) -> None:
    table, _ = load(return_X_y=True)
    table = np.random.default_rng(0).permutation(table)
    n = len(table) * 2 // 3
    training = scaler.fit_transform(table[:n])
    check_alike(scaler.transform(table[n:]), training, "X_val")
    with pytest.raises(ValueError, match="X_val: expected examples like those of X"):
        check_alike(table[n:], training, "X_val")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 60), st.integers(1, 40))
def test_random_parts_of_one_table_are_never_refused(seed: int, n_training: int, n_held_out: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    shape = n_training + n_held_out, width
    kinds = [
        rng.standard_cauchy(shape),
        rng.normal(1e6, 1e-3, shape),
        rng.integers(0, 3, shape),
        np.full(shape, 0.1),
        np.clip(rng.normal(size=shape), None, 0),
        (rng.random(shape) < 0.02).astype(float),
        np.where(rng.random(shape) < 0.9, np.nan, rng.random(shape)),
        np.full(shape, np.nan),
        np.exp(20 * rng.normal(size=shape)),
    ]
    table = np.choose(rng.integers(0, len(kinds), width), kinds) if seed % 2 else kinds[seed // 2 % len(kinds)]
    held_out, training = table[:n_held_out], table[n_held_out:]
    check_alike(held_out, training, "X_val")
    if np.abs(np.nan_to_num(table)).max() < 1e30:
        check_alike(held_out, training.astype(np.float32), "X_val")


def test_later_examples_may_lie_beyond_those_of_training() -> None:
    days = np.arange(1000.0)[:, None]
    check_alike(days[750:], days[:750], "X_val")
