"""What the threads of one cut share: one merges trees, and helpers search some of the trees meanwhile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import CACHE_LINE, Array
from ipforest._internal.intrinsics import compare_and_swap, fetch_add, load
from ipforest._internal.kernels import inlined, shared, uncounted_njit
from ipforest.maxflow.bit_rows import n_blocks

HELPERS, FIRST, NEXT, LIMIT, FINISHED, DISMISSED = (i * (CACHE_LINE // 8) for i in range(6))
"""Places of `SharedSearch.board`, each in a line of the cache of its own.

How many helpers there may be. Tickets for the trees of this round: the first one, the next one, and the first one that
is not valid yet. How many trees of this round are finished. Not 0 when helpers are to leave.
"""
NO_TICKET = -1
MAX_LABELS = 32
"""Candidate bitmaps are kept only for labels below this value; on real forests labels stay below 20."""


class SharedSearch(NamedTuple):
    """What the threads of one cut share.

    No thread waits for a helper that has not begun with a tree. So helpers may come late and leave early, and one that
    gets no processor does no harm.

    Attributes
    ----------
    board : int64
        See `HELPERS`.
    ways : int32 (number of vertices of the subproblem, 3)
        The root of each tree of this round, and the ends of the arc that was found.
    changes : int32 (number of helpers, number of vertices of the subproblem + 2)
        By how much each helper has changed the number of vertices of each label in this round.
    candidates : int64 (MAX_LABELS + 1, number of blocks of the network)
        Bits of the acquisitions that may have each label, or a smaller one; the last row is for all other labels. Where
        two threads write into one entry, one of them may be lost: that acquisition is looked at again.
    """

    board: Array
    ways: Array
    changes: Array
    candidates: Array


@shared
def new_shared_search(size: int, n_acquisitions: int, n_helpers: int) -> SharedSearch:
    """Allocate for a cut of so many vertices, in a network of so many acquisitions, with room for so many helpers."""
    board = np.zeros(DISMISSED + 1, np.int64)
    board[HELPERS] = n_helpers
    return SharedSearch(
        board,
        np.empty((size, 3), np.int32),
        np.zeros((n_helpers, size + 2), np.int32),
        np.empty((MAX_LABELS + 1, n_blocks(n_acquisitions)), np.int64),
    )


@inlined
def hand_out(board: Array, size: int) -> None:
    """Begin a round of so many trees; all tickets of the last one are taken, and its trees finished."""
    board[FIRST], board[FINISHED] = board[LIMIT], 0
    fetch_add(board, LIMIT, size)


@uncounted_njit
def take_ticket(board: Array) -> int:
    """Take the next tree; return its number in this round, or `NO_TICKET` when all are taken."""
    ticket = load(board, NEXT)
    while ticket < load(board, LIMIT):
        if compare_and_swap(board, NEXT, ticket, ticket + 1):
            return int(ticket - board[FIRST])
        ticket = load(board, NEXT)
    return NO_TICKET
