"""Rules of every estimator: examples and costs add up, and as many are followed as are claimed."""

import warnings
from typing import Any

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.datasets import load_breast_cancer, load_diabetes

from ipforest import FeatureCosts
from ipforest.rules import read_rules

COSTS = FeatureCosts([1, 2, 3, 0, 5, 1, 2, 4], groups=[0, 0, -1, -1, 1, 1, -1, -1], group_fees=[2, 1])
WITHOUT_DELAYS = ("split cost", "BudgetPrune with a cap")
"""These estimators refuse delayed features, which other tests assert."""


CASES = [
    pytest.param(make, load, delayed, id=f"{load.__name__[5:]} {name} {delayed}")
    for kinds, load in ((CLASSIFIERS, load_breast_cancer), (REGRESSORS, load_diabetes))
    for name, make in kinds.items()
    for delayed in ([], [0, 2, 5])
    if not (delayed and any(kind in name for kind in WITHOUT_DELAYS))
]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("make", "load", "delayed"), CASES)
def test_rules_are_what_the_model_does(make: Any, load: Any, delayed: list[int]) -> None:
    X, y = load(return_X_y=True)
    X_new, y_new = X[300:400, :8], y[300:400]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make(COSTS.with_delayed(delayed)).fit(X[:300, :8], y[:300])
    rules = read_rules(model, X_new, y_new)
    assert sum(end.n_samples for end in rules.ends) == 100
    assert np.mean(model.cost(X_new)) == pytest.approx(sum(end.n_samples * end.paid for end in rules.ends) / 100)
    assert round(100 * rules.agreement(model, X_new)) >= rules.n_followed
    assert rules.n_told >= rules.n_followed
