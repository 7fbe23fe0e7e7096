"""Read LightGBM's boosters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipforest._arrays import Array
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.trees import LEAF

LINKS = {
    "binary": "logit",
    "multiclass": "multinomial logit",
    "regression": "identity",
}
"""Link of each objective that is read."""


def read_lightgbm(model: Any) -> BoostedTrees:
    """Read a fitted LGBMClassifier, LGBMRegressor or Booster.

    Columns go by their order: LightGBM changes names that have blanks in them.

    Raises
    ------
    TypeError
        An objective that is not read, trees that are averaged (random forest mode), linear trees or categorical splits.
    sklearn.exceptions.NotFittedError
        The estimator is not fitted.
    """
    booster = getattr(model, "booster_", model)
    dump = booster.dump_model()
    link, scale = _link(str(dump["objective"]))
    n_margins = int(dump["num_tree_per_iteration"])
    trees = [_Tree(info["tree_structure"]) for info in _checked_trees(dump)]
    offsets = np.concatenate([[0], np.cumsum([tree.size for tree in trees])])

    def joined(name: str) -> Array:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def children(name: str) -> Array:
        parts = (
            np.where(getattr(tree, name) == LEAF, LEAF, getattr(tree, name) + start)
            for tree, start in zip(trees, offsets, strict=False)
        )
        return np.concatenate(list(parts)).astype(np.int32)

    return BoostedTrees(
        tree_offsets=offsets,
        left=children("left"),
        right=children("right"),
        feature=joined("feature").astype(np.int32),
        threshold=joined("threshold"),
        missing_left=joined("missing_left"),
        n_features=int(dump["max_feature_idx"]) + 1,
        dtype=np.dtype(np.float64),
        value=scale * joined("value")[:, None],
        first_output=(np.arange(len(trees)) % n_margins).astype(np.int32),
        base_score=np.zeros(n_margins),
        classes=_classes(model, link, n_margins),
        link=link,
    )


def _link(objective: str) -> tuple[str, float]:
    """Return the link of an objective such as ``binary sigmoid:1``, and what margins are multiplied by before it."""
    name, *options = objective.split()
    if name not in LINKS or "sqrt" in options:
        raise TypeError(f"model: expected an objective of {', '.join(LINKS)}, got {objective}")
    scales = [float(option.removeprefix("sigmoid:")) for option in options if option.startswith("sigmoid:")]
    return LINKS[name], scales[0] if scales else 1.0


def _classes(model: Any, link: str, n_margins: int) -> Array | None:
    if link == "identity":
        return None
    return np.asarray(getattr(model, "classes_", np.arange(max(2, n_margins))))


def _checked_trees(dump: dict[str, Any]) -> list[dict[str, Any]]:
    if dump["average_output"]:
        raise TypeError("model: expected boosted trees, got averaged ones (boosting_type='rf')")
    return list(dump["tree_info"])


class _Tree:
    """One tree of the dump as arrays, parents first."""

    def __init__(self, structure: dict[str, Any]) -> None:
        nodes = [structure]
        left, right = [], []
        for node in nodes:
            is_leaf = "left_child" not in node
            left.append(LEAF if is_leaf else len(nodes))
            right.append(LEAF if is_leaf else len(nodes) + 1)
            if not is_leaf:
                nodes += [node["left_child"], node["right_child"]]
        self.size = len(nodes)
        self.left, self.right = np.array(left), np.array(right)
        self.feature = np.array([node.get("split_feature", LEAF) for node in nodes])
        self.threshold = np.array([_threshold(node) for node in nodes])
        self.missing_left = np.array([_missing_left(node) for node in nodes])
        self.value = np.array([_leaf_value(node) for node in nodes])


def _threshold(node: dict[str, Any]) -> float:
    if "left_child" not in node:
        return 0.0
    if node["decision_type"] != "<=":
        raise TypeError(f"model: expected splits of numbers (<=), got a categorical one ({node['decision_type']})")
    return float(node["threshold"])


def _missing_left(node: dict[str, Any]) -> bool:
    """Return where a missing value goes; without missing values in training LightGBM takes it for 0."""
    if "left_child" not in node:
        return False
    if node["missing_type"] == "Zero":
        raise TypeError("model: expected missing values to be NaN, got zero_as_missing")
    return bool(node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0)


def _leaf_value(node: dict[str, Any]) -> float:
    if "left_child" in node:
        return 0.0
    if "leaf_features" in node:
        raise TypeError("model: expected leaves with one value, got linear trees")
    return float(node["leaf_value"])
