"""HiGHS's options, endings and duals; what is refused and how it is said."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import process_time
from types import SimpleNamespace

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import load_reference
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from strategies import instances, lambdas

import formulations
from formulations import FORMULATIONS
from formulations.arrays import linear_program
from formulations.budget_results import mixture_result
from formulations.exact_results import pruning_result
from formulations.solving import solve_lp, solve_mip
from ipforest import FeatureCosts, Forest, MissingSolverError, PruningInstance, Status, solve, solve_budget
from ipforest.solvers import highs
from ipforest.solvers.highs import options, run, set_options
from ipforest.solvers.linear_program import LinearProgram, Solution
from ipforest.solvers.tree_dp import lagrangian_bound, within_prices
from proofs.crosschecks.brute_force import brute_force

TREE = load_reference("figure_1_tree").instance


@pytest.fixture
def random_instance():
    from proofs.crosschecks.random_instances import random_instance

    return random_instance(np.random.default_rng(7))


def test_every_formulation_states_its_program():
    for name, info in FORMULATIONS.items():
        text = type(info).__doc__
        assert ".. math::" in text, name
        assert "\\min" in text, name
        assert info.reason, name


def test_presolve_leaves_the_optimum_of_a_mixed_program(tmp_path):
    """HiGHS 1.14 gives 15 (its issue 3043)."""
    file = tmp_path / "t.lp"
    file.write_text("min\n obj: 2 x + 3 z\nst\n c: x + z >= 4.5\nbounds\n x <= 10\n z <= 10\ngeneral\n z\nend\n")
    assert run(formulations.matrix(file)).objective == pytest.approx(9, abs=1e-5)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(instance=instances(), lam=lambdas, data=st.data())
def test_any_duals_give_a_valid_bound(instance, lam, data):
    """Whatever floats a solver returns, the bound built from them stays below the optimum."""
    best = brute_force(instance, lam)
    p, _ = instance.scaled_lambda(lam)
    for name in ("ip1", "ip3", "compact", "closure"):
        specification = formulations.specify(name, instance, lam, relaxed=True)
        size = linear_program(specification).n_rows
        noise = data.draw(st.lists(st.floats(-2.0 * p, 2.0 * p), min_size=size, max_size=size))
        result = pruning_result(
            specification, Solution(Status.TIME_LIMIT, None, np.array(noise), np.inf, -np.inf, 0.0, 0), "noise"
        )
        assert result.bound <= best.objective <= result.objective
        assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
        assert (result.status is Status.OPTIMAL) == (result.gap == 0)


@settings(max_examples=100, deadline=None)
@given(instance=instances(), p=st.integers(0, 9), data=st.data())
def test_cut_multipliers_keep_within_prices(instance, p, data):
    size = instance.n_triples
    beta = np.array(data.draw(st.lists(st.integers(0, 40), min_size=size, max_size=size)), dtype=np.int64)
    cut = within_prices(instance, p, beta)
    assert np.all((cut >= 0) & (cut <= beta))
    load = np.bincount(instance.indices, weights=cut, minlength=instance.n_acquisitions)
    wanted = np.bincount(instance.indices, weights=beta, minlength=instance.n_acquisitions)
    assert np.array_equal(load, np.minimum(wanted, p * instance.acquisition_cost))
    lagrangian_bound(instance, p, 1, cut)


def test_no_time_leaves_a_pruning_and_an_honest_bound(random_instance):
    for solver in (solve_lp, solve_mip):
        result = solver(random_instance, Fraction(1, 7), time_limit=0)
        best = brute_force(random_instance, Fraction(1, 7)).objective
        assert result.bound <= best <= result.objective
        assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)


def test_a_gap_reached_is_no_optimum():
    """A solver that stops above its bound is reported so; its bound is raised to what an objective can be."""
    ensemble = load_reference("figure_1_ensemble").instance
    specification = formulations.specify("closure", ensemble, "1/4")
    stopped = Solution(Status.GAP_REACHED, np.ones(8), None, 9.0, 2.3, 0.1, 1)
    result = pruning_result(specification, stopped, "stopped")
    assert (result.status, result.objective, result.bound) == (Status.GAP_REACHED, Fraction(9, 4), 2)
    ended = pruning_result(specification, replace(stopped, status=Status.TIME_LIMIT), "stopped")
    assert (ended.status, ended.bound) == (Status.TIME_LIMIT, 2)
    unproven = pruning_result(specification, replace(stopped, status=Status.OPTIMAL), "stopped")
    assert (unproven.status, unproven.bound) == (Status.FEASIBLE, 2)
    closed = pruning_result(specification, replace(stopped, bound=8.5), "stopped")
    assert (closed.status, closed.bound) == (Status.OPTIMAL, Fraction(9, 4))


def test_wrong_floats_of_a_solver_do_not_become_a_proof():
    """A claimed optimum that is none, with the duals of another problem, comes back as feasible only."""
    specification = formulations.specify("closure", TREE, 1, relaxed=True)
    wrong = Solution(Status.OPTIMAL, np.array([1.0, 0, 1, 0]), np.zeros(3), 4.0, 4.0, 0.1, 1)
    result = pruning_result(specification, wrong, "wrong")
    assert (result.status, result.objective, result.bound) == (Status.FEASIBLE, 4, 0)


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"solver: expected simplex or ipm .*, got 'pdlp'"):
        solve_lp(TREE, Fraction(1), solver="pdlp")
    with pytest.raises(ValueError, match="nonsense: expected an option value that HiGHS takes, got 1"):
        set_options(highspy.Highs(), {"nonsense": 1})
    with pytest.raises(ValueError, match="time_limit: expected seconds >= 0 or None, got -1"):
        solve_lp(TREE, Fraction(1), time_limit=-1)
    for gap in (-0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"relative_gap: expected .*, got {gap}"):
            formulations.solve(formulations.build("ip3", TREE, 1), relative_gap=gap)
    assert options(False, "ipm", None, 0.0)["run_crossover"] == "on"
    assert "solver" not in options(True, "simplex", 5, 0.1)


@pytest.mark.slow
def test_no_variable_is_probed():
    """HiGHS's probing took 20 s of the processor here, all else half a second."""
    assert options(True, "simplex", None, 0.0)["presolve_rule_off"] == highs.NO_PROBING
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2]))
    prices = FeatureCosts(["0.50"] * 10 + ["3.75"] * 10 + ["1.25"] * 10)
    instance = PruningInstance.from_forest(forest, X[1::2], prices)
    started = process_time()
    result = solve(instance, "0.003", "highs-mip")
    assert process_time() - started < 6
    assert result.objective == solve(instance, "0.003").objective


