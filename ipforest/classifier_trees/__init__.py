"""Trees and cascades of classifiers from the literature (CSTC and its relatives), and their baselines."""

from ipforest.classifier_trees.adaboost_rs import AdaBoostRS
from ipforest.classifier_trees.analysis import (
    features_of_nodes,
    jaccard,
    leaf_similarity,
    mean_labels,
    neighbour_similarity,
    plot_similarity,
    price_shares,
)
from ipforest.classifier_trees.and_or import AndOrCascade, AndOrObjective
from ipforest.classifier_trees.astc import ASTC
from ipforest.classifier_trees.block_descent import DescentSettings
from ipforest.classifier_trees.boosting_trick import BoostingTrick
from ipforest.classifier_trees.cronus import Cronus
from ipforest.classifier_trees.cscc import CSCC, ChainObjective
from ipforest.classifier_trees.cstc import CSTC, TreeObjective
from ipforest.classifier_trees.stagewise import StagewiseRegression

__all__ = [
    "ASTC",
    "CSCC",
    "CSTC",
    "AdaBoostRS",
    "AndOrCascade",
    "AndOrObjective",
    "BoostingTrick",
    "ChainObjective",
    "Cronus",
    "DescentSettings",
    "StagewiseRegression",
    "TreeObjective",
    "features_of_nodes",
    "jaccard",
    "leaf_similarity",
    "mean_labels",
    "neighbour_similarity",
    "plot_similarity",
    "price_shares",
]
