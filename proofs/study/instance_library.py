"""The instance library: 40 pruning problems with certified optimum and path, made from seeds and read by name.

Each instance is a file of JSON (the instance, its whole path, its optimum at three lambdas: integers and fractions,
exact, the same bytes wherever it is made) and a certificate of the path, which proves every number of it. The
checksums of the JSON files are stored with the code, so that a table that names an instance means the same one
everywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ipforest._internal.files import write_text
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.rational import written_fraction
from ipforest._internal.records import json_object, records_to_text
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.solvers import SOLVERS, solve
from proofs.certificates.path_file import write_path_certificate
from proofs.certificates.pruning_file import verify_certificate_file
from proofs.crosschecks.random_instances import draw_knapsack, integers_of, random_instance
from proofs.study.generated_forests import Shape, generated_instance
from proofs.study.problem import Problem
from proofs.verdict import Verdict, accept, refuse

__all__ = ["CHECKSUMS", "INSTANCES", "LibraryInstance", "SolverRun", "check", "make", "read", "solvers_on", "table"]

VERSION = 1
CHECKSUMS = Path(__file__).with_name("instance_checksums.json")
SHAPES = [
    Shape(2, 3, 12, 4),
    Shape(3, 3, 20, 6),
    Shape(4, 3, 24, 6),
    Shape(5, 3, 30, 8),
    Shape(4, 4, 30, 8),
    Shape(6, 4, 40, 8),
    Shape(8, 4, 40, 10),
    Shape(10, 4, 50, 12),
    Shape(6, 5, 60, 10),
    Shape(8, 5, 60, 12),
    Shape(10, 5, 80, 12),
    Shape(12, 5, 80, 16),
    Shape(16, 4, 80, 16),
    Shape(20, 4, 100, 20),
    Shape(12, 6, 100, 16),
    Shape(16, 6, 100, 20),
]
"""Of the middle instances; the last has 828 nodes and 7,574 triples."""


def _small(number: int) -> PruningInstance:
    return random_instance(_random(number), 4 + number)


def _knapsack(number: int) -> PruningInstance:
    return draw_knapsack(integers_of(_random(100 + number)), 6 + number)


def _generated(number: int) -> PruningInstance:
    return generated_instance(_random(200 + number), SHAPES[number])


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng([VERSION, seed])


INSTANCES: dict[str, Callable[[], PruningInstance]] = {
    f"{kind}-{number:02}": partial(made, number)
    for kind, made, count in (("small", _small, 16), ("knapsack", _knapsack, 8), ("forest", _generated, len(SHAPES)))
    for number in range(count)
}
"""What makes each instance, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class LibraryInstance:
    """An instance with what is proved of it.

    Parameters
    ----------
    name : str
    instance : PruningInstance
    breakpoints : tuple of Fraction
        Of the path, falling as in `ipforest.path.PruningPath`.
    errors, costs : tuple of Fraction
        Of the pruning on each piece.
    optima : dict of Fraction to Fraction
        The least ``error + lam * cost`` at three lambdas.
    """

    name: str
    instance: PruningInstance
    breakpoints: tuple[Fraction, ...]
    errors: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]
    optima: dict[Fraction, Fraction]

    def to_json(self) -> str:
        """Write it as JSON, exact and with sorted keys: the bytes of which the checksum is taken."""
        content = {
            "version": VERSION,
            "name": self.name,
            "problem": json.loads(Problem(self.instance).to_json()),
            "path": {name: [str(x) for x in getattr(self, name)] for name in ("breakpoints", "errors", "costs")},
            "optima": {str(lam): str(value) for lam, value in self.optima.items()},
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str) -> LibraryInstance:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            The text is no instance of the library, or of another version.
        """
        content: dict[str, Any] = json_object(text)
        if content.get("version") != VERSION:
            raise ValueError(f"text: expected an instance of version {VERSION}, got version {content.get('version')}")
        try:
            path = {
                name: tuple(written_fraction(x, name) for x in content["path"][name])
                for name in ("breakpoints", "errors", "costs")
            }
            optima = {
                written_fraction(lam, "optima"): written_fraction(value, "optima")
                for lam, value in content["optima"].items()
            }
            instance = Problem.from_json(json.dumps(content["problem"])).instance
            return cls(str(content["name"]), instance, **path, optima=optima)
        except (AttributeError, KeyError, TypeError) as problem:
            raise ValueError(f"text: expected an instance written by to_json, got: {problem!r}") from None


def _solved(name: str, path: PruningPath) -> LibraryInstance:
    """Take the optimum at three lambdas off a path: the middle of its breakpoints, half and twice of it."""
    instance, breakpoints = path.instance, path.breakpoints
    middle = sorted(breakpoints)[len(breakpoints) // 2] if breakpoints else Fraction(1)
    optima = {lam: instance.objective(path.pruning(lam), lam) for lam in (middle / 2, middle, 2 * middle)}
    return LibraryInstance(name, instance, breakpoints, path.errors, path.costs, optima)


def make(directory: str | Path, names: Iterable[str] = INSTANCES, progress: ProgressCallback = silent) -> list[str]:
    """Make the library's files: ``NAME.json`` and ``NAME.certificate`` of each instance.

    Parameters
    ----------
    directory : str or Path
        Made if it does not exist.
    names : iterable of str
        In `INSTANCES`; by default all.
    progress : callable

    Returns
    -------
    list of str
        Names whose checksum is not the one that is stored with the code.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    wanted, others = [_known(name) for name in names], []
    for place, name in enumerate(wanted):
        progress(place / len(wanted), name)
        path = prune_path(INSTANCES[name]())
        text = _solved(name, path).to_json()
        write_text(folder / f"{name}.json", text)
        write_path_certificate(folder / f"{name}.certificate", path)
        if checksum(text) != stored_checksums().get(name):
            others.append(name)
    progress(1.0, "done")
    return others


