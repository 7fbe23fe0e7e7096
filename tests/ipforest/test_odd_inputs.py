"""What is neither a number nor a table, brought where one belongs: refused in one line that names it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetPrune, FeatureCosts, Forest, PruningInstance

X, Y = load_iris(return_X_y=True)
COSTS = FeatureCosts([1, 2, 3, 4])
MASKED = np.ma.masked_array(X, X > 3)
REFUSED = r"expected a plain array, got one with masked entries; its filled\(numpy.nan\) makes them missing"


@pytest.fixture(scope="module")
def model():
    forest = RandomForestClassifier(2, max_depth=2, random_state=0)
    return BudgetPrune(forest, feature_costs=COSTS, budget=6, random_state=0).fit(X, Y)


def test_masked_entries_are_no_numbers(model) -> None:
    """Libraries take what is below the mask: 305 triples of masked examples were those of the plain ones."""
    forest = Forest.from_sklearn(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y))
    for name, act in (
        ("X_cost", lambda: PruningInstance.from_forest(forest, MASKED, COSTS)),
        ("X", lambda: model.predict(MASKED)),
        ("X", lambda: model.cost(MASKED)),
        ("X", lambda: BudgetPrune(RandomForestClassifier(2), feature_costs=COSTS, budget=6).fit(MASKED, Y)),
        (
            "y",
            lambda: BudgetPrune(RandomForestClassifier(2), feature_costs=COSTS, budget=6).fit(
                X, np.ma.masked_array(Y, Y > 1)
            ),
        ),
    ):
        with pytest.raises(TypeError, match=f"^{name}: {REFUSED}"):
            act()
    np.testing.assert_array_equal(model.predict(np.ma.masked_array(X)), model.predict(X))


@pytest.mark.parametrize("known", [[1], "ab", 3, {1}])
def test_what_is_known_is_told_by_feature(model, known) -> None:
    with pytest.raises(TypeError, match="known: expected a mapping of features to values, got"):
        model.session(known=known)


def test_integers_beyond_floats_are_no_values(model) -> None:
    with pytest.raises(ValueError, match=r"expected a number below 2\^1024, got a larger integer"):
        model.session(known={0: 10**400})
    session = model.session()
    with pytest.raises(ValueError, match=r"expected a number below 2\^1024, got a larger integer"):
        session.tell(10**400)


def test_groups_are_no_lists() -> None:
    with pytest.raises(TypeError, match="groups: expected one group per feature, integers, got lists of them"):
        FeatureCosts([1] * 4, [[0, 0], 0, 0, 0], [1])
