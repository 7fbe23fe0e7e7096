"""Curves of test error against average cost: each method's models, measured on all parts, chosen on validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest._internal.arrays import Array, FloatArray, IntArray, nearest_places
from ipforest.choosing.frontier import Frontier
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.experiments.experiment import Record
from ipforest.experiments.metrics import error_of_scores
from ipforest.experiments.options import Option
from ipforest.experiments.paper_data import PaperData
from ipforest.experiments.parts import Parts
from ipforest.experiments.routed_examples import RoutedExamples
from ipforest.experiments.rows import draw_line, grouped, mean_and_deviation, panels
from ipforest.growing.acquisition import Charge
from ipforest.learners import (
    BudgetPrune,
    BudgetRF,
    CostComplexity,
    EarlyStopping,
    GreedyMiser,
    GreedyMiserRegressor,
    GreedyPrune,
    IndividualPruning,
    PricedGrowth,
)
from ipforest.learners.budget_rf import GreedyGrowth
from ipforest.learners.staged import staged_costs
from ipforest.results import Pruning
from ipforest.walks.purse import spending_limit

PRUNERS: dict[str, Any] = {
    "BudgetPrune": BudgetPrune,
    "CCP": CostComplexity,
    "BudgetRF": EarlyStopping,
    "GreedyPrune": GreedyPrune,
    "individual": IndividualPruning,
}
"""By the papers' names; "BudgetRF" is its early stopping, BudgetPrune section 5 (i)."""

