"""Examples held out to choose on: parted from the others, or given, and then checked against them."""

from __future__ import annotations

import warnings
from math import ceil
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_line
from ipforest._internal.examples import as_targets, checked_weight, require_rows_in_order
from ipforest._internal.feature_names import known_to_scikit_learn

__all__ = [
    "Brought",
    "check_alike",
    "check_held_out",
    "check_validation_part",
    "checked_groups",
    "checked_labels",
    "classes_of",
    "folds_of_groups",
    "require_held_out",
    "split_rows",
]


OUTSIDE_SHARE = 0.5
"""Share of held-out examples from which on values far outside the training range of a feature are refused."""


MAX_WIDTHS_OUTSIDE = 0.5
"""How far beyond the training range, in widths of it, values are far outside: those of later times may lie beyond."""


BY_CHANCE = 1e-6
"""Held-out examples of the same distribution are refused with at most this probability."""


def split_rows(
    y: Array,
    held_out: Any,
    random_state: Any,
    *,
    one_of_each_class: bool,
    groups: Array | None = None,
    X: Any = None,
    name: str = "validation_fraction",
) -> tuple[IntArray, IntArray]:
    """Part rows into those to train on and those held out: at random, by groups, or as a splitter does.

    Parameters
    ----------
    y : ndarray, shape (n_samples,)
    held_out : float, splitter of scikit-learn, or None
        Share of the rows, or of the groups, to hold out, rounded up; a splitter, whose first split is taken; with None
        all rows are in both parts.
    random_state : int, RandomState instance or None
    one_of_each_class : bool
        Whether one example of each class of y is always trained on.
    groups : ndarray, shape (n_samples,), optional
        Rows of one group stay together.
    X : array, shape (n_samples, n_features), optional
        For a splitter that looks at it.
    name : str
        The parameter that ``held_out`` is, for the error message.

    Returns
    -------
    training, held_out : ndarray of int64
        Ascending row numbers.

    Raises
    ------
    ValueError
        The share is not between 0 and 1, there are no rows to spare, no example of a class is trained on, or a splitter
        of groups has none.
    """
    everything = np.arange(y.shape[0])
    if held_out is None:
        return everything, everything
    check_held_out(held_out)
    if groups is not None or hasattr(held_out, "split"):
        training, validation = _first_split(y, held_out, random_state, groups, X)
        lacking = np.setdiff1d(y, y[training]) if one_of_each_class else np.empty(0)
        if lacking.size:
            raise ValueError(
                f"{name if groups is None else 'groups'}: expected examples of each class to train on, got none of "
                f"{lacking.tolist()[0]!r}; use a splitter that stratifies, such as StratifiedGroupKFold"
            )
        return training, validation
    order = check_random_state(random_state).permutation(everything)
    first_of_class = np.unique(y[order], return_index=True)[1] if one_of_each_class else [0]
    free = np.delete(order, first_of_class)
    if free.size == 0:
        each = ", each of another class; take a regressor for numbers," if y.shape[0] > 1 else ";"
        raise ValueError(
            f"X: too few examples for a validation part, got n_samples = {y.shape[0]}{each} "
            "give fit held-out examples, or set validation_fraction to None"
        )
    validation = np.sort(free[: ceil(held_out * y.shape[0])])
    return np.setdiff1d(everything, validation), validation


def _takes_groups(splitter: Any) -> bool:
    """Tell whether a splitter of scikit-learn asks for groups, without which it may say anything."""
    wants = getattr(splitter, "get_metadata_routing", None)
    return wants is not None and wants().split.requests.get("groups") is True


def _first_split(y: Array, held_out: Any, random_state: Any, groups: Array | None, X: Any) -> tuple[IntArray, IntArray]:
    splitter = held_out
    if not hasattr(held_out, "split"):
        splitter = GroupShuffleSplit(1, test_size=held_out, random_state=random_state)
    elif groups is None and _takes_groups(splitter):
        kind = type(splitter).__name__
        raise ValueError(f"groups: expected those of the examples, by which {kind} holds some out, got None")
    parts = next(iter(splitter.split(y if X is None else X, y, groups)))
    training, validation = (np.sort(np.asarray(part, dtype=np.int64)) for part in parts)
    return training, validation


class Brought(NamedTuple):
    """Examples as they were brought, X any table, with targets (n_samples,), groups and weights if there are any."""

    X: Any
    y: Array
    groups: Array | None = None
    weight: FloatArray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, groups: Any, sample_weight: Any) -> Self:
        """Check what belongs to the examples."""
        X = known_to_scikit_learn(X)
        require_rows_in_order(X, y)
        X, targets = indexable(X, column_or_1d(y, warn=True))
        weight = None if sample_weight is None else checked_weight(sample_weight, X, targets)
        return cls(X, targets, checked_groups(groups, X, targets.size), weight)

    def rows(self, rows: IntArray) -> Self:
        """Take some of them."""
        belonging = (None if each is None else each[rows] for each in (self.groups, self.weight))
        return type(self)(_safe_indexing(self.X, rows), self.y[rows], *belonging)


def checked_groups(groups: Any, X: Any, n_samples: int) -> Array | None:
    """Check the groups of the examples X, as they came.

    Returns
    -------
    ndarray, shape (n_samples,), or None
        None where none were given.

    Raises
    ------
    ValueError
        Another number of groups than examples, or the rows of X in another order.
    """
    if groups is None:
        return None
    require_rows_in_order(X, groups, "groups")
    labels = np.asarray(groups)
    if labels.shape not in ((n_samples,), (n_samples, 1)):
        raise ValueError(f"groups: expected one for each of {n_samples} examples, got shape {labels.shape}")
    missing = pd.isna(labels)
    if missing.any():
        place = int(missing.argmax())
        raise ValueError(f"groups: expected one for each example, got none in place {place}; give it one of its own")
    return labels.ravel()


