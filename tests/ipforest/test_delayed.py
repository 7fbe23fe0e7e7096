"""Delayed tests: with one, what may be wanted below it is ordered at once; still one minimum cut, one path."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import formulations
import proofs
from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, available_solvers, prune_path, solve, solve_budget
from ipforest.ensemble import routing
from proofs.certificates.instance import _are_nested
from proofs.crosschecks.brute_force import brute_force, prunings

N_PAYING = 6


def drawn(seed: int) -> tuple[Forest, np.ndarray, FeatureCosts, list[int]]:
    """Fit a small forest; draw which of its features are delayed."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 6, size=(16, 3)).astype(np.float32), rng.integers(0, 2, 16)
    model = RandomForestClassifier(2, max_leaf_nodes=6, max_features=None, random_state=seed).fit(X, y)
    delayed = rng.choice(3, size=rng.integers(1, 3), replace=False).tolist()
    return Forest.from_sklearn(model), X[:N_PAYING], FeatureCosts([1, 2, 3], [0, 0, -1], [2]), delayed


def bought(forest: Forest, kept: np.ndarray, x: np.ndarray, delayed: list[int]) -> set[int]:
    """Order round by round: below the first delayed test of a tree everything that is kept is ordered with it."""
    features: set[int] = set()
    for root in forest.tree_offsets[:-1].tolist():
        node, known = root, set()
        while kept[node]:
            feature = int(forest.feature[node])
            features.add(feature)
            if feature in delayed and feature not in known:
                below = [node]
                while below:
                    test = below.pop()
                    if kept[test]:
                        features.add(int(forest.feature[test]))
                        below += [int(forest.left[test]), int(forest.right[test])]
                break
            known.add(feature)
            node = int(forest.left[node] if x[feature] <= forest.threshold[node] else forest.right[node])
    return features


def paid(forest: Forest, pruning: Pruning, X: np.ndarray, costs: FeatureCosts, delayed: list[int]) -> float:
    """Average what examples pay, each by its own orders."""
    kept = np.zeros(forest.n_nodes, dtype=bool)
    kept[forest.internal_nodes] = pruning.kept
    usage = np.zeros(X.shape, dtype=bool)
    for i, x in enumerate(X):
        usage[i, list(bought(forest, kept, x, delayed))] = True
    return float(costs.cost_of(usage).mean())


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 200), marks=pytest.mark.slow)])
def test_every_pruning_costs_what_is_ordered_round_by_round(seeds: range) -> None:
    in_rounds = 0
    for seed in seeds:
        forest, X, costs, delayed = drawn(seed)
        instance = PruningInstance.from_forest(forest, X, costs, delayed=delayed)
        in_rounds += instance.in_rounds
        for pruning in prunings(instance):
            cost = float(instance.evaluate(pruning)[1])
            assert cost == pytest.approx(paid(forest, pruning, X, costs, delayed))
    assert in_rounds


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 60), marks=pytest.mark.slow)])
def test_solvers_paths_and_certificates_agree_with_all_prunings(seeds: range) -> None:
    for seed in seeds:
        forest, X, costs, delayed = drawn(seed)
        instance = PruningInstance.from_forest(forest, X, costs, delayed=delayed)
        path = prune_path(instance)
        assert proofs.verify_path(instance, path)
        for lam in (Fraction(1, 50), Fraction(1, 13), *path.breakpoints[:1]):
            best = brute_force(instance, lam)
            assert path.result(lam).objective == best.objective
            assert proofs.verify_optimality(instance, solve(instance, lam))
            for method in available_solvers():
                result = solve(instance, lam, method)
                assert result.bound <= best.objective <= result.objective == instance.objective(result.pruning, lam)
                assert method not in ("min-cut", "networkx", "highs-lp") or result.objective == best.objective
        every = [instance.evaluate(pruning) for pruning in prunings(instance)]
        for budget in (Fraction(1), Fraction(3)):
            least = min(error for error, cost in every if cost <= budget)
            for method in ("path", "greedy", "mip"):
                result = solve_budget(instance, budget, method)
                assert result.cost <= budget
                assert result.bound <= least <= result.error


def test_without_delays_nothing_changes_and_with_them_costs_rise() -> None:
    forest, X, costs, _ = drawn(0)
    plain = PruningInstance.from_forest(forest, X, costs)
    assert not plain.in_rounds
    delayed = PruningInstance.from_forest(forest, X, costs, delayed=[0, 1, 2])
    for pruning in prunings(plain):
        assert delayed.evaluate(pruning)[0] == plain.evaluate(pruning)[0]
        assert delayed.evaluate(pruning)[1] >= plain.evaluate(pruning)[1]


