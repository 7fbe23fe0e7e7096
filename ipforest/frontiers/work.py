"""How far training has come, whether its time is over, and parts of it in threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TypeVar

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config

from ipforest._internal.arrays import one_blas_thread
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.undisturbed import undisturbed
from ipforest._internal.words import counted

T = TypeVar("T")


class TimeIsOver(Exception):
    """The time of some work is over before it came to anything."""


@dataclass(slots=True, eq=False)
class Work:
    """Reports how many of the expected models are made, and ends when a time is over.

    Parameters
    ----------
    report : callable (share, message)
    until : float
        When to end, on the clock of `time.monotonic`; infinity for never.
    may_end : bool
        Whether something is made already; till then the work goes on.

    Attributes
    ----------
    left_out : list of str
        What was not made for lack of time.
    """

    report: ProgressCallback = silent
    until: float = inf
    may_end: bool = False
    left_out: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether the time is over, and something is made."""
        return self.may_end and monotonic() >= self.until

    def check(self) -> None:
        """Interrupt what is being made; what makes it calls this before each tree, round or stage.

        Raises
        ------
        TimeIsOver
            See `is_over`.
        """
        if self.is_over:
            raise TimeIsOver

    def parts(self, n: int) -> list[Work]:
        """Return the work of each of so many parts; one thing at least is made in the first."""
        shares = [0.0] * n

        def report_of(number: int) -> ProgressCallback:
            def report(share: float, message: str) -> None:
                shares[number] = share
                self.report(sum(shares) / n, message)

            return report

        return [Work(report_of(number), self.until, self.may_end or number > 0) for number in range(n)]

    def stop(self) -> None:
        """End as soon as it is looked at, whether something is made or not."""
        self.until, self.may_end = -inf, True

    def through(self, made: Iterable[T], expected: int, name: str) -> Iterator[T]:
        """Hand on what is made, one at least, while there is time.

        Parameters
        ----------
        made : iterable
        expected : int
            About how many there will be.
        name : str
            What makes them.
        """
        number = 0
        try:
            for number, each in enumerate(made, 1):
                self.report(min(1.0, number / expected), f"{name}: {counted(number, 'model')}")
                yield each
                self.may_end = True
                if number != expected:
                    self.check()
        except TimeIsOver:
            self.left_out.append(f"{name} after {counted(number, 'model')}")
            return
        self.report(1.0, "")


def each_done(parts: Sequence[Work], do: Callable[[int], T], n_jobs: int | None) -> list[T]:
    """Do the parts of some work, in threads if there are to be several; their number changes nothing.

    An interrupt, or an error in one of them, ends the others before their next tree, round or stage.

    Parameters
    ----------
    parts : sequence of Work
    do : callable (number) -> T
        Does one part.
    n_jobs : int or None
        Of joblib. Where its backend has no memory in common, as on a cluster, one part is done after another: what they
        hand to joblib themselves goes there.
    """
    config = get_config()

    def in_thread(number: int) -> T:
        try:
            with config_context(**config):
                return do(number)
        except BaseException:
            _stop(parts)
            raise

    def run() -> list[T]:
        with warnings.catch_warnings(), one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(in_thread, range(len(parts))))  # what a part ignores or limits ends with all

    n_threads = min(_n_threads(n_jobs), len(parts))
    if n_threads == 1:
        return [do(number) for number in range(len(parts))]
    try:
        return undisturbed(run)
    except KeyboardInterrupt:
        _stop(parts)
        raise


def _stop(parts: Iterable[Work]) -> None:
    for part in parts:
        part.stop()


def _n_threads(n_jobs: int | None) -> int:
    backend, _ = get_active_backend(prefer="threads")
    return int(effective_n_jobs(n_jobs)) if getattr(backend, "supports_sharedmem", False) else 1
