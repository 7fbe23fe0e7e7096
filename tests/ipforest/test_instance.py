"""PruningInstance against a plain reconstruction by loops, and its prunings against the pruned forests."""

import dataclasses
import hashlib
import struct
import zipfile
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from fitted_forests import KINDS, LABELS, MISSING_KINDS, N_FEATURES, examples, fitted, random_pruning
from hypothesis import given
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from strategies import instances

from ipforest import FeatureCosts, Forest, Pruning, PruningInstance

X_COST, LABELS_COST, TARGET_COST = examples(40, seed=21)
X_MISSING = examples(40, seed=21, missing=0.2)[0]
GROUPED = FeatureCosts([1, "0.25", 0, 2, 0, Fraction(1, 3), 0], groups=[-1, 0, 0, 1, 1, -1, -1], group_fees=["1.5", 0])
PRICE_LISTS = {"uniform": FeatureCosts.uniform(N_FEATURES), "grouped": GROUPED, "free": FeatureCosts([0] * N_FEATURES)}


def units_of(costs: FeatureCosts, feature: int) -> list[int]:
    return costs.unit_indices[costs.unit_indptr[feature] : costs.unit_indptr[feature + 1]].tolist()


def reconstruct(forest: Forest, X: np.ndarray, costs: FeatureCosts) -> tuple[dict, dict, dict]:
    """First uses {(tree, unit, example): node}, examples that pass each node, all by walking."""
    first_use: dict[tuple[int, int, int], int] = {}
    passing = dict.fromkeys(range(forest.n_nodes), 0)
    for i, example in enumerate(X.astype(np.float32)):
        for t, (root, _) in enumerate(forest):
            node = root
            while True:
                passing[node] += 1
                if forest.left[node] < 0:
                    break
                value = example[forest.feature[node]]
                for unit in units_of(costs, int(forest.feature[node])):
                    first_use.setdefault((t, unit, i), node)
                left = forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node]
                node = int(forest.left[node] if left else forest.right[node])
    pairs = {(unit, i) for _, unit, i in first_use}
    return first_use, passing, pairs


@pytest.mark.parametrize(("task", "name"), KINDS)
@pytest.mark.parametrize("prices", PRICE_LISTS)
def test_first_uses_and_counts_equal_a_walk(task: str, name: str, prices: str) -> None:
    forest, costs = Forest.from_sklearn(fitted(task, name)), PRICE_LISTS[prices]
    error_data = (X_COST, LABELS_COST if task == "classifier" else TARGET_COST)
    loss = "misclassification" if task == "classifier" else "squared_error"
    instance = PruningInstance.from_forest(forest, X_COST, costs, loss, error_data, split_cost="0.7")
    check_against_walk(instance, forest, X_COST, costs, Fraction("0.7"))


@pytest.mark.parametrize(("task", "name"), MISSING_KINDS)
def test_missing_values_are_routed_as_in_the_forest(task: str, name: str) -> None:
    forest = Forest.from_sklearn(fitted(task, name, missing=0.2))
    error_data = (X_MISSING, LABELS_COST if task == "classifier" else TARGET_COST)
    loss = "misclassification" if task == "classifier" else "squared_error"
    instance = PruningInstance.from_forest(forest, X_MISSING, GROUPED, loss, error_data)
    check_against_walk(instance, forest, X_MISSING, GROUPED, Fraction(0))


def test_acquisitions_lie_unit_by_unit_with_examples_of_equal_leaves_side_by_side() -> None:
    """Passes over the rows of a large instance take a quarter longer where acquisitions lie example by example."""
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    instance = PruningInstance.from_forest(forest, X_COST, GROUPED)
    unit, leaves = instance.acquisition_unit, instance.example_leaf[:3, instance.acquisition_example].tolist()
    keys = list(zip(unit.tolist(), *leaves, strict=True))
    assert keys == sorted(keys)
    assert np.unique(unit).size > 1


