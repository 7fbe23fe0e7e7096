"""A fitted classifier as plain data: trees or stages, the rule that stops them, names; what JSON and C are made from.

The schema is `schema.json`; `ipforest.deployment.reader` predicts from it.
"""

from __future__ import annotations

import json
from math import isinf
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, IntArray
from ipforest.deployment.reader import FORMAT, VERSION
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.estimator import BudgetedEstimator
from ipforest.frontiers.averaged_trees import AveragedTrees
from ipforest.frontiers.context_cascades import ContextRouter
from ipforest.policy import TreesInOrder
from ipforest.stopping.early_exit import EarlyExitPolicy
from ipforest.stopping.rules import CertifiedRule, FittedRule, StagedRule, ThresholdStopping
from ipforest.stopping.stages import Stage, StagesInOrder
from ipforest.walks import END

LARGEST = float(np.finfo(np.float64).max)
"""Stands for an infinite threshold, which JSON does not write: all numbers are at most this."""


def write_json(model: BudgetedEstimator) -> str:
    """Write a fitted classifier as JSON; see `document_of`."""
    return json.dumps(document_of(model), allow_nan=False, separators=(",", ":"))


def document_of(model: BudgetedEstimator) -> dict[str, Any]:
    """Describe how a fitted classifier buys features, when it stops, and what it answers.

    Parameters
    ----------
    model : fitted estimator
        Its trees in order, these with a rule that stops buying, or stages whose models are trees.

    Returns
    -------
    dict
        As ``schema.json`` says.

    Raises
    ------
    TypeError
        A stage has a model that is no ensemble of trees.
    ValueError
        It is no classifier, or something decides that the document does not hold: class costs, a cap, categories of a
        table with names, delayed features, a stage that sees what the one before answers.
    """
    check_is_fitted(model)
    _check_exportable(model)
    seller, policy = model._seller(), model.policy()
    first_unit = seller.first_unit
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "classes": np.asarray(model.classes_).tolist(),
        "features": list(seller.feature_names),
        "free": seller.free_features.tolist(),
        "comes_with": [np.flatnonzero(first_unit == unit).tolist() for unit in first_unit],
        "rule": None,
        "level": "-inf",
    }
    if isinstance(policy, EarlyExitPolicy):
        document |= {"rule": _rule(policy._rule), "level": _number(policy._level)}
        policy = policy._trees
    elif isinstance(policy, StagesInOrder):
        stages = [_stage(policy, number) for number in range(len(policy.stages))]
        return document | {
            "kind": "stages",
            "stages": stages,
            "rule": _rule(policy._rule),
            "level": _number(policy._level),
        }
    if type(policy) is not TreesInOrder:
        raise ValueError(f"model: expected averaged trees or stages, got one that decides by {policy.decides_by}")
    return document | {"kind": "trees", "trees": _trees(policy.trees, np.arange(model.n_features_in_))}


def _check_exportable(model: BudgetedEstimator) -> None:
    if not is_classifier(model):
        raise ValueError(f"model: expected a classifier, got {type(model).__name__}")
    parts = {
        "class_costs": model.class_costs_ is not None,
        f"max_cost={model.max_cost}": model.max_cost is not None,
        "categories that have names": bool(model._seller().categories),
        "delayed features": bool(model.costs_.delayed.any()),
    }
    decides = [part for part, is_there in parts.items() if is_there]
    if decides:
        raise ValueError(
            f"{type(model).__name__}: expected a model that an export holds whole, got one with {' and '.join(decides)}"
        )


def _stage(policy: StagesInOrder, number: int) -> dict[str, Any]:
    stage = policy.stages[number]
    if stage.sees_before:
        raise ValueError(f"stage {number + 1}: expected one that sees features only, got one that sees the one before")
    constant = stage.model.class_prior_ if isinstance(stage.model, DummyClassifier) else None
    router, following = _router(stage)
    return {
        "features": stage.features.tolist(),
        "depth": int(policy._depth[number]),
        "constant": None if constant is None else constant.tolist(),
        "trees": [] if constant is not None else [_trees(trees, stage.features) for trees in _ensembles(stage, number)],
        "router": router,
        "following": following,
    }


