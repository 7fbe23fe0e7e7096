"""How good rankings are at the top, averaged over queries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray, IntArray

__all__ = ["average_precision_at", "ndcg_at", "precision_at"]


def average_precision_at(relevance: npt.ArrayLike, scores: npt.ArrayLike, queries: npt.ArrayLike, k: int = 5) -> float:
    """Compute the papers' Average Precision@k: the share of the first k places before the first irrelevant document.

    The documents of a query are sorted by falling score, equal ones in the given order. If the first k are all
    relevant the query counts 1; if the first irrelevant one stands at place j <= k, it counts (j - 1) / k. A query of
    fewer than k documents, all relevant, counts their number over k. The result is the mean over the queries.

    Parameters
    ----------
    relevance : array, shape (n_documents,)
        Positive where the document is relevant.
    scores : array, shape (n_documents,)
    queries : array, shape (n_documents,)
        The query of each document.
    k : int

    Raises
    ------
    ValueError
        Lengths differ, there are no documents, or k < 1.

    Notes
    -----
    BudgetRF (ICML 2015), section 3, after Kusner et al. (2014). It is not the average precision of information
    retrieval, which goes on after irrelevant documents.
    """
    places, gains, n_queries = _ranked(relevance, scores, queries, k)
    first_miss = np.full(n_queries, k)
    misses = (gains[:, 1] <= 0) & (places < k)
    np.minimum.at(first_miss, gains[misses, 0].astype(np.int64), places[misses])
    sizes = np.bincount(gains[:, 0].astype(np.int64), minlength=n_queries)
    return float(np.mean(np.minimum(first_miss, sizes)) / k)


def precision_at(relevance: npt.ArrayLike, scores: npt.ArrayLike, queries: npt.ArrayLike, k: int = 5) -> float:
    """Compute Precision@k: the share of relevant documents among the first k, averaged over the queries.

    Parameters
    ----------
    relevance, scores, queries, k
        As in `average_precision_at`.
    """
    places, gains, n_queries = _ranked(relevance, scores, queries, k)
    return float(np.count_nonzero((gains[:, 1] > 0) & (places < k)) / (k * n_queries))


def ndcg_at(relevance: npt.ArrayLike, scores: npt.ArrayLike, queries: npt.ArrayLike, k: int = 5) -> float:
    r"""Compute NDCG@k with gains :math:`2^r - 1` and discounts :math:`\log_2(1 + place)`, averaged over the queries.

    Parameters
    ----------
    relevance : array, shape (n_documents,)
        Grade r >= 0 of each document.
    scores, queries, k
        As in `average_precision_at`.

    Notes
    -----
    The gains are those of the Yahoo! challenge. A query without a relevant document counts 1: any order is the best.
    """
    achieved = _discounted(relevance, scores, queries, k)
    best = _discounted(relevance, relevance, queries, k)
    return float(np.mean(np.where(best > 0, achieved / np.where(best > 0, best, 1.0), 1.0)))


def _discounted(relevance: npt.ArrayLike, scores: npt.ArrayLike, queries: npt.ArrayLike, k: int) -> FloatArray:
    places, gains, n_queries = _ranked(relevance, scores, queries, k)
    worth = np.where(places < k, (2.0 ** gains[:, 1] - 1.0) / np.log2(places + 2.0), 0.0)
    sums: FloatArray = np.bincount(gains[:, 0].astype(np.int64), weights=worth, minlength=n_queries).astype(np.float64)
    return sums


def _ranked(
    relevance: npt.ArrayLike, scores: npt.ArrayLike, queries: npt.ArrayLike, k: int
) -> tuple[IntArray, FloatArray, int]:
    """Sort documents by query and falling score; give places from 0, and the query index with the relevance."""
    grades, ranks = np.asarray(relevance, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    names, query = np.unique(np.asarray(queries), return_inverse=True)
    if not grades.shape == ranks.shape == query.shape or grades.ndim != 1 or grades.size == 0:
        raise ValueError(
            "relevance, scores, queries: expected one value per document and at least one document, "
            f"got shapes {grades.shape}, {ranks.shape} and {query.shape}"
        )
    if k < 1:
        raise ValueError(f"k: expected at least 1, got {k}")
    order = np.lexsort((-ranks, query))
    sorted_query = query[order]
    starts = np.searchsorted(sorted_query, np.arange(names.size))
    places = np.arange(order.size) - starts[sorted_query]
    return places, np.column_stack([sorted_query, grades[order]]), names.size
