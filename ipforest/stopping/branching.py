"""BranchingCascade: a nested cascade in which what is bought next depends on what was seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeRegressor

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.examples import Labelled
from ipforest.estimator.checks import check_integer
from ipforest.estimator.given import Given
from ipforest.session import Seller, Unit
from ipforest.settings import Grouped, Settings, checked
from ipforest.stopping.staged_estimator import StagedEstimator
from ipforest.stopping.stages import Stage, feature_sets, stage_sizes, stages_in_order
from ipforest.stopping.unit_order import by_price, features_of_units, importance_to_each, order_units, prices_left
from ipforest.walks import END

BRANCHING_SIZE = 8
"""Examples part while a stage has fewer units than that."""

MOST_COMPARED = 64
"""Examples part by what so many units tell about them, those that tell most."""

COMPARED_AS = 2.0**-7
"""What a unit tells per price is at most this and more than half of it, in whatever units targets and prices are.

scikit-learn's trees take values for equal whose variance is below 2.2e-16, which rounding alone brings about near 1.
"""


@dataclass(slots=True, eq=False)
class Plan:
    """A stage before its model is trained.

    Parameters
    ----------
    units : tuple of Unit
        Bought by then.
    parts : list of ndarray of int64
        The examples that get there, by the stage from which they come.
    following : ndarray of int64
        Numbers of the plans that follow, as in `Stage`.
    router : DecisionTreeRegressor, optional
    """

    units: tuple[Unit, ...]
    parts: list[IntArray]
    following: IntArray = field(default_factory=lambda: np.array([END]))
    router: DecisionTreeRegressor | None = None


class Planner:
    """Plans stages level by level; those with the same units are one.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Training examples.
    weight : ndarray of float64, shape (n_samples,)
        Of the examples, not all 0; for ``min_support`` each counts once.
    worth : ndarray of float64, shape (n_samples, n_units)
        How much each unit tells about each example.
    seller : Seller
    sizes : sequence of int
        How many units the stages have, level by level.
    max_branches, min_support : int
        See `BranchingStages`.
    worth_among : callable (rows) -> ndarray or None, optional
        Measures that anew among examples that part further, shape (n_rows, n_units), if they are enough.

    Attributes
    ----------
    plans : list of Plan
        The first buys nothing; each comes before those that follow it.
    """

    def __init__(
        self,
        X: Array,
        weight: FloatArray,
        worth: FloatArray,
        seller: Seller,
        sizes: Sequence[int],
        max_branches: int,
        min_support: int,
        worth_among: Callable[[IntArray], FloatArray | None] = lambda rows: None,
    ) -> None:
        self._X, self._weight, self._worth = X, weight, worth
        self._seller, self._worth_among = seller, worth_among
        self._max_branches, self._min_support = max_branches, min_support
        self.plans = [Plan((), [np.arange(X.shape[0])])]
        level = range(1)
        for size in sizes:
            numbers: dict[tuple[Unit, ...], int] = {}
            for plan in level:
                self._extend(self.plans[plan], size, numbers)
            level = range(level.stop, len(self.plans))

    def _extend(self, plan: Plan, size: int, numbers: dict[tuple[Unit, ...], int]) -> None:
        """Send the examples of a stage on to stages of a size, new ones or those with numbers."""
        rows = np.concatenate(plan.parts)
        router, leaf = self._router(plan.units, rows)
        goals = np.full(1 if router is None else router.tree_.node_count, END)
        for node in np.unique(leaf):
            part = rows[leaf == node]
            worth = self._mean_worth(part)
            more = by_price(self._seller, worth, plan.units, size - len(plan.units))
            units = tuple(sorted(more, key=lambda unit: unit.index))
            goals[node] = numbers.setdefault(units, len(self.plans))
            if goals[node] == len(self.plans):
                self.plans.append(Plan(units, []))
            self.plans[goals[node]].parts.append(part)
        one_goal = np.unique(goals[leaf]).size == 1
        plan.router, plan.following = (None, goals[leaf[:1]]) if one_goal else (router, goals)

    def _router(self, bought: tuple[Unit, ...], rows: IntArray) -> tuple[DecisionTreeRegressor | None, IntArray]:
        """Part examples by what was seen such that what each unit tells per price differs; give the leaf of each."""
        seen = feature_sets([bought], self._seller)[-1]
        if not seen.size or self._max_branches == 1 or len(bought) >= BRANCHING_SIZE:
            return None, np.zeros(rows.size, dtype=np.int64)
        anew = self._worth_among(rows)
        if anew is not None:
            self._worth[rows] = anew
        left = [unit for unit in self._seller.paid_units() if unit not in bought]
        numbers, prices = np.array([unit.index for unit in left]), prices_left(self._seller, left, bought)
        worth = self._mean_worth(rows)[numbers] / prices
        best = np.sort(np.argsort(-worth, kind="stable")[:MOST_COMPARED])
        ratios = self._worth[np.ix_(rows, numbers[best])] / prices[best]
        router = DecisionTreeRegressor(
            max_leaf_nodes=self._max_branches, min_samples_leaf=self._min_support, random_state=0
        )
        power = np.frexp(np.abs(ratios).max())[1]  # of two, so that the tree is the same
        router.fit(self._X[np.ix_(rows, seen)], COMPARED_AS * np.ldexp(ratios, -power), self._weight[rows])
        return router, router.apply(self._X[np.ix_(rows, seen)])

    def _mean_worth(self, rows: IntArray) -> FloatArray:
        """Average what each unit tells over some examples, shape (n_units,)."""
        return np.asarray(np.average(self._worth[rows], axis=0, weights=self._weight[rows]))


@dataclass(frozen=True, slots=True, repr=False)
class BranchingStages(Settings):
    """Into how many parts, and how small ones, stages send their examples.

    Parameters
    ----------
    max_branches : int, default=8
        Into how many parts a stage may send its examples. There are no branches any more once 8 units are bought.
    min_support : int, default=50
        Fewest training examples of a part.
    """

    parameter: ClassVar[str] = "stages"

    max_branches: int = checked(8, check_integer, 1)
    min_support: int = checked(50, check_integer, 1)


@dataclass(eq=False, repr=False, kw_only=True)
class BranchingCascade(StagedEstimator):
    """A nested cascade in which what is bought next depends on what was seen.

    Each stage has a router, a small regression tree over the features that the stage sees. It parts the examples by
    how much each unit would tell about them, and each part buys what tells it most per price. Parts that buy the same
    share the next stage, whichever way they came: a stage is a set of units, and its model is trained on all examples.
    So the stages form a directed acyclic graph. A `NestedCascade` is trained as well; which of the two is better
    within a budget is chosen on held-out examples.

    Parameters
    ----------
    estimator : estimator, optional
        As in `NestedCascade`.
    stages : BranchingStages, optional
        Into how many parts, and how small ones, stages send their examples.
    stopping, feature_costs, budget, max_cost, scoring, class_costs, n_folds, validation_fraction, n_jobs, random_state
        See `NestedCascade`.

    Attributes
    ----------
    stages_ : tuple of Stage
        The first sees nothing; then what is free.
    candidates_ : tuple of Member
        The nested cascade, and the one that branches, if any stage does.
    rule_, level_, curve_, paths_
        See `EarlyExit`.
    costs_ : FeatureCosts
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)
        Classifiers only.

    References
    ----------
    Wang, Trapeznikov, Saligrama, "Efficient Learning by Directed Acyclic Graph For Resource Constrained Prediction",
    NIPS 2015, for the graph of sets of features with a classifier for each.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import BranchingCascade, NestedCascade, datasets
    >>> cube = datasets.cube(1500)  # which three of 20 features matter follows from the class
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> chain = NestedCascade(forest, budget=4, random_state=0).fit(cube.X[:1000], cube.y[:1000])
    >>> model = BranchingCascade(forest, budget=4, random_state=0).fit(cube.X[:1000], cube.y[:1000])
    >>> model.score(cube.X[1000:], cube.y[1000:]) > chain.score(cube.X[1000:], cube.y[1000:])
    True
    """

    _stages = Grouped(BranchingStages)

    stages: BranchingStages | None = None

    def _alternatives(self, training: Labelled, validation: Labelled, given: Given) -> list[tuple[Stage, ...]]:
        """Train the stages of a nested cascade, and, where what tells most differs, those of one that branches."""
        X, y = training.X, training.y
        seller = self._seller().without_constant(X)
        order = order_units("importance", self._base, training, validation, seller, self.n_jobs)
        sizes, settings = stage_sizes(len(order)), self._stages
        sets = feature_sets([order[:size] for size in sizes], seller)
        nested = stages_in_order(self._models(sets, X, y, given.weight_to_train), sets)
        worth = importance_to_each(training, is_classifier(self._inner)) @ features_of_units(seller)
        plans = Planner(X, training.weight, worth, seller, sizes, settings.max_branches, settings.min_support).plans
        if all(plan.router is None for plan in plans):
            return [nested]
        sets = feature_sets([plan.units for plan in plans[1:]], seller)
        return [nested, stages_of(plans, self._models(sets, X, y, given.weight_to_train), sets)]


def stages_of(plans: Sequence[Plan], models: Sequence[Any], sets: Sequence[IntArray]) -> tuple[Stage, ...]:
    """Put models and what they see into plans; before the first, one sees nothing where features are free."""
    n_before = len(sets) - len(plans)
    before = [Stage(model, features, np.array([1])) for model, features in zip(models, sets[:n_before], strict=False)]
    planned = (
        Stage(model, features, np.where(plan.following == END, END, plan.following + n_before), plan.router)
        for plan, model, features in zip(plans, models[n_before:], sets[n_before:], strict=True)
    )
    return (*before, *planned)


def reaching(plans: Sequence[Plan], X: Array, seller: Seller) -> list[IntArray]:
    """List which examples get to each plan, if none stops; others than the plans were made by.

    Parameters
    ----------
    plans : sequence of Plan
    X : ndarray, shape (n_samples, n_features)
    seller : Seller

    Returns
    -------
    list of ndarray of int64
        Ascending.
    """
    reached = np.zeros((len(plans), X.shape[0]), dtype=bool)
    reached[0] = True
    for number, plan in enumerate(plans):
        rows = np.flatnonzero(reached[number])
        seen = feature_sets([plan.units], seller)[-1]
        place = 0 if plan.router is None else plan.router.apply(X[np.ix_(rows, seen)])
        goal = np.broadcast_to(plan.following[place], rows.shape)
        reached[goal[goal != END], rows[goal != END]] = True
    return [np.flatnonzero(row) for row in reached]
