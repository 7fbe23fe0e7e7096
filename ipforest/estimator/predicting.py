"""What predicting needs of a fitted estimator, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, rounding
from ipforest.policy import Policy
from ipforest.session import Seller, Sessions
from ipforest.walks import Walk

__all__ = ["Answers", "Ready", "Seen"]

_PARTS = {name for name in vars(Policy) if not name.startswith("_")} - {"may_want"}
"""What every policy has."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What a compiled walk found, read as `ipforest.session.Sessions` that have ended are.

    Parameters
    ----------
    seller : Seller
    outputs : ndarray of float64, shape (n_samples, n_outputs)
    tests : ndarray of int32, shape (n_samples, n_features)
    """

    seller: Seller
    outputs: FloatArray
    tests: Int32Array

    @property
    def bought(self) -> BoolArray:
        """The features that each example pays for, shape (n_samples, n_features)."""
        return np.asarray(self.tests > 0)

    @property
    def paid(self) -> FloatArray:
        """What each example pays, shape (n_samples,)."""
        return self.seller.paid_for(self.bought, self.tests)

    def labels(self, outputs: FloatArray) -> Array:
        """Turn `outputs` into predictions, shape (n_samples,)."""
        return self.seller.labels(outputs)


class Answers(NamedTuple):
    """What examples are answered, and what they buy.

    Parameters
    ----------
    predicted : ndarray, shape (n_samples,)
        As `BudgetedModel.predict` gives it.
    probability : ndarray of float64, shape (n_samples, n_classes), or None
        As ``predict_proba`` gives it; None for regression.
    cost : ndarray of float64, shape (n_samples,)
    acquired : ndarray of bool, shape (n_samples, n_features)
    """

    predicted: Array
    probability: FloatArray | None
    cost: FloatArray
    acquired: BoolArray


class Ready(NamedTuple):
    """What predicting needs of a fitted estimator.

    Parameters
    ----------
    policy : Policy
    seller : Seller
    max_cost : number or None
        What each example may pay at most.
    walk : Walk or None
        Predicts tables in one pass, where the policy has one.
    around : Ready or None
        That of the estimator inside.
    """

    policy: Policy
    seller: Seller
    max_cost: object | None
    walk: Walk | None
    around: Ready | None

    @classmethod
    def of(cls, policy: Policy, seller: Seller, max_cost: object | None, around: Ready | None) -> Self:
        """Ask the policy for a walk, unless features come in rounds.

        Raises
        ------
        TypeError
            It is no policy.
        """
        lacking = _PARTS.difference(dir(policy))
        if lacking:
            raise TypeError(
                "policy: expected a policy as ipforest.policy describes it, such as TreesInOrder(forest), got "
                f"{type(policy).__name__}, which has no {', '.join(sorted(lacking))}"
            )
        at_once = None if seller.costs.delayed.any() else getattr(policy, "at_once", None)
        return cls(policy, seller, max_cost, None if at_once is None else at_once(seller.purse(max_cost)), around)

    def table(self, examples: Array) -> Array | None:
        """Take examples as float64 that the policy compares; None where they are for sessions to refuse."""
        with rounding():
            narrow = examples.astype(np.float32)
        if np.isinf(narrow).any():
            return None
        return (narrow if self.policy.dtype == np.float32 else examples).astype(np.float64, copy=False)

    def see(self, examples: Array, *, answers: bool = True) -> Seen | Sessions:
        """Find what each example asks for and is answered; see `BudgetedModel._seen`."""
        if self.walk is not None:
            table = self.table(examples)
            if table is not None:
                outputs, tests = self.walk(table, answers=answers)
                return Seen(self.seller, self.seller.answers(outputs), tests)
        return Sessions(self.policy, self.seller, examples.shape[0], max_cost=self.max_cost).see(examples)
