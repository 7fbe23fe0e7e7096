"""Every method against every other, in exact rationals: unrelated algorithms must agree on the optimum.

Methods at one lambda are the solvers of the registry, the whole path, and every program as a Pyomo model; methods for a
budget are those of `proofs.crosschecks.budgets`. What is required of each answer, recomputed from the instance's stored
arrays by `proofs.crosschecks.definition`:

- there is one: a method that raises an error has failed, and the others are asked all the same;
- the pruning is closed under parents, and its error, cost and objective are the ones reported;
- the bound exceeds neither the objective nor that of any pruning found;
- an exact method ends with status "optimal", bound equal to objective, and the same objective as the others;
- a program without an integral relaxation (IP1), of which only HiGHS says that its search ended, has found the same
  objective as the others when it says so;
- a method with a canonical answer (`SolverInfo.canonical`, the path, brute force) returns the smallest optimal set, a
  part of every optimal set found;
- a dual flow passes `proofs.certificates.optimality.verify_optimality`, a path `verify_path`;
- on small forests all of this holds against brute force, and the path is the lower frontier of all prunings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

import formulations
from formulations.base import Formulation
from formulations.registry import FORMULATIONS
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.records import records_to_text, to_record
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.results import PruningResult, Status
from ipforest.solvers import SOLVERS, available_solvers, solve
from ipforest.solvers.registry import check_signature, checked_answer
from proofs.certificates.optimality import verify_optimality
from proofs.certificates.path_optimality import verify_path
from proofs.crosschecks.answer import Answer, results_of
from proofs.crosschecks.brute_force import brute_force
from proofs.crosschecks.budgets import BudgetMethod, budget_answers, budget_methods
from proofs.crosschecks.definition import Definition, Kept, lower_frontier

Method: TypeAlias = Callable[[PruningInstance, Fraction], Any]
"""Returns a `PruningResult`, or what `register_solver` takes in its place."""
Methods: TypeAlias = Sequence[str | Formulation] | Mapping[str, Method] | None

MODEL = "pyomo-"
"""Begins the names of methods that build a formulation with Pyomo."""
WEAK_TIME_LIMIT_S = 10.0
"""For formulations whose relaxation is not integral; a search that is stopped owes a valid bound only."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossCheck:
    """A table of every method's exact objective and bound, and whether they agree.

    Parameters
    ----------
    fingerprint : str
        Of the instance.
    lam, budget : Fraction
    best : Fraction or None
        The least objective of a feasible pruning that any method found; None if there is none.
    answers : tuple of Answer
    differences : tuple of str
        Where the instance differs from the data it was made from, see `proofs.crosschecks.fitted_problems`.
    """

    fingerprint: str
    lam: Fraction
    budget: Fraction
    best: Fraction | None
    answers: tuple[Answer, ...]
    differences: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether nothing is wrong with any answer."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """All that is wrong, each line naming its method."""
        wrong = (f"{answer.method}: {problem}" for answer in self.answers for problem in answer.problems)
        return (*(f"data: {difference}" for difference in self.differences), *wrong)

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        rows = [
            {
                "method": answer.method,
                "status": answer.status,
                "objective": "-" if answer.objective is None else answer.objective,
                "bound": "-" if answer.bound is None else answer.bound,
                "kept": answer.n_kept,
                "seconds": f"{answer.runtime_s:.4f}",
                "agrees": "no" if answer.problems else "yes",
            }
            for answer in self.answers
        ]
        asked = f"lambda {self.lam}, budget {self.budget}, instance {self.fingerprint[:12]}"
        lines = [asked, *([records_to_text(rows)] if rows else [])]
        return "\n".join([*lines, *self.problems, "all agree" if self.agree else "DISAGREEMENT"])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON types, exact numbers as "p/q"."""
        return {"agree": self.agree, **to_record(self)}


