"""Cross-checks of random problems until the first disagreement, which is saved and can be replayed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ipforest._internal.files import write_text
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.records import object_of, records_to_text, to_record
from ipforest.instance import PruningInstance
from ipforest.results import Status
from proofs.crosschecks.answer import Answer
from proofs.crosschecks.fitted_problems import FittedProblem, crosscheck_fitted, draw_fitted_problem
from proofs.crosschecks.methods import CrossCheck, Methods, chosen_methods, crosscheck
from proofs.crosschecks.random_instances import random_instance

REPLAY_VERSION = 2


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often a method answered, proved its answer, and met the optimum.

    Parameters
    ----------
    method : str
    answered, proven, best, disagreed : int
        Answers, or errors raised; those with status "optimal"; those whose objective is the least found; those with
        something wrong.
    runtime_s : float
        In all.
    """

    method: str
    answered: int
    proven: int
    best: int
    disagreed: int
    runtime_s: float


@dataclass(frozen=True, slots=True, eq=False)
class RandomCrossCheck:
    """What many cross-checks found.

    Parameters
    ----------
    instances, fitted, seed : int
        Instances checked, how many of them came from fitted forests and data, and the seed of all.
    tallies : tuple of Tally
    disagreement : CrossCheck or None
        The first one, at which the run stopped.
    saved : Path or None
        Where the instance of the disagreement is, for `replay`.
    """

    instances: int
    fitted: int
    seed: int
    tallies: tuple[Tally, ...]
    disagreement: CrossCheck | None
    saved: Path | None

    @property
    def agree(self) -> bool:
        """Whether there was no disagreement."""
        return self.disagreement is None

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        rows = [
            {
                "method": tally.method,
                "answers": tally.answered,
                "proven": tally.proven,
                "optimal": tally.best,
                "wrong": tally.disagreed,
                "seconds": f"{tally.runtime_s:.2f}",
            }
            for tally in self.tallies
        ]
        origin = (
            f"{self.instances} random instances, {self.fitted} of them from fitted forests and data, seed {self.seed}"
        )
        lines = [origin, *([records_to_text(rows)] if rows else [])]
        if self.disagreement is None:
            return "\n".join([*lines, "no disagreement"])
        return "\n".join([*lines, str(self.disagreement), f"saved for replay: {self.saved}"])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON types."""
        return {"agree": self.agree, **to_record(self)}


def crosscheck_random(
    instances: int = 500,
    seed: int = 0,
    methods: Methods = None,
    save_to: str | Path = "disagreement.json",
    progress: ProgressCallback = silent,
) -> RandomCrossCheck:
    """Cross-check random forests until the first disagreement, which is saved for `replay`.

    Every second problem is a tiny instance of any shape (`proofs.crosschecks.random_instances`), the others are fitted
    forests with data and prices, half of them tiny (`proofs.crosschecks.fitted_problems`), whose routing, errors and
    costs are checked, too. Lambda is often one at which prunings tie, the budget often what a pruning costs.

    Parameters
    ----------
    instances : int
        How many, at least 1.
    seed : int
    methods : sequence or mapping, optional
        See `crosscheck`.
    save_to : path
        Written only on a disagreement.
    progress : callable

    Raises
    ------
    ValueError
        Fewer than 1 instance, or an unknown method.
    Exception
        Whatever cannot be told of a method; the problem is saved first.
    """
    if instances < 1:
        raise ValueError(f"instances: expected 1 or more, got {instances}")
    chosen_methods(methods)
    checks: list[CrossCheck] = []
    for number in range(instances):
        try:
            checks.append(check_drawn(seed, number, methods))
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(f"problem {number} of seed {seed}")
            raise
        except Exception as problem:
            problem.add_note(f"saved for replay: {save_draw(save_to, seed, number, [repr(problem)])}")
            raise
        progress((number + 1) / instances, f"{number + 1} instances")
        if not checks[-1].agree:
            saved = save_draw(save_to, seed, number, checks[-1].problems)
            return _summary(checks, seed, saved)
    return _summary(checks, seed, None)


def check_drawn(seed: int, number: int, methods: Methods = None) -> CrossCheck:
    """Draw one problem of a run and cross-check it."""
    rng = np.random.default_rng([seed, number])
    drawn = draw_problem(rng, number)
    instance = drawn.instance() if isinstance(drawn, FittedProblem) else drawn
    lam, budget = draw_question(rng, number, instance)
    if isinstance(drawn, FittedProblem):
        return crosscheck_fitted(drawn, lam, methods, budget)
    return crosscheck(instance, lam, methods, budget)


def _summary(checks: Sequence[CrossCheck], seed: int, saved: Path | None) -> RandomCrossCheck:
    fitted = sum(number % 2 for number in range(len(checks)))
    return RandomCrossCheck(
        len(checks), fitted, seed, _tallies(checks), None if checks[-1].agree else checks[-1], saved
    )


def _tallies(checks: Sequence[CrossCheck]) -> tuple[Tally, ...]:
    answers: dict[str, list[Answer]] = {}
    for check in checks:
        for answer in check.answers:
            answers.setdefault(answer.method, []).append(answer)
    return tuple(
        Tally(
            method=method,
            answered=len(given),
            proven=sum(answer.status == Status.OPTIMAL for answer in given),
            best=sum(answer.is_best for answer in given),
            disagreed=sum(bool(answer.problems) for answer in given),
            runtime_s=sum(answer.runtime_s for answer in given),
        )
        for method, given in answers.items()
    )


def draw_problem(rng: np.random.Generator, number: int) -> PruningInstance | FittedProblem:
    """Draw a tiny instance, or, for an odd number, a fitted forest; every fourth is larger."""
    if number % 2:
        return draw_fitted_problem(rng, large=number % 4 == 3)
    return random_instance(rng, int(rng.integers(0, 10)))


def draw_question(rng: np.random.Generator, number: int, instance: PruningInstance) -> tuple[Fraction, Fraction]:
    """Draw a lambda, often one at which prunings tie, and a budget, often what some pruning costs."""
    best, most = instance.evaluate(instance.unpruned), instance.evaluate(instance.roots_only)
    saved, paid = most[0] - best[0], best[1] - most[1]
    lam = Fraction(int(rng.integers(0, 12)), int(rng.integers(1, 25)))
    if number % 4 != 2 and saved > 0 and paid > 0:
        lam = saved / paid * Fraction(int(rng.integers(1, 5)), 2)
    return lam, best[1] * Fraction(int(rng.integers(0, 9)), 8)


def save_draw(path: str | Path, seed: int, number: int, problems: Sequence[str] = ()) -> Path:
    """Write which problem of a run it was, to be checked again by `replay`."""
    content = {"version": REPLAY_VERSION, "seed": seed, "number": number, "problems": list(problems)}
    return write_text(path, json.dumps(content))


def save_problem(path: str | Path, instance: PruningInstance, lam: Fraction) -> Path:
    """Write an instance and lambda as JSON, to be checked again by `replay`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "instance.npz"
        instance.save(file)
        stored = base64.b64encode(file.read_bytes()).decode()
    content = {"version": REPLAY_VERSION, "lam": str(lam), "instance": stored}
    return write_text(path, json.dumps(content))


