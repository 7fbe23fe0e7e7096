"""Estimators that make many models, measure them on validation data and choose one for a budget."""

from ipforest.frontiers.averaged_trees import AveragedTrees, AveragedTreesRegressor
from ipforest.frontiers.budget_boost import BoostGrowth, BoostSearch, BudgetBoost, BudgetBoostRegressor
from ipforest.frontiers.budget_forest import BudgetForest, BudgetForestRegressor, ForestGrowth, ForestSearch
from ipforest.frontiers.budget_linear import BudgetLinear, BudgetLinearRegressor
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier, BudgetedRegressor, RunSettings

__all__ = [
    "AveragedTrees",
    "AveragedTreesRegressor",
    "BoostGrowth",
    "BoostSearch",
    "BudgetBoost",
    "BudgetBoostRegressor",
    "BudgetForest",
    "BudgetForestRegressor",
    "BudgetLinear",
    "BudgetLinearRegressor",
    "BudgetedClassifier",
    "BudgetedRegressor",
    "ForestGrowth",
    "ForestSearch",
    "RunSettings",
]
