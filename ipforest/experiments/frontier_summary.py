"""The frontier summed up: differences seed by seed, losses, areas, mean ranks, and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from scipy.stats import norm, rankdata, t

from ipforest._internal.arrays import Array
from ipforest._internal.axes import MARKERS, literal
from ipforest.experiments.critical_difference import MeanRanks, draw_ranks, rank_methods
from ipforest.experiments.experiment import Record
from ipforest.experiments.methods import FRONT_ENDS, METHODS, OURS
from ipforest.experiments.rows import grouped, mean_and_error, standard_error

__all__ = [
    "ALL",
    "AREA",
    "COMPOSED",
    "ERROR_OF_CLASSES",
    "ERROR_OF_NUMBERS",
    "REFERENCES",
    "areas_by_method",
    "draw",
    "losses",
    "mean_ranks",
    "sets_left_out",
    "summarise",
]

AREA = "area"
"""Stands for the budget in rows of the mean error over budgets on a logarithmic scale."""

ALL = "all"
"""Stands for the data set in rows of means over data sets."""

TINY = 1e-12

STANDARD_ERRORS = 2
"""How many paired standard errors a difference must exceed to count, at one budget looked at alone."""

ERROR_OF_CLASSES, ERROR_OF_NUMBERS = "test error, %", "squared test error, % of the variance"
"""What the error is of classes and of numbers."""

N_COLOURS, LINES = 10, ("-", "--", ":", "-.")
"""Colours of a picture, and how lines are drawn when these are used up."""

OF_CHOSEN = ("auc", "log_loss", "regret")
"""Means of the chosen options: area under the ROC curve, log loss, and error less the least in hindsight, in points."""


class Composed(NamedTuple):
    """A method made of others: the one of least validation error, chosen seed by seed and budget by budget.

    Parameters
    ----------
    members : tuple of str
        Of `METHODS`.
    mixes : bool
        Whether each may mix two of its options at random.
    """

    members: tuple[str, ...]
    mixes: bool = False


OTHERS = tuple(name for name in METHODS if name not in OURS)

STOPPED_OTHERS = (*OTHERS, "CEGB early exit")

COMPOSED: Mapping[str, Composed] = {
    "best of others": Composed(OTHERS),
    "best of others, stopped": Composed(STOPPED_OTHERS),
    "best of others, stopped or mixed": Composed(STOPPED_OTHERS, mixes=True),
    "best of ours": Composed(OURS),
    "best of ours, mixed": Composed(OURS, mixes=True),
    **{f"{name}, mixed": Composed((name,), mixes=True) for name in FRONT_ENDS},
}
"""Of equal validation errors, up to rounding, the cheapest is taken. A peer's model with our stopping is on both sides.
"""

REFERENCES = {"": "best of others", "stopped_": "best of others, stopped", "mixed_": "best of others, stopped or mixed"}
"""What differences are from; the names of their columns begin so."""


def with_composed(records: Sequence[Record]) -> list[Record]:
    """Add what choosing among several methods on validation comes to; it takes the time of all of them."""
    chosen = []
    for group in grouped(records, "data", "seed", "budget").values():
        for name, (names, mixes) in COMPOSED.items():
            members = [_as_mixed(record) if mixes else record for record in group if record["method"] in names]
            if members:
                key = min(members, key=lambda record: (round(record["validation_error"], 9), record["validation_cost"]))
                chosen.append({**key, "method": name, "seconds": sum(record["seconds"] for record in members)})
    return [*records, *chosen]


def _as_mixed(record: Record) -> Record:
    """Give what a method comes to where it mixes in the place of what it comes to where it does not."""
    mixed = {name.removeprefix("mixed_"): value for name, value in record.items() if name.startswith("mixed_")}
    return {**record, **mixed}


def _of_chosen(records: Sequence[Record]) -> Record:
    """Average what the chosen options come to besides their errors; None where it is not known of one."""
    columns = zip(*((record["auc"], record["log_loss"], _regret(record)) for record in records), strict=True)
    return dict(zip(OF_CHOSEN, map(_known_mean, columns), strict=True))


def _regret(record: Record) -> float | None:
    hindsight = record["hindsight_error"]
    return None if hindsight is None else 100 * (record["error"] - hindsight)


def _known_mean(values: Sequence[float | None]) -> float | None:
    """Average, or None where one value is not known."""
    mean: float | None = _known_mean_and_error("mean", values)["mean"]
    return mean


def _known_mean_and_error(name: str, values: Sequence[float | None]) -> Record:
    """Average with the standard error, or None where there is nothing to average, or something is not known."""
    known = [value for value in values if value is not None]
    is_known = known and len(known) == len(values)
    return mean_and_error(name, known) if is_known else dict.fromkeys((name, f"{name}_se"))


def simultaneous_standard_errors(n_seeds: int, n_budgets: int) -> float | None:
    """Return how many paired standard errors a difference must exceed to count at some one of several budgets.

    With the probability of two standard errors of a normal mean, no mean of seeds exceeds it at any budget by chance:
    Student's distribution, Sidak's correction. None of fewer than two seeds.
    """
    if n_seeds < 2:
        return None
    level = 2 * norm.sf(STANDARD_ERRORS)
    return float(t.isf((1 - (1 - level) ** (1 / n_budgets)) / 2, n_seeds - 1))


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds: a row per data set, method and budget, and one for `AREA`, the mean over log budgets.

    Errors are in per cent; ``difference`` is to the best of others, seed by seed, ``relative`` the same in per cent of
    it, and ``difference_low`` the lower end of an interval that holds at all budgets of a data set together: above 0
    it is a loss. The columns that begin with ``stopped_`` and ``mixed_`` are differences to the stronger `REFERENCES`.
    All these are None where none of the others was run.
    ``auc``, ``log_loss`` and ``regret`` are those of `OF_CHOSEN`, None where a probability is not known.
    ``rank`` is the mean rank among the methods, 1 the best, and ``seconds`` the mean processor time of training. Rows
    of the data set `ALL` are means over the data sets that all methods finished, their standard errors those over
    data sets.
    """
    rows: list[Record] = []
    complete = with_composed(records)
    of_method = grouped(complete, "data", "method")
    for data, methods in _table(complete).items():
        ranks = _mean_ranks({name: runs for name, runs in methods.items() if name not in COMPOSED})
        for method, runs in methods.items():
            seeds, records_of = sorted(runs), of_method[data, method]
            seconds = _mean(list({record["seed"]: record["seconds"] for record in records_of}.values()))
            chosen = {budget: _of_chosen(at) for (budget,), at in grouped(records_of, "budget").items()}
            chosen[AREA] = _of_chosen(records_of)
            errors = _with_area(np.array([runs[seed][1] for seed in seeds]))
            budgets: tuple[float, ...] = runs[seeds[0]][0]
            compared = {prefix: _apart(runs, methods.get(name, {})) for prefix, name in REFERENCES.items()}
            columns: list[float | str] = [*budgets, AREA]
            for place, budget in enumerate(columns):
                row = {
                    "data": data,
                    "method": method,
                    "seeds": len(seeds),
                    "budget": budget,
                    **mean_and_error("error", errors[:, place]),
                }
                for prefix, (apart, relative) in compared.items():
                    needed = simultaneous_standard_errors(len(apart), 1 if budget == AREA else len(budgets))
                    row |= _known_mean_and_error(f"{prefix}difference", apart[:, place].tolist())
                    mean, spread = row[f"{prefix}difference"], row[f"{prefix}difference_se"]
                    row[f"{prefix}difference_low"] = None if needed is None else mean - needed * spread
                    row |= _known_mean_and_error(f"{prefix}relative", relative[:, place].tolist())
                rank = float(ranks[method][place]) if method in ranks else 0.0
                rows.append({**row, **chosen[budget], "rank": rank, "seconds": seconds})
    return rows + _over_all(rows)


