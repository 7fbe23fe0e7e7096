"""Data sets with prices: scikit-learn's bundled ones, and those of the data folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, FloatArray, IntArray, load_arrays
from ipforest.costs import FeatureCosts

DATA_VARIABLE = "IPFOREST_DATA"
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
GENERATED = ("cube", "cube_nm", "cube_nuc")

CORNERS = tuple(f"{label:03b}" for label in range(8))
"""The classes of the generated data sets, by their bits."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """Examples, labels or numbers to predict, and prices.

    Parameters
    ----------
    name : str
    X : ndarray, shape (n_samples, n_features)
        NaN where a value is missing.
    y : ndarray of int or float64, shape (n_samples,)
        Class index into ``class_names``, or the number to predict.
    feature_names : tuple of str
    class_names : tuple of str
        Empty where a number is predicted.
    costs : FeatureCosts
        Published test costs where there are any, else 1 for each feature.
    currency : str
        "Canadian dollars" or "features".
    split : ndarray of int, shape (n_samples,), or None
        0 train, 1 validation, 2 test, where the source has a split.
    queries : ndarray of int64, shape (n_samples,), or None
        The query of each document, where documents are ranked.

    Raises
    ------
    ValueError
        Shapes do not go together, a label is no index of a class, or a number to predict is not finite.
    """

    name: str
    X: Array
    y: Array
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    costs: FeatureCosts
    currency: str = "features"
    split: npt.NDArray[np.uint8] | None = None
    queries: IntArray | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2:
            raise ValueError(f"{self.name}: expected X with 2 dimensions, got {self.X.ndim}")
        n_samples, n_features = self.X.shape
        if self.y.shape != (n_samples,):
            raise ValueError(f"{self.name}: expected {n_samples} labels, one per row of X, got shape {self.y.shape}")
        for what, of_rows in (("split", self.split), ("queries", self.queries)):
            if of_rows is not None and of_rows.shape != (n_samples,):
                raise ValueError(f"{self.name}: expected {what} with one entry per row of X, got shape {of_rows.shape}")
        for what, count in (("feature names", len(self.feature_names)), ("prices", self.costs.n_features)):
            if count != n_features:
                raise ValueError(f"{self.name}: expected {n_features} {what}, one per column of X, got {count}")
        n_classes = len(self.class_names)
        if not n_classes:
            if not np.isfinite(self.y).all():
                raise ValueError(f"{self.name}: expected finite numbers to predict, got others")
        elif self.y.size and not 0 <= self.y.min() <= self.y.max() < n_classes:
            raise ValueError(
                f"{self.name}: expected labels 0..{n_classes - 1}, one of {n_classes} classes, "
                f"got {self.y.min()}..{self.y.max()}"
            )

    @property
    def is_regression(self) -> bool:
        """Whether a number is predicted."""
        return not self.class_names

    def fingerprint(self) -> str:
        """Return a hash of examples, labels and prices, by which finished work is found again."""
        costs = self.costs
        amounts = ([*map(str, costs.prices)], costs.groups.tolist(), [*map(str, costs.group_fees)])
        prices = json.dumps([*amounts, costs.sources.tolist(), costs.delayed.tolist()])
        content = (
            self.X.astype(np.float64).tobytes(),
            self.y.astype(np.float64 if self.is_regression else np.int64).tobytes(),
            prices.encode(),
        )
        return hashlib.sha256(b"".join(content)).hexdigest()

    def __repr__(self) -> str:
        target = "a number" if self.is_regression else f"{len(self.class_names)} classes"
        return f"Dataset({self.name!r}, {self.X.shape[0]} x {self.X.shape[1]}, {target}, costs in {self.currency})"


def names() -> list[str]:
    """List the data sets that can be loaded here: bundled, generated, and those of the data folder."""
    folder = _folder()
    stored = [] if folder is None else sorted(path.stem for path in folder.glob("*.npz"))
    return [*BUNDLED, *GENERATED, *stored]


def stored_file(name: str) -> Path | None:
    """Return the file of the data folder that a name stands for, None for other data sets."""
    folder = _folder()
    path = None if folder is None or name in (*BUNDLED, *GENERATED) else folder / f"{name}.npz"
    return path if path is not None and path.is_file() else None


def load(name: str) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        "breast_cancer", "digits", "iris" or "wine" from scikit-learn; "cube", "cube_nm" or "cube_nuc", generated; else
        the name of a ``.npz`` file in the folder that the environment variable IPFOREST_DATA names.

    Raises
    ------
    FileNotFoundError
        No such data set, or no data folder.
    ValueError
        The file is truncated, lacks an array, or its arrays do not go together.
    """
    if name in GENERATED:
        return {"cube": cube, "cube_nm": cube_nm, "cube_nuc": cube_nuc}[name]()
    return _load_bundled(name) if name in BUNDLED else _load_stored(name)


