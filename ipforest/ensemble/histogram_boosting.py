"""Read scikit-learn's HistGradientBoosting estimators."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import Categories, WholeCategories
from ipforest.ensemble.category_sets import Members
from ipforest.ensemble.joining import TreeNodes, join_trees
from ipforest.ensemble.library_checks import fields_of, require_known_parts, require_loss_of_training
from ipforest.ensemble.trees import LEAF

LINKS = {
    "log_loss": "logit",
    **dict.fromkeys(("squared_error", "absolute_error", "quantile"), "identity"),
    **dict.fromkeys(("poisson", "gamma"), "log"),
}
"""Link of each loss that is read."""

JUDGED = ("log_loss", "squared_error", "poisson")
"""Losses that are those of their link."""

NODE_FIELDS = frozenset(
    (
        *("value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "gain", "depth"),
        *("is_leaf", "bin_threshold", "is_categorical", "bitset_idx"),
    )
)
"""What a node of these trees holds, as far as it is read here."""


def read_histogram_boosting(estimator: Any) -> BoostedTrees:
    """Read a fitted HistGradientBoostingClassifier or HistGradientBoostingRegressor.

    Raises
    ------
    TypeError
        A loss that is not read, or categories that are no integers >= 0.
    """
    check_is_fitted(estimator)
    if estimator.loss not in LINKS:
        raise TypeError(f"model: expected a loss of {', '.join(LINKS)}, got {estimator.loss}")
    columns = _Columns(estimator)
    known = estimator._bin_mapper.make_known_categories_bitsets()
    trees = [_nodes(tree, columns, known) for stage in estimator._predictors for tree in stage]
    n_margins = estimator.n_trees_per_iteration_
    link = "multinomial logit" if n_margins > 1 else LINKS[estimator.loss]
    require_loss_of_training(estimator, link)
    return BoostedTrees(
        **join_trees(trees),
        n_features=int(estimator.n_features_in_),
        dtype=np.dtype(np.float64),
        feature_names=tuple(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else None,
        categories=trained_categories(estimator),
        first_output=np.tile(np.arange(n_margins), len(estimator._predictors)).astype(np.int32),
        base_score=np.asarray(estimator._baseline_prediction, dtype=np.float64).reshape(-1),
        classes=estimator.classes_ if isinstance(estimator, HistGradientBoostingClassifier) else None,
        link=link,
        loss=None if estimator.loss in JUDGED else estimator.loss,
    )


def trained_categories(estimator: Any) -> Categories:
    """Return the columns whose categories are words, intervals or dates; numbers stand for themselves."""
    if getattr(estimator, "_preprocessor", None) is None:
        return Categories()
    columns = np.flatnonzero(estimator.is_categorical_).tolist()
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    names = {
        column: _named_categories(pd.Index(known, dtype=object), column)
        for column, known in zip(columns, encoder.categories_, strict=True)
        if known.dtype.kind in "OMm" and not all(pd.isna(each) or isinstance(each, Real) for each in known)
    }
    return WholeCategories((*columns,), names)


def _named_categories(known: pd.Index, column: int) -> tuple[Any, ...]:
    """Take the categories of a column in their order; the encoder puts what it takes for missing last."""
    names = tuple(known.dropna())
    if known[: len(names)].hasnans:
        raise TypeError(
            f"model: expected missing cells apart from the categories of column {column}, got NaT as a category of its "
            "own, as scikit-learn takes it among periods; train it on words, such as column.astype(str)"
        )
    return names


class _Columns:
    """Which column of X each feature of the trees is, and which of its values, or places of words, each category.

    The estimator puts columns of categories first and numbers their values.
    """

    def __init__(self, estimator: Any) -> None:
        n_features = int(estimator.n_features_in_)
        self.column = np.arange(n_features)
        self.values: dict[int, FloatArray] = {}
        if estimator._preprocessor is None:
            return
        is_categorical = np.asarray(estimator.is_categorical_, dtype=bool)
        self.column = np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])
        encoder = estimator._preprocessor.named_transformers_["encoder"]
        words = trained_categories(estimator).names
        columns = self.column[: len(encoder.categories_)].tolist()
        self.values = {
            number: np.arange(len(words[column]), dtype=np.float64) if column in words else _codes(known)
            for number, (column, known) in enumerate(zip(columns, encoder.categories_, strict=True))
        }


def _codes(categories: Any) -> FloatArray:
    """Take the categories of a column as numbers, the missing one left out."""
    numbers = np.asarray(categories, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if np.any(numbers < 0) or np.any(numbers != np.rint(numbers)):
        raise TypeError(f"model: expected categories that are words or integers >= 0, got {numbers[:3].tolist()}")
    return numbers


def _nodes(tree: Any, columns: _Columns, known: tuple[Array, Array]) -> TreeNodes:
    nodes = tree.nodes
    require_known_parts(fields_of(nodes), NODE_FIELDS)
    is_leaf = nodes["is_leaf"].astype(bool)
    bitset_of_feature, place_of_feature = known[0], known[1]
    left_categories = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~is_leaf).tolist():
        feature = int(nodes["feature_idx"][node])
        left = _members(tree.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        seen = _members(bitset_of_feature[place_of_feature[feature]])
        goes_left = left | ~seen if nodes["missing_go_to_left"][node] else left
        left_categories[node] = _named(goes_left, columns.values[feature], bool(nodes["missing_go_to_left"][node]))
    return TreeNodes(
        left=np.where(is_leaf, LEAF, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, LEAF, nodes["right"].astype(np.int64)),
        feature=np.where(is_leaf, LEAF, columns.column[np.where(is_leaf, 0, nodes["feature_idx"])]),
        threshold=nodes["num_threshold"],
        missing_left=nodes["missing_go_to_left"],
        value=nodes["value"],
        cover=nodes["count"],
        left_categories=left_categories,
    )


def _members(bitset: Array) -> BoolArray:
    """Unpack a bitset of 256 categories."""
    return np.unpackbits(np.ascontiguousarray(bitset, dtype="<u4").view(np.uint8), bitorder="little").astype(bool)


def _named(goes_left: BoolArray, values: FloatArray, unknown_left: bool) -> Members:
    """Say of the categories themselves, not of their numbers, where they go."""
    return values[goes_left[: values.size] != unknown_left].astype(np.int64), unknown_left
