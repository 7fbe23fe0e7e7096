"""Network certificates: built without looking at the matrix, checked against it, at any size."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from formulations import FORMULATIONS
from proofs.crosschecks.random_instances import random_instance
from proofs.unimodularity.formulation_networks import formulation_matrix, network_certificate
from proofs.unimodularity.known_matrices import random_network_matrix
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.total_unimodularity import is_totally_unimodular
from tests.strategies import instances

WITH_NETWORK = [name for name, program in FORMULATIONS.items() if program.integral]


def stated_for(name, instance):
    return FORMULATIONS[name].fits(instance)


@settings(max_examples=60, deadline=None)
@given(instance=instances(max_internal=6))
def test_every_program_has_its_certificate(instance):
    for name in filter(lambda name: stated_for(name, instance), WITH_NETWORK):
        verdict = network_certificate(instance, name).check(formulation_matrix(instance, name))
        assert verdict, f"{name}: {verdict}"


def test_exact_tests_confirm_the_certificates():
    rng = np.random.default_rng(21)
    confirmed = 0
    for _ in range(60):
        instance = random_instance(rng, 4)
        for name in filter(lambda name: stated_for(name, instance), WITH_NETWORK):
            matrix = formulation_matrix(instance, name)
            if min(matrix.shape) <= 9:
                assert is_totally_unimodular(matrix), name
                confirmed += 1
    assert confirmed > 100


def test_columns_may_be_the_paths():
    matrix = random_network_matrix(np.random.default_rng(4), 4, 6)
    parent = np.array([-1, 0, 0, 1])
    vertices = np.arange(1, 4)
    away = np.array([True, False, True])
    tail, head = np.array([3, 0, 2]), np.array([2, 3, 1])
    paths = np.array([[-1, -1, -1], [1, 0, 1], [1, 1, 0]])
    certificate = NetworkCertificate(parent, vertices, away, tail, head)
    assert certificate.check(paths)
    assert replace(certificate, transposed=True).check(paths.T)
    assert not replace(certificate, transposed=True).check(paths)
    assert not certificate.check(matrix)


def test_every_changed_entry_of_the_matrix_is_found():
    instance = random_instance(np.random.default_rng(5), 6)
    certificate = network_certificate(instance, "ip3")
    matrix = formulation_matrix(instance, "ip3").toarray()
    for place in np.ndindex(*matrix.shape):
        changed = matrix.copy()
        changed[place] = (changed[place] + 2) % 3 - 1
        assert "is not the path" in certificate.check(changed).reason
    assert "other than" in certificate.check(2 * matrix).reason
    assert "the certificate is about" in certificate.check(matrix[:-1]).reason


@pytest.mark.parametrize("name", WITH_NETWORK)
def test_corrupted_certificates_are_refused_with_a_reason(name):
    rng = np.random.default_rng(6)
    refused = 0
    while refused < 60:
        instance = random_instance(rng, 6)
        if instance.n_internal < 2 or instance.n_triples < 2 or not stated_for(name, instance):
            continue
        certificate, matrix = network_certificate(instance, name), formulation_matrix(instance, name)
        for field in ("parent", "column_vertex", "away", "tail", "head"):
            values = getattr(certificate, field).copy()
            place = int(rng.integers(values.size))
            if field == "away":
                values[place] = not values[place]
            else:
                values[place] = rng.choice([v for v in range(-1, certificate.parent.size + 1) if v != values[place]])
            used = field in ("tail", "head") or np.abs(matrix).sum(axis=0).min() > 0
            if not used:
                continue
            verdict = replace(certificate, **{field: values}).check(matrix)
            assert not verdict, f"{field}[{place}]"
            assert verdict.reason
            refused += 1


def test_a_wrong_name_is_refused():
    instance = random_instance(np.random.default_rng(7), 5)
    for function in (network_certificate, formulation_matrix):
        with pytest.raises(ValueError, match="expected one of ip0"):
            function(instance, "ip4")
    for name in ("ip1", "lp1"):
        with pytest.raises(ValueError, match=f"expected one with a network by construction, got {name}"):
            network_certificate(instance, name)
    two_trees = next(i for seed in range(99) if (i := random_instance(np.random.default_rng(seed), 5)).n_trees == 2)
    with pytest.raises(ValueError, match="one tree"):
        network_certificate(two_trees, "ip2")


def test_sparse_input_with_explicit_zeros_and_repeated_entries():
    certificate = NetworkCertificate(
        np.array([-1, 0]), np.array([1]), np.array([True]), np.array([0, 0]), np.array([1, 0])
    )
    repeated = sparse.coo_matrix(([1, 1, -1, 0], ([0, 0, 0, 1], [0, 0, 0, 0])), shape=(2, 1))
    assert certificate.check(repeated)


def test_no_rows_or_no_columns():
    none = np.zeros(0, dtype=np.int64)
    empty = NetworkCertificate(np.array([-1]), none, none.astype(bool), none, none)
    assert empty.check(np.zeros((0, 0)))
    assert not replace(empty, parent=none).check(np.zeros((0, 0)))
