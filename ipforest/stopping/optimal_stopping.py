"""Optimal stopping by backward induction over stage and signal."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.kernels import inner_njit, njit
from ipforest.estimator.checks import check_integer
from ipforest.settings import check_fields, checked
from ipforest.stopping.paths import StoppingPaths
from ipforest.walks import STAGED, RuleTables

__all__ = ["OptimalStopping", "StagedRule", "quantile_cuts"]

ROUNDING = 2.0**-40
"""Bins begin below a signal by so much of it: it may be that of many, and have other last bits in an export."""
TIE = 1e-9
"""How much less keen than the least sure example of a bin the surest one may be, about, as a share of the lambda at
which everything costs as much as the largest loss."""


@dataclass(frozen=True, slots=True)
class OptimalStopping:
    """Optimal stopping by backward induction over stage and signal, for every price lambda of cost in one run.

    At each stage the signal is cut into bins of equally many examples. From the last stage back, a bin stops where its
    own loss is at most what going on is worth: the price of the next stage plus the values of the bins that its
    examples get into. Going on pays up to one lambda per bin, its keenness.

    Parameters
    ----------
    n_bins : int, default=8
        Most bins per stage.
    min_support : int, default=30
        Fewest examples per bin. Where fewer than that are left, no example stops.
    monotone : bool, default=True
        Whether surer examples never go on longer than others of their stage: bins that would are merged.
    """

    n_bins: int = checked(8, check_integer, 1)
    min_support: int = checked(30, check_integer, 1)
    monotone: bool = True

    def __post_init__(self) -> None:
        check_fields(self)

    def fit(self, paths: StoppingPaths) -> StagedRule:
        """Learn the lambda of each bin of each stage."""
        columns = [np.array(each.T, dtype=np.float64, order="C") for each in (paths.signal, paths.loss, paths.cost)]
        n_stages, last = paths.n_stages - 1, np.array(paths.last)
        ranked = np.sort(np.where(last > np.arange(n_stages)[:, None], columns[0][:-1], inf), axis=1)
        edges, lambdas = np.empty((n_stages, self.n_bins - 1)), np.empty((n_stages, self.n_bins))
        n_bins = np.empty(n_stages, dtype=np.int64)
        induce_backward(*columns, ranked, last, self.min_support, self.monotone, edges, lambdas, n_bins)
        sizes = n_bins.tolist()
        largest, everything, widest = (
            float(np.abs(each).max(initial=0.0)) or 1.0
            for each in (paths.loss, paths.costs.float_unit_costs.sum(), paths.signal)
        )
        power = np.frexp(largest / everything / widest)[1]  # of two: the same in the folds of cross-fitting
        return StagedRule(
            tuple(row[: size - 1] for row, size in zip(edges, sizes, strict=True)),
            tuple(row[:size] for row, size in zip(lambdas, sizes, strict=True)),
            float(np.ldexp(TIE, power)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class StagedRule:
    """Keenness by stage and bin of the signal; a trifle more for the less sure, so that levels also part bins.

    Parameters
    ----------
    edges : tuple of ndarray of float64
        For each stage the signals at which the next bin begins, ascending.
    lambdas : tuple of ndarray of float64
        For each stage the keenness of its bins, one more than edges. After the last stage no example stops.
    tie : float, default=0
        How much less keen a signal larger by 1 is within its bin.
    """

    edges: tuple[FloatArray, ...]
    lambdas: tuple[FloatArray, ...]
    tie: float = 0.0

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Look up the lambda of each example's bin."""
        keen = np.full(stage.size, inf)
        for number in np.unique(stage):
            if number < len(self.edges):
                here = stage == number
                bins = np.searchsorted(self.edges[number], signal[here], side="right")
                keen[here] = self.lambdas[number][bins] - self.tie * signal[here]
        return keen, memory

    def may_go_on(self, stage: int, level: float) -> bool:
        """Tell whether an example may go on from a stage at a level, if signals are not negative."""
        return stage >= len(self.lambdas) or bool(self.lambdas[stage].max() > level)

    def may_stop(self, stage: int, level: float, most: float) -> bool:
        """Tell whether an example may stop at a stage at a level, if signals are at most ``most``."""
        return stage < len(self.lambdas) and bool(self.lambdas[stage].min() - self.tie * most <= level)

    def without(self, stages: Collection[int]) -> StagedRule:
        """Return the rule of what other stages are left."""
        left = [stage for stage in range(len(self.lambdas)) if stage not in stages]
        edges, lambdas = (tuple(rows[stage] for stage in left) for rows in (self.edges, self.lambdas))
        return StagedRule(edges, lambdas, self.tie)

    def tables(self) -> RuleTables:
        """Write the rule as compiled walks read it."""
        return RuleTables.of(STAGED, self.edges, self.lambdas, tie=self.tie)


