"""EarlyExit: stop buying features for an example as soon as going on is not worth the price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.pipeline import Pipeline

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.examples import Labelled
from ipforest._internal.feature_names import require_features_of
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.class_costs import label_losses
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.libraries import read, require_trained_categories
from ipforest.ensemble.scikit_learn import in_two_parts, unfrozen
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.checks import check_choice, is_fitted
from ipforest.estimator.given import Given, check_inner_estimator
from ipforest.estimator.held_out import checked_labels
from ipforest.estimator.tags import AroundEstimator
from ipforest.policy import ANSWERS, InWords, Policy, Progress, Rows, TreesInOrder, compared
from ipforest.session import Seller, Sessions
from ipforest.settings import checked
from ipforest.stopping.paths import FittedRule, StageOutputs, StoppingPaths, margin, margin_in_words
from ipforest.stopping.stopped import Stoppable, StoppedEstimator
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.stopping.tree_order import ORDERS, order_trees
from ipforest.walks import Purse, TreeWalk, Walk, record

RECORDED_CELLS = 2**22
"""What is answered at all stages is kept of so many examples at once that it has no more numbers."""

GRID_STEP = Fraction(3, 2)
"""Between budgets at which an estimator that has budgets itself is tried."""


class EarlyExitPolicy:
    """Trees in order, and a rule that may stop before each purchase.

    The stage of an example is the number of its purchases. An example whose label can no longer change always stops.

    Parameters
    ----------
    trees : TreesInOrder
    rule : FittedRule
    level : float
        An example goes on while its keenness exceeds this.
    free : ndarray of bool, shape (n_features,)
        Features that cost nothing: there is no stop before them, unless they are delayed.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
        Where labels are those of the least expected cost.

    Notes
    -----
    With delayed features a purchase is a round: a delayed test and all tests below it in the same tree (Turney 1995).
    Whether to go on to another tree is decided when the results are in, so that the next tree has another round: all
    trees in one round would be bought before there is anything to decide by.
    """

    ignores_unwanted = False
    decides_by = "a rule that stops buying"

    _class_costs: FloatArray | None = None

    def __init__(
        self,
        trees: TreesInOrder,
        rule: FittedRule,
        level: float,
        free: BoolArray,
        class_costs: FloatArray | None = None,
    ) -> None:
        self._trees, self._rule, self._level, self._free = trees, rule, level, free
        self._class_costs = class_costs
        self.place_size = trees.place_size + len(_Place._fields)

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the trees compare."""
        return self._trees.dtype

    @property
    def name(self) -> str:
        """How many trees there are, and of which kind."""
        return self._trees.name

    @property
    def features(self) -> IntArray:
        """The features that the trees test."""
        return self._trees.features

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Walk on, and stop those whose keenness is down to the level."""
        inner, place = self._split(progress)
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        running = np.flatnonzero(place.stopped[rows] == 0)
        wanted[running] = self._trees.advance(inner, rows[running])
        free = self._free if progress.delayed is None else self._free & ~progress.delayed
        paying = running[(wanted[running] != ANSWERS) & ~free[wanted[running]]]
        deciding = rows[paying]
        outputs, settled = self._trees.foresee(inner, deciding, self._class_costs)
        keen, memory = self._rule.keenness(
            place.stage[deciding].astype(np.int64),
            sureness(self._trees, inner, deciding, outputs, self._class_costs),
            place.memory[deciding].astype(np.int64),
        )
        stops = settled | (keen <= self._level)
        place.memory[deciding] = memory
        place.stage[deciding] += 1
        place.stopped[deciding[stops]] = 1
        wanted[paying[stops]] = ANSWERS
        return wanted

    def at_once(self, purse: Purse) -> Walk | None:
        """Give a walk through the trees that the rule stops, where both are known to kernels."""
        if type(self._trees) is not TreesInOrder or not hasattr(self._rule, "tables"):
            return None
        return self._trees.walk(purse._replace(free=self._free), self._rule.tables(), self._level, self._class_costs)

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark the tests below the place of each example, in its tree."""
        return self._trees.may_want_of_tree(self._split(progress)[0], rows)

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Predict from the trees that what is known answers."""
        return self._trees.answer(self._split(progress)[0], rows)

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Say how sure the answer is so far, and which tree asks."""
        inner = self._split(progress)[0]
        rows = np.array([row])
        outputs = self._trees.answer(inner, rows)
        sure = sureness(self._trees, inner, rows, outputs, self._class_costs)[0]
        state = margin_in_words(sure, self._class_costs)
        if outputs.shape[1] == 1:
            state = f"the targets that the trees may come to are {-sure:.4g} apart"
        return f"{state}; {self._trees.reason(inner, row, in_words)}"

    def _split(self, progress: Progress) -> tuple[Progress, _Place]:
        """Split a progress into that of the trees, which wait for one another, and the places of the rule."""
        size = self._trees.place_size
        return replace(progress, place=progress.place[:, :size], delayed=None), _Place(*progress.place[:, size:].T)


