"""A page with what a comparison found, made from its rows: areas, losses, probabilities, regret and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import date

from ipforest._internal.records import records_to_markdown
from ipforest.experiments.experiment import Record
from ipforest.experiments.frontier_summary import (
    ALL,
    AREA,
    COMPOSED,
    OTHERS,
    REFERENCES,
    STANDARD_ERRORS,
    is_behind,
    losses,
    mean_ranks,
    sets_left_out,
)
from ipforest.experiments.methods import FRONT_ENDS

COMPARED = (*FRONT_ENDS, *(f"{name}, mixed" for name in FRONT_ENDS), "best of ours", "best of ours, mixed")

EXPLAINED = """*Area* is the mean test error over the budgets on a logarithmic scale, in %; differences are paired,
seed by seed. The references, the rule for losses and what else is measured are those of the
[protocol](frontier-protocol.md). Where two numbers stand, the second is that of the best of others."""


def require_comparison(methods: Set[str]) -> str:
    """Require the front end, whose name is returned, and a method to compare it with."""
    for name in FRONT_ENDS:
        if name in methods and not methods.isdisjoint(OTHERS):
            return name
    raise ValueError(
        f"methods: expected {' or '.join(FRONT_ENDS)} and one that is not of this package, "
        f"got {', '.join(sorted(methods))}"
    )


def frontier_page(rows: Sequence[Record], title: str, command: str, day: date) -> str:
    """Write the page.

    Parameters
    ----------
    rows : list of dict
        Of `ipforest.experiments.frontier_summary.summarise`; those of the front end are among them.
    title : str
    command : str
        What repeats the comparison.
    day : date
        When it was finished.

    Returns
    -------
    str
        Markdown.

    Raises
    ------
    ValueError
        The front end, or a method to compare it with, is not among the rows.
    """
    front_end = require_comparison({row["method"] for row in rows})
    areas = {(row["data"], row["method"]): row for row in rows if row["budget"] == AREA}
    data_sets = [data for data, method in areas if method == front_end and data != ALL]
    seeds = [areas[data, front_end]["seeds"] for data in data_sets]
    ranks, left_out = mean_ranks(rows), sets_left_out(rows)
    return (
        "\n\n".join(
            [
                f"# {title}",
                f"Made by this command, {day.isoformat()}; {_span(seeds)}:\n\n```bash\n{command}\n```",
                EXPLAINED,
                "## Against the references\n\n" + _table(_headline(rows, areas, data_sets)),
                *([] if left_out is None else [f"{left_out}."]),
                "## The front end, data set by data set\n\n" + _table(_by_data_set(areas, front_end, data_sets)),
                "## Budgets at which it is behind\n\n" + _behind([row for row in rows if row["method"] == front_end]),
                "## All methods\n\n" + _table(_by_method(rows, areas, data_sets)),
                *([] if ranks is None else [f"{ranks}."]),
            ]
        )
        + "\n"
    )


def _table(records: Iterable[Record]) -> str:
    """Write a table without the columns in which nothing is known."""
    lines = list(records)
    known = [name for name in lines[0] if any(line[name] != "" for line in lines)]
    return records_to_markdown([{name: line[name] for name in known} for line in lines])


def _span(counts: Sequence[int]) -> str:
    if len(set(counts)) > 1:
        return f"{min(counts)} to {max(counts)} seeds"
    return f"{counts[0]} seed{'s' if counts[0] > 1 else ''}"


def _headline(
    rows: Sequence[Record], areas: dict[tuple[str, str], Record], data_sets: Sequence[str]
) -> Iterator[Record]:
    """Compare ours with each reference: relative areas, sets on which they are smaller, budgets that are lost."""
    for method in COMPARED:
        for prefix, reference in REFERENCES.items():
            lines = [areas[data, method] for data in data_sets if (data, method) in areas]
            lines = [line for line in lines if line[f"{prefix}difference"] is not None]
            if lines:
                lost = losses(rows, method, prefix)
                mean = areas.get((ALL, method), lines[0])
                yield {
                    "method": method,
                    "compared with": reference,
                    "area, % of it": _told(mean, f"{prefix}relative"),
                    "smaller on": f"{sum(line[f'{prefix}difference'] < 0 for line in lines)} of {len(lines)}",
                    f"budgets lost by {STANDARD_ERRORS} se": f"{lost['by two se']} of {lost['budgets']}",
                    "lost simultaneously": lost["simultaneously"],
                }


def _by_data_set(areas: dict[tuple[str, str], Record], front_end: str, data_sets: Sequence[str]) -> Iterator[Record]:
    for data in data_sets:
        own = areas[data, front_end]
        reference = areas.get((data, "best of others"), {})
        yield {
            "data": data,
            "area": f"{own['error']:.2f}",
            "best of others": _number(reference, "error", 2),
            **{f"less {name}": _told(own, f"{prefix}difference", 2) for prefix, name in REFERENCES.items()},
            "ROC area": _numbers(own, reference, "auc", 4),
            "log loss": _numbers(own, reference, "log_loss", 3),
            "regret": _number(own, "regret", 2),
            "CPU s": _numbers(own, reference, "seconds", 0),
        }


def _behind(rows: Sequence[Record]) -> str:
    """List where a method is behind a reference by two paired standard errors, and where by more than chance."""
    if all(row["seeds"] == 1 for row in rows):
        return "One seed has no standard error, and cannot tell."
    found = [
        {
            "data": row["data"],
            "budget": f"{row['budget']:g}",
            "compared with": reference,
            "points": _told(row, f"{prefix}difference", 2),
            "beyond chance at any budget": "yes" if (row[f"{prefix}difference_low"] or 0) > 0 else "no",
        }
        for prefix, reference in REFERENCES.items()
        for row in rows
        if row["budget"] != AREA and row["seeds"] > 1 and is_behind(row, prefix)
    ]
    return records_to_markdown(found) if found else "None."


def _by_method(
    rows: Sequence[Record], areas: dict[tuple[str, str], Record], data_sets: Sequence[str]
) -> Iterator[Record]:
    for method in dict.fromkeys(row["method"] for row in rows):
        mean = areas.get((ALL, method)) or areas.get((data_sets[0], method))
        if mean is not None:
            yield {
                "method": method,
                "area": f"{mean['error']:.2f}",
                "area, % of the best of others": _told(mean, "relative"),
                "rank": f"{mean['rank']:.1f}" if method not in COMPOSED else "",
                "ROC area": _number(mean, "auc", 4),
                "log loss": _number(mean, "log_loss", 3),
                "regret": _number(mean, "regret", 2),
                "CPU s": f"{mean['seconds']:.0f}",
            }


def _told(row: Record, name: str, digits: int = 1) -> str:
    if row[name] is None:
        return ""
    spread = f" ± {row[f'{name}_se']:.{digits}f}" if row["seeds"] > 1 or row["data"] == ALL else ""
    return f"{row[name]:+.{digits}f}{spread}"


def _numbers(own: Record, reference: Record, name: str, digits: int) -> str:
    both = _number(own, name, digits), _number(reference, name, digits)
    return " / ".join(both) if any(both) else ""


def _number(row: Record, name: str, digits: int) -> str:
    value = row.get(name)
    return "" if value is None else f"{value:.{digits}f}"
