"""Words and numbers that users type or read: read with messages that help, and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import accumulate
from textwrap import shorten
from typing import Any

WORDS_OF_RULES = {"and", "anything", "missing", "neither", "none", "nor", "not", "or"}
"""Words that a sentence about categories has itself."""
MOST_SHOWN = 60
"""Characters of words that a message lists."""


def some_of(words: Iterable[object]) -> str:
    """List words for a message, as many whole ones as fit, without the empty one.

    >>> some_of(["grey", "", "grey, green"])
    "grey, 'grey, green'"
    """
    texts = [shorten(text, MOST_SHOWN, placeholder=" ...") for text in map(str, words) if text]
    if len(texts) > 1:
        texts = [repr(text) if "," in text else text for text in texts]
    n_fitting = sum(end <= MOST_SHOWN for end in accumulate(len(text) + len(", ") for text in texts))
    return ", ".join(texts if len(", ".join(texts)) <= MOST_SHOWN else [*texts[: max(n_fitting, 1)], "..."])


def counted(number: int, noun: str) -> str:
    """Write how many there are: 1 tree, 2 trees."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def category_name(category: object) -> str:
    """Write a category within a sentence: in quotation marks where it would be read as something else."""
    text = str(category)
    is_plain = text == " ".join(text.split()) and not set(text) & set(',;:"') and not set(text.split()) & WORDS_OF_RULES
    return text if text and is_plain else json.dumps(text, ensure_ascii=False)


def unbroken(text: object) -> str:
    """Write a text, such as a heading of a spreadsheet, without its line breaks."""
    return " ".join(str(text).splitlines())


def plain(value: float, digits: int = 4) -> str:
    """Write a number with so many digits, a larger one without a power of ten: 0.03125, 3.142, 36603."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text


def as_given(value: Any) -> str:
    """Write a price or a budget with the digits that users give: 1120.5, where `plain` writes 1120; a text stays."""
    return value if isinstance(value, str) else plain(float(value), 9)


def hint_at_comma(value: object) -> str:
    """Say how a number with a decimal comma is to be written, and nothing of any other value."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+,\d+\s*", value):
        return f"; write {value.strip().replace(',', '.')}, with a decimal point"
    return ""


def number_of(value: Any, name: str) -> float:
    """Read a number.

    Parameters
    ----------
    value : number or str
    name : str
        What it is the value of, for the error message.

    Raises
    ------
    ValueError
        It is no number, or a text with underscores.
    """
    try:
        if isinstance(value, str) and "_" in value:
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {value!r}{hint_at_comma(value)}") from None
    except OverflowError:
        raise ValueError(f"{name}: expected a number below 2^1024, got a larger integer") from None


def listed(words: Iterable[str], joint: str = "or") -> str:
    """Join words by commas and, before the last, by another word."""
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last
