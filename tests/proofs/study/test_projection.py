"""Relaxations as polytopes: which project onto which, with exact optima; a vertex with nothing above it."""

from fractions import Fraction
from itertools import product

import pyomo.environ as pyo
import pytest
from reference import load_reference

from formulations import ModelledFormulation, formulation
from proofs.study.problem import Problem
from proofs.study.projection import Affine, NoMapError, Outcome, model_projection, natural_map, projection
from proofs.study.sketch import Sketch, SketchedTree

STUMPS = Problem(load_reference("figure_1_tree").instance, lam=Fraction(1))


@pytest.mark.parametrize(
    ("source", "target", "outcome"),
    [
        ("ip3", "compact", Outcome.ONTO),
        ("compact", "closure", Outcome.ONTO),
        ("ip3", "ip1", Outcome.INTO),
        ("ip1", "ip3", Outcome.OUTSIDE),
    ],
)
@pytest.mark.slow
def test_the_built_in_formulations(source, target, outcome):
    found = projection(source, target, STUMPS)
    assert found.outcome is outcome, str(found)
    assert bool(found) is (outcome is Outcome.ONTO)


@pytest.mark.slow
def test_compact_projects_onto_ip3_and_ip1_is_outside_at_a_point_of_halves():
    assert "projects onto ip3's" in str(projection("compact", "ip3", STUMPS))
    found = projection("ip1", "ip3", STUMPS)
    assert found.text.startswith("usage_anywhere")
    assert set(found.point.values()) <= {Fraction(0), Fraction(1, 2), Fraction(1)}


def test_the_map_follows_from_names_and_equations():
    ip3, compact = formulation("ip3"), formulation("compact")
    maps = natural_map(compact, ip3, STUMPS)
    names = ip3.linear_program(STUMPS.specification(ip3)).column_labels
    of_w = [function for name, function in zip(names, maps, strict=True) if name.startswith("w_tree")]
    assert of_w
    assert all(function.constant == 1 and set(function.entries.values()) == {-1} for function in of_w)


def test_a_column_of_ones_own_needs_a_map():
    import pyomo.environ as pyo

    def with_another(instance, lam):
        model = formulation("closure").build(STUMPS.specification(formulation("closure")))
        model.other = pyo.Var(bounds=(0, 1))
        return model

    other = ModelledFormulation("other", with_another)
    with pytest.raises(NoMapError, match=r"other: expected it to be a column of closure, .* give the map"):
        projection("closure", other, STUMPS)
    width = len(formulation("closure").linear_program(STUMPS.specification(formulation("closure"))).column_labels)
    same = [Affine({j: Fraction(1)}) for j in range(width)]
    assert projection("closure", other, STUMPS, [*same, Affine({}, Fraction(1, 2))]).outcome is Outcome.INTO


def test_trees_that_are_bare_roots_have_a_relaxation_without_columns():
    bare = Problem(
        Sketch((SketchedTree((-1,), (2,), (0,), (frozenset(),), (0,)),), {}, Fraction(1), Fraction(1), 1).instance(),
        lam=Fraction(1),
    )
    assert projection("compact", "closure", bare).outcome is Outcome.ONTO
    assert projection("closure", "ip3", bare).outcome is Outcome.ONTO


def lot_sizing(rows):
    """State three periods of lot sizing in what is made and set up, with (l, S) inequalities or without."""
    model, demand = pyo.ConcreteModel(), (3, 2, 4)
    model.x, model.y = pyo.Var(range(3), bounds=(0, 9)), pyo.Var(range(3), domain=pyo.Binary)
    model.met = pyo.Constraint(range(3), rule=lambda m, t: sum(m.x[i] for i in range(t + 1)) >= sum(demand[: t + 1]))
    model.all = pyo.Constraint(expr=pyo.quicksum(model.x.values()) == sum(demand))
    model.setup = pyo.Constraint(range(3), rule=lambda m, t: m.x[t] <= sum(demand[t:]) * m.y[t])
    model.cuts = pyo.ConstraintList()
    for last, made in product(range(3), product((False, True), repeat=3)) if rows else ():
        parts = (model.x[i] if made[i] else sum(demand[i : last + 1]) * model.y[i] for i in range(last + 1))
        model.cuts.add(pyo.quicksum(parts) >= sum(demand[: last + 1]))
    model.cost = pyo.Objective(expr=pyo.quicksum(model.y.values()))
    return model


def lot_sizing_by_demand():
    """State it in the parts z[i, t] of the demand of t that are made in i, whose relaxation is integral in y."""
    model, parts = pyo.ConcreteModel(), [(i, t) for t in range(3) for i in range(t + 1)]
    model.z, model.y = pyo.Var(parts, bounds=(0, 1)), pyo.Var(range(3), domain=pyo.Binary)
    model.met = pyo.Constraint(range(3), rule=lambda m, t: sum(m.z[i, t] for i in range(t + 1)) == 1)
    model.setup = pyo.Constraint(parts, rule=lambda m, i, t: m.z[i, t] <= m.y[i])
    model.cost = pyo.Objective(expr=pyo.quicksum(model.y.values()))
    there = {f"x[{i}]": {f"z[{i},{t}]": (3, 2, 4)[t] for t in range(i, 3)} for i in range(3)}
    return model, there


def test_models_are_compared_as_in_the_literature():
    """Barany, Van Roy and Wolsey (1984): the (l, S) inequalities are all that the extended form adds."""
    plain, strong, (extended, there) = lot_sizing(False), lot_sizing(True), lot_sizing_by_demand()
    assert model_projection(strong, strong)
    found = model_projection(plain, strong)
    assert (found.outcome, "cuts[" in found.text) == (Outcome.OUTSIDE, True)
    assert model_projection(strong, plain).outcome is Outcome.INTO
    assert model_projection(extended, plain, there).outcome is Outcome.INTO
    assert model_projection(extended, strong, there).outcome is Outcome.OPEN  # onto it, but there is no affine map back
    assert str(found).startswith(
        f"{found.optima} exact optima: the first's relaxation does not project into the second"
    )
    with pytest.raises(NoMapError, match=r"expected a variable of the first model, got 'z\[0,0\]', which it does not"):
        model_projection(strong, extended)