def check_against_walk(instance, forest, X, costs, split_cost: Fraction) -> None:
    first_use, passing, pairs = reconstruct(forest, X, costs)
    denominator = lcm(costs.denominator, split_cost.denominator)
    acquisitions = list(zip(instance.acquisition_unit.tolist(), instance.acquisition_example.tolist(), strict=True))
    assert len(set(acquisitions)) == len(acquisitions)
    assert set(acquisitions) == pairs
    np.testing.assert_array_equal(instance.tree_offsets, forest.tree_offsets)
    np.testing.assert_array_equal(instance.node_parent, forest.parent)
    np.testing.assert_array_equal(instance.internal_nodes, forest.internal_nodes)
    tree_of = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_offsets))
    got = {
        (int(tree_of[instance.internal_nodes[h]]), *acquisitions[j]): int(instance.internal_nodes[h])
        for h, j in zip(instance.triple_node, instance.indices.tolist(), strict=True)
    }
    assert got == first_use
    assert instance.n_triples == len(first_use)
    for (unit, _), cost in zip(acquisitions, instance.acquisition_cost.tolist(), strict=True):
        assert Fraction(cost, denominator) == costs.unit_costs[unit]
    for node, cost in zip(instance.internal_nodes.tolist(), instance.split_cost.tolist(), strict=True):
        assert Fraction(cost, denominator) == split_cost * passing[node]
    assert instance.cost_unit == Fraction(1, len(X) * denominator)
    assert (instance.n_units, instance.n_examples) == (costs.n_units, len(X))


@pytest.mark.slow
@pytest.mark.parametrize(("task", "name"), KINDS)
@pytest.mark.parametrize("prices", PRICE_LISTS)
def test_costs_of_prunings_are_those_of_the_pruned_forests(task: str, name: str, prices: str) -> None:
    forest, costs = Forest.from_sklearn(fitted(task, name)), PRICE_LISTS[prices]
    loss = "misclassification" if task == "classifier" else "squared_error"
    error_data = (X_COST, LABELS_COST if task == "classifier" else TARGET_COST)
    instance = PruningInstance.from_forest(forest, X_COST, costs, loss, error_data)
    for pruning in (instance.unpruned, instance.roots_only, *(random_pruning(forest, seed) for seed in range(4))):
        _, cost = instance.evaluate(pruning)
        np.testing.assert_allclose(float(cost), forest.prune(pruning).cost(X_COST, costs).mean(), rtol=1e-12)


def test_split_cost_pays_each_test_made() -> None:
    """The |S_h| d_h term: price times the average number of tests on the paths of an example."""
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    free = FeatureCosts([0] * N_FEATURES)
    instance = PruningInstance.from_forest(forest, X_COST, free, split_cost="0.3")
    for seed in range(4):
        pruning = random_pruning(forest, seed)
        tests = int(forest.prune(pruning).feature_usage(X_COST).sum())
        assert instance.evaluate(pruning)[1] == Fraction(3, 10) * Fraction(tests, len(X_COST))


def test_the_cost_of_an_example_is_one_notion() -> None:
    """What the pruned forest says each example pays, features and tests, averages to the instance's cost."""
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    instance = PruningInstance.from_forest(forest, X_COST, GROUPED, split_cost="0.3")
    for seed in range(4):
        pruning = random_pruning(forest, seed)
        paid = forest.prune(pruning).cost(X_COST, GROUPED, "0.3")
        np.testing.assert_allclose(paid.mean(), float(instance.evaluate(pruning)[1]), rtol=1e-12)


def test_prices_are_matched_by_name() -> None:
    names = [f"sensor {number}" for number in range(N_FEATURES)]
    forest = dataclasses.replace(Forest.from_sklearn(fitted("classifier", "forest")), feature_names=names)
    named = FeatureCosts(GROUPED.prices, GROUPED.groups, GROUPED.group_fees, names)
    shuffled = named.matched_to(N_FEATURES, names[3:] + names[:3])
    instance = PruningInstance.from_forest(forest, X_COST, named, split_cost=1)
    assert PruningInstance.from_forest(forest, X_COST, shuffled, split_cost=1).fingerprint() == instance.fingerprint()


def test_the_tree_of_each_triple() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    instance = PruningInstance.from_forest(forest, X_COST, GROUPED)
    nodes = instance.internal_nodes[instance.triple_node]
    starts = instance.tree_offsets[instance.triple_tree]
    assert np.all((nodes >= starts) & (nodes < instance.tree_offsets[instance.triple_tree + 1]))
    np.testing.assert_array_equal(np.flatnonzero(instance.is_leaf), np.flatnonzero(forest.is_leaf))


