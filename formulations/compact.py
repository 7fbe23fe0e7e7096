"""Compact: IP3 after eliminating the tree-wise usage variables."""

from __future__ import annotations

from typing import Any

from formulations._pyomo import pyo
from formulations.arrays import LeafFormulation, Rows, acquisition_network, first_uses, needs, use_paths
from formulations.base import HERE, ModelSize, ModelSpecification, Network
from formulations.components import errors_and_costs, leaf_model, variables
from ipforest._internal.arrays import FloatArray
from ipforest.instance import PruningInstance


class Compact(LeafFormulation):
    r"""IP3 without w^(t): its equation says w^(t) = 1 - sum of z, put into w^(t) <= w.

    .. math::
        \min_{z, w} \quad & \frac{1}{N T} \sum_t \sum_{h \in \mathcal{T}_t} e_h z_h
            + \lambda \Big[ \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big)
            + \frac{\mathrm{split\_cost}}{N} \sum_t \sum_{h \in \mathcal{T}_t} |S_h| d_h z_h \Big] \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & w_{k,i} + \sum_{h \in p(u_{t,k,i})} z_h \ge 1 && \forall k \in K_{t,i}, \forall i, \forall t \\
        & z_h, \ w_{k,i} \in \{0, 1\}

    The row of a triple says: if nothing on the way to u_{t,k,i}, itself included, is a leaf, then k is acquired for i.
    """

    name = "compact"
    paper = HERE
    equation = "(IP3) without w^(t)"
    integral = True
    reason = "the columns of z and of w are two laminar families over the path rows, a transposed network matrix"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it over ``model.z`` and ``model.w``."""
        model = leaf_model(specification)
        model.w = variables(model, model.data.pairs)
        model.usage_unless_stopped = pyo.Constraint(list(model.data.first_use), rule=usage_unless_stopped)
        model.objective = errors_and_costs(model)
        return model

    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return w_{k,i} + sum of z over p(u) >= 1."""
        instance = specification.instance
        return (Rows(first_uses("usage_unless_stopped", instance), [use_paths(instance), needs(instance)], ">=", 1),)

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count in closed form."""
        return ModelSize(instance.n_nodes + instance.n_acquisitions, instance.n_leaves + instance.n_triples)

    def multipliers(self, specification: ModelSpecification, row_duals: FloatArray) -> FloatArray:
        """Read the duals of the rows of w."""
        return row_duals[specification.instance.n_leaves :]

    def network(self, instance: PruningInstance) -> Network:
        """Return the tree of z and w: a row of w runs from its own vertex through the root to the first use."""
        return acquisition_network(instance)


def usage_unless_stopped(model: Any, t: int, k: int, i: int) -> Any:
    """w_{k,i} + sum of z over p(u_{t,k,i}) is at least 1: second and third row of (IP3) in one."""
    first_use = model.data.first_use[t, k, i]
    return model.w[k, i] + pyo.quicksum(model.z[h] for h in model.data.path[first_use]) >= 1
