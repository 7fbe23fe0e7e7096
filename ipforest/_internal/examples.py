"""Examples and labels as users bring them, checked before scikit-learn turns them into arrays."""

from __future__ import annotations

from collections import Counter
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

from ipforest._internal.arrays import refuse_masked
from ipforest.feature_names import column_labels, column_names, require_columns_of_training

NO_LABELS = "no_validation"
FLOATS = (np.float64, np.float32)


def validated(estimator: Any, X: Any, y: Any = NO_LABELS, *, reset: bool = True, **options: Any) -> Any:
    """Check examples, and labels or targets, as scikit-learn's ``validate_data`` does; refuse what it would misread.

    Column labels that are no texts, which scikit-learn does not keep, are remembered as ``_column_labels``.

    Parameters
    ----------
    estimator : estimator
    X : array or DataFrame, shape (n_samples, n_features)
    y : array, shape (n_samples,), optional
    reset : bool, default=True
        Whether these are the examples to train on, whose columns are to be remembered.
    options
        As for ``validate_data``; floats are kept as float32 or float64 unless a ``dtype`` is given.

    Returns
    -------
    ndarray, or tuple of ndarray
        X, or X and y.

    Raises
    ------
    TypeError
        Entries are masked.
    ValueError
        Columns of words or dates, a column name twice, labels of different types, columns that are numbered in
        another order than they stand in or labelled otherwise than in training, or what ``validate_data`` refuses.
    """
    for values, name in ((X, "X"), (y, "y")):
        refuse_masked(values, name)
    if reset or not _are_other_columns(X, estimator):  # else the names are refused below
        _require_numbers(X, estimator)
    if is_classifier(estimator) and not isinstance(y, str):
        _require_one_type(y)
    labels = _other_labels(X)
    if labels is not None:
        require_columns_of_training(X, None, "X")
    checked = validate_data(estimator, X, y, reset=reset, **{"dtype": FLOATS, **options})
    if reset:
        estimator._column_labels = labels
    elif labels is not None:
        _require_labels(labels, getattr(estimator, "_column_labels", None) or labels)
    return checked


def _are_other_columns(X: Any, estimator: Any) -> bool:
    """Return whether the names of columns are not those of training."""
    names, trained = column_names(X), getattr(estimator, "feature_names_in_", None)
    return names is not None and trained is not None and names != tuple(map(str, trained))


def _require_labels(labels: tuple[str, ...], trained: tuple[str, ...]) -> None:
    for place, (label, expected) in enumerate(zip(labels, trained, strict=True)):
        if label != expected:
            raise ValueError(
                f"X: expected the columns of training in their order, got {label} in place {place} where {expected} was"
            )


def _other_labels(X: Any) -> tuple[str, ...] | None:
    """Return the labels of columns that are no texts, as texts; None for texts, and for numbers that count them."""
    labels = column_labels(X)
    if labels is None or all(isinstance(label, str) for label in labels) or isinstance(labels, pd.RangeIndex):
        return None
    return tuple(map(str, labels))


def _require_numbers(X: Any, estimator: Any) -> None:
    """Refuse tables with columns of words or dates, or two of one name, and say what takes them."""
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise ValueError(f"X: expected a table, got a {type(X).__name__} that is still to be computed; use X.collect()")
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(frame, pd.DataFrame):
        return
    for name, count in Counter(frame.columns).items():
        if count > 1:
            raise ValueError(f"X: expected each column once, got {name!r} {count} times; rename the columns")
    for name, column in frame.items():
        cells = column if pd.api.types.is_datetime64_any_dtype(column.dtype) else other_than_numbers(column)
        if not cells.empty:
            raise ValueError(
                f"X: expected numbers, got {cells.iloc[0]!r} in column {name!r}; {_advice(name, estimator)}"
            )


def other_than_numbers(column: pd.Series) -> pd.Series:
    """Return the cells of a column that are neither numbers nor missing."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.iloc[:0]
    cells = column.dropna()
    return cells[~cells.map(_is_number).astype(bool)]


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _advice(column: Any, estimator: Any) -> str:
    """Say how a column of words becomes one of numbers."""
    name = type(estimator).__name__
    if hasattr(estimator, "categorical_features"):
        return (
            f"with categorical_features='from_dtype', words are taken from a column of dtype 'category', as in "
            f"X.astype({{{column!r}: 'category'}})"
        )
    return (
        f"encode words before, as in BudgetedPipeline(make_column_transformer((OneHotEncoder(), [{column!r}]), "
        f"remainder='passthrough'), {name}(...), feature_costs=...), use BudgetForest or BudgetBoost with columns of "
        "dtype 'category', or `ipforest fit` on a file"
    )


def _require_one_type(y: Any) -> None:
    """Refuse labels that are texts and numbers, which have no order."""
    labels = np.asarray(y)
    if labels.dtype != object or labels.ndim != 1:
        return
    texts = [label for label in labels if isinstance(label, str)]
    others = [label for label in labels if isinstance(label, Number) and label == label]
    if texts and others:
        raise ValueError(
            f"y: expected labels of one type, got {others[0]!r} and {texts[0]!r}; write all of them as texts, or "
            "all as numbers"
        )
