from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from closure_checks import assert_feasible
from hypothesis import given, settings
from strategies import instances, lambdas

from ipforest import PruningInstance, Status, solve
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.single_cut import dual_bound
from ipforest.solvers import SOLVERS
from proofs.crosschecks.brute_force import brute_force


@settings(max_examples=150)
@given(instances(), lambdas)
def test_equals_brute_force_with_the_smallest_set_and_a_feasible_flow_of_the_same_value(instance, lam):
    result, best = solve(instance, lam), brute_force(instance, lam)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == best.objective
    assert result.pruning == best.pruning
    assert_feasible(instance, result.flow)


@settings(max_examples=60)
@given(instances(), lambdas, lambdas)
def test_a_start_from_any_other_lambda_changes_nothing_but_the_work(instance, lam, other):
    warm = solve(instance, lam, start=solve(instance, other).flow)
    cold = solve(instance, lam)
    assert warm.pruning == cold.pruning
    assert warm.bound == cold.bound
    assert_feasible(instance, warm.flow)


def test_a_start_of_another_size_is_refused():
    expected = r"start: expected a flow over 4 internal nodes and triples 0\.\.7, got one over "
    with pytest.raises(ValueError, match=expected + r"3 nodes and triples 0\.\.4"):
        solve(chain(4), 1, start=solve(chain(3), 1).flow)
    flow = solve(chain(4), 1).flow
    for used in (np.append(flow.used[:-1], 8), np.append(-1, flow.used[1:])):
        with pytest.raises(ValueError, match=expected + rf"4 nodes and triples {min(used[0], 0)}\.\.{used[-1]}"):
            solve(chain(4), 1, start=replace(flow, used=used))


def chain(n_trees: int) -> PruningInstance:
    """Single nodes that share acquisitions in a chain; only the last acquisition has room: paths of full length."""
    return PruningInstance(
        tree_offsets=np.arange(n_trees + 1) * 3,
        node_parent=np.tile([-1, 0, 0], n_trees) + np.repeat(np.arange(n_trees) * 3, 3) * np.tile([0, 1, 1], n_trees),
        errors=np.tile([1, 0, 0], n_trees),
        indptr=np.arange(n_trees + 1) * 2,
        indices=(np.arange(n_trees)[:, None] + np.arange(2)).ravel(),
        acquisition_unit=np.zeros(n_trees + 1, dtype=np.int32),
        acquisition_example=np.arange(n_trees + 1),
        acquisition_cost=np.ones(n_trees + 1, dtype=np.int64),
        split_cost=np.zeros(n_trees, dtype=np.int64),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=1,
        n_examples=n_trees + 1,
    )


@pytest.mark.parametrize("lam", [Fraction(1, 2), Fraction(399, 401), 1, 2])
def test_a_long_chain_is_kept_exactly_while_it_pays(lam):
    instance = chain(400)
    result = solve(instance, lam)
    assert result.objective == result.bound == min(400, lam * 401)
    assert result.pruning.n_kept == (400 if lam * 401 < 400 else 0)


def test_numbers_beyond_64_bits_are_refused_with_their_sizes():
    instance = chain(4)
    with pytest.raises(OverflowError, match=r"lam: expected gains and costs below 2\^62 .*, got 2\^66 and 2\^3"):
        solve(instance, Fraction(1, 10**19))


@pytest.mark.parametrize("method", [name for name in SOLVERS if name != "networkx"])
def test_a_lambda_beyond_64_bits_is_refused_where_nothing_costs_or_errs_too(method):
    whole = chain(4)
    free, faultless = (replace(whole, **{name: 0 * getattr(whole, name)}) for name in ("acquisition_cost", "errors"))
    for instance, lam in ((free, 10**20), (faultless, Fraction(1, 10**20))):
        with pytest.raises(OverflowError, match=r"lam: expected .* below 2\^62.*; use a lambda"):
            solve(instance, lam, method)


def test_bound_of_any_feasible_flow_stays_below_the_optimum():
    instance = synthetic_instance(3, 40, 6, seed=1)
    flow = solve(instance, Fraction(1, 20)).flow
    assert dual_bound(instance, flow) == solve(instance, Fraction(1, 20)).objective
