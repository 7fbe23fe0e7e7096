"""Methods side by side: the protocol chooses on validation data, measures on test data, and is fair to every method."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from ipforest import datasets
from ipforest.experiments import catalogue
from ipforest.experiments.comparison import SIMPLE, Comparison, compare
from ipforest.experiments.methods import METHODS
from ipforest.experiments.options import Option

WINE = datasets.load("wine")
BUDGETS = (1.0, 3.0, 13.0)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(WINE, BUDGETS, range(2), n_trees=5)


def test_every_method_keeps_every_budget_on_validation_data(comparison) -> None:
    assert comparison.methods == list(SIMPLE)
    assert comparison.budgets == list(BUDGETS)
    assert len(comparison.outcomes) == 2 * len(SIMPLE) * len(BUDGETS)
    assert all(outcome.validation_cost <= outcome.budget for outcome in comparison.outcomes)


def test_more_budget_is_no_worse_on_validation_data(comparison) -> None:
    for method in SIMPLE:
        errors = [comparison.values(method, budget, "validation_error") for budget in BUDGETS]
        assert np.all(np.diff(errors, axis=0) <= 0)


def test_the_summary_has_means_standard_errors_and_paired_differences(comparison) -> None:
    record = next(r for r in comparison.summary() if (r["budget"], r["method"]) == (3.0, "k best features, retrained"))
    errors = comparison.values("k best features, retrained", 3.0)
    paired = errors - comparison.values("pruned forest", 3.0)
    assert record["test_error"] == errors.mean()
    assert record["test_error_se"] == pytest.approx(errors.std(ddof=1) / np.sqrt(2))
    assert record["difference"] == pytest.approx(paired.mean())
    assert json.loads(comparison.to_json())["summary"] == comparison.summary()
    assert comparison.to_csv().count("\n") == 1 + len(comparison.outcomes)


def test_the_picture_has_means_with_bands_of_one_standard_error(comparison) -> None:
    axes = comparison.plot()
    assert axes.get_title() == f"{WINE.name}: means over 2 seeds, bands of one standard error"
    assert axes.get_xlabel() == f"budget: average cost of an example ({WINE.currency})"
    for method, line, band in zip(comparison.methods, axes.lines, axes.collections, strict=True):
        means = np.array([comparison.values(method, budget).mean() for budget in BUDGETS])
        spread = np.array([comparison.values(method, budget).std(ddof=1) / np.sqrt(2) for budget in BUDGETS])
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([BUDGETS, means]))
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == pytest.approx(((means - spread).min(), (means + spread).max()))


def test_the_option_of_least_validation_error_is_taken() -> None:
    options = [Option(5.0, 0.3, 5.5, 0.1), Option(12.0, 0.2, 14.0, 0.25), Option(14.0, 0.0, 1.0, 0.0)]
    outcome = compare(WINE, [13.0], [0], {"three options": lambda _: options}).outcomes[0]
    assert (outcome.validation_error, outcome.test_error, outcome.test_cost) == (0.2, 0.25, 14.0)


def test_the_methods_are_those_of_the_frontier() -> None:
    assert set(SIMPLE.values()) <= set(METHODS.values())


@pytest.mark.slow
def test_seeds_at_a_time_change_nothing(comparison) -> None:
    assert compare(WINE, BUDGETS, range(2), n_trees=5, n_jobs=2).outcomes == comparison.outcomes


def test_data_sets_are_summarised_and_drawn_side_by_side(comparison) -> None:
    experiment = catalogue.find("own/when_it_helps")
    records = [{"data": name, **asdict(outcome)} for name in ("wine", "iris") for outcome in comparison.outcomes]
    rows = experiment.steps.summarise(records)
    assert [row["data"] for row in rows] == [name for name in ("wine", "iris") for _ in comparison.summary()]
    assert rows[0] == {"data": "wine", **comparison.summary()[0], "seeds": 2}
    panels = experiment.steps.draw(records, rows).axes
    assert [panel.get_title() for panel in panels] == ["wine, 2 seeds", "iris, 2 seeds"]
    assert [panel.get_legend() is not None for panel in panels] == [True, False]
