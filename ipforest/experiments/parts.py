"""Train, validation and test parts of a data set, and how they are drawn; a random forest on the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ipforest._internal.arrays import Array, read_only
from ipforest.datasets import Dataset
from ipforest.ensemble.forest import Forest

MIN_OF_CLASS = 4
"""Of so many examples of a class, some come into each of half, a quarter and a quarter."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The three parts of a data set; all X have shape (n_part, n_features), all y shape (n_part,).

    Where y is floating, numbers are predicted, else classes. The arrays are read-only, as all methods share them.
    """

    X_train: Array
    y_train: Array
    X_validation: Array
    y_validation: Array
    X_test: Array
    y_test: Array

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, read_only(getattr(self, each.name)))

    @classmethod
    def of_rows(cls, X: Array, y: Array, rows: Iterable[Any]) -> Self:
        """Take the examples of three sets of rows."""
        return cls(*(array[chosen] for chosen in rows for array in (X, y)))

    @classmethod
    def in_order(cls, X: Array, y: Array, sizes: Sequence[int]) -> Self:
        """Take so many examples one after another for each part."""
        ends = np.cumsum([0, *sizes]).tolist()
        return cls.of_rows(X, y, (slice(first, last) for first, last in pairwise(ends)))

    def first(self, n_rows: int | None) -> Self:
        """Take the first examples of each part, at most so many."""
        return type(self)(*(getattr(self, each.name)[:n_rows] for each in fields(self)))

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted."""
        return _are_numbers(self.y_train)

    def lost(self, predicted: Array, y: Array) -> float:
        """Return the share of wrong labels, or the mean squared error."""
        return float(np.mean(np.square(predicted - y) if self.is_regression else predicted != y))

    def standardised(self) -> Self:
        """Return the same with targets of mean 0 and variance 1 on the first part."""
        centre, spread = self.y_train.mean(), self.y_train.std() or 1.0
        return self.with_targets(lambda y: (y - centre) / spread)

    def with_targets(self, changed: Callable[[Array], Array]) -> Self:
        """Return the same examples with other targets."""
        return replace(
            self, y_train=changed(self.y_train), y_validation=changed(self.y_validation), y_test=changed(self.y_test)
        )

    @property
    def to_fit(self) -> tuple[Array, Array, Array, Array]:
        """What an estimator trains on and chooses on."""
        return self.X_train, self.y_train, self.X_validation, self.y_validation

    @property
    def held_out(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Examples and labels of the validation and of the test part."""
        return (self.X_validation, self.y_validation), (self.X_test, self.y_test)


def _are_numbers(y: Array) -> bool:
    """Return whether targets are numbers, else classes."""
    return bool(np.issubdtype(y.dtype, np.floating))


def split(data: Dataset, seed: int) -> Parts:
    """Return the source's own train, validation and test parts, or half, a quarter and a quarter at random.

    The random parts have the classes in equal shares.
    """
    X = data.X.astype(np.float64) if np.isnan(data.X).any() else data.X  # float32 with gaps scikit-learn must write to
    if data.split is not None and set(np.unique(data.split)) == {0, 1, 2}:
        return Parts.of_rows(X, data.y, (data.split == part for part in range(3)))
    half, quarter = data.y.size // 2, (data.y.size + 1) // 2 // 2
    return split_parts(X, data.y, (half, quarter, data.y.size - half - quarter), seed)


def split_parts(X: Array, y: Array, sizes: tuple[int, int, int], seed: int) -> Parts:
    """Draw so many train, validation and test examples, each class in proportion where there are classes.

    Raises
    ------
    ValueError
        There are too few examples, in all or of a class, or a part is smaller than the number of classes.
    """
    train, validation, test = sizes
    if _are_numbers(y):
        if min(sizes) < MIN_OF_CLASS:
            raise ValueError(
                f"data: expected parts of at least {MIN_OF_CLASS} examples, got {', '.join(map(str, sizes))} to train, "
                "to choose and to test on"
            )
        order = np.random.RandomState(seed).permutation(y.size)
        return Parts.of_rows(X, y, np.split(order[: sum(sizes)], [train, train + validation]))
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < MIN_OF_CLASS:
        raise ValueError(
            f"data: expected at least {MIN_OF_CLASS} examples of each class, to train, to choose and to test on, got "
            f"{counts.min()} of class {classes[counts.argmin()]}"
        )
    if min(sizes) < classes.size:
        raise ValueError(
            f"data: expected parts of at least {classes.size} examples, one of each class, got "
            f"{', '.join(map(str, sizes))} to train, to choose and to test on"
        )
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=train, stratify=y, random_state=seed)
    X_validation, X_test, y_validation, y_test = train_test_split(
        X_rest, y_rest, train_size=validation, test_size=test, stratify=y_rest, random_state=seed
    )
    return Parts(X_train, y_train, X_validation, y_validation, X_test, y_test)


def half_and_quarters(X: Array, y: Array, seed: int, most: tuple[int, int, int] | None = None) -> Parts:
    """Draw half, a quarter and a quarter of the examples, as float64, and no more than so many of each."""
    sizes = [int(share * y.size) for share in (0.5, 0.25, 0.25)]
    train, validation, test = sizes if most is None else map(min, sizes, most)
    return split_parts(X.astype(np.float64), y, (train, validation, test), seed)


def train_and_split(data: Dataset, n_trees: int, seed: int, max_features: str | None = "sqrt") -> tuple[Forest, Parts]:
    """Split the data and train a random forest on the first part."""
    parts = split(data, seed)
    estimator = RandomForestClassifier(n_trees, max_features=max_features, random_state=seed)
    return Forest.from_sklearn(estimator.fit(parts.X_train, parts.y_train)), parts
