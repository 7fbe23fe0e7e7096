"""Scikit-learn's fitted trees and their averages: taken apart into the fields of a `Forest`, and made of one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn import __version__ as sklearn_version
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest._internal.arrays import Array, FloatArray, Int32Array, IntArray
from ipforest._internal.examples import ONE_TARGET
from ipforest.ensemble.library_checks import fields_of, require_known_parts, require_own_predictions, unknown_parts
from ipforest.ensemble.trees import LEAF

SINGLE_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
BAGGINGS = (BaggingClassifier, BaggingRegressor)
AVERAGING = (*SINGLE_TREES, *FORESTS, *BAGGINGS)

NODE_FIELDS = frozenset(
    (
        *("left_child", "right_child", "feature", "threshold", "missing_go_to_left"),
        *("impurity", "n_node_samples", "weighted_n_node_samples"),
    )
)
"""What a test of scikit-learn's trees holds, as far as it is read here; 1.10 says of leaves too what kind they are."""

TREE_PARTS = frozenset(("max_depth", "node_count", "nodes", "values"))
"""What a tree of scikit-learn's holds, as far as it is read here."""

OF_NUMBERS = -1
"""How many categories a feature has that is a number, in what scikit-learn's trees are made with from 1.10 on."""

FOUND = "; give what the search found, model.best_estimator_"
SUPPORTED = "RandomForest*, ExtraTrees*, Bagging* of trees, DecisionTree* or ExtraTree*"


def averaged_fields(estimator: Any) -> dict[str, Any]:
    """Take the fields of a `Forest` out of a fitted estimator of `AVERAGING`.

    Raises
    ------
    ValueError
        It predicts several outputs.
    """
    trees, features = _members(estimator)
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise ValueError(f"estimator: expected one output, got {estimator.n_outputs_}; {ONE_TARGET}")
    classes = getattr(estimator, "classes_", None)
    return {
        **structure(estimator, trees, features),
        "value": np.concatenate([_values(tree, classes) for tree in trees]),
        "weight": joined(trees, "weighted_n_node_samples"),
        "n_samples": joined(trees, "n_node_samples").astype(np.int64),
        "impurity": joined(trees, "impurity"),
        "classes": classes,
        "criterion": str(trees[0].criterion),
    }


def averaging_trees(estimator: Any) -> Any:
    """Take an estimator, fitted or not, out of its FrozenEstimator if it has one, and require that it averages trees.

    Estimators with a method ``to_forest``, as `ipforest.learners.BudgetRF`, do.

    Raises
    ------
    TypeError
        It is another kind of estimator, or predicts in a way of its own.
    """
    inner = unfrozen(estimator)
    if not isinstance(inner, AVERAGING) and not hasattr(inner, "to_forest"):
        cure = ""
        if isinstance(inner, Pipeline):
            cure = f"; {in_two_parts('BudgetPrune(pipeline[-1])')}"
        elif hasattr(inner, "best_estimator_"):
            cure = FOUND
        elif hasattr(inner, "fit"):
            cure = (
                "; boosted trees that are fitted go into BudgetPrune(model)"
                if hasattr(inner, "__sklearn_tags__") and not isinstance(inner, type) and is_regressor(inner)
                else "; boosted trees and other classifiers go into EarlyExit(FrozenEstimator(model), budget=...), "
                "boosted trees that are fitted also into BudgetPrune(model)"
            )
        raise TypeError(
            f"estimator: expected an ensemble that averages trees ({SUPPORTED}), got {name_of(inner)}{cure}"
        )
    for package in ("sklearn", "ipforest"):
        require_own_predictions(inner, package, "estimator")
    return inner


def in_two_parts(around_the_trees: str) -> str:
    """Say how the preprocessing and the trees of a pipeline are given."""
    return (
        f"give its parts to BudgetedPipeline(pipeline[:-1], {around_the_trees}, feature_costs=...), whose prices are "
        "those of the table's columns"
    )


def unfrozen(estimator: Any) -> Any:
    """Return the estimator inside a FrozenEstimator, or itself."""
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator


