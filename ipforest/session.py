"""Features bought one at a time, or round by round where their values are delayed: sessions for one example or many.

A model says what it wants to know next. A feature that is not delayed is wanted by itself, as its value can decide what
is wanted then. With a delayed one all is ordered that may be wanted before the model can decide with new results: that
is a round, and it ends when its results are in.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import reprlib
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.feature_names import column_of
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.records import json_object
from ipforest._internal.words import any_of, number_of, some_of
from ipforest.choosing.class_costs import label_places
from ipforest.choosing.frontier import spending_limit
from ipforest.costs import FeatureCosts, require_no_split_cost, two_units
from ipforest.policy import ANSWERS, Policy, Progress, Rows, Test, ordered_together
from ipforest.walks import Purse

MAX_FLOAT = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Unit:
    """What is bought at once: a feature, or the features of a group that cost nothing in addition to its fee.

    Parameters
    ----------
    index : int
        Number among the units of `FeatureCosts`.
    name : str
    features : tuple of int
        Columns of X that it brings.
    """

    index: int
    name: str
    features: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


Fetch: TypeAlias = Callable[[Unit, Rows], npt.ArrayLike]
AsyncFetch: TypeAlias = Callable[[Unit, Rows], Awaitable[npt.ArrayLike]]
Known: TypeAlias = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A unit that some examples want next.

    Parameters
    ----------
    unit : Unit
    rows : ndarray of int64
    """

    unit: Unit
    rows: Rows


@dataclass(frozen=True, slots=True)
class Purchase:
    """One line of a session's ledger.

    Parameters
    ----------
    unit : str
    price : float
        What it cost, a group's fee included where it was the first of its group; 0 where nothing was charged.
    values : tuple of (str, float or None)
        What it brought, by feature; None for a value that could not be had.
    reason : str
        Why the model wanted it.
    charged : bool
        Whether it had to be paid; not where it could not be had.
    round : int
        The number of the round in which it was ordered, 1 before the first results are waited for.
    in_vain : bool
        Whether it was paid, but nothing of it was looked at; known when the session has ended.
    """

    unit: str
    price: float
    values: tuple[tuple[str, float | None], ...]
    reason: str
    charged: bool = True
    round: int = 1
    in_vain: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Seller:
    """What sessions need in addition to the policy: prices, names and the labels of the answers.

    Parameters
    ----------
    costs : FeatureCosts
    split_cost : float
        What one test costs.
    classes : ndarray or None
        None for regression.
    feature_names : tuple of str
    allow_missing : bool
        Whether the model takes values that cannot be had.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
        What predicting class j costs where i is true; the class of least expected cost is the label.
    missing_seen : ndarray of bool, shape (n_features,), optional
        The columns in which training had missing values, so that the model knows what they tell; by default none.
    categories : mapping from int to tuple
        Of columns whose values may be told by name: the names of the numbers 0, 1, 2, ...
    whole : tuple of int
        Columns of categories in which a number with a fraction is missing.
    left_out : ndarray of int64
        Columns for which no unit is bought, as no model can use them.
    decision : callable (outputs) -> ndarray of int64, shape (n_samples,), optional
        Numbers the classes that are predicted from class probabilities, in place of the likeliest or cheapest ones.
    """

    costs: FeatureCosts
    split_cost: float
    classes: Array | None
    feature_names: tuple[str, ...]
    allow_missing: bool
    class_costs: FloatArray | None = None
    missing_seen: BoolArray | None = None
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    whole: tuple[int, ...] = ()
    left_out: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    decision: Callable[[FloatArray], IntArray] | None = None

    def number(self, column: int, value: Any) -> float:
        """Read a value: a number, a category or its text, or None or an unknown category for one that cannot be had.

        Raises
        ------
        ValueError
            It is no number, in a column of numbers.
        """
        if np.ndim(value) == 0 and pd.isna(value):
            return float("nan")
        if column not in self.categories:
            number = number_of(value, self.feature_names[column])
            return float("nan") if column in self.whole and number % 1 > 0 else number
        names = self.categories[column]
        if value in names:
            return float(names.index(value))
        texts = [*map(str, names)]
        return float(texts.index(str(value))) if str(value) in texts else float("nan")

    def listed_number(self, column: int, value: Any) -> float:
        """Read a value as `number` does, but refuse words that training has not seen.

        Raises
        ------
        ValueError
            It is neither a number nor a known category.
        """
        number = self.number(column, value)
        if np.isnan(number) and not pd.isna(value):
            number_told = "a whole number" if column in self.whole else "a number"
            known = f"one of {some_of(self.categories[column])}" if column in self.categories else number_told
            raise ValueError(
                f"{self.feature_names[column]}: expected {known}, None for a value that cannot be had, or NaN for one "
                f"that is missing, got {value!r}"
            )
        return number

    def in_words(self, test: Test) -> str:
        """Say what a test asks: whether a category is one of some, whether a one-hot column is set, or a comparison.

        A column of numbers whose name is like ``column=word``, as scikit-learn's ``DictVectorizer`` names them, is
        taken to be the one-hot column of a word.
        """
        if test.categories is not None:
            return self._category_in_words(test.feature, test.categories)
        one_hot = self.one_hot(test.feature)
        if one_hot is not None and 0 < test.threshold < 1:
            return f"asks whether {one_hot[0]} is {one_hot[1] or 'missing'}"
        return f"compares it with {test.threshold:.6g}"

    def one_hot(self, feature: int) -> tuple[str, str] | None:
        """Read the name of a one-hot column, ``column=word``; None for another name."""
        column, equals, word = self.feature_names[feature].partition("=")
        return (column, word) if equals and column else None

    def _category_in_words(self, feature: int, chosen: Sequence[int]) -> str:
        """Name the categories that go left, or the others where these are fewer."""
        names = self.categories.get(feature)
        if names is None:
            return f"asks whether it is {any_of(map(str, chosen))}"
        inside = [str(name) for number, name in enumerate(names) if number in chosen]
        outside = [str(name) for number, name in enumerate(names) if number not in chosen]
        return f"asks whether it is {any_of(inside) if len(inside) <= len(outside) else f'not {any_of(outside)}'}"

    def named(self, column: int, number: Any) -> Any:
        """Give the category that has a number; other values as they are.

        Raises
        ------
        ValueError
            The column is one of named categories, but none has this number.
        """
        if column not in self.categories or not isinstance(number, (int, float)) or np.isnan(number):
            return number
        names = self.categories[column]
        if number not in range(len(names)):
            raise ValueError(
                f"{self.feature_names[column]}: expected the number of a category 0..{len(names) - 1}, got {number}"
            )
        return names[int(number)]

    def numbers(self, columns: Sequence[int], values: npt.ArrayLike) -> npt.ArrayLike:
        """Read the values of some columns, the last axis; without categories they stay as they are."""
        if set(columns).isdisjoint((*self.categories, *self.whole)):
            return values
        told = np.asarray(values)
        cells = told.reshape(-1, len(columns))
        read = [
            [self.number(column, cell) for column, cell in zip(columns, row, strict=True)] for row in cells.tolist()
        ]
        return np.reshape(read, told.shape)

    def column(self, feature: Any) -> int:
        """Find the column of a feature given by name or number.

        Raises
        ------
        ValueError
            There is no such feature.
        """
        column = column_of(feature, self.feature_names, self.costs.n_features)
        if column is not None:
            return column
        close = get_close_matches(str(feature), self.feature_names, 1)
        raise ValueError(
            f"feature: expected the name of a feature or a column 0..{self.costs.n_features - 1}, got {feature!r}"
            + (f"; do you mean {close[0]!r}?" if close else "")
        )

    def without_constant(self, X: Array) -> Seller:
        """Leave out the columns that are the same, or missing, in all examples, shape (n_samples, n_features)."""
        same = np.equal(X, X[:1]) | (np.isnan(X) & np.isnan(X[:1]))
        return replace(self, left_out=np.flatnonzero(same.all(axis=0)))

    def units(self) -> tuple[Unit, ...]:
        """List what the units bring, by number; a group whose features all have prices brings nothing."""
        brings: list[list[int]] = [[] for _ in range(self.costs.n_units)]
        first_unit = self.first_unit.tolist()
        for feature in np.setdiff1d(np.arange(self.costs.n_features), self.left_out).tolist():
            brings[first_unit[feature]].append(feature)
        n_own = self.costs.n_units - len(self.costs.group_fees)
        names = [*([""] * n_own), *(f"group {group}" for group in range(len(self.costs.group_fees)))]
        for feature, unit in reversed([*enumerate(first_unit)]):
            if unit < n_own:
                names[unit] = self.feature_names[feature]
        return tuple(Unit(index, names[index], tuple(features)) for index, features in enumerate(brings))

    @property
    def first_unit(self) -> Int32Array:
        """The unit that brings each feature, shape (n_features,): its own, or its group."""
        return self.costs.first_unit

    @property
    def free_features(self) -> BoolArray:
        """Mark the features that cost nothing, not even as the first of their group, shape (n_features,)."""
        unit_cost = np.append(self.costs.float_unit_costs, 0.0)
        free: BoolArray = unit_cost[two_units(self.costs)].sum(axis=1) == 0
        return free

    def purse(self, max_cost: object | None) -> Purse:
        """Take prices and the cap as compiled walks do."""
        return Purse.of(self.costs, self.free_features, max_cost, self.missing_seen)

    def free_units(self) -> tuple[Unit, ...]:
        """List the units whose features cost nothing."""
        free = self.free_features
        return tuple(unit for unit in self.units() if unit.features and free[list(unit.features)].all())

    def paid_units(self) -> tuple[Unit, ...]:
        """List the units that bring features for money."""
        free = self.free_features
        return tuple(unit for unit in self.units() if unit.features and not free[list(unit.features)].all())

    def price_after(self, unit: Unit, bought: Sequence[Unit]) -> float:
        """Compute what a unit costs an example that has bought others: its own price, and the fee of a new group."""
        without, with_it = np.zeros((2, 1, self.costs.n_features), dtype=bool)
        without[0, [feature for one in bought for feature in one.features]] = True
        with_it[0] = without[0]
        with_it[0, list(unit.features)] = True
        return float(self.costs.cost_of(with_it)[0] - self.costs.cost_of(without)[0])

    def needs(self, units: Sequence[Unit]) -> BoolArray:
        """Mark what is paid for each unit, itself and the fee of its group, shape (n_given, n_units)."""
        needed = np.zeros((len(units), self.costs.n_units), dtype=bool)
        for row, unit in zip(needed, units, strict=True):
            for feature in unit.features:
                row[self.costs.units_of(feature)] = True
        return needed

    def paid_for(self, bought: BoolArray, tests: Int32Array) -> FloatArray:
        """Compute what examples pay for features and tests, both of shape (n_samples, n_features)."""
        spent: FloatArray = self.costs.cost_of(bought)
        if self.split_cost:
            spent += self.split_cost * tests.sum(axis=1)
        return spent

    def labels(self, outputs: FloatArray) -> Array:
        """Turn what a policy answers into predictions."""
        if self.classes is None:
            return outputs[:, 0]
        if self.decision is not None:
            return np.asarray(self.classes[self.decision(outputs)])
        return np.asarray(self.classes[label_places(outputs, self.class_costs)])


