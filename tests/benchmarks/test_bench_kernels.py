"""Time the kernels; each asserts its optimum before it is timed. Run with --benchmark-enable."""

import csv

import pytest

from ipforest import solve
from ipforest.experiments import solver_benchmarks, training_benchmarks
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.experiments.training_benchmarks import TrainingSet, bench_training
from ipforest.maxflow.presolve import presolve
from ipforest.path_search import prune_path


@pytest.fixture(scope="module")
def instance():
    return synthetic_instance(10, 600, 20, n_training=3000, max_price=9, seed=1)


@pytest.mark.parametrize("share", solver_benchmarks.KEPT_SHARES)
def test_single_lambda(benchmark, instance, share):
    lam = solver_benchmarks.kept_share_lambdas(instance, prune_path(instance))[share]
    assert solve(instance, lam).gap == 0
    benchmark(solve, instance, lam)


def test_whole_path(benchmark, instance):
    path = prune_path(instance)
    lam = path.breakpoints[len(path.breakpoints) // 2]
    assert path.pruning(lam) == solve(instance, lam).pruning
    benchmark(prune_path, instance)


def test_presolve(benchmark, instance):
    assert presolve(instance).gain.sum() == instance.gain.sum()
    benchmark(presolve, instance)


@pytest.mark.slow
@pytest.mark.long
def test_the_commands_measure_agree_and_write_csv(tmp_path):
    size = solver_benchmarks.InstanceShape(3, 60, 8, n_training=300, max_price=5)
    rows = solver_benchmarks.bench_solvers(tmp_path / "solvers.csv", [size])
    assert {"min-cut", "highs-lp"} <= {row["method"] for row in rows}
    rows = solver_benchmarks.bench_path(tmp_path / "path.csv", [size])
    assert rows[0]["breakpoints"] > 0
    with (tmp_path / "path.csv").open() as file:
        assert [int(row["triples"]) for row in csv.DictReader(file)] == [row["triples"] for row in rows]


@pytest.mark.slow
@pytest.mark.long
def test_the_path_is_measured_beside_the_fit(tmp_path):
    rows = solver_benchmarks.bench_forest(
        tmp_path / "forest.csv", [solver_benchmarks.FittedForest("breast_cancer", 300, 60, "sqrt", n_trees=3)]
    )
    methods = [row["method"] for row in rows if not row["method"].startswith("ortools")]
    assert methods == ["fit", "instance", "path", *["min-cut"] * 3]
    assert all(row["seconds"] >= 0 and row["status"] == "optimal" for row in rows)
    assert {(row["data"], row["max_features"]) for row in rows} == {("breast_cancer", "sqrt")}


@pytest.mark.slow
@pytest.mark.long
def test_boosting_is_measured_beside_lightgbm(tmp_path):
    pytest.importorskip("lightgbm")
    rows = training_benchmarks.bench_boosting(tmp_path / "boosting.csv", [solver_benchmarks.InstanceShape(10, 300, 8)])
    assert [row["method"] for row in rows] == ["BudgetBoost", "BudgetBoost, one ensemble", "LightGBM CEGB"]
    assert all(row["seconds"] >= 0 and row["trees"] == 10 and row["peak_mib"] > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.long
def test_training_is_measured_beside_lightgbm(tmp_path):
    pytest.importorskip("lightgbm")
    rows = bench_training(tmp_path / "training.csv", [TrainingSet("breast_cancer", 300)])
    assert [row["method"] for row in rows] == ["BudgetedClassifier", *training_benchmarks.GRIDS.values()]
    assert all(row["seconds"] > 0 and row["peak_mib"] > 0 and 0 < row["pickle_mb"] < 50 for row in rows)
