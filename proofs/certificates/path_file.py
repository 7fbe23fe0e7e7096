"""Certificates of a whole path on disk: every breakpoint, every pruning, one flow.

The container is that of `proofs.certificates.archive`, with ``format`` "ipforest path certificate" and, beside
the common parts,

================== =================================================================
header key         meaning
================== =================================================================
breakpoints        list of k lambdas, ascending
p, q               lists of k integers, the breakpoints in integer units
errors, costs      lists of k + 1 numbers, of the prunings between the breakpoints
================== =================================================================

and the array ``node_breakpoint.npy``: int32, the piece of each internal node, see `ipforest.path.PathFlow`. The
mathematics is checked by `proofs.certificates.path_optimality`. Nothing here imports a solver, numba or `ipforest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.archive import (
    FLOW_ARRAYS,
    CertificateFileError,
    check_layout,
    exact_number,
    hash_fault,
    instance_parts,
    instance_record,
    write_archive,
)
from proofs.certificates.path_optimality import verify_path
from proofs.certificates.records import InstanceRecord, PathFlowRecord, PathRecord
from proofs.verdict import Verdict, refuse

if TYPE_CHECKING:
    from ipforest.path import PruningPath

FORMAT = "ipforest path certificate"
_LISTS = ("breakpoints", "p", "q", "errors", "costs")


@dataclass(frozen=True, slots=True, eq=False)
class PathCertificate:
    """What a path certificate claims.

    Attributes
    ----------
    instance : InstanceRecord
    instance_sha256 : str
        The stated hash of the instance.
    path : PathRecord
    """

    instance: InstanceRecord
    instance_sha256: str
    path: PathRecord

    def check(self) -> Verdict:
        """Verify the hash of the instance, the pieces, the flow and every stated number."""
        fault = hash_fault(self.instance, self.instance_sha256)
        return refuse(fault) if fault else verify_path(self.instance, self.path)


def write_path_certificate(file: str | Path, path: PruningPath) -> None:
    """Write a certificate of a whole path; read it back with `proofs.read_certificate`.

    Parameters
    ----------
    file : str or pathlib.Path
        The file to write.
    path : ipforest.path.PruningPath
        A whole path, with its flow.

    Raises
    ------
    ValueError
        If the path does not pass `verify_path`: a certificate that fails is never written.
    """
    verdict = verify_path(path.instance, path)
    if not verdict:
        raise ValueError(f"path: expected a provably optimal path, but {verdict.reason}")
    flow = path.flow
    assert flow is not None, "verify_path refuses a path without a flow"
    header, arrays = instance_parts(path.instance)
    numbers = {"breakpoints": path.breakpoints, "errors": path.errors, "costs": path.costs, "p": flow.p, "q": flow.q}
    header |= {"format": FORMAT, **{name: [str(number) for number in listed] for name, listed in numbers.items()}}
    arrays["node_breakpoint"] = path.node_breakpoint
    arrays |= {f"flow/{name}": getattr(flow, name) for name in FLOW_ARRAYS}
    write_archive(file, header, arrays)


def from_archive(file: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PathCertificate:
    """Assemble the claim; it is not verified.

    Raises
    ------
    CertificateFileError
        If something is missing, unknown or cannot be read.
    """
    check_layout(file, header, arrays, _LISTS, {"node_breakpoint": np.int32})
    numbers: dict[str, tuple[Fraction, ...]] = {}
    for name in _LISTS:
        if not isinstance(header[name], list):
            raise CertificateFileError(f"{file}: {name}: expected a list of numbers, got {header[name]!r}")
        numbers[name] = tuple(exact_number(file, name, text) for text in header[name])
    for name in ("p", "q"):
        if any(number.denominator != 1 for number in numbers[name]):
            raise CertificateFileError(f"{file}: {name}: expected integers")
    pieces = arrays["node_breakpoint"]
    flow = PathFlowRecord(
        tuple(int(number) for number in numbers["p"]),
        tuple(int(number) for number in numbers["q"]),
        pieces,
        **{name: arrays[f"flow/{name}"] for name in FLOW_ARRAYS},
    )
    path = PathRecord(numbers["breakpoints"], numbers["errors"], numbers["costs"], pieces, flow)
    return PathCertificate(instance_record(file, header, arrays), str(header["instance_sha256"]), path)
