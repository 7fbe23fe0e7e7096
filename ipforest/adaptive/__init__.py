"""Adaptive approximation: a cheap model for the easy examples, a gate, and a full model for the others."""

from ipforest.adaptive.adapt_gbrt import AdaptGbrt
from ipforest.adaptive.adapt_lin import AdaptLin
from ipforest.adaptive.adapt_lstsq import AdaptLstsq
from ipforest.adaptive.l1_baseline import L1Baseline

__all__ = ["AdaptGbrt", "AdaptLin", "AdaptLstsq", "L1Baseline"]
