"""Matching features by their names: columns of examples, prices, and what an ensemble was trained on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from ipforest._internal.words import unbroken

MAX_SHOWN = 3
OWN_NAMES = {"feature_name_": "Column_{}", "feature_names_in_": "", "feature_names_": "{}"}
"""Where estimators keep the names of their columns, and how they number columns without names.

In this order: LightGBM, scikit-learn and XGBoost, CatBoost.
"""


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the column names of a data frame or an Arrow table, or None for what has no names."""
    return _all_names(column_labels(X))


def column_numbers(labels: Any) -> list[int] | None:
    """Read labels as the numbers of all columns, 0..n-1 in any order; None if they are something else.

    Labels that are texts are read, too, as the keys of JSON and the cells of CSV are texts.

    >>> column_numbers(["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"])
    [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> column_numbers([1, 2]), column_numbers(["a", "b"])
    (None, None)
    """
    if labels is None or callable(labels):
        return None
    numbers = [_column_number(label) for label in labels]
    return numbers if numbers and set(numbers) == set(range(len(numbers))) else None


def _column_number(label: Any) -> int:
    if isinstance(label, Integral) and not isinstance(label, bool | np.bool_):
        return int(label)
    return int(label) if isinstance(label, str) and label.isascii() and label.isdecimal() else -1


def column_of(feature: Any, names: Sequence[str], n_features: int) -> int | None:
    """Find the column of a feature that is given by its name or its number; None if there is none.

    >>> column_of("ldl", ["age", "ldl"], 2), column_of(0, ["age", "ldl"], 2), column_of(True, ["age", "ldl"], 2)
    (1, 0, None)
    """
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    is_number = isinstance(feature, Integral) and not isinstance(feature, bool | np.bool_)
    return int(feature) if is_number and 0 <= feature < n_features else None


def column_labels(X: Any) -> Any:
    """Return what labels the columns; the ``columns`` of an Arrow table are the data."""
    return X.column_names if hasattr(type(X), "column_names") else getattr(X, "columns", None)


def in_pandas(X: Any) -> Any:
    """Return a data frame of Polars or an Arrow table as one of pandas, and other tables as they are."""
    return X.to_pandas() if hasattr(X, "to_pandas") else X


def refuse_lazy(values: Any, name: str, expected: str) -> None:
    """Refuse a lazy frame of Polars, whose values are still to be computed.

    Raises
    ------
    ValueError
        It is one.
    """
    if hasattr(values, "collect") and hasattr(values, "lazy"):
        kind = type(values).__name__
        raise ValueError(
            f"{name}: expected {expected}, got a {kind} that is still to be computed; use {name}.collect()"
        )


def known_to_scikit_learn(X: Any, name: str = "X") -> Any:
    """Return a frame whose columns scikit-learn does not see, of narwhals, Arrow or Dask, as one whose it does.

    Columns of pandas in the byte order of another machine, of which pandas takes no rows, come in that of this one, and
    what is missing as NA, which encoders do not know, as NaN: texts as objects, numbers as floats. Other tables stay as
    they are; a lazy one of Polars is refused.
    """
    if hasattr(X, "to_native"):
        return known_to_scikit_learn(X.to_native(), name)
    refuse_lazy(X, name, "a table")
    if hasattr(X, "__dask_graph__") and column_labels(X) is not None:
        return X.compute()
    X = in_pandas(X) if hasattr(X, "column_names") else X
    return _with_known_columns(X) if isinstance(X, pd.DataFrame) else X


def _with_known_columns(frame: pd.DataFrame) -> pd.DataFrame:
    turned = {}
    for place, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, np.dtype):
            if not dtype.isnative:
                turned[place] = frame.iloc[:, place].astype(dtype.newbyteorder("="))
        elif dtype.na_value is pd.NA and frame.iloc[:, place].hasnans:
            column = frame.iloc[:, place]
            if dtype.type is str:
                turned[place] = column.astype(object).where(column.notna(), np.nan)
            elif pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
                turned[place] = pd.Series(column.to_numpy(np.float64, na_value=np.nan), column.index)
    frame = frame.copy(deep=False) if turned else frame
    for place, column in turned.items():
        frame.isetitem(place, column)
    return frame


