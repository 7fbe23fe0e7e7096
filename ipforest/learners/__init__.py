"""Learners of one model for a budget: pruned forests, BudgetRF, GreedyMiser, trees to read, and the baselines."""

from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budget_rf import BudgetRF, GreedyGrowth
from ipforest.learners.forest_pruner import PruningSettings
from ipforest.learners.greedy_miser import GreedyMiser, GreedyMiserRegressor
from ipforest.learners.priced_booster import PricedGrowth
from ipforest.learners.pruning_baselines import CostComplexity, EarlyStopping, GreedyPrune, IndividualPruning
from ipforest.learners.readable_tree import ReadableTree

__all__ = [
    "BudgetPrune",
    "BudgetRF",
    "CostComplexity",
    "EarlyStopping",
    "GreedyGrowth",
    "GreedyMiser",
    "GreedyMiserRegressor",
    "GreedyPrune",
    "IndividualPruning",
    "PricedGrowth",
    "PruningSettings",
    "ReadableTree",
]
