import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import load_reference
from strategies import instances, lambdas

from ipforest.solvers.tree_dp import node_charges, tree_prunings
from proofs.unimodularity.tree_networks import network_matrix, path_rows, shortest_pruning, tree_network

FIGURE_1_TREE = load_reference("figure_1_tree").instance


def flow_pruning(network: nx.MultiDiGraph) -> tuple[int, set[tuple[str, int]]]:
    """Prune one tree by sending one unit from source to sink at least cost (network simplex).

    Returns
    -------
    cost : int
    variables : set of tuple
        The variables that are 1.
    """
    demanding = network.copy()
    demanding.nodes[network.graph["source"]]["demand"] = -1
    demanding.nodes[network.graph["sink"]]["demand"] = 1
    nx.set_edge_attributes(demanding, 1, "capacity")
    cost, flow = nx.network_simplex(demanding, weight="cost")
    used = {key for heads in flow.values() for parallel in heads.values() for key, units in parallel.items() if units}
    return int(cost), used


def test_figure_1_rows_and_network():
    rows, variables = path_rows(FIGURE_1_TREE, 0)
    assert variables == [("z", 0), ("z", 1), ("z", 2), ("z", 3), ("z", 4), ("w", 0), ("w", 1)]
    assert rows.toarray().tolist() == [
        [1, 0, 0, 0, 0, 1, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0, 1],
        [1, 0, 1, 1, 0, 0, 0],
        [1, 0, 1, 0, 1, 0, 0],
    ]
    matrix = network_matrix(rows).toarray()
    assert np.array_equal(np.sort(matrix, axis=0)[[0, -1]], [[-1] * 7, [1] * 7])
    assert np.array_equal(np.abs(matrix).sum(axis=0), [2] * 7)
    network = tree_network(FIGURE_1_TREE, 0, 1, 1)
    arcs = {(tail, head, key) for tail, head, key in network.edges(keys=True)}
    assert arcs == {
        (0, 5, ("z", 0)),
        (1, 2, ("z", 1)),
        (2, 5, ("z", 2)),
        (3, 4, ("z", 3)),
        (4, 5, ("z", 4)),
        (0, 1, ("w", 0)),
        (2, 3, ("w", 1)),
    }


def test_every_path_of_figure_1_is_a_pruning():
    network = tree_network(FIGURE_1_TREE, 0, 1, 1)
    paths = list(nx.all_simple_edge_paths(network, 0, 5))
    chosen = {frozenset(key for _, _, key in path) for path in paths}
    assert chosen == {
        frozenset({("z", 0)}),
        frozenset({("w", 0), ("z", 1), ("z", 2)}),
        frozenset({("w", 0), ("z", 1), ("w", 1), ("z", 3), ("z", 4)}),
    }


@settings(max_examples=60, deadline=None)
@given(instances(), st.integers(0, 5), st.data())
def test_tree_networks_equal_the_recursion_for_costs_of_any_sign(instance, p, data):
    drawn = data.draw(st.lists(st.integers(-5, 9), min_size=instance.n_triples, max_size=instance.n_triples))
    beta = np.array(drawn, dtype=np.int64)
    values, _ = tree_prunings(instance, 3, node_charges(instance, p, beta))
    for tree in range(instance.n_trees):
        network = tree_network(instance, tree, p, 3, beta)
        assert nx.is_directed_acyclic_graph(network)
        path_cost, path_variables = shortest_pruning(network)
        flow_cost, flow_variables = flow_pruning(network)
        assert path_cost == flow_cost == values[tree]
        for variables in (path_variables, flow_variables):
            rows, names = path_rows(instance, tree)
            assert np.array_equal(rows @ [name in variables for name in names], np.ones(rows.shape[0]))


@settings(max_examples=40, deadline=None)
@given(instances(), lambdas)
def test_tree_networks_with_whole_prices_are_individual_pruning(instance, lam):
    p, q = instance.scaled_lambda(lam)
    own = p * instance.acquisition_cost[instance.indices]
    values, _ = tree_prunings(instance, q, node_charges(instance, p, own))
    assert [shortest_pruning(tree_network(instance, t, p, q))[0] for t in range(instance.n_trees)] == values.tolist()


def test_a_tree_that_is_not_there_is_refused():
    with pytest.raises(IndexError, match=r"tree: expected 0\.\.0, got 1"):
        tree_network(FIGURE_1_TREE, 1, 1, 1)
