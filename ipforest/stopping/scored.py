"""Scores of stopping: what a measure says of all held-out examples together, each stopped somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray
from ipforest.choosing.measures import HeldOutScorer
from ipforest.session import Seller
from ipforest.stopping.rules import ScoreOfStops, StageOutputs, StoppingPaths


def scorer_on(scoring: Any, X: Array, y: Array, weight: FloatArray, seller: Seller) -> HeldOutScorer | None:
    """Apply a scorer to held-out examples, if there is one; see `HeldOutScorer`."""
    return None if scoring is None else HeldOutScorer(scoring, X, y, weight, seller.classes, seller.labels)


def score_of_stops(
    scorer: HeldOutScorer | None, answers: StageOutputs | None, paths: StoppingPaths
) -> ScoreOfStops | None:
    """Measure what examples are answered, and have paid, where they stop; None without a scorer."""
    if scorer is None or answers is None:
        return None
    rows = np.arange(paths.n_samples)
    return lambda stages: scorer(answers.at(stages), paths.cost[rows, stages])
