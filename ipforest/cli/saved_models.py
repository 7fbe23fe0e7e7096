"""Models that ``fit`` saved, the words that they know, and the tables that they are used on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ipforest._internal.arrays import one_line
from ipforest._internal.words import some_of
from ipforest.cli.fit import MODEL_FILE
from ipforest.cli.options import (
    Arguments,
    Parser,
    add_pickle_option,
    exact_number,
    print_note,
    table_format,
    target_of,
    warnings_as_notes,
)

if TYPE_CHECKING:
    import pandas as pd

    from ipforest.tabular.tables import CsvFormat
    from ipforest.wrappers.pipeline import Parted

T = TypeVar("T")


def read_model(options: Arguments) -> Parted:
    """Read the model of ``--model``, from a file or a folder of ``fit``.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is no model, or one without prices.
    """
    from ipforest.tabular.model_files import load_model
    from ipforest.wrappers.pipeline import parted

    path = options.model
    if not Path(path).exists():
        raise ValueError(f"--model: expected a folder of `ipforest fit` or a model file, found nothing at {path}")
    file = Path(path) / MODEL_FILE if Path(path).is_dir() else Path(path)
    model = load_model(file, allow_pickle=options.allow_pickle)
    try:
        return parted(model)
    except TypeError as problem:
        raise ValueError(f"{file}: expected a model with prices, such as `ipforest fit` saves; {problem}") from None


def add_model_options(command: Parser) -> None:
    """Describe a saved model: where it is, and the consent to run its code."""
    command.add_argument("--model", required=True, metavar="DIR", help="folder of `ipforest fit`, or a model file")
    add_pickle_option(command)


def add_mixture_option(command: Parser, key: str) -> None:
    """Describe the coin between two choices of a saved model; where the key of an example comes from is said so."""
    command.add_argument(
        "--mixture",
        metavar="B",
        help="spend B on average by a coin between two choices of the model, where it offers several: examples get one "
        f"or the other by their key, {key}",
    )


def mixed(options: Arguments, buyer: Any) -> Any:
    """Return the mixture of ``--mixture``."""
    budget = exact_number(options.mixture, "mixture")
    try:
        return buyer.mixture(budget)
    except TypeError as problem:
        raise ValueError(f"--mixture: expected a model with choices to mix; {problem}") from None


@contextmanager
def using(path: str) -> Iterator[None]:
    """Blame the file of a model for what its parts cannot do: each was read, but they need not fit together.

    Raises
    ------
    ValueError
        Arrays of different lengths or types, say, met in the block.
    """
    from numba.core.errors import NumbaError

    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, NumbaError) as problem:
        raise ValueError(f"{path}: expected a model as saved, got one that fails: {one_line(problem)}") from problem


def read_rows(options: Arguments, model: Parted, other: Callable[[pd.DataFrame], T]) -> tuple[pd.DataFrame, T]:
    """Read the table of ``--csv``: the examples of a model, and what ``other`` takes of the cells."""
    from ipforest.tabular.tables import read_cells

    form = table_format(options)
    with warnings_as_notes():
        cells = read_cells(options.csv, form=form)
        taken = other(cells)
        return _examples(cells, options.csv, model, form), taken


def add_examples_option(command: Parser) -> None:
    """Describe the table of examples that a saved model is measured or read on."""
    command.add_argument(
        "--csv", "--data", required=True, metavar="FILE", help="table with the columns of training, by name"
    )


def read_labelled(options: Arguments, model: Parted) -> tuple[pd.DataFrame, Any]:
    """Read the table of ``--csv``: the examples of a model, and the column of ``--target``, None without one."""
    return read_rows(options, model, lambda cells: _target(cells, options, model.buyer))


def _target(cells: pd.DataFrame, options: Arguments, buyer: Any) -> Any:
    """Read the column of ``--target``: numbers for regression, else the classes of the model by their names."""
    import numpy as np
    from sklearn.base import is_classifier

    from ipforest.tabular.name_matching import matched_labels
    from ipforest.tabular.tables import numbers_of

    if options.target is None:
        return None
    target = target_of(options, cells)
    if not is_classifier(buyer):
        return numbers_of(cells[[target.name]], options.csv, table_format(options))[target.name].to_numpy()
    classes = buyer.classes_.tolist()
    label_of = matched_labels(target.unique().tolist(), classes)
    unknown = target[~target.isin([*label_of])]
    if unknown.size:
        raise ValueError(
            f"{options.csv}, column {target.name}, line {unknown.index[0]}: expected a class of training "
            f"({some_of(classes)}), got {unknown.iloc[0]!r}"
        )
    return np.array([label_of[cell] for cell in target.tolist()])


def _examples(cells: pd.DataFrame, path: str, model: Parted, form: CsvFormat) -> pd.DataFrame:
    """Take the columns that the model was trained on: text where it saw text, else numbers.

    A column that the model never buys may be absent; it is missing then, or 0 where the model takes nothing missing.
    """
    import numpy as np
    import pandas as pd
    from sklearn.utils import get_tags

    from ipforest.tabular.name_matching import matched_labels, matched_names
    from ipforest.tabular.tables import numbers_of, select_columns, to_words

    names = getattr(model.whole, "feature_names_in_", None)
    if names is None:
        raise ValueError("--model: expected a model that was fitted to named columns, got one without names")
    absent = set(names) - matched_names(names, cells.columns).keys()
    if absent:
        absent -= model.wanted()
    if absent:
        print_note(f"{path}: no column {', '.join(sorted(absent))}, which the model never buys")
    table = select_columns(cells, [name for name in names if name not in absent], path)
    words = {name: known for name, known in model.columns().items() if known}
    parts = [numbers_of(table[[name for name in table if name not in words]], path, form, of_features=True)]
    for name in (name for name in words if name not in absent):
        column = to_words(table[name], words[name])
        word_of = matched_labels(column.unique().tolist(), words[name])
        _note_unknown(column, word_of, words[name], path)
        cell_of = {} if model.preprocessing is None else {cell: cell for cell in column.unique() if cell}
        cell_of |= {cell: words[name][word] for cell, word in word_of.items()}
        cells = [cell_of.get(cell, np.nan) for cell in column.tolist()]
        parts.append(pd.Series(cells, table.index, dtype=object, name=name))
    nothing = float("nan") if get_tags(model.buyer).input_tags.allow_nan else 0.0
    fillers = {name: next(iter(words[name].values())) if name in words else nothing for name in absent}
    parts += [pd.Series(filler, table.index, name=name) for name, filler in fillers.items()]
    return pd.concat(parts, axis=1)[list(names)]


def _note_unknown(column: pd.Series, known: Collection[str], words: Collection[str], path: str) -> None:
    """Say on standard error which words of a column the model does not know."""
    unknown = column[~column.isin([*known, ""])]
    if unknown.size:
        print_note(
            f"{path}, column {column.name}: {unknown.size} of {column.size} rows have words that the model does not "
            f"know, such as {some_of(unknown.iloc[:1])!r} in line {unknown.index[0]}; it knows {some_of(words)}"
        )
