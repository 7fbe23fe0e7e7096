"""Names that people type, matched to names that exist: the same but for case and blanks, or the closest for a hint."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches


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


def closest(name: str | None, candidates: Iterable[str]) -> str:
    """Return the hint of an error message: the candidate nearest to a misspelt name, or nothing."""
    by_key = {folded(candidate): candidate for candidate in candidates}
    near = get_close_matches(folded(str(name)), list(by_key), n=1, cutoff=0.5)
    return f"; the closest is {by_key[near[0]]!r}" if near else ""
