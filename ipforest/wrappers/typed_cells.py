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
        self._others_are_missing = model.preprocessing is None

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
        if n == 1 or line.strip() in MISSING:
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
        return cells, not all(map(self._is_not_had, unit.features, texts))

    def nothing(self, unit: Unit, *, charged: bool) -> tuple[dict[int, Any], bool]:
        """Give the cells of a unit that brought nothing, charged as its values are missing or not to be had."""
        return {column: self._gap(column, charged=charged) for column in unit.features}, charged

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
        """Read a cell: a number or a known word, which may be NA; None where it could not be had, NaN where missing."""
        name, words, bare = self._names[column], self._words_of(column), text.strip()
        if bare in MISSING and not self._is_word(column, text):
            return self._gap(column, charged=bare not in NOT_HAD)
        if not words:
            return number_of(text, name)
        found = matched_labels([text], words)
        if not found:
            mark = next(each for each in MISSING if each not in (*NOT_HAD, *words))
            others = f"{mark} for another word, " if self._others_are_missing else ""
            raise ValueError(f"{name}: expected one of {some_of(words)}, {others}or ? for none, got {bare!r}")
        return words[found[text]]

    def _words_of(self, column: int) -> dict[str, Any]:
        return self._words[self._names[column]]

    def _is_word(self, column: int, text: str) -> bool:
        return text.strip() != "" and not self._words_of(column).keys().isdisjoint((text, text.strip()))

    def _is_not_had(self, column: int, text: str) -> bool:
        return text.strip() in NOT_HAD and not self._is_word(column, text)

    def _gap(self, column: int, *, charged: bool) -> Any:
        """Return None for what could not be had, NaN for what is missing; the empty word where training had it."""
        return self._words_of(column).get("", np.nan if charged else None)