class Sessions:
    """Sessions of many examples at once: see what is wanted by `requests`, buy it, `tell` it, until nothing is wanted.

    Made by `ipforest.estimator.BudgetedEstimator.sessions`.

    Parameters
    ----------
    policy : Policy
    seller : Seller
    n_samples : int
    known : mapping, optional
        Values that are free, shape (n_samples,) or one for all, by the feature's name or column.
    max_cost : number, optional
        What each example may pay at most. What would pass it counts as a value that cannot be had.
    max_rounds : int, optional
        How often to wait for delayed values at most; afterwards they count as values that cannot be had.

    Notes
    -----
    Where training had missing values in a column, one that cannot be had is missing there. Elsewhere trees that ask
    for it stay where they stand, and the others go on; models that are no trees in order take it as missing, or, where
    they take no missing values, answer from what they know.
    """

    def __init__(
        self,
        policy: Policy,
        seller: Seller,
        n_samples: int,
        known: Known | None = None,
        max_cost: object | None = None,
        max_rounds: int | None = None,
    ) -> None:
        costs = seller.costs
        require_no_split_cost(costs, seller.split_cost)
        self._policy, self._seller, self._units = policy, seller, seller.units()
        self._first_unit = seller.first_unit
        if max_cost is not None and seller.split_cost:
            raise ValueError(f"max_cost: expected none with a split cost, got {max_cost!r}")
        self._limit = spending_limit(max_cost, "max_cost")
        self._paid_units = np.zeros((n_samples, costs.n_units + 1), dtype=bool)
        self._paid_units[:, -1] = True
        self._unit_cost = np.append(costs.float_unit_costs, 0.0)
        self._units_of = two_units(costs)
        delayed = costs.delayed_features
        most = _checked_rounds(max_rounds)
        self._rounds = _Rounds.start(delayed, n_samples, most) if delayed.any() else None
        self._progress = Progress.start(policy, n_samples, costs.n_features, delayed if delayed.any() else None)
        self._wanted = np.full(n_samples, ANSWERS, dtype=np.int32)
        self._unpaid, self._lost = np.zeros((2, n_samples, costs.n_features), dtype=bool)
        no_column = np.zeros(costs.n_features, dtype=bool)
        self._missing_seen = no_column if seller.missing_seen is None else seller.missing_seen
        for feature, values in _told(known):
            column = seller.column(feature)
            self._take_known(column, values)
        if self._progress.given is not None:
            self._progress.given[:] = self._progress.known
        self._advance(np.arange(n_samples))

    def _take_known(self, column: int, values: Any) -> None:
        """Take a column that is free, of all examples."""
        told, absent = _without_absent(values)
        name = self._seller.feature_names[column]
        block = self._checked(
            self._seller.numbers([column], told), (self.n_samples,), name, one_for_all=True, absent=absent
        )
        self._progress.values[:, column] = block
        self._progress.known[:, column] = ~absent
        self._unpaid[:, column] = True
        rows = np.flatnonzero(np.broadcast_to(absent, self.n_samples))
        self._withhold(rows, np.full(rows.size, column))

    @property
    def wanted(self) -> Int32Array:
        """The feature that each example wants next, -1 where the model answers, shape (n_samples,)."""
        return self._wanted.copy()

    @property
    def paid(self) -> FloatArray:
        """What each example has paid, shape (n_samples,)."""
        return self._seller.paid_for(self.bought, self._progress.tests)

    @property
    def tests(self) -> Int32Array:
        """How often each example's features were tested, shape (n_samples, n_features); 0 for what cannot be had."""
        withheld = self._progress.barred & self._unpaid
        return np.where(withheld, np.int32(0), self._progress.tests)

    @property
    def bought(self) -> BoolArray:
        """The features that each example has paid for, shape (n_samples, n_features)."""
        had = self._progress.tests > 0
        if self._rounds is not None:
            had |= self._rounds.ordered
        return (had & ~self._unpaid) | self._lost

    @property
    def rounds(self) -> Int32Array:
        """How often each example has ordered delayed values so far, shape (n_samples,)."""
        return np.zeros(self.n_samples, dtype=np.int32) if self._rounds is None else self._rounds.number.copy()

    @property
    def waits(self) -> BoolArray:
        """Whether each example is in a round, whose results come before the next one only, shape (n_samples,)."""
        if self._rounds is None:
            return np.zeros(self.n_samples, dtype=bool)
        return np.asarray(self._waiting(np.arange(self.n_samples)).any(axis=1))

    @property
    def outputs(self) -> FloatArray:
        """Class probabilities, or targets as a column, from what is known so far, shape (n_samples, n_outputs)."""
        return self._policy.answer(self._progress, np.arange(self.n_samples))

    @property
    def progress(self) -> Progress:
        """What is known about the examples, and where the policy stands with them."""
        return self._progress

    @property
    def units_paid(self) -> BoolArray:
        """The units that each example has paid for, shape (n_samples, n_units)."""
        return self._paid_units[:, :-1].copy()

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return self._wanted.size

    def labels(self, outputs: FloatArray) -> Array:
        """Turn `outputs` into predictions, shape (n_samples,)."""
        return self._seller.labels(outputs)

    def requests(self, among: BoolArray | None = None) -> list[Request]:
        """Say what to buy now: each unit that is wanted, with the examples that want it.

        An example that waits for delayed values is in as many requests as its round has units.

        Parameters
        ----------
        among : ndarray of bool, shape (n_samples,), optional
            Pass over the other examples.

        Returns
        -------
        list of Request
            Empty when the model answers for all.
        """
        rows = np.flatnonzero(self._wanted != ANSWERS if among is None else among & (self._wanted != ANSWERS))
        if self._rounds is not None:
            return self._requests_in_rounds(rows)
        units = self._first_unit[self._wanted[rows]]
        order = np.argsort(units, kind="stable")
        starts = np.flatnonzero(np.diff(units[order], prepend=-1))
        return [Request(self._units[units[part[0]]], rows[part]) for part in np.split(order, starts[1:]) if part.size]

    def _requests_in_rounds(self, rows: Rows) -> list[Request]:
        place, feature = np.nonzero(self._asked(rows))
        asked = np.zeros((len(self._units), rows.size), dtype=bool)
        asked[self._first_unit[feature], place] = True
        return [Request(self._units[unit], rows[asked[unit]]) for unit in np.flatnonzero(asked.any(axis=1)).tolist()]

    def _asked(self, rows: Rows) -> BoolArray:
        """Mark what examples want now: the features of their round that are not told, or the wanted one."""
        asked = self._waiting(rows)
        alone = np.flatnonzero(~asked.any(axis=1) & (self._wanted[rows] != ANSWERS))
        asked[alone, self._wanted[rows[alone]]] = True
        return asked

    def _waiting(self, rows: Rows) -> BoolArray:
        """Mark the features of the rounds of examples whose values are not told."""
        if self._rounds is None:
            return np.zeros((rows.size, self._first_unit.size), dtype=bool)
        settled = self._progress.known[rows] | self._progress.barred[rows]
        waiting: BoolArray = self._rounds.together[rows] & ~settled
        return waiting

    def price(self, rows: Rows) -> FloatArray:
        """Compute what each of these examples pays for what it wants next: a unit of its own, its group's fee, or both.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
            0 where nothing is wanted.
        """
        units = np.where(
            (self._wanted[rows] == ANSWERS)[:, None], self._unit_cost.size - 1, self._units_of[self._wanted[rows]]
        )
        price: FloatArray = np.where(self._paid_units[rows[:, None], units], 0.0, self._unit_cost[units]).sum(axis=1)
        return price

    def price_of(self, unit: Unit, row: int) -> float:
        """Compute what an example pays for a unit that it wants, a group's fee included if it is the first."""
        units = self._units_of[unit.features[0]]
        return float(np.where(self._paid_units[row, units], 0.0, self._unit_cost[units]).sum())

    def price_together(self, rows: Rows) -> FloatArray:
        """Compute what examples pay for all that they want now, shape (n_rows,)."""
        if self._rounds is None:
            return self.price(rows)
        place, feature = np.nonzero(self._asked(rows))
        needed = np.zeros((rows.size, self._unit_cost.size), dtype=bool)
        needed[place[:, None], self._units_of[feature]] = True
        price: FloatArray = (needed & ~self._paid_units[rows]) @ self._unit_cost
        return price

    def fee(self, row: int) -> float:
        """Return the fee in the price of what an example wants next, which the first feature of a group pays."""
        group = self._units_of[self._wanted[row], 1]
        wants_none = self._wanted[row] == ANSWERS
        return 0.0 if wants_none or self._paid_units[row, group] else float(self._unit_cost[group])

    def tell(
        self, unit: Unit, rows: npt.ArrayLike, values: npt.ArrayLike, charged: bool | BoolArray | None = None
    ) -> None:
        """Give the values of a unit that these examples want, and let the model move on.

        Parameters
        ----------
        unit : Unit
        rows : array of int, shape (n_rows,)
        values : array of numbers, shape (n_rows,) or (n_rows, n_features_of_the_unit)
            None, or a masked entry of a `numpy.ma.MaskedArray`, for a value that could not be had; NaN for one that
            was bought but is missing, as in a table.
        charged : bool, or ndarray of bool, shape (n_rows,), optional
            Whether the unit is paid. By default it is, unless none of its values could be had.

        Raises
        ------
        ValueError
            Another shape, None for all rows, one number for several, infinite values, missing ones where the model
            takes none, or rows that want another unit.
        """
        shape = np.size(rows), len(unit.features)
        told, absent = self._block(unit, shape, values)
        had = ~absent.all(axis=1) if charged is None else charged
        pays: BoolArray = np.broadcast_to(np.asarray(had, dtype=bool), shape[:1])
        self.tell_numbers(unit, rows, self._seller.numbers(unit.features, told), absent, pays)

    def _block(self, unit: Unit, shape: tuple[int, int], values: npt.ArrayLike) -> tuple[Array, BoolArray]:
        """Read what was told of a unit, and what of it could not be had."""
        try:
            told, absent = _without_absent(values)
        except ValueError:
            raise ValueError(self._wrong_shape(unit, shape, "rows of different lengths")) from None
        if told.shape != shape and (shape[1] != 1 or told.shape != shape[:1]):
            if inspect.isawaitable(values):
                got = "a coroutine, which predict_on_demand_async awaits"
            elif told.ndim == 0:
                got = "None (a fetch without return?)" if values is None else repr(values)
            else:
                got = f"shape {told.shape}"
            raise ValueError(self._wrong_shape(unit, shape, got))
        return told.reshape(shape), absent.reshape(shape)

    @staticmethod
    def _wrong_shape(unit: Unit, shape: tuple[int, int], got: str) -> str:
        vector = f" or ({shape[0]},)" if shape[1] == 1 else ""
        return f"{unit}: expected values of shape {shape}{vector}, a row for each of the examples, got {got}"

    def tell_numbers(
        self, unit: Unit, rows: npt.ArrayLike, values: npt.ArrayLike, absent: BoolArray, charged: BoolArray
    ) -> None:
        """Give values as `tell` takes them, but categories by their numbers.

        Parameters
        ----------
        unit : Unit
        rows : array of int, shape (n_rows,)
        values : array of numbers, shape (n_rows, n_features_of_the_unit)
        absent : ndarray of bool, shape (n_rows, n_features_of_the_unit)
            Values that could not be had.
        charged : ndarray of bool, shape (n_rows,)
        """
        told = np.asarray(rows, dtype=np.int64)
        stray = ~self._want(unit, told)
        if stray.any():
            raise ValueError(f"rows: expected examples that want {unit}, got {told[stray][0]}, which does not")
        block = self._checked(values, absent.shape, unit.name, absent=absent)
        features = np.array(unit.features)
        if self._rounds is not None:
            self._rounds.ordered[np.ix_(told, features)] |= self._asked(told)[:, features]
        self._unpaid[np.ix_(told[~charged], features)] = True
        self._lost[np.ix_(told, features)] = absent & charged[:, None]
        place, feature = np.nonzero(~absent)
        self._progress.values[told[place], features[feature]] = block[place, feature]
        self._progress.known[told[place], features[feature]] = True
        place, feature = np.nonzero(absent & ~self._progress.known[np.ix_(told, features)])
        self._withhold(told[place], features[feature])
        self._pay(told[charged], features[0])
        self._advance(told if self._rounds is None else self._without_waiting(told))

    def _want(self, unit: Unit, rows: Rows) -> BoolArray:
        """Return whether examples want a unit now."""
        if self._rounds is not None:
            return np.asarray(self._asked(rows)[:, list(unit.features)].any(axis=1))
        wants = self._wanted[rows]
        return np.asarray((wants != ANSWERS) & (self._first_unit[wants] == unit.index))

    def check(self, unit: Unit, numbers: Sequence[float], cells: Sequence[Any]) -> None:
        """Check the values of a unit of one example without telling them.

        Raises
        ------
        ValueError
            As in `tell`.
        """
        absent = np.array([[cell is None for cell in cells]])
        self._checked([numbers], absent.shape, unit.name, absent=absent)

    def _pay(self, rows: Rows, features: Array | np.integer[Any]) -> None:
        self._paid_units[rows[:, None], self._units_of[features]] = True

    def _without_waiting(self, rows: Rows) -> Rows:
        """Let examples want the next unit of their round; return those whose round has ended."""
        waiting = self._waiting(rows)
        in_round = waiting.any(axis=1)
        self._wanted[rows[in_round]] = self._first_of(waiting[in_round])
        return rows[~in_round]

    def _first_of(self, marked: BoolArray) -> IntArray:
        """Return, of the marked features of each row, the one whose unit has the smallest number."""
        by_unit = np.argsort(self._first_unit, kind="stable")
        first: IntArray = by_unit[np.argmax(marked[:, by_unit], axis=1)]
        return first

    def _advance(self, rows: Rows) -> None:
        """Let the policy move on, without what an example may no longer pay or wait for, and begin its next round."""
        if np.isfinite(self._limit):
            self._give_up(rows)
        if self._rounds is None:
            self._move_on(rows)
            return
        late = self._rounds.late(rows) & ~self._progress.known[rows] & ~self._progress.barred[rows]
        self._bar(rows, late)
        self._rounds.together[rows] = False
        self._move_on(rows)
        self._begin_rounds(rows[(self._wanted[rows] != ANSWERS) & self._rounds.delayed[self._wanted[rows]]])

    def _begin_rounds(self, rows: Rows) -> None:
        """Order what may be wanted together with the delayed features that examples want."""
        rounds = self._rounds
        if rounds is None or rows.size == 0:
            return
        rounds.number[rows] += 1
        rounds.decisive[rows] = self._wanted[rows]
        open_rows = rows
        while open_rows.size:
            rounds.together[open_rows] = ordered_together(self._policy, self._progress, open_rows)
            rounds.together[open_rows, rounds.decisive[open_rows]] = True
            open_rows = self._without_what_does_not_fit(open_rows)
        self._wanted[rows] = self._first_of(self._waiting(rows))

    def _without_what_does_not_fit(self, rows: Rows) -> Rows:
        """Withhold the first feature by which the round of an example passes its cap; return such examples.

        The wanted feature comes first; that it fits was seen to by `_give_up`.
        """
        if self._rounds is None or np.isinf(self._limit):
            return rows[:0]
        waiting, spent = self._waiting(rows), self._spent(rows)
        has = self._paid_units[rows]
        open_places, beyond = np.arange(rows.size), np.full(rows.size, -1)
        decisive = self._rounds.decisive[rows]
        for feature in [ANSWERS, *np.argsort(self._first_unit, kind="stable").tolist()]:
            column = decisive[open_places] if feature == ANSWERS else np.full(open_places.size, feature)
            asks = waiting[open_places, column] & ((feature == ANSWERS) | (decisive[open_places] != feature))
            places, column = open_places[asks], column[asks]
            units = self._units_of[column]
            spent[places] += np.where(has[places[:, None], units], 0.0, self._unit_cost[units]).sum(axis=1)
            has[places[:, None], units] = True
            too_much = spent[places] > self._limit
            beyond[places[too_much]] = column[too_much]
            open_places = np.setdiff1d(open_places, places[too_much])
        marked = np.zeros_like(waiting)
        found = np.flatnonzero(beyond >= 0)
        marked[found, beyond[found]] = True
        self._bar(rows, marked)
        return rows[found]

    def _bar(self, rows: Rows, marked: BoolArray) -> None:
        """Withhold marked features, which are not paid then, shape (n_rows, n_features)."""
        place, feature = np.nonzero(marked)
        self._unpaid[rows[place], feature] = True
        self._withhold(rows[place], feature)

    def _move_on(self, rows: Rows) -> None:
        """Let the policy move on; what it wants but cannot have it takes as missing, or it answers."""
        while rows.size:
            self._wanted[rows] = self._policy.advance(self._progress, rows)
            rows = rows[(self._wanted[rows] != ANSWERS) & self._progress.barred[rows, self._wanted[rows]]]
            if not self._seller.allow_missing:
                self._wanted[rows] = ANSWERS
                return
            self._progress.known[rows, self._wanted[rows]] = True

    def _withhold(self, rows: Rows, features: IntArray) -> None:
        """Note that these examples cannot have these features: missing where training knew missing values."""
        self._progress.values[rows, features] = np.nan
        self._progress.barred[rows, features] = True
        self._progress.known[rows, features] = self._missing_seen[features]

    def _spent(self, rows: Rows) -> FloatArray:
        spent: FloatArray = self._paid_units[rows] @ self._unit_cost
        return spent

    def _give_up(self, rows: Rows) -> None:
        """Withhold the features that would take an example above its cap.

        What an example pays is a monotone function of the units it has bought, so what does not fit now never will.
        """
        spent = self._spent(rows)
        tight = spent + self._unit_cost[self._units_of].sum(axis=1).max() > self._limit
        rows, spent = rows[tight], spent[tight]
        left = np.where(self._paid_units[rows], 0.0, self._unit_cost)
        price = left[:, self._units_of[:, 0]] + left[:, self._units_of[:, 1]]
        beyond = (spent[:, None] + price > self._limit) & ~self._progress.known[rows] & ~self._progress.barred[rows]
        self._bar(rows, beyond)

    def _checked(
        self,
        values: npt.ArrayLike,
        shape: tuple[int, ...],
        name: str,
        *,
        one_for_all: bool = False,
        absent: BoolArray | np.bool_ | None = None,
    ) -> Array:
        """Take values in the policy's type, perhaps one for all; NaN stands where they could not be had."""
        try:
            with np.errstate(over="ignore"):
                block = np.asarray(values, dtype=np.float64).astype(self._policy.dtype)
        except (OverflowError, TypeError, ValueError):
            cells = np.asarray(values, dtype=object).ravel().tolist()
            block = np.reshape([number_of(cell, name) for cell in cells], np.shape(values))
        is_one = one_for_all and block.ndim == 0
        if not is_one and block.shape != shape:
            raise ValueError(f"{name}: expected values of shape {shape}, got {block.shape}")
        if np.isinf(block).any():
            raise ValueError(f"{name}: expected finite {block.dtype} values or NaN, got an infinite or too large one")
        missing = np.isnan(block) if absent is None else np.isnan(block) & ~absent
        if not self._seller.allow_missing and missing.any():
            raise ValueError(
                f"{name}: expected a number, or None for a value that cannot be had, got a missing value, which this "
                "model does not take"
            )
        return block

    def table(self, X: Array) -> Array:
        """Take the values of all examples as the policy compares them; see `buy_from`."""
        return self._checked(X, X.shape, "X")

    def see(self, X: Array) -> None:
        """End all sessions with the values of X, shape (n_samples, n_features)."""
        table = self.table(X)
        if self._policy.ignores_unwanted and np.isinf(self._limit):
            at_once = np.ones(table.shape[1], dtype=bool) if self._rounds is None else ~self._rounds.delayed
            np.copyto(self._progress.values, table, where=~self._unpaid & at_once)
            self._progress.known[~self._progress.barred & at_once] = True
            self._advance(np.arange(self.n_samples))
        while (rows := np.flatnonzero(self._wanted != ANSWERS)).size:
            self.buy_from(table, rows)

    def buy_from(self, table: Array, rows: Rows) -> None:
        """Buy from a table what each of these examples wants now, its whole round if it waits for one.

        Parameters
        ----------
        table : ndarray, shape (n_samples, n_features)
            From `table`.
        rows : ndarray of int64
            Examples that want something.
        """
        if self._rounds is not None:
            self._buy_rounds_from(table, rows)
            return
        values, known, wants = self._progress.values, self._progress.known, self._wanted[rows]
        values[rows, wants] = table[rows, wants]
        known[rows, wants] = True
        wanted_units = self._first_unit[wants]
        for unit in np.unique(wanted_units):
            if len(self._units[unit].features) > 1:
                cells = np.ix_(rows[wanted_units == unit], self._units[unit].features)
                values[cells], known[cells] = table[cells], True
        self._pay(rows, wants)
        self._advance(rows)

    def _buy_rounds_from(self, table: Array, rows: Rows) -> None:
        rounds = self._rounds
        if rounds is None:
            return
        bought = rounds.together[rows] & ~self._unpaid[rows] & ~self._progress.barred[rows]
        bought[np.arange(rows.size), self._wanted[rows]] = True
        rounds.ordered[rows] |= bought
        place, feature = np.nonzero(bought)
        self._pay(rows[place], feature)
        for unit in self._units:
            if len(unit.features) > 1:
                bought[:, unit.features] |= bought[:, unit.features].any(axis=1, keepdims=True)
        place, feature = np.nonzero(bought & ~self._unpaid[rows])
        self._progress.values[rows[place], feature] = table[rows[place], feature]
        self._progress.known[rows[place], feature] = True
        self._advance(rows)

    def reason(self, row: int, unit: Unit | None = None) -> str:
        """Say why an example's next feature is wanted, or another unit of its round."""
        if unit is not None and self._rounds is not None and self.waits[row]:
            decisive = int(self._rounds.decisive[row])
            if decisive not in unit.features:
                return f"it may be wanted when the results of {self._units[self._first_unit[decisive]]} are in"
        return self._policy.reason(self._progress, row, self._seller.in_words)


