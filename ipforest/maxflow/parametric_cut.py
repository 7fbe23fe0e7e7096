"""The parametric minimum cut: split a reduced problem until each subproblem is one breakpoint, on all cores.

See `ipforest.path` for the method and `ipforest.maxflow.subproblems` for one step of it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest.maxflow.minimum_cut import EXACT, LABEL_LIMIT, LABELS_TOO_NARROW, NEAR, WIDE_LABEL_LIMIT, cut
from ipforest.maxflow.network import Network, build_network
from ipforest.maxflow.presolve import ReducedProblem
from ipforest.maxflow.subproblems import (
    break_even_lambda,
    classify_ends,
    rejoin,
    settle_ends,
    split,
    split_fully,
    totals,
)
from ipforest.progress import ProgressCallback
from ipforest.rational import INT64_SAFE

logger = logging.getLogger(__name__)

Array = npt.NDArray[Any]

SMALL = 200_000
"""Subproblems of at most so many triples are split to the end in one call."""
LARGE = 1_000_000
"""Subproblems of more triples may be split by a cut that is only nearly minimal."""
TOLERANCE = 0.25
"""A cut is nearly minimal when at most this share of the excess can still be paid."""


@dataclass(slots=True)
class Subproblem:
    """Segments of the permutations, scale of the flow in them, and bounds: lam_low < breakpoints <= lam_high."""

    nodes: slice
    acquisitions: slice
    q_of_flow: int
    lam_low: Fraction
    lam_high: Fraction | float
    resolved: tuple[int, int] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.nodes.stop - self.nodes.start)

    @property
    def lowest(self) -> Fraction:
        """Lower bound of its breakpoints."""
        return Fraction(*self.resolved) if self.resolved else self.lam_low

    @property
    def highest(self) -> Fraction | float:
        """Upper bound of its breakpoints."""
        return Fraction(*self.resolved) if self.resolved else self.lam_high

    def is_above(self, lam: Fraction | float) -> bool:
        """Tell whether all its breakpoints are surely larger than lambda."""
        return self.lowest > lam if self.resolved else self.lam_low >= lam


@dataclass(frozen=True, slots=True)
class TentativeSplit:
    """A subproblem that was split at lambda p / q by a cut that is not yet known to be minimal.

    The nodes ``start:middle`` are solved as if the others were never kept, so what they keep at any lambda is kept. The
    nodes ``middle:stop`` are solved as if the first were always kept, and are kept for no lambda >= p / q even so. The
    split was right when no breakpoint of the first is below one of the others.
    """

    start: int
    middle: int
    stop: int
    p: int
    q: int


class ParametricCut:
    """The state of one path computation: a network, permutations split into subproblems, those done and those open.

    Lambdas in here are scaled to integer units of gain over integer units of cost.
    """

    def __init__(self, reduced: ReducedProblem) -> None:
        n, m = reduced.parent.size, reduced.cost.size
        self.reduced = reduced
        self.network: Network = build_network(
            reduced.parent, reduced.gain, reduced.split_cost, reduced.indptr, reduced.indices, reduced.cost
        )
        self.label: Array = np.zeros(m, dtype=np.uint8)
        self.limit = LABEL_LIMIT
        self.never = np.zeros(n, dtype=bool)
        self.always = np.zeros(n, dtype=bool)
        needed = np.zeros(m, dtype=bool)
        classify_ends(self.network, self.never, self.always)
        settle_ends(self.network, self.never, self.always, needed)
        self.node_order = np.flatnonzero(~(self.never | self.always)).astype(np.int32)
        self.acquisition_order = np.flatnonzero(needed).astype(np.int32)
        self.done: list[Subproblem] = []
        self.open: list[Subproblem] = []
        self.tentative: list[TentativeSplit] = []
        if self.node_order.size:
            everything = slice(0, self.node_order.size), slice(0, self.acquisition_order.size)
            self.open.append(Subproblem(*everything, 0, Fraction(0), inf))

    def segments(self, part: Subproblem) -> tuple[Array, Array]:
        """Return the nodes and acquisitions of a subproblem, views of the permutations."""
        return self.node_order[part.nodes], self.acquisition_order[part.acquisitions]

    def n_triples(self, part: Subproblem) -> int:
        """Count the live triples of a subproblem."""
        nodes, _ = self.segments(part)
        return int(np.sum(self.network.row_end[nodes] - self.network.row_start[nodes]))

    def totals(self, part: Subproblem) -> tuple[int, int]:
        """Sum the gain and the cost of a subproblem."""
        gain, cost, _ = totals(self.network, *self.segments(part))
        return int(gain), int(cost)

    def cut_at(self, part: Subproblem, p: int, q: int) -> tuple[Subproblem | None, Subproblem | None]:
        """Solve a subproblem at lambda p / q; return the kept part and the rest, None for an empty one."""
        upper, lower, _ = self._cut(part, p, q, 0.0)
        return upper, lower

    def split_tentatively(self, part: Subproblem, p: int, q: int) -> tuple[Subproblem | None, Subproblem | None]:
        """As `cut_at`, but the kept part may be too large; it is noted in `tentative` then.

        Once little excess can still be paid, the nodes that are nearly cut off are taken for kept, and only what is
        kept of the others, given these, is solved exactly.
        """
        upper, lower, outcome = self._cut(part, p, q, TOLERANCE)
        if outcome != NEAR or upper is None or lower is None:
            return upper, lower
        more, lower = self.cut_at(lower, p, q)
        if more is not None:
            upper = self._joined([upper, more])
        if lower is not None:
            self.tentative.append(TentativeSplit(part.nodes.start, lower.nodes.start, part.nodes.stop, p, q))
        return upper, lower

    def _cut(
        self, part: Subproblem, p: int, q: int, tolerance: float
    ) -> tuple[Subproblem | None, Subproblem | None, int]:
        nodes, acquisitions = self.segments(part)
        scale = q / part.q_of_flow if part.q_of_flow else 0.0
        label, limit = self.label, self.limit
        n_kept, _, outcome = cut(self.network, label, limit, nodes, acquisitions, p, q, scale, tolerance)
        if outcome == LABELS_TOO_NARROW:
            label, limit = self.widen_labels()
            n_kept, _, outcome = cut(self.network, label, limit, nodes, acquisitions, p, q, 0.0, 0.0)
        lam = Fraction(p, q)
        if n_kept == 0:
            return None, replace(part, q_of_flow=q, lam_high=min(lam, part.lam_high)), outcome
        n_kept, n_paid = split(self.network, label, nodes, acquisitions)
        if n_kept == nodes.size:
            return replace(part, q_of_flow=q, lam_low=max(lam, part.lam_low)), None, outcome
        node, acquisition = part.nodes.start + n_kept, part.acquisitions.start + n_paid
        upper = slice(part.nodes.start, node), slice(part.acquisitions.start, acquisition)
        lower = slice(node, part.nodes.stop), slice(acquisition, part.acquisitions.stop)
        kept_from = lam if outcome == EXACT else Fraction(0)
        return Subproblem(*upper, q, kept_from, part.lam_high), Subproblem(*lower, q, part.lam_low, lam), outcome

    def check(self, split: TentativeSplit) -> None:
        """Check a tentative split whose two sides are solved; where it was wrong, open what has to be solved again.

        Breakpoints above those of the others, and below those of the first, are right. The subproblems of both sides
        that lie between, and may be out of order, are joined.
        """
        first, others = self._sides(split)
        highest = max(part.highest for part in others)
        too_low = [part for part in first if not part.is_above(highest)]
        logger.debug("tentative split of %d nodes: %s", split.stop - split.start, "wrong" if too_low else "right")
        if not too_low:
            return
        lowest = min(part.lowest for part in too_low)
        wrong = too_low + [part for part in others if part.highest >= lowest]
        below = [Fraction(part.highest) for part in others if part.highest < lowest]
        lam_low = max(below, default=min(part.lam_low for part in others))
        joined = replace(self._joined(sorted(wrong, key=lambda part: part.nodes.start)), lam_low=lam_low)
        inside = range(joined.nodes.start, joined.nodes.stop)
        self.done = [part for part in self.done if part.nodes.start not in inside]
        self.open = [part for part in self.open if part.nodes.start not in inside]
        self.open.append(joined)

    def settle(self) -> None:
        """Make sure of what was found so far although the work ends here."""
        while self.tentative:
            split = self.tentative.pop()
            for part in self._sides(split)[0]:
                if part.resolved is None and part.lam_low < Fraction(split.p, split.q):
                    self.open.remove(part)
                    self.open += [half for half in self.cut_at(part, split.p, split.q) if half is not None]
            self.check(split)

    def _sides(self, split: TentativeSplit) -> tuple[list[Subproblem], list[Subproblem]]:
        parts = [*self.done, *self.open]
        first = [part for part in parts if split.start <= part.nodes.start < split.middle]
        others = [part for part in parts if split.middle <= part.nodes.start < split.stop]
        return first, others

    def _joined(self, parts: Sequence[Subproblem]) -> Subproblem:
        """Make one subproblem of adjacent ones, at the scale of flow of the largest."""
        nodes = slice(parts[0].nodes.start, parts[-1].nodes.stop)
        acquisitions = slice(parts[0].acquisitions.start, parts[-1].acquisitions.stop)
        q = max(parts, key=self.n_triples).q_of_flow
        bounds = min(part.lowest for part in parts), max(part.highest for part in parts)
        joined = Subproblem(nodes, acquisitions, q, *bounds)
        if q * totals(self.network, *self.segments(joined))[2] >= INT64_SAFE:
            joined = replace(joined, q_of_flow=0)
        scale = np.concatenate(
            [np.full(part.n_nodes, joined.q_of_flow / part.q_of_flow if part.q_of_flow else 0.0) for part in parts]
        )
        rejoin(self.network, *self.segments(joined), self.reduced.parent, self.reduced.indptr, scale)
        self.node_order[nodes].sort()
        return joined

    def cut_at_checked(self, part: Subproblem, p: int, q: int) -> tuple[Subproblem | None, Subproblem | None]:
        """As `cut_at`, at a lambda given by the user.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        _, cost, positive = totals(self.network, *self.segments(part))
        if q * int(positive) + p * int(cost) >= INT64_SAFE:
            raise OverflowError(
                f"lam_range: expected gains and costs below 2^62 in integer units, got {q} x {positive} and {p} x "
                f"{cost}; use bounds of fewer digits"
            )
        return self.cut_at(part, p, q)

    def importance(self, part: Subproblem) -> float:
        """Area between the known chord of a subproblem and its known tangents: how far the curve may lie below."""
        gain, cost = self.totals(part)
        chord, low, high = gain / cost, float(part.lam_low), float(part.lam_high)
        upper = (high - chord) / (high - low) if high < inf else 1.0
        return cost * cost * (chord - low) * upper

    def widen_labels(self) -> tuple[Array, int]:
        """Go over to wider distance labels, for networks with extremely long augmenting paths."""
        self.label = np.zeros(self.label.size, dtype=np.int32)
        self.limit = WIDE_LABEL_LIMIT
        return self.label, self.limit

    def own_lambda(self, part: Subproblem) -> tuple[int, int]:
        """Return the lambda at which the subproblem as a whole is worth its price.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        p, q, fits = break_even_lambda(self.network, *self.segments(part))
        if not fits:
            gain, cost = self.totals(part)
            raise OverflowError(
                f"instance: expected gain x cost of every piece of the path below 2^62 in integer units, got "
                f"{gain} x {cost}; use prices or a resolution of fewer digits"
            )
        return int(p), int(q)

    def split_once(self, part: Subproblem) -> tuple[list[Subproblem], list[Subproblem]]:
        """Cut a subproblem at its own lambda; return resolved subproblems and open ones."""
        p, q = self.own_lambda(part)
        return self._halves(p, q, *self.cut_at(part, p, q))

    def _halves(
        self, p: int, q: int, upper: Subproblem | None, lower: Subproblem | None
    ) -> tuple[list[Subproblem], list[Subproblem]]:
        if lower is None:
            raise AssertionError("a subproblem at its own lambda is never kept as a whole")
        return ([replace(lower, resolved=(p, q))], []) if upper is None else ([], [upper, lower])

    def resolve_small_or_split(self, part: Subproblem) -> tuple[list[Subproblem], list[Subproblem]]:
        """Split a small subproblem to the end in one call, a large one once; return resolved and open ones."""
        size = self.n_triples(part)
        if size > SMALL:
            p, q = self.own_lambda(part)
            solve = self.split_tentatively if size > LARGE else self.cut_at
            return self._halves(p, q, *solve(part, p, q))
        nodes, acquisitions = self.segments(part)
        found = np.empty((nodes.size, 6), dtype=np.int64)
        n_found, n_left = split_fully(self.network, self.label, self.limit, nodes, acquisitions, part.q_of_flow, found)
        parts = [
            replace(
                part,
                nodes=slice(part.nodes.start + a, part.nodes.start + b),
                acquisitions=slice(part.acquisitions.start + c, part.acquisitions.start + d),
                q_of_flow=q,
                resolved=(p, q) if p else None,
            )
            for a, b, c, d, p, q in found[: n_found + n_left].tolist()
        ]
        if n_left:
            self.own_lambda(parts[n_found])
            self.widen_labels()
        return parts[:n_found], parts[n_found:]


def resolve(
    cut: ParametricCut, max_points: int | None, report: ProgressCallback, n_skipped: int, lambda_unit: float
) -> None:
    """Split open subproblems, largest first, on all cores, until none is left or there are `max_points`."""
    n_threads = os.cpu_count() or 1
    step = cut.resolve_small_or_split if max_points is None else cut.split_once
    running: dict[Future[tuple[list[Subproblem], list[Subproblem]]], Subproblem] = {}

    def collect(finished: Iterable[Future[tuple[list[Subproblem], list[Subproblem]]]]) -> None:
        for future in finished:
            part = running.pop(future)
            if future.exception() is not None:
                cut.open.append(part)
            resolved, still_open = future.result()
            cut.done += resolved
            cut.open += still_open

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while True:
                cut.open.sort(key=cut.n_triples if max_points is None else cut.importance)
                while cut.open and len(running) < n_threads:
                    n_parts = len(cut.done) + len(cut.open) + len(running) + n_skipped
                    if max_points is not None and n_parts + len(running) >= max_points:
                        break
                    part = cut.open.pop()
                    running[pool.submit(step, part)] = part
                if running:
                    collect(wait(running, return_when=FIRST_COMPLETED).done)
                elif cut.tentative:
                    cut.check(cut.tentative.pop())
                else:
                    break
                settled = sum(part.n_nodes for part in cut.done)
                left = _remaining([*cut.open, *running.values()], lambda_unit)
                report(settled / cut.node_order.size, f"{len(cut.done)} breakpoints{left}")
        finally:
            collect(wait(running).done)


def _remaining(parts: Sequence[Subproblem], lambda_unit: float) -> str:
    """Say between which lambdas breakpoints may still be missing."""
    if not parts:
        return ""
    low, high = min(part.lam_low for part in parts), max(part.lam_high for part in parts)
    return f", lambda {float(low) * lambda_unit:.3g}..{float(high) * lambda_unit:.3g} open"
