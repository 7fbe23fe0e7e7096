"""Classifiers that make many models, measure them on validation data and choose one for a budget."""

from ipforest.frontiers.averaged_trees import AveragedTrees
from ipforest.frontiers.budget_boost import BudgetBoost
from ipforest.frontiers.budget_forest import BudgetForest
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier

__all__ = ["AveragedTrees", "BudgetBoost", "BudgetForest", "BudgetedClassifier"]
