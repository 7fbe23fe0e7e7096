"""What the commands share: options, the problem they describe, tables."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from ipforest._internal.progress import ProgressCallback
    from ipforest.costs import FeatureCosts
    from ipforest.ensemble.forest import Forest
    from ipforest.instance import PruningInstance
    from ipforest.tabular.price_lists import PriceList
    from ipforest.tabular.tables import CsvFormat

PRICED = "price units"
"""The currency of a price list that names none."""

FILES = (".skops", ".joblib", ".pkl", ".pickle", ".json", ".csv", ".cert", ".npz", ".png", ".html", ".md")
"""Suffixes of files that commands write or read: a new folder of such a name was meant to be a file."""

SEARCH_SECONDS = 10.0
"""So long a forest is searched within its budget, unless the options say so."""

N_SEEDS = 1 << 32
"""Seeds are below this."""

WITHOUT_VALUE = re.compile("argument ([^:]*/)?(?P<name>--[^:/]+): expected (at least )?one argument")
"""What argparse says of an option that nothing follows but what it takes for another option."""

Arguments: TypeAlias = argparse.Namespace


class Parser(argparse.ArgumentParser):
    """The options of a command: those that several have are described here; errors say where to read about them."""

    def error(self, message: str) -> NoReturn:
        """End with wrong usage."""
        option = WITHOUT_VALUE.match(message)
        hint = f"; a value that begins with a hyphen, such as -x, is given as {option['name']}=-x" if option else ""
        super().error(f"{message}{hint}; see {self.prog} --help")

    def add_list(self, option: str, metavar: str, what: str, default: list[str] | None = None) -> None:
        """Add an option of one or more words; given again, it adds to them."""
        self.add_argument(option, nargs="+", action="extend", default=default, metavar=metavar, help=what)

    def add_number(self, option: str, default: int, what: str, metavar: str = "N") -> None:
        """Add an option that is an integer >= 1."""
        self.add_argument(
            option, type=positive_integer, default=default, metavar=metavar, help=f"{what} (default: {default})"
        )

    def add_folder(self, what: str, default: str | None = None) -> None:
        """Add the option of the folder that files are written into."""
        self.add_argument("--out", type=folder, metavar="DIR", default=default, help=what)

    def add_seed(self, what: str) -> None:
        """Add the option of a seed."""
        self.add_argument("--seed", type=seed_number, default=0, help=f"{what} (default: 0)")

    def add_out_option(self, files: str) -> None:
        """Add the option that names the folder for files."""
        self.add_folder(f"write {files} there")

    def add_data_options(self) -> None:
        """Add the options of a data set and a forest trained on it."""
        self.add_argument(
            "--data", default="breast_cancer", metavar="NAME", help="data set: bundled, or a file of $IPFOREST_DATA"
        )
        self.add_number("--trees", 40, "trees of the forest", metavar="T")
        self.add_seed("seed of the splits and the forest")

    def add_problem_options(self) -> None:
        """Add the options of a forest to prune: trained on a data set, or your own with its examples and prices."""
        self.add_data_options()
        add_own_options(self.add_argument_group("your own forest, in place of --data"))
        self.add_argument("--loss", help="misclassification, gini, entropy or squared_error (default: by the task)")
        self.add_argument("--split-cost", default="0", metavar="C", help="what one test costs (default: 0)")

    def add_search_options(self, otherwise: str = "") -> None:
        """Add the options of the search within a budget; the help of the time limit ends so."""
        self.add_argument(
            "--search",
            choices=("path", "greedy", "exact"),
            default="exact",
            help="best breakpoint of the path, filled up by greed, or branch and bound (default: exact)",
        )
        self.add_argument(
            "--time-limit",
            type=seconds,
            default=SEARCH_SECONDS,
            metavar="S",
            help=f"seconds of branch and bound (default: {SEARCH_SECONDS:g}{otherwise})",
        )
        self.add_argument("--max-cost", metavar="C", help="the most that any one example may pay")


def add_own_options(own: Any) -> None:
    """Add the options of the files of a forest of one's own."""
    own.add_argument("--model", metavar="FILE", help="fitted ensemble: .skops, or with --allow-pickle .joblib")
    add_pickle_option(own)
    own.add_argument(
        "--examples",
        metavar="FILE",
        help="examples on which costs are measured: .csv with a header, .npy, or .npz with an X",
    )
    own.add_argument("--no-header", action="store_true", help="the first line of the .csv is an example")
    own.add_argument("--prices", metavar="FILE", help=".csv or .json of prices by feature (default: 1 each)")
    add_format_options(own)