@dataclass(frozen=True, slots=True, eq=False)
class _Rounds:
    """Where examples stand in rounds, each of which orders what may be wanted before its results are in.

    Parameters
    ----------
    delayed : ndarray of bool, shape (n_features,)
    most : int or None
        How many rounds an example may have.
    number : ndarray of int32, shape (n_samples,)
        How many it has had, the one it is in included.
    together : ndarray of bool, shape (n_samples, n_features)
        The features of the round that it is in.
    ordered : ndarray of bool, shape (n_samples, n_features)
        What it has ordered in rounds or one at a time.
    decisive : ndarray of int32, shape (n_samples,)
        The delayed feature for which the policy began the round.
    """

    delayed: BoolArray
    most: int | None
    number: Int32Array
    together: BoolArray
    ordered: BoolArray
    decisive: Int32Array

    @classmethod
    def start(cls, delayed: BoolArray, n_samples: int, most: int | None) -> Self:
        together, ordered = np.zeros((2, n_samples, delayed.size), dtype=bool)
        number, decisive = np.zeros((2, n_samples), dtype=np.int32)
        return cls(delayed, most, number, together, ordered, decisive)

    def late(self, rows: Rows) -> BoolArray:
        """Mark the features for which examples may wait no more, shape (n_rows, n_features)."""
        if self.most is None:
            return np.zeros((rows.size, self.delayed.size), dtype=bool)
        return np.asarray((self.number[rows] >= self.most)[:, None] & self.delayed)


