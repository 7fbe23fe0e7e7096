"""Total unimodularity at any size: agreement with the definition, sums and R10, minimal violators, every corruption."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from formulations.arrays import linear_program
from formulations.specification import specify
from proofs.claims.pruning_claims import fitted_instance
from proofs.unimodularity.decomposition import (
    Blocks,
    Certificate,
    Peeling,
    Pivot,
    ThreeSum,
    TwoSum,
    pivoted,
    sparse_matrix,
)
from proofs.unimodularity.known_matrices import known_matrices, r10_bixby, r10_hoffman, random_network_matrix
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.small_matrices import by_eulerian_submatrices, by_subdeterminants
from proofs.unimodularity.total_unimodularity import is_minimal, is_totally_unimodular

KNOWN = {known.name: known for known in known_matrices()}


def confirmed(matrix):
    """Decide, check the evidence, and return it."""
    answer = is_totally_unimodular(matrix)
    assert answer.check(), answer.check()
    if not answer:
        assert abs(answer.determinant) == 2
    return answer


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, -1]))
    )
)
def test_small_matrices_get_the_answer_of_the_definition(matrix):
    answer = confirmed(matrix)
    assert bool(answer) is bool(by_subdeterminants(matrix))
    assert answer or is_minimal(answer)


@pytest.mark.slow
def test_three_thousand_random_matrices_get_the_answer_of_the_definition():
    rng = np.random.default_rng(11)
    positive = 0
    for _ in range(3000):
        density = rng.uniform(0.15, 0.6)
        weights = [density / 2, 1 - density, density / 2]
        matrix = rng.choice([-1, 0, 1], size=rng.integers(1, 8, size=2), p=weights)
        answer = confirmed(matrix)
        assert bool(answer) is bool(by_subdeterminants(matrix)), matrix.tolist()
        positive += bool(answer)
    assert 1000 < positive < 2800


@pytest.mark.parametrize("name", KNOWN)
def test_the_literature_is_right(name):
    assert bool(confirmed(KNOWN[name].matrix)) is KNOWN[name].totally_unimodular


@pytest.mark.parametrize("name", ["F7", "R10 (Hoffman)", "R10 (Bixby)", "R12", "K5 cographic"])
def test_flipped_entries_get_the_answer_of_the_definition(name):
    matrix = KNOWN[name].matrix
    for place, entry in np.ndenumerate(matrix):
        for other in {-1, 0, 1} - {int(entry)}:
            flipped = matrix.copy()
            flipped[place] = other
            assert bool(confirmed(flipped)) is bool(by_eulerian_submatrices(flipped))


@pytest.mark.parametrize("matrix", [[], [[]], np.zeros((0, 3)), np.zeros((3, 0)), [[0]], np.zeros((4, 5))])
def test_empty_and_zero_matrices_are_unimodular(matrix):
    assert isinstance(confirmed(matrix), Certificate)


def test_kinds_of_matrices_get_the_same_answer():
    dense = KNOWN["R12"].matrix
    kinds = (
        dense.tolist(),
        dense.astype(float),
        dense.astype(np.int8),
        sparse.csr_array(dense),
        sparse.coo_matrix(dense),
    )
    for matrix in kinds:
        assert confirmed(matrix)
    assert not confirmed(dense != 0)


def scrambled(rng, matrix, pivots=0):
    """Permute and negate lines, and pivot: none of them changes the answer."""
    m, n = matrix.shape
    matrix = matrix[rng.permutation(m)][:, rng.permutation(n)]
    changed = sparse_matrix(matrix * rng.choice([-1, 1], size=(m, 1)) * rng.choice([-1, 1], size=(1, n)))
    for _ in range(pivots):
        entries = changed.tocoo()
        place = int(rng.integers(entries.nnz))
        changed = pivoted(changed, int(entries.row[place]), int(entries.col[place]))
    return changed.toarray()


def one_sum(one, two):
    return sparse.block_diag([one, two]).toarray()


def two_sum(one, two):
    """Glue the last row of one matrix to the first column of another."""
    zero = np.zeros((len(one) - 1, two.shape[1] - 1), dtype=np.int64)
    return np.block([[one[:-1], zero], [two[:, :1] @ one[-1:], two[:, 1:]]])


def three_sum(one, two):
    """Glue (A a a; c 0 1) and (1 0 b; d d B)."""
    above, below = one[:-1, -1:] @ two[:1, 2:], two[1:, :1] @ one[-1:, :-2]
    return np.block([[one[:-1, :-2], above], [below, two[1:, 2:]]])


def network_to_glue(rng, size):
    """Draw a network matrix (A a a; c 0 1): a column once with and once without an arc at its end."""
    while True:
        matrix = random_network_matrix(rng, size, 2 * size)
        if not (matrix == 1).any():
            continue
        row, column = (int(place) for place in rng.choice(np.argwhere(matrix == 1)))
        without = matrix[:, [column]].copy()
        without[row] = 0
        wide = np.hstack([matrix, without, matrix[:, [column]]])
        wide = np.vstack([np.delete(wide, row, axis=0), wide[row]])
        if without.any() and wide[-1, :-2].any() and is_totally_unimodular(wide):
            return wide


def transposed_network_to_glue(rng, size):
    """Draw the transpose (1 0 b; d d B) of a network matrix: two arcs in series, a path through one of them."""
    while True:
        matrix = random_network_matrix(rng, size, 2 * size)
        if not (matrix == 1).any():
            continue
        row, column = (int(place) for place in rng.choice(np.argwhere(matrix == 1)))
        tall = np.vstack([matrix[row], matrix[row], np.delete(matrix, row, axis=0)])
        path = np.concatenate([[1, 0], np.delete(matrix[:, column], row)])
        wide = np.column_stack([path, tall]).T
        if path[2:].any() and is_totally_unimodular(wide):
            return wide


def composed(rng, size):
    """Draw sums of network matrices, transposes and R10."""
    network, transpose = random_network_matrix(rng, size, size), random_network_matrix(rng, size, size).T
    three = three_sum(network_to_glue(rng, size), transposed_network_to_glue(rng, size))
    return {
        "1-sum": one_sum(network, transpose),
        "2-sum": two_sum(network, transpose),
        "2-sums with R10": two_sum(two_sum(network, r10_hoffman()), transpose),
        "3-sum": three,
        "3-sum with R10": two_sum(three, r10_bixby()),
    }


@pytest.mark.parametrize("pivots", [0, 10])
@pytest.mark.parametrize("size", [6, 25])
def test_sums_come_apart(size, pivots):
    rng = np.random.default_rng(size + pivots)
    for matrix in composed(rng, size).values():
        assert confirmed(scrambled(rng, matrix, pivots))


def depth(proof):
    """Count the steps on the longest way down to a leaf."""
    parts = [getattr(proof, name) for name in ("rest", "first", "second") if hasattr(proof, name)]
    return 1 + max(map(depth, [*parts, *getattr(proof, "proofs", ())]), default=0)


def test_a_long_chain_of_sums_is_split_in_the_middle():
    """Each step reads what it splits: halves keep the reading of n nonzeros at n log n, one link at a time at n^2."""
    chain = r10_hoffman()
    for _ in range(39):
        chain = two_sum(chain, r10_hoffman())
    certificate = confirmed(chain)
    assert [type(proof) for proof in certificate.proofs()].count(TwoSum) == 39
    assert depth(certificate.proof) <= 13


def test_every_kind_of_step_is_taken():
    rng = np.random.default_rng(5)
    seen = set()
    for matrix in composed(rng, 12).values():
        seen |= {type(proof) for proof in confirmed(scrambled(rng, matrix, 6)).proofs()}
    for matrix in (KNOWN["R12"].matrix, one_sum(r10_hoffman(), r10_bixby())):
        seen |= {type(proof) for proof in confirmed(matrix).proofs()}
    assert seen >= {Peeling, Blocks, TwoSum, ThreeSum, Pivot, NetworkCertificate}


def test_a_sum_with_one_entry_changed_gets_a_minimal_violator_or_a_certificate():
    rng = np.random.default_rng(6)
    negative = 0
    for matrix in composed(rng, 9).values():
        for _ in range(3):
            changed = scrambled(rng, matrix, 5)
            place = tuple(rng.choice(np.argwhere(changed)))
            changed[place] *= rng.integers(-1, 1)
            answer = confirmed(changed)
            if not answer:
                negative += 1
                assert is_minimal(answer)
                assert by_subdeterminants(answer.submatrix) is not True
    assert negative > 3


def test_sums_of_small_matrices_get_the_answer_of_the_definition():
    rng = np.random.default_rng(9)
    for _ in range(12):
        matrix = three_sum(network_to_glue(rng, 4), transposed_network_to_glue(rng, 4))
        changed = matrix.copy()
        changed[tuple(rng.choice(np.argwhere(changed)))] = 0
        for candidate in (matrix, changed):
            assert bool(confirmed(candidate)) is bool(by_eulerian_submatrices(candidate))


@pytest.mark.parametrize("size", [60, 200])
def test_network_matrices_with_one_sign_changed(size):
    rng = np.random.default_rng(size)
    matrix = random_network_matrix(rng, size, size)
    for oriented in (matrix, matrix.T):
        assert confirmed(oriented)
        negative = 0
        for _ in range(5):
            changed = oriented.copy()
            changed[tuple(rng.choice(np.argwhere(changed)))] *= -1
            answer = confirmed(changed)
            negative += not answer
            assert answer or is_minimal(answer)
        assert negative > 0


def test_a_long_cycle_is_its_own_violator():
    """The one violating submatrix is the whole matrix or there is none."""
    size = 60
    cycle = sparse.eye_array(size, dtype=np.int64) - sparse.csr_array(np.roll(np.eye(size, dtype=np.int64), 1, axis=1))
    assert confirmed(cycle)
    wrong = sparse.lil_array(cycle)
    wrong[0, 0] = -1
    answer = confirmed(sparse.csr_array(wrong))
    assert len(answer.rows) == size


def test_ip3_is_decided_without_being_told_the_instance():
    instance = fitted_instance(3, n_trees=20, depth=8, n_examples=200)
    matrix = linear_program(specify("ip3", instance, lam=1)).A
    answer = confirmed(matrix)
    assert isinstance(answer.proof, NetworkCertificate)
    broken = sparse.lil_array(matrix)
    row = int(np.argmax(np.diff(matrix.indptr)))
    broken[row, int(matrix.indices[matrix.indptr[row]])] *= -1
    answer = confirmed(sparse.csr_array(broken))
    assert not answer
    assert is_minimal(answer)


def corruptions(certificate):
    """Change one thing at a time in the first step of a certificate."""
    step = certificate.proof
    if isinstance(step, Peeling):
        yield replace(step, lines=step.lines[:-1], partners=step.partners[:-1])
        if (step.partners >= 0).any():
            yield replace(step, partners=np.full_like(step.partners, -1))
        yield replace(step, lines=step.lines + 1000)
    elif isinstance(step, Blocks):
        yield replace(step, row_block=np.zeros_like(step.row_block))
        yield replace(step, column_block=np.roll(step.column_block, 1))
        yield replace(step, proofs=step.proofs[:-1])
        yield replace(step, proofs=step.proofs[::-1])
    elif isinstance(step, TwoSum):
        yield replace(step, first_rows=~step.first_rows)
        yield replace(step, first=step.second, second=step.first)
        yield replace(step, first_columns=step.first_columns[:-1])
        yield replace(step, row=-1)
    elif isinstance(step, ThreeSum):
        yield replace(step, sign=-step.sign)
        yield replace(step, sign=0)
        yield replace(step, above=step.below)
        yield replace(step, first_rows=np.roll(step.first_rows, 1))
    elif isinstance(step, Pivot):
        yield replace(step, row=step.row + 100)
        yield replace(step, row=(step.row + 1) % certificate.matrix.shape[0])


def test_corrupted_steps_are_refused():
    rng = np.random.default_rng(15)
    refused = set()
    for matrix in [*composed(rng, 8).values(), KNOWN["R12"].matrix]:
        certificate = confirmed(matrix)
        todo = [certificate]
        while todo:
            certificate = todo.pop()
            for corrupted in corruptions(certificate):
                assert not Certificate(certificate.matrix, corrupted).check(), (type(corrupted), corrupted)
                refused.add(type(corrupted))
            if hasattr(certificate.proof, "parts"):
                parts = certificate.proof.parts(sparse_matrix(certificate.matrix))
                todo += [Certificate(part, proof) for proof, part in parts]
    assert refused >= {Peeling, TwoSum, ThreeSum, Pivot}


def test_corrupted_blocks_are_refused():
    rng = np.random.default_rng(17)
    matrix = one_sum(r10_hoffman(), r10_bixby())
    certificate = confirmed(matrix[rng.permutation(10)][:, rng.permutation(10)])
    assert isinstance(certificate.proof, Blocks)
    for corrupted in corruptions(certificate):
        assert not Certificate(certificate.matrix, corrupted).check(), corrupted


def test_a_certificate_proves_its_own_matrix_only():
    rng = np.random.default_rng(16)
    matrix = scrambled(rng, composed(rng, 8)["3-sum with R10"], 3)
    certificate = confirmed(matrix)
    for place in rng.permutation(np.argwhere(matrix))[:12]:
        changed = matrix.copy()
        changed[tuple(place)] *= -1
        assert bool(Certificate(changed, certificate.proof).check()) <= bool(is_totally_unimodular(changed))
    assert "other than" in Certificate(matrix * 0.5, certificate.proof).check().reason