def crosscheck(
    instance: PruningInstance, lam: object, methods: Methods = None, budget: object | None = None
) -> CrossCheck:
    """Solve an instance by several methods and compare what they say.

    Parameters
    ----------
    instance : PruningInstance
    lam : number
        At least 0.
    methods : sequence of str or Formulation, or mapping from str to callable, optional
        Names of `method_names`, by default all, and registered formulations; or solvers of one's own, called with the
        instance and lambda. A name that the registry of solvers does not know counts as exact. Programs that cannot be
        stated for the instance are left out, and methods that refuse its size or its delayed tests. Brute force joins
        where the forest has at most 2,000 prunings.
    budget : number, optional
        For the methods that take one; by default half of what the unpruned forest costs.

    Raises
    ------
    ValueError
        Negative lambda or budget, or an unknown method.
    TypeError
        A method that is neither a name nor a formulation. Callables have no names, so they come in a mapping, in which
        each takes an instance and lambda.
    """
    exact_lam = nonnegative_fraction(lam, "lam")
    exact_budget = (
        instance.evaluate(instance.unpruned)[1] / 2 if budget is None else nonnegative_fraction(budget, "budget")
    )
    at_lambda, within_budget = chosen_methods(methods)
    definition = Definition(instance)
    fitting = {name: partial(_answered, name, method) for name, method in at_lambda.items() if _fits(name, instance)}
    ignoring = {name: method for name, method in fitting.items() if _ignores_costs(name)}
    others = {name: method for name, method in fitting.items() if name not in ignoring}
    results, failures = results_of(others, instance, exact_lam, "lambda")
    if definition.every is not None:
        results["brute-force"] = brute_force(instance, exact_lam)
    paths = {"path": prune_path(instance)} if "path" in results else {}
    faults = {name: definition.fault(result.pruning.kept) for name, result in results.items()}
    values = {
        name: _objective(definition, result.pruning.kept, exact_lam)
        for name, result in results.items()
        if faults[name] is None
    }
    best = min(values.values(), default=None)
    optimal = {name: results[name].pruning.kept for name, value in values.items() if value == best}
    answers = []
    for name, result in results.items():
        fault = faults[name]
        problems = [fault] if fault is not None else _misreported(definition, result, exact_lam)
        problems += _disagreements(instance, name, result, best, values.get(name), optimal)
        if name in paths:
            problems += _path_problems(paths[name], definition)
        answers.append(Answer.of(name, result, result.objective, is_best=result.objective == best, problems=problems))
    least, failed = results_of(ignoring, instance, Fraction(0), "lambda")
    answers += [_least_error_answer(name, instance, result, definition) for name, result in least.items()]
    answers += [*failures, *failed]
    answers += budget_answers(instance, exact_budget, within_budget, definition)
    return CrossCheck(instance.fingerprint(), exact_lam, exact_budget, best, tuple(answers))


def method_names() -> list[str]:
    """List the methods that can be compared: those at one lambda, then those for a budget."""
    models = [
        f"{MODEL}{name}" for name, program in FORMULATIONS.items() if program.takes != "budget" and not program.variant
    ]
    return [*available_solvers(), "path", *models, *budget_methods()]


def chosen_methods(methods: Methods) -> tuple[Mapping[str, Method], Mapping[str, BudgetMethod]]:
    """Look methods up by name: those at one lambda, and those for a budget.

    Raises
    ------
    ValueError
        An unknown name, or a formulation of another problem.
    """
    if isinstance(methods, Mapping):
        for name, method in methods.items():
            check_signature(name, method)
        return methods, {}
    for_budget, known = budget_methods(), [*SOLVERS, *method_names()]
    if isinstance(methods, str):
        raise TypeError(f"methods: expected a list of names, got {methods!r}; write [{methods!r}]")
    chosen = method_names() if methods is None else [name_of_method(method) for method in methods]
    unknown = [name for name in chosen if name not in known]
    others = [name for name in unknown if (program := _formulation(name)) is not None and program.variant]
    if others:
        raise ValueError(
            f"methods: expected methods of the pruning problem, got {', '.join(others)}, which state others: "
            "formulations.study compares these with their definitions"
        )
    if unknown:
        raise ValueError(
            f"methods: expected names among {', '.join(method_names())}, or on the command line FILE.py:NAME of one "
            f"that a file registers, got {', '.join(unknown)}"
        )
    at_lambda = {name: _at_lambda(name) for name in chosen if name not in for_budget}
    return at_lambda, {name: for_budget[name] for name in chosen if name in for_budget}


def name_of_method(method: object) -> str:
    """Return the name of a method; a formulation has one once it is registered."""
    if isinstance(method, Formulation):
        if FORMULATIONS.get(method.name) is not method:
            raise ValueError(
                f"methods: expected formulations that are registered, got {method!r}, which is not; "
                "see formulations.register_formulation"
            )
        return f"budget-{MODEL}{method.name}" if method.takes == "budget" else f"{MODEL}{method.name}"
    if not isinstance(method, str):
        raise TypeError(
            f"methods: expected names or formulations, got {method!r}; give functions as a mapping, such as "
            '{"mine": function}'
        )
    return method


def _at_lambda(name: str) -> Method:
    if name == "path":
        return lambda instance, lam: prune_path(instance).result(lam)
    program = _formulation(name)
    if program is not None:
        return lambda instance, lam: _solve_model(program, instance, lam)
    options = SOLVERS[name].quick_options
    return lambda instance, lam: solve(instance, lam, name, **options)


def _formulation(name: str) -> Formulation | None:
    """Return the formulation that a method builds with Pyomo, None for other methods."""
    return FORMULATIONS.get(name.removeprefix(MODEL)) if name.startswith(MODEL) else None


def _solve_model(program: Formulation, instance: PruningInstance, lam: Fraction) -> PruningResult:
    model = formulations.build(program, instance, **program.numbers(lam))
    result = formulations.solve(model, None if program.integral else WEAK_TIME_LIMIT_S)
    if not isinstance(result, PruningResult):
        raise TypeError(f"{program}: expected a PruningResult, got {type(result).__name__}")
    return result


