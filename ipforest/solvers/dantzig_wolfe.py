r"""Dantzig-Wolfe decomposition of IP3's relaxation: a small master program, and trees priced one by one.

Written with the extreme points of each tree's polyhedron P^(t), its prunings j (LP3 of the optimal-pruning paper):

.. math::
    \min \sum_{t,j} \alpha^{(t)}_j \, c_t' \theta^{(t)}_j + \lambda \sum_{k,i} c_k w_{k,i} / N \quad \text{s.t.} \quad
    \sum_j \alpha^{(t)}_j w^{(t)}_{k,i,j} \le w_{k,i}, \quad \sum_j \alpha^{(t)}_j = 1, \quad \alpha, w \ge 0.

Three things make it practical, none of which changes its optimum.

*Merged rows.* Nodes of a tree that the same known prunings keep form a *cell*: they have the same entries in every
column, so w^(t)_{k,i} is one number per cell, and acquisitions that meet the same cells share one w, costs added. The
row's dual value is handed back to the merged acquisitions in proportion to their prices, a central point of the
optimal duals that needs no further stabilisation.

*Two masters.* "columns" is LP4 with the rows merged. "partition", the default, allows each tree every x that is
constant on its cells and falls from parent to child, not only convex combinations of the known prunings. This is the
general master of Bienstock and Zuckerberg for precedence constraints: it contains LP4's, lies inside P^(t), and is
itself a closure problem, so its vertices are prunings.

*Two pricing rules.* "all" takes the cheapest pruning of every tree in each round; "negative" only those of negative
reduced cost, the paper's test OPT_t < r_t, where r_t is the dual value of the tree's convexity row.

*Exact ends.* The master is solved in floating point, but what leaves it is exact: duals are rounded to integer
multipliers whose Lagrangian bound is computed in integers (SUB1 for every tree, by the tree recursion), and fractional
solutions are rounded to their best level set. Objectives are integers, so a bound within one unit proves optimality.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest._internal.kernels import clock
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.rational import time_limit_seconds
from ipforest.ensemble.routing import least_above
from ipforest.instance import PruningInstance
from ipforest.results import Pruning, PruningResult, Status
from ipforest.solvers.highs import run
from ipforest.solvers.lagrangian import Incumbent, ScaledProblem, Trace
from ipforest.solvers.linear_program import Block, Labels, LinearProgram, selection
from ipforest.solvers.tree_dp import equal_shares, solve_tree_dp
from ipforest.solvers.tree_pool import TreePool

logger = logging.getLogger(__name__)

PRICING = ("all", "negative")

REDUCED_COST_TOLERANCE = 1e-9
"""A reduced cost is negative below minus this share of the largest gain, which is above the master's rounding."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DantzigWolfeResult(PruningResult):
    """A pruning, its bound, and how both moved.

    Parameters
    ----------
    trace : Trace
        One entry per pricing round.
    master_rows, master_columns : int
        Size of the last master program, 0 if none was needed.
    """

    trace: Trace
    master_rows: int
    master_columns: int


def solve_dantzig_wolfe(
    instance: PruningInstance,
    lam: Fraction,
    *,
    master: str = "partition",
    pricing: str = "all",
    max_iterations: int = 1000,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: ProgressCallback = silent,
) -> DantzigWolfeResult:
    """Prune the ensemble by column generation.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
    master : {"partition", "columns"}
        See the module's text; "columns" is the paper's LP4.
    pricing : {"all", "negative"}
        Which trees give a column in a round: all of them, or those of negative reduced cost, the paper's test
        OPT_t < r_t. The latter needs the master "columns", which has the dual value r_t.
    max_iterations : int
        Pricing rounds.
    time_limit : float, optional
        Seconds.
    n_jobs : int, optional
        For pricing, of joblib; by default what `joblib.parallel_config` says, else 1. Never changes the result.
    progress : callable
        Called after each round.

    Returns
    -------
    DantzigWolfeResult
        Status "optimal" only with an exact proof. "feasible" if no column prices out and yet rounding leaves a gap:
        this needs numbers near the limits of double precision (a lambda with very many digits). "interrupted" after
        KeyboardInterrupt, "time limit" and "iteration limit" otherwise, always with the best pruning and bound.

    Raises
    ------
    ValueError
        Unknown master or pricing, pricing that the master does not allow, or a limit below 1 round or 0 seconds.
    OverflowError
        At this lambda the scaled integers could reach 2^62.

    Notes
    -----
    Source: optimal-pruning paper, section 5 (LP2, LP3, LP4, SUB1). Partition master: D. Bienstock and M. Zuckerberg,
    "Solving LP relaxations of large-scale precedence constrained problems", IPCO 2010.
    """
    if master not in MASTERS:
        raise ValueError(f"master: expected one of {', '.join(MASTERS)}, got {master!r}")
    if pricing not in PRICING:
        raise ValueError(f"pricing: expected one of {', '.join(PRICING)}, got {pricing!r}")
    if pricing == "negative" and master != "columns":
        raise ValueError(
            f"pricing: expected 'all' with master {master!r}, which has no dual value per tree; pass master='columns' "
            "for 'negative'"
        )
    if max_iterations < 1:
        raise ValueError(f"max_iterations: expected 1 or more, got {max_iterations}")
    time_limit = time_limit_seconds(time_limit)
    started = clock()
    search = _Search(ScaledProblem.at(instance, lam), lam, MASTERS[master], only_negative=pricing == "negative")
    status = Status.ITERATION_LIMIT
    try:
        with TreePool(instance, search.problem.fine_q, n_jobs) as pool:
            while len(search.trace) < max_iterations:
                left = inf if time_limit is None else time_limit - (clock() - started)
                if left <= 0:
                    status = Status.TIME_LIMIT
                    break
                ended = search.step(pool, left)
                progress(len(search.trace) / max_iterations, search.message())
                if ended is not None:
                    status = ended
                    break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return search.result(status, clock() - started)


