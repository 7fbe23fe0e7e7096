"""A counterexample to a claim about a formulation: a small problem and the point that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from formulations.base import Formulation
from ipforest._internal.rational import written_fraction
from ipforest._internal.records import json_object
from proofs.integrality.vertices import Vector
from proofs.study.problem import Problem
from proofs.study.sketch import Sketch

__all__ = ["Refutation", "Violation", "shrink"]

SHARE_DENOMINATOR = 5040
"""Shares that a reader computes in floats are fractions of at most this denominator."""
MAX_ATTEMPTS = 2000
"""Problems that the shrinker tries."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong of one problem.

    Parameters
    ----------
    text : str
        One sentence.
    point : tuple of Fraction
        The point of the program that shows it; empty if there is none.
    kept : tuple of Fraction
        How far it keeps each internal node.
    """

    text: str
    point: Vector = ()
    kept: Vector = ()


Check = Callable[[Formulation, Problem], Violation | None]
"""Looks for a violation of one claim in one problem."""


@dataclass(frozen=True, slots=True, eq=False)
class Refutation:
    """A claim that a problem refutes; saved as JSON, drawn by `proofs.study.drawing.draw_refutation`.

    Parameters
    ----------
    formulation, claim : str
    problem : Problem
    text : str
        What is wrong of it, in one sentence.
    point : dict
        The point that shows it, by column; empty if there is none.
    kept : tuple of Fraction
        How far it keeps each internal node.
    """

    formulation: str
    claim: str
    problem: Problem
    text: str
    point: dict[str, Fraction]
    kept: Vector

    def to_json(self) -> str:
        """Write it as JSON: `problem` as `Problem.to_json` does, exact numbers as "p/q"."""
        return json.dumps(
            {
                "formulation": self.formulation,
                "claim": self.claim,
                "text": self.text,
                "point": {name: str(value) for name, value in self.point.items()},
                "kept": [str(value) for value in self.kept],
                "problem": json.loads(self.problem.to_json()),
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Refutation:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            The text is none.
        """
        content: dict[str, Any] = json_object(text)
        try:
            return cls(
                content["formulation"],
                content["claim"],
                Problem.from_json(json.dumps(content["problem"])),
                content["text"],
                {name: written_fraction(value, name) for name, value in content["point"].items()},
                tuple(written_fraction(value, "kept") for value in content["kept"]),
            )
        except (AttributeError, KeyError, TypeError) as problem:
            raise ValueError(f"text: expected a refutation written by to_json, got: {problem!r}") from None

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.point.items() if value)
        return f"{self.problem}: {self.text}{f' ({values})' if values else ''}"


def shrink(
    formulation: Formulation, claim: str, problem: Problem, check: Check, names: Callable[[Problem], tuple[str, ...]]
) -> Refutation:
    """Make a problem smaller as long as a check finds a violation in it.

    Trees, examples, subtrees and needs are left out, then errors, prices, lambda and the budget are made simpler, until
    no step goes on (or 2,000 problems were tried). After one that did, the search goes on with the next, and only then
    with those before it.

    Parameters
    ----------
    formulation : Formulation
    claim : str
    problem : Problem
        One in which the check finds a violation.
    check : callable
    names : callable
        Gives the columns of a problem's program.

    Raises
    ------
    ValueError
        The check finds nothing in the problem.
    """
    found = check(formulation, problem)
    if found is None:
        raise ValueError(
            "problem: expected one that the check refutes, got one without a violation; if it had one when asked "
            f"before, {formulation.name} builds another model at each call"
        )
    attempts = first = 0
    while attempts < MAX_ATTEMPTS:
        onwards = enumerate(islice(_steps(problem), first, None), first)
        for place, step in chain(onwards, enumerate(islice(_steps(problem), first))):
            attempts += 1
            smaller = step()
            there = check(formulation, smaller) if formulation.fits(smaller.instance) else None
            if there is not None:
                problem, found, first = smaller, there, place
                break
            if attempts == MAX_ATTEMPTS:
                break
        else:
            break
    point = dict(zip(names(problem), found.point, strict=True)) if found.point else {}
    return Refutation(formulation.name, claim, problem, found.text, point, found.kept)


def _steps(problem: Problem) -> Iterator[Callable[[], Problem]]:
    """Give what makes problems that are one step smaller; those that are passed over are never made."""
    for sketch in Sketch.of(problem.instance).smaller():
        yield partial(_sketched, sketch, problem)
    if problem.lam is not None:
        yield from (partial(Problem, problem.instance, lam=lam) for lam in _simpler(problem.lam))
    if problem.budget is not None:
        yield from (partial(Problem, problem.instance, budget=budget) for budget in _simpler(problem.budget))


def _sketched(sketch: Sketch, problem: Problem) -> Problem:
    return Problem(sketch.instance(), problem.lam, problem.budget)


def _simpler(value: Fraction) -> list[Fraction]:
    """List fractions >= 0 that are simpler, the simplest first."""
    half, whole = Fraction(1, 2), Fraction(round(value))
    candidates = {Fraction(1), half, Fraction(2), whole, value.limit_denominator(4), value.limit_denominator(16)}
    return sorted((other for other in candidates if _size(other) < _size(value)), key=_size)


def _size(value: Fraction) -> tuple[int, int, int]:
    return abs(value.numerator) + value.denominator + 9 * (value == 0), value.denominator, value.numerator


def as_vector(shares: np.ndarray[Any, np.dtype[np.float64]]) -> Vector:
    """Return shares that a reader computed in floats as fractions."""
    return tuple(Fraction(share).limit_denominator(SHARE_DENOMINATOR) for share in shares.tolist())
