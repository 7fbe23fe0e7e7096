"""When to stop buying: rules learnt from what held-out examples would see and pay at every stage.

A rule gives each example at each stage a *keenness*: it goes on while its keenness exceeds a level. One level is one
policy, and a higher level stops everyone sooner or at the same stage; so one sort gives cost and error of every level.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf
from typing import NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray, read_only
from ipforest._internal.kernels import inner_njit, njit
from ipforest.choosing.class_costs import expected_costs
from ipforest.choosing.frontier import Frontier
from ipforest.costs import FeatureCosts
from ipforest.estimator.checks import check_integer
from ipforest.instance import PruningInstance
from ipforest.losses import NodeErrors
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.resolution import joint_resolution
from ipforest.walks import CERTIFIED, STAGED, THRESHOLD, TIE, RuleTables

MAX_SCORED = 32
"""Levels of a rule that a measure of all examples together is computed at."""

ScoreOfStops: TypeAlias = Callable[[IntArray], float]
"""How good it is to stop each example at a stage, shape (n_samples,): the larger, the better."""

__all__ = ["CertifiedStopping", "OptimalStopping", "StoppingPaths", "StoppingRule", "ThresholdStopping"]


@dataclass(frozen=True, slots=True, eq=False)
class StoppingPaths:
    """What examples see and pay when they are never stopped, stage by stage.

    Stage 0 is before anything is bought; going on from stage s buys what separates it from stage s + 1.

    Parameters
    ----------
    signal : ndarray of float64, shape (n_samples, n_stages)
        What the decision to go on looks at, such as the margin between the two likeliest classes.
    loss : ndarray of float64, shape (n_samples, n_stages)
        What stopping at each stage costs: 1 for a wrong label. Constant from the last stage on.
    last : ndarray of int64, shape (n_samples,)
        The stage at which each example has nothing more to buy.
    bought_at : ndarray of int64, shape (n_samples, n_units)
        The stage from which each unit is bought by going on; n_stages for a unit that is never bought.
    costs : FeatureCosts

    Attributes
    ----------
    cost : ndarray of float64, shape (n_samples, n_stages)
        What each example has paid when it stands at each stage.
    """

    signal: FloatArray
    loss: FloatArray
    last: IntArray
    bought_at: IntArray
    costs: FeatureCosts
    cost: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        prices = self.costs.float_unit_costs
        shape = (self.n_samples, self.n_stages + 1)
        cell = np.arange(self.n_samples)[:, None] * shape[1] + self.bought_at
        weights = np.broadcast_to(prices, cell.shape).ravel()
        spent = np.bincount(cell.ravel(), weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
        object.__setattr__(self, "cost", read_only(np.cumsum(spent[:, :-1], axis=1) - spent[:, :-1]))

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return int(self.signal.shape[0])

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return int(self.signal.shape[1])

    def of(self, rows: IntArray | BoolArray) -> Self:
        """Take some of the examples."""
        part = copy(self)
        for name in ("signal", "loss", "last", "bought_at", "cost"):
            object.__setattr__(part, name, getattr(self, name)[rows])
        return part


class StageOutputs:
    """What is answered about examples at every stage, one that has stopped keeping its last answer."""

    def __init__(self) -> None:
        self._outputs: list[FloatArray] = []

    def note(self, outputs: FloatArray, rows: IntArray) -> None:
        """Add a stage: what is answered about these examples, shape (n_rows, n_outputs); at the first stage about all.

        Parameters
        ----------
        outputs : ndarray of float64, shape (n_rows, n_outputs)
        rows : ndarray of int64, shape (n_rows,)
        """
        standing = self._outputs[-1].copy() if self._outputs else np.empty(outputs.shape)
        standing[rows] = outputs
        self._outputs.append(standing)

    def at(self, stages: IntArray) -> FloatArray:
        """Return what is answered about each example at a stage, shape (n_samples, n_outputs)."""
        answered = np.empty(self._outputs[0].shape)
        for stage in np.unique(stages).tolist():
            here = stages == stage
            answered[here] = self._outputs[stage][here]
        return answered


def margin(outputs: FloatArray, class_costs: FloatArray | None = None) -> FloatArray:
    """Compute by how much the likeliest class leads the second, shape (n_samples,).

    With class costs, by how much more the second cheapest label is expected to cost than the cheapest one.
    """
    ranked = np.sort(outputs if class_costs is None else -expected_costs(outputs, class_costs), axis=1)
    lead: FloatArray = ranked[:, -1] - ranked[:, -2]
    return lead


class FittedRule(Protocol):
    """What a rule has learnt.

    One that compiled walks can follow also has ``tables()``, a `ipforest.walks.RuleTables`.
    """

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Say how keen examples are to go on.

        Parameters
        ----------
        stage : ndarray of int64, shape (n,)
        signal : ndarray of float64, shape (n,)
        memory : ndarray of int64, shape (n,)
            What the rule remembered about them at the stage before, 0 at stage 0.

        Returns
        -------
        keenness : ndarray of float64, shape (n,)
        memory : ndarray of int64, shape (n,)
        """