def values_and_names(values: Any, what: str) -> tuple[Any, tuple[str, ...] | None]:
    """Part a mapping or a pandas Series into values and names; None for what has no names.

    Parameters
    ----------
    values : mapping, Series, or another object
    what : str
        What they are, for the error message.

    Raises
    ------
    ValueError
        Labels that are no names are not the numbers of all columns.
    """
    labels = values.keys() if isinstance(values, Mapping) else getattr(values, "index", None)
    if labels is None or callable(labels):
        return values, None
    items = list(values.values()) if isinstance(values, Mapping) else list(values)
    names = _all_names(labels)
    if names is not None or not items:
        return items, names
    numbers = list(labels)
    if sorted(numbers, key=str) != sorted(range(len(items)), key=str):
        raise ValueError(f"{what}: expected column numbers 0..{len(items) - 1} as keys, got {numbers}")
    return [items[place] for place in np.argsort(numbers).tolist()], None


def _all_names(labels: Any) -> tuple[str, ...] | None:
    """Take labels as names if all are strings (numbers are positions); a method called ``index`` is no labels."""
    if labels is None or callable(labels):
        return None
    names = tuple(labels)
    return tuple(map(str, names)) if names and all(isinstance(name, str) for name in names) else None


def checked_names(names: Iterable[object] | None, n_features: int) -> tuple[str, ...] | None:
    """Take the names of the features, one per feature, or None.

    Raises
    ------
    TypeError
        A name is no string.
    ValueError
        There are more or fewer names than features.
    """
    if names is None:
        return None
    taken = tuple(names)
    if len(taken) != n_features:
        raise ValueError(f"feature_names: expected {n_features} names, one per feature, got {len(taken)}")
    if not all(isinstance(name, str) for name in taken):
        raise TypeError(f"feature_names: expected strings, got {next(n for n in taken if not isinstance(n, str))!r}")
    return tuple(map(str, taken))


def require_same_columns(
    names: Sequence[str], expected: Sequence[str], what: str, training: str = "forest.feature_names"
) -> None:
    """Require the columns of training, in their order.

    Parameters
    ----------
    names, expected : sequence of str
    what : str
        What has the columns, for the error message.
    training : str
        Where the user finds those of training, for the error message.
    """
    written = as_in_training(names, expected)
    if written == list(expected):
        return
    positions_by_name(written, expected, f"{what}: expected the columns of training")
    place = next(place for place, pair in enumerate(zip(written, expected, strict=True)) if pair[0] != pair[1])
    how = f" by {what}[list({training})]" if written == list(names) else ""  # other spellings cannot select columns
    raise ValueError(
        f"{what}: expected the columns in the order of training, got {names[place]!r} in place {place} where "
        f"{expected[place]!r} was; reorder them{how}"
    )


def require_columns_of_training(X: object, expected: Sequence[str] | None, what: str) -> None:
    """Require the columns of training, in their order, as far as both sides have names or numbers of columns.

    Parameters
    ----------
    X : object
        Examples. Without names on one side, columns that are numbered 0..n-1 must be in order.
    expected : sequence of str or None
        The names of training.
    what : str
        What has the columns, for the error message.
    """
    names, numbers = column_names(X), column_numbers(column_labels(X))
    if names is not None and expected is not None:
        require_same_columns(names, expected, what)
    elif numbers is not None:
        in_order = [*range(len(numbers))] if expected is None else column_numbers(expected)
        if in_order is not None and numbers != in_order:
            place = next(place for place, pair in enumerate(zip(numbers, in_order, strict=False)) if len({*pair}) > 1)
            raise ValueError(
                f"{what}: expected columns that are numbered in the order of training, got number {numbers[place]} in "
                f"place {place}; reorder them, or give {what} as an array"
            )


