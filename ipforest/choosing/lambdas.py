"""The lambdas that a learner sweeps: those that its user lists, or a grid of so many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np

from ipforest._internal.rational import nonnegative_fraction

__all__ = ["check_lambdas", "geometric_grid", "swept_lambdas"]

MIN_LAMBDA_SHARE = 3e-3
"""The smallest lambda of a grid, of the largest."""


def check_lambdas(lambdas: Any, name: str = "lambdas") -> None:
    """Require a number of lambdas, or numbers >= 0."""
    is_number = isinstance(lambdas, Integral)
    if isinstance(lambdas, str) or not (is_number or isinstance(lambdas, Iterable)) or (is_number and lambdas < 1):
        raise ValueError(f"{name}: expected at least 1, or a sequence of numbers, got {lambdas!r}")
    for lam in () if is_number else lambdas:
        nonnegative_fraction(lam, name)


def swept_lambdas(lambdas: Any, grid: Callable[[int], Iterable[float]]) -> list[float]:
    """Return the lambdas that are listed, or the grid of as many as are asked for."""
    return [float(lam) for lam in (grid(int(lambdas)) if isinstance(lambdas, Integral) else lambdas)]


def geometric_grid(largest: float, size: int) -> list[float]:
    """Return ``size`` lambdas below the largest, evenly on a logarithmic scale; 0 if the largest is 0."""
    if largest == 0:
        return [0.0]
    return [float(lam) for lam in largest * np.geomspace(1, MIN_LAMBDA_SHARE, size + 1)[1:]]
