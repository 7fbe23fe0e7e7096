"""IP3: the papers' program for an ensemble; with the split cost, the IP of NIPS 2016."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations._pyomo import pyo
from formulations.arrays import (
    LeafFormulation,
    Rows,
    acquisitions,
    first_use_vertices,
    first_uses,
    forest_with_star,
    leaf_choices,
    needs,
    path_ends,
    use_paths,
)
from formulations.base import BUDGETPRUNE, OPTIMAL_PRUNING, ModelSize, ModelSpecification, Network
from formulations.components import errors_and_costs, leaf_model, usage_anywhere, usage_in_tree, variables
from ipforest._internal.arrays import FloatArray
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block, selection


class IP3(LeafFormulation):
    r"""IP3: optimal-pruning paper, section 4, (IP3); with a split cost, BudgetPrune, section 3, (IP).

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
    """

    name = "ip3"
    paper = f"{OPTIMAL_PRUNING}; {BUDGETPRUNE}, (IP)"
    equation = "(IP3), (IP)"
    integral = True
    reason = "pivoting w^(t) out leaves two laminar families of columns, a transposed network matrix"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it over ``model.z``, ``model.w_tree`` and ``model.w``."""
        model = self.unpriced(specification)
        model.objective = errors_and_costs(model)
        return model

    def unpriced(self, specification: ModelSpecification) -> Any:
        """Write all but the objective."""
        model = leaf_model(specification)
        model.w_tree = variables(model, list(model.data.first_use))
        model.w = variables(model, model.data.pairs)
        model.usage_in_tree = pyo.Constraint(list(model.data.first_use), rule=usage_in_tree)
        model.usage_anywhere = pyo.Constraint(list(model.data.first_use), rule=usage_anywhere)
        return model

    def columns(self, instance: PruningInstance) -> tuple[Block, ...]:
        """Name z by node, w^(t) by triple, w by acquisition."""
        return leaf_choices(instance), first_uses("w_tree", instance), acquisitions(instance)

    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return the equations of w^(t) and w^(t) <= w."""
        instance = specification.instance
        here = selection(np.arange(instance.n_triples), instance.n_triples)
        return (
            Rows(first_uses("usage_in_tree", instance), [use_paths(instance), here, None], "==", 1),
            Rows(first_uses("usage_anywhere", instance), [None, here, -needs(instance)], "<=", 0),
        )

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count in closed form."""
        variables = instance.n_nodes + instance.n_triples + instance.n_acquisitions
        return ModelSize(variables, instance.n_leaves + 2 * instance.n_triples)

    def multipliers(self, specification: ModelSpecification, row_duals: FloatArray) -> FloatArray:
        """Read the duals of w^(t) <= w."""
        instance = specification.instance
        start = instance.n_leaves + instance.n_triples
        return -row_duals[start : start + instance.n_triples]

    def network(self, instance: PruningInstance) -> Network | None:
        """Return the tree of z, w^(t) and w: the last rows run along w^(t) into the root and back against w."""
        triple = instance.n_nodes + 1 + np.arange(instance.n_triples)
        acquisition = instance.n_nodes + 1 + instance.n_triples + instance.indices.astype(np.int64)
        ends = path_ends(instance, [triple, triple], [first_use_vertices(instance), acquisition])
        return forest_with_star(instance.node_parent, instance.n_triples + instance.n_acquisitions, *ends)
