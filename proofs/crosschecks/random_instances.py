"""Small random instances that visit the corners: ties, zero costs, groups, held-out errors, bare leaves, knapsacks."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ipforest.instance import PruningInstance

IntegerSource: TypeAlias = Callable[[int, int], int]
"""Returns an integer between two bounds, both included."""
MIN_ITEMS, MAX_ITEMS = 3, 6
"""Stumps of a knapsack among other instances: with fewer greed finds the best, with more there are many prunings."""


def integers_of(rng: np.random.Generator) -> IntegerSource:
    """Make a source of integers of a generator."""
    return lambda low, high: int(rng.integers(low, high + 1))


def random_instance(rng: np.random.Generator, max_internal: int = 9) -> PruningInstance:
    """Draw an instance; see `draw_instance`."""
    return draw_instance(integers_of(rng), max_internal)


def random_lambda(rng: np.random.Generator) -> Fraction:
    """Draw a lambda between 0 and 19."""
    return Fraction(int(rng.integers(0, 20)), int(rng.integers(1, 10)))


def draw_instance(integer: IntegerSource, max_internal: int = 9, max_trees: int = 3) -> PruningInstance:
    """Build an instance from a source of integers (a generator, or Hypothesis).

    One to `max_trees` trees of at most `max_internal` internal nodes in all, up to four examples and four units of cost
    0..3, nodes that need one or two units (a group's fee), errors that need not fall from parent to children, split
    costs in some instances. One of five is a knapsack, see `draw_knapsack`.

    Parameters
    ----------
    integer : callable
        ``integer(low, high)`` gives an integer, bounds included.
    max_internal : int
    max_trees : int
        With fewer than three there are no knapsacks, whose stumps are trees.
    """
    if max_internal >= MIN_ITEMS and max_trees >= 3 and integer(0, 4) == 0:
        return draw_knapsack(integer, min(max_internal, MAX_ITEMS))
    n_trees, n_examples, n_units = integer(1, max_trees), integer(1, 4), integer(1, 4)
    unit_costs = [integer(0, 3) for _ in range(n_units)]
    split_price = integer(0, 1) * integer(0, 2)
    left_over = max_internal
    offsets, parents, errors, rows, split_costs, leaves = [0], [], [], [], [], []
    for _ in range(n_trees):
        parent, internal = _grow_tree(integer, integer(0, left_over))
        left_over -= len(internal)
        errors += _draw_errors(integer, parent)
        uses, passing, reached = _route(integer, parent, internal, n_examples, n_units)
        rows += [uses[node] for node in internal]
        split_costs += [split_price * passing[node] for node in internal]
        leaves.append([leaf + offsets[-1] for leaf in reached])
        parents += [above + offsets[-1] if above >= 0 else -1 for above in parent]
        offsets.append(len(parents))
    pairs = sorted({pair for row in rows for pair in row})
    number = {pair: index for index, pair in enumerate(pairs)}
    return PruningInstance(
        tree_offsets=np.array(offsets),
        node_parent=np.array(parents),
        errors=np.array(errors),
        indptr=np.cumsum([0] + [len(row) for row in rows]),
        indices=np.array([number[pair] for row in rows for pair in sorted(row)], dtype=np.int32),
        acquisition_unit=np.array([unit for _, unit in pairs], dtype=np.int32),
        acquisition_example=np.array([example for example, _ in pairs], dtype=np.int32),
        acquisition_cost=np.array([unit_costs[unit] for _, unit in pairs], dtype=np.int64),
        split_cost=np.array(split_costs, dtype=np.int64),
        error_unit=Fraction(1, integer(1, 5) * n_trees),
        cost_unit=Fraction(1, n_examples * integer(1, 3)),
        n_units=n_units,
        n_examples=n_examples,
        example_leaf=np.array(leaves),
    )


def draw_knapsack(integer: IntegerSource, max_internal: int = 9) -> PruningInstance:
    """Build an instance on which greed often fails within a budget: stumps whose gains are near their costs.

    Each stump tests a unit of its own, or that of the stump before, which all examples pay. One or two more trees are
    single leaves with errors, which no pruning can change.

    Parameters
    ----------
    integer : callable
        As of `draw_instance`.
    max_internal : int
        At least `MIN_ITEMS`.
    """
    n_items, n_examples, n_leaves = integer(MIN_ITEMS, max_internal), integer(1, 2), integer(1, 2)
    units = [0]
    for _ in range(n_items - 1):
        units.append(units[-1] + (integer(0, 4) > 0))
    costs = [integer(10, 50) for _ in range(units[-1] + 1)]
    stumps = np.arange(n_items)
    errors = [[costs[unit] * n_examples + integer(-4, 4), 0, 0] for unit in units]
    bare = [integer(1, 9) for _ in range(n_leaves)]
    offsets = np.append(3 * stumps, 3 * n_items + np.arange(n_leaves + 1))
    first_children = np.repeat([[-1, 0, 0]], n_items, axis=0) + 3 * stumps[:, None] * [0, 1, 1]
    pairs = [(unit, example) for unit in range(units[-1] + 1) for example in range(n_examples)]
    return PruningInstance(
        tree_offsets=offsets,
        node_parent=np.append(first_children.ravel(), [-1] * n_leaves),
        errors=np.append(np.ravel(errors), bare),
        indptr=n_examples * np.arange(n_items + 1),
        indices=np.ravel([[unit * n_examples + example for example in range(n_examples)] for unit in units]),
        acquisition_unit=np.array([unit for unit, _ in pairs]),
        acquisition_example=np.array([example for _, example in pairs]),
        acquisition_cost=np.array([costs[unit] for unit, _ in pairs]),
        split_cost=np.zeros(n_items, dtype=np.int64),
        error_unit=Fraction(1, integer(1, 5)),
        cost_unit=Fraction(1, n_examples),
        n_units=units[-1] + 1,
        n_examples=n_examples,
        example_leaf=np.array(
            [[3 * t + integer(1, 2) for _ in range(n_examples)] for t in range(n_items)]
            + [[3 * n_items + t] * n_examples for t in range(n_leaves)]
        ),
    )


def _grow_tree(integer: IntegerSource, n_internal: int) -> tuple[list[int], list[int]]:
    """Grow a tree of two or three children a node; give parents and internal nodes, both in node order."""
    parent, internal, leaves = [-1], [], [0]
    for _ in range(n_internal):
        node = leaves.pop(integer(0, len(leaves) - 1))
        internal.append(node)
        for _ in range(2 + (integer(0, 9) == 0)):
            leaves.append(len(parent))
            parent.append(node)
    return parent, sorted(internal)


def _draw_errors(integer: IntegerSource, parent: list[int]) -> list[int]:
    """Errors as in-bag counts have them (children have fewer errors in sum), or free as on held-out data."""
    errors = [integer(0, 4) for _ in parent]
    if integer(0, 3) > 0:
        for node in range(len(parent) - 1, 0, -1):
            if node in parent:
                errors[node] = sum(errors[child] for child, above in enumerate(parent) if above == node)
                errors[node] += integer(0, 3)
        errors[0] = sum(errors[child] for child, above in enumerate(parent) if above == 0) + integer(0, 3)
    return errors


def _route(
    integer: IntegerSource, parent: list[int], internal: list[int], n_examples: int, n_units: int
) -> tuple[dict[int, set[tuple[int, int]]], dict[int, int], list[int]]:
    """Send the examples down; give at each node the (example, unit) pairs first used and the examples passing.

    Last come the leaves that the examples reach.
    """
    needs = {node: {integer(0, n_units - 1) for _ in range(integer(1, 2))} for node in internal}
    uses: dict[int, set[tuple[int, int]]] = {node: set() for node in internal}
    passing = dict.fromkeys(internal, 0)
    reached = []
    for example in range(n_examples):
        node = 0
        bought: set[int] = set()
        while node in needs:
            passing[node] += 1
            uses[node] |= {(example, unit) for unit in needs[node] - bought}
            bought |= needs[node]
            children = [child for child, above in enumerate(parent) if above == node]
            node = children[integer(0, len(children) - 1)]
        reached.append(node)
    return uses, passing, reached
