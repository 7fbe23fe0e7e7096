"""Section 6.1 of Xu et al. (2014): four quadrants, two cheap features that tell them, one dear feature for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipforest._arrays import FloatArray
from ipforest.cascades.block_descent import DescentSettings
from ipforest.cascades.cstc import CSTC
from ipforest.cascades.feature_map import ScaledFeatures
from ipforest.costs import FeatureCosts

QUADRANT_MEANS = {(1, 1): -12.0, (-1, 1): -6.0, (1, -1): 6.0, (-1, -1): 12.0}
"""Mean label by the signs of x and z: higher where z < 0, as in Figure 5; the paper does not print the values."""

COSTS = FeatureCosts([10, 10, 10, 10, 1, 1])
LAMBDAS = (0.05, 0.055, 0.06, 0.065, 0.07, 0.08)
BUDGET = 12


def quadrants(n_samples: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Draw points of the four quadrants and their labels.

    Parameters
    ----------
    n_samples : int
    seed : int

    Returns
    -------
    X : ndarray of float64, shape (n_samples, 6)
        z++, z-+, z+-, z-- (the label in that quadrant, elsewhere a random number distributed like it), sign x, sign z.
    y : ndarray of float64, shape (n_samples,)
    """
    rng = np.random.default_rng(seed)
    signs = np.sign(rng.uniform(-1, 1, (n_samples, 2)))
    inside = [(signs == quadrant).all(axis=1) for quadrant in QUADRANT_MEANS]
    labels = np.select(inside, list(QUADRANT_MEANS.values())) + rng.standard_normal(n_samples)
    dear = [
        np.where(here, labels, mean + rng.standard_normal(n_samples))
        for here, mean in zip(inside, QUADRANT_MEANS.values(), strict=True)
    ]
    return np.column_stack([*dear, signs]), labels


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticOutcome:
    """What the tree within the budget does on test data.

    Parameters
    ----------
    model : CSTC
    squared_error : float
        Mean over the test examples.
    costs : ndarray of float64, shape (n_test,)
    """

    model: CSTC
    squared_error: float
    costs: FloatArray


def run(seed: int = 0, n_train: int = 2000, n_test: int = 2000) -> SyntheticOutcome:
    """Fit CSTC for several lambdas, take the best within cost 12 on validation data, and test it.

    Weights are those of the features as they are, as printed in Figure 5; rho is as good as none, so that fine-tuning
    finds the labels.
    """
    X, y = quadrants(n_train, 2 * seed)
    X_test, y_test = quadrants(n_test, 2 * seed + 1)
    model = CSTC(
        depth=3,
        structure="full",
        lambdas=LAMBDAS,
        rho=1e-9,
        spread=float(np.std(y)),
        feature_map=ScaledFeatures(scale=False),
        descent=DescentSettings(tolerance=1e-7, max_block_steps=300),
        feature_costs=COSTS,
        budget=BUDGET,
        random_state=seed,
    ).fit(X, y)
    error = float(np.mean((model.predict(X_test) - y_test) ** 2))
    return SyntheticOutcome(model, error, model.cost(X_test))
