"""Columns of words as one column a word, which is what a forest that compares numbers sees, or as categories."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from ipforest.costs import FeatureCosts
from ipforest.tabular.preprocessing import source_columns

__all__ = [
    "MAX_WORDS",
    "WordColumns",
    "as_categories",
    "check_word_columns",
    "names_in_words",
    "one_hot",
    "text_columns",
]

MAX_WORDS = 255
"""So many words of a column, the most frequent, have a column each; all others have one together."""


class WordColumns:
    """Names one-hot columns; an object, since a file of a model holds no functions."""

    def __call__(self, column: str, word: Any) -> str:
        """Name the column of a word, of missing cells, by no word, or of all words that are too rare for their own."""
        return f"{column}={'' if pd.isna(word) else 'a rarer word' if word == 'infrequent_sklearn' else word}"


def text_columns(X: pd.DataFrame) -> list[str]:
    """List the columns that hold text."""
    return [name for name in X if X[name].dtype == object]


def as_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Turn columns of text into columns of categories."""
    return X.astype(dict.fromkeys(text_columns(X), "category"))


def one_hot(X: pd.DataFrame, costs: FeatureCosts) -> tuple[ColumnTransformer, pd.DataFrame, FeatureCosts]:
    """Write columns of text as one column a word, see `MAX_WORDS`.

    Returns
    -------
    tuple of fitted transformer, its columns and their prices
    """
    encoder = OneHotEncoder(
        max_categories=MAX_WORDS + 1,  # with that of the others
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
        feature_name_combiner=WordColumns(),
    )
    preprocessing = make_column_transformer(
        (encoder, text_columns(X)), remainder="passthrough", verbose_feature_names_out=False
    )
    preprocessing.set_output(transform="pandas")
    columns = preprocessing.fit_transform(X)
    return preprocessing, columns, costs.for_columns(source_columns(preprocessing, X.shape[1]), list(columns))


def names_in_words(transformer: Any, of_table: Collection[str]) -> list[str]:
    """Name the columns that a fitted transformer computes: one-hot columns ``column=word``, others as in the table.

    The name of the part that computes a column is left out, age in place of remainder__age, unless columns are called
    so in the table or two would have one name.
    """
    computed = [*map(str, _naming_words(transformer).get_feature_names_out())]
    bare = [name.partition("__")[2] for name in computed]
    is_clear = all(bare) and len(set(bare)) == len(bare) and not set(computed).intersection(of_table)
    return bare if is_clear else computed


def _naming_words(transformer: Any) -> Any:
    """Copy a fitted transformer, whose one-hot encoders then name columns as `WordColumns`, if nothing else was set."""
    changed = copy(transformer)
    if isinstance(transformer, Pipeline):
        changed.steps = [(name, _naming_words(step)) for name, step in transformer.steps]
    elif isinstance(transformer, ColumnTransformer):
        parts = transformer.transformers_
        changed.transformers_ = [(name, _naming_words(step), columns) for name, step, columns in parts]
    elif isinstance(transformer, OneHotEncoder) and transformer.feature_name_combiner == "concat":
        changed.feature_name_combiner = WordColumns()
    return changed


def check_word_columns(table: pd.DataFrame, file: str) -> None:
    """Refuse words whose one-hot column has the name of another column."""
    owner = dict.fromkeys(map(str, table.columns), "")
    name_of_word = WordColumns()
    for column in text_columns(table):
        for word in dict.fromkeys(table[column].tolist()):
            name = name_of_word(column, word)
            if name in owner:
                other = f"of column {owner[name]!r}" if owner[name] else "of the table"
                raise ValueError(
                    f"{file}, column {column}: expected one column of each name, but the word {word!r} becomes "
                    f"{name!r}, which is also a column {other}; rename one of the two in the header, or leave it out "
                    "(--drop)"
                )
            owner[name] = column
