"""OR-Tools' maximum flow on a closure network, alone in its process: reads an .npz, writes one line of JSON."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from ortools.graph.python import max_flow

UNBOUNDED = 2**61


def peak_mib() -> float:
    """Read the peak resident memory of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main(path: str) -> None:
    """Solve the network in a file and report seconds of the solve alone, flow value and peak memory."""
    data = np.load(path)
    parent, gain, indptr, indices = data["parent"], data["gain"], data["indptr"], data["indices"]
    p, q = int(data["p"]), int(data["q"])
    n, m = parent.size, data["cost"].size
    nodes, acquisitions = np.arange(n, dtype=np.int32), np.arange(n, n + m, dtype=np.int32)
    source, sink = n + m, n + m + 1
    started = time.perf_counter()
    solver = max_flow.SimpleMaxFlow()

    def add(tails: Any, heads: Any, capacities: Any) -> None:
        shape = (np.asarray(tails) + np.asarray(heads)).shape
        solver.add_arcs_with_capacity(
            *(np.ascontiguousarray(np.broadcast_to(ends, shape), dtype=np.int32) for ends in (tails, heads)),
            np.ascontiguousarray(np.broadcast_to(capacities, shape), dtype=np.int64),
        )

    own = p * data["split_cost"] + q * np.maximum(-gain, 0)
    add(source, nodes[gain > 0], q * gain[gain > 0])
    add(nodes[own > 0], sink, own[own > 0])
    add(nodes[parent >= 0], parent[parent >= 0], UNBOUNDED)
    add(np.repeat(nodes, np.diff(indptr)), n + indices, UNBOUNDED)
    add(acquisitions, sink, p * data["cost"])
    built = time.perf_counter()
    status = solver.solve(source, sink)
    solved = time.perf_counter()
    if status != solver.OPTIMAL:
        raise SystemExit(f"OR-Tools: expected an optimum, got status {status}")
    report = {
        "seconds": solved - built,
        "build_seconds": built - started,
        "flow": solver.optimal_flow(),
        "peak_mib": peak_mib(),
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
