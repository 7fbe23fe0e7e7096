"""Prune a forest for its vote: each tree exactly, the others fixed, until no tree by itself can be improved.

The loss of the vote, the weighted mean of ||y_i - v_i||^2 where v_i averages the trees that vote on example i, is no
sum over trees. With all trees but one fixed it is one over the leaves of that tree, and a unit that another tree buys
for an example is free for it. So the best pruning of one tree is found by a recursion, and each step lowers

    loss of the vote + lambda * average cost.

There are finitely many prunings, so the descent ends. What it finds is a local optimum: no bound comes with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray
from ipforest._internal.kernels import inner_njit, njit
from ipforest.costs import FeatureCosts
from ipforest.ensemble.first_uses import Passing, first_needs
from ipforest.ensemble.forest import Forest
from ipforest.walks.purse import spending_limit

__all__ = ["Descended", "VoteProblem", "descend", "descend_within"]

TOLERANCE = 1e-10
"""A tree is changed where the objective falls by more than this share of what it is at the start; so rounding ends."""

N_LAMBDAS = 14
"""Values of lambda that are tried for a budget, by bisection between the two ends on a logarithmic scale."""

MIN_SHARE, MAX_SHARE = 1e-7, 100.0
"""Ends of lambda, in the loss of bare trees for the cost of everything."""


class Structure(NamedTuple):
    """The trees: as in `Forest`, with the values that are voted, shape (n_nodes, n_outputs)."""

    tree_offsets: Array
    left: Array
    right: Array
    value: FloatArray


class Votes(NamedTuple):
    """What the vote is compared with: targets (n_voting, n_outputs), and what is answered where no tree votes.

    ``weight`` (n_voting,) is that of each example's loss; the weights add up to 1.
    """

    target: FloatArray
    prior: FloatArray
    weight: FloatArray


class Orders(NamedTuple):
    """What is bought: the units that each node needs first, in CSR form, and their prices.

    ``price`` (n_units,) and ``per_test`` are divided by the number of examples that pay.
    """

    indptr: Array
    units: Array
    price: FloatArray
    per_test: float
    n_payers: int


class VoteProblem(NamedTuple):
    """What the descent works on; see `VoteProblem.of`."""

    trees: Structure
    voters: Passing
    payers: Passing
    votes: Votes
    orders: Orders

    @classmethod
    def of(
        cls,
        forest: Forest,
        X: Array,
        target: FloatArray,
        weight: FloatArray,
        paying: Array,
        costs: FeatureCosts,
        split_cost: float = 0.0,
        class_costs: FloatArray | None = None,
    ) -> VoteProblem:
        """Prepare the descent of a forest.

        Parameters
        ----------
        forest : Forest
        X : ndarray, shape (n_voting, n_features)
            Examples whose loss counts.
        target : ndarray of float64, shape (n_voting, n_outputs)
            Their classes one-hot, or their targets.
        weight : ndarray of float64, shape (n_voting, n_trees)
            Of each example, at least 0; 0 for trees that do not vote on it, such as those it trained.
        paying : ndarray, shape (n_paying, n_features)
            Examples whose average cost counts.
        costs : FeatureCosts
            Without delayed features.
        split_cost : float, default=0
            What one test costs.
        class_costs : ndarray of float64, shape (n_classes, n_classes), optional
            Then expected costs of predicting each class are compared in place of probabilities.

        Raises
        ------
        ValueError
            A feature is delayed: below it two branches order one unit, so a tree's cost is no sum over its nodes.
        """
        if costs.delayed.any():
            raise ValueError("objective: expected 'trees' with delayed features, got 'forest'")
        own = weight.max(axis=1)
        value = forest.value if class_costs is None else forest.value @ class_costs
        needs = first_needs(forest.parent, forest.feature, costs.unit_indptr, costs.unit_indices)
        n_payers = paying.shape[0]
        return cls(
            Structure(forest.tree_offsets, forest.left, forest.right, np.ascontiguousarray(value)),
            forest.passing(forest.leaves(X), weight > 0),
            forest.passing(forest.leaves(paying)),
            Votes(
                np.ascontiguousarray(target if class_costs is None else target @ class_costs),
                value[forest.tree_offsets[:-1]].mean(axis=0),
                own / own.sum(),
            ),
            Orders(needs.indptr, needs.units, costs.float_unit_costs / n_payers, split_cost / n_payers, n_payers),
        )


class Descended(NamedTuple):
    """A pruning that no change of a single tree improves.

    Parameters
    ----------
    kept : ndarray of bool, shape (n_nodes,)
    loss, cost : float
        Of the vote, and on average of the examples that pay.
    """

    kept: BoolArray
    loss: float
    cost: float


def descend(problem: VoteProblem, kept: BoolArray, lam: float) -> Descended:
    """Improve a pruning until no tree by itself can be improved.

    Parameters
    ----------
    problem : VoteProblem
    kept : ndarray of bool, shape (n_nodes,)
        The internal nodes to begin with; those above a kept one are kept.
    lam : float
        The price of a unit of cost in losses, at least 0.

    Notes
    -----
    A step for one tree takes its passes of examples, (number of examples) * depth.
    """
    found = kept.copy()
    loss, cost = _descend(*problem, found, float(lam), TOLERANCE)
    return Descended(found, loss, cost)


def descend_within(problem: VoteProblem, kept: BoolArray, budget: float) -> Descended:
    """Find a pruning of small loss within a budget, by descents from one that is within it.

    Of the descents at several lambdas, found by bisection, the one of least loss within the budget is taken; where none
    is, the pruning itself.

    Parameters
    ----------
    problem : VoteProblem
    kept : ndarray of bool, shape (n_nodes,)
        Within the budget.
    budget : float
        What an example may cost on average.
    """
    everything = float(problem.orders.price.sum() * problem.orders.n_payers)
    bare = measured(problem, np.zeros_like(kept)).loss
    scale = bare / everything if bare > 0 and everything > 0 else 1.0
    low, high = (np.log(end * scale) for end in (MIN_SHARE, MAX_SHARE))
    best = measured(problem, kept)
    for _ in range(N_LAMBDAS):
        middle = (low + high) / 2
        tried = descend(problem, kept, float(np.exp(middle)))
        if tried.cost <= spending_limit(budget):
            high, best = middle, min(best, tried, key=lambda found: found.loss)
        else:
            low = middle
    return best


def measured(problem: VoteProblem, kept: BoolArray) -> Descended:
    """Return a pruning as it is, with its loss and cost."""
    loss, cost = _measure(*problem, kept)
    return Descended(kept, loss, cost)


@njit
def _measure(
    trees: Structure, voters: Passing, payers: Passing, votes: Votes, orders: Orders, kept: Array
) -> tuple[float, float]:
    sums, n_votes, holders = _nothing(votes, orders)
    n_tests = 0
    for tree in range(trees.tree_offsets.size - 1):
        n_tests += _count(trees.tree_offsets[tree], trees, voters, payers, orders, kept, sums, n_votes, holders, 1)
    return _totals(votes, orders, sums, n_votes, holders, n_tests)


@njit
def _descend(
    trees: Structure,
    voters: Passing,
    payers: Passing,
    votes: Votes,
    orders: Orders,
    kept: Array,
    lam: float,
    tolerance: float,
) -> tuple[float, float]:
    """Go round the trees until none changes; ``kept`` becomes the pruning that is found.

    ``tolerance`` is a share of the objective at the start.
    """
    n_trees, n_outputs = trees.tree_offsets.size - 1, trees.value.shape[1]
    sums, n_votes, holders = _nothing(votes, orders)
    n_tests = 0
    for tree in range(n_trees):
        n_tests += _count(trees.tree_offsets[tree], trees, voters, payers, orders, kept, sums, n_votes, holders, 1)
    loss, cost = _totals(votes, orders, sums, n_votes, holders, n_tests)
    tolerance *= loss + lam * cost
    change = np.empty(trees.value.shape[0])
    prefix = np.empty((voters.examples.size + 1, n_outputs + 1))
    idle, tree = 0, 0
    while idle < n_trees:
        root, end = trees.tree_offsets[tree], trees.tree_offsets[tree + 1]
        n_tests -= _count(root, trees, voters, payers, orders, kept, sums, n_votes, holders, -1)
        absent, present = _without(root, voters, votes, sums, n_votes, prefix)
        before = absent
        if kept[root]:
            before = present + _worth(
                root, end, trees, voters, payers, orders, holders, prefix, kept, lam, change, False
            )
        best = present + _worth(root, end, trees, voters, payers, orders, holders, prefix, kept, lam, change, True)
        idle += 1
        if trees.left[root] >= 0 and min(best, absent) < before - tolerance:
            idle = 0
            kept[root] = best < absent
            for node in range(root + 1, end):
                kept[node] = change[node] < 0
            for node in range(root, end):
                if trees.left[node] >= 0 and not kept[node]:
                    kept[trees.left[node]] = False
                    kept[trees.right[node]] = False
        n_tests += _count(root, trees, voters, payers, orders, kept, sums, n_votes, holders, 1)
        tree = tree + 1 if tree + 1 < n_trees else 0
    return _totals(votes, orders, sums, n_votes, holders, n_tests)


@inner_njit
def _nothing(votes: Votes, orders: Orders) -> tuple[Array, Array, Array]:
    """Make sums of votes, numbers of votes and numbers of trees that buy units, as they are when all trees are bare."""
    n_votes = np.zeros(votes.target.shape[0], np.int32)
    return np.zeros(votes.target.shape), n_votes, np.zeros((orders.n_payers, orders.price.size), np.int32)


@inner_njit
def _count(
    root: int,
    trees: Structure,
    voters: Passing,
    payers: Passing,
    orders: Orders,
    kept: Array,
    sums: Array,
    n_votes: Array,
    holders: Array,
    sign: int,
) -> int:
    """Add a tree's votes and orders, or take them away; return its tests. A bare root does not vote."""
    if not kept[root]:
        return 0
    n_tests = 0
    waiting = [root]
    while len(waiting) > 0:
        node = waiting.pop()
        if kept[node]:
            n_tests += payers.last[node] - payers.first[node]
            for position in range(orders.indptr[node], orders.indptr[node + 1]):
                for place in range(payers.first[node], payers.last[node]):
                    holders[payers.examples[place], orders.units[position]] += sign
            waiting.append(trees.left[node])
            waiting.append(trees.right[node])
            continue
        for place in range(voters.first[node], voters.last[node]):
            i = voters.examples[place]
            n_votes[i] += sign
            for output in range(trees.value.shape[1]):
                sums[i, output] += sign * trees.value[node, output]
    return n_tests


