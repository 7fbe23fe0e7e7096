"""Prune tree ensembles to a feature budget, provably optimally.

Here stand the problem (`Forest`, `FeatureCosts`, `PruningInstance`), what solves it (`solve`, `prune_path`,
`solve_budget`), their answers, and the estimators to begin with: `BudgetPrune` prunes a random forest,
`BudgetedClassifier` trains what errs least within a budget. The rest is in

==================  ==================================================================================================
`ipforest.learners` all estimators of trees: beside those here `BudgetRF`, `GreedyMiser` and the pruning baselines
`ipforest.cascades` early exit, nested and branching cascades, CSTC and its relatives
`ipforest.adaptive` a gate between a cheap model and an accurate one
`ipforest.ensemble` `read`: trees of scikit-learn, LightGBM, XGBoost and CatBoost as arrays; `write`: as models again
`ipforest.session`  features bought one at a time
`ipforest.plotting` error against cost, and trees, drawn
`ipforest.datasets` data sets with prices
`formulations`      the integer programs as Pyomo models and as plain arrays
`proofs`            certificates, counterexamples, and what checks them
==================  ==================================================================================================
"""

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
from ipforest.solvers import MissingSolverError, available_solvers, register_solver, solve, solve_budget

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
    "register_solver",
    "solve",
    "solve_budget",
]
