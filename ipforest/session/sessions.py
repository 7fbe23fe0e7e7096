"""Sessions of many examples at once: what each wants next, what it is told, and what it has paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import (
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    checked_count,
    checked_number,
    rounding,
)
from ipforest._internal.examples import require_held
from ipforest._internal.words import number_of
from ipforest.costs import require_no_split_cost
from ipforest.policy import ANSWERS, Policy, Progress, Rows, narrowest_of, ordered_together
from ipforest.session.paid_units import PaidUnits
from ipforest.session.seller import Seller, Unit
from ipforest.session.told import Known, require_column_order, told_features, told_of_unit, without_absent
from ipforest.walks.purse import spending_limit

__all__ = ["Request", "Sessions"]


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


class Sessions:
    """Sessions of many examples at once: see what is wanted by `requests`, buy it, `tell` it, until nothing is wanted.

    Made by `ipforest.estimator.BudgetedModel.sessions`.

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
        costs, n_samples = seller.costs, checked_count(n_samples, "n")
        require_no_split_cost(costs, seller.split_cost)
        self._policy, self._seller, self._units = policy, seller, seller.units()
        self._first_unit = seller.first_unit
        if max_cost is not None and seller.split_cost:
            raise ValueError(f"max_cost: expected none with a split cost, got {max_cost!r}")
        self._paid_units = PaidUnits(costs, n_samples, spending_limit(max_cost, "max_cost"))
        delayed = costs.delayed_features
        most = checked_rounds(max_rounds)
        self._rounds = _Rounds.start(delayed, n_samples, most) if delayed.any() else None
        self._progress = Progress.start(policy, n_samples, costs.n_features, delayed if delayed.any() else None)
        self._wanted = np.full(n_samples, ANSWERS, dtype=np.int32)
        self._unpaid, self._lost = np.zeros((2, n_samples, costs.n_features), dtype=bool)
        no_column = np.zeros(costs.n_features, dtype=bool)
        self._missing_seen = no_column if seller.missing_seen is None else seller.missing_seen
        for feature, values in told_features(known):
            column = seller.column(feature)
            self._take_known(column, values)
        if self._progress.given is not None:
            self._progress.given[:] = self._progress.known
        self._advance(np.arange(n_samples))

    def _take_known(self, column: int, values: Any) -> None:
        """Take a column that is free, of all examples."""
        told, absent = without_absent(values)
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
        return self.paid_by(slice(None))

    def paid_by(self, rows: Rows | slice) -> FloatArray:
        """Compute what some examples have paid, shape (n_rows,)."""
        return self._seller.paid_for(self._bought_by(rows), self._progress.tests[rows])

    @property
    def tests(self) -> Int32Array:
        """How often each example's features were tested, shape (n_samples, n_features); 0 for what cannot be had."""
        withheld = self._progress.barred & self._unpaid
        return np.where(withheld, np.int32(0), self._progress.tests)

    @property
    def bought(self) -> BoolArray:
        """The features that each example has paid for, shape (n_samples, n_features)."""
        return self._bought_by(slice(None))

    def _bought_by(self, rows: Rows | slice) -> BoolArray:
        had = self._progress.tests[rows] > 0
        if self._rounds is not None:
            had |= self._rounds.ordered[rows]
        return (had & ~self._unpaid[rows]) | self._lost[rows]

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
        return self._seller.answers(self._policy.answer(self._progress, np.arange(self.n_samples)))

    @property
    def progress(self) -> Progress:
        """What is known about the examples, and where the policy stands with them."""
        return self._progress

    @property
    def units_paid(self) -> BoolArray:
        """The units that each example has paid for, shape (n_samples, n_units)."""
        return self._paid_units.paid[:, :-1].copy()

    @property
    def seller(self) -> Seller:
        """The names, prices and categories of what is bought."""
        return self._seller

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
            asked = self._seller.units_of(self._asked(rows))
            wanted = np.flatnonzero(asked.any(axis=0)).tolist()
            return [Request(self._units[unit], rows[asked[:, unit]]) for unit in wanted]
        units = self._first_unit[self._wanted[rows]]
        order = np.argsort(units, kind="stable")
        starts = np.flatnonzero(np.diff(units[order], prepend=-1))
        return [Request(self._units[units[part[0]]], rows[part]) for part in np.split(order, starts[1:]) if part.size]

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
        wanted = self._wanted[rows]
        return np.where(wanted == ANSWERS, 0.0, self._paid_units.price(rows, wanted))

    def price_of(self, unit: Unit, row: int) -> float:
        """Compute what an example pays for a unit that it wants, a group's fee included if it is the first."""
        return float(self._paid_units.price(np.array([row]), np.array([unit.features[0]]))[0])

    def price_together(self, rows: Rows) -> FloatArray:
        """Compute what examples pay for all that they want now, shape (n_rows,)."""
        if self._rounds is None:
            return self.price(rows)
        return self._paid_units.price_together(rows, self._asked(rows))

    def fee(self, row: int) -> float:
        """Return the fee in the price of what an example wants next, which the first feature of a group pays."""
        return 0.0 if self._wanted[row] == ANSWERS else self._paid_units.fee(row, int(self._wanted[row]))

    def tell(
        self, unit: Unit, rows: npt.ArrayLike, values: npt.ArrayLike, charged: bool | BoolArray | None = None
    ) -> None:
        """Give the values of a unit that these examples want, and let the model move on.

        Parameters
        ----------
        unit : Unit
        rows : array of int, shape (n_rows,)
        values : array of numbers, shape (n_rows,) or (n_rows, n_features_of_the_unit)
            None, or a masked entry of a `numpy.ma.MaskedArray`, for a value that could not be had; NaN, or any missing
            cell of a data frame or series, for one that was bought but is missing, as in a table.
        charged : bool, or ndarray of bool, shape (n_rows,), optional
            Whether the unit is paid. By default it is, unless none of its values could be had.

        Raises
        ------
        ValueError
            Another shape, None for all rows, one number for several, infinite values, missing ones where the model
            takes none, rows that want another unit, or a DataFrame with the features in another order.
        """
        shape = np.size(rows), len(unit.features)
        names = [self._seller.feature_names[feature] for feature in unit.features]
        require_column_order(unit, names, values)
        told, absent = told_of_unit(unit, shape, values)
        had = np.asarray(~absent.all(axis=1) if charged is None else charged)
        if had.dtype.kind not in "biu" or had.shape not in ((), shape[:1]):
            raise ValueError(
                f"charged: expected True or False, or one of them for each of {shape[0]} rows, got {charged!r}"
            )
        pays: BoolArray = np.broadcast_to(had.astype(bool), shape[:1])
        self.tell_numbers(unit, rows, self._seller.numbers(unit.features, told), absent, pays)

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
        self._paid_units.pay(told[charged], features[:1])
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
        if np.isfinite(self._paid_units.limit):
            self._give_up(rows)
        rounds = self._rounds
        if rounds is None:
            self._move_on(rows)
            return
        late = rounds.late(rows) & ~self._progress.known[rows] & ~self._progress.barred[rows]
        self._bar(rows, late)
        rounds.together[rows] = False
        self._move_on(rows)
        beginning = rows[(self._wanted[rows] != ANSWERS) & rounds.delayed[self._wanted[rows]]]
        if beginning.size:
            self._begin_rounds(rounds, beginning)

    def _begin_rounds(self, rounds: _Rounds, rows: Rows) -> None:
        """Order what may be wanted together with the delayed features that examples want."""
        rounds.number[rows] += 1
        rounds.decisive[rows] = self._wanted[rows]
        open_rows = rows
        while open_rows.size:
            rounds.together[open_rows] = ordered_together(self._policy, self._progress, open_rows)
            rounds.together[open_rows, rounds.decisive[open_rows]] = True
            open_rows = self._without_what_does_not_fit(rounds, open_rows)
        self._wanted[rows] = self._first_of(self._waiting(rows))

    def _without_what_does_not_fit(self, rounds: _Rounds, rows: Rows) -> Rows:
        """Withhold the first feature by which the round of an example passes its cap; return such examples.

        The wanted feature comes first; that it fits was seen to by `_give_up`.
        """
        if np.isinf(self._paid_units.limit):
            return rows[:0]
        waiting, order = self._waiting(rows), np.argsort(self._first_unit, kind="stable")
        beyond = self._paid_units.first_beyond(rows, waiting, rounds.decisive[rows], order)
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
            before, wanted = self._wanted[rows], np.asarray(self._policy.advance(self._progress, rows))
            self._require_progress(rows, before, wanted)
            self._wanted[rows] = wanted
            rows = rows[(self._wanted[rows] != ANSWERS) & self._progress.barred[rows, self._wanted[rows]]]
            if not self._seller.allow_missing:
                self._wanted[rows] = ANSWERS
                return
            self._progress.known[rows, self._wanted[rows]] = True

    def _require_progress(self, rows: Rows, before: Int32Array, wanted: Array) -> None:
        """Require that a policy counts what it was told, and wants features that there are and that are not known.

        Raises
        ------
        ValueError
            It would pay for nothing, or want the same for ever.
        """
        known, least, largest = self._progress.known, wanted.min(), wanted.max()
        if not ANSWERS <= least <= largest < known.shape[1]:
            stray = least if least < ANSWERS else largest
            raise ValueError(f"policy: expected to want one of {known.shape[1]} features by number, or -1, got {stray}")
        has = known[rows, wanted] & (wanted != ANSWERS)
        if has.any():
            raise ValueError(
                f"policy: expected to want a feature that is not known, got {wanted[has][0]} for an example that has it"
            )
        if self._rounds is not None:
            return  # what a round orders need not be looked at
        uncounted = known[rows, before] & (self._progress.tests[rows, before] == 0) & (before != ANSWERS)
        if uncounted.any():
            raise ValueError(
                f"policy: expected progress.tests to count the tests of feature {before[uncounted][0]}, which was "
                "wanted and is known, got 0"
            )

    def _withhold(self, rows: Rows, features: IntArray) -> None:
        """Note that these examples cannot have these features: missing where training knew missing values."""
        self._progress.values[rows, features] = np.nan
        self._progress.barred[rows, features] = True
        self._progress.known[rows, features] = self._missing_seen[features]

    def _give_up(self, rows: Rows) -> None:
        """Withhold the features that would take an example above its cap."""
        rows, beyond = self._paid_units.beyond(rows)
        self._bar(rows, beyond & ~self._progress.known[rows] & ~self._progress.barred[rows])

    def _checked(
        self,
        values: npt.ArrayLike,
        shape: tuple[int, ...],
        name: str,
        *,
        one_for_all: bool = False,
        absent: BoolArray | np.bool_ | None = None,
        columns: Sequence[str] | None = None,
    ) -> Array:
        """Take values in the policy's type, perhaps one for all; NaN stands where they could not be had."""
        try:
            with rounding():
                block = np.asarray(values, dtype=np.float64).astype(self._policy.dtype)
        except (OverflowError, TypeError, ValueError):
            cells = np.asarray(values, dtype=object).ravel().tolist()
            block = np.reshape([number_of(cell, name) for cell in cells], np.shape(values))
        is_one = one_for_all and block.ndim == 0
        if not is_one and block.shape != shape:
            raise ValueError(f"{name}: expected values of shape {shape}, got {block.shape}")
        require_held(block, narrowest_of(self._policy), name, columns)
        missing = np.isnan(block) if absent is None else np.isnan(block) & ~absent
        if not self._seller.allow_missing and missing.any():
            raise ValueError(
                f"{name}: expected a number, or None for a value that cannot be had, got a missing value, which this "
                "model does not take"
            )
        return block

    def table(self, X: Array) -> Array:
        """Take the values of all examples as the policy compares them; see `buy_from`."""
        return self._checked(X, X.shape, "X", columns=self._seller.feature_names)

    def see(self, X: Array) -> Self:
        """End all sessions with the values of X, shape (n_samples, n_features), and return them."""
        table = self.table(X)
        if self._policy.ignores_unwanted and np.isinf(self._paid_units.limit):
            at_once = np.ones(table.shape[1], dtype=bool) if self._rounds is None else ~self._rounds.delayed
            np.copyto(self._progress.values, table, where=~self._unpaid & at_once)
            self._progress.known[~self._progress.barred & at_once] = True
            self._advance(np.arange(self.n_samples))
        while (rows := np.flatnonzero(self._wanted != ANSWERS)).size:
            self.buy_from(table, rows)
        return self

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
            self._buy_rounds_from(self._rounds, table, rows)
            return
        values, known, wants = self._progress.values, self._progress.known, self._wanted[rows]
        values[rows, wants] = table[rows, wants]
        known[rows, wants] = True
        wanted_units = self._first_unit[wants]
        for unit in np.unique(wanted_units):
            if len(self._units[unit].features) > 1:
                cells = np.ix_(rows[wanted_units == unit], self._units[unit].features)
                values[cells], known[cells] = table[cells], True
        self._paid_units.pay(rows, wants)
        self._advance(rows)

    def _buy_rounds_from(self, rounds: _Rounds, table: Array, rows: Rows) -> None:
        bought = rounds.together[rows] & ~self._unpaid[rows] & ~self._progress.barred[rows]
        bought[np.arange(rows.size), self._wanted[rows]] = True
        rounds.ordered[rows] |= bought
        place, feature = np.nonzero(bought)
        self._paid_units.pay(rows[place], feature)
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


def checked_rounds(max_rounds: object) -> int | None:
    """Require a number of rounds, or None for any."""
    return None if max_rounds is None else checked_number(max_rounds, "max_rounds", "None or an integer >= 0")