class _Search:
    """The state of column generation: known prunings, their cells, the next multipliers, the best so far."""

    def __init__(self, problem: ScaledProblem, lam: Fraction, build: MasterBuilder, *, only_negative: bool) -> None:
        instance = problem.instance
        self.problem = problem
        self._lam = lam
        self._build = build
        self._only_negative = only_negative
        self._tree_duals = np.full(instance.n_trees, np.inf)
        self._tree_of_node = np.repeat(np.arange(instance.n_trees), np.diff(instance.internal_offsets))
        self.trace = Trace(instance.error_unit / problem.q)
        self._multipliers: FloatArray = equal_shares(instance, problem.fine_p) / float(problem.fine_q)
        self._columns: list[BoolArray] = []
        self._cells = self._tree_of_node
        self._incumbent = Incumbent(instance.roots_only, problem.value(instance.roots_only), 0)
        self._size = (0, 0)
        self._scale = max(1.0, float(np.abs(instance.gain).max(initial=0)))
        for pruning in (instance.roots_only, instance.unpruned, solve_tree_dp(instance, lam).pruning):
            self._offer(pruning)
            self._learn(pruning.kept)

    def _offer(self, pruning: Pruning) -> None:
        """Take a pruning of all trees as the best so far if it is."""
        self._incumbent = self._incumbent.with_pruning(self.problem.value(pruning), pruning)

    def _learn(self, kept: BoolArray) -> bool:
        """Take a column for every tree; return whether any is new to its tree's cells."""
        self._columns.append(kept)
        last_cell = self._cells.max(initial=-1)
        _, self._cells = np.unique(2 * self._cells + kept, return_inverse=True)
        return bool(self._cells.max(initial=-1) > last_cell)

    def step(self, pool: TreePool, seconds: float) -> Status | None:
        """Price the trees, then solve the master within some seconds; give the final status when the search ends."""
        fine_value, kept = self.problem.dual_value(pool, self.problem.rounded(self._multipliers))
        bound = self.problem.coarse_bound(fine_value)
        n_columns = len(self._columns)
        self._offer(Pruning(kept))
        entering = self._entering(kept)
        refined = self._learn(entering)
        self._incumbent = self._incumbent.with_bound(bound)
        priced_out = self._size[0] > 0 and not refined and self._known(entering, n_columns)
        out_of_time = not self._incumbent.proven and not priced_out and not self._solve_master(seconds)
        self.trace = self.trace.then(self._incumbent, bound)
        logger.debug("round %d: %s", len(self.trace), self.message())
        if self._incumbent.proven:
            return Status.OPTIMAL
        if out_of_time:
            return Status.TIME_LIMIT
        return Status.FEASIBLE if priced_out else None

    def _entering(self, kept: BoolArray) -> BoolArray:
        """Take the cheapest prunings of the trees as columns; where none prices in, the bare root, which is known."""
        if not self._only_negative:
            return kept
        optimum = np.bincount(
            self._tree_of_node,
            weights=kept * _charged_weights(self.problem, self._multipliers),
            minlength=self._tree_duals.size,
        )
        negative = optimum < self._tree_duals - REDUCED_COST_TOLERANCE * self._scale
        return np.asarray(kept & negative[self._tree_of_node])

    def _known(self, kept: BoolArray, n_columns: int) -> bool:
        """Whether each tree's pruning is among the first columns."""
        bounds = self.problem.instance.internal_offsets
        return all(
            any(np.array_equal(kept[first:end], column[first:end]) for column in self._columns[:n_columns])
            for first, end in pairwise(bounds)
        )

    def _solve_master(self, seconds: float) -> bool:
        """Move to the master's multipliers; False if it was not solved in time."""
        coupling = _Coupling.of(self.problem, self._cells)
        program, levels_of = self._build(self.problem, self._cells, coupling, self._columns)
        solution = run(program, time_limit=seconds)
        if solution.status is Status.TIME_LIMIT or solution.values is None or solution.row_duals is None:
            return False
        self._size = (program.n_rows, program.n_columns)
        levels = np.clip(levels_of @ solution.values, 0.0, 1.0)[self._cells]
        falling = least_above(self.problem.instance.parent, np.round(levels, 9))  # the master's are but for rounding
        value, pruning = self.problem.best_threshold(falling)
        self._incumbent = self._incumbent.with_pruning(value, pruning)
        self._multipliers = coupling.multipliers(-solution.row_duals[: coupling.row_cell.size])
        if self._only_negative:
            self._tree_duals = solution.row_duals[coupling.row_cell.size :]
        return True

    def message(self) -> str:
        """Describe the gap in a few words."""
        gap = (self._incumbent.value - self._incumbent.bound) * self.trace.unit
        return f"gap {float(gap):.3g}"

    def result(self, status: Status, runtime_s: float) -> DantzigWolfeResult:
        """Return the best found."""
        pruning = self._incumbent.pruning
        return DantzigWolfeResult.of(
            pruning,
            self.problem.instance.evaluate(pruning),
            self._lam,
            self._incumbent.bound * self.trace.unit,
            ended=status,
            runtime_s=runtime_s,
            method="dantzig-wolfe",
            iterations=len(self.trace),
            trace=self.trace,
            master_rows=self._size[0],
            master_columns=self._size[1],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Coupling:
    """The rows w^(t) <= w after merging: one for each group of acquisitions and cell that it meets.

    Parameters
    ----------
    row_group, row_cell : ndarray of int64, shape (n_rows,)
    group_price : ndarray of float, shape (n_groups,)
        In error units.
    triple_row : ndarray of int64, shape (n_triples,)
        The row of each triple, -1 if its acquisition costs nothing.
    triple_share : ndarray of float, shape (n_triples,)
        What part of its row's dual value is the triple's.
    """

    row_group: IntArray
    row_cell: IntArray
    group_price: FloatArray
    triple_row: IntArray
    triple_share: FloatArray

    @property
    def rows(self) -> Block:
        """Names of the rows."""
        return Block("acquired_where_kept", (self.row_group, self.row_cell))

    @property
    def columns(self) -> Block:
        """Names of the merged acquisitions' variables."""
        return Block("w", (np.arange(self.group_price.size),))

    @classmethod
    def of(cls, problem: ScaledProblem, cells: IntArray) -> _Coupling:
        """Merge acquisitions that meet the same cells.

        Sets of cells are told apart by sums of 64-bit random labels; a collision could only cost iterations, as
        bounds and objectives are computed on the unmerged instance.
        """
        instance = problem.instance
        triple_cell = cells[instance.triple_node]
        labels = np.random.default_rng(0).integers(0, 2**64, size=instance.n_internal, dtype=np.uint64)
        met = np.zeros(instance.n_acquisitions, dtype=np.uint64)
        np.add.at(met, instance.indices, labels[triple_cell])
        unit_prices = problem.prices
        _, group = np.unique(met, return_inverse=True)
        group_price = np.bincount(group, weights=unit_prices).astype(np.float64)
        charged = np.flatnonzero(unit_prices[instance.indices] > 0)
        triple_group = group[instance.indices[charged]]
        pairs = np.stack([triple_group, triple_cell[charged]]).astype(np.int64)
        rows, row_of = np.unique(pairs, axis=1, return_inverse=True)
        triple_row = np.full(instance.n_triples, -1, dtype=np.int64)
        triple_row[charged] = row_of
        share = np.zeros(instance.n_triples)
        share[charged] = unit_prices[instance.indices[charged]] / group_price[triple_group]
        return cls(rows[0], rows[1], group_price, triple_row, share)

    def multipliers(self, row_duals: FloatArray) -> FloatArray:
        """Hand the rows' dual values back to the triples, in proportion to the prices; shape (n_triples,)."""
        return np.append(np.maximum(row_duals, 0.0), 0.0)[self.triple_row] * self.triple_share


def _node_weights(problem: ScaledProblem) -> FloatArray:
    """Objective of keeping each node, acquisitions apart, in error units; shape (n_internal,)."""
    instance = problem.instance
    return np.asarray(instance.split_cost * (problem.p / problem.q) - instance.gain)


def _charged_weights(problem: ScaledProblem, multipliers: FloatArray) -> FloatArray:
    """Compute c_t - q'D of (SUB1): keeping each node with what its acquisitions are charged; shape (n_internal,)."""
    instance = problem.instance
    charges = np.bincount(instance.triple_node, weights=multipliers, minlength=instance.n_internal)
    return np.asarray(_node_weights(problem) + charges)


def _cell_weights(problem: ScaledProblem, cells: IntArray) -> FloatArray:
    """Objective of keeping each cell's nodes, in error units; shape (n_cells,)."""
    return np.bincount(cells, weights=_node_weights(problem)).astype(np.float64)


def _partition_master(
    problem: ScaledProblem, cells: IntArray, coupling: _Coupling, columns: list[BoolArray]
) -> tuple[LinearProgram, sp.csr_array]:
    """State the master over all x that are constant on cells; also the map from its variables to cell levels."""
    parent = problem.instance.parent
    below = parent >= 0
    pairs = np.unique(np.stack([cells[below], cells[parent[below]]]), axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    weights = _cell_weights(problem, cells)
    n_cells, n_groups = weights.size, coupling.group_price.size
    smaller = np.concatenate([coupling.row_cell, pairs[0]])
    larger = np.concatenate([n_cells + coupling.row_group, pairs[1]])
    program = _continuous(
        selection(smaller, n_cells + n_groups) - selection(larger, n_cells + n_groups),
        senses=np.full(smaller.size, "<="),
        objective=np.concatenate([weights, coupling.group_price]),
        upper=np.concatenate([np.ones(n_cells), np.full(n_groups, np.inf)]),
        rows=(coupling.rows, Block("falls_from_parent", (pairs[0], pairs[1]))),
        columns=(Block("level", (np.arange(n_cells),)), coupling.columns),
    )
    return program, sp.eye_array(n_cells, n_cells + n_groups, format="csr")


def _column_master(
    problem: ScaledProblem, cells: IntArray, coupling: _Coupling, columns: list[BoolArray]
) -> tuple[LinearProgram, sp.csr_array]:
    """State LP4 with merged rows; also the map from its variables to cell levels."""
    instance = problem.instance
    _, member = np.unique(cells, return_index=True)
    cell_tree = np.searchsorted(instance.internal_offsets, member, side="right") - 1
    known = np.array(columns)[:, member]
    entries, trees = [], []
    for tree in range(instance.n_trees):
        own = np.flatnonzero(cell_tree == tree)
        distinct = np.unique(known[:, own], axis=0)
        entries += [own[chosen] for chosen in distinct]
        trees += [tree] * distinct.shape[0]
    n_columns, n_groups = len(entries), coupling.group_price.size
    starts = np.cumsum([0] + [entry.size for entry in entries])
    kept_cells = np.concatenate(entries)
    contents = sp.csc_array((np.ones(kept_cells.size), kept_cells, starts), shape=(member.size, n_columns))
    contents = sp.csr_array(sp.hstack([contents, sp.csc_array((member.size, n_groups))]))
    acquired = selection(n_columns + coupling.row_group, n_columns + n_groups)
    convexity = selection(np.array(trees), instance.n_trees).T
    convexity = sp.hstack([convexity, sp.csr_array((instance.n_trees, n_groups))])
    prices = np.concatenate([np.zeros(n_columns), coupling.group_price])
    program = _continuous(
        sp.vstack([contents[coupling.row_cell] - acquired, convexity]),
        senses=np.repeat(["<=", "=="], [coupling.row_cell.size, instance.n_trees]),
        objective=contents.T @ _cell_weights(problem, cells) + prices,
        upper=np.full(n_columns + n_groups, np.inf),
        rows=(coupling.rows, Block("one_column_per_tree", (np.arange(instance.n_trees),))),
        columns=(Block("alpha", (np.array(trees), np.arange(n_columns))), coupling.columns),
    )
    return program, contents


MasterBuilder = Callable[[ScaledProblem, IntArray, _Coupling, list[BoolArray]], tuple[LinearProgram, sp.csr_array]]
MASTERS: MappingProxyType[str, MasterBuilder] = MappingProxyType(
    {"partition": _partition_master, "columns": _column_master}
)


def _continuous(
    A: sp.csr_array,
    senses: npt.NDArray[np.str_],
    objective: FloatArray,
    upper: FloatArray,
    rows: tuple[Block, ...],
    columns: tuple[Block, ...],
) -> LinearProgram:
    """State a linear program over variables >= 0 whose equations have the right-hand side 1, its inequalities 0."""
    return LinearProgram(
        A=sp.csr_array(A),
        senses=senses,
        rhs=np.where(senses == "==", 1.0, 0.0),
        objective=objective,
        constant=0.0,
        lower=np.zeros(objective.size),
        upper=upper,
        integer=np.zeros(objective.size, dtype=bool),
        row_labels=Labels(rows),
        column_labels=Labels(columns),
    )
