"""What a method can do: chosen by what it costs and loses on validation examples, reported on test examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.words import some_of
from ipforest.choosing.frontier import Frontier
from ipforest.costs import FeatureCosts
from ipforest.estimator.model import BudgetedModel
from ipforest.experiments.parts import Parts
from ipforest.frontiers.scores import relative_error
from ipforest.policy import TreesInOrder
from ipforest.session import Seller, Sessions
from ipforest.stopping.early_exit_policy import record_paths
from ipforest.stopping.paths import StoppingPaths, StoppingRule
from ipforest.stopping.rules import keenness_along, learn_stopping, stopping_curve

PROBABILITY_ROOM = 1e-3
"""By how much the sum of an example's probabilities may differ from 1."""


class Answer(NamedTuple):
    """What is answered about examples: labels or numbers, what each pays, class probabilities where they are known."""

    labels: Array
    paid: Array
    outputs: Array | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """Something that a method can do: what it costs and loses on validation and on test examples; see `Parts.lost`.

    Parameters
    ----------
    validation_cost, validation_error, cost, error : float
    outputs : ndarray of float32, shape (n_test, n_classes), or None
        Class probabilities of the test examples, where they are known.
    """

    validation_cost: float
    validation_error: float
    cost: float
    error: float
    outputs: Array | None = field(default=None, compare=False, kw_only=True)

    @classmethod
    def measured(cls, parts: Parts, answer: Callable[[Array], Answer]) -> Self:
        """Measure on the validation and on the test part what is answered about examples.

        Raises
        ------
        ValueError
            Labels or costs are not one for each example, labels are other ones than those of the training part or no
            finite numbers, a cost is negative or not finite, or probabilities are none.
        """
        numbers, outputs = list[float](), None
        for X, y in parts.held_out:
            labels, paid, outputs = answer(X)
            for name, given in (("labels", labels), ("paid", paid)):
                if np.shape(given) != y.shape:
                    raise ValueError(f"{name}: expected shape {y.shape}, one for each example, got {np.shape(given)}")
            _check_labels(np.asarray(labels), parts)
            if not (np.isfinite(paid).all() and np.min(paid) >= 0):
                raise ValueError("paid: expected finite numbers >= 0, got others; a cost is what an example pays")
            if outputs is not None:
                _check_probabilities(np.asarray(outputs), len(X), parts)
            numbers += [float(np.mean(paid)), parts.lost(labels, y)]
        return cls(*numbers, outputs=None if outputs is None else np.asarray(outputs, dtype=np.float32))

    @property
    def means(self) -> dict[str, float]:
        """What is an average over examples, by name; a mixture's is between those of its parts."""
        return {
            "validation_cost": self.validation_cost,
            "validation_error": self.validation_error,
            "cost": self.cost,
            "error": self.error,
        }


def _check_labels(labels: Array, parts: Parts) -> None:
    if parts.is_regression:
        if labels.dtype.kind not in "iuf" or not np.isfinite(labels).all():
            raise ValueError(f"labels: expected finite numbers, got others, of dtype {labels.dtype}")
        return
    known = np.unique(parts.y_train)
    others = labels[~np.isin(labels, known)] if labels.dtype.kind in "iufb" else labels
    if others.size:
        raise ValueError(
            f"labels: expected classes of the training part, {some_of(known.tolist())}, got {others.tolist()[0]!r}"
        )


def _check_probabilities(outputs: Array, n_examples: int, parts: Parts) -> None:
    shape = (n_examples, int(parts.y_train.max()) + 1)
    if parts.is_regression:
        raise ValueError("outputs: expected None where a number is predicted, got an array")
    if outputs.shape != shape:
        raise ValueError(f"outputs: expected shape {shape}, a probability of each class, got {outputs.shape}")
    if not (outputs.min() >= 0 and np.allclose(outputs.sum(axis=1), 1, rtol=0, atol=PROBABILITY_ROOM)):
        raise ValueError("outputs: expected probabilities >= 0 whose sum is 1 for each example, got others")


