"""Pruning for the vote: what is counted, that no tree by itself can be improved, budgets, and what is refused."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from ipforest import BudgetPrune, FeatureCosts, Forest, Pruning, PruningSettings
from ipforest.learners.vote_descent import VoteProblem, descend, descend_within, measured
from ipforest.tabular.model_files import load_model, save_model

pytestmark = pytest.mark.xdist_group("votes")  # its kernels are compiled once

COSTS = FeatureCosts([1, 2, 3, 1], [0, 0, -1, -1], [2])
X, Y = load_breast_cancer(return_X_y=True)
MODEL = BudgetPrune(
    RandomForestClassifier(15, random_state=0), budget=6, pruning=PruningSettings(objective="forest"), random_state=0
)


def drawn(seed: int, n_trees: int = 3) -> tuple[Forest, np.ndarray, np.ndarray, np.ndarray]:
    """Fit a small forest; draw examples with labels, and which trees vote on each."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (20, 4)).astype(np.float64), rng.integers(0, 3, 20)
    model = RandomForestClassifier(n_trees, max_leaf_nodes=4, random_state=seed).fit(X, y)
    unseen = rng.integers(0, 5, (12, 4)).astype(np.float64)
    weight = rng.integers(0, 2, (12, n_trees)) * rng.integers(1, 4, 12)[:, None]
    return Forest.from_sklearn(model), unseen, np.eye(3)[rng.integers(0, 3, 12)], weight.astype(np.float64)


def problem_of(seed: int, split_cost: float = 0.0) -> tuple[Forest, VoteProblem, tuple[np.ndarray, ...]]:
    forest, unseen, target, weight = drawn(seed)
    return (
        forest,
        VoteProblem.of(forest, unseen, target, weight, unseen[:7], COSTS, split_cost),
        (unseen, target, weight),
    )


def plainly(
    forest: Forest, kept: np.ndarray, unseen: np.ndarray, target: np.ndarray, weight: np.ndarray, split_cost: float
) -> tuple[float, float]:
    """Count the loss of the vote, example by example, and the cost of the pruned forest."""
    pruned = forest.prune(Pruning(kept[forest.internal_nodes]))
    leaves, loss = pruned.leaves(unseen), 0.0
    prior = forest.value[forest.tree_offsets[:-1]].mean(axis=0)
    for i in range(unseen.shape[0]):
        votes = [
            pruned.value[leaves[tree, i]]
            for tree in range(forest.n_trees)
            if weight[i, tree] > 0 and kept[forest.tree_offsets[tree]]
        ]
        vote = np.mean(votes, axis=0) if votes else prior
        loss += weight[i].max() * float(((target[i] - vote) ** 2).sum())
    return loss / weight.max(axis=1).sum(), float(pruned.cost(unseen[:7], COSTS, split_cost).mean())


def all_prunings(forest: Forest, tree: int) -> list[np.ndarray]:
    """List the prunings of one tree, as nodes kept."""
    nodes = range(*forest.tree_offsets[tree : tree + 2])
    internal = [node for node in nodes if forest.left[node] >= 0]
    found = []
    for bits in product([False, True], repeat=len(internal)):
        kept = np.zeros(forest.n_nodes, dtype=bool)
        kept[internal] = bits
        if all(forest.parent[node] < 0 or kept[forest.parent[node]] for node in np.flatnonzero(kept)):
            found.append(kept)
    return found


def everything(forest: Forest) -> np.ndarray:
    return np.asarray(~forest.is_leaf)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_no_pruning_of_one_tree_is_better_and_losses_and_costs_are_those_of_the_pruned_forest(seed: int) -> None:
    split_cost = 0.3 * (seed % 2)
    forest, problem, data = problem_of(seed, split_cost)
    for lam in (0.0, 0.01, 0.1):
        for start in (everything(forest), np.zeros(forest.n_nodes, dtype=bool)):
            found = descend(problem, start, lam)
            assert (found.loss, found.cost) == pytest.approx(plainly(forest, found.kept, *data, split_cost))
            assert measured(problem, found.kept)[1:] == pytest.approx(found[1:])
            begun = measured(problem, start)
            assert found.loss + lam * found.cost <= begun.loss + lam * begun.cost + 1e-12
            for tree in range(forest.n_trees):
                nodes = slice(*forest.tree_offsets[tree : tree + 2])
                for other in all_prunings(forest, tree):
                    changed = found.kept.copy()
                    changed[nodes] = other[nodes]
                    loss, cost = plainly(forest, changed, *data, split_cost)
                    assert found.loss + lam * found.cost <= loss + lam * cost + 1e-9


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 12), marks=pytest.mark.slow)])
def test_a_budget_is_held_and_the_loss_is_no_larger_than_that_of_the_start(seeds: range) -> None:
    for seed in seeds:
        forest, problem, _ = problem_of(seed)
        start = np.zeros(forest.n_nodes, dtype=bool)
        losses = [descend_within(problem, start, budget) for budget in (0, 1, 2, 4, 20)]
        for budget, found in zip((0, 1, 2, 4, 20), losses, strict=True):
            assert found.cost <= budget + 1e-9
            assert found.loss <= measured(problem, start).loss + 1e-12
        assert losses[-1].loss == pytest.approx(descend(problem, start, 0).loss)


