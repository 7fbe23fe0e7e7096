"""Grower: what a tree is grown by, and trees of coded examples from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2, prod
from threading import local
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray, held, in_rows
from ipforest.ensemble.category_sets import CategorySets
from ipforest.ensemble.forest import Forest
from ipforest.growing import loop
from ipforest.growing.acquisition import AcquisitionState
from ipforest.growing.bundles import MOST_MEMBERS, Bundles
from ipforest.growing.codes import CodedExamples
from ipforest.growing.impurities import Gradient, Impurity, Variance
from ipforest.growing.ordered import N_BUCKETS
from ipforest.growing.splitting import EXPECTED, LEFT, MAX_DRAWS, MINIMAX, RIGHT, TOTAL, Criterion, Examples, Scratch

Reduction: TypeAlias = Literal["minimax", "expected", "total"]
REDUCTIONS: dict[str, int] = {"minimax": MINIMAX, "expected": EXPECTED, "total": TOTAL}
TABLE_BYTES = 2**26
"""Most memory of one tree for sums that pass from parent to child."""


class _Reserve(local):
    """Memory of a thread for the sums of one tree after another; new pages would be cleared for each of them."""

    _cells = np.empty(0)

    def array(self, shape: tuple[int, ...]) -> FloatArray:
        """Return an array with anything in it, which holds until the next one is asked for."""
        if self._cells.size < prod(shape):
            self._cells = np.empty(prod(shape))
        return self._cells[: prod(shape)].reshape(shape)


_reserve = _Reserve()


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """One tree as flat arrays; children are numbered after their parents, -1 stands at leaves.

    Parameters
    ----------
    left, right, feature : ndarray of int32, shape (n_nodes,)
    threshold : ndarray of float64, shape (n_nodes,)
        An example goes left if its feature is at most this.
    missing_left : ndarray of bool, shape (n_nodes,)
    value : ndarray of float64, shape (n_nodes, n_values)
        Class distribution, or the leaf value of least second-order loss.
    weight : ndarray of float64, shape (n_nodes,)
        Weight of the training examples.
    n_samples : ndarray of int64, shape (n_nodes,)
    impurity : ndarray of float64, shape (n_nodes,)
    category_set : ndarray of int32, shape (n_nodes,)
    left_categories : ndarray of bool, shape (n_sets, n_categories)
        Which categories go left; missing and unknown ones, and those of no example of the node, go right.
    """

    left: Int32Array
    right: Int32Array
    feature: Int32Array
    threshold: FloatArray
    missing_left: BoolArray
    value: FloatArray
    weight: FloatArray
    n_samples: IntArray
    impurity: FloatArray
    category_set: Int32Array
    left_categories: BoolArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.left.size

    @property
    def offsets(self) -> IntArray:
        """Where the trees start, and where the last one ends."""
        return np.array([0, self.n_nodes])


@dataclass(frozen=True, slots=True, eq=False)
class GrownTrees(GrownTree):
    """Trees one after another, perhaps a single one; children are numbered within their tree.

    Parameters are those of `GrownTree`, and:

    Parameters
    ----------
    tree_offsets : ndarray of int64, shape (n_trees + 1,)
        Where each starts.
    ends : ndarray of int32, shape (n_trees, n_samples)
        The leaf of each training example in its tree, -1 where it is not known.
    """

    tree_offsets: IntArray
    ends: Int32Array

    @property
    def offsets(self) -> IntArray:
        """Where the trees start, and where the last one ends."""
        return self.tree_offsets

    @property
    def answers(self) -> FloatArray:
        """The first value of the leaf of each training example in each tree, shape (n_trees, n_samples)."""
        return np.asarray(self.value[self.tree_offsets[:-1, None] + self.ends, 0])


@dataclass(frozen=True, slots=True)
class Grower:
    r"""How trees are grown: what a split gains, what it costs, and where growing stops.

    With ``reduction`` "minimax" or "expected" the split of least *risk* is taken, BudgetRF's price / (F(S) - F(S_i)):
    of the worse outcome, or with the mean impurity of both in place of F(S_i). With "total" it is the split of the
    largest total reduction of impurity less `price_weight` times the price.

    Parameters
    ----------
    impurity : Impurity
    reduction : {"minimax", "expected", "total"}
    random_cuts : bool
        Whether only cuts at random values between a feature's least and largest at the node are tried: 80 with more
        than 2000 examples at the node, 40 with more than 500, else 20 (BudgetRF, section 3).
    one_random_cut : bool
        Whether a single such cut is tried of each feature, as in extremely randomised trees; of a feature of categories
        all are.
    max_depth, max_leaf_nodes : int, optional
        With `max_leaf_nodes` the node of the best split is split first, else depth first.
    min_samples_split, min_samples_leaf : int
        Distinct training examples.
    min_reduction : float
        For "total": what a split must gain after its price.
    stop_impurity : float
        A node is a leaf if its impurity is at most this.
    max_features : int, optional
        Size of the random subset of features that a split is chosen from; more are looked at while none has a split.
    price_weight : float
        For "total": what a unit of price is worth in impurity.
    """

    impurity: Impurity
    reduction: Reduction = "total"
    random_cuts: bool = False
    one_random_cut: bool = False
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_reduction: float = 0.0
    stop_impurity: float = 0.0
    max_features: int | None = None
    price_weight: float = 1.0

    def __post_init__(self) -> None:
        if self.reduction not in REDUCTIONS:
            raise ValueError(f"reduction: expected one of {', '.join(REDUCTIONS)}, got {self.reduction!r}")
        if isinstance(self.impurity, Gradient) and self.reduction != "total":
            raise ValueError(f"reduction: expected 'total' with gradients, got {self.reduction!r}")
        limits = {
            "max_depth": (self.max_depth, 0),
            "max_leaf_nodes": (self.max_leaf_nodes, 1),
            "min_samples_split": (self.min_samples_split, 2),
            "min_samples_leaf": (self.min_samples_leaf, 1),
            "max_features": (self.max_features, 1),
        }
        for name, (value, least) in limits.items():
            if value is not None and value < least:
                raise ValueError(f"{name}: expected at least {least}, got {value}")

    def grow_classifiers(
        self,
        examples: CodedExamples,
        labels: npt.NDArray[np.integer[Any]],
        n_classes: int,
        acquisition: AcquisitionState,
        weights: Array | None = None,
        seeds: Sequence[int] = (0,),
        X: npt.NDArray[np.float32] | None = None,
    ) -> GrownTrees:
        """Grow trees that tell classes apart, one after another.

        Parameters
        ----------
        examples : CodedExamples
        labels : ndarray of int, shape (n_samples,)
            Class indices 0..n_classes-1.
        n_classes : int
        acquisition : AcquisitionState
            Where each example buys for itself, what it bought in one tree is noted in it, and free in the next.
        weights : ndarray, shape (1 or n_trees, n_samples), optional
            A tree is not grown on examples of weight 0.
        seeds : sequence of int, default=(0,)
            As many trees are grown.
        X : ndarray of float32, shape (n_samples, n_features), optional
            The examples before they were coded. With it, those of weight 0 go down the trees and buy, too.

        Raises
        ------
        ValueError
            The criterion is for gradients or for another number of classes, or all weights of a tree are 0.
        """
        if isinstance(self.impurity, Gradient):
            raise ValueError("impurity: expected one of class counts, got Gradient")
        self.impurity.check_classes(n_classes)
        none = np.zeros((0, 0))
        targets = loop.Targets(np.asarray(labels).astype(np.int32), _weights(weights, examples), none, none)
        return self._grow(examples, targets, n_classes + 1, acquisition, seeds, X)

    def grow_regressors(
        self,
        examples: CodedExamples,
        gradients: FloatArray,
        hessians: FloatArray,
        acquisition: AcquisitionState,
        weights: Array | None = None,
        seeds: Sequence[int] = (0,),
        X: npt.NDArray[np.float32] | None = None,
    ) -> GrownTrees:
        """Grow trees of least second-order loss, one after another.

        Parameters
        ----------
        examples, acquisition, weights, seeds, X
            See `grow_classifiers`.
        gradients, hessians : ndarray of float64, shape (n_trees, n_samples)
            Of each example, for weight 1.

        Raises
        ------
        ValueError
            The criterion is for classes, or all weights of a tree are 0.
        """
        if not isinstance(self.impurity, Gradient):
            raise ValueError(f"impurity: expected Gradient, got {self.impurity.name}")
        targets = loop.Targets(
            np.empty(0, np.int32),
            _weights(weights, examples),
            np.ascontiguousarray(gradients, dtype=np.float64),
            np.ascontiguousarray(hessians, dtype=np.float64),
        )
        return self._grow(examples, targets, 3, acquisition, seeds, X)

    def grow_many_means(
        self,
        examples: CodedExamples,
        targets: FloatArray,
        acquisition: AcquisitionState,
        weights: Array | None = None,
        seeds: Sequence[int] = (0,),
        X: npt.NDArray[np.float32] | None = None,
    ) -> GrownTrees:
        """Grow regression trees whose nodes predict the mean of their targets, one after another.

        Parameters
        ----------
        examples, acquisition, weights, seeds, X
            See `grow_classifiers`.
        targets : ndarray of float64, shape (n_samples,)

        Returns
        -------
        GrownTrees
            Their impurities are variances.

        Raises
        ------
        ValueError
            The criterion is another than `Variance`, or all weights of a tree are 0.
        """
        if not isinstance(self.impurity, Variance):
            raise ValueError(f"impurity: expected Variance, got {self.impurity.name}")
        weight = np.broadcast_to(_weights(weights, examples), (len(seeds), targets.size))
        centre = weight @ targets / weight.sum(axis=1)
        distances = centre[:, None] - targets
        trees = self.grow_regressors(examples, distances, np.ones_like(distances), acquisition, weight, seeds, X)
        trees.value[:] += np.repeat(centre, np.diff(trees.tree_offsets))[:, None]
        return trees

    def grow_bagged(
        self,
        examples: CodedExamples,
        labels: npt.NDArray[np.integer[Any]],
        n_classes: int,
        acquisition: AcquisitionState,
        weights: Sequence[Array],
        seeds: Sequence[int],
        n_jobs: int | None = None,
    ) -> list[GrownTrees]:
        """Grow a classification tree for each vector of weights, in threads; the number of threads changes nothing."""
        tasks = (
            delayed(self.grow_classifiers)(examples, labels, n_classes, acquisition, drawn[None], [seed])
            for drawn, seed in zip(weights, seeds, strict=True)
        )
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(tasks))

    def _grow(
        self,
        examples: CodedExamples,
        targets: loop.Targets,
        width: int,
        acquisition: AcquisitionState,
        seeds: Sequence[int],
        X: npt.NDArray[np.float32] | None,
    ) -> GrownTrees:
        if acquisition.charge == "tree" and self.max_leaf_nodes is not None:
            raise ValueError(
                "max_leaf_nodes: expected None where a tree pays once for a unit (a test that is not made in the end "
                f"would have paid), got {self.max_leaf_nodes}"
            )
        n_drawn = np.count_nonzero(targets.weight, axis=1)
        if n_drawn.min() == 0:
            raise ValueError("weights: expected an example of positive weight, got none")
        n, n_trees, has_gradient = int(n_drawn.max()), len(seeds), targets.label.size == 0
        sizes = np.diff(examples.offsets)
        n_categories = int(sizes[examples.is_category].max(initial=0))
        trees = _empty_trees(n_trees * self._most_nodes(n), width, n_categories)
        offsets, ends = np.zeros(n_trees + 1, dtype=np.int64), np.empty((n_trees, examples.n_samples), dtype=np.int32)
        loop.grow_trees(
            np.asarray(seeds, dtype=np.uint64),
            examples.arrays,
            in_rows(np.empty((0, 0), dtype=np.float32) if X is None else X),
            held(targets),
            self._criterion,
            self._limits(examples.n_features),
            acquisition.arrays,
            acquisition.bought,
            self._tables(sizes, n, width, examples.bundles),
            _empty_examples(n, has_gradient),
            _empty_examples(n, has_gradient),
            _open_nodes(self._most_open(n), examples.n_features, acquisition.bought.shape[1]),
            _scratch(int(sizes.max()), n, width, n_categories),
            trees,
            offsets,
            ends,
        )
        return self._finished(trees, offsets, ends, examples)

    @property
    def _criterion(self) -> Criterion:
        return Criterion(
            self.impurity.code,
            self.impurity.parameters,
            self.impurity.is_normalised,
            REDUCTIONS[self.reduction],
            self.min_samples_leaf,
            self.random_cuts,
            self.one_random_cut,
            isinstance(self.impurity, Variance),
        )

    def _limits(self, n_features: int) -> loop.Limits:
        return loop.Limits(
            loop.NO_LIMIT if self.max_depth is None else self.max_depth,
            loop.NO_LIMIT if self.max_leaf_nodes is None else self.max_leaf_nodes,
            self.min_samples_split,
            float(self.min_reduction),
            float(self.stop_impurity),
            n_features if self.max_features is None else self.max_features,
            float(self.price_weight),
        )

    def _most_nodes(self, n_examples: int) -> int:
        leaves = n_examples if self.max_leaf_nodes is None else min(n_examples, self.max_leaf_nodes)
        if self.max_depth is not None and self.max_depth < 31:
            leaves = min(leaves, 2**self.max_depth)
        return 2 * leaves - 1

    def _most_open(self, n_examples: int) -> int:
        """How many nodes are open at once at most."""
        return int(log2(n_examples)) + 3 if self.max_leaf_nodes is None else self.max_leaf_nodes + 1

    def _tables(self, sizes: IntArray, n_examples: int, width: int, bundles: Bundles) -> loop.Tables:
        """Reserve the sums that pass from parent to child, for splits that look at most features."""
        tabled = np.where(sizes <= loop.TABLE_CODES, sizes + 1, 0)
        offsets = np.concatenate([[0], np.cumsum(tabled)]).astype(np.int64)
        n_cells = int(offsets[-1])
        few_features = self.max_features is not None and 2 * self.max_features <= sizes.size
        n_tables = 0
        if (
            n_cells
            and not few_features
            and not self.one_random_cut
            and n_examples * np.count_nonzero(tabled) >= n_cells * width
        ):
            n_tables = min(self._most_open(n_examples), TABLE_BYTES // (8 * n_cells * width))
        sums = _reserve.array((max(1, n_tables), n_cells, width))
        of_bundle = np.empty((MOST_MEMBERS + 1, width))
        return loop.Tables(offsets, sums, np.empty(n_tables, dtype=np.int32), held(bundles), of_bundle)

    def _finished(
        self, trees: loop.TreeArrays, offsets: IntArray, ends: Int32Array, examples: CodedExamples
    ) -> GrownTrees:
        """Cut off what is not used."""
        n_nodes = int(offsets[-1])
        statistics = trees.statistics[:n_nodes]
        if isinstance(self.impurity, Gradient):
            value = -statistics[:, :1] / np.maximum(statistics[:, 1:2] + self.impurity.l2, np.finfo(float).tiny)
        else:
            value = statistics[:, :-1] / statistics[:, :-1].sum(axis=1, keepdims=True)
        grown = GrownTrees(
            left=trees.left[:n_nodes].copy(),
            right=trees.right[:n_nodes].copy(),
            feature=trees.feature[:n_nodes].copy(),
            threshold=trees.threshold[:n_nodes].copy(),
            missing_left=trees.missing_left[:n_nodes].copy(),
            value=value,
            weight=trees.weight[:n_nodes].copy(),
            n_samples=statistics[:, -1].astype(np.int64),
            impurity=trees.impurity[:n_nodes].copy(),
            category_set=np.full(n_nodes, -1, dtype=np.int32),
            left_categories=np.empty((0, 0), dtype=bool),
            tree_offsets=offsets,
            ends=ends,
        )
        return _with_categories(grown, trees.side[:n_nodes], examples) if examples.is_category.any() else grown


def _with_categories(trees: GrownTrees, side: npt.NDArray[np.uint8], examples: CodedExamples) -> GrownTrees:
    """Write tests of categories as sets that go left, missing ones right; ``side`` tells where each code goes."""
    left, right, missing_left = trees.left, trees.right, trees.missing_left
    tests = np.flatnonzero((trees.feature >= 0) & examples.is_category[trees.feature])
    is_swapped = missing_left[tests]
    swapped = tests[is_swapped]
    left[swapped], right[swapped], missing_left[swapped] = right[swapped], left[swapped], False
    trees.category_set[tests] = np.arange(tests.size)
    trees.threshold[tests] = 0.0
    goes_left = side[tests] == np.where(is_swapped, RIGHT, LEFT)[:, None]
    return replace(trees, left_categories=_sets_of_categories(goes_left, trees.feature[tests], examples))


def _sets_of_categories(goes_left: BoolArray, features: Int32Array, examples: CodedExamples) -> BoolArray:
    """Turn sets of codes (n_sets, n_codes) into sets of the categories under them; all others are in none."""
    names = [
        examples.lows[examples.offsets[feature] : examples.offsets[feature + 1]].astype(np.int64)
        for feature in features
    ]
    sets = np.zeros((len(names), max((int(name[-1]) + 1 for name in names), default=0)), dtype=bool)
    for row, name, left in zip(sets, names, goes_left, strict=True):
        row[name] = left[: name.size]
    return sets


def bootstrap_counts(n_samples: int, random_state: np.random.RandomState, n_drawn: int | None = None) -> FloatArray:
    """Draw examples with replacement, by default as many as there are; return how often each was drawn."""
    drawn = random_state.randint(0, n_samples, n_samples if n_drawn is None else n_drawn)
    return np.bincount(drawn, minlength=n_samples).astype(np.float64)


def forest_of(trees: Sequence[GrownTree], n_features: int, classes: Array | None, criterion: str) -> Forest:
    """Put grown trees into a `Forest` that averages them."""
    sizes = np.concatenate([np.diff(part.offsets) for part in trees])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    start = np.repeat(offsets[:-1], sizes)

    def joined(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in trees])

    def children(name: str) -> Int32Array:
        child = joined(name)
        return np.where(child >= 0, child + start, loop.LEAF).astype(np.int32)

    sets = [row for part in trees for row in part.left_categories]
    category_set = joined("category_set")
    category_set[category_set >= 0] = np.arange(len(sets))

    return Forest(
        tree_offsets=offsets,
        left=children("left"),
        right=children("right"),
        feature=joined("feature"),
        threshold=joined("threshold"),
        missing_left=joined("missing_left"),
        value=joined("value"),
        weight=joined("weight"),
        n_samples=joined("n_samples"),
        impurity=joined("impurity"),
        n_features=n_features,
        classes=classes,
        criterion=criterion,
        category_set=category_set,
        left_categories=CategorySets.from_rows(sets),
    )


def _weights(weights: Array | None, examples: CodedExamples) -> FloatArray:
    return np.ones((1, examples.n_samples)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)


def _empty_trees(capacity: int, width: int, n_categories: int) -> loop.TreeArrays:
    integers = {"parent", "left", "right", "feature", "depth", "cut_code", "table"}
    long_integers = {"start", "stop"}

    def column(name: str) -> Array:
        if name == "statistics":
            return np.empty((capacity, width))
        if name == "side":
            return np.empty((capacity, n_categories), dtype=np.uint8)
        if name == "missing_left":
            return np.empty(capacity, dtype=np.bool_)
        return np.empty(
            capacity, dtype=np.int32 if name in integers else np.int64 if name in long_integers else np.float64
        )

    return loop.TreeArrays(*(column(name) for name in loop.TreeArrays._fields))


def _empty_examples(n: int, has_gradient: bool) -> Examples:
    n_gradients = n if has_gradient else 0
    return Examples(
        rows=np.empty(n, dtype=np.int32),
        label=np.empty(n, dtype=np.int32),
        weight=np.empty(n),
        gradient=np.empty(n_gradients),
        hessian=np.empty(n_gradients),
    )


def _open_nodes(capacity: int, n_features: int, n_units: int) -> loop.OpenNodes:
    return loop.OpenNodes(
        node=np.empty(capacity, dtype=np.int32),
        n_varying=np.empty(capacity, dtype=np.int32),
        varying=np.empty((capacity, n_features), dtype=np.int32),
        unbought=np.zeros((capacity, n_units)),
    )


def _scratch(most_codes: int, n_examples: int, width: int, n_categories: int) -> Scratch:
    n_runs = min(most_codes, n_examples)
    return Scratch(
        keys=np.empty(n_examples, dtype=np.int64),
        spare_keys=np.empty(n_examples, dtype=np.int64),
        n_in_bucket=np.empty(N_BUCKETS, dtype=np.int64),
        table=np.empty((most_codes + 1) * width),
        run_code=np.empty(n_runs, dtype=np.int64),
        run_statistics=np.empty((n_runs, width)),
        missing=np.empty(width),
        left=np.empty(width),
        right=np.empty(width),
        draws=np.empty(MAX_DRAWS),
        ratio=np.empty(n_categories),
        side=np.empty(n_categories, dtype=np.uint8),
    )
