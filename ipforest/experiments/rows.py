"""Records of runs put together: groups of them, means over runs, gains run by run, and panels of a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from ipforest._internal.arrays import FloatArray
from ipforest.experiments.experiment import Record

MEAN = "mean"
"""Stands for the data set in rows of means over all of them."""


def grouped(records: Iterable[Record], *keys: str) -> dict[tuple[Any, ...], list[Record]]:
    """Put records of the same values of some keys together, both in their order."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    return groups


def with_mean(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Give each data set with its records, and at last, where there are several, `MEAN` with all of them."""
    sets = [(data, of_data) for (data,), of_data in grouped(records, "data").items()]
    return [*sets, (MEAN, list(records))] if len(sets) > 1 else sets


def standard_error(values: npt.ArrayLike) -> float:
    """Compute the standard error of a mean; 0 of fewer than two values."""
    sample = np.asarray(values, dtype=np.float64)
    return float(sample.std(ddof=1) / np.sqrt(sample.size)) if sample.size > 1 else 0.0


def mean_and_error(name: str, values: Sequence[float] | FloatArray) -> Record:
    """Give a mean, 0 of no values, and its standard error, as ``name`` and ``name_se``."""
    return {name: float(np.mean(values)) if len(values) else 0.0, f"{name}_se": standard_error(values)}


def mean_and_deviation(records: Sequence[Record], keys: Iterable[str]) -> Record:
    """Average keys over runs; the sample standard deviation of one run is 0."""
    row: Record = {}
    for key in keys:
        values = np.array([record[key] for record in records])
        row[key] = round(float(values.mean()), 5)
        row[f"{key}_sd"] = round(float(values.std(ddof=1)) if values.size > 1 else 0.0, 5)
    return row


def averaged(records: Iterable[Record], keys: Sequence[str], measures: Sequence[str]) -> list[Record]:
    """Make a row per group of records: the keys that tell it from others, means and deviations, the number of runs."""
    return [
        {**dict(zip(keys, key, strict=True)), **mean_and_deviation(same, measures), "runs": len(same)}
        for key, same in grouped(records, *keys).items()
    ]


def compared(records: Iterable[Record], keys: Sequence[str], columns: Sequence[str], **reference: Any) -> list[Record]:
    """Make a row per group of records: the keys that tell it from others, some columns, and the number of runs.

    Parameters
    ----------
    records : iterable of dict
    keys : sequence of str
    columns : sequence of str
        Means over runs, and with ``_se`` their standard errors. "gain" is by how much the error is below that of a
        reference, run by run.
    **reference
        What of a group's keys is another in its reference: the value there, or a function that gives it for a group's.
    """
    groups, rows = grouped(records, *keys), list[Record]()
    for key, runs in groups.items():
        group = dict(zip(keys, key, strict=True))
        other = {name: of(group[name]) if callable(of) else of for name, of in reference.items()}
        gain, measured = _gains(runs, groups.get(tuple((group | other).values()), [])), dict[str, float]()
        for name in (column.removesuffix("_se") for column in columns):
            measured |= mean_and_error(name, gain if name == "gain" else [run[name] for run in runs])
        rows.append({**group, **{column: measured[column] for column in columns}, "runs": len(runs)})
    return rows


def _gains(runs: Sequence[Record], reference: Sequence[Record]) -> list[float]:
    """Subtract the error of each run from that of the reference with the same seed, where there is one."""
    errors = {run["seed"]: run["error"] for run in reference}
    return [errors[run["seed"]] - run["error"] for run in runs if run["seed"] in errors]


def panels(
    rows: Iterable[Record], *keys: str, width: float, height: float, n_columns: int | None = None
) -> tuple[Figure, Iterator[tuple[Any, list[Record], Any]]]:
    """Make a figure with a panel per group of rows, side by side.

    Parameters
    ----------
    rows : iterable of dict
    *keys : str
        What tells the panels apart.
    width, height : float
        Of a panel, in inches.
    n_columns : int, optional
        Most panels in a line; by default all.

    Returns
    -------
    figure : Figure
    panels : iterator of (key, rows, axes)
        The key is a tuple only where there are several.
    """
    groups = grouped(rows, *keys)
    across = min(n_columns or len(groups), len(groups))
    down = -(-len(groups) // across)
    figure = Figure(figsize=(width * across, height * down), layout="constrained")
    named = (key[0] if len(keys) == 1 else key for key in groups)
    axes = (figure.add_subplot(down, across, place + 1) for place in range(len(groups)))
    return figure, zip(named, groups.values(), axes, strict=True)


def draw_line(
    axes: Any, rows: Sequence[Record], x: str, y: str, *fmt: str, spread: str = "", scale: float = 1, **style: Any
) -> None:
    """Draw a column of rows, times a scale, over another one, with bars as long as a third says if it is named."""
    points = [row[x] for row in rows], [scale * row[y] for row in rows]
    if spread:
        axes.errorbar(*points, [scale * row[spread] for row in rows], **style)
    else:
        axes.plot(*points, *fmt, **style)


def draw_errors(axes: Any, rows: Sequence[Record], methods: Sequence[str], dashed: Sequence[str] = ()) -> None:
    """Draw the errors of methods within budgets of features, in per cent, with standard errors."""
    for method in methods:
        line = [row for row in rows if row["method"] == method]
        style = {"label": method, "marker": ".", "linestyle": "--" if method in dashed else "-"}
        draw_line(axes, line, "budget", "error", spread="error_se", scale=100, **style)
    axes.set(xlabel="features bought on average, at most", ylabel="test error, %")
