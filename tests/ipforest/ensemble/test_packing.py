"""Trees in pickles: few bytes, and every bit as it was."""

import copy
import io
import pickle
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from ipforest._internal.arrays import FREE_BYTES
from ipforest.ensemble import BoostedTrees, Forest, read
from ipforest.ensemble.packing import inflated, pack, parted, unfolded, unpack
from ipforest.results import Pruning


@cache
def _ensemble(kind):
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).exponential(size=y.size)
    if kind == "forest":
        return Forest.from_sklearn(RandomForestClassifier(10, random_state=0).fit(X, y))
    if kind == "pruned forest":
        forest = _ensemble("forest")
        return forest.prune(Pruning(forest.parent[forest.internal_nodes] < 0))
    if kind == "bare roots":
        forest = _ensemble("forest")
        return forest.prune(Pruning(np.zeros(forest.n_internal, dtype=bool)))
    if kind == "weighted forest":
        return Forest.from_sklearn(ExtraTreesClassifier(5, random_state=0).fit(X, y, weight))
    if kind == "entropy":
        return Forest.from_sklearn(RandomForestClassifier(5, criterion="entropy", random_state=0).fit(X, y))
    if kind == "regression":
        return Forest.from_sklearn(ExtraTreesRegressor(5, random_state=0).fit(*load_diabetes(return_X_y=True)))
    if kind == "boosting":
        return read(GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y))
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 8)[1:-1])), X[:, 1:4]])
    X[::7, 2] = np.nan
    return read(HistGradientBoostingClassifier(max_iter=5, categorical_features=[0]).fit(X, y))


KINDS = (
    *("forest", "pruned forest", "bare roots", "weighted forest", "entropy", "regression"),
    *("boosting", "boosting with categories"),
)


def _require_same(trees, others):
    assert type(trees) is type(others)
    for each in fields(trees):
        mine, theirs = getattr(trees, each.name), getattr(others, each.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, each.name
            assert mine.tobytes() == theirs.tobytes(), each.name
        elif each.name == "left_categories":
            for part in ("offsets", "listed", "others"):
                assert np.array_equal(getattr(mine, part), getattr(theirs, part))
        else:
            assert mine == theirs, each.name


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_comes_back(kind):
    trees = _ensemble(kind)
    _require_same(trees, pickle.loads(pickle.dumps(trees)))


@pytest.mark.parametrize("field", ["value", "weight", "impurity", "threshold", "n_samples"])
def test_what_does_not_follow_from_the_leaves_is_kept(field):
    forest = _ensemble("forest")
    values = getattr(forest, field).copy()
    values[0] += 1 if field == "n_samples" else np.spacing(values[0])
    odd = replace(forest, **{field: values})
    _require_same(odd, pickle.loads(pickle.dumps(odd)))


@pytest.mark.parametrize("kind", KINDS[:5])
@pytest.mark.parametrize("other", KINDS[:5])
def test_trees_that_are_packed_together_come_back_part_by_part(kind, other):
    """Though some follow from their leaves and others do not, or are numbered in another way."""
    parts = [{name: getattr(each, name) for name in Forest.NODE_FIELDS} for each in map(_ensemble, (kind, other, kind))]
    sizes = [part["left"].size for part in parts]
    kept = inflated(pack(*parts))
    for part, again in zip(parts, map(unfolded, parted(kept, sizes)), strict=True):
        for name, values in part.items():
            assert again[name].astype(values.dtype).tobytes() == values.tobytes(), name
    for wrong in ([*sizes[:2], sizes[2] - 1], sizes[:2], [*sizes, -1], [sizes[0] + sizes[1] + 1, -1, sizes[2]]):
        with pytest.raises(ValueError, match=r"packed trees: expected \d+ nodes, got"):
            parted(kept, wrong)


def test_parts_of_other_lengths_are_refused():
    forest = _ensemble("forest")
    kept = inflated(pack({name: getattr(forest, name) for name in Forest.NODE_FIELDS}))
    for name in ("left", "feature inside"):
        with pytest.raises(ValueError, match=f"{name}: expected {forest.n_internal} rows, got"):
            parted({**kept, name: kept[name][1:]}, [forest.n_nodes])


def test_negative_zeros_stay_negative():
    forest = _ensemble("forest")
    impurity = np.where(forest.impurity == 0, -0.0, forest.impurity)
    negative = replace(forest, impurity=impurity)
    assert np.signbit(impurity).any()
    _require_same(negative, pickle.loads(pickle.dumps(negative)))


def test_a_forest_takes_a_tenth_of_its_bytes():
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(100, random_state=0).fit(X, y))
    assert len(pickle.dumps(forest)) * 10 < sum(getattr(forest, name).nbytes for name in Forest.NODE_FIELDS)


