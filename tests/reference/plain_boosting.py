"""GreedyMiser and Adapt-Gbrt once more, plainly and slowly, as their papers and the authors' settings describe them.

Regression trees by exhaustive search, squared and logistic losses, unit after unit in sets. Numpy alone; nothing of the
package is used but the order in which it numbers nodes: both children of a split together, then below the one of fewer
examples, the right one of equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np


@dataclass
class Node:
    rows: np.ndarray
    depth: int
    above: frozenset = frozenset()
    feature: int = -1
    threshold: float = np.nan
    children: tuple = ()
    value: float = 0.0


@dataclass
class PlainTree:
    """A tree, and by how much the best test led before the second best, where it led least."""

    nodes: list = field(default_factory=list)
    least_lead: float = np.inf

    def features(self):
        return [node.feature for node in self.nodes]

    def units(self, needs):
        return set().union(*(needs[node.feature] for node in self.nodes if node.feature >= 0))

    def scores(self, n):
        scores = np.zeros(n)
        for node in self.nodes:
            if node.feature < 0:
                scores[node.rows] = node.value
        return scores


def grow_tree(X, residuals, needs, prices, lam, charge, owned, max_depth, min_leaf):
    """Grow one tree of least halved squared distance plus prices.

    Parameters
    ----------
    needs : list of set
        The units of each feature.
    owned : set
        Units that earlier trees have bought.
    """
    tree, here = PlainTree(), set()

    def free_at(node):
        return {"path": node.above, "tree": here, "node": set()}[charge] | owned

    def examine(node):
        tree.nodes.append(node)
        r = residuals[node.rows]
        merits = [0.0]
        if node.depth == max_depth:
            return
        slack = 1e-12 * r.sum() ** 2 / r.size
        for feature in range(X.shape[1]):
            price = sum(prices[unit] for unit in needs[feature] - free_at(node))
            column = X[node.rows, feature]
            order = np.argsort(column, kind="stable")
            values, sums = column[order].tolist(), np.cumsum(r[order]).tolist()
            for n_left, (low, high) in enumerate(pairwise(values), start=1):
                n_right = r.size - n_left
                if low == high or min(n_left, n_right) < min_leaf:
                    continue
                on_left, whole = sums[n_left - 1], sums[-1]
                gain = on_left**2 / n_left + (whole - on_left) ** 2 / n_right - whole**2 / r.size
                merit = gain / 2 - lam * len(X) * price
                if gain > slack and merit > max(merits):
                    node.feature, node.threshold = feature, (low + high) / 2
                merits.append(merit)
        second, best = sorted(merits)[-2:] if len(merits) > 1 else (-np.inf, 0.0)
        tree.least_lead = min(tree.least_lead, best - second)
        if node.feature >= 0:
            here.update(needs[node.feature])

    def descend(node):
        if node.feature < 0:
            return
        left = X[node.rows, node.feature] <= node.threshold
        above = node.above | needs[node.feature]
        node.children = tuple(Node(node.rows[side], node.depth + 1, above) for side in (left, ~left))
        for child in node.children:
            examine(child)
        right_first = len(node.children[0].rows) >= len(node.children[1].rows)
        for child in node.children[::-1] if right_first else node.children:
            descend(child)

    root = Node(np.arange(len(X)), 0)
    examine(root)
    descend(root)
    return tree


class PlainBooster:
    def __init__(self, X, needs, prices, lam, charge, max_depth, min_leaf):
        self.X, self.needs, self.prices, self.lam, self.charge = X, needs, prices, lam, charge
        self.max_depth, self.min_leaf, self.owned = max_depth, min_leaf, set()

    def grow(self, residuals, curvature, step):
        """Grow a tree whose leaves take Newton's steps; then its units are owned."""
        tree = grow_tree(
            self.X, residuals, self.needs, self.prices, self.lam, self.charge, self.owned, self.max_depth, self.min_leaf
        )
        for node in tree.nodes:
            bend = curvature[node.rows].sum()
            node.value = step * residuals[node.rows].sum() / bend if bend > 1e-150 else 0.0
        self.owned |= tree.units(self.needs)
        return tree, tree.scores(len(self.X))


def sigma(scores):
    return 1 / (1 + np.exp(-scores))


