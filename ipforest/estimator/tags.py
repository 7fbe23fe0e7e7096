"""Tags by which scikit-learn knows what an estimator is and takes: those of the estimator within it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

__all__ = ["AroundEstimator", "takes_missing"]

ASKS_INNER = (GridSearchCV, RandomizedSearchCV, CalibratedClassifierCV)
"""Around another estimator, which checks the examples; their own tags say that they take no missing values."""


def takes_missing(estimator: Any) -> bool:
    """Tell whether an estimator takes missing values; scikit-learn's tags do not tell it of pipelines and searches.

    A pipeline does if its steps do up to one that fills them in, or up to the last.
    """
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
        filled = [isinstance(step, SimpleImputer | KNNImputer) for step in steps]
        return all(map(takes_missing, steps[: filled.index(True) + 1] if any(filled) else steps))
    if isinstance(estimator, ASKS_INNER) and estimator.estimator is not None:
        return takes_missing(estimator.estimator)
    return bool(get_tags(estimator).input_tags.allow_nan)


class AroundEstimator(MetaEstimatorMixin):
    """Base of the estimators around another: it classifies, needs targets and takes missing values as that one does."""

    estimator: Any

    @property
    def _inner(self) -> Any:
        """The estimator within."""
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        tags, of_inner = super().__sklearn_tags__(), get_tags(self._inner)
        tags.estimator_type, tags.regressor_tags = of_inner.estimator_type, of_inner.regressor_tags
        tags.classifier_tags = of_inner.classifier_tags and replace(of_inner.classifier_tags, multi_label=False)
        tags.target_tags.required = of_inner.target_tags.required
        tags.input_tags.allow_nan = takes_missing(self._inner)
        return tags
