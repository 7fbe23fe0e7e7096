"""The cache of compiled kernels on disk: numba's, with a key that covers all that a kernel is compiled from.

numba compares the text of the one file that a kernel is defined in. A kernel is compiled together with those that it
calls, and with the constants that it names, wherever they are defined; so after a change there numba would go on with
the old code. Here the key is a digest of the code itself, of the kernel and of all that it calls, as Python loaded it.
Files of the cache that cannot be read or written are passed over: the kernel is compiled in memory.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba.core import sigutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.types.containers import BaseTuple

logger = logging.getLogger(__name__)

LIBRARIES = {"llvmlite", "numba", "numpy", *sys.stdlib_module_names}
"""What kernels name of these does not change; numba's version is in the cache."""


class KernelCache(FunctionCache):
    """The cache of one kernel.

    Raises
    ------
    RuntimeError
        There is no folder to write to.
    """

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel.py_func)
        self._kernel = kernel
        self._is_stamped = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled kernel; None if there is none that can be used."""
        self._stamp()
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # a damaged pickle raises errors of any type
            _warn(self.cache_path, "read", problem)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel, if it can be written."""
        self._stamp()
        try:
            super().save_overload(sig, data)
        except OSError as problem:
            _warn(self.cache_path, "written", problem)

    def _stamp(self) -> None:
        """Digest what the kernel is compiled from; when it is decorated, kernels that it calls may not be defined."""
        if not self._is_stamped:
            self._cache_file = _KernelFile(self.cache_path, self._impl.filename_base, stamp_of(self._kernel))
            self._is_stamped = True

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Add the names of fields: kernels find a field by its place, and named tuples of one name look the same."""
        arguments, _ = sigutils.normalize_signature(sig)
        return (*super()._index_key(sig, codegen), _fields_of(arguments))


class _KernelFile(IndexDataCacheFile):
    """The files of one kernel; what is compiled says itself what it was compiled from.

    numba writes the index before the file that it refers to. A full disk, a signal, or another process in between
    leaves an index that refers to older code.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        stored = super().load(key)
        if stored is None:
            return None
        stamp, owner, data = stored
        return data if (stamp, owner) == (self._source_stamp, key) else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception as problem:
            _warn(self._index_path, "read", problem)
            return {}


@cache
def warn_once(what: str, problem: str) -> None:
    """Log that the cache cannot be used, once for each problem."""
    logger.warning("numba's cache cannot be %s (%s); kernels are compiled in memory, each time anew", what, problem)


def _warn(place: str, what: str, problem: Exception) -> None:
    logger.debug("%s cannot be %s", place, what, exc_info=problem)
    warn_once(what, f"{type(problem).__name__}: {problem}")


def _fields_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """List the names of the fields of all named tuples among types."""
    return tuple(
        (getattr(kind, "fields", ()), _fields_of(tuple(kind))) for kind in arguments if isinstance(kind, BaseTuple)
    )


def stamp_of(kernel: Callable[..., Any]) -> str:
    """Digest the code of a kernel and of all functions that it calls, with the constants that they name.

    Parameters
    ----------
    kernel : callable
        A dispatcher of numba, or a function.
    """
    digest = sha256()
    waiting, seen = [kernel], {id(kernel)}
    while waiting:
        text, named = _described(waiting.pop())
        digest.update(text)
        for function in named:
            if id(function) not in seen:
                seen.add(id(function))
                waiting.append(function)
    return digest.hexdigest()


@cache
def _described(function: Any) -> tuple[bytes, list[Any]]:
    """Write down a function without what it calls, and list the functions that it names."""
    plain = unwrap(function)
    options = sorted(function.targetoptions.items()) if isinstance(function, Dispatcher) else ()
    named: list[Any] = []
    cells = [cell.cell_contents for cell in plain.__closure__ or ()]
    values = {name: plain.__globals__[name] for name in _names(plain.__code__) if name in plain.__globals__}
    parts = [f"{plain.__module__}.{plain.__qualname__} {options}", *_code_parts(plain.__code__)]
    for value in (*values.items(), *cells, plain.__defaults__, plain.__kwdefaults__):
        parts.append(_written(value, named))
    return "\n".join(parts).encode(), named


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _code_parts(code: CodeType) -> Iterator[str]:
    """Write down bytecode, names and constants, those of functions within it too; no lines, no file."""
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def _written(value: Any, named: list[Any]) -> str:
    """Write down a value that code names; functions join a list instead."""
    plain = unwrap(value) if callable(value) else value
    if isinstance(plain, FunctionType):
        if plain.__module__.partition(".")[0] not in LIBRARIES:
            named.append(value)
        return f"{plain.__module__}.{plain.__qualname__}"
    if isinstance(value, tuple):
        return f"({', '.join(_written(item, named) for item in value)})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.descr} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic, np.dtype)):
        return repr(value)
    return f"{type(value).__qualname__} {getattr(value, '__name__', '')}"
