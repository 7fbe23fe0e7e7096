"""Scores by which learners choose, worked by hand, with classes and a number, with weights and without."""

import numpy as np
import pytest

from ipforest.frontiers.averaged_trees import Grown, OutOfBag, TreeSettings, last_before_rise
from ipforest.frontiers.scores import AS_GOOD_AS, brier_score, relative_error, soft_cost, soft_error
from ipforest.frontiers.tasks import Classification, Regression

CLASSES = np.array(["ill", "well"])
SHARES = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])


def test_being_wrong_and_the_halved_brier_score_are_weighed_by_the_number_of_examples() -> None:
    y = np.array(["ill", "ill", "dead"])
    wrong, half = np.array([0, 1, 1]), np.array([0.04, 0.36, 0.25])
    for n, weight in ((AS_GOOD_AS, 0.5), (3 * AS_GOOD_AS, 0.75)):
        losses = soft_error(SHARES, y, CLASSES, n)
        assert losses == pytest.approx(weight * wrong + (1 - weight) * half)


def test_a_label_pays_its_cost_and_that_of_labels_near_by() -> None:
    costs = np.array([[0.0, 6.0], [1.0, 0.0]])
    outputs = np.array([[0.2, 0.8], [0.9, 0.1]])  # the label is "ill" where it has more than a seventh
    paid = soft_cost(outputs, np.array(["well", "well"]), CLASSES, AS_GOOD_AS, costs)
    changes = [(f, 1.0) for f in (1 / 4, 1 / 2, 2, 4)] + [(1.0, f) for f in (1 / 4, 1 / 2, 2, 4)]
    near = np.array([np.mean([6 * ill * a > well * b for a, b in changes]) for ill, well in outputs])
    assert near[0] < 1 == near[1]
    assert paid == pytest.approx(0.5 * 1 + 0.5 * near)


def test_weights_count_in_means() -> None:
    numbers, weight = np.array([0, 0, 1]), np.array([3.0, 1.0, 0.0])
    assert brier_score(SHARES, numbers, None) == pytest.approx((0.08 + 0.72 + 0.5) / 3)
    assert Classification(CLASSES).score(SHARES, numbers, weight) == pytest.approx((3 * 0.08 + 0.72) / 4)
    answers, targets = np.array([[1.0], [2.0], [9.0]]), np.array([2.0, 5.0, 9.5])
    assert Regression().losses(answers, targets, 0) == pytest.approx([1, 9, 0.25])
    assert Regression().score(answers, targets, None) == pytest.approx(10.25 / 3)
    assert Regression().score(answers, targets, weight) == pytest.approx(12 / 4)
    assert relative_error(answers, targets, 2.0) == pytest.approx([0.5, 4.5, 0.125])


def test_what_growing_gains_at_most_is_the_impurity_of_the_root() -> None:
    weight = np.array([1.0, 1.0, 2.0])
    assert Classification(CLASSES).spread(np.array([0, 0, 1]), weight) == pytest.approx(0.5)
    assert Regression().spread(np.array([0.0, 0.0, 3.0]), weight) == pytest.approx(2.25 / 2)


def test_of_equal_errors_the_later_one_is_taken_and_nothing_is_tried_after_a_rise() -> None:
    tried = iter([(2, "a"), (1, "b"), (1, "c"), (3, "d"), (0, "e")])
    assert last_before_rise(tried) == (1, "c")
    assert [*tried] == [(0, "e")]


@pytest.mark.parametrize(("weight", "size"), [([9.0, 1.0], 1), ([1.0, 9.0], 3), ([1.0, 1.0], 3)])
def test_weights_decide_how_large_leaves_are(weight: list[float], size: int) -> None:
    answers = {1: [[1.0, 0.0], [0.5, 0.5]], 3: [[0.5, 0.5], [1.0, 0.0]]}
    judge = OutOfBag(Classification(CLASSES), np.array([0, 0]), np.array(weight))

    def grow(settings: TreeSettings) -> Grown:
        return Grown(settings, None, np.array(answers[settings.min_samples_leaf]))

    assert judge.best_leaves(grow, True, (1, 3)).settings == TreeSettings(True, size)
