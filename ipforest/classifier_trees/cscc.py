"""CSCC: the cost-sensitive cascade of classifiers of Xu et al. (2014), section 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.relaxed_tree import RelaxedObjective, RelaxedTreeEstimator
from ipforest.classifier_trees.structure import Initialisation
from ipforest.classifier_trees.tree_estimator import Examples, check_class_weight
from ipforest.estimator.checks import check_integer
from ipforest.settings import Grouped, checked


@dataclass(frozen=True, slots=True, repr=False)
class ChainObjective(RelaxedObjective):
    """What is minimised, and over which chains.

    Parameters
    ----------
    lambdas, rho, spread
        See `RelaxedObjective`.
    n_nodes : int, default=5
        Classifiers in the chain; those that are not worth their price become empty and let everything pass or leave.
    class_weight : dict, "balanced" or None, default="balanced"
        The weights w of (19), in whose place class costs come. With squared loss the keys of a dict are values of the
        target, and "balanced" is for a target of two values: one of more is not weighted then.
    """

    n_nodes: int = checked(5, check_integer, 1)
    class_weight: Any = checked("balanced", check_class_weight)


@dataclass(eq=False, repr=False, kw_only=True)
class CSCC(RelaxedTreeEstimator):
    """A cascade of linear classifiers: those that score low leave early, the others are looked at more closely.

    Minimises (19): each node's loss counts for the examples that leave by it, weighted by class; the cost is that of
    `CSTC`. Suited to rare positives: most examples pay for the first nodes only.

    Parameters
    ----------
    loss : {"logistic", "squared"}, default="logistic"
    objective : ChainObjective, optional
        What is minimised, and over which chains.
    feature_map, descent, validation_fraction, n_jobs, random_state
        See `CSTC`.
    feature_costs, split_cost, budget, class_costs, scoring
        See `CSTC`.
    """

    exits_pay = True
    _objective = Grouped(ChainObjective)

    loss: str = "logistic"
    objective: ChainObjective | None = None

    @property
    def _class_weight(self) -> Any:
        return self._objective.class_weight

    def _initial(self, start: Initialisation, validation: Examples) -> ClassifierTree:
        return start.chain(self._objective.n_nodes)
