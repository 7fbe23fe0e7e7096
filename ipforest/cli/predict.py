"""The command ``predict``: a model of ``fit``, or any budgeted model, on a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest.cli.fit import MODEL_FILE
from ipforest.cli.options import DONE, Arguments, Subparsers, add_command

if TYPE_CHECKING:
    import pandas as pd


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands, "predict", run, "Predict the rows of a table with a saved model; say what each row pays."
    )
    command.add_argument("--model", required=True, metavar="DIR", help="folder of `ipforest fit`, or a model file")
    command.add_argument("--csv", required=True, metavar="FILE", help="table with the columns of training, by name")
    command.add_argument("--out", metavar="FILE", help="CSV to write (default: print it)")


def run(options: Arguments) -> int:
    """Predict every row; further columns of the table are passed over."""
    from sklearn.pipeline import Pipeline

    from ipforest._files import write_text
    from ipforest._records import records_to_csv
    from ipforest.model_files import load_model

    path = Path(options.model)
    model = load_model(path / MODEL_FILE if path.is_dir() else path)
    X = _examples(options.csv, model)
    pruned, table = (model[-1], model[:-1].transform(X)) if isinstance(model, Pipeline) else (model, X)
    costs = pruned.cost(table)
    answers: dict[str, Any] = {"prediction": pruned.predict(table), "cost": costs}
    if hasattr(pruned, "predict_proba"):
        answers["probability"] = pruned.predict_proba(table).max(axis=1)
    columns = {name: values.tolist() for name, values in answers.items()}
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if options.json:
        print(json.dumps(records))
        return DONE
    text = records_to_csv(records)
    if options.out is None:
        sys.stdout.write(text)
    else:
        write_text(options.out, text)
        print(f"Wrote {len(records)} predictions to {options.out}; the mean cost per example is {costs.mean():.4g}.")
    return DONE


def _examples(path: str, model: Any) -> pd.DataFrame:
    """Read the columns that the model was trained on, as numbers where it saw numbers."""
    from ipforest.tables import read_cells, select_columns, to_numbers

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("--model: expected a model that was fitted to named columns, got one without names")
    table = select_columns(read_cells(path), list(names), path).copy()
    words = encoded_columns(model)
    for name in table:
        if name not in words:
            table[name] = to_numbers(table[name], path)
    return table


def encoded_columns(model: Any) -> set[str]:
    """Return which columns go through the one-hot encoder of ``fit``."""
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return set()
    return {name for encoder, _, names in model[0].transformers_ if encoder == "onehotencoder" for name in names}
