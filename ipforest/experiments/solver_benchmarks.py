"""Measure the exact solvers and the whole path: seconds and peak memory.

Peers: HiGHS on the linear program (small sizes), and OR-Tools' maximum flow through another interpreter, named by the
environment variable IPFOREST_ORTOOLS_PYTHON (some versions of OR-Tools and highspy cannot live in one process).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest._internal.arrays import Array
from ipforest._internal.kernels import clock
from ipforest._internal.progress import ProgressCallback, silent
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.experiments.benchmark_rows import Row, collected, in_own_process, row_of
from ipforest.experiments.synthetic import CLUSTERS, clusters, synthetic_instance
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.results import Status
from ipforest.solvers import solve

__all__ = [
    "FITTED_FORESTS",
    "GROWTH_SIZES",
    "SMALL_SIZES",
    "FittedForest",
    "InstanceShape",
    "bench_forest",
    "bench_path",
    "bench_solvers",
    "kept_share_lambdas",
]

ORTOOLS_VARIABLE = "IPFOREST_ORTOOLS_PYTHON"
PEER_SCRIPT = Path(__file__).with_name("ortools_peer.py")
KEPT_SHARES = (0.001, 0.25, 0.9, 0.99)
BREAKPOINT_SHARES = (0.1, 0.5, 0.9)
MAX_TRIPLES = {
    "min-cut": 10**9,
    "tree-dp": 10**9,
    "primal-dual": 2_000_000,
    "highs-lp": 500_000,
    "dantzig-wolfe": 30_000,
    "networkx": 100_000,
    "highs-mip": 30_000,
}
"""Number of triples up to which each method is measured."""
DENOMINATOR = 10**5


@dataclass(frozen=True, slots=True)
class InstanceShape:
    """Shape of a synthetic instance."""

    n_trees: int
    n_examples: int
    n_features: int = 50
    n_training: int = 45_523
    max_price: int = 60

    def __str__(self) -> str:
        return f"{self.n_trees} trees, {self.n_examples} examples"

    def instance(self, seed: int) -> PruningInstance:
        """Generate it."""
        return synthetic_instance(
            self.n_trees,
            self.n_examples,
            self.n_features,
            n_training=self.n_training,
            max_price=self.max_price,
            seed=seed,
        )


SMALL_SIZES = (
    InstanceShape(5, 100, n_training=500),
    InstanceShape(10, 500, n_training=2000),
    InstanceShape(10, 1000, n_training=4000),
)
GROWTH_SIZES = (
    InstanceShape(10, 1250),
    InstanceShape(10, 2500),
    InstanceShape(10, 5000),
    InstanceShape(10, 10_000),
    InstanceShape(20, 10_000),
    InstanceShape(40, 10_000),
    InstanceShape(40, 20_000),
)


@dataclass(frozen=True, slots=True)
class FittedForest:
    """A scikit-learn forest and the examples that its pruning is to pay for.

    Parameters
    ----------
    data : str
        A name of `ipforest.datasets`, or "clusters": two classes of six clusters each over 50 features, generated.
    n_training, n_examples : int
        How many examples the forest is fitted on, and how many others buy features.
    max_features : str or None
        Features tried at a split: all with None, as in BudgetPrune, section 5; "sqrt" is scikit-learn's default.
    n_trees : int
    """

    data: str
    n_training: int
    n_examples: int
    max_features: str | None
    n_trees: int = 40

    def __str__(self) -> str:
        return f"{self.data}, max_features={self.max_features}"

    def examples(self, seed: int) -> tuple[Array, Array]:
        """Return the examples and their labels, shuffled, those for training first."""
        n = self.n_training + self.n_examples
        if self.data == CLUSTERS:
            return clusters(n, 50, seed)
        data = datasets.load(self.data)
        chosen = np.random.default_rng(seed).permutation(data.y.size)[:n]
        return data.X[chosen], data.y[chosen]


FITTED_FORESTS = (
    FittedForest("breast_cancer", 300, 269, "sqrt"),
    FittedForest("digits", 1000, 797, "sqrt"),
    FittedForest(CLUSTERS, 45_523, 19_510, None),
    FittedForest(CLUSTERS, 45_523, 19_510, "sqrt"),
    FittedForest("covertype_93k", 36_603, 15_688, None),
    FittedForest("covertype_93k", 50_000, 40_000, "sqrt"),
    FittedForest("mnist_t10k", 6000, 4000, "sqrt"),
)
"""Bundled data; generated data in MiniBooNE's sizes in the papers; and the data folder's, where there is one."""


def bench_solvers(
    out: str | Path, sizes: Sequence[InstanceShape] = SMALL_SIZES, seed: int = 0, progress: ProgressCallback = silent
) -> list[Row]:
    """Time every method at lambdas that keep 0.1%, 25%, 90% and 99% of the nodes.

    Parameters
    ----------
    out : path
        CSV file to write.
    sizes : sequence of InstanceShape
    seed : int
    progress : callable

    Returns
    -------
    list of dict
        The rows of the CSV.

    Raises
    ------
    RuntimeError
        Two solvers disagree on an optimum, or a measured process fails.
    """

    def rows_of(size: InstanceShape, file: Path) -> Iterator[Row]:
        instance = size.instance(seed)
        instance.save(file)
        methods = [method for method, limit in MAX_TRIPLES.items() if instance.n_triples <= limit]
        for share, lam in kept_share_lambdas(instance, prune_path(instance)).items():
            yield from _single_lambda_rows(instance, file, share, lam, methods, {"ortools": instance})

    return collected(out, sizes, rows_of, progress)


def bench_path(
    out: str | Path, sizes: Sequence[InstanceShape] = GROWTH_SIZES, seed: int = 0, progress: ProgressCallback = silent
) -> list[Row]:
    """Time the whole path as the number of trees and examples grows, with one min cut and OR-Tools on the same.

    Parameters and errors as for `bench_solvers`.
    """

    def rows_of(size: InstanceShape, file: Path) -> Iterator[Row]:
        instance = size.instance(seed)
        instance.save(file)
        yield _instance_row(instance, "path", in_own_process(_measure_path, str(file)))
        lam = middle_lambda(instance)
        yield from _single_lambda_rows(instance, file, float("nan"), lam, ["min-cut"], {"ortools": instance})

    return collected(out, sizes, rows_of, progress)


def bench_forest(
    out: str | Path,
    forests: Sequence[FittedForest] = FITTED_FORESTS,
    seed: int = 0,
    progress: ProgressCallback = silent,
) -> list[Row]:
    """Time the fit of scikit-learn forests, the way to their whole paths, and single lambdas, OR-Tools on the same.

    Fit and path use all cores. OR-Tools gets the acquisitions twice: in the order of the instance, which suits it, too,
    and example by example. Lambdas are halfway between breakpoints, at 10%, 50% and 90% of their number. Forests on
    data that is not there (see `ipforest.datasets`) are left out. Parameters and errors as for `bench_solvers`.
    """

    def rows_of(forest: FittedForest, file: Path) -> Iterator[Row]:
        steps = in_own_process(_measure_forest, forest, seed, str(file))
        instance = PruningInstance.load(file)
        facts = {name: steps[name] for name in ("status", "breakpoints", "peak_mib")}
        label = {"data": forest.data, "max_features": str(forest.max_features)}
        for step in ("fit", "instance", "path"):
            yield _instance_row(instance, step, {**facts, "seconds": steps[step]}) | label
        peers = {"ortools": instance}
        if os.environ.get(ORTOOLS_VARIABLE):
            peers["ortools, by example"] = _by_example(instance)
        for share, lam in steps["lambdas"].items():
            for row in _single_lambda_rows(instance, file, share, Fraction(lam), ["min-cut"], peers):
                yield row | label

    known = {CLUSTERS, *datasets.names()}
    return collected(out, [forest for forest in forests if forest.data in known], rows_of, progress)


def _measure_forest(forest: FittedForest, seed: int, file: str) -> Row:
    """Fit, build, find the path, save the instance; return seconds of each, and lambdas with the share kept there."""
    X, y = forest.examples(seed)
    X_train, X_cost, y_train = X[: forest.n_training], X[forest.n_training :], y[: forest.n_training]
    model = RandomForestClassifier(
        forest.n_trees, criterion="entropy", max_features=forest.max_features, n_jobs=-1, random_state=seed
    )
    started = clock()
    model.fit(X_train, y_train)
    fitted = clock()
    instance = PruningInstance.from_forest(Forest.from_sklearn(model), X_cost, FeatureCosts.uniform(X.shape[1]))
    built = clock()
    path = prune_path(instance)
    instance.save(file)
    return {
        "fit": fitted - started,
        "instance": built - fitted,
        "path": path.runtime_s,
        "status": str(path.status),
        "breakpoints": len(path.breakpoints),
        "lambdas": {share: str(lam) for share, lam in _breakpoint_lambdas(instance, path).items()},
    }


def _breakpoint_lambdas(instance: PruningInstance, path: PruningPath) -> dict[float, Fraction]:
    """Choose lambdas halfway between breakpoints, evenly over their number, by the share of nodes that they keep."""
    chosen = {}
    for share in BREAKPOINT_SHARES:
        index = int(share * (len(path.breakpoints) - 1))
        lam = few_digits(instance, sum(path.breakpoints[index : index + 2], Fraction(0)) / 2)
        chosen[round(path.pruning(lam).n_kept / instance.n_internal, 4)] = lam
    return chosen


def kept_share_lambdas(instance: PruningInstance, path: PruningPath) -> dict[float, Fraction]:
    """Lambdas, halfway between two breakpoints, that keep as near as can be to some shares of the internal nodes."""
    kept = np.array([np.count_nonzero(path.node_breakpoint >= i) for i in range(len(path.breakpoints) + 1)])
    chosen = {}
    for share in KEPT_SHARES:
        index = int(np.argmin(np.abs(kept[1:] / instance.n_internal - share))) + 1
        above = path.breakpoints[index] if index < len(path.breakpoints) else 2 * path.breakpoints[-1]
        chosen[share] = few_digits(instance, (path.breakpoints[index - 1] + above) / 2)
    return chosen


def middle_lambda(instance: PruningInstance) -> Fraction:
    """Lambda at which the forest as a whole is worth its price."""
    (error, cost), (error_high, _) = instance.evaluate(instance.unpruned), instance.evaluate(instance.roots_only)
    return few_digits(instance, (error_high - error) / cost)


def few_digits(instance: PruningInstance, lam: Fraction) -> Fraction:
    """Round a lambda to a small denominator in integer units."""
    unit = instance.error_unit / instance.cost_unit
    return max(lam / unit, Fraction(1, DENOMINATOR)).limit_denominator(DENOMINATOR) * unit


def _single_lambda_rows(
    instance: PruningInstance,
    file: Path,
    share: float,
    lam: Fraction,
    methods: Sequence[str],
    peers: Mapping[str, PruningInstance],
) -> list[Row]:
    """Measure our methods at a lambda, and OR-Tools on each of `peers`, the instance in some order, by name."""
    measured = {method: in_own_process(_measure_solve, str(file), method, str(lam)) for method in methods}
    for name, given in peers.items():
        peer = _measure_ortools(given, file.with_name("network.npz"), lam)
        measured |= {} if peer is None else {name: peer}
    rows = [{**_instance_row(instance, name, each), "kept_share": share} for name, each in measured.items()]
    objectives = {row["objective"] for row in rows if row["status"] == Status.OPTIMAL}
    if len(objectives) > 1:
        raise RuntimeError(f"solvers: expected one optimum at lambda {lam}, got {sorted(objectives)}")
    return rows


def _by_example(instance: PruningInstance) -> PruningInstance:
    """Renumber the acquisitions as they come when one example is routed after another."""
    order = np.lexsort((instance.acquisition_unit, instance.acquisition_example))
    number = np.empty(order.size, dtype=np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    indices = number[instance.indices]
    return replace(
        instance,
        indices=indices[np.lexsort((indices, instance.triple_node))],
        acquisition_unit=instance.acquisition_unit[order],
        acquisition_example=instance.acquisition_example[order],
        acquisition_cost=instance.acquisition_cost[order],
    )


def _measure_solve(file: str, method: str, lam: str) -> Row:
    instance = PruningInstance.load(file)
    started = clock()
    result = solve(instance, lam, method)
    seconds = clock() - started
    return {
        "seconds": seconds,
        "status": str(result.status),
        "objective": str(result.objective),
        "n_kept": result.pruning.n_kept,
    }


def _measure_path(file: str) -> Row:
    instance = PruningInstance.load(file)
    path = prune_path(instance)
    return {"seconds": path.runtime_s, "status": str(path.status), "breakpoints": len(path.breakpoints)}


def _measure_ortools(instance: PruningInstance, file: Path, lam: Fraction) -> Row | None:
    """Run the peer, if there is one; None otherwise."""
    interpreter = os.environ.get(ORTOOLS_VARIABLE)
    if not interpreter:
        return None
    p, q = instance.scaled_lambda(lam)
    np.savez(
        file,
        parent=instance.parent,
        gain=instance.gain,
        split_cost=instance.split_cost,
        indptr=instance.indptr,
        indices=instance.indices,
        cost=instance.acquisition_cost,
        p=p,
        q=q,
    )
    command = [interpreter, str(PEER_SCRIPT), str(file)]
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if finished.returncode:
        raise RuntimeError(f"{ORTOOLS_VARIABLE}: expected the peer to succeed, got: {finished.stderr.strip()}")
    report: Row = json.loads(finished.stdout)
    positive = int(instance.gain[instance.gain > 0].sum())
    at_the_roots = int(instance.errors[instance.tree_offsets[:-1]].sum())
    value = Fraction(q * (at_the_roots - positive) + report.pop("flow"), q)
    return {**report, "status": str(Status.OPTIMAL), "objective": str(instance.error_unit * value)}


def _instance_row(instance: PruningInstance, method: str, measured: Row) -> Row:
    facts = {
        "data": "synthetic",
        "trees": instance.n_trees,
        "examples": instance.n_examples,
        "features": instance.n_units,
        "internal_nodes": instance.n_internal,
        "triples": instance.n_triples,
    }
    return row_of(method, facts, measured)
