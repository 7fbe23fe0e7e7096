"""From the columns that trees see back to the columns that are bought: one-hot columns of one feature are one purchase.

A forest behind a scikit-learn `Pipeline` or `ColumnTransformer` tests columns that were computed from others. Prices
belong to the columns of the user's table, so each computed column needs whatever its inputs cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, vstack
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import KNNImputer
from sklearn.impute._iterative import IterativeImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, OrdinalEncoder

from ipforest._internal.arrays import IntArray, one_line

__all__ = ["categories_of", "input_columns", "source_columns"]

MIXING = (IterativeImputer, KNNImputer, Normalizer, TfidfTransformer)
"""Transformers that name each output after one input, but compute it from all."""

APART = "in a ColumnTransformer give each column a transformer of its own"


def source_columns(transformer: Any, n_inputs: int) -> IntArray:
    """Return which input each output column of a fitted transformer is computed from, for `FeatureCosts.for_columns`.

    Parameters
    ----------
    transformer : fitted transformer
    n_inputs : int

    Returns
    -------
    ndarray of int64, shape (n_outputs,)

    Raises
    ------
    ValueError
        A column is computed from several inputs, so that it is no single purchase.
    """
    matrix = input_columns(transformer, n_inputs)
    counts = np.diff(matrix.indptr)
    if np.any(counts != 1):
        column = int(np.argmax(counts != 1))
        raise ValueError(
            f"transformer: expected each column to be computed from one feature, got column {column} from "
            f"{counts[column]}; {APART}, or leave such columns out, or price them yourself"
        )
    sources: IntArray = matrix.indices.astype(np.int64)
    return sources


def input_columns(transformer: Any, n_inputs: int) -> csr_array:
    """Return which columns of its input each output column of a fitted transformer is computed from.

    Parameters
    ----------
    transformer : fitted transformer
        `Pipeline`, `ColumnTransformer` and `FeatureUnion` are followed into their parts. Other transformers are asked
        for the names of their outputs: an output named after inputs (one-hot, polynomial, binned columns) is computed
        from these, any other (principal components) from all; so is each of a transformer in `MIXING`. One that says
        itself which input each output comes from (``output_to_input_``, names by names, as skrub's ``TableVectorizer``)
        is believed.
    n_inputs : int

    Returns
    -------
    csr_array of bool, shape (n_outputs, n_inputs)

    Raises
    ------
    TypeError
        A transformer does not name its outputs.
    """
    if transformer is None or transformer == "passthrough":
        return csr_array(eye_array(n_inputs, dtype=bool))
    if isinstance(transformer, Pipeline):
        return _through_steps([step for _, step in transformer.steps], n_inputs)
    if isinstance(transformer, ColumnTransformer):
        return _through_columns(transformer, n_inputs)
    if isinstance(transformer, FeatureUnion):
        parts = [step for _, step in transformer.transformer_list if step != "drop"]
        return csr_array(vstack([input_columns(part, n_inputs) for part in parts]))
    if hasattr(transformer, "output_to_input_"):
        return _by_what_it_says(transformer, n_inputs)
    return _by_output_names(transformer, n_inputs)


def _through_steps(steps: list[Any], n_inputs: int) -> csr_array:
    identity = csr_array(eye_array(n_inputs, dtype=bool))
    return reduce(lambda known, step: csr_array(input_columns(step, known.shape[0]) @ known), steps, identity)


def _through_columns(transformer: ColumnTransformer, n_inputs: int) -> csr_array:
    blocks = {}
    for name, step, columns in transformer.transformers_:
        place = transformer.output_indices_[name]
        if place.start == place.stop:
            continue
        chosen = column_numbers(transformer, columns, n_inputs)
        selection = csr_array(eye_array(n_inputs, dtype=bool))[chosen]
        of_one = csr_array(np.ones((place.stop - place.start, 1), dtype=bool))  # whatever their names
        blocks[place.start] = csr_array((of_one if len(chosen) == 1 else input_columns(step, len(chosen))) @ selection)
    return csr_array(vstack([blocks[start] for start in sorted(blocks)]))


def column_numbers(transformer: ColumnTransformer, columns: Any, n_inputs: int) -> list[int]:
    """Return the numbers of the columns that a part of a fitted transformer takes, however they are told."""
    names = list(getattr(transformer, "feature_names_in_", ()))
    if isinstance(columns, str):
        columns = [columns]
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        first = names.index(start) if isinstance(start, str) else start
        end = names.index(stop) + 1 if isinstance(stop, str) else stop
        return list(range(n_inputs))[first:end]
    numbers = np.asarray(columns)
    if numbers.dtype == bool:
        return np.flatnonzero(numbers).tolist()
    place = {name: number for number, name in enumerate(names)}
    return [place[column] if isinstance(column, str) else int(column) for column in numbers.ravel().tolist()]


def _by_what_it_says(transformer: Any, n_inputs: int) -> csr_array:
    place = {name: number for number, name in enumerate(transformer.feature_names_in_)}
    columns = [place[transformer.output_to_input_[name]] for name in transformer.get_feature_names_out()]
    ones, rows = np.ones(len(columns), dtype=bool), np.arange(len(columns) + 1)
    return csr_array((ones, np.array(columns, dtype=np.int64), rows), shape=(len(columns), n_inputs))


def _by_output_names(transformer: Any, n_inputs: int) -> csr_array:
    """Ask a nameless copy for the names of its outputs, given inputs with names that nothing else contains."""
    if not hasattr(transformer, "get_feature_names_out"):
        raise TypeError(
            f"transformer: expected one that names its outputs (get_feature_names_out), so that each can be priced, "
            f"got {type(transformer).__name__}; a FunctionTransformer does with feature_names_out='one-to-one'"
        )
    nameless = copy(transformer)
    if hasattr(nameless, "feature_names_in_"):
        del nameless.feature_names_in_
    try:
        outputs = nameless.get_feature_names_out([f"<<{column}>>" for column in range(n_inputs)])
    except (AttributeError, TypeError, ValueError) as problem:
        raise TypeError(
            f"transformer: expected one that names its outputs after any names of inputs, got "
            f"{type(transformer).__name__}, which does not: {one_line(problem)}; {APART}"
        ) from problem
    inputs = [[int(number) for number in re.findall(r"<<(\d+)>>", str(name))] for name in outputs]
    rows = [range(n_inputs) if isinstance(transformer, MIXING) else found or range(n_inputs) for found in inputs]
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    indices = np.array([column for row in rows for column in row], dtype=np.int64)
    return csr_array((np.ones(indices.size, dtype=bool), indices, indptr), shape=(len(rows), n_inputs))


def categories_of(transformer: Any, n_inputs: int, check: Callable[[Any], None]) -> list[list[list[Any]]]:
    """List, for each column, the categories that each part of a fitted transformer knows of it; none of numbers.

    Parameters
    ----------
    transformer : fitted transformer, or None
    n_inputs : int
    check : callable (transformer)
        Called with each part that is no encoder of categories, and that changes what it takes.

    Returns
    -------
    list of list of list
        Missing values are no categories.
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return [[[]] for _ in range(n_inputs)]
    if isinstance(transformer, ColumnTransformer):
        found: list[list[list[Any]]] = [[] for _ in range(n_inputs)]
        for _, step, columns in transformer.transformers_:
            if isinstance(step, str) and step == "drop":
                continue
            chosen = column_numbers(transformer, columns, n_inputs)
            for column, known in zip(chosen, categories_of(step, len(chosen), check), strict=True):
                found[column] += known
        return found
    if isinstance(transformer, Pipeline):
        steps = [categories_of(step, n_inputs, check) for _, step in transformer.steps]
        return [next(filter(any, of_column), [[]]) for of_column in zip(*steps, strict=True)]
    if isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        return [[[name for name in names if name is not None and name == name]] for names in transformer.categories_]
    check(transformer)
    return [[[]] for _ in range(n_inputs)]
