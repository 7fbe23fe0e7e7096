"""Odd holes: each one found is a minimal violator, short ones are found at any size, none in what is unimodular."""

from itertools import islice

import numpy as np
import pytest
from scipy import sparse
from unimodular_matrices import random_graphic_matrices, scrambled

from formulations.arrays import linear_program
from formulations.specification import specify
from proofs.claims.pruning_claims import fitted_instance
from proofs.unimodularity import total_unimodularity
from proofs.unimodularity.counterexample import Counterexample
from proofs.unimodularity.known_matrices import cycle, known_matrices
from proofs.unimodularity.odd_holes import odd_hole
from proofs.unimodularity.small_matrices import by_subdeterminants
from proofs.unimodularity.total_unimodularity import is_minimal, is_totally_unimodular


def confirmed(matrix):
    """Look for a hole, and check that it is one."""
    found = odd_hole(sparse.csr_array(matrix))
    if found is None:
        return None
    answer = Counterexample.of(np.asarray(matrix), *(lines.tolist() for lines in found))
    part = answer.submatrix
    assert abs(answer.determinant) == 2
    assert (np.count_nonzero(part, axis=0) == 2).all()
    assert (np.count_nonzero(part, axis=1) == 2).all()
    assert part.sum() % 4 == 2
    return answer


@pytest.mark.parametrize("length", [2, 3, 4, 7, 60])
@pytest.mark.parametrize("signed", [False, True])
def test_a_cycle_is_found_if_it_is_odd(length, signed):
    random = np.random.default_rng(length)
    matrix = scrambled(random, cycle(length, signed)) if length > 2 else np.array([[1, 1], [1, -1 if signed else 1]])
    is_odd = signed if length == 2 else not signed and length % 2 == 1
    answer = confirmed(matrix)
    assert (answer is not None) is is_odd
    assert answer is None or len(answer.rows) == length


def test_what_is_found_in_random_matrices_is_minimal():
    random = np.random.default_rng(41)
    found = missed = 0
    for _ in range(60):
        matrix = random.choice([-1, 0, 1], size=random.integers(2, 8, size=2), p=[0.2, 0.6, 0.2])
        answer = confirmed(matrix)
        if answer is None:
            missed += not by_subdeterminants(matrix)
        else:
            found += 1
            assert is_minimal(answer)
    assert found >= 15
    assert missed <= found / 20


def test_networks_and_their_transposes_have_none():
    for matrix in islice(random_graphic_matrices(np.random.default_rng(42)), 100):
        assert odd_hole(sparse.csr_array(matrix)) is None
        assert odd_hole(sparse.csr_array(matrix.T)) is None


@pytest.mark.parametrize("name", ["R10 (Hoffman)", "R10 (Bixby)", "R12"])
def test_what_is_unimodular_has_none(name):
    matrix = next(known.matrix for known in known_matrices() if known.name == name)
    assert odd_hole(sparse.csr_array(matrix)) is None


def test_a_chord_between_odd_halves_makes_the_cycle_shorter():
    """The outer 6-cycle has chords, and on one side of a chord an odd 4-cycle is left."""
    matrix = np.array([[1, 1, 0], [1, -1, 1], [0, 1, 1]])
    assert len(confirmed(matrix).rows) == 2


def test_cycles_with_even_halves_are_given_up():
    """Every 6-cycle of the matrix of ones sums to 6, and has chords: it is no violator, as the rows are parallel."""
    assert odd_hole(sparse.csr_array(np.ones((5, 5), dtype=np.int64))) is None


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 5)])
def test_without_nonzeros_there_is_none(shape):
    assert odd_hole(sparse.csr_array(shape, dtype=np.int64)) is None


def test_a_hole_far_from_the_longest_lines_is_found():
    """A triangle at the end of a long comb whose other lines are longer."""
    size = 3000
    comb = sparse.lil_array((size, size), dtype=np.int64)
    for row in range(size - 3):
        comb[row, row : row + 3] = 1
    comb[size - 3, size - 3] = comb[size - 3, size - 2] = comb[size - 2, size - 2] = 1
    comb[size - 2, size - 1] = comb[size - 1, size - 1] = comb[size - 1, size - 3] = 1
    rows, columns = odd_hole(sparse.csr_array(comb))
    assert columns.tolist() == [size - 3, size - 2, size - 1]
    assert rows[-2:].tolist() == [size - 2, size - 1]
    assert confirmed(comb[rows][:, columns].toarray()) is not None


@pytest.mark.parametrize(("name", "order"), [("ip1", 3), ("lp1", 5)])
def test_the_programs_that_are_not_unimodular_have_short_ones(monkeypatch, name, order):
    """Without any decomposition: a sum over a path and two rows w >= z; the budget row and two chains of IP3."""
    monkeypatch.delattr(total_unimodularity, "_network")
    instance = fitted_instance(5, n_trees=20, depth=8, n_examples=100)
    assert set(instance.acquisition_cost.tolist()) == {1}
    wanted = {"budget": 1} if name == "lp1" else {"lam": 1}
    answer = is_totally_unimodular(linear_program(specify(name, instance, relaxed=True, **wanted)).A)
    assert answer.check()
    assert len(answer.rows) == order
    assert confirmed(answer.submatrix) is not None


def test_ip3_gets_its_certificate_all_the_same():
    instance = fitted_instance(5, n_trees=5, depth=5, n_examples=40)
    matrix = linear_program(specify("ip3", instance, lam=1)).A
    assert odd_hole(sparse.csr_array(matrix.astype(np.int64))) is None
    assert is_totally_unimodular(matrix).check()
