"""Tags by which scikit-learn knows what an estimator is and takes: those of the estimator within it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags

__all__ = ["AroundEstimator"]


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
        tags.input_tags.allow_nan = of_inner.input_tags.allow_nan
        return tags