def folds_of_groups(y: Array, groups: Array, n_folds: int, random: Any = None, *, classify: bool) -> IntArray:
    """Deal groups out to folds of about as many examples, for classes of about the same shares of them.

    Parameters
    ----------
    y, groups : ndarray, shape (n_samples,)
    n_folds : int
        Fewer where there are fewer groups.
    random : RandomState, optional
        Shuffles the groups.
    classify : bool
        Whether y are classes.

    Returns
    -------
    ndarray of int64, shape (n_samples,)
        The fold of each example.

    Raises
    ------
    ValueError
        There is one group only.
    """
    n_groups = np.unique(groups).size
    if n_groups < 2:
        raise ValueError("groups: expected two or more among the examples to train on, as cross-fitting does, got one")
    kind = StratifiedGroupKFold if classify else GroupKFold
    splitter = kind(min(n_folds, n_groups), shuffle=random is not None, random_state=random)
    fold = np.empty(y.size, dtype=np.int64)
    for number, (_, here) in enumerate(splitter.split(y, y, groups)):
        fold[here] = number
    return fold


def classes_of(targets: Array, least: int = 2) -> Array:
    """Return the sorted classes that labels are of, so many or more.

    Raises
    ------
    ValueError
        The labels are continuous, or of fewer classes.
    """
    check_classification_targets(targets)
    classes: Array = np.unique(targets)
    if classes.size < least:
        raise ValueError(f"y: expected at least 2 classes, got {classes.size} class")
    return classes


def require_held_out(validation_fraction: object, X_val: object) -> None:
    """Require a share of the examples to hold out where no validation examples are given.

    Raises
    ------
    ValueError
        There would be nothing to choose on but what the models were trained on.
    """
    if validation_fraction is None and X_val is None:
        raise ValueError(
            "validation_fraction: expected a number between 0 and 1, got None without X_val; models that are chosen "
            "or stopped by the examples they were trained on lose more on others, and exceed the budget"
        )


def check_held_out(value: object) -> None:
    """Require of ``validation_fraction`` what `split_rows` takes."""
    is_splitter = callable(getattr(value, "split", None)) and not isinstance(value, str)
    if not is_splitter and value is not None and not (isinstance(value, Real) and 0 < float(value) < 1):
        raise ValueError(f"validation_fraction: expected None or a number between 0 and 1, got {one_line(repr(value))}")


def check_validation_part(X_val: object, y_val: object) -> None:
    """Require validation examples with their labels, or neither."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val: expected X_val and y_val together, got one of them")


def checked_labels(y: object, X: Array, classes: Array | None, name: str = "y_val") -> Array:
    """Check the labels of held-out examples, or their targets for regression.

    Parameters
    ----------
    y : array, shape (n_samples,)
    X : ndarray, shape (n_samples, n_features)
    classes : ndarray or None
        Those of training; None for regression.
    name : str
        What is checked, for the error message.

    Returns
    -------
    ndarray, shape (n_samples,)

    Raises
    ------
    ValueError
        Another shape or number, labels that are none of the classes, or targets that are no finite numbers.
    """
    labels: Array = column_or_1d(y, warn=True)
    if labels.size != X.shape[0]:
        raise ValueError(f"{name}: expected {X.shape[0]} values, one per example, got {labels.size}")
    if classes is None:
        targets = as_targets(labels, name)
        if not np.isfinite(targets).all():
            raise ValueError(f"{name}: expected finite numbers, got {targets[~np.isfinite(targets)][0]}")
        return targets
    unknown = set(labels.tolist()).difference(classes.tolist())
    if unknown:
        raise ValueError(f"{name}: expected labels among the classes of training, got {min(unknown, key=str)!r}")
    return labels


def check_alike(examples: Array, training: Array, name: str) -> None:
    """Require held-out examples on the scale of those trained on: a pipeline may have transformed only the latter.

    Parameters
    ----------
    examples, training : ndarray, shapes (n, n_features) and (n_training, n_features)
    name : str
        The parameter that has the examples, for the error message.

    Raises
    ------
    ValueError
        Most examples lie far outside the range of training in a column, and more than chance explains. In examples of
        one distribution in random order, the k most extreme values are all held out with a probability of at most
        (k + 1) prod_i (m - i) / (n + m - i), i < k, where m of n + m are held out.
    """
    held_out = examples.astype(training.dtype) if training.dtype.kind == "f" else examples
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column may be missing throughout
        low, high = (end(training, axis=0).astype(np.float64) for end in (np.nanmin, np.nanmax))
    beyond = MAX_WIDTHS_OUTSIDE * (high - low) + 1e-6 * np.maximum(np.abs(low), np.abs(high))
    n_outside = ((held_out < low - beyond) | (held_out > high + beyond)).sum(axis=0)
    n_held_out, n_training = (~np.isnan(held_out)).sum(axis=0), (~np.isnan(training)).sum(axis=0)
    share = n_outside / np.maximum(n_held_out, 1)
    for column in np.flatnonzero(share > OUTSIDE_SHARE).tolist():
        drawn = np.arange(n_outside[column])
        chances = (n_held_out[column] - drawn) / (n_held_out[column] + n_training[column] - drawn)
        if (drawn.size + 1) * chances.prod() * share.size < BY_CHANCE:
            raise ValueError(
                f"{name}: expected examples like those of X, got {share[column]:.0%} of them far outside the range of "
                f"X in column {column} ({low[column]:.4g} to {high[column]:.4g}); a Pipeline transforms {name} only "
                f"with Pipeline(transform_input=['{name}']) and metadata routing"
            )