def test_every_node_is_its_own_leaf_once() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "extra trees"))
    instance = PruningInstance.from_forest(forest, X_COST, GROUPED)
    pruning = random_pruning(forest, seed=3)
    leaves = instance.leaves(pruning)
    pruned = forest.prune(pruning)
    assert leaves.sum() == pruned.n_nodes - pruned.n_internal
    for node in range(forest.n_nodes):
        path, above = [], node
        while above >= 0:
            path.append(above)
            above = forest.parent[above]
        assert leaves[path].sum() <= 1
        if forest.left[node] < 0:
            assert leaves[path].sum() == 1


@given(instances())
def test_derived_arrays(instance: PruningInstance) -> None:
    children = {node: [] for node in range(instance.n_nodes)}
    for node, parent in enumerate(instance.node_parent.tolist()):
        if parent >= 0:
            children[parent].append(node)
            assert instance.node_depth[node] == instance.node_depth[parent] + 1
        else:
            assert instance.node_depth[node] == 0
    internal = [node for node, below in children.items() if below]
    assert instance.internal_nodes.tolist() == internal
    assert instance.n_internal + instance.n_leaves == instance.n_nodes
    for h, node in enumerate(internal):
        assert instance.gain[h] == instance.errors[node] - sum(instance.errors[child] for child in children[node])
        parent = instance.parent[h]
        assert (instance.internal_nodes[parent] if parent >= 0 else -1) == instance.node_parent[node]
    assert instance.internal_offsets[-1] == instance.n_internal


@pytest.mark.slow
@given(instances())
def test_objective_is_error_plus_lambda_cost_in_integers(instance: PruningInstance) -> None:
    lam = Fraction(3, 7)
    p, q = instance.scaled_lambda(lam)
    base = instance.integer_error(instance.roots_only)
    for pruning in (instance.unpruned, instance.roots_only):
        error, cost = instance.evaluate(pruning)
        assert instance.objective(pruning, lam) == error + lam * cost
        gain = int(instance.gain[pruning.kept].sum())
        assert instance.integer_error(pruning) == base - gain
        scaled = q * gain - p * instance.integer_cost(pruning)
        assert (base * q - scaled) * instance.error_unit / q == instance.objective(pruning, lam)


def reordered(forest: Forest, order: list[int]) -> Forest:
    """The same trees in another order."""
    ranges = list(forest)
    nodes = np.concatenate([np.arange(*ranges[t]) for t in order])
    starts = np.concatenate([[0], np.cumsum([ranges[t][1] - ranges[t][0] for t in order])])
    shift = np.repeat([start - ranges[t][0] for start, t in zip(starts, order, strict=False)], np.diff(starts))
    names = ("feature", "threshold", "missing_left", "value", "weight", "n_samples", "impurity")
    return dataclasses.replace(
        forest,
        tree_offsets=starts,
        left=np.where(forest.left[nodes] >= 0, forest.left[nodes] + shift, -1),
        right=np.where(forest.right[nodes] >= 0, forest.right[nodes] + shift, -1),
        **{name: getattr(forest, name)[nodes] for name in names},
    )


def test_order_of_trees_examples_and_features_does_not_matter() -> None:
    """Permuting trees and examples permutes the prunings and changes no error and no cost."""
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    instance = PruningInstance.from_forest(forest, X_COST, GROUPED, split_cost=1)
    order = [3, 0, 5, 1, 4, 2]
    other_forest = reordered(forest, order)
    rows = np.random.default_rng(0).permutation(len(X_COST))
    other = PruningInstance.from_forest(other_forest, X_COST[rows], GROUPED, split_cost=1)
    assert other.n_triples == instance.n_triples
    assert sorted(other.acquisition_cost.tolist()) == sorted(instance.acquisition_cost.tolist())
    parts = np.split(np.arange(forest.n_internal), instance.internal_offsets[1:-1])
    for seed in range(5):
        pruning = random_pruning(forest, seed)
        moved = Pruning(pruning.kept[np.concatenate([parts[t] for t in order])])
        assert other.evaluate(moved) == instance.evaluate(pruning)


def test_building_twice_gives_the_same_instance() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "extra trees"))
    one = PruningInstance.from_forest(forest, X_COST, GROUPED, "entropy")
    two = PruningInstance.from_forest(forest, X_COST.tolist(), GROUPED, "entropy")
    assert one.fingerprint() == two.fingerprint()