class StoppingRule(Protocol):
    """A way to learn when to stop; its parameters are those of the dataclass."""

    def fit(self, paths: StoppingPaths) -> FittedRule:
        """Learn from held-out examples."""


class Curve(NamedTuple):
    """Cost and error of all levels of a rule.

    Parameters
    ----------
    level : ndarray of float64, shape (k,)
        Falling: the first, infinity, stops every example at once, of these examples or of others.
    cost, error : ndarray of float64, shape (k,)
        Means over the examples.
    """

    level: FloatArray
    cost: FloatArray
    error: FloatArray

    @property
    def frontier(self) -> Frontier:
        """The levels as models that a budget chooses from."""
        return Frontier(self.cost, self.error)

    def within(self, budget: object | None) -> int:
        """Find the level of least error within a budget; see `ipforest.choosing.frontier.Frontier.within`."""
        return self.frontier.within(budget)

    def at(self, levels: FloatArray) -> Self:
        """Give cost and error of other levels than its own, on the same examples."""
        place = np.searchsorted(-self.level[:-1], -levels, side="left")
        return type(self)(levels, self.cost[place], self.error[place])


def keenness_along(rule: FittedRule, paths: StoppingPaths) -> FloatArray:
    """Compute how keen examples are at every stage that they reach, -inf from their last stage on.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_stages)

    Raises
    ------
    TypeError, ValueError
        The rule answers otherwise than `FittedRule` says.
    """
    keen = np.full(paths.signal.shape, -inf)
    memory = np.zeros(paths.n_samples, dtype=np.int64)
    for stage in range(paths.n_stages):
        rows = np.flatnonzero(paths.last > stage)
        keen[rows, stage], memory[rows] = _answered(rule, stage, paths.signal[rows, stage], memory[rows])
    return keen


def _answered(rule: FittedRule, stage: int, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
    """Ask a rule, and require numbers of it, one for each example, and integers to remember."""
    expected = f"stopping: expected {type(rule).__name__}.keenness(stage, signal, memory)"
    answer = rule.keenness(np.full(signal.size, stage), signal, memory)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"{expected} to return keenness and memory, got {type(answer).__name__}")
    keen, remembered = np.asarray(answer[0], dtype=float), np.asarray(answer[1])
    if keen.shape != signal.shape or remembered.shape != signal.shape:
        raise ValueError(f"{expected} to return shapes {signal.shape}, got {keen.shape} and {remembered.shape}")
    if remembered.dtype.kind not in "iub":
        raise TypeError(f"{expected} to return a memory of integers, got {remembered.dtype}")
    if np.isnan(keen).any():
        seen = signal[np.isnan(keen).argmax()]
        raise ValueError(f"{expected} to return numbers, got nan at stage {stage} for the signal {seen:.6g}")
    return keen, remembered


