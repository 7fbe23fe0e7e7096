"""Every method against every other, in exact rationals: unrelated algorithms must agree on the optimum.

What is required of each answer, recomputed here from the instance's stored arrays by the definition:

- the pruning is closed under parents, and its error, cost and objective are the ones reported;
- the bound exceeds neither the objective nor any pruning found by anyone;
- an exact method ends with status "optimal", bound equal to objective, and the same objective as the others;
- a method with a canonical answer (`CANONICAL`) returns the smallest optimal set, a part of every optimal set found;
- a dual flow passes `proofs.certificates.optimality.verify_optimality`;
- on small forests all of this holds against brute force.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest._records import records_to_text
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.progress import ProgressCallback, silent
from ipforest.rational import nonnegative_fraction
from ipforest.results import PruningResult, Status
from ipforest.solvers import SOLVERS, available_solvers, solve
from proofs.certificates.optimality import verify_optimality
from proofs.crosschecks.brute_force import brute_force, count_prunings
from proofs.crosschecks.random_instances import random_instance

Method: TypeAlias = Callable[[PruningInstance, Fraction], PruningResult]
Kept: TypeAlias = npt.NDArray[np.bool_]

CANONICAL = ("min-cut", "networkx", "brute-force")
BRUTE_FORCE_LIMIT = 2_000
REPLAY_VERSION = 1
_OPTIONS: Mapping[str, dict[str, Any]] = MappingProxyType({"primal-dual": {"max_iterations": 60}})


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What one method said, and what is wrong with it.

    Parameters
    ----------
    method : str
    status : str
    objective, bound : Fraction
        As reported.
    n_kept : int
    runtime_s : float
    problems : tuple of str
        Empty if nothing is wrong.
    """

    method: str
    status: str
    objective: Fraction
    bound: Fraction
    n_kept: int
    runtime_s: float
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CrossCheck:
    """A table of every method's exact objective and bound, and whether they agree.

    Parameters
    ----------
    fingerprint : str
        Of the instance.
    lam : Fraction
    best : Fraction or None
        The least objective of a feasible pruning that any method found; None if there is none.
    answers : tuple of Answer
    """

    fingerprint: str
    lam: Fraction
    best: Fraction | None
    answers: tuple[Answer, ...]

    @property
    def agree(self) -> bool:
        """Whether nothing is wrong with any answer."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """All that is wrong, each line naming its method."""
        return tuple(f"{answer.method}: {problem}" for answer in self.answers for problem in answer.problems)

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        rows = [
            {
                "method": answer.method,
                "status": answer.status,
                "objective": answer.objective,
                "bound": answer.bound,
                "kept": answer.n_kept,
                "seconds": f"{answer.runtime_s:.4f}",
                "agrees": "no" if answer.problems else "yes",
            }
            for answer in self.answers
        ]
        lines = [f"lambda {self.lam}, instance {self.fingerprint[:12]}", records_to_text(rows)]
        return "\n".join([*lines, *self.problems, "all agree" if self.agree else "DISAGREEMENT"])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON types, exact numbers as "p/q"."""
        return {
            "fingerprint": self.fingerprint,
            "lam": str(self.lam),
            "agree": self.agree,
            "best": None if self.best is None else str(self.best),
            "answers": [
                {
                    "method": answer.method,
                    "status": answer.status,
                    "objective": str(answer.objective),
                    "bound": str(answer.bound),
                    "n_kept": answer.n_kept,
                    "runtime_s": answer.runtime_s,
                    "problems": list(answer.problems),
                }
                for answer in self.answers
            ],
        }


