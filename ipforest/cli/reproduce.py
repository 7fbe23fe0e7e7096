"""The command ``reproduce``: a table or figure of a paper, redone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser, positive_integer

if TYPE_CHECKING:
    from ipforest.experiments.experiment import Experiment

CONNECTION_SECONDS = 10
"""How long a cluster may take to answer."""

DESCRIPTION = (
    "Redo a table or figure of a paper, its figures with ours, or an experiment of this package; write CSV, JSON "
    "and PNG, and go on where an earlier run in the same folder stopped."
)


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument("name", nargs="?", metavar="NAME", help="PAPER/PART, as --list shows them")
    command.add_argument("--list", action="store_true", help="list the experiments, and what of each is done")
    command.add_argument(
        "--page", metavar="FILE", help="write the page of all tables and figures of the papers, from committed records"
    )
    command.add_argument(
        "--records",
        default="notebooks/results",
        metavar="DIR",
        help="the committed records of --page (default: notebooks/results)",
    )
    command.add_argument("--quick", action="store_true", help="small sizes and few runs: a few minutes")
    command.add_seed("first seed")
    command.add_argument(
        "--settings",
        default="ours",
        metavar="S",
        help="of the methods: printed (as the paper says), authors (as its authors ran it) or ours, as far as --list "
        "shows them (default: ours)",
    )
    command.add_number("--jobs", 1, "runs at once")
    command.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="scheduler of a Dask cluster, host:port; its workers do the runs, and read data from the folder that "
        "IPFOREST_DATA names for them",
    )
    command.add_argument(
        "--minutes",
        type=positive_integer,
        metavar="N",
        help="begin no run after N minutes; the table is of the finished ones",
    )
    command.add_folder("where the files go (default: reproduced)", "reproduced")


def run(options: Arguments) -> int:
    """Run the experiment, print its table, write its files."""
    from ipforest._internal.progress import progress_bar
    from ipforest._internal.records import records_to_text
    from ipforest.experiments import catalogue
    from ipforest.experiments.experiment import reproduce

    if options.list:
        return _list(options)
    if options.page is not None:
        return _write_page(options)
    if options.name is None:
        raise ValueError(f"NAME: expected one of {', '.join(catalogue.names())}, --list or --page, got none")
    experiment = catalogue.find(options.name)
    directory = Path(options.out)
    with (
        _cluster(options.dask) as n_jobs,
        progress_bar(f"ipforest reproduce {options.name}", visible=not options.json) as progress,
    ):
        result = reproduce(
            experiment,
            directory,
            quick=options.quick,
            seed=options.seed,
            settings=options.settings,
            n_jobs=n_jobs or options.jobs,
            minutes=options.minutes,
            progress=progress,
        )
    paths = result.write(directory)
    if options.json:
        print(result.to_json())
        return DONE
    rows = [{key: _short(value) for key, value in row.items()} for row in result.rows]
    print(f"{result.experiment.title}\n\n{records_to_text(rows)}\n")
    if result.unfinished:
        print(f"{result.unfinished} runs are not finished: the same command goes on with them.")
    print(f"Source: {result.experiment.source}. Where the protocol is not the paper's:")
    for difference in result.differences:
        print(f"- {difference}")
    print(f"Wrote {', '.join(str(path) for path in paths)}.")
    return DONE


@contextmanager
def _cluster(address: str | None) -> Iterator[int | None]:
    """Send the cells of the block to a Dask cluster, as many at once as it has threads; without an address, nowhere."""
    if address is None:
        yield None
        return
    import joblib

    try:
        from distributed import Client
    except ImportError as problem:
        raise ImportError(
            f"--dask: expected the package distributed (pip install dask distributed), got: {problem}"
        ) from None
    try:
        client = Client(address, timeout=CONNECTION_SECONDS)
    except (OSError, ValueError) as problem:
        raise ValueError(
            f"--dask: expected the address of a scheduler, host:port, got {address!r} ({problem})"
        ) from None
    with client, joblib.parallel_config(backend="dask"):
        yield sum(client.nthreads().values())


def _list(options: Arguments) -> int:
    """Say of each experiment how many of its cells are done, what it takes, and where it is printed."""
    from ipforest._internal.records import records_to_text
    from ipforest.experiments import catalogue
    from ipforest.experiments.experiment import OURS
    from ipforest.experiments.paper_data import available

    rows = []
    for experiment in map(catalogue.find, catalogue.names()):
        settings = options.settings if options.settings in experiment.settings else OURS
        cells = experiment.cells_of(settings, quick=options.quick, seed=options.seed)
        done = [file for file in experiment.files(options.out, cells) if file.exists()]
        rows.append(
            {
                "name": experiment.name,
                "done": f"{len(done)}/{len(cells)}" if cells else "no data",
                "settings": ", ".join(experiment.settings),
                "minutes": _minutes(experiment, done, len(cells)),
                "data": ", ".join(f"{name}{'' if available(name) else ' (missing)'}" for name in experiment.data),
                "title": experiment.title,
                "source": experiment.source,
            }
        )
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print(records_to_text(rows))
    return DONE


def _write_page(options: Arguments) -> int:
    """Write the page of reproduction."""
    from ipforest._internal.files import write_text
    from ipforest.experiments.page import make_page

    write_text(Path(options.page), make_page(options.records))
    print(json.dumps({"written": options.page}) if options.json else f"Wrote {options.page}.")
    return DONE


def _minutes(experiment: Experiment, done: list[Path], n_cells: int) -> str:
    """Say how many CPU minutes all cells take: measured on those that are done, or estimated (~) at full size."""
    from ipforest.experiments.experiment import read_cell

    if done:
        return f"{n_cells * sum(read_cell(file)['seconds'] for file in done) / len(done) / 60:.2g}"
    return "" if experiment.minutes is None else f"~{experiment.minutes:g}"


def _short(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value
