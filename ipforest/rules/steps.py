"""The steps of rules: what is ordered at each, under which conditions examples come to it, and what is answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ipforest.rules.conditions import Clause

__all__ = ["Order", "Step"]


@dataclass(frozen=True, slots=True)
class Order:
    """What is ordered at a step.

    Parameters
    ----------
    name : str
        The columns of the table that it brings.
    price : float
        What it costs here, the fee of its group included where it is the first of it.
    round : int
        When it is ordered: 1 until the first delayed values are in.
    unit : int
        Its number among the units of the prices.
    """

    name: str
    price: float
    round: int
    unit: int


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Where some examples come to: what is ordered of them, and what happens then; or what is answered.

    Parameters
    ----------
    clauses : tuple of Clause
        When examples come here from the step above: all conditions of one clause hold. Empty where no clause is known
        that tells them; one empty clause at the root.
    n_samples : int
        Examples that come here.
    n_missed, n_strays : int
        Of these, those for which no clause holds; and examples that go elsewhere though one does.
    paid : float
        What an example pays on average up to here; at an end, in all.
    orders : tuple of Order
        What is ordered of all examples that come here, in turn.
    answer : object
        The prediction where examples stop, the mean one for regression; where ``goes_on``, the most frequent one.
    probability : float
        Mean probability of the answer among the examples; NaN for regression, and where no example is.
    n_right : int or None
        Examples whose label is what the model predicts; None without labels, for regression, and at inner steps.
    goes_on : bool
        Whether more is ordered than is told here.
    below : tuple of Step
    """

    clauses: tuple[Clause, ...]
    n_samples: int
    paid: float
    orders: tuple[Order, ...] = ()
    answer: Any = None
    probability: float = np.nan
    n_right: int | None = None
    goes_on: bool = False
    n_missed: int = 0
    n_strays: int = 0
    below: tuple[Step, ...] = ()

    @property
    def is_end(self) -> bool:
        """Whether nothing more is told."""
        return not self.below

    @property
    def ends(self) -> Iterator[Step]:
        """The ends at and below this step, from the first on."""
        if self.is_end:
            yield self
        for step in self.below:
            yield from step.ends
