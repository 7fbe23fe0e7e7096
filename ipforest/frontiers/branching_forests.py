"""Branching forests: cascades of averaged trees in which what is bought next depends on what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.examples import Labelled
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.forests_on_features import ForestsOnFeatures
from ipforest.frontiers.staged_forests import Wanted
from ipforest.session import Seller
from ipforest.stopping.branching import Planner, reaching, stages_of
from ipforest.stopping.stages import Stage, feature_sets, stage_sizes
from ipforest.stopping.unit_order import LOCAL_LEAF, features_of_units, local_importance

PLANNING_EXAMPLES = 2**13
"""Stages are planned on so many training examples at most."""

PLANNING_CELLS = 2**23
"""And on so few that what each unit tells about each of them takes no more numbers."""

MAX_UNITS = 12
"""Stages have so many units at most: by then nearly all buy the same, and nested forests go on."""

MAX_BRANCHES = 8
"""A stage sends its examples into so many parts at most."""

MIN_SUPPORT, MIN_SUPPORT_SHARE = 50, 1 / 8
"""Fewest examples of a part, and their least share of all: more stages than about eight of a size bring nothing."""

MIN_MEASURED = 1000
"""What units tell is measured anew among examples that part further, if they are so many."""

MEASURING_TREES = 50

MIN_STAGE_EXAMPLES = 1000
"""A stage is trained on the examples that get there, and, where they are fewer, on so many with others."""


class BranchingForests:
    """Plans a cascade in which each part of the examples buys what tells it most per price.

    As in a `BranchingCascade`, except that what units tell is measured anew in large parts, and that where many
    examples get to a stage its trees are trained on these alone.

    Parameters
    ----------
    data : Labelled
        Training examples, some of positive weight.
    forest : Forest
        Trees on all features, by whose tests it is first measured what units tell.
    forests : ForestsOnFeatures
        Grows a few trees on the columns that stand for all features of the same examples.
    of_feature : sequence of ndarray of int64
        The columns that stand for each feature.
    seller : Seller
        Of at least one unit that costs something.
    random : RandomState
    """

    share_of_trees = 0.4

    def __init__(
        self,
        data: Labelled,
        forest: Forest,
        forests: ForestsOnFeatures,
        of_feature: Sequence[IntArray],
        seller: Seller,
        random: np.random.RandomState,
    ) -> None:
        self._X, self._seller, self._random = data.X, seller, random
        n_units, used = seller.costs.n_units, np.flatnonzero(data.weight)
        most = min(PLANNING_EXAMPLES, max(MIN_MEASURED, PLANNING_CELLS // n_units))
        rows = np.sort(random.permutation(used)[:most])
        feature = np.repeat(np.arange(len(of_feature)), [each.size for each in of_feature])
        columns = np.hstack(of_feature)
        stands_for = csr_array((np.ones(columns.size), (columns, feature)), shape=(columns.size, len(of_feature)))
        self._units = stands_for @ features_of_units(seller)
        self._forests = forests.on_rows(rows)
        support = max(MIN_SUPPORT, int(MIN_SUPPORT_SHARE * rows.size))
        worth = local_importance(forest, np.asarray(data.X[rows], dtype=np.float32)) @ features_of_units(seller)
        sizes = [size for size in stage_sizes(len(seller.paid_units())) if size <= MAX_UNITS]
        X, weight = data.X[rows], data.weight[rows]
        self._plans = Planner(X, weight, worth, seller, sizes, MAX_BRANCHES, support, self._worth_among).plans
        self._sets = feature_sets([plan.units for plan in self._plans[1:]], seller)

    def _worth_among(self, rows: IntArray) -> FloatArray | None:
        return self._measured(rows) if rows.size >= MIN_MEASURED else None

    def _measured(self, rows: IntArray) -> FloatArray:
        """Measure what each unit tells about examples in a forest that is grown on them."""
        part = self._forests.on_rows(rows)
        forest = part.random_forest(ceil(LOCAL_LEAF * rows.size))
        return np.asarray(local_importance(forest, part.X) @ self._units)

    @property
    def parts(self) -> bool:
        """Whether any stage sends examples to more than one other."""
        return any(plan.router is not None for plan in self._plans)

    def wanted(self) -> list[Wanted]:
        """See `StagePlans`."""
        n = self._X.shape[0]
        reached = [np.arange(n)] * (len(self._sets) - len(self._plans)) + reaching(self._plans, self._X, self._seller)
        return [(features, self._with_others(rows)) for features, rows in zip(self._sets, reached, strict=True)]

    def _with_others(self, rows: IntArray) -> IntArray:
        missing = min(MIN_STAGE_EXAMPLES, self._X.shape[0]) - rows.size
        if missing <= 0:
            return rows
        others = self._random.permutation(np.setdiff1d(np.arange(self._X.shape[0]), rows))
        return np.sort(np.concatenate([rows, others[:missing]]))

    def cascades(self, models: Sequence[Any]) -> list[tuple[Stage, ...]]:
        """See `StagePlans`."""
        return [stages_of(self._plans, models, self._sets)]
