"""What one method said, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What one method said, and what is wrong with it.

    Parameters
    ----------
    method : str
    status : str
    objective, bound : Fraction
        As reported; error and its bound for a budget.
    n_kept : int
    runtime_s : float
    is_best : bool
        Whether the objective is the least that anyone found.
    problems : tuple of str
        Empty if nothing is wrong.
    """

    method: str
    status: str
    objective: Fraction
    bound: Fraction
    n_kept: int
    runtime_s: float
    is_best: bool
    problems: tuple[str, ...]
