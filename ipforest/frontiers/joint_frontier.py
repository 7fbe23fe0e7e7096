"""One frontier of many ensembles and of stopping each of them: the base of the estimators that choose among them."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest._internal.examples import Labelled
from ipforest.choosing.class_costs import price_of_a_mistake
from ipforest.choosing.frontier import Frontier
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import FROM_DTYPE, Categories
from ipforest.ensemble.forest import Forest
from ipforest.estimator.checks import check_integer
from ipforest.estimator.given import Given
from ipforest.estimator.predicting import Ready
from ipforest.frontiers.scores import relative_error, soft_cost, soft_error
from ipforest.frontiers.tasks import Classification, Regression, Task
from ipforest.frontiers.work import TimeIsOver, Work
from ipforest.growing.codes import MAX_BINS
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.policy import TreesInOrder
from ipforest.results import Pruning
from ipforest.settings import Grouped, Settings, checked
from ipforest.stopping.paths import FittedRule, StoppingRule
from ipforest.stopping.rules import Curve, LearntStopping, check_stopping, learn_stopping, stopped_by
from ipforest.stopping.stages import Loss, StagesInOrder
from ipforest.stopping.stopped import Member, MemberEstimator

N_FOLDS = 5
MOST_COST_ROWS = 2000
"""Costs of prunings are optimised on a sample of so many training examples."""

MOST_STOPPING_ROWS = 2000
"""Ensembles are measured, and stopping is learnt, on a sample of so many validation examples."""

WORTH_OF_DOUBLING = 3
"""How many more validation examples may be wrong, of two choices, with the one that costs twice as much."""

LUCK_OF_MANY = 3
"""How many fewer validation examples the best of many ensembles must get wrong than a single one does."""

LOSSES_OF_A_MISTAKE = 5
"""So many times the least loss of numbers stands for a mistake, if that is less than 1: both are about three standard
deviations of what an example loses, where a tenth of the examples is mistaken."""

FAR_CHEAPER = 0.6
"""An ensemble is not stopped where for such a share of its cost less is lost, by one validation example at least."""


def of_mistakes(cost: FloatArray, loss: FloatArray) -> float:
    """Return what one mistaken example loses."""
    return 1.0


def of_numbers(cost: FloatArray, loss: FloatArray) -> float:
    """Return what stands for a mistake where losses are shares of a variance; see `LOSSES_OF_A_MISTAKE`."""
    return min(1.0, LOSSES_OF_A_MISTAKE * float(loss.min()))


def of_scores(cost: FloatArray, loss: FloatArray) -> float:
    """Return what buying gains at most, where losses are negative scores of any unit."""
    return float(loss[np.lexsort((loss, cost))[0]] - loss.min())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemberFrontier(Frontier):
    """Members, rules and levels that no cheaper ones match, by rising cost.

    Of thousands of choices some are only lucky on the validation examples. More purchases should not mean more errors:

    - the losses along each rule's levels are replaced by the nearest ones that do not rise with cost (isotonic
      regression);
    - choices are compared by their loss less an allowance for what they spend, which grows by the same amount whenever
      cost doubles. So a cheap lucky one is not taken for every budget above its cost. An estimator that brings a
      single ensemble next to many of others has an allowance, too.

    Parameters
    ----------
    cost, loss : ndarray of float64, shape (n_choices,)
        Averages over the validation examples; see `soft_error`, or, with class costs, `soft_cost`, of which 1 is the
        price of a mistake. For regression, the squared error as a share of the targets' variance, 1 - R^2. Where a
        scorer chooses, negative scores.
    criterion : ndarray of float64, shape (n_choices,)
        The loss less the allowance; falling.
    member : ndarray of int64, shape (n_choices,)
        Which ensemble.
    rule : ndarray of int64, shape (n_choices,)
        Which of its rules, -1 to stop no example.
    level : ndarray of float64, shape (n_choices,)
        Of the rule.
    """

    member: IntArray
    rule: IntArray
    level: FloatArray

    @classmethod
    def of(
        cls,
        members: Sequence[Member],
        cheapest: float,
        n_validation: int,
        unit: Callable[[FloatArray, FloatArray], float] = of_mistakes,
    ) -> Self:
        """Collect what the members come to at every level of every rule, and when no example stops.

        Parameters
        ----------
        members : sequence of Member
        cheapest : float
            The least that a purchase costs; there is no allowance for spending up to it.
        n_validation : int
            Validation examples that losses are averages over.
        unit : callable (cost, loss) -> float, default=of_mistakes
            What an allowance of 1 is: `of_mistakes`, `of_numbers` or `of_scores`.
        """
        parts = []
        for number, member in enumerate(members):
            parts.append((number, -1, np.array([member.cost]), np.array([member.loss]), np.array([-inf])))
            for place, (_, curve) in enumerate(member.learnt):
                parts.append((number, place, curve.cost, _falling(curve), curve.level))
        numbers, places, costs, losses, levels = zip(*parts, strict=True)
        sizes = [part.size for part in costs]
        which, rule = np.repeat(numbers, sizes), np.repeat(places, sizes)
        cost, loss, level = np.concatenate(costs), np.concatenate(losses), np.concatenate(levels)
        sources = Counter(member.source for member in members)
        single = np.array([len(sources) > 1 and sources[member.source] == 1 for member in members])
        allowed = WORTH_OF_DOUBLING * np.log2(np.maximum(cost / cheapest, 1.0)) + LUCK_OF_MANY * single[which]
        criterion = loss - unit(cost, loss) * allowed / n_validation
        found = cls(cost, loss, which, rule, level, criterion=criterion)
        return found.only(found.undominated())

    def renumbered(self) -> Self:
        """Return the same with members numbered from 0, in the order of their old numbers, where some are gone."""
        return replace(self, member=np.unique(self.member, return_inverse=True)[1])

    def choosable(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return the members that a budget may choose, and of their curves no more than the levels that it may."""
        return tuple(self._thinned(members[number], self.member == number) for number in np.unique(self.member))

    def _thinned(self, member: Member, here: BoolArray) -> Member:
        learnt = []
        for place, (rule, curve) in enumerate(member.learnt):
            kept = np.isin(curve.level, self.level[here & (self.rule == place)])
            learnt.append(LearntStopping(rule, type(curve)(*(column[kept] for column in curve))))
        return member._replace(learnt=tuple(learnt))


