"""Read XGBoost's boosters from their JSON model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import logit

from ipforest._internal.arrays import FloatArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.joining import TreeNodes, classes_of_margins, join_trees

LINKS = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "logit"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "multinomial logit"),
    **dict.fromkeys(
        (
            "reg:squarederror",
            "reg:squaredlogerror",
            "reg:pseudohubererror",
            "reg:absoluteerror",
            "reg:quantileerror",
        ),
        "identity",
    ),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "log"),
}
"""Link of each objective that is read."""

JUDGED = (
    *("binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax"),
    *("reg:squarederror", "count:poisson"),
)
"""Objectives that are the loss of their link."""


def read_xgboost(model: Any) -> BoostedTrees:
    """Read a fitted XGBClassifier, XGBRegressor or Booster.

    Where training stopped early, an estimator predicts from its best round, a Booster from all: so it is here.

    Raises
    ------
    TypeError
        An objective that is not read, a linear booster, trees for several targets, another mark of missing values than
        NaN, or numbers as categories that are not 0, 1, 2, ...
    """
    is_estimator = hasattr(model, "get_booster")
    booster = model.get_booster() if is_estimator else model
    if is_estimator and not np.isnan(model.missing):
        raise TypeError(f"model: expected missing values to be NaN, got missing={model.missing!r}")
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, sizes = learner["objective"]["name"], learner["learner_model_param"]
    if objective not in LINKS:
        raise TypeError(f"model: expected an objective of {', '.join(LINKS)}, got {objective}")
    if int(sizes["num_target"]) > 1:
        raise TypeError(f"model: expected trees for one target, got {sizes['num_target']} targets")
    n_margins = max(1, int(sizes["num_class"]))
    link = LINKS[objective]
    stored, weights = _stored_trees(learner["gradient_booster"])
    n_kept = len(stored["trees"])
    if is_estimator and "best_iteration" in learner["attributes"]:
        trees_per_round = n_margins * int(stored["gbtree_model_param"]["num_parallel_tree"])
        n_kept = (int(learner["attributes"]["best_iteration"]) + 1) * trees_per_round
    trees = [_nodes(tree, weight) for tree, weight in zip(stored["trees"][:n_kept], weights, strict=False)]
    return BoostedTrees(
        **join_trees(trees),
        n_features=int(sizes["num_feature"]),
        comparison="<",
        feature_names=tuple(learner["feature_names"]) or None,
        categories=_categories(stored),
        dtype=np.dtype(np.float32),
        first_output=np.array(stored["tree_info"][:n_kept], dtype=np.int32),
        base_score=_base_margins(sizes["base_score"], link, n_margins),
        classes=classes_of_margins(model, link, n_margins),
        link=link,
        loss=None if objective in JUDGED else objective,
    )


def trained_categories(model: Any) -> Categories:
    """Return the columns of categories and their names, as far as this version of XGBoost keeps them.

    A word that training has not seen is missing here; XGBoost refuses it, or takes it for the next one it knows.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    return _categories(_stored_trees(json.loads(booster.save_raw("json"))["learner"]["gradient_booster"])[0])


def _stored_trees(booster: dict[str, Any]) -> tuple[dict[str, Any], list[float]]:
    """Return the trees as they are stored, and the weight of each."""
    if booster["name"] not in ("gbtree", "dart"):
        raise TypeError(f"model: expected a booster of trees, got {booster['name']}")
    stored: dict[str, Any] = booster.get("gbtree", booster)["model"]
    return stored, booster.get("weight_drop") or [1.0] * len(stored["trees"])


def _categories(stored: dict[str, Any]) -> Categories:
    names = {column: _decoded(encoded) for column, encoded in enumerate(stored.get("cats", {}).get("enc", []))}
    named = {column: categories for column, categories in names.items() if categories}
    return Categories((*named,), named)


def _decoded(encoded: dict[str, Any]) -> tuple[Any, ...]:
    """List the categories of a column of a data frame; words are stored as their bytes, one after another."""
    values: list[Any] = encoded["values"]
    if "offsets" not in encoded:
        return (*values,)
    return tuple(bytes(values[start:stop]).decode() for start, stop in pairwise(encoded["offsets"]))


def _nodes(tree: dict[str, Any], weight: float) -> TreeNodes:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise TypeError("model: expected trees for one target, got leaves with several values")
    conditions = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    tests_category = np.isin(np.arange(conditions.size), tree["categories_nodes"])
    starts, sizes = tree["categories_segments"], tree["categories_sizes"]
    rows = zip(tree["categories_nodes"], starts, sizes, strict=True)
    return TreeNodes(
        left=tree["left_children"],
        right=tree["right_children"],
        feature=tree["split_indices"],
        threshold=np.where(tests_category, 0.0, conditions),
        missing_left=tree["default_left"],
        value=weight * conditions,
        left_categories={node: (tree["categories"][start : start + size], True) for node, start, size in rows},
    )


def _base_margins(text: str, link: str, n_margins: int) -> FloatArray:
    """Turn the base score, stored as a prediction, into margins."""
    scores = np.atleast_1d(np.array(json.loads(text), dtype=np.float32)).astype(np.float64)
    margins = {"logit": logit, "log": np.log}.get(link, np.asarray)(scores)
    return np.broadcast_to(margins, (n_margins,)).astype(np.float64)
