"""Rows that are equal to the last bit, against numpy's sorting."""

import numpy as np
import pytest

from ipforest._internal.distinct_rows import distinct_rows


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (200, 1), (300, 4), (1000, 7)])
def test_each_row_has_the_number_of_the_first_that_equals_it(shape, dtype):
    rng = np.random.default_rng(shape[0])
    rows = rng.integers(-2, 2, shape).astype(dtype) * (2 if dtype == np.int64 else 0.1)
    first, number = distinct_rows(rows)
    assert np.array_equal(rows[first][number], rows)
    assert first.size == len(np.unique(rows, axis=0))
    assert np.all(np.diff(first) > 0)


def test_zeros_of_both_signs_are_told_apart_and_nan_equals_itself():
    first, number = distinct_rows(np.array([[0.0], [-0.0], [np.nan], [0.0], [np.nan]]))
    assert first.tolist() == [0, 1, 2]
    assert number.tolist() == [0, 1, 2, 0, 2]
