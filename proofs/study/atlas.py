"""The atlas: what the laboratory says of each variant of the pruning problem, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from formulations.base import Formulation
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.records import records_to_markdown, to_record
from proofs.corners import larger_problems, telling_problems
from proofs.study import checks, matrices
from proofs.study.problem import Problem, random_problem
from proofs.study.programs import ExactProgram
from proofs.study.refutation import Refutation, shrink
from proofs.study.study import INTEGRAL

__all__ = ["Atlas", "Entry", "Standing", "atlas", "is_closure"]

MAX_NODES = 3
"""Internal nodes of the problems, at most."""
MAX_COLUMNS = 10
"""All 0-1 points and all vertices are enumerated of programs with at most so many columns."""


class Standing(StrEnum):
    """What is known of the vertices of a variant's relaxation."""

    PROVED = "proved integral"
    CERTIFIED = "certified on each problem"
    REFUTED = "refuted"
    OPEN = "open"


EVIDENCE = {
    Standing.PROVED: "each row is a difference of two variables: a closure, one minimum cut",
    Standing.CERTIFIED: "a certificate of total unimodularity on each problem",
    Standing.OPEN: "no fractional vertex was found, and no certificate",
}


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One variant in the atlas.

    Parameters
    ----------
    name, title : str
    problems : int
        On how many small problems it was looked at.
    fault : str
        Why its 0-1 program does not state its problem; empty if nothing refutes it.
    standing : Standing
    evidence : str
    exact : int
        On how many problems the relaxation's bound is the optimum.
    mean_gap, largest_gap : Fraction
        Optimum less bound, as a part of the optimum (of 1 where that is 0), over all problems.
    refutation : Refutation or None
        The smallest problem found with a fractional vertex.
    """

    name: str
    title: str
    problems: int
    fault: str
    standing: Standing
    evidence: str
    exact: int
    mean_gap: Fraction
    largest_gap: Fraction
    refutation: Refutation | None = None

    def row(self) -> dict[str, object]:
        """Return the entry as a row of the table."""
        return {
            "variant": self.name,
            "states its problem": self.fault or f"on all {self.problems}",
            "integral": self.standing,
            "evidence": self.evidence,
            "exact bounds": f"{self.exact} of {self.problems}",
            "mean gap": f"{float(self.mean_gap):.1%}",
            "largest gap": f"{float(self.largest_gap):.1%}",
        }


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """The table of variants; true as a truth value if none was found wrong.

    Parameters
    ----------
    entries : tuple of Entry
    seed : int
    """

    entries: tuple[Entry, ...]
    seed: int

    def __bool__(self) -> bool:
        return not any(entry.fault for entry in self.entries)

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """Write the table in Markdown."""
        return records_to_markdown([entry.row() for entry in self.entries])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON types, exact numbers as "p/q"."""
        names = [name for name in Entry.__slots__ if name != "refutation"]
        return {"seed": self.seed, "entries": [to_record(entry, names) for entry in self.entries]}


def atlas(
    variants: Iterable[Formulation] | None = None,
    problems: int = 16,
    seed: int = 0,
    progress: ProgressCallback = silent,
) -> Atlas:
    """Ask the laboratory about each variant.

    Parameters
    ----------
    variants : iterable of Formulation, optional
        By default those of `formulations.variants.VARIANTS`.
    problems : int
        How many small random problems each is looked at on.
    seed : int
        Of the problems.
    progress : callable
    """
    if variants is None:
        from formulations.variants import VARIANTS

        variants = VARIANTS.values()
    if problems < 1:
        raise ValueError(f"problems: expected 1 or more, got {problems}")
    asked, entries = list(variants), []
    for place, variant in enumerate(asked):
        progress(place / len(asked), variant.name)
        entries.append(_entry(variant, problems, seed))
    progress(1.0, "done")
    return Atlas(tuple(entries), seed)


def is_closure(program: ExactProgram) -> bool:
    """Return whether bounds are integers and each row says x <= y: the transpose of a graph's incidence matrix."""
    return all(bound.denominator == 1 for bound in (*program.lower, *program.upper)) and all(
        side == 0 and sorted(entries.values()) == [-1, 1] and sense in ("<=", ">=")
        for entries, sense, side in program.rows
    )


def _entry(variant: Formulation, count: int, seed: int) -> Entry:
    rng = np.random.default_rng([seed, MAX_NODES])
    problems = [random_problem(rng, variant.takes, variant.one_tree, 1 + n % MAX_NODES) for n in range(count)]
    standing, evidence, refutation = _standing(variant, problems)
    gaps = [_gap(variant, problem) for problem in problems]
    return Entry(
        variant.name,
        variant.reason,
        count,
        next(filter(None, (_fault(variant, problem) for problem in problems)), ""),
        standing,
        evidence,
        gaps.count(Fraction(0)),
        sum(gaps, Fraction(0)) / count,
        max(gaps),
        refutation,
    )


def _is_small(variant: Formulation, problem: Problem) -> bool:
    return len(checks.program_of(variant, problem).columns) <= MAX_COLUMNS


def _fault(variant: Formulation, problem: Problem) -> str:
    """Say why the 0-1 program does not state the variant's problem: by enumeration where it is small."""
    looks: list[Callable[[Formulation, Problem], Any]] = [checks.solves]
    if _is_small(variant, problem):
        looks += [checks.points_are_prunings, checks.prunings_have_points]
    return next((f"{found.text} ({problem})" for look in looks if (found := look(variant, problem))), "")


def _standing(variant: Formulation, problems: Sequence[Problem]) -> tuple[Standing, str, Refutation | None]:
    asked = chain(problems, _larger(variant))
    if all(is_closure(checks.program_of(variant, problem, relaxed=True)) for problem in asked):
        return Standing.PROVED, EVIDENCE[Standing.PROVED], None
    for problem in problems:
        for look in (checks.integral_by_objectives, checks.integral_vertices)[: 1 + _is_small(variant, problem)]:
            if look(variant, problem) is not None:
                found = shrink(variant, INTEGRAL, problem, look, lambda p: checks.program_of(variant, p).columns)
                values = ", ".join(f"{name} = {value}" for name, value in found.point.items() if value.denominator > 1)
                return Standing.REFUTED, f"{found.problem}: {values}", found
    certified = all(
        matrices.has_integral_sides(variant, problem) and matrices.totally_unimodular(variant, problem) is None
        for problem in problems
    )
    standing = Standing.CERTIFIED if certified else Standing.OPEN
    return standing, EVIDENCE[standing], None


def _larger(variant: Formulation) -> Iterator[Problem]:
    """Make the problems on which a row of another kind would stand that small ones do not need."""
    for instance, number in chain(telling_problems(variant), larger_problems(variant)):
        yield Problem(instance, **variant.numbers(number))


def _gap(variant: Formulation, problem: Problem) -> Fraction:
    """Return by how much the relaxation's bound is below the optimum, as a part of it."""
    best = min(problem.every_worth(variant).values())
    return (best - checks.bound_of(variant, problem)) / (abs(best) or Fraction(1))
