"""The one place where kernels are compiled: cached on disk, GIL released, typed for mypy."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

R = TypeVar("R")

prange = numba.prange


def njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel for one thread."""
    return cast("Callable[..., R]", numba.njit(cache=True, nogil=True)(function))


def parallel_njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel whose `prange` loops run on all threads."""
    return cast("Callable[..., R]", numba.njit(cache=True, nogil=True, parallel=True)(function))
