"""A solver of one's own: one function and one line; what it claims is checked."""

import inspect
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from reference import load_reference

import proofs
from ipforest import Pruning, Status, register_solver, solve, solve_budget
from ipforest.solvers import BUDGET_SOLVERS, SOLVERS, MissingSolverError, available_solvers
from ipforest.solvers.min_cut import solve_min_cut
from ipforest.testing import check_solver
from ipforest.testing.subjects import registered_solver
from proofs.crosschecks.random_instances import random_instance

ENSEMBLE = load_reference("figure_1_ensemble").instance


@pytest.fixture
def added():
    before = [(registry, list(registry)) for registry in (SOLVERS, BUDGET_SOLVERS)]
    yield
    for registry, names in before:
        for name in [name for name in registry if name not in names]:
            registry.remove(name)


def test_one_function_and_one_line(added):
    @register_solver("keep-all", description="no pruning")
    def keep_all(instance, lam):
        return instance.unpruned

    result = solve(ENSEMBLE, 0, "keep-all")
    assert (result.method, result.status, result.gap) == ("keep-all", Status.OPTIMAL, 0)
    dear = solve(ENSEMBLE, 100, "keep-all")
    assert (dear.status, dear.bound) == (Status.FEASIBLE, solve(ENSEMBLE, 100).objective)
    table = proofs.crosscheck(ENSEMBLE, 100)
    assert table.agree, table
    assert "keep-all" in {answer.method for answer in table.answers}
    assert keep_all(ENSEMBLE, 0) is not None
    with pytest.raises(ValueError, match="name: expected one that no solver has, got 'keep-all'"):
        register_solver("keep-all")(keep_all)


def test_a_definition_that_is_run_again_takes_the_place_of_its_former_self(added):
    def defined(kept):
        @register_solver("keep-all")
        def keep(instance, lam):
            return kept(instance)

        return keep

    defined(lambda instance: instance.roots_only)
    defined(lambda instance: instance.unpruned)
    assert solve(ENSEMBLE, 0, "keep-all").pruning == ENSEMBLE.unpruned
    with pytest.raises(ValueError, match=r"got 'keep-all'; take the other one out with ipforest.solvers.SOLVERS"):
        register_solver("keep-all")(lambda instance, lam: instance.unpruned)


def test_crosschecks_find_an_exact_solver_that_is_not(added):
    register_solver("hopeful", exact=True)(lambda instance, lam: instance.roots_only)
    assert any("hopeful: an exact method ended as" in problem for problem in proofs.crosscheck(ENSEMBLE, 0).problems)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda instance, lam: 3, TypeError, "mine: expected a Pruning, a PruningResult or .* got int"),
        (
            lambda instance, lam: instance.unpruned.kept.astype(float),
            TypeError,
            "got ndarray of float64; of shares, give numpy.array",
        ),
        (lambda instance, lam: solve_budget(instance, 1), TypeError, "got BudgetResult$"),
        (lambda instance, lam: Fraction(1, 3), TypeError, "got Fraction; a bound goes into PruningResult.of, together"),
        (lambda instance, lam: Pruning(np.ones(2, dtype=bool)), ValueError, "pruning: expected 5 .* 2 entries"),
        (lambda instance, lam: np.array([], dtype=int), TypeError, "got ndarray of int64"),
        (lambda instance, lam: instance.parent >= 0, ValueError, "pruning: expected the parent of each kept"),
        (
            lambda instance, lam: replace(solve_min_cut(instance, lam), error=Fraction(0)),
            ValueError,
            "mine: expected the error .* of its pruning, got 0",
        ),
        (
            lambda instance, lam: replace(solve_min_cut(instance, 2 * lam), objective=Fraction(99), bound=Fraction(99)),
            ValueError,
            "mine: expected the lam 1/4 of its pruning, got 1/2",
        ),
        (
            lambda instance, lam: replace(solve_min_cut(instance, lam), bound=Fraction(0)),
            ValueError,
            "mine: expected the bound .* of a result that is optimal, got 0; return the pruning alone",
        ),
    ],
)
def test_false_answers_are_refused(added, answer, error, message):
    register_solver("mine")(answer)
    with pytest.raises(error, match=message):
        solve(ENSEMBLE, "1/4", "mine")


def claiming(bound):
    """Give bare roots, and a bound for them, as a solver does that goes on from the path."""

    def solver(instance, budget):
        evaluation = instance.evaluate(instance.roots_only)
        known = solve_budget(instance, budget, "path")
        return known.improved(instance.roots_only, evaluation, bound(known, *evaluation), method="own", runtime_s=0)

    return solver


