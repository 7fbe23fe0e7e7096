"""Packed forests: those on parts of the same columns share tables of thresholds; those at rest wait to be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ipforest._internal.arrays import DAMAGED, Array, IntArray, one_line
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.packing import inflated, pack, parted, unfolded

__all__ = ["ForestAmongOthers", "ForestsAtRest", "RestingForest", "n_nodes_of", "pack_forests", "unpack_forests"]

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
        return vars(self) | {"unpacked": None}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.packed["n_features"])

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.packed["tree_offsets"][-1])

    def forest(self) -> Forest:
        """Unpack the forest, unless that has been done, and hold its arrays."""
        forest = self.unpacked  # which another thread may forget meanwhile
        if forest is None:
            forest = self.unpacked = self._made()
        return forest

    def _made(self) -> Forest:
        forest = Forest.__new__(Forest)
        forest.__setstate__(self.packed)
        return forest

    def rest(self) -> None:
        """Forget the arrays."""
        self.unpacked = None

    def check(self) -> None:
        """Unpack the forest to see that it is one, and forget the arrays.

        Raises
        ------
        ValueError, TypeError
            It is damaged.
        """
        self.rest()
        self.forest()
        self.rest()

    def by_itself(self) -> RestingForest:
        """Return what shares nothing with other forests, to be saved."""
        return self


@dataclass(eq=False, repr=False)
class ForestAmongOthers(RestingForest):
    """One of the forests that were packed together; its arrays ``nodes`` are those that `parted` gives.

    Parameters
    ----------
    packed : dict
        The arguments of a `Forest`, but for its arrays of nodes, which are parts of those of all forests.
    columns : ndarray of int64
        The column of a table that each feature is.
    """

    columns: IntArray

    def _made(self) -> Forest:
        place = np.full(int(max(self.columns, default=-1)) + 1, -1)
        place[self.columns] = np.arange(self.columns.size)
        try:
            nodes = unfolded(self.packed["nodes"])
            fields: dict[str, Any] = self.packed | nodes | {"feature": _moved(nodes["feature"], place)}
            del fields["nodes"]
            return Forest(**fields)
        except DAMAGED as problem:
            raise _damaged(problem) from None

    def by_itself(self) -> RestingForest:
        """Pack the forest anew."""
        return RestingForest((self.unpacked or self._made()).__getstate__())


@dataclass(eq=False, repr=False)
class ForestsAtRest(Sequence[Forest]):
    """Forests of which the large ones are packed when they rest, and unpacked when they are asked for.

    In a pickle all are packed, and rest where that is loaded.

    Parameters
    ----------
    members : sequence of Forest or RestingForest
    """

    members: Sequence[Forest | RestingForest]

    def __getstate__(self) -> dict[str, Any]:
        return {"members": [_resting(each).by_itself() for each in self.members]}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the forests as they are: packing takes seconds."""
        return type(self)(deepcopy(self.members, memo))

    def rest(self) -> None:
        """Pack the large ones, and forget what was unpacked, which takes some fifty times as many bytes."""
        self.members = [
            _resting(each) if isinstance(each, Forest) and _is_large(each) else each for each in self.members
        ]
        for each in self.members:
            if isinstance(each, RestingForest):
                each.rest()

    def __iter__(self) -> Iterator[Forest]:
        return (each.forest() if isinstance(each, RestingForest) else each for each in self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]


def n_nodes_of(ensembles: Sequence[Forest | BoostedTrees]) -> int:
    """Count the nodes of ensembles; those at rest are not unpacked for that."""
    members = ensembles.members if isinstance(ensembles, ForestsAtRest) else ensembles
    return sum(each.n_nodes for each in members)


def _resting(forest: Forest | RestingForest) -> RestingForest:
    return forest if isinstance(forest, RestingForest) else RestingForest(forest.__getstate__())


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
    others = [{name: getattr(forest, name) for name in forest._fields_beside_nodes()} for forest in forests]
    return {"nodes": pack(*parts), "others": others}


def unpack_forests(packed: dict[str, Any], columns: Sequence[IntArray]) -> ForestsAtRest:
    """Part what `pack_forests` made of forests on these columns; each is unpacked when it is asked for.

    Raises
    ------
    ValueError
        It is damaged, or has another number of forests. Damage that leaves its archive whole is told when the forest is
        asked for.
    """
    try:
        sizes = [int(other["tree_offsets"][-1]) for other in packed["others"]]
        parts = parted(inflated(packed["nodes"]), sizes)
        forests = zip(packed["others"], parts, columns, strict=True)
        return ForestsAtRest([ForestAmongOthers({**other, "nodes": part}, own) for other, part, own in forests])
    except DAMAGED as problem:
        raise _damaged(problem) from None


def _damaged(problem: Exception) -> ValueError:
    return ValueError(f"nodes: expected packed arrays of forests, got: {one_line(problem)}")


def _moved(feature: Array, columns: Array) -> Array:
    """Replace features, which are -1 at leaves."""
    return np.where(feature < 0, -1, np.append(columns, -1)[feature]).astype(np.int32)
