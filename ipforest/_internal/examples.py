"""Examples and labels as users bring them, checked before scikit-learn turns them into arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter, validate_data

from ipforest._internal.arrays import Array, BoolArray, FloatArray, refuse_masked, rounding
from ipforest._internal.callers import warn_caller
from ipforest._internal.feature_names import (
    column_labels,
    column_names,
    in_pandas,
    known_to_scikit_learn,
    refuse_lazy,
    require_columns_of_training,
)

NO_LABELS = "no_validation"
FLOATS = (np.float64, np.float32)
MAX_TARGET = 1e140
"""Squares of larger targets, or their sums, may be infinite."""
SMALL_VARIANCE = 100 * np.finfo(np.float64).eps
"""Trees of scikit-learn hardly split targets that vary less, as they split no node whose variance is below epsilon."""
LARGEST_WEIGHT = 1e100
"""Products of larger weights, or of positive ones below its inverse, are no floats."""

ONE_TARGET = "train a model of each by scikit-learn's MultiOutputClassifier or MultiOutputRegressor around it"
MOMENTS = date, time, timedelta, pd.Period
DATES = "give dates and durations as numbers, such as days since a day"


class Labelled(NamedTuple):
    """Examples, targets and weights, as `ipforest.losses.node_errors` takes them."""

    X: Array
    y: Array
    weight: Array

    def rows(self, chosen: Array) -> Labelled:
        """Take some of the examples."""
        return Labelled(self.X[chosen], self.y[chosen], self.weight[chosen])

    @property
    def weight_unless_equal(self) -> Array | None:
        """The weights for what takes ratios of them; None where they are all the same."""
        return None if np.all(self.weight == self.weight[:1]) else self.weight

    def with_relative_weights(self) -> Labelled:
        """Weigh examples in units of the mean of weights above 0, for what adds constants to sums of weights."""
        counted = self.weight[self.weight > 0]
        return self._replace(weight=self.weight / counted.mean()) if counted.size else self


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
        No table of numbers, see `refuse_other_tables`.
    ValueError
        Columns of words or dates, a column name twice, labels that are missing or of different types, targets whose
        squares are infinite, rows of X and y in different orders, columns that are numbered in another order than they
        stand in or labelled otherwise than in training, or what ``validate_data`` refuses.
    """
    brought, X = X, known_to_scikit_learn(X)
    refuse_other_tables(X, "X")
    if isinstance(X, np.ndarray) and np.iscomplexobj(X):
        raise ValueError(f"X: expected real numbers, got dtype {X.dtype}. Complex data not supported")
    refuse_masked(y, "y")
    _require_one_target(y)
    require_rows_in_order(X, y)
    if reset or not _are_other_columns(X, estimator):  # else the names are refused below
        categories = getattr(estimator, "categories_", None)
        X = with_nan(X if categories is None else categories.numbers(X))
        _require_numbers(X, estimator, brought)
    if is_classifier(estimator) and not isinstance(y, str):
        require_one_type(y)
    if is_regressor(estimator) and (targets := np.asarray(y)).ndim and targets.dtype.kind != "c":
        _require_each(targets, "target")
        as_targets(targets, "y")
    labels = _other_labels(X)
    if labels is not None:
        require_columns_of_training(X, None, "X")
    with largest_named(X):
        checked = validate_data(estimator, X, y, reset=reset, **{"dtype": FLOATS, **options})
    if isinstance(checked, tuple) and is_regressor(estimator):
        _require_squares(checked[1])
        if isinstance(estimator, MetaEstimatorMixin):
            _warn_of_small_variance(checked[1])
    if reset:
        estimator._column_labels = labels
    elif labels is not None:
        _require_labels(labels, getattr(estimator, "_column_labels", None) or labels)
    return checked


@contextmanager
def largest_named(X: Any, names: Sequence[str] | None = None) -> Iterator[None]:
    """Name the column where scikit-learn refuses examples in the block, as one is infinite or too large.

    Parameters
    ----------
    X : array or DataFrame, shape (n_samples, n_features)
    names : sequence of str, shape (n_features,), optional
        The columns of an array.
    """
    try:
        yield
    except ValueError as problem:
        if not str(problem).startswith("Input X contains infinity") or "in column" in str(problem):
            raise
        sizes = pd.DataFrame(in_pandas(X)).apply(pd.to_numeric, errors="coerce").abs().max()
        column = sizes.idxmax() if names is None else names[int(np.argmax(sizes))]
        where = f"The largest is in column {column!r}; NaN stands for a missing value."
        raise ValueError(f"{problem} {where}") from None


