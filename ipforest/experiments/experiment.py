"""What an experiment is, and how one is run: cell by cell, so that an interruption loses only the cells under way."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from ipforest._internal.files import write_file, write_text
from ipforest._internal.kernels import clock
from ipforest._internal.records import json_object, records_to_csv
from ipforest.datasets import DATA_VARIABLE
from ipforest.progress import ProgressCallback, silent

Cell: TypeAlias = dict[str, Any]
Record: TypeAlias = dict[str, Any]

PACKAGES = ("ipforest", "numpy", "scipy", "scikit-learn", "numba", "joblib")


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        ``PAPER/PART``, what the command line calls it.
    title, source : str
        What is measured, and where it is printed.
    cells : callable (quick, seed) -> list of dict
        The independent pieces of work, each told by JSON values alone: data set, seed, sizes.
    run : callable (cell) -> list of dict
        Does one piece of work.
    summarise : callable (records) -> list of dict
        The rows of the table, the paper's figures with ours.
    draw : callable (records, rows) -> Figure
    differences : callable (quick) -> list of str
        Where the protocol is not the paper's.
    """

    name: str
    title: str
    source: str
    cells: Callable[[bool, int], list[Cell]]
    run: Callable[[Cell], list[Record]]
    summarise: Callable[[list[Record]], list[Record]]
    draw: Callable[[list[Record], list[Record]], Figure]
    differences: Callable[[bool], list[str]]

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return self.name.replace("/", "-")

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
    rows : list of dict
        The table.
    records : list of dict
        What the cells gave, each with its cell.
    differences : list of str
    versions : dict
    seconds : float
        Work of all finished cells, those of earlier runs included.
    unfinished : int
        Cells that the time did not suffice for; the rows say how many runs they are of.
    """

    experiment: Experiment
    quick: bool
    seed: int
    rows: list[Record]
    records: list[Record]
    differences: list[str]
    versions: dict[str, str]
    seconds: float
    unfinished: int

    def to_json(self) -> str:
        """Return everything but the picture as JSON."""
        about = {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "source": self.experiment.source,
            "quick": self.quick,
            "seed": self.seed,
            "differences": self.differences,
            "versions": self.versions,
            "seconds": round(self.seconds, 1),
            "unfinished_cells": self.unfinished,
        }
        return json.dumps({**about, "rows": self.rows, "records": self.records}, indent=1)

    def write(self, directory: Path) -> list[Path]:
        """Write PAPER-PART.csv (the table), -records.csv, .json and .png; return their paths."""
        name = self.experiment.stem
        paths = [directory / f"{name}{ending}" for ending in (".csv", "-records.csv", ".json", ".png")]
        write_text(paths[0], records_to_csv(self.rows))
        write_text(paths[1], records_to_csv(self.records))
        write_text(paths[2], self.to_json())
        figure = self.experiment.draw(self.records, self.rows)
        write_file(paths[3], lambda path: figure.savefig(path, dpi=150, bbox_inches="tight"))
        return paths


def _read_cell(file: Path) -> dict[str, Any]:
    """Read what a finished cell gave."""
    try:
        return json_object(file.read_text())
    except ValueError as problem:
        raise ValueError(
            f"{file}: expected the results of a finished cell (delete it to run the cell again), got: {problem}"
        ) from None


def reproduce(
    experiment: Experiment,
    directory: str | Path,
    *,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    minutes: float | None = None,
    progress: ProgressCallback = silent,
) -> Reproduction:
    """Run an experiment, but for the cells that an earlier run in the same folder has finished.

    Parameters
    ----------
    experiment : Experiment
    directory : path
        Finished cells are kept in its folder ``cells``.
    quick : bool
        Small sizes and few seeds: a few minutes.
    seed : int
        The first seed.
    n_jobs : int, optional
        Cells at once; `joblib.parallel_config` chooses where (a Dask cluster, say).
    minutes : float, optional
        Begin no cell after so many minutes; the table is then of the finished cells.
    progress : callable

    Raises
    ------
    FileNotFoundError
        A data set that is needed, or each of several, is not there.
    TimeoutError
        No cell was finished in time.
    """
    last_start = monotonic() + (np.inf if minutes is None else 60 * minutes)
    cells = experiment.cells(quick, seed)
    if not cells:
        raise FileNotFoundError(
            f"{experiment.name}: expected one of its data sets in the folder that {DATA_VARIABLE} names, got none: "
            "see `ipforest data`"
        )
    files = experiment.files(directory, cells)
    files[0].parent.mkdir(parents=True, exist_ok=True)
    waiting = [(cell, file) for cell, file in zip(cells, files, strict=True) if not file.exists()]
    done = len(cells) - len(waiting)
    work = (
        delayed(_run_cell)(experiment.run, number, cell)
        for number, (cell, _) in enumerate(waiting)
        if monotonic() < last_start
    )
    for number, records, seconds in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work):
        cell, file = waiting[number]
        write_text(file, json.dumps({"cell": cell, "seconds": seconds, "records": records}))
        done += 1
        progress(done / len(cells), " ".join(str(value) for value in cell.values()))
    if done == 0:
        raise TimeoutError(f"minutes: expected enough for the first of {len(cells)} cells, got {minutes}")
    finished = [_read_cell(file) for file in files if file.exists()]
    records = [{**entry["cell"], **record} for entry in finished for record in entry["records"]]
    return Reproduction(
        experiment=experiment,
        quick=quick,
        seed=seed,
        rows=experiment.summarise(records),
        records=records,
        differences=experiment.differences(quick),
        versions={"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        seconds=sum(entry["seconds"] for entry in finished),
        unfinished=len(cells) - done,
    )


def _key(cell: Cell) -> str:
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:16]


def _run_cell(run: Callable[[Cell], list[Record]], number: int, cell: Cell) -> tuple[int, list[Record], float]:
    start = clock()
    records = run(cell)
    return number, records, clock() - start
