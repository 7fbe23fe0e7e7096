"""Figures of rankings by trees and cascades of classifiers: documents, prices, and each figure at a tiny size."""

from __future__ import annotations

import numpy as np
import pytest

from ipforest.classifier_trees import CSTC, TreeObjective
from ipforest.experiments import catalogue, ranking_trees
from ipforest.experiments.ranking_trees import equally_good, measure, shared, task_of, true_resources

TINY = {"data": "synthetic", "seed": 0, "queries": 8, "trees": 4, "lambdas": 1}


def test_parts_have_as_many_queries_as_asked_for_and_the_prices_of_all_features() -> None:
    task = task_of(TINY)
    for part in (task.training, task.validation, task.test):
        assert np.unique(part.qid).size == 8
        assert part.X.shape == (8 * 24, 519) == (part.relevance.size, task.costs.n_features)
    assert not np.array_equal(task.training.X, task.test.X)
    assert set(np.unique(task.skewed().test.relevance)) <= {0, 1}


def test_yahoos_documents_are_drawn_by_query_with_their_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stored:
        X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 5
        queries, split = np.repeat(np.arange(10), 3), np.repeat([0, 1, 2], [12, 9, 9])
        costs = task_of(TINY).costs

    monkeypatch.setattr(ranking_trees.datasets, "load", lambda name: Stored)
    task = task_of({**TINY, "data": "yahoo", "queries": 2})
    for number, part in enumerate((task.training, task.validation, task.test)):
        assert np.unique(part.qid).size == 2
        assert all(
            np.count_nonzero(Stored.queries == query) == np.count_nonzero(part.qid == query) for query in part.qid
        )
        assert set(part.qid) <= set(Stored.queries[Stored.split == number])
        assert np.array_equal(part.relevance, part.X[:, 0].astype(int) // 2 % 5)


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["ours", "printed"])
def test_costs_left_out_of_training_are_measured_all_the_same(settings: str) -> None:
    cell = {**TINY, "settings": settings}
    task = task_of(cell)
    parameters = shared(cell, task.costs, features=False, evaluation=False)
    model = CSTC(objective=TreeObjective(depth=1, lambdas=[0]), **parameters).fit(
        task.training.X, task.training.relevance
    )
    assert not model.resources_.prices.any()
    tree = model.candidates_[0].tree
    used = model.feature_map_.feature_of_weight_.toarray()[:, tree.coef[0] != 0]
    prices = np.array([float(price) for price in task.costs.prices])
    evaluation = used.shape[1] if settings == "printed" else 0.1 * used.sum()
    expected = prices @ (used.sum(axis=1) > 0) + evaluation
    assert measure(model, tree, true_resources(model, cell, task.costs), task.test)["cost"] == pytest.approx(expected)


def test_models_are_equally_good_where_each_is_the_cheapest_as_good_as_all_can_be() -> None:
    qualities = {"first": [0.9, 0.7, 0.6], "second": [0.5, 0.65]}
    costs = {"first": [9.0, 2.0, 1.0], "second": [1.0, 3.0]}
    assert equally_good(qualities, costs) == {"first": 1, "second": 1}


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "queries"), [(8, 12), (9, 12), (10, 12), (11, 12), (14, 60)])
def test_each_figure_is_drawn_at_a_tiny_size(figure: int, queries: int) -> None:
    experiment = catalogue.find(f"cstc2014/figure{figure}")
    cell = {**TINY, "queries": queries, "trees": 3}
    records = [{**cell, **record} for record in experiment.steps.run(cell)]
    rows = experiment.steps.summarise(records)
    assert rows
    assert experiment.steps.draw(records, rows).axes
    shares = [value for row in rows for key, value in row.items() if key.startswith("price") or key == "shared"]
    assert all(0 <= share <= 1 for share in shares)