def _require_same_alone(rule: FittedRule, keenness: FloatArray, paths: StoppingPaths) -> None:
    """Require that a rule says the same of an example among others and in another order: a session has it alone."""
    among = np.arange(paths.n_samples)[::-2]
    again = keenness_along(rule, paths.of(among))
    differs = ~np.isclose(keenness[among], again, rtol=1e-9, atol=1e-12)
    if differs.any():
        row, stage = np.argwhere(differs)[0]
        raise ValueError(
            f"stopping: expected {type(rule).__name__}.keenness to depend on each example alone, as a session knows no "
            f"other, got {keenness[among[row], stage]:.6g} at stage {stage} and, among fewer examples, "
            f"{again[row, stage]:.6g} for the same one"
        )


def cross_fitted_keenness(rule: StoppingRule, paths: StoppingPaths, n_folds: int) -> FloatArray:
    """Compute each example's keenness by a rule that was fitted without it.

    Parameters
    ----------
    rule : StoppingRule
    paths : StoppingPaths
    n_folds : int
        With 1, the rule is fitted on all examples and applied to the same.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_stages)
    """
    if n_folds == 1:
        return keenness_along(rule.fit(paths), paths)
    fold = np.arange(paths.n_samples) % n_folds
    keen = np.empty(paths.signal.shape)
    for held_out in range(n_folds):
        keen[fold == held_out] = keenness_along(rule.fit(paths.of(fold != held_out)), paths.of(fold == held_out))
    return keen


def stopping_curve(keenness: FloatArray, paths: StoppingPaths) -> Curve:
    """Sum up cost and error of every level.

    Parameters
    ----------
    keenness : ndarray of float64, shape (n_samples, n_stages)
        From `keenness_along` or `cross_fitted_keenness`.
    paths : StoppingPaths

    Returns
    -------
    Curve
        From stopping all at stage 0 to stopping none.
    """
    endurance = np.minimum.accumulate(keenness, axis=1)[:, :-1]
    goes_on = endurance > -inf
    levels, group = np.unique(-endurance[goes_on], return_inverse=True)

    def summed(amounts: FloatArray) -> FloatArray:
        steps = np.bincount(group, weights=np.diff(amounts, axis=1)[goes_on], minlength=levels.size)
        sums: FloatArray = (amounts[:, 0].sum() + np.concatenate([[0.0], np.cumsum(steps)])) / paths.n_samples
        return sums

    cost, loss = summed(paths.cost), summed(paths.loss)
    return Curve(np.concatenate([[inf], -levels, [-inf]]), np.append(cost[:1], cost), np.append(loss[:1], loss))


class LearntStopping(NamedTuple):
    """A rule, and what its levels cost and lose on examples that it has not seen."""

    rule: FittedRule
    curve: Curve


def check_stopping(
    stopping: StoppingRule | Sequence[StoppingRule] | None, name: str = "stopping", *, or_empty: bool = False
) -> None:
    """Require a rule, several, or None; where that is allowed, also an empty sequence.

    Raises
    ------
    ValueError
        The sequence is empty.
    TypeError
        Something is no rule, such as a name or a class.
    """
    if isinstance(stopping, Sequence) and not stopping and not or_empty:
        raise ValueError(f"{name}: expected a rule, several, or None for the default, got an empty sequence")
    for rule in stopping if isinstance(stopping, Sequence) and not isinstance(stopping, str) else [stopping]:
        if rule is not None and (isinstance(rule, type) or not hasattr(rule, "fit")):
            raise TypeError(f"{name}: expected rules, such as ThresholdStopping(), got {rule!r}")


def learn_stopping(
    stopping: StoppingRule | Sequence[StoppingRule] | None,
    paths: StoppingPaths,
    n_folds: int,
    score: ScoreOfStops | None = None,
) -> tuple[LearntStopping, ...]:
    """Fit one rule or several; by default `ThresholdStopping` and `OptimalStopping`.

    Parameters
    ----------
    stopping : StoppingRule, sequence of StoppingRule or None
    paths : StoppingPaths
        Of held-out examples.
    n_folds : int
        Folds for the curves; see `cross_fitted_keenness`.
    score : callable (stages) -> float, optional
        What the curves have in place of the mean loss: its negative, at `MAX_SCORED` levels at most. The rules learn
        from the losses all the same.
    """
    if stopping is None:
        rules: Sequence[StoppingRule] = (ThresholdStopping(), OptimalStopping())
    else:
        rules = stopping if isinstance(stopping, Sequence) else (stopping,)
    return tuple(_learn(rule, paths, n_folds, score) for rule in rules)


