"""The whole path: every lambda at which the optimal pruning changes, exactly, with one flow that proves all of them.

Optimal prunings are nested: a node once dropped, as lambda rises, stays dropped. So one number per node, lam_h, is the
whole tradeoff. The method is to split and contract (`ipforest.maxflow.splitting`), in integers: every subproblem
starts from the flow of the one it came from, large ones are handed to threads one cut at a time, small ones whole
(`ipforest.maxflow.threads`), and those that own a small share of their network move to one of their own
(`ipforest.maxflow.subproblems`). Cuts are found by the pseudoflow algorithm (`ipforest.maxflow.pseudoflow`), whose
flow lives on a forest of trees: what a cut keeps and the rest go on from their trees.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from pathlib import Path

import numpy as np

from ipforest._internal.arrays import Int32Array, checked_integer, load_arrays, one_line, save_arrays
from ipforest._internal.json_text import read_json
from ipforest._internal.kernels import clock
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.rational import exact_sum, nonnegative_fraction
from ipforest._internal.undisturbed import undisturbed
from ipforest.instance import PruningInstance, require_instance
from ipforest.maxflow.balance import balance_fault
from ipforest.maxflow.checkpoint import pack, unpack
from ipforest.maxflow.flows import Capacities, restore_flow
from ipforest.maxflow.network import Lambda
from ipforest.maxflow.parametric_cut import MAX_ENTRIES_IN_ONE_CALL, KeptAndRest, ParametricCut
from ipforest.maxflow.path_flow import PathFlow
from ipforest.maxflow.presolve import presolve
from ipforest.maxflow.subproblems import Subproblem, division_fault
from ipforest.maxflow.threads import CutThreads
from ipforest.path import NEVER_KEPT, PruningPath, SkippedInterval
from ipforest.results import BudgetResult, Status

SEARCH_VERSION = 5
"""Of the files of unfinished searches."""
SAVE_EVERY_S = 30.0
"""Seconds between two copies of a search on disk."""


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
        small: int = MAX_ENTRIES_IN_ONE_CALL,
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
        self._threads = CutThreads(self._cut)
        self._n_runs, self._ended = 0, False
        self._whole: PruningPath | None = None
        self._seconds = clock() - started

    def _restrict(self, low: Fraction, high: Fraction) -> None:
        """Set aside what lies outside a range of lambda."""
        above, below = self._cut_at(self._cut.open.pop(), high)
        inside, rest = (None, None) if below is None else self._cut_at(below, low)
        self._cut.open += [subproblem for subproblem in (inside,) if subproblem is not None]
        self._outside += [subproblem for subproblem in (above, rest) if subproblem is not None]

    def _cut_at(self, subproblem: Subproblem, lam: Fraction) -> KeptAndRest:
        return self._cut.cut_at_checked(subproblem, Lambda(*self._instance.scaled_lambda(lam)))

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
            self._threads.resolve(max_points, progress or silent, lambda_unit)
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
        path = undisturbed(partial(self._checked_path, self._threads.gathered()))
        self._seconds += clock() - started
        path = replace(path, runtime_s=self._seconds)
        if path.is_complete:
            self._whole = path
        return path

    def _checked_path(self, cut: ParametricCut) -> PruningPath:
        """Turn what is found into a path; what an interruption may have spoilt is checked."""
        still_open = [*cut.open, *self._outside]
        status = Status.OPTIMAL if not still_open else Status.FEASIBLE if self._ended else Status.INTERRUPTED
        subproblems = sorted([*cut.done, *still_open], key=lambda each: -each.nodes.start)  # by rising lambda
        _require_no_fault(division_fault(cut.host, subproblems[::-1]))
        path = _assemble(self._instance, cut, subproblems, status)
        if path.flow is not None and (self._n_runs > 1 or not self._ended):
            _require_no_fault(balance_fault(self._instance, path.flow))
        return path

    def run_saved(
        self, file: str | Path, progress: ProgressCallback | None = None, every_s: float = SAVE_EVERY_S
    ) -> None:
        """Search as `run` does, and save the search every so many seconds, when it is interrupted and when it ends.

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
        has_ended = False
        try:
            while not has_ended:
                has_ended = self._run_for(every_s, progress or silent)
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
        save_arrays(file, {"about": np.array(json.dumps(about)), **pack(self._threads.gathered(), self._outside)})

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
        except (ArithmeticError, KeyError, TypeError, ValueError) as fault:
            raise ValueError(
                f"{file}: expected an unfinished path of this problem, got: {one_line(fault)}; remove the file to "
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


def _checked_range(lam_range: tuple[object, object]) -> tuple[Fraction, Fraction]:
    if np.asarray(lam_range, dtype=object).shape != (2,):
        raise ValueError(f"lam_range: expected two numbers, got {lam_range!r}")
    low, high = (nonnegative_fraction(bound, "lam_range") for bound in lam_range)
    if low > high:
        raise ValueError(f"lam_range: expected low <= high, got {lam_range!r}")
    return low, high


def _assemble(
    instance: PruningInstance, cut: ParametricCut, subproblems: Sequence[Subproblem], status: Status
) -> PruningPath:
    """Turn subproblems, by rising lambda, into a PruningPath on the instance."""
    k = len(subproblems)
    unit = instance.error_unit / instance.cost_unit
    totals = [subproblem.totals for subproblem in subproblems]
    reduced_breakpoint = np.where(cut.never, NEVER_KEPT, k).astype(np.int32)
    for index, subproblem in enumerate(subproblems):
        reduced_breakpoint[subproblem.members.nodes] = index
    node_breakpoint = np.append(reduced_breakpoint, np.int32(k))[cut.reduced.node]
    error = exact_sum(instance.errors[instance.tree_offsets[:-1]]) - exact_sum(instance.gain[node_breakpoint == k])
    cost = 0
    errors, costs = [error], [cost]
    for gain, price, _ in reversed(totals):
        errors.append(errors[-1] - gain)
        costs.append(costs[-1] + price)
    skipped = tuple(
        SkippedInterval(
            index,
            subproblem.lam_low * unit,
            subproblem.lam_high * unit if subproblem.lam_high != inf else inf,
            subproblem.n_nodes,
        )
        for index, subproblem in enumerate(subproblems)
        if subproblem.resolved is None
    )
    return PruningPath(
        instance=instance,
        breakpoints=tuple(Fraction(gain, price) * unit for gain, price, _ in totals),
        errors=tuple(instance.error_unit * value for value in reversed(errors)),
        costs=tuple(instance.cost_unit * value for value in reversed(costs)),
        node_breakpoint=node_breakpoint,
        flow=None if skipped else _path_flow(instance, cut, subproblems, node_breakpoint),
        skipped=skipped,
        status=status,
        runtime_s=0.0,
    )


def _path_flow(
    instance: PruningInstance, cut: ParametricCut, subproblems: Sequence[Subproblem], node_breakpoint: Int32Array
) -> PathFlow:
    network, reduced = cut.network, cut.reduced
    lambdas = [subproblem.resolved for subproblem in subproblems if subproblem.resolved is not None]
    node_p, node_q = np.zeros(reduced.gain.size, dtype=np.int64), np.ones(reduced.gain.size, dtype=np.int64)
    price = np.zeros(reduced.cost.size, dtype=np.int64)
    for subproblem, (p, q) in zip(subproblems, lambdas, strict=True):
        nodes, acquisitions = subproblem.members
        node_p[nodes], node_q[nodes], price[acquisitions] = p, q, p
    flow = restore_flow(instance, reduced, network, cut.host.nodes, Capacities(node_p, node_q, price))
    return PathFlow(tuple(lam.p for lam in lambdas), tuple(lam.q for lam in lambdas), node_breakpoint, *flow)