def test_an_infeasible_program_is_an_error():
    built = linear_program(formulations.specify("ip0", TREE))
    with pytest.raises(
        RuntimeError, match=r"HiGHS: expected an optimum .*, got Infeasible for .* reach 9e\+00; take out"
    ):
        run(replace(built, rhs=np.array([1.0, 1.0, 9.0])))
    with pytest.raises(RuntimeError, match=r"reach 9e\+11; take out rows .* or use a method without HiGHS"):
        run(replace(built, rhs=np.array([1.0, 1.0, 9e11])))


def test_a_program_without_variables_may_be_infeasible():
    """It was called optimal, whatever its rows are."""
    from proofs.crosschecks.random_instances import random_instance

    bare = random_instance(np.random.default_rng(0), 0)
    model = formulations.build("closure", bare, 1)
    assert formulations.solve(model).status is Status.OPTIMAL
    model.never = pyo.Constraint([1], rule=lambda model, i: pyo.Constraint.Infeasible)
    with pytest.raises(RuntimeError, match=r"expected an optimum .*, got Infeasible"):
        formulations.solve(model)
    with pytest.raises(RuntimeError, match=r"appsi_highs: expected an optimum .*, got infeasible"):
        formulations.solve(model, solver="appsi_highs")


def test_an_interrupt_cancels_a_search_that_is_under_way():
    """Python raises nothing before compiled code returns; HiGHS went on to its end."""

    class Endless:
        def __init__(self):
            self.cancelled = threading.Event()

        def run(self):
            os.kill(os.getpid(), signal.SIGINT)
            assert self.cancelled.wait(60)

        def cancelSolve(self):
            self.cancelled.set()

    endless = Endless()
    with pytest.raises(KeyboardInterrupt):
        highs._run(endless)
    assert endless.cancelled.is_set()
    assert endless.HandleUserInterrupt


