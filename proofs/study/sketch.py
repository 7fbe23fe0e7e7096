"""An instance as plain lists that are easily made smaller: the moves of the shrinker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from ipforest.instance import PruningInstance

__all__ = ["Sketch", "SketchedTree"]

T = TypeVar("T")

Need = tuple[int, int]
"""An example and a unit."""


@dataclass(frozen=True, slots=True)
class SketchedTree:
    """One tree, its nodes numbered from 0, each parent before its children.

    Parameters
    ----------
    parent, errors, split_cost : tuple of int
        By node; split costs of leaves are 0.
    needs : tuple of frozenset of (example, unit)
        What is first needed at each node.
    leaf : tuple of int
        The leaf of each example; empty for an instance without ``example_leaf``.
    """

    parent: tuple[int, ...]
    errors: tuple[int, ...]
    split_cost: tuple[int, ...]
    needs: tuple[frozenset[Need], ...]
    leaf: tuple[int, ...]

    def internal(self) -> list[int]:
        """Return the nodes with children."""
        return sorted(set(self.parent) - {-1})

    def as_leaf(self, node: int) -> SketchedTree:
        """Take away all below a node; examples that end there end at the node."""
        below = self._from(node)
        kept = [other for other in range(len(self.parent)) if other == node or other not in below]
        number = {other: place for place, other in enumerate(kept)} | dict.fromkeys(below, kept.index(node))
        return SketchedTree(
            tuple(number.get(self.parent[other], -1) for other in kept),
            tuple(self.errors[other] for other in kept),
            tuple(0 if other == node else self.split_cost[other] for other in kept),
            tuple(frozenset() if other == node else self.needs[other] for other in kept),
            tuple(number[leaf] for leaf in self.leaf),
        )

    def lifted(self, child: int) -> SketchedTree:
        """Put a node in its parent's place; examples that end elsewhere below the parent end at its first leaf."""
        replaced = self.parent[child]
        subtree = self._from(child)
        gone = self._from(replaced) - subtree
        kept = [other for other in range(len(self.parent)) if other not in gone]
        number = {other: place for place, other in enumerate(kept)}
        first_leaf = number[min(subtree - set(self.parent))]
        above = {**dict(enumerate(self.parent)), child: self.parent[replaced]}
        return SketchedTree(
            tuple(number.get(above[other], -1) for other in kept),
            tuple(self.errors[other] for other in kept),
            tuple(self.split_cost[other] for other in kept),
            tuple(self.needs[other] for other in kept),
            tuple(number.get(leaf, first_leaf) for leaf in self.leaf),
        )

    def _from(self, node: int) -> set[int]:
        """Return a node and all below it."""
        found = {node}
        for child, above in enumerate(self.parent):
            if above in found:
                found.add(child)
        return found

    def without(self, node: int, need: Need) -> SketchedTree:
        """Take one need away from a node."""
        return replace(self, needs=_with(self.needs, node, self.needs[node] - {need}))

    def without_example(self, example: int) -> SketchedTree:
        """Take an example away."""
        needs = tuple(
            frozenset((i - (i > example), unit) for i, unit in needed if i != example) for needed in self.needs
        )
        return replace(self, needs=needs, leaf=self.leaf[:example] + self.leaf[example + 1 :])


