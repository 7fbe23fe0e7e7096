"""The frontier: models with what they cost and lose, and what a budget takes of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self, SupportsFloat

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray, one_line, read_only
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import as_given, plain
from ipforest.walks.purse import spending_limit

__all__ = ["Frontier", "Mix"]


class Mix(NamedTuple):
    """Two models, of which a coin takes one.

    Parameters
    ----------
    cheap, costly : int
        Their places.
    share : float
        The probability of the costly one; 0 where the cheap one alone is best.
    """

    cheap: int
    costly: int
    share: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier:
    """The models that a budget chooses from, with what they cost and lose on held-out examples.

    Parameters
    ----------
    cost, loss : ndarray of float64, shape (n_models,)
        Averages over the examples.
    criterion : ndarray of float64, shape (n_models,), optional
        Of what the best model has the least; by default the loss.

    Raises
    ------
    ValueError
        There is no model, a column has another length than the others, an amount is not a number, or a cost is below 0.
    """

    cost: FloatArray
    loss: FloatArray
    criterion: FloatArray = field(default=None, kw_only=True)  # type: ignore[arg-type]  # the loss, once checked

    def __repr__(self) -> str:
        cost, loss = (f"{plain(amounts.min())} to {plain(amounts.max())}" for amounts in (self.cost, self.loss))
        return f"{type(self).__name__}({self.cost.size} models, cost {cost}, loss {loss})"

    def __post_init__(self) -> None:
        if self.criterion is None:
            object.__setattr__(self, "criterion", self.loss)
        for name in ("cost", "loss", "criterion"):
            amounts = np.asarray(getattr(self, name), dtype=np.float64)
            if np.isnan(amounts).any():
                raise ValueError(f"{name}: expected numbers, got NaN")
            object.__setattr__(self, name, read_only(amounts))
        if self.cost.size and self.cost.min() < 0:
            raise ValueError(f"cost: expected numbers >= 0, got {plain(self.cost.min())}")
        for name, column in self.columns().items():
            if column.shape != self.cost.shape or column.ndim != 1 or column.size == 0:
                raise ValueError(
                    f"{name}: expected one value for each of one or more models, got shape {column.shape} where cost "
                    f"has {self.cost.shape}"
                )

    @staticmethod
    def of_points(points: Iterable[tuple[SupportsFloat, SupportsFloat]]) -> Frontier:
        """Collect models, given the cost and the loss of each.

        Raises
        ------
        ValueError
            A point is no pair of numbers, or what `Frontier` refuses.
        """
        pairs = []
        for point in points:
            if np.asarray(point, dtype=object).shape != (2,):
                raise ValueError(f"points: expected pairs of numbers, cost and loss, got {one_line(repr(point))}")
            cost, loss = point
            pairs.append((float(cost), float(loss)))
        return Frontier(*np.array(pairs).reshape(-1, 2).T)

    def columns(self) -> dict[str, Any]:
        """Return what is known of each model, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def only(self, places: IntArray) -> Self:
        """Take some of the models, in this order."""
        return replace(self, **{name: column[places] for name, column in self.columns().items()})

    def in_money(self, price_of_loss: float = 1.0) -> Self:
        """Return the same models, of which that is best whose cost and loss sum up to the least.

        Parameters
        ----------
        price_of_loss : float
            What a loss of 1 costs.
        """
        return replace(self, criterion=self.cost + price_of_loss * self.loss)

    def within(self, budget: object | None) -> int:
        """Find the best model within a budget, the cheapest of several, the first of these.

        Parameters
        ----------
        budget : number or None
            What an example may cost on average; None allows any cost.

        Returns
        -------
        int
            The model's place.

        Raises
        ------
        TypeError, ValueError
            The budget is no number, negative, or below the cost of the cheapest model.
        """
        allowed = np.flatnonzero(self.cost <= spending_limit(budget))
        if allowed.size == 0:
            least = f"{self.cost.min():.6g}"
            raise ValueError(
                f"budget: expected at least {least}, the cost of the cheapest model, got {as_given(budget)}"
            )
        return int(allowed[np.lexsort((self.cost[allowed], self.criterion[allowed]))[0]])

    def mixture(self, budget: object | None) -> Mix:
        """Find the mixture of least expected criterion whose expected cost is within a budget.

        That is the linear program over shares that are not negative and sum up to 1. An optimum lies on the lower hull
        of criterion over cost, between two of its corners.

        Parameters
        ----------
        budget : number or None
            What an example may cost on average; None allows any cost.

        Raises
        ------
        TypeError, ValueError
            See `within`.
        """
        self.within(budget)
        corners = self.hull()
        last = int(np.searchsorted(self.cost[corners], spending_limit(budget), side="right")) - 1
        if last + 1 == len(corners):
            return Mix(corners[last], corners[last], 0.0)
        cheap, costly = corners[last], corners[last + 1]
        amount = 0.0 if budget is None else float(nonnegative_fraction(budget, "budget"))
        extra = max(amount - self.cost[cheap], 0.0)
        return Mix(cheap, costly, float(extra / (self.cost[costly] - self.cost[cheap])))

    def mean_loss(self, mix: Mix) -> float:
        """Average the loss of the two models of a mixture."""
        return float((1 - mix.share) * self.loss[mix.cheap] + mix.share * self.loss[mix.costly])

    def undominated(self) -> IntArray:
        """List the models that are better than every one that costs no more, by rising cost; of equals the first.

        Returns
        -------
        ndarray of int64
            Their places.
        """
        order = np.lexsort((self.criterion, self.cost))
        ranked = self.criterion[order]
        kept: IntArray = order[ranked < np.minimum.accumulate(np.append(np.inf, ranked[:-1]))]
        return kept

    def hull(self) -> list[int]:
        """List the corners of the lower hull of criterion over cost, by rising cost, as far as the criterion falls.

        Returns
        -------
        list of int
            Their places.
        """
        corners: list[int] = []
        for place in self.undominated().tolist():
            while len(corners) > 1 and not self._turns_up(corners[-2], corners[-1], place):
                corners.pop()
            corners.append(place)
        return corners

    def _turns_up(self, a: int, b: int, c: int) -> bool:
        cost, least = self.cost, self.criterion
        return bool((least[b] - least[a]) * (cost[c] - cost[b]) < (least[c] - least[b]) * (cost[b] - cost[a]))
