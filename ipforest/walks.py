"""Whole tables predicted in one compiled pass: what examples ask for, where they stop, what they are answered.

A `Policy` says how one example moves on when another value is known; a walk does the same from the first purchase to
the answer, for a table whose values are all at hand. Outputs and tests are those of `ipforest.session.Sessions`, to the
last bit: both add up in the same order and share the compiled links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray, aligned_empty, read_only
from ipforest._internal.kernels import inner_njit, njit, run_in_slices
from ipforest.choosing.choice import spending_limit
from ipforest.costs import FeatureCosts, two_units
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.links import LINKS, link_one
from ipforest.ensemble.routing import Splits, child

Fields = TypeVar("Fields", bound=Any)

MEAN = len(LINKS)
"""Stands for averaged trees where a kernel is told the link of summed ones."""

SETTLED_SLACK = 1e-9
"""By how much, relative to the sums, one label must lead to be settled: sums of floats depend on their order."""

TIE = 1e-9
"""How much less keen a signal larger by 1 is within its bin."""

END = -1
"""Where examples go on from a last stage."""

BLOCK = 512
"""Rows that go through the stages together, tree by tree."""

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
        See `ipforest.stopping.rules.CertifiedRule`.
    """

    kind: int
    first_edge: Array
    edge: Array
    first_lambda: Array
    lambdas: Array
    next_stage: Array
    first_child: Array

    @classmethod
    def of(
        cls,
        kind: int,
        edges: Sequence[FloatArray] = (),
        lambdas: Sequence[FloatArray] = (),
        next_stage: Sequence[int] = (),
        first_child: Sequence[int] = (),
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
        )


class Walk(Protocol):
    """Predicts a table in one pass."""

    def __call__(self, table: Array) -> tuple[FloatArray, Array]:
        """Give outputs (n_samples, n_outputs), and tests (n_samples, n_features) as int32, of float64 examples."""


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """A walk whose answers are changed afterwards.

    Parameters
    ----------
    walk : Walk
    change : callable (outputs, tests) -> ndarray of float64, shape (n_samples, n_outputs)
    """

    walk: Walk
    change: Callable[[FloatArray, Array], FloatArray]

    def __call__(self, table: Array) -> tuple[FloatArray, Array]:
        """Walk, and change the answers."""
        outputs, tests = self.walk(table)
        return self.change(outputs, tests), tests


class Purse(NamedTuple):
    """What examples may pay, and what comes with what.

    Parameters
    ----------
    free : ndarray of bool, shape (n_features,)
        Features before which no example stops.
    follows : ndarray of int64, shape (n_features,)
        The next feature of the same unit, the first one again after the last.
    first_unit, second_unit : ndarray of int64, shape (n_features,)
        Units that a feature needs; the second is the last unit, which costs nothing, where it needs one.
    unit_cost : ndarray of float64, shape (n_units + 1,)
    limit : float
        The most that an example may pay; infinite without a cap.
    missing_seen : ndarray of bool, shape (n_features,)
        Columns in which what cannot be had counts as missing.
    """

    free: Array
    follows: Array
    first_unit: Array
    second_unit: Array
    unit_cost: Array
    limit: float
    missing_seen: Array

    @property
    def has_limit(self) -> bool:
        """Whether there is a cap."""
        return bool(np.isfinite(self.limit))

    @classmethod
    def of(cls, costs: FeatureCosts, free: BoolArray, max_cost: object | None, missing_seen: BoolArray | None) -> Purse:
        """Take prices as the kernels do.

        Parameters
        ----------
        costs : FeatureCosts
        free : ndarray of bool, shape (n_features,)
        max_cost : number, optional
        missing_seen : ndarray of bool, shape (n_features,), optional
        """
        n, units = costs.n_features, two_units(costs)
        follows = np.empty(n, dtype=np.int64)
        for unit in np.unique(costs.first_unit):
            members = np.flatnonzero(costs.first_unit == unit)
            follows[members] = np.roll(members, -1)
        return cls(
            np.ascontiguousarray(free),
            follows,
            np.ascontiguousarray(units[:, 0], dtype=np.int64),
            np.ascontiguousarray(units[:, 1], dtype=np.int64),
            np.append(costs.float_unit_costs, 0.0),
            spending_limit(max_cost, "max_cost"),
            np.zeros(n, dtype=bool) if missing_seen is None else np.ascontiguousarray(missing_seen),
        )


