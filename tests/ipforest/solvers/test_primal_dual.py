from dataclasses import fields, replace
from fractions import Fraction

import joblib
import numpy as np
import pytest
from fitted_forests import breast_cancer_instance
from hypothesis import given, settings
from strategies import instances, lambdas

from ipforest import Pruning, PruningInstance, PruningResult, Status, solve
from ipforest.solvers.primal_dual import STEP_RULES, PrimalDualState, StepRule, _project
from proofs.crosschecks.brute_force import brute_force
from proofs.crosschecks.random_instances import random_instance

LAM = "0.01"


@pytest.fixture(scope="module")
def forest_instance() -> PruningInstance:
    return breast_cancer_instance(6)


@pytest.fixture(scope="module")
def optimum(forest_instance) -> Fraction:
    return solve(forest_instance, LAM, "networkx").objective


def same_bits(first, second) -> bool:
    arrays = ("multipliers", "direction", "average")
    return (
        all(getattr(first.state, name).tobytes() == getattr(second.state, name).tobytes() for name in arrays)
        and all(getattr(first.trace, f.name) == getattr(second.trace, f.name) for f in fields(first.trace))
        and (first.status, first.pruning, first.bound) == (second.status, second.pruning, second.bound)
    )


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(STEP_RULES))
@settings(max_examples=30, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_optimum_lies_within_the_reported_gap(rule, instance, lam):
    result = solve(instance, lam, "primal-dual", step_rule=rule, max_iterations=60)
    best = brute_force(instance, lam).objective
    assert result.bound <= best <= result.objective == instance.objective(result.pruning, lam)
    assert (result.status is Status.OPTIMAL) == (result.gap == 0)


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(STEP_RULES))
def test_every_rule_comes_close_on_a_fitted_forest(rule, forest_instance, optimum):
    result = solve(forest_instance, LAM, "primal-dual", step_rule=rule, max_iterations=400)
    assert result.bound <= optimum <= result.objective
    assert result.gap <= optimum / 200
    assert np.all(np.diff(result.trace.gap) <= 0)
    assert all(value <= optimum / result.trace.unit for value in result.trace.dual_value)


@pytest.mark.parametrize("rule", ["polyak", "deflected"])
def test_rules_that_converge_reach_the_optimum(rule, forest_instance, optimum):
    result = solve(forest_instance, LAM, "primal-dual", step_rule=rule, max_iterations=600)
    assert result.objective == optimum
    assert result.gap <= optimum / 10**5


def pruned_by_hand(instance, beta):
    """Prune every tree under charges by recursion from the leaves; return what is kept, and the value."""
    charge = np.zeros(instance.n_nodes)
    charge[instance.internal_nodes] = np.bincount(instance.triple_node, beta, instance.n_internal)
    below, kept = np.zeros(instance.n_nodes), np.zeros(instance.n_nodes, dtype=bool)
    for node in range(instance.n_nodes - 1, -1, -1):  # parents stand before children
        split = charge[node] + below[node]
        kept[node] = not instance.is_leaf[node] and split < instance.errors[node]
        value = split if kept[node] else instance.errors[node]
        if instance.node_parent[node] >= 0:
            below[instance.node_parent[node]] += value
        else:
            below[node] = value
    for node in range(instance.n_nodes):
        kept[node] &= instance.node_parent[node] < 0 or kept[instance.node_parent[node]]
    return kept[instance.internal_nodes], below[instance.tree_offsets[:-1]].sum()


def test_the_released_rule_step_by_step(forest_instance):
    """A second implementation, written from the description of the authors' program, in floats."""
    instance, lam, m = forest_instance, float(LAM), 500
    unit = float(instance.error_unit)
    price = lam * float(instance.cost_unit) * instance.acquisition_cost / unit
    beta, best = np.zeros(instance.n_triples), np.inf
    for iteration in range(1, 7):  # later, rounding decides where mu is nearly 0
        kept, inner = pruned_by_hand(instance, beta)
        slack = price - np.bincount(instance.indices, beta, instance.n_acquisitions)
        dual = inner + np.minimum(slack, 0).sum()
        best = min(best, float(instance.objective(Pruning(kept), LAM)) / unit)
        best = min(best, *(float(instance.objective(p, LAM)) / unit for p in (instance.roots_only, instance.unpruned)))
        gradient = kept[instance.triple_node].astype(float) - (slack < 0)[instance.indices]
        eta = (1 + m) * (best - dual) / (np.sum(gradient**2) * (iteration + m))
        beta = np.maximum(beta + eta * gradient, 0)
        result = solve(instance, LAM, "primal-dual", step_rule="released", max_iterations=iteration, relative_gap=0)
        assert np.allclose(result.state.multipliers, beta, rtol=1e-4, atol=1e-6 * price.max())


def test_stops_say_why(forest_instance):
    stopped = solve(forest_instance, LAM, "primal-dual", max_iterations=2)
    assert (stopped.status, stopped.iterations) == (Status.ITERATION_LIMIT, 2)
    near = solve(forest_instance, LAM, "primal-dual", relative_gap="0.2")
    assert near.status is Status.GAP_REACHED
    assert 0 < near.gap <= near.objective / 5
    absolute = solve(forest_instance, LAM, "primal-dual", absolute_gap=Fraction(1, 100))
    assert absolute.status is Status.GAP_REACHED
    assert absolute.gap <= Fraction(1, 100)
    assert solve(forest_instance, LAM, "primal-dual", time_limit=0.0).status is Status.TIME_LIMIT
    assert solve(forest_instance, 0, "primal-dual").status is Status.OPTIMAL


