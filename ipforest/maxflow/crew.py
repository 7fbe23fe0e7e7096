"""Threads that take the steps of a parametric cut until nothing is open: on a subproblem each, or helping with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ipforest._internal.kernels import n_threads
from ipforest._internal.undisturbed import Undisturbed
from ipforest.maxflow.helpers import admit, dismiss, size_of
from ipforest.maxflow.network import MERGERS, STOP
from ipforest.maxflow.parametric_cut import CutStopped, Outcome, ParametricCut
from ipforest.maxflow.pseudoflow import help_searching
from ipforest.maxflow.subproblems import Subproblem, deepest
from ipforest.maxflow.team import Team
from ipforest.progress import ProgressCallback

REPORT_EVERY_S = 0.5
"""Seconds between two reports while a cut takes its time."""


@dataclass(frozen=True, slots=True)
class Step:
    """A subproblem that is worked on: an estimate of the work, and the team."""

    problem: Subproblem
    work: float
    team: Team


class Crew:
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
        The team, and which of its helpers it is.
    """

    def __init__(self, cut: ParametricCut) -> None:
        self._cut = cut
        self._state = Undisturbed()
        self._pool: ThreadPoolExecutor | None = None
        self.running: dict[Future[Outcome], Step] = {}
        self.helping: dict[Future[None], tuple[Team, int]] = {}

    def resolve(self, max_points: int | None, report: ProgressCallback, lambda_unit: float) -> None:
        """Split open subproblems, largest first, on all cores, until none is left or there are `max_points`.

        Reports come between steps, in the thread that calls. An interrupt ends the cuts under way after their merger;
        what they found so far is where they go on. Any other error that `report` raises lets them come to their end.
        """
        cut = self.settled()
        work, shown = sum(problem.work for problem in [*cut.done, *cut.open]), 0.0
        try:
            while self._state.run(lambda: self._advance(max_points)):
                under_way = [step.problem for step in self.running.values()]
                work_left = sum(problem.work for problem in [*cut.open, *under_way])
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
            dismiss(step.team)
        ended = wait(self._under_way).done
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._cut.network.signals[STOP] = 0
        self._collect(ended)

    def _begin(self, take_step: Callable[[Subproblem, Team], Outcome]) -> None:
        """Work on the last open subproblem; helpers leave to make room."""
        for team, _ in self.helping.values():
            dismiss(team)
        problem = self._cut.open[-1]
        team = self._cut.team(problem)
        self.running[self._threads.submit(take_step, problem, team)] = Step(problem, problem.work, team)
        self._cut.open.pop()

    def _help(self) -> None:
        """Let idle threads help where a team has room, with the largest subproblem first."""
        n_idle = n_threads() - len(self._under_way)
        for step in sorted(self.running.values(), key=lambda step: -step.work):
            taken = [number for team, number in self.helping.values() if team is step.team]
            free = [number for number in range(size_of(step.team)) if number not in taken]
            for number in free[: max(n_idle, 0)]:
                admit(step.team)
                helper = self._threads.submit(help_searching, step.problem.host.network, step.team, number)
                self.helping[helper] = step.team, number
                n_idle -= 1

    @property
    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n_threads())
        return self._pool

    @property
    def _under_way(self) -> list[Future[Any]]:
        """What threads work on."""
        return [*self.running, *self.helping]

    def _collect(self, finished: Iterable[Future[Any]]) -> None:
        """Take over what was found and what is still open; a cut that failed or was stopped leaves its problem open."""
        errors: list[BaseException] = []
        for future in finished:
            error = future.exception()
            if future in self.helping:
                del self.helping[future]
            else:
                step = self.running.pop(future)
                dismiss(step.team)
                if error is None:
                    resolved, still_open = future.result()
                    self._cut.done += resolved
                    self._cut.open += still_open
                elif isinstance(error, CutStopped):
                    self._cut.open.append(error.problem)
                    continue
                else:
                    self._cut.open.append(step.problem)
            if error is not None:
                errors.append(error)
        if errors:
            raise errors[0]


def _remaining(problems: Sequence[Subproblem], lambda_unit: float) -> str:
    """Say between which lambdas breakpoints may still be missing."""
    if not problems:
        return ""
    low, high = min(problem.lam_low for problem in problems), max(problem.lam_high for problem in problems)
    return f", lambda {float(low) * lambda_unit:.3g}..{float(high) * lambda_unit:.3g} open"
