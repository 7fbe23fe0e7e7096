"""The one place where kernels are compiled: cached on disk, GIL released, typed for mypy."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

prange = numba.prange


def njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel for one thread."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))


def parallel_njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel whose `prange` loops run on all threads."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True, parallel=True)(function))
