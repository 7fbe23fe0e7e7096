"""Which acquisitions nodes meet, 64 at a time.

Acquisitions of one unit have numbers side by side, and examples that go similar ways through the trees come one after
another. So what a node meets lies close together: on forests of real data an entry of 64 bits stands for three to ten
triples. A search in a row for acquisitions of some kind, those that are unpaid or those that may have a
certain label, keeps these as bits, too, and finds them with one instruction per entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.intrinsics import lowest_bit
from ipforest._internal.kernels import inlined, njit, run_in_slices, shared

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance


class Rows(NamedTuple):
    """Rows of acquisitions as `PruningInstance` has them: those of node h are ``indices[indptr[h]:indptr[h + 1]]``."""

    indptr: Array
    indices: Array


class BitRows(NamedTuple):
    """Rows of acquisitions as bits; block b is acquisitions 64 b to 64 b + 63.

    Attributes
    ----------
    start, end : int64 (n,)
        The entries of node h are ``start[h]:end[h]``.
    block : int32 (n_entries,)
        Ascending in a row.
    bits : int64 (n_entries,)
        Bit i, from the lowest, says whether the node meets acquisition ``64 block + i``.
    """

    start: Array
    end: Array
    block: Array
    bits: Array


@inlined
def block_of(acquisition: int) -> int:
    """Return the block of an acquisition."""
    return acquisition >> 6


@inlined
def bit_of(acquisition: int) -> int:
    """Return the bit of an acquisition in its block."""
    return int(np.int64(1) << np.int64(acquisition & 63))


@inlined
def first_acquisition(block: int, bits: int) -> int:
    """Return the first acquisition that is in some bits of a block."""
    return int((np.int64(block) << 6) + lowest_bit(bits))


@shared
def n_blocks(n_acquisitions: int) -> int:
    """Return how many blocks so many acquisitions take."""
    return (n_acquisitions + 63) >> 6


@inlined
def set_blocks(marks: Array, acquisitions: Array, bits: int) -> None:
    """Write the same bits for all blocks of some acquisitions."""
    for i in range(acquisitions.size):
        marks[block_of(acquisitions[i])] = bits


def rows_of(instance: PruningInstance) -> Rows:
    """Return the rows of an instance."""
    return Rows(instance.indptr, instance.indices)


def bit_rows(rows: Rows) -> BitRows:
    """Write rows, which are ascending, as bits, on all cores."""
    n = rows.indptr.size - 1
    n_entries = np.empty(n, dtype=np.int64)
    run_in_slices(lambda some: _count_entries(rows, some.start, some.stop, n_entries), n, rows.indices.size)
    end = np.cumsum(n_entries)
    size = int(end[-1]) if n else 0
    packed = BitRows(end - n_entries, end, np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int64))
    run_in_slices(lambda some: _write_entries(rows, some.start, some.stop, packed), n, rows.indices.size)
    return packed


@njit
def _count_entries(rows: Rows, start: int, stop: int, n_entries: Array) -> None:
    indptr, indices = rows
    for h in range(start, stop):
        count = 1 if indptr[h] < indptr[h + 1] else 0
        for x in range(indptr[h] + 1, indptr[h + 1]):
            count += block_of(indices[x]) != block_of(indices[x - 1])
        n_entries[h] = count


@njit
def _write_entries(rows: Rows, start: int, stop: int, packed: BitRows) -> None:
    """Write some rows; an entry is written again with each of its bits, which is faster than asking for the last."""
    indptr, indices = rows
    for h in range(start, stop):
        at, last, bits = packed.start[h] - 1, -1, np.int64(0)
        for x in range(indptr[h], indptr[h + 1]):
            is_new = block_of(indices[x]) != last
            last = block_of(indices[x])
            at += is_new
            bits = (np.int64(0) if is_new else bits) | bit_of(indices[x])
            packed.block[at], packed.bits[at] = last, bits