def stopped_by(rule: FittedRule) -> str:
    """Name what learnt a rule."""
    learnt = {"StagedRule": "OptimalStopping", "CertifiedRule": "CertifiedStopping"}
    return f"stopped by {learnt.get(type(rule).__name__, type(rule).__name__)}"


def _learn(rule: StoppingRule, paths: StoppingPaths, n_folds: int, score: ScoreOfStops | None) -> LearntStopping:
    """Fit a rule; a level costs and loses what it does cross-fitted, but no less than by the rule itself.

    Where the folds disagree about whether to buy at all, their mean is no policy. Rules that compiled walks follow by
    their tables are not asked a second time; a threshold learns nothing, so there is nothing to cross-fit.
    """
    fitted = rule.fit(paths)
    if not hasattr(fitted, "keenness"):
        raise TypeError(
            f"stopping: expected {type(rule).__name__}.fit to return an object with keenness(stage, signal, memory), "
            f"got {type(fitted).__name__}"
        )
    keenness = [keenness_along(fitted, paths)]
    if not hasattr(fitted, "tables"):
        _require_same_alone(fitted, keenness[0], paths)
    if isinstance(rule, ThresholdStopping):
        curve = stopping_curve(keenness[0], paths)
    else:
        keenness.append(cross_fitted_keenness(rule, paths, n_folds))
        own, unseen = (stopping_curve(keen, paths) for keen in keenness)
        own = own.at(unseen.level)
        curve = unseen._replace(cost=np.maximum(unseen.cost, own.cost), error=np.maximum(unseen.error, own.error))
    return LearntStopping(fitted, curve if score is None else _scored(curve, keenness, score))


def _scored(curve: Curve, keenness: Sequence[FloatArray], score: ScoreOfStops) -> Curve:
    """Give some levels, spread over cost, with the negative of the smallest score of several keennesses at each."""
    paid, last = curve.cost[curve.cost > 0], curve.level.size - 1
    half = (MAX_SCORED - 2) // 2
    wanted = [np.linspace(0, curve.cost[-1], half), np.geomspace(paid[0], paid[-1], half)] if paid.size else []
    places = np.searchsorted(curve.cost, np.concatenate([[0.0], *wanted]), side="right") - 1
    some = np.unique(np.append(np.maximum(places, 0), last))
    worst = [-min(score(stages_reached(keen, level)) for keen in keenness) for level in curve.level[some].tolist()]
    return Curve(curve.level[some], curve.cost[some], np.array(worst))


def stages_reached(keenness: FloatArray, level: float) -> IntArray:
    """Count the stages that each example goes on from, shape (n_samples,)."""
    stages: IntArray = np.sum(np.minimum.accumulate(keenness, axis=1) > level, axis=1)
    return stages


