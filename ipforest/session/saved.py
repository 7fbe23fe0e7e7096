"""Sessions as text: what was known and bought, read with every part of it checked."""

from __future__ import annotations

import json
import reprlib
import sys
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from ipforest._internal.records import object_of

__all__ = ["SavedSession"]

MAX_FLOAT = sys.float_info.max

MISSING_IN_FILES = "NaN"
"""How a saved session writes a value that was bought but is missing; null is one that could not be had."""


class SavedSession(NamedTuple):
    """What `Session.to_json` writes: what was known, the caps, units with their values, and which were not paid."""

    known: list[tuple[Any, Any]]
    max_cost: Any
    bought: list[tuple[Any, list[Any]]]
    not_charged: list[int]
    max_rounds: Any

    def to_json(self) -> str:
        """Write it for `read`."""
        record = {
            "known": [[feature, _saved(value)] for feature, value in self.known],
            "max_cost": self.max_cost,
            "bought": [[unit, [_saved(value) for value in values]] for unit, values in self.bought],
            "not_charged": self.not_charged,
        }
        cap = {} if self.max_rounds is None else {"max_rounds": self.max_rounds}
        return json.dumps(record | cap, indent=2)

    @classmethod
    def read(cls, saved: str) -> Self:
        """Read the text, every part of it.

        Raises
        ------
        ValueError
            A part is missing, or of another kind than `Session.to_json` writes.
        """
        record = object_of(saved)
        missing = [name for name in ("known", "max_cost", "bought") if name not in record]
        if missing:
            raise ValueError(f"no {missing[0]}")
        known, bought = _pairs(record["known"], "known"), _pairs(record["bought"], "bought")
        for feature, value in known:
            _check_single(value, feature)
        for unit, values in bought:
            for value in _items(values, unit):
                _check_single(value, unit)
        _check_single(record["max_cost"], "max_cost")
        not_charged = _items(record.get("not_charged", []), "not_charged")
        if any(type(place) is not int for place in not_charged):
            raise ValueError("no list of integers in not_charged")
        read = partial(_read_saved, null_is_absent="not_charged" in record)
        return cls(
            [(feature, read(value)) for feature, value in known],
            record["max_cost"],
            [(unit, [read(value) for value in values]) for unit, values in bought],
            not_charged,
            record.get("max_rounds"),
        )


def _items(value: Any, name: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{type(value).__name__} in place of a list for {name}")
    return value


def _pairs(value: Any, name: str) -> list[tuple[Any, Any]]:
    pairs = [_items(pair, name) for pair in _items(value, name)]
    if any(len(pair) != 2 or not isinstance(pair[0], (str, int)) for pair in pairs):
        raise ValueError(f"no pairs of a name and what it is in {name}")
    return [(first, second) for first, second in pairs]


def _check_single(value: Any, name: str) -> None:
    """Require None, a text, or a number that a float holds."""
    if value is None or isinstance(value, (str, float)):
        return
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_FLOAT:
        raise ValueError(f"{reprlib.repr(value)} in place of a number for {name}")


def _saved(number: float | None) -> float | str | None:
    return MISSING_IN_FILES if number is not None and np.isnan(number) else number


def _read_saved(number: Any, *, null_is_absent: bool) -> Any:
    """Read a number that `_saved` wrote; in older files null is a missing value."""
    return np.nan if number == MISSING_IN_FILES or (number is None and not null_is_absent) else number
