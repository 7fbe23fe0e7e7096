"""Rules that stop, as compiled walks read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.kernels import inner_njit

NEVER, THRESHOLD, STAGED, CERTIFIED = range(4)
"""Kinds of rules that stop; the first stops no example."""


class RuleTables(NamedTuple):
    """A rule as arrays.

    Parameters
    ----------
    kind : int
        `NEVER`, `THRESHOLD`, `STAGED` or `CERTIFIED`.
    first_edge, edge : ndarray of int64 (n + 1,) and float64
        The bins of a stage, or of a node of the policy tree, begin at ``edge[first_edge[s]:first_edge[s + 1]]``.
    first_lambda, lambdas : ndarray of int64 and float64
        Keenness of the bins of stage s from ``first_lambda[s]`` on; or of each node of the policy tree.
    next_stage, first_child : ndarray of int64
        See `ipforest.stopping.certified_stopping.CertifiedRule`.
    tie : float
        How much less keen a signal larger by 1 is within its bin.
    """

    kind: int
    first_edge: Array
    edge: Array
    first_lambda: Array
    lambdas: Array
    next_stage: Array
    first_child: Array
    tie: float

    @classmethod
    def of(
        cls,
        kind: int,
        edges: Sequence[FloatArray] = (),
        lambdas: Sequence[FloatArray] = (),
        next_stage: Sequence[int] = (),
        first_child: Sequence[int] = (),
        tie: float = 0.0,
    ) -> RuleTables:
        """List rows of edges and lambdas one after another."""
        none = np.empty(0)
        return cls(
            kind,
            np.cumsum([0, *(row.size for row in edges)]),
            np.concatenate([none, *edges]),
            np.cumsum([0, *(row.size for row in lambdas)]),
            np.concatenate([none, *lambdas]),
            np.array(next_stage, dtype=np.int64),
            np.array(first_child, dtype=np.int64),
            tie,
        )


@inner_njit
def keenness(rule: RuleTables, stage: int, signal: float, memory: int) -> tuple[float, int]:
    """Say how keen an example is to go on, and what the rule remembers about it."""
    if rule.kind == STAGED:
        if stage + 1 >= rule.first_edge.size:
            return np.inf, memory
        place = rule.first_lambda[stage] + _bin_of(rule, stage, signal)
        return rule.lambdas[place] - rule.tie * signal, memory
    if rule.kind == CERTIFIED:
        if rule.next_stage[memory] == stage:
            memory = rule.first_child[memory] + _bin_of(rule, memory, signal)
        return rule.lambdas[memory], memory
    return np.inf if stage == 0 and signal == 0 else -signal, memory


@inner_njit
def _bin_of(rule: RuleTables, row: int, signal: float) -> int:
    place = rule.first_edge[row]
    while place < rule.first_edge[row + 1] and rule.edge[place] <= signal:
        place += 1
    return int(place - rule.first_edge[row])