def check_own_options(options: Arguments) -> None:
    """Refuse a model without examples, and examples without a model."""
    if (options.model is None) != (options.examples is None):
        raise ValueError("--model: expected --model and --examples together, got one of them")


def add_format_options(command: Any) -> None:
    """Add the options of how CSV files are written."""
    command.add_argument(
        "--sep", metavar="C", help="separator of the table's cells, one character or tab (default: recognised)"
    )
    command.add_argument(
        "--decimal", choices=(".", ","), metavar="C", help="decimal mark of the table, . or , (default: recognised)"
    )
    command.add_argument(
        "--encoding",
        metavar="E",
        help="encoding of the table, such as cp1252, and of prices that are not UTF-8 (default: UTF-8 or UTF-16)",
    )


def table_format(options: Arguments) -> CsvFormat:
    """Return how the table is written, as far as it was said."""
    from ipforest.tabular.tables import CsvFormat

    separator = {"tab": "\t", "\\t": "\t"}.get(options.sep, options.sep)
    try:
        return CsvFormat(separator, options.decimal, options.encoding)
    except ValueError as problem:
        raise ValueError(f"--{str(problem).replace('separator', 'sep', 1)}") from None  # the option, not the parameter


def format_of_prices(options: Arguments, file: str) -> CsvFormat:
    """Return how a file of prices is written, which the table need not be: its encoding is for those not in UTF-8."""
    from ipforest._internal.delimited import is_utf8
    from ipforest.tabular.tables import CsvFormat

    return CsvFormat(encoding=None if is_utf8(Path(file)) else options.encoding)


def read_price_list(options: Arguments) -> PriceList:
    """Read the file of prices, and say which groups have one feature."""
    from ipforest.tabular.price_lists import read_prices

    prices = read_prices(options.prices, format_of_prices(options, options.prices))
    for group in prices.lone_groups:
        print_note(f"{options.prices}: group {group!r} has one feature, so that its fee is always paid with it")
    return prices


def named_columns(options: Arguments, option: str, names: Sequence[str], cells: pd.DataFrame) -> list[str]:
    """Find the columns of the table that an option names; those that differ by case and blanks alone will do."""
    from ipforest.tabular.name_matching import closest_column, matched_names

    columns = list(cells.columns)
    found = matched_names(names, columns)
    for name in names:
        if name not in found:
            known = shorten(", ".join(columns), 80, placeholder=" ...")
            hint = closest_column(name, columns, len(columns))
            raise ValueError(f"{option}: expected a column of {options.csv} ({known}), got {name!r}{hint}")
    return list(dict.fromkeys(found.values()))


