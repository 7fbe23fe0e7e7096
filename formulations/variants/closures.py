"""What the variants start from: the closure form of the pruning problem over public data, and what a pruning buys."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.components import errors_left
from formulations.model_data import ModelData, Pair
from ipforest.instance import PruningInstance
from ipforest.results import Pruning

__all__ = ["bought", "closure", "kept_nodes", "standard", "unit_prices", "with_more"]


def closure(instance: PruningInstance, more_pairs: Iterable[Pair] = ()) -> tuple[Any, ModelData]:
    """Start a model in x_h (h keeps its test) and w_{k,i} (unit k is bought for example i).

    Parameters
    ----------
    instance : PruningInstance
    more_pairs : iterable of (unit, example)
        Bought in addition to those that trees need, at the price of the unit.

    Returns
    -------
    model : pyomo.environ.ConcreteModel
        With the rows x_h <= x_parent(h) and x_u <= w_{k,i}, and the expressions ``error`` and ``cost``.
    data : ModelData
    """
    data, model = ModelData.of(instance), pyo.ConcreteModel()
    pairs = list(dict.fromkeys([*data.pairs, *more_pairs]))
    model.x = pyo.Var(data.internal, domain=pyo.Binary)
    model.w = pyo.Var(pairs, domain=pyo.Binary)
    model.kept_under_parent = pyo.Constraint(list(data.parent), rule=lambda m, h: m.x[h] <= m.x[data.parent[h]])
    model.bought_where_kept = pyo.Constraint(
        list(data.first_use), rule=lambda m, t, k, i: m.x[data.first_use[t, k, i]] <= m.w[k, i]
    )
    error = errors_left(model.x, data, data.e)
    cost = pyo.quicksum(price * model.w[pair] for pair, price in _prices(data, pairs).items())
    cost += pyo.quicksum(data.s[h] * model.x[h] for h in data.internal)
    model.error = pyo.Expression(expr=float(instance.error_unit) * error)
    model.cost = pyo.Expression(expr=float(instance.cost_unit) * cost)
    return model, data


def unit_prices(data: ModelData) -> dict[int, int]:
    """Return the price of each unit, in cost units: its highest price for an example."""
    prices: dict[int, int] = {}
    for (unit, _), price in data.c.items():
        prices[unit] = max(price, prices.get(unit, 0))
    return prices


def kept_nodes(instance: PruningInstance, pruning: Pruning) -> set[int]:
    """Return the nodes that keep their test."""
    return set(instance.internal_nodes[pruning.kept].tolist())


def bought(instance: PruningInstance, pruning: Pruning) -> set[Pair]:
    """Return the pairs that the tests of a pruning need."""
    kept = kept_nodes(instance, pruning)
    return {(k, i) for (_, k, i), h in ModelData.of(instance).first_use.items() if h in kept}


def _prices(data: ModelData, pairs: Iterable[Pair]) -> dict[Pair, int]:
    """Return the price of each pair, in cost units; where no tree needs it, that of its unit."""
    of_units = unit_prices(data)
    return {pair: data.c.get(pair, of_units[pair[0]]) for pair in pairs}


def standard(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
    """Return ``error + lam * cost``."""
    error, cost = instance.evaluate(pruning)
    return error + lam * cost


def with_more(instance: PruningInstance, lam: Fraction, pruning: Pruning, pairs: Iterable[Pair]) -> Fraction:
    """Return ``error + lam * cost`` where these are bought, too."""
    paid = sum(_prices(ModelData.of(instance), pairs).values())
    return standard(instance, lam, pruning) + lam * instance.cost_unit * paid
