"""Measures of rankings against scikit-learn's and by hand."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from ipforest.cascades.ranking import ndcg_at, precision_at


def test_ndcg_is_that_of_scikit_learn_query_by_query() -> None:
    rng = np.random.default_rng(0)
    qid, relevance, score = rng.integers(0, 9, 200), rng.integers(0, 5, 200), rng.normal(size=200)
    expected = [
        ndcg_score([2.0 ** relevance[qid == query] - 1], [score[qid == query]], k=5) for query in np.unique(qid)
    ]
    assert ndcg_at(5, relevance, score, qid) == pytest.approx(np.mean(expected))


def test_precision_by_hand() -> None:
    qid = [7, 7, 7, 2, 2, 2]
    assert precision_at(2, [1, 0, 1, 0, 0, 1], [3, 2, 1, 3, 2, 1], qid) == 0.25
    assert precision_at(1, [0, 0, 1, 1, 0, 0], [1, 2, 3, 3, 2, 1], qid) == 1


def test_a_query_without_relevant_documents_counts_as_zero() -> None:
    assert ndcg_at(5, [0, 0, 1], [1, 2, 3], [0, 0, 1]) == 0.5
