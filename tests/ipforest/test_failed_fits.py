"""A fit that fails, or is interrupted, leaves what an earlier one gave, and nothing of its own."""

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from ipforest import BudgetedPipeline, BudgetPrune, FeatureCosts
from ipforest.estimator.base import BudgetedEstimator
from ipforest.wrappers.calibration import CalibratedClassifier
from ipforest.wrappers.thresholds import ThresholdClassifier

X, Y = make_classification(160, 6, n_informative=4, random_state=0)
COSTS = FeatureCosts([1, 2, 3, 1, 2, 3])

MODELS = {
    **{
        f"{name}, {kind}": make(COSTS)
        for kind, table in (("classes", CLASSIFIERS), ("numbers", REGRESSORS))
        for name, make in table.items()
    },
    "calibrated": CalibratedClassifier(CLASSIFIERS["BudgetForest"](COSTS)),
    "with thresholds": ThresholdClassifier(CLASSIFIERS["BudgetForest"](COSTS)),
    "in a pipeline": BudgetedPipeline(
        StandardScaler(),
        BudgetPrune(RandomForestClassifier(4, max_depth=3, random_state=0), random_state=0),
        feature_costs=COSTS,
    ),
}
QUICK = ["BudgetPrune, classes", "BudgetedClassifier, classes", "NestedCascade, numbers", "CSTC, classes"]
QUICK += ["EarlyExit of BudgetPrune by a certified rule, classes", "calibrated", "with thresholds", "in a pipeline"]


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS if name not in QUICK)]
)
def test_a_fit_that_fails_leaves_the_one_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_numbers = name.endswith("numbers")
    model = clone(MODELS[name]).fit(X, X[:, 0] + Y if of_numbers else Y)
    before, answered = {*vars(model)}, model.predict(X, return_cost=True)
    others = X[:, 1] if of_numbers else np.array(["no", "yes"])[Y]
    with pytest.raises(ValueError, match=r"expected \d prices|features"):
        model.fit(X[:, :5], others)
    np.testing.assert_equal(model.predict(X, return_cost=True), answered)
    monkeypatch.setattr(BudgetedEstimator, "_keep_held_out", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, others)
    assert {*vars(model)} == before
    np.testing.assert_equal(model.predict(X, return_cost=True), answered)


def test_a_first_fit_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = clone(MODELS["BudgetPrune, classes"])
    before = {*vars(model)}
    monkeypatch.setattr(BudgetedEstimator, "_keep_held_out", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert {*vars(model)} == before
