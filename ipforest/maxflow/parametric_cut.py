"""Cut a reduced problem into pieces until each is one breakpoint of the path, on all cores.

See `ipforest.path` for the method and `ipforest.maxflow` for the kernels.
"""

from __future__ import annotations

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
    classify_ends,
    part,
    piece_lambda,
    piece_totals,
    rejoin,
    settle_ends,
    slice_all,
)
from ipforest.progress import ProgressCallback
from ipforest.rational import INT64_SAFE

Array = npt.NDArray[Any]

SMALL_PIECE = 200_000
"""Pieces of at most so many triples are sliced to the end in one call."""
LARGE_PIECE = 1_000_000
"""Pieces of more triples may be parted by a cut that is only nearly minimal."""
TOLERANCE = 0.25
"""A cut is nearly minimal when at most this share of the excess can still be paid."""


@dataclass(slots=True)
class Piece:
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
class Guess:
    """A piece that was parted at lambda p / q by a cut that is not yet known to be minimal.

    The nodes ``start:middle`` are solved as if the others were never kept, so what they keep at any lambda is kept. The
    nodes ``middle:stop`` are solved as if the first were always kept, and are kept for no lambda >= p / q even so. The
    guess was right when no breakpoint of the first is below one of the others.
    """

    start: int
    middle: int
    stop: int
    p: int
    q: int


