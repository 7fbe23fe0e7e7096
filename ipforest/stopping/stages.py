"""Stages: models on growing sets of features, where examples go on from each, and when they stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeRegressor

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray, held
from ipforest._internal.words import counted, plain
from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.ensemble.linear import LinearFunctions, LinearModel, read_linear
from ipforest.ensemble.packed_forests import ForestsAtRest, n_nodes_of, pack_forests, unpack_forests
from ipforest.policy import ANSWERS, InWords, Progress, Rows, compared, want_in_order
from ipforest.session import Seller, Unit
from ipforest.stopping.optimal_stopping import StagedRule
from ipforest.stopping.paths import (
    FittedRule,
    StageOutputs,
    StoppingPaths,
    agrees_with_keenness,
    asked,
    margin,
    margin_in_words,
    tables_of,
)
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.walks import END, ONWARD, Ensembles, Purse, Routers, RouterTree, SeenStages, StageWalk, Walk, n_outputs_of
from ipforest.walks.purse import spending_limit

UNSTOPPED = ThresholdStopping()
"""At a level of -inf it stops no example."""

Loss = Callable[[FloatArray, Array], FloatArray]


class Router(Protocol):
    """Sends examples on by what a stage has seen of them: a regression tree, for instance."""

    def apply(self, X: Array) -> IntArray:
        """Give the node that each example falls into."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A model, what it sees, and where examples go on from it.

    Parameters
    ----------
    model : fitted estimator
        One that has ``mean_answers``, as `ipforest.frontiers.AveragedTrees` has, is asked by that instead of by
        ``predict_proba`` or ``predict``, which checks the same examples at every stage anew. Its method ``rest``, if it
        has one, is called where it will not be asked for a while.
    features : ndarray of int64
        Columns that it sees, those of the stages before included.
    following : ndarray of int64
        Numbers of the stages that follow, by the node of the router that an example falls into; [-1] at a last stage.
    router : Router, optional
        Sends examples on by what the stage has seen of them; without one, all go to the same stage.
    sees_before : bool
        Whether the model also sees what the stage numbered one less answers.
    """

    model: Any
    features: IntArray
    following: IntArray
    router: Router | None = None
    sees_before: bool = False

    def outputs(self, X: Array, before: FloatArray | None) -> FloatArray:
        """Compute class probabilities, classes ascending, or targets as a column, for examples X."""
        own = X[:, self.features]
        inputs = np.hstack([own, before]) if self.sees_before and before is not None else own
        if hasattr(self.model, "mean_answers"):
            return np.asarray(self.model.mean_answers(inputs))
        if is_classifier(self.model):
            return np.asarray(self.model.predict_proba(inputs), dtype=np.float64)[:, np.argsort(self.model.classes_)]
        return np.asarray(self.model.predict(inputs), dtype=np.float64).reshape(-1, 1)

    def goals(self, X: Array) -> IntArray:
        """Find the stage to which each example goes on."""
        if self.router is None:
            return np.repeat(self.following, X.shape[0])
        goals: IntArray = self.following[self.router.apply(X[:, self.features])]
        return goals

    def rest(self) -> None:
        """Have the model use less memory until it is asked again, if it can."""
        if hasattr(self.model, "mean_answers") and hasattr(self.model, "rest"):
            self.model.rest()

    @property
    def router_tree(self) -> RouterTree | None:
        """The router as a tree; None for one that is none."""
        if self.router is None:
            return ONWARD
        if not isinstance(self.router, DecisionTreeRegressor):
            return self.router.as_tree() if hasattr(self.router, "as_tree") else None
        tree = self.router.tree_
        tests = tree.children_left, tree.children_right, tree.feature, tree.threshold
        return RouterTree.of(*tests, tree.missing_go_to_left.astype(bool), np.arange(tree.node_count), narrow=True)


class _Place(NamedTuple):
    """What the policy keeps for each example: views of the progress."""

    stage: Int32Array
    before: Int32Array
    goal: Int32Array
    bought: Int32Array
    memory: Int32Array
    state: Int32Array


DECIDING, BUYING, STOPPED = 0, 1, 2


class _Joined(NamedTuple):
    """The models of all stages, the first ensemble of each stage, and the number of outputs."""

    ensembles: Ensembles
    linear: LinearFunctions
    first: IntArray
    n_outputs: int


class _ReadStages:
    """The models of stages, read when they are first asked for; policies with other rules share them."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self._trees: dict[int, Sequence[Forest | BoostedTrees] | None] = {}
        self._linear: dict[int, LinearModel | None] = {}

    def linear_of(self, number: int) -> LinearModel | None:
        """Return the linear function that a stage answers by; None for a model that is none, or sees more."""
        if number not in self._linear:
            stage = self._stages[number]
            linear = stage.model if isinstance(stage.model, LinearModel) else read_linear(stage.model)
            self._linear[number] = None if stage.sees_before else linear
        return self._linear[number]

    def trees_of(self, number: int) -> Sequence[Forest | BoostedTrees] | None:
        """Return the ensembles whose answers a stage averages; None for a model that is none, or sees more."""
        if number not in self._trees:
            stage = self._stages[number]
            is_trees = not stage.sees_before and self.linear_of(number) is None
            self._trees[number] = _trees_in(stage.model) if is_trees else None
        return self._trees[number]

    @cached_property
    def joined(self) -> _Joined | None:
        """The models one after another; None where a stage has neither ensembles nor a linear function."""
        linear = [self.linear_of(number) for number in range(len(self._stages))]
        read_in = [self.trees_of(number) if each is None else () for number, each in enumerate(linear)]
        ensembles = [trees for trees in read_in if trees is not None]
        if len(ensembles) < len(self._stages):
            return None
        n_outputs = {each.n_outputs for each in linear if each is not None}
        functions = LinearFunctions.joined([*zip(linear, (stage.features for stage in self._stages), strict=True)])

        def flat() -> Iterator[tuple[Forest | BoostedTrees, IntArray]]:
            for stage, own in zip(self._stages, ensembles, strict=True):
                for trees in own:
                    n_outputs.add(n_outputs_of(trees))
                    yield trees, stage.features
                stage.rest()

        n_nodes = sum(map(n_nodes_of, ensembles))
        joined = Ensembles.joined(flat(), n_nodes)
        return _Joined(joined, functions, np.cumsum([0, *map(len, ensembles)]), max(n_outputs))