def _fits(name: str, instance: PruningInstance) -> bool:
    """Return whether a method takes an instance of this size, and its program, if it has one, can be stated for it."""
    if name in SOLVERS:
        return SOLVERS[name].fits(instance)
    program = _formulation(name)
    return program is None or program.fits(instance)


def _ignores_costs(name: str) -> bool:
    """Return whether a method minimises the error alone, as IP0 does."""
    program = _formulation(name)
    return program is not None and program.takes == "nothing"


def _answered(name: str, method: Method, instance: PruningInstance, lam: Fraction) -> PruningResult:
    started = perf_counter()
    answer = method(instance, lam)
    if isinstance(answer, PruningResult):
        return answer
    return checked_answer(instance, lam, answer, name, perf_counter() - started)


def _objective(definition: Definition, kept: Kept, lam: Fraction) -> Fraction:
    error, cost = definition.evaluate(kept)
    return error + lam * cost


def _misreported(definition: Definition, result: PruningResult, lam: Fraction) -> list[str]:
    """List what is wrong with the numbers reported of a pruning."""
    found = definition.misreported(result.pruning.kept, result.error, result.cost)
    objective = _objective(definition, result.pruning.kept, lam)
    if result.objective != objective:
        found.append(f"reports objective {result.objective}, but it is {objective}")
    if result.lam != lam:
        found.append(f"reports lambda {result.lam}, but was asked at {lam}")
    return found


def _disagreements(
    instance: PruningInstance,
    name: str,
    result: PruningResult,
    best: Fraction | None,
    value: Fraction | None,
    optimal: Mapping[str, Kept],
) -> list[str]:
    """List where an answer differs from the best that any method found."""
    found = []
    if best is not None and result.bound > best:
        found.append(f"its bound {result.bound} exceeds the objective {best} of a pruning of {', '.join(optimal)}")
    if _is_exact(name) and result.status is not Status.OPTIMAL:
        found.append(
            f"an exact method ended as {str(result.status)!r}, at {result.objective}; the best found is {best}"
        )
    ended_unproven = result.status is Status.FEASIBLE and _formulation(name) is not None and not _is_exact(name)
    if ended_unproven and value is not None and value != best:
        found.append(f"HiGHS ended its search at {value}, but {', '.join(optimal)} found {best}")
    if result.status is Status.OPTIMAL and result.bound != result.objective:
        found.append(f"claims an optimum with bound {result.bound} below objective {result.objective}")
    if result.status is Status.OPTIMAL and value is not None and value != best:
        found.append(f"claims the optimum {value}, but {', '.join(optimal)} found {best}")
    if _is_canonical(name) and name in optimal:
        for other, kept in optimal.items():
            if np.any(optimal[name] & ~kept):
                found.append(f"is not the smallest optimal set: {other} keeps less")
    if result.flow is not None:
        verdict = verify_optimality(instance, result)
        if not verdict:
            found.append(f"its flow is {verdict}")
    return found


def _least_error_answer(name: str, instance: PruningInstance, result: PruningResult, definition: Definition) -> Answer:
    """Minimise the error alone, as IP0 does; compare with the least error of all prunings, or of the minimum cut."""
    free = Fraction(0)
    fault = definition.fault(result.pruning.kept)
    least = solve(instance, free).error if definition.every is None else min(error for error, _ in definition.every)
    problems = [fault] if fault is not None else _misreported(definition, result, free)
    if result.status is not Status.OPTIMAL or result.error != least:
        problems.append(f"has error {result.error} and ended as {str(result.status)!r}; the least error is {least}")
    return Answer.of(name, result, result.objective, is_best=result.error == least, problems=problems)


def _is_exact(name: str) -> bool:
    """Return whether a method must prove its optimum; for weak relaxations HiGHS's word is all there is."""
    program = _formulation(name)
    if program is not None:
        return program.integral is True
    return SOLVERS[name].exact if name in SOLVERS else True


def _is_canonical(name: str) -> bool:
    """Return whether a method promises the smallest optimal set of kept nodes."""
    return SOLVERS[name].canonical if name in SOLVERS else name in ("path", "brute-force")


def _path_problems(path: PruningPath, definition: Definition) -> list[str]:
    """List what is wrong with a whole path."""
    found = []
    verdict = verify_path(path.instance, path)
    if not verdict:
        found.append(f"its flow is {verdict}")
    if definition.every is not None:
        corners = lower_frontier(definition.every)
        curve = list(zip(path.costs, path.errors, strict=True))[::-1]
        if curve != corners:
            found.append(f"its curve has {len(curve)} prunings, the lower frontier {len(corners)}, or others")
    for number, lam in enumerate(path.breakpoints):
        if not np.array_equal(path.pruning(lam).kept, path.pruning_at(number + 1).kept):
            found.append(f"at breakpoint {number} its pruning is not the next one")
    return found
