"""Boosting that pays: without prices it is scikit-learn's, and what has been bought is free for trees that follow."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor

from ipforest import FeatureCosts
from ipforest.ensemble.refitting import mean_loss, refit_by_newton
from ipforest.growing import AcquisitionState, CodedExamples, Gradient, Grower
from ipforest.growing.boosting import Boosting

LOADS = {"two classes": load_breast_cancer, "three classes": load_iris, "targets": load_diabetes}


def boosting(task, costs=None, max_bins=255):
    X, y = LOADS[task](return_X_y=True)
    X = X.astype(np.float32)
    classes = None if task == "targets" else np.unique(y)
    costs = FeatureCosts.uniform(X.shape[1]) if costs is None else costs
    return Boosting(X, CodedExamples.from_examples(X, max_bins), y, np.ones(len(y)), classes, costs, 0.3)


def test_without_prices_it_is_gradient_boosting():
    data = boosting("targets", max_bins=None)
    trees = data.go_on(data.start(), 8, Grower(Gradient(0.0), max_depth=3, price_weight=0.0))
    model = GradientBoostingRegressor(n_estimators=8, learning_rate=0.3, max_depth=3).fit(data.examples, data.y)
    assert trees.n_trees == 9
    np.testing.assert_allclose(trees.predict(data.examples), model.predict(data.examples), rtol=1e-5)


@pytest.mark.parametrize("task", LOADS)
def test_the_values_are_newton_steps_and_lower_the_loss(task):
    data = boosting(task)
    trees = data.go_on(data.start(), 5, Grower(Gradient(1.0), max_depth=2, price_weight=0.0))
    losses = [mean_loss(trees.first(n), data.examples, data.y) for n in range(1, trees.n_trees + 1)]
    assert losses[-1] < 0.8 * losses[0]
    if task != "three classes":
        again = refit_by_newton(trees, data.examples, data.y, learning_rate=0.3, l2=1.0)
        np.testing.assert_allclose(again.value, trees.value, atol=1e-9)


@pytest.mark.parametrize("task", LOADS)
def test_trees_that_follow_use_what_is_bought(task):
    data = boosting(task)
    first = data.go_on(data.start(), 2, Grower(Gradient(1.0), max_depth=2, price_weight=0.0))
    free = data.go_on(first, 6, Grower(Gradient(1.0), max_depth=3, price_weight=1e9))
    np.testing.assert_array_equal(free.first(first.n_trees).value, first.value)
    assert free.n_trees > first.n_trees
    np.testing.assert_array_equal(free.cost(data.examples, data.costs), first.cost(data.examples, data.costs))
    assert mean_loss(free, data.examples, data.y) < mean_loss(first, data.examples, data.y)
    nothing = data.go_on(data.start(), 6, Grower(Gradient(1.0), max_depth=3, price_weight=1e9))
    assert nothing.n_internal == 0


def test_higher_prices_buy_less_and_groups_are_paid_once():
    costs = FeatureCosts(np.zeros(10), groups=np.arange(10) // 5, group_fees=[1, 1])
    data = boosting("targets", costs)
    means = [
        data.go_on(data.start(), 10, Grower(Gradient(1.0), max_depth=3, price_weight=weight))
        .cost(data.examples, costs)
        .mean()
        for weight in (0.0, 300.0, 1e4)
    ]
    assert means[0] == 2.0
    assert means[0] > means[1] > means[2] == 0.0


def test_state_of_trees_is_each_examples_own():
    data = boosting("two classes")
    trees = data.go_on(data.start(), 3, Grower(Gradient(1.0), max_depth=3, price_weight=0.0))
    state = AcquisitionState.per_example(data.costs, len(data.y))
    state.record_trees(trees, trees.leaves(trees.checked_examples(data.examples)))
    np.testing.assert_array_equal(state.bought, trees.feature_usage(data.examples) > 0)
    with pytest.raises(ValueError, match="state: expected one in which each example buys for itself"):
        AcquisitionState.per_ensemble(data.costs).record_trees(trees, trees.leaves(data.examples))