class _Place(NamedTuple):
    """What the rule keeps for each example: views of the progress."""

    stage: Int32Array
    memory: Int32Array
    stopped: Int32Array


def sureness(
    trees: TreesInOrder, progress: Progress, rows: Rows, outputs: FloatArray, class_costs: FloatArray | None = None
) -> FloatArray:
    """Say how sure answers are, for a rule to go by, shape (n_rows,).

    Of classes it is the margin between the two likeliest, or the difference in expected cost between the two cheapest
    labels. Of a target it is minus the distance between the least and the largest value that the trees may still come
    to: 0 where nothing that is still unknown changes it.

    Parameters
    ----------
    trees : TreesInOrder
    progress : Progress
    rows : ndarray of int64
    outputs : ndarray of float64, shape (n_rows, n_classes) or (n_rows, 1)
        What the trees answer.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
    """
    if outputs.shape[1] > 1:
        return margin(outputs, class_costs)
    low, high = trees.bounds(progress, rows)
    return low - high


def record_paths(
    trees: TreesInOrder,
    seller: Seller,
    X: Array,
    y: Array,
    max_cost: object | None,
    loss: Callable[[FloatArray, Array], FloatArray] | None = None,
    answers: StageOutputs | None = None,
) -> StoppingPaths:
    """Walk examples on until their label is settled; note how sure and right it is at each stage, and what is bought.

    Parameters
    ----------
    trees : TreesInOrder
    seller : Seller
    X : ndarray, shape (n_samples, n_features)
    y : ndarray, shape (n_samples,)
        Class labels, or targets.
    max_cost : number, optional
        What each example may pay at most.
    loss : callable (outputs, y) -> ndarray, shape (n_samples,), optional
        What stopping with such outputs, shape (n_samples, n_outputs), loses; by default 1 for a wrong label, or what
        it costs.
    answers : StageOutputs, optional
        Notes what is answered at each stage.
    """
    if loss is None:
        loss = partial(label_losses, classes=np.asarray(seller.classes), class_costs=seller.class_costs)
    if answers is None and not seller.costs.delayed.any():
        walk = trees.at_once(seller.purse(max_cost))
        if isinstance(walk, TreeWalk):
            return _paths_at_once(replace(walk, class_costs=seller.class_costs), seller, X, y, loss, trees.dtype)
    policy: Policy = trees
    free = seller.free_features
    if seller.costs.delayed.any():
        policy = EarlyExitPolicy(trees, ThresholdStopping(), -inf, free, seller.class_costs)
    sessions = Sessions(policy, seller, X.shape[0], max_cost=max_cost)
    table = sessions.table(X)
    leads: list[FloatArray] = []
    losses: list[FloatArray] = []
    last = np.zeros(X.shape[0], dtype=np.int64)
    bought_at = np.full((X.shape[0], seller.costs.n_units), -1)
    rows = np.arange(X.shape[0])
    while rows.size:
        while (given := np.flatnonzero((sessions.wanted != ANSWERS) & free[sessions.wanted] & ~sessions.waits)).size:
            sessions.buy_from(table, given)
        outputs, settled = trees.foresee(sessions.progress, rows, seller.class_costs)
        if answers is not None:
            answers.note(outputs, rows)
        leads.append(
            _scatter(sureness(trees, sessions.progress, rows, outputs, seller.class_costs), rows, last.size, 0.0)
        )
        lost = loss(outputs, y[rows])
        losses.append(_scatter(lost, rows, last.size, losses[-1] if losses else 0.0))
        rows = rows[(sessions.wanted[rows] != ANSWERS) & ~settled]
        before = sessions.units_paid[rows]
        sessions.buy_from(table, rows)
        example, unit = np.nonzero(sessions.units_paid[rows] & ~before)
        bought_at[rows[example], unit] = len(leads) - 1
        last[rows] += 1
    bought_at[bought_at < 0] = len(leads)
    return StoppingPaths(np.column_stack(leads), np.column_stack(losses), last, bought_at, seller.costs)


