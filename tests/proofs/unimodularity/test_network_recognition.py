"""Recognising network matrices: the literature's answers, and agreement with the tests of unimodularity."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from proofs.unimodularity.known_matrices import known_matrices, random_network_matrix
from proofs.unimodularity.network_recognition import find_network
from proofs.unimodularity.small_matrices import by_subdeterminants

GALLERY = {known.name: known.matrix for known in known_matrices()}


@pytest.mark.parametrize(
    ("name", "network", "transpose"),
    [
        ("F7", False, False),
        ("R10 (Hoffman)", False, False),
        ("R10 (Bixby)", False, False),
        ("R12", False, False),
        ("K5 graphic", True, False),
        ("K5 cographic", False, True),
        ("K3,3 graphic", True, False),
        ("K3,3 cographic", False, True),
        ("signed cycle of length 5", True, True),
        ("unsigned cycle of length 5", False, False),
        ("unsigned cycle of length 6", True, True),
        ("interval", True, True),
    ],
)
def test_the_literature_is_right(name, network, transpose):
    for matrix, expected in ((GALLERY[name], network), (GALLERY[name].T, transpose)):
        found = find_network(matrix)
        assert (found is not None) is expected
        assert found is None or found.check(matrix)


def test_the_matrix_whose_sixth_column_failed_is_found():
    matrix = np.array(
        [[1, -1, -1, 1, 1, 0], [-1, 1, 1, -1, 0, 0], [1, 0, 0, 1, 0, 0], [0, 0, -1, 0, 1, 1], [0, 1, 0, -1, 0, 1]]
    )
    assert find_network(matrix).check(matrix)


def test_random_network_matrices_are_found():
    rng = np.random.default_rng(91)
    for _ in range(80):
        matrix = random_network_matrix(rng, int(rng.integers(1, 7)), int(rng.integers(0, 8)))
        found = find_network(matrix)
        assert found is not None
        assert found.check(matrix), matrix.tolist()


def test_what_is_found_is_totally_unimodular():
    rng = np.random.default_rng(92)
    found = 0
    for _ in range(300):
        matrix = rng.choice([-1, 0, 1], size=rng.integers(1, 5, size=2), p=[0.25, 0.5, 0.25])
        certificate = find_network(matrix)
        if certificate is None:
            continue
        found += 1
        assert certificate.check(matrix)
        assert by_subdeterminants(matrix) is True
    assert found > 100


def test_totally_unimodular_matrices_up_to_four_rows_are_networks_or_transposes():
    """R10 and R12, the least others, have five rows and more (Seymour 1980)."""
    rng = np.random.default_rng(93)
    seen = 0
    while seen < 120:
        matrix = rng.choice([-1, 0, 1], size=(4, 5), p=[0.25, 0.5, 0.25])
        if by_subdeterminants(matrix) is True:
            seen += 1
            assert find_network(matrix) is not None or find_network(matrix.T) is not None


def test_signs_decide():
    """Of the signings of a cycle's support half are networks: those whose entries sum to a multiple of four."""
    for signs in product((-1, 1), repeat=6):
        matrix = np.array([[signs[0], 0, signs[1]], [signs[2], signs[3], 0], [0, signs[4], signs[5]]])
        found = find_network(matrix)
        assert (found is not None) is (sum(signs) % 4 == 0)
        assert found is None or found.check(matrix)


@pytest.mark.parametrize("size", [200, 2000])
def test_large_matrices_and_their_transposes(size):
    rng = np.random.default_rng(94)
    matrix = sparse.csr_array(random_network_matrix(rng, size, size))
    assert find_network(matrix).check(matrix)
    transpose = sparse.csr_array(matrix.T)
    assert find_network(transpose) is None


def test_what_is_no_sign_matrix_is_refused():
    for matrix in ([[2]], [1, 0], sparse.csr_array([[0, 3]])):
        with pytest.raises(ValueError, match="two dimensions and entries 0, 1, -1"):
            find_network(matrix)


def test_empty_matrices():
    for shape in ((0, 0), (0, 3), (3, 0), (2, 2)):
        assert find_network(np.zeros(shape)).check(np.zeros(shape))
