from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest.solvers.lagrangian import ScaledProblem
from ipforest.solvers.tree_pool import TreePool
from proofs.crosschecks.brute_force import brute_force, prunings
from proofs.crosschecks.random_instances import random_instance


@settings(max_examples=50, deadline=None)
@given(instances(max_internal=6), lambdas, st.data())
def test_dual_values_at_any_multipliers_stay_below_the_optimum(instance, lam, data):
    problem = ScaledProblem.at(instance, lam)
    drawn = data.draw(st.lists(st.floats(0, 5), min_size=instance.n_triples, max_size=instance.n_triples))
    with TreePool(instance, problem.fine_q) as pool:
        value, _ = problem.dual_value(pool, problem.rounded(np.array(drawn)))
    best = brute_force(instance, lam).objective
    assert problem.coarse_bound(value) * instance.error_unit / problem.q <= best
    assert Fraction(value, problem.resolution) <= problem.coarse_bound(value)


@settings(max_examples=60, deadline=None)
@given(instances(max_internal=6), lambdas, st.data())
def test_best_threshold_is_no_worse_than_the_mixture(instance, lam, data):
    """A mixture of prunings, rounded, does not exceed the mean of their objectives without shared acquisitions."""
    problem = ScaledProblem.at(instance, lam)
    every = list(prunings(instance))
    chosen = [every[data.draw(st.integers(0, len(every) - 1))] for _ in range(4)]
    level = np.mean([p.kept for p in chosen], axis=0)
    value, pruning = problem.best_threshold(level)
    assert value == problem.value(pruning)
    level_sets = [np.zeros(instance.n_internal, bool)] + [level >= v for v in set(level.tolist()) if v > 0]
    values = [problem.value(type(pruning)(kept)) for kept in level_sets]
    assert value == min(values)
    assert value <= np.mean([problem.value(p) for p in chosen])


def test_steps_that_would_overflow_are_refused():
    instance = random_instance(np.random.default_rng(5))
    problem = ScaledProblem.at(instance, Fraction(1, 3))
    with pytest.raises(OverflowError, match="step: expected multipliers that sum below 2\\^62"):
        problem.rounded(np.full(instance.n_triples, 1e18))
    with pytest.raises(OverflowError, match="lam: expected q \\* errors \\+ p \\* costs below 2\\^62"):
        ScaledProblem.at(instance, Fraction(10**19 + 1, 10**19))
