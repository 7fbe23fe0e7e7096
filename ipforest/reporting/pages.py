"""The report as a page for a browser, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ipforest._internal.files import write_text
from ipforest.reporting.measured import Measure

if TYPE_CHECKING:
    from ipforest.reporting.figures import Picture

__all__ = ["Report", "Table"]

MAX_COLUMNS = 4
"""Tables of more columns have the width of the page."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report.

    Parameters
    ----------
    title : str
    heads : tuple of str
    rows : tuple of tuple of str
        The first cell of each names the row.
    note : str
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """What a model comes to on examples; made by `report`.

    Parameters
    ----------
    title : str
    facts : tuple of str
        The model and the examples in a few sentences.
    measures : tuple of Measure
        With bootstrap intervals.
    tables : tuple of Table
        The measures, costs, rounds, what is bought, and other budgets.
    drawing : callable () -> tuple of Picture
        Draws the pictures.
    """

    title: str
    facts: tuple[str, ...]
    measures: tuple[Measure, ...]
    tables: tuple[Table, ...]
    drawing: Callable[[], tuple[Picture, ...]]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r}, {len(self.measures)} measures)"

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Calibration, ROC curve, costs, other budgets, and what is bought."""
        return self.drawing()

    def to_frame(self) -> pd.DataFrame:
        """Return the measures, a row each, with columns ``value``, ``low`` and ``high``."""
        return pd.DataFrame(self.measures, columns=Measure._fields).set_index("name")

    def to_html(self) -> str:
        """Return one page that needs no other file."""
        style = files("ipforest.reporting").joinpath("style.css").read_text(encoding="utf-8")
        facts = "".join(f"<p>{escape(fact)}</p>" for fact in self.facts)
        figures = "".join(map(_figure, self.pictures))
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
            f'<h1>{escape(self.title)}</h1>\n{facts}\n<div class="tables">\n{"".join(map(_table, self.tables))}</div>\n'
            f'<section class="figures" aria-label="Pictures">\n{figures}</section>\n</main>\n</body>\n</html>\n'
        )

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        write_text(Path(path), self.to_html())

    def _repr_html_(self) -> str:
        title, page = escape(self.title), escape(self.to_html())
        return f'<iframe title="{title}" width="100%" height="800" srcdoc="{page}"></iframe>'

    def __str__(self) -> str:
        return "\n\n".join([self.title, "\n".join(self.facts), *map(_as_text, self.tables)])


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>\n'
        for row in table.rows
    )
    note = f"<p>{escape(table.note)}</p>\n" if table.note else ""
    broad = ' class="broad"' if len(table.heads) > MAX_COLUMNS else ""
    return (
        f'<section{broad}>\n<h2>{escape(table.title)}</h2>\n<div class="wide" tabindex="0" role="region" '
        f'aria-label="{escape(table.title)}"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n'
        f"</table></div>\n{note}</section>\n"
    )


def _figure(picture: Picture) -> str:
    return (
        f'<figure><img src="{picture.source}" alt="{escape(picture.title)}: {escape(picture.description)}">'
        f"<figcaption><strong>{escape(picture.title)}.</strong> {escape(picture.description)}</figcaption></figure>\n"
    )


def _as_text(table: Table) -> str:
    """Write a table in columns, the first to the left, numbers to the right."""
    lines = [table.heads, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.heads))]
    text = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]
    return "\n".join(
        [table.title, *(f"  {line.rstrip()}" for line in text), *([f"  {table.note}"] if table.note else [])]
    )