@contextmanager
def numbered_labels() -> Iterator[None]:
    """Say what to do where XGBoost refuses labels in the block, as they are not 0, 1, 2 and so on."""
    try:
        yield
    except ValueError as problem:
        if not str(problem).startswith("Invalid classes inferred"):
            raise
        raise ValueError(f"{problem}; number the labels: y = np.unique(y, return_inverse=True)[1]") from None


def require_held(values: Array, dtype: npt.DTypeLike, name: str, columns: Sequence[Any] | None = None) -> None:
    """Refuse numbers that are infinite, or too large for the type in which a model compares them.

    Parameters
    ----------
    values : ndarray of float
    dtype : dtype
    name : str
        What they are, for the error message.
    columns : sequence, optional
        Names of the columns of a table, of which the message has the first with such a number; else there is none.

    Raises
    ------
    ValueError
        There is such a number.
    """
    with rounding():
        is_beyond = np.isinf(values.astype(dtype, copy=False))
    if is_beyond.any():
        where = "" if columns is None else f" in column {columns[int(np.argmax(is_beyond.any(axis=0)))]!r}"
        kind = np.dtype(dtype).name
        raise ValueError(f"{name}: expected finite {kind} values or NaN, got an infinite or too large one{where}")


def _require_one_target(y: Any) -> None:
    """Refuse several targets, or the columns of a one-hot code, and say what takes them."""
    shape = () if isinstance(y, str) or issparse(y) else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(f"y: expected one target per example, a 1d array, got shape {shape}; {ONE_TARGET}")


def refuse_other_tables(X: Any, name: str) -> None:
    """Refuse what libraries misread as a table of numbers, or refuse without saying what to do.

    Parameters
    ----------
    X : object
    name : str
        What it is, for the error message.

    Raises
    ------
    TypeError
        Entries are masked, X is sparse, a mapping or a list of mappings, a text, None, or an array of records or dates.
    ValueError
        X has one dimension.
    """
    refuse_masked(X, name)
    if issparse(X):
        raise TypeError(
            f"{name}: expected a dense array, got a sparse matrix; call its toarray() if what is not stored is 0, "
            "as for scikit-learn, LightGBM and CatBoost; for XGBoost it is missing: NaN has to stand in its place"
        )
    if isinstance(X, pd.DataFrame) and any(isinstance(dtype, pd.SparseDtype) for dtype in X.dtypes):
        raise TypeError(
            f"{name}: expected dense columns, got sparse ones; {name}.sparse.to_dense() fills in what they leave out"
        )
    if X is None or isinstance(X, str):
        raise TypeError(f"{name}: expected a table, got {X!r:.60}; a file is read first, as by pandas.read_csv")
    if isinstance(X, list) and X and isinstance(X[0], Mapping):
        raise TypeError(
            f"{name}: expected a table, got a list of {type(X[0]).__name__}s, a row each; use pandas.DataFrame({name})"
        )
    if isinstance(X, Mapping):
        raise TypeError(f"{name}: expected a table, got a {type(X).__name__} of columns; use pandas.DataFrame({name})")
    kind = X.dtype.kind if isinstance(X, np.ndarray) else ""
    if kind == "V":
        raise TypeError(f"{name}: expected a table of numbers, got an array of records; use pandas.DataFrame({name})")
    if kind == "T":
        raise TypeError(f"{name}: expected numbers, got dtype {X.dtype}; use {name}.astype(float) if texts are numbers")
    if kind in ("M", "m"):
        raise TypeError(f"{name}: expected numbers, got dtype {X.dtype}; {DATES}")
    if getattr(X, "ndim", 2) == 1:
        raise ValueError(
            f"{name}: expected 2 dimensions (n_samples, n_features), got 1. Reshape your data: one feature by "
            "reshape(-1, 1), one example by reshape(1, -1)"
        )


def checked_weight(sample_weight: Any, X: Any, examples: Array) -> FloatArray:
    """Return the weight of each example, 1 by default, shape (n_samples,).

    Parameters
    ----------
    sample_weight : array or None, shape (n_samples,)
    X : array or DataFrame
        The examples as the user gave them.
    examples : ndarray, shape (n_samples, n_features)
        The same, checked.

    Raises
    ------
    ValueError
        Weights that are negative, missing, for other examples, in another order than the rows of X, or so large or
        small that sums of their squares are no floats.
    """
    require_rows_in_order(X, sample_weight, "sample_weight")
    weight: FloatArray = _check_sample_weight(sample_weight, examples, dtype=np.float64, ensure_non_negative=True)
    extreme = weight[(weight > LARGEST_WEIGHT) | ((weight > 0) & (weight < 1 / LARGEST_WEIGHT))]
    if extreme.size:
        raise ValueError(
            f"sample_weight: expected 0 or numbers between {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, got "
            f"{extreme[0]:g}; only their ratios count"
        )
    return weight


