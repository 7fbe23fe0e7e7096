"""What sessions buy and what it costs: units, prices, and the names of columns, categories and classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.feature_names import column_of
from ipforest._internal.words import category_name, listed, number_of, some_of
from ipforest.costs import FeatureCosts, two_units
from ipforest.ensemble.categories import places_among
from ipforest.policy import Test, compared
from ipforest.walks import Purse
from ipforest.walks.labels import label_places

__all__ = ["Seller", "Unit"]


MOST_NAMED = 12
"""Of more categories, a reason names only some."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is bought at once: a feature, or the features of a group that cost nothing in addition to its fee.

    Parameters
    ----------
    index : int
        Number among the units of `FeatureCosts`.
    name : str
    features : tuple of int
        Columns of X that it brings.
    """

    index: int
    name: str
    features: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Seller:
    """What sessions need in addition to the policy: prices, names and the labels of the answers.

    Parameters
    ----------
    costs : FeatureCosts
    split_cost : float
        What one test costs.
    classes : ndarray or None
        None for regression.
    feature_names : tuple of str
    allow_missing : bool
        Whether the model takes values that cannot be had.
    class_costs : ndarray of float64, shape (n_classes, n_classes), optional
        What predicting class j costs where i is true; the class of least expected cost is the label.
    missing_seen : ndarray of bool, shape (n_features,), optional
        The columns in which training had missing values, so that the model knows what they tell; by default none.
    categories : mapping from int to tuple
        Of columns whose values may be told by name: the names of the numbers 0, 1, 2, ...
    whole : tuple of int
        Columns of categories in which a number with a fraction is missing.
    left_out : ndarray of int64
        Columns for which no unit is bought, as no model can use them.
    decision : callable (outputs) -> ndarray of int64, shape (n_samples,), optional
        Numbers the classes that are predicted from class probabilities, in place of the likeliest or cheapest ones.
    words : callable () -> sequence of str, optional
        Names of the features among which one-hot columns are ``column=word``, where they are called otherwise.
    """

    costs: FeatureCosts
    split_cost: float
    classes: Array | None
    feature_names: tuple[str, ...]
    allow_missing: bool
    class_costs: FloatArray | None = None
    missing_seen: BoolArray | None = None
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    whole: tuple[int, ...] = ()
    left_out: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    decision: Callable[[FloatArray], IntArray] | None = None
    words: Callable[[], Sequence[str]] | None = None

    def number(self, column: int, value: Any) -> float:
        """Read a value: a number, a category or its text, or None or an unknown category for one that cannot be had.

        Raises
        ------
        ValueError
            It is no number, in a column of numbers.
        """
        if np.ndim(value) == 0 and pd.isna(value):
            return float("nan")
        if column not in self.categories:
            number = number_of(value, self.feature_names[column])
            return float("nan") if column in self.whole and number % 1 > 0 else number
        names = self.categories[column]
        return float(names.index(value) if value in names else places_among(names, [value])[0])

    def listed_number(self, column: int, value: Any) -> float:
        """Read a value as `number` does, but refuse words that training has not seen.

        Raises
        ------
        ValueError
            It is neither a number nor a known category.
        """
        number = self.number(column, value)
        if np.isnan(number) and not pd.isna(value):
            number_told = "a whole number" if column in self.whole else "a number"
            known = f"one of {some_of(self.categories[column])}" if column in self.categories else number_told
            raise ValueError(
                f"{self.feature_names[column]}: expected {known}, None for a value that cannot be had, or NaN for one "
                f"that is missing, got {value!r}"
            )
        return number

    def in_words(self, test: Test) -> str:
        """Say what a test asks: whether a category is one of some, whether a one-hot column is set, or a comparison.

        Categories that are compared by their numbers, as those with an order, are told by name.

        A column of numbers whose name is like ``column=word``, as scikit-learn's ``DictVectorizer`` names them, is
        taken to be the one-hot column of a word.
        """
        if test.categories is not None:
            return self._category_in_words(test.feature, test.categories)
        if test.feature in self.categories:
            n_at_most = sum(number <= test.threshold for number in range(len(self.categories[test.feature])))
            return self._category_in_words(test.feature, range(n_at_most))
        one_hot = self.one_hot(test.feature)
        if one_hot is not None and 0 < test.threshold < 1:
            return f"asks whether {one_hot[0]} is {one_hot[1] or 'missing'}"
        return compared(test)

    def one_hot(self, feature: int) -> tuple[str, str] | None:
        """Read the name of a one-hot column, ``column=word``; None for another name."""
        names = self.feature_names if self.words is None else self.words()
        column, equals, word = names[feature].partition("=")
        return (column, word) if equals and column else None

    def _category_in_words(self, feature: int, chosen: Sequence[int]) -> str:
        """Name the categories that go left, or the others where these are fewer."""
        names = self.categories.get(feature)
        if names is None:
            return f"asks whether it is {_one_of([*map(str, chosen)])}"
        inside = [category_name(name) for number, name in enumerate(names) if number in chosen]
        outside = [category_name(name) for number, name in enumerate(names) if number not in chosen]
        if not inside or not outside:
            return "asks whether it is missing"
        return f"asks whether it is {_one_of(inside) if len(inside) <= len(outside) else _none_of(outside)}"

    def named(self, column: int, number: Any) -> Any:
        """Give the category that has a number; other values as they are.

        Raises
        ------
        ValueError
            The column is one of named categories, but none has this number.
        """
        if column not in self.categories or not isinstance(number, (int, float)) or np.isnan(number):
            return number
        names = self.categories[column]
        if number not in range(len(names)):
            raise ValueError(
                f"{self.feature_names[column]}: expected the number of a category 0..{len(names) - 1}, got {number}"
            )
        return names[int(number)]

    def numbers(self, columns: Sequence[int], values: npt.ArrayLike) -> npt.ArrayLike:
        """Read the values of some columns, the last axis; without categories they stay as they are."""
        if set(columns).isdisjoint((*self.categories, *self.whole)):
            return values
        told = np.asarray(values)
        cells = told.reshape(-1, len(columns))
        read = [
            [self.number(column, cell) for column, cell in zip(columns, row, strict=True)] for row in cells.tolist()
        ]
        return np.reshape(read, told.shape)

    def column(self, feature: Any) -> int:
        """Find the column of a feature given by name or number.

        Raises
        ------
        ValueError
            There is no such feature.
        """
        column = column_of(feature, self.feature_names, self.costs.n_features)
        if column is not None:
            return column
        close = get_close_matches(str(feature), self.feature_names, 1)
        raise ValueError(
            f"feature: expected the name of a feature or a column 0..{self.costs.n_features - 1}, got {feature!r}"
            + (f"; do you mean {close[0]!r}?" if close else "")
        )

    def without_constant(self, X: Array) -> Seller:
        """Leave out the columns that are the same, or missing, in all examples, shape (n_samples, n_features)."""
        same = np.equal(X, X[:1]) | (np.isnan(X) & np.isnan(X[:1]))
        return replace(self, left_out=np.flatnonzero(same.all(axis=0)))

    def units(self) -> tuple[Unit, ...]:
        """List what the units bring, by number; a group whose features all have prices brings nothing."""
        brings: list[list[int]] = [[] for _ in range(self.costs.n_units)]
        first_unit = self.first_unit.tolist()
        for feature in np.setdiff1d(np.arange(self.costs.n_features), self.left_out).tolist():
            brings[first_unit[feature]].append(feature)
        n_own = self.costs.n_units - len(self.costs.group_fees)
        names = [*([""] * n_own), *(f"group {group}" for group in range(len(self.costs.group_fees)))]
        for feature, unit in reversed([*enumerate(first_unit)]):
            if unit < n_own:
                names[unit] = self.feature_names[feature]
        return tuple(Unit(index, names[index], tuple(features)) for index, features in enumerate(brings))

    @property
    def first_unit(self) -> Int32Array:
        """The unit that brings each feature, shape (n_features,): its own, or its group."""
        return self.costs.first_unit

    @property
    def free_features(self) -> BoolArray:
        """Mark the features that cost nothing, not even as the first of their group, shape (n_features,)."""
        unit_cost = np.append(self.costs.float_unit_costs, 0.0)
        free: BoolArray = unit_cost[two_units(self.costs)].sum(axis=1) == 0
        return free

    def units_of(self, bought: BoolArray) -> BoolArray:
        """Mark the units that bring features marked (n_samples, n_features), shape (n_samples, n_units)."""
        example, feature = np.nonzero(bought)
        units = np.zeros((bought.shape[0], self.costs.n_units), dtype=bool)
        units[example, self.first_unit[feature]] = True
        return units

    def purse(self, max_cost: object | None) -> Purse:
        """Take prices and the cap as compiled walks do."""
        return Purse.of(self.costs, self.free_features, max_cost, self.missing_seen)

    def free_units(self) -> tuple[Unit, ...]:
        """List the units whose features cost nothing."""
        free = self.free_features
        return tuple(unit for unit in self.units() if unit.features and free[list(unit.features)].all())

    def paid_units(self) -> tuple[Unit, ...]:
        """List the units that bring features for money."""
        free = self.free_features
        return tuple(unit for unit in self.units() if unit.features and not free[list(unit.features)].all())

    def price_after(self, unit: Unit, bought: Sequence[Unit]) -> float:
        """Compute what a unit costs an example that has bought others: its own price, and the fee of a new group."""
        return float(self.prices_after([unit], bought)[0])

    def prices_after(self, units: Sequence[Unit], bought: Sequence[Unit]) -> FloatArray:
        """Compute `price_after` of several units, each as if it came next, shape (n_given,)."""
        price = np.append(self.costs.float_unit_costs, 0.0)
        price[self.needs(bought)] = 0.0
        return np.asarray(price[self.needs(units)].sum(axis=1))

    def needs(self, units: Sequence[Unit]) -> Int32Array:
        """List the one or two units paid for each that brings features, shape (n_given, 2); see `two_units`."""
        return two_units(self.costs)[[unit.features[0] for unit in units]]

    def paid_for(self, bought: BoolArray, tests: Int32Array) -> FloatArray:
        """Compute what examples pay for features and tests, both of shape (n_samples, n_features)."""
        spent: FloatArray = self.costs.cost_of(bought)
        if self.split_cost:
            spent += self.split_cost * tests.sum(axis=1)
        return spent

    def answers(self, outputs: FloatArray) -> FloatArray:
        """Require of what a policy answers a column for each class, or one for targets.

        Raises
        ------
        ValueError
            It has another shape, as of a model that was trained on other classes.
        """
        n_outputs = 1 if self.classes is None else self.classes.size
        if np.ndim(outputs) != 2 or outputs.shape[1] != n_outputs:
            columns = "one column of targets" if self.classes is None else f"{n_outputs} columns, one for each class"
            raise ValueError(f"policy: expected answers in {columns}, got shape {np.shape(outputs)}")
        return outputs

    def labels(self, outputs: FloatArray) -> Array:
        """Turn what a policy answers into predictions."""
        if self.classes is None:
            return outputs[:, 0]
        if self.decision is not None:
            return np.asarray(self.classes[self.decision(outputs)])
        return np.asarray(self.classes[label_places(outputs, self.class_costs)])


def _one_of(words: Sequence[str]) -> str:
    return listed(words) if len(words) <= MOST_NAMED else f"one of {len(words)} categories ({some_of(words)})"


def _none_of(words: Sequence[str]) -> str:
    if len(words) > MOST_NAMED:
        return f"none of {len(words)} categories ({some_of(words)})"
    return f"neither {listed(words, 'nor')}" if len(words) > 1 else f"not {words[0]}"