def small_instance() -> PruningInstance:
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X_COST, LABELS_COST)
    return PruningInstance.from_forest(Forest.from_sklearn(tree), X_COST, GROUPED, split_cost="0.1")


def stored_fields(instance: PruningInstance) -> dict:
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance) if field.init}


TINY = {
    "tree_offsets": [0, 5],
    "node_parent": [-1, 0, 0, 1, 1],
    "errors": [9, 4, 2, 1, 1],
    "indptr": [0, 1, 2],
    "indices": [0, 1],
    "acquisition_unit": [0, 1, 1],
    "acquisition_example": [0, 0, 1],
    "acquisition_cost": [3, 5, 5],
    "split_cost": [0, 0],
    "error_unit": Fraction(1, 9),
    "cost_unit": Fraction(1, 2),
    "n_units": 2,
    "n_examples": 2,
}
CHAIN = {"tree_offsets": [0, 6], "node_parent": [-1, 0, 1, 2, 3, 4]}
LEAVES = {"node_parent": [-1, -1, -1, -1, -1], "indptr": [0], "indices": [], "split_cost": []}


@pytest.mark.parametrize(
    "changes",
    [
        {"node_parent": [-1, 0, 0, 2, 2]},
        {"errors": [9, 4, 2, 1, 0]},
        {"indptr": [0, 2, 2]},
        {"indptr": [0, 0, 2]},
        {"indices": [0, 2]},
        {"acquisition_unit": [0, 1, 0]},
        {"acquisition_example": [1, 0, 1]},
        {"acquisition_cost": [3, 5, 6]},
        {"split_cost": [0, 1]},
        {"error_unit": Fraction(1, 18)},
        {"cost_unit": Fraction(1)},
        {"n_units": 3},
        {"n_examples": 3},
        {**LEAVES, "tree_offsets": [0, 1, 2, 3, 4, 5]},
    ],
)
def test_fingerprint_depends_on_every_field(changes) -> None:
    assert PruningInstance(**{**TINY, **changes}).fingerprint() != PruningInstance(**TINY).fingerprint()


WRAPPING = [0, 2**62, 2**63 - 1, -(2**63) + 5, -(2**62), 5]
"""Offsets all of whose 64-bit differences are positive, by wrapping around."""


def test_offsets_whose_differences_wrap_around_are_refused() -> None:
    """Such offsets made `np.repeat` write out of bounds."""
    assert np.all(np.diff(WRAPPING) > 0)
    with pytest.raises(ValueError, match="tree_offsets: expected 0 and then the ascending ends"):
        PruningInstance(**{**TINY, "tree_offsets": WRAPPING})
    with pytest.raises(ValueError, match="indptr: expected to rise from 0"):
        PruningInstance(**{**TINY, **CHAIN, "indptr": [*WRAPPING[:-1], 2], "split_cost": [0] * 5, "errors": [0] * 6})


@pytest.mark.parametrize("offsets", [[[0, 5]], 5, [0.0, 5.0], [0], [], [0, 2**63], [-1, 5], [0, 5, 5], ["0", "5"]])
def test_offsets_of_other_kinds_are_refused(offsets) -> None:
    with pytest.raises((TypeError, ValueError), match="tree_offsets: expected"):
        PruningInstance(**{**TINY, "tree_offsets": offsets})


def test_an_acquisition_that_stands_twice_is_refused() -> None:
    """Two acquisitions of one unit and example are bought once or twice, as each method sees it."""
    with pytest.raises(ValueError, match="expected each pair once, got unit 0 for example 1 again"):
        PruningInstance(**{**TINY, "acquisition_unit": [0, 1, 0], "acquisition_example": [1, 0, 1]})


@pytest.mark.parametrize("name", ["n_units", "n_examples"])
@pytest.mark.parametrize("value", [-7, 2.0, "2", True, None])
def test_counts_are_integers(name: str, value) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected an integer"):
        PruningInstance(**{**TINY, name: value})


def test_numbers_are_stored_as_python_integers() -> None:
    """NumPy's integers wrap around in products."""
    given = {"error_unit": Fraction(np.int64(1), np.int64(9)), "n_units": np.int8(2)}
    instance = PruningInstance(**{**TINY, **given})
    assert type(instance.error_unit.denominator) is int
    assert type(instance.n_units) is int


