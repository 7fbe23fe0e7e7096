"""What an experiment is, and how one is run: cell by cell, so that an interruption loses only the cells under way."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from ipforest._internal.arrays import one_line
from ipforest._internal.claims import Claims
from ipforest._internal.files import write_figure, write_text
from ipforest._internal.parent_process import end_with_parent
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.records import object_of, records_to_csv
from ipforest._internal.undisturbed import started_without_interrupts
from ipforest.datasets import DATA_VARIABLE
from ipforest.experiments.paper_data import available, digests

Cell: TypeAlias = dict[str, Any]
Record: TypeAlias = dict[str, Any]

OURS = "ours"
"""The setting that every experiment has, its default."""

WAIT_S = 1.0
"""Seconds between two looks at the cells of another process."""

PACKAGES = ("ipforest", "numpy", "scipy", "scikit-learn", "numba", "joblib")


PARTS_OF_CELL = {"cell": dict, "seconds": float, "records": list, "data": dict}
"""What the file of a finished cell holds; "data" says of which files, as `Experiment.data_of` gives them."""


class Steps(NamedTuple):
    """What an experiment does.

    Parameters
    ----------
    cells : callable (quick, seed) -> list of dict
        The independent pieces of work, each told by JSON values alone: data set, seed, sizes.
    run : callable (cell) -> list of dict
        Does one piece of work.
    summarise : callable (records) -> list of dict
        The rows of the table, the paper's figures with ours.
    draw : callable (records, rows) -> Figure
    """

    cells: Callable[[bool, int], list[Cell]]
    run: Callable[[Cell], list[Record]]
    summarise: Callable[[list[Record]], list[Record]]
    draw: Callable[[list[Record], list[Record]], Figure]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        ``PAPER/PART``, what the command line calls it.
    title, source : str
        What is measured, and where it is printed.
    steps : Steps
    differs : tuple of str
        Sentences that say where the protocol is not the paper's, or what the figures depend on.
    quick : str
        What a quick run is of.
    settings : mapping of str to str
        The settings of the methods by name, each with a sentence that says what it is: "printed" (as the paper says),
        "authors" (as its authors ran it), and always "ours". A cell of another setting than "ours" has its name under
        "settings".
    unaffected : callable (cell) -> bool
        Whether a cell is the same under all settings; it is then run once for all of them.
    data : tuple of str
        The data sets that are needed, one of them at least, by the names of `ipforest.experiments.paper_data`.
    minutes : float, optional
        An estimate of the CPU minutes that all cells take.
    printed : tuple of str
        Sentences that say what the paper prints, where the rows do not have it.
    reasons : tuple of str
        Sentences that say why ours differs from the print, each with the experiment that shows it.
    condense : callable (rows) -> list of dict
        What the page of reproduction shows of the rows.
    """

    name: str
    title: str
    source: str
    steps: Steps
    differs: tuple[str, ...] = ()
    quick: str = ""
    settings: Mapping[str, str] = field(default_factory=lambda: {OURS: "as the methods are by default in this package"})
    unaffected: Callable[[Cell], bool] = lambda cell: False
    data: tuple[str, ...] = ()
    minutes: float | None = None
    printed: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    condense: Callable[[list[Record]], list[Record]] = list

    def differences(self, *, quick: bool) -> list[str]:
        """List where a run, or a quick one, is not the paper's."""
        return [*self.differs, f"quick: {self.quick}"] if quick and self.quick else [*self.differs]

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return self.name.replace("/", "-")

    def stem_of(self, settings: str) -> str:
        """Return what the names of the files of a setting begin with."""
        return self.stem if settings == OURS else f"{self.stem}-{settings}"

    def cells_of(self, settings: str, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        """List the cells of a setting, none where none of the data sets is there.

        Raises
        ------
        ValueError
            The experiment has no such setting.
        """
        if settings not in self.settings:
            raise ValueError(f"settings: expected one of {', '.join(self.settings)} for {self.name}, got {settings!r}")
        if self.data and not any(map(available, self.data)):
            return []
        cells = self.steps.cells(quick, seed)
        return [cell if settings == OURS or self.unaffected(cell) else {**cell, "settings": settings} for cell in cells]

    def data_of(self, cell: Cell) -> dict[str, str]:
        """Return the files of the data folder that a cell is about, by name, each with a hash of its content."""
        return digests([cell["data"]] if "data" in cell else self.data)

    def files(self, directory: str | Path, cells: list[Cell]) -> list[Path]:
        """List where the results of cells are kept."""
        return [Path(directory) / "cells" / f"{self.stem}-{_key(cell)}.json" for cell in cells]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What a run of an experiment gave.

    Parameters
    ----------
    experiment : Experiment
    quick : bool
    seed : int
    settings : str
    rows : list of dict
        The table.
    records : list of dict
        What the cells gave, each with its cell.
    cells : list of dict
        Those that are finished.
    differences : list of str
    versions : dict
    seconds : float
        CPU seconds of all finished cells, those of earlier runs included.
    unfinished : int
        Cells that the time did not suffice for; the rows say how many runs they are of.
    """

    experiment: Experiment
    quick: bool
    seed: int
    settings: str
    rows: list[Record]
    records: list[Record]
    cells: list[Cell]
    differences: list[str]
    versions: dict[str, str]
    seconds: float
    unfinished: int

    def about(self) -> dict[str, Any]:
        """Return what was run: setting, seeds, sizes, versions and time, without its results."""
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "source": self.experiment.source,
            "settings": self.settings,
            "quick": self.quick,
            "seed": self.seed,
            "cells": {
                key: _values(self.cells, key) for key in dict.fromkeys(key for cell in self.cells for key in cell)
            },
            "differences": self.differences,
            "versions": self.versions,
            "seconds": round(self.seconds, 1),
            "unfinished_cells": self.unfinished,
        }

    def to_json(self) -> str:
        """Return everything but the picture as JSON."""
        return json.dumps({**self.about(), "rows": self.rows, "records": self.records}, indent=1)

    def write(self, directory: Path) -> list[Path]:
        """Write PAPER-PART.csv (the table), -records.csv, .json (what was run) and .png; return their paths.

        The names of a setting other than "ours" begin with PAPER-PART-SETTING. The page of reproduction is made of
        the tables and of the .json.
        """
        name = self.experiment.stem_of(self.settings)
        paths = [directory / f"{name}{ending}" for ending in (".csv", "-records.csv", ".json", ".png")]
        write_text(paths[0], records_to_csv(self.rows))
        write_text(paths[1], records_to_csv(self.records))
        write_text(paths[2], json.dumps(self.about(), indent=1) + "\n")
        write_figure(paths[3], self.experiment.steps.draw(self.records, self.rows))
        return paths


def settings_of(cell: Cell) -> str:
    """Return the setting of a cell."""
    return str(cell.get("settings", OURS))


def read_cell(file: Path) -> dict[str, Any]:
    """Read what a finished cell gave.

    Raises
    ------
    ValueError
        The file holds something else; the message names it.
    """
    try:
        found = object_of(file.read_text(encoding="utf-8"))
        found = {"data": {}, **found}
        for key, kind in PARTS_OF_CELL.items():
            if not isinstance(found.get(key), kind):
                raise ValueError(f"{found.get(key)!r} for {key}")
        if not all(isinstance(record, dict) for record in found["records"]):
            raise ValueError("records that are no objects")
    except ValueError as problem:
        raise ValueError(
            f"{file}: expected the results of a finished cell (delete it to run the cell again), got: {problem}"
        ) from None
    return found


def _finished(experiment: Experiment, cells: list[Cell], files: list[Path]) -> list[dict[str, Any]]:
    """Read what is there of the results of cells; those of other cells or of other data are refused."""
    finished = []
    for cell, file in zip(cells, files, strict=True):
        if not file.exists():
            continue
        found = read_cell(file)
        if found["cell"] != json.loads(json.dumps(cell)):
            raise ValueError(f"{file}: expected the results of {cell}, got those of {found['cell']}; delete it")
        data = experiment.data_of(cell)
        changed = [name for name, digest in found["data"].items() if data.get(name) != digest]
        if changed:
            raise ValueError(
                f"{file}: expected results on the file {changed[0]}.npz of the data folder as it is now, got those on "
                "another; delete them to run their cells again, or use another folder"
            )
        finished.append(found)
    return finished


def reproduce(
    experiment: Experiment,
    directory: str | Path,
    *,
    quick: bool = False,
    seed: int = 0,
    settings: str = OURS,
    n_jobs: int | None = None,
    minutes: float | None = None,
    progress: ProgressCallback = silent,
) -> Reproduction:
    """Run an experiment, but for the cells that an earlier run in the same folder has finished.

    Several processes may work in one folder: each cell is run by one of them, and each waits for the others' cells.

    Parameters
    ----------
    experiment : Experiment
    directory : path
        Finished cells are kept in its folder ``cells``.
    quick : bool
        Small sizes and few seeds: a few minutes.
    seed : int
        The first seed.
    settings : str
        One of the experiment's settings.
    n_jobs : int, optional
        Cells at once; `joblib.parallel_config` chooses where (a Dask cluster, say).
    minutes : float, optional
        Begin no cell after so many minutes; the table is then of the finished cells.
    progress : callable

    Raises
    ------
    ValueError
        The experiment has no such setting, or a finished cell is damaged; the message names the file.
    FileNotFoundError
        A data set that is needed, or each of several, is not there.
    TimeoutError
        No cell was finished in time.
    """
    last_start = monotonic() + (np.inf if minutes is None else 60 * minutes)
    cells = experiment.cells_of(settings, quick=quick, seed=seed)
    if not cells:
        raise FileNotFoundError(
            f"{experiment.name}: expected one of its data sets ({', '.join(experiment.data)}) in the folder that "
            f"{DATA_VARIABLE} names, got none: see `ipforest data`"
        )
    files = experiment.files(directory, cells)
    files[0].parent.mkdir(parents=True, exist_ok=True)
    _finished(experiment, cells, files)  # what cannot be used is told before any work
    earlier = {file for file in files if file.exists()}
    _run_waiting(experiment, dict(zip(files, cells, strict=True)), n_jobs, last_start, progress)
    finished = _finished(experiment, cells, files)
    if not finished:
        raise TimeoutError(f"minutes: expected enough for the first of {len(cells)} cells, got {minutes}")
    records_of = [[{**entry["cell"], **record} for record in entry["records"]] for entry in finished]
    rows = _summarised(experiment, dict(zip(filter(Path.exists, files), records_of, strict=True)), earlier)
    return Reproduction(
        experiment=experiment,
        quick=quick,
        seed=seed,
        settings=settings,
        rows=rows,
        records=[*chain.from_iterable(records_of)],
        cells=[entry["cell"] for entry in finished],
        differences=experiment.differences(quick=quick),
        versions={"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        seconds=sum(entry["seconds"] for entry in finished),
        unfinished=len(cells) - len(finished),
    )


def _values(cells: list[Cell], key: str) -> list[Any]:
    """List the values that a key of cells has, each once."""
    return list({json.dumps(cell[key]): cell[key] for cell in cells if key in cell}.values())


def _key(cell: Cell) -> str:
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:16]


def _run_waiting(
    experiment: Experiment,
    cell_of: Mapping[Path, Cell],
    n_jobs: int | None,
    last_start: float,
    progress: ProgressCallback,
) -> None:
    """Run the cells that have no file, but for those that another process runs; wait for these, and see to the rest."""

    def told(what: str) -> None:
        progress(sum(file.exists() for file in cell_of) / len(cell_of), what)

    with Claims() as claims:
        while not all(file.exists() for file in cell_of) and monotonic() < last_start:
            work = _claimed(experiment, cell_of, claims, last_start)
            first = next(work, None)
            if first is None:
                told("waiting for another process that works in the same folder")
                sleep(WAIT_S)
                continue
            with started_without_interrupts():  # a call is made when a worker is free for it, and begins at once
                parallel = Parallel(n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
                results = parallel(chain([first], work))
            for file, records, seconds in results:
                cell = cell_of[file]
                found = {"cell": cell, "seconds": seconds, "records": records, "data": experiment.data_of(cell)}
                write_text(file, json.dumps(found))
                claims.release(file)
                told(" ".join(map(str, cell.values())))


def _claimed(
    experiment: Experiment, cell_of: Mapping[Path, Cell], claims: Claims, last_start: float
) -> Iterator[tuple[Any, ...]]:
    """Give a call for each cell that is neither finished nor claimed by another process, while there is time."""
    for file, cell in cell_of.items():
        if monotonic() >= last_start:
            return
        if file.exists() or not claims.take(file):
            continue
        if file.exists():  # finished before it was claimed
            claims.release(file)
        else:
            yield delayed(_run_cell)(experiment.steps.run, file, cell)


def _run_cell(run: Callable[[Cell], list[Record]], file: Path, cell: Cell) -> tuple[Path, list[Record], float]:
    end_with_parent()
    start = process_time()
    records = run(cell)
    return file, records, process_time() - start


def _summarised(
    experiment: Experiment, records_of: Mapping[Path, list[Record]], earlier: Collection[Path]
) -> list[Record]:
    """Make the table; where that fails on records of an earlier run, name the file that is unlike the others."""
    try:
        return experiment.steps.summarise([*chain.from_iterable(records_of.values())])
    except (LookupError, TypeError, ValueError) as problem:
        suspects = [file for file in records_of if file in earlier]
        if not suspects:
            raise
        likeness = {
            file: (_likeness(file, records_of, frozenset), _likeness(file, records_of, _kinds)) for file in suspects
        }
        raise ValueError(
            f"{min(suspects, key=likeness.__getitem__)}: expected the records of a finished cell (delete it to run the "
            f"cell again), got some that make no table: {type(problem).__name__}: {one_line(problem)}"
        ) from problem


def _likeness(file: Path, records_of: Mapping[Path, list[Record]], shape_of: Callable[[Record], Hashable]) -> int:
    """Count the files that have records of a shape, or have none, as one file: for the shape in which the fewest do."""
    shapes_of = {other: set(map(shape_of, records)) for other, records in records_of.items()}
    return min(
        sum((shape in others) == (shape in shapes_of[file]) for others in shapes_of.values())
        for shape in set().union(*shapes_of.values())
    )


def _kinds(record: Record) -> Hashable:
    return frozenset((key, type(value)) for key, value in record.items())
