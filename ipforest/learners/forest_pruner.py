"""What estimators that prune a forest share: the forest trained or taken, the instance, the pruned trees."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from ipforest._internal.arrays import Array, BoolArray
from ipforest._internal.callers import warn_caller
from ipforest._internal.examples import Labelled, checked_weight, largest_named, require_rows_in_order
from ipforest._internal.feature_names import column_names
from ipforest._internal.rational import nonnegative_fraction, time_limit_seconds
from ipforest._internal.words import as_given
from ipforest.choosing.frontier import Frontier
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.library_checks import overridden
from ipforest.ensemble.sklearn_trees import AVERAGING, averaging_trees, unfrozen
from ipforest.estimator import PricedEstimator
from ipforest.estimator.base import warn_if_nothing_is_bought
from ipforest.estimator.checks import check_choice, is_fitted
from ipforest.estimator.given import Given, seeded
from ipforest.estimator.held_out import check_alike, checked_labels
from ipforest.estimator.inner_weights import weights_as_inside
from ipforest.estimator.tags import AroundEstimator
from ipforest.estimator.whole_fits import whole_or_none
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.learners.vote_descent import VoteProblem
from ipforest.losses import ErrorData, checked_class_costs, loss_for
from ipforest.policy import TreesInOrder
from ipforest.results import Pruning
from ipforest.settings import Settings, checked
from ipforest.walks.purse import spending_limit

ERRORS = ("in-bag", "out-of-bag", "training", "held-out")
OBJECTIVES = ("trees", "forest")
MAX_RAISE = Fraction(101, 100)
"""By which prices may be rounded up, so that a path fits 64 bits, without a warning."""

SEARCHES = {"path": "path", "greedy": "greedy", "exact": "mip"}
"""Searches within a budget, and the methods of `ipforest.solve_budget` behind them."""


@dataclass(frozen=True, slots=True, repr=False)
class PruningSettings(Settings):
    """What a pruning is judged by, and how the one within a budget is found.

    Parameters
    ----------
    search : {"greedy", "path", "exact"}, default="greedy"
        How the pruning within a budget is found: the best breakpoint of the path ("path"), the breakpoint filled up by
        greed, or branch and bound until the pruning is proven best or the time is up. None is worse than those before.
    time_limit : number, default=10
        Seconds of branch and bound, for each budget.
    errors : {"in-bag", "out-of-bag", "training", "held-out"}, default="in-bag"
        Where losses are counted: on what each tree was trained on, on what its bootstrap left out, on both, each
        training example once, or on the validation part, which then tells costs and losses.
    objective : {"trees", "forest"}, default="trees"
        What the loss is of. "trees" is the mean loss of the trees, for which the pruning is proven optimal. "forest" is
        the squared loss of their vote (the Brier score), on examples that trees were not trained on: those left out of
        their bootstrap, and the validation part, or X for a fitted estimator. From the proven pruning each tree is
        pruned anew, exactly, with the others fixed, until none improves; its error is usually lower at the same
        budget, but only locally optimal. See `ipforest.learners.vote_descent`.
    refit : bool, default=False
        Whether the leaves of the pruned trees learn their values anew from all examples, the validation part included.
    """

    parameter: ClassVar[str] = "pruning"

    search: str = checked("greedy", check_choice, SEARCHES)
    time_limit: float = checked(10, time_limit_seconds)
    errors: str = checked("in-bag", check_choice, ERRORS)
    objective: str = checked("trees", check_choice, OBJECTIVES)
    refit: bool = False


@dataclass(eq=False, repr=False)
class ForestPruner(AroundEstimator, PricedEstimator):
    """Base of the estimators that train a forest, or take a fitted one, and prune it.

    A subclass finds its prunings in `_find_prunings`, and gives the one for a budget in `_choose_pruning`.

    Parameters
    ----------
    estimator, feature_costs, budget, max_cost, loss, class_costs, scoring, split_cost
        See `BudgetPrune`.
    validation_fraction, random_state
        See `BudgetPrune`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble, unpruned.
    forest_ : Forest
        The same as arrays.
    costs_ : FeatureCosts
    loss_ : str
    split_cost_ : Fraction
    instance_ : PruningInstance
        Errors of the nodes on in-bag examples, and acquisitions of the cost examples.
    pruning_ : Pruning
        The one that was taken.
    pruned_ : Forest
        The forest that predicts; trees that are pruned to their root do not vote.
    """

    min_classes = 1
    _pruning = PruningSettings()

    estimator: Any
    _: KW_ONLY
    max_cost: Any = None
    loss: str | None = None
    class_costs: Any = None
    scoring: str | None = None
    split_cost: Any = 0

    instance_: PruningInstance = field(init=False)
    pruning_: Pruning = field(init=False)
    _vote: VoteProblem | None = field(init=False)

    @abstractmethod
    def _find_prunings(self) -> Frontier:
        """Find the prunings that a budget chooses from; tell what they cost and lose on the instance."""

    @abstractmethod
    def _choose_pruning(self) -> Pruning:
        """Return the pruning for ``self.budget``."""

    @weights_as_inside
    @whole_or_none
    def fit(
        self,
        X: npt.ArrayLike,
        y: Any = None,
        X_cost: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Train the ensemble unless it is fitted, find the prunings and take one.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Training examples, or, for a fitted estimator without `X_cost`, the examples for costs.
        y : array, shape (n_samples,)
            Targets; a fitted estimator needs them only for held-out errors and to refit.
        X_cost : array, shape (n_cost_samples, n_features), optional
            Examples whose average cost is optimised and meets the budget; X without it.
        sample_weight : array, shape (n_samples,), optional
            Weights of the examples in training and in the loss; each counts once for costs.
        groups : array, shape (n_samples,), optional
            Examples of one group, such as those of one patient, are all trained on or all held out.

        Raises
        ------
        TypeError, ValueError
            An ensemble that does not average trees, bad parameters, prices or examples, errors that cannot be counted.
        """
        ensemble = self._ensemble()
        if is_fitted(ensemble):
            self.check_parameters()
            self._keep_held_out(None)
            paying, error_data, unseen = self._use_fitted(ensemble, X, y, X_cost, sample_weight)
            self.frontier_ = self._prune(paying, error_data, unseen)
            self._choose()
        else:
            self._fit(X, y, sample_weight=sample_weight, groups=groups, hold_out=X_cost is None, X_cost=X_cost)
        warn_of_rounded_prices(self.instance_, self.costs_)
        self._warn_if_nothing_is_bought()
        return self

    def _ensemble(self) -> Any:
        """Take the ensemble, fitted or not, and require that its trees can be pruned."""
        return averaging_trees(self.estimator)

    def _warn_if_nothing_is_bought(self) -> None:
        whole = self.instance_.evaluate(self.instance_.unpruned)[1]
        if self.budget is None or whole <= nonnegative_fraction(self.budget, "budget"):
            return
        advice = "train the ensemble on the columns that cost less, or with a smaller max_features"
        advice = self._cheapest_beyond() or advice
        warn_if_nothing_is_bought(self.budget, float(self.instance_.evaluate(self.pruning_)[1]), advice)

    def _prune(self, paying: Array, error_data: ErrorData | None, unseen: Labelled | None) -> Frontier:
        """Find the prunings of the forest.

        ``unseen`` are examples with weights (n_samples, n_trees), 0 for trees that were trained on an example; None
        where the vote does not count.
        """
        self.instance_ = self._instance(paying, error_data)
        self._vote = None if unseen is None else self._vote_problem(unseen, paying)
        return self._find_prunings()

    def _instance(self, paying: Array, error_data: ErrorData | None) -> PruningInstance:
        return PruningInstance.from_forest(
            self.forest_,
            paying,
            self.costs_,
            self.loss_,
            error_data,
            split_cost=self.split_cost_,
            resolution=FITS_PATH,
            class_costs=self.class_costs_,
        )

    def _vote_problem(self, unseen: Labelled, paying: Array) -> VoteProblem:
        classes = self.forest_.classes
        target = unseen.y.astype(np.float64)[:, None] if classes is None else (unseen.y[:, None] == classes) * 1.0
        return VoteProblem.of(
            self.forest_,
            unseen.X,
            target,
            unseen.weight,
            paying,
            self.costs_,
            float(self.split_cost_),
            self.class_costs_,
        )

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        ensemble = self._ensemble()
        if self._pruning.errors == "out-of-bag":
            check_own_samples(ensemble)
        self.loss_ = loss_for(self.loss, is_classifier(self))
        self.split_cost_ = nonnegative_fraction(self.split_cost, "split_cost")
        if self.max_cost is not None and self.split_cost_:
            raise ValueError(f"max_cost: expected none with a split cost, got {self.max_cost!r}")

    def _take_class_costs(self, classes: Array | None) -> None:
        given = self.class_costs
        self.class_costs_ = None if given is None else checked_class_costs(given, self.loss_, classes)

    def _use_fitted(
        self,
        ensemble: Any,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None,
        X_cost: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
    ) -> tuple[Array, ErrorData | None, Labelled | None]:
        """Take the ensemble as it is; return the examples for costs, those for errors if not in-bag, and for votes."""
        if self._pruning.errors in ("out-of-bag", "training"):
            raise ValueError(
                "pruning.errors: expected 'in-bag' or 'held-out' for a fitted estimator, whose training examples are "
                f"not at hand, got {self._pruning.errors!r}"
            )
        judged = self._pruning
        if y is None and (judged.errors == "held-out" or judged.refit or judged.objective == "forest"):
            raise ValueError(
                "y: expected the targets of X for held-out errors, to refit, and for the objective 'forest', got None"
            )
        self.estimator_ = ensemble
        self.n_features_in_, self._column_labels = ensemble.n_features_in_, None
        self._take_names_of(ensemble)
        examples = self._checked(X)
        self.costs_ = self._read_costs(column_names(X))
        classes = getattr(ensemble, "classes_", None)
        self._keep_classes(classes)
        self._take_class_costs(classes)
        self.forest_ = Forest.from_sklearn(ensemble)
        self._note_missing(examples)
        self._refit_data = None
        paying = self._paying(X_cost, examples)
        if y is None:
            return paying, None, None
        require_rows_in_order(X, y)
        data = Labelled(examples, checked_labels(y, examples, classes, "y"), checked_weight(sample_weight, X, examples))
        self._keep_held_out(data)
        self._refit_data = data if self._pruning.refit else None
        unseen = _seen_by_none(data, self.forest_.n_trees) if self._pruning.objective == "forest" else None
        return paying, data if self._pruning.errors == "held-out" else None, unseen

    def _paying(self, X_cost: npt.ArrayLike | None, given: Array) -> Array:
        """Take the examples for costs, on the scale of those given (`check_alike`), or these without any."""
        if X_cost is None:
            return given
        examples = self._checked(X_cost)
        check_alike(examples, given, "X_cost")
        return examples

    def _train(
        self,
        training: Labelled,
        validation: Labelled,
        given: Given,
        *,
        X_cost: npt.ArrayLike | None = None,
        **options: Any,
    ) -> Frontier:
        """Fit a clone of the ensemble, and prune it."""
        is_held_out = X_cost is None and self.validation_fraction is not None
        held_out_errors, of_forest = self._pruning.errors == "held-out", self._pruning.objective == "forest"
        if held_out_errors and not is_held_out:
            raise ValueError(
                "pruning.errors: expected 'in-bag', 'out-of-bag' or 'training' without a validation part "
                "(validation_fraction=None, or X_cost), got 'held-out'"
            )
        paying = self._paying(X_cost, given.examples.X)
        self._refit_data = given.examples if self._pruning.refit else None
        if _all_equal(training.y):  # of which trees would split what rounding leaves
            training = training._replace(X=np.zeros_like(training.X))
        ensemble, names = seeded(self.estimator, self.random_state), getattr(self, "feature_names_in_", None)
        with largest_named(training.X, names):
            self.estimator_ = ensemble.fit(training.X, training.y, **given.for_inner(self.estimator))
        self.forest_ = replace(Forest.from_sklearn(self.estimator_), feature_names=names)
        error_data = validation if held_out_errors else pruning_set(self._pruning.errors, self.estimator_, training)
        unseen = self._unseen(training, validation if is_held_out else None) if of_forest else None
        return self._prune(paying, error_data, unseen)

    def _unseen(self, training: Labelled, validation: Labelled | None) -> Labelled:
        """Put together the examples that trees were not trained on: those left out of their bootstrap, and held out."""
        n_trees = self.forest_.n_trees
        held_out = None if validation is None else _seen_by_none(validation, n_trees)
        if not getattr(self.estimator_, "bootstrap", False):
            if held_out is None:
                raise ValueError(
                    "pruning.objective: expected a validation part or trees with bootstrap for 'forest', whose votes "
                    "are counted on examples that trees were not trained on, got neither"
                )
            return held_out
        check_own_samples(self.estimator_, "pruning.objective: expected 'trees'", "'forest'")
        weight = training.weight[:, None] * out_of_bag(self.estimator_, training.y.size)
        left_out = training._replace(weight=weight).rows(np.flatnonzero(weight.any(axis=1)))
        if held_out is None:
            return left_out
        return Labelled(*(np.concatenate(both) for both in zip(left_out, held_out, strict=True)))

    def _choose(self) -> None:
        pruning = self._choose_pruning()
        if not isinstance(pruning, Pruning):
            raise TypeError(f"_choose_pruning: expected to get a Pruning, got {type(pruning).__name__}")
        cost = self.instance_.evaluate(pruning)[1]
        if cost > spending_limit(self.budget):
            raise ValueError(
                f"_choose_pruning: expected to get a pruning within the budget {as_given(self.budget)}, got one that "
                f"costs {as_given(cost)}"
            )
        self.pruning_ = pruning
        self.pruned_ = self._pruned()

    def _pruned(self) -> Any:
        """Prune the trees, and refit what is left of them if wanted."""
        pruned = self.forest_.prune(self.pruning_).without_bare_roots()
        return pruned if self._refit_data is None else pruned.refit(*self._refit_data)

    def policy(self) -> TreesInOrder:
        """Say how the fitted model buys features and what it answers."""
        return TreesInOrder(self.pruned_)

    @property
    def _kept_for(self) -> str:
        judged = self._pruning
        is_chosen = judged.errors == "held-out" or judged.objective == "forest" or judged.refit
        if is_chosen or is_fitted(unfrozen(self.estimator)):
            return super()._kept_for
        return "held out of training"

    @property
    def _taken(self) -> str:
        kept = self.pruning_.kept
        return f"{self.policy().name} with {kept.sum():,} of {kept.size:,} tests"

    def to_sklearn(self) -> Any:
        """Return the pruned forest as a fitted RandomForestClassifier or RandomForestRegressor.

        Raises
        ------
        ValueError
            Class costs or a cap decide as well, which such a forest does not have; see `to_trees`.
        """
        forest = self.to_trees().to_sklearn()
        if hasattr(self, "feature_names_in_"):
            forest.feature_names_in_ = self.feature_names_in_
        return forest


