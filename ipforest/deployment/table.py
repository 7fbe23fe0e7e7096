"""How the columns of a table become the numbers that a model sees, as plain data: categories, numbers, gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer

from ipforest._internal.arrays import one_line
from ipforest.ensemble.categories import as_number, ways_of_saying
from ipforest.tabular.preprocessing import categories_of
from ipforest.wrappers.pipeline import BudgetedPipeline
from ipforest.wrappers.table_columns import TableColumns

ITSELF = "itself"
"""Stands for a number that stays as it is."""


def table_of(model: BudgetedPipeline, inner: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Describe how a pipeline computes what its estimator sees, as ``schema.json`` says.

    Each category that an encoder knows, one that it does not know, and a gap are given to the pipeline. ``inner`` has
    the categories that the estimator knows itself, of features that are handed on to it; see `features_alone`.

    Raises
    ------
    ValueError
        A column is computed by another transformer than encoders of categories and imputers of single columns.
    """
    known = _categories(model)
    sources = model.sources_.tolist()
    columns = model.table_columns
    codings: dict[str, dict[str, Any]] = {}
    for column in sorted(set(sources)):
        codings |= _codings(columns, column, known[column], inner)
    return {"columns": [*columns.names], "source": sources, "codings": codings}


def features_alone(n_features: int, categories: Mapping[int, Sequence[Any]]) -> dict[str, Any]:
    """Describe features that are given themselves, as ``schema.json`` says, some of them by the names of categories.

    A number stands for a name that says it, and a text for a number that it says. Any other number is itself that of a
    category if no name says a number.
    """
    codings = {}
    for feature, names in categories.items():
        ways = ways_of_saying(names)
        others = "nan" if any(isinstance(as_number(name), float) for name in names) else ITSELF
        coding = {"names": [*ways], "numbers": [*ways.values()], "missing": "nan", "others": others}
        codings[str(feature)] = coding
    features = [*range(n_features)]
    return {"columns": features, "source": features, "codings": codings}


def _codings(
    columns: TableColumns, column: int, names: Sequence[Any], inner: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Describe what is computed from one column, feature by feature."""
    cells = [*ways_of_saying(names)] if names else []
    told = [_computed(columns, column, cell) for cell in cells]
    missing, others = _computed(columns, column, None), None
    if names and not isinstance(getattr(columns.row, "dtypes", {}).get(columns.name(column)), pd.CategoricalDtype):
        others = _computed(columns, column, _unknown_to(names))
    return {
        str(feature): inner[str(feature)]
        if not names and str(feature) in inner
        else {
            "names": [_plain(cell) for cell in cells],
            "numbers": [None if each is None else _written(each[feature]) for each in told],
            "missing": None if missing is None else _written(missing[feature]),
            "others": ITSELF if not names else None if others is None else _written(others[feature]),
        }
        for feature in np.flatnonzero(columns.sources == column).tolist()
    }


def _computed(columns: TableColumns, column: int, cell: Any) -> dict[int, Any] | None:
    """Compute what the model sees of a cell; None where the preparation refuses it."""
    try:
        return columns.computed({column: cell})
    except (TypeError, ValueError):
        return None


def _unknown_to(names: Sequence[Any]) -> Any:
    """Make up a category that is none of these."""
    if all(isinstance(name, str) for name in names):
        return "".join(names) + "?"
    return max(name for name in names if not isinstance(name, str)) + 1


def _written(number: float | None) -> float | str:
    """Write NaN as a text, which `float` reads in Python."""
    return "nan" if number is None or isnan(number) else number


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _categories(model: BudgetedPipeline) -> list[list[Any]]:
    """List the categories that each column has in an encoder, none for columns of numbers that stay as they are.

    Raises
    ------
    ValueError
        Another transformer computes a column.
    """
    found = []
    for column, known in enumerate(categories_of(model.preprocessing_, model.n_features_in_, _require_number_or_gap)):
        if any(names != known[0] for names in known):
            raise ValueError(f"preprocessing_: expected one part to take column {column}, got several")
        found.append(known[0] if known else [])
    return found


def _require_number_or_gap(transformer: Any) -> None:
    """Refuse a transformer that is none of those that leave numbers as they are, or fill gaps."""
    is_identity = isinstance(transformer, FunctionTransformer) and transformer.func is None
    fills_gaps = isinstance(transformer, SimpleImputer) and pd.isna(transformer.missing_values)
    if not is_identity and not (fills_gaps and not transformer.add_indicator):
        raise ValueError(
            "preprocessing_: expected encoders of categories, imputers of single columns without indicators and "
            f"columns that stay as they are, which an export holds, got {one_line(repr(transformer))}; write the "
            "estimator_ of the pipeline, and give the model what preprocessing_ computes"
        )
