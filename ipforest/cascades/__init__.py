"""Trees and cascades that learn whom to ask what."""

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
from ipforest.cascades.cronus import Cronus
from ipforest.cascades.cscc import CSCC
from ipforest.cascades.cstc import CSTC
from ipforest.cascades.stagewise import StagewiseRegression

__all__ = [
    "ASTC",
    "CSCC",
    "CSTC",
    "AdaBoostRS",
    "AndOrCascade",
    "BoostingTrick",
    "Cronus",
    "StagewiseRegression",
    "features_of_nodes",
    "jaccard",
    "leaf_similarity",
    "mean_labels",
    "neighbour_similarity",
    "plot_similarity",
    "price_shares",
]
