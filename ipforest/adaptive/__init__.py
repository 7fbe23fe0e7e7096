"""Adaptive approximation: a cheap model for the easy examples, a gate, and a full model for the others."""

from ipforest.adaptive.adapt_gbrt import AdaptGbrt, BoostedSearch, PairGrowth
from ipforest.adaptive.adapt_lin import AdaptLin
from ipforest.adaptive.adapt_lstsq import AdaptLstsq
from ipforest.adaptive.approximation import GateSearch, PairSearch
from ipforest.adaptive.l1_baseline import L1Baseline
from ipforest.adaptive.linear_pair import AlternationSettings

__all__ = [
    "AdaptGbrt",
    "AdaptLin",
    "AdaptLstsq",
    "AlternationSettings",
    "BoostedSearch",
    "GateSearch",
    "L1Baseline",
    "PairGrowth",
    "PairSearch",
]
