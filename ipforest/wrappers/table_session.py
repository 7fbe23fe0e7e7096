"""Sessions in the columns of a table, of which a model sees what was computed of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import Array, BoolArray, FloatArray
from ipforest._internal.feature_names import in_pandas
from ipforest.costs import FeatureCosts
from ipforest.session import (
    Known,
    Purchase,
    Request,
    Session,
    Sessions,
    Unit,
    cells_of_unit,
    place_in_round,
    plain_cell,
    require_charged,
    require_column_order,
    told_by_unit,
    told_features,
    without_absent,
)
from ipforest.wrappers.table_columns import TableColumns

__all__ = ["TableSession", "TableSessions", "known_cells"]


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
    cells : mapping from str to cell, optional
        What was told already, by column.
    """

    def __init__(self, columns: TableColumns, session: Session, cells: Mapping[str, Any] | None = None) -> None:
        self._columns, self._session, self._cells = columns, session, dict(cells or {})

    __repr__ = _as_session("__repr__")

    @property
    def next_unit(self) -> Unit | None:
        """What the model wants to know next, with columns of the table as its features; None when it answers."""
        unit = self._session.next_unit
        return None if unit is None else _of_table(self._columns, unit)

    def round(self) -> tuple[Unit, ...]:
        """List what to order now, with columns of the table as features; see `ipforest.session.Session.round`."""
        return tuple(_of_table(self._columns, unit) for unit in self._session.round())

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
        require_charged(charged)
        inner = {_of_table(self._columns, unit): unit for unit in self._session.round()}
        if not inner:
            raise ValueError("session: expected a unit that is still wanted, got none; the model answers")
        cells = told_by_unit(tuple(inner), value, self._columns.place, self._columns.name)
        computed = self._columns.computed({column: cell for each in cells.values() for column, cell in each.items()})
        told = dict[Unit, tuple[list[Any], bool | None]]()
        for unit, each in cells.items():
            is_had = any(cell is not None for cell in each.values())
            brought = [computed[feature] for feature in inner[unit].features]
            told[inner[unit]] = brought, is_had if charged is None else charged
        self._session.tell_units(told)
        for each in cells.values():
            self._cells |= {self._columns.name(column): plain_cell(cell) for column, cell in each.items()}

    @property
    def ledger(self) -> tuple[Purchase, ...]:
        """What was bought so far, in order, and why: columns of the table, and their cells; None is no value.

        Of a session that was saved without its cells, what was computed of them.
        """
        return tuple(map(self._line_of_table, self._session.ledger))

    def _line_of_table(self, line: Purchase) -> Purchase:
        column = self._session.seller.column
        names = [*map(self._columns.name, self._columns.of([column(feature) for feature, _ in line.values]))]
        cells = tuple((name, self._cells[name]) for name in names if name in self._cells)
        return replace(line, unit=", ".join(names), values=cells or line.values)

    def price_of(self, unit: Unit) -> float:
        """Return what a unit of this round costs; see `ipforest.session.Session.price_of`."""
        return self._session.price_of(self._inside(unit))

    def reason_of(self, unit: Unit) -> str:
        """Say why a unit of this round is wanted."""
        return self._session.reason_of(self._inside(unit))

    def _inside(self, unit: Unit) -> Unit:
        """Return a unit of this round with what the estimator sees as its features."""
        return self._session.round()[place_in_round(unit, self.round())]

    has_rounds = _as_inside("has_rounds")
    is_classifier = _as_inside("is_classifier")
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
        cells = dict(cell for line in self.ledger for cell in line.values)
        return json.dumps(json.loads(self._session.to_json()) | {"cells": cells}, indent=2)


