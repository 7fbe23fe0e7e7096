"""The whole path: every lambda at which the optimal pruning changes, exactly, with one flow that proves all of them.

Optimal prunings are nested: a node once dropped, as lambda rises, stays dropped. So one number per node, lam_h, is the
whole tradeoff. The method is to split and contract (`ipforest.maxflow.splitting`), in integers: every subproblem
starts from the flow of the one it came from, large ones are handed to threads one cut at a time, small ones whole
(`ipforest.maxflow.crew`), and those that are a small part of their network move to one of their own
(`ipforest.maxflow.subproblems`). Cuts are found by the pseudoflow algorithm (`ipforest.maxflow.pseudoflow`), whose
flow lives on a forest of trees: each half of a subproblem goes on from its part of the forest.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import (
    Array,
    checked_array,
    checked_integer,
    load_arrays,
    one_line,
    read_only,
    save_arrays,
)
from ipforest._internal.json_text import read_json
from ipforest._internal.kernels import clock
from ipforest._internal.records import records_to_csv
from ipforest.instance import PruningInstance, require_instance
from ipforest.maxflow.balance import balance_fault
from ipforest.maxflow.checkpoint import pack, unpack
from ipforest.maxflow.crew import Crew
from ipforest.maxflow.flows import Capacities, restore_flow
from ipforest.maxflow.network import Lambda
from ipforest.maxflow.parametric_cut import SMALL, Halves, ParametricCut
from ipforest.maxflow.path_flow import PathFlow
from ipforest.maxflow.presolve import presolve
from ipforest.maxflow.single_cut import dual_bound, minimum_cut, require_range
from ipforest.maxflow.subproblems import Subproblem, division_fault
from ipforest.progress import ProgressCallback, silent
from ipforest.rational import exact_sum, nonnegative_fraction
from ipforest.results import BudgetResult, Mixture, Pruning, PruningResult, Status

NEVER_KEPT = -1
SEARCH_VERSION = 5
"""Of the files of unfinished searches."""
SAVE_EVERY_S = 30.0
"""Seconds between two copies of a search on disk."""


@dataclass(frozen=True, slots=True)
class SkippedInterval:
    """A part of the path that was not resolved.

    Parameters
    ----------
    breakpoint : int
        Index of the one entry of ``PruningPath.breakpoints`` that stands for all breakpoints of this part.
    lam_low, lam_high : Fraction or float
        They lie in ``lam_low <= lam <= lam_high``; `lam_high` may be infinite.
    n_nodes : int
        How many nodes are dropped in it.
    """

    breakpoint: int
    lam_low: Fraction
    lam_high: Fraction | float
    n_nodes: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PruningPath:
    """Error and cost of all optimal prunings.

    Parameters
    ----------
    instance : PruningInstance
    breakpoints : tuple of Fraction, length k
        Ascending lambdas > 0 at which the smallest optimal pruning changes.
    errors, costs : tuple of Fraction, length k + 1
        Of the prunings between them: entry i is optimal for lam in ``[breakpoints[i - 1], breakpoints[i]]``.
    node_breakpoint : ndarray of int32, shape (n_internal,)
        Index of the breakpoint at which a node is dropped; -1 for nodes that are kept for no lambda > 0, k for nodes
        that are never dropped (they cost nothing and gain something).
    flow : PathFlow, optional
        The proof; None where something was skipped.
    skipped : tuple of SkippedInterval
        Empty for a whole path. A skipped interval shows as one breakpoint, where the prunings on its two sides, both
        optimal, are equally good.
    status : Status
        "optimal" for a whole path, "feasible" for one that was asked to be coarser, "interrupted".
    runtime_s : float
    """

    instance: PruningInstance = field(repr=False)
    breakpoints: tuple[Fraction, ...]
    errors: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]
    node_breakpoint: npt.NDArray[np.int32]
    flow: PathFlow | None
    skipped: tuple[SkippedInterval, ...]
    status: Status
    runtime_s: float

    def __post_init__(self) -> None:
        k = len(self.breakpoints)
        for name in ("errors", "costs"):
            if len(getattr(self, name)) != k + 1:
                raise ValueError(f"{name}: expected {k + 1} values for {k} breakpoints, got {len(getattr(self, name))}")
        object.__setattr__(
            self,
            "node_breakpoint",
            checked_array(self.node_breakpoint, "node_breakpoint", np.int32, (self.instance.n_internal,)),
        )

    @property
    def node_lambda(self) -> Array:
        """Largest lambda at which a node is kept (it is kept iff lam < lam_h), shape (n_internal,), dtype object.

        0 for nodes that are kept for no lambda > 0, infinity for nodes that are never dropped, Fractions in between.
        """
        values = np.empty(len(self.breakpoints) + 2, dtype=object)
        values[:] = [*self.breakpoints, inf, Fraction(0)]
        return read_only(values[self.node_breakpoint])

    @property
    def is_complete(self) -> bool:
        """Whether nothing was skipped."""
        return not self.skipped

    def pruning_at(self, index: int) -> Pruning:
        """Return the pruning whose error and cost are ``errors[index]`` and ``costs[index]``.

        Raises
        ------
        IndexError
            The index is not in 0..k.
        """
        if not 0 <= index <= len(self.breakpoints):
            raise IndexError(f"index: expected 0..{len(self.breakpoints)}, got {index}")
        return Pruning(self.node_breakpoint >= index)

    def pruning(self, lam: object) -> Pruning:
        """Return the smallest optimal pruning at a lambda.

        Raises
        ------
        ValueError
            Lambda is negative, or lies in an interval that was skipped.
        """
        exact = nonnegative_fraction(lam, "lam")
        for gap in self.skipped:
            if gap.lam_low < exact < gap.lam_high:
                raise ValueError(
                    f"lam: expected a lambda outside the skipped interval {float(gap.lam_low):.6g}.."
                    f"{float(gap.lam_high):.6g} of this coarse path, got {exact}; compute a finer path or solve for it"
                )
        return self.pruning_at(bisect_right(self.breakpoints, exact))

    def result(self, lam: object) -> PruningResult:
        """Return the smallest optimal pruning at a lambda with its certificate, without searching for it.

        The pruning is read off the path. Its flow is that of the path in the units of this lambda, with what rounding
        took away added.

        Raises
        ------
        ValueError
            Lambda is negative, or the path is coarse: its flow is not known then.
        OverflowError
            Gains or costs at this lambda reach 2^62 in integer units.
        """
        started = clock()
        exact = nonnegative_fraction(lam, "lam")
        if self.flow is None:
            raise ValueError(
                f"path: expected a whole path, got one with {len(self.skipped)} skipped intervals, which has no flow; "
                "compute the whole path or solve for this lambda"
            )
        index = bisect_right(self.breakpoints, exact)
        scaled = Lambda(*self.instance.scaled_lambda(exact))
        require_range(self.instance, scaled)
        _, flow, _ = minimum_cut(self.instance, scaled, self.flow.at(self.instance, scaled))
        return PruningResult.of(
            self.pruning_at(index),
            (self.errors[index], self.costs[index]),
            exact,
            dual_bound(self.instance, flow),
            method="path",
            runtime_s=clock() - started,
            flow=flow,
        )

    @property
    def starts(self) -> tuple[Fraction | float, ...]:
        """Smallest lambda from which each pruning is known to be optimal, length k + 1.

        The breakpoints after 0; the upper end of an interval that was skipped, which may be infinite.
        """
        ends: list[Fraction | float] = [Fraction(0), *self.breakpoints]
        for gap in self.skipped:
            ends[gap.breakpoint + 1] = gap.lam_high
        return tuple(ends)

    def lambda_of(self, pruning: Pruning) -> Fraction:
        """Find the smallest lambda at which a pruning of this path is known to be the smallest optimal one.

        Raises
        ------
        ValueError
            The pruning is not on the path, or comes after everything that a coarse path resolved.
        """
        for index, lam in enumerate(self.starts):
            if isinstance(lam, Fraction) and self.pruning_at(index) == pruning:
                return lam
        raise ValueError(
            f"pruning: expected one of the {len(self.errors)} prunings of the path that has a lambda, got {pruning!r}"
        )

    def at_budget(self, budget: object) -> BudgetResult:
        """Find the best pruning of the path within a budget, a bound, and the mixture that spends it in expectation.

        Parameters
        ----------
        budget : int, float, str, Decimal or Fraction
            What an example may cost on average.

        Returns
        -------
        BudgetResult
            Status "optimal" when the pruning meets the bound. The bound is the lower hull of all prunings at the
            budget; where the path is coarse it is what the nearest known prunings prove.

        Raises
        ------
        ValueError
            The budget is negative, or below the cheapest pruning's cost.
        """
        started = clock()
        limit = nonnegative_fraction(budget, "budget")
        index = next((i for i, cost in enumerate(self.costs) if cost <= limit), None)
        if index is None:
            raise ValueError(
                f"budget: expected at least {float(self.costs[-1]):.6g}, the cost of the cheapest pruning, got {limit}"
            )
        error, cost = self.errors[index], self.costs[index]
        mixture: Mixture = ((Fraction(1), self.pruning_at(index)),)
        mixture_error, mixture_cost, bound = error, cost, error
        lam = Fraction(0)
        if index > 0:
            supported, lam = max(
                (neighbour + slope * (value - limit), slope)
                for slope, neighbour, value in self._supports(index, error, cost)
                if slope != inf
            )
        if index > 0 and cost < limit:
            bound = supported
            weight = (limit - cost) / (self.costs[index - 1] - cost)
            mixture = ((1 - weight, self.pruning_at(index)), (weight, self.pruning_at(index - 1)))
            mixture_error = weight * self.errors[index - 1] + (1 - weight) * error
            mixture_cost = limit
        return BudgetResult(
            status=Status.OPTIMAL if bound == error else Status.FEASIBLE,
            budget=limit,
            pruning=self.pruning_at(index),
            error=error,
            cost=cost,
            bound=bound,
            lam=lam,
            mixture=mixture,
            mixture_error=mixture_error,
            mixture_cost=mixture_cost,
            runtime_s=clock() - started,
            method="path",
        )

    def _supports(self, index: int, error: Fraction, cost: Fraction) -> list[tuple[Any, Fraction, Fraction]]:
        """Lines below all prunings between the points index - 1 and index: slope, error, cost."""
        for gap in self.skipped:
            if gap.breakpoint == index - 1:
                return [
                    (gap.lam_low, self.errors[index - 1], self.costs[index - 1]),
                    (gap.lam_high, error, cost),
                    (Fraction(0), self.errors[0], self.costs[0]),
                ]
        return [(self.breakpoints[index - 1], error, cost)]

    def records(self) -> list[dict[str, Any]]:
        """Return one plain record per pruning: where it starts to be optimal, its error, cost and kept nodes.

        ``skipped_after`` tells how many nodes are dropped, at breakpoints that were not found, before the next pruning.
        """
        dropped = np.bincount(self.node_breakpoint + 1, minlength=len(self.breakpoints) + 2)
        kept = self.node_breakpoint.size - np.cumsum(dropped)
        skipped = {gap.breakpoint: gap.n_nodes for gap in self.skipped}
        return [
            {
                "lambda_from": float(lam),
                "lambda_from_exact": str(lam),
                "error": float(error),
                "error_exact": str(error),
                "cost": float(cost),
                "cost_exact": str(cost),
                "internal_nodes": int(count),
                "skipped_after": skipped.get(index, 0),
            }
            for index, (lam, error, cost, count) in enumerate(
                zip(self.starts, self.errors, self.costs, kept, strict=False)
            )
        ]

    def to_csv(self) -> str:
        """Return the records as CSV with a header."""
        return records_to_csv(self.records())

    def to_json(self) -> str:
        """Return the records, the status and what was skipped as JSON."""
        skipped = [{name: str(value) for name, value in asdict(gap).items()} for gap in self.skipped]
        return json.dumps({"status": str(self.status), "skipped": skipped, "prunings": self.records()}, indent=1)

    def summary(self) -> str:
        """Describe the path in a few lines."""
        text = (
            f"path: {self.status} in {self.runtime_s:.3g} s, {len(self.breakpoints)} breakpoints\n"
            f"  error {float(self.errors[0]):.6g} at cost {float(self.costs[0]):.6g} down to "
            f"error {float(self.errors[-1]):.6g} at cost {float(self.costs[-1]):.6g}"
        )
        for gap in self.skipped:
            text += f"\n  skipped: lambda {float(gap.lam_low):.6g}..{float(gap.lam_high):.6g}, {gap.n_nodes} nodes"
        return text

    __str__ = __repr__ = summary


def solve_budget_path(instance: PruningInstance, budget: Fraction, *, path: PruningPath | None = None) -> BudgetResult:
    """Solve for a budget by the whole path, computed here or known: the best breakpoint within it, and the mixture."""
    started = clock()
    result = path_of(instance, path).at_budget(budget)
    return replace(result, runtime_s=clock() - started)


def path_of(instance: PruningInstance, known: PruningPath | None) -> PruningPath:
    """Return the path of an instance, computed here unless it is known.

    Raises
    ------
    ValueError
        What is known is the path of another instance.
    OverflowError
        As `prune_path`.
    """
    if known is None:
        return prune_path(instance)
    if known.instance is not instance and known.instance.fingerprint() != instance.fingerprint():
        raise ValueError(f"path: expected the path of {instance!r}, got that of another instance, {known.instance!r}")
    return known


def prune_path(
    instance: PruningInstance,
    max_points: int | None = None,
    lam_range: tuple[object, object] | None = None,
    progress: ProgressCallback | None = None,
) -> PruningPath:
    """Find every optimal pruning at once.

    Parameters
    ----------
    instance : PruningInstance
    max_points : int, optional
        Stop at so many breakpoints, those that matter most for the curve found first; the path then says which
        intervals of lambda it skipped.
    lam_range : tuple of two numbers, optional
        Resolve only breakpoints with ``low < lam <= high``; the rest is skipped.
    progress : callable, optional
        Called with the share of the work that is done, about, and a message, at least twice a second.

    Returns
    -------
    PruningPath

    Raises
    ------
    OverflowError
        Gain times cost of a subproblem of the path reaches 2^62 in integer units.
    TypeError, ValueError
        Bad `max_points` or `lam_range`.
    """
    search = PathSearch(instance, max_points, lam_range)
    search.run(progress)
    return search.path()


class PathSearch:
    """The search behind `prune_path`, which can be interrupted, asked for what it found, and continued.

    Parameters
    ----------
    instance : PruningInstance
    max_points, lam_range
        As for `prune_path`.
    small : int
        As for `ipforest.maxflow.parametric_cut.ParametricCut`.

    Raises
    ------
    OverflowError, TypeError, ValueError
        As `prune_path`.
    """

    def __init__(
        self,
        instance: PruningInstance,
        max_points: int | None = None,
        lam_range: tuple[object, object] | None = None,
        small: int = SMALL,
    ) -> None:
        started = clock()
        require_instance(instance)
        if max_points is not None and (not isinstance(max_points, (int, np.integer)) or max_points < 1):
            raise ValueError(f"max_points: expected an integer >= 1, got {max_points!r}")
        bounds = None if lam_range is None else _checked_range(lam_range)
        self._instance, self._max_points = instance, max_points
        self._cut = ParametricCut(presolve(instance), small)
        self._outside: list[Subproblem] = []
        if bounds is not None and self._cut.open:
            self._restrict(*bounds)
        self._crew = Crew(self._cut)
        self._n_runs, self._ended = 0, False
        self._whole: PruningPath | None = None
        self._seconds = clock() - started

    def _restrict(self, low: Fraction, high: Fraction) -> None:
        """Set aside what lies outside a range of lambda."""
        above, below = self._cut_at(self._cut.open.pop(), high)
        inside, rest = (None, None) if below is None else self._cut_at(below, low)
        self._cut.open += [problem for problem in (inside,) if problem is not None]
        self._outside += [problem for problem in (above, rest) if problem is not None]

    def _cut_at(self, problem: Subproblem, lam: Fraction) -> Halves:
        return self._cut.cut_at_checked(problem, Lambda(*self._instance.scaled_lambda(lam)))

    def run(self, progress: ProgressCallback | None = None) -> None:
        """Search until all that was asked for is found; an interrupt (KeyboardInterrupt) passes through.

        Raises
        ------
        OverflowError
            As `prune_path`.
        """
        started = clock()
        lambda_unit = float(self._instance.error_unit / self._instance.cost_unit)
        max_points = None if self._max_points is None else self._max_points - len(self._outside)
        self._n_runs += 1
        try:
            self._crew.resolve(max_points, progress or silent, lambda_unit)
            self._ended = True
        finally:
            self._seconds += clock() - started

    def path(self) -> PruningPath:
        """Return what was found so far; what was not is skipped in it.

        Raises
        ------
        ValueError
            The search was interrupted or loaded, and what it found is not the optimum: start a new one.
        """
        if self._whole is not None:
            return self._whole
        started = clock()
        cut = self._crew.gathered()
        still_open = [*cut.open, *self._outside]
        status = Status.OPTIMAL if not still_open else Status.FEASIBLE if self._ended else Status.INTERRUPTED
        pieces = _by_rising_lambda([*cut.done, *still_open])
        _require_no_fault(division_fault(cut.host, pieces[::-1]))
        path = _assemble(self._instance, cut, pieces, status)
        if path.flow is not None and (self._n_runs > 1 or not self._ended):
            _require_no_fault(balance_fault(self._instance, path.flow))
        self._seconds += clock() - started
        path = replace(path, runtime_s=self._seconds)
        if path.is_complete:
            self._whole = path
        return path

    def run_saved(
        self, file: str | Path, progress: ProgressCallback | None = None, every_s: float = SAVE_EVERY_S
    ) -> None:
        """Search as `run` does, and save the search every so many seconds and when it is interrupted.

        Parameters
        ----------
        file : path
            Of the search, see `save`; it stays when the search ends.
        progress : callable, optional
        every_s : float
            Seconds between two copies on disk. Subproblems under way are finished first.

        Raises
        ------
        OSError
            The file cannot be written.
        OverflowError
            As `prune_path`.
        """
        try:
            while not self._run_for(every_s, progress or silent):
                self.save(file)
        except KeyboardInterrupt:
            self.save(file)
            raise

    def _run_for(self, seconds: float, progress: ProgressCallback) -> bool:
        """Search as `run` does, but for about so many seconds; return whether it came to its end."""
        due = clock() + seconds

        def report(share: float, message: str) -> None:
            progress(share, message)
            if clock() >= due:
                raise _SaveNow

        try:
            self.run(report)
        except _SaveNow:
            return False
        return True

    def save(self, file: str | Path) -> None:
        """Write what was found and what is still open to an ``.npz`` file, whole or not at all; see `load`.

        Raises
        ------
        OSError
            The file cannot be written.
        ValueError
            The whole path was taken from the search already.
        """
        if self._whole is not None:
            raise ValueError("search: expected one that is not finished, got one whose path is complete")
        about = {
            "version": SEARCH_VERSION,
            "instance": self._instance.fingerprint(),
            "max_points": self._max_points,
            "ended": self._ended,
            "seconds": self._seconds,
            "small": self._cut.small,
        }
        save_arrays(file, {"about": np.array(json.dumps(about)), **pack(self._crew.gathered(), self._outside)})

    @classmethod
    def load(cls, file: str | Path, instance: PruningInstance) -> PathSearch:
        """Take up a search that `save` wrote, of the same instance.

        Raises
        ------
        OSError
            The file cannot be opened.
        ValueError
            It is no such file, is truncated or damaged, or of another instance.
        """
        stored = load_arrays(file, "unfinished path", compressed=False)
        try:
            about = read_json(str(stored["about"]))
            if about["version"] != SEARCH_VERSION:
                raise ValueError(f"version {about['version']}, not {SEARCH_VERSION}")
            if about["instance"] != instance.fingerprint():
                raise ValueError("the path of another problem")
            search = cls(instance, about["max_points"], small=checked_integer(about["small"], "small"))
            search._outside = unpack(search._cut, stored)
            search._ended = bool(about["ended"])
            search._seconds = float(nonnegative_fraction(about["seconds"], "seconds"))
        except (ArithmeticError, KeyError, TypeError, ValueError) as problem:
            raise ValueError(
                f"{file}: expected an unfinished path of this problem, got: {one_line(problem)}; remove the file to "
                "start anew"
            ) from None
        search._n_runs = 2  # its path is checked as that of a search that was interrupted
        return search

    @property
    def n_found(self) -> int:
        """Number of breakpoints that are known."""
        return len(self._cut.done)


class _SaveNow(Exception):
    """It is time to save a search: no error, it ends a run between two steps."""


def _require_no_fault(fault: str | None) -> None:
    if fault is not None:
        raise ValueError(
            f"search: expected subproblems and a flow that prove the path, got: {fault}; start a new search, "
            "without the file of this one"
        )


def _by_rising_lambda(problems: Iterable[Subproblem]) -> list[Subproblem]:
    return sorted(problems, key=lambda problem: -problem.nodes.start)


def _checked_range(lam_range: tuple[object, object]) -> tuple[Fraction, Fraction]:
    if not isinstance(lam_range, Sequence) or len(lam_range) != 2:
        raise ValueError(f"lam_range: expected two numbers, got {lam_range!r}")
    low, high = (nonnegative_fraction(bound, "lam_range") for bound in lam_range)
    if low > high:
        raise ValueError(f"lam_range: expected low <= high, got {lam_range!r}")
    return low, high


def _assemble(
    instance: PruningInstance, cut: ParametricCut, pieces: Sequence[Subproblem], status: Status
) -> PruningPath:
    """Turn subproblems, by rising lambda, into a PruningPath on the instance."""
    k = len(pieces)
    unit = instance.error_unit / instance.cost_unit
    totals = [piece.totals()[:2] for piece in pieces]
    reduced_breakpoint = np.where(cut.never, NEVER_KEPT, k).astype(np.int32)
    for index, piece in enumerate(pieces):
        reduced_breakpoint[piece.part.nodes] = index
    node_breakpoint = np.append(reduced_breakpoint, np.int32(k))[cut.reduced.node]
    error = exact_sum(instance.errors[instance.tree_offsets[:-1]]) - exact_sum(instance.gain[node_breakpoint == k])
    cost = 0
    errors, costs = [error], [cost]
    for gain, price in reversed(totals):
        errors.append(errors[-1] - gain)
        costs.append(costs[-1] + price)
    skipped = tuple(
        SkippedInterval(
            index, piece.lam_low * unit, piece.lam_high * unit if piece.lam_high != inf else inf, piece.n_nodes
        )
        for index, piece in enumerate(pieces)
        if piece.resolved is None
    )
    return PruningPath(
        instance=instance,
        breakpoints=tuple(Fraction(gain, price) * unit for gain, price in totals),
        errors=tuple(instance.error_unit * value for value in reversed(errors)),
        costs=tuple(instance.cost_unit * value for value in reversed(costs)),
        node_breakpoint=node_breakpoint,
        flow=None if skipped else _path_flow(instance, cut, pieces, node_breakpoint),
        skipped=skipped,
        status=status,
        runtime_s=0.0,
    )


def _path_flow(
    instance: PruningInstance,
    cut: ParametricCut,
    pieces: Sequence[Subproblem],
    node_breakpoint: npt.NDArray[np.int32],
) -> PathFlow:
    network, reduced = cut.network, cut.reduced
    lambdas = [piece.resolved for piece in pieces if piece.resolved is not None]
    node_p, node_q = np.zeros(reduced.gain.size, dtype=np.int64), np.ones(reduced.gain.size, dtype=np.int64)
    price = np.zeros(reduced.cost.size, dtype=np.int64)
    for piece, (p, q) in zip(pieces, lambdas, strict=True):
        nodes, acquisitions = piece.part
        node_p[nodes], node_q[nodes], price[acquisitions] = p, q, p
    flow = restore_flow(instance, reduced, network, cut.host.nodes, Capacities(node_p, node_q, price))
    return PathFlow(
        tuple(lam.p for lam in lambdas),
        tuple(lam.q for lam in lambdas),
        node_breakpoint,
        *flow,
    )
