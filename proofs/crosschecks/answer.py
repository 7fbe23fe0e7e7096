"""What one method said, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.results import BudgetResult, PruningResult

Result = TypeVar("Result")


def results_of(
    methods: Mapping[str, Callable[[PruningInstance, Fraction], Result]],
    instance: PruningInstance,
    number: Fraction,
    kind: str,
) -> dict[str, Result]:
    """Ask methods one after another; those that refuse delayed tests, as they may, are left out.

    Parameters
    ----------
    methods : mapping from str to callable
    instance : PruningInstance
    number : Fraction
        Lambda or a budget, which `kind` says.
    kind : str

    Raises
    ------
    ValueError
        A method changes the instance.
    BaseException
        Whatever a method raises goes on, with the name of the method.
    """
    found = {}
    before = instance.fingerprint()
    for name, method in methods.items():
        try:
            found[name] = method(instance, number)
        except KeyboardInterrupt as interrupt:  # of a method that does not end
            interrupt.add_note(f"in the method {name!r} at {kind} {number}")
            raise
        except Exception as failure:  # goes on with the method's name, unless it refuses delayed tests
            if instance.in_rounds and isinstance(failure, ValueError) and "delayed" in str(failure):
                continue
            changed = "" if instance.fingerprint() == before else ", which changed the instance"
            failure.add_note(f"raised by the method {name!r} at {kind} {number}{changed}")
            raise
        if instance.fingerprint() != before:
            raise ValueError(f"methods: expected those that leave the instance alone, got {name!r}, which changed it")
    return found


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
