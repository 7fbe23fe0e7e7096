"""IP3: the papers' program for an ensemble; with the split cost, the IP of NIPS 2016."""

from __future__ import annotations

import pyomo.environ as pyo

from formulations.components import (
    acquisition_costs,
    empty_model,
    errors,
    one_leaf_per_path,
    test_costs,
    usage_anywhere,
    usage_in_tree,
    variables,
)
from formulations.specification import ModelSpecification


def build_ip3(specification: ModelSpecification) -> pyo.ConcreteModel:
    r"""State IP3: optimal-pruning paper, section 4, (IP3); with a split cost, BudgetPrune, section 3, (IP).

    .. math::
        \min_{z, w^{(t)}, w} \quad & \frac{1}{N T} \sum_t \sum_{h \in \mathcal{T}_t} e_h z_h
            + \lambda \Big[ \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big)
            + \frac{\mathrm{split\_cost}}{N} \sum_t \sum_{h \in \mathcal{T}_t} |S_h| d_h z_h \Big] \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & w^{(t)}_{k,i} + \sum_{h \in p(u_{t,k,i})} z_h = 1 && \forall k \in K_{t,i}, \forall i, \forall t \\
        & w^{(t)}_{k,i} \le w_{k,i} && \forall k \in K_{t,i}, \forall i, \forall t \\
        & z_h, \ w^{(t)}_{k,i}, \ w_{k,i} \in \{0, 1\}

    The papers write the last rows for all k in [K]; those with k outside K_{t,i} bind nothing and are left out, as in
    their counts of rows.

    Parameters
    ----------
    specification : ModelSpecification
        If it is relaxed all variables range over [0, 1]; every vertex stays 0-1 (Theorem 4.2; BudgetPrune,
        Theorem 3.2).

    Returns
    -------
    pyomo.environ.ConcreteModel
        With ``model.z``, ``model.w_tree``, ``model.w`` and ``model.objective`` in units of
        ``model.specification.objective_unit``.
    """
    model = empty_model(specification)
    model.z = variables(model, model.data.nodes)
    model.w_tree = variables(model, list(model.data.first_use))
    model.w = variables(model, model.data.pairs)
    model.one_leaf_per_path = pyo.Constraint(model.data.leaves, rule=one_leaf_per_path)
    model.usage_in_tree = pyo.Constraint(list(model.data.first_use), rule=usage_in_tree)
    model.usage_anywhere = pyo.Constraint(list(model.data.first_use), rule=usage_anywhere)
    p, q = specification.weights
    model.objective = pyo.Objective(expr=q * errors(model) + p * (acquisition_costs(model) + test_costs(model)))
    return model
