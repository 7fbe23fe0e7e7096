"""Instances of fitted forests: routing for IP1, BudgetPrune's split cost, groups, held-out errors."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fitted_forests import CLASSIFIERS, examples, fitted, random_pruning

import formulations
from formulations.arrays import linear_program
from formulations.solving import solve_lp, solve_mip
from ipforest import FeatureCosts, Forest, PruningInstance, Status, solve_budget
from ipforest.solvers.highs import run

GROUPED = FeatureCosts(["1.25", 0, 2, "0.5", 1, 1, 3], groups=[0, 0, -1, -1, 1, 1, -1], group_fees=["2.5", 1])


def instance_of(name, n_examples=25, **options):
    forest = Forest.from_sklearn(fitted("classifier", name))
    X, labels, _ = examples(n_examples, seed=9)
    if options.pop("held_out", False):
        options["error_data"] = (X, labels)
    return forest, X, PruningInstance.from_forest(forest, X, GROUPED, **options)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_routing_is_the_leaf_that_the_forest_gives(name):
    forest, X, instance = instance_of(name)
    assert np.array_equal(instance.example_leaf.T - forest.tree_offsets[:-1], forest.apply(X))


def test_routing_must_agree_with_the_first_uses():
    _, _, instance = instance_of("forest")
    elsewhere = instance.example_leaf[:, ::-1].copy()
    with pytest.raises(ValueError, match=r"example_leaf: expected node .*, where example .* first needs a unit"):
        replace(instance, example_leaf=elsewhere)
    inner = instance.example_leaf.copy()
    inner[0, 0] = 0
    with pytest.raises(ValueError, match="example_leaf: expected leaves of tree t in row t, got another node"):
        replace(instance, example_leaf=inner)
    with pytest.raises(ValueError, match=r"example_leaf: expected shape \(6, 25\), got \(6, 24\)"):
        replace(instance, example_leaf=instance.example_leaf[:, 1:])


def test_split_cost_is_budgetprunes_depth_term():
    """Sum |S_h| d_h z_h over the leaves of a pruned forest, from the routed examples."""
    forest, X, instance = instance_of("forest entropy", split_cost="0.3")
    model_costs = []
    for seed in range(20):
        pruning = random_pruning(forest, seed)
        pruned = forest.prune(pruning)
        leaf = pruned.apply(X) + pruned.tree_offsets[:-1]
        depth = np.zeros(pruned.n_nodes, dtype=int)
        for node, above in enumerate(pruned.parent.tolist()):
            depth[node] = depth[above] + 1 if above >= 0 else 0
        tests = int(depth[leaf].sum())
        specification = formulations.specify("compact", instance, 1)
        program = formulations.arrays.linear_program(specification)
        z, w = instance.leaves(pruning), instance.acquired(pruning)
        units = program.objective @ np.append(z, w) + program.constant
        error, cost = instance.evaluate(pruning)
        assert Fraction(units) * specification.objective_unit == error + cost
        features = sum(GROUPED.unit_costs[unit] for unit in instance.acquisition_unit[w]) / len(X)
        assert cost == features + Fraction(3, 10) * tests / len(X)
        model_costs.append(cost)
    assert len(set(model_costs)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"split_cost": "0.01"}, {"held_out": True}, {"loss": "entropy"}])
@pytest.mark.parametrize("name", ["forest", "extra trees", "bagging that misses classes"])
def test_all_forms_agree_on_fitted_forests(name, options):
    _, _, instance = instance_of(name, **options)
    for lam in (Fraction(1, 100), Fraction(1, 30), Fraction(1, 8)):
        results = [solve_lp(instance, lam, formulation=form) for form in ("closure", "compact", "ip3")]
        results.append(solve_mip(instance, lam))
        assert {result.objective for result in results} == {results[0].bound}
        assert {result.status for result in results} == {Status.OPTIMAL}


def test_ip1_is_weaker_on_a_fitted_forest():
    _, _, instance = instance_of("forest")
    specification = formulations.specify("ip1", instance, "1/30", relaxed=True)
    value = run(linear_program(specification)).objective * float(specification.objective_unit)
    assert value < 0.95 * float(solve_lp(instance, Fraction(1, 30)).objective)


def test_budgets_between_nothing_and_everything():
    _, _, instance = instance_of("forest")
    _, full = instance.evaluate(instance.unpruned)
    errors = []
    for share in (0, 1, 4, 10):
        relaxed = solve_budget(instance, full * share / 10, "lp1")
        exact = solve_budget(instance, full * share / 10, "mip")
        assert exact.status is Status.OPTIMAL
        assert relaxed.bound == relaxed.mixture_error <= exact.error <= relaxed.error
        errors.append(exact.error)
    assert errors == sorted(errors, reverse=True)
