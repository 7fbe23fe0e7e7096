"""Prune tree ensembles to a feature budget, provably optimally."""

from ipforest import datasets
from ipforest.cascades.branching import BranchingCascade
from ipforest.cascades.early_exit import EarlyExit
from ipforest.cascades.nested import NestedCascade
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.learners.budget_boost import BudgetBoost
from ipforest.learners.budget_forest import BudgetForest
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budgeted_classifier import BudgetedClassifier
from ipforest.path import PruningPath, prune_path
from ipforest.results import BudgetResult, DualFlow, Pruning, PruningResult, Status
from ipforest.solvers import MissingSolverError, available_solvers, solve, solve_budget

__version__ = "0.1.0"

__all__ = [
    "BranchingCascade",
    "BudgetBoost",
    "BudgetForest",
    "BudgetPrune",
    "BudgetResult",
    "BudgetedClassifier",
    "DualFlow",
    "EarlyExit",
    "FeatureCosts",
    "Forest",
    "MissingSolverError",
    "NestedCascade",
    "Pruning",
    "PruningInstance",
    "PruningPath",
    "PruningResult",
    "Status",
    "available_solvers",
    "datasets",
    "prune_path",
    "solve",
    "solve_budget",
]