def test_fingerprint_tells_how_nodes_fall_into_trees() -> None:
    two = PruningInstance(**{**TINY, "tree_offsets": [0, 3, 5], "node_parent": [-1, 0, 0, -1, 3]})
    other = PruningInstance(**{**TINY, "tree_offsets": [0, 2, 5], "node_parent": [-1, 0, -1, 2, 2]})
    assert two.fingerprint() != other.fingerprint()


def test_fingerprint_is_defined_by_bytes_not_by_the_machine() -> None:
    """Name, type and length of each field, then its numbers in little-endian order."""
    wide = ("tree_offsets", "errors", "indptr", "acquisition_cost", "split_cost")
    text = b"ipforest instance 1\n"
    for name, value in TINY.items():
        if isinstance(value, list):
            kind, code = ("int64", "q") if name in wide else ("int32", "i")
            text += f"{name} {kind} {len(value)}\n".encode() + struct.pack(f"<{len(value)}{code}", *value)
        else:
            text += f"{name} {value}\n".encode()
    assert PruningInstance(**TINY).fingerprint() == hashlib.sha256(text).hexdigest()


def test_fingerprint_leaves_out_the_routing() -> None:
    instance = small_instance()
    bare = dataclasses.replace(instance, example_leaf=None)
    assert instance.example_leaf is not None
    assert bare.fingerprint() == instance.fingerprint()


@pytest.mark.slow
@given(instances())
def test_single_leaf_trees_and_all_else_survive_a_file(tmp_path_factory, instance: PruningInstance) -> None:
    path = tmp_path_factory.getbasetemp() / "instance.npz"
    instance.save(path)
    back = PruningInstance.load(path)
    assert back.fingerprint() == instance.fingerprint()
    for name, value in stored_fields(instance).items():
        np.testing.assert_array_equal(getattr(back, name), value)
        assert type(getattr(back, name)) is type(value)


def test_files_have_the_name_that_was_given(tmp_path) -> None:
    small_instance().save(str(tmp_path / "instance.data"))
    assert [path.name for path in tmp_path.iterdir()] == ["instance.data"]


def test_a_truncated_file_is_refused_at_any_length(tmp_path) -> None:
    path = tmp_path / "instance.npz"
    small_instance().save(path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 1, 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"instance\.npz: expected a complete instance file \(\.npz\), got: "):
            PruningInstance.load(path)


@pytest.mark.slow
def test_a_corrupted_file_never_loads_as_another_instance(tmp_path) -> None:
    """Flip one byte anywhere: either the file is refused in one line, or what is read is the same instance."""
    path = tmp_path / "instance.npz"
    instance = small_instance()
    instance.save(path)
    whole = path.read_bytes()
    problems = []
    for position in range(0, len(whole), 5):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            read = PruningInstance.load(path)
        except ValueError as problem:
            problems.append(str(problem))
        else:
            assert read.fingerprint() == instance.fingerprint()
    assert len(problems) > len(whole) // 10
    assert all("instance.npz: expected" in problem and "\n" not in problem for problem in problems)


