"""What the learners of the relaxed objective share: CSTC, CSCC, Cronus and the single cost-sensitive classifier."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier

from ipforest._internal.arrays import FloatArray
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.lambdas import check_lambdas, geometric_grid, swept_lambdas
from ipforest.classifier_trees.block_descent import DescentSettings, descend, fit_leaf
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.fine_tuning import fine_tuned
from ipforest.classifier_trees.objective import Objective, distinct
from ipforest.classifier_trees.relaxation import PathCost, RelaxedCost
from ipforest.classifier_trees.smooth_losses import LOSSES
from ipforest.classifier_trees.structure import Initialisation, Measure
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator, Examples, largest_lambda
from ipforest.estimator.checks import check_positive
from ipforest.settings import Grouped, Settings, checked

RIDGE = 1e-8
"""Strength of the l2 norm that makes (16) solvable when columns of phi depend on each other."""


Prune: TypeAlias = Callable[[ClassifierTree], ClassifierTree]


@dataclass(frozen=True, slots=True, repr=False)
class RelaxedObjective(Settings):
    """What is minimised, once per lambda.

    Parameters
    ----------
    lambdas : int or sequence of numbers, default=8
        What a unit of cost is worth in loss: a grid of so many, or these. One tree is learnt for each.
    rho : float, default=1e-4
        Strength of the l1 norm.
    spread : float, default=3.0
        With squared loss, the standard deviation that the target is scaled to: the larger, the harder (4) routes.
    """

    parameter: ClassVar[str] = "objective"

    lambdas: Any = checked(8, check_lambdas)
    rho: float = checked(1e-4, nonnegative_fraction)
    spread: float = checked(3.0, check_positive)


@dataclass(eq=False, repr=False, kw_only=True)
class RelaxedTreeEstimator(ClassifierTreeEstimator):
    """Base of the learners that minimise a relaxed objective by block coordinate descent, once per lambda."""

    _objective: ClassVar[Grouped[Any]]
    _descent = Grouped(DescentSettings)

    feature_map: Any = None
    descent: DescentSettings | None = None
    class_costs: Any = None
    scoring: str | None = None
    n_jobs: int | None = None

    exits_pay = False
    trains_with_weights = True

    fit_node = staticmethod(fit_leaf)

    @abstractmethod
    def _initial(self, start: Initialisation, validation: Examples) -> ClassifierTree:
        """Give every node a place and initialise it."""

    def _optimised(
        self, objective: Objective, tree: ClassifierTree, held_out: Objective, prune: Prune | None
    ) -> ClassifierTree:
        """Optimise all nodes of an initialised tree, and prune it after each sweep where that is asked for."""
        validate = partial(exact_objective, held_out)
        return descend(objective, tree, self._descent, validate=validate, prune=prune)

    def _prune(self, tree: ClassifierTree, validation: Examples) -> ClassifierTree:
        """Take nodes away from a tree by what they are worth on validation data."""
        return tree

    def _badness(self, validation: Examples) -> Measure:
        """Measure trees on validation data, for the structure."""
        classify = is_classifier(self)
        return lambda tree: validation.badness(tree.answer(validation.phi), classify=classify)

    def _cost(self) -> RelaxedCost:
        return PathCost(self.resources_)

    @property
    def _spread(self) -> float:
        return float(self._objective.spread)

    def _learn(self, training: Examples, validation: Examples) -> Sequence[tuple[float, ClassifierTree]]:
        objective, held_out = self._objective_on(training), self._objective_on(validation)
        lambdas = swept_lambdas(self._objective.lambdas, partial(self._grid, objective))
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(self._learn_at)(replace(objective, lam=lam), replace(held_out, lam=lam), validation)
            for lam in lambdas
        )
        return list(zip(lambdas, found, strict=True))

    def _grid(self, objective: Objective, size: int) -> list[float]:
        """Return a grid of lambdas below the largest, see `largest_lambda`."""
        slope = objective.loss.derivative(np.full(objective.target.size, self.prior_), objective.target)
        gain = (objective.share * objective.sample_weight * slope) @ objective.phi
        return geometric_grid(largest_lambda(gain, self.resources_), size)

    def _objective_on(self, examples: Examples) -> Objective:
        rows, share = distinct(examples.phi, examples.target)
        target = examples.target[rows]
        return Objective(
            phi=examples.phi[rows],
            target=target,
            loss=LOSSES[self.loss],
            sample_weight=self._weights(target),
            share=share,
            resources=self.resources_,
            cost=self._cost(),
            lam=0.0,
            rho=self._objective.rho,
            ridge=RIDGE,
            exits_pay=self.exits_pay,
        )

    def _learn_at(self, objective: Objective, held_out: Objective, validation: Examples) -> ClassifierTree:
        descent = self._descent
        prune = partial(self._prune, validation=validation)
        tree = self._initial(Initialisation(objective, descent, self.fit_node), validation)
        if descent.pruning == "before":
            tree = prune(tree)
        tree = self._optimised(objective, tree, held_out, prune if descent.pruning == "within" else None)
        if descent.pruning != "before":
            tree = prune(tree)
        return fine_tuned(objective, tree, descent, held_out) if descent.fine_tune else tree


def exact_objective(objective: Objective, tree: ClassifierTree) -> float:
    """Compute loss plus lambda times cost, not relaxed, of what examples get and pay under hard thresholds: (1)."""
    _, scores, paid = objective.resources.outcome(tree, objective.phi)
    losses: FloatArray = objective.loss.value(scores, objective.target)
    return float(objective.share @ (objective.sample_weight * losses + objective.lam * paid))
