r"""The container of certificate files: a sealed ZIP archive of a JSON header and arrays.

Format, version 3
-----------------
A ZIP archive without comment, its members stored without compression, each name once. All of them together are no
larger than the file, so that reading takes no more memory than the file has bytes.

``header.json``
    One flat JSON object, ASCII, at most 64 KiB. Values are integers from 0 to 2^63 - 1, printable texts of at most
    2,001 characters, or objects of such texts; each key once. Exact numbers are texts "p/q" or "p" in lowest terms, at
    most 1,000 digits each. Entries of every kind of certificate:

    ================== ===========================================================================
    key                meaning
    ================== ===========================================================================
    format             which kind of certificate: see `pruning_file`, `path_file`
    version            3
    instance_sha256    SHA-256 of the instance as `PruningInstance.fingerprint` defines it
    content_sha256     SHA-256 over the other header entries and all arrays, see `_content_digest`
    error_unit         value of one integer error
    cost_unit          value of one integer cost
    n_units, n_examples  sizes K and N_c
    provenance         object: what the instance was made of, see `proofs.provenance`; may be empty
    ================== ===========================================================================
``instance/NAME.npy``
    The stored arrays of `PruningInstance` without the routing: tree_offsets, node_parent, errors, indptr, indices,
    acquisition_unit, acquisition_example, acquisition_cost, split_cost.
``flow/NAME.npy``
    int64: used, triple, up, gain, split, see `ipforest.results.DualFlow` and `ipforest.maxflow.path_flow.PathFlow`.

All arrays are one-dimensional NumPy files, version 1.0, of little-endian int64, int32 or bool. A program that writes
such a file can seal anything: the digest finds damage, the checkers find lies. What reads and checks imports no solver,
numba or `ipforest`; writing uses `ipforest._internal.files`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.exact_arrays import array_fault
from proofs.certificates.records import INSTANCE_DTYPES, InstanceRecord

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

VERSION = 3
FLOW_ARRAYS = ("used", "triple", "up", "gain", "split")
MAX_HEADER_BYTES = 1 << 16
MAX_DIRECTORY_BYTES = 1 << 14
MAX_TEXT_LENGTH = 2001
_INSTANCE_NUMBERS = ("error_unit", "cost_unit", "n_units", "n_examples")
_COMMON_KEYS = ("format", "version", "instance_sha256", "provenance", *_INSTANCE_NUMBERS)
_NUMBER = re.compile(r"-?\d{1,1000}(/\d{1,1000})?", re.ASCII)
_NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '(<i8|<i4|\|b1)', 'fortran_order': False, 'shape': \((\d{1,18}),\), \} *\n",
    re.DOTALL,
)


class CertificateFileError(ValueError):
    """A file that is not a complete certificate of a known version."""


def instance_parts(
    instance: PruningInstance, provenance: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header entries and arrays that hold an instance and what it was made of."""
    header = {
        "version": VERSION,
        "instance_sha256": instance.fingerprint(),
        "error_unit": str(instance.error_unit),
        "cost_unit": str(instance.cost_unit),
        "n_units": int(instance.n_units),
        "n_examples": int(instance.n_examples),
        "provenance": dict(provenance),
    }
    return header, {f"instance/{name}": getattr(instance, name) for name in INSTANCE_DTYPES}