class Reached:
    """What ensembles, stopped anywhere, have come to so far; tells of others that need not be stopped.

    `JointFrontier._stopped_members` adds each before it asks for the next one, so that what makes them knows by then
    what the last one came to.

    Parameters
    ----------
    n_validation : int

    Attributes
    ----------
    last : Member
        The last one.
    was_hopeless : bool
        Whether something far cheaper had been reached before it.
    """

    def __init__(self, n_validation: int) -> None:
        self._n_validation = n_validation
        self._cost = self._loss = np.empty(0)
        self.was_hopeless = False

    def add(self, member: Member) -> None:
        """Note what a member comes to."""
        self.last = member
        self.was_hopeless = self.has_far_cheaper(member.cost, member.loss)
        curves = [curve for _, curve in member.learnt]
        self._cost = np.concatenate([self._cost, [member.cost], *(curve.cost for curve in curves)])
        self._loss = np.concatenate([self._loss, [member.loss], *map(_falling, curves)])

    def has_far_cheaper(self, cost: float, loss: float) -> bool:
        """Tell whether there is something for at most `FAR_CHEAPER` of a cost that loses clearly less.

        Stopped, an ensemble costs less, but seldom so much less, and loses about as much as it does by itself.
        """
        return bool((self._loss[self._cost <= FAR_CHEAPER * cost] + 1 / self._n_validation <= loss).any())


def _falling(curve: Curve) -> FloatArray:
    """Give the nearest losses along a curve that do not rise with cost."""
    return np.asarray(isotonic_regression(curve.error, increasing=False))


