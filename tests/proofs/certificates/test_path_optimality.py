"""The path checker and path certificate files: what is proved is accepted, everything else refused with a reason."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from ipforest.path_search import prune_path
from proofs.certificates.archive import read_archive, write_archive
from proofs.certificates.path_file import write_path_certificate
from proofs.certificates.path_optimality import verify_path
from proofs.certificates.pruning_file import read_certificate, verify_certificate_file
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.random_instances import random_instance
from tests.strategies import instances


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(instance=instances(max_internal=10))
def test_whole_paths_are_accepted(instance):
    verdict = verify_path(instance, prune_path(instance))
    assert verdict, verdict


def drawn_path(rng, least_breakpoints=2):
    while True:
        instance = random_instance(rng, 9)
        path = prune_path(instance)
        if len(path.breakpoints) >= least_breakpoints and instance.n_triples >= 3:
            return instance, path


def is_optimal_everywhere(instance, path):
    """Compare each pruning of a path with all prunings, at both ends of its interval and in the middle."""
    every = [instance.evaluate(pruning) for pruning in prunings(instance)]
    ends = [Fraction(0), *path.breakpoints, path.breakpoints[-1] + 1]
    for number, (low, high) in enumerate(pairwise(ends)):
        own = instance.evaluate(path.pruning_at(number))
        assert own == (path.errors[number], path.costs[number])
        for lam in (low, (low + high) / 2, high):
            if own[0] + lam * own[1] != min(error + lam * cost for error, cost in every):
                return False
    return True


def test_accepted_paths_are_optimal_at_and_between_their_breakpoints():
    rng = np.random.default_rng(101)
    for _ in range(40):
        assert is_optimal_everywhere(*drawn_path(rng, 1))


def corrupted(rng, instance, path):
    """Change one thing; return its name and the broken path, None where there is no such thing."""
    flow, kind = path.flow, int(rng.integers(-1, 9))
    if kind < 4:
        name = ("triple", "up", "gain", "split", "used")[kind]
        values = getattr(flow, name).copy()
        if not values.size:
            return None
        values[int(rng.integers(values.size))] += int(rng.choice([-1, 1, 7, 10**9]))
        return name, replace(path, flow=replace(flow, **{name: values}))
    if kind == 4:
        pieces = path.node_breakpoint.copy()
        place = int(rng.integers(pieces.size))
        pieces[place] = rng.choice([b for b in range(-1, len(flow.p) + 1) if b != pieces[place]])
        both = bool(rng.integers(2))
        changed = replace(flow, node_breakpoint=pieces)
        return "node_breakpoint", replace(path, flow=changed, node_breakpoint=pieces if both else path.node_breakpoint)
    if kind == 5:
        name = str(rng.choice(["p", "q"]))
        values = list(getattr(flow, name))
        values[int(rng.integers(len(values)))] += int(rng.choice([-1, 1]))
        return name, replace(path, flow=replace(flow, **{name: tuple(values)}))
    if kind == 6:
        values = list(path.breakpoints)
        values[int(rng.integers(len(values)))] *= Fraction(int(rng.integers(2, 5)), 7)
        return "breakpoints", replace(path, breakpoints=tuple(values))
    if kind == 7:
        flow = replace(flow, p=flow.p[:-1], q=flow.q[:-1])
        return "fewer", replace(path, flow=flow)
    name = str(rng.choice(["errors", "costs"]))
    values = list(getattr(path, name))
    values[int(rng.integers(len(values)))] += Fraction(1, 13)
    return name, replace(path, **{name: tuple(values)})


@pytest.mark.slow
def test_every_corruption_is_refused_with_a_reason():
    rng = np.random.default_rng(102)
    seen = []
    for _ in range(300):
        instance, path = drawn_path(rng)
        broken = corrupted(rng, instance, path)
        if broken is None:
            continue
        what, wrong = broken
        verdict = verify_path(instance, wrong)
        if verdict:  # a node that gains and costs nothing may be kept or not, and flow may go to its other acquisitions
            assert what in ("node_breakpoint", "used")
            assert is_optimal_everywhere(instance, wrong)
            continue
        assert verdict.reason
        assert "\n" not in verdict.reason
        seen.append(what)
    assert len(seen) > 250
    assert len(set(seen)) == 12


def test_a_coarse_path_has_no_proof():
    rng = np.random.default_rng(103)
    instance, path = drawn_path(rng, 3)
    assert "no flow" in verify_path(instance, replace(path, flow=None)).reason


def test_another_instance_is_refused():
    rng = np.random.default_rng(104)
    instance, path = drawn_path(rng)
    errors = instance.errors.copy()
    errors[0] += 1
    assert not verify_path(replace(instance, errors=errors), path)


def test_numbers_beyond_64_bits_are_multiplied_exactly():
    rng = np.random.default_rng(105)
    for _ in range(20):
        instance, path = drawn_path(rng)
        flow = path.flow
        largest = max(int(getattr(flow, name).max(initial=0)) for name in ("triple", "up", "gain", "split"))
        factor = (2**63 - 1) // max(1, largest)
        pieces = path.node_breakpoint
        middle = (pieces >= 0) & (pieces < len(flow.p))
        grown = {
            name: np.where(middle, getattr(flow, name) * factor, getattr(flow, name))
            for name in ("up", "gain", "split")
        }
        bigger = replace(
            flow,
            p=tuple(p * factor for p in flow.p),
            q=tuple(q * factor for q in flow.q),
            triple=flow.triple * factor,
            **grown,
        )
        verdict = verify_path(instance, replace(path, flow=bigger))
        assert verdict, verdict
        wrong = bigger.gain.copy()
        wrong[np.argmax(middle)] -= 1
        assert not verify_path(instance, replace(path, flow=replace(bigger, gain=wrong)))


@pytest.fixture
def written(tmp_path):
    instance, path = drawn_path(np.random.default_rng(106), 3)
    write_path_certificate(tmp_path / "path.cert", path)
    return tmp_path / "path.cert", instance, path


def test_path_certificates_prove_themselves(written):
    file, instance, path = written
    assert verify_certificate_file(file)
    assert verify_certificate_file(file, instance)
    assert read_certificate(file).path.breakpoints == path.breakpoints
    other, _ = drawn_path(np.random.default_rng(107))
    assert "not the one given" in verify_certificate_file(file, other).reason


def test_nothing_false_is_written(written, tmp_path):
    _, _, path = written
    with pytest.raises(ValueError, match="provably optimal path"):
        write_path_certificate(tmp_path / "no.cert", replace(path, errors=path.errors[::-1]))
    assert not (tmp_path / "no.cert").exists()


@pytest.mark.slow
def test_forged_path_certificates_are_refused_even_when_sealed_anew(written, tmp_path):
    file, _, _ = written
    rng = np.random.default_rng(108)
    header, arrays = read_archive(file)
    for _ in range(150):
        name = str(rng.choice(["p", "q", "errors", "costs"] if rng.integers(2) else sorted(arrays)))
        values = arrays[name].copy()
        values[int(rng.integers(values.size))] += int(rng.choice([-1, 1, 5]))
        write_archive(tmp_path / "forged.cert", header, {**arrays, name: values})
        verdict = verify_certificate_file(tmp_path / "forged.cert")
        assert not verdict, name
        assert verdict.reason
