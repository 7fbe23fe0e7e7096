"""What compiled walks are told of prices and caps, how they buy, and what a walk is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray, in_rows
from ipforest._internal.kernels import run_in_slices, uncounted_njit
from ipforest._internal.rational import nonnegative_fraction
from ipforest.costs import FeatureCosts, two_units

ROUNDING = 1e-9
"""Share of a budget or cap by which a sum of prices may exceed it: floats round."""


def spending_limit(budget: object | None, name: str = "budget") -> float:
    """Return the largest cost that a budget, or a cap by another name, allows: infinity for None.

    Raises
    ------
    TypeError, ValueError
        The budget is no number, or negative.
    """
    return inf if budget is None else float(nonnegative_fraction(budget, name)) * (1 + ROUNDING)


class Walk(Protocol):
    """Predicts a table in one pass."""

    def __call__(self, table: Array, *, answers: bool = True) -> tuple[FloatArray, Array]:
        """Give outputs (n_samples, n_outputs), and tests (n_samples, n_features) as int32, of float64 examples.

        Where no answers are wanted, the outputs may be anything.
        """


def walked(
    walk: Callable[[Array, FloatArray, Array], None], table: Array, n_outputs: int, n_trees: int
) -> tuple[FloatArray, Array]:
    """Walk all examples of a table, slices of them at once.

    Parameters
    ----------
    walk : callable (rows, outputs, tests)
        Fills in outputs and tests of some rows.
    table : ndarray of float64, shape (n_samples, n_features)
    n_outputs, n_trees : int
    """
    n = table.shape[0]
    outputs, tests = np.empty((n, n_outputs)), np.zeros(table.shape, dtype=np.int32)

    def of_slice(part: slice) -> None:
        walk(in_rows(table[part]), outputs[part], tests[part])

    run_in_slices(of_slice, n, n * n_trees)
    return outputs, tests


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """A walk whose answers are changed afterwards.

    Parameters
    ----------
    walk : Walk
    change : callable (outputs, tests) -> ndarray of float64, shape (n_samples, n_outputs)
    """

    walk: Walk
    change: Callable[[FloatArray, Array], FloatArray]

    def __call__(self, table: Array, *, answers: bool = True) -> tuple[FloatArray, Array]:
        """Walk, and change the answers."""
        outputs, tests = self.walk(table, answers=answers)
        return self.change(outputs, tests) if answers else outputs, tests


class Purse(NamedTuple):
    """What examples may pay, and what comes with what.

    Parameters
    ----------
    free : ndarray of bool, shape (n_features,)
        Features before which no example stops.
    follows : ndarray of int64, shape (n_features,)
        The next feature of the same unit, the first one again after the last.
    first_unit, second_unit : ndarray of int64, shape (n_features,)
        Units that a feature needs; the second is the last unit, which costs nothing, where it needs one.
    unit_cost : ndarray of float64, shape (n_units + 1,)
    limit : float
        The most that an example may pay; infinite without a cap.
    missing_seen : ndarray of bool, shape (n_features,)
        Columns in which what cannot be had counts as missing.
    """

    free: Array
    follows: Array
    first_unit: Array
    second_unit: Array
    unit_cost: Array
    limit: float
    missing_seen: Array

    @property
    def has_limit(self) -> bool:
        """Whether there is a cap."""
        return bool(np.isfinite(self.limit))

    @classmethod
    def of(cls, costs: FeatureCosts, free: BoolArray, max_cost: object | None, missing_seen: BoolArray | None) -> Purse:
        """Take prices as the kernels do.

        Parameters
        ----------
        costs : FeatureCosts
        free : ndarray of bool, shape (n_features,)
        max_cost : number, optional
        missing_seen : ndarray of bool, shape (n_features,), optional
        """
        n, units = costs.n_features, two_units(costs)
        return cls(
            np.ascontiguousarray(free),
            _next_of_unit(units[:, 0]),
            np.ascontiguousarray(units[:, 0], dtype=np.int64),
            np.ascontiguousarray(units[:, 1], dtype=np.int64),
            np.append(costs.float_unit_costs, 0.0),
            spending_limit(max_cost, "max_cost"),
            np.zeros(n, dtype=bool) if missing_seen is None else np.ascontiguousarray(missing_seen),
        )


def _next_of_unit(first_unit: Int32Array) -> IntArray:
    """Return the next feature of the same unit for each feature, the first one after the last."""
    by_unit = np.argsort(first_unit, kind="stable")
    starts = np.flatnonzero(np.diff(first_unit[by_unit], prepend=-1))
    following = np.roll(by_unit, -1)
    following[np.append(starts[1:], by_unit.size) - 1] = by_unit[starts]
    follows = np.empty_like(by_unit)
    follows[by_unit] = following
    return follows


class Example(NamedTuple):
    """What is known of one example, where it stands in each tree, and the sums over the trees.

    Parameters
    ----------
    known, barred : ndarray of bool, shape (n_features,)
    paid : ndarray of bool, shape (n_units,)
    node : ndarray of int64, shape (n_trees,)
    waits : ndarray of int32, shape (n_trees,)
        The feature that a tree waits for; -1 at a leaf.
    counts : ndarray of bool, shape (n_trees,)
        Whether what the node says is part of the answer.
    says, lowest, highest : ndarray of float64, shape (n_trees, n_values)
        What the node says, and what the leaves below it say at least and at most.
    low, high, counted, everything : ndarray of float64, shape (n_margins,)
        Sums of ``lowest`` and ``highest``, and of what the nodes say that count, and all.
    output : ndarray of float64, shape (n_outputs,)
        The answer.
    bounds : ndarray of float64, shape (2, n_outputs)
        Room for calculation.
    """

    known: Array
    barred: Array
    paid: Array
    node: Array
    waits: Array
    counts: Array
    says: Array
    lowest: Array
    highest: Array
    low: Array
    high: Array
    counted: Array
    everything: Array
    output: Array
    bounds: Array


@uncounted_njit
def buy(purse: Purse, feature: int, example: Example) -> None:
    """Make the features of a unit known, and give up what can no longer be paid."""
    example.paid[purse.first_unit[feature]] = True
    example.paid[purse.second_unit[feature]] = True
    member = feature
    while True:
        example.known[member], example.barred[member] = True, False
        member = purse.follows[member]
        if member == feature:
            break
    give_up(purse, example)


@uncounted_njit
def give_up(purse: Purse, example: Example) -> None:
    """Withhold the features that would take an example above its cap."""
    if np.isinf(purse.limit):
        return
    spent = 0.0
    for unit in range(example.paid.size):
        if example.paid[unit]:
            spent += purse.unit_cost[unit]
    for feature in range(purse.first_unit.size):
        if example.known[feature] or example.barred[feature]:
            continue
        price = 0.0
        for unit in (purse.first_unit[feature], purse.second_unit[feature]):
            if not example.paid[unit]:
                price += purse.unit_cost[unit]
        if spent + price > purse.limit:
            example.barred[feature], example.known[feature] = True, purse.missing_seen[feature]
