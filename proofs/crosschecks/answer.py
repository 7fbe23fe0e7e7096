"""What one method said, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import TYPE_CHECKING, Self, TypeVar

from ipforest._internal.arrays import one_line

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.results import BudgetResult, PruningResult

Result = TypeVar("Result")

FAILED = "failed"


def results_of(
    methods: Mapping[str, Callable[[PruningInstance, Fraction], Result]],
    instance: PruningInstance,
    number: Fraction,
    kind: str,
) -> tuple[dict[str, Result], list[Answer]]:
    """Ask methods one after another; those that refuse delayed tests, as they may, are left out.

    Parameters
    ----------
    methods : mapping from str to callable
    instance : PruningInstance
    number : Fraction
        Lambda or a budget, which `kind` says.
    kind : str

    Returns
    -------
    results : dict
    failures : list of Answer
        Of the methods that raise an error.

    Raises
    ------
    ValueError
        A method changes the instance, so that no other can be asked about it.
    KeyboardInterrupt
        With the name of the method that is interrupted.
    """
    found, failures = {}, []
    before = instance.fingerprint()
    for name, method in methods.items():
        started = perf_counter()
        try:
            found[name] = method(instance, number)
        except KeyboardInterrupt as interrupt:  # of a method that does not end
            interrupt.add_note(f"in the method {name!r} at {kind} {number}")
            raise
        except Exception as failure:  # whatever a user's own method raises is its answer, refusals of delays apart
            if not (instance.in_rounds and isinstance(failure, ValueError) and "delayed" in str(failure)):
                failures.append(Answer.failed(name, failure, perf_counter() - started))
        if instance.fingerprint() != before:
            raise ValueError(f"methods: expected those that leave the instance alone, got {name!r}, which changed it")
    return found, failures


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What one method said, and what is wrong with it.

    Parameters
    ----------
    method : str
    status : str
        `FAILED` where it raised an error.
    objective, bound : Fraction or None
        As reported; error and its bound for a budget. None if it failed.
    n_kept : int
    runtime_s : float
    is_best : bool
        Whether the objective is the least that any method found.
    problems : tuple of str
        Empty if nothing is wrong.
    """

    method: str
    status: str
    objective: Fraction | None
    bound: Fraction | None
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

    @classmethod
    def failed(cls, method: str, failure: Exception, runtime_s: float) -> Self:
        """Take the error that a method raised, with its notes and the line that it comes from."""
        place = extract_tb(failure.__traceback__)[-1]
        told = "; ".join(map(one_line, [failure, *getattr(failure, "__notes__", [])]))
        problem = f"raised {type(failure).__name__} in {Path(place.filename).name}, line {place.lineno}: {told}"
        return cls(method, FAILED, None, None, 0, runtime_s, is_best=False, problems=(problem,))
