"""Tensors in the files that PyTorch writes, read without PyTorch and without calling anything that a file names."""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array

__all__ = ["read_tensors"]

PICKLE, VALUES, BYTE_ORDER = "data.pkl", "data", "byteorder"
"""Parts of a file, in the folder that all its parts share."""


@dataclass(frozen=True, slots=True)
class _Storage:
    """Stands for a class of storages: the type of its values."""

    dtype: str

    def __call__(self, *_: object) -> None:
        """Refuse to be called: a file names storages, and calls none."""
        raise pickle.UnpicklingError("a file that calls a storage")


STORAGES: Mapping[str, _Storage] = {
    "BoolStorage": _Storage("?"),
    "ByteStorage": _Storage("u1"),
    "DoubleStorage": _Storage("f8"),
    "FloatStorage": _Storage("f4"),
    "IntStorage": _Storage("i4"),
    "LongStorage": _Storage("i8"),
    "ShortStorage": _Storage("i2"),
}


def _rebuilt(values: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> Array:
    """Make a tensor of a part of the values of a storage.

    Raises
    ------
    ValueError
        It has more entries than the storage, or some lie outside.
    """
    if not isinstance(values, np.ndarray) or len(shape) != len(strides) or min((*shape, *strides, offset, 0)) < 0:
        raise ValueError("a tensor without values, or of another shape than its strides")
    n_entries = prod(int(size) for size in shape)
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if n_entries > values.size or (n_entries and last >= values.size):
        raise ValueError(f"a tensor of {n_entries} entries in {values.size} values")
    steps = tuple(stride * values.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(values[offset:], shape, steps).copy()


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: zipfile.ZipFile, folder: PurePosixPath) -> None:
        super().__init__(BytesIO(file.read(str(folder / PICKLE))))
        self._file, self._folder = file, folder
        names = file.namelist()
        order = str(folder / BYTE_ORDER)
        self._is_little = order not in names or file.read(order) == b"little"

    def find_class(self, module: str, name: str) -> Any:
        """Look a name up among what tensors are made of."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuilt
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise pickle.UnpicklingError(f"a file that names {module}.{name}")

    def persistent_load(self, pid: Any) -> Array:
        """Read the values of a storage."""
        kind, storage, key, _, size = pid
        if kind != "storage" or not isinstance(storage, _Storage):
            raise pickle.UnpicklingError(f"a file that refers to {kind!r}")
        content = self._file.read(str(self._folder / VALUES / str(key)))
        values = np.frombuffer(content, np.dtype(storage.dtype).newbyteorder("<" if self._is_little else ">"))
        if values.size != size:
            raise ValueError(f"{values.size} values in place of {size}")
        return values.astype(storage.dtype)


def read_tensors(content: bytes) -> dict[Any, Any]:
    """Read a dict of tensors, numbers and texts that ``torch.save`` wrote.

    Returns
    -------
    dict
        Tensors are arrays.

    Raises
    ------
    ValueError, UnpicklingError, ...
        One of `ipforest.datasets.pickled_arrays.DAMAGED_PICKLE`: it is damaged, no dict, or names anything but tensors.
    """
    with zipfile.ZipFile(BytesIO(content)) as file:
        packed = [name for name in file.namelist() if PurePosixPath(name).name == PICKLE]
        if len(packed) != 1 or any(part.compress_type != zipfile.ZIP_STORED for part in file.infolist()):
            raise ValueError("no file that PyTorch wrote")
        found = _Unpickler(file, PurePosixPath(packed[0]).parent).load()
    if not isinstance(found, dict):
        raise ValueError(f"a file of a {type(found).__name__}")
    return found
