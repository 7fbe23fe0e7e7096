"""Learners: scikit-learn estimators that train trees and pay for features."""

from ipforest.learners.averaged_trees import AveragedTrees
from ipforest.learners.budget_boost import BudgetBoost
from ipforest.learners.budget_forest import BudgetForest
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budget_rf import BudgetRF
from ipforest.learners.budgeted_classifier import BudgetedClassifier
from ipforest.learners.greedy_miser import GreedyMiser, GreedyMiserRegressor
from ipforest.learners.pruning_baselines import CostComplexity, EarlyStopping, GreedyPrune, IndividualPruning

__all__ = [
    "AveragedTrees",
    "BudgetBoost",
    "BudgetForest",
    "BudgetPrune",
    "BudgetRF",
    "BudgetedClassifier",
    "CostComplexity",
    "EarlyStopping",
    "GreedyMiser",
    "GreedyMiserRegressor",
    "GreedyPrune",
    "IndividualPruning",
]
