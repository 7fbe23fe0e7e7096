import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import formulations
import proofs
from ipforest import Pruning, Status, solve
from ipforest.cli import main
from ipforest.solvers import SOLVERS
from proofs.corners import corner_instances, delayed_instance
from proofs.crosschecks import budgets
from proofs.crosschecks.brute_force import brute_force
from proofs.crosschecks.fitted_problems import FittedProblem
from proofs.crosschecks.methods import CrossCheck, crosscheck, method_names
from proofs.crosschecks.random_checks import (
    check_drawn,
    crosscheck_random,
    draw_problem,
    draw_question,
    replay,
    save_problem,
)
from proofs.crosschecks.random_instances import random_instance

LAM = Fraction(1, 3)


@pytest.fixture(scope="module")
def instance():
    """An instance whose optimum keeps some nodes and drops others."""
    for seed in range(100):
        candidate = random_instance(np.random.default_rng(seed), 9)
        best = brute_force(candidate, LAM)
        if 1 < best.pruning.n_kept < candidate.n_internal - 1 and candidate.n_trees > 1:
            return candidate
    raise AssertionError("no seed below 100 gives such an instance")


def with_pruning(instance, result, kept):
    """A result that reports the true numbers of another pruning."""
    pruning = Pruning(kept)
    error, cost = instance.evaluate(pruning)
    objective = error + result.lam * cost
    return replace(result, pruning=pruning, error=error, cost=cost, objective=objective, bound=objective, flow=None)


def off_by_one_node(instance, result):
    """Drop one kept node that no other kept node stands below."""
    kept = result.pruning.kept.copy()
    last = np.flatnonzero(kept)[-1]
    kept[last] = False
    return with_pruning(instance, result, kept)


def infeasible(instance, result):
    """Keep a node without its parent."""
    kept = np.zeros(instance.n_internal, dtype=bool)
    kept[np.flatnonzero(instance.parent >= 0)[0]] = True
    return replace(result, pruning=Pruning(kept))


def of_another_size(instance, result):
    return replace(result, pruning=Pruning(np.append(result.pruning.kept, False)))


def wrong_bound(instance, result):
    return replace(result, bound=result.bound - instance.error_unit, flow=None)


def bound_above_the_optimum(instance, result):
    """A worse pruning whose bound claims that nothing is better; the status does not claim an optimum."""
    worse = with_pruning(instance, result, instance.roots_only.kept)
    return replace(worse, status=Status.FEASIBLE)


def wrong_objective(instance, result):
    shift = instance.error_unit / 1000
    return replace(result, objective=result.objective + shift, bound=result.bound + shift, flow=None)


def wrong_error_and_cost(instance, result):
    return replace(result, error=result.error + 1, cost=result.cost - 1)


def wrong_lambda(instance, result):
    return replace(result, lam=2 * result.lam)


def no_proof(instance, result):
    return replace(result, status=Status.ITERATION_LIMIT)


def wrong_flow(instance, result):
    return replace(result, flow=replace(result.flow, up=result.flow.up + 1))


FAULTS = {
    off_by_one_node: "claims the optimum",
    infeasible: "but not its parent",
    of_another_size: "nodes, the instance",
    wrong_bound: "claims an optimum with bound",
    bound_above_the_optimum: "exceeds the objective",
    wrong_objective: "reports objective",
    wrong_error_and_cost: "reports error",
    wrong_lambda: "reports lambda",
    no_proof: "an exact method ended as 'iteration limit'",
    wrong_flow: "its flow is refused",
}


@pytest.mark.parametrize("beside", [("tree-dp",), ("networkx", "dantzig-wolfe")])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_injected_faults_are_caught(fault, beside, instance):
    def broken(instance, lam):
        return fault(instance, solve(instance, lam, "networkx"))

    methods = {name: (lambda i, lam, name=name: solve(i, lam, name)) for name in beside}
    check = crosscheck(instance, LAM, {**methods, "broken": broken})
    assert not check.agree
    assert FAULTS[fault] in "\n".join(problem for problem in check.problems if problem.startswith("broken: "))
    assert not any(problem.startswith(beside) for problem in check.problems)
    assert "DISAGREEMENT" in str(check)


def test_an_optimum_that_is_not_the_smallest_is_caught_where_one_is_promised():
    found = 0
    for seed in range(60):
        instance = random_instance(np.random.default_rng(seed), 6)
        ties = [
            instance.unpruned.kept
            for _ in range(1)
            if instance.objective(instance.unpruned, LAM) == brute_force(instance, LAM).objective
        ]
        if ties and brute_force(instance, LAM).pruning.n_kept < instance.n_internal:

            def largest(instance, lam, kept=ties[0]):
                return with_pruning(instance, solve(instance, lam, "networkx"), kept)

            check = crosscheck(instance, LAM, {"min-cut": largest, "highs-lp": largest})
            assert check.problems == ("min-cut: is not the smallest optimal set: brute-force keeps less",)
            found += 1
    assert found > 0


