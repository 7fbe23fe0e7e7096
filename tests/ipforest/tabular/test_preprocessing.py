"""Which raw columns each computed column needs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

from ipforest.tabular.preprocessing import input_columns, source_columns

FRAME = pd.DataFrame(
    {"age": [1.0, 2, 3, 4, 5], "a": list("xyzxy"), "a_b": list("ppqpq"), "dose": [3.0, 1, 4, 1, np.nan]}
)


def needed(transformer, frame):
    matrix = input_columns(transformer.fit(frame), frame.shape[1]).toarray()
    assert matrix.shape[0] == np.asarray(transformer.transform(frame)).shape[1]
    return [np.flatnonzero(row).tolist() for row in matrix]


def test_one_hot_columns_need_their_feature() -> None:
    encoder = OneHotEncoder(sparse_output=False)
    assert needed(encoder, FRAME[["a", "a_b"]]) == [[0], [0], [0], [1], [1]]
    assert needed(OneHotEncoder(sparse_output=False, drop="first"), FRAME[["a", "a_b"]]) == [[0], [0], [1]]
    rare = OneHotEncoder(sparse_output=False, min_frequency=2, handle_unknown="infrequent_if_exist")
    assert needed(rare, FRAME[["a"]]) == [[0], [0], [0]]


def test_column_transformers_are_followed_by_name_number_mask_and_slice() -> None:
    for columns in (["a", "a_b"], [1, 2], [False, True, True, False], slice("a", "a_b"), slice(1, 3)):
        transformer = make_column_transformer((OneHotEncoder(sparse_output=False), columns), remainder="passthrough")
        assert needed(transformer, FRAME) == [[1], [1], [1], [2], [2], [0], [3]]


@pytest.mark.parametrize(("columns", "expected"), [(slice(None, "a"), [[0], [1]]), (slice("a_b", None), [[2], [3]])])
def test_slices_by_name_may_be_open(columns: slice, expected: list[list[int]]) -> None:
    assert needed(ColumnTransformer([("part", "passthrough", columns)]), FRAME) == expected


def test_dropped_columns_are_not_needed() -> None:
    transformer = ColumnTransformer([("one", "passthrough", ["dose"]), ("gone", "drop", ["a"])])
    assert needed(transformer, FRAME) == [[3]]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Chooses how to encode each column, drops what says nothing, and tells what comes from what, as skrub's do."""

    def fit(self, X, y=None):
        encoded = pd.get_dummies(X)
        self.feature_names_in_, self.n_features_in_ = X.columns.to_numpy(), X.shape[1]
        parts = {name: pd.get_dummies(X[[name]]).columns for name in X if X[name].nunique() > 2}
        self.output_to_input_ = {output: name for name, outputs in parts.items() for output in outputs}
        self.outputs_ = [name for name in encoded if name in self.output_to_input_][::-1]
        return self

    def transform(self, X):
        return pd.get_dummies(X)[self.outputs_]

    def get_feature_names_out(self, input_features=None):
        return np.array(self.outputs_)


def test_a_transformer_that_tells_what_comes_from_what_is_believed() -> None:
    assert needed(TableEncoder(), FRAME) == [[1], [1], [1], [3], [0]]
    assert source_columns(make_pipeline(TableEncoder(), StandardScaler()).fit(FRAME), 4).tolist() == [1, 1, 1, 3, 0]


def test_pipelines_compose() -> None:
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2, include_bias=False))
    transformer = make_column_transformer((numbers, ["dose", "age"]))
    assert needed(transformer, FRAME) == [[3], [0], [3], [0, 3], [0]]


def test_outputs_without_names_of_inputs_need_all() -> None:
    numbers = FRAME[["age", "dose"]].fillna(0)
    assert needed(PCA(2), numbers) == [[0, 1], [0, 1]]
    assert needed(FeatureUnion([("pca", PCA(1)), ("scale", StandardScaler())]), numbers) == [[0, 1], [0], [1]]


def test_indicators_and_bins_need_their_feature() -> None:
    numbers = FRAME[["age", "dose"]]
    assert needed(SimpleImputer(add_indicator=True), numbers) == [[0], [1], [1]]
    assert needed(MissingIndicator(), numbers) == [[1]]
    bins = KBinsDiscretizer(2, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    assert needed(bins, numbers.fillna(0)) == [[0], [0], [1], [1]]


@pytest.mark.parametrize("transformer", [Normalizer(), TfidfTransformer(), KNNImputer(n_neighbors=1)])
def test_rows_that_are_scaled_or_filled_need_all_features(transformer) -> None:
    X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 7.0]])
    assert input_columns(transformer.fit(X), 2).toarray().all()


def test_targets_of_several_classes_give_several_columns() -> None:
    X, y = np.arange(12).reshape(-1, 2) % 3, np.arange(6) % 3
    assert source_columns(TargetEncoder(cv=2, smooth=1.0).fit(X, y), 2).tolist() == [0, 0, 0, 1, 1, 1]


def test_arrays_have_numbers_for_names() -> None:
    encoder = OneHotEncoder(sparse_output=False)
    assert needed(encoder, FRAME[["a", "a_b"]].to_numpy()) == [[0], [0], [0], [1], [1]]


def test_a_transformer_without_names_is_refused() -> None:
    class Nameless(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return X

    with pytest.raises(TypeError, match=r"names its outputs .* got Nameless"):
        input_columns(Nameless().fit(FRAME), 4)


class NamesOfFit(TransformerMixin, BaseEstimator):
    """Names its outputs after what it was fitted to, whatever it is asked for, as some encoders of others do."""

    def fit(self, X, y=None):
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X):
        return pd.concat([X.iloc[:, :1], -X.iloc[:, :1]], axis=1).set_axis(["first", "second"], axis=1)

    def get_feature_names_out(self, input_features=None):
        if self.feature_names_in_.size > 0:
            return np.array(["first", "second"], dtype=object)


def test_what_sees_one_column_is_computed_from_it_whatever_it_is_called() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
    transformer = ColumnTransformer([("own", NamesOfFit(), ["b"])], remainder="passthrough")
    assert source_columns(transformer.fit(frame), 3).tolist() == [1, 1, 0, 2]
    apart = "in a ColumnTransformer give each column a transformer of its own"
    with pytest.raises(TypeError, match=f"names its outputs after any names of inputs, got NamesOfFit, .*; {apart}"):
        source_columns(NamesOfFit().fit(frame), 3)
    with pytest.raises(ValueError, match=f"computed from one feature, got column 0 from 3; {apart}, or leave such"):
        source_columns(PCA(2).fit(frame), 3)
