"""The parametric minimum cut: a reduced problem, and the steps that split it until each subproblem is one breakpoint.

Threads take the steps in `ipforest.maxflow.threads`. See `ipforest.path_search` for the method and
`ipforest.maxflow.splitting` for one step of it. Lambdas in here are in integer units of gain over those of cost.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import TypeAlias

import numpy as np

from ipforest._internal.rational import INT64_SAFE
from ipforest.maxflow.network import Lambda, Network, build_network
from ipforest.maxflow.presolve import ReducedProblem
from ipforest.maxflow.pseudoflow import maximum_flow
from ipforest.maxflow.shared_search import SharedSearch
from ipforest.maxflow.splitting import Report, Task, divide, settle_ends, solve
from ipforest.maxflow.subproblems import Host, Subproblem, deepest, housed, in_outer_host, return_home, return_rows

MAX_ENTRIES_IN_ONE_CALL = 50_000
"""Subproblems of at most so many entries are split to the end in one call."""


KeptAndRest: TypeAlias = tuple[Subproblem | None, Subproblem | None]
"""The subproblem that a cut keeps and that of the rest; None for an empty one."""
Outcome: TypeAlias = tuple[list[Subproblem], list[Subproblem]]
"""Resolved subproblems and open ones."""


class CutStopped(Exception):
    """A cut ended at a signal; `subproblem` is still open, with the flow that was found."""

    def __init__(self, subproblem: Subproblem) -> None:
        super().__init__()
        self.subproblem = subproblem


class ParametricCut:
    """A reduced problem, and what it was split into: the subproblems that are done, and those that are open.

    Parameters
    ----------
    reduced : ReducedProblem
    small : int
        Subproblems of at most so many entries are split to the end in one call; it changes the time, never the answer.

    Attributes
    ----------
    never, always : ndarray of bool, shape (n,)
        The two ends, which belong to no subproblem: kept for no lambda > 0, kept for every lambda.
    host : Host
        Of the whole problem.
    done, open : list of Subproblem
    """

    def __init__(self, reduced: ReducedProblem, small: int = MAX_ENTRIES_IN_ONE_CALL) -> None:
        n, m = reduced.parent.size, reduced.cost.size
        self.reduced, self.small = reduced, small
        network = build_network(reduced.parent, reduced.gain, reduced.split_cost, reduced.rows, reduced.cost)
        self.never, self.always = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        needed = np.zeros(m, dtype=bool)
        settle_ends(network.problem, network.flow, self.never, self.always, needed)
        nodes = np.flatnonzero(~(self.never | self.always)).astype(np.int32)
        self.host = Host(network, nodes, np.flatnonzero(needed).astype(np.int32))
        self.done: list[Subproblem] = []
        self.open: list[Subproblem] = []
        if nodes.size:
            everything = slice(0, nodes.size), slice(0, self.host.acquisitions.size)
            self.open.append(Subproblem(self.host, *everything, 0, Fraction(0), inf))

    @property
    def network(self) -> Network:
        """The network of the whole problem."""
        return self.host.network

    def gather(self) -> None:
        """Bring all subproblems, with the flow in them, back into the network of the whole problem."""
        while hosts := deepest([*self.done, *self.open]):
            for host in hosts:
                return_home(host)
            for host in hosts & {subproblem.host for subproblem in self.open}:
                return_rows(host)
            self.done, self.open = (
                [in_outer_host(subproblem) if subproblem.host in hosts else subproblem for subproblem in subproblems]
                for subproblems in (self.done, self.open)
            )

    def cut_at(self, subproblem: Subproblem, lam: Lambda) -> KeptAndRest:
        """Solve a subproblem at a lambda whose flows fit 64 bits."""
        report, results = self._solve(subproblem, Task(lam, subproblem.flow_q))
        if not report.is_whole:
            raise CutStopped(results[0])
        at = Fraction(*lam)
        if report.n_kept == 0:
            return None, replace(results[0], resolved=None, lam_high=min(at, subproblem.lam_high))
        if len(results) == 1:
            return replace(results[0], lam_low=max(at, subproblem.lam_low)), None
        upper, lower = results
        return replace(upper, lam_low=at), replace(lower, lam_high=at)

    def cut_at_checked(self, subproblem: Subproblem, lam: Lambda) -> KeptAndRest:
        """As `cut_at`, at a lambda given by the user.

        Raises
        ------
        OverflowError
            Flows at this lambda may not fit 64 bits.
        """
        _, cost, positive = subproblem.totals
        if lam.q * positive + lam.p * cost >= INT64_SAFE:
            raise OverflowError(
                f"lam_range: expected gains and costs below 2^62 in integer units, got {lam.q} x {positive} and "
                f"{lam.p} x {cost}; use bounds of fewer digits"
            )
        return self.cut_at(subproblem, lam)

    def resolve_or_split(self, subproblem: Subproblem, search: SharedSearch) -> Outcome:
        """Split a small subproblem to the end in one call, a larger one once."""
        if subproblem.n_entries > self.small:
            return self.split_once(subproblem, search)
        report, results = self._solve(
            subproblem, Task(subproblem.break_even(), subproblem.flow_q, subproblem.n_nodes * 2)
        )
        if report.n_open and report.is_whole:
            results[report.n_trivial].break_even()
        return results[: report.n_trivial], results[report.n_trivial :]

    def split_once(self, subproblem: Subproblem, search: SharedSearch) -> Outcome:
        """Cut a subproblem where it breaks even: with nothing kept, it is one breakpoint.

        Nor is all of it kept there, as all of it is worth nothing.
        """
        network, members, lam = subproblem.host.network, subproblem.members, subproblem.break_even()
        scale = lam.q / subproblem.flow_q if subproblem.flow_q else 0.0
        n_kept, _, is_whole = maximum_flow(network, members, search, lam, scale)
        if not is_whole:
            raise CutStopped(replace(subproblem, flow_q=lam.q))
        if n_kept == 0:
            return [replace(subproblem, flow_q=lam.q, resolved=lam)], []
        upper, lower = self._kept_and_rest(subproblem, *divide(network, members), lam)
        return [], [housed(upper), housed(lower)]

    def _kept_and_rest(
        self, subproblem: Subproblem, n_kept: int, n_paid: int, lam: Lambda
    ) -> tuple[Subproblem, Subproblem]:
        """Return the subproblems that a cut at lambda made of one: so many nodes and acquisitions, and the rest."""
        node, acquisition, at = subproblem.nodes.start + n_kept, subproblem.acquisitions.start + n_paid, Fraction(*lam)
        upper = slice(subproblem.nodes.start, node), slice(subproblem.acquisitions.start, acquisition)
        lower = slice(node, subproblem.nodes.stop), slice(acquisition, subproblem.acquisitions.stop)
        return (
            Subproblem(subproblem.host, *upper, lam.q, max(at, subproblem.lam_low), subproblem.lam_high),
            Subproblem(subproblem.host, *lower, lam.q, subproblem.lam_low, min(at, subproblem.lam_high)),
        )

    def _solve(self, subproblem: Subproblem, task: Task) -> tuple[Report, list[Subproblem]]:
        """Run the kernel; return its report, and what was cut trivially and what is open as subproblems."""
        found = np.empty((subproblem.n_nodes, 6), dtype=np.int64)
        report = Report(*solve(subproblem.host.network, subproblem.members, task, found))
        rows = found[: report.n_trivial].tolist() + found[subproblem.n_nodes - report.n_open :].tolist()
        first_node, first_acquisition = subproblem.nodes.start, subproblem.acquisitions.start
        return report, [
            replace(
                subproblem,
                nodes=slice(first_node + a, first_node + b),
                acquisitions=slice(first_acquisition + c, first_acquisition + d),
                flow_q=q,
                resolved=Lambda(p, q) if p else None,
            )
            for a, b, c, d, p, q in rows
        ]