def write_archive(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Seal a header and arrays with their digest and write them, whole or not at all; no claim is verified.

    Raises
    ------
    ValueError
        If the header could not be read back.
    OSError
        If the file cannot be written.
    """
    from ipforest._internal.files import write_file

    text = json.dumps({**header, "content_sha256": _content_digest(header, arrays)}, indent=1, sort_keys=True)
    _read_header(text.encode())

    def write(unfinished: Path) -> None:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as archive:
            timeless = zipfile.ZipInfo("header.json")  # so that equal files have equal bytes
            archive.writestr(timeless, text)
            for name, values in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
                    np.lib.format.write_array(member, little, version=(1, 0), allow_pickle=False)

    write_file(path, write)


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a header and arrays; refuse anything incomplete, of another version or not as it was sealed.

    Raises
    ------
    CertificateFileError
        Says what is wrong with the file, in one line.
    OSError
        If the file cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            header, arrays = _unpack(file)
        except _UNREADABLE as problem:
            reason = " ".join(str(problem).split()) or type(problem).__name__
            raise CertificateFileError(f"{path}: not a complete certificate file: {reason}") from None
    if not str(header.get("format")).startswith("ipforest "):
        raise CertificateFileError(f"{path}: not an ipforest certificate")
    if header.get("version") != VERSION:
        raise CertificateFileError(f"{path}: version {header.get('version')!r}, this checker knows {VERSION}")
    stated = header.pop("content_sha256", None)
    found = _content_digest(header, arrays)
    if stated != found:
        raise CertificateFileError(f"{path}: content digest {found[:16]}..., sealed with {str(stated)[:16]}...")
    return header, arrays


_UNREADABLE = (
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
)
"""What zipfile and json raise over the bytes of a damaged file."""


def _unpack(file: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    size = file.seek(0, os.SEEK_END)
    if _directory_size(file, size) > MAX_DIRECTORY_BYTES:
        raise ValueError("it has too many members")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a member is compressed")
        if any(member.compress_size != member.file_size for member in members):
            raise ValueError("a member has two sizes")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its members are larger than the file")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("a member stands twice")
        header = _read_header(archive.read("header.json"))
        names = [member.filename for member in members if member.filename != "header.json"]
        if not all(name.endswith(".npy") for name in names):
            raise ValueError("a member is neither header.json nor an array NAME.npy")
        return header, {name.removesuffix(".npy"): _read_array(name, archive.read(name)) for name in names}


def _directory_size(file: BinaryIO, size: int) -> int:
    """Return the bytes of the archive's list of members, from the records that end a ZIP file without comment."""
    file.seek(max(0, size - 98))
    tail = file.read(98).rjust(98)
    if tail[76:80] != b"PK\5\6" or tail[96:98] != b"\0\0":
        raise ValueError("it does not end as a ZIP archive without comment does")
    if tail[56:60] == b"PK\6\7":
        return int(struct.unpack("<Q", tail[40:48])[0])
    return int(struct.unpack("<I", tail[88:92])[0])


def _read_header(data: bytes) -> dict[str, Any]:
    """Read the flat JSON object of a header; the first thing that is no part of the format is an error."""
    if len(data) > MAX_HEADER_BYTES:
        raise ValueError(f"its header has more than {MAX_HEADER_BYTES} bytes")
    header = json.loads(
        data.decode("ascii"), object_pairs_hook=_once, parse_float=_no_number, parse_constant=_no_number
    )
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    for key, value in header.items():
        parts = value.values() if isinstance(value, dict) else [value]
        if not all(_is_plain(part) for part in (key, *parts)):
            raise ValueError(f"header entry {key[:40]!r} is neither an integer nor a short printable text")
    return header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary of a JSON object's entries, each key once."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a header entry stands twice")
    return entries


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]!r} in the header is no exact number")


def _is_plain(value: object) -> bool:
    if type(value) is int:
        return 0 <= value < 1 << 63
    return isinstance(value, str) and value.isprintable() and len(value) <= MAX_TEXT_LENGTH


def _read_array(name: str, data: bytes) -> NDArray[Any]:
    """View the bytes of a NumPy file as an array, without a copy."""
    start = _NPY_HEADER.match(data)
    if start is None or start.end() != 10 + int.from_bytes(start[1], "little"):
        raise ValueError(f"{name!r}: expected a NumPy file of one dimension and dtype <i8, <i4 or |b1")
    dtype = np.dtype(start[2].decode())
    if int(start[3]) * dtype.itemsize != len(data) - start.end():
        raise ValueError(f"{name!r}: expected {int(start[3])} numbers, got {len(data) - start.end()} bytes")
    values: NDArray[Any] = np.frombuffer(data, dtype, offset=start.end())
    return values


