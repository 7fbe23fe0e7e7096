"""The command ``report``: one page about a saved model on a table of examples that it has not seen."""

from __future__ import annotations

import json
import math
from pathlib import Path

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser, add_format_options, nonnegative_integer
from ipforest.cli.saved_models import add_examples_option, add_model_options, read_labelled, read_model, using

DESCRIPTION = (
    "Measure a saved model on a table of examples that it has not seen: error, AUC, log loss, calibration and cost "
    "with bootstrap intervals, what is bought for which class, and in how many rounds."
)


def add(command: Parser) -> None:
    """Describe its options."""
    add_model_options(command)
    add_examples_option(command)
    command.add_argument("--target", required=True, metavar="COLUMN", help="column that holds what is true")
    command.add_argument("--out", metavar="FILE", help=".html to write, in addition to what is printed")
    command.add_list(
        "--scoring",
        "NAME",
        "further measures: scikit-learn scorers, or sensitivity_at=0.9, at a specificity of 0.9",
        [],
    )
    command.add_argument(
        "--resamples",
        type=nonnegative_integer,
        default=999,
        metavar="N",
        help="bootstrap drawings (default: 999; 0 for none)",
    )
    command.add_seed("seed of the bootstrap")
    add_format_options(command)


def run(options: Arguments) -> int:
    """Read the model and the table, measure, print, and write the page."""
    from ipforest.choosing.measures import read_scoring
    from ipforest.reporting import report

    if options.out is not None and Path(options.out).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out: expected a file that ends in .html, got {options.out}")
    for name in options.scoring:
        read_scoring(name)
    model = read_model(options)
    X, y = read_labelled(options, model)
    with using(options.model):
        settings = {"scoring": options.scoring, "n_resamples": options.resamples, "random_state": options.seed}
        page = report(model.whole, X, y, **settings)
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
