"""Units in the order of what they are worth per price that is left, and which features follow one another."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import FeatureCosts, Forest, NestedCascade, NestedStages, PruningInstance, prune_path
from ipforest._internal.examples import Labelled
from ipforest.session import Seller
from ipforest.stopping.unit_order import by_price, features_of_units, order_units, prices_left


def seller_of(costs: FeatureCosts) -> Seller:
    return Seller(costs, 0.0, None, tuple(f"f{number}" for number in range(costs.n_features)), allow_missing=False)


@st.composite
def price_lists(draw: st.DrawFn) -> FeatureCosts:
    n_groups, n = draw(st.integers(0, 3)), draw(st.integers(1, 9))
    amounts = st.sampled_from((0, 1, 2, 0.5, 7))
    prices = draw(st.lists(amounts, min_size=n, max_size=n))
    groups = draw(st.lists(st.integers(-1, n_groups - 1), min_size=n, max_size=n))
    fees = draw(st.lists(st.sampled_from((0, 1, 2.5)), min_size=n_groups, max_size=n_groups))
    return FeatureCosts(prices, groups, fees)


@given(price_lists(), st.data())
def test_next_comes_what_is_worth_most_per_price_left(costs: FeatureCosts, data: st.DataObject) -> None:
    seller = seller_of(costs)
    paid = seller.paid_units()
    worth = np.array(
        data.draw(st.lists(st.sampled_from((0.0, 0.1, 0.3, 1.0)), min_size=costs.n_units, max_size=costs.n_units))
    )
    n_bought = data.draw(st.integers(0, len(paid)))
    bought = tuple(data.draw(st.permutations(paid)))[:n_bought]

    order = by_price(seller, worth, bought, len(paid))

    assert order[:n_bought] == bought
    assert {unit.index for unit in order} == {unit.index for unit in paid}
    for place in range(n_bought, len(order)):
        left = [unit for unit in paid if unit not in order[:place]]
        ratios = worth[[unit.index for unit in left]] / prices_left(seller, left, order[:place])
        assert order[place] == left[int(np.argmax(ratios))]


def test_thousands_of_units_are_ordered_at_once() -> None:
    worth = np.random.default_rng(0).random(20_000)
    order = by_price(seller_of(FeatureCosts.uniform(worth.size)), worth, (), worth.size)
    assert all(worth[one.index] >= worth[other.index] for one, other in pairwise(order))


@given(price_lists())
def test_features_of_a_unit_follow_one_another_around(costs: FeatureCosts) -> None:
    follows = seller_of(costs).purse(None).follows
    brings = features_of_units(seller_of(costs)).toarray()
    for feature in range(costs.n_features):
        around = [feature]
        while (following := int(follows[around[-1]])) != feature:
            around.append(following)
        assert sorted(around) == np.flatnonzero(brings[:, costs.first_unit[feature]]).tolist()


@pytest.mark.parametrize("order", ["importance", "path", "forward"])
def test_what_tells_most_about_the_examples_of_most_weight_comes_first(order: str) -> None:
    random = np.random.default_rng(5)
    X, few = random.integers(0, 2, (600, 9)).astype(float), np.arange(600) % 4 == 0
    y = np.where(few, X[:, 1], X[:, 0]).astype(int)
    for weight, first in ((None, 0), (np.where(few, 50.0, 1.0), 1)):
        stages = NestedStages(order=order)
        model = NestedCascade(DecisionTreeClassifier(random_state=0), stages=stages, random_state=0)
        assert model.fit(X, y, sample_weight=weight).units_[0].features == (first,)


def test_importance_by_permutation_is_that_of_the_examples_of_most_weight() -> None:
    X = np.random.default_rng(3).integers(0, 2, (600, 3)).astype(float)
    X[:, 2] = np.arange(600) % 3 == 0
    few = X[:, 2] == 1
    y, seller = np.where(few, X[:, 1], X[:, 0]).astype(int), seller_of(FeatureCosts([1, 1, 100]))
    for weight, first in ((np.ones(600), 0), (np.where(few, 50.0, 1.0), 1)):
        training, validation = (Labelled(X, y, each).rows(np.arange(300)) for each in (np.ones(600), weight))
        order = order_units(
            "importance", HistGradientBoostingClassifier(min_samples_leaf=2), training, validation, seller
        )
        assert order[0].features == (first,)


@pytest.mark.parametrize("regression", [False, True])
def test_forward_and_importance_follow_their_definitions(regression: bool) -> None:
    random = np.random.default_rng(1)
    X = random.integers(0, 3, (160, 6)).astype(float)
    y = (X[:, 0] + 2 * X[:, 1] * X[:, 4] > 3) * 1 + (X[:, 2] > 1)
    costs = FeatureCosts([4, 2, 1, 0, 0, 0], [-1, 0, -1, 1, 1, -1], [1, 3])
    seller, weight = seller_of(costs), random.integers(1, 4, 160).astype(float)
    training, validation = (Labelled(X, y, weight).rows(rows) for rows in np.split(np.arange(160), 2))
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(max_depth=3, random_state=0)
    fitted = clone(tree).fit(training.X, training.y, training.weight)
    worth = fitted.feature_importances_ @ features_of_units(seller)
    order = order_units("importance", tree, training, validation, seller)
    assert order == by_price(seller, worth, (), 9)

    def loss(columns: list[int]) -> float:
        model = clone(tree).fit(training.X[:, columns], training.y, training.weight)
        found = (
            model.predict(validation.X[:, columns])[:, None]
            if regression
            else model.predict_proba(validation.X[:, columns])
        )
        truth = validation.y[:, None] if regression else validation.y[:, None] == model.classes_
        return float(np.average(np.square(found - truth).sum(axis=1), weights=validation.weight))

    order, columns = order_units("forward", tree, training, validation, seller), [5]
    assert {unit.features for unit in order} == {(0,), (1,), (2,), (3, 4)}
    for place, taken in enumerate(order):
        scores = {}
        for unit in order[place:]:
            gain = loss(columns) - loss([*columns, *unit.features])
            price = seller.price_after(unit, order[:place])
            scores[unit] = gain / price if gain > 0 else gain * price
        assert scores[taken] == pytest.approx(max(scores.values()))
        columns += taken.features


def test_on_the_path_a_unit_is_worth_as_long_as_its_acquisitions_stay() -> None:
    random = np.random.default_rng(2)
    X = random.integers(0, 3, (160, 6)).astype(float)
    y = (X[:, 0] + 2 * X[:, 1] * X[:, 4] > 3) * 1 + (X[:, 2] > 1)
    costs = FeatureCosts([5, 1, 2, 0, 0, 0], [-1, 0, -1, 1, 1, -1], [1, 4])
    seller = seller_of(costs)
    training, validation = (Labelled(X, y, np.ones(160)).rows(rows) for rows in np.split(np.arange(160), 2))
    grown = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(training.X, training.y)
    path = prune_path(PruningInstance.from_forest(Forest.from_sklearn(grown), validation.X, costs))
    longest = np.zeros((80, costs.n_units))
    for below, lam in pairwise([0, *path.breakpoints]):
        pruned = Forest.from_sklearn(grown).prune(path.pruning((below + lam) / 2))
        longest[seller.units_of(pruned.feature_usage(validation.X) > 0)] = float(lam)
    worth = longest.sum(axis=0) * costs.float_unit_costs
    order = order_units("path", grown, training, validation, seller)
    assert order == by_price(seller, worth, (), 9)
    assert order != by_price(seller, longest.sum(axis=0), (), 9)
