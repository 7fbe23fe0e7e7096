"""Cronus: the cascade of Chen, Xu, Weinberger, and Chapelle (2012), as told in section 4.1 of Xu et al. (2014)."""

from __future__ import annotations

from ipforest.classifier_trees.cscc import CSCC
from ipforest.classifier_trees.relaxation import RelaxedCost, StageCost


class Cronus(CSCC):
    """A cascade of linear classifiers as `CSCC`, whose cost is relaxed otherwise.

    The weights of each node are multiplied by the share of examples that reach it within one mixed norm over all
    nodes, in place of the sum over exits; loss, training and parameters are those of `CSCC`.

    Notes
    -----
    Xu et al. (2014) state neither the keep ratio nor the discount of the original paper (Chen et al., 2012), whose text
    is not at hand. The share of examples that each initial threshold keeps is ``DescentSettings(sent_up=...)``, a half
    by default; thresholds are then optimised with the weights. There is no discount.
    """

    def _cost(self) -> RelaxedCost:
        return StageCost(self.resources_)
