"""Figure 14 of Xu et al. (2014): which features tell neighbouring degrees of relevance apart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ipforest.classifier_trees import neighbour_similarity, plot_similarity
from ipforest.experiments.experiment import Cell, Experiment, Record
from ipforest.experiments.ranking_trees import cells, task_of

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
    rows = []
    for data, pair, other in dict.fromkeys((record["data"], record["pair"], record["other"]) for record in records):
        same = [r["shared"] for r in records if (r["data"], r["pair"], r["other"]) == (data, pair, other)]
        steps = abs(int(pair.split()[0]) - int(other.split()[0]))
        if pair < other:
            rows.append(
                {"data": data, "pair": pair, "other": other, "steps": steps, "shared": round(float(np.mean(same)), 4)}
            )
    return rows


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the Jaccard coefficients of the first run."""
    sets = list(dict.fromkeys(record["data"] for record in records))
    figure = Figure(figsize=(5 * len(sets), 4.2), layout="constrained")
    for place, data in enumerate(sets, start=1):
        first = next(record["seed"] for record in records if record["data"] == data)
        own = [record for record in records if (record["data"], record["seed"]) == (data, first)]
        names = list(dict.fromkeys(record["pair"] for record in own))
        axes: Any = figure.add_subplot(1, len(sets), place)
        plot_similarity(np.array([record["shared"] for record in own]).reshape(len(names), -1), names, axes)
        axes.set_title(data)
    return figure


EXPERIMENT = Experiment(
    name="cstc2014/figure14",
    title="Rankings: Jaccard coefficients of the features that tell neighbouring degrees of relevance apart",
    source="Xu et al. (JMLR 2014), section 6.8, Figure 14",
    cells=cells,
    run=run,
    summarise=summarise,
    draw=draw,
    differs=(
        "synthetic documents (ipforest.experiments.rankings), and Yahoo's where yahoo.npz is in the data folder",
        f"60 queries; logistic regressions with l1 norm and C = {STRENGTH}, which the paper does not print",
    ),
    quick="30 queries",
    printed=("Coefficients fall monotonically away from the diagonal.",),
    minutes=1,
)
