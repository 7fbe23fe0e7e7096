"""Compact: IP3 after eliminating the tree-wise usage variables."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.components import acquisition_costs, empty_model, errors, one_leaf_per_path, test_costs, variables
from formulations.specification import ModelSpecification


def build_compact(specification: ModelSpecification) -> pyo.ConcreteModel:
    r"""State IP3 without w^(t): its equation says w^(t) = 1 - sum of z, put into w^(t) <= w.

    .. math::
        \min_{z, w} \quad & \frac{1}{N T} \sum_t \sum_{h \in \mathcal{T}_t} e_h z_h
            + \lambda \Big[ \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big)
            + \frac{\mathrm{split\_cost}}{N} \sum_t \sum_{h \in \mathcal{T}_t} |S_h| d_h z_h \Big] \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & w_{k,i} + \sum_{h \in p(u_{t,k,i})} z_h \ge 1 && \forall k \in K_{t,i}, \forall i, \forall t \\
        & z_h, \ w_{k,i} \in \{0, 1\}

    The row of a triple says: if nothing on the way to u_{t,k,i}, itself included, is a leaf, then k is acquired for i.

    Parameters
    ----------
    specification : ModelSpecification
        If it is relaxed z and w range over [0, 1]; every vertex stays 0-1.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With ``model.z``, ``model.w`` and ``model.objective`` in units of ``model.specification.objective_unit``.
    """
    model = empty_model(specification)
    model.z = variables(model, model.data.nodes)
    model.w = variables(model, model.data.pairs)
    model.one_leaf_per_path = pyo.Constraint(model.data.leaves, rule=one_leaf_per_path)
    model.usage_unless_stopped = pyo.Constraint(list(model.data.first_use), rule=usage_unless_stopped)
    p, q = specification.weights
    model.objective = pyo.Objective(expr=q * errors(model) + p * (acquisition_costs(model) + test_costs(model)))
    return model


def usage_unless_stopped(model: pyo.ConcreteModel, t: int, k: int, i: int) -> Any:
    """w_{k,i} + sum of z over p(u_{t,k,i}) is at least 1: second and third row of (IP3) in one."""
    first_use = model.data.first_use[t, k, i]
    return model.w[k, i] + pyo.quicksum(model.z[h] for h in model.data.path[first_use]) >= 1
