"""The reproductions of trees and cascades of classifiers: data as described, exits by hand, small runs."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from ipforest import datasets
from ipforest.experiments.cstc2014 import figure5, figure6, figure7, figure12
from ipforest.experiments.rankings import COPIES, SHARES, draw_ranking, prices, proximity_exit

QUALITIES = ("quality", "validation_quality", *figure6.MEASURES)
needs_data = pytest.mark.skipif("mnist_t10k" not in datasets.names(), reason="no data folder")


@pytest.mark.slow
def test_the_four_quadrants_are_told_exactly_at_cost_12() -> None:
    (record,) = figure5.run({"seed": 0, "examples": 1000})
    assert record["mean_squared_error"] < 1e-10
    assert (record["least_cost"], record["largest_cost"]) == (12, 12)


def test_a_dear_feature_is_the_label_in_its_quadrant_only() -> None:
    X, y = figure5.quadrants(2000, 1)
    for feature, signs in enumerate(figure5.QUADRANT_MEANS):
        here = (X[:, 4:] == signs).all(axis=1)
        np.testing.assert_array_equal(X[here, feature], y[here])
        assert abs(np.corrcoef(X[~here, feature], y[~here])[0, 1]) < 0.15


def test_rankings_have_the_shape_of_yahoo() -> None:
    graded = draw_ranking(50, 24, 0)
    assert graded.X.shape == (1200, 519)
    assert prices().sum() == 123 + 155 + 3820 + 6250 + 1600 + 4800 + 200
    np.testing.assert_allclose(np.bincount(graded.relevance) / 1200, SHARES, atol=0.01)


def test_one_document_in_a_hundred_is_relevant_where_irrelevant_ones_have_copies() -> None:
    skewed = draw_ranking(50, 24, 0).skewed()
    everything = skewed.repeated()
    assert everything.relevance.sum() == skewed.relevance.sum() == 120
    assert everything.X.shape == (120 + 1080 * COPIES, 519)
    assert everything.relevance.mean() == pytest.approx(0.011, abs=1e-3)
    assert np.unique(everything.X[everything.relevance == 0], axis=0).shape[0] == 1080


def test_documents_far_from_the_fifth_best_leave() -> None:
    votes = np.zeros((8, 3))
    votes[:, 0] = [9, 8, 7, 6, 5, 4.9, 3, 0]
    votes[6:, 1] = 10
    query, once = np.zeros(8, dtype=np.int64), np.ones(8, dtype=np.int64)
    score, evaluated = proximity_exit(votes, query, once, 1.0)
    np.testing.assert_array_equal(evaluated[:5], 3)
    np.testing.assert_array_equal(evaluated[6:], 1)
    np.testing.assert_allclose(score, votes[:, 0])
    assert proximity_exit(votes, query, once, 1e9)[1].tolist()[:7] == [3] * 7
    np.testing.assert_array_equal(proximity_exit(votes, np.arange(8), once, 0.5)[1], 3)


def test_the_fifth_best_counts_copies() -> None:
    rng = np.random.default_rng(0)
    votes, query, copies = rng.normal(size=(40, 6)), np.repeat(np.arange(8), 5), rng.integers(1, 7, 40)
    every = np.repeat(np.arange(40), copies)
    score, evaluated = proximity_exit(votes, query, copies, 0.8)
    expected = proximity_exit(votes[every], query[every], np.ones_like(every), 0.8)
    np.testing.assert_array_equal(score[every], expected[0])
    np.testing.assert_array_equal(evaluated[every], expected[1])
    assert evaluated.min() < 6


def test_a_method_twice_as_dear_can_be_replaced_at_half_the_cost() -> None:
    records = [
        {"curve": curve, "seed": seed, "cost": cost, "validation_cost": cost, **dict.fromkeys(QUALITIES, quality)}
        for curve, factor in (("first", 1), ("second", 2), ("better", 2))
        for seed in range(3)
        for cost, quality in (
            (100 * factor, 0.2 + 0.01 * seed),
            (400 * factor, 0.4 + 0.01 * seed + (curve == "better")),
        )
    ]
    rows = figure6.summarise(records)
    saved = {curve: [row["saved"] for row in rows if row["curve"] == curve] for curve in ("first", "second", "better")}
    assert saved["first"] == [None] * len(saved["first"])
    assert saved["second"] == pytest.approx([0.5] * len(saved["second"]))
    assert saved["better"][0] == pytest.approx(0.5)
    assert saved["better"][-1] is None
    assert all(row["saved_se"] == pytest.approx(0) for row in rows if row["curve"] == "second")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("run", "methods"), [("graded", figure6.GRADED), ("skewed", figure6.SKEWED)])
def test_small_rankings_run_for_every_method(run: str, methods: dict) -> None:
    size = {"seed": 0, "queries": 12, "held_out": 12, "documents": 10, "trees": 5, "lambdas": 1}
    measure = figure6.run_graded if run == "graded" else figure6.run_skewed
    records = [{**size, **record} for record in measure(size)]
    rows = figure6.summarise(records)
    assert {record["curve"] for record in records} >= {*methods, "early exit s=0.2"}
    assert all(0 <= row[name] <= 1 and row["cost"] >= 0 for row in rows for name in figure6.MEASURES)
    experiment = figure6.EXPERIMENT if run == "graded" else figure7.EXPERIMENT
    assert experiment.steps.draw(records, rows).axes


def test_images_shrink_by_averages() -> None:
    image = np.arange(16.0).reshape(1, 4, 4)
    np.testing.assert_allclose(figure12.shrink(image, 2)[0], [[2.5, 4.5], [10.5, 12.5]])
    assert figure12.shrink(image, 3).mean() == pytest.approx(image.mean())
    np.testing.assert_allclose(figure12.shrink(image, 4), image)


@needs_data
@pytest.mark.slow
@pytest.mark.long
def test_digits_are_told_apart_by_few_pixels() -> None:
    cells = [{"seed": 0, "lambda": lam, "depth": 2} for lam in (0.75, 0.3)]
    records = [{**cell, **record} for cell in cells for record in figure12.run(cell)]
    assert all(record["error"] < 0.1 and record["cost"] < 60 for record in records)
    assert figure12.draw(records, figure12.summarise(records)).axes


def test_lambdas_at_one_point_share_a_label_within_the_picture():
    lines = ((10.0, 0.0, 0.5), (4.2, 0.0, 0.5), (0.01, 300.0, 0.04))
    figure = Figure()
    figure12.draw_curve(
        figure,
        [{"lambda": lam, "cost": cost, "error": error, "error_sd": 0.0, "runs": 1} for lam, cost, error in lines],
    )
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["10, 4.2", "0.01"]
    figure.canvas.draw()
    assert all(text.get_window_extent().x1 < axes.bbox.x1 for text in axes.texts)
