"""What mistakes cost: a matrix with a row for each true class and a column for each predicted one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import Array, FloatArray, IntArray, one_line, places_in
from ipforest._internal.delimited import RECOGNISED, CsvFormat
from ipforest._internal.feature_names import column_labels, in_pandas
from ipforest._internal.json_text import read_json
from ipforest.walks.labels import label_places

__all__ = [
    "TOTAL_COST",
    "class_costs_of_file",
    "costs_of",
    "label_losses",
    "price_of_a_mistake",
    "read_class_cost_file",
    "read_class_costs",
    "weighted_labels",
]

TOTAL_COST = "total cost"
"""What ``scoring`` is for the least sum of cost and loss, in place of the least loss within the budget."""


def read_class_costs(class_costs: Any, classes: Array) -> FloatArray:
    """Read what predicting a class costs where another, or the same, is true.

    Parameters
    ----------
    class_costs : array, DataFrame, mapping of mappings, or path
        A matrix in the order of the classes; or with names: ``{true: {predicted: cost}}``, or a data frame whose index
        has the true classes and whose columns the predicted ones. What is left out of a mapping costs 0 where the class
        is right. A frame of Polars or Arrow has the true classes in its first column, or as many rows as columns, in
        one order. Names are matched to classes as they are, or as text (1 and 1.0 are the same). A path is read by
        `read_class_cost_file`.
    classes : ndarray, shape (n_classes,)

    Returns
    -------
    ndarray of float64, shape (n_classes, n_classes)

    Raises
    ------
    ValueError
        Another shape, costs that are not finite numbers >= 0, a class that is unknown or left out.
    """
    if isinstance(class_costs, Path) or (isinstance(class_costs, str) and Path(class_costs).is_file()):
        return class_costs_of_file(class_costs, classes)
    if not isinstance(class_costs, pd.DataFrame) and column_labels(class_costs) is not None:
        class_costs = _with_rows_named(in_pandas(class_costs))
    if isinstance(class_costs, Mapping):
        matrix = _from_mapping(class_costs, classes)
    elif isinstance(class_costs, pd.DataFrame):
        matrix = _from_frame(class_costs, classes)
    else:
        matrix = _numbers(class_costs)
    expected = (len(classes), len(classes))
    if matrix.shape != expected:
        raise ValueError(f"class_costs: expected shape {expected}, a row per true class, got {matrix.shape}")
    if not np.all(np.isfinite(matrix) & (matrix >= 0)):
        raise ValueError("class_costs: expected finite numbers >= 0, got other values")
    return matrix


def class_costs_of_file(path: str | Path, classes: Array, form: CsvFormat = RECOGNISED) -> FloatArray:
    """Read class costs from a file as a matrix; see `read_class_cost_file` and `read_class_costs`."""
    named = read_class_cost_file(path, form)
    try:
        return read_class_costs(named, classes)
    except ValueError as problem:
        raise ValueError(f"{path}: {str(problem).removeprefix('class_costs: ')}") from None


def _with_rows_named(costs: pd.DataFrame) -> pd.DataFrame:
    """Name the rows of a frame without an index: by its first column, or as the columns where there are as many."""
    first = costs.columns[0]
    return costs.set_axis(costs.columns) if len(costs) == costs.shape[1] else costs.set_index(first)


def _numbers(costs: Any) -> FloatArray:
    try:
        return np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        hint = ", which is no file" if isinstance(costs, str) else ""
        raise ValueError(f"class_costs: expected a matrix of numbers, got {one_line(repr(costs)):.80}{hint}") from None


def _from_mapping(costs: Mapping[Any, Any], classes: Array) -> FloatArray:
    matrix = np.full((len(classes), len(classes)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    for true, row in costs.items():
        if not isinstance(row, Mapping):
            raise ValueError(f"class_costs: expected {{true: {{predicted: cost}}}}, got {row!r:.80} for {true!r}")
        for predicted, cost in row.items():
            matrix[_place(true, classes), _place(predicted, classes)] = _numbers(cost)
    absent = np.argwhere(np.isnan(matrix))
    if absent.size:
        true, predicted = (classes[place] for place in absent[0])
        raise ValueError(f"class_costs: expected what predicting {predicted} costs where {true} is true, got nothing")
    return matrix


def _from_frame(costs: pd.DataFrame, classes: Array) -> FloatArray:
    numbers = _numbers(costs)
    rows = dict(zip(costs.index.tolist(), numbers.tolist(), strict=True))
    columns = costs.columns.tolist()
    if len(rows) < len(costs) or len(set(columns)) < len(columns):
        raise ValueError("class_costs: expected one row and one column for each class, got a class twice")
    named = {true: dict(zip(columns, row, strict=True)) for true, row in rows.items()}
    return _from_mapping(named, classes)


def _place(name: Any, classes: Array) -> int:
    """Find a class by its label, or by a text that says the same."""
    from ipforest.tabular.name_matching import matched_labels

    labels: list[Any] = list(classes.tolist())
    if name in labels:
        return labels.index(name)
    texts = [str(label) for label in labels]
    found = matched_labels([str(name)], texts)
    if not found:
        raise ValueError(f"class_costs: expected classes among {', '.join(texts)}, got {name!r}")
    return texts.index(found[str(name)])


def read_class_cost_file(path: str | Path, form: CsvFormat = RECOGNISED) -> dict[str, dict[str, float]]:
    """Read class costs from a file as the mapping that `read_class_costs` takes.

    Parameters
    ----------
    path : path
        ``.json``: ``{true: {predicted: cost}}``. Else a table with a header: true classes in the first column, a column
        for each predicted class.
    form : CsvFormat
        How a table is written, as far as it is known.

    Raises
    ------
    ValueError
        It is neither, or names a class twice.
    OSError
        It cannot be read.
    """
    from ipforest.tabular.tables import numbers_of, read_cells

    source = Path(path)
    if source.suffix == ".json":
        try:
            content = read_json(source.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
        except ValueError as problem:
            raise ValueError(f"{source}: expected class costs in JSON, got: {one_line(problem)}") from None
        if not isinstance(content, dict):
            raise ValueError(f"{source}: expected {{true: {{predicted: cost}}}}, got {type(content).__name__}")
        return content
    cells = read_cells(source, form=form)
    if cells.shape[1] < 2:
        raise ValueError(
            f"{source}: expected true classes in the first column and a column for each predicted, got one"
        )
    try:
        numbers = numbers_of(cells.iloc[:, 1:], str(source), form).to_numpy(dtype=np.float64)
    except ValueError as problem:
        meant = "the first column names true classes, and each other one holds what predicting its class costs"
        raise ValueError(f"{problem}; {meant}") from None
    rows = [dict(zip(cells.columns[1:], row, strict=True)) for row in numbers.tolist()]
    try:
        return _once(list(zip(cells.iloc[:, 0], rows, strict=True)))
    except ValueError as problem:
        raise ValueError(f"{source}: {problem}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError(f"expected each class once, got {', '.join(name for name, _ in pairs)}")
    return named


def costs_of(class_costs: FloatArray, classes: Array, y: npt.ArrayLike, predicted: npt.ArrayLike) -> FloatArray:
    """Look up what each prediction costs, shape (n_samples,).

    Raises
    ------
    ValueError
        A label is no class, or there are more or fewer than predictions.
    """
    true, answered = places_in(classes, y), places_in(classes, predicted)
    if true.shape != answered.shape:
        raise ValueError(f"y: expected {answered.size} labels, one per example, got shape {true.shape}")
    return class_costs[true, answered]


def label_losses(outputs: FloatArray, y: npt.ArrayLike, classes: Array, class_costs: FloatArray | None) -> FloatArray:
    """Compute what labels lose: 1 for a wrong one, or what it costs, shape (n_samples,).

    Parameters
    ----------
    outputs, class_costs
        See `ipforest.walks.labels.label_places`.
    y : array, shape (n_samples,)
        The true classes.
    classes : ndarray, shape (n_classes,)
    """
    labels = classes[label_places(outputs, class_costs)]
    if class_costs is None:
        return np.asarray(labels != np.asarray(y), dtype=np.float64)
    return costs_of(class_costs, classes, y, labels)


def weighted_labels(costs: npt.ArrayLike, classes: npt.ArrayLike) -> tuple[IntArray, Array, FloatArray]:
    """Write costs that differ from example to example as labels with weights, for what takes ``sample_weight``.

    Example i becomes one labelled example for each class j that is not its most expensive one, of weight
    ``max(costs[i]) - costs[i, j]``. Then the weighted number of wrong labels is what predictions cost, up to a sum that
    does not depend on them: for two classes there is one label for each example, the cheaper one, weighted by how much
    cheaper it is.

    Parameters
    ----------
    costs : array, shape (n_samples, n_classes)
        What predicting each class costs for each example; a right answer may cost something, too.
    classes : array, shape (n_classes,)

    Returns
    -------
    rows : ndarray of int64, shape (n,)
        The example of each label, ascending. Examples for which all classes cost the same have none.
    labels : ndarray, shape (n,)
    weight : ndarray of float64, shape (n,)

    Raises
    ------
    ValueError
        Another shape, costs that are not finite numbers >= 0, or no difference in any row.

    Notes
    -----
    Abe, Zadrozny, Langford, "An Iterative Method for Multi-class Cost-sensitive Learning", KDD 2004, section 2.
    """
    matrix, names = _numbers(costs), np.asarray(classes)
    if matrix.ndim != 2 or matrix.shape[1] != names.size:
        raise ValueError(f"costs: expected shape (n_samples, {names.size}), a column a class, got {matrix.shape}")
    if not np.isfinite(matrix).all() or matrix.min(initial=0) < 0:
        raise ValueError("costs: expected finite numbers >= 0, got other values")
    saved = matrix.max(axis=1, keepdims=True) - matrix
    rows, places = np.nonzero(saved)
    if rows.size == 0:
        raise ValueError("costs: expected examples for which classes cost different amounts, got none")
    return rows.astype(np.int64), names[places], saved[rows, places]


def price_of_a_mistake(class_costs: FloatArray) -> float:
    """Return what mistakes cost on average over all pairs of classes, 1 if they cost nothing."""
    n_classes = len(class_costs)
    mean = float(class_costs[~np.eye(n_classes, dtype=bool)].mean()) if n_classes > 1 else 0.0
    return mean or 1.0
