"""GDFS and DIME buy what tells most, for each example; both need PyTorch."""

import sys

import numpy as np
import pytest

from ipforest import FeatureCosts
from ipforest.experiments.acquisition import Purchases
from ipforest.experiments.neural_acquisition import (
    GreedyDynamicSelection,
    MutualInformationSelection,
    Training,
    load_torch,
)

METHODS = (GreedyDynamicSelection, MutualInformationSelection)


def contexts(n, seed):
    """A feature that is uninformative by itself says which of two others is the class; three more are noise."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    X[:, 0] = np.sign(X[:, 0])
    return X, (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0).astype(np.int64)


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch", reason="an extra")
    torch.set_num_threads(1)
    return torch


@pytest.fixture(scope="module", params=METHODS, ids=lambda kind: kind.__name__)
def fitted(request, torch):
    costs = FeatureCosts([1, 1, 1, 1, 1, 4])
    return request.param(*contexts(600, 0), Purchases.of(costs), 0)


@pytest.mark.slow
def test_no_noise_is_bought_before_what_tells(fitted):
    X, y = contexts(300, 1)
    orders = fitted.bought(X, 0.0, 3.0, forced=True)
    assert {len(order) for order in orders} == {3}
    shown = np.zeros(X.shape, dtype=bool)
    for row, order in enumerate(orders):
        shown[row, order] = True
    telling = np.where(X[:, 0] > 0, 1, 2)
    assert np.mean(shown[:, 0] & shown[np.arange(len(X)), telling]) > 0.9
    assert np.mean(fitted.predict_proba(X, shown).argmax(axis=1) == y) > 0.9


@pytest.mark.slow
def test_caps_and_prices_are_kept(fitted):
    X, _ = contexts(50, 2)
    prices = fitted.purchases.prices
    for cap in (0.5, 1.0, 4.0, 9.0):
        for order in fitted.bought(X, 0.0, cap, forced=True):
            assert len(set(order.tolist())) == len(order)
            assert prices[order].sum() <= cap
    assert all(order.size == 0 for order in fitted.bought(X, np.inf, 9.0, forced=False))


@pytest.mark.slow
def test_less_is_bought_where_a_price_weighs_more(torch):
    X, y = contexts(600, 0)
    costs = Purchases.of(FeatureCosts([1] * 6))
    model = MutualInformationSelection(X, y, costs, 0)
    counts = [sum(map(len, model.bought(X[:100], lam, 6.0, forced=False))) for lam in (0.01, 0.1, 0.3, np.log(2))]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0 < counts[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", METHODS)
def test_a_seed_says_all(kind, torch):
    X, y = contexts(200, 0)
    first, second = (kind(X, y, Purchases.of(FeatureCosts([1] * 6)), 3, Training(n_epochs=2)) for _ in range(2))
    shown = np.ones(X.shape, dtype=bool)
    assert np.array_equal(first.predict_proba(X, shown), second.predict_proba(X, shown))


def test_without_pytorch_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"torch: expected it to be installed .*; run pip install torch"):
        load_torch()


@pytest.mark.slow
def test_a_missing_value_is_the_mean(fitted):
    X, _ = contexts(20, 3)
    told = np.ones(X.shape, dtype=bool)
    with_gaps = np.where(np.arange(6) == 1, np.nan, X)
    with_means = np.where(np.arange(6) == 1, fitted.scaler.mean_, X)
    np.testing.assert_allclose(fitted.predict_proba(with_gaps, told), fitted.predict_proba(with_means, told), atol=1e-6)
    assert [*map(list, fitted.bought(with_gaps, 0, 3, forced=True))] == [
        *map(list, fitted.bought(with_means, 0, 3, forced=True))
    ]
