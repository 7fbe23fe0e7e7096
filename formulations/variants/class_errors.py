"""Classes apart: a budget of errors for each class, or the error of the class that fares worst."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.components import errors_left
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import closure, kept_nodes, standard
from ipforest.instance import PruningInstance
from ipforest.results import Pruning

ClassErrors = Callable[[PruningInstance], list[list[int]]]
"""Gives the errors of each class at each node, in error units; they add up to ``instance.errors``."""


def halves(instance: PruningInstance) -> list[list[int]]:
    """Share the errors of each node out among two classes, odd ones by turns; for instances without labels."""
    errors = instance.errors.tolist()
    first = [(error + node % 2) // 2 for node, error in enumerate(errors)]
    return [first, [error - part for error, part in zip(errors, first, strict=True)]]


def class_budgets(share: object = "1/2", errors: ClassErrors = halves) -> ModelledFormulation:
    r"""Add a row for each class c: :math:`\sum_h e^c_h z_h \le B_c`, with z in terms of x.

    Parameters
    ----------
    share : number
        B_c lies so far between the class's errors in the unpruned forest, which is always allowed, and those of the
        bare roots, if these are more.
    errors : callable
        See `ClassErrors`.
    """
    part = Fraction(str(share))

    def most(instance: PruningInstance, of_class: list[int]) -> int:
        unpruned, roots = (_total(instance, of_class, p) for p in (instance.unpruned, instance.roots_only))
        return unpruned + int(part * max(0, roots - unpruned))

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        counts = errors(instance)
        program.class_budget = pyo.Constraint(
            range(len(counts)), rule=lambda m, c: _within(errors_left(m.x, data, counts[c]), most(instance, counts[c]))
        )
        program.objective = pyo.Objective(expr=program.error + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction | None:
        allowed = all(_total(instance, counts, pruning) <= most(instance, counts) for counts in errors(instance))
        return standard(instance, lam, pruning) if allowed else None

    return ModelledFormulation("class-budgets", model, worth=worth, reason="a row of errors for each class")


def worst_class(errors: ClassErrors = halves) -> ModelledFormulation:
    r"""Minimise :math:`\max_c \sum_h e^c_h z_h + \lambda \mathrm{cost}`: one variable above each class's errors."""

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        counts = errors(instance)
        program.worst = pyo.Var(bounds=(0, max(1, sum(map(sum, counts)))))
        program.worst_of_all = pyo.Constraint(
            range(len(counts)), rule=lambda m, c: errors_left(m.x, data, counts[c]) <= m.worst
        )
        program.objective = pyo.Objective(expr=float(instance.error_unit) * program.worst + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        worst = max(_total(instance, counts, pruning) for counts in errors(instance))
        return instance.error_unit * worst + lam * instance.evaluate(pruning)[1]

    return ModelledFormulation("worst-class", model, worth=worth, reason="the maximum of two sums is fractional")


def _total(instance: PruningInstance, counts: list[int], pruning: Pruning) -> int:
    """Add up a class's errors where the examples stop: at nodes without a test whose parent keeps its own."""
    kept, parents = kept_nodes(instance, pruning), instance.node_parent.tolist()
    return sum(e for h, e in enumerate(counts) if h not in kept and (parents[h] < 0 or parents[h] in kept))


def _within(expression: Any, most: int) -> Any:
    return pyo.Constraint.Skip if isinstance(expression, int | float) else expression <= most
