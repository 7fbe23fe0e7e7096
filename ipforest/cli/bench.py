"""The command ``bench``: seconds and memory of the exact solvers and of boosting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ipforest.cli.options import (
    DONE,
    Arguments,
    Subparsers,
    add_command,
    add_seed,
    new_table,
    out_directory,
    plain_console,
    positive_integer,
)

SOLVING = {
    "method": "method",
    "data": "data",
    "trees": "trees",
    "examples": "examples",
    "triples": "triples",
    "kept_share": "kept",
    "seconds": "seconds",
    "peak_mib": "MiB",
    "breakpoints": "breakpoints",
    "status": "status",
}
TRAINING = {
    "method": "method",
    "data": "data",
    "examples": "examples",
    "seconds": "CPU seconds",
    "wall": "seconds",
    "to_grid": "to grid",
    "to_all_rounds": "to all rounds",
    "peak_mib": "MiB",
    "pickle_mb": "pickle MB",
}
"""Columns of the CSV that the table shows, and their headings."""


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "bench",
        run,
        "Measure seconds and peak memory on synthetic or fitted forests; OR-Tools on the same if "
        "$IPFOREST_ORTOOLS_PYTHON names a Python that has it.",
    )
    command.add_argument(
        "what",
        choices=("solvers", "path", "forest", "boosting", "training"),
        help="solvers: every method at one lambda; path: the whole path over sizes; forest: the path, single lambdas "
        "and the fit of their forests on bundled, generated and stored data; boosting and training: BudgetBoost, or "
        "all of BudgetedClassifier, compared with LightGBM with penalties",
    )
    command.add_argument(
        "--size",
        nargs=2,
        type=positive_integer,
        action="append",
        metavar=("T", "N"),
        help="trees and examples, of synthetic data; may be repeated; training has no number of trees, so that T is "
        "passed over there (default: a range of sizes)",
    )
    add_seed(command, "seed of the synthetic forests")
    command.add_argument("--out", metavar="DIR", default=".", help="where the CSV goes (default: the current folder)")


def run(options: Arguments) -> int:
    """Measure and write a CSV."""
    from ipforest._internal.progress import progress_bar
    from ipforest.experiments import benchmarks

    bench: Any
    sizes: Any
    bench, sizes = {
        "solvers": (benchmarks.bench_solvers, benchmarks.SMALL_SIZES),
        "path": (benchmarks.bench_path, benchmarks.GROWTH_SIZES),
        "forest": (benchmarks.bench_forest, benchmarks.FITTED_FORESTS),
        "boosting": (benchmarks.bench_boosting, benchmarks.BOOSTING_SIZES),
        "training": (benchmarks.bench_training, benchmarks.TRAINING_SETS),
    }[options.what]
    if options.size is not None and options.what == "forest":
        sizes = [
            benchmarks.FittedForest(benchmarks.CLUSTERS, 2 * n_examples, n_examples, max_features, n_trees)
            for n_trees, n_examples in options.size
            for max_features in (None, "sqrt")
        ]
    elif options.size is not None and options.what == "training":
        sizes = [benchmarks.TrainingSet(benchmarks.CLUSTERS, n_examples) for _, n_examples in options.size]
    elif options.size is not None:
        sizes = tuple(benchmarks.InstanceShape(*size) for size in options.size)
    file = (out_directory(options) or Path()) / f"{options.what}.csv"
    with progress_bar("ipforest bench", visible=not options.json) as progress:
        rows = bench(file, sizes, options.seed, progress)
    if options.json:
        print(json.dumps(rows))
        return DONE
    columns = TRAINING if options.what == "training" else SOLVING
    table = new_table(
        "Seconds and peak memory, each in its own process", *columns.values(), left=("method", "data", "status")
    )
    for row in rows:
        table.add_row(*(str(row[key]) for key in columns))
    plain_console().print(table)
    print(f"Wrote {file}.")
    return DONE
