"""Read and write XGBoost's boosters by their JSON model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from ipforest._internal.arrays import Array, FloatArray, IntArray, rounding
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import Categories, PlacedCategories
from ipforest.ensemble.joining import TreeNodes, classes_of_margins, join_trees
from ipforest.ensemble.trees import LEAF

LINKS = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "logit"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "multinomial logit"),
    **dict.fromkeys(
        ("reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror", "reg:quantileerror"),
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

WRITTEN = {
    "identity": "reg:squarederror",
    "log": "count:poisson",
    "logit": "binary:logistic",
    "half logit": "binary:logistic",
    "multinomial logit": "multi:softprob",
}
"""Objective under which each link is written."""

PARAMETERS: dict[str, dict[str, Any]] = {
    "count:poisson": {"poisson_regression_param": {"max_delta_step": "0.7"}},
    "reg:tweedie": {"tweedie_regression_param": {"tweedie_variance_power": "1.5"}},
    "reg:quantileerror": {"quantile_loss_param": {"quantile_alpha": "[0.5]"}},
    "reg:pseudohubererror": {"pseudo_huber_param": {"huber_slope": "1"}},
}
"""What XGBoost wants to read of objectives, at its defaults."""

CLASSES = "ipforest_classes"
"""Attribute of a written booster: its classes as JSON, null for targets."""

NO_PARENT = 2**31 - 1

ROUNDING = 1e-7
"""Of a base score as XGBoost holds it, in units of the margin or of 1."""


def read_xgboost(model: Any) -> BoostedTrees:
    """Read a fitted XGBClassifier, XGBRegressor or Booster.

    Where training stopped early, an estimator predicts from its best round, a Booster from all: so it is here.

    Raises
    ------
    TypeError
        An objective that is not read, a linear booster, trees for several targets, or another mark of missing values
        than NaN.
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
        classes=_classes(model, learner["attributes"], link, n_margins),
        link=link,
        loss=None if objective in JUDGED else objective,
    )


def _classes(model: Any, attributes: dict[str, str], link: str, n_margins: int) -> Array | None:
    """Return the classes, those that a written booster keeps."""
    if CLASSES not in attributes or hasattr(model, "get_booster"):
        return classes_of_margins(model, link, n_margins)
    classes = json.loads(attributes[CLASSES])
    return None if classes is None else np.array(classes)


def write_xgboost(trees: BoostedTrees) -> Any:
    """Return boosted trees as an `xgboost.Booster`; see `ipforest.ensemble.write`.

    XGBoost holds thresholds and leaves as float32, rounds examples to float32, and compares with <. Thresholds are
    written so that every float32 value goes where it goes here. Base scores that XGBoost, which holds them as
    predictions, would round too much become a first round of single leaves. Classes are in an attribute of the booster,
    from which `ipforest.ensemble.read` takes them; XGBoost numbers them. Parameters of a loss, such as the level of a
    quantile, matter to training alone, and trees do not keep them: they are XGBoost's defaults, and the median.

    Raises
    ------
    TypeError
        They are no `BoostedTrees`.
    ValueError
        Tests of categories, another loss than that of XGBoost's objectives, a leaf that float32 does not hold, or
        several classes with fewer margins.
    """
    from xgboost import Booster

    booster = Booster()
    booster.load_model(bytearray(xgboost_text(trees).encode()))
    return booster


