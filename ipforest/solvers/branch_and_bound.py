r"""The pruning of least error within a budget: the path, fixing, and branch and bound on what they leave open.

With integer errors E, costs C and the budget B the program is, in the closure's variables,

.. math::

    \min_{x, w \in \{0, 1\}} \; E(x) = E_0 - \sum_h \mathrm{gain}_h x_h
    \quad\text{s.t.}\quad x_h \le x_{\mathrm{parent}(h)}, \quad x_h \le w_j \; (j \text{ needed at } h), \quad
    \sum_j \mathrm{cost}_j w_j + \sum_h \mathrm{split}_h x_h \le B.

Without the budget row it is a minimum cut, so its relaxation is Lagrange's: the line through the two prunings of the
path that straddle B. The search goes on inside the gap between the two:

1. the path gives the smaller pruning, which is within the budget, and the line's exact bound; greed between the two
   prunings (`ipforest.solvers.greedy`) gives a better one, of error E*;
2. errors are integers, start + a multiple of the greatest common divisor of the gains. So a better pruning errs at
   most E* less that step, and optimal flows at the breakpoint and its neighbours fix nodes (`ipforest.solvers.fixing`);
3. what is left is an instance again, whose own path bounds better: back to 1 until nothing is fixed any more;
4. HiGHS decides about the remaining nodes. Acquisitions that the same nodes need are one (`ipforest.maxflow.presolve`),
   those that one node needs are its own cost, and w_j, the largest of its x_h, need not be declared integer.

The gap is closed where breakpoints are many. Where a few dear units are met near every root (medical tests in dollars)
the path can jump over most budgets at once, so that little can be fixed and branch and bound may not finish.

Steps 1 to 3 are exact, in integers; only the bound of step 4 rests on floats.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array, vstack

from ipforest._arrays import BoolArray
from ipforest.instance import PruningInstance
from ipforest.maxflow.presolve import ReducedProblem, presolve
from ipforest.path import PruningPath, prune_path
from ipforest.rational import exact_sum, nonnegative_fraction, time_limit_seconds
from ipforest.results import BudgetResult, DualFlow, Pruning, Status
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.fixing import Remainder, everything, fix, restrict
from ipforest.solvers.greedy import fill, shrink, structure
from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import Block, Labels, LinearProgram
from ipforest.solvers.min_cut import solve_min_cut

__all__ = ["solve_budget_branch_and_bound"]

logger = logging.getLogger(__name__)

NEIGHBOURS = 2
"""Flows are read at so many breakpoints on each side of the budget; fewer fix far less, more hardly anything else."""


def solve_budget_branch_and_bound(
    instance: PruningInstance,
    budget: Fraction,
    time_limit: float | None = None,
    relative_gap: float = 0.0,
    path: PruningPath | None = None,
) -> BudgetResult:
    """Find the pruning of least error within a budget, bounded by the path (budget method ``mip``).

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    time_limit : float, optional
        Seconds. One path is computed in any case, and HiGHS looks at its clock between steps only: with a million
        triples left open it may overrun by minutes.
    relative_gap : float
        Gap, as a part of the error, at which the search may stop.
    path : PruningPath, optional
        Of the instance, if it is known.

    Returns
    -------
    BudgetResult
        Never worse than the path's. ``bound`` is the better of the path's, which is exact, and HiGHS's own, trusted as
        in `ipforest.solvers.linear_program.Solution.integer_bound`; where fixing closes the gap HiGHS is not asked.
        ``mixture`` is the path's.

    Raises
    ------
    ValueError
        A negative budget, or a time limit that is no number >= 0. Any other can be kept: bare roots cost nothing.
    OverflowError
        As `ipforest.prune_path`.
    """
    started = perf_counter()
    limit, seconds = nonnegative_fraction(budget, "budget"), time_limit_seconds(time_limit)
    path = prune_path(instance) if path is None else path
    relaxed = path.at_budget(limit)
    deadline = inf if seconds is None else started + seconds
    search = _Search(instance, int(limit // instance.cost_unit), relaxed.pruning.kept)
    part = _narrow(search, path, relative_gap, deadline)
    ended = search.ending(relative_gap, deadline) or _branch(search, part, relative_gap, deadline)
    error, cost = instance.evaluate(Pruning(search.best))
    return replace(
        relaxed,
        status=ended.judged(search.bound == search.error),
        pruning=Pruning(search.best),
        error=error,
        cost=cost,
        bound=search.bound * instance.error_unit,
        runtime_s=perf_counter() - started,
        method="mip",
    )


class _Search:
    """The best pruning so far and a lower bound of all, in integers."""

    def __init__(self, whole: PruningInstance, limit: int, best: BoolArray) -> None:
        self.whole, self.limit, self.best = whole, limit, best
        self.error = whole.integer_error(Pruning(best))
        self.bound = -1

    def offer(self, kept: BoolArray) -> None:
        """Take a pruning if it is within the budget and better."""
        pruning = Pruning(kept)
        error = self.whole.integer_error(pruning)
        if error < self.error and self.whole.integer_cost(pruning) <= self.limit:
            self.best, self.error = kept, error

    def prove(self, bound: int) -> None:
        """Raise the bound: all prunings that are better than the best one err at least so much."""
        self.bound = max(self.bound, min(bound, self.error))

    def ending(self, relative_gap: float, deadline: float) -> Status | None:
        """Return why the search should end now, None if it should not."""
        if self.bound == self.error:
            return Status.OPTIMAL
        if self.error - self.bound <= relative_gap * self.error:
            return Status.GAP_REACHED
        return Status.TIME_LIMIT if perf_counter() > deadline else None


def _narrow(search: _Search, path: PruningPath, relative_gap: float, deadline: float) -> Remainder:
    """Alternate between bounding and fixing; give what is left to decide."""
    part = everything(search.whole)
    while True:
        room = search.limit - part.cost
        point = path.at_budget(room * part.instance.cost_unit)
        larger, smaller = point.mixture[-1][1].kept, point.pruning.kept
        forest = structure(part.instance)
        for start in (smaller, shrink(forest, larger, room)):
            search.offer(part.lift(fill(forest, start, room)))
        attainable = Attainable.errors(part.instance)
        search.prove(part.error + attainable.at_least(point.bound / part.instance.error_unit))
        logger.info("%d nodes open, error %d, bound %d", part.nodes.size, search.error, search.bound)
        if search.ending(relative_gap, deadline):
            return part
        better = attainable.below(search.error - part.error)
        fixed = fix(part.instance, _flows(path, point.cost), better, room)
        if fixed is not None and not np.any(fixed):
            return part
        rest = None if fixed is None else _rest(search, part, *fixed)
        if rest is None:
            search.prove(search.error)
            return part
        part, path = rest, prune_path(rest.instance)


def _rest(search: _Search, part: Remainder, kept: BoolArray, dropped: BoolArray) -> Remainder | None:
    """Fix nodes; give what is left, None where no pruning can be better."""
    if np.all(kept | dropped):
        search.offer(part.lift(kept))
        return None
    rest = restrict(search.whole, part.lift(kept), ~part.lift(~dropped))
    return rest if rest.cost <= search.limit else None


def _flows(path: PruningPath, cost: Fraction) -> Iterator[DualFlow]:
    """Optimal flows at the breakpoints around the pruning of that cost."""
    index = path.costs.index(cost)
    flow = None
    for lam in path.breakpoints[max(0, index - 1 - NEIGHBOURS) : index + NEIGHBOURS]:
        flow = solve_min_cut(path.instance, lam, flow).flow
        if flow is not None:
            yield flow


def _branch(search: _Search, part: Remainder, relative_gap: float, deadline: float) -> Status:
    """Let HiGHS decide the rest."""
    reduced = presolve(part.instance, twin_share=part.instance.n_acquisitions)
    program = _program(part, reduced, search.limit - part.cost)
    solution = run(program, time_limit=max(0.0, deadline - perf_counter()), relative_gap=relative_gap)
    if solution.values is not None:
        kept = solution.values[: reduced.gain.size] > 0.5
        search.offer(part.lift(np.append(kept, True)[reduced.node]))
    if isfinite(solution.bound):
        search.prove(part.error + Attainable.errors(part.instance).at_least(solution.integer_bound - part.error))
    return solution.status


def _program(part: Remainder, reduced: ReducedProblem, room: int) -> LinearProgram:
    """Write the reduced problem in the closure's variables, with the budget row."""
    n, node = reduced.gain.size, np.repeat(np.arange(reduced.gain.size), np.diff(reduced.indptr))
    shared = np.bincount(reduced.indices, minlength=reduced.cost.size) > 1
    column = np.cumsum(shared) - 1
    own = reduced.split_cost.copy()
    alone = ~shared[reduced.indices]
    np.add.at(own, node[alone], reduced.cost[reduced.indices[alone]])
    price = np.concatenate([own, reduced.cost[shared]])
    step = max(1, int(np.gcd.reduce(price)))
    below, needed = np.flatnonzero(reduced.parent >= 0), np.flatnonzero(~alone)
    kept_under_parent = (below, reduced.parent[below])
    acquired_where_kept = (node[needed], n + column[reduced.indices[needed]])
    small, large = np.hstack([kept_under_parent, acquired_where_kept])
    row = np.arange(small.size)
    sign = np.repeat([1.0, -1.0], small.size)
    implications = csr_array((sign, (np.tile(row, 2), np.append(small, large))), shape=(row.size, price.size))
    always = exact_sum(part.instance.gain[reduced.node < 0])
    bare = part.error + part.instance.integer_error(part.instance.roots_only)
    return LinearProgram(
        A=vstack([implications, csr_array((price // step).astype(np.float64)[None, :])], format="csr"),
        senses=np.full(row.size + 1, "<="),
        rhs=np.append(np.zeros(row.size), float(room // step)),
        objective=np.append(-reduced.gain, np.zeros(price.size - n)).astype(np.float64),
        constant=float(bare - always),
        lower=np.zeros(price.size),
        upper=np.ones(price.size),
        integer=np.arange(price.size) < n,
        row_labels=Labels(
            (
                Block("kept_under_parent", (below,)),
                Block("acquired_where_kept", (node[needed], reduced.indices[needed])),
                Block("within_budget"),
            )
        ),
        column_labels=Labels((Block("x", (np.arange(n),)), Block("w", (np.flatnonzero(shared),)))),
    )
