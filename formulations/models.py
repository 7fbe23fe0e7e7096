"""What can be done with a Pyomo model: take its matrix, give its variables values, write it to a file."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn
from scipy.sparse import csr_array

from ipforest._internal.arrays import FloatArray
from ipforest._internal.files import write_file
from ipforest.solvers.linear_program import LinearProgram

__all__ = ["columns_of", "export", "matrix", "set_values"]


def matrix(model: pyo.ConcreteModel) -> LinearProgram:
    """Take a linear model apart: sparse matrix, labels, senses, right-hand sides, bounds, objective.

    Columns (`columns_of`) and rows stand in the order in which the model declares them. A row with two different sides
    becomes two; a variable that is fixed has its value for both bounds. An objective that is maximised is negated,
    which `LinearProgram.maximised` says.

    Raises
    ------
    ValueError
        The model has no active objective or several, an expression that is not linear or has variables of another
        model, a variable over a set with gaps or without its end (`PositiveReals`), one that is fixed without a number,
        or components that rows and columns do not represent (SOS and logical constraints, disjunctions,
        complementarities); or it is an `AbstractModel`, not an instance of one.
    """
    if not model.is_constructed():
        raise ValueError(
            "model: expected a ConcreteModel, got an AbstractModel; give what its create_instance() returns"
        )
    _check_components(model)
    variables = columns_of(model)
    for variable in variables:
        _check_fixed(variable)
    integer = [_is_integer(variable) for variable in variables]
    column = {id(variable): position for position, variable in enumerate(variables)}
    entries: list[float] = []
    indices: list[int] = []
    offsets, senses, rhs, labels = [0], [], [], []
    for row in model.component_data_objects(pyo.Constraint, active=True):
        columns, coefficients, constant = _linear_terms(row.body, row.name, column)
        for sense, side in _sides(row):
            indices += columns
            entries += coefficients
            offsets.append(len(indices))
            senses.append(sense)
            rhs.append(side - constant)
            labels.append(row.name)
    A = csr_array((np.array(entries, dtype=np.float64), indices, offsets), shape=(len(labels), len(variables)))
    A.sort_indices()
    goal = _objective(model)
    columns, coefficients, constant = _linear_terms(goal.expr, goal.name, column)
    objective = np.zeros(len(variables))
    objective[columns] = coefficients
    maximised = goal.sense == pyo.maximize
    return LinearProgram(
        A=A,
        senses=np.array(senses, dtype="<U2"),
        rhs=np.array(rhs, dtype=np.float64),
        objective=-objective if maximised else objective,
        constant=-float(constant) if maximised else float(constant),
        lower=np.array([_bound(variable, variable.lb, -inf) for variable in variables], dtype=np.float64),
        upper=np.array([_bound(variable, variable.ub, inf) for variable in variables], dtype=np.float64),
        integer=np.array(integer, dtype=bool),
        row_labels=tuple(labels),
        column_labels=tuple(variable.name for variable in variables),
        maximised=bool(maximised),
    )


def columns_of(model: pyo.ConcreteModel) -> list[Any]:
    """List a model's variables in the order of its matrix's columns.

    Those of deactivated blocks, too, but only where an active row or the objective has them.
    """
    variables = list(model.component_data_objects(pyo.Var))
    active = {id(variable) for variable in model.component_data_objects(pyo.Var, active=True)}
    if len(active) == len(variables):
        return variables
    for kind in (pyo.Constraint, pyo.Objective):
        for part in model.component_data_objects(kind, active=True):
            active.update(map(id, identify_variables(part.expr)))
    return [variable for variable in variables if id(variable) in active]


REPRESENTED = frozenset(
    [
        "Block",
        "BooleanVar",
        "BuildAction",
        "BuildCheck",
        "Constraint",
        "ContinuousSet",
        "Expression",
        "ExternalFunction",
        "Objective",
        "Param",
        "Port",
        "RangeSet",
        "Set",
        "SetOf",
        "Suffix",
        "Var",
    ]
)
"""Components that add nothing to a linear program, or that its rows, columns and objective hold."""


def _check_components(model: pyo.ConcreteModel) -> None:
    for component in model.component_objects(active=True, descend_into=True):
        kind = component.ctype.__name__
        if kind not in REPRESENTED and not component.is_reference():
            raise ValueError(
                f"{component.name}: expected variables, linear constraints and an objective, got a {kind}; "
                "write it as linear rows, or deactivate it"
            )


def _objective(model: pyo.ConcreteModel) -> Any:
    goals = list(model.component_data_objects(pyo.Objective, active=True))
    if len(goals) != 1:
        names = ", ".join(goal.name for goal in goals) or "none (pyo.Objective(expr=0) will do to ask about points)"
        raise ValueError(f"model: expected one active objective, got {names}")
    return goals[0]


def _sides(row: Any) -> list[tuple[str, float]]:
    """Return a constraint as one row, or as two if it has two different sides: sense and right-hand side of each."""
    if row.equality:
        return [("==", pyo.value(row.upper))]
    sides = (("<=", row.has_ub(), row.upper), (">=", row.has_lb(), row.lower))
    return [(sense, pyo.value(side)) for sense, is_finite, side in sides if is_finite]


def _check_fixed(variable: Any) -> None:
    """Require a number of a variable that is fixed; it stands in rows and in the objective."""
    value = variable.value if variable.fixed else 0.0
    if value is None or not isfinite(value):
        raise ValueError(f"{variable.name}: expected a finite number at which it is fixed, got {value}; fix it at one")


def _is_integer(variable: Any) -> bool:
    """Return whether a variable is over the integers of an interval; all reals of one are the other domain."""
    ranges = list(variable.domain.ranges())
    if not ranges or not (variable.is_integer() or variable.is_continuous()):
        raise ValueError(
            f"{variable.name}: expected a variable over the reals or the integers of an interval, got one over "
            f"{variable.domain if ranges else 'an empty set'}; write it with a 0-1 variable for each value"
        )
    if variable.is_continuous() and not all(all(each.closed) for each in ranges):
        raise ValueError(
            f"{variable.name}: expected an interval with its ends, got {variable.domain}, which solvers take for one "
            "with them; write it with bounds"
        )
    return bool(variable.is_integer())


def _bound(variable: Any, bound: float | None, unbounded: float) -> float:
    if variable.fixed:
        return float(pyo.value(variable))
    return unbounded if bound is None else bound


def _linear_terms(expression: Any, name: str, column: Mapping[int, int]) -> tuple[list[int], list[float], float]:
    """Return the columns of an expression's variables, which `column` gives by their identity, and its numbers."""
    repn = generate_standard_repn(expression)
    if not repn.is_linear():
        raise ValueError(f"{name}: expected a linear expression, got one of higher degree")
    others = [variable.name for variable in repn.linear_vars if id(variable) not in column]
    if others:
        raise ValueError(f"{name}: expected variables of the model, got {others[0]}, which is not in it")
    return [column[id(variable)] for variable in repn.linear_vars], list(repn.linear_coefs), repn.constant


