"""The rules of a single tree: the tree itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ipforest._internal.arrays import BoolArray, IntArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF
from ipforest.policy import Policy, TreesInOrder
from ipforest.rules.conditions import Clause, Condition, joined
from ipforest.rules.ends import Ends, OrderNames
from ipforest.rules.steps import Order, Step
from ipforest.session import Seller, Unit

__all__ = ["TreeReader", "single_tree"]


def single_tree(policy: Policy, max_cost: object | None) -> Forest | BoostedTrees | None:
    """Return the tree where nothing but one tree decides."""
    if type(policy) is not TreesInOrder or max_cost is not None or policy.trees.n_trees != 1:
        return None
    return policy.trees


class TreeReader:
    """Reads a single tree as it is, with what examples do in it."""

    def __init__(
        self, tree: Forest | BoostedTrees, seller: Seller, end: Ends, names: OrderNames, max_questions: float
    ) -> None:
        self._tree, self._seller, self._end, self._names, self._most = tree, seller, end, names, max_questions
        self.told: BoolArray = np.ones(end.values.shape[0], dtype=bool)
        self.goes_on: BoolArray = np.zeros(end.values.shape[0], dtype=bool)
        self._units, self._first_unit = seller.units(), seller.first_unit
        self._thresholds = tree.float32_thresholds() if tree.dtype == np.float32 else tree.splits.threshold

    def read(self) -> Step:
        """Go through the tree, and note what the examples do in it."""
        return self._step(0, np.arange(self.told.size), ((),), (), ())

    def _step(
        self, node: int, rows: IntArray, clauses: tuple[Clause, ...], bought: tuple[Unit, ...], tests: tuple[int, ...]
    ) -> Step:
        paid = self._paid(tests)
        if self._tree.left[node] == LEAF:
            return self._answer(node, clauses, rows, paid)
        feature = int(self._tree.feature[node])
        unit = self._units[self._first_unit[feature]]
        orders: tuple[Order, ...] = ()
        if unit not in bought:
            if len(bought) >= self._most:
                self.goes_on[rows] = True
                return replace(self._answer(node, clauses, rows, paid), goes_on=True)
            orders = (Order(self._names(unit), self._seller.price_after(unit, bought), 1, unit.index),)
            bought = (*bought, unit)
        below: list[Step] = []
        for child, condition in zip(
            (self._tree.left[node], self._tree.right[node]), self._conditions(node), strict=True
        ):
            here = rows[condition.holds(self._end.values[rows])]
            step = self._step(int(child), here, ((condition,),), bought, (*tests, feature))
            below += [step] if step.is_end or step.orders else _with_condition(step.below, condition)
        return Step(clauses, rows.size, paid, orders, below=tuple(below))

    def _paid(self, tests: tuple[int, ...]) -> float:
        usage = np.zeros((1, self._tree.n_features), dtype=bool)
        usage[0, list(tests)] = True
        return float(self._seller.costs.cost_of(usage)[0]) + self._seller.split_cost * len(tests)

    def _answer(self, node: int, clauses: tuple[Clause, ...], rows: IntArray, paid: float) -> Step:
        if rows.size:
            return replace(self._end.step(rows), clauses=clauses)
        value = self._tree.value[node][None]
        if isinstance(self._tree, BoostedTrees):
            margins = self._tree.base_score[None].copy()
            margins[0, int(self._tree.first_output[0]) :][: value.shape[1]] += value[0]
            value = self._tree.outputs(margins)
        n_right = 0 if self._end.labels is not None and self._end.classes is not None else None
        return Step(clauses, 0, paid, answer=self._seller.labels(value)[0], n_right=n_right)

    def _conditions(self, node: int) -> tuple[Condition, Condition]:
        """Say when examples go left and when right."""
        tree, feature = self._tree, int(self._tree.feature[node])
        missing_left = self._seller.allow_missing and bool(tree.missing_left[node])
        missing_right = self._seller.allow_missing and not missing_left
        chosen = int(tree.category_set[node])
        if chosen >= 0:
            among = tuple(tree.left_categories.members(chosen).tolist())
            others_left = bool(tree.left_categories.others[chosen])
            return (
                self._category(feature, among, excluded=others_left, missing=missing_left),
                self._category(feature, among, excluded=not others_left, missing=missing_right),
            )
        threshold = float(self._thresholds[node])
        return (
            Condition(feature, at_most=threshold, missing=missing_left),
            Condition(feature, above=threshold, missing=missing_right),
        )

    def _category(self, feature: int, among: tuple[int, ...], *, excluded: bool, missing: bool) -> Condition:
        """Say that a category is one of some; one unknown in training is missing, so it is none of the others."""
        names = self._seller.categories.get(feature)
        if names is not None and excluded and not missing:
            among, excluded = tuple(number for number in range(len(names)) if number not in among), False
        return Condition(feature, among=among, excluded=excluded, missing=missing)


def _with_condition(steps: Sequence[Step], condition: Condition) -> list[Step]:
    """Let steps follow from one condition more: nothing is ordered between it and them."""
    return [replace(step, clauses=tuple(joined((condition,), *clause) for clause in step.clauses)) for step in steps]
