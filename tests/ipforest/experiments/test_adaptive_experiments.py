"""The reproductions of adaptive approximations: data as described, savings by hand, small runs."""

import numpy as np
import pytest

from ipforest import datasets
from ipforest.experiments.adapt2017 import figure2, figure3, figure4, figure5
from ipforest.experiments.adaptive_curves import savings

needs_data = pytest.mark.skipif("letter" not in datasets.names(), reason="no data folder")


def test_joint_learning_reaches_full_accuracy_at_cost_one_and_a_half() -> None:
    cell = {"seed": 0, "examples": 120, "starts": 4}
    records = [
        {**cell, "method": method, **record}
        for method in ("Adapt-Lin", "L1")
        for record in figure3.run({**cell, "method": method})
    ]
    costs = {row["method"]: row["cost"] for row in figure3.summarise(records)}
    assert costs["Adapt-Lin"] == pytest.approx(1.5, abs=0.02)
    assert costs["L1"] == pytest.approx(1.75, abs=0.05)
    assert costs["f0"] == 2


def test_the_plane_is_parted_as_described() -> None:
    X, y = figure2.plane(3000, 0)
    left = X[:, 0] < figure2.WAVE_BEGINS
    line = 0.7 - X[:, 0] / 2
    np.testing.assert_array_equal(y[left], X[left, 1] > line[left])
    assert np.mean(y[~left] == (X[~left, 1] > line[~left])) < 0.9


def test_in_the_plane_both_keep_the_accuracy_of_the_full_model() -> None:
    records = {record["model"]: record for record in figure2.run({"seed": 0, "examples": 500})}
    full = records["f0, RBF-SVM"]["accuracy"]
    for name in ("Adapt-Lin", "Adapt-Gbrt"):
        assert records[name]["accuracy"] > full - 0.02
        assert records[f"{name}, f1 alone"]["accuracy"] < full - 0.05
        assert 0.5 < records[name]["to_f0"] < 0.7


def test_savings_are_against_the_full_model_within_one_percent_of_accuracies() -> None:
    def point(seed, cost, validation_error, error, full=False):
        return {
            "method": "m",
            "seed": seed,
            "validation_cost": cost,
            "validation_error": validation_error,
            "cost": cost,
            "error": error,
            "is_full": full,
        }

    records = [
        point(0, 10, 0.10, 0.11, full=True),
        point(0, 8, 0.095, 0.1),
        point(0, 4, 0.104, 0.12),
        point(0, 2, 0.2, 0.2),
        point(1, 10, 0.10, 0.1, full=True),
        point(1, 12, 0.08, 0.09),
        point(1, 7, 0.11, 0.12),
    ]
    (row,) = savings(records, ("method",))
    assert row["saved"] == pytest.approx((0.6 - 0.2) / 2)
    assert row["error"] == pytest.approx((0.12 + 0.09) / 2)
    assert row["best_error"] == pytest.approx((0.1 + 0.09) / 2)
    assert row["saved_as_full"] == pytest.approx((0.6 + 0.3) / 2)
    assert row["error_as_full"] == pytest.approx(0.12)
    assert row["runs"] == 2


@needs_data
def test_letters_are_the_second_half_of_the_alphabet() -> None:
    parts = figure5.load()
    assert (len(parts.y_train), len(parts.y_validation), len(parts.y_test)) == (12_000, 4_000, 4_000)
    data = datasets.load("letter")
    first = [data.class_names[code] >= "N" for code in data.y[:50]]
    np.testing.assert_array_equal(parts.y_train[:50], first)


LONG_AND_SLOW = [pytest.param(figure5.EXPERIMENT, marks=pytest.mark.long), figure4.EXPERIMENT]


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("experiment", LONG_AND_SLOW, ids=lambda one: one.name)
def test_quick_runs_end_in_a_table_and_a_picture(experiment, tmp_path) -> None:
    cells = experiment.cells(True, 0)
    records = [{**cell, **record} for cell in cells for record in experiment.run(cell)]
    rows = experiment.summarise(records)
    assert all(row["cost"] > 0 and 0 <= row["error"] <= 1 for row in rows)
    assert experiment.draw(records, rows).axes