@dataclass(frozen=True, slots=True)
class ThresholdStopping:
    """Stop as soon as the signal reaches a threshold, the same at all stages; the level is its negative."""

    def fit(self, paths: StoppingPaths) -> ThresholdStopping:
        """Return itself: only the level is chosen on data."""
        return self

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the negative of the signal."""
        return -signal, memory

    def tables(self) -> RuleTables:
        """Write the rule as compiled walks read it."""
        return RuleTables.of(THRESHOLD)


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
        if cut > last:
            cuts[n_cuts] = last = cut
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
    added = crossing[crossing < np.inf]
    points: FloatArray = np.unique(np.concatenate((lam, added)))
    if added.size == crossing.size:
        points = points[points <= max(0.0, added.max())]
    return points


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
        rows = np.flatnonzero(last > stage)
        seen = signal[stage][rows]
        n_cuts = quantile_cuts(np.sort(seen), min(most_bins, rows.size // min_support), cuts)
        sums = np.zeros((n_cuts + 1, 4 + slope.size))
        for place in range(rows.size):
            row = rows[place]
            into = sums[bin_at(cuts[:n_cuts], seen[place])]
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
        for place in range(rows.size):
            bin_of[rows[place]] = bin_at(edges[stage, : n_pools - 1], seen[place])
        points = merged_points(lam, keenness[:n_pools])
        worth, rises = np.empty((n_pools, points.size)), np.empty(n_pools)
        for number in range(n_pools):
            worth[number], rises[number] = worth_at(points, sums[number], keenness[number], lam, value, slope)
        lam, value, slope = points, worth, rises


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

    n_bins: int = 8
    min_support: int = 30
    monotone: bool = True

    def __post_init__(self) -> None:
        _check_bins(self)

    def fit(self, paths: StoppingPaths) -> StagedRule:
        """Learn the lambda of each bin of each stage."""
        columns = (np.array(each.T, dtype=np.float64, order="C") for each in (paths.signal, paths.loss, paths.cost))
        n_stages = paths.n_stages - 1
        edges, lambdas = np.empty((n_stages, self.n_bins - 1)), np.empty((n_stages, self.n_bins))
        n_bins = np.empty(n_stages, dtype=np.int64)
        induce_backward(*columns, np.array(paths.last), self.min_support, self.monotone, edges, lambdas, n_bins)
        sizes = n_bins.tolist()
        return StagedRule(
            tuple(row[: size - 1] for row, size in zip(edges, sizes, strict=True)),
            tuple(row[:size] for row, size in zip(lambdas, sizes, strict=True)),
        )


def _check_bins(rule: OptimalStopping | CertifiedStopping) -> None:
    """Require one bin and one example per bin at least."""
    for name in ("n_bins", "min_support"):
        check_integer(getattr(rule, name), name, 1)


def _quantile_cuts(signal: FloatArray, n_bins: int) -> FloatArray:
    """Cut a signal into at most so many bins of about equally many examples, none empty; give where bins begin."""
    cuts = np.empty(max(n_bins, 1) - 1)
    return cuts[: quantile_cuts(np.sort(signal), n_bins, cuts)]


@dataclass(frozen=True, slots=True, eq=False)
class StagedRule:
    """Keenness by stage and bin of the signal; a trifle more for the less sure, so that levels also part bins.

    Parameters
    ----------
    edges : tuple of ndarray of float64
        For each stage the signals at which the next bin begins, ascending.
    lambdas : tuple of ndarray of float64
        For each stage the keenness of its bins, one more than edges. After the last stage no example stops.
    """

    edges: tuple[FloatArray, ...]
    lambdas: tuple[FloatArray, ...]

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Look up the lambda of each example's bin."""
        keen = np.full(stage.size, inf)
        for number in np.unique(stage):
            if number < len(self.edges):
                here = stage == number
                bins = np.searchsorted(self.edges[number], signal[here], side="right")
                keen[here] = self.lambdas[number][bins] - TIE * signal[here]
        return keen, memory

    def may_go_on(self, stage: int, level: float) -> bool:
        """Tell whether an example may go on from a stage at a level, if signals are not negative."""
        return stage >= len(self.lambdas) or bool(self.lambdas[stage].max() > level)

    def may_stop(self, stage: int, level: float, most: float) -> bool:
        """Tell whether an example may stop at a stage at a level, if signals are at most ``most``."""
        return stage < len(self.lambdas) and bool(self.lambdas[stage].min() - TIE * most <= level)

    def without(self, stages: Collection[int]) -> StagedRule:
        """Return the rule of what other stages are left."""
        left = [stage for stage in range(len(self.lambdas)) if stage not in stages]
        return StagedRule(tuple(self.edges[stage] for stage in left), tuple(self.lambdas[stage] for stage in left))

    def tables(self) -> RuleTables:
        """Write the rule as compiled walks read it."""
        return RuleTables.of(STAGED, self.edges, self.lambdas)


