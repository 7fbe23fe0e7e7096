"""Block coordinate descent: never up, and at its limits scikit-learn's ridge, lasso and logistic regression."""

from dataclasses import replace

import numpy as np
import pytest
from cascade_problems import SETTINGS, random_objective, random_tree
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from ipforest.classifier_trees.block_descent import DescentSettings, descend, fit_leaf, update_node
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.fine_tuning import fine_tuned
from ipforest.classifier_trees.relaxation import PathCost
from ipforest.classifier_trees.resources import Resources
from ipforest.classifier_trees.structure import Initialisation, pruned, quantile_between
from ipforest.costs import FeatureCosts

PRECISE = DescentSettings(tolerance=1e-12, max_block_steps=500, max_gradient_steps=500)
QUICK = DescentSettings(max_sweeps=3, max_block_steps=10)
ONE = np.ones(60)


def linear(loss: str, **changes):
    resources = Resources.of_weights(FeatureCosts.uniform(8), np.eye(8))
    plain = replace(random_objective(loss, PathCost, False, 11), sample_weight=ONE, resources=resources, lam=0.0)
    return replace(plain, cost=PathCost(resources), **changes)


def fitted_node(objective):
    return fit_leaf(objective, ClassifierTree.single(np.zeros(8)), 0, PRECISE)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "loss", "cost", "exits_pay"), [s for s in SETTINGS if s[0] != "lopsided"])
def test_the_objective_never_rises(shape, loss, cost, exits_pay) -> None:
    objective = random_objective(loss, cost, exits_pay, 8)
    start = (
        Initialisation(objective, QUICK).full_tree(3) if shape == "full" else Initialisation(objective, QUICK).chain(4)
    )
    values = [objective.value(start)]
    tree = descend(objective, start, QUICK, record=values.append)
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] < values[0] - 1e-6
    assert objective.value(tree) == pytest.approx(values[-1])


def test_no_cost_and_one_node_is_ridge_regression() -> None:
    objective = linear("squared", rho=0.0, ridge=0.3)
    tree = fitted_node(objective)
    ridge = Ridge(alpha=0.3 * 60, solver="cholesky").fit(objective.phi, objective.target)
    np.testing.assert_allclose(tree.coef[0], ridge.coef_, rtol=1e-9)
    assert tree.intercept[0] == pytest.approx(ridge.intercept_)


def test_no_cost_and_one_node_is_logistic_regression() -> None:
    objective = linear("logistic", rho=0.0, ridge=0.05)
    tree = fitted_node(objective)
    logistic = LogisticRegression(C=1 / (0.05 * 60), tol=1e-10, max_iter=1000).fit(objective.phi, objective.target)
    np.testing.assert_allclose(tree.coef[0], logistic.coef_[0], atol=1e-4)
    assert tree.intercept[0] == pytest.approx(logistic.intercept_[0], abs=1e-4)


@pytest.mark.parametrize(("rho", "lam"), [(0.15, 0.0), (0.0, 0.15), (0.1, 0.05)])
def test_one_node_is_the_lasso_and_prices_are_its_norm(rho: float, lam: float) -> None:
    objective = linear("squared", rho=rho, lam=lam, ridge=1e-12)
    tree = fitted_node(objective)
    lasso = Lasso(alpha=0.15, tol=1e-12).fit(objective.phi, objective.target)
    np.testing.assert_allclose(tree.coef[0], lasso.coef_, atol=2e-4)
    np.testing.assert_array_equal(tree.coef[0] != 0, np.abs(lasso.coef_) > 2e-4)


def test_the_closed_form_is_what_conjugate_gradient_finds() -> None:
    objective = random_objective("squared", PathCost, False, 9, rho=0.0)
    tree = Initialisation(objective, QUICK).full_tree(2)
    scores = tree.scores(objective.phi)
    closed, _, value = update_node(objective, tree, 2, scores, objective.value(tree), PRECISE)

    class Squared:
        value = objective.loss.value
        derivative = objective.loss.derivative

    other = replace(objective, loss=Squared)
    by_gradient, _, other_value = update_node(other, tree, 2, scores, other.value(tree), PRECISE)
    assert value == pytest.approx(other_value, abs=1e-6)
    np.testing.assert_allclose(closed.coef[2], by_gradient.coef[2], atol=1e-2)


