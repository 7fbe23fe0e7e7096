"""Packed forests: those on parts of the same columns share tables of thresholds; those at rest wait to be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np

from ipforest._internal.arrays import DAMAGED, Array, IntArray, one_line
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.packing import pack, unpack

__all__ = ["ForestsAtRest", "RestingForest", "pack_forests", "unpack_forests"]

MIN_RESTING_BYTES = 2**24
"""Smaller forests are not packed: that took 4% of training on 5,000 examples."""


@dataclass(eq=False, repr=False)
class RestingForest:
    """A forest that is packed, and unpacked while it is in use.

    Parameters
    ----------
    packed : dict
        The state of a `Forest`, whose arrays are packed.
    """

    packed: dict[str, Any]
    unpacked: Forest | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"packed": self.packed, "unpacked": None}

    def forest(self) -> Forest:
        """Unpack the forest, unless that has been done, and hold its arrays."""
        if self.unpacked is None:
            forest = Forest.__new__(Forest)
            forest.__setstate__(self.packed)
            self.unpacked = forest
        return self.unpacked

    def rest(self) -> None:
        """Forget the arrays."""
        self.unpacked = None


@dataclass(eq=False, repr=False)
class ForestsAtRest(Sequence[Forest]):
    """Forests of which the large ones are packed when they rest, and unpacked when they are asked for.

    Parameters
    ----------
    members : sequence of Forest or RestingForest
    """

    members: Sequence[Forest | RestingForest]

    @classmethod
    def of(cls, forests: Sequence[Forest]) -> Self:
        """Pack those with `MIN_RESTING_BYTES`."""
        return cls([RestingForest(each.__getstate__()) if _is_large(each) else each for each in forests])

    def rest(self) -> None:
        """Forget what was unpacked, which takes some fifty times as many bytes."""
        for each in self.members:
            if isinstance(each, RestingForest):
                each.rest()

    def __iter__(self) -> Iterator[Forest]:
        return (each.forest() if isinstance(each, RestingForest) else each for each in self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]


def _is_large(forest: Forest) -> bool:
    return bool(sum(getattr(forest, name).nbytes for name in Forest.NODE_FIELDS) >= MIN_RESTING_BYTES)


def pack_forests(forests: Sequence[Forest], columns: Sequence[IntArray]) -> dict[str, Any]:
    """Pack forests.

    Parameters
    ----------
    forests : sequence of Forest
        With the same classes.
    columns : sequence of ndarray of int64
        The column of a table that each feature of each forest is.

    Returns
    -------
    dict
        For `unpack_forests`.
    """
    parts = [
        {name: getattr(forest, name) for name in Forest.NODE_FIELDS} | {"feature": _moved(forest.feature, own)}
        for forest, own in zip(forests, columns, strict=True)
    ]
    starts = np.cumsum([0, *(forest.n_nodes for forest in forests)])
    for part, start in zip(parts, starts, strict=False):
        part |= {side: np.where(part[side] < 0, -1, part[side] + start) for side in ("left", "right")}
    nodes = pack({name: np.concatenate([part[name] for part in parts]) for name in Forest.NODE_FIELDS})
    others = [{name: getattr(forest, name) for name in forest._fields_beside_nodes()} for forest in forests]
    return {"nodes": nodes, "others": others}


def unpack_forests(packed: dict[str, Any], columns: Sequence[IntArray]) -> list[Forest]:
    """Unpack what `pack_forests` made of forests on these columns.

    Raises
    ------
    ValueError
        It is damaged, or has another number of forests.
    """
    try:
        nodes = unpack(packed["nodes"])
        starts = np.cumsum([0, *(int(other["tree_offsets"][-1]) for other in packed["others"])])
        forests = []
        for other, own, (start, stop) in zip(packed["others"], columns, pairwise(starts.tolist()), strict=True):
            part: dict[str, Any] = {name: values[start:stop] for name, values in nodes.items()}
            part |= {side: np.where(part[side] < 0, -1, part[side] - start) for side in ("left", "right")}
            place = np.full(int(max(own, default=-1)) + 1, -1)
            place[own] = np.arange(own.size)
            forests.append(Forest(**other, **part | {"feature": _moved(part["feature"], place)}))
        return forests
    except DAMAGED as problem:
        raise ValueError(f"nodes: expected packed arrays of forests, got: {one_line(problem)}") from None


def _moved(feature: Array, columns: Array) -> Array:
    """Replace features, which are -1 at leaves."""
    return np.where(feature < 0, -1, np.append(columns, -1)[feature]).astype(np.int32)