def _apart(runs: Runs, reference: Runs) -> tuple[Array, Array]:
    """Subtract a reference seed by seed, in points and in per cent of it; no rows where there is none."""
    shared = sorted(runs.keys() & reference.keys())
    if not shared:
        nothing = np.empty((0, len(next(iter(runs.values()))[0]) + 1))
        return nothing, nothing
    own, others = (_with_area(np.array([line[seed][1] for seed in shared])) for line in (runs, reference))
    return own - others, 100 * (own - others) / np.maximum(others, TINY)


def is_behind(row: Record, prefix: str = "") -> bool:
    """Tell whether a method is behind a reference, if there is one, by two paired standard errors."""
    apart = row[f"{prefix}difference"]
    return apart is not None and bool(apart > STANDARD_ERRORS * row[f"{prefix}difference_se"])


def losses(rows: Sequence[Record], method: str, prefix: str = "") -> dict[str, int]:
    """Count the budgets at which a method is behind a reference.

    Parameters
    ----------
    rows : list of dict
        Of `summarise`; of two seeds at least, as one has no standard error.
    method : str
    prefix : str
        Of the reference; see `REFERENCES`.

    Returns
    -------
    dict
        Budgets of all data sets, those at which the method is behind by two standard errors, and those at which it is
        so by more than chance explains at any budget of the data set.
    """
    lines = [
        row
        for row in rows
        if row["method"] == method and row["budget"] != AREA and row["seeds"] > 1
        if row[f"{prefix}difference"] is not None
    ]
    return {
        "budgets": len(lines),
        "by two se": sum(is_behind(row, prefix) for row in lines),
        "simultaneously": sum((row[f"{prefix}difference_low"] or 0) > 0 for row in lines),
    }