def test_a_solver_within_a_budget_is_one_line_too(added):
    register_solver("roots", takes="budget")(lambda instance, budget: instance.roots_only.kept)
    register_solver("bounded", takes="budget")(claiming(lambda known, error, cost: known.bound))
    for name in ("roots", "bounded"):
        result = solve_budget(ENSEMBLE, 1, name)
        assert (result.method, result.pruning, result.status) == (name, ENSEMBLE.roots_only, Status.FEASIBLE)
        assert result.bound == solve_budget(ENSEMBLE, 1).bound
    table = proofs.crosscheck(ENSEMBLE, 1, budget=1)
    assert table.agree, table
    assert {"budget-roots", "budget-bounded"} <= {answer.method for answer in table.answers}


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda instance, budget: None, TypeError, "mine: expected a Pruning, a BudgetResult or .* got NoneType"),
        (lambda instance, budget: 1.5, TypeError, "got float; a bound goes into BudgetResult.improved, together"),
        (lambda instance, budget: instance.unpruned, ValueError, "mine: expected a pruning that costs at most the b"),
        (
            lambda instance, budget: solve_budget(instance, budget - 1),
            ValueError,
            "mine: expected the budget 4 of its pruning, got 3",
        ),
        (
            lambda instance, budget: replace(solve_budget(instance, budget), cost=1),
            ValueError,
            "mine: expected the cost 3 of its pruning, got 1",
        ),
        (
            claiming(lambda known, error, cost: error),
            ValueError,
            "mine: expected a bound of at most 2, the error of a pruning within the budget, got 11/2",
        ),
    ],
)
def test_false_answers_within_a_budget_are_refused(added, answer, error, message):
    register_solver("mine", takes="budget")(answer)
    with pytest.raises(error, match=message):
        solve_budget(ENSEMBLE, 4, "mine")


def test_what_a_solver_takes_is_lambda_or_the_budget():
    with pytest.raises(ValueError, match="takes: expected lam or budget, got 'cost'"):
        register_solver("mine", takes="cost")
    with pytest.raises(ValueError, match=r"canonical: expected False within a budget, .*, got True"):
        register_solver("mine", takes="budget", canonical=True)
    with pytest.raises(TypeError, match="mine: expected a function of an instance and the budget whose other"):
        register_solver("mine", takes="budget")(lambda instance: None)


def test_a_solver_of_small_instances_says_so(added):
    register_solver("small", exact=True, max_internal=4)(lambda instance, lam: solve(instance, lam))
    register_solver("thrifty", takes="budget", max_internal=4)(lambda instance, budget: instance.roots_only)
    for ask in (lambda: solve(ENSEMBLE, 1, "small"), lambda: solve_budget(ENSEMBLE, 1, "thrifty")):
        with pytest.raises(
            ValueError, match=r"instance: expected at most 4 internal nodes for '(small|thrifty)', got 5"
        ):
            ask()
    own = {"small", "budget-thrifty"}
    names = lambda instance: {answer.method for answer in proofs.crosscheck(instance, 1).answers}  # noqa: E731
    assert not own & names(ENSEMBLE)
    assert own <= names(load_reference("figure_1_tree").instance)
    with pytest.raises(ValueError, match="max_internal: expected at least 6 for the checks, got 4"):
        next(check_solver("small"))
    with pytest.raises(TypeError, match="max_internal: expected an integer or None, got '4'"):
        register_solver("text", max_internal="4")(lambda instance, lam: instance.roots_only)


def test_a_search_that_has_proved_its_answer_when_its_time_ends_is_optimal(added):
    register_solver("mine")(lambda instance, lam: replace(solve_min_cut(instance, lam), status=Status.TIME_LIMIT))
    assert solve(ENSEMBLE, "1/4", "mine").status is Status.OPTIMAL


def test_an_instance_without_tests_takes_an_empty_array_of_any_kind(added):
    register_solver("mine")(lambda instance, lam: np.array([value > 0.5 for value in np.zeros(instance.n_internal)]))
    assert solve(random_instance(np.random.default_rng(0), 0), 1, "mine").status is Status.OPTIMAL


def test_crosschecks_take_functions_that_return_what_register_solver_takes():
    methods = {"array": lambda instance, lam: solve(instance, lam).pruning.kept, "min-cut": solve_min_cut}
    assert proofs.crosscheck(ENSEMBLE, "1/4", methods).agree
    assert not proofs.crosscheck(ENSEMBLE, 0, methods | {"array": lambda instance, lam: instance.roots_only}).agree
    (problem,) = proofs.crosscheck(ENSEMBLE, 0, {"array": lambda instance, lam: [True]}).problems
    assert re.match(r"array: raised TypeError in .*: array: expected a Pruning, .* got list", problem)


