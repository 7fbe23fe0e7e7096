"""Data sets: the bundled ones as scikit-learn has them, those of the data folder as files."""

import os
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from ipforest import FeatureCosts, datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("IPFOREST_DATA", str(tmp_path))
    return tmp_path


ARRAYS = {
    "X": np.array([[1.0, np.nan], [2.0, 3.0]], dtype=np.float32),
    "y": np.array([0, 1], dtype=np.int8),
    "feature_names": np.array(["age", "thal"]),
    "class_names": np.array(["absence", "presence"]),
}
PRICES = {"costs": np.array([7.27, 5.2]), "costs_in_group": np.array([5.17, 3.1]), "cost_group": np.array([0, 0])}


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [("breast_cancer", (569, 30), 2), ("digits", (1797, 64), 10), ("iris", (150, 4), 3), ("wine", (178, 13), 3)],
)
def test_bundled_data(name: str, shape: tuple[int, int], n_classes: int) -> None:
    data = datasets.load(name)
    assert data.X.shape == shape
    assert sorted(set(data.y.tolist())) == list(range(n_classes))
    assert len(data.class_names) == n_classes
    assert len(data.feature_names) == shape[1]
    assert data.costs == FeatureCosts.uniform(shape[1])
    assert data.split is None
    assert repr(data) == f"Dataset({name!r}, {shape[0]} x {shape[1]}, {n_classes} classes, costs in features)"


def test_bundled_values_are_untouched() -> None:
    data, source = datasets.load("breast_cancer"), load_breast_cancer()
    np.testing.assert_array_equal(data.X, source.data)
    np.testing.assert_array_equal(data.y, source.target)


def test_stored_data_without_prices(folder) -> None:
    np.savez_compressed(folder / "heart.npz", **ARRAYS, split=np.array([0, 2], dtype=np.uint8))
    data = datasets.load("heart")
    np.testing.assert_array_equal(data.X, ARRAYS["X"])
    assert data.y.dtype == np.int64
    assert data.feature_names == ("age", "thal")
    assert data.costs == FeatureCosts.uniform(2)
    assert (data.currency, data.split.tolist()) == ("features", [0, 2])
    assert datasets.names() == ["breast_cancer", "digits", "iris", "wine", "cube", "cube_nm", "heart"]


def test_stored_prices_are_exact_decimals(folder) -> None:
    np.savez(folder / "heart.npz", **ARRAYS, **PRICES)
    data = datasets.load("heart")
    assert data.costs == FeatureCosts(["5.17", "3.1"], [0, 0], ["2.1"])
    assert data.currency == "Canadian dollars"


def test_no_folder_is_said(monkeypatch) -> None:
    monkeypatch.delenv("IPFOREST_DATA", raising=False)
    assert datasets.names() == [*datasets.BUNDLED, *datasets.GENERATED]
    with pytest.raises(FileNotFoundError, match=r"data: expected one of breast_cancer, .* IPFOREST_DATA .* got"):
        datasets.load("heart")


def test_an_unknown_name_lists_what_there_is(folder) -> None:
    np.savez(folder / "pima.npz", **ARRAYS)
    with pytest.raises(FileNotFoundError, match=r"data: expected one of breast_cancer, .*, pima, got 'hart'"):
        datasets.load("hart")


def test_damaged_files_are_refused(folder) -> None:
    path = folder / "heart.npz"
    np.savez_compressed(path, **ARRAYS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 61):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"heart\.npz: expected a complete data set file \(\.npz\), got: "):
            datasets.load("heart")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"y": None}, r"heart\.npz: expected the arrays X, y, feature_names, class_names, got none called y"),
        ({"costs": np.array([1.0, 2.0])}, "got none called costs_in_group or cost_group"),
        ({"y": np.array([0, 1, 1])}, r"heart: expected 2 labels, one per row of X, got shape \(3,\)"),
        ({"y": np.array([0, 2])}, r"heart: expected labels 0\.\.1, one of 2 classes, got 0\.\.2"),
        ({"feature_names": np.array(["age"])}, "heart: expected 2 feature names, one per column of X, got 1"),
        ({"X": np.arange(2)}, "heart: expected X with 2 dimensions, got 1"),
        ({"split": np.array([0])}, r"heart: expected split with one entry per row of X, got shape \(1,\)"),
        ({"queries": np.array([0])}, r"heart: expected queries with one entry per row of X, got shape \(1,\)"),
        ({name: value[:1] for name, value in PRICES.items()}, "heart: expected 2 prices, one per column of X, got 1"),
        ({**PRICES, "costs": np.array([7.27])}, "in_group: expected 1 prices as in alone, got 2"),
    ],
)
def test_incomplete_files_are_refused(folder, changes, text: str) -> None:
    arrays = {name: value for name, value in {**ARRAYS, **changes}.items() if value is not None}
    np.savez(folder / "heart.npz", **arrays)
    with pytest.raises(ValueError, match=text):
        datasets.load("heart")


@pytest.mark.skipif("IPFOREST_DATA" not in os.environ, reason="IPFOREST_DATA names no data folder")
def test_the_data_folder() -> None:
    """Heart disease with its published prices, and every other file loads."""
    heart = datasets.load("heart_statlog")
    assert heart.X.shape == (270, 13)
    assert np.bincount(heart.y).tolist() == [150, 120]
    assert sum(heart.costs.prices) + sum(heart.costs.group_fees) == Fraction("323.97")
    assert heart.costs.group_fees == (Fraction("2.1"), Fraction("101.9"), Fraction("86.3"))
    for name in datasets.names():
        data = datasets.load(name)
        assert data.costs.n_features == data.X.shape[1] == len(data.feature_names)


def test_cube_hides_each_class_in_three_features_of_its_own() -> None:
    data = datasets.load("cube")
    assert data.X.shape == (4000, 20)
    for label in range(8):
        rows = data.X[data.y == label]
        bits = [label >> bit & 1 for bit in range(3)]
        np.testing.assert_allclose(rows[:, label : label + 3].mean(axis=0), bits, atol=0.02)
        np.testing.assert_allclose(np.delete(rows, range(label, label + 3), axis=1).std(axis=0), 0.3, atol=0.04)
    np.testing.assert_array_equal(datasets.cube(50, seed=3).X, datasets.cube(50, seed=3).X)
