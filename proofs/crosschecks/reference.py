"""The problem by its definition, a second time: routing, costs and losses of a fitted forest, example by example.

Everything is read from scikit-learn's own arrays and from the data, in plain Python; nothing of `ipforest` is used.
Nodes are numbered tree by tree, as scikit-learn numbers them within a tree; units as `ipforest.FeatureCosts` documents
them: first the features that are bought themselves, then the groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan, log2
from typing import Any

import numpy as np

Row = Sequence[float]


@dataclass(frozen=True, slots=True)
class Prices:
    """What features cost.

    Parameters
    ----------
    prices : sequence of Fraction
        Of each feature itself.
    groups : sequence of int
        The group of each feature, -1 for none.
    fees : sequence of Fraction
        Of each group, paid once per example with the first feature of it.
    test : Fraction
        What one test costs.
    """

    prices: Sequence[Fraction]
    groups: Sequence[int]
    fees: Sequence[Fraction]
    test: Fraction

    @property
    def unit_prices(self) -> list[Fraction]:
        """The prices of the units, in their order."""
        return [self.prices[feature] for feature in self._bought_alone()] + list(self.fees)

    def units(self, feature: int) -> set[int]:
        """Return the units that a feature needs."""
        alone = self._bought_alone()
        needed = {alone.index(feature)} if feature in alone else set()
        return needed if self.groups[feature] < 0 else needed | {len(alone) + self.groups[feature]}

    def _bought_alone(self) -> list[int]:
        """List the features that are bought themselves: they have a price, or no group."""
        return [f for f, price in enumerate(self.prices) if price > 0 or self.groups[f] < 0]


class Reference:
    """A fitted forest of scikit-learn, walked by the definitions.

    Parameters
    ----------
    model : fitted estimator
        A forest of decision trees.
    rows : sequence of rows
        The examples that pay.
    prices : Prices
    loss : str
        "misclassification", "gini", "entropy" or "squared_error".
    error_data : pair of rows and targets, optional
        Errors are counted on these examples; by default on the in-bag ones.
    """

    def __init__(
        self, model: Any, rows: Any, prices: Prices, loss: str, error_data: tuple[Any, Any] | None = None
    ) -> None:
        self.trees = [member.tree_ for member in model.estimators_]
        self.labels = getattr(model, "classes_", np.zeros(0)).tolist()
        self.rows = np.asarray(rows, dtype=np.float32).tolist()
        self.prices, self.loss, self.error_data = prices, loss, error_data
        self.starts = [0]
        for tree in self.trees:
            self.starts.append(self.starts[-1] + tree.node_count)

    def parents(self) -> list[int]:
        """Return the parent of each node, -1 for a root."""
        parent = [-1] * self.starts[-1]
        for start, tree in zip(self.starts, self.trees, strict=False):
            for node in range(tree.node_count):
                for child in (tree.children_left[node], tree.children_right[node]):
                    if child >= 0:
                        parent[start + child] = start + node
        return parent

    def path(self, number: int, row: Row, kept: Collection[int] | None = None) -> Iterator[int]:
        """Walk an example down a tree, to the leaf or to the first node that is not kept."""
        tree, node = self.trees[number], 0
        yield self.starts[number]
        while tree.children_left[node] >= 0 and (kept is None or self.starts[number] + node in kept):
            value = row[tree.feature[node]]
            left = bool(tree.missing_go_to_left[node]) if isnan(value) else value <= tree.threshold[node]
            node = int(tree.children_left[node] if left else tree.children_right[node])
            yield self.starts[number] + node

    def feature(self, node: int) -> int:
        """Return the feature that a node tests, -2 at a leaf."""
        number = self._tree_of(node)
        return int(self.trees[number].feature[node - self.starts[number]])

    def first_uses(self) -> set[tuple[int, int, int]]:
        """Find (node, unit, example) wherever an example first needs a unit in a tree."""
        found = set()
        for example, row in enumerate(self.rows):
            for number in range(len(self.trees)):
                bought: set[int] = set()
                for node in self.path(number, row):
                    needed = self.prices.units(self.feature(node)) if self.feature(node) >= 0 else set()
                    found |= {(node, unit, example) for unit in needed - bought}
                    bought |= needed
        return found

    def leaves(self) -> list[list[int]]:
        """Find the leaf of each example, tree by tree."""
        return [[list(self.path(number, row))[-1] for row in self.rows] for number in range(len(self.trees))]

    def passing(self) -> list[int]:
        """Count the examples that pass each node."""
        counts = [0] * self.starts[-1]
        for number in range(len(self.trees)):
            for row in self.rows:
                for node in self.path(number, row):
                    counts[node] += 1
        return counts

    def cost(self, kept: Collection[int]) -> Fraction:
        """Compute what the pruned forest costs an example on average: each unit once, each test made."""
        prices, total = self.prices.unit_prices, Fraction(0)
        for row in self.rows:
            tested = [
                node for number in range(len(self.trees)) for node in self.path(number, row, kept) if node in kept
            ]
            bought = {unit for node in tested for unit in self.prices.units(self.feature(node))}
            total += sum((prices[unit] for unit in bought), Fraction(0)) + self.prices.test * len(tested)
        return total / len(self.rows)

    def losses(self) -> list[float]:
        """Compute what stopping at each node loses, in sum over the examples that errors are counted on."""
        return [self._loss(number, node) for number, tree in enumerate(self.trees) for node in range(tree.node_count)]

    def weight(self) -> float:
        """Return N_e T: the examples that errors are counted on, over all trees."""
        if self.error_data is not None:
            return float(len(self.error_data[1]) * len(self.trees))
        return float(sum(tree.weighted_n_node_samples[0] for tree in self.trees))

    def predict(self, row: Row, kept: Collection[int]) -> list[float]:
        """Average the values of the nodes in which the pruned trees stop."""
        stops = [list(self.path(number, row, kept))[-1] - start for number, start in enumerate(self.starts[:-1])]
        values = [tree.value[stop, 0].tolist() for tree, stop in zip(self.trees, stops, strict=True)]
        return [sum(column) / len(values) for column in zip(*values, strict=True)]

    def _tree_of(self, node: int) -> int:
        return next(number for number in range(len(self.trees)) if node < self.starts[number + 1])

    def _loss(self, number: int, node: int) -> float:
        tree = self.trees[number]
        value, weight = tree.value[node, 0].tolist(), float(tree.weighted_n_node_samples[node])
        if self.error_data is None:
            if self.loss == "squared_error":
                return weight * float(tree.impurity[node])
            return weight * _impurity(value, self.loss)
        rows = np.asarray(self.error_data[0], dtype=np.float32).tolist()
        here = [
            y
            for row, y in zip(rows, self.error_data[1], strict=True)
            if self.starts[number] + node in self.path(number, row)
        ]
        if self.loss == "squared_error":
            return float(sum((y - value[0]) ** 2 for y in here))
        return float(sum(self.labels[value.index(max(value))] != y for y in here))


def _impurity(shares: Sequence[float], loss: str) -> float:
    if loss == "misclassification":
        return 1 - max(shares)
    if loss == "gini":
        return 1 - sum(share**2 for share in shares)
    return -sum(share * log2(share) for share in shares if share > 0)