def xgboost_text(trees: BoostedTrees) -> str:
    """Write the JSON of an XGBoost model; see `write_xgboost`."""
    if not isinstance(trees, BoostedTrees):
        raise TypeError(f"trees: expected BoostedTrees, which XGBoost adds up, got {type(trees).__name__}")
    if trees.tests_categories.any():
        raise ValueError("trees: expected tests of numbers, got tests of categories")
    objective = WRITTEN[trees.link] if trees.loss is None else trees.loss
    if LINKS.get(objective) != {"half logit": "logit"}.get(trees.link, trees.link):
        raise ValueError(f"trees: expected the loss of their link or one of XGBoost, got {trees.loss!r}")
    factor, n_margins = 2.0 if trees.link == "half logit" else 1.0, trees.base_score.size
    base, leaves = _written_base(factor * trees.base_score, LINKS[objective])
    cover = trees.positive_cover()
    parts = [(column, _leaf(number, score)) for number, (column, score) in enumerate(leaves)]
    for first, (start, stop) in zip(trees.first_output.tolist(), trees, strict=True):
        for column in range(trees.value.shape[1]):
            parts.append((first + column, _written_tree(trees, cover, start, stop, column, factor, len(parts))))
    info = [margin for margin, _ in parts]
    is_regular = info == [number % n_margins for number in range(len(parts))]
    rounds = [*range(0, len(parts) + 1, n_margins)] if is_regular and len(parts) % n_margins == 0 else [0, len(parts)]
    sizes = {
        "base_score": json.dumps(base),
        "boost_from_average": "1",
        "num_class": str(n_margins if n_margins > 1 else 0),
        "num_feature": str(trees.n_features),
        "num_target": "1",
    }
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(parts))},
        "iteration_indptr": rounds,
        "tree_info": info,
        "trees": [tree for _, tree in parts],
    }
    classes = None if trees.classes is None else trees.classes.tolist()
    learner = {
        "attributes": {CLASSES: json.dumps(classes)},
        "feature_names": [*(trees.feature_names or ())],
        "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": sizes,
        "objective": {"name": objective, **_parameters(objective, n_margins)},
    }
    return json.dumps({"learner": learner, "version": [3, 0, 0]}, ensure_ascii=False)  # it reads no escapes as \u00fc


def _parameters(objective: str, n_margins: int) -> dict[str, Any]:
    """Give the parameters of an objective that XGBoost wants to read."""
    if objective.startswith("multi:"):
        return {"softmax_multiclass_param": {"num_class": str(n_margins)}}
    return PARAMETERS.get(objective, {"reg_loss_param": {"scale_pos_weight": "1"}})


def _written_base(margins: FloatArray, link: str) -> tuple[float, list[tuple[int, float]]]:
    """Return the base score as XGBoost holds it, and leaves (margin, value) where one number would not do.

    XGBoost before 3.1 takes one number, and passes over several.
    """
    written = _short(float({"logit": expit, "log": np.exp}.get(link, np.asarray)(margins[0])))
    with np.errstate(divide="ignore"):
        found = _base_margins(json.dumps(written), link, margins.size)
    if (np.abs(found - margins) <= ROUNDING * np.maximum(1.0, np.abs(margins))).all():
        return written, []
    return {"logit": 0.5, "log": 1.0}.get(link, 0.0), [*enumerate(margins.tolist())]


def _short(value: float) -> float:
    """Round to float32, and give the number of fewest digits that is rounded to it."""
    with rounding():
        single = np.float32(value)
    if not np.isfinite(single):
        raise ValueError(f"trees: expected thresholds and leaves that float32 holds, as in XGBoost, got {value!r}")
    return float(str(single))


def _leaf(number: int, value: float) -> dict[str, Any]:
    return _tree(number, [-1], [-1], [0], [_short(value)], [0], [0.0])


def _written_tree(
    trees: BoostedTrees, cover: FloatArray, start: int, stop: int, column: int, factor: float, number: int
) -> dict[str, Any]:
    """Write the nodes of one tree, with what they add to one of its margins."""
    children = (trees.left[start:stop] - start, trees.right[start:stop] - start)
    order, place = _side_by_side(*(side[~trees.is_leaf[start:stop]] for side in children))
    nodes = start + order
    is_leaf, added = trees.is_leaf[nodes], factor * trees.value[nodes, column]
    left, right = (np.where(is_leaf, -1, place[side[order] * ~is_leaf]).tolist() for side in children)
    with rounding():  # all numbers are below infinity: where LightGBM tests whether a value is missing
        above = np.nextafter(trees.float32_thresholds()[nodes], np.float32(np.inf))
    return _tree(
        number,
        left,
        right,
        np.where(is_leaf, 0, trees.feature[nodes]).tolist(),
        [
            _short(leaf) if ends else float(str(test))
            for ends, leaf, test in zip(is_leaf, added.tolist(), above, strict=True)
        ],
        np.where(is_leaf, 0, trees.missing_left[nodes]).tolist(),
        list(map(_short, cover[nodes].tolist())),
    )


def _side_by_side(left: Array, right: Array) -> tuple[IntArray, IntArray]:
    """Order the nodes of a tree so that right children follow left ones at once, as XGBoost takes on trust.

    Parameters
    ----------
    left, right : ndarray of int, shape (n_internal,)
        The children of each node that has any.

    Returns
    -------
    order, place : ndarray of int64, shape (n_nodes,)
        The node at each place, and the place of each node; a tree that is so ordered stays as it is.
    """
    pairs = np.column_stack([left, right])
    order = np.append(0, pairs[np.argsort(left)].ravel()).astype(np.int64)
    return order, np.argsort(order)


