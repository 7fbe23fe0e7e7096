"""The command ``reproduce``: a table or figure of a paper, redone."""

from __future__ import annotations

import json
from pathlib import Path

from ipforest.cli.options import DONE, Arguments, Subparsers, add_command, positive_integer, seed_number


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "reproduce",
        run,
        "Redo a table or figure of a paper, its figures with ours, or an experiment of this package; write CSV, JSON "
        "and PNG, and go on where an earlier run in the same folder stopped.",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="PAPER/PART, as --list shows them")
    command.add_argument("--list", action="store_true", help="list the experiments, and what of each is done")
    command.add_argument("--quick", action="store_true", help="small sizes and few runs: a few minutes")
    command.add_argument("--seed", type=seed_number, default=0, help="first seed (default: 0)")
    command.add_argument("--jobs", type=positive_integer, default=1, metavar="N", help="cells at once (default: 1)")
    command.add_argument(
        "--minutes",
        type=positive_integer,
        metavar="N",
        help="begin no cell after N minutes; the table is of the finished ones",
    )
    command.add_argument("--out", metavar="DIR", default="reproduced", help="where the files go (default: reproduced)")


def run(options: Arguments) -> int:
    """Run the experiment, print its table, write its files."""
    from ipforest._internal.records import records_to_text
    from ipforest.experiments import catalogue
    from ipforest.experiments.experiment import reproduce
    from ipforest.progress import progress_bar

    if options.list:
        return _list(options)
    if options.name is None:
        raise ValueError(f"NAME: expected one of {', '.join(catalogue.names())}, or --list, got none")
    experiment = catalogue.find(options.name)
    directory = Path(options.out)
    with progress_bar(f"ipforest reproduce {options.name}", visible=not options.json) as progress:
        result = reproduce(
            experiment,
            directory,
            quick=options.quick,
            seed=options.seed,
            n_jobs=options.jobs,
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
        print(f"{result.unfinished} cells are not finished: the same command goes on with them.")
    print(f"Source: {result.experiment.source}. Where the protocol is not the paper's:")
    for difference in result.differences:
        print(f"- {difference}")
    print(f"Wrote {', '.join(str(path) for path in paths)}.")
    return DONE


def _list(options: Arguments) -> int:
    """Say of each experiment how many of its cells are done, and where it is printed."""
    from ipforest._internal.records import records_to_text
    from ipforest.experiments import catalogue

    rows = []
    for experiment in map(catalogue.find, catalogue.names()):
        cells = experiment.cells(options.quick, options.seed)
        done = sum(file.exists() for file in experiment.files(options.out, cells))
        state = f"{done}/{len(cells)}" if cells else "no data"
        rows.append({"name": experiment.name, "done": state, "title": experiment.title, "source": experiment.source})
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print(records_to_text(rows))
    return DONE


def _short(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value