def crosscheck(
    instance: PruningInstance,
    lam: object,
    methods: Sequence[str] | Mapping[str, Method] | None = None,
) -> CrossCheck:
    """Solve an instance by several methods and compare what they say.

    Parameters
    ----------
    instance : PruningInstance
    lam : number
        At least 0.
    methods : sequence of str, or mapping from str to callable, optional
        Names of `ipforest.solvers.SOLVERS`, by default all that are installed; or solvers of one's own, called with
        the instance and lambda. A name that the registry does not know counts as exact. Brute force joins where the
        forest has at most 2,000 prunings.

    Returns
    -------
    CrossCheck

    Raises
    ------
    ValueError
        Negative lambda, or an unknown method.
    """
    exact_lam = nonnegative_fraction(lam, "lam")
    solvers = dict(_named(available_solvers() if methods is None else methods))
    if count_prunings(instance) <= BRUTE_FORCE_LIMIT:
        solvers["brute-force"] = brute_force
    results = {name: solver(instance, exact_lam) for name, solver in solvers.items()}
    definition = _Definition(instance, exact_lam)
    claims = {name: definition.problems(result) for name, result in results.items()}
    values = {
        name: definition.objective(result.pruning.kept) for name, result in results.items() if not claims[name][0]
    }
    best = min(values.values(), default=None)
    optimal = {name: results[name].pruning.kept for name, value in values.items() if value == best}
    answers = [
        Answer(
            method=name,
            status=str(result.status),
            objective=result.objective,
            bound=result.bound,
            n_kept=result.pruning.n_kept,
            runtime_s=result.runtime_s,
            problems=(
                *claims[name][0],
                *claims[name][1],
                *_disagreements(instance, name, result, best, values.get(name), optimal),
            ),
        )
        for name, result in results.items()
    ]
    return CrossCheck(instance.fingerprint(), exact_lam, best, tuple(answers))


def _named(methods: Sequence[str] | Mapping[str, Method]) -> Iterable[tuple[str, Method]]:
    if isinstance(methods, Mapping):
        return methods.items()
    unknown = [name for name in methods if name not in SOLVERS]
    if unknown:
        raise ValueError(f"methods: expected names among {', '.join(SOLVERS)}, got {', '.join(unknown)}")
    return [(name, _registered(name)) for name in methods]


def _registered(name: str) -> Method:
    options = _OPTIONS.get(name, {})
    return lambda instance, lam: solve(instance, lam, name, **options)


class _Definition:
    """Error and cost of a pruning, node by node and triple by triple, from the stored arrays alone."""

    def __init__(self, instance: PruningInstance, lam: Fraction) -> None:
        self._lam = lam
        self._instance = instance
        self._parent: list[int] = instance.node_parent.tolist()
        self._internal = sorted({above for above in self._parent if above >= 0})

    def problems(self, result: PruningResult) -> tuple[list[str], list[str]]:
        """List what makes the pruning infeasible, then what is wrong with the reported numbers."""
        kept = result.pruning.kept
        if kept.size != len(self._internal):
            return [f"the pruning has {kept.size} nodes, the instance {len(self._internal)}"], []
        keeps = {node for node, chosen in zip(self._internal, kept.tolist(), strict=True) if chosen}
        orphans = [node for node in keeps if self._parent[node] >= 0 and self._parent[node] not in keeps]
        if orphans:
            return [f"the pruning keeps node {min(orphans)} but not its parent"], []
        error, cost = self.evaluate(kept)
        found = []
        for name, reported, recomputed in (
            ("error", result.error, error),
            ("cost", result.cost, cost),
            ("objective", result.objective, error + self._lam * cost),
        ):
            if reported != recomputed:
                found.append(f"reports {name} {reported}, but it is {recomputed}")
        if result.lam != self._lam:
            found.append(f"reports lambda {result.lam}, but was asked at {self._lam}")
        return [], found

    def evaluate(self, kept: Kept) -> tuple[Fraction, Fraction]:
        """Error and cost of a feasible pruning."""
        instance = self._instance
        keeps = {node for node, chosen in zip(self._internal, kept.tolist(), strict=True) if chosen}
        errors = sum(
            error
            for node, (above, error) in enumerate(zip(self._parent, instance.errors.tolist(), strict=True))
            if node not in keeps and (above < 0 or above in keeps)
        )
        bought: set[int] = set()
        split = 0
        for number in np.flatnonzero(kept).tolist():
            bought.update(instance.indices[instance.indptr[number] : instance.indptr[number + 1]].tolist())
            split += int(instance.split_cost[number])
        prices = instance.acquisition_cost.tolist()
        cost = sum(prices[acquisition] for acquisition in bought) + split
        return instance.error_unit * errors, instance.cost_unit * cost

    def objective(self, kept: Kept) -> Fraction:
        """Error plus lambda times cost of a feasible pruning."""
        error, cost = self.evaluate(kept)
        return error + self._lam * cost


