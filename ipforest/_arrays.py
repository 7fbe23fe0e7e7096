"""Small helpers for the read-only arrays that the frozen dataclasses hold."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """View an array so that nobody writes into it through the result."""
    view = array.view()
    view.flags.writeable = False
    return view


def checked_array(value: npt.ArrayLike, name: str, dtype: type[Scalar], shape: tuple[int, ...]) -> npt.NDArray[Scalar]:
    """Take an array of a given shape whose values fit the dtype, read-only and contiguous.

    Raises
    ------
    TypeError
        The values are of another kind than the dtype (floats for integers).
    ValueError
        The shape differs, or a value does not fit the dtype.
    """
    raw: npt.NDArray[Any] = np.asarray(value)
    if raw.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {raw.shape}")
    if raw.size == 0:
        raw = raw.astype(dtype)
    if np.issubdtype(dtype, np.integer) and not np.issubdtype(raw.dtype, np.integer):
        raise TypeError(f"{name}: expected integers, got dtype {raw.dtype}")
    converted = np.ascontiguousarray(raw, dtype=dtype)
    if np.issubdtype(dtype, np.integer) and raw.dtype != converted.dtype and np.any(converted != raw):
        raise ValueError(f"{name}: expected values that fit {np.dtype(dtype)}, got some that do not")
    return read_only(converted)