@inner_njit
def _loss_of(i: int, votes: Votes, sums: Array, n_votes: Array) -> float:
    loss = 0.0
    for output in range(sums.shape[1]):
        vote = sums[i, output] / n_votes[i] if n_votes[i] > 0 else votes.prior[output]
        loss += (votes.target[i, output] - vote) ** 2
    return float(votes.weight[i] * loss)


@inner_njit
def _without(
    root: int, voters: Passing, votes: Votes, sums: Array, n_votes: Array, prefix: Array
) -> tuple[float, float]:
    """Return the loss, on a tree's examples, of the others' vote, and what is left of it if the tree votes zeros.

    ``prefix`` gets running sums over its examples: of the gradient for what it votes, and of the squared shares.
    """
    absent, present, n_outputs = 0.0, 0.0, sums.shape[1]
    prefix[voters.first[root]] = 0.0
    for place in range(voters.first[root], voters.last[root]):
        i = voters.examples[place]
        absent += _loss_of(i, votes, sums, n_votes)
        share = 1.0 / (n_votes[i] + 1)
        for output in range(n_outputs):
            rest = votes.target[i, output] - sums[i, output] * share
            present += votes.weight[i] * rest * rest
            prefix[place + 1, output] = prefix[place, output] + votes.weight[i] * share * rest
        prefix[place + 1, n_outputs] = prefix[place, n_outputs] + votes.weight[i] * share * share
    return absent, present


