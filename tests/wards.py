"""A ward whose model knows a word and three numbers, two of them of one group, and one of them delayed if wanted."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetedPipeline, BudgetPrune, FeatureCosts
from ipforest.tabular.word_columns import one_hot
from ipforest.ward.patients import Ward
from ipforest.wrappers.pipeline import parted
from ipforest.wrappers.typed_cells import TypedCells

NAMES = ["pain", "age", "crp", "ldl"]


def clinic_model(delayed: tuple[str, ...] = ()) -> BudgetedPipeline:
    """Fit a forest behind one-hot columns, as `ipforest fit` does."""
    rng, n = np.random.default_rng(0), 240
    table = pd.DataFrame(
        {"pain": rng.choice(["mild", "strong", "none"], n), "age": rng.integers(20, 90, n).astype(float)}
    ).astype({"pain": object})
    table["crp"], table["ldl"] = rng.integers(0, 90, n).astype(float), rng.integers(60, 220, n).astype(float)
    ill = (table.pain == "strong") & (table.crp > 40) | (table.ldl > 180)
    prices = FeatureCosts([0, 1, 5, 8], groups=[-1, -1, 0, 0], group_fees=["2.10"], feature_names=NAMES)
    costs = prices.with_delayed(list(delayed))
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    words = FrozenEstimator(one_hot(table, costs)[0])
    model = BudgetedPipeline(words, BudgetPrune(forest, random_state=0), feature_costs=costs)
    return model.fit(table, np.where(ill, "ill", "well"))


def ward_of(model: Any, **options: Any) -> Ward:
    """Open a ward with the model."""
    return Ward(model, TypedCells(parted(model)), **options)
