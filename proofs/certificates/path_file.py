"""Certificates of a whole path on disk: every breakpoint, every pruning, one flow.

The container is that of `proofs.certificates.archive`, with ``format`` "ipforest path certificate" and, with
the common parts, these arrays:

=================== =================================================================
array               meaning
=================== =================================================================
node_breakpoint     int32, the piece of each internal node, see `ipforest.maxflow.path_flow.PathFlow`
p, q                int64, k each: the breakpoints in integer units, ascending
errors, costs       int64, k + 1 each: of the prunings between the breakpoints, in integer units
=================== =================================================================

The mathematics is checked by `proofs.certificates.path_optimality`. Nothing here imports a solver, numba or `ipforest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.archive import (
    FLOW_ARRAYS,
    CertificateFileError,
    check_layout,
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
_DTYPES: Mapping[str, type[np.generic]] = {
    "node_breakpoint": np.int32,
    **dict.fromkeys(("p", "q", "errors", "costs"), np.int64),
}


@dataclass(frozen=True, slots=True, eq=False)
class PathCertificate:
    """What a path certificate claims.

    Attributes
    ----------
    instance : InstanceRecord
    instance_sha256 : str
        The stated hash of the instance.
    path : PathRecord
    provenance : mapping from str to str
        What the instance was made of, see `proofs.provenance`.
    """

    instance: InstanceRecord
    instance_sha256: str
    path: PathRecord
    provenance: Mapping[str, str]

    def check(self) -> Verdict:
        """Verify the hash of the instance, the pieces, the flow and every stated number."""
        fault = hash_fault(self.instance, self.instance_sha256)
        return refuse(fault) if fault else verify_path(self.instance, self.path)


def write_path_certificate(
    file: str | Path, path: PruningPath, provenance: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write a certificate of a whole path; read it back with `proofs.read_certificate`.

    Parameters
    ----------
    file : str or pathlib.Path
        The file to write.
    path : ipforest.path.PruningPath
        A whole path, with its flow.
    provenance : mapping from str to str, optional
        What the instance was made of, see `proofs.provenance`.

    Raises
    ------
    ValueError
        If the path does not pass `verify_path`: a certificate that fails is never written.
    """
    verdict = verify_path(path.instance, path)
    if not verdict:
        raise ValueError(f"path: expected a provably optimal path, but {verdict.reason}")
    flow, instance = path.flow, path.instance
    assert flow is not None, "verify_path refuses a path without a flow"
    header, arrays = instance_parts(instance, provenance)
    arrays["node_breakpoint"] = path.node_breakpoint
    arrays |= {
        "p": np.array(flow.p, dtype=np.int64),
        "q": np.array(flow.q, dtype=np.int64),
        "errors": np.array([int(error / instance.error_unit) for error in path.errors], dtype=np.int64),
        "costs": np.array([int(cost / instance.cost_unit) for cost in path.costs], dtype=np.int64),
    }
    arrays |= {f"flow/{name}": getattr(flow, name) for name in FLOW_ARRAYS}
    write_archive(file, header | {"format": FORMAT}, arrays)


def from_archive(file: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PathCertificate:
    """Assemble the claim; it is not verified.

    Raises
    ------
    CertificateFileError
        If something is missing, unknown or cannot be read.
    """
    check_layout(file, header, arrays, (), _DTYPES)
    p, q = (tuple(arrays[name].tolist()) for name in ("p", "q"))
    if len(p) != len(q) or min(q, default=1) <= 0:
        raise CertificateFileError(f"{file}: p, q: expected as many of one as of the other, and q > 0")
    instance = instance_record(file, header, arrays)
    pieces = arrays["node_breakpoint"]
    flow = PathFlowRecord(p, q, pieces, **{name: arrays[f"flow/{name}"] for name in FLOW_ARRAYS})
    unit = instance.error_unit / instance.cost_unit
    path = PathRecord(
        breakpoints=tuple(Fraction(*ratio) * unit for ratio in zip(p, q, strict=True)),
        errors=tuple(instance.error_unit * error for error in arrays["errors"].tolist()),
        costs=tuple(instance.cost_unit * cost for cost in arrays["costs"].tolist()),
        node_breakpoint=pieces,
        flow=flow,
    )
    return PathCertificate(instance, header["instance_sha256"], path, header["provenance"])
