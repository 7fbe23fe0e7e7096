"""Turney's files of test costs, as the UCI repository has them for five data sets: read, and written as a price list.

They stand next to each other: ``NAME.cost`` with "test: cost" a line, and, where there are any, ``NAME.expense`` with
"test: full cost, discounted cost", ``NAME.group`` with "test: group" and ``NAME.delay`` with "test: immediate" or
"test: delayed". Lines may end with a full stop. Source: P. Turney, README of 7 June 1995 in the repository.
"""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

__all__ = ["read_test_costs"]

DELAYS = {"immediate": False, "delayed": True}
AMOUNTS = (".cost", ".expense")
MAX_BYTES = 1 << 20
"""The largest of the files has less than a thousandth of it."""


def read_test_costs(path: str | Path) -> list[dict[str, Any]]:
    """Read the files of one data set.

    Parameters
    ----------
    path : path
        ``NAME.cost``, or another of the files, or their common beginning.

    Returns
    -------
    list of dict
        One per test: feature, cost, cost_in_group, group, delayed; what `ipforest.tabular` reads as a price list. Only
        groups in which the discounted cost differs are kept: others share nothing.

    Raises
    ------
    FileNotFoundError
        There is no ``.cost`` file.
    ValueError
        A line of another form, a test that is in one file only, costs that differ between files.
    """
    stem = Path(path)
    if stem.suffix in {".cost", ".expense", ".group", ".delay"}:
        stem = stem.with_suffix("")
    costs = _lines(stem, ".cost", needed=True)
    expenses, groups, delays = (_lines(stem, ending) for ending in (".expense", ".group", ".delay"))
    for ending, entries in ((".expense", expenses), (".group", groups), (".delay", delays)):
        strange = [test for test in entries if test not in costs]
        if strange:
            raise ValueError(f"{stem}{ending}: expected tests of {stem.name}.cost, got {strange[0]!r}")
    rows = []
    for test, (cost,) in costs.items():
        full, discounted = expenses.get(test, [cost, cost])
        if float(full) != float(cost):
            raise ValueError(f"{stem}.expense: expected the cost {cost} of {test!r} as in {stem.name}.cost, got {full}")
        in_group = float(discounted) != float(full)
        (delay,) = delays.get(test, ["immediate"])
        if delay not in DELAYS:
            raise ValueError(f"{stem}.delay: expected immediate or delayed for {test!r}, got {delay!r}")
        rows.append(
            {
                "feature": test,
                "cost": cost,
                "cost_in_group": discounted,
                "group": groups.get(test, [""])[0] if in_group else "",
                "delayed": int(DELAYS[delay]),
            }
        )
    return rows


def _lines(stem: Path, ending: str, needed: bool = False) -> dict[str, list[str]]:
    """Read "test: value, value" lines."""
    file = stem.with_name(stem.name + ending)
    if not file.is_file():
        if needed:
            raise FileNotFoundError(f"{file}: expected the file with the costs of the tests, got none")
        return {}
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"{file}: expected at most {MAX_BYTES} bytes, got {file.stat().st_size}")
    width = 2 if ending == ".expense" else 1
    entries: dict[str, list[str]] = {}
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as problem:
        raise ValueError(f"{file}: expected text in UTF-8, got: {problem}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        test, colon, rest = line.partition(":")
        values = [value.strip() for value in rest.strip().removesuffix(".").split(",")]
        if not colon or len(values) != width or not all(values):
            raise ValueError(f"{file}, line {number}: expected a test, a colon, {width} values, got {line.strip()!r}")
        if ending in AMOUNTS and not all(map(_is_amount, values)):
            raise ValueError(f"{file}, line {number}: expected finite numbers >= 0, got {line.strip()!r}")
        entries[test.strip()] = values
    return entries


def _is_amount(value: str) -> bool:
    try:
        return 0 <= float(value) < inf
    except ValueError:
        return False
