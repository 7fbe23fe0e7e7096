"""ReadableTree: in place of a model that no person can follow, one tree that asks few questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import TargetEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.examples import checked_weight, require_rows_in_order
from ipforest.ensemble.category_sets import CategorySets
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.sklearn_trees import unfrozen
from ipforest.estimator import BudgetedEstimator, optional_number
from ipforest.estimator.checks import check_integer, is_fitted
from ipforest.estimator.given import for_inner, seeded
from ipforest.estimator.held_out import checked_groups, checked_labels
from ipforest.estimator.inner_weights import weights_as_inside
from ipforest.estimator.model import trying_budgets
from ipforest.estimator.tags import AroundEstimator
from ipforest.estimator.whole_fits import whole_or_none
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.forest_pruner import PruningSettings
from ipforest.policy import TreesInOrder
from ipforest.results import Pruning
from ipforest.session import Seller
from ipforest.settings import check_fields, checked
from ipforest.walks.purse import spending_limit

__all__ = ["Fidelity", "ReadableTree"]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """What a readable tree loses against the model that it stands for, on some examples.

    Parameters
    ----------
    n_samples : int
    agreement : float
        Share of examples that both answer alike; for regression the R2 of the tree's predictions on those of the model.
    error, error_of_model : float
        Share of wrong answers, or the mean squared error.
    cost, cost_of_model : float
        What an example pays on average.
    classifies : bool
        Whether they answer with classes, not with numbers.
    """

    n_samples: int
    agreement: float
    error: float
    error_of_model: float
    cost: float
    cost_of_model: float
    classifies: bool = True

    def summary(self) -> str:
        """Say it in a sentence."""
        how, error = f"agrees with the model by {self.agreement:.1%}", "error"
        if not self.classifies:
            how, error = f"has an R2 of {self.agreement:.4g} on the model's answers", "mean squared error"
        return (
            f"On {self.n_samples} examples the tree {how}; its {error} is {self.error:.4g}, the model's "
            f"{self.error_of_model:.4g}; an example pays {self.cost:.4g}, with the model {self.cost_of_model:.4g}."
        )

    def __str__(self) -> str:
        return self.summary()


@dataclass(eq=False, repr=False)
class ReadableTree(AroundEstimator, BudgetedEstimator):
    """Stand for a model by one tree of limited depth that asks few questions, pruned optimally to a budget.

    The tree is grown on what the model answers, with the features that the model may buy; tests of named categories ask
    for one of some. What would be one question too many, or would pass the model's ``max_cost``, is cut off, which
    leaves every pruning within these limits. The targets tell what is answered at each node; then `BudgetPrune` finds
    the pruning of least error within the budget, by branch and bound. It is a classifier or a regressor as the model
    is.

    Parameters
    ----------
    estimator : estimator
        The model: one of this package, with its prices. One that is fitted already is used as it is; wrap it in
        `sklearn.frozen.FrozenEstimator` to keep it so in clones.
    max_depth : int, default=4
        Most tests on a way through the tree.
    max_questions : int, optional
        Most units that one example may buy; free ones count, too, and what is ordered together with delayed ones.
    budget : number, optional
        What an example may cost on average; by default what it costs with the model.
    min_samples_leaf : int, default=5
        Fewest examples at a leaf.
    random_state : int, RandomState instance or None, default=None
        Orders features of equal merit, and seeds an estimator that has no seed of its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    tree_ : Forest
        The tree that predicts.
    pruned_ : BudgetPrune
        How it was pruned: the path, the result and its bound.
    costs_ : FeatureCosts
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X has column names.
    classes_ : ndarray, shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import BudgetPrune
    >>> from ipforest.learners import ReadableTree
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetPrune(RandomForestClassifier(20, random_state=0), budget=6, random_state=0)
    >>> tree = ReadableTree(model, max_questions=2, random_state=0).fit(X[::2], y[::2])
    >>> tree.acquired(X).sum(axis=1).max()
    np.int64(2)
    >>> tree.fidelity(X[1::2], y[1::2]).agreement > 0.9
    True
    """

    feature_costs = None

    estimator: Any
    _: KW_ONLY
    max_depth: int = checked(4, check_integer, 1)
    max_questions: int | None = checked(None, check_integer, 1, or_none=True)
    budget: Any = checked(None, optional_number)
    min_samples_leaf: int = checked(5, check_integer, 1)
    random_state: Any = None

    @weights_as_inside
    @whole_or_none
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Train the model unless it is fitted, and the tree that stands for it.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        sample_weight : array, shape (n_samples,), optional
            Weights of the examples in training a model that is not fitted, which takes weights then, and the tree.
        groups : array, shape (n_samples,), optional
            Examples of one group, such as those of one patient, are all trained on or all held out by the model.

        Raises
        ------
        TypeError, ValueError
            A model that does not buy, bad parameters or examples.
        """
        self.check_parameters()
        require_rows_in_order(X, y)
        model = unfrozen(self.estimator)
        weight = None if sample_weight is None else checked_weight(sample_weight, X, np.asarray(y))
        labels = checked_groups(groups, X, np.size(y))
        if is_fitted(model):
            self.estimator_ = model
        else:
            told = for_inner(model, weight, labels)
            self.estimator_ = seeded(model, self.random_state).fit(X, y, **told)
        self.costs_, self.split_cost_ = self.estimator_.costs_, self.estimator_.split_cost_
        self.class_costs_, self.categories_ = self.estimator_.class_costs_, self.estimator_.categories_
        self.n_features_in_ = self.estimator_.n_features_in_
        self._take_names_of(self.estimator_)
        self._keep_classes(np.asarray(self.estimator_.classes_) if is_classifier(self) else None)
        examples, targets = self._checked_part(X, y)
        self._cost_of_model = float(self.estimator_.cost(X).mean())
        answers = np.asarray(self.estimator_.predict(X))
        self._ranks = self._ranked(examples, answers)
        examples = with_ranks(examples, self._ranks)
        tree = self._within_limits(self._grown(examples, answers, weight)).refit(examples, targets, weight)
        self._unbudgeted = BudgetPrune(
            FrozenEstimator(tree.to_sklearn()),
            feature_costs=self.costs_,
            pruning=PruningSettings(search="exact"),
            class_costs=self.class_costs_,
            split_cost=self.split_cost_,
        ).fit(examples)
        self._choose()
        return self

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        model = unfrozen(self.estimator)
        if not isinstance(model, BudgetedEstimator):
            raise TypeError(f"estimator: expected one of this package, which buys, got {type(model).__name__}")
        check_fields(self)

    def _grown(self, X: Array, answers: Array, weight: FloatArray | None) -> Forest:
        """Grow a tree on what the model answers, with the features that it may buy; it knows all classes."""
        shown = np.zeros_like(X)
        bought = self.estimator_.policy().features
        shown[:, bought] = X[:, bought]
        limits = {"max_depth": self.max_depth, "min_samples_leaf": self.min_samples_leaf}
        if not is_classifier(self):
            regressor = DecisionTreeRegressor(**limits, random_state=self.random_state)
            return Forest.from_sklearn(regressor.fit(shown, answers, sample_weight=weight))
        classes = self.classes_
        counts = np.ones(len(X)) if weight is None else weight
        counts = np.append(counts, np.zeros(classes.size))  # what has no weight only tells the classes
        classifier = DecisionTreeClassifier(**limits, random_state=self.random_state)
        classifier.fit(shown[[*range(len(X)), *[0] * classes.size]], [*answers, *classes], sample_weight=counts)
        return Forest.from_sklearn(classifier)

    def _ranked(self, X: Array, answers: Array) -> dict[int, IntArray]:
        """Rank the categories of each column that the model may buy by its answers."""
        kind = "continuous" if not is_classifier(self) else "binary" if self.classes_.size == 2 else "multiclass"
        encoder = TargetEncoder(target_type=kind).set_output(transform="default")
        bought = {*self.estimator_.policy().features.tolist()} if np.unique(answers).size > 1 else set()
        names = self.categories_.names
        return {column: ranks_of(encoder, X[:, column], len(names[column]), answers) for column in bought & {*names}}

    def _within_limits(self, tree: Forest) -> Forest:
        """Cut off what asks one question too many, or costs an example more than it may pay.

        With a delayed feature all tests below it are ordered, so below it whole levels stay or go.
        """
        seller = self._seller()
        first_unit, delayed = seller.first_unit, seller.costs.delayed_features
        most = np.inf if self.max_questions is None else self.max_questions
        limit = spending_limit(self.max_cost, "max_cost")

        def fits(used: frozenset[int]) -> bool:
            tested = np.zeros((1, self.n_features_in_), dtype=bool)
            tested[0, list(used)] = True
            return len({*first_unit[list(used)].tolist()}) <= most and bool(seller.costs.cost_of(tested)[0] <= limit)

        kept = np.zeros(tree.n_nodes, dtype=bool)
        waiting: list[tuple[list[int], frozenset[int]]] = [([0], frozenset())]
        while waiting:
            level, used = waiting.pop()
            tests = [node for node in level if not tree.is_leaf[node]]
            used = used | {*tree.feature[tests].tolist()}
            if not tests or not fits(used):
                continue
            kept[tests] = True
            below = [child for node in tests for child in (int(tree.left[node]), int(tree.right[node]))]
            ordered_at_once = len(level) > 1 or delayed[tree.feature[tests]].any()
            waiting += [(below, used)] if ordered_at_once else [([child], used) for child in below]
        return tree.prune(Pruning(kept[tree.internal_nodes]))

    def _choose(self) -> None:
        with trying_budgets():
            self.pruned_ = self._unbudgeted.at_budget(self._cost_of_model if self.budget is None else self.budget)
        self.tree_ = as_tests_of_categories(self.pruned_.pruned_, self._ranks)

    @property
    def max_cost(self) -> Any:
        """The most that one example may pay: that of the model."""
        return unfrozen(self.estimator).max_cost

    def policy(self) -> TreesInOrder:
        """Say how the tree buys features and what it answers."""
        return TreesInOrder(self.tree_)

    def fidelity(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Fidelity:
        """Compare the tree with the model on examples, best those that were not trained on.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        """
        require_rows_in_order(X, y)
        said, said_by_model = self.predict(X), self.estimator_.predict(X)
        target = checked_labels(y, said, getattr(self, "classes_", None), "y")
        if is_classifier(self):
            agreement = float(np.mean(said == said_by_model))
            error, error_of_model = float(np.mean(said != target)), float(np.mean(said_by_model != target))
        else:
            spread = float(np.var(said_by_model))
            unexplained = float(np.mean((said - said_by_model) ** 2))
            agreement = 1 - unexplained / spread if np.ptp(said_by_model) else float(unexplained == 0)
            error, error_of_model = (float(np.mean((each - target) ** 2)) for each in (said, said_by_model))
        cost, cost_of_model = float(self.cost(X).mean()), float(self.estimator_.cost(X).mean())
        return Fidelity(target.size, agreement, error, error_of_model, cost, cost_of_model, is_classifier(self))

    def _checked(self, X: npt.ArrayLike) -> Array:
        return np.asarray(self.estimator_._checked(X))

    def _seller(self) -> Seller:
        seller: Seller = self.estimator_._seller()
        return seller


def ranks_of(encoder: TargetEncoder, column: Array, n_categories: int, answers: Array) -> IntArray:
    """Rank the categories of a column by the answers of its examples; -1 for those that none has.

    Of several classes the order is that of the first principal component of their shares (Coppersmith, Hong and Hosking
    1999, Partitioning nominal attributes in decision trees).
    """
    known = (column >= 0) & (column < n_categories)
    present = np.unique(column[known].astype(np.int64))
    ranks = np.full(n_categories, -1, dtype=np.int64)
    if not present.size:
        return ranks
    shares = encoder.fit(column[:, None], answers).transform(present[:, None])
    centred = shares - shares.mean(axis=0)
    along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    ranks[present] = np.unique(along, return_inverse=True)[1]
    return ranks


def with_ranks(X: Array, ranks: Mapping[int, IntArray]) -> Array:
    """Put ranks in place of categories; those without one are missing."""
    ranked = X.copy()
    for column, rank in ranks.items():
        known = (X[:, column] >= 0) & (X[:, column] < rank.size)
        found = rank[X[known, column].astype(np.int64)]
        ranked[:, column] = np.nan
        ranked[known, column] = np.where(found < 0, np.nan, found)
    return ranked


def as_tests_of_categories(tree: Forest, ranks: Mapping[int, IntArray]) -> Forest:
    """Have a tree test categories where it tests their ranks; those without a rank go where missing ones go."""
    tests = np.flatnonzero(np.isin(tree.feature, [*ranks]))
    sets = list[tuple[IntArray, bool]]()
    for node in tests.tolist():
        rank, missing_left = ranks[int(tree.feature[node])], bool(tree.missing_left[node])
        goes_left = np.where(rank < 0, missing_left, rank <= tree.threshold[node])
        sets.append((np.flatnonzero(goes_left != missing_left), missing_left))
    if not sets:
        return tree
    threshold, category_set = tree.threshold.copy(), np.full(tree.n_nodes, -1, dtype=np.int32)
    threshold[tests], category_set[tests] = 0.0, np.arange(tests.size)
    return replace(tree, threshold=threshold, category_set=category_set, left_categories=CategorySets.of(sets))