@inner_njit
def reaching(sums: FloatArray, lam: FloatArray, value: FloatArray, slope: FloatArray) -> float:
    """Find the lambda from which going on from a bin costs as much as stopping; infinity without one."""
    n_points, n_after, last = lam.size, slope.size, 0.0
    ceiling = sums[1] / sums[0]
    for k in range(n_points):
        here = sums[2] + sums[3] * lam[k]
        for bin_after in range(n_after):
            here += sums[4 + bin_after] * value[bin_after, k]
        here /= sums[0]
        if here >= ceiling:
            return 0.0 if k == 0 else lam[k - 1] + (ceiling - last) / (here - last) * (lam[k] - lam[k - 1])
        last = here
    rise = sums[3]
    for bin_after in range(n_after):
        rise += sums[4 + bin_after] * slope[bin_after]
    return lam[n_points - 1] + (ceiling - last) * sums[0] / rise if rise > 0 else np.inf


@inner_njit
def pool_bins(
    sums: FloatArray,
    lam: FloatArray,
    value: FloatArray,
    slope: FloatArray,
    min_support: int,
    monotone: bool,
    keenness: FloatArray,
    begins: IntArray,
) -> int:
    """Find the lambda up to which each bin goes on; where it rises from a bin to the surer one after it, pool the two.

    Bins of fewer than ``min_support`` examples always go on. ``sums`` (see `induce_backward`) and ``keenness``
    become those of the pools, ``begins`` the first bin of each.

    Returns
    -------
    int
        How many pools there are.
    """
    n_pools = 0
    for number in range(keenness.size):
        sums[n_pools], begins[n_pools] = sums[number], number
        while True:
            pool = sums[n_pools]
            keenness[n_pools] = np.inf if pool[0] < min_support else reaching(pool, lam, value, slope)
            if not monotone or n_pools == 0 or keenness[n_pools] <= keenness[n_pools - 1]:
                break
            n_pools -= 1
            sums[n_pools] += sums[n_pools + 1]
        n_pools += 1
    return n_pools


@njit
def quantile_cuts(ranked: FloatArray, n_bins: int, cuts: FloatArray) -> int:
    """Write where at most so many bins of about equally many examples begin, none empty; return how many begin."""
    n_cuts, last = 0, ranked[0] if ranked.size else np.inf
    for number in range(1, n_bins):
        place = number / n_bins * (ranked.size - 1)
        below = int(place)
        cut = ranked[below] + (place - below) * (ranked[below + 1] - ranked[below])
        rounded = cut - ROUNDING * abs(cut)
        if rounded > last:
            cuts[n_cuts], last = rounded, cut
            n_cuts += 1
    return n_cuts


@inner_njit
def bin_at(cuts: FloatArray, signal: float) -> int:
    """Find the bin of a signal."""
    number = 0
    while number < cuts.size and signal >= cuts[number]:
        number += 1
    return number


@inner_njit
def merged_points(lam: FloatArray, crossing: FloatArray) -> FloatArray:
    """Add the lambdas from which bins stop to the points of the stage after; leave out those beyond which all stop."""
    merged, n, last = np.empty(lam.size + crossing.size), lam.size, 0.0
    for k in range(n):
        merged[k] = lam[k]
    for number in range(crossing.size):
        added, place = crossing[number], n
        last = max(last, added)
        while place > 0 and merged[place - 1] > added:
            place -= 1
        if added == np.inf or (place > 0 and merged[place - 1] == added):
            continue
        for k in range(n, place, -1):
            merged[k] = merged[k - 1]
        merged[place] = added
        n += 1
    while merged[n - 1] > last:
        n -= 1
    return merged[:n]


