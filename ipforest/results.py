"""What solvers return: a pruning, its exact objective, a bound, and, where there is one, the dual flow."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from math import inf
from typing import Any, Self, TypeAlias

import numpy as np

from ipforest._internal.arrays import BoolArray, IntArray, checked_array, checked_integer, checked_number
from ipforest._internal.rational import as_fraction
from ipforest._internal.records import from_record, json_object, to_record

MAX_NODES = 2**31 - 1
"""Nodes are numbered by integers of 32 bits."""


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    GAP_REACHED = "gap reached"
    INTERRUPTED = "interrupted"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"status: expected one of {', '.join(cls)}, got {value!r}")

    def judged(self, proven: bool) -> Status:
        """Return the status of the result of a search that ended like this: "optimal" if and only if it is proven."""
        if proven:
            return Status.OPTIMAL
        return Status.FEASIBLE if self is Status.OPTIMAL else self


@dataclass(frozen=True, slots=True, eq=False)
class Pruning:
    """The internal nodes that stay internal; every other one becomes a leaf or disappears.

    Parameters
    ----------
    kept : array of bool, shape (n_internal,)
        x_h = 1: node h keeps its test. Indexed like ``instance.internal_nodes``.
    """

    kept: BoolArray

    def __post_init__(self) -> None:
        kept = np.asarray(self.kept)
        if kept.ndim != 1 or (kept.size and kept.dtype != np.bool_):
            raise ValueError(
                f"kept: expected a 1-dimensional array of bool, got {kept.ndim} dimensions of {kept.dtype}"
            )
        object.__setattr__(self, "kept", checked_array(kept, "kept", np.bool_, kept.shape))

    @property
    def n_kept(self) -> int:
        """Number of internal nodes that stay."""
        return int(np.count_nonzero(self.kept))

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.kept, other.kept) if isinstance(other, Pruning) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.kept.tobytes())

    def __repr__(self) -> str:
        return f"Pruning({self.n_kept} of {self.kept.size} internal nodes kept)"

    def to_dict(self) -> dict[str, Any]:
        """Return the pruning as JSON types."""
        return {"n_internal": self.kept.size, "kept": np.flatnonzero(self.kept).tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Pruning:
        """Read what `to_dict` gave.

        Raises
        ------
        ValueError
            It keeps a node that does not exist, or one twice, or it has more nodes than a forest.
        """
        size, nodes = checked_number(data["n_internal"], "n_internal"), data["kept"]
        if size > MAX_NODES:
            raise ValueError(f"n_internal: expected at most {MAX_NODES} nodes, got {size}")
        if nodes and not 0 <= min(nodes) <= max(nodes) < size:
            raise ValueError(f"kept: expected nodes 0..{size - 1}, got {min(nodes)}..{max(nodes)}")
        if len(set(nodes)) < len(nodes):
            raise ValueError(f"kept: expected each node once, got {len(nodes) - len(set(nodes))} again")
        kept = np.zeros(size, dtype=bool)
        kept[nodes] = True
        return cls(kept)


Mixture: TypeAlias = tuple[tuple[Fraction, Pruning], ...]
"""Weights > 0, of sum 1, and prunings, the cheaper one first."""


def _read_fields(result: PruningResult | BudgetResult, *numbers: str) -> None:
    """Read the status and the exact numbers of a result that is being made; require that its pruning is one.

    Raises
    ------
    TypeError, ValueError
        The pruning is not a `Pruning`, a number is not finite, the seconds are negative, or there is no such status.
    """
    object.__setattr__(result, "status", Status(result.status))
    if not isinstance(result.pruning, Pruning):
        raise TypeError(f"pruning: expected a Pruning, got {type(result.pruning).__name__}; write Pruning(kept)")
    for name in numbers:
        object.__setattr__(result, name, as_fraction(getattr(result, name), name))
    if not 0 <= result.runtime_s < inf:
        raise ValueError(f"runtime_s: expected seconds, a finite number >= 0, got {result.runtime_s!r}")


def check_flow_arrays(flow: Any, n_internal: int) -> None:
    """Check the arrays of a flow that is being made, `used`, `triple`, `up`, `gain` and `split`, and freeze them.

    Raises
    ------
    TypeError, ValueError
        An array is not one of integers, or not of the right length.
    """
    n_used = np.asarray(flow.used).size
    sizes = {"used": n_used, "triple": n_used, "up": n_internal, "gain": n_internal, "split": n_internal}
    for name, size in sizes.items():
        object.__setattr__(flow, name, checked_array(getattr(flow, name), name, np.int64, (size,)))


@dataclass(frozen=True, slots=True, eq=False)
class DualFlow:
    """An integer flow in the closure network at scaled lambda p/q; its value bounds every pruning's objective.

    The network: source -> h with capacity q gain_h where the gain is positive, h -> sink with q (-gain_h) where it is
    negative, h -> sink with p split_cost_h, h -> parent(h) and h -> its acquisitions without bound,
    acquisition j -> sink with p acquisition_cost_j.

    Parameters
    ----------
    p, q : int
        p / q = ``lam * cost_unit / error_unit``.
    used : ndarray of int64, shape (n_used,)
        The triples that carry flow, ascending: positions in ``instance.indices``. Most carry none.
    triple : ndarray of int64, shape (n_used,)
        Flow from node to acquisition on these.
    up : ndarray of int64, shape (n_internal,)
        Flow from node to parent, 0 at roots.
    gain : ndarray of int64, shape (n_internal,)
        Flow on the source arc (positive gain) or on the fixed sink arc (negative gain).
    split : ndarray of int64, shape (n_internal,)
        Flow on the split-cost arc.
    """

    p: int
    q: int
    used: IntArray
    triple: IntArray
    up: IntArray
    gain: IntArray
    split: IntArray

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, checked_integer(getattr(self, name), name))
        check_flow_arrays(self, np.asarray(self.up).size)


@dataclass(frozen=True, slots=True, eq=False)
class PruningResult:
    """A pruning at one lambda with its exact objective and a proven lower bound.

    Parameters
    ----------
    status : Status
    pruning : Pruning
    lam : Fraction
    objective, bound : Fraction
        ``error + lam * cost``, and a number that no pruning goes below.
    error, cost : Fraction
        Error rate (or scaled loss) and average cost per example, on the instance's data.
    runtime_s : float
    method : str
    flow : DualFlow, optional
        The certificate of the bound, where the method has one.
    iterations : int
    """

    status: Status
    pruning: Pruning
    lam: Fraction
    objective: Fraction
    bound: Fraction
    error: Fraction
    cost: Fraction
    runtime_s: float
    method: str
    flow: DualFlow | None = None
    iterations: int = 0

    def __post_init__(self) -> None:
        _read_fields(self, "lam", "objective", "bound", "error", "cost")
        if self.bound > self.objective:
            above = float(self.bound - self.objective)
            raise ValueError(
                f"bound: expected at most the objective {float(self.objective)!r}, got {float(self.bound)!r}, which is "
                f"{above:.2g} above it"
            )

    @classmethod
    def of(
        cls,
        pruning: Pruning,
        evaluation: tuple[Fraction, Fraction],
        lam: Fraction,
        bound: Fraction,
        *,
        method: str,
        runtime_s: float,
        ended: Status = Status.OPTIMAL,
        flow: DualFlow | None = None,
        iterations: int = 0,
        **more: Any,
    ) -> Self:
        """Return the result of a solver: the one ending of all of them.

        Parameters
        ----------
        pruning : Pruning
        evaluation : tuple of two Fraction
            Its error and cost, from ``instance.evaluate``.
        lam, bound : Fraction
        method : str
        runtime_s : float
        ended : Status
            How the search ended; the result's status is "optimal" if and only if the bound meets the objective.
        flow : DualFlow, optional
        iterations : int
        **more
            What a method's own result adds.
        """
        error, cost = evaluation
        objective = error + lam * cost
        return cls(
            status=ended.judged(bound == objective),
            pruning=pruning,
            lam=lam,
            objective=objective,
            bound=bound,
            error=error,
            cost=cost,
            runtime_s=runtime_s,
            method=method,
            flow=flow,
            iterations=iterations,
            **more,
        )

    @property
    def gap(self) -> Fraction:
        """Objective minus bound; 0 proves optimality."""
        return self.objective - self.bound

    def summary(self) -> str:
        """Describe the result in a few lines."""
        return (
            f"{self.method}: {self.status} in {self.runtime_s:.3g} s at lambda {self.lam}\n"
            f"  objective {float(self.objective):.6g}, bound {float(self.bound):.6g}, gap {float(self.gap):.2g}\n"
            f"  error {float(self.error):.6g}, cost {float(self.cost):.6g}, "
            f"{self.pruning.n_kept} of {self.pruning.kept.size} internal nodes kept"
        )

    __str__ = __repr__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON types, exact numbers as "p/q"; without the flow (see `proofs` for certificates)."""
        names = [field.name for field in fields(PruningResult) if field.name != "flow"]
        return to_record(self, names)

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict())

    @staticmethod
    def from_json(text: str) -> PruningResult:
        """Read what `to_json` gave; of a method's own result too, without what that method adds.

        Raises
        ------
        ValueError
            The text is no JSON object, or a field is missing or unreadable.
        """
        return from_record(PruningResult, json_object(text))


