"""networkx as a reference: the whole ensemble as one minimum cut.

It is computed with Python integers and shares no code with the package's own kernels.
"""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms.flow import boykov_kolmogorov

from ipforest.instance import PruningInstance
from ipforest.results import DualFlow, Pruning, PruningResult

SOURCE, SINK = "source", "sink"


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

    def has_room(tail: Any, head: Any) -> bool:
        return bool(residual[tail][head]["flow"] < residual[tail][head]["capacity"])

    return set(nx.descendants(nx.subgraph_view(residual, filter_edge=has_room), SOURCE))


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
