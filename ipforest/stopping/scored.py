"""Scores of stopping: what a measure says of all held-out examples together, each stopped somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray
from ipforest.choosing.measures import HeldOutScorer
from ipforest.session import Seller
from ipforest.stopping.paths import StageOutputs, StoppingPaths
from ipforest.stopping.rules import ScoreOfStops


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


def recorded(
    record: Callable[[StageOutputs | None], StoppingPaths], scorer: HeldOutScorer | None
) -> tuple[StoppingPaths, ScoreOfStops | None]:
    """Note what examples see at every stage, and how a scorer, if there is one, judges where they stop.

    Parameters
    ----------
    record : callable (answers) -> StoppingPaths
        Notes as well what is answered at each stage, unless that is None.
    scorer : HeldOutScorer or None
    """
    answers = None if scorer is None else StageOutputs()
    paths = record(answers)
    return paths, score_of_stops(scorer, answers, paths)
