"""Objects that were read from a file are checked as those that are made: skops and pickle skip constructors.

Frozen dataclasses and policies check and derive in their constructor what kernels rely on. Here it runs again on all of
them that a loaded object holds, the inner ones first, so that no array of a file reaches compiled code unseen. Of types
of other libraries, what their compiled code takes on trust is checked in the same walk.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from ipforest.ensemble.packed_forests import ForestsAtRest, RestingForest
from ipforest.ensemble.scikit_learn import BOOSTED, HISTOGRAM_BOOSTED
from ipforest.ensemble.sklearn_trees import BAGGINGS, FORESTS
from ipforest.ensemble.trees import LEAF, Trees

PACKAGE = "ipforest."
ON_ALL_COLUMNS = (*FORESTS, AdaBoostClassifier, AdaBoostRegressor)
MAX_POSITION = {"pos": 624, "buffer_pos": 4}
"""In the state of a generator of random numbers, by its name: an index into its buffer."""


def check_loaded(model: object) -> None:
    """Check what a loaded object holds, and derive again what its parts derive.

    Raises
    ------
    TypeError, ValueError, AttributeError, ...
        A part is not as its constructor would have made it.
    """
    seen: dict[int, object] = {}

    def visit(part: object) -> None:
        if id(part) in seen:
            return
        seen[id(part)] = part
        for inner in _parts(part):
            visit(inner)
        _check(part)

    visit(model)


def _parts(part: object) -> Iterator[object]:
    """Give what an object holds."""
    if isinstance(part, Mapping):
        yield from part.values()
    elif isinstance(part, (list, tuple, set)):
        yield from part
    elif isinstance(part, np.ndarray):
        yield from part.ravel().tolist() if part.dtype.hasobject else ()
    elif is_dataclass(part) and not isinstance(part, BaseEstimator):
        yield from (getattr(part, field.name) for field in fields(part) if field.init)
    elif not isinstance(part, type):
        yield from getattr(part, "__dict__", {}).values()


def _check(part: Any) -> None:
    kind = type(part)
    if isinstance(part, Tree):
        _check_tree(part)
    elif issparse(part):
        part.check_format(full_check=True)
    elif isinstance(part, (np.random.RandomState, np.random.Generator)):
        _check_generator(part)
    elif isinstance(part, RestingForest):
        part.check()
    elif isinstance(part, BaseEstimator):
        _check_estimator(part)
    elif kind.__module__.startswith(PACKAGE) and not isinstance(part, tuple):
        _make_again(part)


def _make_again(part: Any) -> None:
    """Run the checks of a constructor on what an object holds; a dataclass has them in ``__post_init__``."""
    if is_dataclass(part):
        if hasattr(part, "__post_init__"):
            part.__post_init__()
        return
    if type(part).__init__ is object.__init__:
        return
    held = vars(part)
    names = inspect.signature(type(part)).parameters
    part.__init__(**{name: held[name] if name in held else held[f"_{name}"] for name in names})


def _check_tree(tree: Any) -> None:
    """Require a tree of scikit-learn whose nodes are those of one tree, with features that it has."""
    if not np.isfinite(tree.value).all():
        raise ValueError("tree: expected finite values at the nodes, got other values")
    internal = tree.children_left != LEAF
    Trees(
        np.array([0, tree.node_count]),
        tree.children_left,
        tree.children_right,
        np.where(internal, tree.feature, LEAF),
        tree.threshold,
        np.zeros(tree.node_count, dtype=bool),
        tree.n_features,
    )


def _check_generator(generator: Any) -> None:
    state = generator.get_state(legacy=False) if hasattr(generator, "get_state") else generator.bit_generator.state
    for name, most in MAX_POSITION.items():
        position = state["state"].get(name, state.get(name, 0)) if isinstance(state["state"], dict) else 0
        if not 0 <= position <= most:
            raise ValueError(f"{name}: expected a position 0..{most} in the state of random numbers, got {position}")


def _check_estimator(estimator: Any) -> None:
    """Require of a fitted ensemble of scikit-learn that its trees have the features that it checks examples for."""
    if isinstance(estimator, BaseDecisionTree) and hasattr(estimator, "tree_"):
        _require_tree(estimator, estimator.n_features_in_)
    elif isinstance(estimator, ON_ALL_COLUMNS) and hasattr(estimator, "estimators_"):
        for member in estimator.estimators_:
            _require_features(member, estimator.n_features_in_)
    elif isinstance(estimator, BAGGINGS) and hasattr(estimator, "estimators_"):
        for member, columns in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
            _require_features(member, len(columns))
    elif isinstance(estimator, BOOSTED) and hasattr(estimator, "estimators_"):
        _check_boosted(estimator)
    elif isinstance(estimator, HISTOGRAM_BOOSTED) and hasattr(estimator, "_predictors"):
        _check_histogram_boosted(estimator)
    elif hasattr(estimator, "ensembles_"):
        _check_averaged(estimator)


def _check_averaged(estimator: Any) -> None:
    """Require of averaged trees, which may be packed, that they have the features that examples are checked for."""
    members = estimator.ensembles_.members if isinstance(estimator.ensembles_, ForestsAtRest) else estimator.ensembles_
    numbers = [each.n_features for each in members]
    if set(numbers) != {estimator.n_features_in_}:
        raise ValueError(f"ensembles_: expected trees of {estimator.n_features_in_} features, got {numbers}")


def _require_features(member: Any, n_features: int) -> None:
    if member.n_features_in_ != n_features:
        raise ValueError(f"estimators_: expected members of {n_features} features, got {member.n_features_in_}")


def _require_tree(estimator: Any, n_features: int) -> None:
    tree = estimator.tree_
    if not isinstance(tree, Tree) or tree.n_features != n_features or tree.n_outputs != estimator.n_outputs_:
        raise ValueError(f"tree_: expected a tree of {n_features} features, got another")


def _check_boosted(estimator: Any) -> None:
    if not isinstance(estimator.estimators_, np.ndarray) or estimator.estimators_.ndim != 2:
        raise ValueError("estimators_: expected a matrix of trees, got something else")
    for member in estimator.estimators_.ravel():
        _require_tree(member, estimator.n_features_in_)
    start = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), dtype=np.float32))
    if start.shape != (1, estimator.estimators_.shape[1]):
        raise ValueError(f"init_: expected {estimator.estimators_.shape[1]} first scores, got shape {start.shape}")


def _check_histogram_boosted(estimator: Any) -> None:
    categorical = np.asarray(estimator._bin_mapper.is_categorical_, dtype=bool)
    if categorical.shape != (estimator.n_features_in_,):
        raise ValueError(f"is_categorical_: expected one entry per feature, got shape {categorical.shape}")
    n_known = len(estimator._bin_mapper.make_known_categories_bitsets()[0])
    if n_known != categorical.sum():
        raise ValueError(f"bin_thresholds_: expected categories of {categorical.sum()} features, got {n_known}")
    for tree in (tree for stage in estimator._predictors for tree in stage):
        nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
        inner = nodes["is_leaf"] == 0
        Trees(
            np.array([0, len(nodes)]),
            np.where(inner, nodes["left"].astype(np.int64), LEAF),
            np.where(inner, nodes["right"].astype(np.int64), LEAF),
            np.where(inner, nodes["feature_idx"].astype(np.int64), LEAF),
            nodes["num_threshold"],
            nodes["missing_go_to_left"].astype(bool),
            estimator.n_features_in_,
        )
        tests = nodes[inner & (nodes["is_categorical"] != 0)]
        if not categorical[tests["feature_idx"]].all():
            raise ValueError("nodes: expected tests of categories on features that are categories, got another")
        if tests.size and (tests["bitset_idx"].max() >= len(sets) or sets.shape[1:] != (8,)):
            raise ValueError("nodes: expected tests of categories that are stored, got another")
