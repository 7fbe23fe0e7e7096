"""Splits of AFABench, as its programs write them: a folder with bundles of training, validation and test examples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ipforest._internal.arrays import Array, one_line
from ipforest.datasets.pickled_arrays import DAMAGED_PICKLE
from ipforest.datasets.tables import Tables
from ipforest.datasets.tensors import read_tensors

__all__ = ["is_afabench", "read_afabench"]

PARTS = ("train", "val", "test")
PRICES = "costs.csv"


def is_afabench(folder: Path) -> bool:
    """Whether a folder holds a split of AFABench."""
    return _file(folder, PARTS[0]).is_file()


def read_afabench(folder: Path) -> Tables:
    """Read a split, ``train.bundle``, ``val.bundle`` and ``test.bundle``.

    The ``dataset.pt`` of a bundle has the tensors "features" (n_samples, ...) and "labels" (n_samples, n_classes), the
    latter 0 or 1. Each feature costs 1, unless the folder has a file ``costs.csv`` with a line of prices: that of
    ``data/misc/feature_costs``, which belongs to the data set and not to the split, is to be copied there.

    Parameters
    ----------
    folder : Path
        Such as ``diabetes/1``.

    Raises
    ------
    FileNotFoundError
        A bundle is missing.
    ValueError
        A file is damaged, the parts do not go together, or there are not as many prices as features.
    """
    parts = [_part(_file(folder, part)) for part in PARTS]
    widths = {(X.shape[1], labels.shape[1]) for X, labels in parts}
    if len(widths) != 1:
        raise ValueError(f"{folder}: expected as many features and classes in each part, got {sorted(widths)}")
    X, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if not ((labels == 1).sum(axis=1) == 1).all() or not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{folder}: expected labels that are 1 for one class and 0 for the others, got others")
    return Tables(
        X,
        np.argmax(labels, axis=1).astype(np.int64),
        [f"feature{number}" for number in range(X.shape[1])],
        [str(label) for label in range(labels.shape[1])],
        np.repeat([0, 1, 2], [len(rows) for rows, _ in parts]).astype(np.uint8),
        prices=_prices(folder / PRICES, X.shape[1]),
    )


def _file(folder: Path, part: str) -> Path:
    return folder / f"{part}.bundle" / "data" / "dataset.pt"


def _part(path: Path) -> tuple[Array, Array]:
    """Read features, one row per example, and labels."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected the tensors of a part of the split, got no such file")
    try:
        tensors = read_tensors(path.read_bytes())
        X, labels = np.asarray(tensors["features"], dtype=np.float64), np.asarray(tensors["labels"], dtype=np.float64)
    except DAMAGED_PICKLE as problem:
        raise ValueError(f"{path}: expected the tensors features and labels, got: {one_line(problem)}") from None
    if X.ndim < 2 or labels.ndim != 2 or X.shape[0] != labels.shape[0] or X.size == 0:
        shapes = f"{X.shape} and {labels.shape}"
        raise ValueError(f"{path}: expected features and one label per class of each example, got shapes {shapes}")
    if np.isinf(X).any():
        raise ValueError(f"{path}: expected finite values or NaN, got an infinite one")
    return X.reshape(X.shape[0], -1), labels


def _prices(path: Path, n_features: int) -> Array | None:
    if not path.is_file():
        return None
    try:
        prices = np.array([float(price) for price in path.read_text(encoding="utf-8-sig").strip().split(",")])
    except ValueError as problem:
        raise ValueError(f"{path}: expected prices parted by commas, got: {one_line(problem)}") from None
    if prices.size != n_features or not np.isfinite(prices).all() or (prices < 0).any():
        raise ValueError(f"{path}: expected {n_features} prices of at least 0, one per feature, got {prices.size}")
    return prices
