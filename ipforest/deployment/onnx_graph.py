"""Operators of ONNX, written one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array

__all__ = ["Graph"]


class Graph:
    """Operators one after another; arrays and numbers among their inputs become constants.

    Parameters
    ----------
    root : Graph, optional
        Where the constants are, for the body of a loop.
    """

    def __init__(self, root: Graph | None = None) -> None:
        self.nodes: list[Any] = []
        self.root = self if root is None else root
        if root is None:
            self.constants: list[Any] = []
            self._names: dict[Any, str] = {}
            self._n_values = 0

    def new_name(self) -> str:
        """Make a name for a value."""
        self.root._n_values += 1
        return f"value {self.root._n_values}"

    def __call__(self, kind: str, *inputs: Any, named: str | None = None, **attributes: Any) -> str:
        """Apply an operator, and return the name of what it gives."""
        from onnx import helper

        name = named or self.new_name()
        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(kind, given, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Name a constant, the same for the same array."""
        from onnx import numpy_helper

        array, root = np.asarray(value), self.root
        key = (array.dtype.str, array.shape, str(array.tolist()) if array.dtype == object else array.tobytes())
        if key not in root._names:
            root._names[key] = f"constant {len(root._names)}"
            root.constants.append(numpy_helper.from_array(array, root._names[key]))
        return root._names[key]

    def all_of(self, *conditions: str) -> str:
        """Combine conditions by and."""
        return reduce(partial(self, "And"), conditions)

    def any_along(self, condition: str, axis: int, keep: int = 0) -> str:
        """Tell whether a condition holds anywhere along an axis."""
        numbers = self.cast(condition, np.int32)
        return self.cast(self("ReduceMax", numbers, [axis], keepdims=keep), np.bool_)

    def cast(self, value: str, dtype: Any) -> str:
        """Convert numbers."""
        from onnx import helper

        return self("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def largest(self, values: str, n: int) -> str:
        """Take the n largest numbers along axis 1, falling."""
        from onnx import helper

        names = [self.new_name(), self.new_name()]
        self.nodes.append(helper.make_node("TopK", [values, self.constant([n])], names, axis=1))
        return names[0]

    def column(self, value: str) -> str:
        """Make a vector a column."""
        return self("Unsqueeze", value, [1])

    def one_hot(self, place: str, n: int) -> str:
        """Mark one of n columns, given by number as a column."""
        return self("Equal", place, np.arange(n)[None])

    def summed(self, values: str) -> str:
        """Add along axis 1 from the first entry to the last, as a loop does, so that rounding is the same."""
        return self("Gather", self("CumSum", values, np.array(1)), np.array(-1), axis=1)

    def repeated(self, n_rows: str, row: Array) -> str:
        """Repeat a row of numbers for each example."""
        shape = self("Concat", n_rows, [row.size], axis=0)
        return self("Expand", row[None], shape)

    def any_in_groups(self, marks: str, group: str, none: str) -> str:
        """Tell which groups of columns have a mark, all of shape (n_samples, ...); groups are numbered per column."""
        marked = self("ScatterElements", none, group, self.cast(marks, np.int32), axis=1, reduction="max")
        return self.cast(marked, np.bool_)

    def loop(self, n_times: int, state: Sequence[tuple[str, Any, int]], body: Callable[..., Any]) -> list[str]:
        """Apply a body to a state until it is done, or so many times.

        Parameters
        ----------
        n_times : int
        state : sequence of (name, dtype, number of axes)
        body : callable (graph, *state) -> (condition to go on, new state)
        """
        from onnx import TensorProto, helper

        inner = Graph(self.root)
        names = [self.new_name() for _ in state]
        kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for _, dtype, _ in state]
        goes_on, changed = body(inner, *names)
        ends = [inner("Identity", each) for each in (goes_on, *changed)]

        def infos(values: Sequence[str]) -> list[Any]:
            shapes = [[None] * n_axes for _, _, n_axes in state]
            return [*map(helper.make_tensor_value_info, values, kinds, shapes)]

        number = helper.make_tensor_value_info(self.new_name(), TensorProto.INT64, [])
        before = helper.make_tensor_value_info(self.new_name(), TensorProto.BOOL, [])
        after = helper.make_tensor_value_info(ends[0], TensorProto.BOOL, [])
        graph = helper.make_graph(inner.nodes, "body", [number, before, *infos(names)], [after, *infos(ends[1:])])
        outputs = [self.new_name() for _ in state]
        inputs = [self.constant(np.array(n_times)), self.constant(np.array(True)), *(name for name, _, _ in state)]
        self.nodes.append(helper.make_node("Loop", inputs, outputs, body=graph))
        return outputs
