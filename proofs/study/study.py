"""The study of a formulation: what was asked, what was found, and by which kind of evidence.

Each claim is looked at on small problems of a seed: where a program has few 0-1 points or vertices, all of them; else
the solver's, made exact. The first problem that refutes a claim is made as small as it goes (`refutation.shrink`).
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from formulations.base import Formulation
from formulations.other_solvers import available_pyomo_solvers
from formulations.registry import FORMULATIONS
from formulations.registry import formulation as formulation_named
from formulations.solver_answers import solvers_table
from ipforest._internal.files import write_text
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.records import to_record
from ipforest.instance import PruningInstance
from ipforest.solvers.highs import NoOptimumError, run, run_first_order
from ipforest.solvers.linear_program import LinearProgram
from proofs.corners import corner_numbers, crowded_instances, larger_problems, problems_of_many_trees, telling_problems
from proofs.crosschecks.fitted_problems import draw_fitted_problem
from proofs.study import checks, matrices
from proofs.study.cuts import missing_inequalities
from proofs.study.problem import Problem, random_problem
from proofs.study.projection import NoMapError, Outcome, projection
from proofs.study.refutation import Check, Refutation, Violation, shrink
from proofs.study.size_laws import size_law
from proofs.study.sketch import Sketch

__all__ = ["Evidence", "Row", "Study", "study"]

MAX_NODES_OF_NAPKIN = 3
"""Internal nodes of the small problems, at most."""
MAX_NODES = 6
"""Internal nodes of the problems on which only optima are compared, at most."""
PROJECTED = 8
"""Small problems on which the relaxation is projected onto another."""


class Evidence(StrEnum):
    """How a row of a study is known."""

    CERTIFICATE = "proved by certificate"
    EXHAUSTIVE = "exhaustive on small problems"
    SAMPLE = "sample"
    REFUTED = "refuted by a counterexample"
    FITTED = "solved and checked on fresh instances"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """What was found about one claim.

    Parameters
    ----------
    topic, claim : str
    holds : bool or None
        Whether no problem refuted it; None for a number that is measured.
    evidence : Evidence
    problems : int
        On how many problems it was looked at.
    detail : str
    refutation : Refutation or None
        The smallest problem found that refutes it.
    """

    topic: str
    claim: str
    holds: bool | None
    evidence: Evidence
    problems: int
    detail: str = ""
    refutation: Refutation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON types."""
        record = to_record(self, ["topic", "claim", "holds", "evidence", "problems", "detail"])
        return {**record, "refutation": None if self.refutation is None else json.loads(self.refutation.to_json())}


