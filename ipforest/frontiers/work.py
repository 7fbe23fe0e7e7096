"""How far training has come, and whether its time is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Self, TypeVar

from ipforest._internal.progress import ProgressCallback, silent
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
    begin, end : float
        Which share of the whole this is.
    may_end : bool
        Whether something is made already; till then the work goes on.

    Attributes
    ----------
    left_out : list of str
        What was not made for lack of time.
    """

    report: ProgressCallback = silent
    until: float = inf
    begin: float = 0.0
    end: float = 1.0
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

    def part(self, number: int, n_parts: int) -> Self:
        """Return the work of one of so many parts, of which those before are done; it leaves out what this one does."""
        width, may_end = (self.end - self.begin) / n_parts, self.may_end or number > 0
        return replace(self, begin=self.begin + number * width, end=self.begin + (number + 1) * width, may_end=may_end)

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
                share = min(1.0, number / expected)
                self.report(self.begin + share * (self.end - self.begin), f"{name}: {counted(number, 'model')}")
                yield each
                self.may_end = True
                if number != expected:
                    self.check()
        except TimeIsOver:
            self.left_out.append(f"{name} after {counted(number, 'model')}")
            return
        self.report(self.end, "")
