"""How a gated pair buys: what the gate needs, then what the model needs to which the gate sends the example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import BoolArray, FloatArray, Int32Array, IntArray
from ipforest.classifier_trees.feature_map import FeatureMap
from ipforest.learners.greedy_miser import Squared
from ipforest.policy import ANSWERS, InWords, Policy, Progress, Rows, compared, ordered_together, want_in_order

GATE, CHEAP, FULL = range(3)
ENDED = 2
"""Added to `CHEAP` and `FULL` once the model knows all that it wants."""


class GatedPolicy:
    """Ask the gate; an example whose score exceeds the threshold goes to the full model, others to the cheap one.

    Parameters
    ----------
    gate : Policy
        Answers with one score.
    cheap, full : Policy
        Answer with class probabilities.
    threshold : float

    Notes
    -----
    An example that is stopped before the full model has all that it wants is answered by the cheap one.

    The gate decides when it has all that it wants: with delayed features it has rounds of its own, and so has the model
    to which it sends an example.
    """

    dtype = np.float64
    decides_by = "a gate between two models"

    def __init__(self, gate: Policy, cheap: Policy, full: Policy, threshold: float) -> None:
        self._parts, self._threshold = (gate, cheap, full), threshold
        self._ends = np.cumsum([1, *(part.place_size for part in self._parts)])
        self.place_size = int(self._ends[-1])
        self.ignores_unwanted = all(part.ignores_unwanted for part in self._parts)

    @property
    def narrowest(self) -> npt.DTypeLike:
        """The narrowest type of the parts."""
        return min((np.dtype(part.dtype) for part in self._parts), key=lambda dtype: dtype.itemsize)

    @property
    def features(self) -> IntArray:
        """The features that the gate or a model may want."""
        return np.unique(np.concatenate([part.features for part in self._parts])).astype(np.int64)

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Walk on in the gate, and then in the model that it has chosen."""
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        state = progress.place[:, 0]
        passed = self._advance_part(GATE, progress, rows, wanted)
        state[passed] = np.where(self._answer_part(GATE, progress, passed)[:, 0] > self._threshold, FULL, CHEAP)
        for part in (CHEAP, FULL):
            state[self._advance_part(part, progress, rows, wanted)] += ENDED
        return wanted

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Ask the part in which each example stands."""
        together = np.zeros((rows.size, progress.known.shape[1]), dtype=bool)
        for part, policy in enumerate(self._parts):
            here = np.flatnonzero(progress.place[rows, 0] == part)
            if here.size:
                together[here] = ordered_together(policy, self._progress_of(part, progress), rows[here])
        return together

    def _advance_part(self, part: int, progress: Progress, rows: Rows, wanted: Int32Array) -> Rows:
        """Move on the examples that stand in one part; return those that have come to its end."""
        here = np.flatnonzero(progress.place[rows, 0] == part)
        if here.size:
            wanted[here] = self._parts[part].advance(self._progress_of(part, progress), rows[here])
        ended: Rows = rows[here[wanted[here] == ANSWERS]]
        return ended

    def _answer_part(self, part: int, progress: Progress, rows: Rows) -> FloatArray:
        return self._parts[part].answer(self._progress_of(part, progress), rows)

    def _progress_of(self, part: int, progress: Progress) -> Progress:
        """View the progress as one part knows it."""
        place, dtype = progress.place[:, self._ends[part] : self._ends[part + 1]], np.dtype(self._parts[part].dtype)
        return replace(progress, place=place, values=progress.values.astype(dtype, copy=False))

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Answer by the full model where it has all that it wants, else by the cheap one from what is known."""
        by_full = progress.place[rows, 0] == FULL + ENDED
        outputs = self._answer_part(CHEAP, progress, rows)
        if by_full.any():
            outputs[by_full] = self._answer_part(FULL, progress, rows[by_full])
        return outputs

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Name the part that asks, and its own reason."""
        part = int(progress.place[row, 0])
        name = ("the gate", "the cheap model", "the full model")[part]
        return f"{name}: {self._parts[part].reason(self._progress_of(part, progress), row, in_words)}"


class _FixedFeatures:
    """Wants the same features of every example, one after another; the place is how many it has.

    Parameters
    ----------
    wants : ndarray of int64
    """

    dtype = np.float64
    place_size = 1
    ignores_unwanted = True
    decides_by = "a model that is no ensemble of trees"

    def __init__(self, wants: IntArray) -> None:
        self._wants = wants

    @property
    def features(self) -> IntArray:
        """The features that it wants."""
        return self._wants

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark all that it wants."""
        together = np.zeros((rows.size, progress.known.shape[1]), dtype=bool)
        together[:, self._wants] = True
        return together

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Count what is known; give the first feature that is not."""
        return want_in_order(progress, rows, progress.place[:, 0], self._wants)


class LinearScores(_FixedFeatures):
    """Linear functions of the features; one that is not known counts as its mean.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_features + 1, n_outputs)
        The last row holds the intercepts.
    feature_map : FeatureMap
        One output per feature.
    prices : ndarray of float64, shape (n_features,)
        The cheapest are wanted first.
    loss : Squared
        Its ``outputs`` turn scores (n_samples, n_outputs) into answers.
    """

    def __init__(self, weights: FloatArray, feature_map: FeatureMap, prices: FloatArray, loss: Squared) -> None:
        used = np.flatnonzero(weights[:-1].any(axis=1))
        super().__init__(used[np.argsort(prices[used], kind="stable")])
        self._weights, self._feature_map, self._prices, self._loss = weights, feature_map, prices, loss

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Weigh what is known."""
        known = np.where(progress.known[rows], progress.values[rows], np.nan)
        phi = self._feature_map.transform(known, self._wants)
        return self._loss.outputs(phi @ self._weights[self._wants] + self._weights[-1])

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Say how many features are weighed."""
        return f"it is one of {self._wants.size} features that are weighed"


class AllAtOnce(_FixedFeatures):
    """A classifier that needs all of its features before it answers.

    Parameters
    ----------
    model : fitted classifier
    probabilities : callable (model, X) -> ndarray of float64, shape (n_samples, n_classes)
    """

    def __init__(self, model: Any, probabilities: Callable[[Any, Any], FloatArray]) -> None:
        super().__init__(np.arange(model.n_features_in_))
        self._model, self._probabilities = model, probabilities
        self._names = getattr(model, "feature_names_in_", None)

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Ask the classifier; every feature is known."""
        X = progress.values[rows]
        return self._probabilities(self._model, X if self._names is None else pd.DataFrame(X, columns=self._names))

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Name the classifier."""
        return f"{type(self._model).__name__} needs all features"


class Constant(_FixedFeatures):
    """The same answer for every example, for nothing.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_outputs,)
    """

    def __init__(self, outputs: FloatArray) -> None:
        super().__init__(np.empty(0, dtype=np.int64))
        self._outputs = outputs

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Repeat the answer."""
        return np.tile(self._outputs, (rows.size, 1))

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Say that nothing is wanted."""
        return "nothing is wanted"