class SeenTrees(NamedTuple):
    """Trees, and what the leaves below each node say; see `ipforest.policy.TreesInOrder`.

    Parameters
    ----------
    splits : Splits
    value, lowest, highest : ndarray of float64, shape (n_nodes, n_values)
    first_output : ndarray of int32, shape (n_trees,)
    base_score : ndarray of float64, shape (n_margins,)
    link : int
        The place of the link in `LINKS`, or `MEAN`.
    classify : bool
    """

    splits: Splits
    value: Array
    lowest: Array
    highest: Array
    first_output: Array
    base_score: Array
    link: int
    classify: bool


def held(fields: Fields) -> Fields:
    """View the arrays of a named tuple as read-only, so that kernels are compiled for one kind of them."""
    return cast("Fields", type(fields)(*map(_held, fields)))


def _held(each: Any) -> Any:
    if isinstance(each, np.ndarray):
        return read_only(each)
    return held(each) if isinstance(each, tuple) else each


NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("left", np.int32),
        ("right", np.int32),
        ("feature", np.int32),
        ("category_set", np.int32),
        ("missing_left", np.bool_),
    ],
    align=True,
)
"""What a walk reads of a node, on one line of the cache."""


def packed(splits: Splits) -> Splits:
    """Store what nodes ask node by node, so that one row does not wait for the memory once for each field."""
    nodes = aligned_empty(splits.left.size, NODE)
    for name in NODE.fields or ():
        nodes[name] = getattr(splits, name)
    return splits._replace(**{name: nodes[name] for name in NODE.fields or ()})


def _or_none(class_costs: FloatArray | None) -> Array:
    """Take class costs as the kernels do: an empty matrix where there are none."""
    return read_only(np.empty((0, 0)) if class_costs is None else class_costs)


@dataclass(frozen=True, slots=True, eq=False)
class TreeWalk:
    """Walk through trees in order; a rule may stop before each purchase.

    Parameters
    ----------
    trees : SeenTrees
    purse : Purse
    rule : RuleTables
    level : float
        An example goes on while its keenness exceeds this.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
    n_outputs : int
    """

    trees: SeenTrees
    purse: Purse
    rule: RuleTables
    level: float
    class_costs: FloatArray | None
    n_outputs: int

    def __call__(self, table: Array) -> tuple[FloatArray, Array]:
        """Walk all examples."""
        n, costs = table.shape[0], _or_none(self.class_costs)
        outputs, tests = np.empty((n, self.n_outputs)), np.zeros(table.shape, dtype=np.int32)

        def walk(part: slice) -> None:
            rows = read_only(table[part])
            _walk_trees(self.trees, self.purse, self.rule, self.level, costs, rows, outputs[part], tests[part])

        run_in_slices(walk, n, n * self.trees.splits.root.size)
        return outputs, tests


class _Example(NamedTuple):
    """What is known of one example, and where it stands in each tree."""

    known: Array
    barred: Array
    node: Array
    low: Array
    high: Array
    counted: Array
    everything: Array
    output: Array
    bounds: Array


@njit
def _walk_trees(
    trees: SeenTrees,
    purse: Purse,
    rule: RuleTables,
    level: float,
    class_costs: Array,
    table: Array,
    outputs: Array,
    tests: Array,
) -> None:
    n_features, n_margins = table.shape[1], trees.base_score.size
    example = _Example(
        np.empty(n_features, np.bool_),
        np.empty(n_features, np.bool_),
        np.empty(trees.splits.root.size, np.int64),
        np.empty(n_margins),
        np.empty(n_margins),
        np.empty(n_margins),
        np.empty(n_margins),
        np.empty(outputs.shape[1]),
        np.empty((2, outputs.shape[1])),
    )
    paid = np.empty(purse.unit_cost.size, np.bool_)
    no_costs = class_costs[:0]
    for i in range(table.shape[0]):
        example.known[:], example.barred[:], example.node[:] = False, False, trees.splits.root
        paid[:] = False
        paid[-1] = True
        if rule.kind == NEVER and np.isinf(purse.limit):
            _walk_to_leaves(trees.splits, table[i], example, tests[i])
        else:
            _walk_one(trees, purse, rule, level, class_costs, table[i], example, paid, tests[i])
        _foresee(trees, no_costs, table[i], example)
        outputs[i] = example.output


