"""What has been bought for each example while an ensemble grows, and so what a split would cost."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import BoolArray, FloatArray, Int32Array, held
from ipforest._internal.kernels import uncounted_njit
from ipforest.costs import FeatureCosts
from ipforest.ensemble.first_uses import first_needs, mark_needs
from ipforest.ensemble.trees import Trees

UNSHARED, EACH_EXAMPLE, ALL_EXAMPLES = range(3)
AT_EACH_NODE, ONCE_PER_PATH, ONCE_PER_TREE = range(3)

Charge: TypeAlias = Literal["path", "tree", "node"]
CHARGES: dict[str, int] = {"path": ONCE_PER_PATH, "tree": ONCE_PER_TREE, "node": AT_EACH_NODE}
"""How often a tree pays for a unit that is not bought yet."""


class AcquisitionArrays(NamedTuple):
    """What the kernels read of an `AcquisitionState`."""

    sharing: int
    charge: int
    unit_costs: FloatArray
    unit_indptr: Int32Array
    unit_indices: Int32Array
    bought: BoolArray


class AcquisitionState:
    """Which units have been bought for which examples.

    A split on a feature costs, for each example at the node, the units that the feature needs and the example has not
    bought: in a tree before (`record`), or in this tree, where `charge` says what counts.

    Make it by `per_tree` (each tree buys anew), `per_example` (an example keeps what it has bought in any tree) or
    `per_ensemble` (a unit is paid for once and then free for all examples).

    Parameters
    ----------
    costs : FeatureCosts
    sharing : int
        `UNSHARED`, `EACH_EXAMPLE` or `ALL_EXAMPLES`.
    n_owners : int
        Rows of `bought`.
    charge : {"path", "tree", "node"}
        A unit is free in the tree that buys it: below the test that buys it; at every node that is examined later, in
        the order of the nodes' numbers; or nowhere.

    Attributes
    ----------
    bought : ndarray of bool, shape (n_owners, n_units)
    """

    __slots__ = ("_unit_costs", "bought", "charge", "costs", "sharing")

    def __init__(self, costs: FeatureCosts, sharing: int, n_owners: int, charge: Charge = "path") -> None:
        self.costs = costs
        self._unit_costs = costs.float_unit_costs
        self.sharing = sharing
        self.charge = charge
        self.bought = np.zeros((n_owners, costs.n_units), dtype=np.bool_)

    @classmethod
    def per_tree(cls, costs: FeatureCosts, *, free_on_path: bool = True) -> Self:
        """Let each tree buy anew; without `free_on_path` even each test (BudgetRF's risk as printed)."""
        return cls(costs, UNSHARED, 0, "path" if free_on_path else "node")

    @classmethod
    def per_example(cls, costs: FeatureCosts, n_examples: int) -> Self:
        """Let each training example keep what it has bought in any tree."""
        return cls(costs, EACH_EXAMPLE, n_examples)

    @classmethod
    def per_ensemble(cls, costs: FeatureCosts, *, charge: Charge = "path") -> Self:
        """Let a unit be paid for in one tree and be free for all examples in later trees (GreedyMiser)."""
        return cls(costs, ALL_EXAMPLES, 1, charge)

    @property
    def arrays(self) -> AcquisitionArrays:
        """What the kernels read; a later purchase does not show in it."""
        arrays = AcquisitionArrays(
            self.sharing,
            CHARGES[self.charge],
            self._unit_costs,
            self.costs.unit_indptr,
            self.costs.unit_indices,
            self.bought,
        )
        return held(arrays)

    def record(self, usage: npt.ArrayLike) -> None:
        """Buy what the examples have used.

        Parameters
        ----------
        usage : array of bool or counts, shape (n_samples, n_features)
            Nonzero where the example, in the order of the training examples, tests the feature.
        """
        if self.sharing == UNSHARED:
            return
        used = np.asarray(usage) != 0
        if self.sharing == ALL_EXAMPLES:
            used = used.any(axis=0, keepdims=True)
        for feature in np.flatnonzero(used.any(axis=0)):
            units = self.costs.unit_indices[self.costs.unit_indptr[feature] : self.costs.unit_indptr[feature + 1]]
            self.bought[:, units] |= used[:, feature, None]

    def record_trees(self, trees: Trees, leaves: Int32Array) -> None:
        """Buy what examples need in all trees, each for itself.

        Parameters
        ----------
        trees : Trees
        leaves : ndarray of int32, shape (n_trees, n_samples)
            Where the training examples, in their order, end.

        Raises
        ------
        ValueError
            Purchases are not each example's own.
        """
        if self.sharing != EACH_EXAMPLE:
            raise ValueError("state: expected one in which each example buys for itself, got another")
        needs = first_needs(trees.parent, trees.feature, self.costs.unit_indptr, self.costs.unit_indices)
        mark_needs(needs, leaves, self.bought.view(np.uint8))


@uncounted_njit
def mark_free(
    node: int, parent: Int32Array, feature: Int32Array, acquisition: AcquisitionArrays, free: BoolArray
) -> None:
    """Mark the units that the tree pays nothing for at a node; those of a whole tree are marked as it buys them."""
    if acquisition.charge == ONCE_PER_TREE:
        return
    free[:] = False
    if acquisition.charge == AT_EACH_NODE:
        return
    above = parent[node]
    while above >= 0:
        mark_units(feature[above], acquisition, free)
        above = parent[above]


@uncounted_njit
def mark_units(feature: int, acquisition: AcquisitionArrays, free: BoolArray) -> None:
    """Mark the units that a feature needs."""
    for place in range(acquisition.unit_indptr[feature], acquisition.unit_indptr[feature + 1]):
        free[acquisition.unit_indices[place]] = True


@uncounted_njit
def sum_unbought(acquisition: AcquisitionArrays, rows: Int32Array, weights: FloatArray, unbought: FloatArray) -> None:
    """Sum the weights of the examples of a node that have not bought each unit, where each buys for itself."""
    unbought[:] = 0.0
    for j in range(rows.size):
        owned = acquisition.bought[rows[j]]
        for unit in range(unbought.size):
            unbought[unit] += weights[j] * (not owned[unit])


@uncounted_njit
def price_features(
    acquisition: AcquisitionArrays,
    free: BoolArray,
    unbought: FloatArray,
    total_weight: float,
    unit_prices: FloatArray,
    prices: FloatArray,
) -> None:
    """Compute what a test of each feature costs the examples of a node together.

    A unit that is bought for all examples together is paid once, whatever the number of examples.

    Parameters
    ----------
    acquisition : AcquisitionArrays
    free : ndarray of bool, shape (n_units,)
    unbought : ndarray of float64, shape (n_units,)
        From `sum_unbought`; anything where examples do not buy for themselves.
    total_weight : float
    unit_prices : ndarray of float64, shape (n_units,)
        Scratch.
    prices : ndarray of float64, shape (n_features,)
        Written.
    """
    sharing = acquisition.sharing
    for unit in range(unit_prices.size):
        if free[unit]:
            unit_prices[unit] = 0.0
        elif sharing == UNSHARED:
            unit_prices[unit] = acquisition.unit_costs[unit] * total_weight
        elif sharing == ALL_EXAMPLES:
            unit_prices[unit] = 0.0 if acquisition.bought[0, unit] else acquisition.unit_costs[unit]
        else:
            unit_prices[unit] = unbought[unit] * acquisition.unit_costs[unit]
    for feature in range(prices.size):
        total = 0.0
        for place in range(acquisition.unit_indptr[feature], acquisition.unit_indptr[feature + 1]):
            total += unit_prices[acquisition.unit_indices[place]]
        prices[feature] = total