class TableSessions:
    """Sessions of many examples in the columns of a table; see `ipforest.session.Sessions`.

    Made by `ipforest.BudgetedPipeline.sessions`.

    Parameters
    ----------
    columns : TableColumns
    sessions : Sessions
        In the columns that the estimator sees.
    costs : FeatureCosts
        Prices of these columns.
    """

    def __init__(self, columns: TableColumns, sessions: Sessions, costs: FeatureCosts) -> None:
        self._columns, self._sessions, self._costs = columns, sessions, costs
        self._units = sessions.seller.units()

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return self._sessions.n_samples

    @property
    def outputs(self) -> FloatArray:
        """Class probabilities, or targets as a column, from what is known so far, shape (n_samples, n_outputs)."""
        return self._sessions.outputs

    @property
    def paid(self) -> FloatArray:
        """What each example has paid, shape (n_samples,)."""
        return self._sessions.paid

    @property
    def bought(self) -> BoolArray:
        """The columns of the table that each example has paid for, shape (n_samples, n_columns)."""
        return self._costs.bought(self._sessions.bought)

    def labels(self, outputs: FloatArray) -> Array:
        """Turn `outputs` into predictions, shape (n_samples,)."""
        return self._sessions.labels(outputs)

    def requests(self, among: BoolArray | None = None) -> list[Request]:
        """Say what to buy now, with columns of the table as features; see `ipforest.session.Sessions.requests`."""
        requests = self._sessions.requests(among)
        return [Request(_of_table(self._columns, request.unit), request.rows) for request in requests]

    def tell(
        self, unit: Unit, rows: npt.ArrayLike, values: npt.ArrayLike, charged: bool | BoolArray | None = None
    ) -> None:
        """Give the cells of a unit that these examples want, as they stand in the table.

        Parameters
        ----------
        unit : Unit
        rows : array of int, shape (n_rows,)
        values : array or DataFrame of cells, shape (n_rows,) or (n_rows, n_columns_of_the_unit)
            None, or a masked entry, for what could not be had; NaN, or any missing cell of a DataFrame or Series, for
            what was bought but is missing, as in a table.
        charged : bool, or ndarray of bool, shape (n_rows,), optional
            Whether the unit is paid. By default it is, unless none of its values could be had.

        Raises
        ------
        ValueError
            The cells are of another shape or order, or the preprocessing does not take them.
        """
        require_column_order(unit, [*map(self._columns.name, unit.features)], values)
        told, absent = cells_of_unit(unit, (np.size(rows), len(unit.features)), _array(values))
        by_column = {column: _cells(told[:, place], absent[:, place]) for place, column in enumerate(unit.features)}
        computed = self._columns.computed_of_rows(by_column, np.size(rows))
        inner = self._units[unit.index]
        brought = np.column_stack([computed[feature] for feature in inner.features])
        self._sessions.tell(inner, rows, brought, np.asarray(~absent.all(axis=1) if charged is None else charged))


def known_cells(columns: TableColumns, known: Known | None, n: int) -> dict[int, Array]:
    """Compute, from columns of the table that are known of n examples, what the estimator sees of them.

    Raises
    ------
    ValueError
        There is no such column, or its cells are not one for all or one for each example.
    """
    cells = {}
    for name, values in told_features(known):
        column = columns.place(name)
        told = [values] * n if np.ndim(values) == 0 else _cells(*without_absent(_array(values)))
        if len(told) != n:
            raise ValueError(f"{columns.name(column)}: expected a cell, or {n} cells, got {len(told)}")
        cells[column] = told
    return columns.computed_of_rows(cells, n) if cells and n else {}


def _array(values: Any) -> Any:
    """Keep the types of cells where they are no array, which NumPy would make the same."""
    if isinstance(values, np.ndarray):
        return values
    values = in_pandas(values)
    return values.astype(object) if isinstance(values, pd.DataFrame | pd.Series) else np.array(values, dtype=object)


def _cells(told: Array, absent: BoolArray) -> list[Any]:
    """List cells of one column, dates of NumPy as pandas has them, and None where they could not be had."""
    cells = pd.Series(told).astype(object)
    return [None if gone else cell for cell, gone in zip(cells, absent, strict=True)]


def _of_table(columns: TableColumns, unit: Unit) -> Unit:
    """Return a unit with columns of the table as its features."""
    return Unit(unit.index, columns.named(unit.features), columns.of(unit.features))
