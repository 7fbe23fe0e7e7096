"""The papers' data sets: those that we have, and the user's own files of those that we lack.

A file of the data folder (the environment variable IPFOREST_DATA) under the paper's name is used where there is one:
``miniboone.npz``, ``forest.npz``, ``cifar10.npz``, ``scene15.npz``, ``yahoo.npz``, with the arrays that
`ipforest.datasets.load` reads (X, y, feature_names, class_names, split with 0 train, 1 validation, 2 test, prices, and
for ``yahoo.npz`` queries). `ipforest data NAME FILE` makes them from the files as they are distributed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np

from ipforest import datasets
from ipforest._internal.arrays import Array, IntArray
from ipforest.costs import FeatureCosts
from ipforest.datasets.distributed import SPLIT_SEED, drawn_parts
from ipforest.datasets.named import stored_file
from ipforest.experiments.parts import Parts

STAND_INS = {"miniboone": "miniboone_5k", "forest": "covertype_93k", "sonar": "sonar", "heart": "heart_statlog"}
"""What stands for a paper's data set where the user has no file of it."""

PRICED = ("scene15", "yahoo")
"""Where features have prices of their own."""

FOREST_SPLIT = (36_603, 15_688)
"""Train and validation examples of our Covertype sample, as many as in the papers; the other 40,671 are for testing."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperData:
    """One data set as an experiment uses it.

    Parameters
    ----------
    parts : Parts
        Train, validation and test.
    costs : FeatureCosts
    name : str
        The file that it comes from.
    queries : tuple of ndarray of int64, or None
        The query of each document, of the three parts, where documents are ranked.
    """

    parts: Parts
    costs: FeatureCosts
    name: str
    queries: tuple[IntArray, ...] | None = None


def available(name: str) -> bool:
    """Whether a paper's data set, or what stands for it, can be loaded."""
    stored = datasets.names()
    return name in stored or STAND_INS.get(name) in stored


def digests(names: Iterable[str]) -> dict[str, str]:
    """Return the files of the data folder that stand behind some names, each with a hash of its arrays.

    Data sets that are bundled or generated have no file.
    """
    stored = {name if stored_file(name) else STAND_INS.get(name, name) for name in names}
    files = {name: stored_file(name) for name in sorted(stored)}
    return {name: _digest(file) for name, file in files.items() if file is not None}


@cache
def _digest(file: Path) -> str:
    """Hash the check sums in a .npz, which do not tell when it was written."""
    try:
        with ZipFile(file) as arrays:
            sums = sorted((entry.filename, entry.CRC) for entry in arrays.infolist())
    except BadZipFile:
        return "damaged"
    return sha256(str(sums).encode()).hexdigest()[:16]


def load_whole(name: str) -> tuple[Array, Array]:
    """Load the examples and labels of a small data set that is cross-validated."""
    data = datasets.load(_stored_name(name))
    return data.X, data.y


def load_parts(name: str, n_train: int | None = None) -> PaperData:
    """Load a data set with its split.

    As in the papers the features of MiniBooNE, Forest and CIFAR-10 cost 1 each, documents of Yahoo are relevant (1)
    from degree 1 on, and the first five classes of CIFAR-10 are one, the other five another.

    Parameters
    ----------
    name : str
        "miniboone", "forest", "cifar10", "scene15" or "yahoo".
    n_train : int, optional
        Take so many training examples at most, and as many validation and test examples; of documents whole
        queries, until there are so many.

    Raises
    ------
    FileNotFoundError
        It is not in the data folder.
    """
    stored = _stored_name(name)
    data = datasets.load(stored)
    split = drawn_parts(len(data.y), FOREST_SPLIT) if data.split is None else data.split
    rows = [_sample(np.flatnonzero(split == part), n_train, data.queries) for part in range(3)]
    y = _two_classes(name, data.y)
    parts = Parts.of_rows(data.X, y, rows)
    costs = data.costs if name in PRICED else FeatureCosts.uniform(data.X.shape[1])
    queries = None if data.queries is None else tuple(data.queries[chosen] for chosen in rows)
    return PaperData(parts, costs, stored, queries)


def _two_classes(name: str, y: Array) -> Array:
    """Return the labels as the papers use them."""
    if name == "yahoo":
        return (y > 0).astype(np.int64)
    return (y >= 5).astype(np.int64) if name == "cifar10" and y.max(initial=0) > 1 else y


def two_classes(data: PaperData) -> PaperData:
    """Return the same with the most frequent class of the training examples, 1, against the others, 0."""
    labels, counts = np.unique(data.parts.y_train, return_counts=True)
    most = labels[np.argmax(counts)]
    return replace(data, parts=data.parts.with_targets(lambda y: (y == most).astype(np.int64)))


def _stored_name(name: str) -> str:
    stored = datasets.names()
    if name in stored:
        return name
    if STAND_INS.get(name) in stored:
        return STAND_INS[name]
    files = " or ".join(f"{file}.npz" for file in (name, STAND_INS.get(name)) if file)
    raise FileNotFoundError(
        f"{name}: expected {files} in the data folder that {datasets.DATA_VARIABLE} names, got none; "
        "ipforest.experiments.paper_data says what is in it"
    )


def _sample(rows: IntArray, n_rows: int | None, queries: IntArray | None) -> IntArray:
    """Draw some of the rows, always the same; of documents whole queries, until there are so many."""
    if n_rows is None:
        return rows
    rng = np.random.default_rng(SPLIT_SEED)
    if queries is None:
        return np.sort(rng.permutation(rows)[:n_rows])
    found, query_of_row, sizes = np.unique(queries[rows], return_inverse=True, return_counts=True)
    order = rng.permutation(found.size)
    taken = order[np.cumsum(sizes[order]) - sizes[order] < n_rows]
    return rows[np.isin(query_of_row, taken)]
