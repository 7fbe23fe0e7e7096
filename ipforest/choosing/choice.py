"""What a budget allows, and the best of several models within it."""

from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.rational import nonnegative_fraction

__all__ = ["ROUNDING", "Mix", "best_affordable", "best_mix", "falling_hull", "spending_limit", "undominated"]


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


def best_affordable(cost: npt.ArrayLike, error: npt.ArrayLike, budget: object | None) -> int:
    """Find the model of least error within a budget, the cheapest of several, the first of these.

    Parameters
    ----------
    cost, error : array of float64, shape (n_models,)
        What the models cost and lose on held-out examples.
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
    costs, errors = np.asarray(cost, dtype=np.float64), np.asarray(error, dtype=np.float64)
    allowed = np.flatnonzero(costs <= spending_limit(budget))
    if allowed.size == 0:
        raise ValueError(f"budget: expected at least {costs.min():.6g}, the cost of the cheapest model, got {budget}")
    return int(allowed[np.lexsort((costs[allowed], errors[allowed]))[0]])


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


def best_mix(cost: npt.ArrayLike, error: npt.ArrayLike, budget: object | None) -> Mix:
    """Find the mixture of least expected error whose expected cost is within a budget.

    That is the linear program over shares that are not negative and sum up to 1. An optimum lies on the lower hull of
    error over cost, between two of its corners.

    Parameters
    ----------
    cost, error : array of float64, shape (n_models,)
        What the models cost and lose on held-out examples.
    budget : number or None
        What an example may cost on average; None allows any cost.

    Returns
    -------
    Mix

    Raises
    ------
    TypeError, ValueError
        See `best_affordable`.
    """
    costs, errors = np.asarray(cost, dtype=np.float64), np.asarray(error, dtype=np.float64)
    best_affordable(costs, errors, budget)
    corners = falling_hull(costs, errors)
    limit = spending_limit(budget)
    last = int(np.searchsorted(costs[corners], limit, side="right")) - 1
    if last + 1 == len(corners):
        return Mix(corners[last], corners[last], 0.0)
    cheap, costly = corners[last], corners[last + 1]
    amount = 0.0 if budget is None else float(nonnegative_fraction(budget, "budget"))
    return Mix(cheap, costly, float(max(amount - costs[cheap], 0.0) / (costs[costly] - costs[cheap])))


def undominated(cost: npt.ArrayLike, error: npt.ArrayLike) -> IntArray:
    """List the models of less error than every one that costs no more, by rising cost; of equals the first.

    Parameters
    ----------
    cost, error : array of float64, shape (n_models,)

    Returns
    -------
    ndarray of int64
        Their places.
    """
    costs, errors = np.asarray(cost, dtype=np.float64), np.asarray(error, dtype=np.float64)
    order = np.lexsort((errors, costs))
    ranked = errors[order]
    kept: IntArray = order[ranked < np.minimum.accumulate(np.append(inf, ranked[:-1]))]
    return kept


def falling_hull(cost: npt.ArrayLike, error: npt.ArrayLike) -> list[int]:
    """List the corners of the lower hull of error over cost, by rising cost, as far as the error falls.

    Parameters
    ----------
    cost, error : array of float64, shape (n_models,)

    Returns
    -------
    list of int
        Their places.
    """
    costs, errors = np.asarray(cost, dtype=np.float64), np.asarray(error, dtype=np.float64)
    corners: list[int] = []
    for place in undominated(costs, errors).tolist():
        while len(corners) > 1 and not _turns_up(costs, errors, corners[-2], corners[-1], place):
            corners.pop()
        corners.append(place)
    return corners


def _turns_up(cost: FloatArray, error: FloatArray, a: int, b: int, c: int) -> bool:
    return bool((error[b] - error[a]) * (cost[c] - cost[b]) < (error[c] - error[b]) * (cost[b] - cost[a]))
