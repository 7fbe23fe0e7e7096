"""What `fit` was given, and what of it an estimator inside another is told."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.examples import Labelled, other_than_numbers, weights_for
from ipforest._internal.feature_names import column_labels, known_to_scikit_learn
from ipforest.estimator.model import BudgetedModel

__all__ = ["Given", "check_inner_estimator", "for_inner", "seeded"]

SEEDS = np.iinfo(np.int32).max


class Given(NamedTuple):
    """What `fit` was given, and how it was parted.

    Parameters
    ----------
    table : array or DataFrame, shape (n_samples, n_features)
        The examples as they came.
    examples : Labelled
        All of them, checked.
    rows : ndarray of int64
        Those trained on, ascending.
    held_out : ndarray of int64
        Those held out, ascending; all where others were given for that.
    is_weighted : bool
        Whether weights were given.
    random : RandomState
        As drawing the parts left it.
    groups : ndarray, shape (n_samples,), or None
        Examples of one group are in one part.
    groups_held_out : ndarray of int64, shape (n_held_out,), or None
        Numbers of the groups of the examples held out, if they are known.
    """

    table: Any
    examples: Labelled
    rows: IntArray
    held_out: IntArray
    is_weighted: bool
    random: np.random.RandomState
    groups: Array | None
    groups_held_out: IntArray | None

    def for_inner(self, estimator: Any) -> dict[str, Any]:
        """Give the weights, and the groups if it holds out examples itself, of what an inner estimator is trained on.

        Raises
        ------
        ValueError
            There are weights, and it takes none.
        """
        return for_inner(estimator, self.weight_to_train, self.groups_to_train)

    @property
    def weight_to_train(self) -> FloatArray | None:
        """What the examples trained on weigh, shape (n_training,), if weights were given."""
        return self.examples.weight[self.rows] if self.is_weighted else None

    @property
    def groups_to_train(self) -> Array | None:
        """The groups of the examples trained on, shape (n_training,)."""
        return None if self.groups is None else self.groups[self.rows]

    @property
    def table_to_train(self) -> Any:
        """The examples trained on, those of a data frame as they came, for models that know columns by their names."""
        table = known_to_scikit_learn(self.table)
        if column_labels(table) is None:
            return self.examples.X[self.rows]
        if self.rows.size < self.examples.y.size:
            table = _safe_indexing(table, self.rows)
        return _with_plain_columns(table) if isinstance(table, pd.DataFrame) else table


def _with_plain_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Write the columns of Arrow's types, and numbers that are objects, as LightGBM and XGBoost know them."""
    turned = {}
    for place, dtype in enumerate(frame.dtypes):
        column, of_arrow = frame.iloc[:, place], isinstance(dtype, pd.ArrowDtype)
        if of_arrow and not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            turned[place] = column.astype(object).astype("category")
        elif of_arrow or (pd.api.types.is_object_dtype(dtype) and other_than_numbers(column).empty):
            turned[place] = column.astype(object).mask(column.isna(), np.nan).astype(np.float64)
    frame = frame.copy(deep=False) if turned else frame
    for place, column in turned.items():
        frame.isetitem(place, column)
    return frame


def for_inner(estimator: Any, weight: FloatArray | None, groups: Array | None) -> dict[str, Any]:
    """Give what an inner estimator is told about the examples that it is trained on; see `Given.for_inner`."""
    takes_groups = groups is not None and isinstance(estimator, BudgetedModel)
    return weights_for(estimator, weight) | ({"groups": groups} if takes_groups else {})


def seeded(estimator: Any, random_state: Any) -> Any:
    """Copy an estimator to be trained inside another, and seed what has no seed, if the other one has one.

    Parameters
    ----------
    estimator : estimator
    random_state : int, RandomState instance or None
        Of the other one.

    Returns
    -------
    estimator
        Not fitted; seeds of its own, and of what is inside it, are as they were.
    """
    copied = clone(estimator)
    if random_state is not None:
        random, params = check_random_state(random_state), copied.get_params()
        seeds = [name for name in sorted(params) if name.rpartition("__")[2] == "random_state"]
        copied.set_params(**{name: random.randint(SEEDS) for name in seeds if params[name] is None})
    return copied


def check_inner_estimator(outer: Any, inner: Any) -> None:
    """Require of an estimator inside another that it brings all prices, and asks for nothing that the outer one drops.

    Raises
    ------
    ValueError
        Prices on the outer estimator; a split cost, class costs or a cap on the inner one.
    """
    if outer.feature_costs is not None:
        raise ValueError("feature_costs: expected none with an estimator that has its own, got a value")
    if getattr(inner, "split_cost", 0) != 0:
        raise ValueError(f"estimator: expected one without split_cost, got {inner.split_cost!r}")
    kind = type(outer).__name__
    if inner.class_costs is not None:
        raise ValueError(f"class_costs: expected it on {kind}, whose labels go by it, got it on the estimator")
    if inner.max_cost is not None:
        raise ValueError(f"max_cost: expected it on {kind}, whose sessions keep it, got it on the estimator")
