"""Robust prices: each unit's price lies in an interval, and at most Gamma of them are at its upper end."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import bought, closure, standard, unit_prices
from ipforest.instance import PruningInstance
from ipforest.results import Pruning


def robust_prices(gamma: int = 1, rise: int = 1) -> ModelledFormulation:
    r"""Pay the worst case of Bertsimas and Sim (2004): the Gamma units that rise most, in their dual.

    .. math:: \min\ \mathrm{error} + \lambda [\mathrm{cost} + \Gamma \theta + \sum_k \rho_k], \qquad
        \theta + \rho_k \ge d_k \sum_i w_{k,i}, \quad \theta, \rho \ge 0.

    Parameters
    ----------
    gamma : int
        How many prices may rise.
    rise : int
        d_k, in prices of the unit.
    """

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        rises = {unit: rise * price for unit, price in unit_prices(data).items()}
        most = max(1, instance.n_examples * max(rises.values(), default=0))
        program.theta = pyo.Var(bounds=(0, most))
        program.rho = pyo.Var(list(rises), bounds=(0, most))
        program.risen = pyo.Constraint(
            list(rises),
            rule=lambda m, k: (
                m.theta + m.rho[k] >= rises[k] * pyo.quicksum(m.w[pair] for pair in data.pairs if pair[0] == k)
            ),
        )
        risen = gamma * program.theta + pyo.quicksum(program.rho[k] for k in rises)
        cost = program.cost + float(instance.cost_unit) * risen
        program.objective = pyo.Objective(expr=program.error + float(lam) * cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        prices, units = unit_prices(ModelData.of(instance)), [unit for unit, _ in bought(instance, pruning)]
        rises = sorted((rise * price * units.count(unit) for unit, price in prices.items()), reverse=True)
        return standard(instance, lam, pruning) + lam * instance.cost_unit * sum(rises[:gamma])

    return ModelledFormulation(
        "robust-prices", model, worth=worth, reason="the worst case is the maximum of several sums"
    )
