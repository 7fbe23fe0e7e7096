"""What weights need: units to acquire and weak learners to evaluate, each paid once per example."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.costs import FeatureCosts


class Outcome(NamedTuple):
    """What comes of examples in a tree of classifiers; all have shape (n_samples,).

    Parameters
    ----------
    last : ndarray of int64
        The node by whose terminal element each example leaves.
    scores : ndarray of float64
        What it answers.
    paid : ndarray of float64
    """

    last: IntArray
    scores: FloatArray
    paid: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Resources:
    """Resources that weights of linear classifiers need.

    Parameters
    ----------
    members : sparse array of float64, shape (n_resources, n_weights)
        1 where a nonzero weight needs the resource.
    prices : ndarray of float64, shape (n_resources,)
        What a resource costs, once per example.

    Attributes
    ----------
    needs : sparse array of float64, shape (n_weights, n_resources)
        `members`, transposed.

    Notes
    -----
    For linear classifiers without price groups `members` is the identity: (8). After the boosting trick it is the
    matrix F of features per tree, (20), over the identity of trees to evaluate, (21).
    """

    members: Any
    prices: FloatArray
    needs: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", sparse.csr_array(self.members.T))

    @classmethod
    def of_weights(
        cls,
        costs: FeatureCosts,
        feature_of_weight: Any,
        split_cost: float = 0.0,
        evaluation_cost: FloatArray | None = None,
    ) -> Self:
        """Make the resources of weights that use features: units to acquire, (20), and trees to evaluate, (21).

        Parameters
        ----------
        costs : FeatureCosts
        feature_of_weight : array or sparse array, shape (n_features, n_weights)
            1 where a weight needs a feature: F; the identity for linear classifiers.
        split_cost : float
            What a test costs: e_t is this times the number of features that weight t needs, plus `evaluation_cost`.
        evaluation_cost : ndarray of float64, shape (n_weights,), optional
            By default 0 each.
        """
        uses = sparse.csr_array(feature_of_weight)
        units = sparse.csr_array(
            (np.ones(costs.unit_indices.size), costs.unit_indices, costs.unit_indptr),
            shape=(costs.n_features, costs.n_units),
        )
        members = sparse.csr_array(units.T @ uses)
        members.data[:] = 1
        prices = costs.float_unit_costs
        evaluation = split_cost * uses.sum(axis=0) + (0.0 if evaluation_cost is None else evaluation_cost)
        if evaluation.any():
            members = sparse.csr_array(sparse.vstack([members, sparse.eye_array(uses.shape[1])]))
            prices = np.concatenate([prices, evaluation])
        return cls(members, prices)

    def squares(self, coef: FloatArray) -> FloatArray:
        """Sum the squared weights that need each resource, shape (n_resources, n_nodes)."""
        return np.asarray(self.members @ np.square(np.atleast_2d(coef)).T)

    def used(self, coef: FloatArray) -> BoolArray:
        """Return which resources each node needs, shape (n_resources, n_nodes)."""
        return np.asarray(self.members @ (np.atleast_2d(coef) != 0).T) > 0

    def path_cost(self, tree: ClassifierTree) -> FloatArray:
        """Compute what leaving by each node costs, (8): everything that nodes on its path need, shape (n_nodes,)."""
        return np.asarray(self.prices @ (self.used(tree.coef) @ tree.on_path.T))

    def outcome(self, tree: ClassifierTree, phi: FloatArray) -> Outcome:
        """Send examples through a tree, phi of shape (n_samples, n_weights)."""
        last = tree.route(phi)
        return Outcome(last, tree.answer(phi, last), self.path_cost(tree)[last])
