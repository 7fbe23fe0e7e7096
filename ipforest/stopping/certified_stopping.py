"""Optimal stopping over histories, as an exact pruning of their tree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.estimator.checks import check_integer
from ipforest.instance import PruningInstance
from ipforest.losses import NodeErrors
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.resolution import joint_resolution
from ipforest.settings import check_fields, checked
from ipforest.stopping.optimal_stopping import quantile_cuts
from ipforest.stopping.paths import StoppingPaths
from ipforest.walks import CERTIFIED, RuleTables

__all__ = ["CertifiedRule", "CertifiedStopping"]


@dataclass(frozen=True, slots=True)
class CertifiedStopping:
    r"""The optimal policy over histories, for every lambda, with a proof on the examples that it was fitted on.

    Checkpoints are stages at which it may stop. At each the signal is cut into bins, and the history of bins is a node
    of one tree: the policy tree. Going on at a node buys, for each of its examples, the units up to the next
    checkpoint; stopping costs the loss of its examples. So where to stop is a pruning of the policy tree in which a
    node needs several units at once (IP2 of the optimal-pruning paper), and `ipforest.prune_path` gives the best policy
    for every lambda.

    Parameters
    ----------
    n_bins : int, default=3
        Most bins per history and checkpoint.
    min_support : int, default=50
        Fewest examples of a history; with fewer, going on means going to the end.
    checkpoints : tuple of int, optional
        Ascending stages, the first of them 0; by default 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ...
    """

    n_bins: int = checked(3, check_integer, 1)
    min_support: int = checked(50, check_integer, 1)
    checkpoints: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def fit(self, paths: StoppingPaths) -> CertifiedRule:
        """Build the policy tree and find the path of its prunings.

        Raises
        ------
        ValueError
            The checkpoints do not rise from 0, or a loss is no integer.
        """
        tree = _PolicyTree(paths, self)
        path = prune_path(tree.instance())
        if not path.is_complete:
            raise KeyboardInterrupt
        lambdas = np.zeros(len(tree.parent))
        lambdas[path.instance.internal_nodes] = path.node_lambda.astype(float)
        return CertifiedRule(path, lambdas, tuple(tree.next_stage), tuple(tree.edges), tuple(tree.first_child))

    def stages(self, n_stages: int) -> list[int]:
        """List the checkpoints among so many stages."""
        if self.checkpoints is None:
            default = [0, 1, 2, 3, *(base << power for power in range(n_stages.bit_length()) for base in (4, 6))]
            return sorted(stage for stage in default if stage < n_stages)
        if self.checkpoints[:1] != (0,) or any(low >= high for low, high in pairwise(self.checkpoints)):
            raise ValueError(f"checkpoints: expected stages that rise from 0, got {self.checkpoints}")
        return [stage for stage in self.checkpoints if stage < n_stages]


class _PolicyTree:
    """Histories of bins as a pruning instance, parents before children.

    ``next_stage[h]`` is the checkpoint after history h, -1 where going on means going to the end; its bins there begin
    at ``edges[h]`` and are the nodes from ``first_child[h]`` on.
    """

    def __init__(self, paths: StoppingPaths, settings: CertifiedStopping) -> None:
        if np.any(paths.loss != np.rint(paths.loss)):
            raise ValueError(
                "loss: expected integers, such as 1 for an error, got other values; classify, or round them"
            )
        self._paths, self._settings = paths, settings
        self._checkpoints = settings.stages(paths.n_stages)
        self.parent: list[int] = []
        self.errors: list[int] = []
        self.next_stage: list[int] = []
        self.edges: list[FloatArray] = []
        self.first_child: list[int] = []
        self._needs: dict[int, list[tuple[int, int]]] = {}
        self._grow()

    def _grow(self) -> None:
        """Split histories checkpoint by checkpoint."""
        examples = np.arange(self._paths.n_samples)
        self._add(-1, examples, 0)
        open_nodes = [(0, examples)]
        for position, stage in enumerate(self._checkpoints):
            following = self._checkpoints[position + 1] if position + 1 < len(self._checkpoints) else self._end
            split: list[tuple[int, IntArray]] = []
            for node, members in open_nodes:
                split += self._split(node, members, stage, following)
            open_nodes = split

    @property
    def _end(self) -> int:
        return self._paths.n_stages - 1

    def _split(self, node: int, members: IntArray, stage: int, following: int) -> list[tuple[int, IntArray]]:
        """Give a history its continuations; return those that can be split again."""
        paths, settings = self._paths, self._settings
        going = members[paths.last[members] > stage]
        if going.size == 0:
            return []
        further = going[paths.last[going] > following]
        n_bins = min(settings.n_bins, further.size // settings.min_support)
        if n_bins == 0:
            self._buy(node, going, stage, self._end)
            self._add(node, members, self._end)
            return []
        self._buy(node, going, stage, following)
        ended = np.setdiff1d(members, further)
        if ended.size:
            self._add(node, ended, following)
        signal = paths.signal[further, following]
        cuts = np.empty(max(n_bins, 1) - 1)
        cuts = cuts[: quantile_cuts(np.sort(signal), n_bins, cuts)]
        bins = np.searchsorted(cuts, signal, side="right")
        self.next_stage[node], self.edges[node], self.first_child[node] = following, cuts, len(self.parent)
        children = [further[bins == number] for number in range(cuts.size + 1)]
        return [(self._add(node, child, following), child) for child in children]

    def _add(self, parent: int, members: IntArray, stage: int) -> int:
        self.parent.append(parent)
        self.errors.append(int(self._paths.loss[members, stage].sum()))
        self.next_stage.append(-1)
        self.edges.append(np.empty(0))
        self.first_child.append(-1)
        return len(self.parent) - 1

    def _buy(self, node: int, rows: IntArray, stage: int, following: int) -> None:
        bought_at = self._paths.bought_at[rows]
        example, unit = np.nonzero((bought_at >= stage) & (bought_at < following))
        self._needs[node] = list(zip(rows[example].tolist(), unit.tolist(), strict=True))

    def instance(self) -> PruningInstance:
        """Write the tree as a pruning instance: errors and costs are means over the examples."""
        paths, costs = self._paths, self._paths.costs
        example, unit = np.nonzero(paths.bought_at < paths.n_stages)
        number = np.full(paths.bought_at.shape, -1, dtype=np.int32)
        number[example, unit] = np.arange(example.size)
        rows = [np.sort([number[pair] for pair in self._needs[node]]) for node in sorted(self._needs)]
        parent, share = np.array(self.parent, dtype=np.int32), Fraction(1, paths.n_samples)
        losses = NodeErrors(np.array(self.errors, dtype=np.int64), share, Fraction(1))
        numbers = np.bincount(unit, minlength=costs.n_units).tolist()
        losses, step = joint_resolution(losses, parent, zip(costs.unit_costs, numbers, strict=True))
        prices = np.array([ceil(costs.unit_costs[bought] / step) for bought in unit], dtype=np.int64)
        return PruningInstance(
            tree_offsets=np.array([0, len(self.parent)]),
            node_parent=parent,
            errors=losses.errors,
            indptr=np.concatenate([[0], np.cumsum([row.size for row in rows], dtype=np.int64)]).astype(np.int64),
            indices=np.concatenate([np.empty(0, dtype=np.int32), *rows]).astype(np.int32),
            acquisition_unit=unit.astype(np.int32),
            acquisition_example=example.astype(np.int32),
            acquisition_cost=prices,
            split_cost=np.zeros(len(self._needs), dtype=np.int64),
            error_unit=losses.error_unit,
            cost_unit=share * step,
            n_units=costs.n_units,
            n_examples=paths.n_samples,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedRule:
    """A policy tree whose prunings are the optimal policies; the memory of an example is its node.

    Parameters
    ----------
    path : PruningPath
        With its instance and the flow that proves it; see `proofs.verify_path`.
    lambdas : ndarray of float64, shape (n_nodes,)
        Largest lambda at which the policy goes on.
    next_stage, first_child : tuple of int
        The next checkpoint, -1 where going on means going to the end, and the first of the nodes of its bins.
    edges : tuple of ndarray of float64
        The signals at which the next bin begins.
    """

    path: PruningPath
    lambdas: FloatArray
    next_stage: tuple[int, ...]
    edges: tuple[FloatArray, ...]
    first_child: tuple[int, ...]

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Go down the policy tree at checkpoints; between them an example is as keen as at the one before."""
        following = np.array(self.next_stage)[memory]
        node = memory.copy()
        for parent in np.unique(memory[following == stage]):
            here = (memory == parent) & (following == stage)
            node[here] = self.first_child[parent] + np.searchsorted(self.edges[parent], signal[here], side="right")
        return self.lambdas[node], node

    def tables(self) -> RuleTables:
        """Write the rule as compiled walks read it."""
        return RuleTables.of(CERTIFIED, self.edges, (self.lambdas,), self.next_stage, self.first_child)
