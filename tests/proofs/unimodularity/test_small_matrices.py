"""Total unimodularity: three tests that agree, evidence that checks, corruptions that do not."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from proofs.unimodularity.known_matrices import known_matrices, random_network_matrix, signed_support
from proofs.unimodularity.small_matrices import (
    MAX_SHORT_SIDE,
    by_colouring,
    by_eulerian_submatrices,
    by_subdeterminants,
)
from proofs.unimodularity.total_unimodularity import is_minimal

KNOWN = {known.name: known for known in known_matrices()}


def random_matrix(rng: np.random.Generator, most: int = 7) -> np.ndarray:
    m, n = rng.integers(1, most + 1, size=2)
    density = rng.uniform(0.15, 0.6)
    return rng.choice([-1, 0, 1], size=(m, n), p=[density / 2, 1 - density, density / 2])


@pytest.mark.slow
def test_the_tests_agree_on_two_thousand_random_matrices():
    rng = np.random.default_rng(11)
    positive = 0
    for _ in range(2000):
        matrix = random_matrix(rng)
        colouring, eulerian = by_colouring(matrix), by_eulerian_submatrices(matrix)
        assert bool(colouring) == bool(eulerian) == bool(by_subdeterminants(matrix)), matrix.tolist()
        assert colouring.check(), matrix.tolist()
        assert eulerian.check(), matrix.tolist()
        positive += bool(colouring)
    assert 500 < positive < 1900


@pytest.mark.slow
def test_counterexamples_are_minimal_and_of_least_order():
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(300):
        matrix = random_matrix(rng)
        answers = [by_colouring(matrix), by_eulerian_submatrices(matrix), by_subdeterminants(matrix)]
        if answers[0]:
            continue
        found += 1
        assert {abs(answer.determinant) for answer in answers} == {2}
        assert len({len(answer.rows) for answer in answers}) == 1
        assert all(is_minimal(answer) for answer in answers)
    assert found > 50


@pytest.mark.parametrize("name", KNOWN)
def test_the_literature_is_right(name):
    known = KNOWN[name]
    for answer in (by_colouring(known.matrix), by_eulerian_submatrices(known.matrix)):
        assert bool(answer) is known.totally_unimodular
        assert answer.check()
    assert bool(by_subdeterminants(known.matrix)) is known.totally_unimodular


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_flipped_entries_get_one_answer_from_all_tests(name):
    matrix = KNOWN[name].matrix
    for place, entry in np.ndenumerate(matrix):
        for other in {-1, 0, 1} - {int(entry)}:
            flipped = matrix.copy()
            flipped[place] = other
            answers = by_colouring(flipped), by_eulerian_submatrices(flipped)
            assert all(answer.check() for answer in answers)
            assert {bool(answer) for answer in answers} == {bool(by_subdeterminants(flipped))}


def test_flipping_the_sign_of_any_entry_of_r10_destroys_unimodularity():
    matrix = KNOWN["R10 (Hoffman)"].matrix
    for place in np.argwhere(matrix):
        flipped = matrix.copy()
        flipped[tuple(place)] *= -1
        assert not by_eulerian_submatrices(flipped)


def test_no_signing_of_the_fano_matrix_is_unimodular():
    support = np.abs(KNOWN["F7"].matrix)
    places = np.argwhere(support)
    for signs in product((-1, 1), repeat=len(places)):
        signed = support.copy()
        signed[tuple(places.T)] = signs
        assert not by_eulerian_submatrices(signed)


@pytest.mark.parametrize("name", ["R10 (Hoffman)", "R10 (Bixby)", "R12", "K5 graphic", "K3,3 cographic"])
def test_camions_signing_restores_a_regular_matrix(name):
    assert by_eulerian_submatrices(signed_support(np.abs(KNOWN[name].matrix)))


def test_network_matrices_are_unimodular():
    rng = np.random.default_rng(13)
    for _ in range(60):
        matrix = random_network_matrix(rng, int(rng.integers(1, 8)), int(rng.integers(1, 9)))
        assert by_colouring(matrix)
        assert by_colouring(matrix.T)


def test_a_large_matrix_is_refused():
    for test in (by_colouring, by_eulerian_submatrices, by_subdeterminants):
        with pytest.raises(ValueError, match="call is_totally_unimodular instead"):
            test(np.eye(MAX_SHORT_SIDE + 1))


def halves_its_sums(matrix: np.ndarray, whole: int, part: int) -> bool:
    """Say, line by line, whether `part` is a subset of `whole` that halves its even column sums modulo two."""
    if part & ~whole:
        return False
    for column in matrix.T.tolist():
        total = sum(entry for i, entry in enumerate(column) if whole >> i & 1)
        half = sum(entry for i, entry in enumerate(column) if part >> i & 1)
        if total % 2 == 0 and (total // 2 - half) % 2:
            return False
    return True


def test_a_corrupted_certificate_is_refused_unless_it_is_another_proof():
    rng = np.random.default_rng(14)
    matrix = np.concatenate([random_network_matrix(rng, 5, 7), np.eye(5, dtype=np.int64)], axis=1)
    colouring, eulerian = by_colouring(matrix), by_eulerian_submatrices(matrix)
    for _ in range(60):
        signs = colouring.signs.copy()
        row = int(rng.integers(1, len(signs)))
        column = int(rng.choice(np.flatnonzero(signs[row])))
        signs[row, column] = rng.choice([0, 2, -signs[row, column]]) if (signs[row] != 0).sum() > 1 else 0
        broken = replace(colouring, signs=signs)
        same_set = np.array_equal(signs != 0, colouring.signs != 0) and signs.max() <= 1
        still_a_colouring = same_set and np.abs(signs.astype(int) @ matrix).max() <= 1
        assert bool(broken.check()) == bool(still_a_colouring)
        halves = eulerian.halves.copy()
        place = int(rng.integers(1, len(halves)))
        halves[place] ^= 1 << int(rng.integers(5))
        assert bool(replace(eulerian, halves=halves).check()) is halves_its_sums(matrix, place, int(halves[place]))
    assert "shape" in replace(colouring, signs=colouring.signs[:-1]).check().reason
    assert "shape" in replace(eulerian, halves=eulerian.halves[:-1]).check().reason
    assert "other than" in replace(colouring, matrix=2 * matrix).check().reason
