"""The optimality checker: accepts what is optimal, refuses everything else with a reason."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from ipforest.results import DualFlow, Pruning, Status
from ipforest.solvers import solve
from proofs.certificates.optimality import verify_claim, verify_optimality
from proofs.crosschecks.brute_force import brute_force, prunings
from proofs.crosschecks.random_instances import random_instance
from tests.closure_checks import assert_feasible
from tests.strategies import instances, lambdas


def solved(rng, max_internal=8, least_triples=0):
    """Draw an instance and solve it."""
    while True:
        instance = random_instance(rng, max_internal)
        if instance.n_triples >= least_triples and instance.n_internal >= min(least_triples, 2):
            break
    lam = Fraction(int(rng.integers(0, 20)), int(rng.integers(1, 12)))
    return instance, solve(instance, lam, method="networkx")


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(instance=instances(), lam=lambdas)
@pytest.mark.parametrize("method", ["networkx", "min-cut"])
def test_optimal_results_are_accepted(method, instance, lam):
    verdict = verify_optimality(instance, solve(instance, lam, method=method))
    assert verdict, verdict


def test_the_accepted_objective_is_the_best_of_all_prunings():
    rng = np.random.default_rng(31)
    for _ in range(60):
        instance, result = solved(rng)
        assert verify_optimality(instance, result)
        assert result.objective == brute_force(instance, result.lam).objective


def test_a_flow_accepts_exactly_the_optimal_prunings():
    rng = np.random.default_rng(32)
    accepted = refused = 0
    for _ in range(60):
        instance, result = solved(rng, 6)
        for pruning in prunings(instance):
            verdict = verify_claim(instance, result.lam, pruning.kept, result.flow, {})
            assert bool(verdict) == (instance.objective(pruning, result.lam) == result.objective)
            accepted, refused = accepted + bool(verdict), refused + (not verdict)
    assert accepted > 60
    assert refused > 300


def corrupted(rng, instance, result):
    """Change one thing in a result's flow, pruning or numbers; return what was changed and the broken result."""
    flow, kind = result.flow, int(rng.integers(8))
    step = int(rng.choice([-3, -1, 1, 2, 10**6]))
    if kind < 4:
        name = ("triple", "up", "gain", "split")[kind]
        values = getattr(flow, name).copy()
        if not values.size:
            return None
        place = int(rng.integers(values.size))
        values[place] += step
        return f"{name}[{place}]", replace(result, flow=replace(flow, **{name: values}))
    if kind == 4:
        return "p", replace(result, flow=replace(flow, p=flow.p + step))
    if kind == 5:
        if result.lam == 0:  # which has any denominator
            return None
        return "q", replace(result, flow=replace(flow, q=flow.q + step))
    if kind == 6:
        return "lam", replace(result, lam=result.lam + Fraction(step, 7))
    shift = Fraction(abs(step), 9)
    name = ("error", "cost", "objective", "bound")[int(rng.integers(4))]
    sign = -1 if name == "bound" else 1
    return name, replace(result, **{name: getattr(result, name) + sign * shift})


def test_every_corruption_is_refused_with_a_reason():
    rng = np.random.default_rng(33)
    seen: dict[str, int] = {}
    while sum(seen.values()) < 400:
        instance, result = solved(rng, 8, least_triples=3)
        broken = corrupted(rng, instance, result)
        if broken is None:
            continue
        what, wrong = broken
        verdict = verify_optimality(instance, wrong)
        assert not verdict, what
        assert verdict.reason
        assert "\n" not in verdict.reason
        seen[what.split("[")[0]] = seen.get(what.split("[")[0], 0) + 1
    assert set(seen) >= {"triple", "up", "gain", "split", "p", "q", "lam", "error", "cost", "objective", "bound"}


def is_feasible(instance, flow):
    try:
        assert_feasible(instance, flow)
    except (AssertionError, IndexError):
        return False
    return True


