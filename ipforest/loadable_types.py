"""The types that a model file may name: all others are refused, whatever their module.

A type belongs here if an object of it is data, and if no method of it that loading or predicting calls reads memory or
runs anything by what it holds; arrays that compiled code relies on are checked in `ipforest.loaded_models`.
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
    "adaptive.adapt_gbrt": ("AdaptGbrt",),
    "adaptive.adapt_lin": ("AdaptLin",),
    "adaptive.adapt_lstsq": ("AdaptLstsq",),
    "adaptive.candidates": ("Candidate", "GatedPair"),
    "adaptive.distances": ("KullbackLeibler", "SquaredLogOdds"),
    "adaptive.gated_policy": ("Constant", "LinearScores"),
    "adaptive.l1_baseline": ("L1Baseline",),
    "adaptive.linear_pair": ("AlternationSettings",),
    "cascades.adaboost_rs": ("AdaBoostRS", "AdaBoostVotes"),
    "cascades.and_or": ("AndOrCascade",),
    "cascades.astc": ("ASTC",),
    "cascades.block_descent": ("DescentSettings",),
    "cascades.boosting_trick": ("BoostingTrick",),
    "cascades.branching": ("BranchingCascade",),
    "cascades.classifier_tree": ("ClassifierTree",),
    "cascades.cronus": ("Cronus",),
    "cascades.cscc": ("CSCC",),
    "cascades.cstc": ("CSTC",),
    "cascades.early_exit": ("EarlyExit",),
    "cascades.feature_map": ("ScaledFeatures",),
    "cascades.nested": ("NestedCascade",),
    "cascades.resources": ("Resources",),
    "cascades.stages": ("Stage", "StagesInOrder"),
    "cascades.stagewise": ("StagewiseRegression",),
    "cascades.stopping": (
        *("CertifiedRule", "CertifiedStopping", "OptimalStopping", "StagedRule"),
        *("StoppingPaths", "ThresholdStopping"),
    ),
    "cascades.tree_estimator": ("Candidate",),
    "categories": ("Categories",),
    "cli.fit": ("WordColumns",),
    "costs": ("FeatureCosts",),
    "ensemble.boosted": ("BoostedTrees",),
    "ensemble.forest": ("Forest",),
    "growing.impurities": ("Entropy", "Gini", "Polynomial", "Powers", "ThresholdPairs"),
    "instance": ("PruningInstance",),
    "learners.averaged_trees": ("AveragedTrees",),
    "learners.budget_boost": ("BudgetBoost",),
    "learners.budget_forest": ("BudgetForest",),
    "learners.budget_prune": ("BudgetPrune",),
    "learners.budget_rf": ("BudgetRF", "GrownForest", "PooledTrees"),
    "learners.budgeted_classifier": ("BudgetedClassifier",),
    "learners.context_cascades": ("ContextRouter",),
    "learners.greedy_miser": (
        *("GreedyMiser", "GreedyMiserRegressor", "Logistic", "Squared", "SquaredOnClasses", "SummedTrees"),
    ),
    "learners.pruning_baselines": (
        *("CostComplexity", "EarlyStopping", "GreedyPrune", "IndividualPruning", "PruningSequence"),
    ),
    "path": ("PathFlow", "PruningPath", "SkippedInterval"),
    "policy": ("TreesInOrder",),
    "results": ("BudgetResult", "DualFlow", "Pruning", "PruningResult"),
    "session": ("Unit",),
    "solvers.dantzig_wolfe": ("DantzigWolfeResult",),
    "solvers.primal_dual": ("PrimalDualResult",),
}

_SCIKIT_LEARN = {
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

LOSSES = frozenset(f"sklearn._loss._loss.Cy{name}" for name in _LOSSES)
"""Losses that gradient boosting of scikit-learn keeps; they hold at most one number."""

NAMED_TUPLES = frozenset(
    f"ipforest.{name}"
    for name in (
        "cascades.early_exit.Candidate",
        "cascades.stages.Candidate",
        "cascades.stopping.Curve",
        "cascades.stopping.LearntStopping",
        "learners.joint_frontier.Frontier",
        "learners.joint_frontier.Member",
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
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    )
)
"""Types of objects that are made empty and given what they held."""
