"""Subproblems, and the networks that they live in: that of the whole problem, or a smaller one of their own.

Subproblems of one network own segments of two permutations, of its nodes and of its acquisitions. As they shrink, their
vertices lie further and further apart in memory, until every look at one is a line of the cache. So a subproblem that
owns a small share of its network moves to one where its vertices lie side by side. That takes a pass over its rows;
when the search has ended, or is saved, its flow and its permutations go back to where they came from, and its rows, if
it is still to be cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import gcd, log2
from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import inlined, njit
from ipforest._internal.rational import INT64_SAFE
from ipforest.maxflow.bit_rows import BitRows, bit_of, block_of, first_acquisition
from ipforest.maxflow.network import ClosureProblem, Flow, Lambda, Members, Network, ResidualTrees, new_vertices

MIN_ENTRIES_TO_MOVE = 5_000
"""Subproblems of fewer entries stay where they are."""
MAX_SHARE_OF_HOST = 0.25
"""So do those that own a larger share of the vertices of their host."""
MAX_NEW_ENTRIES = 2
"""What is in one block gets numbers side by side, which lie in two blocks at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """A network, and the order of its nodes and acquisitions, in which subproblems own segments.

    Attributes
    ----------
    network : Network
    nodes, acquisitions : ndarray of int32
        The permutations.
    origin : Origin, optional
        None for the network of the whole problem.
    """

    network: Network
    nodes: Array
    acquisitions: Array
    origin: Origin | None = None

    @property
    def depth(self) -> int:
        """How often its subproblems moved."""
        return 0 if self.origin is None else self.origin.subproblem.host.depth + 1


class Totals(NamedTuple):
    """Sums over a subproblem, in integer units."""

    gain: int
    cost: int
    positive: int


@dataclass(frozen=True, eq=False)
class Subproblem:
    """A host and segments of its permutations, scale of the flow in them, and bounds of the breakpoints.

    The bounds are lam_low < breakpoints <= lam_high. A cut changes rows, and what comes out of it takes the place of
    the subproblem that was cut.
    """

    host: Host
    nodes: slice
    acquisitions: slice
    flow_q: int
    lam_low: Fraction
    lam_high: Fraction | float
    resolved: Lambda | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.nodes.stop - self.nodes.start)

    @property
    def n_vertices(self) -> int:
        """Number of nodes and acquisitions."""
        return int(self.n_nodes + self.acquisitions.stop - self.acquisitions.start)

    @property
    def members(self) -> Members:
        """The nodes and the acquisitions, views of the permutations."""
        return Members(self.host.nodes[self.nodes], self.host.acquisitions[self.acquisitions])

    @cached_property
    def n_entries(self) -> int:
        """Number of entries of its rows."""
        nodes, rows = self.host.nodes[self.nodes], self.host.network.problem.rows
        return int(np.sum(rows.end[nodes] - rows.start[nodes]))

    @property
    def work(self) -> float:
        """An estimate of the work on it: each halving visits its rows once."""
        n = self.n_entries
        return (n + 1) * log2(n + 2)

    @cached_property
    def totals(self) -> Totals:
        """What its nodes gain and cost, and its positive gains alone."""
        (nodes, acquisitions), problem = self.members, self.host.network.problem
        gain = problem.gain[nodes]
        cost = np.sum(problem.split_cost[nodes]) + np.sum(problem.cost[acquisitions])
        return Totals(int(np.sum(gain)), int(cost), int(np.sum(np.maximum(gain, 0))))

    def importance(self) -> float:
        """Area between its known chord and its known tangents: how far the curve may lie below."""
        gain, cost, _ = self.totals
        chord, low, high = Fraction(gain, cost), self.lam_low, self.lam_high
        upper = float((high - chord) / (high - low)) if isinstance(high, Fraction) else 1.0
        return cost * cost * float(chord - low) * upper

    def break_even(self) -> Lambda:
        """Return the lambda at which it is worth its price as a whole.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        gain, cost, positive = self.totals
        divisor = gcd(gain, cost)
        lam = Lambda(gain // divisor, cost // divisor)
        if 2 * max(lam.p * cost, lam.q * positive) >= INT64_SAFE:
            raise OverflowError(
                f"instance: expected gain x cost of every piece of the path below 2^62 in integer units, got "
                f"{gain} x {cost}; use prices or a resolution of fewer digits, "
                "lower the highest prices, or build the instance with resolution='path'"
            )
        return lam


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The subproblem that a host was made for, and a copy of what its members were then."""

    subproblem: Subproblem
    members: Members


