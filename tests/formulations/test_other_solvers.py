"""Solvers of Pyomo's by name: the same exact results, wrong answers found out, absent ones named."""

import logging
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from subprocess import TimeoutExpired
from types import SimpleNamespace

import numpy as np
import pytest
from reference import load_reference

import formulations
from formulations import other_solvers
from formulations.other_solvers import PYOMO_SOLVERS, available_pyomo_solvers
from ipforest import Status, solve
from ipforest.solvers import MissingSolverError
from proofs.crosschecks.random_instances import random_instance

ENSEMBLE = load_reference("figure_1_ensemble").instance
INSTALLED = available_pyomo_solvers()


@pytest.fixture(params=PYOMO_SOLVERS)
def solver(request):
    if request.param not in INSTALLED:
        pytest.skip(f"{request.param} is not installed")
    return request.param


def test_a_solver_by_name_gives_exact_results(solver):
    rng = np.random.default_rng(5)
    for name, lam in (("closure", "1/3"), ("ip1", "1/2"), ("ip3", "1/7")):
        instance = random_instance(rng, 6)
        best = solve(instance, lam).objective
        for relaxed in (False, name != "ip1"):
            model = formulations.build(name, instance, lam, relaxed=relaxed)
            result = formulations.solve(model, solver=solver, time_limit=30)
            assert (result.objective, result.bound, result.status) == (best, best, Status.OPTIMAL)
            assert result.method.endswith(f"by {solver}")
    budget = formulations.build("lp1", ENSEMBLE, budget=2)
    assert formulations.solve(budget, solver=solver).error == formulations.solve(budget).error


def test_an_infeasible_model_is_said(solver):
    model = formulations.build("closure", ENSEMBLE, 1)
    model.none = other_solvers.pyo.Constraint(expr=sum(model.x.values()) >= 99)
    with pytest.raises(RuntimeError, match=rf"{solver}: expected an optimum or the time limit, got infeasible"):
        formulations.solve(model, solver=solver)


def test_a_program_that_pyomo_stops_at_the_time_limit_has_no_pruning(monkeypatch):
    class Stuck:
        def available(self, **options):
            return True

        def solve(self, model, **options):
            raise TimeoutExpired("glpsol", 4)

    monkeypatch.setattr(other_solvers.pyo, "SolverFactory", lambda name: Stuck())
    solution = other_solvers.run_pyomo(formulations.build("closure", ENSEMBLE, 1), "appsi_highs", 1)
    assert solution.status is Status.TIME_LIMIT
    assert solution.values is None


def test_an_absent_solver_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setattr(other_solvers, "_is_available", lambda interface: False)
    model = formulations.build("closure", ENSEMBLE, 1)
    with pytest.raises(MissingSolverError, match=r"expected glpk to be installed, .* apt-get install glpk-utils"):
        formulations.solve(model, solver="glpk")
    with pytest.raises(MissingSolverError, match=r"pip install pyscipopt"):
        formulations.solve(model, solver="scip")
    table = formulations.solvers_table("closure", ENSEMBLE, 1)
    assert [answer.solver for answer in table.answers if answer.available] == ["highs"]
    assert table
    assert "apt-get install coinor-cbc" in {answer.solver: answer.problem for answer in table.answers}["cbc"]


def test_a_name_that_nothing_has_and_a_gap_are_refused():
    model = formulations.build("closure", ENSEMBLE, 1)
    with pytest.raises(ValueError, match=r"solver: expected highs, one of appsi_highs, .* got 'none-such'"):
        formulations.solve(model, solver="none-such")
    with pytest.raises(ValueError, match=r"relative_gap: expected 0 for appsi_highs, got 0\.1"):
        formulations.solve(model, solver="appsi_highs", relative_gap=0.1)