def _seen_by_none(data: Labelled, n_trees: int) -> Labelled:
    """Give examples that no tree was trained on the same weight for each tree."""
    return data._replace(weight=np.repeat(data.weight[:, None], n_trees, axis=1))


def warn_of_rounded_prices(instance: PruningInstance, costs: FeatureCosts) -> None:
    """Warn where the whole path fits 64 bits only at prices that are clearly higher than those given."""
    step, prices = instance.price_step, costs.unit_costs
    paid = [prices[unit] for unit in np.unique(instance.acquisition_unit) if prices[unit]]
    counted = {price: ceil(price / step) * step for price in paid}
    raised = max(paid, key=lambda price: counted[price] / price, default=None)
    if raised is not None and counted[raised] > MAX_RAISE * raised:
        warn_caller(
            f"feature_costs: prices are counted in multiples of {float(step):.6g}, rounded up, so that "
            f"{float(raised):.6g} counts as {float(counted[raised]):.6g}: next to prices of up to "
            f"{float(max(paid)):.6g} smaller multiples do not fit 64 bits; give lower prices to what is hardly "
            "ever to be bought"
        )


def check_own_samples(
    ensemble: Any, expected: str = "pruning.errors: expected 'in-bag' or 'held-out'", got: str = "'out-of-bag'"
) -> None:
    """Require an ensemble that draws the examples of its trees as scikit-learn does, which is how they are known later.

    Raises
    ------
    ValueError
        Its class draws them in a way of its own, as imbalanced-learn's forests do.
    """
    method = overridden(ensemble, "sklearn", ("fit", "_fit", "estimators_samples_", "_get_estimators_indices"))
    if isinstance(ensemble, AVERAGING) and method is not None:
        raise ValueError(
            f"{expected} for {type(ensemble).__name__}, whose {method} draws examples in its own way, got {got}"
        )


