"""Between LightGBM's boosters and ours: read from its dump, written as its text model."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import inf
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import Categories, ListedCategories
from ipforest.ensemble.joining import TreeNodes, classes_of_margins, join_trees
from ipforest.ensemble.trees import LEAF

LINKS = {
    "binary": "logit",
    "cross_entropy": "logit",
    "multiclass": "multinomial logit",
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
}
"""Link of each objective that is read."""

JUDGED = ("binary", "cross_entropy", "multiclass", "regression", "poisson")
"""Objectives that are the loss of their link."""

OBJECTIVES = {
    "logit": "binary sigmoid:1",
    "multinomial logit": "multiclass num_class:{n_margins}",
    "identity": "regression",
    "log": "poisson",
}
"""Objective that is written for each link."""

SPECIAL = frozenset('",:[]{}')
"""Characters that LightGBM's names of features have not."""

TAKEN_FOR_ZERO = float(np.float32(1e-35))
BELOW_ZERO = float(np.nextafter(-TAKEN_FOR_ZERO, -1))
FOR_INFINITY = 1e300

CATEGORICAL, DEFAULT_LEFT, MISSING_IS_NAN = 1, 2, 8
WORD = 32
MOST_EXAMPLES = 2**31 - 1
"""What LightGBM counts a node's examples up to."""


def read_lightgbm(model: Any) -> BoostedTrees:
    """Read a fitted LGBMClassifier, LGBMRegressor or Booster.

    LightGBM writes a blank in a name as an underscore; `ipforest._internal.feature_names.as_in_training` does so, too.

    Raises
    ------
    TypeError
        An objective that is not read, trees that are averaged (random forest mode), linear trees, or predictions that
        stop after the first rounds.
    sklearn.exceptions.NotFittedError
        The estimator is not fitted.
    """
    booster = model.booster_ if hasattr(type(model), "booster_") else model
    if not hasattr(booster, "dump_model") or hasattr(booster, "boosters"):
        raise TypeError(
            f"model: expected LGBMClassifier, LGBMRegressor or Booster, got {type(booster).__name__}; of a CVBooster "
            "give one of its boosters"
        )
    names = tuple(booster.feature_name())  # the dump has them without their backslashes
    for name in names:
        if not name.isprintable() and min(name) < " ":
            raise TypeError(
                "model: expected names of columns without tabs and other control characters, with which LightGBM lists "
                f"no model, got {name!r}; rename the column, and train anew"
            )
    dump = booster.dump_model()
    objective = str(dump.get("objective", "a function of your own"))
    link, scale = _link(objective)
    _require_all_rounds(model, link)
    n_margins = int(dump["num_tree_per_iteration"])
    if dump["average_output"]:
        raise TypeError("model: expected boosted trees, got averaged ones (boosting_type='rf')")
    trees = [_nodes(info["tree_structure"]) for info in dump["tree_info"]]
    fields = join_trees(trees)
    return BoostedTrees(
        **{**fields, "value": scale * fields["value"]},
        n_features=int(dump["max_feature_idx"]) + 1,
        dtype=np.dtype(np.float64),
        first_output=(np.arange(len(trees)) % n_margins).astype(np.int32),
        base_score=np.zeros(n_margins),
        feature_names=_as_given(names, dump),
        categories=trained_categories(model),
        classes=classes_of_margins(model, link, n_margins),
        link=link,
        loss=None if objective.split()[0] in JUDGED else objective.split()[0],
    )


def trained_categories(model: Any) -> ListedCategories:
    """Return the columns of categories; LightGBM keeps their names in the columns' order, but not whose they are.

    Where there are as many names as columns of categories, they are of these. There are others of categories with an
    order, whose places are compared as numbers.
    """
    booster = model.booster_ if hasattr(type(model), "booster_") else model
    kept = tuple(tuple(names) for names in booster.pandas_categorical or [])
    declared = re.search(r"^\[categorical_feature: ([\d,]+)\]$", booster.model_to_string(num_iteration=1), re.MULTILINE)
    columns = tuple(sorted(map(int, declared[1].split(",")))) if declared else ()
    return ListedCategories(
        columns, dict(zip(columns, kept, strict=True)) if len(columns) == len(kept) else {}, lists=kept
    )