def check_layout(
    path: str | Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    keys: Iterable[str],
    dtypes: Mapping[str, type[np.generic]],
) -> None:
    """Require exactly the common header entries and `keys`, the instance's and the flow's arrays and `dtypes`.

    Raises
    ------
    CertificateFileError
        Names what is missing, unknown or of the wrong type.
    """
    wanted = {*_COMMON_KEYS, *keys}
    if set(header) != wanted:
        raise CertificateFileError(f"{path}: header entries {sorted(set(header) ^ wanted)} missing or unknown")
    for key, value in header.items():
        kind = {"version": int, "n_units": int, "n_examples": int, "provenance": dict}.get(key, str)
        if type(value) is not kind:
            raise CertificateFileError(f"{path}: {key}: expected {kind.__name__}, got {type(value).__name__}")
    if not all(isinstance(value, str) for value in header["provenance"].values()):
        raise CertificateFileError(f"{path}: provenance: expected texts, got other values")
    expected: dict[str, type[np.generic]] = {f"instance/{name}": dtype for name, dtype in INSTANCE_DTYPES.items()}
    expected |= {f"flow/{name}": np.int64 for name in FLOW_ARRAYS} | dict(dtypes)
    if set(arrays) != set(expected):
        raise CertificateFileError(f"{path}: arrays {sorted(set(arrays) ^ set(expected))} missing or unknown")
    for name, dtype in expected.items():
        fault = array_fault(name, arrays[name], dtype)
        if fault:
            raise CertificateFileError(f"{path}: {fault}")


def read_number(path: str | Path, header: Mapping[str, Any], name: str) -> Fraction:
    """Read an exact number of a header: "p/q" in lowest terms, or "p".

    Raises
    ------
    CertificateFileError
        If the entry is no such text.
    """
    text = header[name]
    try:
        number = Fraction(text) if _NUMBER.fullmatch(text) else None
    except ZeroDivisionError:
        number = None
    if number is None or str(number) != text:
        raise CertificateFileError(f'{path}: {name}: expected a number "p/q" in lowest terms, got {text[:40]!r}')
    return number


def read_integer(path: str | Path, header: Mapping[str, Any], name: str) -> int:
    """Read an integer of a header that is stored as text, of any size.

    Raises
    ------
    CertificateFileError
        If the entry is no integer.
    """
    number = read_number(path, header, name)
    if number.denominator != 1:
        raise CertificateFileError(f"{path}: {name}: expected an integer, got {number}")
    return int(number)


def instance_record(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> InstanceRecord:
    """Assemble the instance; its claims are not verified.

    Raises
    ------
    CertificateFileError
        If a number of the header cannot be read, or a unit is not positive.
    """
    units = {name: read_number(path, header, name) for name in ("error_unit", "cost_unit")}
    if min(units.values()) <= 0:
        raise CertificateFileError(f"{path}: error_unit, cost_unit: expected numbers > 0, got {min(units.values())}")
    return InstanceRecord(
        **{name: arrays[f"instance/{name}"] for name in INSTANCE_DTYPES},
        error_unit=units["error_unit"],
        cost_unit=units["cost_unit"],
        n_units=header["n_units"],
        n_examples=header["n_examples"],
    )


def hash_fault(instance: InstanceRecord, stated: str) -> str | None:
    """Describe how the hash of an instance differs from the stated one; return None if it does not."""
    found = instance.fingerprint()
    return None if found == stated else f"the instance's hash is {found[:16]}..., not {stated[:16]}..."


def _content_digest(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash the header (sorted JSON) and the arrays by sorted name: name, dtype, size, little-endian bytes."""
    digest = hashlib.sha256(json.dumps(dict(header), sort_keys=True).encode())
    for name in sorted(arrays):
        values = arrays[name]
        digest.update(f"\n{name} {values.dtype.name} {values.shape}\n".encode())
        digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data)
    return digest.hexdigest()