@inner_njit
def _walk_to_leaves(splits: Splits, x: Array, example: _Example, tests: Array) -> None:
    """Walk an example of which everything is known; all trees end at leaves."""
    for tree in range(splits.root.size):
        node = splits.root[tree]
        while splits.left[node] >= 0:
            tests[splits.feature[node]] += 1
            node = child(splits, node, x[splits.feature[node]])
        example.node[tree] = node


@inner_njit
def _walk_one(
    trees: SeenTrees,
    purse: Purse,
    rule: RuleTables,
    level: float,
    class_costs: Array,
    x: Array,
    example: _Example,
    paid: Array,
    tests: Array,
) -> None:
    """Walk one example until it is stopped, or all trees have been asked."""
    splits, stage, memory = trees.splits, 0, 0
    _give_up(purse, paid, example)
    for tree in range(splits.root.size):
        node = splits.root[tree]
        while splits.left[node] >= 0:
            feature = splits.feature[node]
            if not example.known[feature]:
                if example.barred[feature]:
                    break
                if rule.kind != NEVER and not purse.free[feature]:
                    settled = _foresee(trees, class_costs, x, example)
                    keen, memory = _keenness(rule, stage, _sureness(trees, class_costs, example), memory)
                    stage += 1
                    if settled or keen <= level:
                        return
                _buy(purse, feature, paid, example)
            if not example.barred[feature]:
                tests[feature] += 1
            node = child(splits, node, np.nan if example.barred[feature] else x[feature])


@inner_njit
def _buy(purse: Purse, feature: int, paid: Array, example: _Example) -> None:
    """Make the features of a unit known, and give up what can no longer be paid."""
    paid[purse.first_unit[feature]] = True
    paid[purse.second_unit[feature]] = True
    member = feature
    while True:
        example.known[member], example.barred[member] = True, False
        member = purse.follows[member]
        if member == feature:
            break
    _give_up(purse, paid, example)


@inner_njit
def _give_up(purse: Purse, paid: Array, example: _Example) -> None:
    """Withhold the features that would take an example above its cap."""
    if np.isinf(purse.limit):
        return
    spent = 0.0
    for unit in range(paid.size):
        if paid[unit]:
            spent += purse.unit_cost[unit]
    for feature in range(purse.first_unit.size):
        if example.known[feature] or example.barred[feature]:
            continue
        price = 0.0
        for unit in (purse.first_unit[feature], purse.second_unit[feature]):
            if not paid[unit]:
                price += purse.unit_cost[unit]
        if spent + price > purse.limit:
            example.barred[feature], example.known[feature] = True, purse.missing_seen[feature]


@inner_njit
def _foresee(trees: SeenTrees, class_costs: Array, x: Array, example: _Example) -> bool:
    """Predict from what is known; tell whether nothing that is unknown can change the label."""
    splits, averages = trees.splits, trees.link == MEAN
    n_margins, n_counted = trees.base_score.size, 0
    example.low[:], example.high[:], example.counted[:], example.everything[:] = 0.0, 0.0, 0.0, 0.0
    for tree in range(splits.root.size):
        node = example.node[tree]
        while splits.left[node] >= 0 and example.known[splits.feature[node]]:
            feature = splits.feature[node]
            node = child(splits, node, np.nan if example.barred[feature] else x[feature])
        example.node[tree] = node
        counts = splits.left[node] < 0 or (averages and node != splits.root[tree])
        n_counted += counts
        for column in range(trees.value.shape[1]):
            output = trees.first_output[tree] + column
            if counts:
                example.counted[output] += trees.value[node, column]
            example.everything[output] += trees.value[node, column]
            example.low[output] += trees.lowest[node, column]
            example.high[output] += trees.highest[node, column]
    if not averages:
        for k in range(n_margins):
            example.low[k] += trees.base_score[k]
            example.high[k] += trees.base_score[k]
    settled = trees.classify and _is_settled(trees, class_costs, example)
    if averages:
        everything = settled or n_counted == 0
        for k in range(n_margins):
            total = example.everything[k] if everything else example.counted[k]
            example.output[k] = total / (splits.root.size if everything else n_counted)
    else:
        for k in range(n_margins):
            total = example.everything[k] if settled else example.counted[k]
            example.counted[k] = total + trees.base_score[k]
        link_one(trees.link, example.counted, n_margins, example.output)
    return settled


