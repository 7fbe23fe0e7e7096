"""What a budget allows, and the best of several models within it."""

from math import inf

import numpy as np
import numpy.typing as npt

from ipforest.rational import nonnegative_fraction

__all__ = ["ROUNDING", "best_affordable", "spending_limit"]


ROUNDING = 1e-9
"""Share of a budget or cap by which a sum of prices may exceed it: floats round."""


def spending_limit(budget: object | None) -> float:
    """Return the largest cost that a budget allows: infinity for None.

    Raises
    ------
    TypeError, ValueError
        The budget is no number, or negative.
    """
    return inf if budget is None else float(nonnegative_fraction(budget, "budget")) * (1 + ROUNDING)


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
