"""A fitted model as plain data: trees or stages, the rule that stops them, names; what JSON and C are made from.

The schema is `schema.json`; `ipforest.deployment.reader` predicts from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isinf
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, IntArray
from ipforest.costs import two_units
from ipforest.deployment.reader import FORMAT, VERSION
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.estimator import BudgetedEstimator
from ipforest.frontiers.averaged_trees import MeanOfForests
from ipforest.policy import TreesInOrder
from ipforest.stopping.early_exit import EarlyExitPolicy
from ipforest.stopping.rules import CertifiedRule, FittedRule, StagedRule, ThresholdStopping
from ipforest.stopping.stages import Stage, StagesInOrder
from ipforest.walks import END

MAX_FLOAT = float(np.finfo(np.float64).max)
"""Stands for an infinite threshold, which JSON does not write: all numbers are at most this."""


def write_json(model: BudgetedEstimator) -> str:
    """Write a fitted model as JSON; see `document_of`."""
    return json.dumps(document_of(model), allow_nan=False, separators=(",", ":"))


def document_of(model: BudgetedEstimator) -> dict[str, Any]:
    """Describe how a fitted model buys features, when it stops, and what it answers.

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
        Something decides that the document does not hold: delayed features, a stage that sees what the one before
        answers, decision thresholds, another policy than trees or stages.
    """
    check_is_fitted(model)
    _check_exportable(model)
    seller, policy = model._seller(), model.policy()
    purse, first_unit = seller.purse(model.max_cost), seller.first_unit
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "classes": None if seller.classes is None else seller.classes.tolist(),
        "class_costs": None if seller.class_costs is None else seller.class_costs.tolist(),
        "features": list(seller.feature_names),
        "categories": {str(column): _names(names) for column, names in seller.categories.items()},
        "prices": {"unit_cost": purse.unit_cost.tolist(), "units": two_units(seller.costs).tolist()},
        "cap": None,
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
    if purse.has_limit:
        document |= {"cap": {"limit": purse.limit, "missing_seen": purse.missing_seen.tolist()}}
    return document | {"kind": "trees", "trees": _trees(policy.trees, np.arange(model.n_features_in_))}


def _check_exportable(model: BudgetedEstimator) -> None:
    parts = {
        "delayed features": bool(model.costs_.delayed.any()),
        "decision thresholds": model._seller().decision is not None,
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
    constant, (router, following) = stage.constant, _router(stage, policy.affordable)
    return {
        "features": stage.features.tolist(),
        "depth": int(policy._depth[number]),
        "constant": None if constant is None else constant.tolist(),
        "trees": [] if constant is not None else [_trees(trees, stage.features) for trees in _ensembles(stage, number)],
        "router": router,
        "following": following,
    }


def _ensembles(stage: Stage, number: int) -> tuple[Forest | BoostedTrees, ...]:
    """Return the ensembles whose answers a stage averages."""
    if isinstance(stage.model, MeanOfForests):
        return stage.model.ensembles_
    try:
        return (read(stage.model),)
    except TypeError as error:
        raise TypeError(f"stage {number + 1}: {error}") from None


def _router(stage: Stage, affordable: BoolArray) -> tuple[dict[str, Any] | None, list[int]]:
    """Describe how a stage sends examples on: a tree, and where examples go from each of its nodes, if they can pay."""
    tree = stage.router_tree
    if tree is None:
        raise TypeError(f"router: expected a context or a regression tree, got {type(stage.router).__name__}")
    following = stage.following[np.maximum(tree.goal, 0)]
    following = np.where((tree.left < 0) & (following != END) & affordable[following], following, END)
    if stage.router is None:
        return None, following.tolist()
    return {
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "feature": stage.features[np.maximum(tree.feature, 0)].tolist(),
        "threshold": [_finite(each) for each in tree.threshold.tolist()],
        "missing_left": tree.missing_left.tolist(),
        "dtype": "float32" if tree.narrow[0] else "float64",
    }, following.tolist()


def _names(names: Sequence[Any]) -> list[Any]:
    """Write the categories of a column as JSON does: numbers and texts as they are, others as texts."""
    plain = np.asarray(names, dtype=object).tolist()
    return [name if isinstance(name, str | int | float | bool) else str(name) for name in plain]


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
    return min(max(threshold, -MAX_FLOAT), MAX_FLOAT)