@inner_njit
def _worth(
    root: int,
    end: int,
    trees: Structure,
    voters: Passing,
    payers: Passing,
    orders: Orders,
    holders: Array,
    prefix: Array,
    kept: Array,
    lam: float,
    change: Array,
    free: bool,
) -> float:
    """Compute what a tree's votes and orders add to the objective, at best if ``free``, else as it is kept.

    The root is split. ``change`` (n_nodes,) says how much the objective changes if a node is split.
    """
    n_outputs = trees.value.shape[1]
    total = np.empty(end - root)
    for node in range(end - 1, root - 1, -1):
        first, last = voters.first[node], voters.last[node]
        squared, product = 0.0, 0.0
        for output in range(n_outputs):
            squared += trees.value[node, output] ** 2
            product += trees.value[node, output] * (prefix[last, output] - prefix[first, output])
        stopped = squared * (prefix[last, n_outputs] - prefix[first, n_outputs]) - 2 * product
        total[node - root] = stopped
        change[node] = 0.0
        if trees.left[node] < 0 or not (free or kept[node]):
            continue
        cost = orders.per_test * (payers.last[node] - payers.first[node])
        for position in range(orders.indptr[node], orders.indptr[node + 1]):
            unit, new = orders.units[position], 0
            if orders.price[unit] > 0:
                for place in range(payers.first[node], payers.last[node]):
                    new += holders[payers.examples[place], unit] == 0
            cost += new * orders.price[unit]
        split = lam * cost + total[trees.left[node] - root] + total[trees.right[node] - root]
        change[node] = split - stopped
        if not free or node == root or split < stopped:
            total[node - root] = split
    return float(total[0])


@inner_njit
def _totals(
    votes: Votes, orders: Orders, sums: Array, n_votes: Array, holders: Array, n_tests: int
) -> tuple[float, float]:
    loss, cost = 0.0, orders.per_test * n_tests
    for i in range(n_votes.size):
        loss += _loss_of(i, votes, sums, n_votes)
    for j in range(orders.n_payers):
        for unit in range(orders.price.size):
            if holders[j, unit] > 0:
                cost += orders.price[unit]
    return loss, cost
