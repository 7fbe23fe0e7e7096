import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from fitted_forests import breast_cancer_instance
from hypothesis import given, settings
from strategies import instances, lambdas

from ipforest import Status, solve
from ipforest.solvers import dantzig_wolfe
from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import Solution
from proofs.crosschecks.brute_force import brute_force
from proofs.crosschecks.random_instances import random_instance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("master", "pricing"),
    [("partition", "all"), ("columns", "all"), pytest.param("columns", "negative", marks=pytest.mark.slow)],
)
@settings(max_examples=60, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_optimum_is_exact(master, pricing, instance, lam):
    result = solve(instance, lam, "dantzig-wolfe", master=master, pricing=pricing)
    best = brute_force(instance, lam)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == best.objective == instance.objective(result.pruning, lam)


@pytest.mark.slow
@pytest.mark.parametrize("lam", ["0.0005", "0.01", "0.03"])
def test_both_masters_agree_with_the_minimum_cut_on_a_fitted_forest(lam):
    instance = breast_cancer_instance(5)
    optimum = solve(instance, lam, "networkx").objective
    for master in ("partition", "columns"):
        result = solve(instance, lam, "dantzig-wolfe", master=master)
        assert result.objective == result.bound == optimum
        assert len(result.trace) == result.iterations
        assert all(below <= optimum / result.trace.unit for below in result.trace.bound)
        assert np.all(np.diff(result.trace.gap) <= 0)


def test_only_columns_of_negative_reduced_cost_are_taken_where_that_is_asked_for(monkeypatch):
    rounds, entering = [], dantzig_wolfe._Search._entering

    def checked(search, kept):
        instance, taken = search.problem.instance, entering(search, kept)
        ends = instance.internal_offsets
        prices_in, charges = [], [0.0] * instance.n_internal
        for node, multiplier in zip(instance.triple_node.tolist(), search._multipliers.tolist(), strict=True):
            charges[node] += multiplier
        for tree in range(instance.n_trees):
            reduced_cost = -search._tree_duals[tree]
            for node in range(ends[tree], ends[tree + 1]):
                split = float(search._lam) * instance.split_cost[node] * float(instance.cost_unit / instance.error_unit)
                reduced_cost += kept[node] * (split - instance.gain[node] + charges[node])
            prices_in.append(reduced_cost < -1e-6)
            column = kept[ends[tree] : ends[tree + 1]]
            assert np.array_equal(taken[ends[tree] : ends[tree + 1]], column & prices_in[-1])
        rounds.append(prices_in)
        return taken

    monkeypatch.setattr(dantzig_wolfe._Search, "_entering", checked)
    result = solve(breast_cancer_instance(5), "0.01", "dantzig-wolfe", master="columns", pricing="negative")
    assert result.status is Status.OPTIMAL
    assert all(rounds[0])
    assert any(any(priced_in) and not all(priced_in) for priced_in in rounds)


def test_merging_keeps_the_master_small():
    instance = breast_cancer_instance(5)
    result = solve(instance, "0.01", "dantzig-wolfe")
    assert 0 < result.master_rows < instance.n_triples / 4


def test_limits_end_the_search_with_the_best_so_far():
    instance = breast_cancer_instance(5)
    optimum = solve(instance, "0.01", "networkx").objective
    for status, limits in ((Status.ITERATION_LIMIT, {"max_iterations": 1}), (Status.TIME_LIMIT, {"time_limit": 0.0})):
        result = solve(instance, "0.01", "dantzig-wolfe", **limits)
        assert result.status is status
        assert result.bound < optimum <= result.objective


def test_a_master_out_of_time_ends_the_search(monkeypatch):
    instance = breast_cancer_instance(5)
    out_of_time = Solution(Status.TIME_LIMIT, None, None, inf, -inf, 0.0, 0)
    monkeypatch.setattr(dantzig_wolfe, "run", lambda program, time_limit: out_of_time)
    result = solve(instance, "0.01", "dantzig-wolfe", time_limit=60.0)
    assert result.status is Status.TIME_LIMIT
    assert result.iterations == 1
    assert result.gap > 0


def test_interrupt_keeps_the_best_so_far():
    instance = breast_cancer_instance(5)

    def interrupt(share: float, message: str) -> None:
        raise KeyboardInterrupt

    result = solve(instance, "0.01", "dantzig-wolfe", progress=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 1
    assert result.bound <= solve(instance, "0.01", "networkx").objective <= result.objective


def test_a_master_stopped_by_its_numbers_never_claims_an_optimum(monkeypatch):
    """Duals that are all zero price nothing in: the search ends as feasible, with its gap."""

    def without_duals(program, time_limit):
        solution = run(program, time_limit=time_limit)
        return replace(solution, row_duals=0 * solution.row_duals)

    monkeypatch.setattr(dantzig_wolfe, "run", without_duals)
    instance = breast_cancer_instance(5)
    result = solve(instance, "0.01", "dantzig-wolfe", max_iterations=50)
    assert result.status is Status.FEASIBLE
    assert result.gap > 0


@pytest.mark.slow
def test_another_use_of_highs_with_more_threads_does_no_harm():
    """HiGHS refuses another number of threads than the process has used before; the master asks for none."""
    code = """
import highspy, numpy as np
from ipforest import solve
from proofs.crosschecks.random_instances import random_instance
other = highspy.Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 3)
other.addVar(0, 1)
assert other.run() == highspy.HighsStatus.kOk
rng = np.random.default_rng(0)
results = [solve(random_instance(rng, max_internal=9), "1/3", "dantzig-wolfe") for _ in range(9)]
assert max(result.master_rows for result in results) > 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wrong_options_are_refused():
    instance = random_instance(np.random.default_rng(1))
    with pytest.raises(ValueError, match="pricing: expected one of all, negative, got 'some'"):
        solve(instance, 1, "dantzig-wolfe", pricing="some")
    with pytest.raises(ValueError, match=r"pricing: expected 'all' with master 'partition', .* pass master='columns'"):
        solve(instance, 1, "dantzig-wolfe", pricing="negative")
    with pytest.raises(ValueError, match="master: expected one of partition, columns, got 'rows'"):
        solve(instance, 1, "dantzig-wolfe", master="rows")
    with pytest.raises(ValueError, match="max_iterations: expected 1 or more, got 0"):
        solve(instance, 1, "dantzig-wolfe", max_iterations=0)
    with pytest.raises(ValueError, match="time_limit: expected seconds >= 0 or None, got -1"):
        solve(instance, 1, "dantzig-wolfe", time_limit=-1)
    with pytest.raises(OverflowError, match="lam: expected"):
        solve(instance, Fraction(10**19 + 1, 10**19), "dantzig-wolfe")
