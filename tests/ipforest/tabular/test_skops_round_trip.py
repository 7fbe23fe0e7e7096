"""Every estimator comes back from a file as it was saved: it predicts, pays and asks alike."""

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS, Make
from sklearn.datasets import make_classification

from ipforest import FeatureCosts
from ipforest.tabular.model_files import load_model, save_model

N_FITTED = 120
ESTIMATORS = {**CLASSIFIERS, **{f"{name} of a target": make for name, make in REGRESSORS.items()}}
NOT_IN_SKOPS = {
    "EarlyExit of LightGBM": r"got lightgbm\.sklearn\.LGBMClassifier; write a \.joblib file",
    "Adapt-Lin before nearest neighbours, with a cap": r"got sklearn\.neighbors\..*; write a \.joblib file",
}
"""Those that hold types that are not read from skops files, and how they are refused."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_what_was_saved(name: str, tmp_path) -> None:
    make: Make = ESTIMATORS[name]
    X, y = make_classification(N_FITTED + 60, 6, n_informative=4, random_state=5)
    target = y if name in CLASSIFIERS else X[:, 0] + y
    model = make(FeatureCosts(["0.1", 0, 1, 2, 1, "1/3"], [0, 0, -1, 1, 1, -1], ["1/2", 3]))
    model.fit(X[:N_FITTED], target[:N_FITTED])
    file = tmp_path / "model.skops"
    if name in NOT_IN_SKOPS:
        with pytest.raises(TypeError, match=NOT_IN_SKOPS[name]):
            save_model(model, file)
        file = file.with_suffix(".joblib")
    loaded = load_model(save_model(model, file))
    rows = X[N_FITTED:]
    assert type(loaded) is type(model)
    for answer in ("predict", "predict_proba", "cost", "acquired"):
        if hasattr(model, answer):
            np.testing.assert_array_equal(getattr(loaded, answer)(rows), getattr(model, answer)(rows))
    assert loaded.session().next_unit == model.session().next_unit
