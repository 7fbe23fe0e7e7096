"""Examples routed once: prunings score as the pruned forests themselves do."""

from dataclasses import replace

import numpy as np
import pytest
from fitted_forests import N_FEATURES, examples, random_pruning
from sklearn.ensemble import RandomForestClassifier

from ipforest import FeatureCosts, Forest, Pruning
from ipforest.experiments.metrics import error_rate
from ipforest.experiments.routed_examples import RoutedExamples


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_the_pruned_forest(seed):
    X, labels, _ = examples(150, seed=seed, missing=0.1)
    X_test, labels_test, _ = examples(90, seed=seed + 100, missing=0.1)
    rng = np.random.default_rng(seed)
    groups = [-1, 0, 0, -1, 1, 1, 1]
    costs = FeatureCosts(rng.integers(0, 5, N_FEATURES).tolist(), groups, [2, "1.5"])
    forest = Forest.from_sklearn(RandomForestClassifier(5, random_state=seed).fit(X, labels))
    routed = RoutedExamples.of(forest, X_test, labels_test, costs)
    for keep in (1.0, 0.8, 0.4, 0.0):
        pruning = random_pruning(forest, seed, keep)
        pruned = forest.prune(pruning).without_bare_roots()
        score = routed.score(pruning)
        assert score.cost == pytest.approx(pruned.cost(X_test, costs).mean())
        assert score.error == error_rate(labels_test, pruned.predict(X_test))


def test_trees_that_are_pruned_to_their_root_do_not_vote():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.repeat([0, 1], 10)
    fitted = RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, y)
    forest = Forest.from_sklearn(fitted)
    forest = replace(forest, value=np.where((forest.parent < 0)[:, None], [[0.8, 0.2]], forest.value))
    one_tree_left = Pruning(np.arange(forest.n_internal) == 0)
    routed = RoutedExamples.of(forest, X, y, FeatureCosts.uniform(1))
    every_tree = forest.prune(one_tree_left)
    assert error_rate(y, every_tree.predict(X)) == 0.5
    assert error_rate(y, every_tree.without_bare_roots().predict(X)) == 0
    assert routed.score(one_tree_left).error == 0
    assert routed.score(Pruning(np.zeros(forest.n_internal, dtype=bool))).error == 0.5
