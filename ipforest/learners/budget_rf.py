"""BudgetRF: a random forest whose splits weigh what they tell against what features cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray, places_in
from ipforest._internal.examples import Labelled
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.class_costs import label_losses
from ipforest.choosing.frontier import Frontier
from ipforest.ensemble.forest import Forest
from ipforest.estimator.base import FittedWithHeldOut
from ipforest.estimator.checks import check_choice, check_each, check_integer
from ipforest.estimator.given import Given
from ipforest.estimator.kinds import Classifies
from ipforest.growing import (
    AcquisitionState,
    CodedExamples,
    Entropy,
    Gini,
    Grower,
    Impurity,
    Powers,
    ThresholdPairs,
    bootstrap_counts,
    forest_of,
)
from ipforest.growing.codes import check_max_bins
from ipforest.learners.staged import first_trees, staged_costs
from ipforest.policy import Progress, Rows, TreesInOrder
from ipforest.settings import Grouped, Settings, checked
from ipforest.walks.purse import spending_limit

IMPURITIES: dict[str, type[Impurity]] = {kind.name: kind for kind in (ThresholdPairs, Powers, Entropy, Gini)}
VOTINGS = ("soft", "hard", "pooled")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The examples that trees are grown from, drawn again when they are asked for.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_training,)
        The training examples, as rows of what was given to `BudgetRF.fit`.
    state : dict
        Of the random numbers before the first draw, as `numpy.random.RandomState.get_state` gives it.
    """

    rows: IntArray
    state: dict[str, Any]

    def counts(self, n_trees: int) -> list[FloatArray]:
        """Return how often each tree has drawn each training example."""
        random = np.random.RandomState()
        random.set_state(self.state)
        return [bootstrap_counts(self.rows.size, random) for _ in range(n_trees)]

    def samples(self, n_trees: int) -> list[IntArray]:
        """Return the rows that each tree has drawn, as often as it did, in ascending order."""
        return [np.repeat(self.rows, counts.astype(np.int64)) for counts in self.counts(n_trees)]


@dataclass(frozen=True, slots=True)
class GrownForest:
    """The trees grown with one impurity, and how they do on the validation examples.

    Parameters
    ----------
    impurity : Impurity
    forest : Forest
    bootstrap : Bootstrap
    costs, errors : ndarray of float64, shape (n_trees + 1,)
        Average cost and error rate, or with class costs what mistakes cost on average, on the validation examples of
        the first 0, 1, 2, ... trees.
    """

    impurity: Impurity
    forest: Forest
    bootstrap: Bootstrap
    costs: FloatArray
    errors: FloatArray

    def trees_within(self, budget: object | None) -> int:
        """How many of the first trees stay within a budget on the validation examples."""
        return int(np.searchsorted(self.costs, spending_limit(budget), side="right")) - 1