class StagesInOrder:
    """Stages one after another, perhaps others for other examples, and a rule that may stop at each.

    Parameters
    ----------
    stages : sequence of Stage
        The first sees nothing; each comes before those that follow it.
    costs : FeatureCosts
    max_cost : number, optional
        The most that any one example may pay.
    rule : FittedRule
    level : float
        An example goes on while its keenness exceeds this. By default no example stops.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
        Where labels are those of the least expected cost.

    Notes
    -----
    A stage is looked at when all its features are known, and what follows it is decided then. So delayed features
    change no cost: the rest of a stage is ordered together with its first delayed feature, the next stage in another
    round.
    """

    _packs_together = False
    _forests: dict[str, Any] | None = None
    """Those of all stages, if they are packed together."""
    dtype = np.float64
    place_size = len(_Place._fields)
    ignores_unwanted = True
    decides_by = "stages of models"

    def __init__(
        self,
        stages: Sequence[Stage],
        costs: FeatureCosts,
        max_cost: object | None = None,
        rule: FittedRule = UNSTOPPED,
        level: float = -inf,
        class_costs: FloatArray | None = None,
    ) -> None:
        self._class_costs = class_costs
        self.stages, self._costs = tuple(stages), costs
        self._read = _ReadStages(self.stages)
        self._rule, self._level = rule, level
        self._take_cap(max_cost)
        self._depth = np.zeros(len(self.stages), dtype=np.int64)
        for number, stage in enumerate(self.stages):
            self._depth[stage.following[stage.following != END]] = self._depth[number] + 1

    def _take_cap(self, max_cost: object | None) -> None:
        self._max_cost = max_cost
        self.affordable = np.asarray(self._costs.cost_of(self._used) <= spending_limit(max_cost, "max_cost"))

    def linear_of(self, number: int) -> LinearModel | None:
        """Return the linear function that a stage answers by; None where it answers otherwise."""
        return self._read.linear_of(number)

    @property
    def _used(self) -> BoolArray:
        """Mark what each stage sees, shape (n_stages, n_features)."""
        used = np.zeros((len(self.stages), self._costs.n_features), dtype=bool)
        for number, stage in enumerate(self.stages):
            used[number, stage.features] = True
        return used

    @property
    def narrowest(self) -> npt.DTypeLike:
        """The narrowest type in which trees of the stages compare values."""
        types = [np.dtype(self.dtype)]
        for number, stage in enumerate(self.stages):
            if _own_forests(stage) or (isinstance(stage.model, LinearModel) and stage.model.narrow):
                return np.float32
            types += [trees.dtype for trees in self._read.trees_of(number) or ()]
        return min(types, key=lambda dtype: dtype.itemsize)

    @property
    def name(self) -> str:
        """How many stages there are, but for the first, which sees nothing."""
        n_stages, most = len(self.stages) - 1, int(self._depth.max())
        if n_stages == 0:
            return "one answer for all examples"
        longest = f", at most {most} for an example" if most < n_stages else ""
        return f"a cascade of {counted(n_stages, 'stage')}{longest}"

    @property
    def features(self) -> IntArray:
        """The features that stages see."""
        return np.unique(np.concatenate([stage.features for stage in self.stages])).astype(np.int64)

    def stopped(self, rule: FittedRule, level: float) -> StagesInOrder:
        """Return the same stages with another rule and level."""
        other = copy(self)
        other._rule, other._level = rule, level
        return other

    def within(self, max_cost: object | None) -> StagesInOrder:
        """Return the same stages with another cap."""
        other = copy(self)
        other._take_cap(max_cost)
        return other

    def compact(self, *, keep_passed: bool = True) -> StagesInOrder:
        """Leave out the stages that no example reaches, and what forests know besides what their leaves answer.

        Parameters
        ----------
        keep_passed : bool, default=True
            Whether stages stay at which the rule lets every example go on. Only a session that ends before what
            follows is known answers from these.
        """
        if any(stage.sees_before for stage in self.stages):
            return self
        goals = [
            stage.following if self._may_go_on(number) else np.full_like(stage.following, END)
            for number, stage in enumerate(self.stages)
        ]
        is_kept = np.arange(len(self.stages)) == 0
        for number in range(len(self.stages)):
            if is_kept[number]:
                is_kept[goals[number][goals[number] != END]] = True
        rule, instead = self._rule, np.append(np.arange(len(self.stages)), END)
        if not keep_passed and isinstance(rule, StagedRule) and agrees_with_keenness(rule, "may_stop"):
            depths = self._passed_depths(rule, is_kept)
            rule = rule.without(depths)
            for number in np.flatnonzero(is_kept & np.isin(self._depth, depths))[::-1]:
                is_kept[number], instead[number] = False, instead[goals[number][0]]
        number_of = np.append(np.cumsum(is_kept) - 1, END)[instead]
        stages = [
            replace(_without_counts(self.stages[number]), following=number_of[goals[number]])
            for number in np.flatnonzero(is_kept).tolist()
        ]
        other = StagesInOrder(stages, self._costs, self._max_cost, rule, self._level, self._class_costs)
        other._packs_together = True
        return other

    def _passed_depths(self, rule: StagedRule, reached: BoolArray) -> list[int]:
        """List the depths, but that of the first stage, at which all stages hand all their examples on to another.

        Those of targets are needed where the next stage decides by how far it moves their answer.
        """
        most = 1.0 if self._class_costs is None else float(np.ptp(self._class_costs))
        last = int(self._depth.max())
        passed = [
            depth
            for depth in range(1, last)
            if not rule.may_stop(depth, self._level, most)
            and all(self._hands_all_on(number) for number in np.flatnonzero(reached & (self._depth == depth)).tolist())
        ]
        if is_classifier(self.stages[0].model):
            return passed
        return [depth for depth in passed if depth + 1 in (*passed, last)]

    def _hands_all_on(self, number: int) -> bool:
        """Tell whether there is one stage that follows, which all examples can pay."""
        goals = self.stages[number].following
        return goals.size == 1 and goals[0] != END and bool(self.affordable[goals[0]])

    def _may_go_on(self, number: int) -> bool:
        """Tell whether the rule lets an example go on from a stage; the margin between classes is never negative."""
        rule: Any = self._rule
        if not agrees_with_keenness(rule, "may_go_on") or not is_classifier(self.stages[0].model):
            return True
        return bool(rule.may_go_on(int(self._depth[number]), self._level))

    def __copy__(self) -> Self:
        """Copy the stages as they are: packing forests takes seconds."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        if self._packs_together and self._forests is None:
            forests = [forest for stage in self.stages for forest in _own_forests(stage)]
            self._forests = pack_forests(forests, _columns_of_forests(self.stages)) if forests else None
        state = {name: value for name, value in vars(self).items() if name != "_read"}
        if not self._packs_together:
            return state
        bare = [_with_forests(stage, (None,) * len(_own_forests(stage))) for stage in self.stages]
        return state | {"stages": tuple(bare)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = state.get("_forests")
        if packed is not None:
            forests = iter(unpack_forests(packed, _columns_of_forests(state["stages"])).members)
            state["stages"] = tuple(
                _with_forests(stage, ForestsAtRest([next(forests) for _ in _own_forests(stage)]))
                for stage in state["stages"]
            )
        vars(self).update(state)
        self._read = _ReadStages(self.stages)

    def at_once(self, purse: Purse) -> Walk | None:
        """Give a walk from stage to stage, where kernels know the models, the routers and the rule."""
        routers = [router for stage in self.stages if (router := stage.router_tree) is not None]
        tables = tables_of(self._rule)
        if len(routers) < len(self.stages) or tables is None:
            return None
        read_in = self._read.joined
        if read_in is None:
            return None
        features = [stage.features for stage in self.stages]
        seen = SeenStages(read_in.first, read_in.linear, read_in.n_outputs, self._depth, self._used, self.affordable)
        return StageWalk(
            held(seen),
            held(read_in.ensembles),
            held(Routers.of(routers, features, [stage.following for stage in self.stages])),
            held(tables),
            self._level,
            self._class_costs,
        )

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Buy the features of a stage one by one; when it has all, decide whether to go on."""
        place = _Place(*progress.place.T)
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        moving = np.flatnonzero(place.state[rows] != STOPPED)
        while moving.size:
            deciding = moving[place.state[rows[moving]] == DECIDING]
            if deciding.size:
                self._decide(progress, place, rows[deciding])
            buying = moving[place.state[rows[moving]] == BUYING]
            wanted[buying] = self._buy(progress, place, rows[buying])
            moving = buying[place.state[rows[buying]] == DECIDING]
        return wanted

    def _decide(self, progress: Progress, place: _Place, rows: Rows) -> None:
        stage = place.stage[rows].astype(np.int64)
        signal = self._signal(progress, rows)
        keen, memory = asked(self._rule, self._depth[stage], signal, place.memory[rows].astype(np.int64))
        goal = self._goals(stage, progress.values[rows])
        place.memory[rows] = memory
        place.goal[rows] = goal
        place.state[rows] = np.where((keen > self._level) & (goal != END), BUYING, STOPPED)
        place.bought[rows] = 0

    def _goals(self, stage: IntArray, X: Array) -> IntArray:
        """Find where examples go on from their stages, -1 where there is nothing more, or nothing that they can pay."""
        goal = np.empty(stage.size, dtype=np.int64)
        for number in np.unique(stage):
            here = stage == number
            goal[here] = self.stages[number].goals(X[here])
        return np.where((goal != END) & self.affordable[goal], goal, END)

    def _buy(self, progress: Progress, place: _Place, rows: Rows) -> Int32Array:
        """Count what is known of the next stage; give the first feature that is not, or move on to the stage.

        An example of which nothing more can be had stays at the stage before one that it does not know whole.
        """
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        for (stage, goal), here in self._moves(place.stage[rows], place.goal[rows]):
            new = self._new(stage, goal)
            knows_all = progress.known[rows[here][:, None], new].all(axis=1)
            lacking = here[~knows_all]
            if lacking.size:
                wanted[lacking] = self._first_unknown(progress, place, rows[lacking], new)
            whole = rows[here[knows_all]]
            for position, feature in enumerate(new):
                progress.tests[whole[place.bought[whole] <= position], feature] += 1
            place.before[whole], place.stage[whole], place.state[whole] = stage, goal, DECIDING
        return wanted

    def _first_unknown(self, progress: Progress, place: _Place, rows: Rows, new: IntArray) -> Int32Array:
        """Count what is known of the next stage up to the first feature that is not; want it while any can be had."""
        wanted = want_in_order(progress, rows, place.bought, new)
        settled = progress.known[rows] | progress.barred[rows]
        ended = settled[:, self.features].all(axis=1)
        place.state[rows[ended]], wanted[ended] = STOPPED, ANSWERS
        return wanted

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark what the next stage sees in addition."""
        place, together = _Place(*progress.place.T), np.zeros((rows.size, progress.known.shape[1]), dtype=bool)
        for pair, here in self._moves(place.stage[rows], place.goal[rows]):
            together[np.ix_(here, self._new(*pair))] = True
        return together

    def _moves(self, stage: Array, goal: Array) -> Iterator[tuple[tuple[int, int], IntArray]]:
        """Give each pair of a stage and one that follows it, with the places at which it stands."""
        pairs = stage * np.int64(len(self.stages)) + goal
        for pair in np.unique(pairs).tolist():
            yield divmod(pair, len(self.stages)), np.flatnonzero(pairs == pair)

    def _new(self, stage: int, goal: int) -> IntArray:
        """List, in its order, what a stage sees that one before it does not."""
        seen = set(self.stages[stage].features.tolist())
        unseen = [feature for feature in self.stages[goal].features.tolist() if feature not in seen]
        return np.array(unseen, dtype=np.int64)

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Return what the last stage that has all its features answers."""
        return self._outputs(progress.place[rows, 0], progress.values[rows])

    def _outputs(self, stage: IntArray, X: Array, before: FloatArray | None = None) -> FloatArray:
        """Compute what stages answer on examples, one stage for each, shape (n_samples, n_outputs)."""
        parts, order = [], []
        for number in np.unique(stage).tolist():
            here = np.flatnonzero(stage == number)
            parts.append(self._answers_of(number, X[here], None if before is None else before[here]))
            order.append(here)
        result: FloatArray = np.concatenate(parts)[np.argsort(np.concatenate(order))]
        return result

    def _answers_of(self, number: int, X: Array, before: FloatArray | None) -> FloatArray:
        """Compute what a stage answers; models that can be read are asked as `at_once` asks them."""
        stage = self.stages[number]
        if (linear := self._read.linear_of(number)) is not None:
            return linear.mean_answers(X[:, stage.features])
        read_in = None if hasattr(stage.model, "mean_answers") else self._read.trees_of(number)
        if read_in is None:
            return stage.outputs(X, self._seen_before(number, X) if before is None else before)
        (trees,), own = read_in, X[:, stage.features]
        return trees.predict(own).reshape(-1, 1) if trees.classes is None else trees.predict_proba(own)

    def _seen_before(self, number: int, X: Array) -> FloatArray | None:
        if not self.stages[number].sees_before:
            return None
        return self._outputs(np.full(X.shape[0], number - 1), X)

    def _signal(self, progress: Progress, rows: Rows) -> FloatArray:
        outputs = self.answer(progress, rows)
        is_target = outputs.shape[1] == 1
        before = self._outputs(progress.place[rows, 1], progress.values[rows]) if is_target else None
        return _signal(outputs, before, self._class_costs)

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Name the stage and say how sure the one before is, or how far it moved a number."""
        stage = int(progress.place[row, 0])
        rows = np.array([row])
        signal = abs(self._signal(progress, rows)[0])
        named = f"stage {self._depth[stage] + 1} of {self._depth.max()} sees it"
        if self.answer(progress, rows).shape[1] > 1:
            return f"{named}; {margin_in_words(signal, self._class_costs)}"
        return f"{named}; the last stage moved the answer by {plain(signal)}" if self._depth[stage] else named

    def paths_of(self, X: Array, y: Array, loss: Loss, answers: StageOutputs | None = None) -> StoppingPaths:
        """Note what examples see, and which units they buy, when no example stops.

        Parameters
        ----------
        X : ndarray, shape (n_samples, n_features)
        y : ndarray, shape (n_samples,)
        loss : callable (outputs, y) -> ndarray, shape (n_samples,)
            What stopping with such outputs, shape (n_samples, n_outputs), loses.
        answers : StageOutputs, optional
            Notes what is answered at each stage.
        """
        signals, losses = [], []
        stage, last = np.zeros((2, y.size), dtype=np.int64)
        never = int(self._depth.max()) + 1
        bought_at = np.full((y.size, self._costs.n_units), never)
        outputs: FloatArray | None = None
        while True:
            before, outputs = outputs, self._outputs(stage, X, outputs)
            if answers is not None:
                answers.note(outputs, np.arange(y.size))
            signals.append(_signal(outputs, before, self._class_costs))
            losses.append(loss(outputs, y))
            for number in np.unique(stage).tolist():
                self.stages[number].rest()
            goal = self._goals(stage, X)
            going = np.flatnonzero(goal != END)
            if going.size == 0:
                break
            self._note_purchases(bought_at, stage, goal, len(signals) - 1)
            last[going] += 1
            stage[going] = goal[going]
        return StoppingPaths(
            signal=np.column_stack(signals),
            loss=np.column_stack(losses),
            last=last,
            bought_at=np.minimum(bought_at, len(signals)),
            costs=self._costs,
        )

    def _note_purchases(self, bought_at: IntArray, stage: IntArray, goal: IntArray, depth: int) -> None:
        """Mark the units that examples buy on their way to the next stage, unless they have them."""
        going = np.flatnonzero(goal != END)
        for pair, here in self._moves(stage[going], goal[going]):
            for feature in self._new(*pair).tolist():
                cells = np.ix_(going[here], self._costs.units_of(feature))
                bought_at[cells] = np.minimum(bought_at[cells], depth)


def _signal(outputs: FloatArray, before: FloatArray | None, class_costs: FloatArray | None) -> FloatArray:
    """Say how sure a stage is: the margin of its classes, or, for a target, minus its change from the stage before."""
    if outputs.shape[1] > 1:
        return margin(outputs, class_costs)
    change: FloatArray = -np.abs(outputs[:, 0] - (outputs[:, 0] if before is None else before[:, 0]))
    return change


def _own_forests(stage: Stage) -> Sequence[Any]:
    """Return the forests that a stage averages, as `ipforest.frontiers.AveragedTrees` does; none of other models."""
    return cast("Sequence[Any]", getattr(stage.model, "ensembles_", ()))


def _columns_of_forests(stages: Sequence[Stage]) -> list[IntArray]:
    """List the columns that each forest of each stage sees."""
    return [stage.features for stage in stages for _ in range(len(_own_forests(stage)))]


def _with_forests(stage: Stage, forests: Sequence[Forest | None]) -> Stage:
    """Return a stage with other forests in place of its own."""
    if not forests:
        return stage
    model = copy(stage.model)
    model.ensembles_ = forests
    return replace(stage, model=model)


def _without_counts(stage: Stage) -> Stage:
    """Return a stage whose forests know no more than what their leaves answer."""
    forests = tuple(forest.without_counts() for forest in _own_forests(stage))
    stage.rest()
    return _with_forests(stage, ForestsAtRest(forests))


def _trees_in(model: Any) -> Sequence[Forest | BoostedTrees] | None:
    """Return the ensembles whose answers a model averages, classes ascending; None for other models."""
    if hasattr(model, "mean_answers"):
        return cast("Sequence[Forest]", model.ensembles_)
    try:
        trees = read(model)
    except (TypeError, ValueError):
        return None
    in_order = trees.classes is None or np.array_equal(trees.classes, np.unique(trees.classes))
    return (trees,) if in_order else None


def stage_sizes(n_units: int) -> list[int]:
    """Say how many units each stage has: 1, 2, 3, ..., 8, and then steps of a fourth."""
    sizes = [0]
    while sizes[-1] < n_units:
        sizes.append(min(n_units, sizes[-1] + max(1, sizes[-1] // 4)))
    return sizes[1:]


def feature_sets(bought: Sequence[Sequence[Unit]], seller: Seller) -> list[IntArray]:
    """List what the stages see: nothing; what is free, if anything is; and that with the units bought by each."""
    free = [feature for unit in seller.free_units() for feature in unit.features]
    sets = [[*free, *(feature for unit in units for feature in unit.features)] for units in bought]
    return [np.array(columns, dtype=np.int64) for columns in ([], *([free] if free else []), *sets)]


def stages_in_order(models: Sequence[Any], sets: Sequence[IntArray], *, sees_before: bool = False) -> tuple[Stage, ...]:
    """Put models and what they see one after another, perhaps each seeing what the one before answers."""
    following = [np.array([number]) for number in (*range(1, len(sets)), END)]
    return tuple(
        Stage(model, features, goal, sees_before=sees_before and number > 0)
        for number, (model, features, goal) in enumerate(zip(models, sets, following, strict=True))
    )
