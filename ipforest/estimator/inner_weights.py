"""``sample_weight`` in the signature of ``fit``, where scikit-learn looks for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import MethodType
from typing import Any

from sklearn.utils.validation import has_fit_parameter

from ipforest.ensemble.sklearn_trees import unfrozen
from ipforest.estimator.checks import is_fitted

__all__ = ["weights_as_inside"]


class weights_as_inside:  # a decorator
    """Make the signature of a ``fit`` name ``sample_weight`` only if the estimators that it trains take weights.

    Scikit-learn's ``BaggingClassifier``, say, passes weights of its own to what names them. What a signature says of
    one estimator and not of its class only a descriptor can tell.
    """

    def __init__(self, fit: Callable[..., Any]) -> None:
        self._fit = fit

    def __get__(self, owner: Any, _: type | None = None) -> Callable[..., Any]:
        if owner is None:
            return self._fit
        bound = MethodType(self._fit, owner)
        return bound if all(map(_takes_weights, _inside(owner))) else _without_weights(bound)


def _inside(owner: Any) -> list[Any]:
    """List the estimators that are parameters of another one."""
    several = getattr(owner, "estimators", None)
    found = [getattr(owner, "estimator", None), *(several if isinstance(several, (list, tuple)) else ())]
    return [unfrozen(estimator) for estimator in found if estimator is not None]


def _takes_weights(estimator: Any) -> bool:
    """Whether an estimator takes weights, or is none to train: fitted, or nothing that `fit` will accept."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        return True
    return has_fit_parameter(estimator, "sample_weight") or is_fitted(estimator)


def _without_weights(bound: MethodType) -> Callable[..., Any]:
    @wraps(bound)
    def fit(*arguments: Any, **options: Any) -> Any:
        return bound(*arguments, **options)

    whole = signature(bound)
    kept = [parameter for name, parameter in whole.parameters.items() if name != "sample_weight"]
    fit.__signature__ = whole.replace(parameters=kept)  # type: ignore[attr-defined]  # of functions, too
    return fit
