"""What the commands share: options, the problem they describe, tables, exit codes."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.table import Table

if TYPE_CHECKING:
    from ipforest.ensemble.forest import Forest
    from ipforest.instance import PruningInstance

DONE, CHECK_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

Arguments: TypeAlias = argparse.Namespace
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(commands: Subparsers, name: str, run: Any, description: str) -> argparse.ArgumentParser:
    """Describe a command with the options that all have."""
    command = commands.add_parser(name, help=description, description=description)
    command.set_defaults(run=run)
    command.add_argument("--json", action="store_true", help="print JSON in place of a table")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def add_out_option(command: argparse.ArgumentParser, files: str) -> None:
    """Add the option that names the folder for files."""
    command.add_argument("--out", metavar="DIR", help=f"write {files} there")


def add_data_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a data set and a forest trained on it."""
    command.add_argument(
        "--data", default="breast_cancer", metavar="NAME", help="data set: bundled, or a file of $IPFOREST_DATA"
    )
    command.add_argument("--trees", type=positive_integer, default=40, metavar="T", help="trees of the forest")
    command.add_argument("--seed", type=seed_number, default=0, help="seed of the splits and the forest")


def add_problem_options(command: argparse.ArgumentParser) -> None:
    """Options of a forest to prune: trained on a data set, or your own with its examples and prices."""
    add_data_options(command)
    own = command.add_argument_group("your own forest, in place of --data")
    own.add_argument("--model", metavar="FILE", help="fitted ensemble saved by joblib (loading runs code in it)")
    own.add_argument("--examples", metavar="FILE", help="examples that pay: .csv, .npy, or .npz with an array X")
    own.add_argument("--prices", metavar="FILE", help="CSV with a column cost, a row a feature (default: 1 each)")
    command.add_argument("--loss", help="misclassification, gini, entropy or squared_error (default: by the task)")
    command.add_argument("--split-cost", default="0", metavar="C", help="what one test costs (default: 0)")


def problem(options: Arguments) -> tuple[Forest, PruningInstance, str]:
    """Give the forest, the instance and the unit of cost that the options describe."""
    from ipforest import datasets
    from ipforest.costs import FeatureCosts
    from ipforest.ensemble.forest import Forest
    from ipforest.experiments.demo import train_and_split
    from ipforest.instance import PruningInstance
    from ipforest.losses import loss_for

    if (options.model is None) != (options.examples is None):
        raise ValueError("--model: expected --model and --examples together, got one of them")
    if options.model is None:
        data = datasets.load(options.data)
        forest, parts = train_and_split(data, options.trees, options.seed)
        X, costs, currency = parts.X_validation, data.costs, data.currency
    else:
        forest = Forest.from_sklearn(_load_model(options.model))
        X, currency = datasets.read_examples(options.examples), "features"
        costs = FeatureCosts.uniform(forest.n_features)
    if options.prices is not None:
        costs, currency = FeatureCosts.from_csv(options.prices), "price units"
    loss = loss_for(options.loss, forest.is_classifier)
    return forest, PruningInstance.from_forest(forest, X, costs, loss, split_cost=options.split_cost), currency


def _load_model(path: str) -> Any:
    import pickle

    import joblib

    try:
        return joblib.load(path)
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, AttributeError) as problem:
        raise ValueError(f"{path}: expected a complete file written by joblib.dump, got: {problem}") from None


def positive_integer(text: str) -> int:
    """Read an option's integer >= 1."""
    return _integer(text, 1)


def seed_number(text: str) -> int:
    """Read an option's integer >= 0."""
    return _integer(text, 0)


def _integer(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected an integer >= {least}, got {text}")
    return int(text)


def seconds(text: str) -> float:
    """Read an option's time limit."""
    from ipforest.rational import nonnegative_fraction

    try:
        return float(nonnegative_fraction(text, "seconds"))
    except (ValueError, OverflowError) as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def exact_number(text: str | None, name: str) -> Fraction | None:
    """Read an option's number before the work that needs it begins."""
    from ipforest.rational import nonnegative_fraction

    return None if text is None else nonnegative_fraction(text, name)


def out_directory(options: Arguments) -> Path | None:
    """Make the folder for files, if one is asked for."""
    if options.out is None:
        return None
    directory = Path(options.out)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def new_table(title: str) -> Table:
    """Start a table in the house style."""
    return Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
