"""What a certificate file holds, as plain records: the checkers take them where they take the package's own objects."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import ipforest.instance
    import ipforest.maxflow.path_flow
    import ipforest.path
    import ipforest.results

    Instance: TypeAlias = ipforest.instance.PruningInstance | "InstanceRecord"
    Flow: TypeAlias = ipforest.results.DualFlow | "FlowRecord"
    AnyPath: TypeAlias = ipforest.path.PruningPath | "PathRecord"
    PathFlow: TypeAlias = ipforest.maxflow.path_flow.PathFlow | "PathFlowRecord"


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
"""The arrays of an instance."""


@dataclass(frozen=True, slots=True, eq=False)
class InstanceRecord:
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
class FlowRecord:
    """The integer flow as it is in the file; same fields as `ipforest.results.DualFlow`."""

    p: int
    q: int
    used: NDArray[np.int64]
    triple: NDArray[np.int64]
    up: NDArray[np.int64]
    gain: NDArray[np.int64]
    split: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PathFlowRecord:
    """The flow as it is in the file; same fields as `ipforest.maxflow.path_flow.PathFlow`."""

    p: tuple[int, ...]
    q: tuple[int, ...]
    node_breakpoint: NDArray[np.int32]
    used: NDArray[np.int64]
    triple: NDArray[np.int64]
    up: NDArray[np.int64]
    gain: NDArray[np.int64]
    split: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PathRecord:
    """The path as it is in the file; same names as in `ipforest.path.PruningPath`."""

    breakpoints: tuple[Fraction, ...]
    errors: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]
    node_breakpoint: NDArray[np.int32]
    flow: PathFlowRecord
