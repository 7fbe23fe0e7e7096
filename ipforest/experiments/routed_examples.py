"""Examples routed once through a forest, so that many of its prunings are scored quickly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, FloatArray, Int32Array
from ipforest.costs import FeatureCosts
from ipforest.ensemble import routing
from ipforest.ensemble.first_uses import FirstNeeds, first_needs, mark_needs
from ipforest.ensemble.forest import Forest
from ipforest.experiments.metrics import error_of_scores
from ipforest.results import Pruning


class Score(NamedTuple):
    """Average cost and error; see `error_of_scores`."""

    cost: float
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class RoutedExamples:
    """Examples, and the leaves of the unpruned forest that they reach.

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of int32, shape (n_trees, n_samples)
    y : ndarray, shape (n_samples,)
        Labels.
    classes : ndarray, shape (n_classes,)
    needs : FirstNeeds
        The units that each node needs first.
    unit_costs : ndarray of float64, shape (n_units,)
    queries : ndarray of int64, shape (n_samples,), or None
        The query of each example, if they are documents to be ranked.
    """

    forest: Forest
    leaves: Int32Array
    y: Array
    classes: Array
    needs: FirstNeeds
    unit_costs: FloatArray
    queries: Array | None = None

    @classmethod
    def of(
        cls, forest: Forest, X: npt.ArrayLike, y: npt.ArrayLike, costs: FeatureCosts, queries: Array | None = None
    ) -> Self:
        """Route examples of shape (n_samples, n_features) with their labels."""
        leaves = forest.leaves(forest.checked_examples(X))
        needs = first_needs(forest.parent, forest.feature, costs.unit_indptr, costs.unit_indices)
        prices = costs.float_unit_costs
        return cls(forest, leaves, np.asarray(y), np.asarray(forest.classes), needs, prices, queries)

    def score(self, pruning: Pruning) -> Score:
        """Measure the pruned forest, in which trees without a test do not vote; see `Forest.voting_trees`."""
        forest = self.forest
        split = np.zeros(forest.n_nodes, dtype=bool)
        split[forest.internal_nodes] = pruning.kept
        last = np.empty(forest.n_nodes, dtype=np.int32)
        routing.last_nodes(forest.parent, split, last)
        reached = last[self.leaves]
        needed = np.zeros((self.y.size, self.unit_costs.size), dtype=np.uint8)
        mark_needs(self.needs, reached, needed)
        votes = forest.value[reached[forest.voting_trees(split)]].sum(axis=0)
        error = error_of_scores(self.y, votes, self.classes, self.queries)
        return Score(float(needed.mean(axis=0) @ self.unit_costs), error)
