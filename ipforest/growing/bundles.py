"""Columns of two values, one of them rare, that share their sums: those of indicators, of which an example has one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, Int32Array, IntArray, read_only
from ipforest._internal.kernels import uncounted_njit

MOST_MEMBERS = 255
"""Of a bundle: numbers of members are bytes."""

FEWEST_MEMBERS = 4
"""Fewer columns are summed by themselves."""

MOST_TRIED = 16
"""A column is put into one of the latest bundles, or into a new one: indicators of one variable stand side by side."""


class Bundles(NamedTuple):
    """Features of two codes, in bundles: no example has the rarer code of two features of a bundle.

    Parameters
    ----------
    member : ndarray of uint8, shape (n_bundles, n_samples)
        Which feature of the bundle has its rarer code, counted from 1; 0 for none.
    first : ndarray of int64, shape (n_bundles + 1,)
        The features of bundle b are ``feature[first[b]:first[b + 1]]``.
    feature : ndarray of int32, shape (n_members,)
    rarer : ndarray of int64, shape (n_members,)
        The rarer code of each, 0 or 1.
    is_bundled : ndarray of bool, shape (n_features,)

    References
    ----------
    Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017, section 4.
    """

    member: npt.NDArray[np.uint8]
    first: IntArray
    feature: Int32Array
    rarer: IntArray
    is_bundled: BoolArray

    @classmethod
    def of(cls, codes: Array, sizes: IntArray, is_category: BoolArray) -> Bundles:
        """Put each feature into the first of the latest bundles that it fits, and keep bundles of many.

        Parameters
        ----------
        codes : ndarray of integers, shape (n_features, n_samples)
        sizes : ndarray of int64, shape (n_features,)
            Numbers of codes.
        is_category : ndarray of bool, shape (n_features,)
        """
        bundles: list[tuple[list[tuple[int, int]], npt.NDArray[np.uint8]]] = []
        for feature in np.flatnonzero((sizes == 2) & ~is_category).tolist():
            if codes[feature].max() > 1:
                continue
            rarer = int(2 * np.count_nonzero(codes[feature]) <= codes.shape[1])
            has_it = np.flatnonzero(codes[feature] == rarer)
            if FEWEST_MEMBERS * has_it.size > codes.shape[1]:
                continue
            for members, member in bundles[-MOST_TRIED:]:
                if len(members) < MOST_MEMBERS and not member[has_it].any():
                    break
            else:
                members, member = [], np.zeros(codes.shape[1], dtype=np.uint8)
                bundles.append((members, member))
            members.append((feature, rarer))
            member[has_it] = len(members)
        kept = [(members, member) for members, member in bundles if len(members) >= FEWEST_MEMBERS]
        joined = np.array([pair for members, _ in kept for pair in members], dtype=np.int64).reshape(-1, 2)
        is_bundled = np.zeros(sizes.size, dtype=bool)
        is_bundled[joined[:, 0]] = True
        return cls(
            read_only(np.array([member for _, member in kept], dtype=np.uint8).reshape(len(kept), codes.shape[1])),
            read_only(np.cumsum([0, *(len(members) for members, _ in kept)])),
            read_only(joined[:, 0].astype(np.int32)),
            read_only(joined[:, 1].copy()),
            read_only(is_bundled),
        )


@uncounted_njit
def share_out(
    bundles: Bundles,
    bundle: int,
    sums: npt.NDArray[np.float64],
    whole: npt.NDArray[np.float64],
    offsets: IntArray,
    tables: npt.NDArray[np.float64],
) -> None:
    """Write the sums per code of a bundle's features, from those per member (n_members + 1, width) and over all."""
    first = bundles.first[bundle]
    for place in range(first, bundles.first[bundle + 1]):
        table = tables[offsets[bundles.feature[place]] :]
        rarer = bundles.rarer[place]
        for k in range(whole.size):
            table[rarer, k] = sums[place - first + 1, k]
            table[1 - rarer, k] = whole[k] - sums[place - first + 1, k]
            table[2, k] = 0.0
