"""GDFS and DIME as methods that keep a budget; they need PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ipforest._internal.arrays import Array, IntArray
from ipforest.experiments.acquisition import Purchases
from ipforest.experiments.neural_acquisition import (
    GreedyDynamicSelection,
    MutualInformationSelection,
    NeuralAcquisition,
    Training,
)
from ipforest.experiments.options import Answer, Option
from ipforest.experiments.tasks import Task, trains_with

HARD_PRICE = 0.05
PRICES = (0.4, 0.3, 0.2, 0.15, 0.1, 0.06, 0.03, 0.01)
"""What a unit of price weighs compared with log loss, where a cap stops an example and where its price does."""

DROPOUTS = (0.0, 0.3)
"""Shares of hidden units left out in training that are tried."""

MAX_STEPS = 20
"""Most purchases of an example in training."""


@trains_with("torch", predicts_numbers=False)
def gdfs(task: Task) -> Iterator[Option]:
    """GDFS: a policy network buys as many features as a cap affords; it knows no prices."""
    return _by_networks(GreedyDynamicSelection, task, ())


@trains_with("torch", predicts_numbers=False)
def dime(task: Task) -> Iterator[Option]:
    """DIME: a network tells what a feature would tell; the most per price is bought, up to a cap or while worth it."""
    prices = np.array(PRICES) / np.median([float(cost) for cost in task.costs.positive_costs] or [1.0])
    return _by_networks(MutualInformationSelection, task, prices.tolist())


def _by_networks(kind: type[NeuralAcquisition], task: Task, prices: Sequence[float]) -> Iterator[Option]:
    """Train a kind of networks, by each dropout."""
    purchases, parts = Purchases.of(task.costs), task.parts
    affordable = int(np.sum(np.cumsum(np.sort(purchases.prices)) <= task.budgets[-1]))
    for dropout in DROPOUTS:
        training = Training(dropout=dropout, max_steps=min(max(affordable, 1), MAX_STEPS))
        policy = task.trained(kind, parts.X_train, parts.y_train, purchases, task.seed, training)
        bought = [partial(policy.bought, lam=HARD_PRICE, most=budget, forced=True) for budget in task.budgets]
        bought += [partial(policy.bought, lam=lam, most=np.inf, forced=False) for lam in prices]
        yield from (_measured(policy, task, each) for each in bought)


def _measured(policy: NeuralAcquisition, task: Task, bought: Callable[[Array], list[IntArray]]) -> Option:
    def answer(X: Array) -> Answer:
        shown = policy.purchases.shown(bought(X), np.inf)
        outputs = policy.predict_proba(X, shown)
        return Answer(outputs.argmax(axis=1), task.costs.cost_of(shown), outputs)

    return Option.measured(task.parts, answer)
