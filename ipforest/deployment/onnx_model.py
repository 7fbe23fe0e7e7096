"""A fitted model with its stopping as ONNX: standard operators on whole tables, in double precision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.deployment.document import MAX_FLOAT, document_of_numbers
from ipforest.deployment.onnx_graph import Graph
from ipforest.deployment.onnx_trees import Ensemble, linked
from ipforest.deployment.reader import SUREST
from ipforest.estimator import BudgetedEstimator

OPSET, IR_VERSION = 18, 9


def write_onnx_model(model: BudgetedEstimator) -> Any:
    """Write a fitted model as an `onnx.ModelProto`: what it buys, the rule that stops it, prices, calibration.

    The input ``X`` is (n_samples, n_features) in double precision, NaN where a value is missing, categories by number.
    A table has all features, but values that are not bought decide nothing. The outputs are ``label`` (n_samples,), for
    classifiers ``probabilities`` (n_samples, n_classes), and ``cost`` (n_samples,), all numbers in double precision.
    Names of features and categories are in the metadata, as JSON. Sums are formed in the order of the trees, so
    that decisions are those of the estimator.

    Parameters
    ----------
    model : fitted estimator
        See `ipforest.deployment.document.document_of`.

    Raises
    ------
    TypeError, ValueError
        The model is one that `document_of` refuses, or its classes are neither texts nor numbers of 64 bits.
    """
    from onnx import TensorProto, checker, helper

    document = document_of_numbers(model, "ONNX")
    graph = Graph()
    outputs, cost = _Writer(graph, document).answers()
    classes, width = document["classes"], 1 if document["classes"] is None else len(document["classes"])
    numbers: dict[str, tuple[str, list[int | None]]] = {"cost": (cost, [None])}
    if classes is None:
        numbers["label"] = (graph("Reshape", outputs, [-1]), [None])
    else:
        numbers["probabilities"] = (outputs, [None, width])
        names = _class_names(classes)
        graph("Gather", names, _place(graph, document, outputs), named="label")
    for name, (value, _) in numbers.items():
        graph("Identity", value, named=name)
    infos = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape) for name, (_, shape) in numbers.items()]
    if classes is not None:
        infos.insert(0, helper.make_tensor_value_info("label", helper.np_dtype_to_tensor_dtype(names.dtype), [None]))
    table = helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, len(document["features"])])
    whole = helper.make_graph(graph.nodes, "model", [table], infos, graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    proto = helper.make_model(whole, opset_imports=opsets, ir_version=IR_VERSION, producer_name="ipforest")
    helper.set_model_props(proto, {name: json.dumps(document[name]) for name in ("features", "categories")})
    checker.check_model(proto)
    return proto


def _class_names(classes: Sequence[Any]) -> Array:
    """Return classes as an array that ONNX holds: of texts, whole numbers, numbers or booleans."""
    names = np.array(classes)
    if names.dtype.kind == "U":
        return names.astype(object)
    if names.dtype.kind not in "bif" or names.tolist() != [*classes]:
        raise ValueError(f"classes: expected texts or numbers of 64 bits, got {classes[0]!r}, {classes[1]!r}, ...")
    return names


class _Known(NamedTuple):
    """What is known of examples: boolean arrays of shape (n_samples, n_features)."""

    known: str
    bought: str
    barred: str
    tested: str


def _costs_of(document: dict[str, Any]) -> Array | None:
    costs = document["class_costs"]
    return None if costs is None else np.array(costs, dtype=np.float64)


def _worth(graph: Graph, outputs: str, costs: Array | None) -> str:
    """Give what speaks for each label: its probability, or minus its expected cost.

    That is summed up class by class, as in Python: a matrix product may round otherwise, and then examples that are
    just as sure as the level of a rule would go on.
    """
    if costs is None:
        return outputs
    parts = [graph("Mul", graph("Gather", outputs, np.array([k]), axis=1), row) for k, row in enumerate(costs)]
    return graph("Neg", reduce(partial(graph, "Add"), parts))


def _place(graph: Graph, document: dict[str, Any], outputs: str) -> str:
    """Find the numbers of the classes that are predicted, shape (n_samples,)."""
    decision = document["decision"]
    if decision is None:
        return graph("ArgMax", _worth(graph, outputs, _costs_of(document)), axis=1, keepdims=0)
    least, positive = np.array(decision["threshold"]), decision["positive"]
    if positive is None:
        return graph("ArgMax", graph("Div", outputs, least), axis=1, keepdims=0)
    reached = graph("GreaterOrEqual", graph("Gather", outputs, np.array(positive), axis=1), float(least[positive]))
    return graph("Where", reached, positive, 1 - positive)


class _Rule:
    """The histories of a rule as arrays, the bins that follow each in a row."""

    def __init__(self, rule: dict[str, Any]) -> None:
        width = max(map(len, rule["edges"]))
        self.edges = np.array([[*row, *[np.inf] * (width - len(row))] for row in rule["edges"]], dtype=np.float64)
        self.lambdas, self.tie = np.array([float(each) for each in rule["lambdas"]]), float(rule["tie"])
        self.next_stage, self.first_child = (np.array(rule[name]) for name in ("next_stage", "first_child"))

    def _bin(self, graph: Graph, row: str, signal: str) -> str:
        if self.edges.shape[1] == 0:
            return graph("Mul", row, 0)
        begun = graph("LessOrEqual", graph("Gather", self.edges, row), graph.column(signal))
        return graph("ReduceSum", graph.cast(begun, np.int64), [1], keepdims=0)

    def keenness(self, graph: Graph, stage: str, signal: str, memory: str) -> tuple[str, str]:
        """Say how keen examples are to go on, and what is remembered about them; all of shape (n_samples,)."""
        child = graph("Add", graph("Gather", self.first_child, memory), self._bin(graph, memory, signal))
        memory = graph("Where", graph("Equal", graph("Gather", self.next_stage, memory), stage), child, memory)
        return graph("Sub", graph("Gather", self.lambdas, memory), graph("Mul", signal, self.tie)), memory


class _Writer:
    """Writes the parts of a document.

    Parameters
    ----------
    graph : Graph
        Takes the operators.
    document : dict
    """

    def __init__(self, graph: Graph, document: dict[str, Any]) -> None:
        self._graph, self._document = graph, document
        self._n_features, self._classify = len(document["features"]), document["classes"] is not None
        self._costs = _costs_of(document)
        self._n_outputs = len(document["classes"]) if self._classify else 1
        self._unit_cost = np.array(document["prices"]["unit_cost"], dtype=np.float64)
        self._units = np.array(document["prices"]["units"])
        self._X = "X"
        if any(document["whole"]):
            broken = graph("Less", graph("Floor", "X"), "X")
            self._X = graph("Where", graph("And", broken, np.array(document["whole"])), np.nan, "X")
        self._n_rows = graph("Shape", "X", end=1)
        self._none_paid = graph.repeated(self._n_rows, np.zeros(self._unit_cost.size, dtype=np.int32))
        self._first, self._second = (graph.repeated(self._n_rows, units) for units in self._units.T)

    def answers(self) -> tuple[str, str]:
        """Write the whole; return probabilities or targets, and what is paid."""
        graph, document = self._graph, self._document
        none = graph.repeated(self._n_rows, np.zeros(self._n_features, dtype=bool))
        known = self._given_up(graph, _Known(none, none, none, none))
        everything = graph("Expand", [True], self._n_rows)
        if document["kind"] == "gate":
            score, known = self._part(document["gate"], known, everything, classify=False)
            by_full = graph("Greater", graph("Reshape", score, [-1]), document["threshold"])
            cheap, known = self._part(document["goals"][0], known, graph("Not", by_full), classify=self._classify)
            full, known = self._part(document["goals"][1], known, by_full, classify=self._classify)
            outputs = graph("Where", graph.column(by_full), full, cheap)
        else:
            outputs, known = self._part(document, known, everything, classify=self._classify)
        n_tested = graph("ReduceSum", graph.cast(known.tested, np.int64), [1], keepdims=0)
        for each in document["calibrations"]:
            outputs = _calibrated(graph, each, n_tested, outputs)
        return outputs, self._spent(graph, known.bought)[0]

    def _spent(self, graph: Graph, bought: str) -> tuple[str, str]:
        """Give what is paid (n_samples,), and what each feature would cost in addition (n_samples, n_features)."""
        needed = (graph.any_in_groups(bought, units, self._none_paid) for units in (self._first, self._second))
        nothing = np.arange(self._unit_cost.size) == self._unit_cost.size - 1
        paid = graph("Or", graph("Or", *needed), nothing)
        spent = graph.summed(graph("Where", paid, self._unit_cost, 0.0))
        left = graph("Where", paid, 0.0, self._unit_cost)
        first, second = (graph("Gather", left, self._units[:, each], axis=1) for each in (0, 1))
        return spent, graph("Add", first, second)

    def _given_up(self, graph: Graph, known: _Known) -> _Known:
        """Withhold what would take examples above the cap."""
        cap = self._document["cap"]
        if cap is None:
            return known
        spent, price = self._spent(graph, known.bought)
        beyond = graph("Greater", graph("Add", graph.column(spent), price), float(cap["limit"]))
        beyond = graph.all_of(beyond, graph("Not", known.known), graph("Not", known.barred))
        missing = graph("And", beyond, np.array(cap["missing_seen"]))
        return known._replace(known=graph("Or", known.known, missing), barred=graph("Or", known.barred, beyond))

    def _with(self, graph: Graph, known: _Known, asked: str) -> _Known:
        """Buy what is asked for, a boolean array of shape (n_samples, n_features), with what comes with it."""
        bought = graph.any_in_groups(asked, self._first, self._none_paid)
        brought = graph("Gather", bought, self._units[:, 0], axis=1)
        known = known._replace(
            known=graph("Or", known.known, brought),
            bought=graph("Or", known.bought, asked),
            barred=graph("And", known.barred, graph("Not", brought)),
        )
        return self._given_up(graph, known)

    def _part(self, part: dict[str, Any], known: _Known, active: str, *, classify: bool) -> tuple[str, _Known]:
        """Write a part, which buys for the active examples; give its outputs, and what is known then."""
        write = {"trees": self._walk, "stages": self._climb, "linear": self._weigh}[part["kind"]]
        return write(part, known, active, classify)

    def _sureness(self, graph: Graph, outputs: str, otherwise: str) -> str:
        if self._n_outputs == 1:
            return otherwise
        largest = graph.largest(_worth(graph, outputs, self._costs), 2)
        first, second = (graph("Gather", largest, np.array(each), axis=1) for each in (0, 1))
        return graph("Sub", first, second)

    def _walk(self, part: dict[str, Any], known: _Known, active: str, classify: bool) -> tuple[str, _Known]:
        """Go through the trees in order; before each purchase the rule may stop."""
        ensemble = Ensemble(part["trees"], classify=classify)
        rule, n_trees = None if part["rule"] is None else _Rule(part["rule"]), ensemble.root.size
        level, free = float(part["level"]), np.array(part.get("free", self._document["free"]))
        zeros = self._graph("Expand", [0], self._n_rows)

        def step(graph: Graph, node: str, active: str, stage: str, memory: str, last: str, *state: str) -> Any:
            known = _Known(*state)
            x = graph("Where", known.barred, np.nan, self._X)
            node = ensemble.reached(graph, node, x, known.known)
            feature = graph("Gather", ensemble.feature, node)
            barred = graph("GatherElements", known.barred, feature, axis=1)
            asks = graph.all_of(graph("Gather", ensemble.is_inner, node), graph("Not", barred))
            goes = graph("And", active, graph.any_along(asks, 1))
            tree = graph("ArgMax", graph.cast(asks, np.int32), axis=1, keepdims=1)
            wanted = graph("GatherElements", feature, tree, axis=1)
            if rule is not None:
                paying = graph("And", goes, graph("Not", graph("Gather", free, graph("Squeeze", wanted, [1]))))
                narrow, settled = ensemble.look_ahead(graph, node, self._costs)
                sure = self._sureness(graph, ensemble.answer(graph, node, settled), narrow)
                keen, after = rule.keenness(graph, stage, sure, memory)
                done = graph("LessOrEqual", keen, level)
                stops = graph("And", paying, done if settled is None else graph("Or", settled, done))
                stage, memory = (
                    graph("Add", stage, graph.cast(paying, np.int64)),
                    graph("Where", paying, after, memory),
                )
                last = graph("Where", stops, graph("Squeeze", tree, [1]), last)
                goes = graph("And", goes, graph("Not", stops))
            asked = graph("And", graph.one_hot(wanted, self._n_features), graph.column(goes))
            known = self._with(graph, known, asked)
            goes_on = graph("Squeeze", graph.any_along(goes, 0, 1), [0])
            return goes_on, [node, goes, stage, memory, last, *known]

        graph = self._graph
        state = [
            (graph.repeated(self._n_rows, ensemble.root), np.int64, 2),
            (active, np.bool_, 1),
            (zeros, np.int64, 1),
            (zeros, np.int64, 1),
            (graph("Expand", [n_trees], self._n_rows), np.int64, 1),
            *((each, np.bool_, 2) for each in known),
        ]
        node, _, _, _, last, *after = graph.loop(self._n_features + 1, state, step)
        known = _Known(*after)
        if self._document["calibrations"]:
            seen = graph.all_of(
                graph("LessOrEqual", np.arange(n_trees)[None], graph.column(last)), graph.column(active)
            )
            paths = graph(
                "And", graph("Gather", ensemble.tested(self._n_features), node), graph("Unsqueeze", seen, [2])
            )
            known = known._replace(tested=graph("Or", known.tested, graph.any_along(paths, 1)))
        is_whole = rule is None and self._document["cap"] is None
        settled = None if is_whole else ensemble.look_ahead(graph, node, None)[1]
        return ensemble.answer(graph, node, settled), known

    def _climb(self, part: dict[str, Any], known: _Known, active: str, classify: bool) -> tuple[str, _Known]:
        """Go from stage to stage; each sees the examples that have come to it."""
        graph, stages, rule, level = self._graph, part["stages"], _Rule(part["rule"]), float(part["level"])
        sees = np.zeros((len(stages), self._n_features), dtype=bool)
        for number, stage in enumerate(stages):
            sees[number, stage["features"]] = True
        at = graph("Where", active, 0, -1)
        seen = memory = graph("Expand", [0], self._n_rows)
        outputs = graph.repeated(self._n_rows, np.zeros(self._n_outputs))
        for number, stage in enumerate(stages):
            rows = graph("Reshape", graph("NonZero", graph("Equal", at, number)), [-1])
            x, own_memory = graph("Gather", self._X, rows), graph("Gather", memory, rows)
            own = self._stage_outputs(graph, stage, x, graph("Shape", rows), classify)
            before = graph("Gather", outputs, rows) if number else own
            change = graph("Neg", graph("Abs", graph("Gather", graph("Sub", own, before), np.array(0), axis=1)))
            signal = self._sureness(graph, own, change)
            depth = graph("Expand", [stage["depth"]], graph("Shape", rows))
            keen, own_memory = rule.keenness(graph, depth, signal, own_memory)
            goal = self._goal(graph, stage, x, graph("Shape", rows))
            goes = graph("And", graph("GreaterOrEqual", goal, 0), graph("Greater", keen, level))
            goal = graph("Where", goes, goal, -1)
            seen = graph("Where", graph("Equal", at, number), number, seen)
            place = graph.column(rows)
            at, memory = graph("ScatterND", at, place, goal), graph("ScatterND", memory, place, own_memory)
            outputs = graph("ScatterND", outputs, place, own)
        asked = graph("And", graph("Gather", sees, seen), graph.column(active))
        known = self._with(graph, known, asked)
        return outputs, known._replace(tested=graph("Or", known.tested, asked))

    def _stage_outputs(self, graph: Graph, stage: dict[str, Any], x: str, n_rows: str, classify: bool) -> str:
        if stage["linear"] is not None:
            return _weighed(graph, stage["linear"], x, n_rows, classify)
        parts = []
        for document in stage["trees"]:
            ensemble = Ensemble(document, classify=classify)
            node = ensemble.reached(graph, graph.repeated(n_rows, ensemble.root), x, None)
            parts.append(ensemble.answer(graph, node))
        return graph("Div", reduce(partial(graph, "Add"), parts), float(len(parts)))

    def _goal(self, graph: Graph, stage: dict[str, Any], x: str, n_rows: str) -> str:
        """Find the stages to which examples go on, shape (n_rows,)."""
        if stage["router"] is None:
            return graph("Expand", [stage["following"][0]], n_rows)
        router = Ensemble(stage["router"], classify=False)
        node = router.reached(graph, graph.repeated(n_rows, np.zeros(1, dtype=np.int64)), x, None)
        return graph("Reshape", graph("Gather", np.array(stage["following"]), node), [-1])

    def _weigh(self, part: dict[str, Any], known: _Known, active: str, classify: bool) -> tuple[str, _Known]:
        """Buy all features, and weigh them."""
        graph, features = self._graph, np.array(part["features"], dtype=np.int64)
        outputs = _weighed(graph, part, self._X, self._n_rows, classify)
        asked = graph("And", graph.column(active), np.isin(np.arange(self._n_features), features)[None])
        known = self._with(graph, known, asked)
        return outputs, known._replace(tested=graph("Or", known.tested, asked))


def _weighed(graph: Graph, linear: dict[str, Any], x: str, n_rows: str, classify: bool) -> str:
    """Add up marks of categories and numbers, shifted and scaled, one after another; a missing one counts as 0."""
    base, features = np.array(linear["intercept"], dtype=np.float64), np.array(linear["features"], dtype=np.int64)
    margins = graph.repeated(n_rows, base)
    if features.size:
        mean, spread, weights = (np.array(linear[name], dtype=np.float64) for name in ("mean", "spread", "weights"))
        category, values = np.array(linear["category"], dtype=np.float64), graph("Gather", x, features, axis=1)
        if linear["dtype"] == "float32":
            values = graph.cast(graph.cast(values, np.float32), np.float64)
        scaled = graph("Div", graph("Sub", values, mean), spread)
        scaled = graph("Max", graph("Min", graph("Where", graph("IsNaN", scaled), 0.0, scaled), MAX_FLOAT), -MAX_FLOAT)
        has = graph("And", graph("GreaterOrEqual", values, category), graph("Less", values, category + 1))
        terms = graph("Where", category < 0, scaled, graph.cast(has, np.float64))
        sums = graph.summed(graph("Mul", graph("Unsqueeze", terms, [2]), weights))
        margins = graph("Add", sums, base)
    return linked(graph, linear["link"], margins, both=classify and base.size == 1)


def _calibrated(graph: Graph, calibration: dict[str, Any], n_tested: str, outputs: str) -> str:
    """Calibrate class probabilities by how many features were tested."""
    sure = graph("Max", graph("Min", outputs, 1 - SUREST), SUREST)
    n_classes = len(calibration["maps"][0])
    if n_classes == 1:
        first, second = (graph("Gather", sure, [each], axis=1) for each in (0, 1))
        odds = graph("Sub", graph("Log", second), graph("Log", first))
    else:
        others = graph("Sub", graph.column(graph.summed(sure)), sure)
        odds = graph("Sub", graph("Log", sure), graph("Log", others))
    columns = [graph("Gather", odds, [number], axis=1) for number in range(n_classes)]
    mapped = ""
    for first_tested, maps in zip(calibration["first"], calibration["maps"], strict=True):
        here = [_mapped(graph, each, column) for each, column in zip(maps, columns, strict=True)]
        answers = graph("Concat", *here, axis=1)
        is_here = graph.column(graph("GreaterOrEqual", n_tested, first_tested))
        mapped = graph("Where", is_here, answers, mapped) if mapped else answers
    if n_classes == 1:
        return graph("Concat", graph("Sub", 1.0, mapped), mapped, axis=1)
    total = graph.column(graph.summed(mapped))
    is_some = graph("Greater", total, 0.0)
    share = graph("Div", mapped, graph("Where", is_some, total, 1.0))
    return graph("Where", is_some, share, 1 / n_classes)


def _mapped(graph: Graph, each: list[Any], x: str) -> str:
    """Map a column of log-odds by a sigmoid, or by a function that is linear between points."""
    if not isinstance(each[0], list):
        raised = graph("Exp", graph("Add", graph("Mul", x, float(each[0])), float(each[1])))
        return graph("Div", 1.0, graph("Add", raised, 1.0))
    xs, ys = (np.array(points, dtype=np.float64) for points in each)
    if xs.size == 1:
        return graph("Add", graph("Mul", x, 0.0), float(ys[0]))
    inside = graph("Max", graph("Min", x, float(xs[-1])), float(xs[0]))
    begun = graph.cast(graph("LessOrEqual", xs[1:-1][None], inside), np.int64)
    piece = graph("ReduceSum", begun, [1], keepdims=1) if xs.size > 2 else graph("Mul", graph.cast(x, np.int64), 0)
    slope = graph("Gather", np.diff(ys) / np.diff(xs), piece)
    return graph(
        "Add", graph("Mul", slope, graph("Sub", inside, graph("Gather", xs, piece))), graph("Gather", ys, piece)
    )
