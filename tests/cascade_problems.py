"""Small problems for the tests of trees of classifiers."""

from itertools import product
from typing import Any

import numpy as np

from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.objective import Objective
from ipforest.classifier_trees.relaxation import PathCost, StageCost
from ipforest.classifier_trees.resources import Resources
from ipforest.classifier_trees.smooth_losses import LOSSES
from ipforest.costs import FeatureCosts

FULL = ([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1])
LOPSIDED = ([1, -1, 3, -1], [2, -1, -1, -1])
CHAIN = ([1, 2, -1], [-1, -1, -1])
SHAPES = {"full": FULL, "lopsided": LOPSIDED, "chain": CHAIN}
SETTINGS = list(product(SHAPES, LOSSES, (PathCost, StageCost), (False, True)))


def random_tree(shape: str, n_weights: int, seed: int, zeros: float = 0.3) -> ClassifierTree:
    """A tree of the shape with random parameters, some weights zero."""
    rng = np.random.default_rng(seed)
    upper, lower = (np.array(children) for children in SHAPES[shape])
    coef = rng.normal(size=(upper.size, n_weights)) * (rng.random((upper.size, n_weights)) > zeros)
    return ClassifierTree(upper, lower, coef, rng.normal(size=upper.size), rng.normal(size=upper.size))


def random_objective(loss: str, cost: Any, exits_pay: bool, seed: int, **changes: Any) -> Objective:
    """60 examples, 8 weights that use 5 features, two of them in a group."""
    rng = np.random.default_rng(seed)
    uses = rng.random((5, 8)) < 0.4
    costs = FeatureCosts(["1/2", 1, 2, 0, 3], [-1, 0, 0, 1, -1], [1, "3/2"])
    resources = Resources.of_weights(costs, uses, 0.25)
    target = rng.normal(size=60) if loss == "squared" else rng.choice([-1.0, 1.0], 60)
    parameters = {
        "phi": rng.normal(size=(60, 8)),
        "target": target,
        "loss": LOSSES[loss],
        "sample_weight": rng.uniform(0.5, 2, 60),
        "share": np.full(60, 1 / 60),
        "resources": resources,
        "cost": cost(resources),
        "lam": 0.05,
        "rho": 0.02,
        "ridge": 1e-3,
        "exits_pay": exits_pay,
    }
    return Objective(**(parameters | changes))
