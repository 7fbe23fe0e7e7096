"""What a fitted estimator does: it predicts, pays, asks for one feature after another, and goes to other budgets."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from fractions import Fraction
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, checked_place, one_line
from ipforest._internal.examples import FLOATS, require_rows_in_order, validated
from ipforest._internal.feature_names import column_names, in_pandas, known_to_scikit_learn
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import as_given, counted
from ipforest.choosing.class_costs import TOTAL_COST, costs_of
from ipforest.choosing.frontier import Frontier
from ipforest.choosing.measures import name_of
from ipforest.choosing.safe_budgets import BOUNDS, keeps
from ipforest.costs import FeatureCosts
from ipforest.ensemble.categories import Categories
from ipforest.estimator.held_out import checked_labels
from ipforest.estimator.measurement import Measurement
from ipforest.estimator.mixed_model import MixedModel
from ipforest.estimator.predicting import Answers, Ready, Seen
from ipforest.policy import Policy
from ipforest.session import Known, PredictsOnDemand, Seller, Session, Sessions, Unit
from ipforest.walks.purse import spending_limit

__all__ = ["BudgetedModel", "trying_budgets"]

MIN_SHARE, N_SHARES = 0.25, 25
"""The smallest share of a budget that is tried where it has to be kept for sure, and how many are tried."""


@contextmanager
def trying_budgets() -> Iterator[None]:
    """Try several budgets in the block, of which the small ones buy nothing without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "budget: nothing is bought", UserWarning)
        yield


class _Keeper:
    """Keeps what is ready out of ``__dict__``: scikit-learn requires that predicting leaves that as it is.

    What refers back to the estimator, as a policy may, is freed together with it.
    """

    __slots__ = ("_kept",)

    _kept: Ready | None