@dataclass(frozen=True, slots=True)
class Sketch:
    """An instance as trees and prices.

    Parameters
    ----------
    trees : tuple of SketchedTree
    price : dict
        Of each (example, unit), in cost units.
    error_unit, cost_unit : Fraction
    n_examples : int
    """

    trees: tuple[SketchedTree, ...]
    price: dict[Need, int]
    error_unit: Fraction
    cost_unit: Fraction
    n_examples: int

    @classmethod
    def of(cls, instance: PruningInstance) -> Sketch:
        """Read an instance."""
        pairs = list(zip(instance.acquisition_example.tolist(), instance.acquisition_unit.tolist(), strict=True))
        needs: list[set[Need]] = [set() for _ in range(instance.n_nodes)]
        for node, acquisition in zip(instance.triple_node.tolist(), instance.indices.tolist(), strict=True):
            needs[int(instance.internal_nodes[node])].add(pairs[acquisition])
        split = np.zeros(instance.n_nodes, dtype=np.int64)
        split[instance.internal_nodes] = instance.split_cost
        trees = []
        for tree, (first, last) in enumerate(zip(instance.tree_offsets[:-1], instance.tree_offsets[1:], strict=True)):
            leaves = () if instance.example_leaf is None else (instance.example_leaf[tree] - first).tolist()
            trees.append(
                SketchedTree(
                    tuple(int(above - first) if above >= 0 else -1 for above in instance.node_parent[first:last]),
                    tuple(instance.errors[first:last].tolist()),
                    tuple(split[first:last].tolist()),
                    tuple(frozenset(needed) for needed in needs[first:last]),
                    tuple(leaves),
                )
            )
        price = dict(zip(pairs, instance.acquisition_cost.tolist(), strict=True))
        return cls(tuple(trees), price, instance.error_unit, instance.cost_unit, instance.n_examples)

    def instance(self) -> PruningInstance:
        """Build the instance; units that are not needed any more are left out."""
        offsets = np.cumsum([0] + [len(tree.parent) for tree in self.trees])
        starts = list(zip(self.trees, offsets.tolist(), strict=False))
        used = sorted({need for tree in self.trees for needed in tree.needs for need in needed})
        number = {need: place for place, need in enumerate(used)}
        units = sorted({unit for _, unit in used})
        rows = [sorted(number[need] for need in tree.needs[node]) for tree in self.trees for node in tree.internal()]
        routed = all(len(tree.leaf) == self.n_examples for tree in self.trees)
        return PruningInstance(
            tree_offsets=offsets,
            node_parent=np.array(
                [above + start if above >= 0 else -1 for tree, start in starts for above in tree.parent]
            ),
            errors=np.array([error for tree in self.trees for error in tree.errors], dtype=np.int64),
            indptr=np.cumsum([0] + [len(row) for row in rows]),
            indices=np.array([index for row in rows for index in row], dtype=np.int32),
            acquisition_unit=np.array([units.index(unit) for _, unit in used], dtype=np.int32),
            acquisition_example=np.array([example for example, _ in used], dtype=np.int32),
            acquisition_cost=np.array([self.price[need] for need in used], dtype=np.int64),
            split_cost=np.array(
                [tree.split_cost[node] for tree in self.trees for node in tree.internal()], dtype=np.int64
            ),
            error_unit=self.error_unit,
            cost_unit=self.cost_unit,
            n_units=len(units),
            n_examples=self.n_examples,
            example_leaf=np.array([[leaf + start for leaf in tree.leaf] for tree, start in starts], dtype=np.int32)
            if routed
            else None,
        )

    def with_trees(self, trees: Sequence[SketchedTree]) -> Sketch:
        """Exchange the trees."""
        return replace(self, trees=tuple(trees))

    def with_units(self, error_unit: Fraction, cost_unit: Fraction) -> Sketch:
        """Exchange the units."""
        return replace(self, error_unit=error_unit, cost_unit=cost_unit)

    def without_example(self, example: int) -> Sketch:
        """Take an example away; the others are numbered anew."""
        price = {(i - (i > example), unit): price for (i, unit), price in self.price.items() if i != example}
        trees = tuple(tree.without_example(example) for tree in self.trees)
        return replace(self, trees=trees, price=price, n_examples=self.n_examples - 1)

    def smaller(self) -> Iterator[Sketch]:
        """Yield sketches that are one step smaller, large steps first."""
        for first, last in _portions(len(self.trees)):
            yield self.with_trees(self.trees[:first] + self.trees[last:])
        if self.n_examples > 1:
            yield from (self.without_example(example) for example in range(self.n_examples))
        for place, tree in enumerate(self.trees):
            internal = tree.internal()
            yield from (self._with_tree(place, tree.as_leaf(node)) for node in internal)
            yield from (
                self._with_tree(place, tree.lifted(child)) for child, above in enumerate(tree.parent) if above >= 0
            )
            for node in internal:
                yield from (self._with_tree(place, tree.without(node, need)) for need in sorted(tree.needs[node]))
        if not self.error_unit == self.cost_unit == 1:
            yield self.with_units(Fraction(1), Fraction(1))
        yield from self._smaller_numbers()

    def _smaller_numbers(self) -> Iterator[Sketch]:
        for place, tree in enumerate(self.trees):
            for node, error in enumerate(tree.errors):
                for less in _below(error):
                    yield self._with_tree(place, replace(tree, errors=_with(tree.errors, node, less)))
            for node, split in enumerate(tree.split_cost):
                for less in _below(split):
                    yield self._with_tree(place, replace(tree, split_cost=_with(tree.split_cost, node, less)))
        for need, price in self.price.items():
            for less in _below(price):
                yield replace(self, price=self.price | {need: less})

    def _with_tree(self, place: int, tree: SketchedTree) -> Sketch:
        return self.with_trees(_with(self.trees, place, tree))


def _portions(count: int) -> Iterator[tuple[int, int]]:
    """Yield what may be left out of so many that are not all: halves, quarters and so on down to one by one."""
    size = count // 2
    while size:
        yield from ((first, min(first + size, count)) for first in range(0, count, size))
        size //= 2


def _below(value: int) -> list[int]:
    """Return simpler integers >= 0, the simplest first."""
    return sorted(other for other in {0, 1, value // 2, value - 1} if 0 <= other < value)


def _with(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])
