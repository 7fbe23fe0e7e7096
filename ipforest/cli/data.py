"""The command ``data``: which data sets are there, where the others are to be had, and how they are taken in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser

DESCRIPTION = (
    "List the data sets that experiments use, and where those that are missing are to be had; with NAME and FILE, "
    "take one in as its publisher distributes it; with --prices, write Turney's test costs as a price list."
)


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument("name", nargs="?", metavar="NAME", help="a data set of the list that is to be taken in")
    command.add_argument("file", nargs="?", metavar="FILE", help="its file, archive or folder, as distributed")
    command.add_argument("--folder", metavar="DIR", help="the data folder (default: that of IPFOREST_DATA)")
    command.add_argument("--prices", metavar="FILE", help="NAME.cost; the other files next to it are read, too")
    command.add_argument("--out", metavar="CSV", help="where --prices writes the price list")


def run(options: Arguments) -> int:
    """List data sets, or take one in."""
    if options.prices is not None:
        return _write_prices(options)
    if options.name is None:
        return _list(options)
    from ipforest.datasets import DATA_VARIABLE
    from ipforest.datasets.distributed import import_data

    if options.file is None:
        raise ValueError(f"FILE: expected the file, archive or folder of {options.name}, got none")
    folder = options.folder or os.environ.get(DATA_VARIABLE)
    if not folder:
        raise ValueError(f"--folder: expected the data folder, here or in {DATA_VARIABLE}, got neither")
    written = import_data(options.name, options.file, folder)
    print(json.dumps({"written": str(written)}) if options.json else f"Wrote {written}.")
    return DONE


def _list(options: Arguments) -> int:
    from ipforest import datasets
    from ipforest._internal.records import records_to_text
    from ipforest.datasets.distributed import SOURCES

    rows: list[dict[str, Any]] = []
    there = datasets.names()
    for name in [*there, *(name for name in SOURCES if name not in there)]:
        source = SOURCES.get(name)
        if name in there:
            data = datasets.load(name)
            rows.append({"name": name, "examples": data.X.shape[0], "features": data.X.shape[1], "origin": "here"})
        elif source is not None:
            origin = f"{source.files} from {source.origin}"
            rows.append({"name": name, "examples": "", "features": "", "origin": origin})
    print(json.dumps(rows, indent=1) if options.json else records_to_text(rows))
    return DONE


def _write_prices(options: Arguments) -> int:
    from ipforest._internal.files import write_text
    from ipforest._internal.records import records_to_csv
    from ipforest.datasets.turney import read_test_costs

    if options.out is None:
        raise ValueError("--out: expected the CSV file to write, got none")
    rows = read_test_costs(options.prices)
    write_text(Path(options.out), records_to_csv(rows))
    print(json.dumps(rows, indent=1) if options.json else f"Wrote the prices of {len(rows)} tests to {options.out}.")
    return DONE
