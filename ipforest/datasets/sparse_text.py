"""Lines of a label and numbered features: data of rankings, and the text format of BudgetRF's authors."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from ipforest._internal.arrays import Array
from ipforest.datasets.raw_files import file_bytes, file_in, numbers_in
from ipforest.datasets.tables import Tables

__all__ = ["read_budgetrf", "read_letor", "read_yahoo"]

BUDGETRF_PARTS = ("_tr", "_tv", "_te")
MAX_FEATURES = 100_000
"""Columns of a sparse file that are made room for."""


def read_yahoo(folder: Path) -> Tables:
    """Read set 1 of Yahoo's learning to rank challenge, ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt``.

    A line is a document: ``degree qid:query feature:value ...``. Of the 699 features those are taken that occur, 519.
    Their prices are not distributed with the set: the file ``yahoo_cs_cost`` of BudgetRF's authors, a price per line in
    the order of these features, is read where it is in the folder; else each costs 1.
    """
    files = [file_in(folder, f"set1.{part}.txt") for part in ("train", "valid", "test")]
    prices = folder / "yahoo_cs_cost"
    return _documents(files, prices if prices.is_file() else None)


def read_letor(folder: Path) -> Tables:
    """Read a fold of LETOR, ``train.txt``, ``vali.txt`` and ``test.txt``; each feature costs 1."""
    return _documents([file_in(folder, f"{part}.txt") for part in ("train", "vali", "test")], None)


def read_budgetrf(folder: Path) -> Tables:
    """Read files in the text format of the program that BudgetRF's and BudgetPrune's authors released.

    The folder has one file each whose name ends with ``_tr`` (train), ``_tv`` (validation) and ``_te`` (test). A line
    is an example, ``label feature:value ...``, or a document, ``degree qid:query feature:value ...``; features are
    numbered from 1. A file that ends with ``_cost`` has the price of each feature, a line each, and one that ends with
    ``_costgroup`` the number of its descriptor: what a descriptor costs is paid once for all its features.
    """
    files = [path for ending in BUDGETRF_PARTS if (path := _ending(folder, ending)) is not None]
    if len(files) != len(BUDGETRF_PARTS):
        raise FileNotFoundError(
            f"{folder}: expected one file each that ends with {', '.join(BUDGETRF_PARTS)} in the folder, "
            f"got {len(files)}"
        )
    cost, group = _ending(folder, "_cost"), _ending(folder, "_costgroup")
    if group is not None and cost is None:
        raise FileNotFoundError(
            f"{group}: expected the prices of the features in a file that ends with _cost, got none"
        )
    parts = [_sparse(path) for path in files]
    width = max(X.shape[1] for X, _, _ in parts)
    prices = None if cost is None else _column(cost, np.float64)
    if prices is not None and prices.size < width:
        raise ValueError(f"{cost}: expected {width} prices, one per feature, got {prices.size}")
    width = width if prices is None else prices.size
    groups = None if group is None else _column(group, np.int64)
    if groups is not None and groups.size != width:
        raise ValueError(f"{group}: expected {width} numbers of descriptors, one per price, got {groups.size}")
    return _joined(files, parts, np.arange(width), prices, groups)


def _ending(folder: Path, ending: str) -> Path | None:
    """Find the file whose name ends so, if there is one."""
    found = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
    if len(found) > 1:
        raise ValueError(f"{folder}: expected one file that ends with {ending}, got {len(found)}")
    return found[0] if found else None


def _documents(files: list[Path], prices_file: Path | None) -> Tables:
    """Read documents of queries, with the features that occur, in their order."""
    parts = [_sparse(path) for path in files]
    for path, (_, y, queries) in zip(files, parts, strict=True):
        if queries.size != y.size:
            raise ValueError(f"{path}: expected qid:NUMBER in each line, got {queries.size} of {y.size}")
    used = np.unique(np.concatenate([X.indices for X, _, _ in parts]))
    prices = None if prices_file is None else _column(prices_file, np.float64)
    width = max(X.shape[1] for X, _, _ in parts)
    if prices is not None and prices.size not in (used.size, width):
        raise ValueError(
            f"{prices_file}: expected {used.size} prices, one per feature that occurs, or {width}, one per feature, "
            f"got {prices.size}"
        )
    if prices is not None and prices.size != used.size:
        prices = prices[used]
    return _joined(files, parts, used, prices, None)


def _joined(
    files: list[Path], parts: list[tuple[Any, Array, Array]], used: Array, prices: Array | None, groups: Array | None
) -> Tables:
    """Put train, validation and test together, with some of the features."""
    columns: list[Array] = []
    for X, _, _ in parts:
        X.resize((X.shape[0], int(used.max(initial=-1)) + 1))
        columns.append(X[:, used].toarray())
    degrees = np.concatenate([y for _, y, _ in parts])
    if not np.array_equal(degrees, np.rint(degrees)):
        raise ValueError(f"{files[0].parent}: expected whole numbers as labels, got other values")
    labels, y = np.unique(degrees.astype(np.int64), return_inverse=True)
    ranked = all(queries.size == of_part.size for _, of_part, queries in parts)
    return Tables(
        np.concatenate(columns),
        y.astype(np.int64),
        [f"feature{number + 1}" for number in used.tolist()],
        [str(label) for label in labels],
        np.repeat([0, 1, 2], [X.shape[0] for X, _, _ in parts]).astype(np.uint8),
        np.concatenate([queries for _, _, queries in parts]).astype(np.int64) if ranked else None,
        prices,
        groups,
    )


def _sparse(path: Path) -> tuple[Any, Array, Array]:
    """Read lines of a label, perhaps a query, and features with their values."""
    try:
        X, y, queries = load_svmlight_file(BytesIO(file_bytes(path)), dtype=np.float32, zero_based=False, query_id=True)
    except (ValueError, OverflowError) as problem:
        raise ValueError(f"{path}: expected lines of a label and feature:value, got: {problem}") from None
    if X.shape[1] > MAX_FEATURES:
        raise ValueError(f"{path}: expected at most {MAX_FEATURES} features, got number {X.shape[1]}")
    return X, y, queries


def _column(path: Path, dtype: type) -> Array:
    """Read a number per line; there may be empty lines between them."""
    values = numbers_in(BytesIO(file_bytes(path)), path, dtype)
    if values.shape[1] != 1:
        raise ValueError(f"{path}: expected one number in each line, got {values.shape[1]}")
    return values[:, 0]
