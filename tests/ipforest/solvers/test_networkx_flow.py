from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, lambdas

from ipforest import PruningInstance, Status, solve
from ipforest.solvers.networkx_flow import network_matrix, path_rows, shortest_pruning, tree_network
from ipforest.solvers.tree_dp import node_charges, tree_prunings
from proofs.certificates.optimality import verify_optimality
from proofs.crosschecks.brute_force import brute_force


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


def figure_1_tree() -> PruningInstance:
    """Tree 1 of the papers' Figure 1: node 1 splits on feature 1 into 2 and 3, 3 on feature 2; one example, in 4."""
    return PruningInstance(
        tree_offsets=[0, 5],
        node_parent=[-1, 0, 0, 2, 2],
        errors=[5, 1, 3, 0, 0],
        indptr=[0, 1, 2],
        indices=[0, 1],
        acquisition_unit=[0, 1],
        acquisition_example=[0, 0],
        acquisition_cost=[1, 1],
        split_cost=[0, 0],
        error_unit=Fraction(1, 5),
        cost_unit=Fraction(1),
        n_units=2,
        n_examples=1,
    )


def test_figure_1_rows_and_network():
    rows, variables = path_rows(figure_1_tree(), 0)
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
    network = tree_network(figure_1_tree(), 0, 1, 1)
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
    network = tree_network(figure_1_tree(), 0, 1, 1)
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
        tree_network(figure_1_tree(), 1, 1, 1)


@settings(max_examples=80, deadline=None)
@given(instances(), lambdas)
def test_minimum_cut_is_the_smallest_optimum_and_its_flow_proves_it(instance, lam):
    result, best = solve(instance, lam, "networkx"), brute_force(instance, lam)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == best.objective
    assert result.pruning == best.pruning
    verdict = verify_optimality(instance, result)
    assert verdict, str(verdict)


def test_capacities_beyond_64_bits_are_exact():
    instance = figure_1_tree()
    lam = Fraction(10**30 + 1, 3 * 10**30)
    result = solve(instance, lam, "networkx")
    assert result.objective == result.bound == brute_force(instance, lam).objective
    assert result.flow is None
