"""What solvers are asked about, and what is right: at one lambda, and within a budget."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from hypothesis import strategies as st

from ipforest.results import BudgetResult, PruningResult
from ipforest.solvers.registry import (
    BUDGET_SOLVERS,
    SOLVERS,
    SolverInfo,
    SolverRegistry,
    check_signature,
    checked_answer,
    checked_budget_answer,
)
from ipforest.testing.strategies import budgets, lambdas
from proofs.corners import (
    broad_stump,
    corner_instances,
    corner_numbers,
    costlier_for_the_second,
    crowded_instances,
    in_finer_units,
    knapsack_instance,
    many_stumps,
    tall_ladder,
    tower_instance,
)

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from proofs.study.problem import Problem

__all__ = ["AtLambda", "Question", "Questions", "WithinBudget", "questions_to"]

Question: TypeAlias = "tuple[PruningInstance, Fraction]"
"""An instance, and lambda or the budget."""

FAR = 10**7
"""A lambda far above those that instances are drawn with."""
HUGE = Fraction(10**30)
"""A budget that pays for everything, and that no integer of 64 bits holds."""
HAIR = Fraction(1, 10**13)
"""How far a number lies from one at which the answer changes: less than twelve digits and tolerances tell."""
MAX_TRIED = 10_000
"""Prunings that are tried one by one; of more, another solver finds the best."""
MAX_COSTS = 20
"""Costs of prunings of one instance that are asked about as budgets, spread evenly."""
MAX_OPTIMA = 1000
"""Optima that are kept; the checks of one solver look at fewer problems."""
SIZES = ((8, 2, 3, 20), (2, 3, 12, 9), (2, 2, 70, 5), (16, 3, 20, 6))
"""Trees, depth, examples and units. On the eight trees 25 of 27 triples matter, what seventy examples need has more
than 64 acquisitions, which sets of bits in one integer do not hold."""
_OPTIMA: dict[tuple[str, str, Fraction], Any] = {}
"""Optima by what the number is, the fingerprint of the instance and the number."""


@dataclass(frozen=True, slots=True)
class Questions(ABC):
    """Questions to a solver of one kind.

    Parameters
    ----------
    info : SolverInfo
        The solver, and what it promises.
    """

    info: SolverInfo

    takes: ClassVar[str]
    number: ClassVar[str]
    minimises: ClassVar[str]
    numbers: ClassVar[st.SearchStrategy[Fraction]]
    registry: ClassVar[SolverRegistry]
    _checked: ClassVar[Callable[..., Any]]

    def answer(self, instance: PruningInstance, number: Fraction) -> Any:
        """Ask the solver; a bare pruning becomes a result, a result is given as it came."""
        answer = self.info.load()(instance, number, **self.info.quick_options)
        if isinstance(answer, PruningResult | BudgetResult):
            return answer
        return type(self)._checked(instance, number, answer, self.info.name, 0.0)

    def value(self, result: Any) -> Fraction:
        """Return what is to be least: the objective at lambda, the error within a budget."""
        value: Fraction = getattr(result, self.minimises)
        return value

    def optimum(self, instance: PruningInstance, number: Fraction) -> Any:
        """Return the optimum, found by trying all prunings or with a proof; once for each problem of many checks."""
        key = self.takes, instance.fingerprint(), number
        if key not in _OPTIMA:
            if len(_OPTIMA) >= MAX_OPTIMA:
                _OPTIMA.clear()
            _OPTIMA[key] = self._find_optimum(instance, number)
        return _OPTIMA[key]

    def least(self, instance: PruningInstance, number: Fraction) -> Fraction:
        """Return the least value of all prunings."""
        return self.value(self.optimum(instance, number))

    def problem(self, instance: PruningInstance, number: Fraction) -> Problem:
        """Return a question as a problem, which can be written as JSON."""
        from proofs.study.problem import Problem

        return Problem(instance, **{self.takes: number})

    @abstractmethod
    def truth(self, instance: PruningInstance, number: Fraction, result: Any) -> dict[str, Any]:
        """Return what a result must say, by the names of its fields."""

    @abstractmethod
    def numbers_of(self, instance: PruningInstance) -> list[Fraction]:
        """Return numbers at which answers differ on a small instance; at the first, some nodes are worth keeping."""

    @abstractmethod
    def numbers_of_twins(self, pair: tuple[PruningInstance, PruningInstance]) -> list[Fraction]:
        """Return numbers at one of which two instances have different answers."""

    @abstractmethod
    def problems(self) -> Iterator[Question]:
        """Make the small problems that tell solvers apart."""

    @abstractmethod
    def larger_problems(self) -> Iterator[Question]:
        """Make problems of 8, 16 and 120 trees, of three that many examples pass, and of chains of 120 tests."""

    @abstractmethod
    def _find_optimum(self, instance: PruningInstance, number: Fraction) -> Any: ...


@dataclass(frozen=True, slots=True)
class AtLambda(Questions):
    """Questions to a method of `solve`."""

    takes = "lam"
    number = "lambda"
    minimises = "objective"
    numbers = lambdas
    registry = SOLVERS
    _checked = checked_answer

    def truth(self, instance: PruningInstance, number: Fraction, result: Any) -> dict[str, Any]:
        """Return lambda, and the error, cost and objective of the pruning."""
        error, cost = instance.evaluate(result.pruning)
        return {"lam": number, "error": error, "cost": cost, "objective": error + number * cost}

    def numbers_of(self, instance: PruningInstance) -> list[Fraction]:
        """Return 1/2 and 1/5; at the second it matters on the last corner instance what trees share."""
        return [number for number in corner_numbers(instance, "lam") if number is not None]

    def numbers_of_twins(self, pair: tuple[PruningInstance, PruningInstance]) -> list[Fraction]:
        """Return 1."""
        return [Fraction(1)]

    def problems(self) -> Iterator[Question]:
        """Make the small problems that tell solvers apart.

        25/78 lies between the breakpoints 4/13 and 1/3 of the last corner instance, where a rounded lambda does not.
        Two lambdas next to 1/3 are it in twelve digits, and make integers as large as floats hold. On the chain the
        second example pays twice the price of the first for the same unit. Some nodes of the last instance are worth
        their price at very large and small lambdas; its integers may need more than 32 bits.
        """
        corners = corner_instances()
        for instance in (*corners, *crowded_instances()):
            yield from ((instance, lam) for lam in self.numbers_of(instance))
        last = corners[-1]
        near = (Fraction(1, 3) + side * HAIR for side in (1, -1))
        yield from product((last,), (Fraction(25, 78), *near, Fraction(0), Fraction(FAR)))
        yield costlier_for_the_second(corners[2]), Fraction(1, 5)
        nine_nodes = _nine_nodes()
        for far in (Fraction(100), Fraction(FAR), Fraction(1, FAR)):
            yield replace(nine_nodes, cost_unit=nine_nodes.cost_unit / far), far
        yield in_finer_units(nine_nodes), Fraction(3, 2)

    def larger_problems(self) -> Iterator[Question]:
        """Make the larger ones just above breakpoints of the path, where what a node needs decides whether it is kept.

        At last comes a chain of 120 tests, all or none of which are worth their price.
        """
        from ipforest.path_search import prune_path

        for instance in _larger_instances():
            yield from ((instance, lam + Fraction(1, 10**6)) for lam in prune_path(instance).breakpoints)
        yield from product((tower_instance(),), (Fraction(1, 5), Fraction(FAR)))

    def _find_optimum(self, instance: PruningInstance, number: Fraction) -> PruningResult:
        """Return the smallest optimal pruning, by trying all or with a certificate."""
        from proofs.certificates.optimality import verify_optimality
        from proofs.crosschecks.brute_force import brute_force, count_prunings

        if count_prunings(instance) <= MAX_TRIED:
            return brute_force(instance, number)
        best: PruningResult = SOLVERS["min-cut"].load()(instance, number)
        assert verify_optimality(instance, best)
        return best


@dataclass(frozen=True, slots=True)
class WithinBudget(Questions):
    """Questions to a method of `solve_budget`."""

    takes = "budget"
    number = "the budget"
    minimises = "error"
    numbers = budgets
    registry = BUDGET_SOLVERS
    _checked = checked_budget_answer

    def truth(self, instance: PruningInstance, number: Fraction, result: Any) -> dict[str, Any]:
        """Return the budget, the error and cost of the pruning, and those of the mixture."""
        error, cost = instance.evaluate(result.pruning)
        parts = [(weight, *instance.evaluate(pruning)) for weight, pruning in result.mixture]
        return {
            "budget": number,
            "error": error,
            "cost": cost,
            "mixture_error": sum((weight * error for weight, error, _ in parts), Fraction(0)),
            "mixture_cost": sum((weight * cost for weight, _, cost in parts), Fraction(0)),
        }

    def numbers_of(self, instance: PruningInstance) -> list[Fraction]:
        """Return half of what all costs, nothing, a huge number, and costs of prunings: each, and a hair off it."""
        from proofs.crosschecks.brute_force import prunings

        costs = sorted({instance.evaluate(pruning)[1] for pruning in prunings(instance)})
        asked = costs[1 :: len(costs) // MAX_COSTS + 1]
        near = [cost * factor for cost in asked for factor in (Fraction(1), 1 - HAIR, 1 + HAIR)]
        return [costs[-1] / 2, Fraction(0), HUGE, *near]

    def numbers_of_twins(self, pair: tuple[PruningInstance, PruningInstance]) -> list[Fraction]:
        """Return the numbers of either."""
        return [number for instance in pair for number in self.numbers_of(instance)]

    def problems(self) -> Iterator[Question]:
        """Make the small problems that tell solvers apart.

        One has costs of large and small fractions. In the last two ``greedy`` is not optimal, so `solve_budget` cannot
        tell a false bound there.
        """
        corners, nine_nodes = corner_instances(), _nine_nodes()
        fine = replace(nine_nodes, cost_unit=nine_nodes.cost_unit / (3 * FAR))
        others = (costlier_for_the_second(corners[2]), nine_nodes, in_finer_units(nine_nodes), fine)
        for instance in (*corners, *crowded_instances(), *others):
            yield from ((instance, budget) for budget in self.numbers_of(instance))
        yield from product((knapsack_instance(),), (Fraction(14), Fraction(15)))

    def larger_problems(self) -> Iterator[Question]:
        """Make the larger ones with what breakpoints of the path cost as budgets, and one unit less."""
        from ipforest.path_search import prune_path

        for instance in (*_larger_instances(), tower_instance()):
            costs = prune_path(instance).costs
            yield from ((instance, cost - less) for cost in costs if cost > 0 for less in (0, instance.cost_unit))

    def _find_optimum(self, instance: PruningInstance, number: Fraction) -> BudgetResult:
        """Return a pruning of least error by branch and bound; up to ten thousand are all tried, too."""
        from proofs.crosschecks.brute_force import count_prunings, prunings

        best: BudgetResult = BUDGET_SOLVERS["mip"].load()(instance, number)
        if count_prunings(instance) <= MAX_TRIED:
            points = map(instance.evaluate, prunings(instance))
            assert best.error == min(error for error, cost in points if cost <= number)
        return best


KINDS: dict[str, type[Questions]] = {kind.takes: kind for kind in (AtLambda, WithinBudget)}


def questions_to(solver: str | SolverInfo | Callable[..., Any], takes: str | None) -> Questions:
    """Return the questions to a solver by its name, with its promises, or without any.

    Parameters
    ----------
    solver : str, SolverInfo or callable
    takes : {"lam", "budget"}, optional
        Without it what the solver is registered as; "lam" if as both or neither.

    Raises
    ------
    ValueError
        No solver of this kind has that name, or there is no such kind.
    TypeError
        It cannot be called with an instance and the number.
    """
    if takes is None:
        takes = next((takes for takes, kind in KINDS.items() if _is_of(kind.registry, solver)), "lam")
    if takes not in KINDS:
        raise ValueError(f"takes: expected {' or '.join(KINDS)}, got {takes!r}")
    kind = KINDS[takes]
    if isinstance(solver, SolverInfo):
        return kind(solver)
    if isinstance(solver, str):
        return kind(kind.registry.look_up(solver))
    name = getattr(solver, "__name__", "solver")
    check_signature(name, solver, kind.number)
    return kind(SolverInfo(name, solver, exact=False))


def _is_of(registry: SolverRegistry, solver: object) -> bool:
    """Return whether a solver is registered there: its name, its entry, or the function that was."""
    if isinstance(solver, str):
        return solver in registry
    functions = (inspect.unwrap(info.target) for info in registry.values() if callable(info.target))
    return any(solver is each for each in (*registry.values(), *functions))


def _nine_nodes() -> PruningInstance:
    from proofs.crosschecks.random_instances import random_instance

    return random_instance(np.random.default_rng(1))


def _larger_instances() -> Iterator[PruningInstance]:
    """Make generated instances, then those of 120 examples, tests and trees, in which each of them matters."""
    from proofs.study.generated_forests import Shape, generated_instance

    for trees, depth, examples, units in SIZES:
        yield generated_instance(np.random.default_rng(0), Shape(trees, depth, examples, units))
    yield from (broad_stump(), tall_ladder(), many_stumps())
