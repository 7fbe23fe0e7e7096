"""The decomposition methods on a real cluster of worker processes, with no change of code."""

import os
import signal

import joblib
import numpy as np
import pytest
from fitted_forests import breast_cancer_instance

from ipforest import PruningInstance, Status, solve
from ipforest.solvers.tree_dp import TreeBatch
from ipforest.solvers.tree_pool import TreePool

distributed = pytest.importorskip("distributed", reason="needs the extra ipforest[dask]")

pytestmark = pytest.mark.slow

LAM = "0.01"


@pytest.fixture(scope="module")
def instance() -> PruningInstance:
    return breast_cancer_instance(8)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def numbers(result):
    trace = result.trace
    return result.objective, result.bound, result.pruning, trace.value, trace.bound, trace.dual_value


@pytest.mark.parametrize("method", ["primal-dual", "dantzig-wolfe"])
def test_cluster_gives_the_bits_of_the_local_run(method, instance, client):
    local = solve(instance, LAM, method, max_iterations=8)
    with joblib.parallel_config(backend="dask"):
        spread = solve(instance, LAM, method, max_iterations=8)
    assert len(client.run(os.getpid)) == 3
    assert numbers(spread) == numbers(local)
    if method == "primal-dual":
        for name in ("multipliers", "direction", "average"):
            assert getattr(spread.state, name).tobytes() == getattr(local.state, name).tobytes()


@pytest.mark.parametrize("method", ["primal-dual", "dantzig-wolfe"])
def test_a_worker_killed_during_the_run_does_not_lose_it(method, instance, client):
    """The worker that dies is the one that holds most of the trees."""
    local = solve(instance, LAM, method, max_iterations=8)
    killed = []

    def kill_one(share: float, message: str) -> None:
        if not killed:
            held = {address: len(keys) for address, keys in client.has_what().items()}
            assert max(held.values()) > 0
            killed.append(client.run(os.getpid)[max(held, key=held.get)])
            os.kill(killed[0], signal.SIGKILL)

    with joblib.parallel_config(backend="dask"):
        spread = solve(instance, LAM, method, max_iterations=8, progress=kill_one)
    assert len(killed) == 1
    assert spread.iterations > 1
    assert numbers(spread) == numbers(local)
    client.wait_for_workers(3, timeout=60)


@pytest.mark.long
def test_trees_are_handed_over_once(instance, client, monkeypatch):
    handed_over = []
    submit = client.submit

    def counting(function, *arguments, **options):
        handed_over.extend(argument for argument in arguments if isinstance(argument, TreeBatch))
        tasks = options.get("tasks", [])
        handed_over.extend(part for _, parts, _ in tasks for part in parts if isinstance(part, TreeBatch))
        return submit(function, *arguments, **options)

    monkeypatch.setattr(client, "submit", counting)
    charges = np.zeros(instance.n_internal, dtype=np.int64)
    with joblib.parallel_config(backend="dask", client=client), TreePool(instance, 1) as pool:
        first = pool.prune(charges)
        again = [pool.prune(charges) for _ in range(5)]
    assert all(np.array_equal(first[1], kept) for _, kept in again)
    assert len(handed_over) == len(set(map(id, handed_over))) > 3


@pytest.mark.long
def test_interrupted_on_the_cluster_keeps_the_best(instance, client):
    def interrupt(share: float, message: str) -> None:
        raise KeyboardInterrupt

    with joblib.parallel_config(backend="dask"):
        result = solve(instance, LAM, "primal-dual", progress=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 1
