"""The container of certificate files: a sealed ZIP archive of a JSON header and arrays.

Format, version 1
-----------------
A ZIP archive, members stored without compression (each has the archive's CRC-32):

``header.json``
    One JSON object, UTF-8. Exact numbers are strings "p/q" or "p". Entries of every kind of certificate:

    ================== ===========================================================================
    key                meaning
    ================== ===========================================================================
    format             which kind of certificate: see `pruning_file`, `path_file`
    version            1
    instance_sha256    SHA-256 of the instance as `PruningInstance.fingerprint` defines it
    content_sha256     SHA-256 over the other header entries and all arrays, see `_content_digest`
    error_unit         value of one integer error
    cost_unit          value of one integer cost
    n_units, n_examples  sizes K and N_c
    ================== ===========================================================================
``instance/NAME.npy``
    The stored arrays of `PruningInstance` without the routing: tree_offsets, node_parent, errors, indptr, indices,
    acquisition_unit, acquisition_example, acquisition_cost, split_cost.
``flow/NAME.npy``
    int64: triple, up, gain, split, see `ipforest.results.DualFlow` and `ipforest.path.PathFlow`.

All arrays are one-dimensional, little-endian NumPy files without pickles. Whoever writes such a file can seal anything:
the digest finds damage, the checkers find lies. Nothing here imports a solver, numba or `ipforest`.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.records import InstanceRecord

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

VERSION = 1
INSTANCE_DTYPES: Mapping[str, type[np.generic]] = {
    "tree_offsets": np.int64,
    "node_parent": np.int32,
    "errors": np.int64,
    "indptr": np.int64,
    "indices": np.int32,
    "acquisition_unit": np.int32,
    "acquisition_example": np.int32,
    "acquisition_cost": np.int64,
    "split_cost": np.int64,
}
FLOW_ARRAYS = ("triple", "up", "gain", "split")
_INSTANCE_NUMBERS = ("error_unit", "cost_unit", "n_units", "n_examples")
_COMMON_KEYS = ("format", "version", "instance_sha256", "content_sha256", *_INSTANCE_NUMBERS)


class CertificateFileError(ValueError):
    """A file that is not a complete certificate of a known version."""


def instance_parts(instance: PruningInstance) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header entries and arrays that hold an instance."""
    header = {
        "version": VERSION,
        "instance_sha256": instance.fingerprint(),
        "error_unit": str(instance.error_unit),
        "cost_unit": str(instance.cost_unit),
        "n_units": int(instance.n_units),
        "n_examples": int(instance.n_examples),
    }
    return header, {f"instance/{name}": getattr(instance, name) for name in INSTANCE_DTYPES}


def write_archive(path: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Seal a header and arrays with their digest and write them as they are; nothing is verified."""
    sealed = {**header, "content_sha256": _content_digest(header, arrays)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", json.dumps(sealed, indent=1, sort_keys=True))
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
                np.lib.format.write_array(member, little, version=(1, 0), allow_pickle=False)


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a header and arrays; refuse anything incomplete, of another version or not as it was sealed.

    Raises
    ------
    CertificateFileError
        Says what is wrong with the file.
    FileNotFoundError
        If there is no such file.
    """
    with Path(path).open("rb") as file:
        try:
            header, arrays = _unpack(file)
        except _UNREADABLE as problem:
            raise CertificateFileError(f"{path}: not a complete certificate file: {problem}") from None
    if not isinstance(header, dict) or not str(header.get("format")).startswith("ipforest "):
        raise CertificateFileError(f"{path}: not an ipforest certificate")
    if header.get("version") != VERSION:
        raise CertificateFileError(f"{path}: version {header.get('version')!r}, this checker knows {VERSION}")
    stated = header.pop("content_sha256", None)
    found = _content_digest(header, arrays)
    if stated != found:
        raise CertificateFileError(f"{path}: content digest {found[:16]}..., sealed with {str(stated)[:16]}...")
    return header, arrays


_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


def _unpack(file: BinaryIO) -> tuple[Any, dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(file) as archive:
        header = json.loads(archive.read("header.json"))
        names = [name for name in archive.namelist() if name != "header.json"]
        return header, {
            name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in names
        }


def check_layout(
    path: str | Path,
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    keys: tuple[str, ...],
    dtypes: Mapping[str, type[np.generic]],
) -> None:
    """Require exactly the common header entries and `keys`, the instance's and the flow's arrays and `dtypes`.

    Raises
    ------
    CertificateFileError
        Names what is missing, unknown or of the wrong type.
    """
    wanted = {*_COMMON_KEYS, *keys} - {"content_sha256"}
    if set(header) != wanted:
        raise CertificateFileError(f"{path}: header entries {sorted(set(header) ^ wanted)} missing or unknown")
    expected: dict[str, type[np.generic]] = {f"instance/{name}": dtype for name, dtype in INSTANCE_DTYPES.items()}
    expected |= {f"flow/{name}": np.int64 for name in FLOW_ARRAYS} | dict(dtypes)
    if set(arrays) != set(expected):
        raise CertificateFileError(f"{path}: arrays {sorted(set(arrays) ^ set(expected))} missing or unknown")
    for name, dtype in expected.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise CertificateFileError(
                f"{path}: {name}: expected a one-dimensional {np.dtype(dtype)} array, got "
                f"{arrays[name].dtype} with {arrays[name].ndim} dimensions"
            )
        arrays[name].flags.writeable = False


def read_fraction(path: str | Path, header: dict[str, Any], name: str) -> Fraction:
    """Read an exact number of a header.

    Raises
    ------
    CertificateFileError
        If the entry is no number.
    """
    return exact_number(path, name, header[name])


def exact_number(path: str | Path, name: str, text: Any) -> Fraction:
    """Read "p/q" or "p"; the name is for the error.

    Raises
    ------
    CertificateFileError
        If the text is no number.
    """
    try:
        return Fraction(text)
    except (ValueError, TypeError, ZeroDivisionError) as problem:
        raise CertificateFileError(f"{path}: {name} cannot be read as a number: {problem}") from None


def read_integer(path: str | Path, header: dict[str, Any], name: str) -> int:
    """Read an integer of a header.

    Raises
    ------
    CertificateFileError
        If the entry is no integer.
    """
    number = read_fraction(path, header, name)
    if number.denominator != 1:
        raise CertificateFileError(f"{path}: {name}: expected an integer, got {number}")
    return int(number)


def instance_record(path: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> InstanceRecord:
    """Assemble the instance; its claims are not verified.

    Raises
    ------
    CertificateFileError
        If a number of the header cannot be read.
    """
    return InstanceRecord(
        **{name: arrays[f"instance/{name}"] for name in INSTANCE_DTYPES},
        error_unit=read_fraction(path, header, "error_unit"),
        cost_unit=read_fraction(path, header, "cost_unit"),
        n_units=read_integer(path, header, "n_units"),
        n_examples=read_integer(path, header, "n_examples"),
    )


def hash_fault(instance: InstanceRecord, stated: str) -> str | None:
    """Describe how the hash of an instance differs from the stated one; return None if it does not."""
    found = instance.fingerprint()
    return None if found == stated else f"the instance's hash is {found[:16]}..., not {stated[:16]}..."


def _content_digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Hash the header (sorted JSON) and the arrays by sorted name: name, dtype, size, little-endian bytes."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        values = arrays[name]
        digest.update(f"\n{name} {values.dtype.name} {values.shape}\n".encode())
        digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data)
    return digest.hexdigest()
