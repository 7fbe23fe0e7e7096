"""The command ``fit``: from a table and a price list to a model within a budget, saved for ``predict``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from fractions import Fraction
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from ipforest.cli.options import (
    DONE,
    Arguments,
    Subparsers,
    add_command,
    add_search_options,
    exact_number,
    made_directory,
    make_kernels_ready,
    new_table,
    positive_integer,
    seed_number,
)

if TYPE_CHECKING:
    import pandas as pd

    from ipforest.costs import FeatureCosts

MODEL_FILE, REPORT_FILE = "model.skops", "report.json"

PRUNED, CHOSEN = "BudgetPrune", "BudgetedClassifier"
"""The estimators: a forest that is pruned with proof, and what errs least on rows held out."""

OF_PRUNED: dict[str, Any] = {"trees": 100, "search": "exact", "time_limit": 10.0, "regression": False}
"""Options that only the first has, with their defaults."""


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "fit",
        run,
        "Train a model within a budget on a table; save it, and say what it buys and how it errs on rows held out. "
        f"{PRUNED} is a random forest, pruned optimally. {CHOSEN} grows with prices, prunes, and stops buying when "
        "sure; it mostly errs less, and takes longer. --search, --time-limit, --regression and --trees are for "
        f"{PRUNED} alone.",
    )
    command.add_argument("--csv", required=True, metavar="FILE", help="table with a header, a row per example")
    command.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    command.add_argument(
        "--drop", nargs="+", action="extend", default=[], metavar="COLUMN", help="columns to leave out, such as ids"
    )
    command.add_argument("--prices", metavar="FILE", help=".csv or .json of prices by column (default: 1 each)")
    command.add_argument("--budget", required=True, metavar="B", help="what an example may cost on average")
    command.add_argument("--out", required=True, metavar="DIR", help=f"write {MODEL_FILE} and {REPORT_FILE} there")
    command.add_argument(
        "--estimator", choices=(PRUNED, CHOSEN), default=PRUNED, help=f"what to train (default: {PRUNED})"
    )
    add_search_options(command)
    command.add_argument("--regression", action="store_true", help="predict a number, not a class")
    command.add_argument("--trees", type=positive_integer, metavar="T", help="trees of the forest (default: 100)")
    command.set_defaults(**dict.fromkeys(OF_PRUNED))
    command.add_argument(
        "--test-share", default="0.25", metavar="S", help="share of the rows held out to measure on (default: 0.25)"
    )
    command.add_argument(
        "--seed", type=seed_number, default=0, help="seed of the model and of what is held out (default: 0)"
    )


def run(options: Arguments) -> int:
    """Read, train, measure, save."""
    from sklearn.model_selection import train_test_split

    from ipforest._files import write_text
    from ipforest.model_files import save_model
    from ipforest.progress import progress_bar

    budget, share = exact_number(options.budget, "budget"), exact_number(options.test_share, "test-share")
    if share is None or not 0 < share < 1:
        raise ValueError(f"--test-share: expected a share between 0 and 1, got {options.test_share}")
    _check_options(options)
    X, y = _examples(options)
    costs = _costs(options, X)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=float(share), random_state=options.seed, stratify=None if options.regression else y
    )
    if options.regression and len(X_test) < 2:
        raise ValueError(f"--test-share: expected at least two rows held out, got {len(X_test)} of {len(X)}")
    directory = made_directory(options.out)
    make_kernels_ready(options)
    with progress_bar("ipforest fit", visible=not options.json) as progress:
        progress(0.1, f"training {options.estimator}")
        model = _fitted(options, X_train, y_train, costs, budget)
        progress(1.0, "")
    report = _report(model, X_test, y_test, list(X.columns))
    save_model(model, directory / MODEL_FILE)
    write_text(directory / REPORT_FILE, json.dumps(report, indent=1))
    if options.json:
        print(json.dumps(report))
        return DONE
    console = Console()
    console.print(_bill(report))
    console.print(_verdict(report), highlight=False, soft_wrap=True)
    console.print(f"Wrote {MODEL_FILE} and {REPORT_FILE} to {directory}.", highlight=False, soft_wrap=True)
    return DONE


def _check_options(options: Arguments) -> None:
    """Refuse options of the pruned forest for the other estimator."""
    given = [name for name in OF_PRUNED if getattr(options, name) is not None]
    if options.estimator != PRUNED and given:
        raise ValueError(f"--{given[0].replace('_', '-')}: expected it with --estimator {PRUNED} only, got {CHOSEN}")


def _examples(options: Arguments) -> tuple[pd.DataFrame, pd.Series]:
    """Read the table; columns of numbers become numbers, columns of words stay text."""
    from ipforest.tables import MISSING, is_number, read_cells, to_numbers, to_words

    cells = read_cells(options.csv)
    _check_columns(options, list(cells.columns))
    target = cells[options.target]
    missing = target.isin(MISSING)
    if missing.any():
        where = f"{options.csv}, column {options.target}, line {missing.idxmax()}"
        raise ValueError(f"{where}: expected a target, got none")
    if not options.regression:
        _check_classes(target, options)
    table = cells.drop(columns=[options.target, *options.drop])
    if table.shape[1] == 0:
        raise ValueError(f"{options.csv}: expected columns to predict from beside the target, got none")
    for name in table:
        present = table[name][~table[name].isin(MISSING)]
        holds_numbers = present.empty or present.map(is_number).any()
        table[name] = to_numbers(table[name], options.csv) if holds_numbers else to_words(table[name])
    return table, to_numbers(target, options.csv) if options.regression else target


def _check_columns(options: Arguments, columns: list[str]) -> None:
    """Refuse a target or a column to drop that is not there."""
    from ipforest.price_lists import closest

    known = shorten(", ".join(columns), 80, placeholder=" ...")
    for option, names in (("--target", [options.target]), ("--drop", options.drop)):
        for name in names:
            if name not in columns:
                raise ValueError(
                    f"{option}: expected a column of {options.csv} ({known}), got {name!r}{closest(name, columns)}"
                )


def _check_classes(target: pd.Series, options: Arguments) -> None:
    """Refuse a target of one class, and classes that cannot be both trained on and held out."""
    where = f"{options.csv}, column {options.target}"
    counts = target.value_counts()
    if len(counts) < 2:
        raise ValueError(f"{where}: expected at least two classes, got {counts.index[0]!r} in all {len(target)} rows")
    if counts.min() < 2:
        raise ValueError(f"{where}: expected at least two rows of each class, got one of {counts.idxmin()!r}")


def _costs(options: Arguments, X: pd.DataFrame) -> FeatureCosts:
    """Read the prices of the table's columns."""
    from ipforest.costs import FeatureCosts
    from ipforest.price_lists import read_prices

    names = list(X.columns)
    if options.prices is None:
        return FeatureCosts([1] * len(names), feature_names=names)
    prices = read_prices(options.prices)
    if not prices.has_names:
        note = f"{options.prices} names no features; its rows are matched to the columns by position"
        print(f"ipforest: note: {note}", file=sys.stderr)
    return prices.costs_for(names)