def _ensembles(stage: Stage, number: int) -> tuple[Forest | BoostedTrees, ...]:
    """Return the ensembles whose class probabilities a stage averages."""
    if isinstance(stage.model, AveragedTrees):
        return stage.model.ensembles_
    try:
        return (read(stage.model),)
    except TypeError as error:
        raise TypeError(f"stage {number + 1}: {error}") from None


def _router(stage: Stage) -> tuple[dict[str, Any] | None, list[int]]:
    """Describe how a stage sends examples on: a tree, and where examples go from each of its nodes."""
    following = stage.following.tolist()
    if stage.router is None:
        return None, following
    if isinstance(stage.router, ContextRouter):
        router = {
            "left": [1, END, END],
            "right": [2, END, END],
            "feature": [int(stage.features[stage.router.column])] * 3,
            "threshold": [_finite(stage.router.threshold)] * 3,
            "missing_left": [False] * 3,
            "dtype": "float64",
        }
        return router, [END, *following]
    if not isinstance(stage.router, DecisionTreeRegressor):
        raise TypeError(f"router: expected a context or a regression tree, got {type(stage.router).__name__}")
    tree = stage.router.tree_
    tested = np.maximum(tree.feature, 0)
    return {
        "left": tree.children_left.tolist(),
        "right": tree.children_right.tolist(),
        "feature": stage.features[tested].tolist(),
        "threshold": tree.threshold.tolist(),
        "missing_left": tree.missing_go_to_left.astype(bool).tolist(),
        "dtype": "float32",
    }, following


def _trees(trees: Forest | BoostedTrees, features: IntArray) -> dict[str, Any]:
    """Describe trees whose columns are some of the features."""
    splits = trees.splits
    boosted = isinstance(trees, BoostedTrees)
    base = trees.base_score if isinstance(trees, BoostedTrees) else np.zeros(trees.value.shape[1])
    first = trees.first_output if isinstance(trees, BoostedTrees) else np.zeros(trees.n_trees, dtype=np.int32)
    sets = trees.left_categories
    return {
        "link": trees.link if isinstance(trees, BoostedTrees) else "mean",
        "dtype": str(trees.dtype),
        "root": splits.root.tolist(),
        "left": splits.left.tolist(),
        "right": splits.right.tolist(),
        "feature": np.where(trees.is_leaf, -1, features[np.maximum(splits.feature, 0)]).tolist(),
        "threshold": [_finite(each) for each in np.where(trees.is_leaf, 0.0, splits.threshold).tolist()],
        "missing_left": splits.missing_left.tolist(),
        "value": _values(trees, boosted).tolist(),
        "first_output": first.tolist(),
        "base_score": base.tolist(),
        "category_set": splits.category_set.tolist() if len(sets) else [],
        "sets": [[sets.members(number).tolist(), bool(sets.others[number])] for number in range(len(sets))],
    }


def _values(trees: Forest | BoostedTrees, boosted: bool) -> Array:
    """Return what nodes add; that of inner nodes of summed trees follows from their leaves."""
    return np.where(trees.is_leaf[:, None], trees.value, 0.0) if boosted else trees.value


def _rule(rule: FittedRule) -> dict[str, Any]:
    if isinstance(rule, ThresholdStopping):
        return {"kind": "threshold"}
    if isinstance(rule, StagedRule):
        lambdas = [[_number(each) for each in row.tolist()] for row in rule.lambdas]
        return {"kind": "staged", "edges": [row.tolist() for row in rule.edges], "lambdas": lambdas}
    if isinstance(rule, CertifiedRule):
        return {
            "kind": "certified",
            "next_stage": [*rule.next_stage],
            "first_child": [*rule.first_child],
            "edges": [row.tolist() for row in rule.edges],
            "lambdas": [_number(each) for each in rule.lambdas.tolist()],
        }
    raise TypeError(f"rule: expected one of this package, got {type(rule).__name__}")


def _number(value: float) -> float | str:
    """Write infinite numbers as texts, which `float` reads in Python."""
    return str(value) if isinf(value) else value


def _finite(threshold: float) -> float:
    return min(max(threshold, -LARGEST), LARGEST)
