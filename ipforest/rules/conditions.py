"""Conditions on what was bought, in numbers and in words, and the few of them that tell apart what happens next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isinf, log10
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest._internal.words import category_name, listed
from ipforest.session import Seller

MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Condition:
    """What one feature's value must be.

    Parameters
    ----------
    feature : int
        Column of the examples.
    above, at_most : float
        The value x of a number: ``above < x <= at_most``.
    among : tuple of int, optional
        Of a category: the numbers that it is one of.
    excluded : bool
        Whether the category is none of them.
    missing : bool
        Whether the condition holds of a missing value.
    """

    feature: int
    above: float = -inf
    at_most: float = inf
    among: tuple[int, ...] | None = None
    excluded: bool = False
    missing: bool = False

    def holds(self, values: Array) -> BoolArray:
        """Say of which examples, shape (n_samples, n_features), the condition holds, shape (n_samples,)."""
        column = values[:, self.feature]
        if self.among is None:
            inside = (column > self.above) & (column <= self.at_most)
        else:
            inside = np.isin(column, self.among) != self.excluded
        return np.where(np.isnan(column), self.missing, inside)

    def and_also(self, other: Condition) -> Condition | None:
        """Return the one condition that both amount to, or None if it takes two."""
        if self.feature != other.feature or (self.among is None) != (other.among is None):
            return None
        missing = self.missing and other.missing
        if self.among is None:
            return replace(
                self, above=max(self.above, other.above), at_most=min(self.at_most, other.at_most), missing=missing
            )
        among, others = {*self.among}, {*(other.among or ())}
        if self.excluded and other.excluded:
            among |= others
        elif self.excluded:
            among = others - among
        else:
            among = among - others if other.excluded else among & others
        excluded = self.excluded and other.excluded
        return replace(self, among=tuple(sorted(among)), excluded=excluded, missing=missing)

    def in_words(self, seller: Seller) -> str:
        """Say the condition with the names of the feature and of its categories.

        Missing values are told of where training had some in this column, or a category that training did not have,
        which is missing, would seem to be among those that are named.
        """
        if self.among is None and (self.above == inf or (isinf(self.above) and isinf(self.at_most))):
            return f"{seller.feature_names[self.feature]} is {'' if self.above == inf else 'not '}missing"
        known = seller.missing_seen is not None and seller.missing_seen[self.feature]
        return self._value_in_words(seller, or_missing=bool(self.missing and known))

    def _value_in_words(self, seller: Seller, *, or_missing: bool) -> str:
        name, first, last = seller.feature_names[self.feature], "missing or " * or_missing, " or missing" * or_missing
        names = seller.categories.get(self.feature)
        if self.among is not None or names is not None:
            return f"{name} is {self._category_in_words(names, first, seller.allow_missing)}"
        one_hot = seller.one_hot(self.feature)
        if one_hot is not None and (0 <= self.above < 1 or 0 <= self.at_most < 1):
            column, word = one_hot
            return f"{column} is {first}{'not ' if 0 <= self.at_most < 1 else ''}{word or 'missing'}"
        if isinf(self.above):
            return f"{name} at most {_shown(self.at_most)}{last}"
        beyond = f"{name} above {_shown(self.above)}"
        return f"{beyond}{last}" if isinf(self.at_most) else f"{beyond} and at most {_shown(self.at_most)}{last}"

    def _category_in_words(self, names: Sequence[object] | None, first: str, allow_missing: bool) -> str:
        """Name some categories, or the others where these are fewer.

        "Missing" comes first with others, as "not red or missing" may say that neither is.
        """
        numbers, excluded = self.among, self.excluded
        if numbers is None:
            numbers = tuple(number for number in range(len(names or ())) if self.above < number <= self.at_most)
        nor_missing = False
        if names is not None:
            others = tuple(number for number in range(len(names)) if number not in numbers)
            if len(others) < len(numbers):
                numbers, excluded = others, not excluded
                nor_missing = excluded and allow_missing and not self.missing
        words = [str(number) if names is None else category_name(names[number]) for number in numbers]
        if not excluded:
            return listed([*words, *["missing"] * self.missing] or ["none of them"])
        words += ["missing"] * nor_missing
        if len(words) < 2:
            return f"{first}not {words[0]}" if words else "anything"
        return f"{first}neither {listed(words, 'nor')}"


Clause: TypeAlias = tuple[Condition, ...]
"""Conditions that all hold."""


def holds(clauses: Sequence[Clause], values: Array) -> BoolArray:
    """Say of which examples all conditions of one clause at least hold, shape (n_samples,)."""
    result = np.zeros(values.shape[0], dtype=bool)
    for clause in clauses:
        result |= np.logical_and.reduce([condition.holds(values) for condition in clause], initial=True)
    return result


def in_words(clauses: Sequence[Clause], seller: Seller) -> str:
    """Join conditions by "and", with a comma where there is an "or" in one, and clauses by "or"."""
    told = [[condition.in_words(seller) for condition in clause] for clause in clauses]
    return "; or ".join((", and " if any(" or " in each for each in one) else " and ").join(one) for one in told)


def _shown(number: float) -> str:
    """Write a threshold with the digits that single precision needs, where it is a number of that."""
    single = np.float32(number)
    return f"{float(str(single)) if single == number else number:.12g}"


def roundest(low: float, high: float) -> float:
    """Find a number t of few digits, ``low <= t < high``, so that ``x <= t`` parts low from high.

    >>> roundest(41.0, 47.0), roundest(0.0, 1.0), roundest(121.3, 121.4), roundest(-3.0, 5.0)
    (45.0, 0.0, 121.3, 0.0)
    """
    if low < 0 < high:
        return 0.0
    largest = max(abs(low), abs(high))
    if not largest or isinf(high - low):
        return low
    middle = (low + high) / 2
    first = -ceil(log10(largest))
    for digits in range(first, first + MAX_DIGITS):
        for unit in (10.0, 5.0, 1.0):
            step = unit * 10.0**-digits
            for multiple in (round(middle / step), ceil(low / step)):
                number = round(multiple * step, max(digits, 0) + 1)
                if low <= number < high:
                    return number
    return low


class _Column(NamedTuple):
    """What one column of the small tree means: a feature, or whether it is one category."""

    feature: int
    category: int | None
    values: Array


class _Node(NamedTuple):
    """What a small tree needs of scikit-learn's: arrays over its nodes."""

    left: IntArray
    right: IntArray
    column: IntArray
    threshold: FloatArray
    missing_left: npt.NDArray[np.uint8]
    action: IntArray