def housed(subproblem: Subproblem) -> Subproblem:
    """Move a subproblem to a network of its own where that pays off; see `moved`."""
    share = subproblem.n_vertices / subproblem.host.network.trees.vertices.size
    return (
        moved(subproblem) if share <= MAX_SHARE_OF_HOST and subproblem.n_entries >= MIN_ENTRIES_TO_MOVE else subproblem
    )


def moved(subproblem: Subproblem) -> Subproblem:
    """Move a subproblem to a network of its own; nothing may use it where it was until that returns home.

    Parameters
    ----------
    subproblem : Subproblem
        No cut of it is under way: its labels are written over.

    Returns
    -------
    Subproblem
        The whole of a new host.
    """
    network = subproblem.host.network
    members = Members(*(numbers.copy() for numbers in subproblem.members))
    n, m = members.nodes.size, members.acquisitions.size
    own = _allocate(n, m, MAX_NEW_ENTRIES * subproblem.n_entries, network.signals)
    _move(network, members, own)
    host = Host(own, np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32), Origin(subproblem, members))
    return replace(subproblem, host=host, nodes=slice(0, n), acquisitions=slice(0, m))


def _allocate(n: int, m: int, n_entries: int, signals: Array) -> Network:
    """Allocate a network for a subproblem, which settles no ends."""
    start, end, gain, split_cost, next_entry = np.empty((5, n), dtype=np.int64)
    rows = BitRows(start, end, np.empty(n_entries, dtype=np.int32), np.empty(n_entries, dtype=np.int64))
    nothing = np.empty(0, dtype=np.int64)
    return Network(
        ClosureProblem(np.empty(n, dtype=np.int32), rows, gain, split_cost, np.empty(m, dtype=np.int64)),
        Flow(nothing, nothing, nothing),
        ResidualTrees(
            new_vertices(n + m),
            np.empty(n + m, dtype=np.int64),
            np.empty(n + m, dtype=np.int32),
            np.empty(m, dtype=np.int32),
            next_entry,
        ),
        signals,
    )


@inlined
def _renumber(source: BitRows, h: int, number: Array, first: int, rows: BitRows, start: int) -> int:
    """Write a row with other, ascending numbers of its acquisitions, less the first one; return where it ends."""
    end = start
    for x in range(source.start[h], source.end[h]):
        left = source.bits[x]
        while left != 0:
            j = first_acquisition(source.block[x], left)
            left ^= bit_of(j)
            new = number[j] - first
            if end == start or rows.block[end - 1] != block_of(new):
                rows.block[end], rows.bits[end] = block_of(new), 0
                end += 1
            rows.bits[end - 1] |= bit_of(new)
    return end


@njit
def _move(network: Network, members: Members, own: Network) -> None:
    """Write a subproblem and its flow into a network of its own; labels tell meanwhile which vertex becomes which."""
    problem, trees, labels = network.problem, network.trees, network.trees.labels
    rows, own_rows = problem.rows, own.problem.rows
    nodes, acquisitions = members
    n, n_own = problem.parent.size, nodes.size
    number = labels[n:]
    for i in range(n_own):
        labels[nodes[i]] = i
    for i in range(acquisitions.size):
        labels[n + acquisitions[i]] = n_own + i
        own.problem.cost[i] = problem.cost[acquisitions[i]]
    end = 0
    for i in range(n_own):
        h = nodes[i]
        above = problem.parent[h]
        own.problem.parent[i] = labels[above] if above >= 0 else -1
        own.problem.gain[i], own.problem.split_cost[i] = problem.gain[h], problem.split_cost[h]
        own_rows.start[i] = end
        end = _renumber(rows, h, number, n_own, own_rows, end)
        own_rows.end[i] = end
    for u in range(own.trees.vertices.size):
        v = nodes[u] if u < n_own else n + acquisitions[u - n_own]
        above = trees.vertices[v].above
        own.trees.vertices[u].above = labels[above] if above >= 0 else -1
        own.trees.vertices[u].flow = trees.vertices[v].flow


