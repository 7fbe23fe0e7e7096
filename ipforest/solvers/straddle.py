"""The two prunings of the path whose costs enclose a budget, without the rest of the path."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ipforest._internal.arrays import BoolArray
from ipforest.instance import PruningInstance
from ipforest.maxflow.parametric_cut import ParametricCut
from ipforest.maxflow.presolve import presolve
from ipforest.results import Pruning

__all__ = ["Straddle", "straddle"]


@dataclass(frozen=True, slots=True, eq=False)
class Straddle:
    """Two neighbouring prunings of the path, and the line through them.

    Parameters
    ----------
    smaller, larger : ndarray of bool, shape (n_internal,)
        Nodes kept within the budget, and by the next pruning, which exceeds it. The same if the budget is enough for
        the best of all prunings.
    lam : Fraction
        Where both are optimal; 0 if they are the same.
    bound : Fraction
        In error units: no pruning within the budget has a lower error.
    """

    smaller: BoolArray
    larger: BoolArray
    lam: Fraction
    bound: Fraction


def straddle(instance: PruningInstance, limit: int, enough: int | None = None) -> Straddle:
    """Find the prunings around a budget.

    Parameters
    ----------
    instance : PruningInstance
    limit : int
        The budget in cost units, >= 0.
    enough : int, optional
        Stop as soon as the bound exceeds this; the two prunings then need not be neighbours.

    Raises
    ------
    OverflowError
        As `ipforest.prune_path`.
    """
    cut = ParametricCut(presolve(instance))
    kept = cut.always.copy()
    if not cut.open:
        return _ends(instance, cut, kept)
    subproblem = cut.open.pop()
    if subproblem.totals.cost <= limit:
        kept[subproblem.members.nodes] = True
        return _ends(instance, cut, kept)
    spare = limit
    error = instance.integer_error(Pruning(_restored(cut, kept)))
    best: Fraction | None = None
    while True:
        lam = subproblem.break_even()
        upper, lower = cut.cut_at(subproblem, lam)
        gain, cost = (0, 0) if upper is None else upper.totals[:2]
        bound = error - gain - Fraction(*lam) * (spare - cost)
        if best is None or bound >= best:
            best, slope = bound, Fraction(*lam)
        if upper is None or lower is None or (enough is not None and best > enough):
            break
        if cost > spare:
            subproblem = upper
        else:
            kept[upper.members.nodes] = True
            error, spare, subproblem = error - gain, spare - cost, lower
    smaller = _restored(cut, kept)
    kept[subproblem.members.nodes] = True
    return Straddle(smaller, _restored(cut, kept), slope * instance.error_unit / instance.cost_unit, best)


def _ends(instance: PruningInstance, cut: ParametricCut, kept: BoolArray) -> Straddle:
    """Return the best of all prunings, which is within the budget."""
    best = _restored(cut, kept)
    return Straddle(best, best, Fraction(0), Fraction(instance.integer_error(Pruning(best))))


def _restored(cut: ParametricCut, kept: BoolArray) -> BoolArray:
    """Turn kept nodes of the reduced problem into kept nodes of the instance."""
    return np.append(kept, True)[cut.reduced.node]
