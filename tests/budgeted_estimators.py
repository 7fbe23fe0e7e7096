"""Every estimator that pays for features, made ready to fit: what all of them promise is tested on all of them."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from ipforest import BudgetPrune, FeatureCosts

Make = Callable[[FeatureCosts], Any]

CLASSIFIERS: dict[str, Make] = {
    "BudgetPrune": lambda costs: BudgetPrune(
        RandomForestClassifier(8, max_depth=6, random_state=0), feature_costs=costs, random_state=0
    ),
    "BudgetPrune at a lambda": lambda costs: BudgetPrune(
        RandomForestClassifier(8, max_depth=6, random_state=0), feature_costs=costs, lam="1/2000", random_state=0
    ),
    "BudgetPrune of a tree": lambda costs: BudgetPrune(
        DecisionTreeClassifier(max_depth=6, random_state=0), feature_costs=costs, random_state=0
    ),
    "BudgetPrune with a split cost": lambda costs: BudgetPrune(
        RandomForestClassifier(5, max_depth=4, random_state=0), feature_costs=costs, split_cost="1/8", random_state=0
    ),
    "BudgetPrune with a cap": lambda costs: BudgetPrune(
        RandomForestClassifier(8, max_depth=6, random_state=0),
        feature_costs=costs,
        max_cost=sum(costs.unit_costs) / 3,
        random_state=0,
    ),
}
REGRESSORS: dict[str, Make] = {
    "BudgetPrune": lambda costs: BudgetPrune(
        RandomForestRegressor(6, max_depth=5, random_state=0), feature_costs=costs, random_state=0
    ),
}
