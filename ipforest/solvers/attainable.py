"""Which integers an error or an objective can be: what a bound may be raised to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd

import numpy as np

from ipforest._internal.arrays import IntArray
from ipforest.instance import PruningInstance

__all__ = ["Attainable"]


@dataclass(frozen=True, slots=True)
class Attainable:
    """The values ``start + multiple * step`` that some integer of every pruning has.

    Parameters
    ----------
    start : int
        The value of the bare roots.
    step : int
        At least 0; 0 where all prunings have the same value.
    """

    start: int
    step: int

    @classmethod
    def errors(cls, instance: PruningInstance) -> Attainable:
        """Return the integer errors that prunings can have."""
        return cls(instance.integer_error(instance.roots_only), _divisor(instance.gain))

    @classmethod
    def costs(cls, instance: PruningInstance) -> Attainable:
        """Return the integer costs that prunings can have."""
        return cls(0, gcd(_divisor(instance.acquisition_cost), _divisor(instance.split_cost)))

    @classmethod
    def objectives(cls, instance: PruningInstance, p: int, q: int) -> Attainable:
        """Return the values that ``q * integer error + p * integer cost`` can have."""
        errors, costs = cls.errors(instance), cls.costs(instance)
        return cls(q * errors.start, gcd(q * errors.step, p * costs.step))

    def at_least(self, bound: int | Fraction) -> int:
        """Raise a bound of some pruning's value to the least one that can be."""
        return self.start + (ceil((bound - self.start) / Fraction(self.step)) * self.step if self.step else 0)

    def below(self, value: int) -> int:
        """Return the largest attainable value below this one; with a step of 0, a number that is none."""
        step = self.step or 1
        return self.start + (value - 1 - self.start) // step * step


def _divisor(values: IntArray) -> int:
    return int(np.gcd.reduce(values, initial=0))
