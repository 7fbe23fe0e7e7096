"""Figure 11 of Xu et al. (2014): CSTC without one or both of its costs, and for values of rho."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from ipforest.classifier_trees import CSTC
from ipforest.classifier_trees.cstc import TreeObjective
from ipforest.experiments.cstc2014.figure8 import SIZES
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.ranking_trees import (
    DOCUMENTS,
    SETTINGS,
    RankingTask,
    cells,
    descent_of,
    measure,
    shared,
    task_of,
    true_resources,
)
from ipforest.experiments.rows import draw_line, grouped, mean_and_deviation

VARIANTS = {
    "CSTC": {"features": True, "evaluation": True},
    "feature cost only": {"features": True, "evaluation": False},
    "evaluation cost only": {"features": False, "evaluation": True},
    "no cost": {"features": False, "evaluation": False},
}
RHO_VARIED = "CSTC, rho varied"
RHOS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 3, 4, 5)
"""In units of lambda times one evaluation, as in the paper, where lambda and the price of an evaluation are 1."""


def run(cell: Cell) -> list[Record]:
    """Fit CSTC with both costs, one and none over lambda, then with both over rho; both costs are measured of all."""
    task = task_of(cell)
    records: list[Record] = []
    lams: list[float] = []
    for name, counted in VARIANTS.items():
        found = _measured(cell, task, {**shared(cell, task.costs, **counted), "objective__lambdas": cell["lambdas"]})
        lams = lams or [record["lambda"] for record in found]
        records += [{"part": "costs", "curve": name, **record} for record in found]
    middle = sorted(lams)[len(lams) // 2]
    for rho in RHOS[:: 1 if cell["lambdas"] > 2 else 5]:
        given = {**shared(cell, task.costs), "objective__lambdas": [middle], "objective__rho": rho * middle}
        records += [{"part": "rho", "curve": RHO_VARIED, "rho": rho, **found} for found in _measured(cell, task, given)]
    return records


def _measured(cell: Cell, task: RankingTask, parameters: dict[str, Any]) -> list[Record]:
    model = CSTC(objective=TreeObjective(depth=3), descent=descent_of(cell)).set_params(**parameters)
    model.fit(task.training.X, task.training.relevance, qid=task.training.qid)
    resources = true_resources(model, cell, task.costs)
    return [
        {"lambda": each.lam, "nodes": each.tree.n_nodes, **measure(model, each.tree, resources, task.test)}
        for each in model.candidates_[:-1]
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Average cost and NDCG@5 over runs, per curve and its place on it."""
    placed = [
        {**record, "place": place}
        for curve in grouped(records, "data", "seed", "curve").values()
        for place, record in enumerate(curve)
    ]
    return [
        {
            "data": data,
            "part": part,
            "curve": curve,
            "lambda": float(f"{same[0]['lambda']:.3g}"),
            "rho": same[0].get("rho"),
            "nodes": same[0]["nodes"],
            **mean_and_deviation(same, ("cost", "ndcg")),
            "runs": len(same),
        }
        for (data, part, curve, _), same in grouped(placed, "data", "part", "curve", "place").items()
    ]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw NDCG@5 against cost: the variants on the left, CSTC over rho on the right."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    for place, part in enumerate(("costs", "rho"), start=1):
        axes = figure.add_subplot(1, 2, place)
        for (data, curve), points in grouped(rows, "data", "curve").items():
            if curve == "CSTC" or any(row["part"] == part for row in points):
                points.sort(key=lambda row: row["cost"])
                draw_line(axes, points, "cost", "ndcg", "o-", label=f"{curve}, {data}")
        axes.set(xlabel="average cost of a document", ylabel="NDCG@5", xscale="log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="cstc2014/figure11",
    title="Rankings: CSTC without evaluation cost, feature cost or both, and for values of rho",
    source="Xu et al. (JMLR 2014), section 6.6, Figure 11",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        DOCUMENTS,
        SIZES,
        "a grid of lambdas for each variant below the one from which on nothing pays; without costs lambda is 0",
        "rho: the paper's ten values, in units of lambda times one evaluation, at the middle lambda of CSTC",
    ),
    quick="30 queries, 10 trees, 2 lambdas, 2 values of rho",
    settings=SETTINGS,
    printed=(
        "Feature cost alone is nearly as good as both costs; evaluation cost alone, and no cost, are much worse.",
        "A larger rho follows the curve of CSTC for a little, then NDCG falls.",
    ),
    reasons=(
        "As in print, feature cost alone is about as good as both; evaluation cost alone, or none, has a lower NDCG at "
        "small costs; and with a larger rho NDCG falls. One run on synthetic documents.",
    ),
    minutes=2,
)
