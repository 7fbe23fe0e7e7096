"""What the page of reproduction shows of the rows of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ipforest._internal.words import plain
from ipforest.experiments.experiment import Record
from ipforest.experiments.rows import grouped

Condense: TypeAlias = Callable[[list[Record]], list[Record]]


def columns(*names: str) -> Condense:
    """Make what shows some columns of every row."""
    return lambda rows: [{name: row[name] for name in names} for row in rows]


def at_budgets(panel: str | None, *labels: str, value: str = "error", scale: float = 100, most: int = 6) -> Condense:
    """Make what shows rows of budgets as a line per curve and a column per budget.

    Parameters
    ----------
    panel : str or None
        The key that tells panels apart, which have budgets of their own.
    *labels : str
        Keys that tell the curves of a panel apart.
    value : str
        The key whose mean is shown; ``value_sd`` is its standard deviation over the ``runs``, or ``value_se`` its
        standard error.
    scale : float
        What values are multiplied by: 100 shows percent.
    most : int
        Budgets shown, at most.

    Returns
    -------
    callable (rows) -> list of dict
        Means ± standard errors.
    """

    def condense(rows: list[Record]) -> list[Record]:
        lines = []
        for of_panel in grouped(rows, *(() if panel is None else (panel,))).values():
            budgets = sorted({float(row["budget"]) for row in of_panel})
            shown = budgets[:: -max(1, len(budgets) // most)][::-1]
            keys = labels if panel is None else (panel, *labels)
            for curve in grouped(of_panel, *labels).values():
                at = {float(row["budget"]): row for row in curve}
                line = {key: curve[0][key] for key in keys}
                line["runs"] = max(int(row["runs"]) for row in curve)
                lines.append({**line, **{f"cost <= {plain(b, 3)}": _cell(at.get(b), value, scale) for b in shown}})
        return lines

    return condense


def _cell(row: Record | None, value: str, scale: float) -> str:
    """Write a mean with its standard error; of one run there is none."""
    if row is None or row[value] in ("", None):
        return ""
    digits, runs = (1 if scale > 1 else 3), int(row["runs"])
    error = float(row[f"{value}_se"]) if f"{value}_se" in row else float(row[f"{value}_sd"]) / runs**0.5
    mean = f"{scale * float(row[value]):.{digits}f}"
    return mean if runs < 2 else f"{mean} ± {scale * error:.{digits}f}"
