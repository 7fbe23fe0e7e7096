"""Every estimator that pays for features, made ready to fit: what all of them promise is tested on all of them."""

from collections.abc import Callable
from typing import Any

from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BranchingCascade,
    BranchingStages,
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetedClassifier,
    BudgetedRegressor,
    BudgetForest,
    BudgetForestRegressor,
    BudgetLinear,
    BudgetLinearRegressor,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    ForestGrowth,
    ForestSearch,
    NestedCascade,
    NestedStages,
)
from ipforest.adaptive import AdaptGbrt, AdaptLin, AdaptLstsq, BoostedSearch, GateSearch, L1Baseline, PairSearch
from ipforest.adaptive.linear_pair import AlternationSettings
from ipforest.classifier_trees import (
    ASTC,
    CSCC,
    CSTC,
    AdaBoostRS,
    AndOrCascade,
    AndOrObjective,
    BoostingTrick,
    ChainObjective,
    TreeObjective,
)
from ipforest.classifier_trees.block_descent import DescentSettings
from ipforest.learners import BudgetRF, CostComplexity, GreedyGrowth, GreedyMiser, GreedyMiserRegressor, ReadableTree
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.threshold_stopping import ThresholdStopping

Make = Callable[[FeatureCosts], Any]

SMALL: dict[str, Any] = {"shares": [0.6], "lambdas": [0.01], "n_folds": 2}
LINEAR: dict[str, Any] = {
    "search": GateSearch(**SMALL),
    "alternation": AlternationSettings(max_rounds=4, max_steps=30),
    "random_state": 0,
}
QUICK = DescentSettings(max_sweeps=1, max_block_steps=8, max_gradient_steps=8)
TREES = BoostingTrick(10, max_depth=2, random_state=0)

