"""The decomposition methods on a real cluster of worker processes, with no change of code."""

import os
import signal

import joblib
import numpy as np
import pytest

from ipforest import FeatureCosts, Forest, PruningInstance, Status, datasets, solve
from ipforest.solvers.tree_dp import TreeBatch
from ipforest.solvers.tree_pool import TreePool

distributed = pytest.importorskip("distributed", reason="needs the extra ipforest[dask]")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LAM = "0.01"


@pytest.fixture(scope="module")
def instance() -> PruningInstance:
    from sklearn.ensemble import RandomForestClassifier

    data = datasets.load("breast_cancer")
    model = RandomForestClassifier(8, random_state=0).fit(data.X[::2], data.y[::2])
    prices = 1 + np.arange(30) % 4
    return PruningInstance.from_forest(Forest.from_sklearn(model), data.X[1::2], FeatureCosts(prices))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
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
    local = solve(instance, LAM, method, max_iterations=8)
    killed = []

    def kill_one(share: float, message: str) -> None:
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with joblib.parallel_config(backend="dask"):
        spread = solve(instance, LAM, method, max_iterations=8, progress=kill_one)
    assert len(killed) == 1
    assert spread.iterations > 1
    assert numbers(spread) == numbers(local)
    client.wait_for_workers(3, timeout=60)


def test_trees_are_scattered_once(instance, client, monkeypatch):
    scattered = []
    scatter = client.scatter

    def counting(data, **options):
        scattered.append(data)
        return scatter(data, **options)

    monkeypatch.setattr(client, "scatter", counting)
    charges = np.zeros(instance.n_internal, dtype=np.int64)
    with joblib.parallel_config(backend="dask", client=client), TreePool(instance, 1) as pool:
        first = pool.prune(charges)
        again = [pool.prune(charges) for _ in range(5)]
    assert all(np.array_equal(first[1], kept) for _, kept in again)
    assert len(scattered) == 1
    assert len(scattered[0]) > 3
    assert all(isinstance(batch, TreeBatch) for batch in scattered[0])


def test_interrupted_on_the_cluster_keeps_the_best(instance, client):
    def interrupt(share: float, message: str) -> None:
        raise KeyboardInterrupt

    with joblib.parallel_config(backend="dask"):
        result = solve(instance, LAM, "primal-dual", progress=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 1
