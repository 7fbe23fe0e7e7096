"""Threads that take the steps of a parametric cut until nothing is open: on a subproblem each, or helping with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ipforest._numba import n_threads
from ipforest.maxflow.helpers import admit, dismiss, size_of
from ipforest.maxflow.network import MERGERS, STOP
from ipforest.maxflow.parametric_cut import CutStopped, Outcome, ParametricCut
from ipforest.maxflow.pseudoflow import help_searching
from ipforest.maxflow.subproblems import Subproblem
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

    Attributes
    ----------
    running : dict of Future to Step
    helping : dict of Future to tuple
        The team, and which of its helpers it is.
    """

    def __init__(
        self, cut: ParametricCut, step: Callable[[Subproblem, Team], Outcome], pool: ThreadPoolExecutor
    ) -> None:
        self.cut, self.step, self.pool = cut, step, pool
        self.running: dict[Future[Outcome], Step] = {}
        self.helping: dict[Future[None], tuple[Team, int]] = {}

    def begin(self, problem: Subproblem) -> None:
        """Work on a subproblem; helpers leave to make room."""
        for team, _ in self.helping.values():
            dismiss(team)
        team = self.cut.team(problem)
        self.running[self.pool.submit(self.step, problem, team)] = Step(problem, problem.work, team)

    def help(self) -> None:
        """Let idle threads help where a team has room, with the largest subproblem first."""
        n_idle = n_threads() - len(self.under_way)
        for step in sorted(self.running.values(), key=lambda step: -step.work):
            taken = [number for team, number in self.helping.values() if team is step.team]
            free = [number for number in range(size_of(step.team)) if number not in taken]
            for number in free[: max(n_idle, 0)]:
                admit(step.team)
                helper = self.pool.submit(help_searching, step.problem.host.network, step.team, number)
                self.helping[helper] = step.team, number
                n_idle -= 1

    @property
    def under_way(self) -> list[Future[Any]]:
        """What threads work on."""
        return [*self.running, *self.helping]

    def collect(self, finished: Iterable[Future[Any]]) -> None:
        """Take over what was found and what is still open; a cut that failed or was stopped leaves its problem open."""
        for future in finished:
            if future in self.helping:
                del self.helping[future]
                future.result()
                continue
            step, error = self.running.pop(future), future.exception()
            dismiss(step.team)
            if isinstance(error, CutStopped):
                self.cut.open.append(error.problem)
                continue
            if error is not None:
                self.cut.open.append(step.problem)
            resolved, still_open = future.result()
            self.cut.done += resolved
            self.cut.open += still_open


def resolve(
    cut: ParametricCut, max_points: int | None, report: ProgressCallback, n_skipped: int, lambda_unit: float
) -> None:
    """Split open subproblems, largest first, on all cores, until none is left or there are `max_points`.

    An interrupt ends the cuts under way after their merger; what they found so far is where they go on.
    """
    signals, work = cut.network.signals, sum(problem.work for problem in [*cut.done, *cut.open])
    shown = 0.0
    with ThreadPoolExecutor(n_threads()) as pool:
        crew = Crew(cut, cut.resolve_or_split if max_points is None else cut.split_once, pool)
        try:
            while True:
                cut.open.sort(key=attrgetter("n_entries") if max_points is None else Subproblem.importance)
                while cut.open and len(crew.running) < n_threads():
                    n_problems = len(cut.done) + len(cut.open) + len(crew.running) + n_skipped
                    if max_points is not None and n_problems + len(crew.running) >= max_points:
                        break
                    crew.begin(cut.open.pop())
                if not crew.running:
                    break
                crew.help()
                crew.collect(wait(crew.under_way, REPORT_EVERY_S, return_when=FIRST_COMPLETED).done)
                steps = crew.running.values()
                work_left = sum(problem.work for problem in cut.open) + sum(step.work for step in steps)
                shown = max(shown, 1.0 - work_left / work)
                left = _remaining([*cut.open, *(step.problem for step in steps)], lambda_unit)
                report(shown, f"{signals[MERGERS]} mergers, {len(cut.done)} breakpoints{left}")
        except KeyboardInterrupt:
            signals[STOP] = 1
            raise
        finally:
            for step in crew.running.values():
                dismiss(step.team)
            crew.collect(wait(crew.under_way).done)
            signals[STOP] = 0


def _remaining(problems: Sequence[Subproblem], lambda_unit: float) -> str:
    """Say between which lambdas breakpoints may still be missing."""
    if not problems:
        return ""
    low, high = min(problem.lam_low for problem in problems), max(problem.lam_high for problem in problems)
    return f", lambda {float(low) * lambda_unit:.3g}..{float(high) * lambda_unit:.3g} open"
