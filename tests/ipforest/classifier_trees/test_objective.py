"""The relaxed objective: against its formula, gradients against finite differences, bounds above what they bound."""

from dataclasses import replace

import numpy as np
import pytest
from cascade_problems import SETTINGS, random_objective, random_tree
from scipy.optimize import approx_fprime

from ipforest.classifier_trees.block_descent import DescentSettings, RestrictedBound, update_node
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.objective import Objective, distinct
from ipforest.classifier_trees.relaxation import PathCost


def by_formula(objective: Objective, tree: ClassifierTree) -> float:
    """(12), (19) and section 4.1, loop by loop."""
    arrival, leaving = tree.traverse(tree.scores(objective.phi))
    n_samples = objective.phi.shape[0]
    total = objective.rho * np.abs(tree.coef).sum() + 0.5 * objective.ridge * (tree.coef**2).sum()
    for node in range(tree.n_nodes):
        score = objective.phi @ tree.coef[node] + tree.intercept[node]
        loss = objective.loss.value(score, objective.target)
        share = (leaving if objective.exits_pay else arrival)[:, node]
        total += (objective.sample_weight * share * loss).sum() / n_samples
    members = objective.resources.members.toarray()
    for resource, price in zip(members, objective.resources.prices, strict=True):
        squares = [(resource * tree.coef[node] ** 2).sum() for node in range(tree.n_nodes)]
        if isinstance(objective.cost, PathCost):
            for end in range(tree.n_nodes):
                on_path = np.flatnonzero(tree.on_path[end])
                total += objective.lam * price * leaving[:, end].mean() * np.sqrt(sum(squares[j] for j in on_path))
        else:
            shares = arrival.mean(axis=0)
            total += objective.lam * price * np.sqrt(sum((shares[j] ** 2) * squares[j] for j in range(tree.n_nodes)))
    return float(total)


@pytest.mark.parametrize(("shape", "loss", "cost", "exits_pay"), SETTINGS)
def test_the_value_is_the_formula(shape, loss, cost, exits_pay) -> None:
    objective, tree = random_objective(loss, cost, exits_pay, 1), random_tree(shape, 8, 2)
    assert objective.value(tree) == pytest.approx(by_formula(objective, tree))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "loss", "cost", "exits_pay"), SETTINGS)
def test_gradients_and_bounds_at_every_node(shape, loss, cost, exits_pay) -> None:
    objective, tree = random_objective(loss, cost, exits_pay, 3), random_tree(shape, 8, 4, zeros=0.0)
    rng = np.random.default_rng(5)
    scores = tree.scores(objective.phi)
    for node in range(tree.n_nodes):
        problem = objective.problem_at(tree, node, scores)
        squares = objective.resources.squares(tree.coef)
        bound = objective.cost.bound(tree, node, squares, problem.arrival)
        function = RestrictedBound(problem, bound, np.abs(tree.coef[node]), np.arange(8), objective.phi)
        here = np.concatenate([tree.coef[node], [tree.intercept[node], tree.threshold[node]]])
        norm = 0.5 * objective.rho * np.abs(tree.coef[node]).sum()

        def exact(parameters, node=node):
            return objective.value(tree.with_node(node, parameters[:-2], parameters[-2], parameters[-1]))

        touching = exact(here) - function(here)[0]
        for step in rng.normal(size=(3, 10)) * 0.3:
            there = here + step
            value, gradient = function(there)
            numerical = approx_fprime(there, lambda x, f=function: f(x)[0], 1e-7)
            np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-5)
            assert exact(there) <= value + touching + 1e-9
        np.testing.assert_allclose(function(here)[1], approx_fprime(here, exact, 1e-7), rtol=1e-4, atol=1e-5)
        assert touching >= norm - 1e-9


def test_the_cost_of_a_path_is_what_its_nodes_need() -> None:
    objective, tree = random_objective("squared", PathCost, False, 6), random_tree("full", 8, 7)
    members, prices = objective.resources.members.toarray(), objective.resources.prices
    costs = objective.resources.path_cost(tree)
    for node in range(tree.n_nodes):
        weights = (tree.coef[tree.on_path[node]] != 0).any(axis=0)
        assert costs[node] == pytest.approx(prices[(members[:, weights] > 0).any(axis=1)].sum())


@pytest.mark.parametrize(("shape", "loss", "cost", "exits_pay"), SETTINGS)
def test_equal_examples_count_as_often_as_they_stand(shape, loss, cost, exits_pay) -> None:
    few, tree = random_objective(loss, cost, exits_pay, 6), random_tree(shape, 8, 7)
    rng = np.random.default_rng(8)
    every = rng.permutation(np.repeat(np.arange(60), rng.integers(1, 5, 60)))
    changes = {name: getattr(few, name)[every] for name in ("phi", "target", "sample_weight")}
    repeated = replace(few, **changes, share=np.full(every.size, 1 / every.size))
    rows, share = distinct(repeated.phi, repeated.target)
    changes = {name: getattr(repeated, name)[rows] for name in ("phi", "target", "sample_weight")}
    merged = replace(repeated, **changes, share=share)
    assert rows.size == 60
    assert np.all(np.diff(rows) > 0)
    assert share.sum() == pytest.approx(1)
    assert merged.value(tree) == pytest.approx(repeated.value(tree))
    settings = DescentSettings(max_block_steps=2)
    trees = [update_node(goal, tree, 0, tree.scores(goal.phi), 1.0, settings)[0] for goal in (merged, repeated)]
    np.testing.assert_allclose(trees[0].coef, trees[1].coef, rtol=1e-5, atol=1e-7)
