"""A number to predict within a budget: our regressors and what people use, by the protocol of the frontier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

from ipforest._internal.arrays import Array
from ipforest.costs import FeatureCosts
from ipforest.datasets import Dataset
from ipforest.experiments.experiment import Cell
from ipforest.experiments.frontier import frontier_experiment
from ipforest.experiments.methods import OF_NUMBERS, available

N_SEEDS = {"diabetes": 5, "friedman1": 2, "friedman2": 2, "friedman3": 2}

QUICK = ("k best, forest", "BudgetPrune", "BudgetForest")
"""Methods of a quick run."""

DIABETES_PRICES = (1, 1, 2, 2, 5, 5, 5, 5, 5, 5)
"""Age, sex, body mass index, blood pressure and six blood values; made up, as none are published."""


def data_sets() -> tuple[Dataset, ...]:
    """Scikit-learn's diabetes, and 3,000 examples of each of Friedman's functions, a tenth of the variance noise.

    Feature k of Friedman's has the price k, from 1 to 5 and again. The second and the third function use four features;
    four more that tell nothing are put after them.
    """
    diabetes = load_diabetes()
    made = [_named("diabetes", diabetes.data, diabetes.target, FeatureCosts(DIABETES_PRICES))]
    for name, make in (("friedman1", make_friedman1), ("friedman2", make_friedman2), ("friedman3", make_friedman3)):
        X, y = make(3000, random_state=0)
        random = np.random.RandomState(1)
        if X.shape[1] == 4:
            X = np.hstack([X, random.random_sample(X.shape)])
        noisy = y + y.std() / 3 * random.standard_normal(y.size)
        made.append(_named(name, X, noisy, FeatureCosts([1 + place % 5 for place in range(X.shape[1])])))
    return tuple(made)


def _named(name: str, X: Array, y: Array, costs: FeatureCosts) -> Dataset:
    return Dataset(name, X, y, tuple(f"x{place + 1}" for place in range(X.shape[1])), (), costs, "prices")


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, seed and method."""
    methods, n_trees = (QUICK, 10) if quick else (available(OF_NUMBERS), 100)
    described = frontier_experiment(DATA, methods, 1 if quick else max(N_SEEDS.values()), n_trees)
    return [
        cell
        for cell in described.steps.cells(quick, seed)
        if cell["seed"] - seed < N_SEEDS[cell["data"]] and (not quick or cell["data"] == "diabetes")
    ]


DATA = data_sets()
COMPARED = frontier_experiment(DATA)
EXPERIMENT = replace(
    COMPARED,
    name="own/regression",
    title="A number to predict: squared error against average cost",
    steps=COMPARED.steps._replace(cells=cells),
    quick="diabetes, 10 trees, three methods, 1 seed",
)
