"""EarlyExit: stop buying features for an example as soon as going on is not worth the price."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ipforest._internal.arrays import Array
from ipforest._internal.examples import Labelled, largest_named
from ipforest._internal.feature_names import require_features_of
from ipforest._internal.rational import nonnegative_fraction
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.libraries import read, trained_categories
from ipforest.ensemble.sklearn_trees import in_two_parts, unfrozen
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.checks import check_choice, is_fitted
from ipforest.estimator.given import Given, check_inner_estimator, seeded
from ipforest.estimator.held_out import checked_labels
from ipforest.estimator.kinds import Classifies
from ipforest.estimator.model import trying_budgets
from ipforest.estimator.tags import AroundEstimator
from ipforest.policy import TreesInOrder
from ipforest.settings import checked
from ipforest.stopping.stopped import Member, StoppedEstimator
from ipforest.stopping.tree_order import ORDERS, order_trees

GRID_STEP = Fraction(3, 2)
"""Between budgets at which an estimator that has budgets itself is tried."""


@dataclass(eq=False, repr=False)
class EarlyExit(AroundEstimator, Classifies, StoppedEstimator):
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
        What predicting a class costs where another is true; see `ipforest.choosing.class_costs.read_class_costs`. The
        class of the least expected cost is then predicted. Stopping is learnt and chosen by what mistakes cost; the
        ensemble is trained as it is.
    overspend : number, default=5
        An estimator that has budgets itself is tried at budgets up to this multiple of the budget: stopping brings the
        cost down. What a smaller budget tries a larger one tries, too, so on the held-out examples more budget never
        gives more error, nor less cost.
    n_folds : int, default=5
        Folds in which cost and error of every level are estimated by rules that have not seen the examples, nor others
        of their groups.
    validation_fraction : float, splitter, default=0.25
        Share of the examples on which it learns when to stop, if `fit` gets no ``X_val``.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, and seeds an estimator that has no seed of its own.

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
            trained = seeded(ensemble, self.random_state)
            table = given.table_to_train
            with largest_named(table):
                self.estimator_ = trained.fit(table, training.y, **given.for_inner(ensemble))
        if isinstance(self.estimator_, BudgetedEstimator):
            self.costs_ = self.estimator_.costs_
        else:
            learnt = trained_categories(self.estimator_).placed_in(sorted(self.categories_.names))
            validation = validation._replace(X=learnt.translated(validation.X, self.categories_))
            self.categories_ = learnt
        self._held_out, self._candidates = validation, dict[str, Member]()
        self._groups_held_out = given.groups_held_out
        self._keep_held_out(validation)

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        ensemble = unfrozen(self.estimator)
        if not is_classifier(ensemble):
            raise TypeError(f"estimator: expected a classifier, got {type(ensemble).__name__}")
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
        tried = self._inner_budgets()
        advice = "" if None in tried else "a larger overspend tries ensembles that buy more"
        self._take_best([self._candidate(budget) for budget in tried], advice)

    @property
    def trees_(self) -> TreesInOrder:
        """The trees that are walked, in their order."""
        trees: TreesInOrder = self._way[0].policy
        return trees

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

    def _candidate(self, inner_budget: object) -> Member:
        """Learn when to stop the ensemble that has so large a budget, once."""
        key = str(inner_budget)
        if key not in self._candidates:
            X, y, _ = self._held_out
            trees = self._trees(inner_budget)
            if self.order != "given":
                trees = TreesInOrder(order_trees(trees.trees, X, y, self.costs_, exact=self.order == "exact"))
            self._candidates[key] = self._member(trees, self._held_out, None, self.stopping, self.n_folds)
        return self._candidates[key]

    def _trees(self, inner_budget: object) -> TreesInOrder:
        if not isinstance(self.estimator_, BudgetedEstimator):
            return TreesInOrder(replace(read(self.estimator_), categories=Categories()).centred())
        with trying_budgets():
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
