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
`ipforest.reporting`         one page about a model; cross-validation at several budgets
`ipforest.plotting`          error against cost, and trees, drawn
`ipforest.datasets`          data sets with prices
`formulations`               the integer programs as Pyomo models and as plain arrays, and your own
`proofs`                     certificates, counterexamples, and what checks them
===========================  =========================================================================================
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all else here

__version__ = "0.2.0"

if TYPE_CHECKING:
    from ipforest._public import *  # noqa: F403  # type checkers are to see what `__getattr__` gives
    from ipforest._public import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        """Import all public names when one is first asked for; importing a part of the package loads that part alone.

        The command line, which is such a part, answers at once, and says so if it is interrupted while it loads more.
        """
        public = import_module("ipforest._public")
        globals().update({each: getattr(public, each) for each in public.__all__}, __all__=public.__all__)
        if name not in globals():
            raise AttributeError(f"module 'ipforest' has no attribute {name!r}")
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module("ipforest._public").__all__})