def read(directory: str | Path, name: str) -> LibraryInstance:
    """Read an instance, whose file must have the checksum that is stored with the code.

    Raises
    ------
    FileNotFoundError
        There is no such file; `make` makes it.
    ValueError
        An unknown name, or a file with another checksum (truncated or edited).
    """
    file = Path(directory) / f"{_known(name)}.json"
    text = file.read_text(encoding="utf-8")
    if checksum(text) != stored_checksums()[name]:
        raise ValueError(
            f"{file}: expected the checksum {stored_checksums()[name][:16]}..., got {checksum(text)[:16]}...; "
            "make the instance again with ipforest instances make"
        )
    return LibraryInstance.from_json(text)


def check(directory: str | Path, name: str) -> Verdict:
    """Verify an instance: the checksum, the certificate of its path, and that its numbers are the certificate's."""
    try:
        known = read(directory, name)
    except OSError as problem:
        return refuse(f"{problem.filename}: {problem.strerror}")
    except ValueError as problem:
        return refuse(str(problem))
    verdict = verify_certificate_file(Path(directory) / f"{name}.certificate", known.instance)
    if not verdict:
        return verdict
    for lam, optimum in known.optima.items():
        least = min(error + lam * cost for error, cost in zip(known.errors, known.costs, strict=True))
        if least != optimum:
            return refuse(f"optima: expected {least} at lambda {lam}, got {optimum}")
    return accept(f"{name}: {verdict.reason}")


