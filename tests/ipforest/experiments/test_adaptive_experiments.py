"""The reproductions of adaptive approximations: data as described, savings by hand, small runs."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest.classifier_trees.ranking import average_precision_at
from ipforest.costs import FeatureCosts
from ipforest.experiments.adapt2017 import figure2, figure3, figure4, figure5, headline
from ipforest.experiments.adaptive_curves import Sweep, savings
from ipforest.experiments.paper_data import PaperData
from ipforest.experiments.parts import Parts

needs_data = pytest.mark.skipif("letter" not in datasets.names(), reason="no data folder")


@pytest.mark.slow
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


def test_documents_are_judged_by_the_precision_of_the_first_five() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=360) > 1).astype(int)
    rows = np.arange(360).reshape(3, 120)
    queries = tuple(np.arange(120) // 10 for _ in range(3))
    parts = Parts(*(array[part] for part in rows for array in (X, y)))
    data = PaperData(parts, FeatureCosts.uniform(4), "documents", queries)
    forest = RandomForestClassifier(5, random_state=0)
    points = Sweep((0.5,), (1e-3,), n_estimators=3, n_readouts=1, gate_shares=()).points(forest, data, 2, 0)
    full = next(point for point in points if point["is_full"])
    scores = forest.fit(parts.X_train, parts.y_train).predict_proba(parts.X_test)[:, 1]
    assert full["error"] == pytest.approx(1 - average_precision_at(parts.y_test, scores, queries[2]))


def test_settings_are_those_of_the_methods() -> None:
    ours, printed, authors = (figure4.sweep_of("miniboone", name, False, 2000) for name in figure4.SETTINGS)
    assert (ours.charge, printed.charge, authors.charge) == ("path", "tree", "node")
    assert (ours.max_regrowths, printed.max_regrowths, authors.max_regrowths) == (0, 0, 50)
    assert (ours.accounting, printed.accounting, authors.accounting) == ("union", "union", "full model only")
    assert (printed.gate_shares, authors.gate_shares) == ((), ())
    assert authors.lambdas[0] == pytest.approx(0.1 / 2000)
    assert set(figure4.EXPERIMENT.settings) == set(figure5.EXPERIMENT.settings) == {"ours", "printed", "authors"}
    assert figure5.sweep_of("authors", quick=False).max_regrowths == 50


SMALL = {
    "figure4": lambda: [{**cell, "trees": 3} for cell in figure4.EXPERIMENT.cells_of("authors", quick=True)[:3]],
    "headline": lambda: [
        {**cell, "trees": 3, "examples": 200, "rounds": 1}
        for cell in headline.cells(True, 0)
        if cell["arm"] in ("regrown", "two classes")
    ],
}


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("experiment", [figure4.EXPERIMENT, headline.EXPERIMENT], ids=lambda one: one.name)
def test_quick_runs_under_the_settings_of_the_authors(experiment) -> None:
    records = [
        {**cell, **record} for cell in SMALL[experiment.name.split("/")[1]]() for record in experiment.steps.run(cell)
    ]
    rows = experiment.steps.summarise(records)
    assert all(row["cost"] > 0 and 0 <= row["error"] <= 1 for row in rows)
    assert experiment.condense(rows)
    assert experiment.steps.draw(records, rows).axes


LONG_AND_SLOW = [pytest.param(figure5.EXPERIMENT, marks=pytest.mark.long), figure4.EXPERIMENT]


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("experiment", LONG_AND_SLOW, ids=lambda one: one.name)
def test_quick_runs_end_in_a_table_and_a_picture(experiment, tmp_path) -> None:
    cells = experiment.steps.cells(True, 0)
    records = [{**cell, **record} for cell in cells for record in experiment.steps.run(cell)]
    rows = experiment.steps.summarise(records)
    assert all(row["cost"] > 0 and 0 <= row["error"] <= 1 for row in rows)
    assert experiment.steps.draw(records, rows).axes
