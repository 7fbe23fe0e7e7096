"""What the decomposition methods share: exact dual values, exact rounding of fractional prunings, the best so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest._internal.rational import INT64_SAFE, exact_sum
from ipforest.instance import PruningInstance
from ipforest.results import Pruning
from ipforest.solvers.tree_dp import check_charges, loads, node_charges, scaled_prices
from ipforest.solvers.tree_pool import TreePool

_HEADROOM_BITS = 60
_FINEST_BITS = 24


@dataclass(frozen=True, slots=True, eq=False)
class ScaledProblem:
    """An instance at one lambda, with multipliers in steps finer than the objective's integers.

    Objective values are integers in units of ``error_unit / q``. Multipliers are integers in units of
    ``error_unit / (q * resolution)``, so that rounding real multipliers down costs next to nothing, and a dual value
    within one unit of a pruning's proves it optimal.

    Parameters
    ----------
    instance : PruningInstance
    p, q : int
        Lambda in integer units.
    resolution : int
        A power of two.
    """

    instance: PruningInstance
    p: int
    q: int
    resolution: int

    @classmethod
    def at(cls, instance: PruningInstance, lam: Fraction) -> ScaledProblem:
        """Choose the finest resolution whose integers stay below 2^60.

        Raises
        ------
        OverflowError
            Even at resolution 1 the numbers could reach 2^62.
        """
        p, q = instance.scaled_lambda(lam)
        total = q * max(1, exact_sum(instance.errors)) + p * max(1, instance.total_cost)
        if total >= INT64_SAFE:
            raise OverflowError(
                f"lam: expected q * errors + p * costs below 2^62, got {total}; use a lambda with fewer digits"
            )
        bits = min(_FINEST_BITS, max(0, _HEADROOM_BITS - total.bit_length()))
        return cls(instance, p, q, 1 << bits)

    @property
    def fine_p(self) -> int:
        """Weight of a cost unit in units of the multipliers."""
        return self.p * self.resolution

    @property
    def fine_q(self) -> int:
        """Weight of an error unit in units of the multipliers."""
        return self.q * self.resolution

    @property
    def prices(self) -> FloatArray:
        """Price of each acquisition in error units; shape (n_acquisitions,)."""
        return scaled_prices(self.instance, self.p) / float(self.q)

    def rounded(self, beta: FloatArray) -> IntArray:
        """Multipliers in error units as integers, rounded down.

        Raises
        ------
        OverflowError
            They could sum to 2^62.
        """
        fine = beta * float(self.fine_q)
        if float(fine.sum()) >= INT64_SAFE:
            raise OverflowError("step: expected multipliers that sum below 2^62, got more; use a smaller step")
        return np.floor(fine).astype(np.int64)

    def dual_value(self, pool: TreePool, beta: IntArray) -> tuple[int, BoolArray]:
        """Evaluate the Lagrangian dual at multipliers beta >= 0; exact, and a bound for any of them.

        The inner minimum over w_{k,i} in [0, 1] is closed: sum of min(0, mu_{k,i}) with mu_{k,i} the price less the
        load (BudgetPrune, section 4). The trees are pruned by the pool.

        Parameters
        ----------
        pool : TreePool
            Made with weight `fine_q`.
        beta : ndarray of int64, shape (n_triples,)

        Returns
        -------
        value : int
            In units of the multipliers, ``error_unit / (q * resolution)``.
        kept : ndarray of bool, shape (n_internal,)
            Where the trees stop.
        """
        charges = node_charges(self.instance, self.fine_p, beta)
        check_charges(self.instance, self.fine_q, charges)
        slack = scaled_prices(self.instance, self.fine_p) - loads(self.instance, beta)
        values, kept = pool.prune(charges)
        return exact_sum(values) + exact_sum(np.minimum(slack, 0)), kept

    def coarse_bound(self, fine_value: int) -> int:
        """Round a dual value up to the objective's integers, as every pruning's objective is one of them."""
        return -(-fine_value // self.resolution)

    def value(self, pruning: Pruning) -> int:
        """Objective of a pruning in units of ``error_unit / q``."""
        return self.q * self.instance.integer_error(pruning) + self.p * self.instance.integer_cost(pruning)

    def best_threshold(self, level: FloatArray) -> tuple[int, Pruning]:
        """Round fractional x_h in [0, 1], no child above its parent, to the best of its level sets.

        With a threshold uniform on (0, 1] the expected objective of {x >= threshold} is the fractional one, so the
        best level set is no worse. All of them are evaluated, in integers.

        Parameters
        ----------
        level : ndarray of float, shape (n_internal,)

        Returns
        -------
        value : int
            In units of ``error_unit / q``.
        pruning : Pruning
            The smallest of the best.
        """
        instance = self.instance
        bought_at = np.zeros(instance.n_acquisitions)
        np.maximum.at(bought_at, instance.indices, level[instance.triple_node])
        levels = np.concatenate([level, bought_at])
        weights = np.concatenate(
            [self.p * instance.split_cost - self.q * instance.gain, scaled_prices(instance, self.p)]
        )
        order = np.argsort(-levels, kind="stable")
        sorted_levels = levels[order]
        ends = np.flatnonzero(np.append(np.diff(sorted_levels) < 0, True)) if levels.size else np.array([], int)
        ends = ends[sorted_levels[ends] > 0]
        changes = np.concatenate([[0], np.cumsum(weights[order])[ends]])
        best = int(np.argmin(changes))
        threshold = np.inf if best == 0 else sorted_levels[ends[best - 1]]
        roots_only = self.q * exact_sum(instance.errors[instance.tree_offsets[:-1]])
        return roots_only + int(changes[best]), Pruning(level >= threshold)


@dataclass(frozen=True, slots=True, eq=False)
class Incumbent:
    """The best pruning and the best bound so far, in units of ``error_unit / q``."""

    pruning: Pruning
    value: int
    bound: int

    @property
    def proven(self) -> bool:
        """Whether the bound meets the value: the pruning is optimal."""
        return self.bound >= self.value

    def with_pruning(self, value: int, pruning: Pruning) -> Incumbent:
        """Take a pruning if it is better."""
        return replace(self, pruning=pruning, value=value) if value < self.value else self

    def with_bound(self, bound: int) -> Incumbent:
        """Take a bound if it is higher."""
        return replace(self, bound=max(bound, self.bound))


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """How value and bound moved, iteration by iteration.

    Parameters
    ----------
    unit : Fraction
        ``error_unit / q``: what one unit of the integers below is worth.
    value : tuple of int
        Objective of the best pruning after each iteration.
    bound : tuple of int
        The best bound after each iteration.
    dual_value : tuple of int
        The bound that the iteration itself gave.
    """

    unit: Fraction
    value: tuple[int, ...] = ()
    bound: tuple[int, ...] = ()
    dual_value: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    def then(self, incumbent: Incumbent, dual_value: int) -> Trace:
        """Add an iteration."""
        return replace(
            self,
            value=(*self.value, incumbent.value),
            bound=(*self.bound, incumbent.bound),
            dual_value=(*self.dual_value, dual_value),
        )

    @property
    def gap(self) -> FloatArray:
        """Value less bound after each iteration, as error rates; shape (n_iterations,)."""
        differences = [above - below for above, below in zip(self.value, self.bound, strict=True)]
        return np.array([float(units * self.unit) for units in differences])
