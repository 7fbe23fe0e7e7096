"""What benchmarks share: each measurement in a process of its own, and rows of one table."""

from __future__ import annotations

import multiprocessing
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

from ipforest._internal.files import write_text
from ipforest._internal.parent_process import end_with_parent
from ipforest._internal.progress import ProgressCallback
from ipforest._internal.records import records_to_csv
from ipforest._internal.undisturbed import Undisturbed, started_without_interrupts

__all__ = ["Row", "collected", "in_own_process", "row_of"]

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]

COLUMNS = (
    *("method", "data", "max_features", "trees", "examples", "features", "internal_nodes", "triples", "kept_share"),
    *("seconds", "wall", "to_grid", "to_all_rounds", "peak_mib", "pickle_mb"),
    *("status", "n_kept", "breakpoints", "objective"),
)
EMPTY_ROW = dict.fromkeys(COLUMNS, "")


def collected(
    out: str | Path, sizes: Sequence[T], rows_of: Callable[[T, Path], Iterable[Row]], progress: ProgressCallback
) -> list[Row]:
    """Measure each size, given a file for an instance, and write all rows after each."""
    rows: list[Row] = []
    for place, size in enumerate(sizes):
        progress(place / len(sizes), str(size))
        with TemporaryDirectory() as folder:
            rows += rows_of(size, Path(folder) / "instance.npz")
        write_text(out, records_to_csv(rows))
    progress(1.0, "")
    return rows


def in_own_process(function: Callable[..., Row], *arguments: object) -> Row:
    """Run a measurement in a fresh interpreter, which ends with this one; add its peak memory."""
    others, beginning = set(multiprocessing.active_children()), Undisturbed()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with_parent) as pool:

        def begin() -> Future[Row]:
            with started_without_interrupts():
                return pool.submit(_with_peak, function, *arguments)

        try:
            return beginning.run(begin).result()
        except KeyboardInterrupt:
            beginning.settle()
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise


def _with_peak(function: Callable[..., Row], *arguments: object) -> Row:
    return {**function(*arguments), "peak_mib": _peak_mib()}


def _peak_mib() -> float | None:
    """Peak resident memory of this process; None on Windows.

    Linux's ru_maxrss would count the parent's before the fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        text = status.read_text(encoding="utf-8", errors="replace")  # the name of the program may be in any encoding
        line = next(line for line in text.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    try:
        import resource
    except ModuleNotFoundError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def row_of(method: str, facts: Row, measured: Row) -> Row:
    """Put a measurement of a method into a row, with facts about what it was measured on, and where."""
    seconds, peak = round(measured["seconds"], 4), measured["peak_mib"]
    told = {name: measured[name] for name in COLUMNS if name in measured}
    told |= {"seconds": seconds, "peak_mib": "" if peak is None else round(peak)}
    return {**EMPTY_ROW, "method": method, **facts, **told, **_environment()}


def _environment() -> Row:
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("ipforest", "numpy", "numba", "highspy")},
    }
