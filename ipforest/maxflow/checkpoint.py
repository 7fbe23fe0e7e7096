"""The state of a parametric cut between two steps, as arrays: to be written to disk and taken up again.

The reduced problem follows from the instance and is not stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest.maxflow.network import Lambda
from ipforest.maxflow.parametric_cut import ParametricCut
from ipforest.maxflow.subproblems import Host, Subproblem

__all__ = ["pack", "read_subproblems", "unpack", "write_subproblems"]

Arrays = dict[str, npt.NDArray[Any]]

NETWORK, NODES, ACQUISITIONS = "network", "node_order", "acquisition_order"


def pack(cut: ParametricCut) -> Arrays:
    """Gather the state of a parametric cut while no step of it runs.

    Parameters
    ----------
    cut : ParametricCut
        All its subproblems are in the network of the whole problem.

    Returns
    -------
    dict of str to ndarray
        The arrays of the network, the permutations, and the subproblems as JSON.
    """
    return {
        **dict(_leaves(cut.network, NETWORK)),
        NODES: cut.host.nodes,
        ACQUISITIONS: cut.host.acquisitions,
        "done": np.array(write_subproblems(cut.done)),
        "open": np.array(write_subproblems(cut.open)),
    }


def unpack(cut: ParametricCut, state: Mapping[str, npt.NDArray[Any]]) -> None:
    """Bring a parametric cut that has not begun into the state of another one of the same problem.

    Raises
    ------
    KeyError, TypeError, ValueError
        The state is not one that `pack` gave, or that of another problem.
    """
    for name, ordered in ((NODES, cut.host.nodes), (ACQUISITIONS, cut.host.acquisitions)):
        if not np.array_equal(np.sort(state[name]), ordered):
            raise ValueError(f"{name}: expected a permutation of {ordered.size} numbers of this problem, got another")
    nodes, acquisitions = (state[name].astype(np.int32) for name in (NODES, ACQUISITIONS))
    cut.host = Host(_with_leaves(cut.network, NETWORK, state), nodes, acquisitions)
    cut.done, cut.open = (read_subproblems(state[name], cut.host) for name in ("done", "open"))


def _leaves(value: Any, name: str) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """List what a named tuple of arrays and such tuples holds, by dotted names."""
    for field in value._fields:
        inner, inner_name = getattr(value, field), f"{name}.{field}"
        if hasattr(inner, "_fields"):
            yield from _leaves(inner, inner_name)
        else:
            yield inner_name, inner


def _with_leaves(value: Any, name: str, stored: Mapping[str, npt.NDArray[Any]]) -> Any:
    """Replace every array by the stored one, of the same shape."""
    changed = {}
    for field in value._fields:
        inner, inner_name = getattr(value, field), f"{name}.{field}"
        if hasattr(inner, "_fields"):
            changed[field] = _with_leaves(inner, inner_name, stored)
        else:
            array = stored[inner_name]
            if array.shape != inner.shape:
                raise ValueError(f"{inner_name}: expected shape {inner.shape}, got {array.shape}")
            changed[field] = array
    return value._replace(**changed)


def write_subproblems(problems: Sequence[Subproblem]) -> str:
    """Write subproblems as JSON."""
    return json.dumps(
        [
            [
                *(edge for part in (problem.nodes, problem.acquisitions) for edge in (part.start, part.stop)),
                problem.flow_q,
                str(problem.lam_low),
                str(problem.lam_high),
                *(problem.resolved or (0, 0)),
            ]
            for problem in problems
        ]
    )


def read_subproblems(text: object, host: Host) -> list[Subproblem]:
    """Read what `write_subproblems` wrote of subproblems of one host."""
    return [
        Subproblem(
            host,
            slice(a, b),
            slice(c, d),
            flow_q,
            Fraction(low),
            inf if high == str(inf) else Fraction(high),
            Lambda(p, q) if q else None,
        )
        for a, b, c, d, flow_q, low, high, p, q in json.loads(str(text))
    ]
