"""Warnings about a call point to the line that made it, not to one of ours or of scikit-learn."""

import warnings

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from ipforest import BudgetedPipeline, BudgetForest, BudgetPrune, EarlyExit, ForestSearch

X, Y = make_classification(120, 6, random_state=0)
FOREST = RandomForestClassifier(4, max_depth=3, random_state=0)
PRICES = [5, 5, 5, 5, 5, 5]
SMALL = ForestSearch(n_lambdas=2, n_prunings=2)
POOR = BudgetPrune(FOREST, feature_costs=PRICES, budget=0.5, random_state=0)

CALLS = {
    "fit": lambda: POOR.fit(X, Y),
    "fit with a frontier": lambda: BudgetForest(4, search=SMALL, feature_costs=PRICES, budget=0.5, random_state=0).fit(
        X, Y
    ),
    "fit of what stops": lambda: EarlyExit(FOREST, feature_costs=PRICES, budget=0.5, random_state=0).fit(X, Y),
    "another budget": lambda: (
        BudgetForest(4, search=SMALL, feature_costs=PRICES, random_state=0).fit(X, Y).at_budget(0.5)
    ),
    "a pipeline": lambda: BudgetedPipeline(
        StandardScaler(), BudgetPrune(FOREST, budget=0.5, random_state=0), feature_costs=PRICES
    ).fit(X, Y),
    "a search of scikit-learn": lambda: GridSearchCV(
        BudgetPrune(FOREST, feature_costs=PRICES, random_state=0), {"budget": [0.5]}, cv=2
    ).fit(X, Y),
    "prices of no column": lambda: BudgetPrune(FOREST, feature_costs=dict.fromkeys("abcdefg", 5), random_state=0).fit(
        pd.DataFrame(X, columns=[*"abcdef"]), Y
    ),
    "targets that vary too little": lambda: BudgetPrune(
        RandomForestRegressor(4, max_depth=2, random_state=0), feature_costs=PRICES, random_state=0
    ).fit(X, X[:, 0] * 1e-9),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_to_the_line_that_called(name: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CALLS[name]()
    assert {warning.filename for warning in told} == {__file__}
