"""BudgetedClassifier and BudgetedRegressor: of several ways to spend a budget, validation examples choose one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from math import inf
from numbers import Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ipforest._internal.arrays import Array
from ipforest._internal.callers import warn_caller
from ipforest._internal.examples import Labelled, weights_for
from ipforest._internal.progress import progress_bar
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import FROM_DTYPE, WholeCategories, is_from_dtype
from ipforest.ensemble.libraries import read, require_trained_categories, trained_categories
from ipforest.ensemble.sklearn_trees import in_two_parts, unfrozen
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.checks import check_estimator
from ipforest.estimator.given import Given, seeded
from ipforest.estimator.kinds import Classifies, Regresses
from ipforest.frontiers.budget_boost import BoostSearch, BudgetBoost, BudgetBoostRegressor
from ipforest.frontiers.budget_forest import BudgetForest, BudgetForestRegressor, ForestSearch
from ipforest.frontiers.budget_linear import BudgetLinear, BudgetLinearRegressor, LinearCascades
from ipforest.frontiers.joint_frontier import JointFrontier
from ipforest.frontiers.work import TimeIsOver, Work, each_done
from ipforest.settings import Grouped, Settings
from ipforest.stopping.staged_estimator import StagedEstimator
from ipforest.stopping.stages import StagesInOrder
from ipforest.stopping.stopped import Member

SEEDS = 2**31

BOOSTING_AMONG_OTHERS = BoostSearch(n_prunings=2, single_price=False, prices_per_member=2)
FOREST_AMONG_OTHERS = ForestSearch(n_lookahead=10)
"""Where boosted trees and forests are on one frontier, fewer of each do: what the one lacks the other has."""


@dataclass(frozen=True, slots=True, repr=False)
class RunSettings(Settings):
    """How long training may take, and what it shows.

    Parameters
    ----------
    time_limit : float, optional
        Seconds after which no further tree is grown; the best models so far are chosen from, and ``left_out_`` and a
        warning say what was left out. One model at least is made; lines come before trees, as they take least. What is
        measured just then is brought to its end, and the training of cascades and of other libraries' trees is not
        interrupted.
    verbose : bool, default=False
        Whether a bar on standard error shows how far training is.
    """

    parameter: ClassVar[str] = "run"

    time_limit: float | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        limit = self.time_limit
        if limit is not None and (not isinstance(limit, Real) or not 0 <= limit < inf):
            raise ValueError(f"{self.named('time_limit')}: expected a finite number of seconds >= 0, got {limit!r}")


@dataclass(eq=False, repr=False)
class ManyFrontiers(JointFrontier):
    """Base of `BudgetedClassifier` and `BudgetedRegressor`: the frontiers of several estimators as one."""

    _run = Grouped(RunSettings)

    estimators: Sequence[Any] | None = None
    _: KW_ONLY
    cv: Any = None
    run: RunSettings | None = None
    n_jobs: int | None = None

    def _fit(self, *arguments: Any, **options: Any) -> Self:
        if "work" in options:  # within another one, which says what time there is
            return super()._fit(*arguments, **options)
        limit = self._run.time_limit
        until = inf if limit is None else monotonic() + limit
        with progress_bar("Training", visible=self._run.verbose) as report:
            super()._fit(*arguments, **options, work=Work(report, until))
        if self.left_out_:
            warn_caller(f"run.time_limit={limit}: left out what follows {', '.join(self.left_out_)}")
        self._keep_choosable()
        return self

    def compact(self, budget: object | None = None, *, keep_passed: bool = True) -> Self:
        """Return the model at one budget by itself, to be saved or sent: it goes to no other budget.

        Parameters
        ----------
        budget : number, optional
            By default that of this model.
        keep_passed : bool, default=True
            Whether a cascade keeps the stages at which its rule lets every example go on. Without them it predicts and
            buys the same; but a session orders at once what several stages see, and one that ends early, as something
            cannot be had, answers from an earlier stage.

        Returns
        -------
        estimator
            Fitted, with one member and without ``estimators_``; stays this one's equal in all that it predicts and
            buys. A cascade has no stages that no example reaches then.
        """
        other = copy(self) if budget is None else self.at_budget(budget)
        number = self.frontier_.member[other.choice_]
        other._measured = other.measured()
        other.frontier_ = self.frontier_.only(np.array([other.choice_])).renumbered()
        other.members_, other.choice_ = other.frontier_.choosable((self.members_[number],)), 0
        policy = other.policy()
        if isinstance(policy, StagesInOrder):
            compact = policy.compact(keep_passed=keep_passed)
            other.members_ = (other.members_[0].compact(compact, int(other.frontier_.rule[0])),)
        other._validation = other._groups_held_out = None
        other.__dict__.pop("estimators_", None)
        return other

    def _keep_choosable(self) -> None:
        """Forget the models that no budget chooses."""
        for each in (self, *(each for each in self.estimators_ if isinstance(each, JointFrontier))):
            each.members_ = each.frontier_.choosable(each.members_)
            each.frontier_ = each.frontier_.renumbered()
            each._validation = each._validation if each is self else None

    @property
    def _chosen_from(self) -> Sequence[Any]:
        if self.estimators is None:
            boost, forest, linear = (
                (BudgetBoost, BudgetForest, BudgetLinear)
                if is_classifier(self)
                else (BudgetBoostRegressor, BudgetForestRegressor, BudgetLinearRegressor)
            )
            return boost(search=BOOSTING_AMONG_OTHERS), forest(search=FOREST_AMONG_OTHERS), linear()
        return self.estimators

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        if not isinstance(self._chosen_from, Sequence) or not self._chosen_from:
            raise ValueError(f"estimators: expected a sequence of estimators, got {self.estimators!r}")
        classify = is_classifier(self)
        for estimator in self._chosen_from:
            check_estimator(estimator, "estimators")
            name = type(estimator).__name__
            if isinstance(unfrozen(estimator), Pipeline):
                cure = in_two_parts(f"{type(self).__name__}([FrozenEstimator(pipeline[-1])])")
                raise TypeError(f"estimators: expected ensembles of trees, got Pipeline; {cure}")
            if not (is_classifier(estimator) if classify else is_regressor(estimator)):
                raise TypeError(f"estimators: expected {'classifiers' if classify else 'regressors'}, got {name}")
            if isinstance(estimator, JointFrontier | StagedEstimator):
                for given in ("feature_costs", "class_costs", "scoring"):
                    if getattr(estimator, given, None) is not None:
                        raise ValueError(
                            f"{given}: expected none in {name}, for which they are given here, got a value"
                        )
                categories = getattr(estimator, "categorical_features", FROM_DTYPE)
                if not is_from_dtype(categories):
                    raise ValueError(
                        f"categorical_features: expected {FROM_DTYPE!r} in {name}, whose columns are given here, "
                        f"got {categories!r}"
                    )
                estimator.check_parameters()
            elif isinstance(estimator, BudgetedEstimator):
                kind = "" if classify else "Regressor"
                raise TypeError(
                    f"estimators: expected BudgetBoost{kind}, BudgetForest{kind}, BudgetLinear{kind}, a cascade of "
                    f"stages or trees to read, got {name}"
                )

    def _members(self, training: Labelled, validation: Labelled, given: Given, work: Work) -> Iterator[Member]:
        labels = [*getattr(self, "feature_names_in_", range(self.n_features_in_))]
        for estimator in self._chosen_from:
            if isinstance(estimator, FrozenEstimator):
                require_trained_categories(estimator, self.categories_.names, labels)
        models = [self._prepared(estimator, given) for estimator in self._chosen_from]
        by_time = sorted(models, key=lambda model: not isinstance(model, LinearCascades))
        parts = work.parts(len(models))

        def fitted(number: int) -> Any:
            model, part = by_time[number], parts[number]
            try:
                part.check()
                self._fit_one(model, training, validation, given, part)
            except TimeIsOver:
                if not part.left_out:
                    part.left_out.append(f"{type(model).__name__} after 0 models")
                return None
            part.report(1.0, "")
            return model

        done = each_done(parts, fitted, self.n_jobs)
        self.estimators_: tuple[Any, ...] = tuple(model for model in models if model in done)
        for model in self.estimators_:
            yield from (each._replace(source=type(model).__name__) for each in self._members_of(model, validation))
        work.left_out += [what for part in parts for what in part.left_out]
        self.left_out_ = tuple(work.left_out)
        self._miss_fractions()

    def _miss_fractions(self) -> None:
        """Take numbers with a fraction for missing where all models take a column for categories, and one does so."""
        own = set(self.categories_.columns)
        learnt = [trained_categories(each) for each in self.estimators_ if not isinstance(each, BudgetedEstimator)]
        whole = {column for each in learnt for column in each.whole}.intersection(*(each.columns for each in learnt))
        if len(learnt) < len(self.estimators_):
            whole &= own
        if whole and whole >= own:
            self.categories_ = WholeCategories(tuple(sorted(whole)), self.categories_.names)

    def _prepared(self, estimator: Any, given: Given) -> Any:
        """Copy an estimator, which gets the prices, limits and costs that are given here, and a seed."""
        if not isinstance(estimator, BudgetedEstimator):
            return seeded(estimator, self.random_state)
        model: Any = clone(estimator)
        model.set_params(feature_costs=self.costs_, budget=None, max_cost=self.max_cost)
        model.set_params(random_state=int(given.random.randint(SEEDS)))
        if self.n_jobs is not None and "n_jobs" in model.get_params(deep=False):
            model.set_params(n_jobs=self.n_jobs)
        if self.class_costs_ is not None:
            model.set_params(class_costs=self.class_costs_)
        if isinstance(model, JointFrontier):
            model.set_params(categorical_features=[*self.categories_.columns] or None, scoring=self._scorer)
        return model

    def _fit_one(self, model: Any, training: Labelled, validation: Labelled, given: Given, work: Work) -> None:
        weight = training.weight_unless_equal
        weighted = weights_for(model, weight)
        if not isinstance(model, BudgetedEstimator):
            model.fit(training.X, training.y, **weighted)
            return
        parts = self._named(training.X), training.y, self._named(validation.X), validation.y
        if isinstance(model, JointFrontier):
            numbers = self._groups_held_out
            model._fit(*parts, weight, work=work, weight_val=validation.weight, groups_val=numbers)
        else:
            each_once = np.ones(validation.y.size)
            model._fit(*parts, weighted.get("sample_weight"), given.groups_to_train, weight_val=each_once)

    def _members_of(self, model: Any, validation: Labelled) -> Iterator[Member]:
        """Give what a fitted estimator brings to the frontier."""
        if isinstance(model, JointFrontier):
            yield from model.members_
        elif isinstance(model, StagedEstimator):
            for candidate in model.candidates_:
                yield self._member_of_stages(candidate.policy, validation, model.stopping, model.n_folds)
        else:
            trees = read(model)
            classes = self.classes_
            named = trees.with_classes(classes) if isinstance(trees, BoostedTrees) and classes is not None else trees
            yield self._member_of_trees(named.centred(), validation)

    def _named(self, X: Array) -> Any:
        """Give columns their names, if those of training have names, by which an estimator's parameters may go."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else pd.DataFrame(X, columns=names)


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetedClassifier(Classifies, ManyFrontiers):
    """Classify within a budget by whatever validation examples say is best for it.

    All estimators are trained on the same examples. What they can do, stopped when sure at any level, is measured on
    the same validation examples and makes one frontier of cost and error; a budget takes its place on it.

    Parameters
    ----------
    estimators : sequence of estimator, optional
        By default a `BudgetBoost` and a `BudgetForest` that try less than they do by themselves
        (`BOOSTING_AMONG_OTHERS`, `FOREST_AMONG_OTHERS`), and a `BudgetLinear`. Each is one of these, a `NestedCascade`
        or a `BranchingCascade`, whose prices and budget are those given here, or another classifier of trees that
        `ipforest.ensemble.read` reads, such as LightGBM's with penalties on features; it is stopped when sure.
    categorical_features : None, "from_dtype", or sequence of bool, int or str, default="from_dtype"
        Columns of categories, as in scikit-learn's ``HistGradientBoostingClassifier``: none, those of a data frame with
        dtype "category", a mask, column numbers or names. A test asks whether an example has one of a set of
        categories; missing and unknown ones, and those that no training example of the node has, go the same way.
        Of more than 255 categories with names the most frequent are told apart, and all others count as missing.
        Estimators other than `BudgetBoost`, `BudgetForest` and `BudgetLinear` see the numbers of the categories: in a
        data frame's columns of names their places in alphabetical order, or in that of the dtype. A number with a
        fraction is no category, but missing, where histogram boosting is among the estimators and all take the column
        for categories; if one, such as a forest, takes it for numbers, it stands for its whole part in those that ask
        for categories.
    feature_costs
        See `BudgetPrune`.
    budget : number, optional
        What an example may cost on average; without one, as much as lowers the error.
    max_cost : number, optional
        The most that any one example may pay.
    class_costs : array, DataFrame or mapping of mappings, optional
        What predicting a class costs where another is true; see `ipforest.choosing.class_costs.read_class_costs`. Then
        the class of least expected cost is predicted, and validation examples choose by what mistakes cost.
    scoring : str or callable, optional
        What chooses within the budget on validation examples: a scikit-learn scorer, its name, "sensitivity_at=0.9" or
        the like (see `ipforest.choosing.measures`), with the weights of the examples; by default the error.
        With "total cost", what is bought and what mistakes cost together are as cheap as can be, by ``class_costs`` in
        the unit of the prices; a budget is then only a limit.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples held out where `fit` gets no validation examples; None only with these.
    cv : splitter, int or iterable of splits, optional
        Its first split parts the examples into those to train on and those held out, as scikit-learn's splitters do; by
        default they are parted at random, or, where `fit` gets ``groups``, by whole groups.
    run : RunSettings, optional
        How long training may take, and what it shows.
    n_jobs : int, optional
        How many estimators are trained at once, in threads, and within each nested forests and stages, by joblib;
        without it one estimator after another, each by its own ``n_jobs``. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, and seeds the estimators, those of other libraries where they have no seed.

    Attributes
    ----------
    estimators_ : tuple of estimator
        Fitted. Those with a frontier keep what it can choose; `compact` drops all.
    members_ : tuple of Member
        What some budget chooses.
    frontier_, choice_, trees_, n_validation_, costs_, n_features_in_, classes_, feature_importances_
        See `JointFrontier`.
    chosen_ : str
        What was taken, in words.
    left_out_ : tuple of str
        What was not trained for lack of time.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BudgetBoost, BudgetedClassifier, NestedCascade
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetedClassifier([BudgetBoost(20), NestedCascade()], budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.9
    (True, True)
    """

    class_costs: Any = None


