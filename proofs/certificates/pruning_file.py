"""Certificates of one optimal pruning on disk: instance, pruning and flow in one file that proves itself.

The container is that of `proofs.certificates.archive`, with ``format`` "ipforest optimality certificate" and, with
the common parts,

================== =================================================================
header key         meaning
================== =================================================================
lam                lambda
p, q               lambda in integer units, p / q = lam * cost_unit / error_unit
error, cost        of the pruning
objective          error + lam * cost
method             the solver's name, for the record
================== =================================================================

and the array ``kept.npy``: bool, one entry an internal node. Pass the instance as well to see that the file is about
that instance. The mathematics is checked by `proofs.certificates.optimality`. Nothing here imports a solver, numba or
`ipforest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from proofs.certificates import path_file
from proofs.certificates.archive import (
    FLOW_ARRAYS,
    CertificateFileError,
    check_layout,
    hash_fault,
    instance_parts,
    instance_record,
    read_archive,
    read_integer,
    read_number,
    write_archive,
)
from proofs.certificates.optimality import verify_claim, verify_optimality
from proofs.certificates.records import FlowRecord, InstanceRecord
from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.results import PruningResult

FORMAT = "ipforest optimality certificate"
_KEYS = ("lam", "p", "q", "error", "cost", "objective", "method")


@dataclass(frozen=True, slots=True, eq=False)
class OptimalityCertificate:
    """What a certificate file claims.

    Attributes
    ----------
    instance : InstanceRecord
    instance_sha256 : str
        The stated hash of the instance.
    lam : Fraction
    kept : (n_internal,) bool ndarray
    flow : FlowRecord
    error, cost, objective : Fraction
    method : str
    provenance : mapping from str to str
        What the instance was made of, see `proofs.provenance`.
    """

    instance: InstanceRecord
    instance_sha256: str
    lam: Fraction
    kept: NDArray[np.bool_]
    flow: FlowRecord
    error: Fraction
    cost: Fraction
    objective: Fraction
    method: str
    provenance: Mapping[str, str]

    def check(self) -> Verdict:
        """Verify the hash of the instance, the pruning, the flow and every stated number."""
        fault = hash_fault(self.instance, self.instance_sha256)
        if fault:
            return refuse(fault)
        claims = {"error": self.error, "cost": self.cost, "objective": self.objective}
        return verify_claim(self.instance, self.lam, self.kept, self.flow, claims)


def write_certificate(
    path: str | Path,
    instance: PruningInstance,
    result: PruningResult,
    provenance: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a certificate of an optimal result.

    Parameters
    ----------
    path : str or Path
        The file to write; the suffix is yours, `.cert` by habit.
    instance : PruningInstance
    result : PruningResult
        Optimal, with its flow.
    provenance : mapping from str to str, optional
        What the instance was made of, see `proofs.provenance`.

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
    header, arrays = instance_parts(instance, provenance)
    header |= {name: str(getattr(result, name)) for name in ("lam", "error", "cost", "objective", "method")}
    header |= {"format": FORMAT, "p": str(flow.p), "q": str(flow.q)}
    arrays["kept"] = result.pruning.kept
    arrays |= {f"flow/{name}": getattr(flow, name) for name in FLOW_ARRAYS}
    write_archive(path, header, arrays)


def read_certificate(path: str | Path) -> OptimalityCertificate | path_file.PathCertificate:
    """Read a certificate file of either kind; the claim is not verified yet, call ``.check()``.

    Raises
    ------
    CertificateFileError
        If the file is no complete certificate of version 3.
    FileNotFoundError
        If there is no such file.
    """
    header, arrays = read_archive(path)
    if header["format"] == path_file.FORMAT:
        return path_file.from_archive(path, header, arrays)
    if header["format"] != FORMAT:
        raise CertificateFileError(f"{path}: {header['format']!r} is no kind of certificate known here")
    check_layout(path, header, arrays, _KEYS, {"kept": np.bool_})
    return OptimalityCertificate(
        instance=instance_record(path, header, arrays),
        instance_sha256=header["instance_sha256"],
        lam=read_number(path, header, "lam"),
        kept=arrays["kept"],
        flow=FlowRecord(
            read_integer(path, header, "p"),
            read_integer(path, header, "q"),
            **{name: arrays[f"flow/{name}"] for name in FLOW_ARRAYS},
        ),
        error=read_number(path, header, "error"),
        cost=read_number(path, header, "cost"),
        objective=read_number(path, header, "objective"),
        method=header["method"],
        provenance=header["provenance"],
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
    about = verify_instance(certificate, instance)
    return accept(f"{verdict.reason}; {about.reason}") if about else about


def verify_instance(
    certificate: OptimalityCertificate | path_file.PathCertificate, instance: PruningInstance
) -> Verdict:
    """Verify that a certificate is about an instance."""
    if instance.fingerprint() != certificate.instance_sha256:
        return refuse(f"instance: the certificate is about {certificate.instance_sha256[:16]}..., not the one given")
    return accept("the instance is the one given")
