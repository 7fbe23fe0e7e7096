"""Sections 6.2 and 6.3 of Xu et al. (2014) on synthetic rankings shaped like Yahoo's: quality at the top against cost.

Yahoo's data may not be shared. The synthetic ones have its 519 features with their seven prices, its five degrees of
relevance in about its proportions, and what CSTC presupposes: dear features tell more, and each tells it over a part of
the relevance scale only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier

from ipforest._arrays import FloatArray, IntArray
from ipforest.cascades.adaboost_rs import AdaBoostRS
from ipforest.cascades.and_or import AndOrCascade
from ipforest.cascades.astc import ASTC
from ipforest.cascades.boosting_trick import BoostingTrick
from ipforest.cascades.cronus import Cronus
from ipforest.cascades.cscc import CSCC
from ipforest.cascades.cstc import CSTC
from ipforest.cascades.ranking import ndcg_at, precision_at
from ipforest.cascades.stagewise import StagewiseRegression
from ipforest.cascades.tree_estimator import ClassifierTreeEstimator
from ipforest.costs import FeatureCosts

PRICES = {1: 123, 5: 31, 20: 191, 50: 125, 100: 16, 150: 32, 200: 1}
"""Features per price, in units of one evaluation of a weak learner."""

SHARES = (0.26, 0.36, 0.28, 0.08, 0.02)
"""Of the degrees of relevance 0 to 4."""

RELEVANT_SHARE = 0.01
"""Of the skewed, binary task."""

INFORMATIVE = 0.4
"""Share of the features that tell anything."""

SPLIT_COST = 0.1
"""A test's price: a tree that tests ten features costs about one evaluation."""

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


def draw(n_queries: int, n_documents: int, seed: int, *, skewed: bool = False) -> Ranking:
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
    noise = 6.0 / (1 + np.log1p(price)) * np.exp(0.3 * shape.normal(size=price.size))
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


@dataclass(frozen=True, slots=True)
class Point:
    """One model on test data.

    Parameters
    ----------
    method : str
    tradeoff : float
        Its lambda, its number of trees or draws.
    quality : float
        NDCG@5, or Precision@5 where relevance is 0 or 1.
    cost : float
        Average per document.
    """

    method: str
    tradeoff: float
    quality: float
    cost: float


Learners: TypeAlias = dict[str, ClassifierTreeEstimator]


def graded_learners(trees: BoostingTrick, lambdas: Any, seed: int) -> Learners:
    """List what Figure 6 compares, and ASTC."""
    shared: dict[str, Any] = {"lambdas": lambdas, "feature_map": trees, **_prices(), "random_state": seed}
    return {
        "CSTC": CSTC(depth=4, **shared),
        "CSTC without fine-tuning": CSTC(depth=4, fine_tune=False, **shared),
        "Cronus": Cronus(loss="squared", n_nodes=5, **shared),
        "ASTC": ASTC(depth=4, **shared),
        "single cost-sensitive classifier": CSTC(depth=1, **shared),
        "stage-wise regression": StagewiseRegression(feature_map=trees, **_prices(), random_state=seed),
    }


def skewed_learners(trees: BoostingTrick, lambdas: Any, seed: int) -> Learners:
    """List what Figure 7 compares."""
    shared: dict[str, Any] = {"lambdas": lambdas, "feature_map": trees, **_prices(), "random_state": seed}
    n_trees = trees.n_trees
    return {
        "CSCC": CSCC(n_nodes=5, **shared),
        "Cronus": Cronus(n_nodes=5, **shared),
        "CSTC": CSTC(loss="logistic", depth=3, **shared),
        "AND-OR": AndOrCascade(limits=(5, 20, 50, 150, 200), **shared),
        "AdaBoostRS": AdaBoostRS(n_trees=n_trees, max_depth=4, **_prices(), random_state=seed),
        "stage-wise regression": StagewiseRegression(feature_map=trees, **_prices(), random_state=seed),
    }


