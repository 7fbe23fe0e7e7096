"""IP1: the naive formulation, whose relaxation has fractional vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations import indexing
from formulations._pyomo import pyo
from formulations.arrays import LeafFormulation, Rows, needs
from formulations.base import BUDGETPRUNE, OPTIMAL_PRUNING, ModelSize, ModelSpecification
from formulations.components import errors_and_costs, leaf_model, variables
from ipforest._internal.arrays import FloatArray
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block, selection


class IP1(LeafFormulation):
    r"""IP1: optimal-pruning paper, section 4, (IP1); BudgetPrune, appendix 6.1.

    .. math::
        \min_{z, w} \quad & \frac{1}{N T} \sum_h e_h z_h + \lambda \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big) \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & w_{k,i} \ge z_h && \forall h, k, i : i \in S_h, \ k \sim p(h) \\
        & z_h \in \{0, 1\}, \ w_{k,i} \in \{0, 1\}

    where k ~ p(h) says that a proper ancestor of h needs unit k: h lies strictly below u_{t,k,i} on the path of
    example i. The paper states one tree; with w_{k,i} "used in any tree" (BudgetPrune) the same rows state a forest,
    and the 0-1 program is exact. The relaxation is not: w is held up by each z_h alone, where their sum along the
    path is valid. An instance's split cost enters as in BudgetPrune's (IP), though no paper has it in IP1.
    """

    name = "ip1"
    paper = f"{OPTIMAL_PRUNING}; {BUDGETPRUNE}, appendix 6.1"
    equation = "(IP1)"
    routing = True
    integral = False
    reason = "w >= z_h bounds w by each leaf alone where their sum is valid: Figure 1's tree has a vertex of halves"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it over ``model.z`` and ``model.w``, of an instance with ``example_leaf``."""
        model = leaf_model(specification)
        model.w = variables(model, model.data.pairs)
        model.acquired_above_leaf = pyo.Constraint(
            rows_below_first_use(specification.instance).tuples(), rule=acquired_above_leaf
        )
        model.objective = errors_and_costs(model)
        return model

    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return w_{k,i} >= z_h."""
        instance = specification.instance
        triple, node = indexing.nodes_below_first_use(instance)
        parts = [selection(node, instance.n_nodes), -needs(instance)[triple]]
        return (Rows(rows_below_first_use(instance), parts, "<=", 0),)

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count: the rows of w are, over all triples, the depth of the example's leaf less that of the first use."""
        self.check_instance(instance)
        below = indexing.nodes_below_first_use(instance)[0].size
        return ModelSize(instance.n_nodes + instance.n_acquisitions, instance.n_leaves + below)

    def multipliers(self, specification: ModelSpecification, row_duals: FloatArray) -> FloatArray:
        """Add up the duals of each triple's rows, which gives a multiplier that is at least as good."""
        instance = specification.instance
        triple, _ = indexing.nodes_below_first_use(instance)
        duals = np.bincount(triple, weights=row_duals[instance.n_leaves :], minlength=instance.n_triples)
        return -duals.astype(np.float64)


def acquired_above_leaf(model: Any, h: int, k: int, i: int) -> Any:
    """w_{k,i} >= z_h: if h is a leaf, its examples have used all units above it; (IP1), second row."""
    return model.w[k, i] >= model.z[h]


def rows_below_first_use(instance: PruningInstance) -> Block:
    """Return the names (h, k, i) of the rows of w: the nodes below the first use of each triple."""
    triple, node = indexing.nodes_below_first_use(instance)
    _, unit, example = (part[triple] for part in indexing.triple_index(instance))
    return Block("acquired_above_leaf", (node, unit, example))
