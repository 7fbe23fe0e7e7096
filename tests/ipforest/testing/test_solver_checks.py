"""All solvers pass their checks; solvers that are wrong in one way fail the check of that name."""

import os
import signal
import threading
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from ipforest import Pruning, PruningResult
from ipforest.solvers import SOLVERS, SolverInfo, available_solvers, solve
from ipforest.testing import check_solver, parametrize_with_checks, solver_questions


def optimal(instance, lam):
    return solve(instance, lam)


def result(instance, lam, pruning, bound=None):
    error, cost = instance.evaluate(pruning)
    objective = error + lam * cost
    return PruningResult.of(pruning, (error, cost), lam, objective if bound is None else bound, method="", runtime_s=0)


def keeps_an_orphan(instance, lam):
    return Pruning(np.arange(instance.n_internal) == instance.n_internal - 1)


def states_another_cost(instance, lam):
    true = optimal(instance, lam)
    return replace(true, cost=true.cost + 1)


def claims_to_have_proved(instance, lam):
    true = optimal(instance, lam)
    return replace(true, bound=true.bound - 1)


def bounds_too_high(instance, lam):
    return result(instance, lam, instance.unpruned)


def lies_about_each_tree_alone(instance, lam):
    """Call the best prunings of single trees optimal: wrong only where trees share what they buy."""
    return result(instance, lam, solve(instance, lam, "tree-dp").pruning)


def keeps_all(instance, lam):
    return instance.unpruned


def keeps_the_most(instance, lam):
    """Return the largest optimal set: it is optimal, not canonical."""
    from proofs.crosschecks.brute_force import count_prunings, prunings

    if count_prunings(instance) > 10**4:
        return optimal(instance, lam)
    p, q = instance.scaled_lambda(lam)
    value = lambda one: (q * instance.integer_error(one) + p * instance.integer_cost(one), -one.n_kept)  # noqa: E731
    return result(instance, lam, min(prunings(instance), key=value))


def answers_at_another_lambda(instance, lam):
    true = optimal(instance, 1 / (lam + 1))
    error, cost = instance.evaluate(true.pruning)
    return PruningResult.of(true.pruning, (error, cost), lam, Fraction(0), method="", runtime_s=0)


def rounds_lambda(instance, lam):
    return optimal(instance, lam.limit_denominator(10)).pruning


def takes_small_denominators(instance, lam):
    return solve(instance, lam.limit_denominator(50)).pruning


def rounds_at_the_sixth_digit(instance, lam):
    return optimal(instance, Fraction(round(lam * 10**6), 10**6)).pruning


def rounds_to_twelve_digits(instance, lam):
    return optimal(instance, Fraction(f"{float(lam):.12g}")).pruning


def counts_in_32_bits(instance, lam):
    return optimal(replace(instance, errors=np.minimum(instance.errors, 2**31 - 1)), lam).pruning


def knows_one_place_of_each_purchase(instance, lam):
    """Keep the last node of each tree that needs an acquisition, as a dictionary by tree, unit and example does."""
    if not instance.in_rounds:
        return optimal(instance, lam)
    last = {int(j): place for place, j in enumerate(instance.indices)}
    kept = np.isin(np.arange(instance.n_triples), list(last.values()))
    ends = np.concatenate([[0], np.cumsum(kept)])[instance.indptr]
    return optimal(replace(instance, indptr=ends, indices=instance.indices[kept]), lam).pruning


def refuses_delayed_tests(instance, lam):
    if instance.in_rounds:
        raise ValueError("instance: expected no delayed tests")
    return optimal(instance, lam)


def keeps_all_far_away(instance, lam):
    return instance.unpruned if lam > 10**4 else optimal(instance, lam)


def drops_a_row_of_the_third_tree(instance, lam):
    """Leave out the first need of the third tree, as a loop that ends too early does."""
    third = instance.triple_tree == 2
    kept = np.arange(instance.n_triples) != np.argmax(third) if third.any() else np.ones(instance.n_triples, dtype=bool)
    ends = np.concatenate([[0], np.cumsum(kept)])[instance.indptr]
    return optimal(replace(instance, indptr=ends, indices=instance.indices[kept]), lam).pruning


