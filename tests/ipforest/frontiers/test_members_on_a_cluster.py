"""Members of a frontier that are trained on a Dask cluster by joblib are those that are trained here."""

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetedClassifier, BudgetForest, ForestSearch, NestedCascade

distributed = pytest.importorskip("distributed", reason="needs the extra ipforest[dask]")


@pytest.mark.long
def test_a_cluster_gives_the_same_model() -> None:
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    forests = BudgetForest(3, search=ForestSearch(n_lambdas=1, n_prunings=1))
    stages = NestedCascade(RandomForestClassifier(2, random_state=0))

    def fitted(n_jobs: int | None) -> BudgetedClassifier:
        return BudgetedClassifier([forests, stages], budget=3, n_jobs=n_jobs, random_state=0).fit(X, y)

    here = fitted(None)
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        with joblib.parallel_config(backend="dask"):
            there = fitted(2)
        assert len(client.scheduler_info()["workers"]) == 2
    np.testing.assert_array_equal(there.frontier_.cost, here.frontier_.cost)
    np.testing.assert_array_equal(there.frontier_.loss, here.frontier_.loss)
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
