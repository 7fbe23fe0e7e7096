"""Trees: the structure of decision trees as flat arrays, and how examples are routed through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array

from ipforest._internal.arrays import (
    DAMAGED,
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    checked_array,
    checked_integer,
    checked_offsets,
    held,
    one_line,
    read_only,
    rounding,
)
from ipforest._internal.examples import other_than_numbers, refuse_other_tables, require_held, with_nan
from ipforest._internal.feature_names import (
    checked_names,
    in_pandas,
    known_to_scikit_learn,
    require_columns_of_training,
    require_same_columns,
)
from ipforest.costs import FeatureCosts, require_no_split_cost
from ipforest.ensemble import routing
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.category_sets import CategorySets
from ipforest.ensemble.first_uses import FirstUses, Passing, first_uses
from ipforest.ensemble.packing import pack, unpack

if TYPE_CHECKING:
    from ipforest.results import Pruning

LEAF = -1

FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trees:
    """The structure of T decision trees, tree after tree in flat arrays; what they predict is told by subclasses.

    Nodes are numbered over all trees; in each tree the root comes first and each parent stands before
    its children.

    Parameters
    ----------
    tree_offsets : ndarray of int64, shape (n_trees + 1,)
        The nodes of tree t are ``tree_offsets[t]:tree_offsets[t + 1]``.
    left, right : ndarray of int32, shape (n_nodes,)
        Children over all nodes, -1 at leaves.
    feature : ndarray of int32, shape (n_nodes,)
        Feature tested, -1 at leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        What the feature is compared with. Of a test of a category: negative values above it are category 0.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether a missing value (NaN) goes left.
    n_features : int
    comparison : {"<=", "<"}
        An example goes left if its feature compares so with the threshold.
    dtype : dtype
        Examples are rounded to float32 or float64 before they are compared.
    feature_names : tuple of str, shape (n_features,), optional
        The columns of training; a data frame must have the same.
    categories : Categories, optional
        What the numbers in columns of categories stand for in a data frame; in an array they stand for themselves.
    category_set : ndarray of int32, shape (n_nodes,), optional
        Of a node that tests a category, the set that goes left; -1 at all other nodes.
    left_categories : CategorySets, optional
        The sets.

    Attributes
    ----------
    parent : ndarray of int32, shape (n_nodes,)
        -1 for a root.
    internal_nodes : ndarray of int32, shape (n_internal,)
        Nodes that test a feature.

    Raises
    ------
    TypeError, ValueError
        Arrays of wrong length, no trees, a child that does not follow its parent, a tested feature outside the range,
        a threshold that is NaN, or another comparison, dtype or number of names.
    """

    NODE_FIELDS: ClassVar[tuple[str, ...]] = ("left", "right", "feature", "threshold", "missing_left", "category_set")
    TREE_FIELDS: ClassVar[tuple[str, ...]] = ()
    LATER_FIELDS: ClassVar[tuple[str, ...]] = ()
    """Node fields that trees which were saved before there were any lack."""

    tree_offsets: IntArray
    left: Int32Array
    right: Int32Array
    feature: Int32Array
    threshold: FloatArray
    missing_left: BoolArray
    n_features: int
    comparison: Literal["<=", "<"] = field(default="<=", kw_only=True)
    dtype: np.dtype[Any] = field(default=FLOAT32, kw_only=True)
    feature_names: tuple[str, ...] | None = field(default=None, kw_only=True)
    categories: Categories = field(default_factory=Categories, kw_only=True)
    category_set: Int32Array = field(default_factory=lambda: np.empty(0, dtype=np.int32), kw_only=True)
    left_categories: CategorySets = field(default_factory=lambda: CategorySets.of(()), kw_only=True)
    parent: Int32Array = field(init=False)
    internal_nodes: Int32Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_features", checked_integer(self.n_features, "n_features"))
        object.__setattr__(self, "tree_offsets", checked_offsets(self.tree_offsets))
        for name, dtype in (
            ("left", np.int32),
            ("right", np.int32),
            ("feature", np.int32),
            ("threshold", np.float64),
            ("missing_left", np.bool_),
        ):
            object.__setattr__(self, name, checked_array(getattr(self, name), name, dtype, (self.n_nodes,)))
        self._set_categories()
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        object.__setattr__(self, "feature_names", checked_names(self.feature_names, self.n_features))
        internal = np.flatnonzero(self.left != LEAF).astype(np.int32)
        self._check_tests(internal)
        object.__setattr__(self, "parent", read_only(self._parents(internal)))
        object.__setattr__(self, "internal_nodes", read_only(internal))

    def __getstate__(self) -> dict[str, Any]:
        packed = pack({name: getattr(self, name) for name in self.NODE_FIELDS})
        return {"nodes": packed, **{name: getattr(self, name) for name in self._fields_beside_nodes()}}

    def __setstate__(self, state: object) -> None:
        others = self._fields_beside_nodes()
        if isinstance(state, dict) and "categories" not in state:
            state = {**state, "categories": Categories()}  # of trees that were saved before they had names
        if not isinstance(state, dict) or state.keys() != {"nodes", *others}:
            got = ", ".join(map(str, state)) if isinstance(state, dict) else type(state).__name__
            raise ValueError(f"trees: expected a state of nodes, {', '.join(others)}, got {got}; save the model anew")
        try:
            unpacked = unpack(state["nodes"])
        except DAMAGED as problem:
            raise ValueError(f"nodes: expected packed arrays of trees, got: {one_line(problem)}") from None
        unpacked = {name: np.empty(0) for name in self.LATER_FIELDS} | unpacked
        if unpacked.keys() != {*self.NODE_FIELDS}:
            raise ValueError(f"nodes: expected {', '.join(self.NODE_FIELDS)}, got {', '.join(unpacked)}")
        for name in others:
            object.__setattr__(self, name, state[name])
        for name, values in unpacked.items():
            object.__setattr__(self, name, values)
        self.__post_init__()

    def _fields_beside_nodes(self) -> list[str]:
        return [each.name for each in fields(self) if each.init and each.name not in self.NODE_FIELDS]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the trees themselves: nothing of them changes."""
        return self

    def _check_numbers(self, name: str, dtype: type[np.generic], shape: tuple[int, ...]) -> None:
        """Keep a field as a read-only array of finite numbers; a reader may have found others in a model."""
        values = checked_array(getattr(self, name), name, dtype, shape)
        if not np.isfinite(values).all():
            raise ValueError(f"{name}: expected finite numbers, got {values[~np.isfinite(values)][0]}")
        object.__setattr__(self, name, values)

    def _set_categories(self) -> None:
        numbers = self.category_set if np.size(self.category_set) else np.full(self.n_nodes, -1)
        object.__setattr__(self, "category_set", checked_array(numbers, "category_set", np.int32, (self.n_nodes,)))
        if not isinstance(self.left_categories, CategorySets):
            raise TypeError(f"left_categories: expected CategorySets, got {type(self.left_categories).__name__}")
        last, n_sets = self.category_set.max(), len(self.left_categories)
        if last >= n_sets:
            raise ValueError(f"left_categories: expected sets 0..{last}, got {n_sets} sets")

    def _check_tests(self, internal: Int32Array) -> None:
        tested = self.feature[internal]
        if tested.size and (tested.min() < 0 or tested.max() >= self.n_features):
            raise ValueError(
                f"feature: expected 0..{self.n_features - 1} at internal nodes, got {tested.min()}..{tested.max()}"
            )
        if np.isnan(self.threshold[internal]).any():
            raise ValueError("threshold: expected numbers at internal nodes, got nan")
        if np.any((self.right != LEAF) != (self.left != LEAF)):
            raise ValueError("right: expected a right child exactly where there is a left one, got one alone")
        if self.comparison not in ("<=", "<"):
            raise ValueError(f"comparison: expected '<=' or '<', got {self.comparison!r}")
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype: expected float32 or float64, got {self.dtype}")

    def _parents(self, internal: Int32Array) -> Int32Array:
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        tree_end = self.tree_offsets[1:][self.tree_of_node[internal]]
        for children in (self.left, self.right):
            below = children[internal]
            if np.any(below <= internal) or np.any(below >= tree_end) or np.any(parent[below] != -1):
                raise ValueError(
                    "left, right: expected each child after its parent, in the same tree, with one parent only, "
                    "got another index"
                )
            parent[below] = internal
        if not np.array_equal(np.flatnonzero(parent == -1), self.tree_offsets[:-1]):
            raise ValueError("left, right: expected every node but the first of a tree to have a parent, one has none")
        return parent

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return self.tree_offsets.size - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.tree_offsets[-1])

    @property
    def n_internal(self) -> int:
        """Number of nodes that test a feature."""
        return self.internal_nodes.size

    @property
    def tree_of_node(self) -> IntArray:
        """The tree that each node belongs to, shape (n_nodes,)."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.tree_offsets))

    @property
    def is_leaf(self) -> BoolArray:
        """Whether each node has no children, shape (n_nodes,)."""
        return np.equal(self.left, LEAF, dtype=bool)

    @property
    def splits(self) -> routing.Splits:
        """The tests as the kernels of `ipforest.ensemble.routing` make them: ``x <= threshold``."""
        with np.errstate(under="ignore"):
            threshold = self.threshold if self.comparison == "<=" else np.nextafter(self.threshold, -np.inf)
        splits = routing.Splits(
            self.tree_offsets[:-1],
            self.left,
            self.right,
            self.feature,
            threshold,
            self.missing_left,
            self.category_set,
            self.left_categories.offsets,
            self.left_categories.listed,
            self.left_categories.others,
        )
        return held(splits)

    def float64_thresholds(self) -> FloatArray:
        """Return thresholds such that float64 values go left exactly if ``x <= threshold``, shape (n_nodes,).

        Where examples are rounded to float32 first, it is the largest value that is rounded to one that goes left.
        """
        threshold: FloatArray = self.splits.threshold
        if self.dtype == np.float64:
            return threshold
        below = self.float32_thresholds()
        with rounding():
            above = np.nextafter(below, np.float32(np.inf))
            middle = (below.astype(np.float64) + above) / 2
            is_even = below.view(np.int32) % 2 == 0
            return np.where(is_even, middle, np.nextafter(middle, -np.inf))

    def float32_thresholds(self) -> npt.NDArray[np.float32]:
        """Return thresholds such that float32 values go left exactly if ``x <= threshold``, shape (n_nodes,)."""
        threshold = self.splits.threshold
        with rounding():
            nearest = threshold.astype(np.float32)
            return np.where(nearest <= threshold, nearest, np.nextafter(nearest, np.float32(-np.inf)))

    @property
    def tests_categories(self) -> BoolArray:
        """Whether each node tests a category, shape (n_nodes,)."""
        return np.greater_equal(self.category_set, 0, dtype=bool)

    def apply(self, X: npt.ArrayLike) -> IntArray:
        """Find the leaf that each example reaches in each tree, numbered within the tree as scikit-learn does.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64, shape (n_samples, n_trees)
        """
        return self.leaves(self.checked_examples(X)).T - self.tree_offsets[:-1]

    def feature_usage(self, X: npt.ArrayLike) -> Int32Array:
        """Count how often each example's paths test each feature (the count of BudgetPrune's Table 1).

        Returns
        -------
        ndarray of int32, shape (n_samples, n_features)
        """
        examples = self.checked_examples(X)
        counts = np.zeros(examples.shape, dtype=np.int32)
        routing.count_tests(self.splits, examples, counts)
        return counts

    def cost(self, X: npt.ArrayLike, costs: FeatureCosts, split_cost: object = 0) -> FloatArray:
        """Compute what each example pays: the features that it uses in any tree, each bought once, and its tests.

        With delayed features it pays for what is ordered with them as well; see `first_uses`.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        costs : FeatureCosts
        split_cost : number, default=0
            What one test costs, as in `ipforest.PruningInstance.from_forest`.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            In the currency of the prices.

        Raises
        ------
        ValueError
            Prices of other features, or a split cost with delayed features.
        """
        prices = self.matched_costs(costs)
        if not prices.delayed.any():
            return prices.cost_of(self.feature_usage(X), split_cost)
        require_no_split_cost(prices, split_cost)
        examples = self.checked_examples(X)
        uses = self.first_uses(self.leaves(examples), prices)
        prices_paid = prices.float_unit_costs[uses.unit]
        return np.asarray(np.bincount(uses.example, prices_paid, examples.shape[0]), dtype=np.float64)

    def checked_examples(self, X: npt.ArrayLike, name: str = "X") -> Array:
        """Take examples as the matrix that the trees compare; NaN is a missing value.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        name : str
            What the examples are, for the error message.

        Returns
        -------
        ndarray of float32 or float64, shape (n_samples, n_features)

        Raises
        ------
        TypeError
            X is sparse, not numeric, of dates or records, or has masked entries.
        ValueError
            X is not 2-dimensional, empty, has other columns, or infinite (or too large) values.
        """
        X = known_to_scikit_learn(X, name)
        refuse_other_tables(X, name)
        require_columns_of_training(X, self.feature_names, name)
        self.categories.require_frame(X, name)
        X = with_nan(self.categories.numbers(X))
        raw = X if hasattr(X, "dtypes") else np.asarray(X)
        shape = np.shape(raw)
        if len(shape) != 2:
            raise ValueError(f"{name}: expected 2 dimensions (n_samples, n_features), got {len(shape)}")
        if shape[1] != self.n_features:
            raise ValueError(f"{name}: expected {self.n_features} columns as in training, got {shape[1]}")
        if shape[0] == 0:
            raise ValueError(f"{name}: expected at least one example, got none")
        if np.iscomplexobj(raw):
            raise TypeError(f"{name}: expected real numbers, got dtype {np.asarray(raw).dtype}")
        try:
            with rounding():
                examples: Array = check_array(raw, dtype=self.dtype, order="C", ensure_all_finite=False)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: expected numbers, got {self._other_than_numbers(raw)}") from None
        require_held(examples, self.dtype, name, self.feature_names or range(self.n_features))
        return examples

    def _other_than_numbers(self, X: Any) -> str:
        """Tell the first column that holds none, and how categories are given."""
        frame = in_pandas(X)
        for label, column in frame.items() if isinstance(frame, pd.DataFrame) else ():
            cells = other_than_numbers(column)
            if not cells.empty:
                told = f"{cells.iloc[0]!r} in column {label!r}"
                if not isinstance(column.dtype, pd.CategoricalDtype) and not self.tests_categories.any():
                    return told
                return (
                    f"{told}; a category is given by its place, 0, 1, ..., among the categories of training (the codes "
                    "of a pandas column, with NaN for -1)"
                )
        return f"dtype {np.asarray(X).dtype}"

    def matched_costs(self, costs: FeatureCosts) -> FeatureCosts:
        """Return a price list in the order of the features; see `ipforest.FeatureCosts.matched_to`.

        Raises
        ------
        TypeError
            It is no FeatureCosts.
        ValueError
            It is for other features.
        """
        if not isinstance(costs, FeatureCosts):
            raise TypeError(f"costs: expected FeatureCosts(prices), got {type(costs).__name__}")
        return costs.matched_to(self.n_features, self.feature_names)

    def leaves(self, examples: Array) -> Int32Array:
        """Find the leaf, over all nodes, that each example reaches in each tree.

        Parameters
        ----------
        examples : ndarray, shape (n_samples, n_features)
            From `checked_examples`.

        Returns
        -------
        ndarray of int32, shape (n_trees, n_samples)
        """
        leaves = np.empty((self.n_trees, examples.shape[0]), dtype=np.int32)
        routing.reached_leaves(self.splits, examples, leaves)
        return leaves

    def reach_counts(self, leaves: Int32Array) -> IntArray:
        """Count the examples that pass each node, shape (n_nodes,); see `leaves` for where they end."""
        counts: IntArray = np.bincount(leaves.ravel(), minlength=self.n_nodes)
        routing.accumulate_to_ancestors(self.parent, counts[:, None])
        return counts

    def reach_sums(self, leaves: Int32Array, amounts: Sequence[FloatArray]) -> FloatArray:
        """Sum amounts of the examples that pass each node.

        Parameters
        ----------
        leaves : ndarray of int32, shape (n_trees, n_samples)
            From `leaves`.
        amounts : sequence of k arrays, shape (n_samples,) or (n_trees, n_samples)

        Returns
        -------
        ndarray of float64, shape (n_nodes, k)
        """
        reached = leaves.ravel()
        sums: FloatArray = np.column_stack(
            [
                np.bincount(reached, weights=np.broadcast_to(amount, leaves.shape).ravel(), minlength=self.n_nodes)
                for amount in amounts
            ]
        )
        routing.accumulate_to_ancestors(self.parent, sums)
        return sums

    def first_uses(self, leaves: Int32Array, costs: FeatureCosts) -> FirstUses:
        """Find where examples first need each unit; see `ipforest.ensemble.first_uses`.

        Parameters
        ----------
        leaves : ndarray of int32, shape (n_trees, n_samples)
            From `leaves`.
        costs : FeatureCosts
        """
        return first_uses(self.parent, self.feature, self.tree_offsets, leaves, costs)

    def passing(self, leaves: Int32Array, counted: BoolArray | None = None) -> Passing:
        """Sort examples by the leaves that they reach, so that those that pass a node stand side by side.

        Parameters
        ----------
        leaves : ndarray of int32, shape (n_trees, n_samples)
            From `leaves`.
        counted : ndarray of bool, shape (n_samples, n_trees), optional
            Leave out an example in the trees where it does not count.
        """
        return Passing.of(self.parent, self.tree_offsets, leaves, counted)

    def reordered(self, order: npt.ArrayLike) -> Self:
        """Return the same trees in another order.

        Parameters
        ----------
        order : array of int, shape (n_trees,)
            Which tree comes first, second, ...

        Raises
        ------
        ValueError
            It does not name each tree once.
        """
        sequence = np.asarray(order)
        if not np.array_equal(np.sort(sequence), np.arange(self.n_trees)):
            raise ValueError(f"order: expected each of the trees 0..{self.n_trees - 1} once, got {order!r}")
        return self.subset(sequence)

    def first(self, n_trees: int) -> Self:
        """Return the first ``n_trees`` trees.

        Raises
        ------
        ValueError
            There are not so many.
        """
        if not 1 <= checked_integer(n_trees, "n_trees") <= self.n_trees:
            raise ValueError(f"n_trees: expected 1..{self.n_trees}, got {n_trees}")
        return self.subset(np.arange(n_trees))

    def centred(self) -> Self:
        """Return the same trees, their start told before any tree is known; what is averaged has none."""
        return self

    def followed_by(self, others: Self) -> Self:
        """Return these trees and then others, which add to the same outputs.

        Raises
        ------
        ValueError
            They are for other features or for the same in another order, or compare otherwise.
        """
        if self.feature_names is not None and others.feature_names is not None:
            require_same_columns(others.feature_names, self.feature_names, "others", "trees.feature_names")
        mine, theirs = ((trees.n_features, trees.comparison, trees.dtype) for trees in (self, others))
        if mine != theirs:
            raise ValueError(f"others: expected trees that compare as these do, {mine}, got {theirs}")
        fields: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(others, name)])
            for name in (*self.NODE_FIELDS, *self.TREE_FIELDS)
        }
        for name in ("left", "right"):
            below = fields[name][self.n_nodes :]
            below[below != LEAF] += self.n_nodes
        sets = fields["category_set"][self.n_nodes :]
        sets[sets >= 0] += len(self.left_categories)
        offsets = np.concatenate([self.tree_offsets, self.n_nodes + others.tree_offsets[1:]])
        both = self.left_categories.followed_by(others.left_categories)
        return replace(self, tree_offsets=offsets, left_categories=both, **fields)

    def subset(self, sequence: IntArray) -> Self:
        """Take some of the trees, one at least, by their numbers and in their order."""
        sizes = np.diff(self.tree_offsets)[sequence]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.tree_offsets[sequence] - offsets[:-1], sizes)
        nodes = np.arange(offsets[-1]) + shift
        fields = {name: getattr(self, name)[nodes] for name in self.NODE_FIELDS}
        for name in ("left", "right"):
            fields[name] = np.where(fields[name] == LEAF, LEAF, fields[name] - shift).astype(np.int32)
        return replace(
            self, tree_offsets=offsets, **fields, **{name: getattr(self, name)[sequence] for name in self.TREE_FIELDS}
        )

    def prune(self, pruning: Pruning) -> Self:
        """Collapse every internal node that the pruning does not keep into a leaf.

        Raises
        ------
        ValueError
            The pruning has another number of internal nodes, or keeps a node whose parent it does not keep.
        """
        return self._of_nodes(*self._after(pruning.kept))

    def nodes_after(self, kept: BoolArray) -> Int32Array:
        """Find what each node is, or which node it is below, once every internal node that is not kept is a leaf.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_internal,)

        Returns
        -------
        ndarray of int32, shape (n_nodes,)
            Over the nodes of the smaller trees, those without a test, which have one node, among them.

        Raises
        ------
        ValueError
            `kept` has another size, or holds a node but not its parent.
        """
        stays, tests = self._after(kept)
        last = np.empty(self.n_nodes, dtype=np.int32)
        routing.last_nodes(self.parent, tests, last)
        return (np.cumsum(stays, dtype=np.int32) - np.int32(1))[last]

    def _after(self, kept: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Tell which nodes stay, and which keep their test, once every internal node that is not kept is a leaf."""
        if kept.size != self.n_internal:
            raise ValueError(
                f"pruning: expected {self.n_internal} internal nodes, one per test of the forest, got {kept.size}"
            )
        tests = np.zeros(self.n_nodes + 1, dtype=bool)
        tests[self.internal_nodes] = kept
        stays = tests[self.parent]
        stays[self.tree_offsets[:-1]] = True
        tests = tests[:-1]
        if np.any(tests & ~stays):
            orphan = int(np.flatnonzero(tests & ~stays)[0])
            raise ValueError(f"pruning: expected the parent of each kept node to be kept, not so at node {orphan}")
        return stays, tests

    def _of_nodes(self, stays: BoolArray, tests: BoolArray) -> Self:
        """Take the nodes that stay, some of which keep their test; trees of which none stays are left out."""
        new_index = np.cumsum(stays, dtype=np.int32) - np.int32(1)
        inner = tests[stays]
        fields = {name: getattr(self, name)[stays] for name in self.NODE_FIELDS}
        for name in ("left", "right"):
            fields[name] = np.where(inner, new_index[fields[name]], np.int32(LEAF)).astype(np.int32)
        for name in ("feature", "category_set"):
            fields[name] = np.where(inner, fields[name], -1)
        sizes = np.add.reduceat(stays, self.tree_offsets[:-1], dtype=np.int64)
        return replace(self, tree_offsets=np.concatenate([[0], np.cumsum(sizes[sizes > 0])]), **fields)

    def __len__(self) -> int:
        return self.n_trees

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Iterate over the node ranges of the trees."""
        return iter(zip(self.tree_offsets[:-1].tolist(), self.tree_offsets[1:].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._sizes()})"

    def _sizes(self) -> str:
        return f"{self.n_trees} trees, {self.n_nodes} nodes, {self.n_internal} internal, {self.n_features} features"
