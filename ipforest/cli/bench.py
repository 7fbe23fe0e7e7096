"""The command ``bench``: seconds and memory of the exact solvers and of boosting."""

from __future__ import annotations

import json
from typing import Any

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import (
    Arguments,
    Parser,
    made_directory,
    new_table,
    plain_console,
    positive_integer,
    progress_of,
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
    "examples": "rows",
    "seconds": "CPU s",
    "wall": "s",
    "to_grid": "grid",
    "to_all_rounds": "all",
    "peak_mib": "MiB",
    "pickle_mb": "MB",
}
"""Columns of the CSV that the table shows, and their headings."""

OF_TRAINING = (
    "CPU s: of the processor, s: of the clock, MiB: most memory, MB: of a pickle. grid, all: CPU s as a share of those "
    "of the grid of 16 LightGBM models with penalties (CEGB), each ended early, or grown for all rounds."
)
SHORT_NAMES = {"LightGBM CEGB, 16 settings": "CEGB grid", "LightGBM CEGB, 16 settings, all rounds": "CEGB grid, all"}
"""What fits a line of 80 columns."""

DESCRIPTION = (
    "Measure seconds and peak memory on synthetic or fitted forests; OR-Tools on the same if "
    "$IPFOREST_ORTOOLS_PYTHON names a Python that has it."
)


def add(command: Parser) -> None:
    """Describe its options."""
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
    command.add_seed("seed of the synthetic forests")
    command.add_folder("where the CSV goes (default: the current folder)", ".")


def run(options: Arguments) -> int:
    """Measure and write a CSV."""
    from ipforest.experiments import solver_benchmarks as solvers
    from ipforest.experiments import training_benchmarks as training
    from ipforest.experiments.synthetic import CLUSTERS

    bench: Any
    sizes: Any
    bench, sizes = {
        "solvers": (solvers.bench_solvers, solvers.SMALL_SIZES),
        "path": (solvers.bench_path, solvers.GROWTH_SIZES),
        "forest": (solvers.bench_forest, solvers.FITTED_FORESTS),
        "boosting": (training.bench_boosting, training.BOOSTING_SIZES),
        "training": (training.bench_training, training.TRAINING_SETS),
    }[options.what]
    if options.size is not None and options.what == "forest":
        sizes = [
            solvers.FittedForest(CLUSTERS, 2 * n_examples, n_examples, max_features, n_trees)
            for n_trees, n_examples in options.size
            for max_features in (None, "sqrt")
        ]
    elif options.size is not None and options.what == "training":
        sizes = [training.TrainingSet(CLUSTERS, n_examples) for _, n_examples in options.size]
    elif options.size is not None:
        sizes = tuple(solvers.InstanceShape(*size) for size in options.size)
    file = made_directory(options.out) / f"{options.what}.csv"
    with progress_of(options) as progress:
        rows = bench(file, sizes, options.seed, progress)
    if options.json:
        print(json.dumps(rows))
        return DONE
    columns = TRAINING if options.what == "training" else SOLVING
    table = new_table(
        "Seconds and peak memory, each in its own process", *columns.values(), left=("method", "data", "status")
    )
    table.padding = 0, 1, 0, 0
    for row in rows:
        table.add_row(*(_shown(row[key]) for key in columns))
    plain_console().print(table)
    if options.what == "training":
        plain_console().print(OF_TRAINING)
    print(f"Wrote {file}.")
    return DONE


def _shown(value: object) -> str:
    """Write a cell: numbers with three digits that count, at least."""
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    return SHORT_NAMES.get(str(value), str(value))
