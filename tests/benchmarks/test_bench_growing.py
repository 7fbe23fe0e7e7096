"""Time the tree grower beside scikit-learn's. Run with --benchmark-enable."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import FeatureCosts
from ipforest.growing import (
    AcquisitionState,
    CodedExamples,
    Entropy,
    Grower,
    ThresholdPairs,
    bootstrap_counts,
    forest_of,
)

N_TREES, N_FEATURES = 4, 20
GROWERS = {
    "entropy, bins": (Grower(Entropy(), price_weight=0), 255),
    "entropy, exact": (Grower(Entropy(), price_weight=0), None),
    "pairs, random cuts": (Grower(ThresholdPairs(), "minimax", random_cuts=True), None),
}


def examples(n_samples):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, N_FEATURES)).astype(np.float32)
    X[:, 10:] = X[:, 10:] > 1
    labels = np.digitize(X[:, 0] * X[:, 1] + X[:, 10] + 0.2 * rng.normal(size=n_samples), [-0.5, 0.5])
    return X, labels


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWERS)
def test_grow(benchmark, name):
    grower, max_bins = GROWERS[name]
    X, labels = examples(5000)
    X_test, labels_test = X[4000:], labels[4000:]
    X, labels = X[:4000], labels[:4000]
    state = AcquisitionState.per_tree(FeatureCosts.uniform(N_FEATURES), free_on_path=False)
    draws = np.random.RandomState(1)
    samples = [bootstrap_counts(len(X), draws) for _ in range(N_TREES)]

    def grow():
        coded = CodedExamples.from_examples(X, max_bins)
        trees = grower.grow_bagged(coded, labels, 3, state, samples, list(range(N_TREES, 2 * N_TREES)))
        return forest_of(trees, N_FEATURES, np.arange(3), grower.impurity.name)

    reference = RandomForestClassifier(N_TREES, criterion="entropy", max_features=None, random_state=0).fit(X, labels)
    error = np.mean(grow().predict(X_test) != labels_test)
    assert error < np.mean(reference.predict(X_test) != labels_test) + 0.15
    benchmark(grow)


def test_grow_by_scikit_learn(benchmark):
    X, labels = examples(4000)
    forest = RandomForestClassifier(N_TREES, criterion="entropy", max_features=None, random_state=0)
    assert forest.fit(X, labels).score(X, labels) > 0.9
    benchmark(forest.fit, X, labels)
