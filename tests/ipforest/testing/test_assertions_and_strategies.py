"""Assertions speak in names; the strategies draw what they say; Hypothesis is not imported with the package."""

import subprocess
import sys

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import load_reference

import formulations
import ipforest.testing
from ipforest import PruningInstance
from ipforest.testing import assert_integral, assert_totally_unimodular, strategies
from proofs.integrality.polytopes import polytope
from proofs.unimodularity.small_matrices import by_colouring
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

ENSEMBLE = load_reference("figure_1_ensemble").instance


def test_assertions_pass_and_fail_in_names():
    for name in ("closure", "ip3"):
        model = formulations.build(name, ENSEMBLE, 1)
        assert_totally_unimodular(model)
        assert_integral(model)
    odd = pyo.ConcreteModel()
    odd.v = pyo.Var(["a", "b", "c"], domain=pyo.Binary)
    odd.edge = pyo.Constraint(["ab", "bc", "ca"], rule=lambda m, e: m.v[e[0]] + m.v[e[1]] <= 1)
    odd.goal = pyo.Objective(expr=-pyo.quicksum(odd.v.values()))
    with pytest.raises(
        AssertionError, match=r"rows \[edge\[ab\], .*columns \[v\[a\], v\[b\], v\[c\]\] have determinant"
    ):
        assert_totally_unimodular(odd)
    with pytest.raises(AssertionError, match=r"a vertex has v\[a\] = 1/2, v\[b\] = 1/2, v\[c\] = 1/2 \(recomputed"):
        assert_integral(odd)


def test_polytopes_are_decided():
    tree = load_reference("figure_1_tree").instance
    assert_integral(polytope(tree, "ip2"))


@settings(max_examples=10)
@given(strategies.unimodular_matrices(4), strategies.not_unimodular_matrices(3))
def test_the_status_of_matrices_is_known(unimodular, other):
    assert is_totally_unimodular(unimodular)
    if min(unimodular.shape) <= 6:
        assert by_colouring(unimodular)
    assert not is_totally_unimodular(other)


@settings(max_examples=5)
@given(strategies.forests(2, 2), st.data())
def test_forests_and_their_prices_make_instances(forest_and_X, data):
    forest, X = forest_and_X
    costs = data.draw(strategies.feature_costs(X.shape[1]))
    instance = PruningInstance.from_forest(forest, X, costs)
    assert instance.n_trees == forest.n_trees


@settings(max_examples=20)
@given(strategies.instances(4, 1))
def test_one_tree_on_request(instance):
    assert instance.n_trees == 1


@pytest.mark.slow
def test_the_package_does_not_import_hypothesis():
    program = "import sys, ipforest.testing; from ipforest import *; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_public_names_are_there():
    for name in ipforest.testing.__all__:
        assert getattr(ipforest.testing, name) is not None
    assert set(ipforest.testing.__all__) <= set(dir(ipforest.testing))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ipforest.testing.nothing  # noqa: B018
