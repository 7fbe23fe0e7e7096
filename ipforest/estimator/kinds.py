"""Classifiers and regressors as scikit-learn knows them, scored as `BudgetedModel.score` does."""

from __future__ import annotations

from sklearn.base import ClassifierMixin, RegressorMixin

from ipforest.estimator.model import BudgetedModel

__all__ = ["Classifies", "Regresses"]


class Classifies(ClassifierMixin):
    """Mixin of the estimators that are classifiers; scikit-learn's own would score labels of rows in another order."""

    score = BudgetedModel.score


class Regresses(RegressorMixin):
    """Mixin of the estimators that are regressors; see `Classifies`."""

    score = BudgetedModel.score