@pytest.mark.parametrize("rule", list(STEP_RULES))
def test_a_resumed_run_ends_like_one_that_never_stopped(rule, forest_instance, tmp_path):
    whole = solve(forest_instance, LAM, "primal-dual", step_rule=rule, max_iterations=20, relative_gap=0)
    half = solve(forest_instance, LAM, "primal-dual", step_rule=rule, max_iterations=2, relative_gap=0)
    half.state.save(tmp_path / "state.npz")
    resumed = solve(
        forest_instance,
        LAM,
        "primal-dual",
        step_rule=rule,
        max_iterations=20,
        relative_gap=0,
        state=PrimalDualState.load(tmp_path / "state.npz"),
    )
    assert half.iterations == 2 < whole.iterations == resumed.iterations
    assert same_bits(whole, resumed)


def test_a_result_survives_json_as_a_plain_one(forest_instance):
    result = solve(forest_instance, LAM, "primal-dual", max_iterations=2)
    again = type(result).from_json(result.to_json())
    assert type(again) is PruningResult
    assert (again.pruning, again.bound, again.status) == (result.pruning, result.bound, result.status)


def test_interrupt_keeps_the_best_and_the_run_goes_on_from_there(forest_instance):
    def interrupt(share: float, message: str) -> None:
        if share >= 0.5:
            raise KeyboardInterrupt

    stopped = solve(forest_instance, LAM, "primal-dual", max_iterations=30, progress=interrupt)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.iterations == 15
    resumed = solve(forest_instance, LAM, "primal-dual", max_iterations=30, state=stopped.state)
    assert same_bits(resumed, solve(forest_instance, LAM, "primal-dual", max_iterations=30))


@pytest.mark.slow
def test_workers_and_backends_give_the_same_bits(forest_instance):
    alone = solve(forest_instance, LAM, "primal-dual", max_iterations=12)
    with joblib.parallel_config(backend="threading"):
        assert same_bits(alone, solve(forest_instance, LAM, "primal-dual", max_iterations=12, n_jobs=3))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert same_bits(alone, solve(forest_instance, LAM, "primal-dual", max_iterations=12))


def test_states_of_something_else_are_refused(forest_instance, tmp_path):
    state = solve(forest_instance, LAM, "primal-dual", max_iterations=2).state
    other = random_instance(np.random.default_rng(3))
    with pytest.raises(ValueError, match="state: expected a state of this instance"):
        solve(other, LAM, "primal-dual", state=state)
    with pytest.raises(ValueError, match="state: expected a state at lambda 1/50, got one at 1/100"):
        solve(forest_instance, "0.02", "primal-dual", state=state)
    with pytest.raises(ValueError, match="state: expected the step rule 'polyak', got 'deflected'"):
        solve(forest_instance, LAM, "primal-dual", step_rule="polyak", state=state)
    file = tmp_path / "state.npz"
    state.save(file)
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ValueError, match="expected a complete state of primal-dual"):
        PrimalDualState.load(file)
    with pytest.raises(FileNotFoundError):
        PrimalDualState.load(tmp_path / "none.npz")


def test_wrong_options_are_refused(forest_instance):
    for options, message in (
        (
            {"step_rule": "fast"},
            "step_rule: expected one of constant, diminishing, released, polyak, deflected or a StepRule",
        ),
        ({"max_iterations": 0}, "max_iterations: expected 1 or more, got 0"),
        ({"time_limit": -1.0}, "time_limit: expected seconds >= 0 or None, got -1.0"),
        ({"relative_gap": -1}, "relative_gap: expected a number >= 0"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(forest_instance, LAM, "primal-dual", **options)
    with pytest.raises(ValueError, match="step_rule: expected either length > 0 or relaxation > 0"):
        StepRule("none", projected=True)
    with pytest.raises(ValueError, match="step_rule: expected a patience of 1"):
        replace(STEP_RULES["polyak"], patience=0)
    with pytest.raises(ValueError, match="step_rule: expected a finite settling"):
        replace(STEP_RULES["released"], settling=-1.0)
    with pytest.raises(ValueError, match="step_rule: expected power in"):
        replace(STEP_RULES["deflected"], memory=1.0)


def test_projection_is_the_nearest_point_within_the_price():
    rng = np.random.default_rng(0)
    for _ in range(200):
        size, price = int(rng.integers(1, 6)), float(rng.integers(0, 4))
        start = rng.integers(0, 5, size).astype(float)
        found = start.copy()
        _project(np.arange(size), np.array([0, size]), np.array([price]), found)
        cuts = np.linspace(0, 5, 20001)
        totals = np.maximum(start[:, None] - cuts, 0).sum(axis=0)
        cut = cuts[np.argmax(totals <= price + 1e-9)]
        assert np.allclose(found, np.maximum(start - cut, 0), atol=1e-3)
        assert found.sum() <= price + 1e-9