def test_all_methods_agree_with_brute_force(instance):
    check = crosscheck(instance, LAM)
    assert check.agree, str(check)
    fits = {name for name in method_names() if name != "pyomo-ip2"}  # the instance has several trees
    assert {answer.method for answer in check.answers} == {*fits, "brute-force"}
    assert check.best == brute_force(instance, LAM).objective
    assert str(check).count(str(check.best)) >= 2 * len(("min-cut", "networkx", "path", "brute-force"))
    assert check.to_dict()["agree"] is True
    assert isinstance(check, CrossCheck)
    assert check


@pytest.mark.slow
def test_random_forests_agree_on_everything():
    result = crosscheck_random(instances=24, seed=7)
    assert result.agree, str(result)
    assert result.saved is None
    assert {tally.method for tally in result.tallies} == {*method_names(), "brute-force"}
    for tally in result.tallies:
        assert tally.disagreed == 0
        assert tally.answered == 24 or tally.method in ("brute-force", "pyomo-ip2")
        if tally.method in ("min-cut", "path", "pyomo-closure", "budget-mip"):
            assert tally.proven == tally.best == tally.answered
    assert result.to_dict()["agree"] is True
    assert str(result).endswith("no disagreement")
    assert "12 of them from fitted forests and data" in str(result)


@pytest.mark.slow
@pytest.mark.long
def test_two_hundred_random_forests_agree():
    result = crosscheck_random(instances=200, seed=0)
    assert result.agree, str(result)


def test_the_draw_visits_the_corners():
    problems = [draw_problem(np.random.default_rng([0, number]), number) for number in range(120)]
    fitted = [problem for problem in problems if isinstance(problem, FittedProblem)]
    instances = [problem.instance() if isinstance(problem, FittedProblem) else problem for problem in problems]
    assert len(fitted) == 60
    assert {problem.loss for problem in fitted} == {"misclassification", "gini", "entropy", "squared_error"}
    assert any(np.isnan(problem.rows).any() for problem in fitted)
    assert {problem.error_data is None for problem in fitted} == {True, False}
    assert any((instance.acquisition_cost == 0).any() for instance in instances)
    assert any(instance.split_cost.any() for instance in instances)
    assert any((instance.gain < 0).any() for instance in instances)
    assert any(np.any(np.diff(instance.tree_offsets) == 1) for instance in instances)
    assert any(instance.n_triples > 300 for instance in instances)
    again = draw_problem(np.random.default_rng([0, 7]), 7)
    assert again.instance().fingerprint() == instances[7].fingerprint()
    asked = [draw_question(np.random.default_rng(number), number, instances[number]) for number in range(120)]
    assert any(lam == 0 for lam, _ in asked)
    assert {0} < {budget for _, budget in asked}


def test_the_first_disagreement_stops_the_run_and_is_saved_for_replay(tmp_path):
    def broken(instance, lam):
        result = solve(instance, lam, "networkx")
        return off_by_one_node(instance, result) if result.pruning.n_kept > 2 else result

    methods = {"networkx": lambda instance, lam: solve(instance, lam, "networkx"), "broken": broken}
    result = crosscheck_random(200, seed=1, methods=methods, save_to=tmp_path / "found.json")
    assert not result.agree
    assert not result
    assert result.instances < 200
    assert result.saved == tmp_path / "found.json"
    assert "saved for replay" in str(result)
    assert [tally.disagreed for tally in result.tallies if tally.method == "broken"] == [1]
    again = replay(result.saved, methods)
    assert again.problems == result.disagreement.problems
    assert again.fingerprint == result.disagreement.fingerprint
    assert replay(result.saved).agree


def test_a_method_that_breaks_has_failed_and_the_others_are_asked_all_the_same(tmp_path):
    def breaks(instance, lam):
        raise ZeroDivisionError("inside the solver")

    found = crosscheck_random(5, methods={"breaks": breaks, "cut": solve}, save_to=tmp_path / "broken.json")
    assert (found.instances, [tally.method for tally in found.tallies]) == (1, ["cut", "brute-force", "breaks"])
    assert [tally.disagreed for tally in found.tallies] == [0, 0, 1]
    line = breaks.__code__.co_firstlineno + 1
    raised = f"raised ZeroDivisionError in test_methods.py, line {line}: inside the solver"
    assert found.disagreement.problems == (f"breaks: {raised}",)
    assert [row.split()[:4] for row in str(found.disagreement).splitlines() if "failed" in row] == [
        ["breaks", "failed", "-", "-"]
    ]
    assert json.loads(json.dumps(found.to_dict()))["disagreement"]["answers"][-1]["objective"] is None
    assert replay(tmp_path / "broken.json").agree