class Slicer:
    """The state of one path computation: a network, permutations cut into pieces, pieces done and to do.

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
        self.done: list[Piece] = []
        self.open: list[Piece] = []
        self.guesses: list[Guess] = []
        if self.node_order.size:
            everything = slice(0, self.node_order.size), slice(0, self.acquisition_order.size)
            self.open.append(Piece(*everything, 0, Fraction(0), inf))

    def segments(self, piece: Piece) -> tuple[Array, Array]:
        """Give the nodes and acquisitions of a piece, views of the permutations."""
        return self.node_order[piece.nodes], self.acquisition_order[piece.acquisitions]

    def n_triples(self, piece: Piece) -> int:
        """Count the live triples of a piece."""
        nodes, _ = self.segments(piece)
        return int(np.sum(self.network.row_end[nodes] - self.network.row_start[nodes]))

    def totals(self, piece: Piece) -> tuple[int, int]:
        """Sum the gain and cost of a piece."""
        gain, cost, _ = piece_totals(self.network, *self.segments(piece))
        return int(gain), int(cost)

    def cut_at(self, piece: Piece, p: int, q: int) -> tuple[Piece | None, Piece | None]:
        """Solve a piece at lambda p / q; give the kept part and the rest, None for an empty one."""
        upper, lower, _ = self._cut(piece, p, q, 0.0)
        return upper, lower

    def guess_at(self, piece: Piece, p: int, q: int) -> tuple[Piece | None, Piece | None]:
        """As `cut_at`, but the kept part may be too large; it is noted in `guesses` then.

        Once few excess can still be paid, the nodes that are nearly cut off are taken for kept, and only what is kept
        of the others, given these, is solved exactly.
        """
        upper, lower, outcome = self._cut(piece, p, q, TOLERANCE)
        if outcome != NEAR or upper is None or lower is None:
            return upper, lower
        more, lower = self.cut_at(lower, p, q)
        if more is not None:
            upper = self._joined([upper, more])
        if lower is not None:
            self.guesses.append(Guess(piece.nodes.start, lower.nodes.start, piece.nodes.stop, p, q))
        return upper, lower

    def _cut(self, piece: Piece, p: int, q: int, tolerance: float) -> tuple[Piece | None, Piece | None, int]:
        nodes, acquisitions = self.segments(piece)
        scale = q / piece.q_of_flow if piece.q_of_flow else 0.0
        label, limit = self.label, self.limit
        n_kept, _, outcome = cut(self.network, label, limit, nodes, acquisitions, p, q, scale, tolerance)
        if outcome == LABELS_TOO_NARROW:
            label, limit = self.widen_labels()
            n_kept, _, outcome = cut(self.network, label, limit, nodes, acquisitions, p, q, 0.0, 0.0)
        lam = Fraction(p, q)
        if n_kept == 0:
            return None, replace(piece, q_of_flow=q, lam_high=min(lam, piece.lam_high)), outcome
        n_kept, n_paid = part(self.network, label, nodes, acquisitions)
        if n_kept == nodes.size:
            return replace(piece, q_of_flow=q, lam_low=max(lam, piece.lam_low)), None, outcome
        node, acquisition = piece.nodes.start + n_kept, piece.acquisitions.start + n_paid
        upper = slice(piece.nodes.start, node), slice(piece.acquisitions.start, acquisition)
        lower = slice(node, piece.nodes.stop), slice(acquisition, piece.acquisitions.stop)
        kept_from = lam if outcome == EXACT else Fraction(0)
        return Piece(*upper, q, kept_from, piece.lam_high), Piece(*lower, q, piece.lam_low, lam), outcome

    def check_guess(self, guess: Guess) -> tuple[list[Piece], list[Piece]]:
        """Check a guess once both its sides are resolved; give resolved pieces (none) and open ones."""
        conflict = self._take_conflict(guess)
        return [], [] if conflict is None else [conflict]

    def _take_conflict(self, guess: Guess) -> Piece | None:
        """Take back a guess where it was wrong: join the pieces on both sides whose lambdas may be out of order.

        Breakpoints above those of the others, and below those of the first, are right; only those between may not be.
        """
        first, others = self._sides(guess)
        highest = max(piece.highest for piece in others)
        too_low = [piece for piece in first if not piece.is_above(highest)]
        if not too_low:
            return None
        lowest = min(piece.lowest for piece in too_low)
        wrong = too_low + [piece for piece in others if piece.highest >= lowest]
        below = [Fraction(piece.highest) for piece in others if piece.highest < lowest]
        lam_low = max(below, default=min(piece.lam_low for piece in others))
        joined = replace(self._joined(sorted(wrong, key=lambda piece: piece.nodes.start)), lam_low=lam_low)
        inside = range(joined.nodes.start, joined.nodes.stop)
        self.done = [piece for piece in self.done if piece.nodes.start not in inside]
        self.open = [piece for piece in self.open if piece.nodes.start not in inside]
        return joined

    def settle_guesses(self) -> None:
        """Make sure of what was found so far although the work ends here."""
        while self.guesses:
            guess = self.guesses.pop()
            for piece in self._sides(guess)[0]:
                if piece.resolved is None and piece.lam_low < Fraction(guess.p, guess.q):
                    self.open.remove(piece)
                    self.open += [part for part in self.cut_at(piece, guess.p, guess.q) if part is not None]
            _, conflict = self.check_guess(guess)
            self.open += conflict

    def _sides(self, guess: Guess) -> tuple[list[Piece], list[Piece]]:
        pieces = [*self.done, *self.open]
        first = [piece for piece in pieces if guess.start <= piece.nodes.start < guess.middle]
        others = [piece for piece in pieces if guess.middle <= piece.nodes.start < guess.stop]
        return first, others

    def _joined(self, pieces: Sequence[Piece]) -> Piece:
        """Make one piece of adjacent ones, at the scale of flow of the largest."""
        nodes = slice(pieces[0].nodes.start, pieces[-1].nodes.stop)
        acquisitions = slice(pieces[0].acquisitions.start, pieces[-1].acquisitions.stop)
        q = max(pieces, key=self.n_triples).q_of_flow
        bounds = min(piece.lowest for piece in pieces), max(piece.highest for piece in pieces)
        joined = Piece(nodes, acquisitions, q, *bounds)
        if q * piece_totals(self.network, *self.segments(joined))[2] >= INT64_SAFE:
            joined = replace(joined, q_of_flow=0)
        scale = np.concatenate(
            [np.full(piece.n_nodes, joined.q_of_flow / piece.q_of_flow if piece.q_of_flow else 0.0) for piece in pieces]
        )
        rejoin(self.network, *self.segments(joined), self.reduced.parent, self.reduced.indptr, scale)
        self.node_order[nodes].sort()
        return joined

    def cut_at_checked(self, piece: Piece, p: int, q: int) -> tuple[Piece | None, Piece | None]:
        """As `cut_at`, at a lambda given by the user.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        _, cost, positive = piece_totals(self.network, *self.segments(piece))
        if q * int(positive) + p * int(cost) >= INT64_SAFE:
            raise OverflowError(
                f"lam_range: expected gains and costs below 2^62 in integer units, got {q} x {positive} and {p} x "
                f"{cost}; use bounds of fewer digits"
            )
        return self.cut_at(piece, p, q)

    def importance(self, piece: Piece) -> float:
        """Area between the known chord of a piece and its known tangents: how far the curve may lie below."""
        gain, cost = self.totals(piece)
        chord, low, high = gain / cost, float(piece.lam_low), float(piece.lam_high)
        upper = (high - chord) / (high - low) if high < inf else 1.0
        return cost * cost * (chord - low) * upper

    def widen_labels(self) -> tuple[Array, int]:
        """Go over to wider distance labels, for networks with extremely long augmenting paths."""
        self.label = np.zeros(self.label.size, dtype=np.int32)
        self.limit = WIDE_LABEL_LIMIT
        return self.label, self.limit

    def own_lambda(self, piece: Piece) -> tuple[int, int]:
        """Lambda at which the piece as a whole is worth its price.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        p, q, fits = piece_lambda(self.network, *self.segments(piece))
        if not fits:
            gain, cost = self.totals(piece)
            raise OverflowError(
                f"instance: expected gain x cost of every piece of the path below 2^62 in integer units, got "
                f"{gain} x {cost}; use prices or a resolution of fewer digits"
            )
        return int(p), int(q)

    def slice_once(self, piece: Piece) -> tuple[list[Piece], list[Piece]]:
        """Cut a piece at its own lambda; give resolved pieces and open ones."""
        p, q = self.own_lambda(piece)
        return self._sliced(p, q, *self.cut_at(piece, p, q))

    def _sliced(self, p: int, q: int, upper: Piece | None, lower: Piece | None) -> tuple[list[Piece], list[Piece]]:
        if lower is None:
            raise AssertionError("a piece at its own lambda is never kept as a whole")
        return ([replace(lower, resolved=(p, q))], []) if upper is None else ([], [upper, lower])

    def slice_fully(self, piece: Piece) -> tuple[list[Piece], list[Piece]]:
        """Slice a small piece to the end in one call, a large one once; give resolved pieces and open ones."""
        size = self.n_triples(piece)
        if size > SMALL_PIECE:
            p, q = self.own_lambda(piece)
            solve = self.guess_at if size > LARGE_PIECE else self.cut_at
            return self._sliced(p, q, *solve(piece, p, q))
        nodes, acquisitions = self.segments(piece)
        found = np.empty((nodes.size, 6), dtype=np.int64)
        n_found, n_left = slice_all(self.network, self.label, self.limit, nodes, acquisitions, piece.q_of_flow, found)
        pieces = [
            replace(
                piece,
                nodes=slice(piece.nodes.start + a, piece.nodes.start + b),
                acquisitions=slice(piece.acquisitions.start + c, piece.acquisitions.start + d),
                q_of_flow=q,
                resolved=(p, q) if p else None,
            )
            for a, b, c, d, p, q in found[: n_found + n_left].tolist()
        ]
        if n_left:
            self.own_lambda(pieces[n_found])
            self.widen_labels()
        return pieces[:n_found], pieces[n_found:]


def slice_open(
    slicer: Slicer, max_points: int | None, report: ProgressCallback, n_skipped: int, lambda_unit: float
) -> None:
    """Slice open pieces, largest first, on all cores, until none is left or there are `max_points` pieces."""
    n_threads = os.cpu_count() or 1
    step = slicer.slice_fully if max_points is None else slicer.slice_once
    running: dict[Future[tuple[list[Piece], list[Piece]]], Piece | None] = {}

    def collect(finished: Iterable[Future[tuple[list[Piece], list[Piece]]]]) -> None:
        for future in finished:
            piece = running.pop(future)
            if future.exception() is not None and piece is not None:
                slicer.open.append(piece)
            resolved, still_open = future.result()
            slicer.done += resolved
            slicer.open += still_open

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while slicer.open or running or slicer.guesses:
                slicer.open.sort(key=slicer.n_triples if max_points is None else slicer.importance)
                while slicer.open and len(running) < n_threads:
                    n_pieces = len(slicer.done) + len(slicer.open) + len(running) + n_skipped
                    if max_points is not None and n_pieces + len(running) >= max_points:
                        break
                    piece = slicer.open.pop()
                    running[pool.submit(step, piece)] = piece
                if not running and slicer.guesses:
                    running[pool.submit(slicer.check_guess, slicer.guesses.pop())] = None
                if not running:
                    break
                collect(wait(running, return_when=FIRST_COMPLETED).done)
                settled = sum(piece.n_nodes for piece in slicer.done)
                left = _remaining([*slicer.open, *(piece for piece in running.values() if piece)], lambda_unit)
                report(settled / slicer.node_order.size, f"{len(slicer.done)} breakpoints{left}")
        finally:
            collect(wait(running).done)


def _remaining(pieces: Sequence[Piece], lambda_unit: float) -> str:
    """Say between which lambdas breakpoints may still be missing."""
    if not pieces:
        return ""
    low, high = min(piece.lam_low for piece in pieces), max(piece.lam_high for piece in pieces)
    return f", lambda {float(low) * lambda_unit:.3g}..{float(high) * lambda_unit:.3g} open"