def return_home(host: Host) -> None:
    """Bring flow and permutations back to where they came from; idempotent, unless a cut was made in between."""
    outer, members = _origin_of(host)
    _move_back(host.network, members, outer.host.network)
    outer.members.nodes[:] = members.nodes[host.nodes]
    outer.members.acquisitions[:] = members.acquisitions[host.acquisitions]


def return_rows(host: Host) -> None:
    """Bring what is left of rows back, too, which only those need that are still to be cut."""
    outer, members = _origin_of(host)
    _move_rows_back(host.network.problem.rows, members, outer.host.network.problem.rows)


def _origin_of(host: Host) -> tuple[Subproblem, Members]:
    if host.origin is None:
        raise ValueError("host: expected that of a subproblem that moved, got that of the whole problem")
    return host.origin.subproblem, host.origin.members


@njit
def _move_back(own: Network, members: Members, network: Network) -> None:
    """Write flow, imbalances, and what is left of parents into the network that a subproblem came from."""
    problem, trees, inner = network.problem, network.trees, own.problem
    nodes, acquisitions = members
    n, n_own = problem.parent.size, nodes.size
    for i in range(n_own):
        h = nodes[i]
        problem.parent[h] = nodes[inner.parent[i]] if inner.parent[i] >= 0 else -1
    for u in range(own.trees.vertices.size):
        v = nodes[u] if u < n_own else n + acquisitions[u - n_own]
        above = own.trees.vertices[u].above
        if above >= 0:
            above = nodes[above] if above < n_own else n + acquisitions[above - n_own]
        trees.vertices[v].above = above
        trees.vertices[v].flow = own.trees.vertices[u].flow
        trees.imbalance[v] = own.trees.imbalance[u]


@njit
def _move_rows_back(own: BitRows, members: Members, rows: BitRows) -> None:
    nodes, acquisitions = members
    for i in range(nodes.size):
        rows.end[nodes[i]] = _renumber(own, i, acquisitions, 0, rows, rows.start[nodes[i]])


def in_outer_host(subproblem: Subproblem) -> Subproblem:
    """Describe a subproblem where its host came from, once that has returned home."""
    if subproblem.host.origin is None:
        return subproblem
    outer = subproblem.host.origin.subproblem
    return replace(
        subproblem,
        host=outer.host,
        nodes=_shifted(subproblem.nodes, outer.nodes.start),
        acquisitions=_shifted(subproblem.acquisitions, outer.acquisitions.start),
    )


def _shifted(segment: slice, by: int) -> slice:
    return slice(segment.start + by, segment.stop + by)


def division_fault(host: Host, subproblems: Sequence[Subproblem]) -> str | None:
    """Say why subproblems of one host, by ascending segments of nodes, are no division of it; None if they are.

    Each vertex belongs to one of them, and the lambda at which they break even, within the bounds that are known of it,
    falls from each one to the next.
    """
    for kind, segments, size in (
        ("nodes", [subproblem.nodes for subproblem in subproblems], host.nodes.size),
        ("acquisitions", [subproblem.acquisitions for subproblem in subproblems], host.acquisitions.size),
    ):
        edges = [0, *(edge for segment in segments for edge in (segment.start, segment.stop)), size]
        if edges[::2] != edges[1::2]:
            return f"subproblems whose {kind} are not each of the {size} once"
    totals = [subproblem.totals for subproblem in subproblems]
    if any(cost <= 0 or gain <= 0 for gain, cost, _ in totals):
        return "a subproblem that gains or costs nothing"
    lambdas = [Fraction(gain, cost) for gain, cost, _ in totals]
    if any(upper <= lower for upper, lower in pairwise(lambdas)):
        return "subproblems whose lambdas do not fall"
    for subproblem, lam in zip(subproblems, lambdas, strict=True):
        if not subproblem.lam_low <= lam <= subproblem.lam_high or subproblem.lam_low == subproblem.lam_high:
            return f"a subproblem that breaks even at {lam}, outside of its bounds"
        if subproblem.resolved is not None and subproblem.resolved != Lambda(lam.numerator, lam.denominator):
            return f"a breakpoint at {subproblem.resolved.p} / {subproblem.resolved.q} that breaks even at {lam}"
    return None


def deepest(subproblems: Iterable[Subproblem]) -> set[Host]:
    """Find the hosts whose subproblems moved most often; none when none moved."""
    hosts = {subproblem.host for subproblem in subproblems}
    depth = max((host.depth for host in hosts), default=0)
    return {host for host in hosts if host.depth == depth > 0}
