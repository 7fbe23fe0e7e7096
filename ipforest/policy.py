"""What a fitted model wants to know next: the protocol of models that buy feature by feature, and trees in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray, held, read_only
from ipforest._internal.kernels import run_in_slices
from ipforest._internal.words import counted
from ipforest.ensemble import routing
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.walks import (
    NEVER,
    SETTLED_SLACK,
    Purse,
    RuleTables,
    SeenTrees,
    TreeWalk,
    Walk,
    link_of,
    n_outputs_of,
    packed,
)
from ipforest.walks.labels import cheapest_is_certain

Rows = IntArray

ANSWERS = -1
"""What a policy wants of an example about which it knows enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """What is known about examples, and where a policy stands with each of them.

    Parameters
    ----------
    values : ndarray of float, shape (n_samples, n_features)
        In the policy's ``dtype``; read only where known. NaN is a value that cannot be had.
    known : ndarray of bool, shape (n_samples, n_features)
    barred : ndarray of bool, shape (n_samples, n_features)
        Features that cannot be had. A policy that can leave out what needs them does so; of one that wants them all the
        same they become known, as missing values, or it answers.
    tests : ndarray of int32, shape (n_samples, n_features)
        How often each feature was tested so far. A feature that the policy wanted counts as tested once it is known
        and the policy has moved on.
    place : ndarray of int32, shape (n_samples, place_size)
        What the policy keeps for each example, zeros at the start.
    delayed : ndarray of bool, shape (n_features,), optional
        Features whose values come in the next round only; None where all come at once.
    given : ndarray of bool, shape (n_samples, n_features), optional
        Features that were known before anything was asked; only with delayed features.
    """

    values: Array
    known: BoolArray
    barred: BoolArray
    tests: Int32Array
    place: Int32Array
    delayed: BoolArray | None = None
    given: BoolArray | None = None

    @classmethod
    def start(cls, policy: Policy, n_samples: int, n_features: int, delayed: BoolArray | None = None) -> Self:
        """Return the progress of examples about which nothing is known."""
        shape = (n_samples, n_features)
        return cls(
            values=np.full(shape, np.nan, dtype=policy.dtype),
            known=np.zeros(shape, dtype=bool),
            barred=np.zeros(shape, dtype=bool),
            tests=np.zeros(shape, dtype=np.int32),
            place=np.zeros((n_samples, policy.place_size), dtype=np.int32),
            delayed=delayed,
            given=None if delayed is None else np.zeros(shape, dtype=bool),
        )


@dataclass(frozen=True, slots=True)
class Test:
    """What a node of a tree asks.

    Parameters
    ----------
    feature : int
    threshold : float
        What the feature is compared with.
    categories : tuple of int, optional
        Of a test of a category: the numbers that go left.
    """

    __test__ = False  # no test of pytest's

    feature: int
    threshold: float
    categories: tuple[int, ...] | None = None


InWords: TypeAlias = Callable[[Test], str]


def compared(test: Test) -> str:
    """Say what a test asks when nothing is known about the feature."""
    if test.categories is not None:
        return f"asks whether it is one of {', '.join(map(str, test.categories))}"
    return f"compares it with {test.threshold:.6g}" if isfinite(test.threshold) else "asks whether it is missing"


