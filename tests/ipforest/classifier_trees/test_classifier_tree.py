"""Trees of classifiers: probabilities, hard routes and shapes against plain recursion."""

import numpy as np
import pytest
from cascade_problems import SHAPES, random_tree
from scipy.special import expit

from ipforest.classifier_trees.classifier_tree import TERMINAL, ClassifierTree
from ipforest.classifier_trees.feature_map import ScaledFeatures
from ipforest.classifier_trees.tree_policy import TreeOfClassifiers
from ipforest.policy import Progress

PHI = np.random.default_rng(0).normal(size=(40, 6))


@pytest.mark.parametrize("shape", SHAPES)
def test_probabilities_follow_the_definition(shape: str) -> None:
    tree = random_tree(shape, 6, 1)
    arrival, leaving = tree.traverse(tree.scores(PHI))
    np.testing.assert_allclose(leaving.sum(axis=1), 1)
    for node in range(tree.n_nodes):
        chance, child = np.ones(40), node
        while (parent := tree.parent[child]) != TERMINAL:
            up = expit(PHI @ tree.coef[parent] + tree.intercept[parent] - tree.threshold[parent])
            chance *= up if tree.upper[parent] == child else 1 - up
            child = parent
        np.testing.assert_allclose(arrival[:, node], chance)


@pytest.mark.parametrize("shape", SHAPES)
def test_routes_and_answers_example_by_example(shape: str) -> None:
    tree = random_tree(shape, 6, 2)
    last, answers = tree.route(PHI), tree.answer(PHI)
    for x, end, answer in zip(PHI, last, answers, strict=True):
        node, score = 0, 0.0
        while True:
            score = x @ tree.coef[node] + tree.intercept[node]
            child = (tree.upper if score > tree.threshold[node] else tree.lower)[node]
            if child == TERMINAL:
                break
            node = child
        assert node == end
        assert answer == pytest.approx(score)


def test_a_hard_route_is_the_limit_of_soft_ones() -> None:
    tree = random_tree("lopsided", 6, 3)
    sharp = ClassifierTree(tree.upper, tree.lower, tree.coef * 1e4, tree.intercept * 1e4, tree.threshold * 1e4)
    np.testing.assert_allclose(sharp.traverse(sharp.scores(PHI))[1], np.eye(4)[tree.route(PHI)], atol=1e-6)


def test_taking_a_leaf_away_leaves_its_side_to_the_parent() -> None:
    tree = random_tree("full", 6, 4)
    smaller = tree.without(4)
    assert smaller.n_nodes == 6
    assert smaller.lower[1] == TERMINAL
    renumbered = np.array([0, 1, 2, 3, 1, 4, 5])
    np.testing.assert_array_equal(smaller.route(PHI), renumbered[tree.route(PHI)])
    with pytest.raises(ValueError, match=r"^node: expected a leaf that is not the root, got 1$"):
        tree.without(1)


def test_a_child_is_added_where_examples_left() -> None:
    tree = random_tree("chain", 6, 5).with_child(1, above=False, coef=np.ones(6), intercept=0.5)
    assert tree.parent.tolist() == [-1, 0, 1, 1]
    assert tree.depth.tolist() == [0, 1, 2, 2]
    assert tree.answers.tolist() == [True, False, True, True]
    with pytest.raises(ValueError, match=r"^children: expected numbers above their parent's"):
        ClassifierTree(np.array([0]), np.array([-1]), np.ones((1, 2)), np.ones(1), np.ones(1))


def test_a_row_scores_alike_alone_and_beside_others() -> None:
    tree = ClassifierTree.single(np.tile([0.1, 0.2, 0.3, -0.6], 16))
    features = ScaledFeatures(scale=False).fit(np.ones((5, 64)), np.ones(5))
    policy = TreeOfClassifiers(tree, features, np.ones(64), 0.0, lambda scores: scores)
    rows = np.arange(5)
    progress = Progress.start(policy, 5, 64)
    progress.values[:], progress.known[:] = 1.0, True
    policy.advance(progress, rows)
    together = policy.answer(progress, rows)
    np.testing.assert_array_equal(together, [policy.answer(progress, rows[[row]])[0] for row in rows])