class BudgetedModel(PredictsOnDemand, _Keeper, BaseEstimator):
    """Base of the estimators that pay for features, as far as they are fitted.

    A subclass says in `policy` what it wants to know of examples one feature at a time. Costs, predictions and sessions
    follow from it. What a budget chooses from is on its frontier.

    Attributes
    ----------
    frontier_ : Frontier or None
        The models that a budget chooses from; None where which ones there are depends on the budget.
    choice_ : int
        The place on the frontier that was taken, where it is taken from there.
    costs_ : FeatureCosts
    split_cost_ : Fraction
        What one test of a feature costs; 0 unless the estimator takes a ``split_cost``.
    categories_ : Categories
        Which columns are categories, and what their numbers stand for.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X has column names.
    """

    __slots__ = ()  # scikit-learn refuses to pickle others, and these have a dict as well

    budget: Any
    max_cost: Any = None
    scoring: Any = None
    takes_missing = False
    costs_: FeatureCosts
    split_cost_ = Fraction(0)
    classes_: Any
    class_costs_: Array | None = None
    frontier_: Frontier | None = None
    choice_: int
    categories_ = Categories()
    _validation: tuple[Array, Array] | None = None
    _measured: Measurement | None = None
    _missing_seen: BoolArray | None = None

    @abstractmethod
    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers."""

    def cost(self, X: npt.ArrayLike) -> FloatArray:
        """Compute what each example pays: its features, each bought once, and its tests if there is a split cost.

        With delayed features it is what is ordered in the rounds of a session, in vain or not.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            In the unit of the prices.
        """
        return self._seen(X, answers=False).paid

    def acquired(self, X: npt.ArrayLike) -> BoolArray:
        """Return which features predicting each example buys.

        With delayed features those that it orders but does not look at are among them.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_features)
        """
        return self._seen(X, answers=False).bought

    def feature_usage(self, X: npt.ArrayLike) -> Int32Array:
        """Count how often predicting each example tests each feature.

        Returns
        -------
        ndarray of int32, shape (n_samples, n_features)
        """
        return self._seen(X, answers=False).tests

    def predict(self, X: npt.ArrayLike, return_cost: bool = False) -> Any:
        """Predict from the features that are bought.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
            A data frame may lack columns that the model never wants, the others being in the order of training.
        return_cost : bool, default=False
            Whether to tell as well what each example pays; both come from one pass.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels, or floats for regression; with ``return_cost`` a tuple of these and of ``cost(X)``.
        """
        seen = self._seen(X)
        labels = seen.labels(seen.outputs)
        return (labels, seen.paid) if return_cost else labels

    @available_if(is_classifier)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of each class from the features that are bought.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        return self._seen(X).outputs

    @available_if(is_classifier)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_log_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the logarithm of the probability of each class, -inf where it is 0, shape (n_samples, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def answers(self, X: npt.ArrayLike) -> Answers:
        """Predict, and tell probabilities, costs and purchases, all from one pass.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
            See `predict`.
        """
        seen = self._seen(X)
        outputs = seen.outputs
        return Answers(seen.labels(outputs), outputs if is_classifier(self) else None, seen.paid, seen.bought)

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Compute the accuracy, or the coefficient of determination for regression."""
        require_rows_in_order(X, y)
        require_rows_in_order(X, sample_weight, "sample_weight")
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def measured(self, X: npt.ArrayLike | None = None, y: npt.ArrayLike | None = None) -> Measurement:
        """Measure errors, costs and purchases.

        Parameters
        ----------
        X, y : arrays, optional
            Test examples; by default those held out in `fit`, or 2,000 of them. The model looks better on these than it
            is, as it was chosen on them; only a pruned forest is not, unless ``pruning`` asks for it.

        Raises
        ------
        ValueError
            The model keeps no held-out examples, and no others are given; or X without y.
        """
        check_is_fitted(self)
        if X is not None and y is not None:
            examples, labels = self._checked_part(X, y)
        elif X is not None or y is not None:
            raise ValueError("X, y: expected both or none, got one")
        elif self._measured is not None:
            return self._measured
        elif self._validation is not None:
            examples, labels = self._validation
        else:
            raise ValueError("X: expected examples, as the model keeps none that were held out, got None")
        return Measurement.of(self._ready.see(examples), labels, getattr(self, "classes_", None), self.class_costs_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in all tests that predicting the held-out examples takes, shape (n_features,).

        They sum to 1, or are all 0 where nothing is tested. What is tested often need not be worth its price: see
        `measured`, which tells for how many examples each feature is bought.

        Raises
        ------
        AttributeError
            The model keeps no held-out examples.
        """
        check_is_fitted(self)
        if not self._keeps_examples:
            raise AttributeError(
                f"feature_importances_: expected a model that keeps held-out examples, got {type(self).__name__} "
                "fitted without; measured(X, y).tests tells how often examples test each feature"
            )
        tests = self.measured().tests
        return np.asarray(tests / max(tests.sum(), 1e-300))

    @property
    def _keeps_examples(self) -> bool:
        """Whether there are held-out examples to measure the model on, or it was measured on such."""
        return self._validation is not None or self._measured is not None

    def summary(self, X: npt.ArrayLike | None = None, y: npt.ArrayLike | None = None, n_units: int = 5) -> str:
        """Describe what was chosen, from what, and what it comes to.

        Parameters
        ----------
        X, y : arrays, optional
            Test examples; see `measured`.
        n_units : int
            How many of the units that are bought most are named, at most.

        Returns
        -------
        str
            Error, or for regression mean squared error and R^2, and cost, with intervals of 95 per cent: Wilson's, and
            a mean's with its standard error.
        """
        units, measured = self._units_that_bring(), self.measured(X, y)
        return self._described(measured, self._gain_over(measured, X, y), X is None, units, n_units)

    def _units_that_bring(self) -> list[Unit]:
        """List the units that bring features."""
        return [unit for unit in self._seller().units() if unit.features]

    def _described(
        self, measured: Measurement, mixture_gain: float, is_own: bool, units: Sequence[Unit], n_units: int
    ) -> str:
        """Write a summary; whether the examples are the model's own is told, and units have these names."""
        lines, offered = [f"{type(self).__name__}, {self._aim}", f"  takes {self._taken}"], self._offered
        if offered is not None:
            lines += [
                f"  of {counted(offered.size, 'choice')} at costs from {offered.min():.4g} to {offered.max():.4g}"
            ]
        examples = f"examples {self._kept_for}" if is_own else "examples"
        lines += [measured.in_words(examples), f"  buys most: {measured.bought_most(units, n_units)}"]
        if measured.is_beyond_chance(mixture_gain):
            lines += [f"  {self._hint_at_mixture(mixture_gain)} on these examples"]
        return "\n".join(lines)

    @property
    def _kept_for(self) -> str:
        """What the examples that are kept were used for, in words."""
        return "on which it was chosen"

    def __str__(self) -> str:
        return self.summary() if self._keeps_examples else repr(self)

    @property
    def _aim(self) -> str:
        """What the model was chosen for, in words."""
        budget = "no budget" if self.budget is None else f"budget {as_given(self.budget)}"
        if self._least_total:
            return f"least {TOTAL_COST}, {budget}"
        return budget if self.scoring is None else f"best {name_of(self.scoring)}, {budget}"

    @property
    def _taken(self) -> str:
        """What was chosen, in words."""
        policy = self.policy()
        return str(getattr(policy, "name", policy.decides_by))

    @property
    def _offered(self) -> FloatArray | None:
        """What the choices that there are cost on held-out examples; None where they are not known."""
        return None if self.frontier_ is None else self.frontier_.cost

    def misclassification_cost(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Average what the predictions cost by ``class_costs``; classifiers that have them only.

        Raises
        ------
        ValueError
            There are no class costs, or a class is unknown.
        """
        return self._money(X, y, sample_weight)[1]

    def total_cost(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Average what examples pay for features and what mistakes cost together; see `misclassification_cost`."""
        return sum(self._money(X, y, sample_weight))

    def _money(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> tuple[float, float]:
        check_is_fitted(self)
        if self.class_costs_ is None:
            raise ValueError("class_costs: expected a matrix of costs to average, got None")
        require_rows_in_order(X, y)
        require_rows_in_order(X, sample_weight, "sample_weight")
        sessions = self._seen(X)
        mistakes = costs_of(self.class_costs_, self.classes_, y, sessions.labels(sessions.outputs))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(sessions.paid, weights=weights)), float(np.average(mistakes, weights=weights))

    def session(
        self, known: Known | None = None, max_cost: object | None = None, max_rounds: int | None = None
    ) -> Session:
        """Start buying the features of one example.

        Parameters
        ----------
        known : mapping, optional
            Values that are free, by the feature's name or column; None or NaN for one that cannot be had.
        max_cost : number, optional
            What to pay at most; by default the estimator's ``max_cost``, if it has one.
        max_rounds : int, optional
            How often to wait for delayed values at most; afterwards they cannot be had.

        Returns
        -------
        Session
            It pays what `cost` says, and answers what `predict` says, if it is told the values of a table: NaN where
            one is missing. None is for a value that could not be had, which is not paid.
        """
        ready = self._ready
        return Session(ready.policy, ready.seller, known, self._limit(max_cost), max_rounds)

    def resume(self, saved: str) -> Session:
        """Go on with a session that `ipforest.session.Session.to_json` wrote.

        Raises
        ------
        ValueError
            The text is no session, or one of another model.
        """
        ready = self._ready
        return Session.resume(ready.policy, ready.seller, saved)

    def sessions(
        self, n: int, known: Known | None = None, max_cost: object | None = None, max_rounds: int | None = None
    ) -> Sessions:
        """Start buying the features of many examples at once.

        Parameters
        ----------
        n : int
            Number of examples.
        known : mapping, optional
            Values that are free, shape (n,) or one for all, by the feature's name or column.
        max_cost, max_rounds : number and int, optional
            As in `session`.
        """
        ready = self._ready
        return Sessions(ready.policy, ready.seller, n, known, self._limit(max_cost), max_rounds)

    @property
    def decides_by(self) -> str:
        """What decides in the fitted model besides its trees' own predictions; empty where these are all."""
        ready = self._ready
        parts = {
            ready.policy.decides_by: bool(ready.policy.decides_by),
            "class_costs": self.class_costs_ is not None,
            f"max_cost={ready.max_cost}": ready.max_cost is not None,
        }
        return " and ".join(part for part, is_there in parts.items() if is_there)

    def to_trees(self) -> Any:
        """Return the trees that predict, for `ipforest.ensemble.write`, where nothing else decides.

        Returns
        -------
        Forest or BoostedTrees

        Raises
        ------
        ValueError
            A rule that stops buying, stages, class costs or a cap decide as well, which trees do not hold.
        """
        if self.decides_by:
            raise ValueError(
                f"{type(self).__name__}: expected a model whose trees alone decide, got one with "
                f"{self.decides_by}, which an export of its trees would drop{_trees_alone(self)}"
            )
        return self._ready.policy.trees  # type: ignore[attr-defined]  # what only trees decide has trees

    def at_budget(self, budget: object) -> Self:
        """Return the same model at another budget, without training again.

        Parameters
        ----------
        budget : number
            What an example may cost on average.

        Returns
        -------
        estimator
            Fitted; shares what was trained with this one, which stays as it is.
        """
        return self._another(budget=budget)

    def at_choice(self, place: int) -> Self:
        """Return the same model at a budget of just what a place on its frontier costs.

        Parameters
        ----------
        place : int
            In ``frontier_``.

        Returns
        -------
        estimator
            See `at_budget`.

        Raises
        ------
        TypeError
            There is no frontier, or the place is no integer.
        IndexError
            The frontier has no such place.
        """
        check_is_fitted(self)
        costs = self._offers().cost
        return self.at_budget(costs[checked_place(place, len(costs))])

    def at_safe_budget(
        self, budget: object, X: npt.ArrayLike, confidence: float = 0.95, bound: str = "betting"
    ) -> Self:
        """Return the same model at the largest budget at which it is sure that a given one is kept.

        `at_budget` keeps a budget on the validation examples, among which it chooses what is cheap there by luck, too.
        Here examples that `fit` has not seen decide; they need no labels. Models for rising shares of the budget are
        tried one after another, until the first whose average cost may exceed it. So, with at least this probability
        over the draw of X, the average cost of the model that is returned is within the budget.

        Parameters
        ----------
        budget : number
            What an example may cost on average.
        X : array or DataFrame, shape (n_samples, n_features)
            Independent examples like those to come, of which `fit` has seen none.
        confidence : float, default=0.95
        bound : {"betting", "student"}, default="betting"
            See `ipforest.choosing.safe_budgets.keeps`.

        Returns
        -------
        estimator
            As `at_budget` returns it; its ``budget`` is the one that it was given there, at most this one.

        Raises
        ------
        ValueError
            No model is cheap enough to be sure; or a test costs something, where what an example may pay has no bound
            that "betting" needs.
        """
        check_is_fitted(self)
        limit = float(nonnegative_fraction(budget, "budget"))
        if not (isinstance(confidence, Real) and 0 < confidence < 1):
            raise ValueError(f"confidence: expected a number between 0 and 1, got {one_line(repr(confidence))}")
        if bound not in BOUNDS:
            raise ValueError(f"bound: expected {' or '.join(map(repr, BOUNDS))}, got {bound!r}")
        if bound == "betting" and self.split_cost_ > 0:
            raise ValueError(f"bound: expected 'student' where a test costs something, got {bound!r}")
        safe, n_samples = None, 0
        for model in self._at_rising_budgets(limit):
            paid = model.cost(X)
            n_samples = paid.size
            shuffled = np.random.default_rng(0).permutation(paid)
            if not keeps(shuffled, spending_limit(budget), model._most_expensive, confidence, bound):
                break
            safe = model
        if safe is None:
            raise ValueError(
                f"budget: expected one that a model keeps with confidence {confidence} on {n_samples} examples, got "
                f"{as_given(budget)}; give more examples, a larger budget or less confidence"
            )
        return safe

    def _at_rising_budgets(self, limit: float) -> Iterator[Self]:
        """Give the models for rising shares of a budget, as far as there are any."""
        for share in np.geomspace(MIN_SHARE, 1, N_SHARES).tolist():
            with trying_budgets():
                try:
                    model = self.at_budget(share * limit)
                except ValueError:
                    if share == 1:
                        raise
                    continue
            yield model

    @property
    def _most_expensive(self) -> float:
        """What no example pays more than: the price of all features that the model may want, or the cap."""
        policy, wanted = self.policy(), np.zeros((1, self.n_features_in_), dtype=bool)
        wanted[0, policy.features] = True
        price, cap = float(self.costs_.cost_of(wanted)[0]), self._cap_of(policy)
        return price if cap is None else min(price, float(nonnegative_fraction(cap, "max_cost")))

    @property
    def _cap(self) -> Any:
        """What an example pays at most."""
        return self._cap_of(self.policy())

    def _cap_of(self, policy: Policy) -> Any:
        """Say what an example pays at most: by ``max_cost``, or what one of those measured could pay within the budget.

        The latter where a single purchase costs more. None of the measured examples came to it, others may, and the
        budget does not pay for it; a budget of 0 pays for none. Where each test costs something, no such cap is needed:
        all examples have their first test in common, so what costs nothing on one tests nothing on any.
        """
        if self.budget is None or self._seller().split_cost:
            return self.max_cost
        budget, n = nonnegative_fraction(self.budget, "budget"), self._n_measured
        limit, alone = budget * n, self.costs_.alone
        if (budget and not n) or max((alone[feature] for feature in policy.features), default=0) <= limit:
            return self.max_cost
        cap = limit if self.max_cost is None else nonnegative_fraction(self.max_cost, "max_cost")
        return min(limit, cap)

    @property
    def _n_measured(self) -> int:
        """How many examples were measured, and paid no more than the budget on average; 0 where that is not known."""
        return 0

    def mixture(self, budget: object, seed: int = 0) -> MixedModel:
        """Return a coin between two models of this one that spends an average budget best.

        Of all mixtures of the models that a budget may choose it has the least loss on held-out examples: two
        neighbours on the lower hull of loss over cost. An average budget allows it; a cap for each example is kept as
        the two models keep it.

        Parameters
        ----------
        budget : number
            What an example may cost on average.
        seed : int, default=0
            Of the coin, which is a hash of the seed and of the key of an example.

        Raises
        ------
        TypeError
            What this estimator may choose depends on the budget, so there is nothing to mix.
        ValueError
            The budget is negative, or below the cheapest model.
        """
        check_is_fitted(self)
        cheap, costly, share = self._offers().mixture(budget)
        first = self.at_choice(cheap)
        return MixedModel(first, self.at_choice(costly) if share else first, share, seed)

    @property
    def mixture_gain(self) -> float:
        """By which share of the loss on held-out examples the mixture at this model's budget is better than the model.

        It is 0 where there is no budget, or nothing to mix, or where something else than the loss chooses.
        """
        check_is_fitted(self)
        if self.frontier_ is None or self.budget is None or self.scoring is not None:
            return 0.0
        offers = self._offers()
        alone, mixed = offers.loss[offers.within(self.budget)], offers.mean_loss(offers.mixture(self.budget))
        return max(1 - mixed / float(alone), 0.0) if alone > 0 else 0.0

    def mixture_gain_on(self, X: npt.ArrayLike | None = None, y: npt.ArrayLike | None = None) -> float:
        """By which share of the loss on these examples the mixture at this model's budget is better than the model.

        It is 0 where `mixture_gain` is.

        Parameters
        ----------
        X, y : arrays, optional
            Test examples; see `measured`.
        """
        return self._gain_over(self.measured(X, y), X, y) if self.mixture_gain else 0.0

    def _gain_over(self, measured: Measurement, X: npt.ArrayLike | None, y: npt.ArrayLike | None) -> float:
        """By which share of the loss the mixture is better on the examples on which this model was measured."""
        if self.mixture_gain == 0 or (alone := measured.loss) == 0:
            return 0.0
        mixed = self.mixture(self.budget)
        cheap, costly = (model.measured(X, y).loss for model in (mixed.cheap, mixed.costly))
        return float(max(1 - ((1 - mixed.share) * cheap + mixed.share * costly) / alone, 0.0))

    def _hint_at_mixture(self, gain: float) -> str:
        return f"mixture({as_given(self.budget)}), a coin between two choices, loses {gain:.0%} less"

    def _another(self, **choice: object) -> Self:
        check_is_fitted(self)
        other = copy(self)
        other.set_params(**choice)
        other._choose()
        return other

    def _choose(self) -> None:
        """Take the model for ``self.budget`` from those that were fitted: the best one on the frontier."""
        self.choice_ = self._offers().within(self.budget)

    def _offers(self) -> Frontier:
        """Give the frontier as choices are made on it."""
        if self.frontier_ is None:
            raise TypeError(
                f"frontier_: expected an estimator whose models are known before the budget is, got "
                f"{type(self).__name__}, which has none; at_budget goes to a budget"
            )
        return self._as_chosen_by(self.frontier_)

    def _as_chosen_by(self, frontier: Frontier) -> Frontier:
        """Compare models by cost and loss in money where the total cost decides."""
        return frontier.in_money(self._price_of_loss) if self._least_total else frontier

    @property
    def _price_of_loss(self) -> float:
        """What a loss of 1 costs."""
        return 1.0

    @property
    def _least_total(self) -> bool:
        """Whether choices are made by what is bought and what mistakes cost together."""
        return isinstance(self.scoring, str) and self.scoring == TOTAL_COST

    @property
    def _scorer(self) -> Any:
        """The scorer that choices are made by, None where losses or total costs decide."""
        return None if self._least_total else self.scoring

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_missing
        return tags

    def _seen(self, X: npt.ArrayLike, *, answers: bool = True) -> Seen | Sessions:
        """Find what each example of a table asks for and is answered: by a compiled walk, or by ending sessions.

        Where no answers are wanted, a walk may leave them out.
        """
        ready = self._ready
        return ready.see(self._checked(self._with_unused_columns(X)), answers=answers)

    @property
    def _ready(self) -> Ready:
        """What predicting needs, made once and again after any attribute has changed."""
        ready = getattr(self, "_kept", None)
        if ready is None or ready.around is not self._around:
            check_is_fitted(self)
            policy = self.policy()
            ready = Ready.of(policy, self._seller(), self._cap_of(policy), self._around)
            super().__setattr__("_kept", ready)
        return ready

    @property
    def _around(self) -> Ready | None:
        """What the estimator inside is ready with, where there is one whose changes have to be noticed."""
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__("_kept", None)
        if name == "feature_names_in_" and value is None:  # as SHAP forgets names, to give arrays
            self.__dict__.pop(name, None)
        else:
            super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Give what is copied and pickled: all but what is kept ready."""
        return self.__dict__.copy()

    def _seller(self) -> Seller:
        names = getattr(self, "feature_names_in_", [f"feature {column}" for column in range(self.n_features_in_)])
        return Seller(
            costs=self.costs_,
            split_cost=float(self.split_cost_),
            classes=np.asarray(self.classes_) if is_classifier(self) else None,
            feature_names=tuple(map(str, names)),
            allow_missing=bool(get_tags(self).input_tags.allow_nan),
            categories=self.categories_.names,
            whole=self.categories_.whole,
            class_costs=self.class_costs_,
            missing_seen=self._missing_seen,
        )

    def _limit(self, max_cost: object | None) -> object | None:
        return self._ready.max_cost if max_cost is None else max_cost

    def _checked(self, X: npt.ArrayLike) -> Array:
        plain = self._plain(X)
        return np.asarray(validated(self, X, ensure_all_finite=self._finite(), reset=False)) if plain is None else plain

    def _plain(self, X: Any) -> Array | None:
        """Take an array of floats that is as it should be, without the checks that tell what is wrong with others."""
        ready = getattr(self, "_kept", None)
        is_array = type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS
        if ready is None or not is_array or X.shape[1] != self.n_features_in_ or hasattr(self, "feature_names_in_"):
            return None
        if self.categories_.replaces:
            return None
        refused = np.isinf(X) if ready.seller.allow_missing else ~np.isfinite(X)
        return None if X.shape[0] == 0 or refused.any() else X

    def _checked_part(self, X: npt.ArrayLike, y: object, name: str = "y") -> tuple[Array, Array]:
        """Check examples and their labels; see `checked_labels`."""
        require_rows_in_order(X, y, name)
        examples = self._checked(X)
        return examples, checked_labels(y, examples, getattr(self, "classes_", None), name)

    def _with_unused_columns(self, X: Any) -> Any:
        """Add the columns that a data frame lacks where the model never wants them."""
        names = list(getattr(self, "feature_names_in_", ()))
        given = column_names(X) or names
        known = set(given)
        absent = [name for name in names if name not in known]
        if not absent or not {names[feature] for feature in self._ready.policy.features.tolist()}.isdisjoint(absent):
            return X
        frame = in_pandas(known_to_scikit_learn(X))
        in_order = [*given] == [name for name in names if name in known]
        nothing = np.nan if get_tags(self).input_tags.allow_nan else 0.0
        return frame.reindex(columns=names if in_order else [*given, *absent], fill_value=nothing)

    def _finite(self) -> bool | str:
        return "allow-nan" if get_tags(self).input_tags.allow_nan else True


def _trees_alone(model: Any) -> str:
    """Say where the trees of a model are found, without what else decides."""
    if hasattr(model, "pruned_"):
        where = "pruned_"
    else:
        where = "trees_.trees" if hasattr(getattr(model, "trees_", None), "trees") else ""
    return f"; its {where} are the trees alone, which predict and cost otherwise" if where else ""