def test_trees_of_one_leaf_order_nothing() -> None:
    X = np.array([[0.0], [1.0]])
    forest = Forest.from_sklearn(RandomForestClassifier(2, max_depth=1).fit(X, [0, 0]))
    costs = FeatureCosts([5], delayed=[True])
    assert forest.cost(X, costs).tolist() == [0, 0]
    assert PruningInstance.from_forest(forest, X, costs).n_acquisitions == 0


def test_features_by_name() -> None:
    forest, X, costs, _ = drawn(1)
    named = replace(forest, feature_names=("age", "hdl", "scan"))
    by_name = PruningInstance.from_forest(named, X, costs, delayed=["hdl"])
    assert by_name.fingerprint() == PruningInstance.from_forest(forest, X, costs, delayed=[1]).fingerprint()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delayed": [3]}, r"^delayed: expected features 0\.\.2, got 3$"),
        ({"delayed": ["hdl"]}, r"^delayed: expected features 0\.\.2, got 'hdl'$"),
        ({"delayed": [0], "split_cost": 1}, "^split_cost: expected none with delayed features, got 1$"),
    ],
)
def test_what_cannot_be_delayed_is_refused(options: dict[str, Any], message: str) -> None:
    forest, X, costs, _ = drawn(0)
    with pytest.raises(ValueError, match=message):
        PruningInstance.from_forest(forest, X, costs, **options)


def test_models_that_name_triples_refuse_delayed_tests() -> None:
    for seed in range(20):
        forest, X, costs, delayed = drawn(seed)
        instance = PruningInstance.from_forest(forest, X, costs, delayed=delayed)
        if instance.in_rounds:
            with pytest.raises(ValueError, match="got delayed tests; use solve"):
                formulations.build("ip3", instance, "1/10")
            return
    pytest.fail("no instance in rounds")


def test_an_acquisition_twice_on_a_path_is_refused_in_rounds_as_well() -> None:
    for seed in range(20):
        forest, X, costs, delayed = drawn(seed)
        instance = PruningInstance.from_forest(forest, X, costs, delayed=delayed)
        child = int(np.argmax(instance.parent >= 0))
        if not instance.in_rounds or instance.indptr[child] == instance.indptr[child + 1]:
            continue
        above = int(instance.parent[child])
        first = instance.indices[instance.indptr[above] : instance.indptr[above + 1]][:1]
        start, stop = instance.indptr[child : child + 2]
        row = np.union1d(instance.indices[start:stop], first)
        stored = [name for name, described in PruningInstance.__dataclass_fields__.items() if described.init]
        changed = {name: getattr(instance, name) for name in stored}
        changed["indices"] = np.concatenate([instance.indices[:start], row, instance.indices[stop:]]).astype(np.int32)
        changed["indptr"] = instance.indptr + (np.arange(instance.indptr.size) > child) * (row.size - (stop - start))
        with pytest.raises(ValueError, match="once on each path"):
            PruningInstance(**changed)
        return
    pytest.fail("no instance in rounds")


def test_needs_on_one_path_are_told_from_those_in_branches() -> None:
    rng = np.random.default_rng(5)
    found = [0, 0]
    for _ in range(400):
        n_nodes, n_triples = int(rng.integers(1, 9)), int(rng.integers(0, 7))
        parent = np.array([-1] + [int(rng.integers(-1, node)) for node in range(1, n_nodes)], dtype=np.int32)
        node = np.sort(rng.integers(n_nodes, size=n_triples)).astype(np.int32)
        needed = rng.integers(4, size=n_triples).astype(np.int32)
        paths = [{int(each)} for each in range(n_nodes)]
        for each in range(n_nodes):
            paths[each] |= paths[parent[each]] if parent[each] >= 0 else set()
        pairs = [(a, b) for b in range(n_triples) for a in range(b) if needed[a] == needed[b]]
        nested = any(int(node[a]) in paths[node[b]] for a, b in pairs)
        assert _are_nested(parent, node, needed) == nested
        repeat = routing.first_repeat_on_path(parent, node, needed)
        assert (repeat >= 0) == nested
        found[nested] += 1
    assert min(found) > 50
