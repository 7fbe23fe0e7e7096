"""A sensor's set-up price: paid once if any example uses the unit, on top of the price for each example."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import bought, closure, standard, unit_prices
from ipforest.instance import PruningInstance
from ipforest.results import Pruning


def setup_price(factor: int = 2) -> ModelledFormulation:
    r"""Add y_k (the sensor of unit k is set up) with :math:`w_{k,i} \le y_k`; still a closure.

    Parameters
    ----------
    factor : int
        The set-up price, in prices of one example.
    """

    def price(data: ModelData) -> dict[int, int]:
        return {unit: factor * each for unit, each in unit_prices(data).items()}

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        prices = price(data)
        program.y = pyo.Var(list(prices), domain=pyo.Binary)
        program.set_up = pyo.Constraint(data.pairs, rule=lambda m, k, i: m.w[k, i] <= m.y[k])
        paid_once = pyo.quicksum(prices[k] * program.y[k] for k in prices)
        cost = program.cost + float(instance.cost_unit) * paid_once
        program.objective = pyo.Objective(expr=program.error + float(lam) * cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        prices = price(ModelData.of(instance))
        units = {unit for unit, _ in bought(instance, pruning)}
        return standard(instance, lam, pruning) + lam * instance.cost_unit * sum(prices[unit] for unit in units)

    return ModelledFormulation(
        "setup-price", model, worth=worth, integral=True, reason="y is one more arc of a closure"
    )
