"""The page of reproduction: every table and figure of the papers, made from the committed records alone."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ipforest._internal.records import json_object, records_to_markdown
from ipforest._internal.words import plain
from ipforest.datasets.distributed import SOURCES
from ipforest.experiments.experiment import Experiment, Record
from ipforest.experiments.papers import PAPERS, Paper, Part

PICTURES = "notebooks/images"
"""Where a page finds pictures, by the stems of the records."""

HEAD = """# The papers' tables and figures

Every table and figure of the five papers: what is printed, what we measured under each setting, and why the two differ.
The command `ipforest reproduce --page docs/papers-tables.md` makes this page from the records in `notebooks/results`
and from what each experiment says of itself; a test compares the two. Settings: `ours` is how a method works here by
default, `printed` what the paper says, `authors` what the program that its authors published does.
"""


class Kept(NamedTuple):
    """A committed record: the setting, the rows, what was run if it is known, and the name of its picture, if any."""

    settings: str
    rows: list[Record]
    about: dict[str, Any] | None
    picture: str | None


def make_page(records: str | Path) -> str:
    """Write the page.

    Parameters
    ----------
    records : path
        The folder of the committed records, PAPER-PART[-SETTING].csv and .json; pictures are in the folder ``images``
        next to it.

    Raises
    ------
    FileNotFoundError
        There is no such folder.
    """
    folder = Path(records)
    if not folder.is_dir():
        raise FileNotFoundError(f"records: expected the folder of the committed records, got {str(folder)!r}")
    lines = [HEAD, *_overview(folder)]
    for paper in PAPERS:
        lines += [f"\n## {paper.title}\n", f"{paper.place}.\n"]
        for part in paper.parts:
            lines += _part(paper, part, folder)
    return "\n".join(lines) + "\n"


def _overview(folder: Path) -> Iterator[str]:
    """List all parts and their state."""
    yield "| paper | part | state |\n| --- | --- | --- |"
    for paper in PAPERS:
        for part in paper.parts:
            experiment = paper.experiment(part)
            yield f"| {paper.title} | {part.label} | {_state(part, experiment, folder)} |"


def _state(part: Part, experiment: Experiment | None, folder: Path) -> str:
    if experiment is None:
        return part.told or "no experiment"
    kept = _kept(experiment, folder)
    missing = _missing(experiment, kept)
    found = f"recorded under {', '.join(record.settings for record in kept)}" if kept else "no record"
    lacking = f"; without {', '.join(missing)}" if missing else ""
    return f"`{experiment.name}`: {found}{lacking}"


def _part(paper: Paper, part: Part, folder: Path) -> Iterator[str]:
    """Describe one table or figure."""
    yield f"### {paper.room}: {part.label}\n"
    yield f"{part.shows} {part.told}".strip() + "\n"
    experiment = paper.experiment(part)
    if experiment is None:
        if not part.told:
            yield "No experiment repeats it.\n"
        return
    kept = _kept(experiment, folder)
    for sentence in experiment.printed:
        yield f"- In print: {_ended(sentence)}"
    for name, meaning in experiment.settings.items():
        yield f"- Setting `{name}`: {_ended(meaning)}"
    for record in kept:
        yield f"- Record under `{record.settings}`: {_run(record)}"
    if not kept:
        yield f"- No record is committed; `ipforest reproduce {experiment.name}` makes it."
    for name in _missing(experiment, kept):
        yield f"- Not in the records: {name}{_origin(name)}."
    yield from _points("Not as in the paper", experiment.differences(quick=False))
    yield from _points("Why ours differs from the print", experiment.reasons)
    yield ""
    if kept:
        yield from _tables(experiment, kept)
        for record in kept:
            if record.picture is not None:
                yield f"![{experiment.title}, {record.settings}]({PICTURES}/{record.picture})\n"


def _points(heading: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield f"- {heading}:"
        for sentence in sentences:
            yield f"  - {_ended(sentence)}"


def _kept(experiment: Experiment, folder: Path) -> list[Kept]:
    """Read the records of an experiment, one per setting."""
    found = []
    for settings in experiment.settings:
        stem = experiment.stem_of(settings)
        table, about = folder / f"{stem}.csv", folder / f"{stem}.json"
        picture = folder.parent / "images" / f"{stem}.png"
        if table.is_file():
            with table.open(newline="", encoding="utf-8") as lines:
                rows: list[Record] = list(csv.DictReader(lines))
            known = json_object(about.read_text(encoding="utf-8")) if about.is_file() else None
            found.append(Kept(settings, rows, known, picture.name if picture.is_file() else None))
    return found


def _missing(experiment: Experiment, kept: Sequence[Kept]) -> list[str]:
    """List the data sets of an experiment that no record has rows of."""
    rows = [row for record in kept for row in record.rows]
    if not rows or "data" not in rows[0]:
        return []
    measured = {row["data"] for row in rows}
    return [name for name in experiment.data if name not in measured]


def _origin(name: str) -> str:
    """Say where a data set is to be had."""
    source = SOURCES.get(name)
    return "" if source is None else f"; `ipforest data {name} FILE` takes in {source.files}, from {source.origin}"


def _run(record: Kept) -> str:
    """Say what was run: seeds, sizes, versions and time."""
    if record.about is None:
        return "made by an earlier version of the experiment, which did not keep seeds, sizes and versions."
    about = record.about
    sizes = "; ".join(f"{key} {_listed(values)}" for key, values in about["cells"].items() if key != "settings")
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items() if name != "ipforest")
    unfinished = f"; {about['unfinished_cells']} cells of it were not run" if about["unfinished_cells"] else ""
    note = f" {_ended(about['note'])}" if "note" in about else ""
    quick = "a quick run; " if about["quick"] else ""
    return f"{quick}{sizes}; {about['seconds'] / 60:.3g} CPU minutes{unfinished} ({versions}).{note}"


def _listed(values: Sequence[Any]) -> str:
    """Write the values of a key of cells; whole numbers in a row as a range."""
    if len(values) > 2 and all(type(value) is int for value in values):
        ordered = sorted(values)
        if ordered == list(range(ordered[0], ordered[-1] + 1)):
            return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join("all" if value is None else str(value) for value in values)


def _tables(experiment: Experiment, kept: list[Kept]) -> Iterator[str]:
    """Write what the page shows of the rows of all settings, a table for each run of lines of the same columns."""
    several = len(kept) > 1
    lines = [
        {**({"settings": record.settings} if several else {}), **line}
        for record in kept
        for line in experiment.condense(record.rows)
    ]
    if several:
        order = {tuple(line)[1:]: place for place, line in reversed(list(enumerate(lines)))}
        lines.sort(key=lambda line: order[tuple(line)[1:]])
    for columns, group in groupby(lines, key=tuple):
        names = [name.replace("_", " ") for name in columns]
        yield records_to_markdown([dict(zip(names, map(_short, line.values()), strict=True)) for line in group])
        yield ""


def _short(value: Any) -> str:
    text = str(value)
    try:
        return plain(float(text))
    except ValueError:
        return text


def _ended(sentence: str) -> str:
    """End a sentence with a full stop."""
    return sentence if sentence.endswith((".", ":")) else f"{sentence}."
