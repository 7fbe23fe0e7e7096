"""The table that commands learn from: its options, its target and features, and what they cost."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ipforest.cli.options import (
    Arguments,
    Parser,
    add_format_options,
    named_columns,
    print_note,
    read_price_list,
    table_format,
    target_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from ipforest.costs import FeatureCosts
    from ipforest.tabular.column_kinds import Column
    from ipforest.tabular.price_lists import PriceList

MANY_CLASSES = 20
"""A target of more different numbers than these is a number, unless the options say that they are classes."""


def add_table_options(command: Parser, *, required: bool) -> None:
    """Describe a table to learn from: its file, its target, what to leave out, its prices."""
    command.add_argument(
        "--csv",
        required=required,
        metavar="FILE",
        help="table with a header, a row per example; a column holds numbers, or words (categories)",
    )
    command.add_argument("--target", required=required, metavar="COLUMN", help="column to predict")
    command.add_list("--drop", "COLUMN", "columns to leave out, such as ids", [])
    command.add_list("--words", "COLUMN", "columns of numbers that are names", [])
    add_format_options(command)
    command.add_argument("--prices", metavar="FILE", help=".csv or .json of prices by column (default: 1 each)")
    command.add_argument(
        "--regression",
        action=BooleanOptionalAction,
        help=f"predict a number, not a class (default: if the target has more than {MANY_CLASSES} different numbers)",
    )


def read_table(options: Arguments) -> tuple[pd.DataFrame, pd.Series, list[Column], FeatureCosts]:
    """Read the table and the price list; columns of numbers become numbers, columns of words stay text."""
    from ipforest.tabular.column_kinds import Kind, stand_in, summary, typed_columns
    from ipforest.tabular.tables import numbers_of, read_cells
    from ipforest.tabular.word_columns import check_word_columns

    form = table_format(options)
    cells = read_cells(options.csv, form=form)
    target = target_of(options, cells)
    name = str(target.name)
    dropped, words = (named_columns(options, f"--{what}", getattr(options, what), cells) for what in ("drop", "words"))
    if options.regression is None:
        options.regression = options.class_costs is None and _is_number(target, options.csv)
    if options.regression:
        target = numbers_of(cells[[name]], options.csv, form)[name]
        if remark := stand_in(target.to_numpy(), "leave these rows out"):
            print_note(f"{options.csv}, column {name}: {remark}")
    else:
        _check_classes(target, options.csv)
    features = cells.drop(columns=[name, *dropped])
    prices = None if options.prices is None else read_price_list(options)
    table, columns = typed_columns(features, options.csv, form, words=words, priced=_priced(prices, features.columns))
    left_out = [*dropped, *(column.name for column in columns if column.kind is Kind.LEFT_OUT)]
    _tell_of_repeated_rows(cells, left_out, options.csv)
    if table.shape[1] == 0:
        reasons = "; ".join(summary(columns)) or "none"
        raise ValueError(f"{options.csv}: expected columns to predict from besides the target, got {reasons}")
    check_word_columns(table, options.csv)
    return table, target, columns, _costs(options, prices, list(table.columns))


def _tell_of_repeated_rows(cells: pd.DataFrame, left_out: list[str], file: str) -> None:
    """Note rows that are equal to others even in what is left out, such as their identifiers."""
    if not left_out or not cells[left_out].duplicated().any():
        return
    n_repeated = int(cells.duplicated().sum())
    if n_repeated:
        rows = "1 row repeats another one" if n_repeated == 1 else f"{n_repeated} rows repeat others"
        print_note(
            f"{file}: {rows} in all columns, {left_out[0]!r} too; the error on held-out rows is too small where the "
            "same row is trained on"
        )


def _is_number(target: pd.Series, file: str) -> bool:
    """Return whether a target is a number to predict, which is told, or classes."""
    n_different = target.nunique()
    if n_different <= MANY_CLASSES or not _holds_numbers(target):
        return False
    print_note(
        f"{file}, column {target.name}: {n_different} different numbers, so a number is predicted; "
        "with --no-regression they are classes"
    )
    return True


def _holds_numbers(target: pd.Series) -> bool:
    from ipforest.tabular.number_columns import NumberColumn, notations_of

    return notations_of([NumberColumn.of(target.to_numpy(dtype=object))], None, None)[0] is not None


def _check_classes(target: pd.Series, file: str) -> None:
    """Refuse a target of one class, and classes that cannot be both trained on and held out."""
    from ipforest.tabular.column_kinds import alike

    where = f"{file}, column {target.name}"
    counts = target.value_counts()
    if len(counts) < 2:
        raise ValueError(f"{where}: expected at least two classes, got {counts.index[0]!r} in all {len(target)} rows")
    if counts.min() < 2:
        label, others = counts.idxmin(), int((counts < 2).sum()) - 1
        got = (
            f"one of {label!r} (line {target.index[target == label][0]}){f' and of {others} others' if others else ''}"
        )
        advice = f"leave out {'such rows' if others else 'its row'}, or merge classes"
        advice = "a number is predicted with --regression" if _holds_numbers(target) else advice
        raise ValueError(f"{where}: expected at least two rows of each class, got {got}; {advice}")
    for remark in alike(list(counts.index)):
        print_note(f"{where}: {remark}")


def _priced(prices: PriceList | None, columns: Iterable[str]) -> set[str]:
    """Return the columns to which a price list gives a price by name."""
    from ipforest.tabular.name_matching import matched_names

    if prices is None or not prices.has_names:
        return set()
    return set(matched_names(columns, [str(row.feature) for row in prices.rows]))


def _costs(options: Arguments, prices: PriceList | None, names: list[str]) -> FeatureCosts:
    """Match the prices to the table's columns."""
    from ipforest.costs import FeatureCosts

    if prices is None:
        return FeatureCosts([1] * len(names), feature_names=names)
    if not prices.has_names:
        print_note(f"{options.prices} names no features; its rows are matched to the columns by position")
    return prices.costs_for(names)
