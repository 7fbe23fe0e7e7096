"""The command ``instances``: makes the instance library, checks it, and lets every solver solve it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, out_directory, progress_of

if TYPE_CHECKING:
    from pathlib import Path

DESCRIPTION = "The instance library: 40 problems with certified optima."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument(
        "action", choices=("make", "check", "table"), help="make the files, verify them, or try solvers"
    )
    command.add_argument("directory", metavar="DIR", help="folder of the files")
    command.add_list("--names", "NAME", "instances (default: all)")
    command.add_list(
        "--solvers",
        "NAME",
        "for the table (default: all that are there); FILE.py:NAME is a solver that a file registers or defines: the "
        "file is run",
    )
    command.add_argument(
        "--time-limit", type=float, default=10.0, metavar="S", help="seconds for each run (default: 10)"
    )
    command.add_out_option("instance-solvers.csv, the table,")


def run(options: Arguments) -> int:
    """Do one of the three; exit 1 if a checksum, a certificate or an answer is wrong."""
    from pathlib import Path

    from proofs.study.instance_library import INSTANCES

    names, directory = options.names or list(INSTANCES), Path(options.directory)
    if options.action != "make" and not directory.is_dir():
        raise ValueError(f"{directory}: expected the folder of `ipforest instances make`, got no such one")
    act = {"make": _make, "check": _check, "table": _table}[options.action]
    return DONE if act(options, directory, names) else CHECK_FAILED


def _make(options: Arguments, directory: Path, names: list[str]) -> bool:
    from proofs.study.instance_library import make

    with progress_of(options) as progress:
        others = make(directory, names, progress)
    if options.json:
        print(json.dumps({"made": names, "other_checksums": others}))
    else:
        print(f"{len(names)} instances in {directory}")
        print(f"checksums: {'all as stored' if not others else 'not as stored: ' + ', '.join(others)}")
    return not others


def _check(options: Arguments, directory: Path, names: list[str]) -> bool:
    from proofs.study.instance_library import check

    verdicts = {name: check(directory, name) for name in names}
    if options.json:
        print(json.dumps({name: [bool(verdict), verdict.reason] for name, verdict in verdicts.items()}))
    else:
        for name, verdict in verdicts.items():
            print(f"{name:12} {'accepted' if verdict else 'refused'}: {verdict.reason}")
    return all(verdicts.values())


def _table(options: Arguments, directory: Path, names: list[str]) -> bool:
    from ipforest._internal.files import write_text
    from ipforest._internal.records import records_to_csv
    from ipforest.testing.subjects import registered_solver
    from proofs.study.instance_library import solvers_on, table

    out = out_directory(options)
    solvers = None if options.solvers is None else [registered_solver(name) for name in options.solvers]
    with progress_of(options) as progress:
        runs = solvers_on(directory, names, solvers, options.time_limit, progress)
    print(json.dumps([asdict(run) for run in runs]) if options.json else table(runs))
    if out is not None:
        write_text(out / "instance-solvers.csv", records_to_csv([asdict(run) for run in runs]))
    return not any(run.wrong for run in runs)