def _tree(
    number: int,
    left: list[int],
    right: list[int],
    feature: list[int],
    conditions: list[float],
    missing_left: list[int],
    cover: list[float],
) -> dict[str, Any]:
    parents, zeros = [NO_PARENT] * len(left), [0.0] * len(left)
    for node, children in enumerate(zip(left, right, strict=True)):
        for child in children:
            if child >= 0:
                parents[child] = node
    return {
        "id": number,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(max(feature) + 1),
            "num_nodes": str(len(left)),
            "size_leaf_vector": "1",
        },
        "left_children": left,
        "right_children": right,
        "parents": parents,
        "split_indices": feature,
        "split_conditions": conditions,
        "split_type": [0] * len(left),
        "default_left": missing_left,
        "base_weights": zeros,
        "loss_changes": zeros,
        "sum_hessian": cover,
        **{name: list[int]() for name in ("categories", "categories_nodes", "categories_segments", "categories_sizes")},
    }


def trained_categories(model: Any) -> Categories:
    """Return the columns of categories and their names, as far as this version of XGBoost keeps them.

    A word that training has not seen is missing here; XGBoost refuses it, or takes it for the next one it knows.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    return _categories(_stored_trees(json.loads(booster.save_raw("json"))["learner"]["gradient_booster"])[0])


def _stored_trees(booster: dict[str, Any]) -> tuple[dict[str, Any], list[float]]:
    """Return the trees as they are stored, and the weight of each, which XGBoost keeps with the trees since 3.4."""
    if booster["name"] not in ("gbtree", "dart"):
        raise TypeError(f"model: expected a booster of trees, got {booster['name']}")
    stored: dict[str, Any] = booster.get("gbtree", booster)["model"]
    weights = stored.get("weight_drop") or booster.get("weight_drop")
    return stored, weights or [1.0] * len(stored["trees"])


def _categories(stored: dict[str, Any]) -> Categories:
    names = {column: _decoded(encoded) for column, encoded in enumerate(stored.get("cats", {}).get("enc", []))}
    named = {column: categories for column, categories in names.items() if categories}
    tested = {tree["split_indices"][node] for tree in stored["trees"] for node in tree["categories_nodes"]}
    return PlacedCategories((*sorted(tested | named.keys()),), named)


def _decoded(encoded: dict[str, Any]) -> tuple[Any, ...]:
    """List the categories of a column of a data frame; words are stored as their bytes, one after another.

    Raises
    ------
    ValueError
        A letter takes several bytes: of a frame of pandas XGBoost keeps as many bytes as there are letters, which are
        parts of other words.
    """
    values: list[Any] = encoded["values"]
    if "offsets" not in encoded:
        return (*values,)
    words = [bytes(byte & 0xFF for byte in values[start:stop]) for start, stop in pairwise(encoded["offsets"])]
    if cut := next((word for word in words if not word.isascii()), None):
        raise ValueError(
            f"model: expected categories in ASCII, as XGBoost cuts other words, got {cut.decode(errors='replace')!r}; "
            "rename them before training, as by X[column].cat.rename_categories(...)"
        )
    return tuple(word.decode() for word in words)


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
        value=weight * np.where(np.equal(tree["left_children"], LEAF), conditions, 0.0),
        cover=tree["sum_hessian"],
        left_categories={node: (tree["categories"][start : start + size], True) for node, start, size in rows},
    )


def _base_margins(text: str, link: str, n_margins: int) -> FloatArray:
    """Turn the base score, stored as a prediction, into margins."""
    scores = np.atleast_1d(np.array(json.loads(text), dtype=np.float32))
    margins = _logit(scores) if link == "logit" else {"log": np.log}.get(link, np.asarray)(scores.astype(np.float64))
    return np.broadcast_to(margins, (n_margins,)).astype(np.float64)


def _logit(share: Array) -> FloatArray:
    """Return the margins of shares as XGBoost does: in single precision, from neither 0 nor 1, but 1e-6 off."""
    least = np.float32(1e-6)
    inside = np.clip(share, least, np.float32(1) - least)
    return np.asarray(-np.log(np.float32(1) / inside - np.float32(1)))
