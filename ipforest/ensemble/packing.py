"""The arrays of trees in few bytes, for pickles and model files: what follows from other arrays is left out.

Unpacked, every array has the bits that it had. Where children are numbered in pairs as a tree is grown depth first,
they follow from which nodes are leaves; elsewhere a child is told by its distance from its parent. What all leaves
have in common is kept once. Floats are small numbers into a table of the values that occur, thresholds into one for
each feature, which all trees share that are packed together; what occurs most often has the smallest number. Where
the weights of the classes at a node are whole numbers, as the draws of a bootstrap are, they are kept at the leaves
alone: those of the nodes above are sums, and shares of classes, weights and Gini impurities follow from them.
Whatever does not follow to the last bit is kept as it is. Integers take as many bytes as they need, and truth values
a bit; the first bytes of all entries stand together, then the second ones; and all is deflated.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FREE_BYTES, Array, BoolArray, FloatArray, IntArray, in_rows, read_arrays
from ipforest._internal.distinct_rows import distinct_rows
from ipforest._internal.kernels import njit

__all__ = ["deflated", "inflated", "pack", "parted", "unfolded", "unpack", "without_counts"]

LEAF = -1
AT_LEAVES, OF_LEAVES, INNER = " at leaves", " of leaves", " inside"
"""What names of kept arrays end with: what sums up from leaves, what all leaves have, and what other nodes have."""
DISTINCT, SIZES, PLACE = ", distinct", ", sizes", ", place"
"""Group by group the values that occur, how many these are, and where each entry stands among those of its group."""
PLANES = " by bytes of "
"""Before the type of an array whose first axis goes through the bytes of each entry."""
BITS = " as bits of "
"""Before how many truth values there are."""
MAX_VALUES_PER_BYTE = 100
"""What unpacks to more bytes per byte, and to more than `FREE_BYTES`, is refused."""
MAX_EXACT_INTEGER = 2**53
"""Whole numbers below this add up as float64 without rounding."""


def pack(*parts: Mapping[str, Array]) -> npt.NDArray[np.uint8]:
    """Pack the arrays of trees, part after part: what takes memory beyond them is for one part at a time.

    Parameters
    ----------
    *parts : mapping of str to ndarray
        Arrays of whole trees by name, each with a row per node: ``left`` and ``right``, -1 at leaves, ``feature``, and
        any others of integers, floats and truth values. ``value``, ``weight``, ``n_samples`` and ``impurity`` take few
        bytes if they stand in the relation that they have in `ipforest.ensemble.Forest`.

    Returns
    -------
    ndarray of uint8
        For `unpack`, which returns the parts as one, or `parted`.
    """
    structures = [_Structure(part["left"], part["right"]) for part in parts]
    is_leaf = [structure.is_leaf for structure in structures]
    sums = _common_sums(structures, parts)
    kept = _Structure.kept(structures)
    for name, at_leaves in sums.items():
        kept |= _by_value(name + AT_LEAVES, np.concatenate(at_leaves))
    following = set(parts[0])
    for number, (structure, part) in enumerate(zip(structures, parts, strict=True)):
        derived = _derived(structure, {name: at_leaves[number] for name, at_leaves in sums.items()})
        following = {name for name in following & derived.keys() if _same_bits(derived[name], part[name])}
    for name in parts[0]:
        if name not in ("left", "right", *following):
            group = [np.maximum(part["feature"], 0) for part in parts] if name == "threshold" else None
            kept |= _by_node(name, [part[name] for part in parts], is_leaf, group)
    return deflated(kept)


def deflated(arrays: Mapping[str, Array]) -> npt.NDArray[np.uint8]:
    """Pack arrays that have nothing in common, for `inflated`."""
    buffer = io.BytesIO()
    stored: dict[str, Any] = dict(_in_bytes(name, _narrow(values)) for name, values in arrays.items())
    np.savez_compressed(buffer, **stored)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def inflated(packed: npt.NDArray[np.uint8]) -> dict[str, Array]:
    """Unpack what `deflated` made; see `unpack`."""
    stored = read_arrays(io.BytesIO(packed.tobytes()), max(FREE_BYTES, MAX_VALUES_PER_BYTE * packed.size))
    return dict(_out_of_bytes(name, stored.pop(name)) for name in list(stored))


def unpack(packed: npt.NDArray[np.uint8]) -> dict[str, Array]:
    """Unpack what `pack` made.

    Returns
    -------
    dict of str to ndarray
        Integers may be of a narrower type than they were.

    Raises
    ------
    ValueError, KeyError, BadZipFile, ...
        It is damaged, or unpacks to much more than it has bytes.
    """
    return unfolded(inflated(packed))


def parted(kept: Mapping[str, Array], n_nodes: Sequence[int]) -> list[dict[str, Array]]:
    """Part what is kept of trees that were packed together.

    Parameters
    ----------
    kept : mapping of str to ndarray
        From `inflated`.
    n_nodes : sequence of int
        Nodes of each part, which is made of whole trees.

    Returns
    -------
    list of dict of str to ndarray
        For `unfolded`; all parts share the tables of values, and nothing is copied.

    Raises
    ------
    ValueError, KeyError
        There are not so many nodes.
    """
    ends, is_leaf = np.cumsum([0, *n_nodes]), kept["is_leaf"]
    if min(n_nodes, default=0) < 0 or ends[-1] != is_leaf.size:
        raise ValueError(f"packed trees: expected {ends[-1]} nodes, got {is_leaf.size}")
    leaves = np.cumsum([0, *(np.count_nonzero(is_leaf[start:stop]) for start, stop in pairwise(ends.tolist()))])
    ends_among: dict[str, IntArray] = {AT_LEAVES: leaves, INNER: ends - leaves, "": ends}

    def rows(name: str) -> Array | None:
        """Say where the rows of each part end; None for tables that all share."""
        name = name.removesuffix(PLACE)
        if name.endswith((DISTINCT, SIZES, OF_LEAVES)):
            return None
        inside = name in ("left_first", "left", "right") or name.endswith(INNER)
        return ends_among[INNER if inside else AT_LEAVES if name.endswith(AT_LEAVES) else ""]

    parts: list[dict[str, Array]] = [{} for _ in n_nodes]
    for name, values in kept.items():
        stops = rows(name)
        if stops is not None and len(values) != stops[-1]:
            raise ValueError(f"{name}: expected {stops[-1]} rows, got {len(values)}")
        for number, part in enumerate(parts):
            part[name] = values if stops is None else values[stops[number] : stops[number + 1]]
    return parts


def unfolded(kept: Mapping[str, Array]) -> dict[str, Array]:
    """Compute the fields of trees from what is kept of them; see `unpack`."""
    kept = {**kept}
    structure = _Structure.of_kept(*(kept.pop(name, None) for name in ("is_leaf", "left_first", "left", "right")))
    names = dict.fromkeys(_without_endings(name) for name in kept)
    sums = [name.removesuffix(AT_LEAVES) for name in names if name.endswith(AT_LEAVES)]
    totals = {name: _values_of(kept, name + AT_LEAVES) for name in sums}
    fields = {"left": structure.left, "right": structure.right, **_derived(structure, totals)}
    feature = np.maximum(_nodes_of(kept, "feature", structure.is_leaf), 0)
    for name in names:
        if not name.endswith(AT_LEAVES):
            fields[name] = _nodes_of(kept, name, structure.is_leaf, feature if name == "threshold" else None)
    return fields


class _Structure:
    """Which nodes are children of which; they come after their parents."""

    def __init__(self, left: Array, right: Array) -> None:
        self.left, self.right = left, right
        self.is_leaf: BoolArray = left == LEAF

    @classmethod
    def of_kept(cls, is_leaf: Any, left_first: Any, left: Any, right: Any) -> _Structure:
        """Undo `kept`."""
        if left_first is not None:
            return cls(*_in_pairs(is_leaf, left_first))
        children = np.full((2, is_leaf.size), LEAF, dtype=np.int32)
        inner = np.flatnonzero(~is_leaf)
        children[0, inner] = inner + left
        children[1, inner] = children[0, inner] + right
        below = children[:, inner]
        if np.any(below <= inner) or np.any(below >= is_leaf.size) or np.any(np.bincount(below.ravel()) > 1):
            raise ValueError("packed trees: expected each child after its parent, with one parent, got another order")
        return cls(*children)

    @staticmethod
    def kept(structures: Sequence[_Structure]) -> dict[str, Array]:
        """Tell where there are leaves, and what else tells which nodes are children of which.

        Where children are numbered in pairs, that is at which nodes the left child was grown before the right one.
        Elsewhere left children are told by their distance from their parents, and right ones by that from left ones.
        """
        is_leaf = np.concatenate([each.is_leaf for each in structures])
        orders = []
        for each in structures:
            order = each._order_of_pairs()
            if order is None:
                distances = np.concatenate([each._distances() for each in structures], axis=1)
                return {"is_leaf": is_leaf, "left": distances[0], "right": distances[1]}
            orders.append(order)
        return {"is_leaf": is_leaf, "left_first": np.concatenate(orders)}

    def _order_of_pairs(self) -> BoolArray | None:
        """Tell at which nodes the left child was grown first; None where children are numbered otherwise."""
        inner = np.flatnonzero(~self.is_leaf)
        left, right = self.left[inner], self.right[inner]
        if not np.array_equal(right, left + 1):
            return None
        left_first: BoolArray = (self.left[left] != LEAF) & (self.left[left] < self.left[right])
        try:
            numbered = _in_pairs(self.is_leaf, left_first)
        except ValueError:
            return None
        return left_first if np.array_equal(numbered, [self.left, self.right]) else None

    def _distances(self) -> IntArray:
        """Say how far left children are from their parents, and right ones from them, shape (2, n_internal)."""
        inner = np.flatnonzero(~self.is_leaf)
        left = self.left[inner].astype(np.int64)
        return np.array([left - inner, self.right[inner] - left])

    def totals(self, at_leaves: Array) -> FloatArray:
        """Sum up what leaves have, for every node."""
        totals = np.zeros((self.is_leaf.size, *at_leaves.shape[1:]))
        totals[np.flatnonzero(self.is_leaf)] = at_leaves
        children = (in_rows(np.asarray(side, dtype=np.int32)) for side in (self.left, self.right))
        _add_up(*children, totals.reshape(self.is_leaf.size, -1))
        return totals


@njit
def _add_up(left: Array, right: Array, totals: Array) -> None:
    """Add the rows of children up to those of their parents, which come before them."""
    for node in range(left.size - 1, -1, -1):
        if left[node] >= 0:
            for k in range(totals.shape[1]):
                totals[node, k] = totals[left[node], k] + totals[right[node], k]


def _in_pairs(is_leaf: BoolArray, left_first: BoolArray) -> Array:
    """Give children numbers in pairs as trees are grown depth first, shape (2, n_nodes).

    Parameters
    ----------
    is_leaf : ndarray of bool, shape (n_nodes,)
    left_first : ndarray of bool, shape (n_internal,)
        Whether what is below the left child comes before what is below the right one.

    Raises
    ------
    ValueError
        There are not as many leaves as such trees have.
    """
    children, is_first = np.full((2, is_leaf.size), LEAF, dtype=np.int32), np.zeros(is_leaf.size, dtype=bool)
    is_first[np.flatnonzero(~is_leaf)] = left_first
    if not _number_pairs(np.array(is_leaf, dtype=bool), is_first, children):
        raise ValueError("packed trees: expected a leaf at the end of each way, got too few leaves")
    return children


@njit
def _number_pairs(is_leaf: Array, left_first: Array, children: Array) -> bool:
    """Give the children of all trees their numbers; tell whether there are as many nodes as that takes."""
    waiting, n_waiting, n_numbered = np.empty(is_leaf.size + 1, np.int64), 0, 0
    while n_waiting > 0 or n_numbered < is_leaf.size:
        if n_waiting == 0:
            waiting[0], n_waiting, n_numbered = n_numbered, 1, n_numbered + 1
        n_waiting -= 1
        node = waiting[n_waiting]
        if is_leaf[node]:
            continue
        if n_numbered + 2 > is_leaf.size:
            return False
        for side in range(2):
            children[side, node] = n_numbered + side
            waiting[n_waiting + (1 - side if left_first[node] else side)] = n_numbered + side
        n_waiting, n_numbered = n_waiting + 2, n_numbered + 2
    return True


def without_counts(fields: Mapping[str, Array]) -> dict[str, Array]:
    """Forget how many examples the leaves of a forest have seen, which takes fewer bytes.

    Parameters
    ----------
    fields : mapping of str to ndarray
        As `pack` takes them.

    Returns
    -------
    dict of str to ndarray
        Leaves have the same shares of classes to the last bit, and the least whole weights that have these shares; what
        the nodes above have follows from these. Where weights are no whole numbers, nothing changes.
    """
    counts = _whole_numbers(fields).get("counts")
    if counts is None:
        return {**fields}
    structure = _Structure(fields["left"], fields["right"])
    at_leaves = counts[structure.is_leaf]
    least = at_leaves // np.gcd.reduce(at_leaves, axis=1)[:, None]
    return {**fields, **_derived(structure, {"counts": least})}


def _whole_numbers(fields: Mapping[str, Array]) -> dict[str, Array]:
    """Find what may be sums of whole numbers: examples, and the weights of classes if shares follow from them."""
    found: dict[str, Array] = {}
    if "weight" in fields and fields["value"].shape[1] > 1:
        counts = np.rint(fields["value"] * fields["weight"][:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            follows = _same_bits(counts / counts.sum(axis=1, keepdims=True), fields["value"])
        if follows and counts.min() >= 0 and counts.max() < MAX_EXACT_INTEGER / counts.size:
            found["counts"] = counts.astype(np.int64)
    if "n_samples" in fields:
        found["n_samples"] = fields["n_samples"]
    return found


def _common_sums(structures: Sequence[_Structure], parts: Sequence[Mapping[str, Array]]) -> dict[str, list[Array]]:
    """Find what sums up from the leaves in all parts, and give it at the leaves of each."""
    listed: list[dict[str, Array]] = []
    sums_up = dict.fromkeys(("counts", "n_samples"), True)
    for structure, part in zip(structures, parts, strict=True):
        whole = _whole_numbers(part)
        leaves = np.flatnonzero(structure.is_leaf)
        listed.append({name: _narrow(values[leaves]) for name, values in whole.items()})
        for name, at_leaves in listed[-1].items():
            sums_up[name] &= np.array_equal(structure.totals(at_leaves), whole[name])
    found = [name for name in sums_up if all(name in each for each in listed)]
    if "counts" in found and all(np.array_equal(part["n_samples"], part["weight"]) for part in parts):
        found.remove("n_samples")  # which follows from the counts
    return {name: [each[name] for each in listed] for name in found if sums_up[name]}


def _derived(structure: _Structure, sums: Mapping[str, Array]) -> dict[str, Array]:
    """Compute what follows from sums over the leaves."""
    derived: dict[str, Array] = {}
    if "counts" in sums:
        counts = structure.totals(sums["counts"])
        derived["weight"] = weight = counts.sum(axis=1)
        derived["n_samples"] = weight.astype(np.int64)
        with np.errstate(invalid="ignore", divide="ignore"):
            derived["value"] = counts / weight[:, None]
            derived["impurity"] = np.maximum(0.0, 1.0 - np.square(counts).sum(axis=1) / np.square(weight))
    if "n_samples" in sums:
        derived["n_samples"] = structure.totals(sums["n_samples"]).astype(np.int64)
    return derived


def _by_node(
    name: str, values: Sequence[Array], is_leaf: Sequence[BoolArray], group: Sequence[IntArray] | None
) -> dict[str, Array]:
    """Keep what all leaves have in common once; values, leaves and groups are those of each part; see `_nodes_of`."""
    at_leaves = _where(is_leaf, values)
    if not _same_bits(at_leaves, np.broadcast_to(at_leaves[:1], at_leaves.shape)):
        return _by_value(name, np.concatenate(values), None if group is None else np.concatenate(group))
    inner = [~each for each in is_leaf]
    inside = _by_value(name + INNER, _where(inner, values), None if group is None else _where(inner, group))
    return {name + OF_LEAVES: at_leaves[:1], **inside}


def _where(marked: Sequence[BoolArray], values: Sequence[Array]) -> Array:
    """Put what is marked in each part one after another."""
    return np.concatenate([each[np.flatnonzero(here)] for each, here in zip(values, marked, strict=True)])


def _nodes_of(kept: Mapping[str, Array], name: str, is_leaf: BoolArray, group: IntArray | None = None) -> Array:
    """Undo `_by_node`."""
    if name + OF_LEAVES not in kept:
        return _values_of(kept, name, group)
    of_leaves, inner = kept[name + OF_LEAVES], np.flatnonzero(~is_leaf)  # numbers are ten times as fast as a mask here
    inside = _values_of(kept, name + INNER, None if group is None else group[inner])
    values = np.empty((is_leaf.size, *inside.shape[1:]), dtype=np.result_type(inside, of_leaves))
    values[...] = of_leaves
    values[inner] = inside
    return values


def _by_value(name: str, values: Array, group: IntArray | None = None) -> dict[str, Array]:
    """List the floats, or rows of integers, that occur, and where each entry has its own, if that takes fewer bytes.

    Entries of a group, by default of all, have a list of their own; see `_values_of`.
    """
    if values.dtype.kind == "f":
        listed = _distinct(values, np.zeros(len(values), dtype=np.int64) if group is None else group)
    elif values.ndim > 1 and values.dtype.kind in "iu":
        first, number = distinct_rows(values.astype(np.int64))
        order = np.lexsort((*values[first].T[::-1], -np.bincount(number)))
        listed = {DISTINCT: values[first[order]], PLACE: np.argsort(order)[number]}
    else:
        return {name: values}
    if sum(_narrow(each).nbytes for each in listed.values()) >= _narrow(values).nbytes:
        return {name: values}
    return {name + ending: each for ending, each in listed.items()}


def _distinct(values: FloatArray, group: IntArray) -> dict[str, Array]:
    """List the values of each group of rows, to the last bit, those first that occur most often."""
    bits, groups = _bits(values).ravel(), np.repeat(group, values[:1].size)
    order = np.lexsort((bits, groups))
    bits, groups = bits[order], groups[order]
    is_new = np.append(True, (bits[1:] != bits[:-1]) | (groups[1:] != groups[:-1]))[: order.size]
    number, value, group_of = np.cumsum(is_new, dtype=np.int32) - np.int32(1), bits[is_new], groups[is_new]
    by_use, sizes = np.lexsort((-np.bincount(number), group_of)), np.bincount(group_of)
    place = np.empty(order.size, dtype=np.int32)
    place[order] = (np.argsort(by_use) - (np.cumsum(sizes) - sizes)[group_of]).astype(np.int32)[number]
    return {DISTINCT: value[by_use].view(np.float64), SIZES: sizes, PLACE: place.reshape(values.shape)}


def _values_of(kept: Mapping[str, Array], name: str, group: IntArray | None = None) -> Array:
    """Undo `_by_value`."""
    if name + PLACE not in kept:
        return kept[name]
    place = kept[name + PLACE]
    if group is not None:
        sizes = kept[name + SIZES]
        place = place + (np.cumsum(sizes) - sizes)[group]
    values: Array = kept[name + DISTINCT][place]
    return values


def _without_endings(name: str) -> str:
    """Return the name of the field that a kept array belongs to, with "at leaves" where that is summed up."""
    for ending in (DISTINCT, SIZES, PLACE, OF_LEAVES, INNER):
        name = name.removesuffix(ending)
    return name


def _in_bytes(name: str, values: Array) -> tuple[str, Array]:
    """Put the first bytes of all entries together, then the second ones, as similar bytes deflate better."""
    if values.dtype == bool and values.ndim == 1:
        return f"{name}{BITS}{values.size}", np.packbits(values)
    if values.dtype.itemsize == 1 or values.size == 0:
        return name, values
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    planes = np.moveaxis(little.view(np.uint8).reshape(*values.shape, values.dtype.itemsize), -1, 0)
    return f"{name}{PLANES}{values.dtype.name}", np.ascontiguousarray(planes)


def _out_of_bytes(name: str, values: Array) -> tuple[str, Array]:
    """Undo `_in_bytes`."""
    if BITS in name:
        name, _, size = name.partition(BITS)
        if not 0 <= 8 * values.size - int(size) < 8:
            raise ValueError(f"{name}: expected bits of {size} truth values, got {values.size} bytes")
        return name, np.unpackbits(values, count=int(size)).astype(bool)
    name, _, kind = name.partition(PLANES)
    if not kind:
        return name, values
    dtype = np.dtype(kind).newbyteorder("<")
    entries = np.ascontiguousarray(np.moveaxis(values, 0, -1)).view(dtype)[..., 0]
    return name, entries.astype(np.dtype(kind))


def _narrow(values: Array) -> Array:
    """Return integers in the type of the fewest bytes that holds them; other values as they are."""
    if values.dtype.kind not in "iu" or values.size == 0:
        return values
    ends: Sequence[npt.DTypeLike] = [np.min_scalar_type(int(end)) for end in (values.min(), values.max())]
    return values.astype(np.result_type(*ends))


def _same_bits(first: Array, second: Array) -> bool:
    """Compare arrays of the same shape bit by bit, so that a negative zero is no zero."""
    if first.dtype.kind != "f":
        return bool(np.array_equal(first, second))
    return bool(np.array_equal(_bits(first), _bits(second)))


def _bits(values: FloatArray) -> IntArray:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
