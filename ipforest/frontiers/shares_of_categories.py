"""SharesOfCategories: numbers that stand for categories, and tests of these numbers as tests of the categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, IntArray
from ipforest.ensemble.category_sets import CategorySets
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.tasks import Task
from ipforest.growing.codes import MAX_BINS

UNKNOWN, MISSING = MAX_BINS, MAX_BINS + 1
"""Rows of the numbers that stand for a category that training did not have, and for none."""


@dataclass(frozen=True, slots=True, eq=False)
class SharesOfCategories:
    """Class shares, or mean targets, of the training examples with each category.

    Parameters
    ----------
    numbers : ndarray of float32, shape (MAX_BINS + 2, n_columns)
        What stands for each category in the columns of all features of categories, then for an unknown and a missing
        one.
    of_feature : dict of ndarray of int64
        The columns that stand for each feature of categories.
    """

    numbers: npt.NDArray[np.float32]
    of_feature: dict[int, IntArray]

    @classmethod
    def of(cls, X: Array, y: Array, categories: Sequence[int], task: Task) -> Self:
        """Learn the shares of the categories in some features of training examples."""
        if not categories:
            return cls(np.empty((MISSING + 1, 0), dtype=np.float32), {})
        every = np.append(np.arange(UNKNOWN + 1, dtype=np.float64), np.nan)
        encoder = task.encoder().fit(X[:, categories], y)
        numbers = encoder.transform(np.repeat(every[:, None], len(categories), axis=1)).astype(np.float32)
        columns = np.split(np.arange(numbers.shape[1]), len(categories))
        return cls(numbers, dict(zip(categories, columns, strict=True)))

    def columns(self, X: Array) -> npt.NDArray[np.float32]:
        """Give what stands for the categories of training examples, shape (n_samples, n_columns)."""
        parts = [
            self.numbers[np.where(np.isnan(values := X[:, feature]), MISSING, values).astype(np.int64)[:, None], own]
            for feature, own in self.of_feature.items()
        ]
        return np.hstack([np.empty((X.shape[0], 0), dtype=np.float32), *parts])

    def as_tests_of_categories(self, forest: Forest, columns: IntArray, features: IntArray) -> Forest:
        """Have a forest test categories where it tests the numbers that stand for them.

        Parameters
        ----------
        forest : Forest
            On some of the columns of `columns`, and others.
        columns : ndarray of int64
            Which they are; other ones have larger numbers.
        features : ndarray of int64
            The place of the feature for which each of them stands.

        Returns
        -------
        Forest
            On the features; it answers the same.
        """
        column = columns[np.maximum(forest.feature, 0)]
        tests = np.flatnonzero((forest.feature >= 0) & (column < self.numbers.shape[1]))
        rank, at_most = np.empty(self.numbers.shape, dtype=np.int64), np.empty(tests.size, dtype=np.int64)
        for place in np.unique(column[tests]).tolist():
            values, rank[:, place] = np.unique(self.numbers[:, place], return_inverse=True)
            here = column[tests] == place
            at_most[here] = np.searchsorted(values.astype(np.float64), forest.threshold[tests[here]], side="right")
        of_set, number = np.unique(column[tests] * (MISSING + 2) + at_most, return_inverse=True)
        of_column, below = np.divmod(of_set, MISSING + 2)
        goes_left = rank[:, of_column] < below
        threshold, missing_left = forest.threshold.copy(), forest.missing_left.copy()
        category_set = np.full(forest.n_nodes, -1, dtype=np.int32)
        threshold[tests], missing_left[tests], category_set[tests] = 0.0, goes_left[MISSING, number], number
        return replace(
            forest,
            feature=np.where(forest.feature < 0, -1, features[np.maximum(forest.feature, 0)]).astype(np.int32),
            threshold=threshold,
            missing_left=missing_left,
            n_features=int(features.max()) + 1,
            category_set=category_set,
            left_categories=CategorySets.of(
                (np.flatnonzero(left[:UNKNOWN] != left[UNKNOWN]), bool(left[UNKNOWN])) for left in goes_left.T
            ),
        )
