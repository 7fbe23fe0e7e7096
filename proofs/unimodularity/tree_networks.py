"""The network of one tree, in which a pruning is a path, by the papers' row operations, literally."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import scipy.sparse as sp

from ipforest._internal.arrays import IntArray
from ipforest.instance import PruningInstance

__all__ = ["network_matrix", "path_rows", "shortest_pruning", "tree_network"]


def path_rows(instance: PruningInstance, tree: int) -> tuple[sp.csr_array, list[tuple[str, int]]]:
    r"""Equality constraints of IP3 for one tree, leaves in pre-order.

    .. math:: \sum_{u \in p(h)} z_u = 1 \quad (h \text{ a leaf}), \qquad
              w^{(t)}_{k,i} + \sum_{u \in p(u_{t,k,i})} z_u = 1 \quad (k \in K_{t,i}, i \in S).

    The variable w^(t)_{k,i} counts as a further leaf, a fictitious child of u_{t,k,i} that comes before its children.

    Returns
    -------
    rows : sparse array of 0 and 1, shape (leaves + triples of the tree, variables)
    variables : list of tuple
        ``("z", node)`` for each node of the tree, then ``("w", triple)`` for each of its triples.

    Raises
    ------
    IndexError
        There is no such tree.

    Notes
    -----
    Source: optimal-pruning paper, IP3 and Lemma 4.1; BudgetPrune, IP and Lemma 3.1.
    """
    if not 0 <= tree < instance.n_trees:
        raise IndexError(f"tree: expected 0..{instance.n_trees - 1}, got {tree}")
    first, end = (int(offset) for offset in instance.tree_offsets[tree : tree + 2])
    inner = {int(node): number for number, node in enumerate(instance.internal_nodes)}
    children: dict[int, list[int]] = {node: [] for node in range(first, end)}
    for node in range(first + 1, end):
        children[int(instance.node_parent[node])].append(node)
    triples = {
        node: range(int(instance.indptr[inner[node]]), int(instance.indptr[inner[node] + 1]))
        for node in range(first, end)
        if node in inner
    }
    variables = [("z", node) for node in range(first, end)]
    variables += [("w", triple) for node in triples for triple in triples[node]]
    column = {variable: number for number, variable in enumerate(variables)}
    supports: list[list[int]] = []
    stack: list[tuple[int, list[int]]] = [(first, [])]
    while stack:
        node, above = stack.pop()
        path = [*above, column["z", node]]
        if node in inner:
            supports += [[*path, column["w", triple]] for triple in triples[node]]
            stack += [(child, path) for child in reversed(children[node])]
        else:
            supports.append(path)
    indptr = np.cumsum([0] + [len(support) for support in supports])
    indices = np.array([number for support in supports for number in support], dtype=np.int64)
    data = np.ones(indices.size, dtype=np.int64)
    return sp.csr_array((data, indices, indptr), shape=(len(supports), len(variables))), variables


def network_matrix(rows: sp.csr_array) -> sp.csc_array:
    """Turn path rows r_1..r_m into the network matrix -r_1, r_1 - r_2, ..., r_{m-1} - r_m, r_m.

    Notes
    -----
    Source: optimal-pruning paper, section 4 (tables after Figure 1); BudgetPrune, Figure 1 and section 6.2.
    """
    count = rows.shape[0]
    differences = sp.eye_array(count + 1, count, k=-1, dtype=np.int64) - sp.eye_array(count + 1, count, dtype=np.int64)
    matrix = sp.csc_array(differences @ rows)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def tree_network(instance: PruningInstance, tree: int, p: int, q: int, beta: IntArray | None = None) -> nx.MultiDiGraph:
    """Build the network of one tree, in which a path from the first vertex to the last is a pruning.

    Vertices 0..m are the rows of the network matrix, arcs its columns, from the row with -1 to the row with +1. Arcs
    point to later vertices, so the graph has no cycle and any sign of cost is allowed.

    Parameters
    ----------
    instance : PruningInstance
    tree : int
    p, q : int
        Lambda in integer units.
    beta : ndarray of int64, shape (n_triples,), optional
        What w^(t)_{k,i} costs in the tree; by default the acquisition's whole price, ``p * acquisition_cost``
        (individual pruning).

    Returns
    -------
    networkx.MultiDiGraph
        Arc attributes: ``variable``, ``("z", node)`` or ``("w", triple)``, also the arc's key; ``cost``, a Python
        integer: q e_h and its share of the split costs for z_h, beta for w^(t)_{k,i}. The graph's attributes ``source``
        and ``sink`` name the first and the last vertex.

    Raises
    ------
    ValueError
        A column of the transformed matrix is not one -1 and one +1 below it.

    Notes
    -----
    Source: Lemma 3.1 and section 6.2, Figure 3 (BudgetPrune); Lemma 4.1 (optimal-pruning paper).
    """
    rows, variables = path_rows(instance, tree)
    matrix = network_matrix(rows)
    if np.any(np.diff(matrix.indptr) != 2) or np.any(matrix.data.reshape(-1, 2) != [-1, 1]):
        raise ValueError(
            f"tree {tree}: expected one -1 and one +1 in each column of its network matrix, got other values"
        )
    costs = _arc_costs(instance, variables, p, q, beta)
    graph = nx.MultiDiGraph(source=0, sink=rows.shape[0])
    graph.add_nodes_from(range(rows.shape[0] + 1))
    for variable, cost, (tail, head) in zip(variables, costs, matrix.indices.reshape(-1, 2).tolist(), strict=True):
        graph.add_edge(tail, head, key=variable, variable=variable, cost=cost)
    return graph


def _arc_costs(
    instance: PruningInstance, variables: list[tuple[str, int]], p: int, q: int, beta: IntArray | None
) -> list[int]:
    """Cost of each variable; a node hands the split costs paid down to it, and its own, to its first child.

    So the leaves of any pruning bear in sum the split costs of the nodes it keeps: the e_h with a hat of BudgetPrune,
    section 4, up to a shift between siblings.
    """
    due = dict(zip(instance.internal_nodes.tolist(), instance.split_cost.tolist(), strict=True))
    costs: list[int] = []
    for kind, number in variables:
        if kind == "z":
            above = int(instance.node_parent[number])
            inherited = due.pop(above, 0)
            due[number] = due.get(number, 0) + inherited
            costs.append(q * int(instance.errors[number]) + p * inherited)
        elif beta is None:
            costs.append(p * int(instance.acquisition_cost[instance.indices[number]]))
        else:
            costs.append(int(beta[number]))
    return costs


def shortest_pruning(network: nx.MultiDiGraph) -> tuple[int, set[tuple[str, int]]]:
    """Prune one tree by the shortest path from source to sink (Bellman and Ford, as costs may be negative).

    Returns
    -------
    cost : int
    variables : set of tuple
        The variables that are 1.
    """
    source, sink = network.graph["source"], network.graph["sink"]
    path = nx.bellman_ford_path(network, source, sink, weight="cost")
    arcs = [min(network[tail][head].values(), key=lambda arc: arc["cost"]) for tail, head in pairwise(path)]
    return sum(arc["cost"] for arc in arcs), {arc["variable"] for arc in arcs}
