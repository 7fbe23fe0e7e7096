"""A claim before it is examined, and what an examination may find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Ruling(StrEnum):
    """What a run found about a claim; `INCONSISTENT` is never the stated verdict."""

    TRUE = "true"
    REPAIRED = "true, printed proof repaired"
    FALSE = "false as printed"
    INCONSISTENT = "inconsistent"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Question:
    """A claim before it is examined.

    Attributes
    ----------
    claim, where : str
    expected : Ruling
        What the project states.
    examine : callable
        Takes a seeded generator; returns the verdict and the evidence.
    """

    claim: str
    where: str
    expected: Ruling
    examine: Callable[[np.random.Generator], tuple[Ruling, str]]