def probabilities(scores):
    if scores.shape[1] == 1:
        return sigma(scores)
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def constant_scores(targets):
    shares = targets.mean(axis=0)
    return np.log(shares / (1 - shares)) if shares.size == 1 else np.log(shares)


def log_loss(targets, scores):
    p = probabilities(scores)
    if targets.shape[1] == 1:
        return -np.log(np.where(targets[:, 0] > 0, p[:, 0], 1 - p[:, 0]))
    return -np.log((targets * p).sum(axis=1))


def cheap_round(booster, targets, scores, weight, rate):
    """Grow one tree per column on weighted residuals of the logistic loss; return them and the new scores."""
    n_columns = targets.shape[1]
    step = rate * (n_columns - 1) / n_columns if n_columns > 1 else rate
    p, trees, after = probabilities(scores), [], scores.copy()
    for column in range(n_columns):
        tree, gains = booster.grow(weight * (targets - p)[:, column], weight * (p * (1 - p))[:, column], step)
        after[:, column] += gains
        trees.append(tree)
    return trees, after


def greedy_miser(booster, targets, n_rounds, rate, loss):
    """Boost; return trees, round after round, and scores."""
    if loss == "logistic":
        scores, trees = np.tile(constant_scores(targets), (len(targets), 1)), []
        for _ in range(n_rounds):
            grown, scores = cheap_round(booster, targets, scores, np.ones(len(targets)), rate)
            trees += grown
        return trees, scores
    scores, trees = np.tile(targets.mean(axis=0), (len(targets), 1)), []
    for _ in range(n_rounds):
        residuals = targets - scores
        for column in range(targets.shape[1]):
            tree, gains = booster.grow(residuals[:, column], np.ones(len(targets)), rate)
            scores[:, column] += gains
            trees.append(tree)
    return trees, scores


def best_shares(cheap_loss, full_loss, gate, p_full):
    """Solve (OPT1) by bisection for the multiplier."""
    excess = cheap_loss + np.logaddexp(0, gate) - full_loss - np.logaddexp(0, -gate)
    if sigma(excess).mean() <= p_full:
        return sigma(excess)
    low, high = 0.0, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sigma(excess - middle).mean() > p_full else (low, middle)
    return sigma(excess - high)


@dataclass
class PlainRound:
    q: np.ndarray
    cheap_trees: list
    gate_trees: list
    cheap: np.ndarray
    gate: np.ndarray


def adapt_gbrt(make_booster, targets, full_loss, p_full, n_rounds, max_rounds, rate, still_accuracy, still_shares):
    """Run Adapt-Gbrt as its authors' program does, and give what it starts from and what each round leaves.

    Both ensembles are grown from nothing in each round, the shares q renewed before; it begins with GreedyMiser's
    classifier and a gate of score 0, and ends when accuracy and shares stand still.
    """
    trees, cheap = greedy_miser(make_booster(), targets, n_rounds, rate, "logistic")
    gate, q, accuracy = np.zeros(len(targets)), np.zeros(len(targets)), np.nan
    rounds = [PlainRound(q, trees, [], cheap, gate)]
    for _ in range(max_rounds):
        q_before, accuracy_before = q, accuracy
        q = best_shares(log_loss(targets, cheap), full_loss, gate, p_full)
        booster = make_booster()
        cheap, gate = np.tile(constant_scores(targets), (len(targets), 1)), np.zeros(len(targets))
        cheap_trees, gate_trees = [], []
        for _ in range(n_rounds):
            grown, cheap = cheap_round(booster, targets, cheap, 1 - q, rate)
            cheap_trees += grown
            p = sigma(gate)
            tree, gains = booster.grow(q - p, p * (1 - p), rate)
            gate = gate + gains
            gate_trees.append(tree)
        rounds.append(PlainRound(q, cheap_trees, gate_trees, cheap, gate))
        by_cheap = probabilities(cheap)
        if targets.shape[1] == 1:
            right = (by_cheap[:, 0] > 0.5) == (targets[:, 0] > 0)
        else:
            right = by_cheap.argmax(axis=1) == targets.argmax(axis=1)
        accuracy = np.where(gate > 0, np.exp(-full_loss) > 0.5, right).mean()
        if abs(accuracy - accuracy_before) <= still_accuracy and np.abs(q - q_before).mean() <= still_shares:
            break
    return rounds