def _paths_at_once(
    walk: TreeWalk,
    seller: Seller,
    X: Array,
    y: Array,
    loss: Callable[[FloatArray, Array], FloatArray],
    dtype: npt.DTypeLike,
) -> StoppingPaths:
    """Note the stages of blocks of examples by a compiled walk; see `record_paths`."""
    parts, size = [], max(1, RECORDED_CELLS // (X.shape[1] * walk.n_outputs))
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        recorded = record(walk, X[rows].astype(dtype).astype(np.float64))
        stages = np.minimum(np.arange(recorded.signal.shape[1]), recorded.last[:, None])
        first = np.diff(stages, axis=1, prepend=-1) > 0
        lost = np.empty(stages.shape)
        lost[first] = loss(recorded.outputs[first], np.broadcast_to(y[rows, None], first.shape)[first])
        parts.append((recorded.signal, np.take_along_axis(lost, stages, axis=1), recorded.last, recorded.bought_at))
    signal, losses, last, bought_at = map(np.concatenate, zip(*parts, strict=True))
    n_stages = int(last.max(initial=0)) + 1
    bought_at[bought_at < 0] = n_stages
    return StoppingPaths(signal[:, :n_stages], losses[:, :n_stages], last, bought_at, seller.costs)


def _scatter(values: FloatArray, rows: IntArray, size: int, others: FloatArray | float) -> FloatArray:
    column = np.empty(size)
    column[:] = others
    column[rows] = values
    return column


@dataclass(eq=False, repr=False)
class EarlyExit(AroundEstimator, ClassifierMixin, StoppedEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Stop buying features for an example as soon as going on is not worth the price.

    `fit` trains the ensemble on one part of the examples and learns on the other part when to stop. Before each
    purchase, all trees that what is known answers are evaluated; the margin between the two likeliest classes decides.

    Parameters
    ----------
    estimator : estimator
        A classifier that sums or averages trees: what `ipforest.ensemble.read` reads, or an estimator of this package
        such as `BudgetPrune`, whose prices are taken over. One that is fitted already is used as it is, and all
        examples serve to learn when to stop; wrap it in `sklearn.frozen.FrozenEstimator` to keep it so in clones.
    stopping : StoppingRule or sequence of StoppingRule, optional
        `ThresholdStopping`, `OptimalStopping` or `CertifiedStopping`; of several, the one for the budget is chosen on
        held-out examples. By default the first two.
    order : {"given", "greedy", "exact"}, default="given"
        Order of the trees; see `order_trees`. Those of `GreedyMiser`, and of a `BudgetRF` that pools, stay as given.
    feature_costs
        See `BudgetPrune`; none with an estimator that has its own.
    budget : number, optional
        What an example may cost on average; without one, as much as lowers the error.
    max_cost : number, optional
        The most that any one example may pay.
    scoring : str or callable, optional
        What chooses within the budget on held-out examples: a scikit-learn scorer, its name, "sensitivity_at=0.9" or
        the like (see `ipforest.choosing.measures`); by default the error. `curve_` then has negative scores as errors.
        With "total cost", what is bought and what mistakes cost together are as cheap as can be, by ``class_costs`` in
        the unit of the prices; a budget is then only a limit.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What predicting a class costs where another is true; see `ipforest.choosing.class_costs.read_class_costs`. Then
        the class of the least expected cost is predicted, and stopping is learnt and chosen by what mistakes cost; the
        ensemble is trained as it is.
    overspend : number, default=5
        An estimator that has budgets itself is tried at budgets up to this multiple of the budget: stopping brings the
        cost down. What a smaller budget tries a larger one tries, too, so on the held-out examples more budget never
        gives more error, nor less cost.
    n_folds : int, default=5
        Folds in which cost and error of every level are estimated by rules that have not seen the examples.
    validation_fraction : float, splitter, default=0.25
        Share of the examples on which it learns when to stop, if `fit` gets no ``X_val``.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble.
    trees_ : TreesInOrder
        The trees that are walked, in their order.
    rule_ : FittedRule
    level_ : float
        An example goes on while its keenness exceeds this.
    curve_ : Curve
        Cost and error of every level on held-out examples.
    paths_ : StoppingPaths
        What these examples see and pay when no example stops.
    costs_ : FeatureCosts
    n_features_in_ : int
    classes_ : ndarray, shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import EarlyExit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = EarlyExit(forest, budget=4, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 5)
    True
    """

    estimator: Any
    _: KW_ONLY
    order: str = checked("given", check_choice, ORDERS)
    overspend: Any = checked(5, nonnegative_fraction)

    @property
    def _holds_out(self) -> bool:
        return not is_fitted(unfrozen(self.estimator))

    def _categories_in(self, X: Any) -> Categories:
        return self._categories_of(unfrozen(self.estimator), X)

    def _take_classes(self, labels: Array) -> None:
        ensemble = unfrozen(self.estimator)
        if is_fitted(ensemble):
            require_features_of(ensemble, self.n_features_in_, getattr(self, "feature_names_in_", None))
            self.classes_ = np.asarray(ensemble.classes_)
        else:
            super()._take_classes(labels)

    def _train(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> None:
        ensemble = unfrozen(self.estimator)
        if is_fitted(ensemble):
            checked_labels(training.y, training.X, self.classes_, "y")
            self.estimator_ = ensemble
        else:
            self.estimator_ = clone(ensemble).fit(given.table_to_train, training.y, **given.for_inner(ensemble))
        if isinstance(self.estimator_, BudgetedEstimator):
            self.costs_ = self.estimator_.costs_
        else:
            names = [*getattr(self, "feature_names_in_", range(self.n_features_in_))]
            require_trained_categories(self.estimator_, self.categories_.names, names)
        self._held_out, self._candidates = validation, dict[str, Stoppable]()
        self._keep_held_out(validation)

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        if not is_classifier(self.estimator):
            raise TypeError(f"estimator: expected a classifier, got {type(self.estimator).__name__}")
        ensemble = unfrozen(self.estimator)
        if isinstance(getattr(ensemble, "classes_", None), list):
            name, n_targets = type(ensemble).__name__, len(ensemble.classes_)
            raise TypeError(f"estimator: expected a classifier of one target, got {name} of {n_targets}")
        if isinstance(ensemble, Pipeline):
            cure = in_two_parts("EarlyExit(FrozenEstimator(pipeline[-1]))")
            raise TypeError(f"estimator: expected an ensemble of trees, got Pipeline; {cure}")
        if isinstance(ensemble, BudgetedEstimator):
            check_inner_estimator(self, ensemble)
        super().check_parameters()

    def _choose(self) -> None:
        """Take, among the ensembles, rules and levels within the budget, those of least error on held-out examples."""
        self.trees_ = self._take_best([self._candidate(budget) for budget in self._inner_budgets()]).policy

    def _inner_budgets(self) -> list[object]:
        """List the budgets at which to try an estimator that has budgets itself, ascending; None is without one.

        They are 0 and a grid, a constant factor apart, from the cheapest unit to all units together, as far as in
        reach: a larger budget tries all that a smaller one does.
        """
        has_limit = self.budget is not None
        if not isinstance(self.estimator_, BudgetedEstimator) or not (has_limit or self._least_total):
            return [None]
        whole = sum(self.costs_.unit_costs, Fraction(0))
        most = whole
        if has_limit:
            most = nonnegative_fraction(self.budget, "budget") * nonnegative_fraction(self.overspend, "overspend")
        least = min((cost for cost in self.costs_.unit_costs if cost > 0), default=whole)
        grid = []
        inner = whole / GRID_STEP
        while inner >= least > 0:
            grid.append(inner)
            inner /= GRID_STEP
        reached: list[object] = [Fraction(0), *(inner for inner in reversed(grid) if inner <= most)]
        return [*reached, None] if most >= whole else reached

    def _candidate(self, inner_budget: object) -> Stoppable:
        """Learn when to stop the ensemble that has so large a budget, once."""
        key = str(inner_budget)
        if key not in self._candidates:
            X, y, _ = self._held_out
            trees = self._trees(inner_budget)
            if self.order != "given":
                trees = TreesInOrder(order_trees(trees.trees, X, y, self.costs_, exact=self.order == "exact"))
            record = partial(record_paths, trees, self._seller(), X, y, self.max_cost)
            self._candidates[key] = self._learnt(trees, self._held_out, lambda answers: record(answers=answers))
        return self._candidates[key]

    def _trees(self, inner_budget: object) -> TreesInOrder:
        if not isinstance(self.estimator_, BudgetedEstimator):
            return TreesInOrder(replace(read(self.estimator_), categories=Categories()))
        model = self.estimator_ if inner_budget is None else self.estimator_.at_budget(inner_budget)
        policy = model.policy()
        if not isinstance(policy, TreesInOrder):
            raise TypeError(
                f"estimator: expected one that sums or averages trees, got {type(self.estimator_).__name__}"
            )
        if self.order != "given" and type(policy) is not TreesInOrder:
            raise ValueError(
                f"order: expected 'given' for trees whose probabilities are not averaged, as those of "
                f"{type(self.estimator_).__name__}, got {self.order!r}"
            )
        return policy

    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers."""
        free = self._seller().free_features
        return EarlyExitPolicy(self.trees_, self.rule_, self.level_, free, self.class_costs_)
