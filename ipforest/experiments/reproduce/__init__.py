"""The papers' tables and figures, one file each: ``ipforest reproduce NAME``."""

from collections.abc import Mapping

from ipforest.experiments.reproduce import (
    figure2,
    figure5,
    figure6,
    figure7,
    table1_budgetprune,
    table1_budgetrf,
    table1_optimal_pruning,
)
from ipforest.experiments.reproduce.experiment import Experiment, Reproduction, reproduce

__all__ = ["EXPERIMENTS", "Experiment", "Reproduction", "reproduce"]

EXPERIMENTS: Mapping[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        table1_optimal_pruning,
        table1_budgetrf,
        table1_budgetprune,
        figure2,
        figure5,
        figure6,
        figure7,
    )
}