@dataclass(eq=False, repr=False, kw_only=True)
class JointFrontier(MemberEstimator):
    """Base of the estimators that make and stop several ensembles and choose among them for a budget.

    A subclass trains and measures them in `_members`. Everything is chosen on validation examples.

    Attributes
    ----------
    members_ : tuple of Member
    frontier_ : MemberFrontier
        What can be had for which cost.
    choice_ : int
        The place on the frontier that was taken.
    trees_ : TreesInOrder or StagesInOrder
        The trees that predict, or the stages of a cascade.
    n_validation_ : int
        Validation examples that everything was measured on.
    categories_ : Categories
        Which columns are categories.
    costs_ : FeatureCosts
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)
        Classifiers only; None for regression.
    """

    takes_missing = True
    _dtype = np.float32

    categorical_features: Any = FROM_DTYPE

    frontier_: MemberFrontier = field(init=False)
    classes_ = None

    @abstractmethod
    def _members(self, training: Labelled, validation: Labelled, given: Given, work: Work) -> Iterator[Member]:
        """Train ensembles on float32 examples, as long as there is time, and measure them on others."""

    def _read(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Labelled:
        data = super()._read(X, y, sample_weight)
        self.categories_.check(data.X, MAX_BINS)
        return data

    def _categories_in(self, X: Any) -> Categories:
        return Categories.of(X, self.categorical_features, MAX_BINS)

    def _train(
        self, training: Labelled, validation: Labelled, given: Given, *, work: Work | None = None, **options: Any
    ) -> MemberFrontier:
        """Train the members, and put together the frontier; an outer estimator says what time there is."""
        rows, groups = sample_rows(validation.y.size, MOST_STOPPING_ROWS, given.random), given.groups_held_out
        sample = validation if rows.size == validation.y.size else validation.rows(rows)
        sample = sample._replace(X=sample.X.astype(np.float32, copy=False))
        self._groups_held_out = None if groups is None else groups[rows]
        self.members_ = tuple(self._members(training, sample, given, Work() if work is None else work))
        if not self.members_:
            raise TimeIsOver
        self.n_validation_ = int(sample.y.size)
        self._keep_held_out(sample)
        cheapest = min(self.costs_.positive_costs, default=1.0)
        unit = of_scores if self._scorer is not None else of_mistakes if is_classifier(self) else of_numbers
        return MemberFrontier.of(self.members_, cheapest, sample.y.size, unit)

    @property
    def chosen_(self) -> str:
        """What was taken from the frontier, in words."""
        return self._taken

    @property
    def _taken(self) -> str:
        check_is_fitted(self)
        member, rule, _ = self._way
        return f"{member.name}, {'never stopped' if rule is None else stopped_by(rule)}"

    @property
    def _way(self) -> tuple[Member, FittedRule | None, float]:
        columns = self.frontier_.member, self.frontier_.rule, self.frontier_.level
        number, rule, level = (column[self.choice_].item() for column in columns)
        member = self.members_[number]
        return member, None if rule < 0 else member.learnt[rule].rule, level

    @property
    def _task(self) -> Task:
        """What is learnt."""
        return Regression() if self.classes_ is None else Classification(self.classes_)

    @property
    def _stops(self) -> bool:
        """Whether an example may be stopped."""
        return self._stopping is None or bool(self._stopping)

    @property
    def _stopping(self) -> StoppingRule | Sequence[StoppingRule] | None:
        """What stops the ensembles."""
        return None

    def _stopped_members(
        self, made: Iterable[Forest | BoostedTrees], validation: Labelled, reached: Reached
    ) -> Iterator[Member]:
        """Measure ensembles one after another, and learn when to stop those that may be of use."""
        for trees in made:
            member = self._member_of_trees(trees, validation, reached)
            reached.add(member)
            yield member

    def _member_of_trees(
        self, trees: Forest | BoostedTrees, validation: Labelled, reached: Reached | None = None
    ) -> Member:
        """Measure an ensemble, and learn when to stop it, unless as little loss has been reached for far less."""
        policy = TreesInOrder(trees)
        seen = Ready.of(policy, self._seller(), self.max_cost, None).see(validation.X)
        loss, scorer = self._loss_on(validation), self._scorer_on(validation)
        outputs, paid = seen.outputs, seen.paid
        cost = float(paid.mean())
        lost = float(loss(outputs, validation.y).mean()) if scorer is None else -scorer(outputs, paid)
        hopeless = reached is not None and scorer is None and reached.has_far_cheaper(cost, lost)
        if hopeless or not self._stops:
            return Member(policy, cost, lost, ())
        paths, score = self._noted(policy, validation, loss)
        return Member(policy, cost, lost, learn_stopping(self._stopping, paths, N_FOLDS, score))

    def _member_of_stages(
        self,
        policy: StagesInOrder,
        validation: Labelled,
        stopping: StoppingRule | Sequence[StoppingRule] | None,
        n_folds: int = N_FOLDS,
    ) -> Member:
        """Measure stages as ensembles are measured, and learn when to stop them."""
        examples = validation._replace(X=validation.X.astype(np.float64))
        return self._member(policy, examples, self._loss_on(validation), stopping, n_folds)._replace(paths=None)

    def _loss_on(self, validation: Labelled) -> Loss:
        if self.classes_ is None:
            return partial(relative_error, variance=float(validation.y.var()) or 1.0)
        if self.class_costs_ is None:
            return partial(soft_error, classes=self.classes_, n_validation=validation.y.size)
        relative = self.class_costs_ / price_of_a_mistake(self.class_costs_)
        return partial(soft_cost, classes=self.classes_, n_validation=validation.y.size, class_costs=relative)

    def _choose(self) -> None:
        super()._choose()
        offered, choice = self.frontier_, self.choice_
        better = offered.cost[offered.loss < offered.loss[choice]]  # not by the allowance for what is spent alone
        self._warn_if_nothing_is_bought(float(offered.cost[choice]), better)

    @property
    def trees_(self) -> TreesInOrder | StagesInOrder:
        """The ensemble or cascade that is chosen, as it buys when no example stops."""
        policy: TreesInOrder | StagesInOrder = self._way[0].policy
        return policy

    @property
    def _price_of_loss(self) -> float:
        return 1.0 if self.class_costs_ is None else price_of_a_mistake(self.class_costs_)


@dataclass(frozen=True, slots=True, repr=False)
class FrontierSearch(Settings):
    """Which ensembles are grown, pruned and stopped.

    Parameters
    ----------
    n_lambdas : int
        Values of lambda at which ensembles are grown.
    n_prunings : int
        Prunings of each of them that are tried; 0 to prune nothing.
    stopping : StoppingRule or sequence of StoppingRule, optional
        As in `EarlyExit`; an empty sequence to stop no example.
    """

    parameter: ClassVar[str] = "search"

    n_lambdas: int = checked(4, check_integer, 1)
    n_prunings: int = checked(5, check_integer, 0)
    stopping: Any = checked(None, check_stopping, or_empty=True)


class GrownFrontier(JointFrontier):
    """Base of the estimators that grow and prune the ensembles themselves, in `_made`."""

    n_estimators: int
    _search: Grouped[Any]

    @property
    def _stopping(self) -> StoppingRule | Sequence[StoppingRule] | None:
        return cast("StoppingRule | Sequence[StoppingRule] | None", self._search.stopping)

    @abstractmethod
    def _made(self, training: Labelled, validation: Labelled, random: Any, work: Work) -> Iterator[Member]:
        """Grow ensembles from float32 training examples, prune and measure them, one after another, while time is."""

    @property
    @abstractmethod
    def _n_expected(self) -> int:
        """About how many members there will be."""

    def _members(self, training: Labelled, validation: Labelled, given: Given, work: Work) -> Iterator[Member]:
        made = self._made(training, validation, given.random, work)
        return work.through(made, self._n_expected, type(self).__name__)

    def _prunings(self, instance: PruningInstance, work: Work) -> list[tuple[Any, Pruning]]:
        """Find the path of an instance while there is time, and choose prunings; see `spread_prunings`."""
        path = prune_path(instance, progress=lambda *_: work.check())
        return spread_prunings(path, self._search.n_prunings)

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        check_integer(self.n_estimators, "n_estimators", 1)


def sample_of(data: Labelled, most: int, random: Any) -> Labelled:
    """Return the examples, or so many of them drawn without replacement."""
    return data if data.y.size <= most else data.rows(sample_rows(data.y.size, most, random))


def sample_rows(n: int, most: int, random: Any) -> IntArray:
    """Return the numbers of n rows, or so many of them drawn without replacement, ascending."""
    return np.arange(n) if n <= most else np.sort(random.permutation(n)[:most])


def price_scale(costs: Any) -> float:
    """Return a typical price: the median of the units that cost something, 1 if none does."""
    paid = costs.positive_costs
    return float(np.median(paid)) if paid else 1.0


def spread_prunings(path: PruningPath, n_prunings: int) -> list[tuple[Any, Pruning]]:
    """Choose prunings of a path, their costs evenly spaced on a logarithmic scale, the unpruned end left out.

    Returns
    -------
    list of (lambda, Pruning)
        With the smallest lambda from which each is optimal, ascending.
    """
    costs = np.array([float(cost) for cost in path.costs])
    paid = np.flatnonzero(costs > 0)
    if n_prunings == 0 or paid.size < 2:
        return []
    wanted = np.geomspace(costs[0], costs[paid[-1]], n_prunings + 1)[1:]
    nearest = {int(paid[np.argmin(np.abs(np.log(costs[paid] / cost)))]) for cost in wanted}
    starts = path.starts
    return [(starts[index], path.pruning_at(index)) for index in sorted(nearest - {0})]