def test_files_of_other_kinds_are_refused(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        PruningInstance.load(tmp_path / "absent.npz")
    path = tmp_path / "other.npz"
    np.savez(path, x=np.arange(3))
    with pytest.raises(ValueError, match="expected an instance of format version 1, got None"):
        PruningInstance.load(path)
    np.savez(path, format_version=np.array(1), errors=np.arange(3))
    with pytest.raises(ValueError, match=r"expected the fields \['acquisition_cost', .*, got \['errors'\]"):
        PruningInstance.load(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(ValueError, match="expected a complete instance file"):
        PruningInstance.load(path)
    path.write_text("costs,prices\n")
    with pytest.raises(ValueError, match="expected a complete instance file"):
        PruningInstance.load(path)
    fields = {**stored_fields(small_instance()), "error_unit": "half", "cost_unit": "1"}
    np.savez(path, format_version=np.array(1), **fields)
    with pytest.raises(ValueError, match=r"other\.npz: expected .*half"):
        PruningInstance.load(path)


def test_files_that_would_take_too_much_memory_or_time_are_refused(tmp_path) -> None:
    path = tmp_path / "bomb.npz"
    fields = {name: value for name, value in stored_fields(small_instance()).items() if value is not None}
    fields |= {"format_version": np.array(1), "error_unit": "1", "cost_unit": "1"}
    np.savez_compressed(path, **{**fields, "errors": np.zeros(10**6, dtype=np.int64)})
    with pytest.raises(ValueError, match="compressed arrays"):
        PruningInstance.load(path)
    np.savez(path, **{**fields, "error_unit": "1e1000000000"})
    with pytest.raises(ValueError, match="error_unit: expected a number of at most 1000 digits"):
        PruningInstance.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        header = {"descr": "<i8", "fortran_order": False, "shape": (2**60,)}
        with archive.open("errors.npy", "w") as member:
            np.lib.format.write_array_header_1_0(member, header)
    with pytest.raises(ValueError, match="expected a complete instance file"):
        PruningInstance.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_that_name_an_array_twice_are_refused(tmp_path) -> None:
    path = tmp_path / "instance.npz"
    small_instance().save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("errors.npy", archive.read("errors.npy"))
    with pytest.raises(ValueError, match="an array that stands twice"):
        PruningInstance.load(path)


def test_arrays_are_read_only() -> None:
    instance = small_instance()
    values = [getattr(instance, field.name) for field in dataclasses.fields(instance)]
    assert not any(value.flags.writeable for value in values if isinstance(value, np.ndarray))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((X_COST[:, :3], GROUPED), ValueError, "X_cost: expected 7 columns as in training, got 3"),
        ((X_COST[:0], GROUPED), ValueError, "X_cost: expected at least one example, got none"),
        ((X_COST[0], GROUPED), ValueError, r"X_cost: expected 2 dimensions \(n_samples, n_features\), got 1"),
        ((X_COST, FeatureCosts.uniform(6)), ValueError, "costs: expected 7 prices, one per feature, got 6"),
        ((X_COST, [1] * 7), TypeError, r"costs: expected FeatureCosts\(prices\), got list"),
        ((X_COST, GROUPED, "hinge"), ValueError, "loss: expected 'misclassification' or 'gini' or 'entropy' .*'hinge'"),
        ((X_COST, GROUPED, "squared_error"), ValueError, "for classification, got 'squared_error'"),
        (
            (X_COST, GROUPED, "gini", (X_COST, LABELS_COST), -1),
            ValueError,
            "split_cost: expected a number >= 0, got -1",
        ),
        ((X_COST, GROUPED, "gini", None, 0, 0), ValueError, "resolution: expected a number > 0, got 0"),
        ((X_COST, GROUPED, "gini", X_COST), ValueError, r"error_data: expected a pair \(X, y\) or .*, got ndarray"),
        ((X_COST, GROUPED, "gini", (X_COST, LABELS_COST[:3])), ValueError, r"error_data: .* shape \(40,\), got \(3,\)"),
        ((X_COST, GROUPED, "gini", (X_COST[:, :2], LABELS_COST)), ValueError, "error_data X: expected 7 columns"),
        (
            (X_COST, GROUPED, "gini", (X_COST, np.where(LABELS_COST == "ant", "dog", LABELS_COST))),
            ValueError,
            r"error_data: expected classes among \['ant', 'bee', 'cat'\], got 'dog'",
        ),
        ((X_COST, FeatureCosts([Fraction(1, 2**40), 1, 1, 1, 1, 1, 2**30])), OverflowError, "round the prices"),
        (
            (X_COST, FeatureCosts([Fraction(1, 10**800 + k) for k in range(7)])),
            OverflowError,
            r"got about 2\^\d+ for it",
        ),
    ],
)
def test_bad_input_is_refused(arguments, error: type[Exception], text: str) -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    with pytest.raises(error, match=text) as caught:
        PruningInstance.from_forest(forest, *arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("lam", [-1, float("nan"), float("inf"), "-1/2"])
def test_bad_lambdas_are_refused(lam) -> None:
    instance = small_instance()
    with pytest.raises(ValueError, match="lam: expected a"):
        instance.objective(instance.unpruned, lam)
    with pytest.raises(ValueError, match="lam: expected a"):
        instance.scaled_lambda(lam)


def test_bad_prunings_are_refused() -> None:
    instance = small_instance()
    with pytest.raises(ValueError, match="pruning: expected 3 internal nodes, got 5"):
        instance.evaluate(Pruning(np.ones(5, dtype=bool)))
    orphan = np.zeros(3, dtype=bool)
    orphan[2] = True
    node = int(instance.internal_nodes[2])
    with pytest.raises(ValueError, match=f"pruning: expected the parent of each kept node .* not so at node {node}"):
        instance.evaluate(Pruning(orphan))


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("tree_offsets", [0, 8], ValueError, r"node_parent: expected shape \(8,\), got \(7,\)"),
        ("tree_offsets", [0], ValueError, "tree_offsets: expected 0 and then the ascending ends"),
        ("node_parent", [-1, 0, 0, 1, 1, 2, 6], ValueError, "node_parent: expected -1 at the first node"),
        ("node_parent", [-1, 0, 0, -1, 1, 2, 2], ValueError, "node_parent: expected -1 at the first node"),
        ("errors", [1.5] * 7, TypeError, "errors: expected integers, got dtype float64"),
        ("errors", [-1] + [0] * 6, ValueError, "errors: expected integers >= 0, got -1"),
        ("errors", [2**61, 2**61] + [0] * 5, OverflowError, r"errors: expected a total below 2\^62 units"),
        ("split_cost", [0, 0, -2], ValueError, "split_cost: expected integers >= 0, got -2"),
        ("indptr", [0, 2, 1, 3], ValueError, "indptr: expected to rise from 0 to the"),
        ("error_unit", 0.5, ValueError, "error_unit: expected a Fraction > 0, got 0.5"),
        ("cost_unit", Fraction(0), ValueError, r"cost_unit: expected a Fraction > 0, got Fraction\(0, 1\)"),
        ("n_examples", 3, ValueError, r"acquisition_example: expected 0..2, got 0..39"),
        ("n_units", -1, ValueError, "n_units: expected an integer >= 0, got -1"),
    ],
)
def test_broken_fields_are_refused(name: str, value, error: type[Exception], text: str) -> None:
    fields = stored_fields(small_instance())
    with pytest.raises(error, match=text):
        PruningInstance(**{**fields, name: value})


