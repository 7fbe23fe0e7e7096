"""Predict from an exported model (see ``schema.json``), one feature at a time, with numpy and this file alone."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

HEAD, SETTLED_SLACK, SUREST = {"format": "ipforest-model", "version": 9}, 1e-9, 1e-4
NEEDED = {"classes", "class_costs", "features", "table", "prices", "cap", "free", "calibrations", "decision", "whole"}
BY_KIND = {"trees": {"trees", "rule", "level"}, "stages": {"stages", "rule", "level"}, "gate": {"gate", "goals"}}
PLAIN = {"names": [], "numbers": [], "missing": "nan", "others": "itself"}

LINKS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda margins: margins,
    "log": np.exp,
    "logit": lambda margins: 1 / (1 + np.exp(-margins)),
    "multinomial logit": lambda margins: np.exp(margins - margins.max()) / np.exp(margins - margins.max()).sum(),
}


class Answer(NamedTuple):
    """A class or a target, the probabilities of classes, what was bought and looked at in order, and what was paid."""

    label: Any
    probabilities: Any
    bought: tuple[Any, ...]
    paid: float


def linked(link: str, margins: Any, classify: bool = True) -> Any:
    """Turn margins into outputs: the probabilities of both classes where there is the margin of the second."""
    outputs = LINKS[link](margins)
    return np.array([1 - outputs[0], outputs[0]]) if classify and len(outputs) == 1 else outputs


def weighed(linear: dict[str, Any], values: Any, classify: bool) -> Any:
    """Add up marks of categories and numbers, shifted and scaled, one after another; a missing one counts as 0."""
    x, of = values[linear["features"]].astype(linear["dtype"]), np.array(linear["category"])
    terms = np.where(of < 0, np.nan_to_num((x - linear["mean"]) / linear["spread"]), (x >= of) & (x < of + 1))
    added = terms[:, None] * np.reshape(linear["weights"], (len(terms), len(linear["intercept"])))
    return linked(linear["link"], sum(added, np.zeros(added.shape[1])) + linear["intercept"], classify)


def calibrated(calibration: dict[str, Any], asked: int, outputs: Any) -> Any:
    """Calibrate class probabilities by the maps of a place, which is how many features were tested."""
    maps = calibration["maps"][np.searchsorted(calibration["first"], asked, side="right") - 1]
    sure = np.clip(outputs, SUREST, 1 - SUREST)
    odds = (np.log(sure) - np.log(sure[::-1] if sure.size == 2 else sure.sum() - sure))[-len(maps) :]
    pairs, sigmoid = zip(odds, maps, strict=True), LINKS["logit"]
    mapped = np.array([np.interp(x, *m) if isinstance(m[0], list) else sigmoid(-m[0] * x - m[1]) for x, m in pairs])
    if len(maps) == 1:
        return linked("identity", mapped)
    return mapped / mapped.sum() if mapped.any() else np.full(sure.size, 1 / sure.size)


def onward(place: int, following: int) -> int:
    """Return what follows a place in a document: it comes after it, so that no way goes round for ever."""
    if following <= place:
        raise ValueError(f"document: expected what follows place {place} to come after it, got {following}")
    return int(following)


def number_of(cell: Any, coding: dict[str, Any], column: Any) -> float:
    """Return the number that stands for a cell; a text is not itself one where there are names."""
    names, gap = coding["names"], cell is None or str(cell == cell) != "True"  # NaN, or the NA of pandas
    number = coding["missing"] if gap else [*coding["numbers"], coding["others"]][[*names, cell].index(cell)]
    try:
        return float(number if number != "itself" else "nan" if names and isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        raise ValueError(f"{column}: expected {names or 'a number'}, got {cell!r}") from None


class Known:
    """What is known of one example; the rest is fetched when it is asked for."""

    def __init__(self, fetch: Callable[[Any], Any], document: dict[str, Any]) -> None:
        self._fetch, self._document, n = fetch, document, len(document["features"])
        self.bought, self.tested, self._cells = list[int](), set[int](), dict[Any, Any]()
        self.values, (self.known, self.barred) = np.full(n, np.nan), np.zeros((2, n), dtype=bool)
        self._cost, self._units = map(np.array, (document["prices"]["unit_cost"], document["prices"]["units"]))
        self._give_up()

    def buy(self, features: list[int]) -> None:
        """Fetch features that are tested, and what comes with them, unless they are known."""
        self.tested.update(features)
        for feature in features:
            if not self.known[feature]:
                for each in np.flatnonzero(self._units[:, 0] == self._units[feature, 0]).tolist():
                    self.bought.append(each)
                    number, self.known[each] = self._number(each), True
                    self.values[each] = np.nan if self._document["whole"][each] and number % 1 > 0 else number
                self._give_up()

    def _number(self, feature: int) -> float:
        table = self._document["table"]
        column, coding = table["columns"][table["source"][feature]], table["codings"].get(str(feature), PLAIN)
        if column not in self._cells:
            self._cells[column] = self._fetch(column)
        return number_of(self._cells[column], coding, column)

    def _give_up(self) -> None:
        """Add up what is paid; withhold what would take the example above its cap."""
        is_paid, cap = np.isin(np.arange(self._cost.size), self._units[self.bought]), self._document["cap"]
        self.paid, price = float(self._cost[is_paid].sum()), np.where(is_paid, 0, self._cost)[self._units].sum(axis=1)
        if cap is not None:
            self.barred |= self.paid + price > cap["limit"]
            self.known |= self.barred & cap["missing_seen"]


class Trees(SimpleNamespace):
    """Averaged or summed trees."""

    def __init__(self, document: dict[str, Any], *, classify: bool) -> None:
        super().__init__(**document)
        scale, self.link = (2.0, "logit") if document["link"] == "half logit" else (1.0, str(document["link"]))
        self.classify, self.averages, self.is_leaf = classify, self.link == "mean", np.less(self.left, 0)
        self.value, self.base = (scale * np.array(document[name]) for name in ("value", "base_score"))
        self.columns = np.add.outer(self.first_output, np.arange(self.value.shape[1]))
        self.lowest, self.highest = self.value.copy(), self.value.copy()
        for node in np.flatnonzero(~self.is_leaf)[::-1]:
            sides = [self.left[node], self.right[node]]
            self.lowest[node], self.highest[node] = self.lowest[sides].min(axis=0), self.highest[sides].max(axis=0)
        self.value = self.value if self.averages else (self.lowest + self.highest) / 2

    def reached(self, tree: int, example: Known, tested: set[int]) -> int:
        """Find the node of a tree to which what is known leads; note what is tested."""
        node = int(self.root[tree])
        while self.left[node] >= 0 and example.known[feature := self.feature[node]]:
            tested.add(feature)
            x, threshold = float(np.array(example.values[feature], self.dtype)), self.threshold[node]
            goes_left = self.missing_left[node] if np.isnan(x) else x <= threshold
            if self.category_set and self.category_set[node] >= 0 and not np.isnan(x):
                listed, holds_others = self.sets[self.category_set[node]]
                goes_left = ((x >= 0 or x > threshold) and int(x) in listed) != holds_others
            node = onward(node, self.left[node] if goes_left else self.right[node])
        return node

    def foresee(self, example: Known, class_costs: Any = None) -> tuple[Any, bool, float]:
        """Predict from what is known; tell whether the label is settled, and how narrow the bounds of a target are."""
        nodes = np.array([self.reached(tree, example, set()) for tree in range(len(self.root))])
        answers = self.is_leaf[nodes] | (self.averages & (nodes != self.root))
        low, high = self._sum(self.lowest, nodes) + self.base, self._sum(self.highest, nodes) + self.base
        settled = self.classify and self._settled(low, high, class_costs)
        counts = answers if not settled and (answers.any() or not self.averages) else np.ones_like(answers)
        total = self._sum(self.value, nodes, counts)
        if self.averages:
            return total / counts.sum(), settled, float(low[0] / nodes.size - high[0] / nodes.size)
        outputs, least, most = (linked(self.link, each, self.classify) for each in (total + self.base, low, high))
        return outputs, settled, float((least - most)[0])

    def _sum(self, values: Any, nodes: Any, counts: Any = True) -> Any:
        """Add up what the trees that count say at nodes, in their order."""
        sums, chosen = np.zeros(self.base.size), np.broadcast_to(counts, nodes.shape)
        np.add.at(sums, self.columns[chosen], values[nodes[chosen]])
        return sums

    def _settled(self, low: Any, high: Any, costs: Any) -> bool:
        low, high = (np.append(0.0, each) if each.size == 1 else each for each in (low, high))
        if costs is not None:
            if not self.averages:
                low, high = np.exp(low - high.max()), np.exp(high - high.max())
            label = int(np.argmin((low + high) @ costs))
            extra = costs[:, [label]] - costs
            most = np.delete(high @ np.maximum(extra, 0) + low @ np.minimum(extra, 0), label)
            return bool(most.max() < -SETTLED_SLACK * costs.max() * high.sum())
        slack, leader = SETTLED_SLACK * np.maximum(np.abs(low), np.abs(high)).max(), int(np.argmax(low))
        return bool(low[leader] > np.delete(high, leader).max() + slack)


class Part:
    """What buys and answers: trees or stages, which a rule may stop, or a linear function of features."""

    def __init__(self, part: dict[str, Any], document: dict[str, Any], *, classify: bool) -> None:
        part = {"free": document["free"], "stages": []} | part
        self._part, self._classify, costs = part, classify, document["class_costs"]
        self._costs = None if costs is None else np.array(costs, dtype=np.float64)
        trees = [each["trees"] for each in part["stages"]] or [[part["trees"]] if "trees" in part else []]
        self._models = [[Trees(each, classify=classify) for each in averaged] for averaged in trees]
        self._routers = [each["router"] and Trees(each["router"], classify=False) for each in part["stages"]]
        self.answer = {"trees": self._walk, "stages": self._climb, "linear": self._weigh}[part["kind"]]

    def worth(self, outputs: Any) -> Any:
        """Return what speaks for each label: its probability, or minus its expected cost."""
        return outputs if self._costs is None else -(outputs[:, None] * self._costs).sum(axis=0)

    def _goes_on(self, stage: int, outputs: Any, otherwise: float, memory: int) -> tuple[bool, int]:
        """Tell whether the rule lets an example go on, by how much what speaks for its label leads."""
        rule = self._part["rule"]
        sure = np.diff(np.sort(self.worth(outputs))[-2:])[0] if outputs.size > 1 else otherwise
        if rule["next_stage"][memory] == stage:
            memory = rule["first_child"][memory] + int(np.searchsorted(rule["edges"][memory], sure, side="right"))
        return float(rule["lambdas"][memory]) - rule["tie"] * sure > float(self._part["level"]), memory

    def _walk(self, example: Known) -> Any:
        """Go through the trees in order; before each purchase the rule may stop."""
        (trees,), stage, memory = self._models[0], 0, 0
        for tree in range(len(trees.root)):
            while trees.left[node := trees.reached(tree, example, example.tested)] >= 0:
                if example.barred[feature := trees.feature[node]]:
                    break
                if self._part["rule"] is not None and not self._part["free"][feature]:
                    outputs, settled, width = trees.foresee(example, self._costs)
                    stage, (goes_on, memory) = stage + 1, self._goes_on(stage, outputs, width, memory)
                    if settled or not goes_on:
                        return trees.foresee(example)[0]
                example.buy([feature])
        return trees.foresee(example)[0]

    def _climb(self, example: Known) -> Any:
        """Go from stage to stage; at each the rule may stop."""
        stage, memory, before = 0, 0, None
        while True:
            here, models, router = self._part["stages"][stage], self._models[stage], self._routers[stage]
            linear = here["linear"] and [weighed(here["linear"], example.values, self._classify)]
            outputs = np.mean(linear or [each.foresee(example)[0] for each in models], axis=0)
            change = 0.0 if before is None else float(np.abs(outputs - before)[0])
            goes_on, memory = self._goes_on(here["depth"], outputs, -change, memory)
            goal = here["following"][router.reached(0, example, set()) if router else 0]
            if goal < 0 or not goes_on:
                return outputs
            example.buy(self._part["stages"][goal]["features"])
            stage, before = onward(stage, goal), outputs

    def _weigh(self, example: Known) -> Any:
        """Buy all features, and weigh them."""
        example.buy(self._part["features"])
        return weighed(self._part, example.values, self._classify)


class Model:
    """An exported model, from the document that `json.load` gives."""

    def __init__(self, document: dict[str, Any]) -> None:
        got = {key: document.get(key) for key in HEAD} if isinstance(document, dict) else type(document).__name__
        if got != HEAD:
            raise ValueError(f"document: expected what json.load gives, with {HEAD}, got {got}; export it again")
        by_kind = BY_KIND.get(str(document.get("kind")), {f"a kind among {', '.join(BY_KIND)}"})
        if lacking := sorted((NEEDED | by_kind) - document.keys()):
            raise ValueError(f"document: expected a whole one, got one without {', '.join(lacking)}")
        self._document, self.classes, self.features = document, document["classes"], document["features"]
        self._gate = Part(document["gate"], document, classify=False) if "gate" in document else None
        goals, classify = document.get("goals", [document]), self.classes is not None
        self._goals = [Part(each, document, classify=classify) for each in goals]

    def predict_one(self, fetch: Callable[[Any], Any]) -> Answer:
        """Predict one example; ``fetch`` gives a cell by the name of its column, or by its number without a table."""
        example, table = Known(fetch, self._document), self._document["table"]
        goal = self._gate is not None and self._gate.answer(example)[0] > self._document["threshold"]
        outputs = self._goals[int(goal)].answer(example)
        for each in self._document["calibrations"]:
            outputs = calibrated(each, len(example.tested), outputs)
        label = outputs[0] if self.classes is None else self.classes[self._place(outputs)]
        bought = (table["columns"][table["source"][each]] for each in example.bought if each in example.tested)
        return Answer(label, outputs, tuple(dict.fromkeys(bought)), example.paid)

    def predict(self, X: Any) -> list[Any]:
        """Predict the label of each row of a table, an array or a sequence of mappings by column."""
        return [self.predict_one(row.__getitem__).label for row in X]

    def _place(self, outputs: Any) -> int:
        """Find the number of the class that is predicted."""
        if (decision := self._document["decision"]) is None:
            return int(np.argmax(self._goals[-1].worth(outputs)))
        least, positive = np.array(decision["threshold"]), decision["positive"]
        if positive is None:
            return int(np.argmax(outputs / least))
        return int(positive if outputs[positive] >= least[positive] else 1 - positive)
