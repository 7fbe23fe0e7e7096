"""Information about the class by a known distribution: densities, integrals, and what is bought by them."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ipforest import FeatureCosts
from ipforest.experiments import exact_information
from ipforest.experiments.acquisition import Purchases, bought_one_by_one
from ipforest.experiments.afabench2025.cubes import DATA
from ipforest.experiments.cube_distributions import DISTRIBUTIONS
from ipforest.experiments.exact_information import ExactInformation, IndependentGaussians


def component_of(data, name):
    context = data.X[:, :5].argmax(axis=1) if name == "CUBE-NM" else 0
    return 8 * context + data.y


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_examples_come_from_the_distribution(name):
    data, distribution = DATA[name](40_000, 0), DISTRIBUTIONS[name]()
    component = component_of(data, name)
    assert np.array_equal(distribution.labels[component], data.y)
    standard = (data.X - distribution.means[component]) / distribution.deviations[component]
    for k in range(len(distribution.labels)):
        ours = standard[component == k]
        assert np.abs(ours.mean(axis=0)).max() < 5 / np.sqrt(len(ours))
        assert np.abs(ours.std(axis=0) - 1).max() < 5 / np.sqrt(2 * len(ours))


@pytest.fixture
def two_features():
    """Three components of two classes; the second feature tells them apart a little."""
    means = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 2.0]])
    return IndependentGaussians(np.array([0, 1, 0]), means, np.array([[1.0, 0.5], [0.5, 0.5], [1.0, 1.0]]))


def test_posteriors_are_those_of_bayes(two_features):
    X = np.array([[0.5, 1.0], [2.0, -1.0]])
    shown = np.array([[True, False], [True, True]])
    densities = norm.pdf(X[:, None], two_features.means, two_features.deviations)
    expected = np.where(shown[:, None], densities, 1.0).prod(axis=2)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(two_features.posteriors(X, shown), expected, rtol=1e-12)
    classes = two_features.predict_proba(X, shown)
    np.testing.assert_allclose(classes[:, 0], expected[:, 0] + expected[:, 2], rtol=1e-12)


def test_information_is_the_integral(two_features, monkeypatch):
    monkeypatch.setattr(exact_information, "N_VALUES", 2000)
    policy = ExactInformation(two_features, Purchases.of(FeatureCosts([1, 1])), 0)
    prior = np.array([0.5, 0.2, 0.3])

    def entropy(shares):
        return -sum(share * np.log(share) for share in shares if share > 0)

    for feature in range(2):

        def lost(value, feature=feature):
            density = prior * norm.pdf(value, two_features.means[:, feature], two_features.deviations[:, feature])
            return density.sum() * entropy(np.array([density[[0, 2]].sum(), density[1]]) / density.sum())

        expected = entropy([0.8, 0.2]) - quad(lost, -10, 12, limit=200)[0]
        assert policy.information(prior[None])[0, feature] == pytest.approx(expected, abs=1e-4)


def test_a_context_is_bought_with_what_it_explains():
    distribution, data = DISTRIBUTIONS["CUBE-NM"](), DATA["CUBE-NM"](60, 0)
    context = np.arange(55) < 5
    costs = FeatureCosts((~context).astype(int).tolist(), np.where(context, 0, -1).tolist(), [1])
    policy = ExactInformation(distribution, Purchases.of(costs), 0)
    nothing = policy.information(np.full((1, 40), 1 / 40))[0]
    assert nothing[0] == pytest.approx(0, abs=1e-9)
    assert nothing.max() > 0.005
    orders = policy.bought(data.X, 0.0, 10.0, forced=True)
    assert {len(order) for order in orders} == {10}
    assert np.mean([0 in order for order in orders]) > 0.9
    shown = policy.purchases.shown(orders, 10.0)
    assert np.mean(policy.predict_proba(data.X, shown).argmax(axis=1) == data.y) > 0.9


def test_purchases_end_with_what_is_affordable_or_worth_it():
    purchases = Purchases.of(FeatureCosts([1, 2, 4]))

    def scores(rows, known):
        return np.tile([0.3, 0.2, 0.1], (len(rows), 1)) * (rows[:, None] + 1)

    forced = bought_one_by_one(scores, 2, purchases, 0.0, 3.0, forced=True)
    assert [order.tolist() for order in forced] == [[0, 1], [0, 1]]
    free = bought_one_by_one(scores, 2, purchases, 0.25, np.inf, forced=False)
    assert [order.tolist() for order in free] == [[0], [0, 1]]
    assert [order.tolist() for order in bought_one_by_one(scores, 2, purchases, 0.0, 0.5, forced=True)] == [[], []]
