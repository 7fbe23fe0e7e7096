"""The command ``predict``: a model of ``fit``, or any budgeted model, on a table."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest._internal.words import plain
from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser, add_format_options, named_columns, print_note
from ipforest.cli.saved_models import add_mixture_option, add_model_options, mixed, read_model, read_rows, using

if TYPE_CHECKING:
    import pandas as pd

    from ipforest._internal.arrays import FloatArray
    from ipforest.wrappers.pipeline import Parted

ROWS_AT_ONCE = 1 << 14
"""Rows that are predicted and written together: a table of any length takes the memory of its cells, and no more."""

DESCRIPTION = "Predict the rows of a table with a saved model; say what each row pays."


def add(command: Parser) -> None:
    """Describe its options."""
    add_model_options(command)
    command.add_argument(
        "--csv",
        required=True,
        metavar="FILE",
        help="table with the columns of training, by name; those that the model never buys may be left out",
    )
    command.add_argument("--id", metavar="COLUMN", help="column of the table to write with each prediction")
    add_mixture_option(command, "which is its cell in the column of --id, else the number of its row, from 0")
    command.add_argument("--out", metavar="FILE", help="CSV to write (default: print it)")
    add_format_options(command)


def run(options: Arguments) -> int:
    """Predict every row; further columns of the table are passed over."""
    from ipforest._internal.files import write_file
    from ipforest._internal.records import csv_lines

    model = read_model(options)
    X, ids = read_rows(options, model, partial(_ids, options=options))
    if options.out is not None and Path(options.out).exists() and Path(options.out).samefile(options.csv):
        raise ValueError(f"--out: expected another file than the table, which answers would replace, got {options.out}")
    if options.mixture is not None and ids is not None and ids.duplicated().any():
        print_note(
            f"{options.csv}, column {ids.name}: {ids.nunique()} keys for {len(ids)} rows, and rows of one key "
            f"get one choice; the fewer keys, the further the mean cost may be from {options.mixture}"
        )
    costs = list[float]()
    records = _records(options, model, X, ids, costs)
    if options.json:
        records = _printed(records)
    if options.out is not None:
        write_file(options.out, lambda file: _write(csv_lines(records), file))
    elif options.json:
        deque(records, maxlen=0)
    else:
        sys.stdout.writelines(csv_lines(records))
    if options.out is not None and not options.json:
        print(
            f"Wrote {len(X)} predictions to {options.out}; the mean cost per example is {plain(sum(costs) / len(X))}."
        )
    return DONE


def _printed(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Print records as JSON as they pass."""
    for place, record in enumerate(records):
        sys.stdout.write(f"{', ' if place else '['}{json.dumps(record)}")
        yield record
    print("]")


def _write(lines: Iterable[str], file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        opened.writelines(lines)


def _records(
    options: Arguments, model: Parted, X: pd.DataFrame, ids: pd.Series | None, costs: list[float]
) -> Iterator[dict[str, Any]]:
    """Predict some rows at a time, in one pass, and give what is written of each; `costs` receives sums of blocks."""
    keys = range(len(X)) if ids is None else ids.tolist()
    coin = None if options.mixture is None else mixed(options, model.buyer)
    for start in range(0, len(X), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        with using(options.model):
            table = model.encode(X.iloc[some])
            predicted, chances, paid, _ = (
                model.buyer.answers(table) if coin is None else coin.answers(table, keys[some])
            )
            named = {} if ids is None else {options.id: ids.iloc[some]}
            answers: dict[str, Any] = {**named, "prediction": predicted, "cost": _without_noise(paid)}
            if chances is not None:
                answers["probability"] = chances.max(axis=1)
                labels = enumerate(model.buyer.classes_.tolist())
                answers |= {f"probability_{label}": chances[:, place] for place, label in labels}
        costs.append(float(paid.sum()))
        for row in zip(*(values.tolist() for values in answers.values()), strict=True):
            yield dict(zip(answers, row, strict=True))


def _without_noise(costs: FloatArray) -> FloatArray:
    """Give sums of prices without the noise of their last digits: 13.8, not 13.799999999999999."""
    import numpy as np

    return np.array([float(f"{cost:.12g}") for cost in costs])


def _ids(cells: pd.DataFrame, options: Arguments) -> pd.Series | None:
    """Take the column that tells the rows apart, if one was named."""
    if options.id is None:
        return None
    if options.id in ("prediction", "cost") or options.id.startswith("probability"):
        raise ValueError(f"--id: expected a column of another name than those that are written, got {options.id!r}")
    (name,) = named_columns(options, "--id", [options.id], cells)
    return cells[name]
