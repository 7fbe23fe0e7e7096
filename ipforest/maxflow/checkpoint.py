"""The state of a parametric cut between two steps, as arrays: to be written to disk and taken up again.

Written is what the instance does not tell: which vertices belong to which subproblem, and the flow in the trees. All
else is made again, and what was read is checked before a kernel sees it: a search that is taken up has a division of
the problem into closed subproblems, and trees on its arcs with a flow that 64 bits hold. That the flow proves what is
found is checked where a path is given out (`ipforest.maxflow.balance`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf

import numpy as np

from ipforest._internal.arrays import Array, checked_integer, is_ascending
from ipforest._internal.json_text import read_json
from ipforest._internal.rational import INT64_SAFE, as_fraction
from ipforest.maxflow.bit_rows import n_blocks
from ipforest.maxflow.network import Lambda
from ipforest.maxflow.parametric_cut import ParametricCut
from ipforest.maxflow.splitting import are_trees, divide_again
from ipforest.maxflow.subproblems import Host, Subproblem, division_fault

__all__ = ["pack", "unpack"]

Arrays = dict[str, Array]

NODES, ACQUISITIONS, ABOVE, FLOW, IMBALANCE = "node_order", "acquisition_order", "above", "flow", "imbalance"
DONE, OPEN, OUTSIDE = "done", "open", "outside"

MAX_TIMES_SUPPLIED = 4.0
"""What arrives at a vertex and what leaves it come to at most so many times all supplies of its subproblem: a cut that
was stopped may use all supplies and fill all capacities, and these are no more where a subproblem breaks even."""


def pack(cut: ParametricCut, outside: Sequence[Subproblem]) -> Arrays:
    """Gather the state of a parametric cut while no step of it runs.

    Parameters
    ----------
    cut : ParametricCut
        All its subproblems are in the network of the whole problem.
    outside : sequence of Subproblem
        Those that are not to be cut.

    Returns
    -------
    dict of str to ndarray
        The permutations, the trees, and the subproblems as JSON.
    """
    vertices, imbalance = cut.network.trees.vertices, cut.network.trees.imbalance
    return {
        NODES: cut.host.nodes,
        ACQUISITIONS: cut.host.acquisitions,
        ABOVE: vertices["above"],
        FLOW: vertices["flow"],
        IMBALANCE: imbalance,
        **{
            name: np.array(_write_subproblems(subproblems))
            for name, subproblems in ((DONE, cut.done), (OPEN, cut.open), (OUTSIDE, outside))
        },
    }


def unpack(cut: ParametricCut, state: Mapping[str, Array]) -> list[Subproblem]:
    """Bring a parametric cut that has not begun into the state of another one of the same problem.

    Returns
    -------
    list of Subproblem
        Those that are not to be cut.

    Raises
    ------
    ArithmeticError, KeyError, TypeError, ValueError
        The state is not one that `pack` gave, or that of another problem.
    """
    trees = cut.network.trees
    orders = {NODES: cut.host.nodes, ACQUISITIONS: cut.host.acquisitions}
    own = {**orders, ABOVE: trees.vertices["above"], FLOW: trees.vertices["flow"], IMBALANCE: trees.imbalance}
    for name, array in own.items():
        stored = state[name]
        if stored.shape != array.shape or stored.dtype != array.dtype:
            raise ValueError(
                f"{name}: expected shape {array.shape} and dtype {array.dtype}, got {stored.shape} and {stored.dtype}"
            )
    for name, ordered in orders.items():
        if not np.array_equal(np.sort(state[name]), ordered):
            raise ValueError(f"{name}: expected a permutation of {ordered.size} numbers of this problem, got another")
    cut.host = Host(cut.network, state[NODES], state[ACQUISITIONS])
    cut.done, cut.open, outside = (_read_subproblems(state[name], cut.host) for name in (DONE, OPEN, OUTSIDE))
    trees.vertices["above"], trees.vertices["flow"], trees.imbalance[:] = state[ABOVE], state[FLOW], state[IMBALANCE]
    if fault := _state_fault(cut, outside):
        raise ValueError(fault)
    return outside


def _write_subproblems(subproblems: Sequence[Subproblem]) -> str:
    """Write subproblems as JSON."""
    return json.dumps(
        [
            [
                *(
                    edge
                    for segment in (subproblem.nodes, subproblem.acquisitions)
                    for edge in (segment.start, segment.stop)
                ),
                subproblem.flow_q,
                str(subproblem.lam_low),
                str(subproblem.lam_high),
                *(subproblem.resolved or (0, 0)),
            ]
            for subproblem in subproblems
        ]
    )


def _read_subproblems(text: object, host: Host) -> list[Subproblem]:
    subproblems = []
    for a, b, c, d, flow_q, low, high, p, q in read_json(str(text)):
        for number in (a, b, c, d, flow_q, p, q):
            if not 0 <= checked_integer(number, "subproblems") < INT64_SAFE:
                raise ValueError(f"subproblems: expected numbers 0..{INT64_SAFE - 1}, got {number}")
        if not (a <= b <= host.nodes.size and c <= d <= host.acquisitions.size):
            raise ValueError(f"subproblems: expected segments of the problem, got {a}..{b} and {c}..{d}")
        bounds = as_fraction(low, "lam_low"), inf if high == str(inf) else as_fraction(high, "lam_high")
        for bound in bounds:
            if isinstance(bound, Fraction) and not (bound >= 0 and max(bound.as_integer_ratio()) < INT64_SAFE):
                raise ValueError(f"subproblems: expected bounds of numbers 0..{INT64_SAFE - 1}, got {bound}")
        subproblems.append(Subproblem(host, slice(a, b), slice(c, d), flow_q, *bounds, Lambda(p, q) if q else None))
    return subproblems


def _state_fault(cut: ParametricCut, outside: Sequence[Subproblem]) -> str | None:
    """Say why subproblems are no division of the problem, or what is in the trees no flow in them; None if they are.

    Makes the rows and parents of the subproblems from those of a problem that was never cut.
    """
    by_falling_lambda = sorted([*cut.done, *cut.open, *outside], key=lambda subproblem: subproblem.nodes.start)
    if fault := division_fault(cut.host, by_falling_lambda):
        return fault
    if any(subproblem.resolved is None or subproblem.resolved.q != subproblem.flow_q for subproblem in cut.done):
        return "a breakpoint without its lambda, or with a flow of another one"
    if any(subproblem.resolved is not None for subproblem in (*cut.open, *outside)):
        return "a subproblem that is still to be cut and has a breakpoint"
    for subproblem in (*cut.done, *cut.open):
        subproblem.break_even()
    return _closure_fault(cut.host, by_falling_lambda) or _trees_fault(cut.host, by_falling_lambda)


def _closure_fault(host: Host, by_falling_lambda: Sequence[Subproblem]) -> str | None:
    """Say which subproblem is not closed; cut ties to those above it."""
    problem = host.network.problem
    paid, met = np.zeros((2, n_blocks(problem.cost.size)), dtype=np.int64)
    for subproblem in by_falling_lambda:
        if not (is_ascending(subproblem.members.nodes) and is_ascending(subproblem.members.acquisitions)):
            return "a subproblem whose nodes or acquisitions do not ascend"
        if not divide_again(problem, subproblem.members, paid, met):
            return "a subproblem that does not own what its nodes meet"
    owner = _owners(host, by_falling_lambda)[: problem.parent.size]
    child = np.flatnonzero(problem.parent >= 0)
    own, above = owner[child], owner[problem.parent[child]]
    if np.any(own < above):
        return "a node that is kept longer than its parent"
    problem.parent[child[own != above]] = -1
    return None


def _trees_fault(host: Host, by_falling_lambda: Sequence[Subproblem]) -> str | None:
    """Say what is wrong with the trees, or with the flow that they carry."""
    problem, trees = host.network.problem, host.network.trees
    above, flow, owner = trees.vertices["above"], trees.vertices["flow"], _owners(host, by_falling_lambda)
    if not are_trees(problem, np.ascontiguousarray(above), owner):
        return "vertices that do not hang below one another in trees, by arcs of their subproblem"
    hangs = above >= 0
    most = np.array(
        [MAX_TIMES_SUPPLIED * subproblem.flow_q * subproblem.totals.positive for subproblem in by_falling_lambda]
        + [0.0]
    )
    through = flow + np.bincount(above[hangs], flow[hangs], flow.size)
    if np.any(flow < 0) or np.any(flow[~hangs]) or np.any(through > most[owner]):
        return "a flow that the subproblem cannot carry"
    done = np.array([subproblem.resolved is not None for subproblem in by_falling_lambda] + [False])
    if np.any(done[owner] & (np.abs(trees.imbalance.astype(np.float64)) > most[owner])):
        return "an imbalance that the subproblem cannot have"
    return None


def _owners(host: Host, subproblems: Sequence[Subproblem]) -> Array:
    """Tell to which subproblem each vertex belongs, -1 for none."""
    problem = host.network.problem
    n = problem.gain.size
    owner = np.full(n + problem.cost.size, -1)
    for place, subproblem in enumerate(subproblems):
        owner[subproblem.members.nodes] = owner[n + subproblem.members.acquisitions] = place
    return owner
