"""Matching features by their names: columns of examples, prices, and what an ensemble was trained on."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

MOST_SHOWN = 3


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the column names of a data frame, or None for what has no names."""
    return _all_names(getattr(X, "columns", None))


def values_and_names(values: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Part a mapping or a pandas Series into values and names; None for what has no names.

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
        raise ValueError(f"prices: expected column numbers 0..{len(items) - 1} as keys, got {numbers}")
    return [items[numbers.index(column)] for column in range(len(items))], None


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

    Raises
    ------
    ValueError
        Columns are missing, unknown, or in another order.
    """
    if tuple(names) == tuple(expected):
        return
    positions_by_name(names, expected, f"{what}: expected the columns of training")
    place = next(place for place, pair in enumerate(zip(names, expected, strict=True)) if pair[0] != pair[1])
    raise ValueError(
        f"{what}: expected the columns in the order of training, got {names[place]!r} in place {place} where "
        f"{expected[place]!r} was; reorder them by {what}[list({training})]"
    )


def require_features_of(estimator: Any, n_features: int, names: Sequence[str] | None) -> None:
    """Require the features that a fitted estimator was trained on: their number, and their names where both have some.

    LightGBM writes a blank in a name as an underscore.

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
    """
    if n_features != estimator.n_features_in_:
        raise ValueError(f"X: expected {estimator.n_features_in_} columns as in training, got {n_features}")
    trained = getattr(estimator, "feature_names_in_", None)
    if names is not None and trained is not None:
        known = dict.fromkeys(map(str, trained))
        seen = [name if name in known else name.replace(" ", "_") for name in names]
        require_same_columns(seen, [*known], "X", "estimator.feature_names_in_")


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
    place = {name: position for position, name in enumerate(names)}
    if len(place) != len(names):
        twice = next(name for position, name in enumerate(names) if place[name] != position)
        raise ValueError(f"{problem}, each once, got {twice!r} twice")
    known = set(expected)
    unknown = [name for name in names if name not in known]
    missing = [name for name in expected if name not in place]
    if unknown or missing:
        faults = [f"unknown {_listed([_with_closest(name, expected) for name in unknown])}"] if unknown else []
        faults += [f"no {_listed([repr(name) for name in missing])}"] if missing else []
        raise ValueError(f"{problem}, got {' and '.join(faults)}")
    return [place[name] for name in expected]


def _with_closest(name: str, known: Sequence[str]) -> str:
    closest = get_close_matches(name, known, n=1)
    return f"{name!r} (closest: {closest[0]!r})" if closest else repr(name)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_SHOWN
    return ", ".join(names[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