def _over_all(rows: Sequence[Record]) -> list[Record]:
    """Average areas over the data sets that all methods finished; without two of them there is nothing to average."""
    areas = areas_by_method(rows)
    data_sets = list(next(iter(areas.values()), {}))
    if len(data_sets) < 2:
        return []
    found = mean_ranks(rows)
    ranks = {} if found is None else dict(zip(found.methods, found.ranks.tolist(), strict=True))
    measures = ["error", *(f"{prefix}{measure}" for prefix in REFERENCES for measure in ("difference", "relative"))]
    return [
        {
            "data": ALL,
            "method": method,
            "seeds": min(lines[data]["seeds"] for data in data_sets),
            "budget": AREA,
            **{
                name: value
                for measure in measures
                for name, value in _known_mean_and_error(measure, [lines[data][measure] for data in data_sets]).items()
            },
            **{f"{prefix}difference_low": None for prefix in REFERENCES},
            **{measure: _known_mean([lines[data][measure] for data in data_sets]) for measure in OF_CHOSEN},
            "rank": ranks.get(method, 0.0),
            "seconds": _mean([lines[data]["seconds"] for data in data_sets]),
        }
        for method, lines in areas.items()
    ]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def areas_by_method(rows: Sequence[Record]) -> dict[str, dict[str, Record]]:
    """Sort the rows of `AREA`: method, then data set; of those data sets only that have a row of every method."""
    areas: dict[str, dict[str, Record]] = {}
    for row in rows:
        if row["budget"] == AREA and row["data"] != ALL:
            areas.setdefault(row["method"], {})[row["data"]] = row
    complete = [row["data"] for row in rows if all(row["data"] in lines for lines in areas.values())]
    return {method: {data: lines[data] for data in dict.fromkeys(complete)} for method, lines in areas.items()}


def sets_left_out(rows: Sequence[Record]) -> str | None:
    """Name the data sets that are not in the means of `ALL`, and the methods that are missing there; None without."""
    of_data = {
        data: {line["method"] for line in lines} for (data,), lines in grouped(rows, "data").items() if data != ALL
    }
    methods = list(dict.fromkeys(row["method"] for row in rows))
    missing = {data: [name for name in methods if name not in found] for data, found in of_data.items()}
    told = [f"{data} ({', '.join(names)})" for data, names in missing.items() if names]
    if not told:
        return None
    finished = f"{len(of_data) - len(told)} of {len(of_data)} data sets"
    means = (
        f"Means are over {finished}, those that all methods finished"
        if any(row["data"] == ALL for row in rows)
        else f"There are no means, as all methods finished {finished}, and two are needed"
    )
    return (
        f"{means}. Left out, and what is missing there: {'; '.join(told)}. Leave these methods out to average over all "
        "data sets"
    )


