"""When to stop buying: rules learnt from what held-out examples would see and pay at every stage.

A rule gives each example at each stage a *keenness*: it goes on while its keenness exceeds a level. One level is one
policy, and a higher level stops each example at the same stage or sooner; so one sort gives cost and error of every
level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.choosing.frontier import Frontier
from ipforest.estimator.held_out import folds_of_groups
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.paths import FittedRule, StoppingPaths, StoppingRule, asked, tables_of
from ipforest.stopping.threshold_stopping import ThresholdStopping

__all__ = [
    "Curve",
    "LearntStopping",
    "ScoreOfStops",
    "check_stopping",
    "cross_fitted_keenness",
    "keenness_along",
    "learn_stopping",
    "stages_reached",
    "stopped_by",
    "stopping_curve",
]

ROUNDING = 1e-9
"""Share of the largest signal by which signals may differ that are equal but for the rounding of sums."""

MAX_SCORED = 32
"""Levels of a rule that a measure of all examples together is computed at."""


ScoreOfStops: TypeAlias = Callable[[IntArray], float]
"""How good it is to stop each example at a stage, shape (n_samples,): the larger, the better."""


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
        keen[rows, stage], memory[rows] = asked(
            rule, np.full(rows.size, stage), paths.signal[rows, stage], memory[rows]
        )
    return keen


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
    """Compute each example's keenness by a rule that was fitted without it, and without those of its group.

    Parameters
    ----------
    rule : StoppingRule
    paths : StoppingPaths
        Groups count where there are two or more.
    n_folds : int
        With 1, the rule is fitted on all examples and applied to the same; so is it where there is one example alone.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_stages)
    """
    if n_folds == 1 or paths.n_samples == 1:
        return keenness_along(rule.fit(paths), paths)
    fold = np.arange(paths.n_samples) % n_folds
    if paths.groups is not None and np.unique(paths.groups).size > 1:
        fold = folds_of_groups(paths.last, paths.groups, n_folds, classify=False)
    keen = np.empty(paths.signal.shape)
    for held_out in np.unique(fold):
        keen[fold == held_out] = keenness_along(rule.fit(paths.of(fold != held_out)), paths.of(fold == held_out))
    return keen


def stopping_curve(keenness: FloatArray, paths: StoppingPaths, rounding: float = 0.0) -> Curve:
    """Sum up cost and error of every level.

    Parameters
    ----------
    keenness : ndarray of float64, shape (n_samples, n_stages)
        From `keenness_along` or `cross_fitted_keenness`.
    paths : StoppingPaths
    rounding : float, default=0
        Share of the largest keenness by which equal ones may differ: no level lies between these, and each lies half as
        much above the keenness that it stops.

    Returns
    -------
    Curve
        From stopping all at stage 0 to stopping none.
    """
    endurance = np.minimum.accumulate(keenness, axis=1)[:, :-1]
    goes_on = endurance > -inf
    levels, group = np.unique(-endurance[goes_on], return_inverse=True)
    slack = rounding * float(np.abs(levels[np.isfinite(levels)]).max(initial=0.0)) if rounding else 0.0
    is_first = np.append(True, np.diff(levels) > slack)[: levels.size]
    group, levels = (np.cumsum(is_first) - 1)[group], levels[is_first] - slack / 2

    def summed(amounts: FloatArray) -> FloatArray:
        steps = np.bincount(group, weights=np.diff(amounts, axis=1)[goes_on], minlength=levels.size)
        sums: FloatArray = (amounts[:, 0].sum() + np.concatenate([[0.0], np.cumsum(steps)])) / paths.n_samples
        return sums

    cost, loss = summed(paths.cost), summed(paths.loss)
    curve = Curve(np.concatenate([[inf], -levels, [-inf]]), np.append(cost[:1], cost), np.append(loss[:1], loss))
    return curve if curve.level[1] < inf else Curve(*(column[1:] for column in curve))


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
    if tables_of(fitted) is None:
        _require_same_alone(fitted, keenness[0], paths)
    if type(rule) is ThresholdStopping:
        curve = stopping_curve(keenness[0], paths, ROUNDING)
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