@dataclass(frozen=True, slots=True, repr=False)
class GreedyGrowth(Settings):
    """How trees grow greedily, by price per impurity.

    Parameters
    ----------
    impurity : str or Impurity, default="threshold-pairs"
        "threshold-pairs", "powers", "entropy", "gini", or one of `ipforest.growing`.
    alpha : number or sequence of numbers, default=0
        Threshold of threshold-Pairs; of several, the one of least validation error within the budget is taken.
    reduction : {"minimax", "expected"}, default="minimax"
        Whether the worse outcome of a split counts, or the mean impurity of both. With entropy the latter is the
        cost-weighted information gain.
    cuts : {"all", "random"}, default="all"
        Whether all thresholds are tried, as in the authors' program, or 80, 40 or 20 random ones per feature by the
        size of the node, as printed. On MiniBooNE a forest of the same error costs some features more with random ones.
    free_on_path : bool, default=False
        Whether the price of a feature that a test above has bought is zero in the risk. In the paper it is not: a
        free feature is split on for as long as it lowers the impurity at all.
    max_features : int, optional
        Size of the random subset of features at each split; by default all.
    max_depth : int, optional
    min_samples_leaf : int, default=1
    max_bins : int, optional
        Thresholds lie between so many bins per feature; by default between any two values.
    """

    parameter: ClassVar[str] = "growth"

    impurity: str | Impurity = "threshold-pairs"
    alpha: Any = 0
    reduction: str = checked("minimax", check_choice, ("minimax", "expected"))
    cuts: str = checked("all", check_choice, ("random", "all"))
    free_on_path: bool = False
    max_features: int | None = checked(None, check_integer, 1, or_none=True)
    max_depth: int | None = checked(None, check_integer, 1, or_none=True)
    min_samples_leaf: int = checked(1, check_integer, 1)
    max_bins: int | None = checked(None, check_max_bins)

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        self.impurities()

    def growers(self) -> list[Grower]:
        """Make the growers, one per alpha."""
        return [
            Grower(
                impurity,
                "minimax" if self.reduction == "minimax" else "expected",
                random_cuts=self.cuts == "random",
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                max_features=self.max_features,
            )
            for impurity in self.impurities()
        ]

    def impurities(self) -> Sequence[Impurity]:
        """Make the impurities, one per alpha."""
        alphas = [self.alpha] if isinstance(self.alpha, Real) else self.alpha
        check_each(alphas, self.named("alpha"), nonnegative_fraction, least=1)
        if not isinstance(self.impurity, Impurity | str) or (
            isinstance(self.impurity, str) and self.impurity not in IMPURITIES
        ):
            raise ValueError(
                f"growth.impurity: expected one of {', '.join(IMPURITIES)}, or an Impurity, got {self.impurity!r}"
            )
        if self.impurity == ThresholdPairs.name:
            return [ThresholdPairs(float(alpha)) for alpha in alphas]
        if [*alphas] != [0]:
            raise ValueError(f"growth.alpha: expected 0 but for impurity 'threshold-pairs', got {self.alpha!r}")
        return [self.impurity if isinstance(self.impurity, Impurity) else IMPURITIES[self.impurity]()]


