r"""Algorithm 1 of BudgetPrune: projected subgradient ascent on the Lagrangian dual, one shortest path per tree.

Multipliers beta^(t)_{k,i} >= 0 relax w^(t)_{k,i} <= w_{k,i}. An iteration prunes every tree by itself (step 2, by the
tree recursion), sets each w_{k,i} in closed form from mu_{k,i} = lambda c_k / N - sum_t beta^(t)_{k,i} (0 where
mu > 0, 1 where mu < 0) and moves the multipliers along the subgradient w^(t)_{k,i} - w_{k,i} (step 3).

The paper leaves three things open. They are settled like this.

*The step.* "constant" and "diminishing" are the plain rule: steps of given length from beta = 0, negative multipliers
cut to 0. Where mu = 0 every w in [0, 1] is a minimiser; an acquisition is then made if some tree makes it. "polyak" and
"deflected" start at equal shares of each price and project on {beta >= 0, mu >= 0}, which contains an optimum, since
giving an excess back never lowers the dual value. On the face mu = 0 they take w as the mean of the w^(t), the
subgradient of least norm. Their length follows B. Polyak, the gap to the best pruning over the squared norm, times a
relaxation that halves when the bound stalls (M. Held, P. Wolfe, H. Crowder 1974). "deflected" moves along a running
mean of the subgradients, as the volume algorithm does (F. Barahona, R. Anbil 2000). "released" is the rule of the
authors' published program, with which the printed tables were made in at most 50 iterations (100 with groups): Polyak's
length times (1 + m) / (n + m) at iteration n, m = 500, from beta = 0; where mu = 0 nothing is bought.

*The primal side.* Kept are the best of all prunings seen: those of the trees under beta and, every ten iterations, the
best level set of a running mean of them, which tends to the relaxation's optimum.

*The gap.* Multipliers move in floating point, but each dual value is computed in integers from multipliers rounded
down, so bound and value are exact at every iteration and the bound never exceeds the optimum.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, load_arrays, read_only, save_arrays
from ipforest._internal.kernels import clock, njit
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.rational import nonnegative_fraction, time_limit_seconds
from ipforest._internal.records import from_record, json_object, to_record
from ipforest.instance import PruningInstance
from ipforest.results import Pruning, PruningResult, Status
from ipforest.solvers.lagrangian import Incumbent, ScaledProblem, Trace
from ipforest.solvers.tree_dp import equal_shares
from ipforest.solvers.tree_pool import TreePool

logger = logging.getLogger(__name__)


STATE_VERSION = 2
_AVERAGE_WEIGHT = 0.05
_ROUNDING_PERIOD = 10
_TIE = 1e-12

NEVER = 10**9
"""A patience that no run exhausts."""


@dataclass(frozen=True, slots=True)
class StepRule:
    """How far and where the multipliers move.

    Parameters
    ----------
    name : str
    projected : bool
        Whether multipliers stay within the prices (mu >= 0), or only above 0 as in the paper.
    length : float
        Constant and diminishing rules: length of the first step, in parts of the largest price; 0 for Polyak's.
    power : float
        The length at iteration n is ``length * n**-power``.
    relaxation : float
        Polyak's rules: factor on gap / squared norm.
    patience : int
        Polyak's rules: iterations without a better bound after which the relaxation halves.
    settling : float
        Polyak's rules: m > 0 in the factor (1 + m) / (n + m) of iteration n; 0 for no such factor.
    ties_buy : bool
        Not projected: whether an acquisition is made at mu = 0 if some tree makes it.
    memory : float
        Weight of the last direction in the new one, in [0, 1).
    """

    name: str
    projected: bool
    length: float = 0.0
    power: float = 0.0
    relaxation: float = 0.0
    patience: int = 0
    memory: float = 0.0
    settling: float = 0.0
    ties_buy: bool = True

    def __post_init__(self) -> None:
        if (self.length > 0) == (self.relaxation > 0):
            raise ValueError(
                f"step_rule: expected either length > 0 or relaxation > 0, got {self.length} and {self.relaxation}"
            )
        if self.relaxation > 0 and self.patience < 1:
            raise ValueError(f"step_rule: expected a patience of 1 iteration or more, got {self.patience}")
        if not 0 <= self.settling < inf:
            raise ValueError(f"step_rule: expected a finite settling >= 0, got {self.settling}")
        if not (0 <= self.power <= 1 and 0 <= self.memory < 1):
            raise ValueError(
                f"step_rule: expected power in [0, 1] and memory in [0, 1), got {self.power} and {self.memory}"
            )


STEP_RULES: Mapping[str, StepRule] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            StepRule("constant", projected=False, length=0.01),
            StepRule("diminishing", projected=False, length=0.5, power=0.5),
            StepRule("released", projected=False, relaxation=1.0, patience=NEVER, settling=500.0, ties_buy=False),
            StepRule("polyak", projected=True, relaxation=1.9, patience=60),
            StepRule("deflected", projected=True, relaxation=6.0, patience=30, memory=0.9),
        )
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class PrimalDualState:
    """Where a run stands: all that the next iteration depends on.

    Parameters
    ----------
    fingerprint : str
        Of the instance.
    lam : Fraction
    rule : StepRule
    multipliers : ndarray of float, shape (n_triples,)
        beta in error units.
    direction : ndarray of float, shape (n_triples,)
        The last one, for rules with memory.
    average : ndarray of float, shape (n_internal,)
        Running mean of the trees' prunings.
    relaxation : float
    stalled : int
        Iterations since the bound rose.
    incumbent : Incumbent
    trace : Trace
    """

    fingerprint: str
    lam: Fraction
    rule: StepRule
    multipliers: FloatArray
    direction: FloatArray
    average: FloatArray
    relaxation: float
    stalled: int
    incumbent: Incumbent
    trace: Trace

    @property
    def iteration(self) -> int:
        """Iterations done."""
        return len(self.trace)

    def save(self, path: str | Path) -> None:
        """Write the state as ``.npz``, without pickles, whole or not at all."""
        facts = to_record(self, ("fingerprint", "lam", "rule", "relaxation", "stalled")) | {
            "version": STATE_VERSION,
            "unit": str(self.trace.unit),
            "value": self.incumbent.value,
            "bound": self.incumbent.bound,
        }
        trace = np.array([self.trace.value, self.trace.bound, self.trace.dual_value], dtype=np.int64)
        arrays = {
            "facts": np.array(json.dumps(facts)),
            "multipliers": self.multipliers,
            "direction": self.direction,
            "average": self.average,
            "kept": self.incumbent.pruning.kept,
            "trace": trace.reshape(3, -1),
        }
        save_arrays(path, arrays)

    @classmethod
    def load(cls, path: str | Path) -> PrimalDualState:
        """Read what `save` wrote.

        Raises
        ------
        OSError
            The file cannot be opened.
        ValueError
            It is no state, is truncated, or has another version.
        """
        arrays = load_arrays(path, "state of primal-dual")
        try:
            facts = json_object(str(arrays["facts"]))
            if facts["version"] != STATE_VERSION:
                raise ValueError(f"format version {STATE_VERSION} expected, got {facts['version']}")
            value, bound, dual_value = (tuple(row) for row in arrays["trace"].tolist())
            return from_record(
                cls,
                facts,
                multipliers=arrays["multipliers"],
                direction=arrays["direction"],
                average=arrays["average"],
                incumbent=Incumbent(Pruning(arrays["kept"]), facts["value"], facts["bound"]),
                trace=Trace(Fraction(facts["unit"]), value, bound, dual_value),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(f"{path}: expected a complete state of primal-dual (.npz), got: {problem}") from None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PrimalDualResult(PruningResult):
    """A pruning, its bound, how both moved, and where to go on.

    Parameters
    ----------
    trace : Trace
        One entry per iteration.
    state : PrimalDualState
    """

    trace: Trace
    state: PrimalDualState


def solve_primal_dual(
    instance: PruningInstance,
    lam: Fraction,
    *,
    step_rule: str | StepRule = "deflected",
    max_iterations: int = 1000,
    absolute_gap: object = 0,
    relative_gap: object = "1e-6",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: ProgressCallback = silent,
    state: PrimalDualState | None = None,
) -> PrimalDualResult:
    """Prune the ensemble by BudgetPrune's primal-dual algorithm.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
    step_rule : {"constant", "diminishing", "released", "polyak", "deflected"} or StepRule
        See the module's text. A resumed run keeps the state's rule.
    max_iterations : int
        In all, those of the state included.
    absolute_gap, relative_gap : number
        Stop when value less bound is at most this, or at most this part of the value.
    time_limit : float, optional
        Seconds, of this call.
    n_jobs : int, optional
        Of joblib; by default what `joblib.parallel_config` says, else 1. Never changes the result.
    progress : callable
        Called after each iteration.
    state : PrimalDualState, optional
        Go on from here, with the same result as a run that never stopped.

    Returns
    -------
    PrimalDualResult
        Status "optimal" (proven), "gap reached", "iteration limit", "time limit" or, after KeyboardInterrupt,
        "interrupted"; always with the best pruning and bound.

    Raises
    ------
    ValueError
        Unknown rule, a limit out of range, or a state of another instance, lambda or rule.
    OverflowError
        At this lambda, or with these steps, the scaled integers could reach 2^62.

    Notes
    -----
    Source: BudgetPrune, section 4 and Algorithm 1.
    """
    started = clock()
    tolerances = (
        nonnegative_fraction(absolute_gap, "absolute_gap"),
        nonnegative_fraction(relative_gap, "relative_gap"),
    )
    if max_iterations < 1:
        raise ValueError(f"max_iterations: expected 1 or more, got {max_iterations}")
    time_limit = time_limit_seconds(time_limit)
    ascent = _Ascent(ScaledProblem.at(instance, lam), _checked_rule(step_rule))
    state = ascent.first_state(lam) if state is None else ascent.checked(state, lam)
    status: Status | None = None
    try:
        with TreePool(instance, ascent.problem.fine_q, n_jobs) as pool:
            while status is None:
                status = _ended(state, max_iterations, tolerances)
                if status is None and time_limit is not None and clock() - started > time_limit:
                    status = Status.TIME_LIMIT
                if status is None:
                    state = ascent.advance(state, pool)
                    gap = float((state.incumbent.value - state.incumbent.bound) * state.trace.unit)
                    logger.debug("iteration %d: gap %.6g", state.iteration, gap)
                    progress(state.iteration / max_iterations, f"gap {gap:.3g}")
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return _result(instance, lam, status, state, clock() - started)


def _checked_rule(rule: str | StepRule) -> StepRule:
    if isinstance(rule, StepRule):
        return rule
    if rule not in STEP_RULES:
        raise ValueError(f"step_rule: expected one of {', '.join(STEP_RULES)} or a StepRule, got {rule!r}")
    return STEP_RULES[rule]


def _ended(state: PrimalDualState, max_iterations: int, tolerances: tuple[Fraction, Fraction]) -> Status | None:
    """Check whether a state is the last one, and why."""
    value, bound, unit = state.incumbent.value, state.incumbent.bound, state.trace.unit
    absolute, relative = tolerances
    if state.iteration > 0:
        if state.incumbent.proven:
            return Status.OPTIMAL
        if (value - bound) * unit <= absolute or value - bound <= relative * value:
            return Status.GAP_REACHED
    return Status.ITERATION_LIMIT if state.iteration >= max_iterations else None


def _result(
    instance: PruningInstance, lam: Fraction, status: Status, state: PrimalDualState, runtime_s: float
) -> PrimalDualResult:
    pruning = state.incumbent.pruning
    return PrimalDualResult.of(
        pruning,
        instance.evaluate(pruning),
        lam,
        state.incumbent.bound * state.trace.unit,
        ended=status,
        runtime_s=runtime_s,
        method="primal-dual",
        iterations=state.iteration,
        trace=state.trace,
        state=state,
    )


class _Ascent:
    """One run's fixed data, and the step from state to state."""

    def __init__(self, problem: ScaledProblem, rule: StepRule) -> None:
        instance = problem.instance
        self.problem = problem
        self._rule = rule
        self._prices = problem.prices
        self._counts = np.bincount(instance.indices, minlength=instance.n_acquisitions)
        self._order = np.argsort(instance.indices, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(self._counts)])
        self._triple_node = instance.triple_node
        self._fingerprint = instance.fingerprint()

    def first_state(self, lam: Fraction) -> PrimalDualState:
        """Start from the better of keeping all and keeping nothing, at beta = 0 or at equal shares."""
        problem, instance = self.problem, self.problem.instance
        incumbent = Incumbent(instance.roots_only, problem.value(instance.roots_only), 0)
        incumbent = incumbent.with_pruning(problem.value(instance.unpruned), instance.unpruned)
        start = np.zeros(instance.n_triples)
        if self._rule.projected:
            start = equal_shares(instance, problem.fine_p) / float(problem.fine_q)
        return PrimalDualState(
            fingerprint=self._fingerprint,
            lam=lam,
            rule=self._rule,
            multipliers=read_only(start),
            direction=read_only(np.zeros(instance.n_triples)),
            average=read_only(np.zeros(instance.n_internal)),
            relaxation=self._rule.relaxation,
            stalled=0,
            incumbent=incumbent,
            trace=Trace(instance.error_unit / problem.q),
        )

    def checked(self, state: PrimalDualState, lam: Fraction) -> PrimalDualState:
        """Require that a state belongs to this run."""
        if state.fingerprint != self._fingerprint:
            raise ValueError(
                f"state: expected a state of this instance ({self._fingerprint[:12]}...), got one of "
                f"{state.fingerprint[:12]}..."
            )
        if state.lam != lam:
            raise ValueError(f"state: expected a state at lambda {lam}, got one at {state.lam}")
        if state.rule != self._rule:
            raise ValueError(f"state: expected the step rule {self._rule.name!r}, got {state.rule.name!r}")
        return state

    def advance(self, state: PrimalDualState, pool: TreePool) -> PrimalDualState:
        """Prune the trees under the multipliers, then move the multipliers."""
        problem = self.problem
        fine_value, kept = problem.dual_value(pool, problem.rounded(state.multipliers))
        dual_value = problem.coarse_bound(fine_value)
        weight = _AVERAGE_WEIGHT if state.iteration else 1.0
        average = (1.0 - weight) * state.average + weight * kept
        incumbent = state.incumbent.with_bound(dual_value).with_pruning(problem.value(Pruning(kept)), Pruning(kept))
        if (state.iteration + 1) % _ROUNDING_PERIOD == 0:
            incumbent = incumbent.with_pruning(*problem.best_threshold(average))
        stalled = 0 if incumbent.bound > state.incumbent.bound else state.stalled + 1
        relaxation = state.relaxation
        if self._rule.relaxation and stalled >= self._rule.patience:
            stalled, relaxation = 0, relaxation / 2
        subgradient = self._subgradient(state.multipliers, kept)
        memory = self._rule.memory if state.iteration else 0.0
        direction = memory * state.direction + (1.0 - memory) * subgradient
        gap = (incumbent.value - dual_value) / problem.q
        length = self._length(state.iteration + 1, relaxation, gap, direction)
        return replace(
            state,
            multipliers=read_only(self._projected(state.multipliers + length * direction)),
            direction=read_only(direction),
            average=read_only(average),
            relaxation=relaxation,
            stalled=stalled,
            incumbent=incumbent,
            trace=state.trace.then(incumbent, dual_value),
        )

    def _subgradient(self, multipliers: FloatArray, kept: BoolArray) -> FloatArray:
        """w^(t) - w at the minimisers; shape (n_triples,)."""
        indices = self.problem.instance.indices
        used = kept[self._triple_node].astype(np.float64)
        size = self._prices.size
        slack = self._prices - np.bincount(indices, weights=multipliers, minlength=size)
        mean = np.bincount(indices, weights=used, minlength=size) / np.maximum(self._counts, 1)
        tied = np.abs(slack) <= _TIE * self._prices
        at_tie = mean if self._rule.projected else ((mean > 0) & self._rule.ties_buy).astype(np.float64)
        bought = np.where(tied, at_tie, (slack < 0).astype(np.float64))
        return used - bought[indices]

    def _length(self, iteration: int, relaxation: float, gap: float, direction: FloatArray) -> float:
        if not self._rule.relaxation:
            return float(self._rule.length * self._prices.max(initial=0.0) * iteration**-self._rule.power)
        squared_norm = float(np.sum(direction * direction))
        m = self._rule.settling
        settled = (1.0 + m) / (iteration + m) if m else 1.0
        return settled * relaxation * gap / squared_norm if squared_norm > 0 else 0.0

    def _projected(self, multipliers: FloatArray) -> FloatArray:
        np.maximum(multipliers, 0.0, out=multipliers)
        if self._rule.projected:
            _project(self._order, self._starts, self._prices, multipliers)
        return multipliers


@njit
def _project(order: Array, starts: Array, prices: Array, multipliers: Array) -> None:
    """Project each acquisition's multipliers (>= 0) on those that sum to at most its price (C. Michelot 1986)."""
    for acquisition in range(prices.size):
        first, end = starts[acquisition], starts[acquisition + 1]
        total = 0.0
        for position in range(first, end):
            total += multipliers[order[position]]
        if total <= prices[acquisition]:
            continue
        active = end - first
        while True:
            cut = (total - prices[acquisition]) / active
            total, above = 0.0, 0
            for position in range(first, end):
                if multipliers[order[position]] > cut:
                    total += multipliers[order[position]]
                    above += 1
            if above == 0 or above >= active:
                break
            active = above
        for position in range(first, end):
            multipliers[order[position]] = max(0.0, multipliers[order[position]] - cut)
