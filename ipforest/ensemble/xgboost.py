"""Read XGBoost's boosters from their JSON model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy.special import logit

from ipforest._arrays import FloatArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.joining import TreeNodes, category_row, join_trees

LINKS = {
    **dict.fromkeys(("binary:logistic", "reg:logistic", "binary:logitraw"), "logit"),
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


def read_xgboost(model: Any) -> BoostedTrees:
    """Read a fitted XGBClassifier, XGBRegressor or Booster, up to its best round where training stopped early.

    Columns go by their order.

    Raises
    ------
    TypeError
        An objective that is not read, a linear booster, or trees for several targets.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective = learner["objective"]["name"]
    if objective not in LINKS:
        raise TypeError(f"model: expected an objective of {', '.join(LINKS)}, got {objective}")
    trees, outputs = _trees(learner)
    if "best_iteration" in learner["attributes"]:
        n_kept = (int(learner["attributes"]["best_iteration"]) + 1) * len(set(outputs))
        trees, outputs = trees[:n_kept], outputs[:n_kept]
    n_margins = max(1, int(learner["learner_model_param"]["num_class"]))
    link = LINKS[objective]
    return BoostedTrees(
        **join_trees(trees),
        n_features=int(learner["learner_model_param"]["num_feature"]),
        comparison="<",
        dtype=np.dtype(np.float32),
        first_output=np.array(outputs, dtype=np.int32),
        base_score=_base_margins(learner["learner_model_param"]["base_score"], link, n_margins),
        classes=_classes(model, link, n_margins),
        link=link,
    )


def _trees(learner: dict[str, Any]) -> tuple[list[TreeNodes], list[int]]:
    """List the trees, and the margin that each adds to."""
    booster = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise TypeError(f"model: expected a booster of trees, got {booster['name']}")
    weights = booster.get("weight_drop")
    stored = booster.get("gbtree", booster)["model"]
    weights = [1.0] * len(stored["trees"]) if weights is None else weights
    trees = [_nodes(tree, weight) for tree, weight in zip(stored["trees"], weights, strict=True)]
    return trees, stored["tree_info"]


def _nodes(tree: dict[str, Any], weight: float) -> TreeNodes:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise TypeError("model: expected trees for one target, got leaves with several values")
    conditions = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    starts, sizes = tree["categories_segments"], tree["categories_sizes"]
    rows = zip(tree["categories_nodes"], starts, sizes, strict=True)
    return TreeNodes(
        left=tree["left_children"],
        right=tree["right_children"],
        feature=tree["split_indices"],
        threshold=conditions,
        missing_left=tree["default_left"],
        value=weight * conditions,
        left_categories={
            node: category_row(tree["categories"][start : start + size], inside=False, others=True)
            for node, start, size in rows
        },
    )


def _base_margins(text: str, link: str, n_margins: int) -> FloatArray:
    """Turn the base score, stored as a prediction, into margins."""
    scores = np.atleast_1d(np.array(json.loads(text), dtype=np.float32)).astype(np.float64)
    margins = {"logit": logit, "log": np.log}.get(link, np.asarray)(scores)
    return np.broadcast_to(margins, (n_margins,)).astype(np.float64)


def _classes(model: Any, link: str, n_margins: int) -> Any:
    if link in ("identity", "log"):
        return None
    return np.asarray(getattr(model, "classes_", np.arange(max(2, n_margins))))