@pytest.mark.parametrize("factor", [1e-6, pytest.param(1e9, marks=pytest.mark.slow)])
def test_the_unit_of_the_targets_does_not_matter(factor: float) -> None:
    for seed in range(6):
        forest, problem, _ = problem_of(seed)
        votes, trees = problem.votes, problem.trees
        other = problem._replace(
            votes=votes._replace(target=votes.target * factor, prior=votes.prior * factor),
            trees=trees._replace(value=trees.value * factor),
        )
        for lam in (0.0, 0.05):
            found = descend(other, everything(forest), lam * factor**2)
            assert found.loss == pytest.approx(descend(problem, everything(forest), lam).loss * factor**2)


@pytest.mark.slow
def test_expected_costs_take_the_place_of_probabilities() -> None:
    forest, unseen, target, weight = drawn(3)
    matrix = np.array([[0.0, 1, 4], [2, 0, 1], [1, 3, 0]])
    problem = VoteProblem.of(forest, unseen, target, weight, unseen, COSTS, class_costs=matrix)
    np.testing.assert_allclose(problem.votes.target, target @ matrix)
    np.testing.assert_allclose(problem.trees.value, forest.value @ matrix)


@pytest.mark.slow
@pytest.mark.long
def test_the_estimator_keeps_the_budget_and_lowers_the_loss_of_the_vote() -> None:
    model = clone(MODEL).fit(X[::2], Y[::2])
    trees = clone(MODEL).set_params(pruning__objective="trees").fit(X[::2], Y[::2])
    kept = np.zeros(model.forest_.n_nodes, dtype=bool)
    kept[model.forest_.internal_nodes] = trees.pruning_.kept
    assert model.vote_loss_ < measured(model._vote, kept).loss
    assert model.result_.pruning == trees.pruning_
    assert float(model.instance_.evaluate(model.pruning_)[1]) <= 6 * (1 + 1e-9)
    smaller = model.at_budget(2)
    assert float(model.instance_.evaluate(smaller.pruning_)[1]) <= 2 * (1 + 1e-9)
    again = pickle.loads(pickle.dumps(model)).at_budget(2)
    assert again.pruning_ == smaller.pruning_
    assert model.at_lambda("1/1000").vote_loss_ == pytest.approx(
        descend(model._vote, kept_of(model.at_lambda("1/1000")), 0.001).loss
    )
    assert model.score(X[1::2], Y[1::2]) > 0.9


def kept_of(model: BudgetPrune) -> np.ndarray:
    kept = np.zeros(model.forest_.n_nodes, dtype=bool)
    kept[model.forest_.internal_nodes] = model.pruning_.kept
    return kept


@pytest.mark.slow
def test_votes_count_on_examples_that_trees_were_not_trained_on() -> None:
    model = clone(MODEL).set_params(validation_fraction=None).fit(X[::2], Y[::2])
    drawn_of = model.estimator_.estimators_samples_
    first = model._vote.voters.examples[: model._vote.voters.last[0]]
    left_out = np.setdiff1d(np.arange(Y[::2].size), drawn_of[0])
    assert first.size == left_out.size
    fitted = RandomForestClassifier(10, random_state=0).fit(X[::4], Y[::4])
    taken = BudgetPrune(fitted, budget=5, pruning=PruningSettings(objective="forest")).fit(X[1::4], Y[1::4])
    assert taken._vote.voters.examples.size == 10 * Y[1::4].size


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"pruning__objective": "forest"}, {"pruning": PruningSettings(refit=True)}])
def test_a_saved_model_goes_to_other_budgets(changes: dict[str, object], tmp_path: Path) -> None:
    model = clone(MODEL).set_params(**changes).fit(X[::4], Y[::4])
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops", allow_pickle=False)
    np.testing.assert_array_equal(loaded.at_budget(2).predict_proba(X), model.at_budget(2).predict_proba(X))


@pytest.mark.slow
def test_regression_lowers_the_squared_error_of_the_vote() -> None:
    Xr, yr = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(15, min_samples_leaf=3, random_state=0)
    models = [
        BudgetPrune(forest, budget=3, pruning=PruningSettings(objective=objective), random_state=0).fit(
            Xr[::2], yr[::2]
        )
        for objective in ("trees", "forest")
    ]
    assert models[1].vote_loss_ < measured(models[1]._vote, kept_of(models[0])).loss
    assert models[1].score(Xr[1::2], yr[1::2]) > 0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pruning__objective": "vote"}, r"^pruning\.objective: expected one of 'trees', 'forest', got 'vote'$"),
        (
            {"estimator": ExtraTreesClassifier(5), "validation_fraction": None},
            r"^pruning\.objective: expected a validation part or trees with bootstrap for 'forest'",
        ),
        (
            {"feature_costs": FeatureCosts([1] * 30, delayed=[3])},
            r"^objective: expected 'trees' with delayed features, got 'forest'$",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(MODEL).set_params(**changes).fit(X, Y)


def test_a_fitted_forest_needs_labels() -> None:
    fitted = RandomForestClassifier(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"^y: expected the targets of X .* objective 'forest', got None$"):
        BudgetPrune(fitted, budget=5, pruning=PruningSettings(objective="forest")).fit(X)
