"""IP1: the naive formulation, whose relaxation has fractional vertices."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations import indexing
from formulations.components import acquisition_costs, empty_model, errors, one_leaf_per_path, test_costs, variables
from formulations.specification import ModelSpecification


def build_ip1(specification: ModelSpecification) -> pyo.ConcreteModel:
    r"""State IP1: optimal-pruning paper, section 4, (IP1); BudgetPrune, appendix 6.1.

    .. math::
        \min_{z, w} \quad & \frac{1}{N T} \sum_h e_h z_h + \lambda \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big) \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & w_{k,i} \ge z_h && \forall h, k, i : i \in S_h, \ k \sim p(h) \\
        & z_h \in \{0, 1\}, \ w_{k,i} \in \{0, 1\}

    where k ~ p(h) says that a proper ancestor of h needs unit k: h lies strictly below u_{t,k,i} on the path of
    example i. The paper states one tree; with w_{k,i} "used in any tree" (BudgetPrune) the same rows state a forest,
    and the 0-1 program is exact. The relaxation is not: w is held up by each z_h alone, where their sum along the
    path is valid. An instance's split cost enters as in BudgetPrune's (IP), though no paper has it in IP1.

    Parameters
    ----------
    specification : ModelSpecification
        Of an instance with ``example_leaf``: the rows need the whole path of each example. If it is relaxed z and w
        range over [0, 1].

    Returns
    -------
    pyomo.environ.ConcreteModel
        With ``model.z``, ``model.w`` and ``model.objective`` in units of ``model.specification.objective_unit``.
    """
    model = empty_model(specification)
    model.z = variables(model, model.data.nodes)
    model.w = variables(model, model.data.pairs)
    _, below_first_use = indexing.rows(specification)
    model.one_leaf_per_path = pyo.Constraint(model.data.leaves, rule=one_leaf_per_path)
    model.acquired_above_leaf = pyo.Constraint(below_first_use.tuples(), rule=acquired_above_leaf)
    p, q = specification.weights
    model.objective = pyo.Objective(expr=q * errors(model) + p * (acquisition_costs(model) + test_costs(model)))
    return model


def acquired_above_leaf(model: pyo.ConcreteModel, h: int, k: int, i: int) -> Any:
    """w_{k,i} >= z_h: if h is a leaf, its examples have used all units above it; (IP1), second row."""
    return model.w[k, i] >= model.z[h]
