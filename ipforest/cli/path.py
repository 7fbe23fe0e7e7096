"""The command ``path``: error and cost for every lambda."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from ipforest._internal.words import plain
from ipforest.cli.exit_codes import DONE, INTERRUPTED
from ipforest.cli.options import (
    Arguments,
    Parser,
    exact_number,
    new_table,
    out_directory,
    plain_console,
    print_note,
    print_notes,
    progress_of,
    read_problem,
)

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.path import PruningPath
    from ipforest.path_search import PathSearch

UNFINISHED = "path.unfinished.npz"
"""The search on disk while it runs: the command goes on from it."""

LARGE = 1e6
"""Errors and costs from here on, as squared errors may be, are written without decimal places."""

DESCRIPTION = (
    "Compute error and cost of the optimal prunings for every lambda. With --out, a command that was interrupted "
    "or killed goes on where it stopped when it is run again."
)


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_problem_options()
    command.add_argument("--budget", metavar="B", help="also report the best pruning with this average cost")
    command.add_number("--rows", 15, "rows of the table printed")
    command.add_out_option("path.png, path.csv, path.json and path.cert (the certificate of all breakpoints)")


def run(options: Arguments) -> int:
    """Compute, print and plot one path."""
    from ipforest._internal.files import write_figure, write_text
    from ipforest.path_search import PathSearch
    from ipforest.plotting import TradeoffDisplay
    from proofs.certificates.path_file import write_path_certificate

    budget, directory = exact_number(options.budget, "budget"), out_directory(options)
    problem = read_problem(options)
    print_notes(problem)
    instance = problem.instance
    file = None if directory is None else directory / UNFINISHED
    search = PathSearch(instance) if file is None or not file.exists() else _resumed(file, instance)
    with progress_of(options) as progress, suppress(KeyboardInterrupt):
        if file is None:
            search.run(progress)
        else:
            search.run_saved(file, progress)
    path = search.path()  # of an interrupted search, what it found
    best = None if budget is None else path.at_budget(budget)
    code = DONE if path.is_complete else INTERRUPTED
    if directory is not None:
        write_text(directory / "path.csv", path.to_csv())
        write_text(directory / "path.json", path.to_json())
        write_figure(directory / "path.png", TradeoffDisplay.from_path(path, budget=budget).figure_)
        if path.is_complete:  # a coarse path has no flow to certify it
            write_path_certificate(directory / "path.cert", path, problem.origin())
            (directory / UNFINISHED).unlink(missing_ok=True)
        elif file is not None and file.exists():
            print(f"ipforest: interrupted; the same command goes on from {directory / UNFINISHED}", file=sys.stderr)
    if options.json:
        within = {} if best is None else {"within_budget": best.to_dict()}
        print(json.dumps({**json.loads(path.to_json()), **within}))
        return code
    console = plain_console()
    console.print(f"{problem.forest!r}\n{instance!r}\n{path.summary()}", soft_wrap=True)
    console.print(_path_table(path, options.rows, problem.currency))
    if best is not None:
        console.print(best.summary(), soft_wrap=True)
    return code


def _resumed(file: Path, instance: PruningInstance) -> PathSearch:
    """Take up a search that was interrupted or killed, and say so."""
    from ipforest.path_search import PathSearch

    search = PathSearch.load(file, instance)
    print_note(f"goes on from {file}, where {search.n_found} breakpoints are found")
    return search


def _path_table(path: PruningPath, n_rows: int, currency: str) -> Table:
    headings = ("from lambda", "to lambda", "error", "cost", "internal nodes")
    table = new_table(f"Optimal prunings; cost in {currency} per example", *headings)
    ends = [0.0, *map(float, path.breakpoints), inf]
    step = max(1, len(path.errors) / n_rows)
    for index in sorted({round(place * step) for place in range(n_rows)} | {len(path.errors) - 1}):
        if index < len(path.errors):
            table.add_row(
                plain(ends[index]),
                plain(ends[index + 1]),
                _shown(float(path.errors[index])),
                _shown(float(path.costs[index])),
                str(path.pruning_at(index).n_kept),
            )
    return table


def _shown(value: float) -> str:
    """Write an error or a cost; a large one with four places would be folded."""
    return f"{value:.4f}" if value < LARGE else plain(value, 6)
