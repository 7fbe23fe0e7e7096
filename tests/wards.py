"""A ward whose model knows a word and three numbers, two of them of one group, and one of them delayed if wanted."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from ipforest import BudgetPrune, FeatureCosts
from ipforest.cli.session import SessionTable
from ipforest.tabular.preprocessing import source_columns
from ipforest.tabular.word_columns import WordColumns
from ipforest.ward.patients import Ward

NAMES = ["pain", "age", "crp", "ldl"]


def clinic_model(delayed: tuple[str, ...] = ()) -> Pipeline:
    """Fit a forest behind one-hot columns, as `ipforest fit` does."""
    rng, n = np.random.default_rng(0), 240
    table = pd.DataFrame(
        {"pain": rng.choice(["mild", "strong", "none"], n), "age": rng.integers(20, 90, n).astype(float)}
    )
    table["crp"], table["ldl"] = rng.integers(0, 90, n).astype(float), rng.integers(60, 220, n).astype(float)
    ill = (table.pain == "strong") & (table.crp > 40) | (table.ldl > 180)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, feature_name_combiner=WordColumns())
    encode = make_column_transformer((encoder, ["pain"]), remainder="passthrough", verbose_feature_names_out=False)
    encode.set_output(transform="pandas")
    columns = encode.fit_transform(table)
    prices = FeatureCosts([0, 1, 5, 8], groups=[-1, -1, 0, 0], group_fees=["2.10"], feature_names=NAMES)
    costs = prices.with_delayed(list(delayed)).for_columns(source_columns(encode, 4), list(columns))
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    model = BudgetPrune(forest, feature_costs=costs, random_state=0).fit(columns, np.where(ill, "ill", "well"))
    return Pipeline([("preprocessing", encode), ("model", model)])


def ward_of(model: Pipeline, **options: Any) -> Ward:
    """Open a ward with the model."""
    return Ward(model[-1], SessionTable(model, model[-1]), **options)