def test_an_equation_with_an_infinite_side_is_refused():
    built = linear_program(formulations.specify("ip0", TREE))
    with pytest.raises(ValueError, match=r"rhs: expected a finite number in equations, got inf in one_leaf"):
        replace(built, rhs=np.array([1.0, np.inf, 1.0]))


def test_an_optimum_without_a_point_proves_nothing():
    """HiGHS may end so between prices that differ by 10^12; what is known exactly comes back, and no TypeError."""
    instance = load_reference("figure_1_ensemble").instance
    specification = formulations.specify("lp1", instance, budget=1, relaxed=True)
    nothing = Solution(Status.OPTIMAL, None, None, np.inf, np.inf, 0.1, 1)
    result = mixture_result(specification, nothing, "lp1")
    best = solve_budget(instance, 1, "mip")
    assert result.bound <= best.error <= result.error
    assert (result.status is Status.OPTIMAL) == (result.bound == result.error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ip4", TREE, 1), "formulation: expected one of ip0, ip1, ip2, ip3, compact, closure, lp1, got 'ip4'"),
        (("ip3", TREE), r"lam: expected a number >= 0 for ip3 \(which takes lam\), got None"),
        (("ip3", TREE, -1), "lam: expected a number >= 0, got -1"),
        (("ip3", TREE, "a lot"), "lam: expected a finite number .*, got 'a lot'"),
        (("ip3", TREE, 1, 2), r"budget: expected None for ip3 \(which takes lam\), got 2"),
        (("ip0", TREE, 1), r"lam: expected None for ip0 \(which takes nothing\), got 1"),
        (("lp1", TREE, 1), r"lam: expected None for lp1 \(which takes budget\), got 1"),
        (("lp1", TREE, None, -2), "budget: expected a number >= 0, got -2"),
        (("ip2", load_reference("figure_1_ensemble").instance, 1), "instance: expected one tree for ip2, got 2; ip3"),
        (("ip1", replace(TREE, example_leaf=None), 1), "instance: expected example_leaf, .* for ip1, got None"),
    ],
)
def test_bad_statements_are_refused_in_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as problem:
        formulations.build(*arguments)
    assert "\n" not in str(problem.value)


def test_where_floats_round_the_coefficients_the_objective_stays_exact_and_the_bound_honest():
    lam = Fraction(2**54 + 1, 2**55 + 1)
    for formulation in ("closure", "ip3"):
        result = solve_lp(TREE, lam, formulation=formulation)
        assert result.objective == 3 * lam
        assert 0 <= result.gap < Fraction(1, 2**50)
        assert (result.status is Status.OPTIMAL) == (result.gap == 0)


def test_integers_that_overflow_are_refused():
    with pytest.raises(OverflowError, match=r"lam: expected sums below 2\^62 units, got \d+; use a lambda"):
        solve(TREE, Fraction(10**30, 10**30 + 1), method="highs-lp")


def test_what_is_no_instance_and_no_model_is_named():
    for call in (lambda: solve(3, 1), lambda: solve_budget(3, 1), lambda: formulations.build("ip3", 3, 1)):
        with pytest.raises(TypeError, match=r"instance: expected a PruningInstance \(see .*\), got int"):
            call()
    with pytest.raises(TypeError, match=r"model: expected one that formulations.build gave, got ConcreteModel"):
        formulations.solve(pyo.ConcreteModel())


def test_missing_highs_is_named(monkeypatch):
    monkeypatch.setattr(highs, "find_spec", lambda name: None)
    message = "highspy: expected it to be installed for HiGHS, got none; run pip install highspy"
    with pytest.raises(MissingSolverError, match=message):
        solve_lp(TREE, Fraction(1))
    with pytest.raises(MissingSolverError, match=message):
        formulations.solve(formulations.build("ip3", TREE, 1))


