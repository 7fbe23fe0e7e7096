"""GreedyMiser: gradient boosting whose trees pay for the features that no tree before has used."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, softmax

from ipforest._internal.arrays import Array, BoolArray, FloatArray
from ipforest._internal.examples import Labelled
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.class_costs import label_losses
from ipforest.choosing.frontier import Frontier
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.margin_losses import MARGIN_LOSSES, encode_targets
from ipforest.estimator.base import FittedWithHeldOut
from ipforest.estimator.checks import check_choice, check_integer
from ipforest.estimator.given import Given
from ipforest.estimator.kinds import Classifies, Regresses
from ipforest.learners.priced_booster import TINY, PricedBooster, PricedGrowth
from ipforest.learners.staged import first_trees, staged_costs
from ipforest.policy import Progress, Rows, TreesInOrder
from ipforest.settings import Grouped, checked


class Squared:
    """Squared loss of scores against targets, one column each."""

    def base(self, targets: FloatArray) -> FloatArray:
        """Return the best constant scores."""
        return np.asarray(targets.mean(axis=0))

    def residuals(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Negative gradients."""
        return targets - scores

    def curvature(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Second derivatives."""
        return np.ones_like(scores)

    def step(self, n_columns: int) -> float:
        """Return the factor of Newton's steps."""
        return 1.0

    def outputs(self, scores: FloatArray) -> FloatArray:
        """Return what is predicted from scores."""
        return scores


class SquaredOnClasses(Squared):
    """Squared loss of scores against class indicators, as the papers use it on labels."""

    def outputs(self, scores: FloatArray) -> FloatArray:
        """Clip the scores to shares."""
        shares = np.clip(scores, 0.0, 1.0)
        if scores.shape[1] == 1:
            return np.hstack([1.0 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, shares / np.maximum(total, TINY), 1.0 / scores.shape[1]))


class Logistic(Squared):
    """Logistic loss of one column, softmax loss of several."""

    def base(self, targets: FloatArray) -> FloatArray:
        """Return the log-odds or log-probabilities of the class shares."""
        shares = np.clip(targets.mean(axis=0), np.finfo(np.float32).eps, 1 - np.finfo(np.float32).eps)
        return np.asarray(logit(shares) if targets.shape[1] == 1 else np.log(shares))

    def values(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Compute minus the log-likelihood of each example, shape (n_samples,)."""
        link = "logit" if scores.shape[1] == 1 else "multinomial logit"
        return MARGIN_LOSSES[link].value(scores, targets)

    def residuals(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the residuals: indicators of the classes minus the probabilities."""
        return targets - self._probabilities(scores)

    def curvature(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Second derivatives p (1 - p)."""
        p = self._probabilities(scores)
        return p * (1.0 - p)

    def step(self, n_columns: int) -> float:
        """Friedman's (K - 1) / K for K > 1 columns."""
        return (n_columns - 1) / n_columns if n_columns > 1 else 1.0

    def outputs(self, scores: FloatArray) -> FloatArray:
        """Class probabilities."""
        p = self._probabilities(scores)
        return np.hstack([1.0 - p, p]) if scores.shape[1] == 1 else p

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        return np.asarray(expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1))


CLASSIFICATION_LOSSES: dict[str, type[Squared]] = {"logistic": Logistic, "squared": SquaredOnClasses}


@dataclass(eq=False, repr=False)
class PricedBoosting(FittedWithHeldOut):
    """Base of the two estimators: boosting with prices.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds; each grows one tree per column of scores.
    growth : PricedGrowth, optional
        How trees grow.
    lam : number, default=0
        What a unit of cost is worth in squared error of the gradients, halved and averaged over the examples.
    feature_costs : optional
        Prices; see `BudgetPrune`. Trees are grown as if no feature were delayed; how many rounds of boosting are taken
        goes by what is ordered in the rounds of sessions.
    budget : number, optional
        What an example may cost on average: the number of rounds of least validation error within it. Without one,
        all rounds.
    max_cost : number, optional
        The most that any one example may pay; see `BudgetedModel.session`.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples held out where `fit` gets no validation examples; with None, the training examples.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part.

    Attributes
    ----------
    trees_ : Forest
        All trees, round after round.
    base_ : ndarray of float64, shape (n_columns,)
        Scores before the first tree.
    stage_costs_, stage_errors_ : ndarray of float64, shape (n_rounds + 1,)
        Average cost and error on the validation examples after 0, 1, 2, ... rounds.
    n_rounds_ : int
        How many rounds predict.
    costs_ : FeatureCosts
    n_features_in_ : int
    """

    takes_missing = True
    _dtype = np.float32
    _growth = Grouped(PricedGrowth)

    n_estimators: int = checked(100, check_integer, 1)
    _: KW_ONLY
    growth: PricedGrowth | None = None
    lam: Any = checked(0, nonnegative_fraction)
    max_cost: Any = None

    def _train(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> Frontier:
        self._boost(training.X, encode_targets(training.y, getattr(self, "classes_", None)))
        self.stage_costs_, self.stage_errors_ = self._measured_rounds(validation.X, validation.y)
        return Frontier(self.stage_costs_, self.stage_errors_)

    @abstractmethod
    def _loss(self) -> Squared:
        """Return the loss that is boosted."""

    @abstractmethod
    def _stage_error(self, outputs: FloatArray, truth: Array) -> float:
        """Compute the error of outputs (n_samples, n_columns) on validation examples."""

    def _boost(self, examples: npt.NDArray[np.float32], targets: FloatArray) -> None:
        """Grow each tree on the residuals, at the price of the units that no tree before has used."""
        loss = self._loss()
        booster = PricedBooster(
            examples, self.costs_, lam=float(nonnegative_fraction(self.lam, "lam")), growth=self._growth
        )
        self.base_ = loss.base(targets)
        scores = np.tile(self.base_, (len(examples), 1))
        step, trees = self._growth.learning_rate * loss.step(targets.shape[1]), []
        for _ in range(self.n_estimators):
            trees += booster.grow(loss.residuals(targets, scores), loss.curvature(targets, scores), step, scores)
        self.trees_ = booster.forest(trees)

    def measure_rounds(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Measure average cost and error after 0, 1, 2, ... rounds.

        Parameters
        ----------
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)

        Returns
        -------
        costs, errors : ndarray of float64, shape (n_rounds + 1,)
            Error rates, or with class costs what mistakes cost on average, or mean squared errors for regression.
        """
        return self._measured_rounds(*self._checked_part(X, y))

    def _measured_rounds(self, examples: Array, truth: Array) -> tuple[FloatArray, FloatArray]:
        loss, n_columns = self._loss(), self.base_.size
        leaves = self.trees_.leaves(self.trees_.checked_examples(examples))
        scores = np.tile(self.base_, (truth.size, 1))
        errors = [self._stage_error(loss.outputs(scores), truth)]
        for tree in range(self.trees_.n_trees):
            scores[:, tree % n_columns] += self.trees_.value[leaves[tree], 0]
            if (tree + 1) % n_columns == 0:
                errors.append(self._stage_error(loss.outputs(scores), truth))
        return staged_costs(self.trees_, leaves, self.costs_)[::n_columns], np.array(errors)

    def _choose(self) -> None:
        self.choice_ = self.n_estimators
        if self.budget is not None or self._least_total:
            super()._choose()
        self.n_rounds_ = self.choice_

    def policy(self) -> TreesInOrder:
        """Say how the fitted model buys features and what it answers."""
        n_trees = self.n_rounds_ * self.base_.size
        return SummedTrees(first_trees(self.trees_, n_trees), n_trees, self.base_, self._loss())


@dataclass(eq=False, repr=False, kw_only=True)
class GreedyMiser(Classifies, PricedBoosting):
    """Classify by gradient-boosted regression trees that pay for features.

    Each tree is grown to least squared distance to the gradients plus `lam` times the price of its features; a feature
    that an earlier tree has used is free, and `PricedGrowth.charge` says how often one tree pays for a feature.
    Parameters and attributes are those of `PricedBoosting`, and:

    Parameters
    ----------
    loss : {"logistic", "squared"}, default="logistic"
        The former is softmax for more than two classes; the latter fits class indicators, one ensemble per class.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What mistakes cost, as in `ipforest.EarlyExit`: the number of rounds is chosen by it; trees grow by the loss.
    scoring : {None, "total cost"}, default=None
        See `ipforest.EarlyExit`.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)

    Notes
    -----
    Xu, Weinberger, Chapelle, "The Greedy Miser", ICML 2012: the impurity of a tree is its squared distance to the
    gradients, halved, plus the prices of the features that it uses and no earlier tree has used, each once. BudgetPrune
    (NIPS 2016), section 5 (iv), and Nan and Saligrama (NIPS 2017), equation (1), tell it alike.
    """

    loss: str = checked("logistic", check_choice, CLASSIFICATION_LOSSES)
    class_costs: Any = None
    scoring: str | None = None

    def _loss(self) -> Squared:
        return CLASSIFICATION_LOSSES[self.loss]()

    def _stage_error(self, outputs: FloatArray, truth: Array) -> float:
        return float(label_losses(outputs, truth, self.classes_, self.class_costs_).mean())


class GreedyMiserRegressor(Regresses, PricedBoosting):
    """Predict numbers by gradient-boosted regression trees that pay for features; squared loss.

    Parameters and attributes are those of `PricedBoosting`; see `GreedyMiser`.
    """

    def _loss(self) -> Squared:
        return Squared()

    def _stage_error(self, outputs: FloatArray, truth: Array) -> float:
        return float(np.mean((outputs[:, 0] - truth) ** 2))


class SummedTrees(TreesInOrder):
    """Trees whose values are added up to scores, one column after another.

    Parameters
    ----------
    trees : Forest
        The values are steps of the scores.
    n_trees : int
        How many of its trees count; 0 if it only stands for the base.
    base : ndarray of float64, shape (n_columns,)
    loss : Squared
        Turns scores into outputs.
    """

    decides_by = "a sum of scores"

    def __init__(self, trees: Forest, n_trees: int, base: FloatArray, loss: Squared) -> None:
        super().__init__(trees)
        self._n_trees = n_trees
        self._base = base
        self._loss = loss

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Add up the nodes that what is known leads to."""
        nodes = self.reached(progress, rows)
        scores = np.tile(self._base, (rows.size, 1))
        for tree in range(self._n_trees):
            scores[:, tree % self._base.size] += self.trees.value[nodes[:, tree], 0]
        return self._loss.outputs(scores)

    def foresee(
        self, progress: Progress, rows: Rows, class_costs: FloatArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """Return the answer so far; nothing is held to be settled."""
        return self.answer(progress, rows), np.zeros(rows.size, dtype=bool)