def test_the_table_checks_every_answer():
    table = formulations.solvers_table("ip3", ENSEMBLE, "1/4")
    best = solve(ENSEMBLE, "1/4").objective
    assert table, table
    assert [answer.solver for answer in table.answers] == ["highs", *PYOMO_SOLVERS]
    for answer in table.answers:
        assert answer.available == (answer.solver in ("highs", *INSTALLED))
        assert answer.optimum == best
        if answer.available:
            assert (answer.objective, answer.checked, answer.status) == (best, True, Status.OPTIMAL)
            assert answer.reported == pytest.approx(float(best))
    assert "highs" in str(table)
    assert table.to_dict()["lam"] == "1/4"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s: {"objective": s.objective - 1}, "reports the objective"),
        (lambda s: {"bound": s.objective + 5}, "above the optimum"),
        (lambda s: {"values": 0 * s.values, "objective": 3.0}, r"calls .* optimal where|reports the objective"),
        (lambda s: {"values": s.values + 0.5}, "expected a 0-1 optimum"),
        (lambda s: {"values": None}, "no pruning within"),
    ],
)
def test_a_wrong_answer_is_found(monkeypatch, change, problem):
    true = other_solvers.run_pyomo
    monkeypatch.setattr(other_solvers, "run_pyomo", lambda *arguments: replace(s := true(*arguments), **change(s)))
    table = formulations.solvers_table("closure", ENSEMBLE, Fraction(1, 4), ["highs", "appsi_highs"])
    right, wrong = table.answers
    assert right.checked
    assert not wrong.checked
    assert not table
    assert re.search(problem, wrong.problem)


def test_a_fixed_variable_keeps_its_value(solver):
    def solved(name):
        model = formulations.build("closure", ENSEMBLE, 10)
        model.x[0].fix(1)
        result = formulations.solve(model, solver=name)
        assert model.x[0].fixed
        assert model.x[0].value == 1
        return result

    here, by_highs = solved(solver), solved("highs")
    assert here.pruning.kept[0]
    assert here.objective == by_highs.objective > solve(ENSEMBLE, 10).objective


def test_logging_that_was_disabled_stays_so():
    logging.disable(logging.INFO)
    try:
        formulations.solve(formulations.build("closure", ENSEMBLE, 1), solver="appsi_highs")
        assert logging.root.manager.disable == logging.INFO
    finally:
        logging.disable(logging.NOTSET)


class Ending:
    """A solver of Pyomo's that ends in some way, with or without a point."""

    def __init__(self, condition, value):
        self.condition, self.value = condition, value

    def available(self, **options):
        return True

    def solve(self, model, **options):
        if isinstance(self.condition, Exception):
            raise self.condition
        self.model = model
        problem = SimpleNamespace(lower_bound=None, upper_bound=None)
        return SimpleNamespace(solver=SimpleNamespace(termination_condition=self.condition), problem=problem)

    def load_vars(self):
        if self.value is None:
            raise RuntimeError("Solver does not currently have a valid solution.")
        for variable in self.model.component_data_objects(other_solvers.pyo.Var):
            variable.set_value(self.value, skip_validation=True)


@pytest.mark.parametrize(("condition", "value"), [("maxTimeLimit", None), ("intermediateNonInteger", 0.5)])
def test_a_time_limit_without_a_pruning_is_a_time_limit(monkeypatch, condition, value):
    """As appsi_highs and CBC end there."""
    monkeypatch.setattr(other_solvers.pyo, "SolverFactory", lambda name: Ending(condition, value))
    result = formulations.solve(formulations.build("closure", ENSEMBLE, 1), solver="appsi_highs", time_limit=1)
    best = solve(ENSEMBLE, 1).objective
    assert (result.status, result.bound) in ((Status.TIME_LIMIT, best), (Status.OPTIMAL, best))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("optimal", "got optimal, and no point, for"),
        (Exception("too large for the licence"), "got: too large for the lic"),
    ],
)
def test_other_endings_are_errors_of_one_kind(monkeypatch, condition, message):
    monkeypatch.setattr(other_solvers.pyo, "SolverFactory", lambda name: Ending(condition, None))
    with pytest.raises(RuntimeError, match=f"expected an optimum or the time limit, {message}"):
        formulations.solve(formulations.build("closure", ENSEMBLE, 1), solver="appsi_highs")
    table = formulations.solvers_table("closure", ENSEMBLE, 1, ["highs", "appsi_highs"])
    assert [answer.checked for answer in table.answers] == [True, False]


def test_threads_wait_for_each_other():
    """Pyomo turns the output of the whole process round: two at once hang, and print what was to be kept back."""
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import formulations
from proofs.crosschecks.random_instances import random_instance
instance = random_instance(np.random.default_rng(5), 6)
solved = lambda _: formulations.solve(formulations.build("closure", instance, 1), solver="appsi_highs").objective
with ThreadPoolExecutor(3) as pool:
    assert len(set(pool.map(solved, range(6)))) == 1
assert sys.stdout is sys.__stdout__
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=120, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