def takes_one_price_for_each_unit(instance, lam):
    price = dict(zip(instance.acquisition_unit.tolist(), instance.acquisition_cost.tolist(), strict=True))
    costs = np.array([price[unit] for unit in instance.acquisition_unit.tolist()], dtype=np.int64)
    return optimal(replace(instance, acquisition_cost=costs), lam).pruning


def takes_only(kept):
    """Make a solver that lets acquisitions cost nothing but some, which a function of the instance tells."""
    return lambda instance, lam: (
        optimal(replace(instance, acquisition_cost=np.where(kept(instance), instance.acquisition_cost, 0)), lam).pruning
    )


def forgets_the_hundredth_tree(instance, lam):
    kept = instance.triple_tree != 99
    ends = np.concatenate([[0], np.cumsum(kept)])[instance.indptr]
    return optimal(replace(instance, indptr=ends, indices=instance.indices[kept]), lam).pruning


def spoils_the_instance(instance, lam):
    instance.errors.setflags(write=True)
    instance.errors[:] = 0
    return instance.roots_only


class Alternating:
    __name__ = "alternating"

    def __init__(self):
        self.asked = 0

    def __call__(self, instance, lam):
        self.asked += 1
        return instance.unpruned if self.asked % 2 else instance.roots_only


def looks_at_the_first_tree(instance, lam):
    kept = optimal(instance, lam).pruning.kept.copy()
    first = instance.internal_nodes < instance.tree_offsets[1]
    return result(instance, lam, Pruning(kept & first), Fraction(0))


class Remembering:
    """Remembers answers by lambda, errors and prices, which do not tell all instances apart."""

    __name__ = "remembering"

    def __init__(self):
        self.known = {}

    def __call__(self, instance, lam):
        key = lam, instance.errors.tobytes(), instance.acquisition_cost.tobytes()
        return self.known.setdefault(key, optimal(instance, lam).pruning)


class Shared:
    """Keeps the problem that it works on where the next call writes."""

    __name__ = "shared"

    def __call__(self, instance, lam):
        self.problem = instance, lam
        sleep(1e-3)
        return optimal(*self.problem).pruning


def tries_again_after_an_interrupt(instance, lam):
    while True:
        try:
            return optimal(instance, lam).pruning
        except KeyboardInterrupt:
            continue


def seeds_the_numbers_of_all(instance, lam):
    np.random.seed(0)  # noqa: NPY002  # the fault that is to be found
    return optimal(instance, lam)


def prints(instance, lam):
    print("found it")


def prints_of_large_ones(instance, lam):
    if instance is None or instance.n_internal > 20:
        print("progress")


def goes_elsewhere(instance, lam):
    os.chdir(Path(__file__).parent)


def writes_a_file(instance, lam):
    Path("left.lp").write_text("")


def ignores_interrupts(instance, lam):
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def hides_warnings(instance, lam):
    warnings.simplefilter("ignore")


def leaves_a_thread(instance, lam):
    threading.Thread(target=sleep, args=(3,), daemon=True).start()


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (prints, "the standard output"),
        (prints_of_large_ones, "the standard output"),
        (goes_elsewhere, "directory"),
        (writes_a_file, "directory"),
        (ignores_interrupts, "SIGINT"),
        (hides_warnings, "warnings.filters"),
        (leaves_a_thread, "threads"),
    ],
)
def test_what_is_spoiled_at_every_call_is_found(spoil, what, monkeypatch, tmp_path):
    def solver(instance, lam):
        spoil(instance, lam)
        return instance.roots_only

    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGINT)
    try:
        spoil(None, None)  # before the check, as another one of the solver does
        with pytest.raises(AssertionError, match=f"changes what belongs to all: {what}$"):
            dict(check_solver(solver))["global_state_is_left_alone"]()
    finally:
        signal.signal(signal.SIGINT, handler)


def silences_numpy(instance, lam):
    np.seterr(all="ignore")
    return optimal(instance, lam)