def cube(n_samples: int = 4000, seed: int = 0) -> Dataset:
    """Generate CUBE: which three of 20 features matter follows from the class.

    Class c = 0..7 has the bits of c in features c, c + 1 and c + 2, with normal noise of deviation 0.1; all other
    features are normal around 0.5 with deviation 0.3. So what to buy next depends on what was seen.

    Notes
    -----
    Shim, Hwang, Yang, "Joint Active Feature Acquisition and Classification with Variable-Size Set Encoding", NeurIPS
    2018; also in AFABench, arXiv 2508.14734.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(8, size=n_samples)
    X = rng.normal(0.5, 0.3, (n_samples, 20))
    _write_bits(X, y, y, rng)
    return _of_corners("cube", X, y, (f"x{column}" for column in range(20)))


def cube_nm(n_samples: int = 4000, seed: int = 0) -> Dataset:
    """Generate CUBE behind a context, for which no myopic choice of features is good.

    One of five contexts is drawn and told by the first five features, one-hot with normal noise of deviation 0.1. Five
    blocks of ten features follow. In the block of the context, class c = 0..7 has its bits in features c, c + 1 and
    c + 2 as in `cube`; all other features are normal around 0.5 with deviation 0.3. The context by itself says nothing
    of the class, and a block says little until the context is known.

    Notes
    -----
    In the manner of the non-myopic CUBE of AFABench, arXiv 2508.14734.
    """
    rng = np.random.default_rng(seed)
    y, context = rng.integers(8, size=n_samples), rng.integers(5, size=n_samples)
    X = rng.normal(0.5, 0.3, (n_samples, 55))
    X[:, :5] = rng.normal(np.eye(5)[context], 0.1)
    _write_bits(X, y, 5 + 10 * context + y, rng)
    names = [*(f"context{k}" for k in range(5)), *(f"x{b}.{k}" for b in range(5) for k in range(10))]
    return _of_corners("cube_nm", X, y, names)


def cube_nuc(n_samples: int = 4000, seed: int = 0) -> Dataset:
    """Generate CUBE twice, in a cheap block of features and in one at twice the price.

    Both blocks have ten features. In each, class c = 0..7 has its bits in features c, c + 1 and c + 2 as in `cube`,
    with noise of their own; all other features are normal around 0.5 with deviation 0.3. A feature of the first block
    costs 2/3, one of the second 4/3: 1 on average.

    Notes
    -----
    CUBE-NUC of AFABench, arXiv 2508.14734.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(8, size=n_samples)
    X = rng.normal(0.5, 0.3, (n_samples, 20))
    for block in (0, 10):
        _write_bits(X, y, block + y, rng)
    names = (f"{kind}{column}" for kind in ("cheap", "costly") for column in range(10))
    return _of_corners("cube_nuc", X, y, names, FeatureCosts([Fraction(2, 3)] * 10 + [Fraction(4, 3)] * 10))


def _write_bits(X: FloatArray, y: IntArray, first: IntArray, rng: np.random.Generator) -> None:
    """Write the bits of each class into three features, the first of which each example has of its own."""
    for bit in range(3):
        X[np.arange(y.size), first + bit] = rng.normal(y >> bit & 1, 0.1)


def _of_corners(
    name: str, X: FloatArray, y: IntArray, feature_names: Iterable[str], costs: FeatureCosts | None = None
) -> Dataset:
    costs = FeatureCosts.uniform(X.shape[1]) if costs is None else costs
    return Dataset(name=name, X=X, y=y, feature_names=tuple(feature_names), class_names=CORNERS, costs=costs)


def _folder() -> Path | None:
    value = os.environ.get(DATA_VARIABLE)
    return Path(value) if value else None


def _load_bundled(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        X=bunch.data,
        y=bunch.target.astype(np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        class_names=tuple(map(str, bunch.target_names)),
        costs=FeatureCosts.uniform(bunch.data.shape[1]),
    )


def _load_stored(name: str) -> Dataset:
    folder = _folder()
    if folder is None:
        raise FileNotFoundError(
            f"data: expected one of {', '.join((*BUNDLED, *GENERATED))}, or {DATA_VARIABLE} to name the data folder, "
            f"got {name!r}"
        )
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"data: expected one of {', '.join(names())}, got {name!r} (no file {path})")
    arrays = load_arrays(path, "data set")
    priced = "costs" in arrays
    needed = ["X", "y", "feature_names", "class_names", *(("costs_in_group", "cost_group") if priced else ())]
    absent = [name for name in needed if name not in arrays]
    if absent:
        raise ValueError(f"{path}: expected the arrays {', '.join(needed)}, got none called {' or '.join(absent)}")
    if priced:
        costs = FeatureCosts.from_discounts(arrays["costs"], arrays["costs_in_group"], arrays["cost_group"])
    else:
        costs = FeatureCosts.uniform(arrays["feature_names"].size)
    return Dataset(
        name=name,
        X=arrays["X"],
        y=arrays["y"].astype(np.int64),
        feature_names=tuple(map(str, arrays["feature_names"])),
        class_names=tuple(map(str, arrays["class_names"])),
        costs=costs,
        currency=str(arrays["currency"]) if "currency" in arrays else "Canadian dollars" if priced else "features",
        split=arrays.get("split"),
        queries=arrays.get("queries"),
    )
