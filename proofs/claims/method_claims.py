"""Claims about the programs' data, algorithms and proofs, each examined by computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
from scipy.optimize import linprog

from ipforest._internal.arrays import FloatArray
from ipforest.instance import PruningInstance
from ipforest.path_search import prune_path
from ipforest.results import DualFlow
from ipforest.solvers import MissingSolverError, solve
from proofs.claims.claim import COUNTEREXAMPLE, EXHAUSTIVE, Claim, Ruling, sample_of
from proofs.claims.paper_figures import figure_instance
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.random_instances import random_instance, random_lambda
from proofs.integrality.polytopes import polytope
from proofs.integrality.vertices import vertices

Shape = tuple["Shape", "Shape"] | None
"""A binary tree: its two subtrees, or None for a leaf."""


@cache
def shapes(n_leaves: int) -> tuple[Shape, ...]:
    """List every binary tree with so many leaves."""
    if n_leaves == 1:
        return (None,)
    return tuple(
        (left, right)
        for left_leaves in range(1, n_leaves)
        for left in shapes(left_leaves)
        for right in shapes(n_leaves - left_leaves)
    )


def cuts(shape: Shape, node: int = 0) -> Iterator[frozenset[int]]:
    """Return the leaves of every pruned tree: the root alone, or a pruned left and a pruned right subtree.

    Nodes are numbered in pre-order from `node`.
    """
    yield frozenset([node])
    if shape is not None:
        left, right = shape
        for first in cuts(left, node + 1):
            for second in cuts(right, node + 1 + _size(left)):
                yield first | second


def root_paths(shape: Shape, node: int = 0, above: tuple[int, ...] = ()) -> Iterator[tuple[bool, tuple[int, ...]]]:
    """Return for every node, in pre-order, whether it is a leaf, and p(h)."""
    path = (*above, node)
    yield shape is None, path
    if shape is not None:
        yield from root_paths(shape[0], node + 1, path)
        yield from root_paths(shape[1], node + 1 + _size(shape[0]), path)


def _size(shape: Shape) -> int:
    return 1 if shape is None else 1 + _size(shape[0]) + _size(shape[1])


def path_sums_describe_prunings(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare the 0-1 solutions of the path sums with the pruned trees, for all small trees."""
    trees = points = 0
    for n_leaves in range(1, 7):
        for shape in shapes(n_leaves):
            rows = [path for is_leaf, path in root_paths(shape) if is_leaf]
            every = product((0, 1), repeat=_size(shape))
            solutions = {z for z in every if all(sum(z[node] for node in path) == 1 for path in rows)}
            pruned = {tuple(int(node in leaves) for node in range(_size(shape))) for leaves in cuts(shape)}
            if solutions != pruned:
                return Ruling.FALSE, f"the two sets differ for the tree {shape}"
            trees, points = trees + 1, points + len(pruned)
    return Ruling.TRUE, f"all {trees} binary trees of up to 6 leaves: the same {points} points both ways"