def mean_ranks(rows: Sequence[Record]) -> MeanRanks | None:
    """Rank the methods by their areas, or return None where there are too few methods or data sets to test."""
    errors = {
        method: [row["error"] for row in lines.values()]
        for method, lines in areas_by_method(rows).items()
        if method not in COMPOSED
    }
    if len(errors) < 3 or len(next(iter(errors.values()))) < 2:
        return None
    return rank_methods(errors)


def _with_area(errors: Array) -> Array:
    """Add the mean over budgets, which lie evenly on a logarithmic scale, as a last column; in per cent."""
    return 100 * np.column_stack([errors, errors.mean(axis=1)])


Runs: TypeAlias = dict[int, tuple[tuple[float, ...], Array]]


def _table(records: Sequence[Record]) -> dict[str, dict[str, Runs]]:
    """Sort records: data set, method, seed; then budgets and test errors."""
    table: dict[str, dict[str, Runs]] = {}
    for (data, method, seed), line in grouped(records, "data", "method", "seed").items():
        budgets, errors = zip(*sorted((record["budget"], record["error"]) for record in line), strict=True)
        table.setdefault(data, {}).setdefault(method, {})[seed] = (budgets, np.array(errors))
    return table


def _mean_ranks(methods: dict[str, Runs]) -> dict[str, Array]:
    """Rank the methods at each budget and overall, on the seeds that all have; return their mean ranks, 1 the best."""
    seeds = set.intersection(*(set(runs) for runs in methods.values())) if methods else set()
    if not seeds:
        return {}
    errors = np.array([[runs[seed][1] for seed in sorted(seeds)] for runs in methods.values()])
    ranks = rankdata(errors, axis=0).mean(axis=1)
    return dict(zip(methods, np.column_stack([ranks, ranks.mean(axis=1)]), strict=True))


def draw(records: list[Record], rows: list[Record], *, measure: str = ERROR_OF_CLASSES) -> Figure:
    """Draw test error against budget, one panel per data set; below them the mean ranks, if there are enough."""
    table, found = _table(with_composed(records)), mean_ranks(rows)
    n_lines = -(-len(table) // 3)
    figure = Figure(figsize=(5 * min(3, len(table)), 4 * (n_lines + (found is not None))), layout="constrained")
    upper: Any = figure
    if found is not None:
        halves: Any = figure.subfigures(2, 1, height_ratios=[n_lines, 1])
        upper = halves[0]
        draw_ranks(halves[1].add_subplot(), found)
    for place, (data, methods) in enumerate(table.items(), start=1):
        axes = upper.add_subplot(n_lines, min(3, len(table)), place)
        hidden = OTHERS if "best of others" in methods else ()
        for number, method in enumerate(name for name in methods if name not in hidden):
            runs = methods[method]
            errors = 100 * np.array([errors for _, errors in runs.values()])
            budgets = next(iter(runs.values()))[0]
            spread = [standard_error(column) for column in errors.T]
            style = {"lw": 2.5 if method.startswith("best") else 1, "ls": LINES[number // N_COLOURS % len(LINES)]}
            if method in REFERENCES.values():  # these are equal where nothing stops or mixes: each shows under the next
                style = {"lw": 2.5, "ls": LINES[[*REFERENCES.values()].index(method) % len(LINES)], "elinewidth": 1}
            style |= {"marker": MARKERS[number % len(MARKERS)], "markersize": 4}
            axes.errorbar(budgets, errors.mean(axis=0), spread, label=method, **style)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(literal(data))
        axes.set_xlabel("average cost, at most")
        axes.set_ylabel(measure)
    upper.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    return figure
