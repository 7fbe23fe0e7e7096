"""Synthetic rankings shaped like Yahoo's learning-to-rank data, and early exit by score proximity on rankings.

Yahoo's data may not be shared. These have its 519 features with their seven prices, its five degrees of relevance in
about its proportions, and what trees of classifiers presuppose: expensive features tell more, each over a part of the
relevance scale only, and few tell much. The skewed task is made of them as Xu et al. (2014), section 6.3, make theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray

PRICES = {1: 123, 5: 31, 20: 191, 50: 125, 100: 16, 150: 32, 200: 1}
"""Features per price, in units of one evaluation of a weak learner."""

SHARES = (0.26, 0.36, 0.28, 0.08, 0.02)
"""Of the degrees of relevance 0 to 4."""

GOOD = 3
"""From this degree on a document counts as relevant where relevance is yes or no."""

COPIES = 10
"""How often each irrelevant document stands in the skewed task."""

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
    copies : ndarray of int64, shape (n_documents,)
        How many equal documents each stands for.
    """

    X: FloatArray
    relevance: IntArray
    qid: IntArray
    copies: IntArray

    def skewed(self) -> Ranking:
        """Return the binary task: a document is relevant or not, one in about a hundred is, counting copies."""
        relevant = self.relevance >= GOOD
        return replace(self, relevance=relevant.astype(np.int64), copies=np.where(relevant, 1, COPIES))

    def repeated(self) -> Ranking:
        """Return every copy as a document of its own."""
        every = np.repeat(np.arange(self.qid.size), self.copies)
        return Ranking(self.X[every], self.relevance[every], self.qid[every], np.ones_like(every))


def prices() -> FloatArray:
    """List the prices of the 519 features."""
    return np.repeat(list(PRICES), list(PRICES.values())).astype(np.float64)


def draw_ranking(n_queries: int, n_documents: int, seed: int) -> Ranking:
    """Draw documents.

    Parameters
    ----------
    n_queries : int
    n_documents : int
        Per query.
    seed : int
        Of the documents; the features are the same for all seeds.
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
    relevance = np.digitize(merit, np.quantile(merit, np.cumsum(SHARES)[:-1])).astype(np.int64)
    return Ranking(X, relevance, qid, np.ones_like(qid))


def proximity_exit(votes: FloatArray, qid: IntArray, copies: IntArray, s: float) -> tuple[FloatArray, IntArray]:
    """Add up votes tree by tree; documents far from the fifth best of their query leave.

    Parameters
    ----------
    votes : ndarray of float64, shape (n_documents, n_trees)
    qid, copies : ndarray of int, shape (n_documents,)
        See `Ranking`.
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
        active &= score > _fifth_best(score, query, copies) - s * (N_EXITS - exit_number) / (N_EXITS - 1)
    return score, evaluated


def _fifth_best(score: FloatArray, query: IntArray, copies: IntArray) -> FloatArray:
    """Find the fifth best score of each document's query, counting copies; the worst where there are fewer."""
    order = np.lexsort((-score, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    ends = np.append(starts[1:], order.size)
    so_far = np.cumsum(copies[order])
    fifth = np.searchsorted(so_far, so_far[starts] - copies[order[starts]] + TOP)
    return np.asarray(score[order[np.minimum(fifth, ends - 1)]][query])