class Policy(Protocol):
    """How a fitted model buys: given what is known about examples, it wants one more feature of each, or answers.

    Sessions, costs and predictions follow from it; see `ipforest.session`. Many examples move at once.

    A policy is fitted state only: callers pass the progress of each example, and it keeps nothing about them.

    One that a compiled walk can follow has a method ``at_once(purse)``, which gives a `ipforest.walks.Walk` for prices
    and a cap (`ipforest.walks.Purse`), or None; it is not asked where features are delayed. Tables are then predicted
    in one pass.

    One whose parts compare values in types of their own has a property ``narrowest``, the narrowest of these: what
    that does not hold is refused before any part sees it.
    """

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the model compares values."""

    @property
    def place_size(self) -> int:
        """How many integers say where it stands with one example."""

    @property
    def ignores_unwanted(self) -> bool:
        """Whether it takes no notice of known features that it did not want.

        Then examples whose features are all known pass through it in one call.
        """

    @property
    def decides_by(self) -> str:
        """What decides besides the trees' own predictions; empty where these are all."""

    @property
    def features(self) -> IntArray:
        """The features that it may want of an example."""

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Move examples on as far as what is known allows; change their tests and place.

        Parameters
        ----------
        progress : Progress
        rows : ndarray of int64
            The examples to move.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
            The feature wanted next of each, or -1 where the model answers.
        """

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Say what may be wanted of examples before the policy next decides with new results.

        It is asked for examples that want a delayed feature, and all that it names is ordered together with that one.
        A policy without this method may want all its `features`; see `ordered_together`.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_features)
            Known features may be among them.
        """

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Predict from what is known, wherever the examples stand.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes) or (n_rows, 1)
            Class probabilities, or the target.
        """

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Say in a few words why one example's next feature is wanted.

        Parameters
        ----------
        progress : Progress
        row : int
        in_words : callable (Test) -> str
            Says what a test asks, for models that test one feature at a time.
        """


def narrowest_of(policy: Policy) -> npt.DTypeLike:
    """Return the narrowest type in which a policy compares values."""
    narrowest: npt.DTypeLike = getattr(policy, "narrowest", policy.dtype)
    return narrowest


def ordered_together(policy: Policy, progress: Progress, rows: Rows) -> BoolArray:
    """Return what examples that want a delayed feature order with it, shape (n_rows, n_features).

    It is what the policy says in `Policy.may_want`, or else all features that it may want of any example.
    """
    own = getattr(policy, "may_want", None)
    if own is not None:
        return np.asarray(own(progress, rows), dtype=bool)
    together = np.zeros((rows.size, progress.known.shape[1]), dtype=bool)
    together[:, policy.features] = True
    return together


def want_in_order(progress: Progress, rows: Rows, n_counted: Int32Array, features: IntArray) -> Int32Array:
    """Count what is known of features, in their order, up to the first that is not, which is wanted.

    ``n_counted``, shape (n_samples,), says how many were counted of each example; it is changed, as the tests are.
    """
    wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
    for number, feature in enumerate(features.tolist()):
        at = np.flatnonzero(n_counted[rows] == number)
        known = progress.known[rows[at], feature]
        progress.tests[rows[at[known]], feature] += 1
        n_counted[rows[at[known]]] += 1
        wanted[at[~known]] = feature
    return wanted


FOUND_BELOW = ("_lowest", "_highest", "_value", "_first_output", "_tests")
"""What `TreesInOrder` computes from its trees; pickles go without."""


