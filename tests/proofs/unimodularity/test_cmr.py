"""CMR and this package give the same answers, where CMR is installed."""

import sys

import numpy as np
import pytest

from proofs.unimodularity.cmr import CmrMissingError, decide_with_cmr
from proofs.unimodularity.known_matrices import known_matrices
from proofs.unimodularity.total_unimodularity import is_totally_unimodular


def decided(matrix):
    try:
        return decide_with_cmr(matrix)
    except CmrMissingError as missing:
        pytest.skip(str(missing))


def test_the_literature_is_right():
    for known in known_matrices():
        assert bool(decided(known.matrix)) is known.totally_unimodular


def test_random_matrices_get_the_same_answer():
    rng = np.random.default_rng(21)
    positive = 0
    for _ in range(60):
        matrix = rng.choice([-1, 0, 1], size=rng.integers(2, 9, size=2), p=[0.15, 0.7, 0.15])
        answer = decided(matrix)
        assert answer.check()
        assert bool(answer) is bool(is_totally_unimodular(matrix))
        positive += bool(answer)
    assert 10 < positive < 55


def test_without_cmr_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sage.matrix.matrix_cmr_sparse", None)
    with pytest.raises(CmrMissingError, match="pip install passagemath-cmr"):
        decide_with_cmr([[1]])