FEW_LAMBDAS, MANY_LAMBDAS = (0.0, 1e-4, 1e-3), (0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
"""Of GreedyMiser."""

SHOWN_RISE = 0.15
"""Pictures end so far above the least error."""

COLOURS = {
    "BudgetPrune": "tab:red",
    "CCP": "tab:blue",
    "BudgetRF": "tab:green",
    "GreedyPrune": "tab:orange",
    "GreedyMiser": "tab:purple",
    "individual": "tab:brown",
}
OTHER_COLOURS = ("tab:pink", "tab:cyan", "tab:olive", "tab:gray")
"""For methods of other names, in their order; then the same with other lines."""

LINES = ("-", "--", ":")


def entropy_forest(n_trees: int, seed: int, max_features: int | None = None) -> RandomForestClassifier:
    """Describe the papers' base forest: entropy, and all features at each split unless told otherwise."""
    return RandomForestClassifier(n_trees, criterion="entropy", max_features=max_features, random_state=seed)


def pairs_forest(n_trees: int, seed: int, cuts: str = "random") -> BudgetRF:
    """Describe a BudgetRF that is trained on all it gets."""
    return BudgetRF(n_trees, growth=GreedyGrowth(alpha=0, cuts=cuts), validation_fraction=None, random_state=seed)


def forest_for(data: PaperData, n_trees: int, seed: int, max_features: int | None) -> Any:
    """Describe the papers' forest for a data set: for rankings one by the gain in entropy per price at each split."""
    if data.queries is None:
        return entropy_forest(n_trees, seed, max_features)
    return BudgetRF(
        n_trees,
        feature_costs=data.costs,
        growth=GreedyGrowth(impurity="entropy", reduction="expected", max_features=max_features),
        validation_fraction=None,
        random_state=seed,
    )


def pruning_points(
    methods: Sequence[str],
    fitted: Any,
    parts: Parts,
    costs: FeatureCosts,
    n_points: int = 40,
    queries: Sequence[IntArray] | None = None,
) -> list[Record]:
    """Prune a fitted forest by several methods, costs from the validation examples, and measure their prunings.

    Parameters
    ----------
    methods : sequence of str
        Of `PRUNERS`.
    fitted : estimator
    parts : Parts
    costs : FeatureCosts
    n_points : int
        Prunings measured per method, evenly spread over cost.
    queries : sequence of ndarray of int64, optional
        The query of each document of the three parts, where documents are ranked: errors are then 1 - AP@5.

    Returns
    -------
    list of dict
        Method, and cost and error on the validation and the test part.
    """
    forest = Forest.from_sklearn(fitted)
    of_parts = (None, None, None) if queries is None else queries
    validation = RoutedExamples.of(forest, parts.X_validation, parts.y_validation, costs, of_parts[1])
    test = RoutedExamples.of(forest, parts.X_test, parts.y_test, costs, of_parts[2])
    points = []
    for method in methods:
        model = PRUNERS[method](fitted, feature_costs=costs).fit(parts.X_validation)
        for pruning in _spread(model, n_points):
            points.append({"method": method, **Option(*validation.score(pruning), *test.score(pruning)).means})
    return points


def _spread(model: Any, n_points: int) -> Iterable[Pruning]:
    """Choose prunings of a path or a sequence, evenly over cost."""
    optimal = isinstance(model, BudgetPrune)
    values = np.array([float(cost) for cost in (model.path_ if optimal else model.sequence_).costs])
    levels = np.linspace(values.min(), values.max(), n_points)
    places = nearest_places(values, levels)
    return (model.path_.pruning_at(place) if optimal else model.sequence_.prunings[place] for place in places)


def miser_points(
    parts: Parts,
    costs: FeatureCosts,
    n_trees: int,
    lams: Sequence[float],
    rates: Sequence[float],
    seed: int,
    charge: Charge = "path",
    queries: Sequence[IntArray] | None = None,
) -> list[Record]:
    """Measure GreedyMiser over a grid of lambda and learning rate, after 1, 2, 4, ... and all rounds.

    Where documents are ranked, by the queries of the three parts, it predicts their relevance, and errors are 1 - AP@5.
    """
    points = []
    stages = sorted({*(2**power for power in range(int(np.log2(n_trees)) + 1)), n_trees})
    of_validation, of_test = parts.held_out
    for lam, rate in product(lams, rates):
        growth = PricedGrowth(learning_rate=rate, charge=charge, max_depth=4)
        shared: dict[str, Any] = {"lam": lam, "growth": growth, "feature_costs": costs, "random_state": seed}
        if queries is None:
            model = GreedyMiser(n_trees, loss="squared", **shared)
            model.fit(*parts.to_fit)
            measured = [(model.stage_costs_, model.stage_errors_), model.measure_rounds(*of_test)]
        else:
            ranker = GreedyMiserRegressor(n_trees, **shared).fit(parts.X_train, parts.y_train)
            measured = [
                _ranked_rounds(ranker, *part, of_part)
                for part, of_part in zip((of_validation, of_test), queries[1:], strict=True)
            ]
        columns = [column for of_part in measured for column in of_part]
        points += [Option(*(float(column[stage]) for column in columns)).means for stage in stages]
    return points


def _ranked_rounds(model: GreedyMiserRegressor, X: Array, y: Array, queries: IntArray) -> tuple[FloatArray, FloatArray]:
    """Measure average cost and 1 - AP@5 after 0, 1, 2, ... rounds."""
    leaves = model.trees_.leaves(model.trees_.checked_examples(X))
    sums = np.cumsum(model.trees_.value[leaves, 0], axis=0)
    errors = [error_of_scores(y, scores[:, None], (), queries) for scores in (np.zeros(len(y)), *sums)]
    return staged_costs(model.trees_, leaves, model.costs_), np.array(errors)


def within_budgets(records: list[Record], group: Sequence[str], n_budgets: int = 12) -> list[Record]:
    """Average over seeds what each method reaches within budgets, the model chosen on validation.

    Parameters
    ----------
    records : list of dict
        Points of curves, with a seed.
    group : sequence of str
        Keys that tell curves apart; the first one is what budgets are spread for.
    n_budgets : int

    Returns
    -------
    list of dict
        The group's keys, budget, mean cost and error on test data with their standard deviations, and the runs.
    """
    rows = []
    for of_panel in grouped(records, group[0]).values():
        top = max(record["validation_cost"] for record in of_panel)
        for key, curve in grouped(of_panel, *group).items():
            runs = [run for _, run in sorted(grouped(curve, "seed").items())]
            for budget in np.linspace(top / n_budgets, top, n_budgets).tolist():
                found = [best for run in runs for best in [best_within(run, budget)] if best is not None]
                if len(found) == len(runs):
                    means = {"budget": round(budget, 4), **mean_and_deviation(found, ("cost", "error"))}
                    rows.append({**dict(zip(group, key, strict=True)), **means, "runs": len(found)})
    return rows


def means_within_budgets(*group: str, paper: Callable[[Record], str]) -> Callable[[list[Record]], list[Record]]:
    """Make what returns test cost and error within budgets, chosen on validation, and what is printed of each row."""
    return lambda records: [{**row, "paper": paper(row)} for row in within_budgets(records, group)]


def best_within(points: list[Record], budget: float) -> Record | None:
    """Find the point of least validation error within a budget, the cheapest of several."""
    measured = Frontier.of_points((point["validation_cost"], point["validation_error"]) for point in points)
    return points[measured.within(budget)] if measured.cost.min() <= spending_limit(budget) else None


def draw_curves(rows: list[Record], panel: str, title: str, style: str | None = None) -> Figure:
    """Draw mean test error against mean test cost, one panel per data set, one curve per method (and style)."""
    figure, parts = panels(rows, panel, width=6.2, height=4.2)
    keys = ["method"] if style is None else ["method", style]
    looks = _looks(rows, style)
    for name, of_panel, axes in parts:
        for key, curve in grouped(of_panel, *keys).items():
            colour, line = looks[key]
            label = ", ".join(str(part) for part in key if part != "")
            look: dict[str, Any] = {
                "color": colour,
                "linestyle": line,
                "marker": ".",
                "capsize": 2,
                "linewidth": 1.4,
                "label": label,
            }
            draw_line(axes, curve, "cost", "error", spread="error_sd", **look)
        least = min(row["error"] for row in of_panel)
        axes.set(title=str(name), xlabel="average cost of a test example", ylabel="test error")
        axes.set_ylim(least - 0.01, least + SHOWN_RISE)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle(title)
    return figure


def curves_by_data_set(title: str, style: str | None = None) -> Callable[[list[Record], list[Record]], Figure]:
    """Make what draws rows, a panel per data set; see `draw_curves`."""
    return lambda records, rows: draw_curves(rows, "data", title, style)


def _looks(rows: list[Record], style: str | None) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Give each method a colour, or a colour and a line where colours run out, and each style a line."""
    labels = [key for (key,) in grouped(rows, "method")]
    others = zip((key for key in labels if key not in COLOURS), cycle(product(LINES, OTHER_COLOURS)), strict=False)
    drawn = {key: (colour, line) for key, (line, colour) in others}
    drawn |= {key: (COLOURS[key], LINES[0]) for key in labels if key in COLOURS}
    if style is None:
        return {(key,): look for key, look in drawn.items()}
    styles = [value for (value,) in grouped(rows, style)]
    return {(key, value): (drawn[key][0], LINES[styles.index(value)]) for key, value in grouped(rows, "method", style)}
