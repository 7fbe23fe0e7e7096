"""A hard cap: no example may cost more than a bound, whatever the average is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import bought, closure, standard
from ipforest.instance import PruningInstance
from ipforest.results import Pruning


def hard_cap(share: object = "1/2") -> ModelledFormulation:
    r"""Add a row for each example i: :math:`\sum_k c_{k,i} w_{k,i} \le \mathrm{cap}`.

    Parameters
    ----------
    share : number
        The cap, as a share of what the most expensive example buys in the unpruned forest.
    """
    part = Fraction(str(share))

    def cap(data: ModelData) -> int:
        return int(part * max((_paid(data, set(data.pairs), i) for _, i in data.pairs), default=0))

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        program.within_cap = pyo.Constraint(
            sorted({i for _, i in data.pairs}),
            rule=lambda m, i: (
                pyo.quicksum(data.c[pair] * m.w[pair] for pair in data.pairs if pair[1] == i) <= cap(data)
                if any(data.c[pair] for pair in data.pairs if pair[1] == i)
                else pyo.Constraint.Skip
            ),
        )
        program.objective = pyo.Objective(expr=program.error + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction | None:
        data, pairs = ModelData.of(instance), bought(instance, pruning)
        allowed = all(_paid(data, pairs, i) <= cap(data) for _, i in data.pairs)
        return standard(instance, lam, pruning) if allowed else None

    return ModelledFormulation("hard-cap", model, worth=worth, reason="a knapsack row for each example")


def _paid(data: ModelData, pairs: set[tuple[int, int]], example: int) -> int:
    return sum(data.c[pair] for pair in pairs if pair[1] == example)