class BudgetedRegressor(Regresses, ManyFrontiers):
    """Predict a number within a budget by whatever validation examples say is best for it; see `BudgetedClassifier`.

    Parameters
    ----------
    estimators : sequence of estimator, optional
        By default a `BudgetBoostRegressor`, a `BudgetForestRegressor` and a `BudgetLinearRegressor`; see
        `BudgetedClassifier`. Each is one of these, a `NestedCascade` or a `BranchingCascade` of regressors, whose
        prices and budget are those given here, or another regressor of trees that `ipforest.ensemble.read` reads, such
        as LightGBM's with penalties on features; it is stopped where going on is not worth its price.
    categorical_features, feature_costs
        See `BudgetedClassifier`.
    budget : number, optional
        What an example may cost on average; without one, as much as lowers the squared error.
    max_cost, scoring, validation_fraction, cv, run, n_jobs, random_state
        See `BudgetedClassifier`; what chooses is by default the squared error, and "total cost" is for classes.

    Attributes
    ----------
    estimators_, members_, frontier_, choice_, trees_, n_validation_, costs_, n_features_in_
        See `BudgetedClassifier`.
    chosen_, left_out_, feature_importances_
        See `BudgetedClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ipforest import BoostSearch, BudgetBoostRegressor, BudgetedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosted = BudgetBoostRegressor(40, search=BoostSearch(n_lambdas=2))
    >>> model = BudgetedRegressor([boosted], budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.3
    (True, True)
    """
