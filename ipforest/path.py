"""The whole path as a result: every lambda at which the optimal pruning changes, and what lies between them."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, Int32Array, checked_array, read_only
from ipforest._internal.kernels import clock
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.records import records_to_csv
from ipforest._internal.words import as_given
from ipforest.instance import PruningInstance
from ipforest.maxflow.network import Lambda
from ipforest.maxflow.path_flow import PathFlow
from ipforest.maxflow.single_cut import dual_bound, lambda_within_range, minimum_cut, require_range
from ipforest.results import BudgetResult, Mixture, Pruning, PruningResult, Status

NEVER_KEPT = -1


@dataclass(frozen=True, slots=True)
class SkippedInterval:
    """A part of the path that was not resolved.

    Parameters
    ----------
    breakpoint : int
        Index of the one entry of ``PruningPath.breakpoints`` that stands for all breakpoints of this part.
    lam_low, lam_high : Fraction or float
        They lie in ``lam_low <= lam <= lam_high``; `lam_high` may be infinite.
    n_nodes : int
        How many nodes are dropped in it.
    """

    breakpoint: int
    lam_low: Fraction
    lam_high: Fraction | float
    n_nodes: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PruningPath:
    """Error and cost of all optimal prunings.

    Parameters
    ----------
    instance : PruningInstance
    breakpoints : tuple of Fraction, length k
        Ascending lambdas > 0 at which the smallest optimal pruning changes.
    errors, costs : tuple of Fraction, length k + 1
        Of the prunings between them: entry i is optimal for lam in ``[breakpoints[i - 1], breakpoints[i]]``.
    node_breakpoint : ndarray of int32, shape (n_internal,)
        Index of the breakpoint at which a node is dropped; -1 for nodes that are kept for no lambda > 0, k for nodes
        that are never dropped (they cost nothing and gain something).
    flow : PathFlow, optional
        The proof; None where something was skipped.
    skipped : tuple of SkippedInterval
        Empty for a whole path. A skipped interval shows as one breakpoint, where the prunings on its two sides, both
        optimal, are equally good.
    status : Status
        "optimal" for a whole path, "feasible" for one that was asked to be coarser, "interrupted".
    runtime_s : float
    """

    instance: PruningInstance = field(repr=False)
    breakpoints: tuple[Fraction, ...]
    errors: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]
    node_breakpoint: Int32Array
    flow: PathFlow | None
    skipped: tuple[SkippedInterval, ...]
    status: Status
    runtime_s: float

    def __post_init__(self) -> None:
        k = len(self.breakpoints)
        for name in ("errors", "costs"):
            if len(getattr(self, name)) != k + 1:
                raise ValueError(f"{name}: expected {k + 1} values for {k} breakpoints, got {len(getattr(self, name))}")
        object.__setattr__(
            self,
            "node_breakpoint",
            checked_array(self.node_breakpoint, "node_breakpoint", np.int32, (self.instance.n_internal,)),
        )

    @property
    def node_lambda(self) -> Array:
        """Largest lambda at which a node is kept (it is kept iff lam < lam_h), shape (n_internal,), dtype object.

        0 for nodes that are kept for no lambda > 0, infinity for nodes that are never dropped, Fractions in between.
        """
        values = np.empty(len(self.breakpoints) + 2, dtype=object)
        values[:] = [*self.breakpoints, inf, Fraction(0)]
        return read_only(values[self.node_breakpoint])

    @property
    def is_complete(self) -> bool:
        """Whether nothing was skipped."""
        return not self.skipped

    def pruning_at(self, index: int) -> Pruning:
        """Return the pruning whose error and cost are ``errors[index]`` and ``costs[index]``.

        Raises
        ------
        IndexError
            The index is not in 0..k.
        """
        if not 0 <= index <= len(self.breakpoints):
            raise IndexError(f"index: expected 0..{len(self.breakpoints)}, got {index}")
        return Pruning(self.node_breakpoint >= index)

    def pruning(self, lam: object) -> Pruning:
        """Return the smallest optimal pruning at a lambda.

        Raises
        ------
        ValueError
            Lambda is negative, or lies in an interval that was skipped.
        """
        exact = nonnegative_fraction(lam, "lam")
        for gap in self.skipped:
            if gap.lam_low < exact < gap.lam_high:
                raise ValueError(
                    f"lam: expected a lambda outside the skipped interval {float(gap.lam_low):.6g}.."
                    f"{float(gap.lam_high):.6g} of this coarse path, got {exact}; compute a finer path or solve for it"
                )
        return self.pruning_at(bisect_right(self.breakpoints, exact))

    def result(self, lam: object) -> PruningResult:
        """Return the smallest optimal pruning at a lambda with its certificate, without searching for it.

        The pruning is read off the path. Its flow is that of the path in the units of this lambda, with what rounding
        took away added. Where these units would pass 64 bits, as with most floats, the certificate is for the nearest
        lambda of fewer digits at which the same pruning is optimal: that is the result's ``lam``.

        Raises
        ------
        ValueError
            Lambda is negative, or the path is coarse: its flow is not known then.
        OverflowError
            Gains or costs reach 2^62 in integer units at the lambda from which on the pruning is optimal, too.
        """
        started = clock()
        exact = nonnegative_fraction(lam, "lam")
        if self.flow is None:
            raise ValueError(
                f"path: expected a whole path, got one with {len(self.skipped)} skipped intervals, which has no flow; "
                "compute the whole path or solve for this lambda"
            )
        index = bisect_right(self.breakpoints, exact)
        exact = self._with_flow(exact, index)
        scaled = Lambda(*self.instance.scaled_lambda(exact))
        require_range(self.instance, scaled)
        _, flow, _ = minimum_cut(self.instance, scaled, self.flow.at(self.instance, scaled))
        return PruningResult.of(
            self.pruning_at(index),
            (self.errors[index], self.costs[index]),
            exact,
            dual_bound(self.instance, flow),
            method="path",
            runtime_s=clock() - started,
            flow=flow,
        )

    def _with_flow(self, lam: Fraction, index: int) -> Fraction:
        """Return a lambda, or one near it whose flow fits 64 bits and at which the same pruning is optimal."""
        unit = self.instance.error_unit / self.instance.cost_unit
        near = lambda_within_range(self.instance, lam / unit) * unit
        return near if bisect_right(self.breakpoints, near) == index else (Fraction(0), *self.breakpoints)[index]

    @property
    def starts(self) -> tuple[Fraction | float, ...]:
        """Smallest lambda from which each pruning is known to be optimal, length k + 1.

        The breakpoints after 0; the upper end of an interval that was skipped, which may be infinite.
        """
        ends: list[Fraction | float] = [Fraction(0), *self.breakpoints]
        for gap in self.skipped:
            ends[gap.breakpoint + 1] = gap.lam_high
        return tuple(ends)

    def lambda_of(self, pruning: Pruning) -> Fraction:
        """Find the smallest lambda at which a pruning of this path is known to be the smallest optimal one.

        Raises
        ------
        ValueError
            The pruning is not on the path, or comes after everything that a coarse path resolved.
        """
        for index, lam in enumerate(self.starts):
            if isinstance(lam, Fraction) and self.pruning_at(index) == pruning:
                return lam
        raise ValueError(
            f"pruning: expected one of the {len(self.errors)} prunings of the path that has a lambda, got {pruning!r}"
        )

    def at_budget(self, budget: object) -> BudgetResult:
        """Find the best pruning of the path within a budget, a bound, and the mixture that spends it in expectation.

        Parameters
        ----------
        budget : int, float, str, Decimal or Fraction
            What an example may cost on average.

        Returns
        -------
        BudgetResult
            Status "optimal" when the pruning meets the bound. The bound is the lower hull of all prunings at the
            budget; where the path is coarse it is what the nearest known prunings prove.

        Raises
        ------
        ValueError
            The budget is negative, or below the cheapest pruning's cost.
        """
        started = clock()
        limit = nonnegative_fraction(budget, "budget")
        index = next((i for i, cost in enumerate(self.costs) if cost <= limit), None)
        if index is None:
            raise ValueError(
                f"budget: expected at least {as_given(self.costs[-1])}, the cost of the cheapest pruning, got "
                f"{as_given(limit)}"
            )
        error, cost = self.errors[index], self.costs[index]
        mixture: Mixture = ((Fraction(1), self.pruning_at(index)),)
        mixture_error, mixture_cost, bound = error, cost, error
        lam = Fraction(0)
        if index > 0:
            supported, lam = max(
                (neighbour + slope * (value - limit), slope)
                for slope, neighbour, value in self._supports(index, error, cost)
                if slope != inf
            )
        if index > 0 and cost < limit:
            bound = supported
            weight = (limit - cost) / (self.costs[index - 1] - cost)
            mixture = ((1 - weight, self.pruning_at(index)), (weight, self.pruning_at(index - 1)))
            mixture_error = weight * self.errors[index - 1] + (1 - weight) * error
            mixture_cost = limit
        return BudgetResult(
            status=Status.OPTIMAL if bound == error else Status.FEASIBLE,
            budget=limit,
            pruning=self.pruning_at(index),
            error=error,
            cost=cost,
            bound=bound,
            lam=lam,
            mixture=mixture,
            mixture_error=mixture_error,
            mixture_cost=mixture_cost,
            runtime_s=clock() - started,
            method="path",
        )

    def _supports(self, index: int, error: Fraction, cost: Fraction) -> list[tuple[Any, Fraction, Fraction]]:
        """Lines below all prunings between the points index - 1 and index: slope, error, cost."""
        for gap in self.skipped:
            if gap.breakpoint == index - 1:
                return [
                    (gap.lam_low, self.errors[index - 1], self.costs[index - 1]),
                    (gap.lam_high, error, cost),
                    (Fraction(0), self.errors[0], self.costs[0]),
                ]
        return [(self.breakpoints[index - 1], error, cost)]

    def records(self) -> list[dict[str, Any]]:
        """Return one plain record per pruning: where it starts to be optimal, its error, cost and kept nodes.

        ``skipped_after`` tells how many nodes are dropped, at breakpoints that were not found, before the next pruning.
        """
        dropped = np.bincount(self.node_breakpoint + 1, minlength=len(self.breakpoints) + 2)
        kept = self.node_breakpoint.size - np.cumsum(dropped)
        skipped = {gap.breakpoint: gap.n_nodes for gap in self.skipped}
        return [
            {
                "lambda_from": float(lam),
                "lambda_from_exact": str(lam),
                "error": float(error),
                "error_exact": str(error),
                "cost": float(cost),
                "cost_exact": str(cost),
                "internal_nodes": int(count),
                "skipped_after": skipped.get(index, 0),
            }
            for index, (lam, error, cost, count) in enumerate(
                zip(self.starts, self.errors, self.costs, kept, strict=False)
            )
        ]

    def to_csv(self) -> str:
        """Return the records as CSV with a header."""
        return records_to_csv(self.records())

    def to_json(self) -> str:
        """Return the records, the status and what was skipped as JSON."""
        skipped = [{name: str(value) for name, value in asdict(gap).items()} for gap in self.skipped]
        return json.dumps({"status": str(self.status), "skipped": skipped, "prunings": self.records()}, indent=1)

    def summary(self) -> str:
        """Describe the path in a few lines."""
        text = (
            f"path: {self.status} in {self.runtime_s:.3g} s, {len(self.breakpoints)} breakpoints\n"
            f"  error {float(self.errors[0]):.6g} at cost {float(self.costs[0]):.6g} down to "
            f"error {float(self.errors[-1]):.6g} at cost {float(self.costs[-1]):.6g}"
        )
        for gap in self.skipped:
            text += f"\n  skipped: lambda {float(gap.lam_low):.6g}..{float(gap.lam_high):.6g}, {gap.n_nodes} nodes"
        return text

    __str__ = __repr__ = summary
