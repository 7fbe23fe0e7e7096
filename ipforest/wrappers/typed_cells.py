"""What a user types about the columns that a model asks for, read as cells of a table."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from ipforest._internal.words import number_of, some_of
from ipforest.session import Unit
from ipforest.tabular.name_matching import matched_labels, matched_names
from ipforest.tabular.tables import MISSING
from ipforest.wrappers.pipeline import Parted

__all__ = ["TypedCells"]

NOT_HAD = ("", "?")
"""What is typed for a value that could not be had; the other `MISSING` are for one that was paid for but is missing."""


class TypedCells:
    """Reads what a user types about the columns that a model asks for.

    Parameters
    ----------
    model : Parted
    """

    def __init__(self, model: Parted) -> None:
        self._words = model.columns()
        self._names = [*self._words]

    def name(self, unit: Unit) -> str:
        """Name the columns that a unit brings."""
        return ", ".join(self._names[column] for column in unit.features)

    def fields(self, unit: Unit) -> list[tuple[str, list[str]]]:
        """List the columns that a unit brings, with the words that each knows; none of numbers."""
        names = [self._names[column] for column in unit.features]
        return [(name, [*filter(None, self._words[name])]) for name in names]

    def parted(self, unit: Unit, line: str) -> list[str]:
        """Part what was typed for a unit into a text for each column, with blanks between; perhaps quoted."""
        n = len(unit.features)
        if n == 1 or line in MISSING:
            return [line] * n
        try:
            texts = shlex.split(line)
        except ValueError:  # a quotation mark without its other half, as in o'clock
            texts = line.split()
        if len(texts) != n:
            raise ValueError(
                f'{self.name(unit)}: expected {n} values with blanks between them, such as 4 "two words", got '
                f"{len(texts)}"
            )
        return [*(text.removesuffix(",") for text in texts[:-1]), texts[-1]]  # as the names are shown

    def answer(self, unit: Unit, texts: list[str]) -> tuple[dict[int, Any], bool]:
        """Read a text for each column of a unit: the cells, and whether any of them is charged."""
        cells = dict(zip(unit.features, map(self._cell, unit.features, texts), strict=True))
        return cells, not set(texts) <= set(NOT_HAD)

    def known(self, pairs: list[str]) -> dict[int, Any]:
        """Read ``NAME=VALUE`` pairs."""
        typed = dict[int, Any]()
        for pair in pairs:
            typed_name, equals, value = pair.partition("=")
            name = matched_names([typed_name], self._names).get(typed_name)
            if not equals or name is None:
                raise ValueError(f"--known: expected NAME=VALUE with one of {', '.join(self._names)}, got {pair!r}")
            column = self._names.index(name)
            if column in typed:
                raise ValueError(f"--known: expected one value of {name}, got another in {pair!r}")
            typed[column] = self._cell(column, value)
        return typed

    def _cell(self, column: int, text: str) -> Any:
        """Read a cell: a number or a known word; None where it could not be had, NaN where it is missing.

        Either is the empty word where training had it.
        """
        name = self._names[column]
        words = self._words[name]
        if text in (*NOT_HAD, *MISSING):
            return words.get("", None if text in NOT_HAD else np.nan)
        if not words:
            return number_of(text, name)
        found = matched_labels([text], words)
        if not found:
            raise ValueError(f"{name}: expected one of {some_of(words)}, or ? for none, got {text!r}")
        return words[found[text]]
