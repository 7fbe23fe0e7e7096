"""Prune tree ensembles to a feature budget, provably optimally.

Here are the problem (`Forest`, `FeatureCosts`, `PruningInstance`), what solves it (`solve`, `prune_path`,
`solve_budget`), the results, and the estimators to begin with: `BudgetPrune` prunes a random forest,
`BudgetedClassifier` and `BudgetedRegressor` train the most accurate model within a budget, `BudgetedPipeline` encodes a
table before them. The rest is in

===========================  =========================================================================================
`ipforest.learners`          pruned forests, `BudgetRF`, `GreedyMiser` and the pruning baselines
`ipforest.frontiers`         estimators that choose among many models: `BudgetForest`, `BudgetBoost`
`ipforest.stopping`          stopping when sure: early exit, nested and branching cascades, stopping rules
`ipforest.classifier_trees`  CSTC and its relatives
`ipforest.adaptive`          a gate between a cheap model and an accurate one
`ipforest.ensemble`          `read`: trees of scikit-learn, LightGBM, XGBoost, CatBoost as arrays; `write`: models again
`ipforest.solvers`           the solvers by name, and `register_solver`
`ipforest.session`           features bought one at a time
`ipforest.rules`             what a fitted model orders and answers, as rules that a person can read
`ipforest.plotting`          error against cost, and trees, drawn
`ipforest.datasets`          data sets with prices
`formulations`               the integer programs as Pyomo models and as plain arrays, and your own
`proofs`                     certificates, counterexamples, and what checks them
===========================  =========================================================================================
"""

from ipforest import datasets
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.budget_boost import BoostGrowth, BoostSearch, BudgetBoost, BudgetBoostRegressor
from ipforest.frontiers.budget_forest import BudgetForest, BudgetForestRegressor, ForestGrowth, ForestSearch
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

__version__ = "0.2.0"

__all__ = [
    "BoostGrowth",
    "BoostSearch",
    "BranchingCascade",
    "BranchingStages",
    "BudgetBoost",
    "BudgetBoostRegressor",
    "BudgetForest",
    "BudgetForestRegressor",
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
