"""The papers' data sets: those that we have, and the user's own files of those that we lack.

A file of the data folder (the environment variable IPFOREST_DATA) under the paper's name is used where there is one:
``miniboone.npz``, ``forest.npz``, ``cifar10.npz``, ``scene15.npz`` with the arrays that `ipforest.datasets.load` reads
(X, y, feature_names, class_names, split with 0 train, 1 validation, 2 test, and prices). Yahoo's files of the challenge
are read by `read_ranking`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from ipforest import datasets
from ipforest._internal.arrays import Array, IntArray
from ipforest.costs import FeatureCosts
from ipforest.datasets.distributed import SPLIT_SEED, drawn_parts
from ipforest.experiments.demo import Parts

OURS = {"miniboone": "miniboone_5k", "forest": "covertype_93k", "sonar": "sonar", "heart": "heart_statlog"}
"""What stands for a paper's data set where the user has no file of it."""

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
    """

    parts: Parts
    costs: FeatureCosts
    name: str


def available(name: str) -> bool:
    """Whether a paper's data set, or what stands for it, can be loaded."""
    stored = datasets.names()
    return name in stored or OURS.get(name) in stored


def load_whole(name: str) -> tuple[Array, Array]:
    """Load the examples and labels of a small data set that is cross-validated."""
    data = datasets.load(_stored_name(name))
    return data.X, data.y


def load_parts(name: str, n_train: int | None = None) -> PaperData:
    """Load a data set with its split; the features of MiniBooNE, Forest and CIFAR-10 cost 1 each, as in the papers.

    Parameters
    ----------
    name : str
        "miniboone", "forest", "cifar10" or "scene15".
    n_train : int, optional
        Take so many training examples at most, and as many validation and test examples.

    Raises
    ------
    FileNotFoundError
        It is not in the data folder.
    """
    stored = _stored_name(name)
    data = datasets.load(stored)
    split = drawn_parts(len(data.y), FOREST_SPLIT) if data.split is None else data.split
    rows = [_sample(np.flatnonzero(split == part), n_train) for part in range(3)]
    parts = Parts(*(array for chosen in rows for array in (data.X[chosen], data.y[chosen])))
    costs = data.costs if name == "scene15" else FeatureCosts.uniform(data.X.shape[1])
    return PaperData(parts, costs, stored)


def _stored_name(name: str) -> str:
    stored = datasets.names()
    if name in stored:
        return name
    if OURS.get(name) in stored:
        return OURS[name]
    files = " or ".join(f"{file}.npz" for file in (name, OURS.get(name)) if file)
    raise FileNotFoundError(
        f"{name}: expected {files} in the data folder that {datasets.DATA_VARIABLE} names, got none; "
        "ipforest.experiments.paper_data says what is in it"
    )


def _sample(rows: IntArray, n_rows: int | None) -> IntArray:
    """Draw some of the rows, always the same."""
    return rows if n_rows is None else np.sort(np.random.default_rng(SPLIT_SEED).permutation(rows)[:n_rows])


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Documents of queries, in three parts.

    Parameters
    ----------
    parts : Parts
        The labels are grades of relevance.
    queries : tuple of ndarray of int64
        The query of each document, of the three parts.
    costs : FeatureCosts
    """

    parts: Parts
    queries: tuple[IntArray, IntArray, IntArray]
    costs: FeatureCosts

    def binary(self) -> Ranking:
        """Return the same with labels 0 (irrelevant) and 1 (relevant), as the papers use them."""
        parts = replace(
            self.parts,
            y_train=(self.parts.y_train > 0).astype(np.int64),
            y_validation=(self.parts.y_validation > 0).astype(np.int64),
            y_test=(self.parts.y_test > 0).astype(np.int64),
        )
        return replace(self, parts=parts)


def read_ranking(
    train: str | Path, validation: str | Path, test: str | Path, prices: str | Path | None = None
) -> Ranking:
    """Read ranking data in svmlight form with query numbers, as the Yahoo! challenge has them.

    A line is a document: ``grade qid:query feature:value ...``. The licence of the Yahoo! data forbids sharing them;
    get them from Yahoo! Webscope (C14, set 1).

    Parameters
    ----------
    train, validation, test : path
    prices : path, optional
        The price of each feature, a number per line, in the order of the features, of all or of those that occur; by
        default 1 each.

    Returns
    -------
    Ranking
        With the features that occur in a line, in their order: of the 699 of Yahoo's set 1 these are 519.

    Raises
    ------
    ValueError
        A line has no query, or there are not as many prices as features.
    """
    loaded: Any = [_read_svmlight(path) for path in (train, validation, test)]
    width = max(X.shape[1] for X, _, _ in loaded)
    used = np.unique(np.concatenate([X.indices for X, _, _ in loaded]))
    columns: list[Array] = []
    for X, y, _ in loaded:
        X.resize((X.shape[0], width))
        columns += [X[:, used].toarray(), y]
    costs = _prices_of(used, width, prices)
    queries = [queries.astype(np.int64) for _, _, queries in loaded]
    return Ranking(Parts(*columns), (queries[0], queries[1], queries[2]), costs)


def _prices_of(used: IntArray, width: int, file: str | Path | None) -> FeatureCosts:
    """Read the prices of the features that occur."""
    if file is None:
        return FeatureCosts.uniform(used.size)
    prices = np.loadtxt(file, ndmin=1)
    if prices.size not in (used.size, width):
        raise ValueError(
            f"{file}: expected {used.size} prices, one per feature that occurs, or {width}, one per feature, "
            f"got {prices.size}"
        )
    return FeatureCosts((prices if prices.size == used.size else prices[used]).tolist())


def _read_svmlight(path: str | Path) -> Any:
    X, y, queries = load_svmlight_file(str(path), query_id=True, dtype=np.float32)
    if queries.size != y.size:
        raise ValueError(f"{path}: expected qid:NUMBER in each line, got {queries.size} of {y.size}")
    return X, y, queries