def test_rows_must_ascend_and_index_acquisitions() -> None:
    fields = stored_fields(small_instance())
    row = fields["indptr"][1]
    assert row >= 2
    backwards = np.array(fields["indices"])
    backwards[:2] = backwards[1::-1]
    with pytest.raises(ValueError, match=r"indices: expected ascending acquisitions in each row"):
        PruningInstance(**{**fields, "indices": backwards})
    beyond = np.array(fields["indices"])
    beyond[-1] = len(fields["acquisition_unit"])
    with pytest.raises(ValueError, match=r"indices: expected 0\.\."):
        PruningInstance(**{**fields, "indices": beyond})


def test_an_acquisition_is_needed_first_at_one_node_of_a_path() -> None:
    """The triple of a node must not come again below it."""
    fields = stored_fields(small_instance())
    broken = {**fields, "indptr": np.array([0, 3, 4, 4]), "indices": np.array([0, 1, 2, 1])}
    with pytest.raises(ValueError, match=r"indices: expected each acquisition once in a tree, .* got 1 again"):
        PruningInstance(**broken)


def test_repr_tells_the_size() -> None:
    text = repr(small_instance())
    assert text.startswith("PruningInstance(1 trees, 3 internal nodes, 40 examples, ")


def test_in_bag_error_of_the_unpruned_forest() -> None:
    """Deep trees fit their bootstrap samples: the in-bag error is the share of draws that their leaves miss."""
    X, labels, _ = examples(150, seed=8)
    estimator = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, labels)
    instance = PruningInstance.from_forest(Forest.from_sklearn(estimator), X_COST, GROUPED)
    wrong = sum(
        int(np.sum(LABELS[tree.predict(X[drawn]).astype(int)] != labels[drawn]))
        for tree, drawn in zip(estimator.estimators_, estimator.estimators_samples_, strict=True)
    )
    assert instance.evaluate(instance.unpruned)[0] == Fraction(wrong, 5 * 150)
    roots = sum(150 - np.unique(labels[drawn], return_counts=True)[1].max() for drawn in estimator.estimators_samples_)
    assert instance.evaluate(instance.roots_only)[0] == Fraction(int(roots), 5 * 150)