def set_values(model: pyo.ConcreteModel, values: FloatArray | None) -> None:
    """Let a model's variables hold a point in the order of its matrix's columns; without a point leave them alone."""
    if values is not None:
        for variable, value in zip(columns_of(model), values.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)


def export(model: pyo.ConcreteModel, path: str | Path) -> Path:
    """Write a model as ``.lp`` or ``.mps``, with its names, whole or not at all.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
    path : str or Path
        The suffix says the format.

    Raises
    ------
    TypeError
        No Pyomo model.
    ValueError
        Another suffix, two names that are one in the file, a name that the encoding of the system, in which Pyomo
        writes, does not have, or in an .mps file a variable of a deactivated block, which Pyomo does not find.
    """
    if not isinstance(model, pyo.Block):
        raise TypeError(f"model: expected a Pyomo model, as formulations.build gives, got {type(model).__name__}")
    target = Path(path)
    if target.suffix not in (".lp", ".mps"):
        raise ValueError(f"path: expected a name that ends in .lp or .mps, got {target.name!r}")
    try:
        write_file(target, lambda file: model.write(str(file), io_options={"symbolic_solver_labels": True}))
    except UnicodeEncodeError as problem:
        raise ValueError(
            f"model: expected names in {problem.encoding}, the encoding of this system, in which Pyomo writes files, "
            f"got {problem.object[problem.start : problem.end]!r}; run Python with -X utf8"
        ) from problem
    except KeyError as problem:
        name, told, _ = str(problem.args[0]).partition(" (key=")
        if not told:
            raise
        raise ValueError(
            f"model: expected variables of active blocks in what Pyomo writes as {target.suffix}, got {name}; activate "
            "the block, or fix its variables"
        ) from problem
    except RuntimeError as problem:
        if "symbol" not in str(problem):
            raise
        raise ValueError(
            "model: expected names that differ in more than signs, for which files have one letter, got two that "
            f"become one: {problem}"
        ) from problem
    return target