def _disagreements(
    instance: PruningInstance,
    name: str,
    result: PruningResult,
    best: Fraction | None,
    value: Fraction | None,
    optimal: Mapping[str, Kept],
) -> list[str]:
    """List where an answer differs from the best that anyone found."""
    found = []
    if best is not None and result.bound > best:
        found.append(f"its bound {result.bound} exceeds the objective {best} of a pruning of {', '.join(optimal)}")
    exact = name not in SOLVERS or SOLVERS[name].exact
    if exact and result.status is not Status.OPTIMAL:
        found.append(f"an exact method ended as {str(result.status)!r}")
    if result.status is Status.OPTIMAL and result.bound != result.objective:
        found.append(f"claims an optimum with bound {result.bound} below objective {result.objective}")
    if result.status is Status.OPTIMAL and value is not None and value != best:
        found.append(f"claims the optimum {value}, but {', '.join(optimal)} found {best}")
    if name in CANONICAL and name in optimal:
        for other, kept in optimal.items():
            if np.any(optimal[name] & ~kept):
                found.append(f"is not the smallest optimal set: {other} keeps less")
    if result.flow is not None:
        verdict = verify_optimality(instance, result)
        if not verdict:
            found.append(f"its flow is {verdict}")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often a method answered, proved its answer, and met the optimum.

    Parameters
    ----------
    method : str
    answered, proven, best, disagreed : int
        Answers; those with status "optimal"; those whose objective is the least found; those with something wrong.
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
    instances, seed : int
        Instances checked, and the seed they come from.
    tallies : tuple of Tally
    disagreement : CrossCheck or None
        The first one, at which the run stopped.
    saved : Path or None
        Where the instance of the disagreement is, for `replay`.
    """

    instances: int
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
        lines = [f"{self.instances} random instances, seed {self.seed}", records_to_text(rows)]
        if self.disagreement is None:
            return "\n".join([*lines, "no disagreement"])
        return "\n".join([*lines, str(self.disagreement), f"saved for replay: {self.saved}"])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON types."""
        return {
            "instances": self.instances,
            "seed": self.seed,
            "agree": self.agree,
            "methods": [{name: getattr(tally, name) for name in Tally.__dataclass_fields__} for tally in self.tallies],
            "disagreement": None if self.disagreement is None else self.disagreement.to_dict(),
            "saved": None if self.saved is None else str(self.saved),
        }


def crosscheck_random(
    instances: int = 500,
    seed: int = 0,
    methods: Sequence[str] | Mapping[str, Method] | None = None,
    save_to: str | Path = "disagreement.json",
    progress: ProgressCallback = silent,
) -> RandomCrossCheck:
    """Cross-check random forests until the first disagreement, which is saved for `replay`.

    Three in four are tiny, with brute force (`proofs.crosschecks.random_instances`); the others are fitted random
    forests on coarse data, with groups, zero prices, split costs and held-out errors. Lambda is often one at which
    prunings tie.

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

    Returns
    -------
    RandomCrossCheck

    Raises
    ------
    ValueError
        Fewer than 1 instance, or an unknown method.
    Exception
        Whatever a method raises; the instance is saved first.
    """
    if instances < 1:
        raise ValueError(f"instances: expected 1 or more, got {instances}")
    if methods is not None:
        methods = dict(_named(methods))
    checks: list[CrossCheck] = []
    for number in range(instances):
        instance, lam = draw_problem(np.random.default_rng([seed, number]), number)
        try:
            checks.append(crosscheck(instance, lam, methods))
        except Exception as problem:
            problem.add_note(f"saved for replay: {save_problem(save_to, instance, lam, [repr(problem)])}")
            raise
        progress((number + 1) / instances, f"{number + 1} instances")
        if not checks[-1].agree:
            saved = save_problem(save_to, instance, lam, checks[-1].problems)
            return RandomCrossCheck(len(checks), seed, _tallies(checks), checks[-1], saved)
    return RandomCrossCheck(len(checks), seed, _tallies(checks), None, None)


def _tallies(checks: Sequence[CrossCheck]) -> tuple[Tally, ...]:
    answers: dict[str, list[tuple[Answer, Fraction | None]]] = {}
    for check in checks:
        for answer in check.answers:
            answers.setdefault(answer.method, []).append((answer, check.best))
    return tuple(
        Tally(
            method=method,
            answered=len(given),
            proven=sum(answer.status == Status.OPTIMAL for answer, _ in given),
            best=sum(answer.objective == best for answer, best in given),
            disagreed=sum(bool(answer.problems) for answer, _ in given),
            runtime_s=sum(answer.runtime_s for answer, _ in given),
        )
        for method, given in answers.items()
    )


