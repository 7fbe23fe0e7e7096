"""The pruning programs' relaxations as exact polytopes, in integers and fractions.

All variables lie between 0 and 1. Rows, columns and their names are those of the formulation's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from formulations.base import Formulation
from formulations.registry import formulation as formulation_named
from ipforest.instance import PruningInstance
from proofs.exact import Number
from proofs.integrality.vertices import Polytope
from proofs.unimodularity.formulation_networks import relaxation


def polytope(instance: PruningInstance, formulation: str | Formulation) -> Polytope:
    """Build the relaxation of a formulation that takes no budget.

    Parameters
    ----------
    instance : PruningInstance
    formulation : str or Formulation
        For one with a budget see `budget_polytope`.

    Raises
    ------
    ValueError
        An unknown name, one that takes a budget, or an instance that it cannot be stated for.
    """
    if formulation_named(formulation).takes == "budget":
        raise ValueError(f"formulation: expected one without a budget, got {formulation}")
    program = relaxation(instance, formulation)
    senses = ["=" if sense == "==" else sense for sense in program.senses.tolist()]
    matrix = program.A.toarray().astype(int).tolist()
    return Polytope(matrix, senses, program.rhs.astype(int).tolist(), tuple(program.column_labels))


def variable_names(instance: PruningInstance, formulation: str | Formulation) -> tuple[str, ...]:
    """Return the names of the columns."""
    return tuple(relaxation(instance, formulation).column_labels)


def row_names(instance: PruningInstance, formulation: str | Formulation) -> tuple[str, ...]:
    """Return the names of the rows."""
    return tuple(relaxation(instance, formulation).row_labels)


def budget_polytope(instance: PruningInstance, formulation: str | Formulation, budget: Fraction) -> Polytope:
    """Add LP1's budget row to a formulation that takes lambda: cost <= budget, in integer cost units.

    Parameters
    ----------
    instance : PruningInstance
    formulation : str or Formulation
    budget : Fraction
        What an example may cost on average.

    Returns
    -------
    Polytope
        The budget row is the last one; its right-hand side is exact.
    """
    base = polytope(instance, formulation)
    constant, row = cost_row(instance, formulation)
    right = Fraction(budget) / instance.cost_unit - constant
    return Polytope([*base.matrix, row], [*base.senses, "<="], [*base.right, right], base.names)


def cost_row(instance: PruningInstance, formulation: str | Formulation) -> tuple[int, list[Number]]:
    """Express the cost, in integer units, as a constant plus a linear function of a program's columns."""
    program = formulation_named(formulation)
    tree, constant = program.tree_objective(instance, 1, 0)
    between = program.size(instance).variables - tree.size - instance.n_acquisitions
    return constant, [*tree.tolist(), *(0,) * between, *instance.acquisition_cost.tolist()]


def error_row(instance: PruningInstance, formulation: str | Formulation) -> tuple[int, list[Number]]:
    """Express the error, in integer units, as a constant plus a linear function of a program's columns."""
    program = formulation_named(formulation)
    tree, constant = program.tree_objective(instance, 0, 1)
    return constant, [*tree.tolist(), *(0,) * (program.size(instance).variables - tree.size)]


def value(row: tuple[int, Sequence[Number]], point: Sequence[Number]) -> Number:
    """Evaluate a constant plus a linear function at a point."""
    total: Number = row[0]
    for coefficient, coordinate in zip(row[1], point, strict=True):
        total += coefficient * coordinate
    return total
