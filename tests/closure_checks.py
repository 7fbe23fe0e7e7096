"""Conservation and capacities of the flows that the kernels return, in numpy integers."""

from functools import cache

import numba
import numpy as np

from ipforest import DualFlow, PruningInstance
from ipforest.maxflow.bit_rows import BitRows, bit_rows, rows_of
from ipforest.maxflow.network import Network, build_network
from ipforest.maxflow.shared_search import SharedSearch, new_shared_search
from ipforest.path import PruningPath


def network_of(instance: PruningInstance) -> Network:
    """The network of an instance as it is, without presolve."""
    return build_network(
        instance.parent, instance.gain, instance.split_cost, bit_rows(rows_of(instance)), instance.acquisition_cost
    )


def row_of(rows: BitRows, h: int) -> list[int]:
    """The acquisitions that a node meets, read bit by bit."""
    return [
        64 * int(rows.block[x]) + i
        for x in range(rows.start[h], rows.end[h])
        for i in range(64)
        if int(rows.bits[x]) >> i & 1
    ]


def marks(network: Network) -> np.ndarray:
    """Scratch with an entry for each block, full of what must not matter."""
    return np.full(-(-network.problem.cost.size // 64), 0x5555555555555555)


def shared_search(network: Network, n_helpers: int = 0) -> SharedSearch:
    """For a cut of a whole network; helpers are yet to begin."""
    return new_shared_search(network.trees.labels.size, network.problem.cost.size, n_helpers)


@cache
def callable_kernel(kernel):
    """Compile a kernel that only kernels call so that Python can call it, too."""
    return numba.njit(kernel.py_func)


def _assert_conserved(instance: PruningInstance, flow) -> None:
    negative, below = instance.gain < 0, instance.parent >= 0
    arriving, leaving = np.where(negative, 0, flow.gain), flow.up + flow.split + np.where(negative, flow.gain, 0)
    np.add.at(arriving, instance.parent[below], flow.up[below])
    assert np.all(np.diff(flow.used) > 0)
    np.add.at(leaving, instance.triple_node[flow.used], flow.triple)
    assert np.array_equal(arriving, leaving)
    assert min(array.min(initial=0) for array in (flow.triple, flow.up, flow.gain, flow.split)) == 0
    assert not flow.up[~below].any()


def _loads(instance: PruningInstance, flow) -> np.ndarray:
    loads = np.zeros(instance.n_acquisitions, dtype=np.int64)
    np.add.at(loads, instance.indices[flow.used], flow.triple)
    return loads


def assert_feasible(instance: PruningInstance, flow: DualFlow) -> None:
    """Every arc within its capacity, every node conserved."""
    _assert_conserved(instance, flow)
    assert np.all(flow.gain <= flow.q * np.abs(instance.gain))
    assert np.all(flow.split <= flow.p * instance.split_cost)
    assert np.all(_loads(instance, flow) <= flow.p * instance.acquisition_cost)


def assert_proves(instance: PruningInstance, path: PruningPath) -> None:
    """The six rules of `PathFlow`."""
    flow, k = path.flow, len(path.breakpoints)
    assert flow is not None
    piece, unit = flow.node_breakpoint, instance.error_unit / instance.cost_unit
    assert [p * unit / q for p, q in zip(flow.p, flow.q, strict=True)] == list(path.breakpoints)
    assert list(path.breakpoints) == sorted(set(path.breakpoints))
    assert all(p > 0 < q for p, q in zip(flow.p, flow.q, strict=True))
    below = instance.parent >= 0
    assert np.all(piece[below] <= piece[instance.parent[below]])
    bought_in = np.full(instance.n_acquisitions, -1)
    np.maximum.at(bought_in, instance.indices, piece[instance.triple_node])
    middle, bought = (piece >= 0) & (piece < k), (bought_in >= 0) & (bought_in < k)
    assert not instance.acquisition_cost[bought_in == k].any()
    assert not instance.split_cost[piece == k].any()
    used = flow.used[flow.triple > 0]
    assert np.array_equal(piece[instance.triple_node][used], bought_in[instance.indices][used])
    up = flow.up > 0
    assert np.array_equal(piece[up], piece[instance.parent[up]])
    _assert_conserved(instance, flow)
    p, q = np.array([*flow.p, 0, 0], dtype=np.int64), np.array([*flow.q, 1, 1], dtype=np.int64)
    assert np.all(flow.gain <= q[piece] * np.abs(instance.gain))
    assert np.array_equal(flow.gain[middle], (q[piece] * np.abs(instance.gain))[middle])
    assert np.array_equal(flow.split, np.where(middle, p[piece] * instance.split_cost, 0))
    assert np.array_equal(_loads(instance, flow), np.where(bought, p[bought_in] * instance.acquisition_cost, 0))
    saturated = ((piece == -1) & (instance.gain > 0)) | ((piece == k) & (instance.gain < 0))
    assert np.array_equal(flow.gain[saturated], np.abs(instance.gain[saturated]))
