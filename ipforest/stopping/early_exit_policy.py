"""Trees in order that a rule stops, and what examples see of them when it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.words import plain
from ipforest.choosing.class_costs import label_losses
from ipforest.policy import ANSWERS, InWords, Policy, Progress, Rows, TreesInOrder, compared
from ipforest.session import Seller, Sessions
from ipforest.stopping.paths import FittedRule, StageOutputs, StoppingPaths, asked, margin, margin_in_words, tables_of
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.walks import Purse, TreeWalk, Walk, record

__all__ = ["EarlyExitPolicy", "record_paths", "sureness"]

RECORDED_CELLS = 2**22
"""What is answered at all stages is kept of so many examples at once that it has no more numbers."""


class EarlyExitPolicy:
    """Trees in order, and a rule that may stop before each purchase.

    The stage of an example is the number of its purchases. An example whose label can no longer change always stops.

    Parameters
    ----------
    trees : TreesInOrder
    rule : FittedRule
    level : float
        An example goes on while its keenness exceeds this.
    free : ndarray of bool, shape (n_features,)
        Features that cost nothing: there is no stop before them, unless they are delayed.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
        Where labels are those of the least expected cost.

    Notes
    -----
    With delayed features a purchase is a round: a delayed test and all tests below it in the same tree (Turney 1995).
    Whether to go on to another tree is decided when the results are in, so that the next tree has another round: all
    trees in one round would be bought before there is anything to decide by.
    """

    ignores_unwanted = False
    decides_by = "a rule that stops buying"

    def __init__(
        self,
        trees: TreesInOrder,
        rule: FittedRule,
        level: float,
        free: BoolArray,
        class_costs: FloatArray | None = None,
    ) -> None:
        self._trees, self._rule, self._level, self._free = trees, rule, level, free
        self._class_costs = class_costs
        self.place_size = trees.place_size + len(_Place._fields)

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the trees compare."""
        return self._trees.dtype

    @property
    def name(self) -> str:
        """How many trees there are, and of which kind."""
        return self._trees.name

    @property
    def features(self) -> IntArray:
        """The features that the trees test."""
        return self._trees.features

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Walk on, and stop those whose keenness is down to the level."""
        inner, place = self._split(progress)
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        running = np.flatnonzero(place.stopped[rows] == 0)
        wanted[running] = self._trees.advance(inner, rows[running])
        free = self._free if progress.delayed is None else self._free & ~progress.delayed
        paying = running[(wanted[running] != ANSWERS) & ~free[wanted[running]]]
        deciding = rows[paying]
        outputs, settled = self._trees.foresee(inner, deciding, self._class_costs)
        keen, memory = asked(
            self._rule,
            place.stage[deciding].astype(np.int64),
            sureness(self._trees, inner, deciding, outputs, self._class_costs),
            place.memory[deciding].astype(np.int64),
        )
        stops = settled | (keen <= self._level)
        place.memory[deciding] = memory
        place.stage[deciding] += 1
        place.stopped[deciding[stops]] = 1
        wanted[paying[stops]] = ANSWERS
        return wanted

    def at_once(self, purse: Purse) -> Walk | None:
        """Give a walk through the trees that the rule stops, where both are known to kernels."""
        tables = tables_of(self._rule)
        if type(self._trees) is not TreesInOrder or tables is None:
            return None
        return self._trees.walk(purse._replace(free=self._free), tables, self._level, self._class_costs)

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark the tests below the place of each example, in its tree."""
        return self._trees.may_want_of_tree(self._split(progress)[0], rows)

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Predict from the trees that what is known answers."""
        return self._trees.answer(self._split(progress)[0], rows)

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Say how sure the answer is so far, and which tree asks."""
        inner = self._split(progress)[0]
        rows = np.array([row])
        outputs = self._trees.answer(inner, rows)
        sure = sureness(self._trees, inner, rows, outputs, self._class_costs)[0]
        state = margin_in_words(sure, self._class_costs)
        if outputs.shape[1] == 1:
            state = f"the targets that the trees may come to are {plain(-sure)} apart"
        return f"{state}; {self._trees.reason(inner, row, in_words)}"

    def _split(self, progress: Progress) -> tuple[Progress, _Place]:
        """Split a progress into that of the trees, which wait for one another, and the places of the rule."""
        size = self._trees.place_size
        return replace(progress, place=progress.place[:, :size], delayed=None), _Place(*progress.place[:, size:].T)


class _Place(NamedTuple):
    """What the rule keeps for each example: views of the progress."""

    stage: Int32Array
    memory: Int32Array
    stopped: Int32Array


