"""Cascades and trees of models: after each stage an example stops, or goes on to what suits it; and their baselines."""

from ipforest.cascades.adaboost_rs import AdaBoostRS
from ipforest.cascades.analysis import (
    features_of_nodes,
    jaccard,
    leaf_similarity,
    mean_labels,
    neighbour_similarity,
    plot_similarity,
    price_shares,
)
from ipforest.cascades.and_or import AndOrCascade
from ipforest.cascades.astc import ASTC
from ipforest.cascades.boosting_trick import BoostingTrick
from ipforest.cascades.branching import BranchingCascade
from ipforest.cascades.cronus import Cronus
from ipforest.cascades.cscc import CSCC
from ipforest.cascades.cstc import CSTC
from ipforest.cascades.early_exit import EarlyExit
from ipforest.cascades.nested import NestedCascade
from ipforest.cascades.stagewise import StagewiseRegression

__all__ = [
    "ASTC",
    "CSCC",
    "CSTC",
    "AdaBoostRS",
    "AndOrCascade",
    "BoostingTrick",
    "BranchingCascade",
    "Cronus",
    "EarlyExit",
    "NestedCascade",
    "StagewiseRegression",
    "features_of_nodes",
    "jaccard",
    "leaf_similarity",
    "mean_labels",
    "neighbour_similarity",
    "plot_similarity",
    "price_shares",
]
