r"""Fix nodes that no better pruning within a budget can drop, or keep: reduced costs of optimal flows, in integers.

Let f be a feasible flow of the closure network at p / q (`ipforest.results.DualFlow`), and L = q times the errors of
the bare roots less all that f leaves of the gains. Adding up conservation over a pruning that keeps S and pays for the
acquisitions W gives, with its error E and cost C in integers,

.. math::

    q E + p C = L + \sum_{h \notin S} \mathrm{unsent}_h + \sum_{h \in S} \mathrm{own}_h
                  + \sum_{j \in W} \mathrm{room}_j + \mathrm{flow}(\bar S \to S \cup W),

where unsent_h = q gain_h - f is left of a positive gain, own_h is left of the capacity of h's own arcs to the sink
(its negative gain, its split cost), and room_j = p cost_j less all flow into j. No term is negative. A pruning of error
at most E* and cost at most B has q E + p C <= q E* + p B: its terms add up to at most the slack q E* + p B - L. So

- a node in whose subtree more than the slack is left unsent is kept by every such pruning, for to drop the node is to
  drop its subtree;
- a node for which own_u and the rooms, over u = h and all its ancestors, exceed the slack is kept by none. No
  acquisition counts twice in it: each is first used once on a path;
- a negative slack says that there is no such pruning.

Any lambda gives valid fixings, and different ones fix different nodes: at the breakpoint that straddles the budget L is
best, but in the piece that ties there nothing is left unsent, nor any room; a little off, there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ipforest._internal.arrays import BoolArray, IntArray
from ipforest._internal.kernels import njit
from ipforest._internal.rational import exact_sum
from ipforest.ensemble.routing import accumulate_to_ancestors
from ipforest.instance import PruningInstance
from ipforest.results import DualFlow

__all__ = ["Losses", "fix", "losses"]


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """What a flow proves: ``q E + p C`` is at least ``optimum``, and exceeds it by a loss for each node that it fixes.

    Parameters
    ----------
    optimum : int
        L.
    if_kept, if_dropped : ndarray of int64, shape (n_internal,)
        Rising, and falling, from parent to child.
    """

    optimum: int
    if_kept: IntArray
    if_dropped: IntArray


def losses(instance: PruningInstance, flow: DualFlow) -> Losses:
    """Read the reduced costs of a feasible flow."""
    p, q = flow.p, flow.q
    gains = instance.gain > 0
    unsent = np.where(gains, q * instance.gain - flow.gain, 0)
    own = np.where(gains, 0, -q * instance.gain - flow.gain) + p * instance.split_cost - flow.split
    room = p * instance.acquisition_cost
    np.subtract.at(room, instance.indices[flow.used], flow.triple)
    np.add.at(own, instance.triple_node, room[instance.indices])
    accumulate_to_descendants(instance.parent, own)
    optimum = q * instance.integer_error(instance.roots_only) - exact_sum(unsent)
    subtree = unsent[:, None].copy()
    accumulate_to_ancestors(instance.parent, subtree)
    return Losses(optimum, own, subtree[:, 0])


def fix(
    instance: PruningInstance, flows: Iterable[DualFlow], error: int, cost: int
) -> tuple[BoolArray, BoolArray] | None:
    """Find nodes that all prunings of at most this integer error and cost keep, and nodes that none of them keeps.

    Parameters
    ----------
    instance : PruningInstance
    flows : iterable of DualFlow
        Feasible ones.
    error, cost : int

    Returns
    -------
    tuple of two ndarray of bool, shape (n_internal,), or None
        Kept by all (closed under parents) and kept by none (closed under children); None where there is no such
        pruning.
    """
    kept, dropped = np.zeros((2, instance.n_internal), dtype=bool)
    for flow in flows:
        proven = losses(instance, flow)
        slack = flow.q * error + flow.p * cost - proven.optimum
        if slack < 0:
            return None
        kept |= proven.if_dropped > slack
        dropped |= proven.if_kept > slack
    return None if np.any(kept & dropped) else (kept, dropped)


@njit
def accumulate_to_descendants(parent: IntArray, values: IntArray) -> None:
    """Add to each node's value, in place, those of its ancestors."""
    for node in range(parent.size):
        if parent[node] >= 0:
            values[node] += values[parent[node]]
