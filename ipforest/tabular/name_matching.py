"""Names and labels as people write them, matched to those that exist: in another case, as 1.0 for 1, or nearly so."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

NUMERAL = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?")
"""A number, but no code such as 007 or 1E1."""
TRUTHS = ("true", "false")


def folded(name: str) -> str:
    """Write a name without case, blanks around it and differences of encoding."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def matched_names(wanted: Iterable[str], present: Iterable[str]) -> dict[str, str]:
    """Match each wanted name to itself, else to the only name that differs by case and blanks alone.

    Returns
    -------
    dict of str to str
        By wanted name; those without a match, or with several, are left out.
    """
    wanted, present = dict.fromkeys(wanted), dict.fromkeys(present)
    found = {name: name for name in wanted if name in present}
    if len(found) == len(wanted):
        return found
    free = [(folded(name), name) for name in present if name not in found]
    counts = Counter(key for key, _ in free)
    by_key = {key: name for key, name in free if counts[key] == 1}
    asked = Counter(folded(name) for name in wanted if name not in found)
    return found | {
        name: by_key[folded(name)]
        for name in wanted
        if name not in found and folded(name) in by_key and asked[folded(name)] == 1
    }


def value_of(text: str) -> Hashable:
    """Return what a label says, however a program writes it: 1 and 1.0 are one number, True and TRUE one truth.

    Blanks around it say nothing.
    """
    text = text.strip()
    if NUMERAL.fullmatch(text):
        return Decimal(text)
    return text.lower() if text.lower() in TRUTHS else text


def matched_labels(texts: Iterable[str], labels: Iterable[Any]) -> dict[str, Any]:
    """Match each text to the label that is written so, else to the only one that says the same (`value_of`).

    Returns
    -------
    dict
        Labels by text; texts without a label, or with several, are left out.
    """
    by_name = {str(label): label for label in labels}
    counts = Counter(map(value_of, by_name))
    saying = {value_of(name): name for name in by_name if counts[value_of(name)] == 1}
    found = {text: text if text in by_name else saying.get(value_of(text)) for text in texts}
    return {text: by_name[name] for text, name in found.items() if name is not None}


def closest(name: str | None, candidates: Iterable[str]) -> str:
    """Return the hint of an error message: the candidate nearest to a misspelt name, or nothing."""
    by_key = {folded(candidate): candidate for candidate in candidates}
    near = get_close_matches(folded(str(name)), list(by_key), n=1, cutoff=0.5)
    return f"; the closest is {by_key[near[0]]!r}" if near else ""


def closest_column(name: str, candidates: Iterable[str], n_columns: int) -> str:
    """Return the hint where a file of so many columns lacks one: to give its separator, or the closest column."""
    one_cell = "; its lines have one cell each: say what separates cells (--sep)"
    return one_cell if n_columns == 1 else closest(name, candidates)
