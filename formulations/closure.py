"""Closure: IP3 in the variables "h stays internal", a maximum-weight closure."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.components import acquisition_costs, empty_model, variables
from formulations.specification import ModelSpecification


def build_closure(specification: ModelSpecification) -> pyo.ConcreteModel:
    r"""State IP3 in x_h = 1 - sum of z over p(h): h keeps its test.

    .. math::
        \min_{x, w} \quad & \frac{1}{N T} \Big[ \sum_{h \text{ root}} e_h - \sum_h \mathrm{gain}_h x_h \Big]
            + \lambda \Big[ \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big)
            + \frac{\mathrm{split\_cost}}{N} \sum_h |S_h| x_h \Big] \\
        \text{s.t.} \quad & x_h \le x_{\mathrm{parent}(h)} && \forall h \text{ internal, no root} \\
        & x_{u_{t,k,i}} \le w_{k,i} && \forall k \in K_{t,i}, \forall i, \forall t \\
        & x_h, \ w_{k,i} \in \{0, 1\}

    with gain_h = e_h minus the errors of h's children, h over the internal nodes. Each row says "this one only with
    that one": it is the choice of a closed set of largest gain minus cost, Picard's maximum-weight closure (1976), and
    one minimum cut solves it.

    Parameters
    ----------
    specification : ModelSpecification
        If it is relaxed x and w range over [0, 1]; every vertex stays 0-1.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With ``model.x``, ``model.w`` and ``model.objective`` in units of ``model.specification.objective_unit``.
    """
    model = empty_model(specification)
    model.x = variables(model, model.data.internal)
    model.w = variables(model, model.data.pairs)
    model.kept_under_parent = pyo.Constraint(list(model.data.parent), rule=kept_under_parent)
    model.acquired_where_kept = pyo.Constraint(list(model.data.first_use), rule=acquired_where_kept)
    p, q = specification.weights
    model.objective = pyo.Objective(expr=q * errors_left(model) + p * (acquisition_costs(model) + test_costs(model)))
    return model


def kept_under_parent(model: pyo.ConcreteModel, h: int) -> Any:
    """x_h <= x_parent(h): a node keeps its test only if its parent does."""
    return model.x[h] <= model.x[model.data.parent[h]]


def acquired_where_kept(model: pyo.ConcreteModel, t: int, k: int, i: int) -> Any:
    """x_u <= w_{k,i} at u = u_{t,k,i}: a test that stays needs its unit for each example."""
    return model.x[model.data.first_use[t, k, i]] <= model.w[k, i]


def errors_left(model: pyo.ConcreteModel) -> Any:
    """Errors of the bare roots less the gains of the tests that stay."""
    data = model.data
    gain = dict.fromkeys(data.internal, 0)
    bare_roots = 0
    for h, path in data.path.items():
        if h in gain:
            gain[h] += data.e[h]
        if len(path) > 1:
            gain[path[-2]] -= data.e[h]
        else:
            bare_roots += data.e[h]
    return bare_roots - pyo.quicksum(gain[h] * model.x[h] for h in data.internal)


def test_costs(model: pyo.ConcreteModel) -> Any:
    """Sum |S_h| x_h: BudgetPrune's |S_h| d_h z_h, paid test by test."""
    return pyo.quicksum(cost * model.x[h] for h, cost in model.data.s.items() if cost)