def _checked_rounds(max_rounds: object) -> int | None:
    if max_rounds is not None and (
        isinstance(max_rounds, bool | np.bool_) or not isinstance(max_rounds, int | np.integer) or max_rounds < 0
    ):
        raise ValueError(f"max_rounds: expected None or an integer >= 0, got {max_rounds!r}")
    return None if max_rounds is None else int(max_rounds)


class Session:
    """One example, one unit at a time: buy `next_unit`, `tell` its value, until it is None; then read `answer`.

    Made by `ipforest.estimator.BudgetedEstimator.session`.

    Parameters
    ----------
    policy : Policy
    seller : Seller
    known : mapping, optional
        Values that are free, by the feature's name or column; None or NaN for one that cannot be had.
    max_cost, max_rounds : number and int, optional
        What to pay, and how often to wait for delayed values, at most; see `Sessions`.

    Notes
    -----
    Where values are delayed, `round` lists what to order now, and `tell` takes results of several units at once. Told
    one at a time, the units of a round are `next_unit` one after another.
    """

    def __init__(
        self,
        policy: Policy,
        seller: Seller,
        known: Known | None = None,
        max_cost: object | None = None,
        max_rounds: int | None = None,
    ) -> None:
        self._seller, self._max_cost, self._max_rounds = seller, max_cost, _checked_rounds(max_rounds)
        told = {seller.column(feature): value for feature, value in _told(known)}
        self._known = {
            column: None if value is None else seller.listed_number(column, value) for column, value in told.items()
        }
        self._sessions = Sessions(policy, seller, 1, told, max_cost, max_rounds)
        self._told: list[tuple[float | None, ...]] = []
        self._purchases: list[Purchase] = []

    @property
    def next_unit(self) -> Unit | None:
        """What the model wants to know next; None when it answers."""
        requests = self._sessions.requests()
        return requests[0].unit if requests else None

    def round(self) -> tuple[Unit, ...]:
        """List what to order now: all that may be wanted before the next decision, as far as it was not told yet.

        Returns
        -------
        tuple of Unit
            One, if its value comes at once; none, when the model answers.
        """
        return tuple(request.unit for request in self._sessions.requests())

    @property
    def has_rounds(self) -> bool:
        """Whether values of some features are delayed."""
        return bool(self._seller.costs.delayed.any())

    @property
    def waits(self) -> bool:
        """Whether the values of this round come in the next one only."""
        return bool(self._sessions.waits[0])

    @property
    def round_number(self) -> int:
        """The number of the round: 1 until the first delayed values are in."""
        return int(self._sessions.rounds[0]) + (not self.waits) if self.has_rounds else 1

    @property
    def round_price(self) -> float:
        """What the units of this round cost together."""
        rows = np.zeros(1, dtype=np.int64)
        return float(self._sessions.price_together(rows)[0])

    @property
    def price(self) -> float:
        """What the next unit costs; 0 when nothing is wanted."""
        return float(self._sessions.price(np.zeros(1, dtype=np.int64))[0])

    @property
    def fee(self) -> float:
        """How much of the price is the fee of a group, paid with its first feature."""
        return self._sessions.fee(0)

    @property
    def reason(self) -> str:
        """Why the next unit is wanted.

        Raises
        ------
        ValueError
            Nothing is wanted.
        """
        self._wanted_unit()
        return self._sessions.reason(0)

    def price_of(self, unit: Unit) -> float:
        """Return what a unit of this round costs, the fee of its group included if it is the first."""
        return self._sessions.price_of(unit, 0)

    def reason_of(self, unit: Unit) -> str:
        """Say why a unit of this round is wanted."""
        return self._sessions.reason(0, unit)

    def tell(self, value: Any, charged: bool | None = None) -> None:
        """Give what the next unit brought, or, as a mapping, several units of this round.

        Parameters
        ----------
        value : number, name of a category, None, sequence of these, or mapping from features to these
            None for what could not be had; NaN for what was bought but is missing, as in a table. A unit of several
            features takes one value per feature.
        charged : bool, optional
            Whether the unit is paid. By default it is, unless none of its values could be had.

        Raises
        ------
        ValueError
            Nothing is wanted, the values are for other features, words that training has not seen, no numbers,
            infinite, or missing where the model takes none.
        """
        asked = self.round() or (self._wanted_unit(),)
        parts = told_by_unit(asked, value, self._seller.column)
        told = {unit: self._cells(unit, cells) for unit, cells in parts.items()}
        numbers = {
            unit: [self._seller.listed_number(*pair) for pair in zip(unit.features, cells, strict=True)]
            for unit, cells in told.items()
        }
        for unit, cells in told.items() if len(told) > 1 else ():
            self._sessions.check(unit, numbers[unit], cells)
        for unit, cells in told.items():
            self._tell_unit(unit, cells, numbers[unit], charged)

    def _tell_unit(self, unit: Unit, cells: list[Any], numbers: list[float], charged: bool | None) -> None:
        absent = np.array([[cell is None for cell in cells]])
        is_charged = not absent.all() if charged is None else charged
        names = tuple(self._seller.feature_names[feature] for feature in unit.features)
        price = self._sessions.price_of(unit, 0) if is_charged else 0.0
        reason, number = self._sessions.reason(0, unit), self.round_number
        self._sessions.tell_numbers(unit, [0], [numbers], absent, np.array([is_charged]))
        bought = tuple((name, _plain(number)) for name, number in zip(names, numbers, strict=True))
        self._purchases.append(Purchase(unit.name, price, bought, reason, is_charged, number))
        self._told.append(tuple(None if cell is None else number for cell, number in zip(cells, numbers, strict=True)))

    def _wanted_unit(self) -> Unit:
        unit = self.next_unit
        if unit is None:
            raise ValueError("session: expected a unit that is still wanted, got none; the model answers")
        return unit

    def _cells(self, unit: Unit, value: Any) -> list[Any]:
        """List what was told of a unit's features; None for all of them stands for each."""
        if isinstance(value, Mapping):
            told = {self._seller.column(feature): one for feature, one in value.items()}
            if set(told) != set(unit.features):
                expected = ", ".join(self._seller.feature_names[feature] for feature in unit.features)
                raise ValueError(f"{unit}: expected values of {expected}, got {', '.join(map(str, value))}")
            return [told[feature] for feature in unit.features]
        if value is None:
            return [None] * len(unit.features)
        several = isinstance(value, (list, tuple, np.ndarray, pd.Series)) and np.ndim(value) > 0
        values = list(value) if several else [value]
        if len(values) != len(unit.features):
            raise ValueError(f"{unit}: expected {len(unit.features)} values, got {len(values)}")
        return values

    @property
    def answer(self) -> Any:
        """The prediction, once nothing more is wanted.

        Raises
        ------
        ValueError
            A unit is still wanted; `guess` is the answer so far.
        """
        unit = self.next_unit
        if unit is not None:
            raise ValueError(f"answer: expected a session that has ended, got one that wants {unit}; see guess")
        return self.guess

    @property
    def guess(self) -> Any:
        """The prediction from what is known so far."""
        return self._sessions.labels(self._sessions.outputs)[0]

    @property
    def is_classifier(self) -> bool:
        """Whether the answer is a class."""
        return self._seller.classes is not None

    @property
    def probabilities(self) -> dict[Any, float]:
        """How sure the answer is so far: the probability of each class.

        Raises
        ------
        AttributeError
            The model is for regression.
        """
        if self._seller.classes is None:
            raise AttributeError("probabilities: expected a classifier, got a model for regression")
        return dict(zip(self._seller.classes.tolist(), self._sessions.outputs[0].tolist(), strict=True))

    @property
    def paid(self) -> float:
        """What was paid so far, tests included where they have a price."""
        return float(self._sessions.paid[0])

    @property
    def ledger(self) -> tuple[Purchase, ...]:
        """What was bought so far, in order, and why; once the model answers, also what was ordered in vain."""
        if self.next_unit is not None or not self.has_rounds:
            return tuple(self._purchases)
        tested = self._sessions.tests[0] > 0
        return tuple(
            replace(
                line, in_vain=line.charged and not any(tested[self._seller.column(name)] for name, _ in line.values)
            )
            for line in self._purchases
        )

    def to_json(self) -> str:
        """Write what is known and what was bought, so that `Session.resume` can go on another day."""
        cap = {} if self._max_rounds is None else {"max_rounds": self._max_rounds}
        return json.dumps(
            {
                "known": [[self._seller.feature_names[column], _saved(value)] for column, value in self._known.items()],
                "max_cost": None if self._max_cost is None else str(nonnegative_fraction(self._max_cost, "max_cost")),
                "bought": [
                    [line.unit, [_saved(number) for number in told]]
                    for line, told in zip(self._purchases, self._told, strict=True)
                ],
                "not_charged": [place for place, line in enumerate(self._purchases) if not line.charged],
                **cap,
            },
            indent=2,
        )

    @classmethod
    def resume(cls, policy: Policy, seller: Seller, saved: str) -> Self:
        """Go on with a session that `to_json` wrote: everything is told again.

        Raises
        ------
        ValueError
            The text is no session, a value in it is none that the model takes, or the model wants something else at
            some point: it is another model.
        """
        try:
            record = _SavedSession.read(saved)
            told = {seller.column(feature): number for feature, number in record.known}
            known = {column: seller.named(column, number) for column, number in told.items()}
            session = cls(policy, seller, known, record.max_cost, record.max_rounds)
        except (OverflowError, TypeError, ValueError) as problem:
            raise ValueError(f"saved: expected what Session.to_json wrote, got: {problem}") from None
        for place, (unit, values) in enumerate(record.bought):
            asked = session.round()
            wanted = next((each for each in asked if each.name == unit), None)
            if wanted is None:
                wants = ", ".join(map(str, asked)) or None
                raise ValueError(f"saved: expected a session of this model, which wants {wants} now, got {unit}")
            if len(values) != len(wanted.features):
                raise ValueError(f"saved: expected {len(wanted.features)} values of {wanted}, got {len(values)}")
            cells = {cell[0]: seller.named(*cell) for cell in zip(wanted.features, values, strict=True)}
            session.tell(cells, charged=place not in record.not_charged)
        return session


