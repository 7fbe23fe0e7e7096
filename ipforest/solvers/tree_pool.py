"""Trees pruned in parallel through joblib: data sent once to each worker, the same bits on every backend.

A round sends each task the charges of its trees' nodes and gets back their values and kept nodes, all integers, so
neither the number of workers nor the backend can change a result. The trees themselves stay in the workers: a task
names its batch, and a worker that does not hold it (a new one, or the successor of one that died) says so and is sent
it. Charges travel as bytes inside the task, which lets a cluster run a task again elsewhere when a worker is lost.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import numpy.typing as npt

from ipforest.solvers.tree_dp import IntArray, TreeBatch

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

_TASKS_PER_WORKER = 2
_MOST_HELD_BATCHES = 256
_held: OrderedDict[str, TreeBatch] = OrderedDict()


class TreePool:
    """Prunes all trees under changing charges; a context manager that keeps the workers between rounds.

    Parameters
    ----------
    instance : PruningInstance
    q : int
        Weight of an error unit.
    n_jobs : int, optional
        Of joblib; by default what `joblib.parallel_config` says, else 1.
    """

    def __init__(self, instance: PruningInstance, q: int, n_jobs: int | None = None) -> None:
        self._parallel = joblib.Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="all")
        n_workers = joblib.effective_n_jobs(n_jobs)
        n_batches = 1 if n_workers == 1 else min(instance.n_trees, _TASKS_PER_WORKER * n_workers)
        spans = list(pairwise(_even_bounds(instance, n_batches)))
        name = instance.fingerprint()
        self._keys = [f"{name} {q} {first}:{end}" for first, end in spans]
        self._batches = [TreeBatch.of(instance, q, first, end) for first, end in spans]
        inner = instance.internal_offsets
        self._slices = [slice(int(inner[first]), int(inner[end])) for first, end in spans]

    def __enter__(self) -> TreePool:
        if len(self._batches) > 1:
            self._parallel.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if len(self._batches) > 1:
            self._parallel.__exit__(kind, error, trace)

    def prune(self, charges: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
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
        packed = [charges[part].tobytes() for part in self._slices]
        answers = self._run([(key, data, None) for key, data in zip(self._keys, packed, strict=True)])
        lacking = [number for number, answer in enumerate(answers) if answer is None]
        if lacking:
            again = self._run([(self._keys[n], packed[n], self._batches[n]) for n in lacking])
            for number, answer in zip(lacking, again, strict=True):
                answers[number] = answer
        return np.concatenate([values for values, _ in answers]), np.concatenate([kept for _, kept in answers])

    def _run(self, tasks: list[tuple[str, bytes, TreeBatch | None]]) -> list[Any]:
        if not tasks:
            return []
        return list(self._parallel(joblib.delayed(_prune_batch)(*task) for task in tasks))


def _prune_batch(key: str, charges: bytes, batch: TreeBatch | None) -> tuple[IntArray, npt.NDArray[np.bool_]] | None:
    """Prune a batch that this worker holds or is given; None says that it lacks it."""
    if batch is None:
        batch = _held.get(key)
    else:
        _held[key] = batch
        while len(_held) > _MOST_HELD_BATCHES:
            _held.popitem(last=False)
    return None if batch is None else batch.prune(np.frombuffer(charges, dtype=np.int64))


def _even_bounds(instance: PruningInstance, n_batches: int) -> list[int]:
    """Cut the trees into consecutive batches of about as many nodes each."""
    size = math.ceil(instance.n_nodes / n_batches)
    cuts = np.searchsorted(instance.tree_offsets, np.arange(1, n_batches) * size)
    return sorted({0, *map(int, cuts), instance.n_trees})
