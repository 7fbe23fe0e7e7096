"""Small fitted scikit-learn estimators of every kind that `ipforest.Forest` reads, and random prunings of them."""

from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, datasets

N_FEATURES = 7
LABELS = np.array(["ant", "bee", "cat"])


class RowTree(DecisionTreeClassifier):
    """A tree that takes no sample weights, so that bagging hands it rows and it may never see a class."""

    def fit(self, X, y, check_input=True):
        return super().fit(X, y, check_input=check_input)


def examples(n_samples: int, seed: int, missing: float = 0.0):
    """Numbers on a coarse grid (ties), a noisy three-class label, a noisy target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, N_FEATURES)).round(1)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_samples)
    labels = LABELS[np.digitize(score, [-0.5, 0.8])]
    X[rng.random(X.shape) < missing] = np.nan
    return X, labels, score


CLASSIFIERS = {
    "forest": RandomForestClassifier(6, random_state=1),
    "forest entropy": RandomForestClassifier(5, criterion="entropy", max_depth=4, random_state=1),
    "forest balanced": RandomForestClassifier(5, class_weight="balanced", random_state=1),
    "forest balanced subsample": RandomForestClassifier(5, class_weight="balanced_subsample", random_state=1),
    "forest class weights": RandomForestClassifier(
        5, class_weight={"ant": 3, "bee": 1, "cat": 0.25}, min_samples_leaf=2, random_state=1
    ),
    "forest max_samples": RandomForestClassifier(5, max_samples=0.4, random_state=1),
    "forest max_leaf_nodes": RandomForestClassifier(5, max_leaf_nodes=6, random_state=1),
    "forest without bootstrap": RandomForestClassifier(4, bootstrap=False, max_features=2, random_state=1),
    "forest of roots_only": RandomForestClassifier(3, min_samples_split=1000, random_state=1),
    "extra trees": ExtraTreesClassifier(5, random_state=1),
    "extra trees balanced": ExtraTreesClassifier(4, class_weight="balanced", random_state=1),
    "extra trees bootstrap": ExtraTreesClassifier(5, bootstrap=True, max_leaf_nodes=9, random_state=1),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=4), 5, random_state=1),
    "bagging of some features": BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.5, random_state=1),
    "bagging of drawn features": BaggingClassifier(
        ExtraTreeClassifier(), 5, max_features=0.7, bootstrap_features=True, random_state=1
    ),
    "bagging without replacement": BaggingClassifier(None, 4, max_samples=0.5, bootstrap=False, random_state=1),
    "bagging that misses classes": BaggingClassifier(RowTree(), 6, max_samples=4, random_state=1),
    "tree": DecisionTreeClassifier(random_state=1),
    "pruned tree": DecisionTreeClassifier(ccp_alpha=0.01, random_state=1),
    "extra tree": ExtraTreeClassifier(random_state=1),
}

REGRESSORS = {
    "forest": RandomForestRegressor(5, min_samples_leaf=2, random_state=1),
    "forest absolute error": RandomForestRegressor(3, criterion="absolute_error", max_depth=4, random_state=1),
    "extra trees": ExtraTreesRegressor(5, max_depth=5, random_state=1),
    "bagging": BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=10), 5, max_features=0.6, random_state=1),
    "tree": DecisionTreeRegressor(max_depth=5, random_state=1),
    "extra tree": ExtraTreeRegressor(random_state=1),
}

TAKE_MISSING = {"forest", "forest balanced", "extra trees", "bagging", "tree", "extra tree", "bagging of some features"}


@cache
def fitted(task: str, name: str, missing: float = 0.0):
    """Fit one of `CLASSIFIERS` or `REGRESSORS`; the caller must not change it."""
    X, labels, target = examples(120, seed=5, missing=missing)
    if task == "classifier":
        return clone(CLASSIFIERS[name]).fit(X, labels)
    return clone(REGRESSORS[name]).fit(X, target)


KINDS = [("classifier", name) for name in CLASSIFIERS] + [("regressor", name) for name in REGRESSORS]
MISSING_KINDS = [(task, name) for task, name in KINDS if name in TAKE_MISSING]


def random_pruning(forest: Forest, seed: int, keep: float = 0.7) -> Pruning:
    """Keep each internal node with some probability, if its parent is kept."""
    rng = np.random.default_rng(seed)
    number = {node: position for position, node in enumerate(forest.internal_nodes.tolist())}
    kept = np.zeros(forest.n_internal, dtype=bool)
    for node, position in number.items():
        parent = int(forest.parent[node])
        kept[position] = rng.random() < keep and (parent < 0 or kept[number[parent]])
    return Pruning(kept)


def breast_cancer_instance(n_trees: int) -> PruningInstance:
    """Fit a forest on half of breast_cancer and price the other half: features cost 1 to 4."""
    data = datasets.load("breast_cancer")
    model = RandomForestClassifier(n_trees, random_state=0).fit(data.X[::2], data.y[::2])
    return PruningInstance.from_forest(Forest.from_sklearn(model), data.X[1::2], FeatureCosts(1 + np.arange(30) % 4))