def weights_for(model: Any, weight: FloatArray | None) -> dict[str, FloatArray]:
    """Give weights as a model's ``fit`` takes them.

    Raises
    ------
    ValueError
        It takes none.
    """
    if weight is None:
        return {}
    if not has_fit_parameter(model, "sample_weight"):
        kind = type(model).__name__
        raise ValueError(f"sample_weight: expected none with {kind}, whose fit takes no weights, got weights")
    return {"sample_weight": weight}


def require_rows_in_order(X: Any, values: Any, name: str = "y") -> None:
    """Require the rows of a data frame and what belongs to them in one order, where both label the same rows.

    Parameters
    ----------
    X : array or DataFrame
    values : array, Series or DataFrame
    name : str
        What the values are, for the error message.

    Raises
    ------
    ValueError
        The same labels stand in another order, so that by position examples get the targets or weights of others; or
        the values are still to be computed.
    """
    refuse_lazy(values, name, "a value for each row of X")
    if not isinstance(X, pd.DataFrame) or not isinstance(values, pd.Series | pd.DataFrame):
        return
    rows, others = X.index, values.index
    if len(rows) != len(others) or rows.equals(others) or not (rows.is_unique and others.is_unique):
        return
    if rows.isin(others).all():
        place = int(np.argmax(rows != others))
        (row,), (other,) = (labels[place : place + 1].tolist() for labels in (rows, others))
        raise ValueError(
            f"{name}: expected the rows of X in their order, got {other!r} in place {place} where X has {row!r}; "
            f"use {name}.loc[X.index], or {name}.to_numpy() if they are in order by position"
        )


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


def with_nan(X: Any) -> Any:
    """Write pandas' NA among objects as NaN, which scikit-learn takes for missing; other examples stay as they are."""
    if isinstance(X, np.ndarray) and X.dtype == object:
        return np.where(_is_na(X), np.nan, X)
    dtypes = X.dtypes if isinstance(X, pd.DataFrame) else ()
    objects = [column for column, dtype in enumerate(dtypes) if isinstance(dtype, np.dtype) and dtype.kind == "O"]
    gaps = {column: _is_na(X.iloc[:, column].to_numpy()) for column in objects}
    if not any(each.any() for each in gaps.values()):
        return X
    frame = X.copy(deep=False)
    for column, is_gap in gaps.items():
        frame.isetitem(column, frame.iloc[:, column].mask(is_gap, np.nan))
    return frame


def _is_na(cells: Array) -> BoolArray:
    return np.reshape([cell is pd.NA for cell in cells.ravel()], cells.shape)


def _require_numbers(X: Any, estimator: Any, brought: Any) -> None:
    """Refuse tables with columns of words or dates, or two of one name; say what takes them as they were brought."""
    frame = in_pandas(X)
    if not isinstance(frame, pd.DataFrame):
        frame = _words(frame)
    elif not len(frame.columns):
        raise ValueError("X: expected a column at least, got a table without columns")
    names = frame.columns.tolist()
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"X: expected each column once, got {name!r} {count} times; rename the columns")
    of = pd.api.types
    are_real = {kind: of.is_numeric_dtype(kind) and not of.is_complex_dtype(kind) for kind in set(frame.dtypes)}
    odd: dict[Any, Any] = {}
    for place in np.flatnonzero([not are_real[dtype] for dtype in frame.dtypes]).tolist():
        name, column = names[place], frame.iloc[:, place]
        if np.iscomplexobj(column):
            raise ValueError(
                f"X: expected real numbers, got complex ones in column {name!r}. Complex data not supported"
            )
        cells = column if pd.api.types.is_datetime64_any_dtype(column.dtype) else other_than_numbers(column)
        if not cells.empty:
            odd[name] = cells.iloc[0]
    if odd:
        name, cell = next(iter(odd.items()))
        words = [each for each, of_it in odd.items() if not isinstance(of_it, MOMENTS)]
        advice = _advice(brought, words, estimator) if name in words else DATES
        raise ValueError(f"X: expected numbers, got {cell!r} in column {name!r}; {advice}")


def _words(X: Any) -> pd.DataFrame:
    """Take the columns of an array, or of lists, that hold a text which is no number, or a date."""
    cells = np.asarray(X) if isinstance(X, np.ndarray) or _holds_words(X) else np.empty((0, 0))
    if cells.dtype.kind not in "OU" or cells.ndim != 2:
        return pd.DataFrame()
    frame = pd.DataFrame(cells.astype(object))
    return frame[[name for name, column in frame.items() if _holds_words([other_than_numbers(column)])]]


