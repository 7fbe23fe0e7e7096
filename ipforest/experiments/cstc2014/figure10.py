"""Figure 10 of Xu et al. (2014): which features the leaves of a tree of classifiers have in common."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ipforest.classifier_trees import CSTC, leaf_similarity, mean_labels, plot_similarity
from ipforest.classifier_trees.cstc import TreeObjective
from ipforest.experiments.cstc2014.figure8 import SIZES
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.ranking_trees import DOCUMENTS, SETTINGS, cells, descent_of, most_branched, shared, task_of
from ipforest.experiments.rows import panels


def run(cell: Cell) -> list[Record]:
    """Fit CSTC, and compare the features of the leaves of its tree, sorted by the mean label of their documents."""
    task = task_of(cell)
    objective = TreeObjective(lambdas=cell["lambdas"], depth=4)
    model = CSTC(objective=objective, descent=descent_of(cell), **shared(cell, task.costs))
    model.fit(task.training.X, task.training.relevance, qid=task.training.qid)
    chosen = most_branched(model.candidates_[:-1])
    model.tree_ = chosen.tree
    labels = mean_labels(model, task.test.X, task.test.relevance)
    leaves, similarity = leaf_similarity(model)
    order = np.argsort(np.nan_to_num(labels[leaves], nan=-1.0))
    return [
        {
            "nodes": chosen.tree.n_nodes,
            "lambda": chosen.lam,
            "leaf": int(leaves[first]),
            "mean_label": _number(labels[leaves[first]]),
            "other": int(leaves[second]),
            "other_mean_label": _number(labels[leaves[second]]),
            "shared": float(similarity[first, second]),
        }
        for first in order
        for second in order
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def summarise(records: list[Record]) -> list[Record]:
    """Return the coefficients of each pair of leaves once, rounded."""
    shown = ("data", "nodes", "lambda", "leaf", "mean_label", "other", "other_mean_label", "shared")
    position = {(record["data"], record["leaf"]): place for place, record in enumerate(records)}
    pairs = [
        record
        for record in records
        if position[record["data"], record["leaf"]] < position[record["data"], record["other"]]
    ]
    rows = [
        {key: float(f"{value:.4g}") if isinstance(value, float) else value for key in shown for value in [record[key]]}
        for record in pairs
    ]
    return rows or [{"data": record["data"], "nodes": record["nodes"], "leaf": record["leaf"]} for record in records]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the Jaccard coefficients of the leaves, sorted by mean label."""
    figure, parts = panels(records, "data", width=5, height=4.4)
    for data, of_data, axes in parts:
        labels = {record["leaf"]: record["mean_label"] for record in of_data}
        similarity = np.array([record["shared"] for record in of_data]).reshape(len(labels), len(labels))
        names = [f"v{leaf}" + ("" if label is None else f": {label:.2f}") for leaf, label in labels.items()]
        plot_similarity(similarity, names, axes)
        axes.set_title(f"leaves and their mean labels, {data}")
    return figure


EXPERIMENT = Experiment(
    name="cstc2014/figure10",
    title="Rankings: Jaccard coefficients of the features of the leaves of CSTC's tree",
    source="Xu et al. (JMLR 2014), section 6.5, Figure 10",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        DOCUMENTS,
        SIZES,
        "lambda: the best on validation documents of those whose tree has the most nodes; the paper shows lambda 4",
    ),
    quick="30 queries, 10 trees, 2 lambdas",
    settings=SETTINGS,
    printed=("Five leaves; coefficients fall away from the diagonal, to .64 between the most different leaves.",),
    reasons=(
        "Under printed, as with the digits (`cstc2014/ablation`), few leaves are left after early pruning, and the "
        "ways to them use the same features.",
    ),
    minutes=1,
)
