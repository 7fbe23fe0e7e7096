"""Synthetic rankings shaped like Yahoo's learning-to-rank data, and early exit by score proximity on rankings.

Yahoo's data may not be shared. These have its 519 features with their seven prices, its five degrees of relevance in
about its proportions, and what trees of classifiers presuppose: dear features tell more, each over a part of the
relevance scale only, and few tell much.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ipforest._arrays import FloatArray, IntArray

PRICES = {1: 123, 5: 31, 20: 191, 50: 125, 100: 16, 150: 32, 200: 1}
"""Features per price, in units of one evaluation of a weak learner."""

SHARES = (0.26, 0.36, 0.28, 0.08, 0.02)
"""Of the degrees of relevance 0 to 4."""

RELEVANT_SHARE = 0.01
"""Of the skewed, binary task."""

INFORMATIVE = 0.4
"""Share of the features that tell anything."""

NOISE = 24.0
"""Median standard deviation of the noise of features that are free, of a signal within -1..1; few have much less."""

TOP = 5
N_EXITS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Documents of queries.

    Parameters
    ----------
    X : ndarray of float64, shape (n_documents, 519)
    relevance, qid : ndarray of int64, shape (n_documents,)
    """

    X: FloatArray
    relevance: IntArray
    qid: IntArray


def prices() -> FloatArray:
    """List the prices of the 519 features."""
    return np.repeat(list(PRICES), list(PRICES.values())).astype(np.float64)


def draw_ranking(n_queries: int, n_documents: int, seed: int, *, skewed: bool = False) -> Ranking:
    """Draw documents.

    Parameters
    ----------
    n_queries : int
    n_documents : int
        Per query.
    seed : int
        Of the documents; the features are the same for all seeds.
    skewed : bool
        Whether relevance is 0 or 1, 1 for one document in a hundred.
    """
    shape, rng = np.random.default_rng(519), np.random.default_rng(seed)
    price = prices()
    place, width = shape.normal(0, 1.2, price.size), np.where(price < 20, 2.0, 0.6)
    noise = NOISE / (1 + 0.5 * np.log1p(price)) * np.exp(shape.normal(size=price.size))
    told = shape.random(price.size) < INFORMATIVE
    loading = shape.normal(size=(20, price.size)) * 0.25
    size = n_queries * n_documents
    qid = np.repeat(np.arange(n_queries), n_documents)
    merit = 0.9 * rng.normal(size=size) + 0.4 * rng.normal(size=n_queries)[qid]
    signal = np.tanh((merit[:, None] - place) / width) * told
    X = signal + noise * (rng.normal(size=(size, price.size)) + rng.normal(size=(size, 20)) @ loading)
    limits = [1 - RELEVANT_SHARE] if skewed else np.cumsum(SHARES)[:-1]
    relevance = np.digitize(merit, np.quantile(merit, limits)).astype(np.int64)
    return Ranking(X, relevance, qid)


def proximity_exit(votes: FloatArray, qid: IntArray, s: float) -> tuple[FloatArray, IntArray]:
    """Add up votes tree by tree; documents far from the fifth best of their query leave.

    Parameters
    ----------
    votes : ndarray of float64, shape (n_documents, n_trees)
    qid : ndarray of int, shape (n_documents,)
    s : float

    Returns
    -------
    score : ndarray of float64, shape (n_documents,)
    evaluated : ndarray of int64, shape (n_documents,)
        Trees evaluated of each.
    """
    n_documents, n_trees = votes.shape
    query = np.unique(qid, return_inverse=True)[1]
    score, evaluated = np.zeros(n_documents), np.zeros(n_documents, dtype=np.int64)
    active = np.ones(n_documents, dtype=bool)
    checkpoints = np.unique(np.linspace(0, n_trees, min(N_EXITS, n_trees) + 1).round().astype(int))
    for number, (begin, end) in enumerate(pairwise(checkpoints.tolist()), start=1):
        score[active] += votes[active, begin:end].sum(axis=1)
        evaluated[active] = end
        exit_number = round(1 + (number - 1) * (N_EXITS - 1) / max(1, checkpoints.size - 2))
        active &= score > _fifth_best(score, query) - s * (N_EXITS - exit_number) / (N_EXITS - 1)
    return score, evaluated


def _fifth_best(score: FloatArray, query: IntArray) -> FloatArray:
    """Find the fifth best score of each document's query; the worst where there are fewer."""
    order = np.lexsort((-score, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    ends = np.append(starts[1:], order.size)
    return np.asarray(score[order[np.minimum(starts + TOP - 1, ends - 1)]][query])
