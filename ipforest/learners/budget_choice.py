"""Choosing the budget by cross-validation: the cheapest one that is not clearly worse than the best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ipforest._internal.rational import as_fraction

__all__ = ["one_standard_error"]


def one_standard_error(cv_results: Mapping[str, Any]) -> int:
    """Choose the smallest budget whose mean score is within one standard error of the best: ``refit`` of a grid search.

    Parameters
    ----------
    cv_results : mapping
        ``cv_results_`` of a `sklearn.model_selection.GridSearchCV` over ``budget`` (in a pipeline, ``step__budget``).

    Returns
    -------
    int
        Index of the chosen setting; among equal budgets the one of the best score.

    Raises
    ------
    ValueError
        The search was over something else, or over no budget; it has several scores, or one split alone.

    Notes
    -----
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> from ipforest import BudgetPrune
    >>> model = BudgetPrune(RandomForestClassifier(10, random_state=0), random_state=0)
    >>> search = GridSearchCV(model, {"budget": [1, 2, 4]}, refit=one_standard_error)
    >>> search.fit(*load_iris(return_X_y=True)).best_params_["budget"] in (1, 2, 4)
    True
    """
    names = [name for name in cv_results if name.startswith("param_") and name.endswith("budget")]
    if len(names) != 1:
        raise ValueError(f"cv_results: expected a search over one budget, got {sorted(cv_results)}")
    tests = [name for name in cv_results if name.startswith("split") and "_test_" in name]
    measures = sorted({name.partition("_test_")[2] for name in tests})
    if len(measures) != 1:
        raise ValueError(f"cv_results: expected one score, got {', '.join(measures) or 'none'}")
    if len(tests) == 1:
        raise ValueError("cv_results: expected two splits or more, as one has no standard error, got one")
    scores = np.array([cv_results[name] for name in tests])
    mean = scores.mean(axis=0)
    best = int(np.nanargmax(mean))
    error = scores[:, best].std(ddof=1) / np.sqrt(scores.shape[0])
    budgets = [as_fraction(budget, "budget") for budget in cv_results[names[0]]]
    good = np.flatnonzero(mean >= mean[best] - error)
    return int(min(good, key=lambda place: (budgets[place], -mean[place])))
