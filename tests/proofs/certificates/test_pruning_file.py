"""Certificate files: what is written is accepted, what is damaged or dishonest is refused with a reason."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ipforest.results import Pruning
from ipforest.solvers import solve
from proofs.certificates.archive import read_archive, write_archive
from proofs.certificates.pruning_file import read_certificate, verify_certificate_file, write_certificate
from proofs.crosschecks.random_instances import random_instance


def instance_and_result(seed):
    rng = np.random.default_rng(seed)
    while True:
        instance = random_instance(rng, 8)
        if instance.n_triples >= 4 and instance.n_internal >= 3 and instance.gain.max() > 0:
            return instance, solve(instance, Fraction(int(rng.integers(1, 9)), 7), method="networkx")


@pytest.fixture
def written(tmp_path):
    instance, result = instance_and_result(41)
    path = tmp_path / "optimal.cert"
    write_certificate(path, instance, result)
    return path, instance, result


def test_a_written_certificate_is_accepted(written):
    path, instance, result = written
    assert verify_certificate_file(path)
    assert "the one given" in verify_certificate_file(path, instance).reason
    certificate = read_certificate(path)
    assert certificate.lam == result.lam
    assert certificate.objective == result.objective
    assert certificate.instance.fingerprint() == instance.fingerprint()
    assert np.array_equal(certificate.kept, result.pruning.kept)
    assert certificate.method == result.method


def test_fingerprints_agree_on_random_instances(tmp_path):
    for seed in range(20):
        instance, result = instance_and_result(seed)
        write_certificate(tmp_path / "c", instance, result)
        assert read_certificate(tmp_path / "c").instance.fingerprint() == instance.fingerprint()


def test_another_instance_is_refused(written):
    path, _, _ = written
    other, _ = instance_and_result(42)
    assert "not the one given" in verify_certificate_file(path, other).reason


def test_nothing_false_is_written(tmp_path, written):
    _, instance, result = written
    with pytest.raises(ValueError, match="provably optimal"):
        write_certificate(tmp_path / "no.cert", instance, replace(result, flow=None))
    worse = replace(result, pruning=Pruning(~result.pruning.kept & False))
    if instance.objective(worse.pruning, result.lam) != result.objective:
        with pytest.raises(ValueError, match="provably optimal"):
            write_certificate(tmp_path / "no.cert", instance, worse)
    assert not (tmp_path / "no.cert").exists()


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        verify_certificate_file(tmp_path / "absent.cert")


def test_truncated_files_are_refused(written, tmp_path):
    path, _, _ = written
    whole = path.read_bytes()
    for share in range(0, 40):
        short = tmp_path / "short.cert"
        short.write_bytes(whole[: len(whole) * share // 40])
        assert "not a complete certificate" in verify_certificate_file(short).reason


def test_flipped_bits_are_refused(written, tmp_path):
    path, _, _ = written
    whole = path.read_bytes()
    rng = np.random.default_rng(43)
    refused = harmless = 0
    while refused < 150:
        damaged = bytearray(whole)
        directory = len(whole) - 1500 if rng.integers(2) else 0  # the archive's directory is at its end
        damaged[int(rng.integers(directory, len(whole)))] ^= 1 << int(rng.integers(8))
        (tmp_path / "damaged.cert").write_bytes(damaged)
        verdict = verify_certificate_file(tmp_path / "damaged.cert")
        if verdict:  # a bit of the archive's bookkeeping (a date, an attribute): the content is what was sealed
            harmless += 1
            assert same_content(path, tmp_path / "damaged.cert")
        else:
            assert verdict.reason
            refused += 1
    assert harmless < 300


def same_content(first, second):
    (header, arrays), (other_header, other_arrays) = read_archive(first), read_archive(second)
    return header == other_header and all(np.array_equal(arrays[name], other_arrays[name]) for name in arrays)


def forged(rng, header, arrays):
    """Change one thing of the content; None if this draw cannot."""
    kind = int(rng.integers(6))
    if kind == 0:
        name = str(rng.choice(["lam", "error", "cost", "objective", "error_unit", "cost_unit"]))
        return name, {**header, name: str(Fraction(header[name]) + Fraction(1, 11))}, arrays
    if kind == 1:
        name = str(rng.choice(["p", "q"]))
        return name, {**header, name: str(int(header[name]) + 1)}, arrays
    if kind == 2:
        digits = list(header["instance_sha256"])
        place = int(rng.integers(64))
        digits[place] = "0" if digits[place] != "0" else "1"
        return "instance_sha256", {**header, "instance_sha256": "".join(digits)}, arrays
    if kind == 3:
        name = str(rng.choice(["n_units", "n_examples"]))
        return name, {**header, name: header[name] + 1}, arrays
    names = sorted(name for name in arrays if name != "kept" and arrays[name].size)
    name = str(rng.choice([n for n in names if n.startswith("flow/") == (kind == 4)]))
    values = arrays[name].copy()
    values[int(rng.integers(values.size))] += int(rng.choice([-2, -1, 1, 3]))
    return name, header, {**arrays, name: values}


@pytest.mark.slow
def test_forgeries_are_refused_even_when_sealed_anew(tmp_path):
    rng = np.random.default_rng(44)
    seen = set()
    for attempt in range(120):
        instance, result = instance_and_result(attempt % 25)
        write_certificate(tmp_path / "good.cert", instance, result)
        what, header, arrays = forged(rng, *read_archive(tmp_path / "good.cert"))
        write_archive(tmp_path / "forged.cert", header, arrays)
        verdict = verify_certificate_file(tmp_path / "forged.cert")
        assert not verdict, what
        assert verdict.reason
        seen.add(what)
    assert {
        "lam",
        "p",
        "instance_sha256",
        "instance/node_parent",
        "instance/indices",
        "flow/used",
        "flow/triple",
        "flow/up",
    } <= seen


@pytest.mark.slow
def test_a_forged_instance_with_a_new_hash_is_refused_unless_the_claim_is_true_of_it(tmp_path):
    """Even a consistent file proves nothing about another instance: its own numbers must fit the flow."""
    rng = np.random.default_rng(45)
    refused = 0
    for attempt in range(120):
        instance, result = instance_and_result(attempt % 25)
        write_certificate(tmp_path / "good.cert", instance, result)
        header, arrays = read_archive(tmp_path / "good.cert")
        name = str(rng.choice(["instance/errors", "instance/acquisition_cost", "instance/split_cost"]))
        values = arrays[name].copy()
        values[int(rng.integers(values.size))] += 5
        field = name.removeprefix("instance/")
        changed = replace(instance, **{field: values})
        header["instance_sha256"] = changed.fingerprint()
        write_archive(tmp_path / "forged.cert", header, {**arrays, name: values})
        verdict = verify_certificate_file(tmp_path / "forged.cert")
        refused += not verdict
        if verdict:
            assert solve(changed, result.lam, method="networkx").objective == result.objective
        assert not verify_certificate_file(tmp_path / "forged.cert", instance)
    assert refused > 60