def choose(options: Sequence[Option], budget: float) -> Option:
    """Take the option of least validation error within the budget, the cheapest of these."""
    return options[_on_validation(options).within(budget)]


def mix(options: Sequence[Option], budget: float) -> Option:
    """Take the mixture of two options of least validation error whose average cost is within the budget."""
    cheap, costly, share = _on_validation(options).mixture(budget)
    return between(options[cheap], options[costly], share)


def _on_validation(options: Sequence[Option]) -> Frontier:
    return Frontier.of_points((option.validation_cost, option.validation_error) for option in options)


def between(cheap: Option, costly: Option, share: float) -> Option:
    """Average two options: what a coin comes to that takes the costly one with this probability."""
    both = zip(cheap.means.values(), costly.means.values(), strict=True)
    return Option(*(first + share * (second - first) for first, second in both))


def constant(parts: Parts) -> Option:
    """Predict the most frequent class, or the mean, for nothing."""
    if parts.is_regression:
        mean = parts.y_train.mean()
        return Option.measured(parts, lambda X: Answer(np.full(len(X), mean), np.zeros(len(X))))
    counts = np.bincount(parts.y_train)
    chances = (counts / counts.sum()).astype(np.float32)

    def answer(X: Array) -> Answer:
        return Answer(np.full(len(X), np.argmax(counts)), np.zeros(len(X)), np.tile(chances, (len(X), 1)))

    return Option.measured(parts, answer)


def in_sessions(open_sessions: Callable[[int], Sessions], parts: Parts) -> Option:
    """Measure what buys one by one, given how to begin so many sessions."""

    def answer(X: Array) -> Answer:
        sessions = open_sessions(len(X)).see(X)
        outputs = sessions.outputs
        return Answer(sessions.labels(outputs), sessions.paid, None if parts.is_regression else outputs)

    return Option.measured(parts, answer)


def of_model(model: BudgetedModel, parts: Parts) -> Option:
    """Measure a fitted model, whose answers about a table are those of its sessions."""

    def answer(X: Array) -> Answer:
        found = model.answers(X)
        return Answer(found.predicted, found.cost, found.probability)

    return Option.measured(parts, answer)


def least_error_in_hindsight(options: Sequence[Option], budget: float) -> float:
    """Find the least test error of the options that keep a budget on the validation examples."""
    in_hindsight = Frontier.of_points((option.validation_cost, option.error) for option in options)
    return options[in_hindsight.within(budget)].error


def record_both(trees: TreesInOrder, parts: Parts, costs: FeatureCosts) -> tuple[StoppingPaths, StoppingPaths]:
    """Note what validation and test examples see and pay when no example stops."""
    names = tuple(f"feature {column}" for column in range(costs.n_features))
    seller = Seller(costs, 0.0, trees.trees.classes, names, True)
    loss = partial(relative_error, variance=1.0) if parts.is_regression else None
    validation, test = (record_paths(trees, seller, X, y, None, loss) for X, y in parts.held_out)
    return validation, test


def levels(
    rules: StoppingRule | Sequence[StoppingRule],
    validation: StoppingPaths,
    test: StoppingPaths,
    n_levels: int,
    n_folds: int = 5,
) -> Iterator[Option]:
    """Measure levels of rules, cross-fitted on the validation examples, at most so many evenly spread over cost."""
    for fitted, curve in learn_stopping(rules, validation, n_folds):
        spread = np.searchsorted(curve.cost, np.linspace(0, curve.cost[-1], n_levels))
        places = np.unique(np.append(spread, curve.cost.size - 1))
        tested = stopping_curve(keenness_along(fitted, test), test).at(curve.level[places])
        columns = (curve.cost[places], curve.error[places], tested.cost, tested.error)
        yield from map(Option, *(column.tolist() for column in columns))
