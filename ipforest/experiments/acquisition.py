"""Methods of active feature acquisition: which feature of an example to buy next, told by a model of any subset.

`MaskedClassifier` predicts from any subset of the features. `ConditionedOracle` (AACO) asks what the nearest neighbours
would have gained from more features: M. Valancius, M. Lennon, J. Oliva, "Acquisition Conditioned Oracle for Nongreedy
Active Feature Acquisition", ICML 2024. `features_worth_their_price` is the choice of CoAI: G. Erion et al., "A
cost-aware framework for the development of AI models for healthcare applications", Nature Biomedical Engineering 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import expit, softmax
from sklearn.neural_network import MLPClassifier

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.costs import NO_GROUP, FeatureCosts

HIDDEN_LAYERS = (64, 64)
N_EPOCHS = 80
"""Each epoch hides other features."""

BATCH = 128
MIN_PROBABILITY = 1e-6
N_NEIGHBOURS = 5
FIRST_NEIGHBOURS = 50
"""Examples asked where nothing is known, and all are equally near."""

N_SUBSETS = 60
MAX_ADDED = 6
"""Random sets of purchases that are tried in addition to each single one, and their largest size."""


@dataclass(frozen=True, eq=False)
class Purchases:
    """What can be bought at once: a feature, or the features of a group that cost nothing in addition to its fee.

    Parameters
    ----------
    columns : ndarray of bool, shape (n_purchases, n_features)
    costs : FeatureCosts
    """

    columns: BoolArray
    costs: FeatureCosts

    @classmethod
    def of(cls, costs: FeatureCosts) -> Purchases:
        """List the purchases of a price list."""
        priced = np.unique(costs.groups[costs.float_prices > 0])
        at_once = [
            np.flatnonzero(costs.groups == group) for group in range(len(costs.group_fees)) if group not in priced
        ]
        alone = np.flatnonzero((costs.groups == NO_GROUP) | np.isin(costs.groups, priced))
        columns = np.zeros((len(at_once) + alone.size, costs.n_features), dtype=bool)
        for place, members in enumerate([*at_once, *alone]):
            columns[place, members] = True
        return cls(columns, costs)

    @cached_property
    def alone(self) -> FloatArray:
        """What each purchase costs in addition to the fee of its group, shape (n_purchases,)."""
        return np.asarray(self.columns @ self.costs.float_prices)

    @cached_property
    def members(self) -> FloatArray:
        """Which purchases are of which group, shape (n_purchases, n_groups)."""
        groups = self.costs.groups[self.columns.argmax(axis=1)]
        return np.asarray(groups[:, None] == np.arange(self.fees.size), dtype=np.float64)

    @cached_property
    def fees(self) -> FloatArray:
        """The fee of each group, shape (n_groups,)."""
        return np.asarray(self.costs.group_fees, dtype=np.float64)

    @cached_property
    def prices(self) -> FloatArray:
        """What each purchase costs as the first one, shape (n_purchases,)."""
        return self.prices_after(np.zeros(len(self.columns), dtype=bool))

    def prices_after(self, bought: BoolArray) -> FloatArray:
        """Return what each purchase costs after others, of the same shape: a fee that is paid is not paid again.

        Parameters
        ----------
        bought : ndarray of bool, shape (..., n_purchases)
        """
        return np.asarray(self.alone + self._unpaid_fees(bought) @ self.members.T)

    def added(self, sets: BoolArray, bought: BoolArray) -> FloatArray:
        """Return what sets of further purchases cost in all, shape (n_sets,).

        Parameters
        ----------
        sets : ndarray of bool, shape (n_sets, n_purchases)
        bought : ndarray of bool, shape (n_purchases,)
        """
        again = np.maximum(sets @ self.members - 1, 0)
        return np.asarray(sets @ self.prices_after(bought) - again @ self._unpaid_fees(bought))

    def _unpaid_fees(self, bought: BoolArray) -> FloatArray:
        return np.asarray((bought @ self.members == 0) * self.fees)

    def shown(self, orders: Sequence[IntArray], most: float) -> BoolArray:
        """Mark the features that each example has bought when it has paid ``most``, shape (n_samples, n_features).

        Parameters
        ----------
        orders : sequence of ndarray of int64, one per example
            Purchases one after another.
        most : float
        """
        shown = np.zeros((len(orders), self.columns.shape[1]), dtype=bool)
        for row, order in enumerate(orders):
            members = self.members[order]
            first = members * (members.cumsum(axis=0) == 1)
            affordable = np.cumsum(self.alone[order] + first @ self.fees) <= most + 1e-9
            shown[row] = self.columns[order[affordable]].any(axis=0)
        return shown


def answers_within(policy: Acquisition, X: Array, budgets: Sequence[float]) -> dict[float, tuple[FloatArray, float]]:
    """Let a policy buy as long as it can; give for each budget the probabilities, and how many features are bought."""
    orders = policy.bought(X, 0.0, float(budgets[-1]), forced=True)
    shown = {budget: policy.purchases.shown(orders, budget) for budget in budgets}
    return {
        budget: (policy.predict_proba(X, known), float(known.sum(axis=1).mean())) for budget, known in shown.items()
    }


class Acquisition(Protocol):
    """What buys for each example one by one, and predicts from any subset of the features."""

    purchases: Purchases

    def bought(self, X: Array, lam: float, most: float, *, forced: bool) -> list[IntArray]:
        """Buy for each example; see `ConditionedOracle.bought`."""

    def predict_proba(self, X: Array, shown: BoolArray) -> FloatArray:
        """Predict from what is shown, shape (n_samples, n_classes)."""


class MaskedClassifier:
    """A neural network that predicts from any subset of the features.

    It sees the features, 0 where hidden, and which of them are shown. In training each example is shown a random subset
    of a random size, another one in each epoch.

    Parameters
    ----------
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
    seed : int
    """

    def __init__(self, X: Array, y: IntArray, seed: int) -> None:
        self.mean, self.spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
        rng = np.random.default_rng(seed)
        self.network = MLPClassifier(HIDDEN_LAYERS, random_state=seed)
        classes = np.unique(y)
        for _ in range(N_EPOCHS):
            shown = rng.random(X.shape) < rng.random((len(X), 1))
            order = rng.permutation(len(X))
            inputs = self._inputs(X, shown)
            for begin in range(0, len(X), BATCH):
                rows = order[begin : begin + BATCH]
                self.network.partial_fit(inputs[rows], y[rows], classes=classes)

    def predict_proba(self, X: Array, shown: BoolArray) -> FloatArray:
        """Predict from what is shown, shape (n_samples, n_classes)."""
        layer = self._inputs(X, shown)
        *hidden, last = zip(self.network.coefs_, self.network.intercepts_, strict=True)
        for weights, shift in hidden:
            layer = np.maximum(layer @ weights + shift, 0.0)
        outputs = layer @ last[0] + last[1]
        if outputs.shape[1] == 1:
            return np.column_stack([expit(-outputs), expit(outputs)])
        return np.asarray(softmax(outputs, axis=1))

    def _inputs(self, X: Array, shown: BoolArray) -> FloatArray:
        return np.hstack([np.where(shown, (X - self.mean) / self.spread, 0.0), shown])


class ConditionedOracle:
    """AACO: buy what the nearest neighbours of an example would have gained most from.

    Of all training examples those are nearest whose values of the features known so far are. For sets of further
    purchases, each single one and random ones, the mean log loss of the neighbours with these features known is added
    to the price of the set times ``lam``. The best set is found, and of its purchases the one is bought that alone is
    best; then neighbours are sought anew.

    Parameters
    ----------
    classifier : MaskedClassifier
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        Training examples; classes 0, 1, ...
    purchases : Purchases
    seed : int
    """

    def __init__(self, classifier: MaskedClassifier, X: Array, y: IntArray, purchases: Purchases, seed: int) -> None:
        self.classifier, self.X, self.y, self.purchases, self.seed = classifier, X, y, purchases, seed
        self.predict_proba = classifier.predict_proba

    def bought(self, X: Array, lam: float, most: float, *, forced: bool) -> list[IntArray]:
        """Buy for each example.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        lam : float
            What one unit of price weighs compared with log loss.
        most : float
            What an example may pay at most.
        forced : bool
            Whether to buy as long as something is affordable, even if nothing is worth its price.

        Returns
        -------
        list of ndarray of int64
            The purchases of each example, in order.
        """
        rng = np.random.default_rng(self.seed)
        return [self._bought_for(x, lam, most, forced, rng) for x in X]

    def _bought_for(self, x: Array, lam: float, most: float, forced: bool, rng: np.random.Generator) -> IntArray:
        order, paid, bought = list[int](), 0.0, np.zeros(len(self.purchases.columns), dtype=bool)
        while True:
            prices = self.purchases.prices_after(bought)
            left = np.flatnonzero(~bought & (prices <= most - paid + 1e-9))
            if left.size == 0:
                break
            known: BoolArray = np.asarray(self.purchases.columns[bought].any(axis=0))
            near = self._neighbours(x, known, rng)
            sets = self._sets(left, bought, most - paid, rng)
            losses = self._losses(near, known, sets)
            totals = losses + lam * self.purchases.added(sets, bought)
            best = int(np.argmin(totals[1:])) + 1 if forced else int(np.argmin(totals))
            if best == 0:
                break
            members = np.flatnonzero(sets[best])
            alone = 1 + np.searchsorted(left, members)
            chosen = int(members[np.argmin(totals[alone])])
            order.append(chosen)
            bought[chosen] = True
            paid += float(prices[chosen])
        return np.array(order, dtype=np.int64)

    def _neighbours(self, x: Array, known: BoolArray, rng: np.random.Generator) -> IntArray:
        if not known.any():
            return rng.choice(len(self.X), min(FIRST_NEIGHBOURS, len(self.X)), replace=False)
        scale = self.classifier.spread[known]
        distance = np.square((self.X[:, known] - x[known]) / scale).sum(axis=1)
        return np.argpartition(distance, N_NEIGHBOURS)[:N_NEIGHBOURS]

    def _sets(self, left: IntArray, bought: BoolArray, affordable: float, rng: np.random.Generator) -> BoolArray:
        """Draw sets of purchases that are affordable: nothing, each alone, and random ones."""
        sets = np.zeros((1 + left.size + N_SUBSETS, bought.size), dtype=bool)
        sets[np.arange(1, 1 + left.size), left] = True
        sizes = rng.integers(2, MAX_ADDED + 1, (N_SUBSETS, 1))
        rank = rng.random((N_SUBSETS, left.size)).argsort(axis=1).argsort(axis=1)
        sets[1 + left.size :, left] = rank < sizes
        return sets[self.purchases.added(sets, bought) <= affordable + 1e-9]

    def _losses(self, near: IntArray, known: BoolArray, sets: BoolArray) -> FloatArray:
        shown = known | (sets.astype(np.int64) @ self.purchases.columns > 0)
        rows = np.tile(near, len(sets))
        outputs = self.classifier.predict_proba(self.X[rows], np.repeat(shown, near.size, axis=0))
        right = outputs[np.arange(rows.size), self.y[rows]]
        losses: FloatArray = -np.log(np.maximum(right, MIN_PROBABILITY)).reshape(len(sets), near.size).mean(axis=1)
        return losses


def bought_one_by_one(
    scores: Callable[[IntArray, BoolArray], FloatArray],
    n: int,
    purchases: Purchases,
    lam: float,
    most: float,
    *,
    forced: bool,
) -> list[IntArray]:
    """Buy for each example, again and again, what scores most of what it can afford.

    Parameters
    ----------
    scores : callable
        Given the numbers of examples and what each has bought, shape (n_of_these, n_purchases), the score of each
        purchase for each of these, of the same shape.
    n : int
        Number of examples.
    purchases : Purchases
    lam : float
        Unless forced, nothing is bought that scores at most this.
    most : float
        What an example may pay at most.
    forced : bool
        Whether to buy as long as something is affordable.

    Returns
    -------
    list of ndarray of int64
        The purchases of each example, in order.
    """
    known, paid = np.zeros((n, len(purchases.columns)), dtype=bool), np.zeros(n)
    orders: list[list[int]] = [[] for _ in range(n)]
    rows = np.arange(n)
    while True:
        prices = purchases.prices_after(known[rows])
        affordable = ~known[rows] & (prices <= most - paid[rows, None] + 1e-9)
        can = affordable.any(axis=1)
        rows, affordable, prices = rows[can], affordable[can], prices[can]
        left = np.where(affordable, scores(rows, known[rows]), -np.inf)
        buys = forced | (left.max(axis=1, initial=-np.inf) > lam)
        rows, chosen, prices = rows[buys], left[buys].argmax(axis=1), prices[buys]
        if rows.size == 0:
            return [np.array(order, dtype=np.int64) for order in orders]
        known[rows, chosen] = True
        paid[rows] += prices[np.arange(rows.size), chosen]
        for row, purchase in zip(rows.tolist(), chosen.tolist(), strict=True):
            orders[row].append(purchase)


def features_worth_their_price(gains: FloatArray, costs: FeatureCosts, budgets: Sequence[float]) -> list[BoolArray]:
    """Find for each budget the set of features of most gain in all that is within it: a knapsack, solved exactly.

    The fee of a group is in it once.

    Parameters
    ----------
    gains : ndarray of float64, shape (n_features,)
        What each feature is worth to some model.
    costs : FeatureCosts
    budgets : sequence of float

    Returns
    -------
    list of ndarray of bool, shape (n_features,)
    """
    n_groups = len(costs.group_fees)
    worth = np.append(np.maximum(gains, 0.0), np.zeros(n_groups))
    prices = np.append(costs.float_prices, np.asarray(costs.group_fees, dtype=np.float64))
    grouped = np.flatnonzero(costs.groups != NO_GROUP)
    needs_fee = np.zeros((grouped.size, worth.size))
    needs_fee[np.arange(grouped.size), grouped] = 1
    needs_fee[np.arange(grouped.size), gains.size + costs.groups[grouped]] = -1
    found = []
    for budget in budgets:
        rules = [LinearConstraint(prices[None], ub=budget + 1e-9), LinearConstraint(needs_fee, ub=0)]
        solved = milp(-worth, constraints=rules, integrality=np.ones_like(worth), bounds=Bounds(0, 1))
        found.append((np.round(solved.x[: gains.size]) > 0) & (gains > 0))
    return found
