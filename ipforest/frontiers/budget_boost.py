"""BudgetBoost: boosted trees that pay for features, pruned exactly, refitted, and stopped when they are sure."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from ipforest._internal.arrays import FloatArray, Int32Array
from ipforest._internal.examples import Labelled
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.margin_losses import encode_targets
from ipforest.ensemble.refitting import mean_loss, refit_by_newton
from ipforest.estimator.checks import check_choice, check_integer, check_positive
from ipforest.estimator.kinds import Classifies, Regresses
from ipforest.frontiers.alternation import alternate
from ipforest.frontiers.forests_on_features import is_clearly_better
from ipforest.frontiers.joint_frontier import (
    MOST_COST_ROWS,
    FrontierSearch,
    GrownFrontier,
    Reached,
    price_scale,
    sample_of,
)
from ipforest.frontiers.work import Work
from ipforest.growing import CodedExamples, Gradient, Grower
from ipforest.growing.boosting import Boosting, Standing
from ipforest.growing.codes import check_max_bins
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.results import Pruning
from ipforest.settings import Grouped, Settings, checked
from ipforest.stopping.stopped import Member

REFITS = ("newton", "alternate", None)
LARGEST, SMALLEST = 0.3, 1e-4
"""A typical unit is priced first at the one, last at the other share of the loss of the best constant."""

SINGLE = 1e-3
"""The same where the price does not fall."""

CHUNKS = 3
"""Rounds at one price are grown in so many parts; where the validation loss does not fall, the next price follows."""

PATIENCE = 3
"""At no price growing ends after so many parts, each a share ``1 / n_lambdas`` of the rounds, that did not help."""

N_SMALL, HASTE = 3, 2
"""Where so many parts helped, the largest trees are tried as well, at so many times the rate."""

Grow: TypeAlias = Callable[[Standing, int], Standing]


@dataclass(frozen=True, slots=True, repr=False)
class BoostGrowth(Settings):
    """How boosted trees grow.

    Parameters
    ----------
    learning_rate : float, default=0.1
    max_leaf_nodes : int or sequence of int, default=(8, 32)
        Leaves per tree; of several sizes each gives an ensemble. The larger trees follow on the smallest ones, from
        half of the prices on.
    min_samples_leaf : int, default=5
    l2 : float, default=1
        Penalty on squared leaf values, > 0.
    max_bins : int or None, default=255
        Thresholds lie between so many bins per feature; with None between any two values.
    """

    parameter: ClassVar[str] = "growth"

    learning_rate: float = checked(0.1, check_positive)
    max_leaf_nodes: int | Sequence[int] = (8, 32)
    min_samples_leaf: int = checked(5, check_integer, 1)
    l2: float = checked(1.0, check_positive)
    max_bins: int | None = checked(255, check_max_bins)

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        for size in self.leaf_sizes():
            check_integer(size, self.named("max_leaf_nodes"), 2)

    def leaf_sizes(self) -> list[int]:
        """List the leaves per tree, of one size for each ensemble."""
        return [*self.max_leaf_nodes] if isinstance(self.max_leaf_nodes, Sequence) else [self.max_leaf_nodes]


@dataclass(frozen=True, slots=True, repr=False)
class BoostSearch(FrontierSearch):
    """Which ensembles are grown, pruned and stopped.

    Parameters
    ----------
    n_lambdas : int, default=10
        Values of lambda, falling geometrically.
    single_price : bool, default=True
        Whether one more ensemble is grown at a single price, of the smallest trees.
    prices_per_member : int, default=1
        After so many prices each, and after the last, what stands then is measured and stopped.
    n_prunings : int, default=4
        Prunings of each ensemble that are tried; 0 to prune nothing.
    refit : {"newton", "alternate", None}, default="newton"
        How pruned trees are refitted: stage by stage by Newton steps; or by `alternate`, which refits all leaves
        jointly and grows trees on what is bought; or not.
    stopping : StoppingRule or sequence of StoppingRule, optional
        As in `EarlyExit`; an empty sequence to stop no example.
    """

    n_lambdas: int = 10
    n_prunings: int = 4
    single_price: bool = True
    prices_per_member: int = checked(1, check_integer, 1)
    refit: str | None = checked("newton", check_choice, REFITS)


class _Run(NamedTuple):
    """What the ensembles of one fit are grown from, pruned and judged by, and what they have come to so far."""

    data: Boosting
    paying: Labelled
    validation: Labelled
    reached: Reached
    random: np.random.RandomState
    work: Work

    def grown(self, standing: Standing, n_rounds: int, grower: Grower) -> Standing:
        """Grow so many rounds more, or as many as there is time for."""
        return self.data.grow(standing, n_rounds, grower, int(self.random.randint(2**30)), lambda: self.work.is_over)


@dataclass(eq=False, repr=False)
class GrownBoosting(GrownFrontier):
    """Base of `BudgetBoost` and `BudgetBoostRegressor`, which differ in what they learn."""

    _growth = Grouped(BoostGrowth)
    _search = Grouped(BoostSearch)

    n_estimators: int = 400
    _: KW_ONLY
    growth: BoostGrowth | None = None
    search: BoostSearch | None = None

    @property
    def _n_expected(self) -> int:
        n_priced = len(self._growth.leaf_sizes()) + bool(self._search.single_price)
        n_measured = ceil(self._search.n_lambdas / self._search.prices_per_member) + self._search.n_prunings
        return int(3 + n_priced * n_measured)

    def _made(self, training: Labelled, validation: Labelled, random: Any, work: Work) -> Iterator[Member]:
        training, held_out = training.with_relative_weights(), validation.X.astype(np.float32)
        X = np.ascontiguousarray(training.X, dtype=np.float32)
        coded = CodedExamples.from_examples(X, self._growth.max_bins, self.categories_.mask(X.shape[1]))
        rate = self._growth.learning_rate
        data = Boosting(X, coded, training.y, training.weight, self.classes_, self.costs_, rate, held_out)
        paying, reached = sample_of(training, MOST_COST_ROWS, random), Reached(validation.y.size)
        run = _Run(data, paying, validation, reached, random, work)
        return self._stopped_members(self._ensembles(run), validation, reached)

    def _ensembles(self, run: _Run) -> Iterator[BoostedTrees]:
        data = run.data
        start = data.start()
        yield start
        highest = mean_loss(start, data.examples, data.y, data.weight) / price_scale(self.costs_)
        falling = (highest * np.geomspace(LARGEST, SMALLEST, self._search.n_lambdas)).tolist()
        smallest, *larger = sorted(self._growth.leaf_sizes())
        half, nothing = len(falling) // 2, data.standing(start)
        passed = [nothing, *(yield from self._priced(run, nothing, smallest, falling))]
        ends = [passed[-1]]
        for leaves in larger:
            ends += yield from self._priced(run, passed[half], leaves, falling[half:], passed[half + 1 :])
        if self._search.single_price:
            single = [highest * SINGLE] * len(falling)
            ends += yield from self._priced(run, nothing, smallest, single, gives_up=self._scorer is None)
        trees = self._unpriced(run, nothing, ends)
        if trees is not start:
            yield trees

    def _priced(
        self,
        run: _Run,
        standing: Standing,
        leaves: int,
        prices: Sequence[float],
        rivals: Sequence[Standing] = (),
        *,
        gives_up: bool = False,
    ) -> Generator[BoostedTrees, None, list[Standing]]:
        """Grow at one price after another, and prune what comes of it; return what stands after each price.

        What has been reached for far less is not pruned.
        """
        grower = self._grower(leaves, prices[-1])
        passed = yield from self._grow(run, standing, grower, prices, rivals, gives_up=gives_up)
        is_hopeless = self._scorer is None and run.reached.was_hopeless
        is_pruned = self._search.n_prunings and len(passed) == len(prices) and passed[-1] is not standing
        if is_pruned and not is_hopeless:
            yield from self._pruned(run, passed[-1].trees, grower)
        return passed

    def _grower(self, leaves: int, price: float) -> Grower:
        growth = self._growth
        return Grower(
            Gradient(growth.l2), max_leaf_nodes=leaves, min_samples_leaf=growth.min_samples_leaf, price_weight=price
        )

    def _unpriced(self, run: _Run, standing: Standing, rivals: Sequence[Standing]) -> BoostedTrees:
        """Grow at no price while what is chosen by falls on validation examples; return what it is least for.

        The loss of the margins would end it too early: it rises long before the share of mistakes does. Where even
        gains as large as the last two would not bring it to what rivals lose, which is clearly less, nothing is grown.
        """
        loss, start, validation = self._loss_on(run.validation), standing.trees, run.validation

        def losses(standing: Standing) -> FloatArray:
            return loss(start.outputs(standing.held_out), validation.y)

        best, n_worse, course = start, 0, [float(losses(standing).mean())]
        to_reach = min(map(losses, rivals), key=np.mean)
        ends = np.linspace(0, self.n_estimators, self._search.n_lambdas + 1).round().astype(int)
        parts = [*filter(None, np.diff(ends).tolist())]
        ways = self._ways_at_no_price(run)
        grow = ways[0]
        for number, n_rounds in enumerate(parts):
            grown = [(each, each(standing, n_rounds)) for each in (ways if number == N_SMALL else (grow,))]
            tried = [(way, after, losses(after)) for way, after in grown]
            (grow, standing, lost), n_left = min(tried, key=lambda each: each[2].mean()), len(parts) - number - 1
            here, least = float(lost.mean()), min(course)
            best, n_worse = (standing.trees, 0) if here < least else (best, n_worse + 1)
            course.append(here)
            within_reach = min(course) - n_left * max(-np.diff(course[-3:])) <= to_reach.mean()
            if len(course) > 2 and not within_reach and is_clearly_better(lost, to_reach, validation.weight):
                return start
            if n_worse == PATIENCE or run.work.is_over:
                break
        return best

    def _ways_at_no_price(self, run: _Run) -> tuple[Grow, Grow]:
        """Say how the smallest trees grow, and how the largest ones do at a higher rate."""
        sizes, quick = self._growth.leaf_sizes(), replace(run.data, learning_rate=HASTE * run.data.learning_rate)
        return (
            partial(run.grown, grower=self._grower(min(sizes), 0.0)),
            partial(run._replace(data=quick).grown, grower=self._grower(max(sizes), 0.0)),
        )

    def _grow(
        self,
        run: _Run,
        standing: Standing,
        grower: Grower,
        prices: Sequence[float],
        rivals: Sequence[Standing],
        *,
        gives_up: bool,
    ) -> Generator[BoostedTrees, None, list[Standing]]:
        """Grow at one price after another; yield what stands after some, and return what stands after each.

        When the time is over, what stands then is the last; so it is when a rival is clearly better after the same
        price, and, if it gives up, when even gains as large as the last would not come to what has been reached for far
        less.
        """
        validation, reached, work = run.validation, run.reached, run.work
        targets, loss_of = encode_targets(validation.y, self.classes_), standing.trees.margin_loss.value

        def losses(standing: Standing) -> FloatArray:
            return loss_of(standing.held_out, targets)

        told, passed, least, course = standing, [], losses(standing), list[float]()
        n_rounds_at_all = round(self.n_estimators * len(prices) / self._search.n_lambdas)
        ends = np.linspace(0, n_rounds_at_all, CHUNKS * len(prices) + 1).round().astype(int)
        chunks = np.diff(ends).reshape(len(prices), CHUNKS)
        for number, (price, rounds) in enumerate(zip(prices, chunks.tolist(), strict=True), 1):
            priced, n_left = replace(grower, price_weight=price), len(prices) - number
            for n_rounds in filter(None, rounds):
                grown = run.grown(standing, n_rounds, priced)
                lost = losses(grown)
                if lost.mean() >= least.mean():
                    break
                standing, least = grown, lost
            passed.append(standing)
            if rivals and n_left and is_clearly_better(least, losses(rivals[number - 1]), validation.weight):
                break
            if standing is not told and (n_left % self._search.prices_per_member == 0 or work.is_over):
                told = standing
                yield standing.trees
                if gives_up:
                    course.append(reached.last.loss)
                    to_come = n_left / self._search.prices_per_member * max(course[-2:][0] - course[-1], 0.0)
                    if len(course) > 1 and n_left and reached.has_far_cheaper(reached.last.cost, course[-1] - to_come):
                        break
            work.check()
        return passed

    def _pruned(self, run: _Run, grown: BoostedTrees, grower: Grower) -> Iterator[BoostedTrees]:
        """Prune at several lambdas, and refit."""
        data = run.data
        errors = data.examples, data.y, data.weight
        leaves = grown.leaves(grown.checked_examples(data.examples))
        instance = PruningInstance.from_boosted(
            grown, run.paying.X, self.costs_, errors, resolution=FITS_PATH, leaves=leaves
        )
        for lam, pruning in self._prunings(instance, run.work):
            if self._search.refit == "alternate":
                yield alternate(data, grown, lam, grower, l2=self._growth.l2).trees
            elif self._search.refit == "newton":
                yield self._refitted(run, grown, pruning, leaves)
            else:
                yield grown.prune(pruning)

    def _refitted(self, run: _Run, grown: BoostedTrees, pruning: Pruning, leaves: Int32Array) -> BoostedTrees:
        """Prune, leave out the trees of which no test stays, and refit; ``leaves`` are those of the grown trees."""
        pruned = grown.prune(pruning)
        has_test = np.diff(pruned.tree_offsets) > 1
        has_test[0] |= not has_test.any()
        sequence, after = np.flatnonzero(has_test), grown.nodes_after(pruning.kept)
        kept = pruned.subset(sequence)
        shift = pruned.tree_offsets[sequence] - kept.tree_offsets[:-1]
        ends = (
            after[leaves[number]] - shorter for number, shorter in zip(sequence, shift.astype(np.int32), strict=True)
        )
        data, check, rate, l2 = run.data, run.work.check, self._growth.learning_rate, self._growth.l2
        return refit_by_newton(
            kept, data.examples, data.y, data.weight, learning_rate=rate, l2=l2, leaves=ends, check=check
        )


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetBoost(Classifies, GrownBoosting):
    """Classify by boosted trees that pay for features at a falling price, pruned exactly and stopped when sure.

    Trees are boosted on log loss, and a split pays for the units that its examples have not bought in any tree before.
    The price falls while the ensemble grows: the first trees make the most of the few units that are worth most, later
    ones buy more, for the examples that they help. So the trees come in the order in which stopping wants them, and
    every prefix is a model of its own. The whole is pruned along the exact path and its leaves are refitted. On
    validation examples it is learnt when to stop buying. All of that gives one frontier of cost and error.

    Where the same few units serve every example, another order is better: one more ensemble is grown at a single low
    price. Where nearly everything may be bought, what is simply good is best: one ensemble grows at no price from the
    start, while what is chosen by falls on validation examples. If it still grows after three tenths of the rounds,
    the largest trees follow at twice the rate where these lose less, as the other rounds might not do otherwise. Of
    several sizes of trees the larger ones follow, at the lower half of the prices, on the smallest; a size, or the
    ensemble at no price, is given up where others are better beyond luck.

    Parameters
    ----------
    n_estimators : int, default=400
        Most rounds per ensemble, shared equally among the prices, or at no price; each grows one tree, with
        more than two classes one per class. At each price, growing stops early where the validation loss does not fall.
    growth : BoostGrowth, optional
        How trees grow.
    search : BoostSearch, optional
        Which ensembles are grown, pruned and stopped.
    categorical_features, budget, max_cost, class_costs, scoring, validation_fraction
        See `ipforest.BudgetedClassifier`.
    feature_costs
        See `BudgetPrune`. Trees are grown as if no feature were delayed; pruning, stopping and the choice on validation
        examples go by what is ordered in rounds.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part and breaks ties between features.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_, classes_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BoostSearch, BudgetBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetBoost(20, search=BoostSearch(n_lambdas=2, n_prunings=2), budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.9
    (True, True)
    """

    class_costs: Any = None


class BudgetBoostRegressor(Regresses, GrownBoosting):
    """Predict a number by boosted trees that pay for features; see `BudgetBoost`.

    All is done as there, with half the squared error in place of the log loss. An example stops where the squared error
    that more purchases take off is not worth their price, as validation examples tell from how far apart the targets
    lie that the trees may still come to (`ipforest.stopping.early_exit_policy.sureness`).

    Parameters
    ----------
    n_estimators : int, default=400
        Most rounds per ensemble, shared equally among the prices, or at no price; each grows one tree.
    growth, search, categorical_features
        See `BudgetBoost`; `CertifiedStopping` counts errors, and is for classes.
    feature_costs, budget, max_cost, scoring, validation_fraction, random_state
        See `ipforest.BudgetedRegressor`, and for delayed features `BudgetBoost`.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ipforest import BoostSearch, BudgetBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = BoostSearch(n_lambdas=2, n_prunings=2)
    >>> model = BudgetBoostRegressor(40, search=search, budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.3
    (True, True)
    """
