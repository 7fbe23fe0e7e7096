"""Every formulation, by every route, equals the definition: brute force over all prunings, in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

import formulations
from formulations import FORMULATIONS, FractionalOptimumError
from formulations.arrays import linear_program
from formulations.solving import solve_lp, solve_mip
from ipforest import Status, solve
from ipforest.solvers.highs import run
from proofs.crosschecks.brute_force import brute_force, prunings

WITH_LAMBDA = [name for name, info in FORMULATIONS.items() if info.takes == "lam"]
INTEGRAL = [name for name in WITH_LAMBDA if FORMULATIONS[name].integral]


def fits(name, instance):
    return instance.n_trees == 1 or not FORMULATIONS[name].one_tree


def assert_optimal(result, instance, lam):
    best = brute_force(instance, lam).objective
    assert result.objective == result.bound == best
    assert result.status is Status.OPTIMAL
    assert instance.objective(result.pruning, lam) == best


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_relaxations_find_the_optimum_and_prove_it(instance, lam):
    for name in INTEGRAL:
        if fits(name, instance):
            assert_optimal(solve_lp(instance, lam, formulation=name), instance, lam)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_branch_and_bound_finds_the_optimum(instance, lam):
    for name in WITH_LAMBDA:
        if fits(name, instance):
            assert_optimal(solve_mip(instance, lam, formulation=name), instance, lam)


@settings(max_examples=30, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_interior_point_ends_at_a_vertex(instance, lam):
    assert_optimal(solve_lp(instance, lam, solver="ipm"), instance, lam)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_ip1_relaxed_is_a_bound_and_never_a_wrong_pruning(instance, lam):
    best = brute_force(instance, lam).objective
    specification = formulations.specify("ip1", instance, lam, relaxed=True)
    value = run(linear_program(specification)).objective * float(specification.objective_unit)
    assert value <= float(best) + 1e-9 * (1 + abs(float(best)))
    try:
        result = solve_lp(instance, lam, formulation="ip1")
    except FractionalOptimumError:
        return
    assert result.bound <= best <= result.objective


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("name", WITH_LAMBDA)
@given(instance=instances(max_internal=6), lam=lambdas)
def test_pyomo_models_find_the_optimum(name, relaxed, instance, lam):
    assume(fits(name, instance))
    model = formulations.build(name, instance, lam=lam, relaxed=relaxed)
    if name == "ip1" and relaxed:
        try:
            formulations.solve(model)
        except FractionalOptimumError:
            return
    assert_optimal(formulations.solve(model), instance, lam)


@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("relaxed", [False, True])
@given(instance=instances(max_internal=6))
def test_ip0_prunes_without_costs(relaxed, instance):
    result = formulations.solve(formulations.build("ip0", instance, relaxed=relaxed))
    assert result.lam == 0
    assert_optimal(result, instance, Fraction(0))


@settings(max_examples=25, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_relaxations_have_one_value(instance, lam):
    values = []
    for name in ("ip3", "compact", "closure"):
        specification = formulations.specify(name, instance, lam, relaxed=True)
        values.append(run(linear_program(specification)).objective)
    assert values == pytest.approx([values[0]] * 3, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(instance=instances(max_internal=6), lam=lambdas, tenth=st.integers(1, 20))
def test_the_objective_of_a_model_is_the_objective_of_the_pruning(instance, lam, tenth):
    """Evaluated at every pruning, the model's linear function is error + lam * cost exactly."""
    for name in ("compact", "closure"):
        specification = formulations.specify(name, instance, lam)
        program = linear_program(specification)
        for pruning in list(prunings(instance))[::tenth]:
            tree = pruning.kept if name == "closure" else instance.leaves(pruning)
            units = program.objective @ np.append(tree, instance.acquired(pruning)) + program.constant
            assert Fraction(units) * specification.objective_unit == instance.objective(pruning, lam)


@pytest.mark.parametrize("method", ["highs-lp", "highs-mip"])
def test_methods_are_reached_through_solve(method):
    from reference import load_reference

    reference = load_reference("figure_1_ensemble")
    for lam, objective in reference.optima:
        result = solve(reference.instance, lam, method=method)
        assert (result.objective, result.bound, result.method) == (objective, objective, method)
