"""Batches: a unit is measured for up to B examples in one run, and each run is paid, full or not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import bought, closure, unit_prices
from ipforest.instance import PruningInstance
from ipforest.results import Pruning


def batches(size: int = 2) -> ModelledFormulation:
    r"""Buy r_k runs of unit k, an integer, with :math:`\sum_i w_{k,i} \le B r_k`; a run costs what one example paid.

    Parameters
    ----------
    size : int
        B.
    """

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        prices = unit_prices(data)
        program.runs = pyo.Var(
            list(prices), domain=pyo.NonNegativeIntegers, bounds=(0, -(-instance.n_examples // size))
        )
        program.room = pyo.Constraint(
            list(prices),
            rule=lambda m, k: pyo.quicksum(m.w[pair] for pair in data.pairs if pair[0] == k) <= size * m.runs[k],
        )
        cost = pyo.quicksum(prices[k] * program.runs[k] for k in prices)
        cost += pyo.quicksum(data.s[h] * program.x[h] for h in data.internal)
        program.objective = pyo.Objective(expr=program.error + float(lam) * float(instance.cost_unit) * cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        data, pairs = ModelData.of(instance), bought(instance, pruning)
        units = [unit for unit, _ in pairs]
        runs = sum(-(-units.count(unit) // size) * price for unit, price in unit_prices(data).items())
        split = int(instance.split_cost[pruning.kept].sum())
        return instance.evaluate(pruning)[0] + lam * instance.cost_unit * (runs + split)

    return ModelledFormulation(
        "batches", model, worth=worth, reason="a run that is half full costs half in the relaxation"
    )
