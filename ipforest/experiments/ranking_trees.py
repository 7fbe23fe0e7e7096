"""Trees and cascades of classifiers for rankings: documents, prices and measures of Xu et al. (2014), 6.4 to 6.8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ipforest import datasets
from ipforest.classifier_trees.block_descent import DescentSettings
from ipforest.classifier_trees.boosting_trick import BoostingTrick
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.ranking import ndcg_at, precision_at
from ipforest.classifier_trees.resources import Resources
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator, MeasuredTree
from ipforest.costs import FeatureCosts
from ipforest.experiments.experiment import OURS, Cell, settings_of
from ipforest.experiments.paper_data import available
from ipforest.experiments.rankings import TOP, Ranking, draw_ranking, prices

SETTINGS = {
    "printed": "evaluating each tree of the boosting trick costs 1; trees of classifiers are pruned before the "
    "descent, conjugate gradients converge, weights below 1e-4 are clamped and no others",
    OURS: "evaluating a tree costs 0.1 per feature that it tests; pruned after the descent, five steps of conjugate "
    "gradient per renewal",
}
SPLIT_COST = 0.1
"""What a test costs in our setting: a tree of ten features costs about one evaluation of a weak learner."""

MAX_DEPTH = 1
"""Of the boosted trees. Deeper ones need so many features each that no choice of trees is cheap."""

SYNTHETIC, YAHOO = "synthetic", "yahoo"
DOCUMENTS = "synthetic documents (ipforest.experiments.rankings), and Yahoo's where yahoo.npz is in the data folder"
"""What the figures are of where the paper's are of Yahoo's documents."""


@dataclass(frozen=True, slots=True, eq=False)
class RankingTask:
    """Documents to train on, to choose by and to measure on, and the prices of their features."""

    training: Ranking
    validation: Ranking
    test: Ranking
    costs: FeatureCosts

    def skewed(self) -> RankingTask:
        """Return the task of two degrees in which one document in a hundred is relevant."""
        return RankingTask(self.training.skewed(), self.validation.skewed(), self.test.skewed(), self.costs)


def cells(quick: bool, seed: int) -> list[Cell]:
    """List the cells of a figure: synthetic documents, and Yahoo's where the user has them."""
    size = {"queries": 30, "trees": 10, "lambdas": 2} if quick else {"queries": 150, "trees": 200, "lambdas": 4}
    return [
        {"data": data, "seed": seed, **size} for data in (SYNTHETIC, YAHOO) if data == SYNTHETIC or available(YAHOO)
    ]


def task_of(cell: Cell) -> RankingTask:
    """Draw the documents of a cell: so many queries in each part, of 24 documents if they are synthetic."""
    if cell["data"] == SYNTHETIC:
        training, validation, test = (draw_ranking(cell["queries"], 24, 3 * cell["seed"] + part) for part in range(3))
        return RankingTask(training, validation, test, FeatureCosts(prices()))
    data = datasets.load(YAHOO)
    if data.queries is None or data.split is None:
        raise ValueError(f"{YAHOO}.npz: expected documents with queries and a split, got documents without")
    chosen = []
    for part in range(3):
        queries = np.unique(data.queries[data.split == part])
        taken = np.random.default_rng([cell["seed"], part]).permutation(queries)[: cell["queries"]]
        rows = np.flatnonzero((data.split == part) & np.isin(data.queries, taken))
        y, qid = data.y[rows].astype(np.int64), data.queries[rows]
        chosen.append(Ranking(data.X[rows].astype(np.float64), y, qid, np.ones_like(y)))
    return RankingTask(chosen[0], chosen[1], chosen[2], data.costs)


def shared(cell: Cell, costs: FeatureCosts, *, features: bool = True, evaluation: bool = True) -> dict[str, Any]:
    """Return the parameters that all learners of a cell share.

    Parameters
    ----------
    cell : dict
    costs : FeatureCosts
    features, evaluation : bool
        Whether features, and evaluating a tree of the boosting trick, cost anything in training.
    """
    printed = settings_of(cell) == "printed"
    return {
        "feature_map": BoostingTrick(
            cell["trees"],
            max_depth=MAX_DEPTH,
            evaluation_cost=1 if printed and evaluation else 0,
            random_state=cell["seed"],
        ),
        "feature_costs": costs if features else np.zeros(costs.n_features),
        "split_cost": SPLIT_COST if evaluation and not printed else 0,
        "random_state": cell["seed"],
    }


def with_known(model: ClassifierTreeEstimator, parameters: Mapping[str, Any]) -> ClassifierTreeEstimator:
    """Copy a learner, with those of some parameters that it has."""
    has = model.get_params()
    made: ClassifierTreeEstimator = clone(model)
    return made.set_params(**{name: value for name, value in parameters.items() if name in has})


def descent_of(cell: Cell) -> DescentSettings | None:
    """Return how trees of classifiers are optimised under the cell's settings."""
    return DescentSettings.printed() if settings_of(cell) == "printed" else None


def true_resources(model: ClassifierTreeEstimator, cell: Cell, costs: FeatureCosts) -> Resources:
    """Return what a model's weights need under the cell's prices, whatever it was trained for."""
    uses = model.feature_map_.feature_of_weight_
    if settings_of(cell) == "printed":
        return Resources.of_weights(costs, uses, 0.0, np.ones(uses.shape[1]))
    return Resources.of_weights(costs, uses, SPLIT_COST)


def measure(
    model: ClassifierTreeEstimator, tree: ClassifierTree, resources: Resources, part: Ranking
) -> dict[str, float]:
    """Measure a tree of a model: average cost, NDCG@5 and Precision@5, copies of documents counted."""
    phi = model.feature_map_.transform(part.X)
    _, scores, paid = resources.outcome(tree, phi)
    score, relevance, qid = (np.repeat(of, part.copies) for of in (scores, part.relevance, part.qid))
    return {
        "cost": float(np.average(paid, weights=part.copies)),
        "ndcg": ndcg_at(relevance, score, qid, TOP),
        "precision": precision_at(relevance, score, qid, TOP),
    }


def most_branched(candidates: Sequence[MeasuredTree]) -> MeasuredTree:
    """Take the candidate that is best on validation data of those whose tree has the most nodes."""
    most = max(candidate.tree.n_nodes for candidate in candidates)
    return min((each for each in candidates if each.tree.n_nodes == most), key=lambda each: each.badness)


def equally_good(qualities: Mapping[str, Sequence[float]], costs: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """Choose one candidate per method so that all are about equally good: the cheapest as good as all can be.

    Parameters
    ----------
    qualities, costs : mapping of sequences of float
        Of each method's candidates on validation data.

    Returns
    -------
    dict of int
        The place of each method's candidate.
    """
    level = min(max(of_method) for of_method in qualities.values())
    chosen = {}
    for method, of_method in qualities.items():
        enough = np.flatnonzero(np.asarray(of_method) >= level)
        chosen[method] = int(enough[np.argmin(np.asarray(costs[method])[enough])])
    return chosen
