"""How good a ranking is at the top: NDCG and precision at a position, averaged over queries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipforest._arrays import Array, IntArray


def ndcg_at(k: int, relevance: npt.ArrayLike, score: npt.ArrayLike, qid: npt.ArrayLike) -> float:
    """Compute the normalised discounted cumulative gain at position k, averaged over queries (section 6.2).

    Parameters
    ----------
    k : int
    relevance, score, qid : array, shape (n_documents,)
        Gains are ``2 ** relevance - 1``; of equal scores the earlier document ranks first.

    Returns
    -------
    float
        Queries in which nothing is relevant count as 0.
    """
    gain = 2.0 ** np.asarray(relevance) - 1
    query = np.unique(qid, return_inverse=True)[1]
    dcg = _discounted(k, gain, query, np.asarray(score))
    ideal = _discounted(k, gain, query, gain)
    return float(np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0).mean())


def precision_at(k: int, relevance: npt.ArrayLike, score: npt.ArrayLike, qid: npt.ArrayLike) -> float:
    """Compute the share of relevant (> 0) documents among the first k, averaged over queries (section 6.3)."""
    query = np.unique(qid, return_inverse=True)[1]
    order, rank = _ranks(query, np.asarray(score))
    top = order[rank < k]
    relevant = np.bincount(query[top], weights=np.asarray(relevance)[top] > 0)
    return float((relevant / k).mean())


def _discounted(k: int, gain: Array, query: IntArray, score: Array) -> Array:
    order, rank = _ranks(query, score)
    order, rank = order[rank < k], rank[rank < k]
    return np.bincount(query[order], weights=gain[order] / np.log2(rank + 2.0))


def _ranks(query: IntArray, score: Array) -> tuple[IntArray, IntArray]:
    """Order documents by query and falling score; give their ranks within the query, from 0, in that order."""
    order = np.lexsort((-score, query))
    ordered = query[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return order, np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
