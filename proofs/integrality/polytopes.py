"""The pruning programs' relaxations as exact polytopes, built from an instance alone.

An independent second writing of what `formulations` builds with Pyomo: tests compare the two. All variables lie between
0 and 1; right-hand sides and budgets are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ipforest.instance import PruningInstance
from proofs.exact import Number
from proofs.integrality.vertices import Polytope
from proofs.unimodularity.network_certificate import formulation_matrix


def polytope(instance: PruningInstance, formulation: str) -> Polytope:
    """Build the relaxation of IP0, IP2, IP3/IP, compact or closure.

    Parameters
    ----------
    instance : PruningInstance
    formulation : {"ip0", "ip2", "ip3", "ip", "compact", "closure"}

    Returns
    -------
    Polytope
        Rows and columns in the order of `proofs.unimodularity.network_certificate.formulation_matrix`.
    """
    matrix = formulation_matrix(instance, formulation)
    leaves, triples = instance.n_leaves, instance.n_triples
    if formulation == "closure":
        senses, right = ["<="] * matrix.shape[0], [0] * matrix.shape[0]
    elif formulation == "compact":
        senses, right = ["="] * leaves + [">="] * triples, [1] * (leaves + triples)
    else:
        equalities = leaves if formulation == "ip0" else leaves + triples
        coupling = matrix.shape[0] - equalities
        senses, right = ["="] * equalities + ["<="] * coupling, [1] * equalities + [0] * coupling
    return Polytope(matrix.toarray().tolist(), senses, right, variable_names(instance, formulation))


def variable_names(instance: PruningInstance, formulation: str) -> tuple[str, ...]:
    """Name the columns as `formulations` does: x or z by node, w^(t) as w_tree by (t, k, i), w by (k, i)."""
    nodes = [f"z[{node}]" for node in range(instance.n_nodes)]
    acquisitions = [
        f"w[{unit},{example}]"
        for unit, example in zip(instance.acquisition_unit, instance.acquisition_example, strict=True)
    ]
    if formulation == "closure":
        return (*(f"x[{node}]" for node in instance.internal_nodes), *acquisitions)
    parts = {"ip0": [], "ip2": acquisitions, "compact": acquisitions, "ip1": acquisitions}
    return (*nodes, *parts.get(formulation, [f"w_tree[{use}]" for use in _first_uses(instance)] + acquisitions))


def row_names(instance: PruningInstance, formulation: str) -> tuple[str, ...]:
    """Name the rows of IP0, IP2, IP3/IP, compact or closure as `formulations` does."""
    uses = _first_uses(instance)
    if formulation == "closure":
        below = instance.internal_nodes[instance.parent >= 0]
        return (*(f"kept_under_parent[{node}]" for node in below), *(f"acquired_where_kept[{use}]" for use in uses))
    inner = set(instance.internal_nodes.tolist())
    leaves = [f"one_leaf_per_path[{node}]" for node in range(instance.n_nodes) if node not in inner]
    kinds = {"ip0": (), "compact": ("usage_unless_stopped",), "ip2": ("usage_in_tree",)}
    shown = kinds.get(formulation, ("usage_in_tree", "usage_anywhere"))
    return (*leaves, *(f"{kind}[{use}]" for kind in shown for use in uses))


def _first_uses(instance: PruningInstance) -> list[str]:
    """Name the triples as "t,k,i"."""
    nodes = instance.internal_nodes[instance.triple_node]
    trees = np.searchsorted(instance.tree_offsets, nodes, side="right") - 1
    units, examples = instance.acquisition_unit[instance.indices], instance.acquisition_example[instance.indices]
    return [f"{t},{k},{i}" for t, k, i in zip(trees, units, examples, strict=True)]


def naive_polytope(instance: PruningInstance) -> Polytope:
    """Build the relaxation of IP1, the formulation with fractional vertices.

    Rows: path sums of z for every leaf; then w_{k,i} - z_h >= 0 for every node h below u_{t,k,i} on the way of example
    i in tree t (optimal-pruning paper, section 4; BudgetPrune, appendix 6.1).

    Parameters
    ----------
    instance : PruningInstance
        With its `example_leaf`.

    Returns
    -------
    Polytope
        Columns z by node, then w by acquisition.

    Raises
    ------
    ValueError
        If the instance does not hold the examples' leaves.
    """
    if instance.example_leaf is None:
        raise ValueError("instance: expected example_leaf, the leaf of each example in each tree, got None")
    path_rows = formulation_matrix(instance, "ip0").toarray().tolist()
    rows: list[list[Number]] = [[*row, *(0,) * instance.n_acquisitions] for row in path_rows]
    for triple, acquisition in enumerate(instance.indices):
        top = int(instance.internal_nodes[instance.triple_node[triple]])
        tree = int(np.searchsorted(instance.tree_offsets, top, side="right")) - 1
        node = int(instance.example_leaf[tree, instance.acquisition_example[acquisition]])
        while node > top:
            row = [0] * (instance.n_nodes + instance.n_acquisitions)
            row[node], row[instance.n_nodes + int(acquisition)] = -1, 1
            rows.append(list(row))
            node = int(instance.node_parent[node])
    uses = len(rows) - len(path_rows)
    senses, right = ["="] * len(path_rows) + [">="] * uses, [1] * len(path_rows) + [0] * uses
    return Polytope(rows, senses, right, variable_names(instance, "ip1"))


def budget_polytope(instance: PruningInstance, formulation: str, budget: Fraction) -> Polytope:
    """Add LP1's budget row to IP3, compact or closure: cost <= budget, in integer cost units.

    Parameters
    ----------
    instance : PruningInstance
    formulation : {"ip3", "ip", "compact", "closure"}
    budget : Fraction
        What an example may cost on average.

    Returns
    -------
    Polytope
        The budget row is the last one.
    """
    base = polytope(instance, formulation)
    constant, row = cost_row(instance, formulation)
    right = Fraction(budget) / instance.cost_unit - constant
    return Polytope([*base.matrix, row], [*base.senses, "<="], [*base.right, right], base.names)


def cost_row(instance: PruningInstance, formulation: str) -> tuple[int, list[Number]]:
    """Express the cost, in integer units, as a constant plus a linear function of the columns.

    For IP3, compact and closure. A kept node's split cost counts x_h, which is 1 minus the sum of z over p(h).
    """
    constant, row = 0, [int(weight) for weight in instance.split_cost]
    if formulation != "closure":
        constant, row = sum(row), [0] * instance.n_nodes
        for node, weight in zip(instance.internal_nodes, instance.split_cost, strict=True):
            above = int(node)
            while above >= 0:
                row[above] -= int(weight)
                above = int(instance.node_parent[above])
    between = len(variable_names(instance, formulation)) - len(row) - instance.n_acquisitions
    return constant, [*row, *(0,) * between, *(int(cost) for cost in instance.acquisition_cost)]


def error_row(instance: PruningInstance, formulation: str) -> tuple[int, list[Number]]:
    """Express the error, in integer units, as a constant plus a linear function of a program's columns."""
    tail: list[Number] = [0] * (len(variable_names(instance, formulation)) - instance.n_nodes)
    if formulation != "closure":
        return 0, [*(int(error) for error in instance.errors), *tail]
    start = sum(int(error) for error in instance.errors[instance.tree_offsets[:-1]])
    return start, [*(-int(gain) for gain in instance.gain), *(0,) * instance.n_acquisitions]


def value(row: tuple[int, Sequence[Number]], point: Sequence[Number]) -> Number:
    """Evaluate a constant plus a linear function at a point."""
    total: Number = row[0]
    for coefficient, coordinate in zip(row[1], point, strict=True):
        total += coefficient * coordinate
    return total
