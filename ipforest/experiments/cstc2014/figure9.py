"""Figure 9 of Xu et al. (2014): the same shares where one document in a hundred is relevant, for three cascades."""

from __future__ import annotations

from ipforest.classifier_trees import CSCC, AndOrCascade, Cronus
from ipforest.classifier_trees.and_or import AndOrObjective
from ipforest.classifier_trees.cscc import ChainObjective
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator
from ipforest.experiments.cstc2014.figure6 import LIMITS, SKEWED_RHO
from ipforest.experiments.cstc2014.figure8 import EXPERIMENT as FIGURE8
from ipforest.experiments.cstc2014.figure8 import draw, shares_of, summarise
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.ranking_trees import SETTINGS, cells, task_of

METHODS: dict[str, ClassifierTreeEstimator] = {
    "CSCC": CSCC(objective=ChainObjective(n_nodes=10, rho=SKEWED_RHO)),
    "AND-OR": AndOrCascade(objective=AndOrObjective(limits=LIMITS)),
    "Cronus": Cronus(objective=ChainObjective(n_nodes=10, rho=SKEWED_RHO)),
}


def run(cell: Cell) -> list[Record]:
    """Fit the three cascades and count the features of each price that some node of a depth or less uses."""
    return shares_of(cell, task_of(cell).skewed(), METHODS, "precision")


EXPERIMENT = Experiment(
    name="cstc2014/figure9",
    title="Skewed rankings: shares of the features of each price that CSCC, AND-OR and Cronus use by each depth",
    source="Xu et al. (JMLR 2014), section 6.4, Figure 9",
    steps=Steps(cells, run, summarise, draw),
    differs=FIGURE8.differs,
    quick=FIGURE8.quick,
    settings=SETTINGS,
    printed=("At Precision@5 .135 CSCC and Cronus buy some features of price 100 and 150 in their first node.",),
    minutes=2,
)
