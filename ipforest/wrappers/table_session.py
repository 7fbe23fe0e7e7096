"""Sessions in the columns of a table, of which a model sees what was computed of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ipforest.session import Purchase, Session, Unit, told_by_unit
from ipforest.wrappers.table_columns import TableColumns

__all__ = ["TableSession"]


def _as_inside(name: str) -> Any:
    """Make a property that a `TableSession` has as the session within."""
    return property(lambda table: getattr(table._session, name), doc=getattr(Session, name).__doc__)


def _as_session(name: str) -> Any:
    """Return what computes, of what a `TableSession` has by itself, what it computes of a `Session`."""
    return getattr(Session, name)


class TableSession:
    """A session in the columns of a table; see `ipforest.session.Session`.

    Made by `ipforest.BudgetedPipeline.session`.

    Parameters
    ----------
    columns : TableColumns
    session : Session
        In the columns that the estimator sees.
    """

    def __init__(self, columns: TableColumns, session: Session) -> None:
        self._columns, self._session = columns, session

    __repr__ = _as_session("__repr__")

    @property
    def next_unit(self) -> Unit | None:
        """What the model wants to know next, with columns of the table as its features; None when it answers."""
        unit = self._session.next_unit
        return None if unit is None else self._of_table(unit)

    def round(self) -> tuple[Unit, ...]:
        """List what to order now, with columns of the table as features; see `ipforest.session.Session.round`."""
        return tuple(map(self._of_table, self._session.round()))

    def _of_table(self, unit: Unit) -> Unit:
        return Unit(unit.index, self._columns.named(unit.features), self._columns.of(unit.features))

    def tell(self, value: Any, charged: bool | None = None) -> None:
        """Give what the next unit brought, or, as a mapping, several units of this round, as it stands in the table.

        Parameters
        ----------
        value : cell, None, sequence of cells, or mapping from columns to cells
            None for what could not be had. A unit of several columns takes one cell per column.
        charged : bool, optional
            Whether the unit is paid; by default it is, unless none of its values could be had.

        Raises
        ------
        ValueError
            Nothing is wanted, the cells are for other columns, or the preprocessing does not take them.
        """
        inner = self._session.round()
        if not inner:
            raise ValueError("session: expected a unit that is still wanted, got none; the model answers")
        features = {self._of_table(unit): unit.features for unit in inner}
        cells = told_by_unit(tuple(features), value, self._columns.place, self._columns.name)
        computed = self._columns.computed({column: cell for each in cells.values() for column, cell in each.items()})
        for unit, each in cells.items():
            is_had = any(cell is not None for cell in each.values())
            brought = {feature: computed[feature] for feature in features[unit]}
            self._session.tell(brought, is_had if charged is None else charged)

    @property
    def ledger(self) -> tuple[Purchase, ...]:
        """What was bought so far, in order, and why: columns of the table, and what was computed of them."""
        column = self._session._seller.column
        return tuple(
            replace(line, unit=self._columns.named(tuple(column(feature) for feature, _ in line.values)))
            for line in self._session.ledger
        )

    waits = _as_inside("waits")
    round_number = _as_inside("round_number")
    round_price = _as_inside("round_price")
    price = _as_inside("price")
    fee = _as_inside("fee")
    reason = _as_inside("reason")
    guess = _as_inside("guess")
    answer = _as_session("answer")
    probabilities = _as_inside("probabilities")
    paid = _as_inside("paid")

    def to_json(self) -> str:
        """Write the session, so that `ipforest.BudgetedPipeline.resume` can go on another day."""
        return self._session.to_json()
