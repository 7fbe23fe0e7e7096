"""Tags by which scikit-learn knows what an estimator is and takes: those of the estimator within it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.utils import get_tags

__all__ = ["tags_of_inner"]


def tags_of_inner(tags: Any, inner: Any) -> Any:
    """Take over from an inner estimator whether it classifies, whether it needs targets, and whether values may miss.

    Parameters
    ----------
    tags : sklearn.utils.Tags
        Of the estimator around it, which takes one target.
    inner : estimator

    Returns
    -------
    sklearn.utils.Tags
        The same.
    """
    of_inner = get_tags(inner)
    tags.estimator_type, tags.regressor_tags = of_inner.estimator_type, of_inner.regressor_tags
    tags.classifier_tags = of_inner.classifier_tags and replace(of_inner.classifier_tags, multi_label=False)
    tags.target_tags.required = of_inner.target_tags.required
    tags.input_tags.allow_nan = of_inner.input_tags.allow_nan
    return tags