def tell_apart(
    values: Array, features: Sequence[int], actions: IntArray, categorical: Iterable[int], max_clauses: int
) -> dict[int, tuple[Clause, ...]]:
    """Find few conditions on some features that tell what happens to examples.

    Of small trees with 2, 3, ... leaves, grown best first, the first is taken that no larger one is better than: its
    leaves are the clauses. Thresholds are the roundest numbers that part the examples alike.

    Parameters
    ----------
    values : ndarray, shape (n_samples, n_features)
        What is known of the examples; NaN is missing.
    features : sequence of int
        The columns that conditions may be about.
    actions : ndarray of int64, shape (n_samples,)
        What happens to each example.
    categorical : iterable of int
        Columns of categories.
    max_clauses : int
        Most leaves of the tree.

    Returns
    -------
    dict from int to tuple of Clause
        The clauses of each action, which no two share an example of; none of an action that the tree never says.
    """
    columns = _columns(values, features, set(categorical))
    best, most = None, -1
    if columns:
        told = np.column_stack([column.values for column in columns])
        for n_leaves in range(2, max_clauses + 1):
            tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(told, actions)
            agreeing = int((tree.predict(told) == actions).sum())
            if agreeing > most:
                best, most = tree, agreeing
            if agreeing == actions.size or tree.get_n_leaves() < n_leaves:
                break
    if best is None:
        return {int(np.bincount(actions).argmax()): ((),)}
    tree = best.tree_
    nodes = _Node(
        tree.children_left,
        tree.children_right,
        tree.feature,
        tree.threshold,
        tree.missing_go_to_left,
        best.classes_[tree.value[:, 0].argmax(axis=1)],
    )
    found: dict[int, tuple[Clause, ...]] = {}
    for action, clause in _leaves(nodes, columns, values, 0, np.arange(values.shape[0]), ()):
        found[action] = (*found.get(action, ()), clause)
    return found


def _columns(values: Array, features: Sequence[int], categorical: set[int]) -> list[_Column]:
    """Turn features into columns: places of numbers in their order, which single precision holds, and categories."""
    columns = []
    for feature in features:
        cells = values[:, feature].astype(np.float64)
        missing = np.isnan(cells)
        seen, places = np.unique(cells[~missing], return_inverse=True)
        if feature in categorical:
            for category in seen.tolist():
                columns.append(_Column(feature, int(category), np.where(missing, np.nan, cells == category)))
        elif seen.size > 1 or missing.any():
            ranks = np.full(cells.size, np.nan)
            ranks[~missing] = places
            columns.append(_Column(feature, None, ranks))
    return columns


def _leaves(
    nodes: _Node, columns: list[_Column], values: Array, node: int, rows: IntArray, path: Clause
) -> Iterable[tuple[int, Clause]]:
    """List the leaves below a node: the action, and the conditions on the way."""
    if nodes.left[node] < 0:
        yield int(nodes.action[node]), path
        return
    column = columns[nodes.column[node]]
    ranks = column.values[rows]
    missing = np.isnan(ranks)
    missing_left = bool(nodes.missing_left[node])
    goes_left = np.where(missing, missing_left, ranks <= nodes.threshold[node])
    left, right = _conditions(column, values[rows, column.feature], goes_left & ~missing, ~goes_left & ~missing)
    left = replace(left, missing=missing_left and bool(missing.any()))
    right = replace(right, missing=not missing_left and bool(missing.any()))
    yield from _leaves(nodes, columns, values, int(nodes.left[node]), rows[goes_left], joined(path, left))
    yield from _leaves(nodes, columns, values, int(nodes.right[node]), rows[~goes_left], joined(path, right))


def _conditions(column: _Column, cells: Array, left: BoolArray, right: BoolArray) -> tuple[Condition, Condition]:
    if column.category is not None:
        among = (column.category,)
        return Condition(column.feature, among=among, excluded=True), Condition(column.feature, among=among)
    if not left.any() or not right.any():  # only missing values are parted from the others
        everything, nothing = Condition(column.feature), Condition(column.feature, above=inf)
        return (everything, nothing) if left.any() else (nothing, everything)
    threshold = roundest(float(cells[left].max()), float(cells[right].min()))
    return Condition(column.feature, at_most=threshold), Condition(column.feature, above=threshold)


def joined(clause: Clause, *conditions: Condition) -> Clause:
    """Add conditions to those that hold already, as one with that on the same feature where this can be."""
    for condition in conditions:
        merged = [one.and_also(condition) for one in clause]
        place = next((place for place, both in enumerate(merged) if both is not None), len(clause))
        clause = (*clause[:place], (merged[place : place + 1] or [None])[0] or condition, *clause[place + 1 :])
    return clause
