"""The public names of the package, gathered; `ipforest` imports this when one of them is first asked for."""

from ipforest import datasets
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.budget_boost import BoostGrowth, BoostSearch, BudgetBoost, BudgetBoostRegressor
from ipforest.frontiers.budget_forest import BudgetForest, BudgetForestRegressor, ForestGrowth, ForestSearch
from ipforest.frontiers.budget_linear import BudgetLinear, BudgetLinearRegressor
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier, BudgetedRegressor, RunSettings
from ipforest.instance import PruningInstance
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.forest_pruner import PruningSettings
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.reporting import report
from ipforest.reporting.cross_validation import cross_validated
from ipforest.results import BudgetResult, DualFlow, Pruning, PruningResult, Status
from ipforest.solvers import MissingSolverError, available_solvers, register_solver, solve, solve_budget
from ipforest.stopping.branching import BranchingCascade, BranchingStages
from ipforest.stopping.early_exit import EarlyExit
from ipforest.stopping.nested import NestedCascade, NestedStages
from ipforest.wrappers.pipeline import BudgetedPipeline

__all__ = [
    "BoostGrowth",
    "BoostSearch",
    "BranchingCascade",
    "BranchingStages",
    "BudgetBoost",
    "BudgetBoostRegressor",
    "BudgetForest",
    "BudgetForestRegressor",
    "BudgetLinear",
    "BudgetLinearRegressor",
    "BudgetPrune",
    "BudgetResult",
    "BudgetedClassifier",
    "BudgetedPipeline",
    "BudgetedRegressor",
    "DualFlow",
    "EarlyExit",
    "FeatureCosts",
    "Forest",
    "ForestGrowth",
    "ForestSearch",
    "MissingSolverError",
    "NestedCascade",
    "NestedStages",
    "Pruning",
    "PruningInstance",
    "PruningPath",
    "PruningResult",
    "PruningSettings",
    "RunSettings",
    "Status",
    "available_solvers",
    "cross_validated",
    "datasets",
    "prune_path",
    "register_solver",
    "report",
    "solve",
    "solve_budget",
]
