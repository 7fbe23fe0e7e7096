"""IP2: one tree, with the usage of features at the node of first use."""

from __future__ import annotations

from typing import Any

from formulations._pyomo import pyo
from formulations.arrays import LeafFormulation, Rows, acquisition_network, first_uses, needs, use_paths
from formulations.base import OPTIMAL_PRUNING, ModelSize, ModelSpecification, Network
from formulations.components import errors_and_costs, leaf_model, variables
from ipforest.instance import PruningInstance


class IP2(LeafFormulation):
    r"""IP2: optimal-pruning paper, section 4, (IP2).

    .. math::
        \min_{z, w} \quad & \frac1N \sum_h e_h z_h + \lambda \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big) \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}} \\
        & w_{k,i} + \sum_{h \in p(u_{k,i})} z_h = 1 && \forall k \in K_i, \forall i \\
        & z_h \in \{0, 1\}, \ w_{k,i} \in \{0, 1\}

    It is about one tree: with the equation of a second tree, w_{k,i} would make both trees use a unit or
    neither. An instance of several trees is refused; `ip3` is the paper's generalisation. (To prune each tree by
    itself, as the papers' "ind. pru." does, use the method ``tree-dp``.) An instance's split cost enters as in
    BudgetPrune's (IP).
    """

    name = "ip2"
    paper = OPTIMAL_PRUNING
    equation = "(IP2), (2)"
    one_tree = True
    integral = True
    reason = "w is one more leaf, a child of the node of first use: the rows stay paths of a tree"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it over ``model.z`` and ``model.w``, of an instance of one tree."""
        model = leaf_model(specification)
        model.w = variables(model, model.data.pairs)
        model.usage_in_tree = pyo.Constraint(list(model.data.first_use), rule=usage_in_tree)
        model.objective = errors_and_costs(model)
        return model

    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return w_{k,i} + sum of z over p(u) = 1."""
        instance = specification.instance
        return (Rows(first_uses("usage_in_tree", instance), [use_paths(instance), needs(instance)], "==", 1),)

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count in closed form."""
        return ModelSize(instance.n_nodes + instance.n_acquisitions, instance.n_leaves + instance.n_triples)

    def network(self, instance: PruningInstance) -> Network:
        """Return the tree of z and w: a row of w runs from its own vertex through the root to the first use."""
        return acquisition_network(instance)


def usage_in_tree(model: Any, t: int, k: int, i: int) -> Any:
    """w_{k,i} + sum of z over p(u_{k,i}) is 1: optimal-pruning paper, (2)."""
    return model.w[k, i] + pyo.quicksum(model.z[h] for h in model.data.path[model.data.first_use[t, k, i]]) == 1