def takes_any_lambda(instance, lam):
    return result(instance, lam, instance.roots_only, Fraction(-(10**6)))


def right_where(holds):
    """Make a solver that prunes to the roots where a condition does not hold."""
    return lambda instance, lam: optimal(instance, lam) if holds(instance, lam) else instance.roots_only


NOT_OPTIMAL = {
    "keeps all": keeps_all,
    "single trees": lies_about_each_tree_alone,
    "below one": right_where(lambda instance, lam: lam < 1),
    "rounds": rounds_lambda,
    "small denominators": takes_small_denominators,
    "six digits": rounds_at_the_sixth_digit,
    "32 bits": counts_in_32_bits,
    "64 acquisitions": right_where(lambda instance, lam: instance.n_acquisitions <= 64),
    "6 nodes": right_where(lambda instance, lam: instance.n_internal < 7),
    "39 nodes": right_where(lambda instance, lam: instance.n_internal < 40),
    "shallow": right_where(lambda instance, lam: instance.node_depth.max(initial=0) < 60),
    "twelve digits": rounds_to_twelve_digits,
    "far all": keeps_all_far_away,
    "far nothing": right_where(lambda instance, lam: 10**-4 < lam < 10**4 or lam == 0),
    "few trees": right_where(lambda instance, lam: instance.n_trees < 7),
    "few examples": right_where(lambda instance, lam: instance.n_examples < 7),
    "third tree": drops_a_row_of_the_third_tree,
    "one price": takes_one_price_for_each_unit,
    "64 units": takes_only(lambda instance: instance.acquisition_unit < 64),
    "100 examples": takes_only(lambda instance: instance.acquisition_example < 100),
    "100 trees": forgets_the_hundredth_tree,
}
"""Solvers that say they are exact, and are not."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "64 acquisitions" else pytest.mark.slow) for name in NOT_OPTIMAL]
)
def test_what_is_not_optimal_is_found(name):
    info = SolverInfo(name, NOT_OPTIMAL[name], exact=True)
    with pytest.raises((AssertionError, ValueError), match="the optimum is"):
        dict(check_solver(info))["exact_is_optimal"]()


@parametrize_with_checks(available_solvers())
def test_the_solvers_pass(check):
    check()


@pytest.mark.parametrize(
    ("wrong", "check", "message"),
    [
        (keeps_an_orphan, "result_is_its_pruning", "expected the parent of each kept node"),
        (states_another_cost, "result_is_its_pruning", "says that the cost of its pruning is"),
        (claims_to_have_proved, "result_is_its_pruning", "has the status 'optimal' with"),
        (bounds_too_high, "bound_is_valid", "above the optimum"),
        (lies_about_each_tree_alone, "bound_is_valid", "above the optimum"),
        (SolverInfo("most", keeps_the_most, exact=True, canonical=True), "canonical_is_smallest", "the smallest"),
        (SolverInfo("no flow", keeps_the_most, exact=True, certifies=True), "certificate_is_accepted", "refused"),
        (SolverInfo("turned", answers_at_another_lambda, exact=True), "falls_with_lambda", "at"),
        (Alternating(), "is_deterministic", "another answer"),
        (SolverInfo("first", looks_at_the_first_tree, exact=True), "order_of_trees_does_not_matter", "order"),
        (
            SolverInfo("last place", knows_one_place_of_each_purchase, exact=True),
            "delayed_tests_are_right_or_refused",
            "on an instance with a delayed test: the optimum is",
        ),
        (spoils_the_instance, "is_deterministic", "the instance was changed"),
        (SolverInfo("remembers", Remembering(), exact=True), "another_instance_is_not_remembered", "in one thing"),
        (Shared(), "threads_do_not_disturb_each_other", "several threads|expected .* internal nodes"),
        (tries_again_after_an_interrupt, "interrupt_is_passed_on", "goes on after an interrupt"),
        (seeds_the_numbers_of_all, "global_state_is_left_alone", "belongs to all: random"),
        (silences_numpy, "global_state_is_left_alone", "belongs to all: numpy.errstate"),
        (takes_any_lambda, "refuses_a_negative_lambda", "expected an error"),
    ],
    ids=lambda part: part if isinstance(part, str) else getattr(part, "__name__", getattr(part, "name", "")),
)
@pytest.mark.slow
def test_a_wrong_solver_fails_its_check(wrong, check, message):
    with pytest.raises((AssertionError, ValueError), match=message):
        dict(check_solver(wrong))[check]()


def test_a_solver_that_spoils_its_instance_leaves_those_of_others_alone():
    with pytest.raises(AssertionError, match="the instance was changed"):
        dict(check_solver(spoils_the_instance))["is_deterministic"]()
    for _, check in check_solver("min-cut"):
        check()


def test_a_solver_may_end_at_a_negative_lambda_as_its_tool_does():
    def of_values_that_are_none(instance, lam):
        return keeps_the_most(instance, lam) if lam >= 0 else None > 0.5

    dict(check_solver(of_values_that_are_none))["refuses_a_negative_lambda"]()


def test_an_interrupt_that_python_drops_is_not_held_against_a_solver():
    def closes_a_generator_early(instance, lam):
        assert any(node >= 0 for node in instance.internal_nodes.tolist())
        return instance.roots_only

    dict(check_solver(closes_a_generator_early))["interrupt_is_passed_on"]()


def test_an_interrupt_tells_the_problem_on_which_a_solver_does_not_end():
    def hangs(instance, lam):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        dict(check_solver(hangs))["bound_is_valid"]()
    assert raised.value.__notes__[0].startswith("fails on 1 tree")


@pytest.mark.parametrize("other", [3, lambda instance: instance.unpruned, Alternating])
def test_what_is_no_function_of_an_instance_and_lambda_is_refused(other):
    with pytest.raises(TypeError, match="expected a function of an instance and lambda"):
        next(check_solver(other))


def test_a_solver_of_small_instances_is_asked_about_these():
    def small(instance, lam):
        assert instance.n_internal <= 6
        return optimal(instance, lam)

    for name, check in check_solver(SolverInfo("small", small, exact=True, max_internal=6)):
        if name in ("exact_is_optimal", "is_deterministic", "falls_with_lambda", "order_of_trees_does_not_matter"):
            check()


def test_a_solver_may_refuse_delayed_tests():
    dict(check_solver(SolverInfo("plain", refuses_delayed_tests, exact=True)))["delayed_tests_are_right_or_refused"]()


def test_an_optimal_solver_without_promises_passes():
    for _, check in check_solver(keeps_the_most):
        check()


def test_names_are_those_of_the_registry():
    assert set(available_solvers()) <= set(SOLVERS)
    with pytest.raises(ValueError, match="method: expected one of"):
        next(check_solver("none"))


def test_optima_are_not_kept_without_end(monkeypatch):
    monkeypatch.setattr(solver_questions, "MAX_OPTIMA", 5)
    monkeypatch.setattr(solver_questions, "_OPTIMA", {})
    dict(check_solver("min-cut"))["bound_is_valid"]()
    assert 0 < len(solver_questions._OPTIMA) <= 5


def gives_nothing_in_time(instance, lam, time_limit=None):
    return optimal(instance, lam) if time_limit is None else None


def calls_what_it_has_optimal(instance, lam, time_limit=None):
    return result(instance, lam, instance.roots_only) if time_limit is not None else optimal(instance, lam)


@pytest.mark.parametrize(
    ("solver", "message"),
    [(gives_nothing_in_time, "expected a Pruning, .* got NoneType"), (calls_what_it_has_optimal, "above the optimum")],
)
def test_the_end_of_time_is_asked_about(solver, message):
    checks = dict(check_solver(solver))
    with pytest.raises((AssertionError, TypeError), match=message):
        checks["end_of_time_leaves_a_result"]()
    checks["bound_is_valid"]()


@pytest.mark.parametrize("name", [name for name in available_solvers() if SOLVERS[name].takes_time_limit])
def test_solvers_leave_a_result_when_their_time_is_over(name):
    dict(check_solver(name))["end_of_time_leaves_a_result"]()