VALID, RELAXATION, MATRIX, SIZE, TIME = "valid", "relaxation", "matrix", "size", "time"
INTEGRAL = "every vertex of the relaxation is 0-1"
EXACT = "the bound is the best pruning's objective"


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What is known of a formulation.

    Parameters
    ----------
    formulation : str
    promised : bool or None
        Whether it says of itself that all vertices are 0-1.
    rows : tuple of Row
    seed : int
    runtime_s : float
    """

    formulation: str
    promised: bool | None
    rows: tuple[Row, ...]
    seed: int
    runtime_s: float

    @property
    def valid(self) -> bool:
        """Whether nothing refutes that the 0-1 program states the pruning problem."""
        return all(row.holds for row in self.rows if row.topic == VALID)

    @property
    def integral(self) -> bool:
        """Whether no fractional vertex was found; at one a bound is below the best pruning's objective."""
        return all(row.holds for row in self.rows if row.claim.startswith((INTEGRAL, EXACT)))

    def __bool__(self) -> bool:
        return self.valid and (self.integral or self.promised is not True)

    @property
    def refutations(self) -> tuple[Refutation, ...]:
        """The counterexamples."""
        return tuple(row.refutation for row in self.rows if row.refutation is not None)

    def row(self, claim: str) -> Row:
        """Return the row whose claim starts so.

        Raises
        ------
        KeyError
            There is none.
        """
        for row in self.rows:
            if row.claim.startswith(claim):
                return row
        raise KeyError(claim)

    def verdict(self) -> str:
        """Say in one line what follows."""
        if not self.valid:
            return f"{self.formulation} is wrong: its 0-1 points are not the prunings with their objectives"
        if not self:
            return f"{self.formulation} promises integral vertices; a fractional one was found"
        kind = "no fractional vertex was found" if self.integral else "its relaxation has fractional vertices"
        return f"{self.formulation}: nothing refutes that it is right; {kind}"

    def __str__(self) -> str:
        claims = (f"  {claim}: {': '.join(filter(None, told))}" for _, claim, *told in map(_cells, self.rows))
        return "\n".join([self.verdict(), *claims])

    __repr__ = __str__

    def to_rich(self) -> Any:
        """Lay the study out as a `rich.table.Table`."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"Study of {self.formulation}", caption=self.verdict(), show_lines=True)
        for heading, ratio in (("topic", 2), ("claim", 5), ("found", 2), ("evidence", 4), ("detail", 8)):
            table.add_column(heading, ratio=ratio, overflow="fold")
        for row in self.rows:
            style = {True: "green", False: "bold red" if row.topic == VALID else "yellow", None: ""}[row.holds]
            found = Text(_found(row), style)
            table.add_row(Text(row.topic), Text(row.claim), found, Text(_evidence(row)), Text(_detail(row)))
        return table

    def summary(self, console: Any = None) -> None:
        """Print the study on the terminal, or on a `rich.console.Console`."""
        from rich.console import Console

        shown = Console(markup=False, emoji=False, highlight=False) if console is None else console
        shown.print(self.to_rich())

    def to_dict(self) -> dict[str, Any]:
        """Return the study as JSON types."""
        return {
            "formulation": self.formulation,
            "verdict": self.verdict(),
            "valid": self.valid,
            "integral": self.integral,
            "promised_integral": self.promised,
            "seed": self.seed,
            "runtime_s": self.runtime_s,
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        """Write the study as JSON, exact numbers as "p/q"."""
        return json.dumps(self.to_dict(), indent=1)

    def to_html(self, path: str | Path) -> Path:
        """Write the study as one page, with the counterexamples drawn."""
        from proofs.study.drawing import refutation_as_svg

        cells = "\n".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in self.rows
        )
        figures = "\n".join(
            f"<h2>{html.escape(found.claim)}</h2><p>{html.escape(str(found))}</p>{refutation_as_svg(found)}"
            for found in self.refutations
        )
        name = html.escape(self.formulation)
        page = PAGE.format(name=name, verdict=html.escape(self.verdict()), cells=cells, figures=figures)
        return write_text(path, page)


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Study of {name}</title>
<style>body {{ font-family: sans-serif; max-width: 70em; margin: 2em auto; color: #33415c }}
td, th {{ border-bottom: 1px solid #b8c0cc; padding: .4em; text-align: left; vertical-align: top }}
svg {{ max-width: 100%; height: auto }}</style></head>
<body><h1>Study of {name}</h1><p>{verdict}</p>
<table><tr><th>topic</th><th>claim</th><th>found</th><th>evidence</th><th>detail</th></tr>
{cells}
</table>
{figures}
</body></html>
"""


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    return row.topic, row.claim, _found(row), _evidence(row), _detail(row)


def _found(row: Row) -> str:
    return {True: "holds", False: "fails", None: "-"}[row.holds]


def _evidence(row: Row) -> str:
    return f"{row.evidence}, {row.problems} problem{'s' if row.problems != 1 else ''}"


def _detail(row: Row) -> str:
    return row.detail if row.refutation is None else f"{row.refutation} {row.detail}".strip()


