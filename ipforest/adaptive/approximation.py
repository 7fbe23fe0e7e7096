"""What adaptive approximations share: the full model, the sweep, and the choice within a budget on held-out data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray, places_in
from ipforest._internal.examples import Labelled
from ipforest._internal.feature_names import require_names_of
from ipforest.adaptive.candidates import GatedPair, MeasuredPair, frontier_of
from ipforest.adaptive.full_model import (
    check_full_model,
    class_probabilities,
    cross_fitted,
    full_policy,
    log_losses,
    require_scores_of_classes,
)
from ipforest.adaptive.gated_policy import Constant, GatedPolicy
from ipforest.choosing.class_costs import label_losses
from ipforest.choosing.frontier import Frontier
from ipforest.choosing.lambdas import check_lambdas
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.sklearn_trees import unfrozen
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.base import FittedWithHeldOut
from ipforest.estimator.checks import check_each, check_integer, check_share, is_fitted
from ipforest.estimator.given import Given, check_inner_estimator, seeded
from ipforest.estimator.kinds import Classifies
from ipforest.estimator.tags import AroundEstimator
from ipforest.policy import Policy
from ipforest.session import Sessions
from ipforest.settings import Grouped, Settings, checked

Accounting: TypeAlias = Literal["union", "full model only"]

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """What gates and cheap models are learnt from.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    targets : ndarray of float64, shape (n_samples, n_columns)
        Class indicators; one column for two classes.
    full_loss : ndarray of float64, shape (n_samples,)
        Minus the log-probability that the full model gives the true class.
    """

    X: Array
    targets: FloatArray
    full_loss: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What a policy answers on examples, and which features it tests."""

    outputs: FloatArray
    used: BoolArray


@dataclass(frozen=True, slots=True, repr=False)
class PairSearch(Settings):
    r"""Which pairs of a gate and a cheap model are learnt.

    Parameters
    ----------
    shares : sequence of numbers from 0 to 1
        :math:`P_\text{full}`: which share of the examples the full model may answer.
    lambdas : int or sequence of numbers, default=10
        :math:`\gamma`: what a unit of price is worth in loss; or how many to try.
    n_folds : int, default=5
        Folds by which the full model's losses are found on examples that it was not trained on; with 1, on those that
        it was trained on.
    """

    parameter: ClassVar[str] = "search"
    shares: Sequence[float] = checked(SHARES, check_each, check_share, least=1)
    lambdas: Any = checked(10, check_lambdas)
    n_folds: int = checked(5, check_integer, 1)

    @property
    def gate_shares(self) -> Sequence[float]:
        """Thresholds of the gate that are tried besides probability 1/2: none."""
        return ()


@dataclass(frozen=True, slots=True, repr=False)
class GateSearch(PairSearch):
    """Which pairs of a gate and a cheap model are learnt, and with which thresholds of the gate.

    Parameters
    ----------
    shares, lambdas, n_folds
        See `PairSearch`.
    gate_shares : sequence of numbers from 0 to 1, default=()
        Each learnt pair is a candidate with the gate's threshold at probability 1/2, and also with those above which
        these shares of the training examples score.
    """

    gate_shares: Sequence[float] = checked((), check_each, check_share)


