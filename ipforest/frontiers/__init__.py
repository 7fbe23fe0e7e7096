"""Estimators that make many models, measure them on validation data and choose one for a budget."""

from ipforest.frontiers.averaged_trees import AveragedTrees, AveragedTreesRegressor
from ipforest.frontiers.budget_boost import BudgetBoost, BudgetBoostRegressor
from ipforest.frontiers.budget_forest import BudgetForest, BudgetForestRegressor
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier, BudgetedRegressor

__all__ = [
    "AveragedTrees",
    "AveragedTreesRegressor",
    "BudgetBoost",
    "BudgetBoostRegressor",
    "BudgetForest",
    "BudgetForestRegressor",
    "BudgetedClassifier",
    "BudgetedRegressor",
]
