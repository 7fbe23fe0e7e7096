"""The cheapest budget that is not clearly worse than the best."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipforest import BudgetPrune
from ipforest.learners.budget_choice import one_standard_error


def results(budgets, *splits, name="param_budget"):
    return {
        name: np.array(budgets, dtype=object),
        **{f"split{i}_test_score": np.array(s) for i, s in enumerate(splits)},
    }


def test_the_cheapest_within_one_standard_error_of_the_best() -> None:
    by_hand = results(["8", 2, "1/2", 4], [0.95, 0.85, 0.5, 0.90], [0.85, 0.83, 0.5, 0.84])
    assert one_standard_error(by_hand) == 3
    steady = results([8, 2, 4], [0.91, 0.89, 0.90], [0.90, 0.88, 0.89])
    assert one_standard_error(steady) == 0
    ties = results([2, 2, 4], [0.8, 0.9, 0.9], [0.8, 0.9, 0.9])
    assert one_standard_error(ties) == 1
    by_error = results([4, 1, 2, 2, 1], *np.add.outer([0.1, 0, -0.1], [0.8, 0.742, 0.743, 0.744, 0]))
    assert one_standard_error(by_error) == 3  # the best has a standard error of 0.0577


def test_as_refit_of_a_grid_search() -> None:
    X, y = load_iris(return_X_y=True)
    model = BudgetPrune(RandomForestClassifier(5, random_state=0), random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    search = GridSearchCV(pipeline, {"budgetprune__budget": [0, 2, 4]}, refit=one_standard_error, cv=3).fit(X, y)
    assert search.best_params_["budgetprune__budget"] in (2, 4)
    assert search.predict(X).shape == y.shape


def test_other_searches_are_refused() -> None:
    with pytest.raises(ValueError, match="cv_results: expected a search over one budget"):
        one_standard_error(results([1], [0.5], [0.5], name="param_depth"))


def test_scores_of_several_measures_or_of_one_split_are_refused() -> None:
    several = results([1, 2], [0.8, 0.9], [0.8, 0.9]) | {f"split{i}_test_loss": np.array([-8, -9]) for i in range(2)}
    with pytest.raises(ValueError, match="cv_results: expected one score, got loss, score"):
        one_standard_error(several)
    with pytest.raises(ValueError, match="cv_results: expected two splits or more, as one has no standard error"):
        one_standard_error(results([1, 2], [0.8, 0.9]))
