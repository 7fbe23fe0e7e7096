"""The types that a model file may name: all others are refused, whatever their module.

A type belongs here if an object of it is data, and if no method of it that loading or predicting calls reads memory or
runs anything by what it holds; arrays that compiled code relies on are checked in `ipforest.tabular.loaded_models`.
"""

import importlib

KEYS = frozenset(f"builtins.{name}" for name in ("str", "int", "float", "bool")) | {
    *("numpy.str_", "numpy.int64", "numpy.int32", "numpy.float64", "numpy.float32", "numpy.bool", "numpy.bool_")
}
"""Types of the keys of a dictionary."""

SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        *("bool", "bool_", "str_", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)

_OWN = {
    "adaptive.adapt_gbrt": ("AdaptGbrt", "BoostedSearch", "PairGrowth"),
    "adaptive.adapt_lin": ("AdaptLin",),
    "adaptive.adapt_lstsq": ("AdaptLstsq",),
    "adaptive.approximation": ("GateSearch", "PairSearch"),
    "adaptive.candidates": ("GatedPair", "MeasuredPair"),
    "adaptive.distances": ("KullbackLeibler", "SquaredLogOdds"),
    "adaptive.gated_policy": ("Constant", "LinearScores"),
    "adaptive.l1_baseline": ("L1Baseline",),
    "adaptive.linear_pair": ("AlternationSettings",),
    "wrappers.calibration": ("AsGiven", "CalibratedClassifier", "Calibration"),
    "classifier_trees.adaboost_rs": ("AdaBoostRS", "AdaBoostVotes"),
    "classifier_trees.and_or": ("AndOrCascade", "AndOrObjective"),
    "classifier_trees.astc": ("ASTC",),
    "classifier_trees.block_descent": ("DescentSettings",),
    "classifier_trees.boosting_trick": ("BoostingTrick",),
    "stopping.branching": ("BranchingCascade", "BranchingStages"),
    "classifier_trees.classifier_tree": ("ClassifierTree",),
    "classifier_trees.cronus": ("Cronus",),
    "classifier_trees.cscc": ("CSCC", "ChainObjective"),
    "classifier_trees.cstc": ("CSTC", "TreeObjective"),
    "stopping.early_exit": ("EarlyExit",),
    "classifier_trees.feature_map": ("ScaledFeatures",),
    "stopping.nested": ("NestedCascade", "NestedStages"),
    "classifier_trees.resources": ("Resources",),
    "stopping.stages": ("Stage", "StagesInOrder"),
    "classifier_trees.stagewise": ("StagewiseRegression",),
    "stopping.certified_stopping": ("CertifiedRule", "CertifiedStopping"),
    "stopping.optimal_stopping": ("OptimalStopping", "StagedRule"),
    "stopping.paths": ("StoppingPaths",),
    "stopping.threshold_stopping": ("ThresholdStopping",),
    "classifier_trees.tree_estimator": ("MeasuredTree",),
    "costs": ("FeatureCosts",),
    "ensemble.boosted": ("BoostedTrees",),
    "ensemble.categories": ("Categories", "ListedCategories", "PlacedCategories", "WholeCategories"),
    "ensemble.category_sets": ("CategorySets",),
    "ensemble.forest": ("Forest",),
    "ensemble.linear": ("LinearModel",),
    "ensemble.packed_forests": ("ForestsAtRest", "RestingForest"),
    "growing.impurities": ("Entropy", "Gini", "Polynomial", "Powers", "ThresholdPairs"),
    "instance": ("PruningInstance",),
    "frontiers.averaged_trees": ("AveragedTrees", "AveragedTreesRegressor"),
    "frontiers.budget_boost": ("BoostGrowth", "BoostSearch", "BudgetBoost", "BudgetBoostRegressor"),
    "frontiers.budget_forest": ("BudgetForest", "BudgetForestRegressor", "ForestGrowth", "ForestSearch"),
    "frontiers.budget_linear": ("BudgetLinear", "BudgetLinearRegressor"),
    "frontiers.joint_frontier": ("MemberFrontier",),
    "learners.budget_prune": ("BudgetPrune",),
    "learners.budget_rf": ("Bootstrap", "BudgetRF", "GreedyGrowth", "GrownForest", "PooledTrees"),
    "frontiers.budgeted_classifier": ("BudgetedClassifier", "BudgetedRegressor", "RunSettings"),
    "frontiers.context_cascades": ("ContextRouter",),
    "learners.greedy_miser": (
        *("GreedyMiser", "GreedyMiserRegressor", "Logistic", "Squared", "SquaredOnClasses", "SummedTrees"),
    ),
    "learners.forest_pruner": ("PruningSettings",),
    "learners.priced_booster": ("PricedGrowth",),
    "learners.pruning_baselines": (
        *("CostComplexity", "EarlyStopping", "GreedyPrune", "IndividualPruning", "PruningSequence"),
    ),
    "learners.readable_tree": ("ReadableTree",),
    "maxflow.path_flow": ("PathFlow",),
    "choosing.frontier": ("Frontier",),
    "choosing.measures": ("SensitivityAt", "SpecificityAt"),
    "path": ("PruningPath", "SkippedInterval"),
    "policy": ("TreesInOrder",),
    "results": ("BudgetResult", "DualFlow", "Pruning", "PruningResult"),
    "session.seller": ("Unit",),
    "solvers.dantzig_wolfe": ("DantzigWolfeResult",),
    "solvers.primal_dual": ("PrimalDualResult",),
    "tabular.word_columns": ("WordColumns",),
    "wrappers.pipeline": ("BudgetedPipeline",),
    "wrappers.thresholds": ("Decision", "ThresholdClassifier"),
}