def _untrained(options: Arguments, costs: FeatureCosts, budget: Fraction | None) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.learners.budgeted_classifier import BudgetedClassifier

    common = {
        "feature_costs": costs,
        "budget": budget,
        "max_cost": exact_number(options.max_cost, "max-cost"),
        "random_state": options.seed,
    }
    if options.estimator == CHOSEN:
        return BudgetedClassifier(n_jobs=-1, **common)
    given = {name: getattr(options, name) for name in OF_PRUNED}
    chosen = {name: default if given[name] is None else given[name] for name, default in OF_PRUNED.items()}
    kind = RandomForestRegressor if chosen["regression"] else RandomForestClassifier
    return BudgetPrune(
        kind(chosen["trees"], random_state=options.seed, n_jobs=-1),
        search=chosen["search"],
        time_limit=chosen["time_limit"],
        validation_fraction=None,  # costs need no target, and a quarter of a small table tells them badly
        **common,
    )


def _fitted(options: Arguments, X: pd.DataFrame, y: pd.Series, costs: FeatureCosts, budget: Fraction | None) -> Any:
    """Train the estimator, behind one-hot columns where there is text; those of one feature are one purchase."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    from ipforest.preprocessing import source_columns

    model = _untrained(options, costs, budget)
    words = text_columns(X)
    if not words:
        return model.fit(X, y)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, feature_name_combiner=WordColumns())
    preprocessing = make_column_transformer((encoder, words), remainder="passthrough", verbose_feature_names_out=False)
    preprocessing.set_output(transform="pandas")
    columns = preprocessing.fit_transform(X)
    model.set_params(feature_costs=costs.for_columns(source_columns(preprocessing, X.shape[1]), list(columns)))
    return Pipeline([("preprocessing", preprocessing), ("model", model.fit(columns, y))])


class WordColumns:
    """Names one-hot columns; an object, since a file of a model holds no functions."""

    def __call__(self, column: str, word: str) -> str:
        """Name the column of a word."""
        return f"{column}={word}"


def text_columns(X: pd.DataFrame) -> list[str]:
    """List the columns that hold text."""
    return [name for name in X if X[name].dtype == object]


def _report(model: Any, X: pd.DataFrame, y: pd.Series, names: list[str]) -> dict[str, Any]:
    """Measure a model on rows held out, and beside it the same without a budget."""
    from sklearn.base import is_classifier
    from sklearn.pipeline import Pipeline

    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.purchases import purchases

    bought, columns = (model[-1], model[:-1].transform(X)) if isinstance(model, Pipeline) else (model, X)
    is_pruned = isinstance(bought, BudgetPrune)
    report = {
        "budget": str(bought.budget),
        "rows_held_out": len(X),
        "measure": "error" if is_classifier(bought) else "1 - R2",
        "bought": [asdict(line) for line in purchases(bought.acquired(columns), bought.costs_, names)],
    }
    if is_pruned:
        report["gap"] = float(bought.gap_)
    whole = bought.at_lambda(0).set_params(max_cost=None) if is_pruned else bought.at_budget(None)
    for ending, measured in (("", bought), ("_unpruned" if is_pruned else "_without_budget", whole)):
        report[f"error{ending}"] = 1 - measured.score(columns, y)
        report[f"cost{ending}"] = float(measured.cost(columns).mean())
    return report


def _bill(report: dict[str, Any]) -> Table:
    title = f"What is bought, on {report['rows_held_out']} rows held out"
    table = new_table(title, "feature", "price", "bought by", "paid per example", left=("feature",))
    for line in report["bought"]:
        if line["share"] > 0:
            table.add_row(line["name"], f"{line['price']:.4g}", f"{line['share']:.1%}", f"{line['paid']:.4g}")
    return table


def _verdict(report: dict[str, Any]) -> str:
    idle = [line["name"] for line in report["bought"] if line["share"] == 0]
    unused = f"Nobody needs {', '.join(idle)}.\n" if idle else ""
    proof = ""
    ending, otherwise = "_without_budget", "without a budget"
    if "gap" in report:
        ending, otherwise = "_unpruned", "unpruned"
        proof = f"\nNo pruning within the budget has a training error that is smaller by more than {report['gap']:.2g}."
    return (
        f"{unused}An example costs {report['cost']:.4g} on average (budget {float(Fraction(report['budget'])):.4g}; "
        f"{otherwise} {report[f'cost{ending}']:.4g}) at {report['measure']} {report['error']:.4f} ({otherwise} "
        f"{report[f'error{ending}']:.4f}).{proof}"
    )
