"""Is an instance what it says it is? What both checkers require of it, and what they derive from it.

Nothing derived by `ipforest` is used: parents among the internal nodes and gains are computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.exact_arrays import LIMIT, array_fault, fraction_fault, integer_fault, is_rising, total
from proofs.certificates.records import INSTANCE_DTYPES

if TYPE_CHECKING:
    from proofs.certificates.records import Instance


class InternalNodes:
    """The forest's internal nodes, derived from the parent pointers alone.

    Attributes
    ----------
    number : (n_internal,) int64 ndarray
        Of each internal node among all nodes.
    parent : (n_internal,) int64 ndarray
        Parent among the internal nodes, -1 for a root.
    gain : (n_internal,) int64 ndarray
        Errors of the node minus those of its children.
    """

    def __init__(self, instance: Instance) -> None:
        children = np.flatnonzero(instance.node_parent >= 0)
        above = instance.node_parent[children]
        is_internal = np.zeros(instance.node_parent.size, dtype=bool)
        is_internal[above] = True
        self.number = np.flatnonzero(is_internal).astype(np.int64)
        place = np.full(instance.node_parent.size + 1, -1, dtype=np.int64)
        place[self.number] = np.arange(self.number.size)
        self.parent = place[instance.node_parent[self.number]]
        below = np.zeros(instance.node_parent.size, dtype=np.int64)
        np.add.at(below, above, instance.errors[children])
        self.gain = instance.errors[self.number] - below[self.number]


def instance_fault(instance: Instance) -> str | None:
    """Describe what is malformed in the instance; return None if nothing is."""
    fault = _kind_fault(instance) or _tree_fault(instance) or _acquisition_fault(instance)
    return fault or _triple_fault(instance) or _amount_fault(instance)


def _kind_fault(instance: Instance) -> str | None:
    for name, dtype in INSTANCE_DTYPES.items():
        fault = array_fault(name, getattr(instance, name), dtype)
        if fault:
            return fault
    return integer_fault({name: getattr(instance, name) for name in ("n_units", "n_examples")}) or fraction_fault(
        {name: getattr(instance, name) for name in ("error_unit", "cost_unit")}
    )


def _tree_fault(instance: Instance) -> str | None:
    offsets, parent = instance.tree_offsets, instance.node_parent
    if offsets.size < 2 or offsets[0] != 0 or offsets[-1] != parent.size or (offsets[1:] <= offsets[:-1]).any():
        return "tree_offsets do not split the nodes into trees"
    numbers = np.arange(parent.size)
    own_root = np.repeat(offsets[:-1], np.diff(offsets))
    is_root = own_root == numbers
    if ((parent != -1) & is_root | ((parent < own_root) | (parent >= numbers)) & ~is_root).any():
        return "a node's parent is not an earlier node of its own tree"
    return array_fault("errors", instance.errors, np.int64, parent.size)


def _acquisition_fault(instance: Instance) -> str | None:
    """Describe what is wrong with the pairs of a unit and an example that are bought."""
    unit, example = instance.acquisition_unit, instance.acquisition_example
    if instance.n_units < 0 or instance.n_examples < 0:
        return "n_units or n_examples is negative"
    if not unit.size == example.size == instance.acquisition_cost.size:
        return "acquisition_unit, acquisition_example and acquisition_cost have different lengths"
    if ((unit < 0) | (unit >= instance.n_units)).any():
        return f"acquisition_unit is not in 0..{instance.n_units - 1}"
    if ((example < 0) | (example >= instance.n_examples)).any():
        return f"acquisition_example is not in 0..{instance.n_examples - 1}"
    pairs = np.sort(example.astype(np.int64) << 32 | unit)
    if (pairs[1:] == pairs[:-1]).any():
        return "two acquisitions are of the same unit and example"
    return None


def _triple_fault(instance: Instance) -> str | None:
    """Describe what is wrong with the acquisitions first needed at each internal node."""
    parent, indptr, indices = instance.node_parent, instance.indptr, instance.indices
    internal = np.unique(parent[parent >= 0])
    if indptr.size != internal.size + 1 or indptr[0] != 0 or indptr[-1] != indices.size or not is_rising(indptr):
        return f"indptr does not describe {internal.size} rows"
    if ((indices < 0) | (indices >= instance.acquisition_cost.size)).any():
        return "indices do not point to acquisitions"
    last_seen = np.empty(instance.acquisition_cost.size, dtype=np.int64)
    again = np.zeros(indices.size, dtype=bool)
    ends = indptr[np.searchsorted(internal, instance.tree_offsets)]
    for first, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        places, needed = np.arange(first, end), indices[first:end]
        last_seen[needed] = places
        again[first:end] = np.isin(needed, needed[last_seen[needed] != places])
    if _are_nested(parent, np.repeat(internal, np.diff(indptr))[again], indices[again]):
        return "an acquisition is first needed twice on a path"
    return array_fault("split_cost", instance.split_cost, np.int64, internal.size)


def _are_nested(parent: NDArray[np.int32], node: NDArray[np.int32], needed: NDArray[np.int32]) -> bool:
    """Return whether a node needs what a node above it, or it itself, needs already.

    Below a delayed test both branches may need an acquisition, so it may come again in a tree, but not on a path. Each
    node has a range of numbers, within that of the node above and apart from those of its siblings. Of the nodes that
    need an acquisition, in the order of their ranges, two neighbours are then nested if any two are.
    """
    size, begin, following = ([start] * (parent.size + 1) for start in (1, 0, 0))
    parents = parent.tolist()  # that of a root is -1, the last place, which belongs to no node
    for place in reversed(range(parent.size)):
        size[parents[place]] += size[place]
    for place, above in enumerate(parents):
        begin[place] = following[place] = following[above]
        following[above] += size[place]
    starts = np.array(begin)[node]
    order = np.lexsort((node, starts, needed))
    need, start, stop = needed[order], starts[order], (starts + np.array(size)[node])[order]
    return bool(((need[1:] == need[:-1]) & (start[1:] < stop[:-1])).any())


def _amount_fault(instance: Instance) -> str | None:
    """Describe what is wrong with the errors, costs and their units."""
    if instance.error_unit <= 0 or instance.cost_unit <= 0:
        return "error_unit and cost_unit must be positive"
    for name in ("errors", "acquisition_cost", "split_cost"):
        values: NDArray[np.int64] = getattr(instance, name)
        if (values < 0).any():
            return f"{name} has a negative entry"
        if total(values) >= LIMIT:
            return f"{name} sums to 2^62 or more"
    return None
