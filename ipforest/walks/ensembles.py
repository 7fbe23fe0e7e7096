"""Ensembles of trees one after another, as the compiled walks through stages read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from ipforest._internal.arrays import Array, IntArray
from ipforest._internal.distinct_rows import distinct_rows
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.routing import Splits
from ipforest.walks.trees import NODE, empty_nodes, link_of


class Ensembles(NamedTuple):
    """Ensembles one after another.

    Parameters
    ----------
    splits : Splits
        Features are columns of the table; the right child of a leaf is the row of what it answers.
    first_tree : ndarray of int64, shape (n_ensembles + 1,)
    answers : ndarray of float64, shape (n_answers, n_values)
        Those of all leaves of an ensemble that are equal stand here once.
    n_values, n_margins, link : ndarray of int64, shape (n_ensembles,)
        See `SeenTrees`.
    narrow : ndarray of bool, shape (n_ensembles,)
        Whether numbers are compared as float32.
    first_output : ndarray of int32, shape (n_trees,)
    base_score : ndarray of float64, shape (n_ensembles, most margins)
    """

    splits: Splits
    first_tree: Array
    answers: Array
    n_values: Array
    n_margins: Array
    link: Array
    narrow: Array
    first_output: Array
    base_score: Array

    @classmethod
    def joined(cls, ensembles: Iterable[tuple[Forest | BoostedTrees, IntArray]], n_nodes: int) -> Self:
        """Put ensembles one after another.

        Parameters
        ----------
        ensembles : iterable of (Forest or BoostedTrees, ndarray of int64)
            With the column of the table that each feature is. None is held longer than it takes to read it.
        n_nodes : int
            Of all of them.
        """
        parts: list[_Part] = []

        def read() -> Iterator[tuple[Splits, int]]:
            for trees, columns in ensembles:
                splits, part = _read(trees, columns)
                parts.append(part)
                yield splits, part.answers.shape[0]

        return cls(
            joined_splits(read(), n_nodes),
            np.cumsum([0, *(part.first_output.size for part in parts)]),
            _stacked([part.answers for part in parts]),
            np.array([part.answers.shape[1] for part in parts], dtype=np.int64),
            np.array([part.base_score.size for part in parts], dtype=np.int64),
            np.array([part.link for part in parts], dtype=np.int64),
            np.array([part.narrow for part in parts], dtype=bool),
            np.concatenate([np.empty(0, dtype=np.int32), *(part.first_output for part in parts)]),
            _stacked([part.base_score[None] for part in parts]),
        )


class _Part(NamedTuple):
    """One ensemble without its nodes; see `Ensembles`."""

    answers: Array
    first_output: Array
    base_score: Array
    link: int
    narrow: bool


def _read(trees: Forest | BoostedTrees, columns: IntArray) -> tuple[Splits, _Part]:
    splits, leaves = trees.splits, np.flatnonzero(trees.is_leaf)
    at_leaves = trees.value[leaves]
    first, number = distinct_rows(at_leaves)
    right = splits.right.copy()
    right[leaves] = number
    part = _Part(at_leaves[first], trees.first_output, trees.base_score, link_of(trees), trees.dtype == np.float32)
    return of_columns(splits._replace(right=right), columns), part


def of_columns(splits: Splits, columns: IntArray) -> Splits:
    """Let trees test columns of a table, of which their features are some."""
    known = columns if columns.size else np.zeros(1, dtype=np.int64)  # leaves alone test nothing
    return splits._replace(feature=known[np.maximum(splits.feature, 0)].astype(np.int32))


def joined_splits(splits: Iterable[tuple[Splits, int]], n_nodes: int) -> Splits:
    """Count nodes, sets of categories and answers on from those of the trees before.

    Parameters
    ----------
    splits : iterable of (Splits, int)
        With the number of answers; the right child of a leaf is one of them. None is held longer than it takes to copy
        its nodes.
    n_nodes : int
        Of all of them.
    """
    nodes = empty_nodes(n_nodes)
    roots, offsets, listed, others = ([np.empty(0, dtype=np.int64)] for _ in range(4))
    start = n_answers = n_listed = n_sets = 0
    for each, own_answers in splits:
        here, is_leaf = nodes[start : start + each.left.size], each.left < 0
        here["left"] = np.where(is_leaf, each.left, each.left + start)
        here["right"] = each.right + np.where(is_leaf, n_answers, start)
        here["category_set"] = np.where(each.category_set >= 0, each.category_set + n_sets, -1)
        for name in ("feature", "threshold", "missing_left"):
            here[name] = getattr(each, name)
        roots.append(each.root + start)
        offsets.append(each.set_offsets[:-1] + n_listed)
        listed.append(each.listed)
        others.append(each.others)
        start, n_answers = start + each.left.size, n_answers + own_answers
        n_listed, n_sets = n_listed + each.listed.size, n_sets + each.others.size
    return Splits(
        np.concatenate(roots),
        set_offsets=np.append(np.concatenate(offsets), n_listed),
        listed=np.concatenate(listed).astype(np.int64),
        others=np.concatenate(others).astype(np.bool_),
        **{name: nodes[name] for name in NODE.fields or ()},
    )


def _stacked(rows: Sequence[Array]) -> Array:
    """Put tables under each other, as wide as the widest."""
    width = max((each.shape[1] for each in rows), default=1)
    return np.concatenate(
        [np.empty((0, width)), *(np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in rows)]
    )
