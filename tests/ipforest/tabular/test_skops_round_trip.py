"""Every estimator comes back from a skops file as it was saved: it predicts, pays and asks alike."""

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS, Make
from sklearn.datasets import make_classification

from ipforest import FeatureCosts
from ipforest.tabular.model_files import load_model, save_model

N_FITTED = 120
ESTIMATORS = {**CLASSIFIERS, **{f"{name} of a target": make for name, make in REGRESSORS.items()}}


@pytest.mark.slow
@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in ESTIMATORS.items()])
def test_an_estimator_is_what_was_saved(make: Make, tmp_path) -> None:
    X, y = make_classification(N_FITTED + 60, 6, n_informative=4, random_state=5)
    target = X[:, 0] + y if make in REGRESSORS.values() else y
    model = make(FeatureCosts(["0.1", 0, 1, 2, 1, "1/3"], [0, 0, -1, 1, 1, -1], ["1/2", 3]))
    model.fit(X[:N_FITTED], target[:N_FITTED])
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    rows = X[N_FITTED:]
    assert type(loaded) is type(model)
    for answer in ("predict", "predict_proba", "cost", "acquired"):
        if hasattr(model, answer):
            np.testing.assert_array_equal(getattr(loaded, answer)(rows), getattr(model, answer)(rows))
    assert loaded.session().next_unit == model.session().next_unit
