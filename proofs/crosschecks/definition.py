"""Errors and costs of prunings by the definition, and every pruning of a small forest, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ipforest.instance import PruningInstance
from proofs.crosschecks.brute_force import count_prunings, prunings

Kept = npt.NDArray[np.bool_]
Point = tuple[Fraction, Fraction]

MAX_PRUNINGS = 2_000


class Definition:
    """Error and cost of a pruning, node by node and triple by triple, from the instance's stored arrays alone."""

    def __init__(self, instance: PruningInstance) -> None:
        self._instance = instance
        self._parent: list[int] = instance.node_parent.tolist()
        self._internal = sorted({above for above in self._parent if above >= 0})

    def fault(self, kept: Kept) -> str | None:
        """Say why a set of nodes is no pruning; None if it is one."""
        if kept.size != len(self._internal):
            return f"the pruning has {kept.size} nodes, the instance {len(self._internal)}"
        keeps = self._kept_nodes(kept)
        orphans = [node for node in keeps if self._parent[node] >= 0 and self._parent[node] not in keeps]
        return f"the pruning keeps node {min(orphans)} but not its parent" if orphans else None

    def evaluate(self, kept: Kept) -> Point:
        """Compute error and cost of a pruning."""
        instance, keeps = self._instance, self._kept_nodes(kept)
        errors = sum(
            error
            for node, (above, error) in enumerate(zip(self._parent, instance.errors.tolist(), strict=True))
            if node not in keeps and (above < 0 or above in keeps)
        )
        bought: set[int] = set()
        split = 0
        for number in np.flatnonzero(kept).tolist():
            bought.update(instance.indices[instance.indptr[number] : instance.indptr[number + 1]].tolist())
            split += int(instance.split_cost[number])
        prices = instance.acquisition_cost.tolist()
        cost = sum(prices[acquisition] for acquisition in bought) + split
        return instance.error_unit * errors, instance.cost_unit * cost

    def misreported(self, kept: Kept, error: Fraction, cost: Fraction) -> list[str]:
        """List where a reported error or cost is not that of the pruning."""
        return [
            f"reports {name} {reported}, but it is {found}"
            for name, reported, found in zip(("error", "cost"), (error, cost), self.evaluate(kept), strict=True)
            if reported != found
        ]

    @cached_property
    def every(self) -> list[Point] | None:
        """Error and cost of every pruning; None for a forest of more than 2,000."""
        if count_prunings(self._instance) > MAX_PRUNINGS:
            return None
        return [self.evaluate(pruning.kept) for pruning in prunings(self._instance)]

    def _kept_nodes(self, kept: Kept) -> set[int]:
        return {node for node, keep in zip(self._internal, kept.tolist(), strict=True) if keep}


def lower_frontier(points: Sequence[Point]) -> list[Point]:
    """Return the (cost, error) corners that are optimal for some lambda > 0, cheapest first.

    Parameters
    ----------
    points : sequence of (error, cost)
        Of every pruning.
    """
    cheapest = min(points, key=lambda point: (point[1], point[0]))
    corners = [(cheapest[1], cheapest[0])]
    while True:
        cost, error = corners[-1]
        better = [(other_cost, other) for other, other_cost in points if other < error and other_cost > cost]
        if not better:
            return corners
        steepest = max((error - other) / (other_cost - cost) for other_cost, other in better)
        on_line = [point for point in better if (error - point[1]) / (point[0] - cost) == steepest]
        corners.append(max(on_line))


def error_on_frontier(corners: Sequence[Point], budget: Fraction) -> Fraction:
    """Return the least error of a mixture of prunings whose cost is at most the budget on average."""
    affordable = [corner for corner in corners if corner[0] <= budget]
    cost, error = affordable[-1]
    if len(affordable) == len(corners):
        return error
    next_cost, next_error = corners[len(affordable)]
    return error + (next_error - error) * (budget - cost) / (next_cost - cost)
