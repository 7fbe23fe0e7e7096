"""Arrays of bytes in pickles, read without calling anything that a pickle names."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import numpy as np

from ipforest._internal.arrays import DAMAGED, Array

__all__ = ["DAMAGED_PICKLE", "read_pickle"]

DAMAGED_PICKLE = (*DAMAGED, AttributeError, pickle.UnpicklingError)
"""What `read_pickle` raises over a damaged or foreign file."""


class _Dtype:
    """Stands for a dtype in a pickle: the arguments that it is made from."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __setstate__(self, state: object) -> None:
        """Pass over the byte order, which bytes have none of."""


class _Array:
    """Stands for an array in a pickle: how long it is, of which type, and its bytes."""

    def __init__(self, *arguments: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: object) -> None:
        self.state = state

    def values(self) -> Array:
        """Return the array.

        Raises
        ------
        ValueError, TypeError
            It is not of bytes, not in the order of rows, or of another size than its shape.
        """
        _, shape, dtype, is_fortran, content = self.state
        if not isinstance(dtype, _Dtype) or dtype.arguments[:1] not in ((b"u1",), ("u1",)) or is_fortran:
            raise ValueError("an array that is not of bytes, row after row")
        return np.frombuffer(content, dtype=np.uint8).reshape(shape)


KNOWN = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
}
"""What a pickle may name, and what stands for it."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Look a name up among `KNOWN` alone."""
        if (module, name) not in KNOWN:
            raise pickle.UnpicklingError(f"a pickle that names {module}.{name}")
        return KNOWN[module, name]


def read_pickle(content: bytes) -> dict[Any, Any]:
    """Read a pickled dict of numbers, texts, lists and arrays of bytes, as Python 2 and NumPy write it.

    Returns
    -------
    dict
        Texts of Python 2 are bytes.

    Raises
    ------
    ValueError, UnpicklingError, ...
        One of `DAMAGED_PICKLE`: it is damaged, no dict, or names anything but arrays.
    """
    batch = _Unpickler(BytesIO(content), encoding="bytes").load()
    if not isinstance(batch, dict):
        raise ValueError(f"a pickle of a {type(batch).__name__}")
    return {key: value.values() if isinstance(value, _Array) else value for key, value in batch.items()}
