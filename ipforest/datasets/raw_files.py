"""Files as they are distributed: plain, compressed, in a folder or an archive, and tables of numbers in them."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Collection
from io import BytesIO
from pathlib import Path

import numpy as np

from ipforest._internal.arrays import Array

__all__ = ["file_bytes", "file_in", "files_in", "members_of", "numbers_in"]

GZIP_MARK = b"\x1f\x8b"
MAX_TIMES_UNPACKED, SPARE_BYTES = 10, 1 << 24
"""What is compressed unpacks to at most so many times its size and these bytes; the data sets do to 7 times."""


def file_bytes(path: Path, max_times: int = MAX_TIMES_UNPACKED) -> bytes:
    """Read a file, decompressing it if it is compressed, but not a bomb."""
    with path.open("rb") as plain:
        if plain.read(len(GZIP_MARK)) != GZIP_MARK:
            plain.seek(0)
            return plain.read()
    most = max_times * path.stat().st_size + SPARE_BYTES
    try:
        with gzip.open(path) as unpacked:
            content = unpacked.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise ValueError(f"{path}: expected a whole compressed file, got: {problem}") from None
    if len(content) > most:
        raise ValueError(f"{path}: expected a compressed file of at most {most} bytes, got one that unpacks to more")
    return content


def numbers_in(text: BytesIO, path: Path, dtype: type, separator: str | None = None) -> Array:
    """Read a table of numbers that fit a type."""
    try:
        values = np.loadtxt(text, np.float64, delimiter=separator, ndmin=2)
    except ValueError as problem:
        raise ValueError(f"{path}: expected numbers, as many in each line, got: {problem}") from None
    with np.errstate(invalid="ignore", over="ignore"):
        fitted: Array = values.astype(dtype)
    if np.issubdtype(dtype, np.integer) and not np.array_equal(values, fitted):
        raise ValueError(f"{path}: expected integers of {np.dtype(dtype).itemsize} bytes, got other values")
    return fitted


def file_in(folder: Path, *names: str) -> Path:
    """Find one of several names in a folder, compressed or not."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise FileNotFoundError(f"{folder}: expected {names[0]} or {names[0]}.gz in the folder, got neither")


def files_in(folder: Path, names: Collection[str]) -> dict[str, bytes]:
    """Read those files of a folder that are there."""
    found = {}
    for name in names:
        try:
            found[name] = file_bytes(file_in(folder, name))
        except FileNotFoundError:
            continue
    return found


def members_of(archive: Path, names: Collection[str]) -> dict[str, bytes]:
    """Read some files of an archive in one pass, without unpacking the others."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=BytesIO(file_bytes(archive)), mode="r:") as files:
            for member in files:
                name = Path(member.name).name
                file = files.extractfile(member) if member.isfile() and not member.issparse() else None
                if file is not None and name in names and name not in found:
                    found[name] = file.read()
    except (tarfile.TarError, ArithmeticError, EOFError, LookupError, RecursionError, ValueError) as problem:
        raise ValueError(f"{archive}: expected an archive of CIFAR-10, got: {problem}") from None
    return found
