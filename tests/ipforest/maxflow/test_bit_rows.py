"""Rows as bits say the same as the rows of the instance."""

import numpy as np
import pytest
from closure_checks import row_of
from hypothesis import given
from hypothesis import strategies as st

from ipforest._internal import kernels as _numba
from ipforest.maxflow.bit_rows import Rows, bit_rows

rows_of_some_nodes = st.lists(st.sets(st.integers(0, 200)), max_size=8)


def as_rows(sets):
    rows = [sorted(row) for row in sets]
    return Rows(np.cumsum([0] + [len(row) for row in rows]), np.array([j for row in rows for j in row], dtype=np.int32))


@given(rows_of_some_nodes)
def test_bits_are_the_acquisitions_of_each_row(sets):
    packed = bit_rows(as_rows(sets))
    assert [row_of(packed, h) for h in range(len(sets))] == [sorted(row) for row in sets]


@given(rows_of_some_nodes)
def test_each_block_is_in_a_row_once_and_they_ascend(sets):
    packed = bit_rows(as_rows(sets))
    for h, row in enumerate(sets):
        assert packed.block[packed.start[h] : packed.end[h]].tolist() == sorted({j // 64 for j in row})
    assert packed.bits.all()


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_write_the_same(n_threads, monkeypatch):
    generator = np.random.default_rng(0)
    rows = as_rows([set(generator.integers(0, 1000, 200).tolist()) for _ in range(50)])
    expected = bit_rows(rows)
    monkeypatch.setattr(_numba, "MIN_WORK", 0)
    monkeypatch.setattr(_numba, "n_threads", lambda: n_threads)
    assert all(np.array_equal(*pair) for pair in zip(bit_rows(rows), expected, strict=True))
