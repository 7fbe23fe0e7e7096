"""What one method said, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from ipforest.results import BudgetResult, PruningResult


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
        Whether the objective is the least that any method found.
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

    @classmethod
    def of(
        cls,
        method: str,
        result: PruningResult | BudgetResult,
        objective: Fraction,
        *,
        is_best: bool,
        problems: Iterable[str],
    ) -> Self:
        """Take what a result reports."""
        return cls(
            method=method,
            status=str(result.status),
            objective=objective,
            bound=result.bound,
            n_kept=result.pruning.n_kept,
            runtime_s=result.runtime_s,
            is_best=is_best,
            problems=tuple(problems),
        )