def test_weights_that_no_longer_count_become_zero() -> None:
    objective = linear("squared", rho=1e-4, ridge=1e-8)
    tree = ClassifierTree.single(np.r_[1e-200, np.ones(7)])
    scores = tree.scores(objective.phi)
    assert update_node(objective, tree, 0, scores, objective.value(tree), PRECISE)[0].coef[0, 0] == 0


def test_a_price_above_all_gains_buys_nothing() -> None:
    assert not fitted_node(linear("squared", lam=1e3)).coef.any()


def test_early_stopping_gives_the_best_tree_on_validation_data() -> None:
    objective = random_objective("squared", PathCost, False, 10)
    start = Initialisation(objective, QUICK).full_tree(2)
    seen: list[ClassifierTree] = []

    def validate(tree: ClassifierTree) -> float:
        seen.append(tree)
        return float(len(seen) != 2)

    best = descend(objective, start, DescentSettings(tolerance=0.0, patience=2), validate)
    assert best is seen[1]
    assert len(seen) == 4


def test_structures_never_do_worse_on_validation_data() -> None:
    objective, held_out = (random_objective("squared", PathCost, False, seed, lam=0.01) for seed in (12, 13))

    def error(tree: ClassifierTree) -> float:
        return float(np.mean((tree.answer(held_out.phi) - held_out.target) ** 2))

    full = Initialisation(objective, QUICK).full_tree(3)
    small = pruned(full, error)
    assert error(small) <= error(full)
    for node in range(1, small.n_nodes):
        if small.is_leaf[node]:
            assert error(small.without(node)) > error(small)
    greedy = Initialisation(objective, QUICK).grown(held_out.phi, error, 7)
    assert error(greedy) <= error(fit_leaf(objective, ClassifierTree.single(np.zeros(8)), 0, QUICK))
    assert greedy.n_nodes <= 7


def test_fine_tuning_keeps_zeros_and_routes_and_lowers_the_loss() -> None:
    objective = random_objective("squared", PathCost, False, 14, lam=0.1, rho=1e-3)
    tree = Initialisation(objective, QUICK).full_tree(3)
    tuned = fine_tuned(objective, tree, QUICK)
    coef, _ = tuned.answers_by
    assert np.all(coef[tree.coef == 0] == 0)
    np.testing.assert_array_equal(tuned.route(objective.phi), tree.route(objective.phi))
    weight, target = objective.sample_weight, objective.target
    before, after = (weight @ (t.answer(objective.phi) - target) ** 2 for t in (tree, tuned))
    assert after < before


def test_the_median_lies_between_values() -> None:
    assert quantile_between(np.array([3.0, 1, 1, 3]), np.ones(4)) == 2
    assert quantile_between(np.array([5.0, 1, 2]), np.array([2.0, 1, 1])) == 3.5
    assert quantile_between(np.array([4.0, 4]), np.ones(2)) == 4
    assert quantile_between(np.array([1.0, 2, 3, 4]), np.ones(4), 0.75) == 3.5


def test_conjugate_gradients_to_convergence_end_where_no_slope_is_left() -> None:
    objective = random_objective("logistic", PathCost, False, 3, lam=0.0, rho=0.0)
    tree = random_tree("full", 8, 3, zeros=0.0)

    def after(steps: int | None) -> ClassifierTree:
        settings = DescentSettings(max_gradient_steps=steps, max_block_steps=1, clamp_shares=())
        return update_node(objective, tree, 0, tree.scores(objective.phi), objective.value(tree), settings)[0]

    values = [objective.value(after(steps)) for steps in (1, 5, None)]
    assert values[2] < values[1] < values[0]
    end = after(None)
    for step in 1e-3 * np.vstack([np.eye(8), -np.eye(8)]):
        moved = end.with_node(0, end.coef[0] + step, float(end.intercept[0]), float(end.threshold[0]))
        assert objective.value(moved) > values[2] - 1e-8