@pytest.mark.slow
def test_flow_on_another_triple_is_refused_unless_it_fits_there():
    rng = np.random.default_rng(40)
    accepted = refused = 0
    while refused < 200:
        instance, result = solved(rng, 8, least_triples=3)
        used = result.flow.used.copy()
        if not used.size:
            continue
        used[int(rng.integers(used.size))] += int(rng.choice([-3, -1, 1, 2, 10**6]))
        verdict = verify_optimality(instance, replace(result, flow=replace(result.flow, used=used)))
        fits = used.min() >= 0 and is_feasible(instance, replace(result.flow, used=used))
        assert bool(verdict) == fits
        accepted, refused = accepted + fits, refused + (not fits)
    assert accepted > 0


def test_another_pruning_is_refused_unless_it_ties():
    rng = np.random.default_rng(34)
    refused = 0
    while refused < 100:
        instance, result = solved(rng, 8, least_triples=2)
        kept = result.pruning.kept.copy()
        place = int(rng.integers(kept.size))
        kept[place] = not kept[place]
        closed = not (kept & (instance.parent >= 0) & ~kept[instance.parent]).any()
        ties = closed and instance.objective(Pruning(kept), result.lam) == result.objective
        verdict = verify_claim(instance, result.lam, kept, result.flow, {})
        assert bool(verdict) == bool(ties)
        refused += not verdict


def test_a_result_without_proof_is_refused():
    instance, result = solved(np.random.default_rng(35))
    assert "carries no flow" in verify_optimality(instance, replace(result, flow=None)).reason
    assert "status" in verify_optimality(instance, replace(result, status=Status.FEASIBLE)).reason


def test_arrays_of_the_wrong_shape_are_refused():
    instance, result = solved(np.random.default_rng(36), 8, least_triples=3)
    flow = result.flow
    none = flow.up[:0]
    short = DualFlow(flow.p, flow.q, flow.used, flow.triple, none, none, none)
    assert "flow.up: expected" in verify_optimality(instance, replace(result, flow=short)).reason
    assert "kept: expected" in verify_claim(instance, result.lam, result.pruning.kept[:-1], flow, {}).reason


def test_an_orphan_is_refused():
    rng = np.random.default_rng(37)
    instance, result = next(pair for _ in range(99) if (pair := solved(rng, 8))[0].parent.max(initial=-1) >= 0)
    kept = np.zeros(instance.n_internal, dtype=bool)
    kept[np.argmax(instance.parent >= 0)] = True
    assert "kept under a parent that is not" in verify_claim(instance, result.lam, kept, result.flow, {}).reason


@pytest.mark.parametrize("scale", [1, 10**11, 10**15])
def test_numbers_beyond_64_bits_are_added_exactly(scale):
    """Scale lambda's integer form: p, q and the flow grow alike, and products leave the int64 range."""
    rng = np.random.default_rng(38)
    for _ in range(20):
        instance, result = solved(rng, 8, least_triples=3)
        flow = result.flow
        largest = max(int(getattr(flow, name).max(initial=0)) for name in ("triple", "up", "gain", "split"))
        factor = min(scale, (2**63 - 1) // max(1, largest))
        grown = {name: getattr(flow, name) * factor for name in ("triple", "up", "gain", "split")}
        bigger = replace(result, flow=replace(flow, p=flow.p * factor, q=flow.q * factor, **grown))
        assert verify_optimality(instance, bigger)
        values = np.zeros(instance.n_triples, dtype=np.int64)
        values[flow.used] = grown["triple"]
        values[0] += 1 if values[0] == 0 else -1
        wrong = replace(bigger.flow, used=np.arange(instance.n_triples), triple=values)
        assert not verify_optimality(instance, replace(bigger, flow=wrong))


def test_a_flow_whose_sums_would_wrap_around_is_refused():
    """Two entries of 2^63 - 1 and one of 2 add up to 0 modulo 2^64; exactly they exceed every capacity."""
    rng = np.random.default_rng(39)
    instance, result = solved(rng, 8, least_triples=4)
    wrong = replace(result, flow=replace(result.flow, used=np.arange(3), triple=np.array([2**63 - 1, 2**63 - 1, 2])))
    assert not verify_optimality(instance, wrong)
