"""Whether an average cost keeps a budget with some probability, told from what examples pay."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from ipforest._internal.arrays import FloatArray

__all__ = ["BOUNDS", "keeps"]

BOUNDS = ("betting", "student")

MAX_BET = 0.75
"""Share of the capital that one bet may lose at most."""


def keeps(paid: npt.ArrayLike, budget: float, highest: float, confidence: float = 0.95, bound: str = "betting") -> bool:
    """Tell whether the expected cost of an example is within a budget, wrongly yes with a small probability only.

    Parameters
    ----------
    paid : array of float64, shape (n_samples,)
        What independent examples pay, in random order.
    budget : float
    highest : float
        What no example exceeds.
    confidence : float, default=0.95
        If the expected cost exceeds the budget, the answer is no with at least this probability.
    bound : {"betting", "student"}, default="betting"
        The first holds for any number of examples and any distribution. A gambler bets on each example that it pays
        less than the budget, more the surer the examples so far make it; whatever the bets, the capital is multiplied
        by 20 with a probability of at most 1/20 if the budget is not kept (Waudby-Smith and Ramdas, "Estimating means
        of bounded random variables by betting", 2024; Ville's inequality). The second is Student's one-sided interval,
        which is narrower, and true where means are nearly normal: few examples, of which a few pay much, exceed it.
    """
    costs = np.asarray(paid, dtype=np.float64)
    if budget >= highest:
        return True
    if bound == "student":
        return _upper_end(costs, confidence) <= budget
    return bool(_capital(costs / highest, budget / highest, confidence).max() >= 1 / (1 - confidence))


def _upper_end(costs: FloatArray, confidence: float) -> float:
    if costs.size < 2:
        return np.inf
    return float(costs.mean() + t.ppf(confidence, costs.size - 1) * costs.std(ddof=1) / sqrt(costs.size))


def _capital(costs: FloatArray, budget: float, confidence: float) -> FloatArray:
    """Follow the capital of a gambler whose bet is that costs between 0 and 1 are below a budget.

    A bet depends on earlier costs only, so the capital is a supermartingale if the expected cost is above the budget.
    """
    before = np.arange(1, costs.size + 1)
    mean = (0.5 + np.cumsum(costs)) / (before + 1)
    spread = (0.25 + np.cumsum(np.square(costs - mean))) / (before + 1)
    known = np.concatenate([[0.25], spread[:-1]])
    bets = np.minimum(np.sqrt(2 * log(1 / (1 - confidence)) / (known * costs.size)), MAX_BET / (1 - budget))
    return np.asarray(np.cumprod(1 + bets * (budget - costs)), dtype=np.float64)