def draw_problem(rng: np.random.Generator, number: int) -> tuple[PruningInstance, Fraction]:
    """Draw an instance and a lambda; every fourth is a fitted forest."""
    if number % 4 == 3:
        instance = _fitted_instance(rng)
        return instance, _tying_lambda(rng, instance)
    instance = random_instance(rng, int(rng.integers(0, 10)))
    lam = Fraction(int(rng.integers(0, 12)), int(rng.integers(1, 25)))
    return instance, lam if number % 2 else _tying_lambda(rng, instance)


def _fitted_instance(rng: np.random.Generator) -> PruningInstance:
    from sklearn.ensemble import RandomForestClassifier

    n_samples, n_features = int(rng.integers(20, 120)), int(rng.integers(2, 7))
    X = rng.integers(0, 5, size=(n_samples, n_features)).astype(np.float64)
    y = (X[:, 0] + X[:, 1] * X[:, -1] + 3 * rng.random(n_samples) > 6).astype(int) + (X[:, -1] > 3)
    half = n_samples // 2
    model = RandomForestClassifier(
        int(rng.integers(2, 9)),
        max_depth=int(rng.integers(1, 7)),
        bootstrap=bool(rng.integers(0, 2)),
        random_state=int(rng.integers(0, 2**31)),
    ).fit(X[:half], y[:half])
    groups = rng.integers(-1, 2, size=n_features)
    costs = FeatureCosts(rng.integers(0, 4, size=n_features), groups=groups, group_fees=rng.integers(0, 6, size=2))
    known = np.isin(y[half:], y[:half])
    held_out = (X[half:][known], y[half:][known]) if known.any() and rng.integers(0, 2) else None
    return PruningInstance.from_forest(
        Forest.from_sklearn(model),
        X[half : half + int(rng.integers(3, 40))],
        costs,
        error_data=held_out,
        split_cost=Fraction(int(rng.integers(0, 3)), 7),
    )


def _tying_lambda(rng: np.random.Generator, instance: PruningInstance) -> Fraction:
    """Lambda at which keeping all nodes equals keeping none, or half or twice that; 1/2 where there is none."""
    best, most = instance.evaluate(instance.unpruned), instance.evaluate(instance.roots_only)
    saved, paid = most[0] - best[0], best[1] - most[1]
    if saved <= 0 or paid <= 0:
        return Fraction(1, 2)
    return saved / paid * Fraction(int(rng.integers(1, 5)), 2)


def save_problem(path: str | Path, instance: PruningInstance, lam: Fraction, problems: Sequence[str] = ()) -> Path:
    """Write an instance and lambda as JSON, to be checked again by `replay`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "instance.npz"
        instance.save(file)
        stored = base64.b64encode(file.read_bytes()).decode()
    content = {"version": REPLAY_VERSION, "lam": str(lam), "problems": list(problems), "instance": stored}
    Path(path).write_text(json.dumps(content))
    return Path(path)


def load_problem(path: str | Path) -> tuple[PruningInstance, Fraction]:
    """Read what `save_problem` wrote.

    Raises
    ------
    ValueError
        The file is none of these, is truncated, or has another version.
    """
    try:
        content = json.loads(Path(path).read_text())
        if content["version"] != REPLAY_VERSION:
            raise ValueError(f"version {REPLAY_VERSION} expected, got {content['version']}")
        with TemporaryDirectory() as folder:
            file = Path(folder) / "instance.npz"
            file.write_bytes(base64.b64decode(content["instance"], validate=True))
            return PruningInstance.load(file), Fraction(content["lam"])
    except FileNotFoundError:
        raise
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"{path}: expected a problem saved by crosscheck, got: {problem}") from None


def replay(path: str | Path, methods: Sequence[str] | Mapping[str, Method] | None = None) -> CrossCheck:
    """Cross-check a saved problem again.

    Raises
    ------
    ValueError
        The file is no saved problem, or a method is unknown.
    """
    instance, lam = load_problem(path)
    return crosscheck(instance, lam, methods)