def target_of(options: Arguments, cells: pd.DataFrame) -> pd.Series:
    """Take the column of ``--target``, which has a cell in each row."""
    from ipforest.tabular.tables import MISSING

    (name,) = named_columns(options, "--target", [options.target], cells)
    missing = cells[name].isin(MISSING)
    if missing.any():
        cell = cells[name].loc[missing.idxmax()]
        got = f"{cell!r}, which stands for a missing value; name such a class otherwise" if cell else "none"
        rows = "1 row has" if missing.sum() == 1 else f"{missing.sum()} rows have"
        raise ValueError(
            f"{options.csv}, column {name}, line {missing.idxmax()}: expected a target, got {got}; {rows} none, and "
            "nothing is learnt from these: leave them out"
        )
    return cells[name]


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what the block warns its user of as notes on standard error, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        if warning.category is UserWarning:
            print_note(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def print_note(note: str) -> None:
    """Print what the user may want to know, in one line on standard error."""
    print(f"ipforest: note: {note}", file=sys.stderr)


def add_pickle_option(command: Any) -> None:
    """Add the consent to models that run code when they are read."""
    command.add_argument(
        "--allow-pickle",
        action="store_true",
        help="read models from .joblib, .pkl and .pickle, too: reading runs the code in them, so only from people "
        "you trust",
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """What the options of a command describe.

    Parameters
    ----------
    forest : Forest
    instance : PruningInstance
    X : array, shape (n_examples, n_features)
        The examples that pay.
    costs : FeatureCosts
    loss : str
    split_cost : str
    currency : str
        What costs are counted in.
    notes : tuple of str
        What was taken by position, for want of names.
    """

    forest: Forest
    instance: PruningInstance
    X: Any
    costs: FeatureCosts
    loss: str
    split_cost: str
    currency: str
    notes: tuple[str, ...]

    def origin(self, **made: Any) -> dict[str, str]:
        """Describe what the instance comes from, and what was made of it; see `proofs.provenance.provenance`."""
        from ipforest.instance import FITS_PATH
        from proofs.provenance import provenance

        given = self.forest, self.X, self.costs, self.loss, self.split_cost
        return provenance(*given, **made, resolution=FITS_PATH)


def read_problem(options: Arguments) -> Problem:
    """Read the forest, its examples and prices, and build the instance; say so where it counts prices coarsely."""
    from ipforest.instance import FITS_PATH, PruningInstance
    from ipforest.learners.forest_pruner import warn_of_rounded_prices
    from ipforest.losses import loss_for

    check_own_options(options)
    forest, X, costs, currency, notes = _of_data_set(options) if options.model is None else own_forest(options)
    loss = loss_for(options.loss, forest.is_classifier)
    make_kernels_ready(options)
    instance = PruningInstance.from_forest(forest, X, costs, loss, split_cost=options.split_cost, resolution=FITS_PATH)
    with warnings_as_notes():
        warn_of_rounded_prices(instance, costs)
    return Problem(forest, instance, X, costs, loss, options.split_cost, currency, tuple(notes))


@contextmanager
def progress_of(options: Arguments) -> Iterator[ProgressCallback]:
    """Show how far a command is while a block runs, unless it prints JSON.

    What is printed meanwhile, as by a solver of a file, goes to standard error: the output is the command's answer.
    """
    from ipforest._internal.progress import progress_bar

    with redirect_stdout(sys.stderr), progress_bar(f"ipforest {options.command}", visible=not options.json) as progress:
        yield progress


def make_kernels_ready(options: Arguments) -> None:
    """Compile the kernels, or load them, as a step of its own with a bar of its own."""
    from ipforest._internal.progress import progress_bar
    from ipforest.solvers.warm_up import warm_up

    with progress_bar("compiling kernels", visible=not options.json, transient=True) as progress:
        warm_up(progress)


def _of_data_set(options: Arguments) -> tuple[Forest, Any, FeatureCosts, str, list[str]]:
    from ipforest import datasets
    from ipforest.experiments.parts import train_and_split

    data = datasets.load(options.data)
    costs, currency = data.costs, data.currency
    if options.prices is not None:
        with warnings_as_notes():
            costs, currency = read_price_list(options).costs_for(data.feature_names), PRICED
    forest, parts = train_and_split(data, options.trees, options.seed)
    return forest, parts.X_validation, costs, currency, []


def own_forest(options: Arguments) -> tuple[Forest, Any, FeatureCosts, str, list[str]]:
    """Read a forest of one's own, its examples and prices, matched by name where both sides have names."""
    from ipforest.costs import FeatureCosts
    from ipforest.ensemble.forest import Forest
    from ipforest.tabular.model_files import load_model
    from ipforest.tabular.tables import has_names, read_examples

    forest = Forest.from_sklearn(load_model(options.model, allow_pickle=options.allow_pickle))
    form = table_format(options)
    with warnings_as_notes():
        X = read_examples(options.examples, forest.feature_names, header=not options.no_header, form=form)
    if X.shape[1] != forest.n_features:
        raise ValueError(f"{options.examples}: expected {forest.n_features} columns as in training, got {X.shape[1]}")
    if not len(X):
        raise ValueError(f"{options.examples}: expected at least one example, got none")
    notes = []
    if forest.feature_names is None or not has_names(X):
        reason = "the model has no feature names" if forest.feature_names is None else "they have no names"
        notes.append(f"columns of {options.examples} are matched to the features by position: {reason}")
    if options.prices is None:
        return forest, X, FeatureCosts.uniform(forest.n_features), "features", notes
    names = forest.feature_names or (tuple(X.columns) if has_names(X) else None)
    prices = read_price_list(options)
    if not prices.has_names:
        notes.append(f"{options.prices} is matched to the features by position: it has no names")
    with warnings_as_notes():
        costs = prices.costs_for(forest.n_features if names is None else names)
    return forest, X, costs, PRICED, notes


def write_problem(problem: Problem, directory: Path) -> list[Path]:
    """Write the model, the examples, the prices and the instance: what a certificate is verified against."""
    import numpy as np

    from ipforest._internal.files import write_file
    from ipforest.tabular.model_files import save_model
    from ipforest.tabular.price_lists import write_prices

    forest, instance = problem.forest, problem.instance
    arrays: dict[str, Any] = {"X": forest.checked_examples(problem.X)}
    names = forest.feature_names or problem.costs.feature_names
    if names is not None:
        arrays["feature_names"] = np.array(names)
    return [
        save_model(forest.to_sklearn(), directory / "model.skops"),
        write_file(directory / "examples.npz", lambda file: np.savez(file, **arrays)),
        write_prices(problem.costs, directory / "prices.csv"),
        write_file(directory / "instance.npz", instance.save),
    ]


def print_notes(problem: Problem) -> None:
    """Say on standard error what was taken by position."""
    for note in problem.notes:
        print_note(note)


def positive_integer(text: str) -> int:
    """Read an option's integer >= 1."""
    return _integer(text, 1)


def nonnegative_integer(text: str) -> int:
    """Read an option's integer >= 0."""
    return _integer(text, 0)


def seed_number(text: str) -> int:
    """Read a seed, of which random generators take 32 bits."""
    seed = _integer(text, 0)
    if seed >= N_SEEDS:
        raise argparse.ArgumentTypeError(f"expected an integer below {N_SEEDS}, got {text}")
    return seed


def _integer(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected an integer >= {least}, got {text}")
    return int(text)


def seconds(text: str) -> float:
    """Read an option's time limit."""
    from ipforest._internal.rational import nonnegative_fraction

    try:
        return float(nonnegative_fraction(text, "seconds"))
    except (ValueError, OverflowError) as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def folder(text: str) -> str:
    """Read an option's folder, which need not exist; refuse what is named as a file."""
    path = Path(text)
    if path.suffix.lower() in FILES and not path.exists():
        raise argparse.ArgumentTypeError(
            f"expected a folder, in which files have names of their own, got {text}, the name of a file; leave out "
            f"{path.suffix}"
        )
    return text


def exact_number(text: str | None, name: str) -> Fraction | None:
    """Read an option's number before the work that needs it begins."""
    from ipforest._internal.rational import nonnegative_fraction

    number = None if text is None else nonnegative_fraction(text, name)
    if number is not None and number > sys.float_info.max:
        raise ValueError(f"{name}: expected a number below {sys.float_info.max:.0e}, got {text}")
    return number


def out_directory(options: Arguments) -> Path | None:
    """Make the folder for files, if one is asked for."""
    return None if options.out is None else made_directory(options.out)


def made_directory(name: str) -> Path:
    """Make a folder for files, unless it is there."""
    directory = Path(name)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"--out: expected a folder, got the file {directory}") from None
    return directory


def plain_console() -> Console:
    """Return a console that prints names as they are: no markup in brackets, no emoji between colons."""
    return Console(markup=False, emoji=False, highlight=False)


def new_table(title: str, *headings: str, left: Collection[str] = ()) -> Table:
    """Start a table of numbers, which are folded rather than cut on a narrow terminal; columns in `left` hold text."""
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right", overflow="fold")
    return table
