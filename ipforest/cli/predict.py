"""The command ``predict``: a model of ``fit``, or any budgeted model, on a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ipforest.cli.options import DONE, Arguments, Subparsers, add_command, add_pickle_option
from ipforest.cli.saved_models import known_words, read_model, some_of, using

if TYPE_CHECKING:
    import pandas as pd


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands, "predict", run, "Predict the rows of a table with a saved model; say what each row pays."
    )
    command.add_argument("--model", required=True, metavar="DIR", help="folder of `ipforest fit`, or a model file")
    add_pickle_option(command)
    command.add_argument("--csv", required=True, metavar="FILE", help="table with the columns of training, by name")
    command.add_argument("--out", metavar="FILE", help="CSV to write (default: print it)")


def run(options: Arguments) -> int:
    """Predict every row; further columns of the table are passed over."""
    from ipforest._files import write_text
    from ipforest._records import records_to_csv

    model, buyer = read_model(options.model, allow_pickle=options.allow_pickle)
    X = _examples(options.csv, model)
    with using(options.model):
        table = X if model is buyer else model[:-1].transform(X)
        costs = buyer.cost(table)
        answers: dict[str, Any] = {"prediction": buyer.predict(table), "cost": costs}
        if hasattr(buyer, "predict_proba"):
            answers["probability"] = buyer.predict_proba(table).max(axis=1)
    columns = {name: values.tolist() for name, values in answers.items()}
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if options.out is not None:
        write_text(options.out, records_to_csv(records))
    if options.json:
        print(json.dumps(records))
    elif options.out is None:
        sys.stdout.write(records_to_csv(records))
    else:
        print(f"Wrote {len(records)} predictions to {options.out}; the mean cost per example is {costs.mean():.4g}.")
    return DONE


def _examples(path: str, model: Any) -> pd.DataFrame:
    """Read the columns that the model was trained on: text where it saw text, else numbers."""
    from ipforest.tables import read_cells, select_columns, to_numbers, to_words

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("--model: expected a model that was fitted to named columns, got one without names")
    table = select_columns(read_cells(path), list(names), path).copy()
    words = known_words(model)
    for name in table:
        if name in words:
            cells = to_words(table[name])
            _note_unknown(cells, words[name], path)
            table[name] = cells.map(lambda cell, seen=words[name]: seen.get(cell, cell))
        else:
            table[name] = to_numbers(table[name], path)
    return table


def _note_unknown(column: pd.Series, words: Collection[str], path: str) -> None:
    """Say on standard error which words of a column training has not seen."""
    unknown = column[~column.isin([*words, ""])]
    if unknown.size:
        print(
            f"ipforest: note: {path}, column {column.name}: {unknown.size} of {column.size} rows have words that "
            f"training has not seen, such as {unknown.iloc[0]!r} in line {unknown.index[0]}; "
            f"it has seen {some_of(words)}",
            file=sys.stderr,
        )
