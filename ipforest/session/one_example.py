"""The session of one example: its ledger, its guess so far, its reasons, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import plain
from ipforest.policy import Policy
from ipforest.session.saved import SavedSession
from ipforest.session.seller import Seller, Unit
from ipforest.session.sessions import Sessions, checked_rounds
from ipforest.session.told import Known, plain_cell, told_by_unit, told_features

__all__ = ["Purchase", "Session", "place_in_round", "require_charged"]


@dataclass(frozen=True, slots=True)
class Purchase:
    """One line of a session's ledger.

    Parameters
    ----------
    unit : str
    price : float
        What it cost, a group's fee included where it was the first of its group; 0 where nothing was charged.
    values : tuple of (str, cell)
        What it brought, by feature, in a session of a table by column: a number, or the name of a category; None for a
        value that is missing or could not be had.
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
    values: tuple[tuple[str, Any], ...]
    reason: str
    charged: bool = True
    round: int = 1
    in_vain: bool = False

    @property
    def brought(self) -> str:
        """The names of what it brought, where ``unit`` may be the name of a group."""
        return ", ".join(name for name, _ in self.values)


class Session:
    """One example, one unit at a time: buy `next_unit`, `tell` its value, until it is None; then read `answer`.

    Made by `ipforest.estimator.BudgetedModel.session`.

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
        self._seller, self._max_cost, self._max_rounds = seller, max_cost, checked_rounds(max_rounds)
        told = {seller.column(feature): value for feature, value in told_features(known)}
        self._known = {
            column: None if value is None else seller.listed_number(column, value) for column, value in told.items()
        }
        self._sessions = Sessions(policy, seller, 1, told, max_cost, max_rounds)
        self._told: list[tuple[float | None, ...]] = []
        self._purchases: list[Purchase] = []

    @property
    def seller(self) -> Seller:
        """The names, prices and categories of what is bought."""
        return self._seller

    def __repr__(self) -> str:
        unit = self.next_unit
        state = f"answers {self.answer}" if unit is None else f"wants {unit}"
        return f"{type(self).__name__}(paid {plain(self.paid)}, {state})"

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
        return int(self._sessions.rounds[0]) + (not self.waits)

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
        """Return what a unit of this round costs, the fee of its group included if it is the first.

        Raises
        ------
        ValueError
            It is none of this round.
        """
        place_in_round(unit, self.round())
        return self._sessions.price_of(unit, 0)

    def reason_of(self, unit: Unit) -> str:
        """Say why a unit of this round is wanted.

        Raises
        ------
        ValueError
            It is none of this round.
        """
        place_in_round(unit, self.round())
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
        TypeError
            ``charged`` is something else, as a value is that is told after the name of its feature.
        ValueError
            Nothing is wanted, the values are for other features, words that training has not seen, no numbers,
            infinite, or missing where the model takes none.
        """
        require_charged(charged)
        asked = self.round() or (self._wanted_unit(),)
        parts = told_by_unit(asked, value, self._seller.column, self._seller.feature_names.__getitem__)
        self.tell_units({unit: (list(cells.values()), charged) for unit, cells in parts.items()})

    def tell_units(self, told: Mapping[Unit, tuple[list[Any], bool | None]]) -> None:
        """Give what units of this round brought, all of them or none, as `tell` does.

        Parameters
        ----------
        told : mapping from Unit to (list of values, charged)
        """
        numbers = {
            unit: [self._seller.listed_number(*pair) for pair in zip(unit.features, cells, strict=True)]
            for unit, (cells, _) in told.items()
        }
        for unit, (cells, _) in told.items() if len(told) > 1 else ():
            self._sessions.check(unit, numbers[unit], cells)
        for unit, (cells, charged) in told.items():
            self._tell_unit(unit, cells, numbers[unit], charged)

    def _tell_unit(self, unit: Unit, cells: list[Any], numbers: list[float], charged: bool | None) -> None:
        absent = np.array([[cell is None for cell in cells]])
        is_charged = not absent.all() if charged is None else charged
        names = tuple(self._seller.feature_names[feature] for feature in unit.features)
        price = self._sessions.price_of(unit, 0) if is_charged else 0.0
        reason, number = self._sessions.reason(0, unit), self.round_number
        self._sessions.tell_numbers(unit, [0], [numbers], absent, np.array([is_charged]))
        told = [self._seller.named(*pair) for pair in zip(unit.features, numbers, strict=True)]
        bought = tuple((name, plain_cell(cell)) for name, cell in zip(names, told, strict=True))
        self._purchases.append(Purchase(unit.name, price, bought, reason, is_charged, number))
        self._told.append(tuple(None if cell is None else number for cell, number in zip(cells, numbers, strict=True)))

    def _wanted_unit(self) -> Unit:
        unit = self.next_unit
        if unit is None:
            raise ValueError("session: expected a unit that is still wanted, got none; the model answers")
        return unit

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
        max_cost = None if self._max_cost is None else str(nonnegative_fraction(self._max_cost, "max_cost"))
        bought = [(line.unit, list(told)) for line, told in zip(self._purchases, self._told, strict=True)]
        known = [(self._seller.feature_names[column], value) for column, value in self._known.items()]
        not_charged = [place for place, line in enumerate(self._purchases) if not line.charged]
        return SavedSession(known, max_cost, bought, not_charged, self._max_rounds).to_json()

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
            record = SavedSession.read(saved)
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


def require_charged(charged: object) -> None:
    """Require True, False or None for whether a unit is paid.

    Raises
    ------
    TypeError
        It is something else, as a value is that is told after the name of its feature.
    """
    if charged is not None and not isinstance(charged, bool | np.bool_):
        raise TypeError(
            f"charged: expected True, False or None, got {charged!r}; what a feature brought is told alone, or as "
            "{feature: value}"
        )


def place_in_round(unit: Unit, asked: Sequence[Unit]) -> int:
    """Return the place of a unit among those of a round."""
    if unit not in asked:
        wanted = ", ".join(map(str, asked)) or "which is empty, as the model answers"
        raise ValueError(f"unit: expected one of this round ({wanted}), got {unit}")
    return asked.index(unit)
