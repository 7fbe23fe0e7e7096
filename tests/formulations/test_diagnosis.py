"""Duals, reduced costs and an infeasible subsystem speak in the names of the model."""

import pyomo.environ as pyo
import pytest
from reference import load_reference

import formulations
from formulations.diagnosis import infeasible_subsystem, shadow_prices
from ipforest.solvers.highs import NoOptimumError

TREE = load_reference("figure_1_tree").instance


def test_duals_and_reduced_costs_by_name():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a", "b", "c"], bounds=(0, 4))
    model.sum = pyo.Constraint(expr=model.x["a"] + 2 * model.x["b"] + model.x["c"] <= 6)
    model.goal = pyo.Objective(expr=3 * model.x["a"] + 2 * model.x["b"] - model.x["c"], sense=pyo.maximize)
    prices = shadow_prices(model)
    assert prices.objective == pytest.approx(14)
    assert prices.duals == pytest.approx({"sum": 1})
    assert prices.reduced_costs == pytest.approx({"x[a]": 2, "x[b]": 0, "x[c]": -2})


def test_duals_of_a_formulation_give_its_bound():
    program = formulations.matrix(formulations.build("ip3", TREE, 1))
    prices = shadow_prices(program)
    of_rows = sum(side * prices.duals[name] for name, side in zip(program.row_labels, program.rhs, strict=True))
    of_bounds = sum(min(0.0, cost) for cost in prices.reduced_costs.values())
    assert of_rows + of_bounds + program.constant == pytest.approx(prices.objective)


def test_an_infeasible_subsystem_is_minimal_and_named():
    model = formulations.build("closure", TREE, 1)
    h, above = next((h, above) for h, above in model.data.parent.items())
    model.kept = pyo.Constraint(expr=model.x[h] >= 1)
    model.dropped = pyo.Constraint(expr=model.x[above] <= 0)
    model.idle = pyo.Constraint(expr=sum(model.w.values()) <= 100)
    assert set(infeasible_subsystem(model)) == {"kept", "dropped", f"kept_under_parent[{h}]"}
    with pytest.raises(NoOptimumError, match="Infeasible"):
        shadow_prices(model)
    model.dropped.deactivate()
    assert infeasible_subsystem(model) == ()


def test_bounds_are_parts_of_it():
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(0, 1))
    model.high = pyo.Constraint(expr=model.x[0] + model.x[1] >= 3)
    model.goal = pyo.Objective(expr=model.x[0])
    assert infeasible_subsystem(model) == ("high", "x[0] <= 1", "x[1] <= 1")


def test_an_unbounded_program_is_said():
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.goal = pyo.Objective(expr=model.x)
    with pytest.raises(NoOptimumError, match="Unbounded"):
        shadow_prices(model)
