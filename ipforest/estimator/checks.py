"""Checks of parameters; each message says what was expected, and what came."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import Field, fields
from math import inf
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import one_line
from ipforest.estimator.tags import AroundEstimator

__all__ = [
    "check_choice",
    "check_class",
    "check_each",
    "check_estimator",
    "check_integer",
    "check_not_negative",
    "check_positive",
    "check_share",
    "is_fitted",
]


def check_integer(value: object, name: str, least: int, *, or_none: bool = False) -> None:
    """Require an integer that is not less than another, or, where that is allowed, None."""
    if not (or_none and value is None) and (not isinstance(value, (int, np.integer)) or value < least):
        raise ValueError(f"{name}: expected an integer >= {least}{' or None' * or_none}, got {value!r}")


def check_choice(value: object, name: str, known: Collection[object]) -> None:
    """Require one of some values."""
    if not isinstance(value, Hashable) or value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, known))}, got {one_line(repr(value))}")


def check_positive(value: object, name: str) -> None:
    """Require a finite number above 0."""
    if not isinstance(value, Real) or not 0 < float(value) < inf:
        raise ValueError(f"{name}: expected a finite number > 0, got {one_line(repr(value))}")


def check_not_negative(value: object, name: str) -> None:
    """Require a finite number that is not below 0."""
    if not isinstance(value, Real) or not 0 <= float(value) < inf:
        raise ValueError(f"{name}: expected a finite number >= 0, got {one_line(repr(value))}")


def check_share(share: object, name: str) -> None:
    """Require a number from 0 to 1, 1 excluded."""
    if not isinstance(share, Real) or not 0 <= float(share) < 1:
        raise ValueError(f"{name}: expected numbers from 0 to 1, 1 excluded, got {share!r}")


def check_class(estimator: Any) -> None:
    """Require of an estimator's class that its parameters are known, and that it classifies or predicts numbers.

    Raises
    ------
    TypeError
        Clones would lose a parameter, or it is not told which of both it does.
    """
    kind = type(estimator)
    params = estimator.get_params(deep=False)
    declared = [each for each in fields(estimator) if each.init]
    given = {each.name for each in declared if getattr(estimator, each.name) is not each.default}
    fields_left = [name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, Field)]
    for name in [*fields_left, *sorted(given.difference(params))]:
        raise TypeError(
            f"{kind.__name__}: expected its parameters as fields of a dataclass, by @dataclass(eq=False, repr=False), "
            f"or all of them in the signature of its __init__, got {name}, which clones would lose"
        )
    if isinstance(estimator, AroundEstimator):
        return  # it is what the one within is, which is checked later
    if not is_classifier(estimator) and not is_regressor(estimator):
        bases = ", ".join(base.__name__ for base in kind.__bases__)
        raise TypeError(
            f"{kind.__name__}: expected ClassifierMixin or RegressorMixin as the first of its bases, got {bases}"
        )


def check_each(
    values: object, name: str, check: Callable[..., object], *known: Any, or_none: bool = False, least: int = 0
) -> None:
    """Require a sequence, no text, of values that pass a check, or, where that is allowed, None.

    Parameters
    ----------
    values : object
    name : str
    check : callable (value, name, *known)
    known
        For the check.
    or_none : bool, default=False
    least : int, default=0
        How many there are at least.
    """
    if or_none and values is None:
        return
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str) or len(values) < least:
        raise ValueError(
            f"{name}: expected a sequence{f' of {least} or more' * bool(least)}, got {one_line(repr(values))}"
        )
    for value in values:
        check(value, name, *known)


def check_estimator(value: object, name: str, *, or_none: bool = False) -> None:
    """Require an estimator, or, where that is allowed, None; a name or a class is none."""
    if not (or_none and value is None) and (isinstance(value, type) or not hasattr(value, "fit")):
        raise TypeError(_no_estimator(value, name))


def is_fitted(estimator: Any) -> bool:
    """Return whether a scikit-learn estimator is fitted.

    Raises
    ------
    TypeError
        It is a class, or has not what scikit-learn asks of an estimator.
    """
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    except (AttributeError, TypeError) as problem:
        raise TypeError(_no_estimator(estimator, "estimator")) from problem
    return True


def _no_estimator(value: object, name: str) -> str:
    kind = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    return f"{name}: expected an object of a class that derives from sklearn.base.BaseEstimator, got {kind}"
