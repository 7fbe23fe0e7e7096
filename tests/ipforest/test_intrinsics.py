"""Atomic access from kernels, by one thread and by several."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ipforest._internal import intrinsics as _intrinsics
from ipforest._internal.kernels import njit


@njit
def add_and_see(board, amount):
    before = _intrinsics.fetch_add(board, 1, amount)
    return before, _intrinsics.load(board, 1)


@njit
def swap(board, expected, new):
    return _intrinsics.compare_and_swap(board, 2, expected, new)


@njit
def count_to(board, n):
    for _ in range(n):
        _intrinsics.fetch_add(board, 0, 1)


def test_each_does_what_its_name_says():
    board = np.array([7, 5, 9])
    assert add_and_see(board, -2) == (5, 3)
    assert not swap(board, 8, 1)
    assert swap(board, 9, 1)
    assert board.tolist() == [7, 3, 1]


def test_nothing_is_lost_between_threads():
    board = np.zeros(1, dtype=np.int64)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(count_to, [board] * 3, [300_000] * 3))
    assert board[0] == 900_000