@dataclass(frozen=True, slots=True)
class CertifiedStopping:
    r"""The optimal policy over histories, for every lambda, with a proof on the examples that it was fitted on.

    Checkpoints are stages at which it may stop. At each the signal is cut into bins, and the history of bins is a node
    of one tree: the policy tree. Going on at a node buys, for each of its examples, the units up to the next
    checkpoint; stopping costs the loss of its examples. So where to stop is a pruning of the policy tree in which a
    node needs several units at once (IP2 of the optimal-pruning paper), and `ipforest.prune_path` gives the best policy
    for every lambda.

    Parameters
    ----------
    n_bins : int, default=3
        Most bins per history and checkpoint.
    min_support : int, default=50
        Fewest examples of a history; with fewer, going on means going to the end.
    checkpoints : tuple of int, optional
        Ascending stages, the first of them 0; by default 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ...
    """

    n_bins: int = 3
    min_support: int = 50
    checkpoints: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _check_bins(self)

    def fit(self, paths: StoppingPaths) -> CertifiedRule:
        """Build the policy tree and find the path of its prunings.

        Raises
        ------
        ValueError
            The checkpoints do not rise from 0, or a loss is no integer.
        """
        tree = _PolicyTree(paths, self)
        path = prune_path(tree.instance())
        if not path.is_complete:
            raise KeyboardInterrupt
        lambdas = np.zeros(len(tree.parent))
        lambdas[path.instance.internal_nodes] = path.node_lambda.astype(float)
        return CertifiedRule(path, lambdas, tuple(tree.next_stage), tuple(tree.edges), tuple(tree.first_child))

    def stages(self, n_stages: int) -> list[int]:
        """List the checkpoints among so many stages."""
        if self.checkpoints is None:
            default = [0, 1, 2, 3, *(base << power for power in range(n_stages.bit_length()) for base in (4, 6))]
            return sorted(stage for stage in default if stage < n_stages)
        if self.checkpoints[:1] != (0,) or any(low >= high for low, high in pairwise(self.checkpoints)):
            raise ValueError(f"checkpoints: expected stages that rise from 0, got {self.checkpoints}")
        return [stage for stage in self.checkpoints if stage < n_stages]


