"""What examples see and pay stage by stage, and what a rule is that stops them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray, read_only
from ipforest._internal.words import plain
from ipforest.costs import FeatureCosts
from ipforest.walks import RuleTables
from ipforest.walks.labels import expected_costs

__all__ = [
    "FittedRule",
    "StageOutputs",
    "StoppingPaths",
    "StoppingRule",
    "agrees_with_keenness",
    "asked",
    "margin",
    "margin_in_words",
    "tables_of",
]


MEASURED = ("signal", "loss", "last", "bought_at", "cost")
"""Fields with a row for each example."""

MEMORY = np.iinfo(np.int32)
"""What walks and sessions keep of an example's memory."""


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
    groups : ndarray of int64, shape (n_samples,), optional
        Examples of one group are not parted where rules are cross-fitted.

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
    groups: IntArray | None = None
    cost: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        prices = self.costs.float_unit_costs
        shape = (self.n_samples, self.n_stages + 1)
        cell = np.arange(self.n_samples)[:, None] * shape[1] + self.bought_at
        weights = np.broadcast_to(prices, cell.shape).ravel()
        spent = np.bincount(cell.ravel(), weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
        object.__setattr__(self, "cost", np.cumsum(spent[:, :-1], axis=1) - spent[:, :-1])
        for name in MEASURED:
            object.__setattr__(
                self, name, read_only(getattr(self, name))
            )  # a rule learns from them, and is measured by them

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return int(self.signal.shape[0])

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return int(self.signal.shape[1])

    def cost_at(self, stages: IntArray) -> FloatArray:
        """Return what each example has paid by a stage of its own, shape (n_samples,)."""
        paid: FloatArray = self.cost[np.arange(self.n_samples), stages]
        return paid

    def of(self, rows: IntArray | BoolArray) -> Self:
        """Take some of the examples."""
        part = copy(self)
        for name in MEASURED:
            object.__setattr__(part, name, read_only(getattr(self, name)[rows]))
        return part if self.groups is None else part.grouped(self.groups[rows])

    def grouped(self, groups: IntArray | None) -> Self:
        """Tell of which groups the examples are, shape (n_samples,)."""
        same = copy(self)
        object.__setattr__(same, "groups", groups)
        return same


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


def margin_in_words(lead: float, class_costs: FloatArray | None) -> str:
    """Say how far apart the two likeliest classes are, or, with class costs, the two cheapest labels; see `margin`."""
    if class_costs is None:
        return f"the two likeliest classes are {lead:.3f} apart"
    return f"the two cheapest labels are {plain(lead)} apart in expected cost"


class FittedRule(Protocol):
    """What a rule has learnt.

    One that compiled walks can follow also has ``tables()``, a `ipforest.walks.RuleTables`, in the class of its
    `keenness` or below; see `agrees_with_keenness`.
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
            Of no more than 32 bits.
        """


class StoppingRule(Protocol):
    """A way to learn when to stop; its parameters are those of the dataclass."""

    def fit(self, paths: StoppingPaths) -> FittedRule:
        """Learn from held-out examples."""


def agrees_with_keenness(rule: FittedRule, name: str) -> bool:
    """Tell whether a method of a rule was written for its `keenness`: not one of a class whose heir has another.

    Parameters
    ----------
    rule : FittedRule
    name : str
        A method that says in another way what `keenness` does, such as ``tables``.
    """
    kinds = type(rule).__mro__
    places = [
        next((place for place, kind in enumerate(kinds) if each in vars(kind)), None) for each in (name, "keenness")
    ]
    own, keenness = places
    return own is not None and keenness is not None and own <= keenness


def tables_of(rule: Any) -> RuleTables | None:
    """Return a rule as compiled walks follow it; None for one that they do not."""
    return rule.tables() if agrees_with_keenness(rule, "tables") else None


def asked(rule: FittedRule, stage: IntArray, signal: FloatArray, memory: IntArray) -> tuple[FloatArray, IntArray]:
    """Ask a rule how keen examples are, and require numbers of it, one for each example, and integers to remember.

    Parameters
    ----------
    rule : FittedRule
    stage, signal, memory : ndarrays, shape (n,)
        See `FittedRule.keenness`.

    Raises
    ------
    TypeError, ValueError
        The rule answers otherwise than `FittedRule` says.
    """
    expected = f"stopping: expected {type(rule).__name__}.keenness(stage, signal, memory)"
    answer = rule.keenness(stage, signal, memory)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"{expected} to return keenness and memory, got {type(answer).__name__}")
    if np.iscomplexobj(answer[0]):
        raise TypeError(f"{expected} to return numbers that are larger or smaller than others, got complex ones")
    try:
        keen, remembered = np.asarray(answer[0], dtype=np.float64), np.asarray(answer[1])
    except (TypeError, ValueError) as problem:
        raise TypeError(f"{expected} to return numbers, got none: {problem}") from None
    if keen.shape != signal.shape or remembered.shape != signal.shape:
        raise ValueError(f"{expected} to return shapes {signal.shape}, got {keen.shape} and {remembered.shape}")
    if not all(isinstance(part, np.ndarray) for part in answer):
        kinds = " and ".join(type(part).__name__ for part in answer)
        raise TypeError(f"{expected} to return arrays, got {kinds}")
    if remembered.dtype.kind not in "iub":
        raise TypeError(f"{expected} to return a memory of integers, got {remembered.dtype}")
    if remembered.size and not MEMORY.min <= remembered.min() <= remembered.max() <= MEMORY.max:
        beyond = remembered[(remembered < MEMORY.min) | (remembered > MEMORY.max)][0]
        raise ValueError(f"{expected} to return a memory of 32 bits, got {beyond}")
    if np.isnan(keen).any():
        at = int(np.isnan(keen).argmax())
        raise ValueError(f"{expected} to return numbers, got nan at stage {stage[at]} for the signal {signal[at]:.6g}")
    return keen, remembered.astype(np.int64, copy=False)
