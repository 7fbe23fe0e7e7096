"""The rules of any policy: what it does with examples, and conditions that tell apart what it does next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipforest._internal.arrays import BoolArray, IntArray
from ipforest.policy import ANSWERS, Policy
from ipforest.rules.conditions import holds, tell_apart
from ipforest.rules.ends import Ends, OrderNames
from ipforest.rules.steps import Order, Step
from ipforest.session import Seller, Sessions, Unit

__all__ = ["PolicyReader"]

FEW = 0.02
"""Examples that go on are followed no further where they are a smaller share than this."""


class PolicyReader:
    """Reads what any policy does, group by group of examples of which the same was ordered so far."""

    def __init__(
        self,
        policy: Policy,
        seller: Seller,
        end: Ends,
        names: OrderNames,
        max_cost: object | None,
        max_questions: float,
        max_clauses: int,
    ) -> None:
        self._seller, self._end, self._names, self._most = seller, end, names, max_questions
        self._sessions = Sessions(policy, seller, end.values.shape[0], max_cost=max_cost)
        self._units = seller.units()
        self._max_clauses = max_clauses
        self.told: BoolArray = np.ones(end.values.shape[0], dtype=bool)
        self.goes_on: BoolArray = np.zeros(end.values.shape[0], dtype=bool)

    def read(self) -> Step:
        """Follow all examples, of which the same happens first, as nothing is known that would tell them apart."""
        return replace(self._step(np.arange(self.told.size), ()), clauses=((),))

    def _actions(self, rows: IntArray) -> BoolArray:
        """Mark what happens next, shape (n_rows, n_units + n_answers): the units that are ordered, or an answer.

        Rows are ascending.
        """
        among = np.zeros(self.told.size, dtype=bool)
        among[rows] = True
        actions = np.zeros((rows.size, len(self._units) + self._end.n_answers), dtype=bool)
        for request in self._sessions.requests(among):
            actions[np.searchsorted(rows, request.rows), request.unit.index] = True
        stops = np.flatnonzero(self._sessions.wanted[rows] == ANSWERS)
        actions[stops, len(self._units) + self._end.actions(rows[stops])] = True
        return actions

    def _step(self, rows: IntArray, bought: tuple[Unit, ...]) -> Step:
        """Follow examples of which the same happens next."""
        orders: list[Order] = []
        paid = float(self._sessions.paid_by(rows).mean())
        while True:
            asked = [self._units[unit] for unit in np.flatnonzero(self._actions(rows[:1])[0, : len(self._units)])]
            if not asked:
                return replace(self._end.step(rows), orders=tuple(orders))
            if len(bought) + len(asked) > self._most or rows.size < FEW * self.told.size:
                self.goes_on[rows] = True
                return replace(self._end.step(rows, goes_on=True), orders=tuple(orders))
            number = int(self._sessions.rounds[rows[0]]) + (not self._sessions.waits[rows[0]])
            for unit in asked:
                orders.append(Order(self._names(unit), self._seller.price_after(unit, bought), number, unit.index))
                bought += (unit,)
            self._sessions.buy_from(self._end.values, rows)
            actions = self._actions(rows)
            if not (actions == actions[0]).all():
                return Step((), rows.size, paid, tuple(orders), below=self._below(rows, actions, bought))

    def _below(self, rows: IntArray, actions: BoolArray, bought: tuple[Unit, ...]) -> tuple[Step, ...]:
        """Part examples by what happens next, and find conditions that tell the parts apart."""
        known, values = [feature for unit in bought for feature in unit.features], self._end.values[rows]
        numbers = np.unique(actions[:, actions.any(axis=0)], axis=0, return_inverse=True)[1].ravel()
        clauses = tell_apart(values, known, numbers, self._seller.categories, self._max_clauses)
        steps = []
        for number in range(int(numbers.max()) + 1):
            here, told = numbers == number, clauses.get(number, ())
            meets = holds(told, values)
            self.told[rows[here & ~meets]] = False
            steps.append(
                replace(
                    self._step(rows[here], bought),
                    clauses=told,
                    n_missed=int((here & ~meets).sum()),
                    n_strays=int((meets & ~here).sum()),
                )
            )
        return tuple(sorted(steps, key=lambda step: (not step.clauses, sum(map(len, step.clauses)), -step.n_samples)))