@dataclass(frozen=True, slots=True, eq=False)
class BudgetResult:
    """The best pruning found within a budget, a bound, and the mixture that meets the budget in expectation.

    Parameters
    ----------
    status : Status
    budget : Fraction
        What an example may cost on average.
    pruning : Pruning
        Costs at most the budget.
    error, cost : Fraction
        Of the pruning.
    bound : Fraction
        No pruning within the budget has a lower error.
    lam : Fraction
        The price of cost, in errors, at which the relaxation bounds the error: what a unit of budget is worth. Where
        the relaxation was solved to its optimum all prunings of the mixture are optimal at it; 0 where the budget is
        more than the best pruning needs.
    mixture : tuple of (Fraction, Pruning)
        Weights (> 0, sum 1) and prunings of the relaxation's optimum: one pruning at a breakpoint, two between
        breakpoints, the cheaper one first. Drawing one of them for each example gives ``mixture_error`` at
        ``mixture_cost`` on average.
    mixture_error, mixture_cost : Fraction
    runtime_s : float
    method : str
    """

    status: Status
    budget: Fraction
    pruning: Pruning
    error: Fraction
    cost: Fraction
    bound: Fraction
    lam: Fraction
    mixture: Mixture
    mixture_error: Fraction
    mixture_cost: Fraction
    runtime_s: float
    method: str

    def __post_init__(self) -> None:
        _read_fields(self, "budget", "error", "cost", "bound", "lam", "mixture_error", "mixture_cost")
        if self.cost > self.budget:
            raise ValueError(f"cost: expected at most the budget {self.budget}, got {self.cost}")
        if self.bound > self.error:
            raise ValueError(f"bound: expected at most the error {float(self.error)!r}, got {float(self.bound)!r}")
        if self.mixture_error > self.error or self.mixture_cost > self.budget:
            raise ValueError(
                f"mixture: expected one within the budget {self.budget} with an error of at most "
                f"{float(self.error)!r}, as the pruning does, got the error {float(self.mixture_error)!r} at cost "
                f"{self.mixture_cost}"
            )
        if (self.status is Status.OPTIMAL) != (self.bound == self.error):
            raise ValueError(
                f'status: expected "optimal" if and only if the bound meets the error, got {str(self.status)!r} with '
                f"the bound {float(self.bound)!r} and the error {float(self.error)!r}"
            )

    def improved(
        self,
        pruning: Pruning,
        evaluation: tuple[Fraction, Fraction],
        bound: Fraction,
        *,
        method: str,
        runtime_s: float,
        ended: Status = Status.OPTIMAL,
    ) -> Self:
        """Return the result of a solver that went on from this one's relaxation: the one ending of all of them.

        Parameters
        ----------
        pruning : Pruning
        evaluation : tuple of two Fraction
            Its error and cost, from ``instance.evaluate``.
        bound : Fraction
            What the solver has proven.
        method : str
        runtime_s : float
        ended : Status
            How the search ended; the result's status is "optimal" if and only if the bound meets the error.

        Raises
        ------
        ValueError
            The bound exceeds the error, the pruning the budget, or the solver has lost what the relaxation proves: its
            bound is lower, or its pruning is better than any mixture.
        """
        error, cost = evaluation
        if bound < self.bound:
            raise ValueError(
                f"bound: expected at least {float(self.bound)!r}, which the relaxation proves, got {float(bound)!r}"
            )
        return replace(
            self,
            status=ended.judged(bound == error),
            pruning=pruning,
            error=error,
            cost=cost,
            bound=bound,
            runtime_s=runtime_s,
            method=method,
        )

    @property
    def gap(self) -> Fraction:
        """Error minus bound; 0 proves that no pruning within the budget has a lower error."""
        return self.error - self.bound

    def summary(self) -> str:
        """Describe the result in a few lines."""
        parts = ", ".join(f"{float(weight):.4g} of {pruning.n_kept} nodes" for weight, pruning in self.mixture)
        return (
            f"{self.method}: {self.status} in {self.runtime_s:.3g} s within budget {float(self.budget):.6g}\n"
            f"  error {float(self.error):.6g}, bound {float(self.bound):.6g}, gap {float(self.gap):.2g}, "
            f"cost {float(self.cost):.6g}, {self.pruning.n_kept} of {self.pruning.kept.size} internal nodes kept\n"
            f"  relaxation: error {float(self.mixture_error):.6g} at cost {float(self.mixture_cost):.6g} ({parts})"
        )

    __str__ = __repr__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON types, exact numbers as "p/q"."""
        return to_record(self)

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> BudgetResult:
        """Read what `to_json` gave.

        Raises
        ------
        ValueError
            The text is no JSON object, or a field is missing or unreadable.
        """
        return from_record(cls, json_object(text))