def _as_given(names: tuple[str, ...], dump: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the names of the columns of training; None for an array, whose columns LightGBM numbers."""
    numbered = tuple(f"Column_{column}" for column in range(len(names)))
    return None if names == numbered and dump["pandas_categorical"] is None else names


def _link(objective: str) -> tuple[str, float]:
    """Return the link of an objective such as ``binary sigmoid:1``, and what margins are multiplied by before it."""
    name, *options = objective.split()
    if name not in LINKS or "sqrt" in options:
        raise TypeError(f"model: expected an objective of {', '.join(LINKS)}, got {objective}")
    scales = [float(option.removeprefix("sigmoid:")) for option in options if option.startswith("sigmoid:")]
    return LINKS[name], scales[0] if scales else 1.0


def _require_all_rounds(model: Any, link: str) -> None:
    """Refuse a classifier that stops adding trees once its margin is large."""
    settings = model.get_params() if hasattr(model, "get_params") else {}
    if "logit" in link and settings.get("pred_early_stop"):
        raise TypeError(
            "model: expected predictions by all rounds, got pred_early_stop=True; set_params(pred_early_stop=False)"
        )


def _nodes(structure: dict[str, Any]) -> TreeNodes:
    """List the nodes of a tree of the dump."""
    nodes = [structure]
    left, right = [], []
    for node in nodes:
        is_leaf = "left_child" not in node
        left.append(LEAF if is_leaf else len(nodes))
        right.append(LEAF if is_leaf else len(nodes) + 1)
        if not is_leaf:
            nodes += [node["left_child"], node["right_child"]]
    return TreeNodes(
        left=left,
        right=right,
        feature=[node.get("split_feature", LEAF) for node in nodes],
        threshold=[_threshold(node) for node in nodes],
        missing_left=[_missing_left(node) for node in nodes],
        value=[_leaf_value(node) for node in nodes],
        cover=[node.get("internal_count", node.get("leaf_count", 0)) for node in nodes],
        left_categories={
            number: ([int(code) for code in node["threshold"].split("||")], False)
            for number, node in enumerate(nodes)
            if node.get("decision_type") == "=="
        },
    )


def _threshold(node: dict[str, Any]) -> float:
    """Return what a number is compared with; categories are truncated, so that values above -1 are category 0.

    LightGBM takes values up to `TAKEN_FOR_ZERO` for 0: where 0 goes left, all of these do, and elsewhere none does. Its
    dump has `FOR_INFINITY` where every number goes left, and only missing values right.
    """
    if node.get("decision_type") != "<=":
        return -1.0
    threshold = float(node["threshold"])
    if threshold >= FOR_INFINITY:
        return inf
    return max(threshold, TAKEN_FOR_ZERO) if threshold >= 0 else min(threshold, BELOW_ZERO)


def _missing_left(node: dict[str, Any]) -> bool:
    """Return where a missing value goes; without missing values in training LightGBM takes it for 0."""
    if "left_child" not in node:
        return False
    if node["missing_type"] == "Zero":
        raise TypeError("model: expected missing values to be NaN, got zero_as_missing")
    if node["decision_type"] == "==":
        return False
    return bool(node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0)


def _leaf_value(node: dict[str, Any]) -> float:
    if "left_child" in node:
        return 0.0
    if "leaf_features" in node:
        raise TypeError("model: expected leaves with one value, got linear trees")
    return float(node["leaf_value"])


def write_lightgbm(trees: BoostedTrees) -> Any:
    """Return boosted trees as a LightGBM booster; see `ipforest.ensemble.write`.

    The base score becomes a first round of single leaves. Named categories are those of a data frame's columns of dtype
    "category", as in LightGBM.

    Raises
    ------
    TypeError
        They are no `BoostedTrees`.
    ValueError
        A link, a name or a category that LightGBM has not, trees for several outputs at once, or an incomplete round.
    """
    from lightgbm import Booster

    return Booster(model_str=lightgbm_text(trees))


def lightgbm_text(trees: BoostedTrees) -> str:
    """Write the text of a LightGBM model; see `write_lightgbm`."""
    if not isinstance(trees, BoostedTrees):
        raise TypeError(f"trees: expected BoostedTrees, which LightGBM adds up, got {type(trees).__name__}")
    n_margins = trees.base_score.size
    if trees.link not in OBJECTIVES:
        raise ValueError(f"trees: expected a link of {', '.join(OBJECTIVES)}, got {trees.link!r}")
    if trees.value.shape[1] > 1 or not np.array_equal(trees.first_output, np.arange(trees.n_trees) % n_margins):
        raise ValueError(
            f"trees: expected rounds of {n_margins} trees, one per margin in order, as LightGBM has them, got another"
        )
    threshold = np.minimum(trees.float64_thresholds(), np.finfo(np.float64).max)
    blocks = [_leaf_text(number, score) for number, score in enumerate(trees.base_score.tolist())]
    passed = _counts(trees.positive_cover())
    blocks += [
        _tree_text(trees, threshold, passed, number, range(start, stop))
        for number, (start, stop) in enumerate(trees, start=n_margins)
    ]
    names = trees.feature_names or tuple(f"Column_{column}" for column in range(trees.n_features))
    written = ["_".join(name.split()) for name in names]
    for name, count in Counter(written).items():
        if not name or count > 1 or SPECIAL.intersection(name):
            raise ValueError(
                "trees: expected feature names that differ when blanks are underscores, not empty and without any of "
                f"{' '.join(sorted(SPECIAL))}, as in LightGBM, got {names[written.index(name)]!r}"
            )
    header = [
        "tree",
        "version=v4",
        f"num_class={n_margins}",
        f"num_tree_per_iteration={n_margins}",
        "label_index=0",
        f"max_feature_idx={trees.n_features - 1}",
        f"objective={OBJECTIVES[trees.link].format(n_margins=n_margins)}",
        f"feature_names={' '.join(written)}",
        f"feature_infos={' '.join(['[-1e+308:1e+308]'] * trees.n_features)}",
        f"tree_sizes={' '.join(str(len(block)) for block in blocks)}",
        "",
        "",
    ]
    end = "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n\n"
    return "\n".join(header) + "".join(blocks) + f"{end}pandas_categorical:{_lists_of(trees.categories)}\n"


def _lists_of(categories: Categories) -> str:
    """Write the names of the categories of each column that has some."""
    lists = [names for _, names in sorted(categories.names.items())]
    for name in (name for names in lists for name in names):
        if not isinstance(name, str | int | float):
            raise ValueError(
                f"trees: expected categories that are texts, numbers or truth values, as LightGBM's files hold, got "
                f"{name!r}"
            )
    return json.dumps(lists or None)


def _leaf_text(number: int, value: float) -> str:
    return f"Tree={number}\nnum_leaves=1\nnum_cat=0\nleaf_value={value!r}\nis_linear=0\nshrinkage=1\n\n\n"


def _counts(cover: FloatArray) -> IntArray:
    """Return what passed each node as whole numbers, which LightGBM holds; sums of fractions in their proportion."""
    if np.array_equal(cover, np.rint(cover)) and cover.max() <= MOST_EXAMPLES:
        return cover.astype(np.int64)
    proportional: IntArray = np.maximum(1, np.rint(cover * (MOST_EXAMPLES / cover.max()))).astype(np.int64)
    return proportional


def _tree_text(trees: BoostedTrees, threshold: Array, passed: IntArray, number: int, nodes: range) -> str:
    """Write one tree: its tests are numbered in order, its leaves -1, -2, ... in order."""
    inner = [node for node in nodes if trees.left[node] != LEAF]
    leaves = [node for node in nodes if trees.left[node] == LEAF]
    if not inner:
        return _leaf_text(number, float(trees.value[nodes[0], 0]))
    place = {node: position for position, node in enumerate(inner)}
    place |= {node: -1 - position for position, node in enumerate(leaves)}
    categorical = [node for node in inner if trees.category_set[node] >= 0]
    words = [_bits(trees, node) for node in categorical]
    set_of = {node: position for position, node in enumerate(categorical)}
    columns: dict[str, list[Any]] = {
        "split_feature": [trees.feature[node] for node in inner],
        "split_gain": [0] * len(inner),
        "threshold": [set_of[node] if node in set_of else repr(float(threshold[node])) for node in inner],
        "decision_type": [
            MISSING_IS_NAN + (CATEGORICAL if node in set_of else DEFAULT_LEFT * int(trees.missing_left[node]))
            for node in inner
        ],
        "left_child": [place[int(trees.left[node])] for node in inner],
        "right_child": [place[int(trees.right[node])] for node in inner],
        "leaf_value": [repr(float(trees.value[node, 0])) for node in leaves],
        "leaf_count": passed[leaves].tolist(),
        "internal_count": passed[inner].tolist(),
    }
    if categorical:
        columns["cat_boundaries"] = [0, *np.cumsum([len(row) for row in words])]
        columns["cat_threshold"] = [word for row in words for word in row]
    lines = [f"{name}={' '.join(map(str, values))}" for name, values in columns.items()]
    head = [f"Tree={number}", f"num_leaves={len(leaves)}", f"num_cat={len(categorical)}"]
    return "\n".join([*head, *lines, "is_linear=0", "shrinkage=1", "", "", ""])


def _bits(trees: BoostedTrees, node: int) -> list[int]:
    """Pack the categories that go left into words of 32 bits."""
    number = int(trees.category_set[node])
    if trees.left_categories.others[number] or trees.missing_left[node]:
        raise ValueError(
            "trees: expected unknown and missing categories to go right, as in LightGBM, got sets that send them left"
        )
    members = trees.left_categories.members(number)
    is_member = np.zeros((members.max(initial=0) // WORD + 1) * WORD, dtype=bool)
    is_member[members] = True
    return [int(word) for word in np.packbits(is_member, bitorder="little").view("<u4")]
