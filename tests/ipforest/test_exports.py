"""What leaves a model for another library: trees where these alone decide, or a refusal of what would be lost."""

import json
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetForest,
    BudgetForestRegressor,
    BudgetPrune,
    EarlyExit,
    ForestSearch,
    NestedCascade,
    PruningSettings,
)
from ipforest.deployment.reader import Model
from ipforest.ensemble import write
from ipforest.learners import BudgetRF, GreedyMiser
from ipforest.stopping.threshold_stopping import ThresholdStopping

X, Y = load_breast_cancer(return_X_y=True)
FOREST = RandomForestClassifier(6, max_depth=4, random_state=0)


def boosted(**options: Any) -> BudgetBoost:
    return BudgetBoost(
        8,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=1, n_prunings=1),
        random_state=0,
        **options,
    )


REFUSED: dict[str, tuple[Any, str]] = {
    "class costs": (BudgetPrune(FOREST, class_costs=[[0, 1], [10, 0]]), "class_costs"),
    "a cap": (BudgetPrune(FOREST, max_cost=3), "max_cost=3"),
    "both": (BudgetPrune(FOREST, class_costs=[[0, 1], [10, 0]], max_cost=3), "class_costs and max_cost=3"),
    "a cap of a grown forest": (BudgetRF(4, max_cost=3, random_state=0), "max_cost=3"),
    "pooled counts": (BudgetRF(4, voting="pooled", random_state=0), "pooled counts"),
    "stopping": (EarlyExit(FOREST, budget=3, stopping=ThresholdStopping()), "a rule that stops buying"),
    "stopping of boosted trees": (boosted(budget=1), "a rule that stops buying"),
    "stages": (NestedCascade(FOREST, random_state=0), "stages of models"),
    "scores": (GreedyMiser(6, random_state=0), "a sum of scores"),
}


NOT_AS_C = ("pooled counts",)


@pytest.mark.parametrize("name", list(REFUSED))
def test_decisions_that_trees_do_not_hold_are_not_dropped(name: str) -> None:
    model, part = REFUSED[name]
    model.fit(X[::2], Y[::2])
    exports = [lambda: write(model, "lightgbm"), lambda: write(model, "sklearn")]
    for export in [*exports, *([model.to_sklearn] if hasattr(model, "to_sklearn") else [])]:
        with pytest.raises(ValueError, match=rf"expected a model whose trees alone decide, got one with {part}, which"):
            export()
    if part not in NOT_AS_C:
        assert "stop" in write(model, "c")
    else:
        with pytest.raises(ValueError, match=rf"expected .*, got one that decides by {part}"):
            write(model, "c")


@pytest.mark.parametrize(
    "model",
    [
        EarlyExit(FOREST, class_costs=[[0, 1], [10, 0]], random_state=0),
        NestedCascade(FOREST, class_costs=[[0, 1], [10, 0]], random_state=0),
        boosted(class_costs=[[0, 1], [10, 0]]).set_params(search__stopping=()),
        BudgetRF(3, class_costs=[[0, 1], [10, 0]], random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_no_export_drops_class_costs(model: Any) -> None:
    model.fit(X[::2], Y[::2])
    for form in ("lightgbm", "sklearn"):
        with pytest.raises(ValueError, match=r"expected a model .*, got one with .*class_costs"):
            write(model, form)
    document = json.loads(write(model, "json"))
    assert document["class_costs"] == [[0, 1], [10, 0]]
    assert Model(document).predict(X[1:40:2]) == model.predict(X[1:40:2]).tolist()
    assert "has_class_costs = 1" in write(model, "c")


def test_regressors_are_exported_with_the_rule_that_stops_them_or_as_trees_alone() -> None:
    forest = BudgetForestRegressor(
        4, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0, nested=False), random_state=0
    )
    target = X[:, 0] - X[:, 1]
    stops = forest.set_params(search__stopping=None, budget=2).fit(X[::2], target[::2])
    found = [Model(json.loads(write(stops, "json"))).predict_one(row.__getitem__) for row in X[1:40:2]]
    np.testing.assert_allclose([answer.label for answer in found], stops.predict(X[1:40:2]))
    np.testing.assert_allclose([answer.paid for answer in found], stops.cost(X[1:40:2]))
    alone = forest.set_params(search__stopping=()).fit(X[::2], target[::2])
    np.testing.assert_allclose(write(alone, "sklearn").predict(X), alone.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        BudgetPrune(FOREST, budget=5, random_state=0),
        BudgetPrune(FOREST, budget=5, pruning=PruningSettings(refit=True), random_state=0),
        BudgetRF(6, random_state=0),
        BudgetRF(6, voting="hard", random_state=0),
        BudgetForest(
            4, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0, nested=False, stopping=()), random_state=0
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_that_decide_alone_predict_the_same_elsewhere(model: Any) -> None:
    model.fit(X[::2], Y[::2])
    exported = write(model, "sklearn")
    np.testing.assert_array_equal(exported.predict(X), model.predict(X))
    np.testing.assert_allclose(exported.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert "double" in write(model, "c")


def test_boosted_trees_without_stopping_are_written() -> None:
    model = boosted(budget=5).set_params(search__stopping=()).fit(X[::2], Y[::2])
    np.testing.assert_allclose(model.to_trees().predict_proba(X), model.predict_proba(X))
    assert "double" in write(model, "c")


def test_what_is_not_fitted_is_not_written() -> None:
    with pytest.raises(NotFittedError):
        write(BudgetPrune(FOREST), "c")
