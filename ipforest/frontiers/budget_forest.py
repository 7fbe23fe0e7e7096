"""BudgetForest: averaged trees that pay for features together, pruned exactly, grown anew on what is bought."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from ipforest._internal.arrays import Array, FloatArray, IntArray, evenly_spread
from ipforest._internal.examples import Labelled
from ipforest.ensemble.forest import Forest
from ipforest.estimator.checks import check_choice, check_integer
from ipforest.estimator.kinds import Classifies, Regresses
from ipforest.frontiers.averaged_trees import LEAF_SIZES, last_before_rise
from ipforest.frontiers.branching_forests import MEASURING_TREES, BranchingForests
from ipforest.frontiers.context_cascades import ContextCascades, PartsByContext
from ipforest.frontiers.forests_on_features import (
    Trained,
    answers_out_of_bag,
    bagged,
    free_features,
    impurity_reductions,
    is_clearly_better,
    n_drawn,
)
from ipforest.frontiers.joint_frontier import (
    MOST_COST_ROWS,
    FrontierSearch,
    GrownFrontier,
    Reached,
    price_scale,
    sample_of,
)
from ipforest.frontiers.nested_forests import NestedForests
from ipforest.frontiers.staged_forests import EncodedExamples, StagedForests, StagePlans
from ipforest.frontiers.work import Work
from ipforest.growing import AcquisitionState, CodedExamples, Grower, GrownTree, GrownTrees, LookaheadGrower
from ipforest.growing.codes import check_max_bins
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.results import Pruning
from ipforest.session import Seller
from ipforest.settings import Grouped, Settings, checked
from ipforest.stopping.stages import StagesInOrder
from ipforest.stopping.stopped import Member

LARGEST, SMALLEST = 0.1, 0.01
"""Growing prices a typical unit at these shares of the impurity of all examples, and some between; and at nothing."""

PRICED_LEAF, PRICED_LEAF_SHARE = 5, 1 / 200
"""Fewest examples per leaf, and their least share of all, where splits are priced.