@dataclass(eq=False, repr=False)
class AdaptiveApproximation(AroundEstimator, Classifies, FittedWithHeldOut):
    r"""Base: keep a full model for the hard examples, and answer the others by a cheap one; a gate tells them apart.

    .. math:: \min_{f_1, g, q} \frac{1}{N} \sum_i \big[ (1 - q_i)\, \ell(f_1(x_i), y_i) + q_i\, \ell(f_0(x_i), y_i)
              + D(q_i, g(x_i)) \big] + \gamma\,\Omega(f_1, g)
              \quad\text{s.t.}\quad \frac{1}{N} \sum_i q_i \le P_\text{full}

    for each pair of ``search.shares`` (:math:`P_\text{full}`) and ``search.lambdas`` (:math:`\gamma`). Held-out
    examples tell which is best within the budget.

    Parameters
    ----------
    estimator : classifier
        The full model :math:`f_0`: any scikit-learn classifier with ``predict_proba`` or ``decision_function``. An
        estimator of this package buys by its own policy and brings its own prices; trees buy test by test; of any other
        classifier all features are bought at once. One that is fitted already is used as it is; then give `fit`
        examples that it was not trained on. An adaptive approximation is itself a full model: so stages are put one
        before the other (remark 2).
    search : PairSearch, GateSearch or BoostedSearch, optional
        What is swept; which of them it is, each estimator says.
    feature_costs : optional
        See `BudgetPrune`; none with an estimator that has its own.
    budget : number, optional
        What an example may cost on average; without one, the least error counts.
    max_cost : number, optional
        The most that any one example may pay; see `BudgetedModel.session`.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What mistakes cost, as in `ipforest.EarlyExit`: pairs are judged by it; gates and cheap models are trained as
        they are, by log loss.
    scoring : {None, "total cost"}, default=None
        See `ipforest.EarlyExit`.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples held out for the choice, if `fit` gets no ``X_val``; with None, the training examples.
    n_jobs : int, optional
        Settings that are learnt at once, by joblib.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimator_ : classifier
        The fitted full model.
    candidates_ : list of MeasuredPair
        The full model alone, one class for nothing, and all that was learnt.
    chosen_ : MeasuredPair
    hull_ : list of MeasuredPair
        Those on the lower hull of error over cost on held-out examples, by rising cost.
    classes_ : ndarray, shape (n_classes,)
    costs_ : FeatureCosts
    n_features_in_ : int

    Notes
    -----
    Nan, Saligrama, "Adaptive Classification for Prediction Under a Budget", NIPS 2017.
    """

    _search: ClassVar[Grouped[Any]]

    estimator: Any
    _: KW_ONLY
    search: PairSearch | None = None
    max_cost: Any = None
    class_costs: Any = None
    scoring: str | None = None
    n_jobs: int | None = None

    @abstractmethod
    def _settings(self, training: Training) -> Sequence[tuple[float, float]]:
        """List what is swept: (share, lambda)."""

    @abstractmethod
    def _learn(self, training: Training, share: float, lam: float) -> list[GatedPair]:
        """Learn gates and cheap models for one setting."""

    def _categories_in(self, X: Any) -> Categories:
        full = unfrozen(self.estimator)
        return self._categories_of(full, X) if is_fitted(full) else Categories()

    def _take_classes(self, labels: Array) -> None:
        super()._take_classes(labels)
        full = unfrozen(self.estimator)
        if is_fitted(full):
            require_names_of(full, getattr(self, "feature_names_in_", None))
            self.classes_ = np.asarray(full.classes_)
        if len(self.classes_) > 2:
            require_scores_of_classes(full)

    def _train(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> Frontier:
        training = training._replace(X=np.ascontiguousarray(training.X))  # sums of floats go by the layout
        probabilities = self._fit_full(training, given)
        pairs = self._pairs(training.X, self._codes(training.y), probabilities)
        self.candidates_ = self._judged(pairs, validation.X, self._codes(validation.y))
        return frontier_of(self.candidates_)

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        check_full_model(self.estimator)
        full = unfrozen(self.estimator)
        if isinstance(full, BudgetedEstimator):
            check_inner_estimator(self, full)
        super().check_parameters()

    def _fit_full(self, training: Labelled, given: Given) -> FloatArray:
        """Train the full model unless it is fitted; give its probabilities on the training rows, as unseen."""
        full, n_folds = unfrozen(self.estimator), self._search.n_folds
        named = isinstance(full, BudgetedEstimator) or is_fitted(full)
        table = given.table_to_train if named else training.X
        table = table if hasattr(table, "iloc") else training.X
        unseen = is_fitted(full) or n_folds == 1
        self.estimator_ = full
        if not is_fitted(full):
            self.estimator_ = seeded(full, self.random_state).fit(table, training.y, **given.for_inner(full))
        if isinstance(full, BudgetedEstimator):
            self.costs_ = self.estimator_.costs_
        if unseen:
            return class_probabilities(self.estimator_, table)
        return cross_fitted(self.estimator_, table, training.y, n_folds, self.random_state, given.groups_to_train)

    def _codes(self, labels: Array) -> IntArray:
        """Return the number of each label's class."""
        return places_in(self.classes_, labels)

    def _pairs(self, X: Array, codes: IntArray, probabilities: FloatArray) -> list[GatedPair]:
        """Learn the pairs of all settings; before them stand the full model alone, and one class for nothing."""
        indicators = np.eye(self.classes_.size)[codes]
        targets = indicators[:, 1:] if self.classes_.size == 2 else indicators
        training = Training(X, targets, log_losses(probabilities, codes))
        self.prior_ = indicators.mean(axis=0)
        learnt = Parallel(n_jobs=self.n_jobs)(
            delayed(self._learn)(training, share, lam) for share, lam in self._settings(training)
        )
        constant = Constant(self.prior_)
        return [
            GatedPair(Constant(np.ones(1)), constant, 1.0, 0.0, 0),
            GatedPair(Constant(-np.ones(1)), constant, 0.0, np.inf, 0),
            *(pair for pairs in learnt for learnt_pair in pairs for pair in self._with_thresholds(learnt_pair, X)),
        ]

    def _with_thresholds(self, pair: GatedPair, X: Array) -> list[GatedPair]:
        """Return the pair as it is, and with the thresholds of ``search.gate_shares``."""
        gate_shares = self._search.gate_shares
        if not len(gate_shares):
            return [pair]
        scores = self._walk(pair.gate, X).outputs[:, 0]
        cuts = np.quantile(scores, 1 - np.asarray(gate_shares, dtype=np.float64))
        return [pair, *(replace(pair, threshold=float(cut)) for cut in cuts)]

    def _judged(
        self,
        pairs: Sequence[GatedPair],
        X: Array,
        codes: IntArray,
        accounting: Accounting = "union",
        error_of: Callable[[FloatArray], float] | None = None,
    ) -> list[MeasuredPair]:
        if error_of is None:
            error_of = partial(self._mean_loss, codes)
        model = full_policy(self.estimator_)
        full, whole = self._walk(model, X), self.max_cost is not None or bool(self.costs_.delayed.any())
        judged: list[MeasuredPair] = []
        for pair in pairs:
            if not judged or pair.gate is not judged[-1].pair.gate:
                gate, cheap = self._walk(pair.gate, X), self._walk(pair.cheap, X)
            hard = gate.outputs[:, 0] > pair.threshold
            if whole:  # a cap holds for what all three buy; what the gate was told narrows the rounds of the models
                seen = self._walk(GatedPolicy(pair.gate, pair.cheap, model, pair.threshold), X, self.max_cost)
                used, outputs = seen.used, seen.outputs
            else:
                used = gate.used | np.where(hard[:, None], full.used, cheap.used)
                outputs = np.where(hard[:, None], full.outputs, cheap.outputs)
            if accounting == "full model only":
                used = np.where(hard[:, None], full.used, used)
            cost = float(self.costs_.cost_of(used).mean())
            judged.append(MeasuredPair(pair, error_of(outputs), cost, float(hard.mean())))
        return judged

    def measure(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        candidates: Sequence[MeasuredPair],
        accounting: Accounting = "union",
        error_of: Callable[[FloatArray], float] | None = None,
    ) -> list[MeasuredPair]:
        """Measure candidates on other examples.

        Parameters
        ----------
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        candidates : sequence of MeasuredPair
            Some of ``candidates_``.
        accounting : {"union", "full model only"}, default="union"
            What an example pays that the gate sends to the full model: the features of both, as the paper's text says
            and as a session pays; or, as the program of the paper's authors counts, those of the full model alone. The
            latter is less than what has to be bought wherever the gate uses a feature that the full model does not. It
            is a way to compare figures with the printed ones, so it is offered here and is no parameter of the
            estimator: what `fit` chooses by, ``cost`` and sessions say what is bought.
        error_of : callable (class probabilities of shape (n_samples, n_classes)) -> float, optional
            What is measured in place of the error, of a ranking for instance.

        Returns
        -------
        list of MeasuredPair
            The same pairs, with error and cost on these examples.

        Raises
        ------
        ValueError
            Bad examples or labels, or another accounting.
        """
        check_is_fitted(self)
        if accounting not in get_args(Accounting):
            raise ValueError(f"accounting: expected one of {', '.join(get_args(Accounting))}, got {accounting!r}")
        pairs = [candidate.pair for candidate in candidates]
        return self._judged(pairs, self._checked(X), self._codes(np.asarray(y)), accounting, error_of)

    def _walk(self, policy: Policy, X: Array, max_cost: object | None = None) -> Answered:
        """Let a policy alone answer examples."""
        sessions = Sessions(policy, self._seller(), len(X), max_cost=max_cost).see(X)
        return Answered(policy.answer(sessions.progress, np.arange(len(X))), sessions.bought)

    def _mean_loss(self, codes: IntArray, outputs: FloatArray) -> float:
        return float(label_losses(outputs, codes, np.arange(self.classes_.size), self.class_costs_).mean())

    def _choose(self) -> None:
        """Take the candidate of least error on held-out examples that costs no more than the budget there."""
        super()._choose()
        self.chosen_ = self.candidates_[self.choice_]

    @property
    def hull_(self) -> list[MeasuredPair]:
        """The candidates on the lower hull of error over cost on held-out examples, by rising cost."""
        return [self.candidates_[place] for place in frontier_of(self.candidates_).hull()]

    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers."""
        pair = self.chosen_.pair
        return GatedPolicy(pair.gate, pair.cheap, full_policy(self.estimator_), pair.threshold)

    def goes_to_full(self, X: npt.ArrayLike) -> BoolArray:
        """Tell which examples the gate sends to the full model, shape (n_samples,)."""
        gate = self._walk(self.chosen_.pair.gate, self._checked(X))
        return np.asarray(gate.outputs[:, 0] > self.chosen_.pair.threshold)
