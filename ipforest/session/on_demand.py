"""Features fetched by a function as examples want them, waited for one after another or all at once."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray, require_function
from ipforest.policy import Rows
from ipforest.session.seller import Unit
from ipforest.session.sessions import Request
from ipforest.session.told import Known

__all__ = ["AsyncFetch", "Demand", "Fetch", "PredictsOnDemand", "Purchasing", "buy_on_demand", "buy_on_demand_async"]

Fetch: TypeAlias = Callable[[Unit, Rows], npt.ArrayLike]
AsyncFetch: TypeAlias = Callable[[Unit, Rows], Awaitable[npt.ArrayLike]]


class Purchasing(Protocol):
    """What buys for many examples at once, as `ipforest.session.Sessions` do."""

    @property
    def n_samples(self) -> int:
        """Number of examples."""

    @property
    def outputs(self) -> FloatArray:
        """What is predicted from what is known so far, shape (n_samples, n_outputs)."""

    @property
    def paid(self) -> FloatArray:
        """What each example has paid, shape (n_samples,)."""

    @property
    def bought(self) -> BoolArray:
        """What each example has paid for, shape (n_samples, n_features)."""

    def labels(self, outputs: FloatArray) -> Array:
        """Turn `outputs` into predictions, shape (n_samples,)."""

    def requests(self, among: BoolArray | None = None) -> list[Request]:
        """Say what to buy now."""

    def tell(self, unit: Unit, rows: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Give the values of a unit that these examples want."""


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
    def of(cls, sessions: Purchasing) -> Self:
        """Read off sessions that have ended."""
        outputs = sessions.outputs
        return cls(sessions.labels(outputs), outputs, sessions.paid, sessions.bought)


def buy_on_demand(sessions: Purchasing, fetch: Fetch) -> Demand:
    """End sessions, round by round: fetch each unit that is wanted for all examples that want it.

    Parameters
    ----------
    sessions : Purchasing
    fetch : callable (unit, rows) -> array, shape (n_rows,) or (n_rows, n_features_of_the_unit)
        What `Sessions.tell` takes.

    Raises
    ------
    TypeError
        It is no function.
    ValueError
        It gives something else.
    """
    require_function(fetch)
    while requests := sessions.requests():
        for request in requests:
            sessions.tell(request.unit, request.rows, fetch(request.unit, request.rows))
    return Demand.of(sessions)


async def buy_on_demand_async(sessions: Purchasing, fetch: AsyncFetch) -> Demand:
    """End sessions as `buy_on_demand` does, without waiting for one fetch before asking for what others want.

    Parameters
    ----------
    sessions : Purchasing
    fetch : coroutine function (unit, rows) -> array

    Returns
    -------
    Demand

    Raises
    ------
    TypeError
        It is no function.
    """
    require_function(fetch)
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


class PredictsOnDemand:
    """Base of what predicts from features that are fetched only when they are wanted."""

    @abstractmethod
    def sessions(
        self, n: int, known: Known | None = None, max_cost: object | None = None, max_rounds: int | None = None
    ) -> Purchasing:
        """Start buying for many examples at once."""

    def predict_on_demand(
        self,
        fetch: Fetch,
        n: int,
        known: Known | None = None,
        max_cost: object | None = None,
        max_rounds: int | None = None,
    ) -> Demand:
        """Predict examples whose features, or columns of a table, are fetched when wanted, those of a round together.

        Parameters
        ----------
        fetch : callable (unit, rows) -> array, shape (n_rows,) or (n_rows, n_features_of_the_unit)
            Gives the values of ``unit.features`` of the examples ``rows``; None, or a masked entry, for a value that
            could not be had and is not paid; NaN, or any missing cell of a data frame or series, for one that was
            bought but is missing, as in a table. A pipeline asks for cells as they stand in the table, words among
            them.
        n, known, max_cost, max_rounds
            As in `sessions`.

        Returns
        -------
        Demand
            Predictions, and what was paid and bought.

        Raises
        ------
        ValueError
            ``fetch`` gives None, one number for several examples, another shape, or what preprocessing does not take.
        """
        return buy_on_demand(self.sessions(n, known, max_cost, max_rounds), fetch)

    async def predict_on_demand_async(
        self,
        fetch: AsyncFetch,
        n: int,
        known: Known | None = None,
        max_cost: object | None = None,
        max_rounds: int | None = None,
    ) -> Demand:
        """Predict as `predict_on_demand` does, with a coroutine function whose waits overlap."""
        return await buy_on_demand_async(self.sessions(n, known, max_cost, max_rounds), fetch)