CLASSIFIERS: dict[str, Make] = {
    "BudgetPrune": lambda costs: BudgetPrune(
        RandomForestClassifier(8, max_depth=6, random_state=0), feature_costs=costs, random_state=0
    ),
    "BudgetPrune at a lambda": lambda costs: BudgetPrune(
        RandomForestClassifier(8, max_depth=6, random_state=0), feature_costs=costs, lam="1/2000", random_state=0
    ),
    "BudgetPrune of a tree": lambda costs: BudgetPrune(
        DecisionTreeClassifier(max_depth=6, random_state=0), feature_costs=costs, random_state=0
    ),
    "BudgetPrune with a split cost": lambda costs: BudgetPrune(
        RandomForestClassifier(5, max_depth=4, random_state=0), feature_costs=costs, split_cost="1/8", random_state=0
    ),
    "BudgetPrune with a cap": lambda costs: BudgetPrune(
        RandomForestClassifier(8, max_depth=6, random_state=0),
        feature_costs=costs,
        max_cost=sum(costs.unit_costs) / 3,
        random_state=0,
    ),
    "BudgetRF": lambda costs: BudgetRF(6, growth=GreedyGrowth(max_depth=5), feature_costs=costs, random_state=0),
    "BudgetRF that pools": lambda costs: BudgetRF(
        6,
        growth=GreedyGrowth(max_depth=5),
        voting="pooled",
        feature_costs=costs,
        max_cost=sum(costs.unit_costs) / 2,
        random_state=0,
    ),
    "GreedyMiser": lambda costs: GreedyMiser(12, lam="1/50", feature_costs=costs, random_state=0),
    "CostComplexity": lambda costs: CostComplexity(
        RandomForestClassifier(6, max_depth=5, random_state=0), feature_costs=costs, random_state=0
    ),
    "ReadableTree of BudgetPrune": lambda costs: ReadableTree(
        CLASSIFIERS["BudgetPrune"](costs), max_questions=4, random_state=0
    ),
    "EarlyExit of BudgetRF": lambda costs: EarlyExit(
        BudgetRF(6, growth=GreedyGrowth(max_depth=5), voting="pooled", feature_costs=costs, random_state=0),
        random_state=0,
    ),
    "CSTC": lambda costs: CSTC(
        loss="logistic",
        objective=TreeObjective(depth=3, structure="full", lambdas=1),
        descent=QUICK,
        feature_costs=costs,
        random_state=0,
    ),
    "CSCC": lambda costs: CSCC(
        objective=ChainObjective(n_nodes=3, lambdas=1), descent=QUICK, feature_costs=costs, random_state=0
    ),
    "CSCC of trees with a split cost": lambda costs: CSCC(
        objective=ChainObjective(n_nodes=3, lambdas=1),
        feature_map=TREES,
        descent=QUICK,
        feature_costs=costs,
        split_cost="1/8",
        random_state=0,
    ),
    "ASTC": lambda costs: ASTC(
        loss="logistic", objective=TreeObjective(lambdas=1), feature_costs=costs, random_state=0
    ),
    "AND-OR": lambda costs: AndOrCascade(
        objective=AndOrObjective(limits=(1, 3), lambdas=1), feature_costs=costs, random_state=0
    ),
    "AdaBoostRS": lambda costs: AdaBoostRS(n_trees=10, feature_costs=costs, random_state=0),
    "EarlyExit of a forest": lambda costs: EarlyExit(
        RandomForestClassifier(8, max_depth=5, random_state=0), order="greedy", feature_costs=costs, random_state=0
    ),
    "EarlyExit of BudgetPrune by a certified rule": lambda costs: EarlyExit(
        CLASSIFIERS["BudgetPrune"](costs), stopping=CertifiedStopping(2, 10), random_state=0
    ),
    "EarlyExit of LightGBM": lambda costs: EarlyExit(
        LGBMClassifier(n_estimators=10, num_leaves=6, min_child_samples=5, verbose=-1, n_jobs=1, random_state=0),
        feature_costs=costs,
        random_state=0,
    ),
    "EarlyExit with a cap": lambda costs: EarlyExit(
        RandomForestClassifier(6, max_depth=4, random_state=0),
        stopping=ThresholdStopping(),
        feature_costs=costs,
        max_cost=sum(costs.unit_costs) / 3,
        random_state=0,
    ),
    "BudgetBoost": lambda costs: BudgetBoost(
        12,
        growth=BoostGrowth(max_leaf_nodes=6),
        search=BoostSearch(n_lambdas=2, n_prunings=2),
        feature_costs=costs,
        random_state=0,
    ),
    "BudgetBoost with a cap, alternating": lambda costs: BudgetBoost(
        8,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=1, n_prunings=1, refit="alternate"),
        max_cost=sum(costs.unit_costs) / 3,
        feature_costs=costs,
        random_state=0,
    ),
    "BudgetForest": lambda costs: BudgetForest(
        6,
        search=ForestSearch(n_lambdas=2, n_prunings=2),
        growth=ForestGrowth(min_samples_leaf=5),
        feature_costs=costs,
        random_state=0,
    ),
    "BudgetLinear": lambda costs: BudgetLinear(feature_costs=costs, random_state=0),
    "BudgetLinear with a cap": lambda costs: BudgetLinear(
        feature_costs=costs, max_cost=sum(costs.unit_costs) / 2, random_state=0
    ),
    "BudgetedClassifier": lambda costs: BudgetedClassifier(
        [
            BudgetBoost(4, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=1, n_prunings=1)),
            NestedCascade(RandomForestClassifier(4, max_depth=5, random_state=0)),
            RandomForestClassifier(4, max_depth=3, random_state=0),
        ],
        feature_costs=costs,
        random_state=0,
    ),
    "NestedCascade": lambda costs: NestedCascade(
        RandomForestClassifier(8, max_depth=5, random_state=0), feature_costs=costs, random_state=0
    ),
    "NestedCascade whose stages see the one before, with a cap": lambda costs: NestedCascade(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        stages=NestedStages(sees_before=True),
        feature_costs=costs,
        max_cost=sum(costs.unit_costs) / 2,
        random_state=0,
    ),
    "BranchingCascade": lambda costs: BranchingCascade(
        RandomForestClassifier(6, max_depth=5, random_state=0),
        stages=BranchingStages(max_branches=3, min_support=10),
        feature_costs=costs,
        random_state=0,
    ),
    "BranchingCascade with a cap": lambda costs: BranchingCascade(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        stages=BranchingStages(min_support=10),
        stopping=CertifiedStopping(2, 10),
        feature_costs=costs,
        max_cost=sum(costs.unit_costs) / 2,
        random_state=0,
    ),
    "Adapt-Lin before a forest": lambda costs: AdaptLin(
        RandomForestClassifier(8, max_depth=5, random_state=0), feature_costs=costs, **LINEAR
    ),
    "Adapt-Lin before nearest neighbours, with a cap": lambda costs: AdaptLin(
        KNeighborsClassifier(), feature_costs=costs, max_cost=sum(costs.unit_costs) / 2, **LINEAR
    ),
    "Adapt-Lstsq before Adapt-Lin before a pruned forest": lambda costs: AdaptLstsq(
        AdaptLin(CLASSIFIERS["BudgetPrune"](costs), **LINEAR), **LINEAR
    ),
    "Adapt-Gbrt before a forest": lambda costs: AdaptGbrt(
        RandomForestClassifier(8, max_depth=5, random_state=0),
        n_estimators=4,
        search=BoostedSearch(**SMALL),
        feature_costs=costs,
        random_state=0,
    ),
    "L1 baseline": lambda costs: L1Baseline(
        DecisionTreeClassifier(random_state=0), search=PairSearch(**SMALL), feature_costs=costs, random_state=0
    ),
}
REGRESSORS: dict[str, Make] = {
    "GreedyMiser": lambda costs: GreedyMiserRegressor(12, feature_costs=costs, random_state=0),
    "BudgetPrune": lambda costs: BudgetPrune(
        RandomForestRegressor(6, max_depth=5, random_state=0), feature_costs=costs, random_state=0
    ),
    "CSTC": lambda costs: CSTC(
        objective=TreeObjective(depth=3, structure="full", lambdas=1),
        descent=QUICK,
        feature_costs=costs,
        random_state=0,
    ),
    "BudgetBoost": lambda costs: BudgetBoostRegressor(
        12,
        growth=BoostGrowth(max_leaf_nodes=6),
        search=BoostSearch(n_lambdas=2, n_prunings=2),
        feature_costs=costs,
        random_state=0,
    ),
    "BudgetForest with a cap": lambda costs: BudgetForestRegressor(
        6,
        search=ForestSearch(n_lambdas=2, n_prunings=2, n_lookahead=2),
        growth=ForestGrowth(min_samples_leaf=5),
        max_cost=sum(costs.unit_costs) / 2,
        feature_costs=costs,
        random_state=0,
    ),
    "BudgetLinear": lambda costs: BudgetLinearRegressor(feature_costs=costs, random_state=0),
    "BudgetedRegressor": lambda costs: BudgetedRegressor(
        [
            BudgetBoostRegressor(
                4, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=1, n_prunings=1)
            ),
            NestedCascade(RandomForestRegressor(4, max_depth=5, random_state=0)),
            RandomForestRegressor(4, max_depth=3, random_state=0),
        ],
        feature_costs=costs,
        random_state=0,
    ),
    "NestedCascade": lambda costs: NestedCascade(
        RandomForestRegressor(6, max_depth=5, random_state=0), feature_costs=costs, random_state=0
    ),
    "BranchingCascade": lambda costs: BranchingCascade(
        RandomForestRegressor(6, max_depth=5, random_state=0),
        stages=BranchingStages(min_support=10),
        feature_costs=costs,
        random_state=0,
    ),
}