def study(
    formulation: str | Formulation,
    instances: int | Sequence[PruningInstance] = 24,
    seed: int = 0,
    progress: ProgressCallback = silent,
) -> Study:
    """Ask everything about a formulation.

    Parameters
    ----------
    formulation : str or Formulation
        A name in `formulations.FORMULATIONS`, or a formulation that need not be registered.
    instances : int or sequence of PruningInstance
        How many small random problems each claim is looked at on, or the instances to take, of at most a dozen internal
        nodes.
    seed : int
        Of the random problems.
    progress : callable

    Returns
    -------
    Study
        True if nothing refutes that it is right, nor its promise of integral vertices.

    Raises
    ------
    ValueError
        An unknown name, no instances, or a program that is not linear or has variables without bounds.
    ArithmeticError
        Coefficients that floats of a solver do not tell apart, of a program that nothing refutes.
    TypeError
        The formulation builds no Pyomo model, or `instances` is an instance outside a list.
    """
    known = formulation_named(formulation)
    started = perf_counter()
    looked = _Look(known, instances, seed)
    rows: list[Row] = []
    parts = (looked.validity, looked.relaxation, looked.strength, looked.matrix, looked.size, looked.time)
    for place, part in enumerate(parts):
        progress(place / len(parts), part.__name__)
        try:
            rows += part()
        except (ArithmeticError, NoOptimumError, ValueError) as unknown:
            if all(row.holds for row in rows if row.topic == VALID):
                raise
            told = f"not known of a program that is wrong: {unknown}"
            rows.append(Row(part.__name__, "what else is asked", None, Evidence.MEASURED, 0, told))
    progress(1.0, "done")
    return Study(known.name, known.integral, tuple(rows), seed, perf_counter() - started)