@inner_njit
def worth_at(
    lam: FloatArray, sums: FloatArray, crossing: float, after: FloatArray, value: FloatArray, slope: FloatArray
) -> tuple[FloatArray, float]:
    """Compute what a bin is worth at the points ``lam``, and its slope beyond the last of them.

    Up to where it crosses the loss of stopping now it is what going on is worth, by ``value`` and ``slope`` of the bins
    at the stage after at its points ``after``.
    """
    n_here, n_after = max(sums[0], 1.0), slope.size
    on_points, rise = np.empty(after.size), sums[3]
    for bin_after in range(n_after):
        rise += sums[4 + bin_after] * slope[bin_after]
    for k in range(after.size):
        on_points[k] = sums[2] + sums[3] * after[k]
        for bin_after in range(n_after):
            on_points[k] += sums[4 + bin_after] * value[bin_after, k]
    worth, right, last = np.empty(lam.size), 0, after.size - 1
    for k in range(lam.size):
        while right < last and after[right] < lam[k]:
            right += 1
        if lam[k] >= after[last]:
            worth[k] = (on_points[last] + rise * (lam[k] - after[last])) / n_here
        elif after[right] == lam[k]:
            worth[k] = on_points[right] / n_here
        else:
            share = (lam[k] - after[right - 1]) / (after[right] - after[right - 1])
            worth[k] = (on_points[right - 1] + share * (on_points[right] - on_points[right - 1])) / n_here
        if crossing < np.inf:
            worth[k] = min(worth[k], sums[1] / n_here)
    return worth, 0.0 if crossing < np.inf else rise / n_here


@njit
def induce_backward(
    signal: FloatArray,
    loss: FloatArray,
    cost: FloatArray,
    ranked: FloatArray,
    last: IntArray,
    min_support: int,
    monotone: bool,
    edges: FloatArray,
    lambdas: FloatArray,
    n_bins: IntArray,
) -> None:
    """Learn up to which lambda each bin of each stage goes on, from the last stage back.

    What it is worth to stand in a bin of a stage is a concave function of lambda, linear between points that all bins
    of the stage share; beyond the last point it has a slope. The examples of a bin are summed up as their number, what
    they lose by stopping now, what those lose that end at the next stage, what going on there costs, and how many get
    into each bin there.

    Parameters
    ----------
    signal, loss, cost : ndarray of float64, shape (n_stages + 1, n_samples)
    ranked : ndarray of float64, shape (n_stages, n_samples)
        The signals of the examples that may go on from a stage, ascending, and then infinity.
    last : ndarray of int64, shape (n_samples,)
    min_support : int
    monotone : bool
    edges, lambdas : ndarray of float64, shapes (n_stages, most_bins - 1) and (n_stages, most_bins)
        Written: see `StagedRule`.
    n_bins : ndarray of int64, shape (n_stages,)
        Written: how many bins each stage has.
    """
    n_samples, most_bins = last.size, lambdas.shape[1]
    bin_of = np.full(n_samples, -1)
    lam, value, slope = np.zeros(1), np.empty((0, 1)), np.empty(0)
    cuts, begins = np.empty(most_bins), np.empty(most_bins, dtype=np.int64)
    for stage in range(n_bins.size - 1, -1, -1):
        n_on = 0
        for row in range(n_samples):
            n_on += last[row] > stage
        n_cuts = quantile_cuts(ranked[stage, :n_on], min(most_bins, n_on // min_support), cuts)
        sums = np.zeros((n_cuts + 1, 4 + slope.size))
        for row in range(n_samples):
            if last[row] <= stage:
                continue
            into = sums[bin_at(cuts[:n_cuts], signal[stage, row])]
            into[0] += 1.0
            into[1] += loss[stage, row]
            into[3] += cost[stage + 1, row] - cost[stage, row]
            if bin_of[row] < 0:
                into[2] += loss[stage + 1, row]
            else:
                into[4 + bin_of[row]] += 1.0
        keenness = np.empty(n_cuts + 1)
        n_pools = pool_bins(sums, lam, value, slope, min_support, monotone, keenness, begins)
        n_bins[stage] = n_pools
        lambdas[stage, :n_pools] = keenness[:n_pools]
        for number in range(1, n_pools):
            edges[stage, number - 1] = cuts[begins[number] - 1]
        for row in range(n_samples):
            if last[row] > stage:
                bin_of[row] = bin_at(edges[stage, : n_pools - 1], signal[stage, row])
        points = merged_points(lam, keenness[:n_pools])
        worth, rises = np.empty((n_pools, points.size)), np.empty(n_pools)
        for number in range(n_pools):
            worth[number], rises[number] = worth_at(points, sums[number], keenness[number], lam, value, slope)
        lam, value, slope = points, worth, rises
