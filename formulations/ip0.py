"""IP0: pruning without feature costs (Sherali, Hobeika, Jeenanunta 2009)."""

from __future__ import annotations

from typing import Any

from formulations._pyomo import pyo
from formulations.arrays import LeafFormulation, Rows, forest_with_star, leaf_choices, path_ends
from formulations.base import OPTIMAL_PRUNING, ModelSize, ModelSpecification, Network
from formulations.components import errors, leaf_model
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block


class IP0(LeafFormulation):
    r"""IP0, the pruning of least error: optimal-pruning paper, section 3, (IP0).

    .. math::
        \min_z \quad & \frac{1}{N T} \sum_t \sum_{h \in \mathcal{T}_t} e_h z_h \\
        \text{s.t.} \quad & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & z_h \in \{0, 1\} && \forall h

    The paper states it for one tree; without costs nothing joins the trees, so a forest's is the sum over its trees.
    There is no lambda and no cost in it.
    """

    name = "ip0"
    paper = OPTIMAL_PRUNING
    equation = "(IP0)"
    takes = "nothing"
    integral = True
    reason = "the rows are paths of a tree, a network matrix (Sherali, Hobeika, Jeenanunta 2009)"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it over ``model.z``; there is no cost in its objective."""
        model = leaf_model(specification)
        model.objective = pyo.Objective(expr=errors(model))
        return model

    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return none: nothing is bought."""
        return ()

    def columns(self, instance: PruningInstance) -> tuple[Block, ...]:
        """Name the z of all nodes."""
        return (leaf_choices(instance),)

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count in closed form."""
        return ModelSize(instance.n_nodes, instance.n_leaves)

    def network(self, instance: PruningInstance) -> Network:
        """Return the forest: a path sum runs from the root to a leaf."""
        return forest_with_star(instance.node_parent, 0, *path_ends(instance, [], []))
