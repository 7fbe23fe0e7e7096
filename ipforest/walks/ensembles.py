"""Ensembles of trees one after another, as the compiled walks through stages read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    def joined(cls, ensembles: Iterable[tuple[Forest | BoostedTrees, IntArray]]) -> Self:
        """Put ensembles one after another.

        Parameters
        ----------
        ensembles : iterable of (Forest or BoostedTrees, ndarray of int64)
            With the column of the table that each feature is. None is held longer than it takes to read it.
        """
        parts = [_Part.of(*each) for each in ensembles]
        return cls(
            joined_splits([part.splits for part in parts], [part.answers.shape[0] for part in parts]),
            np.cumsum([0, *(part.splits.root.size for part in parts)]),
            _stacked([part.answers for part in parts]),
            np.array([part.answers.shape[1] for part in parts], dtype=np.int64),
            np.array([part.base_score.size for part in parts], dtype=np.int64),
            np.array([part.link for part in parts], dtype=np.int64),
            np.array([part.narrow for part in parts], dtype=bool),
            np.concatenate([np.empty(0, dtype=np.int32), *(part.first_output for part in parts)]),
            _stacked([part.base_score[None] for part in parts]),
        )


class _Part(NamedTuple):
    """One ensemble; see `Ensembles`."""

    splits: Splits
    answers: Array
    first_output: Array
    base_score: Array
    link: int
    narrow: bool

    @classmethod
    def of(cls, trees: Forest | BoostedTrees, columns: IntArray) -> Self:
        splits, is_leaf = trees.splits, trees.is_leaf
        at_leaves = trees.value[is_leaf]
        first, number = distinct_rows(at_leaves)
        right = splits.right.copy()
        right[is_leaf] = number
        splits = of_columns(splits._replace(right=right), columns)
        narrow = trees.dtype == np.float32
        return cls(splits, at_leaves[first], trees.first_output, trees.base_score, link_of(trees), narrow)


def of_columns(splits: Splits, columns: IntArray) -> Splits:
    """Let trees test columns of a table, of which their features are some."""
    known = columns if columns.size else np.zeros(1, dtype=np.int64)  # leaves alone test nothing
    return splits._replace(feature=known[np.maximum(splits.feature, 0)].astype(np.int32))


def joined_splits(splits: Sequence[Splits], n_answers: Sequence[int]) -> Splits:
    """Count nodes, sets of categories and answers on from those of the trees before.

    Parameters
    ----------
    splits : sequence of Splits
        The right child of a leaf is the number of an answer.
    n_answers : sequence of int
        Answers of each.
    """
    starts = np.cumsum([0, *(each.left.size for each in splits)])
    first_set = np.cumsum([0, *(each.others.size for each in splits)])
    first_listed = np.cumsum([0, *(each.listed.size for each in splits)])
    first_answer = np.cumsum([0, *n_answers])
    nodes = empty_nodes(int(starts[-1]))
    for place, each in enumerate(splits):
        here = nodes[starts[place] : starts[place + 1]]
        here["left"] = np.where(each.left >= 0, each.left + starts[place], each.left)
        here["right"] = each.right + np.where(each.left >= 0, starts[place], first_answer[place])
        here["category_set"] = np.where(each.category_set >= 0, each.category_set + first_set[place], -1)
        for name in ("feature", "threshold", "missing_left"):
            here[name] = getattr(each, name)

    def flat(arrays: Iterable[Array], dtype: type) -> Array:
        return np.concatenate([np.empty(0), *arrays]).astype(dtype)

    offsets = [each.set_offsets[:-1] + start for each, start in zip(splits, first_listed, strict=False)]
    return Splits(
        flat([each.root + start for each, start in zip(splits, starts, strict=False)], np.int64),
        set_offsets=np.append(flat(offsets, np.int64), first_listed[-1]),
        listed=flat([each.listed for each in splits], np.int64),
        others=flat([each.others for each in splits], np.bool_),
        **{name: nodes[name] for name in NODE.fields or ()},
    )


def _stacked(rows: Sequence[Array]) -> Array:
    """Put tables under each other, as wide as the widest."""
    width = max((each.shape[1] for each in rows), default=1)
    return np.concatenate(
        [np.empty((0, width)), *(np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in rows)]
    )
