"""The bill of a model: names, prices and shares."""

import numpy as np
import pandas as pd
import pytest

from ipforest import FeatureCosts
from ipforest.tabular.purchases import purchases

ACQUIRED = np.array([[1, 0, 1], [0, 0, 1]])


@pytest.mark.parametrize("names", [None, ["a", "b", "c"], np.array(["a", "b", "c"]), pd.Index(["a", "b", "c"])])
def test_lines_have_the_names_of_the_features(names) -> None:
    costs = FeatureCosts([4, 1, 3], feature_names=["a", "b", "c"])
    lines = purchases(ACQUIRED, costs, names)
    assert [(line.name, line.paid) for line in lines] == [("c", 3.0), ("a", 2.0), ("b", 0.0)]


def test_columns_computed_from_a_feature_are_one_line() -> None:
    costs = FeatureCosts([4, 1]).for_columns([0, 1, 0], ["a1", "b", "a2"])
    assert [(line.name, line.paid) for line in purchases(ACQUIRED, costs)] == [("feature 0", 4.0), ("feature 1", 0.0)]
    with pytest.raises(ValueError, match="feature_names: expected 2 names, one per feature, got 1"):
        purchases(ACQUIRED, costs, ["a"])
