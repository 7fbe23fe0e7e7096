"""The one place where kernels are compiled: cached on disk, GIL released, typed for mypy; and a clock without that."""

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from numba.core.event import TimingListener, register

R = TypeVar("R")

prange = numba.prange

_compiling = TimingListener()
register("numba:compiler_lock", _compiling)


def clock() -> float:
    """Return seconds on a clock that stands still while kernels are compiled, or loaded from the cache on disk."""
    return perf_counter() - (_compiling.duration if _compiling.done else 0.0)


def njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel for one thread."""
    return _compiled(function)


def parallel_njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel whose `prange` loops run on all threads."""
    return _compiled(function, parallel=True)


def inner_njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel that only kernels call, without the wrappers that make it callable from Python.

    Those of a kernel that takes a network take as long to compile as the kernel.
    """
    return _compiled(function, no_cpython_wrapper=True)


def inlined(function: Callable[..., R]) -> Callable[..., R]:
    """Write a short kernel into those that call it, which saves compiling it by itself."""
    return cast("Callable[..., R]", numba.njit(inline="always")(function))


def _compiled(function: Callable[..., R], **options: Any) -> Callable[..., R]:
    dispatcher = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if numba.config.DISABLE_JIT:
        return function
    with suppress(RuntimeError):  # nowhere to write: neither the package's folder nor the user's cache
        dispatcher.enable_caching()
    return cast("Callable[..., R]", dispatcher)
