"""Relaxations as polytopes: which project onto which, with exact optima; a vertex with nothing above it."""

from fractions import Fraction

import pytest
from reference import load_reference

from formulations import ModelledFormulation, formulation
from proofs.study.problem import Problem
from proofs.study.projection import Affine, NoMapError, Outcome, natural_map, projection
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