def test_a_method_that_breaks_within_a_budget_has_failed(instance, monkeypatch):
    def breaks(instance, budget):
        raise KeyError("x")

    monkeypatch.setattr(budgets, "solve_budget", lambda instance, budget, name: breaks(instance, budget))
    check = crosscheck(instance, LAM, ["min-cut", "budget-path"])
    assert [answer.status for answer in check.answers] == ["optimal", "optimal", "failed"]
    assert check.problems[0].startswith("budget-path: raised KeyError in test_methods.py, line ")


def test_saved_problems_come_back_whole_or_not_at_all(instance, tmp_path):
    path = save_problem(tmp_path / "problem.json", instance, LAM)
    check = replay(path, ["min-cut"])
    assert (check.fingerprint, check.lam) == (instance.fingerprint(), LAM)
    text = path.read_text()
    wrong = ('"version": 2', '"version": 9'), ("instance", "other"), ('"1/3"', '"1e1000000000"'), ('"1/3"', "null")
    drawn = ['{"version": 2, "seed": -1, "number": 3}', '{"version": 2, "seed": 3, "number": -1}']
    for damaged in (text[:-30], "{}", "[]", *drawn, *(text.replace(*pair) for pair in wrong)):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"expected a problem saved by crosscheck, got (?!.*expected JSON)"):
            replay(path)
    with pytest.raises(FileNotFoundError):
        replay(tmp_path / "none.json")


def test_wrong_questions_are_refused(instance):
    with pytest.raises(ValueError, match=r"methods: expected names among min-cut, .*, got fast"):
        crosscheck(instance, LAM, ["fast"])
    with pytest.raises(ValueError, match="budget: expected a number >= 0"):
        crosscheck(instance, LAM, budget=-1)
    with pytest.raises(ValueError, match="instances: expected 1 or more, got 0"):
        crosscheck_random(0)
    with pytest.raises(ValueError, match="lam: expected a number >= 0"):
        crosscheck(instance, -1)


def test_a_formulation_of_another_problem_is_refused_as_such(instance):
    formulations.register("other", worth=lambda instance, lam, pruning: None)(lambda instance, lam: None)
    try:
        with pytest.raises(ValueError, match=r"expected methods of the pruning problem, got pyomo-other, which state"):
            crosscheck(instance, LAM, ["min-cut", "pyomo-other"])
    finally:
        formulations.FORMULATIONS.remove("other")


def test_methods_may_refuse_delayed_tests():
    def refuses(instance, lam):
        raise ValueError("instance: expected none of its tests to be delayed")

    delayed = delayed_instance()
    table = crosscheck(delayed, "1/2")
    assert table.agree
    assert {"min-cut", "highs-lp", "budget-lp1"} <= {answer.method for answer in table.answers}
    own = crosscheck(delayed, "1/2", {"own": refuses, "cut": solve})
    assert [answer.method for answer in own.answers] == ["cut", "brute-force"]
    (problem,) = crosscheck(corner_instances()[0], "1/2", {"own": refuses}).problems
    assert problem.startswith("own: raised ValueError")
    assert problem.endswith("delayed")


def test_a_method_that_changes_the_instance_is_named():
    def changes(instance, lam):
        object.__setattr__(instance, "errors", instance.errors * 2)
        return instance.roots_only

    with pytest.raises(ValueError, match="leave the instance alone, got 'own', which changed it"):
        crosscheck(corner_instances()[0], "1/2", {"own": changes})


def test_the_package_offers_it(instance):
    assert proofs.crosscheck(instance, LAM, ["networkx"]).agree
    assert proofs.crosscheck_random(2, methods=["tree-dp"]).agree
    assert check_drawn(0, 3, ["budget-path"]).agree


def test_an_interrupt_tells_the_method_and_the_problem(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def hangs(instance, lam):\n    raise KeyboardInterrupt\n")
    try:
        assert main(["crosscheck", "--methods", "min-cut", f"{file}:hangs", "--json"]) == 130
    finally:
        SOLVERS.remove("hangs")
    assert capsys.readouterr().err.endswith(
        "ipforest: interrupted; in the method 'hangs' at lambda 3/8; problem 0 of seed 0\n"
    )