_SCIKIT_LEARN = {
    "calibration": ("CalibratedClassifierCV",),
    "compose": ("ColumnTransformer",),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "dummy": ("DummyClassifier", "DummyRegressor"),
    "ensemble": (
        *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor", "ExtraTreesClassifier"),
        *("ExtraTreesRegressor", "GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "RandomForestClassifier"),
        *("RandomForestRegressor", "StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"),
    ),
    "feature_selection": ("VarianceThreshold",),
    "frozen": ("FrozenEstimator",),
    "isotonic": ("IsotonicRegression",),
    "impute": ("MissingIndicator", "SimpleImputer"),
    "linear_model": (
        *("ElasticNet", "ElasticNetCV", "Lasso", "LassoCV", "LinearRegression", "LogisticRegression"),
        *("LogisticRegressionCV", "Perceptron", "Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
        *("SGDClassifier", "SGDRegressor"),
    ),
    "naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "pipeline": ("FeatureUnion", "Pipeline"),
    "preprocessing": (
        *("Binarizer", "FunctionTransformer", "KBinsDiscretizer", "LabelBinarizer", "LabelEncoder", "MaxAbsScaler"),
        *("MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer"),
        *("QuantileTransformer", "RobustScaler", "StandardScaler", "TargetEncoder"),
    ),
    "svm": ("LinearSVC", "LinearSVR"),
    "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
}

_LOSSES = (
    *("AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss", "HalfMultinomialLoss"),
    *("HalfPoissonLoss", "HalfSquaredError", "HuberLoss", "PinballLoss"),
)
_LINKS = ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit")

LOSS_MODULE = "sklearn._loss._loss"
LOSSES = frozenset(f"{LOSS_MODULE}.Cy{name}" for name in _LOSSES)
"""Losses that gradient boosting of scikit-learn keeps; they hold at most one number."""

NAMED_TUPLES = frozenset(
    f"ipforest.{name}"
    for name in (
        "estimator.measurement.Measurement",
        "stopping.stopped.Member",
        "stopping.rules.Curve",
        "stopping.rules.LearntStopping",
        "ensemble.first_uses.Passing",
        "_internal.examples.Labelled",
        *(f"learners.vote_descent.{name}" for name in ("Orders", "Structure", "VoteProblem", "Votes")),
    )
)


def _defined_in(module: str, names: tuple[str, ...]) -> list[str]:
    """Say where scikit-learn defines classes that it makes public elsewhere."""
    public = importlib.import_module(f"sklearn.{module}")
    return [f"{getattr(public, name).__module__}.{name}" for name in names]


OBJECTS = frozenset(
    (
        *(f"ipforest.{module}.{name}" for module, names in _OWN.items() for name in names),
        *(name for module, names in _SCIKIT_LEARN.items() for name in _defined_in(module, names)),
        *(f"sklearn._loss.loss.{name}" for name in _LOSSES),
        *(f"sklearn._loss.link.{name}" for name in _LINKS),
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    )
)
"""Types of objects that are made empty and given what they held."""
