"""Precedence: a unit may be bought for an example only together with another one, such as a biopsy after a scan."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.model_data import ModelData, Pair
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import bought, closure, with_more
from ipforest.instance import PruningInstance
from ipforest.results import Pruning

Before = Callable[[PruningInstance], dict[int, int]]
"""Gives, for each unit that needs another one before it, that other unit."""


def each_after_the_last(instance: PruningInstance) -> dict[int, int]:
    """Let each unit that is bought at all need the one before it; the first needs none."""
    units = sorted({unit for unit, _ in ModelData.of(instance).pairs})
    return dict(zip(units[1:], units, strict=False))


def precedence(before: Before = each_after_the_last) -> ModelledFormulation:
    r"""Add :math:`w_{k,i} \le w_{j,i}` where k needs j; still a closure.

    Parameters
    ----------
    before : callable
        See `Before`.
    """

    def needed(chain: dict[int, int], pairs: set[Pair]) -> list[Pair]:
        """Add the units that come before."""
        found = set(pairs)
        for unit, example in pairs:
            while unit in chain:
                unit = chain[unit]
                found.add((unit, example))
        return sorted(found)

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        chain = before(instance)
        program, _ = closure(instance, needed(chain, set(ModelData.of(instance).pairs)))
        later = [pair for pair in program.w if pair[0] in chain]
        program.one_after_the_other = pyo.Constraint(later, rule=lambda m, k, i: m.w[k, i] <= m.w[chain[k], i])
        program.objective = pyo.Objective(expr=program.error + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        pairs = bought(instance, pruning)
        return with_more(instance, lam, pruning, set(needed(before(instance), pairs)) - pairs)

    return ModelledFormulation(
        "precedence", model, worth=worth, integral=True, reason="w <= w is one more arc of a closure"
    )
