"""What the Pyomo models share: an empty model over its data, the terms of the objective, the path constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from formulations._pyomo import pyo
from formulations.base import ModelSpecification
from formulations.model_data import ModelData


def empty_model(specification: ModelSpecification) -> Any:
    """Start a model that carries its specification and its data."""
    model = pyo.ConcreteModel(name=specification.formulation.name)
    model.specification = specification
    model.data = ModelData.of(specification.instance)
    return model


def variables(model: Any, index: Sequence[Any]) -> Any:
    """Declare variables over {0, 1}, or over [0, 1] in a relaxed model."""
    return pyo.Var(index, domain=pyo.UnitInterval if model.specification.relaxed else pyo.Binary)


def leaf_model(specification: ModelSpecification) -> Any:
    """Start a model over ``model.z``, whether each node is a leaf, with one leaf on each path."""
    model = empty_model(specification)
    model.z = variables(model, model.data.nodes)
    model.one_leaf_per_path = pyo.Constraint(model.data.leaves, rule=one_leaf_per_path)
    return model


def errors(model: Any) -> Any:
    """Errors of the pruned trees, sum e_h z_h: optimal-pruning paper, (1)."""
    return pyo.quicksum(model.data.e[h] * model.z[h] for h in model.data.nodes)


def errors_left(x: Any, data: ModelData, errors: Mapping[int, int] | Sequence[int]) -> Any:
    """Errors of the bare roots less the gains of the tests that stay, of errors by node."""
    gain = dict.fromkeys(data.internal, 0)
    bare_roots = 0
    for h, path in data.path.items():
        if h in gain:
            gain[h] += errors[h]
        if len(path) > 1:
            gain[path[-2]] -= errors[h]
        else:
            bare_roots += errors[h]
    return bare_roots - pyo.quicksum(value * x[h] for h, value in gain.items())


def acquisition_costs(model: Any) -> Any:
    """Sum c_k w_{k,i}: each unit is paid once per example, in whatever trees it is used."""
    return pyo.quicksum(model.data.c[pair] * model.w[pair] for pair in model.data.pairs)


def test_costs(model: Any) -> Any:
    r"""Sum |S_h| d_h z_h of BudgetPrune's (IP), node by node.

    An example that stops at depth d has passed d tests, so the sum is that of |S_u| over the nodes u that keep their
    test, those with no z = 1 on p(u). The instance knows |S_u| of the internal nodes; no leaf is needed.
    """
    return pyo.quicksum(
        cost * (1 - pyo.quicksum(model.z[h] for h in model.data.path[u])) for u, cost in model.data.s.items() if cost
    )


def errors_and_costs(model: Any) -> Any:
    """State the objective of the programs in z at a lambda p / q: q errors + p costs."""
    p, q = model.specification.weights
    return pyo.Objective(expr=q * errors(model) + p * (acquisition_costs(model) + test_costs(model)))


def one_leaf_per_path(model: Any, leaf: int) -> Any:
    """Sum of z over p(h) is 1 at each leaf h: optimal-pruning paper, first row of (IP0) to (IP3)."""
    return pyo.quicksum(model.z[h] for h in model.data.path[leaf]) == 1


def usage_in_tree(model: Any, t: int, k: int, i: int) -> Any:
    """w^(t)_{k,i} + sum of z over p(u_{t,k,i}) is 1: optimal-pruning paper, (IP3); BudgetPrune, (IP), second row."""
    first_use = model.data.first_use[t, k, i]
    return model.w_tree[t, k, i] + pyo.quicksum(model.z[h] for h in model.data.path[first_use]) == 1


def usage_anywhere(model: Any, t: int, k: int, i: int) -> Any:
    """w^(t)_{k,i} <= w_{k,i}: optimal-pruning paper, (IP3); BudgetPrune, (IP), third row."""
    return model.w_tree[t, k, i] <= model.w[k, i]