def pruning_set(errors: str, ensemble: Any, training: Labelled) -> Labelled | None:
    """Choose the training examples on which the losses of each tree are counted.

    Parameters
    ----------
    errors : {"in-bag", "out-of-bag", "training"}
        What the tree was trained on, as often as its bootstrap drew it; what its bootstrap left out; or both, each
        example once.
    ensemble : estimator
        Fitted to these examples.
    training : Labelled

    Returns
    -------
    Labelled or None
        None for those in the bag, which a forest has counted itself, but not where all targets are the same: then it
        holds what rounding leaves.
    """
    if errors == "training" or (errors == "in-bag" and _all_equal(training.y)):
        return training
    if errors == "in-bag":
        return None
    return training._replace(weight=training.weight[:, None] * out_of_bag(ensemble, training.y.size))


def _all_equal(targets: Array) -> bool:
    return bool((targets == targets[0]).all())


def out_of_bag(ensemble: Any, n_samples: int) -> BoolArray:
    """Return which training examples each tree of an ensemble was not trained on, shape (n_samples, n_trees).

    Raises
    ------
    ValueError
        The trees were trained on all examples.
    """
    if not getattr(ensemble, "bootstrap", False):
        raise ValueError(
            "pruning.errors: expected 'in-bag' or 'held-out' for trees without bootstrap, got 'out-of-bag' for "
            f"{ensemble!r}"
        )
    samples = ensemble.estimators_samples_
    left_out = np.ones((n_samples, len(samples)), dtype=bool)
    for tree, drawn in enumerate(samples):
        left_out[drawn, tree] = False
    return left_out
