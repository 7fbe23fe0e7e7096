import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from ipforest.classifier_trees.ranking import average_precision_at, ndcg_at, precision_at
from ipforest.experiments.metrics import area_under_roc, clipped_log_loss, error_of_scores, feature_usage_table
from ipforest.experiments.rows import averaged, compared, draw_errors, mean_and_deviation, panels


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [
        ([1, 1, 1, 1, 1, 0], 1.0),
        ([0, 1, 1, 1, 1, 1], 0.0),
        ([1, 1, 0, 1, 1, 1], 0.4),
        ([1, 1, 1, 1, 0, 1], 0.8),
        ([1, 1], 0.4),
        ([1, 0], 0.2),
    ],
)
def test_average_precision_stops_at_the_first_irrelevant_document(relevance, expected):
    scores = -np.arange(len(relevance))
    assert average_precision_at(relevance, scores, np.zeros(len(relevance))) == pytest.approx(expected)


def test_queries_are_averaged_and_need_no_order():
    relevance = np.array([1, 0, 1, 1, 0, 1])
    scores = np.array([3, 2, 5, 1, 9, 2.5])
    queries = np.array([7, 7, 4, 7, 4, 4])
    assert average_precision_at(relevance, scores, queries) == pytest.approx((0.2 + 0) / 2)
    assert precision_at(relevance, scores, queries) == pytest.approx((2 / 5 + 2 / 5) / 2)
    shuffled = np.random.default_rng(0).permutation(6)
    assert average_precision_at(relevance[shuffled], scores[shuffled], queries[shuffled]) == pytest.approx(0.1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1000)), min_size=6, max_size=12, unique_by=lambda t: t[1]))
def test_ndcg_is_that_of_scikit_learn_with_exponential_gains(documents):
    grades, scores = (np.array(column, dtype=float) for column in zip(*documents, strict=True))
    expected = ndcg_score([2**grades - 1], [scores], k=5) if grades.any() else 1.0
    assert ndcg_at(grades, scores, np.zeros(len(grades))) == pytest.approx(expected)


def test_equal_scores_keep_the_given_order_where_scikit_learn_averages_or_reverses():
    grades, scores = [1, 0], [0.0, 0.0]
    assert ndcg_at(grades, scores, [0, 0], k=1) == 1
    assert ndcg_score([grades], [scores], k=1) == 0.5
    assert ndcg_score([grades], [scores], k=1, ignore_ties=True) == 0


def test_feature_usage_table():
    usage = np.array([[0, 1, 7, 8], [0, 0, 3, 0]])
    table = feature_usage_table(usage, [3, 1], ["a", "b"], ["a", "a"])
    assert (table["unused"], table["up_to_seven"], table["more"]) == (0.5, 0.375, 0.125)
    assert (table["cost"], table["error"]) == (2, 0.5)


def test_bad_rankings_are_refused():
    with pytest.raises(ValueError, match="expected one value per document and at least one document"):
        ndcg_at([1, 0], [1], [1, 1])
    with pytest.raises(ValueError, match="k: expected at least 1, got 0"):
        precision_at([1], [1], [1], k=0)


def test_probabilities_are_measured_by_rank_and_by_their_logarithm():
    y = np.array([0, 1, 1, 0])
    probability = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    assert area_under_roc(y, probability) == pytest.approx(3 / 4)
    assert clipped_log_loss(y, probability) == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.3]).mean())
    assert clipped_log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]]) == pytest.approx(-np.log(1e-3) / 2)
    three = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    each = [area_under_roc([0, 0, 0, 1], np.column_stack([1 - three[:, 2], three[:, 2]]))]
    each += [area_under_roc([1, 0, 0, 0], np.column_stack([1 - three[:, 0], three[:, 0]]))]
    each += [area_under_roc([0, 1, 1, 0], np.column_stack([1 - three[:, 1], three[:, 1]]))]
    assert area_under_roc([0, 1, 1, 2], three) == pytest.approx(np.mean(each))


def test_scores_are_of_classes_or_rank_documents():
    scores = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, 0.5]])
    assert error_of_scores(["a", "b", "b"], scores, ["a", "b"]) == pytest.approx(1 / 3)
    assert error_of_scores([0, 1, 1], scores, [0, 1], queries=[7, 7, 7]) == pytest.approx(1 - 1 / 5)


RUNS = [
    {"data": data, "method": method, "budget": budget, "seed": seed, "error": error + seed / 8, "cost": budget}
    for data in ("wine", "iris")
    for method, error in (("a", 0.25), ("b", 0.5))
    for budget in (1, 2)
    for seed in (range(2) if method == "a" else range(3))
]


def test_runs_are_averaged_and_compared_seed_by_seed():
    first = averaged(RUNS, ("data", "method", "budget"), ("error",))[0]
    spread = round(np.sqrt(2) / 16, 5)
    assert first == {"data": "wine", "method": "a", "budget": 1, "error": 0.3125, "error_sd": spread, "runs": 2}
    assert mean_and_deviation(RUNS[:1], ["error"]) == {"error": 0.25, "error_sd": 0.0}
    rows = compared(RUNS, ("data", "method", "budget"), ("error", "gain", "gain_se"), method="b")
    assert len(rows) == 8
    for row in rows:
        of_a = row["method"] == "a"
        assert row["gain"] == (0.25 if of_a else 0)
        assert (row["error"], row["gain_se"], row["runs"]) == ((0.3125, 0, 2) if of_a else (0.625, 0, 3))
    at_1 = compared(RUNS, ("method", "budget"), ("gain",), method="b", budget=lambda budget: 3 - budget)
    assert [row["gain"] for row in at_1] == [0.25, 0.25, 0, 0]


def test_errors_are_drawn_in_per_cent_a_panel_per_data_set():
    rows = [row | {"error_se": 0.02} for row in RUNS if row["seed"] == 0]
    figure, parts = panels(rows, "data", width=3, height=2, n_columns=1)
    for name, of_data, axes in parts:
        assert {row["data"] for row in of_data} == {name}
        draw_errors(axes, of_data, ("a", "b"), dashed=("b",))
        for (line, _, (bars,)), error in zip(axes.containers, (25, 50), strict=True):
            np.testing.assert_allclose(line.get_xydata(), [[1, error], [2, error]])
            assert line.get_linestyle() == ("--" if error == 50 else "-")
            np.testing.assert_allclose(bars.get_segments()[0][:, 1], [error - 2, error + 2])
    assert figure.get_size_inches().tolist() == [3, 4]
    assert next(panels(rows, "data", "method", width=1, height=1)[1])[0] == ("wine", "a")
