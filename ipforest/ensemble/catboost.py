"""Read CatBoost's symmetric trees from its JSON model."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.joining import TreeNodes, classes_of_margins, join_trees
from ipforest.ensemble.trees import LEAF

LINKS = {
    **dict.fromkeys(("Logloss", "CrossEntropy"), "logit"),
    "MultiClass": "multinomial logit",
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE"), "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "log"),
}
"""Link of each loss that is read."""

JUDGED = ("Logloss", "CrossEntropy", "MultiClass", "RMSE", "Poisson")
"""Losses that are those of their link."""


def read_catboost(model: Any) -> BoostedTrees:
    """Read a fitted CatBoostClassifier, CatBoostRegressor or CatBoost whose trees are symmetric.

    A symmetric tree makes the same test at all nodes of a level. The base class CatBoost predicts margins: it is read
    where these are the targets.

    Raises
    ------
    TypeError
        A loss that is not read, a sum of models, other trees, columns of text or embeddings, tests of categories,
        another probability threshold than one half, or a loss of classes in a regressor, of targets in a classifier.
    """
    from catboost import CatBoostClassifier, CatBoostRegressor

    for kind, columns in (
        ("text", model.get_text_feature_indices()),
        ("embeddings", model.get_embedding_feature_indices()),
    ):
        if columns:
            raise TypeError(f"model: expected tests of numbers, got columns of {kind}: {columns[:3]}")
    stored = _dump(model)
    if "params" not in stored["model_info"]:
        raise TypeError("model: expected one that was trained, got a sum of models, which does not keep its parameters")
    threshold = stored["model_info"].get("binclass_probability_threshold", "0.5")
    if float(threshold) != 0.5:
        raise TypeError(
            f"model: expected a probability threshold of 0.5, got {threshold}; set_probability_threshold(0.5)"
        )
    loss = str(stored["model_info"]["params"]["loss_function"]["type"])
    if loss not in LINKS:
        raise TypeError(f"model: expected a loss of {', '.join(LINKS)}, got {loss}")
    kind = CatBoostClassifier if "logit" in LINKS[loss] else CatBoostRegressor
    gives_margins = not isinstance(model, CatBoostClassifier | CatBoostRegressor)
    if not isinstance(model, kind) and not (LINKS[loss] == "identity" and gives_margins):
        raise TypeError(
            f"model: expected a {kind.__name__} for the loss {loss}, got {type(model).__name__}, whose predict gives "
            "something else; use catboost.to_classifier or catboost.to_regressor"
        )
    if "oblivious_trees" not in stored:
        raise TypeError("model: expected symmetric trees, got other ones (grow_policy)")
    features = stored["features_info"].get("float_features", [])
    scale, base = stored["scale_and_bias"]
    trees = [_nodes(tree, features, scale) for tree in stored["oblivious_trees"]]
    n_features = len(model.feature_names_)
    link = LINKS[loss]
    return BoostedTrees(
        **join_trees(trees),
        n_features=n_features,
        dtype=np.dtype(np.float32),
        first_output=np.zeros(len(trees), dtype=np.int32),
        base_score=np.array(base, dtype=np.float64),
        feature_names=tuple(model.feature_names_) if any(map(_name, features)) else None,
        classes=classes_of_margins(model, link, len(base)),
        link=link,
        loss=None if loss in JUDGED else loss,
    )


def _name(feature: dict[str, Any]) -> str:
    """Return the name of a feature; it is empty where the model was trained on an array."""
    return str(feature.get("feature_id", ""))


def _dump(model: Any) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def _nodes(tree: dict[str, Any], features: list[dict[str, Any]], scale: float) -> TreeNodes:
    """Unfold a symmetric tree: test s sets bit s of the leaf's number where the feature exceeds the border."""
    splits = tree["splits"]
    for split in splits:
        if split["split_type"] != "FloatFeature":
            raise TypeError(f"model: expected tests of numbers, got one of categories or text ({split['split_type']})")
    depth = len(splits)
    values = scale * np.array(tree["leaf_values"], dtype=np.float64).reshape(2**depth, -1)
    tested = [features[split["float_feature_index"]] for split in splits]
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    node = np.arange(level.size)
    is_leaf = level == depth
    test = np.minimum(level, depth - 1)

    def of_level(per_split: list[Any]) -> Array:
        return np.asarray(per_split)[test] if depth else np.zeros(1, dtype=np.int64)

    in_order = _reversed_bits(np.arange(2**depth), depth)
    node_values, cover = np.zeros((level.size, values.shape[1])), np.zeros(level.size)
    node_values[is_leaf] = values[in_order]
    cover[is_leaf] = np.array(tree.get("leaf_weights") or np.zeros(2**depth))[in_order]
    for inner in range(2**depth - 2, -1, -1):
        cover[inner] = cover[2 * inner + 1] + cover[2 * inner + 2]
    return TreeNodes(
        left=np.where(is_leaf, LEAF, 2 * node + 1),
        right=np.where(is_leaf, LEAF, 2 * node + 2),
        feature=of_level([feature["flat_feature_index"] for feature in tested]),
        threshold=of_level([np.float64(np.float32(split["border"])) for split in splits]),
        missing_left=of_level([feature["nan_value_treatment"] != "AsTrue" for feature in tested]),
        value=node_values,
        cover=cover,
    )


def _reversed_bits(numbers: Array, n_bits: int) -> Array:
    """Reverse the bits: leaves in order have the first test as their highest bit, CatBoost as the lowest."""
    result = np.zeros_like(numbers)
    for bit in range(n_bits):
        result |= (numbers >> bit & 1) << (n_bits - 1 - bit)
    return result
