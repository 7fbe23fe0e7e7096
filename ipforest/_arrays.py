"""Types of arrays, and small helpers for the read-only ones that the frozen dataclasses hold."""

import struct
import zlib
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

Scalar = TypeVar("Scalar", bound=np.generic)

DAMAGED = (
    ArithmeticError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What numpy and zipfile raise over the bytes of a damaged ``.npz`` file."""


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


def checked_offsets(value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Take the offsets of trees in their nodes, shape (n_trees + 1,).

    Raises
    ------
    TypeError, ValueError
        They are not 0 and then the ascending ends of one or more trees.
    """
    offsets = np.asarray(value)
    if offsets.ndim != 1 or offsets.size < 2 or offsets[0] != 0 or np.any(np.diff(offsets) < 1):
        raise ValueError(
            "tree_offsets: expected 0 and then the ascending ends of one or more trees, got "
            f"{np.array2string(offsets, threshold=6)}"
        )
    return checked_array(offsets, "tree_offsets", np.int64, offsets.shape)


def load_arrays(path: str | Path, content: str) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays of an ``.npz`` file, without pickles.

    Parameters
    ----------
    path : str or Path
    content : str
        What the file should hold, for the error message.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is no ``.npz`` file, or is truncated or damaged.
    """
    with Path(path).open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
            return {name: archive[name] for name in archive.files}
        except DAMAGED as problem:
            reason = " ".join(str(problem).split()) or type(problem).__name__
            raise ValueError(f"{path}: expected a complete {content} file (.npz), got: {reason}") from None