def name_of(estimator: object) -> str:
    """Name the class of an estimator, or the class that is in its place."""
    return estimator.__name__ + " (a class)" if isinstance(estimator, type) else type(estimator).__name__


def _members(estimator: Any) -> tuple[list[Any], list[IntArray | None]]:
    """List the trees, and for each the columns it was trained on (None: all)."""
    if isinstance(estimator, SINGLE_TREES):
        return [estimator], [None]
    trees = list(estimator.estimators_)
    for tree in trees:
        if not isinstance(tree, SINGLE_TREES) or is_classifier(tree) != is_classifier(estimator):
            wanted = "classification" if is_classifier(estimator) else "regression"
            raise TypeError(
                f"estimator: expected {type(estimator).__name__} of decision trees for {wanted}, got one of "
                f"{name_of(tree)}"
            )
        require_own_predictions(tree, "sklearn", "estimator")
    if not trees:
        raise ValueError(f"estimator: expected {type(estimator).__name__} with a tree at least, got none")
    if isinstance(estimator, BAGGINGS):
        if not estimator.n_estimators == len(trees) == len(estimator.estimators_features_):
            raise ValueError(
                f"estimator: expected n_estimators, by which {type(estimator).__name__} divides, and as many "
                f"estimators_ and estimators_features_, got {estimator.n_estimators}, {len(trees)} and "
                f"{len(estimator.estimators_features_)}"
            )
        return trees, [np.asarray(columns) for columns in estimator.estimators_features_]
    return trees, [None] * len(trees)