Among few examples some split always seems worth its price.
"""

LOOKAHEAD_LEAF_SHARE = 1 / 2000
"""Least share of all examples per leaf of trees that look ahead, of which each node takes a millisecond."""

UNAFFORDABLE = 1e12
"""So many times the impurity of all examples does the cheapest unit cost where only what is bought may be tested."""

MOST_REGROWN = 6
"""Forests are grown anew on what so many of the frontier buy, evenly spread over its order of cost."""

FIRST_AHEAD = 3
"""So many trees with lookahead tell whether more are grown."""

JUDGING_EXAMPLES = 2**13
"""They are grown on so many examples first: on 45,000, these three trees took a sixth of training."""

JUDGING_TREES = 40
"""Forests of no more trees tell whether a context is worth asking for."""


@dataclass(frozen=True, slots=True, repr=False)
class ForestGrowth(Settings):
    """How averaged trees grow.

    Parameters
    ----------
    max_features : int or None, optional
        Features that a split is chosen from, drawn at random, where nothing is paid; by default the square root of
        their number. With prices, splits are chosen from all features; regrown trees choose from all that are bought,
        nested forests as `AveragedTrees` does.
    min_samples_leaf : int, optional
        Fewest examples per leaf. By default those of 1, 3 and 10 with which an unpriced forest has the least error out
        of bag, as in `AveragedTrees`. Where splits are priced, leaves have at least 5 examples and a 200th of all.
    max_bins : int or None, default=64
        Thresholds lie between so many bins per feature; with None between any two values.
    max_samples : int or None, default=131072
        Examples drawn for each tree at most; up to that, and always with None, as many as there are. Where there are
        more, time and size of the model do not grow with them, but each tree sees others, and all of them judge, choose
        and learn when to stop. Lower, training is faster and errors larger: `docs/performance.md` has figures.
    """

    parameter: ClassVar[str] = "growth"

    max_features: int | None = checked(None, check_integer, 1, or_none=True)
    min_samples_leaf: int | None = checked(None, check_integer, 1, or_none=True)
    max_bins: int | None = checked(64, check_max_bins)
    max_samples: int | None = checked(2**17, check_integer, 1, or_none=True)


@dataclass(frozen=True, slots=True, repr=False)
class ForestSearch(FrontierSearch):
    """Which forests are grown, pruned and stopped.

    Parameters
    ----------
    n_lambdas : int, default=4
        Values of lambda at which forests are grown, 0 among them.
    n_prunings : int, default=5
        Prunings of each of them that are tried; 0 to prune nothing.
    regrow : bool, default=True
        Whether trees are grown anew on what a priced or pruned forest buys, of those that no cheaper one matches.
    nested : bool, default=True
        Whether nested forests are tried, unless no example is stopped: with units in the order of how many examples buy
        them in all the other forests, per price, and with units in the order of their importance there, per price;
        branching, so that each part of the examples buys next what tells it
        most per price (`ipforest.frontiers.branching_forests.BranchingForests`); and in each context, where there are
        any. Their settings are chosen on three sets of features
        (`ipforest.frontiers.forests_on_features.ForestsOnFeatures`). Without, no contexts are sought.
    n_lookahead : int, default=20
        Trees of the forest whose splits look one level ahead (`LookaheadGrower`); 0 to grow none, and to seek no
        contexts. Neither is done where the first three lose no less out of bag than trees of plain splits.
    loss : {"gini", "entropy", "misclassification"}, optional
        What the nodes of a pruning lose; see `ipforest.losses.node_errors`. By default
        "gini" for classes; for numbers it is always the squared error.
    stopping : StoppingRule or sequence of StoppingRule, optional
        As in `EarlyExit`; an empty sequence to stop no example.
    """

    regrow: bool = True
    nested: bool = True
    n_lookahead: int = checked(20, check_integer, 0)
    loss: str | None = checked(None, check_choice, ("gini", "entropy", "misclassification", None))


@dataclass(eq=False, repr=False)
class GrownForests(GrownFrontier):
    """Base of `BudgetForest` and `BudgetForestRegressor`, which differ in what they learn (`Task`)."""

    _growth = Grouped(ForestGrowth)
    _search = Grouped(ForestSearch)

    n_estimators: int = 50
    _: KW_ONLY
    growth: ForestGrowth | None = None
    search: ForestSearch | None = None
    n_jobs: int | None = None

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        if not is_classifier(self) and self._search.loss is not None:
            raise ValueError(f"search.loss: expected None for regression, got {self._search.loss!r}")

    @property
    def _loss_of_nodes(self) -> str:
        return "squared_error" if self.classes_ is None else self._search.loss or "gini"

    @property
    def _n_expected(self) -> int:
        n_grown = self._search.n_lambdas * (1 + self._search.n_prunings)
        n_ahead = 1 + self._search.n_prunings if self._search.n_lookahead else 0
        n_regrown = n_grown // 2 if self._search.regrow else 0
        return int(1 + n_grown + n_regrown + n_ahead + (3 if self._search.nested else 0))

    def _made(self, training: Labelled, validation: Labelled, random: Any, work: Work) -> Iterator[Member]:
        X = np.ascontiguousarray(training.X, dtype=np.float32)
        coded = CodedExamples.from_examples(X, self._growth.max_bins, self.categories_.mask(X.shape[1]))
        data = _Training(X, coded, self._task.encoded(training.y), training.weight, work)
        run = _Run(data, training, validation, random)
        paying = sample_of(training, MOST_COST_ROWS, random)
        unpriced = self._unpriced(run)
        grown: list[Forest] = []
        reached = Reached(validation.y.size)
        priced = self._priced_and_pruned(run, unpriced, paying)
        yield from self._stopped_members(_noted(priced, grown), validation, reached)
        seller = self._seller().without_constant(training.X)
        staged = self._search.nested and self._stops and bool(seller.paid_units())
        forests = self._staged_forests(run) if staged else None
        if forests is not None:
            yield from self._nested_and_branching(run, grown, unpriced.forest, forests, seller)
        if self._search.n_lookahead:
            ahead: list[Forest] = []
            yield from self._stopped_members(_noted(self._looking_ahead(run), ahead), validation, reached)
            if ahead and forests is not None:
                yield from self._by_context(run, forests, seller)

    def _staged_forests(self, run: _Run) -> StagedForests:
        encoded = EncodedExamples.of(run.training, self.categories_.columns, self._growth.max_bins, self._task)
        settings = self._leaf_sizes, self._growth.max_samples, run.random, run.data.work, self.n_jobs
        return StagedForests(encoded, self.n_estimators, *settings)

    def _nested_and_branching(
        self, run: _Run, grown: Sequence[Forest], unpriced: Forest, forests: StagedForests, seller: Seller
    ) -> Iterator[Member]:
        """Train forests on the first units of two orders, what examples buy and what lowers the impurity unpriced.

        Others branch by what tells each example most.
        """
        sample = sample_of(run.training, MOST_COST_ROWS, run.random).X
        bought = np.mean([(forest.feature_usage(sample) > 0).mean(axis=0) for forest in grown], axis=0)
        nested = NestedForests((bought, impurity_reductions(unpriced)), seller, run.training.y.size)
        trained = yield from self._cascades(run, nested, forests)
        few, of_feature = forests.growing(MEASURING_TREES), forests.examples.of_feature
        branching = BranchingForests(run.training, unpriced, few, of_feature, seller, run.random)
        if branching.parts:
            yield from self._cascades(run, branching, forests, trained)

    def _by_context(self, run: _Run, forests: StagedForests, seller: Seller) -> Iterator[Member]:
        """Train cascades that ask for contexts first, where contexts are found."""
        few = forests.growing(min(self.n_estimators, JUDGING_TREES))
        grower = self._lookahead_grower(run.training.y.size)
        whole = PartsByContext(run.training, grower, few, forests.examples.of_feature).part()
        if whole.sides:
            yield from self._cascades(run, ContextCascades(whole, seller), forests)

    def _cascades(
        self, run: _Run, plans: StagePlans, forests: StagedForests, alike: Sequence[Trained] = ()
    ) -> Generator[Member, None, list[Trained]]:
        """Train and measure the cascades of plans; return what was trained."""
        trained = forests.trained(plans, alike)
        for stages in plans.cascades([each.model for each in trained]):
            policy = StagesInOrder(stages, self.costs_, self.max_cost, class_costs=self.class_costs_)
            yield self._member_of_stages(policy, run.validation, self._search.stopping)
        return trained

    def _lookahead_grower(self, n_samples: int) -> LookaheadGrower:
        return LookaheadGrower(max(self._leaf_sizes[0], self._least_leaf(LOOKAHEAD_LEAF_SHARE, n_samples)))

    def _least_leaf(self, share: float, n_samples: int) -> int:
        """Return the fewest examples per leaf: some, and a share of those drawn for a tree."""
        return max(PRICED_LEAF, int(share * n_drawn(n_samples, self._growth.max_samples)))

    @property
    def _leaf_sizes(self) -> Sequence[int]:
        return LEAF_SIZES if self._growth.min_samples_leaf is None else (self._growth.min_samples_leaf,)

    def _priced_and_pruned(self, run: _Run, unpriced: _Unpriced, paying: Labelled) -> Iterator[Forest]:
        """Prune the forest that was grown blind to prices, grow others with prices, and prune them."""
        data, leaf, forest = run.data, unpriced.leaf, unpriced.forest
        largest_price = self._task.spread(data.encoded, data.weight) / price_scale(self.costs_)
        priced = largest_price * np.geomspace(LARGEST, SMALLEST, self._search.n_lambdas - 1)
        yield forest.prune(Pruning(np.zeros(forest.n_internal, dtype=bool)))
        yield forest
        bought = self._pruned(run, forest, unpriced.out_of_bag, paying)
        yield from bought
        for lam in priced.tolist():
            forest, errors = self._grow(run, self._priced(lam, leaf, data), self._nothing_bought(data))
            pruned = [forest, *self._pruned(run, forest, errors, paying)]
            yield from pruned
            bought += pruned
        if self._search.regrow:
            yield from self._regrown(run, self._on_frontier(bought, run.validation), leaf)

    def _unpriced(self, run: _Run) -> _Unpriced:
        """Grow trees blind to prices, with larger and larger leaves until their score out of bag rises."""
        data, most, n_features = run.data, self._growth.max_features, self.n_features_in_
        n_tried = int(np.sqrt(n_features)) if most is None else min(most, n_features)

        def grown(size: int) -> tuple[float, _Unpriced]:
            grower = Grower(self._task.impurity, min_samples_leaf=size, max_features=n_tried, price_weight=0.0)
            forest, out_of_bag = self._grow(run, grower, self._nothing_bought(data))
            answers = answers_out_of_bag(forest, out_of_bag, data.X)
            return self._task.score(answers, data.encoded, data.weight), _Unpriced(forest, size, out_of_bag)

        return last_before_rise(map(grown, self._leaf_sizes))[1]

    def _priced(self, lam: float, leaf: int, data: _Training) -> Grower:
        leaf = max(leaf, self._least_leaf(PRICED_LEAF_SHARE, data.encoded.size))
        return Grower(self._task.impurity, min_samples_leaf=leaf, price_weight=lam)

    def _nothing_bought(self, data: _Training) -> AcquisitionState:
        return AcquisitionState.per_example(self.costs_, data.encoded.size)

    def _looking_ahead(self, run: _Run) -> Iterator[Forest]:
        """Grow a forest with lookahead, and prune it; nothing where its first trees do not pay for the trouble."""
        data, training = run.data, run.training
        seed, n_first = int(run.random.randint(2**31)), min(FIRST_AHEAD, self._search.n_lookahead)
        if training.y.size > JUDGING_EXAMPLES:
            rows = np.sort(np.random.RandomState(seed).permutation(training.y.size)[:JUDGING_EXAMPLES])
            few = data.rows(rows)
            judged = self._grow_ahead(few, training.X[rows], n_first, np.random.RandomState(seed))
            if not self._ahead_pays(*judged, few, seed):
                return
        stream = np.random.RandomState(seed)
        first, unseen = self._grow_ahead(data, training.X, n_first, stream)
        if not self._ahead_pays(first, unseen, data, seed):
            return
        more, unseen_by_more = self._grow_ahead(data, training.X, self._search.n_lookahead - n_first, stream)
        forest = self._task.forest([*first, *more], self.n_features_in_)
        yield forest
        paying = sample_of(training, MOST_COST_ROWS, run.random)
        yield from self._pruned(run, forest, np.hstack([unseen, unseen_by_more]), paying)

    def _grow_ahead(
        self, data: _Training, X: Array, n_trees: int, stream: np.random.RandomState
    ) -> tuple[list[GrownTree], FloatArray]:
        grow_tree = self._task.looking_ahead(self._lookahead_grower(data.encoded.size))

        def grow(drawn: FloatArray, seeds: Sequence[int]) -> list[GrownTree]:
            return [
                grow_tree(X, data.encoded, weights=row, seed=seed, check=data.work.check)
                for row, seed in zip(drawn, seeds, strict=True)
            ]

        return self._bagged(grow, n_trees, data.weight, stream)

    def _ahead_pays(self, ahead: Sequence[GrownTree], out_of_bag: FloatArray, data: _Training, seed: int) -> bool:
        """Tell whether trees lose clearly less out of bag than those that plain splits make on the same samples."""
        state = AcquisitionState.per_tree(free_features(data.coded.n_features))
        leaf = self._lookahead_grower(data.encoded.size).min_samples_leaf
        grow_trees = self._task.growing(Grower(self._task.impurity, min_samples_leaf=leaf, price_weight=0.0))

        def grow(drawn: FloatArray, seeds: Sequence[int]) -> list[GrownTrees]:
            return [grow_trees(data.coded, data.encoded, acquisition=state, weights=drawn, seeds=seeds)]

        plain, _ = self._bagged(grow, len(ahead), data.weight, np.random.RandomState(seed))
        rows = np.flatnonzero(out_of_bag.any(axis=1))
        lost = [self._lost_out_of_bag(trees, out_of_bag, rows, data) for trees in (plain, ahead)]
        return is_clearly_better(lost[0], lost[1], data.weight[rows])

    def _lost_out_of_bag(
        self, trees: Sequence[GrownTree], out_of_bag: FloatArray, rows: IntArray, data: _Training
    ) -> FloatArray:
        forest = self._task.forest(trees, self.n_features_in_)
        answers = answers_out_of_bag(forest, out_of_bag[rows], data.X[rows])
        return self._task.losses(answers, data.encoded[rows], data.encoded.size)

    def _pruned(self, run: _Run, forest: Forest, out_of_bag: FloatArray, paying: Labelled) -> list[Forest]:
        """Prune a forest along its path, by the errors of each tree on the examples that it was not grown on."""
        X, y, weight = run.training
        errors = X, y, out_of_bag if out_of_bag.any() else weight
        instance = PruningInstance.from_forest(
            forest, paying.X, self.costs_, self._loss_of_nodes, errors, resolution=FITS_PATH
        )
        return [forest.prune(pruning).without_bare_roots() for _, pruning in self._prunings(instance, run.data.work)]

    def _on_frontier(self, forests: Sequence[Forest], validation: Labelled) -> list[Forest]:
        """Take some of the forests that buy something, and than which no cheaper one loses less on validation."""
        X, loss = validation.X.astype(np.float32), self._loss_on(validation)
        costs = [float(forest.cost(X, self.costs_).mean()) for forest in forests]
        least, taken = inf, []
        for place in np.argsort(costs, kind="stable").tolist():
            lost = float(loss(forests[place].mean_value(X), validation.y).mean())
            if costs[place] > 0 and lost < least:
                taken.append(forests[place])
            least = min(least, lost)
        return [taken[place] for place in evenly_spread(len(taken), MOST_REGROWN).tolist()]

    def _regrown(self, run: _Run, forests: Sequence[Forest], leaf: int) -> Iterator[Forest]:
        """For each forest grow deep trees on what the training examples buy in it."""
        data, cheapest = run.data, min(self.costs_.positive_costs, default=1.0)
        lam = UNAFFORDABLE * self._task.spread(data.encoded, data.weight) / float(cheapest)
        grower = Grower(self._task.impurity, min_samples_leaf=leaf, price_weight=lam)
        for bought in forests:
            owned = self._nothing_bought(run.data)
            owned.record_trees(bought, bought.leaves(run.data.X))
            yield self._grow(run, grower, owned)[0]

    def _grow(self, run: _Run, grower: Grower, state: AcquisitionState) -> tuple[Forest, FloatArray]:
        """Grow trees one after another; what one tests is bought for all that follow."""
        data, task = run.data, self._task
        grow_trees = task.growing(grower)

        def grow(drawn: FloatArray, seeds: Sequence[int]) -> list[GrownTrees]:
            data.work.check()
            return [grow_trees(data.coded, data.encoded, acquisition=state, weights=drawn, seeds=seeds, X=data.X)]

        trees, out_of_bag = self._bagged(grow, self.n_estimators, data.weight, run.random)
        return task.forest(trees, self.n_features_in_), out_of_bag

    def _bagged(self, grow: Any, n_trees: int, weight: FloatArray, random: Any) -> tuple[list[GrownTree], FloatArray]:
        return bagged(grow, n_trees, weight, random, self._growth.max_samples)


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetForest(Classifies, GrownForests):
    """Classify by averaged trees that pay for features together: pruned exactly, grown anew, stopped when sure.

    Forests are grown at several values of lambda, the first 0; an example pays for a unit in the first tree that tests
    it, and has it in all that follow. Each is pruned along the exact path, by the errors of each tree on the examples
    that it was not grown on. What the training examples buy in one of these is then free, if none that costs less on
    validation examples loses as little there: a new forest of deep trees is *regrown* on that alone, so each example is
    judged by all that was bought for it. Where the same units serve all
    examples, what most of them buy is enough: *nested* forests (`AveragedTrees`) on the first 1, 2, 3, ... of these
    units replace one another as an example buys them. Where other units tell most about other examples, *branching*
    forests do better: what is known sends an example on to the forest on what tells most per price about its like. One
    more forest is grown with *lookahead*, blind to prices, and
    pruned: it finds features that only tell which others matter. Where one of these is a *context*, such that forests
    trained on both its sides apart have a clearly lower error, an example first asks for its context, then for what
    matters in it (`ContextCascades`). On validation examples it is learnt when to stop buying. All of that gives one
    frontier of cost and error.

    Parameters
    ----------
    n_estimators : int, default=50
        Trees per forest.
    growth : ForestGrowth, optional
        How trees grow.
    categorical_features : None, "from_dtype", or sequence of bool, int or str, default="from_dtype"
        See `ipforest.BudgetedClassifier`. Nested forests see the class shares of the training examples in place of
        categories (scikit-learn's ``TargetEncoder``, for which each example counts once). Trees grown with lookahead,
        and what sends examples on in branching forests, compare the categories' numbers.
    search : ForestSearch, optional
        Which forests are grown, pruned and stopped.
    feature_costs, budget, max_cost, class_costs, scoring, validation_fraction
        See `ipforest.BudgetedClassifier`, and for delayed features `BudgetBoost`.
    n_jobs : int, optional
        Nested forests that are trained at once, by joblib; the model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, bootstrap samples and subsets of features.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_, classes_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BudgetForest, ForestSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetForest(10, search=ForestSearch(n_lambdas=2, n_prunings=2), budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.9
    (True, True)
    """

    class_costs: Any = None


class BudgetForestRegressor(Regresses, GrownForests):
    """Predict a number by averaged trees that pay for features together; see `BudgetForest`.

    All is done as there, with the squared error in place of the share of mistakes: nodes predict means, splits lower
    the variance, and forests are pruned along the exact path of the trees' mean squared error. An example stops where
    the squared error that more purchases take off is not worth their price, as validation examples tell from how far
    apart the targets lie that the trees may still come to (`ipforest.stopping.early_exit_policy.sureness`).

    Parameters
    ----------
    n_estimators : int, default=50
        Trees per forest.
    growth, search
        See `BudgetForest`.
    categorical_features : None, "from_dtype", or sequence of bool, int or str, default="from_dtype"
        See `BudgetForest`. Nested forests see mean targets in place of categories.
    feature_costs, budget, max_cost, scoring, validation_fraction
        See `BudgetBoostRegressor`.
    n_jobs, random_state
        See `BudgetForest`.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ipforest import BudgetForestRegressor, ForestSearch
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = ForestSearch(n_lambdas=2, n_prunings=2, nested=False)
    >>> model = BudgetForestRegressor(10, search=search, budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.3
    (True, True)
    """


def _noted(forests: Iterable[Forest], into: list[Forest]) -> Iterator[Forest]:
    """Hand forests on, and note them."""
    for forest in forests:
        into.append(forest)
        yield forest


class _Training(NamedTuple):
    """What forests are grown on: examples as they are and in bins, encoded targets and weights, and how long."""

    X: npt.NDArray[np.float32]
    coded: CodedExamples
    encoded: Array
    weight: FloatArray
    work: Work

    def rows(self, chosen: IntArray) -> _Training:
        """Take some of the examples."""
        coded = self.coded.part(np.arange(self.coded.n_features), chosen)
        return _Training(self.X[chosen], coded, self.encoded[chosen], self.weight[chosen], self.work)


class _Run(NamedTuple):
    """What the forests of one fit are grown on, pruned by and judged on."""

    data: _Training
    training: Labelled
    validation: Labelled
    random: np.random.RandomState


class _Unpriced(NamedTuple):
    """The forest that is grown blind to prices, its fewest examples per leaf, and what is out of bag; see `bagged`."""

    forest: Forest
    leaf: int
    out_of_bag: FloatArray
