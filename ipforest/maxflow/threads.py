"""Threads: helpers of a single cut, and those that take the steps of a parametric cut until nothing is open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ipforest._internal.kernels import n_threads
from ipforest._internal.progress import ProgressCallback
from ipforest._internal.undisturbed import Undisturbed
from ipforest.maxflow.network import MERGERS, STOP, Members, Network
from ipforest.maxflow.parametric_cut import CutStopped, Outcome, ParametricCut
from ipforest.maxflow.pseudoflow import help_searching
from ipforest.maxflow.shared_search import DISMISSED, SharedSearch, new_shared_search
from ipforest.maxflow.subproblems import Subproblem, deepest

REPORT_EVERY_S = 0.5
"""Seconds between two reports while a cut takes its time."""
MIN_ENTRIES_FOR_HELPERS = 200_000
"""Smaller cuts have no helpers."""
MAX_HELPERS = 3
"""Merging takes about a quarter of the time, and one thread does it."""


def search_for(network: Network, members: Members, n_entries: int) -> SharedSearch:
    """Prepare a cut of a subproblem of so many entries; helpers may come and go while it is under way."""
    n_helpers = min(n_threads() - 1, MAX_HELPERS) if n_entries >= MIN_ENTRIES_FOR_HELPERS else 0
    search = new_shared_search(members.nodes.size + members.acquisitions.size, network.problem.cost.size, n_helpers)
    if n_helpers > 0:
        dismiss(search)
        help_searching(network, search, 0)  # compile before the first helper thread runs
        admit(search)
    return search


def max_helpers(search: SharedSearch) -> int:
    """Return how many helpers a search has room for."""
    return len(search.changes)


def admit(search: SharedSearch) -> None:
    """Let helpers of a search begin."""
    search.board[DISMISSED] = 0


def dismiss(search: SharedSearch) -> None:
    """Let all helpers of a search leave after the tree that they search."""
    search.board[DISMISSED] = 1


@contextmanager
def helped(network: Network, members: Members, n_entries: int) -> Iterator[SharedSearch]:
    """Prepare the only cut that is under way, and have all its helpers work until it has come to its end."""
    search = search_for(network, members, n_entries)
    with ThreadPoolExecutor(max(max_helpers(search), 1)) as pool:
        try:
            helping = [pool.submit(help_searching, network, search, number) for number in range(max_helpers(search))]
            yield search
        finally:
            dismiss(search)
    for helper in helping:
        helper.result()


@dataclass(frozen=True, slots=True)
class Step:
    """A subproblem that is worked on: an estimate of the work, and what its threads share."""

    subproblem: Subproblem
    work: float
    search: SharedSearch


class CutThreads:
    """Threads, each of which works on a subproblem or helps another one.

    The state of the cut, with what is under way, changes in `Undisturbed` work only. An interrupt that leaves something
    under way is made up for by whatever asks for the state next; see `settled`.

    Parameters
    ----------
    cut : ParametricCut
        Nothing else changes it.

    Attributes
    ----------
    running : dict of Future to Step
    helping : dict of Future to tuple
        The search that it helps, and which of its helpers it is.
    """

    def __init__(self, cut: ParametricCut) -> None:
        self._cut = cut
        self._state = Undisturbed()
        self._pool: ThreadPoolExecutor | None = None
        self.running: dict[Future[Outcome], Step] = {}
        self.helping: dict[Future[None], tuple[SharedSearch, int]] = {}

    def resolve(self, max_points: int | None, report: ProgressCallback, lambda_unit: float) -> None:
        """Split open subproblems, largest first, on all cores, until none is left or there are `max_points`.

        Reports come between steps, in the thread that calls. An interrupt ends the cuts under way after their merger;
        what they found so far is where they go on. Any other error that `report` raises lets them come to their end.
        """
        cut = self.settled()
        work, shown = sum(subproblem.work for subproblem in [*cut.done, *cut.open]), 0.0
        try:
            while self._state.run(lambda: self._advance(max_points)):
                under_way = [step.subproblem for step in self.running.values()]
                work_left = sum(subproblem.work for subproblem in [*cut.open, *under_way])
                shown = max(shown, 1.0 - work_left / work)
                left = _remaining([*cut.open, *under_way], lambda_unit)
                report(shown, f"{cut.network.signals[MERGERS]} mergers, {len(cut.done)} breakpoints{left}")
        except KeyboardInterrupt:
            cut.network.signals[STOP] = 1
            raise
        finally:
            self._state.run(self._end)

    def settled(self) -> ParametricCut:
        """Return the cut, with nothing under way."""
        self._state.settle()
        signals = self._cut.network.signals
        if self._pool is not None or self.running or signals[STOP] != 0:
            signals[STOP] = 1
            self._state.run(self._end)
        return self._cut

    def gathered(self) -> ParametricCut:
        """Return the cut, with nothing under way and all subproblems in the network of the whole problem."""
        cut = self.settled()
        if deepest([*cut.done, *cut.open]):
            self._state.run(cut.gather)
        return cut

    def _advance(self, max_points: int | None) -> bool:
        """Begin what there are threads for, and wait until something has ended, not for long; False at the end."""
        cut = self._cut
        take_step = cut.resolve_or_split if max_points is None else cut.split_once
        cut.open.sort(key=attrgetter("n_entries") if max_points is None else Subproblem.importance)
        while cut.open and len(self.running) < n_threads():
            if max_points is not None and len(cut.done) + len(cut.open) + 2 * len(self.running) >= max_points:
                break
            self._begin(take_step)
        if not self.running:
            return False
        self._help()
        self._collect(wait(self._under_way, REPORT_EVERY_S, return_when=FIRST_COMPLETED).done)
        return True

    def _end(self) -> None:
        """Wait until nothing is under way."""
        for step in self.running.values():
            dismiss(step.search)
        ended = wait(self._under_way).done
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._cut.network.signals[STOP] = 0
        self._collect(ended)

    def _begin(self, take_step: Callable[[Subproblem, SharedSearch], Outcome]) -> None:
        """Work on the last open subproblem; helpers leave to make room."""
        for search, _ in self.helping.values():
            dismiss(search)
        subproblem = self._cut.open[-1]
        search = search_for(subproblem.host.network, subproblem.members, subproblem.n_entries)
        self.running[self._executor.submit(take_step, subproblem, search)] = Step(subproblem, subproblem.work, search)
        self._cut.open.pop()

    def _help(self) -> None:
        """Let idle threads help where a search has room, with the largest subproblem first."""
        n_idle = n_threads() - len(self._under_way)
        for step in sorted(self.running.values(), key=lambda step: -step.work):
            taken = [number for search, number in self.helping.values() if search is step.search]
            free = [number for number in range(max_helpers(step.search)) if number not in taken]
            for number in free[: max(n_idle, 0)]:
                admit(step.search)
                helper = self._executor.submit(help_searching, step.subproblem.host.network, step.search, number)
                self.helping[helper] = step.search, number
                n_idle -= 1

    @property
    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n_threads())
        return self._pool

    @property
    def _under_way(self) -> list[Future[Any]]:
        """What threads work on."""
        return [*self.running, *self.helping]

    def _collect(self, finished: Iterable[Future[Any]]) -> None:
        """Take over what was found and what is still open; a cut that failed or was stopped is still open."""
        errors: list[BaseException] = []
        for future in finished:
            error = future.exception()
            if future in self.helping:
                del self.helping[future]
            else:
                step = self.running.pop(future)
                dismiss(step.search)
                if error is None:
                    resolved, still_open = future.result()
                    self._cut.done += resolved
                    self._cut.open += still_open
                elif isinstance(error, CutStopped):
                    self._cut.open.append(error.subproblem)
                    continue
                else:
                    self._cut.open.append(step.subproblem)
            if error is not None:
                errors.append(error)
        if errors:
            raise errors[0]


def _remaining(subproblems: Sequence[Subproblem], lambda_unit: float) -> str:
    """Say between which lambdas breakpoints may still be missing."""
    if not subproblems:
        return ""
    low, high = (
        min(subproblem.lam_low for subproblem in subproblems),
        max(subproblem.lam_high for subproblem in subproblems),
    )
    return f", lambda {float(low) * lambda_unit:.3g}..{float(high) * lambda_unit:.3g} open"