@pytest.mark.slow
def test_importing_formulations_loads_no_solver():
    code = (
        "import sys, formulations, formulations.solving; sys.exit('pyomo' in sys.modules or 'highspy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("relaxed", [False, True])
def test_constraints_that_a_user_adds_bind_the_pruning(relaxed):
    """A model is open to research: here node 2 must not keep its test."""
    model = formulations.build("ip3", TREE, 1, relaxed=relaxed)
    model.mine = pyo.Constraint(expr=model.z[2] + model.z[0] == 1)
    result = formulations.solve(model)
    assert result.pruning.kept.tolist() == [True, False]
    assert result.objective == 4
    assert (result.bound <= 3) if relaxed else (result.bound == 4)
    assert result.status is (Status.FEASIBLE if relaxed else Status.OPTIMAL)


def test_pyomo_variables_hold_the_solution():
    model = formulations.build("ip3", TREE, 1)
    result = formulations.solve(model)
    assert result.method == "pyomo ip3"
    assert [model.z[node].value for node in model.data.nodes] == [0, 1, 0, 1, 1]
    assert [model.w[pair].value for pair in model.data.pairs] == [1, 1]
    assert model.specification.objective_unit * 3 == result.objective


@settings(max_examples=40)
@given(instances(), st.integers(10**8, 10**12))
def test_branch_and_bound_is_proven_at_lambdas_of_many_digits(instance, denominator):
    lam = Fraction(denominator // 7, denominator)
    result = solve_mip(instance, lam)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == brute_force(instance, lam).objective


@pytest.mark.slow
def test_the_solver_prints_nothing():
    """HiGHS 1.16 would, while it is made: from C, past Python's standard output, so a process of its own tells."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); from reference import load_reference; "
        "from ipforest import solve; instance = load_reference('figure_1_tree').instance; "
        "print(solve(instance, 1, method='highs-lp').status)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("optimal\n", "")


def covering(costs, entries, *, upper=1.0, integer=False):
    """State: the least cost of a sum of entries of at least 1."""
    n = len(costs)
    return LinearProgram(
        A=[entries],
        senses=[">="],
        rhs=[1],
        objective=costs,
        constant=0,
        lower=np.zeros(n),
        upper=np.full(n, upper),
        integer=np.full(n, integer),
        row_labels=["enough"],
        column_labels=[f"x{column}" for column in range(n)],
    )


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("unit", [1e-8, 1e-12, 1e-300, 1.0, 1e21, 1e100])
def test_small_and_huge_costs_are_told_apart(unit, integer):
    """HiGHS's tolerances of the objective are absolute: 1e-7 and 1e-6."""
    solution = run(covering([3 * unit, 2 * unit, unit], [1, 1, 1], integer=integer))
    assert np.rint(solution.values).tolist() == [0, 0, 1]
    assert (solution.objective, solution.bound) == (unit, unit)
    if not integer:
        assert solution.row_duals.tolist() == [unit]


def test_entries_that_highs_leaves_out_are_refused():
    with pytest.raises(ValueError, match=r"A: expected entries above 1e-09, got 1e-10 of x0 in enough, which HiGHS"):
        run(covering([1e-12, 1], [1e-10, 1], upper=1e11))


def test_infeasible_or_unbounded_is_decided():
    open_ended = covering([-1, 1], [1, 1], upper=np.inf, integer=True)
    with pytest.raises(highs.NoOptimumError, match="got Unbounded") as ended:
        run(open_ended)
    assert ended.value.ending == highs.UNBOUNDED
    impossible = replace(open_ended, A=csr_array([[-1.0, -1.0]]))
    with pytest.raises(highs.NoOptimumError, match="got Infeasible") as ended:
        run(impossible)
    assert ended.value.ending == highs.INFEASIBLE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have():
    code = """
import multiprocessing
import numpy as np
from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import LinearProgram
rng = np.random.default_rng(0)
A = rng.integers(1, 30, size=(6, 12)).astype(float)
ones = np.ones(12)
rest = (-rng.integers(1, 30, size=12), 0.0, 0 * ones, ones, ones > 0)
program = LinearProgram(A, ["<="] * 6, A.sum(axis=1) // 2, *rest, tuple("abcdef"), tuple("abcdefghijkl"))
here = run(program).objective
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.apply_async(run, (program,)).get(60).objective == here
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_an_optimum_without_a_feasible_point_is_none(monkeypatch):
    """Some versions of HiGHS say optimal of a program that they found no point for."""
    program = covering([1, 2], [1, 1], integer=True)
    hidden = SimpleNamespace(value_valid=False, dual_valid=False)
    quiet = highs.quiet_highs

    def without_a_point():
        solver = quiet()
        solver.getSolution = lambda: hidden
        return solver

    monkeypatch.setattr(highs, "quiet_highs", without_a_point)
    with pytest.raises(highs.NoOptimumError, match="got an optimum, but no feasible point, for"):
        run(program)