def told_by_unit(asked: Sequence[Unit], value: Any, column: Callable[[Any], int]) -> dict[Unit, Any]:
    """Part what is told of the units of a round; what is no mapping is told of the first one.

    Parameters
    ----------
    asked : sequence of Unit
    value : mapping from features to values, or anything else
    column : callable
        Finds the column of a feature.

    Raises
    ------
    ValueError
        A feature is of none of the units, or the mapping is empty.
    """
    if not isinstance(value, Mapping) or len(asked) == 1:
        return {asked[0]: value}
    unit_of = {feature: unit for unit in asked for feature in unit.features}
    parts: dict[Unit, dict[Any, Any]] = {}
    for feature, one in value.items():
        unit = unit_of.get(column(feature))
        if unit is None:
            raise ValueError(f"round: expected values of {', '.join(map(str, asked))}, got {feature!r}")
        parts.setdefault(unit, {})[feature] = one
    if not parts:
        raise ValueError(f"round: expected values of {', '.join(map(str, asked))}, got none")
    return parts


class _SavedSession(NamedTuple):
    """What `Session.to_json` wrote: what was known, the caps, units with their values, and which were not paid."""

    known: list[tuple[Any, Any]]
    max_cost: Any
    bought: list[tuple[Any, list[Any]]]
    not_charged: list[int]
    max_rounds: Any

    @classmethod
    def read(cls, saved: str) -> Self:
        """Read the text, every part of it.

        Raises
        ------
        ValueError
            A part is missing, or of another kind than `Session.to_json` writes.
        """
        record = json_object(saved)
        missing = [name for name in ("known", "max_cost", "bought") if name not in record]
        if missing:
            raise ValueError(f"no {missing[0]}")
        known, bought = _pairs(record["known"], "known"), _pairs(record["bought"], "bought")
        for feature, value in known:
            _check_single(value, feature)
        for unit, values in bought:
            for value in _items(values, unit):
                _check_single(value, unit)
        _check_single(record["max_cost"], "max_cost")
        not_charged = _items(record.get("not_charged", []), "not_charged")
        if any(type(place) is not int for place in not_charged):
            raise ValueError("no list of integers in not_charged")
        read = partial(_read_saved, null_is_absent="not_charged" in record)
        return cls(
            [(feature, read(value)) for feature, value in known],
            record["max_cost"],
            [(unit, [read(value) for value in values]) for unit, values in bought],
            not_charged,
            record.get("max_rounds"),
        )


