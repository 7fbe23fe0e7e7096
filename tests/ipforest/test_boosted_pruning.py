"""Boosted trees as pruning instances: what a pruning loses by the instance is what the steps of the trees lose."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier

import proofs
from ipforest import FeatureCosts, PruningInstance, prune_path, solve
from ipforest.ensemble import BoostedTrees, read
from ipforest.ensemble.margin_losses import MARGIN_LOSSES, encode_targets
from ipforest.ensemble.refitting import fill_inner_values, mean_loss, refit_by_newton, refit_jointly

TASKS: dict[str, tuple[Any, Any]] = {
    "two classes": (GradientBoostingClassifier(n_estimators=6, random_state=0), load_breast_cancer),
    "three classes": (GradientBoostingClassifier(n_estimators=3, random_state=0), load_iris),
    "targets": (GradientBoostingRegressor(n_estimators=6, random_state=0), load_diabetes),
    "exponential": (GradientBoostingClassifier(loss="exponential", n_estimators=5, random_state=0), load_breast_cancer),
}


def boosted(task: str) -> tuple[BoostedTrees, Any, Any]:
    estimator, load = TASKS[task]
    X, y = load(return_X_y=True)
    trees = read(estimator.fit(X[::2], y[::2]))
    assert isinstance(trees, BoostedTrees)
    return fill_inner_values(trees, X[::2]), X, y


def instance_of(trees: BoostedTrees, X: Any, y: Any, loss: str, **options: Any) -> PruningInstance:
    costs = FeatureCosts(np.arange(1, X.shape[1] + 1) / 4)
    return PruningInstance.from_boosted(trees, X, costs, (X, y), loss, **options)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_derivatives_are_those_of_the_loss(name: str) -> None:
    loss, rng, step = MARGIN_LOSSES[name], np.random.default_rng(0), 1e-5
    margins = rng.normal(size=(50, 3 if name == "multinomial logit" else 1))
    targets = encode_targets(rng.integers(3 if margins.shape[1] == 3 else 2, size=50), np.arange(margins.shape[1] + 1))
    targets = encode_targets(np.arange(50) % 3, np.arange(3)) if margins.shape[1] == 3 else targets[:, :1]
    for output in range(margins.shape[1]):
        shift = step * np.eye(margins.shape[1])[output]
        up, here, down = (loss.value(margins + sign * shift, targets) for sign in (1, 0, -1))
        gradient, hessian = (part[:, output] for part in loss.derivatives(margins, targets))
        np.testing.assert_allclose(gradient, (up - down) / (2 * step), atol=1e-8)
        np.testing.assert_allclose(hessian, (up - 2 * here + down) / step**2, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_the_last_tree_is_pruned_by_the_loss_of_the_whole(task: str) -> None:
    """With one tree left to prune, "stage" is the loss of the ensemble, but for what rounding adds."""
    trees, X, y = boosted(task)
    before = trees.first(trees.n_trees - 1)
    last = trees.reordered([trees.n_trees - 1, *range(trees.n_trees - 1)]).first(1)
    margins = before.margins(X)
    targets = encode_targets(y, trees.classes)
    loss = MARGIN_LOSSES[trees.link]
    instance = instance_of(trees, X, y, "stage")
    offset = instance.internal_offsets[-2]
    path = prune_path(instance)
    for index in range(0, len(path.errors), max(1, len(path.errors) // 8)):
        kept = path.pruning_at(index).kept[offset:]
        pruned = last.prune(type(path.pruning_at(0))(kept))
        moved = margins.copy()
        moved[:, pruned.output_columns()[0]] += pruned.value[pruned.leaves(pruned.checked_examples(X))[0]]
        nodes = instance.leaves(path.pruning_at(index))[instance.tree_offsets[-2] :]
        counted = float(instance.error_unit) * instance.errors[instance.tree_offsets[-2] :][nodes].sum()
        tolerance = float(instance.error_unit) * instance.n_nodes
        assert counted == pytest.approx(loss.value(moved, targets).mean(), abs=tolerance)


def test_for_squared_errors_both_losses_gain_the_same() -> None:
    trees, X, y = boosted("targets")
    second, stage = (instance_of(trees, X, y, loss, resolution="0.001") for loss in ("second-order", "stage"))
    assert second.error_unit == stage.error_unit
    assert np.abs(second.gain - stage.gain).max() <= 2
    assert second.gain.max() > 10**6


@pytest.mark.parametrize("loss", ["second-order", "stage"])
@pytest.mark.parametrize("task", TASKS)
def test_prunings_are_certified_and_held_out_rows_may_count(task: str, loss: str) -> None:
    trees, X, y = boosted(task)
    training = instance_of(trees, X[::2], y[::2], loss)
    held_out = PruningInstance.from_boosted(
        trees, X[::2], FeatureCosts.uniform(X.shape[1]), (X[1::2], y[1::2], np.linspace(0, 2, len(y[1::2]))), loss
    )
    assert held_out.gain.min() < 0
    for instance in (training, held_out):
        path = prune_path(instance)
        assert proofs.verify_path(instance, path)
        lam = path.breakpoints[len(path.breakpoints) // 2]
        result = solve(instance, lam)
        assert proofs.verify_optimality(instance, result)
        pruned = trees.prune(result.pruning)
        assert pruned.n_internal == result.pruning.kept.sum()
        assert pruned.cost(X[::2], FeatureCosts.uniform(X.shape[1])).shape == (len(y[::2]),)


def test_newton_refit_finds_the_values_of_boosting_again() -> None:
    trees, X, y = boosted("two classes")
    again = refit_by_newton(trees, X[::2], y[::2], learning_rate=0.1, l2=0.0)
    np.testing.assert_allclose(again.value[again.is_leaf], trees.value[trees.is_leaf], rtol=1e-6)
    asked: list[int] = []
    refit_by_newton(trees, X[::2], y[::2], check=lambda: asked.append(1))
    assert len(asked) == trees.n_trees
    damped = refit_by_newton(trees, X[::2], y[::2], learning_rate=0.1, l2=50.0)
    assert np.abs(damped.value).max() < np.abs(again.value).max()


def test_where_examples_end_in_pruned_trees_follows_from_where_they_ended() -> None:
    trees, X, y = boosted("two classes")
    leaves = trees.leaves(trees.checked_examples(X))
    data = trees, X, FeatureCosts.uniform(X.shape[1]), (X, y)
    path = prune_path(PruningInstance.from_boosted(*data, leaves=leaves))
    assert path.errors == prune_path(PruningInstance.from_boosted(*data)).errors
    for place in range(len(path.breakpoints) + 1):
        kept = path.pruning_at(place).kept
        pruned = trees.prune(path.pruning_at(place))
        ends = trees.nodes_after(kept)[leaves]
        np.testing.assert_array_equal(ends, pruned.leaves(pruned.checked_examples(X)))
        known = refit_by_newton(pruned, X, y, leaves=iter(ends))
        np.testing.assert_array_equal(known.value, refit_by_newton(pruned, X, y).value)


@pytest.mark.parametrize("task", TASKS)
def test_refits_lower_the_loss(task: str) -> None:
    trees, X, y = boosted(task)
    weight = np.random.default_rng(0).random(len(y))
    path = prune_path(instance_of(trees, X, y, "second-order"))
    pruned = trees.prune(path.pruning_at(len(path.errors) // 2))
    before = mean_loss(pruned, X, y, weight)
    jointly = refit_jointly(pruned, X, y, weight, l2=1.0)
    assert mean_loss(jointly, X, y, weight) < before
    shaken = replace(pruned, value=-pruned.value)
    assert mean_loss(refit_by_newton(shaken, X, y, weight), X, y, weight) < mean_loss(shaken, X, y, weight)
    tight = refit_jointly(pruned, X, y, weight, l2=1e9)
    np.testing.assert_allclose(tight.value, pruned.value, atol=1e-3)


def test_inner_values_are_means_of_the_leaves_below() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    trees = read(HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5).fit(X, y))
    filled = fill_inner_values(trees, X)
    np.testing.assert_array_equal(filled.margins(X), trees.margins(X))
    leaves = filled.leaves(filled.checked_examples(X))
    for tree, root in enumerate(filled.tree_offsets[:-1]):
        assert filled.value[root, 0] == pytest.approx(filled.value[leaves[tree], 0].mean())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"loss": "gini"}, "loss: expected one of 'second-order', 'stage' for boosted trees, got 'gini'"),
        ({"error_data": 3}, r"error_data: expected a pair \(X, y\) or \(X, y, weights\), got int"),
        ({"y": ["?"] * 569}, r"y: expected classes among \[0, 1\], got '\?'"),
        ({"weights": np.zeros(569)}, "error_data: expected finite weights >= 0, some > 0"),
        ({"weights": np.ones(3)}, "error_data: expected 569 targets and weights, got 569, 3"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], text: str) -> None:
    trees, X, y = boosted("two classes")
    data = (X, arguments.get("y", y), arguments.get("weights", np.ones(569)))
    with pytest.raises(ValueError, match=text):
        PruningInstance.from_boosted(
            trees,
            X,
            FeatureCosts.uniform(X.shape[1]),
            arguments.get("error_data", data),
            arguments.get("loss", "stage"),
        )
