"""IP0: pruning without feature costs (Sherali, Hobeika, Jeenanunta 2009)."""

from __future__ import annotations

import pyomo.environ as pyo

from formulations.components import empty_model, errors, one_leaf_per_path, variables
from formulations.specification import ModelSpecification


def build_ip0(specification: ModelSpecification) -> pyo.ConcreteModel:
    r"""State IP0, the pruning of least error: optimal-pruning paper, section 3, (IP0).

    .. math::
        \min_z \quad & \frac{1}{N T} \sum_t \sum_{h \in \mathcal{T}_t} e_h z_h \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & z_h \in \{0, 1\} && \forall h

    The paper states it for one tree; without costs nothing joins the trees, so a forest's is the sum over its trees.
    There is no lambda and no cost in it.

    Parameters
    ----------
    specification : ModelSpecification
        If it is relaxed z ranges over [0, 1]; every vertex stays 0-1.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With ``model.z`` and ``model.objective`` in units of ``model.specification.objective_unit``.
    """
    model = empty_model(specification)
    model.z = variables(model, model.data.nodes)
    model.one_leaf_per_path = pyo.Constraint(model.data.leaves, rule=one_leaf_per_path)
    model.objective = pyo.Objective(expr=errors(model))
    return model