def test_trees_are_their_own_copies():
    forest = _ensemble("forest")
    assert copy.deepcopy(forest) is forest
    assert copy.copy(forest) is forest


def _damaged(state, place):
    nodes = state["nodes"].copy()
    nodes[place] ^= 255
    return {**state, "nodes": nodes}


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_damaged_states_are_refused(kind):
    trees = _ensemble(kind)
    state = trees.__getstate__()
    whole = state["nodes"]
    for place in np.linspace(0, whole.size - 1, 60).astype(int):
        _refused_or_the_same(trees, _damaged(state, place))
    for stop in (0, 1, whole.size // 2, whole.size - 1):
        with pytest.raises(ValueError, match="nodes: expected packed arrays of trees, got"):
            type(trees).__new__(type(trees)).__setstate__({**state, "nodes": whole[:stop]})


def _refused_or_the_same(trees, state):
    """Some bytes of an archive mean nothing; where one does, it must be noticed."""
    read_again = type(trees).__new__(type(trees))
    try:
        read_again.__setstate__(state)
    except (TypeError, ValueError):
        return
    _require_same(trees, read_again)


def test_states_of_other_fields_are_refused():
    forest = _ensemble("forest")
    state = forest.__getstate__()
    for wrong in ({**state, "parent": 0}, {key: state[key] for key in state if key != "classes"}, [1, 2]):
        with pytest.raises(ValueError, match="trees: expected a state of nodes, tree_offsets"):
            Forest.__new__(Forest).__setstate__(wrong)
    boosted = _ensemble("boosting").__getstate__()
    with pytest.raises(ValueError, match=r"nodes: expected left, right, .* got"):
        Forest.__new__(Forest).__setstate__({**state, "nodes": boosted["nodes"]})
    with pytest.raises(ValueError, match="trees: expected a state"):
        BoostedTrees.__new__(BoostedTrees).__setstate__(state)


@pytest.mark.parametrize(("left", "right"), [([1, 2], [1, 0]), ([1, 1], [1, 1]), ([0, 1], [1, 1]), ([1, -1], [1, 3])])
def test_children_before_their_parents_or_of_two_parents_are_refused(left, right):
    """Distances from a root and its first child, of five nodes; as they should be, 1 and 2, and 1 and 1."""
    is_leaf = np.array([False, False, True, True, True])
    with pytest.raises(ValueError, match="each child after its parent, with one parent, got another order"):
        unpack(_archive(is_leaf=is_leaf, left=np.array(left), right=np.array(right)))


def test_an_archive_that_unpacks_to_gigabytes_is_refused():
    with pytest.raises(ValueError, match="unpacked bytes where at most"):
        unpack(_archive(is_leaf=np.ones(FREE_BYTES + 1000, dtype=bool)))


def _archive(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return np.frombuffer(buffer.getvalue(), np.uint8)


@pytest.mark.parametrize("n_bits", [2**40, 7, -1])
def test_truth_values_of_another_number_than_there_are_bytes_are_refused(n_bits):
    with pytest.raises(ValueError, match=f"is_leaf: expected bits of {n_bits} truth values, got [12] bytes"):
        unpack(_archive(**{f"is_leaf as bits of {n_bits}": np.zeros(1 if n_bits != 7 else 2, np.uint8)}))