class _PolicyTree:
    """Histories of bins as a pruning instance, parents before children.

    ``next_stage[h]`` is the checkpoint after history h, -1 where going on means going to the end; its bins there begin
    at ``edges[h]`` and are the nodes from ``first_child[h]`` on.
    """

    def __init__(self, paths: StoppingPaths, settings: CertifiedStopping) -> None:
        if np.any(paths.loss != np.rint(paths.loss)):
            raise ValueError(
                "loss: expected integers, such as 1 for an error, got other values; classify, or round them"
            )
        self._paths, self._settings = paths, settings
        self._checkpoints = settings.stages(paths.n_stages)
        self.parent: list[int] = []
        self.errors: list[int] = []
        self.next_stage: list[int] = []
        self.edges: list[FloatArray] = []
        self.first_child: list[int] = []
        self._needs: dict[int, list[tuple[int, int]]] = {}
        self._grow()

    def _grow(self) -> None:
        """Split histories checkpoint by checkpoint."""
        everyone = np.arange(self._paths.n_samples)
        self._add(-1, everyone, 0)
        open_nodes = [(0, everyone)]
        for position, stage in enumerate(self._checkpoints):
            following = self._checkpoints[position + 1] if position + 1 < len(self._checkpoints) else self._end
            split: list[tuple[int, IntArray]] = []
            for node, members in open_nodes:
                split += self._split(node, members, stage, following)
            open_nodes = split

    @property
    def _end(self) -> int:
        return self._paths.n_stages - 1

    def _split(self, node: int, members: IntArray, stage: int, following: int) -> list[tuple[int, IntArray]]:
        """Give a history its continuations; return those that can be split again."""
        paths, settings = self._paths, self._settings
        going = members[paths.last[members] > stage]
        if going.size == 0:
            return []
        further = going[paths.last[going] > following]
        n_bins = min(settings.n_bins, further.size // settings.min_support)
        if n_bins == 0:
            self._buy(node, going, stage, self._end)
            self._add(node, members, self._end)
            return []
        self._buy(node, going, stage, following)
        ended = np.setdiff1d(members, further)
        if ended.size:
            self._add(node, ended, following)
        signal = paths.signal[further, following]
        cuts = _quantile_cuts(signal, n_bins)
        bins = np.searchsorted(cuts, signal, side="right")
        self.next_stage[node], self.edges[node], self.first_child[node] = following, cuts, len(self.parent)
        children = [further[bins == number] for number in range(cuts.size + 1)]
        return [(self._add(node, child, following), child) for child in children]

    def _add(self, parent: int, members: IntArray, stage: int) -> int:
        self.parent.append(parent)
        self.errors.append(int(self._paths.loss[members, stage].sum()))
        self.next_stage.append(-1)
        self.edges.append(np.empty(0))
        self.first_child.append(-1)
        return len(self.parent) - 1

    def _buy(self, node: int, rows: IntArray, stage: int, following: int) -> None:
        bought_at = self._paths.bought_at[rows]
        example, unit = np.nonzero((bought_at >= stage) & (bought_at < following))
        self._needs[node] = list(zip(rows[example].tolist(), unit.tolist(), strict=True))

    def instance(self) -> PruningInstance:
        """Write the tree as a pruning instance: errors and costs are means over the examples."""
        paths, costs = self._paths, self._paths.costs
        example, unit = np.nonzero(paths.bought_at < paths.n_stages)
        number = np.full(paths.bought_at.shape, -1, dtype=np.int32)
        number[example, unit] = np.arange(example.size)
        rows = [np.sort([number[pair] for pair in self._needs[node]]) for node in sorted(self._needs)]
        parent, share = np.array(self.parent, dtype=np.int32), Fraction(1, paths.n_samples)
        losses = NodeErrors(np.array(self.errors, dtype=np.int64), share, Fraction(1))
        numbers = np.bincount(unit, minlength=costs.n_units).tolist()
        losses, step = joint_resolution(losses, parent, zip(costs.unit_costs, numbers, strict=True))
        prices = np.array([ceil(costs.unit_costs[bought] / step) for bought in unit], dtype=np.int64)
        return PruningInstance(
            tree_offsets=np.array([0, len(self.parent)]),
            node_parent=parent,
            errors=losses.errors,
            indptr=np.concatenate([[0], np.cumsum([row.size for row in rows], dtype=np.int64)]).astype(np.int64),
            indices=np.concatenate([np.empty(0, dtype=np.int32), *rows]).astype(np.int32),
            acquisition_unit=unit.astype(np.int32),
            acquisition_example=example.astype(np.int32),
            acquisition_cost=prices,
            split_cost=np.zeros(len(self._needs), dtype=np.int64),
            error_unit=losses.error_unit,
            cost_unit=share * step,
            n_units=costs.n_units,
            n_examples=paths.n_samples,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedRule:
    """A policy tree whose prunings are the optimal policies; the memory of an example is its node.

    Parameters
    ----------
    path : PruningPath
        With its instance and the flow that proves it; see `proofs.verify_path`.
    lambdas : ndarray of float64, shape (n_nodes,)
        Largest lambda at which the policy goes on.
    next_stage, first_child : tuple of int
        The next checkpoint, -1 where going on means going to the end, and the first of the nodes of its bins.
    edges : tuple of ndarray of float64
        The signals at which the next bin begins.
    """

    path: PruningPath
    lambdas: FloatArray
    next_stage: tuple[int, ...]
    edges: tuple[FloatArray, ...]
    first_child: tuple[int, ...]

    def keenness(self, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
        """Go down the policy tree at checkpoints; between them an example is as keen as at the one before."""
        following = np.array(self.next_stage)[memory]
        node = memory.copy()
        for parent in np.unique(memory[following == stage]):
            here = (memory == parent) & (following == stage)
            node[here] = self.first_child[parent] + np.searchsorted(self.edges[parent], signal[here], side="right")
        return self.lambdas[node], node

    def tables(self) -> RuleTables:
        """Write the rule as compiled walks read it."""
        return RuleTables.of(CERTIFIED, self.edges, (self.lambdas,), self.next_stage, self.first_child)
