"""Stopping when sure: rules, early exit, nested and branching cascades."""

from ipforest.stopping.branching import BranchingCascade, BranchingStages
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.early_exit import EarlyExit
from ipforest.stopping.nested import NestedCascade, NestedStages
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.paths import StoppingRule
from ipforest.stopping.threshold_stopping import ThresholdStopping

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
