"""What is left to decide once some nodes are kept for good, others dropped, and some acquisitions bought."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipforest._internal.arrays import BoolArray, IntArray
from ipforest._internal.kernels import njit
from ipforest._internal.rational import exact_sum
from ipforest.instance import PruningInstance
from ipforest.results import Pruning

__all__ = ["Remainder"]


@dataclass(frozen=True, slots=True, eq=False)
class Remainder:
    """The free nodes of an instance as an instance of their own.

    Parameters
    ----------
    instance : PruningInstance
        The free nodes; one without a free parent is the root of a tree of its own. What is bought is free in it.
    nodes : ndarray of int64, shape (instance.n_internal,)
        Their indices among the internal nodes of the whole.
    acquisitions : ndarray of int64, shape (instance.n_acquisitions,)
        Indices of its acquisitions among those of the whole.
    kept : ndarray of bool, shape (n_internal of the whole,)
        The nodes that are kept for good.
    error, cost : int
        What the remainder's own integer error and cost lack of the whole's, if all that is bought is needed.
    """

    instance: PruningInstance
    nodes: IntArray
    acquisitions: IntArray
    kept: BoolArray
    error: int
    cost: int

    @classmethod
    def whole(cls, instance: PruningInstance) -> Remainder:
        """Return the remainder in which nothing is decided."""
        n_internal = instance.n_internal
        nothing = np.zeros(n_internal, dtype=bool)
        return cls(instance, np.arange(n_internal), np.arange(instance.n_acquisitions), nothing, 0, 0)

    def lift(self, kept: BoolArray) -> BoolArray:
        """Turn kept nodes of the remainder into kept nodes of the whole."""
        return self.kept | self.spread(kept)

    def spread(self, marks: BoolArray) -> BoolArray:
        """Mark in the whole what is marked in the remainder."""
        spread = np.zeros_like(self.kept)
        spread[self.nodes] = marks
        return spread

    def restrict(self, kept: BoolArray, dropped: BoolArray, bought: BoolArray | None = None) -> Remainder:
        """Return what is left once more nodes and acquisitions are decided.

        Parameters
        ----------
        kept, dropped : ndarray of bool, shape (instance.n_internal,)
            Disjoint, `kept` closed under parents and `dropped` under children; at least one node stays free.
        bought : ndarray of bool, shape (instance.n_acquisitions,), optional
            Acquisitions that are paid for, in addition to those of the kept nodes.

        Returns
        -------
        Remainder
            This one where nothing more is decided. Otherwise trees without a free node are left out of it, and their
            errors, like those of a tree that is one leaf, are part of its ``error``.
        """
        part = self.instance
        if not (kept.any() or dropped.any() or (bought is not None and bought.any())):
            return self
        paid = np.zeros(part.n_acquisitions, dtype=bool) if bought is None else bought.copy()
        triple_node = part.triple_node
        paid[part.indices[kept[triple_node]]] = True
        free = ~(kept | dropped)
        nodes, node_parent, order = _free_trees(part, free)

        used = np.flatnonzero(free[triple_node] & ~paid[part.indices])
        rank = np.empty(part.n_internal, dtype=np.int64)
        rank[order] = np.arange(order.size)
        position = rank[triple_node[used]]
        if np.any(np.diff(position) < 0):
            used = used[np.argsort(position, kind="stable")]
        row_size = np.bincount(triple_node[used], minlength=part.n_internal)[order]
        needed = np.zeros(part.n_acquisitions, dtype=bool)
        needed[part.indices[used]] = True
        acquisitions = np.flatnonzero(needed)
        number = np.cumsum(needed, dtype=np.int32) - np.int32(1)
        instance = PruningInstance(
            tree_offsets=np.append(np.flatnonzero(node_parent < 0), nodes.size),
            node_parent=node_parent.astype(np.int32),
            errors=part.errors[nodes],
            indptr=np.concatenate([[0], np.cumsum(row_size)]),
            indices=number[part.indices[used]],
            acquisition_unit=part.acquisition_unit[acquisitions],
            acquisition_example=part.acquisition_example[acquisitions],
            acquisition_cost=part.acquisition_cost[acquisitions],
            split_cost=part.split_cost[order],
            error_unit=part.error_unit,
            cost_unit=part.cost_unit,
            n_units=part.n_units,
            n_examples=part.n_examples,
        )
        decided = part.integer_error(Pruning(kept)) - instance.integer_error(instance.roots_only)
        cost = exact_sum(part.acquisition_cost[paid]) + exact_sum(part.split_cost[kept])
        return Remainder(
            instance,
            self.nodes[order],
            self.acquisitions[acquisitions],
            self.lift(kept),
            self.error + decided,
            self.cost + cost,
        )


def _free_trees(whole: PruningInstance, free: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Find the trees that the free internal nodes form with their children.

    Returns
    -------
    nodes : ndarray of int64
        Their nodes among all nodes, tree by tree.
    node_parent : ndarray of int32
        Parents of these in the new numbering.
    order : ndarray of int64
        The free nodes among the internal nodes, in the new order.
    """
    below = np.append(free, False)[whole.parent]
    internal = whole.internal_nodes[free]
    inside = np.zeros(whole.n_nodes + 1, dtype=bool)
    inside[internal] = True
    inside[:-1] |= inside[whole.node_parent]
    nodes = np.flatnonzero(inside[:-1])
    is_root = np.zeros(whole.n_nodes, dtype=bool)
    is_root[whole.internal_nodes[free & ~below]] = True
    root = np.arange(whole.n_nodes)
    _inherit(whole.node_parent, inside, is_root, root)
    nodes = nodes[np.argsort(root[nodes], kind="stable")]
    number = np.full(whole.n_nodes, -1, dtype=np.int32)
    number[nodes] = np.arange(nodes.size, dtype=np.int32)
    node_parent = np.where(is_root[nodes], -1, number[whole.node_parent[nodes]])
    is_free = np.zeros(whole.n_nodes, dtype=bool)
    is_free[internal] = True
    return nodes, node_parent, np.searchsorted(whole.internal_nodes, nodes[is_free[nodes]])


@njit
def _inherit(parent: IntArray, inside: BoolArray, is_root: BoolArray, root: IntArray) -> None:
    """Hand every node inside that is no root its parent's root."""
    for node in range(parent.size):
        if inside[node] and not is_root[node]:
            root[node] = root[parent[node]]
