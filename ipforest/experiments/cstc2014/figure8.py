"""Figure 8 of Xu et al. (2014): shares of the features of each price that CSTC and Cronus have bought by each depth."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from ipforest.classifier_trees import CSTC, Cronus, price_shares
from ipforest.classifier_trees.cscc import ChainObjective
from ipforest.classifier_trees.cstc import TreeObjective
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.ranking_trees import (
    DOCUMENTS,
    SETTINGS,
    RankingTask,
    cells,
    descent_of,
    equally_good,
    measure,
    shared,
    task_of,
    true_resources,
    with_known,
)
from ipforest.experiments.rows import draw_line, panels

METHODS: dict[str, ClassifierTreeEstimator] = {
    "CSTC": CSTC(objective=TreeObjective(depth=4)),
    "Cronus": Cronus(loss="squared", objective=ChainObjective(n_nodes=10)),
}


def run(cell: Cell) -> list[Record]:
    """Fit both methods and count the features of each price that some node of a depth or less uses."""
    return shares_of(cell, task_of(cell), METHODS, "ndcg")


def shares_of(cell: Cell, task: RankingTask, methods: dict[str, ClassifierTreeEstimator], quality: str) -> list[Record]:
    """Fit methods, choose models of about the same quality, and count the features they have bought by each depth.

    Parameters
    ----------
    cell : dict
    task : RankingTask
    methods : dict
    quality : {"ndcg", "precision"}
        By which models are equally good on validation documents.
    """
    models, measures, training = {}, {}, task.training.repeated()
    for name, learner in methods.items():
        parameters = {**shared(cell, task.costs), "objective__lambdas": cell["lambdas"], "descent": descent_of(cell)}
        model = with_known(learner, parameters).fit(training.X, training.relevance, qid=training.qid)
        resources = true_resources(model, cell, task.costs)
        models[name] = model
        measures[name] = [
            measure(model, candidate.tree, resources, task.validation) for candidate in model.candidates_[:-1]
        ]
    qualities, costs = (
        {name: [each[key] for each in of_method] for name, of_method in measures.items()} for key in (quality, "cost")
    )
    chosen = equally_good(qualities, costs)
    records: list[Record] = []
    for name, model in models.items():
        model.tree_ = model.candidates_[chosen[name]].tree
        result = measure(model, model.tree_, true_resources(model, cell, task.costs), task.test)
        found = price_shares(model)
        records += [
            {
                "method": name,
                "depth": depth,
                "price": float(price),
                "features": int(count),
                "share": float(share),
                "nodes": model.tree_.n_nodes,
                "cost": result["cost"],
                quality: result[quality],
            }
            for depth, of_depth in enumerate(found.shares, start=1)
            for price, count, share in zip(found.prices, found.counts, of_depth, strict=True)
        ]
    return records


def summarise(records: list[Record]) -> list[Record]:
    """Put the shares of each method, data set and depth into one row, one column per price."""
    rows: dict[tuple[Any, ...], Record] = {}
    for record in records:
        key = (record["data"], record["method"], record["depth"])
        quality = next(name for name in ("ndcg", "precision") if name in record)
        row = rows.setdefault(
            key,
            {
                **dict(zip(("data", "method", "depth"), key, strict=True)),
                "nodes": record["nodes"],
                "cost": round(record["cost"], 1),
                quality: round(record[quality], 4),
            },
        )
        row[f"price {record['price']:g} ({record['features']})"] = round(record["share"], 3)
    return list(rows.values())


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the share of the features bought so far against depth, one panel per method, one line per price."""
    figure, parts = panels(rows, "data", "method", width=4.2, height=3.8)
    for (data, method), of_panel, axes in parts:
        for column in (column for column in of_panel[0] if column.startswith("price")):
            draw_line(axes, of_panel, "depth", column, "o-", label=column)
        axes.set(title=f"{method}, {data}", xlabel="depth", ylim=(-0.02, 1.02))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("share of the features used so far")
    figure.axes[-1].legend(fontsize=8)
    return figure


SIZES = (
    "60 queries in each part, 40 trees of depth 1 in the boosting trick (print: 3,000 of depth 4), 3 lambdas, one run"
)


EXPERIMENT = Experiment(
    name="cstc2014/figure8",
    title="Rankings: shares of the features of each price that CSTC and Cronus use by each depth",
    source="Xu et al. (JMLR 2014), section 6.4, Figure 8",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        DOCUMENTS,
        SIZES,
        "models: the cheapest on validation documents that are as good as every method can be; the paper matches them "
        "by hand",
    ),
    quick="30 queries, 10 trees, 2 lambdas",
    settings=SETTINGS,
    printed=("CSTC has 4 levels, Cronus 10 nodes; features up to price 5 are bought early, expensive ones deeper.",),
    minutes=1,
)
