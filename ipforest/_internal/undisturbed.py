"""Work that an interrupt cannot tear apart: it runs in a thread of its own, where Python raises nothing for a signal.

Python handles signals in the main thread, between any two instructions of it, and raises KeyboardInterrupt there; on
Windows and in notebooks likewise. So a state that several instructions change is changed in another thread, and the
main thread waits. An interrupt ends the waiting and nothing else. What it left behind is waited for before the state is
used again.

Nothing that the waiting thread does here takes effect by halves. It starts threads and waits for them by `_thread`,
since those of `threading` keep locks of their own that an interrupt can leave in the wrong state.
"""

from __future__ import annotations

import signal
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

R = TypeVar("R")

MAX_WAIT_S = 0.5
"""On Windows an interrupt is seen at the end of a wait."""


class Undisturbed:
    """Runs pieces of work one after another, each whole or not at all; one thread at a time may ask for it."""

    def __init__(self) -> None:
        self._latest: _Work[Any] | None = None

    def settle(self) -> None:
        """Wait until what was begun has ended."""
        if self._latest is not None:
            self._latest.settle()

    def run(self, work: Callable[[], R]) -> R:
        """Run some work in another thread, after what was begun before has ended.

        Raises
        ------
        Exception
            What the work raised.
        KeyboardInterrupt
            There was an interrupt; the work goes on, or never begins.
        """
        self.settle()
        latest = _Work(work)
        self._latest = latest
        start_new_thread(latest.begin, ())
        return latest.result()


def undisturbed(work: Callable[[], R]) -> R:
    """Run some work on no state that outlives it, in another thread; see `Undisturbed.run`."""
    return Undisturbed().run(work)


@contextmanager
def started_without_interrupts() -> Iterator[None]:
    """Start worker processes in the block that see no interrupt of the terminal: this process ends them.

    An interrupt that reaches this thread is raised at the end of the block; one that reaches another thread, at once.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Work(Generic[R]):
    """A piece of work; whatever is interrupted in its methods can be called again."""

    def __init__(self, work: Callable[[], R]) -> None:
        self._work = work
        self._fate: dict[str, bool] = {}
        self._is_over = False
        self._latch = allocate_lock()
        self._latch.acquire()
        self._value: R
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Do the work, unless it was given up; this runs in its own thread."""
        if not self._fate.setdefault("begins", True):
            return
        try:
            self._value = self._work()
        except BaseException as error:  # raised in the thread that waits
            self._error = error
        self._is_over = True
        self._latch.release()

    def _wait(self) -> None:
        while not self._is_over:
            self._latch.acquire(timeout=MAX_WAIT_S)

    def settle(self) -> None:
        """Wait until the work is over; if it has not begun, it never will."""
        if self._fate.setdefault("begins", False):
            self._wait()

    def result(self) -> R:
        """Wait until the work is over, and return what it gave or raise what it raised."""
        self._wait()
        if self._error is not None:
            raise self._error
        return self._value