class TreesInOrder:
    """The trees of an ensemble, one after another: each test on the path wants its feature.

    Notes
    -----
    Before the end it answers from the trees that what is known leads to a leaf. Of averaged trees, those past their
    root count too, with the node at which they stand; where none counts, all do. A tree that asks for a feature that
    cannot be had stays at that node.

    With delayed features trees do not wait for one another: each walks on to its first delayed test, and one round has
    all of them. With a delayed test all tests below it in that tree are ordered (Turney 1995), whatever was bought
    before; only values that were given at the start narrow them down.
    """

    place_size = 2
    ignores_unwanted = True
    decides_by = ""

    def __init__(self, trees: Forest | BoostedTrees) -> None:
        self.trees = trees
        self._look_below()

    def _look_below(self) -> None:
        """Find what the leaves below each node say at least, at most, and at the node."""
        trees = self.trees
        if not isinstance(trees, (Forest, BoostedTrees)):
            raise TypeError(f"trees: expected a Forest or BoostedTrees, got {type(trees).__name__}")
        lowest, highest = trees.value.copy(), trees.value.copy()
        routing.extremes_below(trees.left, trees.right, lowest, highest)
        self._lowest, self._highest = read_only(lowest), read_only(highest)
        is_leaf, averages = trees.is_leaf[:, None], trees.link == "mean"
        self._value = read_only(trees.value if averages else np.where(is_leaf, trees.value, (lowest + highest) / 2))
        self._first_output, self._tests = read_only(trees.first_output), trees.splits

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in FOUND_BELOW}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._look_below()

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the trees compare."""
        return self.trees.dtype

    @property
    def name(self) -> str:
        """How many trees there are, and of which kind."""
        return counted(self.trees.n_trees, f"{'boosted' if isinstance(self.trees, BoostedTrees) else 'averaged'} tree")

    @property
    def features(self) -> IntArray:
        """The features that the trees test."""
        return np.unique(self.trees.feature[self.trees.internal_nodes]).astype(np.int64)

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Walk on; the place is the tree and, counted from its root, the node.

        A delayed feature is wanted when no tree wants any other.
        """
        wanted = np.empty(rows.size, dtype=np.int32)
        seen = self._splits(progress), rows, progress.values, progress.known, progress.barred
        if progress.delayed is None:
            routing.walk_on(*seen, progress.place, progress.tests, wanted)
        else:
            routing.walk_all(*seen, progress.delayed, progress.place, progress.tests, wanted)
        return wanted

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark the tests below the node at which each tree stands."""
        return self._below(progress, rows, current_only=False)

    def may_want_of_tree(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark the tests below the place of each example, in its tree alone."""
        return self._below(progress, rows, current_only=True)

    def _below(self, progress: Progress, rows: Rows, *, current_only: bool) -> BoolArray:
        together = np.zeros((rows.size, progress.known.shape[1]), dtype=bool)
        given = np.zeros_like(progress.known) if progress.given is None else progress.given
        seen = self._splits(progress), rows, progress.values, progress.known, progress.barred
        routing.mark_below(*seen, given, progress.place, current_only, together)
        return together

    def at_once(self, purse: Purse) -> Walk | None:
        """Give a walk that ends when all trees have been asked."""
        return self.walk(purse, RuleTables.of(NEVER), -np.inf) if type(self) is TreesInOrder else None

    def walk(self, purse: Purse, rule: RuleTables, level: float, class_costs: FloatArray | None = None) -> TreeWalk:
        """Give a walk through the trees that a rule may stop; see `ipforest.walks.TreeWalk`."""
        self._require_features(purse.free.size)
        trees = self.trees
        seen = SeenTrees(
            packed(self._tests),
            self._value,
            self._lowest,
            self._highest,
            self._first_output,
            trees.base_score,
            link_of(trees),
            trees.classes is not None,
        )
        return TreeWalk(held(seen), held(purse), held(rule), level, class_costs, n_outputs_of(trees))

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Add up the nodes that what is known leads to."""
        return self.foresee(progress, rows)[0]

    def reached(self, progress: Progress, rows: Rows) -> IntArray:
        """Find the node of each tree that what is known leads to, shape (n_rows, n_trees)."""
        nodes = np.empty((rows.size, self.trees.n_trees), dtype=np.int64)
        routing.reached_nodes(self._splits(progress), rows, progress.values, progress.known, nodes)
        return nodes

    def foresee(
        self, progress: Progress, rows: Rows, class_costs: FloatArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """Predict from what is known, and tell whose label nothing that is still unknown can change.

        Parameters
        ----------
        progress : Progress
        rows : ndarray of int64
        class_costs : ndarray of float64, shape (n_classes, n_classes), optional
            Where labels are those of the least expected cost.

        Returns
        -------
        outputs : ndarray of float64, shape (n_rows, n_outputs)
            As in `answer`.
        settled : ndarray of bool, shape (n_rows,)
            Never for regression.
        """
        outlook = self._look_ahead(progress, rows)
        if isinstance(self.trees, BoostedTrees):
            low, high = outlook.low + self.trees.base_score, outlook.high + self.trees.base_score
            settled = self._settled(low, high)
            if class_costs is not None:
                settled = _margins_settle(self.trees, low, high, class_costs)
            margins = np.where(settled[:, None], outlook.everything, outlook.counted) + self.trees.base_score
            return self.trees.outputs(margins), settled
        settled = self._settled(outlook.low, outlook.high)
        if class_costs is not None:
            settled = cheapest_is_certain(outlook.low, outlook.high, class_costs, SETTLED_SLACK)
        all_count = settled | (outlook.n_counted == 0)
        total = np.where(all_count[:, None], outlook.everything, outlook.counted)
        return total / np.where(all_count, self.trees.n_trees, outlook.n_counted)[:, None], settled

    def bounds(self, progress: Progress, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Bound the target that the trees come to, whatever is still unknown, shapes (n_rows,); for regression."""
        outlook = self._look_ahead(progress, rows)
        if isinstance(self.trees, BoostedTrees):
            low, high = (self.trees.outputs(part + self.trees.base_score) for part in (outlook.low, outlook.high))
            return low[:, 0], high[:, 0]
        return outlook.low[:, 0] / self.trees.n_trees, outlook.high[:, 0] / self.trees.n_trees

    def _splits(self, progress: Progress) -> routing.Splits:
        self._require_features(progress.values.shape[1])
        return self._tests

    def _require_features(self, n_features: int) -> None:
        """Require as many features as the trees were trained on: kernels take on trust that examples have them.

        Raises
        ------
        ValueError
            The trees were trained on other columns.
        """
        if n_features != self.trees.n_features:
            raise ValueError(
                f"policy: expected trees of {n_features} features, as many as examples have, got trees of "
                f"{self.trees.n_features}"
            )

    def _look_ahead(self, progress: Progress, rows: Rows) -> routing.Outlook:
        splits = self._splits(progress)
        sums = [np.zeros((rows.size, self.trees.base_score.size)) for _ in range(4)]
        outlook = routing.Outlook(sums[0], np.zeros(rows.size, dtype=np.int64), *sums[1:])

        def look(part: slice) -> None:
            routing.look_ahead(
                splits,
                rows[part],
                progress.values,
                progress.known,
                self._value,
                self._lowest,
                self._highest,
                self._first_output,
                not isinstance(self.trees, BoostedTrees),
                routing.Outlook(*(sums[part] for sums in outlook)),
            )

        run_in_slices(look, rows.size, rows.size * self.trees.n_trees)
        return outlook

    def _settled(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """Return where one output stays above all others, or a single margin on its side of 0."""
        if self.trees.classes is None:
            return np.zeros(low.shape[0], dtype=bool)
        slack = SETTLED_SLACK * np.maximum(np.abs(low), np.abs(high)).max(axis=1)
        if low.shape[1] == 1:
            single: BoolArray = (low[:, 0] > slack) | (high[:, 0] < -slack)
            return single
        rows, leader = np.arange(low.shape[0]), np.argmax(low, axis=1)
        others = high.copy()
        others[rows, leader] = -np.inf
        settled: BoolArray = low[rows, leader] > others.max(axis=1) + slack
        return settled

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Name the tree and what it asks."""
        tree, below_root = progress.place[row, :2].tolist()
        node = int(self.trees.tree_offsets[tree]) + below_root
        categories, chosen = None, int(self.trees.category_set[node])
        if chosen >= 0:
            categories = tuple(self.trees.left_categories.members(chosen).tolist())
        test = Test(int(self.trees.feature[node]), float(self.trees.threshold[node]), categories)
        return f"tree {tree + 1} of {self.trees.n_trees} {in_words(test)}"


def _margins_settle(trees: BoostedTrees, low: FloatArray, high: FloatArray, class_costs: FloatArray) -> BoolArray:
    """Return where margins within bounds lead to one cheapest label: each probability rises with its margin."""
    if low.shape[1] == 1:
        first, last = (trees.outputs(margins) for margins in (low, high))
        bounds = np.minimum(first, last), np.maximum(first, last)
    else:
        largest = high.max(axis=1, keepdims=True)
        bounds = np.exp(low - largest), np.exp(high - largest)
    return cheapest_is_certain(*bounds, class_costs, SETTLED_SLACK)
