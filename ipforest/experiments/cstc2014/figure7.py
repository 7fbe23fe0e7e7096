"""Figure 7 of Xu et al. (2014): rankings in which one document in a hundred is relevant."""

from ipforest.experiments.cstc2014.figure6 import cells, differences_with, draw, run_skewed, summarise
from ipforest.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="cstc2014/figure7",
    title="Rankings with one relevant document in a hundred: Precision@5 against cost",
    source="Xu et al. (JMLR 2014), section 6.3, Figure 7",
    cells=cells,
    run=run_skewed,
    summarise=summarise,
    draw=draw,
    differences=differences_with("AdaBoostRS is drawn once per run, not ten times"),
)
