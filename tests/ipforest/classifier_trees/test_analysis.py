"""Analyses of trees of classifiers against plain counts."""

import matplotlib as mpl
import numpy as np
import pytest

from ipforest.classifier_trees import CSTC, BoostingTrick, TreeObjective
from ipforest.classifier_trees.analysis import (
    features_of_nodes,
    jaccard,
    leaf_similarity,
    mean_labels,
    neighbour_similarity,
    plot_similarity,
    price_shares,
)
from ipforest.classifier_trees.block_descent import DescentSettings

mpl.use("Agg")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 6))
Y = np.digitize(X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2]), [-1, 0, 1])
PRICES = [1, 1, 2, 2, 2, 5]


@pytest.fixture(scope="module", params=[None, BoostingTrick(12, max_depth=2, random_state=0)], ids=["linear", "trees"])
def model(request: pytest.FixtureRequest) -> CSTC:
    quick = DescentSettings(max_sweeps=1, max_block_steps=10)
    return CSTC(
        objective=TreeObjective(depth=3, structure="full", lambdas=1),
        descent=quick,
        feature_map=request.param,
        feature_costs=PRICES,
        random_state=0,
    ).fit(X, Y)


def test_shares_by_price_and_depth(model: CSTC) -> None:
    shares = price_shares(model)
    assert shares.prices.tolist() == [1, 2, 5]
    assert shares.counts.tolist() == [2, 3, 1]
    used, depth = features_of_nodes(model), model.tree_.depth
    for limit in range(3):
        bought = used[depth <= limit].any(axis=0)
        expected = [bought[:2].mean(), bought[2:5].mean(), bought[5:].mean()]
        np.testing.assert_allclose(shares.shares[limit], expected)
    assert len(shares.plot().lines) == 3


def test_jaccard_by_sets() -> None:
    used = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    expected = [[1, 1 / 3, 0, 0], [1 / 3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_allclose(jaccard(used), expected)


def test_leaves_and_labels(model: CSTC) -> None:
    nodes, similarity = leaf_similarity(model)
    assert nodes.tolist() == [3, 4, 5, 6]
    np.testing.assert_array_equal(similarity, similarity.T)
    labels, last = mean_labels(model, X, Y), model.last_nodes(X)
    assert labels[0] == pytest.approx(Y.mean())
    for leaf in np.unique(last):
        assert labels[leaf] == pytest.approx(Y[last == leaf].mean())
    axes = plot_similarity(similarity, [f"v{node}" for node in nodes])
    assert [text.get_text() for text in axes.texts] == [f"{value:.2f}" for value in similarity.ravel()]


def test_the_criterion_sees_that_neighbouring_labels_share_features() -> None:
    merit = RNG.normal(size=2000)
    places = np.array([-1.0, 0.0, 1.0])
    features = np.hstack(
        [np.tanh((merit[:, None] - place) / 0.8) + 0.8 * RNG.normal(size=(2000, 5)) for place in places]
    )
    similarity = neighbour_similarity(features, np.digitize(merit, places), C=0.05)
    assert similarity.shape == (3, 3)
    assert similarity[0, 1] > similarity[0, 2]
    with pytest.raises(ValueError, match=r"^y: expected three labels or more, got 2$"):
        neighbour_similarity(features, merit > 0)
    with pytest.raises(
        ValueError, match=r"^C: expected enough that some feature tells labels 0 and 1 apart, got 1e-09$"
    ):
        neighbour_similarity(features, np.digitize(merit, places), C=1e-9)
