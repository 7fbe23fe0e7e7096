"""Sets of categories, as long as the categories that they list, however large the numbers of these are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import DAMAGED, Array, BoolArray, IntArray, checked_array, one_line
from ipforest.ensemble.packing import deflated, inflated

__all__ = ["CategorySets", "Members"]

SMALL = 2**10
"""Sets of fewer bytes are not packed: that would take more."""

Members = tuple[npt.ArrayLike, bool]
"""What a set lists, and whether it holds all other categories in place of these."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CategorySets:
    """Sets of categories, each given by the categories in it, or by those that are not.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_sets + 1,)
        Set s lists ``listed[offsets[s]:offsets[s + 1]]``.
    listed : ndarray of int64, shape (n_listed,)
        Categories >= 0, ascending in each set.
    others : ndarray of bool, shape (n_sets,)
        Whether a set holds all categories but those that it lists, negative numbers included.

    Raises
    ------
    TypeError, ValueError
        Arrays of another kind or length, categories below 0 or not ascending.
    """

    offsets: IntArray
    listed: IntArray
    others: BoolArray

    def __post_init__(self) -> None:
        n_sets = np.size(self.others)
        for name, dtype, shape in (
            ("offsets", np.int64, (n_sets + 1,)),
            ("listed", np.int64, np.shape(self.listed)),
            ("others", np.bool_, (n_sets,)),
        ):
            object.__setattr__(self, name, checked_array(getattr(self, name), name, dtype, shape))
        if self.offsets[0] != 0 or self.offsets[-1] != self.listed.size or np.any(np.diff(self.offsets) < 0):
            raise ValueError(f"offsets: expected to rise from 0 to the {self.listed.size} categories, got other values")
        starts = self.listed[self.offsets[:-1][np.diff(self.offsets) > 0]]
        number_of_set = np.repeat(np.arange(n_sets), np.diff(self.offsets))
        same = number_of_set[1:] == number_of_set[:-1]
        if np.any(starts < 0) or np.any(self.listed[1:][same] <= self.listed[:-1][same]):
            raise ValueError("listed: expected ascending categories >= 0 in each set, got other values")

    def __getstate__(self) -> dict[str, Any] | list[Any]:
        """Give the arrays, packed if they are large."""
        if self.nbytes < SMALL:
            return [self.offsets, self.listed, self.others]
        arrays = {"sizes": np.diff(self.offsets), "listed": self.listed, "others": self.others}
        return {"packed": deflated(arrays)}

    def __setstate__(self, state: Any) -> None:
        try:
            if isinstance(state, dict):
                arrays = inflated(state["packed"])
                offsets = np.concatenate([[0], np.cumsum(arrays["sizes"], dtype=np.int64)])
                state = offsets, arrays["listed"], arrays["others"]
            offsets, listed, others = state
        except DAMAGED as problem:
            raise ValueError(f"left_categories: expected packed sets, got: {one_line(problem)}") from None
        for name, values in (("offsets", offsets), ("listed", listed), ("others", others)):
            object.__setattr__(self, name, values)
        self.__post_init__()

    @classmethod
    def of(cls, sets: Iterable[Members]) -> Self:
        """Collect sets, each given by what it lists, in any order, and whether it holds all others instead."""
        rows = [(np.unique(np.asarray(listed, dtype=np.int64)), others) for listed, others in sets]
        sizes = [row.size for row, _ in rows]
        listed = np.concatenate([np.empty(0, dtype=np.int64), *(row for row, _ in rows)])
        return cls(
            np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), listed, np.array([o for _, o in rows], bool)
        )

    @classmethod
    def from_rows(cls, rows: Sequence[BoolArray]) -> Self:
        """Collect sets of categories 0, 1, ..., each given by whether a category is in it; no other one is."""
        return cls.of((np.flatnonzero(row), False) for row in rows)

    def followed_by(self, more: CategorySets) -> CategorySets:
        """Return these sets and then others."""
        return CategorySets(
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.listed, more.listed]),
            np.concatenate([self.others, more.others]),
        )

    def members(self, number: int) -> Array:
        """Return the categories that a set lists."""
        return self.listed[self.offsets[number] : self.offsets[number + 1]]

    @property
    def nbytes(self) -> int:
        """Bytes of all sets."""
        return self.offsets.nbytes + self.listed.nbytes + self.others.nbytes

    def __len__(self) -> int:
        return self.others.size

    def __repr__(self) -> str:
        return f"CategorySets({len(self)} sets, {self.listed.size} categories listed)"
