"""PruningInstance: the data of the integer program, in integers only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import ceil, lcm
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import (
    BoolArray,
    Int32Array,
    IntArray,
    checked_array,
    checked_integer,
    checked_offsets,
    is_ascending,
    load_arrays,
    one_line,
    read_only,
    save_arrays,
)
from ipforest._internal.rational import INT64_SAFE, as_fraction, exact_sum, nonnegative_fraction
from ipforest.costs import DelayList, FeatureCosts, delayed_marks, require_no_split_cost
from ipforest.ensemble import routing
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import Trees
from ipforest.losses import ErrorData, NodeErrors, node_errors, stage_errors
from ipforest.resolution import fits, gains_of_splits, greatest_step, joint_resolution
from ipforest.results import Pruning

FORMAT_VERSION = 1

FITS_PATH = "path"
"""The resolution at which the whole path fits 64 bits."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PruningInstance:
    r"""A forest, routed examples and costs, as the integer program sees them.

    The program (optimal-pruning paper, IP3; BudgetPrune, IP) is to choose the nodes h that become leaves, z_h, and
    the acquisitions w_{k,i} so as to minimise

    .. math:: \frac{1}{N_e T} \sum_h e_h z_h + \lambda \Big[ \frac{1}{N_c} \sum_{k,i} c_k w_{k,i}
              + \frac{\mathrm{split\_cost}}{N_c} \sum_h |S_h| d_h z_h \Big].

    Nodes of all trees are numbered tree by tree, each parent before its children. An *acquisition* is a pair (unit k,
    example i) that some tree needs; a *triple* (tree, unit, example) is its first use u_{t,k,i} in one tree.

    Parameters
    ----------
    tree_offsets : ndarray of int64, shape (n_trees + 1,)
        The nodes of tree t are ``tree_offsets[t]:tree_offsets[t + 1]``, its root first.
    node_parent : ndarray of int32, shape (n_nodes,)
        Parent over all nodes, -1 for a root.
    errors : ndarray of int64, shape (n_nodes,)
        e_h >= 0 in multiples of ``error_unit``.
    indptr, indices : ndarray of int64 (n_internal + 1,) and int32 (n_triples,)
        CSR rows over the internal nodes: the acquisitions first needed there, ascending.
    acquisition_unit, acquisition_example : ndarray of int32, shape (n_acquisitions,)
    acquisition_cost : ndarray of int64, shape (n_acquisitions,)
        c_k >= 0 in multiples of ``cost_unit``.
    split_cost : ndarray of int64, shape (n_internal,)
        ``split_cost * |S_h|`` in multiples of ``cost_unit``: summed over the kept ancestors of a leaf this is the term
        ``|S_h| d_h`` of BudgetPrune's IP.
    error_unit, cost_unit : Fraction
        1 / (N_e T) and 1 / N_c, times the steps that make errors and costs integers.
    n_units, n_examples : int
        K and N_c.
    example_leaf : ndarray of int32, shape (n_trees, n_examples), optional
        The leaf, over all nodes, that each example reaches in each tree. Only IP1 reads it (see `formulations`), so it
        takes no part in `fingerprint`.

    Attributes
    ----------
    internal_nodes : ndarray of int32, shape (n_internal,)
        Nodes that have children.
    parent : ndarray of int32, shape (n_internal,)
        Parent among the internal nodes, -1 for a root.
    gain : ndarray of int64, shape (n_internal,)
        e_h minus the errors of the children: what keeping h saves. Negative gains come from held-out errors.
    node_depth : ndarray of int32, shape (n_nodes,)
    in_rounds : bool
        Whether an acquisition stands at several nodes of a tree, as it does below a delayed test: what is wanted in
        either of its branches is bought before it is known which one an example takes. Pyomo models and a cap on each
        example (``max_cost``) do not take such an instance, and say so.

    Raises
    ------
    TypeError, ValueError
        A field of the wrong kind, shape or range; the message names it.
    OverflowError
        Total errors or costs reach 2^62 units.
    """

    tree_offsets: IntArray
    node_parent: Int32Array
    errors: IntArray
    indptr: IntArray
    indices: Int32Array
    acquisition_unit: Int32Array
    acquisition_example: Int32Array
    acquisition_cost: IntArray
    split_cost: IntArray
    error_unit: Fraction
    cost_unit: Fraction
    n_units: int
    n_examples: int
    example_leaf: Int32Array | None = None
    internal_nodes: Int32Array = field(init=False)
    parent: Int32Array = field(init=False)
    gain: IntArray = field(init=False)
    node_depth: Int32Array = field(init=False)
    in_rounds: bool = field(init=False)

    def __post_init__(self) -> None:
        self._check_units()
        self._check_trees()
        self._derive()
        self._check_incidence()
        self._check_routing()
        for name in ("errors", "acquisition_cost", "split_cost"):
            values = getattr(self, name)
            if values.size and values.min() < 0:
                raise ValueError(f"{name}: expected integers >= 0, got {values.min()}")
            if exact_sum(values) >= INT64_SAFE:
                raise OverflowError(
                    f"{name}: expected a total below 2^62 units, got {exact_sum(values)}; "
                    "round the prices or coarsen the resolution"
                )

    def _check_units(self) -> None:
        for name in ("error_unit", "cost_unit"):
            value = getattr(self, name)
            if not isinstance(value, Fraction) or value <= 0:
                raise ValueError(f"{name}: expected a Fraction > 0, got {value!r}")
            object.__setattr__(self, name, as_fraction(value, name))
        for name in ("n_units", "n_examples"):
            value = checked_integer(getattr(self, name), name)
            if value < 0:
                raise ValueError(f"{name}: expected an integer >= 0, got {value}")
            object.__setattr__(self, name, value)

    def _check_trees(self) -> None:
        object.__setattr__(self, "tree_offsets", checked_offsets(self.tree_offsets))
        shape = (self.n_nodes,)
        for name, dtype in (("node_parent", np.int32), ("errors", np.int64)):
            object.__setattr__(self, name, checked_array(getattr(self, name), name, dtype, shape))
        roots = self.tree_offsets[:-1]
        root_of = np.repeat(roots, np.diff(self.tree_offsets))
        is_root = np.zeros(shape, dtype=bool)
        is_root[roots] = True
        inside = (self.node_parent >= root_of) & (self.node_parent < np.arange(shape[0]))
        if np.any(self.node_parent[roots] != -1) or not np.all(inside | is_root):
            raise ValueError(
                "node_parent: expected -1 at the first node of a tree, else an earlier node of that tree, "
                "got another index"
            )

    def _derive(self) -> None:
        internal, gain = gains_of_splits(self.errors, self.node_parent)
        number = np.full(self.n_nodes + 1, -1, dtype=np.int32)
        number[internal] = np.arange(internal.size, dtype=np.int32)
        object.__setattr__(self, "internal_nodes", read_only(internal))
        object.__setattr__(self, "parent", read_only(number[self.node_parent[internal]]))
        object.__setattr__(self, "gain", read_only(gain))
        object.__setattr__(self, "node_depth", read_only(_depths(self.node_parent)))

    def _check_incidence(self) -> None:
        n_triples, n_acquisitions = np.asarray(self.indices).size, np.asarray(self.acquisition_unit).size
        for name, dtype, size in (
            ("indptr", np.int64, self.n_internal + 1),
            ("indices", np.int32, n_triples),
            ("acquisition_unit", np.int32, n_acquisitions),
            ("acquisition_example", np.int32, n_acquisitions),
            ("acquisition_cost", np.int64, n_acquisitions),
            ("split_cost", np.int64, self.n_internal),
        ):
            object.__setattr__(self, name, checked_array(getattr(self, name), name, dtype, (size,)))
        first, last = self.indptr[0], self.indptr[-1]
        if first != 0 or np.any(self.indptr[1:] < self.indptr[:-1]) or last != n_triples:
            raise ValueError(f"indptr: expected to rise from 0 to the {n_triples} triples, got {first}..{last}")
        for name, limit in (
            ("indices", n_acquisitions),
            ("acquisition_unit", self.n_units),
            ("acquisition_example", self.n_examples),
        ):
            values = getattr(self, name)
            if values.size and (values.min() < 0 or values.max() >= limit):
                raise ValueError(f"{name}: expected 0..{limit - 1}, got {values.min()}..{values.max()}")
        self._check_pairs()
        descends = self.indices[1:] <= self.indices[:-1]
        row_ends = self.indptr[1:-1]
        descends[row_ends[(row_ends > 0) & (row_ends < self.indices.size)] - 1] = False
        if descends.any():
            raise ValueError("indices: expected ascending acquisitions in each row, got a row out of order")
        tree_starts = self.indptr[self.internal_offsets]
        is_repeated = routing.first_repeat(tree_starts, self.indices, n_acquisitions) >= 0
        object.__setattr__(self, "in_rounds", is_repeated)
        if not is_repeated:
            return
        node = self.internal_nodes[self.triple_node]
        repeat = routing.first_repeat_on_path(self.node_parent, node, self.indices)
        if repeat >= 0:
            raise ValueError(
                "indices: expected each acquisition once in a tree, where its example first needs it, or, with delayed "
                f"tests, once on each path, got {self.indices[repeat]} again"
            )

    def _check_pairs(self) -> None:
        pairs = self.acquisition_example.astype(np.int64) << 32 | self.acquisition_unit
        if not is_ascending(pairs):
            pairs = np.sort(pairs)
        if not is_ascending(pairs):
            example, unit = divmod(int(pairs[1:][pairs[1:] == pairs[:-1]][0]), 1 << 32)
            raise ValueError(
                "acquisition_unit, acquisition_example: expected each pair once, "
                f"got unit {unit} for example {example} again"
            )

    def _check_routing(self) -> None:
        if self.example_leaf is None:
            return
        leaves = checked_array(self.example_leaf, "example_leaf", np.int32, (self.n_trees, self.n_examples))
        object.__setattr__(self, "example_leaf", leaves)
        first, last = self.tree_offsets[:-1, None], self.tree_offsets[1:, None]
        if not np.all((leaves >= first) & (leaves < last)) or not np.all(self.is_leaf[leaves]):
            raise ValueError("example_leaf: expected leaves of tree t in row t, got another node")
        node, example = routing.first_off_path(
            self.node_parent,
            self.internal_offsets,
            self.internal_nodes,
            self.indptr,
            self.acquisition_example[self.indices],
            leaves,
        )
        if node >= 0:
            raise ValueError(
                f"example_leaf: expected node {node}, where example {example} first needs a unit, "
                "on the path to its leaf, got a leaf elsewhere"
            )

    @classmethod
    def from_forest(
        cls,
        forest: Forest,
        X_cost: npt.ArrayLike,
        costs: FeatureCosts,
        loss: str = "misclassification",
        error_data: ErrorData | None = None,
        split_cost: object = 0,
        resolution: object | None = None,
        class_costs: npt.ArrayLike | None = None,
        delayed: DelayList | None = None,
    ) -> PruningInstance:
        """Build the instance: errors from in-bag counts (or `error_data`), costs from routed examples.

        Parameters
        ----------
        forest : Forest
        X_cost : array, shape (n_examples, n_features)
            Examples whose acquisitions are paid: the validation data of the papers.
        costs : FeatureCosts
        loss : str
            "misclassification", "gini", "entropy" or, for regression, "squared_error".
        error_data : tuple (X, y) or (X, y, weights), optional
            Count errors on these examples in place of the in-bag ones; see `ipforest.losses.node_errors`.
        split_cost : number, optional
            What one test costs (the ``|S_h| d_h`` term of BudgetPrune's IP).
        resolution : number or "path", optional
            Rounding step of real-valued losses; exactness is claimed for the rounded instance. With "path", where gains
            times costs of the path would pass 64 bits, losses and prices are rounded as little as is needed: losses to
            the nearest of at least 2^22 steps in total, prices up to a multiple of a power of ten, which is
            ``cost_unit * n_examples``.
        class_costs : array, shape (n_classes, n_classes), optional
            What predicting class j costs where i is true; the error is then the average cost of a prediction.
        delayed : optional
            In place of the features that ``costs`` says are delayed, as in `FeatureCosts`. With one, what may be wanted
            below it is ordered at once (P. Turney 1995, section 4): a kept test below a delayed one is bought by all
            examples that pass the highest delayed test above it. The instance has no ``example_leaf`` then.

        Raises
        ------
        TypeError, ValueError, OverflowError
            Bad examples, prices for another number of features, an unknown loss, numbers too large.
        """
        step = None if resolution == FITS_PATH else resolution
        errors = node_errors(forest, loss, error_data, step, class_costs)
        if delayed is not None:
            marks = delayed_marks(delayed, forest.feature_names, forest.n_features)
            costs = forest.matched_costs(costs).with_delayed(marks)
        return cls._from_trees(forest, X_cost, costs, errors, split_cost, resolution == FITS_PATH)

    @classmethod
    def from_boosted(
        cls,
        trees: BoostedTrees,
        X_cost: npt.ArrayLike,
        costs: FeatureCosts,
        error_data: ErrorData,
        loss: str = "second-order",
        split_cost: object = 0,
        resolution: object | None = None,
        leaves: Int32Array | None = None,
    ) -> PruningInstance:
        """Build the instance of boosted trees: errors from each tree's own step, costs from routed examples.

        Parameters
        ----------
        trees : BoostedTrees
            With values at internal nodes; see `ipforest.ensemble.refitting.fill_inner_values`.
        X_cost : array, shape (n_examples, n_features)
        costs : FeatureCosts
        error_data : tuple (X, y) or (X, y, weights)
            Examples on which the steps are judged, training or held-out.
        loss : {"second-order", "stage"}
            See `ipforest.losses.stage_errors`, which says what of it is exact and what a surrogate.
        split_cost, resolution : number, optional
            As in `from_forest`.
        leaves : ndarray of int32, shape (n_trees, n_error_examples), optional
            Where the examples of ``error_data`` end, if it is known; see `Trees.leaves`.

        Returns
        -------
        PruningInstance
            Its errors add up over the trees: ``1/N_e sum e_h z_h`` in place of ``1/(N_e T) sum e_h z_h``.

        Raises
        ------
        TypeError, ValueError, OverflowError
            Bad examples, prices for another number of features, an unknown loss, numbers too large.
        """
        step = None if resolution == FITS_PATH else resolution
        errors = stage_errors(trees, loss, error_data, step, leaves)
        return cls._from_trees(trees, X_cost, costs, errors, split_cost, resolution == FITS_PATH)

    @classmethod
    def _from_trees(
        cls,
        trees: Trees,
        X_cost: npt.ArrayLike,
        costs: FeatureCosts,
        errors: NodeErrors,
        split_cost: object,
        fits_path: bool,
    ) -> PruningInstance:
        costs = trees.matched_costs(costs)
        examples = trees.checked_examples(X_cost, "X_cost")
        price_of_split = nonnegative_fraction(split_cost, "split_cost")
        leaves = trees.leaves(examples)
        require_no_split_cost(costs, split_cost)
        uses = trees.first_uses(leaves, costs)
        step, prices = Fraction(1, lcm(costs.denominator, price_of_split.denominator)), costs.unit_costs
        numbers = np.bincount(uses.unit, minlength=costs.n_units).tolist()
        tests = (price_of_split, max(leaves.size, int(uses.n_passing.sum())))
        amounts = [*zip(prices, numbers, strict=True), tests]
        if fits_path:
            prices = tuple(price if number else Fraction(0) for price, number in zip(prices, numbers, strict=True))
            errors, step = joint_resolution(errors, trees.parent, amounts)
        elif not fits(errors, trees.parent, amounts, step):
            step = greatest_step([*prices, price_of_split])
        unit_costs = _integer_prices(prices, step)
        if exact_sum(unit_costs[uses.unit]) >= INT64_SAFE:
            raise _too_large(prices, step, f" in total over {examples.shape[0]} examples")
        return cls(
            tree_offsets=trees.tree_offsets,
            node_parent=trees.parent,
            errors=errors.errors,
            indptr=uses.indptr,
            indices=uses.indices,
            acquisition_unit=uses.unit.astype(np.int32),
            acquisition_example=uses.example.astype(np.int32),
            acquisition_cost=unit_costs[uses.unit],
            split_cost=_split_costs(uses.n_passing, ceil(price_of_split / step), leaves.size),
            error_unit=errors.error_unit,
            cost_unit=step / examples.shape[0],
            n_units=costs.n_units,
            n_examples=examples.shape[0],
            example_leaf=None if costs.delayed.any() else leaves,
        )

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
        """Number of nodes that have children."""
        return self.internal_nodes.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return self.n_nodes - self.n_internal

    @property
    def price_step(self) -> Fraction:
        """What the prices of a single example are counted in multiples of."""
        return self.cost_unit * self.n_examples

    @property
    def n_acquisitions(self) -> int:
        """Number of variables w_{k,i}."""
        return self.acquisition_unit.size

    @property
    def n_triples(self) -> int:
        """Number of variables w^(t)_{k,i}."""
        return self.indices.size

    @property
    def internal_offsets(self) -> IntArray:
        """Offsets of the trees in the internal nodes, shape (n_trees + 1,)."""
        return np.searchsorted(self.internal_nodes, self.tree_offsets)

    @property
    def triple_node(self) -> Int32Array:
        """Internal node of each triple, shape (n_triples,)."""
        return np.repeat(np.arange(self.n_internal, dtype=np.int32), np.diff(self.indptr))

    def node_of_triples(self, triples: IntArray) -> IntArray:
        """Find the internal node of some triples, given by their positions in ``indices``."""
        return np.searchsorted(self.indptr, triples, side="right") - 1

    @property
    def triple_tree(self) -> Int32Array:
        """Tree of each triple, shape (n_triples,)."""
        sizes = np.diff(self.indptr[self.internal_offsets])
        return np.repeat(np.arange(self.n_trees, dtype=np.int32), sizes)

    @property
    def is_leaf(self) -> BoolArray:
        """Whether each node has no children, shape (n_nodes,)."""
        marks = np.ones(self.n_nodes, dtype=bool)
        marks[self.internal_nodes] = False
        return marks

    def leaves(self, pruning: Pruning) -> BoolArray:
        """Mark the leaves of the pruned trees: z_h, shape (n_nodes,)."""
        self.check_pruning(pruning)
        splits = np.zeros(self.n_nodes + 1, dtype=bool)
        splits[self.internal_nodes] = pruning.kept
        reachable = splits[self.node_parent]
        reachable[self.tree_offsets[:-1]] = True
        return reachable & ~splits[:-1]

    def acquired(self, pruning: Pruning) -> BoolArray:
        """Mark the acquisitions that the pruned forest makes: w_{k,i}, shape (n_acquisitions,)."""
        self.check_pruning(pruning)
        used = np.zeros(self.n_acquisitions, dtype=bool)
        used[self.indices[np.repeat(pruning.kept, np.diff(self.indptr))]] = True
        return used

    def integer_error(self, pruning: Pruning) -> int:
        """Sum e_h over the leaves of the pruned trees, in multiples of ``error_unit``."""
        return exact_sum(self.errors[self.leaves(pruning)])

    def integer_cost(self, pruning: Pruning) -> int:
        """Sum acquisition and split costs, in multiples of ``cost_unit``."""
        acquisitions = exact_sum(self.acquisition_cost[self.acquired(pruning)])
        return acquisitions + exact_sum(self.split_cost[pruning.kept])

    @property
    def total_cost(self) -> int:
        """What all acquisitions and tests cost together, in multiples of ``cost_unit``."""
        return exact_sum(self.acquisition_cost) + exact_sum(self.split_cost)

    def evaluate(self, pruning: Pruning) -> tuple[Fraction, Fraction]:
        """Error and average cost of a pruning, exactly.

        Raises
        ------
        ValueError
            The pruning has another size, or keeps a node whose parent it does not keep.
        """
        return (self.error_unit * self.integer_error(pruning), self.cost_unit * self.integer_cost(pruning))

    def objective(self, pruning: Pruning, lam: object) -> Fraction:
        """``error + lam * cost`` of a pruning, exactly."""
        error, cost = self.evaluate(pruning)
        return error + nonnegative_fraction(lam, "lam") * cost

    def scaled_lambda(self, lam: object) -> tuple[int, int]:
        """Scale lambda to integer errors and costs: p, q coprime with p / q = lam * cost_unit / error_unit."""
        ratio = nonnegative_fraction(lam, "lam") * self.cost_unit / self.error_unit
        return ratio.numerator, ratio.denominator

    def check_pruning(self, pruning: Pruning) -> None:
        """Require that a pruning fits and is closed under parents."""
        kept = pruning.kept
        if kept.size != self.n_internal:
            raise ValueError(f"pruning: expected {self.n_internal} internal nodes, got {kept.size} entries")
        below = self.parent >= 0
        orphan = kept[below] & ~kept[self.parent[below]]
        if orphan.any():
            node = int(self.internal_nodes[np.flatnonzero(below)[np.argmax(orphan)]])
            raise ValueError(f"pruning: expected the parent of each kept node to be kept, not so at node {node}")

    @property
    def unpruned(self) -> Pruning:
        """The pruning that keeps every node."""
        return Pruning(np.ones(self.n_internal, dtype=bool))

    @property
    def roots_only(self) -> Pruning:
        """The pruning that keeps none: every tree is its root."""
        return Pruning(np.zeros(self.n_internal, dtype=bool))

    def fingerprint(self) -> str:
        """SHA-256 of the program's data (all but the routing) in a canonical byte order, as 64 hexadecimal digits."""
        digest = hashlib.sha256(f"ipforest instance {FORMAT_VERSION}\n".encode())
        for name, value in self._data():
            if isinstance(value, np.ndarray):
                little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
                digest.update(f"{name} {value.dtype.name} {value.size}\n".encode())
                digest.update(little.data)
            else:
                digest.update(f"{name} {value}\n".encode())
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the instance as ``.npz``, without pickles or compression, whole or not at all."""
        stored: dict[str, Any] = {
            name: value if isinstance(value, np.ndarray) else np.array(str(value)) for name, value in self._data()
        }
        if self.example_leaf is not None:
            stored["example_leaf"] = self.example_leaf
        save_arrays(path, {"format_version": np.array(FORMAT_VERSION), **stored})

    @classmethod
    def load(cls, path: str | Path) -> PruningInstance:
        """Read what `save` wrote.

        Raises
        ------
        OSError
            The file cannot be opened.
        ValueError
            It is no instance, is compressed, truncated or damaged, or has another version.
        """
        data = load_arrays(path, "instance", compressed=False)
        version = data.pop("format_version", None)
        if str(version) != str(FORMAT_VERSION):
            raise ValueError(
                f"{path}: expected an instance of format version {FORMAT_VERSION}, got {one_line(version)}"
            )
        if set(data) - {"example_leaf"} != set(_DATA_FIELDS):
            raise ValueError(f"{path}: expected the fields {sorted(_DATA_FIELDS)}, got {sorted(data)}")
        exact: dict[str, Any] = {
            "error_unit": as_fraction,
            "cost_unit": as_fraction,
            "n_units": _as_integer,
            "n_examples": _as_integer,
        }
        try:
            arguments: dict[str, Any] = {**data, **{name: read(str(data[name]), name) for name, read in exact.items()}}
            return cls(**arguments)
        except (TypeError, ValueError, OverflowError) as problem:
            raise ValueError(f"{path}: expected a valid instance, got one that fails: {one_line(problem)}") from None

    def _data(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in _DATA_FIELDS)

    def __repr__(self) -> str:
        return (
            f"PruningInstance({self.n_trees} trees, {self.n_internal} internal nodes, {self.n_examples} examples, "
            f"{self.n_units} units, {self.n_triples} triples)"
        )


_DATA_FIELDS = tuple(item.name for item in fields(PruningInstance) if item.init and item.name != "example_leaf")


def _as_integer(text: str, name: str) -> int:
    number = as_fraction(text, name)
    if number.denominator != 1:
        raise ValueError(f"{name}: expected an integer, got {number}")
    return int(number)


def _depths(parent: Int32Array) -> Int32Array:
    """Depth of each node, by jumping to ancestors twice as far in each round."""
    depth = (parent >= 0).astype(np.int32)
    ancestor = np.append(parent, np.int32(-1))
    while np.any(ancestor[:-1] >= 0):
        depth += np.append(depth, np.int32(0))[ancestor[:-1]]
        ancestor[:-1] = ancestor[ancestor[:-1]]
    return depth


def _integer_prices(prices: Sequence[Fraction], step: Fraction) -> IntArray:
    """Count the steps of each price, rounded up: what is within a budget then is so at the prices themselves."""
    numbers = [ceil(price / step) for price in prices]
    if max(numbers) >= INT64_SAFE:
        raise _too_large(prices, step, "")
    return np.array(numbers, dtype=np.int64)


def _too_large(prices: Sequence[Fraction], step: Fraction, where: str) -> OverflowError:
    """Return the error of prices whose integers 64 bits do not hold, with the two that make them large."""
    largest, finest = max(prices), max(prices, key=lambda price: price.denominator)
    return OverflowError(
        f"prices: expected costs below 2^62{where} in integers over a common denominator, got about "
        f"2^{int(1 / step).bit_length()} for it, with {float(largest)!r} the largest price and {float(finest)!r} the "
        "one of most digits; round the prices, the small ones to fewer decimals"
    )


def _split_costs(n_passing: IntArray, integer_price: int, n_walks: int) -> IntArray:
    """Price the tests at each internal node; each of the walks makes at most one there."""
    if integer_price * n_walks >= INT64_SAFE:
        raise OverflowError(f"split_cost: expected a total below 2^62 cost units, got {integer_price} per test")
    return n_passing * integer_price


def require_instance(value: object) -> None:
    """Require a PruningInstance."""
    if not isinstance(value, PruningInstance):
        raise TypeError(
            f"instance: expected a PruningInstance (see PruningInstance.from_forest), got {type(value).__name__}"
        )
