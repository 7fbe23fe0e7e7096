"""The command ``predict``: a model of ``fit``, or any budgeted model, on a table."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest._internal.words import some_of
from ipforest.cli.options import (
    DONE,
    Arguments,
    Subparsers,
    add_command,
    add_format_options,
    add_pickle_option,
    print_note,
    table_format,
    warnings_as_notes,
)
from ipforest.cli.saved_models import known_words, read_model, using

if TYPE_CHECKING:
    import pandas as pd

    from ipforest.tabular.tables import CsvFormat

ROWS_AT_ONCE = 1 << 14
"""Rows that are predicted and written together: a table of any length takes the memory of its cells, and no more."""


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands, "predict", run, "Predict the rows of a table with a saved model; say what each row pays."
    )
    command.add_argument("--model", required=True, metavar="DIR", help="folder of `ipforest fit`, or a model file")
    add_pickle_option(command)
    command.add_argument(
        "--csv",
        required=True,
        metavar="FILE",
        help="table with the columns of training, by name; those that the model never buys may be left out",
    )
    command.add_argument("--id", metavar="COLUMN", help="column of the table to write with each prediction")
    command.add_argument("--out", metavar="FILE", help="CSV to write (default: print it)")
    add_format_options(command)


def run(options: Arguments) -> int:
    """Predict every row; further columns of the table are passed over."""
    from ipforest._internal.files import write_file
    from ipforest._internal.records import csv_lines
    from ipforest.tabular.tables import read_cells

    model, buyer = read_model(options.model, allow_pickle=options.allow_pickle)
    form = table_format(options)
    with warnings_as_notes():
        cells = read_cells(options.csv, form=form)
        ids = None if options.id is None else _ids(cells, options)
        X = examples_of(cells, options.csv, model, buyer, form)
        del cells
    costs = list[float]()
    records = _records(options, model, buyer, X, ids, costs)
    if options.json:
        records = _printed(records)
    if options.out is not None:
        write_file(options.out, lambda file: _write(csv_lines(records), file))
    elif options.json:
        deque(records, maxlen=0)
    else:
        sys.stdout.writelines(csv_lines(records))
    if options.out is not None and not options.json:
        print(f"Wrote {len(X)} predictions to {options.out}; the mean cost per example is {sum(costs) / len(X):.4g}.")
    return DONE


def _printed(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Print records as JSON as they pass."""
    for place, record in enumerate(records):
        sys.stdout.write(f"{', ' if place else '['}{json.dumps(record)}")
        yield record
    print("]")


def _write(lines: Iterable[str], file: Path) -> None:
    with file.open("w", encoding="utf-8") as opened:
        opened.writelines(lines)


def _records(
    options: Arguments, model: Any, buyer: Any, X: pd.DataFrame, ids: pd.Series | None, costs: list[float]
) -> Iterator[dict[str, Any]]:
    """Predict some rows at a time, in one pass, and give what is written of each; `costs` receives sums of blocks."""
    for start in range(0, len(X), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        with using(options.model):
            table = X.iloc[some] if model is buyer else model[:-1].transform(X.iloc[some])
            predicted, chances, paid, _ = buyer.answers(table)
            named = {} if ids is None else {options.id: ids.iloc[some]}
            answers: dict[str, Any] = {**named, "prediction": predicted, "cost": paid}
            if chances is not None:
                answers["probability"] = chances.max(axis=1)
                labels = enumerate(buyer.classes_.tolist())
                answers |= {f"probability_{label}": chances[:, place] for place, label in labels}
        costs.append(float(paid.sum()))
        for row in zip(*(values.tolist() for values in answers.values()), strict=True):
            yield dict(zip(answers, row, strict=True))


def _ids(cells: pd.DataFrame, options: Arguments) -> pd.Series:
    """Take the column that tells the rows apart."""
    from ipforest.tabular.name_matching import closest, matched_names

    if options.id in ("prediction", "cost") or options.id.startswith("probability"):
        raise ValueError(f"--id: expected a column of another name than those that are written, got {options.id!r}")
    found = matched_names([options.id], cells.columns)
    if options.id not in found:
        raise ValueError(
            f"--id: expected a column of {options.csv}, got {options.id!r}{closest(options.id, cells.columns)}"
        )
    return cells[found[options.id]]


def examples_of(cells: pd.DataFrame, path: str, model: Any, buyer: Any, form: CsvFormat) -> pd.DataFrame:
    """Take the columns that the model was trained on: text where it saw text, else numbers.

    A column that the model never buys may be absent; it is missing then, or 0 where the model takes nothing missing.
    """
    import pandas as pd
    from sklearn.utils import get_tags

    from ipforest.tabular.name_matching import matched_names
    from ipforest.tabular.tables import numbers_of, select_columns, to_words

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("--model: expected a model that was fitted to named columns, got one without names")
    absent = set(names) - matched_names(names, cells.columns).keys()
    if absent:
        absent -= _wanted(model, buyer)
    if absent:
        print_note(f"{path}: no column {', '.join(sorted(absent))}, which the model never buys")
    table = select_columns(cells, [name for name in names if name not in absent], path)
    words = known_words(model)
    parts = [numbers_of(table[[name for name in table if name not in words]], path, form, of_features=True)]
    for name in words.keys() - absent:
        column = to_words(table[name])
        _note_unknown(column, words[name], path)
        parts.append(column.map(lambda cell, seen=words[name]: seen.get(cell, cell)))
    nothing = float("nan") if get_tags(buyer).input_tags.allow_nan else 0.0
    parts += [pd.Series("" if name in words else nothing, table.index, name=name) for name in absent]
    return pd.concat(parts, axis=1)[list(names)]


def _wanted(model: Any, buyer: Any) -> set[str]:
    """Find the columns of the table that predictions may need: all, where columns are computed from several."""
    from ipforest.tabular.preprocessing import input_columns

    names = [str(name) for name in model.feature_names_in_]
    features = buyer.policy().features
    if model is buyer:
        return {names[feature] for feature in features.tolist()}
    inputs = input_columns(model[:-1], len(names))[features]
    return {names[column] for column in inputs.indices.tolist()}


def _note_unknown(column: pd.Series, words: Collection[str], path: str) -> None:
    """Say on standard error which words of a column training has not seen."""
    unknown = column[~column.isin([*words, ""])]
    if unknown.size:
        print_note(
            f"{path}, column {column.name}: {unknown.size} of {column.size} rows have words that training has not "
            f"seen, such as {unknown.iloc[0]!r} in line {unknown.index[0]}; it has seen {some_of(words)}"
        )