@pytest.mark.parametrize(
    ("other", "kind"), [(Fraction, "the class Fraction"), ("min-cut", "str"), (type("Tool", (), {})(), "Tool")]
)
def test_what_cannot_be_called_as_a_solver_is_refused(added, other, kind):
    message = f"mine: expected a function of an instance and lambda, got {kind}; give an object of a class that"
    with pytest.raises(TypeError, match=message):
        register_solver("mine")(other)
    with pytest.raises(TypeError, match=message):
        proofs.crosscheck(ENSEMBLE, 1, {"mine": other})


def test_packages_are_names_which_may_be_within_a_package_that_is_not_there(added):
    with pytest.raises(TypeError, match=r"packages: expected a tuple of names, got 'numpy'; write \('numpy',\)"):
        register_solver("mine", packages="numpy")(solve_min_cut)
    register_solver("mine", packages=("no_such_tool.inner",))(solve_min_cut)
    assert "mine" not in available_solvers()
    with pytest.raises(MissingSolverError, match=r"expected no_such_tool\.inner to be installed for 'mine'"):
        solve(ENSEMBLE, 1, "mine")


def test_a_file_that_is_run_and_imported_defines_its_solver_once(added, tmp_path, monkeypatch):
    (tmp_path / "a_solver_file.py").write_text(
        "from ipforest import register_solver\n@register_solver('mine')\ndef keep(instance, lam):\n"
        "    return instance.unpruned\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert registered_solver("a_solver_file.py:keep") == "mine"
    assert import_module("a_solver_file").keep is inspect.unwrap(SOLVERS["mine"].target)


def test_a_bound_above_the_optimum_is_refused(added):
    @register_solver("boastful")
    def boastful(instance, lam):
        from ipforest import PruningResult

        pruning = instance.roots_only
        error, cost = instance.evaluate(pruning)
        return PruningResult.of(pruning, (error, cost), lam, error + lam * cost, method="boastful", runtime_s=0.0)

    with pytest.raises(ValueError, match="boastful: expected a bound of at most the optimum"):
        solve(ENSEMBLE, 0, "boastful")


def test_promises_are_kept():
    for name, info in SOLVERS.items():
        result = solve(ENSEMBLE, "1/4", name, **info.quick_options)
        assert (result.flow is not None) == info.certifies, name
        assert info.description
        assert isinstance(info.takes_time_limit, bool)
    assert SOLVERS["highs-mip"].takes_time_limit
    assert not SOLVERS["min-cut"].takes_time_limit
    assert BUDGET_SOLVERS["mip"].takes_time_limit


@pytest.mark.slow
def test_installed_packages_bring_their_solvers():
    code = (
        "import sys; from ipforest.solvers import SOLVERS, BUDGET_SOLVERS; assert 'pyomo' not in sys.modules; "
        "assert 'formulations' not in sys.modules; assert 'highs-lp' in SOLVERS and 'lp1' in BUDGET_SOLVERS"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("call", "option", "message"),
    [
        (
            solve_budget,
            {"method": "greedy", "time_limit": 1},
            r"^time_limit: .* method 'greedy' \(max_cost,.*; 'mip' and 'lp1' take it",
        ),
        (solve_budget, {"method": "mip", "n_trials": 1}, r"^n_trials: .* method 'mip' \(.*; 'greedy' takes it"),
        (
            solve,
            {"method": "min-cut", "time_limit": 1},
            r"^time_limit: .* 'min-cut' \(start\), got .*'dantzig-wolfe'.* take",
        ),
        (solve, {"method": "networkx", "patience": 1}, r"^patience: .* 'networkx' \(it has none\), got another$"),
    ],
)
def test_options_of_another_method_are_refused_with_the_method_that_takes_them(call, option, message):
    with pytest.raises(TypeError, match=message):
        call(ENSEMBLE, 1, **option)


@pytest.mark.parametrize("solver", [lambda *given: given[0].unpruned, max, lambda instance, lam, /, **options: None])
def test_functions_that_do_not_name_what_they_take_are_registered(added, solver):
    """Such are compiled ones, and wrappers of others."""
    register_solver("mine")(solver)
    assert not SOLVERS["mine"].takes_time_limit


def test_a_wrapper_of_another_solver_is_asked(added):
    register_solver("mine")(lambda *given: given[0].unpruned)
    assert solve(ENSEMBLE, "1/9", "mine").pruning == ENSEMBLE.unpruned
