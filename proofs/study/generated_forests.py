"""Middle-sized instances from integers alone: no learner, so that the same seed gives the same instance anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ipforest.instance import PruningInstance
from proofs.study.sketch import Need, Sketch, SketchedTree

__all__ = ["Shape", "generated_instance"]

VALUES = 8
"""Feature values are integers below this."""
TRIES = 4
"""Splits of which each node takes the best."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a generated forest.

    Parameters
    ----------
    trees, depth, examples, units : int
        Units are features; each has a price of 1 to 9 cost units.
    """

    trees: int
    depth: int
    examples: int
    units: int


def generated_instance(rng: np.random.Generator, shape: Shape) -> PruningInstance:
    """Grow random trees over random integers, with labels that the first units decide but for some noise.

    Parameters
    ----------
    rng : Generator
    shape : Shape

    Returns
    -------
    PruningInstance
        Errors are the examples that the majority of their node is wrong about.
    """
    X = rng.integers(0, VALUES, size=(shape.examples, shape.units))
    told = X[:, : max(1, shape.units // 3)].sum(axis=1)
    y = (2 * told >= told.min() + told.max()) ^ (rng.integers(0, 8, size=shape.examples) == 0)
    prices = rng.integers(1, 10, size=shape.units).tolist()
    trees = [_tree(rng, X, y, shape) for _ in range(shape.trees)]
    price = {need: prices[need[1]] for tree in trees for needs in tree.needs for need in needs}
    units = Fraction(1, shape.examples * shape.trees), Fraction(1, shape.examples)
    return Sketch(tuple(trees), price, *units, shape.examples).instance()


def _tree(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, shape: Shape) -> SketchedTree:
    """Split each node at the best of a few random units and values, down to the depth."""
    parent, depth, rows = [-1], [0], [np.arange(len(X))]
    needs: list[frozenset[Need]] = []
    used: list[set[int]] = [set()]
    errors: list[int] = []
    leaf = [0] * len(X)
    node = 0
    while node < len(parent):
        here = rows[node]
        wrong = int(np.count_nonzero(y[here]))
        errors.append(min(wrong, len(here) - wrong))
        unit, left = _split(rng, X[here], y[here])
        if depth[node] == shape.depth or left.all() or not left.any():
            needs.append(frozenset())
            for example in here.tolist():
                leaf[example] = node
        else:
            needs.append(frozenset() if unit in used[node] else frozenset((i, unit) for i in here.tolist()))
            for side in (here[left], here[~left]):
                parent.append(node)
                depth.append(depth[node] + 1)
                rows.append(side)
                used.append(used[node] | {unit})
        node += 1
    return SketchedTree(tuple(parent), tuple(errors), (0,) * len(parent), tuple(needs), tuple(leaf))


def _split(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the unit of the best of a few random splits, the first of equals, and which examples go left."""
    tries = list(
        zip(rng.integers(X.shape[1], size=TRIES).tolist(), rng.integers(1, VALUES, size=TRIES).tolist(), strict=True)
    )
    unit, value = min(tries, key=lambda one: _errors(y, X[:, one[0]] < one[1]))
    return unit, X[:, unit] < value


def _errors(y: np.ndarray, left: np.ndarray) -> int:
    return sum(min(int(np.count_nonzero(side)), int(np.count_nonzero(~side))) for side in (y[left], y[~left]))
