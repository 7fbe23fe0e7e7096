"""Values of trees that add up to the same sum in any order, to the last bit."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import FloatArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest

__all__ = ["SumGrid"]

BITS = 52
"""Sums of multiples of a step are exact while they are below ``2**BITS`` steps."""


class SumGrid:
    """Multiples of a power of two, so small that rounding to them costs about what adding up floats may cost.

    Sums of rounded values, one per tree, and of the rounded base score are floats without rounding; so a sum can be
    brought up to date where one tree moves on, and is what adding up all trees anew would give.

    Parameters
    ----------
    trees : Forest or BoostedTrees
    base_score : ndarray of float64, shape (n_outputs,)
    """

    def __init__(self, trees: Forest | BoostedTrees, base_score: FloatArray) -> None:
        per_node = np.abs(trees.value).max(axis=1)
        largest = np.maximum.reduceat(per_node, trees.tree_offsets[:-1]).sum() + np.abs(base_score).max()
        self._exponent = int(np.frexp(largest)[1]) - BITS

    def rounded(self, values: FloatArray) -> FloatArray:
        """Return the nearest multiples."""
        return np.asarray(np.ldexp(np.rint(np.ldexp(values, -self._exponent)), self._exponent))