def _prices() -> dict[str, Any]:
    return {"feature_costs": FeatureCosts(prices()), "split_cost": SPLIT_COST}


def run(
    seed: int = 0,
    *,
    skewed: bool = False,
    n_queries: int = 300,
    n_documents: int = 24,
    n_trees: int = 200,
    lambdas: Any = 8,
    proximities: Sequence[float] = (0.2, 0.3, 0.5),
    methods: Sequence[str] | None = None,
) -> list[Point]:
    """Fit all methods on one draw and measure every tradeoff of each on another.

    Parameters
    ----------
    seed : int
    skewed : bool
        Figure 7 in place of Figure 6.
    n_queries, n_documents : int
        Of training and of test data.
    n_trees : int
        Of the boosting trick.
    lambdas : int or sequence of numbers
    proximities : sequence of float
        The s of early exit by score proximity.
    methods : sequence of str, optional
        Only these.
    """
    training = draw(n_queries, n_documents, 2 * seed, skewed=skewed)
    test = draw(n_queries, n_documents, 2 * seed + 1, skewed=skewed)
    trees = BoostingTrick(n_trees, max_depth=4, max_features=0.1, random_state=seed)
    learners = (skewed_learners if skewed else graded_learners)(trees, lambdas, seed)
    points: list[Point] = []
    for name, learner in learners.items():
        if methods is not None and name not in methods:
            continue
        target = training.relevance * 2.0 - 1 if skewed and not is_classifier(learner) else training.relevance
        learner.fit(training.X, target, qid=training.qid)
        points += _points(name, learner, test, skewed)
        if isinstance(learner, StagewiseRegression):
            for s in proximities:
                points += early_exits(learner, test, s, skewed)
    return points


def _quality(test: Ranking, scores: FloatArray, skewed: bool) -> float:
    return (precision_at if skewed else ndcg_at)(TOP, test.relevance, scores, test.qid)


def _points(name: str, learner: ClassifierTreeEstimator, test: Ranking, skewed: bool) -> Iterator[Point]:
    phi = learner.feature_map_.transform(test.X)
    for candidate in learner.candidates_[:-1]:
        tree = candidate.tree
        last = tree.route(phi)
        cost = learner.resources_.path_cost(tree.coef, tree.on_path)[last].mean()
        yield Point(name, candidate.lam, _quality(test, tree.answer(phi, last), skewed), float(cost))


def early_exits(learner: StagewiseRegression, test: Ranking, s: float, skewed: bool) -> list[Point]:
    """Run early exit by score proximity (Cambazoglu et al., 2010) on stage-wise regressions of several lengths.

    At the i-th of 300 exits a document leaves if it scores at least s (300 - i) / 299 less than the fifth best of its
    query; it keeps its score.
    """
    votes = learner.feature_map_.transform(test.X) / learner.target_scale_
    uses, points = learner.feature_map_.feature_of_weight_, []
    for candidate in learner.candidates_[:-1]:
        n_trees = int(candidate.lam)
        score, evaluated = proximity_exit(votes[:, :n_trees], test.qid, s)
        cost = _cost_of_first(learner, uses)[evaluated].mean()
        points.append(Point(f"early exit s={s}", candidate.lam, _quality(test, score, skewed), float(cost)))
    return points


def _cost_of_first(learner: StagewiseRegression, uses: Any) -> FloatArray:
    """Compute what the first trees cost, for each number of trees from 0."""
    seen = np.cumsum(uses.toarray(), axis=1) > 0
    price = np.array([float(cost) for cost in learner.costs_.prices])
    evaluation = np.cumsum(uses.sum(axis=0)) * float(learner.split_cost_)
    return np.concatenate([[0.0], price @ seen + evaluation])


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
    for number, (begin, end) in enumerate(zip(checkpoints[:-1], checkpoints[1:], strict=True), start=1):
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
