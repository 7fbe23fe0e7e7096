"""The command ``report``: one page about a saved model on a table of examples that it has not seen."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from ipforest.cli.options import (
    DONE,
    Arguments,
    Subparsers,
    add_command,
    add_format_options,
    add_pickle_option,
    seed_number,
    table_format,
    warnings_as_notes,
)
from ipforest.cli.predict import examples_of
from ipforest.cli.saved_models import read_model, using

if TYPE_CHECKING:
    import pandas as pd

    from ipforest.tabular.tables import CsvFormat


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "report",
        run,
        "Measure a saved model on a table of examples that it has not seen: error, AUC, log loss, calibration and cost "
        "with bootstrap intervals, what is bought for which class, and in how many rounds.",
    )
    command.add_argument("--model", required=True, metavar="DIR", help="folder of `ipforest fit`, or a model file")
    add_pickle_option(command)
    command.add_argument(
        "--csv", "--data", required=True, metavar="FILE", help="table with the columns of training, by name"
    )
    command.add_argument("--target", required=True, metavar="COLUMN", help="column that holds what is true")
    command.add_argument("--out", metavar="FILE", help="HTML to write, in addition to what is printed")
    command.add_argument(
        "--scoring",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="further measures: scikit-learn scorers, or sensitivity_at=0.9",
    )
    command.add_argument(
        "--resamples", type=seed_number, default=999, metavar="N", help="bootstrap drawings (default: 999; 0 for none)"
    )
    command.add_argument("--seed", type=seed_number, default=0, help="seed of the bootstrap (default: 0)")
    add_format_options(command)


def run(options: Arguments) -> int:
    """Read the model and the table, measure, print, and write the page."""
    from ipforest.choosing.measures import read_scoring
    from ipforest.reporting import report
    from ipforest.tabular.tables import read_cells

    for name in options.scoring:
        read_scoring(name)
    model, buyer = read_model(options.model, allow_pickle=options.allow_pickle)
    form = table_format(options)
    with warnings_as_notes():
        cells = read_cells(options.csv, form=form)
        y = _target(cells, options, buyer, form)
        X = examples_of(cells, options.csv, model, buyer, form)
    with using(options.model):
        page = report(model, X, y, scoring=options.scoring, n_resamples=options.resamples, random_state=options.seed)
    if options.out is not None:
        page.save(options.out)
    if options.json:
        measures = [
            {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
            for row in (measure._asdict() for measure in page.measures)
        ]
        print(json.dumps({"title": page.title, "facts": page.facts, "measures": measures}))
        return DONE
    print(page)
    if options.out is not None:
        print(f"\nWrote {options.out}.")
    return DONE


def _target(cells: pd.DataFrame, options: Arguments, buyer: Any, form: CsvFormat) -> Any:
    """Read what is true: numbers for regression, else the classes of the model by their names."""
    import numpy as np
    from sklearn.base import is_classifier

    from ipforest._internal.words import some_of
    from ipforest.tabular.name_matching import closest, matched_names
    from ipforest.tabular.tables import MISSING, numbers_of

    found = matched_names([options.target], cells.columns)
    if options.target not in found:
        raise ValueError(
            f"--target: expected a column of {options.csv}, got {options.target!r}"
            f"{closest(options.target, cells.columns)}"
        )
    name = found[options.target]
    target = cells[name]
    missing = target.isin(MISSING)
    if missing.any():
        raise ValueError(f"{options.csv}, column {name}, line {missing.idxmax()}: expected a target, got none")
    if not is_classifier(buyer):
        return numbers_of(cells[[name]], options.csv, form)[name].to_numpy()
    by_name = {str(label): label for label in buyer.classes_.tolist()}
    unknown = target[~target.isin([*by_name])]
    if unknown.size:
        raise ValueError(
            f"{options.csv}, column {name}, line {unknown.index[0]}: expected a class of training "
            f"({some_of(by_name)}), got {unknown.iloc[0]!r}"
        )
    return np.array([by_name[cell] for cell in target.tolist()])
