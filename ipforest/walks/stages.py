"""Compiled walks through stages, with models of trees or linear ones, and routers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.kernels import inner_njit, njit
from ipforest.ensemble.linear import LinearFunctions, answer_linearly
from ipforest.ensemble.links import link_one
from ipforest.ensemble.routing import Splits, child
from ipforest.walks.ensembles import Ensembles, joined_splits, of_columns
from ipforest.walks.purse import walked
from ipforest.walks.rules import RuleTables, keenness
from ipforest.walks.trees import MEAN, margin, or_none

END = -1
"""Where examples go on from a last stage."""

BLOCK = 512
"""Rows that go through the stages together, tree by tree."""


class RouterTree(NamedTuple):
    """A tree that sends the examples of a stage on.

    Parameters
    ----------
    splits : Splits
        Features are of what the stage sees; the right child of a leaf is the place in ``following`` of the stage.
    narrow : bool
        Whether numbers are compared as float32.
    """

    splits: Splits
    narrow: bool

    @classmethod
    def of(
        cls,
        left: Array,
        right: Array,
        feature: Array,
        threshold: Array,
        missing_left: Array,
        goal: Array,
        *,
        narrow: bool,
    ) -> RouterTree:
        """Take a tree of tests of numbers, whose leaves have no child, -1, but a goal, a place in ``following``."""
        ends, no_category = np.where(left < 0, goal, right), np.full(left.size, -1, dtype=np.int32)
        no_sets = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        root = np.zeros(1, dtype=np.int64)
        return cls(Splits(root, left, ends, feature, threshold, missing_left, no_category, *no_sets), narrow)


_LEAF, _HERE = np.array([-1]), np.zeros(1, dtype=np.int64)

ONWARD = RouterTree.of(_LEAF, _LEAF, _HERE, np.zeros(1), np.zeros(1, dtype=bool), _HERE, narrow=False)
"""Sends all examples to the same stage."""


class Routers(NamedTuple):
    """The router trees of all stages, one after another.

    Parameters
    ----------
    splits : Splits
        Features are columns of the table; the right child of a leaf is a place in ``following``.
    narrow : ndarray of bool, shape (n_stages,)
    following : ndarray of int64, shape (n_goals,)
        Numbers of stages, `END` after a last one.
    """

    splits: Splits
    narrow: Array
    following: Array

    @classmethod
    def of(cls, trees: Sequence[RouterTree], columns: Sequence[IntArray], following: Sequence[IntArray]) -> Routers:
        """Put router trees one after another.

        Parameters
        ----------
        trees : sequence of RouterTree
        columns : sequence of ndarray of int64
            The column of the table that each feature of each stage is.
        following : sequence of ndarray of int64
            See `ipforest.stopping.stages.Stage`.
        """
        splits = [of_columns(tree.splits, own) for tree, own in zip(trees, columns, strict=True)]
        n_nodes = sum(each.left.size for each in splits)
        joined = joined_splits(zip(splits, (goals.size for goals in following), strict=True), n_nodes)
        return cls(joined, np.array([tree.narrow for tree in trees]), np.concatenate(following))


class SeenStages(NamedTuple):
    """Stages as arrays.

    Parameters
    ----------
    first_ensemble : ndarray of int64, shape (n_stages + 1,)
        Whose answers stage s averages; none where it is linear.
    linear : LinearFunctions
        One for each stage, without margins where it is not linear.
    n_outputs : int
    depth : ndarray of int64, shape (n_stages,)
    sees : ndarray of bool, shape (n_stages, n_features)
    affordable : ndarray of bool, shape (n_stages,)
    """

    first_ensemble: Array
    linear: LinearFunctions
    n_outputs: int
    depth: Array
    sees: Array
    affordable: Array


@dataclass(frozen=True, slots=True, eq=False)
class StageWalk:
    """Go from stage to stage; a rule may stop at each.

    Parameters
    ----------
    stages : SeenStages
    ensembles : Ensembles
    routers : Routers
    rule : RuleTables
    level : float
        An example goes on while its keenness exceeds this.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
    """

    stages: SeenStages
    ensembles: Ensembles
    routers: Routers
    rule: RuleTables
    level: float
    class_costs: FloatArray | None

    def __call__(self, table: Array, *, answers: bool = True) -> tuple[FloatArray, Array]:
        """Take all examples through the stages, which answer in any case, as a rule looks at that."""
        parts, costs = (self.stages, self.ensembles, self.routers), or_none(self.class_costs)

        def climb(rows: Array, outputs: FloatArray, tests: Array) -> None:
            _climb(*parts, self.rule, self.level, costs, rows, outputs, tests)

        return walked(climb, table, self.stages.n_outputs, self.ensembles.splits.root.size)


@njit
def _climb(
    stages: SeenStages,
    ensembles: Ensembles,
    routers: Routers,
    rule: RuleTables,
    level: float,
    class_costs: Array,
    table: Array,
    outputs: Array,
    tests: Array,
) -> None:
    """Take blocks of examples through the stages, which come before those that follow them."""
    size = min(BLOCK, table.shape[0])
    at, memory, members = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    width = max(ensembles.base_score.shape[1], stages.linear.intercept.shape[1])
    margins, part = np.empty((size, width)), np.empty(outputs.shape[1])
    last_answer = np.empty(size)
    for start in range(0, table.shape[0], BLOCK):
        n_here = min(BLOCK, table.shape[0] - start)
        at[:n_here], memory[:n_here] = 0, 0
        for stage in range(stages.depth.size):
            n_members = 0
            for place in range(n_here):
                if at[place] == stage:
                    members[n_members] = place
                    n_members += 1
            if n_members == 0:
                continue
            reached = members[:n_members]
            _answer(stages, ensembles, stage, table[start:], reached, margins, part, outputs[start:])
            for place in reached:
                i = start + place
                if outputs.shape[1] > 1:
                    signal = margin(outputs[i], class_costs)
                else:
                    signal = -abs(outputs[i, 0] - (outputs[i, 0] if stage == 0 else last_answer[place]))
                    last_answer[place] = outputs[i, 0]
                keen, memory[place] = keenness(rule, stages.depth[stage], signal, memory[place])
                goal = _goal(routers, stage, table[i])
                if goal == END or not stages.affordable[goal] or not keen > level:
                    at[place] = END
                    continue
                at[place] = goal
                for feature in range(table.shape[1]):
                    tests[i, feature] += stages.sees[goal, feature] and not stages.sees[stage, feature]


@inner_njit
def _answer(
    stages: SeenStages,
    ensembles: Ensembles,
    stage: int,
    table: Array,
    rows: Array,
    margins: Array,
    part: Array,
    outputs: Array,
) -> None:
    """Answer about some rows as the linear function of a stage, or average what its ensembles answer."""
    splits, first, last = ensembles.splits, stages.first_ensemble[stage], stages.first_ensemble[stage + 1]
    for i in rows:
        if first == last:
            answer_linearly(stages.linear, stage, table[i], margins[0], outputs[i])
        else:
            outputs[i] = 0.0
    for number in range(first, last):
        narrow, link, n_margins = ensembles.narrow[number], ensembles.link[number], ensembles.n_margins[number]
        first_tree, last_tree = ensembles.first_tree[number], ensembles.first_tree[number + 1]
        for place in range(rows.size):
            margins[place, : ensembles.base_score.shape[1]] = ensembles.base_score[number]
        for tree in range(first_tree, last_tree):
            output = ensembles.first_output[tree]
            for place in range(rows.size):
                node = splits.root[tree]
                while splits.left[node] >= 0:
                    x = table[rows[place], splits.feature[node]]
                    node = child(splits, node, np.float64(np.float32(x)) if narrow else x)
                for k in range(ensembles.n_values[number]):
                    margins[place, output + k] += ensembles.answers[splits.right[node], k]
        for place in range(rows.size):
            if link == MEAN:
                for k in range(n_margins):
                    part[k] = margins[place, k] / (last_tree - first_tree)
            else:
                link_one(link, margins[place], n_margins, part)
            for k in range(part.size):
                outputs[rows[place], k] += part[k]
    if last > first:
        for i in rows:
            for k in range(part.size):
                outputs[i, k] /= last - first


@inner_njit
def _goal(routers: Routers, stage: int, x: Array) -> int:
    """Find the stage to which an example goes on."""
    splits = routers.splits
    node = splits.root[stage]
    while splits.left[node] >= 0:
        value = x[splits.feature[node]]
        node = child(splits, node, np.float64(np.float32(value)) if routers.narrow[stage] else value)
    return int(routers.following[splits.right[node]])