def require_features_of(estimator: Any, n_features: int, names: Sequence[str] | None) -> None:
    """Require the features that a fitted estimator was trained on: their number, and their names where both have some.

    Parameters
    ----------
    estimator : fitted estimator
    n_features : int
        Number of columns of X.
    names : sequence of str, shape (n_features,), optional
        Their names.

    Raises
    ------
    ValueError
        Another number of columns, or columns that are missing, unknown, or in another order.
    TypeError
        The estimator does not tell how many it was trained on.
    """
    n_trained = getattr(estimator, "n_features_in_", None)
    if n_trained is None:
        raise TypeError(f"estimator: expected one with n_features_in_, got {type(estimator).__name__} without it")
    if n_features != n_trained:
        raise ValueError(f"X: expected {n_trained} columns as in training, got {n_features}")
    require_names_of(estimator, names)


def require_names_of(estimator: Any, names: Sequence[str] | None) -> None:
    """Require the columns that a fitted estimator was trained on, where both have names; see `require_features_of`."""
    attribute = next((name for name in OWN_NAMES if getattr(estimator, name, None) is not None), None)
    if names is None or attribute is None:
        return
    trained = [*map(str, getattr(estimator, attribute))]
    numbered = [OWN_NAMES[attribute].format(column) for column in range(len(trained))]
    if trained != numbered or set(names) == set(numbered):
        require_same_columns(names, trained, "X", f"estimator.{attribute}")


def as_in_training(names: Sequence[str], expected: Sequence[str]) -> list[str]:
    """Write names as training wrote them: LightGBM puts an underscore in place of a blank."""
    known = set(expected)
    underscored = [name.replace(" ", "_") for name in names]
    return [
        name if name in known or written not in known else written
        for name, written in zip(names, underscored, strict=True)
    ]


def places_by_number(
    labels: Sequence[str], features: Sequence[str] | None, n_features: int, problem: str
) -> list[int] | None:
    """Find where the price of each feature stands in a list that tells features by column number.

    Parameters
    ----------
    labels : sequence of str
        What the list calls its features; "0", "1", "10" are numbers of columns, unless these are the features' names.
    features : sequence of str, shape (n_features,), or None
        The names of the features, if they have names.
    n_features : int
    problem : str
        Beginning of the error message: what is being matched.

    Returns
    -------
    list of int, shape (n_features,), or None
        None if labels are names, to be matched with those of the features.

    Raises
    ------
    ValueError
        Labels are names, and the features have none.
    """
    numbers = column_numbers(labels)
    if numbers is not None and len(numbers) == n_features and {*labels} != {*([] if features is None else features)}:
        return [*map(int, np.argsort(numbers))]
    if features is None:
        raise ValueError(
            f"{problem}, by column number 0..{n_features - 1} or in the order of the columns, as the features have no "
            f"names; got a price of {labels[0]!r}"
        )
    return None


def positions_by_name(names: Sequence[str], expected: Sequence[str], problem: str) -> list[int]:
    """Find where each expected name stands among the names.

    Parameters
    ----------
    names, expected : sequence of str
    problem : str
        Beginning of the error message: what is being matched.

    Raises
    ------
    ValueError
        A name occurs twice, is unknown, or an expected one is missing; unknown names are told with the closest one.
    """
    names = as_in_training(names, expected)
    place = {name: position for position, name in enumerate(names)}
    if len(place) != len(names):
        twice = next(name for position, name in enumerate(names) if place[name] != position)
        raise ValueError(f"{problem}, each once, got {twice!r} twice")
    known = set(expected)
    unknown = [name for name in names if name not in known]
    missing = [name for name in expected if name not in place]
    if unknown or missing:
        faults = (
            [f"unknown {some_names(unknown, MAX_SHOWN, lambda name: _with_closest(name, expected))}"] if unknown else []
        )
        faults += [f"no {some_names(missing, MAX_SHOWN, repr)}"] if missing else []
        raise ValueError(f"{problem}, got {' and '.join(faults)}")
    return [place[name] for name in expected]


def _with_closest(name: str, known: Sequence[str]) -> str:
    closest = get_close_matches(name, known, n=1)
    return f"{name!r} (closest: {closest[0]!r})" if closest else repr(name)


def some_names(names: Sequence[str], at_most: int = 6, told: Callable[[str], str] = unbroken) -> str:
    """List names for a message, with the number of the others where there is no room for all."""
    more = len(names) - at_most
    return ", ".join(map(told, names[:at_most])) + (f" and {more} more" if more > 0 else "")
