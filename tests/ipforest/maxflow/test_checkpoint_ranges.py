"""A saved search that was edited: no place outside of an array reaches the kernels."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from ipforest import FeatureCosts, Forest, PruningInstance
from ipforest._internal.arrays import load_arrays, save_arrays
from ipforest.path import PathSearch

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """An instance, and the file of a search of it that has not begun."""
    forest = Forest.from_sklearn(RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, Y))
    instance = PruningInstance.from_forest(forest, X, FeatureCosts.uniform(4))
    file = tmp_path_factory.mktemp("search") / "path.unfinished.npz"
    PathSearch(instance).save(file)
    return instance, file


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("network.problem.parent", "parent: expected"),
        ("network.problem.rows.start", "start: expected"),
        ("network.problem.rows.end", "end: expected"),
        ("network.problem.rows.block", "block: expected"),
        ("network.trees.next_entry", "next_entry: expected"),
        ("network.trees.labels", "labels: expected"),
        ("network.trees.guide", "guide: expected"),
    ],
)
def test_places_are_checked(saved, tmp_path, name: str, message: str) -> None:
    instance, file = saved
    arrays = load_arrays(file, "search")
    for value in (-2, 2**31 - 1):
        changed = arrays[name].copy()
        changed[-1] = value
        save_arrays(tmp_path / "a.npz", {**arrays, name: changed})
        with pytest.raises(ValueError, match=message):
            PathSearch.load(tmp_path / "a.npz", instance)
    save_arrays(tmp_path / "a.npz", {**arrays, name: arrays[name].astype(np.float64)})
    with pytest.raises(ValueError, match=rf"{name}: expected shape .* and dtype"):
        PathSearch.load(tmp_path / "a.npz", instance)


def test_links_of_vertices_are_checked(saved, tmp_path) -> None:
    instance, file = saved
    arrays = load_arrays(file, "search")
    for link in ("above", "first_child", "next_child", "previous_child", "scan", "next_root"):
        changed = arrays["network.trees.vertices"].copy()
        changed[link][0] = 10**6
        save_arrays(tmp_path / "a.npz", {**arrays, "network.trees.vertices": changed})
        with pytest.raises(ValueError, match=f"{link}: expected"):
            PathSearch.load(tmp_path / "a.npz", instance)


@pytest.mark.parametrize("part", range(9))
def test_segments_and_bounds_are_checked(saved, tmp_path, part: int) -> None:
    instance, file = saved
    arrays = load_arrays(file, "search")
    problems = json.loads(str(arrays["open"]))
    problems[0][part] = "1e999999999" if part in (5, 6) else 10**9 if part < 4 else "x"
    save_arrays(tmp_path / "a.npz", {**arrays, "open": np.array(json.dumps(problems))})
    with pytest.raises(ValueError, match=r"expected an unfinished path of this problem, got: .* expected"):
        PathSearch.load(tmp_path / "a.npz", instance)