def sureness(
    trees: TreesInOrder, progress: Progress, rows: Rows, outputs: FloatArray, class_costs: FloatArray | None = None
) -> FloatArray:
    """Say how sure answers are, for a rule to go by, shape (n_rows,).

    Of classes it is the margin between the two likeliest, or the difference in expected cost between the two cheapest
    labels. Of a target it is minus the distance between the least and the largest value that the trees may still come
    to: 0 where nothing that is still unknown changes it.

    Parameters
    ----------
    trees : TreesInOrder
    progress : Progress
    rows : ndarray of int64
    outputs : ndarray of float64, shape (n_rows, n_classes) or (n_rows, 1)
        What the trees answer.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
    """
    if outputs.shape[1] > 1:
        return margin(outputs, class_costs)
    low, high = trees.bounds(progress, rows)
    return low - high


def record_paths(
    trees: TreesInOrder,
    seller: Seller,
    X: Array,
    y: Array,
    max_cost: object | None,
    loss: Callable[[FloatArray, Array], FloatArray] | None = None,
    answers: StageOutputs | None = None,
) -> StoppingPaths:
    """Walk examples on until their label is settled; note how sure and right it is at each stage, and what is bought.

    Parameters
    ----------
    trees : TreesInOrder
    seller : Seller
    X : ndarray, shape (n_samples, n_features)
    y : ndarray, shape (n_samples,)
        Class labels, or targets.
    max_cost : number, optional
        What each example may pay at most.
    loss : callable (outputs, y) -> ndarray, shape (n_samples,), optional
        What stopping with such outputs, shape (n_samples, n_outputs), loses; by default 1 for a wrong label, or what
        it costs. To be given for targets.
    answers : StageOutputs, optional
        Notes what is answered at each stage.
    """
    if loss is None:
        loss = partial(label_losses, classes=np.asarray(seller.classes), class_costs=seller.class_costs)
    if answers is None and not seller.costs.delayed.any():
        walk = trees.at_once(seller.purse(max_cost))
        if isinstance(walk, TreeWalk):
            return _paths_at_once(replace(walk, class_costs=seller.class_costs), seller, X, y, loss, trees.dtype)
    policy: Policy = trees
    free = seller.free_features
    if seller.costs.delayed.any():
        policy = EarlyExitPolicy(trees, ThresholdStopping(), -inf, free, seller.class_costs)
    sessions = Sessions(policy, seller, X.shape[0], max_cost=max_cost)
    table = sessions.table(X)
    leads: list[FloatArray] = []
    losses: list[FloatArray] = []
    last = np.zeros(X.shape[0], dtype=np.int64)
    bought_at = np.full((X.shape[0], seller.costs.n_units), -1)
    rows = np.arange(X.shape[0])
    while rows.size:
        while (given := np.flatnonzero((sessions.wanted != ANSWERS) & free[sessions.wanted] & ~sessions.waits)).size:
            sessions.buy_from(table, given)
        outputs, settled = trees.foresee(sessions.progress, rows, seller.class_costs)
        if answers is not None:
            answers.note(outputs, rows)
        leads.append(
            _scatter(sureness(trees, sessions.progress, rows, outputs, seller.class_costs), rows, last.size, 0.0)
        )
        lost = loss(outputs, y[rows])
        losses.append(_scatter(lost, rows, last.size, losses[-1] if losses else 0.0))
        rows = rows[(sessions.wanted[rows] != ANSWERS) & ~settled]
        before = sessions.units_paid[rows]
        sessions.buy_from(table, rows)
        example, unit = np.nonzero(sessions.units_paid[rows] & ~before)
        bought_at[rows[example], unit] = len(leads) - 1
        last[rows] += 1
    bought_at[bought_at < 0] = len(leads)
    return StoppingPaths(np.column_stack(leads), np.column_stack(losses), last, bought_at, seller.costs)


def _paths_at_once(
    walk: TreeWalk,
    seller: Seller,
    X: Array,
    y: Array,
    loss: Callable[[FloatArray, Array], FloatArray],
    dtype: npt.DTypeLike,
) -> StoppingPaths:
    """Note the stages of blocks of examples by a compiled walk; see `record_paths`."""
    parts, size = [], max(1, RECORDED_CELLS // (X.shape[1] * walk.n_outputs))
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        recorded = record(walk, X[rows].astype(dtype).astype(np.float64))
        stages = np.minimum(np.arange(recorded.signal.shape[1]), recorded.last[:, None])
        first = np.diff(stages, axis=1, prepend=-1) > 0
        lost = np.empty(stages.shape)
        lost[first] = loss(recorded.outputs[first], np.broadcast_to(y[rows, None], first.shape)[first])
        parts.append((recorded.signal, np.take_along_axis(lost, stages, axis=1), recorded.last, recorded.bought_at))
    signal, losses, last, bought_at = map(np.concatenate, zip(*parts, strict=True))
    n_stages = int(last.max(initial=0)) + 1
    bought_at[bought_at < 0] = n_stages
    return StoppingPaths(signal[:, :n_stages], losses[:, :n_stages], last, bought_at, seller.costs)


def _scatter(values: FloatArray, rows: IntArray, size: int, others: FloatArray | float) -> FloatArray:
    column = np.empty(size)
    column[:] = others
    column[rows] = values
    return column
