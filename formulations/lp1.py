"""LP1: the least error within a budget."""

from __future__ import annotations

from typing import Any

from formulations._pyomo import pyo
from formulations.arrays import Rows, budget_row
from formulations.base import OPTIMAL_PRUNING, ModelSize, ModelSpecification
from formulations.components import acquisition_costs, errors, test_costs
from formulations.ip3 import IP3
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block


class LP1(IP3):
    r"""LP1, IP3's constraints Q with a budget: optimal-pruning paper, Corollary 4.3, (LP1).

    .. math::
        \min_{(z, w^{(t)}, w) \in Q} \quad & \frac{1}{N T} \sum_t \sum_{h \in \mathcal{T}_t} e_h z_h \\
        \text{s.t.} \quad & \sum_k c_k \Big( \frac1N \sum_i w_{k,i} \Big)
            + \frac{\mathrm{split\_cost}}{N} \sum_t \sum_{h \in \mathcal{T}_t} |S_h| d_h z_h \le B

    where Q is

    .. math::
        & \sum_{u \in p(h)} z_u = 1 && \forall h \in \tilde{\mathcal{T}}_t, \forall t \\
        & w^{(t)}_{k,i} + \sum_{h \in p(u_{t,k,i})} z_h = 1 && \forall k \in K_{t,i}, \forall i, \forall t \\
        & w^{(t)}_{k,i} \le w_{k,i} && \forall k \in K_{t,i}, \forall i, \forall t \\
        & z_h, \ w^{(t)}_{k,i}, \ w_{k,i} \in \{0, 1\}.

    Corollary 4.3 says that the relaxation gives the best pruning within B. That holds where B is what a pruning costs
    that is optimal for some lambda; between two such costs a vertex of the relaxation mixes two nested prunings.
    """

    name = "lp1"
    paper = OPTIMAL_PRUNING
    equation = "(LP1)"
    takes = "budget"
    integral = False
    reason = "the budget row cuts edges: between breakpoints a vertex mixes two nested prunings"

    def build(self, specification: ModelSpecification) -> Any:
        """Write it as `IP3`, with ``model.spent`` and the budget row in cost units and the objective in error units."""
        model = self.unpriced(specification)
        model.spent = pyo.Expression(expr=acquisition_costs(model) + test_costs(model))
        model.within_budget = pyo.Constraint(rule=within_budget)
        model.objective = pyo.Objective(expr=errors(model))
        return model

    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return IP3's rows and the budget row."""
        parts, constant = budget_row(specification.instance, self)
        within = Rows(Block("within_budget"), parts, "<=", specification.budget_units - constant)
        return *super().usage_rows(specification), within

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count in closed form."""
        unlimited = super().size(instance)
        return ModelSize(unlimited.variables, unlimited.constraints + 1)

    def network(self, instance: PruningInstance) -> None:
        """Return none: the budget row is no path."""
        return None


def within_budget(model: Any) -> Any:
    """Average cost of an example, times N, at most B N: optimal-pruning paper, (LP1)."""
    return model.spent <= model.specification.budget_units
