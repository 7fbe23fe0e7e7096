"""A claim of a paper, how it is examined, and what an examination found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Ruling(StrEnum):
    """What a run found about a claim; `INCONSISTENT` is never the expected ruling."""

    TRUE = "true"
    REPAIRED = "true, printed proof repaired"
    FALSE = "false as printed"
    INCONSISTENT = "inconsistent"
    NOT_RUN = "not run"


PROVED = "proved"
EXHAUSTIVE = "exhaustive"
CERTIFICATE = "certificate"
COUNTEREXAMPLE = "counterexample"
"""Kinds of evidence: a proof that a machine has read, every case of a stated size, an object that anyone can check."""


def sample_of(n: int) -> str:
    """Name the weakest kind of evidence: n cases drawn at random."""
    return f"sample of {n}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim before it is examined.

    Attributes
    ----------
    text : str
        What is claimed.
    where : str
        The source: authors and place.
    expected : Ruling
        What the project states.
    examine : callable
        Takes a seeded generator; returns the ruling and the evidence.
    kind : str
        What kind of evidence that is: `PROVED`, `EXHAUSTIVE`, `CERTIFICATE`, `COUNTEREXAMPLE` or `sample_of(n)`.
    """

    text: str
    where: str
    expected: Ruling
    examine: Callable[[np.random.Generator], tuple[Ruling, str]]
    kind: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim after it was examined: one row of the table.

    Attributes
    ----------
    claim : str
        What is claimed.
    where : str
        The source: authors and place.
    verdict : Ruling
        What this run found.
    expected : Ruling
        What the project states; a run that finds something else has failed.
    kind : str
        What kind of evidence there is; see `Claim`.
    evidence : str
        What was computed, in one line.
    runtime_s : float
    """

    claim: str
    where: str
    verdict: Ruling
    expected: Ruling
    kind: str
    evidence: str
    runtime_s: float

    @property
    def passed(self) -> bool:
        """Whether the verdict is the expected one; a check that could not be run has shown nothing."""
        return self.verdict == self.expected

    def __str__(self) -> str:
        return f"[{self.verdict}; {self.kind}] {self.claim} ({self.where}): {self.evidence}"
