"""An ensemble of trees as operators of ONNX: where examples end, and what is foreseen of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.deployment.onnx_graph import Graph
from ipforest.deployment.reader import SETTLED_SLACK, Trees

__all__ = ["Ensemble", "linked"]


class Ensemble:
    """The nodes of an ensemble as arrays, what they add in columns of their own.

    Parameters
    ----------
    document : dict
        Trees, as ``schema.json`` says.
    classify : bool
    """

    def __init__(self, document: dict[str, Any], *, classify: bool) -> None:
        trees = Trees(document, classify=classify)
        self.classify, self.averages, self.link = classify, trees.averages, trees.link
        self.base, self.narrow = trees.base, document["dtype"] == "float32"
        self.root, self.left, self.right = (np.array(each) for each in (trees.root, trees.left, trees.right))
        self.is_inner = self.left >= 0
        self.feature = np.maximum(np.array(trees.feature), 0)
        self.threshold, self.missing_left = np.array(trees.threshold, dtype=np.float64), np.array(trees.missing_left)
        depth, self.is_root = np.zeros(self.left.size, dtype=np.int64), np.isin(np.arange(self.left.size), self.root)
        first, tree = np.zeros(self.left.size, dtype=np.int64), np.array(document["first_output"])
        first[self.root] = tree
        for node in np.flatnonzero(self.is_inner).tolist():
            sides = [self.left[node], self.right[node]]
            depth[sides], first[sides] = depth[node] + 1, first[node]
        self.depth = int(depth.max())
        columns = first[:, None] + np.arange(trees.value.shape[1])
        self.value, self.lowest, self.highest = np.zeros((3, self.left.size, self.base.size))
        for name in ("value", "lowest", "highest"):
            np.put_along_axis(getattr(self, name), columns, getattr(trees, name), axis=1)
        self.set_of_node = np.array(document["category_set"] or [-1] * self.left.size)
        sets = document["sets"]
        width = max((member for members, _ in sets for member in members), default=0) + 2
        self.holds = np.array([np.full(width, others) for _, others in sets] or [np.zeros(width, dtype=bool)])
        for held, (members, others) in zip(self.holds, sets, strict=False):
            held[np.array(members, dtype=np.int64)] = not others

    def tested(self, n_features: int) -> Array:
        """Mark the features that are tested on the way to each node, shape (n_nodes, n_features)."""
        tests = np.zeros((self.left.size, n_features), dtype=bool)
        for node in np.flatnonzero(self.is_inner).tolist():
            for child in (self.left[node], self.right[node]):
                tests[child] = tests[node]
                tests[child, self.feature[node]] = True
        return tests

    def goes_left(self, graph: Graph, node: str, x: str) -> str:
        """Tell where tests send values, both of shape (n_samples, n_trees)."""
        seen = graph.cast(graph.cast(x, np.float32), np.float64) if self.narrow else x
        at_most = graph("LessOrEqual", seen, graph("Gather", self.threshold, node))
        if (self.set_of_node >= 0).any():
            number, last = graph("Gather", self.set_of_node, node), self.holds.shape[1] - 1
            listed = graph("And", graph("GreaterOrEqual", seen, 0.0), graph("Less", seen, float(last)))
            place = graph("Where", listed, seen, float(last))
            cell = graph("Add", graph("Mul", graph("Max", number, 0), last + 1), graph.cast(place, np.int64))
            is_set, held = graph("GreaterOrEqual", number, 0), graph("Gather", self.holds.ravel(), cell)
            numbers = graph("And", graph("Not", is_set), at_most)
            at_most = graph("Or", numbers, graph("And", is_set, held))
        missing = graph("IsNaN", x)
        is_left = graph("And", graph("Not", missing), at_most)
        return graph("Or", is_left, graph("And", missing, graph("Gather", self.missing_left, node)))

    def reached(self, graph: Graph, node: str, x: str, known: str | None) -> str:
        """Walk on from nodes (n_samples, n_trees) as far as what is known leads; by default all is."""

        def step(inner: Graph, node: str) -> tuple[str, list[str]]:
            feature, goes = inner("Gather", self.feature, node), inner("Gather", self.is_inner, node)
            if known is not None:
                goes = inner("And", goes, inner("GatherElements", known, feature, axis=1))
            is_left = self.goes_left(inner, node, inner("GatherElements", x, feature, axis=1))
            child = inner("Where", is_left, inner("Gather", self.left, node), inner("Gather", self.right, node))
            return inner.constant(np.array(True)), [inner("Where", goes, child, node)]

        return graph.loop(self.depth, [(node, np.int64, 2)], step)[0] if self.depth else node

    def linked(self, graph: Graph, margins: str) -> str:
        """Turn margins (n_samples, n_margins) into outputs."""
        return linked(graph, self.link, margins, both=self.classify and self.base.size == 1)

    def answer(self, graph: Graph, node: str, settled: str | None = None) -> str:
        """Predict from the nodes (n_samples, n_trees) that were reached, from all trees where labels are settled."""
        is_leaf = graph("Not", graph("Gather", self.is_inner, node))
        counts = is_leaf
        if self.averages:
            counts = graph("Or", is_leaf, graph("Not", graph("Gather", self.is_root, node)))
        values = graph("Gather", self.value, node)
        counted = graph.summed(graph("Where", graph("Unsqueeze", counts, [2]), values, 0.0))
        if self.averages:
            n_counted = graph("ReduceSum", graph.cast(counts, np.float64), [1], keepdims=1)
            none = graph("Equal", n_counted, 0.0)
            by_all = none if settled is None else graph("Or", none, graph.column(settled))
            everything = graph("Div", graph.summed(values), float(self.root.size))
            return graph("Where", by_all, everything, graph("Div", counted, graph("Max", n_counted, 1.0)))
        sums = counted if settled is None else graph("Where", graph.column(settled), graph.summed(values), counted)
        return self.linked(graph, graph("Add", sums, self.base))

    def look_ahead(self, graph: Graph, node: str, costs: Array | None) -> tuple[str, str | None]:
        """Give minus the width of the bounds of a target, and for classifiers whether labels are settled."""
        low, high = (graph.summed(graph("Gather", each, node)) for each in (self.lowest, self.highest))
        low, high = graph("Add", low, self.base), graph("Add", high, self.base)
        settled = self._settled(graph, low, high, costs) if self.classify else None
        if self.averages:
            narrow = graph("Sub", *(graph("Div", each, float(self.root.size)) for each in (low, high)))
        else:
            narrow = graph("Sub", self.linked(graph, low), self.linked(graph, high))
        return graph("Gather", narrow, np.array(0), axis=1), settled

    def _settled(self, graph: Graph, low: str, high: str, costs: Array | None) -> str:
        """Tell whether nothing that is unknown can change the label, shape (n_samples,)."""
        if costs is not None:
            return self._cheapest_is_certain(graph, low, high, costs)
        size = graph("ReduceMax", graph("Max", graph("Abs", low), graph("Abs", high)), [1], keepdims=1)
        slack = graph("Mul", size, SETTLED_SLACK)
        if self.base.size == 1:
            above, below = graph("Greater", low, slack), graph("Less", high, graph("Neg", slack))
            return graph("Reshape", graph("Or", above, below), [-1])
        leads = graph.one_hot(graph("ArgMax", low, axis=1, keepdims=1), self.base.size)
        others = graph("ReduceMax", graph("Where", leads, -np.inf, high), [1], keepdims=1)
        most = graph("ReduceMax", low, [1], keepdims=1)
        return graph("Reshape", graph("Greater", most, graph("Add", others, slack)), [-1])

    def _cheapest_is_certain(self, graph: Graph, low: str, high: str, costs: Array) -> str:
        if not self.averages and self.base.size == 1:
            ends = self.linked(graph, low), self.linked(graph, high)
            low, high = graph("Min", *ends), graph("Max", *ends)
        elif not self.averages:
            top = graph("ReduceMax", high, [1], keepdims=1)
            low, high = (graph("Exp", graph("Sub", each, top)) for each in (low, high))
        label = graph("ArgMin", graph("MatMul", graph("Add", low, high), costs), axis=1, keepdims=0)
        extra = np.array([costs[:, [each]] - costs for each in range(len(costs))])
        worse, better = (graph("Gather", clip(extra, 0), label) for clip in (np.maximum, np.minimum))
        of_high = graph("MatMul", graph("Unsqueeze", high, [1]), worse)
        of_low = graph("MatMul", graph("Unsqueeze", low, [1]), better)
        total = graph("Squeeze", graph("Add", of_high, of_low), [1])
        rivals = graph("Where", graph.one_hot(graph.column(label), len(costs)), -np.inf, total)
        bound = graph("Mul", graph("ReduceSum", high, [1], keepdims=0), -SETTLED_SLACK * float(costs.max()))
        return graph("Less", graph("ReduceMax", rivals, [1], keepdims=0), bound)


def linked(graph: Graph, link: str, margins: str, *, both: bool) -> str:
    """Apply the inverse of a link; with ``both`` that of the second of two classes gives both probabilities."""
    outputs = margins
    if link == "logit":
        outputs = graph("Div", 1.0, graph("Add", graph("Exp", graph("Neg", margins)), 1.0))
    elif link == "log":
        outputs = graph("Exp", margins)
    elif link == "multinomial logit":
        raised = graph("Exp", graph("Sub", margins, graph("ReduceMax", margins, [1], keepdims=1)))
        outputs = graph("Div", raised, graph.column(graph.summed(raised)))
    return graph("Concat", graph("Sub", 1.0, outputs), outputs, axis=1) if both else outputs
