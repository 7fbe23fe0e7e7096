"""What a fitted model says of itself: what was chosen, from what, for which budget, and what that comes to."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetPrune, EarlyExit, FeatureCosts, NestedCascade, NestedStages, PruningSettings
from ipforest._internal.feature_names import some_names
from ipforest._internal.words import as_given
from ipforest.adaptive import AdaptLin, GateSearch
from ipforest.choosing.frontier import Frontier
from ipforest.rules import read_rules
from ipforest.wrappers.calibration import CalibratedClassifier

X, Y = load_breast_cancer(return_X_y=True)
FOREST = RandomForestClassifier(6, max_depth=4, random_state=0)
NUMBER = r"[\d.e-]+"
EXAMPLES = rf"  on 143 examples {{}}:\n    error {NUMBER} \({NUMBER} to {NUMBER}\)\n    cost {NUMBER} \(.*\)"
BOUGHT = r"  buys most: feature \d+ \(\d+%\)"

SAID: dict[str, tuple[Any, str]] = {
    "pruned": (BudgetPrune(FOREST, budget=4, random_state=0), r"  takes \d averaged trees with \d+ of \d+ tests"),
    "stopped": (
        EarlyExit(FOREST, budget=3, random_state=0),
        r"  takes 6 averaged trees, (never stopped|stopped by (ThresholdStopping|OptimalStopping))",
    ),
    "stages": (
        NestedCascade(FOREST, stages=NestedStages(sizes=[2, 4]), budget=4, random_state=0),
        r"  takes a cascade of 2 stages, .*stopped.*",
    ),
}
OWN = {"pruned": "held out of training"}
"""What summaries call the examples that a model keeps, where it was not chosen on them."""


SHOWN = CLASSIFIERS | {f"{name} of a target": make for name, make in REGRESSORS.items()}


@pytest.mark.parametrize("name", list(SHOWN))
def test_a_notebook_shows_and_completes_what_is_not_fitted(name: str) -> None:
    """scikit-learn 1.9 asks for every attribute, and takes an AttributeError for an answer."""
    model = SHOWN[name](FeatureCosts([1, 2]))
    assert "fit" in dir(model)
    assert type(model).__name__ in model._repr_html_()


@pytest.mark.parametrize("name", list(SAID))
def test_a_model_says_what_was_chosen_from_what_and_what_it_comes_to(name: str) -> None:
    model, taken = SAID[name]
    model.fit(X, Y)
    assert type(model).__name__ in model._repr_html_()
    assert {"predict_log_proba", "session"} <= {*dir(model)}
    kind = rf"{type(model).__name__}, budget {model.budget}"
    choices = rf"  of \d+ choices at costs from {NUMBER} to {NUMBER}"
    examples = EXAMPLES.replace("{}", OWN.get(name, "on which it was chosen"))
    assert re.match("\n".join((kind, taken, choices, examples, BOUGHT)), str(model))
    if name == "stages":
        assert model.session().reason.startswith("stage 1 of 2 sees it")
    cheaper = model.at_budget(model.budget / 2)
    assert f"budget {as_given(cheaper.budget)}" in cheaper.summary(X[:100], Y[:100], n_units=1)
    assert "on 100 examples:" in cheaper.summary(X[:100], Y[:100], n_units=1)
    assert cheaper.measured(X[:100], Y[:100]).n_wrong == (cheaper.predict(X[:100]) != Y[:100]).sum()
    assert cheaper.measured(X[:100], Y[:100]).cost == pytest.approx(cheaper.cost(X[:100]).mean())


def test_a_gate_says_what_decides() -> None:
    model = AdaptLin(FOREST, search=GateSearch(shares=[0.3], lambdas=2), budget=3, random_state=0).fit(X[::2], Y[::2])
    assert "  takes a gate between two models\n  of " in str(model)


def test_what_was_fitted_before_says_what_it_comes_to_where_targets_are_given() -> None:
    fitted = clone(FOREST).fit(X[::2], Y[::2])
    told = BudgetPrune(fitted, budget=4).fit(X[1::2], Y[1::2])
    assert told.measured().n_wrong == (told.predict(X[1::2]) != Y[1::2]).sum()
    assert EarlyExit(FrozenEstimator(fitted), budget=4).fit(X[1::2], Y[1::2]).measured().n_samples == len(X[1::2])
    for silent in (
        BudgetPrune(fitted, budget=4).fit(X[1::2]),
        BudgetPrune(FOREST, budget=4, validation_fraction=None, random_state=0).fit(X, Y),
        BudgetPrune(FOREST, budget=4, random_state=0).fit(X, Y, X_cost=X[:50]),
    ):
        assert str(silent) == repr(silent)
        with pytest.raises(ValueError, match="X: expected examples, as the model keeps none that were held out"):
            silent.summary()
        assert "on 100 examples:" in silent.summary(X[:100], Y[:100])


def test_a_regressor_says_its_squared_error_of_at_most_two_thousand_examples() -> None:
    data, target = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(target), 5000)
    model = BudgetPrune(RandomForestRegressor(3, max_depth=3, random_state=0), budget=3, validation_fraction=0.5)
    model.set_params(random_state=0).fit(data[rows], target[rows])
    judged = clone(model).set_params(pruning=PruningSettings(errors="held-out")).fit(data[rows], target[rows])
    assert "on 2000 examples on which it was chosen:" in str(judged)
    assert re.search(r"on 2000 examples held out of training:\n    mean squared error .* R\^2 0\.\d+", str(model))


@pytest.mark.parametrize(
    "model",
    [
        BudgetPrune(FOREST, budget=2, random_state=0),
        EarlyExit(FOREST, budget=2, random_state=0),
        CalibratedClassifier(BudgetPrune(FOREST, budget=2, random_state=0), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learn_selects_features_by_the_share_of_tests(model: Any) -> None:
    few = X[:, :6]
    fitted = clone(model).fit(few, Y)
    seen = fitted._validation[0]
    tests = fitted.feature_usage(seen).mean(axis=0)
    np.testing.assert_allclose(fitted.feature_importances_, tests / tests.sum(), atol=1e-12)
    best = np.argsort(-tests, kind="stable")[:2]
    chosen = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(few, Y).get_support(indices=True)
    assert {*chosen} == {*best}
    assert RFE(model, n_features_to_select=2, step=2).fit(few, Y).n_features_ == 2


def test_what_keeps_no_examples_has_no_importances() -> None:
    fitted = BudgetPrune(clone(FOREST).fit(X, Y), budget=4).fit(X)
    with pytest.raises(AttributeError, match="keeps held-out examples, got BudgetPrune fitted without; measured"):
        _ = fitted.feature_importances_
    assert BudgetPrune(clone(FOREST).fit(X, Y), budget=4).fit(X, Y).feature_importances_.sum() == pytest.approx(1)
    assert not hasattr(BudgetPrune(FOREST), "feature_importances_")


def test_budgets_are_told_in_decimals() -> None:
    model = BudgetPrune(FOREST, budget=Fraction(1121, 200), random_state=0).fit(X, Y)
    assert str(model).startswith("BudgetPrune, budget 5.605\n")
    frontier = Frontier(np.array([1.0]), np.array([0.1]))
    with pytest.raises(ValueError, match=r"^budget: expected at least 1, the cost of the cheapest model, got 0\.125$"):
        frontier.within(Fraction(1, 8))


def test_headings_with_line_breaks_are_told_in_one_line() -> None:
    """Spreadsheets break the headings of narrow columns; summaries, notes and rules were broken there, too."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["mean\nradius", "area\r\nin mm"])
    y = X.iloc[:, 0] + X.iloc[:, 1] > 0
    model = BudgetPrune(RandomForestClassifier(5, random_state=0), random_state=0).fit(X, y)
    assert "buys most: mean radius (100%), area in mm (100%)" in model.summary()
    bullets = [line for line in read_rules(model, X, y).to_markdown().splitlines() if "radius" in line]
    assert bullets
    assert all("mean radius" in line for line in bullets)
    assert some_names([*X.columns]) == "mean radius, area in mm"
