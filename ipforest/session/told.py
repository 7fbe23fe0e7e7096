"""Reading what sessions are told: values, and which of them could not be had."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import Array, BoolArray
from ipforest._internal.examples import DATES
from ipforest._internal.feature_names import column_names, in_pandas
from ipforest.session.seller import Unit

__all__ = [
    "Known",
    "cells_of_unit",
    "plain_cell",
    "require_column_order",
    "told_by_unit",
    "told_features",
    "told_of_unit",
    "without_absent",
]

Known: TypeAlias = Mapping[Any, Any]


def told_features(known: Known | None) -> Iterable[tuple[Any, Any]]:
    """Return features and what is known of them."""
    if known is None:
        return ()
    if not hasattr(known, "items"):
        raise TypeError(f"known: expected a mapping of features to values, got {type(known).__name__}")
    return known.items()


def told_by_unit(
    asked: Sequence[Unit], value: Any, column: Callable[[Any], int], name: Callable[[int], str]
) -> dict[Unit, dict[int, Any]]:
    """Part what is told of one example among the units of a round; what is no mapping is told of the first one.

    Parameters
    ----------
    asked : sequence of Unit
    value : mapping from features to values, sequence of values, or a value
        None stands for each feature of a unit.
    column, name : callables
        Find the column of a feature, and the name of a column for messages.

    Returns
    -------
    dict
        What is told of the features of each unit, by column and in their order.

    Raises
    ------
    ValueError
        A feature is of none of the units, the mapping is empty, or a unit has other features, more or fewer.
    """
    if not isinstance(value, Mapping) or len(asked) == 1:
        return {asked[0]: _told_cells(asked[0], value, column, name)}
    unit_of = {feature: unit for unit in asked for feature in unit.features}
    parts: dict[Unit, dict[Any, Any]] = {}
    for feature, one in value.items():
        unit = unit_of.get(column(feature))
        if unit is None:
            raise ValueError(f"round: expected values of {', '.join(map(str, asked))}, got {feature!r}")
        parts.setdefault(unit, {})[feature] = one
    if not parts:
        raise ValueError(f"round: expected values of {', '.join(map(str, asked))}, got none")
    return {unit: _told_cells(unit, part, column, name) for unit, part in parts.items()}


def _told_cells(unit: Unit, value: Any, column: Callable[[Any], int], name: Callable[[int], str]) -> dict[int, Any]:
    if isinstance(value, pd.Series):
        value = value.astype(object).where(value.notna(), np.nan)
        if sorted(map(str, value.index)) == sorted(map(name, unit.features)):
            value = value.to_dict()
    if isinstance(value, Mapping):
        told = {column(feature): one for feature, one in value.items()}
        if set(told) != set(unit.features):
            expected = ", ".join(map(name, unit.features))
            raise ValueError(f"{unit}: expected values of {expected}, got {', '.join(map(str, value))}")
        return {feature: told[feature] for feature in unit.features}
    if value is None:
        return dict.fromkeys(unit.features)
    several = isinstance(value, (list, tuple, np.ndarray, pd.Series)) and np.ndim(value) > 0
    values = list(value) if several else [value]
    if len(values) != len(unit.features):
        raise ValueError(f"{unit}: expected {len(unit.features)} values, got {len(values)}")
    return dict(zip(unit.features, values, strict=True))


def require_column_order(unit: Unit, names: Sequence[str], values: Any) -> None:
    """Require the features of a unit in their order, where what was told names its columns.

    Parameters
    ----------
    unit : Unit
    names : sequence of str
        The features of the unit.
    values : array or DataFrame

    Raises
    ------
    ValueError
        The columns are the features in another order: by position they would get each other's values.
    """
    found = column_names(values) or ()
    if found != tuple(names) and sorted(found) == sorted(names):
        raise ValueError(f"{unit}: expected the columns {', '.join(names)} in this order, got {', '.join(found)}")


def told_of_unit(unit: Unit, shape: tuple[int, int], values: npt.ArrayLike) -> tuple[Array, BoolArray]:
    """Read what was told of a unit, and what of it could not be had, both of shape (n_rows, n_features_of_the_unit).

    Raises
    ------
    ValueError
        The values are of another shape, or dates.
    """
    told, absent = cells_of_unit(unit, shape, values)
    if told.dtype.kind in "mM":
        raise ValueError(f"{unit}: expected numbers, got dtype {told.dtype}; {DATES}")
    return told, absent


def cells_of_unit(unit: Unit, shape: tuple[int, int], values: npt.ArrayLike) -> tuple[Array, BoolArray]:
    """Read cells of any type that were told of a unit, as `told_of_unit` reads numbers.

    Raises
    ------
    ValueError
        The cells are of another shape.
    """
    try:
        told, absent = without_absent(values)
    except ValueError:
        raise ValueError(_wrong_shape(unit, shape, "rows of different lengths")) from None
    if told.shape != shape and (shape[1] != 1 or told.shape != shape[:1]):
        if inspect.isawaitable(values):
            got = "a coroutine, which predict_on_demand_async awaits"
        elif told.ndim == 0:
            got = "None (a fetch without return?)" if values is None else repr(values)
        else:
            got = f"shape {told.shape}"
        raise ValueError(_wrong_shape(unit, shape, got))
    return told.reshape(shape), absent.reshape(shape)


def _wrong_shape(unit: Unit, shape: tuple[int, int], got: str) -> str:
    vector = f" or ({shape[0]},)" if shape[1] == 1 else ""
    return f"{unit}: expected values of shape {shape}{vector}, a row for each of the examples, got {got}"


def without_absent(values: npt.ArrayLike) -> tuple[Array, BoolArray]:
    """Part values into an array, NaN where they could not be had, and a mask of these: None and masked entries.

    A missing cell of a data frame or series is NaN, None too: it was had, and is missing, as in a table.

    Raises
    ------
    ValueError
        The rows are of different lengths.
    """
    values = in_pandas(values)
    if isinstance(values, pd.DataFrame | pd.Series):
        cells = np.asarray(values)
        cells = np.where(values.isna(), np.nan, cells) if cells.dtype == object else cells
        return cells, np.zeros(cells.shape, dtype=bool)
    told = np.ma.asarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
    absent, cells = np.ma.getmaskarray(told), np.ma.getdata(told)
    if cells.dtype == object:
        absent = absent | np.asarray(np.frompyfunc(lambda cell: cell is None, 1, 1)(cells), dtype=bool)
    return (np.where(absent, np.nan, cells) if absent.any() else cells), absent


def plain_cell(cell: Any) -> Any:
    """Write a cell as a file holds it; None where it is missing, or an empty text."""
    if pd.isna(cell) or cell == "":
        return None
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return plain if isinstance(plain, str | int | float) else str(plain)
