"""Kernels are compiled here and nowhere else: cached on disk, GIL released, typed for mypy; threads share them here."""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import inf
from threading import local
from time import perf_counter, process_time
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.event import Event, Listener, TimingListener, register
from numba.core.types.misc import unliteral
from numba.extending import register_jitable

from ipforest._internal.arrays import Array
from ipforest._internal.kernel_cache import KernelCache, warn_once
from ipforest._internal.undisturbed import Undisturbed, undisturbed

R = TypeVar("R")

MIN_WORK = 2**16
"""Threads are started for no fewer steps."""


class _CollectorPause(Listener):
    """Stops the garbage collector while kernels are compiled.

    A kernel makes many objects that live until it is compiled, and looking through them again and again takes an eighth
    of the time. Compilations nest, but one thread compiles at a time.
    """

    def __init__(self) -> None:
        self._was_enabled: list[bool] = []

    def on_start(self, event: Event) -> None:
        self._was_enabled.append(gc.isenabled())
        gc.disable()

    def on_end(self, event: Event) -> None:
        if self._was_enabled.pop():
            gc.enable()


class _ProcessorTime(Listener):
    """Adds up the processor's seconds of compiling."""

    def __init__(self) -> None:
        self.seconds, self._started = 0.0, list[float]()

    def on_start(self, event: Event) -> None:
        self._started.append(process_time())

    def on_end(self, event: Event) -> None:
        started = self._started.pop()
        if not self._started:
            self.seconds += process_time() - started


_compiling, _compiling_on_processor = TimingListener(), _ProcessorTime()
register("numba:compiler_lock", _compiling)
register("numba:compiler_lock", _compiling_on_processor)
register("numba:compile", _CollectorPause())


class _Latest(local):
    """What a thread has read off the clock."""

    seconds = -inf


_latest = _Latest()


def clock() -> float:
    """Return seconds on a clock that stands still while kernels are compiled, or loaded from the cache on disk.

    What is compiled in another thread is known when it is done: until then the clock goes on, but never back.
    """
    _latest.seconds = max(_latest.seconds, perf_counter() - (_compiling.duration if _compiling.done else 0.0))
    return _latest.seconds


def processor_clock() -> float:
    """Return the seconds of this process on all processors, those of compiling kernels left out; see `clock`."""
    return process_time() - _compiling_on_processor.seconds


def njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel for one thread."""
    return _compiled(function)


def inner_njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel that only kernels call, without the wrappers that make it callable from Python.

    Those of a kernel that takes a network take as long to compile as the kernel.
    """
    return _compiled(function, no_cpython_wrapper=True)


def uncounted_njit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile, as `inner_njit` does, a kernel that makes no arrays and calls none that does, without reference counts.

    Its caller holds the arrays. In kernels that take tuples of arrays numba leaves the counting, which is atomic, in
    the inner loops; there it took a third of the time or more. Methods of arrays, such as ``max``, count.
    """
    return _compiled(function, no_cpython_wrapper=True, _nrt=False)


def inlined(function: Callable[..., R]) -> Callable[..., R]:
    """Write a short kernel into those that call it, which saves compiling it by itself."""
    return cast("Callable[..., R]", numba.njit(inline="always")(function))


def shared(function: Callable[..., R]) -> Callable[..., R]:
    """Compile a short function into the kernels that call it; Python runs it as it is."""
    return cast("Callable[..., R]", register_jitable(function))


def with_fields(records: Array) -> Array:
    """Return an array of records of which ``array[i].field`` can be read and written, as kernels do, uncompiled too."""
    return records.view(np.recarray) if numba.config.DISABLE_JIT else records


def _compiled(function: Callable[..., R], **options: Any) -> Callable[..., R]:
    dispatcher = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if numba.config.DISABLE_JIT:
        return function
    try:
        dispatcher._cache = KernelCache(dispatcher)
    except RuntimeError:  # neither the package's folder nor the user's cache
        warn_once("written", "there is no folder to write to; NUMBA_CACHE_DIR may name one")
    dispatcher._compile_for_args = _at_a_stretch(dispatcher._compile_for_args)
    dispatcher.get_call_template = _of_any_value(dispatcher.get_call_template)
    return cast("Callable[..., R]", dispatcher)


def _at_a_stretch(compiled_for: Callable[..., Any]) -> Callable[..., Any]:
    """Keep interrupts out of numba while it compiles a kernel or loads one; they are raised afterwards.

    What LLVM is told by halves ends in a segmentation fault, and a context manager of numba that is left by halves in
    an error at each kernel that is compiled later.
    """

    def compiled(*arguments: Any) -> Any:
        compiling = Undisturbed()
        try:
            return compiling.run(lambda: compiled_for(*arguments))
        except KeyboardInterrupt:
            compiling.settle()
            raise

    return compiled


def _of_any_value(called_with: Callable[..., R]) -> Callable[..., R]:
    """Compile a kernel that kernels call with 0, -1 or False once for all values of these arguments."""

    def called(arguments: tuple[Any, ...], named: dict[str, Any]) -> R:
        return called_with(tuple(map(unliteral, arguments)), {name: unliteral(kind) for name, kind in named.items()})

    return called


def n_threads() -> int:
    """Return how many threads may work at the same time; ``NUMBA_NUM_THREADS`` says it."""
    return int(numba.config.NUMBA_NUM_THREADS)


def run_in_slices(kernel: Callable[[slice], R], n: int, n_steps: int) -> list[R]:
    """Run a kernel, which releases the GIL, on slices of n things that together are all of them, one per thread.

    numba's own parallel loops would take twice as long to compile.

    Parameters
    ----------
    kernel : callable
        Called with a slice.
    n : int
    n_steps : int
        How much work there is, about; below `MIN_WORK` one thread does it.

    Returns
    -------
    list
        What the kernel returned, in the order of the slices.
    """
    n_slices = min(n, n_threads())
    if n_slices <= 1 or n_steps < MIN_WORK:
        return [kernel(slice(0, n))]
    bounds = [n * i // n_slices for i in range(n_slices + 1)]

    def run() -> list[R]:
        with ThreadPoolExecutor(n_slices) as pool:
            return list(pool.map(kernel, [slice(*ends) for ends in pairwise(bounds)]))

    return undisturbed(run)
