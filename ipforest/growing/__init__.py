"""The compiled tree grower: coded examples, impurities, acquisition state, split search, the growing loop."""

from ipforest.growing.acquisition import AcquisitionState
from ipforest.growing.codes import CodedExamples
from ipforest.growing.grower import Grower, GrownTree, GrownTrees, bootstrap_counts, forest_of
from ipforest.growing.impurities import Entropy, Gini, Gradient, Impurity, Polynomial, Powers, ThresholdPairs, Variance
from ipforest.growing.lookahead import LookaheadGrower

__all__ = [
    "AcquisitionState",
    "CodedExamples",
    "Entropy",
    "Gini",
    "Gradient",
    "Grower",
    "GrownTree",
    "GrownTrees",
    "Impurity",
    "LookaheadGrower",
    "Polynomial",
    "Powers",
    "ThresholdPairs",
    "Variance",
    "bootstrap_counts",
    "forest_of",
]
