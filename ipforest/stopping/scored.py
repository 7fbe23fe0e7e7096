"""Scores of stopping: what a measure says of all held-out examples together, each stopped somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.choosing.measures import HeldOutScorer
from ipforest.session import Seller
from ipforest.stopping.paths import StageOutputs, StoppingPaths
from ipforest.stopping.rules import ScoreOfStops


def scorer_on(scoring: Any, X: Array, y: Array, weight: FloatArray, seller: Seller) -> HeldOutScorer | None:
    """Apply a scorer to held-out examples, if there is one; see `HeldOutScorer`."""
    return None if scoring is None else HeldOutScorer(scoring, X, y, weight, seller.classes, seller.labels)


def recorded(
    record: Callable[[StageOutputs | None], StoppingPaths], scorer: HeldOutScorer | None, groups: IntArray | None
) -> tuple[StoppingPaths, ScoreOfStops | None]:
    """Note what examples see at every stage, and how a scorer, if there is one, judges where they stop.

    Parameters
    ----------
    record : callable (answers) -> StoppingPaths
        Notes what is answered at each stage as well, unless that is None.
    scorer : HeldOutScorer or None
    groups : ndarray of int64, shape (n_samples,), or None
        See `StoppingPaths`.
    """
    if scorer is None:
        return record(None).grouped(groups), None
    answers = StageOutputs()
    paths = record(answers).grouped(groups)
    rows = np.arange(paths.n_samples)
    return paths, lambda stages: scorer(answers.at(stages), paths.cost[rows, stages])
