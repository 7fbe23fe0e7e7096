"""How far training has come, and whether its time is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Self, TypeVar

from ipforest._internal.progress import ProgressCallback, silent

T = TypeVar("T")


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

    Attributes
    ----------
    left_out : list of str
        What was not made for lack of time.
    """

    report: ProgressCallback = silent
    until: float = inf
    begin: float = 0.0
    end: float = 1.0
    left_out: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self.until

    def part(self, number: int, n_parts: int) -> Self:
        """Return the work of one of so many parts; what it leaves out this one leaves out."""
        width = (self.end - self.begin) / n_parts
        return replace(self, begin=self.begin + number * width, end=self.begin + (number + 1) * width)

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
        for number, each in enumerate(made, 1):
            share = min(1.0, number / expected)
            self.report(self.begin + share * (self.end - self.begin), f"{name}: {number} models")
            yield each
            if self.is_over:
                self.left_out.append(f"{name} after {number} models")
                return
        self.report(self.end, "")
