"""Stopping at the same threshold everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.stopping.paths import StoppingPaths
from ipforest.walks import THRESHOLD, RuleTables

__all__ = ["ThresholdStopping"]


@dataclass(frozen=True, slots=True)
class ThresholdStopping:
    """Stop as soon as the signal reaches a threshold, the same at all stages; the level is its negative.

    A signal of 0 at the first stage is that of a cascade for numbers, which knows no earlier answer that the first one
    could differ from: nothing is certain yet, so that it goes on at every level but infinity.
    """

    def fit(self, paths: StoppingPaths) -> ThresholdStopping:
        """Return itself: only the level is chosen on data."""
        return self

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the negative of the signal."""
        return np.where((stage == 0) & (signal == 0), np.inf, -signal), memory

    def tables(self) -> RuleTables:
        """Write the rule as compiled walks read it."""
        return RuleTables.of(THRESHOLD)