def _holds_words(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and any(
        isinstance(cell, (str, *MOMENTS)) for row in rows if np.ndim(row) for cell in row
    )


def _require_squares(targets: Array) -> None:
    """Refuse targets that are no numbers, or whose squared error is none or 0."""
    numbers = as_targets(targets, "y")
    largest = float(np.abs(numbers).max(initial=0))
    if largest > MAX_TARGET:
        raise ValueError(
            f"y: expected targets of at most {MAX_TARGET:g}, whose squares can be summed, got {largest:g}; divide them"
        )
    spread = float(np.ptp(numbers)) if numbers.size else 0.0
    if 0 < spread < 1 / MAX_TARGET:
        raise ValueError(
            f"y: expected targets that differ by {1 / MAX_TARGET:g} at least, so that their squares are not 0, got "
            f"{spread:g}; multiply them"
        )


def _warn_of_small_variance(targets: Array) -> None:
    """Warn of targets that trees of scikit-learn, which may be inside, do not split."""
    numbers = as_targets(targets, "y")
    variance = float(np.var(numbers))
    if np.ptp(numbers) > 0 and variance < SMALL_VARIANCE:  # that of equal targets is what rounding leaves
        warn_caller(
            f"y: targets with a variance of {variance:.2g}; scikit-learn's trees split no node with one below "
            f"{np.finfo(np.float64).eps:.2g}: multiply them, as another unit does"
        )


def as_targets(targets: Array, name: str) -> FloatArray:
    """Return the targets of a regression as float64.

    Raises
    ------
    ValueError
        One of them is no number.
    """
    if targets.dtype.kind in "mM":
        raise ValueError(f"{name}: expected numbers, got dtype {targets.dtype}; {DATES}")
    try:
        return targets.astype(np.float64)
    except (TypeError, ValueError):
        word = next((each for each in targets.tolist() if not isinstance(each, Number)), targets[0])
        advice = "leave out the examples without a target" if word is pd.NA else "for labels take a classifier"
        expected = "expected numbers, as this estimator predicts numbers"
        raise ValueError(f"{name}: {expected}, got {word!r}; {advice}") from None


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


def _advice(X: Any, columns: list[Any], estimator: Any) -> str:
    """Say how columns of words become such of numbers."""
    name = type(estimator).__name__
    if hasattr(estimator, "categorical_features"):
        return (
            f"with categorical_features='from_dtype', words are taken from a column of dtype 'category', as in "
            f"{_as_category(X, columns)}"
        )
    return (
        f"encode words before, as in BudgetedPipeline(make_column_transformer((OneHotEncoder(), {columns!r}), "
        f"remainder='passthrough'), {name}(...), feature_costs=...), use BudgetForest or BudgetBoost with columns of "
        "dtype 'category', or `ipforest fit` on a file"
    )


def _as_category(X: Any, columns: list[Any]) -> str:
    """Write what makes columns of a table such of categories."""
    is_polars = hasattr(X, "with_columns")
    kinds = ", ".join(f"{column!r}: {'polars.Categorical' if is_polars else repr('category')}" for column in columns)
    if is_polars:
        return f"X.cast({{{kinds}}})"
    frame = "X.to_pandas()" if hasattr(X, "to_pandas") else "pandas.DataFrame(X)"
    return f"{frame}.astype({{{kinds}}})"


def _require_each(y: Array, what: str) -> None:
    """Refuse a missing label or target."""
    missing = pd.isna(y) if y.ndim == 1 else np.zeros(0, dtype=bool)
    if missing.any():
        place = int(missing.argmax())
        raise ValueError(
            f"y: expected a {what} for each example, got {y[place]} in place {place}; leave out the examples "
            f"without a {what}, as in X[y.notna()] and y[y.notna()]"
        )


def require_one_type(y: Any) -> None:
    """Refuse labels that are missing, and texts with numbers, which have no order."""
    labels = np.asarray(y)
    if labels.dtype.kind == "T":
        raise ValueError(f"y: expected an array of texts or objects, got dtype {labels.dtype}; use y.astype(object)")
    _require_each(labels, "label")
    if labels.dtype != object or labels.ndim != 1:
        return
    texts = [label for label in labels if isinstance(label, str)]
    others = [label for label in labels if isinstance(label, Number) and label == label]
    if not texts and others:
        kinds = ", ".join(sorted({type(label).__name__ for label in others}))
        raise ValueError(
            f"y: expected an array of texts, integers or booleans, got objects of type {kinds} (Unknown label "
            "type); use y.astype(int), y.astype(bool) or y.astype(str)"
        )
    if texts and others:
        raise ValueError(
            f"y: expected labels of one type, got {others[0]!r} and {texts[0]!r}; write all of them as texts, or "
            "all as numbers"
        )
