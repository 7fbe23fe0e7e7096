r"""The pruning of least error within a budget: the path, greed, and branch and bound on what is bought.

With integer errors E, costs C and the budget B the program is, in the closure's variables,

.. math::

    \min_{x, w \in \{0, 1\}} \; E(x) = E_0 - \sum_h \mathrm{gain}_h x_h
    \quad\text{s.t.}\quad x_h \le x_{\mathrm{parent}(h)}, \quad x_h \le w_j \; (j \text{ needed at } h), \quad
    \sum_j \mathrm{cost}_j w_j + \sum_h \mathrm{split}_h x_h \le B.

Without the budget row it is a minimum cut, so its relaxation is Lagrange's: the line through the two prunings of the
path whose costs enclose B. Between the two lies a set of nodes that is worth its price only as a whole, for its trees
share what they buy. Each node of the search has made some decisions: nodes kept, nodes dropped, acquisitions bought.
What they leave open is an instance again (`ipforest.solvers.remainder`), and

1. nodes that cost more than what is left to spend, with their ancestors, are dropped;
2. the prunings of the remainder's own path around the budget bound it (`ipforest.solvers.straddle`);
3. greed between the two gives prunings within the budget (`ipforest.solvers.greedy`);
4. errors are integers, start + a multiple of the greatest common divisor of the gains. So the error of a better
   pruning is lower by at least that step than that of the best one known, and an optimal flow fixes nodes
   (`ipforest.solvers.fixing`);
5. of the nodes between the two prunings the one that would buy most decides how to branch. Either all that it needs
   is bought, for all trees, or not all of it: then every node that needs as much is dropped. It is usually such a
   purchase, a feature for all examples, that the relaxation buys by half, so both branches raise the bound.

A cap on what each example pays adds a row per example,

.. math:: \sum_{j \text{ of } i} \mathrm{cost}_j w_j \le \mathrm{cap} \quad \forall i,

which step 1 and the greedy fill keep and the bounds of steps 2 and 4 do not need to: they stay valid without it.

All is exact, in integers: there is no linear program, and no float in the bound.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from math import inf

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, IntArray
from ipforest._internal.kernels import clock, njit
from ipforest._internal.rational import coarsened, exact_sum, nonnegative_fraction, time_limit_seconds
from ipforest.ensemble.routing import least_above
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import path_of
from ipforest.results import BudgetResult, DualFlow, Pruning, Status
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.fixing import fix
from ipforest.solvers.greedy import N_TRIALS, budget_units, cap_units, exchange, fill, fill_between, shrink, structure
from ipforest.solvers.min_cut import solve_min_cut
from ipforest.solvers.remainder import Remainder
from ipforest.solvers.straddle import Straddle, straddle

__all__ = ["solve_budget_branch_and_bound"]

logger = logging.getLogger(__name__)

WORTH_FIXING = 0.05
"""Share of the open nodes that a flow should fix; where it fixes fewer, the next flow waits for a smaller gap."""
SMALLER_GAP = 0.7
"""So much of the gap at which hardly anything was fixed may be left when it is tried again."""
MAX_FLOW = 2**61
"""Flows that fix nodes stay below this in integer units; lambda is rounded where it has to be."""


def solve_budget_branch_and_bound(
    instance: PruningInstance,
    budget: Fraction,
    *,
    max_cost: object | None = None,
    time_limit: float | None = None,
    relative_gap: object = 0,
    path: PruningPath | None = None,
) -> BudgetResult:
    """Find the pruning of least error within a budget (budget method ``mip``).

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    max_cost : number, optional
        What no example of the cost data may pay more than; see `ipforest.solvers.greedy.solve_budget_greedy`.
    time_limit : float, optional
        Seconds. The path and the pruning of ``greedy`` are computed in any case.
    relative_gap : number
        Gap, as a part of the error, at which the search may stop.
    path : PruningPath, optional
        Of the instance, where it is known.

    Returns
    -------
    BudgetResult
        At any time the best pruning found, never worse than that of ``greedy``, and an exact bound: the least that a
        pruning that is not ruled out can have. ``mixture`` is the path's, which does not know the cap.

    Raises
    ------
    ValueError
        A negative budget or cap, a cap together with split costs or on an instance whose examples take several paths
        through a tree, a limit that is no number >= 0, or the path of another instance. Any other budget can be kept:
        bare roots cost nothing.
    OverflowError
        As `ipforest.prune_path`.
    """
    started = clock()
    limit, seconds = nonnegative_fraction(budget, "budget"), time_limit_seconds(time_limit)
    tolerance = nonnegative_fraction(relative_gap, "relative_gap")
    deadline = inf if seconds is None else started + seconds
    cap = None if max_cost is None else cap_units(instance, max_cost)
    relaxed = path_of(instance, path).at_budget(limit)
    search = _Search(instance, relaxed, cap)
    ended = search.run(tolerance, deadline)
    pruning = Pruning(search.best)
    return relaxed.improved(
        pruning,
        instance.evaluate(pruning),
        search.bound * instance.error_unit,
        ended=ended,
        runtime_s=clock() - started,
        method="mip",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Decisions:
    """What a node of the search has decided about its base.

    Parameters
    ----------
    kept, dropped : ndarray of bool, shape (n_internal,)
        Disjoint, closed under parents and under children.
    bought : ndarray of bool, shape (n_acquisitions,)
        With all that the kept nodes need.
    """

    kept: BoolArray
    dropped: BoolArray
    bought: BoolArray

    @classmethod
    def none(cls, base: PruningInstance) -> _Decisions:
        """Decide nothing."""
        nothing = np.zeros(base.n_internal, dtype=bool)
        return cls(nothing, nothing, np.zeros(base.n_acquisitions, dtype=bool))

    def keeping(self, base: PruningInstance, kept: BoolArray) -> _Decisions:
        """Keep nodes as well, and buy what they need."""
        bought = self.bought.copy()
        bought[base.indices[kept[base.triple_node]]] = True
        return replace(self, kept=self.kept | kept, bought=bought)

    def cost(self, base: PruningInstance) -> int:
        """Sum up what is bought, and the split costs of what is kept."""
        return exact_sum(base.acquisition_cost[self.bought]) + exact_sum(base.split_cost[self.kept])


@dataclass(frozen=True, slots=True, order=True)
class _Open:
    """A node of the search that is not ruled out: the least bound comes first, of equal ones the newest.

    Parameters
    ----------
    bound : int
        Integer error of the whole that no pruning goes below that follows the decisions.
    age : int
        Falls from node to node.
    decisions : _Decisions
    costliest : int
        The internal node to branch on; -1 for the first node, of which nothing is known yet.
    hopeless_gap : float
        A gap at which a flow fixed hardly anything; infinite if that did not happen.
    """

    bound: int
    age: int
    decisions: _Decisions = field(compare=False)
    costliest: int = field(compare=False)
    hopeless_gap: float = field(compare=False)


class _Search:
    """The best pruning so far, and the open nodes of the search.

    Decisions are about the base: the whole, and after the first node what that left open.
    """

    def __init__(self, whole: PruningInstance, relaxed: BudgetResult, cap: IntArray | None) -> None:
        smaller, larger = relaxed.mixture[0][1].kept, relaxed.mixture[-1][1].kept
        self.limit = Attainable.costs(whole).below(budget_units(whole, relaxed.budget) + 1)
        self._whole, self._cap = whole, cap
        self._left = cap  # without what the base has bought
        self._forest = structure(whole)
        self.best = shrink(self._forest, smaller, self.limit, cap)
        self.error = whole.integer_error(Pruning(self.best))
        self._base = Remainder.whole(whole)
        self._relaxed = Straddle(smaller, larger, relaxed.lam, relaxed.bound / whole.error_unit)
        self._n_examined = 0
        self._seconds = 0.0
        found = fill_between(whole, self._forest, smaller, larger, self.limit, cap)
        self._offer(exchange(self._forest, found, self.limit, N_TRIALS, cap))
        bound = Attainable.errors(whole).at_least(self._relaxed.bound)
        self._open = [_Open(bound, 0, _Decisions.none(whole), -1, inf)]

    @property
    def bound(self) -> int:
        """Integer error that no pruning within the budget goes below."""
        return min([self.error, *(node.bound for node in self._open)])

    def run(self, relative_gap: Fraction, deadline: float) -> Status:
        """Search until the gap is closed or time is up; return which."""
        while self.bound < self.error:
            if self.error - self.bound <= relative_gap * self.error:
                return Status.GAP_REACHED
            node = heappop(self._open)
            children = []
            for decisions in self._branches(node):
                started = clock()
                if started + self._seconds > deadline:
                    heappush(self._open, node)
                    return Status.TIME_LIMIT
                children.append(self._examine(decisions, node))
                self._seconds = clock() - started
            for child in children:
                if child is not None:
                    heappush(self._open, child)
            if node.costliest < 0:
                self._rebase()
            logger.debug("%d examined, error %d, bound %d", self._n_examined, self.error, self.bound)
        return Status.OPTIMAL

    def _branches(self, node: _Open) -> Iterator[_Decisions]:
        """Yield the decisions of the children: buy what the costliest node needs, or drop all that need as much."""
        base, decisions = self._base.instance, node.decisions
        if node.costliest < 0:
            yield decisions
            return
        needed = np.zeros(base.n_acquisitions, dtype=bool)
        needed[base.indices[base.indptr[node.costliest] : base.indptr[node.costliest + 1]]] = True
        needed &= ~decisions.bought
        dropped = decisions.dropped.copy()
        if np.any(needed):
            yield replace(decisions, bought=decisions.bought | needed)
            _drop_needing(base.parent, base.indptr, base.indices, needed, dropped)
        else:
            kept = decisions.kept.copy()
            above = node.costliest
            while above >= 0:
                kept[above] = True
                above = int(base.parent[above])
            yield decisions.keeping(base, kept)
            dropped[node.costliest] = True
            dropped = ~least_above(base.parent, ~dropped)
        yield replace(decisions, dropped=dropped)

    def _examine(self, decisions: _Decisions, parent: _Open) -> _Open | None:
        """Bound, fill and fix what some decisions leave open; None if that holds nothing better than the best."""
        self._n_examined += 1
        base = self._base.instance
        room = self.limit - self._base.cost - decisions.cost(base)
        spare = self._spare(decisions)
        if room < 0 or (spare is not None and np.any(spare < 0)):
            return None
        decisions = _without_too_dear(base, decisions, room, spare)
        if np.all(decisions.kept | decisions.dropped):
            self._offer(self._base.lift(decisions.kept))
            return None
        part = Remainder.whole(base).restrict(decisions.kept, decisions.dropped, decisions.bought)
        error = self._base.error + part.error
        attainable = Attainable.errors(part.instance)
        if part.instance is self._whole:
            between = self._relaxed
        else:
            between = straddle(part.instance, room, attainable.below(self.error - error))
        bound = max(parent.bound, error + attainable.at_least(between.bound))
        if bound < self.error and between is not self._relaxed:
            forest = structure(part.instance)
            found = fill_between(part.instance, forest, between.smaller, between.larger, room, spare)
            self._offer(self._base.lift(part.lift(found)))
        if bound >= self.error:
            return None
        free = np.ones(part.nodes.size, dtype=bool)
        gap, hopeless_gap = self.error - bound, parent.hopeless_gap
        if hopeless_gap == inf or gap <= SMALLER_GAP * hopeless_gap:
            flow = _flow(part.instance, between.lam)
            fixed = fix(part.instance, [flow], attainable.below(self.error - error), room)
            if fixed is None:
                return None
            kept, dropped = (part.spread(marks) for marks in fixed)
            decisions = replace(decisions.keeping(base, kept), dropped=decisions.dropped | dropped)
            free = ~(fixed[0] | fixed[1])
            if not np.any(free):
                self._offer(self._base.lift(decisions.kept))
                return None
            hopeless_gap = gap if np.count_nonzero(free) > (1 - WORTH_FIXING) * free.size else inf
        costliest = _costliest(part, free, decisions.bought, between)
        return _Open(bound, -self._n_examined, decisions, costliest, hopeless_gap)

    def _offer(self, kept: BoolArray) -> None:
        """Take a pruning within the budget if it is better and holds the cap, and spend what it leaves."""
        if self._whole.integer_error(Pruning(kept)) < self.error and self._holds_cap(kept):
            self.best = fill(self._forest, kept, self.limit, self._cap)
            self.error = self._whole.integer_error(Pruning(self.best))

    def _holds_cap(self, kept: BoolArray) -> bool:
        bought = self._whole.acquired(Pruning(kept))
        return self._cap is None or bool(np.all(_paid(self._whole, bought) <= self._cap))

    def _spare(self, decisions: _Decisions) -> IntArray | None:
        """Return what each example may still pay once all that is bought is paid."""
        return None if self._left is None else self._left - _paid(self._base.instance, decisions.bought)

    def _rebase(self) -> None:
        """Make what the first node left open the base from which on decisions count."""
        for first in self._open:
            decided, before = first.decisions, self._base
            self._left = self._spare(decided)
            self._base = before.restrict(decided.kept, decided.dropped, decided.bought)
            costliest = int(np.flatnonzero(self._base.nodes == before.nodes[first.costliest])[0])
            self._open = [replace(first, decisions=_Decisions.none(self._base.instance), costliest=costliest)]


def _paid(instance: PruningInstance, bought: BoolArray) -> IntArray:
    """Sum up what each example pays, shape (n_examples,)."""
    paid = np.zeros(instance.n_examples, dtype=np.int64)
    np.add.at(paid, instance.acquisition_example[bought], instance.acquisition_cost[bought])
    return paid


def _without_too_dear(base: PruningInstance, decisions: _Decisions, room: int, spare: IntArray | None) -> _Decisions:
    """Drop the nodes that, with their ancestors, cost more than the room, or an example more than it may still pay."""
    cost = np.where(decisions.bought, 0, base.acquisition_cost)
    dropped = decisions.dropped.copy()
    _drop_too_dear(base.parent, base.split_cost, base.indptr, base.indices, cost, decisions.kept, room, dropped)
    if spare is not None:
        _drop_over_cap(base.parent, base.indptr, base.indices, cost, base.acquisition_example, spare, dropped)
    return replace(decisions, dropped=dropped)


def _flow(instance: PruningInstance, lam: Fraction) -> DualFlow:
    """Return an optimal flow at lambda, or at a number near it where flows could leave 64 bits."""
    ratio = lam * instance.cost_unit / instance.error_unit
    near = coarsened(ratio, exact_sum(np.abs(instance.gain)), instance.total_cost, MAX_FLOW)
    flow = solve_min_cut(instance, near * instance.error_unit / instance.cost_unit).flow
    if flow is None:
        raise AssertionError("a minimum cut comes with its flow")
    return flow


def _costliest(part: Remainder, free: BoolArray, bought: BoolArray, between: Straddle) -> int:
    """Choose the free node between two prunings, or of all, that needs most beyond what is bought."""
    instance = part.instance
    candidates = free & between.larger & ~between.smaller
    if not np.any(candidates):
        candidates = free
    cost = np.where(bought[part.acquisitions], 0, instance.acquisition_cost)
    price = np.bincount(instance.triple_node, weights=cost[instance.indices], minlength=free.size)
    return int(part.nodes[np.argmax(np.where(candidates, price, -1))])


@njit
def _drop_too_dear(
    parent: Array,
    split_cost: IntArray,
    indptr: IntArray,
    indices: Array,
    cost: IntArray,
    kept: BoolArray,
    room: int,
    dropped: BoolArray,
) -> None:
    """Mark nodes that cost more than the room with their ancestors that are not kept, and all below them."""
    chain = np.zeros(parent.size, np.int64)
    for h in range(parent.size):
        if kept[h]:
            continue
        if parent[h] >= 0:
            chain[h] = chain[parent[h]]
            dropped[h] |= dropped[parent[h]]
        if dropped[h]:
            continue
        chain[h] += split_cost[h]
        for x in range(indptr[h], indptr[h + 1]):
            chain[h] += cost[indices[x]]
        dropped[h] = chain[h] > room


@njit
def _drop_over_cap(
    parent: Array, indptr: IntArray, indices: Array, cost: IntArray, example: Array, spare: IntArray, dropped: BoolArray
) -> None:
    """Mark nodes at which, with their ancestors, an example needs more than it may pay, and all below them.

    In one tree the nodes at which an example needs something lie on one path; `cap_units` sees to that.
    """
    needed = np.zeros(spare.size, np.int64)
    for h in range(parent.size):
        if parent[h] < 0:
            needed[:] = 0
        elif dropped[parent[h]]:
            dropped[h] = True
        if dropped[h]:
            continue
        for x in range(indptr[h], indptr[h + 1]):
            j = indices[x]
            needed[example[j]] += cost[j]
            if needed[example[j]] > spare[example[j]]:
                dropped[h] = True


@njit
def _drop_needing(parent: Array, indptr: IntArray, indices: Array, needed: BoolArray, dropped: BoolArray) -> None:
    """Mark nodes that need all of some acquisitions, and all below them."""
    size = np.count_nonzero(needed)
    for h in range(parent.size):
        if parent[h] >= 0 and dropped[parent[h]]:
            dropped[h] = True
        if not dropped[h] and indptr[h + 1] - indptr[h] >= size:
            count = 0
            for x in range(indptr[h], indptr[h + 1]):
                count += needed[indices[x]]
            dropped[h] = count == size
