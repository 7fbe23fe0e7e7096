"""Figure 14 of Xu et al. (2014): which features tell neighbouring degrees of relevance apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from ipforest.classifier_trees import neighbour_similarity, plot_similarity
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.ranking_trees import DOCUMENTS, cells, task_of
from ipforest.experiments.rows import grouped, panels

STRENGTH = 0.1
"""C of the logistic regressions with l1 norm; the paper prints none."""


def run(cell: Cell) -> list[Record]:
    """Compare the features of the classifiers of degree 0 against 1, 1 against 2, and so on."""
    training = task_of(cell).training
    degrees = np.unique(training.relevance)
    similarity = neighbour_similarity(training.X, training.relevance, C=STRENGTH, random_state=cell["seed"])
    names = [f"{low} or {high}" for low, high in pairwise(degrees)]
    return [
        {"pair": names[first], "other": names[second], "steps": abs(first - second), "shared": float(value)}
        for (first, second), value in np.ndenumerate(similarity)
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Average each coefficient over runs, each pair once."""
    return [
        {
            "data": data,
            "pair": pair,
            "other": other,
            "steps": same[0]["steps"],
            "shared": round(float(np.mean([record["shared"] for record in same])), 4),
        }
        for (data, pair, other), same in grouped(records, "data", "pair", "other").items()
        if pair < other
    ]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the Jaccard coefficients of the first run."""
    figure, parts = panels(records, "data", width=5, height=4.2)
    for data, of_data, axes in parts:
        first = next(iter(grouped(of_data, "seed").values()))
        names = [name for (name,) in grouped(first, "pair")]
        plot_similarity(np.array([record["shared"] for record in first]).reshape(len(names), -1), names, axes)
        axes.set_title(data)
    return figure


EXPERIMENT = Experiment(
    name="cstc2014/figure14",
    title="Rankings: Jaccard coefficients of the features that tell neighbouring degrees of relevance apart",
    source="Xu et al. (JMLR 2014), section 6.8, Figure 14",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        DOCUMENTS,
        f"60 queries; logistic regressions with l1 norm and C = {STRENGTH}, which the paper does not print",
    ),
    quick="30 queries",
    printed=("Coefficients fall monotonically away from the diagonal.",),
    minutes=1,
)
