"""Closure: IP3 in the variables "h stays internal", a maximum-weight closure."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations._pyomo import pyo
from formulations.arrays import ArrayFormulation, Rows, acquisitions, first_uses, forest_with_star, needs
from formulations.base import HERE, ModelSize, ModelSpecification, Network
from formulations.components import acquisition_costs, empty_model, errors_left, variables
from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.rational import exact_sum
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block, selection


class Closure(ArrayFormulation):
    r"""IP3 in x_h = 1 - sum of z over p(h): h keeps its test.

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
    """

    name = "closure"
    paper = HERE
    equation = "(IP3) in x_h = 1 - sum of z over p(h)"
    integral = True
    reason = "each row has one +1 and one -1, the transpose of a directed graph's incidence matrix"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it over ``model.x`` and ``model.w``."""
        model = empty_model(specification)
        model.x = variables(model, model.data.internal)
        model.w = variables(model, model.data.pairs)
        model.kept_under_parent = pyo.Constraint(list(model.data.parent), rule=kept_under_parent)
        model.acquired_where_kept = pyo.Constraint(list(model.data.first_use), rule=acquired_where_kept)
        p, q = specification.weights
        model.objective = pyo.Objective(
            expr=q * errors_left(model.x, model.data, model.data.e) + p * (acquisition_costs(model) + test_costs(model))
        )
        return model

    def columns(self, instance: PruningInstance) -> tuple[Block, ...]:
        """Name the x of the internal nodes and the w of the acquisitions."""
        return Block("x", (instance.internal_nodes,)), acquisitions(instance)

    def rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return x_h <= x_parent(h) and x_u <= w_{k,i}."""
        instance = specification.instance
        below, n_internal = np.flatnonzero(instance.parent >= 0), instance.n_internal
        under_parent = selection(below, n_internal) - selection(instance.parent[below], n_internal)
        where_kept = [selection(instance.triple_node, n_internal), -needs(instance)]
        return (
            Rows(Block("kept_under_parent", (instance.internal_nodes[below],)), [under_parent, None], "<=", 0),
            Rows(first_uses("acquired_where_kept", instance), where_kept, "<=", 0),
        )

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count in closed form."""
        roots = int(np.count_nonzero(instance.parent < 0))
        return ModelSize(
            instance.n_internal + instance.n_acquisitions, instance.n_internal - roots + instance.n_triples
        )

    def kept_shares(self, specification: ModelSpecification, values: FloatArray) -> FloatArray:
        """Return the x of the point."""
        return values[: specification.instance.n_internal]

    def tree_objective(self, instance: PruningInstance, p: int, q: int) -> tuple[IntArray, int]:
        """Return split costs less gains, and the errors of the bare roots."""
        bare_roots = q * exact_sum(instance.errors[instance.tree_offsets[:-1]])
        return p * instance.split_cost - q * instance.gain, bare_roots

    def multipliers(self, specification: ModelSpecification, row_duals: FloatArray) -> FloatArray:
        """Read the duals of x_u <= w_{k,i}."""
        return -row_duals[row_duals.size - specification.instance.n_triples :]

    def network(self, instance: PruningInstance) -> Network:
        """Return a star: a row runs along one arc into its centre and back against another."""
        below = np.flatnonzero(instance.parent >= 0)
        tails = np.concatenate([below, instance.triple_node]) + 1
        bought = instance.n_internal + 1 + instance.indices.astype(np.int64)
        heads = np.concatenate([instance.parent[below] + 1, bought])
        n_star = instance.n_internal + instance.n_acquisitions
        return forest_with_star(np.zeros(0, dtype=np.int64), n_star, tails, heads)


def kept_under_parent(model: Any, h: int) -> Any:
    """x_h <= x_parent(h): a node keeps its test only if its parent does."""
    return model.x[h] <= model.x[model.data.parent[h]]


def acquired_where_kept(model: Any, t: int, k: int, i: int) -> Any:
    """x_u <= w_{k,i} at u = u_{t,k,i}: a test that stays needs its unit for each example."""
    return model.x[model.data.first_use[t, k, i]] <= model.w[k, i]


def test_costs(model: Any) -> Any:
    """Sum |S_h| x_h: BudgetPrune's |S_h| d_h z_h, paid test by test."""
    return pyo.quicksum(cost * model.x[h] for h, cost in model.data.s.items() if cost)
