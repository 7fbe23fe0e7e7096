"""networkx as a reference: each tree as a shortest path or a min-cost flow, the whole ensemble as one minimum cut.

The network of one tree comes from the papers' row operations, literally. The minimum cut is computed with Python
integers and shares no code with the package's own kernels.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from networkx.algorithms.flow import boykov_kolmogorov

from ipforest._internal.arrays import IntArray
from ipforest.instance import PruningInstance
from ipforest.results import DualFlow, Pruning, PruningResult

SOURCE, SINK = "source", "sink"


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


def closure_network(instance: PruningInstance, p: int, q: int) -> nx.DiGraph:
    """Build the network whose minimum cut is the ensemble's best pruning, with Python integers as capacities.

    Vertices are ``("x", internal node)``, ``("w", acquisition)``, "source" and "sink"; an arc without capacity is
    unbounded. Acquisitions that cost nothing bind nothing and are left out.

    Parameters
    ----------
    instance : PruningInstance
    p, q : int
        Lambda in integer units.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from((SOURCE, SINK))
    prices = [p * cost for cost in instance.acquisition_cost.tolist()]
    for node, (gain, split, above) in enumerate(
        zip(instance.gain.tolist(), instance.split_cost.tolist(), instance.parent.tolist(), strict=True)
    ):
        if gain > 0:
            graph.add_edge(SOURCE, ("x", node), capacity=q * gain)
        to_sink = p * split + q * max(-gain, 0)
        if to_sink > 0:
            graph.add_edge(("x", node), SINK, capacity=to_sink)
        if above >= 0:
            graph.add_edge(("x", node), ("x", above))
    for node, acquisition in zip(instance.triple_node.tolist(), instance.indices.tolist(), strict=True):
        if prices[acquisition] > 0:
            graph.add_edge(("x", node), ("w", acquisition))
    graph.add_edges_from(
        (("w", acquisition), SINK, {"capacity": price}) for acquisition, price in enumerate(prices) if price > 0
    )
    return graph


def solve_networkx(instance: PruningInstance, lam: Fraction) -> PruningResult:
    """Prune the ensemble by one minimum cut of networkx (Boykov and Kolmogorov), exact at any scale.

    Returns
    -------
    PruningResult
        The smallest optimal set of kept nodes, and the flow that proves it (none if it does not fit int64).
    """
    started = perf_counter()
    p, q = instance.scaled_lambda(lam)
    residual = boykov_kolmogorov(closure_network(instance, p, q), SOURCE, SINK)
    kept = np.zeros(instance.n_internal, dtype=bool)
    kept[[vertex[1] for vertex in _source_side(residual) if vertex[0] == "x"]] = True
    pruning = Pruning(kept)
    gains = sum(gain for gain in instance.gain.tolist() if gain > 0)
    unpruned_errors = sum(instance.errors[instance.tree_offsets[:-1]].tolist()) - gains
    return PruningResult.of(
        pruning,
        instance.evaluate(pruning),
        lam,
        (q * unpruned_errors + residual.graph["flow_value"]) * instance.error_unit / q,
        runtime_s=perf_counter() - started,
        method="networkx",
        flow=_dual_flow(instance, p, q, residual),
    )


def _source_side(residual: nx.DiGraph) -> set[Any]:
    """Vertices that the source still reaches: the smallest minimum cut."""
    reached, stack = set(), [SOURCE]
    while stack:
        vertex = stack.pop()
        for head, arc in residual[vertex].items():
            if head not in reached and arc["flow"] < arc["capacity"]:
                reached.add(head)
                stack.append(head)
    return reached


def _dual_flow(instance: PruningInstance, p: int, q: int, residual: nx.DiGraph) -> DualFlow | None:
    """Read the flow off the arcs; the shared arc to the sink fills its split-cost part last."""

    def flow(tail: Any, head: Any) -> int:
        arc = residual.get_edge_data(tail, head)
        return 0 if arc is None else max(0, int(arc["flow"]))

    gains = instance.gain.tolist()
    to_sink = [flow(("x", node), SINK) for node in range(instance.n_internal)]
    fixed = [min(q * max(-gain, 0), units) for gain, units in zip(gains, to_sink, strict=True)]
    gain_flow = [flow(SOURCE, ("x", node)) if gain > 0 else fixed[node] for node, gain in enumerate(gains)]
    split = [units - used for units, used in zip(to_sink, fixed, strict=True)]
    up = [flow(("x", node), ("x", above)) if above >= 0 else 0 for node, above in enumerate(instance.parent.tolist())]
    triple = [
        flow(("x", node), ("w", acquisition))
        for node, acquisition in zip(instance.triple_node.tolist(), instance.indices.tolist(), strict=True)
    ]
    if max([p, q, *gain_flow, *split, *up, *triple]) >= 2**63:
        return None
    used = np.flatnonzero(triple).tolist()
    arrays = {"used": used, "triple": [triple[x] for x in used], "up": up, "gain": gain_flow, "split": split}
    return DualFlow(p=p, q=q, **{name: np.array(values, dtype=np.int64) for name, values in arrays.items()})
