"""Trees as an ONNX model: one TreeEnsembleRegressor, then the link in standard operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF

OPSET, TREE_OPSET, IR_VERSION = 17, 3, 8

OPERATORS = {
    "mean": [("Identity", ["margins"])],
    "identity": [("Identity", ["margins"])],
    "log": [("Exp", ["margins"])],
    "logit": [("Sigmoid", ["margins"])],
    "half logit": [("Add", ["margins", "margins"]), ("Sigmoid", ["step 0"])],
    "multinomial logit": [("Softmax", ["margins"])],
}
"""Operators that apply the inverse of each link, each to what the one before gives."""


def write_onnx(trees: Forest | BoostedTrees) -> Any:
    """Return trees as an `onnx.ModelProto`; see `ipforest.ensemble.write`.

    Its input ``X`` is (n_samples, n_features) of the type that the trees compare, NaN where a value is missing; its
    output ``prediction`` is float32: class probabilities (n_samples, n_classes), or targets (n_samples, 1).

    Raises
    ------
    ValueError
        There are tests of categories, or answers that float32 does not hold.
    """
    from onnx import TensorProto, checker, helper

    if trees.tests_categories.any():
        raise ValueError("trees: expected tests of numbers, got tests of categories")
    _require_float32(np.append(trees.value[trees.is_leaf], trees.base_score))
    number = TensorProto.FLOAT if trees.dtype == np.float32 else TensorProto.DOUBLE
    nodes = [
        helper.make_node("TreeEnsembleRegressor", ["X"], ["margins"], domain="ai.onnx.ml", **_attributes(trees, number))
    ]
    steps = OPERATORS[trees.link]
    last = f"step {len(steps) - 1}"
    nodes += [helper.make_node(kind, inputs, [f"step {place}"]) for place, (kind, inputs) in enumerate(steps)]
    constants = []
    width = 1 if trees.classes is None else len(trees.classes)
    if width > trees.base_score.size:
        constants.append(helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]))
        nodes.append(helper.make_node("Sub", ["one", last], ["first class"]))
        nodes.append(helper.make_node("Concat", ["first class", last], ["prediction"], axis=1))
    else:
        nodes.append(helper.make_node("Identity", [last], ["prediction"]))
    graph = helper.make_graph(
        nodes,
        "trees",
        [helper.make_tensor_value_info("X", number, [None, trees.n_features])],
        [helper.make_tensor_value_info("prediction", TensorProto.FLOAT, [None, width])],
        constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREE_OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="ipforest")
    checker.check_model(model)
    return model


def _require_float32(answers: Array) -> None:
    largest = float(np.abs(answers).max())
    if largest > float(np.finfo(np.float32).max):
        raise ValueError(
            f"trees: expected answers that float32 holds, as ONNX adds them up, got {largest:.3g}; train on smaller "
            "targets, or write 'c', which counts in double precision"
        )


def _attributes(trees: Forest | BoostedTrees, number: int) -> dict[str, Any]:
    """Describe the trees; node numbers count from each tree's root."""
    tree = trees.tree_of_node
    start = trees.tree_offsets[tree]
    local = np.arange(trees.n_nodes) - start
    leaves = np.flatnonzero(trees.is_leaf)
    n_values = trees.value.shape[1]
    threshold = trees.float32_thresholds() if trees.dtype == np.float32 else trees.float64_thresholds()
    return {
        "aggregate_function": "AVERAGE" if trees.link == "mean" else "SUM",
        "n_targets": trees.base_score.size,
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": local.tolist(),
        "nodes_featureids": np.where(trees.is_leaf, 0, trees.feature).tolist(),
        "nodes_modes": np.where(trees.is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(trees.left == LEAF, 0, trees.left - start).tolist(),
        "nodes_falsenodeids": np.where(trees.right == LEAF, 0, trees.right - start).tolist(),
        "nodes_missing_value_tracks_true": trees.missing_left.astype(int).tolist(),
        "target_treeids": np.repeat(tree[leaves], n_values).tolist(),
        "target_nodeids": np.repeat(local[leaves], n_values).tolist(),
        "target_ids": (trees.first_output[tree[leaves], None] + np.arange(n_values)).ravel().tolist(),
        **_numbers("nodes_values", np.where(trees.is_leaf, 0, threshold), number),
        **_numbers("target_weights", trees.value[leaves].ravel(), number),
        **_numbers("base_values", trees.base_score, number),
    }


def _numbers(name: str, values: Array, number: int) -> dict[str, Any]:
    """Return numbers as floats, or as a tensor of doubles."""
    from onnx import TensorProto, helper

    if number == TensorProto.FLOAT:
        return {name: values.astype(np.float32).tolist()}
    return {f"{name}_as_tensor": helper.make_tensor(name, number, [values.size], values.astype(np.float64).tolist())}
