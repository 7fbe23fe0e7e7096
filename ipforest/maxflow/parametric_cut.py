"""The parametric minimum cut: a reduced problem, and the steps that split it until each subproblem is one breakpoint.

Threads take the steps in `ipforest.maxflow.crew`. See `ipforest.path` for the method and `ipforest.maxflow.subproblems`
for one step of it. Lambdas in here are in integer units of gain over integer units of cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, inf, log2
from typing import TypeAlias

import numpy as np

from ipforest.maxflow.helpers import team_for
from ipforest.maxflow.network import Lambda, Part, build_network
from ipforest.maxflow.peeling import NOTHING, peel
from ipforest.maxflow.presolve import ReducedProblem
from ipforest.maxflow.pseudoflow import maximum_flow
from ipforest.maxflow.subproblems import Report, Task, divide, settle_ends, solve
from ipforest.maxflow.team import Team
from ipforest.rational import INT64_SAFE

SMALL = 200_000
"""Subproblems of at most so many triples are split to the end in one call."""
LEAST_REST = 0.9
"""Peeling is of use where this share of the nodes remains; elsewhere small pieces have the largest breakpoints."""


@dataclass(frozen=True, slots=True)
class Subproblem:
    """Segments of the permutations, scale of the flow in them, and bounds: lam_low < breakpoints <= lam_high."""

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


Halves: TypeAlias = tuple[Subproblem | None, Subproblem | None]
"""What a cut keeps and the rest; None for an empty one."""
Outcome: TypeAlias = tuple[list[Subproblem], list[Subproblem]]
"""Resolved subproblems and open ones."""


class CutStopped(Exception):
    """A cut ended at a signal; `problem` is still open, with the flow that was found."""

    def __init__(self, problem: Subproblem) -> None:
        super().__init__()
        self.problem = problem


class ParametricCut:
    """A network, permutations of its nodes and acquisitions split into subproblems, those done and those open.

    Parameters
    ----------
    reduced : ReducedProblem
    small : int
        Subproblems of at most so many triples are split to the end in one call; it changes the time, never the answer.

    Attributes
    ----------
    never, always : ndarray of bool, shape (n,)
        The two ends, which belong to no subproblem: kept for no lambda > 0, kept for every lambda.
    node_order, acquisition_order : ndarray of int32
        The permutations.
    done, open : list of Subproblem
    """

    def __init__(self, reduced: ReducedProblem, small: int = SMALL) -> None:
        n, m = reduced.parent.size, reduced.cost.size
        self.reduced, self.small = reduced, small
        self.network = build_network(
            reduced.parent, reduced.gain, reduced.split_cost, reduced.indptr, reduced.indices, reduced.cost
        )
        self.never, self.always = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        needed = np.zeros(m, dtype=bool)
        settle_ends(self.network.problem, self.network.flow, self.never, self.always, needed)
        self.node_order = np.flatnonzero(~(self.never | self.always)).astype(np.int32)
        self.acquisition_order = np.flatnonzero(needed).astype(np.int32)
        self.done: list[Subproblem] = []
        self.open: list[Subproblem] = []
        if self.node_order.size:
            everything = slice(0, self.node_order.size), slice(0, self.acquisition_order.size)
            self.open.append(Subproblem(*everything, 0, Fraction(0), inf))

    def part(self, problem: Subproblem) -> Part:
        """Return the nodes and acquisitions of a subproblem, views of the permutations."""
        return Part(self.node_order[problem.nodes], self.acquisition_order[problem.acquisitions])

    def n_triples(self, problem: Subproblem) -> int:
        """Count the live triples of a subproblem."""
        nodes, _ = self.part(problem)
        return int(np.sum(self.network.problem.row_end[nodes] - self.network.problem.row_start[nodes]))

    def work_on(self, problem: Subproblem) -> float:
        """Estimate the work on a subproblem that nobody works on: each halving visits its triples once."""
        n = self.n_triples(problem)
        return (n + 1) * log2(n + 2)

    def totals(self, problem: Subproblem) -> tuple[int, int, int]:
        """Sum the gain, the cost and the positive gains of a subproblem."""
        nodes, acquisitions = self.part(problem)
        gain = self.network.problem.gain[nodes]
        cost = np.sum(self.network.problem.split_cost[nodes]) + np.sum(self.network.problem.cost[acquisitions])
        return int(np.sum(gain)), int(cost), int(np.sum(np.maximum(gain, 0)))

    def importance(self, problem: Subproblem) -> float:
        """Area between the known chord of a subproblem and its known tangents: how far the curve may lie below."""
        gain, cost, _ = self.totals(problem)
        chord, low, high = gain / cost, float(problem.lam_low), float(problem.lam_high)
        upper = (high - chord) / (high - low) if high < inf else 1.0
        return cost * cost * (chord - low) * upper

    def break_even(self, problem: Subproblem) -> Lambda:
        """Return the lambda at which a subproblem as a whole is worth its price.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        gain, cost, positive = self.totals(problem)
        divisor = gcd(gain, cost)
        lam = Lambda(gain // divisor, cost // divisor)
        if 2 * max(lam.p * cost, lam.q * positive) >= INT64_SAFE:
            raise OverflowError(
                f"instance: expected gain x cost of every piece of the path below 2^62 in integer units, got "
                f"{gain} x {cost}; use prices or a resolution of fewer digits"
            )
        return lam

    def cut_at(self, problem: Subproblem, lam: Lambda) -> Halves:
        """Solve a subproblem at a lambda whose flows fit 64 bits."""
        report, parts = self._solve(problem, Task(lam, problem.flow_q))
        if not report.is_whole:
            raise CutStopped(parts[0])
        at = Fraction(*lam)
        if report.n_kept == 0:
            return None, replace(parts[0], resolved=None, lam_high=min(at, problem.lam_high))
        if len(parts) == 1:
            return replace(parts[0], lam_low=max(at, problem.lam_low)), None
        upper, lower = parts
        return replace(upper, lam_low=at), replace(lower, lam_high=at)

    def cut_at_checked(self, problem: Subproblem, lam: Lambda) -> Halves:
        """As `cut_at`, at a lambda given by the user.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        _, cost, positive = self.totals(problem)
        if lam.q * positive + lam.p * cost >= INT64_SAFE:
            raise OverflowError(
                f"lam_range: expected gains and costs below 2^62 in integer units, got {lam.q} x {positive} and "
                f"{lam.p} x {cost}; use bounds of fewer digits"
            )
        return self.cut_at(problem, lam)

    def team(self, problem: Subproblem) -> Team:
        """Make a team to cut a subproblem once."""
        return team_for(self.network, self.part(problem), self.n_triples(problem))

    def resolve_or_split(self, problem: Subproblem, team: Team) -> Outcome:
        """Split a small subproblem to the end in one call, a larger one once."""
        if self.n_triples(problem) > self.small:
            return self.split_once(problem, team)
        report, parts = self._solve(problem, Task(self.break_even(problem), problem.flow_q, problem.n_nodes * 2))
        if report.n_open and report.is_whole:
            self.break_even(parts[report.n_trivial])
        return parts[: report.n_trivial], parts[report.n_trivial :]

    def split_once(self, problem: Subproblem, team: Team) -> Outcome:
        """Cut the dense part of a subproblem where it breaks even: with nothing kept, that is one breakpoint."""
        part = self.part(problem)
        lam, dense = self._dense(problem)
        scale = lam.q / problem.flow_q if problem.flow_q else 0.0
        n_kept, _, is_whole = maximum_flow(self.network, dense, team, lam, scale)
        if not is_whole:
            raise CutStopped(replace(problem, flow_q=lam.q))
        upper, lower = self._halves(problem, *divide(self.network, part, dense, n_kept), lam)
        still_open = [lower] if lower.n_nodes else []
        return ([], [upper, *still_open]) if n_kept else ([replace(upper, resolved=lam)], still_open)

    def _dense(self, problem: Subproblem) -> tuple[Lambda, Part]:
        """Return where to cut a subproblem, and which part: before its first cut, without what is surely dropped."""
        part, lam = self.part(problem), self.break_even(problem)
        least = int(LEAST_REST * problem.n_nodes)
        peeled = NOTHING if problem.flow_q else peel(self.network, part, *self.totals(problem), least)
        if peeled == NOTHING:
            return lam, part
        left = self.network.trees.labels > 0
        n = self.network.problem.gain.size
        return peeled, Part(part.nodes[left[part.nodes]], part.acquisitions[left[n + part.acquisitions]])

    def _halves(self, problem: Subproblem, n_kept: int, n_paid: int, lam: Lambda) -> tuple[Subproblem, Subproblem]:
        """Return the subproblems that a cut at lambda made of one: so many nodes and acquisitions, and the rest."""
        node, acquisition, at = problem.nodes.start + n_kept, problem.acquisitions.start + n_paid, Fraction(*lam)
        upper = slice(problem.nodes.start, node), slice(problem.acquisitions.start, acquisition)
        lower = slice(node, problem.nodes.stop), slice(acquisition, problem.acquisitions.stop)
        return (
            Subproblem(*upper, lam.q, max(at, problem.lam_low), problem.lam_high),
            Subproblem(*lower, lam.q, problem.lam_low, min(at, problem.lam_high)),
        )

    def _solve(self, problem: Subproblem, task: Task) -> tuple[Report, list[Subproblem]]:
        """Run the kernel; return its report, and the trivial cuts and open parts as subproblems."""
        part = self.part(problem)
        found = np.empty((problem.n_nodes, 6), dtype=np.int64)
        report = solve(self.network, part, task, found)
        rows = found[: report.n_trivial].tolist() + found[problem.n_nodes - report.n_open :].tolist()
        first_node, first_acquisition = problem.nodes.start, problem.acquisitions.start
        return report, [
            replace(
                problem,
                nodes=slice(first_node + a, first_node + b),
                acquisitions=slice(first_acquisition + c, first_acquisition + d),
                flow_q=q,
                resolved=Lambda(p, q) if p else None,
            )
            for a, b, c, d, p, q in rows
        ]
