"""A fit is whole or it is none: one that fails leaves an estimator as an earlier fit left it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["whole_or_none"]

F = TypeVar("F", bound=Callable[..., Any])


def whole_or_none(fit: F) -> F:
    """Let a `fit` that raises an error, or is interrupted, leave all attributes as they were.

    Otherwise an estimator that was trained again in vain would answer with the classes or prices of the new examples
    by the trees of the old ones. Training replaces attributes and changes none in place.
    """

    @wraps(fit)
    def fitted(estimator: Any, *arguments: Any, **options: Any) -> Any:
        before: dict[str, Any] = vars(estimator).copy()
        try:
            return fit(estimator, *arguments, **options)
        except BaseException:
            for name in vars(estimator).keys() - before.keys():
                delattr(estimator, name)
            for name, value in before.items():
                setattr(estimator, name, value)
            raise

    return cast("F", fitted)
