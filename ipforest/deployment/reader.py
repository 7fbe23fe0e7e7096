"""Predict from an exported model, one feature at a time, with numpy alone.

This file needs nothing else of the package: copy it to where the model runs. ``schema.json`` describes the document.

    answer = Model(json.load(open("model.json"))).predict_one(lambda feature: sensors[feature].read())
    answer.label, answer.probabilities, answer.bought
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION, SETTLED_SLACK, TIE = "ipforest-model", 2, 1e-9, 1e-9
NEEDED = ("kind", "classes", "features", "free", "comes_with", "rule", "level")
ADDED: dict[str, Any] = {"class_costs": None, "cap": None, "categories": {}, "prices": None}  # not in version 1

LINKS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda margins: margins,
    "log": np.exp,
    "logit": lambda margins: 1 / (1 + np.exp(-margins)),
    "half logit": lambda margins: 1 / (1 + np.exp(-2 * margins)),
    "multinomial logit": lambda margins: np.exp(margins - margins.max()) / np.exp(margins - margins.max()).sum(),
}


class Answer(NamedTuple):
    """What one example is answered: a class or a target, the probabilities of classes, what was asked for, and paid.

    The features that were asked for stand in order, without those that came with them.
    """

    label: Any
    probabilities: Any
    bought: tuple[int, ...]
    paid: float | None


def onward(place: int, following: int) -> int:
    """Return what follows a place in a document: it comes after it, so that no way goes round for ever."""
    if following <= place:
        raise ValueError(f"document: expected what follows place {place} to come after it, got {following}")
    return int(following)


class Known:
    """What is known of one example; the rest is fetched when it is asked for."""

    def __init__(self, fetch: Callable[[int], Any], document: dict[str, Any]) -> None:
        self._fetch, self._document, self.bought, n = fetch, document, list[int](), len(document["features"])
        self.values, (self.known, self.barred) = np.full(n, np.nan), np.zeros((2, n), dtype=bool)
        self._give_up()

    def buy(self, feature: int) -> None:
        """Fetch a feature and what comes with it, unless it is known."""
        if not self.known[feature]:
            self.bought.append(feature)
            for each in self._document["comes_with"][feature]:
                value, names = self._fetch(each), self._document["categories"].get(str(each), [])
                number = names.index(value) if value in names else np.nan if isinstance(value, str) else value
                self.values[each], self.known[each] = float(number), True
            self._give_up()

    def _spent(self) -> tuple[Any, float]:
        """Return what each feature would cost in addition, and what is paid."""
        cost, units = (np.array(self._document["prices"][name]) for name in ("unit_cost", "units"))
        paid = np.isin(np.arange(cost.size), units[self.bought])
        return np.where(paid, 0, cost)[units].sum(axis=1), float(cost[paid].sum())

    def paid(self) -> float | None:
        """Return what is paid, if the document has prices."""
        return self._spent()[1] if self._document["prices"] else None

    def _give_up(self) -> None:
        """Withhold what would take the example above its cap."""
        if cap := self._document["cap"]:
            price, spent = self._spent()
            beyond = (spent + price > cap["limit"]) & ~self.known & ~self.barred
            self.barred |= beyond
            self.known |= beyond & np.array(cap["missing_seen"])


class Trees:
    """Averaged or summed trees."""

    def __init__(self, document: dict[str, Any], *, classify: bool) -> None:
        names = ("root", "left", "right", "feature", "threshold", "missing_left", "category_set", "sets")
        self.classify = classify
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
            is_category = x >= 0 or x > self.threshold[node]
            goes_left = (is_category and int(x) in self.sets[number][0]) != self.sets[number][1]
        else:
            goes_left = x <= self.threshold[node]
        return onward(node, self.left[node] if goes_left else self.right[node])

    def reached(self, tree: int, example: Known) -> int:
        """Find the node of a tree to which what is known leads."""
        node = self.root[tree]
        while self.left[node] >= 0 and example.known[self.feature[node]]:
            node = self.child(node, example.values)
        return int(node)

    def foresee(self, example: Known, class_costs: Any = None) -> tuple[Any, bool, float]:
        """Predict from what is known; tell whether the label is settled, and how narrow the bounds of a target are."""
        counted, everything, low, high = np.zeros((4, self.base.size))
        n_counted, width = 0, self.value.shape[1]
        for tree, (root, first) in enumerate(zip(self.root, self.first_output, strict=True)):
            node, columns = self.reached(tree, example), slice(first, first + width)
            if self.left[node] < 0 or (self.averages and node != root):
                counted[columns] += self.value[node]
                n_counted += 1
            everything[columns] += self.value[node]
            low[columns], high[columns] = low[columns] + self.lowest[node], high[columns] + self.highest[node]
        low, high = low + self.base, high + self.base
        settled = self.classify and self._settled(low, high, class_costs)
        if self.averages:
            width = float(low[0] - high[0]) / len(self.root)
            return (everything / len(self.root) if settled or not n_counted else counted / n_counted), settled, width
        outputs = self._linked((everything if settled else counted) + self.base)
        return outputs, settled, float((self._linked(low) - self._linked(high))[0])

    def _linked(self, margins: Any) -> Any:
        outputs = LINKS[self.link](margins)
        return np.array([1 - outputs[0], outputs[0]]) if self.classify and outputs.size == 1 else outputs

    def _settled(self, low: Any, high: Any, costs: Any) -> bool:
        if costs is not None:
            if not self.averages and low.size == 1:
                low, high = np.sort([self._linked(low), self._linked(high)], axis=0)
            elif not self.averages:
                low, high = np.exp(low - high.max()), np.exp(high - high.max())
            label = int(np.argmin((low + high) @ costs))
            extra = costs[:, [label]] - costs
            most = np.delete(high @ np.maximum(extra, 0) + low @ np.minimum(extra, 0), label)
            return bool(most.max() < -SETTLED_SLACK * costs.max() * high.sum())
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


class Model:
    """An exported model, from the document that `json.load` gives."""

    def __init__(self, document: dict[str, Any]) -> None:
        got = document.get("format"), document.get("version")
        if got not in ((FORMAT, VERSION), (FORMAT, 1)):
            raise ValueError(f"document: expected {FORMAT!r}, version {VERSION}, got {got[0]!r}, version {got[1]!r}")
        if lacking := [name for name in (*NEEDED, document.get("kind", "kind")) if name not in document]:
            raise ValueError(f"document: expected {', '.join(NEEDED)}, got one without {', '.join(lacking)}")
        self._document = {**ADDED, **document}
        self.classes, self.features, self._rule = document["classes"], document["features"], document["rule"]
        self._level, self._free, costs = float(document["level"]), document["free"], self._document["class_costs"]
        self._costs, classify = None if costs is None else np.array(costs, dtype=np.float64), self.classes is not None
        self._trees = Trees(document["trees"], classify=classify) if document["kind"] == "trees" else None
        self._stages = document.get("stages", [])
        self._models = [[Trees(each, classify=classify) for each in stage["trees"]] for stage in self._stages]

    def predict_one(self, fetch: Callable[[int], Any]) -> Answer:
        """Predict one example; ``fetch`` gives a feature by its number, NaN where it is missing; categories by name."""
        example = Known(fetch, self._document)
        outputs = self._walk(self._trees, example) if self._trees else self._climb(example)
        label = outputs[0] if self.classes is None else self.classes[int(np.argmax(self._worth(outputs)))]
        return Answer(label, outputs, tuple(example.bought), example.paid())

    def predict(self, X: Any) -> list[Any]:
        """Predict the label of each row of a table, shape (n_samples, n_features)."""
        return [self.predict_one(row.__getitem__).label for row in X]

    def _worth(self, outputs: Any) -> Any:
        """Return what speaks for each label: its probability, or minus its expected cost."""
        return outputs if self._costs is None else -(outputs @ self._costs)

    def _sureness(self, outputs: Any, otherwise: float) -> float:
        return float(np.diff(np.sort(self._worth(outputs))[-2:])[0]) if outputs.size > 1 else otherwise

    def _walk(self, trees: Trees, example: Known) -> Any:
        """Go through the trees in order; before each purchase the rule may stop."""
        stage = memory = 0
        for tree in range(len(trees.root)):
            while trees.left[node := trees.reached(tree, example)] >= 0:
                feature = trees.feature[node]
                if example.barred[feature]:
                    break
                if self._rule is not None and not self._free[feature]:
                    outputs, settled, width = trees.foresee(example, self._costs)
                    keen, memory = keenness(self._rule, stage, self._sureness(outputs, width), memory)
                    stage += 1
                    if settled or keen <= self._level:
                        return trees.foresee(example)[0]
                example.buy(feature)
        return trees.foresee(example)[0]

    def _climb(self, example: Known) -> Any:
        """Go from stage to stage; at each the rule may stop."""
        stage, memory, before = 0, 0, None
        while True:
            here, outputs = self._stages[stage], self._outputs(stage, example)
            change = 0.0 if before is None else float(np.abs(outputs - before)[0])
            keen, memory = keenness(self._rule, here["depth"], self._sureness(outputs, -change), memory)
            goal = self._goal(here, example.values)
            if goal < 0 or not keen > self._level:
                return outputs
            for feature in self._stages[goal]["features"]:
                example.buy(feature)
            stage, before = onward(stage, goal), outputs

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
