"""What examples have paid for, and what anything else would cost them."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.costs import FeatureCosts, two_units

__all__ = ["PaidUnits"]


class PaidUnits:
    """The units that examples have paid for, and what others cost.

    Parameters
    ----------
    costs : FeatureCosts
    n_samples : int
    limit : float
        What each example may pay at most.

    Attributes
    ----------
    paid : ndarray of bool, shape (n_samples, n_units + 1)
        The last one is free: the second unit of a feature that needs one.
    """

    def __init__(self, costs: FeatureCosts, n_samples: int, limit: float) -> None:
        self.limit = limit
        self.paid = np.zeros((n_samples, costs.n_units + 1), dtype=bool)
        self.paid[:, -1] = True
        self._cost, self._units_of = np.append(costs.float_unit_costs, 0.0), two_units(costs)

    def pay(self, rows: IntArray, features: Array) -> None:
        """Note that each of these examples has paid for its feature."""
        self.paid[rows[:, None], self._units_of[features]] = True

    def price(self, rows: IntArray, features: Array) -> FloatArray:
        """Compute what each of these examples would pay for its feature, shape (n_rows,)."""
        units = self._units_of[features]
        price: FloatArray = np.where(self.paid[rows[:, None], units], 0.0, self._cost[units]).sum(axis=1)
        return price

    def price_together(self, rows: IntArray, asked: BoolArray) -> FloatArray:
        """Compute what each of these examples would pay for several features, marked (n_rows, n_features)."""
        place, feature = np.nonzero(asked)
        needed = np.zeros((rows.size, self._cost.size), dtype=bool)
        needed[place[:, None], self._units_of[feature]] = True
        price: FloatArray = (needed & ~self.paid[rows]) @ self._cost
        return price

    def fee(self, row: int, feature: int) -> float:
        """Return the fee of its group in what an example would pay for a feature."""
        group = self._units_of[feature, 1]
        return 0.0 if self.paid[row, group] else float(self._cost[group])

    def beyond(self, rows: IntArray) -> tuple[IntArray, BoolArray]:
        """Find the examples that could pass their limit, and mark the features that would, (n_found, n_features).

        What an example pays is a monotone function of the units it has bought, so what does not fit now never will.
        """
        spent = self._spent(rows)
        tight = spent + self._cost[self._units_of].sum(axis=1).max() > self.limit
        rows, spent = rows[tight], spent[tight]
        left = np.where(self.paid[rows], 0.0, self._cost)
        price = left[:, self._units_of[:, 0]] + left[:, self._units_of[:, 1]]
        return rows, spent[:, None] + price > self.limit

    def first_beyond(self, rows: IntArray, asked: BoolArray, first: Array, order: IntArray) -> IntArray:
        """Find the feature by which each of these examples would pass its limit, -1 where all fit.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_rows,)
        asked : ndarray of bool, shape (n_rows, n_features)
            What each would buy.
        first : ndarray of int, shape (n_rows,)
            The feature that each would buy first.
        order : ndarray of int64, shape (n_features,)
            In which the others follow.
        """
        spent, has, everyone = self._spent(rows), self.paid[rows], np.arange(rows.size)
        is_open, beyond = np.ones(rows.size, dtype=bool), np.full(rows.size, -1)
        for turn, column in enumerate([first, *(np.full(rows.size, feature) for feature in order.tolist())]):
            asks = is_open & asked[everyone, column] & ((column != first) | (turn == 0))
            places, units = everyone[asks], self._units_of[column[asks]]
            spent[places] += np.where(has[places[:, None], units], 0.0, self._cost[units]).sum(axis=1)
            has[places[:, None], units] = True
            over = places[spent[places] > self.limit]
            beyond[over], is_open[over] = column[over], False
        return beyond

    def _spent(self, rows: IntArray) -> FloatArray:
        spent: FloatArray = self.paid[rows] @ self._cost
        return spent
