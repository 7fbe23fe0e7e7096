"""BudgetPrune: scikit-learn's way to train a forest and prune it to a feature budget."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, FloatArray, IntArray, checked_place
from ipforest._internal.examples import Labelled, checked_weight, require_rows_in_order, validated
from ipforest._internal.feature_names import require_features_of
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import as_given
from ipforest.choosing.frontier import Frontier
from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.libraries import read, sums_trees
from ipforest.ensemble.refitting import fill_inner_values, refit_jointly
from ipforest.ensemble.sklearn_trees import AVERAGING, averaging_trees, unfrozen
from ipforest.estimator import BudgetedEstimator, optional_number
from ipforest.estimator.checks import is_fitted
from ipforest.estimator.given import Given
from ipforest.estimator.held_out import checked_labels
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.learners.forest_pruner import SEARCHES, ForestPruner, PruningSettings
from ipforest.learners.vote_descent import VoteProblem, descend, descend_within
from ipforest.losses import ErrorData
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.results import BudgetResult, Pruning, PruningResult
from ipforest.settings import Grouped
from ipforest.solvers import solve_budget


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPrune(ForestPruner):
    """Train a tree ensemble, and prune it optimally to what acquiring features may cost.

    It is a classifier or a regressor as the wrapped estimator is. `fit` trains the ensemble, finds the whole optimal
    path of prunings between error on the in-bag examples and cost on other examples, and takes the pruning for the
    budget (or for lambda). `at_budget` gives another one at once.

    Parameters
    ----------
    estimator : estimator
        RandomForest*, ExtraTrees*, Bagging* of trees, DecisionTree* or ExtraTree*. One that is fitted already is used
        as it is; wrap it in `sklearn.frozen.FrozenEstimator` to keep it so in clones (grid search, pipelines). A fitted
        classifier or regressor of scikit-learn, LightGBM, XGBoost or CatBoost that sums trees is taken, too: its steps
        are judged by the loss of their link on X and y, and ``refit`` refits all leaves together.
    feature_costs : FeatureCosts, sequence of numbers, dict, Series, DataFrame or path, optional
        What each feature costs; by default 1 each. Prices by name are matched to the columns of X; see
        `ipforest.tabular.price_lists.read_prices`. A `FeatureCosts` also has groups, whose fee is paid once. Prices may
        say that features are delayed: the pruning is then optimal for what is ordered in rounds
        (`ipforest.policy.TreesInOrder`); the ensemble is trained without prices.
    budget : number, optional
        What an example may cost on average: the pruning of least error within it, as far as ``pruning.search`` goes. If
        it buys nothing, as all roots test what costs more, another ensemble is trained that never tests columns that
        cost more than the budget, and is taken if it has the lower error; if still nothing is bought, there is a
        warning.
    lam : number, optional
        In place of a budget, the price of a unit of cost in errors; with many digits the pruning is proven optimal at a
        lambda next to it (see `PruningPath.result`). Without both, the cheapest pruning among those of least error is
        taken.
    pruning : PruningSettings, optional
        What a pruning is judged by, and how it is found.
    max_cost : number, optional
        The most that any one example may pay. "greedy" and "exact" find a pruning that holds it on the examples for
        costs, where without a budget it is the only limit; on other examples, and with "path" or ``lam``, what would
        exceed it is not bought (see `BudgetedModel.session`). It cannot be combined with a split cost.
    loss : str, optional
        "misclassification" (default for classifiers), "gini", "entropy", or "squared_error" (default for regressors).
        What is optimised is the mean over the trees of their losses, not the loss of their vote.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What predicting a class costs where another is true; see `ipforest.choosing.class_costs.read_class_costs`. Then
        the loss is the average cost of a prediction, and the class of the least expected cost is predicted. (Weights of
        classes are the ensemble's own ``class_weight``.)
    scoring : {None, "total cost"}, default=None
        With "total cost" the pruning is taken for which what examples pay and what the mistakes of the trees cost sum
        up to the least, by ``class_costs`` in the unit of the prices: that of lambda 1, proven optimal. It takes no
        budget.
    split_cost : number, default=0
        What one test of a feature costs; counts towards the budget.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples that are not trained on, but tell the error (`summary`), if `fit` gets no `X_cost` and the
        estimator is not fitted. With None, all are trained on. Costs are measured on all examples in either case.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, and seeds an estimator that has no seed of its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble, unpruned.
    forest_ : Forest or BoostedTrees
        The same as arrays.
    costs_ : FeatureCosts
    loss_ : str
    class_costs_ : ndarray of float64, shape (n_classes, n_classes), or None
    split_cost_ : Fraction
    instance_ : PruningInstance
        What was optimised. Where gain times cost would pass 64 bits, losses and prices are rounded in it, prices
        upwards to multiples of ``cost_unit * n_examples``; see `PruningInstance.from_forest`.
    path_ : PruningPath
        Every optimal pruning; see `ipforest.prune_path`.
    result_ : BudgetResult or PruningResult
        How the pruning was found, its error and cost on what was optimised, and the proven bound: of all prunings
        within the budget, or of ``error + lam * cost``.
    gap_ : Fraction
        Upper bound on how far the error could still be reduced within the budget; at lambda, how much smaller
        ``error + lam * cost`` could be, which is 0.
    pruning_ : Pruning
        The one that was taken.
    vote_loss_ : float
        Squared loss of the vote, if that is the objective; ``result_`` and ``gap_`` are those of the pruning from which
        the descent began.
    pruned_ : Forest or BoostedTrees
        What predicts; trees of a forest that are pruned to their root do not vote.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import BudgetPrune
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = BudgetPrune(forest, budget=8, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 9)
    True
    >>> bool(model.at_budget(4).cost(X).mean() < 5)
    True
    """

    _pruning = Grouped(PruningSettings)

    lam: Any = None
    pruning: PruningSettings | None = None

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        if self.budget is not None and self.lam is not None:
            raise ValueError(f"budget: expected a budget or lam, got budget={self.budget!r} and lam={self.lam!r}")
        optional_number(self.lam, "lam")
        for name in ("budget", "lam"):
            if self._least_total and getattr(self, name) is not None:
                raise ValueError(
                    f"{name}: expected none where the total cost is minimised, got {getattr(self, name)!r}"
                )
        super().check_parameters()

    def _read_costs(self, names: Sequence[str] | None = None) -> FeatureCosts:
        costs = super()._read_costs(names)
        if self.max_cost is not None and costs.delayed.any():
            raise ValueError(
                f"max_cost: expected none with delayed features, for which no pruning with a cap is found, got "
                f"{as_given(self.max_cost)}; session(max_cost=...) caps what an example pays"
            )
        return costs

    def _train_and_choose(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> None:
        """Train and prune; where nothing is bought, also an ensemble that never sees what exceeds the budget.

        So is it where a column costs more than all examples together may pay, which no pruning buys for any of them.
        """
        super()._train_and_choose(training, validation, given, **options)
        if self.budget is None:
            return
        budget = nonnegative_fraction(self.budget, "budget")
        n_paying = 1 if self.result_.cost == 0 else self.instance_.n_examples
        hidden = columns_beyond(self.costs_, budget * n_paying)
        if budget > 0 and 0 < hidden.size < self.n_features_in_:
            shown = training._replace(X=with_hidden(training.X, hidden))
            other = copy(self)
            super(BudgetPrune, other)._train_and_choose(shown, validation, given, **options)
            if other.result_.error < self.result_.error:
                self.__dict__.update(other.__dict__)

    def _ensemble(self) -> Any:
        """Take an ensemble that averages trees, fitted or not, or one that sums them and is fitted."""
        inner = unfrozen(self.estimator)
        return averaging_trees(self.estimator) if _summed_trees(inner) is None else inner

    def _use_fitted(
        self,
        ensemble: Any,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None,
        X_cost: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
    ) -> tuple[Array, ErrorData | None, Labelled | None]:
        """Take the ensemble as it is; of summed trees X and y judge the steps."""
        summed = _summed_trees(ensemble)
        if summed is None:
            return super()._use_fitted(ensemble, X, y, X_cost, sample_weight)
        self._check_boosted(y, summed)
        self.categories_ = self._categories_of(ensemble, X)
        examples = validated(self, X, ensure_all_finite=self._finite())
        require_features_of(ensemble, self.n_features_in_, getattr(self, "feature_names_in_", None))
        require_rows_in_order(X, y)
        self._note_missing(examples)
        self.estimator_, self.costs_, self.class_costs_ = ensemble, self._read_costs(), None
        self._keep_classes(summed.classes)
        labels = checked_labels(y, examples, summed.classes, "y")
        data = Labelled(examples, labels, checked_weight(sample_weight, X, examples))
        self._keep_held_out(data)
        names = getattr(self, "feature_names_in_", None)
        trees: Any = replace(summed, feature_names=names, categories=Categories())
        self.forest_ = fill_inner_values(trees, data.X, data.weight)
        self._refit_data = data.with_relative_weights() if self._pruning.refit else None
        return self._paying(X_cost, examples), data, None

    def _check_boosted(self, y: object, trees: BoostedTrees) -> None:
        """Require what the pruning of summed trees takes: targets, and the loss of their link."""
        if y is None:
            raise ValueError("y: expected the targets of X, by which the steps of boosted trees are judged, got None")
        if trees.loss is not None:
            raise ValueError(
                "estimator: expected boosted trees that were trained by the loss by which their steps are judged, that "
                f"of the link {trees.link!r}, got trees of the loss {trees.loss!r}; train them by squared errors (or "
                "Poisson's), or prune dataclasses.replace(ensemble.read(estimator), loss=None) by "
                "PruningInstance.from_boosted"
            )
        given = {
            f"loss={self.loss!r}": self.loss is not None,
            f"pruning.errors={self._pruning.errors!r}": self._pruning.errors not in ("in-bag", "held-out"),
            f"pruning.objective={self._pruning.objective!r}": self._pruning.objective != "trees",
            "class_costs": self.class_costs is not None,
        }
        others = [name for name, is_given in given.items() if is_given]
        if others:
            raise ValueError(
                f"{others[0].partition('=')[0]}: expected none for boosted trees, whose steps are judged by the loss "
                f"of their link on X and y, got {' and '.join(others)}; EarlyExit(BudgetPrune(...)) takes class costs"
            )

    def _instance(self, paying: Array, error_data: ErrorData | None) -> PruningInstance:
        trees: Any = self.forest_
        if error_data is None or not isinstance(trees, BoostedTrees):
            return super()._instance(paying, error_data)
        split_cost = self.split_cost_
        return PruningInstance.from_boosted(
            trees, paying, self.costs_, error_data, split_cost=split_cost, resolution=FITS_PATH
        )

    def _pruned(self) -> Any:
        trees: Any = self.forest_
        if not isinstance(trees, BoostedTrees):
            return super()._pruned()
        pruned = trees.prune(self.pruning_)
        return pruned if self._refit_data is None else refit_jointly(pruned, *self._refit_data)

    def _find_prunings(self) -> Frontier:
        self.path_ = prune_path(self.instance_)
        return Frontier.of_points(zip(self.path_.costs, self.path_.errors, strict=True))

    def _choose_pruning(self) -> Pruning:
        self.result_ = self._result()
        return self.result_.pruning if self._vote is None else self._descended(self._vote)

    def _descended(self, vote: VoteProblem) -> Pruning:
        """Improve the vote of the pruning that was found for the mean loss of the trees."""
        kept, internal = np.zeros(self.forest_.n_nodes, dtype=bool), self.forest_.internal_nodes
        kept[internal] = self.result_.pruning.kept
        if isinstance(self.result_, BudgetResult):
            found = descend_within(vote, kept, float(self.result_.budget))
        else:
            found = descend(vote, kept, float(self.result_.lam))
        self.vote_loss_ = found.loss
        return Pruning(found.kept[internal])

    def _result(self) -> BudgetResult | PruningResult:
        if self._least_total:
            return self.path_.result(1)
        budget = self.budget
        if budget is None:
            if self.lam is not None or self.max_cost is None:
                return self.path_.result(0 if self.lam is None else self.lam)
            budget = self.path_.costs[0]  # enough for the best of all prunings
        return within_budget(self.path_, budget, self._pruning.search, self._pruning.time_limit, self.max_cost)

    def _offers(self) -> Frontier:
        if self.max_cost is not None:
            raise TypeError(
                f"max_cost: expected none for a mixture, as the path knows no cap, got {as_given(self.max_cost)}"
            )
        return super()._offers()

    @property
    def mixture_gain(self) -> float:
        """By which share of the trees' mean error the mixture at this model's budget is better than the pruning."""
        check_is_fitted(self)
        if self.max_cost is not None or not isinstance(self.result_, BudgetResult) or self.result_.error == 0:
            return 0.0
        return float(1 - self.result_.mixture_error / self.result_.error)

    def at_choice(self, place: int) -> Self:
        """Return the pruning at a breakpoint of the path, whose cost is its budget to the last digit."""
        return self.at_budget(self.path_.costs[checked_place(place, len(self.path_.costs))])

    @property
    def _offered(self) -> FloatArray:
        return np.array([float(cost) for cost in self.path_.costs])

    @property
    def gap_(self) -> Fraction:
        """Error minus the proven bound, or, at lambda, objective minus bound."""
        check_is_fitted(self)
        return self.result_.gap

    def at_budget(self, budget: object) -> Self:
        """Return the same model at another budget, without training again or finding the path again.

        It then has the least error within the budget, whatever this one minimises.

        Parameters
        ----------
        budget : number

        Returns
        -------
        BudgetPrune
            Fitted; shares the forest and the path with this one, which stays as it is.
        """
        other = self._another(budget=budget, lam=None, scoring=None)
        other._warn_if_nothing_is_bought()
        return other

    def at_lambda(self, lam: object) -> Self:
        """Return the same model at another lambda, without training or solving again; see `at_budget`."""
        return self._another(budget=None, lam=lam, scoring=None)


def columns_beyond(costs: FeatureCosts, budget: Fraction) -> IntArray:
    """List the columns for which one example pays more than a budget, its group's fee included."""
    return np.flatnonzero([price > budget for price in costs.alone])


def _summed_trees(model: Any) -> BoostedTrees | None:
    """Read a fitted model that sums trees; None for other models."""
    is_other = isinstance(model, (*AVERAGING, BudgetedEstimator, type)) or hasattr(model, "to_forest")
    if is_other or not hasattr(model, "fit") or not sums_trees(model) or not is_fitted(model):
        return None
    trees = read(model)
    return trees if isinstance(trees, BoostedTrees) else None


def with_hidden(X: Array, columns: IntArray) -> Array:
    """Copy examples with some columns all 0, so that no tree that is trained on them tests these."""
    shown = X.copy()
    shown[:, columns] = 0
    return shown


def within_budget(
    path: PruningPath, budget: object, search: str, time_limit: float | None, max_cost: object | None = None
) -> BudgetResult:
    """Find a pruning within a budget on an instance whose path is known.

    Parameters
    ----------
    path : PruningPath
    budget : number
        What an example may cost on average.
    search : {"path", "greedy", "exact"}
    time_limit : float or None
        Seconds of branch and bound.
    max_cost : number, optional
        What no example of the instance may pay more than; breakpoints of the path do not keep it.
    """
    if search == "path":
        return path.at_budget(budget)
    options = {"time_limit": time_limit} if search == "exact" else {}
    return solve_budget(path.instance, budget, SEARCHES[search], path=path, max_cost=max_cost, **options)
