"""Trees pruned in parallel through joblib: data sent once, the same bits on every backend.

A round sends each task the charges of its trees' nodes and gets back their values and kept nodes, all integers, so
neither the number of workers nor the backend can change a result. The trees themselves do not travel again: on a Dask
cluster each batch is handed over once, as the result of a task, which workers fetch from one another and which the
cluster makes again if the worker that held it dies (scattered data would be lost); among local processes joblib maps
large arrays into shared memory once. Charges travel as bytes inside the task, so that it too can run again elsewhere.
"""

from __future__ import annotations

import math
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from ipforest._internal.arrays import BoolArray, IntArray
from ipforest.solvers.tree_dp import TreeBatch

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

_TASKS_PER_WORKER = 2


class TreePool:
    """Prunes all trees under changing charges; a context manager that keeps the workers between rounds.

    Parameters
    ----------
    instance : PruningInstance
    q : int
        Weight of an error unit.
    n_jobs : int, optional
        Of joblib; by default what `joblib.parallel_config` says, else 1. With one worker no task leaves the process.
    """

    def __init__(self, instance: PruningInstance, q: int, n_jobs: int | None = None) -> None:
        n_workers = joblib.effective_n_jobs(n_jobs)
        n_batches = 1 if n_workers == 1 else min(instance.n_trees, _TASKS_PER_WORKER * n_workers)
        spans = list(pairwise(_even_bounds(instance, n_batches)))
        inner = instance.internal_offsets
        self._parallel = joblib.Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="all")
        self._batches = [TreeBatch.of(instance, q, first, end) for first, end in spans]
        self._slices = [slice(int(inner[first]), int(inner[end])) for first, end in spans]
        self._handles: list[Any] = self._batches

    def __enter__(self) -> TreePool:
        if len(self._batches) > 1:
            client = getattr(get_active_backend()[0], "client", None)
            if client is not None:
                self._handles = [client.submit(_hold, batch, pure=False) for batch in self._batches]
            self._parallel.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if len(self._batches) > 1:
            self._parallel.__exit__(kind, error, trace)
            self._handles = self._batches

    def prune(self, charges: IntArray) -> tuple[IntArray, BoolArray]:
        """Prune every tree by itself; see `TreeBatch.prune`.

        Parameters
        ----------
        charges : ndarray of int64, shape (n_internal,)

        Returns
        -------
        values : ndarray of int64, shape (n_trees,)
        kept : ndarray of bool, shape (n_internal,)
        """
        if len(self._batches) == 1:
            return self._batches[0].prune(charges)
        answers = self._parallel(
            joblib.delayed(_prune_batch)(handle, charges[part].tobytes())
            for handle, part in zip(self._handles, self._slices, strict=True)
        )
        return np.concatenate([values for values, _ in answers]), np.concatenate([kept for _, kept in answers])


def _hold(batch: TreeBatch) -> TreeBatch:
    """Be the task whose result is the batch."""
    return batch


def _prune_batch(batch: TreeBatch, charges: bytes) -> tuple[IntArray, BoolArray]:
    return batch.prune(np.frombuffer(charges, dtype=np.int64))


def _even_bounds(instance: PruningInstance, n_batches: int) -> list[int]:
    """Cut the trees into consecutive batches of about as many nodes each."""
    size = math.ceil(instance.n_nodes / n_batches)
    cuts = np.searchsorted(instance.tree_offsets, np.arange(1, n_batches) * size)
    return sorted({0, *map(int, cuts), instance.n_trees})