def checksum(text: str) -> str:
    """Return the SHA-256 of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def stored_checksums() -> dict[str, str]:
    """Return the checksums that are stored with the code, by name."""
    return dict(json_object(CHECKSUMS.read_text(encoding="utf-8")))


def _known(name: str) -> str:
    if name not in INSTANCES:
        raise ValueError(f"name: expected an instance of the library, such as {next(iter(INSTANCES))}, got {name!r}")
    return name


@dataclass(frozen=True, slots=True)
class SolverRun:
    """What a solver did on the instances of the library.

    Parameters
    ----------
    solver : str
    solved, wrong, failed : int
        Optima found (and equal to the certified ones); objectives or bounds that contradict them; runs that ended with
        neither, such as at the time limit.
    cpu_seconds : float
        Of all runs, of this process and of the programs that it ran.
    problem : str
        Of the first run that failed or was wrong.
    """

    solver: str
    solved: int
    wrong: int
    failed: int
    cpu_seconds: float
    problem: str = ""


def solvers_on(
    directory: str | Path,
    names: Sequence[str] = tuple(INSTANCES),
    solvers: Sequence[str] | None = None,
    time_limit: float = 10.0,
    progress: ProgressCallback = silent,
) -> list[SolverRun]:
    """Let every solver solve every instance at its middle lambda, and compare with the certified optimum.

    Parameters
    ----------
    directory : str or Path
        Of `make`.
    names : sequence of str
    solvers : sequence of str, optional
        Methods of `ipforest.solve` and solvers of Pyomo's, which get the closure form; by default all that are there.
    time_limit : float
        Seconds for each run of those that take one.
    progress : callable

    Returns
    -------
    list of SolverRun

    Raises
    ------
    ValueError
        A solver is not there.
    """
    from formulations.other_solvers import available_pyomo_solvers

    there = [*SOLVERS, *available_pyomo_solvers()]
    asked = there if solvers is None else list(solvers)
    unknown = [solver for solver in asked if solver not in there]
    if unknown:
        raise ValueError(f"solvers: expected some of {', '.join(there)}, got {', '.join(unknown)}")
    known = [read(directory, name) for name in names]
    runs = []
    for place, solver in enumerate(asked):
        progress(place / len(asked), solver)
        runs.append(_run(solver, known, time_limit))
    progress(1.0, "done")
    return runs


def _run(solver: str, known: Sequence[LibraryInstance], time_limit: float) -> SolverRun:
    counts, first = {"solved": 0, "wrong": 0, "failed": 0}, ""
    started = _cpu_seconds()
    for one in known:
        lam = list(one.optima)[1]
        try:
            kind, said = _judged(_answer(solver, one.instance, lam, time_limit), one.optima[lam])
        except Exception as failure:  # a solver of others may raise anything
            kind, said = "failed", str(failure) or type(failure).__name__
        counts[kind] += 1
        first = first or (f"{one.name}: {said}" if said else "")
    return SolverRun(solver, **counts, cpu_seconds=round(_cpu_seconds() - started, 2), problem=first)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the programs that it has ended, in seconds."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _answer(solver: str, instance: PruningInstance, lam: Fraction, time_limit: float) -> tuple[Fraction, Fraction]:
    """Return objective and bound."""
    if solver in SOLVERS:
        limits = {"time_limit": time_limit} if SOLVERS[solver].takes_time_limit else {}
        result = solve(instance, lam, method=solver, **limits)
        return result.objective, result.bound
    from formulations.solver_answers import solvers_table

    answer = solvers_table("closure", instance, lam, [solver], time_limit).answers[0]
    if not answer.checked or answer.objective is None:
        raise RuntimeError(answer.problem)
    return answer.objective, min(answer.objective, answer.optimum)


def _judged(answer: tuple[Fraction, Fraction], optimum: Fraction) -> tuple[str, str]:
    objective, bound = answer
    if objective < optimum or bound > optimum:
        return "wrong", f"objective {objective}, bound {bound}, optimum {optimum}"
    solved = objective == optimum
    return ("solved", "") if solved else ("failed", f"objective {objective}, optimum {optimum}")


def table(runs: Sequence[SolverRun]) -> str:
    """Lay the runs out as text."""
    return records_to_text(
        [
            {
                "solver": run.solver,
                "solved": run.solved,
                "wrong": run.wrong,
                "failed": run.failed,
                "CPU seconds": f"{run.cpu_seconds:.2f}",
                "first problem": run.problem[:60],
            }
            for run in runs
        ]
    )