def structure(estimator: Any, trees: Sequence[Any], features: Sequence[IntArray | None]) -> dict[str, Any]:
    """Join the trees; give the fields of `Trees`."""
    for tree in trees:
        state = tree.tree_.__getstate__()
        require_known_parts(state, TREE_PARTS)
        require_known_parts(fields_of(state["nodes"][state["nodes"]["left_child"] >= 0]), NODE_FIELDS)
    offsets = np.concatenate([[0], np.cumsum([tree.tree_.node_count for tree in trees])])
    start = np.repeat(offsets[:-1], np.diff(offsets))

    def children(name: str) -> IntArray:
        local = joined(trees, name)
        return np.where(local >= 0, local + start, LEAF)

    return {
        "tree_offsets": offsets,
        "left": children("children_left"),
        "right": children("children_right"),
        "feature": np.concatenate(
            [_tested_features(tree, columns) for tree, columns in zip(trees, features, strict=True)]
        ),
        "threshold": joined(trees, "threshold"),
        "missing_left": joined(trees, "missing_go_to_left").astype(bool),
        "n_features": int(estimator.n_features_in_),
        "feature_names": tuple(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else None,
    }


def joined(trees: Sequence[Any], name: str) -> Array:
    """Join an array of the nodes of all trees."""
    return np.concatenate([getattr(tree.tree_, name) for tree in trees])


def _tested_features(tree: Any, columns: IntArray | None) -> Int32Array:
    tested = tree.tree_.feature
    internal = tree.tree_.children_left >= 0
    named = tested if columns is None else columns[np.where(internal, tested, 0)]
    return np.where(internal, named, LEAF).astype(np.int32)


def _values(tree: Any, classes: Array | None) -> FloatArray:
    """Node values over the classes of the ensemble: a bagged tree may know only some of them."""
    own: FloatArray = tree.tree_.value[:, 0, :]
    if classes is None or own.shape[1] == len(classes):
        return own
    values = np.zeros((own.shape[0], len(classes)))
    values[:, np.asarray(tree.classes_, dtype=np.int64)] = own
    return values


def random_forest_of(forest: Any) -> Any:
    """Return a fitted scikit-learn random forest that predicts as a `Forest` does.

    Raises
    ------
    ValueError
        A test is none of scikit-learn's forests: of a category, by "<", or of float64 values.
    RuntimeError
        This version of scikit-learn holds trees in another way.
    """
    if forest.tests_categories.any() or forest.comparison != "<=" or forest.dtype != np.float32:
        raise ValueError(
            "forest: expected tests x <= threshold of float32 numbers, as scikit-learn's forests make them, "
            "got other tests"
        )
    kind, tree_kind = (
        (RandomForestClassifier, DecisionTreeClassifier)
        if forest.is_classifier
        else (RandomForestRegressor, DecisionTreeRegressor)
    )
    pattern = _smallest_tree(tree_kind, forest.n_features).set_params(criterion=forest.criterion, random_state=None)
    ensemble = kind(n_estimators=forest.n_trees, criterion=forest.criterion)
    ensemble.estimator_ = tree_kind(criterion=forest.criterion)
    ensemble.estimators_ = [_fitted_tree(forest, pattern, start, stop) for start, stop in forest]
    ensemble.n_features_in_ = forest.n_features
    if forest.feature_names is not None:
        ensemble.feature_names_in_ = np.array(forest.feature_names, dtype=object)
    ensemble.n_outputs_ = 1
    if forest.classes is not None:
        ensemble.classes_ = np.array(forest.classes)
        ensemble.n_classes_ = len(forest.classes)
    return ensemble


def _smallest_tree(kind: Any, n_features: int) -> Any:
    """Fit a tree of one test, as this version of scikit-learn holds it, and require that it is known what that holds.

    What else the version keeps of a test, of a leaf and of a fitted tree is taken from here.
    """
    X = np.zeros((2, n_features), dtype=np.float32)
    X[1, 0] = 1
    smallest = kind(random_state=0).fit(X, [0, 1])
    state, (_, (_, _, _, *more), *_) = smallest.tree_.__getstate__(), smallest.tree_.__reduce__()
    unknown = {*unknown_parts(fields_of(state["nodes"][:1]), NODE_FIELDS), *unknown_parts(state, TREE_PARTS)}
    if unknown or len(more) > 1 or any(np.any(np.asarray(each) != OF_NUMBERS) for each in more):
        raise RuntimeError(
            "to_sklearn: expected trees as scikit-learn 1.6 to 1.10 holds them, got "
            f"{sorted(unknown) or 'other arguments'} in those of scikit-learn {sklearn_version}; write another format, "
            "or install an earlier version"
        )
    return smallest


def _fitted_tree(forest: Any, pattern: Any, start: int, stop: int) -> Any:
    n_classes = 1 if forest.classes is None else len(forest.classes)
    estimator = copy(pattern)
    if forest.classes is not None:
        estimator.classes_ = np.arange(n_classes)
        estimator.n_classes_ = np.int64(n_classes)
    kind, (n_features, _, *more), state = pattern.tree_.__reduce__()
    estimator.tree_ = kind(n_features, np.array([n_classes], dtype=np.intp), *more)
    estimator.tree_.__setstate__(_tree_state(forest, state["nodes"], start, stop))
    return estimator


def _tree_state(forest: Any, pattern: Array, start: int, stop: int) -> dict[str, Any]:
    part = slice(start, stop)
    is_leaf = forest.is_leaf[part]
    nodes = np.zeros(stop - start, dtype=pattern.dtype)
    test, leaf = pattern[:2]
    for name in {*fields_of(pattern)} - NODE_FIELDS:
        nodes[name][~is_leaf], nodes[name][is_leaf] = test[name], leaf[name]
    nodes["left_child"] = np.where(is_leaf, LEAF, forest.left[part] - start)
    nodes["right_child"] = np.where(is_leaf, LEAF, forest.right[part] - start)
    nodes["feature"] = np.where(is_leaf, -2, forest.feature[part])
    nodes["threshold"] = np.where(is_leaf, -2.0, forest.threshold[part])
    nodes["impurity"] = forest.impurity[part]
    nodes["n_node_samples"] = forest.n_samples[part]
    nodes["weighted_n_node_samples"] = forest.weight[part]
    nodes["missing_go_to_left"] = forest.missing_left[part]
    depth = np.zeros(stop - start, dtype=np.int64)
    for node in range(1, stop - start):
        depth[node] = depth[forest.parent[start + node] - start] + 1
    return {
        "max_depth": int(depth.max()),
        "node_count": stop - start,
        "nodes": nodes,
        "values": np.ascontiguousarray(forest.value[part][:, None, :]),
    }
