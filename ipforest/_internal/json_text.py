"""JSON from files that anyone may have written: read within bounds on depth and memory."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

DEEPEST = 100
"""Most objects and arrays inside one another; files of this package have at most 40."""

SPARE_BYTES = 150 << 20
BYTES_PER_CHARACTER, BYTES_PER_CONTAINER, BYTES_PER_VALUE = 8, 120, 64
CHUNK = 1 << 20


def read_json(
    text: str,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """Read a JSON value that is not too deep to be worked on, nor too large for its text.

    Parameters
    ----------
    text : str
    object_pairs_hook, parse_float : callable, optional
        As in `json.loads`.

    Raises
    ------
    ValueError
        The text is no JSON, is nested more than 100 deep, or has so many values that they would take more than eight
        times the text and 150 MiB of memory.
    """
    if not isinstance(text, str):
        raise ValueError(f"expected a text of JSON, got {type(text).__name__}")
    containers = text.count("[") + text.count("{")
    values = text.count(",") + text.count(":")
    most = BYTES_PER_CHARACTER * len(text) + SPARE_BYTES
    if BYTES_PER_CONTAINER * containers + BYTES_PER_VALUE * values > most:
        raise ValueError(
            f"expected JSON of fewer values, got about {containers + values} in {len(text)} characters, which would "
            f"take more than {most >> 20} MiB of memory"
        )
    if containers > DEEPEST and _depth(text) > DEEPEST:
        raise ValueError(f"expected JSON of at most {DEEPEST} nested objects and arrays, got a deeper one")
    return json.loads(text, object_pairs_hook=object_pairs_hook, parse_float=parse_float)


def _depth(text: str) -> int:
    """Return how many objects and arrays are open at most, by counting brackets outside of strings."""
    plain = text.replace("\\\\", "").replace('\\"', "")
    quotes = level = deepest = 0
    for start in range(0, len(plain), CHUNK):
        marks = np.frombuffer(plain[start : start + CHUNK].encode("ascii", "replace"), dtype=np.uint8)
        quoted = quotes + np.cumsum(marks == ord('"'))
        outside = marks[quoted % 2 == 0]
        steps = np.isin(outside, (ord("["), ord("{"))).astype(np.int64) - np.isin(outside, (ord("]"), ord("}")))
        levels = level + np.cumsum(steps)
        quotes, level = int(quoted[-1]), int(levels[-1]) if levels.size else level
        deepest = max(deepest, int(levels.max(initial=0)))
    return deepest