@inner_njit
def _is_settled(trees: SeenTrees, class_costs: Array, example: _Example) -> bool:
    low, high = example.low, example.high
    if class_costs.size:
        return _cheapest_is_certain(trees, class_costs, example)
    most, leader, others = 0.0, 0, -np.inf
    for k in range(low.size):
        most = max(most, max(abs(low[k]), abs(high[k])))
        if low[k] > low[leader]:
            leader = k
    slack = SETTLED_SLACK * most
    if low.size == 1:
        return bool(low[0] > slack or high[0] < -slack)
    for k in range(low.size):
        if k != leader:
            others = max(others, high[k])
    return bool(low[leader] > others + slack)


@inner_njit
def _cheapest_is_certain(trees: SeenTrees, class_costs: Array, example: _Example) -> bool:
    """Tell whether one label is the cheapest for all probabilities within bounds."""
    low, high = example.bounds[0], example.bounds[1]
    if trees.link == MEAN:
        low[:], high[:] = example.low, example.high
    elif example.low.size == 1:
        link_one(trees.link, example.low, 1, low)
        link_one(trees.link, example.high, 1, high)
        for k in range(2):
            low[k], high[k] = min(low[k], high[k]), max(low[k], high[k])
    else:
        largest = example.high.max()
        for k in range(low.size):
            low[k], high[k] = np.exp(example.low[k] - largest), np.exp(example.high[k] - largest)
    label, least = 0, np.inf
    for predicted in range(low.size):
        expected = 0.0
        for true in range(low.size):
            expected += (low[true] + high[true]) * class_costs[true, predicted]
        if expected < least:
            label, least = predicted, expected
    most = -np.inf
    for predicted in range(low.size):
        if predicted == label:
            continue
        total = 0.0
        for true in range(low.size):
            extra = class_costs[true, label] - class_costs[true, predicted]
            total += max(extra, 0.0) * high[true] + min(extra, 0.0) * low[true]
        most = max(most, total)
    return bool(most < -SETTLED_SLACK * class_costs.max() * high.sum())


@inner_njit
def _sureness(trees: SeenTrees, class_costs: Array, example: _Example) -> float:
    """Say how sure an answer is: its margin, or for a target minus the width of what it may still come to."""
    if example.output.size > 1:
        return _margin(example.output, class_costs)
    if trees.link == MEAN:
        return float(example.low[0] / trees.splits.root.size - example.high[0] / trees.splits.root.size)
    low, high = example.bounds[0], example.bounds[1]
    link_one(trees.link, example.low, 1, low)
    link_one(trees.link, example.high, 1, high)
    return float(low[0] - high[0])


@inner_njit
def _margin(output: Array, class_costs: Array) -> float:
    """Compute by how much the likeliest class leads, or the cheapest label is cheaper than the next."""
    first, second = -np.inf, -np.inf
    for k in range(output.size):
        worth = output[k]
        if class_costs.size:
            expected = 0.0
            for true in range(output.size):
                expected += output[true] * class_costs[true, k]
            worth = -expected
        if worth > first:
            first, second = worth, first
        elif worth > second:
            second = worth
    return float(first - second)


@inner_njit
def _keenness(rule: RuleTables, stage: int, signal: float, memory: int) -> tuple[float, int]:
    """Say how keen an example is to go on, and what the rule remembers about it."""
    if rule.kind == STAGED:
        if stage + 1 >= rule.first_edge.size:
            return np.inf, memory
        place = rule.first_lambda[stage] + _bin_of(rule, stage, signal)
        return rule.lambdas[place] - TIE * signal, memory
    if rule.kind == CERTIFIED:
        if rule.next_stage[memory] == stage:
            memory = rule.first_child[memory] + _bin_of(rule, memory, signal)
        return rule.lambdas[memory], memory
    return -signal, memory


@inner_njit
def _bin_of(rule: RuleTables, row: int, signal: float) -> int:
    place = rule.first_edge[row]
    while place < rule.first_edge[row + 1] and rule.edge[place] <= signal:
        place += 1
    return int(place - rule.first_edge[row])


