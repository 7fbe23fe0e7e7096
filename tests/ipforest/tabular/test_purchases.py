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


@pytest.mark.parametrize("seed", range(10))
def test_what_is_paid_sums_up_to_the_cost_with_fees_of_groups(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups = np.append(random.integers(-1, 3, 4), [0, 1, 2])
    costs = FeatureCosts(random.integers(0, 9, 7).tolist(), groups, random.integers(0, 9, 3).tolist())
    acquired = random.random((12, 7)) < 0.3
    lines = purchases(acquired, costs, list("abcdefg"))
    assert sum(line.paid for line in lines) == pytest.approx(costs.cost_of(acquired).mean())
    paid = [line.paid for line in lines]
    assert paid == sorted(paid, reverse=True)
    told = {line.name: (line.price, line.share) for line in lines}
    expected = {name: (costs.prices[place], acquired[:, place].mean()) for place, name in enumerate("abcdefg")}
    for group, fee in enumerate(costs.group_fees):
        members = "".join(np.array(list("abcdefg"))[groups == group])
        expected[f"fee of {{{', '.join(members)}}}"] = fee, acquired[:, groups == group].any(axis=1).mean()
    assert told.keys() == expected.keys()
    for name, line in expected.items():
        assert told[name] == pytest.approx(tuple(map(float, line)))