def _items(value: Any, name: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{type(value).__name__} in place of a list for {name}")
    return value


def _pairs(value: Any, name: str) -> list[tuple[Any, Any]]:
    pairs = [_items(pair, name) for pair in _items(value, name)]
    if any(len(pair) != 2 or not isinstance(pair[0], (str, int)) for pair in pairs):
        raise ValueError(f"no pairs of a name and what it is in {name}")
    return [(first, second) for first, second in pairs]


def _check_single(value: Any, name: str) -> None:
    """Require None, a text, or a number that a float holds."""
    if value is None or isinstance(value, (str, float)):
        return
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_FLOAT:
        raise ValueError(f"{reprlib.repr(value)} in place of a number for {name}")


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What buying on demand came to.

    Parameters
    ----------
    predictions : ndarray, shape (n_samples,)
    outputs : ndarray of float64, shape (n_samples, n_outputs)
        Class probabilities, or the targets as a column.
    paid : ndarray of float64, shape (n_samples,)
    bought : ndarray of bool, shape (n_samples, n_features)
    """

    predictions: Array
    outputs: FloatArray
    paid: FloatArray
    bought: BoolArray

    @classmethod
    def of(cls, sessions: Sessions) -> Self:
        """Read off sessions that have ended."""
        outputs = sessions.outputs
        return cls(sessions.labels(outputs), outputs, sessions.paid, sessions.bought)


def buy_on_demand(sessions: Sessions, fetch: Fetch) -> Demand:
    """End sessions, round by round: fetch each unit that is wanted for all examples that want it.

    Parameters
    ----------
    sessions : Sessions
    fetch : callable (unit, rows) -> array, shape (n_rows,) or (n_rows, n_features_of_the_unit)
        What `Sessions.tell` takes.

    Raises
    ------
    ValueError
        It gives something else.
    """
    while requests := sessions.requests():
        for request in requests:
            sessions.tell(request.unit, request.rows, fetch(request.unit, request.rows))
    return Demand.of(sessions)


async def buy_on_demand_async(sessions: Sessions, fetch: AsyncFetch) -> Demand:
    """End sessions as `buy_on_demand` does, without waiting for one fetch before asking for what others want.

    Parameters
    ----------
    sessions : Sessions
    fetch : coroutine function (unit, rows) -> array

    Returns
    -------
    Demand
    """
    waiting: dict[asyncio.Task[npt.ArrayLike], Request] = {}
    n_open = np.zeros(sessions.n_samples, dtype=np.int64)

    async def ask(request: Request) -> npt.ArrayLike:
        return await fetch(request.unit, request.rows)

    try:
        while True:
            for request in sessions.requests(n_open == 0):
                waiting[asyncio.create_task(ask(request))] = request
                n_open[request.rows] += 1
            if not waiting:
                return Demand.of(sessions)
            arrived, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in arrived:
                request = waiting.pop(task)
                sessions.tell(request.unit, request.rows, task.result())
                n_open[request.rows] -= 1
    finally:
        for task in waiting:
            task.cancel()


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value


MISSING_IN_FILES = "NaN"
"""How a saved session writes a value that was bought but is missing; null is one that could not be had."""


def _saved(number: float | None) -> float | str | None:
    return MISSING_IN_FILES if number is not None and np.isnan(number) else number


def _read_saved(number: Any, *, null_is_absent: bool) -> Any:
    """Read a number that `_saved` wrote; in older files null is a missing value."""
    return np.nan if number == MISSING_IN_FILES or (number is None and not null_is_absent) else number


def _told(known: Known | None) -> Iterable[tuple[Any, Any]]:
    """Return features and what is known of them."""
    if known is None:
        return ()
    if not hasattr(known, "items"):
        raise TypeError(f"known: expected a mapping of features to values, got {type(known).__name__}")
    return known.items()


def _without_absent(values: npt.ArrayLike) -> tuple[Array, BoolArray]:
    """Part values into an array, NaN where they could not be had, and a mask of these: None and masked entries.

    Raises
    ------
    ValueError
        The rows are of different lengths.
    """
    told = np.ma.asarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
    absent, cells = np.ma.getmaskarray(told), np.ma.getdata(told)
    if cells.dtype == object:
        absent = absent | np.asarray(np.frompyfunc(lambda cell: cell is None, 1, 1)(cells), dtype=bool)
    return (np.where(absent, np.nan, cells) if absent.any() else cells), absent