def splits_are_paid_by_kept_nodes(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare sum |S_h| d_h z_h with the examples at the nodes that stay, in every pruned tree.

    Both sides are linear in the number of examples at each leaf, so one example at one leaf is the general case.
    """
    compared = 0
    for n_leaves in range(1, 7):
        for shape in shapes(n_leaves):
            paths = [path for _, path in root_paths(shape)]
            for is_leaf, example in root_paths(shape):
                for leaves in cuts(shape) if is_leaf else ():
                    by_depth = sum(len(paths[node]) - 1 for node in leaves if node in example)
                    kept = sum(not leaves.intersection(paths[node]) for node in example)
                    if by_depth != kept:
                        return Ruling.FALSE, f"{by_depth} against {kept} for the leaves {sorted(leaves)} of {shape}"
                    compared += 1
    return Ruling.TRUE, (
        f"all pruned trees of all binary trees of up to 6 leaves, one example at any leaf: {compared} equalities; both "
        "sides are linear in the examples"
    )


def averaged_distributions_are_wrong_alike(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Exhibit three trees whose averaged leaf distributions are wrong where two of the trees are right."""
    right_class = [Fraction(6, 10), Fraction(6, 10), Fraction(1, 10)]
    average_error = Fraction(sum(share < Fraction(1, 2) for share in right_class), len(right_class))
    mean = sum(right_class, Fraction(0)) / len(right_class)
    error_of_average = Fraction(int(mean < Fraction(1, 2)))
    return (Ruling.FALSE if average_error != error_of_average else Ruling.TRUE), (
        f"two classes, three trees that give the right one .6, .6, .1: the trees' error is {average_error} on average, "
        f"their mean gives it {mean} and its error is {error_of_average}"
    )


def upper_bounds_can_be_ignored(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Enumerate the vertices of IP3 without upper bounds, and look whether any lies outside the unit box."""
    instances = found = 0
    while instances < 25:
        instance = random_instance(rng, 4)
        if instance.n_triples > 5:
            continue
        instances += 1
        for point in vertices(polytope(instance, "ip3")):
            found += 1
            if max(point, default=Fraction(0)) > 1:
                return Ruling.FALSE, f"a vertex has the entry {max(point)}"
    return Ruling.TRUE, f"{instances} random instances, all {found} vertices of z, w >= 0 lie in the unit box"


def some_lambda_spends_the_budget(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Collect the costs of all prunings that are optimal for some lambda on tree 1, ties included."""
    instance = figure_instance(1)
    path = prune_path(instance)
    every = [instance.evaluate(pruning) for pruning in prunings(instance)]
    ends = [Fraction(0), *path.breakpoints]
    middles = [(low + high) / 2 for low, high in zip(ends, [*ends[1:], ends[-1] + 2], strict=True)]
    spent: set[Fraction] = set()
    for lam in (*ends, *middles):
        least = min(error + lam * cost for error, cost in every)
        spent |= {cost for error, cost in every if error + lam * cost == least}
    budget = (min(spent) + min(spent - {min(spent)})) / 2
    missed = budget not in spent
    return (Ruling.FALSE if missed else Ruling.TRUE), (
        f"tree 1, unit costs: over all lambda the optimal prunings cost {', '.join(map(str, sorted(spent)))}; none "
        f"costs the budget {budget}"
    )


def multipliers_close_the_gap(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Price each tree by multipliers: random ones bound the optimum from below, those of the minimum cut reach it."""
    examined = 0
    while examined < 60:
        instance = random_instance(rng, 7)
        lam = random_lambda(rng)
        result = solve(instance, lam)
        if result.flow is None:
            return Ruling.INCONSISTENT, "the minimum cut carries no flow"
        p, q = result.flow.p, result.flow.q
        optimum = result.objective * q / instance.error_unit
        drawn = [Fraction(int(rng.integers(0, 5)) * p, 2) for _ in range(instance.n_triples)]
        for beta, is_optimal in ((drawn, False), (_flow_multipliers(instance, result.flow), True)):
            bound = _lagrangian_bound(instance, p, q, beta)
            if bound > optimum or (is_optimal and bound != optimum):
                return Ruling.FALSE, f"the bound is {bound}, the optimum {optimum}"
        examined += 1
    return Ruling.TRUE, (
        f"{examined} random instances: with w = 1 where mu < 0 and each tree at its best, random multipliers never "
        f"exceed the optimum; the minimum cut's flow as multipliers has gap 0 in all of them"
    )


def _flow_multipliers(instance: PruningInstance, flow: DualFlow) -> list[Fraction]:
    multipliers = [Fraction(0)] * instance.n_triples
    for use, number in zip(flow.used.tolist(), flow.triple.tolist(), strict=True):
        multipliers[use] = Fraction(number)
    return multipliers


def _lagrangian_bound(instance: PruningInstance, p: int, q: int, beta: list[Fraction]) -> Fraction:
    """Compute sum over trees of the cheapest pruning, plus sum of min(0, mu), in scaled integer units."""
    place = {int(node): number for number, node in enumerate(instance.internal_nodes)}
    below: list[Fraction] = [Fraction(0)] * instance.n_nodes
    total = Fraction(0)
    for node in range(instance.n_nodes - 1, -1, -1):
        value = Fraction(q * int(instance.errors[node]))
        if node in place:
            row = place[node]
            uses = range(int(instance.indptr[row]), int(instance.indptr[row + 1]))
            split = below[node] + p * int(instance.split_cost[row]) + sum((beta[use] for use in uses), Fraction(0))
            value = min(value, split)
        above = int(instance.node_parent[node])
        if above >= 0:
            below[above] += value
        else:
            total += value
    slack = [Fraction(p * int(price)) for price in instance.acquisition_cost]
    for use, acquisition in enumerate(instance.indices.tolist()):
        slack[acquisition] -= beta[use]
    return total + sum((min(Fraction(0), mu) for mu in slack), Fraction(0))


def columns_are_generated_to_the_optimum(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Write LP4 with all its columns, count its rows and solve it; then solve it by columns that price in."""
    solved = 0
    while solved < 30:
        instance = random_instance(rng, 6)
        lam = Fraction(int(rng.integers(1, 20)), int(rng.integers(1, 10)))
        optimum = solve(instance, lam).objective
        try:
            found = solve(instance, lam, method="dantzig-wolfe", master="columns", pricing="negative")
        except MissingSolverError as missing:
            return Ruling.NOT_RUN, str(missing)
        if found.objective != optimum or found.bound != optimum:
            return Ruling.FALSE, f"columns that price in end at {found.objective}, the optimum is {optimum}"
        costs, rows, right_hand_side = _lp4(instance, lam)
        whole = linprog(costs, A_eq=rows, b_eq=right_hand_side)
        if abs(whole.fun - float(optimum)) > 1e-9 * max(1.0, float(optimum)):
            return Ruling.FALSE, f"LP4 with all columns has the optimum {whole.fun}, not {optimum}"
        used = Counter((t, int(instance.acquisition_example[ki])) for t, ki in _acquisitions_of_trees(instance))
        most_used = max(used.values(), default=0)
        if rows.shape[0] > instance.n_examples * instance.n_trees * most_used + instance.n_trees:
            return Ruling.FALSE, f"LP4 has {rows.shape[0]} equalities"
        solved += 1
    return Ruling.TRUE, (
        f"{solved} random instances: LP4 with the rows as printed and every pruning of a tree as a column has the "
        "optimum, and at most N T K_max + T equalities; columns of negative reduced cost alone reach it, proven exactly"
    )


def _acquisitions_of_trees(instance: PruningInstance) -> list[tuple[int, int]]:
    """List the pairs (t, (k, i)) for which tree t may use unit k for example i: the rows with w^(t)_{k,i}."""
    return sorted(set(zip(instance.triple_tree.tolist(), instance.indices.tolist(), strict=True)))


def _lp4(instance: PruningInstance, lam: Fraction) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Write LP4 as printed, with every extreme point of every tree: its costs, equalities and right-hand side.

    The columns are those of alpha, tree by tree, then of w, then of the slacks s; all are at least 0.
    """
    pairs = _acquisitions_of_trees(instance)
    row_of = {pair: row for row, pair in enumerate(pairs)}
    costs, columns = [], []
    for tree, (first, end) in enumerate(pairwise(instance.internal_offsets.tolist())):
        for kept in _prunings_of_tree(instance, first, end):
            column = np.zeros(len(pairs) + instance.n_trees)
            for triple in range(instance.n_triples):
                if instance.triple_node[triple] in kept:
                    column[row_of[tree, int(instance.indices[triple])]] = 1
            column[len(pairs) + tree] = 1
            gained = sum(int(instance.gain[node]) for node in kept) * instance.error_unit
            split = sum(int(instance.split_cost[node]) for node in kept) * instance.cost_unit * lam
            root = int(instance.errors[instance.tree_offsets[tree]]) * instance.error_unit
            costs.append(float(root - gained + split))
            columns.append(column)
    for acquisition, price in enumerate(instance.acquisition_cost.tolist()):
        column = np.zeros(len(pairs) + instance.n_trees)
        column[[row for row, (_, used) in enumerate(pairs) if used == acquisition]] = -1
        costs.append(float(price * instance.cost_unit * lam))
        columns.append(column)
    slacks = np.eye(len(pairs), len(pairs) + instance.n_trees)
    costs += [0.0] * len(pairs)
    right_hand_side = np.repeat([0.0, 1.0], [len(pairs), instance.n_trees])
    return np.array(costs), np.vstack([*columns, slacks]).T, right_hand_side


def _prunings_of_tree(instance: PruningInstance, first: int, end: int) -> list[set[int]]:
    """List the sets of internal nodes that the prunings of one tree keep."""
    found: list[set[int]] = [set()]
    for node in range(first, end):
        above = int(instance.parent[node])
        found += [{*kept, node} for kept in found if above < 0 or above in kept]
    return found


CLAIMS = [
    Claim(
        "the path sums characterise the valid pruned trees",
        "Sherali et al., Proposition 1, as both papers cite it",
        Ruling.TRUE,
        path_sums_describe_prunings,
        EXHAUSTIVE,
    ),
    Claim(
        "sum |S_h| d_h z_h is the computation cost of splits",
        "BudgetPrune, section 3",
        Ruling.TRUE,
        splits_are_paid_by_kept_nodes,
        EXHAUSTIVE,
    ),
    Claim(
        "the average error across trees corresponds to the error of the averaged leaf distributions",
        "optimal pruning, section 4",
        Ruling.FALSE,
        averaged_distributions_are_wrong_alike,
        COUNTEREXAMPLE,
    ),
    Claim(
        "the upper bounds on the variables can be ignored",
        "proof of Theorem 4.2; BudgetPrune, appendix 6.3",
        Ruling.TRUE,
        upper_bounds_can_be_ignored,
        sample_of(25),
    ),
    Claim(
        "proof: some lambda* has an optimal pruning that costs the budget B",
        "optimal pruning, Corollary 4.3",
        Ruling.FALSE,
        some_lambda_spends_the_budget,
        COUNTEREXAMPLE,
    ),
    Claim(
        "given multipliers, w has a closed form and the trees separate; the duality gap can be made as small as wanted",
        "BudgetPrune, Algorithm 1",
        Ruling.TRUE,
        multipliers_close_the_gap,
        sample_of(60),
    ),
    Claim(
        "column generation tree by tree solves the program, with at most N T K_max + T equalities",
        "optimal pruning, section 5",
        Ruling.TRUE,
        columns_are_generated_to_the_optimum,
        sample_of(30),
    ),
]