@dataclass(eq=False, repr=False)
class BudgetRF(Classifies, FittedWithHeldOut):
    r"""Grow trees greedily by price per impurity, and add them until the budget is spent.

    Each tree is GreedyTree on a bootstrap sample: at a node of examples S the split of least risk is taken, with
    "minimax" :math:`\max_i c_t / (F(S) - F(S_i))` over its outcomes i, until the impurity is zero. As many trees are
    taken as stay within the budget on the validation examples.

    Parameters
    ----------
    n_estimators : int, default=40
        Most trees.
    feature_costs : optional
        Prices; see `BudgetPrune`.
    budget : number, optional
        What an example may cost on average, measured on the validation examples; without one all trees are taken.
    max_cost : number, optional
        The most that any one example may pay; see `BudgetedModel.session`.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What mistakes cost, as in `ipforest.EarlyExit`: alpha and the number of trees are chosen by it; trees grow
        without regard to it.
    scoring : {None, "total cost"}, default=None
        See `ipforest.EarlyExit`.
    growth : GreedyGrowth, optional
        How trees grow.
    voting : {"soft", "hard", "pooled"}, default="soft"
        Average the distributions of the leaves, count the trees' votes (the paper's majority), or pool the training
        examples of the leaves (the paper's confidence for ranking).
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples held out where `fit` gets no validation examples; with None, the training examples.
    n_jobs : int, optional
        Threads; the forest does not depend on it.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    grown_ : tuple of GrownForest
        One per alpha.
    frontier_ : Frontier
        What is taken at each cost of some number of trees.
    chosen_ : GrownForest
        The one that was taken.
    forest_ : Forest
        Its trees within the budget; the forest that predicts. Without any, the most frequent class.
    classes_ : ndarray, shape (n_classes,)
    costs_ : FeatureCosts
    estimators_samples_ : list of ndarray of int64
        The examples that each of its trees was grown from, as rows of X, as often as drawn.
    n_features_in_ : int

    Notes
    -----
    Nan, Wang, Saligrama, "Feature-Budgeted Random Forest", ICML 2015, Algorithm 1 and section 3.

    Trees are grown as if no feature were delayed; how many are taken goes by what is ordered in rounds.
    """

    bootstrap = True
    takes_missing = True
    min_classes = 1
    _dtype = np.float32
    _growth = Grouped(GreedyGrowth)

    n_estimators: int = checked(40, check_integer, 1)
    _: KW_ONLY
    max_cost: Any = None
    class_costs: Any = None
    scoring: str | None = None
    growth: GreedyGrowth | None = None
    voting: str = checked("soft", check_choice, VOTINGS)
    n_jobs: int | None = None

    def _train(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> Frontier:
        growers = self._growth.growers()
        for grower in growers:
            grower.impurity.check_classes(len(self.classes_))
        coded = training._replace(y=places_in(self.classes_, training.y))
        self.grown_ = tuple(self._grow(grower, coded, validation, given) for grower in growers)
        budgets = np.unique(np.concatenate([grown.costs for grown in self.grown_]))
        return self._frontier_of([self._way_within(budget) for budget in budgets.tolist()])

    def _grow(self, grower: Grower, training: Labelled, validation: Labelled, given: Given) -> GrownForest:
        """Grow all trees with one impurity, and measure the first 0, 1, 2, ... of them."""
        labels, truth, random, n_classes = training.y, validation.y, given.random, len(self.classes_)
        coded = CodedExamples.from_examples(training.X, self._growth.max_bins)
        state = AcquisitionState.per_tree(self.costs_, free_on_path=self._growth.free_on_path)
        bootstrap = Bootstrap(given.rows, random.get_state(legacy=False))
        samples = [bootstrap_counts(len(labels), random) for _ in range(self.n_estimators)]
        seeds = random.randint(0, 2**31 - 1, self.n_estimators).tolist()
        trees = grower.grow_bagged(coded, labels, n_classes, state, samples, seeds, self.n_jobs)
        forest = forest_of(trees, self.n_features_in_, self.classes_, grower.impurity.name)
        leaves = forest.leaves(forest.checked_examples(validation.X))
        votes = np.cumsum(with_votes(forest, self.voting).value[leaves], axis=0)
        nothing = np.tile(with_votes(first_trees(forest, 0), self.voting).value[0], (truth.size, 1))
        losses = [label_losses(each, truth, self.classes_, self.class_costs_) for each in (nothing, *votes)]
        errors = np.mean(losses, axis=1)
        return GrownForest(grower.impurity, forest, bootstrap, staged_costs(forest, leaves, self.costs_), errors)

    def _choose(self) -> None:
        place, n_trees = self._way_within(self.budget)
        self.chosen_ = self.grown_[place]
        self.forest_ = first_trees(self.chosen_.forest, n_trees)

    def _way_within(self, budget: object | None) -> tuple[int, int]:
        """Say which forest is taken within a budget, and how many of its trees: as many as it pays, as in the paper."""
        sizes = [grown.trees_within(budget) for grown in self.grown_]
        if self._least_total:
            sizes = [Frontier(grown.costs, grown.errors).in_money().within(budget) for grown in self.grown_]
        ways = list(enumerate(sizes))
        return ways[self._as_chosen_by(self._frontier_of(ways)).within(None)]

    def _frontier_of(self, ways: Sequence[tuple[int, int]]) -> Frontier:
        """Look up what the first trees of forests cost and lose."""
        return Frontier.of_points((self.grown_[place].costs[n], self.grown_[place].errors[n]) for place, n in ways)

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The examples that each tree was grown from, as rows of what was given to `fit`, as often as drawn."""
        check_is_fitted(self)
        return self.chosen_.bootstrap.samples(self.forest_.n_trees)

    def policy(self) -> TreesInOrder:
        """Say how the fitted model buys features and what it answers."""
        votes = with_votes(self.forest_, self.voting)
        return PooledTrees(votes) if self.voting == "pooled" else TreesInOrder(votes)

    def to_forest(self) -> Forest:
        """Return the trees that were taken, to prune them or look at them."""
        check_is_fitted(self)
        return self.forest_

    def to_sklearn(self) -> Any:
        """Return the trees that were taken, with their votes, as a fitted RandomForestClassifier; see `to_trees`."""
        return self.to_trees().to_sklearn()


class PooledTrees(TreesInOrder):
    """Trees whose values are class counts: the probabilities are the shares of all training examples at the leaves."""

    decides_by = "pooled counts"

    def foresee(
        self, progress: Progress, rows: Rows, class_costs: FloatArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """Pool the counts of the nodes that what is known leads to."""
        counts, settled = super().foresee(progress, rows, class_costs)
        return counts / counts.sum(axis=1, keepdims=True), settled


def with_votes(forest: Forest, voting: str) -> Forest:
    """Return a forest whose values are what each node says: distributions, votes, or counts."""
    if voting == "hard":
        return replace(forest, value=np.eye(forest.value.shape[1])[np.argmax(forest.value, axis=1)])
    return replace(forest, value=forest.value * forest.weight[:, None]) if voting == "pooled" else forest
