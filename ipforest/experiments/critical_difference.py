"""Mean ranks of methods over data sets, and how far apart two of them must lie to differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from ipforest._internal.arrays import FloatArray

__all__ = ["MeanRanks", "draw_ranks", "rank_methods"]

ALPHA = 0.05
"""Level of Nemenyi's test."""


class MeanRanks(NamedTuple):
    """Mean ranks of methods over data sets.

    Parameters
    ----------
    methods : tuple of str
        The best first.
    ranks : ndarray of float64, shape (n_methods,)
        Means over the data sets, ascending; 1 is the best.
    n_data_sets : int
    critical_difference : float
        Nemenyi's: methods whose mean ranks lie further apart differ.
    p_value : float
        Of Friedman's test, that all methods are alike.
    """

    methods: tuple[str, ...]
    ranks: FloatArray
    n_data_sets: int
    critical_difference: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"Mean ranks over {self.n_data_sets} data sets: those of two methods that differ lie more than "
            f"{self.critical_difference:.2f} apart"
        )

    @property
    def alike(self) -> list[tuple[int, int]]:
        """First and last place of each largest run of two or more methods that cannot be told apart."""
        last = np.searchsorted(self.ranks, self.ranks + self.critical_difference, side="right") - 1
        runs = [(first, int(end)) for first, end in enumerate(last)]
        return [(first, end) for first, end in runs if end > first and (first == 0 or end > last[first - 1])]


def rank_methods(errors: Mapping[str, npt.ArrayLike]) -> MeanRanks:
    r"""Rank methods on each data set and average the ranks.

    Nemenyi's critical difference is :math:`q_\alpha \sqrt{k (k + 1) / (6 N)}` for k methods on N data sets, with the
    studentised range's quantile over :math:`\sqrt 2`.

    Parameters
    ----------
    errors : mapping from method to array, shape (n_data_sets,)

    Raises
    ------
    ValueError
        Fewer than three methods or than two data sets, which cannot be tested.

    Notes
    -----
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, section 3.2.2.
    """
    table = np.array([np.asarray(values, dtype=np.float64) for values in errors.values()])
    if table.ndim != 2 or table.shape[0] < 3 or table.shape[1] < 2:
        raise ValueError(f"errors: expected 3 methods and 2 data sets or more, got shape {table.shape}")
    n_methods, n_data_sets = table.shape
    ranks = rankdata(table, axis=0).mean(axis=1)
    order = np.argsort(ranks, kind="stable")
    quantile = float(studentized_range.ppf(1 - ALPHA, n_methods, np.inf)) / np.sqrt(2)
    names = list(errors)
    return MeanRanks(
        methods=tuple(names[place] for place in order),
        ranks=ranks[order],
        n_data_sets=n_data_sets,
        critical_difference=float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets))),
        p_value=1.0 if np.ptp(table, axis=0).max() == 0 else float(friedmanchisquare(*table).pvalue),
    )


def draw_ranks(axes: Any, found: MeanRanks) -> None:
    """Draw mean ranks on a line, the best at the top; bars join methods that cannot be told apart."""
    n_methods = len(found.methods)
    axes.scatter(found.ranks, np.arange(n_methods), color="black", zorder=3)
    for place, (method, rank) in enumerate(zip(found.methods, found.ranks, strict=True)):
        axes.annotate(f"{method}  {rank:.1f}", (rank, place), (8, 0), textcoords="offset points", va="center")
    for first, last in found.alike:
        axes.plot([found.ranks[first]] * 2, [first, last], color="tab:blue", lw=3, alpha=0.5)
    axes.plot([1, 1 + found.critical_difference], [n_methods, n_methods], color="black", lw=2)
    axes.annotate(
        f"critical difference {found.critical_difference:.2f}",
        (1 + found.critical_difference, n_methods),
        (8, 0),
        textcoords="offset points",
        va="center",
    )
    axes.set_ylim(n_methods + 0.7, -0.7)
    axes.set_xlim(0.8, n_methods + 2)
    axes.set_yticks([])
    axes.set_xlabel("mean rank of the area, 1 the best; a bar goes down to the last method that is not told apart")
    axes.set_title(f"{found.n_data_sets} data sets; Friedman's test that all are alike: p = {found.p_value:.2g}")
