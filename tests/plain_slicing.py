"""The path by slicing in plain Python: networkx cuts on small pieces, Fractions throughout."""

from fractions import Fraction
from itertools import pairwise

import networkx as nx
import numpy as np

from ipforest import Pruning, PruningInstance


def breakpoints_and_node_lambdas(instance: PruningInstance) -> tuple[list[Fraction], list[Fraction]]:
    """Breakpoints and the largest lambda at which each node is kept; needs an instance in which nothing is free."""
    rows = [set(instance.indices[a:b].tolist()) for a, b in pairwise(instance.indptr)]
    node_lambda = [Fraction(0)] * instance.n_internal
    unit = instance.error_unit / instance.cost_unit

    def cost_of(nodes: set[int], paid: set[int]) -> int:
        bought = set().union(*(rows[h] for h in nodes)) - paid
        return sum(int(instance.acquisition_cost[j]) for j in bought) + sum(int(instance.split_cost[h]) for h in nodes)

    def best_closed(nodes: set[int], paid: set[int], lam: Fraction) -> set[int]:
        graph = nx.DiGraph()
        graph.add_nodes_from(["source", "sink"])
        for h in nodes:
            gain = Fraction(int(instance.gain[h]))
            graph.add_edge("source", h, capacity=max(gain, Fraction(0)))
            graph.add_edge(h, "sink", capacity=max(-gain, Fraction(0)) + lam * int(instance.split_cost[h]))
            if int(instance.parent[h]) in nodes:
                graph.add_edge(h, int(instance.parent[h]))
            for j in rows[h] - paid:
                graph.add_edge(h, ("acquisition", j))
                graph.add_edge(("acquisition", j), "sink", capacity=lam * int(instance.acquisition_cost[j]))
        _, (source_side, _) = nx.minimum_cut(graph, "source", "sink")
        return {h for h in source_side if isinstance(h, int)}

    def slice_piece(nodes: set[int], paid: set[int]) -> None:
        gain = sum(int(instance.gain[h]) for h in nodes)
        lam = Fraction(gain, cost_of(nodes, paid))
        kept = best_closed(nodes, paid, lam)
        if sum(int(instance.gain[h]) for h in kept) == lam * cost_of(kept, paid):
            for h in nodes:
                node_lambda[h] = lam * unit
            return
        slice_piece(kept, paid)
        slice_piece(nodes - kept, paid | set().union(*(rows[h] for h in kept)))

    if instance.n_internal:
        slice_piece(set(range(instance.n_internal)), set())
    return sorted(set(node_lambda)), node_lambda


def evaluate_at(instance: PruningInstance, node_lambda: list[Fraction], lam: Fraction) -> tuple[Fraction, Fraction]:
    """Error and cost of the pruning that keeps every node whose lambda is above `lam`."""
    return instance.evaluate(Pruning(np.array([value > lam for value in node_lambda], dtype=bool)))
