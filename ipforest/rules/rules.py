"""Rules: what a model does with examples as a tree of steps, to follow, to compare with the model, and to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.estimator import BudgetedEstimator
from ipforest.rules.conditions import holds
from ipforest.rules.steps import Order, Step
from ipforest.rules.wording import Sentence, money, sentences, to_markdown, to_record, to_text
from ipforest.session import Seller
from ipforest.wrappers.pipeline import parted

__all__ = ["Rules", "parts_of"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rules:
    """What a model does with examples, in conditions on what was bought.

    Made by `read_rules`; ``str(rules)`` is the text.

    Parameters
    ----------
    first : Step
    seller : Seller
        Names of features, categories and classes.
    is_exact : bool
        Whether the model is a single tree and this is it, so that the rules hold for all examples.
    n_samples : int
        The examples that were followed.
    n_told : int
        Those of them of which all conditions tell what the model does, as far as is told.
    n_followed : int
        Those of them that end there: the conditions make the same orders and, for a classifier, give the same answer.
    cost : float
        What an example pays on average.
    error : float or None
        Share of wrong answers, or the mean squared error; None without labels.
    prepare : callable
        Turns what the model takes into the examples that conditions are about.
    """

    first: Step
    seller: Seller
    is_exact: bool
    n_samples: int
    n_told: int
    n_followed: int
    cost: float
    error: float | None
    prepare: Callable[[Any], Array]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.ends)} ends, {self.n_samples} examples)"

    @property
    def ends(self) -> tuple[Step, ...]:
        """Where examples stop."""
        return tuple(self.first.ends)

    @property
    def n_questions(self) -> int:
        """Most orders on any way through the rules."""
        return _most_orders(self.first)

    def predict(self, X: Any) -> Array:
        """Answer by the conditions alone.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
            As the model takes it.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            None for an example that no clause tells where to go.
        """
        values = self.prepare(X)
        answers = np.full(values.shape[0], None, dtype=object)
        for end, _, rows in self._followed(values):
            answers[rows] = end.answer
        return answers

    def cost_of(self, X: Any) -> FloatArray:
        """Compute what examples pay on average where the conditions lead, shape (n_samples,); NaN where none holds."""
        values = self.prepare(X)
        paid = np.full(values.shape[0], np.nan)
        for end, _, rows in self._followed(values):
            paid[rows] = end.paid
        return paid

    def agreement(self, model: Any, X: Any) -> float:
        """Compute the share of examples with which following the conditions is doing what the model does.

        They make the same orders and give the same answer; for regression the answer counts where the rules are exact,
        as elsewhere it is a mean. On other examples than those of which the rules were read, it says how far they can
        be relied on.

        Parameters
        ----------
        model : estimator
            That the rules are of, or another for the same table.
        X : array or DataFrame, shape (n_samples, n_features)
        """
        buyer, prepare, _ = parts_of(model)
        values = prepare(X)
        seen = buyer._ready.see(values)
        bought = self.seller.units_of(seen.bought)
        said, same = seen.labels(seen.outputs), np.zeros(values.shape[0], dtype=bool)
        for end, orders, rows in self._followed(values):
            ordered = np.zeros(bought.shape[1], dtype=bool)
            ordered[[order.unit for order in orders]] = True
            same[rows] = (bought[rows] == ordered).all(axis=1) & (not end.goes_on)
            if self.is_exact or self.seller.classes is not None:
                same[rows] &= said[rows] == end.answer
        return float(same.mean())

    def summary(self) -> list[str]:
        """Say how good the model is on the examples, and how far the rules are what it does."""
        of_all = f"{self.n_samples} examples pay {money(self.cost)} on average"
        if self.error is None:
            quality = f"{of_all}."
        elif self.seller.classes is None:
            quality = f"{of_all}; the mean squared error is {self.error:.4g}."
        else:
            quality = f"{of_all}; {self.error:.1%} of the answers are wrong."
        if self.is_exact:
            return [quality, "The model is this tree: the rules hold for every example."]
        beyond = sum(end.n_samples for end in self.ends if end.goes_on)
        if not beyond:
            answer = "the same answer" if self.seller.classes is not None else "a mean of its answers"
            return [
                quality,
                f"To follow the rules is to do what the model does, the same orders with {answer}, for "
                f"{self.n_followed} of these {self.n_samples} examples.",
            ]
        return [
            quality,
            f"What is told is what the model does with {self.n_told} of these {self.n_samples} examples. For {beyond} "
            f"of the {self.n_samples} it orders more than is told.",
        ]

    def sentences(self) -> Iterator[tuple[int, Step, Sentence]]:
        """Give each step in words, with its depth, a step before those below it."""
        return sentences(self.first, self.seller)

    def to_text(self, width: int | None = None) -> str:
        """Write the rules as a list within a list.

        Parameters
        ----------
        width : int, optional
            Longest line; by default that of the terminal.
        """
        return to_text(self.summary(), self.sentences(), width)

    def to_markdown(self) -> str:
        """Write the rules as a list of Markdown."""
        return to_markdown(self.summary(), self.sentences())

    def record(self) -> dict[str, Any]:
        """Return the rules as what JSON holds: figures, and steps within steps."""
        return {
            "examples": self.n_samples,
            "cost": self.cost,
            "error": self.error,
            "is_exact": self.is_exact,
            "told": self.n_told,
            "followed": self.n_followed,
            "rules": to_record(self.sentences()),
        }

    def __str__(self) -> str:
        return self.to_text()

    def _followed(self, values: Array) -> Iterator[tuple[Step, tuple[Order, ...], IntArray]]:
        """Give each end with what is ordered on the way, and the examples that the conditions lead to it."""
        waiting: list[tuple[Step, tuple[Order, ...], IntArray]] = [(self.first, (), np.arange(values.shape[0]))]
        while waiting:
            step, before, rows = waiting.pop()
            orders = (*before, *step.orders)
            if step.is_end:
                yield step, orders, rows
            for below in step.below:
                waiting.append((below, orders, rows[holds(below.clauses, values[rows])]))


def parts_of(model: Any) -> tuple[BudgetedEstimator, Callable[[Any], Array], list[str] | None]:
    """Take apart what buys, what it sees of a table, and the names of the table's columns."""
    _, buyer, encode, _ = parted(model)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())] or None

    def prepare(X: Any) -> Array:
        checked = buyer._checked(buyer._with_unused_columns(encode(X)))
        return np.asarray(checked).astype(buyer.policy().dtype)

    return buyer, prepare, names


def _most_orders(step: Step) -> int:
    return len(step.orders) + max(map(_most_orders, step.below), default=0)
