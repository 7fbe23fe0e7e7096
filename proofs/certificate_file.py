"""Optimality certificates on disk: one file that contains the instance, the pruning and the flow.

Format, version 1
-----------------
A ZIP archive, members stored without compression (each has the archive's CRC-32):

``header.json``
    One JSON object, UTF-8. Exact numbers are strings "p/q" or "p".

    ================== ===========================================================================
    key                meaning
    ================== ===========================================================================
    format             the string "ipforest optimality certificate"
    version            1
    instance_sha256    SHA-256 of the instance as `PruningInstance.fingerprint` defines it
    content_sha256     SHA-256 over the other header entries and all arrays, see `_content_digest`
    lam                lambda
    p, q               lambda in integer units, p / q = lam * cost_unit / error_unit
    error, cost        of the pruning
    objective          error + lam * cost
    method             the solver's name, for the record
    error_unit         value of one integer error
    cost_unit          value of one integer cost
    n_units, n_examples  sizes K and N_c
    ================== ===========================================================================
``instance/NAME.npy``
    The stored arrays of `PruningInstance`: tree_offsets, node_parent, errors, indptr, indices,
    acquisition_unit, acquisition_example, acquisition_cost, split_cost.
``kept.npy``
    bool, one entry an internal node.
``flow/NAME.npy``
    int64: triple, up, gain, split, see `ipforest.pruning.DualFlow`.

All arrays are one-dimensional, little-endian NumPy files without pickles. The file proves its claim by itself; pass the
instance as well to see that it is about that instance. `proofs.optimality` checks the mathematics and imports nothing
from here. Neither module imports a solver, numba or `ipforest`.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proofs.optimality import verify_claim, verify_optimality
from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.pruning import PruningResult

FORMAT = "ipforest optimality certificate"
VERSION = 1

_INSTANCE_DTYPES = {
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
_FLOW_ARRAYS = ("triple", "up", "gain", "split")
_HEADER_KEYS = (
    *("format", "version", "instance_sha256", "content_sha256", "lam", "p", "q", "error", "cost", "objective"),
    *("method", "error_unit", "cost_unit", "n_units", "n_examples"),
)


class CertificateFileError(ValueError):
    """A file that is not a complete certificate of a known version."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredInstance:
    """The instance's stored fields as they are in the file; same names and meaning as in `PruningInstance`."""

    tree_offsets: NDArray[np.int64]
    node_parent: NDArray[np.int32]
    errors: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    acquisition_unit: NDArray[np.int32]
    acquisition_example: NDArray[np.int32]
    acquisition_cost: NDArray[np.int64]
    split_cost: NDArray[np.int64]
    error_unit: Fraction
    cost_unit: Fraction
    n_units: int
    n_examples: int

    def fingerprint(self) -> str:
        """Hash the fields as `PruningInstance.fingerprint` does."""
        digest = hashlib.sha256(b"ipforest instance 1\n")
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                digest.update(f"{item.name} {value.dtype.name} {value.size}\n".encode())
                digest.update(np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<")).data)
            else:
                digest.update(f"{item.name} {value}\n".encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class StoredFlow:
    """The integer flow as it is in the file; same fields as `ipforest.pruning.DualFlow`."""

    p: int
    q: int
    triple: NDArray[np.int64]
    up: NDArray[np.int64]
    gain: NDArray[np.int64]
    split: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class OptimalityCertificate:
    """What a certificate file claims.

    Attributes
    ----------
    instance : StoredInstance
    instance_sha256 : str
        The stated hash of the instance.
    lam : Fraction
    kept : (n_internal,) bool ndarray
    flow : StoredFlow
    error, cost, objective : Fraction
    method : str
    """

    instance: StoredInstance
    instance_sha256: str
    lam: Fraction
    kept: NDArray[np.bool_]
    flow: StoredFlow
    error: Fraction
    cost: Fraction
    objective: Fraction
    method: str

    def check(self) -> Verdict:
        """Verify the hash of the instance, the pruning, the flow and every stated number."""
        found = self.instance.fingerprint()
        if found != self.instance_sha256:
            return refuse(f"the instance's hash is {found[:16]}..., not {self.instance_sha256[:16]}...")
        claims = {"error": self.error, "cost": self.cost, "objective": self.objective}
        return verify_claim(self.instance, self.lam, self.kept, self.flow, claims)


def write_certificate(path: str | Path, instance: PruningInstance, result: PruningResult) -> None:
    """Write a certificate of an optimal result.

    Parameters
    ----------
    path : str or Path
        The file to write; the suffix is yours, `.cert` by habit.
    instance : PruningInstance
    result : PruningResult
        Optimal, with its flow.

    Raises
    ------
    ValueError
        If the result does not pass `verify_optimality`: a certificate that fails is never written.
    """
    verdict = verify_optimality(instance, result)
    if not verdict:
        raise ValueError(f"result: expected a provably optimal pruning, but {verdict.reason}")
    flow = result.flow
    assert flow is not None, "verify_optimality refuses a result without a flow"
    arrays: dict[str, NDArray[Any]] = {f"instance/{name}": getattr(instance, name) for name in _INSTANCE_DTYPES}
    arrays["kept"] = result.pruning.kept
    arrays |= {f"flow/{name}": getattr(flow, name) for name in _FLOW_ARRAYS}
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "instance_sha256": instance.fingerprint(),
        **{name: str(getattr(result, name)) for name in ("lam", "error", "cost", "objective", "method")},
        "p": str(flow.p),
        "q": str(flow.q),
        "error_unit": str(instance.error_unit),
        "cost_unit": str(instance.cost_unit),
        "n_units": int(instance.n_units),
        "n_examples": int(instance.n_examples),
    }
    write_archive(path, header, arrays)


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
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("header.json"))
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name != "header.json"
            }
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError, NotImplementedError, RuntimeError) as problem:
        raise CertificateFileError(f"{path}: not a complete certificate file: {problem}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CertificateFileError(f"{path}: not an optimality certificate")
    if header.get("version") != VERSION:
        raise CertificateFileError(f"{path}: version {header.get('version')!r}, this checker knows {VERSION}")
    if set(header) != set(_HEADER_KEYS):
        raise CertificateFileError(
            f"{path}: header entries {sorted(set(header) ^ set(_HEADER_KEYS))} missing or unknown"
        )
    stated = header.pop("content_sha256")
    found = _content_digest(header, arrays)
    if stated != found:
        raise CertificateFileError(f"{path}: content digest {found[:16]}..., sealed with {str(stated)[:16]}...")
    return header, arrays


def read_certificate(path: str | Path) -> OptimalityCertificate:
    """Read a certificate file; the claim is not verified yet, call `.check()`.

    Raises
    ------
    CertificateFileError
        If the file is no complete certificate of version 1.
    FileNotFoundError
        If there is no such file.
    """
    header, arrays = read_archive(path)
    expected: dict[str, Any] = {f"instance/{name}": dtype for name, dtype in _INSTANCE_DTYPES.items()}
    expected |= {"kept": np.bool_, **{f"flow/{name}": np.int64 for name in _FLOW_ARRAYS}}
    if set(arrays) != set(expected):
        raise CertificateFileError(f"{path}: arrays {sorted(set(arrays) ^ set(expected))} missing or unknown")
    for name, dtype in expected.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise CertificateFileError(
                f"{path}: {name}: expected a one-dimensional {np.dtype(dtype)} array, got "
                f"{arrays[name].dtype} with {arrays[name].ndim} dimensions"
            )
        arrays[name].flags.writeable = False
    try:
        numbers = {
            name: Fraction(header[name]) for name in ("lam", "error", "cost", "objective", "error_unit", "cost_unit")
        }
        sizes = {name: int(header[name]) for name in ("p", "q", "n_units", "n_examples")}
    except (ValueError, TypeError, ZeroDivisionError) as problem:
        raise CertificateFileError(f"{path}: a number in the header cannot be read: {problem}") from None
    instance = StoredInstance(
        **{name: arrays[f"instance/{name}"] for name in _INSTANCE_DTYPES},
        error_unit=numbers["error_unit"],
        cost_unit=numbers["cost_unit"],
        n_units=sizes["n_units"],
        n_examples=sizes["n_examples"],
    )
    flow = StoredFlow(sizes["p"], sizes["q"], **{name: arrays[f"flow/{name}"] for name in _FLOW_ARRAYS})
    claims = {name: numbers[name] for name in ("lam", "error", "cost", "objective")}
    return OptimalityCertificate(
        instance=instance,
        instance_sha256=str(header["instance_sha256"]),
        kept=arrays["kept"],
        flow=flow,
        method=str(header["method"]),
        **claims,
    )


def verify_certificate_file(path: str | Path, instance: PruningInstance | None = None) -> Verdict:
    """Verify a certificate file, by itself or against an instance.

    Parameters
    ----------
    path : str or Path
    instance : PruningInstance, optional
        When given, the certificate must be about this very instance.

    Returns
    -------
    Verdict
        Accepted, or refused with a reason; a file that cannot be read as a certificate is refused too.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    try:
        certificate = read_certificate(path)
    except CertificateFileError as problem:
        return refuse(str(problem))
    verdict = certificate.check()
    if not verdict or instance is None:
        return verdict
    if instance.fingerprint() != certificate.instance_sha256:
        return refuse(f"the certificate is about instance {certificate.instance_sha256[:16]}..., not the one given")
    return accept(f"{verdict.reason}; the instance is the one given")


def _content_digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Hash the header (sorted JSON) and the arrays by sorted name: name, dtype, size, little-endian bytes."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        values = arrays[name]
        digest.update(f"\n{name} {values.dtype.name} {values.shape}\n".encode())
        digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data)
    return digest.hexdigest()