def replay(path: str | Path, methods: Methods = None) -> CrossCheck:
    """Cross-check a saved problem again.

    Raises
    ------
    ValueError
        The file is no saved problem, is truncated or has another version, or a method is unknown.
    """
    chosen_methods(methods)
    try:
        content = object_of(Path(path).read_text(encoding="utf-8"))
        if content.get("version") != REPLAY_VERSION:
            raise ValueError(f"version {content.get('version')} in place of {REPLAY_VERSION}")
        if "seed" in content:
            seed, number = int(content["seed"]), int(content["number"])
            if min(seed, number) < 0:
                raise ValueError(f"seed {seed} and number {number}, of which one is negative")
        else:
            instance, lam = _stored_problem(content)
    except FileNotFoundError:
        raise
    except (KeyError, TypeError, ValueError) as problem:
        told = f"no {problem.args[0]}" if isinstance(problem, KeyError) else problem
        raise ValueError(f"{path}: expected a problem saved by crosscheck, got {told}") from None
    return check_drawn(seed, number, methods) if "seed" in content else crosscheck(instance, lam, methods)


def _stored_problem(content: Mapping[str, Any]) -> tuple[PruningInstance, Fraction]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "instance.npz"
        file.write_bytes(base64.b64decode(content["instance"], validate=True))
        return PruningInstance.load(file), nonnegative_fraction(content["lam"], "lam")
