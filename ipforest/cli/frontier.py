"""The command ``frontier``: error against average cost, everything people use compared with what is here."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest.cli.exit_codes import DONE
from ipforest.cli.learning_table import add_table_options, read_table
from ipforest.cli.options import Arguments, Parser, progress_of, warnings_as_notes

if TYPE_CHECKING:
    from ipforest.datasets import Dataset

DESCRIPTION = (
    "Compare methods on data sets by one protocol: train, validation and test parts per seed, everything chosen on "
    "validation. Goes on where an earlier run in the same folder stopped; writes CSV, JSON and PNG. With --csv and "
    "--target, on your own table."
)


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument("data", nargs="*", metavar="DATA", help="data sets: bundled, or files of $IPFOREST_DATA")
    add_table_options(command, required=False)
    command.set_defaults(class_costs=None)
    command.add_list(
        "--methods",
        "NAME",
        "such as 'BudgetForest' 'k best, forest' (default: all installed); FILE.py:NAME is what a file defines, a "
        "function of a task or an estimator with a frontier: the file is run",
    )
    command.add_argument(
        "--ablation",
        action="store_true",
        help="ablation of BudgetBoost and BudgetForest: one component removed at a time",
    )
    command.add_number("--seeds", 5, "seeds")
    command.add_seed("first seed")
    command.add_number(
        "--trees",
        100,
        "trees of the forests of methods that are not ours; boosting has at most four times as many rounds",
        metavar="T",
    )
    command.add_number("--rows", 15_000, "examples to train on at most, and half as many to choose on")
    command.add_number("--jobs", 1, "runs (a method, a data set and a seed) at once")
    command.add_argument("--page", metavar="FILE", help="write what was found as a page in Markdown, too")
    command.add_folder("where the files go (default: frontier)", "frontier")


def run(options: Arguments) -> int:
    """Run the comparison, print its table, write its files."""
    from ipforest._internal.records import records_to_text
    from ipforest.experiments.experiment import reproduce
    from ipforest.experiments.frontier import ABLATIONS, frontier_experiment
    from ipforest.experiments.frontier_page import require_comparison
    from ipforest.experiments.frontier_summary import (
        ERROR_OF_CLASSES,
        ERROR_OF_NUMBERS,
        REFERENCES,
        losses,
        mean_ranks,
        sets_left_out,
    )
    from ipforest.experiments.methods import OURS
    from ipforest.testing.subjects import find_methods

    methods, of_files = (None, {}) if options.methods is None else find_methods(options.methods)
    methods = list(ABLATIONS) if options.ablation else methods
    if options.page is not None and methods is not None:
        require_comparison({*methods})
    own = [] if options.csv is None else [_own_table(options)]
    measure = ERROR_OF_NUMBERS if any(data.is_regression for data in own) else ERROR_OF_CLASSES
    if not options.data and not own:
        raise ValueError("DATA: expected names of data sets, or a table of your own by --csv and --target, got neither")
    experiment = frontier_experiment(
        [*options.data, *own], methods, options.seeds, options.trees, options.rows, of_files
    )
    with progress_of(options) as progress:
        result = reproduce(experiment, options.out, seed=options.seed, n_jobs=options.jobs, progress=progress)
    paths = [*result.write(Path(options.out)), *_write_page(options, result.rows)]
    if options.json:
        print(result.to_json())
        return DONE
    for data in dict.fromkeys(row["data"] for row in result.rows):
        rows = [row for row in result.rows if row["data"] == data]
        print(f"{_title(data)}: {measure}\n{records_to_text(_pivot(rows, _error))}\n")
        compared = [row for row in rows if row["method"] != "best of others" and row["difference"] is not None]
        if compared:
            print(
                f"{_title(data)}: less the best of others, points\n{records_to_text(_pivot(compared, _difference))}\n"
            )
    behind = [
        {"method": method, "reference": reference} | losses(result.rows, method, prefix)
        for method in (*OURS, "best of ours")
        for prefix, reference in REFERENCES.items()
        if options.seeds > 1 and {method, reference} <= {row["method"] for row in result.rows}
    ]
    if behind:
        print(f"Budgets at which ours are behind\n{records_to_text(behind)}\n")
    left_out = sets_left_out(result.rows)
    if left_out is not None:
        print(f"{left_out}.\n")
    ranks = mean_ranks(result.rows)
    if ranks is not None:
        print(f"{ranks}; that all are alike has p = {ranks.p_value:.2g}.")
    print(f"Wrote {', '.join(str(path) for path in paths)}.")
    return DONE


def _write_page(options: Arguments, rows: list[dict[str, Any]]) -> list[Path]:
    """Write the page of ``--page``, and say where."""
    from ipforest._internal.files import write_text
    from ipforest.experiments.frontier_page import frontier_page

    if options.page is None:
        return []
    names = ("csv", "target", "prices", "rows", "trees", "seed", "seeds")
    settings = [(f"--{name}", str(getattr(options, name))) for name in names if getattr(options, name) is not None]
    words = [*options.data, *(word for pair in settings for word in pair)]
    command = f"ipforest frontier {shlex.join(words)}"
    write_text(Path(options.page), frontier_page(rows, "The frontier, measured", command, datetime.now(UTC).date()))
    return [Path(options.page)]


def _own_table(options: Arguments) -> Dataset:
    """Read the table of ``--csv``; words become one-hot columns, bought together."""
    import numpy as np

    from ipforest.datasets import Dataset
    from ipforest.tabular.word_columns import one_hot, text_columns

    if options.target is None:
        raise ValueError("--target: expected the column to predict, with --csv, got none")
    with warnings_as_notes():
        X, y, _, costs = read_table(options)
    if text_columns(X):
        _, X, costs = one_hot(X, costs)
    if options.regression:
        target, classes = y.to_numpy(dtype=np.float64), np.empty(0)
    else:
        classes, target = np.unique(y.to_numpy(dtype=str), return_inverse=True)
    return Dataset(
        name=Path(options.csv).stem,
        X=X.to_numpy(dtype=np.float64),
        y=target,
        feature_names=tuple(map(str, X.columns)),
        class_names=tuple(map(str, classes)),
        costs=costs,
        currency="prices",
        split=None,
    )


def _title(data: str) -> str:
    return "mean over data sets" if data == "all" else f"{data}, within budgets"


def _pivot(rows: list[dict[str, Any]], tell: Callable[[dict[str, Any]], dict[str, str]]) -> list[dict[str, str]]:
    """Make a line per method and a column per budget."""
    table: dict[str, dict[str, str]] = {}
    for row in rows:
        line = table.setdefault(row["method"], {"method": row["method"]})
        line |= tell(row)
    return list(table.values())


def _error(row: dict[str, Any]) -> dict[str, str]:
    spread = {"± se": f"{row['error_se']:.1f}"} if row["seeds"] > 1 else {}
    about_area = {**spread, "rank": f"{row['rank']:.1f}", "CPU s": f"{row['seconds']:.1f}"}
    return {_told(row["budget"]): f"{row['error']:.1f}"} | (about_area if row["budget"] == "area" else {})


def _difference(row: dict[str, Any]) -> dict[str, str]:
    def told(name: str, digits: int) -> str:
        spread = f" ± {row[f'{name}_se']:.{digits}f}" if row["seeds"] > 1 else ""
        return f"{row[name]:+.{digits}f}{spread}"

    about_area = {"area, %": told("relative", 0)} if row["budget"] == "area" else {}
    return {_told(row["budget"]): told("difference", 1)} | about_area


def _told(budget: object) -> str:
    return f"{budget:g}" if isinstance(budget, float) else str(budget)
