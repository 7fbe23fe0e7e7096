"""Where the sessions of examples end, and what the columns that they bring are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray, places_in
from ipforest.policy import Policy
from ipforest.rules.steps import Step
from ipforest.session import Seller, Sessions, Unit

__all__ = ["Ends", "OrderNames"]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Where the sessions of the examples end: values (n_samples, n_features), outputs, labels, and what was paid."""

    values: Array
    outputs: FloatArray
    answers: Array
    paid: FloatArray
    labels: Array | None
    classes: Array | None

    @classmethod
    def of(cls, policy: Policy, seller: Seller, X: Array, labels: Array | None, max_cost: object | None) -> Ends:
        """Follow the policy to the end."""
        sessions = Sessions(policy, seller, X.shape[0], max_cost=max_cost).see(X)
        outputs = sessions.outputs
        return cls(sessions.table(X), outputs, seller.labels(outputs), sessions.paid, labels, seller.classes)

    @property
    def error(self) -> float | None:
        """The share of wrong answers, or the mean squared error."""
        if self.labels is None:
            return None
        if self.classes is None:
            return float(np.mean((self.answers - self.labels) ** 2))
        return float(np.mean(self.answers != self.labels))

    @property
    def n_answers(self) -> int:
        """Number of different answers; 1 for regression."""
        return 1 if self.classes is None else self.classes.size

    def actions(self, rows: IntArray) -> IntArray:
        """Give each answer its number; for regression all are 0."""
        if self.classes is None:
            return np.zeros(rows.size, dtype=np.int64)
        return places_in(self.classes, self.answers[rows])

    def step(self, rows: IntArray, goes_on: bool = False) -> Step:
        """Sum up examples, one at least, that stop."""
        paid = float(self.paid[rows].mean())
        if self.classes is None:
            answers = self.answers[rows]
            mean = np.clip(answers.mean(), answers.min(), answers.max())  # equal numbers are their mean
            return Step((), rows.size, paid, answer=float(mean), goes_on=goes_on)
        said = int(np.bincount(self.actions(rows)).argmax())
        return Step(
            (),
            rows.size,
            paid,
            answer=self.classes[said],
            probability=float(self.outputs[rows, said].mean()),
            n_right=None if self.labels is None else int((self.answers[rows] == self.labels[rows]).sum()),
            goes_on=goes_on,
        )


class OrderNames:
    """Names units by the columns of the table that they bring."""

    def __init__(self, seller: Seller, names: Sequence[str] | None) -> None:
        self._names = seller.feature_names if names is None else names

    def __call__(self, unit: Unit) -> str:
        """Name the columns that a unit brings."""
        return ", ".join(dict.fromkeys(self._names[feature] for feature in unit.features))
