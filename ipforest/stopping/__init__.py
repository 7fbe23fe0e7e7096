"""Stopping when sure: rules, early exit, nested and branching cascades."""

from ipforest.stopping.branching import BranchingCascade
from ipforest.stopping.early_exit import EarlyExit
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.rules import CertifiedStopping, OptimalStopping, StoppingRule, ThresholdStopping

__all__ = [
    "BranchingCascade",
    "CertifiedStopping",
    "EarlyExit",
    "NestedCascade",
    "OptimalStopping",
    "StoppingRule",
    "ThresholdStopping",
]
