"""Pictures hold the numbers they claim to show."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS
from fitted_forests import N_FEATURES, examples
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from ipforest import BoostGrowth, BoostSearch, BudgetBoost, BudgetBoostRegressor, BudgetPrune, EarlyExit, FeatureCosts
from ipforest.experiments.comparison import Comparison, Outcome
from ipforest.plotting import (
    TradeoffDisplay,
    draw_purchases,
    draw_tree,
    plot_purchases,
    plot_reliability,
    plot_stopping,
    plot_stops,
)

X, LABELS_X, TARGET = examples(240, seed=41)
X_TEST, LABELS_TEST, TARGET_TEST = examples(100, seed=43)
COSTS = [1, 1, 1, 5, 5, 5, 5]


@pytest.fixture(scope="module")
def model() -> BudgetPrune:
    forest = RandomForestClassifier(8, max_depth=6, random_state=0)
    return BudgetPrune(forest, feature_costs=COSTS, budget=3, random_state=0).fit(X, LABELS_X)


def points(line) -> list[tuple[float, float]]:
    return list(zip(*(values.tolist() for values in line.get_data()), strict=True))


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_path_is_drawn_point_by_point(model) -> None:
    display = TradeoffDisplay.from_path(model.path_, budget="2.5")
    (line,) = display.lines_
    expected = [(float(cost), float(error)) for cost, error in zip(model.path_.costs, model.path_.errors, strict=True)]
    assert points(line) == expected
    (axes,), (budget_line,) = display.axes_, display.budget_lines_
    assert budget_line.get_xdata() == [2.5, 2.5]
    assert display.figure_ is axes.figure
    assert texts(axes) == ["optimal prunings", "budget 2.5", "pruning taken"]
    best = model.path_.at_budget("2.5")
    assert points(axes.lines[-1]) == [(float(best.cost), float(best.error))]


def test_a_path_without_a_budget(model) -> None:
    display = TradeoffDisplay.from_path(model.path_)
    assert display.budget_lines_ == []
    assert texts(display.axes_[0]) == ["optimal prunings"]


def test_an_estimator_is_drawn_with_its_test_errors(model) -> None:
    display = TradeoffDisplay.from_estimator(model, X_TEST, LABELS_TEST)
    optimised, tried = display.lines_
    path = model.path_
    assert len(points(optimised)) == len(path.costs)
    for index, (cost, error) in enumerate(points(tried)):
        pruned = model.forest_.prune(path.pruning_at(index)).without_bare_roots()
        assert cost == pruned.cost(X_TEST, model.costs_).mean()
        assert error == np.mean(pruned.predict(X_TEST) != LABELS_TEST)
    names = ["in-bag error of the trees, as optimised", "test error rate of the vote"]
    assert [panel.get_ylabel() for panel in display.axes_] == names
    assert [panel.get_xlabel() for panel in display.axes_] == ["cost per example"] * 2
    error, cost = model.instance_.evaluate(model.pruning_)
    expected = [(float(cost), float(error)), (model.cost(X_TEST).mean(), 1 - model.score(X_TEST, LABELS_TEST))]
    np.testing.assert_allclose([points(panel.lines[-1])[0] for panel in display.axes_], expected)


def test_a_long_path_is_tried_at_some_points(model) -> None:
    display = TradeoffDisplay.from_estimator(model, X_TEST, LABELS_TEST, max_points=4)
    optimised, tried = display.lines_
    assert len(points(optimised)) == len(model.path_.costs) > 4
    assert 2 <= len(points(tried)) <= 4
    costs = [cost for cost, _ in points(tried)]
    assert (max(costs), min(costs)) == (model.at_lambda(0).cost(X_TEST).mean(), 0)
    with pytest.raises(ValueError, match="max_points: expected an integer >= 1, got 0"):
        TradeoffDisplay.from_estimator(model, X_TEST, LABELS_TEST, max_points=0)


def test_regression_shows_squared_errors() -> None:
    forest = RandomForestRegressor(4, max_depth=4, random_state=0)
    regressor = BudgetPrune(forest, feature_costs=COSTS, lam="0.05", random_state=0).fit(X, TARGET)
    display = TradeoffDisplay.from_estimator(regressor, X_TEST, TARGET_TEST, max_points=5)
    assert display.axes_[1].get_ylabel() == "mean squared test error of the average"
    assert display.budget_lines_ == []
    expected = np.mean((regressor.predict(X_TEST) - TARGET_TEST) ** 2)
    np.testing.assert_allclose(points(display.axes_[1].lines[-1])[0][1], expected)


def test_an_unfitted_estimator_is_refused() -> None:
    with pytest.raises(NotFittedError):
        TradeoffDisplay.from_estimator(BudgetPrune(RandomForestClassifier()), X_TEST, LABELS_TEST)


def test_axes_can_be_given(model) -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert TradeoffDisplay.from_path(model.path_, ax=left).axes_ == [left]
    assert draw_tree(model.forest_, 0, model.path_.node_lambda, colorbar=False, ax=right) is right
    assert len(plt.get_fignums()) == 1


def test_a_display_can_be_drawn_again(model) -> None:
    display = TradeoffDisplay.from_estimator(model, X_TEST, LABELS_TEST, max_points=3)
    first = [points(line) for line in display.lines_]
    _, axes = plt.subplots(1, 2)
    assert display.plot(axes) is display
    assert display.axes_ == list(axes)
    assert [points(line) for line in display.lines_] == first
    with pytest.raises(ValueError, match="axes: expected 2, one per kind of error, got 1"):
        display.plot(axes[:1])


def test_methods_are_compared_by_test_error() -> None:
    outcomes = [
        Outcome(method, seed, budget, 0.0, 0.0, error + seed / 100, budget - 0.5)
        for method, error in (("ours", 0.1), ("theirs", 0.2))
        for seed in range(3)
        for budget in (1.0, 2.0)
    ]
    axes = Comparison("wine", "features", tuple(outcomes)).plot()
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert len({line.get_marker() for line in axes.lines}) == 2
    np.testing.assert_allclose(lines["ours"], [[1, 0.11], [2, 0.11]])
    np.testing.assert_allclose(lines["theirs"], [[1, 0.21], [2, 0.21]])
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([band.min(), band.max()], 0.11 + np.array([-1, 1]) * 0.01 / np.sqrt(3))
    assert "budget" in axes.get_xlabel()
    assert "3 seeds" in axes.get_title()


def drawn_nodes(axes) -> list[PathCollection]:
    return [item for item in axes.collections if isinstance(item, PathCollection)]


def test_a_tree_shows_every_node_once(model) -> None:
    forest, tree = model.forest_, 3
    axes = draw_tree(forest, tree, model.path_.node_lambda)
    n_nodes = forest.tree_offsets[tree + 1] - forest.tree_offsets[tree]
    places = np.concatenate([item.get_offsets() for item in drawn_nodes(axes)])
    assert len(places) == len(np.unique(places, axis=0)) == n_nodes
    edges = [item for item in axes.collections if isinstance(item, LineCollection)]
    assert sum(len(item.get_segments()) for item in edges) == n_nodes - 1
    for segment in np.concatenate([item.get_segments() for item in edges if item.get_segments()]):
        (_, upper), (_, lower) = segment
        assert lower == upper - 1


@pytest.mark.parametrize("position", [0, 1, 2, -1])
def test_a_tree_shows_what_lambda_keeps(model, position: int) -> None:
    """Coloured are the tests of the pruned tree, squares its leaves, faded the rest."""
    forest, tree = model.forest_, 2
    lam = model.path_.breakpoints[position]
    axes = draw_tree(forest, tree, model.path_.node_lambda, lam=lam, colorbar=False)
    start, stop = forest.tree_offsets[tree : tree + 2]
    inside = (forest.internal_nodes >= start) & (forest.internal_nodes < stop)
    kept = int(model.path_.pruning(lam).kept[inside].sum())
    gone, leaves, tests = drawn_nodes(axes)
    assert len(tests.get_offsets()) == kept
    assert len(leaves.get_offsets()) == kept + 1
    assert len(gone.get_offsets()) <= inside.sum() - kept


def test_colours_are_the_lambdas(model) -> None:
    axes = draw_tree(model.forest_, 0, model.path_.node_lambda)
    tests = drawn_nodes(axes)[-1]
    inside = model.forest_.internal_nodes < model.forest_.tree_offsets[1]
    expected = sorted(float(value) for value in model.path_.node_lambda[inside] if value > 0)
    shown = np.asarray(tests.get_array().filled(np.nan))
    np.testing.assert_allclose(sorted(shown[np.isfinite(shown)]), expected)
    assert np.isnan(shown).sum() == inside.sum() - len(expected)
    assert len(axes.figure.axes) == 2


def test_tests_are_named(model) -> None:
    names = [f"feature number {number}" for number in range(N_FEATURES)]
    axes = draw_tree(model.forest_, 1, model.path_.node_lambda, feature_names=names)
    root = int(model.forest_.tree_offsets[1])
    written = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert written[0] == names[model.forest_.feature[root]]
    assert 1 <= len(written) <= 7
    axes.figure.canvas.draw()


def test_dollars_in_names_are_no_formula(model) -> None:
    names = [rf"price $\bad{number}$ [$]" for number in range(N_FEATURES)]
    axes = draw_tree(model.forest_, 1, model.path_.node_lambda, feature_names=names)
    axes.figure.canvas.draw()
    root = int(model.forest_.tree_offsets[1])
    shown = axes.texts[0].get_text().replace("\n", " ")
    assert shown == names[model.forest_.feature[root]].replace("$", r"\$")


def test_a_tree_of_one_leaf_and_free_nodes_can_be_drawn() -> None:
    roots_only = RandomForestClassifier(2, min_samples_split=1000, random_state=0)
    single = BudgetPrune(roots_only, random_state=0).fit(X, LABELS_X)
    figure = draw_tree(single.forest_, 0, single.path_.node_lambda).figure
    figure.canvas.draw()
    assert len(figure.axes) == 1  # no scale of colours where nothing has one
    free = BudgetPrune(RandomForestClassifier(2, max_depth=3), feature_costs=[0] * 7, random_state=0).fit(X, LABELS_X)
    assert np.isinf(free.path_.node_lambda.astype(float)).any()
    draw_tree(free.forest_, 1, free.path_.node_lambda).figure.canvas.draw()
    TradeoffDisplay.from_path(free.path_).figure_.canvas.draw()


@pytest.mark.parametrize(
    ("tree", "drop", "text"),
    [
        (8, 0, r"tree: expected 0\.\.7, got 8"),
        (-1, 0, r"tree: expected 0\.\.7, got -1"),
        (0, 1, "node_lambda: expected .* numbers, one an internal node, got"),
    ],
)
def test_bad_requests_are_refused(model, tree: int, drop: int, text: str) -> None:
    values = model.path_.node_lambda
    with pytest.raises(ValueError, match=text):
        draw_tree(model.forest_, tree, values[: values.size - drop])


@pytest.fixture(scope="module")
def stopping() -> EarlyExit:
    forest = RandomForestClassifier(8, max_depth=6, random_state=0)
    return EarlyExit(forest, feature_costs=COSTS, budget=9, random_state=0).fit(X, LABELS_X)


def test_a_stopping_rule_is_drawn_level_by_level(stopping) -> None:
    axes = plot_stopping(stopping)
    curve, whole, taken, budget = axes.lines
    assert points(curve) == list(zip(stopping.curve_.cost, stopping.curve_.error, strict=True))
    assert points(whole) == [(stopping.paths_.cost[:, -1].mean(), stopping.paths_.loss[:, -1].mean())]
    assert points(taken)[0] in points(curve)
    assert budget.get_xdata()[0] == 9
    assert texts(axes) == ["with stopping", "no example stops", "level taken", "budget 9"]


def test_stops_are_counted_by_prediction(stopping) -> None:
    axes = plot_stops(stopping, X_TEST)
    heights = [bar.get_height() for container in axes.containers for bar in container]
    assert sum(heights) == X_TEST.shape[0]
    assert len(axes.containers) == len(stopping.classes_)
    most = int(stopping.acquired(X_TEST).sum(axis=1).max())
    assert axes.get_xlim() == (-0.6, most + 0.6)  # the bar of those that buy nothing is as wide as the others


def test_purchases_are_shares_of_each_class(stopping) -> None:
    axes = plot_purchases(stopping, X_TEST, LABELS_TEST)
    acquired = stopping.acquired(X_TEST)
    assert acquired.any()
    most = int(np.argmax(acquired.mean(axis=0)))
    label = np.unique(LABELS_TEST)[0]
    assert axes.containers[0][0].get_width() == pytest.approx(acquired[label == LABELS_TEST, most].mean())
    assert axes.get_yticklabels()[0].get_text() == f"feature {most}"
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1  # above the bars, not on them


@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_legend_of_bars_is_above_them_and_on_the_page(n_classes) -> None:
    labels = np.array([f"a class with a rather long name, number {label}" for label in range(n_classes)])
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    draw_purchases(axes, np.ones((n_classes, 2), dtype=bool), labels, ["one feature of a long name", "two"])
    figure.canvas.draw()
    legend, page = axes.get_legend().get_window_extent(), figure.bbox
    assert len(texts(axes)) == n_classes
    assert legend.y0 >= axes.get_window_extent().y1
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1
    assert axes.get_window_extent().height > page.height / 2


def test_classes_whose_short_names_are_the_same_stay_apart() -> None:
    labels = np.array([f"a common beginning, {middle}, and a common end of names" for middle in ("part", "half")])
    axes = draw_purchases(plt.subplots()[1], np.ones((2, 2), dtype=bool), labels, ["x", "y"])
    assert texts(axes) == [f"class {label}" for label in sorted(labels)]


@pytest.mark.parametrize("settings", [{}, {"class_costs": [[0, 3], [1, 0]]}])
def test_the_frontier_of_a_classifier_is_drawn(settings) -> None:
    boosted = BudgetBoost(
        8,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=2, n_prunings=0),
        feature_costs=COSTS,
        budget=8,
        random_state=0,
    )
    labels = np.equal(LABELS_X, LABELS_X[0]).astype(int)
    model = boosted.set_params(**settings).fit(X, labels)
    display = TradeoffDisplay.from_estimator(model, X, labels, max_points=5)
    frontier, tried = display.lines_
    assert points(frontier) == list(zip(model.frontier_.cost.tolist(), model.frontier_.loss.tolist(), strict=True))
    assert len(points(tried)) <= 5
    assert "choice taken" in texts(display.axes_[0])
    mixed, corners = display.axes_[0].lines[1], model.frontier_.hull()
    assert (mixed.get_label(), mixed.get_xdata().tolist()) == (
        "mixtures of two",
        model.frontier_.cost[corners].tolist(),
    )
    cost, error = points(display.axes_[1].lines[-1])[0]
    assert cost == model.cost(X).mean()
    assert error == (model.misclassification_cost(X, labels) if settings else pytest.approx(1 - model.score(X, labels)))
    assert ("cost of mistakes" in display.axes_[1].get_ylabel()) == bool(settings)


def test_the_frontier_of_a_regressor_shows_what_is_left_to_explain() -> None:
    model = BudgetBoostRegressor(
        8,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=2, n_prunings=0),
        feature_costs=COSTS,
        random_state=0,
    )
    display = TradeoffDisplay.from_estimator(model.fit(X, TARGET), X_TEST, TARGET_TEST)
    assert [axes.get_ylabel() for axes in display.axes_] == [
        "1 - R^2 on validation examples",
        "mean squared test error",
    ]
    places = np.arange(model.frontier_.cost.size)
    assert points(display.lines_[0])[-1] == (model.frontier_.cost[-1], model.frontier_.loss[-1])
    assert len(points(display.lines_[1])) == places.size
    (cost, error), *_ = points(display.lines_[1])
    assert cost == 0
    assert error == pytest.approx(np.square(TARGET_TEST - model.at_budget(0).predict(X_TEST)).mean())


def test_a_frontier_is_drawn_by_the_measure_that_chose() -> None:
    model = BudgetBoost(
        6,
        growth=BoostGrowth(max_leaf_nodes=4),
        search=BoostSearch(n_lambdas=2, n_prunings=0),
        budget=2,
        scoring="neg_log_loss",
        random_state=0,
    ).fit(X, LABELS_X)
    display = TradeoffDisplay.from_estimator(model, X_TEST, LABELS_TEST, max_points=3)
    frontier = model.frontier_
    assert points(display.lines_[0]) == list(zip(frontier.cost.tolist(), (-frontier.loss).tolist(), strict=True))
    (cost, score), *_ = points(display.lines_[1])
    assert cost == 0
    assert score == pytest.approx(-log_loss(LABELS_TEST, model.at_budget(0).predict_proba(X_TEST)))
    assert "mixtures of two" not in texts(display.axes_[0])
    names = [axes.get_ylabel() for axes in display.axes_]
    assert names == ["neg log loss on validation examples", "test neg log loss"]


@pytest.mark.parametrize(
    "name", ["BudgetRF", "GreedyMiser", "CostComplexity", "EarlyExit of a forest", "NestedCascade"]
)
def test_tradeoffs_of_every_estimator_that_has_choices(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = CLASSIFIERS[name](FeatureCosts([1, 2, 3])).fit(X[:60], y[:60])
    display = TradeoffDisplay.from_estimator(model, X[60:], y[60:], max_points=4)
    fitted, tried = display.curves
    assert (np.diff(fitted.costs) > 0).all()
    assert (np.diff(fitted.errors) < 0).all()
    assert ("mixtures of two" in texts(display.axes_[0])) == (model.frontier_ is not None)
    assert tried.costs.size == min(4, fitted.costs.size)
    at_last = model.at_budget(fitted.costs[-1])
    assert tried.costs[-1] == at_last.cost(X[60:]).mean()
    assert tried.errors[-1] == pytest.approx(1 - at_last.score(X[60:], y[60:]))
    assert tried.chosen == (model.cost(X[60:]).mean(), pytest.approx(1 - model.score(X[60:], y[60:])))
    assert [panel.get_ylabel() for panel in display.axes_] == ["error, as it was measured in fit", "test error rate"]
    plt.close(display.figure_)


def test_letters_of_legends_and_rings_stand_out_in_a_dark_style(model, stopping) -> None:
    with plt.style.context("dark_background"):
        (axes,) = TradeoffDisplay.from_path(model.path_, budget="2.5").axes_
        diagonal = plot_reliability(stopping, X_TEST, LABELS_TEST).lines[0]
    legend = axes.get_legend()
    assert to_rgba(legend.get_texts()[0].get_color()) == to_rgba(diagonal.get_color()) == to_rgba("white")
    assert legend.get_frame().get_facecolor() == to_rgba("black")
    assert to_rgba(axes.lines[-1].get_markeredgecolor()) == to_rgba("white")


@pytest.mark.parametrize(("scale", "clipped"), [("linear", False), ("symlog", False), ("log", True)])
def test_a_logarithmic_scale_cuts_what_it_cannot_show(model, scale, clipped) -> None:
    axes = plt.figure().add_subplot(xscale=scale)
    (line,) = TradeoffDisplay.from_path(model.path_, ax=axes).lines_
    assert line.get_clip_on() == clipped
    assert (axes.get_xlim()[0] == 0) != clipped


def test_long_names_are_cut_in_the_middle_and_many_classes_drawn_together() -> None:
    bought = np.eye(12, 2, dtype=bool)
    name = "concentration of sodium in the serum\nfasting, $1"
    axes = draw_purchases(plt.figure().add_subplot(), bought, np.arange(12), [name, "b"])
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"concentration of … serum fasting, \$1", "b"]
    assert texts(axes) == ["all examples"]
    nothing = draw_purchases(plt.figure().add_subplot(), bought[:, :0], None, [])
    assert ([text.get_text() for text in nothing.texts], nothing.get_legend()) == (["nothing is bought"], None)
    labels = np.repeat(["_a", "b"], 6)
    assert texts(draw_purchases(plt.figure().add_subplot(), bought, labels, [name, "b"])) == ["class _a", "class b"]


def test_purchases_of_a_regressor_are_drawn_together() -> None:
    regressor = BudgetPrune(RandomForestRegressor(3, max_depth=3, random_state=0), budget=3, random_state=0)
    axes = plot_purchases(regressor.fit(X, TARGET), X_TEST, TARGET_TEST)
    assert texts(axes) == ["all examples"]


def test_of_many_classes_the_nine_that_are_predicted_most_are_told_apart() -> None:
    labels = np.arange(len(X)) % 12
    forest = BudgetPrune(RandomForestClassifier(3, random_state=0), random_state=0).fit(X, labels)
    axes = plot_stops(forest, X)
    predicted = np.bincount(forest.predict(X), minlength=12)
    assert texts(axes)[-1] == "others"
    assert len(texts(axes)) == 10
    told = [int(text.removeprefix("predicted ")) for text in texts(axes)[:-1]]
    assert predicted[told].min() >= np.delete(predicted, told).max()
    assert sum(bar.get_height() for bar in axes.patches) == len(X)
