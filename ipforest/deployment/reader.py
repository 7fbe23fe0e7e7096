"""Predict from an exported model, one feature at a time, with numpy alone.

This file needs nothing else of the package: copy it to where the model runs. ``schema.json`` describes the document.

    answer = Model(json.load(open("model.json"))).predict_one(lambda feature: sensors[feature].read())
    answer.label, answer.probabilities, answer.bought
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION, SETTLED_SLACK, TIE = "ipforest-model", 1, 1e-9, 1e-9

LINKS: dict[str, Callable[[Any], Any]] = {
    "logit": lambda margins: 1 / (1 + np.exp(-margins)),
    "half logit": lambda margins: 1 / (1 + np.exp(-2 * margins)),
    "multinomial logit": lambda margins: np.exp(margins - margins.max()) / np.exp(margins - margins.max()).sum(),
}


class Answer(NamedTuple):
    """What one example is answered; the features that were asked for, in order, without those that came with them."""

    label: Any
    probabilities: Any
    bought: tuple[int, ...]


def onward(place: int, following: int) -> int:
    """Return what follows a place in a document: it comes after it, so that no way goes round for ever."""
    if following <= place:
        raise ValueError(f"document: expected what follows place {place} to come after it, got {following}")
    return int(following)


class Known:
    """What is known of one example; the rest is fetched when it is asked for."""

    def __init__(self, fetch: Callable[[int], float], comes_with: list[list[int]], n_features: int) -> None:
        self._fetch, self._comes_with, self.bought = fetch, comes_with, list[int]()
        self.values, self.known = np.full(n_features, np.nan), np.zeros(n_features, dtype=bool)

    def buy(self, feature: int) -> None:
        """Fetch a feature and what comes with it, unless it is known."""
        if not self.known[feature]:
            self.bought.append(feature)
            for each in self._comes_with[feature]:
                self.values[each], self.known[each] = float(self._fetch(each)), True


class Trees:
    """Averaged or summed trees."""

    def __init__(self, document: dict[str, Any]) -> None:
        names = ("root", "left", "right", "feature", "threshold", "missing_left", "category_set", "sets")
        self.root, self.left, self.right, self.feature, *others = (document[name] for name in names)
        self.threshold, self.missing_left, self.set_of_node, self.sets = others
        self.value = np.array(document["value"], dtype=np.float64)
        self.first_output, self.base = document["first_output"], np.array(document["base_score"], dtype=np.float64)
        self.link, self.dtype, self.averages = document["link"], np.dtype(document["dtype"]), document["link"] == "mean"
        self.lowest, self.highest = self.value.copy(), self.value.copy()
        for node in reversed(range(len(self.left))):
            if self.left[node] >= 0:
                sides = [self.left[node], self.right[node]]
                self.lowest[node] = self.lowest[sides].min(axis=0)
                self.highest[node] = self.highest[sides].max(axis=0)
                if not self.averages:
                    self.value[node] = (self.lowest[node] + self.highest[node]) / 2

    def child(self, node: int, values: Any) -> int:
        """Find the child to which a test sends an example."""
        x = float(self.dtype.type(values[self.feature[node]]))
        if np.isnan(x):
            goes_left = self.missing_left[node]
        elif self.set_of_node and (number := self.set_of_node[node]) >= 0:
            goes_left = (x > -1 and int(x) in self.sets[number][0]) != self.sets[number][1]
        else:
            goes_left = x <= self.threshold[node]
        return onward(node, self.left[node] if goes_left else self.right[node])

    def reached(self, tree: int, example: Known) -> int:
        """Find the node of a tree to which what is known leads."""
        node = self.root[tree]
        while self.left[node] >= 0 and example.known[self.feature[node]]:
            node = self.child(node, example.values)
        return int(node)

    def foresee(self, example: Known) -> tuple[Any, bool]:
        """Predict from what is known, and tell whether nothing that is unknown can change the label."""
        counted, everything, low, high = np.zeros((4, self.base.size))
        n_counted, width = 0, self.value.shape[1]
        for tree, (root, first) in enumerate(zip(self.root, self.first_output, strict=True)):
            node, columns = self.reached(tree, example), slice(first, first + width)
            if self.left[node] < 0 or (self.averages and node != root):
                counted[columns] += self.value[node]
                n_counted += 1
            everything[columns] += self.value[node]
            low[columns], high[columns] = low[columns] + self.lowest[node], high[columns] + self.highest[node]
        settled = self._settled(low + self.base, high + self.base)
        if self.averages:
            return (everything / len(self.root) if settled or not n_counted else counted / n_counted), settled
        outputs = LINKS[self.link]((everything if settled else counted) + self.base)
        return (outputs if outputs.size > 1 else np.array([1 - outputs[0], outputs[0]])), settled

    @staticmethod
    def _settled(low: Any, high: Any) -> bool:
        slack, leader = SETTLED_SLACK * np.maximum(np.abs(low), np.abs(high)).max(), int(np.argmax(low))
        if low.size == 1:
            return bool(low[0] > slack or high[0] < -slack)
        return bool(low[leader] > np.delete(high, leader).max() + slack)


def keenness(rule: dict[str, Any], stage: int, signal: float, memory: int) -> tuple[float, int]:
    """Say how keen an example is to go on, and what the rule remembers about it."""
    if rule["kind"] == "threshold":
        return -signal, memory
    if rule["kind"] == "staged":
        if stage >= len(rule["edges"]):
            return np.inf, memory
        place = np.searchsorted(rule["edges"][stage], signal, side="right")
        return float(rule["lambdas"][stage][place]) - TIE * signal, memory
    if rule["next_stage"][memory] == stage:
        memory = rule["first_child"][memory] + int(np.searchsorted(rule["edges"][memory], signal, side="right"))
    return float(rule["lambdas"][memory]), memory


def margin(outputs: Any) -> float:
    """Compute by how much the likeliest class leads the second."""
    return float(np.diff(np.sort(outputs)[-2:])[0])


class Model:
    """An exported model, from the document that `json.load` gives."""

    def __init__(self, document: dict[str, Any]) -> None:
        got = document.get("format"), document.get("version")
        if got != (FORMAT, VERSION):
            raise ValueError(f"document: expected {FORMAT!r}, version {VERSION}, got {got[0]!r}, version {got[1]!r}")
        self.classes, self.features, self._rule = document["classes"], document["features"], document["rule"]
        self._level, self._free, self._comes_with = float(document["level"]), document["free"], document["comes_with"]
        self._trees = Trees(document["trees"]) if document["kind"] == "trees" else None
        self._stages = document.get("stages", [])
        self._models = [[Trees(each) for each in stage["trees"]] for stage in self._stages]

    def predict_one(self, fetch: Callable[[int], float]) -> Answer:
        """Predict one example; ``fetch`` gives the value of a feature by its number, NaN where it is missing."""
        example = Known(fetch, self._comes_with, len(self.features))
        outputs = self._walk(self._trees, example) if self._trees else self._climb(example)
        return Answer(self.classes[int(np.argmax(outputs))], outputs, tuple(example.bought))

    def predict(self, X: Any) -> list[Any]:
        """Predict the label of each row of a table, shape (n_samples, n_features)."""
        return [self.predict_one(row.__getitem__).label for row in X]

    def _walk(self, trees: Trees, example: Known) -> Any:
        """Go through the trees in order; before each purchase the rule may stop."""
        stage = memory = 0
        for tree in range(len(trees.root)):
            while trees.left[node := trees.reached(tree, example)] >= 0:
                feature = trees.feature[node]
                if self._rule is not None and not self._free[feature]:
                    outputs, settled = trees.foresee(example)
                    keen, memory = keenness(self._rule, stage, margin(outputs), memory)
                    stage += 1
                    if settled or keen <= self._level:
                        return outputs
                example.buy(feature)
        return trees.foresee(example)[0]

    def _climb(self, example: Known) -> Any:
        """Go from stage to stage; at each the rule may stop."""
        stage = memory = 0
        while True:
            here, outputs = self._stages[stage], self._outputs(stage, example)
            keen, memory = keenness(self._rule, here["depth"], margin(outputs), memory)
            goal = self._goal(here, example.values)
            if goal < 0 or not keen > self._level:
                return outputs
            for feature in self._stages[goal]["features"]:
                example.buy(feature)
            stage = onward(stage, goal)

    def _outputs(self, stage: int, example: Known) -> Any:
        if (constant := self._stages[stage]["constant"]) is not None:
            return np.array(constant, dtype=np.float64)
        return np.mean([trees.foresee(example)[0] for trees in self._models[stage]], axis=0)

    @staticmethod
    def _goal(stage: dict[str, Any], values: Any) -> int:
        """Find the stage to which an example goes on; a router that is a tree sees numbers as float32."""
        node, router = 0, stage["router"]
        while router is not None and router["left"][node] >= 0:
            x = float(np.dtype(router["dtype"]).type(values[router["feature"][node]]))
            goes_left = router["missing_left"][node] if np.isnan(x) else x <= router["threshold"][node]
            node = onward(node, router["left" if goes_left else "right"][node])
        return int(stage["following"][node])