class _Look:
    """One run: the problems of a seed, and what each part of the study finds in them."""

    def __init__(self, formulation: Formulation, instances: int | Sequence[PruningInstance], seed: int) -> None:
        self.formulation, self.seed = formulation, seed
        self.fractional: Problem | None = None
        self.telling: list[Problem] = []
        self.largest: list[Problem] = []
        self.crowds: list[Problem] = []
        if isinstance(instances, int):
            if instances < 1:
                raise ValueError(f"instances: expected 1 or more, got {instances}")
            self.small = list(islice(self._draw(MAX_NODES_OF_NAPKIN), instances))
            self.large = list(islice(self._draw(MAX_NODES), instances))
            self.telling = self._problems(telling_problems(self.formulation))
            self.largest = self._problems(larger_problems(self.formulation))
            if self.formulation.takes != "nothing" and not self.formulation.variant:
                self.largest += self._problems(problems_of_many_trees(self.formulation))
            crowds = filter(formulation.fits, crowded_instances())
            self.crowds = self._problems((each, corner_numbers(each, formulation.takes)[0]) for each in crowds)
        elif isinstance(instances, PruningInstance):
            raise TypeError("instances: expected a number or a list of PruningInstance, got one outside a list")
        else:
            if not instances:
                raise ValueError("instances: expected one or more, got none")
            self.small = self.large = [self._asked(number, given) for number, given in enumerate(instances)]

    def _draw(self, max_internal: int) -> Iterator[Problem]:
        """Draw problems of one internal node, then of more."""
        rng = np.random.default_rng([self.seed, max_internal])
        number = 0
        while True:
            most = 1 + number % max_internal
            number += 1
            yield random_problem(rng, self.formulation.takes, self.formulation.one_tree, most)

    def _problems(self, source: Iterable[tuple[PruningInstance, Fraction | None]]) -> list[Problem]:
        """Take instances and numbers with which `ipforest.testing.check_formulation` finds faults."""
        return [Problem(instance, **self.formulation.numbers(number)) for instance, number in source]

    def _asked(self, number: int, instance: PruningInstance) -> Problem:
        self.formulation.check_instance(instance)
        rng = np.random.default_rng([self.seed, number])
        share = Fraction(int(rng.integers(0, 9)), 8)
        error, cost = instance.evaluate(instance.unpruned)
        saved = instance.evaluate(instance.roots_only)[0] - error
        lam = abs(saved) * share * 2 / cost if cost else share
        return Problem(instance, **self.formulation.numbers(lam if self.formulation.takes == "lam" else cost * share))

    def validity(self) -> list[Row]:
        looked_at = [*self.small, *self.telling]
        few = [problem for problem in looked_at if checks.has_few_columns(self.formulation, problem)]
        exhaustive: list[tuple[str, Check]] = [
            ("every 0-1 point is a pruning of at most its objective", checks.points_are_prunings),
            ("every pruning has a 0-1 point of its objective", checks.prunings_have_points),
        ]
        rows = [self._row(VALID, claim, check, few, Evidence.EXHAUSTIVE) for claim, check in exhaustive] if few else []
        cut = self.formulation.takes == "lam" and not self.formulation.variant
        others = "brute force and minimum cut" if cut else "brute force"
        optimum = f"the optimum is that of {others}"
        problems = [*looked_at, *self.large, *self.largest]
        return [*rows, self._row(VALID, optimum, checks.solves, problems, Evidence.SAMPLE)]

    def relaxation(self) -> list[Row]:
        rows, few = [], self._with_few_columns()
        if few:
            claim = f"{INTEGRAL} (all vertices)"
            rows.append(self._row(RELAXATION, claim, checks.integral_vertices, few, Evidence.EXHAUSTIVE))
        claim = f"{INTEGRAL} (random objectives)"
        rows.append(
            self._row(RELAXATION, claim, checks.integral_by_objectives, [*self.large, *self.crowds], Evidence.SAMPLE)
        )
        found = next((row.refutation for row in rows if row.refutation is not None), None)
        self.fractional = None if found is None else found.problem
        return [*rows, self._fractional_optima(), *(self._missing(found) if found is not None else [])]

    def _missing(self, found: Refutation) -> list[Row]:
        """Look for the inequalities that the counterexample's relaxation lacks, if all its variables are integer."""
        whole = checks.program_of(self.formulation, found.problem).program.integer.all()
        if self.formulation.takes == "budget" or not whole:
            return []
        closure = missing_inequalities(self.formulation, found.problem.instance, found.problem.lam or 0)
        claim = "Chvatal-Gomory cuts cut all fractional vertices of the counterexample off"
        cuts = "; ".join(map(str, closure.cuts))
        detail = f"rank {closure.rank}: {cuts}" if cuts else "none found"
        evidence = Evidence.EXHAUSTIVE if closure.integral else Evidence.SAMPLE
        return [Row(RELAXATION, claim, closure.integral, evidence, 1, detail)]

    def _fractional_optima(self) -> Row:
        fractional, tried = 0, 0
        for problem in self.large:
            program = checks.program_of(self.formulation, problem, relaxed=True)
            broken = checks.fractional_at(self.formulation, problem)
            for objective in checks.random_objectives(program):
                optimum = program.optimum(objective)
                tried += 1
                fractional += optimum is not None and broken(optimum.point)
        share = f"{fractional} of {tried}"
        return Row(
            RELAXATION,
            "optima of random objectives that are fractional",
            None,
            Evidence.MEASURED,
            len(self.large),
            share,
        )

    def strength(self) -> list[Row]:
        looked_at = [*self.large, *self.telling]
        rows = [self._row(RELAXATION, EXACT, checks.is_exact, looked_at, Evidence.SAMPLE)]
        if self.formulation.variant:
            return rows
        if self.formulation.takes == "lam":
            rows.append(self._gap_closed())
        rival = {"lam": "ip1", "budget": "lp1", "nothing": "ip0"}[self.formulation.takes]
        if self.formulation.name != rival:
            fitting = [problem for problem in looked_at if FORMULATIONS[rival].fits(problem.instance)]
            claim = f"the bound is no weaker than {rival}'s"
            rows.append(self._row(RELAXATION, claim, checks.no_weaker_than(rival), fitting, Evidence.SAMPLE))
        return [*rows, *self._projection()]

    def _projection(self) -> list[Row]:
        """Say how the relaxation lies over that of a strong one, where it is fractional and on small problems."""
        target = {"lam": "ip3", "budget": "lp1"}.get(self.formulation.takes)
        if target == self.formulation.name:
            target = {"ip3": "compact"}.get(target)
        if target is None:
            return []
        claim, optima = f"the relaxation projects onto {target}'s", 0
        asked = ([] if self.fractional is None else [self.fractional]) + self.small[:PROJECTED]
        fitting = [problem for problem in asked if FORMULATIONS[target].fits(problem.instance)]
        for place, problem in enumerate(fitting):
            try:
                found = projection(self.formulation, target, problem)
            except NoMapError as unknown:
                return [Row(RELAXATION, claim, None, Evidence.MEASURED, place + 1, f"not known: {unknown}")]
            optima += found.optima
            if not found:
                if found.outcome is Outcome.OPEN:
                    return [Row(RELAXATION, claim, None, Evidence.MEASURED, place + 1, str(found))]
                refuted = shrink(self.formulation, claim, problem, _not_onto(target), self._columns)
                return [Row(RELAXATION, claim, False, Evidence.REFUTED, place + 1, refutation=refuted)]
        detail = f"affine maps both ways, by {optima} exact optima"
        return [Row(RELAXATION, claim, True, Evidence.CERTIFICATE, len(fitting), detail)] if fitting else []

    def _gap_closed(self) -> Row:
        """Compare the bound with IP1's and IP3's where these differ."""
        naive, strong = formulation_named("ip1"), formulation_named("ip3")
        shares = []
        for problem in self.large:
            if not naive.fits(problem.instance):
                continue
            least, most = checks.bound_of(naive, problem), checks.bound_of(strong, problem)
            if least < most:
                bound = checks.program_of(self.formulation, problem, relaxed=True).optimum()
                unit = checks.unit_of(self.formulation, problem)
                shares.append(Fraction(0) if bound is None else (unit * bound.value - least) / (most - least))
        mean = sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)
        detail = f"{mean} of it on average ({float(mean):.0%})" if shares else "IP1 has no gap on these problems"
        return Row(RELAXATION, "gap between IP1 and IP3 that is closed", None, Evidence.MEASURED, len(shares), detail)

    def matrix(self) -> list[Row]:
        rows, few = self._unimodularity(), self._with_few_columns()
        if few and all(matrices.is_zero_one(self.formulation, problem) for problem in self.small):
            rows.append(self._row(MATRIX, "perfect", matrices.perfect, few, Evidence.EXHAUSTIVE))
            rows.append(self._row(MATRIX, "ideal", matrices.ideal, few, Evidence.EXHAUSTIVE))
        return rows

    def _unimodularity(self) -> list[Row]:
        problems = self.large
        certified = all(matrices.has_network(self.formulation, problem) for problem in problems)
        unimodular = self._row(
            MATRIX, "totally unimodular", matrices.totally_unimodular, problems, Evidence.CERTIFICATE
        )
        if unimodular.holds:
            how = "a network that the formulation states" if certified else "a certificate found for each"
            sides = all(matrices.has_integral_sides(self.formulation, problem) for problem in problems)
            consequence = "; right-hand sides are integers, so all vertices are" if sides else ""
            return [
                replace(unimodular, detail=how + consequence),
                *(
                    Row(MATRIX, claim, True, Evidence.CERTIFICATE, len(problems), "as it is totally unimodular")
                    for claim in ("balanced", "totally dual integral")
                ),
            ]
        hole = self._row(MATRIX, "balanced", matrices.balanced, problems, Evidence.SAMPLE)
        return [unimodular, *([] if hole.holds else [hole])]

    def size(self) -> list[Row]:
        source = (problem.instance for problem in self._draw(MAX_NODES))
        variables, constraints, checked = size_law(self.formulation, source)
        return [
            Row(
                SIZE,
                f"number of {name} is an integer combination of the instance's counts",
                law is not None,
                Evidence.FITTED,
                checked,
                "no linear law" if law is None else str(law),
            )
            for name, law in (("variables", variables), ("constraints", constraints))
        ]

    def time(self) -> list[Row]:
        """Time HiGHS, and the other solvers that are there, on a fitted forest."""
        instance = draw_fitted_problem(np.random.default_rng(self.seed), large=True).instance()
        if self.formulation.one_tree:
            sketch = Sketch.of(instance)
            instance = sketch.with_trees(sketch.trees[:1]).instance()
        problem = self._asked(0, instance)
        started = perf_counter()
        integer = self.formulation.linear_program(problem.specification(self.formulation))
        built_s = perf_counter() - started
        relaxed = self.formulation.linear_program(problem.specification(self.formulation, relaxed=True))
        simplex, interior, mip = run(relaxed), run(relaxed, solver="ipm"), run(integer, time_limit=20)
        detail = (
            f"{integer.n_rows} rows, {integer.n_columns} columns, written in {built_s:.3f} s: simplex "
            f"{simplex.runtime_s:.3f} s ({simplex.iterations} iterations), interior point {interior.runtime_s:.3f} s, "
            f"PDLP {_first_order(relaxed, simplex.objective)}, "
            f"branch and bound {mip.runtime_s:.3f} s ({mip.iterations} nodes, {mip.status})"
        )
        return [Row(TIME, "HiGHS on a fitted forest", None, Evidence.MEASURED, 1, detail), *self._others(problem)]

    def _others(self, problem: Problem) -> list[Row]:
        """Let the other solvers that are there solve the same problem, and check what each returns."""
        names = available_pyomo_solvers()
        if self.formulation.takes != "lam" or self.formulation.variant or not names:
            return []
        answers = solvers_table(self.formulation, problem.instance, problem.lam, names, time_limit=20).answers
        told = (f"{one.solver} {one.runtime_s:.3f} s{f' ({one.problem})' if one.problem else ''}" for one in answers)
        claim = "the other solvers' prunings, bounds and optima stand"
        return [Row(TIME, claim, all(one.checked for one in answers), Evidence.MEASURED, 1, ", ".join(told))]

    def _row(self, topic: str, claim: str, check: Check, problems: Sequence[Problem], evidence: Evidence) -> Row:
        """Look at a claim on problems until the first that refutes it, which is then made small."""
        for place, problem in enumerate(problems):
            if check(self.formulation, problem) is not None:
                found = shrink(self.formulation, claim, problem, check, self._columns)
                return Row(topic, claim, False, Evidence.REFUTED, place + 1, refutation=found)
        return Row(topic, claim, True, evidence, len(problems))

    def _columns(self, problem: Problem) -> tuple[str, ...]:
        return checks.program_of(self.formulation, problem).columns

    def _with_few_columns(self) -> list[Problem]:
        """List the small problems all of whose vertices are enumerated."""
        return [problem for problem in self.small if len(self._columns(problem)) <= checks.MAX_VERTEX_COLUMNS]


def _not_onto(target: str) -> Check:
    """Return the check that no problem shows that a relaxation does not project onto another."""

    def check(formulation: Formulation, problem: Problem) -> Violation | None:
        try:
            found = projection(formulation, target, problem)
        except NoMapError:
            return None
        return Violation(found.told()) if found.outcome in (Outcome.INTO, Outcome.OUTSIDE) else None

    return check


def _first_order(relaxed: LinearProgram, optimum: float) -> str:
    """Say how long PDLP takes and how near it comes; it may take a program for infeasible that is not."""
    try:
        near, seconds = run_first_order(relaxed, time_limit=20)
    except NoOptimumError:
        return "ends without a solution"
    return f"{seconds:.3f} s ({abs(near - optimum):.1e} from the optimum)"
