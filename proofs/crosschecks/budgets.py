"""Every method for a budget against every other, and against every pruning of a small forest.

Required of each answer:

- the pruning is closed under parents and within the budget, and its error and cost are the ones reported;
- the bound exceeds no error that any method found within the budget;
- an exact method ends with status "optimal", bound equal to error, and the least error;
- the mixture of prunings is one, keeps the budget on average, and has the error of the lower frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

import formulations
from formulations.base import Formulation
from formulations.registry import FORMULATIONS
from ipforest.instance import PruningInstance
from ipforest.results import BudgetResult, Status
from ipforest.solvers import BUDGET_SOLVERS, solve_budget
from proofs.crosschecks.answer import Answer, results_of
from proofs.crosschecks.definition import Definition, error_on_frontier, lower_frontier

BudgetMethod: TypeAlias = Callable[[PruningInstance, Fraction], BudgetResult]

PREFIX = "budget-"
MODEL = f"{PREFIX}pyomo-"
"""Begins the names of methods that build a formulation with Pyomo."""


def budget_methods() -> dict[str, BudgetMethod]:
    """Return the budget solvers that are installed, and the formulations within a budget as Pyomo models."""
    found: dict[str, BudgetMethod] = {
        f"{PREFIX}{name}": _registered(name) for name, info in BUDGET_SOLVERS.items() if not info.missing_packages
    }
    return found | {
        f"{MODEL}{name}": _model(program)
        for name, program in FORMULATIONS.items()
        if program.takes == "budget" and not program.variant
    }


def _registered(name: str) -> BudgetMethod:
    return lambda instance, budget: solve_budget(instance, budget, name)


def _model(program: Formulation) -> BudgetMethod:
    """Solve the relaxation, which gives a mixture, or the 0-1 program of a formulation whose relaxation is not read."""

    def solve_model(instance: PruningInstance, budget: Fraction) -> BudgetResult:
        result = formulations.solve(formulations.build(program, instance, budget=budget, relaxed=program.integer_units))
        if not isinstance(result, BudgetResult):
            raise TypeError(f"{program}: expected a BudgetResult, got {type(result).__name__}")
        return result

    return solve_model


def budget_answers(
    instance: PruningInstance, budget: Fraction, methods: Mapping[str, BudgetMethod], definition: Definition
) -> list[Answer]:
    """Solve for a budget by several methods and compare what they say."""
    infos = {name: BUDGET_SOLVERS.get(name.removeprefix(PREFIX)) for name in methods}
    fitting = {name: methods[name] for name, info in infos.items() if info is None or info.fits(instance)}
    results, failures = results_of(fitting, instance, budget, "budget")
    valid = [result for result in results.values() if _claim_problems(result, budget, definition) == []]
    errors = {result.error for result in valid}
    if definition.every is not None:
        errors |= {error for error, cost in definition.every if cost <= budget}
    least = min(errors, default=None)
    relaxed = _relaxed_errors(valid, budget, definition)
    answers = [
        Answer.of(
            name,
            result,
            result.error,
            is_best=result.error == least,
            problems=(
                *_claim_problems(result, budget, definition),
                *_disagreements(name, result, least),
                *_mixture_problems(result, budget, definition, relaxed),
            ),
        )
        for name, result in results.items()
    ]
    return answers + failures


def _claim_problems(result: BudgetResult, budget: Fraction, definition: Definition) -> list[str]:
    """List what is wrong with the pruning and the numbers reported of it."""
    fault = definition.fault(result.pruning.kept)
    if fault is not None:
        return [fault]
    found = definition.misreported(result.pruning.kept, result.error, result.cost)
    if result.budget != budget:
        found.append(f"reports the budget {result.budget}, but was asked for {budget}")
    if result.cost > budget:
        found.append(f"its pruning costs {result.cost}, more than the budget {budget}")
    return found


def _disagreements(name: str, result: BudgetResult, least: Fraction | None) -> list[str]:
    """List where an answer differs from the best that any method found."""
    found = []
    if least is not None and result.bound > least:
        found.append(f"its bound {result.bound} exceeds the error {least} of a pruning within the budget")
    info = BUDGET_SOLVERS.get(name.removeprefix(PREFIX))
    if info is not None and info.exact and result.status is not Status.OPTIMAL:
        found.append(f"an exact method ended as {str(result.status)!r}")
    if result.status is Status.OPTIMAL and result.bound != result.error:
        found.append(f"claims an optimum with bound {result.bound} below error {result.error}")
    if result.status is Status.OPTIMAL and least is not None and result.error != least:
        found.append(f"claims the optimum {result.error}, but another pruning has {least}")
    return found


def _mixture_problems(
    result: BudgetResult, budget: Fraction, definition: Definition, relaxed: set[Fraction]
) -> list[str]:
    """List what is wrong with the mixture."""
    weights = [weight for weight, _ in result.mixture]
    if min(weights) <= 0 or sum(weights) != 1:
        return [f"the weights of its mixture are {', '.join(map(str, weights))}"]
    faults = [fault for _, pruning in result.mixture if (fault := definition.fault(pruning.kept)) is not None]
    if faults:
        return [f"in its mixture {faults[0]}"]
    points = [(weight, *definition.evaluate(pruning.kept)) for weight, pruning in result.mixture]
    error = sum((weight * error for weight, error, _ in points), Fraction(0))
    cost = sum((weight * cost for weight, _, cost in points), Fraction(0))
    found = []
    if (result.mixture_error, result.mixture_cost) != (error, cost):
        found.append(
            f"its mixture has error {error} at cost {cost}, not {result.mixture_error} at {result.mixture_cost}"
        )
    if cost > budget:
        found.append(f"its mixture costs {cost}, more than the budget {budget}")
    if error > min(relaxed, default=error):
        found.append(f"its mixture has error {error}, another one {min(relaxed)}")
    return found


def _relaxed_errors(valid: Iterable[BudgetResult], budget: Fraction, definition: Definition) -> set[Fraction]:
    """Collect the errors of mixtures within the budget: of the lower frontier, else those that were found."""
    if definition.every is not None:
        return {error_on_frontier(lower_frontier(definition.every), budget)}
    return {result.mixture_error for result in valid}
