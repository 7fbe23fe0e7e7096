"""The papers' tables and figures, one file each: ``ipforest reproduce NAME``."""

from collections.abc import Mapping

from ipforest.experiments.reproduce import (
    adapt_letters,
    adapt_synthetic_1,
    adapt_synthetic_2,
    branching,
    budget_search,
    cstc_mnist,
    cstc_ranking,
    cstc_synthetic,
    early_exit,
    figure2,
    figure4,
    figure5,
    figure6,
    figure7,
    stopping_guards,
    table1_budgetprune,
    table1_budgetrf,
    table1_optimal_pruning,
    when_it_helps,
)
from ipforest.experiments.reproduce.experiment import Experiment, Reproduction, reproduce

__all__ = ["EXPERIMENTS", "Experiment", "Reproduction", "reproduce"]

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table1_optimal_pruning.EXPERIMENT,
        table1_budgetrf.EXPERIMENT,
        table1_budgetprune.EXPERIMENT,
        figure2.EXPERIMENT,
        figure5.EXPERIMENT,
        figure6.EXPERIMENT,
        figure7.EXPERIMENT,
        cstc_synthetic.EXPERIMENT,
        cstc_mnist.EXPERIMENT,
        cstc_ranking.EXPERIMENT,
        cstc_ranking.SKEWED_EXPERIMENT,
        early_exit.EXPERIMENT,
        stopping_guards.EXPERIMENT,
        branching.EXPERIMENT,
        when_it_helps.EXPERIMENT,
        budget_search.EXPERIMENT,
        adapt_synthetic_1.EXPERIMENT,
        adapt_synthetic_2.EXPERIMENT,
        adapt_letters.EXPERIMENT,
        figure4.EXPERIMENT,
    )
}
