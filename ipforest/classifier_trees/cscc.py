"""CSCC: the cost-sensitive cascade of classifiers of Xu et al. (2014), section 4."""

from __future__ import annotations

from typing import Any

from ipforest.classifier_trees.block_descent import DescentSettings
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.objective import Objective
from ipforest.classifier_trees.relaxed_tree import RelaxedTreeEstimator
from ipforest.classifier_trees.structure import chain
from ipforest.classifier_trees.tree_estimator import Examples


class CSCC(RelaxedTreeEstimator):
    """A cascade of linear classifiers: those that score low leave early, the others are looked at more closely.

    Minimises (19): each node's loss counts for the examples that leave by it, weighted by class; the cost is that of
    `CSTC`. Suited to rare positives: most examples pay for the first nodes only.

    Parameters
    ----------
    loss : {"logistic", "squared"}, default="logistic"
    n_nodes : int, default=5
        Classifiers in the chain; those that are not worth their price become empty and let everything pass or leave.
    class_weight : dict, "balanced" or None, default="balanced"
        The weights w of (19), in whose place class costs come. With squared loss the keys of a dict are values of the
        target, and "balanced" is for a target of two values: one of more is not weighted then.
    lambdas, rho, spread, feature_map, fine_tune, descent, validation_fraction, n_jobs, random_state
        See `CSTC`.
    feature_costs, split_cost, budget, class_costs, scoring
        See `CSTC`.
    """

    exits_pay = True

    def __init__(
        self,
        *,
        loss: str = "logistic",
        n_nodes: int = 5,
        class_weight: Any = "balanced",
        lambdas: Any = 8,
        rho: float = 1e-4,
        spread: float = 3.0,
        feature_map: Any = None,
        fine_tune: bool = True,
        descent: DescentSettings | None = None,
        feature_costs: Any = None,
        split_cost: Any = 0,
        budget: Any = None,
        class_costs: Any = None,
        scoring: str | None = None,
        validation_fraction: float | None = 0.25,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.n_nodes = n_nodes
        self.class_weight = class_weight
        self.lambdas = lambdas
        self.rho = rho
        self.spread = spread
        self.feature_map = feature_map
        self.fine_tune = fine_tune
        self.descent = descent
        self.feature_costs = feature_costs
        self.split_cost = split_cost
        self.budget = budget
        self.class_costs = class_costs
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        if self.n_nodes < 1:
            raise ValueError(f"n_nodes: expected at least 1, got {self.n_nodes}")

    def _initial(self, objective: Objective, validation: Examples, descent: DescentSettings) -> ClassifierTree:
        return chain(objective, self.n_nodes, descent, self.fit_node)