class RouterTree(NamedTuple):
    """A tree that sends the examples of a stage on.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_nodes,)
        Children, which come after their parent; -1 at leaves.
    feature : ndarray of int64, shape (n_nodes,)
        Of what the stage sees.
    threshold : ndarray of float64, shape (n_nodes,)
    missing_left, narrow : ndarray of bool, shape (n_nodes,)
        Where missing values go, and whether numbers are compared as float32.
    goal : ndarray of int64, shape (n_nodes,)
        At leaves: the place in ``following`` of the stage.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    narrow: Array
    goal: Array


_NO, _HERE = np.zeros(1, dtype=bool), np.zeros(1, dtype=np.int64)
ONWARD = RouterTree(np.array([-1]), np.array([-1]), _HERE, np.zeros(1), _NO, _NO, _HERE)
"""Sends all examples to the same stage."""


class Routers(NamedTuple):
    """The router trees of all stages, one after another.

    Parameters
    ----------
    first : ndarray of int64, shape (n_stages,)
        The root of each.
    left, right, feature, threshold, missing_left, narrow
        See `RouterTree`; children over all nodes, features as columns of the table.
    following : ndarray of int64, shape (n_nodes,)
        At leaves: the next stage, `END` after a last one.
    """

    first: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
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
        starts = np.cumsum([0, *(tree.left.size for tree in trees)])
        parts = [
            (
                below(tree.left, start),
                below(tree.right, start),
                own[np.maximum(tree.feature, 0)] if own.size else tree.feature,
                tree.threshold,
                tree.missing_left,
                tree.narrow,
                goals[np.maximum(tree.goal, 0)],
            )
            for tree, start, own, goals in zip(trees, starts.tolist(), columns, following, strict=False)
        ]
        left, right, feature, threshold, missing_left, narrow, goal = map(np.concatenate, zip(*parts, strict=True))
        return cls(starts[:-1], left, right, feature, threshold, missing_left, narrow, goal)


def below(children: Array, start: int) -> Array:
    """Return the numbers of children in a tree whose nodes come after ``start`` others."""
    return np.where(children >= 0, children + start, children)


class Ensembles(NamedTuple):
    """The ensembles of all stages, one after another.

    Parameters
    ----------
    splits : Splits
        Features are columns of the table.
    first_tree : ndarray of int64, shape (n_ensembles + 1,)
    value : ndarray of float64, shape (n_nodes, n_values)
    n_values, n_margins, link : ndarray of int64, shape (n_ensembles,)
        See `SeenTrees`.
    narrow : ndarray of bool, shape (n_ensembles,)
        Whether numbers are compared as float32.
    first_output : ndarray of int32, shape (n_trees,)
    base_score : ndarray of float64, shape (n_ensembles, most margins)
    """

    splits: Splits
    first_tree: Array
    value: Array
    n_values: Array
    n_margins: Array
    link: Array
    narrow: Array
    first_output: Array
    base_score: Array


class SeenStages(NamedTuple):
    """Stages as arrays.

    Parameters
    ----------
    first_ensemble : ndarray of int64, shape (n_stages + 1,)
        Whose answers stage s averages; none where it answers ``constant[s]``.
    constant : ndarray of float64, shape (n_stages, n_outputs)
    depth : ndarray of int64, shape (n_stages,)
    sees : ndarray of bool, shape (n_stages, n_features)
    affordable : ndarray of bool, shape (n_stages,)
    """

    first_ensemble: Array
    constant: Array
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

    def __call__(self, table: Array) -> tuple[FloatArray, Array]:
        """Take all examples through the stages."""
        n, costs = table.shape[0], _or_none(self.class_costs)
        outputs = np.empty((n, self.stages.constant.shape[1]))
        tests = np.zeros(table.shape, dtype=np.int32)

        def climb(part: slice) -> None:
            _climb(
                self.stages,
                self.ensembles,
                self.routers,
                self.rule,
                self.level,
                costs,
                read_only(table[part]),
                outputs[part],
                tests[part],
            )

        run_in_slices(climb, n, n * self.ensembles.splits.root.size)
        return outputs, tests


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
    margins, part = np.empty((size, ensembles.base_score.shape[1])), np.empty(outputs.shape[1])
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
                    signal = _margin(outputs[i], class_costs)
                else:
                    signal = -abs(outputs[i, 0] - (outputs[i, 0] if stage == 0 else last_answer[place]))
                    last_answer[place] = outputs[i, 0]
                keen, memory[place] = _keenness(rule, stages.depth[stage], signal, memory[place])
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
    """Average what the ensembles of a stage answer about some rows."""
    splits, first, last = ensembles.splits, stages.first_ensemble[stage], stages.first_ensemble[stage + 1]
    for i in rows:
        outputs[i] = stages.constant[stage]
    for number in range(first, last):
        narrow, link, n_margins = ensembles.narrow[number], ensembles.link[number], ensembles.n_margins[number]
        first_tree, last_tree = ensembles.first_tree[number], ensembles.first_tree[number + 1]
        for place in range(rows.size):
            margins[place] = ensembles.base_score[number]
        for tree in range(first_tree, last_tree):
            output = ensembles.first_output[tree]
            for place in range(rows.size):
                node = splits.root[tree]
                while splits.left[node] >= 0:
                    x = table[rows[place], splits.feature[node]]
                    node = child(splits, node, np.float64(np.float32(x)) if narrow else x)
                for k in range(ensembles.n_values[number]):
                    margins[place, output + k] += ensembles.value[node, k]
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
    node = routers.first[stage]
    while routers.left[node] >= 0:
        value = x[routers.feature[node]]
        if routers.narrow[node]:
            value = np.float64(np.float32(value))
        goes_left = routers.missing_left[node] if np.isnan(value) else value <= routers.threshold[node]
        node = routers.left[node] if goes_left else routers.right[node]
    return int(routers.following[node])


def joined(ensembles: Sequence[Forest | BoostedTrees], columns: Sequence[IntArray]) -> Ensembles:
    """Put ensembles one after another.

    Parameters
    ----------
    ensembles : sequence of Forest or BoostedTrees
    columns : sequence of ndarray of int64
        The column of the table that each feature of each ensemble is.
    """
    parts = [trees.splits for trees in ensembles]
    nodes = np.cumsum([0, *(part.left.size for part in parts)])
    sets = np.cumsum([0, *(part.others.size for part in parts)])
    listed = np.cumsum([0, *(part.listed.size for part in parts)])
    n_values = [trees.value.shape[1] for trees in ensembles]
    margins = [base_score_of(trees) for trees in ensembles]

    def moved(name: str, starts: IntArray, dtype: type) -> Array:
        arrays = [getattr(part, name) for part in parts]
        shifted = [below(each, start) for each, start in zip(arrays, starts, strict=False)]
        return np.concatenate([np.empty(0), *shifted]).astype(dtype)

    def stacked(rows: Sequence[Array], width: int, dtype: type = np.float64) -> Array:
        padded = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in rows]
        return np.concatenate([np.empty((0, width)), *padded]).astype(dtype)

    def flat(arrays: Sequence[Array], dtype: type) -> Array:
        return np.concatenate([np.empty(0), *arrays]).astype(dtype)

    moved_sets = flat([part.set_offsets[:-1] + start for part, start in zip(parts, listed, strict=False)], np.int64)
    features = [own[np.maximum(part.feature, 0)] for part, own in zip(parts, columns, strict=True)]
    splits = Splits(
        moved("root", nodes, np.int64),
        moved("left", nodes, np.int32),
        moved("right", nodes, np.int32),
        flat(features, np.int32),
        flat([part.threshold for part in parts], np.float64),
        flat([part.missing_left for part in parts], np.bool_),
        moved("category_set", sets, np.int32),
        np.append(moved_sets, listed[-1]),
        flat([part.listed for part in parts], np.int64),
        flat([part.others for part in parts], np.bool_),
    )
    return Ensembles(
        packed(splits),
        np.cumsum([0, *(part.root.size for part in parts)]),
        stacked([trees.value for trees in ensembles], max(n_values, default=1)),
        np.array(n_values, dtype=np.int64),
        np.array([each.size for each in margins], dtype=np.int64),
        np.array([link_of(trees) for trees in ensembles], dtype=np.int64),
        np.array([trees.dtype == np.float32 for trees in ensembles], dtype=bool),
        flat([first_outputs(trees) for trees in ensembles], np.int32),
        stacked([each[None] for each in margins], max((each.size for each in margins), default=1)),
    )


def link_of(trees: Forest | BoostedTrees) -> int:
    """Return the number that the link of trees has in kernels."""
    return LINKS.index(trees.link) if isinstance(trees, BoostedTrees) else MEAN


def base_score_of(trees: Forest | BoostedTrees) -> FloatArray:
    """Return what each margin is before the first tree, shape (n_margins,)."""
    return trees.base_score if isinstance(trees, BoostedTrees) else np.zeros(trees.value.shape[1])


def first_outputs(trees: Forest | BoostedTrees) -> Array:
    """Return the first output to which each tree adds."""
    return trees.first_output if isinstance(trees, BoostedTrees) else np.zeros(trees.n_trees, dtype=np.int32)


def n_outputs_of(trees: Forest | BoostedTrees) -> int:
    """Count the class probabilities that trees answer with, or 1 for a target."""
    return 1 if trees.classes is None else len(trees.classes)
