"""The template of every estimator: check, read, hold out, train, choose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_line
from ipforest._internal.callers import warn_caller
from ipforest._internal.examples import FLOATS, Labelled, checked_weight, numbered_labels, validated
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import as_given
from ipforest.choosing.class_costs import TOTAL_COST, read_class_costs
from ipforest.choosing.frontier import Frontier
from ipforest.choosing.measures import read_scoring
from ipforest.costs import FeatureCosts, require_no_split_cost
from ipforest.ensemble.categories import FROM_DTYPE, Categories
from ipforest.ensemble.libraries import learns_categories, trained_categories
from ipforest.estimator.checks import check_class, is_fitted
from ipforest.estimator.given import Given
from ipforest.estimator.held_out import (
    check_alike,
    check_held_out,
    check_validation_part,
    checked_groups,
    checked_labels,
    classes_of,
    require_held_out,
    split_rows,
)
from ipforest.estimator.inner_weights import weights_as_inside
from ipforest.estimator.model import BudgetedModel
from ipforest.estimator.prices import optional_number, read_costs
from ipforest.estimator.whole_fits import whole_or_none
from ipforest.settings import check_fields, groups_of

__all__ = [
    "BudgetedEstimator",
    "FittedWithHeldOut",
    "FittedWithWeights",
    "PricedEstimator",
    "warn_if_nothing_is_bought",
]

MOST_KEPT_ROWS = 2000
"""Of the examples held out so many are kept, for a summary to be of some that were not trained on."""


class BudgetedEstimator(BudgetedModel):
    """Base of the estimators that pay for features.

    A subclass takes ``feature_costs``, ``budget`` and ``random_state`` in its constructor, and checks its parameters
    before any training. Its `_train` trains the models that a budget chooses from; its `policy` says what the one that
    was chosen wants to know. Parameters that travel together are one, a `Settings`, declared by a `Grouped`.
    """

    __slots__ = ()

    feature_costs: Any
    random_state: Any

    class_costs: Any = None
    validation_fraction: float | None = None
    cv: Any = None
    takes_scorers = False
    must_hold_out = False
    min_classes = 2
    _column_labels: tuple[str, ...] | None = None
    _dtype: npt.DTypeLike | Sequence[npt.DTypeLike] = FLOATS

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; deep ones, as ``growth__max_depth``, also where their group is None.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of settings and inner estimators, too.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, group in groups_of(type(self)).items():
            if deep and params[name] is None:
                params |= {f"{name}__{field}": value for field, value in group.kind().get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those within settings by ``growth__max_depth``.

        Raises
        ------
        ValueError
            A parameter is unknown, or a value of a setting is none of those allowed.
        """
        groups, changes = groups_of(type(self)), dict[str, dict[str, Any]]()
        for key in [*params]:
            name, _, field = key.partition("__")
            if field and name in groups:
                changes.setdefault(name, {})[field] = params.pop(key)
        known = self.get_params(deep=False)
        for key in params:
            name, _, _ = key.partition("__")
            if name not in known:  # scikit-learn's message has the whole of str(self), which is a summary
                kind = type(self).__name__
                raise ValueError(f"Invalid parameter {name!r} for estimator {kind}. Valid parameters are: {[*known]}.")
        super().set_params(**params)
        for name, values in changes.items():
            given = getattr(self, name)
            setattr(self, name, (groups[name].kind() if given is None else given).with_params(**values))
        return self

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        check_class(self)
        optional_number(self.budget, "budget")
        optional_number(self.max_cost, "max_cost")
        check_held_out(self.validation_fraction)
        self._check_money()
        check_fields(self)
        for group in groups_of(type(self)).values():
            group.__get__(self, type(self))  # of the right kind

    def _fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        X_val: npt.ArrayLike | None = None,
        y_val: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        weight_val: FloatArray | None = None,
        groups_val: IntArray | None = None,
        hold_out: bool = True,
        **options: Any,
    ) -> Self:
        """Fit as every estimator does: check, read prices, hold out, train, choose.

        Parameters
        ----------
        X, y, X_val, y_val, sample_weight, groups
            As `fit` takes them.
        weight_val, groups_val : ndarray, shape (n_val,), optional
            What held-out examples weigh that are given, by default 1 each, and the numbers of their groups.
        hold_out : bool, default=True
            Whether examples are held out where none are given for that.
        options
            For `_train`.
        """
        self.check_parameters()
        check_validation_part(X_val, y_val)
        if hold_out and self.must_hold_out and self.cv is None:
            require_held_out(self.validation_fraction, X_val)
        data = self._read(X, y, sample_weight)
        labels = checked_groups(groups, X, data.y.size)
        random = check_random_state(self.random_state)
        rows = others = everything = np.arange(data.y.size)
        validation = data
        if X_val is None and hold_out:
            rows, others = self._split(data.X, data.y, labels, random)
            validation = data.rows(others)
        elif X_val is not None:
            unseen, targets = self._checked_part(X_val, y_val, "y_val")
            if weight_val is None:  # else an outer estimator holds them out, perhaps the latest
                check_alike(unseen, data.X, "X_val")
            validation = Labelled(unseen, targets, np.ones(targets.size) if weight_val is None else weight_val)
        if not (data.weight[rows] > 0).any():
            raise ValueError("sample_weight: expected an example of positive weight to train on, got none")
        if sample_weight is not None:
            rows = self._rows_that_count(rows, data)
        training = data if rows is everything else data.rows(rows)
        is_unseen = X_val is not None or others.size < data.y.size
        self._keep_held_out(validation if is_unseen else None)
        if X_val is None and labels is not None:
            groups_val = np.unique(labels[others], return_inverse=True)[1]
        given = Given(X, data, rows, others, sample_weight is not None, random, labels, groups_val)
        with numbered_labels():
            self._train_and_choose(training, validation, given, **options)
        return self

    def _rows_that_count(self, rows: IntArray, data: Labelled) -> IntArray:
        """Leave out examples without weight, which would be drawn, binned and counted; not those of a class of such."""
        counts = data.weight[rows] > 0
        if is_classifier(self):
            counts |= ~np.isin(data.y[rows], data.y[rows[counts]])
        return rows[counts]

    def _train_and_choose(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> None:
        frontier = self._train(training, validation, given, **options)
        if frontier is not None and not isinstance(frontier, Frontier):
            raise TypeError(f"_train: expected to get a Frontier or None, got {type(frontier).__name__}")
        self.frontier_ = frontier
        self._choose()

    def _keep_held_out(self, examples: Labelled | None) -> None:
        """Keep examples that were not trained on, evenly spread ones of many, for `measured`."""
        self._validation = self._measured = None
        if examples is not None:
            n = examples.y.size
            rows = np.arange(n) if n <= MOST_KEPT_ROWS else np.linspace(0, n - 1, MOST_KEPT_ROWS).astype(np.int64)
            self._validation = examples.X[rows], examples.y[rows]

    @abstractmethod
    def _train(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> Frontier | None:
        """Train the models that a budget chooses from, and measure them on the examples held out.

        Returns
        -------
        Frontier or None
            Their costs and losses; None where which models there are depends on the budget.
        """

    def _read(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Labelled:
        """Check the examples to train on; read their classes, prices and what mistakes cost."""
        classify = is_classifier(self)
        self.categories_ = self._categories_in(X)
        examples, targets = validated(
            self, X, y, dtype=self._dtype, ensure_all_finite=self._finite(), y_numeric=not classify
        )
        self._note_missing(examples)
        self._take_classes(targets)
        self.costs_ = self._read_costs()
        self._take_class_costs(getattr(self, "classes_", None))
        targets = targets if classify else checked_labels(targets, examples, None, "y")
        return Labelled(examples, targets, checked_weight(sample_weight, X, examples))

    def _take_classes(self, labels: Array) -> None:
        """Note the classes of training."""
        self._keep_classes(classes_of(labels, self.min_classes) if is_classifier(self) else None)

    def _keep_classes(self, classes: Array | None) -> None:
        """Keep the classes; what is trained for regression has none."""
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes

    def _split(self, examples: Array, targets: Array, groups: Array | None, random: Any) -> tuple[IntArray, IntArray]:
        """Part examples into those to train on and those held out; see `split_rows`."""
        name, held_out = ("validation_fraction", self.validation_fraction)
        if self.cv is not None:
            name, held_out = "cv", check_cv(self.cv)
        of_each = is_classifier(self)
        return split_rows(targets, held_out, random, one_of_each_class=of_each, groups=groups, X=examples, name=name)

    def _check_money(self) -> None:
        """Check what mistakes cost, and what choices are made by, before any training."""
        if self._least_total and self.class_costs is None:
            raise ValueError("class_costs: expected what mistakes cost, to minimise the total cost, got None")
        if self._scorer is not None:
            if not self.takes_scorers:
                raise ValueError(f"scoring: expected None or {TOTAL_COST!r}, got {one_line(repr(self.scoring))}")
            read_scoring(self._scorer)
        if self.class_costs is not None and not is_classifier(self):
            raise ValueError("class_costs: expected none for regression, got a value")

    def _take_class_costs(self, classes: Array | None) -> None:
        """Read what mistakes cost for the classes of training."""
        given = self.class_costs
        self.class_costs_ = None if given is None or classes is None else read_class_costs(given, classes)

    def _categories_in(self, X: Any) -> Categories:
        """Find the columns of categories among the examples to train on."""
        return Categories()

    def _categories_of(self, ensemble: Any, X: Any) -> Categories:
        """Find the columns of categories: those of a fitted ensemble, or what another one is going to learn from X."""
        if not is_fitted(ensemble):
            wanted = FROM_DTYPE if learns_categories(ensemble) else getattr(ensemble, "categorical_features", None)
            return Categories.of(X, wanted)
        inside = isinstance(ensemble, BudgetedEstimator)
        categories: Categories = ensemble.categories_ if inside else trained_categories(ensemble)
        categories.require_frame(X, "X")
        return categories.found_in(X)

    def _take_names_of(self, inner: Any) -> None:
        """Take over the names of the columns that an estimator inside was trained on, or that they have none."""
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(inner, "feature_names_in_"):
            self.feature_names_in_ = inner.feature_names_in_

    def _note_missing(self, training: Array) -> None:
        """Remember in which columns training had missing values."""
        self._missing_seen = np.asarray(np.isnan(training).any(axis=0))

    def _read_costs(self, names: Sequence[str] | None = None) -> FeatureCosts:
        """Read the price list for the features seen in `fit`; where these have no names, by those of a table."""
        costs = read_costs(self.feature_costs, self.n_features_in_, getattr(self, "feature_names_in_", names))
        require_no_split_cost(costs, getattr(self, "split_cost", 0))
        return costs

    def _cheapest_beyond(self) -> str:
        """Say what the cheapest feature that is not free costs, where the budget or the cap pays for none."""
        least = min(filter(None, self.costs_.alone), default=Fraction(0))
        given = {name: getattr(self, name) for name in ("budget", "max_cost")}
        short = [
            name for name, limit in given.items() if limit is not None and nonnegative_fraction(limit, name) < least
        ]
        if not short:
            return ""
        cap = f", and max_cost is {as_given(self.max_cost)}" if "max_cost" in short else ""
        return f"the cheapest feature that is not free costs {float(least):.6g}{cap}"


@dataclass(eq=False, repr=False, kw_only=True)
class PricedEstimator(BudgetedEstimator):
    """Base of the estimators that take prices themselves, not from an estimator inside, and hold examples out.

    Parameters
    ----------
    feature_costs, budget, validation_fraction, random_state
        See `ipforest.BudgetPrune`.
    """

    feature_costs: Any = None
    budget: Any = None
    validation_fraction: float | None = 0.25
    random_state: Any = None


class FittedWithHeldOut(PricedEstimator):
    """Base of the estimators that are fitted to some examples, and choose on others, each counting once."""

    @whole_or_none
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        X_val: npt.ArrayLike | None = None,
        y_val: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Train the models among which a budget chooses, and choose.

        Parameters
        ----------
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        X_val, y_val : arrays, shapes (n_val, n_features) and (n_val,), optional
            Held-out examples: those whose cost meets the budget and whose error chooses; by default a part of X.
        groups : array, shape (n_samples,), optional
            Examples of one group, such as those of one patient, are all trained on or all held out.

        Raises
        ------
        TypeError, ValueError
            Bad parameters, prices or examples; nothing has been trained then.
        """
        return self._fit(X, y, X_val, y_val, groups=groups)


class FittedWithWeights(BudgetedEstimator):
    """Base of the estimators that are fitted to examples with weights, and choose on others."""

    @weights_as_inside
    @whole_or_none
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        X_val: npt.ArrayLike | None = None,
        y_val: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Train the models among which a budget chooses, unless they are fitted, and choose on other examples.

        Parameters
        ----------
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        X_val, y_val : arrays, shapes (n_val, n_features) and (n_val,), optional
            Held-out examples, on which stopping is learnt and everything is chosen; by default a part of X, or, for a
            model that is fitted, all of it.
        sample_weight : array, shape (n_samples,), optional
            Weights of the examples in training the models, which take weights then, and in telling what is bought next;
            where examples of X are held out, also for a scorer, a calibration or a threshold. Stopping is learnt with
            each example counting once.
        groups : array, shape (n_samples,), optional
            Examples of one group, such as those of one patient, are all trained on or all held out.

        Raises
        ------
        TypeError, ValueError
            Bad parameters, prices or examples, before anything is trained; or an estimator that this one does not take.
        """
        return self._fit(X, y, X_val, y_val, sample_weight, groups, hold_out=self._holds_out)

    @property
    def _holds_out(self) -> bool:
        """Whether examples are held out where none are given for that."""
        return True

    def _warn_if_nothing_is_bought(self, cost: float, better: FloatArray, advice: str = "") -> None:
        """Warn where the choice pays nothing within a positive budget.

        Parameters
        ----------
        cost : float
            Of the choice.
        better : ndarray of float64
            Costs of what loses less.
        advice : str
            What may help where nothing is known that loses less; without it, and where a feature can be paid for, that
            is no reason to warn.
        """
        if self.budget is None or self._least_total or cost > 0:
            return
        advice = self._cheapest_beyond() or advice
        if better.size:
            advice = f"the cheapest model that is better costs {better.min():.6g}"
            if (gain := self.mixture_gain) >= 0.01:
                advice = f"{advice}; {self._hint_at_mixture(gain)} on held-out examples"
        if advice:
            warn_if_nothing_is_bought(self.budget, cost, advice)


def warn_if_nothing_is_bought(budget: object, cost: float, advice: str) -> None:
    """Warn that a model pays nothing though its budget is positive.

    Parameters
    ----------
    budget : number
    cost : float
        What an example pays on average.
    advice : str
        What may help.
    """
    limit = float(nonnegative_fraction(budget, "budget"))
    if limit > 0 and cost == 0:
        warn_caller(f"budget: nothing is bought within {limit:.6g}; {advice}")
