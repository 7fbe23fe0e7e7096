"""The experiments by name: ``PAPER/PART`` is the file ``PART.py`` in the room ``PAPER`` next to this one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ipforest.experiments.experiment import Experiment

ROOMS = (
    *("budgetrf2015", "pruning2016", "budgetprune2016", "adapt2017", "cstc2014"),
    *("turney1995", "gdfs2023", "dime2024", "afabench2025"),
    "own",
)
"""The papers, and our own experiments."""


def names() -> list[str]:
    """List the names of all experiments, paper by paper; none is imported."""
    here = Path(__file__).parent
    return [
        f"{room}/{file.stem}"
        for room in ROOMS
        for file in sorted((here / room).glob("*.py"), key=lambda file: (len(file.stem), file.stem))
        if file.stem != "__init__"
    ]


def find(name: str) -> Experiment:
    """Import an experiment.

    Raises
    ------
    ValueError
        There is none of the name.
    """
    if name not in names():
        raise ValueError(f"name: expected one of {', '.join(names())}, got {name!r}")
    experiment: Experiment = import_module(f"ipforest.experiments.{name.replace('/', '.')}").EXPERIMENT
    return experiment
