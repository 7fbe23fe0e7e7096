"""Cascades by context: nested forests for parts of the examples, where a feature tells which others matter."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.examples import Labelled
from ipforest.frontiers.forests_on_features import ForestsOnFeatures, impurity_reductions, is_clearly_better
from ipforest.frontiers.staged_forests import Wanted
from ipforest.growing.lookahead import LookaheadGrower, drawn_for_split, is_left
from ipforest.session import Seller, Unit
from ipforest.stopping.stages import Stage, feature_sets, stage_sizes
from ipforest.stopping.unit_order import by_price, features_of_units
from ipforest.walks import END, RouterTree

BETTER_APART = 0.1
"""Examples are parted where forests trained on both parts have errors out of bag that are by such a share lower than
those of one trained on all, and lower beyond luck."""

SMALLEST_PART = 100
"""Training examples that a part has at least, some of each class."""


@dataclass(slots=True, eq=False)
class Part:
    """Training examples, and the context that parts them further, if one does.

    Parameters
    ----------
    rows : ndarray of int64
        The examples.
    worth : ndarray of float64, shape (n_features,)
        By how much the tests of each feature lower the impurity in a random forest that is trained on them.
    errors : ndarray of float64, shape (rows.size,)
        The forest's error on each out of bag; see `Task.losses`.
    context : int
        The feature that tells to which side an example belongs; -1 where nothing does.
    threshold : float
    sides : tuple of Part
        Left, up to the threshold, and right; or none.
    """

    rows: IntArray
    worth: FloatArray
    errors: FloatArray
    context: int = -1
    threshold: float = np.nan
    sides: tuple[Part, ...] = ()


class PartsByContext:
    """Part examples by features that may tell nothing of the target, and yet tell which other features do.

    The feature and its threshold are those of `LookaheadGrower.best_context`. Examples are parted while forests trained
    on both parts have a clearly lower error out of bag than one trained on all.

    Parameters
    ----------
    data : Labelled
        Training examples.
    grower : LookaheadGrower
    forests : ForestsOnFeatures
        Grows the forests, on the columns that stand for all features of the same examples.
    of_feature : sequence of ndarray of int64
        The columns that stand for each feature.
    """

    def __init__(
        self, data: Labelled, grower: LookaheadGrower, forests: ForestsOnFeatures, of_feature: Sequence[IntArray]
    ) -> None:
        self._data, self._grower, self._forests, self._of_feature = data, grower, forests, of_feature
        self._random = np.random.default_rng(0)
        self._task, self._encoded = forests.task, forests.encoded
        self._sums = self._task.moments(self._encoded, data.weight)

    def part(self) -> Part:
        """Part all examples of positive weight as far as it helps."""
        whole = self._whole(np.flatnonzero(self._data.weight))
        remaining = deque([whole])
        while remaining:
            part = remaining.popleft()
            self._divide(part)
            remaining.extend(part.sides)
        return whole

    def _whole(self, rows: IntArray) -> Part:
        forest, answers = self._forests.on_rows(rows).with_best_leaves()
        lowered = impurity_reductions(forest)
        worth = np.array([lowered[columns].sum() for columns in self._of_feature])
        return Part(rows, worth, self._task.losses(answers, self._encoded[rows], self._data.y.size))

    def _divide(self, part: Part) -> None:
        rows = part.rows
        sample, tried = drawn_for_split(rows, self._data.X.shape[1], self._random)
        feature, threshold = self._grower.best_context(self._data.X[sample], self._sums[sample], tried)
        if feature < 0:
            return
        goes_left = is_left(self._data.X[rows, feature], threshold)
        both = rows[goes_left], rows[~goes_left]
        if not all(side.size >= SMALLEST_PART and self._task.has_all(self._encoded[side]) for side in both):
            return
        sides = self._whole(both[0]), self._whole(both[1])
        apart = np.empty(rows.size)
        apart[goes_left], apart[~goes_left] = (side.errors for side in sides)
        if is_clearly_better(part.errors, apart, self._data.weight[rows], BETTER_APART):
            part.context, part.threshold, part.sides = feature, threshold, sides


@dataclass(frozen=True, slots=True)
class ContextRouter:
    """Tells to which side of a context examples belong: 0, up to the threshold, or 1, above it or unknown.

    Parameters
    ----------
    column : int
        Of what the stage sees.
    threshold : float
    """

    column: int
    threshold: float

    def apply(self, X: Array) -> IntArray:
        """Give the side of each example, shape (n_samples,)."""
        return np.where(is_left(X[:, self.column], self.threshold), 0, 1)

    def as_tree(self) -> RouterTree:
        """Write it as a tree, whose leaves are its sides."""
        threshold = np.full(3, self.threshold)
        column, no = np.full(3, self.column), np.zeros(3, dtype=bool)
        left, right, goal = np.array([[1, -1, -1], [2, -1, -1], [-1, 0, 1]])
        return RouterTree.of(left, right, column, threshold, no, goal, narrow=False)


@dataclass(slots=True, eq=False)
class _Plan:
    """A stage before its model is trained.

    ``part`` are the examples that it is trained on, ``following`` the plans that come next: the only one, or those of
    both sides of the part. ``first`` is the first of the last parts that it leads to.
    """

    part: Part
    features: IntArray
    first: int
    following: list[_Plan] = field(default_factory=list)


class ContextCascades:
    """Plans cascades that ask for a context first, and then for what matters in it.

    An example first buys the context that parts all examples, then the one that parts its side, and so on. Where
    examples are parted no more, nested forests follow that were trained on that part alone, with units in the order of
    their importance there, per price. The first cascade serves one part only, the second two, and so on, those first
    that are known after the fewest contexts: the other examples stop where they are known to belong to none of these.

    Parameters
    ----------
    whole : Part
    seller : Seller
    """

    share_of_trees = 0.7

    def __init__(self, whole: Part, seller: Seller) -> None:
        self._seller = seller
        self._units = {unit.index: unit for unit in seller.paid_units()}
        self._rank = {id(part): rank for rank, part in enumerate(_last_parts(whole))}
        self._plans: list[_Plan] = []
        start = [self._add(whole, features, 0) for features in feature_sets([], seller)]
        for plan, following in pairwise([*start, self._planned(whole, ())]):
            plan.following = [following]

    def wanted(self) -> list[Wanted]:
        """See `StagePlans`."""
        return [(plan.features, plan.part.rows) for plan in self._plans]

    def cascades(self, models: Sequence[Any]) -> list[tuple[Stage, ...]]:
        """See `StagePlans`."""
        trained = list(zip(self._plans, models, strict=True))
        return [_cascade([each for each in trained if each[0].first < n]) for n in range(1, len(self._rank) + 1)]

    def _add(self, part: Part, features: IntArray, first: int) -> _Plan:
        self._plans.append(_Plan(part, features, first))
        return self._plans[-1]

    def _planned(self, part: Part, bought: tuple[Unit, ...]) -> _Plan:
        """Plan what comes next for a part of which some units are bought; return the first plan."""
        if not part.sides:
            return self._nested(part, bought)
        unit = self._units.get(int(self._seller.first_unit[part.context]))
        units = bought if unit is None or unit in bought else (*bought, unit)
        plan = self._add(part, self._seen(units), min(self._rank[id(last)] for last in _last_parts(part)))
        plan.following = [self._planned(side, units) for side in part.sides]
        return plan

    def _nested(self, part: Part, bought: tuple[Unit, ...]) -> _Plan:
        """Plan stages on the units of most importance in a part."""
        worth = part.worth @ features_of_units(self._seller)
        n_more = len(self._units) - len(bought)
        order = by_price(self._seller, worth, bought, n_more)
        chain = [
            self._add(part, self._seen(units), self._rank[id(part)])
            for units in (order[: len(bought) + n] for n in stage_sizes(n_more) or [0])
        ]
        for plan, following in pairwise(chain):
            plan.following = [following]
        return chain[0]

    def _seen(self, units: tuple[Unit, ...]) -> IntArray:
        return np.sort(feature_sets([units], self._seller)[-1])


def _last_parts(whole: Part) -> list[Part]:
    """List the parts that are not parted, those first that are known after the fewest contexts."""
    parts = [whole]
    for part in parts:
        parts.extend(part.sides)
    return [part for part in parts if not part.sides]


def _cascade(trained: Sequence[tuple[_Plan, Any]]) -> tuple[Stage, ...]:
    """Link stages; examples stop where what would follow is not among them."""
    number = {id(plan): place for place, (plan, _) in enumerate(trained)}

    def stage(plan: _Plan, model: Any) -> Stage:
        goals = np.array([number.get(id(following), END) for following in plan.following] or [END])
        if goals.size == 1:
            return Stage(model, plan.features, goals)
        column = int(np.searchsorted(plan.features, plan.part.context))
        return Stage(model, plan.features, goals, ContextRouter(column, plan.part.threshold))

    return tuple(stage(plan, model) for plan, model in trained)
