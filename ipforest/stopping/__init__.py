"""Stopping when sure: rules, early exit, nested and branching cascades."""

from ipforest.stopping.branching import BranchingCascade, BranchingStages
from ipforest.stopping.early_exit import EarlyExit
from ipforest.stopping.nested import NestedCascade, NestedStages
from ipforest.stopping.rules import CertifiedStopping, OptimalStopping, StoppingRule, ThresholdStopping

__all__ = [
    "BranchingCascade",
    "BranchingStages",
    "CertifiedStopping",
    "EarlyExit",
    "NestedCascade",
    "NestedStages",
    "OptimalStopping",
    "StoppingRule",
    "ThresholdStopping",
]
