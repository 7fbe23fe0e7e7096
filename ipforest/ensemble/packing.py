"""The arrays of trees in few bytes, for pickles and model files: what follows from other arrays is left out.

Unpacked, every array has the bits that it had. A child is told by its distance from its parent. Where the weights of
the classes at a node are whole numbers, as the draws of a bootstrap are, they are kept at the leaves alone: those of
the nodes above are sums, and shares of classes, weights and Gini impurities follow from them. Whatever does not follow
to the last bit is kept as it is. Integers take as many bytes as they need, and all is deflated.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FREE_BYTES, Array, BoolArray, FloatArray, IntArray, read_arrays

__all__ = ["pack", "unpack"]

LEAF = -1
AT_LEAVES, DISTINCT, PLACE = " at leaves", ", distinct", ", place"
"""What names of kept arrays end with: of the leaves alone, the values that occur, and where each of these stands."""
MAX_VALUES_PER_BYTE = 100
"""What unpacks to more bytes per byte, and to more than `FREE_BYTES`, is refused."""
MAX_EXACT_INTEGER = 2**53
"""Whole numbers below this add up as float64 without rounding."""


def pack(fields: Mapping[str, Array]) -> npt.NDArray[np.uint8]:
    """Pack the arrays of trees.

    Parameters
    ----------
    fields : mapping of str to ndarray
        By name, each with a row per node: ``left`` and ``right``, -1 at leaves, and any others of integers, floats and
        truth values. ``value``, ``weight``, ``n_samples`` and ``impurity`` take few bytes if they stand in the relation
        that they have in `ipforest.ensemble.Forest`.

    Returns
    -------
    ndarray of uint8
        For `unpack`.
    """
    structure = _Structure(fields["left"], fields["right"])
    kept = structure.distances()
    for name, values in _whole_numbers(fields).items():
        at_leaves = values[structure.is_leaf]
        if np.array_equal(structure.totals(at_leaves), values):
            kept[name + AT_LEAVES] = at_leaves
    derived = _derived(structure, kept)
    for name, values in fields.items():
        if name not in ("left", "right") and not (name in derived and _same_bits(derived[name], values)):
            kept |= _by_value(name, values) if values.dtype.kind == "f" else {name: values}
    buffer = io.BytesIO()
    narrow: dict[str, Any] = {name: _narrow(values) for name, values in kept.items()}
    np.savez_compressed(buffer, **narrow)
    return np.frombuffer(buffer.getvalue(), np.uint8)


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
    kept = read_arrays(io.BytesIO(packed.tobytes()), max(FREE_BYTES, MAX_VALUES_PER_BYTE * packed.size))
    structure = _Structure.of_distances(kept.pop("is_leaf"), kept.pop("left"), kept.pop("right"))
    fields = {"left": structure.left, "right": structure.right, **_derived(structure, kept)}
    for name, values in kept.items():
        if name.endswith(PLACE):
            name = name.removesuffix(PLACE)
            fields[name] = kept[name + DISTINCT][values]
        elif not name.endswith((AT_LEAVES, DISTINCT)):
            fields[name] = values
    return fields


class _Structure:
    """Which nodes are children of which, and the nodes that have children level by level from the roots."""

    def __init__(self, left: Array, right: Array) -> None:
        self.left, self.right = left, right
        self.is_leaf: BoolArray = left == LEAF
        self.levels: list[IntArray] = []
        is_root = np.ones(left.size, dtype=bool)
        is_root[left[~self.is_leaf]] = is_root[right[~self.is_leaf]] = False
        level = np.flatnonzero(is_root)
        while level.size:
            level = level[~self.is_leaf[level]]
            self.levels.append(level)
            level = np.concatenate([left[level], right[level]])

    @classmethod
    def of_distances(cls, is_leaf: BoolArray, left: IntArray, right: IntArray) -> _Structure:
        """Undo `distances`."""
        children = np.full((2, is_leaf.size), LEAF, dtype=np.int32)
        inner = np.flatnonzero(~is_leaf)
        children[0, inner] = inner + left
        children[1, inner] = children[0, inner] + right
        below = children[:, inner]
        if np.any(below <= inner) or np.any(below >= is_leaf.size) or np.any(np.bincount(below.ravel()) > 1):
            raise ValueError("packed trees: expected each child after its parent, with one parent, got another order")
        return cls(*children)

    def distances(self) -> dict[str, Array]:
        """Tell where there are leaves, how far left children are from their parents, and right ones from left ones."""
        inner = np.flatnonzero(~self.is_leaf)
        left = self.left[inner]
        return {"is_leaf": self.is_leaf, "left": left - inner, "right": self.right[inner] - left}

    def totals(self, at_leaves: Array) -> FloatArray:
        """Sum up what leaves have, for every node."""
        totals = np.zeros((self.is_leaf.size, *at_leaves.shape[1:]))
        totals[self.is_leaf] = at_leaves
        for level in reversed(self.levels):
            totals[level] = totals[self.left[level]] + totals[self.right[level]]
        return totals


def _whole_numbers(fields: Mapping[str, Array]) -> dict[str, Array]:
    """Find what may be sums of whole numbers: examples, and the weights of classes if shares follow from them."""
    found = {"n_samples": fields["n_samples"]} if "n_samples" in fields else {}
    if "weight" in fields and fields["value"].shape[1] > 1:
        counts = np.rint(fields["value"] * fields["weight"][:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            follows = _same_bits(counts / counts.sum(axis=1, keepdims=True), fields["value"])
        if follows and counts.min() >= 0 and counts.max() < MAX_EXACT_INTEGER / counts.size:
            found["counts"] = counts.astype(np.int64)
    return found


def _derived(structure: _Structure, kept: Mapping[str, Array]) -> dict[str, Array]:
    """Compute what follows from sums over the leaves."""
    derived: dict[str, Array] = {}
    if "n_samples" + AT_LEAVES in kept:
        derived["n_samples"] = structure.totals(kept["n_samples" + AT_LEAVES]).astype(np.int64)
    if "counts" + AT_LEAVES in kept:
        counts = structure.totals(kept["counts" + AT_LEAVES])
        derived["weight"] = weight = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            derived["value"] = counts / weight[:, None]
            derived["impurity"] = np.maximum(0.0, 1.0 - np.square(counts).sum(axis=1) / np.square(weight))
    return derived


def _by_value(name: str, values: FloatArray) -> dict[str, Array]:
    """List the values that occur, and where each node has its own, if that takes fewer bytes."""
    distinct, place = np.unique(values.view(np.int64), return_inverse=True)
    place = _narrow(place.reshape(values.shape))
    if distinct.nbytes + place.nbytes >= values.nbytes:
        return {name: values}
    return {name + DISTINCT: distinct.view(np.float64), name + PLACE: place}


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
    return bool(np.array_equal(np.ascontiguousarray(first).view(np.int64), np.ascontiguousarray(second).view(np.int64)))
